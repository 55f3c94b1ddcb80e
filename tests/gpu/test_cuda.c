/* The half that talks to the CUDA driver, against a fake one (fake_cuda.c), whose calls fail in
 * turn: no crash, no leak, the right status.
 *
 *     GORDIAN_CUDA_LIBRARY=.../fake_cuda.so test_cuda */
#include "device.h"
#include "fake_cuda.h"
#include "foundation/gpu/array/array.h"
#include "foundation/gpu/driver.h"
#include "foundation/gpu/kernels.h"
#include "kernels/selftest.h"

#include <dlfcn.h>

/* Take the place of the library's kernels: what the fake driver understands, an image for each. */
static const struct gpu_kernel library_kernels[] = {
#define GPU_KERNEL(name, file) {#name, file, NULL},
#include "foundation/gpu/kernels/list.h"
#undef GPU_KERNEL
};
static const struct gpu_image library_images[] = {
#define GPU_KERNEL(name, file) {"*", file},
#include "foundation/gpu/kernels/list.h"
#undef GPU_KERNEL
    {NULL, NULL},
};
const struct gpu_kernels gpu_library_kernels = {
    library_kernels, sizeof library_kernels / sizeof *library_kernels, library_images};

/* A set of a test's own. */
static const struct gpu_kernels own_kernels = {
    (const struct gpu_kernel[]){{"selftest_index", "selftest.cu", NULL},
                                {"selftest_service", "selftest.cu", NULL}},
    2, (const struct gpu_image[]){{"*", "selftest.cu"}, {NULL, NULL}}};

static struct fake_cuda *fake;

static void reset(void)
{
    *fake = (struct fake_cuda){.devices = 1, .major = 9, .memory = 1 << 20};
}

/* Nothing taken is left, whatever failed. */
static void check_clean(void)
{
    const char *failed = fake->failed;
    CHECK_MSG(fake->contexts == 0, "after %s: %ld contexts", failed, fake->contexts);
    CHECK_MSG(fake->pushed == 0, "after %s: %ld contexts current", failed, fake->pushed);
    CHECK_MSG(fake->memories == 0, "after %s: %ld allocations", failed, fake->memories);
    CHECK_MSG(fake->streams == 0, "after %s: %ld streams", failed, fake->streams);
    CHECK_MSG(fake->events == 0, "after %s: %ld events", failed, fake->events);
    CHECK_MSG(fake->modules == 0, "after %s: %ld modules", failed, fake->modules);
    CHECK_MSG(fake->ranges == 0, "after %s: %ld ranges", failed, fake->ranges);
    CHECK_MSG(fake->handles == 0, "after %s: %ld handles", failed, fake->handles);
    CHECK_MSG(fake->mappings == 0, "after %s: %ld mappings", failed, fake->mappings);
    CHECK_MSG(fake->mapped == 0, "after %s: %zu bytes mapped", failed, fake->mapped);
    CHECK_MSG(fake->waits == 0, "after %s: %ld waits", failed, fake->waits);
}

/* What the scenario saw: the worst, and how often. */
struct seen {
    unsigned failures;
    gordian_status status;
    bool opened, lost;
};

static void see(struct seen *seen, gordian_status status, const gordian_error *error)
{
    if (status == GORDIAN_OK)
        return;
    seen->failures++;
    seen->status = status;
    CHECK(error->status == status && error->message[0]);
}

#define SEE(call)                                                                                  \
    do {                                                                                           \
        gordian_error error = {0};                                                                 \
        gordian_status status = (call);                                                            \
        see(seen, status, &error);                                                                 \
    } while (0)

static void use_memory(struct gpu *gpu, struct seen *seen)
{
    uint32_t words[16] = {1, 2, 3};
    gpu_address a = 0, b = 0, device = 0;
    void *host = NULL;
    SEE(gpu_alloc(gpu, &a, sizeof words, &error));
    SEE(gpu_alloc(gpu, &b, sizeof words, &error));
    SEE(gpu_map(gpu, &host, &device, 100, &error));
    if (a && b && host) {
        SEE(gpu_write(gpu, a, words, sizeof words, &error));
        SEE(gpu_zero(gpu, b, sizeof words, &error));
        SEE(gpu_copy(gpu, b, a, 8, &error));
        SEE(gpu_fill32(gpu, b + 8, 9, 2, &error));
        SEE(gpu_read(gpu, words, b, sizeof words, &error));
        CHECK(seen->failures || (words[0] == 1 && words[1] == 2 && words[3] == 9 && !words[4]));
    }
    gpu_free(gpu, a);
    gpu_free(gpu, b);
    gpu_unmap(gpu, host);
}

/* Grows, shrinks, grows, and is given back with a piece left. */
static void use_range(struct gpu *gpu, struct seen *seen)
{
    struct gpu_range *range;
    uint64_t steps[] = {1, 20000, 5000, 30000}, content = 77;
    SEE(gpu_range_create(&range, gpu, 100000, &error));
    if (!range)
        return;
    CHECK(gpu_range_reserved(range) == 25 * 4096 && gpu_range_mapped(range) == 0);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t before = gpu_range_mapped(range);
        unsigned failures = seen->failures;
        fake->giving = i == 2;
        if (i == 2)
            gpu_range_shrink(range, steps[i]);
        else
            SEE(gpu_range_grow(range, steps[i], &error));
        CHECK(i == 2 || seen->failures == failures || gpu_range_mapped(range) == before);
    }
    CHECK(seen->failures || gpu_range_mapped(range) == 8 * 4096);
    if (gpu_range_mapped(range) && !seen->failures) {
        SEE(gpu_write(gpu, gpu_range_address(range) + 8, &content, sizeof content, &error));
        SEE(gpu_read(gpu, &content, gpu_range_address(range) + 8, sizeof content, &error));
        CHECK(seen->failures || content == 77);
    }
    fake->giving = true;
    gpu_range_destroy(range);
    fake->giving = false;
}

/* Everything the host does with a growable array. What failed changes nothing. */
static void use_array(struct gpu *gpu, struct seen *seen, const struct gpu_array_options *options)
{
    struct gpu_array *array;
    struct gpu_array_count count = {0};
    uint32_t numbers[60], back[90];
    uint64_t capacity = 0;
    unsigned failures = seen->failures;
    for (uint32_t i = 0; i < 60; i++)
        numbers[i] = i * 3;
    SEE(gpu_array_create(&array, gpu, options, &error));
    if (!array)
        return;
    SEE(gpu_array_append(array, numbers, 60, &error));
    SEE(gpu_array_reserve(array, 2000, &error));
    SEE(gpu_array_capacity(array, &capacity, &error));
    CHECK(seen->failures > failures || capacity >= 2000);
    SEE(gpu_array_append(array, numbers, 30, &error));
    if (options->mode == GPU_ARRAY_FLAT) {
        SEE(gpu_array_watch(array, 100, &error));
        gpu_array_unwatch(array);
    }
    fake->giving = true;
    SEE(gpu_array_shrink(array, &error));
    fake->giving = false;
    SEE(gpu_array_settle(array, &count, &error));
    CHECK(seen->failures > failures || (count.size == 90 && count.refused == 0));
    SEE(gpu_array_read(array, back, 0, count.size, &error));
    if (seen->failures == failures)
        CHECK(memcmp(back, numbers, 240) == 0 && memcmp(back + 60, numbers, 120) == 0);
    SEE(gpu_array_clear(array, &error));
    fake->giving = true;
    gpu_array_destroy(array);
    fake->giving = false;
}

static void use_arrays(struct gpu *gpu, struct seen *seen)
{
    struct gpu_pool *pool;
    uint64_t chunks = 0, taken = 0;
    struct gpu_array_options options = {.element = 4, .most = 5000, .page = 16};
    use_array(gpu, seen, &options);
    options.mode = GPU_ARRAY_CHUNKED;
    use_array(gpu, seen, &options);
    SEE(gpu_pool_create(&pool, gpu,
                        &(struct gpu_pool_options){.chunk_bytes = 256, .most = 200, .chunks = 2},
                        &error));
    if (!pool)
        return;
    options.pool = pool;
    use_array(gpu, seen, &options);
    SEE(gpu_pool_count(pool, &chunks, &taken, &error));
    CHECK(seen->failures || fake->failed[0] || (chunks == 125 && taken == 0));
    fake->giving = true;
    gpu_pool_destroy(pool);
    fake->giving = false;
}

static void use_kernels(struct gpu *gpu, struct seen *seen)
{
    struct selftest_plain arguments = {0};
    struct gpu_launch plain = {.kernel = "selftest_index",
                               .blocks = 4,
                               .threads = 64,
                               .arguments = &arguments,
                               .arguments_size = sizeof arguments};
    double microseconds = 0;
    unsigned blocks = 0;
    SEE(gpu_timer_start(gpu, &error));
    SEE(gpu_launch(gpu, &plain, &error));
    plain.cooperative = true;
    plain.shared = 100 << 10;
    SEE(gpu_launch(gpu, &plain, &error));
    SEE(gpu_timer_stop(gpu, &microseconds, &error));
    SEE(gpu_resident_blocks(gpu, "selftest_index", 256, 120 << 10, &blocks, &error));
    CHECK(seen->failures || (microseconds == 1500 && blocks == 800));
    SEE(gpu_wait(gpu, &error));
}

/* What is freed while it runs comes back when it has ended. */
static void use_service(struct gpu *gpu, struct seen *seen, bool ask)
{
    struct selftest_service_arguments arguments = {0};
    void *host = NULL;
    struct gpu_range *range;
    SEE(gpu_map(gpu, &host, &arguments.desk, 64, &error));
    SEE(gpu_range_create(&range, gpu, 5000, &error));
    if (range)
        SEE(gpu_range_grow(range, 5000, &error));
    struct gpu_launch service = {.kernel = "selftest_service",
                                 .blocks = 1,
                                 .threads = 32,
                                 .arguments = &arguments,
                                 .arguments_size = sizeof arguments,
                                 .service = true};
    SEE(gpu_launch(gpu, &service, &error));
    if (!seen->failures)
        CHECK(!gpu_service_ended(gpu) || fake->failed[0]);
    gpu_unmap(gpu, host);
    gpu_range_destroy(range);
    if (ask) {
        fake->serving = false;
        fake->giving = true; /* what was freed meanwhile */
        CHECK(gpu_service_ended(gpu) || fake->failed[0]);
    }
    fake->giving = true;
    SEE(gpu_wait_service(gpu, &error));
    fake->giving = false;
    SEE(gpu_wait(gpu, &error));
}

static struct seen scenario(bool ask)
{
    struct seen result = {0}, *seen = &result;
    struct gpu *gpu;
    SEE(gpu_open(&gpu, 0, NULL, &error));
    result.opened = gpu != NULL;
    if (gpu)
        SEE(gpu_add_kernels(gpu, &own_kernels, &error));
    if (gpu && !seen->failures) {
        use_memory(gpu, seen);
        use_range(gpu, seen);
        use_arrays(gpu, seen);
        use_kernels(gpu, seen);
        use_service(gpu, seen, ask);
    }
    if (gpu) {
        result.lost = gpu_failed(gpu);
        struct gpu_info info;
        gpu_get_info(gpu, &info);
        CHECK(!result.lost || info.memory_free == 0);
    }
    gpu_close(gpu);
    return result;
}

/* Calls whose failure concerns nobody: they give something back, or the answer is a number. */
static bool is_forgivable(const char *name)
{
    static const char *const names[] = {"cuCtxPopCurrent_v2",  "cuMemFree_v2",
                                        "cuMemFreeHost",       "cuMemUnmap",
                                        "cuMemRelease",        "cuMemAddressFree",
                                        "cuStreamDestroy_v2",  "cuEventDestroy_v2",
                                        "cuModuleUnload",      "cuDevicePrimaryCtxRelease_v2",
                                        "cuCtxPushCurrent_v2", "cuMemGetInfo_v2",
                                        "cuStreamQuery"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static void check_failure(const struct seen *seen, int result)
{
    const char *failed = fake->failed;
    CHECK_MSG(seen->failures || fake->failed_giving || is_forgivable(failed),
              "%s failed in silence", failed);
    if (!seen->opened)
        CHECK_MSG(seen->status == GORDIAN_STATUS_UNAVAILABLE ||
                      seen->status == GORDIAN_STATUS_MEMORY,
                  "%s: status %d", failed, seen->status);
    else if (seen->failures && result == CUDA_OUT_OF_MEMORY)
        CHECK_MSG(seen->status == GORDIAN_STATUS_MEMORY && !seen->lost, "%s: status %d", failed,
                  seen->status);
    else if (seen->failures)
        CHECK_MSG(seen->status == GORDIAN_STATUS_IO && seen->lost, "%s: status %d", failed,
                  seen->status);
    check_clean();
}

static void test_every_call(bool ask)
{
    static const int results[] = {CUDA_OUT_OF_MEMORY, 700, 999};
    reset();
    struct seen fine = scenario(ask);
    CHECK(fine.failures == 0 && fine.opened && fake->launches == 3);
    check_clean();
    long calls = fake->calls;
    CHECK(calls > 50);
    for (unsigned r = 0; r < sizeof results / sizeof *results; r++) {
        /* In a short run each result where the others are not. */
        for (long i = 1 + r % test_stride(); i <= calls; i += test_stride()) {
            reset();
            fake->fail_at = i;
            fake->fail_with = results[r];
            struct seen seen = scenario(ask);
            check_failure(&seen, results[r]);
        }
    }
}

/* A launch too large is refused, and nothing is lost. */
static void test_refused(void)
{
    reset();
    struct gpu *gpu;
    struct selftest_plain arguments = {0};
    struct gpu_launch large = {.kernel = "selftest_index",
                               .blocks = 5000,
                               .threads = 64,
                               .cooperative = true,
                               .arguments = &arguments,
                               .arguments_size = sizeof arguments};
    DO(gpu_open(&gpu, 0, NULL, &error));
    CHECK(gpu_launch(gpu, &large, NULL) == GORDIAN_STATUS_INPUT);
    DO(gpu_add_kernels(gpu, &own_kernels, &error));
    CHECK(gpu_launch(gpu, &large, NULL) == GORDIAN_STATUS_INPUT);
    CHECK(!gpu_failed(gpu));
    gordian_error error = {0};
    gpu_address address;
    CHECK(gpu_alloc(gpu, &address, 3 << 20, &error) == GORDIAN_STATUS_MEMORY);
    CHECK_MSG(strstr(error.message, "3.0 MiB needed, 1.0 MiB free"), "%s", error.message);
    gpu_close(gpu);
    check_clean();
}

/* ---- what there is */

static void test_list(void)
{
    char why[200] = "";
    gordian_device_info device;
    reset();
    fake->devices = 2;
    CHECK(gpu_count(why, sizeof why) == 2);
    CHECK(gordian_device(1, &device) == GORDIAN_OK);
    CHECK(device.available && strcmp(device.name, "Fake 1") == 0 && device.major == 9);
    CHECK(device.multiprocessors == 100 && device.memory == 1 << 20 && device.memory_free);
    CHECK(gordian_device(2, &device) == GORDIAN_STATUS_END);
    fake->major = 7;
    CHECK(gordian_device(0, &device) == GORDIAN_OK && !device.available);
    CHECK_MSG(strstr(device.reason, "compute capability 7.0, 8.0 is needed"), "%s", device.reason);
    struct gpu *gpu;
    CHECK(gpu_open(&gpu, 0, NULL, NULL) == GORDIAN_STATUS_UNAVAILABLE && !gpu);
    CHECK(gpu_open(&gpu, 2, NULL, NULL) == GORDIAN_STATUS_UNAVAILABLE && !gpu);
    fake->devices = 0;
    CHECK(gordian_device(0, &device) == GORDIAN_OK && !device.available && !device.name[0]);
    CHECK_MSG(strstr(device.reason, "finds no GPU"), "%s", device.reason);
    CHECK(gordian_device(1, &device) == GORDIAN_STATUS_END);
    check_clean();
    for (long i = 1; i < 20; i++) { /* every call of a description */
        reset();
        fake->fail_at = i;
        fake->fail_with = 999;
        CHECK(gordian_device(0, &device) == GORDIAN_OK);
        CHECK(device.available == !device.reason[0]);
        check_clean();
    }
}

static void test_no_driver(void)
{
    char why[200] = "";
    struct gpu *gpu;
    setenv("GORDIAN_CUDA_LIBRARY", "libnot-there.so", 1);
    CHECK(gpu_count(why, sizeof why) == 0);
    CHECK_MSG(strcmp(why, "no NVIDIA driver: libnot-there.so not found") == 0, "%s", why);
    CHECK(gpu_open(&gpu, 0, NULL, NULL) == GORDIAN_STATUS_UNAVAILABLE && !gpu);
    setenv("GORDIAN_CUDA_LIBRARY", "libc.so.6", 1);
    CHECK(gpu_count(why, sizeof why) == 0);
    CHECK_MSG(strstr(why, "too old: it has no cuInit"), "%s", why);
}

/* Whatever the CPU answers sooner asks no driver anything: starting one takes a quarter of a
 * second. */
static void test_unasked(void)
{
    gordian_system *system;
    gordian_snapshot *snapshot;
    gordian_bank *bank;
    gordian_report report;
    const char *why;
    reset();
    REQUIRE(gordian_open(&system, NULL, NULL) == GORDIAN_OK);
    REQUIRE(gordian_snapshot_take(&snapshot, system, NULL) == GORDIAN_OK);
    CHECK(gordian_snapshot_check(snapshot, &report, NULL) == GORDIAN_OK);
    REQUIRE(gordian_bank_open(&bank, NULL, NULL) == GORDIAN_OK);
    CHECK(gpu_likely());
    CHECK_MSG(fake->calls == 0, "%ld calls", fake->calls);
    CHECK(gpu_available(&why) && fake->calls > 0);
    gordian_bank_close(bank);
    gordian_snapshot_close(snapshot);
    gordian_close(system);
    check_clean();
}

int main(void)
{
    const char *path = getenv("GORDIAN_CUDA_LIBRARY");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    REQUIRE(library != NULL);
    void *symbol = dlsym(library, FAKE_CUDA_STATE);
    REQUIRE(symbol != NULL);
    fake_cuda_state_function *get;
    memcpy(&get, &symbol, sizeof get);
    fake = get();
    test_every_call(false);
    test_every_call(true);
    test_refused();
    test_list();
    test_unasked();
    test_no_driver();
    dlclose(library);
    return test_done();
}
