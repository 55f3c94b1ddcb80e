/* A call stack, as a person reads it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* The frame to show first: the innermost one of the program's own code that has a source line. */
const struct frame *frame_of_interest(const struct stack *stack);
/* Belongs to the system: libc's start of a thread, how the C++ library calls a function. */
bool frame_is_noise(const struct frame *frame);
/* Between the program's code and the lock: std::mutex::lock, std::lock_guard, gthreads. */
bool frame_is_wrapper(const struct frame *frame);
/* Does the name start with one of these? The list ends with NULL. */
bool starts_with_any(const char *name, const char *const *list);

/* The last part of a path. */
static inline const char *path_tail(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
