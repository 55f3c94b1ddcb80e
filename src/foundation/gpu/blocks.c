/* Sparse bit matrices: the pool of pages, from the host (blocks.h). */
#include "foundation/gpu/blocks.h"

#include <stdlib.h>
#include <string.h>

/* Pages of 128 bytes. The emulator's have 16 bytes, so that small matrices have many blocks, and
 * start with few, so that tests see them run out. */
#define SHIFT          5u
#define SHIFT_EMULATED 2u
#define START          16384u
#define START_EMULATED 64u
/* The least that is mapped. */
#define PIECE          (UINT64_C(2) << 20)
#define PIECE_EMULATED (UINT64_C(64) << 10)

/* For tests: GORDIAN_EMULATOR_PAGES=wide gives the emulator the page size of a device. */
static uint32_t shift_on(const struct gpu_info *info)
{
    const char *wanted = info->emulated ? getenv("GORDIAN_EMULATOR_PAGES") : NULL;
    bool wide = wanted && strcmp(wanted, "wide") == 0;
    return info->emulated && !wide ? SHIFT_EMULATED : SHIFT;
}

static uint64_t page_bytes(uint32_t shift)
{
    return sizeof(uint32_t) << shift;
}

/* ------------------------------------------------------------------ opening */

/* Maps zeroed memory for that many pages in all, and for the free lists that may hold them. */
static gordian_status back_pages(struct blocks *blocks, uint64_t pages, gordian_error *error)
{
    uint64_t bytes = page_bytes(blocks->store.shift), had = gpu_range_mapped(blocks->pages);
    for (unsigned i = 0; i < 2; i++)
        TRY(gpu_range_grow(blocks->lists[i], pages * sizeof(uint32_t), error));
    TRY(gpu_range_grow(blocks->pages, pages * bytes, error));
    TRY(gpu_zero(blocks->gpu, gpu_range_address(blocks->pages) + had,
                 gpu_range_mapped(blocks->pages) - had, error));
    blocks->limit = pages;
    return GORDIAN_OK;
}

static gordian_status make_ranges(struct blocks *blocks, uint64_t most, gordian_error *error)
{
    uint64_t bytes = page_bytes(blocks->store.shift);
    TRY(gpu_range_create(&blocks->pages, blocks->gpu, most * bytes, error));
    for (unsigned i = 0; i < 2; i++)
        TRY(gpu_range_create(&blocks->lists[i], blocks->gpu, most * sizeof(uint32_t), error));
    return GORDIAN_OK;
}

static gordian_status make_pool(struct blocks *blocks, uint64_t pages, gordian_error *error)
{
    void *alarm = NULL;
    gordian_status status =
        gpu_map(blocks->gpu, &alarm, &blocks->store.alarm, sizeof *blocks->alarm, error);
    blocks->alarm = alarm;
    THEN(status, gpu_alloc(blocks->gpu, &blocks->store.pool, sizeof(struct block_pool), error));
    THEN(status, back_pages(blocks, pages, error));
    if (status != GORDIAN_OK)
        return status;
    blocks->store.pages = gpu_range_address(blocks->pages);
    struct block_pool pool = {
        .lists = {gpu_range_address(blocks->lists[0]), gpu_range_address(blocks->lists[1])},
        .fresh = 1, /* 0 is no page */
        .limit = (uint32_t)pages};
    return gpu_write(blocks->gpu, blocks->store.pool, &pool, sizeof pool, error);
}

gordian_status blocks_open(struct blocks *blocks, struct gpu *gpu, gordian_error *error)
{
    struct gpu_info info;
    gpu_get_info(gpu, &info);
    *blocks = (struct blocks){.gpu = gpu, .store.shift = shift_on(&info)};
    uint64_t bytes = page_bytes(blocks->store.shift), most = info.memory / bytes;
    uint64_t start = info.emulated ? START_EMULATED : START;
    if (most > UINT32_MAX)
        most = UINT32_MAX;
    gordian_status status = make_ranges(blocks, most > start ? most : start, error);
    THEN(status, make_pool(blocks, start, error));
    THEN(status, gpu_wait(gpu, error));
    if (status != GORDIAN_OK)
        blocks_close(blocks);
    return status;
}

void blocks_close(struct blocks *blocks)
{
    if (blocks->store.pool)
        gpu_free(blocks->gpu, blocks->store.pool);
    if (blocks->alarm)
        gpu_unmap(blocks->gpu, blocks->alarm);
    gpu_range_destroy(blocks->pages);
    for (unsigned i = 0; i < 2; i++)
        gpu_range_destroy(blocks->lists[i]);
    *blocks = (struct blocks){0};
}

/* ------------------------------------------------------------------ matrices */

uint64_t blocks_bytes(const struct gpu_info *info)
{
    return 3 * (info->emulated ? PIECE_EMULATED : PIECE) + sizeof(struct block_pool);
}

/* Returns the links of a row of that many columns. */
static uint32_t top_count_of(const struct gpu_info *info, uint32_t columns)
{
    uint64_t under = UINT64_C(32) << 2 * shift_on(info);
    return (uint32_t)((columns + under - 1) / under);
}

uint64_t blocks_top_bytes(const struct gpu_info *info, uint32_t rows, uint32_t columns)
{
    return (uint64_t)rows * top_count_of(info, columns) * sizeof(uint32_t);
}

uint64_t blocks_matrix_bytes(const struct block_matrix *matrix)
{
    return (uint64_t)matrix->rows * matrix->top_count * sizeof(uint32_t);
}

gordian_status blocks_matrix(struct blocks *blocks, struct block_matrix *matrix, uint32_t rows,
                             uint32_t columns, gordian_error *error)
{
    struct gpu_info info;
    gpu_get_info(blocks->gpu, &info);
    uint64_t bytes = blocks_top_bytes(&info, rows, columns);
    *matrix = (struct block_matrix){.rows = rows, .top_count = top_count_of(&info, columns)};
    TRY(gpu_alloc(blocks->gpu, &matrix->tops, bytes, error));
    return gpu_zero(blocks->gpu, matrix->tops, bytes, error);
}

/* ------------------------------------------------------------------ growing */

/* Maps as many pages as there are, or as much of that as there is memory for, but at least
 * `needed`. */
static gordian_status more_pages(struct blocks *blocks, uint64_t needed, gordian_error *error)
{
    uint64_t bytes = page_bytes(blocks->store.shift) + 2 * sizeof(uint32_t);
    uint64_t most = gpu_range_reserved(blocks->pages) / page_bytes(blocks->store.shift);
    uint64_t more = blocks->limit > needed ? blocks->limit : needed;
    struct gpu_info info;
    gpu_get_info(blocks->gpu, &info);
    if (more > info.memory_free / bytes)
        more = info.memory_free / bytes > needed ? info.memory_free / bytes : needed;
    if (more > most - blocks->limit)
        more = most - blocks->limit > needed ? most - blocks->limit : needed;
    gordian_error why = {0};
    gordian_status status = GORDIAN_STATUS_MEMORY;
    for (; status == GORDIAN_STATUS_MEMORY && more >= needed; more /= 2)
        status = back_pages(blocks, blocks->limit + more, &why);
    if (status == GORDIAN_OK || gpu_failed(blocks->gpu))
        return status == GORDIAN_OK ? status : gpu_wait(blocks->gpu, error);
    return fail(
        error, GORDIAN_STATUS_MEMORY,
        "the matrices' blocks take %llu KiB of device memory, and %llu KiB more are needed: "
        "%.60s has %llu KiB, %llu of them free",
        (unsigned long long)(blocks->limit * bytes >> 10),
        (unsigned long long)(needed * bytes >> 10) + 1, info.name,
        (unsigned long long)(info.memory >> 10), (unsigned long long)(info.memory_free >> 10));
}

gordian_status blocks_map_more(struct blocks *blocks, bool *again, gordian_error *error)
{
    struct block_pool pool;
    *again = __atomic_load_n(blocks->alarm, __ATOMIC_ACQUIRE) != 0;
    if (!*again)
        return GORDIAN_OK;
    TRY(gpu_read(blocks->gpu, &pool, blocks->store.pool, sizeof pool, error));
    block_pool_settle(&pool);
    TRY(more_pages(blocks, pool.refused, error));
    pool.limit = (uint32_t)blocks->limit;
    pool.again = 1;
    pool.refused = 0;
    *blocks->alarm = 0;
    TRY(gpu_write(blocks->gpu, blocks->store.pool, &pool, sizeof pool, error));
    return gpu_wait(blocks->gpu, error);
}

gordian_status blocks_count(struct blocks *blocks, uint64_t *bytes, uint64_t *used,
                            gordian_error *error)
{
    struct block_pool pool;
    TRY(gpu_read(blocks->gpu, &pool, blocks->store.pool, sizeof pool, error));
    block_pool_settle(&pool);
    *used = (uint64_t)(pool.fresh - 1 - pool.listed - pool.given) * page_bytes(blocks->store.shift);
    *bytes = gpu_range_mapped(blocks->pages) + gpu_range_mapped(blocks->lists[0]) +
             gpu_range_mapped(blocks->lists[1]) + sizeof pool;
    return GORDIAN_OK;
}
