/*
 * LMDDA on the GPU against the CPU's matrix engine, bit for bit.
 *
 *     test_lmdda [--device N] [--blocks] [--watched] [--bench] [--events COUNT] [SEED]
 * GORDIAN_TEST_SCALE=PERCENT
 *
 * On the emulator, or on device N. Random multi-unit systems: after every event the outcome, the
 * matrices, who is deadlocked and what would deadlock are compared. --bench measures recomputations
 * and prints a table.
 */
#include "device.h"
#include "engines/detect/cuda/lmdda.h"
#include "engines/detect/engine/matrix.h"
#include "engines/detect/system.h"
#include "foundation/base/bits.h"
#include "foundation/base/clock.h"
#include "foundation/base/random.h"
#include "must.h"
#include "test.h"

#include <string.h>

#define MOST_IDS 400

static const struct cuda_method *method = &cuda_lmdda; /* or cuda_lmdda_blocks */
static struct gpu *gpu;
static struct gpu_info info;
static struct random randomness;
static unsigned scale = 100;
static bool small; /* small sizes only: on the emulator, and under a tool that watches */

static uint32_t below(uint32_t bound)
{
    return (uint32_t)random_below(&randomness, bound);
}

/* ------------------------------------------------------------------ an engine of its own */

/* The method behind the hooks of an engine, without falling back: a failure is a finding. It
 * judges single-unit systems too, by the multi-unit method. */
struct rig {
    struct rag *rag;
    void *state;
};

static gordian_status rig_open(void **engine, const struct detect_engine *table, struct rag *rag,
                               gordian_error *error)
{
    (void)table;
    struct rig *rig = calloc(1, sizeof *rig);
    REQUIRE(rig != NULL);
    rig->rag = rag;
    *engine = rig;
    return method->open(&rig->state, method, gpu, rag, 1, 1, error);
}

static void rig_close(void *engine)
{
    struct rig *rig = engine;
    method->close(rig->state);
    free(rig);
}

static gordian_status rig_prepare(void *engine, gordian_model model, uint32_t processes,
                                  uint32_t resources, gordian_error *error)
{
    struct rig *rig = engine;
    (void)model;
    return method->grow(rig->state, processes, resources, error);
}

static void rig_grant(void *engine, uint32_t process, uint32_t resource, uint64_t units)
{
    CHECK(method->grant(((struct rig *)engine)->state, process, resource, units));
}

static gordian_outcome rig_block(void *engine, uint32_t process)
{
    return method->block(((struct rig *)engine)->state, process);
}

static void rig_release(void *engine, uint32_t process, uint32_t resource, uint64_t units)
{
    CHECK(method->release(((struct rig *)engine)->state, process, resource, units));
}

static void rig_serve(void *engine, uint32_t process, uint32_t from, const gordian_want *wants,
                      size_t count)
{
    CHECK(method->serve(((struct rig *)engine)->state, process, from, wants, count));
}

static void rig_cancel(void *engine, uint32_t process)
{
    CHECK(method->cancel(((struct rig *)engine)->state, process));
}

static void rig_settle(void *engine)
{
    CHECK(method->settle(((struct rig *)engine)->state));
}

static gordian_status rig_deadlocked(void *engine, uint64_t *set, gordian_error *error)
{
    return method->deadlocked(((struct rig *)engine)->state, set, error);
}

static gordian_status rig_row(const void *engine, gordian_matrix matrix, uint32_t row,
                              const uint64_t **words, gordian_error *error)
{
    const struct rig *rig = engine;
    return method->matrix_row(rig->state, matrix, row, words, error);
}

static gordian_status rig_ends(void *engine, uint32_t *ends, gordian_error *error)
{
    return cuda_lmdda_ends(((struct rig *)engine)->state, ends, error);
}

static const struct detect_engine rig_engine = {
    .about = {.name = "rig"},
    .open = rig_open,
    .close = rig_close,
    .prepare = rig_prepare,
    .grant = rig_grant,
    .block = rig_block,
    .release = rig_release,
    .serve = rig_serve,
    .cancel = rig_cancel,
    .settle = rig_settle,
    .deadlocked = rig_deadlocked,
    .matrix_row = rig_row,
    .what_if_all = rig_ends,
};

static gordian_system *open_system(const char *engine)
{
    gordian_error error = {0};
    gordian_options options;
    gordian_options_init(&options);
    options.engine = engine;
    gordian_system *system = NULL;
    must(gordian_open(&system, &options, &error), &error);
    return system;
}

/* A new, empty system whose engine is the rig. */
static gordian_system *open_rig(void)
{
    gordian_error error = {0};
    gordian_system *system = open_system("reduce");
    system->engine->close(system->state);
    system->engine = system->hooks = &rig_engine;
    must(rig_open(&system->state, &rig_engine, &system->graph, &error), &error);
    return system;
}

/* ------------------------------------------------------------------ random systems */

struct pair {
    gordian_system *device, *plain;
    uint32_t processes, resources;
    uint64_t events;
};

static void compare_rows(const struct pair *pair, gordian_matrix matrix, uint32_t rows)
{
    gordian_error error = {0};
    for (uint32_t r = 0; r < rows; r++) {
        const uint64_t *mine = NULL, *theirs = NULL;
        size_t my_count = 0, their_count = 0;
        must(gordian_matrix_row(pair->device, matrix, r, &mine, &my_count, &error), &error);
        must(gordian_matrix_row(pair->plain, matrix, r, &theirs, &their_count, &error), &error);
        CHECK(my_count == their_count);
        bool same = memcmp(mine, theirs, my_count * sizeof *mine) == 0;
        CHECK_MSG(same, "matrix %d, row %u, event %llu", (int)matrix, r,
                  (unsigned long long)pair->events);
    }
}

static void compare_elements(const struct pair *pair)
{
    static const gordian_matrix matrices[] = {GORDIAN_MATRIX_AG, GORDIAN_MATRIX_AR,
                                              GORDIAN_MATRIX_RP};
    gordian_error error = {0};
    for (int i = 0; i < 8; i++) {
        uint64_t mine = 0, theirs = 0;
        gordian_matrix matrix = matrices[below(3)];
        bool of_processes = matrix == GORDIAN_MATRIX_AR;
        uint32_t row = below(of_processes ? pair->processes : pair->resources);
        uint32_t column = below(of_processes ? pair->resources : pair->processes);
        must(gordian_matrix_get(pair->device, matrix, row, column, &mine, &error), &error);
        must(gordian_matrix_get(pair->plain, matrix, row, column, &theirs, &error), &error);
        CHECK(mine == theirs);
    }
}

static void compare_what_if(const struct pair *pair)
{
    static uint64_t mine[MOST_IDS * (MOST_IDS / 64 + 1)], theirs[MOST_IDS * (MOST_IDS / 64 + 1)];
    static uint64_t my_doomed[MOST_IDS / 64 + 1], their_doomed[MOST_IDS / 64 + 1];
    gordian_error error = {0};
    size_t stride = bits_words(pair->resources);
    must(gordian_what_if_all(pair->device, mine, stride, my_doomed, &error), &error);
    must(gordian_what_if_all(pair->plain, theirs, stride, their_doomed, &error), &error);
    CHECK(memcmp(mine, theirs, pair->processes * stride * sizeof *mine) == 0);
    CHECK(memcmp(my_doomed, their_doomed, stride * sizeof *my_doomed) == 0);
}

static void compare(const struct pair *pair)
{
    gordian_error error = {0};
    const uint32_t *mine = NULL, *theirs = NULL;
    size_t my_count = 0, their_count = 0;
    compare_rows(pair, GORDIAN_MATRIX_RP, pair->resources);
    compare_rows(pair, GORDIAN_MATRIX_AR, pair->processes);
    compare_elements(pair);
    compare_what_if(pair);
    must(gordian_deadlocked(pair->device, &mine, &my_count, &error), &error);
    must(gordian_deadlocked(pair->plain, &theirs, &their_count, &error), &error);
    CHECK(my_count == their_count && memcmp(mine, theirs, my_count * sizeof *mine) == 0);
}

static gordian_event random_event(const struct pair *pair)
{
    gordian_event event = {.process = below(pair->processes),
                           .resource = below(pair->resources),
                           .to = GORDIAN_NONE,
                           .units = 1};
    gordian_edge edges[8];
    bool waits = gordian_is_waiting(pair->plain, event.process);
    uint32_t dice = below(100);
    event.op = GORDIAN_OP_REQUEST;
    if (dice < 2) {
        event.op = GORDIAN_OP_EXIT;
    } else if (waits && dice < 30) {
        event.op = GORDIAN_OP_CANCEL;
    } else if (!waits && dice < 45) {
        size_t held = gordian_holdings(pair->plain, event.process, edges, 8);
        if (held == 0)
            return event;
        const gordian_edge *edge = &edges[below((uint32_t)(held < 8 ? held : 8))];
        event.op = GORDIAN_OP_RELEASE;
        event.resource = edge->resource;
        event.units = 1 + below((uint32_t)edge->units);
        if (dice < 25 && gordian_waiters(pair->plain, edge->resource, edges, 8))
            event.to = edges[0].process;
    }
    return event;
}

static void add_ids(struct pair *pair, uint32_t processes, uint32_t resources, uint32_t units)
{
    gordian_error error = {0};
    uint32_t id;
    for (uint32_t i = 0; i < resources; i++) {
        uint64_t total = pair->resources + i == 0 ? units : 1 + below(units);
        must(gordian_add_resource(pair->device, NULL, total, &id, &error), &error);
        must(gordian_add_resource(pair->plain, NULL, total, &id, &error), &error);
    }
    for (uint32_t i = 0; i < processes; i++) {
        must(gordian_add_process(pair->device, NULL, &id, &error), &error);
        must(gordian_add_process(pair->plain, NULL, &id, &error), &error);
    }
    pair->processes += processes;
    pair->resources += resources;
}

static void feed_both(struct pair *pair, const gordian_event *event)
{
    gordian_error error = {0};
    gordian_result mine, theirs;
    must(gordian_feed(pair->device, event, &mine, &error), &error);
    must(gordian_feed(pair->plain, event, &theirs, &error), &error);
    pair->events++;
    CHECK_MSG(mine.outcome == theirs.outcome && mine.served_count == theirs.served_count,
              "event %llu: %s, not %s", (unsigned long long)pair->events,
              gordian_outcome_text((gordian_outcome)mine.outcome),
              gordian_outcome_text((gordian_outcome)theirs.outcome));
}

/* Half-way through, the system grows. `every`: how often everything is compared. */
static void test_system(uint32_t processes, uint32_t resources, uint32_t units, unsigned events,
                        unsigned every, const struct hop_options *options)
{
    struct pair pair = {.device = open_rig(), .plain = open_system("matrix")};
    add_ids(&pair, processes, resources, units);
    struct rig *rig = pair.device->state;
    gordian_error error = {0};
    must(cuda_lmdda_tune(rig->state, options, &error), &error);
    for (unsigned i = 0; i < events; i++) {
        if (i == events / 2 && processes * 2 <= MOST_IDS && resources * 2 <= MOST_IDS)
            add_ids(&pair, processes / 2 + 1, resources / 3 + 1, units);
        gordian_event event = random_event(&pair);
        feed_both(&pair, &event);
        if (i % every == 0)
            compare(&pair);
    }
    compare(&pair);
    gordian_close(pair.device);
    gordian_close(pair.plain);
}

static void test_systems(void)
{
    struct hop_options whole, blocks;
    hop_options_init(&whole, &info);
    blocks = (struct hop_options){.small = 0, .block = 128, .tensor = info.binary_mma};
    unsigned events = 4 + 120 * scale / 100;
    unsigned more = small ? 1 : 20;
    test_system(4, 4, 2, 4 * more * events, 1, &whole);
    test_system(7, 3, 3, 2 * more * events, 1, &whole);
    test_system(5, 40, 2, more * events, 1, &blocks);
    test_system(40, 33, 2, more * events, 2, &whole);
    test_system(130, 140, 2, more * events, 16, &blocks);
    struct hop_options tensor = whole; /* the emulator has that path too, but slower */
    tensor.tensor = true;
    test_system(20, 20, 2, events / 2, 4, &tensor);
    if (scale >= 100)
        test_system(200, 190, 1, 3 * more * events, 64, &blocks);
    if (!small) {
        whole.tensor = false;
        test_system(130, 140, 2, 40 * events, 16, &whole);
        blocks.tensor = false;
        test_system(190, 200, 2, 40 * events, 16, &blocks);
    }
}

/* Very many events of one system; everything is compared now and then. */
static void test_many_events(unsigned events)
{
    struct hop_options options;
    hop_options_init(&options, &info);
    test_system(60, 50, 3, events, 4096, &options);
}

/* A chain as long as there are processes: `links` of them hold one resource and wait for the
 * next; the graph only, for a method opened on it. */
static gordian_system *chain_system(uint32_t links)
{
    gordian_error error = {0};
    gordian_system *system = open_system("sparse");
    must(gordian_reserve(system, links, links, &error), &error);
    uint32_t id;
    for (uint32_t i = 0; i < links; i++) {
        must(gordian_add_resource(system, NULL, i ? 1 : 2, &id, &error), &error);
        must(gordian_add_process(system, NULL, &id, &error), &error);
    }
    for (uint32_t i = 0; i < links; i++)
        must(gordian_request(system, i, i, i ? 1 : 2, NULL, &error), &error);
    for (uint32_t i = links - 1; i-- > 0;)
        must(gordian_request(system, i, i + 1, 1, NULL, &error), &error);
    return system;
}

/* The same chain by events; then its last process asks for the first resource, and one outside for
 * another. The expected answers are those of the definition. */
static void test_chain_events(uint32_t links)
{
    gordian_error error = {0};
    gordian_system *system = open_rig();
    gordian_outcome outcome;
    uint32_t id;
    bool right = true;
    must(gordian_reserve(system, links + 1, links, &error), &error);
    for (uint32_t i = 0; i < links; i++) {
        must(gordian_add_resource(system, NULL, i ? 1 : 2, &id, &error), &error);
        must(gordian_add_process(system, NULL, &id, &error), &error);
        must(gordian_request(system, i, i, i ? 1 : 2, NULL, &error), &error);
    }
    must(gordian_add_process(system, NULL, &id, &error), &error);
    for (uint32_t i = links - 1; i-- > 0;) {
        must(gordian_request(system, i, i + 1, 1, &outcome, &error), &error);
        right = right && outcome == GORDIAN_OUTCOME_BLOCKED;
    }
    CHECK(right);
    must(gordian_request(system, links - 1, 0, 1, &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_DEADLOCK);
    must(gordian_request(system, id, links / 2, 1, &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_DOOMED);
    must(gordian_cancel(system, links - 1, &outcome, &error), &error);
    must(gordian_release(system, links - 1, links - 1, 1, &outcome, &error), &error);
    size_t served = 0;
    CHECK(gordian_served(system, &served)[0] == links - 2 && served == 1);
    must(gordian_request(system, links - 1, links / 2, 1, &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_BLOCKED);
    must(gordian_request(system, links - 2, 0, 1, &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_DEADLOCK);
    gordian_close(system);
}

/* RP[i] has everybody from i on. */
static void check_chain_row(void *state, uint32_t links, uint32_t row)
{
    gordian_error error = {0};
    const uint64_t *words = NULL;
    must(method->matrix_row(state, GORDIAN_MATRIX_RP, row, &words, &error), &error);
    bool right = true;
    for (uint32_t p = 0; p < links; p++)
        right = right && bits_test(words, p) == (p >= row);
    CHECK_MSG(right, "row %u of a chain of %u", row, links);
}

static double time_chain(void *state, uint32_t links, const struct hop_options *options,
                         unsigned repeats)
{
    gordian_error error = {0};
    double best = 0;
    must(cuda_lmdda_tune(state, options, &error), &error);
    for (unsigned i = 0; i < repeats; i++) {
        double microseconds = 0;
        must(cuda_lmdda_recompute(state, &microseconds, &error), &error);
        if (i == 0 || microseconds < best)
            best = microseconds;
    }
    for (uint32_t i = 0; i < 16; i++)
        check_chain_row(state, links, i * (links / 16));
    check_chain_row(state, links, links - 1);
    return best;
}

static void test_chain(uint32_t links, const struct hop_options *options)
{
    gordian_error error = {0};
    gordian_system *system = chain_system(links);
    void *state = NULL;
    must(method->open(&state, method, gpu, &system->graph, links, links, &error), &error);
    time_chain(state, links, options, 1);
    method->close(state);
    gordian_close(system);
}

static void test_chains(void)
{
    struct hop_options whole, blocks;
    hop_options_init(&whole, &info);
    blocks = (struct hop_options){.small = 0, .block = 128, .tensor = info.binary_mma};
    test_chain(130, &whole);
    test_chain(300, &blocks);
    blocks.tensor = true;
    test_chain(140, &blocks);
    test_chain_events(150);
    /* More than one block of a row, of any width; in the emulator, which has narrow ones, that is
     * also more than one directory of them. */
    if (method == &cuda_lmdda_blocks)
        test_chain(small && scale < 100 ? 530 : 1300, &whole);
    if (!small) {
        test_chain_events(8192);
        test_chain(1024, &whole);
        test_chain(5000, &whole);
    }
}

/* After a failure there is no outcome, a reason, and closing is fine. */
static void test_failure(void)
{
    gordian_error error = {0};
    for (uint64_t commands = 0; commands < 12; commands++) {
        struct pair pair = {.device = open_rig(), .plain = open_system("matrix")};
        add_ids(&pair, 6, 4, 2);
        struct rig *rig = pair.device->state;
        method->fail_after(rig->state, commands);
        for (int i = 0; i < 60 && !method->reason(rig->state); i++) {
            gordian_event event = {.op = GORDIAN_OP_REQUEST,
                                   .process = below(6),
                                   .resource = below(4),
                                   .to = GORDIAN_NONE,
                                   .units = 1};
            gordian_result mine, theirs;
            must(gordian_feed(pair.device, &event, &mine, &error), &error);
            must(gordian_feed(pair.plain, &event, &theirs, &error), &error);
            CHECK(mine.outcome == theirs.outcome || mine.outcome == CUDA_NO_OUTCOME);
        }
        CHECK(commands > 6 || method->reason(rig->state) != NULL);
        gordian_close(pair.device);
        gordian_close(pair.plain);
    }
}

/* Too little memory is said before anything is allocated. */
static void test_memory(void)
{
    gordian_error error = {0};
    if (!info.emulated)
        return;
    gordian_system *system = chain_system(64);
    void *state = NULL;
    gpu_emulator_memory(gpu, 64 << 10);
    gordian_status status = method->open(&state, method, gpu, &system->graph, 4096, 4096, &error);
    CHECK(status == GORDIAN_STATUS_MEMORY);
    CHECK(strstr(error.message, "MiB") != NULL);
    gpu_emulator_memory(gpu, UINT64_C(8) << 30);
    must(method->open(&state, method, gpu, &system->graph, 64, 64, &error), &error);
    method->close(state);
    gordian_close(system);
}

/* ------------------------------------------------------------------ blocks */

static uint64_t memory_used(const struct pair *pair)
{
    gordian_error error = {0};
    uint64_t bytes = 0, used = 0;
    must(method->memory(((struct rig *)pair->device->state)->state, &bytes, &used, &error), &error);
    CHECK(used <= bytes);
    return used;
}

/* What was taken is given back when nobody holds anything any more. */
static void test_given_back(void)
{
    struct pair pair = {.device = open_rig(), .plain = open_system("matrix")};
    add_ids(&pair, 30, 25, 2);
    uint64_t empty = memory_used(&pair);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 80; i++) {
            gordian_event event = random_event(&pair);
            feed_both(&pair, &event);
        }
        CHECK(memory_used(&pair) > empty);
        for (uint32_t p = 0; p < pair.processes; p++) {
            gordian_event end = {.op = GORDIAN_OP_EXIT, .process = p, .to = GORDIAN_NONE};
            feed_both(&pair, &end);
        }
        CHECK(memory_used(&pair) == empty);
    }
    gordian_close(pair.device);
    gordian_close(pair.plain);
}

/* Memory ends under way: no outcome then, and a reason that says how much was asked for. */
static void test_memory_ends(void)
{
    if (!info.emulated)
        return;
    gordian_system *system = open_rig();
    gordian_error error = {0};
    gordian_outcome outcome = GORDIAN_OUTCOME_GRANTED;
    uint32_t id, links = 1000;
    struct rig *rig = system->state;
    must(gordian_reserve(system, links + 1, links + 1, &error), &error);
    for (uint32_t i = 0; i < links; i++) {
        must(gordian_add_resource(system, NULL, i ? 1 : 2, &id, &error), &error);
        must(gordian_add_process(system, NULL, &id, &error), &error);
        must(gordian_request(system, i, i, i ? 1 : 2, &outcome, &error), &error);
    }
    gpu_emulator_memory(gpu, 1);
    for (uint32_t i = 0; i + 1 < links && outcome != CUDA_NO_OUTCOME; i++)
        must(gordian_request(system, i, i + 1, 1, &outcome, &error), &error);
    gpu_emulator_memory(gpu, UINT64_C(8) << 30);
    const char *reason = method->reason(rig->state);
    CHECK_MSG(reason && strstr(reason, "KiB more are needed"), "%s", reason ? reason : "no reason");
    gordian_close(system);
}

/* ------------------------------------------------------------------ measuring */

static void bench_chains(const uint32_t *sizes, size_t count)
{
    printf("\n| reachability after a release, chain | tensor, us | words, us | with transfers and "
           "waiting, us |\n|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        gordian_error error = {0};
        gordian_system *system = chain_system(sizes[i]);
        void *state = NULL;
        must(method->open(&state, method, gpu, &system->graph, sizes[i], sizes[i], &error), &error);
        struct hop_options options;
        hop_options_init(&options, &info);
        options.tensor = false;
        double words = time_chain(state, sizes[i], &options, 2);
        options.tensor = info.binary_mma;
        double tensor = time_chain(state, sizes[i], &options, 5), ignored;
        uint64_t start = clock_ns();
        must(cuda_lmdda_recompute(state, &ignored, &error), &error);
        double whole = (double)(clock_ns() - start) / 1e3;
        printf("| %u | %.1f | %.1f | %.1f |\n", sizes[i], tensor, words, whole);
        method->close(state);
        gordian_close(system);
    }
}

/* ------------------------------------------------------------------ main */

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {1024, 2048, 4096, 16384, 65536};
    bool bench = false;
    uint64_t seed = 1;
    unsigned events = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--device") == 0)
            i++;
        else if (strcmp(argv[i], "--events") == 0 && i + 1 < argc)
            events = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--bench") == 0)
            bench = true;
        else if (strcmp(argv[i], "--blocks") == 0)
            method = &cuda_lmdda_blocks;
        else if (strcmp(argv[i], "--watched") == 0)
            small = true;
        else
            seed = strtoull(argv[i], NULL, 10);
    }
    scale = test_scale();
    random_seed(&randomness, seed);
    gpu = device_open(device_wanted(argc, argv));
    gpu_get_info(gpu, &info);
    small |= info.emulated;
    test_chains();
    test_systems();
    test_failure();
    test_memory();
    if (method == &cuda_lmdda_blocks) {
        test_given_back();
        if (!test_is_short())
            test_memory_ends();
    }
    if (events)
        test_many_events(events);
    if (bench) {
        if (!info.emulated)
            test_chain_events(65536);
        size_t count = info.emulated ? 1 : sizeof sizes / sizeof *sizes;
        printf("%s\n", info.name);
        bench_chains(sizes, count);
    }
    gpu_close(gpu);
    return test_done();
}
