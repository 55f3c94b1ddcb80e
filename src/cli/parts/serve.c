/* Commands of gordian-serve. */
#include "cli/parts/part.h"

PART_COMMAND(serve, "", "run the service: reports deadlocks of the programs that use it",
             "gordian-serve");
PART_COMMAND(incidents, "", "list the deadlock history of a service", "gordian-serve");
PART_COMMAND(send, "[FILE]", "stream a trace to a running service", "gordian-serve");
PART_COMMAND(tail, "", "show what happens in a running service, as it happens", "gordian-serve");
