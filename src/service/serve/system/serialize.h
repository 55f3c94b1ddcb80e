/*
 * A served system as bytes and back: everything it takes to go on as if nothing had happened. Ids
 * with those that are free and the order in which they will be used again, names, units, holdings,
 * waiting requests in order of arrival, priorities, costs, order of birth, claims, the queue of a
 * bank and how often its head has been passed, owners, times, counters. (Sessions, the lists of
 * their processes and open incidents are the service's to save.)
 *
 * The format is varints in a fixed order behind a version (foundation/base/bytes.h), the same on
 * every machine. Loading checks everything: bytes that no save has made give GORDIAN_STATUS_INPUT,
 * never a broken system. Loading reports nothing: deadlocks that stood still stand and are not
 * announced anew.
 */
#pragma once

#include "foundation/base/bytes.h"

#include <gordian/gordian.h>

struct served;

/* Appends the image of a served system, its name and configuration included. */
gordian_status image_save(const struct served *served, struct bytes *bytes, gordian_error *error);
/* The opposite: opens a served system from an image (all `length` bytes of it). On failure *out is
 * NULL. The engine is the one configured; if that is not available here now,
 * GORDIAN_STATUS_UNAVAILABLE.
 */
gordian_status image_load(struct served **out, const void *image, size_t length,
                          const gordian_allocator *allocator, gordian_error *error);
