/* Parses addresses and connects to them. */
#define _GNU_SOURCE
#include "service/client/address.h"

#include "foundation/base/error.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

static gordian_status parse_unix(struct address *address, const char *path, gordian_error *error)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof to.sun_path)
        return fail(error, GORDIAN_STATUS_INPUT, "'%.200s': a socket's path has 1 to %zu bytes",
                    address->text, sizeof to.sun_path - 1);
    memcpy(to.sun_path, path, length + 1);
    memcpy(&address->places[0].to, &to, sizeof to);
    address->places[0].length = sizeof to;
    address->count = 1;
    return GORDIAN_OK;
}

/* Splits "host:port" or "[::1]:port". Returns false for any other form. */
static bool split_host(const char *text, char *host, size_t size, const char **port)
{
    const char *end;
    if (*text == '[') {
        text++;
        end = strchr(text, ']');
        if (!end || end[1] != ':')
            return false;
        *port = end + 2;
    } else {
        end = strrchr(text, ':');
        if (!end || memchr(text, ':', (size_t)(end - text)))
            return false;
        *port = end + 1;
    }
    size_t length = (size_t)(end - text);
    if (length == 0 || length >= size || !**port)
        return false;
    memcpy(host, text, length);
    host[length] = '\0';
    return true;
}

static gordian_status parse_host(struct address *address, const char *text, gordian_error *error)
{
    const char *port;
    if (!split_host(text, address->host, sizeof address->host, &port))
        return fail(error, GORDIAN_STATUS_INPUT, "'%.200s': expected %s://HOST:PORT", address->text,
                    address->secure ? "tls" : "tcp");
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    int failure = getaddrinfo(address->host, port, &hints, &list);
    if (failure == EAI_MEMORY)
        return fail_memory(error);
    if (failure)
        return fail(error,
                    failure == EAI_AGAIN || failure == EAI_SYSTEM ? GORDIAN_STATUS_IO
                                                                  : GORDIAN_STATUS_INPUT,
                    "'%.200s': %s", address->text,
                    failure == EAI_SYSTEM ? strerror(errno) : gai_strerror(failure));
    for (struct addrinfo *at = list; at && address->count < ADDRESS_PLACES; at = at->ai_next) {
        if (at->ai_addrlen > sizeof address->places[0].to)
            continue;
        memcpy(&address->places[address->count].to, at->ai_addr, at->ai_addrlen);
        address->places[address->count++].length = at->ai_addrlen;
    }
    freeaddrinfo(list);
    return address->count
               ? GORDIAN_OK
               : fail(error, GORDIAN_STATUS_INPUT, "'%.200s': no address", address->text);
}

gordian_status address_parse(struct address *address, const char *uri, gordian_error *error)
{
    static const char unix_prefix[] = "unix:", tcp_prefix[] = "tcp://", tls_prefix[] = "tls://";
    *address = (struct address){0};
    snprintf(address->text, sizeof address->text, "%s", uri);
    if (strncmp(uri, unix_prefix, strlen(unix_prefix)) == 0)
        return parse_unix(address, uri + strlen(unix_prefix), error);
    address->secure = strncmp(uri, tls_prefix, strlen(tls_prefix)) == 0;
    if (address->secure || strncmp(uri, tcp_prefix, strlen(tcp_prefix)) == 0)
        return parse_host(address, uri + strlen(tcp_prefix), error);
    return fail(error, GORDIAN_STATUS_INPUT,
                "'%.200s': expected unix:PATH, tcp://HOST:PORT or tls://HOST:PORT", address->text);
}

int address_connect(const struct address *address, size_t which, bool *pending)
{
    const struct sockaddr *to = (const struct sockaddr *)&address->places[which].to;
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (to->sa_family != AF_UNIX) {
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    }
    *pending = false;
    if (connect(fd, to, address->places[which].length) == 0)
        return fd;
    if (errno == EINPROGRESS || errno == EINTR) {
        *pending = true;
        return fd;
    }
    /* A Unix socket with a full backlog returns EAGAIN; the connection is not pending then. */
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

int address_connected(int fd)
{
    int why = 0;
    socklen_t size = sizeof why;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size) != 0)
        return errno;
    return why;
}
