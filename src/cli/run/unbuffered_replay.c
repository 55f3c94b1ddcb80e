/* Replays MPI programs without buffering of sends. */
#include "cli/run/unbuffered_replay.h"

#include "foundation/base/memory.h"
#include "foundation/records/mpi_rank.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RANKS_MOST 256
#define CHANNELS   (1u << 16) /* a power of two */

/* A replayed rank: its position, and whether the event there was posted. */
struct replayed_rank {
    const struct mpi_record *record;
    uint64_t at;
    bool posted;
    uint64_t index;     /* of its message in its channel */
    uint64_t *index_of; /* by event: the index of the operation that began there */
    uint64_t *begun_by; /* by event that completes a request: 1 + the event that began it */
    uint64_t reached[MPI_GROUPS]; /* by communicator: the last collective */
};

/* Messages from one sender to one receiver, in one communicator, with one tag. */
struct channel {
    uint64_t key; /* 0: free */
    uint64_t sends, receives;
};

struct replay {
    struct replayed_rank *ranks; /* by rank */
    uint32_t count;
    struct channel *channels;
    gordian_allocator memory;
    bool full;
};

/* ------------------------------------------------------------------ reading logs */

/* Can the log be replayed? It must be complete and of one thread, and without receives from any
 * source, whose order may have been another. */
static bool is_replayable(const struct mpi_record *record)
{
    if (memcmp(record->magic, MPI_RECORD_MAGIC, sizeof record->magic) != 0 ||
        record->version != MPI_RECORD_VERSION || record->state != MPI_STATE_LEFT ||
        record->opaque || record->event_count > MPI_EVENTS || record->slots[1].tid ||
        record->size > RANKS_MOST)
        return false;
    for (uint64_t i = 0; i < record->event_count; i++)
        if (record->events[i].call & MPI_EVENT_CHOICE)
            return false;
    return true;
}

/* Finds the event that completes each request. Request numbers are unique. */
static bool find_completions(struct replay *replay, struct replayed_rank *rank)
{
    const struct mpi_record *record = rank->record;
    size_t count = record->event_count, size = (count + 1) * sizeof(uint64_t);
    rank->index_of = memory_zeroed(&replay->memory, size);
    rank->begun_by = memory_zeroed(&replay->memory, size);
    uint64_t *begun = memory_zeroed(&replay->memory, (record->requested + 1) * sizeof *begun);
    bool done = rank->index_of && rank->begun_by && begun;
    for (size_t i = 0; i < count && done; i++) {
        const struct mpi_event *event = &record->events[i];
        bool known = event->what <= record->requested;
        if ((event->kind == MPI_EVENT_BEGIN_SEND || event->kind == MPI_EVENT_BEGIN_RECEIVE) &&
            known)
            begun[event->what] = i + 1;
        if (event->kind == MPI_EVENT_DONE && known)
            rank->begun_by[i] = begun[event->what];
    }
    memory_free(&replay->memory, begun);
    return done;
}

/* ------------------------------------------------------------------ replay */

static struct channel *find_channel(struct replay *replay, uint64_t group, uint32_t from,
                                    uint32_t to, int32_t tag)
{
    uint64_t key = mpi_channel_key(group + mpi_mix((uint64_t)from << 32 | to), 0, tag);
    for (size_t i = 0; i < CHANNELS / 2; i++) {
        struct channel *channel = &replay->channels[(key + i) % CHANNELS];
        if (channel->key == key || channel->key == 0) {
            channel->key = key;
            return channel;
        }
    }
    replay->full = true;
    return &replay->channels[0];
}

static bool is_send(const struct mpi_event *event)
{
    return event->kind == MPI_EVENT_SEND || event->kind == MPI_EVENT_BUFFERED ||
           event->kind == MPI_EVENT_BEGIN_SEND;
}

/* Returns the channel of an event's message. */
static struct channel *channel_of(struct replay *replay, const struct replayed_rank *rank,
                                  const struct mpi_event *event)
{
    uint32_t own = rank->record->rank, peer = (uint32_t)event->peer;
    bool sends = is_send(event);
    return find_channel(replay, event->number, sends ? own : peer, sends ? peer : own, event->tag);
}

/* Returns the index of a communicator in the record, or MPI_GROUPS. */
static uint32_t find_communicator(const struct mpi_record *record, uint64_t id)
{
    for (uint32_t i = 0; i < record->group_count && i < MPI_GROUPS; i++)
        if (record->groups[i].id == id)
            return i;
    return MPI_GROUPS;
}

/* Posts an event: counts its message, or the arrival at a collective. */
static void post_event(struct replay *replay, struct replayed_rank *rank,
                       const struct mpi_event *event)
{
    rank->posted = true;
    if (event->kind == MPI_EVENT_COLLECTIVE) {
        uint32_t group = find_communicator(rank->record, event->number);
        if (group < MPI_GROUPS)
            rank->reached[group] = event->what;
    } else if (event->kind != MPI_EVENT_DONE) {
        struct channel *channel = channel_of(replay, rank, event);
        rank->index = is_send(event) ? ++channel->sends : ++channel->receives;
        rank->index_of[rank->at] = rank->index;
    }
}

static bool is_met(const struct replay *replay, const struct replayed_rank *rank,
                   const struct mpi_event *event)
{
    const struct mpi_record *record = rank->record;
    uint32_t index = find_communicator(record, event->number);
    if (index == MPI_GROUPS || event->tag != MPI_NEEDS_ALL)
        return true;
    const struct mpi_group *group = &record->groups[index];
    for (uint32_t i = 0; i < group->size; i++) {
        const struct replayed_rank *other = &replay->ranks[record->members[group->first + i]];
        uint32_t its = find_communicator(other->record, event->number);
        if (other->at < other->record->event_count && its != MPI_GROUPS &&
            other->reached[its] < event->what)
            return false;
    }
    return true;
}

/* Has the current event completed, so that the rank can continue? */
static bool event_has_ended(struct replay *replay, const struct replayed_rank *rank,
                            const struct mpi_event *event)
{
    const struct mpi_event *begun = event;
    uint64_t index = rank->index;
    if (event->kind == MPI_EVENT_COLLECTIVE)
        return is_met(replay, rank, event);
    if (event->kind == MPI_EVENT_DONE) {
        uint64_t at = rank->begun_by[rank->at];
        if (!at)
            return true;
        begun = &rank->record->events[at - 1];
        index = rank->index_of[at - 1];
    } else if (event->kind != MPI_EVENT_SEND && event->kind != MPI_EVENT_RECEIVE) {
        return true;
    }
    const struct channel *channel = channel_of(replay, rank, begun);
    return (is_send(begun) ? channel->receives : channel->sends) >= index;
}

/* Replays one step of a rank, if possible. */
static bool step_rank(struct replay *replay, struct replayed_rank *rank)
{
    if (rank->at >= rank->record->event_count)
        return false;
    const struct mpi_event *event = &rank->record->events[rank->at];
    bool moved = !rank->posted;
    if (!rank->posted)
        post_event(replay, rank, event);
    if (!event_has_ended(replay, rank, event))
        return moved;
    rank->at++;
    rank->posted = false;
    return true;
}

static void replay_ranks(struct replay *replay)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < replay->count; i++)
            while (step_rank(replay, &replay->ranks[i]))
                moved = true;
    }
}

/* ------------------------------------------------------------------ results */

static const char *const call_names[] = {
#define CALL_NAME(name) "MPI_" #name,
    MPI_CALLS(CALL_NAME)
#undef CALL_NAME
};

/* Is the rank stuck in an operation that waits for a send to be received? */
static bool cannot_proceed(const struct replayed_rank *rank)
{
    if (rank->at >= rank->record->event_count)
        return false;
    const struct mpi_event *event = &rank->record->events[rank->at];
    uint64_t begun = event->kind == MPI_EVENT_DONE ? rank->begun_by[rank->at] : 0;
    return is_send(begun ? &rank->record->events[begun - 1] : event);
}

static void tell_stuck(struct cli *cli, const struct replay *replay)
{
    char text[600] = "";
    size_t used = 0;
    unsigned stuck = 0;
    for (uint32_t i = 0; i < replay->count; i++) {
        const struct replayed_rank *rank = &replay->ranks[i];
        if (!cannot_proceed(rank))
            continue;
        const struct mpi_event *event = &rank->record->events[rank->at];
        if (stuck++ < 4 && used < sizeof text)
            used +=
                (size_t)snprintf(text + used, sizeof text - used,
                                 "%srank %u in %s to rank %d, tag %d", used ? "; " : "", i,
                                 call_names[event->call % MPI_CALL_COUNT], event->peer, event->tag);
    }
    if (stuck && !replay->full)
        cli_say(cli,
                "deadlocks if unbuffered: the MPI program ended only because its sends "
                "were buffered (%s%s)",
                text, stuck > 4 ? "; ..." : "");
}

/* ------------------------------------------------------------------ records */

static void close_replay(struct replay *replay)
{
    for (uint32_t i = 0; i < replay->count; i++) {
        struct replayed_rank *rank = &replay->ranks[i];
        memory_free_all(&replay->memory, rank->index_of, rank->begun_by);
    }
    memory_free_all(&replay->memory, replay->ranks, replay->channels);
}

/* Replays all ranks of an MPI_COMM_WORLD, if all records exist. */
static void replay_world(struct cli *cli, const struct mpi_record *const *records, size_t count,
                         uint64_t world)
{
    struct replay replay = {.memory = memory_allocator(NULL)};
    uint32_t size = 0, here = 0;
    for (size_t i = 0; i < count; i++)
        if (records[i]->world == world) {
            size = records[i]->size;
            here++;
        }
    if (size != here)
        return;
    replay.ranks = memory_zeroed(&replay.memory, size * sizeof *replay.ranks);
    replay.channels = memory_zeroed(&replay.memory, CHANNELS * sizeof *replay.channels);
    bool ready = replay.ranks && replay.channels;
    replay.count = replay.ranks ? size : 0;
    for (size_t i = 0; i < count && ready; i++)
        if (records[i]->world == world && records[i]->rank < size) {
            replay.ranks[records[i]->rank].record = records[i];
            ready = find_completions(&replay, &replay.ranks[records[i]->rank]);
        }
    for (uint32_t i = 0; i < size && ready; i++)
        ready = replay.ranks[i].record;
    if (ready) {
        replay_ranks(&replay);
        tell_stuck(cli, &replay);
    }
    close_replay(&replay);
}

/* Maps a record. NULL: not a record, or it cannot be replayed. */
static const struct mpi_record *map_record(const char *folder, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.3000s/%.200s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *memory = MAP_FAILED;
    if (fd >= 0 && lseek(fd, 0, SEEK_END) == (off_t)sizeof(struct mpi_record))
        memory = mmap(NULL, sizeof(struct mpi_record), PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (memory != MAP_FAILED && is_replayable(memory))
        return memory;
    if (memory != MAP_FAILED)
        munmap(memory, sizeof(struct mpi_record));
    return NULL;
}

void replay_unbuffered(struct cli *cli, const char *folder)
{
    const struct mpi_record *records[RANKS_MOST];
    size_t count = 0;
    DIR *open_folder = folder[0] ? opendir(folder) : NULL;
    for (struct dirent *entry; open_folder && count < RANKS_MOST && (entry = readdir(open_folder));)
        if (strncmp(entry->d_name, MPI_RECORD_NAME, strlen(MPI_RECORD_NAME)) == 0) {
            records[count] = map_record(folder, entry->d_name);
            count += records[count] != NULL;
        }
    if (open_folder)
        closedir(open_folder);
    for (size_t i = 0; i < count; i++)
        if (records[i]->rank == 0)
            replay_world(cli, records, count, records[i]->world);
    for (size_t i = 0; i < count; i++)
        munmap((void *)(uintptr_t)records[i], sizeof(struct mpi_record));
}
