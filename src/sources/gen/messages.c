/* The kind `messages`: processes await acts of one, any, some or all of other processes, and act
 * for each other. The system is simulated with libgordian, so that every act is awaited in its
 * place. */
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/random.h"
#include "sources/gen/kinds.h"

#define OTHERS_MOST 4

struct messages {
    const struct gen_options *options;
    struct output *out;
    struct random random;
    gordian_system *system;
    gordian_want others[OTHERS_MOST];
};

static void write_message_event(struct messages *messages, const gordian_event *event)
{
    struct output *out = messages->out;
    output_format(out, "%s p%u", gordian_op_text(event->op), event->process);
    if (event->units == 1 && event->want_count > 1)
        output_text(out, " any of");
    for (size_t i = 0; i < event->want_count; i++)
        output_format(out, " p%u", event->wants[i].resource);
    output_char(out, '\n');
}

/* Draws an await of some other processes, any or all of them. */
static gordian_event draw_await(struct messages *messages, uint32_t process)
{
    const uint32_t count = messages->options->processes;
    size_t listed = 1 + random_below(&messages->random, OTHERS_MOST);
    for (size_t i = 0; i < listed; i++) {
        uint32_t other = (uint32_t)random_below(&messages->random, count - 1);
        messages->others[i] = (gordian_want){.units = 1, .resource = other + (other >= process)};
    }
    return (gordian_event){.op = GORDIAN_OP_AWAIT,
                           .process = process,
                           .to = GORDIAN_NONE,
                           .units = random_chance(&messages->random, 60) ? 1 : listed,
                           .wants = messages->others,
                           .want_count = listed};
}

/* Makes a running process await others. If the await causes a deadlock that must not stay, it is
 * cancelled. */
static gordian_status begin_await(struct messages *messages, uint32_t process, gordian_error *error)
{
    gordian_result result;
    gordian_event event = draw_await(messages, process);
    TRY(gordian_feed(messages->system, &event, &result, error));
    write_message_event(messages, &event);
    bool stuck =
        result.outcome == GORDIAN_OUTCOME_DEADLOCK || result.outcome == GORDIAN_OUTCOME_DOOMED;
    if (!stuck || random_chance(&messages->random, messages->options->deadlocks))
        return GORDIAN_OK;
    const gordian_event cancel = {.op = GORDIAN_OP_CANCEL, .process = process, .to = GORDIAN_NONE};
    write_message_event(messages, &cancel);
    return gordian_feed(messages->system, &cancel, &result, error);
}

/* Simulates one step. A waiting process does nothing. A running process acts if another process
 * awaits it, otherwise it begins an await. Sets *emitted if there was an event. */
static gordian_status messages_step(struct messages *messages, bool *emitted, gordian_error *error)
{
    uint32_t process = (uint32_t)random_below(&messages->random, messages->options->processes);
    gordian_event act = {.op = GORDIAN_OP_ACT, .process = process, .to = GORDIAN_NONE};
    gordian_result result = {0};
    *emitted = !gordian_is_waiting(messages->system, process);
    if (!*emitted)
        return GORDIAN_OK;
    bool acts = !random_chance(&messages->random, messages->options->contention);
    if (acts)
        TRY(gordian_feed(messages->system, &act, &result, error));
    if (!acts || result.outcome != GORDIAN_OUTCOME_RELEASED)
        return begin_await(messages, process, error);
    write_message_event(messages, &act);
    return GORDIAN_OK;
}

gordian_status messages_events(const struct gen_options *options, struct output *out,
                               gordian_error *error)
{
    struct messages messages = {.options = options, .out = out};
    if (options->processes < 2)
        return fail(error, GORDIAN_STATUS_INPUT, "messages need at least two processes");
    random_seed(&messages.random, options->seed);
    output_format(out, "# gordian gen messages: seed %llu, %u processes\n",
                  (unsigned long long)options->seed, options->processes);
    gordian_status status = gordian_open(&messages.system, NULL, error);
    for (uint32_t p = 0; status == GORDIAN_OK && p < options->processes; p++)
        status = gordian_add_process(messages.system, NULL, NULL, error);
    uint64_t idle = 0; /* steps in a row without an event */
    for (uint64_t i = 0; status == GORDIAN_OK && !out->failure && i < options->events &&
                         idle < 100 * (uint64_t)options->processes;) {
        bool emitted;
        status = messages_step(&messages, &emitted, error);
        i += emitted;
        idle = emitted ? 0 : idle + 1;
    }
    gordian_close(messages.system);
    return status;
}

/* Writes a snapshot without a simulation: each process awaits others with the given probability. */
gordian_status messages_waits(const struct gen_options *options, struct gen_sink *sink,
                              gordian_error *error)
{
    struct messages messages = {.options = options};
    if (options->processes < 2)
        return fail(error, GORDIAN_STATUS_INPUT, "messages need at least two processes");
    random_seed(&messages.random, options->seed);
    TRY(sink->begin(sink->context, options->processes, 0, NULL, 1, error));
    for (uint32_t p = 0; p < options->processes; p++) {
        if (!random_chance(&messages.random, options->contention))
            continue;
        gordian_event event = draw_await(&messages, p);
        TRY(sink->event(sink->context, &event, error));
    }
    return GORDIAN_OK;
}
