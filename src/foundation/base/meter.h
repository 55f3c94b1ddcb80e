/* An allocator that counts what it has given out, keeps to a limit, and may be used by several
 * threads at once whatever the one behind it can do. Engines take all their working memory from
 * one. */
#pragma once

#include <gordian/gordian.h>

#include <pthread.h>

struct meter {
    gordian_allocator behind;
    gordian_allocator memory; /* what to allocate from; points to this meter, so do not move it */
    pthread_mutex_t lock;
    uint64_t limit; /* 0: none */
    uint64_t now, most;
    bool refused; /* for the limit, at least once */
    bool at_once; /* the one behind is the C library's: several threads may call it at a time */
};

void meter_open(struct meter *meter, const gordian_allocator *behind, uint64_t limit);
void meter_close(struct meter *meter); /* everything has been given back by then */
/* Bytes held now; safe while others allocate. */
uint64_t meter_now(struct meter *meter);
