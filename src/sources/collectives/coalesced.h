/* Coalesced operations: calls that PyTorch hands to the device as one launch
 * (batch_isend_irecv, coalescing managers, all_gather of uneven sizes).
 *
 * The flight recorder writes an entry for each call of the launch, its *members*, and one that
 * closes it, "nccl:coalesced". All of them carry the same two sequence numbers. No event belongs to
 * a member: its state is "scheduled" for ever. Only the closing entry is started and completed.
 * (PyTorch issue 137969.) Before version 2.7 of the format collectives left no members.
 *
 * This turns the entries of one dump into operations:
 * - sends and receives take the state of their closing entry, which is dropped;
 * - collectives become one operation, with the sizes of all of them;
 * - members without a closing entry are in flight only if they are the last thing the rank did: a
 *   dump that lists active entries leaves the completed closing entry out and keeps the members. */
#pragma once

#include "sources/collectives/training.h"

/* An entry of a dump, before its launch is known. */
struct recorded {
    struct operation operation;
    uint64_t collective, p2p; /* both sequence numbers of the group */
    uint32_t previous;        /* the entry before it of the same group; NONE: there is none */
    uint32_t launch;          /* the first entry of its launch */
    bool is_p2p;
    bool closing;   /* "coalesced", or "..._coalesced" */
    bool continued; /* its launch has a later entry */
    bool dropped;   /* stands for no operation of its own */
};

bool name_is_closing(const char *name, size_t length);

/* `entries` in the order of their records; seats of all their groups, with statuses. `active`: none
 * of them is completed, so those that were may have been left out. */
void resolve_coalesced(struct recorded *entries, size_t count, struct seat *seats,
                       size_t seat_count, bool active);
