/* A call stack, as a person reads it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line of a stack. Without debugging information `file` is NULL; without a symbol `function`
 * is NULL too, and all there is to say is module + offset. */
struct frame {
    const char *function; /* demangled */
    const char *module;   /* path; NULL: the address is in no file */
    const char *file;     /* as the compiler was told */
    const char *folder;   /* where the compiler ran, for a relative `file`; or NULL */
    uint64_t address;
    uint64_t offset; /* in the module */
    unsigned line;   /* 0: unknown */
    unsigned column;
    bool inlined; /* into the frame that follows */
};

struct stack {
    struct frame *frames; /* innermost first */
    size_t count;
    const char *call; /* the watched call it ends in: "pthread_mutex_lock"; NULL: unknown */
    bool short_walk;  /* recorded while running: may be cut short */
};
