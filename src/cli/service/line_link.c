#define _GNU_SOURCE
#include "cli/service/line_link.h"

#include "base/clock.h"
#include "base/error.h"
#include "wire/wire.h"

#include <gordian/client.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_MS 5000
#define READ_SIZE  (64u << 10)

gordian_status line_link_find(struct line_link *link, const char *uri,
                              const struct secure_wishes *wishes, gordian_error *error)
{
    char usual[ADDRESS_TEXT];
    *link = (struct line_link){.memory = memory_allocator(NULL), .channel.fd = -1};
    if (!uri)
        uri = getenv("GORDIAN_SERVICE");
    if (!uri || !*uri)
        uri = gordian_client_usual_uri(usual, sizeof usual);
    gordian_status status = address_parse(&link->address, uri, error);
    return status == GORDIAN_OK
               ? channel_prepare(&link->secure, &link->address, wishes, &link->memory, error)
               : status;
}

/* The connection is no more; `why`: an errno, or 0: the service has ended it. Who expects TLS does
 * so before the first word. */
static gordian_status lost(struct line_link *link, int why, gordian_error *error)
{
    bool silent = !link->heard && *link->address.host && !link->secure;
    gordian_status status = GORDIAN_STATUS_IO;
    const char *text = why ? channel_why(&link->channel, why, &status) : "the service hung up";
    if (silent && (why == 0 || why == ECONNRESET))
        text = "it hung up without an answer: if it speaks TLS, use tls://";
    status = fail(error, status, "%.130s: %.260s", link->address.text, text);
    channel_close(&link->channel);
    link->ended = true;
    return status;
}

/* ------------------------------------------------------------------ connecting */

/* Polls for this until then; false: it has not happened. */
static bool wait_for(int fd, short events, uint64_t until)
{
    struct pollfd wanted = {.fd = fd, .events = events};
    for (;;) {
        uint64_t now = clock_ns();
        int ms = now < until ? (int)((until - now) / 1000000 + 1) : 0;
        int count = poll(&wanted, 1, ms);
        if (count > 0 || (count < 0 && errno != EINTR))
            return count > 0;
        if (ms == 0)
            return false;
    }
}

/* 0, or why not. */
static int connect_to(struct line_link *link, size_t place, uint64_t until)
{
    bool pending;
    int fd;
    for (;;) {
        fd = address_connect(&link->address, place, &pending);
        if (fd >= 0 || errno != EAGAIN || clock_ns() > until)
            break;
        usleep(5000);
    }
    if (fd < 0)
        return errno;
    if (!channel_open(&link->channel, fd, link->secure))
        return ENOMEM;
    int why = 0;
    if (pending)
        why = wait_for(fd, POLLOUT, until) ? address_connected(fd) : ETIMEDOUT;
    if (why)
        channel_close(&link->channel);
    return why;
}

static gordian_status shake(struct line_link *link, uint64_t until, gordian_error *error)
{
    int failure;
    while ((failure = channel_shake(&link->channel)) == EAGAIN) {
        if (!wait_for(link->channel.fd, channel_events(&link->channel, false), until)) {
            channel_close(&link->channel);
            return fail(error, GORDIAN_STATUS_IO, "%.200s: no answer to the TLS handshake",
                        link->address.text);
        }
    }
    return failure ? lost(link, failure, error) : GORDIAN_OK;
}

static const char *why_not(int failure)
{
    switch (failure) {
    case ENOENT:
    case ECONNREFUSED:
        return ": no service is there; 'gordian serve' starts one, --to names another place";
    case EACCES:
        return ": the service was not started for you; --socket-group or --allow-uid of 'gordian "
               "serve' let others in";
    default:
        return "";
    }
}

const char *line_link_advice(uint64_t code)
{
    switch (code) {
    case WIRE_NOT_ALLOWED:
        return "; --token-file names the file with the token";
    case WIRE_NO_SYSTEM:
        return "; 'gordian send --open detect' or '--open avoid' makes one";
    default:
        return "";
    }
}

gordian_status line_link_connect(struct line_link *link, gordian_error *error)
{
    int why = ENOENT;
    channel_close(&link->channel);
    fifo_clear(&link->in);
    fifo_clear(&link->out);
    link->looked = 0;
    link->ended = link->heard = false;
    for (size_t place = 0; place < link->address.count && link->channel.fd < 0; place++)
        why = connect_to(link, place, clock_ns() + CONNECT_MS * UINT64_C(1000000));
    if (link->channel.fd < 0)
        return fail(error, GORDIAN_STATUS_IO, "%.200s: %s%s", link->address.text, strerror(why),
                    why_not(why));
    return shake(link, clock_ns() + CONNECT_MS * UINT64_C(1000000), error);
}

void line_link_close(struct line_link *link)
{
    channel_close(&link->channel);
    secure_close(link->secure);
    link->secure = NULL;
    fifo_free(&link->memory, &link->in);
    fifo_free(&link->memory, &link->out);
}

/* ------------------------------------------------------------------ talking */

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

static gordian_status push(struct line_link *link, gordian_error *error)
{
    int failure = channel_flush(&link->channel);
    while (failure == 0 && fifo_count(&link->out) > 0) {
        ssize_t count =
            channel_write(&link->channel, fifo_front(&link->out), fifo_count(&link->out));
        if (count < 0)
            failure = errno;
        else
            fifo_take(&link->out, (size_t)count);
    }
    /* What the service said before it hung up is worth reading first. */
    if (failure == 0 || failure == EAGAIN || failure == EPIPE || failure == ECONNRESET)
        return GORDIAN_OK;
    return lost(link, failure, error);
}

static gordian_status pull(struct line_link *link, gordian_error *error)
{
    for (;;) {
        if (!fifo_reserve(&link->memory, &link->in, READ_SIZE))
            return fail_memory(error);
        ssize_t count = channel_read(&link->channel, fifo_back(&link->in), READ_SIZE);
        if (count < 0 && errno == EAGAIN)
            return GORDIAN_OK;
        if (count <= 0)
            return lost(link, count < 0 ? errno : 0, error);
        /* An alert in place of an answer is none. */
        link->heard |= !channel_is_alert(fifo_back(&link->in), (size_t)count);
        fifo_put(&link->in, (size_t)count);
        if ((size_t)count < READ_SIZE)
            return GORDIAN_OK;
    }
}

gordian_status line_link_step(struct line_link *link, int also, int timeout_ms,
                              gordian_error *error)
{
    struct channel *channel = &link->channel;
    if (channel->fd < 0)
        return lost(link, 0, error);
    bool more = channel_has_more(channel);
    struct pollfd wanted[2] = {
        {.fd = channel->fd, .events = channel_events(channel, fifo_count(&link->out) > 0)},
        {.fd = also, .events = POLLIN}};
    if (poll(wanted, also >= 0 ? 2 : 1, more ? 0 : timeout_ms) < 0 && errno != EINTR)
        return fail(error, GORDIAN_STATUS_IO, "cannot wait: %s", strerror(errno));
    gordian_status status = push(link, error);
    if (status == GORDIAN_OK && (more || wanted[0].revents & ~POLLOUT))
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
        return fail(error, GORDIAN_STATUS_INPUT, "cannot read '%.200s': %s", path, strerror(errno));
    bool good = fgets(token, (int)size, file) != NULL;
    fclose(file);
    if (good)
        token[strcspn(token, "\r\n")] = '\0';
    if (!good || !*token || strpbrk(token, " \t#"))
        return fail(error, GORDIAN_STATUS_INPUT, "'%.200s': expected a token, without blanks",
                    path);
    return GORDIAN_OK;
}
