/*
 * The foundation of the GPU part: memory, launches, and every word that kernels may use. In the
 * emulator, under many schedules, or on a real GPU:
 *
 *     test_gpu --device 0 [--watched]
 *
 * --watched: by a tool that calls every failure an error and runs one kernel at a time, so
 * nothing fails on purpose and no service runs.
 */
#include "alloc/failing.h"
#include "device.h"
#include "foundation/base/clock.h"
#include "foundation/gpu/stage.h"
#include "kernels/selftest.h"

#include <pthread.h>
#include <sched.h>

/* ---- memory */

static void test_memory(struct gpu *gpu)
{
    enum { COUNT = 5000 };
    static uint32_t in[COUNT], out[COUNT];
    gpu_address a, b;
    for (uint32_t i = 0; i < COUNT; i++)
        in[i] = i * i;
    DO(gpu_alloc(gpu, &a, sizeof in, &error));
    DO(gpu_alloc(gpu, &b, sizeof in, &error));
    DO(gpu_write(gpu, a, in, sizeof in, &error));
    DO(gpu_zero(gpu, b, sizeof in, &error));
    DO(gpu_copy(gpu, b + 40, a + 8, 4000, &error));
    DO(gpu_fill32(gpu, b + 8000, 77, 3, &error));
    DO(gpu_read(gpu, out, b, sizeof out, &error));
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t expected = i >= 10 && i < 1010 ? in[i - 8] : i >= 2000 && i < 2003 ? 77 : 0;
        CHECK_MSG(out[i] == expected, "word %u: %u, not %u", i, out[i], expected);
    }
    gpu_free(gpu, a);
    gpu_free(gpu, b);
    DO(gpu_alloc(gpu, &a, 0, &error));
    CHECK(a == 0);
    gpu_free(gpu, a);
    DO(gpu_wait(gpu, &error));
}

/* There and back in pieces that several threads carry, the last one short. */
static void test_staged(struct gpu *gpu)
{
    enum { COUNT = 50001 };
    static uint32_t in[COUNT], out[COUNT];
    gpu_address a;
    for (uint32_t i = 0; i < COUNT; i++)
        in[i] = i * i;
    DO(gpu_alloc(gpu, &a, sizeof in, &error));
    for (unsigned threads = 1; threads <= 5; threads += 2) {
        struct gpu_stage stage = {threads, 1000 * threads};
        memset(out, 0, sizeof out);
        DO(gpu_zero(gpu, a, sizeof in, &error));
        DO(gpu_write_staged(gpu, a, in, sizeof in, stage, &error));
        DO(gpu_read_staged(gpu, out, a, sizeof out, stage, &error));
        CHECK(memcmp(in, out, sizeof in) == 0);
    }
    gpu_free(gpu, a);
    CHECK(gpu_stage_for(1000).threads == 1);
}

static void test_no_memory(struct gpu *gpu)
{
    gpu_address address = 1;
    gordian_error error = {0};
    CHECK(gpu_alloc(gpu, &address, (size_t)1 << 50, &error) == GORDIAN_STATUS_MEMORY);
    CHECK(address == 0);
    CHECK_MSG(strstr(error.message, "1073741824.0 MiB needed"), "%s", error.message);
    CHECK(!gpu_failed(gpu));
}

static void test_info(struct gpu *gpu, int device)
{
    struct gpu_info info;
    gpu_get_info(gpu, &info);
    CHECK(info.emulated == (device < 0));
    CHECK(info.multiprocessors > 0 && info.shared_most >= 48 << 10);
    CHECK(info.memory > 0 && info.memory_free > 0 && info.memory_free <= info.memory);
    unsigned blocks = 0;
    DO(gpu_resident_blocks(gpu, "selftest_grid", 256, 0, &blocks, &error));
    CHECK(blocks >= info.multiprocessors);
    unsigned fewer = 0;
    DO(gpu_resident_blocks(gpu, "selftest_grid", 256, 100 << 10, &fewer, &error));
    CHECK(fewer >= info.multiprocessors && fewer <= blocks);
}

/* ---- launches */

static void launch(struct gpu *gpu, const char *kernel, unsigned blocks, unsigned threads,
                   size_t shared, const void *arguments, size_t size)
{
    DO(gpu_launch(gpu,
                  &(struct gpu_launch){.kernel = kernel,
                                       .blocks = blocks,
                                       .threads = threads,
                                       .shared = shared,
                                       .arguments = arguments,
                                       .arguments_size = size},
                  &error));
}

static void test_index(struct gpu *gpu, unsigned blocks, unsigned threads)
{
    unsigned count = blocks * threads;
    uint32_t *out = calloc(count, sizeof *out);
    struct selftest_plain arguments = {0};
    DO(gpu_alloc(gpu, &arguments.out, count * sizeof *out, &error));
    launch(gpu, "selftest_index", blocks, threads, 0, &arguments, sizeof arguments);
    DO(gpu_read(gpu, out, arguments.out, count * sizeof *out, &error));
    unsigned wrong = 0;
    for (unsigned i = 0; i < count; i++)
        wrong += out[i] != (count - i) * 32 + i % threads % 32;
    CHECK_MSG(wrong == 0, "%u of %u wrong", wrong, count);
    gpu_free(gpu, arguments.out);
    free(out);
}

static void test_barriers(struct gpu *gpu, unsigned blocks, unsigned threads)
{
    unsigned count = blocks * threads;
    uint32_t *out = calloc(count, sizeof *out);
    struct selftest_plain arguments = {.rounds = 5};
    DO(gpu_alloc(gpu, &arguments.out, count * sizeof *out, &error));
    launch(gpu, "selftest_barriers", blocks, threads, 0, &arguments, sizeof arguments);
    DO(gpu_read(gpu, out, arguments.out, count * sizeof *out, &error));
    for (unsigned i = 0; i < count; i++)
        CHECK_MSG(out[i] == (i % threads + 5) % threads, "%ux%u: thread %u: %u", blocks, threads, i,
                  out[i]);
    gpu_free(gpu, arguments.out);
    free(out);
}

static void test_dynamic(struct gpu *gpu, unsigned words)
{
    enum { THREADS = 96 };
    uint32_t out[2 * THREADS], sum = 0;
    struct selftest_plain arguments = {.rounds = words};
    DO(gpu_alloc(gpu, &arguments.out, sizeof out, &error));
    launch(gpu, "selftest_dynamic", 2, THREADS, words * sizeof(uint64_t), &arguments,
           sizeof arguments);
    DO(gpu_read(gpu, out, arguments.out, sizeof out, &error));
    for (unsigned i = 0; i < 2 * THREADS; i++)
        sum += out[i];
    CHECK(sum == words * (words - 1));
    gpu_free(gpu, arguments.out);
}

/* ---- warps */

static uint32_t number_of(uint32_t thread)
{
    return thread * thread + 7;
}

/* What a thread should have got, from the definition of each word. */
static struct selftest_warp expect_warp(uint32_t thread, uint32_t threads, uint32_t returning)
{
    uint32_t first = thread / 32 * 32, lane = thread % 32;
    uint32_t lanes = threads - first < 32 ? threads - first : 32;
    bool full = lanes == 32;
    struct selftest_warp e = {.any = 1, .min = UINT32_MAX, .and_ = UINT32_MAX};
    for (uint32_t i = 0; i < lanes; i++) {
        uint32_t x = number_of(first + i);
        e.ballot |= (uint32_t)(x % 3 == 0) << i;
        e.match |= (uint32_t)(i % 4 == lane % 4) << i;
        e.add += x;
        e.min = ~x < e.min ? ~x : e.min;
        e.max = x > e.max ? x : e.max;
        e.or_ |= x;
        e.and_ &= x | 8;
        e.half += i % 2 == lane % 2 ? first + i : 0;
        if (first + i < returning && thread < returning)
            e.left |= UINT32_C(1) << i;
    }
#define WIDE(t) ((uint64_t)number_of(t) << 32 | (t))
    e.shuffle = number_of(first);
    e.shuffle64 = WIDE(first);
    e.down = number_of(full && lane + 5 < 32 ? thread + 5 : thread);
    e.down64 = WIDE(full && lane + 31 < 32 ? thread + 31 : thread);
    e.up = number_of(lane >= 1 ? thread - 1 : thread);
    e.up64 = WIDE(lane >= 3 ? thread - 3 : thread);
    e.exchanged = number_of(full ? first + (lane ^ 9) : thread);
    e.exchanged64 = WIDE(full ? first + (lane ^ 16) : thread);
#undef WIDE
    return e;
}

static void check_warp(uint32_t thread, const struct selftest_warp *is,
                       const struct selftest_warp *e)
{
#define SAME(field) CHECK_MSG(is->field == e->field, "thread %u, " #field, thread)
    SAME(any);
    SAME(all);
    SAME(ballot);
    SAME(match);
    SAME(shuffle);
    SAME(down);
    SAME(up);
    SAME(exchanged);
    SAME(shuffle64);
    SAME(down64);
    SAME(up64);
    SAME(exchanged64);
    SAME(add);
    SAME(min);
    SAME(max);
    SAME(or_);
    SAME(and_);
    SAME(half);
    SAME(left);
#undef SAME
}

static void test_warps(struct gpu *gpu, unsigned threads, unsigned returning)
{
    static struct selftest_warp out[2 * 256];
    struct selftest_warps_arguments arguments = {.returning = returning};
    DO(gpu_alloc(gpu, &arguments.out, sizeof out, &error));
    DO(gpu_zero(gpu, arguments.out, sizeof out, &error));
    launch(gpu, "selftest_warps", 2, threads, 0, &arguments, sizeof arguments);
    DO(gpu_read(gpu, out, arguments.out, sizeof out, &error));
    for (unsigned i = 0; i < 2 * threads; i++) {
        struct selftest_warp expected = expect_warp(i % threads, threads, returning);
        check_warp(i % threads, &out[i], &expected);
    }
    gpu_free(gpu, arguments.out);
}

/* ---- atomics and order */

static void test_atomics(struct gpu *gpu)
{
    enum { BLOCKS = 4, THREADS = 64, COUNT = BLOCKS * THREADS };
    struct selftest_cells cells = {
        .and32 = UINT32_MAX, .and64 = UINT64_MAX, .min32 = UINT32_MAX, .min64 = UINT64_MAX};
    struct selftest_atomics_arguments arguments;
    DO(gpu_alloc(gpu, &arguments.cells, sizeof cells, &error));
    DO(gpu_write(gpu, arguments.cells, &cells, sizeof cells, &error));
    launch(gpu, "selftest_atomics", BLOCKS, THREADS, 0, &arguments, sizeof arguments);
    DO(gpu_read(gpu, &cells, arguments.cells, sizeof cells, &error));
    const uint32_t sum = COUNT * (COUNT - 1) / 2;
    const uint64_t ones = UINT64_C(0xffffffff) << 16;
    CHECK(cells.add32 == sum && cells.add64 == (uint64_t)sum << 20);
    CHECK(cells.or32 == UINT32_MAX && cells.or64 == ones);
    CHECK(cells.and32 == 0 && cells.and64 == ~ones);
    CHECK(cells.min32 == 3 && cells.min64 == UINT64_C(3) << 32);
    CHECK(cells.max32 == COUNT + 4 && cells.max64 == (uint64_t)(COUNT + 4) << 32);
    CHECK(cells.swapped32 + cells.exchange32 == sum && cells.swapped64 + cells.exchange64 == sum);
    CHECK_MSG(cells.guarded == COUNT, "%u", cells.guarded);
    CHECK(cells.bits == COUNT);
    gpu_free(gpu, arguments.cells);
}

static void test_ordered(struct gpu *gpu)
{
    enum { BLOCKS = 3, PAIRS = 2, ROUNDS = 20 };
    uint64_t sums[BLOCKS * PAIRS];
    struct selftest_ordered_arguments arguments = {.rounds = ROUNDS};
    DO(gpu_alloc(gpu, &arguments.boxes, BLOCKS * PAIRS * sizeof(struct selftest_box), &error));
    DO(gpu_zero(gpu, arguments.boxes, BLOCKS * PAIRS * sizeof(struct selftest_box), &error));
    DO(gpu_alloc(gpu, &arguments.sums, sizeof sums, &error));
    launch(gpu, "selftest_ordered", BLOCKS, PAIRS * 64, 0, &arguments, sizeof arguments);
    DO(gpu_read(gpu, sums, arguments.sums, sizeof sums, &error));
    for (unsigned i = 0; i < BLOCKS * PAIRS; i++)
        CHECK(sums[i] == ROUNDS * (ROUNDS + 1) * (2 * ROUNDS + 1) / 6);
    gpu_free(gpu, arguments.boxes);
    gpu_free(gpu, arguments.sums);
}

static void test_grid(struct gpu *gpu, unsigned blocks, unsigned threads)
{
    enum { ROUNDS = 6 };
    uint64_t *sums = calloc(blocks, sizeof *sums);
    struct selftest_grid_arguments arguments = {.rounds = ROUNDS};
    DO(gpu_alloc(gpu, &arguments.barrier, 8, &error));
    DO(gpu_zero(gpu, arguments.barrier, 8, &error));
    DO(gpu_alloc(gpu, &arguments.slots, blocks * 4, &error));
    DO(gpu_alloc(gpu, &arguments.sums, blocks * 8, &error));
    DO(gpu_launch(gpu,
                  &(struct gpu_launch){.kernel = "selftest_grid",
                                       .blocks = blocks,
                                       .threads = threads,
                                       .cooperative = true,
                                       .arguments = &arguments,
                                       .arguments_size = sizeof arguments},
                  &error));
    DO(gpu_read(gpu, sums, arguments.sums, blocks * sizeof *sums, &error));
    uint64_t expected = (uint64_t)ROUNDS * 10 * (blocks * (blocks - 1) / 2) +
                        (uint64_t)blocks * (ROUNDS * (ROUNDS - 1) / 2);
    for (unsigned i = 0; i < blocks; i++)
        CHECK_MSG(sums[i] == expected, "%u blocks, block %u", blocks, i);
    gpu_free(gpu, arguments.barrier);
    gpu_free(gpu, arguments.slots);
    gpu_free(gpu, arguments.sums);
    free(sums);
}

/* ---- the service */

static bool ask(struct selftest_desk *desk, uint64_t number, uint64_t question, uint64_t *answer)
{
    desk->question = question;
    __atomic_store_n(&desk->asked, number, __ATOMIC_RELEASE);
    uint64_t start = clock_ns();
    while (__atomic_load_n(&desk->answered, __ATOMIC_ACQUIRE) != number) {
        if (clock_ns() - start > UINT64_C(600000000000))
            return false;
        sched_yield();
    }
    *answer = desk->answer;
    return true;
}

static void start_service(struct gpu *gpu, const struct selftest_service_arguments *arguments)
{
    DO(gpu_launch(gpu,
                  &(struct gpu_launch){.kernel = "selftest_service",
                                       .blocks = 1,
                                       .threads = 64,
                                       .arguments = arguments,
                                       .arguments_size = sizeof *arguments,
                                       .service = true},
                  &error));
}

static void test_service(struct gpu *gpu, unsigned questions)
{
    struct selftest_service_arguments arguments;
    void *host;
    DO(gpu_wait_service(gpu, &error));
    DO(gpu_map(gpu, &host, &arguments.desk, sizeof(struct selftest_desk), &error));
    struct selftest_desk *desk = host;
    CHECK(desk->asked == 0 && desk->stop == 0);
    start_service(gpu, &arguments);
    CHECK(!gpu_service_ended(gpu));
    for (uint64_t i = 1; i <= questions; i++) {
        uint64_t answer = 0;
        REQUIRE(ask(desk, i, i * 3, &answer));
        CHECK(answer == i * 3 * 32 + 31 * 16);
        if (i % 8 == 0) /* the rest of the device is there meanwhile */
            test_index(gpu, 3, 40);
    }
    struct gpu_launch second = {.kernel = "selftest_service",
                                .blocks = 1,
                                .threads = 32,
                                .arguments = &arguments,
                                .arguments_size = sizeof arguments,
                                .service = true};
    CHECK(gpu_launch(gpu, &second, NULL) == GORDIAN_STATUS_INPUT);
    __atomic_store_n(&desk->stop, 1, __ATOMIC_RELEASE);
    DO(gpu_wait_service(gpu, &error));
    CHECK(gpu_service_ended(gpu) && desk->stopped == 1);
    gpu_unmap(gpu, host);
    DO(gpu_wait(gpu, &error));
}

/* ---- two threads on one device */

struct worker {
    struct gpu *gpu;
    pthread_t thread;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    gpu_address address = 0;
    uintptr_t wrong = 0;
    for (uint32_t i = 0; i < 20; i++) {
        struct selftest_plain arguments = {.rounds = i};
        uint32_t out[64];
        wrong += gpu_alloc(worker->gpu, &address, sizeof out, NULL) != GORDIAN_OK;
        arguments.out = address;
        struct gpu_launch plain = {.kernel = "selftest_barriers",
                                   .blocks = 1,
                                   .threads = 64,
                                   .arguments = &arguments,
                                   .arguments_size = sizeof arguments};
        wrong += gpu_launch(worker->gpu, &plain, NULL) != GORDIAN_OK;
        wrong += gpu_read(worker->gpu, out, address, sizeof out, NULL) != GORDIAN_OK;
        for (uint32_t t = 0; t < 64; t++)
            wrong += out[t] != (t + i) % 64;
        gpu_free(worker->gpu, address);
    }
    return (void *)wrong;
}

static void test_threads(struct gpu *gpu)
{
    struct worker workers[2] = {{.gpu = gpu}, {.gpu = gpu}};
    for (unsigned i = 0; i < 2; i++)
        REQUIRE(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    for (unsigned i = 0; i < 2; i++) {
        void *wrong;
        pthread_join(workers[i].thread, &wrong);
        CHECK(wrong == NULL);
    }
}

/* ---- what is refused, and what fails */

static void refuse(struct gpu *gpu, const struct gpu_launch *launch, const char *text)
{
    gordian_error error = {0};
    CHECK(gpu_launch(gpu, launch, &error) == GORDIAN_STATUS_INPUT);
    CHECK_MSG(strstr(error.message, text), "%s", error.message);
    CHECK(!gpu_failed(gpu));
}

static void test_refused(struct gpu *gpu)
{
    struct selftest_plain arguments = {0};
    struct gpu_launch good = {.kernel = "selftest_index",
                              .blocks = 1,
                              .threads = 32,
                              .arguments = &arguments,
                              .arguments_size = sizeof arguments};
    struct gpu_launch bad = good;
    bad.kernel = "nothing";
    refuse(gpu, &bad, "no kernel 'nothing'");
    bad = good;
    bad.blocks = 0;
    refuse(gpu, &bad, "0 blocks");
    bad = good;
    bad.threads = 1025;
    refuse(gpu, &bad, "1025 threads");
    bad = good;
    bad.shared = 1 << 20;
    refuse(gpu, &bad, "1048576 bytes of shared memory");
    bad = good;
    bad.arguments_size = 5000;
    refuse(gpu, &bad, "5000 bytes of arguments");
    bad = good;
    bad.cooperative = true;
    bad.blocks = 1000000;
    gordian_error error = {0};
    CHECK(gpu_launch(gpu, &bad, &error) == GORDIAN_STATUS_INPUT);
    CHECK(!gpu_failed(gpu));
}

/* Each on a device of its own: it is lost afterwards. */
static void test_failing(int device, enum selftest_way way, const char *text)
{
    struct gpu *gpu = device_open(device);
    struct selftest_trap_arguments arguments = {.way = way};
    DO(gpu_alloc(gpu, &arguments.word, 8, &error));
    DO(gpu_zero(gpu, arguments.word, 8, &error));
    DO(gpu_wait(gpu, &error));
    launch(gpu, "selftest_trap", 2, 64, 0, &arguments, sizeof arguments);
    gordian_error error = {0};
    CHECK(gpu_wait(gpu, &error) == GORDIAN_STATUS_IO);
    CHECK_MSG(strstr(error.message, text), "%s", error.message);
    CHECK(gpu_failed(gpu));
    uint32_t word;
    gordian_error again = {0};
    CHECK(gpu_read(gpu, &word, arguments.word, 4, &again) == GORDIAN_STATUS_IO);
    CHECK(strcmp(again.message, error.message) == 0);
    gpu_address more;
    CHECK(gpu_alloc(gpu, &more, 4, NULL) == GORDIAN_STATUS_IO && more == 0);
    gpu_free(gpu, arguments.word);
    gpu_close(gpu);
}

/* A service that nobody tells to end does not keep an emulator open. */
static void test_abandoned_service(void)
{
    struct gpu *gpu = device_open(-1);
    struct selftest_service_arguments arguments;
    void *host;
    DO(gpu_map(gpu, &host, &arguments.desk, sizeof(struct selftest_desk), &error));
    start_service(gpu, &arguments);
    uint64_t answer;
    CHECK(ask(host, 1, 1, &answer));
    struct gpu_info info;
    gpu_get_info(gpu, &info);
    gpu_emulator_memory(gpu, info.memory - info.memory_free);
    gpu_address none;
    CHECK(gpu_alloc(gpu, &none, 1, NULL) == GORDIAN_STATUS_MEMORY);
    gpu_emulator_memory(gpu, info.memory);
    gpu_unmap(gpu, host); /* given back once the service has ended */
    gpu_close(gpu);
}

/* A device, some memory, two launches, all from a failing allocator: what went wrong. */
static gordian_status use_failing(const gordian_allocator *memory)
{
    struct gpu *gpu;
    gordian_status status = gpu_open_emulator(&gpu, memory, NULL);
    if (status != GORDIAN_OK)
        return status;
    struct selftest_plain arguments = {.rounds = 2};
    status = gpu_add_kernels(gpu, &test_kernels, NULL);
    if (status == GORDIAN_OK)
        status = gpu_alloc(gpu, &arguments.out, 3 * 128 * 4, NULL);
    struct gpu_launch plain = {
        .blocks = 3, .shared = 64, .arguments = &arguments, .arguments_size = sizeof arguments};
    const char *const kernels[] = {"selftest_barriers", "selftest_dynamic"};
    for (unsigned i = 0; i < 2 && status == GORDIAN_OK; i++) {
        plain.kernel = kernels[i];
        plain.threads = 64 * (i + 1);
        status = gpu_launch(gpu, &plain, NULL);
    }
    if (status == GORDIAN_OK)
        status = gpu_wait(gpu, NULL);
    gpu_free(gpu, arguments.out);
    gpu_close(gpu);
    return status;
}

static void test_every_allocation(void)
{
    struct failing failing = {0};
    const gordian_allocator memory = {failing_resize, &failing};
    CHECK(use_failing(&memory) == GORDIAN_OK);
    CHECK(failing.live_blocks == 0);
    size_t calls = failing.calls;
    for (size_t i = 1; i <= calls; i++) {
        failing = (struct failing){.fail_at = i};
        CHECK_MSG(use_failing(&memory) == GORDIAN_STATUS_MEMORY, "allocation %zu", i);
        CHECK_MSG(failing.live_blocks == 0, "allocation %zu", i);
    }
}

static void test_words(struct gpu *gpu, bool watched)
{
    test_index(gpu, 5, 100);
    test_barriers(gpu, 3, 70);
    test_warps(gpu, 256, 256);
    test_warps(gpu, 77, 40);
    test_warps(gpu, 33, 0);
    test_atomics(gpu);
    test_ordered(gpu);
    test_dynamic(gpu, 1000);
    test_grid(gpu, 4, 64);
    if (!watched)
        test_service(gpu, 16);
}

/* 64 blocks of 256 threads and eleven barriers. */
static void time_launch(struct gpu *gpu)
{
    double microseconds = 0;
    struct selftest_plain arguments = {.rounds = 2};
    DO(gpu_alloc(gpu, &arguments.out, 64 * 256 * 4, &error));
    for (unsigned i = 0; i < 3; i++) {
        DO(gpu_timer_start(gpu, &error));
        launch(gpu, "selftest_barriers", 64, 256, 0, &arguments, sizeof arguments);
        DO(gpu_timer_stop(gpu, &microseconds, &error));
    }
    CHECK(microseconds > 0);
    printf("64 blocks of 256 threads, 9 barriers: %.0f us\n", microseconds);
    gpu_free(gpu, arguments.out);
}

int main(int argc, char **argv)
{
    int device = device_wanted(argc, argv);
    bool watched = argc > 1 && strcmp(argv[argc - 1], "--watched") == 0;
    struct gpu *gpu = device_open(device);
    unsigned seeds = device < 0 ? test_scale() * 40 / 100 + 3 : 1;
    test_info(gpu, device);
    test_memory(gpu);
    test_staged(gpu);
    test_no_memory(gpu);
    if (!watched)
        test_refused(gpu);
    time_launch(gpu);
    for (unsigned seed = 0; seed < seeds; seed++) {
        gpu_emulator_seed(gpu, seed);
        test_words(gpu, watched);
    }
    test_barriers(gpu, 1, 1);
    test_barriers(gpu, 2, 1024);
    test_dynamic(gpu, 12 << 10);
    test_grid(gpu, 1, 32);
    test_grid(gpu, 16, 256);
    test_threads(gpu);
    gpu_close(gpu);
    if (!watched)
        test_failing(device, SELFTEST_TRAP, "");
    if (device < 0) {
        test_failing(-1, SELFTEST_TRAP, "selftest_trap: thread 63 of block 0 hit a trap");
        test_failing(-1, SELFTEST_BARRIER, "32 threads wait at a barrier, 32 in warp operations");
        test_failing(-1, SELFTEST_SPIN, "wait for values that do not change");
        test_failing(-1, SELFTEST_MASK, "not in the mask 00000001");
        test_failing(-1, SELFTEST_GRID, "not cooperative");
        test_failing(-1, SELFTEST_LANES, "32 in warp operations");
        test_abandoned_service();
        test_every_allocation();
    }
    return test_done();
}
