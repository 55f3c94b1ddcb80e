/* The compiled kernels: a fat binary for each kernel file, embedded at build time. */
#ifndef GORDIAN_GPU_IMAGES_H
#define GORDIAN_GPU_IMAGES_H

#include <stdint.h>

struct gpu_image {
    const void *data;
    const char *file; /* the kernel file's name */
};

/* Ends with data NULL; nothing but that end when built without nvcc. */
extern const struct gpu_image gpu_images[];

#endif
