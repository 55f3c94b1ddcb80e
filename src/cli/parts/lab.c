/* bench and papers, which gordian-lab implements. */
#include "cli/parts/part.h"

PART_COMMAND(bench, "[NAME]", "measure this machine against the bars and baselines", "gordian-lab");
PART_COMMAND(papers, "[NAME]...", "the papers' tables and figures by number, ours beside them",
             "gordian-lab");
