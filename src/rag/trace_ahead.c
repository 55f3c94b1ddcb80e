#include "rag/trace_ahead.h"

/* A verb of at most eight letters as a number. */
#define LETTER(text, i) ((uint64_t)(i < sizeof text - 1 ? (unsigned char)(text)[i] : 0) << 8 * (i))
#define VERB(text)                                                                                 \
    (LETTER(text, 0) | LETTER(text, 1) | LETTER(text, 2) | LETTER(text, 3) | LETTER(text, 4) |     \
     LETTER(text, 5) | LETTER(text, 6) | LETTER(text, 7))

static inline uint64_t load_verb(const char *text, uint32_t length)
{
    uint64_t verb = hash_load64(text);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    verb = __builtin_bswap64(verb);
#endif
    return length >= 8 ? verb : verb & ((UINT64_C(1) << 8 * length) - 1);
}

/* Where a verb is in the list below: no branch could foresee which it is. */
#define VERB_PLACE(third, length) (((third) ^ (length)) & 15)

static const struct {
    uint64_t verb;
    gordian_op op;
} events[16] = {
    [VERB_PLACE('q', 7)] = {VERB("request"), GORDIAN_OP_REQUEST},
    [VERB_PLACE('l', 7)] = {VERB("release"), GORDIAN_OP_RELEASE},
    [VERB_PLACE('l', 4)] = {VERB("hold"), GORDIAN_OP_HOLD},
    [VERB_PLACE('i', 4)] = {VERB("wait"), GORDIAN_OP_WAIT},
};

static struct trace_plain plain_of(const struct names_query *word, uint32_t words)
{
    uint64_t verb = word->length <= 8 ? load_verb(word->name, word->length) : 0;
    if (words == 2)
        return (struct trace_plain){.shape =
                                        verb == VERB("resource") ? TRACE_DECLARE : TRACE_OTHER};
    unsigned place = VERB_PLACE((unsigned char)(verb >> 16), word->length);
    bool known = events[place].verb == verb && verb != 0;
    return (struct trace_plain){.shape = known ? TRACE_EVENT : TRACE_OTHER, .op = events[place].op};
}

static struct names_query query_of(const struct reader_ahead *ahead, uint32_t edge)
{
    return (struct names_query){.name = ahead->text + ahead->edges[edge],
                                .length = ahead->edges[edge + 1] - ahead->edges[edge]};
}

/* What line i, whose words begin at `edge`, is; where those of the next begin. */
static uint32_t glance_at(const struct reader_ahead *lines, struct trace_ahead *ahead, uint32_t i,
                          uint32_t edge)
{
    const uint32_t first = edge, end = lines->ends[i];
    while (lines->edges[edge] < end)
        edge += 2;
    uint32_t words = (edge - first) / 2;
    struct trace_plain plain = {.shape = words ? TRACE_OTHER : TRACE_BLANK};
    ahead->processes[i] = ahead->resources[i] = (struct names_query){.name = lines->text};
    if (words == 2 || words == 3) {
        struct names_query verb = query_of(lines, first);
        plain = plain_of(&verb, words);
        ahead->resources[i] = query_of(lines, edge - 2);
        if (words == 3)
            ahead->processes[i] = query_of(lines, edge - 4);
        if (ahead->resources[i].length > GORDIAN_NAME_MAX ||
            ahead->processes[i].length > GORDIAN_NAME_MAX)
            plain.shape = TRACE_OTHER;
    }
    plain.next_edge = edge;
    ahead->lines[i] = plain;
    return edge;
}

void trace_glance(const struct reader_ahead *lines, struct trace_ahead *ahead)
{
    uint32_t edge = 0;
    for (uint32_t i = 0; i < lines->line_count; i++)
        edge = glance_at(lines, ahead, i, edge);
}

static void look_up(const struct reader_ahead *lines, struct trace_ahead *ahead,
                    const struct names *processes, const struct names *resources)
{
    trace_glance(lines, ahead);
    names_find_all(processes, ahead->processes, lines->line_count);
    names_find_all(resources, ahead->resources, lines->line_count);
    ahead->process_puts = processes->puts;
    ahead->process_drops = processes->drops;
    ahead->resource_puts = resources->puts;
    ahead->resource_drops = resources->drops;
}

const struct trace_plain *trace_ahead_next(const gordian_trace *trace, struct trace_ahead *ahead,
                                           const struct names *processes,
                                           const struct names *resources, bool *fresh)
{
    struct reader *reader = &trace->inside->reader;
    const struct reader_ahead *lines = reader->ahead;
    *fresh = false;
    if (!reader_look(reader) || lines->equals) /* one with an '=' is none of ours */
        return NULL;
    *fresh = ahead->serial != lines->serial;
    if (*fresh)
        look_up(lines, ahead, processes, resources);
    ahead->serial = lines->serial;
    ahead->line = lines->line;
    const struct trace_plain *plain = &ahead->lines[lines->line];
    return plain->shape == TRACE_EVENT || plain->shape == TRACE_DECLARE ? plain : NULL;
}

uint32_t trace_ahead_process(const struct trace_ahead *ahead, const struct names *processes)
{
    const struct names_query *query = &ahead->processes[ahead->line];
    bool same = query->id != GORDIAN_NONE ? ahead->process_drops == processes->drops
                                          : ahead->process_puts == processes->puts;
    return same ? query->id : names_find_again(processes, query);
}

uint32_t trace_ahead_resource(const struct trace_ahead *ahead, const struct names *resources)
{
    const struct names_query *query = &ahead->resources[ahead->line];
    bool same = query->id != GORDIAN_NONE ? ahead->resource_drops == resources->drops
                                          : ahead->resource_puts == resources->puts;
    return same ? query->id : names_find_again(resources, query);
}

void trace_ahead_pass(const gordian_trace *trace, const struct trace_plain *plain, uint64_t *line,
                      uint64_t *column)
{
    struct reader *reader = &trace->inside->reader;
    const struct reader_ahead *lines = reader->ahead;
    *column = lines->edges[lines->edge] - reader_begin(lines, lines->line) + 1;
    reader_pass(reader, plain->next_edge);
    *line = reader->line;
}
