/* gordian: the table of its commands. */
#include "cli/base/commands.h"
#include "cli/features.h"

void (*const cli_write_features)(struct output *out) = features_write;

const struct command *const cli_commands[] = {
    &command_run,
    &command_inspect,
    &command_watch,
    &command_collectives,
    &command_detect,
    &command_check,
    &command_avoid,
    &command_compose,
    &command_makespan,
    &command_serve,
    &command_incidents,
    &command_send,
    &command_tail,
    &command_convert,
    &command_gen,
    &command_bench,
    &command_papers,
    &command_info,
    NULL,
};
