#include "foundation/base/names/sharded_interner.h"

#include "foundation/base/memory.h"

#define ENTRY_HEAD 5 /* id (NONE: not assigned yet) and length */
#define PLACE_MASK ((UINT32_C(1) << CROWD_PLACE_BITS) - 1)
#define TEXT_START 8 /* place 0 is no entry */
#define NONE       GORDIAN_NONE
#define AHEAD      32
#define LARGE_PART ((size_t)8 << 20) /* an unused half of a large page is little of it */

_Static_assert(SHARDED_INTERNER_SHARDS == 1 << (32 - CROWD_PLACE_BITS),
               "a place has room for the part");

void sharded_interner_init(struct sharded_interner *interner, const gordian_allocator *memory)
{
    *interner = (struct sharded_interner){.memory = *memory};
}

void sharded_interner_settle(struct sharded_interner *interner)
{
    for (unsigned i = 0; i < SHARDED_INTERNER_SHARDS; i++)
        hash_free(&interner->parts[i].table, &interner->memory);
}

void sharded_interner_free(struct sharded_interner *interner)
{
    gordian_allocator memory = interner->memory;
    sharded_interner_settle(interner);
    for (unsigned i = 0; i < SHARDED_INTERNER_SHARDS; i++)
        memory_free(&memory, interner->parts[i].text);
    memory_free(&memory, interner->places);
    sharded_interner_init(interner, &memory);
}

void sharded_interner_prepare(struct sharded_interner *interner, size_t bytes, uint32_t names)
{
    size_t room = bytes / SHARDED_INTERNER_SHARDS;
    for (unsigned i = 0; i < SHARDED_INTERNER_SHARDS; i++) {
        struct sharded_interner_shard *part = &interner->parts[i];
        part->text = memory_alloc(&interner->memory, room);
        part->room = part->text ? room : 0;
        if (room >= LARGE_PART)
            memory_expect_random(&interner->memory, part->text, room);
    }
    interner->places = memory_alloc_random(&interner->memory, names * sizeof *interner->places);
    interner->room = interner->places ? names : 0;
}

/* ---- shards */

static char *part_entry(const struct sharded_interner_shard *part, uint32_t place)
{
    return part->text + (size_t)place * 8;
}

static size_t entry_size(size_t length)
{
    return (ENTRY_HEAD + length + 1 + 7) / 8 * 8;
}

/* Entries are never removed, so they are contiguous. */
static void put_name_entries(const void *context, struct hash *table)
{
    const struct sharded_interner_shard *part = context;
    for (size_t at = TEXT_START; at < part->used;) {
        const char *entry = part->text + at;
        size_t length = (unsigned char)entry[4];
        hash_put(table, short_hash_slack(entry + ENTRY_HEAD, length), (uint32_t)(at / 8) - 1);
        at += entry_size(length);
    }
}

static const char *long_text(const struct sharded_interner_name *name)
{
    return (const char *)(uintptr_t)name->words.low; // NOLINT(performance-no-int-to-ptr)
}

static bool is_entry(const char *entry, const struct sharded_interner_name *name)
{
    const char *text = entry + ENTRY_HEAD;
    if ((unsigned char)entry[4] != name->length)
        return false;
    if (name->length > SHORT_MAX)
        return memcmp(text, long_text(name), name->length) == 0;
    struct short_name mask = short_mask(name->length);
    return (((short_word(text) & mask.low) ^ name->words.low) |
            ((short_word(text + 8) & mask.high) ^ name->words.high)) == 0;
}

/* Returns the place of a name; 0: not found. */
static uint32_t find_name_place(const struct sharded_interner_shard *part,
                                const struct sharded_interner_name *name, uint64_t hash)
{
    struct hash_probe probe = hash_probe(&part->table, hash);
    while (hash_meet(&part->table, &probe))
        if (is_entry(part_entry(part, probe.number + 1), name))
            return probe.number + 1;
    return 0;
}

/* Adds a name and returns its place; 0: out of memory. */
static uint32_t put_name_entry(struct sharded_interner_shard *part,
                               const struct sharded_interner_name *name, uint64_t hash,
                               const gordian_allocator *memory)
{
    size_t used = part->used ? part->used : TEXT_START, size = entry_size(name->length);
    if ((used + size) / 8 > PLACE_MASK ||
        !memory_grow(memory, &part->text, &part->room, used + size + NAMES_SLACK, 1))
        return 0;
    part->used = used;
    uint32_t place = (uint32_t)(used / 8);
    if (!hash_reserve(&part->table, memory, part->table.used + 1, place, put_name_entries, part))
        return 0;
    char *entry = part_entry(part, place);
    uint32_t none = NONE;
    memcpy(entry, &none, sizeof none);
    entry[4] = (char)name->length;
    if (name->length > SHORT_MAX)
        memcpy(entry + ENTRY_HEAD, long_text(name), name->length);
    else
        short_store(entry + ENTRY_HEAD, name->words); /* if shorter, the rest goes to the slack */
    entry[ENTRY_HEAD + name->length] = '\0';
    part->used += size;
    hash_put(&part->table, hash, place - 1);
    return place;
}

static bool take_some_names(struct sharded_interner *interner, struct sharded_interner_shard *part,
                            const struct sharded_interner_name *names, size_t count,
                            uint32_t *answers, uint32_t *fresh)
{
    uint64_t hashes[AHEAD];
    for (size_t i = 0; i < count; i++)
        hashes[i] = names[i].length > SHORT_MAX ? hash_bytes(long_text(&names[i]), names[i].length)
                                                : short_hash_words(names[i].words);
    /* Prefetch the slots of these names, then their entries. */
    for (size_t i = 0; i < count; i++)
        hash_expect(&part->table, hashes[i]);
    for (size_t i = 0; i < count; i++) {
        struct hash_probe probe = hash_probe(&part->table, hashes[i]);
        if (hash_meet(&part->table, &probe))
            __builtin_prefetch(part_entry(part, probe.number + 1));
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t place = find_name_place(part, &names[i], hashes[i]);
        if (place) {
            uint32_t id = hash_load32(part_entry(part, place));
            answers[i] = id == NONE ? place | CROWD_UNNUMBERED : id;
            continue;
        }
        place = put_name_entry(part, &names[i], hashes[i], &interner->memory);
        if (place == 0)
            return false;
        answers[i] = place | CROWD_UNNUMBERED | CROWD_NEW;
        ++*fresh;
    }
    return true;
}

bool sharded_interner_take(struct sharded_interner *interner, unsigned part,
                           const struct sharded_interner_name *names, size_t count,
                           uint32_t *answers, uint32_t *fresh)
{
    *fresh = 0;
    for (size_t at = 0; at < count; at += AHEAD)
        if (!take_some_names(interner, &interner->parts[part], names + at,
                             count - at < AHEAD ? count - at : AHEAD, answers + at, fresh))
            return false;
    return true;
}

/* ---- ids */

bool sharded_interner_reserve(struct sharded_interner *interner, uint32_t more)
{
    if (more > CROWD_MOST - interner->count ||
        !memory_grow32(&interner->memory, &interner->places, &interner->room,
                       interner->count + more, sizeof *interner->places))
        return false;
    interner->count += more;
    return true;
}

void sharded_interner_number(struct sharded_interner *interner, unsigned part, uint32_t answer,
                             uint32_t id)
{
    uint32_t place = answer & PLACE_MASK;
    memcpy(part_entry(&interner->parts[part], place), &id, sizeof id);
    interner->places[id] = place | (uint32_t)part << CROWD_PLACE_BITS;
}

uint32_t sharded_interner_id(const struct sharded_interner *interner, unsigned part,
                             uint32_t answer)
{
    return answer & CROWD_UNNUMBERED
               ? hash_load32(part_entry(&interner->parts[part], answer & PLACE_MASK))
               : answer;
}

void sharded_interner_prefetch(const struct sharded_interner *interner, unsigned part,
                               uint32_t answer)
{
    if (answer & CROWD_UNNUMBERED)
        __builtin_prefetch(part_entry(&interner->parts[part], answer & PLACE_MASK));
}

const char *sharded_interner_text(const struct sharded_interner *interner, uint32_t id)
{
    if (id >= interner->count)
        return "";
    uint32_t place = interner->places[id];
    return part_entry(&interner->parts[place >> CROWD_PLACE_BITS], place & PLACE_MASK) + ENTRY_HEAD;
}
