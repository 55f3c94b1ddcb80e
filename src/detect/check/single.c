/*
 * Single-unit snapshots: every process waits for at most one resource, every resource has at
 * most one holder, so every process leads to at most one other. Deadlocks are the
 * cycles; dead is who leads into one.
 *
 * All that costs here is waiting for memory: ten million processes are ten million places
 * no cache holds. So many chains are followed at a time, a step of each in turn, and every
 * process is touched once:
 *
 *   1. next[p] is the process p waits for (CHASED | RUNS for one that can run).
 *   2. A *chase* starts at a process nobody has passed, follows next[] and leaves its number
 *      there, until it comes to a process that is numbered already: by an earlier
 *      chase, by one still under way, or by itself.
 *   3. So every chase leads into one other (or into a process that runs), and the chases that
 *      lead round in a circle are exactly the cycles: who enters a chase goes on to its end.
 *   4. A cycle is cut into pieces where chases meet; the pieces are walked, again many at a
 *      time, and put together.
 */
#include "base/bits.h"
#include "detect/check/snapshot.h"

#include <string.h>

#define CHASED (UINT32_C(1) << 31) /* next[p] is the number of a chase, not a process */
#define RUNS   0                   /* the chase that ends at once: those who can run */

#define LANES 32 /* chains followed at a time: enough to keep every miss buffer of a core busy */

struct chase {
    uint32_t into;   /* the chase it led into */
    uint32_t at;     /* the process where it met it */
    uint32_t length; /* processes it passed */
};

/* A piece of a cycle: from `start` until `stop` comes next. */
struct piece {
    uint32_t start, stop;
    uint32_t *processes; /* room for as many as the chase passed */
    uint32_t *resources; /* what they wait for */
    uint32_t count;
};

struct cycle {
    size_t first_piece, piece_count;
    uint32_t smallest;  /* process */
    size_t smallest_at; /* how many come before it */
    size_t length;
};

struct single {
    const gordian_snapshot *snapshot;
    const gordian_allocator *memory;
    uint32_t *next;
    struct chase *chases;
    uint32_t chase_count;
    size_t chase_room;
    uint64_t *dead;    /* a bit for every chase */
    size_t dead_count; /* processes */

    uint32_t *circular; /* a chase of every cycle */
    size_t circular_count, circular_room;
    struct cycle *cycles;
    struct piece *pieces;
    size_t piece_count, piece_room;
    uint32_t *walked; /* the pieces' processes and resources */
};

static void single_free(struct single *single)
{
    memory_free_all(single->memory, single->next, single->chases, single->dead, single->circular,
                    single->cycles, single->pieces, single->walked);
}

/* ------------------------------------------------------------------ chases */

static bool build_next(struct single *single)
{
    const gordian_snapshot *snapshot = single->snapshot;
    const uint32_t *wait = snapshot->wait, *holder = snapshot->holder;
    uint32_t count = snapshot->process_count;
    uint32_t *next = single->next = memory_alloc(single->memory, sizeof *next * count);
    if (!next)
        return false;
    for (uint32_t p = 0; p < count; p++) {
        uint32_t target = wait[p] == NONE ? NONE : holder[wait[p]];
        next[p] = target == NONE ? CHASED | RUNS : target;
    }
    return true;
}

struct lane {
    uint32_t at;    /* the process to look at next */
    uint32_t chase; /* its number */
    uint32_t length;
};

/* Begins a chase at the first process from *from on that nobody has passed. */
static bool begin_chase(struct single *single, struct lane *lane, uint32_t *from)
{
    uint32_t count = single->snapshot->process_count, p = *from;
    while (p < count && single->next[p] & CHASED)
        p++;
    *from = p;
    if (p == count)
        return false;
    *from = p + 1;
    *lane = (struct lane){.at = p, .chase = single->chase_count++};
    return true;
}

/* A turn, a step on every lane, ends at most LANES chases: there must be room to note them. */
static bool make_room(struct single *single)
{
    return memory_grow(single->memory, &single->chases, &single->chase_room,
                       (size_t)single->chase_count + LANES, sizeof *single->chases);
}

static bool chase_all(struct single *single)
{
    uint32_t *next = single->next, from = 0, lane_count = 0;
    struct lane lanes[LANES];
    single->chase_count = 1;
    if (!make_room(single))
        return false;
    single->chases[RUNS] = (struct chase){0};
    while (lane_count < LANES && begin_chase(single, &lanes[lane_count], &from))
        lane_count++;
    while (lane_count > 0) {
        if (!make_room(single))
            return false;
        for (uint32_t i = 0; i < lane_count; i++) {
            struct lane *lane = &lanes[i];
            uint32_t target = next[lane->at];
            if (!(target & CHASED)) {
                next[lane->at] = CHASED | lane->chase;
                lane->length++;
                lane->at = target;
                __builtin_prefetch(&next[target], 1);
                continue;
            }
            single->chases[lane->chase] = (struct chase){target & ~CHASED, lane->at, lane->length};
            if (!begin_chase(single, lane, &from))
                *lane = lanes[--lane_count];
        }
    }
    return true;
}

/* ------------------------------------------------------------------ fates */

enum fate {
    UNKNOWN,
    ALIVE,
    DEAD,
    UNDER_WAY, /* on the walk of now */
};

/* Follows chase after chase from `from` to one whose fate is known, or round to where the walk has
 * been: a cycle. All on the way share that fate. */
static bool settle_chase(struct single *single, uint8_t *fates, uint32_t from)
{
    const struct chase *chases = single->chases;
    uint32_t at = from;
    for (; fates[at] == UNKNOWN; at = chases[at].into)
        fates[at] = UNDER_WAY;
    uint8_t fate = fates[at];
    if (fate == UNDER_WAY) {
        fate = DEAD;
        if (!memory_grow(single->memory, &single->circular, &single->circular_room,
                         single->circular_count + 1, sizeof *single->circular))
            return false;
        single->circular[single->circular_count++] = at;
    }
    for (at = from; fates[at] == UNDER_WAY; at = chases[at].into) {
        fates[at] = fate;
        if (fate == DEAD) {
            bits_set(single->dead, at);
            single->dead_count += chases[at].length;
        }
    }
    return true;
}

static bool settle_chases(struct single *single)
{
    uint8_t *fates = memory_zeroed(single->memory, single->chase_count);
    single->dead =
        memory_zeroed(single->memory, bits_words(single->chase_count) * sizeof *single->dead);
    bool fine = fates && single->dead;
    if (fine)
        fates[RUNS] = ALIVE;
    for (uint32_t c = 0; fine && c < single->chase_count; c++)
        fine = fates[c] != UNKNOWN || settle_chase(single, fates, c);
    memory_free(single->memory, fates);
    return fine;
}

static bool list_dead(struct single *single, struct check_result *result)
{
    /* One element over: the loop writes before it knows. */
    uint32_t *list = memory_alloc(single->memory, sizeof *list * (single->dead_count + 1));
    if (!list)
        return false;
    size_t used = 0;
    uint32_t count = single->dead_count ? single->snapshot->process_count : 0;
    for (uint32_t p = 0; p < count; p++) {
        list[used] = p;
        used += bits_test(single->dead, single->next[p] & ~CHASED);
    }
    result->deadlocked = list;
    result->report.deadlocked = list;
    result->report.deadlocked_count = used;
    return true;
}

/* ------------------------------------------------------------------ cycles */

/* A cycle's piece on chase `into` runs from where its forerunner met it to where it ended. */
static bool cut_cycle(struct single *single, struct cycle *cycle, uint32_t circular,
                      size_t *room_needed)
{
    cycle->first_piece = single->piece_count;
    uint32_t chase = circular;
    do {
        if (!memory_grow(single->memory, &single->pieces, &single->piece_room,
                         single->piece_count + 1, sizeof *single->pieces))
            return false;
        uint32_t into = single->chases[chase].into;
        single->pieces[single->piece_count++] = (struct piece){
            .start = single->chases[chase].at,
            .stop = single->chases[into].at,
        };
        *room_needed += single->chases[into].length;
        chase = into;
    } while (chase != circular);
    cycle->piece_count = single->piece_count - cycle->first_piece;
    return true;
}

static bool cut_cycles(struct single *single)
{
    single->cycles = memory_alloc(single->memory, sizeof *single->cycles * single->circular_count);
    if (!single->cycles)
        return false;
    size_t room = 0;
    for (size_t i = 0; i < single->circular_count; i++)
        if (!cut_cycle(single, &single->cycles[i], single->circular[i], &room))
            return false;
    single->walked = memory_alloc(single->memory, sizeof *single->walked * 2 * room);
    if (!single->walked)
        return false;
    uint32_t *at = single->walked;
    for (size_t i = 0; i < single->circular_count; i++) {
        uint32_t chase = single->circular[i];
        for (size_t k = 0; k < single->cycles[i].piece_count; k++) {
            chase = single->chases[chase].into;
            struct piece *piece = &single->pieces[single->cycles[i].first_piece + k];
            piece->processes = at;
            piece->resources = at + single->chases[chase].length;
            at += 2 * (size_t)single->chases[chase].length;
        }
    }
    return true;
}

struct walker {
    struct piece *piece;
    uint32_t at;       /* a process */
    uint32_t resource; /* what it waits for */
};

static bool begin_piece(struct single *single, struct walker *walker, size_t *next_piece)
{
    if (*next_piece == single->piece_count)
        return false;
    walker->piece = &single->pieces[(*next_piece)++];
    walker->at = walker->piece->start;
    return true;
}

/* Walks all pieces, LANES of them at a time: two misses a step, so two rounds a step. */
static void walk_pieces(struct single *single)
{
    const uint32_t *wait = single->snapshot->wait, *holder = single->snapshot->holder;
    struct walker walkers[LANES];
    size_t next_piece = 0;
    uint32_t count = 0;
    while (count < LANES && begin_piece(single, &walkers[count], &next_piece))
        count++;
    while (count > 0) {
        for (uint32_t i = 0; i < count; i++) {
            struct walker *walker = &walkers[i];
            struct piece *piece = walker->piece;
            walker->resource = wait[walker->at];
            piece->processes[piece->count] = walker->at;
            piece->resources[piece->count++] = walker->resource;
            __builtin_prefetch(&holder[walker->resource]);
        }
        for (uint32_t i = 0; i < count;) {
            struct walker *walker = &walkers[i];
            walker->at = holder[walker->resource];
            if (walker->at == walker->piece->stop && !begin_piece(single, walker, &next_piece)) {
                *walker = walkers[--count]; /* which has not had its turn either */
                continue;
            }
            __builtin_prefetch(&wait[walker->at]);
            i++;
        }
    }
}

/* Once its pieces are walked: how long a cycle is, and where its smallest process stands. */
static void measure_cycle(const struct single *single, struct cycle *cycle)
{
    cycle->length = 0;
    cycle->smallest = NONE;
    const struct piece *piece = &single->pieces[cycle->first_piece];
    for (size_t k = 0; k < cycle->piece_count; k++, piece++) {
        for (uint32_t i = 0; i < piece->count; i++) {
            if (piece->processes[i] < cycle->smallest) {
                cycle->smallest = piece->processes[i];
                cycle->smallest_at = cycle->length + i;
            }
        }
        cycle->length += piece->count;
    }
}

/* Puts the pieces of a cycle together, from its smallest process on. */
static void join_cycle(const struct single *single, const struct cycle *cycle, uint32_t *processes,
                       uint32_t *resources)
{
    size_t to = cycle->smallest_at ? cycle->length - cycle->smallest_at : 0;
    const struct piece *piece = &single->pieces[cycle->first_piece];
    for (size_t k = 0; k < cycle->piece_count; k++, piece++) {
        size_t head = cycle->length - to; /* what fits before the end; the rest goes in front */
        if (head > piece->count)
            head = piece->count;
        size_t tail = piece->count - head;
        memcpy(processes + to, piece->processes, head * sizeof *processes);
        memcpy(processes, piece->processes + head, tail * sizeof *processes);
        memcpy(resources + to, piece->resources, head * sizeof *resources);
        memcpy(resources, piece->resources + head, tail * sizeof *resources);
        to = tail > 0 ? tail : to + head == cycle->length ? 0 : to + head;
    }
}

/* Writes the parts, by smallest process: every cycle is filed under its own in next[], which
 * has done its duty, and the dead are gone through in order. */
static void write_parts(struct single *single, struct check_result *result)
{
    const gordian_report *report = &result->report;
    for (size_t i = 0; i < report->deadlocked_count; i++)
        single->next[report->deadlocked[i]] = NONE;
    for (size_t i = 0; i < single->circular_count; i++)
        single->next[single->cycles[i].smallest] = (uint32_t)i;
    size_t used = 0;
    gordian_part *part = result->parts;
    for (size_t i = 0; i < report->deadlocked_count; i++) {
        uint32_t filed = single->next[report->deadlocked[i]];
        if (filed == NONE)
            continue;
        const struct cycle *cycle = &single->cycles[filed];
        uint32_t *processes = result->processes + used, *resources = result->resources + used;
        join_cycle(single, cycle, processes, resources);
        *part++ = (gordian_part){true, processes, resources, cycle->length, cycle->length};
        used += cycle->length;
    }
}

static bool list_cycles(struct single *single, struct check_result *result)
{
    if (!cut_cycles(single))
        return false;
    walk_pieces(single);
    size_t length = 0;
    for (size_t i = 0; i < single->circular_count; i++) {
        measure_cycle(single, &single->cycles[i]);
        length += single->cycles[i].length;
    }
    result->parts = memory_alloc(single->memory, sizeof *result->parts * single->circular_count);
    result->processes = memory_alloc(single->memory, sizeof *result->processes * length);
    result->resources = memory_alloc(single->memory, sizeof *result->resources * length);
    if (!result->parts || !result->processes || !result->resources)
        return false;
    result->report.parts = result->parts;
    result->report.part_count = single->circular_count;
    write_parts(single, result);
    return true;
}

bool check_single(const gordian_snapshot *snapshot, struct check_result *result)
{
    struct single single = {.snapshot = snapshot, .memory = &snapshot->memory};
    bool fine = build_next(&single) && chase_all(&single) && settle_chases(&single) &&
                list_dead(&single, result) && list_cycles(&single, result);
    single_free(&single);
    if (!fine)
        check_result_free(result, &snapshot->memory);
    return fine;
}
