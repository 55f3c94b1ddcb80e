#define _GNU_SOURCE
#include "lab/bench/serve/serve.h"

#include "foundation/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define READ_SIZE (64u << 10)

gordian_status talk_open(struct talk *talk, const char *path, gordian_error *error)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    *talk = (struct talk){.fd = -1};
    snprintf(to.sun_path, sizeof to.sun_path, "%.100s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int tries = 0; fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) != 0; tries++) {
        if (errno != EAGAIN || tries > 10000) {
            gordian_status status =
                fail(error, GORDIAN_STATUS_IO, "cannot connect to %s: %s", path, strerror(errno));
            close(fd);
            return status;
        }
        usleep(1000);
    }
    if (fd < 0)
        return fail(error, GORDIAN_STATUS_IO, "no socket: %s", strerror(errno));
    talk->fd = fd;
    return GORDIAN_OK;
}

void talk_close(struct talk *talk)
{
    if (talk->fd >= 0)
        close(talk->fd);
    free(talk->out);
    free(talk->in);
    *talk = (struct talk){.fd = -1};
}

unsigned char *talk_reserve(struct talk *talk, size_t size)
{
    if (talk->out_used + size > talk->out_capacity) {
        size_t capacity = (talk->out_used + size) * 2;
        unsigned char *grown = realloc(talk->out, capacity);
        if (!grown)
            return NULL;
        talk->out = grown;
        talk->out_capacity = capacity;
    }
    return talk->out + talk->out_used;
}

gordian_status talk_flush(struct talk *talk, gordian_error *error)
{
    size_t done = 0;
    while (done < talk->out_used) {
        ssize_t count = send(talk->fd, talk->out + done, talk->out_used - done, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fail(error, GORDIAN_STATUS_IO, "cannot send: %s", strerror(errno));
        done += (size_t)count;
    }
    talk->out_used = 0;
    return GORDIAN_OK;
}

gordian_status talk_fill(struct talk *talk, bool wait, gordian_error *error)
{
    if (talk->in_start == talk->in_end)
        talk->in_start = talk->in_end = 0;
    if (talk->in_capacity - talk->in_end < READ_SIZE) {
        size_t capacity = (talk->in_end + READ_SIZE) * 2;
        unsigned char *grown = realloc(talk->in, capacity);
        if (!grown)
            return fail_memory(error);
        talk->in = grown;
        talk->in_capacity = capacity;
    }
    for (;;) {
        ssize_t count = recv(talk->fd, talk->in + talk->in_end, talk->in_capacity - talk->in_end,
                             wait ? 0 : MSG_DONTWAIT);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && !wait && errno == EAGAIN)
            return GORDIAN_OK;
        if (count <= 0)
            return fail(error, GORDIAN_STATUS_IO, "the service hung up: %s",
                        count < 0 ? strerror(errno) : "end of file");
        talk->in_end += (size_t)count;
        return GORDIAN_OK;
    }
}
