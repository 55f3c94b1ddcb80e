/* Parses listening addresses and binds sockets. */
#define _GNU_SOURCE /* usleep */
#include "foundation/http/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RETRY_US 50000

bool listen_split(const char *text, char *host, size_t size, char port[LISTEN_PORT_SIZE])
{
    const char *colon = strrchr(text, ':'), *digits = colon ? colon + 1 : text, *start = text;
    size_t length = colon ? (size_t)(colon - text) : 0;
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        start++;
        length -= 2;
    }
    if (length >= size || !*digits || strlen(digits) >= LISTEN_PORT_SIZE ||
        digits[strspn(digits, "0123456789")] || atol(digits) > 65535)
        return false;
    memcpy(host, start, length);
    host[length] = '\0';
    if (!colon)
        strcpy(host, "127.0.0.1");
    strcpy(port, digits);
    return true;
}

int listen_bind(const struct addrinfo *place, int backlog, bool apart)
{
    int yes = 1, fd = socket(place->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (apart && place->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, place->ai_addr, place->ai_addrlen) == 0 &&
        (backlog == 0 || listen(fd, backlog) == 0))
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

int listen_next(const struct addrinfo **list, bool any, int backlog, int tries)
{
    bool skip = true;
    int fd = -1;
    while (*list && skip) {
        const struct addrinfo *place = *list;
        fd = listen_bind(place, backlog, true);
        for (int i = 1; i < tries && fd < 0 && errno == EADDRINUSE; i++) {
            usleep(RETRY_US);
            fd = listen_bind(place, backlog, true);
        }
        *list = place->ai_next;
        skip = fd < 0 && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) && (any || *list);
    }
    errno = skip ? 0 : errno;
    return fd;
}

uint16_t listen_port(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return 0;
    return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                               : ((struct sockaddr_in *)&address)->sin_port);
}
