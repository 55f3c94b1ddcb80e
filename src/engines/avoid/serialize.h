/* A bank as bytes and back: the same ids (the free ones, too, in the order in which they will be
 * used again), names, totals, claims, holdings, grants on trial, the queue and how often its head
 * has been passed. The engine is opened anew on the ledger: it may know another safe order. Whoever
 * sleeps in gordian_bank_acquire is saved as one that waits. */
#pragma once

#include "foundation/base/bytes.h"

/* Appends the image; look at bytes->failed. */
void bank_image_save(gordian_bank *bank, struct bytes *bytes);
/* Fills a bank that has just been opened. GORDIAN_STATUS_INPUT: not an image that was saved, or one
 * of a bank with a queue when this one has none. On failure the bank is good for gordian_bank_close
 * only. */
gordian_status bank_image_load(gordian_bank *bank, struct bytes_in *in, gordian_error *error);
