/* What ranks owe each other: each puts what it has for others, then all run the exchange together
 * and have what came, by who sent it and in the order it was put. */
#pragma once

#include "foundation/base/bytes.h"

#include <mpi.h>

struct exchange {
    gordian_allocator memory;
    int rank, ranks;
    struct bytes *out; /* by rank */
    struct bytes in;
    size_t *starts; /* by rank, in `in`; one more at the end */
    size_t at;      /* exchange_take: what has been taken */
    int from;       /* and from whom the last came */
};

/* False: no memory, on this rank. Closing is fine either way. */
bool exchange_open(struct exchange *exchange, const gordian_allocator *memory);
void exchange_close(struct exchange *exchange);

static inline void exchange_put(struct exchange *exchange, uint32_t to, const void *record,
                                size_t size)
{
    bytes_put(&exchange->out[to], record, size);
}

/* All ranks. False, on all: one of them has no memory. */
bool exchange_run(struct exchange *exchange);

/* The next `size` bytes that came; NULL: that was all. */
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

/* Copies the next record that came; false: that was all. */
static inline bool exchange_read(struct exchange *exchange, void *record, size_t size)
{
    const void *taken = exchange_take(exchange, size);
    if (taken)
        memcpy(record, taken, size);
    return taken != NULL;
}

/* On all ranks: is it so on all of them? The sum; the most; the least. */
bool exchange_all(bool fine);
uint64_t exchange_sum(uint64_t value);
uint64_t exchange_most(uint64_t value);
