/* talk SOCKET|PORT: sends its standard input to a Unix socket, or to a port of this machine, ends
 * its side, prints what comes back until the other side ends. With a second argument, only until a
 * line contains it, and its own side stays open. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int dial_port(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

static int dial(const char *path)
{
    if (path[strspn(path, "0123456789")] == '\0')
        return dial_port(path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || strlen(path) >= sizeof address.sun_path)
        return -1;
    strcpy(address.sun_path, path);
    return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

static void copy_input(int fd)
{
    char buffer[4096];
    ssize_t count;
    while ((count = read(STDIN_FILENO, buffer, sizeof buffer)) > 0)
        if (send(fd, buffer, (size_t)count, MSG_NOSIGNAL) != count)
            return;
}

int main(int argc, char **argv)
{
    int fd = argc > 1 ? dial(argv[1]) : -1;
    if (fd < 0) {
        perror(argc > 1 ? argv[1] : "talk SOCKET|PORT [UNTIL]");
        return 2;
    }
    /* Both at once: the service does not read from one who does not. */
    if (fork() == 0) {
        copy_input(fd);
        if (argc < 3)
            shutdown(fd, SHUT_WR);
        _exit(0);
    }
    FILE *in = fdopen(fd, "r");
    char line[65536];
    while (in && fgets(line, sizeof line, in)) {
        fputs(line, stdout);
        if (argc > 2 && strstr(line, argv[2]))
            return fflush(stdout) != 0;
    }
    return argc > 2;
}
