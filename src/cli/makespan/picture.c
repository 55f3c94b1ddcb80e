/* Schedules as pictures (SVG) and tables (CSV). */
#include "cli/makespan/makespan.h"

#include "foundation/base/error.h"

#include <stdlib.h>
#include <string.h>

#define CELL       14u /* of a warp and a cycle */
#define LEFT       70u
#define TOP        40u
#define MOST_WIDTH 16000u /* longer schedules get narrower cells */

static const char *color_of(char letter)
{
    switch (letter) {
    case 'L':
        return "#0072b2";
    case 'C':
        return "#009e73";
    case 'S':
        return "#e69f00";
    case 'D':
        return "#cc79a7";
    case 'T':
        return "#d55e00";
    default:
        return "#999999";
    }
}

/* ------------------------------------------------------------------ SVG */

struct picture {
    struct output *out;
    const struct makespan *makespan;
    const struct makespan_report *report;
    const char *kernel;
    double cell; /* width of a cycle */
};

/* Position of a piece of a warp. */
struct place {
    uint32_t cycle; /* from 1; 0: omitted */
    uint32_t slot;  /* pieces of the warp before it in the same cycle */
};

/* Draws the pieces of one warp. Consecutive pieces of the same unit are one box. */
static void draw_warp(const struct picture *picture, const struct place *places, uint32_t warp)
{
    size_t length = gordian_makespan_length(picture->report->problem);
    unsigned height = (CELL - 2) / picture->makespan->issue;
    for (size_t i = 0, end; i < length; i = end) {
        end = i + 1;
        if (places[i].cycle == 0)
            continue;
        while (end < length && picture->makespan->issue == 1 &&
               places[end].cycle == places[end - 1].cycle + 1 &&
               picture->kernel[end] == picture->kernel[end - 1])
            end++;
        output_format(picture->out,
                      "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"%s\">"
                      "<title>warp %u: %c, cycle %u to %u</title></rect>\n",
                      LEFT + (places[i].cycle - 1) * picture->cell,
                      TOP + warp * CELL + 1 + places[i].slot * height,
                      (double)(end - i) * picture->cell, height, color_of(picture->kernel[i]),
                      warp + 1, picture->kernel[i], places[i].cycle, places[end - 1].cycle);
    }
}

/* Returns the positions by warp and piece; NULL: out of memory. */
static struct place *sort_places(const struct picture *picture)
{
    const gordian_makespan_answer *answer = picture->report->answer;
    size_t length = gordian_makespan_length(picture->report->problem);
    struct place *places = calloc(picture->makespan->warps * length, sizeof *places);
    struct place *last = calloc(picture->makespan->warps, sizeof *last); /* of each warp */
    for (size_t i = 0; places && last && i < answer->witness_count; i++) {
        size_t warp = answer->witness[i] - 1;
        uint32_t cycle = answer->cycles[i];
        last[warp].slot = last[warp].cycle == cycle ? last[warp].slot + 1 : 0;
        last[warp].cycle = cycle;
        places[warp * length + answer->pieces[i] - 1] = last[warp];
    }
    if (!last) {
        free(places);
        places = NULL;
    }
    free(last);
    return places;
}

/* Context of the file writers. */
struct written {
    const struct makespan *makespan;
    const struct makespan_report *report;
};

static gordian_status draw_picture(void *context, struct output *out, gordian_error *error)
{
    const struct makespan *makespan = ((struct written *)context)->makespan;
    const struct makespan_report *report = ((struct written *)context)->report;
    struct picture picture = {.out = out,
                              .makespan = makespan,
                              .report = report,
                              .kernel = gordian_makespan_kernel(report->problem),
                              .cell = CELL};
    struct place *places = sort_places(&picture);
    if (!places)
        return fail_memory(error);
    if ((double)report->length * CELL > MOST_WIDTH)
        picture.cell = (double)MOST_WIDTH / report->length;
    double width = report->length * picture.cell;
    unsigned bottom = TOP + makespan->warps * CELL;
    output_format(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%u\" "
                  "font-family=\"sans-serif\" font-size=\"11\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
                  "<text x=\"%u\" y=\"24\" font-size=\"14\">%u warps, %u cycles</text>\n",
                  LEFT + width + 30, bottom + 60, LEFT, makespan->warps, report->length);
    uint32_t length = picture.report->length, step = 1;
    while (step * picture.cell < 40)
        step *= step % 3 == 2 ? 5 : 2; /* 1 2 10 20 100 ... */
    for (uint32_t cycle = 0; cycle <= length; cycle += step)
        output_format(picture.out,
                      "<path d=\"M%.2f %uV%u\" stroke=\"#ddd\"/>"
                      "<text x=\"%.2f\" y=\"%u\" text-anchor=\"middle\">%u</text>\n",
                      LEFT + cycle * picture.cell, TOP, bottom, LEFT + cycle * picture.cell,
                      bottom + 16, cycle);
    output_format(picture.out, "<path d=\"M%u %uH%.2f\" stroke=\"#000\"/>\n", LEFT, bottom,
                  LEFT + width);
    for (uint32_t warp = 0; warp < makespan->warps; warp++) {
        output_format(out, "<text x=\"%u\" y=\"%u\" text-anchor=\"end\">warp %u</text>\n", LEFT - 6,
                      TOP + warp * CELL + 11, warp + 1);
        draw_warp(&picture, places + (size_t)warp * gordian_makespan_length(report->problem), warp);
    }
    unsigned y = bottom + 32;
    unsigned x = LEFT;
    for (int i = 0; i < (int)LETTERS; i++) {
        char letter = (char)('A' + i);
        if (!strchr(picture.kernel, letter))
            continue;
        output_format(picture.out,
                      "<rect x=\"%u\" y=\"%u\" width=\"12\" height=\"12\" fill=\"%s\"/>"
                      "<text x=\"%u\" y=\"%u\">%c</text>\n",
                      x, y, color_of(letter), x + 16, y + 11, letter);
        x += 40;
    }
    output_text(out, "</svg>\n");
    free(places);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ CSV */

static gordian_status write_table(void *context, struct output *out, gordian_error *error)
{
    const struct makespan_report *report = ((struct written *)context)->report;
    const gordian_makespan_answer *answer = report->answer;
    const char *kernel = gordian_makespan_kernel(report->problem);
    (void)error;
    output_text(out, "cycle,warp,instruction,unit\n");
    for (size_t i = 0; i < answer->witness_count; i++)
        output_format(out, "%u,%u,%u,%c\n", answer->cycles[i], answer->witness[i],
                      answer->pieces[i], kernel[answer->pieces[i] - 1]);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ files */

static int write_file(struct makespan *makespan, const char *path,
                      const struct makespan_report *report, cli_writer *write)
{
    gordian_error error = {0};
    struct written written = {makespan, report};
    gordian_status status = cli_write_file(path, write, &written, &error);
    return status == GORDIAN_OK ? EXIT_NOTHING : cli_fail(makespan->cli, NULL, &error);
}

int makespan_pictures(struct makespan *makespan, const struct makespan_report *report)
{
    int code = EXIT_NOTHING;
    if (report->problem && makespan->svg)
        code = write_file(makespan, makespan->svg, report, draw_picture);
    if (code == EXIT_NOTHING && report->problem && makespan->csv)
        code = write_file(makespan, makespan->csv, report, write_table);
    return code;
}
