/* The file a command reads, or stdin, as a source for the library. */
#pragma once

#include "cli/base/cli.h"

struct input {
    struct cli *cli;
    const char *name; /* for messages */
    int fd;
    bool live; /* not a regular file: more may come at any time */
    gordian_source source;
};

/* `path` NULL or "-": stdin. What cannot be opened is said; the exit code, 0 if all is well. */
int input_open(struct input *input, struct cli *cli, const char *path);
/* A file that is open already. */
void input_take(struct input *input, struct cli *cli, int fd, const char *name);
void input_close(struct input *input);
