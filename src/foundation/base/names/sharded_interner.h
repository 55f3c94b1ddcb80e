/*
 * Sharded string interner: many threads intern names, and the ids still follow the order of the
 * text.
 *
 * The hash of a name selects its shard. The text is processed in rounds. In a round one thread per
 * shard takes the shard's names in the order of the text (sharded_interner_take): it finds each
 * name, or adds it and marks it as new. Then ids for the new names are reserved
 * (sharded_interner_reserve), and each new name gets its id (sharded_interner_number). The result
 * does not depend on which thread does what.
 *
 * Entries are as in foundation/base/names/interner.h; the upper bits of a place are the shard.
 */
#pragma once

#include "foundation/base/names/interner.h"

#define SHARDED_INTERNER_SHARDS 64
#define CROWD_PLACE_BITS        26 /* bits of a place within its shard */

/* An answer is the name's id. If it has no id yet: its place in the shard, and these flags. */
#define CROWD_UNNUMBERED UINT32_C(0x80000000)
#define CROWD_NEW        UINT32_C(0x40000000) /* first occurrence */
#define CROWD_MOST       UINT32_C(0x7fffffff) /* names */

/* A name on its way from the thread that read it to the thread of its shard. Short names are
 * copied: to read the text of another thread would take most of the time. */
struct sharded_interner_name {
    struct short_name words; /* the name, or in `low` its address */
    uint32_t length;
};

struct sharded_interner_shard {
    struct hash table;
    char *text;
    size_t used, room;
};

struct sharded_interner {
    gordian_allocator memory;
    struct sharded_interner_shard parts[SHARDED_INTERNER_SHARDS];
    uint32_t *places; /* by id */
    uint32_t count, room;
};

void sharded_interner_init(struct sharded_interner *interner, const gordian_allocator *memory);
void sharded_interner_free(struct sharded_interner *interner);
/* Before the first name: reserves for the expected number and bytes of names. The memory is not
 * touched, so that nothing must move later. Optional: a failure is ignored. */
void sharded_interner_prepare(struct sharded_interner *interner, size_t bytes, uint32_t names);
/* Frees the tables after the last name. The texts remain. */
void sharded_interner_settle(struct sharded_interner *interner);

static inline unsigned sharded_interner_shard(uint64_t hash)
{
    return (unsigned)(hash >> 26) % SHARDED_INTERNER_SHARDS;
}

static inline struct sharded_interner_name sharded_interner_name(const struct names_query *query)
{
    if (query->length > SHORT_MAX)
        return (struct sharded_interner_name){{(uintptr_t)query->name, 0}, query->length};
    struct short_name mask = short_mask(query->length);
    return (struct sharded_interner_name){
        {short_word(query->name) & mask.low, short_word(query->name + 8) & mask.high},
        query->length};
}

/* Interns names of one shard, in order; *fresh is the number of new ones. Names are only read and
 * answers are stored apart, so that threads of neighbouring shards do not share cache lines. False:
 * out of memory. */
bool sharded_interner_take(struct sharded_interner *interner, unsigned part,
                           const struct sharded_interner_name *names, size_t count,
                           uint32_t *answers, uint32_t *fresh);
/* Reserves this many new ids; false: out of memory. */
bool sharded_interner_reserve(struct sharded_interner *interner, uint32_t more);
/* Assigns an id to a new name, given by its answer. */
void sharded_interner_number(struct sharded_interner *interner, unsigned part, uint32_t answer,
                             uint32_t id);
/* Returns the id of an answer, after all new names have ids. */
uint32_t sharded_interner_id(const struct sharded_interner *interner, unsigned part,
                             uint32_t answer);
/* Prefetches for sharded_interner_id. */
void sharded_interner_prefetch(const struct sharded_interner *interner, unsigned part,
                               uint32_t answer);

/* Returns the text with a NUL; "" if there is no such id. */
const char *sharded_interner_text(const struct sharded_interner *interner, uint32_t id);
