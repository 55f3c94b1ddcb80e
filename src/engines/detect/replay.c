/*
 * Replays a trace: turns the names of each line into ids, feeds the event to the system and returns
 * the outcome as a step.
 *
 * A process is created by its `process` line or by its first event that is not refused. A process
 * that has exited lingers, so that later lines about it still have a meaning. The list of lingering
 * processes is bounded, which bounds the memory for a trace in which new processes keep coming and
 * going.
 */
#include "engines/detect/system.h"
#include "engines/rag/trace_ahead.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <stdio.h>
#include <string.h>

/* Processes that have exited and had no event since, oldest first: a doubly linked list in an array
 * by process id. */
struct linger {
    struct linger_link {
        uint32_t older, newer; /* NONE at the ends; both ABSENT: not in the list */
    } * links;
    uint32_t room;
    uint32_t oldest, newest;
    uint32_t count;
};

#define ABSENT (NONE - 1)
/* Smaller graphs fit the caches: prefetching would only cost time. */
#define FAR (1u << 14)
/* The id of no process, but not NONE: a hand-over to a process that does not exist. */
#define STRANGER (NONE - 1)

struct gordian_replay {
    gordian_system *system;
    gordian_allocator memory;
    gordian_trace trace;
    struct trace_ahead ahead;
    /* The lines ahead as events, by their number there. `odd` has a bit for each line that is no
     * event, or has a name that was unknown when it was looked up. */
    gordian_event events[READER_AHEAD_LINES];
    gordian_result results[READER_AHEAD_LINES];
    uint64_t odd;
    uint64_t seq;
    gordian_want *wants; /* of the current event, if it names several resources */
    size_t want_room;
    uint64_t *sums; /* by resource, all zero between calls: see over_total_item */
    size_t sum_room;
    struct linger linger;
    bool stuck;     /* the last step ended in a deadlock, from which the caller may recover */
    uint64_t clock; /* the graph's, and its limit of processes, after the last step */
    uint32_t known;
    char process[GORDIAN_NAME_MAX + 1];
    char message[400];
};

gordian_status gordian_replay_open(gordian_replay **out, gordian_system *system,
                                   const gordian_source *source, gordian_error *error)
{
    gordian_allocator memory = system_graph(system)->memory;
    if (system->shared)
        return fail(error, GORDIAN_STATUS_INPUT, "a shared system cannot replay a trace");
    gordian_replay *replay = memory_zeroed(&memory, sizeof *replay);
    if (!replay)
        return fail_memory(error);
    replay->system = system;
    replay->memory = memory;
    replay->linger.oldest = replay->linger.newest = NONE;
    for (unsigned i = 0; i < READER_AHEAD_LINES; i++)
        replay->events[i] = (gordian_event){.units = 1, .to = NONE};
    gordian_status status = gordian_trace_open(&replay->trace, source, &memory, error);
    replay->trace.acts = true;
    if (status != GORDIAN_OK) {
        gordian_replay_close(replay);
        return status;
    }
    *out = replay;
    return GORDIAN_OK;
}

void gordian_replay_close(gordian_replay *replay)
{
    if (!replay)
        return;
    gordian_allocator memory = replay->memory;
    gordian_trace_close(&replay->trace);
    memory_free_all(&memory, replay->wants, replay->sums, replay->linger.links, replay);
}

/* ---- processes that have exited */

static bool linger_reserve(gordian_replay *replay, uint32_t process)
{
    struct linger *linger = &replay->linger;
    uint32_t old = linger->room;
    if (process < old)
        return true;
    if (!memory_grow32(&replay->memory, &linger->links, &linger->room, process + 1,
                       sizeof *linger->links))
        return false;
    for (uint32_t i = old; i < linger->room; i++)
        linger->links[i] = (struct linger_link){ABSENT, ABSENT};
    return true;
}

static inline bool process_lingers(const struct linger *linger, uint32_t process)
{
    return linger->count > 0 && process < linger->room && linger->links[process].older != ABSENT;
}

static void linger_leave(struct linger *linger, uint32_t process)
{
    struct linger_link link = linger->links[process];
    *(link.older == NONE ? &linger->oldest : &linger->links[link.older].newer) = link.newer;
    *(link.newer == NONE ? &linger->newest : &linger->links[link.newer].older) = link.older;
    linger->links[process] = (struct linger_link){ABSENT, ABSENT};
    linger->count--;
}

/* Appends a process. The caller has reserved the memory. */
static void linger_join(struct linger *linger, uint32_t process)
{
    linger->links[process] = (struct linger_link){.older = linger->newest, .newer = NONE};
    *(linger->newest == NONE ? &linger->oldest : &linger->links[linger->newest].newer) = process;
    linger->newest = process;
    linger->count++;
}

/* Appends the processes that recovery has ended between two steps. They were created again since
 * the last step, and neither hold nor want anything. If the list cannot grow, their names stay
 * known. */
static void linger_recovered(gordian_replay *replay)
{
    const struct rag *graph = system_graph(replay->system);
    if (graph->clock == replay->clock)
        return;
    for (uint32_t p = 0; p < replay->known && p < graph->process_limit; p++) {
        if (rag_is_process(graph, p) && graph->processes_more[p].born >= replay->clock &&
            !rag_waits(graph, p) && graph->processes[p].held == NONE &&
            !process_lingers(&replay->linger, p) && linger_reserve(replay, p))
            linger_join(&replay->linger, p);
    }
}

/* ---- names and ids */

static uint32_t find_process(const gordian_replay *replay, const gordian_word *name)
{
    return gordian_find_process(replay->system, name->text, name->length);
}

static uint32_t find_traced_resource(const gordian_replay *replay, const gordian_word *name)
{
    return gordian_find_resource(replay->system, name->text, name->length);
}

/* ---- declarations */

static gordian_status replay_resource_line(gordian_replay *replay, gordian_error *error)
{
    gordian_trace *trace = &replay->trace;
    char name[GORDIAN_NAME_MAX + 1];
    uint32_t id = find_traced_resource(replay, &trace->name);
    if (id != NONE)
        return trace_redeclared(trace, id, error);
    trace_copy_name(name, &trace->name);
    gordian_status status = gordian_add_resource(replay->system, name, trace->units, &id, error);
    if (status != GORDIAN_OK)
        return trace_place_error(&replay->trace, &replay->trace.verb, status, error);
    if (trace_declare(trace, id))
        return GORDIAN_OK;
    gordian_remove_resource(replay->system, id, NULL);
    return fail_memory(error);
}

static gordian_status replay_process_line(gordian_replay *replay, gordian_error *error)
{
    struct trace_attributes attributes;
    gordian_status status = trace_attributes(&replay->trace, &attributes, error);
    if (status != GORDIAN_OK)
        return status;
    uint32_t id = find_process(replay, &replay->trace.name);
    bool created = id == NONE;
    if (created) {
        trace_copy_name(replay->process, &replay->trace.name);
        status = gordian_add_process(replay->system, replay->process, &id, error);
        if (status != GORDIAN_OK)
            return trace_place_error(&replay->trace, &replay->trace.verb, status, error);
    }
    status = GORDIAN_OK;
    if (attributes.has_priority)
        status = gordian_set_priority(replay->system, id, attributes.priority, error);
    if (status == GORDIAN_OK && attributes.has_cost)
        status = gordian_set_cost(replay->system, id, attributes.cost, error);
    if (status != GORDIAN_OK) {
        if (created)
            gordian_remove_process(replay->system, id, NULL);
        return status;
    }
    if (process_lingers(&replay->linger, id))
        linger_leave(&replay->linger, id);
    return GORDIAN_OK;
}

/* ---- refusals */

/* Finds the word with which a request exceeds the total of a resource, alone or together with
 * earlier words that name the same resource. */
static gordian_status over_total_item(gordian_replay *replay, const gordian_trace_item **item,
                                      gordian_error *error)
{
    const gordian_trace *trace = &replay->trace;
    size_t limit = gordian_resource_limit(replay->system);
    size_t old = replay->sum_room;
    *item = &trace->items[0];
    if (trace->item_count == 1)
        return GORDIAN_OK;
    if (!memory_grow(&replay->memory, &replay->sums, &replay->sum_room, limit,
                     sizeof *replay->sums))
        return fail_memory(error);
    memset(replay->sums + old, 0, (replay->sum_room - old) * sizeof *replay->sums);
    size_t seen = 0;
    for (bool found = false; seen < trace->item_count && !found; seen++) {
        uint32_t resource = replay->wants[seen].resource;
        if (resource == NONE)
            break;
        uint64_t *sum = &replay->sums[resource];
        found = __builtin_add_overflow(*sum, replay->wants[seen].units, sum) ||
                *sum > gordian_units(replay->system, resource);
        if (found)
            *item = &trace->items[seen];
    }
    for (size_t i = 0; i < seen; i++)
        replay->sums[replay->wants[i].resource] = 0;
    return GORDIAN_OK;
}

static const gordian_word *unknown_resource(const gordian_replay *replay)
{
    const gordian_trace *trace = &replay->trace;
    for (size_t i = 0; i < trace->item_count; i++) {
        if (find_traced_resource(replay, &trace->items[i].name) == NONE)
            return &trace->items[i].name;
    }
    return &trace->verb;
}

/* Finds the word that a refusal is about. */
static gordian_status blame_refusal(gordian_replay *replay, gordian_refusal refusal,
                                    const gordian_word **word, gordian_error *error)
{
    const gordian_trace *trace = &replay->trace;
    const gordian_trace_item *item;
    if (trace->op == GORDIAN_OP_AWAIT || trace->op == GORDIAN_OP_ACT) {
        *word = refusal == GORDIAN_REFUSAL_BAD_HAND_OVER ? &trace->to : &trace->name;
        return GORDIAN_OK;
    }
    switch (refusal) {
    case GORDIAN_REFUSAL_UNKNOWN_PROCESS:
    case GORDIAN_REFUSAL_IS_WAITING:
    case GORDIAN_REFUSAL_NOT_WAITING:
        *word = &trace->name;
        break;
    case GORDIAN_REFUSAL_UNKNOWN_RESOURCE:
        *word = unknown_resource(replay);
        break;
    case GORDIAN_REFUSAL_OVER_TOTAL:
        TRY(over_total_item(replay, &item, error));
        *word = &item->name;
        break;
    case GORDIAN_REFUSAL_NOT_HELD:
    case GORDIAN_REFUSAL_NOT_FREE:
        *word = &trace->items[0].name;
        break;
    case GORDIAN_REFUSAL_BAD_HAND_OVER:
        *word = &trace->to;
        break;
    default:
        *word = &trace->verb;
        break;
    }
    return GORDIAN_OK;
}

/* Explains a refusal. The system knows names of ids only; the text also has names without an id. */
static gordian_status explain_refusal(gordian_replay *replay, gordian_step *step,
                                      gordian_error *error)
{
    gordian_refusal refusal = (gordian_refusal)step->result.refusal;
    const gordian_word *word;
    TRY(blame_refusal(replay, refusal, &word, error));
    char shown[TRACE_SHOWN_MAX];
    trace_show(word, shown);
    bool stranger = refusal == GORDIAN_REFUSAL_BAD_HAND_OVER && step->event.to == STRANGER;
    if (refusal == GORDIAN_REFUSAL_UNKNOWN_PROCESS || stranger)
        snprintf(replay->message, sizeof replay->message, "process '%s' was never seen", shown);
    else if (refusal == GORDIAN_REFUSAL_UNKNOWN_RESOURCE)
        snprintf(replay->message, sizeof replay->message, "resource '%s' was never declared",
                 shown);
    else
        gordian_refusal_text(replay->system, &step->event, refusal, replay->message,
                             sizeof replay->message);
    step->column = word->column;
    step->message = replay->message;
    return GORDIAN_OK;
}

/* ---- events */

/* Collects the processes that can act. This line creates them. The name of a process that has
 * exited becomes known again. */
static gordian_status gather_awaited(gordian_replay *replay, gordian_event *event,
                                     gordian_error *error)
{
    const gordian_trace *trace = &replay->trace;
    gordian_status status = GORDIAN_OK;
    if (!memory_grow(&replay->memory, &replay->wants, &replay->want_room, trace->item_count,
                     sizeof *replay->wants))
        return fail_memory(error);
    for (size_t i = 0; i < trace->item_count && status == GORDIAN_OK; i++) {
        uint32_t id = find_process(replay, &trace->items[i].name);
        if (id == NONE) {
            char name[GORDIAN_NAME_MAX + 1];
            trace_copy_name(name, &trace->items[i].name);
            status = gordian_add_process(replay->system, name, &id, error);
        } else if (process_lingers(&replay->linger, id)) {
            linger_leave(&replay->linger, id);
        }
        replay->wants[i] = (gordian_want){.units = 1, .resource = id};
    }
    event->process =
        find_process(replay, &trace->name); /* A process may await an act of its own. */
    event->wants = replay->wants;
    event->want_count = trace->item_count;
    event->units = trace->units;
    return trace_place_error(&replay->trace, &replay->trace.verb, status, error);
}

/* Makes an event of the current line. Unknown names become NONE. */
static gordian_status make_event(gordian_replay *replay, gordian_event *event, gordian_error *error)
{
    const gordian_trace *trace = &replay->trace;
    *event = (gordian_event){
        .op = trace->op,
        .process = find_process(replay, &trace->name),
        .resource = NONE,
        .to = NONE,
    };
    if (trace->to.text) {
        event->to = find_process(replay, &trace->to);
        if (event->to == NONE)
            event->to = STRANGER; /* NONE would mean that the line names no process */
    }
    if (trace->op == GORDIAN_OP_AWAIT)
        return gather_awaited(replay, event, error);
    if (trace->item_count > 1) {
        if (!memory_grow(&replay->memory, &replay->wants, &replay->want_room, trace->item_count,
                         sizeof *replay->wants))
            return fail_memory(error);
        for (size_t i = 0; i < trace->item_count; i++)
            replay->wants[i] = (gordian_want){
                .units = trace->items[i].units,
                .resource = find_traced_resource(replay, &trace->items[i].name),
            };
        event->wants = replay->wants;
        event->want_count = trace->item_count;
        return GORDIAN_OK;
    }
    if (trace->item_count == 1) {
        event->resource = find_traced_resource(replay, &trace->items[0].name);
        event->units = trace->items[0].units;
    }
    return GORDIAN_OK;
}

static void note_exits(struct linger *linger, const gordian_event *event)
{
    if (process_lingers(linger, event->process))
        linger_leave(linger, event->process);
    if (event->op == GORDIAN_OP_EXIT)
        linger_join(linger, event->process);
}

/* Notes whether the caller may recover before the next step (see linger_recovered). */
static void note_outcome(gordian_replay *replay, unsigned outcome)
{
    replay->stuck = outcome == GORDIAN_OUTCOME_DEADLOCK || outcome == GORDIAN_OUTCOME_DOOMED;
    if (replay->stuck) {
        replay->clock = system_graph(replay->system)->clock;
        replay->known = gordian_process_limit(replay->system);
    }
}

/* Feeds the event of `step`. Its process exists unless it is NONE. */
static gordian_status feed_step(gordian_replay *replay, gordian_step *step, gordian_error *error)
{
    gordian_event *event = &step->event;
    if (event->op == GORDIAN_OP_EXIT && event->process != NONE &&
        !linger_reserve(replay, event->process))
        return fail_memory(error);
    gordian_status status = gordian_feed(replay->system, event, &step->result, error);
    if (status != GORDIAN_OK)
        return trace_place_error(&replay->trace, &replay->trace.verb, status, error);
    if (step->result.outcome == GORDIAN_OUTCOME_REFUSED)
        return explain_refusal(replay, step, error);
    note_exits(&replay->linger, event);
    note_outcome(replay, step->result.outcome);
    return GORDIAN_OK;
}

static gordian_status replay_event_line(gordian_replay *replay, gordian_step *step,
                                        gordian_error *error)
{
    gordian_event *event = &step->event;
    step->message = NULL;
    step->line = replay->trace.line;
    step->column = replay->trace.verb.column;
    step->process = replay->process;
    trace_copy_name(replay->process, &replay->trace.name);
    gordian_status status = make_event(replay, event, error);
    if (status != GORDIAN_OK)
        return status;
    /* Some events may be the first one of a process. */
    bool created = event->process == NONE &&
                   (event->op == GORDIAN_OP_REQUEST || event->op == GORDIAN_OP_HOLD ||
                    event->op == GORDIAN_OP_WAIT || event->op == GORDIAN_OP_AWAIT);
    if (created) {
        status = gordian_add_process(replay->system, replay->process, &event->process, error);
        if (status != GORDIAN_OK)
            return trace_place_error(&replay->trace, &replay->trace.verb, status, error);
    }
    status = feed_step(replay, step, error);
    if (created && (status || step->result.outcome == GORDIAN_OUTCOME_REFUSED)) {
        gordian_remove_process(replay->system, event->process, NULL);
        event->process = NONE;
    }
    if (event->to == STRANGER)
        event->to = NONE;
    if (status != GORDIAN_OK)
        return status;
    step->seq = ++replay->seq;
    return GORDIAN_OK;
}

/* ---- plain lines */

/* Prefetches the records of the lines ahead, whose names have been looked up. */
static void prefetch_records(const gordian_replay *replay)
{
    const struct rag *graph = system_graph(replay->system);
    const struct trace_ahead *ahead = &replay->ahead;
    if (graph->process_limit + graph->resource_limit < FAR)
        return;
    for (uint32_t i = ahead->line; i < replay->trace.inside->reader.ahead->line_count; i++) {
        if (ahead->processes[i].id != NONE)
            rag_prefetch_process(graph, ahead->processes[i].id);
        if (ahead->resources[i].id != NONE)
            rag_prefetch_resource(graph, ahead->resources[i].id);
    }
}

static void make_events(gordian_replay *replay)
{
    const struct trace_ahead *ahead = &replay->ahead;
    uint32_t count = replay->trace.inside->reader.ahead->line_count;
    uint64_t odd = 0;
    for (uint32_t i = 0; i < count; i++) {
        gordian_event *event = &replay->events[i];
        event->op = ahead->lines[i].op;
        event->process = ahead->processes[i].id;
        event->resource = ahead->resources[i].id;
        bool plain = (ahead->lines[i].shape == TRACE_EVENT) & (event->process != NONE) &
                     (event->resource != NONE);
        odd |= (uint64_t)!plain << i;
    }
    replay->odd = odd;
}

static const struct trace_plain *next_plain(gordian_replay *replay)
{
    const struct rag *graph = system_graph(replay->system);
    bool fresh;
    const struct trace_plain *plain = trace_ahead_next(
        &replay->trace, &replay->ahead, &graph->process_names, &graph->resource_names, &fresh);
    if (fresh) {
        prefetch_records(replay);
        make_events(replay);
    }
    return plain && plain->shape == TRACE_EVENT ? plain : NULL;
}

/* Returns how many of the next lines can be fed as they were looked up. */
static size_t count_run(const gordian_replay *replay)
{
    const struct rag *graph = system_graph(replay->system);
    const struct trace_ahead *ahead = &replay->ahead;
    uint64_t odd = replay->odd >> ahead->line;
    if (!trace_ahead_holds(ahead, &graph->process_names, &graph->resource_names))
        return 0;
    return odd ? (size_t)__builtin_ctzll(odd)
               : replay->trace.inside->reader.ahead->line_count - ahead->line;
}

/* Fills the step of line i of those ahead, whose words begin at `edge`. */
static inline void fill_step(gordian_replay *replay, gordian_step *step, uint32_t i, uint32_t edge)
{
    const struct reader *reader = &replay->trace.inside->reader;
    const struct reader_ahead *lines = reader->ahead;
    const struct names_query *name = &replay->ahead.processes[i];
    step->seq = replay->seq + 1 + (i - lines->line);
    step->line = reader->line + 1 + (i - lines->line);
    step->column = lines->edges[edge] - reader_begin(lines, i) + 1;
    step->event = replay->events[i];
    step->result = replay->results[i];
    step->process = reader_text(reader, name->name, name->length);
    step->message = NULL;
}

static void fill_steps(gordian_replay *replay, gordian_step *steps, size_t count)
{
    struct reader *reader = &replay->trace.inside->reader;
    uint32_t line = reader->ahead->line, edge = reader->ahead->edge;
    for (size_t i = 0; i < count; i++) {
        fill_step(replay, &steps[i], line + (uint32_t)i, edge);
        edge = replay->ahead.lines[line + i].next_edge;
    }
    replay->seq += count;
    reader_pass(reader, (uint32_t)count, edge);
}

/* Takes the next lines on the fast path: as long as they are plain, their names were known when
 * they were looked up, and no process is stuck. Returns how many. */
static size_t replay_run(gordian_replay *replay, gordian_step *steps, size_t room)
{
    size_t count = next_plain(replay) ? count_run(replay) : 0;
    uint32_t line = replay->ahead.line;
    if (count == 0)
        return 0;
    count = system_feed_run(replay->system, &replay->events[line], count < room ? count : room,
                            &replay->results[line]);
    if (count == 0)
        return 0;
    fill_steps(replay, steps, count);
    if (replay->linger.count > 0)
        for (size_t i = 0; i < count; i++)
            note_exits(&replay->linger, &steps[i].event);
    note_outcome(replay, steps[count - 1].result.outcome);
    return count;
}

/* Takes the next line if it is plain and valid. Its names may have been added or removed since the
 * lines ahead were looked up. Returns false if nothing has happened: then the line is read as a
 * whole. A refusal changes nothing, so its explanation can ask the system again. */
static bool replay_plain(gordian_replay *replay, gordian_step *step)
{
    const struct rag *graph = system_graph(replay->system);
    if (!next_plain(replay))
        return false;
    uint32_t line = replay->ahead.line;
    gordian_event *event = &replay->events[line];
    event->process = trace_ahead_process(&replay->ahead, &graph->process_names);
    event->resource = trace_ahead_resource(&replay->ahead, &graph->resource_names);
    if (event->process == NONE || event->resource == NONE ||
        system_feed_run(replay->system, event, 1, &replay->results[line]) == 0)
        return false;
    fill_steps(replay, step, 1);
    note_exits(&replay->linger, &step->event);
    note_outcome(replay, step->result.outcome);
    return true;
}

/* ---- steps */

/* Accounts for what the caller may have done since the last step. */
static void settle_exits(gordian_replay *replay)
{
    if (replay->stuck)
        linger_recovered(replay);
    replay->stuck = false;
    /* Forget the processes that exited longest ago. If the caller has used such a process in the
     * meantime, it cannot be removed and only leaves the list. */
    while (replay->linger.count > GORDIAN_LINGER) {
        uint32_t process = replay->linger.oldest;
        linger_leave(&replay->linger, process);
        gordian_remove_process(replay->system, process, NULL);
    }
}

gordian_status gordian_replay_next(gordian_replay *replay, gordian_step *step, gordian_error *error)
{
    settle_exits(replay);
    for (;;) {
        if (replay_run(replay, step, 1) || replay_plain(replay, step))
            return GORDIAN_OK;
        gordian_status status = gordian_trace_next(&replay->trace, error);
        if (status != GORDIAN_OK)
            return status;
        switch (replay->trace.kind) {
        case GORDIAN_LINE_EVENT: {
            gordian_step next;
            status = replay_event_line(replay, &next, error);
            if (status == GORDIAN_OK)
                *step = next;
            return status;
        }
        case GORDIAN_LINE_RESOURCE:
            status = replay_resource_line(replay, error);
            break;
        case GORDIAN_LINE_PROCESS:
            status = replay_process_line(replay, error);
            break;
        }
        if (status != GORDIAN_OK)
            return status;
    }
}

gordian_status gordian_replay_many(gordian_replay *replay, gordian_step *steps, size_t room,
                                   size_t *count, gordian_error *error)
{
    settle_exits(replay);
    *count = room ? replay_run(replay, steps, room) : 0;
    if (*count > 0 || room == 0)
        return GORDIAN_OK;
    gordian_status status = gordian_replay_next(replay, steps, error);
    *count = status == GORDIAN_OK;
    return status;
}
