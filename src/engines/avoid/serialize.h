/* Serializes and deserializes a bank. It keeps the ids (also the order in which free ids are used
 * again), names, totals, claims, holdings, grants on trial, the queue and how often its head has
 * been passed. The engine is reopened on the restored ledger and may find another safe order. A
 * thread that sleeps in gordian_bank_acquire is saved as a waiting request. */
#pragma once

#include "foundation/base/bytes.h"

/* Appends the serialized bank. Check bytes->failed afterwards. */
void bank_serialize(gordian_bank *bank, struct bytes *bytes);
/* Fills a bank that was just opened. GORDIAN_STATUS_INPUT: these bytes are no serialized bank, or
 * one with a queue while this bank has none. After a failure the bank can only be closed. */
gordian_status bank_deserialize(gordian_bank *bank, struct bytes_in *in, gordian_error *error);
