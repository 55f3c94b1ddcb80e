/*
 * A service as it was at some moment, from what its store keeps: for those who only look. It moves
 * forward by the records in between, and anywhere else by beginning anew. One thread at a time.
 */
#pragma once

#include "service/serve/core/service.h"
#include "service/serve/store/store.h"

#include <stdatomic.h>

struct past;

/* The texts of `source` (as store_load_past has it) are copied. `stop`, unless NULL: somebody sets
 * it when there is no time for this any more. On failure *out is NULL. */
gordian_status past_open(struct past **out, const struct store_options *source,
                         const atomic_bool *stop, gordian_error *error);
/* GORDIAN_STATUS_END: that is not kept, and the error says what is. The service is valid until the
 * next call. */
gordian_status past_go(struct past *past, uint64_t at, struct service **service,
                       gordian_error *error);
const struct store_options *past_source(const struct past *past);
void past_close(struct past *past);

/* The set of those of a system that can never run again; NULL: no memory. To be freed with
 * memory_free of the C library's allocator. */
uint64_t *past_dead(struct served *served, size_t *words);
