/* Reads and writes files of a folder. */
#include "service/serve/store/files.h"

#include "foundation/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

gordian_status fail_disk(gordian_error *error, int number)
{
    if (number == ENOSPC || number == EDQUOT)
        return fail(error, GORDIAN_STATUS_IO, "the disk is full");
    if (number == EROFS)
        return fail(error, GORDIAN_STATUS_IO, "the disk, or the folder, is read-only");
    return fail(error, GORDIAN_STATUS_IO, "reading or writing failed: %s", strerror(number));
}

void file_name(char *name, size_t size, const char *prefix, uint64_t number)
{
    snprintf(name, size, "%s-%020llu", prefix, (unsigned long long)number);
}

bool file_number(const char *name, const char *prefix, uint64_t *number)
{
    size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0 || name[length] != '-')
        return false;
    *number = 0;
    for (const char *at = name + length + 1; *at >= '0' && *at <= '9'; at++)
        *number = *number * 10 + (uint64_t)(*at - '0');
    return strlen(name) == length + 21 && strspn(name + length + 1, "0123456789") == 20;
}

DIR *files_list(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (!list && fd >= 0)
        close(fd);
    return list;
}

bool file_exists(int folder, const char *name)
{
    struct stat there;
    return fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0;
}

bool file_is_same(int fd, int folder, const char *name)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

ssize_t file_read_head(int folder, const char *prefix, uint64_t number, void *bytes, size_t size)
{
    char name[64];
    file_name(name, sizeof name, prefix, number);
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : pread(fd, bytes, size, 0);
    file_close(fd);
    return count;
}

bool file_write(int fd, struct iovec *parts, int count, uint64_t offset)
{
    while (count > 0) {
        ssize_t done = pwritev(fd, parts, count, (off_t)offset);
        if (done < 0 && errno != EINTR)
            return false;
        size_t left = done > 0 ? (size_t)done : 0;
        offset += left;
        for (; count > 0 && left >= parts->iov_len; parts++, count--)
            left -= parts->iov_len;
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + left;
            parts->iov_len -= left;
        }
    }
    return true;
}

bool file_write_bytes(int fd, const void *bytes, size_t count, uint64_t offset)
{
    return file_write(fd, &(struct iovec){(void *)bytes, count}, count > 0, offset);
}

gordian_status file_read(int folder, const char *name, struct bytes *into, gordian_error *error)
{
    struct stat about;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    gordian_status status = fd < 0 || fstat(fd, &about) != 0 ? fail_disk(error, errno) : GORDIAN_OK;
    if (status == GORDIAN_OK && !bytes_room(into, (size_t)about.st_size + 1))
        status = fail_memory(error);
    for (ssize_t got = 1; status == GORDIAN_OK && got != 0;) {
        got = read(fd, into->data + into->used, into->room - into->used);
        if (got < 0 && errno != EINTR)
            status = fail_disk(error, errno);
        into->used += got > 0 ? (size_t)got : 0;
        if (got > 0 && !bytes_room(into, 1)) /* the file has grown */
            status = fail_memory(error);
    }
    file_close(fd);
    return status;
}
