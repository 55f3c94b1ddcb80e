/* Features in this build and installation. */
#pragma once

#include "cli/base/cli.h"

#define FEATURES 12u

struct feature {
    const char *name;
    const char *missing; /* why it is missing; "": it is present */
    const char *about;   /* description */
};

struct features {
    struct feature list[FEATURES];
    char library[4096], why[300]; /* of `gordian run` */
    char layers[64];              /* MPI implementations it can watch */
    char no_stacks[300];
};

/* Detects the features: built and installed. */
void features_list(struct features *features);
/* Writes "with: ..." and "without: ...", for --version. */
void features_write(struct output *out);
