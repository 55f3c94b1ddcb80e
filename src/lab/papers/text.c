/* Prints items as text. */
#include "lab/papers/print.h"

#include "foundation/base/error.h"

#include <stdio.h>
#include <string.h>

#define TEXT_WIDTH 100

/* Wraps a text. `mark` precedes the first line; the other lines are indented to match. */
static void print_wrapped(struct output *out, const char *mark, const char *text)
{
    const size_t indent = strlen(mark);
    size_t column = indent;
    output_text(out, mark);
    while (*text) {
        size_t length = strcspn(text, " ");
        if (column > indent && column + length + 1 > TEXT_WIDTH) {
            output_format(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            output_char(out, ' ');
            column++;
        }
        output_bytes(out, text, length);
        column += length;
        text += length + strspn(text + length, " ");
    }
    output_char(out, '\n');
}

static void print_line(struct output *out, const char *text)
{
    print_wrapped(out, "  ", text);
}

static void print_text_lines(struct output *out, const char *head, const struct papers_texts *texts)
{
    if (texts->count == 0)
        return;
    output_format(out, "\n%s\n", head);
    for (size_t i = 0; i < texts->count; i++)
        print_line(out, texts->items[i]);
}

void papers_list_text(const struct papers *papers, struct output *out)
{
    for (size_t i = 0; i < papers->item_count; i++) {
        const struct papers_item *item = &papers->items[i];
        if (i == 0 || item->paper != papers->items[i - 1].paper)
            output_format(out, "%s%s: %s\n  %s\n", i ? "\n" : "", item->paper->name,
                          item->paper->title, item->paper->by);
        output_format(out, "  %-20s%-11s%s\n", item->key, papers_kind_names[item->kind],
                      item->title);
    }
}

static void print_slip_lines(struct output *out, const struct papers_item *item)
{
    if (item->slip_count == 0)
        return;
    output_text(out, "\nslips\n");
    for (size_t i = 0; i < item->slip_count; i++) {
        const struct papers_slip *slip = &item->slips[i];
        char mark[128] = "  ";
        if (slip->point && strcmp(slip->point, "*") == 0)
            snprintf(mark, sizeof mark, "  %s: ", slip->series);
        else if (slip->point)
            snprintf(mark, sizeof mark, "  * %s, %s: ", slip->point, slip->series);
        print_wrapped(out, mark, slip->text);
    }
}

gordian_status papers_item_text(const struct papers *papers, const struct papers_item *item,
                                const struct results *results, const struct papers_run *run,
                                struct output *out, gordian_error *error)
{
    char title[64], text[512];
    const char *unit = papers_unit_name(item);
    papers_item_title(title, sizeof title, item);
    output_format(out, "%s: %s\n", item->key, item->title);
    snprintf(text, sizeof text, "%s of \"%s\", %s%s%s", title, item->paper->title, item->paper->by,
             unit[0] ? "; in " : "", unit);
    print_wrapped(out, "", text);
    if (item->measures.count)
        print_wrapped(out, "its machines: ", item->paper->machines);
    gordian_status status = papers_print_grids(papers, item, results, false, out, error);
    TRY(status);
    if (item->measures.count || item->from.count) {
        output_text(out, "\nmeasured here\n");
        status = papers_print_sources(papers, item, results, run, out, print_line, error);
    }
    if (run)
        papers_print_unmeasured(papers, item, run, "\nnot measured in this run\n", out, print_line);
    print_slip_lines(out, item);
    print_text_lines(out, "what differs", &item->differs);
    print_text_lines(out, "notes", &item->notes);
    print_text_lines(out, "what shows the same here", &item->shows);
    return status;
}
