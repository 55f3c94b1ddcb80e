/* An allocator that fails on purpose, and knows what it has given out. */
#ifndef GORDIAN_TESTS_FAILING_H
#define GORDIAN_TESTS_FAILING_H

#include <gordian/gordian.h>

#include <stdlib.h>

struct failing {
    size_t calls;   /* for memory so far; giving back does not count */
    size_t fail_at; /* this call fails; 0: none */
    bool for_good;  /* all later ones as well, until fail_at is cleared */
    size_t failures;
    size_t live_bytes, live_blocks;
};

union failing_header {
    size_t size;
    max_align_t align;
};

static inline void *failing_resize(void *context, void *pointer, size_t size)
{
    struct failing *failing = context;
    union failing_header *header = pointer ? (union failing_header *)pointer - 1 : NULL;
    size_t old = header ? header->size : 0;
    if (size == 0) {
        failing->live_bytes -= old;
        failing->live_blocks -= header != NULL;
        free(header);
        return NULL;
    }
    failing->calls++;
    bool fails = failing->fail_at > 0 && (failing->for_good ? failing->calls >= failing->fail_at
                                                            : failing->calls == failing->fail_at);
    /* A new place every time, so that a pointer kept too long is found by the sanitizer. */
    union failing_header *fresh = fails ? NULL : malloc(sizeof *fresh + size);
    if (!fresh) {
        failing->failures++;
        return NULL;
    }
    fresh->size = size;
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)(fresh + 1))[i] =
            i < old ? ((unsigned char *)(header + 1))[i] : (unsigned char)0xa5;
    failing->live_bytes += size - old;
    failing->live_blocks += header == NULL;
    free(header);
    return fresh + 1;
}

#endif
