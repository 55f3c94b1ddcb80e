/* The banker's algorithm on units of 64 bits. */
#define UNIT_BITS 64
#include "foundation/gpu/kernels/banker/banker_body.h"
