/* Output of items as text, JSON, Markdown and pictures. */
#pragma once

#include "lab/papers/grid.h"

/* Lists every paper, with a line per item (text.c). */
void papers_list_text(const struct papers *papers, struct output *out);
/* Prints an item: the paper's numbers, ours, speed-ups, slips, differences, and where ours were
 * measured. `run`, if not NULL: also what could not be measured in it, and why. */
gordian_status papers_item_text(const struct papers *papers, const struct papers_item *item,
                                const struct results *results, const struct papers_run *run,
                                struct output *out, gordian_error *error);

/* Lists the same as a line of JSON (json.c). */
void papers_list_json(const struct papers *papers, struct output *out);
gordian_status papers_item_json(const struct papers *papers, const struct papers_item *item,
                                const struct results *results, const struct papers_run *run,
                                struct output *out, gordian_error *error);

/* Writes all items as one document, docs/lab/papers.md (markdown.c). `folder`, next to it, has the
 * pictures. */
gordian_status papers_markdown(const struct papers *papers, const struct results *results,
                               const char *folder, struct output *out, gordian_error *error);

/* Does it have numbers to draw? */
bool papers_can_draw(const struct papers_item *item);
/* A picture of its numbers, and of its speed-ups below (picture.c). */
gordian_status papers_draw(const struct papers *papers, const struct papers_item *item,
                           const struct results *results, const char *path, gordian_error *error);
/* Draws all items that have numbers into a folder; papers_picture_name names each file. */
gordian_status papers_draw_all(const struct papers *papers, const struct results *results,
                               const char *folder, gordian_error *error);
const char *papers_picture_name(char *text, size_t size, const struct papers_item *item);

/* Prints notes on our measurements of an item, one per line: where it was measured, and what was
 * not measured. Calls `line` for each line. Text and Markdown share this function (notes.c). */
typedef void papers_line(struct output *out, const char *text);
gordian_status papers_print_sources(const struct papers *papers, const struct papers_item *item,
                                    const struct results *results, const struct papers_run *run,
                                    struct output *out, papers_line *line, gordian_error *error);
/* Prints the parts of an item that this run did not measure, one per line; `heading` comes before
 * the first.
 */
void papers_print_unmeasured(const struct papers *papers, const struct papers_item *item,
                             const struct papers_run *run, const char *heading, struct output *out,
                             papers_line *line);
/* Prints its numbers and speed-ups, as Markdown or as text. */
gordian_status papers_print_grids(const struct papers *papers, const struct papers_item *item,
                                  const struct results *results, bool markdown, struct output *out,
                                  gordian_error *error);
/* "table 3.3", "figure 8", "figure without a number" */
const char *papers_item_title(char *text, size_t size, const struct papers_item *item);
/* "seconds": unit of the printed numbers. */
const char *papers_unit_name(const struct papers_item *item);
