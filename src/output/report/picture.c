/* The graph that DOT and SVG show: threads and locks as nodes, waits and holds as arrows. */
#include "output/show/picture.h"

#include "output/report/report.h"

#include <stdio.h>
#include <string.h>

/* Nodes: threads first, then locks. */
static uint32_t lock_node(const struct report *report, uint32_t lock)
{
    return (uint32_t)report->thread_count + lock;
}

static bool edge_drawn(const struct report *report, const struct incident_edge *edge)
{
    if (report->witness_count)
        return edge->flags & INCIDENT_WITNESS;
    if (edge->flags & INCIDENT_WAITS)
        return true;
    for (size_t i = 0; i < report->edge_count; i++)
        if (report->edges[i].raw.lock == edge->lock &&
            (report->edges[i].raw.flags & INCIDENT_WAITS))
            return true;
    return false;
}

/* "transfer, bank.c:31" or "": what an arrow is labelled with. */
static const char *site_text(const struct stack *site, char *text, size_t size)
{
    const struct frame *frame = frame_of_interest(site);
    text[0] = '\0';
    if (!frame)
        return text;
    const char *function = frame->function ? frame->function : "";
    if (frame->file && frame->line)
        snprintf(text, size, "%.40s%s%s:%u", function, *function ? ", " : "",
                 path_tail(frame->file), frame->line);
    else
        snprintf(text, size, "%.60s", function);
    return text;
}

static void add_edges(struct picture *picture, const struct report *report)
{
    char text[200];
    for (size_t i = 0; i < report->edge_count; i++) {
        const struct report_edge *edge = &report->edges[i];
        bool waits = edge->raw.flags & INCIDENT_WAITS;
        uint32_t lock = lock_node(report, edge->raw.lock);
        if (!edge_drawn(report, &edge->raw))
            continue;
        picture_arrow(picture, waits ? edge->raw.thread : lock, waits ? lock : edge->raw.thread,
                      waits, waits ? "waits for" : held_text(report, edge->raw.lock),
                      site_text(&edge->site, text, sizeof text));
    }
    picture->cycle = report->cycle;
}

static void add_orders(struct picture *picture, const struct report *report)
{
    char text[200];
    picture->cycle = report->order_count > 0;
    for (size_t i = 0; i < report->order_count; i++) {
        const struct report_order *order = &report->orders[i];
        const struct report_order *next = &report->orders[(i + 1) % report->order_count];
        uint32_t lock = lock_node(report, order->raw.taken);
        picture_arrow(picture, order->raw.thread, lock, true, "can wait for",
                      site_text(&order->taken, text, sizeof text));
        picture_arrow(picture, lock, next->raw.thread, false, "held by",
                      site_text(&next->held, text, sizeof text));
        picture->cycle = picture->cycle && order->raw.taken == next->raw.held;
    }
}

/* The witness where there is one, otherwise everything; the orders of a potential deadlock. */
static void draw_report(struct picture *picture, const struct report *report)
{
    char text[300];
    report_title(report, text, sizeof text);
    picture_open(picture, text);
    for (size_t i = 0; i < report->thread_count; i++) {
        snprintf(text, sizeof text, "thread %u", report->threads[i].raw.tid);
        picture_node(picture, report->threads[i].name, text, false);
    }
    for (size_t i = 0; i < report->lock_count; i++)
        picture_node(picture, report->locks[i].name,
                     lock_kind(&report->locks[i].raw, text, sizeof text), true);
    if (report->order_count)
        add_orders(picture, report);
    else
        add_edges(picture, report);
}

void report_dot(const struct report *report, struct output *out)
{
    struct picture picture;
    draw_report(&picture, report);
    picture_dot(&picture, out);
    picture_close(&picture);
}

void report_svg(const struct report *report, struct output *out)
{
    struct picture picture;
    draw_report(&picture, report);
    picture_svg(&picture, out);
    picture_close(&picture);
}
