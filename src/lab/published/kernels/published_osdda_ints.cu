/* GPU-OSDDA, one integer per element: an initial form. */
#define FORM_INTS
#include "lab/published/kernels/published_osdda_body.h"
