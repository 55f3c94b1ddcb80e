/* Decides whether a program can be watched, from its file.
 *
 * The dynamic loader must load the library before libc. So a program cannot be watched if it has no
 * loader (static), uses another C library, is for another processor, runs with raised privileges
 * (the loader then ignores LD_PRELOAD), or contains a sanitizer, which intercepts the same
 * functions. A script is judged by its interpreter.
 *
 * The command uses this for the program to run, and the library for the children of a watched
 * program. So it allocates nothing, takes no locks, and makes plain system calls.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct watchability {
    bool watchable;   /* false: see `reason` */
    char judged[512]; /* path of the file that decides: the program or its interpreter */
    char reason[120]; /* "is statically linked" */
};

/* Inspects a file. A file that is not readable counts as watchable. `folder`: start of a relative
 * path, AT_FDCWD or a descriptor; an empty path means that descriptor itself. `search`: the value
 * of PATH, for scripts that use `env`; may be NULL. */
void judge_watchability(struct watchability *target, int folder, const char *path,
                        const char *search);

/* Finds the first executable with this name in `search`, like execvp; a name with a slash is a
 * path. Returns 0, or the errno that explains why there is none. */
int find_executable(char *path, size_t size, const char *name, const char *search);
