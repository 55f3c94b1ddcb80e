/* Checks files as one snapshot: their texts, one after another. */
#include "engines/detect/check/snapshot.h"
#include "engines/detect/check/snapshot_text.h"
#include "foundation/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

gordian_status check_open_file(const char *path, int *fd, gordian_error *error)
{
    *fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (*fd >= 0)
        return GORDIAN_OK;
    bool machine = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EIO;
    return fail(error, machine ? GORDIAN_STATUS_IO : GORDIAN_STATUS_INPUT, "cannot read: %s",
                strerror(errno));
}

/* A single file may have any form of a snapshot. Several files are read as text. */
static gordian_status judge_here(gordian_judged *judged, const char *const *files, size_t count,
                                 const gordian_check_options *options, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    for (judged->file = 0; judged->file < count; judged->file++) {
        int fd;
        status = check_open_file(files[judged->file], &fd, error);
        if (status != GORDIAN_OK)
            break;
        gordian_source source = gordian_source_fd(&fd);
        status = count == 1
                     ? gordian_snapshot_read_for(&judged->snapshot, &judged->names, &source,
                                                 options, NULL, error)
                     : snapshot_read_piece(&judged->snapshot, &judged->names, &source, error);
        if (fd > STDERR_FILENO)
            close(fd);
        if (status != GORDIAN_OK)
            break;
    }
    TRY(status);
    judged->processes = gordian_snapshot_processes(judged->snapshot);
    judged->resources = gordian_snapshot_resources(judged->snapshot);
    return gordian_snapshot_check_for(judged->snapshot, options, &judged->report, error);
}

/* Only looks the engine up. Finding out whether there is a device takes long, so that happens while
 * the files are read. */
static gordian_status find_check_engine(const char *name, const struct check_engine **engine,
                                        gordian_error *error)
{
    const struct engine *found = engine_any(name) ? NULL : engine_find(&check_family, name);
    gordian_status status =
        found ? GORDIAN_OK : engine_choose(&check_family, name, NULL, &found, error);
    *engine = (const struct check_engine *)found;
    return status;
}

gordian_status gordian_check_files(gordian_judged *judged, const char *const *files, size_t count,
                                   const gordian_check_options *options, gordian_error *error)
{
    const gordian_check_options wanted = options ? *options : (gordian_check_options){0};
    const struct check_engine *engine;
    *judged = (gordian_judged){.file = count};
    TRY(find_check_engine(wanted.engine, &engine, error));
    if (count == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no file to check");
    gordian_status status = engine->judge_files
                                ? engine->judge_files(files, count, &wanted, judged, error)
                                : judge_here(judged, files, count, &wanted, error);
    if (status != GORDIAN_OK)
        gordian_judged_close(judged);
    return status;
}

void gordian_judged_close(gordian_judged *judged)
{
    size_t file = judged->file;
    gordian_snapshot_close(judged->snapshot);
    gordian_names_close(judged->names);
    *judged = (gordian_judged){.file = file};
}
