/* Finding states with a hash table. Every thread owns the states whose hash says so: a table of
 * packed states with linear probing, a stack of those not looked at yet, and a box for every other
 * thread with what has been found for it. They look at states until there is enough in the boxes,
 * meet, empty the boxes, meet. */
#include "base/error.h"
#include "base/memory.h"
#include "compose/cpu.h"

#include <string.h>

#define SHORT_LIST 1024 /* so many firings are tried one after another */
#define BOX_ENOUGH 4096 /* states in a box, or looked at, before they meet */

/* An array of states. */
struct states {
    uint64_t *list;
    size_t count, room; /* in words */
};

struct part {
    uint64_t *slots; /* PACKED_NONE in the first word: free */
    size_t slot_count, used;
    struct states waiting;
    struct states *boxes; /* by thread */
    uint64_t looked_at;
};

struct table {
    struct cpu *cpu;
    size_t words; /* of a state */
    unsigned part_count;
    struct part *parts;
    bool no_bitmap;   /* there was no memory for one */
    bool leave, turn; /* decided at the meeting: end; because a bitmap would be better */
};

static uint64_t hash_state(const uint64_t *state, size_t words)
{
    uint64_t hash = 0;
    for (size_t w = 0; w < words; w++) {
        hash = (hash ^ state[w]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    hash *= 0xd6e8feb86659fd93u;
    return hash ^ hash >> 29;
}

static bool push(struct table *table, struct states *states, const uint64_t *state)
{
    if (!memory_grow(&table->cpu->meter.memory, &states->list, &states->room,
                     states->count + table->words, sizeof *states->list))
        return false;
    memcpy(states->list + states->count, state, table->words * sizeof *state);
    states->count += table->words;
    return true;
}

/* Where the state is, or would go. The owner is chosen by the high half of the hash. */
static size_t slot_of(const struct part *part, const uint64_t *state, uint64_t hash, size_t words)
{
    size_t mask = part->slot_count - 1, slot = (size_t)hash & mask;
    while (part->slots[slot * words] != PACKED_NONE &&
           !packed_same(part->slots + slot * words, state, words))
        slot = (slot + 1) & mask;
    return slot;
}

/* Is there room below the limit for the sorted list as well, when the table is full? */
static bool within_limit(const struct table *table, size_t slots)
{
    struct meter *meter = &table->cpu->meter;
    if (!meter->limit)
        return true;
    uint64_t bytes = (uint64_t)slots * table->words * sizeof(uint64_t);
    uint64_t sorted = bytes / 4 * 3 * table->part_count;
    return meter_now(meter) + bytes + sorted <= meter->limit;
}

static bool grow(struct table *table, struct part *part)
{
    size_t words = table->words, wanted = part->slot_count ? 2 * part->slot_count : 1024;
    struct part grown = *part;
    if (!within_limit(table, wanted))
        return false;
    grown.slots = memory_alloc(&table->cpu->meter.memory, wanted * words * sizeof *grown.slots);
    if (!grown.slots)
        return false;
    memset(grown.slots, 0xff, wanted * words * sizeof *grown.slots);
    grown.slot_count = wanted;
    for (size_t i = 0; i < part->slot_count; i++) {
        const uint64_t *state = part->slots + i * words;
        if (*state != PACKED_NONE)
            memcpy(grown.slots + slot_of(&grown, state, hash_state(state, words), words) * words,
                   state, words * sizeof *state);
    }
    memory_free(&table->cpu->meter.memory, part->slots);
    *part = grown;
    return true;
}

/* Takes a state into its owner's part, unless it is there. Stops everybody when that cannot be. */
static void insert(struct table *table, struct part *part, const uint64_t *state, uint64_t hash)
{
    struct cpu *cpu = table->cpu;
    size_t words = table->words;
    uint64_t most = cpu->options->full ? 0 : cpu->options->max_states;
    if (4 * (part->used + 1) > 3 * part->slot_count && !grow(table, part)) {
        cpu_halt(cpu, COMPOSE_MEMORY);
        return;
    }
    size_t slot = slot_of(part, state, hash, words);
    if (part->slots[slot * words] != PACKED_NONE)
        return;
    if (most && atomic_fetch_add_explicit(&cpu->states, 1, memory_order_relaxed) >= most) {
        atomic_fetch_sub_explicit(&cpu->states, 1, memory_order_relaxed);
        cpu_halt(cpu, COMPOSE_STATES);
        return;
    }
    if (!push(table, &part->waiting, state)) {
        if (most)
            atomic_fetch_sub_explicit(&cpu->states, 1, memory_order_relaxed);
        cpu_halt(cpu, COMPOSE_MEMORY);
        return;
    }
    memcpy(part->slots + slot * words, state, words * sizeof *state);
    part->used++;
}

static unsigned owner_of(const struct table *table, uint64_t hash)
{
    return (unsigned)((hash >> 32) * table->part_count >> 32);
}

/* A state that has been found: into its owner's part, or the box for it. */
static void found(struct table *table, unsigned member, const uint64_t *state, uint64_t hash)
{
    unsigned owner = owner_of(table, hash);
    struct part *mine = &table->parts[member];
    if (owner == member)
        insert(table, mine, state, hash);
    else if (!push(table, &mine->boxes[owner], state))
        cpu_halt(table->cpu, COMPOSE_MEMORY);
}

/* Everything an indivisible firing leads to from the state. */
static void look_at(struct table *table, unsigned member, const uint64_t *state, uint64_t *to)
{
    struct cpu *cpu = table->cpu;
    struct scene *scene = &cpu->scenes[member];
    size_t words = table->words;
    if (!scene_look(scene, state)) {
        cpu_halt(cpu, COMPOSE_MEMORY);
        return;
    }
    for (size_t i = 0; i < scene->count; i++) {
        memcpy(to, state, words * sizeof *to);
        patches_flip(scene->enabled[i].patches, scene->enabled[i].patch_count, to);
        found(table, member, to, hash_state(to, words));
    }
}

/* Starts fetching what insert will look at. */
static inline void expect(const struct part *part, uint64_t hash, size_t words)
{
    if (part->slot_count)
        __builtin_prefetch(part->slots + (hash & (part->slot_count - 1)) * words, 1);
}

#define AHEAD 64 /* states found before they are inserted, so that their slots can be fetched */

/* The same for states of one word, whose firings are one patch each, and listed. */
static void look_at_word(struct table *table, unsigned member, uint64_t state)
{
    const struct packing *packing = &table->cpu->packing;
    const struct part *mine = &table->parts[member];
    uint64_t to[AHEAD], hash[AHEAD];
    size_t count = packing->firings->count, i = 0;
    while (i < count) {
        size_t ready = 0;
        for (; i < count && ready < AHEAD; i++) {
            const struct patch *patch = &packing->patches[i];
            if ((state & patch->mask) != patch->value)
                continue;
            to[ready] = state ^ patch->flip;
            hash[ready] = hash_state(&to[ready], 1);
            expect(mine, hash[ready++], 1);
        }
        for (size_t k = 0; k < ready; k++)
            found(table, member, &to[k], hash[k]);
    }
}

static void empty_boxes(struct table *table, unsigned member)
{
    struct part *mine = &table->parts[member];
    size_t words = table->words;
    for (unsigned from = 0; from < table->part_count; from++) {
        struct states *box = &table->parts[from].boxes[member];
        for (size_t i = 0; i < box->count; i += words) {
            size_t later = i + 8 * words;
            if (later < box->count)
                expect(mine, hash_state(box->list + later, words), words);
            insert(table, mine, box->list + i, hash_state(box->list + i, words));
        }
        box->count = 0;
    }
}

/* What next? One decides for all, while all are there. */
static void decide(struct table *table)
{
    struct cpu *cpu = table->cpu;
    uint64_t waiting = 0, states = 0;
    for (unsigned p = 0; p < table->part_count; p++) {
        waiting += table->parts[p].waiting.count / table->words;
        states += table->parts[p].used;
    }
    atomic_store_explicit(&cpu->states, states, memory_order_relaxed);
    atomic_store_explicit(&cpu->waiting, waiting, memory_order_relaxed);
    /* A bitmap with one state a word costs no more than the table and is much faster. */
    table->turn = cpu->grid.words && states >= cpu->grid.words && !table->no_bitmap &&
                  (cpu->options->full || !cpu->options->max_states) && waiting > 0;
    table->leave = waiting == 0 || table->turn || cpu_halted(cpu);
}

static void find(void *context, unsigned member)
{
    struct table *table = context;
    struct part *mine = &table->parts[member];
    size_t words = table->words;
    uint64_t *state = mine->boxes[member].list, *to = state + words; /* its own box is free */
    bool short_list =
        words == 1 && table->cpu->firings.complete && table->cpu->firings.count <= SHORT_LIST;
    do {
        size_t looked = 0, boxed = 0;
        while (mine->waiting.count > 0 && looked < BOX_ENOUGH && boxed < BOX_ENOUGH &&
               !cpu_halted(table->cpu)) {
            mine->waiting.count -= words;
            memcpy(state, mine->waiting.list + mine->waiting.count, words * sizeof *state);
            if (short_list)
                look_at_word(table, member, *state);
            else
                look_at(table, member, state, to);
            looked++;
            boxed = 0;
            for (unsigned p = 0; p < table->part_count; p++)
                if (p != member && mine->boxes[p].count / words > boxed)
                    boxed = mine->boxes[p].count / words;
        }
        team_meet(table->cpu->team);
        empty_boxes(table, member);
        team_meet(table->cpu->team);
        if (member == 0)
            decide(table);
        team_meet(table->cpu->team);
    } while (!table->leave);
}

/* ------------------------------------------------------------------ opening and closing */

void table_free(struct cpu *cpu)
{
    struct table *table = cpu->table;
    const gordian_allocator *memory = &cpu->meter.memory;
    if (!table)
        return;
    for (unsigned p = 0; table->parts && p < table->part_count; p++) {
        struct part *part = &table->parts[p];
        memory_free(memory, part->slots);
        memory_free(memory, part->waiting.list);
        for (unsigned b = 0; part->boxes && b < table->part_count; b++)
            memory_free(memory, part->boxes[b].list);
        memory_free(memory, part->boxes);
    }
    memory_free(memory, table->parts);
    memory_free(memory, table);
    cpu->table = NULL;
}

static bool table_make(struct cpu *cpu)
{
    const gordian_allocator *memory = &cpu->meter.memory;
    struct table *table = memory_zeroed(memory, sizeof *table);
    cpu->table = table;
    if (!table)
        return false;
    *table = (struct table){.cpu = cpu, .words = cpu->packing.words};
    table->part_count = team_size(cpu->team);
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

static gordian_status put_initial(struct cpu *cpu, gordian_error *error)
{
    struct table *table = cpu->table;
    const gordian_allocator *memory = &cpu->meter.memory;
    uint32_t *locals = memory_alloc(memory, cpu->circuit->factor_count * sizeof *locals);
    uint64_t *state = memory_alloc(memory, table->words * sizeof *state), put = 0;
    gordian_status status = locals && state ? GORDIAN_OK : fail_memory(error);
    if (status == GORDIAN_OK) {
        initial_first(cpu->circuit, locals);
        do {
            pack(&cpu->packing, locals, state);
            uint64_t hash = hash_state(state, table->words);
            insert(table, &table->parts[owner_of(table, hash)], state, hash);
            if (++put % 65536 == 0)
                cpu_report(cpu);
        } while (!cpu_halted(cpu) && initial_next(cpu->circuit, locals));
    }
    memory_free(memory, locals);
    memory_free(memory, state);
    return status;
}

void table_each(const struct table *table, unsigned part,
                void (*each)(void *context, const uint64_t *state), void *context)
{
    const struct part *mine = &table->parts[part];
    for (size_t i = 0; i < mine->slot_count; i++)
        if (mine->slots[i * table->words] != PACKED_NONE)
            each(context, mine->slots + i * table->words);
}

/* Everything into a bitmap; what is waiting is not done yet. False: no memory for one. */
static bool turn_to_bitmap(struct cpu *cpu)
{
    struct table *table = cpu->table;
    if (!cpu_bitmap_open(cpu))
        return false;
    for (unsigned p = 0; p < table->part_count; p++) {
        const struct part *part = &table->parts[p];
        for (size_t i = 0; i < part->slot_count; i++)
            if (part->slots[i] != PACKED_NONE)
                cpu_bitmap_put(cpu, part->slots[i], true);
    }
    for (unsigned p = 0; p < table->part_count; p++)
        for (size_t i = 0; i < table->parts[p].waiting.count; i++)
            cpu_bitmap_put(cpu, table->parts[p].waiting.list[i], false);
    table_free(cpu);
    return true;
}

gordian_status cpu_hash(struct cpu *cpu, gordian_error *error)
{
    if (!table_make(cpu))
        return fail_memory(error);
    gordian_status status = put_initial(cpu, error);
    while (status == GORDIAN_OK) {
        cpu_work(cpu, find, cpu->table);
        if (!cpu->table->turn || cpu_halted(cpu))
            break;
        if (turn_to_bitmap(cpu))
            break;
        cpu->table->no_bitmap = true;
    }
    return status;
}

gordian_status cpu_sort(struct cpu *cpu, gordian_error *error)
{
    struct table *table = cpu->table;
    const gordian_allocator *memory = &cpu->meter.memory;
    size_t words = table->words;
    uint64_t count = 0, next = 0;
    for (unsigned p = 0; p < table->part_count; p++)
        count += table->parts[p].used;
    uint64_t *states = memory_alloc(memory, count * words * sizeof *states);
    if (!states)
        return fail_memory(error);
    for (unsigned p = 0; p < table->part_count; p++) {
        const struct part *part = &table->parts[p];
        for (size_t i = 0; i < part->slot_count; i++)
            if (part->slots[i * words] != PACKED_NONE)
                memcpy(states + words * next++, part->slots + i * words, words * sizeof *states);
    }
    table_free(cpu);
    sort_states(states, count, words);
    cpu->space = (struct space){.kind = SPACE_SORTED,
                                .memory = *memory,
                                .packing = &cpu->packing,
                                .count = count,
                                .states = states};
    return GORDIAN_OK;
}
