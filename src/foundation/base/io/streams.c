/* Sources and writers for bytes, descriptors and outputs. */
#include "foundation/base/io/source.h"

#include <gordian/gordian.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ptrdiff_t read_bytes(void *context, char *buffer, size_t size)
{
    gordian_bytes *bytes = context;
    size_t count = bytes->left < size ? bytes->left : size;
    if (count > 0)
        memcpy(buffer, bytes->next, count);
    bytes->next += count;
    bytes->left -= count;
    return (ptrdiff_t)count;
}

gordian_source gordian_source_bytes(gordian_bytes *bytes)
{
    return (gordian_source){read_bytes, bytes};
}

static ptrdiff_t read_fd(void *context, char *buffer, size_t size)
{
    const int *fd = context;
    for (;;) {
        ssize_t count = read(*fd, buffer, size);
        if (count >= 0 || errno != EINTR)
            return count;
    }
}

gordian_source gordian_source_fd(const int *fd)
{
    return (gordian_source){read_fd, (void *)(uintptr_t)fd};
}

bool source_is_file(const gordian_source *source, struct source_file *file)
{
    struct stat about;
    if (source->read != read_fd)
        return false;
    int fd = *(const int *)source->context;
    off_t at = lseek(fd, 0, SEEK_CUR);
    if (at < 0 || fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        return false;
    *file = (struct source_file){fd, (uint64_t)at, (uint64_t)about.st_size};
    return at <= about.st_size;
}

static bool write_fd(void *context, const char *bytes, size_t size)
{
    return write_whole(*(const int *)context, bytes, size);
}

static bool write_output(void *context, const char *bytes, size_t size)
{
    struct output *out = context;
    output_bytes(out, bytes, size);
    errno = out->failure;
    return !out->failure;
}

gordian_writer output_as_writer(struct output *out)
{
    return (gordian_writer){write_output, NULL, out};
}

static bool rewrite_fd(void *context, uint64_t offset, const char *bytes, size_t size)
{
    const int *fd = context;
    while (size > 0) {
        ssize_t count = pwrite(*fd, bytes, size, (off_t)offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        bytes += count;
        size -= (size_t)count;
        offset += (uint64_t)count;
    }
    return true;
}

gordian_writer gordian_writer_fd(const int *fd)
{
    struct stat about;
    int flags = fcntl(*fd, F_GETFL);
    bool in_place = flags >= 0 && !(flags & O_APPEND) && fstat(*fd, &about) == 0 &&
                    S_ISREG(about.st_mode) && lseek(*fd, 0, SEEK_CUR) == 0;
    return (gordian_writer){write_fd, in_place ? rewrite_fd : NULL, (void *)(uintptr_t)fd};
}
