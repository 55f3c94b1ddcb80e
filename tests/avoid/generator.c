#include "generator.h"

#include <stdlib.h>

#define AT(table, i, j) ((table)[(size_t)(i)*naive->resources + (j)])

void generator_open(struct generator *generator, uint64_t seed, const struct naive *naive)
{
    static const uint64_t most[] = {1, 2, 4, 10, 10, 1000, UINT64_C(1) << 40, UINT64_MAX};
    struct random *random = &generator->random;
    random_seed(random, seed);
    generator->density = 5 + (unsigned)random_below(random, 96);
    generator->greed = 20 + (unsigned)random_below(random, 81);
    generator->haste = 40 + (unsigned)random_below(random, 40);
    generator->many = 1 + (unsigned)random_below(random, 5);
    if (random_chance(random, 10))
        generator->many = naive->resources;
    generator->most = most[random_below(random, 8)];
    generator->population = 1 + naive->processes * 3 / 4;
    generator->wants = malloc((2 * (size_t)naive->resources + 4) * sizeof *generator->wants);
    generator->candidates =
        malloc((naive->processes + naive->resources) * sizeof *generator->candidates);
    if (!generator->wants || !generator->candidates)
        abort();
}

void generator_close(struct generator *generator)
{
    free(generator->wants);
    free(generator->candidates);
}

/* Up to `most`, small numbers more often. At least 1 unless `most` is 0. */
static uint64_t some_units(struct random *random, uint64_t most)
{
    if (most == 0)
        return 0;
    if (random_chance(random, 25))
        return most;
    uint64_t range = random_chance(random, 50) ? most : most / 2 + 1;
    return 1 + random_below(random, range);
}

enum choice { ANYBODY, RUNNING, WAITING, ON_TRIAL };

static bool is_meant(const struct naive *naive, uint32_t process, enum choice choice)
{
    bool waits = naive->waits[process], on_trial = naive->on_trial[process];
    return naive->is_process[process] &&
           (choice == ANYBODY || (choice == WAITING && waits) || (choice == ON_TRIAL && on_trial) ||
            (choice == RUNNING && !waits && !on_trial));
}

static bool is_one(const struct naive *naive, uint32_t process, enum choice choice)
{
    return process < naive->processes && is_meant(naive, process, choice);
}

static uint32_t some_process(struct generator *generator, const struct naive *naive,
                             enum choice choice)
{
    uint32_t count = 0;
    if (random_chance(&generator->random, 5))
        choice = ANYBODY;
    for (uint32_t i = 0; i < naive->processes; i++)
        if (is_meant(naive, i, choice))
            generator->candidates[count++] = i;
    if (count == 0 || random_chance(&generator->random, 1)) /* perhaps nobody */
        return (uint32_t)random_below(&generator->random, naive->processes + 2);
    return generator->candidates[random_below(&generator->random, count)];
}

static uint32_t some_resource(struct generator *generator, const struct naive *naive)
{
    uint32_t count = 0;
    for (uint32_t j = 0; j < naive->resources; j++)
        if (naive->is_resource[j])
            generator->candidates[count++] = j;
    if (count == 0 || random_chance(&generator->random, 1))
        return (uint32_t)random_below(&generator->random, naive->resources + 2);
    return generator->candidates[random_below(&generator->random, count)];
}

static void push(struct generator *generator, struct step *step, uint32_t resource, uint64_t units)
{
    step->wants = generator->wants;
    step->wants[step->count++] = (gordian_want){.units = units, .resource = resource};
}

/* Splits, turns round or spoils the wants, now and then. */
static void disturb(struct generator *generator, const struct naive *naive, struct step *step)
{
    struct random *random = &generator->random;
    if (step->count > 0 && random_chance(random, 10)) {
        size_t k = random_below(random, step->count);
        uint64_t part = step->wants[k].units / 2;
        step->wants[k].units -= part;
        push(generator, step, step->wants[k].resource, part ? part : 1);
    }
    if (step->count > 1 && random_chance(random, 30)) {
        size_t a = random_below(random, step->count), b = random_below(random, step->count);
        gordian_want swap = step->wants[a];
        step->wants[a] = step->wants[b];
        step->wants[b] = swap;
    }
    if (!random_chance(random, 2))
        return;
    uint32_t resource = (uint32_t)random_below(random, naive->resources + 2);
    switch (random_below(random, 4)) {
    case 0:
        push(generator, step, resource, 0);
        break;
    case 1:
        push(generator, step, resource, 1);
        break;
    case 2:
        push(generator, step, resource, UINT64_MAX);
        break;
    default:
        step->count = 0;
    }
}

/* Resources of which `process` has something in the table, less what it has in the other. */
static uint32_t list_resources(struct generator *generator, const struct naive *naive,
                               uint32_t process, bool held)
{
    uint32_t count = 0;
    for (uint32_t j = 0; j < naive->resources && process < naive->processes; j++) {
        uint64_t has = AT(naive->held, process, j);
        if (held ? has > 0 : AT(naive->claim, process, j) > has)
            generator->candidates[count++] = j;
    }
    return count;
}

void generator_request(struct generator *generator, const struct naive *naive, struct step *step)
{
    struct random *random = &generator->random;
    step->kind = STEP_REQUEST;
    step->process = some_process(generator, naive, RUNNING);
    step->count = 0;
    step->wants = generator->wants;
    uint32_t count = list_resources(generator, naive, step->process, false);
    uint64_t names = 1 + random_below(random, generator->many);
    for (uint32_t k = 0; k < count && names > 0; k++) {
        if (random_below(random, count - k) >= names) /* a fair choice of `names` of them */
            continue;
        uint32_t j = generator->candidates[k];
        uint64_t need = AT(naive->claim, step->process, j) - AT(naive->held, step->process, j);
        uint64_t free = naive_free(naive, j);
        uint64_t most = random_chance(random, 80) && free < need ? free : need;
        push(generator, step, j, most ? some_units(random, most) : 1);
        names--;
    }
    disturb(generator, naive, step);
}

static void release(struct generator *generator, const struct naive *naive, struct step *step)
{
    struct random *random = &generator->random;
    step->kind = STEP_RELEASE;
    step->process = some_process(generator, naive, RUNNING);
    uint32_t count = list_resources(generator, naive, step->process, true);
    bool all = random_chance(random, 30);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t j = generator->candidates[k];
        if (all || random_chance(random, 50))
            push(generator, step, j,
                 all ? AT(naive->held, step->process, j)
                     : some_units(random, AT(naive->held, step->process, j)));
    }
    disturb(generator, naive, step);
}

static void claims(struct generator *generator, const struct naive *naive, struct step *step,
                   bool joins)
{
    struct random *random = &generator->random;
    step->kind = joins ? STEP_JOIN : STEP_CLAIMS;
    step->process = joins ? 0 : some_process(generator, naive, RUNNING);
    bool known = !joins && step->process < naive->processes;
    for (uint32_t j = 0; j < naive->resources; j++) {
        uint64_t most = naive->total[j] / 100 * generator->greed +
                        naive->total[j] % 100 * generator->greed / 100;
        uint64_t old = known ? AT(naive->claim, step->process, j) : 0;
        uint64_t held = known ? AT(naive->held, step->process, j) : 0;
        if (known && random_chance(random, 70)) { /* most of them as they were */
            if (old > 0)
                push(generator, step, j, old);
        } else if (naive->is_resource[j] && random_chance(random, generator->density)) {
            uint64_t units = some_units(random, most ? most : naive->total[j]);
            push(generator, step, j, units < held && random_chance(random, 90) ? held : units);
        } else if (held > 0 && random_chance(random, 90)) {
            push(generator, step, j, held);
        }
    }
    if (known || random_chance(random, 20))
        disturb(generator, naive, step);
}

static void resources(struct generator *generator, const struct naive *naive, struct step *step)
{
    struct random *random = &generator->random;
    uint32_t there = 0;
    for (uint32_t j = 0; j < naive->resources; j++)
        there += naive->is_resource[j];
    step->resource = some_resource(generator, naive);
    if (there < naive->resources && random_chance(random, 50)) {
        step->kind = STEP_ADD_RESOURCE;
        step->units = random_chance(random, 3) ? 0 : some_units(random, generator->most);
    } else if (random_chance(random, 20)) {
        step->kind = STEP_REMOVE_RESOURCE;
    } else {
        step->kind = STEP_UNITS;
        uint64_t total = step->resource < naive->resources ? naive->total[step->resource] : 1;
        uint64_t change = some_units(random, total / 4 + 1);
        bool fewer = random_chance(random, 60);
        step->units = fewer                          ? total - (change < total ? change : total)
                      : change <= UINT64_MAX - total ? total + change
                                                     : UINT64_MAX;
    }
}

void generator_next(struct generator *generator, const struct naive *naive, struct step *step)
{
    struct random *random = &generator->random;
    uint32_t there = 0;
    for (uint32_t i = 0; i < naive->processes; i++)
        there += naive->is_process[i];
    *step = (struct step){.wants = generator->wants};
    if (there < naive->processes && random_chance(random, there < generator->population ? 10 : 1)) {
        claims(generator, naive, step, true);
        return;
    }
    if (random_chance(random, generator->haste)) {
        static const enum step_kind kinds[] = {STEP_REQUEST, STEP_REQUEST, STEP_REQUEST,
                                               STEP_REQUEST, STEP_TRY,     STEP_ACQUIRE};
        generator_request(generator, naive, step);
        step->kind = kinds[random_below(random, 6)];
        if (step->count == 0 && random_chance(random, 90)) /* it has all it may ask for */
            release(generator, naive, step);
        return;
    }
    uint64_t dice = random_below(random, 100);
    if (dice < 50) {
        release(generator, naive, step);
    } else if (dice < 62) {
        claims(generator, naive, step, false);
    } else if (dice < 70) {
        resources(generator, naive, step);
    } else {
        bool commits = dice < 82, exits = dice >= 95;
        enum choice whose = exits                                  ? ANYBODY
                            : commits || random_chance(random, 30) ? ON_TRIAL
                                                                   : WAITING;
        step->kind = commits ? STEP_COMMIT : exits ? STEP_EXIT : STEP_CANCEL;
        step->process = some_process(generator, naive, whose);
        if (!is_one(naive, step->process, whose) && random_chance(random, 90))
            generator_request(generator, naive, step); /* there is nobody */
    }
}
