/* The thesis's GPU-PBA, and its CPU-PBA, against the oracle of avoidance, event by event. */
#include "../alloc/failing.h"
#include "device.h"
#include "foundation/base/random.h"
#include "lab/bench/avoid/avoid.h"
#include "lab/published/avoid/measure_pba.h"
#include "lab/published/avoid/pba.h"

#include <string.h>

static struct gpu *gpu;
static gordian_allocator memory;

/* ------------------------------------------------------------------ a world to try */

/* The same numbers four times: the ledger, the oracle on it, the two that are tested. */
struct trial {
    struct random random;
    struct ledger ledger;
    void *dense;
    struct pba *pba;
    struct pba_cpu *cpu;
    struct pba_state state; /* room to read into */
    uint32_t *need, *units;
    gordian_want *wants;
    unsigned answers[4]; /* how often each came */
};

static void add_process(struct trial *trial, uint32_t resources)
{
    struct ledger *ledger = &trial->ledger;
    size_t count = 0;
    for (uint32_t j = 0; j < resources; j++)
        if (ledger->total[j] > 0 && random_chance(&trial->random, 60))
            trial->wants[count++] = (gordian_want){
                .resource = j, .units = 1 + random_below(&trial->random, ledger->total[j])};
    uint32_t id = ledger_next_process(ledger);
    REQUIRE(ledger_reserve_process(ledger, 0) &&
            ledger_reserve_claims(ledger, id, trial->wants, count));
    ledger_add_process(ledger, NULL, 0);
    ledger_set_claims(ledger, id, trial->wants, count);
}

/* A request at random as a list for the ledger; `most`: the units of a claim, and more now and
 * then. */
static size_t random_request(struct trial *trial, uint32_t process, bool fits)
{
    const struct ledger_row *row = &trial->ledger.rows[process];
    size_t count = 0;
    memset(trial->units, 0, trial->state.resources * sizeof *trial->units);
    for (uint32_t k = 0; k < row->count; k++) {
        uint32_t j = row->claims[k].resource;
        uint64_t most = row->claims[k].need, there = trial->ledger.free[j];
        if (fits && there < most)
            most = there;
        uint64_t units = random_chance(&trial->random, 50) ? 0
                         : random_chance(&trial->random, 40)
                             ? most
                             : random_below(&trial->random, most + 1);
        trial->units[j] = (uint32_t)units;
        if (units > 0)
            trial->wants[count++] = (gordian_want){.resource = j, .units = units};
    }
    if (!fits && random_chance(&trial->random, 10))
        trial->units[random_below(&trial->random, trial->state.resources)] += 50;
    return count;
}

static void fill_ledger(struct trial *trial, uint32_t processes, uint32_t resources, bool lent)
{
    struct ledger *ledger = &trial->ledger;
    ledger_init(ledger, &memory);
    REQUIRE(ledger_reserve(ledger, processes, resources));
    for (uint32_t j = 0; j < resources; j++) {
        REQUIRE(ledger_reserve_resource(ledger, 0));
        ledger_add_resource(ledger, NULL, 0, random_below(&trial->random, 8));
    }
    for (uint32_t i = 0; i < processes; i++)
        add_process(trial, resources);
    /* Without asking whether it is safe: whoever answers must find out. */
    for (uint32_t i = 0; i < processes && lent; i++) {
        size_t count = random_request(trial, i, true);
        if (count > 0)
            ledger_lend(ledger, i, trial->wants, count);
    }
}

static void copy_ledger(const struct ledger *ledger, struct pba_state *state)
{
    size_t cells = (size_t)state->processes * state->resources;
    memset(state->maximum, 0, cells * sizeof *state->maximum);
    memset(state->allocation, 0, cells * sizeof *state->allocation);
    for (uint32_t j = 0; j < state->resources; j++)
        state->available[j] = (uint32_t)ledger->free[j];
    for (uint32_t i = 0; i < state->processes; i++)
        for (uint32_t k = 0; k < ledger->rows[i].count; k++) {
            const struct ledger_claim *claim = &ledger->rows[i].claims[k];
            size_t cell = (size_t)i * state->resources + claim->resource;
            state->maximum[cell] = (uint32_t)(claim->need + claim->held);
            state->allocation[cell] = (uint32_t)claim->held;
        }
}

static void trial_open(struct trial *trial, uint32_t processes, uint32_t resources, bool lent,
                       uint64_t seed)
{
    size_t cells = (size_t)processes * resources;
    *trial = (struct trial){0};
    random_seed(&trial->random, seed);
    DO(pba_state_new(&trial->state, processes, resources, &memory, &error));
    trial->need = calloc(cells, sizeof *trial->need);
    trial->units = calloc(resources, sizeof *trial->units);
    trial->wants = calloc(resources, sizeof *trial->wants);
    fill_ledger(trial, processes, resources, lent);
    copy_ledger(&trial->ledger, &trial->state);
    DO(avoid_dense.open(&trial->dense, &trial->ledger, &error));
    DO(pba_open(&trial->pba, gpu, &trial->state, NULL, &error));
    DO(pba_cpu_open(&trial->cpu, &trial->state, NULL, &error));
    REQUIRE(trial->dense && trial->pba && trial->cpu);
}

static void trial_close(struct trial *trial)
{
    avoid_dense.close(trial->dense);
    pba_close(trial->pba);
    pba_cpu_close(trial->cpu);
    pba_state_free(&trial->state, &memory);
    ledger_free(&trial->ledger);
    free(trial->need);
    free(trial->units);
    free(trial->wants);
}

/* ------------------------------------------------------------------ events */

/* What the request is, by its definition; the oracle says whether it is safe. */
static enum pba_answer expected_answer(struct trial *trial, const struct ledger_change *change)
{
    const struct ledger *ledger = &trial->ledger;
    enum pba_answer answer = PBA_GRANTED;
    for (uint32_t j = 0; j < trial->state.resources; j++) {
        const struct ledger_claim *claim = ledger_find(ledger, change->process, j);
        if (trial->units[j] > (claim ? claim->need : 0))
            return PBA_TOO_MUCH;
        if (trial->units[j] > ledger->free[j])
            answer = PBA_MISSING;
    }
    if (answer == PBA_GRANTED && !avoid_dense.safe(trial->dense, change))
        answer = PBA_UNSAFE;
    return answer;
}

static void ask_all(struct trial *trial)
{
    uint32_t process = (uint32_t)random_below(&trial->random, trial->state.processes);
    size_t count = random_request(trial, process, random_chance(&trial->random, 70));
    struct ledger_change change = {
        .kind = CHANGE_LEND, .process = process, .wants = trial->wants, .count = count};
    enum pba_answer expected = expected_answer(trial, &change), answer = PBA_GRANTED;
    DO(pba_request(trial->pba, process, trial->units, &answer, &error));
    CHECK_MSG(answer == expected, "process %u: %d, the oracle says %d", process, answer, expected);
    answer = pba_cpu_request(trial->cpu, process, trial->units);
    CHECK_MSG(answer == expected, "CPU: process %u: %d, not %d", process, answer, expected);
    trial->answers[expected]++;
    if (expected == PBA_GRANTED && count > 0) {
        ledger_lend(&trial->ledger, process, trial->wants, count);
        avoid_dense.took(trial->dense, &change);
    }
}

static void give_back(struct trial *trial)
{
    uint32_t process = (uint32_t)random_below(&trial->random, trial->state.processes);
    const struct ledger_row *row = &trial->ledger.rows[process];
    size_t count = 0;
    memset(trial->units, 0, trial->state.resources * sizeof *trial->units);
    for (uint32_t k = 0; k < row->count; k++) {
        uint64_t units = random_below(&trial->random, row->claims[k].held + 1);
        trial->units[row->claims[k].resource] = (uint32_t)units;
        if (units > 0)
            trial->wants[count++] =
                (gordian_want){.resource = row->claims[k].resource, .units = units};
    }
    DO(pba_release(trial->pba, process, trial->units, &error));
    pba_cpu_release(trial->cpu, process, trial->units);
    if (count == 0)
        return;
    ledger_return(&trial->ledger, process, trial->wants, count);
    avoid_dense.returned(trial->dense, process, trial->wants, count);
}

/* Every number on the device is the ledger's. */
static void compare_numbers(struct trial *trial)
{
    struct pba_state expected;
    size_t cells = (size_t)trial->state.processes * trial->state.resources;
    DO(pba_state_new(&expected, trial->state.processes, trial->state.resources, &memory, &error));
    copy_ledger(&trial->ledger, &expected);
    DO(pba_read(trial->pba, &trial->state, trial->need, &error));
    CHECK(memcmp(expected.maximum, trial->state.maximum, cells * sizeof(uint32_t)) == 0);
    CHECK(memcmp(expected.allocation, trial->state.allocation, cells * sizeof(uint32_t)) == 0);
    CHECK(memcmp(expected.available, trial->state.available,
                 trial->state.resources * sizeof(uint32_t)) == 0);
    bool needs = true;
    for (size_t i = 0; i < cells; i++)
        needs &= trial->need[i] == expected.maximum[i] - expected.allocation[i];
    CHECK(needs);
    pba_state_free(&expected, &memory);
}

/* ------------------------------------------------------------------ tests */

static void run_trial(uint32_t processes, uint32_t resources, bool lent, unsigned events,
                      uint64_t seed, unsigned answers[4])
{
    struct trial trial;
    trial_open(&trial, processes, resources, lent, seed);
    for (unsigned i = 0; i < events; i++) {
        if (random_chance(&trial.random, 70))
            ask_all(&trial);
        else
            give_back(&trial);
        if (i % 16 == 0)
            compare_numbers(&trial);
    }
    compare_numbers(&trial);
    for (unsigned a = 0; a < 4; a++)
        answers[a] += trial.answers[a];
    trial_close(&trial);
}

static void test_random(unsigned long rounds)
{
    struct random random;
    unsigned answers[4] = {0};
    random_seed(&random, 5);
    for (unsigned long i = 0; i < rounds; i++) {
        uint32_t processes = 1 + (uint32_t)random_below(&random, 12);
        uint32_t resources = 1 + (uint32_t)random_below(&random, i % 8 == 0 ? 70 : 5);
        if (i % 3 != 0)
            gpu_emulator_seed(gpu, i);
        run_trial(processes, resources, random_chance(&random, 50), 40, i, answers);
    }
    gpu_emulator_seed(gpu, 0);
    for (unsigned a = 0; a < 4; a++)
        CHECK_MSG(answers[a] > 0 || rounds < 20, "answer %u never came", a);
}

/* More resources than a block has threads. */
static void test_wide(void)
{
    unsigned answers[4] = {0};
    run_trial(4, 1024, true, 3, 1, answers);
    run_trial(3, 2500, false, 6, 2, answers);
    CHECK(answers[PBA_GRANTED] + answers[PBA_UNSAFE] + answers[PBA_MISSING] > 0);
}

/* The worst case is the state that the bench asks the engines about, and takes as many rounds as
 * it should. */
static void test_worst(uint32_t processes, uint32_t resources)
{
    struct avoid_state bench;
    struct pba_state worst, same;
    struct pba *pba = NULL;
    enum pba_answer answer = PBA_UNSAFE;
    size_t bytes = (size_t)processes * resources * sizeof(uint32_t);
    uint32_t *units = calloc(resources, sizeof *units);
    units[0] = 1;
    DO(avoid_state_build(&bench, AVOID_ALL, processes, resources, 1, &error));
    DO(pba_worst(&worst, processes, resources, &memory, &error));
    DO(pba_state_new(&same, processes, resources, &memory, &error));
    copy_ledger(&bench.ledger, &same);
    CHECK(memcmp(worst.maximum, same.maximum, bytes) == 0);
    CHECK(memcmp(worst.allocation, same.allocation, bytes) == 0);
    CHECK(memcmp(worst.available, same.available, resources * sizeof(uint32_t)) == 0);
    CHECK(bench.change.process == PBA_WORST_PROCESS && bench.want.units == 1);
    DO(pba_open(&pba, gpu, &worst, NULL, &error));
    DO(pba_request(pba, PBA_WORST_PROCESS, units, &answer, &error));
    CHECK(answer == PBA_GRANTED);
    struct pba_effort effort = pba_effort(pba);
    CHECK_MSG(effort.rounds == processes - 2, "%u rounds", effort.rounds);
    /* Two checks, the loan, a launch a round and one for everybody who finishes. */
    CHECK(effort.launches == 3 + (uint64_t)effort.rounds + processes);
    pba_close(pba);
    avoid_state_free(&bench);
    pba_state_free(&worst, &memory);
    pba_state_free(&same, &memory);
    free(units);
}

static void test_measuring(void)
{
    struct gpu *const where[] = {gpu, NULL};
    gordian_error fault = {0};
    struct measure_pba *measure = NULL;
    for (unsigned i = 0; i < 2; i++) {
        struct measure_time time = {0};
        DO(measure_pba_open(&measure, where[i], 12, 9, NULL, &error));
        REQUIRE(measure);
        for (unsigned run = 0; run < 3; run++) {
            DO(measure_pba_run(measure, &time, &error));
            CHECK(time.wall > 0 && (time.device > 0) == (where[i] != NULL));
        }
        measure_pba_close(measure);
    }
    CHECK(measure_pba_open(&measure, gpu, 3, 9, NULL, &fault) == GORDIAN_STATUS_INPUT && !measure);
}

/* A device that is too small, and every allocation of the host's failing once. */
static void test_memory(void)
{
    struct gpu *small = device_open(-1);
    struct measure_pba *measure = NULL;
    struct failing failing = {0};
    gordian_allocator allocator = {failing_resize, &failing};
    gordian_error fault = {0};
    gpu_emulator_memory(small, 10000);
    CHECK(measure_pba_open(&measure, small, 40, 40, NULL, &fault) == GORDIAN_STATUS_MEMORY);
    CHECK(!measure);
    gpu_close(small);
    for (unsigned i = 0; i < 2; i++)
        for (size_t n = 1;; n++) {
            failing = (struct failing){.fail_at = n};
            gordian_status status =
                measure_pba_open(&measure, i ? NULL : gpu, 5, 4, &allocator, &fault);
            bool failed = failing.failures > 0;
            CHECK(status == (failed ? GORDIAN_STATUS_MEMORY : GORDIAN_OK));
            measure_pba_close(measure);
            CHECK_MSG(failing.live_blocks == 0, "allocation %zu leaks", n);
            if (!failed)
                break;
        }
}

int main(int argc, char **argv)
{
    bool watched = false;
    for (int i = 1; i < argc; i++)
        watched |= strcmp(argv[i], "--watched") == 0;
    memory = memory_allocator(NULL);
    gpu = device_open(device_wanted(argc, argv));
    DO(gpu_add_kernels(gpu, &published_kernels, &error));
    test_random(test_scaled(watched ? 300 : 1000));
    test_wide();
    test_worst(4, 2);
    test_worst(17, 33);
    test_worst(watched ? 20 : 60, 70);
    test_measuring();
    test_memory();
    gpu_close(gpu);
    return test_done();
}
