/* bench and papers, which gordian-lab implements. */
#include "cli/parts/part.h"

PART_COMMAND(bench, "[NAME]", "measure this machine against targets and baselines", "gordian-lab");
PART_COMMAND(papers, "[NAME]...", "show the papers' tables and figures, and our measurements",
             "gordian-lab");
