/*
 * Awaits in a served system (engines/detect/acts.c), and how the change log records them.
 *
 * In the change log (system/recent.h) an await is a resource. Its holders are the processes that
 * can act and have not; its waiter waits for as many of them as are still needed. An act removes a
 * hold and makes the wait smaller by one. So no unit is ever free, and changes can be undone one by
 * one. A process cannot act for itself: if it awaits itself, that is not recorded.
 */
#include "engines/detect/system.h"
#include "service/serve/system/system.h"

static void note_await_change(struct served *served, enum recent_kind kind, uint32_t process,
                              uint32_t resource, uint64_t units)
{
    recent_put(&served->recent, (struct recent_item){.kind = (uint8_t)kind,
                                                     .await = true,
                                                     .process = process,
                                                     .resource = resource,
                                                     .units = units});
}

static gordian_want *find_want(struct served_process *record, uint32_t resource)
{
    gordian_want *wants = (gordian_want *)served_waits(record);
    for (uint32_t i = 0; i < record->want_count; i++)
        if (wants[i].resource == resource)
            return &wants[i];
    return NULL;
}

uint64_t served_still_needed(const struct served *served, const gordian_edge *wait)
{
    if (!served_is_await(served, wait->resource))
        return wait->units;
    uint64_t acted = served_free_units(served, wait->resource);
    return wait->units > acted ? wait->units - acted : 0;
}

bool served_is_own_act(const struct served *served, const gordian_edge *hold)
{
    if (!served_is_await(served, hold->resource))
        return false;
    const struct rag *graph = system_graph(served->system);
    return rag_queued(graph, graph->resources[hold->resource].queue_head).process == hold->process;
}

/* ------------------------------------------------------------------ beginning */

bool served_reserve_await(struct served *served, uint32_t process)
{
    if (process >= served->process_room)
        return true;
    struct served_process *record = &served->processes[process];
    return record->want_count < record->want_room ||
           memory_grow32(&served->memory, &record->wants, &record->want_room,
                         record->want_count + 1, sizeof *record->wants);
}

static void add_want(struct served_process *record, gordian_want want)
{
    if (record->want_count == 0)
        record->want = want;
    else if (record->want_count == 1)
        record->wants[0] = record->want;
    if (record->want_count > 0)
        record->wants[record->want_count] = want;
    record->want_count++;
}

void served_begin_await(struct served *served, uint32_t process, uint64_t now)
{
    const struct rag *graph = system_graph(served->system);
    struct served_process *record = &served->processes[process];
    struct rag_edge edge;
    if (!record->since) {
        record->since = now ? now : 1;
        served->waiting++;
    }
    record->awaits = true;
    for (uint32_t ref = process; ref != NONE; ref = edge.next) {
        edge = rag_wanted(graph, ref);
        if (find_want(record, edge.resource))
            continue;
        struct rag_edge hold; /* of a process that can act */
        for (uint32_t at = rag_first_holder(graph, edge.resource); at != NONE; at = hold.next) {
            hold = rag_holder(graph, at);
            if (hold.process == process)
                continue;
            record->acts++;
            note_await_change(served, RECENT_ADD_HOLD, hold.process, edge.resource, 1);
        }
        note_await_change(served, RECENT_ADD_WAIT, process, edge.resource, edge.units);
        add_want(record, (gordian_want){edge.units, edge.resource});
    }
}

void served_restore_await(struct served *served, uint32_t process)
{
    struct served_process *record = &served->processes[process];
    gordian_want *wants = (gordian_want *)served_waits(record);
    record->awaits = record->want_count > 0 && served_is_await(served, wants[0].resource);
    record->acts = 0;
    for (uint32_t i = 0; record->awaits && i < record->want_count; i++) {
        gordian_edge wait = {.units = wants[i].units, .resource = wants[i].resource};
        const struct rag *graph = system_graph(served->system);
        struct rag_edge hold;
        wants[i].units = served_still_needed(served, &wait);
        for (uint32_t ref = rag_first_holder(graph, wait.resource); ref != NONE; ref = hold.next) {
            hold = rag_holder(graph, ref);
            record->acts += hold.process != process;
        }
    }
}

/* ------------------------------------------------------------------ acts, and ends */

void served_note_drops(struct served *served)
{
    gordian_system *system = served->system;
    if (!system)
        return;
    for (size_t i = 0; i < system->drop_count; i++) {
        const struct await_drop *drop = &system->drops[i];
        struct served_process *record = &served->processes[drop->waiter];
        uint64_t before = served_wait_cost(record);
        note_await_change(served, RECENT_DROP_HOLD, drop->holder, drop->resource, 1);
        gordian_want *want = drop->acted ? find_want(record, drop->resource) : NULL;
        if (want && want->units > 0) { /* the waiter needs one act less */
            want->units--;
            note_await_change(served, RECENT_DROP_WAIT, drop->waiter, drop->resource, 1);
        }
        record->acts -= record->acts > 0;
        served_charge(served, record->owner, before, served_wait_cost(record));
    }
    if (system->drops_lost)
        recent_change(&served->recent, RECENT_OTHER, GORDIAN_NONE, GORDIAN_NONE, 0);
    system->drop_count = 0;
    system->drops_lost = false;
}

void served_drop_awaits(struct served *served, uint32_t process)
{
    const struct served_process *record = &served->processes[process];
    const gordian_want *wants = served_waits(record);
    for (uint32_t i = 0; i < record->want_count; i++)
        if (wants[i].units > 0) /* not enough processes have acted */
            note_await_change(served, RECENT_DROP_WAIT, process, wants[i].resource, wants[i].units);
}
