/* Imports that are files. */
#include "engines/compose/treo/treo_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* GORDIAN_STATUS_END: it is not there. */
static gordian_status open_file(const char *folder, size_t length, const char *path,
                                gordian_import *import, gordian_error *error)
{
    char whole[1024];
    if (snprintf(whole, sizeof whole, "%.*s%s", (int)length, folder, path) >= (int)sizeof whole)
        return GORDIAN_STATUS_END;
    int fd = open(whole, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return GORDIAN_STATUS_END;
    if (fd < 0)
        return fail(error, GORDIAN_STATUS_INPUT, "cannot read '%.200s': %s", whole,
                    strerror(errno));
    gordian_source source = gordian_source_fd(&fd);
    gordian_status status = gordian_import_read(import, whole, &source, error);
    close(fd);
    return status;
}

/* One place to look, for the rules first. */
static gordian_status open_import(const char *folder, size_t length, const char *path,
                                  gordian_import *import, gordian_error *error)
{
    gordian_status status = GORDIAN_STATUS_END;
    for (int rules = 1; rules >= 0 && status == GORDIAN_STATUS_END; rules--) {
        char asked[1024];
        import_path(path, rules, asked, sizeof asked);
        status = open_file(folder, length, asked, import, error);
    }
    return status;
}

static gordian_status open_beside(const char *file, const char *path, gordian_import *import,
                                  gordian_error *error)
{
    const char *slash = strrchr(file, '/');
    return open_import(file, slash ? (size_t)(slash - file) + 1 : 0, path, import, error);
}

/* Beside the first one: where a.b in a section a is a/b.treo. */
gordian_status import_file(const char *folders, const char *first, const char *from,
                           const char *path, gordian_import *import, gordian_error *error)
{
    gordian_status status = open_beside(from, path, import, error);
    if (status == GORDIAN_STATUS_END)
        status = open_beside(first, path, import, error);
    for (const char *folder = folders; folder && status == GORDIAN_STATUS_END;) {
        char name[700];
        size_t length = strcspn(folder, ":");
        snprintf(name, sizeof name, "%.*s/", (int)(length < 690 ? length : 690), folder);
        status = open_import(name, strlen(name), path, import, error);
        folder = folder[length] ? folder + length + 1 : NULL;
    }
    return status;
}
