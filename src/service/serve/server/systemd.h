/* systemd's documented protocols (sd_notify(3), sd_listen_fds(3)), without its library. */
#pragma once

#include <gordian/gordian.h>
#include <string.h>
#include <sys/socket.h>

struct systemd {
    int fd;               /* to $NOTIFY_SOCKET; -1: nobody wants to know */
    uint64_t sockets;     /* handed over, from descriptor 3 on */
    char names[400];      /* theirs, with colons between them */
    uint64_t watchdog_us; /* a sign of life at least this often; 0: not wanted */
};

/* Reads the environment and clears it: programs started from here are not meant. */
void systemd_open(struct systemd *systemd);
/* A message that cannot be sent is dropped: the service must not wait for who watches it. */
static inline void systemd_say(const struct systemd *systemd, const char *message)
{
    send(systemd->fd, message, strlen(message), MSG_NOSIGNAL);
}
