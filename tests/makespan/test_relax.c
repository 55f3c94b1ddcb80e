/* Relaxed models: several instructions of a warp per cycle, latencies within intervals, blocks
 * dealt out. The oracle tries every latency of every instruction of every warp, and then every
 * choice of every cycle; it shares nothing with the library but the model. */
#include "engines/makespan/anneal/anneal.h"
#include "engines/makespan/relax/relax.h"
#include "world.h"

#include <string.h>

/* ------------------------------------------------------------------ systems */

struct system {
    char kernel[16];
    gordian_unit units[3];
    uint32_t warps, schedulers, issue;
};

static struct makespan_model *open_system(const struct system *system)
{
    gordian_makespan_problem problem = {.kernel = system->kernel,
                                        .length = strlen(system->kernel),
                                        .warps = system->warps,
                                        .schedulers = system->schedulers,
                                        .issue = system->issue,
                                        .units = system->units,
                                        .unit_count = 3};
    struct makespan_model *model = NULL;
    gordian_error error = {0};
    gordian_status status = model_open(&model, &problem, NULL, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    REQUIRE(status == GORDIAN_OK);
    return model;
}

static struct system random_system(struct random *random, uint32_t most_warps, uint32_t most_length)
{
    struct system system = {.warps = 1 + (uint32_t)random_below(random, most_warps),
                            .issue = 1 + (uint32_t)random_below(random, 3),
                            .schedulers = (uint32_t)random_below(random, 4)};
    uint32_t length = 1 + (uint32_t)random_below(random, most_length);
    for (uint32_t i = 0; i < length; i++)
        system.kernel[i] = "LCS"[random_below(random, 3)];
    for (uint32_t u = 0; u < 3; u++) {
        uint32_t least = random_chance(random, 75) ? 1 : 2;
        system.units[u] = (gordian_unit){
            .letter = "LCS"[u], .units = 1 + (uint32_t)random_below(random, 3), .latency = least};
        if (random_chance(random, 40))
            system.units[u].latency_most = least + (uint32_t)random_below(random, 3);
    }
    return system;
}

/* ------------------------------------------------------------------ the oracle */

#define MOST_PLACES 20000u

/* One cycle at hand. */
struct cycle {
    uint32_t at[8], next[8], ran[8], used[3], taken;
};

struct oracle {
    const struct system *system;
    uint32_t letters;                  /* of the kernel */
    uint32_t cycles[8][16];            /* of each warp and letter: its latency in this try */
    uint32_t length[8];                /* pieces of each warp */
    uint8_t unit[8][64], first[8][64]; /* of each piece */
    struct cycle now;
    uint16_t longest[MOST_PLACES], shortest[MOST_PLACES]; /* from each place, + 1; 0: not known */
    uint32_t worst, best;
};

static uint32_t unit_of(const struct oracle *oracle, char letter)
{
    uint32_t u = 0;
    while (oracle->system->units[u].letter != letter)
        u++;
    return u;
}

static size_t place_of(const struct oracle *oracle, const uint32_t *at)
{
    size_t place = 0;
    for (uint32_t w = 0; w < oracle->system->warps; w++)
        place = place * (oracle->length[w] + 1) + at[w];
    return place;
}

static void from_here(struct oracle *oracle, const uint32_t *at, uint32_t *longest,
                      uint32_t *shortest);

/* Is there a piece that could have run besides? */
static bool something_fits(const struct oracle *oracle)
{
    const struct system *system = oracle->system;
    for (uint32_t w = 0; w < system->warps; w++) {
        uint32_t piece = oracle->now.next[w], ran = oracle->now.ran[w];
        if (piece == oracle->length[w])
            continue;
        uint32_t u = oracle->unit[w][piece];
        if (oracle->now.used[u] == system->units[u].units)
            continue;
        if (ran == 0 && (!system->schedulers || oracle->now.taken < system->schedulers))
            return true;
        if (ran > 0 && ran < system->issue && oracle->first[w][piece])
            return true;
    }
    return false;
}

static void choose_from(struct oracle *oracle, uint32_t w, uint32_t *longest, uint32_t *shortest)
{
    const struct system *system = oracle->system;
    if (w == system->warps) {
        uint32_t more_longest, more_shortest;
        if (something_fits(oracle))
            return;
        struct cycle saved = oracle->now;
        from_here(oracle, saved.next, &more_longest, &more_shortest);
        oracle->now = saved;
        *longest = more_longest + 1 > *longest ? more_longest + 1 : *longest;
        *shortest = more_shortest + 1 < *shortest ? more_shortest + 1 : *shortest;
        return;
    }
    /* None of this warp, one, two, ... */
    uint32_t taken = 0;
    oracle->now.next[w] = oracle->now.at[w];
    oracle->now.ran[w] = 0;
    for (;;) {
        choose_from(oracle, w + 1, longest, shortest);
        uint32_t piece = oracle->now.next[w];
        bool may =
            piece < oracle->length[w] && oracle->now.ran[w] < system->issue &&
            (oracle->now.ran[w] == 0 ? !system->schedulers || oracle->now.taken < system->schedulers
                                     : oracle->first[w][piece]);
        if (!may ||
            oracle->now.used[oracle->unit[w][piece]] == system->units[oracle->unit[w][piece]].units)
            break;
        oracle->now.used[oracle->unit[w][piece]]++;
        oracle->now.taken += oracle->now.ran[w] == 0;
        oracle->now.ran[w]++;
        oracle->now.next[w]++;
        taken++;
    }
    for (; taken > 0; taken--)
        oracle->now.used[oracle->unit[w][--oracle->now.next[w]]]--;
    oracle->now.taken -= oracle->now.ran[w] > 0;
    oracle->now.ran[w] = 0;
}

static void from_here(struct oracle *oracle, const uint32_t *at, uint32_t *longest,
                      uint32_t *shortest)
{
    size_t place = place_of(oracle, at);
    bool done = true;
    for (uint32_t w = 0; w < oracle->system->warps; w++)
        done = done && at[w] == oracle->length[w];
    if (!oracle->longest[place]) {
        uint32_t most = 0, least = done ? 0 : 10000;
        memcpy(oracle->now.at, at, oracle->system->warps * sizeof *at);
        memset(oracle->now.used, 0, sizeof oracle->now.used);
        oracle->now.taken = 0;
        if (!done)
            choose_from(oracle, 0, &most, &least);
        oracle->longest[place] = (uint16_t)(most + 1);
        oracle->shortest[place] = (uint16_t)(least + 1);
    }
    *longest = oracle->longest[place] - 1u;
    *shortest = oracle->shortest[place] - 1u;
}

/* With these latencies. */
static void try_latencies(struct oracle *oracle)
{
    uint32_t start[8] = {0}, longest, shortest;
    for (uint32_t w = 0; w < oracle->system->warps; w++) {
        oracle->length[w] = 0;
        for (uint32_t i = 0; i < oracle->letters; i++) {
            for (uint32_t c = 0; c < oracle->cycles[w][i]; c++) {
                uint32_t piece = oracle->length[w]++;
                oracle->unit[w][piece] = (uint8_t)unit_of(oracle, oracle->system->kernel[i]);
                oracle->first[w][piece] = c == 0;
            }
        }
    }
    memset(oracle->longest, 0, sizeof oracle->longest);
    from_here(oracle, start, &longest, &shortest);
    oracle->worst = longest > oracle->worst ? longest : oracle->worst;
    oracle->best = shortest < oracle->best ? shortest : oracle->best;
}

static void all_latencies(struct oracle *oracle, uint32_t w, uint32_t i)
{
    if (w == oracle->system->warps) {
        try_latencies(oracle);
        return;
    }
    if (i == oracle->letters) {
        all_latencies(oracle, w + 1, 0);
        return;
    }
    const gordian_unit *unit = &oracle->system->units[unit_of(oracle, oracle->system->kernel[i])];
    uint32_t most = unit->latency_most ? unit->latency_most : unit->latency;
    for (oracle->cycles[w][i] = unit->latency; oracle->cycles[w][i] <= most; oracle->cycles[w][i]++)
        all_latencies(oracle, w, i + 1);
}

/* How much there is to try: vectors of latencies, and places of the longest. */
static double effort_of(const struct system *system, double *places)
{
    double vectors = 1, length = 0;
    *places = 1;
    for (const char *at = system->kernel; *at; at++) {
        const gordian_unit *unit = system->units;
        while (unit->letter != *at)
            unit++;
        uint32_t most = unit->latency_most ? unit->latency_most : unit->latency;
        vectors *= most - unit->latency + 1;
        length += most;
    }
    double all = 1;
    for (uint32_t w = 0; w < system->warps; w++) {
        all *= vectors;
        *places *= length + 1;
    }
    return all;
}

static void ask_oracle(const struct system *system, uint32_t *worst, uint32_t *best)
{
    struct oracle *oracle = calloc(1, sizeof *oracle);
    REQUIRE(oracle != NULL);
    oracle->system = system;
    oracle->letters = (uint32_t)strlen(system->kernel);
    oracle->best = UINT32_MAX;
    all_latencies(oracle, 0, 0);
    *worst = oracle->worst;
    *best = oracle->best;
    free(oracle);
}

/* ------------------------------------------------------------------ against it */

static uint32_t solve(const struct makespan_model *model, gordian_makespan_goal goal)
{
    gordian_makespan_options options;
    struct makespan_result result;
    gordian_error error = {0};
    gordian_makespan_options_init(&options);
    options.goal = goal;
    options.chains = 2;
    options.evaluations = 50;
    gordian_status status = makespan_relax.run(model, &options, &result, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    REQUIRE(status == GORDIAN_OK);
    struct relax_schedule schedule = {result.count, result.order, result.pieces, result.cycles, 0};
    schedule.makespan = goal == GORDIAN_MAKESPAN_GOAL_WORST ? result.lower : result.upper;
    CHECK(relax_check(model, &schedule, &error) == GORDIAN_OK);
    CHECK(result.exact && result.lower == result.upper);
    uint32_t value = result.lower;
    makespan_result_free(&result);
    return value;
}

static void compare(const struct system *system)
{
    struct makespan_model *model = open_system(system);
    uint32_t worst, best;
    ask_oracle(system, &worst, &best);
    uint32_t got_worst = solve(model, GORDIAN_MAKESPAN_GOAL_WORST);
    uint32_t got_best = solve(model, GORDIAN_MAKESPAN_GOAL_BEST);
    CHECK_MSG(got_worst == worst && got_best == best,
              "%s x %u, issue %u, %u schedulers: %u to %u, not %u to %u", system->kernel,
              system->warps, system->issue, system->schedulers, got_best, got_worst, best, worst);
    CHECK_MSG(model_upper_bound(model) >= worst, "%s x %u, issue %u, %u schedulers: %u above %u",
              system->kernel, system->warps, system->issue, system->schedulers, worst,
              model_upper_bound(model));
    CHECK_MSG(model_lower_bound(model) <= best, "%s x %u, issue %u, %u schedulers: %u below %u",
              system->kernel, system->warps, system->issue, system->schedulers, best,
              model_lower_bound(model));
    model_close(model);
}

static void test_oracle(void)
{
    struct random random;
    unsigned long wanted = 50 * test_scale(), tried = 0, varied = 0, several = 0;
    random_seed(&random, 77);
    while (tried < wanted) {
        struct system system = random_system(&random, 4, 5);
        double places, vectors = effort_of(&system, &places);
        if (places > MOST_PLACES || vectors * places > 60000)
            continue;
        compare(&system);
        tried++;
        varied += vectors > 1;
        several += system.issue > 1;
    }
    CHECK(varied * 4 > wanted && several * 3 > wanted);
}

/* The plain model is a relaxed one of which nothing is relaxed. */
static void test_plain(void)
{
    struct random random;
    random_seed(&random, 4);
    for (unsigned long n = 0; n < test_scale() + 5; n++) {
        struct makespan_model *model = random_model(&random, 4, 6);
        for (unsigned goal = 0; goal < 2; goal++) {
            gordian_makespan_options options;
            struct makespan_result result;
            gordian_makespan_options_init(&options);
            options.threads = 1;
            options.goal = goal ? GORDIAN_MAKESPAN_GOAL_BEST : GORDIAN_MAKESPAN_GOAL_WORST;
            REQUIRE(makespan_exact.run(model, &options, &result, NULL) == GORDIAN_OK);
            CHECK(result.exact && result.lower == solve(model, options.goal));
            makespan_result_free(&result);
        }
        model_close(model);
    }
}

/* ------------------------------------------------------------------ strings */

struct strings {
    struct makespan_model *model;
    struct relax_buffers *room;
    struct relax_plan plan;
    struct relax_schedule schedule;
    uint8_t left[8];
    uint32_t worst, best;
    uint64_t count;
};

static void all_strings(struct strings *strings, uint32_t at)
{
    const struct makespan_model *model = strings->model;
    if (at == model->work) {
        uint32_t makespan = relax_build(strings->room, &strings->plan, &strings->schedule);
        CHECK(relax_check(model, &strings->schedule, NULL) == GORDIAN_OK);
        relax_sort(strings->room, &strings->schedule);
        CHECK(relax_check(model, &strings->schedule, NULL) == GORDIAN_OK);
        strings->worst = makespan > strings->worst ? makespan : strings->worst;
        strings->best = makespan < strings->best ? makespan : strings->best;
        strings->count++;
        return;
    }
    for (uint32_t w = 0; w < model->warps; w++) {
        if (strings->left[w] == 0)
            continue;
        strings->left[w]--;
        strings->plan.order[at] = (uint8_t)w;
        all_strings(strings, at + 1);
        strings->left[w]++;
    }
}

/* Exactly the work-conserving schedules come of strings: all that come are, and the longest and the
 * shortest of all come. Latencies do not vary here. */
static void test_strings(void)
{
    struct random random;
    uint64_t count = 0, wanted = 1000 * (uint64_t)test_scale();
    random_seed(&random, 12);
    while (count < wanted) {
        struct system system = random_system(&random, 3, 4);
        for (uint32_t u = 0; u < 3; u++)
            system.units[u].latency_most = 0;
        struct makespan_model *model = open_system(&system);
        if (model->work <= 9) {
            uint8_t order[16], skips[16] = {0}, warps[16];
            uint32_t pieces[16], cycles[16], worst, best;
            struct strings strings = {.model = model,
                                      .plan = {order, skips},
                                      .schedule = {0, warps, pieces, cycles, 0},
                                      .best = UINT32_MAX};
            memset(strings.left, (int)model->length, sizeof strings.left);
            REQUIRE(!relax_buffers_open(&strings.room, model, &model->memory, NULL));
            all_strings(&strings, 0);
            ask_oracle(&system, &worst, &best);
            CHECK(strings.worst == worst && strings.best == best);
            relax_buffers_close(strings.room);
            count += strings.count;
        }
        model_close(model);
    }
}

/* ------------------------------------------------------------------ the checker */

/* A schedule with something wrong is found out: whatever is changed in it, the check says no, or it
 * is another schedule that a string builds. */
static void test_checker(void)
{
    struct random random;
    unsigned long refused = 0, tried = 0;
    random_seed(&random, 31);
    for (unsigned long n = 0; n < 20 * test_scale(); n++) {
        struct system system = random_system(&random, 3, 4);
        struct makespan_model *model = open_system(&system);
        uint8_t order[256], skips[256] = {0}, warps[256];
        uint32_t pieces[256], cycles[256];
        struct relax_plan plan = {order, skips};
        struct relax_schedule schedule = {0, warps, pieces, cycles, 0};
        struct relax_buffers *room;
        REQUIRE(model->work <= 256 && !relax_buffers_open(&room, model, &model->memory, NULL));
        order_fill(model, ORDER_RANDOM, &random, order);
        relax_build(room, &plan, &schedule);
        CHECK(relax_check(model, &schedule, NULL) == GORDIAN_OK);
        uint32_t i = (uint32_t)random_below(&random, schedule.count);
        /* Later by one: somebody could have run. */
        cycles[i]++;
        schedule.makespan = 0;
        for (uint32_t k = 0; k < schedule.count; k++)
            schedule.makespan = cycles[k] >= schedule.makespan ? cycles[k] + 1 : schedule.makespan;
        tried++;
        bool wrong = relax_check(model, &schedule, NULL) == GORDIAN_STATUS_INPUT;
        refused += wrong;
        /* What it lets pass is built by its own string. */
        if (!wrong) {
            relax_sort(room, &schedule);
            uint32_t before[256], makespan = schedule.makespan, count = schedule.count;
            memcpy(before, cycles, sizeof before);
            memcpy(order, warps, count);
            CHECK(count == model->work && relax_build(room, &plan, &schedule) == makespan);
            relax_sort(room, &schedule);
            CHECK(memcmp(before, cycles, count * sizeof *before) == 0);
        }
        relax_buffers_close(room);
        model_close(model);
    }
    CHECK_MSG(refused * 2 > tried, "%lu of %lu", refused, tried);
}

/* ------------------------------------------------------------------ by hand */

static uint32_t value_of(const char *kernel, const gordian_unit *units, uint32_t warps,
                         uint32_t schedulers, uint32_t issue, gordian_makespan_goal goal)
{
    struct system system = {.warps = warps, .schedulers = schedulers, .issue = issue};
    snprintf(system.kernel, sizeof system.kernel, "%s", kernel);
    memcpy(system.units, units, sizeof system.units);
    struct makespan_model *model = open_system(&system);
    uint32_t value = solve(model, goal);
    model_close(model);
    return value;
}

static void test_by_hand(void)
{
    gordian_unit units[3] = {
        {.letter = 'L', .units = 1}, {.letter = 'C', .units = 1}, {.letter = 'S', .units = 2}};
    const gordian_makespan_goal worst = GORDIAN_MAKESPAN_GOAL_WORST;
    /* A warp alone: LC is two cycles, or one with two at a time; LL needs the unit twice. */
    CHECK(value_of("LC", units, 1, 0, 1, worst) == 2);
    CHECK(value_of("LC", units, 1, 0, 2, worst) == 1);
    CHECK(value_of("LL", units, 1, 0, 2, worst) == 2);
    CHECK(value_of("SSS", units, 1, 0, 2, worst) == 2);
    /* The pieces of an instruction do not run at once; the last may be joined by what follows. */
    units[2].latency = 3;
    CHECK(value_of("S", units, 1, 0, 2, worst) == 3);
    CHECK(value_of("SC", units, 1, 0, 2, worst) == 3);
    CHECK(value_of("CS", units, 1, 0, 2, worst) == 3);
    units[2].latency = 1;
    /* Schedulers are for warps: one scheduler, two warps of LC, two at a time: two cycles. */
    CHECK(value_of("LC", units, 2, 1, 2, worst) == 2);
    /* Two at a time may be worse than one. */
    units[2].units = 3;
    CHECK(value_of("SSS", units, 3, 0, 1, worst) == 3 &&
          value_of("SSS", units, 3, 0, 2, worst) == 4);
    /* And so may be latencies between the ends of their interval. */
    units[2].latency = 3;
    CHECK(value_of("LLSL", units, 2, 0, 1, worst) == 8);
    units[2].latency = 1;
    units[2].latency_most = 3;
    CHECK(value_of("LLSL", units, 2, 0, 1, worst) == 9);
    units[2].latency_most = 0;
    CHECK(value_of("LLSL", units, 2, 0, 1, worst) < 8);
    /* An interval: from the shortest to the longest. */
    units[0].latency_most = 4;
    CHECK(value_of("LC", units, 1, 0, 1, worst) == 5);
    CHECK(value_of("LC", units, 1, 0, 1, GORDIAN_MAKESPAN_GOAL_BEST) == 2);
}

/* ------------------------------------------------------------------ blocks */

/* All ways to deal them out; of each the worst and the best of its fullest. */
static void deal_rest(uint32_t left, uint32_t multiprocessors, uint32_t resident, uint32_t so_far,
                      uint32_t *most, uint32_t *least)
{
    if (multiprocessors == 0) {
        if (left == 0) {
            *most = so_far > *most ? so_far : *most;
            *least = so_far < *least ? so_far : *least;
        }
        return;
    }
    for (uint32_t own = 0; own <= left && own <= resident; own++)
        deal_rest(left - own, multiprocessors - 1, resident, own > so_far ? own : so_far, most,
                  least);
}

/* The makespan of all multiprocessors is the longest of theirs: with values of each number of
 * blocks by the oracle, the worst and the best over all dealings are those of gordian_makespan_
 * fullest. */
static void test_blocks(void)
{
    struct random random;
    unsigned long tried = 0;
    random_seed(&random, 40);
    while (tried < test_scale() / 2 + 5) {
        struct system system = random_system(&random, 2, 3);
        double places, block = system.warps;
        uint32_t worst[5] = {0}, best[5] = {0}, most_blocks = 4 / system.warps;
        system.warps *= most_blocks;
        double vectors = effort_of(&system, &places);
        if (vectors * places > 60000 || places > MOST_PLACES)
            continue;
        tried++;
        for (uint32_t blocks = 1; blocks <= most_blocks; blocks++) {
            system.warps = (uint32_t)block * blocks;
            ask_oracle(&system, &worst[blocks], &best[blocks]);
            CHECK(worst[blocks] >= worst[blocks - 1] && best[blocks] >= best[blocks - 1]);
        }
        for (uint32_t blocks = 1; blocks <= 6; blocks++) {
            for (uint32_t n = 1; n <= 3; n++) {
                for (uint32_t resident = 0; resident <= most_blocks; resident++) {
                    gordian_makespan_dealing dealing = {blocks, n, resident};
                    uint32_t even = (blocks + n - 1) / n, most = 0, least = UINT32_MAX, got;
                    gordian_status status =
                        gordian_makespan_fullest(&dealing, GORDIAN_MAKESPAN_GOAL_WORST, &got, NULL);
                    CHECK((status == GORDIAN_OK) == (resident == 0 || resident >= even));
                    if (status != GORDIAN_OK || (resident ? resident : even) > most_blocks)
                        continue;
                    deal_rest(blocks, n, resident ? resident : even, 0, &most, &least);
                    CHECK(worst[got] == worst[most]);
                    CHECK(!gordian_makespan_fullest(&dealing, GORDIAN_MAKESPAN_GOAL_BEST, &got,
                                                    NULL));
                    CHECK(best[got] == best[least]);
                }
            }
        }
    }
}

/* ------------------------------------------------------------------ the rest */

/* Engines that know the plain model only say so; large systems have an interval. */
static void test_engines(void)
{
    gordian_unit units[2] = {{.letter = 'L', .units = 1, .latency = 1, .latency_most = 8},
                             {.letter = 'C', .units = 4}};
    gordian_makespan_problem problem = {.kernel = "LLLLLCCCCCCCCCLLCCCCCCCCC",
                                        .length = 25,
                                        .warps = 16,
                                        .schedulers = 4,
                                        .issue = 2,
                                        .units = units,
                                        .unit_count = 2};
    gordian_makespan *makespan;
    gordian_makespan_options options;
    gordian_makespan_answer answer;
    gordian_error error = {0};
    REQUIRE(gordian_makespan_open(&makespan, &problem, NULL, &error) == GORDIAN_OK);
    gordian_makespan_options_init(&options);
    options.evaluations = 200;
    for (unsigned i = 0; i < 3; i++) {
        options.engine = (const char *[]){"exact", "anneal", "cuda"}[i];
        CHECK(gordian_makespan_solve(makespan, &options, &answer, &error) ==
              GORDIAN_STATUS_UNAVAILABLE);
    }
    options.engine = "auto";
    options.max_ns = 2000000000;
    REQUIRE(gordian_makespan_solve(makespan, &options, &answer, &error) == GORDIAN_OK);
    CHECK(strcmp(answer.engine, "relax") == 0 && answer.lower < answer.upper && !answer.exact);
    CHECK(!gordian_makespan_check_pieces(makespan, answer.witness, answer.pieces, answer.cycles,
                                         answer.witness_count, &error));
    CHECK(gordian_makespan_lp(makespan, GORDIAN_MAKESPAN_GOAL_WORST, NULL, &error) ==
          GORDIAN_STATUS_UNAVAILABLE);
    gordian_makespan_close(makespan);
    problem.issue = 5;
    CHECK(gordian_makespan_open(&makespan, &problem, NULL, &error) == GORDIAN_STATUS_INPUT);
    problem.issue = 1;
    units[0].latency = 9;
    CHECK(gordian_makespan_open(&makespan, &problem, NULL, &error) == GORDIAN_STATUS_INPUT);
}

int main(void)
{
    test_by_hand();
    test_oracle();
    test_plain();
    test_strings();
    test_checker();
    test_blocks();
    test_engines();
    return test_done();
}
