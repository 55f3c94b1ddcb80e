/* The wrapped calls of one MPI, as its own header declares them. */
#pragma once

#include "sources/mpi/layer.h"

#define LAYER_CALL(name) extern __typeof__(PMPI_##name) layer_##name;
MPI_CALLS(LAYER_CALL)
#undef LAYER_CALL
