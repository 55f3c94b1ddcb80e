/* Parses suppressions and matches them with reports. */
#include "output/report/suppress.h"

#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

#define PATTERNS_MOST 16

/* ------------------------------------------------------------------ reading */

static bool kinds_of(const gordian_word *word, unsigned *kinds)
{
    unsigned potential = 1u << INCIDENT_POTENTIAL, stall = 1u << INCIDENT_STALL;
    if (word_is(word, "potential"))
        *kinds = potential;
    else if (word_is(word, "stall"))
        *kinds = stall;
    else if (word_is(word, "any"))
        *kinds = potential | stall;
    else if (word_is(word, "deadlock"))
        *kinds = 1u << INCIDENT_DEADLOCK | 1u << INCIDENT_OWNER_GONE;
    else
        return false;
    return true;
}

static gordian_status take_line(struct suppressions *suppressions, const struct reader *reader,
                                gordian_error *error)
{
    const gordian_word *words = reader->words;
    struct suppression line = {.line = (unsigned)reader->line, .count = reader->word_count - 1};
    if (!kinds_of(&words[0], &line.kinds))
        return fail_at(error, GORDIAN_STATUS_INPUT, reader->line, words[0].column,
                       "'%.*s' is not one of potential, deadlock, stall, any",
                       (int)(words[0].length < 40 ? words[0].length : 40), words[0].text);
    if (line.count == 0 || line.count > PATTERNS_MOST)
        return fail_at(error, GORDIAN_STATUS_INPUT, reader->line, words[0].column,
                       "expected 1 to %d functions or FILE:LINE patterns", PATTERNS_MOST);
    size_t bytes = 1;
    for (size_t i = 0; i < reader->word_count; i++)
        bytes += words[i].length + 1;
    const char **patterns = arena_alloc(&suppressions->arena, line.count * sizeof *patterns);
    char *texts = arena_alloc(&suppressions->arena, bytes),
         *whole = arena_alloc(&suppressions->arena, bytes);
    if (!patterns || !texts || !whole ||
        !memory_grow(&suppressions->arena.memory, &suppressions->list, &suppressions->room,
                     suppressions->count + 1, sizeof line))
        return fail_memory(error);
    line.text = whole;
    line.patterns = patterns;
    for (size_t i = 0; i < reader->word_count; i++) {
        if (i > 0)
            *whole++ = ' ';
        memcpy(whole, words[i].text, words[i].length);
        whole += words[i].length;
        if (i == 0)
            continue;
        memcpy(texts, words[i].text, words[i].length);
        patterns[i - 1] = texts;
        texts += words[i].length + 1;
    }
    suppressions->list[suppressions->count++] = line;
    return GORDIAN_OK;
}

gordian_status suppressions_read(struct suppressions *suppressions, const char *path,
                                 gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    *suppressions = (struct suppressions){0};
    arena_init(&suppressions->arena, &memory);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(error, GORDIAN_STATUS_INPUT, "cannot read '%s': %s", path, strerror(errno));
    struct reader reader;
    gordian_source source = gordian_source_fd(&fd);
    gordian_status status = reader_open(&reader, &source, &memory, error);
    if (status != GORDIAN_OK) {
        close(fd);
        return status;
    }
    while ((status = reader_next(&reader, error)) == GORDIAN_OK)
        if ((status = take_line(suppressions, &reader, error)) != GORDIAN_OK)
            break;
    reader_close(&reader);
    close(fd);
    if (status == GORDIAN_STATUS_END)
        return GORDIAN_OK;
    suppressions_free(suppressions);
    return status;
}

void suppressions_free(struct suppressions *suppressions)
{
    gordian_allocator memory = memory_allocator(NULL);
    arena_free(&suppressions->arena);
    memory_free(&memory, suppressions->list);
    *suppressions = (struct suppressions){0};
}

/* ------------------------------------------------------------------ matching */

/* Returns the line number of FILE:LINE, or NULL for a function. */
static const char *line_part(const char *pattern)
{
    const char *colon = strrchr(pattern, ':');
    if (!colon || colon == pattern || colon[-1] == ':' || !colon[1])
        return NULL;
    bool number = strspn(colon + 1, "0123456789") == strlen(colon + 1);
    return number || strcmp(colon + 1, "*") == 0 ? colon + 1 : NULL;
}

/* Matches the whole path, or the path from any of its directories on. */
static bool path_fits(const char *pattern, const char *path)
{
    while (path) {
        if (fnmatch(pattern, path, 0) == 0)
            return true;
        path = strchr(path, '/');
        if (path)
            path++;
    }
    return false;
}

static bool place_fits(const char *pattern, const char *line, const struct frame *frame)
{
    char path[1024];
    size_t length = (size_t)(line - pattern) - 1;
    uint64_t number = 0;
    const char *why;
    if (!frame->file || length >= sizeof path)
        return false;
    memcpy(path, pattern, length);
    path[length] = '\0';
    bool any = strcmp(line, "*") == 0;
    return (any || (parse_u64(line, strlen(line), &number, &why) && number == frame->line)) &&
           path_fits(path, frame->file);
}

/* "name" also matches "name(int) const". */
static bool function_fits(const char *pattern, const char *function)
{
    char name[512];
    size_t length = function ? strcspn(function, "(") : 0;
    if (!function)
        return false;
    if (fnmatch(pattern, function, 0) == 0)
        return true;
    if (length >= sizeof name || !function[length])
        return false;
    memcpy(name, function, length);
    name[length] = '\0';
    return fnmatch(pattern, name, 0) == 0;
}

static bool stack_fits(const char *pattern, const struct stack *stack)
{
    const char *line = line_part(pattern);
    for (size_t i = 0; i < stack->count; i++) {
        const struct frame *frame = &stack->frames[i];
        if (line ? place_fits(pattern, line, frame) : function_fits(pattern, frame->function))
            return true;
    }
    return false;
}

/* Returns call site i of a report: its witness edges, or both sides of every order. NULL: there is
 * none. */
static const struct stack *site_at(const struct report *report, size_t i)
{
    if (report->order_count)
        return i >= 2 * report->order_count ? NULL
               : i % 2                      ? &report->orders[i / 2].taken
                                            : &report->orders[i / 2].held;
    size_t count = report->witness_count ? report->witness_count : report->edge_count;
    return i < count ? &report->edges[i].site : NULL;
}

/* Assigns a call site to every pattern from `next` on, each site once. */
static bool assign_names(const struct suppression *line, size_t next, const struct report *report,
                         size_t used[PATTERNS_MOST])
{
    const struct stack *site;
    if (next == line->count)
        return true;
    for (size_t i = 0; (site = site_at(report, i)); i++) {
        bool taken = false;
        for (size_t k = 0; k < next && !taken; k++)
            taken = used[k] == i;
        used[next] = i;
        if (!taken && stack_fits(line->patterns[next], site) &&
            assign_names(line, next + 1, report, used))
            return true;
    }
    return false;
}

const struct suppression *suppressions_find(const struct suppressions *suppressions,
                                            const struct report *report)
{
    size_t used[PATTERNS_MOST];
    for (size_t i = 0; i < suppressions->count; i++) {
        const struct suppression *line = &suppressions->list[i];
        if ((report->head.kind < 32 && line->kinds >> report->head.kind & 1) &&
            assign_names(line, 0, report, used))
            return line;
    }
    return NULL;
}
