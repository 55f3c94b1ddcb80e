/* gordian info --crossover: from which size on each engine is the fastest. */
#pragma once

#include "cli/base/cli.h"

/* Measures and writes one family at a time; `json` NULL: as text. Sizes above `most` are skipped
 * (0: none). Returns the exit code. */
int crossover_write(struct cli *cli, struct json *json, uint64_t most);
