/* gordian-watch: the table of its command. */
#include "cli/base/commands.h"

const struct command *const cli_commands[] = {&command_watch, NULL};

void (*const cli_write_features)(struct output *out) = NULL;
