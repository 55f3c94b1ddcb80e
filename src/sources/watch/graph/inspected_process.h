/* A local process as a source: its threads are sessions and its locks are what they wait for. The
 * decoders of inspect/ read them from outside. So a deadlock may include a mutex of a client and a
 * row of a server:
 *
 *    thread -> mutex -> thread -> its query -> session -> row -> session -> its client's threads
 *
 * A thread that sleeps in a read or poll of one socket waits for the session at the other end. A
 * session that is idle in a transaction waits for the process at the other end of its connection.
 * Any thread of that process could continue the session, so all of them must be blocked.
 *
 * A scan blocks the event loop for some milliseconds. It is made only while a session waits on a
 * server. */
#pragma once

#include "sources/watch/graph/source.h"

struct inspector;

/* Opens the process as a source. The error says why it cannot be inspected. */
gordian_status inspector_open(struct source **out, uint32_t pid, const struct source_pace *pace,
                              const gordian_allocator *memory, gordian_error *error);
void inspector_close(struct inspector *inspector);

/* Scans the process. `needed` false: no session waits, so the scan is empty. */
void inspector_scan(struct source *source, bool needed);

/* Does the process have the client's end of this session's connection? */
bool inspector_owns(const struct inspector *inspector, const struct session *session,
                    const struct server_facts *facts);

/* Returns the inode of the other end of a Unix socket; 0: not known. */
uint64_t inspector_peer(uint64_t inode);
