/*
 * A ledger's numbers on a device, as full matrices, and questions about them
 * (foundation/gpu/kernels/banker/banker.h).
 *
 * The ledger on the host stays the truth. What has changed in it is only noted down, cell by cell
 * (banker_touch_*: these cannot fail), and read from there when the next question is asked; the
 * kernel that answers brings the device up to date first. So an event sends what it touches, a
 * question is one launch. Where too much was touched, everything is sent anew instead.
 *
 * Units are 32 bits wide on the device while every total fits that, 64 otherwise.
 *
 * Every function that can fail leaves the ledger alone. GORDIAN_STATUS_MEMORY: the device has too
 * little, with what it would take in the message; GORDIAN_STATUS_IO: it has failed, and is only
 * good for closing.
 */
#pragma once

#include "engines/avoid/engine/ledger.h"
#include "foundation/gpu/gpu.h"

struct banker;

/* Both must outlive it. */
gordian_status banker_open(struct banker **out, struct gpu *gpu, const struct ledger *ledger,
                           gordian_error *error);
void banker_close(struct banker *banker);

/* For tests: bytes of device memory for so many processes and resources. */
uint64_t banker_bytes(uint32_t processes, uint32_t resources, bool wide);
/* Makes room for ids below these, units as wide as the totals need. */
gordian_status banker_reserve(struct banker *banker, uint32_t process_limit,
                              uint32_t resource_limit, gordian_error *error);

/* What has changed, or is about to: looked up when the next question is asked. */
void banker_touch(struct banker *banker, uint32_t process, uint32_t resource);
void banker_touch_free(struct banker *banker, uint32_t resource);

/* Would the state be safe with this change (NULL: as it is)? */
gordian_status banker_safe(struct banker *banker, const struct ledger_change *change, bool *safe,
                           gordian_error *error);
/* The same for many loans, each alone. The state must be safe. */
gordian_status banker_safe_each(struct banker *banker, const struct ledger_change *changes,
                                size_t count, bool *safe, gordian_error *error);
/* An order in which everybody can finish, round by round and by id; in a state that is safe. */
gordian_status banker_sequence(struct banker *banker, uint32_t *processes, gordian_error *error);

/* How the last question went. */
struct banker_effort {
    uint32_t searches;   /* by one block alone */
    double microseconds; /* on the device, if banker_time was told to look */
};
struct banker_effort banker_effort(const struct banker *banker);
void banker_time(struct banker *banker, bool look);

/* For tests and measurements: when to leave rounds for a search, and to come back; blocks and
 * threads of a launch (0: as many as pay). */
struct banker_tuning {
    uint32_t search_below; /* a round that frees fewer is followed by a search... */
    uint32_t pass_cells;   /* ... and so is one that frees one more for so many cells still to look
                              at, divided by the blocks there are */
    uint32_t
        search_most; /* a search that frees more at once (and a 16th of who is left) gives way */
    unsigned blocks, threads;
    bool wide;         /* 64 bits, whatever the totals are */
    bool large_counts; /* counts in device memory, as if they did not fit */
    bool no_windows;   /* orders read from device memory, likewise */
    bool small_window; /* the shorter ones, likewise */
};
struct banker_tuning banker_tuning(const struct banker *banker);
void banker_tune(struct banker *banker, struct banker_tuning tuning);
/* For tests: the device fails in place of the launch after that many more. */
void banker_fail_after(struct banker *banker, uint64_t launches);
