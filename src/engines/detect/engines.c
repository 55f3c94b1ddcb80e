/* The table of detection engines. */
#include "engines/detect/cuda/cuda.h"
#include "engines/detect/engine/engine.h"

/* `sparse` supports every model and is the fastest for nearly every load. docs/lab/performance.md
 * has the one load for which a GPU is not slower. */
static const struct engine *const detect_engines[] = {
    &detect_sparse.about,      &detect_matrix.about, &detect_cuda.about,
    &detect_cuda_blocks.about, &detect_reduce.about, NULL};

const struct engine_family detect_family = {"detect", "detection", detect_engines};

const char *gordian_model_text(gordian_model model)
{
    switch (model) {
    case GORDIAN_MODEL_SINGLE_UNIT:
        return "single-unit";
    case GORDIAN_MODEL_MULTI_UNIT:
        return "multi-unit";
    case GORDIAN_MODEL_GENERAL:
        return "general";
    }
    return "unknown";
}
