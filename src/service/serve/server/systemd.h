/* Implements the documented protocols of systemd (sd_notify(3), sd_listen_fds(3)) without its
 * library. */
#pragma once

#include <gordian/gordian.h>
#include <string.h>
#include <sys/socket.h>

struct systemd {
    int fd;               /* connected to $NOTIFY_SOCKET; -1: none */
    uint64_t sockets;     /* number of sockets passed, from descriptor 3 on */
    char names[400];      /* names of the sockets, separated by colons */
    uint64_t watchdog_us; /* watchdog interval; 0: none */
};

/* Reads the environment variables and removes them, so that child processes do not see them. */
void systemd_open(struct systemd *systemd);
/* Sends a message, or drops it: the service must not block on its supervisor. */
static inline void systemd_say(const struct systemd *systemd, const char *message)
{
    send(systemd->fd, message, strlen(message), MSG_NOSIGNAL);
}
