/* The matrices of a system whose engine has them, as text, JSON and SVG: those of figures 1.1
 * and 1.2 of the thesis. A single-unit system has AG, AR, Sink, RR and RP; a multi-unit system has
 * AG, AR, RP and SP.
 *
 *     matrices.c  reading, text, JSON
 *     matrices_svg.c   SVG */
#pragma once

#include "foundation/base/json/json_write.h"
#include "output/show/draw.h"

/* The rows or the columns of a matrix. */
struct matrix_side {
    const uint32_t *ids; /* ids in use */
    size_t count;
    enum { SIDE_PROCESSES, SIDE_RESOURCES, SIDE_ALL } kind; /* SIDE_ALL: one row without a name */
};

struct matrices {
    const gordian_system *system;
    const struct labels *labels;
    uint32_t *processes, *resources; /* ids in use */
    size_t process_count, resource_count;
    uint64_t *values; /* values of the row that was read last */
};

struct matrix_view {
    const char *name;
    struct matrix_side rows, columns;
    int which; /* gordian_matrix, or MATRIX_SP: computed from the graph */
};
#define MATRIX_SP (-1)

/* Opens the matrices of the current state. If it fails, nothing is to be closed. */
gordian_status matrices_open(struct matrices *matrices, const gordian_system *system,
                             const struct labels *labels, gordian_error *error);
void matrices_close(struct matrices *matrices);

/* Returns the matrix number `index` of a system of this model. False: there are no more. */
bool matrices_at(const struct matrices *matrices, size_t index, struct matrix_view *view);
/* Reads a row, by its position among the rows, into matrices->values. */
gordian_status matrices_read(struct matrices *matrices, const struct matrix_view *view, size_t row,
                             gordian_error *error);
const char *matrix_label(const struct matrices *matrices, const struct matrix_side *side,
                         size_t index);

/* Prints each matrix as a table with names; of large ones only how to see them. */
gordian_status matrices_draw(struct matrices *matrices, const struct drawing *drawing,
                             gordian_error *error);
/* Writes "matrices":{"processes":[...],"resources":[...],"AG":[[...],...],...}. */
gordian_status matrices_json(struct matrices *matrices, struct json *json, gordian_error *error);
/* Draws all matrices. */
gordian_status matrices_picture(struct matrices *matrices, struct output *out,
                                gordian_error *error);
