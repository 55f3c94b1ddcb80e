/*
 * The marker: a manifest of the folder, which names the newest journal file and the current writer.
 *
 *     marker    "GRDM", checksum, epoch; number in the name of the newest journal file, version,
 *               checksum
 *
 * Without it, a folder that lost its database looks new, and a journal that lost its last file
 * looks short. The epoch works like a fencing token: every service that starts in the folder
 * increments it. A service that finds another epoch than its own is no longer the writer and must
 * acknowledge nothing. It checks after every write, so a write that the new service has not seen is
 * never acknowledged.
 */
#pragma once

#include <gordian/gordian.h>
#include <sys/types.h>

#define MARKER_FILE "marker"

struct marker {
    int folder, fd;         /* descriptors; -1: none */
    const uint64_t *mapped; /* the epoch in the file, mapped */
    uint64_t mine;          /* the epoch that this process wrote, as mapped */
    uint64_t epoch;
    uint64_t newest; /* newest journal file; 0: unknown */
};

/* Reads the marker of a folder if there is one (marker->fd). GORDIAN_STATUS_INPUT: damaged, or
 * another version. Close it in any case. */
gordian_status marker_open(struct marker *marker, int folder, gordian_error *error);
/* Makes this process the writer; the previous writer no longer is. */
gordian_status marker_claim(struct marker *marker, gordian_error *error);
/* Notes the newest journal file (0: unknown). `sync`: also syncs it. */
gordian_status marker_note(struct marker *marker, uint64_t newest, bool sync, gordian_error *error);
/* Is this process still the writer? GORDIAN_STATUS_UNAVAILABLE: another one is. */
gordian_status marker_check(const struct marker *marker, gordian_error *error);
/* Is the file still in its place? */
bool marker_is_ours(const struct marker *marker);
void marker_close(struct marker *marker);
