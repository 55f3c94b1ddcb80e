/*
 * The kernels that use a growable array in earnest: the filter (and its twin into plain memory),
 * the reads, and the example of the documentation.
 *
 *     test_array_filter --device 0 [--verbose] [--watched]
 */
#include "array_example.h"
#include "array_trial.h"
#include "foundation/base/random.h"
#include "lab/bench/kernels/array_read.h"
#include "lab/published/kernels/array_filter.h"
#include "lab/published/published.h"

extern const struct gpu_kernels bench_kernels; /* src/lab/bench/kernels/list.h */

struct bed {
    struct gpu *gpu;
    bool emulated, watched;
};

/* ---- the filter */

#define SHUFFLED_MOST 200000 /* beyond, moving numbers about takes longer than all the rest */
#define FAR           UINT64_C(2654435761) /* a prime, larger than any count here */

/* Numbers 0 .. count - 1 in another order, so that each output is known and there once. */
static uint32_t *shuffled_numbers(uint64_t count, struct random *random)
{
    uint32_t *numbers = malloc((count + 1) * sizeof *numbers);
    REQUIRE(numbers != NULL && count < FAR);
    if (count > SHUFFLED_MOST) {
        uint64_t x = random_below(random, count);
        for (uint64_t i = 0; i < count; i++, x = (x + FAR) % count)
            numbers[i] = (uint32_t)x;
        return numbers;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t k = random_below(random, i + 1);
        numbers[i] = numbers[k];
        numbers[k] = (uint32_t)i;
    }
    return numbers;
}

struct filter_case {
    uint64_t count;
    uint32_t below;
    unsigned blocks;
    gpu_address from, marks;
};

static void check_kept(const struct filter_case *c, const uint32_t *kept, uint64_t size,
                       uint64_t expected)
{
    uint64_t *seen = calloc(c->below / 64 + 1, sizeof *seen), wrong = 0;
    for (uint64_t i = 0; i < size; i++) {
        uint64_t bit = UINT64_C(1) << kept[i] % 64;
        bool good = kept[i] < c->below && !(seen[kept[i] / 64] & bit);
        if (good)
            seen[kept[i] / 64] |= bit;
        wrong += !good;
    }
    CHECK_MSG(wrong == 0 && size == expected, "%llu of %llu kept, %llu wrong",
              (unsigned long long)size, (unsigned long long)expected, (unsigned long long)wrong);
    free(seen);
}

static struct gpu_launch filter_launch(const struct filter_case *c, const char *kernel,
                                       const struct array_filter_arguments *arguments)
{
    return (struct gpu_launch){.kernel = kernel,
                               .blocks = c->blocks,
                               .threads = ARRAY_FILTER_THREADS,
                               .arguments = arguments,
                               .arguments_size = sizeof *arguments};
}

/* Launched once, what fits; and again until all is there. */
static void try_filter(struct bed *bed, const struct filter_case *c,
                       const struct gpu_array_options *options)
{
    struct gpu_array *array = NULL;
    struct gpu_array_count count = {0};
    uint64_t expected = c->below < c->count ? c->below : c->count;
    uint32_t *kept = malloc((expected + 1) * sizeof *kept);
    DO(gpu_array_create(&array, bed->gpu, options, &error));
    REQUIRE(array != NULL && kept != NULL);
    uint64_t tiles = c->count / ARRAY_FILTER_TILE + 1;
    DO(gpu_zero(bed->gpu, c->marks, tiles * sizeof(uint32_t), &error));
    struct array_filter_arguments arguments = {.from = c->from,
                                               .count = c->count,
                                               .below = c->below,
                                               .out = gpu_array_view(array),
                                               .marks = c->marks};
    struct gpu_launch launch = filter_launch(c, "array_filter", &arguments);
    DO(gpu_launch(bed->gpu, &launch, &error));
    DO(gpu_array_settle(array, &count, &error));
    CHECK(count.size + count.refused == expected);
    DO(gpu_array_read(array, kept, 0, count.size, &error));
    check_kept(c, kept, count.size, expected - count.refused);
    DO(gpu_array_run(&array, 1, &launch, NULL, &error));
    DO(gpu_array_settle(array, &count, &error));
    REQUIRE(count.size <= expected);
    DO(gpu_array_read(array, kept, 0, count.size, &error));
    check_kept(c, kept, count.size, expected);
    gpu_array_destroy(array);
    free(kept);
}

static void try_plain(struct bed *bed, const struct filter_case *c)
{
    uint64_t stored = 0, expected = c->below < c->count ? c->below : c->count;
    uint32_t *kept = malloc((expected + 1) * sizeof *kept);
    struct array_filter_arguments arguments = {
        .from = c->from, .count = c->count, .below = c->below};
    DO(gpu_alloc(bed->gpu, &arguments.plain, (expected + 1) * sizeof *kept, &error));
    DO(gpu_alloc(bed->gpu, &arguments.stored, sizeof stored, &error));
    DO(gpu_zero(bed->gpu, arguments.stored, sizeof stored, &error));
    struct gpu_launch launch = filter_launch(c, "array_filter_plain", &arguments);
    DO(gpu_launch(bed->gpu, &launch, &error));
    DO(gpu_read(bed->gpu, &stored, arguments.stored, sizeof stored, &error));
    REQUIRE(stored <= expected);
    DO(gpu_read(bed->gpu, kept, arguments.plain, stored * sizeof *kept, &error));
    check_kept(c, kept, stored, expected);
    gpu_free(bed->gpu, arguments.plain);
    gpu_free(bed->gpu, arguments.stored);
    free(kept);
}

static void test_filter(struct bed *bed, uint64_t count, uint32_t below, unsigned blocks,
                        struct random *random)
{
    struct filter_case c = {.count = count, .below = below, .blocks = blocks};
    unsigned least = 0;
    while (count >> least > 16384) /* a page takes a microsecond to install */
        least++;
    progress_case("%llu numbers below %u, %u blocks", (unsigned long long)count, below, blocks);
    uint32_t *numbers = shuffled_numbers(count, random);
    size_t bytes = count * sizeof *numbers;
    DO(gpu_alloc(bed->gpu, &c.from, bytes + 16, &error));
    DO(gpu_write(bed->gpu, c.from, numbers, bytes, &error));
    DO(gpu_alloc(bed->gpu, &c.marks, (count / ARRAY_FILTER_TILE + 1) * sizeof(uint32_t), &error));
    struct gpu_array_options options = {.element = sizeof(uint32_t),
                                        .most = count + 5000,
                                        .capacity = random_below(random, count + 1),
                                        .page = UINT64_C(1)
                                                << (least + random_below(random, 15 - least))};
    gpu_emulator_seed(bed->gpu, random_below(random, 3));
    try_filter(bed, &c, &options);
    options.mode = GPU_ARRAY_CHUNKED;
    options.ahead = (uint32_t)random_below(random, 3);
    try_filter(bed, &c, &options);
    options.capacity = count;
    options.page = 0;
    try_filter(bed, &c, &options);
    try_plain(bed, &c);
    gpu_free(bed->gpu, c.from);
    gpu_free(bed->gpu, c.marks);
    free(numbers);
}

static void test_filters(struct bed *bed)
{
    static const uint64_t counts[] = {0, 1, 3, 4, 5, 4095, 4096, 4097, 3 * 4096 + 17};
    struct random random;
    random_seed(&random, 11);
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
        test_filter(bed, counts[i], (uint32_t)(counts[i] * 9 / 10), 1 + i, &random);
    test_filter(bed, 20000, 0, 3, &random);
    test_filter(bed, 20000, 20000, 3, &random);
    unsigned rounds = bed->watched ? 2 : bed->emulated ? test_scaled(100) : test_scaled(60);
    uint64_t most = bed->emulated || bed->watched ? 50000 : 3000000;
    for (unsigned round = 0; round < rounds; round++) {
        uint64_t count = 1 + random_below(&random, most);
        uint32_t below = (uint32_t)random_below(&random, count + 1);
        test_filter(bed, count, below, 1 + (unsigned)random_below(&random, 40), &random);
    }
    if (!bed->emulated && !bed->watched)
        test_filter(bed, 100000000, 90000000, 132 * 5, &random);
}

/* ---- reads */

static uint64_t read_sum(struct bed *bed, const char *kernel,
                         const struct array_read_arguments *arguments)
{
    uint64_t sum = 0;
    DO(gpu_zero(bed->gpu, arguments->sum, sizeof sum, &error));
    DO(gpu_launch(bed->gpu,
                  &(struct gpu_launch){.kernel = kernel,
                                       .blocks = 3,
                                       .threads = 64,
                                       .arguments = arguments,
                                       .arguments_size = sizeof *arguments},
                  &error));
    DO(gpu_read(bed->gpu, &sum, arguments->sum, sizeof sum, &error));
    return sum;
}

static void test_reads(struct bed *bed, enum gpu_array_mode mode, uint64_t count)
{
    struct random random;
    random_seed(&random, count);
    progress_case("%s, %llu elements", mode ? "chunked" : "flat", (unsigned long long)count);
    struct array_read_arguments arguments = {.count = count};
    struct gpu_array *array = NULL;
    gpu_address plain;
    uint32_t *numbers = shuffled_numbers(count, &random);
    uint64_t in_order = 0, at_random = 0;
    for (uint64_t i = 0; i < count; i++) {
        in_order += numbers[i];
        at_random += numbers[array_read_index(i, count)];
    }
    DO(gpu_array_create(&array, bed->gpu,
                        &(struct gpu_array_options){
                            .mode = mode, .element = sizeof *numbers, .most = count, .page = 128},
                        &error));
    DO(gpu_array_append(array, numbers, count, &error));
    DO(gpu_alloc(bed->gpu, &arguments.sum, sizeof(uint64_t), &error));
    DO(gpu_alloc(bed->gpu, &plain, count * sizeof *numbers, &error));
    DO(gpu_array_flatten(array, plain, 0, count, &error));
    arguments.from = gpu_array_view(array);
    CHECK(read_sum(bed, "array_read", &arguments) == in_order);
    CHECK(read_sum(bed, "array_read_random", &arguments) == at_random);
    arguments.plain = plain;
    CHECK(read_sum(bed, "array_read", &arguments) == in_order);
    CHECK(read_sum(bed, "array_read_random", &arguments) == at_random);
    gpu_free(bed->gpu, plain);
    gpu_free(bed->gpu, arguments.sum);
    gpu_array_destroy(array);
    free(numbers);
}

/* ---- the example of the documentation */

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->divisor < y->divisor ? -1 : x->divisor > y->divisor;
}

static void test_example(struct bed *bed, uint32_t count)
{
    struct pair *pairs = NULL;
    uint64_t size = 0, expected = 0;
    DO(find_divisors(bed->gpu, count, &pairs, &size, &error));
    for (uint32_t number = 1; number <= count; number++)
        for (uint32_t d = 1; d <= number; d++)
            expected += number % d == 0;
    CHECK(size == expected);
    qsort(pairs, size, sizeof *pairs, compare_pairs);
    for (uint64_t i = 0; i < size; i++)
        CHECK(pairs[i].number % pairs[i].divisor == 0 &&
              (i == 0 || compare_pairs(&pairs[i - 1], &pairs[i]) < 0));
    free(pairs);
}

int main(int argc, char **argv)
{
    int device = device_wanted(argc, argv);
    progress_open(argc, argv, device);
    progress_part("opening");
    struct bed bed = {.gpu = device_open(device), .emulated = device < 0};
    DO(gpu_add_kernels(bed.gpu, &bench_kernels, &error));
    DO(gpu_add_kernels(bed.gpu, &published_kernels, &error));
    for (int i = 1; i < argc; i++)
        bed.watched |= strcmp(argv[i], "--watched") == 0;
    progress_part("filter");
    test_filters(&bed);
    progress_part("reads");
    for (unsigned mode = 0; mode < 2; mode++) {
        gpu_emulator_seed(bed.gpu, mode);
        test_reads(&bed, mode, 5);
        test_reads(&bed, mode, 10000);
    }
    progress_part("example");
    test_example(&bed, 1);
    test_example(&bed, 500);
    progress_close();
    gpu_close(bed.gpu);
    return test_done();
}
