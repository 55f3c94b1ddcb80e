/* Names and their ids: a hash table from name to id beside a string store.
 * The owner hands the ids out (dense, reused); a name here belongs to one id.
 *
 * An entry of the store is a multiple of 8 bytes: the id (4 bytes), the length (1), the name,
 * a NUL. A *place* is an entry's offset divided by 8; 0 is no entry. */
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
    uint32_t free_places[NAMES_ENTRY_MAX + 1]; /* freed entries by size, linked through the text */
    uint64_t puts, drops;                      /* how many there have been */
};

void names_init(struct names *names, const gordian_allocator *memory);
void names_free(struct names *names);

/* Makes room for ids below `ids` with names of `bytes` more bytes in all. */
bool names_reserve(struct names *names, uint32_t ids, size_t bytes);
/* The id of a name, or GORDIAN_NONE. */
uint32_t names_find(const struct names *names, const char *name, size_t length);
/* Gives `id` a name, which must be new; false: out of memory, nothing changed. */
bool names_put(struct names *names, uint32_t id, const char *name, size_t length);
/* Takes the name of `id` away, if it has one. */
void names_drop(struct names *names, uint32_t id);
/* NUL-terminated; "" if the id has none. Valid until the next put. */
const char *names_text(const struct names *names, uint32_t id);

/* A name that will be looked for soon, with what was found when it was last looked for. */
struct names_query {
    const char *name; /* NAMES_SLACK bytes can be read behind it */
    uint64_t hash;
    uint32_t length;
    uint32_t id; /* NONE: there was none */
};

#define NAMES_SLACK SHORT_MAX /* see foundation/base/names/short_name.h */

/* A query for a name, not looked up yet. */
static inline struct names_query names_ask(const char *name, uint32_t length)
{
    return (struct names_query){name, short_hash_slack(name, length), length, GORDIAN_NONE};
}

/* One that nobody has. */
static inline struct names_query names_ask_none(const char *text)
{
    return (struct names_query){text, 0, 0, GORDIAN_NONE};
}

/* Looks many names up at once: their cache misses overlap. */
void names_find_all(const struct names *names, struct names_query *queries, size_t count);
/* One of those again. */
uint32_t names_find_again(const struct names *names, const struct names_query *query);
/* names_put of one that was looked for and not found. */
bool names_put_query(struct names *names, uint32_t id, const struct names_query *query);

/* Is this a name: 1 to 255 bytes, no blank, '#', '=' or NUL? Says why not. */
bool names_valid(const char *name, size_t length, const char **why);

#define NAMES_KEY_MAX 63 /* bytes of a label's key; of all of it: GORDIAN_NAME_MAX */
/* Of a label, a name KEY:VALUE: how long its key is; 0, and says why: it is none. */
size_t names_label_key(const char *label, size_t length, const char **why);
/* For one to be added: is `name`, unless NULL, a name, and new? GORDIAN_STATUS_INPUT, and says why,
 * if not. `kind`: what is to have it, "process". */
gordian_status names_check(const struct names *names, const char *name, const char *kind,
                           gordian_error *error);
