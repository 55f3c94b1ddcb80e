/* The wait-for graph as a picture, for Graphviz or as an SVG: parties and resources are nodes,
 * waits and holds are arrows.
 *
 *     struct picture picture;
 *     picture_open(&picture, "2 threads of bank wait for each other");
 *     uint32_t ann = picture_node(&picture, "ann", "thread 17", false);
 *     ...
 *     picture_arrow(&picture, ann, fork, true, "waits for", "eat, dine.c:31");
 *     picture_svg(&picture, out);
 *     picture_close(&picture);
 *
 * Texts are copied. If memory runs out, `failed` is set and the picture is not written. */
#pragma once

#include "foundation/base/arena.h"
#include "foundation/base/io/output.h"

struct picture_node {
    const char *name;
    const char *kind; /* second line: "thread 4711", "recursive mutex" */
    bool lock;        /* a resource */
    bool drawn;       /* an arrow begins or ends there */
    bool blamed;      /* the cause: highlighted */
};

struct picture_arrow {
    uint32_t from, to;
    bool waits;
    const char *word;  /* "waits for", "held by", ... */
    const char *place; /* second line: "transfer, bank.c:31", or "" */
};

struct picture {
    const char *title;
    struct picture_node *nodes;
    size_t node_count, node_room;
    struct picture_arrow *arrows;
    size_t arrow_count, arrow_room;
    bool cycle; /* the arrows form a cycle, in order */
    bool failed;
    struct arena arena;
    gordian_allocator memory;
};

void picture_open(struct picture *picture, const char *title);
void picture_close(struct picture *picture);

/* Adds a node and returns its number: 0, 1, ... */
uint32_t picture_node(struct picture *picture, const char *name, const char *kind, bool lock);
void picture_arrow(struct picture *picture, uint32_t from, uint32_t to, bool waits,
                   const char *word, const char *place);

void picture_dot(const struct picture *picture, struct output *out);
void picture_svg(const struct picture *picture, struct output *out);
