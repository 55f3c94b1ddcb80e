/* The byte stream of a connection, plain or through TLS. */
#include "service/client/channel.h"

#include "foundation/base/error.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

gordian_status channel_prepare(const struct secure_interface **tls, struct secure **out,
                               const struct address *address, const struct secure_options *options,
                               const gordian_allocator *memory, gordian_error *error)
{
    *out = NULL;
    if (address->secure) {
        *tls = *tls ? *tls : secure_load(error);
        return *tls ? (*tls)->open(out, address->host, options, memory, error)
                    : GORDIAN_STATUS_UNAVAILABLE;
    }
    bool wished = options->ca || options->name || options->certificate || options->key;
    return wished && *address->host
               ? fail(error, GORDIAN_STATUS_INPUT,
                      "%.200s is not encrypted: the TLS options need tls://HOST:PORT",
                      address->text)
               : GORDIAN_OK;
}

bool channel_open(struct channel *channel, int fd, const struct secure_interface *tls,
                  struct secure *secure)
{
    *channel = (struct channel){.fd = fd, .tls = tls};
    if (!secure)
        return true;
    channel->secure = tls->link_open(secure, fd);
    if (!channel->secure)
        channel_close(channel);
    return channel->secure != NULL;
}

void channel_close(struct channel *channel)
{
    if (channel->secure)
        channel->tls->link_close(channel->secure);
    if (channel->fd >= 0)
        close(channel->fd);
    *channel = (struct channel){.fd = -1};
}

int channel_shake(struct channel *channel)
{
    return channel->secure ? channel->tls->shake(channel->secure) : 0;
}

ssize_t channel_read(struct channel *channel, void *to, size_t size)
{
    if (channel->secure)
        return channel->tls->read(channel->secure, to, size);
    ssize_t count;
    do
        count = recv(channel->fd, to, size, 0);
    while (count < 0 && errno == EINTR);
    return count;
}

ssize_t channel_write(struct channel *channel, const void *from, size_t size)
{
    if (channel->secure)
        return channel->tls->write(channel->secure, from, size);
    ssize_t count;
    do
        count = send(channel->fd, from, size, MSG_NOSIGNAL);
    while (count < 0 && errno == EINTR);
    return count;
}

int channel_flush(struct channel *channel)
{
    return channel->secure ? channel->tls->flush(channel->secure) : 0;
}

short channel_events(const struct channel *channel, bool writes)
{
    if (channel->secure)
        writes = writes || channel->tls->state(channel->secure).unsent;
    return writes ? POLLIN | POLLOUT : POLLIN;
}

bool channel_has_more(const struct channel *channel)
{
    return channel->secure && channel->tls->state(channel->secure).more;
}

const char *channel_why(const struct channel *channel, int failure, gordian_status *status)
{
    const gordian_error *trouble =
        channel->secure ? channel->tls->state(channel->secure).trouble : NULL;
    *status = trouble ? trouble->status : GORDIAN_STATUS_IO;
    return trouble ? trouble->message : strerror(failure);
}

bool channel_is_alert(const void *bytes, size_t count)
{
    const unsigned char *record = bytes;
    return count >= 3 && record[0] == 21 && record[1] == 3 && record[2] <= 4;
}
