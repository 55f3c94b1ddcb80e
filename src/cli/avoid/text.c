/* What `gordian avoid` prints as text: unsafe requests and the reason, every event with --all, and
 * a summary with an order in which all processes can finish. */
#include "cli/avoid/avoid.h"

#include <stdio.h>
#include <string.h>

#define WHAT_COLUMNS 32
/* Longer lists are abbreviated, unless --verbose. */
#define NAMES_MOST 12

static struct output *out_of(struct avoid *avoid)
{
    return &avoid->cli->out;
}

static size_t write_process(struct avoid *avoid, uint32_t process)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    const char *name = gordian_bank_process_name(avoid->bank, process, buffer);
    style_name(&avoid->style, out_of(avoid), COLOR_PROCESS, name ? name : "?");
    return style_width(&avoid->style, name ? name : "?");
}

/* "p1, p3, p0", or the first few "and 93 more". */
static void write_processes(struct avoid *avoid, const uint32_t *processes, size_t count)
{
    size_t shown = avoid->cli->verbose || count <= NAMES_MOST ? count : NAMES_MOST;
    for (size_t i = 0; i < shown; i++) {
        output_text(out_of(avoid), i ? ", " : "");
        write_process(avoid, processes[i]);
    }
    if (shown < count)
        output_format(out_of(avoid), " and %zu more", count - shown);
}

/* " r1=2" as in the trace; an unknown resource has no name. Returns the columns. */
static size_t write_units(struct avoid *avoid, uint32_t resource, uint64_t units, bool always)
{
    char buffer[GORDIAN_NAME_MAX + 1], amount[32] = "";
    const char *name = gordian_bank_resource_name(avoid->bank, resource, buffer);
    if (units != 1 || always)
        snprintf(amount, sizeof amount, "=%llu", (unsigned long long)units);
    output_char(out_of(avoid), ' ');
    style_name(&avoid->style, out_of(avoid), COLOR_RESOURCE, name ? name : "?");
    output_text(out_of(avoid), amount);
    return 1 + style_width(&avoid->style, name ? name : "?") + strlen(amount);
}

static size_t write_wants(struct avoid *avoid, const gordian_bank_step *step)
{
    size_t columns = 0;
    for (size_t i = 0; i < step->want_count; i++)
        columns += write_units(avoid, step->wants[i].resource, step->wants[i].units,
                               step->kind == GORDIAN_LINE_PROCESS);
    if (step->kind == GORDIAN_LINE_RESOURCE) {
        char amount[32];
        snprintf(amount, sizeof amount, " %llu", (unsigned long long)step->units);
        output_text(out_of(avoid), amount);
        columns += strlen(amount);
    }
    return columns;
}

/* ------------------------------------------------------------------ --all */

static enum color color_of(gordian_verdict verdict)
{
    switch (verdict) {
    case GORDIAN_VERDICT_UNSAFE:
    case GORDIAN_VERDICT_REFUSED:
        return COLOR_BAD;
    case GORDIAN_VERDICT_GRANTED:
        return COLOR_GOOD;
    case GORDIAN_VERDICT_UNAVAILABLE:
        return COLOR_STRONG;
    case GORDIAN_VERDICT_RELEASED:
    case GORDIAN_VERDICT_CANCELLED:
    case GORDIAN_VERDICT_EXITED:
    case GORDIAN_VERDICT_CHANGED:
        break;
    }
    return COLOR_PLAIN;
}

/* ", safe order: p1, p3", ", short: r0=2", ": process 'p9' was never declared". */
static void write_because(struct avoid *avoid, const gordian_bank_step *step)
{
    struct output *out = out_of(avoid);
    const gordian_answer *answer = &avoid->answer;
    if (answer->waits)
        output_text(out, ", waits");
    if (answer->verdict == GORDIAN_VERDICT_GRANTED) {
        output_text(out, ", safe order: ");
        write_processes(avoid, answer->sequence, answer->sequence_count);
    }
    if (answer->verdict == GORDIAN_VERDICT_UNAVAILABLE &&
        answer->reason == GORDIAN_REASON_OUT_OF_TURN)
        output_text(out, ", reserved for an older request");
    else if (answer->verdict == GORDIAN_VERDICT_UNAVAILABLE) {
        output_text(out, ", short:");
        for (size_t i = 0; i < answer->lack_count; i++)
            write_units(avoid, answer->lacks[i].resource, answer->lacks[i].units, true);
    }
    if (answer->served_count) {
        output_text(out, ", served: ");
        write_processes(avoid, answer->served, answer->served_count);
    }
    if (step->message) {
        output_text(out, ": ");
        style_name(&avoid->style, out, COLOR_PLAIN, step->message);
    }
}

static const char *what_of(const gordian_bank_step *step)
{
    switch (step->kind) {
    case GORDIAN_LINE_EVENT:
        return gordian_op_text(step->op);
    case GORDIAN_LINE_PROCESS:
        return "process";
    case GORDIAN_LINE_RESOURCE:
        return "resource";
    }
    return "";
}

/* "     7  release ann gpu=2              released, served: bob". */
static void write_line(struct avoid *avoid, const gordian_bank_step *step)
{
    struct output *out = out_of(avoid);
    bool event = step->kind == GORDIAN_LINE_EVENT;
    if (event)
        output_format(out, "%8llu  %-8s", (unsigned long long)step->seq, what_of(step));
    else
        output_format(out, "%8s  %-8s", "", what_of(step));
    output_text(out, event ? "" : " ");
    style_name(&avoid->style, out,
               step->kind == GORDIAN_LINE_RESOURCE ? COLOR_RESOURCE : COLOR_PROCESS, step->name);
    size_t columns = style_width(&avoid->style, step->name) + write_wants(avoid, step) + !event;
    output_format(out, "%*s  ", columns < WHAT_COLUMNS ? (int)(WHAT_COLUMNS - columns) : 0, "");
    style_text(&avoid->style, out, color_of(avoid->answer.verdict),
               gordian_verdict_text(avoid->answer.verdict));
    write_because(avoid, step);
    output_char(out, '\n');
}

/* ------------------------------------------------------------------ unsafe requests */

/* "FILE:12: " before an event. */
static void write_place(struct avoid *avoid, const gordian_bank_step *step)
{
    struct output *out = out_of(avoid);
    style_color(&avoid->style, out, COLOR_STRONG);
    style_name(&(struct style){.utf8 = true}, out, COLOR_PLAIN, avoid->input.name);
    output_format(out, ":%llu:", (unsigned long long)step->line);
    style_color(&avoid->style, out, COLOR_PLAIN);
    output_char(out, ' ');
}

static void write_action(struct avoid *avoid, const gordian_bank_step *step)
{
    struct output *out = out_of(avoid);
    bool resource = step->kind == GORDIAN_LINE_RESOURCE;
    style_name(&avoid->style, out, resource ? COLOR_RESOURCE : COLOR_PROCESS, step->name);
    output_text(out, step->kind == GORDIAN_LINE_EVENT ? " requests"
                     : resource                       ? " is to have"
                                                      : " claims");
    write_wants(avoid, step);
    if (avoid->answer.waits)
        output_text(out, " and waits");
}

/* "  bob might lack gpu=2 disk=1", for the first lacks of the same process; returns their number.
 */
static size_t write_lacks(struct avoid *avoid, const gordian_lack *lacks, size_t count,
                          size_t width)
{
    struct output *out = out_of(avoid);
    size_t i = 0;
    output_text(out, "  ");
    size_t columns = write_process(avoid, lacks[0].process);
    output_format(out, "%*s might lack", columns < width ? (int)(width - columns) : 0, "");
    for (; i < count && lacks[i].process == lacks[0].process; i++)
        write_units(avoid, lacks[i].resource, lacks[i].units, true);
    output_char(out, '\n');
    return i;
}

static void write_stuck(struct avoid *avoid)
{
    const gordian_answer *answer = &avoid->answer;
    size_t count = answer->stuck_count, width = 0, next = 0;
    size_t shown = avoid->cli->verbose || count <= NAMES_MOST ? count : NAMES_MOST;
    for (size_t i = 0; i < shown; i++) {
        uint32_t process = answer->stuck[i];
        char buffer[GORDIAN_NAME_MAX + 1];
        const char *name = gordian_bank_process_name(avoid->bank, process, buffer);
        size_t columns = style_width(&avoid->style, name ? name : "?");
        width = columns > width ? columns : width;
    }
    for (size_t i = 0; i < shown && next < answer->lack_count; i++)
        next += write_lacks(avoid, answer->lacks + next, answer->lack_count - next, width);
    if (shown < count)
        output_format(out_of(avoid), "  and %zu more (--verbose shows all)\n", count - shown);
}

/* ------------------------------------------------------------------ the reporter */

static void write_step(struct avoid *avoid, const gordian_bank_step *step)
{
    if (avoid->all)
        write_line(avoid, step);
    if (avoid->answer.verdict == GORDIAN_VERDICT_UNSAFE) {
        struct output *out = out_of(avoid);
        const gordian_answer *answer = &avoid->answer;
        progress_clear(&avoid->cli->progress);
        output_text(out, avoid->all ? "\n" : "");
        write_place(avoid, step);
        style_text(&avoid->style, out, COLOR_BAD, "unsafe");
        output_text(out, ": ");
        write_action(avoid, step);
        if (answer->stuck_count == 1)
            output_text(out, "; one process could then wait forever\n\n");
        else
            output_format(out, "; %zu processes could then wait for each other forever\n\n",
                          answer->stuck_count);
        write_stuck(avoid);
        output_char(out, '\n');
    }
}

static void write_count(struct avoid *avoid, uint64_t count, const char *one, const char *many,
                        enum color color)
{
    char text[64];
    snprintf(text, sizeof text, "%llu %s", (unsigned long long)count, count == 1 ? one : many);
    style_text(&avoid->style, out_of(avoid), color, text);
}

static void write_waiting(struct avoid *avoid, const uint32_t *order, size_t count)
{
    size_t waiting = 0, shown = 0;
    for (size_t i = 0; i < count; i++)
        waiting += gordian_bank_is_waiting(avoid->bank, order[i]);
    if (!waiting)
        return;
    write_count(avoid, waiting, "process still waits", "processes still wait", COLOR_STRONG);
    size_t most = avoid->cli->verbose || waiting <= NAMES_MOST ? waiting : NAMES_MOST;
    for (size_t i = 0; i < count && shown < most; i++)
        if (gordian_bank_is_waiting(avoid->bank, order[i])) {
            output_text(out_of(avoid), shown++ ? ", " : ": ");
            write_process(avoid, order[i]);
        }
    if (shown < waiting)
        output_format(out_of(avoid), " and %zu more", waiting - shown);
    output_char(out_of(avoid), '\n');
}

static void write_summary(struct avoid *avoid, const uint32_t *order, size_t count)
{
    const struct avoid_tally *tally = &avoid->tally;
    struct output *out = out_of(avoid);
    if (avoid->cli->quiet)
        return;
    progress_clear(&avoid->cli->progress);
    if (tally->unsafe)
        write_count(avoid, tally->unsafe, "denied as unsafe", "denied as unsafe", COLOR_BAD);
    else if (avoid_refused_all(tally))
        style_text(&avoid->style, out, COLOR_BAD, "no requests");
    else
        style_text(&avoid->style, out, COLOR_GOOD, "nothing unsafe");
    output_text(out, " in ");
    write_count(avoid, tally->events, "event", "events", COLOR_PLAIN);
    output_format(out, ": %llu granted", (unsigned long long)tally->granted);
    if (avoid->queue)
        output_format(out, ", %llu later", (unsigned long long)tally->served);
    output_format(out, ", %llu unavailable, %llu released, ",
                  (unsigned long long)tally->unavailable, (unsigned long long)tally->released);
    write_count(avoid, tally->errors, "error", "errors", COLOR_PLAIN);
    output_format(out, " (%s)\n", gordian_bank_engine_name(avoid->bank));
    if (avoid->queue)
        write_waiting(avoid, order, count);
    if (count) {
        output_text(out, "all can finish in this order: ");
        write_processes(avoid, order, count);
        output_char(out, '\n');
    }
}

const struct avoid_reporter avoid_text = {write_step, write_summary};
