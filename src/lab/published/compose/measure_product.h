/*
 * Cells of the tables in the thesis on constraint automata, and the sizes that its text names.
 *
 * Tables 4.1 to 4.9 repeat one product 100 to 1000 times: two automata of four states, each made
 * of
 * two FIFO1s without shared names, 256 cells. Tables 4.1, 4.2, 4.4 and 4.5 have columns for the
 * GPU;
 * tables 4.1, 4.2 and 4.6 to 4.9 have columns for processors. The text goes on to 4, 16, 256, 65
 * 536,
 * 4 294 967 296 ... transitions: 1, 2, 4, 8, 16 ... FIFO1s, composed pair by pair.
 *
 * `gpu` must have published_kernels; NULL: the thesis's version for processors, on one core.
 * GORDIAN_STATUS_MEMORY, GORDIAN_STATUS_UNAVAILABLE: too large for this machine.
 * GORDIAN_STATUS_INPUT: the answer was wrong. GORDIAN_STATUS_IO: the device failed.
 */
#pragma once

#include "lab/published/measure.h"
#include "lab/published/published.h"

/* ---- tables 4.1 to 4.9 */

struct measure_product;

/* Allocates the factors and the product beforehand, as the thesis does. */
gordian_status measure_product_open(struct measure_product **out, struct gpu *gpu,
                                    const gordian_allocator *memory, gordian_error *error);
/* Computes the product `iterations` times, with one kernel each. */
gordian_status measure_product_run(struct measure_product *measure, unsigned iterations,
                                   struct measure_time *time, gordian_error *error);
void measure_product_close(struct measure_product *measure); /* NULL is fine */

/* ---- the text's sizes */

/* Composes this many FIFO1s, from the automata in the host's memory to the matrix of their product,
 * which has 4^fifos cells. */
gordian_status measure_product_tree(struct gpu *gpu, uint32_t fifos,
                                    const gordian_allocator *memory, struct measure_time *time,
                                    gordian_error *error);
/* Computes the rows that one of `ranks` ranks is responsible for, and counts their transitions,
 * without idle loops. */
gordian_status measure_product_part(struct gpu *gpu, uint32_t fifos, uint32_t rank, uint32_t ranks,
                                    const gordian_allocator *memory, uint64_t *transitions,
                                    struct measure_time *time, gordian_error *error);
