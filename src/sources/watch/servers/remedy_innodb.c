/* MariaDB: a compound statement that checks the number of the victim's statement, its wait, and
 * every wait of the cycle on this server, and then kills by that number. InnoDB's tables may be 100
 * ms old (sources/watch/graph/source.c waits that long); the number of the statement is always
 * current. */
#include "sources/watch/servers/remedy.h"

#include <string.h>

#define OVER "gordian: the wait is over"

void remedy_mariadb_advise(enum remedy remedy, const struct session *session, struct output *sql)
{
    if (remedy == REMEDY_CANCEL && *session->statement)
        output_format(sql, "KILL QUERY ID %s", session->statement);
    else
        remedy_mysql_advise(remedy, session, sql);
}

void remedy_mysql_advise(enum remedy remedy, const struct session *session, struct output *sql)
{
    output_format(sql, "KILL %s%lld", remedy == REMEDY_CANCEL ? "QUERY " : "",
                  (long long)session->pid);
}

/* Writes the condition that the session runs this statement. `waits`: and that it waits for a lock,
 * of InnoDB or of the server. */
static void write_statement(const struct session *session, bool waits, struct output *sql)
{
    output_format(sql, "EXISTS(SELECT 1 FROM information_schema.PROCESSLIST p WHERE p.ID = %lld",
                  (long long)session->pid);
    if (*session->statement)
        output_format(sql, " AND p.QUERY_ID = %s", session->statement);
    if (waits)
        output_text(sql, " AND (p.STATE LIKE 'Waiting for %lock' OR p.STATE = 'User lock' OR "
                         "EXISTS(SELECT 1 FROM information_schema.INNODB_TRX t WHERE "
                         "t.trx_mysql_thread_id = p.ID AND t.trx_state = 'LOCK WAIT'))");
    output_char(sql, ')');
}

static void write_edge(const struct scan *scan, const struct edge *edge, struct output *sql)
{
    const struct session *waiter = &scan->sessions[scan->waits[edge->wait].session];
    output_text(sql, " AND ");
    if (!*edge->lock) { /* not a lock of InnoDB */
        write_statement(waiter, true, sql);
        return;
    }
    output_format(sql,
                  "EXISTS(SELECT 1 FROM information_schema.INNODB_LOCK_WAITS w WHERE "
                  "w.requesting_trx_id = '%s' AND w.requested_lock_id = '%s' AND "
                  "w.blocking_trx_id = '%s')",
                  waiter->id, edge->lock, scan->sessions[edge->holder].id);
}

void remedy_mariadb_write(enum remedy remedy, const struct server_facts *facts,
                          const struct remedy_condition *condition, struct output *sql)
{
    const struct scan *scan = condition->scan;
    const struct session *session = &scan->sessions[condition->session];
    (void)facts;
    output_text(sql, "BEGIN NOT ATOMIC IF ");
    write_statement(session, condition->edge_count > 0, sql);
    for (size_t i = 0; i < condition->edge_count; i++)
        write_edge(scan, &scan->edges[condition->edges[i]], sql);
    output_text(sql, " THEN ");
    remedy_mariadb_advise(remedy, session, sql);
    output_text(sql, "; ELSE SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '" OVER "'; END IF; END");
}

void remedy_mysql_write(enum remedy remedy, const struct server_facts *facts,
                        const struct remedy_condition *condition, struct output *sql)
{
    (void)facts;
    remedy_mysql_advise(remedy, &condition->scan->sessions[condition->session], sql);
}

enum remedy_outcome remedy_innodb_outcome(const struct connection *answer)
{
    (void)answer;
    return OUTCOME_DONE; /* all other results are errors */
}

enum remedy_outcome remedy_innodb_refusal(const char *why)
{
    bool over =
        strstr(why, OVER) || strstr(why, "Unknown query id") || strstr(why, "Unknown thread id");
    return over ? OUTCOME_OVER : OUTCOME_REFUSED;
}
