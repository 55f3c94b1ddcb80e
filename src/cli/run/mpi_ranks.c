/* Polls the records of MPI ranks for progress. */
#include "cli/run/mpi_ranks.h"

#include "foundation/records/mpi_rank.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Counts the calls that a rank began and ended. `waits`: it is in a call, or tests in vain. */
static uint64_t count_calls(const char *path, bool *waits)
{
    uint64_t calls = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; fd >= 0 && i < MPI_SLOTS; i++) {
        struct mpi_slot slot;
        off_t at = (off_t)(offsetof(struct mpi_record, slots) + i * sizeof slot);
        size_t size = offsetof(struct mpi_slot, items);
        if (pread(fd, &slot, size, at) != (ssize_t)size || !slot.tid)
            break;
        calls += slot.sequence + slot.series;
        *waits = *waits || slot.sequence % 2 || slot.polls;
    }
    if (fd >= 0)
        close(fd);
    return calls;
}

bool ranks_poll(struct run_ranks *ranks, const char *folder)
{
    char path[PATH_MAX];
    uint64_t calls = 0;
    bool waits = false, before = ranks->quiet;
    DIR *open_folder = folder[0] ? opendir(folder) : NULL;
    for (struct dirent *entry; open_folder && (entry = readdir(open_folder));) {
        if (strncmp(entry->d_name, MPI_RECORD_NAME, strlen(MPI_RECORD_NAME)) != 0)
            continue;
        snprintf(path, sizeof path, "%.3000s/%.200s", folder, entry->d_name);
        calls += 1 + count_calls(path, &waits);
    }
    if (open_folder)
        closedir(open_folder);
    ranks->quiet = waits && calls == ranks->calls;
    ranks->calls = calls;
    return ranks->quiet && !before;
}
