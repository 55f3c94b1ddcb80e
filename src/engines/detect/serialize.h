/* A system as bytes and back: the same ids (the free ones, too, in the order in which they will be
 * used again), names, units, holdings, waiting requests in order of arrival, order of birth,
 * priorities and costs. What an engine keeps is not saved: it is told the graph anew. */
#pragma once

#include "foundation/base/bytes.h"

/* Appends the image; look at bytes->failed. */
void system_image_save(const gordian_system *system, struct bytes *bytes);
/* Fills a system that has just been opened. GORDIAN_STATUS_INPUT: not an image that was saved. On
 * failure the system is good for gordian_close only. */
gordian_status system_image_load(gordian_system *system, struct bytes_in *in, gordian_error *error);
