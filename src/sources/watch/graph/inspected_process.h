/* A local process among the servers: its threads are sessions, its locks what they wait for, read
 * from outside by inspect/. So a deadlock can go through a mutex of a client and a row of a server:
 *
 *     thread -> mutex -> thread -> its query -> session -> row -> session -> its client's threads
 *
 * A thread that sleeps in a read or poll of one socket whose other end is a session waits for that
 * session. A session that is idle in a transaction waits for the process that has the other end of
 * its connection: any of its threads could go on with it, so all of them must be stuck.
 *
 * A look takes some milliseconds in which nothing else is done, and is made only while somebody
 * waits on a server.
 */
#pragma once

#include "sources/watch/graph/source.h"

struct inspector;

/* The process as a source. Says why it cannot be inspected. */
gordian_status inspector_open(struct source **out, uint32_t pid, const struct source_pace *pace,
                              const gordian_allocator *memory, gordian_error *error);
void inspector_close(struct inspector *inspector);

/* Makes the source's next look; `needed` false: nobody waits anywhere, and it is an empty one. */
void inspector_look(struct source *source, bool needed);

/* Has the process the client's end of this session's connection? */
bool inspector_owns(const struct inspector *inspector, const struct session *session,
                    const struct server_facts *facts);

/* The other end of a Unix socket, by inode; 0: not known. */
uint64_t inspector_peer(uint64_t inode);
