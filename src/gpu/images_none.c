/* Built without nvcc: no images. */
#include "gpu/images.h"

#include <stddef.h>

const struct gpu_image gpu_images[] = {{NULL, NULL}};
