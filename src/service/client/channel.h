/* A connection's bytes, as they are or through TLS: one way to read and write both. Nothing here
 * waits, and SIGPIPE is never raised. */
#pragma once

#include "service/client/address.h"
#include "service/client/secure.h"

#include <sys/types.h>

struct channel {
    int fd; /* -1: none */
    const struct secure_interface *tls;
    struct secure_link *secure; /* NULL: bytes go as they are */
};

/* What channels to this address need: *out is NULL where bytes go as they are. Whoever speaks of
 * TLS does not mean to go over a network without: GORDIAN_STATUS_INPUT; a Unix socket needs none.
 * *tls: its functions, loaded where they are needed and were not. */
gordian_status channel_prepare(const struct secure_interface **tls, struct secure **out,
                               const struct address *address, const struct secure_wishes *wishes,
                               const gordian_allocator *memory, gordian_error *error);

/* Takes a socket that does not block, and closes it with the channel. `secure`: speaks TLS, once
 * the socket is connected and channel_shake has said so; NULL: in the clear. False: out of memory,
 * the socket is closed. */
bool channel_open(struct channel *channel, int fd, const struct secure_interface *tls,
                  struct secure *secure);
void channel_close(struct channel *channel);

/* TLS agrees on keys. 0: done; EAGAIN: call again when channel_events has happened; anything else
 * has failed. In the clear there is nothing to do. */
int channel_shake(struct channel *channel);

/* Bytes read, 0: the other side has ended, -1: errno, EAGAIN where there is nothing yet. */
ssize_t channel_read(struct channel *channel, void *to, size_t size);
/* Bytes taken, or -1: errno, EAGAIN where none could be. */
ssize_t channel_write(struct channel *channel, const void *from, size_t size);
/* Gives the kernel what was taken before and is still here. 0, or an errno. */
int channel_flush(struct channel *channel);

/* What to poll for; `writes`: there are bytes to write. */
short channel_events(const struct channel *channel, bool writes);
/* Read again at once: something has come that polling does not show. */
bool channel_has_more(const struct channel *channel);

/* After a failure: what it was, for people, good until the channel is closed. *status:
 * GORDIAN_STATUS_IO may pass, anything else will not. */
const char *channel_why(const struct channel *channel, int failure, gordian_status *status);

/* Is this how somebody answers in the clear who expects TLS? */
bool channel_is_alert(const void *bytes, size_t count);
