/* Events of a served system: fed to its engine one by one, and what each changed written down. */
#include "base/error.h"
#include "detect/ahead.h"
#include "serve/served/served.h"
#include "wire/wire.h"

#include <string.h>

/* ------------------------------------------------------------------ what was changed */

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

/* What a process waits for, as its record has it. */
static inline void note_waits(struct served *served, enum recent_kind kind, uint32_t process)
{
    const struct served_process *record = &served->processes[process];
    if (record->want_count == 1) {
        recent_change(&served->recent, kind, process, record->want.resource, record->want.units);
        return;
    }
    for (uint32_t i = 0; i < record->want_count; i++)
        recent_change(&served->recent, kind, process, record->wants[i].resource,
                      record->wants[i].units);
}

/* ------------------------------------------------------------------ who waits */

/* Room for the wants of a request that may have to wait. */
static inline bool reserve_wants(struct served *served, const gordian_event *event)
{
    if (!event->wants || event->process >= served->process_room)
        return true;
    struct served_process *record = &served->processes[event->process];
    return event->want_count <= record->want_room ||
           memory_grow32(&served->memory, &record->wants, &record->want_room,
                         (uint32_t)event->want_count, sizeof *record->wants);
}

static inline void begin_wait(struct served *served, const gordian_event *event, uint64_t now)
{
    struct served_process *record = &served->processes[event->process];
    record->since = now ? now : 1;
    if (!event->wants) {
        record->want = (gordian_want){event->units, event->resource};
        record->want_count = 1;
    } else if (event->want_count == 1) {
        record->want = event->wants[0];
        record->want_count = 1;
    } else {
        memcpy(record->wants, event->wants, event->want_count * sizeof *event->wants);
        record->want_count = (uint32_t)event->want_count;
    }
    served->waiting++;
    note_wants(served, RECENT_ADD_WAIT, event);
}

static inline void end_wait(struct served *served, uint32_t process)
{
    struct served_process *record = &served->processes[process];
    note_waits(served, RECENT_DROP_WAIT, process);
    record->since = 0;
    record->want_count = 0;
    served->waiting--;
}

/* Room for everybody who waits to be served once more. */
static inline bool reserve_served(struct served *served)
{
    size_t wanted = served->served_count + served->waiting;
    return wanted <= served->served_room ||
           memory_grow(&served->memory, &served->served_list, &served->served_room, wanted,
                       sizeof *served->served_list);
}

/* Are there holds that take memory of their own? */
static inline bool counts_holds(const struct served *served)
{
    return served->system && gordian_system_model(served->system) != GORDIAN_MODEL_SINGLE_UNIT;
}

/* A request of this process has been granted. */
static inline void count_grant(struct served *served, uint32_t process, const gordian_want *wants,
                               size_t count)
{
    if (counts_holds(served))
        served_count_granted(served, process, wants, count);
}

void served_note_served(struct served *served, const uint32_t *processes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t process = processes[i];
        struct served_process *record = &served->processes[process];
        uint64_t before = served_wait_cost(record);
        count_grant(served, process, record->want_count == 1 ? &record->want : record->wants,
                    record->want_count);
        note_waits(served, RECENT_ADD_HOLD, process);
        end_wait(served, process);
        served_charge(served, record->owner, before, served_wait_cost(record));
        served->served_list[served->served_count++] = process;
    }
    served->counters.served += count;
}

void served_note_answer(struct served *served)
{
    const gordian_answer *answer = &served->answer;
    if (!answer->incomplete) {
        served_note_served(served, answer->served, answer->served_count);
        return;
    }
    for (uint32_t p = 0; p < served->process_room; p++) /* without memory: whoever waits no more */
        if (served->processes[p].since && !gordian_bank_is_waiting(served->bank, p))
            served_note_served(served, &p, 1);
}

bool served_reserve_served(struct served *served)
{
    return reserve_served(served);
}

const uint32_t *served_served(const struct served *served, size_t *count)
{
    *count = served->served_count;
    return served->served_list;
}

/* What an exit gives back: the process's edges, taken before it. */
struct leaving {
    const gordian_edge *edges;
    size_t count;
    size_t name_length;
};

static gordian_status look_at_leaving(struct served *served, uint32_t process,
                                      struct leaving *leaving, gordian_error *error)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    const char *name = served->bank ? served_process_name(served, process, buffer) : NULL;
    leaving->name_length = name ? strlen(name) : 0;
    return served_edges(served, SERVED_HELD, process, &leaving->edges, &leaving->count, error);
}

static void note_leaving(struct served *served, uint32_t process, const struct leaving *leaving)
{
    if (served->processes[process].since)
        end_wait(served, process);
    served->processes[process].held = 0;
    for (size_t i = 0; i < leaving->count; i++)
        recent_change(&served->recent, RECENT_DROP_HOLD, process, leaving->edges[i].resource,
                      leaving->edges[i].units);
    if (served->bank) { /* it is forgotten */
        served->process_count--;
        served->name_bytes -= leaving->name_length;
    }
}

/* ------------------------------------------------------------------ detection */

/* What the library leaves to its callers: a release or a hold names one resource. */
static bool is_odd(const gordian_event *event)
{
    switch (event->op) {
    case GORDIAN_OP_RELEASE:
    case GORDIAN_OP_HOLD:
        return event->wants != NULL || event->resource == GORDIAN_NONE;
    case GORDIAN_OP_REQUEST:
    case GORDIAN_OP_WAIT:
        return event->to != GORDIAN_NONE || (!event->wants && event->resource == GORDIAN_NONE);
    default:
        return event->wants != NULL;
    }
}

static gordian_status detect_feed(struct served *served, const gordian_event *event,
                                  gordian_result *result, gordian_error *error)
{
    if (is_odd(event)) {
        *result = (gordian_result){.outcome = GORDIAN_OUTCOME_REFUSED,
                                   .refusal = GORDIAN_REFUSAL_NO_UNITS};
        if (!event->wants && event->units > 0 && event->resource == GORDIAN_NONE)
            result->refusal = GORDIAN_REFUSAL_UNKNOWN_RESOURCE;
        return GORDIAN_OK;
    }
    gordian_status status = gordian_feed(served->system, event, result, error);
    if (status == GORDIAN_OK || status == GORDIAN_STATUS_MEMORY)
        return status;
    *result = (gordian_result){.outcome = GORDIAN_OUTCOME_REFUSED, .refusal = WIRE_ENGINE_CANNOT};
    return GORDIAN_OK;
}

/* What the event has changed in the books of its process. */
static inline void count_holds(struct served *served, const gordian_event *event, uint8_t outcome)
{
    const gordian_want one = {event->units, event->resource};
    if (!counts_holds(served))
        return;
    if (outcome == GORDIAN_OUTCOME_GRANTED)
        served_count_granted(served, event->process, event->wants ? event->wants : &one,
                             event->wants ? event->want_count : 1);
    else if (outcome == GORDIAN_OUTCOME_RELEASED)
        served_count_released(served, event->process, event->resource);
}

static gordian_status detect_event(struct served *served, const gordian_event *event, uint64_t now,
                                   struct served_result *answer, gordian_error *error)
{
    struct leaving leaving = {0};
    gordian_result result;
    if (!reserve_served(served) || !reserve_wants(served, event))
        return fail_memory(error);
    if (event->op == GORDIAN_OP_EXIT && look_at_leaving(served, event->process, &leaving, error))
        return fail_memory(error);
    gordian_status status = detect_feed(served, event, &result, error);
    if (status != GORDIAN_OK)
        return status;
    served->seq++;
    note_event(served, event, now, result.outcome);
    switch ((gordian_outcome)result.outcome) {
    case GORDIAN_OUTCOME_GRANTED:
        note_wants(served, RECENT_ADD_HOLD, event);
        break;
    case GORDIAN_OUTCOME_BLOCKED:
    case GORDIAN_OUTCOME_DEADLOCK:
    case GORDIAN_OUTCOME_DOOMED:
        begin_wait(served, event, now);
        break;
    case GORDIAN_OUTCOME_RELEASED:
        note_wants(served, RECENT_DROP_HOLD, event);
        break;
    case GORDIAN_OUTCOME_CANCELLED:
        end_wait(served, event->process);
        break;
    case GORDIAN_OUTCOME_EXITED:
        note_leaving(served, event->process, &leaving);
        break;
    case GORDIAN_OUTCOME_REFUSED:
        break;
    }
    count_holds(served, event, (uint8_t)result.outcome);
    if (result.served_count) {
        size_t count;
        const uint32_t *list = gordian_served(served->system, &count);
        served_note_served(served, list, count);
    }
    *answer = (struct served_result){result.outcome, result.refusal, result.served_count};
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ avoidance */

static gordian_status bank_call(struct served *served, const gordian_event *event,
                                const gordian_want *wants, size_t count, gordian_error *error)
{
    gordian_answer *answer = &served->answer;
    switch (event->op) {
    case GORDIAN_OP_RELEASE:
        return gordian_bank_release(served->bank, event->process, wants, count, answer, error);
    case GORDIAN_OP_CANCEL:
        return gordian_bank_cancel(served->bank, event->process, answer, error);
    case GORDIAN_OP_EXIT:
        return gordian_bank_exit(served->bank, event->process, answer, error);
    default:
        return gordian_bank_request(served->bank, event->process, wants, count, answer, error);
    }
}

/* The wants of an event: its list, or the one in itself; none of a cancel or an exit. */
static size_t bank_wants(const gordian_event *event, gordian_want *one, const gordian_want **wants)
{
    *one = (gordian_want){event->units, event->resource};
    *wants = event->wants ? event->wants : one;
    if (event->wants)
        return event->want_count;
    return event->resource == GORDIAN_NONE && event->units == 0 ? 0 : 1;
}

static void note_verdict(struct served *served, const gordian_event *event, uint64_t now,
                         const struct leaving *leaving)
{
    switch (served->answer.verdict) {
    case GORDIAN_VERDICT_GRANTED:
        note_wants(served, RECENT_ADD_HOLD, event);
        break;
    case GORDIAN_VERDICT_UNSAFE:
    case GORDIAN_VERDICT_UNAVAILABLE:
        if (served->answer.waits)
            begin_wait(served, event, now);
        break;
    case GORDIAN_VERDICT_RELEASED:
        note_wants(served, RECENT_DROP_HOLD, event);
        break;
    case GORDIAN_VERDICT_CANCELLED:
        end_wait(served, event->process);
        break;
    case GORDIAN_VERDICT_EXITED:
        note_leaving(served, event->process, leaving);
        break;
    default:
        break;
    }
}

static gordian_status bank_event(struct served *served, const gordian_event *event, uint64_t now,
                                 struct served_result *answer, gordian_error *error)
{
    struct leaving leaving = {0};
    gordian_want one;
    const gordian_want *wants;
    size_t count = bank_wants(event, &one, &wants);
    if (!reserve_served(served) || !reserve_wants(served, event))
        return fail_memory(error);
    if (event->op == GORDIAN_OP_EXIT && look_at_leaving(served, event->process, &leaving, error))
        return fail_memory(error);
    gordian_status status = bank_call(served, event, wants, count, error);
    if (status == GORDIAN_STATUS_MEMORY)
        return status;
    const gordian_answer *said = &served->answer;
    served->seq++;
    if (status != GORDIAN_OK) {
        note_event(served, event, now, GORDIAN_VERDICT_REFUSED);
        *answer = (struct served_result){GORDIAN_VERDICT_REFUSED, WIRE_ENGINE_CANNOT, 0};
        return GORDIAN_OK;
    }
    note_event(served, event, now, (uint8_t)said->verdict);
    note_verdict(served, event, now, &leaving);
    size_t listed = served->served_count;
    served_note_answer(served);
    *answer = (struct served_result){
        .outcome = (uint8_t)said->verdict,
        .reason = (uint8_t)(said->reason | (said->waits ? WIRE_WAITS : 0)),
        .served = (uint32_t)(served->served_count - listed),
    };
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ feeding */

/* Must the caller look at the system before the next event? */
static inline bool must_stop(const struct served *served, const gordian_event *event,
                             const struct served_result *result)
{
    if (served->system &&
        (result->outcome == GORDIAN_OUTCOME_DEADLOCK || result->outcome == GORDIAN_OUTCOME_DOOMED))
        return true;
    return served->incident_count > 0 && served->system &&
           (result->outcome == GORDIAN_OUTCOME_CANCELLED ||
            result->outcome == GORDIAN_OUTCOME_EXITED) &&
           served->processes[event->process].incident != GORDIAN_NONE;
}

/* What the process of an event takes, as far as events change it; it need not exist. */
static inline uint64_t cost_of(const struct served *served, uint32_t process)
{
    if (served->bank)
        return served_process_cost(served, process);
    return process < served->process_room ? served_wait_cost(&served->processes[process]) : 0;
}

gordian_status served_feed(struct served *served, const gordian_event *events, size_t count,
                           uint64_t now, struct served_result *results, size_t *done,
                           gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    size_t taken = 0;
    served->served_count = 0;
    recent_grow(&served->recent, &served->memory);
    while (taken < count) {
        const gordian_event *event = &events[taken];
        struct served_result *result = &results[taken];
        uint64_t before = cost_of(served, event->process);
        status = served->system ? detect_event(served, event, now, result, error)
                                : bank_event(served, event, now, result, error);
        if (event->process < served->process_room) /* also if it failed: room was made */
            served_charge(served, served->processes[event->process].owner, before,
                          cost_of(served, event->process));
        if (status != GORDIAN_OK)
            break;
        served->counters.outcomes[result->outcome & 15]++;
        taken++;
        if (must_stop(served, event, result))
            break;
    }
    *done = taken;
    return status;
}

/* Whoever is deadlocked waits for the one whose event it was, unless there was a deadlock before.
 */
static gordian_status end_one(struct served *served, uint32_t process, bool weigh,
                              gordian_victim *victim, gordian_error *error)
{
    gordian_policy policy = served->config.recover;
    gordian_status status =
        served->unresolved
            ? gordian_recover_one(served->system, policy, victim, error)
            : system_recover_near(served->system, policy, process, weigh, victim, error);
    if (status != GORDIAN_OK)
        served->unresolved = status != GORDIAN_STATUS_END;
    return status;
}

gordian_status served_recover(struct served *served, uint32_t process, uint64_t now, bool weigh,
                              gordian_victim *victim, gordian_error *error)
{
    if (!reserve_served(served)) {
        served->unresolved = true;
        return fail_memory(error);
    }
    gordian_status status = end_one(served, process, weigh, victim, error);
    if (status != GORDIAN_OK)
        return status;
    struct leaving leaving = {.edges = victim->frees, .count = victim->frees_count};
    const struct served_process *record = &served->processes[victim->process];
    uint64_t before = served_wait_cost(record);
    gordian_event event = {.op = GORDIAN_OP_EXIT, .process = victim->process, .to = GORDIAN_NONE};
    served->counters.recovered++;
    recent_grow(&served->recent, &served->memory);
    note_event(served, &event, now, GORDIAN_OUTCOME_EXITED);
    note_leaving(served, victim->process, &leaving);
    served_charge(served, record->owner, before, served_wait_cost(record));
    served_note_served(served, victim->served, victim->served_count);
    return GORDIAN_OK;
}

bool served_is_deadlocked(struct served *served, uint32_t process)
{
    bool dead = false;
    return served->system && !system_is_dead(served->system, process, &dead, NULL) && dead;
}

gordian_status served_ask(struct served *served, const gordian_event *request, uint8_t *outcome,
                          gordian_error *error)
{
    if (request->op != GORDIAN_OP_REQUEST && request->op != GORDIAN_OP_WAIT)
        return fail(error, GORDIAN_STATUS_INPUT, "only a request can be asked about");
    if (served->system) {
        gordian_outcome said = GORDIAN_OUTCOME_REFUSED;
        if (!is_odd(request)) {
            gordian_status status = gordian_what_if(served->system, request, 1, &said, error);
            if (status != GORDIAN_OK)
                return status;
        }
        *outcome = (uint8_t)said;
        return GORDIAN_OK;
    }
    gordian_want one;
    gordian_bank_request_item item = {.process = request->process};
    item.count = bank_wants(request, &one, &item.wants);
    gordian_verdict verdict;
    gordian_status status = gordian_bank_what_if(served->bank, &item, 1, &verdict, error);
    if (status == GORDIAN_OK)
        *outcome = (uint8_t)verdict;
    return status;
}

const char *served_outcome_text(const struct served *served, uint8_t outcome)
{
    if (outcome == WIRE_DUPLICATE)
        return "duplicate";
    if (outcome == WIRE_NOT_TAKEN)
        return "not taken";
    return served->system ? gordian_outcome_text((gordian_outcome)outcome)
                          : gordian_verdict_text((gordian_verdict)outcome);
}
