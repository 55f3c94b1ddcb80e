/* Clients that are processes of this machine: which one has the other end of a TCP connection. Only
 * processes with one thread are told: another thread of theirs could do something else meanwhile.
 */
#ifndef GORDIAN_WATCH_LOCAL_H
#define GORDIAN_WATCH_LOCAL_H

#include "watch/source.h"

struct locals;

/* Looks the clients of all sessions up, if some of them are new; not more than once a second. Where
 * nothing can be known (no memory, no /proc), nothing is. */
void locals_read(struct locals **locals, struct source *const *sources, size_t count);
void locals_close(struct locals *locals);
/* The process that is this session's client; 0: none of this machine, or one that cannot be told.
 */
uint32_t locals_process(const struct locals *locals, const struct session *session,
                        const struct server_facts *facts);
/* Does it sleep until this session answers? A pooler, or whoever serves several at a time, waits
 * for all its connections together, and what one of them does says nothing about the others. */
bool locals_waits(struct locals *locals, const struct session *session,
                  const struct server_facts *facts);

/* The address and port of a TCP socket of this machine, and the port at its other end; false: it is
 * none. */
bool local_address(uint64_t inode, char *address, size_t size, uint32_t *port, uint32_t *peer_port);
/* Could a connection from this address of ours be one to that server? Ports alone do not say so:
 * connections to different servers may share one, and on another machine the same loopback address
 * is somebody else. */
bool local_leads_to(const char *address, uint32_t peer_port, const struct server_facts *facts);

#endif
