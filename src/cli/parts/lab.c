/* The measurements and the papers, which are a program of their own. */
#include "cli/base/commands.h"
#include "cli/parts/part.h"

#define PART    "gordian-lab"
#define MISSING "the package " PART " has it, and is not installed"
#define ABOUT   "This is a part of Gordian of its own, which is not installed here: " PART ".\n"

const struct command command_bench = {
    .name = "bench",
    .operands = "[NAME]",
    .summary = "measure this machine against the bars and baselines",
    .about = ABOUT,
    .run = part_run,
    .missing = MISSING,
    .part = PART,
};

const struct command command_papers = {
    .name = "papers",
    .operands = "[NAME]...",
    .summary = "the papers' tables and figures by number, ours beside them",
    .about = ABOUT,
    .run = part_run,
    .missing = MISSING,
    .part = PART,
};
