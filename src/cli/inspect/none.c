/* gordian inspect in a build without it. */
#include "cli/base/commands.h"

const struct command command_inspect = {
    .name = "inspect",
    .operands = "PID|CORE...",
    .summary = "find the deadlock of a hanging process or a core dump",
    .about = "This program was built for a system whose processes it cannot inspect.\n",
    .run = cli_missing,
    .missing = "built without it: only Linux on x86-64 and aarch64 is supported",
};
