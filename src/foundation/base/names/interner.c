#include "foundation/base/names/interner.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

#define ENTRY_HEAD 5 /* id and length */
#define PLACE_MAX  UINT32_MAX
#define NO_ENTRY   0
#define TEXT_START 8 /* place 0 is no entry, or the unused one with an empty name */

/* ---- storage of the strings */

static char *name_entry_at(const struct names *names, uint32_t place)
{
    return names->text + (size_t)place * 8;
}

static size_t entry_length(const char *entry)
{
    return (unsigned char)entry[4];
}

static uint64_t entry_hash(const char *entry)
{
    return short_hash_slack(entry + ENTRY_HEAD, entry_length(entry));
}

static size_t entry_units(size_t length)
{
    return (ENTRY_HEAD + length + 1 + 7) / 8;
}

struct names_empty_entry {
    uint32_t id, length;
};

static bool reserve_text(struct names *names, size_t bytes)
{
    size_t used = names->text_used ? names->text_used : TEXT_START;
    if (bytes > SIZE_MAX - used || (used + bytes - 1) / 8 > PLACE_MAX)
        return false;
    if (!memory_grow(&names->memory, &names->text, &names->text_room, used + bytes + NAMES_SLACK,
                     1))
        return false;
    if (names->text_used == 0)
        memcpy(names->text, &(struct names_empty_entry){.id = GORDIAN_NONE}, TEXT_START);
    names->text_used = used;
    return true;
}

/* Returns the place of an entry. Its capacity must be reserved, or an entry of that size be free.
 */
static uint32_t take_free_entry(struct names *names, size_t units)
{
    uint32_t place = names->free_places[units];
    if (place != NO_ENTRY) {
        names->free_places[units] = hash_load32(name_entry_at(names, place));
        return place;
    }
    place = (uint32_t)(names->text_used / 8);
    names->text_used += units * 8;
    return place;
}

/* ---- hash table, whose numbers are places less one */

static uint64_t hash_of_number(const void *context, uint32_t number)
{
    return entry_hash(name_entry_at(context, number + 1));
}

/* In the order of the ids, because names tend to be stored in that order. */
static void put_all(const void *context, struct hash *table)
{
    const struct names *names = context;
    for (uint32_t id = 0; id < names->id_room; id++) {
        uint32_t place = names->places[id];
        if (place != NO_ENTRY)
            hash_put(table, entry_hash(name_entry_at(names, place)), place - 1);
    }
}

static bool reserve_ids(struct names *names, uint32_t ids)
{
    uint32_t old = names->id_room;
    if (!memory_grow32(&names->memory, &names->places, &names->id_room, ids, sizeof *names->places))
        return false;
    memset(names->places + old, 0, (size_t)(names->id_room - old) * sizeof *names->places);
    return true;
}

/* Finds the entry of a name; NULL: none. *slot is its slot in the table. */
static const char *find_name_entry(const struct names *names, const char *name, size_t length,
                                   uint64_t hash, uint32_t *slot)
{
    struct hash_probe probe = hash_probe(&names->table, hash);
    while (hash_meet(&names->table, &probe)) {
        const char *entry = name_entry_at(names, probe.number + 1);
        if (entry_length(entry) != length || memcmp(entry + ENTRY_HEAD, name, length) != 0)
            continue;
        *slot = probe.slot;
        return entry;
    }
    return NULL;
}

/* ---- interface */

void names_init(struct names *names, const gordian_allocator *memory)
{
    *names = (struct names){.memory = *memory};
}

void names_free(struct names *names)
{
    gordian_allocator memory = names->memory;
    hash_free(&names->table, &memory);
    memory_free_all(&memory, names->places, names->text);
    names_init(names, &memory);
}

bool names_reserve(struct names *names, uint32_t ids, size_t bytes)
{
    if (ids > names->id_room && !reserve_ids(names, ids))
        return false;
    /* A name needs the head of its entry, its NUL, and up to 7 bytes of padding. */
    size_t count = bytes < ids ? bytes : ids;
    if (count > (SIZE_MAX - bytes) / (ENTRY_HEAD + 1 + 7))
        return false;
    if (bytes > 0 && !reserve_text(names, bytes + count * (ENTRY_HEAD + 1 + 7)))
        return false;
    uint32_t used = names->table.used;
    return ids == 0 || hash_reserve(&names->table, &names->memory, ids > used ? ids : used,
                                    (uint32_t)(names->text_room / 8), put_all, names);
}

uint32_t names_find(const struct names *names, const char *name, size_t length)
{
    uint32_t slot;
    const char *entry = find_name_entry(names, name, length, short_hash(name, length), &slot);
    return entry ? hash_load32(entry) : GORDIAN_NONE;
}

uint32_t names_find_again(const struct names *names, const struct names_query *query)
{
    struct hash_probe probe = hash_probe(&names->table, query->hash);
    while (hash_meet(&names->table, &probe)) {
        const char *entry = name_entry_at(names, probe.number + 1);
        if (entry_length(entry) == query->length &&
            short_same(entry + ENTRY_HEAD, query->name, query->length))
            return hash_load32(entry);
    }
    return GORDIAN_NONE;
}

/* Tables up to this size fit into the near caches, where prefetching only costs time. */
#define NEAR_SLOTS (1u << 14)
#define SOME       64 /* names per batch */

/* In a small table the first slot mostly has the name: one branch, no call. (A free slot leads to
 * place 0, whose name is empty.) */
static inline uint32_t find_first(const struct names *names, const struct names_query *query,
                                  uint32_t slot)
{
    uint32_t mask = names->table.mask, length = query->length;
    const char *entry = name_entry_at(names, slot & mask);
    bool other = ((slot ^ (uint32_t)(query->hash >> 32)) & ~mask) != 0;
    if (__builtin_expect(length - 1 >= SHORT_MAX, 0))
        return length ? names_find_again(names, query) : GORDIAN_NONE;
    if (__builtin_expect(other | (entry_length(entry) != length) |
                             !short_same(entry + ENTRY_HEAD, query->name, length),
                         0))
        return names_find_again(names, query);
    return hash_load32(entry);
}

/* First all slots, then all names, so that the loads overlap. */
static void find_some_names(const struct names *names, struct names_query *queries, size_t count)
{
    const struct names local = *names; /* a local copy, which stores to queries cannot change */
    const uint32_t *from = names->table.slots, around = names->table.slot_count - 1;
    uint32_t slots[SOME];
    for (size_t i = 0; i < count; i++)
        slots[i] = from[(uint32_t)queries[i].hash & around];
    for (size_t i = 0; i < count; i++)
        queries[i].id = find_first(&local, &queries[i], slots[i]);
}

void names_find_all(const struct names *names, struct names_query *queries, size_t count)
{
    if (names->table.used == 0)
        return;
    if (names->table.slot_count > NEAR_SLOTS) {
        /* Large tables are fuller: the first slot of a search often has another name. */
        for (size_t i = 0; i < count; i++)
            hash_expect(&names->table, queries[i].hash);
        for (size_t i = 0; i < count; i++) {
            struct hash_probe probe = hash_probe(&names->table, queries[i].hash);
            if (hash_meet(&names->table, &probe))
                __builtin_prefetch(name_entry_at(names, probe.number + 1));
        }
        for (size_t i = 0; i < count; i++)
            if (queries[i].length > 0)
                queries[i].id = names_find_again(names, &queries[i]);
        return;
    }
    for (size_t at = 0; at < count; at += SOME)
        find_some_names(names, queries + at, count - at < SOME ? count - at : SOME);
}

static bool put_hashed(struct names *names, uint32_t id, const char *name, size_t length,
                       uint64_t hash)
{
    size_t units = entry_units(length);
    if (id == GORDIAN_NONE || names->table.used == UINT32_MAX)
        return false;
    if (id >= names->id_room && !reserve_ids(names, id + 1))
        return false;
    if (names->free_places[units] == NO_ENTRY && !reserve_text(names, units * 8))
        return false;
    if (!hash_reserve(&names->table, &names->memory, names->table.used + 1,
                      (uint32_t)(names->text_used / 8), put_all, names))
        return false;
    uint32_t place = take_free_entry(names, units);
    char *entry = name_entry_at(names, place);
    memcpy(entry, &id, sizeof id);
    entry[4] = (char)length;
    memcpy(entry + ENTRY_HEAD, name, length);
    entry[ENTRY_HEAD + length] = '\0';
    names->places[id] = place;
    hash_put(&names->table, hash, place - 1);
    names->puts++;
    return true;
}

bool names_put(struct names *names, uint32_t id, const char *name, size_t length)
{
    return put_hashed(names, id, name, length, short_hash(name, length));
}

bool names_put_query(struct names *names, uint32_t id, const struct names_query *query)
{
    return put_hashed(names, id, query->name, query->length, query->hash);
}

void names_drop(struct names *names, uint32_t id)
{
    if (id >= names->id_room || names->places[id] == NO_ENTRY)
        return;
    uint32_t place = names->places[id], slot;
    const char *entry = name_entry_at(names, place);
    find_name_entry(names, entry + ENTRY_HEAD, entry_length(entry), entry_hash(entry), &slot);
    hash_remove(&names->table, slot, hash_of_number, names);
    names->places[id] = NO_ENTRY;
    names->drops++;
    char *freed = name_entry_at(names, place);
    size_t units = entry_units(entry_length(freed));
    memcpy(freed, &names->free_places[units], sizeof names->free_places[units]);
    names->free_places[units] = place;
}

const char *names_text(const struct names *names, uint32_t id)
{
    if (id >= names->id_room || names->places[id] == NO_ENTRY)
        return "";
    return name_entry_at(names, names->places[id]) + ENTRY_HEAD;
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

size_t names_label_key(const char *label, size_t length, const char **why)
{
    if (!names_valid(label, length, why))
        return 0;
    const char *colon = memchr(label, ':', length);
    size_t key = colon ? (size_t)(colon - label) : 0;
    if (key == 0)
        *why = "expected KEY:VALUE";
    else if (key > NAMES_KEY_MAX)
        *why = "a key has at most 63 bytes";
    return *why ? 0 : key;
}

gordian_status names_check(const struct names *names, const char *name, const char *kind,
                           gordian_error *error)
{
    const char *why;
    if (!name)
        return GORDIAN_OK;
    size_t length = strlen(name);
    if (!names_valid(name, length, &why))
        return fail(error, GORDIAN_STATUS_INPUT, "invalid name for a %s: %s", kind, why);
    if (names_find(names, name, length) != GORDIAN_NONE)
        return fail(error, GORDIAN_STATUS_INPUT, "there is already a %s '%s'", kind, name);
    return GORDIAN_OK;
}
