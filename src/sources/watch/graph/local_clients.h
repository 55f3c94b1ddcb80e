/* Clients that are processes of this machine: which one has the other end of a TCP connection, or
 * of one to the Unix socket of a PostgreSQL. A socket that several processes have open, as after a
 * fork, belongs to none of them. How many threads the process has, and what it does, changes:
 * sleeping_clients.h looks at that when it is needed.
 */
#pragma once

#include "sources/watch/graph/source.h"

struct locals;

/* Looks the clients of all sessions up, if some of them are new and that was not done just before.
 * Where nothing can be known (no memory, no /proc), nothing is. */
void locals_read(struct locals **locals, struct source *const *sources, size_t count);
void locals_close(struct locals *locals);
/* Looks again which processes have the sockets open: a process may have forked since. */
void locals_recount(struct locals *locals);
/* The process that is this session's client, and the inode of its socket; 0: none of this machine,
 * several processes, or one that cannot be told. */
uint32_t locals_process(const struct locals *locals, const struct session *session,
                        const struct server_facts *facts, uint64_t *inode);
/* The socket of this session's client was closed or is another one's: the table is read again. */
void locals_forget(struct locals *locals, const struct session *session,
                   const struct server_facts *facts);

/* The inode of the socket that a process has as this descriptor; 0: it is none. */
uint64_t local_socket(uint32_t pid, int fd);
/* The address and port of a TCP socket of this machine, and the port at its other end; false: it is
 * none. */
bool local_address(uint64_t inode, char *address, size_t size, uint32_t *port, uint32_t *peer_port);
/* Is this process the session with this number ("65a1b2c3.4d2", PostgreSQL's %c)? Processes of
 * another machine, or of a container, may have the same pid. */
bool local_started(uint32_t pid, const char *id);
/* Could a connection from this address of ours be one to that server? Ports alone do not say so:
 * connections to different servers may share one, and on another machine the same loopback address
 * is somebody else. */
bool local_leads_to(const char *address, uint32_t peer_port, const struct server_facts *facts);
