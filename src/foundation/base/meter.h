/* An allocator that counts the allocated bytes and enforces a limit. It is thread-safe even if the
 * allocator behind it is not. Engines take all their working memory from one. */
#pragma once

#include <gordian/gordian.h>

#include <pthread.h>

struct meter {
    gordian_allocator behind;
    gordian_allocator memory; /* allocates from this meter; the meter must not move */
    pthread_mutex_t lock;
    uint64_t limit; /* 0: none */
    uint64_t now, most;
    bool refused; /* an allocation was refused because of the limit */
    bool at_once; /* the allocator behind is thread-safe (the C library's) */
};

void meter_open(struct meter *meter, const gordian_allocator *behind, uint64_t limit);
void meter_close(struct meter *meter); /* all memory must have been freed */
/* Returns the bytes allocated now. Other threads may allocate meanwhile. */
uint64_t meter_now(struct meter *meter);
