/*
 * The matrices of a system whose engine keeps them, for people, as JSON and as a picture: what
 * figures 1.1 and 1.2 of the thesis show. A single-unit system has AG, AR, Sink, RR and RP, a
 * multi-unit one AG, AR, RP and SP.
 *
 *     matrices.c  reading, text, JSON
 *     picture.c   SVG
 */
#pragma once

#include "foundation/base/json/json_write.h"
#include "output/show/draw.h"

/* What rows or columns stand for. */
struct matrix_side {
    const uint32_t *ids; /* those in use */
    size_t count;
    enum { SIDE_PROCESSES, SIDE_RESOURCES, SIDE_ALL } kind; /* SIDE_ALL: one row, without a name */
};

struct matrices {
    const gordian_system *system;
    const struct labels *labels;
    uint32_t *processes, *resources; /* ids in use */
    size_t process_count, resource_count;
    uint64_t *values; /* of the row that was read last */
};

struct matrix_view {
    const char *name;
    struct matrix_side rows, columns;
    int which; /* gordian_matrix; MATRIX_SP: of the graph */
};
#define MATRIX_SP (-1)

/* The state as it is now. On failure there is nothing to close. */
gordian_status matrices_open(struct matrices *matrices, const gordian_system *system,
                             const struct labels *labels, gordian_error *error);
void matrices_close(struct matrices *matrices);

/* The index-th matrix that a system of this model has; false: there are no more. */
bool matrices_at(const struct matrices *matrices, size_t index, struct matrix_view *view);
/* Reads a row, by its place among the rows, into matrices->values. */
gordian_status matrices_read(struct matrices *matrices, const struct matrix_view *view, size_t row,
                             gordian_error *error);
const char *matrix_label(const struct matrices *matrices, const struct matrix_side *side,
                         size_t index);

/* Each as a table with names at its rows and columns; where they are too many, how to see them. */
gordian_status matrices_draw(struct matrices *matrices, const struct drawing *drawing,
                             gordian_error *error);
/* "matrices":{"processes":[...],"resources":[...],"AG":[[...],...],...} */
gordian_status matrices_json(struct matrices *matrices, struct json *json, gordian_error *error);
/* As a picture, whole. */
gordian_status matrices_picture(struct matrices *matrices, struct output *out,
                                gordian_error *error);
