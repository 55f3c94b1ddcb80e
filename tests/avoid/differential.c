/*
 * The differential program of avoidance: random calls on a bank of every engine, compared with a
 * naive bank and checked.
 *
 *     avoid-differential --requests 1000000 --seed 7
 *
 * Many banks, each with its own seed, size and temper; a disagreement ends its bank, is made as
 * short as it gets, and printed.
 */
#include "duel.h"
#include "engines/avoid/cuda/cuda.h"
#include "engines/detect/cuda/cuda.h"
#include "foundation/base/memory.h"
#include "foundation/gpu/gpu.h"
#include "options.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FAILURES_MAX   5
#define SHRINK_SECONDS 20

struct settings {
    const char *engines; /* a list of names; NULL: all */
    uint64_t requests;
    uint32_t processes, resources; /* 0: random */
    uint64_t seed;
    uint64_t only; /* this bank; UINT64_MAX: all */
    const struct avoid_engine *chosen[DUEL_ENGINES];
    size_t chosen_count;
};

/* The steps of a bank, kept to be shortened. */
struct script {
    struct step *steps;
    size_t count, room;
};

struct tally {
    uint64_t banks, failed, largest; /* largest: processes x resources */
    struct duel sum;                 /* its counts */
};

/* ------------------------------------------------------------------ scripts */

static void script_push(struct script *script, const struct step *step, bool copy)
{
    if (script->count == script->room) {
        script->room = script->room * 2 + 64;
        script->steps = realloc(script->steps, script->room * sizeof *script->steps);
    }
    struct step *kept = script->steps ? &script->steps[script->count++] : NULL;
    if (!kept)
        abort();
    *kept = *step;
    if (!copy)
        return;
    kept->wants = malloc((step->count + 1) * sizeof *kept->wants);
    if (!kept->wants)
        abort();
    for (size_t k = 0; k < step->count; k++)
        kept->wants[k] = step->wants[k];
}

static void script_free(struct script *script, bool copies)
{
    for (size_t i = 0; copies && i < script->count; i++)
        free(script->steps[i].wants);
    free(script->steps);
}

static void print_step(const struct step *step)
{
    static const char *const words[STEP_KINDS] = {
        "request", "try",  "acquire", "commit",       "cancel",          "release",
        "exit",    "join", "claims",  "add resource", "remove resource", "units"};
    fprintf(stderr, "    %s process %" PRIu32 " resource %" PRIu32 " units %" PRIu64 ":",
            words[step->kind], step->process, step->resource, step->units);
    for (size_t k = 0; k < step->count; k++)
        fprintf(stderr, " %" PRIu32 "=%" PRIu64, step->wants[k].resource, step->wants[k].units);
    fprintf(stderr, "\n");
}

/* Everything compared after every step: how many steps are taken before the disagreement. */
static size_t replay(const struct duel_options *options, const struct script *script, char *message,
                     size_t size)
{
    struct duel duel;
    bool agree = duel_open(&duel, options);
    size_t i = 0;
    while (agree && i < script->count) {
        /* A shortened script may bring in more than there are ids for. */
        bool fits = (script->steps[i].kind != STEP_JOIN ||
                     gordian_bank_process_limit(duel.banks[0]) < options->processes) &&
                    (script->steps[i].kind != STEP_ADD_RESOURCE ||
                     gordian_bank_resource_limit(duel.banks[0]) < options->resources);
        agree = !fits || (duel_take(&duel, &script->steps[i]) && duel_compare(&duel));
        i++;
    }
    snprintf(message, size, "%s", duel.message);
    duel_close(&duel);
    return agree ? SIZE_MAX : i;
}

static void shrink(const struct duel_options *options, struct script *script, char *message,
                   size_t size)
{
    time_t limit = time(NULL) + SHRINK_SECONDS;
    size_t failed_at = replay(options, script, message, size);
    if (failed_at == SIZE_MAX)
        return;
    script->count = failed_at;
    for (size_t piece = script->count / 2 + 1; piece > 0 && time(NULL) < limit;) {
        bool shortened = false;
        for (size_t at = 0; at < script->count && time(NULL) < limit;) {
            struct script shorter = {0};
            for (size_t i = 0; i < script->count; i++)
                if (i < at || i >= at + piece)
                    script_push(&shorter, &script->steps[i], false);
            failed_at = replay(options, &shorter, message, size);
            if (failed_at == SIZE_MAX) {
                at += piece;
                script_free(&shorter, false);
                continue;
            }
            shorter.count = failed_at;
            free(script->steps);
            *script = shorter;
            shortened = true;
        }
        if (!shortened || piece > 1)
            piece /= 2;
    }
    replay(options, script, message, size);
}

static void report(const struct settings *settings, uint64_t number, const struct duel *duel,
                   const struct script *script)
{
    char message[sizeof duel->message];
    struct script shorter = {0};
    fprintf(stderr,
            "DISAGREEMENT --seed %" PRIu64 " --bank %" PRIu64 " (%" PRIu32 "x%" PRIu32
            ", queue %d, patience %" PRIu32 "), step %zu: %s\n",
            settings->seed, number, duel->options.processes, duel->options.resources,
            duel->options.queue, duel->options.patience, script->count, duel->message);
    print_step(&script->steps[script->count - 1]);
    for (size_t i = 0; i < script->count; i++)
        script_push(&shorter, &script->steps[i], false);
    shrink(&duel->options, &shorter, message, sizeof message);
    fprintf(stderr, "  shortened to %zu steps: %s\n", shorter.count, message);
    for (size_t i = 0; i < shorter.count && shorter.count <= 60; i++)
        print_step(&shorter.steps[i]);
    script_free(&shorter, false);
}

/* ------------------------------------------------------------------ banks */

static uint32_t random_size(struct random *random, uint32_t most)
{
    uint64_t kind = random_below(random, 100);
    uint64_t limit = kind < 65 ? 8 : kind < 90 ? 30 : kind < 98 ? most / 4 : most;
    return 1 + (uint32_t)random_below(random, limit);
}

static struct duel_options make_options(const struct settings *settings, uint64_t number)
{
    static const uint32_t patiences[] = {0, 1, 3, 16};
    struct random random;
    random_seed(&random, settings->seed * 1000003 + number);
    struct duel_options options = {.engine_count = settings->chosen_count};
    memcpy(options.engines, settings->chosen, sizeof options.engines);
    options.seed = random_next(&random);
    options.processes = random_size(&random, 400);
    options.resources = random_size(&random, 200);
    if (random_chance(&random, 1) && random_chance(&random, 20)) {
        options.processes = 400;
        options.resources = 200;
    }
    options.processes = settings->processes ? settings->processes : options.processes;
    options.resources = settings->resources ? settings->resources : options.resources;
    options.queue = random_chance(&random, 50);
    options.patience = patiences[random_below(&random, 4)];
    return options;
}

static bool take(struct duel *duel, struct script *script, const struct step *step)
{
    script_push(script, step, true);
    return duel_take(duel, step);
}

static bool run_steps(struct duel *duel, struct script *script, struct generator *generator,
                      uint64_t requests)
{
    bool agree = true;
    const struct naive *naive = &duel->naive;
    for (uint32_t j = 0; j < naive->resources && agree; j++)
        if (random_chance(&generator->random, 90)) {
            struct step step = {.kind = STEP_ADD_RESOURCE, .wants = generator->wants};
            step.units = 1 + random_below(&generator->random, generator->most);
            step.units += step.units == 0;
            agree = take(duel, script, &step);
        }
    /* Comparing everything takes as long as a few hundred calls of a large bank. */
    unsigned often = naive->processes < 40 ? 10 : 1;
    while (agree && duel->requests < requests) {
        struct step step;
        generator_next(generator, naive, &step);
        agree = take(duel, script, &step);
        if (agree && random_chance(&generator->random, often))
            agree = duel_compare(duel);
    }
    return agree && duel_compare(duel);
}

static void run_bank(const struct settings *settings, struct tally *tally, uint64_t number)
{
    struct duel_options options = make_options(settings, number);
    struct script script = {0};
    struct generator generator;
    struct duel duel;
    uint64_t requests = 100 + 4 * (uint64_t)options.processes;
    bool agree = duel_open(&duel, &options);
    generator_open(&generator, options.seed ^ 5, &duel.naive);
    agree = agree && run_steps(&duel, &script, &generator, requests);
    uint64_t size = (uint64_t)options.processes * options.resources;
    tally->largest = size > tally->largest ? size : tally->largest;
    tally->banks++;
    tally->sum.requests += duel.requests;
    tally->sum.lent += duel.lent;
    tally->sum.unsafe += duel.unsafe;
    tally->sum.shortages += duel.shortages;
    tally->sum.out_of_turn += duel.out_of_turn;
    tally->sum.declined += duel.declined;
    tally->sum.served += duel.served;
    tally->sum.sequences += duel.sequences;
    tally->sum.tried_all += duel.tried_all;
    tally->sum.slacks += duel.slacks;
    if (!agree) {
        tally->failed++;
        if (script.count > 0)
            report(settings, number, &duel, &script);
        else
            fprintf(stderr, "%s\n", duel.message);
    }
    generator_close(&generator);
    duel_close(&duel);
    script_free(&script, true);
}

/* ------------------------------------------------------------------ the command line */

static const char help[] =
    "avoid-differential [options]: a bank of every engine against the naive one\n"
    "  --engine NAME,...   the engines to compare (all that are available)\n"
    "  --requests N        about so many (100000), scaled by the environment's\n"
    "                      GORDIAN_TEST_SCALE (100: percent)\n"
    "  --size random|PxQ   processes x resources (random: 1x1 to 400x200)\n"
    "  --seed S            (1)\n"
    "  --bank N            only this one of the many banks of a run\n";

static bool parse_option(const char *name, const char *value, struct settings *settings)
{
    if (strcmp(name, "--engine") == 0)
        settings->engines = value;
    else if (strcmp(name, "--size") == 0)
        return option_size(value, 5000, &settings->processes, &settings->resources);
    else if (strcmp(name, "--requests") == 0)
        return option_number(value, UINT64_MAX, &settings->requests);
    else if (strcmp(name, "--seed") == 0)
        return option_number(value, UINT64_MAX, &settings->seed);
    else if (strcmp(name, "--bank") == 0)
        return option_number(value, UINT64_MAX, &settings->only);
    else
        return false;
    return true;
}

static void choose_engines(struct settings *settings)
{
    const char *why;
    const struct engine *const *all = avoid_family.engines;
    for (size_t i = 0; all[i] && settings->chosen_count < DUEL_ENGINES; i++)
        if ((!settings->engines || option_lists(settings->engines, all[i]->name)) &&
            engine_usable(all[i], NULL, &why))
            settings->chosen[settings->chosen_count++] = (const struct avoid_engine *)all[i];
}

/* Holding the device keeps its context alive: made anew for every bank, it would take longer than
   the bank's questions. NULL: no GPU is compared. */
static struct gpu *hold_device(const struct settings *settings)
{
    struct gpu *gpu = NULL;
    gordian_allocator memory = memory_allocator(NULL);
    for (size_t i = 0; i < settings->chosen_count; i++)
        if (settings->chosen[i] == &avoid_cuda &&
            gpu_open_default(&gpu, &memory, NULL) != GORDIAN_OK)
            return NULL;
    return gpu;
}

static void print_tally(const struct settings *settings, const struct tally *tally)
{
    const struct duel *sum = &tally->sum;
    printf("%" PRIu64 " requests in %" PRIu64 " banks of up to %" PRIu64 " cells: %" PRIu64
           " lent, %" PRIu64 " unsafe, %" PRIu64 " short, %" PRIu64 " out of turn, %" PRIu64
           " served later, %" PRIu64 " declined; %" PRIu64 " sequences checked, %" PRIu64
           " unsafe ones tried in all orders, %" PRIu64 " slacks; engines",
           sum->requests, tally->banks, tally->largest, sum->lent, sum->unsafe, sum->shortages,
           sum->out_of_turn, sum->served, sum->declined, sum->sequences, sum->tried_all,
           sum->slacks);
    for (size_t i = 0; i < settings->chosen_count; i++)
        printf(" %s", settings->chosen[i]->about.name);
    printf("\n%" PRIu64 " passed, %" PRIu64 " failed\n", tally->banks - tally->failed,
           tally->failed);
}

/* A run in which something never happened has tested nothing of it. */
static bool saw_everything(const struct duel *sum)
{
    return sum->lent > 0 && sum->unsafe > 0 && sum->shortages > 0 && sum->out_of_turn > 0 &&
           sum->served > 0 && sum->declined > 0 && sum->tried_all > 0 && sum->slacks > 0;
}

int main(int argc, char **argv)
{
    struct settings settings = {.requests = 100000, .seed = 1, .only = UINT64_MAX};
    for (int i = 1; i < argc; i += 2)
        if (i + 1 == argc || !parse_option(argv[i], argv[i + 1], &settings)) {
            fputs(help, stderr);
            return 2;
        }
    settings.requests = test_scaled(settings.requests);
    choose_engines(&settings);
    if (settings.chosen_count == 0) {
        fputs("no such engine here\n", stderr);
        return 2;
    }
    struct gpu *held = hold_device(&settings);
    struct tally tally = {0};
    uint64_t number = settings.only == UINT64_MAX ? 0 : settings.only;
    do {
        run_bank(&settings, &tally, number++);
    } while (tally.sum.requests < settings.requests && tally.failed < FAILURES_MAX &&
             settings.only == UINT64_MAX);
    if (held)
        gpu_close(held);
    print_tally(&settings, &tally);
    if (settings.only == UINT64_MAX && !settings.processes && settings.requests >= 1000 &&
        tally.failed == 0 && !saw_everything(&tally.sum)) {
        fputs("something never happened\n", stderr);
        return 1;
    }
    return tally.failed > 0;
}
