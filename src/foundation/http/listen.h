/* Listening sockets: addresses as options give them, and sockets bound to them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LISTEN_PORT_SIZE 8
#define LISTEN_TRIES     20 /* 50 ms apart */

struct addrinfo;

/* HOST:PORT, [HOST]:PORT, :PORT (the host is "" then) or PORT (it is 127.0.0.1); false: it is none
 * of them, or does not fit. */
bool listen_split(const char *text, char *host, size_t size, char port[LISTEN_PORT_SIZE]);
/* A new socket that is bound, does not block and closes on exec; -1: errno. `backlog` 0: it does
 * not listen yet. `apart`: one for IPv6 takes no IPv4. */
int listen_bind(const struct addrinfo *place, int backlog, bool apart);
/* The same for the first address of *list that this machine has; *list goes on behind it. `any`:
 * another one of the list was bound. `tries`: attempts while the address is in use, by a process
 * that was killed a moment ago. -1: errno; 0: the list has no more. */
int listen_next(const struct addrinfo **list, bool any, int backlog, int tries);
/* The port of a listening socket; 0: it has none. */
uint16_t listen_port(int fd);
