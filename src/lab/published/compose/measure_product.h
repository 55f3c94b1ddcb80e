/*
 * Cells of the tables of the thesis on constraint automata, and the sizes that its text names.
 *
 * Tables 4.1 to 4.9 repeat one product 100 to 1000 times: two automata of four states, each made of
 * two FIFO1s that share nothing, 256 cells; the GPU's columns are tables 4.1, 4.2, 4.4 and 4.5, the
 * processors' 4.1, 4.2 and 4.6 to 4.9. The text goes on to 4, 16, 256, 65 536, 4 294 967 296 ...
 * transitions: 1, 2, 4, 8, 16 ... FIFO1s, composed pair by pair.
 *
 * `gpu` has published_kernels; NULL: the thesis's version for processors, on one core.
 * GORDIAN_STATUS_MEMORY, GORDIAN_STATUS_UNAVAILABLE: it is too large to be done here;
 * GORDIAN_STATUS_INPUT: the answer was wrong; GORDIAN_STATUS_IO: the device failed.
 */
#pragma once

#include "lab/published/measure.h"
#include "lab/published/published.h"

/* ---- tables 4.1 to 4.9 */

struct measure_product;

/* The factors and room for the product, made beforehand as there. */
gordian_status measure_product_open(struct measure_product **out, struct gpu *gpu,
                                    const gordian_allocator *memory, gordian_error *error);
/* The product, `iterations` times: a kernel each. */
gordian_status measure_product_run(struct measure_product *measure, unsigned iterations,
                                   struct measure_time *time, gordian_error *error);
void measure_product_close(struct measure_product *measure); /* NULL is fine */

/* ---- the text's sizes */

/* So many FIFO1s, from the automata in the host's memory to the matrix of their product, which has
 * 4^fifos cells. */
gordian_status measure_product_tree(struct gpu *gpu, uint32_t fifos,
                                    const gordian_allocator *memory, struct measure_time *time,
                                    gordian_error *error);
/* The rows of it that one of `ranks` ranks answers for; *transitions of them, without idle
 * loops. */
gordian_status measure_product_part(struct gpu *gpu, uint32_t fifos, uint32_t rank, uint32_t ranks,
                                    const gordian_allocator *memory, uint64_t *transitions,
                                    struct measure_time *time, gordian_error *error);
