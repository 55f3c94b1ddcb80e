/* String interning: names to ids and back, by a hash table and a string store. The owner assigns
 * the ids (dense, reused). A name belongs to one id.
 *
 * An entry of the store is a multiple of 8 bytes: the id (4 bytes), the length (1), the name, a
 * NUL.
 * The place of an entry is its offset divided by 8; 0 is no entry. */
#pragma once

#include "foundation/base/names/short_name.h"

#define NAMES_ENTRY_MAX ((4 + 1 + GORDIAN_NAME_MAX + 1 + 7) / 8) /* in units of 8 bytes */

struct names {
    gordian_allocator memory;
    struct hash table; /* of places */
    uint32_t *places;  /* by id; 0: no name */
    uint32_t id_room;
    char *text; /* the store */
    size_t text_used, text_room;
    uint32_t free_places[NAMES_ENTRY_MAX + 1]; /* free lists by size, linked through the text */
    uint64_t puts, drops;                      /* number of insertions and removals so far */
};

void names_init(struct names *names, const gordian_allocator *memory);
void names_free(struct names *names);

/* Reserves capacity for ids below `ids`, and names of `bytes` more bytes in total. */
bool names_reserve(struct names *names, uint32_t ids, size_t bytes);
/* Returns the id of a name, or GORDIAN_NONE. */
uint32_t names_find(const struct names *names, const char *name, size_t length);
/* Assigns a name to `id`. The name must be new. False: out of memory, nothing changed. */
bool names_put(struct names *names, uint32_t id, const char *name, size_t length);
/* Removes the name of `id`, if it has one. */
void names_drop(struct names *names, uint32_t id);
/* Returns the name with a NUL; "" if the id has none. Valid until the next put. */
const char *names_text(const struct names *names, uint32_t id);

/* A name to find soon, and the result of its latest search. */
struct names_query {
    const char *name; /* NAMES_SLACK bytes behind it are readable */
    uint64_t hash;
    uint32_t length;
    uint32_t id; /* NONE: not found */
};

#define NAMES_SLACK SHORT_MAX /* see foundation/base/names/short_name.h */

/* Returns a query that was not looked up yet. */
static inline struct names_query names_ask(const char *name, uint32_t length)
{
    return (struct names_query){name, short_hash_slack(name, length), length, GORDIAN_NONE};
}

/* Returns a query for a name that no id has. */
static inline struct names_query names_ask_none(const char *text)
{
    return (struct names_query){text, 0, 0, GORDIAN_NONE};
}

/* Finds many names at once, so that their cache misses overlap. */
void names_find_all(const struct names *names, struct names_query *queries, size_t count);
/* Repeats one of these searches. */
uint32_t names_find_again(const struct names *names, const struct names_query *query);
/* names_put for a query that found nothing. */
bool names_put_query(struct names *names, uint32_t id, const struct names_query *query);

/* Is it a valid name: 1 to 255 bytes, no blank, '#', '=' or NUL? If not, *why is the reason. */
bool names_valid(const char *name, size_t length, const char **why);

#define NAMES_KEY_MAX 63 /* maximum length of a label's key; of a whole label: GORDIAN_NAME_MAX */
/* Returns the length of the key of a label KEY:VALUE; 0: malformed, *why is the reason. */
size_t names_label_key(const char *label, size_t length, const char **why);
/* Checks a name to be added: NULL, or valid and new. GORDIAN_STATUS_INPUT with the reason if not.
 * `kind` is what gets the name, such as "process". */
gordian_status names_check(const struct names *names, const char *name, const char *kind,
                           gordian_error *error);
