/* The same filter with other grids, other elements and other page sizes. */
#include "lab/bench/array/array.h"

#include "foundation/base/error.h"

#include <inttypes.h>
#include <stdio.h>

/* Measures growth from empty against plain memory, with this many blocks (0: as many as fit). */
static gordian_status measure_shape(struct array_world *world, unsigned blocks, bool flat,
                                    struct bench_side sides[3])
{
    const struct array_bench *array = world->array;
    struct array_side contexts[] = {
        {.world = world, .way = ARRAY_METHOD_PLAIN, .blocks = blocks},
        {.world = world, .way = ARRAY_METHOD_CHUNKED, .blocks = blocks},
        {.world = world, .way = ARRAY_METHOD_FLAT, .blocks = blocks},
    };
    for (unsigned i = 0; i < 3; i++)
        sides[i] = (struct bench_side){&contexts[i], array_filter_run};
    gordian_status status =
        bench_measure(array->bench, sides, flat ? 3 : 2, array_effort(array, 0.5));
    for (unsigned i = 0; i < 3; i++)
        sides[i].context = NULL;
    return status;
}

static gordian_status add_shape_row(const struct array_world *world, struct bench_row row,
                                    const struct bench_side *ours, const struct bench_side *plain,
                                    const char *plot, double x)
{
    array_fill(world->array, &row, ours, array_world_bytes(world));
    array_cost(world->array, &row, "plain", plain, 0);
    row.plot = plot;
    row.x = x;
    return bench_add(world->array->bench, &row);
}

/* ------------------------------------------------------------------ grids */

static gordian_status grid_rows(const struct array_bench *array, uint64_t count)
{
    static const struct {
        unsigned blocks;
        bool tiny, quick;
    } grids[] = {{1, true, true},     {3, true, false},    {1, false, true},   {4, false, false},
                 {16, false, true},   {66, false, false},  {132, false, true}, {264, false, false},
                 {528, false, false}, {1056, false, true}, {2112, false, true}};
    struct array_world world;
    gordian_status status = array_world_open(&world, array, count, sizeof(uint32_t));
    THEN(status, array_world_chunked(&world, array_chunk_bytes(array, 4), ARRAY_AHEAD));
    for (size_t i = 0; i < sizeof grids / sizeof *grids && status == GORDIAN_OK; i++) {
        struct bench_side sides[3];
        if (!array_takes(array, grids[i].tiny, grids[i].quick))
            continue;
        bench_progress(array->bench, "%" PRIu64 " numbers, %u blocks", count, grids[i].blocks);
        status = measure_shape(&world, grids[i].blocks, false, sides);
        struct bench_row row =
            bench_row("us", "array/grid-%u-%" PRIu64 "/chunked", grids[i].blocks, count);
        snprintf(row.series, sizeof row.series, "chunked");
        THEN(status, add_shape_row(&world, row, &sides[1], &sides[0], "By number of blocks (us)",
                                   grids[i].blocks));
    }
    array_world_close(&world);
    return status;
}

/* ------------------------------------------------------------------ elements */

static gordian_status element_rows(const struct array_bench *array, uint32_t element,
                                   uint64_t bytes)
{
    static const char *const names[] = {"plain", "chunked", "flat"};
    struct array_world world;
    struct bench_side sides[3];
    bench_progress(array->bench, "elements of %u bytes", element);
    gordian_status status = array_world_open(&world, array, bytes / element, element);
    THEN(status, array_world_chunked(&world, array_chunk_bytes(array, element), ARRAY_AHEAD));
    THEN(status, array_world_flat(&world, false));
    THEN(status, measure_shape(&world, 0, true, sides));
    for (unsigned i = 1; i < 3 && status == GORDIAN_OK; i++) {
        struct bench_row row = bench_row("us", "array/element-%u/%s", element, names[i]);
        snprintf(row.series, sizeof row.series, "%s", names[i]);
        status =
            add_shape_row(&world, row, &sides[i], &sides[0], "By size of an element (us)", element);
    }
    array_world_close(&world);
    return status;
}

/* ------------------------------------------------------------------ pages */

static gordian_status page_rows(const struct array_bench *array, uint64_t count)
{
    static const struct {
        uint64_t kilobytes;
        uint32_t ahead;
        bool tiny, quick;
    } pages[] = {{4, 0, true, false},      {4, 2, true, false},      {64, 4, false, false},
                 {256, 0, false, false},   {256, 4, false, false},   {2048, 0, false, true},
                 {2048, 4, false, true},   {16384, 0, false, false}, {16384, 4, false, false},
                 {65536, 0, false, false}, {65536, 1, false, false}};
    struct array_world world;
    gordian_status status = array_world_open(&world, array, count, sizeof(uint32_t));
    for (size_t i = 0; i < sizeof pages / sizeof *pages && status == GORDIAN_OK; i++) {
        struct bench_side sides[3];
        if (!array_takes(array, pages[i].tiny, pages[i].quick))
            continue;
        bench_progress(array->bench, "pages of %" PRIu64 " KiB, %u ahead", pages[i].kilobytes,
                       pages[i].ahead);
        status = array_world_chunked(&world, pages[i].kilobytes << 10, pages[i].ahead);
        THEN(status, measure_shape(&world, 0, false, sides));
        struct bench_row row = bench_row("us", "array/page-%" PRIu64 "k-ahead-%u/chunked",
                                         pages[i].kilobytes, pages[i].ahead);
        THEN(status, add_shape_row(&world, row, &sides[1], &sides[0], NULL, 0));
    }
    array_world_close(&world);
    return status;
}

gordian_status array_shape_rows(const struct array_bench *array)
{
    static const uint32_t elements[] = {4, 8, 16, 64};
    const bool tiny = array->info.emulated, quick = array->bench->options->quick;
    const uint64_t count = tiny ? 10000 : quick ? 10000000 : 100000000;
    TRY(grid_rows(array, count));
    for (size_t i = 0; i < 4; i++)
        TRY(element_rows(array, elements[i],
                         tiny ? UINT64_C(3000) * elements[i] : count * sizeof(uint32_t)));
    return page_rows(array, count);
}
