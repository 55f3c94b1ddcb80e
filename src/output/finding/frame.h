/* A call stack after symbolization. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* One frame of a stack. Without debugging information `file` is NULL. Without a symbol `function`
 * is NULL as well, and only module + offset is known. */
struct frame {
    const char *function; /* demangled */
    const char *module;   /* path; NULL: the address is in no file */
    const char *file;     /* path given to the compiler */
    const char *folder;   /* working directory of the compiler, for a relative `file`; or NULL */
    uint64_t address;
    uint64_t offset; /* offset in the module */
    unsigned line;   /* 0: unknown */
    unsigned column;
    bool inlined; /* inlined into the next frame */
};

struct stack {
    struct frame *frames; /* innermost first */
    size_t count;
    const char *call; /* the watched call at its end, such as "pthread_mutex_lock"; NULL: unknown */
    bool short_walk;  /* recorded at run time: may be incomplete */
};

/* Returns the most relevant frame: the innermost frame of the program's own code that has a source
 * line. */
const struct frame *frame_of_interest(const struct stack *stack);
/* Is the frame system code, such as libc's thread start or std::thread's call of a function? */
bool frame_is_noise(const struct frame *frame);
/* Is the frame between the program's code and the lock, such as std::mutex::lock or
 * std::lock_guard? */
bool frame_is_wrapper(const struct frame *frame);
/* Does the name start with one of the strings? The list ends with NULL. */
bool starts_with_any(const char *name, const char *const *list);

/* Returns the last component of a path. */
static inline const char *path_tail(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
