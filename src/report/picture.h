/* The graph that DOT and SVG show: threads and locks as nodes, waits and holds as arrows. */
#ifndef GORDIAN_REPORT_PICTURE_H
#define GORDIAN_REPORT_PICTURE_H

#include "report/report.h"

struct arrow {
    uint32_t from, to; /* nodes: threads first, then locks */
    bool waits;
    bool witness;
    const char *word; /* "waits for", "held by", ... */
    const struct stack *site;
};

struct picture {
    const struct report *report;
    struct arrow *arrows;
    size_t count;
    bool cycle; /* the arrows go around, one after the other */
};

/* The witness where there is one, otherwise everything; the orders of a potential deadlock. False:
 * out of memory. */
bool picture_open(struct picture *picture, const struct report *report);
void picture_close(struct picture *picture);

static inline bool node_is_lock(const struct picture *picture, uint32_t node)
{
    return node >= picture->report->thread_count;
}

const char *node_name(const struct picture *picture, uint32_t node);
/* "thread 4711", "recursive mutex": the second line of a node. */
const char *node_kind(const struct picture *picture, uint32_t node, char *text, size_t size);
/* "transfer, bank.c:31" or "": what an arrow is labelled with. */
const char *arrow_place(const struct arrow *arrow, char *text, size_t size);

#endif
