/* Items for people and programs. */
#ifndef GORDIAN_LAB_PAPERS_PRINT_H
#define GORDIAN_LAB_PAPERS_PRINT_H

#include "lab/papers/grid.h"

/* Every paper, and a line an item (text.c). */
void papers_list_text(const struct papers *papers, struct output *out);
/* An item: its numbers, ours, speed-ups, slips, what differs, and where ours were measured. `run`,
 * if not NULL: what could not be measured in it, and why. */
gordian_status papers_item_text(const struct papers *papers, const struct papers_item *item,
                                const struct results *results, const struct papers_run *run,
                                struct output *out, gordian_error *error);

/* The same as a line of JSON (json.c). */
void papers_list_json(const struct papers *papers, struct output *out);
gordian_status papers_item_json(const struct papers *papers, const struct papers_item *item,
                                const struct results *results, const struct papers_run *run,
                                struct output *out, gordian_error *error);

/* All of them as a document, docs/lab/papers.md (markdown.c); pictures are in `folder` beside it.
 */
gordian_status papers_markdown(const struct papers *papers, const struct results *results,
                               const char *folder, struct output *out, gordian_error *error);

/* Has it numbers to draw? */
bool papers_can_draw(const struct papers_item *item);
/* A picture of its numbers, and of its speed-ups below (picture.c). */
gordian_status papers_draw(const struct papers *papers, const struct papers_item *item,
                           const struct results *results, const char *path, gordian_error *error);
/* Of all that have some, into a folder, each named by papers_picture_name. */
gordian_status papers_draw_all(const struct papers *papers, const struct results *results,
                               const char *folder, gordian_error *error);
const char *papers_picture_name(char *text, size_t size, const struct papers_item *item);

/* What a person must know about an item's own side, a line each: where it was measured, what was
 * not. Calls `line` with each; shared by text and Markdown (tell.c). */
typedef void papers_line(struct output *out, const char *text);
gordian_status papers_tell_sources(const struct papers *papers, const struct papers_item *item,
                                   const struct results *results, const struct papers_run *run,
                                   struct output *out, papers_line *line, gordian_error *error);
/* What this run did not measure of an item, a line each; `heading` comes before the first. */
void papers_tell_unmeasured(const struct papers *papers, const struct papers_item *item,
                            const struct papers_run *run, const char *heading, struct output *out,
                            papers_line *line);
/* Its numbers and its speed-ups, as Markdown or as text. */
gordian_status papers_tell_grids(const struct papers *papers, const struct papers_item *item,
                                 const struct results *results, bool markdown, struct output *out,
                                 gordian_error *error);
/* "table 3.3", "figure 8", "figure without a number" */
const char *papers_item_title(char *text, size_t size, const struct papers_item *item);
/* "seconds": what the printed numbers are. */
const char *papers_unit_name(const struct papers_item *item);

#endif
