/* Random numbers, the same on every machine for the same seed (xoshiro256**, seeded by splitmix64).
 */
#pragma once

#include <stdint.h>

struct random {
    uint64_t state[4];
};

void random_seed(struct random *random, uint64_t seed);
uint64_t random_next(struct random *random);
/* Uniform in 0 .. bound - 1, without bias. `bound` is at least 1. */
uint64_t random_below(struct random *random, uint64_t bound);
/* True with probability percent / 100. */
int random_chance(struct random *random, unsigned percent);
