/* The transpose of a matrix with an integer an element. */
#define FORM_INTS
#include "lab/published/kernels/published_transpose_body.h"
