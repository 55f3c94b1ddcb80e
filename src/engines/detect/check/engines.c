/* The table of engines that check snapshots. gordian-mpi has one more. */
#include "engines/detect/check/engine.h"

static const struct engine *const check_engines[] = {
#ifdef GORDIAN_MPI
    &check_mpi.about, /* in gordian-mpi only */
#endif
    &check_sparse.about,
    &check_on_gpu.about,
    NULL,
};

const struct engine_family check_family = {"check", "snapshots", check_engines};
