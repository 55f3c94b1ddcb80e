#include "base/crowd.h"

#include "base/memory.h"

#define ENTRY_HEAD 5 /* id and length */
#define PART_SHIFT 28
#define PLACE_MASK ((UINT32_C(1) << PART_SHIFT) - 1)
#define TEXT_START 8 /* place 0 is no entry */
#define AHEAD      32
#define LARGE_PART ((size_t)8 << 20) /* the last large page, half empty, is little of it */

_Static_assert(CROWD_PARTS == 1 << (32 - PART_SHIFT), "a place has room for the part");

void crowd_init(struct crowd *crowd, const gordian_allocator *memory)
{
    *crowd = (struct crowd){.memory = *memory};
}

void crowd_settle(struct crowd *crowd)
{
    for (unsigned i = 0; i < CROWD_PARTS; i++)
        hash_free(&crowd->parts[i].table, &crowd->memory);
}

void crowd_free(struct crowd *crowd)
{
    gordian_allocator memory = crowd->memory;
    crowd_settle(crowd);
    for (unsigned i = 0; i < CROWD_PARTS; i++)
        memory_free(&memory, crowd->parts[i].text);
    memory_free(&memory, crowd->places);
    crowd_init(crowd, &memory);
}

void crowd_prepare(struct crowd *crowd, size_t bytes, uint32_t names)
{
    size_t room = bytes / CROWD_PARTS;
    for (unsigned i = 0; i < CROWD_PARTS; i++) {
        struct crowd_part *part = &crowd->parts[i];
        part->text = memory_alloc(&crowd->memory, room);
        part->room = part->text ? room : 0;
        if (room >= LARGE_PART)
            memory_expect_random(&crowd->memory, part->text, room);
    }
    crowd->places = memory_alloc_random(&crowd->memory, names * sizeof *crowd->places);
    crowd->room = crowd->places ? names : 0;
}

/* ---- a part */

static char *part_entry(const struct crowd_part *part, uint32_t place)
{
    return part->text + (size_t)place * 8;
}

static size_t entry_size(size_t length)
{
    return (ENTRY_HEAD + length + 1 + 7) / 8 * 8;
}

/* No entry is ever dropped: they lie one behind the other. */
static void put_entries(const void *context, struct hash *table)
{
    const struct crowd_part *part = context;
    for (size_t at = TEXT_START; at < part->used;) {
        const char *entry = part->text + at;
        size_t length = (unsigned char)entry[4];
        hash_put(table, short_hash_slack(entry + ENTRY_HEAD, length), (uint32_t)(at / 8) - 1);
        at += entry_size(length);
    }
}

static uint32_t find_place(const struct crowd_part *part, const struct names_query *query)
{
    struct hash_probe probe = hash_probe(&part->table, query->hash);
    while (hash_meet(&part->table, &probe)) {
        const char *entry = part_entry(part, probe.number + 1);
        if ((unsigned char)entry[4] == query->length &&
            short_same(entry + ENTRY_HEAD, query->name, query->length))
            return probe.number + 1;
    }
    return 0;
}

/* 0: out of memory. */
static uint32_t put_entry(struct crowd_part *part, const struct names_query *query,
                          const gordian_allocator *memory)
{
    size_t used = part->used ? part->used : TEXT_START, size = entry_size(query->length);
    if ((used + size) / 8 > PLACE_MASK ||
        !memory_grow(memory, &part->text, &part->room, used + size + NAMES_SLACK, 1))
        return 0;
    part->used = used;
    uint32_t place = (uint32_t)(used / 8);
    if (!hash_reserve(&part->table, memory, part->table.used + 1, place, put_entries, part))
        return 0;
    char *entry = part_entry(part, place);
    memset(entry, 0, 4);
    entry[4] = (char)query->length;
    memcpy(entry + ENTRY_HEAD, query->name, query->length);
    entry[ENTRY_HEAD + query->length] = '\0';
    part->used += size;
    hash_put(&part->table, query->hash, place - 1);
    return place;
}

static void expect_some(const struct crowd_part *part, const struct names_query *queries,
                        const uint32_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash_expect(&part->table, queries[list[i]].hash);
    for (size_t i = 0; i < count; i++) {
        struct hash_probe probe = hash_probe(&part->table, queries[list[i]].hash);
        if (hash_meet(&part->table, &probe))
            __builtin_prefetch(part_entry(part, probe.number + 1));
    }
}

static bool take_one(struct crowd *crowd, unsigned number, struct names_query *query)
{
    struct crowd_part *part = &crowd->parts[number];
    uint32_t place = find_place(part, query);
    if (place == 0) {
        place = put_entry(part, query, &crowd->memory);
        if (place == 0)
            return false;
        query->length |= CROWD_NEW;
    }
    query->id = place | (uint32_t)number << PART_SHIFT;
    return true;
}

bool crowd_take(struct crowd *crowd, unsigned part, struct names_query *queries,
                const uint32_t *list, size_t count)
{
    for (size_t at = 0; at < count; at += AHEAD) {
        size_t some = count - at < AHEAD ? count - at : AHEAD;
        expect_some(&crowd->parts[part], queries, list + at, some);
        for (size_t i = 0; i < some; i++)
            if (!take_one(crowd, part, &queries[list[at + i]]))
                return false;
    }
    return true;
}

/* ---- numbers */

static char *crowd_entry(const struct crowd *crowd, uint32_t place)
{
    return part_entry(&crowd->parts[place >> PART_SHIFT], place & PLACE_MASK);
}

bool crowd_reserve(struct crowd *crowd, uint32_t more)
{
    if (more > UINT32_MAX - crowd->count ||
        !memory_grow32(&crowd->memory, &crowd->places, &crowd->room, crowd->count + more,
                       sizeof *crowd->places))
        return false;
    crowd->count += more;
    return true;
}

void crowd_number(struct crowd *crowd, uint32_t place, uint32_t id)
{
    memcpy(crowd_entry(crowd, place), &id, sizeof id);
    crowd->places[id] = place;
}

uint32_t crowd_id(const struct crowd *crowd, uint32_t place)
{
    return hash_load32(crowd_entry(crowd, place));
}

void crowd_expect(const struct crowd *crowd, uint32_t place)
{
    __builtin_prefetch(crowd_entry(crowd, place));
}

const char *crowd_text(const struct crowd *crowd, uint32_t id)
{
    return id < crowd->count ? crowd_entry(crowd, crowd->places[id]) + ENTRY_HEAD : "";
}
