/* GPU-LMDDA, a bit an element. */
#define FORM_BITS
#include "lab/published/kernels/published_lmdda_body.h"
