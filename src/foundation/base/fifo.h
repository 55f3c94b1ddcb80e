/* A FIFO queue of bytes, or of items of one size. Its content is contiguous, and moves only when
 * something is added. */
#pragma once

#include "foundation/base/memory.h"

#include <string.h>

struct fifo {
    char *data;
    size_t start, end, room;
};

static inline size_t fifo_count(const struct fifo *fifo)
{
    return fifo->end - fifo->start;
}

static inline void *fifo_front(const struct fifo *fifo)
{
    return fifo->start ? fifo->data + fifo->start : fifo->data;
}

/* Reserves capacity for `count` more bytes at the end; false: out of memory, nothing changed. */
static inline bool fifo_reserve(const gordian_allocator *memory, struct fifo *fifo, size_t count)
{
    if (fifo->room - fifo->end >= count)
        return true;
    size_t used = fifo_count(fifo);
    /* Move the content only if at least as many bytes were removed as have to move. */
    if (fifo->start >= used && fifo->room - used >= count) {
        if (used)
            memmove(fifo->data, fifo->data + fifo->start, used);
        fifo->start = 0;
        fifo->end = used;
        return true;
    }
    return memory_grow(memory, &fifo->data, &fifo->room, fifo->end + count, 1);
}

/* Returns the place for the next bytes, after fifo_reserve; fifo_put then adds them. */
static inline void *fifo_back(const struct fifo *fifo)
{
    return fifo->data + fifo->end;
}

static inline void fifo_put(struct fifo *fifo, size_t count)
{
    fifo->end += count;
}

static inline void fifo_take(struct fifo *fifo, size_t count)
{
    fifo->start += count;
    if (fifo->start == fifo->end)
        fifo->start = fifo->end = 0;
}

static inline void fifo_clear(struct fifo *fifo)
{
    fifo->start = fifo->end = 0;
}

static inline void fifo_free(const gordian_allocator *memory, struct fifo *fifo)
{
    memory_free(memory, fifo->data);
    *fifo = (struct fifo){0};
}
