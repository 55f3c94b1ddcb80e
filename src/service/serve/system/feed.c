/* Feeds events to the engine of a served system one by one, and records what each changed. */
#include "engines/detect/ahead.h"
#include "foundation/base/error.h"
#include "service/serve/system/system.h"
#include "service/wire/wire.h"

#include <string.h>

/* ------------------------------------------------------------------ the change log */

static inline void note_event(struct served *served, const gordian_event *event, uint64_t now,
                              uint8_t outcome)
{
    recent_put(&served->recent, (struct recent_item){
                                    .kind = RECENT_EVENT,
                                    .op = (uint8_t)event->op,
                                    .result = outcome,
                                    .process = event->process,
                                    .at = now,
                                    .seq = served->seq,
                                });
}

static inline void note_wants(struct served *served, enum recent_kind kind,
                              const gordian_event *event)
{
    if (!event->wants) {
        recent_change(&served->recent, kind, event->process, event->resource, event->units);
        return;
    }
    for (size_t i = 0; i < event->want_count; i++)
        recent_change(&served->recent, kind, event->process, event->wants[i].resource,
                      event->wants[i].units);
}

/* Records a change of all that a process waits for. */
static inline void note_waits(struct served *served, enum recent_kind kind, uint32_t process)
{
    const struct served_process *record = &served->processes[process];
    const gordian_want *wants = served_waits(record);
    for (uint32_t i = 0; i < record->want_count; i++)
        recent_change(&served->recent, kind, process, wants[i].resource, wants[i].units);
}

/* ------------------------------------------------------------------ waits */

/* Reserves memory for the wants of a request that may have to wait. */
static inline bool reserve_wants(struct served *served, const gordian_event *event)
{
    if (event->op == GORDIAN_OP_AWAIT)
        return served_reserve_await(served, event->process);
    if (!event->wants || event->process >= served->process_room)
        return true;
    struct served_process *record = &served->processes[event->process];
    return event->want_count <= record->want_room ||
           memory_grow32(&served->memory, &record->wants, &record->want_room,
                         (uint32_t)event->want_count, sizeof *record->wants);
}

static inline void begin_process_wait(struct served *served, const gordian_event *event,
                                      uint64_t now)
{
    struct served_process *record = &served->processes[event->process];
    if (event->op == GORDIAN_OP_AWAIT) {
        served_begin_await(served, event->process, now);
        return;
    }
    record->since = now ? now : 1;
    record->want_count = event->wants ? (uint32_t)event->want_count : 1;
    if (record->want_count != 1)
        memcpy(record->wants, event->wants, event->want_count * sizeof *event->wants);
    else
        record->want =
            event->wants ? event->wants[0] : (gordian_want){event->units, event->resource};
    served->waiting++;
    note_wants(served, RECENT_ADD_WAIT, event);
}

static inline void end_process_wait(struct served *served, uint32_t process)
{
    struct served_process *record = &served->processes[process];
    if (record->awaits)
        served_drop_awaits(served, process);
    else
        note_waits(served, RECENT_DROP_WAIT, process);
    record->since = 0;
    record->want_count = 0;
    record->acts = 0;
    record->awaits = false;
    served->waiting--;
}

bool served_reserve_granted(struct served *served)
{
    size_t wanted = served->granted_count + served->waiting;
    return wanted <= served->granted_room ||
           memory_grow(&served->memory, &served->granted_list, &served->granted_room, wanted,
                       sizeof *served->granted_list);
}

/* Do holds need additional memory? */
static inline bool counts_holds(const struct served *served)
{
    return served->system && gordian_system_model(served->system) != GORDIAN_MODEL_SINGLE_UNIT;
}

/* A request of this process was granted. */
static inline void count_grant(struct served *served, uint32_t process, const gordian_want *wants,
                               size_t count)
{
    if (counts_holds(served))
        served_count_granted(served, process, wants, count);
}

void served_record_granted(struct served *served, const uint32_t *processes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t process = processes[i];
        struct served_process *record = &served->processes[process];
        uint64_t before = served_wait_cost(record);
        if (!record->awaits) { /* an await grants no units */
            count_grant(served, process, served_waits(record), record->want_count);
            note_waits(served, RECENT_ADD_HOLD, process);
        }
        end_process_wait(served, process);
        record->incident = GORDIAN_NONE; /* it runs again, though its deadlock may still exist */
        served_charge(served, record->owner, before, served_wait_cost(record));
        served->granted_list[served->granted_count++] = process;
    }
    served->counters.served += count;
}

const uint32_t *served_granted(const struct served *served, size_t *count)
{
    *count = served->granted_count;
    return served->granted_list;
}

/* The edges of a process, read before its exit: the exit releases them. */
struct exiting {
    const gordian_edge *edges;
    size_t count;
    size_t name_length;
};

static gordian_status prepare_exit(struct served *served, uint32_t process, struct exiting *exiting,
                                   gordian_error *error)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    const char *name =
        served->operations->forgets ? served_process_name(served, process, buffer) : NULL;
    exiting->name_length = name ? strlen(name) : 0;
    size_t count;
    TRY(served_edges(served, SERVED_HELD, process, &exiting->edges, &count, error));
    for (size_t i = 0; i < count; i++) /* holds of awaits are recorded elsewhere */
        if (!served_is_await(served, served->edges[i].resource))
            served->edges[exiting->count++] = served->edges[i];
    return GORDIAN_OK;
}

static void note_exit(struct served *served, uint32_t process, const struct exiting *exiting)
{
    if (served->processes[process].since)
        end_process_wait(served, process);
    served->processes[process].held = 0;
    for (size_t i = 0; i < exiting->count; i++)
        recent_change(&served->recent, RECENT_DROP_HOLD, process, exiting->edges[i].resource,
                      exiting->edges[i].units);
    if (served->operations->forgets) {
        served->process_count--;
        served->name_bytes -= exiting->name_length;
        tags_drop(&served->tags, TAGS_PROCESS, process);
    }
}

/* Finds the incident that a process has just left. For a cycle, the engine knows the process that
 * closed it. */
static void find_left_incident(struct served *served, uint32_t process)
{
    served->left = GORDIAN_NONE;
    if (served->incident_count == 0) /* always so in a bank */
        return;
    uint32_t closing = system_opened(served->system);
    uint32_t place = served_incident(served, closing != GORDIAN_NONE ? closing : process);
    if (place != GORDIAN_NONE && (closing != GORDIAN_NONE || !served->incidents[place].cycle))
        served->left = place;
}

/* ------------------------------------------------------------------ one event */

size_t served_wants(const gordian_event *event, gordian_want *one, const gordian_want **wants)
{
    *one = (gordian_want){event->units, event->resource};
    *wants = event->wants ? event->wants : one;
    if (event->wants)
        return event->want_count;
    return event->resource == GORDIAN_NONE && event->units == 0 ? 0 : 1;
}

/* Records what an event with this result has changed. */
static inline void note_effect(struct served *served, const gordian_event *event, uint64_t now,
                               const struct served_result *result, const struct exiting *exiting)
{
    gordian_want one;
    const gordian_want *wants;
    size_t count;
    switch ((enum served_effect)served->operations->effects[result->outcome]) {
    case EFFECT_NONE:
        break;
    case EFFECT_GRANTS:
        note_wants(served, RECENT_ADD_HOLD, event);
        count = served_wants(event, &one, &wants);
        count_grant(served, event->process, wants, count);
        break;
    case EFFECT_MAY_WAIT:
        if (result->reason & WIRE_WAITS)
            begin_process_wait(served, event, now);
        break;
    case EFFECT_WAITS:
        begin_process_wait(served, event, now);
        break;
    case EFFECT_RELEASES:
        if (event->op == GORDIAN_OP_ACT)
            break;
        note_wants(served, RECENT_DROP_HOLD, event);
        if (counts_holds(served))
            served_count_released(served, event->process, event->resource);
        break;
    case EFFECT_CANCELS:
        end_process_wait(served, event->process);
        break;
    case EFFECT_LEAVES:
        note_exit(served, event->process, exiting);
        break;
    }
}

static gordian_status take_event(struct served *served, const gordian_event *event, uint64_t now,
                                 struct served_result *result, gordian_error *error)
{
    struct exiting exiting = {0};
    if (!served_reserve_granted(served) || !reserve_wants(served, event) ||
        !served_list_cycles(served))
        return fail_memory(error);
    if (event->op == GORDIAN_OP_EXIT && prepare_exit(served, event->process, &exiting, error))
        return fail_memory(error);
    gordian_status status = served->operations->feed(served, event, result, error);
    if (status == GORDIAN_STATUS_MEMORY)
        return status;
    if (status != GORDIAN_OK) /* GORDIAN_VERDICT_REFUSED is the same number */
        *result = (struct served_result){GORDIAN_OUTCOME_REFUSED, WIRE_ENGINE_CANNOT, 0};
    served->seq++;
    note_event(served, event, now, result->outcome);
    served_note_drops(served);
    note_effect(served, event, now, result, &exiting);
    /* A process that does not wait can exit and release all it holds. So the set of deadlocked
     * processes is the same whether it holds more or less. (An act is different: a waiting process
     * may act.) */
    bool calm = (event->op == GORDIAN_OP_REQUEST && result->outcome == GORDIAN_OUTCOME_GRANTED) ||
                (event->op == GORDIAN_OP_RELEASE && result->outcome == GORDIAN_OUTCOME_RELEASED);
    served->calm += calm && result->served == 0 && event->to == GORDIAN_NONE &&
                    event->process < served->process_room &&
                    !served->processes[event->process].since;
    /* Before the granted processes are recorded: they are members until then. */
    if (result->outcome == GORDIAN_OUTCOME_CANCELLED || result->outcome == GORDIAN_OUTCOME_EXITED)
        find_left_incident(served, event->process);
    if (result->served) {
        size_t listed = served->granted_count;
        served->operations->record_granted(served);
        result->served = (uint32_t)(served->granted_count - listed);
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ cycles */

/* Lists the processes on the cycle of an incident. False: out of memory. */
static bool list_cycle(struct served *served, uint32_t place)
{
    struct open_incident *open = &served->incidents[place];
    uint32_t room = 0, count = 0, at = open->requester;
    uint32_t *members = NULL;
    do {
        if (!memory_grow32(&served->memory, &members, &room, count + 2, sizeof *members)) {
            memory_free(&served->memory, members);
            return false;
        }
        members[count++] = at; /* reserves one more than used */
        served->processes[at].incident = place;
        served->processes[at].serial = open->serial;
        at = system_next_ahead(served->system, at);
    } while (at != open->requester);
    open->members = members;
    open->member_count = count;
    return true;
}

/* Lists the members of all cycles when the system is no longer single-unit: the engine does not
 * know them then. */
bool served_list_cycles(struct served *served)
{
    if (served->cycles == 0 || gordian_system_model(served->system) == GORDIAN_MODEL_SINGLE_UNIT)
        return true;
    for (uint32_t i = 0; i < served->incident_limit; i++) {
        struct open_incident *open = &served->incidents[i];
        if (!open->cycle)
            continue;
        if (!list_cycle(served, i))
            return false;
        open->cycle = false;
        served->cycles--;
    }
    return true;
}

/* ------------------------------------------------------------------ feeding */

/* Memory cost of the process of an event, as far as the event can change it. The process need not
 * exist. */
static inline uint64_t cost_of_process(const struct served *served, const gordian_event *event)
{
    if (served->system)
        return event->process < served->process_room
                   ? served_wait_cost(&served->processes[event->process])
                   : 0;
    return event->op == GORDIAN_OP_EXIT ? served_process_cost(served, event->process)
                                        : served_changing_cost(served, event->process);
}

gordian_status served_feed(struct served *served, const gordian_event *events, size_t count,
                           uint64_t now, struct served_result *results, size_t *done,
                           gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    size_t taken = 0;
    served->granted_count = 0;
    recent_grow(&served->recent, &served->memory);
    while (taken < count) {
        const gordian_event *event = &events[taken];
        struct served_result *result = &results[taken];
        uint64_t before = cost_of_process(served, event);
        status = take_event(served, event, now, result, error);
        if (event->process < served->process_room) /* on failure as well: memory was reserved */
            served_charge(served, served->processes[event->process].owner, before,
                          cost_of_process(served, event));
        if (status != GORDIAN_OK)
            break;
        served->counters.outcomes[result->outcome & 15]++;
        taken++;
        bool gone = result->outcome == GORDIAN_OUTCOME_CANCELLED ||
                    result->outcome == GORDIAN_OUTCOME_EXITED;
        if (served_is_stuck(served, result->outcome) ||
            (served->incident_count > 0 && gone && served->left != GORDIAN_NONE))
            break; /* the caller examines the system before the next event */
    }
    *done = taken;
    return status;
}

gordian_status served_recover(struct served *served, uint32_t process, uint64_t now, bool weigh,
                              gordian_victim *victim, gordian_error *error)
{
    if (!served_reserve_granted(served)) {
        served->unresolved = true;
        return fail_memory(error);
    }
    gordian_policy policy = served->config.recover;
    /* Without an older deadlock, all deadlocked processes wait for the process of the last event.
     */
    gordian_status status =
        served->unresolved
            ? gordian_recover_one(served->system, policy, victim, error)
            : system_recover_near(served->system, policy, process, weigh, victim, error);
    if (status != GORDIAN_OK) {
        served->unresolved = status != GORDIAN_STATUS_END;
        return status;
    }
    struct exiting exiting = {.edges = victim->frees, .count = victim->frees_count};
    const struct served_process *record = &served->processes[victim->process];
    uint64_t before = served_wait_cost(record);
    gordian_event event = {.op = GORDIAN_OP_EXIT, .process = victim->process, .to = GORDIAN_NONE};
    served->counters.recovered++;
    recent_grow(&served->recent, &served->memory);
    note_event(served, &event, now, GORDIAN_OUTCOME_EXITED);
    served_note_drops(served);
    note_exit(served, victim->process, &exiting);
    served_charge(served, record->owner, before, served_wait_cost(record));
    find_left_incident(served, victim->process);
    served_record_granted(served, victim->served, victim->served_count);
    return GORDIAN_OK;
}

bool served_is_deadlocked(struct served *served, uint32_t process)
{
    bool dead = false;
    return served->system && !system_is_dead(served->system, process, &dead, NULL) && dead;
}

gordian_status served_explain(struct served *served, uint32_t process, uint32_t limit,
                              gordian_witness *witness, gordian_error *error)
{
    return ahead_explain(served->system, process, limit, witness, error);
}

gordian_status served_ask(struct served *served, const gordian_event *request, uint8_t *outcome,
                          gordian_error *error)
{
    if (request->op != GORDIAN_OP_REQUEST && request->op != GORDIAN_OP_WAIT)
        return fail(error, GORDIAN_STATUS_INPUT, "a query must be a request or a wait");
    return served->operations->ask(served, request, outcome, error);
}

const char *served_outcome_text(const struct served *served, uint8_t outcome)
{
    if (outcome == WIRE_DUPLICATE)
        return "duplicate";
    if (outcome == WIRE_NOT_TAKEN)
        return "not taken";
    return served->bank ? gordian_verdict_text((gordian_verdict)outcome)
                        : gordian_outcome_text((gordian_outcome)outcome);
}
