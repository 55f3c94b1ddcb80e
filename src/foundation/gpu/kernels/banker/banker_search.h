/*
 * The safety algorithm by one block, after Holt. It is used when few processes are freed at a time.
 *
 * Every thread has some columns, adjacent resources, and for each a pointer into the resource's
 * order: the entries before it need no more than `work`. Every process has a count of the resources
 * it is short of. When a process releases what it holds, each thread adds its part, moves its
 * pointers on as far as `work` now reaches, and decrements the count of every process it passes. A
 * process whose count becomes zero is queued. All that are in the queue at a time are one *level*,
 * the same as a round of the whole grid. A level costs one barrier of the block, and every cell is
 * visited once in all.
 *
 * Latency dominates: the next processes to be freed are known only at the end of a level, and then
 * the rows they hold have to be fetched. So the rest is kept short: few warps with several columns
 * a lane; one vote by which a warp without work finds that out; the next entries of every order in
 * a *window* in shared memory, refilled while others are waited for; counts in shared memory if
 * they fit. The next process to be freed is guessed a level before, so its row has been requested
 * by then, and only a wrong guess has to wait for another.
 */
#pragma once

#include "foundation/gpu/kernels/banker/banker_rounds.h"

/* Words of a level's record in shared memory. Few in the emulator, so that tests see members that
 * do not fit. */
#ifdef __CUDACC__
#define RECORD 128u
#else
#define RECORD 8u
#endif

enum {
    RECORD_COUNT,    /* of the members */
    RECORD_GUESS,    /* the process that may be freed next: the next one in the order in which the
                        first member was passed last; or BANKER_NONE */
    RECORD_RESOURCE, /* of that order; valid with a guess only */
    RECORD_RANK,     /* in it, of the guess */
    RECORD_MEMBERS,  /* as many as fit */
};

#define LATER 8u /* rows are fetched this many ranks after the guess */

#define OWN_FITS 0x80000000u /* in a record's number: the process in question is among them */

/* An entry is in the window slot of its rank modulo the length. Windows are filled by halves: at
 * the start of a level at least a half is there, from the pointer on. `window` below is the length,
 * a constant in each of the calls; 0: there is none, and entries are read from device memory. */
#define PITCH(window) ((window) + CHUNK)
#define CHUNK         (16u / (uint32_t)sizeof(entry)) /* entries copied at a time */

/* SPAN adjacent resources. */
struct columns {
    unit work[SPAN];
    unit own[SPAN]; /* the need of the process in question, minus one: more than any work if it is
                       not, or no longer, short */
    uint32_t pointer[SPAN];
    uint32_t filled[SPAN]; /* the window has the order up to here */
    entry next[SPAN];      /* at the pointer */
    uint32_t guessed;      /* the holdings of this process were requested a level ago */
};

/* The size that the host reserves for each resource. */
typedef char columns_fit[sizeof(struct columns) <= SPAN * BANKER_COLUMN_BYTES ? 1 : -1];

struct search {
    const banker *a;
    uint32_t process; /* in question; BANKER_NONE: none */
    const unit *own;  /* what it needs */
    bool record;      /* rounds */
    uint32_t round;   /* number of the round of the processes that are freed now */

    uint32_t *queue;
    uint32_t head, count; /* the current level within the queue */
    uint32_t later;       /* the process whose row may be needed in some levels; of the last warp */

    struct columns *columns; /* beyond one span a thread */
    uint32_t *counts;        /* if they are not in shared memory */
    /* In shared memory: */
    uint32_t *small_counts;       /* of 16 bits, or with windows of 32 */
    span *ahead;                  /* by thread: what the guessed process holds */
    entry *windows;               /* by thread, and again for the next column of each */
    uint32_t *now, *then, *spare; /* records: of this level, the next, and the previous */
    uint32_t *own_short;          /* [0]: resources the process in question is short of */
};

DEVICE uint32_t span_count(const banker *a)
{
    return (a->resources + SPAN - 1) / SPAN;
}

/* ------------------------------------------------------------------ counts */

/* Subtracts `less` from the count and returns what is left. */
DEVICE uint32_t count_down(const struct search *s, uint32_t process, uint32_t less, uint32_t window)
{
    if (window || s->a->window) /* columns beyond the first are in device memory all the same */
        return atomic_add32(&s->small_counts[process], 0u - less) - less;
    if (s->a->small_counts) {
        uint32_t shift = process % 2 * 16;
        uint32_t old = atomic_add32(&s->small_counts[process / 2], 0u - (less << shift));
        return (old >> shift & 0xffffu) - less;
    }
    return atomic_add32(&s->counts[process], 0u - less) - less;
}

/* By the block: copies the counts for a search, with the process in question out of reach. */
DEVICE void copy_counts(const struct search *s)
{
    const banker *a = s->a;
    const uint32_t *from = GPU_POINTER(const uint32_t, a->counts);
    uint32_t out_of_reach = a->resources + 1;
    if (a->window) {
        for (uint32_t i = THREAD_INDEX; i < a->processes; i += BLOCK_SIZE)
            s->small_counts[i] = i == s->process ? out_of_reach : from[i];
    } else if (a->small_counts) {
        for (uint32_t i = 2 * THREAD_INDEX; i < a->processes; i += 2 * BLOCK_SIZE) {
            uint32_t low = i == s->process ? out_of_reach : from[i], high = 0;
            if (i + 1 < a->processes)
                high = i + 1 == s->process ? out_of_reach : from[i + 1];
            s->small_counts[i / 2] = high << 16 | low;
        }
    } else if (s->counts != from) {
        for (uint32_t i = THREAD_INDEX; i < a->processes; i += BLOCK_SIZE)
            s->counts[i] = i == s->process ? out_of_reach : from[i];
    }
}

/* ------------------------------------------------------------------ orders */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define COPY_AHEAD(to, from, how)                                                                  \
    asm volatile("cp.async." how ";" ::"r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from)      \
                 : "memory")
#define COPIES(what) asm volatile("cp.async." what ";" ::: "memory")
#else
#define COPIES(what)
#endif

/* Starts an asynchronous copy of 16 bytes to shared memory, for the calling thread only. */
DEVICE void copy_entries(entry *to, const entry *from)
{
#ifdef COPY_AHEAD
    COPY_AHEAD(to, from, "cg.shared.global [%0], [%1], 16");
#else
    for (uint32_t i = 0; i < CHUNK; i++)
        to[i] = from[i];
#endif
}

DEVICE void copy_span(span *to, const span *from)
{
#ifdef COPY_AHEAD
    if (sizeof(span) == 16)
        COPY_AHEAD(to, from, "cg.shared.global [%0], [%1], 16");
    else
        COPY_AHEAD(to, from, "ca.shared.global [%0], [%1], 8");
#else
    *to = *from;
#endif
}

/* Ends a batch of copies. Each level has two: the guessed row, then the orders. */
DEVICE void copies_close(void)
{
    COPIES("commit_group");
}

/* Waits until all batches except the last one have arrived. */
DEVICE void copies_wait_but_one(void)
{
    COPIES("wait_group 1");
}

DEVICE void copies_wait(void)
{
    COPIES("wait_all");
}

DEVICE const entry *order_of(const struct search *s, uint32_t resource)
{
    return GPU_POINTER(const entry, s->a->order) + (uint64_t)resource * s->a->process_room;
}

/* A thread's windows are a block's width apart, so that adjacent lanes use different banks. */
DEVICE entry *window_of(const struct search *s, uint32_t i, uint32_t window)
{
    return s->windows + (i * BLOCK_SIZE + THREAD_INDEX) * PITCH(window);
}

DEVICE entry next_entry(const struct search *s, const struct columns *c, uint32_t first, uint32_t i,
                        uint32_t window)
{
    return window ? window_of(s, i, window)[c->pointer[i] % window]
                  : order_of(s, first + i)[c->pointer[i]];
}

/* Requests the halves that have been passed. */
DEVICE void fill_windows(const struct search *s, struct columns *c, uint32_t first, uint32_t window)
{
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        while ((int32_t)(c->filled[i] - c->pointer[i]) <= (int32_t)(window / 2)) {
            const entry *from = order_of(s, first + i) + c->filled[i];
            entry *to = window_of(s, i, window) + c->filled[i] % window;
            UNROLL
            for (uint32_t k = 0; k < window / 2; k += CHUNK)
                copy_entries(to + k, from + k);
            c->filled[i] += window / 2;
        }
}

/* Moves the pointers of these columns. */
DEVICE void step_columns(const struct search *s, struct columns *c, uint32_t first,
                         const bool *which, uint32_t window)
{
    bool empty = false;
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        if (which[i]) {
            c->pointer[i]++;
            empty |= c->pointer[i] == c->filled[i];
        }
    if (window && empty) {
        fill_windows(s, c, first, window);
        copies_wait();
    }
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        if (which[i])
            c->next[i] = next_entry(s, c, first, i, window);
}

/* ------------------------------------------------------------------ a level */

DEVICE void retire_process(const struct search *s, uint32_t process, uint32_t flag, uint32_t guess,
                           uint32_t resource, uint32_t rank)
{
    uint32_t place = atomic_add32(&s->then[RECORD_COUNT], 1 + flag) & ~OWN_FITS;
    if (RECORD_MEMBERS + place < RECORD)
        s->then[RECORD_MEMBERS + place] = process;
    else
        s->queue[s->head + s->count + place] = process;
    if (place == 0) {
        s->then[RECORD_GUESS] = guess;
        s->then[RECORD_RESOURCE] = resource;
        s->then[RECORD_RANK] = rank;
    }
}

/* Finds the columns whose next process is within `work`, and returns whether there are any. */
DEVICE bool due_columns(const struct search *s, const struct columns *c, bool *due)
{
    bool any = false;
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++) {
        due[i] = entry_need(c->next[i]) <= c->work[i] && c->pointer[i] < s->a->process_room;
        any |= due[i];
    }
    return any;
}

/* Returns whether all due columns in the warp have the same process, which is *process. By the
 * given lanes of a warp. */
DEVICE bool all_the_same(const struct columns *c, const bool *due, uint32_t lanes,
                         uint32_t *process)
{
    uint32_t mine = 0;
    bool same = true;
    UNROLL
    for (uint32_t i = SPAN; i-- > 0;)
        mine = due[i] ? entry_process(c->next[i]) : mine;
    mine = warp_shuffle(WARP_ALL, mine, find_first32(lanes));
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        same = same && (!due[i] || entry_process(c->next[i]) == mine);
    *process = mine;
    return warp_all(WARP_ALL, same);
}

/* The processes passed in a lane's columns, and the old values of their counts. Those take time to
 * arrive, so everything else is done before they are used. */
struct passed {
    uint32_t process[SPAN], left[SPAN];
};

DEVICE void none_passed(struct passed *p)
{
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        p->left[i] = 1;
}

/* Processes whose count became zero are freed; the next ones there may be freed soon. */
DEVICE void retire_passed(const struct search *s, const struct columns *c, uint32_t first,
                          const struct passed *p)
{
    bool freed = false;
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        freed |= p->left[i] == 0;
    if (!freed)
        return;
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        if (p->left[i] == 0) {
            bool more = c->pointer[i] < s->a->process_room;
            retire_process(s, p->process[i], 0, more ? entry_process(c->next[i]) : BANKER_NONE,
                           first + i, c->pointer[i]);
        }
}

/* Called by the due lanes of a warp: all their columns pass this process, so one lane counts for
 * all of them. */
DEVICE void count_together(const struct search *s, uint32_t process, const bool *due,
                           uint32_t lanes, struct passed *p, uint32_t window)
{
    uint32_t mine = 0;
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        mine += due[i];
    uint32_t all = warp_reduce_add(WARP_ALL, mine);
    none_passed(p);
    if (LANE != find_first32(lanes))
        return;
    uint32_t left = count_down(s, process, all, window);
    bool done = false;
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++) {
        p->process[i] = process;
        p->left[i] = due[i] && !done ? left : 1;
        done |= due[i];
    }
}

/* Counts for each column separately. */
DEVICE void count_apart(const struct search *s, const struct columns *c, const bool *due,
                        struct passed *p, uint32_t window)
{
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++) {
        p->process[i] = entry_process(c->next[i]);
        p->left[i] = 1;
        if (due[i])
            p->left[i] = count_down(s, p->process[i], 1, window);
    }
}

/* Moves the pointers as far as `work` reaches. Lanes often pass the same process together; once
 * they do not, this is not checked again in this level. By a warp; `any`: some of the lane's
 * columns are due. */
DEVICE void advance_columns(const struct search *s, struct columns *c, uint32_t first, bool *due,
                            bool any, uint32_t window)
{
    struct passed p;
    uint32_t lanes, process;
    none_passed(&p);
    while ((lanes = warp_ballot(WARP_ALL, any)) && all_the_same(c, due, lanes, &process)) {
        retire_passed(s, c, first, &p);
        count_together(s, process, due, lanes, &p, window);
        step_columns(s, c, first, due, window);
        any = due_columns(s, c, due);
    }
    while (warp_any(WARP_ALL, any)) {
        retire_passed(s, c, first, &p);
        count_apart(s, c, due, &p, window);
        step_columns(s, c, first, due, window);
        any = due_columns(s, c, due);
    }
    if (window)
        fill_windows(s, c, first, window);
    retire_passed(s, c, first, &p);
}

/* The process in question is short of one or more resources less. By a warp. */
DEVICE void meet_own(const struct search *s, struct columns *c)
{
    uint32_t met = 0;
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        if (c->own[i] < c->work[i]) {
            c->own[i] = ~(unit)0;
            met++;
        }
    met = warp_reduce_add(WARP_ALL, met);
    if (LANE == 0 && atomic_add32(s->own_short, 0u - met) == met)
        retire_process(s, s->process, OWN_FITS, BANKER_NONE, 0, 0);
}

/* Adds what this level's members release, and requests what the next level may need. */
DEVICE void gain_units(const struct search *s, struct columns *c, uint32_t index, uint32_t window)
{
    const span *held = GPU_POINTER(const span, s->a->held) + index;
    const uint64_t row = s->a->stride / SPAN;
    const uint32_t guess = s->now[RECORD_GUESS];
    bool own = false;
    UNROLL_BY4
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t process =
            RECORD_MEMBERS + i < RECORD ? s->now[RECORD_MEMBERS + i] : s->queue[s->head + i];
        bool known = window && process == c->guessed;
        add_span(c->work, known ? s->ahead[THREAD_INDEX] : held[process * row]);
        own |= process == s->a->process;
    }
    if (own)
        add_span(c->work, GPU_POINTER(const span, s->a->taken)[index]);
    c->guessed = guess;
    if (window && guess != BANKER_NONE)
        copy_span(&s->ahead[THREAD_INDEX], &held[guess * row]);
}

/* A level, in the columns of a span for each lane. By a warp; `there`: the lane has one. */
DEVICE void pass_level(const struct search *s, struct columns *c, uint32_t index, bool there,
                       uint32_t window)
{
    bool met = false;
    if (window)
        copies_wait_but_one(); /* the guessed row */
    if (there)
        gain_units(s, c, index, window);
    if (window)
        copies_close();
    bool due[SPAN], any = due_columns(s, c, due);
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        met |= c->own[i] < c->work[i];
    if (warp_any(WARP_ALL, met || any)) {
        if (warp_any(WARP_ALL, met))
            meet_own(s, c);
        if (window)
            copies_wait_but_one(); /* the orders */
        advance_columns(s, c, SPAN * index, due, any, window);
    }
    if (window)
        copies_close();
}

/* ------------------------------------------------------------------ from start to end */

/* Columns that do not exist have a pointer at the end. */
DEVICE void no_columns(const struct search *s, struct columns *c)
{
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++) {
        c->work[i] = 0;
        c->own[i] = ~(unit)0;
        c->pointer[i] = s->a->process_room;
        c->filled[i] = s->a->process_room + BANKER_WINDOW_MOST;
        c->next[i] = make_entry(~(unit)0, BANKER_NONE);
    }
    c->guessed = BANKER_NONE;
}

/* Counts the resources that the process in question is short of. */
DEVICE uint32_t open_columns(const struct search *s, struct columns *c, uint32_t index,
                             const unit *start, uint32_t window)
{
    uint32_t lacking = 0;
    no_columns(s, c);
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++) {
        uint32_t resource = SPAN * index + i;
        if (resource >= s->a->resources)
            continue;
        c->work[i] = start[resource];
        c->pointer[i] = GPU_POINTER(const uint32_t, s->a->pointer)[resource];
        if (window)
            c->filled[i] = c->pointer[i] / (window / 2) * (window / 2);
        if (s->process != BANKER_NONE && s->own[resource] > c->work[i]) {
            c->own[i] = s->own[resource] - 1;
            lacking++;
        }
    }
    if (window) {
        copies_wait(); /* an earlier search may have left copies under way */
        fill_windows(s, c, SPAN * index, window);
        copies_wait();
    }
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        if (SPAN * index + i < s->a->resources)
            c->next[i] = next_entry(s, c, SPAN * index, i, window);
    return lacking;
}

/* By the block: sets up counts, columns, and what the process in question is short of. */
DEVICE void open_search(struct search *s, const unit *start, struct columns *home)
{
    const banker *a = s->a;
    uint32_t spans = span_count(a), lacking = 0;
    if (THREAD_INDEX == 0) {
        s->own_short[0] = 0;
        s->now[RECORD_COUNT] = s->then[RECORD_COUNT] = 0;
        s->now[RECORD_GUESS] = BANKER_NONE;
    }
    block_barrier();
    copy_counts(s);
    no_columns(s, home);
    if (THREAD_INDEX < spans)
        lacking = a->window == 16  ? open_columns(s, home, THREAD_INDEX, start, 16)
                  : a->window == 8 ? open_columns(s, home, THREAD_INDEX, start, 8)
                                   : open_columns(s, home, THREAD_INDEX, start, 0);
    for (uint32_t i = BLOCK_SIZE + THREAD_INDEX; i < spans; i += BLOCK_SIZE)
        lacking += open_columns(s, &s->columns[i], i, start, 0);
    if (lacking)
        atomic_add32(s->own_short, lacking);
    for (uint32_t i = THREAD_INDEX; i < s->count && RECORD_MEMBERS + i < RECORD; i += BLOCK_SIZE)
        s->now[RECORD_MEMBERS + i] = s->queue[s->head + i];
    s->later = BANKER_NONE;
    block_barrier();
}

/* A level in all columns. By the block. */
DEVICE void pass_all(const struct search *s, struct columns *home)
{
    uint32_t spans = span_count(s->a);
    if (s->a->window == 16)
        pass_level(s, home, THREAD_INDEX, THREAD_INDEX < spans, 16);
    else if (s->a->window == 8)
        pass_level(s, home, THREAD_INDEX, THREAD_INDEX < spans, 8);
    else
        pass_level(s, home, THREAD_INDEX, THREAD_INDEX < spans, 0);
    for (uint32_t base = BLOCK_SIZE; base < spans; base += BLOCK_SIZE) {
        uint32_t index = base + THREAD_INDEX;
        struct columns c;
        no_columns(s, &c);
        if (index < spans)
            c = s->columns[index];
        pass_level(s, &c, index, index < spans, 0);
        if (index < spans)
            s->columns[index] = c;
    }
}

/* Prefetches to the second-level cache. */
DEVICE void prefetch_line(const void *at)
{
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#else
    (void)at;
#endif
}

/* Work in parallel with a level: records the processes that the last one freed, and fetches the row
 * of a process that may be freed in some levels. By the last warp, to which the host assigns no
 * columns if possible. */
DEVICE void keep_books(struct search *s)
{
    const banker *a = s->a;
    const char *row = GPU_POINTER(const char, a->held) + s->later * a->stride * sizeof(unit);
    for (uint32_t i = LANE; s->record && i < s->count; i += WARP_SIZE) {
        bool recorded = RECORD_MEMBERS + i < RECORD;
        uint32_t process = recorded ? s->now[RECORD_MEMBERS + i] : s->queue[s->head + i];
        if (recorded)
            s->queue[s->head + i] = process;
        finish_round(a)[process] = s->round;
    }
    if (s->later != BANKER_NONE)
        for (uint32_t at = LANE * 128; at < a->stride * sizeof(unit); at += WARP_SIZE * 128)
            prefetch_line(row + at);
    uint64_t rank = (uint64_t)s->now[RECORD_RANK] + LATER;
    s->later = BANKER_NONE;
    if (s->count > 0 && s->now[RECORD_GUESS] != BANKER_NONE && rank < a->process_room)
        s->later = entry_process(order_of(s, s->now[RECORD_RESOURCE])[rank]);
}

/* Runs levels until no process is freed, or more than `most` at once, or (`stop`) the process in
 * question fits, which it returns. By a block. */
DEVICE bool run_search(struct search *s, struct columns *home, uint32_t most, bool stop)
{
    for (;;) {
        if (THREAD_INDEX == 0) /* last read before the last barrier */
            s->spare[RECORD_COUNT] = 0;
        pass_all(s, home);
        block_barrier();
        uint32_t freed = s->then[RECORD_COUNT], *passed = s->now;
        s->now = s->then;
        s->then = s->spare;
        s->spare = passed;
        s->head += s->count;
        s->count = freed & ~OWN_FITS;
        if (THREAD_INDEX / WARP_SIZE == BLOCK_SIZE / WARP_SIZE - 1)
            keep_books(s);
        s->round++;
        if (stop && (freed & OWN_FITS))
            return true;
        if (s->count == 0 || s->count > most)
            return false;
    }
}

/* Stores the final state for the rounds that follow. By a block. */
DEVICE void put_work(const struct search *s, const struct columns *home, unit *work)
{
    uint32_t spans = span_count(s->a);
    for (uint32_t index = THREAD_INDEX; index < spans; index += BLOCK_SIZE)
        UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        work[SPAN * index + i] = index < BLOCK_SIZE ? home->work[i] : s->columns[index].work[i];
}
