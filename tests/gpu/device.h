/* Which device a test of kernels runs on: the emulator, or with `--device N` a real GPU. */
#ifndef GORDIAN_TESTS_GPU_DEVICE_H
#define GORDIAN_TESTS_GPU_DEVICE_H

#include "foundation/gpu/gpu.h"
#include "foundation/gpu/kernels.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct gpu_kernels test_kernels; /* kernels/list.h */

/* The number after --device; -1: the emulator. */
static inline int device_wanted(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--device") == 0)
            return atoi(argv[i + 1]);
    }
    return -1;
}

/* With the tests' kernels. */
static inline struct gpu *device_open(int wanted)
{
    struct gpu *gpu = NULL;
    gordian_error error = {0};
    gordian_status status = wanted < 0 ? gpu_open_emulator(&gpu, NULL, &error)
                                       : gpu_open(&gpu, (unsigned)wanted, NULL, &error);
    if (status == GORDIAN_OK)
        status = gpu_add_kernels(gpu, &test_kernels, &error);
    if (status != GORDIAN_OK) {
        fprintf(stderr, "no device: %s\n", error.message);
        exit(1);
    }
    return gpu;
}

/* For calls that must succeed. */
#define DO(call)                                                                                   \
    do {                                                                                           \
        gordian_error error = {0};                                                                 \
        gordian_status status = (call);                                                            \
        CHECK_MSG(status == GORDIAN_OK, "%s: %s", #call, error.message);                           \
    } while (0)

#endif
