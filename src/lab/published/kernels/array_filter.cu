/*
 * Copies the numbers below a bound, in any order, to a growable array or, with the same kernel, to
 * a preallocated array.
 *
 * A block processes one tile after another. Each thread loads its elements 16 bytes at a time, all
 * before the first use. Each warp uses votes to compact the numbers it keeps in shared memory. One
 * thread reserves space for the whole tile with one atomic and looks up the page. Then each warp
 * writes its share to whole cache lines. The outputs of a tile have the same order on every launch.
 * Marks depend on this.
 */
#include "foundation/gpu/kernels/array/array.h"
#include "lab/published/kernels/array_filter.h"
#include "lab/published/kernels/array_tile.h"

/* Where a tile's outputs go: `count` of them, beginning with `skip`. The first `left` go to `at`,
 * the others to the pages that hold them. */
struct filter_place {
    struct garray_part part;
    uint32_t left;
    uint32_t *at;
    struct garray_cursor cursor; /* kept by the reserving thread between tiles */
};

/* Called by one thread. */
DEVICE void find_place(const struct array_filter_arguments *a, uint32_t *mark, uint32_t total,
                       bool plain, struct filter_place *place)
{
    struct garray_part part;
    if (plain) {
        part.first = atomic_add64(GPU_POINTER(uint64_t, a->stored), total);
        part.skip = 0;
        part.count = place->left = total;
        place->at = GPU_POINTER(uint32_t, a->plain) + part.first;
    } else {
        part = garray_resume(&a->out, mark, total);
        place->left = 0;
    }
    if (!plain && part.count) {
        struct garray_span span =
            garray_span_near(&a->out, &place->cursor, part.first, sizeof(uint32_t));
        place->at = (uint32_t *)span.at;
        place->left = span.left < part.count ? (uint32_t)span.left : part.count;
    }
    place->part = part;
}

/* Writes the warp's outputs that have a place: `count` of them, after the first `before` of the
 * tile's. */
DEVICE void write_kept(const struct array_filter_arguments *a, const struct filter_place *place,
                       const uint32_t *kept, uint32_t before, uint32_t count)
{
    uint32_t skip = place->part.skip, end = skip + place->part.count;
    uint32_t from = before > skip ? before : skip;
    uint32_t to = before + count < end ? before + count : end;
    while (from < to) {
        uint32_t inside = from - skip, run = to - from;
        uint32_t *at;
        if (inside < place->left) {
            at = place->at + inside;
            run = run < place->left - inside ? run : place->left - inside;
        } else {
            struct garray_span span =
                garray_span(&a->out, place->part.first + inside, sizeof(uint32_t));
            run = run < span.left ? run : (uint32_t)span.left;
            at = (uint32_t *)span.at;
        }
        array_tile_write(at, kept + (from - before), run);
        from += run;
    }
}

/* Values shared between threads are read between two barriers, or by the warp that wrote them. */
DEVICE void filter_tiles(const struct array_filter_arguments *a, bool plain)
{
    SHARED2(uint32_t, kept, ARRAY_TILE_WARPS, ARRAY_TILE_OF_WARP);
    SHARED(uint32_t, counts, ARRAY_TILE_WARPS);
    SHARED(struct filter_place, place, 1);
    uint32_t warp = THREAD_INDEX / WARP_SIZE;
    uint64_t tiles = (a->count + (ARRAY_FILTER_TILE - 1)) / ARRAY_FILTER_TILE;
    if (THREAD_INDEX == 0)
        place[0].cursor.at = 0;
    for (uint64_t tile = BLOCK_INDEX; tile < tiles; tile += GRID_SIZE) {
        uint32_t *mark = a->marks ? GPU_POINTER(uint32_t, a->marks) + tile : NULL;
        if (!plain && garray_finished(mark))
            continue;
        uint32_t count = array_tile_load(GPU_POINTER(const uint32_t, a->from), a->count, a->below,
                                         tile * ARRAY_FILTER_TILE, kept[warp]);
        if (LANE == 0)
            counts[warp] = count;
        block_barrier();
        uint32_t total, before = array_tile_before(counts, warp, &total);
        if (THREAD_INDEX == 0)
            find_place(a, mark, total, plain, &place[0]);
        block_barrier();
        write_kept(a, &place[0], kept[warp], before, count);
        warp_barrier(WARP_ALL);
    }
}

KERNEL_BOUNDED(array_filter, struct array_filter_arguments, ARRAY_FILTER_THREADS, 5)
{
    filter_tiles(&a, false);
}

KERNEL_BOUNDED(array_filter_plain, struct array_filter_arguments, ARRAY_FILTER_THREADS, 5)
{
    filter_tiles(&a, true);
}
