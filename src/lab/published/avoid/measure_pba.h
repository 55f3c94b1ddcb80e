/*
 * One cell of the thesis's tables 5.2 to 5.4: a request in its worst case, in which each round
 * lets
 * one process finish (pba.h), for given numbers of processes and resources.
 *
 * GORDIAN_STATUS_MEMORY: the matrices do not fit. GORDIAN_STATUS_INPUT: fewer than four processes
 * or
 * two resources, or the answer was wrong. GORDIAN_STATUS_IO: the device failed.
 */
#pragma once

#include "lab/published/measure.h"
#include "lab/published/published.h"

struct measure_pba;

/* GPU-PBA on the device, which must have published_kernels; NULL: CPU-PBA on one core. */
gordian_status measure_pba_open(struct measure_pba **out, struct gpu *gpu, uint32_t processes,
                                uint32_t resources, const gordian_allocator *memory,
                                gordian_error *error);
/* Makes the request once, and releases what was granted (not timed). Can be repeated. */
gordian_status measure_pba_run(struct measure_pba *measure, struct measure_time *time,
                               gordian_error *error);
void measure_pba_close(struct measure_pba *measure); /* NULL is fine */
