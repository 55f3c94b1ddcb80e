/* Listening sockets: parse the addresses of options, and bind sockets to them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LISTEN_PORT_SIZE 8
#define LISTEN_TRIES     20 /* attempts, 50 ms apart */

struct addrinfo;

/* Splits HOST:PORT, [HOST]:PORT, :PORT (the host becomes "") or PORT (the host becomes 127.0.0.1).
 * Returns false if the text has another form or does not fit. */
bool listen_split(const char *text, char *host, size_t size, char port[LISTEN_PORT_SIZE]);
/* Returns a new bound, non-blocking, close-on-exec socket; -1 with errno on failure. With a
 * `backlog` of 0 it does not listen yet. `apart`: an IPv6 socket accepts no IPv4. */
int listen_bind(const struct addrinfo *place, int backlog, bool apart);
/* Binds the first address of *list that this machine has, and moves *list behind it. `any`: another
 * address of the list has been bound. `tries`: how often to try while the address is in use, for
 * example by a process that was just killed. Returns -1 with errno on failure; errno 0 means that
 * the list has no more addresses. */
int listen_next(const struct addrinfo **list, bool any, int backlog, int tries);
/* Returns the port of a listening socket, or 0 if it has none. */
uint16_t listen_port(int fd);
