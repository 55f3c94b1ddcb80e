/* Orders that end a wait or a session. An order carries its condition in the same statement: the
 * server checks it and sends the signal in one go, so a session that has gone on in the meantime is
 * left alone. What window remains is in docs/guide/watch.md.
 *
 * For the dialects: remedy_postgres.c, remedy_innodb.c.
 */
#pragma once

#include "sources/watch/servers/dialect.h"

void remedy_postgres_advise(enum remedy remedy, const struct session *session, struct output *sql);
void remedy_postgres_write(enum remedy remedy, const struct server_facts *facts,
                           const struct remedy_condition *condition, struct output *sql);
enum remedy_outcome remedy_postgres_outcome(const struct connection *answer);
enum remedy_outcome remedy_postgres_refusal(const char *why);

void remedy_mariadb_advise(enum remedy remedy, const struct session *session, struct output *sql);
void remedy_mariadb_write(enum remedy remedy, const struct server_facts *facts,
                          const struct remedy_condition *condition, struct output *sql);
/* MySQL has neither numbers of statements nor a statement with a condition: the order has none. */
void remedy_mysql_advise(enum remedy remedy, const struct session *session, struct output *sql);
void remedy_mysql_write(enum remedy remedy, const struct server_facts *facts,
                        const struct remedy_condition *condition, struct output *sql);
enum remedy_outcome remedy_innodb_outcome(const struct connection *answer);
enum remedy_outcome remedy_innodb_refusal(const char *why);
