/*
 * Snapshots judged on a device against the CPU's judgement: the reports must be equal.
 *
 *     test_check_gpu                      in the emulator, many small ones of every kind
 *     test_check_gpu --device 0           the same on an NVIDIA GPU
 *     test_check_gpu --device 0 --size N  snapshots of N processes and N resources, with times
 *                                         (--only WORDS: those with WORDS in their names)
 */
#include "alloc/failing.h"
#include "engines/detect/check/cuda.h"
#include "engines/detect/check/snapshot.h"
#include "foundation/base/clock.h"
#include "foundation/base/random.h"
#include "foundation/gpu/gpu.h"
#include "test.h"
#include "unit/shapes.h"

#include <string.h>

/* ------------------------------------------------------------------ comparing */

/* Judges on the device, and demands what the CPU has said. False: not the same. */
static bool compare_with(struct gpu *gpu, const gordian_snapshot *snapshot,
                         struct check_cuda_times *times, const gordian_report *report)
{
    gordian_error error = {0};
    struct check_result result = {0};
    gordian_model model = check_model(snapshot);
    gordian_status status = check_cuda_on(gpu, snapshot, model, &result, times, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    bool same = status == GORDIAN_OK && same_report(report, &result.report);
    CHECK_MSG(same, "dead %zu (device %zu), parts %zu (device %zu)", report->deadlocked_count,
              result.report.deadlocked_count, report->part_count, result.report.part_count);
    check_result_free(&result, &snapshot->memory);
    return same;
}

static bool compare(struct gpu *gpu, gordian_snapshot *snapshot, struct check_cuda_times *times,
                    gordian_report *report)
{
    MUST(gordian_snapshot_check_with(snapshot, "sparse", report, NULL));
    return compare_with(gpu, snapshot, times, report);
}

/* ------------------------------------------------------------------ the tests */

static void judge_and_close(struct gpu *gpu, gordian_snapshot *snapshot, const char *what,
                            uint64_t seed)
{
    gordian_report report;
    static uint64_t order; /* of the threads: another one each time, so that chases meet */
    gpu_emulator_seed(gpu, order++);
    if (!compare(gpu, snapshot, NULL, &report))
        fprintf(stderr, "%s, seed %llu, %u processes, %u resources\n", what,
                (unsigned long long)seed, gordian_snapshot_processes(snapshot),
                gordian_snapshot_resources(snapshot));
    gordian_snapshot_close(snapshot);
}

static void test_single(struct gpu *gpu, unsigned scale)
{
    static const uint32_t sizes[] = {0, 1, 2, 3, 5, 16, 31, 64, 100, 257, 1000, 2000};
    size_t size_count = sizeof sizes / sizeof *sizes - (test_is_short() ? 3 : 0);
    for (unsigned shape = 0; shape < SHAPES; shape++)
        for (unsigned i = 0; i < size_count; i++)
            for (uint64_t seed = 1; seed <= (test_is_short() ? 1 : 2); seed++)
                judge_and_close(gpu, shaped((enum shape)shape, sizes[i], seed), shape_names[shape],
                                seed);
    for (uint64_t seed = 1; seed <= 100 * (uint64_t)scale / 100; seed++) {
        struct random random;
        random_seed(&random, seed);
        uint32_t count = (uint32_t)random_below(&random, 500), *next = malloc(4 * (count + 1));
        REQUIRE(next);
        make_random(next, count, &random, (unsigned)random_below(&random, 60));
        judge_and_close(gpu, from_next(next, count, &random, true), "random", seed);
        free(next);
    }
    /* Enough chases for peeling. */
    judge_and_close(gpu, shaped(MAPPING, test_is_short() ? 10000 : 60000, 1), "large", 1);
    if (!test_is_short())
        judge_and_close(gpu, shaped(SCATTERED_RING, 60000, 1), "large ring", 1);
}

static void test_units(struct gpu *gpu, unsigned scale)
{
    for (uint64_t seed = 1; seed <= 300 * (uint64_t)scale / 100; seed++) {
        struct random random;
        random_seed(&random, seed);
        uint32_t most = seed % 10 == 0 ? 2000 : 60;
        uint32_t processes = (uint32_t)random_below(&random, most);
        uint32_t resources = (uint32_t)random_below(&random, most);
        unsigned kind = 1 + (unsigned)random_below(&random, 3);
        judge_and_close(gpu, random_units(kind, processes, resources, &random), "units", seed);
    }
    for (uint32_t count = 1; count <= (test_is_short() ? 200 : 1000); count = count * 3 + 1) {
        judge_and_close(gpu, long_way(count, false), "long way", count);
        judge_and_close(gpu, long_way(count, true), "long dead way", count);
        judge_and_close(gpu, one_resource(count, false), "one resource", count);
        judge_and_close(gpu, one_resource(count, true), "one resource, dead", count);
        judge_and_close(gpu, halves(30 * count), "halves", count);
    }
}

/* Too little memory is said before anything is allocated. */
static void test_memory(struct gpu *gpu)
{
    struct gpu_info before, after;
    gordian_snapshot *snapshot = shaped(RINGS, 1000, 1);
    struct check_result result = {0};
    gordian_error error = {0};
    gpu_get_info(gpu, &before);
    uint64_t needed = check_cuda_memory(snapshot, GORDIAN_MODEL_SINGLE_UNIT);
    CHECK(needed > 40 * 1000);
    gpu_emulator_memory(gpu, needed - 1);
    gordian_status status =
        check_cuda_on(gpu, snapshot, GORDIAN_MODEL_SINGLE_UNIT, &result, NULL, &error);
    CHECK_MSG(status == GORDIAN_STATUS_MEMORY, "%s", error.message);
    CHECK(strstr(error.message, "free") != NULL);
    CHECK(!result.deadlocked && !result.parts);
    gpu_get_info(gpu, &after);
    CHECK(after.memory_free == needed - 1);
    /* What cycles take beyond that is known only when they have been found. */
    for (uint64_t memory = 40 * 1000; status == GORDIAN_STATUS_MEMORY && memory < 80 * 1000;
         memory += 99 * test_stride()) {
        gpu_emulator_memory(gpu, memory);
        status = check_cuda_on(gpu, snapshot, GORDIAN_MODEL_SINGLE_UNIT, &result, NULL, &error);
        CHECK_MSG(status == GORDIAN_STATUS_MEMORY || status == GORDIAN_OK, "%s", error.message);
        CHECK(status == GORDIAN_OK || (!result.deadlocked && !result.parts));
        gpu_get_info(gpu, &after);
        CHECK(after.memory_free == memory);
        needed = memory;
    }
    CHECK(status == GORDIAN_OK && needed > check_cuda_memory(snapshot, GORDIAN_MODEL_SINGLE_UNIT));
    check_result_free(&result, &snapshot->memory);
    gpu_emulator_memory(gpu, before.memory);
    CHECK(!gpu_failed(gpu));
    gordian_snapshot_close(snapshot);
}

/* Every allocation of the host fails once: said, nothing half done, nothing lost. */
static void test_failing(struct gpu *gpu, gordian_snapshot *snapshot)
{
    struct failing failing = {0};
    gordian_allocator before = snapshot->memory;
    gordian_status status = GORDIAN_STATUS_MEMORY;
    snapshot->memory = (gordian_allocator){failing_resize, &failing};
    for (size_t at = 1; status == GORDIAN_STATUS_MEMORY && at < 100; at++) {
        struct check_result result = {0};
        failing = (struct failing){.fail_at = at};
        status = check_cuda_on(gpu, snapshot, check_model(snapshot), &result, NULL, NULL);
        CHECK(status == (failing.failures ? GORDIAN_STATUS_MEMORY : GORDIAN_OK));
        CHECK(!failing.failures || (!result.deadlocked && !result.parts));
        check_result_free(&result, &snapshot->memory);
        CHECK_MSG(failing.live_blocks == 0, "%zu left at %zu", failing.live_blocks, at);
    }
    CHECK(status == GORDIAN_OK);
    snapshot->memory = before;
    gordian_snapshot_close(snapshot);
}

static void test_all_failing(struct gpu *gpu)
{
    struct random random;
    random_seed(&random, 1);
    test_failing(gpu, shaped(RINGS, 100, 1));
    test_failing(gpu, long_way(100, true));
    test_failing(gpu, one_resource(50, true));
    test_failing(gpu, random_units(3, 50, 20, &random));
}

/* The engine's name is the last word on what ran. */
static void test_engines(void)
{
    gordian_snapshot *snapshot = shaped(RINGS, 100, 1);
    gordian_report report, again;
    gordian_error error = {0};
    MUST(gordian_snapshot_check(snapshot, &report, NULL));
    CHECK(strcmp(report.engine, "sparse") == 0); /* too small for anything else */
    CHECK(report.part_count == 10);
    gordian_status status = gordian_snapshot_check_with(snapshot, "cuda", &again, &error);
    char why[256];
    if (gpu_count(why, sizeof why) == 0)
        CHECK_MSG(status == GORDIAN_STATUS_UNAVAILABLE && strstr(error.message, why), "%s",
                  error.message);
    else
        CHECK_MSG(status == GORDIAN_OK && strcmp(again.engine, "cuda") == 0, "%s", error.message);
    status = gordian_snapshot_check_with(snapshot, "matrix", &again, &error);
    CHECK(status == GORDIAN_STATUS_UNAVAILABLE);
    MUST(gordian_snapshot_check_with(snapshot, "sparse", &again, NULL));
    CHECK(strcmp(again.engine, "sparse") == 0 && again.part_count == 10);
    gordian_snapshot_close(snapshot);
}

/* ------------------------------------------------------------------ large ones */

/* The multi-unit form of a shape: every resource has a second unit, held by a random other. */
static void add_units(gordian_snapshot *snapshot, uint64_t seed)
{
    struct random random;
    random_seed(&random, seed);
    uint32_t count = snapshot->resource_count;
    snapshot->units = memory_alloc(&snapshot->memory, sizeof *snapshot->units * count);
    snapshot->holds.edges = memory_alloc(&snapshot->memory, sizeof *snapshot->holds.edges * count);
    REQUIRE(snapshot->units && snapshot->holds.edges);
    for (uint32_t q = 0; q < count; q++) {
        snapshot->units[q] = (struct snapshot_units){2, 2, 1};
        uint32_t other = (uint32_t)random_below(&random, snapshot->process_count);
        snapshot->holds.edges[q] = (struct snapshot_edge){1, other, q};
    }
    snapshot->holds.count = snapshot->holds.room = count;
    snapshot->several = true;
}

/* The general form: every resource has two units, which its holder has both; every second wait is
 * for both of them, and who waits also wants one of another resource. */
static void add_wishes(gordian_snapshot *snapshot, uint64_t seed)
{
    struct random random;
    random_seed(&random, seed);
    const gordian_allocator *memory = &snapshot->memory;
    uint32_t count = snapshot->process_count;
    snapshot->units = memory_alloc(memory, sizeof *snapshot->units * count);
    snapshot->wait_units = memory_alloc(memory, sizeof *snapshot->wait_units * count);
    snapshot->waits.edges = memory_alloc(memory, sizeof *snapshot->waits.edges * count);
    REQUIRE(snapshot->units && snapshot->wait_units && snapshot->waits.edges);
    for (uint32_t i = 0; i < count; i++) {
        bool held = snapshot->holder[i] != NONE;
        snapshot->units[i] = (struct snapshot_units){2, held ? 2 : 0, held ? 2 : 0};
        snapshot->wait_units[i] = 1 + i % 2;
        uint32_t other = (uint32_t)random_below(&random, count);
        if (snapshot->wait[i] != NONE && other != snapshot->wait[i])
            snapshot->waits.edges[snapshot->waits.count++] = (struct snapshot_edge){1, i, other};
    }
    snapshot->waits.room = count;
    snapshot->several = snapshot->wide = true;
}

static void time_one(struct gpu *gpu, const char *name, gordian_snapshot *snapshot)
{
    gordian_report report;
    struct check_cuda_times times = {0};
    uint64_t begun = clock_ns();
    MUST(gordian_snapshot_check_with(snapshot, "sparse", &report, NULL));
    double cpu = (double)(clock_ns() - begun) / 1e6;
    compare_with(gpu, snapshot, &times, &report);
    if (snapshot->process_count < 50000000) /* warm */
        compare_with(gpu, snapshot, &times, &report);
    printf("| %-27s | %11u | %11zu | %9zu | %9.1f | %9.2f | %9.1f | %9.1f | %9.1f |\n", name,
           snapshot->process_count, report.deadlocked_count, report.part_count, times.upload / 1e3,
           times.kernels / 1e3, times.download / 1e3, times.host / 1e3, cpu);
    fflush(stdout);
    gordian_snapshot_close(snapshot);
}

/* `only`: shapes with this in their names; NULL: all. */
static void time_all(struct gpu *gpu, uint32_t size, const char *only)
{
    static const enum shape alive_or_dead[] = {MAPPING, FOREST, HALF, SCATTERED_CHAIN};
    printf("| %-27s | %11s | %11s | %9s | %9s | %9s | %9s | %9s | %9s |\n", "snapshot", "processes",
           "dead", "parts", "upload ms", "kernel ms", "downl. ms", "host ms", "CPU ms");
    printf("|---|---|---|---|---|---|---|---|---|\n");
    for (unsigned shape = 0; shape < SHAPES; shape++)
        if (!only || strstr(shape_names[shape], only))
            time_one(gpu, shape_names[shape], shaped((enum shape)shape, size, 2));
    for (unsigned i = 0; i < 2 * sizeof alive_or_dead / sizeof *alive_or_dead; i++) {
        char name[64];
        enum shape shape = alive_or_dead[i / 2];
        bool general = i % 2;
        snprintf(name, sizeof name, "%s, %s", general ? "general" : "two units",
                 shape_names[shape]);
        if (only && !strstr(name, only))
            continue;
        gordian_snapshot *snapshot = shaped(shape, size, 2);
        (general ? add_wishes : add_units)(snapshot, 3);
        time_one(gpu, name, snapshot);
    }
}

int main(int argc, char **argv)
{
    long device = -1;
    unsigned long size = 0;
    const char *only = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--device") == 0)
            device = strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--size") == 0)
            size = (unsigned long)strtod(argv[i + 1], NULL);
        else if (strcmp(argv[i], "--only") == 0)
            only = argv[i + 1];
    }
    struct gpu *gpu;
    gordian_error error = {0};
    gordian_status status = device < 0 ? gpu_open_emulator(&gpu, NULL, &error)
                                       : gpu_open(&gpu, (unsigned)device, NULL, &error);
    if (status != GORDIAN_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    if (size > 0) {
        time_all(gpu, (uint32_t)size, only);
    } else {
        test_single(gpu, test_scale());
        test_units(gpu, test_scale());
        if (device < 0)
            test_memory(gpu);
        test_all_failing(gpu);
        test_engines();
    }
    gpu_close(gpu);
    return test_done();
}
