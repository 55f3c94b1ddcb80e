/*
 * The papers' detection methods on the GPU (lab/published/detect/detect.h) against the engines
 * `reduce`, the oracle, and `matrix`: every answer, and every matrix element by element.
 *
 *     test_published_detect [--device N] [--watched] [SEED]        GORDIAN_TEST_SCALE=PERCENT
 *
 * On the emulator, or on device N. The methods know no system with a deadlock in it: a request that
 * would close one is given up by the engines.
 */
#include "device.h"
#include "foundation/base/random.h"
#include "lab/published/detect/detect.h"
#include "must.h"

#define HELD_ROOM 16

static struct gpu *gpu;
static struct random randomness;
static bool small; /* small sizes only: on the emulator, and under a tool that watches */

static uint32_t below(uint32_t bound)
{
    return (uint32_t)random_below(&randomness, bound);
}

/* ------------------------------------------------------------------ a system, three times */

struct trial {
    enum published_method method;
    uint32_t processes, resources;
    struct published_detect *mine;
    gordian_system *oracle, *matrix;
    uint32_t *values; /* room for the largest matrix */
    uint32_t *ran;    /* who ran before the last block */
    uint64_t events, deadlocks, hand_overs;
};

static gordian_system *open_system(const char *engine)
{
    gordian_error error = {0};
    gordian_options options;
    gordian_system *system = NULL;
    gordian_options_init(&options);
    options.engine = engine;
    must(gordian_open(&system, &options, &error), &error);
    return system;
}

static void add_ids(struct trial *trial, uint32_t units)
{
    gordian_error error = {0};
    uint32_t id;
    for (uint32_t q = 0; q < trial->resources; q++) {
        const uint64_t total = q == 0 ? units : 1 + below(units);
        must(gordian_add_resource(trial->oracle, NULL, total, &id, &error), &error);
        must(gordian_add_resource(trial->matrix, NULL, total, &id, &error), &error);
    }
    for (uint32_t p = 0; p < trial->processes; p++) {
        must(gordian_add_process(trial->oracle, NULL, &id, &error), &error);
        must(gordian_add_process(trial->matrix, NULL, &id, &error), &error);
    }
}

static struct trial open_trial(enum published_method method, uint32_t processes, uint32_t resources,
                               uint32_t units)
{
    struct trial trial = {.method = method, .processes = processes, .resources = resources};
    const size_t longest = processes > resources ? processes : resources;
    gordian_error error = {0};
    trial.values = malloc(longest * longest * sizeof *trial.values);
    trial.ran = calloc(processes, sizeof *trial.ran);
    REQUIRE(trial.values && trial.ran);
    trial.oracle = open_system("reduce");
    trial.matrix = open_system("matrix");
    add_ids(&trial, units);
    must(published_detect_open(&trial.mine, gpu, method, processes, resources, units, &error),
         &error);
    return trial;
}

static void close_trial(struct trial *trial)
{
    published_detect_close(trial->mine);
    gordian_close(trial->oracle);
    gordian_close(trial->matrix);
    free(trial->values);
    free(trial->ran);
}

/* ------------------------------------------------------------------ matrices */

static void compare_matrix(struct trial *trial, enum published_matrix which, gordian_matrix theirs,
                           uint32_t rows, uint32_t columns)
{
    gordian_error error = {0};
    uint32_t differ = 0;
    must(published_detect_read(trial->mine, which, trial->values, &error), &error);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < columns; c++) {
            uint64_t value = 0;
            must(gordian_matrix_get(trial->matrix, theirs, r, c, &value, &error), &error);
            differ += trial->values[(size_t)r * columns + c] != value;
        }
    CHECK_MSG(differ == 0, "%s, %u x %u: matrix %d differs in %u elements after event %llu",
              published_method_name(trial->method), trial->processes, trial->resources, (int)which,
              differ, (unsigned long long)trial->events);
}

static void compare_all(struct trial *trial)
{
    const uint32_t processes = trial->processes, resources = trial->resources;
    compare_matrix(trial, PUBLISHED_MATRIX_AG, GORDIAN_MATRIX_AG, resources, processes);
    compare_matrix(trial, PUBLISHED_MATRIX_AR, GORDIAN_MATRIX_AR, processes, resources);
    compare_matrix(trial, PUBLISHED_MATRIX_RP, GORDIAN_MATRIX_RP, resources, processes);
    if (published_is_multi_unit(trial->method))
        return;
    compare_matrix(trial, PUBLISHED_MATRIX_SINK, GORDIAN_MATRIX_SINK, resources, processes);
    compare_matrix(trial, PUBLISHED_MATRIX_RR, GORDIAN_MATRIX_RR, resources, resources);
}

/* Who ran before the request that has just been blocked. */
static void compare_sinks(struct trial *trial)
{
    gordian_error error = {0};
    must(published_detect_read(trial->mine, PUBLISHED_MATRIX_SP, trial->values, &error), &error);
    CHECK_MSG(memcmp(trial->values, trial->ran, trial->processes * sizeof *trial->ran) == 0,
              "%s: SP, event %llu", published_method_name(trial->method),
              (unsigned long long)trial->events);
}

/* ------------------------------------------------------------------ events */

static void block_mine(struct trial *trial, uint32_t process, uint32_t resource,
                       gordian_outcome expected)
{
    gordian_error error = {0};
    gordian_outcome outcome;
    must(published_detect_block(trial->mine, process, resource, &outcome, &error), &error);
    CHECK_MSG(outcome == expected, "%s, event %llu: %s, not %s",
              published_method_name(trial->method), (unsigned long long)trial->events,
              gordian_outcome_text(outcome), gordian_outcome_text(expected));
    if (published_is_multi_unit(trial->method))
        compare_sinks(trial);
    if (expected != GORDIAN_OUTCOME_DEADLOCK)
        return;
    trial->deadlocks++;
    must(gordian_cancel(trial->oracle, process, NULL, &error), &error);
    must(gordian_cancel(trial->matrix, process, NULL, &error), &error);
}

static void request_one(struct trial *trial, uint32_t process, uint32_t resource)
{
    gordian_error error = {0};
    gordian_outcome outcome, theirs;
    for (uint32_t p = 0; p < trial->processes; p++)
        trial->ran[p] = !gordian_is_waiting(trial->oracle, p);
    trial->events++;
    must(gordian_request(trial->oracle, process, resource, 1, &outcome, &error), &error);
    must(gordian_request(trial->matrix, process, resource, 1, &theirs, &error), &error);
    CHECK(outcome == theirs);
    if (outcome == GORDIAN_OUTCOME_GRANTED)
        must(published_detect_grant(trial->mine, process, resource, &error), &error);
    else
        block_mine(trial, process, resource, outcome);
}

static void release_one(struct trial *trial, uint32_t process, uint32_t resource)
{
    gordian_error error = {0};
    size_t count = 0;
    trial->events++;
    must(gordian_release(trial->matrix, process, resource, 1, NULL, &error), &error);
    must(gordian_release(trial->oracle, process, resource, 1, NULL, &error), &error);
    const uint32_t *served = gordian_served(trial->oracle, &count);
    REQUIRE(count <= 1);
    trial->hand_overs += count;
    must(published_detect_release(trial->mine, process, resource, count ? served[0] : GORDIAN_NONE,
                                  &error),
         &error);
}

/* By somebody who runs: mostly a request, at times for what others hold. */
static void random_event(struct trial *trial, uint32_t releases)
{
    const uint32_t process = below(trial->processes);
    gordian_edge held[HELD_ROOM];
    if (gordian_is_waiting(trial->oracle, process))
        return;
    size_t count = gordian_holdings(trial->oracle, process, held, HELD_ROOM);
    if (count > HELD_ROOM)
        count = HELD_ROOM;
    if (count && below(100) < releases)
        release_one(trial, process, held[below((uint32_t)count)].resource);
    else
        request_one(trial, process, below(trial->resources));
}

/* `every`: how often the matrices are compared. */
static void test_system(enum published_method method, uint32_t processes, uint32_t resources,
                        uint32_t units, unsigned long events, unsigned every)
{
    struct trial trial =
        open_trial(method, processes, resources, published_is_multi_unit(method) ? units : 1);
    compare_all(&trial);
    for (unsigned long i = 0; i < events; i++) {
        random_event(&trial, i / 8 % 2 ? 70 : 20); /* it fills up, and empties again */
        if (i % every == 0)
            compare_all(&trial);
    }
    compare_all(&trial);
    close_trial(&trial);
}

/* Many small systems, where deadlocks and hand-overs are common; sizes around the padding's. */
static void test_systems(enum published_method method)
{
    const unsigned long more = small ? 1 : 10;
    for (unsigned long i = 0; i < test_scaled(12 * more); i++)
        test_system(method, 1 + below(6), 1 + below(6), 3, 80, 1);
    test_system(method, 31, 33, 2, test_scaled(150 * more), 4);
    test_system(method, 32, 32, 2, test_scaled(150 * more), 4);
    test_system(method, 12, 70, 2, test_scaled(60 * more), 4);
    test_system(method, 70, 12, 2, test_scaled(60 * more), 4);
    if (!small)
        test_system(method, 300, 200, 3, test_scaled(published_is_multi_unit(method) ? 300 : 3000),
                    100);
}

/* The systems above have all kinds of events in them. */
static void test_coverage(enum published_method method)
{
    struct trial trial = open_trial(method, 5, 4, published_is_multi_unit(method) ? 2 : 1);
    for (int i = 0; i < 600; i++)
        random_event(&trial, 45);
    CHECK(trial.deadlocks > 0 && trial.hand_overs > 0);
    compare_all(&trial);
    close_trial(&trial);
}

/* A chain, the far end receding, until the ring would close; then it runs off. Every method has its
 * longest paths here: as many hops as there can be. */
static void test_chain(enum published_method method, uint32_t links)
{
    struct trial trial = open_trial(method, links, links, 1);
    for (uint32_t i = 0; i < links; i++)
        request_one(&trial, i, i);
    for (uint32_t i = 0; i + 1 < links; i++)
        request_one(&trial, i, i + 1);
    compare_all(&trial);
    request_one(&trial, links - 1, 0);
    CHECK(trial.deadlocks == 1);
    compare_all(&trial);
    for (uint32_t i = links - 1; i > links - 4; i--) {
        release_one(&trial, i, i);
        compare_all(&trial);
    }
    close_trial(&trial);
}

/* More processes than a block has threads, and a path through one of those beyond. */
static void test_far_process(enum published_method method)
{
    struct trial trial = open_trial(method, 1030, 3, 1);
    request_one(&trial, 1029, 0);
    request_one(&trial, 0, 1);
    request_one(&trial, 1029, 1);
    request_one(&trial, 1, 2);
    request_one(&trial, 1028, 2);
    compare_all(&trial);
    release_one(&trial, 1, 2);
    compare_all(&trial);
    request_one(&trial, 0, 0);
    CHECK(trial.deadlocks == 1);
    release_one(&trial, 0, 1);
    release_one(&trial, 1029, 0);
    CHECK(trial.hand_overs == 2);
    compare_all(&trial);
    close_trial(&trial);
}

/* ------------------------------------------------------------------ what is refused */

static void test_refusals(void)
{
    gordian_error error = {0};
    struct published_detect *detect = NULL;
    uint32_t values[4];
    CHECK(published_detect_open(&detect, gpu, PUBLISHED_METHOD_OSDDA_BITS, 2, 2, 2, &error) ==
              GORDIAN_STATUS_INPUT &&
          !detect);
    CHECK(published_detect_open(&detect, gpu, PUBLISHED_METHOD_LMDDA_CHARS, 2, 2, 256, &error) ==
              GORDIAN_STATUS_INPUT &&
          !detect);
    must(published_detect_open(&detect, gpu, PUBLISHED_METHOD_LMDDA_CHARS, 2, 2, 255, &error),
         &error);
    CHECK(published_detect_read(detect, PUBLISHED_MATRIX_SINK, values, &error) ==
          GORDIAN_STATUS_UNAVAILABLE);
    published_detect_close(detect);
    must(published_detect_open(&detect, gpu, PUBLISHED_METHOD_OSDDA_CHARS, 2, 2, 1, &error),
         &error);
    CHECK(published_detect_read(detect, PUBLISHED_MATRIX_SP, values, &error) ==
          GORDIAN_STATUS_UNAVAILABLE);
    must(published_detect_grant(detect, 0, 1, &error), &error);
    CHECK(published_detect_release(detect, 0, 1, 1, &error) == GORDIAN_STATUS_INPUT);
    published_detect_close(detect);
    CHECK(published_method_name((enum published_method)PUBLISHED_METHODS) == NULL);
}

/* Too little of the device's memory, at whichever part it shows. */
static void test_memory(void)
{
    struct gpu_info info;
    gpu_get_info(gpu, &info);
    if (!info.emulated)
        return;
    for (int method = 0; method < PUBLISHED_METHODS; method++)
        for (uint64_t bytes = 16; bytes < 64 << 10; bytes *= 2) {
            gordian_error error = {0};
            struct published_detect *detect = NULL;
            gpu_emulator_memory(gpu, bytes);
            gordian_status status = published_detect_open(
                &detect, gpu, (enum published_method)method, 100, 90, 1, &error);
            CHECK(status == GORDIAN_STATUS_MEMORY ? !detect : status == GORDIAN_OK && detect);
            published_detect_close(detect);
        }
    gpu_emulator_memory(gpu, UINT64_C(8) << 30);
}

int main(int argc, char **argv)
{
    gordian_error error = {0};
    uint64_t seed = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--device") == 0)
            i++;
        else if (strcmp(argv[i], "--watched") == 0)
            small = true;
        else
            seed = strtoull(argv[i], NULL, 10);
    }
    random_seed(&randomness, seed);
    gpu = device_open(device_wanted(argc, argv));
    must(gpu_add_kernels(gpu, &published_kernels, &error), &error);
    small |= device_wanted(argc, argv) < 0;
    test_refusals();
    test_memory();
    for (int method = 0; method < PUBLISHED_METHODS; method++) {
        test_coverage((enum published_method)method);
        test_chain((enum published_method)method, 33);
        test_far_process((enum published_method)method);
        test_systems((enum published_method)method);
        if (!small &&
            method != PUBLISHED_METHOD_LMDDA_CHARS) /* which takes a minute for a release */
            test_chain((enum published_method)method, 1030);
    }
    gpu_close(gpu);
    return test_done();
}
