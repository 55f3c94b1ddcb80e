/* Reconstructs a schedule from a sweep (cuda/sweep.h) over lossless tables: from state to state,
 * each time to one whose value is smaller by one. */
#pragma once

#include "engines/makespan/cuda/tables.h"

/* Reads the value of the state with that index. */
typedef gordian_status path_reader(void *context, uint64_t index, uint32_t *value,
                                   gordian_error *error);

/* The initial state: its local state in the first run, and its index. */
uint64_t path_start(const struct sweep_tables *tables, uint32_t *id);

/* `order` gets model->work entries, cycle by cycle. The values are those of lossless tables. */
gordian_status path_find(const struct sweep_tables *tables, path_reader *read_value, void *context,
                         uint8_t *order, gordian_error *error);
