/* The transpose of a matrix with one character per element. */
#define FORM_CHARS
#include "lab/published/kernels/published_transpose_body.h"
