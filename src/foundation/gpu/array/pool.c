/* Memory pools of chunks. The host changes them between kernels only; gordian/array.h describes
 * what kernels do. */
#include "foundation/gpu/array/array_internal.h"
#include "foundation/gpu/device.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define MEMBER(pool, member) ((pool)->control + offsetof(struct garray_pool, member))

static gordian_status read_next(const struct gpu_pool *pool, uint64_t *next, gordian_error *error)
{
    return gpu_read(pool->gpu, next, MEMBER(pool, next), sizeof *next, error);
}

/* ---- opening and closing */

/* Writes tables for `most` chunks: all free, in order. */
static gordian_status write_tables(struct gpu_pool *pool, gordian_error *error)
{
    const gordian_allocator *memory = &pool->gpu->memory;
    struct garray_pool control = {.chunk_bytes = pool->chunk_bytes,
                                  .base = gpu_range_address(pool->range),
                                  .order = pool->order,
                                  .owners = pool->owners};
    size_t bytes = pool->most * sizeof(uint32_t);
    uint32_t *order = memory_alloc(memory, bytes);
    if (!order)
        return fail_memory(error);
    for (uint32_t i = 0; i < pool->most; i++)
        order[i] = i;
    gordian_status status = gpu_write(pool->gpu, pool->control, &control, sizeof control, error);
    THEN(status, gpu_write(pool->gpu, pool->order, order, bytes, error));
    THEN(status, gpu_zero(pool->gpu, pool->owners, pool->most * sizeof(uint64_t), error));
    memory_free(memory, order);
    return status;
}

static gordian_status open_pool(struct gpu_pool *pool, uint64_t chunks, gordian_error *error)
{
    uint64_t owners = (sizeof(struct garray_pool) + POOL_ALIGNMENT - 1) & ~(POOL_ALIGNMENT - 1ull);
    uint64_t order = owners + pool->most * sizeof(uint64_t);
    TRY(gpu_range_create(&pool->range, pool->gpu, pool->most * pool->chunk_bytes, error));
    TRY(gpu_alloc(pool->gpu, &pool->control, order + pool->most * sizeof(uint32_t), error));
    pool->owners = pool->control + owners;
    pool->order = pool->control + order;
    TRY(write_tables(pool, error));
    return gpu_pool_reserve(pool, chunks, error);
}

gordian_status gpu_pool_create(struct gpu_pool **out, struct gpu *gpu,
                               const struct gpu_pool_options *options, gordian_error *error)
{
    *out = NULL;
    uint64_t bytes = options->chunk_bytes;
    if (bytes == 0 || bytes % POOL_ALIGNMENT != 0)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "chunks of %" PRIu64 " bytes: a multiple of %d is needed", bytes,
                    POOL_ALIGNMENT);
    uint64_t most = options->most ? options->most : gpu->info.memory / bytes;
    most = most > options->chunks ? most : options->chunks;
    most += most == 0;
    if (most > UINT32_MAX || most > INT64_MAX / bytes)
        return fail(error, GORDIAN_STATUS_INPUT, "a pool of %" PRIu64 " chunks", most);
    struct gpu_pool *pool = memory_zeroed(&gpu->memory, sizeof *pool);
    if (!pool)
        return fail_memory(error);
    pool->gpu = gpu;
    pool->chunk_bytes = bytes;
    pool->most = most;
    gordian_status status = open_pool(pool, options->chunks, error);
    THEN(status, gpu_wait(gpu, error));
    if (status != GORDIAN_OK) {
        gpu_pool_destroy(pool);
        return status;
    }
    *out = pool;
    return GORDIAN_OK;
}

void gpu_pool_destroy(struct gpu_pool *pool)
{
    if (!pool)
        return;
    struct gpu *gpu = pool->gpu;
    gpu_range_destroy(pool->range);
    gpu_free(gpu, pool->control);
    memory_free(&gpu->memory, pool);
}

/* ---- size */

gordian_status gpu_pool_reserve(struct gpu_pool *pool, uint64_t chunks, gordian_error *error)
{
    if (chunks <= pool->chunks)
        return GORDIAN_OK;
    if (chunks > pool->most)
        return fail(error, GORDIAN_STATUS_MEMORY,
                    "a pool of %" PRIu64 " chunks cannot have %" PRIu64, pool->most, chunks);
    TRY(gpu_range_grow(pool->range, chunks * pool->chunk_bytes, error));
    TRY(gpu_write(pool->gpu, MEMBER(pool, chunks), &chunks, sizeof chunks, error));
    pool->chunks = chunks;
    return GORDIAN_OK;
}

gordian_status gpu_pool_count(struct gpu_pool *pool, uint64_t *chunks, uint64_t *taken,
                              gordian_error *error)
{
    *chunks = pool->chunks;
    return read_next(pool, taken, error);
}

/* ---- taking and returning chunks */

/* The chunks have owners before a page has them: whatever fails in between, no chunk has two pages.
 */
static gordian_status write_taken(struct gpu_pool *pool, uint64_t next, gpu_address entries,
                                  uint64_t count, uint64_t *words, uint32_t *order,
                                  gordian_error *error)
{
    struct gpu *gpu = pool->gpu;
    uint64_t after = next + count;
    gordian_status status =
        gpu_read(gpu, order, pool->order + next * sizeof *order, count * sizeof *order, error);
    for (uint64_t i = 0; i < count; i++)
        words[i] = entries + i * sizeof *words;
    THEN(status,
         gpu_write(gpu, pool->owners + next * sizeof *words, words, count * sizeof *words, error));
    THEN(status, gpu_write(gpu, MEMBER(pool, next), &after, sizeof after, error));
    for (uint64_t i = 0; i < count && status == GORDIAN_OK; i++)
        words[i] = gpu_range_address(pool->range) + order[i] * pool->chunk_bytes;
    THEN(status, gpu_write(gpu, entries, words, count * sizeof *words, error));
    return status;
}

gordian_status pool_take(struct gpu_pool *pool, gpu_address entries, uint64_t count,
                         gordian_error *error)
{
    const gordian_allocator *memory = &pool->gpu->memory;
    uint64_t next;
    TRY(read_next(pool, &next, error));
    if (count > pool->chunks - next)
        return fail(error, GORDIAN_STATUS_MEMORY, "%" PRIu64 " chunks needed, %" PRIu64 " free",
                    count, (pool->chunks - next));
    uint64_t *words = memory_alloc(memory, count * sizeof *words);
    uint32_t *order = memory_alloc(memory, count * sizeof *order);
    gordian_status status = words && order
                                ? write_taken(pool, next, entries, count, words, order, error)
                                : fail_memory(error);
    memory_free(memory, words);
    memory_free(memory, order);
    return status;
}

/* Moves the returned chunks behind the chunks that stay taken. Both keep their order. */
static void put_behind(uint32_t *order, uint64_t next, const uint8_t *given, uint32_t *moved)
{
    uint64_t kept = 0, count = 0;
    for (uint64_t i = 0; i < next; i++) {
        if (given[order[i]])
            moved[count++] = order[i];
        else
            order[kept++] = order[i];
    }
    memcpy(order + kept, moved, count * sizeof *moved);
}

static gordian_status give_chunks(struct gpu_pool *pool, uint64_t next, uint32_t *order,
                                  const uint8_t *given, uint32_t *moved, uint64_t count,
                                  gordian_error *error)
{
    struct gpu *gpu = pool->gpu;
    uint64_t after = next - count;
    TRY(gpu_read(gpu, order, pool->order, next * sizeof *order, error));
    put_behind(order, next, given, moved);
    TRY(gpu_write(gpu, pool->order, order, next * sizeof *order, error));
    TRY(gpu_zero(gpu, pool->owners + after * sizeof(uint64_t), count * sizeof(uint64_t), error));
    return gpu_write(gpu, MEMBER(pool, next), &after, sizeof after, error);
}

gordian_status pool_give(struct gpu_pool *pool, const uint64_t *chunks, uint64_t count,
                         gordian_error *error)
{
    const gordian_allocator *memory = &pool->gpu->memory;
    uint64_t next;
    gordian_status status = read_next(pool, &next, error);
    if (status != GORDIAN_OK || count == 0)
        return status;
    uint32_t *order = memory_alloc(memory, next * sizeof *order);
    uint32_t *moved = memory_alloc(memory, count * sizeof *moved);
    uint8_t *given = memory_zeroed(memory, pool->chunks);
    if (order && moved && given) {
        for (uint64_t i = 0; i < count; i++)
            given[(chunks[i] - gpu_range_address(pool->range)) / pool->chunk_bytes] = 1;
        status = give_chunks(pool, next, order, given, moved, count, error);
    } else {
        status = fail_memory(error);
    }
    memory_free_all(memory, order, moved, given);
    return status;
}

/* ---- releasing memory */

/* Orders the chunks after the taken ones: free chunks below `chunks`, then all others. */
static void order_free(uint32_t *order, uint64_t next, uint64_t chunks, uint64_t all,
                       uint8_t *taken)
{
    for (uint64_t i = 0; i < next; i++)
        taken[order[i]] = 1;
    uint64_t at = next;
    for (uint32_t chunk = 0; chunk < all; chunk++) {
        if (chunk >= chunks || !taken[chunk])
            order[at++] = chunk;
    }
}

static gordian_status trim_chunks(struct gpu_pool *pool, uint64_t next, uint32_t *order,
                                  uint8_t *taken, gordian_error *error)
{
    struct gpu *gpu = pool->gpu;
    uint64_t chunks = 0;
    TRY(gpu_read(gpu, order, pool->order, next * sizeof *order, error));
    for (uint64_t i = 0; i < next; i++)
        chunks = order[i] >= chunks ? order[i] + UINT64_C(1) : chunks;
    order_free(order, next, chunks, pool->chunks, taken);
    TRY(gpu_write(gpu, pool->order, order, pool->chunks * sizeof *order, error));
    TRY(gpu_write(gpu, MEMBER(pool, chunks), &chunks, sizeof chunks, error));
    pool->chunks = chunks;
    gpu_range_shrink(pool->range, chunks * pool->chunk_bytes);
    return GORDIAN_OK;
}

gordian_status pool_trim(struct gpu_pool *pool, gordian_error *error)
{
    const gordian_allocator *memory = &pool->gpu->memory;
    uint64_t next;
    gordian_status status = read_next(pool, &next, error);
    if (status != GORDIAN_OK || pool->chunks == 0)
        return status;
    uint32_t *order = memory_alloc(memory, pool->chunks * sizeof *order);
    uint8_t *taken = memory_zeroed(memory, pool->chunks);
    status = order && taken ? trim_chunks(pool, next, order, taken, error) : fail_memory(error);
    memory_free(memory, order);
    memory_free(memory, taken);
    return status;
}
