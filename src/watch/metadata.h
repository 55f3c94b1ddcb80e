/* Metadata locks of MariaDB and MySQL: of tables, by those who use them and those who change their
 * definition. They are not InnoDB's, and a cycle through both is one that the server does not see.
 */
#ifndef GORDIAN_WATCH_METADATA_H
#define GORDIAN_WATCH_METADATA_H

#include "watch/dialect.h"

/* SQL: may they be asked for? A server that is not told to write them down shows none. */
#define METADATA_SHOWN                                                                             \
    "@@performance_schema AND EXISTS(SELECT 1 FROM information_schema.USER_PRIVILEGES "            \
    "WHERE PRIVILEGE_TYPE = 'SELECT')"

/* SQL: all locks of tables for which somebody waits. */
void metadata_write(bool has_numbers, struct output *sql);
/* False: out of memory. */
bool metadata_read(const struct answer *answer, struct look *look);

/* "10.0.0.7:51234", "localhost": a socket; "localhost:51234": an address that was looked up.
 * innodb.c */
bool innodb_take_host(struct look *look, struct session *session, const char *host);

#endif
