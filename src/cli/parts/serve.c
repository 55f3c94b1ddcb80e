/* The service and what talks to it, where they are a program of their own. */
#include "cli/base/commands.h"
#include "cli/parts/part.h"

PART_COMMAND(serve, "", "run the service: programs send events and are told when they deadlock",
             "gordian-serve");
PART_COMMAND(incidents, "", "list the deadlock history of a service", "gordian-serve");
PART_COMMAND(send, "[FILE]", "stream a trace to a running service", "gordian-serve");
PART_COMMAND(tail, "", "show what happens in a running service, as it happens", "gordian-serve");
