/*
 * Names that many threads meet at once, numbered in the order of the text all the same.
 *
 * They are divided by their hash into parts. Text is met in rounds. In a round whoever has a part
 * to himself takes the part's names in the order of the text (crowd_take): each is found, or put
 * and marked as new. Then the new ones are counted, the ids they will have are reserved
 * (crowd_reserve), and each is given its own (crowd_number). Who does what changes nothing about
 * the result.
 *
 * Entries are as in base/names.h; a place has the part in its upper bits.
 */
#ifndef GORDIAN_BASE_CROWD_H
#define GORDIAN_BASE_CROWD_H

#include "base/names.h"

#define CROWD_PARTS 16
#define CROWD_NEW   UINT32_C(0x80000000) /* in a query's length: here it was met first */

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
    return (unsigned)(hash >> 28) % CROWD_PARTS;
}

/* Takes those of the queries, all of this part, that the list says, in its order; each gets its
 * place as id, and CROWD_NEW. False: out of memory. */
bool crowd_take(struct crowd *crowd, unsigned part, struct names_query *queries,
                const uint32_t *list, size_t count);
/* Room for so many new ids; false: out of memory. */
bool crowd_reserve(struct crowd *crowd, uint32_t more);
void crowd_number(struct crowd *crowd, uint32_t place, uint32_t id);
/* The id of a place, once it has one. */
uint32_t crowd_id(const struct crowd *crowd, uint32_t place);
void crowd_expect(const struct crowd *crowd, uint32_t place);

/* NUL-terminated; "" if there is no such id. */
const char *crowd_text(const struct crowd *crowd, uint32_t id);

#endif
