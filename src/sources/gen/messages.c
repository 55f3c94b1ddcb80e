/* The kind `messages`: processes await acts of one, any, some or all of other processes, and act
 * for each other. The system is simulated with libgordian, so that every act is awaited in its
 * place. */
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/random.h"
#include "sources/gen/kinds.h"

#define OTHERS_MOST 4

struct talk {
    const struct gen_options *options;
    struct output *out;
    struct random random;
    gordian_system *system;
    gordian_want others[OTHERS_MOST];
};

static void write_message_event(struct talk *talk, const gordian_event *event)
{
    struct output *out = talk->out;
    output_format(out, "%s p%u", gordian_op_text(event->op), event->process);
    if (event->units == 1 && event->want_count > 1)
        output_text(out, " any of");
    for (size_t i = 0; i < event->want_count; i++)
        output_format(out, " p%u", event->wants[i].resource);
    output_char(out, '\n');
}

/* Draws an await of some other processes, any or all of them. */
static gordian_event draw_await(struct talk *talk, uint32_t process)
{
    const uint32_t count = talk->options->processes;
    size_t listed = 1 + random_below(&talk->random, OTHERS_MOST);
    for (size_t i = 0; i < listed; i++) {
        uint32_t other = (uint32_t)random_below(&talk->random, count - 1);
        talk->others[i] = (gordian_want){.units = 1, .resource = other + (other >= process)};
    }
    return (gordian_event){.op = GORDIAN_OP_AWAIT,
                           .process = process,
                           .to = GORDIAN_NONE,
                           .units = random_chance(&talk->random, 60) ? 1 : listed,
                           .wants = talk->others,
                           .want_count = listed};
}

/* Makes a running process await others. If the await causes a deadlock that must not stay, it is
 * cancelled. */
static gordian_status begin_await(struct talk *talk, uint32_t process, gordian_error *error)
{
    gordian_result result;
    gordian_event event = draw_await(talk, process);
    TRY(gordian_feed(talk->system, &event, &result, error));
    write_message_event(talk, &event);
    bool stuck =
        result.outcome == GORDIAN_OUTCOME_DEADLOCK || result.outcome == GORDIAN_OUTCOME_DOOMED;
    if (!stuck || random_chance(&talk->random, talk->options->deadlocks))
        return GORDIAN_OK;
    const gordian_event cancel = {.op = GORDIAN_OP_CANCEL, .process = process, .to = GORDIAN_NONE};
    write_message_event(talk, &cancel);
    return gordian_feed(talk->system, &cancel, &result, error);
}

/* Simulates one step. A waiting process does nothing. A running process acts if another process
 * awaits it, otherwise it begins an await. Sets *emitted if there was an event. */
static gordian_status talk_step(struct talk *talk, bool *told, gordian_error *error)
{
    uint32_t process = (uint32_t)random_below(&talk->random, talk->options->processes);
    gordian_event act = {.op = GORDIAN_OP_ACT, .process = process, .to = GORDIAN_NONE};
    gordian_result result = {0};
    *told = !gordian_is_waiting(talk->system, process);
    if (!*told)
        return GORDIAN_OK;
    bool acts = !random_chance(&talk->random, talk->options->contention);
    if (acts)
        TRY(gordian_feed(talk->system, &act, &result, error));
    if (!acts || result.outcome != GORDIAN_OUTCOME_RELEASED)
        return begin_await(talk, process, error);
    write_message_event(talk, &act);
    return GORDIAN_OK;
}

gordian_status talk_messages(const struct gen_options *options, struct output *out,
                             gordian_error *error)
{
    struct talk talk = {.options = options, .out = out};
    if (options->processes < 2)
        return fail(error, GORDIAN_STATUS_INPUT, "messages need two processes");
    random_seed(&talk.random, options->seed);
    output_format(out, "# gordian gen messages: seed %llu, %u processes\n",
                  (unsigned long long)options->seed, options->processes);
    gordian_status status = gordian_open(&talk.system, NULL, error);
    for (uint32_t p = 0; status == GORDIAN_OK && p < options->processes; p++)
        status = gordian_add_process(talk.system, NULL, NULL, error);
    uint64_t idle = 0; /* steps in a row without an event */
    for (uint64_t i = 0; status == GORDIAN_OK && !out->failure && i < options->events &&
                         idle < 100 * (uint64_t)options->processes;) {
        bool told;
        status = talk_step(&talk, &told, error);
        i += told;
        idle = told ? 0 : idle + 1;
    }
    gordian_close(talk.system);
    return status;
}

/* Writes a snapshot without a simulation: each process awaits others with the given probability. */
gordian_status talk_waits(const struct gen_options *options, struct gen_sink *sink,
                          gordian_error *error)
{
    struct talk talk = {.options = options};
    if (options->processes < 2)
        return fail(error, GORDIAN_STATUS_INPUT, "messages need two processes");
    random_seed(&talk.random, options->seed);
    TRY(sink->begin(sink->context, options->processes, 0, NULL, 1, error));
    for (uint32_t p = 0; p < options->processes; p++) {
        if (!random_chance(&talk.random, options->contention))
            continue;
        gordian_event event = draw_await(&talk, p);
        TRY(sink->event(sink->context, &event, error));
    }
    return GORDIAN_OK;
}
