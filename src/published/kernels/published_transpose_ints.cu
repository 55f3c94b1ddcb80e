/* The transpose of a matrix with an integer an element. */
#define FORM_INTS
#include "published/kernels/published_transpose_body.h"
