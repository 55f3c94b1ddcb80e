#include "report/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void add_edges(struct picture *picture)
{
    const struct report *report = picture->report;
    for (size_t i = 0; i < report->edge_count; i++) {
        const struct report_edge *edge = &report->edges[i];
        bool waits = edge->raw.flags & INCIDENT_WAITS;
        uint32_t lock = lock_node(report, edge->raw.lock);
        if (!edge_drawn(report, &edge->raw))
            continue;
        picture->arrows[picture->count++] = (struct arrow){
            .from = waits ? edge->raw.thread : lock,
            .to = waits ? lock : edge->raw.thread,
            .waits = waits,
            .witness = edge->raw.flags & INCIDENT_WITNESS,
            .word = waits ? "waits for" : held_text(report, edge->raw.lock),
            .site = &edge->site,
        };
    }
    picture->cycle = report->cycle;
}

static void add_orders(struct picture *picture)
{
    const struct report *report = picture->report;
    picture->cycle = report->order_count > 0;
    for (size_t i = 0; i < report->order_count; i++) {
        const struct report_order *order = &report->orders[i];
        const struct report_order *next = &report->orders[(i + 1) % report->order_count];
        uint32_t lock = lock_node(report, order->raw.taken);
        picture->arrows[picture->count++] = (struct arrow){.from = order->raw.thread,
                                                           .to = lock,
                                                           .waits = true,
                                                           .witness = true,
                                                           .word = "can wait for",
                                                           .site = &order->taken};
        picture->arrows[picture->count++] = (struct arrow){.from = lock,
                                                           .to = next->raw.thread,
                                                           .witness = true,
                                                           .word = "held by",
                                                           .site = &next->held};
        picture->cycle = picture->cycle && order->raw.taken == next->raw.held;
    }
}

bool picture_open(struct picture *picture, const struct report *report)
{
    size_t most = report->edge_count + 2 * report->order_count;
    *picture = (struct picture){.report = report};
    picture->arrows = calloc(most + 1, sizeof *picture->arrows);
    if (!picture->arrows)
        return false;
    if (report->order_count)
        add_orders(picture);
    else
        add_edges(picture);
    return true;
}

void picture_close(struct picture *picture)
{
    free(picture->arrows);
    *picture = (struct picture){0};
}

const char *node_name(const struct picture *picture, uint32_t node)
{
    const struct report *report = picture->report;
    return node_is_lock(picture, node) ? report->locks[node - report->thread_count].name
                                       : report->threads[node].name;
}

const char *node_kind(const struct picture *picture, uint32_t node, char *text, size_t size)
{
    const struct report *report = picture->report;
    if (node_is_lock(picture, node))
        return lock_kind(&report->locks[node - report->thread_count].raw, text, size);
    snprintf(text, size, "thread %u", report->threads[node].raw.tid);
    return text;
}

const char *arrow_place(const struct arrow *arrow, char *text, size_t size)
{
    const struct frame *frame = frame_of_interest(arrow->site);
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
