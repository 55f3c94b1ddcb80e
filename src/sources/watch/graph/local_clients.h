/* Finds clients that are processes of this machine: the process with the other end of a TCP
 * connection, or of a connection to a Unix socket of PostgreSQL. A socket that several processes
 * have open, as after a fork, belongs to none of them. sleeping_clients.h checks what the process
 * does, because that changes. */
#pragma once

#include "sources/watch/graph/source.h"

struct locals;

/* Reads the tables if there are sessions with unknown clients, and if this was not done just
 * before. Without memory or /proc, no client is known. */
void locals_read(struct locals **locals, struct source *const *sources, size_t count);
void locals_close(struct locals *locals);
/* Checks again which processes have the sockets open, because a process may have forked. */
void locals_recount(struct locals *locals);
/* Returns the process of a session's client and the inode of its socket. 0: no process of this
 * machine, several processes, or not known. */
uint32_t locals_process(const struct locals *locals, const struct session *session,
                        const struct server_facts *facts, uint64_t *inode);
/* The client's socket was closed or reused: the next locals_read reads the table again. */
void locals_forget(struct locals *locals, const struct session *session,
                   const struct server_facts *facts);

/* Returns the inode of a process's socket; 0: the descriptor is not a socket. */
uint64_t local_socket(uint32_t pid, int fd);
/* Returns the address and port of a local TCP socket, and the port at its other end. False: it is
 * not one. */
bool local_address(uint64_t inode, char *address, size_t size, uint32_t *port, uint32_t *peer_port);
/* Is this process the session with this identifier ("65a1b2c3.4d2", PostgreSQL's %c)? A process in
 * a container or on another machine may have the same pid. */
bool local_started(uint32_t pid, const char *id);
/* Can a connection from this local address lead to that server? The port alone is not enough:
 * several servers may use the same port, and a loopback address of another machine is not ours. */
bool local_leads_to(const char *address, uint32_t peer_port, const struct server_facts *facts);
