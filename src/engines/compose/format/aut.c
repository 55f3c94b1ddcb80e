/* Reads and writes .aut (Aldebaran) files. */
#include "engines/compose/format/aut.h"

#include "foundation/base/io/reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Reserves space behind the numbers of the header while the file grows. It is a tab, because
 * complete files may have blanks there (mCRL2 writes them). */
#define PADDING '\t'
/* The last line of the file of a stopped run. Other tools see a blank line. */
#define STOPPED_LINE "\t\n"
/* A graph has an array of its states. The size of the file limits this array, independently of the
 * numbers in the file: there may be this many states, plus this many per byte. Every transition
 * takes more than one byte, so complete files satisfy this. */
#define STATES_ANYWAY   (UINT64_C(1) << 20)
#define STATES_PER_BYTE 16u

/* ------------------------------------------------------------------ reading */

static void skip_aut_blanks(struct text_scan *reader)
{
    for (; reader->at < reader->end; reader->at++) {
        char c = *reader->at;
        if (c == '\n') {
            scan_new_line(reader);
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
    }
}

static gordian_status read_aut_char(struct text_scan *reader, char wanted)
{
    char what[32];
    skip_aut_blanks(reader);
    if (reader->at < reader->end && *reader->at == wanted) {
        reader->at++;
        return GORDIAN_OK;
    }
    snprintf(what, sizeof what, "expected '%c'", wanted);
    return scan_complain(reader, reader->at, what);
}

static gordian_status read_aut_number(struct text_scan *reader, uint64_t *number)
{
    const char *why, *start;
    skip_aut_blanks(reader);
    start = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
        reader->at++;
    if (reader->at == start)
        return scan_complain(reader, start, "expected a number");
    if (!parse_u64(start, (size_t)(reader->at - start), number, &why))
        return scan_complain(reader, start, "this number is too large");
    return GORDIAN_OK;
}

static gordian_status read_aut_state(struct text_scan *reader, uint64_t states, uint32_t *state)
{
    uint64_t number;
    skip_aut_blanks(reader);
    const char *start = reader->at;
    TRY(read_aut_number(reader, &number));
    if (number >= states)
        return scan_complain(reader, start, "more states than the header says");
    *state = (uint32_t)number;
    return GORDIAN_OK;
}

/* "text" or text. Without quotes, the label ends at the last comma of the line and has no blanks
 * around it. */
static gordian_status read_aut_label(struct text_scan *reader, const char **label, size_t *length)
{
    skip_aut_blanks(reader);
    const char *start = reader->at;
    const char *newline = memchr(start, '\n', (size_t)(reader->end - start));
    const char *line_end = newline ? newline : reader->end, *stop = NULL;
    bool quoted = start < line_end && *start == '"';
    if (quoted) {
        for (const char *c = start + 1; c < line_end; c++)
            if (*c == '"')
                stop = c;
        if (!stop)
            return scan_complain(reader, start, "this label is not terminated");
        *label = start + 1;
        *length = (size_t)(stop - start) - 1;
        reader->at = stop + 1;
    } else {
        for (const char *c = start; c < line_end; c++)
            if (*c == ',')
                stop = c;
        if (!stop)
            return scan_complain(reader, start, "expected a label and ','");
        reader->at = stop;
        while (stop > start && (stop[-1] == ' ' || stop[-1] == '\t'))
            stop--;
        *label = start;
        *length = (size_t)(stop - start);
    }
    return *length > 0 ? GORDIAN_OK : scan_complain(reader, start, "a label cannot be empty");
}

struct aut_lines {
    gordian_allocator memory;
    struct label_table labels;
    uint32_t *from;
    size_t from_room;
    gordian_graph_arc *arcs;
    size_t arc_room, count;
    uint64_t first, transitions, states;
    uint64_t mentioned; /* 1 + the greatest state in a line */
    bool unfinished; /* the writer did not finish: padding in the header, lines it does not count */
};

static gordian_status read_aut_header(struct text_scan *reader, struct aut_lines *lines)
{
    skip_aut_blanks(reader);
    const char *start = reader->at;
    if (reader->end - start < 3 || memcmp(start, "des", 3) != 0)
        return scan_complain(reader, start, "expected 'des (FIRST,TRANSITIONS,STATES)'");
    reader->at += 3;
    TRY(read_aut_char(reader, '('));
    TRY(read_aut_number(reader, &lines->first));
    TRY(read_aut_char(reader, ','));
    TRY(read_aut_number(reader, &lines->transitions));
    TRY(read_aut_char(reader, ','));
    TRY(read_aut_number(reader, &lines->states));
    TRY(read_aut_char(reader, ')'));
    lines->unfinished = reader->at < reader->end && *reader->at == PADDING;
    if (lines->states > GRAPH_STATES_MAX)
        return scan_complain(reader, start, "too many states for a graph in memory");
    if (lines->first >= lines->states)
        return scan_complain(reader, start, "the first state is not among the states");
    return GORDIAN_OK;
}

static gordian_status read_aut_line(struct text_scan *reader, struct aut_lines *lines)
{
    const char *label = NULL;
    size_t length = 0;
    uint32_t from = 0, to = 0, number;
    TRY(read_aut_char(reader, '('));
    TRY(read_aut_state(reader, lines->states, &from));
    TRY(read_aut_char(reader, ','));
    TRY(read_aut_label(reader, &label, &length));
    TRY(read_aut_char(reader, ','));
    TRY(read_aut_state(reader, lines->states, &to));
    TRY(read_aut_char(reader, ')'));
    TRY(labels_put(&lines->labels, label, length, &number, reader->error));
    if (!memory_extend(&lines->memory, lines->from, lines->from_room, lines->count) ||
        !memory_extend(&lines->memory, lines->arcs, lines->arc_room, lines->count))
        return fail_memory(reader->error);
    if (lines->mentioned <= from)
        lines->mentioned = (uint64_t)from + 1;
    if (lines->mentioned <= to)
        lines->mentioned = (uint64_t)to + 1;
    lines->from[lines->count] = from;
    lines->arcs[lines->count++] = (gordian_graph_arc){number, to};
    return GORDIAN_OK;
}

/* In a truncated file, only the states that lines mention count. */
static gordian_status settle_states(struct text_scan *reader, struct aut_lines *lines)
{
    uint64_t bytes = (uint64_t)(reader->end - reader->text->bytes);
    if (lines->mentioned <= lines->first)
        lines->mentioned = lines->first + 1;
    if (lines->states <= STATES_ANYWAY + STATES_PER_BYTE * bytes)
        return GORDIAN_OK;
    if (lines->unfinished && lines->mentioned <= STATES_ANYWAY + STATES_PER_BYTE * bytes) {
        lines->states = lines->mentioned;
        return GORDIAN_OK;
    }
    char what[160];
    snprintf(what, sizeof what, "the header says %llu states: too many for a file of %llu bytes",
             (unsigned long long)lines->states, (unsigned long long)bytes);
    struct text_scan start = scan_begin(reader->text, reader->fault, reader->error);
    return scan_complain(&start, start.at, what);
}

/* Reads as many lines as the header states. Lines after them, from a killed run, do not count. */
static gordian_status read_aut_lines(struct text_scan *reader, struct aut_lines *lines)
{
    gordian_status status = GORDIAN_OK;
    while (lines->count < lines->transitions && status == GORDIAN_OK) {
        skip_aut_blanks(reader);
        if (reader->at == reader->end)
            break;
        status = read_aut_line(reader, lines);
    }
    skip_aut_blanks(reader);
    size_t length = strlen(STOPPED_LINE), left = (size_t)(reader->end - reader->text->bytes);
    bool stopped = left > length && reader->end[-1 - (int)length] == '\n' &&
                   memcmp(reader->end - length, STOPPED_LINE, length) == 0;
    lines->unfinished |= lines->count < lines->transitions || reader->at < reader->end || stopped;
    return status == GORDIAN_OK ? settle_states(reader, lines) : status;
}

gordian_status aut_read(gordian_graph **out, const struct text *text, bool *cut,
                        const gordian_allocator *memory, gordian_fault *fault, gordian_error *error)
{
    struct text_scan reader = scan_begin(text, fault, error);
    struct aut_lines lines = {.memory = memory_allocator(memory)};
    *out = NULL;
    if (fault)
        *fault = (gordian_fault){0};
    gordian_status status = labels_init(&lines.labels, &lines.memory, error);
    THEN(status, read_aut_header(&reader, &lines));
    THEN(status, read_aut_lines(&reader, &lines));
    THEN(status, graph_build(out, &lines.labels, (uint32_t)lines.states, (uint32_t)lines.first,
                             lines.from, lines.arcs, lines.count, &lines.memory, error));
    if (status == GORDIAN_OK)
        (*out)->incomplete = lines.unfinished;
    if (cut)
        *cut = status == GORDIAN_OK && lines.unfinished;
    labels_free(&lines.labels);
    memory_free_all(&lines.memory, lines.from, lines.arcs);
    return status;
}

/* ------------------------------------------------------------------ writing a graph */

static void begin_aut_line(struct output *out, uint64_t from)
{
    output_char(out, '(');
    output_u64(out, from);
    output_text(out, ",\"");
}

static void end_aut_line(struct output *out, uint64_t to)
{
    output_text(out, "\",");
    output_u64(out, to);
    output_text(out, ")\n");
}

void aut_write(const gordian_graph *graph, struct output *out)
{
    output_format(out, "des (%u,%zu,%u)\n", graph->initial[0], graph->arc_count,
                  graph->state_count);
    for (uint32_t s = 0; s < graph->state_count; s++) {
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++) {
            begin_aut_line(out, s);
            output_text(out, labels_text(&graph->labels, graph->arcs[i].label));
            end_aut_line(out, graph->arcs[i].to);
        }
    }
    if (graph->incomplete)
        output_text(out, STOPPED_LINE);
}

/* ------------------------------------------------------------------ writing a stream */

#define PATCH_EVERY (1u << 20) /* bytes of lines between updates of the header */

static size_t make_header(const struct aut_sink *sink, uint64_t transitions, char *header,
                          size_t size)
{
    return (size_t)snprintf(header, size, "des (%llu,%llu,%llu)", (unsigned long long)sink->first,
                            (unsigned long long)transitions, (unsigned long long)sink->states);
}

/* Updates the header. Only complete lines have been flushed, so it may count them. */
static bool patch_header(struct aut_sink *sink)
{
    char header[80];
    struct output *out = sink->out;
    if (!output_flush(out))
        return false;
    if (!sink->in_place || sink->patched == sink->transitions)
        return true;
    size_t length = make_header(sink, sink->transitions, header, sizeof header);
    if (length > sink->header_size)
        length = sink->header_size;
    memset(header + length, PADDING, sink->header_size - length);
    if (!out->writer->rewrite(out->writer->context, 0, header, sink->header_size)) {
        out->failure = errno ? errno : EIO;
        return false;
    }
    sink->patched = sink->transitions;
    return true;
}

static gordian_status write_failed(const struct aut_sink *sink, gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_IO, "writing failed: %s", strerror(sink->out->failure));
}

static gordian_status begin_aut(void *context, const gordian_circuit *circuit, uint64_t states,
                                uint64_t transitions, gordian_error *error)
{
    struct aut_sink *sink = context;
    char header[80];
    bool known = transitions != UINT64_MAX;
    sink->circuit = circuit;
    sink->states = states;
    sink->promised = transitions;
    if (!sink->in_place && !known)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "the number of transitions is not known beforehand: write to a file");
    sink->header_size = make_header(sink, transitions, header, sizeof header);
    size_t length = sink->header_size;
    if (sink->in_place)
        length = make_header(sink, 0, header, sizeof header);
    memset(header + length, PADDING, sink->header_size - length);
    output_bytes(sink->out, header, sink->header_size);
    output_char(sink->out, '\n');
    sink->started = true;
    return output_flush(sink->out) ? GORDIAN_OK : write_failed(sink, error);
}

static gordian_status write_aut_row(void *context, const gordian_compose_row *row,
                                    gordian_error *error)
{
    struct aut_sink *sink = context;
    struct output *out = sink->out;
    for (size_t i = 0; i < row->count; i++) {
        size_t before = out->used;
        begin_aut_line(out, row->number);
        circuit_write_label(sink->circuit, row->labels + i * sink->circuit->label_words, out);
        end_aut_line(out, row->to[i]);
        sink->transitions++;
        /* The output flushes when it is full, possibly in the middle of a line. The header may
         * count fewer lines than the file has, but never more. */
        sink->since_patch += out->used > before ? out->used - before : 0;
        if (sink->since_patch >= PATCH_EVERY) {
            sink->since_patch = 0;
            if (!patch_header(sink))
                return write_failed(sink, error);
        }
    }
    return out->failure ? write_failed(sink, error) : GORDIAN_OK;
}

void aut_sink_open(struct aut_sink *sink, struct output *out)
{
    *sink = (struct aut_sink){.sink = {.context = sink, .begin = begin_aut, .row = write_aut_row},
                              .out = out,
                              .patched = 0};
    sink->in_place = out->writer && out->writer->rewrite;
}

bool aut_sink_close(struct aut_sink *sink, bool stopped)
{
    if (!sink->started)
        return output_flush(sink->out);
    if (stopped)
        output_text(sink->out, STOPPED_LINE);
    return patch_header(sink);
}
