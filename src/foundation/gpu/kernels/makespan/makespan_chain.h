/*
 * One chain of simulated annealing, the same on every engine: on a CPU thread, on a GPU, in another
 * process. A chain is determined by (model, goal, seed, its number, evaluations, temperature,
 * published): wherever it runs, it makes the same moves, step by step, and finds the same
 * schedules. So everything here is in integers, in the common subset of C and CUDA C, and
 * independent of how schedules are evaluated.
 *
 *     chain_seed(&random, seed, number);
 *     order = the template of that number (order_fill), sorted by cycle unless published
 *     for (step = 0; step < evaluations; step++) {
 *         chain_draw(&random, published, warps, work, order, &move);
 *         candidate = order, the window [move.first, move.last) replaced by chain_apply
 *         value = makespan of the candidate (for the best case: less is better)
 *         loss = how much worse it is than the current one, 0 if it is not
 *         if (loss == 0 || chain_accepts(&random, published, heat, loss)) {
 *             the candidate becomes the current one: unless published its entries are sorted by
 *             cycle, those of the same cycle stay in the order they had in the candidate
 *         }
 *     }                                    with heat = chain_heat(start, step, evaluations)
 *
 * As published: swaps of two entries of different warps, accepted with min(1, T / loss), linear
 * cooling. Ours: an order that is kept sorted by cycle, so that a window of it is a window of time;
 * moves that rearrange a window: swap its ends, move a warp's entries to its end or its start, move
 * a random set of warps to the front, exchange two parts; and the Metropolis criterion, exp(-loss /
 * T). Windows have all sizes, small ones more often. (On the case study the published chain ends at
 * 169 of 184, this one reaches 184.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define CHAIN_FUNCTION static __device__ inline
#else
#define CHAIN_FUNCTION static inline
#endif

/* ------------------------------------------------------------------ random numbers */

struct chain_random {
    uint64_t state;
};

/* splitmix64: a counter and a mixer. */
CHAIN_FUNCTION uint64_t chain_next(struct chain_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Returns 0 .. bound-1. The bias is below bound / 2^32, which does not matter to an annealer. */
CHAIN_FUNCTION uint32_t chain_below(struct chain_random *random, uint32_t bound)
{
    return (uint32_t)((chain_next(random) >> 32) * bound >> 32);
}

/* Chains of the same seed must not overlap: their counters start at mixed places. */
CHAIN_FUNCTION void chain_seed(struct chain_random *random, uint64_t seed, uint64_t number)
{
    random->state = seed;
    random->state = chain_next(random) ^ number * UINT64_C(0xd1342543de82ef95);
    random->state = chain_next(random);
}

/* ------------------------------------------------------------------ temperature */

/* Temperatures have 16 fractional bits. Published: the given one. Ours: chains 0 to 3 start at 5/3
 * of it, 4 to 7 at 2/3, and so on: some systems need it hot, some cold. */
CHAIN_FUNCTION uint32_t chain_start(uint32_t temperature, bool published, uint64_t number)
{
    if (published)
        return temperature;
    return (uint32_t)((uint64_t)temperature * (number / 4 % 2 ? 2 : 5) / 3);
}

/* Evaluations are below 2^40, the start is below 2^24. */
CHAIN_FUNCTION uint32_t chain_heat(uint32_t start, uint64_t step, uint64_t evaluations)
{
    return (uint32_t)(start * (evaluations - step) / evaluations);
}

CHAIN_FUNCTION uint32_t chain_leading_zeros(uint32_t x)
{
#ifdef __CUDACC__
    return (uint32_t)__clz((int)x);
#else
    return (uint32_t)__builtin_clz(x);
#endif
}

/* Returns -ln(x / 2^32) for x >= 1, with 16 fractional bits, within 0.006: the binary logarithm of
 * the leading one, and of the rest f + 0.3466 f (1 - f). */
CHAIN_FUNCTION uint32_t chain_minus_log(uint32_t x)
{
    uint32_t zeros = chain_leading_zeros(x);
    uint32_t f = (uint32_t)((uint64_t)x << (zeros + 1) >> 16 & 0xffff);
    uint32_t curve = (uint32_t)((uint64_t)f * (65536 - f) >> 16);
    uint32_t log2 = ((zeros + 1) << 16) - f - (uint32_t)((uint64_t)curve * 22713 >> 16);
    return (uint32_t)((uint64_t)log2 * 45426 >> 16);
}

/* `loss` is at least 1. */
CHAIN_FUNCTION bool chain_accepts(struct chain_random *random, bool published, uint32_t heat,
                                  uint32_t loss)
{
    uint32_t x = (uint32_t)(chain_next(random) >> 32);
    if (published)
        return (uint64_t)x * loss < (uint64_t)heat << 16;
    return (uint64_t)loss << 32 < (uint64_t)heat * chain_minus_log(x | 1);
}

/* ------------------------------------------------------------------ moves */

enum chain_kind {
    CHAIN_SWAP, /* the window's first and last entry are swapped */
    CHAIN_SINK, /* all entries of `warp` move to the end of the window */
    CHAIN_RISE, /* ... to its start */
    CHAIN_PART, /* the entries of the warps in `set` move to the front; both parts keep their order
                 */
    CHAIN_ROTATE, /* the first `shift` entries move to the end */
};

/* At most 256 warps. */
#define CHAIN_SET_WORDS 4

struct chain_move {
    uint32_t kind;
    uint32_t first, last; /* the window: entries first .. last-1, at least 2 unless work is 1 */
    uint32_t warp, shift;
    uint64_t set[CHAIN_SET_WORDS];
};

/* Chooses windows of 2 and more entries; every order of magnitude up to about half of the work is
 * equally frequent. */
CHAIN_FUNCTION void chain_draw_window(struct chain_random *random, uint32_t work,
                                      struct chain_move *move)
{
    uint32_t magnitudes = work > 8 ? 31 - chain_leading_zeros(work - 1) : 2;
    uint32_t size = 2 + chain_below(random, 2u << chain_below(random, magnitudes));
    if (size > work)
        size = work;
    move->first = chain_below(random, work - size + 1);
    move->last = move->first + size;
}

/* Chooses two entries of different warps; after a few tries it may be the same warp twice, which
 * changes nothing (as with only one warp). */
CHAIN_FUNCTION void chain_draw_swap(struct chain_random *random, uint32_t work,
                                    const uint8_t *order, struct chain_move *move)
{
    uint32_t a = 0, b = 0, tries;
    for (tries = 0; tries < 64 && order[a] == order[b]; tries++) {
        a = chain_below(random, work);
        b = chain_below(random, work);
    }
    move->kind = CHAIN_SWAP;
    move->first = a < b ? a : b;
    move->last = (a < b ? b : a) + 1;
}

CHAIN_FUNCTION void chain_draw(struct chain_random *random, bool published, uint32_t warps,
                               uint32_t work, const uint8_t *order, struct chain_move *move)
{
    uint32_t dice, word;
    move->warp = move->shift = 0;
    if (published) {
        chain_draw_swap(random, work, order, move);
        return;
    }
    chain_draw_window(random, work, move);
    dice = chain_below(random, 20);
    if (dice < 2) {
        move->kind = CHAIN_SWAP;
    } else if (dice < 10) {
        move->kind = dice < 6 ? CHAIN_SINK : CHAIN_RISE;
        move->warp = order[move->first + chain_below(random, move->last - move->first)];
    } else if (dice < 17) {
        bool few = chain_below(random, 2);
        move->kind = CHAIN_PART;
        for (word = 0; word * 64 < warps; word++) {
            move->set[word] = chain_next(random);
            if (few)
                move->set[word] &= chain_next(random);
        }
    } else {
        move->kind = CHAIN_ROTATE;
        move->shift = move->last - move->first > 1
                          ? 1 + chain_below(random, move->last - move->first - 1)
                          : 0;
    }
}

CHAIN_FUNCTION bool chain_in_set(const struct chain_move *move, uint32_t warp)
{
    return move->set[warp / 64] >> (warp % 64) & 1;
}

/* Moves everything except `warp` to the front. */
CHAIN_FUNCTION void chain_gather(const uint8_t *from, uint8_t *to, uint32_t size, uint32_t warp,
                                 bool rise)
{
    uint32_t i, others = 0, at;
    for (i = 0; i < size; i++)
        others += from[i] != warp;
    at = rise ? size - others : 0;
    for (i = 0; i < size; i++) {
        if (from[i] != warp)
            to[at++] = from[i];
    }
    for (i = rise ? 0 : others; i < (rise ? size - others : size); i++)
        to[i] = (uint8_t)warp;
}

/* `from` is the current order's window (order + move->first), `to` another buffer of its size. */
CHAIN_FUNCTION void chain_apply(const struct chain_move *move, const uint8_t *from, uint8_t *to)
{
    uint32_t size = move->last - move->first, i, at = 0;
    if (move->kind == CHAIN_SINK || move->kind == CHAIN_RISE) {
        chain_gather(from, to, size, move->warp, move->kind == CHAIN_RISE);
    } else if (move->kind == CHAIN_PART) {
        for (i = 0; i < size; i++) {
            if (chain_in_set(move, from[i]))
                to[at++] = from[i];
        }
        for (i = 0; i < size; i++) {
            if (!chain_in_set(move, from[i]))
                to[at++] = from[i];
        }
    } else if (move->kind == CHAIN_ROTATE) {
        for (i = 0; i < size; i++)
            to[i] = from[i + move->shift < size ? i + move->shift : i + move->shift - size];
    } else {
        for (i = 0; i < size; i++)
            to[i] = from[i];
        to[0] = from[size - 1];
        to[size - 1] = from[0];
    }
}
