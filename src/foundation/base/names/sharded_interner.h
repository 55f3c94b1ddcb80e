/*
 * Names that many threads meet at once, numbered in the order of the text all the same.
 *
 * They are divided by their hash into parts. Text is met in rounds. In a round whoever has a part
 * to himself takes the part's names in the order of the text (crowd_take): each is found, or put
 * and marked as new. Then the ids that the new ones will have are reserved (crowd_reserve), and
 * each is given its own (crowd_number). Who does what changes nothing about the result.
 *
 * Entries are as in foundation/base/names/interner.h; a place has the part in its upper bits.
 */
#pragma once

#include "foundation/base/names/interner.h"

#define CROWD_PARTS      64
#define CROWD_PLACE_BITS 26 /* of a place within its part */

/* An answer is the name's id, or, if it has none yet, its place within the part and these. */
#define CROWD_UNNUMBERED UINT32_C(0x80000000)
#define CROWD_NEW        UINT32_C(0x40000000) /* here it was met first */
#define CROWD_MOST       UINT32_C(0x7fffffff) /* names */

/* A name that goes from the thread that met it to the one that has its part. What is short goes
 * itself: to look at another thread's text takes as long as all the rest. */
struct crowd_name {
    struct short_name words; /* or: low is where it is */
    uint32_t length;
};

struct crowd_part {
    struct hash table;
    char *text;
    size_t used, room;
};

struct crowd {
    gordian_allocator memory;
    struct crowd_part parts[CROWD_PARTS];
    uint32_t *places; /* by id */
    uint32_t count, room;
};

void crowd_init(struct crowd *crowd, const gordian_allocator *memory);
void crowd_free(struct crowd *crowd);
/* Before the first name: so many names of so many bytes are likely. Room for them is taken but not
 * touched, so that nothing has to be moved later on; where it cannot be had, all goes on without.
 */
void crowd_prepare(struct crowd *crowd, size_t bytes, uint32_t names);
/* No more names will come: the tables go, the texts stay. */
void crowd_settle(struct crowd *crowd);

static inline unsigned crowd_part(uint64_t hash)
{
    return (unsigned)(hash >> 26) % CROWD_PARTS;
}

static inline struct crowd_name crowd_name(const struct names_query *query)
{
    if (query->length > SHORT_MAX)
        return (struct crowd_name){{(uintptr_t)query->name, 0}, query->length};
    struct short_name mask = short_mask(query->length);
    return (struct crowd_name){
        {short_word(query->name) & mask.low, short_word(query->name + 8) & mask.high},
        query->length};
}

/* Takes names of one part, in their order; *fresh are new. Names are only read, and the answers lie
 * apart: two threads that write to neighbours take the memory from each other all the time.
 * False: out of memory. */
bool crowd_take(struct crowd *crowd, unsigned part, const struct crowd_name *names, size_t count,
                uint32_t *answers, uint32_t *fresh);
/* Room for so many new ids; false: out of memory. */
bool crowd_reserve(struct crowd *crowd, uint32_t more);
/* Gives a new name, by its answer, an id. */
void crowd_number(struct crowd *crowd, unsigned part, uint32_t answer, uint32_t id);
/* The id that an answer stands for, once all new names have one. */
uint32_t crowd_id(const struct crowd *crowd, unsigned part, uint32_t answer);
/* Will be asked for soon. */
void crowd_expect(const struct crowd *crowd, unsigned part, uint32_t answer);

/* NUL-terminated; "" if there is no such id. */
const char *crowd_text(const struct crowd *crowd, uint32_t id);
