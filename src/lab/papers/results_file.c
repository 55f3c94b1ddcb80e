/* Results from and to a file. */
#include "foundation/base/error.h"
#include "foundation/base/io/text.h"
#include "lab/papers/results.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

gordian_status results_read_file(struct results *results, const char *path, bool missing_is_fine,
                                 gordian_error *error)
{
    struct text text = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && missing_is_fine)
        return GORDIAN_OK;
    if (fd < 0)
        return fail(error, GORDIAN_STATUS_IO, "cannot read '%s': %s", path, strerror(errno));
    gordian_source source = gordian_source_fd(&fd);
    gordian_status status = text_read(&text, path, &source, &results->memory, error);
    close(fd);
    TRY(status);
    status = results_read(results, text.bytes, text.size, error);
    text_free(&text);
    return status;
}

static gordian_status write_results_to(struct results *results, int fd, gordian_error *error)
{
    struct output out;
    if (!output_open(&out, fd))
        return fail_memory(error);
    results_write(results, &out);
    return output_close(&out) ? GORDIAN_OK
                              : fail(error, GORDIAN_STATUS_IO, "%s", strerror(out.failure));
}

/* Beside it first, so that what there was is not lost half-way. */
gordian_status results_write_file(struct results *results, const char *path, gordian_error *error)
{
    char beside[4096];
    if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside)
        return fail(error, GORDIAN_STATUS_IO, "the name of the file is too long");
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail(error, GORDIAN_STATUS_IO, "cannot write '%s': %s", beside, strerror(errno));
    gordian_error inner = {0};
    gordian_status status = write_results_to(results, fd, &inner);
    if (close(fd) < 0 && status == GORDIAN_OK)
        status = fail(&inner, GORDIAN_STATUS_IO, "%s", strerror(errno));
    if (status == GORDIAN_OK && rename(beside, path) < 0)
        status = fail(&inner, GORDIAN_STATUS_IO, "%s", strerror(errno));
    if (status == GORDIAN_OK)
        return GORDIAN_OK;
    unlink(beside);
    return fail(error, status, "cannot write '%s': %s", path, inner.message);
}
