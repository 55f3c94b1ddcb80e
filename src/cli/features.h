/* What of Gordian is in this build and installed here. */
#pragma once

#include "cli/base/cli.h"

#define FEATURES 12u

struct feature {
    const char *name;
    const char *missing; /* why it is not here; "": it is */
    const char *about;   /* what there is */
};

struct features {
    struct feature list[FEATURES];
    char library[4096], why[300]; /* of `gordian run` */
    char layers[64];              /* MPIs whose programs it watches */
    char no_stacks[300];
};

/* Looks for them: they are not only built, but installed. */
void features_list(struct features *features);
/* "with: ..." and "without: ...", for --version. */
void features_write(struct output *out);
