/* Draws the wait-for graph of a deadlock with lines and letters. */
#include "output/show/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer ones show only their first and last few. */
#define CYCLE_MOST 12
#define CYCLE_HEAD 5
#define CYCLE_TAIL 3
#define PART_MOST  16
#define PART_HEAD  12
#define NAMES_MOST 12

#define INDENT "  "

struct strokes {
    const char *dash, *bar, *gap;
    const char *top_left, *bottom_left, *top_right, *bottom_right;
    const char *to_right, *to_left;
    const char *times;
};

static const struct strokes boxes = {"─", "│", "┊", "╭", "╰", "╮", "╯", "▶", "◀", "×"};
static const struct strokes plain = {"-", "|", ":", "+", "+", "+", "+", ">", "<", "x"};

static const struct strokes *strokes_of(const struct drawing *drawing)
{
    return drawing->style.utf8 ? &boxes : &plain;
}

static void begin_line(const struct drawing *drawing)
{
    style_color(&drawing->style, drawing->out, COLOR_BAD);
}

static void end_line(const struct drawing *drawing)
{
    style_color(&drawing->style, drawing->out, COLOR_PLAIN);
}

static void put_dashes(const struct drawing *drawing, size_t count)
{
    const char *dash = strokes_of(drawing)->dash;
    while (count-- > 0)
        output_text(drawing->out, dash);
}

/* Prints a phrase in plain colour with a blank on either side; the line continues. */
static void put_phrase(const struct drawing *drawing, const char *text)
{
    end_line(drawing);
    output_format(drawing->out, " %s ", text);
    begin_line(drawing);
}

/* Ends the line with an arrow to the right; a name follows. */
static void put_arrow(const struct drawing *drawing, size_t length)
{
    put_dashes(drawing, length);
    output_format(drawing->out, "%s ", strokes_of(drawing)->to_right);
    end_line(drawing);
}

static void process_name(const struct drawing *drawing, uint32_t process)
{
    style_name(&drawing->style, drawing->out, COLOR_PROCESS,
               process_label(drawing->labels, process));
}

static void resource_name(const struct drawing *drawing, uint32_t resource)
{
    style_name(&drawing->style, drawing->out, COLOR_RESOURCE,
               resource_label(drawing->labels, resource));
}

static const char *holding_text(const struct drawing *drawing, uint32_t resource)
{
    const struct labels *labels = drawing->labels;
    return labels->holding ? labels->holding(labels->context, resource) : "held by";
}

static size_t process_width(const struct drawing *drawing, uint32_t process)
{
    return style_width(&drawing->style, process_label(drawing->labels, process));
}

static size_t resource_width(const struct drawing *drawing, uint32_t resource)
{
    return style_width(&drawing->style, resource_label(drawing->labels, resource));
}

static size_t larger_of(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* ------------------------------------------------------------------ cycles */

/* Columns of " waits for ─▶ " before the name of a resource and of the dash after it. */
#define RING_AROUND 16

struct ring {
    const struct drawing *drawing;
    const gordian_edge *edges; /* wait, hold, wait, ... */
    size_t length;             /* number of processes */
    size_t head, tail;         /* how many are drawn at either end */
    size_t process_width, resource_width;
};

static bool ring_shows(const struct ring *ring, size_t i)
{
    return i < ring->head || i >= ring->length - ring->tail;
}

static void measure_ring(struct ring *ring)
{
    bool whole = ring->drawing->whole || ring->length <= CYCLE_MOST;
    ring->head = whole ? ring->length : CYCLE_HEAD;
    ring->tail = whole ? 0 : CYCLE_TAIL;
    for (size_t i = 0; i < ring->length; i++) {
        if (i == ring->head + 1) /* the waiter before it shows its name */
            i = ring->length - ring->tail;
        if (i >= ring->length)
            break;
        const gordian_edge *wait = &ring->edges[2 * i];
        ring->process_width =
            larger_of(ring->process_width, process_width(ring->drawing, wait->process));
        if (!ring_shows(ring, i))
            continue;
        size_t way_back = strlen(holding_text(ring->drawing, wait->resource)) + 3;
        ring->resource_width =
            larger_of(ring->resource_width, resource_width(ring->drawing, wait->resource));
        if (way_back > RING_AROUND)
            ring->resource_width = larger_of(ring->resource_width, way_back - RING_AROUND);
    }
}

/* Draws the wait of process i from its name or corner to the resource. */
static void ring_wait(const struct ring *ring, size_t i)
{
    const struct drawing *drawing = ring->drawing;
    const struct strokes *strokes = strokes_of(drawing);
    uint32_t resource = ring->edges[2 * i].resource;
    put_phrase(drawing, "waits for");
    put_arrow(drawing, 1);
    resource_name(drawing, resource);
    begin_line(drawing);
    output_text(drawing->out, " ");
    put_dashes(drawing, ring->resource_width - resource_width(drawing, resource) + 1);
    output_text(drawing->out, strokes->top_right);
    end_line(drawing);
    output_char(drawing->out, '\n');
}

/* Draws the line back from the resource that process i waits for. */
static void ring_held(const struct ring *ring, size_t i)
{
    const struct drawing *drawing = ring->drawing;
    const char *text = holding_text(drawing, ring->edges[2 * i].resource);
    put_phrase(drawing, text);
    put_dashes(drawing, ring->resource_width + RING_AROUND - 2 - strlen(text));
    output_text(drawing->out, strokes_of(drawing)->bottom_right);
    end_line(drawing);
    output_char(drawing->out, '\n');
}

/* Draws the outer line on the left and the name of a process. */
static void ring_name(const struct ring *ring, size_t i)
{
    const struct drawing *drawing = ring->drawing;
    const struct strokes *strokes = strokes_of(drawing);
    begin_line(drawing);
    if (i == 0)
        output_format(drawing->out, INDENT "%s%s%s ", strokes->top_left, strokes->dash,
                      strokes->to_right);
    else
        output_format(drawing->out, INDENT "%s   ", strokes->bar);
    end_line(drawing);
    process_name(drawing, ring->edges[2 * i].process);
    begin_line(drawing);
    output_char(drawing->out, ' ');
}

static size_t ring_pad(const struct ring *ring, size_t i)
{
    return ring->process_width - process_width(ring->drawing, ring->edges[2 * i].process);
}

/* Draws process i and its wait on one line: the first process, and the first after a gap. */
static void ring_start(const struct ring *ring, size_t i)
{
    ring_name(ring, i);
    put_dashes(ring->drawing, ring_pad(ring, i) + 2);
    ring_wait(ring, i);
}

/* Draws the wait of process i, whose name is on the line above. */
static void ring_next(const struct ring *ring)
{
    const struct drawing *drawing = ring->drawing;
    const struct strokes *strokes = strokes_of(drawing);
    begin_line(drawing);
    output_format(drawing->out, INDENT "%s   %s", strokes->bar, strokes->bottom_left);
    put_dashes(drawing, ring->process_width + 2);
}

static void ring_gap(const struct ring *ring)
{
    const struct drawing *drawing = ring->drawing;
    const struct strokes *strokes = strokes_of(drawing);
    for (int row = 0; row < 3; row++) {
        begin_line(drawing);
        output_format(drawing->out, INDENT "%s   %s", strokes->bar, strokes->gap);
        end_line(drawing);
        if (row == 1)
            output_format(drawing->out, "  %zu more, each waiting for the next",
                          ring->length - ring->head - ring->tail - 1);
        output_char(drawing->out, '\n');
    }
}

static void draw_cycle(const struct drawing *drawing, const gordian_witness *witness)
{
    struct ring ring = {drawing, witness->edges, witness->count / 2, 0, 0, 0, 0};
    measure_ring(&ring);
    ring_start(&ring, 0);
    for (size_t i = 1; i < ring.length; i++) {
        /* process i holds the resource that process i - 1 waits for */
        ring_name(&ring, i);
        output_text(drawing->out, strokes_of(ring.drawing)->to_left);
        put_dashes(ring.drawing, ring_pad(&ring, i) + 1);
        ring_held(&ring, i - 1);
        if (ring_shows(&ring, i)) {
            ring_next(&ring);
            ring_wait(&ring, i);
        } else {
            ring_gap(&ring);
            i = ring.length - ring.tail;
            ring_start(&ring, i);
        }
    }
    begin_line(ring.drawing);
    output_format(drawing->out, INDENT "%s", strokes_of(drawing)->bottom_left);
    put_dashes(ring.drawing, ring.process_width + 6);
    ring_held(&ring, ring.length - 1);
}

/* ------------------------------------------------------------------ irreducible parts */

/* The edges as two tables: waits by process, holds by resource. */
struct part {
    const struct drawing *drawing;
    gordian_edge *waits, *holds;
    size_t wait_count, hold_count;
    size_t shown; /* rows */
    size_t process_width, label_width;
};

static int by_process(const void *left, const void *right)
{
    const gordian_edge *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->resource < b->resource ? -1 : a->resource > b->resource;
}

static int by_resource(const void *left, const void *right)
{
    const gordian_edge *a = left, *b = right;
    if (a->resource != b->resource)
        return a->resource < b->resource ? -1 : 1;
    return a->process < b->process ? -1 : a->process > b->process;
}

/* Moves the waits of `first` to the front; the others keep their order. */
static void put_first(struct part *part, gordian_edge *space, uint32_t first)
{
    size_t count = 0;
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < part->wait_count; i++)
            if ((part->waits[i].process == first) == (turn == 0))
                space[count++] = part->waits[i];
    memcpy(part->waits, space, count * sizeof *space);
}

static void split_edges(struct part *part, const gordian_witness *witness)
{
    for (size_t i = 0; i < witness->count; i++) {
        if (witness->edges[i].waits)
            part->waits[part->wait_count++] = witness->edges[i];
        else
            part->holds[part->hold_count++] = witness->edges[i];
    }
    qsort(part->waits, part->wait_count, sizeof *part->waits, by_process);
    qsort(part->holds, part->hold_count, sizeof *part->holds, by_resource);
}

/* Writes the amount after the name of a resource, " ×2" or " ×2 (1 free)". Returns its columns. */
static size_t amount_text(const struct drawing *drawing, const gordian_edge *edge, char *text,
                          size_t size)
{
    const struct labels *labels = drawing->labels;
    uint64_t free =
        edge->waits && labels->free_units ? labels->free_units(labels->context, edge->resource) : 0;
    char units[32] = "", left[40] = "";
    if (edge->units != 1)
        snprintf(units, sizeof units, "%llu", (unsigned long long)edge->units);
    if (free)
        snprintf(left, sizeof left, " (%llu free)", (unsigned long long)free);
    snprintf(text, size, "%s%s%s%s", *units ? " " : "", *units ? strokes_of(drawing)->times : "",
             units, left);
    return (*units ? 2 + strlen(units) : 0) + strlen(left);
}

static void measure_part(struct part *part)
{
    char text[96];
    bool whole = part->drawing->whole || part->wait_count <= PART_MOST;
    part->shown = whole ? part->wait_count : PART_HEAD;
    for (size_t i = 0; i < part->shown; i++) {
        const gordian_edge *wait = &part->waits[i];
        part->process_width =
            larger_of(part->process_width, process_width(part->drawing, wait->process));
        part->label_width =
            larger_of(part->label_width, resource_width(part->drawing, wait->resource) +
                                             amount_text(part->drawing, wait, text, sizeof text));
    }
}

/* Returns the index of the first hold of a resource. */
static size_t find_holds(const struct part *part, uint32_t resource)
{
    size_t low = 0, high = part->hold_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (part->holds[middle].resource < resource)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void draw_holders(const struct part *part, uint32_t resource)
{
    const struct drawing *drawing = part->drawing;
    char text[96];
    size_t i = find_holds(part, resource), shown = 0, left = 0;
    for (; i < part->hold_count && part->holds[i].resource == resource; i++) {
        if (shown == NAMES_MOST && !drawing->whole) {
            left++;
            continue;
        }
        output_text(drawing->out, shown++ ? ", " : "");
        process_name(drawing, part->holds[i].process);
        amount_text(drawing, &part->holds[i], text, sizeof text);
        output_text(drawing->out, text);
    }
    if (left)
        output_format(drawing->out, " and %zu more", left);
}

/* Do its holders block this wait? They do not if enough units are free. */
static bool shows_holders(const struct part *part, const gordian_edge *wait)
{
    const struct labels *labels = part->drawing->labels;
    if (labels->free_units && labels->free_units(labels->context, wait->resource) >= wait->units)
        return false;
    size_t i = find_holds(part, wait->resource);
    return i < part->hold_count && part->holds[i].resource == wait->resource;
}

static void draw_row(const struct part *part, size_t i)
{
    const struct drawing *drawing = part->drawing;
    const struct strokes *strokes = strokes_of(drawing);
    const gordian_edge *wait = &part->waits[i];
    bool again = i > 0 && part->waits[i - 1].process == wait->process;
    char text[96];
    output_text(drawing->out, INDENT);
    if (!again)
        process_name(drawing, wait->process);
    begin_line(drawing);
    output_text(drawing->out, again ? strokes->bottom_left : " ");
    put_dashes(drawing,
               part->process_width + 2 - (again ? 0 : process_width(drawing, wait->process)));
    put_phrase(drawing, again ? "and for" : "waits for");
    put_arrow(drawing, again ? 3 : 1);
    resource_name(drawing, wait->resource);
    size_t width =
        resource_width(drawing, wait->resource) + amount_text(drawing, wait, text, sizeof text);
    output_text(drawing->out, text);
    if (shows_holders(part, wait)) {
        begin_line(drawing);
        output_text(drawing->out, " ");
        put_dashes(drawing, part->label_width - width + 2);
        put_phrase(drawing, holding_text(drawing, wait->resource));
        put_arrow(drawing, 1);
        draw_holders(part, wait->resource);
    }
    output_char(drawing->out, '\n');
}

static void draw_list(struct part *part)
{
    measure_part(part);
    for (size_t i = 0; i < part->shown; i++)
        draw_row(part, i);
    if (part->shown < part->wait_count)
        output_format(part->drawing->out, INDENT "%s %zu more waits (--verbose shows all)\n",
                      strokes_of(part->drawing)->gap, part->wait_count - part->shown);
}

/* Returns the only hold of a resource, or NULL. */
static const gordian_edge *only_holder(const struct part *part, uint32_t resource)
{
    size_t i = find_holds(part, resource);
    if (i == part->hold_count || part->holds[i].resource != resource)
        return NULL;
    bool another = i + 1 < part->hold_count && part->holds[i + 1].resource == resource;
    return another ? NULL : &part->holds[i];
}

/* Returns the only wait of a process among those sorted by process, or NULL. */
static const gordian_edge *only_wait(const gordian_edge *waits, size_t count, uint32_t process)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (waits[middle].process < process)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || waits[low].process != process)
        return NULL;
    bool another = low + 1 < count && waits[low + 1].process == process;
    return another ? NULL : &waits[low];
}

/* With larger requests a part may still be a plain cycle of single units. Lists its edges from
 * `first` on in `cycle`, which has space for twice the waits, and returns true. */
static bool trace_cycle(const struct part *part, uint32_t first, gordian_edge *cycle)
{
    uint32_t process = first;
    for (size_t i = 0; i < part->wait_count; i++) {
        const gordian_edge *wait = only_wait(part->waits, part->wait_count, process);
        const gordian_edge *hold = wait ? only_holder(part, wait->resource) : NULL;
        bool plain_units = hold && wait->units == 1 && hold->units == 1;
        if (!plain_units || (i > 0 && process == first))
            return false;
        cycle[2 * i] = *wait;
        cycle[2 * i + 1] = *hold;
        process = hold->process;
    }
    return process == first && part->wait_count > 0;
}

static bool draw_part(const struct drawing *drawing, const gordian_witness *witness, uint32_t first)
{
    /* Waits and holds, and space to reorder them. */
    gordian_edge *edges = calloc(3 * witness->count + 1, sizeof *edges);
    if (!edges)
        return false;
    size_t waits = 0;
    for (size_t i = 0; i < witness->count; i++)
        waits += witness->edges[i].waits;
    struct part part = {.drawing = drawing, .waits = edges, .holds = edges + waits};
    split_edges(&part, witness);
    gordian_edge *space = edges + witness->count;
    if (trace_cycle(&part, first, space)) {
        draw_cycle(drawing, &(gordian_witness){true, space, 2 * waits});
    } else {
        put_first(&part, space, first);
        draw_list(&part);
    }
    free(edges);
    return true;
}

bool draw_witness(const struct drawing *drawing, const gordian_witness *witness, uint32_t first)
{
    if (!witness->cycle)
        return draw_part(drawing, witness, first);
    draw_cycle(drawing, witness);
    return true;
}

size_t draw_names_limit(const struct drawing *drawing)
{
    return drawing->whole ? SIZE_MAX : NAMES_MOST;
}

void draw_names(const struct drawing *drawing, const struct name_list *list)
{
    size_t most = draw_names_limit(drawing), shown = list->count < most ? list->count : most;
    for (size_t i = 0; i < shown; i++) {
        output_text(drawing->out, i ? ", " : "");
        style_name(&drawing->style, drawing->out, COLOR_PROCESS, list->names[i]);
    }
    if (shown < list->count)
        output_format(drawing->out, " and %zu more", list->count - shown);
}
