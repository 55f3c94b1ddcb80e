/* The cycles of a single-unit snapshot: cut into pieces, walked and joined (single.c explains it).
 */
#include "engines/detect/check/single.h"

#include <string.h>

#define PIECES 64 /* number of pieces that a member takes at a time */
#define CYCLES 16

/* A cycle's piece on chase `into` runs from where its predecessor met it to where it ended. */
static bool cut_cycle(struct single *single, struct cycle *cycle, uint32_t circular,
                      size_t *room_needed)
{
    cycle->first_piece = single->piece_count;
    uint32_t number = circular;
    do {
        if (!memory_grow(single->memory, &single->pieces, &single->piece_room,
                         single->piece_count + 1, sizeof *single->pieces))
            return false;
        const struct chase *chase = single_chase(single, number);
        const struct chase *into = single_chase(single, chase->into);
        single->pieces[single->piece_count++] =
            (struct piece){.start = chase->at, .stop = into->at};
        *room_needed += into->length;
        number = chase->into;
    } while (number != circular);
    cycle->piece_count = single->piece_count - cycle->first_piece;
    return true;
}

static bool cut_cycles(struct single *single)
{
    size_t count = single->circular.count, room = 0;
    single->cycles = memory_alloc(single->memory, sizeof *single->cycles * count);
    if (!single->cycles)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!cut_cycle(single, &single->cycles[i], single->circular.chases[i], &room))
            return false;
    single->walked = memory_alloc(single->memory, sizeof *single->walked * 2 * room);
    if (!single->walked)
        return false;
    uint32_t *at = single->walked;
    for (size_t i = 0; i < count; i++) {
        uint32_t chase = single->circular.chases[i];
        for (size_t k = 0; k < single->cycles[i].piece_count; k++) {
            chase = single_chase(single, chase)->into;
            uint32_t length = single_chase(single, chase)->length;
            struct piece *piece = &single->pieces[single->cycles[i].first_piece + k];
            piece->processes = at;
            piece->resources = at + length;
            at += 2 * (size_t)length;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ walking */

struct walker {
    struct piece *piece;
    uint32_t at;       /* a process */
    uint32_t resource; /* what it waits for */
};

/* The pieces that a member has taken. */
struct supply {
    uint64_t next, end;
};

static bool begin_piece(struct single *single, struct walker *walker, struct supply *supply)
{
    if (supply->next == supply->end && !thread_group_take(&single->group, single->piece_count,
                                                          PIECES, &supply->next, &supply->end)) {
        supply->next = supply->end;
        return false;
    }
    walker->piece = &single->pieces[supply->next++];
    walker->at = walker->piece->start;
    return true;
}

/* Walks pieces, LANES of them at a time. A step takes two cache misses, so two rounds. */
static void walk_pieces(void *context, unsigned member)
{
    struct single *single = context;
    const uint32_t *wait = single->snapshot->wait, *holder = single->snapshot->holder;
    struct walker walkers[LANES];
    struct supply supply = {0, 0};
    uint32_t count = 0;
    (void)member;
    while (count < LANES && begin_piece(single, &walkers[count], &supply))
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
            if (walker->at == walker->piece->stop && !begin_piece(single, walker, &supply)) {
                *walker = walkers[--count]; /* the moved walker has not had its turn either */
                continue;
            }
            __builtin_prefetch(&wait[walker->at]);
            i++;
        }
    }
}

/* ------------------------------------------------------------------ joining */

/* After its pieces are walked: finds the length of a cycle and the place of its smallest process.
 * Where chases have passed the same processes, the pieces may lead around more than once. */
static void measure_cycle(const struct single *single, struct cycle *cycle)
{
    size_t all = 0, again = 0;
    cycle->smallest = NONE;
    const struct piece *piece = &single->pieces[cycle->first_piece];
    for (size_t k = 0; k < cycle->piece_count; k++, piece++) {
        for (uint32_t i = 0; i < piece->count; i++) {
            uint32_t process = piece->processes[i];
            if (process < cycle->smallest) {
                cycle->smallest = process;
                cycle->smallest_at = all + i;
                again = 0;
            } else if (process == cycle->smallest && again == 0) {
                again = all + i;
            }
        }
        all += piece->count;
    }
    cycle->length = again > 0 ? again - cycle->smallest_at : all;
}

/* Files every cycle under its smallest process in next[], which is no longer used otherwise. */
static void file_cycles(void *context, unsigned member)
{
    struct single *single = context;
    struct share *share = &single->shares[member];
    uint64_t begin, end;
    share->length = share->parts = 0;
    while (thread_group_take(&single->group, single->circular.count, CYCLES, &begin, &end)) {
        for (uint64_t i = begin; i < end; i++) {
            measure_cycle(single, &single->cycles[i]);
            /* False: another member has filed the same cycle. */
            uint32_t number = (uint32_t)i;
            uint32_t none = NONE;
            if (!__atomic_compare_exchange_n(&single->next[single->cycles[number].smallest], &none,
                                             number, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                continue;
            share->length += single->cycles[i].length;
            share->parts++;
        }
    }
}

/* The dead are processed in order, so the parts are sorted by smallest process. First each member
 * counts the cycles of its own dead processes. */
static void count_cycles_of_share(void *context, unsigned member)
{
    struct single *single = context;
    const gordian_report *report = &single->result->report;
    struct share *share = &single->shares[member];
    uint64_t begin, end;
    thread_group_range(&single->group, member, report->deadlocked_count, &begin, &end);
    share->parts = share->length = 0;
    for (uint64_t i = begin; i < end; i++) {
        uint32_t filed = single->next[report->deadlocked[i]];
        share->parts += filed != NONE;
        share->length += filed != NONE ? single->cycles[filed].length : 0;
    }
}

static void write_cycles_of_share(void *context, unsigned member)
{
    struct single *single = context;
    struct check_result *result = single->result;
    size_t used = single->shares[member].length;
    gordian_part *part = result->parts + single->shares[member].parts;
    uint64_t begin, end;
    thread_group_range(&single->group, member, result->report.deadlocked_count, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        uint32_t filed = single->next[result->deadlocked[i]];
        if (filed == NONE)
            continue;
        const struct cycle *cycle = &single->cycles[filed];
        uint32_t *processes = result->processes + used, *resources = result->resources + used;
        /* Joins the pieces of a cycle, starting at its smallest process. */
        size_t to = cycle->smallest_at ? cycle->length - cycle->smallest_at : 0;
        const struct piece *piece = &single->pieces[cycle->first_piece];
        for (size_t k = 0; k < cycle->piece_count; k++, piece++) {
            size_t head =
                cycle->length - to; /* what fits before the end; the rest goes to the front */
            if (head > piece->count)
                head = piece->count;
            size_t tail = piece->count - head;
            memcpy(processes + to, piece->processes, head * sizeof *processes);
            memcpy(processes, piece->processes + head, tail * sizeof *processes);
            memcpy(resources + to, piece->resources, head * sizeof *resources);
            memcpy(resources, piece->resources + head, tail * sizeof *resources);
            to = tail > 0 ? tail : to + head == cycle->length ? 0 : to + head;
        }
        *part++ = (gordian_part){true, processes, resources, cycle->length, cycle->length};
        used += cycle->length;
    }
}

/* Sums what earlier members have counted. */
static void sum_parts(struct single *single)
{
    size_t parts = 0, length = 0;
    for (unsigned i = 0; i < single->group.members; i++) {
        struct share *share = &single->shares[i];
        size_t own_parts = share->parts, own_length = share->length;
        share->parts = parts;
        share->length = length;
        parts += own_parts;
        length += own_length;
    }
}

bool single_list_cycles(struct single *single)
{
    struct check_result *result = single->result;
    size_t count = 0, length = 0;
    if (!cut_cycles(single))
        return false;
    single_do(single, walk_pieces);
    single_do(single, file_cycles);
    for (unsigned i = 0; i < single->group.members; i++) {
        length += single->shares[i].length;
        count += single->shares[i].parts;
    }
    result->parts = memory_alloc(single->memory, sizeof *result->parts * count);
    result->processes = memory_alloc(single->memory, sizeof *result->processes * length);
    result->resources = memory_alloc(single->memory, sizeof *result->resources * length);
    if (!result->parts || !result->processes || !result->resources)
        return false;
    result->report.parts = result->parts;
    result->report.part_count = count;
    if (count == 0)
        return true;
    if (single->group.members > 1)
        single_do(single, count_cycles_of_share);
    sum_parts(single);
    single_do(single, write_cycles_of_share);
    return true;
}
