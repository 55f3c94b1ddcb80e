/* The matrix engine: chooses the method by the system's model. matrix.h defines the matrices. */
#include "engines/detect/engine/matrix.h"

#include "foundation/base/error.h"

#include <string.h>

_Static_assert(GORDIAN_MATRIX_AG == 0 && GORDIAN_MATRIX_AR == 1 && GORDIAN_MATRIX_SINK == 2 &&
                   GORDIAN_MATRIX_RR == 3 && GORDIAN_MATRIX_RP == 4,
               "the order of the matrices in struct matrix_engine");

bool matrix_supports(const void *model, const char **why)
{
    if (*(const gordian_model *)model != GORDIAN_MODEL_GENERAL)
        return true;
    *why = "a request for several units or resources has to wait: only sparse and reduce support "
           "that";
    return false;
}

static const struct detect_engine *matrix_refine(gordian_model model)
{
    return model == GORDIAN_MODEL_SINGLE_UNIT ? &matrix_osdda : &matrix_lmdda;
}

static gordian_status matrix_open(void **engine, const struct detect_engine *table, struct rag *rag,
                                  gordian_error *error)
{
    (void)table;
    struct matrix_engine *e = memory_zeroed(&rag->memory, sizeof *e);
    if (!e)
        return fail_memory(error);
    e->memory = rag->memory;
    e->rag = rag;
    *engine = e;
    return GORDIAN_OK;
}

static void free_matrices(struct matrix_engine *e)
{
    for (size_t i = 0; i < MATRIX_COUNT; i++)
        bit_matrix_close(&e->all[i], &e->memory);
    memory_free_all(&e->memory, e->todo, e->released);
}

static void matrix_close(void *engine)
{
    struct matrix_engine *e = engine;
    if (!e)
        return;
    free_matrices(e);
    memory_free(&e->memory, e);
}

/* Allocates the matrices of the engine's method: no edges, every process runs. */
static bool allocate_matrices(struct matrix_engine *e)
{
    bool single = e->method == &matrix_osdda;
    size_t across_processes = matrix_words(e->process_room);
    size_t across_resources = matrix_words(e->resource_room);
    const struct {
        uint32_t rows;
        size_t words;
    } shapes[MATRIX_COUNT] = {
        {e->resource_room, single ? across_processes : e->process_room}, /* AG */
        {e->process_room, across_resources},                             /* AR */
        {single ? e->resource_room : 0, across_processes},               /* Sink */
        {single ? e->resource_room : 0, across_resources},               /* RR */
        {e->resource_room, across_processes},                            /* RP */
        {!single, across_processes},                                     /* running */
        {!single, across_resources},                                     /* hops */
    };
    for (size_t i = 0; i < MATRIX_COUNT; i++)
        if (shapes[i].rows &&
            !bit_matrix_open(&e->all[i], &e->memory, shapes[i].rows, shapes[i].words))
            return false;
    if (!single) {
        memset(e->running.words, 0xff, e->running.stride * sizeof *e->running.words);
        return true;
    }
    for (uint32_t q = 0; q < e->resource_room; q++)
        bit_set(&e->rr, q, q);
    e->todo = memory_alloc(&e->memory, e->resource_room * sizeof *e->todo);
    e->released = memory_alloc(&e->memory, e->resource_room * sizeof *e->released);
    return e->todo && e->released;
}

static gordian_status matrix_prepare(void *engine, gordian_model model, uint32_t process_limit,
                                     uint32_t resource_limit, gordian_error *error)
{
    struct matrix_engine *e = engine;
    const char *why = NULL;
    if (!matrix_supports(&model, &why))
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "engine matrix: %s", why);
    struct matrix_engine next = {.memory = e->memory, .rag = e->rag};
    next.method = matrix_refine(model);
    bool same = next.method == e->method;
    if (same && process_limit <= e->process_room && resource_limit <= e->resource_room)
        return GORDIAN_OK;
    next.process_room = memory_doubled(same ? e->process_room : 0, process_limit);
    next.resource_room = memory_doubled(same ? e->resource_room : 0, resource_limit);
    if (!allocate_matrices(&next)) {
        free_matrices(&next);
        return fail_memory(error);
    }
    for (size_t i = 0; i < MATRIX_COUNT && same; i++)
        bit_matrix_copy(&next.all[i], &e->all[i]);
    if (!same)
        (next.method == &matrix_osdda ? matrix_read_osdda : matrix_read_lmdda)(&next);
    free_matrices(e);
    *e = next;
    return GORDIAN_OK;
}

static gordian_status matrix_read_row(const void *engine, gordian_matrix which, uint32_t row,
                                      const uint64_t **words, gordian_error *error)
{
    const struct matrix_engine *e = engine;
    if (!e->all[which].words)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "a multi-unit system has no such matrix");
    bool counts = which == GORDIAN_MATRIX_AG && e->method == &matrix_lmdda;
    *words = counts ? NULL : bit_row(&e->all[which], row);
    return GORDIAN_OK;
}

const struct detect_engine detect_matrix = {
    .about =
        {
            .name = "matrix",
            .summary =
                "OSDDA and LMDDA on bit matrices: the papers' methods, every matrix readable",
            .supports = matrix_supports,
            .dense = true,
        },
    .open = matrix_open,
    .close = matrix_close,
    .prepare = matrix_prepare,
    .refine = matrix_refine,
    .matrix_row = matrix_read_row,
};
