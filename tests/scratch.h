/* Folders for the files of a test.
 *
 *     char folder[SCRATCH_SIZE];
 *     REQUIRE(scratch_make(folder, "auth"));
 */
#ifndef GORDIAN_TESTS_SCRATCH_H
#define GORDIAN_TESTS_SCRATCH_H

#include "foundation/base/machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the path of a Unix socket may have, with some room for the socket's name. */
#define SCRATCH_SIZE 96

/* A new one where temporary files go; where that is too deep for a socket, in /tmp. */
static inline bool scratch_make(char folder[SCRATCH_SIZE], const char *name)
{
    const char *parent = machine_temporary();
    if (strlen(parent) > 60)
        parent = "/tmp";
    snprintf(folder, SCRATCH_SIZE, "%.60s/gordian-%.10s-XXXXXX", parent, name);
    return mkdtemp(folder) != NULL;
}

#endif
