/* All-to-all exchange: each rank puts records for other ranks. Then all ranks run the exchange and
 * each receives its records, by sender and in the order in which they were put. */
#pragma once

#include "foundation/base/bytes.h"

#include <mpi.h>

struct exchange {
    gordian_allocator memory;
    int rank, ranks;
    struct bytes *out; /* by rank */
    struct bytes in;
    size_t *starts; /* by rank, in `in`; one more at the end */
    size_t at;      /* exchange_take: bytes that have been taken */
    int from;       /* and the sender of the last record */
};

/* Returns false if this rank is out of memory. It may be closed either way. */
bool exchange_open(struct exchange *exchange, const gordian_allocator *memory);
void exchange_close(struct exchange *exchange);

static inline void exchange_put(struct exchange *exchange, uint32_t to, const void *record,
                                size_t size)
{
    bytes_put(&exchange->out[to], record, size);
}

/* Called by all ranks. Returns false on all of them if one is out of memory. */
bool exchange_run(struct exchange *exchange);

/* Returns the next `size` bytes that arrived; NULL at the end. */
static inline const void *exchange_take(struct exchange *exchange, size_t size)
{
    if (exchange->at == exchange->in.used)
        return NULL;
    while (exchange->at >= exchange->starts[exchange->from + 1])
        exchange->from++;
    const void *record = exchange->in.data + exchange->at;
    exchange->at += size;
    return record;
}

/* Copies the next record that arrived. Returns false at the end. */
static inline bool exchange_read(struct exchange *exchange, void *record, size_t size)
{
    const void *taken = exchange_take(exchange, size);
    if (taken)
        memcpy(record, taken, size);
    return taken != NULL;
}

/* Collective: whether it is true on all ranks; the sum; the largest; the smallest. */
bool exchange_all(bool fine);
uint64_t exchange_sum(uint64_t value);
uint64_t exchange_most(uint64_t value);
