/* Lookahead in a trace: plain lines and their names (trace_ahead.h). */
#include "engines/rag/trace_ahead.h"

/* A verb of at most eight letters as a number. */
#define LETTER(text, i)                                                                            \
    ((uint64_t)((i) < sizeof(text) - 1 ? (unsigned char)(text)[i] : 0) << 8 * (i))
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

/* The index of a verb in the list below. A branch could not be predicted. */
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

static inline uint64_t verb_at(const struct reader_ahead *lines, const uint32_t *edges)
{
    uint32_t length = edges[1] - edges[0];
    return length <= 8 ? load_verb(lines->text + edges[0], length) : 0;
}

static inline struct names_query query_at(const struct reader_ahead *lines, const uint32_t *edges)
{
    return names_ask(lines->text + edges[0], edges[1] - edges[0]);
}

/* Each returns how many words a line has. VERB P Q: */
static inline uint32_t classify_three(const struct reader_ahead *lines, struct trace_ahead *ahead,
                                      uint32_t i, const uint32_t *edges)
{
    uint32_t length = edges[1] - edges[0];
    uint64_t verb = verb_at(lines, edges);
    unsigned place = VERB_PLACE((unsigned char)(verb >> 16), length);
    struct names_query process = query_at(lines, edges + 2), resource = query_at(lines, edges + 4);
    bool plain = (events[place].verb == verb) & (verb != 0) & (process.length <= GORDIAN_NAME_MAX) &
                 (resource.length <= GORDIAN_NAME_MAX);
    ahead->lines[i].shape = plain ? TRACE_EVENT : TRACE_OTHER;
    ahead->lines[i].op = events[place].op;
    ahead->processes[i] = process;
    ahead->resources[i] = resource;
    return 3;
}

/* Edges beyond the last are at no line's end, see reader_scan. */
void trace_classify(const struct reader_ahead *lines, struct trace_ahead *ahead)
{
    uint32_t edge = 0;
    for (uint32_t i = 0; i < lines->line_count; i++) {
        const uint32_t *edges = lines->edges + edge, end = lines->ends[i];
        uint32_t words;
        if (__builtin_expect((edges[4] < end) & (edges[6] > end), 1))
            words = classify_three(lines, ahead, i, edges);
        else if ((edges[2] < end) & (edges[4] > end)) {
            /* `resource Q`: */
            struct names_query resource = query_at(lines, edges + 2);
            bool plain =
                (verb_at(lines, edges) == VERB("resource")) & (resource.length <= GORDIAN_NAME_MAX);
            ahead->lines[i].shape = plain ? TRACE_DECLARE : TRACE_OTHER;
            ahead->processes[i] = names_ask_none(lines->text);
            ahead->resources[i] = resource;
            words = 2;
        } else {
            /* Neither: */
            words = 0;
            while (edges[2 * words] < lines->ends[i])
                words++;
            ahead->lines[i].shape = words ? TRACE_OTHER : TRACE_BLANK;
            ahead->processes[i] = ahead->resources[i] = names_ask_none(lines->text);
        }
        edge += 2 * words;
        ahead->lines[i].next_edge = edge;
    }
}

const struct trace_plain *trace_ahead_next(const gordian_trace *trace, struct trace_ahead *ahead,
                                           const struct names *processes,
                                           const struct names *resources, bool *fresh)
{
    struct reader *reader = &trace->inside->reader;
    const struct reader_ahead *lines = reader->ahead;
    *fresh = false;
    if (!reader_scan_ahead(reader) || lines->equals) /* a line with an '=' is not plain */
        return NULL;
    *fresh = ahead->serial != lines->serial;
    if (*fresh) {
        trace_classify(lines, ahead);
        names_find_all(processes, ahead->processes, lines->line_count);
        names_find_all(resources, ahead->resources, lines->line_count);
        ahead->process_puts = processes->puts;
        ahead->process_drops = processes->drops;
        ahead->resource_puts = resources->puts;
        ahead->resource_drops = resources->drops;
    }
    ahead->serial = lines->serial;
    ahead->line = lines->line;
    const struct trace_plain *plain = &ahead->lines[lines->line];
    return plain->shape == TRACE_EVENT || plain->shape == TRACE_DECLARE ? plain : NULL;
}

/* Returns the id of a name that was looked up when the table had that many names added and dropped.
 */
static uint32_t id_now(const struct names_query *query, const struct names *names, uint64_t puts,
                       uint64_t drops)
{
    bool same = query->id != GORDIAN_NONE ? drops == names->drops : puts == names->puts;
    return same ? query->id : names_find_again(names, query);
}

uint32_t trace_ahead_process(const struct trace_ahead *ahead, const struct names *processes)
{
    return id_now(&ahead->processes[ahead->line], processes, ahead->process_puts,
                  ahead->process_drops);
}

uint32_t trace_ahead_resource(const struct trace_ahead *ahead, const struct names *resources)
{
    return id_now(&ahead->resources[ahead->line], resources, ahead->resource_puts,
                  ahead->resource_drops);
}

void trace_ahead_pass(const gordian_trace *trace, const struct trace_plain *plain, uint64_t *line,
                      uint64_t *column)
{
    struct reader *reader = &trace->inside->reader;
    const struct reader_ahead *lines = reader->ahead;
    *column = lines->edges[lines->edge] - reader_begin(lines, lines->line) + 1;
    reader_pass(reader, 1, plain->next_edge);
    *line = reader->line;
}
