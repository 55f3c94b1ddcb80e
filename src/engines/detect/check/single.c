/*
 * Checks single-unit snapshots. Every process waits for at most one resource, and every resource
 * has at most one holder, so every process leads to at most one other. Deadlocks are the cycles; a
 * process is dead if it leads into one.
 *
 * The only cost here is memory latency: ten million processes are ten million places that no cache
 * holds. Therefore a thread follows many chains at a time, one step of each in turn, and every
 * process is touched once:
 *
 *   1. next[p] is the process that p waits for (CHASED | RUNS for one that can run).
 *   2. A *chase* starts at a process that no chase has passed. It follows next[] and leaves its
 *      number there, until it comes to a numbered process: of an earlier chase, of one still under
 *      way, or of itself.
 *   3. So every chase leads into one other (or into a running process), and the chases that lead
 *      into each other in a circle are exactly the cycles: a path that enters a chase follows it to
 *      its end.
 *   4. A cycle is cut into pieces where chases meet. The pieces are walked, again many at a time,
 *      and joined (single_cycles.c).
 *
 * Several threads do each of these steps together and wait for each other in between. The chases
 * then differ from run to run; the cycles, and the processes that lead into them, do not.
 */
#include "engines/detect/check/single.h"

#include "foundation/base/bits.h"

#include <string.h>

#define STRETCH 65536 /* processes that a member searches for starting points at a time */
#define CHASES  4096  /* chases whose fates a member settles at a time */

#define MEMBERS_MOST 128 /* a fate can name the member on the way */

bool single_do(struct single *single, void (*work)(void *single, unsigned member))
{
    bool fine = true;
    thread_group_do(&single->group, work, single);
    for (unsigned i = 0; i < single->group.members; i++)
        fine &= !single->shares[i].no_memory;
    return fine;
}

static bool add_chase(struct chase_list *list, uint32_t chase, const gordian_allocator *memory)
{
    if (!memory_grow(memory, &list->chases, &list->room, list->count + 1, sizeof *list->chases))
        return false;
    list->chases[list->count++] = chase;
    return true;
}

/* ------------------------------------------------------------------ chases */

static void build_next(void *context, unsigned member)
{
    struct single *single = context;
    const uint32_t *wait = single->snapshot->wait, *holder = single->snapshot->holder;
    uint32_t *next = single->next;
    uint64_t begin, end;
    (void)member;
    while (
        thread_group_take(&single->group, single->snapshot->process_count, STRETCH, &begin, &end)) {
        for (uint64_t p = begin; p < end; p++) {
            uint32_t target = wait[p] == NONE ? NONE : holder[wait[p]];
            next[p] = target == NONE ? CHASED | RUNS : target;
        }
    }
}

struct lane {
    uint32_t at;    /* the next process */
    uint32_t chase; /* its number */
    uint32_t length;
};

/* Opens a new block of chases and claims its place in the directory. */
static bool open_block(struct single *single, struct share *share)
{
    struct chase *block = memory_alloc(single->memory, CHASE_BLOCK * sizeof *block);
    if (!block) {
        share->no_memory = true;
        return false;
    }
    uint32_t number = __atomic_fetch_add(&single->block_count, 1, __ATOMIC_RELAXED);
    single->blocks[number] = share->block = block;
    share->chase = number << CHASE_BITS;
    share->block_end = share->chase + CHASE_BLOCK;
    return true;
}

/* Begins a chase at the next process that no chase has passed. */
static inline bool begin_chase(struct single *single, struct share *share, struct lane *lane)
{
    const uint32_t *next = single->next;
    uint32_t p = share->from;
    for (;;) {
        while (p < share->until && __atomic_load_n(&next[p], __ATOMIC_RELAXED) & CHASED)
            p++;
        if (p < share->until)
            break;
        uint64_t begin, end;
        if (!thread_group_take(&single->group, single->snapshot->process_count, STRETCH, &begin,
                               &end))
            return false;
        p = (uint32_t)begin;
        share->until = (uint32_t)end;
    }
    share->from = p + 1;
    if (share->chase == share->block_end && !open_block(single, share))
        return false;
    *lane = (struct lane){.at = p, .chase = share->chase++};
    return true;
}

/* Two members may pass a process at the same moment: each has read that no chase has passed it.
 * Then both number it, one number stays, and both go on to the same next process until one sees the
 * other's number. An exchange would prevent that at twice the total cost. It does no harm: both
 * chases lead to where that process leads. Only lengths count processes twice, and a cycle may be
 * found twice. */
static void chase_all(void *context, unsigned member)
{
    struct single *single = context;
    struct share *share = &single->shares[member];
    uint32_t *next = single->next, lane_count = 0;
    struct lane lanes[LANES];
    while (lane_count < LANES && begin_chase(single, share, &lanes[lane_count]))
        lane_count++;
    while (lane_count > 0) {
        for (uint32_t i = 0; i < lane_count; i++) {
            struct lane *lane = &lanes[i];
            uint32_t target = __atomic_load_n(&next[lane->at], __ATOMIC_RELAXED);
            if (!(target & CHASED)) {
                __atomic_store_n(&next[lane->at], CHASED | lane->chase, __ATOMIC_RELAXED);
                lane->length++;
                lane->at = target;
                __builtin_prefetch(&next[target], 1);
                continue;
            }
            *single_chase(single, lane->chase) =
                (struct chase){target & ~CHASED, lane->at, lane->length};
            if (!begin_chase(single, share, lane))
                *lane = lanes[--lane_count];
        }
    }
    /* Unused numbers lead nowhere. */
    for (; share->chase < share->block_end; share->chase++)
        share->block[share->chase % CHASE_BLOCK] = (struct chase){RUNS, 0, 0};
}

static bool follow_all(struct single *single)
{
    const gordian_allocator *memory = single->memory;
    size_t count = single->snapshot->process_count;
    size_t blocks = count / CHASE_BLOCK + single->group.members + 1;
    single->next = memory_alloc_random(memory, sizeof *single->next * count);
    single->blocks = memory_alloc(memory, sizeof *single->blocks * blocks);
    if (!single->next || !single->blocks || !single_do(single, build_next))
        return false;
    struct share *first = &single->shares[0];
    if (!open_block(single, first))
        return false;
    first->block[first->chase++] = (struct chase){RUNS, 0, 0};
    bool fine = single_do(single, chase_all);
    single->chase_count = single->block_count << CHASE_BITS;
    return fine;
}

/* ------------------------------------------------------------------ fates */

enum fate {
    UNKNOWN,
    ALIVE,
    DEAD,
    DEFERRED,  /* leads to where another member was under way */
    UNDER_WAY, /* UNDER_WAY + m: on the current walk of member m */
};

/* Marks a chase as passed on a walk. Returns false if it has another mark. */
static inline bool pass_chase(struct single *single, uint32_t chase, uint8_t mine)
{
    uint8_t *fate = &single->fates[chase], unknown = UNKNOWN;
    if (__atomic_load_n(fate, __ATOMIC_RELAXED) != UNKNOWN)
        return false;
    if (single->group.members > 1)
        return __atomic_compare_exchange_n(fate, &unknown, mine, false, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED);
    *fate = mine;
    return true;
}

/* Follows chase after chase from `from`, until it reaches a chase whose fate is known or one that
 * this walk has visited, which is a cycle. All chases on the way share this fate. If the walk meets
 * the walk of another member, the decision is deferred. */
static void settle_chase(struct single *single, unsigned member, uint32_t from)
{
    struct share *share = &single->shares[member];
    const uint8_t mine = (uint8_t)(UNDER_WAY + member);
    uint32_t at = from;
    while (pass_chase(single, at, mine))
        at = single_chase(single, at)->into;
    uint8_t fate = __atomic_load_n(&single->fates[at], __ATOMIC_RELAXED);
    bool fine = true;
    if (at == from && fate != mine)
        return;
    if (fate == mine) {
        fate = DEAD;
        fine = add_chase(&share->circular, at, single->memory);
    } else if (fate >= DEFERRED) {
        fate = DEFERRED;
        fine = add_chase(&share->deferred, from, single->memory);
    }
    for (at = from; __atomic_load_n(&single->fates[at], __ATOMIC_RELAXED) == mine;) {
        const struct chase *chase = single_chase(single, at);
        __atomic_store_n(&single->fates[at], fate, __ATOMIC_RELAXED);
        if (fate == DEAD)
            share->dead += chase->length;
        at = chase->into;
    }
    share->no_memory |= !fine;
}

static void settle_some(void *context, unsigned member)
{
    struct single *single = context;
    uint64_t begin, end;
    while (!single->shares[member].no_memory &&
           thread_group_take(&single->group, single->chase_count, CHASES, &begin, &end))
        for (uint64_t c = begin; c < end; c++)
            settle_chase(single, member, (uint32_t)c);
}

/* Packs eight fates into eight bits. */
static void gather_bits(void *context, unsigned member)
{
    struct single *single = context;
    uint64_t begin, end;
    (void)member;
    while (thread_group_take(&single->group, single->chase_count / 64, CHASES / 64, &begin, &end)) {
        for (uint64_t word = begin; word < end; word++) {
            const uint8_t *fates = single->fates + 64 * word;
            uint64_t bits = 0;
            for (unsigned i = 0; i < 64; i++)
                bits |= (uint64_t)(fates[i] == DEAD) << i;
            single->dead[word] = bits;
        }
    }
}

/* Joins the members' lists of one kind. */
static bool join_circular(struct single *single)
{
    for (unsigned i = 0; i < single->group.members; i++) {
        const struct chase_list *found = &single->shares[i].circular;
        for (size_t k = 0; k < found->count; k++)
            if (!add_chase(&single->circular, found->chases[k], single->memory))
                return false;
    }
    return true;
}

static bool settle_chases(struct single *single)
{
    const gordian_allocator *memory = single->memory;
    single->fates = memory_zeroed(memory, single->chase_count);
    single->dead = memory_alloc(memory, bits_words(single->chase_count) * sizeof *single->dead);
    if (!single->fates || !single->dead)
        return false;
    single->fates[RUNS] = ALIVE;
    if (!single_do(single, settle_some))
        return false;
    /* One thread settles the few walks that met. */
    for (unsigned i = 0; i < single->group.members; i++) {
        const struct chase_list *deferred = &single->shares[i].deferred;
        for (size_t k = 0; k < deferred->count; k++)
            for (uint32_t at = deferred->chases[k]; single->fates[at] == DEFERRED;
                 at = single_chase(single, at)->into)
                single->fates[at] = UNKNOWN;
    }
    for (unsigned i = 0; i < single->group.members; i++) {
        const struct chase_list *deferred = &single->shares[i].deferred;
        for (size_t k = 0; k < deferred->count; k++)
            settle_chase(single, 0, deferred->chases[k]);
    }
    if (single->shares[0].no_memory || !join_circular(single))
        return false;
    if (single->circular.count > 0)
        single_do(single, gather_bits);
    memory_free(memory, single->fates);
    single->fates = NULL;
    return true;
}

/* ------------------------------------------------------------------ the dead */

static inline bool leads_into_cycle(const struct single *single, uint64_t process)
{
    return bits_test(single->dead, single->next[process] & ~CHASED);
}

/* From here on next[] is NONE for a dead process, and any other value for the others. */
static void count_share_dead(void *context, unsigned member)
{
    struct single *single = context;
    uint64_t begin, end;
    size_t count = 0;
    thread_group_range(&single->group, member, single->snapshot->process_count, &begin, &end);
    for (uint64_t p = begin; p < end; p++) {
        bool dead = leads_into_cycle(single, p);
        single->next[p] = dead ? NONE : 0;
        count += dead;
    }
    single->shares[member].dead = count;
}

static void write_share_dead(void *context, unsigned member)
{
    struct single *single = context;
    uint64_t begin, end;
    uint32_t *list = single->result->deadlocked + single->shares[member].dead;
    thread_group_range(&single->group, member, single->snapshot->process_count, &begin, &end);
    for (uint64_t p = begin; p < end; p++)
        if (single->next[p] == NONE)
            *list++ = (uint32_t)p;
}

static bool list_dead(struct single *single)
{
    struct check_result *result = single->result;
    /* Count the dead: the total, and for each member the number that earlier members have found. */
    size_t count = 0;
    if (single->group.members > 1 && single->circular.count > 0)
        single_do(single, count_share_dead);
    for (unsigned i = 0; i < single->group.members; i++) {
        size_t own = single->shares[i].dead;
        single->shares[i].dead = count;
        count += own;
    }
    uint32_t *list = memory_alloc(single->memory, sizeof *list * (count + 1));
    if (!list)
        return false;
    result->deadlocked = list;
    result->report.deadlocked = list;
    result->report.deadlocked_count = count;
    if (count > 0 && single->group.members == 1) {
        /* A single member knows how many there are and needs one pass. The list has one element
         * more, because the loop writes before it decides. */
        list = single->result->deadlocked, count = single->snapshot->process_count;
        size_t used = 0;
        for (uint32_t p = 0; p < count; p++) {
            list[used] = p;
            used += leads_into_cycle(single, p);
        }
        for (size_t i = 0; i < used; i++)
            single->next[list[i]] = NONE;
    } else if (count > 0)
        single_do(single, write_share_dead);
    return true;
}

/* ------------------------------------------------------------------ all */

bool check_single(const gordian_snapshot *snapshot, unsigned threads, struct check_result *result)
{
    struct single single = {.snapshot = snapshot, .memory = &snapshot->memory, .result = result};
    thread_group_open(&single.group, threads < MEMBERS_MOST ? threads : MEMBERS_MOST,
                      single.memory);
    single.shares = memory_zeroed(single.memory, sizeof *single.shares * single.group.members);
    bool fine = single.shares && follow_all(&single) && settle_chases(&single) &&
                list_dead(&single) && single_list_cycles(&single);
    const gordian_allocator *memory = single.memory;
    for (uint32_t i = 0; i < single.block_count; i++)
        memory_free(memory, single.blocks[i]);
    for (unsigned i = 0; i < single.group.members && single.shares; i++)
        memory_free_all(memory, single.shares[i].circular.chases, single.shares[i].deferred.chases);
    memory_free_all(memory, single.shares, single.next, single.blocks, single.fates, single.dead,
                    single.circular.chases, single.cycles, single.pieces, single.walked);
    thread_group_close(&single.group);
    if (!fine)
        check_result_free(result, &snapshot->memory);
    return fine;
}
