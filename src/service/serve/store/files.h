/* Files of the store's folder, which is a descriptor; on failure the functions that tell true or
 * false leave errno. */
#pragma once

#include "foundation/base/bytes.h"
#include "foundation/base/io/replace.h"

#include <dirent.h>
#include <errno.h>
#include <gordian/gordian.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

/* "the disk is full", or what else `number` (errno) means, into `error`; GORDIAN_STATUS_IO. */
gordian_status fail_disk(gordian_error *error, int number);
/* Of a step that leaves errno. */
static inline gordian_status disk_step(bool good, gordian_error *error)
{
    return good ? GORDIAN_OK : fail_disk(error, errno);
}

/* "PREFIX-N" with its 20 digits; and back: false if it is not such a name. */
void file_name(char *name, size_t size, const char *prefix, uint64_t number);
bool file_number(const char *name, const char *prefix, uint64_t *number);
/* The folder's entries, from the first on; NULL: errno. */
DIR *files_list(int folder);
bool file_exists(int folder, const char *name);
/* Is the file of this name the one that is open? */
bool file_is_same(int fd, int folder, const char *name);
/* -1 is fine. */
static inline void file_close(int fd)
{
    if (fd >= 0)
        close(fd);
}
/* Reads the first `size` bytes of "PREFIX-N"; how many there are, or -1. */
ssize_t file_read_head(int folder, const char *prefix, uint64_t number, void *bytes, size_t size);

/* An eventfd that wakes another thread. One that is full was rung often enough, and one that was
 * not rung is no harm. */
static inline void bell_ring(int fd)
{
    (void)!eventfd_write(fd, 1);
}

static inline void bell_clear(int fd)
{
    eventfd_t ignored;
    (void)!eventfd_read(fd, &ignored);
}

/* All of them, at an offset. The parts are used up. */
bool file_write(int fd, struct iovec *parts, int count, uint64_t offset);
bool file_write_bytes(int fd, const void *bytes, size_t count, uint64_t offset);
/* All of it. */
gordian_status file_read(int folder, const char *name, struct bytes *into, gordian_error *error);
