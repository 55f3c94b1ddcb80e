/* Writes a finding to a file given by an option. */
#pragma once

#include "cli/base/cli.h"
#include "output/finding/finding.h"

/* Writes "graph.svg" for number 1 and "graph-2.svg" for number 2. `path` NULL: does nothing.
 * Reports errors and returns the exit status. */
int cli_write_finding(struct cli *cli, const char *path, size_t number,
                      void (*write)(const struct finding *finding, struct output *out),
                      const struct finding *finding);
