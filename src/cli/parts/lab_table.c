/* gordian-lab: the table of its commands. */
#include "cli/base/commands.h"

const struct command *const cli_commands[] = {&command_bench, &command_papers, NULL};

void (*const cli_write_features)(struct output *out) = NULL;
