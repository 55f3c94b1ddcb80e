/* Reads results from a file and writes them to a file. */
#include "foundation/base/error.h"
#include "foundation/base/io/replace.h"
#include "foundation/base/io/text.h"
#include "lab/papers/results.h"

#include <errno.h>
#include <fcntl.h>
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

static gordian_status write_results(void *context, struct output *out, gordian_error *error)
{
    (void)error;
    results_write(context, out);
    return GORDIAN_OK;
}

gordian_status results_write_file(struct results *results, const char *path, gordian_error *error)
{
    gordian_error inner = {0};
    gordian_status status = replace_file(path, 0666, write_results, results, &inner);
    return status == GORDIAN_OK ? status
                                : fail(error, status, "cannot write '%s': %s", path, inner.message);
}
