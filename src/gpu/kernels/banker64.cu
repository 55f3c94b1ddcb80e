/* The banker's algorithm on units of 64 bits. */
#define UNIT_BITS 64
#include "gpu/kernels/banker_body.h"
