/* Inside packed*.c: the steps of packed_open. */
#pragma once

#include "engines/compose/explore/packed.h"

/* Every indivisible firing, in any order, with `uses` and `part` still open. */
gordian_status packed_find_firings(struct packed *packed, gordian_error *error);
/* Which of them clash: parts, uses; sorts them. */
gordian_status packed_find_parts(struct packed *packed, gordian_error *error);
