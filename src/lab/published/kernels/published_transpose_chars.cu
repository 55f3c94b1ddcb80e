/* The transpose of a matrix with a character an element. */
#define FORM_CHARS
#include "lab/published/kernels/published_transpose_body.h"
