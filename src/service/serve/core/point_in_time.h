/*
 * Point-in-time query: a read-only service with the state at a moment in the past, from a snapshot
 * and the journal. It moves forwards by replaying the records in between, and backwards by starting
 * from a snapshot again. One thread at a time.
 */
#pragma once

#include "service/serve/core/service.h"
#include "service/serve/store/store.h"

#include <stdatomic.h>

struct past;

/* Copies the texts of `source` (see store_load_past). `stop`, unless NULL: becomes true when the
 * service shuts down. On failure *out is NULL. */
gordian_status point_in_time_open(struct past **out, const struct store_options *source,
                                  const atomic_bool *stop, gordian_error *error);
/* Moves to the time `at`. GORDIAN_STATUS_END: the state of that time is not stored; the error names
 * the times that are stored. The service is valid until the next call. */
gordian_status point_in_time_seek(struct past *past, uint64_t at, struct service **service,
                                  gordian_error *error);
const struct store_options *point_in_time_source(const struct past *past);
void point_in_time_close(struct past *past);

/* Returns the set of deadlocked processes; NULL: out of memory. Free it with memory_free and the C
 * library's allocator. */
uint64_t *served_deadlocked_bits(struct served *served, size_t *words);
