/* Listening sockets: addresses as options give them, and sockets bound to them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LISTEN_PORT_SIZE 8

struct addrinfo;

/* HOST:PORT, [HOST]:PORT, :PORT (the host is "" then) or PORT (it is 127.0.0.1); false: it is none
 * of them, or does not fit. */
bool listen_split(const char *text, char *host, size_t size, char port[LISTEN_PORT_SIZE]);
/* A new socket that is bound, does not block and closes on exec; -1: errno. `backlog` 0: it does
 * not listen yet. `apart`: one for IPv6 takes no IPv4. */
int listen_bind(const struct addrinfo *place, int backlog, bool apart);
