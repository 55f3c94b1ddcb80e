/* The table of avoidance engines. */
#include "engines/avoid/cuda/cuda.h"
#include "engines/avoid/engine/engine.h"

/* `holt` supports every size and is the fastest for nearly every load (docs/lab/performance.md). */
static const struct engine *const avoid_engines[] = {&avoid_holt.about, &avoid_cuda.about,
                                                     &avoid_dense.about, NULL};

const struct engine_family avoid_family = {"avoid", "avoidance", avoid_engines};
