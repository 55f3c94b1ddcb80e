/* `gordian detect` as text: deadlocks drawn, every event with --all, a summary. */
#include "cli/detect/detect.h"

#include "foundation/base/error.h"

#include <stdio.h>
#include <string.h>

#define WHAT_COLUMNS 32

static struct output *out_of(struct detect *detect)
{
    return &detect->cli->out;
}

/* Prints a word and a name, "?" if there is none, and returns their columns. */
static size_t put_name(struct detect *detect, const char *before, enum color color,
                       const char *name)
{
    const struct style *style = &detect->drawing.style;
    name = name ? name : "?";
    output_text(out_of(detect), before);
    style_name(style, out_of(detect), color, name);
    return strlen(before) + style_width(style, name);
}

static size_t put_process(struct detect *detect, const char *before, uint32_t process)
{
    return put_name(detect, before, COLOR_PROCESS, process_label(&detect->labels, process));
}

/* Prints " q1=2" as in the trace; "?" for a resource that does not exist. Returns the columns. */
static size_t write_want(struct detect *detect, uint32_t resource, uint64_t units)
{
    const char *name = resource == GORDIAN_NONE ? "?" : resource_label(&detect->labels, resource);
    char amount[32] = "";
    if (units != 1)
        snprintf(amount, sizeof amount, "=%llu", (unsigned long long)units);
    size_t columns = put_name(detect, " ", COLOR_RESOURCE, name);
    output_text(out_of(detect), amount);
    return columns + strlen(amount);
}

/* Prints the request of an event and returns its columns: " q1=2 q3"; " 2 of bob, cal" for an
 * await, " for ann" for an act, " to p2" for a release to a process. */
static size_t write_wants(struct detect *detect, const gordian_event *event)
{
    char amount[32] = "";
    size_t columns = 0;
    switch (event->op) {
    case GORDIAN_OP_CANCEL:
    case GORDIAN_OP_EXIT:
        return 0;
    case GORDIAN_OP_ACT:
        return event->to == GORDIAN_NONE ? 0 : put_process(detect, " for ", event->to);
    case GORDIAN_OP_AWAIT:
        if (event->units < event->want_count)
            snprintf(amount, sizeof amount, " %llu of", (unsigned long long)event->units);
        output_text(out_of(detect), amount);
        columns = strlen(amount);
        for (size_t i = 0; i < event->want_count; i++)
            columns += put_process(detect, " ", event->wants[i].resource);
        return columns;
    default:
        break;
    }
    if (!event->wants)
        columns = write_want(detect, event->resource, event->units);
    if (!event->wants && event->op == GORDIAN_OP_RELEASE && event->to != GORDIAN_NONE)
        columns += put_process(detect, " to ", event->to);
    for (size_t i = 0; event->wants && i < event->want_count; i++)
        columns += write_want(detect, event->wants[i].resource, event->wants[i].units);
    return columns;
}

/* ------------------------------------------------------------------ --all */

static enum color color_of(gordian_outcome outcome)
{
    switch (outcome) {
    case GORDIAN_OUTCOME_DEADLOCK:
    case GORDIAN_OUTCOME_DOOMED:
    case GORDIAN_OUTCOME_REFUSED:
        return COLOR_BAD;
    case GORDIAN_OUTCOME_GRANTED:
        return COLOR_GOOD;
    case GORDIAN_OUTCOME_BLOCKED:
        return COLOR_STRONG;
    case GORDIAN_OUTCOME_RELEASED:
    case GORDIAN_OUTCOME_CANCELLED:
    case GORDIAN_OUTCOME_EXITED:
        break;
    }
    return COLOR_PLAIN;
}

/* Prints "     7  release ann fork-0        released, served: bob". */
static void write_event_line(struct detect *detect, const gordian_step *step)
{
    struct output *out = out_of(detect);
    const struct style *style = &detect->drawing.style;
    gordian_outcome outcome = (gordian_outcome)step->result.outcome;
    output_format(out, "%8llu  %-8s", (unsigned long long)step->seq,
                  gordian_op_text(step->event.op));
    size_t columns = put_name(detect, "", COLOR_PROCESS, step->process);
    columns += write_wants(detect, &step->event);
    output_format(out, "%*s  ", columns < WHAT_COLUMNS ? (int)(WHAT_COLUMNS - columns) : 0, "");
    style_text(style, out, color_of(outcome), gordian_outcome_text(outcome));
    if (step->result.served_count) {
        output_text(out, ", served:");
        for (size_t i = 0; i < step->result.served_count; i++)
            put_process(detect, " ", detect->served[i]);
    }
    if (step->message) {
        output_text(out, ": ");
        style_name(style, out, COLOR_PLAIN, step->message);
    }
    output_char(out, '\n');
}

/* ------------------------------------------------------------------ deadlocks */

/* Prints the position of an event, "FILE:12: ". */
static void write_place(struct detect *detect, const gordian_step *step)
{
    struct output *out = out_of(detect);
    style_color(&detect->drawing.style, out, COLOR_STRONG);
    style_name(&(struct style){.utf8 = true}, out, COLOR_PLAIN, detect->input.name);
    output_format(out, ":%llu:", (unsigned long long)step->line);
    style_color(&detect->drawing.style, out, COLOR_PLAIN);
    output_char(out, ' ');
}

static void write_action(struct detect *detect, const gordian_step *step)
{
    put_name(detect, "", COLOR_PROCESS, step->process);
    output_text(out_of(detect), step->event.op == GORDIAN_OP_AWAIT  ? " awaits"
                                : step->event.op == GORDIAN_OP_WAIT ? " waits for"
                                                                    : " requests");
    write_wants(detect, &step->event);
}

static void write_heading(struct detect *detect, const gordian_step *step,
                          const gordian_witness *witness, size_t members)
{
    struct output *out = out_of(detect);
    char number[40];
    snprintf(number, sizeof number, "deadlock %llu", (unsigned long long)detect->tally.deadlocks);
    output_text(out, detect->all ? "\n" : "");
    write_place(detect, step);
    style_text(&detect->drawing.style, out, COLOR_BAD, number);
    output_text(out, ": ");
    write_action(detect, step);
    if (members == 1)
        output_text(out, ", waiting for itself\n\n");
    else if (witness->cycle)
        output_format(out, ", closing a cycle of %zu processes\n\n", members);
    else
        output_format(out, ", and %zu processes wait for each other\n\n", members);
}

static gordian_status write_followers(struct detect *detect, gordian_error *error)
{
    const struct followers *followers = &detect->followers;
    size_t count = followers->count - followers->members;
    if (count == 0)
        return GORDIAN_OK;
    if (!name_list_first(&detect->list, &detect->labels, followers->found + followers->members,
                         count, draw_names_limit(&detect->drawing)))
        return fail_memory(error);
    output_text(out_of(detect), "\n  waiting behind it: ");
    draw_names(&detect->drawing, &detect->list);
    output_char(out_of(detect), '\n');
    return GORDIAN_OK;
}

static gordian_status draw_deadlock(struct detect *detect, const gordian_step *step,
                                    gordian_error *error)
{
    gordian_witness witness;
    TRY(gordian_explain(detect->system, step->event.process, &witness, error));
    TRY(followers_collect(&detect->followers, detect->system, &witness, error));
    progress_clear(&detect->cli->progress);
    /* the search for followers has invalidated the first witness */
    TRY(gordian_explain(detect->system, step->event.process, &witness, error));
    write_heading(detect, step, &witness, detect->followers.members);
    if (!draw_witness(&detect->drawing, &witness, step->event.process))
        return fail_memory(error);
    return write_followers(detect, error);
}

static void write_doomed(struct detect *detect, const gordian_step *step)
{
    progress_clear(&detect->cli->progress);
    write_place(detect, step);
    write_action(detect, step);
    output_text(out_of(detect), " and is ");
    style_text(&detect->drawing.style, out_of(detect), COLOR_BAD, "doomed");
    output_text(out_of(detect), ": it waits behind a deadlock\n");
}

/* ------------------------------------------------------------------ recovery */

/* Prints the value that the policy compared: "cost 2". */
static void write_reason(struct output *out, gordian_policy policy, int64_t weight)
{
    const char *plural = weight == 1 ? "" : "s";
    switch (policy) {
    case GORDIAN_POLICY_YOUNGEST:
    case GORDIAN_POLICY_OLDEST:
        output_format(out, "came after %lld other%s", (long long)weight, plural);
        break;
    case GORDIAN_POLICY_CHEAPEST:
        output_format(out, "cost %lld", (long long)weight);
        break;
    case GORDIAN_POLICY_LOWEST_PRIORITY:
        output_format(out, "lowest is %lld", (long long)weight);
        break;
    case GORDIAN_POLICY_FEWEST_HELD:
        output_format(out, "%lld unit%s", (long long)weight, plural);
        break;
    }
}

/* Prints "  ends p3: cheapest, cost 2, frees q1 q4, lets p1 p5 go on". */
static void write_victim(struct detect *detect, const gordian_victim *victim)
{
    struct output *out = out_of(detect);
    put_process(detect, "  ends ", victim->process);
    output_format(out, ": %s, ", gordian_policy_text(detect->policy));
    write_reason(out, detect->policy, victim->weight);
    output_text(out, victim->frees_count ? ", frees" : ", frees nothing");
    for (size_t i = 0; i < victim->frees_count; i++)
        write_want(detect, victim->frees[i].resource, victim->frees[i].units);
    if (victim->served_count) {
        output_text(out, ", lets");
        for (size_t i = 0; i < victim->served_count; i++)
            put_process(detect, " ", victim->served[i]);
        output_text(out, " go on");
    }
    output_char(out, '\n');
}

static gordian_status report_recovery(struct detect *detect, gordian_error *error)
{
    gordian_victim victim;
    gordian_status status;
    for (bool first = true; (status = gordian_recover_one(detect->system, detect->policy, &victim,
                                                          error)) == GORDIAN_OK;
         first = false) {
        output_text(out_of(detect), first ? "\n" : "");
        write_victim(detect, &victim);
    }
    return status == GORDIAN_STATUS_END ? GORDIAN_OK : status;
}

/* ------------------------------------------------------------------ matrices */

static gordian_status write_matrices(struct detect *detect, gordian_error *error)
{
    struct matrices matrices;
    TRY(matrices_open(&matrices, detect->system, &detect->labels, error));
    gordian_status status = matrices_draw(&matrices, &detect->drawing, error);
    matrices_close(&matrices);
    return status;
}

/* ------------------------------------------------------------------ the reporter */

static gordian_status write_event(struct detect *detect, const gordian_step *step,
                                  gordian_error *error)
{
    if (detect->all)
        write_event_line(detect, step);
    if (!is_stuck(step))
        return GORDIAN_OK;
    bool deadlock = step->result.outcome == GORDIAN_OUTCOME_DEADLOCK;
    gordian_status status = GORDIAN_OK;
    if (deadlock)
        status = draw_deadlock(detect, step, error);
    else if (!detect->all)
        write_doomed(detect, step);
    if (status == GORDIAN_OK && deadlock && detect->show == DETECT_SHOW_ALL) {
        output_char(out_of(detect), '\n');
        status = write_matrices(detect, error);
    }
    if (status == GORDIAN_OK && detect->recover)
        status = report_recovery(detect, error);
    if (deadlock)
        output_char(out_of(detect), '\n');
    return status;
}

static void write_count(struct detect *detect, uint64_t count, const char *one, const char *many,
                        enum color color)
{
    char text[64];
    snprintf(text, sizeof text, "%llu %s", (unsigned long long)count, count == 1 ? one : many);
    style_text(&detect->drawing.style, out_of(detect), color, text);
}

static gordian_status write_summary(struct detect *detect, gordian_error *error)
{
    progress_clear(&detect->cli->progress);
    gordian_status status = GORDIAN_OK;
    if (detect->show >= DETECT_SHOW_MATRICES)
        status = write_matrices(detect, error);
    if (status != GORDIAN_OK || detect->cli->quiet)
        return status;
    output_text(out_of(detect), detect->show >= DETECT_SHOW_MATRICES ? "\n" : "");
    TRY(detect_list_deadlocked(detect, draw_names_limit(&detect->drawing), error));
    const struct tally *tally = &detect->tally;
    struct output *out = out_of(detect);
    if (tally->deadlocks)
        write_count(detect, tally->deadlocks, "deadlock", "deadlocks", COLOR_BAD);
    else if (detect_refused_all(tally))
        style_text(&detect->drawing.style, out, COLOR_BAD, "no result");
    else
        style_text(&detect->drawing.style, out, COLOR_GOOD, "no deadlock");
    output_text(out, " in ");
    write_count(detect, tally->events, "event", "events", COLOR_PLAIN);
    output_format(out, ": %llu granted, %llu blocked, %llu doomed, %llu refused (%s, %s)\n",
                  (unsigned long long)tally->granted, (unsigned long long)tally->blocked,
                  (unsigned long long)tally->doomed, (unsigned long long)tally->errors,
                  gordian_engine_name(detect->system),
                  gordian_model_text(gordian_system_model(detect->system)));
    if (detect->list.count) {
        write_count(detect, detect->list.count, "process", "processes", COLOR_BAD);
        output_text(out, " can never run again: ");
        draw_names(&detect->drawing, &detect->list);
        output_char(out, '\n');
    }
    return GORDIAN_OK;
}

const struct reporter detect_text = {false, write_event, write_summary};
