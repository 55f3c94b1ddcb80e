/* All commands, for the tables in table.c and parts/. */
#pragma once

#include "cli/base/cli.h"

extern const struct command command_run;
extern const struct command command_inspect;
extern const struct command command_watch;
extern const struct command command_collectives;
extern const struct command command_detect;
extern const struct command command_check;
extern const struct command command_avoid;
extern const struct command command_compose;
extern const struct command command_makespan;
extern const struct command command_serve;
extern const struct command command_incidents;
extern const struct command command_send;
extern const struct command command_tail;
extern const struct command command_convert;
extern const struct command command_gen;
extern const struct command command_bench;
extern const struct command command_papers;
extern const struct command command_info;

/* The commands of this program, in the order of the help; the last is NULL. */
extern const struct command *const cli_commands[];
