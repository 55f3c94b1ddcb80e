/* Makespans on the device: bounds by sweeping against the plainest search over all states. */
#include "../alloc/failing.h"
#include "device.h"
#include "engines/makespan/anneal/anneal.h"
#include "engines/makespan/cuda/chains.h"
#include "engines/makespan/cuda/cuda.h"
#include "engines/makespan/cuda/sweep.h"
#include "foundation/base/random.h"

#include <string.h>

static struct gpu *gpu;

/* ------------------------------------------------------------------ the plainest bounds */

/* A system small enough to look at all its states: where[i] warps are before instruction i; those
 * at the end are done. A state's key says what an abstraction keeps of it; states with the same
 * key count as one, which can do whatever any of them can. */
#define PLAIN_LENGTH 10u
#define PLAIN_STATES 20000u

struct plain_state {
    uint8_t where[PLAIN_LENGTH + 1];
    uint32_t left; /* work */
    uint64_t key;
};

struct plain {
    const struct makespan_model *model;
    enum sweep_detail detail;
    bool least;
    struct plain_state states[PLAIN_STATES];
    uint32_t count;
    uint32_t values[PLAIN_STATES]; /* by the first state with the key */
    bool known[PLAIN_STATES];
};

/* What the abstraction keeps, mixed up; keys of different content do not collide in practice, and
 * if they did the test would fail. */
static uint64_t plain_key(const struct plain *plain, const uint8_t *where)
{
    const struct makespan_model *model = plain->model;
    uint64_t key = 0;
    for (uint32_t r = 0; r < model->run_count; r++) {
        const struct makespan_run *run = &model->runs[r];
        uint32_t most =
            model->units[run->type] < model->sigma ? model->units[run->type] : model->sigma;
        uint64_t warps = 0, work = 0, largest = 0, all = 0;
        for (uint32_t i = 0; i < run->length; i++) {
            uint32_t n = where[run->first + i];
            warps += n;
            work += (uint64_t)n * (run->length - i);
            all = all * 17 + n;
            if (n && !largest)
                largest = run->length - i;
        }
        bool full = most == 1 || model->warps == 1 || plain->detail == SWEEP_FULL;
        if (full)
            work = largest = 0;
        if (plain->detail == SWEEP_WORK)
            largest = 0;
        uint64_t parts[] = {warps, work, largest, full ? all : 0};
        for (size_t i = 0; i < 4; i++)
            key = (key ^ parts[i]) * 0x9e3779b97f4a7c15u + (key >> 29) + 1;
    }
    return key;
}

static void plain_enumerate(struct plain *plain, uint8_t *where, uint32_t i, uint32_t warps)
{
    uint32_t length = plain->model->length;
    if (i == length) {
        where[length] = (uint8_t)warps;
        if (plain->count == PLAIN_STATES)
            REQUIRE(!"the system is small enough");
        struct plain_state *state = &plain->states[plain->count++];
        memcpy(state->where, where, length + 1);
        state->left = 0;
        for (uint32_t j = 0; j < length; j++)
            state->left += where[j] * (length - j);
        state->key = plain_key(plain, where);
        return;
    }
    for (uint32_t n = 0; n <= warps; n++) {
        where[i] = (uint8_t)n;
        plain_enumerate(plain, where, i + 1, warps - n);
    }
}

static int by_key(const void *a, const void *b)
{
    const struct plain_state *x = a, *y = b;
    if (x->left != y->left)
        return x->left < y->left ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* The first state with the key. */
static uint32_t plain_find(const struct plain *plain, uint32_t left, uint64_t key)
{
    struct plain_state wanted = {.left = left, .key = key};
    uint32_t low = 0, high = plain->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (by_key(&plain->states[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct plain_step {
    struct plain *plain;
    const uint8_t *from;
    uint8_t to[PLAIN_LENGTH + 1];
    uint32_t left, used[MAKESPAN_TYPES];
    uint32_t best;
};

/* Moves some from instruction i on, and so on; k more in all. */
static void plain_step(struct plain_step *step, uint32_t i, uint32_t k)
{
    struct plain *plain = step->plain;
    const struct makespan_model *model = plain->model;
    if (i == model->length) {
        if (k > 0)
            return;
        uint32_t at = plain_find(plain, step->left, plain_key(plain, step->to));
        if (!plain->known[at])
            REQUIRE(!"a step leads to a state with less work");
        uint32_t value = plain->values[at];
        if (plain->least ? value < step->best : value > step->best)
            step->best = value;
        return;
    }
    uint32_t type = model->string[i];
    for (uint32_t n = 0; n <= k && n <= step->from[i]; n++) {
        if (step->used[type] + n > model->units[type])
            break;
        step->used[type] += n;
        step->to[i] = (uint8_t)(step->to[i] - n);
        step->to[i + 1] = (uint8_t)(step->to[i + 1] + n);
        plain_step(step, i + 1, k - n);
        step->used[type] -= n;
        step->to[i] = (uint8_t)(step->to[i] + n);
        step->to[i + 1] = (uint8_t)(step->to[i + 1] - n);
    }
}

/* Instructions that this state runs in a cycle. */
static uint32_t plain_width(const struct makespan_model *model, const uint8_t *where)
{
    uint32_t ready[MAKESPAN_TYPES] = {0}, sum = 0;
    for (uint32_t i = 0; i < model->length; i++)
        ready[model->string[i]] += where[i];
    for (uint32_t u = 0; u < model->types; u++)
        sum += ready[u] < model->units[u] ? ready[u] : model->units[u];
    return sum < model->sigma ? sum : model->sigma;
}

static uint32_t plain_bound(const struct makespan_model *model, enum sweep_detail detail,
                            bool least)
{
    static struct plain plain;
    uint8_t where[PLAIN_LENGTH + 1];
    plain.model = model;
    plain.detail = detail;
    plain.least = least;
    plain.count = 0;
    memset(plain.known, 0, sizeof plain.known);
    plain_enumerate(&plain, where, 0, model->warps);
    qsort(plain.states, plain.count, sizeof plain.states[0], by_key);
    uint32_t first = 0;
    for (uint32_t i = 0; i < plain.count; i++) {
        const struct plain_state *state = &plain.states[i];
        if (i == 0 || by_key(&plain.states[first], state) != 0) {
            first = i;
            plain.known[first] = true;
            plain.values[first] = state->left == 0 ? 0 : least ? UINT32_MAX : 0;
        }
        if (state->left == 0)
            continue;
        uint32_t width = plain_width(model, state->where);
        struct plain_step step = {.plain = &plain,
                                  .from = state->where,
                                  .left = state->left - width,
                                  .best = least ? UINT32_MAX - 1 : 0};
        memcpy(step.to, state->where, sizeof step.to);
        plain_step(&step, 0, width);
        uint32_t value = step.best + 1;
        if (least ? value < plain.values[first] : value > plain.values[first])
            plain.values[first] = value;
    }
    return plain.values[first]; /* the one with all the work before it is the last */
}

/* ------------------------------------------------------------------ systems */

static struct makespan_model *open_model(const char *kernel, uint32_t warps, uint32_t schedulers,
                                         const gordian_unit *units, size_t count)
{
    struct makespan_model *model = NULL;
    gordian_makespan_problem problem = {.kernel = kernel,
                                        .length = strlen(kernel),
                                        .warps = warps,
                                        .schedulers = schedulers,
                                        .units = units,
                                        .unit_count = count};
    DO(model_open(&model, &problem, NULL, &error));
    REQUIRE(model);
    return model;
}

/* The paper's. */
static struct makespan_model *case_study(uint32_t warps, uint32_t schedulers)
{
    static const gordian_unit units[] = {{.letter = 'L', .units = 1}, {.letter = 'C', .units = 4}};
    return open_model("LLLLLCCCCCCCCCLLCCCCCCCCC", warps, schedulers, units, 2);
}

static struct makespan_model *random_model(struct random *random)
{
    static const char letters[] = "LCSD";
    gordian_unit units[4];
    char kernel[PLAIN_LENGTH + 1];
    uint32_t types = 1 + (uint32_t)random_below(random, 3);
    uint32_t length = 1 + (uint32_t)random_below(random, PLAIN_LENGTH);
    uint32_t warps = 1 + (uint32_t)random_below(random, length > 7 ? 4 : 5);
    char last = letters[random_below(random, types)];
    for (uint32_t i = 0; i < length; i++) {
        if (random_below(random, 2))
            last = letters[random_below(random, types)];
        kernel[i] = last;
    }
    kernel[length] = 0;
    for (uint32_t u = 0; u < 4; u++)
        units[u] =
            (gordian_unit){.letter = letters[u], .units = 1 + (uint32_t)random_below(random, 4)};
    return open_model(kernel, warps, (uint32_t)random_below(random, 6), units, 4);
}

/* Is it a schedule of that length? */
static void check_order(const struct makespan_model *model, uint8_t *order, uint32_t value)
{
    uint32_t *cycles = malloc(model->work * sizeof *cycles), makespan = 0;
    gordian_error error = {0};
    REQUIRE(cycles && order_valid(model, order));
    REQUIRE(schedule_build(model, order, cycles, &makespan) == GORDIAN_OK);
    CHECK_MSG(makespan == value, "%s, %u warps: %u cycles, not %u", model->text, model->warps,
              makespan, value);
    CHECK(schedule_canonical(model, order, cycles) == GORDIAN_OK);
    CHECK_MSG(schedule_check(model, order, cycles, makespan, &error) == GORDIAN_OK, "%s",
              error.message);
    free(cycles);
}

static uint32_t swept(const struct makespan_model *model, enum sweep_detail detail,
                      const struct sweep_options *options, bool *lossless)
{
    struct sweep_options own = *options;
    uint8_t *order = own.order = malloc(model->work);
    REQUIRE(order);
    gordian_allocator memory = memory_allocator(NULL);
    struct sweep_tables *tables = NULL;
    struct sweep_outcome outcome = {0};
    uint64_t states = 0;
    const char *why;
    CHECK(sweep_possible(model, detail, &states, &why));
    DO(sweep_tables_open(&tables, model, detail, &memory, &error));
    REQUIRE(tables);
    DO(sweep_run(gpu, tables, &own, &outcome, &error));
    CHECK(outcome.states == states && !outcome.stopped);
    CHECK(outcome.found == (own.order && tables->lossless));
    if (outcome.found)
        check_order(model, order, outcome.value);
    free(order);
    *lossless = tables->lossless;
    sweep_tables_close(tables);
    return outcome.value;
}

/* ------------------------------------------------------------------ tests */

static void test_sweep(struct random *random, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct makespan_model *model = random_model(random);
        if (model->run_count > SWEEP_RUNS) {
            uint64_t states;
            const char *why = NULL;
            CHECK(!sweep_possible(model, SWEEP_WORK, &states, &why) && why);
            model_close(model);
            continue;
        }
        for (unsigned least = 0; least < 2; least++) {
            uint32_t exact = plain_bound(model, SWEEP_FULL, least);
            for (unsigned detail = 0; detail < SWEEP_DETAILS; detail++) {
                struct sweep_options options = {.least = least,
                                                .lanes = 1u << random_below(random, 6),
                                                .wide = random_below(random, 2)};
                bool lossless;
                uint32_t value = swept(model, detail, &options, &lossless);
                uint32_t wanted = plain_bound(model, detail, least);
                CHECK_MSG(value == wanted, "%s, %u warps, sigma %u, detail %u: %u for %u",
                          model->text, model->warps, model->sigma, detail, value, wanted);
                CHECK(least ? value <= exact : value >= exact);
                CHECK(!lossless || value == exact);
            }
        }
        model_close(model);
    }
}

/* ------------------------------------------------------------------ chains */

/* One chain on the CPU, with what it needs. */
struct reference {
    struct anneal_chain chain;
    uint8_t *buffers;
};

static void reference_open(struct reference *reference, const struct makespan_model *model,
                           const gordian_makespan_options *options, uint64_t number)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct evaluator *evaluator = NULL;
    DO(evaluator_open(&evaluator, model, &memory, &error));
    reference->buffers = memory_alloc(&memory, 3 * (size_t)model->work);
    REQUIRE(evaluator && reference->buffers);
    reference->chain = (struct anneal_chain){.model = model,
                                             .options = options,
                                             .evaluator = evaluator,
                                             .number = number,
                                             .best_order = reference->buffers,
                                             .candidate = reference->buffers + model->work,
                                             .order = reference->buffers + 2 * model->work};
    anneal_chain_begin(&reference->chain);
}

static void reference_run(struct reference *reference, uint64_t steps)
{
    struct anneal_chain *chain = &reference->chain;
    uint64_t end = chain->step + steps;
    while (chain->step < end && !anneal_chain_over(chain))
        anneal_chain_run(chain, end - chain->step);
}

static void reference_close(struct reference *reference)
{
    gordian_allocator memory = memory_allocator(NULL);
    evaluator_close(reference->chain.evaluator);
    memory_free(&memory, reference->buffers);
}

/* Is chain `number` on the device where the CPU's is? */
static bool same_chain(struct gpu_chains *chains, uint32_t number, const struct reference *wanted)
{
    const struct anneal_chain *chain = &wanted->chain;
    const struct chains_head *head = &gpu_chains_heads(chains)[number];
    const uint8_t *order =
        chain->options->published ? chain->order : evaluator_order(chain->evaluator);
    uint8_t *own = malloc(chain->model->work);
    REQUIRE(own);
    DO(gpu_chains_read(chains, number, false, own, &error));
    bool same = memcmp(own, order, chain->model->work) == 0;
    DO(gpu_chains_read(chains, number, true, own, &error));
    same = same && memcmp(own, chain->best_order, chain->model->work) == 0;
    free(own);
    return same && head->random == chain->random.state && head->step == chain->step &&
           head->value == chain->now && head->best == chain->best;
}

/* Step by step what a CPU does, in pieces of any size, wherever places and cells are. */
static void compare_chains(const struct makespan_model *model, gordian_makespan_options *options,
                           uint64_t first, const struct chains_tuning *tuning, uint64_t piece)
{
    struct gpu_chains *chains = NULL;
    struct reference *wanted = calloc(options->chains, sizeof *wanted);
    REQUIRE(wanted);
    for (uint32_t i = 0; i < options->chains; i++)
        reference_open(&wanted[i], model, options, first + i);
    DO(gpu_chains_open(&chains, gpu, model, options, first, tuning, &error));
    REQUIRE(chains);
    for (uint64_t done = 0; done < options->evaluations; done += piece) {
        DO(gpu_chains_advance(chains, piece, &error));
        for (uint32_t i = 0; i < options->chains; i++) {
            reference_run(&wanted[i], piece);
            CHECK_MSG(same_chain(chains, i, &wanted[i]), "%s, %u warps, chain %u after %llu",
                      model->text, model->warps, i, (unsigned long long)wanted[i].chain.step);
        }
    }
    gpu_chains_close(chains);
    for (uint32_t i = 0; i < options->chains; i++)
        reference_close(&wanted[i]);
    free(wanted);
}

static void random_options(struct random *random, gordian_makespan_options *options)
{
    gordian_makespan_options_init(options);
    options->goal =
        random_below(random, 2) ? GORDIAN_MAKESPAN_GOAL_BEST : GORDIAN_MAKESPAN_GOAL_WORST;
    options->seed = random_next(random);
    options->chains = 1 + (uint32_t)random_below(random, 6);
    options->evaluations = 1 + random_below(random, 60);
    options->temperature = (double)random_below(random, 100) / 50;
    options->published = random_below(random, 3) == 0;
    options->start = (gordian_makespan_start)random_below(random, 5);
}

static void test_chains(struct random *random, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct makespan_model *model = random_model(random);
        gordian_makespan_options options;
        random_options(random, &options);
        struct chains_tuning tuning = {.warps = (uint32_t)random_below(random, 4),
                                       .no_shared = random_below(random, 2),
                                       .wide = random_below(random, 2)};
        compare_chains(model, &options, random_below(random, 1000), &tuning,
                       1 + random_below(random, options.evaluations));
        model_close(model);
    }
}

/* The same for the case study, which finds something. */
static void test_long_chains(unsigned evaluations)
{
    for (unsigned schedulers = 0; schedulers <= 4; schedulers += 4) {
        for (unsigned published = 0; published < 2; published++) {
            struct makespan_model *model = case_study(16, schedulers);
            gordian_makespan_options options;
            gordian_makespan_options_init(&options);
            options.chains = 8;
            options.evaluations = evaluations;
            options.published = published;
            compare_chains(model, &options, 0, NULL, evaluations);
            model_close(model);
        }
    }
}

/* The paper's case study, as far as an emulator gets: exact values, and bounds above them. */
static void test_case_study(uint32_t most)
{
    static const struct {
        uint32_t warps, schedulers;
        uint32_t values[SWEEP_DETAILS];
    } rows[] = {
        {1, 0, {25, 25, 25}},   {2, 4, {34, 31, 31}},   {3, 0, {43, 37, 37}},
        {4, 0, {51, 45, 45}},   {5, 0, {60, 58, 57}},   {5, 4, {67, 67, 65}},
        {6, 4, {78, 78, 78}},   {7, 4, {88, 87, 87}},   {7, 0, {79, 77, 77}},
        {8, 4, {99, 99, 98}},   {8, 0, {88, 86, 86}},   {12, 4, {141, 141, 0}},
        {16, 4, {184, 184, 0}}, {16, 0, {162, 160, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (unsigned detail = 0; detail < SWEEP_DETAILS; detail++) {
            uint32_t warps = rows[i].warps, wanted = rows[i].values[detail];
            if (wanted == 0 || warps > most || (detail == SWEEP_FULL && warps == 7 && most == 7))
                continue;
            struct makespan_model *model = case_study(warps, rows[i].schedulers);
            bool lossless;
            uint32_t value = swept(model, detail, &(struct sweep_options){0}, &lossless);
            CHECK_MSG(value == wanted, "%u warps, %u schedulers, detail %u: %u for %u", warps,
                      rows[i].schedulers, detail, value, wanted);
            model_close(model);
        }
    }
}

/* More than a byte holds, and more than two. */
static void test_long(void)
{
    static const gordian_unit units[] = {{.letter = 'L', .units = 1}, {.letter = 'C', .units = 2}};
    char kernel[701];
    bool lossless;
    memset(kernel, 'L', 100);
    kernel[100] = 0;
    struct makespan_model *model = open_model(kernel, 5, 0, units, 2);
    CHECK(swept(model, SWEEP_WORK, &(struct sweep_options){0}, &lossless) == 500 && lossless);
    model_close(model);
    memset(kernel, 'C', 700);
    kernel[700] = 0;
    model = open_model(kernel, 2, 0, units, 2);
    CHECK(swept(model, SWEEP_WORK, &(struct sweep_options){.least = true}, &lossless) == 700);
    model_close(model);
}

static bool stop_at_once(void *context, uint64_t done, uint64_t states)
{
    (*(unsigned *)context)++;
    CHECK(done <= states);
    return false;
}

/* Limits, and every allocation failing once. */
static void test_trouble(void)
{
    static const gordian_unit units[] = {{.letter = 'L', .units = 1}, {.letter = 'C', .units = 2}};
    struct makespan_model *model = open_model("LLLCCCLLLCCC", 4, 0, units, 2);
    struct failing failing = {0};
    gordian_allocator memory = {failing_resize, &failing};
    struct sweep_tables *tables = NULL;
    struct sweep_outcome outcome;
    gordian_error trouble = {0};
    for (size_t n = 1;; n++) {
        failing = (struct failing){.fail_at = n};
        gordian_status status = sweep_tables_open(&tables, model, SWEEP_LARGEST, &memory, &trouble);
        if (status == GORDIAN_OK)
            status = sweep_run(gpu, tables, &(struct sweep_options){0}, &outcome, &trouble);
        bool failed = failing.failures > 0;
        CHECK_MSG(status == (failed ? GORDIAN_STATUS_MEMORY : GORDIAN_OK),
                  "allocation %zu: status %d", n, (int)status);
        sweep_tables_close(tables);
        CHECK(failing.live_blocks == 0);
        if (!failed)
            break;
    }
    memory = memory_allocator(NULL);
    DO(sweep_tables_open(&tables, model, SWEEP_LARGEST, &memory, &error));
    CHECK(sweep_run(gpu, tables, &(struct sweep_options){.max_memory = 5000}, &outcome, &trouble) ==
          GORDIAN_STATUS_MEMORY);
    unsigned asked = 0;
    struct sweep_options options = {.go_on = stop_at_once, .context = &asked};
    DO(sweep_run(gpu, tables, &options, &outcome, &error));
    CHECK(outcome.stopped && asked == 1);
    struct gpu_info info;
    gpu_get_info(gpu, &info);
    uint64_t before = info.memory_free;
    DO(sweep_run(gpu, tables, &(struct sweep_options){0}, &outcome, &error));
    gpu_get_info(gpu, &info);
    CHECK(info.memory_free == before);
    sweep_tables_close(tables);
    model_close(model);
}

/* ------------------------------------------------------------------ the engine */

/* The interval holds the true value, and the schedule is at its end. */
static bool check_result(const struct makespan_model *model,
                         const gordian_makespan_options *options,
                         const struct makespan_result *result, uint32_t exact)
{
    bool worst = options->goal == GORDIAN_MAKESPAN_GOAL_WORST;
    uint32_t end = worst ? result->lower : result->upper;
    gordian_error error = {0};
    CHECK_MSG(result->lower <= exact && exact <= result->upper, "%s, %u warps: %u in %u .. %u",
              model->text, model->warps, exact, result->lower, result->upper);
    CHECK(result->exact == (result->lower == result->upper));
    CHECK_MSG(schedule_check(model, result->order, result->cycles, end, &error) == GORDIAN_OK,
              "%s, %u warps: %s", model->text, model->warps, error.message);
    return result->exact;
}

/* Against the plainest search, and against the chains of a CPU. */
static void test_engine(struct random *random, unsigned count)
{
    unsigned closed = 0;
    for (unsigned i = 0; i < count; i++) {
        struct makespan_model *model = random_model(random);
        gordian_makespan_options options;
        struct makespan_result result, annealed;
        random_options(random, &options);
        options.published = false;
        uint32_t exact = plain_bound(model, SWEEP_FULL, options.goal == GORDIAN_MAKESPAN_GOAL_BEST);
        DO(makespan_cuda_on(gpu, model, &options, &result, &error));
        closed += check_result(model, &options, &result, exact);
        CHECK(strcmp(result.engine, "cuda") == 0 && result.stop == GORDIAN_MAKESPAN_STOP_DONE);
        CHECK(result.exact || model->run_count > SWEEP_RUNS); /* full sweeps find schedules */
        DO(makespan_anneal.run(model, &options, &annealed, &error));
        CHECK(result.exact || options.goal == GORDIAN_MAKESPAN_GOAL_BEST ||
              result.lower == annealed.lower);
        CHECK(result.exact || options.goal == GORDIAN_MAKESPAN_GOAL_WORST ||
              result.upper == annealed.upper);
        makespan_result_free(&result);
        makespan_result_free(&annealed);
        model_close(model);
    }
    CHECK_MSG(closed * 10 >= count * 8, "%u of %u are exact", closed, count);
}

static bool stop_there(void *context, const gordian_makespan_progress *progress)
{
    CHECK(progress->lower <= progress->upper);
    return --*(int *)context > 0;
}

struct log {
    uint32_t best[8], lines, value;
    const gordian_makespan_options *options;
};

static void keep_line(void *context, const gordian_makespan_improvement *found)
{
    struct log *log = context;
    REQUIRE(found->chain < 8);
    CHECK(found->value > log->best[found->chain]);
    CHECK(found->start == anneal_start(log->options, found->chain));
    CHECK((log->best[found->chain] == 0) == (found->step == 0));
    log->best[found->chain] = found->value;
    log->value = found->value > log->value ? found->value : log->value;
    log->lines++;
}

/* What chains find is told, launch by launch. */
static void test_engine_log(void)
{
    struct makespan_model *model = case_study(16, 4);
    gordian_makespan_options options;
    gordian_makespan_options_init(&options);
    options.chains = 8;
    options.evaluations = 60;
    options.improved = keep_line;
    struct log log = {.options = &options};
    options.context = &log;
    struct watch watch;
    struct gpu_chains *chains;
    uint8_t order[400];
    watch_open(&watch, model, &options, NULL);
    DO(gpu_chains_open(&chains, gpu, model, &options, 0, NULL, &error));
    DO(gpu_chains_run(chains, &watch, order, &error));
    uint32_t makespan = 0;
    CHECK(schedule_build(model, order, NULL, &makespan) == GORDIAN_OK && makespan == log.value);
    CHECK(log.lines > 8);
    gpu_chains_close(chains);
    model_close(model);
}

/* Stopped early, there is still an interval and a schedule. */
static void test_engine_limits(const struct makespan_model *model, uint32_t exact)
{
    gordian_makespan_options options;
    struct makespan_result result;
    gordian_error trouble = {0};
    gordian_makespan_options_init(&options);
    options.chains = 4;
    options.evaluations = 100;
    for (int looks = 1; looks < 8; looks++) {
        int left = looks;
        options.go_on = stop_there;
        options.context = &left;
        DO(makespan_cuda_on(gpu, model, &options, &result, &error));
        bool closed = check_result(model, &options, &result, exact);
        CHECK(closed || result.stop == GORDIAN_MAKESPAN_STOP_STOPPED || left > 0);
        makespan_result_free(&result);
    }
    options.go_on = NULL;
    options.max_ns = 1;
    DO(makespan_cuda_on(gpu, model, &options, &result, &error));
    CHECK(check_result(model, &options, &result, exact) ||
          result.stop == GORDIAN_MAKESPAN_STOP_TIME);
    makespan_result_free(&result);
    options.max_ns = 0;
    options.max_memory = 100000; /* enough for the coarsest bound, which is not exact */
    DO(makespan_cuda_on(gpu, model, &options, &result, &error));
    CHECK(!check_result(model, &options, &result, exact));
    CHECK(result.stop == GORDIAN_MAKESPAN_STOP_MEMORY);
    CHECK(result.note[0] && result.most_memory <= 100000);
    makespan_result_free(&result);
    options.max_memory = 1000;
    CHECK(makespan_cuda_on(gpu, model, &options, &result, &trouble) == GORDIAN_STATUS_MEMORY);
    CHECK(result.order == NULL);
    options.max_memory = 0;
    options.chains = 0;
    CHECK(makespan_cuda_on(gpu, model, &options, &result, &trouble) == GORDIAN_STATUS_INPUT);
}

static void test_engine_memory(void)
{
    static const gordian_unit units[] = {{.letter = 'L', .units = 1}, {.letter = 'C', .units = 2}};
    struct failing failing = {0};
    gordian_allocator memory = {failing_resize, &failing};
    gordian_makespan_problem problem = {
        .kernel = "LCCCLCC", .length = 7, .warps = 3, .units = units, .unit_count = 2};
    gordian_makespan_options options;
    gordian_makespan_options_init(&options);
    options.chains = 3;
    options.evaluations = 5;
    for (size_t n = 1;; n++) {
        struct makespan_model *model = NULL;
        struct makespan_result result = {0};
        gordian_error error = {0};
        failing = (struct failing){.fail_at = n};
        gordian_status status = model_open(&model, &problem, &memory, &error);
        if (status == GORDIAN_OK)
            status = makespan_cuda_on(gpu, model, &options, &result, &error);
        bool failed = failing.failures > 0;
        /* Without memory for a sweep it goes on without, and tells. */
        CHECK_MSG(failed ? status == GORDIAN_STATUS_MEMORY || result.note[0] : status == GORDIAN_OK,
                  "allocation %zu: status %d", n, (int)status);
        if (status == GORDIAN_OK)
            makespan_result_free(&result);
        model_close(model);
        CHECK_MSG(failing.live_blocks == 0, "allocation %zu: %zu blocks leaked", n,
                  failing.live_blocks);
        if (!failed)
            break;
    }
}

/* The device fails: the CPU does it, and says so. On the emulator only. */
static void test_engine_failure(const struct makespan_model *model, uint32_t exact)
{
    gordian_makespan_options options;
    gordian_makespan_options_init(&options);
    options.chains = 4;
    options.evaluations = 100;
    setenv("GORDIAN_EMULATE_GPU", "1", 1);
    for (unsigned after = 0; after < 250; after = 2 * after + 1) {
        struct makespan_result result;
        char text[16];
        snprintf(text, sizeof text, "%u", after);
        setenv("GORDIAN_GPU_FAIL_AFTER", text, 1);
        DO(makespan_cuda.run(model, &options, &result, &error));
        check_result(model, &options, &result, exact);
        CHECK_MSG(strstr(result.note, "the device failed"), "after %u: '%s'", after, result.note);
        CHECK(strcmp(result.engine, "exact") == 0);
        makespan_result_free(&result);
    }
    unsetenv("GORDIAN_GPU_FAIL_AFTER");
}

int main(int argc, char **argv)
{
    struct random random;
    unsigned percent = test_scale();
    random_seed(&random, 8);
    gpu = device_open(device_wanted(argc, argv));
    bool device = device_wanted(argc, argv) >= 0, watched = false;
    for (int i = 1; i < argc; i++)
        watched |= strcmp(argv[i], "--watched") == 0; /* by a tool that makes everything slow */
    percent = watched ? 1 : percent;
    test_sweep(&random, 1 + 300 * percent / 100);
    test_case_study(watched ? 2 : device ? 16 : test_is_short() ? 5 : percent < 100 ? 6 : 7);
    test_chains(&random, 1 + 200 * percent / 100);
    test_long_chains(1 + (device ? 2000 : 100) * percent / 100);
    test_engine(&random, 3 + 100 * percent / 100);
    test_engine_log();
    if (!watched) { /* thousands of launches */
        struct makespan_model *model = case_study(5, 0);
        test_long();
        test_trouble();
        test_engine_memory();
        test_engine_limits(model, 57);
        if (!device)
            test_engine_failure(model, 57);
        model_close(model);
    }
    gpu_close(gpu);
    return test_done();
}
