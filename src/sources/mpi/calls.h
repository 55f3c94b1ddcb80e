/* Declares the wrappers of one MPI's calls with the types of its header. */
#pragma once

#include "sources/mpi/layer.h"

#define LAYER_CALL(name) extern __typeof__(PMPI_##name) layer_##name;
MPI_CALLS(LAYER_CALL)
#undef LAYER_CALL
