/*
 * The marker: a file that says what must be in the folder, and who writes there.
 *
 *     marker    "GRDM", checksum, epoch; number in the name of the journal's newest file, version,
 *               checksum
 *
 * A folder without its database looks like a new one, and a journal without its last file like a
 * shorter one: the marker tells them apart. The epoch is raised by every service that begins to
 * work in the folder. Whoever finds another one than its own is not the writer any more, and must
 * acknowledge nothing: it is looked at after every write, so either the other one has seen that
 * write or it is not acknowledged.
 */
#pragma once

#include <gordian/gordian.h>
#include <sys/types.h>

#define MARKER_FILE "marker"

struct marker {
    int folder, fd;         /* descriptors; -1: there is none */
    const uint64_t *mapped; /* the epoch, as the file has it now */
    uint64_t mine;          /* the same, as it was written by us */
    uint64_t epoch;
    uint64_t newest; /* file of the journal; 0: nothing is known of it */
};

/* Reads the marker of a folder, if there is one: marker->fd. GORDIAN_STATUS_INPUT: it is damaged,
 * or of another version. It is to be closed in any case. */
gordian_status marker_open(struct marker *marker, int folder, gordian_error *error);
/* From now on this process writes here, and whoever did before does not. */
gordian_status marker_claim(struct marker *marker, gordian_error *error);
/* The journal goes on in another file (0: it is not known which). `sync`: on the disk, too. */
gordian_status marker_note(struct marker *marker, uint64_t newest, bool sync, gordian_error *error);
/* Does this process still write here? GORDIAN_STATUS_UNAVAILABLE: another one does. */
gordian_status marker_check(const struct marker *marker, gordian_error *error);
/* Is the file still where it was? */
bool marker_is_ours(const struct marker *marker);
void marker_close(struct marker *marker);
