/* GPU-LMDDA, a character an element: the initial form. */
#define FORM_CHARS
#include "lab/published/kernels/published_lmdda_body.h"
