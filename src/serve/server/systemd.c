#include "serve/server/systemd.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_FD 3 /* SD_LISTEN_FDS_START */

/* ------------------------------------------------------------------ the environment */

/* A number in the environment; false if it is not there or not a number. */
static bool number_from(const char *name, uint64_t *number)
{
    const char *text = getenv(name), *why;
    return text && parse_u64(text, strlen(text), number, &why);
}

/* Variables about processes name the one they are for. */
static bool is_for_us(const char *name)
{
    uint64_t pid;
    return number_from(name, &pid) && pid == (uint64_t)getpid();
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if ((path[0] != '/' && path[0] != '@') || length < 2 || length >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    if (connect(fd, (struct sockaddr *)&address, size) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* ------------------------------------------------------------------ sockets */

static bool is_listening(int fd)
{
    int yes = 0;
    socklen_t size = sizeof yes;
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &size) == 0 && yes;
}

static gordian_status take_socket(struct systemd *systemd, int fd, const char *name, size_t length,
                                  gordian_error *error)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    if (!is_listening(fd) || getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "descriptor %d, '%.*s', is not a listening socket",
                    fd, (int)length, name);
    enum systemd_use use = address.ss_family == AF_UNIX ? SYSTEMD_UNIX : SYSTEMD_TCP;
    if (length == 4 && memcmp(name, "http", 4) == 0)
        use = SYSTEMD_HTTP;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return fail(error, GORDIAN_STATUS_IO, "descriptor %d: %s", fd, strerror(errno));
    systemd->sockets[systemd->socket_count++] = (struct systemd_socket){.fd = fd, .use = use};
    return GORDIAN_OK;
}

static gordian_status take_sockets(struct systemd *systemd, gordian_error *error)
{
    uint64_t count;
    if (!is_for_us("LISTEN_PID") || !number_from("LISTEN_FDS", &count))
        return GORDIAN_OK;
    if (count > SYSTEMD_SOCKETS_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "%llu sockets were handed over; %d is the limit",
                    (unsigned long long)count, SYSTEMD_SOCKETS_MAX);
    const char *names = getenv("LISTEN_FDNAMES");
    for (int i = 0; i < (int)count; i++) {
        size_t length = names ? strcspn(names, ":") : 0;
        gordian_status status =
            take_socket(systemd, FIRST_FD + i, names ? names : "", length, error);
        if (status != GORDIAN_OK)
            return status;
        if (names)
            names = names[length] ? names + length + 1 : NULL;
    }
    return GORDIAN_OK;
}

gordian_status systemd_open(struct systemd *systemd, gordian_error *error)
{
    static const char *const ours[] = {"NOTIFY_SOCKET",  "LISTEN_PID",    "LISTEN_FDS",
                                       "LISTEN_FDNAMES", "WATCHDOG_USEC", "WATCHDOG_PID"};
    const char *path = getenv("NOTIFY_SOCKET");
    *systemd = (struct systemd){.fd = path ? connect_to(path) : -1};
    if (!getenv("WATCHDOG_PID") || is_for_us("WATCHDOG_PID"))
        number_from("WATCHDOG_USEC", &systemd->watchdog_us);
    gordian_status status = take_sockets(systemd, error);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        unsetenv(ours[i]);
    if (status != GORDIAN_OK)
        systemd_close(systemd);
    return status;
}

void systemd_close(struct systemd *systemd)
{
    if (systemd->fd >= 0)
        close(systemd->fd);
    systemd->fd = -1;
}

bool systemd_listens(const struct systemd *systemd, const char *path)
{
    for (size_t i = 0; i < systemd->socket_count; i++) {
        struct sockaddr_un address = {0};
        socklen_t size = sizeof address - 1; /* a NUL stays behind the path */
        if (getsockname(systemd->sockets[i].fd, (struct sockaddr *)&address, &size) == 0 &&
            address.sun_family == AF_UNIX && strcmp(address.sun_path, path) == 0)
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------ messages */

void systemd_say(const struct systemd *systemd, const char *format, ...)
{
    char message[512];
    if (systemd->fd < 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (length <= 0 || (size_t)length >= sizeof message)
        return;
    while (send(systemd->fd, message, (size_t)length, MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
}

void systemd_ready(const struct systemd *systemd)
{
    systemd_say(systemd, "READY=1");
}

void systemd_reloading(const struct systemd *systemd)
{
    /* Type=notify-reload wants to know when, by the clock that never goes back. */
    systemd_say(systemd, "RELOADING=1\nMONOTONIC_USEC=%llu",
                (unsigned long long)(clock_ns() / 1000));
}

void systemd_stopping(const struct systemd *systemd)
{
    systemd_say(systemd, "STOPPING=1");
}

void systemd_alive(const struct systemd *systemd)
{
    systemd_say(systemd, "WATCHDOG=1");
}

void systemd_extend(const struct systemd *systemd, unsigned seconds)
{
    systemd_say(systemd, "EXTEND_TIMEOUT_USEC=%llu", seconds * 1000000ull);
}
