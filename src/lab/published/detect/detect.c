#include "lab/published/detect/detect_internal.h"
#include "lab/published/published.h"

#include "foundation/base/error.h"

static const struct {
    const char *name;
    enum form form;
    bool multi;
} methods[PUBLISHED_METHODS] = {
    [PUBLISHED_METHOD_OSDDA_BITS] = {"osdda-bits", FORM_BITS, false},
    [PUBLISHED_METHOD_OSDDA_CHARS] = {"osdda-chars", FORM_CHARS, false},
    [PUBLISHED_METHOD_OSDDA_INTS] = {"osdda-ints", FORM_INTS, false},
    [PUBLISHED_METHOD_LMDDA_BITS] = {"lmdda-bits", FORM_BITS, true},
    [PUBLISHED_METHOD_LMDDA_CHARS] = {"lmdda-chars", FORM_CHARS, true},
};

const char *published_method_name(enum published_method method)
{
    return method < PUBLISHED_METHODS ? methods[method].name : NULL;
}

bool published_is_multi_unit(enum published_method method)
{
    return methods[method].multi;
}

/* ------------------------------------------------------------------ storage */

static gordian_status make_zeroed(struct published_detect *d, gpu_address *out, size_t bytes,
                                  gordian_error *error)
{
    TRY(gpu_alloc(d->gpu, out, bytes, error));
    return gpu_zero(d->gpu, *out, bytes, error);
}

/* Sets ones along the diagonal: the initial RR, and the papers' matrix of masks. */
static gordian_status set_diagonal(struct published_detect *d, gpu_address matrix, uint32_t count,
                                   uint32_t across, gordian_error *error)
{
    unsigned char *row = memory_zeroed(&d->memory, across * d->cell_bytes);
    gordian_status status = row ? GORDIAN_OK : fail_memory(error);
    for (uint32_t i = 0; i < count && status == GORDIAN_OK; i++) {
        const size_t byte = d->form == FORM_BITS ? i / 8 : i * d->cell_bytes;
        row[byte] = (unsigned char)(d->form == FORM_BITS ? 1u << i % 8 : 1);
        status =
            gpu_write(d->gpu, matrix_row(d, matrix, i, across), row, across * d->cell_bytes, error);
        row[byte] = 0;
    }
    memory_free(&d->memory, row);
    return status;
}

static gordian_status make_osdda(struct published_detect *d, gordian_error *error)
{
    const size_t bytes = matrix_bytes(d, d->resource_tiles, d->across_processes);
    TRY(make_zeroed(d, &d->ag, bytes, error));
    TRY(make_zeroed(d, &d->sink, bytes, error));
    TRY(make_zeroed(d, &d->sink_before, bytes, error));
    TRY(make_zeroed(d, &d->rr, matrix_bytes(d, d->resource_tiles, d->across_resources), error));
    return set_diagonal(d, d->rr, d->resources, d->across_resources, error);
}

static gordian_status make_lmdda(struct published_detect *d, gordian_error *error)
{
    const size_t cells = (size_t)d->resource_tiles * d->process_tiles * PUBLISHED_TILE;
    TRY(make_zeroed(d, &d->ag, cells * PUBLISHED_TILE * d->cell_bytes, error));
    TRY(make_zeroed(d, &d->rp_after, matrix_bytes(d, d->resource_tiles, d->across_processes),
                    error));
    TRY(make_zeroed(d, &d->sp, d->across_processes * d->cell_bytes, error));
    TRY(make_zeroed(d, &d->masks, matrix_bytes(d, d->process_tiles, d->across_processes), error));
    return set_diagonal(d, d->masks, d->processes, d->across_processes, error);
}

static gordian_status make_method_matrices(struct published_detect *d, gordian_error *error)
{
    const size_t bytes = matrix_bytes(d, d->resource_tiles, d->across_processes);
    TRY(make_zeroed(d, &d->rp, bytes, error));
    TRY(make_zeroed(d, &d->ar, matrix_bytes(d, d->process_tiles, d->across_resources), error));
    if (d->form == FORM_BITS)
        TRY(make_zeroed(d, &d->tiles, bytes, error));
    TRY(make_zeroed(d, &d->turned, bytes, error));
    TRY(make_zeroed(d, &d->flags, FLAGS * sizeof(uint32_t), error));
    return methods[d->method].multi ? make_lmdda(d, error) : make_osdda(d, error);
}

gordian_status published_detect_open(struct published_detect **out, struct gpu *gpu,
                                     enum published_method method, uint32_t processes,
                                     uint32_t resources, uint64_t units, gordian_error *error)
{
    *out = NULL;
    if (units > 1 && !methods[method].multi)
        return fail(error, GORDIAN_STATUS_INPUT, "%s: every resource has one unit",
                    methods[method].name);
    if (units > (methods[method].form == FORM_CHARS ? UINT8_MAX : UINT32_MAX))
        return fail(error, GORDIAN_STATUS_INPUT, "%s: %llu units of a resource are too many",
                    methods[method].name, (unsigned long long)units);
    gordian_allocator memory = memory_allocator(NULL);
    struct published_detect *d = memory_zeroed(&memory, sizeof *d);
    if (!d)
        return fail_memory(error);
    const enum form form = methods[method].form;
    const uint32_t wide = form == FORM_BITS ? 1 : PUBLISHED_TILE; /* cells in a row of a tile */
    d->memory = memory;
    d->gpu = gpu;
    d->method = method;
    d->form = form;
    d->processes = processes;
    d->resources = resources;
    d->process_tiles = (processes + PUBLISHED_TILE - 1) / PUBLISHED_TILE;
    d->resource_tiles = (resources + PUBLISHED_TILE - 1) / PUBLISHED_TILE;
    d->across_processes = d->process_tiles * wide;
    d->across_resources = d->resource_tiles * wide;
    d->cell_bytes = form == FORM_CHARS ? 1 : sizeof(uint32_t);
    gordian_status status = make_method_matrices(d, error);
    if (status != GORDIAN_OK) {
        published_detect_close(d);
        return status;
    }
    *out = d;
    return GORDIAN_OK;
}

void published_detect_close(struct published_detect *d)
{
    if (!d)
        return;
    const gpu_address parts[] = {d->ag,       d->ar, d->sink,  d->sink_before, d->rr,     d->rp,
                                 d->rp_after, d->sp, d->masks, d->tiles,       d->turned, d->flags};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        gpu_free(d->gpu, parts[i]);
    memory_free(&d->memory, d);
}

/* ------------------------------------------------------------------ steps */

gordian_status published_detect_flag(struct published_detect *d, enum flag flag, bool *value,
                                     gordian_error *error)
{
    uint32_t word = 0;
    TRY(gpu_read(d->gpu, &word, flag_address(d, flag), sizeof word, error));
    *value = word != 0;
    return GORDIAN_OK;
}

gordian_status published_detect_launch(struct published_detect *d, const struct step *step,
                                       struct grid grid, const void *arguments, size_t size,
                                       gordian_error *error)
{
    const struct gpu_launch launch = published_launch(
        step->names[d->form], grid.blocks,
        grid.threads < PUBLISHED_MOST_THREADS ? grid.threads : PUBLISHED_MOST_THREADS, arguments,
        size);
    return gpu_launch(d->gpu, &launch, error);
}

gordian_status published_detect_transpose(struct published_detect *d, gpu_address matrix,
                                          uint32_t down, uint32_t across, gordian_error *error)
{
    static const struct step turn = STEP("transpose"),
                             move = {{"published_transpose_tiles", NULL, NULL}};
    struct published_transpose_arguments a = {matrix, d->turned, down, across};
    if (d->form != FORM_BITS) {
        struct grid grid = {down * across, PUBLISHED_TILE_THREADS};
        return published_detect_launch(d, &turn, grid, &a, sizeof a, error);
    }
    struct grid grid = {down, across};
    a.out = d->tiles;
    TRY(published_detect_launch(d, &turn, grid, &a, sizeof a, error));
    a.in = d->tiles;
    a.out = d->turned;
    return published_detect_launch(d, &move, grid, &a, sizeof a, error);
}

/* ------------------------------------------------------------------ events */

static const struct detect_events *method_events(const struct published_detect *d)
{
    return methods[d->method].multi ? &published_lmdda_events : &published_osdda_events;
}

gordian_status published_detect_grant(struct published_detect *d, uint32_t process,
                                      uint32_t resource, gordian_error *error)
{
    const struct published_event event = {process, resource, PUBLISHED_NOBODY};
    return method_events(d)->grant(d, &event, error);
}

gordian_status published_detect_block(struct published_detect *d, uint32_t process,
                                      uint32_t resource, gordian_outcome *outcome,
                                      gordian_error *error)
{
    const struct published_event event = {process, resource, PUBLISHED_NOBODY};
    bool deadlock = false;
    TRY(method_events(d)->block(d, &event, &deadlock, error));
    *outcome = deadlock ? GORDIAN_OUTCOME_DEADLOCK : GORDIAN_OUTCOME_BLOCKED;
    return GORDIAN_OK;
}

gordian_status published_detect_release(struct published_detect *d, uint32_t process,
                                        uint32_t resource, uint32_t heir, gordian_error *error)
{
    const struct published_event event = {process, resource, heir};
    return method_events(d)->release(d, &event, error);
}

/* ------------------------------------------------------------------ reading */

/* Layout of a matrix in device memory. */
struct layout {
    gpu_address at;
    uint32_t rows, columns, padded; /* padded: columns */
    bool packed;
    size_t bytes; /* size of an element that is not packed */
};

static struct layout find_matrix_layout(const struct published_detect *d,
                                        enum published_matrix which)
{
    const bool packed = d->form == FORM_BITS;
    const uint32_t processes = d->process_tiles * PUBLISHED_TILE;
    const uint32_t resources = d->resource_tiles * PUBLISHED_TILE;
    struct layout of_processes = {0, d->resources, d->processes, processes, packed, d->cell_bytes};
    struct layout of_resources = {0, d->resources, d->resources, resources, packed, d->cell_bytes};
    switch (which) {
    case PUBLISHED_MATRIX_AG:
        of_processes.at = d->ag;
        of_processes.packed = packed && !methods[d->method].multi;
        return of_processes;
    case PUBLISHED_MATRIX_AR:
        of_resources.at = d->ar;
        of_resources.rows = d->processes;
        return of_resources;
    case PUBLISHED_MATRIX_RR:
        of_resources.at = d->rr;
        return of_resources;
    case PUBLISHED_MATRIX_SINK:
        of_processes.at = d->sink;
        return of_processes;
    case PUBLISHED_MATRIX_RP:
        of_processes.at = d->rp;
        return of_processes;
    case PUBLISHED_MATRIX_SP:
        of_processes.at = d->sp;
        of_processes.rows = 1;
        return of_processes;
    }
    return of_processes;
}

gordian_status published_detect_read(struct published_detect *d, enum published_matrix which,
                                     uint32_t *values, gordian_error *error)
{
    const struct layout layout = find_matrix_layout(d, which);
    if (!layout.at)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "%s has no such matrix",
                    methods[d->method].name);
    const size_t bytes = layout.packed ? layout.padded / 8 : layout.padded * layout.bytes;
    void *row = memory_alloc(&d->memory, bytes);
    gordian_status status = row ? GORDIAN_OK : fail_memory(error);
    for (uint32_t r = 0; r < layout.rows && status == GORDIAN_OK; r++) {
        status = gpu_read(d->gpu, row, layout.at + r * bytes, bytes, error);
        for (uint32_t c = 0; c < layout.columns && status == GORDIAN_OK; c++)
            values[(size_t)r * layout.columns + c] =
                layout.packed       ? ((const uint32_t *)row)[c / 32] >> c % 32 & 1
                : layout.bytes == 1 ? ((const uint8_t *)row)[c]
                                    : ((const uint32_t *)row)[c];
    }
    memory_free(&d->memory, row);
    return status;
}
