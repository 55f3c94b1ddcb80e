/* Writes all items as one Markdown document. */
#include "lab/papers/print.h"

#include "foundation/base/error.h"

#include <string.h>

static void print_paragraph(struct output *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("*<_|", *text))
            output_char(out, '\\');
        output_char(out, *text);
    }
    output_char(out, '\n');
}

static void print_bullet(struct output *out, const char *text)
{
    output_text(out, "- ");
    print_paragraph(out, text);
}

static void print_text_bullets(struct output *out, const char *head,
                               const struct papers_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        output_format(out, "- %s: ", head);
        print_paragraph(out, texts->items[i]);
    }
}

static gordian_status print_item(const struct papers *papers, const struct papers_item *item,
                                 const struct results *results, const char *folder,
                                 struct output *out, gordian_error *error)
{
    char title[64], picture[80];
    const char *unit = papers_unit_name(item);
    papers_item_title(title, sizeof title, item);
    output_format(out, "### %s\n\n`gordian papers %s`: ", item->title, item->key);
    output_format(out, "%s%s%s.\n\n", title, unit[0] ? ", in " : "", unit);
    gordian_status status = papers_print_grids(papers, item, results, true, out, error);
    TRY(status);
    if (papers_can_draw(item))
        output_format(out, "![%s](%s/%s)\n\n", item->key, folder,
                      papers_picture_name(picture, sizeof picture, item));
    if (papers_can_draw(item))
        status = papers_print_sources(papers, item, results, NULL, out, print_bullet, error);
    for (size_t i = 0; i < item->slip_count; i++) {
        const struct papers_slip *slip = &item->slips[i];
        output_text(out, "- error in the paper");
        if (slip->point && strcmp(slip->point, "*") == 0)
            output_format(out, ", %s", slip->series);
        else if (slip->point)
            output_format(out, ", %s, %s (\\*)", slip->point, slip->series);
        output_text(out, ": ");
        print_paragraph(out, slip->text);
    }
    print_text_bullets(out, "difference", &item->differs);
    print_text_bullets(out, "note", &item->notes);
    print_text_bullets(out, "in Gordian", &item->shows);
    output_char(out, '\n');
    return status;
}

/* Drawings form one list, each with the Gordian command that shows the same information. */
static gordian_status print_paper_items(const struct papers *papers,
                                        const struct papers_paper *paper,
                                        const struct results *results, const char *folder,
                                        struct output *out, gordian_error *error)
{
    for (size_t i = 0; i < papers->item_count; i++)
        if (papers->items[i].paper == paper && papers->items[i].kind != PAPERS_KIND_DRAWING)
            TRY(print_item(papers, &papers->items[i], results, folder, out, error));
    output_format(out, "### Drawings of the %s\n\n| item | title | in Gordian |\n|---|---|---|\n",
                  paper->name);
    for (size_t i = 0; i < papers->item_count; i++) {
        const struct papers_item *item = &papers->items[i];
        if (item->paper != paper || item->kind != PAPERS_KIND_DRAWING)
            continue;
        output_format(out, "| %s | %s | ", item->key, item->title);
        for (size_t k = 0; k < item->shows.count; k++)
            output_format(out, "%s%s", k ? "; " : "", item->shows.items[k]);
        for (size_t k = 0; k < item->notes.count; k++)
            output_format(out, ". %s", item->notes.items[k]);
        for (size_t k = 0; k < item->slip_count; k++)
            output_format(out, ". Error in the paper: %s", item->slips[k].text);
        output_text(out, " |\n");
    }
    output_char(out, '\n');
    return GORDIAN_OK;
}

gordian_status papers_markdown(const struct papers *papers, const struct results *results,
                               const char *folder, struct output *out, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    output_text(
        out,
        "# The five papers, table by table\n\n"
        "This document is the output of `gordian papers --markdown`. It combines the numbers of\n"
        "the papers (`src/lab/papers/data/`) with recorded results\n"
        "(`docs/lab/papers/results.json`). It has every table and figure of the papers. Numbers "
        "of\n"
        "the papers are as printed, with a \\* if a number cannot be right. Next to them are our\n"
        "measurements of the same work: the published method on a CPU and on a GPU, our engine on\n"
        "a GPU and on a CPU. All speed-ups are old time / new time, for times from one machine.\n\n"
        "`gordian papers --run --results FILE` repeats the measurements.\n"
        "`gordian papers --merge THEIRS --results FILE` adds the results of another machine.\n\n");
    for (size_t i = 0; i < papers->paper_count && status == GORDIAN_OK; i++) {
        const struct papers_paper *paper = &papers->papers[i];
        output_format(out, "## %s: %s\n\n%s. Machines of the paper: %s.\n\n", paper->name,
                      paper->title, paper->by, paper->machines);
        print_text_bullets(out, "error in the paper", &paper->slips);
        if (paper->slips.count)
            output_char(out, '\n');
        status = print_paper_items(papers, &papers->papers[i], results, folder, out, error);
    }
    return status;
}
