/* A schedule read off a sweep (cuda/sweep.h) over tables that lose nothing: from state to state,
 * each time to one whose value is less by one. */
#pragma once

#include "engines/makespan/cuda/tables.h"

/* The value of the state with that index. */
typedef gordian_status path_look(void *context, uint64_t index, uint32_t *value,
                                 gordian_error *error);

/* The state in which nothing is done yet: its local state in the first run, and its index. */
uint64_t path_start(const struct sweep_tables *tables, uint32_t *id);

/* `order` gets model->work entries, cycle by cycle; the values are those of tables->lossless ones.
 */
gordian_status path_find(const struct sweep_tables *tables, path_look *look, void *context,
                         uint8_t *order, gordian_error *error);
