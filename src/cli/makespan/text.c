/* gordian makespan, text reports: the interval, the table of warps and cycles, the assumptions. */
#include "cli/makespan/makespan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NAME_WIDTH 9u /* "warp 256 " */

static enum color color_of(char letter)
{
    switch (letter) {
    case 'L':
        return COLOR_PROCESS;
    case 'C':
        return COLOR_GOOD;
    case 'S':
        return COLOR_RESOURCE;
    default:
        return COLOR_BAD;
    }
}

static size_t print_columns(const struct makespan *makespan)
{
    struct winsize size;
    if (makespan->cli->out_is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
        size.ws_col > 30)
        return size.ws_col;
    return 100;
}

/* ------------------------------------------------------------------ the table */

struct table {
    struct makespan *makespan;
    const struct makespan_report *report;
    const char *kernel; /* normalised */
    uint32_t cell;      /* columns of a cycle */
    uint32_t from, end; /* cycles in this part of the table, from 1; end is exclusive */
    char *grid; /* letters by warp and cycle, `issue` of them each; blanks where nothing runs */
};

/* Returns the letters of all cells; NULL: out of memory. */
static char *fill_grid(const struct makespan *makespan, const struct makespan_report *report,
                       const char *kernel)
{
    const gordian_makespan_answer *answer = report->answer;
    size_t size = (size_t)makespan->warps * report->length * makespan->issue;
    char *grid = malloc(size + 1);
    if (!grid)
        return NULL;
    memset(grid, ' ', size);
    for (size_t i = 0; i < answer->witness_count; i++) {
        size_t warp = answer->witness[i] - 1;
        char *cell = grid + (warp * report->length + answer->cycles[i] - 1) * makespan->issue;
        while (*cell != ' ')
            cell++;
        *cell = kernel[answer->pieces[i] - 1];
    }
    return grid;
}

static void warp_line(const struct table *table, uint32_t warp)
{
    struct output *out = &table->makespan->cli->out;
    uint32_t issue = table->makespan->issue, end = table->end;
    const char *row = table->grid + (size_t)warp * table->report->length * issue;
    while (end > table->from && row[(size_t)(end - 2) * issue] == ' ') /* no trailing blanks */
        end--;
    char name[20];
    snprintf(name, sizeof name, "warp %u", warp + 1);
    output_format(out, end > table->from ? "%-*s" : "%.*s", (int)NAME_WIDTH, name);
    for (uint32_t cycle = table->from; cycle < end; cycle++) {
        output_format(out, "%*s", (int)(table->cell - issue), "");
        for (uint32_t n = 0; n < issue; n++) {
            char letter = row[(size_t)(cycle - 1) * issue + n];
            if (letter != ' ')
                style_text(&table->makespan->style, out, color_of(letter), (char[2]){letter});
            else if (cycle + 1 < end)
                output_char(out, ' ');
        }
    }
    output_char(out, '\n');
}

static uint32_t cell_width(const struct makespan *makespan, uint32_t length)
{
    uint32_t digits = length < 10 ? 1 : length < 100 ? 2 : length < 1000 ? 3 : 5;
    return 1 + (digits > makespan->issue ? digits : makespan->issue);
}

static uint32_t cycles_that_fit(const struct makespan *makespan, uint32_t length)
{
    return (uint32_t)(print_columns(makespan) - NAME_WIDTH) / cell_width(makespan, length);
}

/* Prints the table of warps and cycles. */
static void makespan_table(struct makespan *makespan, const struct makespan_report *report)
{
    struct table table = {.makespan = makespan,
                          .report = report,
                          .kernel = gordian_makespan_kernel(report->problem),
                          .cell = cell_width(makespan, report->length)};
    uint32_t fit = cycles_that_fit(makespan, report->length);
    table.grid = fill_grid(makespan, report, table.kernel);
    if (!table.grid) {
        cli_say(makespan->cli, "out of memory: the schedule is not shown");
        return;
    }
    for (table.from = 1; table.from <= report->length; table.from = table.end) {
        table.end = table.from + fit <= report->length ? table.from + fit : report->length + 1;
        output_char(&makespan->cli->out, '\n');
        struct output *out = &table.makespan->cli->out;
        style_color(&table.makespan->style, out, COLOR_FAINT);
        output_format(out, "%-*s", (int)NAME_WIDTH, "cycle");
        for (uint32_t cycle = table.from; cycle < table.end; cycle++)
            output_format(out, "%*u", (int)table.cell, cycle);
        style_color(&table.makespan->style, out, COLOR_PLAIN);
        output_char(out, '\n');
        for (uint32_t warp = 0; warp < makespan->warps; warp++)
            warp_line(&table, warp);
    }
    free(table.grid);
}

/* ------------------------------------------------------------------ results */

static void say_cycles(struct makespan *makespan, uint64_t cycles)
{
    struct output *out = &makespan->cli->out;
    output_format(out, "%llu cycle%s", (unsigned long long)cycles, cycles == 1 ? "" : "s");
    if (makespan->mhz > 0)
        output_format(out, " (%.3f us at %g MHz)", (double)cycles / makespan->mhz, makespan->mhz);
}

static void machine_line(struct makespan *makespan)
{
    struct output *out = &makespan->cli->out;
    bool first = true;
    if (makespan->block_warps) {
        output_format(&makespan->cli->out,
                      "%u block%s of %u warp%s on %u multiprocessor%s: %u on the fullest\n",
                      makespan->blocks, makespan->blocks == 1 ? "" : "s", makespan->block_warps,
                      makespan->block_warps == 1 ? "" : "s", makespan->multiprocessors,
                      makespan->multiprocessors == 1 ? "" : "s", makespan->fullest);
    }
    output_format(out, "%u warp%s, ", makespan->warps, makespan->warps == 1 ? "" : "s");
    for (size_t i = 0; i < makespan->unit_count; i++) {
        uint64_t repeats;
        char letter = makespan->unit_list[i].letter;
        uint32_t units = makespan_units_of(makespan, letter, &repeats);
        if (makespan->kernel ? !strchr(makespan->kernel, letter)
                             : !makespan->ptx.most[letter - 'A'])
            continue;
        output_format(out, "%s%c %u a cycle", first ? "" : ", ", letter, units);
        /* The duration of an instruction of this unit, if it is not one cycle. */
        gordian_unit shortest = makespan->unit_list[i];
        uint64_t least;
        shortest.latency_most = 0;
        gordian_unit_starts(&shortest, makespan->warp_size, &least);
        if (least < repeats)
            output_format(&makespan->cli->out, " for %llu to %llu cycles",
                          (unsigned long long)least, (unsigned long long)repeats);
        else if (repeats > 1)
            output_format(&makespan->cli->out, " for %llu cycles", (unsigned long long)repeats);
        first = false;
    }
    if (makespan->issue > 1)
        output_format(out, ", up to %u of a warp", makespan->issue);
    if (makespan->scheduler_count)
        output_format(out, ", %u%s in all", makespan->scheduler_count,
                      makespan->issue > 1 ? " warps" : "");
    else
        output_text(out, ", no bound on all");
    output_char(out, '\n');
}

static void interval_line(struct makespan *makespan, const struct makespan_report *report)
{
    const gordian_makespan_answer *answer = report->answer;
    struct output *out = &makespan->cli->out;
    style_text(&makespan->style, out, COLOR_STRONG,
               makespan->best ? "best case: " : "worst case: ");
    if (answer->exact) {
        say_cycles(makespan, answer->lower);
        output_text(out, ", exact");
    } else {
        output_text(out, "at least ");
        say_cycles(makespan, answer->lower);
        output_text(out, ", at most ");
        say_cycles(makespan, answer->upper);
    }
    output_format(out, " (engine %s", answer->engine);
    if (makespan->cli->verbose)
        output_format(out, ", %llu schedules, %llu states, %.2f s",
                      (unsigned long long)answer->evaluations, (unsigned long long)answer->states,
                      answer->seconds);
    output_text(out, ")\n");
    if (makespan->best)
        return;
    output_text(out, "best case: ");
    if (report->shortest_lower < report->shortest)
        output_format(out, "%u to ", report->shortest_lower);
    say_cycles(makespan, report->shortest);
    output_char(out, '\n');
}

/* Prints the result of the solver. */
static void solver_line(struct makespan *makespan, const struct lp_solver_answer *lp)
{
    struct output *out = &makespan->cli->out;
    output_format(out, "integer program, %s: ", lp->solver);
    if (lp->found) {
        say_cycles(makespan, lp->found);
        output_text(out, lp->optimal ? ", optimal" : " found");
    }
    if (!lp->optimal && lp->bound) {
        output_format(out, "%s%s ", lp->found ? ", " : "", makespan->best ? "at least" : "at most");
        say_cycles(makespan, lp->bound);
    }
    if (!lp->found && !lp->bound)
        output_text(out, "nothing");
    output_format(out, " (%.2f s)\n", lp->seconds);
}

/* Prints the letters, abbreviated in the middle. */
static void string_line(struct makespan *makespan)
{
    struct output *out = &makespan->cli->out;
    size_t length = makespan->kernel ? strlen(makespan->kernel) : 0;
    if (length <= 70)
        output_format(out, "%s\n", makespan->kernel ? makespan->kernel : "");
    else
        output_format(out, "%.40s...%s (%zu letters; --string shows them)\n", makespan->kernel,
                      makespan->kernel + length - 10, length);
}

/* ------------------------------------------------------------------ code */

size_t makespan_assumed(const struct makespan *makespan, const char *lines[MAKESPAN_ASSUMED])
{
    size_t count = 0;
    lines[count++] = "all warps take this path, and the threads of a warp stay together";
    lines[count++] = "memory answers at once: a load or store only costs its unit";
    if (!makespan->path || strcmp(makespan->path, "longest") == 0)
        lines[count++] = "each branch takes the path with the most cycles";
    if (makespan->own)
        lines[count++] = "the kernel never waits for commands or other blocks";
    if (makespan->ptx.barriers)
        lines[count++] = "barriers take no time; the bound for any path includes them";
    return count;
}

static void print_assumptions(struct makespan *makespan)
{
    struct output *out = &makespan->cli->out;
    const gordian_ptx_answer *ptx = &makespan->ptx;
    const char *lines[MAKESPAN_ASSUMED];
    size_t count = makespan_assumed(makespan, lines);
    output_text(out, "\nassumed:\n");
    for (size_t i = 0; i < count; i++)
        output_format(out, "  %s\n", lines[i]);
    for (size_t i = 0; i < ptx->note_count; i++) {
        output_text(out, "  ");
        if (ptx->notes[i].line && !makespan->own)
            output_format(out, "line %u: ", ptx->notes[i].line);
        style_name(&makespan->style, out, COLOR_PLAIN, ptx->notes[i].text);
        output_char(out, '\n');
    }
}

static void code_lines(struct makespan *makespan)
{
    struct output *out = &makespan->cli->out;
    uint64_t any = makespan_any_path(makespan);
    if (any != UINT64_MAX) {
        style_text(&makespan->style, out, COLOR_STRONG, "any path: ");
        output_text(out, "at most ");
        say_cycles(makespan, any);
        output_char(out, '\n');
    }
    if (!makespan->cli->quiet)
        print_assumptions(makespan);
}

void makespan_text(struct makespan *makespan, const struct makespan_report *report)
{
    struct output *out = &makespan->cli->out;
    if (makespan->own) {
        output_format(&makespan->cli->out,
                      "one detection event '%s' with %u resources and processes on a GPU\n",
                      makespan->events[makespan->event], makespan->size);
    }
    if (makespan->code && makespan->kernel)
        string_line(makespan);
    if (makespan->chip_title)
        output_format(out, "%s\n", makespan->chip_title);
    machine_line(makespan);
    if (!report->problem)
        output_format(out, "the path is too long for a schedule (more than %d cycles)\n",
                      GORDIAN_MAKESPAN_MAX_LENGTH);
    else if (makespan->witness)
        output_format(out, "the schedule of this string takes %u cycles\n", report->length);
    else
        interval_line(makespan, report);
    if (report->lp.solver)
        solver_line(makespan, &report->lp);
    if (makespan->code)
        code_lines(makespan);
    if (!report->problem)
        return;
    bool wanted = makespan->schedule || makespan->interrupted;
    if (wanted || report->length <= cycles_that_fit(makespan, report->length))
        makespan_table(makespan, report);
    else if (!makespan->cli->quiet && !makespan->svg && !makespan->csv)
        output_text(out, "\n--schedule shows such a schedule; --svg draws it\n");
}
