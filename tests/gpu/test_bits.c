/*
 * Bit matrices on the GPU (engines/detect/cuda/hop.h): products, transposes and closures against
 * plain loops.
 *
 *     test_bits [--device N] [--watched] [--bench] [SEED]        GORDIAN_TEST_SCALE=PERCENT
 *
 * On the emulator, or on device N. --bench measures products and prints a table.
 */
#include "device.h"
#include "engines/detect/cuda/hop.h"
#include "foundation/base/random.h"
#include "must.h"
#include "test.h"

#include <string.h>

static struct gpu *gpu;
static struct random randomness;
static unsigned scale = 100;
static bool small; /* small sizes only: on the emulator, and under a tool that watches */

static uint32_t below(uint32_t bound)
{
    return (uint32_t)random_below(&randomness, bound);
}

/* ------------------------------------------------------------------ matrices */

/* A bit matrix here and on the device. */
struct bits {
    uint32_t rows, columns, stride; /* words */
    uint32_t *words;
    gpu_address device;
};

static struct bits bits_make(uint32_t rows, uint32_t columns, unsigned percent)
{
    gordian_error error = {0};
    struct bits bits = {.rows = rows, .columns = columns, .stride = hop_stride(columns)};
    bits.words = calloc((size_t)rows * bits.stride, sizeof *bits.words);
    REQUIRE(bits.words != NULL);
    for (uint32_t r = 0; r < rows && percent; r++)
        for (uint32_t c = 0; c < columns; c++)
            if (random_chance(&randomness, percent))
                bits.words[(size_t)r * bits.stride + c / 32] |= 1u << c % 32;
    size_t bytes = (size_t)rows * bits.stride * sizeof *bits.words;
    must(gpu_alloc(gpu, &bits.device, bytes, &error), &error);
    must(gpu_write(gpu, bits.device, bits.words, bytes, &error), &error);
    return bits;
}

static void bits_free(struct bits *bits)
{
    gpu_free(gpu, bits->device);
    free(bits->words);
}

static bool bit_at(const struct bits *bits, uint32_t row, uint32_t column)
{
    return bits->words[(size_t)row * bits->stride + column / 32] >> column % 32 & 1;
}

static void bits_check(const struct bits *expected, const char *what)
{
    gordian_error error = {0};
    size_t count = (size_t)expected->rows * expected->stride;
    uint32_t *words = malloc(count * sizeof *words);
    REQUIRE(words != NULL);
    must(gpu_wait(gpu, &error), &error);
    must(gpu_read(gpu, words, expected->device, count * sizeof *words, &error), &error);
    CHECK_MSG(memcmp(words, expected->words, count * sizeof *words) == 0, "%s %u x %u", what,
              expected->rows, expected->columns);
    free(words);
}

static bool rows_meet(const struct bits *one, uint32_t row, const struct bits *other,
                      uint32_t other_row)
{
    for (uint32_t i = 0; i < one->stride; i++)
        if (one->words[(size_t)row * one->stride + i] &
            other->words[(size_t)other_row * other->stride + i])
            return true;
    return false;
}

static void test_product(uint32_t rows, uint32_t inner, uint32_t columns, unsigned percent,
                         bool tensor)
{
    gordian_error error = {0};
    struct bits left = bits_make(rows, inner, percent);
    struct bits right = bits_make(columns, inner, percent); /* transposed */
    struct bits out = bits_make(rows, columns, percent / 4);
    struct bits changed = bits_make(1, 32, 0);
    struct bool_product_arguments product = {.left = left.device,
                                             .right = right.device,
                                             .out = out.device,
                                             .changed = changed.device,
                                             .left_stride = left.stride,
                                             .right_stride = right.stride,
                                             .out_stride = out.stride,
                                             .rows = rows,
                                             .columns = columns,
                                             .inner_words = (inner + 127) / 128 * 4,
                                             .tensor = tensor};
    must(hop_product(gpu, &product, &error), &error);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < columns; c++)
            if (!bit_at(&out, r, c) && rows_meet(&left, r, &right, c)) {
                out.words[(size_t)r * out.stride + c / 32] |= 1u << c % 32;
                changed.words[0] = 1;
            }
    bits_check(&out, tensor ? "product (tensor)" : "product (words)");
    bits_check(&changed, "product: changed");
    bits_free(&left);
    bits_free(&right);
    bits_free(&out);
    bits_free(&changed);
}

static void test_transpose(uint32_t rows, uint32_t columns, unsigned percent)
{
    gordian_error error = {0};
    struct bits in = bits_make(rows, columns, percent);
    struct bits out = bits_make(columns, rows, 0);
    struct bit_transpose_arguments transpose = {.in = in.device,
                                                .out = out.device,
                                                .in_stride = in.stride,
                                                .out_stride = out.stride,
                                                .rows = rows,
                                                .columns = columns};
    must(hop_transpose(gpu, &transpose, &error), &error);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < columns; c++)
            if (bit_at(&in, r, c))
                out.words[(size_t)c * out.stride + r / 32] |= 1u << r % 32;
    bits_check(&out, "transpose");
    bits_free(&in);
    bits_free(&out);
}

/* ------------------------------------------------------------------ closures */

static void bits_write(const struct bits *bits)
{
    gordian_error error = {0};
    size_t bytes = (size_t)bits->rows * bits->stride * sizeof *bits->words;
    must(gpu_write(gpu, bits->device, bits->words, bytes, &error), &error);
}

static void bits_set_at(struct bits *bits, uint32_t row, uint32_t column)
{
    bits->words[(size_t)row * bits->stride + column / 32] |= 1u << column % 32;
}

/* Row `from` joins row `to`, which may be of the same matrix. */
static void join_row(struct bits *bits, uint32_t to, uint32_t from)
{
    for (uint32_t i = 0; i < bits->stride; i++)
        bits->words[(size_t)to * bits->stride + i] |= bits->words[(size_t)from * bits->stride + i];
}

/* Warshall, plainly; what hangs on the right comes along. */
static void close_plainly(struct bits *paths, struct bits *held)
{
    for (uint32_t k = 0; k < paths->rows; k++)
        for (uint32_t i = 0; i < paths->rows; i++)
            if (bit_at(paths, i, k)) {
                join_row(paths, i, k);
                if (held)
                    join_row(held, i, k);
            }
}

/* Edges of a graph: `degree` a slot at random, or one long way through all slots in an order drawn
 * at random, with some edges left out. */
static void draw_paths(struct bits *paths, unsigned degree, bool chain)
{
    uint32_t size = paths->rows;
    uint32_t *order = malloc(size * sizeof *order);
    REQUIRE(order != NULL);
    bool shuffled = below(2);
    for (uint32_t i = 0; i < size; i++) {
        uint32_t at = shuffled ? below(i + 1) : i;
        order[i] = order[at];
        order[at] = i;
    }
    for (uint32_t i = 0; i < size && !chain; i++)
        for (unsigned j = 0; j < degree; j++)
            bits_set_at(paths, i, below(size));
    for (uint32_t i = 0; i + 1 < size && chain; i++)
        if (below(size) != 0)
            bits_set_at(paths, order[i], order[i + 1]);
    free(order);
    bits_write(paths);
}

static void test_closure(uint32_t size, uint32_t columns, unsigned degree, bool chain, bool tensor)
{
    gordian_error error = {0};
    struct bits paths = bits_make(size, size, 0), barrier = bits_make(1, 32, 0), held = {0};
    draw_paths(&paths, degree, chain);
    if (columns)
        held = bits_make(size, columns, 1);
    struct bit_closure_arguments closure = {.paths = paths.device,
                                            .held = held.device,
                                            .barrier = barrier.device,
                                            .stride = paths.stride,
                                            .held_stride = held.stride,
                                            .size = size,
                                            .columns = columns,
                                            .tensor = tensor};
    struct gpu_launch launch = {.kernel = "bit_closure",
                                .blocks = 1 + below(small ? 4 : 100),
                                .threads = BOOL_TILE_THREADS,
                                .cooperative = true,
                                .arguments = &closure,
                                .arguments_size = sizeof closure};
    must(gpu_launch(gpu, &launch, &error), &error);
    close_plainly(&paths, columns ? &held : NULL);
    bits_check(&paths, tensor ? "closure (tensor)" : "closure (words)");
    if (columns) {
        bits_check(&held, "closure, what hangs on");
        bits_free(&held);
    }
    bits_free(&paths);
    bits_free(&barrier);
}

/* ------------------------------------------------------------------ measuring */

static double time_product(uint32_t size, bool tensor)
{
    gordian_error error = {0};
    struct bits left = bits_make(size, size, 0), right = bits_make(size, size, 0);
    struct bits out = bits_make(size, size, 0);
    size_t words = (size_t)size * left.stride;
    must(gpu_fill32(gpu, left.device, 0x01010101, words, &error), &error);
    must(gpu_fill32(gpu, right.device, 0x02020202, words, &error), &error); /* they never meet */
    struct bool_product_arguments product = {.left = left.device,
                                             .right = right.device,
                                             .out = out.device,
                                             .left_stride = left.stride,
                                             .right_stride = left.stride,
                                             .out_stride = left.stride,
                                             .rows = size,
                                             .columns = size,
                                             .inner_words = size / 32,
                                             .tensor = tensor};
    double best = 0;
    for (int i = 0; i < 3; i++) {
        double microseconds = 0;
        must(gpu_timer_start(gpu, &error), &error);
        must(hop_product(gpu, &product, &error), &error);
        must(gpu_timer_stop(gpu, &microseconds, &error), &error);
        if (i == 0 || microseconds < best)
            best = microseconds;
    }
    bits_free(&left);
    bits_free(&right);
    bits_free(&out);
    return best;
}

static void bench_products(const uint32_t *sizes, size_t count)
{
    printf("\n| boolean product | tensor, us | Tbitop/s | words, us | Tbitop/s "
           "|\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        double work = 2.0 * sizes[i] * sizes[i] * sizes[i] / 1e6;
        double tensor = time_product(sizes[i], true), words = time_product(sizes[i], false);
        printf("| %u | %.1f | %.0f | %.1f | %.0f |\n", sizes[i], tensor, work / tensor, words,
               work / words);
    }
}

/* ------------------------------------------------------------------ main */

static void test_random(void)
{
    static const uint32_t edges[] = {1, 31, 32, 33, 127, 128, 129, 255, 257, 300, 384, 385};
    static const unsigned percents[] = {0, 1, 3, 30, 100};
    const uint32_t edge_count = sizeof edges / sizeof *edges;
    unsigned rounds = 1 + 30 * scale / 100;
    for (unsigned i = 0; i < rounds; i++) {
        uint32_t sizes[3];
        for (int j = 0; j < 3; j++)
            sizes[j] = below(2) ? edges[below(edge_count)] : 1 + below(400);
        unsigned percent = percents[below(5)];
        test_product(sizes[0], sizes[1], sizes[2], percent, i % 2);
        test_transpose(sizes[0], sizes[1], percent);
        test_closure(sizes[0], below(3) ? sizes[1] : 0, below(4), below(2), i % 2);
    }
}

static void test_large(void)
{
    for (int tensor = 0; tensor < 2; tensor++) { /* several steps, several tiles */
        test_product(1000, 3000, 1500, 1, tensor);
        for (int chain = 0; chain < 2; chain++) {
            test_closure(1024, 1024, 1, chain, tensor);
            test_closure(2047, 1000, 2, chain, tensor);
            test_closure(3000, 0, 1, chain, tensor);
        }
    }
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {1024, 2048, 4096, 16384, 65536};
    int device = device_wanted(argc, argv);
    bool bench = false;
    uint64_t seed = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--device") == 0)
            i++;
        else if (strcmp(argv[i], "--watched") == 0)
            small = true;
        else if (strcmp(argv[i], "--bench") == 0)
            bench = true;
        else
            seed = strtoull(argv[i], NULL, 10);
    }
    scale = test_scale();
    random_seed(&randomness, seed);
    gpu = device_open(device);
    struct gpu_info info;
    gpu_get_info(gpu, &info);
    small |= info.emulated;
    test_random();
    if (!small)
        test_large();
    if (bench)
        bench_products(sizes, info.emulated ? 1 : sizeof sizes / sizeof *sizes);
    gpu_close(gpu);
    return test_done();
}
