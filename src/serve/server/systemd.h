/* Talking to systemd without its library: a datagram to $NOTIFY_SOCKET says how the service is,
 * $LISTEN_FDS hands over sockets that were opened before it was started, $WATCHDOG_USEC asks for a
 * sign of life. Outside of systemd none of these is set and nothing happens.
 *
 *     struct systemd systemd;
 *     systemd_open(&systemd);
 *     systemd_say(&systemd, "READY=1\nSTATUS=%u systems", count);
 *     ...
 *     systemd_close(&systemd);
 */
#ifndef GORDIAN_SERVE_SERVER_SYSTEMD_H
#define GORDIAN_SERVE_SERVER_SYSTEMD_H

#include <gordian/gordian.h>

#define SYSTEMD_SOCKETS_MAX 16

/* What a socket that was handed over is for. */
enum systemd_use {
    SYSTEMD_UNIX, /* the protocol, on a Unix socket */
    SYSTEMD_TCP,  /* the protocol, on TCP */
    SYSTEMD_HTTP, /* HTTP, by the name "http" (FileDescriptorName=) */
};

struct systemd_socket {
    int fd;
    enum systemd_use use;
};

struct systemd {
    int fd; /* to $NOTIFY_SOCKET; -1: nobody wants to know */
    struct systemd_socket sockets[SYSTEMD_SOCKETS_MAX];
    size_t socket_count;
    uint64_t watchdog_us; /* a sign of life at least this often; 0: not wanted */
};

/* Reads the environment and clears those variables, so that programs started from here do not
 * take them for their own. GORDIAN_STATUS_INPUT if what was handed over is no listening socket, or
 * there are too many. */
gordian_status systemd_open(struct systemd *systemd, gordian_error *error);
/* Closes the way to systemd; the sockets belong to whoever took them. */
void systemd_close(struct systemd *systemd);

/* Was a Unix socket of this path handed over? Then it is not ours to open. */
bool systemd_listens(const struct systemd *systemd, const char *path);

/* Sends lines such as "READY=1". A message that cannot be sent is dropped: the service must not
 * wait for who watches it. (Here for tests.) */
void systemd_say(const struct systemd *systemd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void systemd_ready(const struct systemd *systemd);
/* A reload begins; systemd_ready says when it has ended. */
void systemd_reloading(const struct systemd *systemd);
void systemd_stopping(const struct systemd *systemd);
void systemd_alive(const struct systemd *systemd); /* the watchdog's sign of life */
/* Starting or stopping takes longer: do not give up for so many seconds from now. */
void systemd_extend(const struct systemd *systemd, unsigned seconds);

#endif
