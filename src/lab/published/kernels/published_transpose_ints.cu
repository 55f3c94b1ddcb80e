/* The transpose of a matrix with one integer per element. */
#define FORM_INTS
#include "lab/published/kernels/published_transpose_body.h"
