/* Programs that hang, each in its own way, for `gordian inspect`.
 *
 *     PROGRAM --list         NAME LIVE CORE VERDICT MEMBERS a line: the words expected of it
 *     PROGRAM NAME           hangs so, or goes on so
 *
 * LIVE and CORE are proved, likely or nothing (then it is sound, and prints "ready" once it is in
 * the state in which it must not be accused). VERDICT is deadlock or owner-gone, MEMBERS how
 * many threads the witness has waiting. The fatal step is certain: threads meet before it. */
#ifndef GORDIAN_TESTS_INSPECT_HUNG_H
#define GORDIAN_TESTS_INSPECT_HUNG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hung {
    const char *name;
    const char *live, *core;
    const char *verdict;
    unsigned members;
    void (*run)(void);
};

static inline int hung_main(const struct hung *list, int argc, char **argv)
{
    for (; argc == 2 && list->name; list++) {
        if (strcmp(argv[1], "--list") == 0) {
            printf("%s %s %s %s %u\n", list->name, list->live, list->core, list->verdict,
                   list->members);
        } else if (strcmp(argv[1], list->name) == 0) {
            list->run();
            return 0;
        }
    }
    return argc == 2 && strcmp(argv[1], "--list") == 0 ? 0 : 2;
}

#endif
