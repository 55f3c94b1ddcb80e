/* Snapshots judged by many threads: the same report as by one, however many there are. */
#include "engines/detect/check/snapshot.h"
#include "unit/shapes.h"

static bool judge_by(const gordian_snapshot *snapshot, unsigned threads,
                     struct check_result *result)
{
    bool single = check_model(snapshot) == GORDIAN_MODEL_SINGLE_UNIT;
    return (single ? check_single : check_general)(snapshot, threads, result);
}

static void judge_and_close(gordian_snapshot *snapshot, const char *what, uint64_t seed)
{
    static const unsigned thread_counts[] = {3, 16, 2, 7};
    const unsigned count = test_is_short() ? 2 : sizeof thread_counts / sizeof *thread_counts;
    struct check_result alone = {0};
    bool judged = judge_by(snapshot, 1, &alone);
    REQUIRE(judged);
    for (unsigned i = 0; i < count; i++) {
        struct check_result many = {0};
        judged = judge_by(snapshot, thread_counts[i], &many);
        REQUIRE(judged);
        CHECK_MSG(same_report(&alone.report, &many.report),
                  "%s, seed %llu, %u processes, %u resources, %u threads: dead %zu and %zu, parts "
                  "%zu and %zu",
                  what, (unsigned long long)seed, gordian_snapshot_processes(snapshot),
                  gordian_snapshot_resources(snapshot), thread_counts[i],
                  alone.report.deadlocked_count, many.report.deadlocked_count,
                  alone.report.part_count, many.report.part_count);
        check_result_free(&many, &snapshot->memory);
    }
    check_result_free(&alone, &snapshot->memory);
    gordian_snapshot_close(snapshot);
}

/* The size of the largest cases: threads get in each other's way in smaller ones, too. */
static uint32_t largest(uint32_t usual)
{
    return test_is_short() ? usual / 40 : usual;
}

static void test_single(void)
{
    const uint32_t sizes[] = {0, 1, 2, 5, 64, 1000, largest(200000)};
    for (unsigned shape = 0; shape < SHAPES; shape++)
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
            judge_and_close(shaped((enum shape)shape, sizes[i], shape + i), shape_names[shape],
                            shape + i);
    for (uint64_t seed = 1; seed <= test_scaled(200); seed++) {
        struct random random;
        random_seed(&random, seed);
        uint32_t count = (uint32_t)random_below(&random, 20000), *next = malloc(4 * (count + 1));
        REQUIRE(next);
        make_random(next, count, &random, (unsigned)random_below(&random, 60));
        judge_and_close(from_next(next, count, &random, true), "random", seed);
        free(next);
    }
}

static void test_units(void)
{
    for (uint64_t seed = 1; seed <= test_scaled(300); seed++) {
        struct random random;
        random_seed(&random, seed);
        uint32_t most = seed % 10 == 0 ? largest(50000) : 200;
        uint32_t processes = (uint32_t)random_below(&random, most);
        uint32_t resources = (uint32_t)random_below(&random, most);
        unsigned kind = 1 + (unsigned)random_below(&random, 3);
        judge_and_close(random_units(kind, processes, resources, &random), "units", seed);
    }
    for (uint32_t count = 1; count <= largest(30000); count = count * 3 + 1) {
        judge_and_close(long_way(count, false), "long way", count);
        judge_and_close(long_way(count, true), "long dead way", count);
        judge_and_close(one_resource(count, false), "one resource", count);
        judge_and_close(one_resource(count, true), "one resource, dead", count);
        judge_and_close(halves(30 * (count % 1000)), "halves", count);
    }
}

int main(void)
{
    test_single();
    test_units();
    return test_done();
}
