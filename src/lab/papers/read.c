/*
 * Parses the papers' texts (data/). The first word of a line names its kind; '|' separates the
 * fields
 * that follow.
 *
 *     paper NAME                  title, by, machines, slip: of the paper
 *     table NUMBER TITLE          begins an item; so does `figure`. A number in brackets is our own
 *                                 name for an item without a number
 *     kind WORD                   kind of the item (papers.h)
 *     unit WORD                   of the numbers; `decimal ,`: the decimal separator
 *     points NAME                 name of the points
 *     series A | B                the columns; each row is a point; or
 *     sizes A | B                 the columns are the points; each row is a series
 *     row LABEL | CELL | CELL     as printed: 0.07/3.14x is a time and a speed-up
 *     printed ratio               meaning of the printed speed-ups: ratio, ratio-less-one
 *     over A | B, to C            the pairs that have speed-ups
 *     draw A | B                  the series that a picture shows
 *     from 3.2 3.3                the tables a figure is computed from
 *     average N                   the last row is the mean of the N before it
 *     measure NAME                what is measured here for the same work (measures.c)
 *     without SIDE | WHY          a side that is not measured
 *     slip [POINT | SERIES |] TEXT
 *     shows, note, differs TEXT
 */
#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"
#include "lab/papers/data.h"
#include "lab/papers/papers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct text_reader {
    struct papers *papers;
    struct reader reader;
    struct papers_paper *paper; /* the current paper and item; NULL: none yet */
    struct papers_item *item;
    gordian_error *error;
};

static gordian_status fail_text_line(const struct text_reader *reader, const char *what)
{
    return fail_at(reader->error, GORDIAN_STATUS_INPUT, reader->reader.line, 1, "%s", what);
}

/* ------------------------------------------------------------------ texts */

/* Returns the text after the first `skip` words of the line, unchanged. */
static const char *rest_of_line(struct text_reader *reader, size_t skip)
{
    const struct reader *line = &reader->reader;
    if (line->word_count <= skip)
        return arena_text(&reader->papers->arena, "", 0);
    const gordian_word *first = &line->words[skip], *last = &line->words[line->word_count - 1];
    return arena_text(&reader->papers->arena, first->text,
                      (size_t)(last->text + last->length - first->text));
}

static gordian_status add_text(struct text_reader *reader, struct papers_texts *texts,
                               const char *text)
{
    if (!text || !memory_grow(&reader->papers->memory, &texts->items, &texts->capacity,
                              texts->count + 1, sizeof *texts->items))
        return fail_memory(reader->error);
    texts->items[texts->count++] = text;
    return GORDIAN_OK;
}

static gordian_status add_rest(struct text_reader *reader, struct papers_texts *texts)
{
    return add_text(reader, texts, rest_of_line(reader, 1));
}

/* Returns the text up to `end` without surrounding blanks. */
static const char *trimmed_text(struct text_reader *reader, const char *start, const char *end)
{
    while (start < end && *start == ' ')
        start++;
    while (end > start && end[-1] == ' ')
        end--;
    return arena_text(&reader->papers->arena, start, (size_t)(end - start));
}

static gordian_status add_fields(struct text_reader *reader, struct papers_texts *fields)
{
    /* Fields of a text, separated by '|'. */
    const char *text = rest_of_line(reader, 1);
    TRY(text ? GORDIAN_OK : fail_memory(reader->error));
    for (bool more = true; more;) {
        const char *bar = strchr(text, '|');
        more = bar != NULL;
        const char *end = more ? bar : text + strlen(text);
        TRY(add_text(reader, fields, trimmed_text(reader, text, end)));
        text = end + 1;
    }
    return GORDIAN_OK;
}

static gordian_status add_words(struct text_reader *reader, struct papers_texts *texts)
{
    for (size_t i = 1; i < reader->reader.word_count; i++) {
        const gordian_word *word = &reader->reader.words[i];
        TRY(add_text(reader, texts, arena_text(&reader->papers->arena, word->text, word->length)));
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ rows */

/* Parses a number in the item's format and returns the rest of the text. NaN: no number. */
static double printed_number(const struct papers_item *item, const char *text, const char **rest)
{
    char plain[64];
    size_t length = strspn(text, item->decimal == ',' ? "0123456789," : "0123456789.");
    *rest = text + length;
    if (length == 0 || length >= sizeof plain)
        return NAN;
    for (size_t i = 0; i < length; i++)
        plain[i] = text[i] == ',' ? '.' : text[i];
    plain[length] = '\0';
    return strtod(plain, NULL);
}

static struct papers_cell cell_of(const struct papers_item *item, const char *text)
{
    struct papers_cell cell = {text, NAN, NAN};
    if (item->kind == PAPERS_KIND_WORDS)
        return cell;
    const char *rest;
    cell.value = printed_number(item, text, &rest);
    rest += strspn(rest, " /");
    cell.speedup = printed_number(item, rest, &rest);
    return cell;
}

static gordian_status fill_item_row(struct text_reader *reader, struct papers_row *row,
                                    const struct papers_texts *fields)
{
    const struct papers_item *item = reader->item;
    if (fields->count != item->columns.count + 1)
        return fail_text_line(reader, "wrong number of cells in a row");
    *row = (struct papers_row){.label = fields->items[0]};
    if (!memory_grow(&reader->papers->memory, &row->cells, &row->capacity, item->columns.count,
                     sizeof *row->cells))
        return fail_memory(reader->error);
    for (row->count = 0; row->count < item->columns.count; row->count++)
        row->cells[row->count] = cell_of(item, fields->items[row->count + 1]);
    return GORDIAN_OK;
}

static gordian_status add_item_row(struct text_reader *reader)
{
    struct papers_item *item = reader->item;
    struct papers_texts fields = {0};
    gordian_status status = add_fields(reader, &fields);
    if (status == GORDIAN_OK &&
        !memory_grow(&reader->papers->memory, &item->rows, &item->row_capacity, item->row_count + 1,
                     sizeof *item->rows))
        status = fail_memory(reader->error);
    THEN(status, fill_item_row(reader, &item->rows[item->row_count], &fields));
    item->row_count += status == GORDIAN_OK;
    memory_free(&reader->papers->memory, fields.items);
    return status;
}

static gordian_status add_slip(struct text_reader *reader)
{
    struct papers_item *item = reader->item;
    struct papers_texts fields = {0};
    gordian_status status = add_fields(reader, &fields);
    if (status == GORDIAN_OK && fields.count != 1 && fields.count != 3)
        status = fail_text_line(reader, "slip: expected TEXT, or POINT | SERIES | TEXT");
    if (status == GORDIAN_OK &&
        !memory_grow(&reader->papers->memory, &item->slips, &item->slip_capacity,
                     item->slip_count + 1, sizeof *item->slips))
        status = fail_memory(reader->error);
    if (status == GORDIAN_OK) {
        struct papers_slip *slip = &item->slips[item->slip_count++];
        *slip = (struct papers_slip){.text = fields.items[fields.count - 1]};
        if (fields.count == 3) {
            slip->point = fields.items[0];
            slip->series = fields.items[1];
        }
    }
    memory_free(&reader->papers->memory, fields.items);
    return status;
}

/* ------------------------------------------------------------------ items */

static gordian_status set_text(struct text_reader *reader, const char **text)
{
    *text = rest_of_line(reader, 1);
    return *text ? GORDIAN_OK : fail_memory(reader->error);
}

static gordian_status set_kind(struct text_reader *reader)
{
    for (size_t i = 0; papers_kind_names[i]; i++)
        if (reader->reader.word_count == 2 &&
            word_is(&reader->reader.words[1], papers_kind_names[i])) {
            reader->item->kind = (enum papers_kind)i;
            return GORDIAN_OK;
        }
    return fail_text_line(reader, "unknown kind");
}

static gordian_status set_printed(struct text_reader *reader)
{
    const gordian_word *word = &reader->reader.words[reader->reader.word_count - 1];
    if (word_is(word, "ratio"))
        reader->item->printed = PAPERS_PRINTED_RATIO;
    else if (word_is(word, "ratio-less-one"))
        reader->item->printed = PAPERS_PRINTED_RATIO_LESS_ONE;
    else
        return fail_text_line(reader, "printed: expected ratio or ratio-less-one");
    return GORDIAN_OK;
}

static gordian_status set_average(struct text_reader *reader)
{
    const gordian_word *word = &reader->reader.words[reader->reader.word_count - 1];
    uint64_t count = 0;
    const char *why;
    if (!parse_u64(word->text, word->length, &count, &why) || count == 0 || count > 1000)
        return fail_text_line(reader, "average: expected a number of rows");
    reader->item->average = (unsigned)count;
    return GORDIAN_OK;
}

static gordian_status set_columns(struct text_reader *reader)
{
    reader->item->across = word_is(&reader->reader.words[0], "sizes");
    return add_fields(reader, &reader->item->columns);
}

/* Parses a line of an item. */
static gordian_status take_item_line(struct text_reader *reader)
{
    struct papers_item *item = reader->item;
    const gordian_word *word = &reader->reader.words[0];
    const struct {
        const char *word;
        gordian_status (*take)(struct text_reader *reader);
    } takers[] = {{"kind", set_kind},      {"series", set_columns},  {"sizes", set_columns},
                  {"row", add_item_row},   {"printed", set_printed}, {"slip", add_slip},
                  {"average", set_average}};
    const struct {
        const char *word;
        struct papers_texts *texts;
        gordian_status (*add)(struct text_reader *reader, struct papers_texts *texts);
    } lists[] = {{"over", &item->over, add_fields},       {"to", &item->to, add_fields},
                 {"draw", &item->draw, add_fields},       {"from", &item->from, add_words},
                 {"measure", &item->measures, add_words}, {"without", &item->without, add_fields},
                 {"shows", &item->shows, add_rest},       {"note", &item->notes, add_rest},
                 {"differs", &item->differs, add_rest}};
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
        if (word_is(word, takers[i].word))
            return takers[i].take(reader);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (word_is(word, lists[i].word))
            return lists[i].add(reader, lists[i].texts);
    if (word_is(word, "unit"))
        return set_text(reader, &item->unit);
    if (word_is(word, "points"))
        return set_text(reader, &item->head);
    if (!word_is(word, "decimal"))
        return fail_text_line(reader, "unknown word");
    item->decimal = ',';
    return GORDIAN_OK;
}

/* "thesis/fig3.10" of 3.10; "array/structure" of (structure). */
static gordian_status name_item(struct text_reader *reader, struct papers_item *item)
{
    const gordian_word *number = &reader->reader.words[1];
    struct arena *arena = &reader->papers->arena;
    const bool own = number->length > 2 && number->text[0] == '(';
    const char *prefix = item->figure && !own ? "fig" : "";
    const size_t skip = own ? 1 : 0, length = number->length - 2 * skip;
    const size_t paper = strlen(item->paper->name), front = strlen(prefix);
    char *key = arena_alloc(arena, paper + 1 + front + length + 1);
    item->number = arena_text(arena, number->text, own ? 0 : length);
    item->title = rest_of_line(reader, 2);
    if (!key || !item->number || !item->title)
        return fail_memory(reader->error);
    memcpy(key, item->paper->name, paper);
    key[paper] = '/';
    memcpy(key + paper + 1, prefix, front);
    memcpy(key + paper + 1 + front, number->text + skip, length);
    item->key = key;
    item->name = key + paper + 1;
    return GORDIAN_OK;
}

static gordian_status begin_paper(struct text_reader *reader)
{
    struct papers *papers = reader->papers;
    if (papers->paper_count == papers->paper_capacity)
        return fail_text_line(reader, "too many papers");
    reader->paper = &papers->papers[papers->paper_count++];
    *reader->paper = (struct papers_paper){.title = "", .by = "", .machines = ""};
    reader->item = NULL;
    return set_text(reader, &reader->paper->name);
}

/* Parses a line of a paper that precedes its first item. */
static gordian_status take_paper_line(struct text_reader *reader)
{
    struct papers_paper *paper = reader->paper;
    const gordian_word *word = &reader->reader.words[0];
    if (!paper)
        return fail_text_line(reader, "line before the first paper");
    if (word_is(word, "title"))
        return set_text(reader, &paper->title);
    if (word_is(word, "by"))
        return set_text(reader, &paper->by);
    if (word_is(word, "machines"))
        return set_text(reader, &paper->machines);
    if (word_is(word, "slip"))
        return add_rest(reader, &paper->slips);
    return fail_text_line(reader, "unknown word of a paper");
}

static gordian_status take_text_line(struct text_reader *reader)
{
    const gordian_word *word = &reader->reader.words[0];
    if (word_is(word, "paper"))
        return begin_paper(reader);
    if (word_is(word, "table") || word_is(word, "figure")) {
        struct papers *papers = reader->papers;
        if (!reader->paper || reader->reader.word_count < 3)
            return fail_text_line(reader, "an item needs a paper, a number and a title");
        if (!memory_grow_zeroed(&papers->memory, &papers->items, &papers->item_capacity,
                                papers->item_count + 1, sizeof *papers->items))
            return fail_memory(reader->error);
        struct papers_item *item = &papers->items[papers->item_count];
        *item =
            (struct papers_item){.paper = reader->paper, .decimal = '.', .unit = "", .head = ""};
        item->figure = word_is(&reader->reader.words[0], "figure");
        reader->item = item;
        papers->item_count++;
        return name_item(reader, item);
    }
    return reader->item ? take_item_line(reader) : take_paper_line(reader);
}

/* ------------------------------------------------------------------ papers */

gordian_status papers_read(struct papers *papers, const char *text, size_t size,
                           gordian_error *error)
{
    struct text_reader reader = {.papers = papers, .error = error};
    gordian_bytes bytes = {text, size};
    gordian_source source = gordian_source_bytes(&bytes);
    gordian_status status = reader_open(&reader.reader, &source, &papers->memory, error);
    TRY(status);
    while (status == GORDIAN_OK) {
        status = reader_next(&reader.reader, error);
        THEN(status, take_text_line(&reader));
    }
    reader_close(&reader.reader);
    return status == GORDIAN_STATUS_END ? GORDIAN_OK : status;
}

#define PAPERS_MOST 8 /* items point to their papers, so papers must not move */

gordian_status papers_open(struct papers *papers, gordian_error *error)
{
    *papers = (struct papers){.memory = memory_allocator(NULL)};
    arena_init(&papers->arena, &papers->memory);
    papers->papers = memory_zeroed(&papers->memory, PAPERS_MOST * sizeof *papers->papers);
    papers->paper_capacity = papers->papers ? PAPERS_MOST : 0;
    gordian_status status = papers->papers ? GORDIAN_OK : fail_memory(error);
    for (size_t i = 0; i < PAPERS_DATA_COUNT && status == GORDIAN_OK; i++)
        status = papers_read(papers, papers_data[i].text, *papers_data[i].size, error);
    if (status != GORDIAN_OK)
        papers_close(papers);
    return status;
}

static void free_item(const gordian_allocator *memory, struct papers_item *item)
{
    for (size_t i = 0; i < item->row_count; i++)
        memory_free(memory, item->rows[i].cells);
    memory_free_all(memory, item->rows, item->slips, item->columns.items, item->over.items,
                    item->to.items, item->draw.items, item->from.items, item->measures.items,
                    item->without.items, item->shows.items, item->notes.items, item->differs.items);
}

void papers_close(struct papers *papers)
{
    for (size_t i = 0; i < papers->item_count; i++)
        free_item(&papers->memory, &papers->items[i]);
    for (size_t i = 0; i < papers->paper_count; i++)
        memory_free(&papers->memory, papers->papers[i].slips.items);
    memory_free_all(&papers->memory, papers->items, papers->papers);
    arena_free(&papers->arena);
    *papers = (struct papers){0};
}
