/* Replays a trace to a bank: turns the names of each line into ids, calls the bank, and returns the
 * result as a step. */
#include "engines/avoid/bank.h"
#include "engines/rag/trace.h"
#include "foundation/base/error.h"

#include <stdio.h>
#include <string.h>

struct gordian_bank_replay {
    gordian_bank *bank;
    gordian_allocator memory;
    gordian_trace trace;
    uint64_t seq;
    gordian_want *wants; /* of the current line */
    uint32_t *items;     /* by want: its item in the line */
    size_t want_count, want_room, item_room;
    gordian_answer own; /* for callers that pass none */
    char name[GORDIAN_NAME_MAX + 1];
    char message[400];
};

gordian_status gordian_bank_replay_open(gordian_bank_replay **out, gordian_bank *bank,
                                        const gordian_source *source, gordian_error *error)
{
    gordian_allocator memory = bank->ledger.memory;
    gordian_bank_replay *replay = memory_zeroed(&memory, sizeof *replay);
    *out = NULL;
    if (!replay)
        return fail_memory(error);
    replay->bank = bank;
    replay->memory = memory;
    gordian_answer_init(&replay->own, GORDIAN_DETAIL_VERDICT);
    gordian_status status = gordian_trace_open(&replay->trace, source, &memory, error);
    if (status != GORDIAN_OK) {
        gordian_bank_replay_close(replay);
        return status;
    }
    replay->trace.avoidance = true;
    *out = replay;
    return GORDIAN_OK;
}

void gordian_bank_replay_close(gordian_bank_replay *replay)
{
    if (!replay)
        return;
    gordian_allocator memory = replay->memory;
    gordian_trace_close(&replay->trace);
    gordian_answer_free(&replay->own);
    memory_free_all(&memory, replay->wants, replay->items, replay);
}

/* ------------------------------------------------------------------ names and numbers */

static uint32_t find_bank_resource(const gordian_bank_replay *replay, const gordian_word *name)
{
    return gordian_bank_find_resource(replay->bank, name->text, name->length);
}

/* Converts the items of the line to wants. Unknown resources become NONE. */
static gordian_status gather_bank_wants(gordian_bank_replay *replay, gordian_error *error)
{
    const gordian_trace *trace = &replay->trace;
    if (!memory_grow(&replay->memory, &replay->wants, &replay->want_room, trace->item_count,
                     sizeof *replay->wants) ||
        !memory_grow(&replay->memory, &replay->items, &replay->item_room, trace->item_count,
                     sizeof *replay->items))
        return fail_memory(error);
    replay->want_count = 0;
    for (size_t i = 0; i < trace->item_count; i++) {
        const gordian_trace_item *item = &trace->items[i];
        gordian_want want = {item->units, find_bank_resource(replay, &item->name)};
        if (trace->kind == GORDIAN_LINE_PROCESS) {
            /* Attributes for the choice of a victim, which mean nothing here. */
            if (want.resource == NONE &&
                (word_is(&item->name, "priority") || word_is(&item->name, "cost")))
                continue;
            TRY(trace_claim(trace, item, &want.units, error));
        }
        replay->items[replay->want_count] = (uint32_t)i;
        replay->wants[replay->want_count++] = want;
    }
    return GORDIAN_OK;
}

/* Returns all units of a resource that the line requests, claims or releases. */
static uint64_t units_on_line(const gordian_bank_replay *replay, uint32_t resource)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < replay->want_count; i++)
        if (replay->wants[i].resource == resource &&
            __builtin_add_overflow(sum, replay->wants[i].units, &sum))
            return UINT64_MAX;
    return sum;
}

/* ------------------------------------------------------------------ errors */

/* An error message being made: its process, its resource, its word. */
struct complaint {
    const gordian_bank_step *step;
    const gordian_word *word;
    uint32_t resource;
    char process[TRACE_SHOWN_MAX], name[TRACE_SHOWN_MAX];
};

/* Finds the resource that a claim leaves out, or of which it claims less than is held. */
static void find_held(gordian_bank_replay *replay, struct complaint *about)
{
    const gordian_trace *trace = &replay->trace;
    uint32_t limit = gordian_bank_resource_limit(replay->bank);
    for (uint32_t r = 0; r < limit; r++) {
        if (gordian_bank_held(replay->bank, about->step->process, r) <= units_on_line(replay, r))
            continue;
        about->resource = r;
        about->word = &trace->name;
        for (size_t i = 0; i < replay->want_count; i++)
            if (replay->wants[i].resource == r)
                about->word = &trace->items[replay->items[i]].word;
        char buffer[GORDIAN_NAME_MAX + 1];
        const char *name = gordian_bank_resource_name(replay->bank, r, buffer);
        if (name)
            trace_show(&(gordian_word){name, (uint32_t)strlen(name), 0}, about->name);
        return;
    }
}

/* Finds the word and the names that an error is about. */
static void blame_answer(gordian_bank_replay *replay, const gordian_answer *answer,
                         struct complaint *about)
{
    const gordian_trace *trace = &replay->trace;
    about->word = &trace->name;
    about->resource = NONE;
    trace_show(&trace->name, about->process);
    trace_show(&trace->name, about->name);
    switch (answer->reason) {
    case GORDIAN_REASON_UNKNOWN_RESOURCE:
    case GORDIAN_REASON_NO_UNITS:
    case GORDIAN_REASON_OVER_CLAIM:
    case GORDIAN_REASON_NEVER_FITS:
    case GORDIAN_REASON_BELOW_HELD:
    case GORDIAN_REASON_TOO_MANY:
        if (answer->at < replay->want_count) {
            const gordian_trace_item *item = &trace->items[replay->items[answer->at]];
            about->word = &item->word;
            about->resource = replay->wants[answer->at].resource;
            trace_show(&item->name, about->name);
        }
        break;
    default:
        break;
    }
    if (answer->reason == GORDIAN_REASON_BELOW_HELD && about->step->kind == GORDIAN_LINE_PROCESS)
        find_held(replay, about);
}

/* Explains the reasons that involve numbers. */
static int explain_numbers(gordian_bank_replay *replay, gordian_reason reason,
                           const struct complaint *about, char *text, size_t size)
{
    gordian_bank *bank = replay->bank;
    uint32_t process = about->step->process, resource = about->resource;
    unsigned long long claim = gordian_bank_claim(bank, process, resource);
    unsigned long long held = gordian_bank_held(bank, process, resource);
    unsigned long long asked = units_on_line(replay, resource);
    const char *who = about->process, *what = about->name;
    if (about->step->kind == GORDIAN_LINE_RESOURCE) {
        BANK_SCOPE(bank);
        uint32_t named =
            names_find(&bank->ledger.resource_names, about->step->name, strlen(about->step->name));
        return snprintf(text, size, "the units of '%s' cannot be %llu: there is a claim of %llu",
                        what, (unsigned long long)about->step->units,
                        (unsigned long long)ledger_largest_claim(&bank->ledger, named));
    }
    if (reason == GORDIAN_REASON_NEVER_FITS)
        return snprintf(text, size,
                        "the claim of '%s' can never fit: %llu of '%s', which has only %llu in all",
                        who, asked, what, (unsigned long long)gordian_bank_units(bank, resource));
    if (reason == GORDIAN_REASON_OVER_CLAIM)
        return claim == 0
                   ? snprintf(text, size, "process '%s' did not claim any of '%s'", who, what)
                   : snprintf(
                         text, size,
                         "process '%s' claimed %llu of '%s' and holds %llu: it may not request "
                         "%llu more",
                         who, claim, what, held, asked);
    if (about->step->kind == GORDIAN_LINE_PROCESS)
        return snprintf(text, size, "process '%s' holds %llu of '%s': its claim cannot be %llu",
                        who, held, what, asked);
    return snprintf(text, size, "process '%s' holds %llu of '%s', not %llu", who, held, what,
                    asked);
}

static void explain_bank_step(gordian_bank_replay *replay, gordian_bank_step *step,
                              const gordian_answer *answer)
{
    struct complaint about = {.step = step};
    char *text = replay->message;
    size_t size = sizeof replay->message;
    blame_answer(replay, answer, &about);
    switch (answer->reason) {
    case GORDIAN_REASON_UNKNOWN_PROCESS:
        snprintf(text, size, "process '%s' was never declared, or has exited", about.process);
        break;
    case GORDIAN_REASON_UNKNOWN_RESOURCE:
        snprintf(text, size, "resource '%s' was never declared", about.name);
        break;
    case GORDIAN_REASON_OVER_CLAIM:
    case GORDIAN_REASON_NEVER_FITS:
    case GORDIAN_REASON_BELOW_HELD:
        explain_numbers(replay, answer->reason, &about, text, size);
        break;
    case GORDIAN_REASON_IS_WAITING:
        snprintf(text, size, "process '%s' waits: it may only cancel or exit", about.process);
        break;
    case GORDIAN_REASON_NOT_WAITING:
        snprintf(text, size, "process '%s' does not wait: there is nothing to cancel",
                 about.process);
        break;
    case GORDIAN_REASON_TOO_MANY:
        snprintf(text, size, "units of '%s' would add up to more than 18446744073709551615",
                 about.name);
        break;
    default:
        snprintf(text, size, "process '%s': %s", about.process,
                 gordian_reason_text(answer->reason));
        break;
    }
    step->column = about.word->column;
    step->message = text;
}

/* ------------------------------------------------------------------ lines */

static gordian_status replay_bank_resource(gordian_bank_replay *replay, gordian_bank_step *step,
                                           gordian_answer *answer, gordian_error *error)
{
    uint32_t id = find_bank_resource(replay, &replay->trace.name);
    step->kind = GORDIAN_LINE_RESOURCE;
    step->units = replay->trace.units;
    if (id != NONE)
        return gordian_bank_set_units(replay->bank, id, step->units, answer, error);
    gordian_status status =
        gordian_bank_add_resource(replay->bank, replay->name, step->units, NULL, error);
    if (status == GORDIAN_OK)
        *answer = (gordian_answer){
            .detail = answer->detail, .store = answer->store, .verdict = GORDIAN_VERDICT_CHANGED};
    return status;
}

static gordian_status replay_bank_process(gordian_bank_replay *replay, gordian_bank_step *step,
                                          gordian_answer *answer, gordian_error *error)
{
    step->kind = GORDIAN_LINE_PROCESS;
    if (step->process != NONE)
        return gordian_bank_set_claims(replay->bank, step->process, step->wants, step->want_count,
                                       answer, error);
    return gordian_bank_add_process(replay->bank, replay->name, step->wants, step->want_count,
                                    &step->process, answer, error);
}

static gordian_status replay_bank_event(gordian_bank_replay *replay, gordian_bank_step *step,
                                        gordian_answer *answer, gordian_error *error)
{
    gordian_bank *bank = replay->bank;
    step->kind = GORDIAN_LINE_EVENT;
    step->op = replay->trace.op;
    switch (step->op) {
    case GORDIAN_OP_REQUEST:
    case GORDIAN_OP_HOLD:
    case GORDIAN_OP_WAIT:
    case GORDIAN_OP_AWAIT: /* this kind of trace does not have these two */
    case GORDIAN_OP_ACT:
        break;
    case GORDIAN_OP_RELEASE:
        return gordian_bank_release(bank, step->process, step->wants, step->want_count, answer,
                                    error);
    case GORDIAN_OP_CANCEL:
        return gordian_bank_cancel(bank, step->process, answer, error);
    case GORDIAN_OP_EXIT:
        return gordian_bank_exit(bank, step->process, answer, error);
    }
    return gordian_bank_request(bank, step->process, step->wants, step->want_count, answer, error);
}

/* Handles the current line: calls the bank and explains a refusal. */
static gordian_status replay_bank_line(gordian_bank_replay *replay, gordian_bank_step *step,
                                       gordian_answer *answer, gordian_error *error)
{
    const gordian_trace *trace = &replay->trace;
    trace_copy_name(replay->name, &trace->name);
    TRY(gather_bank_wants(replay, error));
    gordian_status status = GORDIAN_OK;
    *step = (gordian_bank_step){
        .line = trace->line,
        .column = trace->verb.column,
        .name = replay->name,
        .process = NONE,
        .wants = replay->wants,
        .want_count = replay->want_count,
    };
    if (trace->kind != GORDIAN_LINE_RESOURCE)
        step->process =
            gordian_bank_find_process(replay->bank, trace->name.text, trace->name.length);
    switch (trace->kind) {
    case GORDIAN_LINE_EVENT:
        status = replay_bank_event(replay, step, answer, error);
        break;
    case GORDIAN_LINE_RESOURCE:
        status = replay_bank_resource(replay, step, answer, error);
        break;
    case GORDIAN_LINE_PROCESS:
        status = replay_bank_process(replay, step, answer, error);
        break;
    }
    if (status == GORDIAN_OK && answer->verdict == GORDIAN_VERDICT_REFUSED)
        explain_bank_step(replay, step, answer);
    if (status == GORDIAN_OK && answer->verdict == GORDIAN_VERDICT_EXITED)
        step->process = NONE;
    return trace_place_error(trace, &trace->verb, status, error);
}

gordian_status gordian_bank_replay_next(gordian_bank_replay *replay, gordian_bank_step *step,
                                        gordian_answer *answer, gordian_error *error)
{
    gordian_bank_step next;
    TRY(gordian_trace_next(&replay->trace, error));
    TRY(replay_bank_line(replay, &next, answer ? answer : &replay->own, error));
    replay->seq += next.kind == GORDIAN_LINE_EVENT;
    next.seq = replay->seq;
    *step = next;
    return GORDIAN_OK;
}
