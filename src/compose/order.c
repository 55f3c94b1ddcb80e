/* The order to compose in. */
#include "base/error.h"
#include "base/memory.h"
#include "compose/operations.h"

#include <string.h>

bool compose_order_valid(const struct circuit *circuit, const uint32_t *order, size_t count,
                         const char **why)
{
    if (count != circuit->factor_count) {
        *why = "it must name every factor";
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (order[i] >= count) {
            *why = "there is no such factor";
            return false;
        }
        for (size_t k = 0; k < i; k++) {
            if (order[k] == order[i]) {
                *why = "a factor is there twice";
                return false;
            }
        }
    }
    return true;
}

/* The part composed so far, seen from outside. */
struct ordering {
    const struct circuit *circuit;
    uint8_t *placed;   /* by factor: 1 in the part, 2 beside it: shares a name */
    uint32_t *outside; /* by name: how many of those who have it are not in the part */
    uint8_t *known;    /* by name: the part has it */
    uint32_t *beside;  /* factors that share a name with the part and are not in it */
    size_t beside_count;
};

/* How many names fewer would lead out of the part with this factor in it; and how many it shares
 * with it. */
static int64_t gain(const struct ordering *ordering, uint32_t factor, uint32_t *shared)
{
    const struct circuit *circuit = ordering->circuit;
    uint32_t ports = factor_shape(circuit, factor)->port_count;
    int64_t closed = 0;
    *shared = 0;
    for (uint32_t p = 0; p < ports; p++) {
        uint32_t name = circuit->factors[factor].names[p];
        bool last = ordering->outside[name] == 1;
        *shared += ordering->known[name];
        if (ordering->known[name])
            closed += last;
        else
            closed -= !last;
    }
    return closed;
}

static uint32_t choose(const struct ordering *ordering)
{
    uint32_t best = GORDIAN_NONE, best_shared = 0;
    int64_t best_gain = 0;
    for (size_t i = 0; i < ordering->beside_count; i++) {
        uint32_t factor = ordering->beside[i], shared;
        int64_t mine = gain(ordering, factor, &shared);
        if (best == GORDIAN_NONE || mine > best_gain ||
            (mine == best_gain &&
             (shared > best_shared || (shared == best_shared && factor < best)))) {
            best = factor;
            best_gain = mine;
            best_shared = shared;
        }
    }
    return best;
}

static void place(struct ordering *ordering, uint32_t factor)
{
    const struct circuit *circuit = ordering->circuit;
    uint32_t ports = factor_shape(circuit, factor)->port_count;
    for (size_t i = 0; i < ordering->beside_count; i++) {
        if (ordering->beside[i] == factor) {
            ordering->beside[i] = ordering->beside[--ordering->beside_count];
            break;
        }
    }
    ordering->placed[factor] = 1;
    for (uint32_t p = 0; p < ports; p++) {
        uint32_t name = circuit->factors[factor].names[p];
        ordering->outside[name]--;
        if (ordering->known[name])
            continue;
        ordering->known[name] = 1;
        for (size_t u = circuit->users_first[name]; u < circuit->users_first[name + 1]; u++) {
            if (ordering->placed[circuit->users[u]] == 0) {
                ordering->placed[circuit->users[u]] = 2;
                ordering->beside[ordering->beside_count++] = circuit->users[u];
            }
        }
    }
}

gordian_status compose_order(const struct circuit *circuit, uint32_t *order,
                             const gordian_allocator *wanted, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(wanted);
    struct ordering ordering = {.circuit = circuit};
    size_t names = circuit->name_count, factors = circuit->factor_count;
    ordering.placed = memory_zeroed(&memory, factors);
    ordering.known = memory_zeroed(&memory, names);
    ordering.outside = memory_alloc(&memory, names * sizeof(uint32_t));
    ordering.beside = memory_alloc(&memory, factors * sizeof(uint32_t));
    gordian_status status = ordering.placed && ordering.known && ordering.outside && ordering.beside
                                ? GORDIAN_OK
                                : fail_memory(error);
    if (status == GORDIAN_OK) {
        for (size_t n = 0; n < names; n++)
            ordering.outside[n] = (uint32_t)(circuit->users_first[n + 1] - circuit->users_first[n]);
        uint32_t lowest = 0;
        for (size_t i = 0; i < factors; i++) {
            uint32_t next = choose(&ordering);
            while (next == GORDIAN_NONE && ordering.placed[lowest])
                lowest++;
            order[i] = next == GORDIAN_NONE ? lowest : next;
            place(&ordering, order[i]);
        }
    }
    memory_free(&memory, ordering.placed);
    memory_free(&memory, ordering.known);
    memory_free(&memory, ordering.outside);
    memory_free(&memory, ordering.beside);
    return status;
}
