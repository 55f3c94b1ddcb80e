/*
 * The ledger of the banker's algorithm: how many units of each resource every process claims, holds
 * and may still request.
 *
 * It stores the numbers of a bank and nothing else: the engines decide whether a loan is safe
 * (engine.h), and the bank has the waiting requests (bank.h).
 *
 * A process has a *row*, its claims in ascending order of resources; a resource has a *column*, its
 * claimants in no particular order. Both have the same numbers, so that a walk along either reads
 * memory sequentially; each entry knows the place of its twin. What a process does not claim is in
 * neither: memory grows with the number of claims, not with processes x resources.
 *
 * Invariants, for every process i and resource j:
 *     claim[i][j] = need[i][j] + held[i][j] <= total[j]
 *     free[j] = total[j] - (held[i][j] summed over all i)
 * So no sum of holdings and free units ever exceeds a total, and nothing can overflow.
 *
 * Memory is reserved before anything changes (ledger_reserve_*); changes never fail.
 */
#pragma once

#include "foundation/base/memory.h"
#include "foundation/base/names/interner.h"

#define NONE          GORDIAN_NONE
#define LEDGER_ID_MAX UINT32_C(0x7fffffff)

/* A claim of a process, in its row. */
struct ledger_claim {
    uint64_t need; /* units it may still request: its claim minus what it holds */
    uint64_t held;
    uint32_t resource;
    uint32_t place; /* of the twin in the resource's column */
};

/* The same claim, in the column of its resource. */
struct ledger_claimant {
    uint64_t need;
    uint64_t held;
    uint32_t process;
    uint32_t place; /* of the twin in the process's row */
};

struct ledger_row {
    struct ledger_claim *claims; /* ascending by resource, each resource once, each claim > 0 */
    uint32_t count, room;
    uint32_t holding;   /* number of claims that hold something */
    uint32_t next_free; /* of an unused id; LEDGER_IN_USE for one in use */
    /* A process is *gapless* if it claims many resources, and all of a range of ids. Its needs are
     * stored here once more, followed by what it holds, to be compared with all resources at once.
     */
    bool gapless;
    uint32_t first;  /* the first of the resources, if gapless */
    uint64_t *units; /* count needs, count holdings */
    size_t unit_room;
};

struct ledger_column {
    struct ledger_claimant *claimants;
    uint32_t count, room;
    uint32_t next_free; /* as of a row */
};

#define LEDGER_IN_USE (NONE - 1)

struct ledger {
    gordian_allocator memory;

    struct ledger_row *rows; /* by process */
    uint32_t process_limit, process_room, process_count;
    uint32_t free_process;

    struct ledger_column *columns; /* by resource */
    uint64_t *total, *free;        /* by resource; 0 for an id not in use */
    uint32_t resource_limit, resource_room, resource_count;
    uint32_t free_resource;

    uint64_t claim_count; /* of all rows */

    struct names process_names, resource_names;
};

/* A change of the ledger that might be unsafe. Lists ascend by resource, each resource once. */
enum ledger_change_kind {
    CHANGE_LEND,   /* `process` gets these units, which are free and within its need */
    CHANGE_CLAIMS, /* `process` has these claims instead of its own: each at least what it holds and
                      at most the total; none of 0 units */
    CHANGE_TAKE,   /* one resource loses that many units: free ones, and every claim still fits */
};

struct ledger_change {
    enum ledger_change_kind kind;
    uint32_t process; /* NONE: CHANGE_TAKE */
    const gordian_want *wants;
    size_t count;
};

void ledger_init(struct ledger *ledger, const gordian_allocator *memory);
void ledger_free(struct ledger *ledger);

/* Reserves memory for ids below these limits. Each ledger_reserve function returns false if out of
 * memory. */
bool ledger_reserve(struct ledger *ledger, uint32_t process_limit, uint32_t resource_limit);
/* Reserves memory for one more resource or process with a name of that length (0: none). */
bool ledger_reserve_resource(struct ledger *ledger, size_t name_length);
bool ledger_reserve_process(struct ledger *ledger, size_t name_length);
/* Reserves memory for `process` (which may be the next new one) to have these claims. */
bool ledger_reserve_claims(struct ledger *ledger, uint32_t process, const gordian_want *claims,
                           size_t count);

/* Returns the id that the next new process or resource will get. */
uint32_t ledger_next_process(const struct ledger *ledger);
uint32_t ledger_next_resource(const struct ledger *ledger);

/* Changes, after the matching reserve. */
uint32_t ledger_add_resource(struct ledger *ledger, const char *name, size_t length,
                             uint64_t units);
uint32_t ledger_add_process(struct ledger *ledger, const char *name, size_t length);
void ledger_remove_resource(struct ledger *ledger, uint32_t resource); /* no process claims it */
void ledger_remove_process(struct ledger *ledger, uint32_t process);   /* releases everything */
void ledger_set_claims(struct ledger *ledger, uint32_t process, const gordian_want *claims,
                       size_t count);
void ledger_set_total(struct ledger *ledger, uint32_t resource, uint64_t units);
void ledger_lend(struct ledger *ledger, uint32_t process, const gordian_want *wants, size_t count);
void ledger_return(struct ledger *ledger, uint32_t process, const gordian_want *wants,
                   size_t count);

/* ---- reading */

/* Rows of this many claims or more can be gapless. */
#define LEDGER_GAPLESS_MIN 16

static inline bool ledger_is_process(const struct ledger *ledger, uint32_t process)
{
    return process < ledger->process_limit && ledger->rows[process].next_free == LEDGER_IN_USE;
}

static inline bool ledger_is_resource(const struct ledger *ledger, uint32_t resource)
{
    return resource < ledger->resource_limit &&
           ledger->columns[resource].next_free == LEDGER_IN_USE;
}

/* Returns the claim of a process on a resource; NULL: there is none. */
struct ledger_claim *ledger_find(const struct ledger *ledger, uint32_t process, uint32_t resource);
/* Returns the largest claim on a resource. */
uint64_t ledger_largest_claim(const struct ledger *ledger, uint32_t resource);
