#include "foundation/base/io/replace.h"

#include "foundation/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int replace_begin(int folder, const char *name, mode_t mode)
{
    return openat(folder, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
}

bool replace_sync_folder(int folder)
{
    return fsync(folder) == 0 || errno == EINVAL;
}

bool replace_end(int folder, int fd, const char *from, const char *to, bool *synced)
{
    if ((fd >= 0 && fsync(fd) != 0) || renameat(folder, from, folder, to) != 0)
        return false;
    bool good = replace_sync_folder(folder);
    if (synced)
        *synced = good;
    return good || synced;
}

/* Opens the folder of a path. */
static int open_folder(const char *path)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static gordian_status
write_new(int fd, gordian_status (*write)(void *context, struct output *out, gordian_error *error),
          void *context, gordian_error *error)
{
    struct output out;
    if (!output_open(&out, fd))
        return fail_memory(error);
    gordian_status status = write(context, &out, error);
    if (!output_close(&out) && status == GORDIAN_OK)
        status = fail(error, GORDIAN_STATUS_IO, "%s", strerror(out.failure));
    return status;
}

gordian_status replace_file(const char *path, mode_t mode,
                            gordian_status (*write)(void *context, struct output *out,
                                                    gordian_error *error),
                            void *context, gordian_error *error)
{
    char fresh[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if ((size_t)snprintf(fresh, sizeof fresh, "%s.new", path) >= sizeof fresh)
        return fail(error, GORDIAN_STATUS_INPUT, "the name of the file is too long");
    size_t name = slash ? (size_t)(slash + 1 - path) : 0;
    int folder = open_folder(path);
    int fd = folder < 0 ? -1 : replace_begin(folder, fresh + name, mode);
    gordian_status status =
        fd < 0 ? fail(error, GORDIAN_STATUS_IO, "%s", strerror(errno)) : GORDIAN_OK;
    THEN(status, write_new(fd, write, context, error));
    if (status == GORDIAN_OK && !replace_end(folder, fd, fresh + name, path + name, NULL))
        status = fail(error, GORDIAN_STATUS_IO, "%s", strerror(errno));
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && status != GORDIAN_OK)
        unlinkat(folder, fresh + name, 0);
    if (folder >= 0)
        close(folder);
    return status;
}
