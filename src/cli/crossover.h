/* What `gordian info --crossover` adds: which engine is the quickest from which size on. */
#pragma once

#include "cli/base/cli.h"

/* Measures and writes, a family at a time; `json` NULL: as text. Sizes above `most` are left out
 * (0: none is). Returns the exit code. */
int crossover_write(struct cli *cli, struct json *json, uint64_t most);
