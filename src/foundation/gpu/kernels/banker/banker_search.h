/*
 * A search by one block: Holt's way, for when few are freed at a time.
 *
 * Every thread has some columns, resources that lie side by side, and for each a pointer into
 * the resource's order: those before it need no more than `work`. Every process has a count of the
 * resources it is short of. When somebody gives back what it holds, each thread adds its part,
 * moves its pointers on as far as `work` now reaches, and takes one off the count of everybody
 * passed; a count that gets to nothing puts its process into the queue. All who are in the queue at
 * once are one *level*, the same as a round of the whole grid; a level costs one barrier of the
 * block, and every cell is met once in all.
 *
 * Latency is everything here: who is freed next is known only at the end of a level, and
 * then there is the way to memory for the row it holds. So the rest is kept short: few warps with
 * several columns a lane, and one vote in which a warp that has nothing to do finds that out; the
 * next entries of every order in a *window* in shared memory, filled again from behind while others
 * are waited for; counts in shared memory, where they fit. And who is freed next is guessed, a
 * level before: its row is on its way by then, and only a wrong guess has to wait for another.
 */
#pragma once

#include "foundation/gpu/kernels/banker/banker_rounds.h"

/* Words of a level's record in shared memory. (Few in the emulator, so that the tests see members
 * that have no room there.) */
#ifdef __CUDACC__
#define RECORD 128u
#else
#define RECORD 8u
#endif

enum {
    RECORD_COUNT,    /* of the members */
    RECORD_GUESS,    /* who may well be freed next: who came next in the order in which the first
                        member was passed last; or BANKER_NONE */
    RECORD_RESOURCE, /* of that order; valid with a guess only */
    RECORD_RANK,     /* in it, of the guess */
    RECORD_MEMBERS,  /* as far as there is room */
};

#define LATER 8u /* so many ranks after the guess rows are fetched */

#define OWN_FITS 0x80000000u /* in a record's number: the process in question is among them */

/* A window's slot is an entry's rank modulo its length. It is filled by halves: at the start of a
 * level at least a half is there, from the pointer on. `window` below is its length, a constant in
 * each of the calls; 0: there is none, all is read from afar. */
#define PITCH(window) ((window) + CHUNK)
#define CHUNK         (16u / (uint32_t)sizeof(entry)) /* entries copied at once */

/* SPAN resources side by side. */
struct columns {
    unit work[SPAN];
    unit own[SPAN]; /* the need of the process in question, less one: more than any work,
                        where it is not, or no longer, short */
    uint32_t pointer[SPAN];
    uint32_t filled[SPAN]; /* the window has the order up to here */
    entry next[SPAN];      /* at the pointer */
    uint32_t guessed;      /* what this process holds was asked for a level ago */
};

/* What the host sets aside for each resource. */
typedef char columns_fit[sizeof(struct columns) <= SPAN * BANKER_COLUMN_BYTES ? 1 : -1];

struct search {
    const banker *a;
    uint32_t process; /* in question; BANKER_NONE: nobody */
    const unit *own;  /* what it needs */
    bool record;      /* rounds */
    uint32_t round;   /* of those freed now */

    uint32_t *queue;
    uint32_t head, count; /* of the queue: this level */
    uint32_t later;       /* whose row may be wanted some levels on; of the last warp */

    struct columns *columns; /* beyond one span a thread */
    uint32_t *counts;        /* where they are not in shared memory */
    /* In shared memory: */
    uint32_t *small_counts;       /* of 16 bits, or with windows of 32 */
    span *ahead;                  /* by thread: what the process guessed holds */
    entry *windows;               /* by thread, and again for the next column of each */
    uint32_t *now, *then, *spare; /* records: of this level, the next, and the last */
    uint32_t *own_short;          /* [0]: resources the process in question is short of */
};

DEVICE uint32_t span_count(const banker *a)
{
    return (a->resources + SPAN - 1) / SPAN;
}

/* ------------------------------------------------------------------ counts */

/* Takes `less` off the count: what is left. */
DEVICE uint32_t count_down(const struct search *s, uint32_t process, uint32_t less, uint32_t window)
{
    if (window || s->a->window) /* columns beyond the first are read from afar all the same */
        return atomic_add32(&s->small_counts[process], 0u - less) - less;
    if (s->a->small_counts) {
        uint32_t shift = process % 2 * 16;
        uint32_t old = atomic_add32(&s->small_counts[process / 2], 0u - (less << shift));
        return (old >> shift & 0xffffu) - less;
    }
    return atomic_add32(&s->counts[process], 0u - less) - less;
}

/* By the block: a search's own counts, with the process in question out of reach. */
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

/* 16 bytes on their way into shared memory, by a thread for itself. */
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

/* Ends a batch of copies. In each level there are two: the row guessed, then the orders. */
DEVICE void copies_close(void)
{
    COPIES("commit_group");
}

/* Until all batches but the last one are there. */
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

/* A thread's windows are a block's width apart, so that lanes side by side do not meet in a bank.
 */
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

/* Asks for the halves that have been passed. */
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

/* Moves the pointers of these columns on. */
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

/* Columns whose next process is within `work`. Are there any? */
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

/* Is everybody due in the warp the same? Who: in *process. By a warp, of which these lanes have
 * some. */
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

/* Who was passed in a lane's columns, and what was left of the counts: that takes its time to come
 * back, so all else is done before it is looked at. */
struct passed {
    uint32_t process[SPAN], left[SPAN];
};

DEVICE void none_passed(struct passed *p)
{
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        p->left[i] = 1;
}

/* Those of whose counts nothing was left are freed; who comes next there may well be soon. */
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

/* All columns due in the warp pass this process: one lane counts for all. By a warp, of which these
 * lanes are due. */
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
    bool told = false;
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++) {
        p->process[i] = process;
        p->left[i] = due[i] && !told ? left : 1;
        told |= due[i];
    }
}

/* Each column for itself. */
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

/* Moves the pointers as far as `work` reaches. Lanes often pass the same process together; when
 * they do not, they are not asked again in this level. By a warp; `any`: of its lane's columns are
 * due. */
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

/* The process in question is short of one resource less, or more. By a warp. */
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

/* Adds what this level's members give back, and asks for what the next one may. */
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

/* A level, in the columns of a span each lane. By a warp; `there`: the lane has one. */
DEVICE void pass_level(const struct search *s, struct columns *c, uint32_t index, bool there,
                       uint32_t window)
{
    bool met = false;
    if (window)
        copies_wait_but_one(); /* the row guessed */
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

/* Columns that are not there have a pointer at the end. */
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

/* Of how many the process in question is short. */
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
        copies_wait(); /* a search before may have left some under way */
        fill_windows(s, c, SPAN * index, window);
        copies_wait();
    }
    UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        if (SPAN * index + i < s->a->resources)
            c->next[i] = next_entry(s, c, SPAN * index, i, window);
    return lacking;
}

/* By the block: counts, columns, and by how much the process in question is short. */
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

/* Into the second-level cache. */
DEVICE void prefetch_line(const void *at)
{
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#else
    (void)at;
#endif
}

/* What can be done beside a level: writes down who was freed by the last one, and fetches the row
 * of somebody who may be in some levels. By the last warp, which the host leaves without columns
 * if it can. */
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

/* Levels until nobody is freed, or more than `most` at once, or (`stop`) the process in question
 * fits, which is what comes back. By a block. */
DEVICE bool run_search(struct search *s, struct columns *home, uint32_t most, bool stop)
{
    for (;;) {
        if (THREAD_INDEX == 0) /* read for the last time before the last barrier */
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

/* What there is at the end, for the rounds that follow. By a block. */
DEVICE void put_work(const struct search *s, const struct columns *home, unit *work)
{
    uint32_t spans = span_count(s->a);
    for (uint32_t index = THREAD_INDEX; index < spans; index += BLOCK_SIZE)
        UNROLL
    for (uint32_t i = 0; i < SPAN; i++)
        work[SPAN * index + i] = index < BLOCK_SIZE ? home->work[i] : s->columns[index].work[i];
}
