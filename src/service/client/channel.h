/* The byte stream of a connection, plain or through TLS, behind one interface. Nothing here blocks,
 * and SIGPIPE is never raised. */
#pragma once

#include "service/client/address.h"
#include "service/client/secure.h"

#include <sys/types.h>

struct channel {
    int fd; /* -1: none */
    const struct secure_interface *tls;
    struct secure_link *secure; /* NULL: plain */
};

/* Prepares TLS for connections to this address; *out is NULL for a plain connection. TLS options
 * with a plain network address are an error (GORDIAN_STATUS_INPUT); with a Unix socket they are
 * ignored. *tls: the TLS functions, loaded when they are first needed. */
gordian_status channel_prepare(const struct secure_interface **tls, struct secure **out,
                               const struct address *address, const struct secure_options *options,
                               const gordian_allocator *memory, gordian_error *error);

/* Takes over a non-blocking socket and closes it with the channel. `secure`: use TLS, after the
 * socket is connected and channel_shake has succeeded; NULL: plain. Returns false without memory;
 * the socket is closed. */
bool channel_open(struct channel *channel, int fd, const struct secure_interface *tls,
                  struct secure *secure);
void channel_close(struct channel *channel);

/* Runs the TLS handshake. Returns 0 when it is done, EAGAIN to call again after channel_events,
 * otherwise an errno. A plain channel has no handshake. */
int channel_shake(struct channel *channel);

/* Returns the bytes read; 0 at end of file; -1 with errno, EAGAIN if there is nothing yet. */
ssize_t channel_read(struct channel *channel, void *to, size_t size);
/* Returns the bytes accepted; -1 with errno, EAGAIN if none could be. */
ssize_t channel_write(struct channel *channel, const void *from, size_t size);
/* Sends buffered bytes. Returns 0 or an errno. */
int channel_flush(struct channel *channel);

/* Returns the events to poll for; `writes`: the caller has bytes to write. */
short channel_events(const struct channel *channel, bool writes);
/* Can more be read at once, from data that polling does not show? */
bool channel_has_more(const struct channel *channel);

/* Describes a failure; the text is valid until the channel is closed. *status: GORDIAN_STATUS_IO if
 * it may be temporary, otherwise it is permanent. */
const char *channel_why(const struct channel *channel, int failure, gordian_status *status);

/* Is this a TLS alert: the answer of a TLS server to a plain client? */
bool channel_is_alert(const void *bytes, size_t count);
