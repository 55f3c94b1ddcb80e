/*
 * The other layouts of a growable array (lab/published/array/array.h): LFVector's doubling buckets
 * and sub-arrays, one a block. What they keep of numbers of which each is there once, with any grid
 * and with too little memory; several vectors that share a heap; and the cells of the paper's
 * figure.
 *
 *     test_array_kinds --device 0 [--verbose] [--watched]
 */
#include "device.h"
#include "foundation/base/random.h"
#include "kernels/array_kinds_selftest.h"
#include "lab/published/array/array.h"
#include "lab/published/array/figure.h"
#include "lab/published/kernels/array_filter.h"
#include "lab/published/kernels/array_kinds.h"
#include "lab/published/published.h"
#include "progress.h"

struct bed {
    struct gpu *gpu;
    bool emulated, watched;
};

/* ---- what is kept */

/* Each number below `below` at most once; `all`: each. */
static void check_kept(const uint32_t *kept, uint64_t size, uint64_t below, bool all)
{
    uint8_t *seen = calloc(below + 1, 1);
    uint64_t wrong = 0;
    REQUIRE(seen != NULL);
    for (uint64_t i = 0; i < size; i++) {
        bool good = kept[i] < below && !seen[kept[i]];
        if (good)
            seen[kept[i]] = 1;
        wrong += !good;
    }
    CHECK_MSG(wrong == 0 && (!all || size == below), "%llu of %llu kept, %llu wrong",
              (unsigned long long)size, (unsigned long long)below, (unsigned long long)wrong);
    free(seen);
}

/* Numbers 0 .. count - 1 in another order. */
static gpu_address make_numbers(struct bed *bed, uint32_t count, struct random *random)
{
    gpu_address to = 0;
    uint32_t *numbers = malloc((count + 1) * sizeof *numbers);
    REQUIRE(numbers != NULL);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = (uint32_t)random_below(random, i + 1);
        numbers[i] = numbers[k];
        numbers[k] = i;
    }
    DO(gpu_alloc(bed->gpu, &to, count * sizeof *numbers + 16, &error));
    DO(gpu_write(bed->gpu, to, numbers, count * sizeof *numbers, &error));
    free(numbers);
    return to;
}

enum way { WAY_PUSH, WAY_TILES, WAY_SUBARRAYS };

static void launch_filter(struct bed *bed, const struct published_array *array, enum way way,
                          gpu_address from, uint32_t count, uint32_t below, unsigned blocks)
{
    static const char *const kernels[] = {"lfvector_push_all", "lfvector_push_tiles",
                                          "subarrays_push_tiles"};
    struct lfvector_filter_arguments buckets = {from, count, published_array_lfvector(array),
                                                below};
    struct subarrays_filter_arguments arrays = {from, count, published_array_subarrays(array),
                                                below};
    bool subarrays = way == WAY_SUBARRAYS;
    DO(gpu_launch(
        bed->gpu,
        &(struct gpu_launch){.kernel = kernels[way],
                             .blocks = blocks,
                             .threads = way == WAY_PUSH ? 96 : ARRAY_FILTER_THREADS,
                             .arguments = subarrays ? (const void *)&arrays : &buckets,
                             .arguments_size = subarrays ? sizeof arrays : sizeof buckets},
        &error));
}

/* With memory for some; told exactly what did not fit; then, from empty, with memory for all. */
static void test_filter(struct bed *bed, enum way way, uint32_t count, uint32_t below,
                        unsigned blocks, struct random *random)
{
    struct published_array_options options = {
        .kind = way == WAY_SUBARRAYS ? PUBLISHED_ARRAY_SUBARRAYS : PUBLISHED_ARRAY_LFVECTOR,
        .element = sizeof(uint32_t),
        .blocks = way == WAY_SUBARRAYS ? blocks : 0};
    struct published_array *array = NULL;
    struct gpu_array_count is = {0};
    progress_case("way %d, %u numbers below %u, %u blocks", (int)way, count, below, blocks);
    uint64_t needs = published_array_needs(&options, below);
    options.heap_bytes = random_below(random, needs + 1);
    options.heap_most = needs;
    uint32_t *kept = malloc((below + 1) * sizeof *kept);
    gpu_address from = make_numbers(bed, count, random);
    DO(published_array_create(&array, bed->gpu, &options, &error));
    REQUIRE(array != NULL && kept != NULL);
    launch_filter(bed, array, way, from, count, below, blocks);
    DO(published_array_settle(array, &is, &error));
    CHECK(is.size + is.refused == below);
    DO(published_array_read(array, kept, 0, is.size, &error));
    check_kept(kept, is.size, below, false);
    uint64_t some = random_below(random, is.size + 1);
    uint32_t one = 0;
    if (some < is.size) {
        DO(published_array_read(array, &one, some, 1, &error));
        CHECK(one == kept[some]);
    }
    CHECK(published_array_read(array, kept, some, is.size - some + 1, NULL) ==
          GORDIAN_STATUS_INPUT);
    DO(published_array_reserve(array, needs, &error));
    DO(published_array_clear(array, &error));
    launch_filter(bed, array, way, from, count, below, blocks);
    DO(published_array_settle(array, &is, &error));
    CHECK(is.refused == 0 && is.size == below);
    DO(published_array_read(array, kept, 0, is.size, &error));
    check_kept(kept, is.size, below, true);
    published_array_destroy(array);
    gpu_free(bed->gpu, from);
    free(kept);
}

/* Two launches one after the other: the second goes on behind the first. */
static void test_two_launches(struct bed *bed, enum way way, struct random *random)
{
    struct published_array_options options = {
        .kind = way == WAY_SUBARRAYS ? PUBLISHED_ARRAY_SUBARRAYS : PUBLISHED_ARRAY_LFVECTOR,
        .element = sizeof(uint32_t),
        .blocks = way == WAY_SUBARRAYS ? 5 : 0};
    struct published_array *array = NULL;
    struct gpu_array_count is = {0};
    uint32_t kept[6000], sum = 0;
    gpu_address from = make_numbers(bed, 3000, random);
    options.heap_bytes = published_array_needs(&options, 6000);
    DO(published_array_create(&array, bed->gpu, &options, &error));
    launch_filter(bed, array, way, from, 3000, 3000, 4);
    launch_filter(bed, array, way, from, 3000, 3000, 5);
    DO(published_array_settle(array, &is, &error));
    CHECK(is.size == 6000 && is.refused == 0);
    DO(published_array_read(array, kept, 0, 6000, &error));
    for (uint32_t i = 0; i < 6000; i++)
        sum += kept[i];
    CHECK(sum == 3000 * 2999);
    published_array_destroy(array);
    gpu_free(bed->gpu, from);
}

static void test_filters(struct bed *bed)
{
    static const uint32_t counts[] = {0, 1, 31, 32, 33, 4095, 4096, 4097, 3 * 4096 + 17};
    struct random random;
    random_seed(&random, 16);
    for (enum way way = WAY_PUSH; way <= WAY_SUBARRAYS; way++) {
        for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
            gpu_emulator_seed(bed->gpu, i % 3);
            test_filter(bed, way, counts[i], counts[i] * 9 / 10, 1 + i, &random);
        }
        unsigned rounds = bed->watched ? 1 : test_scaled(30);
        uint32_t most = bed->emulated || bed->watched ? 30000 : 2000000;
        for (unsigned round = 0; round < rounds; round++) {
            gpu_emulator_seed(bed->gpu, round);
            uint32_t count = 1 + (uint32_t)random_below(&random, most);
            test_filter(bed, way, count, (uint32_t)random_below(&random, count + 1),
                        1 + (unsigned)random_below(&random, bed->emulated ? 40 : 2000), &random);
        }
        test_two_launches(bed, way, &random);
    }
    gpu_emulator_seed(bed->gpu, 0);
}

/* ---- vectors that share a heap */

/* Vector `v` of `vectors` holds numbers that are v modulo `vectors`, each once, whole. */
static uint64_t check_vector(struct published_array *array, uint32_t element, uint32_t v,
                             const struct lfvector_shared_arguments *arguments)
{
    struct gpu_array_count is = {0};
    DO(published_array_settle(array, &is, &error));
    uint64_t mine = (arguments->count + arguments->vectors - 1 - v) / arguments->vectors;
    unsigned char *stored = malloc(is.size * element + 1);
    uint8_t *seen = calloc(arguments->count + 1, 1);
    REQUIRE(stored != NULL && seen != NULL);
    CHECK(is.size + is.refused == mine);
    DO(published_array_read(array, stored, 0, is.size, &error));
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < is.size; i++) {
        const unsigned char *bytes = stored + i * element;
        uint32_t number = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                          (uint32_t)bytes[3] << 24;
        bool good = number < arguments->count && number % arguments->vectors == v && !seen[number];
        for (uint32_t at = 0; at < element; at++)
            good &= bytes[at] == (unsigned char)(number >> at % 4 * 8);
        if (good)
            seen[number] = 1;
        wrong += !good;
    }
    CHECK_MSG(wrong == 0, "vector %u: %llu wrong", v, (unsigned long long)wrong);
    free(stored);
    free(seen);
    return is.size;
}

static void test_shared(struct bed *bed, uint32_t vectors, uint32_t count, uint64_t heap_bytes)
{
    static const uint32_t elements[LFVECTOR_SHARED_MOST] = {4, 7, 16, 5};
    struct published_array *arrays[LFVECTOR_SHARED_MOST] = {NULL};
    struct lfvector_shared_arguments arguments = {.vectors = vectors, .count = count};
    uint64_t stored = 0;
    progress_case("%u vectors, %u numbers, %llu bytes", vectors, count,
                  (unsigned long long)heap_bytes);
    for (uint32_t v = 0; v < vectors; v++) {
        struct published_array_options options = {.kind = PUBLISHED_ARRAY_LFVECTOR,
                                                  .element = elements[v],
                                                  .heap_bytes = v ? 0 : heap_bytes,
                                                  .heap_of = v ? arrays[0] : NULL};
        DO(published_array_create(&arrays[v], bed->gpu, &options, &error));
        REQUIRE(arrays[v] != NULL);
        arguments.out[v] = published_array_lfvector(arrays[v]);
    }
    struct gpu_launch launch = {.kernel = "lfvector_shared",
                                .blocks = 6,
                                .threads = 64,
                                .arguments = &arguments,
                                .arguments_size = sizeof arguments};
    DO(gpu_launch(bed->gpu, &launch, &error));
    for (uint32_t v = 0; v < vectors; v++)
        stored += check_vector(arrays[v], elements[v], v, &arguments);
    CHECK(heap_bytes < (UINT64_C(64) << 20) || stored == count);
    for (uint32_t v = vectors; v-- > 0;)
        published_array_destroy(arrays[v]);
}

static void test_sharing(struct bed *bed)
{
    struct random random;
    random_seed(&random, 4);
    unsigned rounds = bed->watched ? 2 : test_scaled(60);
    for (unsigned round = 0; round < rounds; round++) {
        uint32_t count = 1 + (uint32_t)random_below(&random, 5000);
        gpu_emulator_seed(bed->gpu, round);
        test_shared(bed, 1 + (uint32_t)random_below(&random, LFVECTOR_SHARED_MOST), count,
                    round % 4 ? random_below(&random, count * UINT64_C(20)) : UINT64_C(64) << 20);
    }
    gpu_emulator_seed(bed->gpu, 0);
}

/* ---- what makes no sense; the figure */

static void test_refused(struct bed *bed)
{
    struct published_array *array = NULL;
    struct published_array_options options = {.kind = PUBLISHED_ARRAY_SUBARRAYS, .element = 4};
    CHECK(published_array_create(&array, bed->gpu, &options, NULL) == GORDIAN_STATUS_INPUT);
    options = (struct published_array_options){.element = 4, .blocks = 3};
    CHECK(published_array_create(&array, bed->gpu, &options, NULL) == GORDIAN_STATUS_INPUT);
    options = (struct published_array_options){.element = 0};
    CHECK(published_array_create(&array, bed->gpu, &options, NULL) == GORDIAN_STATUS_INPUT);
    CHECK(array == NULL);
}

/* Every method gives the right answer at the paper's sizes, or says what it had no memory for. */
static void test_figure(struct bed *bed)
{
    for (unsigned method = 0; method < PUBLISHED_ARRAY_CELL_METHODS; method++) {
        for (uint64_t count = 1000; count <= (bed->emulated ? 10000 : 1000000); count *= 10) {
            struct published_array_cell cell = {.method = method,
                                                .count = count,
                                                .one_block = count == 1000,
                                                .seed = 7,
                                                .samples = 2};
            if (method == PUBLISHED_ARRAY_CELL_ALL && count > 1000)
                continue;
            progress_case("method %u, %llu", method, (unsigned long long)count);
            DO(published_array_measure(bed->gpu, &cell, &error));
            CHECK(cell.ns > 0 && cell.kept > count / 10 * 8 && cell.kept < count);
            CHECK(cell.refused == 0 || method <= PUBLISHED_ARRAY_CELL_WAIT);
        }
    }
    struct published_array_cell none = {.method = PUBLISHED_ARRAY_CELL_PAGES, .count = 10};
    CHECK(published_array_measure(bed->gpu, &none, NULL) == GORDIAN_STATUS_INPUT);
}

int main(int argc, char **argv)
{
    int device = device_wanted(argc, argv);
    progress_open(argc, argv, device);
    progress_part("opening");
    struct bed bed = {.gpu = device_open(device), .emulated = device < 0};
    DO(gpu_add_kernels(bed.gpu, &published_kernels, &error));
    for (int i = 1; i < argc; i++)
        bed.watched |= strcmp(argv[i], "--watched") == 0;
    progress_part("filters");
    test_refused(&bed);
    test_filters(&bed);
    progress_part("a shared heap");
    test_sharing(&bed);
    progress_part("figure");
    if (!bed.watched)
        test_figure(&bed);
    progress_close();
    gpu_close(bed.gpu);
    return test_done();
}
