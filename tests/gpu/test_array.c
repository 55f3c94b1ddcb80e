/*
 * Growable arrays, as kernels use them: nothing lost, doubled or torn, whatever the element's
 * size, the grid, the way of pushing, and wherever memory ends.
 *
 *     test_array --device 0 [--verbose] [--watched]
 *
 * --verbose: tells part by part what it does. --watched: by a tool that makes everything slow and
 * runs one kernel at a time.
 */
#include "array_trial.h"
#include "foundation/base/random.h"

struct bed {
    struct gpu *gpu;
    bool emulated, watched;
};

static struct gpu_array *make(struct bed *bed, const struct gpu_array_options *options)
{
    struct gpu_array *array = NULL;
    DO(gpu_array_create(&array, bed->gpu, options, &error));
    REQUIRE(array != NULL);
    return array;
}

/* ---- elements of every size, every way */

static void try_size(struct bed *bed, enum gpu_array_mode mode, uint32_t element, uint32_t items)
{
    for (unsigned way = 0; way < ARRAY_WAYS; way++) {
        struct trial trial = {.way = way,
                              .items = items,
                              .each = way_pushes(way) ? 1 : 3,
                              .blocks = 1 + way % 3,
                              .threads = way % 2 ? 70 : 64};
        struct gpu_array *array = make(
            bed, &(struct gpu_array_options){.mode = mode,
                                             .element = element,
                                             .capacity = items * trial.each,
                                             .page = mode == GPU_ARRAY_FLAT || way % 2 ? 0 : 16,
                                             .ahead = way % 3,
                                             .most = items * trial.each + 100});
        progress_case("%s, %u bytes, way %u", mode ? "chunked" : "flat", element, way);
        gpu_address marks = trial_marks(bed->gpu, &trial);
        trial_run(bed->gpu, &trial, array, marks);
        trial_check(bed->gpu, &trial, 1, array, true);
        test_passed++;
        gpu_free(bed->gpu, marks);
        gpu_array_destroy(array);
    }
}

static void test_sizes(struct bed *bed)
{
    static const uint32_t larger[] = {100, 256, 1000};
    uint32_t step = bed->watched ? 21 : test_is_short() ? 9 : 1;
    for (unsigned mode = 0; mode < 2; mode++) {
        for (uint32_t element = 1; element <= 64; element += step)
            try_size(bed, mode, element, 150);
        for (unsigned i = 0; i < 3; i++)
            try_size(bed, mode, larger[i], 40);
    }
}

/* ---- memory ends everywhere */

/* What fits is stored, the rest is counted; with marks the rest follows when there is room. */
static void try_capacity(struct bed *bed, const struct trial *trial,
                         const struct gpu_array_options *options)
{
    uint64_t outputs = trial_outputs(trial), page = options->page ? options->page : 1;
    uint64_t room = options->capacity, stored;
    if (options->mode == GPU_ARRAY_CHUNKED)
        room = (room + page - 1) / page * page;
    stored = outputs < room ? outputs : room;
    progress_case("%s, way %u, %u items of %u, %u blocks of %u, %u bytes, capacity %llu, page %llu",
                  options->mode ? "chunked" : "flat", trial->way, trial->items, trial->each,
                  trial->blocks, trial->threads, options->element, (unsigned long long)room,
                  (unsigned long long)page);
    struct gpu_array *array = make(bed, options);
    gpu_address marks = trial_marks(bed->gpu, trial);
    trial_run(bed->gpu, trial, array, marks);
    struct gpu_array_count count = {0};
    DO(gpu_array_settle(array, &count, &error));
    CHECK_MSG(count.size == stored && count.refused == outputs - stored,
              "way %u, capacity %llu: %llu stored, %llu refused, of %llu", trial->way,
              (unsigned long long)room, (unsigned long long)count.size,
              (unsigned long long)count.refused, (unsigned long long)outputs);
    trial_check(bed->gpu, trial, 1, array, false);
    if (way_has_marks(trial->way)) {
        struct array_fill_arguments arguments = trial_arguments(trial, array, marks);
        struct gpu_launch launch = trial_launch(trial, &arguments);
        unsigned launches;
        DO(gpu_array_run(&array, 1, &launch, &launches, &error));
        CHECK(launches == (stored < outputs ? 2 : 1) || stored == outputs);
        trial_check(bed->gpu, trial, 1, array, true);
    }
    gpu_free(bed->gpu, marks);
    gpu_array_destroy(array);
}

static void test_every_capacity(struct bed *bed, uint64_t seed)
{
    unsigned step = bed->watched ? 17 : bed->emulated ? test_stride() : 1;
    gpu_emulator_seed(bed->gpu, seed);
    for (unsigned way = 0; way < ARRAY_WAYS; way++) {
        struct trial trial = {.way = way,
                              .items = 45,
                              .each = way_pushes(way) ? 1 : 3,
                              .blocks = way % 2 ? 2 : 3,
                              .threads = 40};
        uint64_t outputs = trial_outputs(&trial);
        for (uint64_t capacity = 0; capacity <= outputs + 1; capacity += step) {
            struct gpu_array_options options = {
                .element = 5, .capacity = capacity, .most = outputs + 70};
            try_capacity(bed, &trial, &options);
            options.mode = GPU_ARRAY_CHUNKED;
            options.page = UINT64_C(1) << capacity % 4;
            options.ahead = capacity % 5 == 0;
            try_capacity(bed, &trial, &options);
        }
    }
}

/* Pages are installed one after the other, about a microsecond each on a device: of an array of
 * so many elements they have at least two to the power of this. */
static unsigned least_page(uint64_t elements)
{
    unsigned power = 0;
    while (elements >> power > 16384)
        power++;
    return power;
}

static void test_random_capacities(struct bed *bed, unsigned rounds)
{
    struct random random;
    random_seed(&random, 4);
    for (unsigned round = 0; round < rounds; round++) {
        gpu_emulator_seed(bed->gpu, round % 3 ? round : 0);
        enum array_selftest_way way = random_below(&random, ARRAY_WAYS);
        uint32_t most = bed->emulated || bed->watched ? 3000 : 60000;
        struct trial trial = {.way = way,
                              .items = 1 + (uint32_t)random_below(&random, most),
                              .each = way_pushes(way) ? 1 : 1 + (uint32_t)random_below(&random, 9),
                              .blocks = 1 + (unsigned)random_below(&random, 40),
                              .threads = 1 + (unsigned)random_below(&random, 256)};
        uint64_t outputs = trial_outputs(&trial);
        unsigned least = least_page(outputs);
        struct gpu_array_options options = {
            .mode = random_below(&random, 2),
            .element = 1 + (uint32_t)random_below(&random, 24),
            .capacity = random_below(&random, outputs + 10),
            .page = UINT64_C(1) << (least + random_below(&random, 12 - least)),
            .ahead = (uint32_t)random_below(&random, 3),
            .most = outputs * 2 + 10000,
        };
        try_capacity(bed, &trial, &options);
    }
}

/* Where the table of pages ends, there is no room even with chunks left. */
static void test_most(struct bed *bed, enum array_selftest_way way)
{
    struct gpu_pool *pool = NULL;
    DO(gpu_pool_create(&pool, bed->gpu,
                       &(struct gpu_pool_options){.chunk_bytes = 256, .chunks = 50, .most = 50},
                       &error));
    struct gpu_array *array = make(
        bed, &(struct gpu_array_options){
                 .mode = GPU_ARRAY_CHUNKED, .element = 16, .most = 30, .ahead = 4, .pool = pool});
    struct trial trial = {
        .way = way, .items = 100, .each = way_pushes(way) ? 1 : 3, .blocks = 2, .threads = 64};
    trial_run(bed->gpu, &trial, array, 0);
    struct gpu_array_count count = {0};
    DO(gpu_array_settle(array, &count, &error));
    CHECK(count.size == 32 && count.refused == trial_outputs(&trial) - 32);
    trial_check(bed->gpu, &trial, 1, array, false);
    uint64_t chunks = 0, taken = 0;
    DO(gpu_pool_count(pool, &chunks, &taken, &error));
    CHECK(chunks == 50 && taken == 2);
    gpu_array_destroy(array);
    DO(gpu_pool_count(pool, &chunks, &taken, &error));
    CHECK(chunks == 50 && taken == 0);
    gpu_pool_destroy(pool);
}

/* ---- any grid */

static void try_grid(struct bed *bed, unsigned blocks, enum gpu_array_mode mode)
{
    struct trial trial = {.way = blocks % ARRAY_RESUME,
                          .items = blocks * 33,
                          .each = 1 + (blocks % ARRAY_RESUME > ARRAY_PUSH_BLOCK),
                          .blocks = blocks,
                          .threads = 32};
    progress_case("%s, way %u, %u blocks", mode ? "chunked" : "flat", trial.way, blocks);
    struct gpu_array *array =
        make(bed, &(struct gpu_array_options){.mode = mode,
                                              .element = 8,
                                              .capacity = trial.items * trial.each,
                                              .page = 256,
                                              .most = trial.items * trial.each});
    trial_run(bed->gpu, &trial, array, 0);
    trial_check(bed->gpu, &trial, 1, array, true);
    test_passed++;
    gpu_array_destroy(array);
}

static void test_grids(struct bed *bed)
{
    static const unsigned some[] = {1, 2, 3, 16, 131, 132, 133, 1055, 2111, 2112};
    for (unsigned mode = 0; mode < 2; mode++) {
        if (bed->emulated || bed->watched) {
            for (unsigned i = 0; i < (bed->watched ? 5 : 10); i++)
                try_grid(bed, some[i], mode);
        } else {
            for (unsigned blocks = 1; blocks <= 132 * 16; blocks += blocks < 140 ? 1 : 29)
                try_grid(bed, blocks, mode);
            try_grid(bed, 132 * 16, mode);
        }
    }
}

/* ---- several at once */

/* Two kernels push into one array, beside each other. */
static void try_two(struct bed *bed, enum gpu_array_mode mode, uint64_t capacity, unsigned way)
{
    struct trial trials[2] = {
        {.way = way, .items = 900, .each = 2, .blocks = 3, .threads = 96, .service = true},
        {.way = way, .start = 5000, .items = 1100, .each = 2, .blocks = 4, .threads = 64},
    };
    uint64_t outputs = trial_outputs(&trials[0]) + trial_outputs(&trials[1]);
    uint64_t room = mode == GPU_ARRAY_FLAT ? capacity : (capacity + 31) / 32 * 32;
    uint64_t stored = outputs < room ? outputs : room;
    progress_case("%s, way %u, capacity %llu", mode ? "chunked" : "flat", way,
                  (unsigned long long)capacity);
    struct gpu_array *array = make(bed, &(struct gpu_array_options){.mode = mode,
                                                                    .element = 12,
                                                                    .capacity = capacity,
                                                                    .page = 32,
                                                                    .ahead = capacity % 2,
                                                                    .most = 20000});
    DO(gpu_wait(bed->gpu, &error));
    trial_run(bed->gpu, &trials[0], array, 0);
    trial_run(bed->gpu, &trials[1], array, 0);
    DO(gpu_wait_service(bed->gpu, &error));
    DO(gpu_wait(bed->gpu, &error));
    struct gpu_array_count count = {0};
    DO(gpu_array_settle(array, &count, &error));
    CHECK_MSG(count.size == stored && count.refused == outputs - stored,
              "way %u, capacity %llu: %llu stored, %llu refused", way, (unsigned long long)room,
              (unsigned long long)count.size, (unsigned long long)count.refused);
    trial_check(bed->gpu, trials, 2, array, stored == outputs);
    gpu_array_destroy(array);
}

static void test_two(struct bed *bed, unsigned rounds)
{
    struct random random;
    random_seed(&random, 6);
    for (unsigned round = 0; round < rounds; round++) {
        gpu_emulator_seed(bed->gpu, round);
        unsigned way = ARRAY_RESERVE + (unsigned)random_below(&random, 4);
        try_two(bed, round % 2, random_below(&random, 3000), way);
    }
}

/* Arrays that share a pool: one ends only when the pool has, and no chunk has two owners. */
static void try_pool(struct bed *bed, uint64_t chunks, unsigned way, bool at_once)
{
    enum { ARRAYS = 2 };
    struct trial trials[ARRAYS] = {
        {.way = way, .items = 700, .each = 2, .blocks = 3, .threads = 96, .service = at_once},
        {.way = way, .start = 9000, .items = 800, .each = 3, .blocks = 2, .threads = 64},
    };
    struct gpu_array *arrays[ARRAYS];
    struct gpu_pool *pool = NULL;
    progress_case("way %u, %llu chunks, %s", way, (unsigned long long)chunks,
                  at_once ? "at once" : "one after the other");
    DO(gpu_pool_create(
        &pool, bed->gpu,
        &(struct gpu_pool_options){.chunk_bytes = 512, .chunks = chunks, .most = 400}, &error));
    for (unsigned i = 0; i < ARRAYS; i++)
        arrays[i] = make(bed, &(struct gpu_array_options){
                                  .mode = GPU_ARRAY_CHUNKED, .element = i ? 24 : 8, .pool = pool});
    DO(gpu_wait(bed->gpu, &error));
    for (unsigned i = 0; i < ARRAYS; i++)
        trial_run(bed->gpu, &trials[i], arrays[i], 0);
    DO(gpu_wait_service(bed->gpu, &error));
    DO(gpu_wait(bed->gpu, &error));
    uint64_t refused = 0, there = 0, taken = 0, used = 0;
    for (unsigned i = 0; i < ARRAYS; i++) {
        struct gpu_array_count count = {0};
        uint64_t page = UINT64_C(1) << gpu_array_view(arrays[i]).shift;
        DO(gpu_array_settle(arrays[i], &count, &error));
        CHECK(count.size + count.refused == trial_outputs(&trials[i]));
        CHECK(count.refused == 0 || count.size % page == 0);
        refused += count.refused;
        used += (count.size + page - 1) / page;
        trial_check(bed->gpu, &trials[i], 1, arrays[i], count.refused == 0);
    }
    DO(gpu_pool_count(pool, &there, &taken, &error));
    CHECK_MSG(there == chunks && taken == used && (refused == 0 || taken == chunks),
              "%llu of %llu chunks taken, %llu used", (unsigned long long)taken,
              (unsigned long long)chunks, (unsigned long long)used);
    for (unsigned i = 0; i < ARRAYS; i++)
        gpu_array_destroy(arrays[i]);
    DO(gpu_pool_count(pool, &there, &taken, &error));
    CHECK(there == chunks && taken == 0);
    gpu_pool_destroy(pool);
}

static void test_pool(struct bed *bed, unsigned rounds)
{
    struct random random;
    random_seed(&random, 8);
    for (unsigned round = 0; round < rounds; round++) {
        gpu_emulator_seed(bed->gpu, round);
        unsigned way = ARRAY_RESERVE + (unsigned)random_below(&random, 4);
        try_pool(bed, random_below(&random, 150), way, !bed->watched && round % 2);
    }
}

/* Somebody stopped in the middle of taking a chunk, for ever: others complete it and go on.
 * `written`: it came as far as to write the page. */
static void try_halfway(struct bed *bed, bool same, bool written)
{
    struct gpu_pool *pool = NULL;
    struct gpu_array *arrays[2];
    struct trial trial = {
        .way = ARRAY_RESERVE_BLOCK, .items = 100, .each = 2, .blocks = 3, .threads = 64};
    uint64_t outputs = trial_outputs(&trial), taken = 0, chunks = 0, entry = 0;
    progress_case("%s array, page %swritten", same ? "the same" : "another", written ? "" : "not ");
    DO(gpu_pool_create(&pool, bed->gpu,
                       &(struct gpu_pool_options){.chunk_bytes = 256, .chunks = 20, .most = 20},
                       &error));
    for (unsigned i = 0; i < 2; i++)
        arrays[i] = make(bed, &(struct gpu_array_options){
                                  .mode = GPU_ARRAY_CHUNKED, .element = 16, .pool = pool});
    struct garray stopped = gpu_array_view(arrays[same ? 0 : 1]);
    struct garray_pool state;
    DO(gpu_read(bed->gpu, &state, stopped.pool, sizeof state, &error));
    DO(gpu_write(bed->gpu, state.owners, &stopped.pages, sizeof(uint64_t), &error));
    if (written)
        DO(gpu_write(bed->gpu, stopped.pages, &state.base, sizeof(uint64_t), &error));
    trial_run(bed->gpu, &trial, arrays[0], 0);
    trial_check(bed->gpu, &trial, 1, arrays[0], true);
    DO(gpu_read(bed->gpu, &entry, stopped.pages, sizeof entry, &error));
    CHECK(entry == state.base);
    DO(gpu_pool_count(pool, &chunks, &taken, &error));
    CHECK(chunks == 20 && taken == (outputs + 15) / 16 + !same);
    for (unsigned i = 0; i < 2; i++)
        gpu_array_destroy(arrays[i]);
    gpu_pool_destroy(pool);
}

static void test_halfway(struct bed *bed)
{
    for (unsigned way = 0; way < 4; way++) {
        for (unsigned seed = 0; seed < 5; seed++) {
            gpu_emulator_seed(bed->gpu, seed);
            try_halfway(bed, way % 2, way / 2);
        }
    }
}

/* ---- queues of a search: size, clear and at, inside of one kernel */

static void try_tree(struct bed *bed, enum gpu_array_mode mode, uint32_t end, unsigned blocks)
{
    struct array_tree_arguments arguments = {.end = end};
    struct gpu_array *queues[2];
    uint64_t zero[3] = {0}, got[2];
    uint32_t root = 0;
    progress_case("%s, up to %u, %u blocks", mode ? "chunked" : "flat", end, blocks);
    for (unsigned i = 0; i < 2; i++) {
        queues[i] = make(bed, &(struct gpu_array_options){.mode = mode,
                                                          .element = 4,
                                                          .capacity = 2 * end + 2,
                                                          .page = 64,
                                                          .most = 2 * end + 2});
        arguments.queues[i] = gpu_array_view(queues[i]);
    }
    gpu_address cells;
    DO(gpu_alloc(bed->gpu, &cells, sizeof zero, &error));
    DO(gpu_write(bed->gpu, cells, zero, sizeof zero, &error));
    arguments.barrier = cells + 16;
    arguments.sum = cells;
    arguments.count = cells + 8;
    DO(gpu_array_append(queues[0], &root, 1, &error));
    DO(gpu_launch(bed->gpu,
                  &(struct gpu_launch){.kernel = "array_tree",
                                       .blocks = blocks,
                                       .threads = 64,
                                       .cooperative = true,
                                       .arguments = &arguments,
                                       .arguments_size = sizeof arguments},
                  &error));
    DO(gpu_read(bed->gpu, got, cells, sizeof got, &error));
    uint64_t last = 2 * (uint64_t)end; /* every number up to here is met once */
    CHECK_MSG(got[1] == last + 1 && got[0] == last * (last + 1) / 2, "%u: %llu met", end,
              (unsigned long long)got[1]);
    for (unsigned i = 0; i < 2; i++) {
        struct gpu_array_count count = {0};
        DO(gpu_array_settle(queues[i], &count, &error));
        CHECK(count.size == 0 && count.refused == 0);
        gpu_array_destroy(queues[i]);
    }
    gpu_free(bed->gpu, cells);
}

/* An array that is full each time it is cleared; the host hears of all that did not fit. */
static void test_refill(struct bed *bed, enum gpu_array_mode mode, uint64_t capacity)
{
    enum { THREADS = 96, EACH = 3, ROUNDS = 4, OUTPUTS = THREADS * EACH };
    uint32_t numbers[OUTPUTS], seen[THREADS] = {0};
    progress_case("%s, capacity %llu", mode ? "chunked" : "flat", (unsigned long long)capacity);
    struct gpu_array *array =
        make(bed, &(struct gpu_array_options){
                      .mode = mode, .element = 4, .capacity = capacity, .page = 8, .most = 1000});
    struct array_refill_arguments arguments = {gpu_array_view(array), EACH, ROUNDS};
    DO(gpu_launch(bed->gpu,
                  &(struct gpu_launch){.kernel = "array_refill",
                                       .blocks = 1,
                                       .threads = THREADS,
                                       .arguments = &arguments,
                                       .arguments_size = sizeof arguments},
                  &error));
    struct gpu_array_count count = {0};
    uint64_t room = mode == GPU_ARRAY_FLAT ? capacity : (capacity + 7) / 8 * 8;
    uint64_t stored = room < OUTPUTS ? room : OUTPUTS;
    DO(gpu_array_settle(array, &count, &error));
    CHECK(count.size == stored && count.refused == ROUNDS * (OUTPUTS - stored));
    DO(gpu_array_read(array, numbers, 0, stored, &error));
    for (uint64_t i = 0; i < stored; i++)
        CHECK(numbers[i] < THREADS && ++seen[numbers[i]] <= EACH);
    /* Room for more makes no difference to what is there already. */
    DO(gpu_array_reserve(array, OUTPUTS, &error));
    DO(gpu_launch(bed->gpu,
                  &(struct gpu_launch){.kernel = "array_refill",
                                       .blocks = 1,
                                       .threads = THREADS,
                                       .arguments = &arguments,
                                       .arguments_size = sizeof arguments},
                  &error));
    DO(gpu_array_settle(array, &count, &error));
    uint64_t later = room > OUTPUTS ? room : OUTPUTS; /* only the first round met elements there */
    CHECK_MSG(count.size == OUTPUTS && count.refused == stored + OUTPUTS - later, "%llu refused",
              (unsigned long long)count.refused);
    gpu_array_destroy(array);
}

static void test_refills(struct bed *bed)
{
    for (unsigned mode = 0; mode < 2; mode++) {
        for (uint64_t capacity = 0; capacity < 320; capacity += 53) {
            gpu_emulator_seed(bed->gpu, capacity);
            test_refill(bed, mode, capacity);
        }
    }
}

static void test_tree(struct bed *bed)
{
    for (unsigned mode = 0; mode < 2; mode++) {
        gpu_emulator_seed(bed->gpu, mode + 1);
        try_tree(bed, mode, 1, 1);
        try_tree(bed, mode, 300, 4);
        try_tree(bed, mode, bed->emulated || bed->watched ? 2000 : 1000000, 8);
    }
}

/* ---- grown by the host while a kernel runs */

static void test_watch(struct bed *bed, uint64_t ahead)
{
    struct trial trial = {.way = ARRAY_RESUME_WHOLE,
                          .items = bed->emulated || bed->watched ? 30000 : 200000,
                          .each = 4,
                          .blocks = 8,
                          .threads = 128};
    uint64_t outputs = trial_outputs(&trial), capacity = 0;
    progress_case("%llu ahead", (unsigned long long)ahead);
    struct gpu_array *array = make(
        bed, &(struct gpu_array_options){.element = 8, .page = 512, .most = outputs + outputs / 4});
    gpu_address marks = trial_marks(bed->gpu, &trial);
    DO(gpu_array_watch(array, ahead, &error));
    CHECK(gpu_array_watch(array, ahead, NULL) == GORDIAN_STATUS_INPUT);
    struct array_fill_arguments arguments = trial_arguments(&trial, array, marks);
    struct gpu_launch launch = trial_launch(&trial, &arguments);
    DO(gpu_launch(bed->gpu, &launch, &error));
    DO(gpu_wait(bed->gpu, &error));
    gpu_array_unwatch(array);
    struct gpu_array_count count = {0};
    DO(gpu_array_settle(array, &count, &error));
    DO(gpu_array_capacity(array, &capacity, &error));
    CHECK(count.size + count.refused == outputs);
    CHECK(capacity >= count.size && capacity >= (ahead < outputs ? ahead : outputs));
    printf("watched, %llu ahead: %llu of %llu stored by the first launch\n",
           (unsigned long long)ahead, (unsigned long long)count.size, (unsigned long long)outputs);
    trial_check(bed->gpu, &trial, 1, array, count.refused == 0);
    DO(gpu_array_watch(array, ahead, &error));
    arguments = trial_arguments(&trial, array, marks);
    DO(gpu_array_run(&array, 1, &launch, NULL, &error));
    trial_check(bed->gpu, &trial, 1, array, true);
    gpu_array_unwatch(array);
    gpu_free(bed->gpu, marks);
    gpu_array_destroy(array);
}

/* The same without the thread: the host has granted more than the limit says. */
static void try_desk(struct bed *bed, uint64_t limit, uint64_t granted, unsigned way)
{
    struct trial trial = {
        .way = way, .items = 400, .each = way_pushes(way) ? 1 : 2, .blocks = 3, .threads = 64};
    uint64_t outputs = trial_outputs(&trial), stored = outputs < granted ? outputs : granted;
    progress_case("way %u, limit %llu, granted %llu", way, (unsigned long long)limit,
                  (unsigned long long)granted);
    struct gpu_array *array = make(
        bed,
        &(struct gpu_array_options){.element = 4, .capacity = granted, .page = 16, .most = 2000});
    struct array_fill_arguments arguments = trial_arguments(&trial, array, 0);
    void *host = NULL;
    DO(gpu_map(bed->gpu, &host, &arguments.out.desk, sizeof(struct garray_desk), &error));
    struct garray_desk *desk = host;
    desk->granted = granted;
    struct garray_control control = {.limit = limit};
    DO(gpu_write(bed->gpu, arguments.out.control, &control, sizeof control, &error));
    struct gpu_launch launch = trial_launch(&trial, &arguments);
    DO(gpu_launch(bed->gpu, &launch, &error));
    DO(gpu_read(bed->gpu, &control, arguments.out.control, sizeof control, &error));
    CHECK((control.limit & ~GARRAY_CLOSED) == granted);
    CHECK(control.limit >> 63 == (outputs > granted));
    CHECK(desk->wanted >= 1 && desk->wanted <= outputs);
    struct gpu_array_count count = {0};
    DO(gpu_array_settle(array, &count, &error));
    CHECK_MSG(count.size == stored && count.refused == outputs - stored, "way %u: %llu stored", way,
              (unsigned long long)count.size);
    trial_check(bed->gpu, &trial, 1, array, stored == outputs);
    gpu_unmap(bed->gpu, host);
    gpu_array_destroy(array);
}

static void test_desk(struct bed *bed)
{
    for (unsigned way = 0; way <= ARRAY_RESERVE_WHOLE; way++) {
        gpu_emulator_seed(bed->gpu, way);
        try_desk(bed, 100, 100, way);
        try_desk(bed, 0, 117, way);
        try_desk(bed, 100, 200, way);
        try_desk(bed, 33, 1000, way);
    }
}

static void test_memory_ends(struct bed *bed, unsigned few)
{
    progress_part("every capacity");
    test_every_capacity(bed, 0);
    if (bed->emulated && !test_is_short())
        test_every_capacity(bed, 77);
    progress_part("random capacities");
    test_random_capacities(bed, test_scaled(1500) / few + 2);
    progress_part("end of the table");
    test_most(bed, ARRAY_PUSH);
    test_most(bed, ARRAY_RESERVE_WARP);
}

static void test_at_once(struct bed *bed, unsigned few)
{
    progress_part("two kernels");
    if (!bed->watched)
        test_two(bed, test_scaled(400));
    progress_part("shared pools");
    test_pool(bed, test_scaled(400) / few + 2);
    progress_part("stopped half way");
    test_halfway(bed);
}

static void test_growing(struct bed *bed)
{
    progress_part("granted by the host");
    test_desk(bed);
    gpu_emulator_seed(bed->gpu, 0);
    progress_part("watched by the host");
    test_watch(bed, 1000);
    test_watch(bed, 100000);
    test_watch(bed, UINT64_MAX);
}

int main(int argc, char **argv)
{
    int device = device_wanted(argc, argv);
    progress_open(argc, argv, device);
    progress_part("opening");
    struct bed bed = {.gpu = device_open(device), .emulated = device < 0};
    for (int i = 1; i < argc; i++)
        bed.watched |= strcmp(argv[i], "--watched") == 0;
    unsigned few = bed.watched ? 20 : bed.emulated ? 1 : 5; /* larger ones on a device */
    progress_part("sizes");
    test_sizes(&bed);
    test_memory_ends(&bed, few);
    gpu_emulator_seed(bed.gpu, 0);
    progress_part("grids");
    test_grids(&bed);
    test_at_once(&bed, few);
    progress_part("refilled");
    test_refills(&bed);
    progress_part("queues");
    test_tree(&bed);
    test_growing(&bed);
    progress_close();
    gpu_close(bed.gpu);
    return test_done();
}
