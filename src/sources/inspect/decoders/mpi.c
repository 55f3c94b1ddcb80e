/* Decodes ranks of an MPI program from the record that each rank writes about itself
 * (foundation/records/mpi_rank.h), with the library of `gordian run`. MPI polls while it waits, so
 * these threads usually run. A thread counts as steady if its slot is the same at both listings.
 *
 * A receive waits for the ranks that could send: if it received as many messages from them as they
 * sent, no message is in flight. A send waits for its receiver, if the receiver has posted fewer
 * receives than there are messages before it. A collective waits for the members that have not
 * arrived, or that have called another one (collective mismatch). A rank that is not visible (on
 * another machine, or with calls that bypass the library) counts as one that can act.
 */
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/decoders/mpi_ranks.h"

#include <stdio.h>
#include <string.h>

/* Unsuccessful tests in a row without another MPI call in between. Programs that test from time to
 * time during their work never reach this number. A program that only tests may need minutes to
 * reach it, when many ranks share few cores and yield after each test: for those POLLS_LEAST tests
 * suffice. */
#define POLLS_ENOUGH 100000
#define POLLS_LEAST  1000
#define POLLS_WORK   2 /* at most this many times the duration of its tests is spent in all */

/* The ranks that a call waits for: `wanted` of them must act. */
struct need {
    uint32_t ranks[NEED_MOST];
    uint32_t count, wanted;
    enum word word;
    bool sends; /* waits to be received or buffered */
};

struct asking {
    const struct ranks *ranks;
    const struct rank *rank; /* the waiter */
};

static bool add_rank(struct need *need, uint32_t rank)
{
    for (uint32_t i = 0; i < need->count; i++)
        if (need->ranks[i] == rank)
            return true;
    if (need->count == NEED_MOST)
        return false;
    need->ranks[need->count++] = rank;
    return true;
}

/* ------------------------------------------------------------------ messages */

static uint64_t group_id(const struct rank *rank, const struct mpi_item *item)
{
    return item->group < MPI_GROUPS ? rank->record->groups[item->group].id : 0;
}

/* Returns whether a receive matches a message from this rank with this tag. */
static bool takes(const struct mpi_item *receive, int32_t from, int32_t tag)
{
    return (receive->peer == MPI_ANY_RANK || receive->peer == from) &&
           (receive->tag == MPI_ANY_RANK || receive->tag == tag);
}

/* Adds up messages in flight from another rank to this one that the receive would take. False: the
 * two records are inconsistent. */
static bool count_coming(const struct rank *to, const struct rank *from, uint64_t group,
                         const struct mpi_item *receive, uint64_t *coming)
{
    const struct mpi_record *record = from->record;
    for (size_t i = 0; i < MPI_CHANNELS; i++) {
        const struct mpi_channel *channel = &record->channels[i];
        if (!channel->key || !channel->sent || channel->communicator != group ||
            channel->peer != (int32_t)to->record->rank ||
            !takes(receive, (int32_t)record->rank, channel->tag))
            continue;
        uint64_t received = rank_received(to, group, (int32_t)record->rank, channel->tag);
        if (received > channel->sent)
            return false;
        *coming += channel->sent - received;
    }
    return true;
}

/* Counts the active receives of this rank that `counts` accepts. */
static uint64_t count_receives(const struct rank *rank,
                               bool (*counts)(const struct rank *rank, const struct mpi_item *item,
                                              const void *context),
                               const void *context)
{
    uint64_t count = 0;
    for (size_t i = 0; i < MPI_REQUESTS; i++) {
        const struct mpi_request *request = &rank->record->requests[i];
        count += request->handle && request->active && request->item.kind == MPI_ITEM_RECEIVE &&
                 counts(rank, &request->item, context);
    }
    for (size_t i = 0; i < MPI_SLOTS; i++) {
        const struct mpi_slot *slot = &rank->record->slots[i];
        bool receiving = slot->call == MPI_CALL_Recv || slot->call == MPI_CALL_Mprobe ||
                         slot->call == MPI_CALL_Sendrecv || slot->call == MPI_CALL_Sendrecv_replace;
        for (uint32_t k = 0; slot->sequence % 2 && receiving && k < slot->count; k++)
            count +=
                slot->items[k].kind == MPI_ITEM_RECEIVE && counts(rank, &slot->items[k], context);
    }
    return count;
}

/* Returns whether an identical receive was posted earlier and takes the message first. */
static bool is_before(const struct rank *rank, const struct mpi_item *item, const void *context)
{
    const struct mpi_item *receive = context;
    return item->number < receive->number && item->peer == receive->peer &&
           item->tag == receive->tag && group_id(rank, item) == group_id(rank, receive);
}

static bool needs_sender(const struct asking *asking, const struct mpi_item *item,
                         struct need *need)
{
    const struct mpi_record *own = asking->rank->record;
    const struct mpi_group *group = &own->groups[item->group];
    uint64_t coming = 0;
    for (uint32_t i = 0; i < group->size; i++) {
        uint32_t member = own->members[group->first + i];
        const struct rank *from = ranks_find(asking->ranks, own->world, member);
        if (item->peer != MPI_ANY_RANK && item->peer != (int32_t)member)
            continue;
        if (!rank_is_clear(from) || !count_coming(asking->rank, from, group->id, item, &coming) ||
            !add_rank(need, member))
            return false;
    }
    need->wanted = 1;
    return need->count && coming <= count_receives(asking->rank, is_before, item);
}

struct message {
    uint64_t group;
    int32_t from, tag;
};

static bool is_for(const struct rank *rank, const struct mpi_item *item, const void *context)
{
    const struct message *message = context;
    return group_id(rank, item) == message->group && takes(item, message->from, message->tag);
}

static bool needs_receiver(const struct asking *asking, const struct mpi_item *item,
                           struct need *need)
{
    const struct mpi_record *own = asking->rank->record;
    const struct message message = {group_id(asking->rank, item), (int32_t)own->rank, item->tag};
    const struct rank *to = ranks_find(asking->ranks, own->world, (uint32_t)item->peer);
    if (item->peer < 0 || !rank_is_clear(to))
        return false;
    uint64_t received = rank_received(to, message.group, message.from, message.tag);
    need->wanted = 1;
    need->sends = item->kind == MPI_ITEM_SEND;
    return item->number > received &&
           count_receives(to, is_for, &message) < item->number - received &&
           add_rank(need, (uint32_t)item->peer);
}

/* ------------------------------------------------------------------ collectives */

enum arrival { ARRIVAL_CAME, ARRIVAL_MISSING, ARRIVAL_UNKNOWN };

static enum arrival has_arrived(const struct rank *member, uint64_t group,
                                const struct mpi_item *item)
{
    if (!rank_is_clear(member))
        return ARRIVAL_UNKNOWN;
    if (item->number == UINT64_MAX) /* MPI_Finalize */
        return member->record->state >= MPI_STATE_LEAVES ? ARRIVAL_CAME : ARRIVAL_MISSING;
    const struct mpi_group *there = rank_group(member, group);
    uint64_t count = there ? there->count : 0;
    if (!there && member->record->group_count == MPI_GROUPS)
        return ARRIVAL_UNKNOWN;
    if (count < item->number)
        return ARRIVAL_MISSING;
    bool known = count - item->number < MPI_RECENT;
    bool same = !known || there->recent[item->number % MPI_RECENT] == item->call;
    return same ? ARRIVAL_CAME : ARRIVAL_MISSING;
}

/* Returns how many of the missing members must arrive at least. */
static uint32_t members_wanted(const struct asking *asking, const struct mpi_item *item,
                               struct need *need)
{
    bool root = item->peer == (int32_t)asking->rank->record->rank;
    if (item->tag == MPI_NEEDS_ALL || (item->tag == MPI_NEEDS_SOME && root))
        return need->count;
    for (uint32_t i = 0; item->tag == MPI_NEEDS_ROOT && !root && i < need->count; i++)
        if ((int32_t)need->ranks[i] == item->peer) {
            need->ranks[0] = need->ranks[i];
            need->count = 1;
        }
    return 1;
}

static bool needs_members(const struct asking *asking, const struct mpi_item *item,
                          struct need *need)
{
    const struct mpi_record *own = asking->rank->record;
    const struct mpi_group *group = &own->groups[item->group];
    for (uint32_t i = 0; i < group->size; i++) {
        uint32_t member = own->members[group->first + i];
        if (member == own->rank)
            continue;
        enum arrival arrival =
            has_arrived(ranks_find(asking->ranks, own->world, member), group->id, item);
        if (arrival == ARRIVAL_UNKNOWN || (arrival == ARRIVAL_MISSING && !add_rank(need, member)))
            return false;
    }
    need->wanted = members_wanted(asking, item, need);
    return need->count;
}

/* ------------------------------------------------------------------ a call */

/* Returns whether this operation cannot complete before another rank acts. */
static bool needs_other_rank(const struct asking *asking, const struct mpi_item *item,
                             struct need *need)
{
    *need = (struct need){.word = WORD_PROVED};
    if (item->group >= MPI_GROUPS)
        return false;
    switch (item->kind) {
    case MPI_ITEM_RECEIVE:
    case MPI_ITEM_PROBE:
        return needs_sender(asking, item, need);
    case MPI_ITEM_SEND:
    case MPI_ITEM_SYNCHRONOUS:
        return needs_receiver(asking, item, need);
    case MPI_ITEM_COLLECTIVE:
        return needs_members(asking, item, need);
    default:
        return false;
    }
}

static bool merge_needs(struct need *all, const struct need *one)
{
    all->sends = all->sends || one->sends;
    for (uint32_t i = 0; i < one->count; i++)
        if (!add_rank(all, one->ranks[i]))
            return false;
    return true;
}

static bool is_buffered(const struct mpi_item *item)
{
    return item->kind == MPI_ITEM_SEND;
}

/* Combines all items: one that cannot complete is enough. Items that need all of their ranks are
 * merged. Skips a buffered send if there are other items, since it may have been buffered long ago.
 */
static bool needs_all(const struct asking *asking, const struct mpi_slot *slot, struct need *all)
{
    struct need one;
    for (uint32_t i = 0; i < slot->count && i < MPI_ITEMS; i++) {
        if ((is_buffered(&slot->items[i]) && slot->count > 1) ||
            !needs_other_rank(asking, &slot->items[i], &one))
            continue;
        bool each = one.wanted == one.count, first = !all->count;
        if (!first && (!each || all->wanted != all->count))
            continue;
        if (!merge_needs(all, &one))
            return false;
        all->wanted = each ? all->count : one.wanted;
    }
    return all->count;
}

/* Only sends remain that have no receiver. It is unknown whether the other items have completed. If
 * they have, one of these sends blocks the call. */
static bool needs_receivers(const struct asking *asking, const struct mpi_slot *slot,
                            struct need *all)
{
    struct need one;
    bool others = false;
    for (uint32_t i = 0; i < slot->count; i++) {
        if (slot->count > MPI_ITEMS)
            return false;
        if (is_buffered(&slot->items[i]) && needs_other_rank(asking, &slot->items[i], &one)) {
            if (!merge_needs(all, &one))
                return false;
        } else {
            others = true;
        }
    }
    all->wanted = 1;
    all->word = others ? WORD_LIKELY : WORD_PROVED;
    return all->count;
}

static bool needs_of(const struct asking *asking, const struct mpi_slot *slot, struct need *need)
{
    *need = (struct need){.word = WORD_PROVED};
    if (slot->any) {
        /* One item is enough to complete the call: none of them may be able to. */
        struct need one;
        for (uint32_t i = 0; i < slot->count; i++)
            if (slot->count > MPI_ITEMS || !needs_other_rank(asking, &slot->items[i], &one) ||
                !merge_needs(need, &one))
                return false;
        need->wanted = 1;
        return slot->count;
    }
    if (needs_all(asking, slot, need))
        return true;
    *need = (struct need){.word = WORD_PROVED};
    return needs_receivers(asking, slot, need);
}

/* ------------------------------------------------------------------ names */

static const char *const call_names[] = {
#define CALL_NAME(name) "MPI_" #name,
    MPI_CALLS(CALL_NAME)
#undef CALL_NAME
};

static const char *call_name(uint32_t call)
{
    return call < MPI_CALL_COUNT ? call_names[call] : "MPI";
}

/* Returns the name of what the item waits for: "message from rank 1, tag 7". */
static const char *item_name(struct process_snapshot *snapshot, const struct rank *rank,
                             const struct mpi_item *item)
{
    const struct mpi_group *group = &rank->record->groups[item->group];
    char whom[32], tag[32] = ", any tag", where[80] = "";
    if (item->kind == MPI_ITEM_COLLECTIVE && item->number == UINT64_MAX)
        return "MPI_Finalize";
    if (item->kind == MPI_ITEM_COLLECTIVE)
        return snapshot_format(snapshot, "%s %llu of %s", call_name((uint32_t)(item->call >> 32)),
                               (unsigned long long)item->number, group->name);
    snprintf(whom, sizeof whom, item->peer == MPI_ANY_RANK ? "any rank" : "rank %d", item->peer);
    if (item->tag != MPI_ANY_RANK)
        snprintf(tag, sizeof tag, ", tag %d", item->tag);
    if (item->group != 0)
        snprintf(where, sizeof where, ", %.48s", group->name);
    bool sends = is_buffered(item) || item->kind == MPI_ITEM_SYNCHRONOUS;
    return snapshot_format(snapshot, "%s %s%s%s", sends ? "receive by" : "message from", whom, tag,
                           where);
}

static const char *slot_name(struct process_snapshot *snapshot, const struct rank *rank,
                             const struct mpi_slot *slot, const struct need *need)
{
    if (slot->count == 1)
        return item_name(snapshot, rank, &slot->items[0]);
    if (need->count == 1)
        return snapshot_format(snapshot, "message from or to rank %u", need->ranks[0]);
    return snapshot_format(snapshot, "messages from or to %s%u ranks",
                           need->wanted < need->count ? "one of " : "", need->count);
}

/* ------------------------------------------------------------------ adding waits */

/* Returns whether the rank polls: unsuccessful tests without end are a wait. But it is unknown what
 * else the program does between its tests, or after enough of them. */
static bool polls(const struct mpi_slot *slot)
{
    /* The tests take most of its processor time. The processor time is measured from the first
     * sampled test on. */
    uint64_t looked_at = slot->tests / MPI_SAMPLE_EVERY;
    bool only_tests = slot->tests >= POLLS_LEAST &&
                      slot->cpu_ns / POLLS_WORK < slot->test_ns / (looked_at + 1) * slot->tests;
    return slot->sequence % 2 == 0 && slot->polls > 0 &&
           (slot->polls >= POLLS_ENOUGH || only_tests);
}

/* Returns a number that identifies this wait of this thread. */
static uint64_t wait_number(const struct target *target, const struct mpi_slot *slot)
{
    uint64_t thread = mpi_mix((uint64_t)target->seen_pid << 32 | slot->tid);
    return mpi_mix(slot->sequence + mpi_mix(slot->series + thread));
}

static bool may_call(const struct rank *rank, uint32_t tid)
{
    const struct mpi_record *record = rank->record;
    bool helper = false;
    for (uint32_t i = 0; i < record->helper_count && i < MPI_HELPERS; i++)
        helper = helper || record->helpers[i] == tid;
    return record->level == MPI_LEVEL_ONE ? tid == record->first_thread : !helper;
}

/* Adds holds for the threads of the rank that may call MPI. False: it never calls MPI again. */
static bool add_rank_holders(struct process_snapshot *snapshot, const struct rank *rank,
                             uint32_t lock, uint32_t mode)
{
    bool any = false;
    if (!rank || rank->process == SNAPSHOT_NONE || rank->record->state == MPI_STATE_LEFT)
        return false;
    for (uint32_t i = SNAPSHOT_NONE; snapshot_next_thread(snapshot, rank->process, &i);)
        if (may_call(rank, snapshot_thread(snapshot, i)->is.tid)) {
            snapshot_add_hold(snapshot, i, lock, mode, WORD_PROVED, NULL);
            any = true;
        }
    return any;
}

static void add_wait(struct process_snapshot *snapshot, const struct asking *asking,
                     uint32_t thread, const struct mpi_slot *slot, const struct need *need)
{
    const struct rank *rank = asking->rank;
    bool collective = slot->count == 1 && slot->items[0].kind == MPI_ITEM_COLLECTIVE;
    uint32_t mode = collective ? INCIDENT_ARRIVAL : INCIDENT_SIGNAL, able = 0;
    uint32_t lock = snapshot_add_object(snapshot, rank->process,
                                        wait_number(snapshot_target(snapshot, rank->process), slot),
                                        collective ? INCIDENT_COLLECTIVE : INCIDENT_MESSAGE);
    const char *name = slot_name(snapshot, rank, slot, need), *call = call_name(slot->call);
    if (polls(slot))
        name = snapshot_format(snapshot, "%s, polled with %s", name, call);
    snapshot_describe_lock(
        snapshot, lock,
        (struct lock_facts){.name = name, .missing = need->wanted, .outsiders = true});
    /* As for a pipe: the sender waits for space. */
    snapshot_add_wait(snapshot, thread, lock, need->sends ? (uint32_t)INCIDENT_EXCLUSIVE : mode);
    snapshot_add_wait_evidence(
        snapshot, thread, need->word,
        polls(slot) ? snapshot_format(snapshot, "polls with %s, %u times without success", call,
                                      slot->polls)
                    : snapshot_format(snapshot, "in %s", call));
    for (uint32_t i = 0; i < need->count; i++)
        able += add_rank_holders(
            snapshot, ranks_find(asking->ranks, rank->record->world, need->ranks[i]), lock, mode);
    if (able < need->wanted) {
        snapshot_set_owner(snapshot, lock, SNAPSHOT_NONE, need->ranks[0], NULL);
        snapshot_add_hold(snapshot, SNAPSHOT_GONE, lock, mode, need->word, NULL);
    }
    snapshot_set_spinning(snapshot, thread);
}

static void explain_rank(struct process_snapshot *snapshot, const struct asking *asking)
{
    const struct rank *rank = asking->rank;
    struct need need;
    for (uint32_t i = SNAPSHOT_NONE; snapshot_next_thread(snapshot, rank->process, &i);) {
        const struct snapshot_thread *thread = snapshot_thread(snapshot, i);
        const struct mpi_slot *slot = rank_slot(rank, thread->is.tid);
        if (thread->is.tid == rank->record->first_thread)
            snapshot_rename_thread(snapshot, i,
                                   snapshot_format(snapshot, "rank %u", rank->record->rank));
        if (!slot || (slot->sequence % 2 == 0 && !polls(slot)) || !needs_of(asking, slot, &need))
            continue;
        if (polls(slot))
            need.word = WORD_LIKELY;
        add_wait(snapshot, asking, i, slot, &need);
    }
}

void mpi_explain(struct process_snapshot *snapshot)
{
    struct ranks ranks;
    if (!ranks_open(&ranks, snapshot)) {
        snapshot_fail(snapshot);
        return;
    }
    for (size_t i = 0; i < ranks.count; i++) {
        const struct asking asking = {&ranks, &ranks.list[i]};
        if (ranks.list[i].process != SNAPSHOT_NONE && rank_is_clear(&ranks.list[i]))
            explain_rank(snapshot, &asking);
    }
    ranks_close(&ranks, snapshot);
}

/* A thread that is still in the same call has not left it in the meantime. */
void mpi_settle(struct process_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot_thread_count(snapshot); i++) {
        const struct snapshot_thread *thread = snapshot_thread(snapshot, i);
        const struct snapshot_lock *lock = snapshot_awaited_lock(snapshot, i);
        struct mpi_slot slot;
        if (!lock || (lock->kind != INCIDENT_MESSAGE && lock->kind != INCIDENT_COLLECTIVE))
            continue;
        struct target *target = snapshot_target(snapshot, thread->process);
        snapshot_set_steady(snapshot, i,
                            rank_read_slot(target, thread->is.tid, &slot) &&
                                lock->place == wait_number(target, &slot) &&
                                (slot.sequence % 2 || slot.polls));
    }
}
