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
struct player {
    const struct mpi_record *record;
    uint64_t at;
    bool posted;
    uint64_t index;     /* of its message in its channel */
    uint64_t *index_of; /* by event: the index of the operation that began there */
    uint64_t *begun_by; /* by event that completes a request: 1 + the event that began it */
    uint64_t reached[MPI_GROUPS]; /* by communicator: the last collective */
};

/* Messages from one sender to one receiver, in one communicator, with one tag. */
struct lane {
    uint64_t key; /* 0: free */
    uint64_t sends, receives;
};

struct play {
    struct player *players; /* by rank */
    uint32_t count;
    struct lane *lanes;
    gordian_allocator memory;
    bool full;
};

/* ------------------------------------------------------------------ reading logs */

/* Can the log be replayed? It must be complete and of one thread, and without receives from any
 * source, whose order may have been another. */
static bool is_playable(const struct mpi_record *record)
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
static bool pair_events(struct play *play, struct player *player)
{
    const struct mpi_record *record = player->record;
    size_t count = record->event_count, size = (count + 1) * sizeof(uint64_t);
    player->index_of = memory_zeroed(&play->memory, size);
    player->begun_by = memory_zeroed(&play->memory, size);
    uint64_t *begun = memory_zeroed(&play->memory, (record->requested + 1) * sizeof *begun);
    bool done = player->index_of && player->begun_by && begun;
    for (size_t i = 0; i < count && done; i++) {
        const struct mpi_event *event = &record->events[i];
        bool known = event->what <= record->requested;
        if ((event->kind == MPI_EVENT_BEGIN_SEND || event->kind == MPI_EVENT_BEGIN_RECEIVE) &&
            known)
            begun[event->what] = i + 1;
        if (event->kind == MPI_EVENT_DONE && known)
            player->begun_by[i] = begun[event->what];
    }
    memory_free(&play->memory, begun);
    return done;
}

/* ------------------------------------------------------------------ replay */

static struct lane *find_lane(struct play *play, uint64_t group, uint32_t from, uint32_t to,
                              int32_t tag)
{
    uint64_t key = mpi_channel_key(group + mpi_mix((uint64_t)from << 32 | to), 0, tag);
    for (size_t i = 0; i < CHANNELS / 2; i++) {
        struct lane *lane = &play->lanes[(key + i) % CHANNELS];
        if (lane->key == key || lane->key == 0) {
            lane->key = key;
            return lane;
        }
    }
    play->full = true;
    return &play->lanes[0];
}

static bool is_send(const struct mpi_event *event)
{
    return event->kind == MPI_EVENT_SEND || event->kind == MPI_EVENT_BUFFERED ||
           event->kind == MPI_EVENT_BEGIN_SEND;
}

/* Returns the channel of an event's message. */
static struct lane *lane_of(struct play *play, const struct player *player,
                            const struct mpi_event *event)
{
    uint32_t own = player->record->rank, peer = (uint32_t)event->peer;
    bool sends = is_send(event);
    return find_lane(play, event->number, sends ? own : peer, sends ? peer : own, event->tag);
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
static void post_event(struct play *play, struct player *player, const struct mpi_event *event)
{
    player->posted = true;
    if (event->kind == MPI_EVENT_COLLECTIVE) {
        uint32_t group = find_communicator(player->record, event->number);
        if (group < MPI_GROUPS)
            player->reached[group] = event->what;
    } else if (event->kind != MPI_EVENT_DONE) {
        struct lane *lane = lane_of(play, player, event);
        player->index = is_send(event) ? ++lane->sends : ++lane->receives;
        player->index_of[player->at] = player->index;
    }
}

static bool is_met(const struct play *play, const struct player *player,
                   const struct mpi_event *event)
{
    const struct mpi_record *record = player->record;
    uint32_t index = find_communicator(record, event->number);
    if (index == MPI_GROUPS || event->tag != MPI_NEEDS_ALL)
        return true;
    const struct mpi_group *group = &record->groups[index];
    for (uint32_t i = 0; i < group->size; i++) {
        const struct player *other = &play->players[record->members[group->first + i]];
        uint32_t its = find_communicator(other->record, event->number);
        if (other->at < other->record->event_count && its != MPI_GROUPS &&
            other->reached[its] < event->what)
            return false;
    }
    return true;
}

/* Has the current event completed, so that the rank can continue? */
static bool event_has_ended(struct play *play, const struct player *player,
                            const struct mpi_event *event)
{
    const struct mpi_event *begun = event;
    uint64_t index = player->index;
    if (event->kind == MPI_EVENT_COLLECTIVE)
        return is_met(play, player, event);
    if (event->kind == MPI_EVENT_DONE) {
        uint64_t at = player->begun_by[player->at];
        if (!at)
            return true;
        begun = &player->record->events[at - 1];
        index = player->index_of[at - 1];
    } else if (event->kind != MPI_EVENT_SEND && event->kind != MPI_EVENT_RECEIVE) {
        return true;
    }
    const struct lane *lane = lane_of(play, player, begun);
    return (is_send(begun) ? lane->receives : lane->sends) >= index;
}

/* Replays one step of a rank, if possible. */
static bool step_player(struct play *play, struct player *player)
{
    if (player->at >= player->record->event_count)
        return false;
    const struct mpi_event *event = &player->record->events[player->at];
    bool moved = !player->posted;
    if (!player->posted)
        post_event(play, player, event);
    if (!event_has_ended(play, player, event))
        return moved;
    player->at++;
    player->posted = false;
    return true;
}

static void play_all(struct play *play)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < play->count; i++)
            while (step_player(play, &play->players[i]))
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
static bool cannot_proceed(const struct player *player)
{
    if (player->at >= player->record->event_count)
        return false;
    const struct mpi_event *event = &player->record->events[player->at];
    uint64_t begun = event->kind == MPI_EVENT_DONE ? player->begun_by[player->at] : 0;
    return is_send(begun ? &player->record->events[begun - 1] : event);
}

static void tell_stuck(struct cli *cli, const struct play *play)
{
    char text[600] = "";
    size_t used = 0;
    unsigned stuck = 0;
    for (uint32_t i = 0; i < play->count; i++) {
        const struct player *player = &play->players[i];
        if (!cannot_proceed(player))
            continue;
        const struct mpi_event *event = &player->record->events[player->at];
        if (stuck++ < 4 && used < sizeof text)
            used +=
                (size_t)snprintf(text + used, sizeof text - used,
                                 "%srank %u in %s to rank %d, tag %d", used ? "; " : "", i,
                                 call_names[event->call % MPI_CALL_COUNT], event->peer, event->tag);
    }
    if (stuck && !play->full)
        cli_say(cli,
                "deadlocks if unbuffered: the MPI program ended only because its sends "
                "were buffered (%s%s)",
                text, stuck > 4 ? "; ..." : "");
}

/* ------------------------------------------------------------------ records */

static void close_play(struct play *play)
{
    for (uint32_t i = 0; i < play->count; i++) {
        struct player *player = &play->players[i];
        memory_free_all(&play->memory, player->index_of, player->begun_by);
    }
    memory_free_all(&play->memory, play->players, play->lanes);
}

/* Replays all ranks of an MPI_COMM_WORLD, if all records exist. */
static void play_world(struct cli *cli, const struct mpi_record *const *records, size_t count,
                       uint64_t world)
{
    struct play play = {.memory = memory_allocator(NULL)};
    uint32_t size = 0, here = 0;
    for (size_t i = 0; i < count; i++)
        if (records[i]->world == world) {
            size = records[i]->size;
            here++;
        }
    if (size != here)
        return;
    play.players = memory_zeroed(&play.memory, size * sizeof *play.players);
    play.lanes = memory_zeroed(&play.memory, CHANNELS * sizeof *play.lanes);
    bool ready = play.players && play.lanes;
    play.count = play.players ? size : 0;
    for (size_t i = 0; i < count && ready; i++)
        if (records[i]->world == world && records[i]->rank < size) {
            play.players[records[i]->rank].record = records[i];
            ready = pair_events(&play, &play.players[records[i]->rank]);
        }
    for (uint32_t i = 0; i < size && ready; i++)
        ready = play.players[i].record;
    if (ready) {
        play_all(&play);
        tell_stuck(cli, &play);
    }
    close_play(&play);
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
    if (memory != MAP_FAILED && is_playable(memory))
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
            play_world(cli, records, count, records[i]->world);
    for (size_t i = 0; i < count; i++)
        munmap((void *)(uintptr_t)records[i], sizeof(struct mpi_record));
}
