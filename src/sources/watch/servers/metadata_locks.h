/* Metadata locks of MariaDB and MySQL: definitions of tables and other objects, the locks of
 * GET_LOCK, and the backup lock, which FLUSH TABLES WITH READ LOCK takes. They are not InnoDB's,
 * and a cycle through both is one that the server does not see.
 *
 * Without the server's instrument their waits are seen in the list of processes alone, without
 * those in their way: metadata_read_blocked marks such sessions (sources/watch/graph/unseen.h).
 */
#pragma once

#include "sources/watch/servers/dialect.h"

/* SQL: may they be asked for? A server that is not told to write them down shows none. */
#define METADATA_SHOWN                                                                             \
    "@@performance_schema AND (SELECT COUNT(*) FROM information_schema.TABLES WHERE "              \
    "TABLE_SCHEMA = 'performance_schema' AND TABLE_NAME IN ('metadata_locks', 'threads')) = 2"

/* SQL: is this a state of a session that waits for a lock other than InnoDB's? Of
 * information_schema.PROCESSLIST. */
#define METADATA_BLOCKED                                                                           \
    "(STATE LIKE 'Waiting for % lock' OR STATE IN ('User lock', 'Waiting for table flush'))"

/* SQL: all locks for which somebody waits. */
void metadata_write(bool has_numbers, struct output *sql);
void metadata_read(const struct connection *answer, struct scan *scan);

/* SQL: all sessions that wait for a lock which is not InnoDB's, by the list of processes. */
void metadata_write_blocked(bool has_numbers, struct output *sql);
/* One of them, a row: if its wait is not known yet, it gets one, without edges. */
void metadata_read_blocked(const struct server_facts *facts, struct row *row);

/* "10.0.0.7:51234", "localhost": a socket; "localhost:51234": an address that was looked up.
 * innodb.c */
void innodb_take_host(struct scan *scan, struct session *session, const char *host);
