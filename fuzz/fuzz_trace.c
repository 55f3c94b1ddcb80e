/* Any bytes as a trace: every engine reads it, and all must say the same about every event and
 * about every fault in the text. */
#include "lockstep.h"

#include <string.h>

struct reader {
    struct fuzz_input input;
    gordian_source source;
    gordian_replay *replay;
    gordian_step step;
    gordian_error error;
};

static void compare_errors(const gordian_error *error, const gordian_error *expected)
{
    DEMAND(error->line == expected->line && error->column == expected->column,
           "faults at different places");
    DEMAND(!strcmp(error->message, expected->message), "%s / %s", error->message,
           expected->message);
}

static void compare_steps(const gordian_step *step, const gordian_step *expected)
{
    DEMAND(step->seq == expected->seq && step->line == expected->line &&
               step->column == expected->column,
           "different places");
    DEMAND(step->event.op == expected->event.op && step->event.process == expected->event.process,
           "different events");
    DEMAND(!step->message == !expected->message, "one says why, the other does not");
    if (step->message)
        DEMAND(!strcmp(step->message, expected->message), "%s / %s", step->message,
               expected->message);
}

/* What is promised about every step, whoever made it. */
static void check_step(const gordian_step *step)
{
    DEMAND(step->line > 0 && step->column > 0, "a step without a place");
    DEMAND(step->process, "a step without a process");
    DEMAND((step->result.outcome == GORDIAN_OUTCOME_REFUSED) == (step->message != NULL),
           "refused without a reason, or the other way round");
}

/* The next event in all engines; false at the end, or at a fault. */
static bool next_event(struct lockstep *engines, struct reader readers[ENGINES])
{
    gordian_result results[ENGINES] = {0};
    gordian_status expected = GORDIAN_OK;
    for (size_t i = 0; i < ENGINES; i++) {
        struct reader *reader = &readers[i];
        if (!engines->systems[i])
            continue;
        gordian_status status = gordian_replay_next(reader->replay, &reader->step, &reader->error);
        if (i == 0) {
            expected = status;
            DEMAND(status == GORDIAN_OK || status == GORDIAN_STATUS_END ||
                       status == GORDIAN_STATUS_INPUT,
                   "%s", gordian_status_text(status));
        } else if (status == GORDIAN_STATUS_UNAVAILABLE) {
            gordian_replay_close(reader->replay); /* before its system */
            reader->replay = NULL;
        }
        if (i > 0 && !lockstep_keeps_up(engines, i, status, expected, &reader->error))
            continue;
        if (status == GORDIAN_STATUS_INPUT)
            compare_errors(&reader->error, &readers[0].error);
        if (status == GORDIAN_OK) {
            check_step(&reader->step);
            compare_steps(&reader->step, &readers[0].step);
        }
        results[i] = reader->step.result;
    }
    if (expected != GORDIAN_OK)
        return false;
    lockstep_compare(engines, results);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lockstep engines;
    struct reader readers[ENGINES];
    memset(readers, 0, sizeof readers);
    lockstep_open(&engines);
    for (size_t i = 0; i < ENGINES; i++) {
        struct reader *reader = &readers[i];
        reader->input = (struct fuzz_input){data, size, 0};
        reader->source = fuzz_source(&reader->input);
        gordian_status status = gordian_replay_open(&reader->replay, engines.systems[i],
                                                    &reader->source, &reader->error);
        DEMAND(status == GORDIAN_OK, "%s", reader->error.message);
    }

    while (next_event(&engines, readers))
        ;
    gordian_victim victim;
    gordian_policy policy = size % 2 ? GORDIAN_POLICY_CHEAPEST : GORDIAN_POLICY_LOWEST_PRIORITY;
    while (lockstep_recover_one(&engines, policy, &victim))
        ;

    for (size_t i = 0; i < ENGINES; i++)
        gordian_replay_close(readers[i].replay);
    lockstep_close(&engines);
    return 0;
}
