/* gordian-serve: the table of its commands. */
#include "cli/base/commands.h"

const struct command *const cli_commands[] = {
    &command_serve, &command_incidents, &command_send, &command_tail, NULL,
};

void (*const cli_write_features)(struct output *out) = NULL;
