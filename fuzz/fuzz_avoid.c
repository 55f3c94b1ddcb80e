/* Any bytes as a trace for avoidance: every engine reads it, all must say the same about every line
 * and about every fault in the text, and what they say is checked from the numbers alone: safe
 * orders work, what is unsafe has none, what is unavailable is short. */
#include "fuzz.h"

#include <string.h>

/* The plainest last: where one is not available the others go on. */
static const char *const names[] = {"holt", "cuda", "dense"};
#define ENGINES   (sizeof names / sizeof *names)
#define ORDER_MAX 512 /* larger states are compared, but not checked */

struct reader {
    struct fuzz_input input;
    gordian_source source;
    gordian_bank *bank; /* NULL: not available here */
    gordian_bank_replay *replay;
    gordian_bank_step step;
    gordian_answer answer;
    gordian_error error;
};

static void open_readers(struct reader *readers, const uint8_t *data, size_t size)
{
    gordian_bank_options options;
    gordian_bank_options_init(&options);
    options.queue = size % 2;
    options.patience = 1 + (uint32_t)(size % 5);
    for (size_t i = 0; i < ENGINES; i++) {
        struct reader *reader = &readers[i];
        options.engine = names[i];
        gordian_answer_init(&reader->answer, GORDIAN_DETAIL_REASONS);
        gordian_status status = gordian_bank_open(&reader->bank, &options, &reader->error);
        DEMAND(status == GORDIAN_OK || (i == 1 && status == GORDIAN_STATUS_UNAVAILABLE), "%s",
               reader->error.message);
        if (status != GORDIAN_OK)
            continue;
        reader->input = (struct fuzz_input){data, size, 0};
        reader->source = fuzz_source(&reader->input);
        status = gordian_bank_replay_open(&reader->replay, reader->bank, &reader->source,
                                          &reader->error);
        DEMAND(status == GORDIAN_OK, "%s", reader->error.message);
    }
}

static void close_readers(struct reader *readers)
{
    for (size_t i = 0; i < ENGINES; i++) {
        gordian_bank_replay_close(readers[i].replay);
        gordian_answer_free(&readers[i].answer);
        gordian_bank_close(readers[i].bank);
    }
}

/* ------------------------------------------------------------------ the same everywhere */

static bool same_list(const void *list, const void *expected, size_t count, size_t size)
{
    return count == 0 || memcmp(list, expected, count * size) == 0;
}

static void compare_answers(const gordian_answer *answer, const gordian_answer *expected)
{
    DEMAND(answer->verdict == expected->verdict, "%s / %s", gordian_verdict_text(answer->verdict),
           gordian_verdict_text(expected->verdict));
    DEMAND(answer->reason == expected->reason && answer->at == expected->at &&
               answer->waits == expected->waits,
           "different reasons");
    DEMAND(answer->served_count == expected->served_count &&
               same_list(answer->served, expected->served, answer->served_count,
                         sizeof *answer->served),
           "others are served");
    DEMAND(
        answer->stuck_count == expected->stuck_count &&
            same_list(answer->stuck, expected->stuck, answer->stuck_count, sizeof *answer->stuck),
        "others are stuck");
    DEMAND(answer->lack_count == expected->lack_count, "other lacks");
    for (size_t i = 0; i < answer->lack_count; i++)
        DEMAND(answer->lacks[i].process == expected->lacks[i].process &&
                   answer->lacks[i].resource == expected->lacks[i].resource &&
                   answer->lacks[i].units == expected->lacks[i].units,
               "other lacks");
}

static void compare_steps(const gordian_bank_step *step, const gordian_bank_step *expected)
{
    DEMAND(step->seq == expected->seq && step->line == expected->line &&
               step->column == expected->column,
           "different places");
    DEMAND(step->kind == expected->kind && step->process == expected->process &&
               step->want_count == expected->want_count,
           "different lines");
    DEMAND(!strcmp(step->message ? step->message : "", expected->message ? expected->message : ""),
           "%s / %s", step->message, expected->message);
}

static void compare_errors(const gordian_error *error, const gordian_error *expected)
{
    DEMAND(error->line == expected->line && error->column == expected->column &&
               !strcmp(error->message, expected->message),
           "%s / %s", error->message, expected->message);
}

/* ------------------------------------------------------------------ from the numbers alone */

/* Can `process` finish with `work`? Then it gives back what it holds; `lent` more of what is lent
 * to `to`. */
static bool finishes(gordian_bank *bank, uint32_t process, uint64_t *work, uint32_t to,
                     const uint64_t *lent)
{
    uint32_t resources = gordian_bank_resource_limit(bank);
    for (uint32_t r = 0; r < resources; r++) {
        uint64_t held = gordian_bank_held(bank, process, r) + (process == to ? lent[r] : 0);
        if (gordian_bank_claim(bank, process, r) - held > work[r])
            return false;
    }
    for (uint32_t r = 0; r < resources; r++)
        work[r] += gordian_bank_held(bank, process, r) + (process == to ? lent[r] : 0);
    return true;
}

static void check_order(gordian_bank *bank, const uint32_t *order, size_t count)
{
    static const uint64_t nothing[ORDER_MAX];
    uint64_t work[ORDER_MAX];
    bool seen[ORDER_MAX] = {false};
    uint32_t resources = gordian_bank_resource_limit(bank);
    char name[GORDIAN_NAME_MAX + 1];
    size_t known = 0;
    for (uint32_t p = 0; p < gordian_bank_process_limit(bank); p++)
        known += gordian_bank_process_name(bank, p, name) != NULL;
    DEMAND(known == count, "%zu of %zu processes in the order", count, known);
    for (uint32_t r = 0; r < resources; r++)
        work[r] = gordian_bank_free_units(bank, r);
    for (size_t i = 0; i < count; i++) {
        DEMAND(!seen[order[i]], "process %u twice", (unsigned)order[i]);
        seen[order[i]] = true;
        DEMAND(finishes(bank, order[i], work, GORDIAN_NONE, nothing), "process %u cannot finish",
               (unsigned)order[i]);
    }
}

/* Would it be safe to lend this? By trying everybody again and again. */
static bool is_safe(gordian_bank *bank, uint32_t to, const uint64_t *lent)
{
    uint64_t work[ORDER_MAX];
    bool done[ORDER_MAX] = {false};
    uint32_t resources = gordian_bank_resource_limit(bank);
    uint32_t processes = gordian_bank_process_limit(bank);
    char name[GORDIAN_NAME_MAX + 1];
    for (uint32_t r = 0; r < resources; r++)
        work[r] = gordian_bank_free_units(bank, r) - lent[r];
    for (bool again = true; again;) {
        again = false;
        for (uint32_t p = 0; p < processes; p++)
            if (!done[p] && gordian_bank_process_name(bank, p, name) &&
                finishes(bank, p, work, to, lent))
                done[p] = again = true;
    }
    for (uint32_t p = 0; p < processes; p++)
        if (!done[p] && gordian_bank_process_name(bank, p, name))
            return false;
    return true;
}

/* A request that was denied: rightly? */
static void check_denial(gordian_bank *bank, const gordian_bank_step *step,
                         const gordian_answer *answer)
{
    uint64_t lent[ORDER_MAX] = {0};
    bool fits = true;
    for (size_t i = 0; i < step->want_count; i++)
        lent[step->wants[i].resource] += step->wants[i].units;
    for (uint32_t r = 0; r < gordian_bank_resource_limit(bank); r++)
        fits &= lent[r] <= gordian_bank_free_units(bank, r);
    if (answer->reason == GORDIAN_REASON_OUT_OF_TURN)
        return;
    DEMAND(fits == (answer->verdict == GORDIAN_VERDICT_UNSAFE), "it fits: %d", fits);
    if (fits)
        DEMAND(!is_safe(bank, step->process, lent), "it would be safe");
}

static void check_step(const struct reader *reader)
{
    const gordian_bank_step *step = &reader->step;
    const gordian_answer *answer = &reader->answer;
    uint32_t order[ORDER_MAX];
    bool request = step->kind == GORDIAN_LINE_EVENT && step->op != GORDIAN_OP_RELEASE;
    DEMAND(step->line > 0 && step->column > 0 && step->name, "a step without a place or a name");
    DEMAND((answer->verdict == GORDIAN_VERDICT_REFUSED) == (step->message != NULL),
           "declined without a reason, or the other way round");
    if (gordian_bank_process_limit(reader->bank) > ORDER_MAX ||
        gordian_bank_resource_limit(reader->bank) > ORDER_MAX)
        return;
    size_t count = gordian_bank_sequence(reader->bank, order, ORDER_MAX);
    check_order(reader->bank, order, count);
    if (answer->verdict == GORDIAN_VERDICT_GRANTED)
        check_order(reader->bank, answer->sequence, answer->sequence_count);
    if (request && (answer->verdict == GORDIAN_VERDICT_UNSAFE ||
                    answer->verdict == GORDIAN_VERDICT_UNAVAILABLE))
        check_denial(reader->bank, step, answer);
}

/* ------------------------------------------------------------------ */

/* The next line in all engines; false at the end, or at a fault. */
static bool next_line(struct reader *readers)
{
    gordian_status expected = GORDIAN_OK;
    for (size_t i = 0; i < ENGINES; i++) {
        struct reader *reader = &readers[i];
        if (!reader->bank)
            continue;
        gordian_status status = gordian_bank_replay_next(reader->replay, &reader->step,
                                                         &reader->answer, &reader->error);
        DEMAND(status == GORDIAN_OK || status == GORDIAN_STATUS_END ||
                   status == GORDIAN_STATUS_INPUT,
               "%s", gordian_status_text(status));
        DEMAND(i == 0 || status == expected, "%s: %s", names[i], gordian_status_text(status));
        expected = status;
        if (status == GORDIAN_STATUS_INPUT)
            compare_errors(&reader->error, &readers[0].error);
        if (status != GORDIAN_OK)
            continue;
        DEMAND(!reader->answer.incomplete, "no memory");
        compare_steps(&reader->step, &readers[0].step);
        compare_answers(&reader->answer, &readers[0].answer);
        check_step(reader);
    }
    return expected == GORDIAN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader readers[ENGINES];
    memset(readers, 0, sizeof readers);
    open_readers(readers, data, size);
    while (next_line(readers))
        ;
    close_readers(readers);
    return 0;
}
