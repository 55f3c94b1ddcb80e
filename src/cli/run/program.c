/* Finds the program that is to be run. */
#include "cli/run/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

void run_target_find(struct run_target *target, const char *name)
{
    const char *search = getenv("PATH");
    *target = (struct run_target){.look.watchable = true};
    target->failure = find_executable(target->path, sizeof target->path, name, search);
    if (target->failure == 0)
        judge_watchability(&target->look, AT_FDCWD, target->path, search);
    else if (target->failure == ENOENT)
        target->path[0] = '\0';
}
