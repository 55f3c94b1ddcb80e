/* Output of a product: .aut, .ca or .dot, to a file, or (--dot) to stdout. */
#include "cli/compose/compose.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool write_to_file(void *context, const char *bytes, size_t size)
{
    struct product_file *to = context;
    /* Truncate the file only when there is something to write. */
    if (!to->begun && ftruncate(to->fd, 0) < 0 && errno != EINVAL) /* EINVAL: not a regular file */
        to->failure = errno;
    to->begun = true;
    if (!to->failure && !to->file.write(to->file.context, bytes, size))
        to->failure = errno;
    errno = to->failure;
    return to->failure == 0;
}

static bool rewrite_file(void *context, uint64_t offset, const char *bytes, size_t size)
{
    struct product_file *to = context;
    if (!to->file.rewrite(to->file.context, offset, bytes, size))
        to->failure = errno;
    return to->failure == 0;
}

int product_file_open(struct product_file *to, struct compose *compose)
{
    *to = (struct product_file){.fd = -1, .format = compose->format};
    if (compose->dot) {
        to->format = GORDIAN_FORMAT_DOT;
        to->writer = cli_writer_out(compose->cli);
        return EXIT_NOTHING;
    }
    if (!compose->file)
        return EXIT_NOTHING;
    to->fd = open(compose->file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (to->fd < 0) /* not a regular file: a pipe */
        to->fd = open(compose->file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (to->fd < 0)
        return cli_cannot_write(compose->cli, compose->file, errno);
    to->file = gordian_writer_fd(&to->fd);
    to->writer = (gordian_writer){write_to_file, to->file.rewrite ? rewrite_file : NULL, to};
    return EXIT_NOTHING;
}

int product_file_close(struct product_file *to, struct compose *compose, int code)
{
    if (to->fd < 0)
        return code;
    if (close(to->fd) < 0 && !to->failure)
        to->failure = errno;
    to->fd = -1;
    if (!to->failure)
        return code;
    return cli_cannot_write(compose->cli, compose->file, to->failure);
}
