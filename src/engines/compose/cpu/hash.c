/* Finds reachable states with hash tables. Every thread owns the states that their hash assigns to
 * it. It has tables of packed states with linear probing, a stack of states that have not fired
 * yet, and a box of found states for every other thread. The threads fire states until the boxes
 * contain enough, synchronize, empty the boxes, and synchronize again. A slot has as many bytes as
 * a state needs. Tables are filled to six sevenths and grow by a quarter, and each thread has
 * several, so that growing one takes little memory. A state of 39 bits takes 6 to 7.3 bytes. The
 * table of foundation/base/hash.h would take twice as much; here the states themselves are the
 * slots. */
#include "engines/compose/cpu/cpu.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/sort.h"

#include <string.h>

#define SHORT_LIST 1024 /* at most this many firings are tried in sequence */
#define BOX_ENOUGH 4096 /* states in a box, or fired, before the threads synchronize */

/* States that have not fired yet, in as many bytes as the slots of the tables have. */
struct stack {
    unsigned char *list;
    size_t count; /* states */
    size_t room;  /* bytes */
};

/* Found states for another thread. */
struct states {
    uint64_t *list;
    size_t count, room; /* in words */
};

#define SEGMENTS 16

/* Packed states with linear probing. A slot of all ones is free. */
struct segment {
    unsigned char *slots;
    size_t slot_count, used;
};

struct part {
    struct segment segments[SEGMENTS];
    uint64_t used; /* in all tables */
    struct stack waiting;
    uint64_t stuck;       /* deadlocks */
    struct states *boxes; /* by thread */
};

struct table {
    struct cpu *cpu;
    size_t words;  /* of a state */
    size_t bytes;  /* of a slot; a state of one word leaves one bit free, so that no state is all
                      ones */
    uint64_t mask; /* of the bits of a slot, for states of one word */
    unsigned part_count;
    struct part *parts;
    bool no_bitmap;        /* there was no memory for a bitmap */
    bool leave, to_bitmap; /* decided by thread 0: end the search; continue with a bitmap */
};

static uint64_t hash_packed(const uint64_t *state, size_t words)
{
    uint64_t hash = 0;
    for (size_t w = 0; w < words; w++) {
        hash = (hash ^ state[w]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    hash *= 0xd6e8feb86659fd93u;
    return hash ^ hash >> 29;
}

static bool push_box(struct table *table, struct states *states, const uint64_t *state)
{
    if (!memory_grow(&table->cpu->meter.memory, &states->list, &states->room,
                     states->count + table->words, sizeof *states->list))
        return false;
    memcpy(states->list + states->count, state, table->words * sizeof *state);
    states->count += table->words;
    return true;
}

static bool push_waiting(const struct table *table, struct stack *waiting, const uint64_t *state)
{
    if (!memory_grow(&table->cpu->meter.memory, &waiting->list, &waiting->room,
                     (waiting->count + 1) * table->bytes, 1))
        return false;
    memcpy(waiting->list + waiting->count++ * table->bytes, state, table->bytes);
    return true;
}

static void pop_waiting(const struct table *table, struct stack *waiting, uint64_t *state)
{
    *state = 0;
    memcpy(state, waiting->list + --waiting->count * table->bytes, table->bytes);
}

/* The table of the state's owner that contains the state. The high half of the hash selects the
 * owner. */
static inline struct segment *segment_of(struct part *part, uint64_t hash)
{
    return &part->segments[hash % SEGMENTS];
}

static inline size_t first_slot(const struct segment *segment, uint64_t hash)
{
    return (size_t)((unsigned __int128)(hash * 0x9e3779b97f4a7c15u) * segment->slot_count >> 64);
}

/* The contents of a slot, for states of one word. Memory behind the last slot may be read. */
static inline uint64_t slot_word(const struct table *table, const struct segment *segment,
                                 size_t slot)
{
    uint64_t word;
    memcpy(&word, segment->slots + slot * table->bytes, sizeof word);
    return word & table->mask;
}

static inline bool slot_free(const struct table *table, const struct segment *segment, size_t slot)
{
    uint64_t word;
    if (table->words == 1)
        return slot_word(table, segment, slot) == table->mask;
    memcpy(&word, segment->slots + slot * table->bytes, sizeof word);
    return word == PACKED_NONE;
}

/* The state in an occupied slot. */
static inline void slot_state(const struct table *table, const struct segment *segment, size_t slot,
                              uint64_t *state)
{
    if (table->words == 1)
        *state = slot_word(table, segment, slot);
    else
        memcpy(state, segment->slots + slot * table->bytes, table->bytes);
}

/* The slot of a state, or the free slot where it would be stored; *there: it is stored. */
static size_t slot_of(const struct table *table, const struct segment *segment,
                      const uint64_t *state, uint64_t hash, bool *there)
{
    size_t slot = first_slot(segment, hash), words = table->words;
    for (;; slot = slot + 1 == segment->slot_count ? 0 : slot + 1) {
        if (words == 1) {
            uint64_t word = slot_word(table, segment, slot);
            *there = word == *state;
            if (*there || word == table->mask)
                return slot;
            continue;
        }
        *there = memcmp(segment->slots + slot * table->bytes, state, table->bytes) == 0;
        if (*there || slot_free(table, segment, slot))
            return slot;
    }
}

/* Does the sorted list fit within the memory limit as well? */
static bool within_limit(const struct table *table, const struct part *part, size_t bytes)
{
    struct meter *meter = &table->cpu->meter;
    if (!meter->limit)
        return true;
    uint64_t sorted =
        (part->used + part->used / 2 + 64) * table->part_count * table->words * sizeof(uint64_t);
    return meter_now(meter) + bytes + sorted <= meter->limit;
}

static bool grow_segment(struct table *table, const struct part *part, struct segment *segment)
{
    const gordian_allocator *memory = &table->cpu->meter.memory;
    struct segment grown = {.slot_count = segment->slot_count + segment->slot_count / 4 + 16,
                            .used = segment->used};
    size_t bytes = grown.slot_count * table->bytes + sizeof(uint64_t);
    if (!within_limit(table, part, bytes))
        return false;
    grown.slots = memory_alloc(memory, bytes);
    uint64_t *state = memory_alloc(memory, table->words * sizeof *state);
    if (grown.slots && state) {
        memset(grown.slots, 0xff, bytes);
        for (size_t i = 0; i < segment->slot_count; i++) {
            bool there;
            if (slot_free(table, segment, i))
                continue;
            slot_state(table, segment, i, state);
            size_t slot = slot_of(table, &grown, state, hash_packed(state, table->words), &there);
            memcpy(grown.slots + slot * table->bytes, state, table->bytes);
        }
        memory_free(memory, segment->slots);
        *segment = grown;
    } else {
        memory_free(memory, grown.slots);
        grown.slots = NULL;
    }
    memory_free(memory, state);
    return grown.slots != NULL;
}

/* Stores a new state in its owner's table. Stops all threads if this fails. */
static void insert_state(struct table *table, struct part *part, const uint64_t *state,
                         uint64_t hash)
{
    struct cpu *cpu = table->cpu;
    struct segment *segment = segment_of(part, hash);
    uint64_t most = cpu->options->full ? 0 : cpu->options->max_states;
    bool there;
    if (7 * (segment->used + 1) > 6 * segment->slot_count && !grow_segment(table, part, segment)) {
        cpu_halt(cpu, GORDIAN_COMPOSE_STOP_MEMORY);
        return;
    }
    size_t slot = slot_of(table, segment, state, hash, &there);
    if (there)
        return;
    if (most && atomic_fetch_add_explicit(&cpu->states, 1, memory_order_relaxed) >= most) {
        atomic_fetch_sub_explicit(&cpu->states, 1, memory_order_relaxed);
        cpu_halt(cpu, GORDIAN_COMPOSE_STOP_STATES);
        return;
    }
    if (!push_waiting(table, &part->waiting, state)) {
        if (most)
            atomic_fetch_sub_explicit(&cpu->states, 1, memory_order_relaxed);
        cpu_halt(cpu, GORDIAN_COMPOSE_STOP_MEMORY);
        return;
    }
    memcpy(segment->slots + slot * table->bytes, state, table->bytes);
    segment->used++;
    part->used++;
}

static unsigned state_owner(const struct table *table, uint64_t hash)
{
    return (unsigned)((hash >> 32) * table->part_count >> 32);
}

/* Stores a found state in its owner's table, or in the box for the owner. */
static void hand_state(struct table *table, unsigned member, const uint64_t *state, uint64_t hash)
{
    unsigned owner = state_owner(table, hash);
    struct part *mine = &table->parts[member];
    if (owner == member)
        insert_state(table, mine, state, hash);
    else if (!push_box(table, &mine->boxes[owner], state))
        cpu_halt(table->cpu, GORDIAN_COMPOSE_STOP_MEMORY);
}

static void note_table_deadlock(struct table *table, unsigned member, const uint64_t *state)
{
    table->parts[member].stuck++;
    cpu_record_deadlock(table->cpu, state);
}

/* Fires all indivisible firings of a state. */
static void fire_table_state(struct table *table, unsigned member, const uint64_t *state,
                             uint64_t *to)
{
    struct cpu *cpu = table->cpu;
    struct firing_view *view = &cpu->views[member];
    size_t words = table->words;
    if (!firing_view_find(view, state)) {
        cpu_halt(cpu, GORDIAN_COMPOSE_STOP_MEMORY);
        return;
    }
    if (view->count == 0)
        note_table_deadlock(table, member, state);
    for (size_t i = 0; i < view->count; i++) {
        memcpy(to, state, words * sizeof *to);
        patches_flip(view->enabled[i].patches, view->enabled[i].patch_count, to);
        hand_state(table, member, to, hash_packed(to, words));
    }
}

/* Prefetches the slot that insert_state will access. */
static inline void expect_state(const struct table *table, struct part *part, uint64_t hash)
{
    const struct segment *segment = segment_of(part, hash);
    if (segment->slot_count)
        __builtin_prefetch(segment->slots + first_slot(segment, hash) * table->bytes, 1);
}

/* States found before they are inserted, so that their slots can be prefetched. */
#define AHEAD 64

/* The same for states of one word with listed firings of one patch each. */
static void fire_word_state(struct table *table, unsigned member, uint64_t state)
{
    const struct packing *packing = &table->cpu->packing;
    struct part *mine = &table->parts[member];
    uint64_t to[AHEAD], hash[AHEAD];
    size_t count = packing->firings->count, i = 0, fired = 0;
    while (i < count) {
        size_t ready = 0;
        for (; i < count && ready < AHEAD; i++) {
            const struct patch *patch = &packing->patches[i];
            if ((state & patch->mask) != patch->value)
                continue;
            to[ready] = state ^ patch->flip;
            hash[ready] = hash_packed(&to[ready], 1);
            expect_state(table, mine, hash[ready++]);
        }
        for (size_t k = 0; k < ready; k++)
            hand_state(table, member, &to[k], hash[k]);
        fired += ready;
    }
    if (fired == 0)
        note_table_deadlock(table, member, &state);
}

/* Decides how to continue. Thread 0 calls it while all threads are synchronized. */
static void decide_next(struct table *table)
{
    struct cpu *cpu = table->cpu;
    uint64_t waiting = 0, states = 0;
    for (unsigned p = 0; p < table->part_count; p++) {
        waiting += table->parts[p].waiting.count;
        states += table->parts[p].used;
    }
    atomic_store_explicit(&cpu->states, states, memory_order_relaxed);
    atomic_store_explicit(&cpu->waiting, waiting, memory_order_relaxed);
    /* A bitmap with one state per word is as small as the table, and much faster. */
    table->to_bitmap = cpu->grid.words && states >= cpu->grid.words && !table->no_bitmap &&
                       (cpu->options->full || !cpu->options->max_states) && waiting > 0;
    table->leave = waiting == 0 || table->to_bitmap || cpu_halted(cpu);
}

static void explore_table_states(void *context, unsigned member)
{
    struct table *table = context;
    struct part *mine = &table->parts[member];
    size_t words = table->words;
    /* A thread's own box is unused. */
    uint64_t *state = mine->boxes[member].list, *to = state + words;
    bool short_list =
        words == 1 && table->cpu->firings.complete && table->cpu->firings.count <= SHORT_LIST;
    do {
        size_t expanded = 0, boxed = 0;
        while (mine->waiting.count > 0 && expanded < BOX_ENOUGH && boxed < BOX_ENOUGH &&
               !cpu_halted(table->cpu)) {
            pop_waiting(table, &mine->waiting, state);
            if (short_list)
                fire_word_state(table, member, *state);
            else
                fire_table_state(table, member, state, to);
            expanded++;
            boxed = 0;
            for (unsigned p = 0; p < table->part_count; p++)
                if (p != member && mine->boxes[p].count / words > boxed)
                    boxed = mine->boxes[p].count / words;
        }
        thread_pool_meet(table->cpu->workers);
        for (unsigned from = 0; from < table->part_count; from++) {
            struct states *box = &table->parts[from].boxes[member];
            for (size_t i = 0; i < box->count; i += words) {
                size_t later = i + 8 * words;
                if (later < box->count)
                    expect_state(table, mine, hash_packed(box->list + later, words));
                insert_state(table, mine, box->list + i, hash_packed(box->list + i, words));
            }
            box->count = 0;
        }
        thread_pool_meet(table->cpu->workers);
        if (member == 0)
            decide_next(table);
        thread_pool_meet(table->cpu->workers);
    } while (!table->leave);
}

/* ------------------------------------------------------------------ open and close */

void table_free(struct cpu *cpu)
{
    struct table *table = cpu->table;
    const gordian_allocator *memory = &cpu->meter.memory;
    if (!table)
        return;
    for (unsigned p = 0; table->parts && p < table->part_count; p++) {
        struct part *part = &table->parts[p];
        for (size_t i = 0; i < SEGMENTS; i++)
            memory_free(memory, part->segments[i].slots);
        memory_free(memory, part->waiting.list);
        for (unsigned b = 0; part->boxes && b < table->part_count; b++)
            memory_free(memory, part->boxes[b].list);
        memory_free(memory, part->boxes);
    }
    memory_free_all(memory, table->parts, table);
    cpu->table = NULL;
}

uint64_t table_unexpanded(const struct table *table)
{
    uint64_t waiting = 0;
    for (unsigned p = 0; p < table->part_count; p++)
        waiting += table->parts[p].waiting.count;
    return waiting;
}

static bool table_make(struct cpu *cpu)
{
    const gordian_allocator *memory = &cpu->meter.memory;
    struct table *table = memory_zeroed(memory, sizeof *table);
    cpu->table = table;
    if (!table)
        return false;
    *table = (struct table){.cpu = cpu, .words = cpu->packing.words};
    table->bytes = table->words == 1 ? cpu->packing.bits / 8 + 1 : table->words * sizeof(uint64_t);
    table->mask = ~UINT64_C(0) >> (table->bytes < 8 ? 64 - 8 * table->bytes : 0);
    table->part_count = thread_pool_size(cpu->workers);
    table->parts = memory_zeroed(memory, table->part_count * sizeof *table->parts);
    bool fine = table->parts;
    for (unsigned p = 0; fine && p < table->part_count; p++) {
        struct part *part = &table->parts[p];
        part->boxes = memory_zeroed(memory, table->part_count * sizeof *part->boxes);
        fine = part->boxes && memory_grow(memory, &part->boxes[p].list, &part->boxes[p].room,
                                          2 * table->words, sizeof *part->boxes[p].list);
    }
    return fine;
}

void table_each(const struct table *table, unsigned part, uint64_t *state,
                void (*each)(void *context, const uint64_t *state), void *context)
{
    for (size_t i = 0; i < SEGMENTS; i++) {
        const struct segment *segment = &table->parts[part].segments[i];
        for (size_t slot = 0; slot < segment->slot_count; slot++) {
            if (slot_free(table, segment, slot))
                continue;
            slot_state(table, segment, slot, state);
            each(context, state);
        }
    }
}

void table_each_waiting(const struct table *table, unsigned part, uint64_t *state,
                        void (*each)(void *context, const uint64_t *state), void *context)
{
    const struct stack *waiting = &table->parts[part].waiting;
    for (size_t i = 0; i < waiting->count; i++) { /* the oldest first */
        *state = 0;
        memcpy(state, waiting->list + i * table->bytes, table->bytes);
        each(context, state);
    }
}

static void put_done(void *context, const uint64_t *state)
{
    cpu_bitmap_put(context, *state, true);
}

/* Moves all states to a bitmap; states on the stacks have not fired yet. False: no memory for
 * one. */
static bool table_to_bitmap(struct cpu *cpu)
{
    struct table *table = cpu->table;
    uint64_t state;
    if (!cpu_bitmap_open(cpu))
        return false;
    for (unsigned p = 0; p < table->part_count; p++)
        table_each(table, p, &state, put_done, cpu);
    for (unsigned p = 0; p < table->part_count; p++) {
        while (table->parts[p].waiting.count > 0) {
            pop_waiting(table, &table->parts[p].waiting, &state);
            cpu_bitmap_put(cpu, state, false);
        }
    }
    table_free(cpu);
    return true;
}

gordian_status cpu_hash(struct cpu *cpu, gordian_error *error)
{
    if (!table_make(cpu))
        return fail_memory(error);
    struct table *table = cpu->table;
    uint32_t *locals = cpu->views[0].here_locals;
    uint64_t *state = cpu->views[0].here, put = 0;
    initial_first(cpu->circuit, locals);
    do {
        pack_state(&cpu->packing, locals, state);
        uint64_t hash = hash_packed(state, table->words);
        insert_state(table, &table->parts[state_owner(table, hash)], state, hash);
        if (++put % 65536 == 0)
            cpu_report(cpu);
    } while (!cpu_halted(cpu) && initial_next(cpu->circuit, locals));
    for (;;) {
        gordian_compose_phase *phase = compose_phase(cpu->result, "states");
        cpu_work(cpu, explore_table_states, cpu->table);
        compose_phase_end(phase);
        cpu->stuck = 0; /* this may be the second run */
        for (unsigned p = 0; p < cpu->table->part_count; p++)
            cpu->stuck += cpu->table->parts[p].stuck;
        if (!cpu->table->to_bitmap || cpu_halted(cpu) || table_to_bitmap(cpu))
            return GORDIAN_OK;
        cpu->table->no_bitmap = true;
    }
}

struct gathering {
    uint64_t *states;
    uint64_t next; /* in words */
    size_t words;
};

static void gather_state(void *context, const uint64_t *state)
{
    struct gathering *gathering = context;
    memcpy(gathering->states + gathering->next, state, gathering->words * sizeof *state);
    gathering->next += gathering->words;
}

gordian_status cpu_sort(struct cpu *cpu, gordian_error *error)
{
    struct table *table = cpu->table;
    const gordian_allocator *memory = &cpu->meter.memory;
    struct gathering gathering = {.words = table->words};
    uint64_t count = 0;
    for (unsigned p = 0; p < table->part_count; p++)
        count += table->parts[p].used;
    gathering.states = memory_alloc(memory, count * table->words * sizeof(uint64_t));
    if (!gathering.states)
        return fail_memory(error);
    for (unsigned p = 0; p < table->part_count; p++)
        table_each(table, p, cpu->views[0].here, gather_state, &gathering);
    table_free(cpu);
    sort_words(gathering.states, count, gathering.words);
    cpu->space = (struct space){.kind = SPACE_SORTED,
                                .memory = *memory,
                                .packing = &cpu->packing,
                                .count = count,
                                .states = gathering.states};
    return GORDIAN_OK;
}
