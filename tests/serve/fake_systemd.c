/* fake_systemd [--socket NAME=PATH|NAME=PORT]... [--watchdog USEC] COMMAND [ARGUMENT]...
 *
 * Starts a command as systemd does: sockets that listen already, from descriptor 3 on, with names;
 * a socket to be told how it is; a watchdog's period. Prints `pid N`, `port NAME N`, each message
 * with its lines joined by blanks, and `exit N` at the end. The sockets stay open in here. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOCKETS_MAX 8
#define HIGH_FD     50 /* out of the way of those handed over */

static int sockets[SOCKETS_MAX];
static int socket_count;
static char names[256];

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static int listen_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (strlen(path) >= sizeof address.sun_path)
        die("a long path");
    strcpy(address.sun_path, path);
    unlink(path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
        die(path);
    return fd;
}

static int listen_tcp(const char *name, const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        die(port);
    printf("port %s %u\n", name, ntohs(address.sin_port));
    return fd;
}

static void open_socket(char *option)
{
    char *value = strchr(option, '=');
    if (!value || socket_count == SOCKETS_MAX)
        exit(2);
    *value++ = '\0';
    int fd = *value == '/' ? listen_unix(value) : listen_tcp(option, value);
    if (listen(fd, 16) != 0)
        die("listen");
    sockets[socket_count++] = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
    close(fd);
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
             socket_count > 1 ? ":" : "", option);
}

static void become(char **command)
{
    char text[32];
    for (int i = 0; i < socket_count; i++)
        if (dup2(sockets[i], 3 + i) < 0)
            die("dup2");
    snprintf(text, sizeof text, "%d", (int)getpid());
    setenv("LISTEN_PID", text, 1);
    setenv("WATCHDOG_PID", text, 1);
    snprintf(text, sizeof text, "%d", socket_count);
    setenv("LISTEN_FDS", text, 1);
    setenv("LISTEN_FDNAMES", names, 1);
    execvp(command[0], command);
    die(command[0]);
}

static int open_notify(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[64];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(path, sizeof path, "@gordian-fake-systemd-%d", (int)getpid());
    memcpy(address.sun_path, path, strlen(path));
    address.sun_path[0] = '\0';
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0)
        die("NOTIFY_SOCKET");
    setenv("NOTIFY_SOCKET", path, 1);
    return fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
}

/* Prints what is there. */
static void print_messages(int fd)
{
    char message[1024];
    ssize_t count;
    while ((count = recv(fd, message, sizeof message - 1, MSG_DONTWAIT)) > 0) {
        message[count] = '\0';
        for (ssize_t i = 0; i < count; i++)
            if (message[i] == '\n')
                message[i] = ' ';
        printf("%s\n", message);
    }
}

int main(int argc, char **argv)
{
    int at = 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        if (strcmp(argv[at], "--socket") == 0)
            open_socket(argv[at + 1]);
        else if (strcmp(argv[at], "--watchdog") == 0)
            setenv("WATCHDOG_USEC", argv[at + 1], 1);
        else
            return 2;
    }
    if (at >= argc)
        return 2;
    int notify = open_notify();
    pid_t child = fork();
    if (child == 0)
        become(argv + at);
    printf("pid %d\n", (int)child);
    int status;
    for (;;) {
        struct pollfd poll_for = {.fd = notify, .events = POLLIN};
        poll(&poll_for, 1, 50);
        print_messages(notify);
        if (waitpid(child, &status, WNOHANG) == child)
            break;
    }
    print_messages(notify);
    printf("exit %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
