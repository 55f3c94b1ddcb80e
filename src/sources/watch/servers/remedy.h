/* Orders that end a wait or a session. An order contains its condition in the same statement: the
 * server checks it and then sends the signal, so that it does not touch a session that has
 * proceeded meanwhile. docs/guide/watch.md describes the remaining window.
 *
 * The dialects are in remedy_postgres.c and remedy_innodb.c. */
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
/* MySQL has no statement numbers and no conditional statements, so the order has no condition. */
void remedy_mysql_advise(enum remedy remedy, const struct session *session, struct output *sql);
void remedy_mysql_write(enum remedy remedy, const struct server_facts *facts,
                        const struct remedy_condition *condition, struct output *sql);
enum remedy_outcome remedy_innodb_outcome(const struct connection *answer);
enum remedy_outcome remedy_innodb_refusal(const char *why);
