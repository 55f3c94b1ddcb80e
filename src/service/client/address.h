/* Addresses of a service, "unix:/path", "tcp://host:port" or "tls://host:port": parse them and
 * connect. */
#pragma once

#include <gordian/gordian.h>

#include <sys/socket.h>

#define ADDRESS_PLACES 8 /* further addresses of a host are not tried */
#define ADDRESS_TEXT   256

struct address {
    struct {
        struct sockaddr_storage to;
        socklen_t length;
    } places[ADDRESS_PLACES];
    size_t count;
    bool secure;             /* tls:// */
    char host[ADDRESS_TEXT]; /* "" for a Unix socket */
    char text[ADDRESS_TEXT]; /* as given, for messages */
};

/* Parses a URI and resolves the host (which may block). */
gordian_status address_parse(struct address *address, const char *uri, gordian_error *error);

/* Starts connecting to place number `which`. Returns a non-blocking socket, or -1 with errno.
 * *pending: the connection is in progress; the socket becomes writable when it succeeds or fails.
 */
int address_connect(const struct address *address, size_t which, bool *pending);
/* Returns the result of a pending connection: 0 or an errno. */
int address_connected(int fd);
