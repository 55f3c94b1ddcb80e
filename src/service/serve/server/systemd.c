/* Reads what systemd passes in the environment. */
#include "service/serve/server/systemd.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

static uint64_t take_environment_number(const char *name)
{
    const char *text = getenv(name);
    uint64_t number = text ? strtoull(text, NULL, 10) : 0;
    unsetenv(name);
    return number;
}

void systemd_open(struct systemd *systemd)
{
    uint64_t own = (uint64_t)getpid(), us = take_environment_number("WATCHDOG_USEC");
    uint64_t sockets = take_environment_number("LISTEN_FDS"),
             watched = take_environment_number("WATCHDOG_PID");
    const char *names = getenv("LISTEN_FDNAMES"), *path = getenv("NOTIFY_SOCKET");
    systemd->sockets = take_environment_number("LISTEN_PID") == own ? sockets : 0;
    systemd->watchdog_us = watched == 0 || watched == own ? us : 0;
    snprintf(systemd->names, sizeof systemd->names, "%s", names ? names : "");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int length = snprintf(to.sun_path, sizeof to.sun_path, "%s", path ? path : "");
    unsetenv("LISTEN_FDNAMES");
    unsetenv("NOTIFY_SOCKET");
    if (to.sun_path[0] == '@') /* abstract socket */
        to.sun_path[0] = '\0';
    socklen_t size = (socklen_t)(to.sun_path + length - (char *)&to);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    systemd->fd = connect(fd, (struct sockaddr *)&to, size) == 0 ? fd : -1;
    if (systemd->fd < 0 && fd >= 0)
        close(fd);
}
