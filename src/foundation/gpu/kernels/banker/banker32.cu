/* The banker's algorithm on units of 32 bits. */
#define UNIT_BITS 32
#include "foundation/gpu/kernels/banker/banker_body.h"
