#define _GNU_SOURCE /* mkostemps, nftw */
#include "foundation/base/io/temporary.h"

#include "foundation/base/error.h"
#include "foundation/base/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Begins the path of a temporary file or folder; false: too long. */
static bool begin_path(const char *name, const char *ending, char *path, size_t size)
{
    int length = snprintf(path, size, "%s/%s-XXXXXX%s", machine_temporary(), name, ending);
    if (length >= 0 && (size_t)length < size)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

static gordian_status fail_path(const char *what, char *path, gordian_error *error)
{
    int why = errno;
    path[0] = '\0';
    fail(error, GORDIAN_STATUS_IO,
         "cannot make a temporary %s in '%.200s' (TMPDIR sets the folder): %s", what,
         machine_temporary(), strerror(why));
    errno = why;
    return GORDIAN_STATUS_IO;
}

gordian_status temporary_file(const char *name, const char *ending, char *path, size_t size,
                              int *fd, gordian_error *error)
{
    *fd =
        begin_path(name, ending, path, size) ? mkostemps(path, (int)strlen(ending), O_CLOEXEC) : -1;
    return *fd >= 0 ? GORDIAN_OK : fail_path("file", path, error);
}

FILE *temporary_stream(gordian_error *error)
{
    char path[PATH_MAX];
    int fd;
    if (temporary_file("gordian", "", path, sizeof path, &fd, error) != GORDIAN_OK)
        return NULL;
    unlink(path);
    FILE *file = fdopen(fd, "w+");
    if (!file) {
        close(fd);
        fail_memory(error);
    }
    return file;
}

gordian_status temporary_folder(const char *name, char *path, size_t size, gordian_error *error)
{
    if (begin_path(name, "", path, size) && mkdtemp(path))
        return GORDIAN_OK;
    return fail_path("folder", path, error);
}

static int remove_tree_entry(const char *path, const struct stat *about, int kind,
                             struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

void temporary_remove(const char *folder)
{
    if (folder[0])
        nftw(folder, remove_tree_entry, 16, FTW_DEPTH | FTW_PHYS);
}
