/* Coalesced operations: calls that PyTorch gives to the device as one launch (batch_isend_irecv,
 * coalescing managers, all_gather of uneven sizes).
 *
 * The flight recorder writes an entry for each call of the launch, its *members*, and one that
 * closes it, "nccl:coalesced". All of them have the same two sequence numbers. Members have no
 * events: their state is always "scheduled". Only the closing entry is started and completed
 * (PyTorch issue 137969). Before version 2.7 of the format, collectives left no members.
 *
 * This code turns the entries of one dump into operations:
 * - sends and receives get the state of their closing entry, which is dropped;
 * - collectives become one operation with the sum of their sizes;
 * - members without a closing entry are in flight only if they are the last thing the rank did: a
 *  dump of active entries omits the completed closing entry and keeps the members. */
#pragma once

#include "sources/collectives/training.h"

/* An entry of a dump whose launch is not known yet. */
struct recorded {
    struct operation operation;
    uint64_t collective, p2p; /* both sequence numbers of the group */
    uint32_t previous;        /* the previous entry of the same group; NONE: there is none */
    uint32_t launch;          /* the first entry of its launch */
    bool is_p2p;
    bool closing;   /* "coalesced", or "..._coalesced" */
    bool continued; /* its launch has a later entry */
    bool dropped;   /* does not become a separate operation */
};

bool name_is_closing(const char *name, size_t length);

/* Turns entries into operations. `entries` are in the order of their records. `memberships` are the
 * rank's members of all their groups, with statuses. `active`: no entry is completed, so completed
 * entries may have been omitted. */
void resolve_coalesced(struct recorded *entries, size_t count, struct membership *memberships,
                       size_t membership_count, bool active);
