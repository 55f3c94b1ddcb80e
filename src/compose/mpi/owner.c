/*
 * Whose a state is: the sum of weight * local state over the factors, modulo the ranks. Every rank
 * tries the same weights on the same states of random walks, so all come to the same.
 *
 * Weights of neighbouring factors that are alike keep a token that moves along a chain on its rank;
 * but weights that are all alike may leave ranks without any state (where every firing moves two
 * factors on, only even ones would have some). So several are tried.
 */
#include "base/random.h"
#include "compose/mpi/parts.h"

#include <string.h>

#define WALKS   64u /* random walks */
#define STEPS   16u /* looked at of each */
#define SAMPLES (WALKS * STEPS)
#define TRIES   24u

/* A state met on a walk, and what fired there. */
struct sample {
    uint64_t state;
    size_t firing;
};

static uint32_t local_of(const struct job *job, size_t r, uint64_t state)
{
    uint32_t width = 32 - (uint32_t)__builtin_clz(job->radices[r].states - 1);
    return (uint32_t)(state >> job->radices[r].shift & ((UINT64_C(1) << width) - 1));
}

uint32_t job_owner(const struct job *job, uint64_t state)
{
    uint64_t sum = 0;
    for (size_t r = 0; r < job->order.radix_count; r++)
        if (job->weights[r])
            sum += (uint64_t)job->weights[r] * local_of(job, r, state);
    return (uint32_t)(sum % (uint64_t)job->ranks);
}

/* Weights number `try`; only of factors that stand above the six bits within a word. */
static void set_weights(struct job *job, uint32_t try, struct random *random)
{
    uint64_t count = job->order.radix_count, ranks = (uint64_t)job->ranks;
    uint64_t low = 0, high = count, period = 1;
    if (try > 0) { /* a window of factors, in runs of the same weight */
        low = random_below(random, count + 1);
        high = low + 1 + random_below(random, count + 1);
        period = 1 + random_below(random, count + 1);
    }
    for (uint64_t r = 0; r < count; r++) {
        bool inside = job->radices[r].shift >= 6 && r >= low && r < high;
        uint64_t weight = try == 0 ? 1 : 1 + r / period;
        if (try % 4 == 3) /* every now and then no order at all */
            weight = random_below(random, ranks);
        job->weights[r] = inside ? (uint32_t)(weight % ranks) : 0;
    }
}

static void set_changes(struct job *job)
{
    uint32_t ranks = (uint32_t)job->ranks;
    for (size_t i = 0; i < job->order.firing_count; i++) {
        const struct compose_firing *firing = &job->firings[i];
        uint32_t from = job_owner(job, firing->value);
        uint32_t to = job_owner(job, firing->value ^ firing->flip);
        job->changes[i] = (to + ranks - from) % ranks;
    }
}

/* The n-th firing that is enabled, counted round; NONE: none is. */
static size_t some_firing(const struct job *job, uint64_t state, uint64_t n)
{
    uint32_t enabled =
        compose_enabled_count(job->firings, (uint32_t)job->order.firing_count, state);
    if (enabled == 0)
        return SIZE_MAX;
    n %= enabled;
    size_t i = 0;
    while (!compose_enabled(&job->firings[i], state) || n-- > 0)
        i++;
    return i;
}

/* States well into random walks; how many there are. */
static size_t walk_about(const struct job *job, struct sample samples[SAMPLES])
{
    struct random random;
    size_t met = 0;
    random_seed(&random, 1);
    for (uint32_t walk = 0; walk < WALKS; walk++) {
        uint64_t state = job_initial(job, random_below(&random, job->order.initial));
        uint64_t lead = random_below(&random, 32 * (job->order.radix_count + 1));
        for (uint64_t s = 0; s < lead + STEPS; s++) {
            size_t firing = some_firing(job, state, random_next(&random));
            if (firing == SIZE_MAX)
                break;
            if (s >= lead)
                samples[met++] = (struct sample){state, firing};
            state ^= job->firings[firing].flip;
        }
    }
    return met;
}

/* What the weights cost, as far as the samples tell: the share of the busiest rank, and what
 * crosses. Ranks beyond 256 are taken together. */
static double cost_of(const struct job *job, const struct sample *samples, size_t met)
{
    uint64_t crossing = 0, shares[256] = {0}, most = 0;
    for (size_t i = 0; i < met; i++) {
        shares[job_owner(job, samples[i].state) % 256]++;
        crossing += job->changes[samples[i].firing] != 0;
    }
    for (size_t r = 0; r < 256; r++)
        most = shares[r] > most ? shares[r] : most;
    return (double)most * (double)job->ranks * (double)(met + crossing);
}

void job_choose_owners(struct job *job)
{
    struct random random;
    struct sample samples[SAMPLES];
    uint32_t best = 0;
    double lowest = 0;
    if (job->ranks == 1 || job->order.firing_count == 0)
        return;
    size_t met = walk_about(job, samples);
    /* Once to find out, once more to have the best again. */
    random_seed(&random, 2);
    for (uint32_t try = 0; try < TRIES; try++) {
        set_weights(job, try, &random);
        set_changes(job);
        double cost = cost_of(job, samples, met);
        if (try == 0 || cost < lowest) {
            best = try;
            lowest = cost;
        }
    }
    random_seed(&random, 2);
    for (uint32_t try = 0; try <= best; try++)
        set_weights(job, try, &random);
    set_changes(job);
}
