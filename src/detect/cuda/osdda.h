/*
 * OSDDA on a GPU: the single-unit method of the cuda engine.
 *
 * The state is in the device's memory and a resident kernel (gpu/kernels/osdda.cu) works on it; the
 * host turns hooks into commands. Only a block is waited for, and only for the look at one
 * word that answers it: the bookkeeping goes on while the host does.
 */
#ifndef GORDIAN_DETECT_CUDA_OSDDA_H
#define GORDIAN_DETECT_CUDA_OSDDA_H

#include "detect/cuda/cuda.h"

/* Bytes of device memory the method takes for that many ids. */
uint64_t cuda_osdda_bytes(uint32_t processes, uint32_t resources);

#endif
