#include "lab/published/compose/product.h"

#include "foundation/base/error.h"
#include "lab/published/compose/cpu.h"
#include "lab/published/published.h"

#include <string.h>

#define BLOCK_CELLS   256u  /* threads of a block: the thesis's 16 x 16 */
#define SURVEY_BLOCKS 1024u /* with more cells, a thread processes several */

/* ------------------------------------------------------------------ the place's memory */

/* On the CPU an address is a pointer. */
static void *host_pointer(gpu_address address)
{
    return (void *)(uintptr_t)address;
}

void product_free(const struct product_place *place, struct product_matrix *matrix)
{
    if (place->gpu)
        gpu_free(place->gpu, matrix->cells);
    else
        memory_free(&place->memory, host_pointer(matrix->cells));
    matrix->cells = 0;
}

static uint64_t product_cell_count(const struct product_matrix *matrix)
{
    return (uint64_t)matrix->rows * matrix->states;
}

static size_t product_matrix_bytes(const struct product_matrix *matrix)
{
    return (size_t)product_cell_count(matrix) * product_stride(matrix->slots, matrix->words) *
           sizeof(uint32_t);
}

static gordian_status alloc_cells(const struct product_place *place, struct product_matrix *matrix,
                                  gordian_error *error)
{
    uint64_t cells = product_cell_count(matrix),
             slots = (uint64_t)2 * matrix->slots * matrix->words;
    uint64_t bytes = (slots + 1) * sizeof(uint32_t);
    matrix->cells = 0;
    if (slots >= UINT32_MAX || cells > SIZE_MAX / bytes)
        return fail(error, GORDIAN_STATUS_MEMORY, "out of memory: %llu cells of %llu bytes",
                    (unsigned long long)cells, (unsigned long long)bytes);
    if (place->gpu)
        return gpu_alloc(place->gpu, &matrix->cells, product_matrix_bytes(matrix), error);
    matrix->cells =
        (gpu_address)(uintptr_t)memory_zeroed(&place->memory, product_matrix_bytes(matrix));
    return matrix->cells ? GORDIAN_OK : fail_memory(error);
}

gordian_status product_read(const struct product_place *place, const struct product_matrix *matrix,
                            uint32_t *cells, gordian_error *error)
{
    if (place->gpu)
        return gpu_read(place->gpu, cells, matrix->cells, product_matrix_bytes(matrix), error);
    memcpy(cells, host_pointer(matrix->cells), product_matrix_bytes(matrix));
    return GORDIAN_OK;
}

gordian_status product_load(const struct product_place *place, const struct product_factor *factor,
                            uint32_t first, uint32_t rows, struct product_matrix *matrix,
                            gordian_error *error)
{
    uint32_t stride = product_stride(factor->slots, factor->words);
    const uint32_t *from = factor->cells + (size_t)first * factor->states * stride;
    *matrix = (struct product_matrix){.states = factor->states,
                                      .first = first,
                                      .rows = rows,
                                      .words = factor->words,
                                      .slots = factor->slots,
                                      .most = factor->slots};
    gordian_status status = alloc_cells(place, matrix, error);
    TRY(status);
    if (!place->gpu)
        memcpy(host_pointer(matrix->cells), from, product_matrix_bytes(matrix));
    else
        status = gpu_write(place->gpu, matrix->cells, from, product_matrix_bytes(matrix), error);
    if (status != GORDIAN_OK)
        product_free(place, matrix);
    return status;
}

/* ------------------------------------------------------------------ products */

gordian_status product_make(const struct product_place *place, const struct product_matrix *left,
                            const struct product_matrix *right, uint32_t first, uint32_t rows,
                            struct product_matrix *product, gordian_error *error)
{
    uint64_t slots = (uint64_t)left->most * right->most;
    *product = (struct product_matrix){
        .states = left->states * right->states, .first = first, .rows = rows, .words = left->words};
    if (slots > UINT32_MAX / 4)
        return fail(error, GORDIAN_STATUS_MEMORY,
                    "out of memory: a cell might have %llu transitions", (unsigned long long)slots);
    product->slots = product->most = (uint32_t)slots;
    TRY(alloc_cells(place, product, error));
    if (place->gpu)
        TRY(gpu_zero(place->gpu, product->cells, product_matrix_bytes(product), error));
    return GORDIAN_OK;
}

gordian_status product_fill(const struct product_place *place, const struct product_matrix *left,
                            const struct product_matrix *right,
                            const struct product_matrix *product, gordian_error *error)
{
    struct published_product_arguments arguments = {
        .left = left->cells,
        .right = right->cells,
        .product = product->cells,
        .left_states = left->states,
        .right_states = right->states,
        .left_first = left->first,
        .right_first = right->first,
        .left_stride = product_stride(left->slots, left->words),
        .right_stride = product_stride(right->slots, right->words),
        .stride = product_stride(product->slots, product->words),
        .words = product->words,
        .first = product->first,
        .rows = product->rows,
    };
    uint64_t blocks = (product_cell_count(product) + BLOCK_CELLS - 1) / BLOCK_CELLS;
    if (!place->gpu) {
        product_fill_cpu(&arguments);
        return GORDIAN_OK;
    }
    if (blocks > INT32_MAX)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "%llu cells are too many for a launch",
                    (unsigned long long)product_cell_count(product));
    const struct gpu_launch launch = published_launch("published_product", (unsigned)blocks,
                                                      BLOCK_CELLS, &arguments, sizeof arguments);
    return gpu_launch(place->gpu, &launch, error);
}

/* ------------------------------------------------------------------ inspection of a product */

static gordian_status survey_device(const struct product_place *place,
                                    const struct product_matrix *matrix,
                                    struct published_product_survey *found, gordian_error *error)
{
    struct published_product_survey_arguments arguments = {
        .cells = matrix->cells,
        .count = product_cell_count(matrix),
        .stride = product_stride(matrix->slots, matrix->words)};
    uint64_t blocks = (arguments.count + BLOCK_CELLS - 1) / BLOCK_CELLS;
    struct gpu_launch launch = published_launch(
        "published_product_survey", (unsigned)(blocks < SURVEY_BLOCKS ? blocks : SURVEY_BLOCKS),
        BLOCK_CELLS, &arguments, sizeof arguments);
    gordian_status status = gpu_alloc(place->gpu, &arguments.out, sizeof *found, error);
    THEN(status, gpu_zero(place->gpu, arguments.out, sizeof *found, error));
    THEN(status, gpu_launch(place->gpu, &launch, error));
    THEN(status, gpu_read(place->gpu, found, arguments.out, sizeof *found, error));
    gpu_free(place->gpu, arguments.out);
    return status;
}

static void survey_host(const struct product_matrix *matrix, struct published_product_survey *found)
{
    const uint32_t *cells = host_pointer(matrix->cells);
    uint64_t stride = product_stride(matrix->slots, matrix->words);
    for (uint64_t i = 0; i < product_cell_count(matrix); i++) {
        uint32_t count = cells[i * stride];
        found->transitions += count;
        found->most = count > found->most ? count : found->most;
    }
}

gordian_status product_survey(const struct product_place *place, struct product_matrix *matrix,
                              uint64_t *transitions, gordian_error *error)
{
    struct published_product_survey found = {0};
    gordian_status status = GORDIAN_OK;
    if (place->gpu)
        status = survey_device(place, matrix, &found, error);
    else
        survey_host(matrix, &found);
    TRY(status);
    matrix->most = found.most;
    *transitions = found.transitions;
    return GORDIAN_OK;
}
