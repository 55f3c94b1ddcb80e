/* GPU-OSDDA, a bit an element. */
#define FORM_BITS
#include "published/kernels/published_osdda_body.h"
