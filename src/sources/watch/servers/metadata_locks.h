/* Reads each metadata lock of MariaDB and MySQL: locks on definitions of tables and other objects,
 * the locks of GET_LOCK, and the backup lock of FLUSH TABLES WITH READ LOCK. InnoDB does not know
 * these locks, so the server does not detect a cycle through both kinds.
 *
 * Without the server's instrument, only the list of processes shows the waits, without their
 * blockers: metadata_read_blocked marks such sessions (sources/watch/graph/unseen.h). */
#pragma once

#include "sources/watch/servers/dialect.h"

/* An SQL expression: can metadata locks be read? A server without the instrument shows none. */
#define METADATA_SHOWN                                                                             \
    "@@performance_schema AND (SELECT COUNT(*) FROM information_schema.TABLES WHERE "              \
    "TABLE_SCHEMA = 'performance_schema' AND TABLE_NAME IN ('metadata_locks', 'threads')) = 2"

/* An SQL condition for information_schema.PROCESSLIST: does the session wait for a lock that does
 * not belong to InnoDB? */
#define METADATA_BLOCKED                                                                           \
    "(STATE LIKE 'Waiting for % lock' OR STATE IN ('User lock', 'Waiting for table flush'))"

/* Writes SQL for all locks that have a waiter. */
void metadata_write(bool has_numbers, struct output *sql);
void metadata_read(const struct connection *answer, struct scan *scan);

/* Writes SQL for all sessions in the list of processes that wait for a lock outside InnoDB. */
void metadata_write_blocked(bool has_numbers, struct output *sql);
/* Reads a row of that answer. If the session's wait is not known yet, adds it without edges. */
void metadata_read_blocked(const struct server_facts *facts, struct row *row);

/* innodb.c. Parses "10.0.0.7:51234"; "localhost" for a socket; or "localhost:51234" for a resolved
 * address. */
void innodb_take_host(struct scan *scan, struct session *session, const char *host);
