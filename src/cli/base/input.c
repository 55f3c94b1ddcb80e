#include "cli/base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ptrdiff_t read_input(void *context, char *buffer, size_t size)
{
    struct input *input = context;
    if (input->live) {
        /* Live input: flush the output before waiting for more. */
        struct pollfd poll_for = {.fd = input->fd, .events = POLLIN};
        if (poll(&poll_for, 1, 0) == 0)
            output_flush(&input->cli->out);
    }
    for (;;) {
        ssize_t count = read(input->fd, buffer, size);
        if (count >= 0 || errno != EINTR)
            return count;
    }
}

/* Files that are missing or not readable are bad input. Other failures are system errors. */
static int open_failed(struct cli *cli, const char *path, int why)
{
    cli_say(cli, "cannot read '%s': %s", path, strerror(why));
    return why == EMFILE || why == ENFILE || why == ENOMEM || why == EIO ? EXIT_BROKEN
                                                                         : EXIT_MISUSE;
}

void input_take(struct input *input, struct cli *cli, int fd, const char *name)
{
    *input = (struct input){.cli = cli, .name = name, .fd = fd};
    input->source = (gordian_source){read_input, input};
}

int input_open(struct input *input, struct cli *cli, const char *path)
{
    bool from_stdin = !path || strcmp(path, "-") == 0;
    input_take(input, cli, from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC),
               from_stdin ? "<stdin>" : path);
    if (input->fd < 0)
        return open_failed(cli, input->name, errno);
    struct stat about;
    int why = fstat(input->fd, &about) != 0 ? errno : S_ISDIR(about.st_mode) ? EISDIR : 0;
    if (why) {
        input_close(input);
        return open_failed(cli, input->name, why);
    }
    input->live = !S_ISREG(about.st_mode);
    if (!input->live)
        input->source =
            gordian_source_fd(&input->fd); /* the library recognises this source as a file */
    if (from_stdin && isatty(STDIN_FILENO)) {
        cli->progress.wanted = false; /* the user is typing */
        if (!path && !cli->quiet)
            cli_say(cli, "reading from standard input; Ctrl-D ends it");
    }
    return EXIT_NOTHING;
}

void input_close(struct input *input)
{
    if (input->fd > STDERR_FILENO)
        close(input->fd);
    input->fd = -1;
}
