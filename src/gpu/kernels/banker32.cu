/* The banker's algorithm on units of 32 bits. */
#define UNIT_BITS 32
#include "gpu/kernels/banker_body.h"
