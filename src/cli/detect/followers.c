/* Finds the processes blocked behind a deadlock. */
#include "cli/detect/followers.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

typedef size_t list_edges(const gordian_system *system, uint32_t of, gordian_edge *edges,
                          size_t room);

/* Grows an array of rounds; new elements are 0. */
static bool grow_rounds(uint32_t **rounds, size_t *room, size_t wanted)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t before = *room;
    if (!memory_grow(&memory, rounds, room, wanted, sizeof **rounds))
        return false;
    if (*room > before)
        memset(*rounds + before, 0, (*room - before) * sizeof **rounds);
    return true;
}

static bool prepare_search(struct followers *followers, const gordian_system *system)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t processes = gordian_process_limit(system);
    if (!grow_rounds(&followers->process_met, &followers->process_room, processes) ||
        !grow_rounds(&followers->process_stuck, &followers->stuck_room, processes) ||
        !grow_rounds(&followers->resource_met, &followers->resource_room,
                     gordian_resource_limit(system)) ||
        !memory_grow(&memory, &followers->found, &followers->room, processes,
                     sizeof *followers->found))
        return false;
    followers->count = followers->members = 0;
    followers->round++;
    return true;
}

static void meet_process(struct followers *followers, uint32_t process)
{
    if (followers->process_met[process] == followers->round)
        return;
    followers->process_met[process] = followers->round;
    followers->found[followers->count++] = process;
}

/* Fetches the edges of one process or resource. False: out of memory. */
static bool fetch_edges(gordian_edge **edges, size_t *room, const gordian_system *system,
                        list_edges *list, uint32_t of, size_t *count)
{
    gordian_allocator memory = memory_allocator(NULL);
    *count = list(system, of, *edges, *room);
    if (*count <= *room)
        return true;
    if (!memory_grow(&memory, edges, room, *count, sizeof **edges))
        return false;
    list(system, of, *edges, *room);
    return true;
}

/* If one of several holders can satisfy a request, waiting for a deadlocked holder is not enough:
 * marks the processes that are really stuck. */
static gordian_status mark_stuck(struct followers *followers, gordian_system *system,
                                 gordian_error *error)
{
    const uint32_t *stuck;
    size_t count;
    TRY(gordian_deadlocked(system, &stuck, &count, error));
    for (size_t i = 0; i < count; i++)
        followers->process_stuck[stuck[i]] = followers->round;
    return GORDIAN_OK;
}

static bool meet_waiters(struct followers *followers, const gordian_system *system,
                         uint32_t resource, bool all)
{
    if (followers->resource_met[resource] == followers->round)
        return true;
    followers->resource_met[resource] = followers->round;
    size_t count;
    if (!fetch_edges(&followers->waiting, &followers->waiting_room, system, gordian_waiters,
                     resource, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t process = followers->waiting[i].process;
        if (all || followers->process_stuck[process] == followers->round)
            meet_process(followers, process);
    }
    return true;
}

static bool follow_process(struct followers *followers, const gordian_system *system,
                           uint32_t process, bool all)
{
    size_t count;
    if (!fetch_edges(&followers->held, &followers->held_room, system, gordian_holdings, process,
                     &count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!meet_waiters(followers, system, followers->held[i].resource, all))
            return false;
    return true;
}

gordian_status followers_collect(struct followers *followers, gordian_system *system,
                                 const gordian_witness *witness, gordian_error *error)
{
    if (!prepare_search(followers, system))
        return fail_memory(error);
    for (size_t i = 0; i < witness->count; i++)
        meet_process(followers, witness->edges[i].process);
    followers->members = followers->count;
    bool all = gordian_system_model(system) == GORDIAN_MODEL_SINGLE_UNIT;
    TRY(all ? GORDIAN_OK : mark_stuck(followers, system, error));
    for (size_t i = 0; i < followers->count; i++)
        if (!follow_process(followers, system, followers->found[i], all))
            return fail_memory(error);
    return GORDIAN_OK;
}

void followers_free(struct followers *followers)
{
    gordian_allocator memory = memory_allocator(NULL);
    memory_free(&memory, followers->found);
    memory_free(&memory, followers->process_met);
    memory_free(&memory, followers->process_stuck);
    memory_free(&memory, followers->resource_met);
    memory_free(&memory, followers->held);
    memory_free(&memory, followers->waiting);
    *followers = (struct followers){0};
}
