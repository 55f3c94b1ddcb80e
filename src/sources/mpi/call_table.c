/* The table of wrappers that the interposers load. */
#include "sources/mpi/calls.h"

#define LAYER_ENTRY(name) [MPI_CALL_##name] = (mpi_function)layer_##name,

extern const struct mpi_layer gordian_mpi_layer;
__attribute__((visibility("default"))) const struct mpi_layer gordian_mpi_layer = {
    .version = MPI_RECORD_VERSION,
    .count = MPI_CALL_COUNT,
    .calls = {MPI_CALLS(LAYER_ENTRY)},
};
