/* The transpose of a matrix with a character an element. */
#define FORM_CHARS
#include "published/kernels/published_transpose_body.h"
