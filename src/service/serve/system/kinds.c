/* The operations of the two kinds of served systems: deadlock detection, and avoidance with a bank.
 */
#include "engines/avoid/engine/engine.h"
#include "engines/detect/system.h"
#include "foundation/base/error.h"
#include "service/serve/system/system.h"
#include "service/wire/wire.h"

/* ------------------------------------------------------------------ both kinds */

/* Functions that the library has for systems and for banks under the same name. `it` is the system
 * or bank that exists. */
#define EITHER(type, prefix, name, parameters, of_system, of_bank)                                 \
    type prefix##name parameters                                                                   \
    {                                                                                              \
        if (served->system) {                                                                      \
            gordian_system *it = served->system;                                                   \
            return gordian_##name of_system;                                                       \
        }                                                                                          \
        gordian_bank *it = served->bank;                                                           \
        return gordian_bank_##name of_bank;                                                        \
    }
#define ALIKE(type, prefix, name, parameters, arguments)                                           \
    EITHER(type, prefix, name, parameters, arguments, arguments)
#define OF    const struct served *served
#define NAME  OF, const char *name, size_t length
#define EDGES OF, uint32_t id, gordian_edge *edges, size_t room

ALIKE(const char *, served_, engine_name, (OF), (it))
ALIKE(uint32_t, served_, find_process, (NAME), (it, name, length))
ALIKE(uint32_t, served_, find_resource, (NAME), (it, name, length))
EITHER(const char *, served_, process_name, (OF, uint32_t id, char *buffer), (it, id),
       (it, id, buffer))
EITHER(const char *, served_, resource_name, (OF, uint32_t id, char *buffer), (it, id),
       (it, id, buffer))
ALIKE(uint32_t, served_, process_limit, (OF), (it))
ALIKE(uint32_t, served_, resource_limit, (OF), (it))
ALIKE(uint64_t, served_, units, (OF, uint32_t resource), (it, resource))
ALIKE(uint64_t, served_, free_units, (OF, uint32_t resource), (it, resource))
ALIKE(bool, served_, is_waiting, (OF, uint32_t process), (it, process))
ALIKE(size_t, served_, holdings, (EDGES), (it, id, edges, room))
ALIKE(size_t, served_, pending, (EDGES), (it, id, edges, room))
ALIKE(size_t, served_, holders, (EDGES), (it, id, edges, room))
ALIKE(size_t, served_, waiters, (EDGES), (it, id, edges, room))
ALIKE(gordian_status, engine_, add_resource,
      (OF, const char *name, uint64_t units, uint32_t *id, gordian_error *error),
      (it, name, units, id, error))
ALIKE(gordian_status, engine_, remove_resource, (OF, uint32_t id, gordian_error *error),
      (it, id, error))
EITHER(static const char *, known_, engine_note, (OF, char *buffer, size_t size), (it),
       (it, buffer, size))

const char *served_note(const struct served *served, char *buffer, size_t size)
{
    const char *note = known_engine_note(served, buffer, size);
    return note && *note ? note : NULL;
}

/* ------------------------------------------------------------------ detection */

static gordian_status open_detecting_system(struct served *served, gordian_error *error)
{
    gordian_options options;
    gordian_options_init(&options);
    options.engine = served->config.engine;
    options.allocator = &served->memory;
    TRY(gordian_open(&served->system, &options, error));
    served->system->keeps_drops = true;
    return GORDIAN_OK;
}

/* Is it an event that the library's callers must not pass? A release or a hold names one resource.
 */
static bool is_malformed_event(const gordian_event *event)
{
    switch (event->op) {
    case GORDIAN_OP_RELEASE:
    case GORDIAN_OP_HOLD:
        return event->wants != NULL || event->resource == GORDIAN_NONE;
    case GORDIAN_OP_REQUEST:
    case GORDIAN_OP_WAIT:
        return event->to != GORDIAN_NONE || (!event->wants && event->resource == GORDIAN_NONE);
    case GORDIAN_OP_AWAIT:
        return event->to != GORDIAN_NONE;
    default:
        return event->wants != NULL;
    }
}

static gordian_status feed_system(struct served *served, const gordian_event *event,
                                  struct served_result *answer, gordian_error *error)
{
    gordian_result result = {.outcome = GORDIAN_OUTCOME_REFUSED,
                             .refusal = GORDIAN_REFUSAL_NO_UNITS};
    if (!is_malformed_event(event)) {
        TRY(gordian_feed(served->system, event, &result, error));
    } else if (!event->wants && event->units > 0 && event->resource == GORDIAN_NONE) {
        result.refusal = GORDIAN_REFUSAL_UNKNOWN_RESOURCE;
    }
    *answer = (struct served_result){result.outcome, result.refusal, result.served_count};
    return GORDIAN_OK;
}

static void record_granted_by_system(struct served *served)
{
    size_t count;
    const uint32_t *list = gordian_served(served->system, &count);
    served_record_granted(served, list, count);
}

static gordian_status ask_system(struct served *served, const gordian_event *request,
                                 uint8_t *outcome, gordian_error *error)
{
    gordian_outcome said = GORDIAN_OUTCOME_REFUSED;
    gordian_status status = is_malformed_event(request)
                                ? GORDIAN_OK
                                : gordian_what_if(served->system, request, 1, &said, error);
    if (status == GORDIAN_OK)
        *outcome = (uint8_t)said;
    return status;
}

const struct served_operations served_detection = {
    .kind = "detect",
    .engines = &detect_family,
    .open = open_detecting_system,
    .feed = feed_system,
    .record_granted = record_granted_by_system,
    .ask = ask_system,
    .effects =
        {
            [GORDIAN_OUTCOME_GRANTED] = EFFECT_GRANTS,
            [GORDIAN_OUTCOME_BLOCKED] = EFFECT_WAITS,
            [GORDIAN_OUTCOME_DEADLOCK] = EFFECT_WAITS,
            [GORDIAN_OUTCOME_DOOMED] = EFFECT_WAITS,
            [GORDIAN_OUTCOME_RELEASED] = EFFECT_RELEASES,
            [GORDIAN_OUTCOME_CANCELLED] = EFFECT_CANCELS,
            [GORDIAN_OUTCOME_EXITED] = EFFECT_LEAVES,
        },
};

/* ------------------------------------------------------------------ avoidance */

static gordian_status open_bank(struct served *served, gordian_error *error)
{
    gordian_bank_options options;
    gordian_bank_options_init(&options);
    options.engine = served->config.engine;
    options.allocator = &served->memory;
    options.queue = served->config.queue;
    options.patience = served->config.patience;
    return gordian_bank_open(&served->bank, &options, error);
}

static void record_granted_by_bank(struct served *served)
{
    const gordian_answer *answer = &served->answer;
    if (!answer->incomplete) {
        served_record_granted(served, answer->served, answer->served_count);
        return;
    }
    for (uint32_t p = 0; p < served->process_room;
         p++) /* no memory for the list: finds the processes that do not wait any more */
        if (served->processes[p].since && !gordian_bank_is_waiting(served->bank, p))
            served_record_granted(served, &p, 1);
}

/* Turns a bank's answer to a declaration into a status. */
static gordian_status bank_status(struct served *served, const char *name, gordian_error *error)
{
    const gordian_answer *answer = &served->answer;
    switch (answer->verdict) {
    case GORDIAN_VERDICT_CHANGED:
        record_granted_by_bank(served);
        return GORDIAN_OK;
    case GORDIAN_VERDICT_UNSAFE:
        return fail(error, GORDIAN_STATUS_INPUT, "'%.60s': the state would be unsafe", name);
    case GORDIAN_VERDICT_UNAVAILABLE:
        return fail(error, GORDIAN_STATUS_INPUT, "'%.60s': units to be removed are in use", name);
    default:
        return fail(error, GORDIAN_STATUS_INPUT, "'%.60s': %s", name,
                    gordian_reason_text(answer->reason));
    }
}

gordian_status bank_set_units(struct served *served, uint32_t resource, const char *name,
                              uint64_t units, gordian_error *error)
{
    TRY(gordian_bank_set_units(served->bank, resource, units, &served->answer, error));
    return bank_status(served, name, error);
}

gordian_status bank_set_claims(struct served *served, const char *name, const gordian_want *claims,
                               size_t count, uint32_t *id, gordian_error *error)
{
    gordian_answer *answer = &served->answer;
    if (*id == GORDIAN_NONE)
        TRY(gordian_bank_add_process(served->bank, name, claims, count, id, answer, error));
    else
        TRY(gordian_bank_set_claims(served->bank, *id, claims, count, answer, error));
    return bank_status(served, name, error);
}

static gordian_status call_bank(struct served *served, const gordian_event *event,
                                gordian_error *error)
{
    gordian_answer *answer = &served->answer;
    gordian_want one;
    const gordian_want *wants;
    size_t count = served_wants(event, &one, &wants);
    switch (event->op) {
    case GORDIAN_OP_RELEASE:
        return gordian_bank_release(served->bank, event->process, wants, count, answer, error);
    case GORDIAN_OP_CANCEL:
        return gordian_bank_cancel(served->bank, event->process, answer, error);
    case GORDIAN_OP_EXIT:
        return gordian_bank_exit(served->bank, event->process, answer, error);
    case GORDIAN_OP_AWAIT:
    case GORDIAN_OP_ACT:
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    "a system that avoids deadlocks does not support awaits and acts");
    default:
        return gordian_bank_request(served->bank, event->process, wants, count, answer, error);
    }
}

static gordian_status feed_bank(struct served *served, const gordian_event *event,
                                struct served_result *result, gordian_error *error)
{
    const gordian_answer *said = &served->answer;
    TRY(call_bank(served, event, error));
    *result = (struct served_result){
        .outcome = (uint8_t)said->verdict,
        .reason = (uint8_t)(said->reason | (said->waits ? WIRE_WAITS : 0)),
        .served = said->incomplete ? 1 : (uint32_t)said->served_count,
    };
    return GORDIAN_OK;
}

static gordian_status ask_bank_event(struct served *served, const gordian_event *request,
                                     uint8_t *outcome, gordian_error *error)
{
    gordian_want one;
    gordian_bank_request_item item = {.process = request->process};
    item.count = served_wants(request, &one, &item.wants);
    gordian_verdict verdict;
    TRY(gordian_bank_what_if(served->bank, &item, 1, &verdict, error));
    *outcome = (uint8_t)verdict;
    return GORDIAN_OK;
}

const struct served_operations served_avoidance = {
    .kind = "avoid",
    .engines = &avoid_family,
    .forgets = true,
    .open = open_bank,
    .feed = feed_bank,
    .record_granted = record_granted_by_bank,
    .ask = ask_bank_event,
    .effects =
        {
            [GORDIAN_VERDICT_GRANTED] = EFFECT_GRANTS,
            [GORDIAN_VERDICT_UNSAFE] = EFFECT_MAY_WAIT,
            [GORDIAN_VERDICT_UNAVAILABLE] = EFFECT_MAY_WAIT,
            [GORDIAN_VERDICT_RELEASED] = EFFECT_RELEASES,
            [GORDIAN_VERDICT_CANCELLED] = EFFECT_CANCELS,
            [GORDIAN_VERDICT_EXITED] = EFFECT_LEAVES,
        },
};
