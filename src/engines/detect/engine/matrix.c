/* The matrix engine: chooses the method by the system's model. matrix.h tells what the matrices
 * are. */
#include "engines/detect/engine/matrix.h"

#include "foundation/base/error.h"

bool matrix_supports(const void *model, const char **why)
{
    if (*(const gordian_model *)model != GORDIAN_MODEL_GENERAL)
        return true;
    *why = "a request for several units or resources has to wait: only sparse and reduce judge "
           "that";
    return false;
}

static const struct matrix_method *matrix_method_of(gordian_model model)
{
    return model == GORDIAN_MODEL_SINGLE_UNIT ? &matrix_osdda : &matrix_lmdda;
}

static const struct detect_engine *matrix_refine(gordian_model model)
{
    return &matrix_method_of(model)->hooks;
}

static gordian_status matrix_open(void **engine, struct rag *rag, gordian_error *error)
{
    struct matrix_engine *e = memory_zeroed(&rag->memory, sizeof *e);
    if (!e)
        return fail_memory(error);
    e->memory = rag->memory;
    e->rag = rag;
    *engine = e;
    return GORDIAN_OK;
}

static void matrix_close(void *engine)
{
    struct matrix_engine *e = engine;
    if (!e)
        return;
    if (e->method)
        e->method->close(e->state);
    memory_free(&e->memory, e);
}

static gordian_status matrix_prepare(void *engine, gordian_model model, uint32_t process_limit,
                                     uint32_t resource_limit, gordian_error *error)
{
    struct matrix_engine *e = engine;
    const char *why = NULL;
    if (!matrix_supports(&model, &why))
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "engine matrix: %s", why);
    const struct matrix_method *method = matrix_method_of(model);
    if (method == e->method) {
        bool grown = method->grow(e->state, process_limit, resource_limit);
        return grown ? GORDIAN_OK : fail_memory(error);
    }
    void *state = method->open(e->rag, process_limit, resource_limit);
    if (!state)
        return fail_memory(error);
    if (e->method)
        e->method->close(e->state);
    e->method = method;
    e->state = state;
    return GORDIAN_OK;
}

/* A matrix as it is asked for from outside. */
struct view {
    const struct bit_matrix *matrix;
    uint32_t columns;
    bool counts; /* words, not bits */
};

/* Fails where there is no such matrix or no such row. */
static gordian_status find_matrix(const struct matrix_engine *e, gordian_matrix which, uint32_t row,
                                  struct view *view, gordian_error *error)
{
    bool of_processes = which == GORDIAN_MATRIX_AR;
    uint32_t rows = of_processes ? e->rag->process_limit : e->rag->resource_limit;
    if (row >= rows)
        return fail(error, GORDIAN_STATUS_INPUT, "the matrix has %u rows: no row %u", rows, row);
    view->matrix = e->method->matrix(e->state, which, &view->counts);
    if (!view->matrix)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "a multi-unit system has no such matrix");
    bool across_resources = of_processes || which == GORDIAN_MATRIX_RR;
    view->columns = across_resources ? e->rag->resource_limit : e->rag->process_limit;
    return GORDIAN_OK;
}

static gordian_status matrix_get(const void *engine, gordian_matrix which, uint32_t row,
                                 uint32_t column, uint64_t *value, gordian_error *error)
{
    struct view view = {0};
    TRY(find_matrix(engine, which, row, &view, error));
    if (column >= view.columns)
        return fail(error, GORDIAN_STATUS_INPUT, "the matrix has %u columns: no column %u",
                    view.columns, column);
    *value = view.counts ? bit_row(view.matrix, row)[column] : bit_get(view.matrix, row, column);
    return GORDIAN_OK;
}

static gordian_status matrix_read_row(const void *engine, gordian_matrix which, uint32_t row,
                                      const uint64_t **words, size_t *count, gordian_error *error)
{
    struct view view = {0};
    TRY(find_matrix(engine, which, row, &view, error));
    if (view.counts)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    "a multi-unit system counts its grants: they are no row of bits");
    *words = bit_row(view.matrix, row);
    *count = bits_words(view.columns);
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
    .matrix_get = matrix_get,
    .matrix_row = matrix_read_row,
};
