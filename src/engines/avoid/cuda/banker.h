/*
 * The banker's algorithm on a device: a ledger's numbers as full matrices, and questions about them
 * (foundation/gpu/kernels/banker/banker.h).
 *
 * The ledger on the host is authoritative. A change only records which cells it touched
 * (banker_touch_*, which cannot fail). The next question reads these cells, and its kernel updates
 * the device before it answers. So the cost of an event depends only on the cells it touches, and a
 * question is one launch. If too many cells were touched, everything is uploaded instead.
 *
 * Units are 32 bits wide on the device while every total fits 32 bits, and 64 bits wide otherwise.
 *
 * A function that fails leaves the ledger unchanged. GORDIAN_STATUS_MEMORY: the device has too
 * little memory; the message has the required size. GORDIAN_STATUS_IO: the device has failed, and
 * the only valid call is banker_close.
 */
#pragma once

#include "engines/avoid/engine/ledger.h"
#include "foundation/gpu/gpu.h"

struct banker;

/* `gpu` and `ledger` must outlive the banker. */
gordian_status banker_open(struct banker **out, struct gpu *gpu, const struct ledger *ledger,
                           gordian_error *error);
void banker_close(struct banker *banker);

/* For tests: returns the bytes of device memory for that many processes and resources. */
uint64_t banker_bytes(uint32_t processes, uint32_t resources, bool wide);
/* Reserves memory for ids below these, with units as wide as the totals need. */
gordian_status banker_reserve(struct banker *banker, uint32_t process_limit,
                              uint32_t resource_limit, gordian_error *error);

/* Notes what has changed or is about to change. The next question reads it. */
void banker_touch(struct banker *banker, uint32_t process, uint32_t resource);
void banker_touch_free(struct banker *banker, uint32_t resource);

/* Returns whether the state would be safe with this change (NULL: as it is). */
gordian_status banker_safe(struct banker *banker, const struct ledger_change *change, bool *safe,
                           gordian_error *error);
/* The same for many loans, each by itself. The state must be safe. */
gordian_status banker_safe_each(struct banker *banker, const struct ledger_change *changes,
                                size_t count, bool *safe, gordian_error *error);
/* Provides an order in which all processes can finish, round by round and by id. The state must be
 * safe. */
gordian_status banker_sequence(struct banker *banker, uint32_t *processes, gordian_error *error);

/* Statistics of the last question. */
struct banker_effort {
    uint32_t searches;   /* by one block alone */
    double microseconds; /* on the device, if banker_time has enabled it */
};
struct banker_effort banker_effort(const struct banker *banker);
void banker_time(struct banker *banker, bool look);

/* For tests and measurements: when to change from rounds to a search and back; blocks and threads
 * of a launch (0: default). */
struct banker_tuning {
    uint32_t search_below; /* a round that frees fewer is followed by a search... */
    uint32_t pass_cells;   /* ... and so is a round that frees fewer than one process per this many
                              cells that remain to be compared, divided by the number of blocks */
    uint32_t search_most;  /* a search that frees more at once (and a 16th of those left) ends */
    unsigned blocks, threads;
    bool wide;         /* units have 64 bits for any totals */
    bool large_counts; /* counts are in device memory, as if they did not fit shared memory */
    bool no_windows;   /* orders are read from device memory, as if windows did not fit */
    bool small_window; /* the shorter windows are used, as if the longer ones did not fit */
};
struct banker_tuning banker_tuning(const struct banker *banker);
void banker_tune(struct banker *banker, struct banker_tuning tuning);
/* For tests: the device fails instead of the launch after that many more. */
void banker_fail_after(struct banker *banker, uint64_t launches);
