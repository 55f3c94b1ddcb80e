/* Parsing of listen addresses, and bound sockets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LISTEN_PORT_SIZE 8

struct addrinfo;

/* Splits HOST:PORT, [HOST]:PORT, :PORT (host "") or PORT (host 127.0.0.1). False: malformed or too
 * long. */
bool listen_split(const char *text, char *host, size_t size, char port[LISTEN_PORT_SIZE]);
/* Returns a new bound socket, non-blocking and close-on-exec; -1: see errno. `backlog` 0: it does
 * not listen yet. `apart`: an IPv6 socket accepts no IPv4. */
int listen_bind(const struct addrinfo *place, int backlog, bool apart);
