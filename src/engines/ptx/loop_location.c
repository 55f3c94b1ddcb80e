/*
 * Locates loops in the source with the .loc directives of their instructions.
 *
 * The location of an instruction is a chain of frames: the kernel, the function inlined into it,
 * and so on. Compilers move instructions into loops and out of them, but the branches back to the
 * head belong to the loop statement. The last frame that they have in common is in the function
 * with the loop. The smallest line of that frame is the line of the loop.
 */
#include "engines/ptx/ptx_internal.h"

#include <stdio.h>
#include <string.h>

#define FRAMES 24u

struct frames {
    uint32_t places[FRAMES]; /* from the kernel inwards */
    size_t count;
};

static void frames_of(const gordian_ptx *ptx, uint32_t place, struct frames *frames)
{
    struct frames inwards = {.count = 0};
    for (; place != PTX_NONE && inwards.count < FRAMES; place = ptx->places[place].outer)
        inwards.places[inwards.count++] = place;
    frames->count = inwards.count;
    for (size_t i = 0; i < inwards.count; i++)
        frames->places[i] = inwards.places[inwards.count - 1 - i];
}

static bool same_inlined_function(const gordian_ptx *ptx, uint32_t a, uint32_t b)
{
    uint32_t f = ptx->places[a].function, g = ptx->places[b].function;
    if (f == PTX_NONE || g == PTX_NONE)
        return f == g;
    return ptx->tokens[f].length == ptx->tokens[g].length &&
           memcmp(ptx_text(ptx, f), ptx_text(ptx, g), ptx->tokens[f].length) == 0;
}

/* The number of common frames: the same function, called from the same line of the enclosing
 * one. */
static size_t frames_in_common(const gordian_ptx *ptx, const struct frames *a,
                               const struct frames *b)
{
    size_t both = a->count < b->count ? a->count : b->count, i = 0;
    while (i < both && same_inlined_function(ptx, a->places[i], b->places[i])) {
        const struct ptx_place *x = &ptx->places[a->places[i]], *y = &ptx->places[b->places[i]];
        i++;
        if (x->file != y->file || x->line != y->line)
            break;
    }
    return i;
}

struct finding {
    struct frames frames; /* common frames so far */
    bool started;
};

static void add_place_to_finding(const gordian_ptx *ptx, uint32_t place, struct finding *finding)
{
    struct frames frames;
    if (place == PTX_NONE || ptx->places[place].line == 0)
        return;
    frames_of(ptx, place, &frames);
    if (!finding->started) {
        finding->frames = frames;
        finding->started = true;
        return;
    }
    size_t both = frames_in_common(ptx, &finding->frames, &frames);
    finding->frames.count = both;
    /* Of the innermost common frame, keeps the smallest line. */
    if (both > 0 && ptx->places[frames.places[both - 1]].line <
                        ptx->places[finding->frames.places[both - 1]].line)
        finding->frames.places[both - 1] = frames.places[both - 1];
}

static void name_kernel(const struct ptx_graph *graph, struct ptx_loop *loop)
{
    const char *text = ptx_text(graph->ptx, graph->function->name);
    size_t length = graph->ptx->tokens[graph->function->name].length;
    ptx_plain_name(&text, &length);
    snprintf(loop->function, sizeof loop->function, "%.*s",
             (int)(length < sizeof loop->function ? length : sizeof loop->function - 1), text);
}

static void locate_instruction(struct ptx_graph *graph, uint32_t index)
{
    const gordian_ptx *ptx = graph->ptx;
    struct ptx_loop *loop = &graph->loops[index];
    struct finding finding = {.started = false};
    for (uint32_t i = graph->first_before[loop->head]; i < graph->first_before[loop->head + 1];
         i++) {
        uint32_t from = graph->befores[i];
        const struct ptx_instruction *last = ptx_last(graph, from);
        if (last && graph->blocks[from].order != PTX_NONE && ptx_in_loop(graph, from, index))
            add_place_to_finding(ptx, last->place, &finding);
    }
    name_kernel(graph, loop);
    if (finding.frames.count == 0)
        return;
    const struct ptx_place *place = &ptx->places[finding.frames.places[finding.frames.count - 1]];
    loop->place_file = place->file;
    loop->place_line = place->line;
    if (place->function == PTX_NONE)
        return;
    char mangled[300];
    ptx_read_string(ptx, place->function, mangled, sizeof mangled);
    const char *text = mangled;
    size_t length = strlen(mangled);
    ptx_plain_name(&text, &length);
    if (length > 0)
        snprintf(loop->function, sizeof loop->function, "%.*s",
                 (int)(length < sizeof loop->function ? length : sizeof loop->function - 1), text);
}

static uint32_t line_of(const struct ptx_graph *graph, const struct ptx_loop *loop)
{
    uint32_t head = graph->blocks[loop->head].first;
    return loop->place_line ? loop->place_line
                            : graph->ptx->tokens[graph->function->code[head].name].line;
}

/* Is this the first loop at its line of its function? The others are copies. */
static bool is_first(const struct ptx_graph *graph, size_t index)
{
    const struct ptx_loop *loop = &graph->loops[index];
    for (size_t i = 1; i < index; i++)
        if (line_of(graph, &graph->loops[i]) == line_of(graph, loop) &&
            strcmp(graph->loops[i].function, loop->function) == 0)
            return false;
    return true;
}

gordian_status ptx_locate_loops(struct ptx_graph *graph, gordian_error *error)
{
    if (graph->loop_count > 1000)
        return fail(error, GORDIAN_STATUS_INPUT, "more than 1000 loops in one function");
    for (uint32_t i = 1; i < graph->loop_count; i++)
        locate_instruction(graph, i);
    /* Numbers the loops of a function by line. Copies of a loop share a number. */
    for (size_t i = 1; i < graph->loop_count; i++)
        graph->loops[i].number = 1;
    for (size_t i = 1; i < graph->loop_count; i++) {
        const struct ptx_loop *first = &graph->loops[i];
        if (!is_first(graph, i))
            continue;
        for (size_t j = 1; j < graph->loop_count; j++)
            graph->loops[j].number += line_of(graph, first) < line_of(graph, &graph->loops[j]) &&
                                      strcmp(first->function, graph->loops[j].function) == 0;
    }
    return GORDIAN_OK;
}

/* The file name of a path. */
static void source_file_name(const gordian_ptx *ptx, uint32_t file, const char **name,
                             size_t *length)
{
    uint32_t token = file < ptx->file_room ? ptx->files[file] : 0;
    *name = "?";
    *length = 1;
    if (!token)
        return;
    *name = ptx_text(ptx, token);
    *length = ptx->tokens[token].length;
    for (size_t i = *length; i-- > 0;)
        if ((*name)[i] == '/') {
            *name += i + 1;
            *length -= i + 1;
            break;
        }
}

/* The token of the label at the loop's head. It exists because a branch goes there. */
static uint32_t label_of(const struct ptx_graph *graph, const struct ptx_loop *loop)
{
    uint32_t label = graph->blocks[loop->head].label;
    return label == PTX_NONE ? graph->function->name : graph->function->labels[label].name;
}

void ptx_describe_loop(const struct ptx_graph *graph, const struct ptx_loop *loop, char *buffer,
                       size_t size)
{
    const gordian_ptx *ptx = graph->ptx;
    uint32_t label = label_of(graph, loop);
    size_t used = (size_t)snprintf(buffer, size, "the loop at %.*s", (int)ptx->tokens[label].length,
                                   ptx_text(ptx, label));
    if (used < size && loop->place_line) {
        const char *name;
        size_t length;
        source_file_name(ptx, loop->place_file, &name, &length);
        snprintf(buffer + used, size - used, " (%s/%u, %.*s:%u)", loop->function, loop->number,
                 (int)length, name, loop->place_line);
    }
}

bool ptx_loop_is(const struct ptx_graph *graph, const struct ptx_loop *loop, const char *name)
{
    const gordian_ptx *ptx = graph->ptx;
    char text[180];
    if (ptx_is(ptx, label_of(graph, loop), name) || strcmp(loop->function, name) == 0)
        return true;
    snprintf(text, sizeof text, "%s/%u", loop->function, loop->number);
    if (strcmp(text, name) == 0)
        return true;
    if (!loop->place_line)
        return false;
    const char *file;
    size_t file_length;
    source_file_name(ptx, loop->place_file, &file, &file_length);
    snprintf(text, sizeof text, "%.*s:%u", (int)(file_length < 100 ? file_length : 100), file,
             loop->place_line);
    return strcmp(text, name) == 0;
}
