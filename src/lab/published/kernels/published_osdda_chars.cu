/* GPU-OSDDA, one character per element: the initial form. */
#define FORM_CHARS
#include "lab/published/kernels/published_osdda_body.h"
