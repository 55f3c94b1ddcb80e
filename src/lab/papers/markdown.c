/* All items as one document. */
#include "lab/papers/print.h"

#include "foundation/base/error.h"

#include <stdio.h>
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

static void print_slip_bullets(struct output *out, const struct papers_item *item)
{
    for (size_t i = 0; i < item->slip_count; i++) {
        const struct papers_slip *slip = &item->slips[i];
        output_text(out, "- slip");
        if (slip->point && strcmp(slip->point, "*") == 0)
            output_format(out, " in %s", slip->series);
        else if (slip->point)
            output_format(out, " in %s, %s (\\*)", slip->point, slip->series);
        output_text(out, ": ");
        print_paragraph(out, slip->text);
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
    gordian_status status = papers_tell_grids(papers, item, results, true, out, error);
    TRY(status);
    if (papers_can_draw(item))
        output_format(out, "![%s](%s/%s)\n\n", item->key, folder,
                      papers_picture_name(picture, sizeof picture, item));
    if (papers_can_draw(item))
        status = papers_tell_sources(papers, item, results, NULL, out, print_bullet, error);
    print_slip_bullets(out, item);
    print_text_bullets(out, "differs", &item->differs);
    print_text_bullets(out, "note", &item->notes);
    print_text_bullets(out, "here", &item->shows);
    output_char(out, '\n');
    return status;
}

static void print_paper(struct output *out, const struct papers_paper *paper)
{
    output_format(out, "## %s: %s\n\n%s. Its machines: %s.\n\n", paper->name, paper->title,
                  paper->by, paper->machines);
    print_text_bullets(out, "slip", &paper->slips);
    if (paper->slips.count)
        output_char(out, '\n');
}

/* Drawings are a list: there is nothing to show of them but what shows the same. */
static gordian_status print_paper_items(const struct papers *papers,
                                        const struct papers_paper *paper,
                                        const struct results *results, const char *folder,
                                        struct output *out, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    for (size_t i = 0; i < papers->item_count && status == GORDIAN_OK; i++)
        if (papers->items[i].paper == paper && papers->items[i].kind != PAPERS_KIND_DRAWING)
            status = print_item(papers, &papers->items[i], results, folder, out, error);
    TRY(status);
    output_format(out,
                  "### Drawings of the %s\n\n| | | what shows the same here |\n|---|---|---|\n",
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
            output_format(out, ". Slip: %s", item->slips[k].text);
        output_text(out, " |\n");
    }
    output_char(out, '\n');
    return status;
}

gordian_status papers_markdown(const struct papers *papers, const struct results *results,
                               const char *folder, struct output *out, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    output_text(
        out,
        "# The five papers, table by table\n\n"
        "`gordian papers --markdown` prints this from the papers' numbers (`src/lab/papers/data/`) "
        "and "
        "the\nrecorded results (`docs/lab/papers/results.json`). Every table and figure is here. "
        "What "
        "a "
        "paper prints\nstands as it is printed, with a \\* where a number cannot be right; what "
        "was "
        "measured here stands beside\nit, for the same work: the published method on a CPU and on "
        "a "
        "GPU, our engine on a GPU and on a CPU.\nAll speed-ups are old time / new time, of times "
        "from "
        "one machine.\n\n"
        "Measured again by `gordian papers --run --results FILE`; results of another machine are "
        "added by\n`gordian papers --merge THEIRS --results FILE`.\n\n");
    for (size_t i = 0; i < papers->paper_count && status == GORDIAN_OK; i++) {
        print_paper(out, &papers->papers[i]);
        status = print_paper_items(papers, &papers->papers[i], results, folder, out, error);
    }
    return status;
}
