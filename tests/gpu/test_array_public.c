/*
 * The growable array as programs with CUDA of their own use it (gordian/array.h): kernels are
 * launched by somebody else on the same device, and the library is told when.
 *
 *     test_array_public --device 0 [--watched]
 */
#include "alloc/failing.h"
#include "array_trial.h"

#include <gordian/array.h>

struct bed {
    struct gpu *gpu; /* the caller's own */
    gordian_gpu *library;
    bool watched;
};

static gordian_array_options usual_options(uint32_t element)
{
    gordian_array_options options;
    gordian_array_options_init(&options);
    options.element = element;
    options.most = 100000; /* tables of small pages for the whole memory would be large */
    return options;
}

/* ---- kernels */

/* Launches a trial between begin and end. */
static void run_trial(struct bed *bed, gordian_array *array, const struct trial *trial,
                      gpu_address marks, gordian_array_count *count)
{
    struct array_fill_arguments arguments = {.marks = marks,
                                             .start = trial->start,
                                             .items = trial->items,
                                             .each = trial->each,
                                             .way = trial->way};
    struct gpu_launch launch = trial_launch(trial, &arguments);
    DO(gordian_array_begin(array, &arguments.out, &error));
    DO(gpu_launch(bed->gpu, &launch, &error));
    DO(gpu_wait(bed->gpu, &error));
    DO(gordian_array_end(array, count, &error));
}

/* All elements piece by piece; the pieces are in order and leave nothing out. */
static unsigned char *read_pieces(struct bed *bed, gordian_array *array, uint32_t element,
                                  uint64_t size)
{
    unsigned char *all = malloc(size * element + 1);
    gordian_array_piece piece = {0};
    uint64_t next = 0;
    REQUIRE(all != NULL);
    while (gordian_array_next(array, &piece, NULL) == GORDIAN_OK) {
        REQUIRE(piece.first == next && piece.count && piece.count <= size - next);
        DO(gpu_read(bed->gpu, all + piece.first * element, (uintptr_t)piece.at,
                    piece.count * element, &error));
        next += piece.count;
    }
    CHECK(gordian_array_next(array, &piece, NULL) == GORDIAN_STATUS_END);
    CHECK(next == size && piece.first + piece.count == size);
    return all;
}

static void check_array(struct bed *bed, gordian_array *array, const struct trial *trial,
                        uint32_t element)
{
    uint64_t size = 0;
    gpu_address flat = 0;
    DO(gordian_array_size(array, &size, &error));
    size_t bytes = size * element;
    unsigned char *pieces = read_pieces(bed, array, element, size), *other = malloc(bytes + 1);
    trial_check_elements(trial, 1, element, pieces, size, true);
    DO(gordian_array_read(array, other, 0, size, &error));
    CHECK(memcmp(pieces, other, bytes) == 0);
    DO(gpu_alloc(bed->gpu, &flat, bytes + 1, &error));
    DO(gordian_array_flatten(array, (void *)(uintptr_t)flat, 0, size, &error));
    memset(other, 0, bytes);
    DO(gpu_read(bed->gpu, other, flat, bytes, &error));
    CHECK(memcmp(pieces, other, bytes) == 0);
    gpu_free(bed->gpu, flat);
    free(pieces);
    free(other);
}

/* From no memory at all, launched until nothing is refused. */
static void test_growing(struct bed *bed, gordian_array_kind kind, uint64_t watch, uint32_t element)
{
    struct trial trial = {.way = ARRAY_RESUME_WARP,
                          .start = 5,
                          .items = bed->watched ? 2000 : 20000,
                          .each = 3,
                          .blocks = 7,
                          .threads = 96};
    gordian_array *array = NULL;
    gordian_array_options options = usual_options(element);
    gordian_array_count count = {0};
    options.kind = kind;
    options.watch = watch;
    options.page = 256;
    options.ahead = element % 3;
    DO(gordian_array_create(&array, bed->library, &options, &error));
    REQUIRE(array != NULL);
    gpu_address marks = trial_marks(bed->gpu, &trial);
    unsigned launches = 0;
    do {
        run_trial(bed, array, &trial, marks, &count);
        launches++;
    } while (count.refused && launches < 100);
    CHECK(count.refused == 0 && count.size == trial_outputs(&trial));
    CHECK(watch || launches == 2);
    check_array(bed, array, &trial, element);
    DO(gordian_array_shrink(array, &error));
    check_array(bed, array, &trial, element);
    gpu_free(bed->gpu, marks);
    gordian_array_destroy(array);
}

/* What is refused is told; there is memory for it afterwards. */
static void test_refusals(struct bed *bed)
{
    struct trial trial = {
        .way = ARRAY_PUSH_BLOCK, .items = 1000, .each = 1, .blocks = 3, .threads = 64};
    gordian_array *array = NULL;
    gordian_array_options options = usual_options(8);
    gordian_array_count count = {0};
    uint64_t outputs = trial_outputs(&trial);
    options.capacity = options.page = 64;
    DO(gordian_array_create(&array, bed->library, &options, &error));
    run_trial(bed, array, &trial, 0, &count);
    CHECK(count.size == 64 && count.refused == outputs - 64);
    DO(gordian_array_clear(array, &error));
    run_trial(bed, array, &trial, 0, &count);
    CHECK(count.size == outputs && count.refused == 0);
    check_array(bed, array, &trial, 8);
    gordian_array_destroy(array);

    options.most = 64;
    DO(gordian_array_create(&array, bed->library, &options, &error));
    struct array_fill_arguments arguments = {.items = 1000, .each = 1, .way = ARRAY_PUSH_BLOCK};
    struct gpu_launch launch = trial_launch(&trial, &arguments);
    DO(gordian_array_begin(array, &arguments.out, &error));
    DO(gpu_launch(bed->gpu, &launch, &error));
    DO(gpu_wait(bed->gpu, &error));
    count = (gordian_array_count){0};
    CHECK(gordian_array_end(array, &count, NULL) == GORDIAN_STATUS_MEMORY);
    CHECK(count.size == 64 && count.refused == outputs - 64);
    gordian_array_destroy(array);
}

/* ---- the host */

static void test_host(struct bed *bed, gordian_array_kind kind)
{
    gordian_array *array = NULL;
    gordian_array_options options = usual_options(sizeof(uint32_t));
    uint32_t numbers[1000], back[1000];
    uint64_t size = 1;
    options.kind = kind;
    options.page = 32;
    for (uint32_t i = 0; i < 1000; i++)
        numbers[i] = i * i;
    DO(gordian_array_create(&array, bed->library, &options, &error));
    DO(gordian_array_size(array, &size, &error));
    CHECK(size == 0);
    free(read_pieces(bed, array, 4, 0));
    DO(gordian_array_reserve(array, 500, &error));
    DO(gordian_array_append(array, numbers, 10, &error));
    DO(gordian_array_append(array, numbers + 10, 990, &error));
    DO(gordian_array_read(array, back, 0, 1000, &error));
    CHECK(memcmp(back, numbers, sizeof back) == 0);
    DO(gordian_array_read(array, back, 77, 800, &error));
    CHECK(memcmp(back, numbers + 77, 800 * sizeof *back) == 0);
    CHECK(gordian_array_read(array, back, 1, 1000, NULL) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_array_flatten(array, NULL, 1001, 0, NULL) == GORDIAN_STATUS_INPUT);
    gordian_array_destroy(array);
}

/* Calls in the wrong order, and what makes no sense. */
static void test_misuse(struct bed *bed)
{
    gordian_array *array = NULL;
    gordian_array_options options = usual_options(4);
    gordian_array_count count;
    gordian_error told = {0};
    struct garray view;
    uint32_t x = 0;
    uint64_t size;
    options.watch = 10;
    CHECK(gordian_array_create(&array, bed->library, &options, &told) == GORDIAN_STATUS_INPUT);
    CHECK(array == NULL && strstr(told.message, "flat") != NULL);
    options.watch = 0;
    options.kind = 7;
    CHECK(gordian_array_create(&array, bed->library, &options, NULL) == GORDIAN_STATUS_INPUT);
    options = usual_options(0);
    CHECK(gordian_array_create(&array, bed->library, &options, NULL) == GORDIAN_STATUS_INPUT);
    options = usual_options(4);
    DO(gordian_array_create(&array, bed->library, &options, &error));
    CHECK(gordian_array_end(array, &count, NULL) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_array_begin_layout(array, GORDIAN_ARRAY_LAYOUT + 1, &view, &told) ==
          GORDIAN_STATUS_INPUT);
    CHECK(strstr(told.message, "layout") != NULL);
    DO(gordian_array_begin(array, &view, &error));
    CHECK(view.element == 4);
    CHECK(gordian_array_begin(array, &view, NULL) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_array_append(array, &x, 1, NULL) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_array_size(array, &size, NULL) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_array_clear(array, NULL) == GORDIAN_STATUS_INPUT);
    DO(gordian_array_end(array, &count, &error));
    CHECK(count.size == 0 && count.refused == 0);
    gordian_array_destroy(array);
    gordian_array_destroy(NULL);
    gordian_gpu_close(NULL);
}

/* ---- every allocation fails once */

#define AGAIN(call)                                                                                \
    do {                                                                                           \
        gordian_status status = (call);                                                            \
        CHECK(status == GORDIAN_OK || status == GORDIAN_STATUS_MEMORY);                            \
        if (status == GORDIAN_STATUS_MEMORY)                                                       \
            CHECK((call) == GORDIAN_OK);                                                           \
    } while (0)

static void use_failing(const gordian_allocator *memory)
{
    gordian_gpu *gpu = NULL;
    gordian_array *array = NULL;
    gordian_array_options options = usual_options(1);
    gordian_array_count count;
    struct garray view;
    char text[] = "a text of some letters", back[sizeof text];
    options.kind = GORDIAN_ARRAY_KIND_FLAT;
    options.watch = 100;
    AGAIN(gordian_gpu_open(&gpu, 0, memory, NULL));
    AGAIN(gordian_array_create(&array, gpu, &options, NULL));
    AGAIN(gordian_array_begin(array, &view, NULL));
    AGAIN(gordian_array_end(array, &count, NULL));
    AGAIN(gordian_array_append(array, text, sizeof text, NULL));
    AGAIN(gordian_array_read(array, back, 0, sizeof text, NULL));
    CHECK(strcmp(text, back) == 0);
    gordian_array_destroy(array);
    gordian_gpu_close(gpu);
}

static void test_every_allocation(void)
{
    struct failing failing = {0};
    const gordian_allocator memory = {failing_resize, &failing};
    use_failing(&memory);
    CHECK(failing.live_blocks == 0);
    size_t calls = failing.calls;
    for (size_t i = 1; i <= calls; i++) {
        failing = (struct failing){.fail_at = i};
        use_failing(&memory);
        CHECK_MSG(failing.failures == 1 && failing.live_blocks == 0, "allocation %zu", i);
    }
}

int main(int argc, char **argv)
{
    int device = device_wanted(argc, argv);
    struct bed bed = {0};
    for (int i = 1; i < argc; i++)
        bed.watched |= strcmp(argv[i], "--watched") == 0;
    progress_open(argc, argv, device);
    progress_part("opening");
    setenv("GORDIAN_EMULATE_GPU", device < 0 ? "1" : "0", 1);
    bed.gpu = device_open(device);
    DO(gordian_gpu_open(&bed.library, device < 0 ? 0 : (unsigned)device, NULL, &error));
    REQUIRE(bed.library != NULL);
    progress_part("host");
    test_host(&bed, GORDIAN_ARRAY_KIND_PAGES);
    test_host(&bed, GORDIAN_ARRAY_KIND_FLAT);
    test_misuse(&bed);
    progress_part("kernels");
    static const uint32_t elements[] = {1, 4, 7, 16};
    for (unsigned i = 0; i < 4; i++) {
        gpu_emulator_seed(bed.gpu, i);
        test_growing(&bed, GORDIAN_ARRAY_KIND_PAGES, 0, elements[i]);
        test_growing(&bed, GORDIAN_ARRAY_KIND_FLAT, 0, elements[i]);
        test_growing(&bed, GORDIAN_ARRAY_KIND_FLAT, 1000, elements[i]);
    }
    test_refusals(&bed);
    if (device < 0) {
        progress_part("every allocation");
        test_every_allocation();
    }
    progress_close();
    gordian_gpu_close(bed.library);
    gpu_close(bed.gpu);
    return test_done();
}
