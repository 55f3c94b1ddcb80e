/* Parts of the graph of lock orders: two locks are in one part if a way leads from each to the
 * other, and only then. Compared with the closure of random orders. */
#include "sources/run/locks/lock_order_components.h"

#include "sources/run/state/arena.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { LOCKS = 60, ROUNDS = 100 };

static bool leads[LOCKS][LOCKS], reaches[LOCKS][LOCKS];
static uint32_t parts[LOCKS];

/* ------------------------------------------------------------------ memory, not a program's */

void *pages_map(size_t size)
{
    return calloc(1, size);
}

void pages_unmap(void *pages, size_t size)
{
    (void)size;
    free(pages);
}

bool pages_grow(void *list, size_t *room, size_t wanted, size_t size)
{
    void *old, *grown;
    memcpy(&old, list, sizeof old);
    while (*room < wanted)
        *room *= 2;
    grown = realloc(old, *room * size);
    memcpy(list, &grown, sizeof grown);
    return grown;
}

/* ------------------------------------------------------------------ */

static void close_ways(void)
{
    memcpy(reaches, leads, sizeof reaches);
    for (int k = 0; k < LOCKS; k++)
        for (int i = 0; i < LOCKS; i++)
            for (int j = 0; j < LOCKS && reaches[i][k]; j++)
                reaches[i][j] = reaches[i][j] || reaches[k][j];
}

static void compare(int round)
{
    int wrong = 0;
    close_ways();
    for (int i = 0; i < LOCKS; i++)
        for (int j = 0; j < LOCKS; j++)
            wrong +=
                i != j && component_same(parts[i], parts[j]) != (reaches[i][j] && reaches[j][i]);
    CHECK_MSG(wrong == 0, "round %d: %d pairs", round, wrong);
}

static void renew(void)
{
    REQUIRE(components_renew());
    for (int i = 0; i < LOCKS; i++)
        parts[i] = component_keep(parts[i]);
    for (int i = 0; i < LOCKS; i++)
        for (int j = 0; j < LOCKS; j++)
            if (leads[i][j])
                component_step(parts[i], parts[j]);
    components_renewed();
}

/* Every third time in one order, so that there is no circle. */
static void add_steps(int round, unsigned *seed)
{
    int count = 20 + rand_r(seed) % 150;
    for (int step = 0; step < count; step++) {
        int from = rand_r(seed) % LOCKS, to = rand_r(seed) % LOCKS;
        if (from == to || (round % 3 == 0 && from > to))
            continue;
        leads[from][to] = true;
        component_step(parts[from], parts[to]);
        if (step == count / 2 && round % 2)
            renew();
        if (step % 10 == 0)
            compare(round);
    }
    compare(round);
}

int main(void)
{
    unsigned seed = 1;
    REQUIRE(components_start());
    for (int round = 0; round < ROUNDS; round++) {
        components_clear();
        memset(leads, 0, sizeof leads);
        REQUIRE(components_have_room(LOCKS, LOCKS * LOCKS) ||
                components_make_room(LOCKS, LOCKS * LOCKS));
        for (int i = 0; i < LOCKS; i++)
            parts[i] = component_new();
        add_steps(round, &seed);
    }
    return test_done();
}
