/* Whether a program can be watched, seen from its file.
 *
 * Watching rests on the dynamic loader: it puts the watcher in front of the C library. A program
 * without a loader (static), with another C library, for another processor, with raised
 * privileges (the loader then ignores LD_PRELOAD), or with a sanitizer that has taken the same
 * place, cannot be watched. A script is judged by its interpreter.
 *
 * Used by the command for what it is to run, and by the library for what a watched program starts:
 * so it allocates nothing, locks nothing, and makes plain system calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct target_nature {
    bool watchable;   /* false: `reason` says why not */
    char judged[512]; /* whose nature that is: the program's, or its interpreter's path */
    char reason[120]; /* "is statically linked" */
};

/* Looks into a file. One that cannot be read gets the benefit of the doubt. `folder`: where a
 * relative path starts, AT_FDCWD or a descriptor; an empty path means that descriptor itself.
 * `search` is the value of PATH, for scripts that name what they run through `env`; may be NULL. */
void target_look(struct target_nature *target, int folder, const char *path, const char *search);

/* The first executable of that name in `search`, as execvp finds it; a name with a slash is itself.
 * 0, or the errno of why there is none. */
int target_find(char *path, size_t size, const char *name, const char *search);
