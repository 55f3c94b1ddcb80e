/* A typical load through the public calls: processes request a few units of a few resources,
 * several times, and then release all. All engines get the same events in turn, and must give the
 * same answers. */
#include "lab/bench/avoid/avoid.h"

#include "foundation/base/error.h"
#include "foundation/base/random.h"

#include <string.h>

#define SIDES 3

struct load_shape {
    const char *name;
    uint32_t processes, resources;
    uint32_t claimed; /* resources a process claims */
    uint64_t units;   /* of a resource */
    uint64_t largest; /* claim on one resource */
    uint32_t wanted;  /* most resources of one request */
};

struct load {
    const struct avoid_bench *avoid;
    const struct load_shape *shape;
    struct random random;
    const char *engines[SIDES];
    gordian_bank *banks[SIDES];
    double *samples[SIDES];
    size_t sides;
    size_t requests, capacity;
    size_t lent, unsafe;
    gordian_want *wants;
    uint32_t *loans; /* by process: since it last released everything */
};

#define LOANS_MOST 4 /* then the process is done */

/* ------------------------------------------------------------------ opening */

static gordian_status add_bank(struct load *load, const char *engine)
{
    gordian_bank_options options;
    size_t side = load->sides;
    gordian_error *error = load->avoid->bench->error;
    gordian_bank_options_init(&options);
    options.engine = engine;
    load->engines[side] = engine;
    load->samples[side] =
        memory_alloc(&load->avoid->bench->memory, load->capacity * sizeof *load->samples[side]);
    gordian_status status = load->samples[side]
                                ? gordian_bank_open(&load->banks[side], &options, error)
                                : fail_memory(error);
    load->sides++;
    THEN(status, gordian_bank_reserve(load->banks[side], load->shape->processes,
                                      load->shape->resources, error));
    for (uint32_t j = 0; j < load->shape->resources && status == GORDIAN_OK; j++)
        status =
            gordian_bank_add_resource(load->banks[side], NULL, load->shape->units, NULL, error);
    return status;
}

/* Adds a process with random claims, the same in every bank. */
static gordian_status add_customer(struct load *load)
{
    const struct load_shape *shape = load->shape;
    uint32_t count = 0;
    for (uint32_t j = 0; j < shape->resources;
         j++) /* choose `claimed` of them with equal probability */
        if (random_below(&load->random, shape->resources - j) < shape->claimed - count)
            load->wants[count++] = (gordian_want){
                .resource = j, .units = 1 + random_below(&load->random, shape->largest)};
    for (size_t s = 0; s < load->sides; s++)
        TRY(gordian_bank_add_process(load->banks[s], NULL, load->wants, count, NULL, NULL,
                                     load->avoid->bench->error));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ events */

/* Chooses a few units each of a few resources that the process may still request. */
static size_t choose_wants(struct load *load, uint32_t process)
{
    const struct load_shape *shape = load->shape;
    gordian_bank *bank = load->banks[0];
    size_t count = 0, wanted = 1 + random_below(&load->random, shape->wanted);
    uint32_t start = (uint32_t)random_below(&load->random, shape->resources);
    for (uint32_t i = 0; i < shape->resources && count < wanted; i++) {
        uint32_t resource = (start + i) % shape->resources;
        uint64_t most = gordian_bank_claim(bank, process, resource) -
                        gordian_bank_held(bank, process, resource);
        if (most > 0)
            load->wants[count++] = (gordian_want){.resource = resource,
                                                  .units = 1 + random_below(&load->random, most)};
    }
    return count;
}

static gordian_status return_units(struct load *load, uint32_t process)
{
    size_t count = 0;
    for (uint32_t j = 0; j < load->shape->resources; j++) {
        uint64_t held = gordian_bank_held(load->banks[0], process, j);
        if (held > 0)
            load->wants[count++] = (gordian_want){.resource = j, .units = held};
    }
    for (size_t s = 0; s < load->sides && count > 0; s++)
        TRY(gordian_bank_release(load->banks[s], process, load->wants, count, NULL,
                                 load->avoid->bench->error));
    load->loans[process] = 0;
    return GORDIAN_OK;
}

static gordian_status request_units(struct load *load, uint32_t process, size_t count)
{
    gordian_error *error = load->avoid->bench->error;
    gordian_verdict first = GORDIAN_VERDICT_GRANTED;
    for (size_t s = 0; s < load->sides; s++) {
        gordian_answer answer;
        gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
        bool on_device = strcmp(load->engines[s], "cuda") == 0;
        uint64_t start = on_device ? clock_ns() : work_ns();
        gordian_status status =
            gordian_bank_request(load->banks[s], process, load->wants, count, &answer, error);
        uint64_t end = on_device ? clock_ns() : work_ns();
        load->samples[s][load->requests] = (double)(end - start);
        gordian_verdict verdict = answer.verdict;
        gordian_answer_free(&answer);
        TRY(status);
        if (s > 0 && verdict != first)
            return fail(error, GORDIAN_STATUS_INPUT, "%s says %s, %s says %s", load->engines[0],
                        gordian_verdict_text(first), load->engines[s],
                        gordian_verdict_text(verdict));
        first = verdict;
    }
    /* A request for units that are not free needs no search and is not counted. */
    load->lent += first == GORDIAN_VERDICT_GRANTED;
    load->unsafe += first == GORDIAN_VERDICT_UNSAFE;
    load->requests += first == GORDIAN_VERDICT_GRANTED || first == GORDIAN_VERDICT_UNSAFE;
    load->loans[process] += first == GORDIAN_VERDICT_GRANTED;
    return GORDIAN_OK;
}

/* A process that is done releases everything, and so do some that are denied. Otherwise all
 * processes could come to hold units and request more forever. */
static gordian_status load_step(struct load *load)
{
    uint32_t process = (uint32_t)random_below(&load->random, load->shape->processes);
    if (load->loans[process] == LOANS_MOST)
        return return_units(load, process);
    uint32_t loans = load->loans[process];
    size_t count = choose_wants(load, process);
    gordian_status status = count == 0 ? GORDIAN_OK : request_units(load, process, count);
    bool denied = status == GORDIAN_OK && load->loans[process] == loans;
    return denied && random_chance(&load->random, 10) ? return_units(load, process) : status;
}

/* Runs this many requests that were granted or unsafe. */
static gordian_status run_load(struct load *load, size_t requests, double seconds)
{
    uint64_t start = clock_ns();
    load->requests = load->lent = load->unsafe = 0;
    while (load->requests < requests && (double)(clock_ns() - start) < seconds * 1e9)
        TRY(load_step(load));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ rows */

static double mean(const double *samples, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += samples[i];
    return count ? sum / (double)count : 0;
}

static gordian_status add_load_row(struct load *load, size_t side, bool average)
{
    struct bench *bench = load->avoid->bench;
    size_t base = load->sides; /* index of dense */
    for (size_t s = 0; s < load->sides; s++)
        if (strcmp(load->engines[s], "dense") == 0)
            base = s;
    struct bench_row row =
        bench_row("us", "avoid/%s-%ux%u%s/%s", load->shape->name, load->shape->processes,
                  load->shape->resources, average ? "-mean" : "", load->engines[side]);
    row.value = (average ? mean(load->samples[side], load->requests)
                         : bench_median(load->samples[side], load->requests)) /
                1e3;
    if (!average)
        row.p99 = bench_p99(load->samples[side], load->requests) / 1e3;
    if (base < load->sides && base != side) {
        row.baseline = "dense";
        row.baseline_value = (average ? mean(load->samples[base], load->requests)
                                      : bench_median(load->samples[base], load->requests)) /
                             1e3;
        if (strcmp(load->engines[side], "holt") == 0 && !average &&
            strcmp(load->shape->name, "typical") == 0 && !load->avoid->emulated) {
            bench_bar(&row, BAR_AT_LEAST, 20);
        }
    }
    if (!average)
        bench_note(&row, "%zu requests: %zu granted, %zu unsafe; %u claims each", load->requests,
                   load->lent, load->unsafe, load->shape->claimed);
    return bench_add(bench, &row);
}

static gordian_status avoid_load_engine_rows(const struct avoid_bench *avoid,
                                             const struct load_shape *shape)
{
    const bool quick = avoid->bench->options->quick;
    struct load load = {.avoid = avoid, .shape = shape, .capacity = avoid->emulated ? 50 : 4000};
    gordian_status status = GORDIAN_OK;
    bench_progress(avoid->bench, "a %s load, %u x %u", shape->name, shape->processes,
                   shape->resources);
    random_seed(&load.random, avoid->bench->options->seed);
    load.wants = memory_alloc(&avoid->bench->memory, shape->resources * sizeof *load.wants);
    load.loans = memory_zeroed(&avoid->bench->memory, shape->processes * sizeof *load.loans);
    if (!load.wants || !load.loans)
        status = fail_memory(avoid->bench->error);
    if (status == GORDIAN_OK && avoid->cpu)
        status = add_bank(&load, "dense");
    if (status == GORDIAN_OK && avoid_wants(avoid, "holt"))
        status = add_bank(&load, "holt");
    if (status == GORDIAN_OK && avoid_wants(avoid, "cuda"))
        status = add_bank(&load, "cuda");
    for (uint32_t i = 0; i < shape->processes && status == GORDIAN_OK; i++)
        status = add_customer(&load);
    /* Warm up until processes end as often as they begin; then measure. */
    THEN(status, run_load(&load, load.capacity, quick ? 3 : 10));
    THEN(status, run_load(&load, load.capacity, quick ? 2 : 10));
    for (size_t s = 0; s < load.sides && status == GORDIAN_OK && load.requests > 0; s++)
        if (avoid_wants(avoid, load.engines[s])) {
            status = add_load_row(&load, s, true);
            THEN(status, add_load_row(&load, s, false));
        }
    for (size_t s = 0; s < load.sides; s++) {
        gordian_bank_close(load.banks[s]);
        memory_free(&load.avoid->bench->memory, load.samples[s]);
    }
    memory_free_all(&load.avoid->bench->memory, load.wants, load.loans);
    return status;
}

gordian_status avoid_load_rows(const struct avoid_bench *avoid)
{
    static const struct load_shape small = {"typical", 24, 12, 6, 8, 3, 3};
    static const struct load_shape shapes[] = {
        {"typical", 1024, 256, 64, 80, 8, 4},
        {"typical-full", 1024, 256, 256, 80, 8, 4},
        {"tight", 1024, 256, 64, 60, 8, 4},
    };
    if (avoid->emulated)
        return avoid_load_engine_rows(avoid, &small);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        TRY(avoid_load_engine_rows(avoid, &shapes[i]));
    return GORDIAN_OK;
}
