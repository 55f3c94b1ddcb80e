#define _GNU_SOURCE
#include "cli/line_link.h"

#include "base/clock.h"
#include "base/error.h"

#include <gordian/client.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_MS 5000
#define READ_SIZE  (64u << 10)

gordian_status line_link_find(struct line_link *link, const char *uri, gordian_error *error)
{
    char usual[ADDRESS_TEXT];
    *link = (struct line_link){.memory = memory_allocator(NULL), .fd = -1};
    if (!uri)
        uri = getenv("GORDIAN_SERVICE");
    if (!uri || !*uri)
        uri = gordian_client_usual_uri(usual, sizeof usual);
    return address_parse(&link->address, uri, error);
}

static void hang_up(struct line_link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
}

/* 0, or why not. */
static int connect_to(struct line_link *link, size_t place)
{
    bool pending;
    uint64_t end = clock_ns() + CONNECT_MS * UINT64_C(1000000);
    for (;;) {
        link->fd = address_connect(&link->address, place, &pending);
        if (link->fd >= 0 || errno != EAGAIN || clock_ns() > end)
            break;
        usleep(5000);
    }
    if (link->fd < 0)
        return errno;
    struct pollfd wanted = {.fd = link->fd, .events = POLLOUT};
    int why = 0;
    if (pending)
        why = poll(&wanted, 1, CONNECT_MS) == 1 ? address_connected(link->fd) : ETIMEDOUT;
    if (why)
        hang_up(link);
    return why;
}

gordian_status line_link_connect(struct line_link *link, gordian_error *error)
{
    int why = ENOENT;
    hang_up(link);
    fifo_clear(&link->in);
    fifo_clear(&link->out);
    link->looked = 0;
    link->ended = false;
    for (size_t place = 0; place < link->address.count && link->fd < 0; place++)
        why = connect_to(link, place);
    return link->fd >= 0 ? GORDIAN_OK
                         : fail(error, GORDIAN_IO, "%.200s: %s", link->address.text, strerror(why));
}

void line_link_close(struct line_link *link)
{
    hang_up(link);
    fifo_free(&link->memory, &link->in);
    fifo_free(&link->memory, &link->out);
}

bool line_link_put(struct line_link *link, const char *text, size_t length)
{
    if (length == 0)
        return true;
    if (!fifo_reserve(&link->memory, &link->out, length))
        return false;
    memcpy(fifo_back(&link->out), text, length);
    fifo_put(&link->out, length);
    return true;
}

static gordian_status lost(struct line_link *link, int why, gordian_error *error)
{
    hang_up(link);
    link->ended = true;
    return fail(error, GORDIAN_IO, "%.200s: %s", link->address.text,
                why ? strerror(why) : "the service hung up");
}

static gordian_status push(struct line_link *link, gordian_error *error)
{
    while (fifo_count(&link->out) > 0) {
        ssize_t count =
            send(link->fd, fifo_front(&link->out), fifo_count(&link->out), MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        /* What the service said before it hung up is worth reading first. */
        if (count < 0 && (errno == EAGAIN || errno == EPIPE || errno == ECONNRESET))
            break;
        if (count < 0)
            return lost(link, errno, error);
        fifo_take(&link->out, (size_t)count);
    }
    return GORDIAN_OK;
}

static gordian_status pull(struct line_link *link, gordian_error *error)
{
    for (;;) {
        if (!fifo_reserve(&link->memory, &link->in, READ_SIZE))
            return fail_memory(error);
        ssize_t count = recv(link->fd, fifo_back(&link->in), READ_SIZE, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            return GORDIAN_OK;
        if (count <= 0)
            return lost(link, count < 0 ? errno : 0, error);
        fifo_put(&link->in, (size_t)count);
        if ((size_t)count < READ_SIZE)
            return GORDIAN_OK;
    }
}

gordian_status line_link_step(struct line_link *link, int also, int timeout_ms,
                              gordian_error *error)
{
    if (link->fd < 0)
        return lost(link, 0, error);
    struct pollfd wanted[2] = {{.fd = link->fd, .events = POLLIN}, {.fd = also, .events = POLLIN}};
    if (fifo_count(&link->out) > 0)
        wanted[0].events |= POLLOUT;
    if (poll(wanted, also >= 0 ? 2 : 1, timeout_ms) < 0 && errno != EINTR)
        return fail(error, GORDIAN_IO, "cannot wait: %s", strerror(errno));
    gordian_status status = fifo_count(&link->out) ? push(link, error) : GORDIAN_OK;
    if (status == GORDIAN_OK && wanted[0].revents & ~POLLOUT)
        status = pull(link, error);
    return status;
}

bool line_link_next(struct line_link *link, const char **text, size_t *length)
{
    size_t count = fifo_count(&link->in);
    const char *front = fifo_front(&link->in);
    const char *newline =
        count > link->looked ? memchr(front + link->looked, '\n', count - link->looked) : NULL;
    if (!newline) {
        link->looked = count;
        return false;
    }
    *text = front;
    *length = (size_t)(newline - front);
    /* The bytes stay where they are until more is put behind them. */
    link->in.start += *length + 1;
    link->looked = 0;
    return true;
}

gordian_status line_link_token(const char *path, char *token, size_t size, gordian_error *error)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return fail(error, GORDIAN_INPUT, "cannot read '%.200s': %s", path, strerror(errno));
    bool good = fgets(token, (int)size, file) != NULL;
    fclose(file);
    if (good)
        token[strcspn(token, "\r\n")] = '\0';
    if (!good || !*token || strpbrk(token, " \t#"))
        return fail(error, GORDIAN_INPUT, "'%.200s': expected a token, without blanks", path);
    return GORDIAN_OK;
}
