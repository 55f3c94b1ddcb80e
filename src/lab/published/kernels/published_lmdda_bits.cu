/* GPU-LMDDA, one bit per element. */
#define FORM_BITS
#include "lab/published/kernels/published_lmdda_body.h"
