#include "serve/server/systemd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char *take_variable(const char *name, char *text, size_t size)
{
    snprintf(text, size, "%s", getenv(name) ? getenv(name) : "");
    unsetenv(name);
    return text;
}

void systemd_open(struct systemd *systemd)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = strlen(take_variable("NOTIFY_SOCKET", to.sun_path, sizeof to.sun_path));
    char pid[32], count[32], own[32];
    snprintf(own, sizeof own, "%ld", (long)getpid());
    take_variable("LISTEN_FDNAMES", systemd->names, sizeof systemd->names);
    systemd->sockets = strtoull(take_variable("LISTEN_FDS", count, sizeof count), NULL, 10);
    if (strcmp(take_variable("LISTEN_PID", pid, sizeof pid), own) != 0)
        systemd->sockets = 0;
    systemd->watchdog_us = strtoull(take_variable("WATCHDOG_USEC", count, sizeof count), NULL, 10);
    if (take_variable("WATCHDOG_PID", pid, sizeof pid)[0] && strcmp(pid, own) != 0)
        systemd->watchdog_us = 0;
    if (to.sun_path[0] == '@')
        to.sun_path[0] = '\0';
    socklen_t size = (socklen_t)(to.sun_path + length - (char *)&to);
    systemd->fd = length ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    connect(systemd->fd, (struct sockaddr *)&to, size); /* if it fails nobody is told anything */
}

void systemd_say(const struct systemd *systemd, const char *message)
{
    send(systemd->fd, message, strlen(message), MSG_NOSIGNAL); /* without a socket: an error */
}
