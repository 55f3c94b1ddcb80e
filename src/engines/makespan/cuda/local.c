/* Local states of a run: counting, numbering and stepping them (cuda/tables.h). */
#include "engines/makespan/cuda/tables.h"

#include <string.h>

/* ------------------------------------------------------------------ numbering */

/* Returns in how many combinations `items` equal warps can have `kinds` different remainders; 0:
 * 2^32 or more. */
static uint64_t count_multisets(uint32_t items, uint32_t kinds)
{
    uint64_t count = 1;
    for (uint32_t i = 1; i < kinds; i++) {
        count = count * (items + i) / i;
        if (count >> 32)
            return 0;
    }
    return count;
}

/* Whether local states with that work and that largest remainder exist. They are ordered by work,
 * then by the largest remainder. */
static bool largest_fits(uint32_t warps, uint32_t work, uint32_t largest)
{
    return largest + warps - 1 <= work && work <= largest * warps;
}

uint64_t local_count(const struct local_run *run, uint32_t warps)
{
    uint64_t length = run->length;
    if (warps == 0)
        return 1;
    switch (run->kind) {
    case LOCAL_PACKED:
    case LOCAL_WORK:
        return (length - 1) * warps + 1;
    case LOCAL_LARGEST:
        return length * (length - 1) / 2 * (warps - 1) + length;
    case LOCAL_FULL:
        return count_multisets(warps, run->length);
    }
    return 0;
}

/* Returns how many have less work than that; warps is not 0. */
static uint64_t largest_before(uint32_t length, uint32_t warps, uint32_t work)
{
    uint64_t sum = 0;
    for (uint32_t m = 1; m <= length; m++) {
        uint32_t low = m + warps - 1, high = m * warps;
        if (work > low)
            sum += (work > high ? high + 1 : work) - low;
    }
    return sum;
}

static struct local_state largest_at(uint32_t length, uint32_t warps, uint64_t rank)
{
    uint32_t low = warps, high = length * warps + 1; /* work */
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (largest_before(length, warps, middle) <= rank)
            low = middle;
        else
            high = middle;
    }
    rank -= largest_before(length, warps, low);
    uint32_t largest = 1;
    while (!largest_fits(warps, low, largest) || rank-- > 0)
        largest++;
    return (struct local_state){.warps = warps, .work = low, .largest = largest};
}

/* States with the fewest warps at one instruction left come first, and so on. */
static struct local_state full_at(uint32_t length, uint32_t warps, uint64_t rank)
{
    struct local_state state = {.warps = warps};
    uint32_t items = warps;
    for (uint32_t i = 0; i + 1 < length; i++) {
        uint32_t count = 0;
        for (uint64_t size; rank >= (size = count_multisets(items - count, length - i - 1));
             count++)
            rank -= size;
        state.counts[i] = (uint8_t)count;
        state.work += count * (i + 1);
        items -= count;
    }
    state.counts[length - 1] = (uint8_t)items;
    state.work += items * length;
    return state;
}

static uint64_t full_rank(uint32_t length, const struct local_state *state)
{
    uint64_t rank = 0;
    uint32_t items = state->warps;
    for (uint32_t i = 0; i + 1 < length; i++) {
        for (uint32_t count = 0; count < state->counts[i]; count++)
            rank += count_multisets(items - count, length - i - 1);
        items -= state->counts[i];
    }
    return rank;
}

struct local_state local_at(const struct local_run *run, uint32_t warps, uint64_t rank)
{
    if (warps == 0)
        return (struct local_state){0};
    if (run->kind == LOCAL_LARGEST)
        return largest_at(run->length, warps, rank);
    if (run->kind == LOCAL_FULL)
        return full_at(run->length, warps, rank);
    return (struct local_state){.warps = warps, .work = warps + (uint32_t)rank};
}

uint64_t local_rank(const struct local_run *run, const struct local_state *state)
{
    if (state->warps == 0)
        return 0;
    if (run->kind == LOCAL_LARGEST) {
        uint64_t rank = largest_before(run->length, state->warps, state->work);
        for (uint32_t m = 1; m < state->largest; m++)
            rank += largest_fits(state->warps, state->work, m);
        return rank;
    }
    if (run->kind == LOCAL_FULL)
        return full_rank(run->length, state);
    return state->work - state->warps;
}

struct local_state local_arrive(const struct local_run *run, const struct local_state *state,
                                uint32_t comers)
{
    struct local_state next = *state;
    if (comers == 0)
        return next;
    next.warps += comers;
    next.work += comers * run->length;
    if (run->kind == LOCAL_LARGEST)
        next.largest = run->length;
    if (run->kind == LOCAL_FULL)
        next.counts[run->length - 1] = (uint8_t)(next.counts[run->length - 1] + comers);
    return next;
}

/* ------------------------------------------------------------------ steps */

/* Either the most advanced warp leaves, or the most advanced of those not at the end continues. */
static void packed_step(uint32_t length, const struct local_state *state, local_emit *emit,
                        void *context)
{
    struct local_state next = *state;
    uint32_t done = length * state->warps - state->work;
    if (done < (length - 1) * state->warps) {
        next.work = state->work - 1;
        emit(context, 0, &next);
    }
    if (done >= length - 1) {
        next.warps = state->warps - 1;
        next.work = state->work - 1;
        emit(context, 1, &next);
    }
}

/* `leave` warps with one instruction left run, k - leave with more, and the other warps have any
 * remainder: is the sum possible? */
static void work_steps(uint32_t length, const struct local_state *state, uint32_t k,
                       local_emit *emit, void *context)
{
    uint32_t n = state->warps;
    for (uint32_t leave = 0; leave <= k; leave++) {
        uint32_t on = k - leave;
        if ((length == 1 && on) || state->work < leave + 2 * on + (n - k) ||
            state->work > leave + length * (on + n - k))
            continue;
        struct local_state next = {.warps = n - leave, .work = state->work - k};
        emit(context, leave, &next);
    }
}

/* The same if one warp has the largest remainder m and none has more. Either one warp with m stays
 * in place, or all of them continue. */
static void largest_steps(const struct local_state *state, uint32_t k, local_emit *emit,
                          void *context)
{
    uint32_t n = state->warps, m = state->largest, work = state->work;
    if (m <= 1) { /* no warp has more than one instruction left */
        struct local_state next = {.warps = n - k, .work = work - k, .largest = n > k};
        emit(context, k, &next);
        return;
    }
    for (uint32_t leave = 0; leave <= k; leave++) {
        uint32_t on = k - leave, others = n - k;
        struct local_state next = {.warps = n - leave, .work = work - k, .largest = m};
        if (others && work >= leave + m + 2 * on + (others - 1) &&
            work <= leave + m + m * (on + others - 1))
            emit(context, leave, &next);
        next.largest = m - 1;
        if (on && work >= leave + m + 2 * (on - 1) + others &&
            work <= leave + m + m * (on - 1) + (m - 1) * others)
            emit(context, leave, &next);
    }
}

struct full_steps {
    local_emit *emit;
    void *context;
    struct local_state next;
    uint32_t length, leave;
};

/* Tries every number of warps with i + 1 instructions left that run. The rest of the k run among
 * those with more. */
static void full_from(struct full_steps *steps, const struct local_state *state, uint32_t i,
                      uint32_t k)
{
    if (i == steps->length) {
        if (k == 0)
            steps->emit(steps->context, steps->leave, &steps->next);
        return;
    }
    struct local_state before = steps->next;
    uint32_t leave = steps->leave;
    for (uint32_t on = 0; on <= k && on <= state->counts[i]; on++) {
        steps->next.counts[i] = (uint8_t)(before.counts[i] - on);
        if (i == 0) {
            steps->leave = on;
            steps->next.warps = before.warps - on;
        } else {
            steps->next.counts[i - 1] = (uint8_t)(before.counts[i - 1] + on);
        }
        full_from(steps, state, i + 1, k - on);
    }
    steps->next = before;
    steps->leave = leave;
}

void local_steps(const struct local_run *run, const struct local_state *state, uint32_t k,
                 local_emit *emit, void *context)
{
    if (k > state->warps)
        return;
    if (k == 0) {
        emit(context, 0, state);
        return;
    }
    switch (run->kind) {
    case LOCAL_PACKED:
        if (k == 1)
            packed_step(run->length, state, emit, context);
        break;
    case LOCAL_WORK:
        work_steps(run->length, state, k, emit, context);
        break;
    case LOCAL_LARGEST:
        largest_steps(state, k, emit, context);
        break;
    case LOCAL_FULL: {
        struct full_steps steps = {emit, context, *state, run->length, 0};
        steps.next.work -= k;
        full_from(&steps, state, 0, k);
        break;
    }
    }
}
