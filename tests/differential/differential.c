/*
 * The differential program: random events, every engine against the naive model and thereby
 * against each other, everything that can be asked compared, and timed.
 *
 *     differential --model single --events 1000000 --seed 7
 *
 * Many systems, each with its own seed, size and temper; a disagreement ends its system, is made as
 * short as it gets and written out as a trace.
 */
#include "duel.h"
#include "foundation/base/io/temporary.h"
#include "leaks.h"
#include "options.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MODELS         3
#define FAILURES_MAX   5
#define SHRINK_SECONDS 20
#define LARGE          400 /* from this many processes on, the model judges now and then only */

struct settings {
    bool models[MODELS];
    const char *engines;           /* a list of names; NULL: all */
    uint64_t events;               /* of each model */
    uint32_t processes, resources; /* 0: random */
    uint64_t seed;
    uint64_t only_system; /* UINT64_MAX: all */
    bool time, verbose;
};

/* What has been done for one model. */
struct tally {
    gordian_model model;
    const struct detect_engine *engines[DUEL_ENGINES];
    size_t engine_count;
    uint64_t passed, failed, systems;
    uint64_t blocked, deadlocks, doomed, refused, recoveries;
    uint64_t ns[DUEL_ENGINES];
    uint32_t longest_chain;
};

/* One system of the run. */
struct bout {
    uint64_t number, seed, events;
    uint32_t processes, resources;
    unsigned batch_percent; /* how likely an event goes together with the next */
};

static const char *const model_words[MODELS] = {"single", "multi", "general"};

/* ------------------------------------------------------------------ shortening */

static bool replay(const struct duel_options *options, const struct script *script,
                   size_t *failed_at, char *message, size_t size)
{
    struct duel duel;
    bool agree = duel_open(&duel, options);
    size_t i = 0;
    for (; i < script->count && agree; i++)
        agree = duel_take(&duel, &script->steps[i]) && duel_flush(&duel);
    if (!agree) {
        *failed_at = i;
        snprintf(message, size, "%s", duel.message);
    }
    duel_close(&duel);
    return agree;
}

/* Leaves out ever smaller pieces as long as there is a disagreement; false: there is none when
 * events come one by one. */
static bool shrink(const struct duel_options *options, struct script *script, char *message,
                   size_t size)
{
    size_t failed_at;
    time_t limit = time(NULL) + SHRINK_SECONDS;
    if (replay(options, script, &failed_at, message, size))
        return false;
    script->count = failed_at;
    struct script shorter = {0};
    size_t piece = script->count / 2 + 1;
    while (piece > 0 && time(NULL) < limit) {
        bool shortened = false;
        for (size_t at = 0; at < script->count && time(NULL) < limit;) {
            shorter.count = 0;
            for (size_t i = 0; i < script->count; i++)
                if (i < at || i >= at + piece)
                    script_push(&shorter, &script->steps[i]);
            if (replay(options, &shorter, &failed_at, message, size)) {
                at += piece;
                continue;
            }
            shorter.count = failed_at;
            struct script swap = *script;
            *script = shorter;
            shorter = swap;
            shortened = true;
        }
        if (!shortened || piece > 1)
            piece /= 2;
    }
    script_free(&shorter);
    replay(options, script, &failed_at, message, size);
    return true;
}

static void write_trace(const struct script *script, const char *message)
{
    char path[PATH_MAX];
    gordian_error error = {0};
    int fd;
    if (temporary_file("gordian-differential", "", path, sizeof path, &fd, &error) != GORDIAN_OK) {
        fprintf(stderr, "cannot write a trace: %s\n", error.message);
        return;
    }
    FILE *out = fdopen(fd, "w");
    if (!out) {
        close(fd);
        return;
    }
    script_write(script, out);
    fprintf(out, "# %s\n", message);
    fclose(out);
    fprintf(stderr, "  trace of %zu steps: %s\n", script->count, path);
}

static void report(const struct settings *settings, const struct tally *tally,
                   const struct bout *bout, const struct duel *duel, struct script *script)
{
    fprintf(stderr,
            "DISAGREEMENT --model %s --seed %" PRIu64 " --system %" PRIu64 " (%" PRIu32 "x%" PRIu32
            "), step %zu\n  ",
            model_words[tally->model], settings->seed, bout->number, bout->processes,
            bout->resources, script->count);
    step_print(&script->steps[script->count - 1], stderr);
    fprintf(stderr, "  %s\n", duel->message);

    struct duel_options options = duel->options;
    char message[sizeof duel->message];
    options.thorough = bout->processes < LARGE;
    options.judge_every = 1;
    snprintf(message, sizeof message, "%s", duel->message);
    if (shrink(&options, script, message, sizeof message)) {
        fprintf(stderr, "  shortened: %s\n", message);
        if (script->count <= 40)
            script_write(script, stderr);
    } else {
        fprintf(stderr, "  not seen when events come one by one\n");
    }
    write_trace(script, message);
}

/* ------------------------------------------------------------------ one system */

static bool take(struct duel *duel, struct script *script, const struct settings *settings,
                 struct step *step)
{
    if (settings->verbose)
        step_print(step, stderr);
    bool agree = duel_take(duel, step);
    script_push(script, step); /* after: it now has the ids handed out */
    return agree;
}

/* Processes and resources first; some come later, see the generator. */
static bool set_up(struct duel *duel, struct script *script, const struct settings *settings,
                   const struct bout *bout, struct generator *generator)
{
    bool agree = true;
    for (uint32_t i = 0; random_chance(&generator->random, 97) && i < 50 && agree; i++) {
        struct step step = {.event = {.op = GORDIAN_OP_REQUEST,
                                      .process = i,
                                      .resource = i,
                                      .to = GORDIAN_NONE,
                                      .units = 1}};
        agree = take(duel, script, settings, &step); /* of a system with nobody in it */
    }
    for (size_t i = 0; random_chance(&generator->random, 30) && i < duel->options.engine_count; i++)
        gordian_reserve(duel->systems[i], bout->processes, bout->resources, NULL);
    for (uint32_t q = 0; q < bout->resources && agree; q++) {
        struct step step = {.kind = STEP_ADD_RESOURCE,
                            .value = (int64_t)generator_units(generator)};
        agree = take(duel, script, settings, &step);
    }
    for (uint32_t p = 0; p < bout->processes && agree; p++) {
        struct step step = {.kind = STEP_ADD_PROCESS};
        agree = take(duel, script, settings, &step);
    }
    return agree;
}

static bool run_steps(struct duel *duel, struct script *script, const struct settings *settings,
                      const struct bout *bout, struct generator *generator)
{
    bool agree = set_up(duel, script, settings, bout, generator);
    while (agree && duel->events + duel->expected_count < bout->events) {
        struct step step;
        generator_next(generator, &duel->naive, &step);
        agree = take(duel, script, settings, &step);
        uint64_t events = duel->events + duel->expected_count;
        bool judged = duel->options.judge_every > 1 && events % duel->options.judge_every == 0;
        if (agree && (judged || !random_chance(&generator->random, bout->batch_percent)))
            agree = duel_flush(duel);
    }
    return agree && duel_flush(duel);
}

static void run_bout(const struct settings *settings, struct tally *tally, const struct bout *bout)
{
    bool large = bout->processes >= LARGE;
    struct duel_options options = {
        .engine_count = tally->engine_count,
        .model = tally->model,
        .process_room = bout->processes + (large ? 16 : bout->processes / 4 + 2),
        .resource_room = bout->resources + (large ? 16 : bout->resources / 4 + 4),
        .judge_every = large ? 1000 : 1,
        .batches_only = settings->time,
        .seed = bout->seed ^ 1,
    };
    memcpy(options.engines, tally->engines, sizeof options.engines);
    struct generator generator;
    struct script script = {0};
    struct duel duel;
    generator_start(&generator, bout->seed, tally->model, bout->processes, bout->resources,
                    bout->events);
    bool agree =
        duel_open(&duel, &options) && run_steps(&duel, &script, settings, bout, &generator);
    tally->passed += duel.events;
    tally->blocked += duel.blocked;
    tally->deadlocks += duel.deadlocks;
    tally->doomed += duel.doomed;
    tally->refused += duel.refused;
    tally->recoveries += duel.recoveries;
    if (duel.longest_chain > tally->longest_chain)
        tally->longest_chain = duel.longest_chain;
    for (size_t i = 0; i < tally->engine_count; i++)
        tally->ns[i] += duel.ns[i];
    if (!agree) {
        tally->failed++;
        if (script.count > 0)
            report(settings, tally, bout, &duel, &script);
        else
            fprintf(stderr, "%s\n", duel.message);
    }
    duel_close(&duel);
    script_free(&script);
}

/* ------------------------------------------------------------------ one model */

static uint32_t random_size(struct random *random)
{
    uint64_t kind = random_below(random, 100);
    uint64_t most = kind < 60 ? 8 : kind < 85 ? 30 : kind < 97 ? 100 : 300;
    return 1 + (uint32_t)random_below(random, most);
}

static struct bout make_bout(const struct settings *settings, gordian_model model, uint64_t number)
{
    static const unsigned batch_percents[] = {0, 0, 0, 50, 95};
    struct random random;
    random_seed(&random, settings->seed * 1000003 + number * 3 + (uint64_t)model);
    struct bout bout = {.number = number, .seed = random_next(&random)};
    bout.processes = random_size(&random);
    bout.resources = random_below(&random, 4) ? bout.processes : random_size(&random);
    bout.processes = settings->processes ? settings->processes : bout.processes;
    bout.resources = settings->resources ? settings->resources : bout.resources;
    bout.events = 500 + random_below(&random, 4000) + 10 * bout.processes;
    bout.batch_percent = batch_percents[random_below(&random, 5)];
    if (settings->time)
        bout.batch_percent = 100;
    if (bout.processes >= LARGE) { /* slow to open, and interesting late only */
        bout.batch_percent = 90;
        bout.events = settings->events;
    }
    return bout;
}

/* LMDDA multiplies whole matrices on a release: hopeless beyond this, unless asked for by name. */
static bool too_slow(const struct detect_engine *engine, const struct settings *settings,
                     gordian_model model)
{
    return strcmp(engine->about.name, "matrix") == 0 && model == GORDIAN_MODEL_MULTI_UNIT &&
           settings->processes >= LARGE;
}

static void choose_engines(const struct settings *settings, struct tally *tally)
{
    const char *why;
    for (size_t i = 0; detect_family.engines[i]; i++) {
        const struct detect_engine *engine = (const struct detect_engine *)detect_family.engines[i];
        bool wanted = settings->engines ? option_lists(settings->engines, engine->about.name)
                                        : !too_slow(engine, settings, tally->model);
        if (wanted && engine_usable(&engine->about, &tally->model, &why) &&
            tally->engine_count < DUEL_ENGINES)
            tally->engines[tally->engine_count++] = engine;
    }
}

static void print_tally(const struct settings *settings, const struct tally *tally)
{
    printf("%-7s  %" PRIu64 " events in %" PRIu64 " systems: %" PRIu64 " blocked, %" PRIu64
           " deadlocks, %" PRIu64 " doomed, %" PRIu64 " refused, %" PRIu64
           " victims, chains up to %" PRIu32 "; engines",
           model_words[tally->model], tally->passed, tally->systems, tally->blocked,
           tally->deadlocks, tally->doomed, tally->refused, tally->recoveries,
           tally->longest_chain);
    for (size_t i = 0; i < tally->engine_count; i++)
        printf(" %s", tally->engines[i]->about.name);
    printf("\n");
    for (size_t i = 0; settings->time && i < tally->engine_count && tally->passed > 0; i++)
        printf("%-7s  %-8s %10.1f ns/event\n", model_words[tally->model],
               tally->engines[i]->about.name, (double)tally->ns[i] / (double)tally->passed);
}

static void run_model(const struct settings *settings, struct tally *tally)
{
    choose_engines(settings, tally);
    if (tally->engine_count == 0) {
        printf("%-7s  no engine\n", model_words[tally->model]);
        return;
    }
    uint64_t number = settings->only_system == UINT64_MAX ? 0 : settings->only_system;
    do {
        struct bout bout = make_bout(settings, tally->model, number++);
        run_bout(settings, tally, &bout);
        tally->systems++;
    } while (tally->passed < settings->events && tally->failed < FAILURES_MAX &&
             settings->only_system == UINT64_MAX);
    print_tally(settings, tally);
}

/* ------------------------------------------------------------------ the command line */

static const char help[] =
    "differential [options]: every engine against the naive model on random events\n"
    "  --model single|multi|general|all   what requests may ask for (all)\n"
    "  --engine NAME,...                  the engines to compare (all that support the model)\n"
    "  --events N                         about so many for each model (1000000), scaled by the\n"
    "                                     environment's GORDIAN_TEST_SCALE (100: percent)\n"
    "  --size random|PxQ                  processes x resources (random: 1x1 to 300x300)\n"
    "  --processes P  --resources Q       the same, one by one\n"
    "  --seed S                           (1)\n"
    "  --system N                         only this one of the many systems of a run\n"
    "  --time                             feed batches and print nanoseconds an event\n"
    "  --verbose                          print every step before it is taken\n";

static bool parse_model(const char *text, struct settings *settings)
{
    bool found = false;
    for (int i = 0; i < MODELS; i++) {
        settings->models[i] = strcmp(text, "all") == 0 || strcmp(text, model_words[i]) == 0;
        found |= settings->models[i];
    }
    return found;
}

static bool parse_option(const char *name, const char *value, struct settings *settings)
{
    uint64_t number = 0;
    if (strcmp(name, "--model") == 0)
        return parse_model(value, settings);
    if (strcmp(name, "--size") == 0)
        return option_size(value, 100000, &settings->processes, &settings->resources);
    if (strcmp(name, "--engine") == 0) {
        settings->engines = value;
        return true;
    }
    if (!option_number(value, UINT64_MAX, &number))
        return false;
    if (strcmp(name, "--events") == 0)
        settings->events = number;
    else if (strcmp(name, "--seed") == 0)
        settings->seed = number;
    else if (strcmp(name, "--system") == 0)
        settings->only_system = number;
    else if (strcmp(name, "--processes") == 0 && number > 0 && number <= 100000)
        settings->processes = (uint32_t)number;
    else if (strcmp(name, "--resources") == 0 && number > 0 && number <= 100000)
        settings->resources = (uint32_t)number;
    else
        return false;
    return true;
}

/* -1: go on; else the exit status. */
static int parse(int count, char **arguments, struct settings *settings)
{
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--help") == 0) {
            fputs(help, stdout);
            return 0;
        }
        if (strcmp(arguments[i], "--time") == 0) {
            settings->time = true;
        } else if (strcmp(arguments[i], "--verbose") == 0) {
            settings->verbose = true;
        } else if (i + 1 == count || !parse_option(arguments[i], arguments[i + 1], settings)) {
            fprintf(stderr, "differential: what is '%s'?\n%s", arguments[i], help);
            return 2;
        } else {
            i++;
        }
    }
    const char *scale = getenv("GORDIAN_TEST_SCALE");
    uint64_t percent = 100;
    if (scale && !option_number(scale, 1000000, &percent)) {
        fprintf(stderr, "differential: GORDIAN_TEST_SCALE=%s is not a number\n", scale);
        return 2;
    }
    settings->events = settings->events * percent / 100;
    return -1;
}

int main(int count, char **arguments)
{
    struct settings settings = {
        .models = {true, true, true}, .events = 1000000, .seed = 1, .only_system = UINT64_MAX};
    int status = parse(count, arguments, &settings);
    if (status >= 0)
        return status;
    uint64_t passed = 0, failed = 0;
    for (int i = 0; i < MODELS; i++) {
        struct tally tally = {.model = (gordian_model)i};
        if (!settings.models[i])
            continue;
        run_model(&settings, &tally);
        passed += tally.passed;
        failed += tally.failed;
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
