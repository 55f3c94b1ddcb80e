/* The service and what talks to it, where they are a program of their own. */
#include "cli/base/commands.h"
#include "cli/parts/part.h"

#define PART    "gordian-serve"
#define MISSING "the package " PART " has it, and is not installed"
#define ABOUT   "This is a part of Gordian of its own, which is not installed here: " PART ".\n"

const struct command command_serve = {
    .name = "serve",
    .operands = "",
    .summary = "run the service: programs send events and are told when they deadlock",
    .about = ABOUT,
    .run = part_run,
    .missing = MISSING,
    .part = PART,
};

const struct command command_incidents = {
    .name = "incidents",
    .operands = "",
    .summary = "the history of deadlocks a service has kept",
    .about = ABOUT,
    .run = part_run,
    .missing = MISSING,
    .part = PART,
};

const struct command command_send = {
    .name = "send",
    .operands = "[FILE]",
    .summary = "stream a trace to a running service",
    .about = ABOUT,
    .run = part_run,
    .missing = MISSING,
    .part = PART,
};

const struct command command_tail = {
    .name = "tail",
    .operands = "",
    .summary = "show what happens in a running service, as it happens",
    .about = ABOUT,
    .run = part_run,
    .missing = MISSING,
    .part = PART,
};
