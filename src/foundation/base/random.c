#include "foundation/base/random.h"

__extension__ typedef unsigned __int128 wide;

static uint64_t rotate_left(uint64_t value, int by)
{
    return value << by | value >> (64 - by);
}

void random_seed(struct random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) { /* splitmix64 */
        seed += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t mixed = seed;
        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        random->state[i] = mixed ^ mixed >> 31;
    }
}

uint64_t random_next(struct random *random)
{
    uint64_t *state = random->state;
    uint64_t result = rotate_left(state[1] * 5, 7) * 9;
    uint64_t shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotate_left(state[3], 45);
    return result;
}

/* Lemire's method: the high half of a 128-bit product. It draws again if the low half shows that
 * this value would be too frequent. */
uint64_t random_below(struct random *random, uint64_t bound)
{
    wide product = (wide)random_next(random) * bound;
    if ((uint64_t)product < bound) {
        uint64_t surplus = -bound % bound;
        while ((uint64_t)product < surplus)
            product = (wide)random_next(random) * bound;
    }
    return (uint64_t)(product >> 64);
}

int random_chance(struct random *random, unsigned percent)
{
    return random_below(random, 100) < percent;
}
