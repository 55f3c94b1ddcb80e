/* Files of the store's folder, which is passed as a descriptor. Functions that return a bool leave
 * errno on failure. */
#pragma once

#include "foundation/base/bytes.h"
#include "foundation/base/io/replace.h"

#include <dirent.h>
#include <errno.h>
#include <gordian/gordian.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

/* Describes an errno, for example "the disk is full". Returns GORDIAN_STATUS_IO. */
gordian_status fail_disk(gordian_error *error, int number);
/* The status of a step that leaves errno. */
static inline gordian_status disk_step(bool good, gordian_error *error)
{
    return good ? GORDIAN_OK : fail_disk(error, errno);
}

/* Formats the name "PREFIX-N" with 20 digits, and parses it; false if it has another form. */
void file_name(char *name, size_t size, const char *prefix, uint64_t number);
bool file_number(const char *name, const char *prefix, uint64_t *number);
/* Opens the folder's list of entries. NULL: errno. */
DIR *files_list(int folder);
bool file_exists(int folder, const char *name);
/* Is the open file still the one with this name? */
bool file_is_same(int fd, int folder, const char *name);
/* A descriptor of -1 is allowed. */
static inline void file_close(int fd)
{
    if (fd >= 0)
        close(fd);
}
/* Reads the first `size` bytes of "PREFIX-N". Returns their number, or -1. */
ssize_t file_read_head(int folder, const char *prefix, uint64_t number, void *bytes, size_t size);

/* An eventfd that wakes another thread. A full one needs no more, and an empty one is harmless. */
static inline void bell_ring(int fd)
{
    (void)!eventfd_write(fd, 1);
}

static inline void bell_clear(int fd)
{
    eventfd_t ignored;
    (void)!eventfd_read(fd, &ignored);
}

/* Writes all parts at an offset. The parts are modified. */
bool file_write(int fd, struct iovec *parts, int count, uint64_t offset);
bool file_write_bytes(int fd, const void *bytes, size_t count, uint64_t offset);
/* Reads the whole file. */
gordian_status file_read(int folder, const char *name, struct bytes *into, gordian_error *error);
