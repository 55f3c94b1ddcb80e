/* Where a service listens: "unix:/path", "tcp://host:port" or "tls://host:port", and connecting to
 * it. */
#pragma once

#include <gordian/gordian.h>

#include <sys/socket.h>

#define ADDRESS_PLACES 8 /* a host's addresses beyond these are not tried */
#define ADDRESS_TEXT   256

struct address {
    struct {
        struct sockaddr_storage to;
        socklen_t length;
    } places[ADDRESS_PLACES];
    size_t count;
    bool secure;             /* TLS is spoken there */
    char host[ADDRESS_TEXT]; /* "": a Unix socket */
    char text[ADDRESS_TEXT]; /* as given, for messages */
};

/* Takes a URI apart and looks the host up (which may take a while). */
gordian_status address_parse(struct address *address, const char *uri, gordian_error *error);

/* Starts connecting to place number `which`: a socket that does not block, or -1 (errno). *pending:
 * it is not through yet; the socket becomes writable when it is, or has failed. */
int address_connect(const struct address *address, size_t which, bool *pending);
/* What became of a connection that was pending: 0 or an errno. */
int address_connected(int fd);
