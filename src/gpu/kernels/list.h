/* Every kernel, one line each: GPU_KERNEL(name). Included with GPU_KERNEL defined (kernels.h). */

/* selftest.cu */
GPU_KERNEL(selftest_index)
GPU_KERNEL(selftest_barriers)
GPU_KERNEL(selftest_warps)
GPU_KERNEL(selftest_atomics)
GPU_KERNEL(selftest_ordered)
GPU_KERNEL(selftest_dynamic)
GPU_KERNEL(selftest_grid)
GPU_KERNEL(selftest_service)
GPU_KERNEL(selftest_trap)

/* osdda.cu */
GPU_KERNEL(osdda_service)

/* cycles.cu */
GPU_KERNEL(cycles_follow)
GPU_KERNEL(cycles_chase)
GPU_KERNEL(cycles_sort_out)
GPU_KERNEL(cycles_enter)
GPU_KERNEL(cycles_keep)
GPU_KERNEL(cycles_place)
GPU_KERNEL(cycles_jump)
GPU_KERNEL(cycles_double)
GPU_KERNEL(cycles_mark)
GPU_KERNEL(cycles_settle)
GPU_KERNEL(cycles_resolve)
GPU_KERNEL(cycles_dead)
GPU_KERNEL(cycles_entry)
GPU_KERNEL(cycles_measure)
GPU_KERNEL(cycles_smallest)
GPU_KERNEL(cycles_open)
GPU_KERNEL(cycles_rank)
GPU_KERNEL(cycles_lengths)
GPU_KERNEL(cycles_starts)
GPU_KERNEL(cycles_write)

/* reduce.cu */
GPU_KERNEL(reduce_count)
GPU_KERNEL(reduce_fill)
GPU_KERNEL(reduce_start)
GPU_KERNEL(reduce_lead)
GPU_KERNEL(reduce_seed)
GPU_KERNEL(reduce_sort)
GPU_KERNEL(reduce_rounds)
GPU_KERNEL(reduce_left)

/* select.cu */
GPU_KERNEL(select_count)
GPU_KERNEL(select_write)
GPU_KERNEL(tile_sums)
GPU_KERNEL(prefix_count)
GPU_KERNEL(prefix_write)

/* bool_product.cu, bit_transpose.cu, bit_closure.cu */
GPU_KERNEL(bool_product)
GPU_KERNEL(bit_transpose)
GPU_KERNEL(bit_closure)

/* lmdda.cu, lmdda_hop.cu */
GPU_KERNEL(lmdda_event)
GPU_KERNEL(lmdda_join)
GPU_KERNEL(lmdda_clear)
GPU_KERNEL(lmdda_relation)
GPU_KERNEL(lmdda_rows)
GPU_KERNEL(lmdda_small)

/* what_if.cu */
GPU_KERNEL(what_if_ends)
