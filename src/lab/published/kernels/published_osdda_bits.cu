/* GPU-OSDDA, one bit per element. */
#define FORM_BITS
#include "lab/published/kernels/published_osdda_body.h"
