/* Input file of a command, or stdin, as a source for the library. */
#pragma once

#include "cli/base/cli.h"

struct input {
    struct cli *cli;
    const char *name; /* for messages */
    int fd;
    bool live; /* not a regular file: may grow at any time */
    gordian_source source;
};

/* Opens `path`; NULL or "-": stdin. Reports failures and returns the exit code. */
int input_open(struct input *input, struct cli *cli, const char *path);
/* Uses an open file. */
void input_take(struct input *input, struct cli *cli, int fd, const char *name);
void input_close(struct input *input);
