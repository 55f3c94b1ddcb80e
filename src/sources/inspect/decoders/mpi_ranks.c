#include "sources/inspect/decoders/mpi_ranks.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_SIZE offsetof(struct mpi_record, event_count) /* without the event log */

/* ------------------------------------------------------------------ reading */

static bool is_record(const struct mpi_record *record)
{
    if (memcmp(record->magic, MPI_RECORD_MAGIC, sizeof record->magic) != 0 ||
        record->version != MPI_RECORD_VERSION || record->group_count > MPI_GROUPS ||
        record->member_count > MPI_MEMBERS || record->rank >= record->size)
        return false;
    /* Reject member lists beyond the end of the record. */
    for (uint32_t i = 0; i < record->group_count; i++)
        if (record->groups[i].first > MPI_MEMBERS ||
            record->groups[i].size > MPI_MEMBERS - record->groups[i].first)
            return false;
    return true;
}

/* Returns the mapping of the rank's record; NULL: no rank, or not watched. */
static const struct target_mapping *find_mapping(const struct target *target)
{
    for (size_t i = 0; i < target->mapping_count; i++) {
        const char *name = strrchr(target->mappings[i].path, '/');
        if (name && strncmp(name + 1, MPI_RECORD_NAME, strlen(MPI_RECORD_NAME)) == 0 &&
            target->mappings[i].high - target->mappings[i].low >= sizeof(struct mpi_record))
            return &target->mappings[i];
    }
    return NULL;
}

static bool add_record(struct ranks *ranks, struct process_snapshot *snapshot,
                       struct mpi_record *record, uint32_t process)
{
    if (!memory_grow(snapshot_memory(snapshot), &ranks->list, &ranks->room, ranks->count + 1,
                     sizeof *ranks->list)) {
        memory_free(snapshot_memory(snapshot), record);
        return false;
    }
    ranks->list[ranks->count++] = (struct rank){process, record};
    return true;
}

static bool read_rank(struct ranks *ranks, struct process_snapshot *snapshot, uint32_t process)
{
    struct target *target = snapshot_target(snapshot, process);
    const struct target_mapping *mapping = find_mapping(target);
    if (!mapping)
        return true;
    struct mpi_record *record = memory_zeroed(snapshot_memory(snapshot), sizeof *record);
    if (!record)
        return false;
    if (target_read_all(target, mapping->low, record, RECORD_SIZE) && is_record(record))
        return add_record(ranks, snapshot, record, process);
    memory_free(snapshot_memory(snapshot), record);
    return true;
}

/* ------------------------------------------------------------------ ranks that have ended */

static bool is_listed(const struct process_snapshot *snapshot, uint32_t pid)
{
    for (size_t i = 0; i < snapshot_target_count(snapshot); i++)
        if (snapshot_target(snapshot, i)->pid == pid ||
            snapshot_target(snapshot, i)->seen_pid == pid)
            return true;
    return false;
}

static bool read_left(struct ranks *ranks, struct process_snapshot *snapshot, const char *folder,
                      const char *name)
{
    char path[PATH_MAX];
    uint32_t pid = (uint32_t)strtoul(name + strlen(MPI_RECORD_NAME), NULL, 10);
    if (!pid || is_listed(snapshot, pid) || kill((pid_t)pid, 0) == 0)
        return true;
    snprintf(path, sizeof path, "%.3000s/%.200s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct mpi_record *record = memory_zeroed(snapshot_memory(snapshot), sizeof *record);
    bool read_whole = fd >= 0 && record && read(fd, record, RECORD_SIZE) == (ssize_t)RECORD_SIZE;
    if (fd >= 0)
        close(fd);
    if (read_whole && is_record(record))
        return add_record(ranks, snapshot, record, SNAPSHOT_NONE);
    memory_free(snapshot_memory(snapshot), record);
    return true;
}

/* Reads the records of ended ranks, in the same folder as those of live ranks. */
static bool read_folder(struct ranks *ranks, struct process_snapshot *snapshot)
{
    char folder[PATH_MAX] = "";
    for (size_t i = 0; i < snapshot_target_count(snapshot) && !folder[0]; i++) {
        const struct target_mapping *mapping = find_mapping(snapshot_target(snapshot, i));
        if (mapping)
            snprintf(folder, sizeof folder, "%.*s",
                     (int)(strrchr(mapping->path, '/') - mapping->path), mapping->path);
    }
    DIR *open = folder[0] ? opendir(folder) : NULL;
    bool done = true;
    for (struct dirent *entry; open && done && (entry = readdir(open));)
        if (strncmp(entry->d_name, MPI_RECORD_NAME, strlen(MPI_RECORD_NAME)) == 0)
            done = read_left(ranks, snapshot, folder, entry->d_name);
    if (open)
        closedir(open);
    return done;
}

bool ranks_open(struct ranks *ranks, struct process_snapshot *snapshot)
{
    bool done = true;
    *ranks = (struct ranks){0};
    for (uint32_t i = 0; i < snapshot_target_count(snapshot) && done; i++)
        done = snapshot_target(snapshot, i)->core || read_rank(ranks, snapshot, i);
    if (done && ranks->count)
        done = read_folder(ranks, snapshot);
    if (!done)
        ranks_close(ranks, snapshot);
    return done;
}

void ranks_close(struct ranks *ranks, struct process_snapshot *snapshot)
{
    for (size_t i = 0; i < ranks->count; i++)
        memory_free(snapshot_memory(snapshot), ranks->list[i].record);
    memory_free(snapshot_memory(snapshot), ranks->list);
    *ranks = (struct ranks){0};
}

/* ------------------------------------------------------------------ queries */

const struct rank *ranks_find(const struct ranks *ranks, uint64_t world, uint32_t rank)
{
    const struct rank *found = NULL;
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->list[i].record->world == world && ranks->list[i].record->rank == rank) {
            if (found)
                return NULL; /* ambiguous: one process started several MPI programs in turn */
            found = &ranks->list[i];
        }
    return found;
}

bool rank_is_clear(const struct rank *rank)
{
    return rank && !rank->record->opaque;
}

const struct mpi_slot *rank_slot(const struct rank *rank, uint32_t tid)
{
    const struct mpi_slot *found = NULL; /* the last one, since a tid may be reused */
    for (size_t i = 0; i < MPI_SLOTS && rank->record->slots[i].tid; i++)
        if (rank->record->slots[i].tid == tid)
            found = &rank->record->slots[i];
    return found;
}

const struct mpi_group *rank_group(const struct rank *rank, uint64_t id)
{
    for (uint32_t i = 0; i < rank->record->group_count; i++)
        if (rank->record->groups[i].id == id)
            return &rank->record->groups[i];
    return NULL;
}

uint64_t rank_received(const struct rank *rank, uint64_t group, int32_t from, int32_t tag)
{
    uint64_t key = mpi_channel_key(group, from, tag);
    for (size_t i = 0; i < MPI_CHANNELS / 2; i++) {
        const struct mpi_channel *channel = &rank->record->channels[(key + i) % MPI_CHANNELS];
        if (channel->key == key)
            return channel->received;
        if (!channel->key)
            break;
    }
    return 0;
}

bool rank_read_slot(struct target *target, uint32_t tid, struct mpi_slot *slot)
{
    const struct target_mapping *mapping = find_mapping(target);
    bool found = false;
    for (size_t i = 0; mapping && i < MPI_SLOTS; i++) {
        struct mpi_slot there;
        uint64_t at = mapping->low + offsetof(struct mpi_record, slots) + i * sizeof there;
        if (!target_read_all(target, at, &there, offsetof(struct mpi_slot, items)) || !there.tid)
            break;
        if (there.tid == tid) {
            *slot = there;
            found = true;
        }
    }
    return found;
}
