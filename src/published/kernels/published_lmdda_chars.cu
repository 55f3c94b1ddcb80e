/* GPU-LMDDA, a character an element: the initial form. */
#define FORM_CHARS
#include "published/kernels/published_lmdda_body.h"
