#include "base/names.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

#define ENTRY_HEAD   5 /* id and length */
#define PLACE_MAX    UINT32_MAX
#define SLOTS_MIN    16
#define SLOTS_MAX    (UINT32_C(1) << 31)
#define FULL(slots)  ((slots) / 4 * 3) /* names a table of so many slots takes */
#define NO_ENTRY     0
#define TEXT_START   8 /* place 0 is no entry */
#define MULTIPLIER_1 UINT64_C(0x9e3779b97f4a7c15)
#define MULTIPLIER_2 UINT64_C(0xd6e8feb86659fd93)

/* ---- hashing */

static uint64_t load64(const char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t load32(const char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t stir(uint64_t hash, uint64_t chunk)
{
    hash = (hash ^ chunk) * MULTIPLIER_1;
    return hash ^ hash >> 29;
}

/* The last chunk overlaps the one before it: no byte loop. */
static uint64_t hash_name(const char *name, size_t length)
{
    uint64_t hash = length * MULTIPLIER_2;
    if (length >= 8) {
        for (size_t at = 0; at + 8 < length; at += 8)
            hash = stir(hash, load64(name + at));
        hash = stir(hash, load64(name + length - 8));
    } else if (length >= 4) {
        hash = stir(hash, (uint64_t)load32(name) << 32 | load32(name + length - 4));
    } else if (length > 0) {
        const unsigned char *bytes = (const unsigned char *)name;
        uint64_t middle = bytes[length / 2], last = bytes[length - 1];
        hash = stir(hash, bytes[0] | middle << 8 | last << 16);
    }
    hash *= MULTIPLIER_2;
    return hash ^ hash >> 32;
}

/* ---- the string store */

static char *entry_at(const struct names *names, uint32_t place)
{
    return names->text + (size_t)place * 8;
}

static uint32_t entry_id(const char *entry)
{
    return load32(entry);
}

static size_t entry_length(const char *entry)
{
    return (unsigned char)entry[4];
}

static uint64_t entry_hash(const char *entry)
{
    return hash_name(entry + ENTRY_HEAD, entry_length(entry));
}

static size_t entry_units(size_t length)
{
    return (ENTRY_HEAD + length + 1 + 7) / 8;
}

static bool reserve_text(struct names *names, size_t bytes)
{
    size_t used = names->text_used ? names->text_used : TEXT_START;
    if (bytes > SIZE_MAX - used || (used + bytes - 1) / 8 > PLACE_MAX)
        return false;
    if (!memory_grow(&names->memory, &names->text, &names->text_room, used + bytes, 1))
        return false;
    names->text_used = used;
    return true;
}

/* Room must have been made, unless an entry of that size is free. */
static uint32_t take_entry(struct names *names, size_t units)
{
    uint32_t place = names->free_places[units];
    if (place != NO_ENTRY) {
        names->free_places[units] = load32(entry_at(names, place));
        return place;
    }
    place = (uint32_t)(names->text_used / 8);
    names->text_used += units * 8;
    return place;
}

static void give_entry(struct names *names, uint32_t place)
{
    char *entry = entry_at(names, place);
    size_t units = entry_units(entry_length(entry));
    memcpy(entry, &names->free_places[units], sizeof names->free_places[units]);
    names->free_places[units] = place;
}

/* ---- the table */

static uint32_t home_of(const struct names *names, uint64_t hash)
{
    return (uint32_t)hash & (names->slot_count - 1);
}

static uint32_t after(const struct names *names, uint32_t slot)
{
    return (slot + 1) & (names->slot_count - 1);
}

static uint32_t tagged(const struct names *names, uint64_t hash, uint32_t place)
{
    return ((uint32_t)(hash >> 32) & ~names->place_mask) | place;
}

static void insert(struct names *names, uint64_t hash, uint32_t place)
{
    uint32_t slot = home_of(names, hash);
    while (names->slots[slot])
        slot = after(names, slot);
    names->slots[slot] = tagged(names, hash, place);
}

/* The least 2^k - 1 that is at least `value`. */
static uint32_t mask_for(uint64_t value)
{
    uint64_t mask = 0xff;
    while (mask < value && mask < UINT32_MAX)
        mask = mask << 1 | 1;
    return (uint32_t)mask;
}

/* Text has outgrown the bits for a place: gives it more, taken from the hash. */
static void widen_places(struct names *names, uint64_t largest)
{
    uint32_t old = names->place_mask;
    names->place_mask = mask_for(largest);
    for (uint32_t slot = 0; slot < names->slot_count; slot++) {
        uint32_t place = names->slots[slot] & old;
        if (place != NO_ENTRY)
            names->slots[slot] = tagged(names, entry_hash(entry_at(names, place)), place);
    }
}

static bool resize_table(struct names *names, uint32_t slot_count)
{
    uint32_t *slots = memory_zeroed(&names->memory, (size_t)slot_count * sizeof *slots);
    if (!slots)
        return false;
    memory_free(&names->memory, names->slots);
    names->slots = slots;
    names->slot_count = slot_count;
    /* Text grows with the table: twice as much is to be expected until the next time. */
    size_t expected = names->text_used * 2;
    names->place_mask = mask_for((expected > names->text_room ? expected : names->text_room) / 8);
    for (uint32_t id = 0; id < names->id_room; id++) {
        uint32_t place = names->places[id];
        if (place != NO_ENTRY)
            insert(names, entry_hash(entry_at(names, place)), place);
    }
    return true;
}

static bool reserve_slots(struct names *names, uint32_t count)
{
    uint32_t slot_count = names->slot_count ? names->slot_count : SLOTS_MIN;
    while (FULL(slot_count) < count && slot_count < SLOTS_MAX)
        slot_count *= 2;
    if (FULL(slot_count) < count)
        return false;
    return slot_count == names->slot_count || resize_table(names, slot_count);
}

static bool reserve_ids(struct names *names, uint32_t ids)
{
    uint32_t old = names->id_room;
    if (!memory_grow32(&names->memory, &names->places, &names->id_room, ids, sizeof *names->places))
        return false;
    memset(names->places + old, 0, (size_t)(names->id_room - old) * sizeof *names->places);
    return true;
}

/* The slot of a name with that hash, or the free one where the search ended. */
static uint32_t slot_of(const struct names *names, uint64_t hash, const char *name, size_t length)
{
    uint32_t mask = names->place_mask;
    uint32_t tag = (uint32_t)(hash >> 32) & ~mask;
    for (uint32_t slot = home_of(names, hash);; slot = after(names, slot)) {
        uint32_t value = names->slots[slot];
        if (value == 0)
            return slot;
        if ((value & ~mask) != tag)
            continue;
        const char *entry = entry_at(names, value & mask);
        if (entry_length(entry) == length && memcmp(entry + ENTRY_HEAD, name, length) == 0)
            return slot;
    }
}

/* Frees a slot and closes the gap: an entry moves back unless that would put it
 * before its home. */
static void remove_slot(struct names *names, uint32_t gap)
{
    uint32_t around = names->slot_count - 1;
    uint32_t slot = gap;
    for (;;) {
        slot = after(names, slot);
        uint32_t value = names->slots[slot];
        if (value == 0)
            break;
        uint32_t home = home_of(names, entry_hash(entry_at(names, value & names->place_mask)));
        if (((slot - home) & around) < ((slot - gap) & around))
            continue;
        names->slots[gap] = value;
        gap = slot;
    }
    names->slots[gap] = 0;
}

/* ---- the interface */

void names_init(struct names *names, const gordian_allocator *memory)
{
    *names = (struct names){.memory = *memory};
}

void names_free(struct names *names)
{
    gordian_allocator memory = names->memory;
    memory_free(&memory, names->slots);
    memory_free(&memory, names->places);
    memory_free(&memory, names->text);
    names_init(names, &memory);
}

bool names_reserve(struct names *names, uint32_t ids, size_t bytes)
{
    if (ids > names->id_room && !reserve_ids(names, ids))
        return false;
    /* A name costs its entry's head, its NUL and what rounding adds. */
    size_t count = bytes < ids ? bytes : ids;
    if (count > (SIZE_MAX - bytes) / (ENTRY_HEAD + 1 + 7))
        return false;
    if (bytes > 0 && !reserve_text(names, bytes + count * (ENTRY_HEAD + 1 + 7)))
        return false;
    return ids == 0 || reserve_slots(names, ids > names->used ? ids : names->used);
}

uint32_t names_find(const struct names *names, const char *name, size_t length)
{
    if (names->used == 0)
        return GORDIAN_NONE;
    uint32_t value = names->slots[slot_of(names, hash_name(name, length), name, length)];
    return value == 0 ? GORDIAN_NONE : entry_id(entry_at(names, value & names->place_mask));
}

void names_expect(const struct names *names, const char *name, size_t length)
{
    if (names->used > 0)
        __builtin_prefetch(&names->slots[home_of(names, hash_name(name, length))]);
}

bool names_put(struct names *names, uint32_t id, const char *name, size_t length)
{
    size_t units = entry_units(length);
    if (id == GORDIAN_NONE || names->used == UINT32_MAX)
        return false;
    if (id >= names->id_room && !reserve_ids(names, id + 1))
        return false;
    if (names->free_places[units] == NO_ENTRY && !reserve_text(names, units * 8))
        return false;
    if (!reserve_slots(names, names->used + 1))
        return false;
    uint32_t place = take_entry(names, units);
    if (place > names->place_mask)
        widen_places(names, (uint64_t)place * 2);
    char *entry = entry_at(names, place);
    memcpy(entry, &id, sizeof id);
    entry[4] = (char)length;
    memcpy(entry + ENTRY_HEAD, name, length);
    entry[ENTRY_HEAD + length] = '\0';
    names->places[id] = place;
    names->used++;
    insert(names, hash_name(name, length), place);
    return true;
}

void names_drop(struct names *names, uint32_t id)
{
    if (id >= names->id_room || names->places[id] == NO_ENTRY)
        return;
    uint32_t place = names->places[id];
    const char *entry = entry_at(names, place);
    remove_slot(names, slot_of(names, entry_hash(entry), entry + ENTRY_HEAD, entry_length(entry)));
    names->places[id] = NO_ENTRY;
    names->used--;
    give_entry(names, place);
}

const char *names_text(const struct names *names, uint32_t id)
{
    if (id >= names->id_room || names->places[id] == NO_ENTRY)
        return "";
    return entry_at(names, names->places[id]) + ENTRY_HEAD;
}

bool names_valid(const char *name, size_t length, const char **why)
{
    *why = NULL;
    if (length == 0)
        *why = "a name cannot be empty";
    else if (length > GORDIAN_NAME_MAX)
        *why = "a name is at most 255 bytes long";
    for (size_t i = 0; i < length && !*why; i++) {
        switch (name[i]) {
        case '\0':
            *why = "a name cannot contain a NUL byte";
            break;
        case ' ':
        case '\t':
        case '\r':
        case '\n':
            *why = "a name cannot contain a blank";
            break;
        case '#':
            *why = "a name cannot contain '#'";
            break;
        case '=':
            *why = "a name cannot contain '='";
            break;
        default:
            break;
        }
    }
    return !*why;
}

gordian_status names_check(const struct names *names, const char *name, const char *kind,
                           gordian_error *error)
{
    const char *why;
    if (!name)
        return GORDIAN_OK;
    size_t length = strlen(name);
    if (!names_valid(name, length, &why))
        return fail(error, GORDIAN_STATUS_INPUT, "not a name for a %s: %s", kind, why);
    if (names_find(names, name, length) != GORDIAN_NONE)
        return fail(error, GORDIAN_STATUS_INPUT, "there is a %s '%s' already", kind, name);
    return GORDIAN_OK;
}
