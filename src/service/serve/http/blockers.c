/* Computes how many processes wait behind each process, in slices. */
#include "service/serve/http/blockers.h"

#include "foundation/base/memory.h"

#include <string.h>

#define NOBODY GORDIAN_NONE
#define SIDE   4     /* wants per process, and holders per want, that are examined */
#define CIRCLE 65536 /* a longer cycle counts as several */

void blockers_init(struct blockers *blockers, const struct service *service)
{
    *blockers = (struct blockers){.memory = memory_allocator(NULL), .service = service};
}

static void free_system(struct blockers *blockers, struct blockers_system *system)
{
    if (!system)
        return;
    memory_free_all(&blockers->memory, system->next, system->degree, system->behind, system->queue,
                    system->sizes, system);
}

void blockers_free(struct blockers *blockers)
{
    for (size_t i = 0; i < blockers->room; i++)
        free_system(blockers, blockers->systems[i]);
    memory_free(&blockers->memory, blockers->systems);
    *blockers = (struct blockers){.memory = blockers->memory, .service = blockers->service};
}

/* ------------------------------------------------------------------ one slice of a phase */

static bool begin_round(struct blockers *blockers, struct blockers_system *system)
{
    uint32_t limit = served_process_limit(system->served);
    uint32_t **lists[] = {&system->next, &system->degree, &system->behind, &system->queue};
    if (limit > system->served->process_room)
        limit = system->served->process_room;
    for (size_t i = 0; i < 4; i++)
        if (!memory_grow(&blockers->memory, lists[i], &system->room[i], (size_t)limit + 1,
                         sizeof **lists[i]))
            return false;
    system->limit = limit;
    system->began = service_now(blockers->service);
    return true;
}

static void clear_some(struct blockers_system *system, uint32_t end)
{
    for (uint32_t i = system->at; i < end; i++) {
        system->next[i] = NOBODY;
        system->degree[i] = system->behind[i] = 0;
    }
}

/* Returns a process that it waits for: the first other holder of something it wants. */
static uint32_t find_blocker(struct served *served, uint32_t process)
{
    gordian_edge wants[SIDE], holds[SIDE];
    size_t count = served_first_edges(served, SERVED_WANTED, process, wants, SIDE);
    uint32_t itself = NOBODY;
    for (size_t i = 0; i < count; i++) {
        size_t holders = served_first_edges(served, SERVED_HOLDERS, wants[i].resource, holds, SIDE);
        for (size_t j = 0; j < holders; j++) {
            if (holds[j].process != process)
                return holds[j].process;
            itself = process; /* it wants more of what it holds */
        }
    }
    return itself;
}

static void follow_some(struct blockers_system *system, uint32_t end)
{
    for (uint32_t i = system->at; i < end; i++) {
        if (i >= system->served->process_room || !system->served->processes[i].since)
            continue;
        uint32_t next = find_blocker(system->served, i);
        if (next >= system->limit)
            continue;
        system->next[i] = next;
        system->degree[next]++;
    }
}

/* Queues the leaves: processes with no waiters behind them. */
static void queue_some(struct blockers_system *system, uint32_t end)
{
    for (uint32_t i = system->at; i < end; i++)
        if (system->degree[i] == 0 && system->next[i] != NOBODY)
            system->queue[system->tail++] = i;
}

static void count_some(struct blockers_system *system)
{
    for (uint32_t done = 0; done < BLOCKERS_SLICE && system->head < system->tail; done++) {
        uint32_t i = system->queue[system->head++], next = system->next[i];
        system->behind[next] += system->behind[i] + 1;
        if (--system->degree[next] == 0 && system->next[next] != NOBODY)
            system->queue[system->tail++] = next;
    }
}

static void keep_worst_blockers(struct blockers_system *system, struct blockers_root root)
{
    uint32_t at = system->best_count;
    if (at == BLOCKERS_TOP && system->best[at - 1].behind >= root.behind)
        return;
    at = at == BLOCKERS_TOP ? at - 1 : system->best_count++;
    for (; at > 0 && system->best[at - 1].behind < root.behind; at--)
        system->best[at] = system->best[at - 1];
    system->best[at] = root;
}

/* Ranks the roots: processes that wait for none and have others behind them. A cycle has no root.
 * It is represented by its process with the most others behind it. */
static void rank_some(struct blockers_system *system, uint32_t end)
{
    for (uint32_t i = system->at; i < end; i++) {
        uint32_t next = system->next[i];
        if (next == NOBODY && system->behind[i] > 0)
            keep_worst_blockers(system, (struct blockers_root){i, system->behind[i], false});
        if (next == NOBODY || system->degree[i] == 0)
            continue;
        uint32_t all = 0, most = i, hops = 0, at = i;
        do { /* clear the degree, so that each cycle is walked once */
            uint32_t follower = system->next[at];
            all += system->behind[at] + 1;
            if (system->behind[at] > system->behind[most])
                most = at;
            system->degree[at] = 0;
            at = follower;
            hops++;
        } while (at != i && system->degree[at] > 0 && hops < CIRCLE);
        keep_worst_blockers(system, (struct blockers_root){most, all - 1, true});
    }
}

static void publish_round(struct blockers_system *system)
{
    uint32_t *sizes = system->sizes;
    size_t room = system->size_room;
    system->sizes = system->behind;
    system->size_room = system->room[2];
    system->size_count = system->limit;
    system->behind = sizes;
    system->room[2] = room;
    system->found = system->began;
    system->top_count = system->best_count;
    memcpy(system->top, system->best, sizeof system->top);
    system->phase = 0;
}

/* Returns true when a round is complete. */
static bool work_some(struct blockers *blockers, struct blockers_system *system)
{
    static void (*const phases[])(struct blockers_system *, uint32_t) = {
        NULL, clear_some, follow_some, queue_some, NULL, rank_some};
    if (system->phase == 0) {
        system->at = system->head = system->tail = system->best_count = 0;
        if (!begin_round(blockers, system))
            return true;
        system->phase = 1;
    }
    uint32_t end =
        system->limit - system->at > BLOCKERS_SLICE ? system->at + BLOCKERS_SLICE : system->limit;
    if (system->phase == 4)
        count_some(system);
    else
        phases[system->phase](system, end);
    if (end - system->at > system->worked)
        system->worked = end - system->at;
    bool over = system->phase == 4 ? system->head == system->tail : end == system->limit;
    system->at = over ? 0 : system->phase == 4 ? 0 : end;
    system->phase += over;
    if (system->phase < 6)
        return false;
    publish_round(system);
    return true;
}

/* ------------------------------------------------------------------ queries */

static bool is_of_system(const struct blockers_system *system, const struct served *served)
{
    return system && system->served == served && system->opened == served->opened;
}

void blockers_tick(struct blockers *blockers)
{
    const struct service *service = blockers->service;
    uint64_t now = service_steady(service);
    for (size_t i = 0; i < blockers->room; i++) {
        struct blockers_system *system = blockers->systems[i];
        if (!system)
            continue;
        const struct served *served = i < service->system_limit ? service->systems[i] : NULL;
        if (!served || !is_of_system(system, served) || now - system->asked > BLOCKERS_MS) {
            free_system(blockers, system);
            blockers->systems[i] = NULL;
        } else {
            work_some(blockers, system);
        }
    }
}

const struct blockers_system *blockers_ask(struct blockers *blockers, struct served *served)
{
    if (!memory_grow_zeroed(&blockers->memory, &blockers->systems, &blockers->room,
                            (size_t)served->slot + 1, sizeof *blockers->systems))
        return NULL;
    struct blockers_system **place = &blockers->systems[served->slot];
    if (!is_of_system(*place, served)) {
        free_system(blockers, *place);
        *place = memory_zeroed(&blockers->memory, sizeof **place);
        if (!*place)
            return NULL;
        (*place)->served = served;
        (*place)->opened = served->opened;
    }
    (*place)->asked = service_steady(blockers->service);
    /* Recompute a small system immediately. */
    bool small = served->process_room <= BLOCKERS_SLICE;
    if (small)
        (*place)->phase = 0;
    for (int i = 0; i < (small ? 8 : 1) && !work_some(blockers, *place); i++)
        continue;
    return *place;
}

uint32_t blockers_behind(const struct blockers_system *system, uint32_t process)
{
    return system && process < system->size_count ? system->sizes[process] : 0;
}
