/* Turns the entries of coalesced launches into operations. */
#include "sources/collectives/coalesced.h"

bool name_is_closing(const char *name, size_t length)
{
    static const char word[] = "_coalesced";
    size_t size = sizeof word - 1;
    if (length + 1 == size)
        return memcmp(name, word + 1, length) == 0;
    return length > size && memcmp(name + length - size, word, size) == 0;
}

static struct membership *find_membership(struct membership *memberships, size_t count,
                                          uint32_t group)
{
    for (size_t i = 0; i < count; i++)
        if (memberships[i].group == group)
            return &memberships[i];
    return NULL;
}

/* Assigns entries to launches. Entries of a group that have the same two sequence numbers belong to
 * one launch. Without sequence numbers the launch is unknown. */
static void find_launches(struct recorded *entries, size_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct recorded *entry = &entries[i];
        entry->launch = i;
        entry->operation.order = entry->operation.record;
        if (entry->previous == GORDIAN_NONE)
            continue;
        struct recorded *previous = &entries[entry->previous];
        if (previous->closing || (!previous->collective && !previous->p2p) ||
            previous->collective != entry->collective || previous->p2p != entry->p2p)
            continue;
        entry->launch = previous->launch;
        previous->continued = true;
    }
}

/* ------------------------------------------------------------------ the state of a launch */

static bool launch_has_peers(const struct recorded *entries, uint32_t last)
{
    for (uint32_t i = last;; i = entries[i].previous) {
        if (entries[i].operation.peer != GORDIAN_NONE)
            return true;
        if (i == entries[last].launch)
            return false;
    }
}

/* ------------------------------------------------------------------ from entries to operations */

static void settle_transfers(struct recorded *entries, uint32_t last, uint8_t state)
{
    uint64_t order = entries[entries[last].launch].operation.record;
    for (uint32_t i = last;; i = entries[i].previous) {
        struct recorded *entry = &entries[i];
        entry->operation.state = state;
        entry->operation.order = order;
        entry->operation.coalesced = true;
        entry->dropped |= entry->closing;
        if (i == entries[last].launch)
            return;
    }
}

/* The first entry of the launch becomes the operation. A name that all members share is more
 * specific than "coalesced". */
static void fold_collectives(struct recorded *entries, uint32_t last, uint8_t state, bool whole)
{
    struct recorded *first = &entries[entries[last].launch];
    uint32_t name = first->operation.name;
    uint64_t input = 0, output = 0;
    for (uint32_t i = last;; i = entries[i].previous) {
        struct recorded *entry = &entries[i];
        entry->dropped = entry != first;
        input += entry->operation.input;
        output += entry->operation.output;
        if (!entry->closing && entry->operation.name != name)
            name = entries[last].operation.name;
        if (i == entries[last].launch)
            break;
    }
    first->operation.name = name;
    first->operation.input = input;
    first->operation.output = output;
    first->operation.state = state;
    first->operation.coalesced = true;
    first->operation.partial = !whole;
}

/* Is the entry possibly the last member of a launch whose other entries are not in the dump?
 * - A dump of active entries has only the members of a completed launch, and the recorder may have
 *  dropped the first ones. Then one member is left, which is the oldest entry of the dump.
 * - A coalesced group of a single send or receive leaves one member anywhere in the dump.
 * The record after a member is the closing entry. If that record is in the dump, the entry is not a
 * member. A member never starts. */
static bool is_lone(const struct recorded *entries, size_t count, uint32_t index)
{
    const struct recorded *entry = &entries[index];
    bool followed =
        index + 1 < count && entries[index + 1].operation.record == entry->operation.record + 1;
    bool oldest = index == 0 && entry->operation.record > 0;
    return entry->operation.state == STATE_SCHEDULED && !followed && (oldest || entry->is_p2p);
}

static void settle_launch(struct recorded *entries, size_t count, uint32_t last,
                          struct membership *membership, bool active)
{
    struct recorded *entry = &entries[last];
    /* The recorder may have dropped the first entries of its oldest launch. */
    bool alone = entry->launch == last;
    bool whole = entry->launch > 0 || entries[entry->launch].operation.record == 0;
    /* Has the rank done anything after this launch? A dump of active entries omits a completed
     * closing entry. So the launch is closed, unless the status says that the last operation given
     * to the device came before it. */
    entry->operation.passed =
        last + 1 < count ||
        (active && membership && membership->known && membership->enqueued >= 0 &&
         !came_before((uint64_t)membership->enqueued, &entry->operation));
    entry->operation.lone = active && alone && !entry->closing && is_lone(entries, count, last);
    if (alone && !entry->closing)
        return;
    if (membership && (entry->is_p2p || launch_has_peers(entries, last)))
        membership->coalesces = true;
    /* Without a closing entry, either the call that closes the launch has not returned, or the dump
     * omits the entry because it is completed. If the rank has done anything since, the call has
     * returned. */
    uint8_t state =
        entry->operation.passed && !entry->closing ? STATE_COMPLETED : entry->operation.state;
    if (membership && alone && entry->is_p2p && state != STATE_COMPLETED)
        membership->lost = true;
    if (launch_has_peers(entries, last) || (alone && entry->is_p2p))
        settle_transfers(entries, last, state);
    else if (!alone)
        fold_collectives(entries, last, state, whole);
    else {
        /* A closing entry without members. The members identify the operation. If the recorder
         * dropped them, the operation cannot be compared with the operations of other ranks. */
        entry->dropped = !whole && !active;
        entry->operation.partial = !whole;
    }
}

/* ------------------------------------------------------------------ sequence numbers */

/* Recorders of PyTorch 2.4 and 2.5 count a coalesced group of sends and receives as a collective,
 * but only on the participating ranks. Then the ranks of the group number its collectives
 * differently. Two launches with the same number show this. */
static void note_uneven(const struct recorded *entries, uint32_t index,
                        struct membership *membership)
{
    const struct recorded *entry = &entries[index];
    if (!membership || !entry->is_p2p || !entry->operation.coalesced || entry->launch != index)
        return;
    const struct recorded *previous =
        entry->previous == GORDIAN_NONE ? NULL : &entries[entry->previous];
    if (previous ? entry->p2p == previous->p2p && entry->collective > previous->collective
                 : entry->p2p == 0 && entry->collective > 0)
        membership->uneven = true;
}

/* ------------------------------------------------------------------ completeness */

/* The first send or receive of a group has number 1. If it is in the dump, the n-th send to a peer
 * matches the n-th receive. At the very start of a dump, members of a launch may be missing. */
static void note_whole(const struct recorded *entries, uint32_t index,
                       struct membership *membership)
{
    const struct recorded *entry = &entries[index];
    bool first = entry->previous == GORDIAN_NONE || !entries[entry->previous].p2p;
    bool cut = entry->operation.coalesced && index == 0 && entry->operation.record > 0;
    if (membership && entry->is_p2p && entry->p2p == 1 && first && !cut)
        membership->whole = true;
}

void resolve_coalesced(struct recorded *entries, size_t count, struct membership *memberships,
                       size_t membership_count, bool active)
{
    bool contiguous = true;
    find_launches(entries, count);
    for (uint32_t i = 0; i < count; i++) {
        struct membership *membership =
            find_membership(memberships, membership_count, entries[i].operation.group);
        if (!entries[i].continued)
            settle_launch(entries, count, i, membership, active);
        contiguous &= i == 0 || entries[i].operation.record == entries[i - 1].operation.record + 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct membership *membership =
            find_membership(memberships, membership_count, entries[i].operation.group);
        note_uneven(entries, i, membership);
        /* The status says that a send or receive is completed, but its entry does not. So it is a
         * member of a coalesced group whose closing entry was omitted. No collective in the dump
         * has that number. */
        const struct recorded *entry = &entries[i];
        if (membership && membership->known && entry->is_p2p &&
            entry->operation.state != STATE_COMPLETED && !entry->operation.coalesced &&
            membership->completed == membership->enqueued && entry->p2p > membership->top &&
            membership->completed >= 0 && (uint64_t)membership->completed == entry->p2p)
            membership->coalesces = true;
        if (contiguous)
            note_whole(entries, i, membership);
    }
}
