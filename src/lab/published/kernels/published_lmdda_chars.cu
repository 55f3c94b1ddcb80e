/* GPU-LMDDA, one character per element: the initial form. */
#define FORM_CHARS
#include "lab/published/kernels/published_lmdda_body.h"
