/*
 * Growable arrays, as the host uses them: appending, reading, shrinking, what is refused, and what
 * happens when memory is short or an allocation fails.
 *
 *     test_array_host --device 0 [--verbose] [--watched]
 */
#include "alloc/failing.h"
#include "array_trial.h"
#include "foundation/base/random.h"
#include "kernels/selftest.h"

/* ---- a model: what the array must hold */

struct model {
    struct gpu_array *array;
    uint32_t element;
    unsigned char *content;
    uint64_t size, room;
};

static unsigned char byte_of(uint64_t element, uint32_t at)
{
    return (unsigned char)((element * 2654435761u + at * 40503u) >> 7);
}

static void model_append(struct model *model, uint64_t count)
{
    uint64_t bytes = (model->size + count) * model->element;
    if (bytes > model->room || !model->content) {
        model->room = bytes * 2 + 1;
        model->content = realloc(model->content, model->room);
        REQUIRE(model->content != NULL);
    }
    unsigned char *from = model->content + model->size * model->element;
    for (uint64_t i = 0; i < count * model->element; i++)
        from[i] = byte_of(model->size + i, (uint32_t)i);
    DO(gpu_array_append(model->array, from, count, &error));
    model->size += count;
}

static void model_check(struct model *model, uint64_t first, uint64_t count)
{
    unsigned char *to = malloc(count * model->element + 1);
    DO(gpu_array_read(model->array, to, first, count, &error));
    CHECK(count == 0 ||
          memcmp(to, model->content + first * model->element, count * model->element) == 0);
    free(to);
}

static void model_step(struct model *model, struct random *random)
{
    struct gpu_array_count count = {0};
    uint64_t capacity = 0, first = random_below(random, model->size + 1);
    switch (random_below(random, 6)) {
    case 0:
        DO(gpu_array_shrink(model->array, &error));
        break;
    case 1:
        if (random_below(random, 4) == 0) {
            DO(gpu_array_clear(model->array, &error));
            model->size = 0;
        }
        break;
    case 2:
        DO(gpu_array_reserve(model->array, model->size + random_below(random, 500), &error));
        break;
    case 3:
        model_check(model, first, random_below(random, model->size - first + 1));
        break;
    default:
        model_append(model, random_below(random, 300));
    }
    DO(gpu_array_settle(model->array, &count, &error));
    CHECK(count.size == model->size && count.refused == 0);
    DO(gpu_array_capacity(model->array, &capacity, &error));
    CHECK(capacity >= model->size);
}

/* Random calls on two arrays, of one pool every other time. */
static void test_model(struct gpu *gpu, unsigned rounds)
{
    struct random random;
    random_seed(&random, 3);
    for (unsigned round = 0; round < rounds; round++) {
        struct gpu_pool *pool = NULL;
        progress_case("round %u", round);
        if (round % 2)
            DO(gpu_pool_create(
                &pool, gpu, &(struct gpu_pool_options){.chunk_bytes = 1024, .most = 9999}, &error));
        struct model models[2] = {0};
        for (unsigned i = 0; i < 2; i++) {
            struct gpu_array_options options = {
                .mode = pool ? GPU_ARRAY_CHUNKED : random_below(&random, 2),
                .element = 1 + (uint32_t)random_below(&random, 40),
                .most = 100000,
                .page = UINT64_C(1) << (pool ? random_below(&random, 4) : random_below(&random, 9)),
                .pool = pool};
            models[i].element = options.element;
            DO(gpu_array_create(&models[i].array, gpu, &options, &error));
        }
        for (unsigned step = 0; step < 40; step++)
            model_step(&models[random_below(&random, 2)], &random);
        for (unsigned i = 0; i < 2; i++) {
            model_check(&models[i], 0, models[i].size);
            gpu_array_destroy(models[i].array);
            free(models[i].content);
        }
        uint64_t chunks = 0, taken = 0;
        if (pool)
            DO(gpu_pool_count(pool, &chunks, &taken, &error));
        CHECK(taken == 0);
        gpu_pool_destroy(pool);
    }
}

/* ---- what is refused */

static void refuse(struct gpu *gpu, const struct gpu_array_options *options, const char *text)
{
    struct gpu_array *array = NULL;
    gordian_error error = {0};
    CHECK(gpu_array_create(&array, gpu, options, &error) == GORDIAN_STATUS_INPUT && !array);
    CHECK_MSG(strstr(error.message, text), "%s", error.message);
}

static void test_refused(struct gpu *gpu)
{
    struct gpu_pool *pool = NULL;
    struct gpu_pool_options odd = {.chunk_bytes = 100};
    CHECK(gpu_pool_create(&pool, gpu, &odd, NULL) == GORDIAN_STATUS_INPUT && !pool);
    odd = (struct gpu_pool_options){.chunk_bytes = 256, .most = UINT64_C(1) << 40};
    CHECK(gpu_pool_create(&pool, gpu, &odd, NULL) == GORDIAN_STATUS_INPUT && !pool);
    DO(gpu_pool_create(&pool, gpu, &(struct gpu_pool_options){.chunk_bytes = 256, .most = 4},
                       &error));
    struct gpu_array_options good = {.element = 8, .most = 100}, bad = good;
    bad.element = 0;
    refuse(gpu, &bad, "at least one byte");
    bad = good;
    bad.page = 48;
    refuse(gpu, &bad, "not a power of two");
    bad = good;
    bad.capacity = 101;
    refuse(gpu, &bad, "101 elements, at most 100");
    bad = good;
    bad.most = UINT64_MAX / 2;
    refuse(gpu, &bad, "elements, at most");
    bad = good;
    bad.pool = pool;
    refuse(gpu, &bad, "only a chunked array without a capacity");
    bad.mode = GPU_ARRAY_CHUNKED;
    bad.page = 64;
    refuse(gpu, &bad, "larger than a chunk");
    struct gpu_array *array = NULL;
    unsigned char byte[8] = {0};
    DO(gpu_array_create(&array, gpu, &good, &error));
    DO(gpu_array_append(array, byte, 1, &error));
    CHECK(gpu_array_read(array, byte, 0, 2, NULL) == GORDIAN_STATUS_INPUT);
    CHECK(gpu_array_read(array, byte, 2, 0, NULL) == GORDIAN_STATUS_INPUT);
    CHECK(gpu_array_flatten(array, 0, UINT64_MAX, 2, NULL) == GORDIAN_STATUS_INPUT);
    CHECK(gpu_array_reserve(array, 101, NULL) == GORDIAN_STATUS_MEMORY);
    CHECK(gpu_array_append(array, byte, 100, NULL) == GORDIAN_STATUS_MEMORY);
    CHECK(gpu_array_run(&array, 0, &(struct gpu_launch){0}, NULL, NULL) == GORDIAN_STATUS_INPUT);
    CHECK(gpu_pool_reserve(pool, 5, NULL) == GORDIAN_STATUS_MEMORY);
    gpu_array_destroy(array);
    gpu_array_destroy(NULL);
    gpu_pool_destroy(pool);
    gpu_pool_destroy(NULL);
}

/* ---- memory */

/* Memory for an array is taken when it grows, and comes back when it shrinks and ends: did what is
 * free say so? */
static bool comes_back(struct gpu *gpu, enum gpu_array_mode mode)
{
    struct gpu_info at_first, grown, shrunk, after;
    const uint64_t count = 3 << 20;
    struct gpu_array *array = NULL;
    gpu_get_info(gpu, &at_first);
    DO(gpu_array_create(&array, gpu,
                        &(struct gpu_array_options){.mode = mode, .element = 16, .page = 4096},
                        &error));
    REQUIRE(array != NULL);
    DO(gpu_array_reserve(array, count, &error));
    gpu_get_info(gpu, &grown);
    DO(gpu_array_shrink(array, &error));
    gpu_get_info(gpu, &shrunk);
    gpu_array_destroy(array);
    gpu_get_info(gpu, &after);
    return at_first.memory_free >= grown.memory_free + count * 16 &&
           shrunk.memory_free >= grown.memory_free + count * 16 &&
           (!at_first.emulated || after.memory_free == at_first.memory_free);
}

/* What is free on a real device is everybody's, a sanitizer's own memory included: it may have to
 * be looked at again. What leaks, leaks every time. */
static void test_memory(struct gpu *gpu, enum gpu_array_mode mode)
{
    bool came_back = false;
    for (int look = 0; look < 10 && !came_back; look++)
        came_back = comes_back(gpu, mode);
    CHECK(came_back);
}

/* A range maps and moves nothing; given back while a service runs, it stays until that ends. */
static void test_range(struct gpu *gpu)
{
    struct selftest_service_arguments arguments;
    struct gpu_info at_first, during, after;
    struct gpu_range *range = NULL;
    uint64_t number = 7, back = 0;
    void *desk;
    gpu_get_info(gpu, &at_first);
    DO(gpu_map(gpu, &desk, &arguments.desk, sizeof(struct selftest_desk), &error));
    DO(gpu_range_create(&range, gpu, UINT64_C(64) << 20, &error));
    REQUIRE(range != NULL);
    gpu_address address = gpu_range_address(range);
    DO(gpu_launch(gpu,
                  &(struct gpu_launch){.kernel = "selftest_service",
                                       .blocks = 1,
                                       .threads = 32,
                                       .arguments = &arguments,
                                       .arguments_size = sizeof arguments,
                                       .service = true},
                  &error));
    for (uint64_t bytes = 1; bytes <= 40 << 20; bytes = bytes * 5 + 100000) {
        progress_case("growing to %llu bytes beside a service", (unsigned long long)bytes);
        DO(gpu_range_grow(range, bytes, &error));
        DO(gpu_write(gpu, address + (bytes - 1) / 8 * 8, &number, sizeof number, &error));
        DO(gpu_read(gpu, &back, address + (bytes - 1) / 8 * 8, sizeof back, &error));
        CHECK(back == number && gpu_range_address(range) == address);
        CHECK(gpu_range_mapped(range) >= bytes);
        number++;
    }
    CHECK(gpu_range_grow(range, UINT64_C(65) << 20, NULL) == GORDIAN_STATUS_INPUT);
    DO(gpu_read(gpu, &back, address, sizeof back, &error));
    CHECK(back == 7);
    progress_case("giving back beside a service");
    gpu_range_destroy(range);
    gpu_get_info(gpu, &during);
    CHECK(at_first.memory_free - during.memory_free >= 8 << 20);
    __atomic_store_n(&((struct selftest_desk *)desk)->stop, 1, __ATOMIC_RELEASE);
    DO(gpu_wait_service(gpu, &error));
    gpu_unmap(gpu, desk);
    gpu_get_info(gpu, &after);
    CHECK(after.memory_free > during.memory_free);
    CHECK(!at_first.emulated || after.memory_free == at_first.memory_free);
}

/* An array that cannot hold everything is emptied on the way, and nothing is lost. */
static void test_drain(struct gpu *gpu, const struct gpu_array_options *options, unsigned way)
{
    struct trial trial = {.way = way, .items = 700, .each = 3, .blocks = 5, .threads = 64};
    uint64_t outputs = trial_outputs(&trial), drained = 0;
    unsigned char *all = malloc(outputs * options->element);
    struct gpu_array *array = NULL;
    progress_case("%s, way %u, at most %llu", options->mode ? "chunked" : "flat", way,
                  (unsigned long long)options->most);
    DO(gpu_array_create(&array, gpu, options, &error));
    gpu_address marks = trial_marks(gpu, &trial);
    struct array_fill_arguments arguments = trial_arguments(&trial, array, marks);
    struct gpu_launch launch = trial_launch(&trial, &arguments);
    gordian_status ended = GORDIAN_STATUS_MEMORY;
    while (ended == GORDIAN_STATUS_MEMORY && drained < outputs) {
        struct gpu_array_count count = {0};
        ended = gpu_array_run(&array, 1, &launch, NULL, NULL);
        DO(gpu_array_settle(array, &count, &error));
        REQUIRE(count.size > 0 && count.size <= outputs - drained);
        DO(gpu_array_read(array, all + drained * options->element, 0, count.size, &error));
        DO(gpu_array_clear(array, &error));
        drained += count.size;
    }
    CHECK(ended == GORDIAN_OK && drained == outputs);
    trial_check_elements(&trial, 1, options->element, all, drained, true);
    gpu_free(gpu, marks);
    gpu_array_destroy(array);
    free(all);
}

static void test_drains(struct gpu *gpu)
{
    for (unsigned way = ARRAY_RESUME; way < ARRAY_WAYS; way++) {
        gpu_emulator_seed(gpu, way);
        struct gpu_array_options options = {.element = 7, .most = 100};
        test_drain(gpu, &options, way);
        options.capacity = 64;
        options.most = 300;
        test_drain(gpu, &options, way);
        options.mode = GPU_ARRAY_CHUNKED;
        options.page = 32;
        test_drain(gpu, &options, way);
    }
    gpu_emulator_seed(gpu, 0);
}

/* A device with little memory: what was there stays. */
static void test_no_memory(enum gpu_array_mode mode)
{
    struct gpu *gpu = device_open(-1);
    struct gpu_array *array = NULL;
    uint32_t numbers[100], back[100];
    for (uint32_t i = 0; i < 100; i++)
        numbers[i] = i * i;
    gpu_emulator_memory(gpu, 2 << 20);
    DO(gpu_array_create(&array, gpu,
                        &(struct gpu_array_options){.mode = mode, .element = 4, .page = 1024},
                        &error));
    DO(gpu_array_append(array, numbers, 100, &error));
    CHECK(gpu_array_reserve(array, (3 << 20) / 4, NULL) == GORDIAN_STATUS_MEMORY);
    CHECK(!gpu_failed(gpu));
    DO(gpu_array_read(array, back, 0, 100, &error));
    CHECK(memcmp(numbers, back, sizeof back) == 0);
    gpu_array_destroy(array);
    gpu_close(gpu);
}

/* ---- every allocation fails once */

#define AGAIN(call)                                                                                \
    do {                                                                                           \
        gordian_status status = (call);                                                            \
        CHECK(status == GORDIAN_OK || status == GORDIAN_STATUS_MEMORY);                            \
        if (status == GORDIAN_STATUS_MEMORY)                                                       \
            CHECK((call) == GORDIAN_OK);                                                           \
    } while (0)

static void use_array(struct gpu *gpu, struct gpu_pool *pool, enum gpu_array_mode mode)
{
    struct gpu_array *array = NULL;
    uint32_t numbers[50], back[100];
    for (uint32_t i = 0; i < 50; i++)
        numbers[i] = i + 7;
    struct gpu_array_options options = {
        .mode = mode, .element = 4, .most = 1000, .page = 4, .pool = pool};
    AGAIN(gpu_array_create(&array, gpu, &options, NULL));
    AGAIN(gpu_array_append(array, numbers, 30, NULL));
    AGAIN(gpu_array_reserve(array, 300, NULL));
    AGAIN(gpu_array_append(array, numbers, 50, NULL));
    AGAIN(gpu_array_shrink(array, NULL));
    AGAIN(gpu_array_read(array, back, 0, 80, NULL));
    CHECK(memcmp(back, numbers, 120) == 0 && memcmp(back + 30, numbers, 200) == 0);
    if (mode == GPU_ARRAY_FLAT) {
        AGAIN(gpu_array_watch(array, 100, NULL));
        gpu_array_unwatch(array);
    }
    AGAIN(gpu_array_clear(array, NULL));
    AGAIN(gpu_array_shrink(array, NULL));
    gpu_array_destroy(array);
}

static void use_failing(const gordian_allocator *memory)
{
    struct gpu *gpu = NULL;
    struct gpu_pool *pool = NULL;
    AGAIN(gpu_open_emulator(&gpu, memory, NULL));
    AGAIN(gpu_pool_create(&pool, gpu,
                          &(struct gpu_pool_options){.chunk_bytes = 256, .most = 100, .chunks = 3},
                          NULL));
    use_array(gpu, NULL, GPU_ARRAY_FLAT);
    use_array(gpu, NULL, GPU_ARRAY_CHUNKED);
    use_array(gpu, pool, GPU_ARRAY_CHUNKED);
    gpu_pool_destroy(pool);
    struct gpu_info info;
    gpu_get_info(gpu, &info);
    CHECK(info.memory_free == info.memory);
    gpu_close(gpu);
}

static void test_every_allocation(void)
{
    struct failing failing = {0};
    const gordian_allocator memory = {failing_resize, &failing};
    use_failing(&memory);
    CHECK(failing.live_blocks == 0);
    size_t calls = failing.calls;
    CHECK(calls > 40);
    for (size_t i = 1; i <= calls; i++) {
        failing = (struct failing){.fail_at = i};
        use_failing(&memory);
        CHECK_MSG(failing.failures == 1 && failing.live_blocks == 0, "allocation %zu", i);
    }
}

static void test_on_device(struct gpu *gpu, bool watched)
{
    progress_part("refused");
    test_refused(gpu);
    progress_part("model");
    test_model(gpu, watched ? 2 : test_scaled(400));
    progress_part("memory");
    test_memory(gpu, GPU_ARRAY_FLAT);
    test_memory(gpu, GPU_ARRAY_CHUNKED);
    progress_part("drained");
    test_drains(gpu);
    progress_part("ranges");
    if (!watched)
        test_range(gpu);
}

int main(int argc, char **argv)
{
    int device = device_wanted(argc, argv);
    bool watched = false;
    for (int i = 1; i < argc; i++)
        watched |= strcmp(argv[i], "--watched") == 0;
    progress_open(argc, argv, device);
    progress_part("opening");
    struct gpu *gpu = device_open(device);
    test_on_device(gpu, watched);
    progress_part("closing");
    gpu_close(gpu);
    if (device < 0) {
        progress_part("no memory");
        test_no_memory(GPU_ARRAY_FLAT);
        test_no_memory(GPU_ARRAY_CHUNKED);
        progress_part("every allocation");
        test_every_allocation();
    }
    progress_close();
    return test_done();
}
