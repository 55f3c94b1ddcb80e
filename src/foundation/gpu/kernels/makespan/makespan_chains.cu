/* Chains of simulated annealing, one for each warp (makespan_chains.h). The lanes share moving,
 * sorting and comparing. Entries are placed one after another, by lane 0. */
#include "foundation/gpu/kernels/makespan/makespan_chain.h"
#include "foundation/gpu/kernels/makespan/makespan_chains.h"
#include "foundation/gpu/language/kernel.h"

typedef struct chains_arguments chains;

/* A running chain; equal in every lane. */
struct chain {
    const chains *a;
    bool wide; /* cells of eight bytes; a compile-time constant */
    const uint8_t *string;
    uint8_t *order, *candidate, *sorted, *ranks;
    uint32_t *begins;
    uint16_t *progress, *cycles;
    uint32_t *cells32;
    uint64_t *cells64;
    uint32_t *warp_words, *type_words;
    /* The move, in separate members so that it is in registers. */
    uint32_t kind, from, to, shift, warp;
    uint64_t set0, set1, set2, set3;
    uint32_t first, last; /* where the candidate differs; later, where its entries may have moved */
    uint32_t base;        /* the cycle of the previous entry */
    uint32_t end;         /* cycles used so far */
    uint32_t before;      /* entries of the base cycle before the window */
};

#define BELOW(bits) (((uint32_t)1 << (bits)) - 1) /* not of 32 */

DEVICE uint64_t cell_get(const struct chain *c, uint32_t cycle)
{
    return c->wide ? c->cells64[cycle] : c->cells32[cycle];
}

DEVICE void cell_set(struct chain *c, uint32_t cycle, uint64_t value)
{
    if (c->wide)
        c->cells64[cycle] = value;
    else
        c->cells32[cycle] = (uint32_t)value;
}

DEVICE uint32_t count_shift(const struct chain *c)
{
    return c->wide ? CHAINS_FIELDS8 : CHAINS_FIELDS4;
}

DEVICE void chain_open(struct chain *c, const chains *a, uint8_t *place)
{
    c->a = a;
    c->string = GPU_POINTER(const uint8_t, a->string);
    c->order = place;
    c->begins = (uint32_t *)(place + a->begins);
    c->progress = (uint16_t *)(place + a->progress);
    c->candidate = place + a->candidate;
    c->sorted = place + a->sorted;
    c->ranks = place + a->ranks;
    c->cycles = (uint16_t *)(place + a->cycles);
    c->cells32 = (uint32_t *)(place + a->cells);
    c->cells64 = (uint64_t *)(place + a->cells);
    c->warp_words = (uint32_t *)(place + a->warp_words);
    c->type_words = (uint32_t *)(place + a->type_words);
    c->first = c->last = c->base = c->end = c->before = 0;
}

/* ------------------------------------------------------------------ starts of cycles */

/* Counts the cycles that begin among the first n entries. */
DEVICE uint32_t cycles_before(const struct chain *c, uint32_t n)
{
    uint32_t count = 0;
    for (uint32_t word = LANE; word * 32 < n; word += WARP_SIZE) {
        uint32_t rest = n - word * 32, bits = c->begins[word];
        count += popcount32(rest < 32 ? bits & BELOW(rest) : bits);
    }
    return warp_reduce_add(WARP_ALL, count);
}

/* Returns the first entry from i on that begins a cycle; `work`: none. */
DEVICE uint32_t next_begin(const struct chain *c, uint32_t i)
{
    uint32_t work = c->a->work;
    if (i >= work)
        return work;
    uint32_t bits = c->begins[i / 32] & ~BELOW(i % 32), word = i / 32;
    while (bits == 0 && ++word * 32 < work)
        bits = c->begins[word];
    return bits ? word * 32 + find_first32(bits) : work;
}

/* Returns the last entry up to i that does. There is one: entry 0. */
DEVICE uint32_t last_begin(const struct chain *c, uint32_t i)
{
    uint32_t word = i / 32, bits = c->begins[word];
    bits &= i % 32 == 31 ? WARP_ALL : BELOW(i % 32 + 1);
    while (bits == 0)
        bits = c->begins[--word];
    return word * 32 + 31 - leading_zeros32(bits);
}

/* ------------------------------------------------------------------ moving */

DEVICE void draw_move(struct chain *c, struct chain_random *random)
{
    struct chain_move move;
    chain_draw(random, c->a->published != 0, c->a->warps, c->a->work, c->order, &move);
    c->kind = move.kind;
    c->from = move.first;
    c->to = move.last;
    c->shift = move.shift;
    c->warp = move.warp;
    c->set0 = move.set[0];
    c->set1 = move.set[1];
    c->set2 = move.set[2];
    c->set3 = move.set[3];
}

/* Returns whether the entry moves to the front of the window. */
DEVICE bool goes_first(const struct chain *c, uint32_t warp)
{
    if (c->kind == CHAIN_PART) {
        uint64_t low = warp < 64 ? c->set0 : c->set1, high = warp < 192 ? c->set2 : c->set3;
        return (warp < 128 ? low : high) >> warp % 64 & 1;
    }
    return (warp == c->warp) == (c->kind == CHAIN_RISE);
}

/* Moves those entries to the front, then the others, each in their order. */
DEVICE void part_window(struct chain *c)
{
    const uint8_t *from = c->order + c->from;
    uint32_t size = c->to - c->from, front = 0, back = 0;
    for (uint32_t i = LANE; i < size; i += WARP_SIZE)
        back += goes_first(c, from[i]);
    back = warp_reduce_add(WARP_ALL, back);
    for (uint32_t i = LANE; i - LANE < size; i += WARP_SIZE) {
        uint32_t warp = i < size ? from[i] : 0;
        bool first = i < size && goes_first(c, warp);
        uint32_t firsts = warp_ballot(WARP_ALL, first), all = warp_ballot(WARP_ALL, i < size);
        uint32_t own = (first ? firsts : all & ~firsts) & BELOW(LANE);
        if (i < size)
            c->candidate[(first ? front : back) + popcount32(own)] = (uint8_t)warp;
        front += popcount32(firsts);
        back += popcount32(all & ~firsts);
    }
}

/* Computes chain_apply's result by all lanes. */
DEVICE void move_window(struct chain *c)
{
    const uint8_t *from = c->order + c->from;
    uint32_t size = c->to - c->from;
    if (c->kind != CHAIN_SWAP && c->kind != CHAIN_ROTATE) {
        part_window(c);
    } else if (c->kind == CHAIN_ROTATE) {
        for (uint32_t i = LANE; i < size; i += WARP_SIZE)
            c->candidate[i] = from[i + c->shift < size ? i + c->shift : i + c->shift - size];
    } else {
        for (uint32_t i = LANE; i < size; i += WARP_SIZE)
            c->candidate[i] = from[i == 0 ? size - 1 : i + 1 == size ? 0 : i];
    }
    warp_barrier(WARP_ALL);
}

/* Finds the part of the window that differs from the order. */
DEVICE void trim_window(struct chain *c)
{
    uint32_t first = c->to, last = c->from;
    for (uint32_t i = c->from + LANE; i < c->to; i += WARP_SIZE) {
        if (c->candidate[i - c->from] != c->order[i]) {
            first = i < first ? i : first;
            last = i + 1;
        }
    }
    c->first = warp_reduce_min(WARP_ALL, first);
    c->last = warp_reduce_max(WARP_ALL, last);
}

DEVICE uint32_t chain_entry(const struct chain *c, uint32_t i)
{
    bool moved = i >= c->from && i < c->to;
    return moved ? c->candidate[i - c->from] : c->order[i];
}

/* ------------------------------------------------------------------ evaluation */

/* Adds the entries i .. i + n - 1, 32 at most, to the warps' progress. */
DEVICE void add_progress(struct chain *c, uint32_t i, uint32_t n)
{
    uint32_t warp = LANE < n ? c->order[i + LANE] : WARP_ALL;
    uint32_t same = warp_match(WARP_ALL, warp);
    if (LANE < n && (same & BELOW(LANE)) == 0)
        c->warp_words[warp] += popcount32(same) << 16;
    warp_barrier(WARP_ALL);
}

/* The entries before the first difference stay in place, and none after them can go to a cycle
 * before their last: the order is sorted, and an entry that was left out of a cycle did not fit. */
DEVICE void settle_chain(struct chain *c)
{
    const chains *a = c->a;
    uint32_t record = c->first / CHAINS_STRIDE, cycle = 0, begin = 0;
    const uint16_t *progress = c->progress + record * a->warps;
    for (uint32_t w = LANE; w < a->warps; w += WARP_SIZE)
        c->warp_words[w] = a->published ? 0 : (uint32_t)progress[w] << 16;
    warp_barrier(WARP_ALL);
    c->before = 0;
    if (c->first > 0) { /* never as published */
        add_progress(c, record * CHAINS_STRIDE, c->first % CHAINS_STRIDE);
        cycle = cycles_before(c, c->first) - 1;
        begin = last_begin(c, c->first - 1);
        c->before = c->first - begin;
    }
    for (uint32_t w = LANE; w < a->warps; w += WARP_SIZE)
        c->warp_words[w] |= cycle;
    for (uint32_t type = LANE; type < a->type_count; type += WARP_SIZE)
        c->type_words[type] = cycle;
    warp_barrier(WARP_ALL);
    if (LANE == 0) {
        uint64_t cell = a->empty;
        for (uint32_t i = begin; i < c->first; i++) {
            uint32_t warp = c->order[i], word = c->warp_words[warp];
            cell += a->types[c->string[(word >> 16) - 1]].add;
            c->warp_words[warp] = word + 1;
        }
        cell_set(c, cycle, cell);
    }
    c->base = cycle;
    c->end = c->first > 0 ? cycle + 1 : 0;
    warp_barrier(WARP_ALL);
}

/* By lane 0: puts entries i .. until - 1 of a list, whose first one is number `offset`, each into
 * the earliest cycle that fits. */
DEVICE void place_entries(struct chain *c, const uint8_t *list, uint32_t offset, uint32_t i,
                          uint32_t until)
{
    const chains *a = c->a;
    uint32_t end = c->end, shift = count_shift(c);
    for (; i < until; i++) {
        uint32_t warp = list[i - offset], word = c->warp_words[warp];
        uint32_t done = word >> 16, cycle = word & 0xffff;
        uint32_t type = c->string[done], free = c->type_words[type];
        uint64_t full = a->types[type].full, cell;
        bool from_free = cycle <= free;
        cycle = from_free ? free : cycle;
        for (;; cycle++) {
            cell = cycle < end ? cell_get(c, cycle) : a->empty;
            if (!(cell & full))
                break;
        }
        if (cycle >= a->horizon)
            trap();
        c->ranks[i] = (uint8_t)(cell >> shift);
        c->cycles[i] = (uint16_t)cycle;
        c->warp_words[warp] = (done + 1) << 16 | (cycle + 1);
        cell += a->types[type].add;
        cell_set(c, cycle, cell);
        end = cycle >= end ? cycle + 1 : end;
        if (from_free)
            c->type_words[type] = cell & full ? cycle + 1 : cycle;
    }
    c->end = end;
}

/* Returns whether no warp's next instruction fits into a cycle used so far. */
DEVICE bool nothing_fits(const struct chain *c)
{
    const chains *a = c->a;
    bool fits = false;
    for (uint32_t w = LANE; w < a->warps; w += WARP_SIZE) {
        uint32_t done = c->warp_words[w] >> 16, cycle = c->warp_words[w] & 0xffff;
        if (done >= a->length)
            continue;
        uint32_t type = c->string[done], free = c->type_words[type];
        cycle = cycle < free ? free : cycle;
        while (cycle < c->end && (cell_get(c, cycle) & a->types[type].full))
            cycle++;
        fits |= cycle < c->end;
    }
    bool none = !warp_any(WARP_ALL, fits);
    warp_barrier(WARP_ALL); /* lane 0 goes on writing where the others read */
    return none;
}

DEVICE void place_until(struct chain *c, uint32_t i, uint32_t until)
{
    if (LANE == 0) {
        uint32_t moved = until < c->to ? until : c->to;
        if (i < c->from) { /* as published: all of them */
            place_entries(c, c->order, 0, i, c->from);
            i = c->from;
        }
        if (i < moved) {
            place_entries(c, c->candidate, c->from, i, moved);
            i = moved;
        }
        place_entries(c, c->order, 0, i, until);
    }
    c->end = warp_shuffle(WARP_ALL, c->end, 0);
    warp_barrier(WARP_ALL);
}

/* Computes the candidate's makespan. Where the current order begins a cycle, and nothing fits
 * before what is used so far, the rest continues unchanged, only shifted; c->last is then that
 * place. Checks for this soon, then less and less often. */
DEVICE uint32_t measure_chain(struct chain *c, uint32_t value)
{
    uint32_t work = c->a->work, at = c->first, until, step = 1;
    settle_chain(c);
    for (until = c->a->published ? work : next_begin(c, c->last);; until = next_begin(c, until)) {
        place_until(c, at, until);
        at = until;
        if (at == work || nothing_fits(c))
            break;
        until += step;
        step = step < 64 ? 2 * step : step;
    }
    c->last = at;
    return at == work ? c->end : value + c->end - cycles_before(c, at);
}

/* ------------------------------------------------------------------ acceptance */

/* Clears the marks of cycle starts among entries first .. last - 1. */
DEVICE void clear_begins(struct chain *c)
{
    uint32_t from = c->first / 32, to = (c->last + 31) / 32;
    for (uint32_t word = from + LANE; word < to; word += WARP_SIZE) {
        uint32_t keep = 0;
        if (word == from)
            keep |= BELOW(c->first % 32);
        if (word == c->last / 32)
            keep |= ~BELOW(c->last % 32);
        c->begins[word] &= keep;
    }
    warp_barrier(WARP_ALL);
}

/* Computes where the entries of each cycle start, from their numbers, in place of the cells. */
DEVICE void spread_chain(struct chain *c)
{
    uint32_t next = c->first - c->before, shift = count_shift(c);
    for (uint32_t cycle = c->base; cycle < c->end; cycle += WARP_SIZE) {
        uint32_t own = cycle + LANE, count = 0;
        if (own < c->end)
            count = (uint32_t)(cell_get(c, own) >> shift);
        uint32_t sum = count;
        for (uint32_t delta = 1; delta < WARP_SIZE; delta *= 2) {
            uint32_t other = warp_shuffle_up(WARP_ALL, sum, delta);
            sum += LANE >= delta ? other : 0;
        }
        uint32_t start = next + sum - count;
        if (own < c->end) {
            cell_set(c, own, start);
            if (start >= c->first)
                atomic_or32(&c->begins[start / 32], (uint32_t)1 << start % 32);
        }
        next += warp_shuffle(WARP_ALL, sum, WARP_SIZE - 1);
    }
    warp_barrier(WARP_ALL);
}

/* Computes the progress before every record of first .. last. */
DEVICE void record_progress(struct chain *c)
{
    const chains *a = c->a;
    uint32_t record = c->first / CHAINS_STRIDE;
    for (uint32_t w = LANE; w < a->warps; w += WARP_SIZE)
        c->warp_words[w] = (uint32_t)c->progress[record * a->warps + w] << 16;
    warp_barrier(WARP_ALL);
    for (; (record + 1) * CHAINS_STRIDE < c->last; record++) {
        add_progress(c, record * CHAINS_STRIDE, CHAINS_STRIDE);
        for (uint32_t w = LANE; w < a->warps; w += WARP_SIZE)
            c->progress[(record + 1) * a->warps + w] = (uint16_t)(c->warp_words[w] >> 16);
        warp_barrier(WARP_ALL);
    }
}

/* Makes the candidate the order, sorted by cycle unless as published. */
DEVICE void take_order(struct chain *c)
{
    warp_barrier(WARP_ALL); /* all lanes have read what is written now */
    if (c->a->published) {
        for (uint32_t i = c->from + LANE; i < c->to; i += WARP_SIZE)
            c->order[i] = c->candidate[i - c->from];
        warp_barrier(WARP_ALL);
        return;
    }
    clear_begins(c);
    spread_chain(c);
    for (uint32_t i = c->first + LANE; i < c->last; i += WARP_SIZE)
        c->sorted[cell_get(c, c->cycles[i]) + c->ranks[i]] = (uint8_t)chain_entry(c, i);
    warp_barrier(WARP_ALL);
    for (uint32_t i = c->first + LANE; i < c->last; i += WARP_SIZE)
        c->order[i] = c->sorted[i];
    warp_barrier(WARP_ALL);
    record_progress(c);
}

/* Makes one evaluation. */
DEVICE void chain_step(struct chain *c, struct chains_head *head, uint8_t *best)
{
    const chains *a = c->a;
    struct chain_random random;
    random.state = head->random;
    draw_move(c, &random);
    move_window(c);
    trim_window(c);
    bool differs = c->first < c->last;
    if (a->published)
        c->first = 0;
    uint32_t value = differs ? measure_chain(c, head->value) : head->value;
    bool worse = a->least ? value > head->value : value < head->value;
    uint32_t loss = value > head->value ? value - head->value : head->value - value;
    uint32_t heat = chain_heat(head->start, head->step, a->evaluations);
    head->step++;
    if (!worse || chain_accepts(&random, a->published != 0, heat, loss)) {
        head->value = value;
        if (differs)
            take_order(c);
        if (a->least ? value < head->best : value > head->best) {
            head->best = value;
            for (uint32_t i = LANE; i < a->work; i += WARP_SIZE)
                best[i] = c->order[i];
        }
    }
    warp_barrier(WARP_ALL);
    head->random = random.state;
}

DEVICE void chain_run(const chains *a, uint32_t number, uint8_t *place, bool wide)
{
    struct chains_head *heads = GPU_POINTER(struct chains_head, a->heads);
    uint8_t *best = GPU_POINTER(uint8_t, a->best) + number * a->best_stride;
    struct chains_head head = heads[number];
    struct chain c;
    chain_open(&c, a, place);
    c.wide = wide;
    for (uint64_t step = 0; step < a->steps && head.step < a->evaluations; step++)
        chain_step(&c, &head, best);
    if (LANE == 0)
        heads[number] = head;
}

KERNEL_BOUNDED(makespan_chains, struct chains_arguments, CHAINS_THREADS, CHAINS_BLOCKS)
{
    uint32_t number = (BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX) / WARP_SIZE;
    uint8_t *place = GPU_POINTER(uint8_t, a.places) + number * a.stride;
    if (number >= a.chains)
        return;
    if (a.wide)
        chain_run(&a, number, place, true);
    else
        chain_run(&a, number, place, false);
}

KERNEL_BOUNDED(makespan_chains_shared, struct chains_arguments, CHAINS_THREADS, CHAINS_BLOCKS)
{
    SHARED_DYNAMIC(uint64_t, shared);
    uint32_t number = (BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX) / WARP_SIZE;
    if (number >= a.chains)
        return;
    uint64_t *place = GPU_POINTER(uint64_t, a.places) + number * (a.stride / 8);
    uint64_t *own = shared + THREAD_INDEX / WARP_SIZE * (a.stride / 8);
    for (uint32_t i = LANE; i < a.lasting / 8; i += WARP_SIZE)
        own[i] = place[i];
    warp_barrier(WARP_ALL);
    if (a.wide)
        chain_run(&a, number, (uint8_t *)own, true);
    else
        chain_run(&a, number, (uint8_t *)own, false);
    for (uint32_t i = LANE; i < a.lasting / 8; i += WARP_SIZE)
        place[i] = own[i];
}
