/* gordian-watch: the command that `gordian` leaves to it. */
#include "cli/base/commands.h"

const struct command *const cli_commands[] = {&command_watch, NULL};

void (*const cli_write_features)(struct output *out) = NULL;
