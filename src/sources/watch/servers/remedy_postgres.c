/* PostgreSQL: one SELECT with a CASE that checks, in this order: the session, its transaction and
 * its statement; every wait of the cycle on this server, and that its blocker still blocks it, with
 * the victim's wait last; and the permission. Only then it sends the signal. */
#include "sources/watch/servers/remedy.h"

#include <string.h>

/* Writes an SQL literal. The texts come from the server itself. */
static void write_literal(struct output *sql, const char *text)
{
    output_char(sql, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            output_char(sql, '\'');
        output_char(sql, *text);
    }
    output_char(sql, '\'');
}

/* Writes `column = text`. A text that was invisible to the role must still be invisible. */
static void write_same(struct output *sql, const char *column, const char *text)
{
    output_format(sql, "%s::text IS NOT DISTINCT FROM ", column);
    if (*text)
        write_literal(sql, text);
    else
        output_text(sql, "NULL");
}

void remedy_postgres_advise(enum remedy remedy, const struct session *session, struct output *sql)
{
    output_format(sql, "SELECT pg_%s_backend(pid) FROM pg_stat_activity WHERE pid = %lld",
                  remedy == REMEDY_CANCEL ? "cancel" : "terminate", (long long)session->pid);
    if (*session->statement) {
        output_text(sql, " AND query_start = ");
        write_literal(sql, session->statement);
    }
    output_text(sql, " AND wait_event_type = 'Lock'");
}

/* Writes the tables of sessions and waits, which are read once before any check. */
static void write_tables(const struct server_facts *facts, struct output *sql)
{
    const char *kept = facts->version >= 120000 ? "MATERIALIZED" : "";
    output_format(sql,
                  "WITH a AS %s (SELECT pid, %s, usesysid, backend_start, xact_start, query_start "
                  "FROM pg_stat_activity), "
                  "l AS %s (SELECT coalesce(a.leader_pid, k.pid) AS session, k.pid, k.mode, %s, "
                  "ROW(locktype, database, relation, page, tuple, virtualxid, transactionid, "
                  "classid, objid, objsubid)::text AS tag FROM pg_locks k LEFT JOIN a USING (pid) "
                  "WHERE NOT k.granted) ",
                  kept, facts->version >= 130000 ? "leader_pid" : "NULL::int AS leader_pid", kept,
                  facts->version >= 140000 ? "k.waitstart" : "a.query_start AS waitstart");
}

static void write_session(const struct session *session, bool statement, struct output *sql)
{
    output_format(sql, "WHEN NOT EXISTS (SELECT FROM a WHERE pid = %lld AND ",
                  (long long)session->pid);
    write_same(sql, "backend_start", session->started);
    if (statement) {
        output_text(sql, " AND ");
        write_same(sql, "xact_start", session->transaction);
        output_text(sql, " AND ");
        write_same(sql, "query_start", session->statement);
    }
    output_text(sql, ") THEN 'over' ");
}

/* Uses CASE, so that pg_blocking_pids runs last and only for this wait. */
static void write_edge(const struct scan *scan, const struct edge *edge, struct output *sql)
{
    const struct wait *wait = &scan->waits[edge->wait];
    output_format(sql, "WHEN NOT EXISTS (SELECT FROM l WHERE CASE WHEN session = %lld AND mode = ",
                  (long long)scan->sessions[wait->session].pid);
    write_literal(sql, wait->mode);
    output_text(sql, " AND tag = ");
    write_literal(sql, edge->lock);
    output_text(sql, " AND ");
    write_same(sql, "waitstart", edge->began);
    output_format(sql, " THEN %lld = ANY(pg_blocking_pids(pid)) ELSE false END) THEN 'over' ",
                  (long long)scan->sessions[edge->holder].pid);
}

/* Checks the permission, because the function would raise an error. */
static void write_right(const struct server_facts *facts, int64_t pid, struct output *sql)
{
    if (facts->superuser)
        return;
    output_format(sql,
                  "WHEN EXISTS (SELECT FROM a LEFT JOIN pg_roles r ON r.oid = a.usesysid "
                  "WHERE a.pid = %lld AND (r.rolsuper OR NOT "
                  "(pg_has_role(a.usesysid, 'usage') OR pg_has_role('pg_signal_backend', "
                  "'usage')))) THEN 'refused' ",
                  (long long)pid);
}

void remedy_postgres_write(enum remedy remedy, const struct server_facts *facts,
                           const struct remedy_condition *condition, struct output *sql)
{
    const struct scan *scan = condition->scan;
    const struct session *session = &scan->sessions[condition->session];
    write_tables(facts, sql);
    output_text(sql, "SELECT CASE ");
    write_session(session, remedy == REMEDY_CANCEL || condition->edge_count, sql);
    write_right(facts, session->pid, sql);
    for (size_t i = 0; i < condition->edge_count; i++)
        write_edge(scan, &scan->edges[condition->edges[i]], sql);
    output_format(sql, "WHEN pg_%s_backend(%lld) THEN 'done' ELSE 'over' END",
                  remedy == REMEDY_CANCEL ? "cancel" : "terminate", (long long)session->pid);
}

enum remedy_outcome remedy_postgres_outcome(const struct connection *answer)
{
    struct row row = {.answer = answer};
    const char *text = answer->rows > 0 ? next_word(&row) : "";
    if (strcmp(text, "done") == 0)
        return OUTCOME_DONE;
    return strcmp(text, "refused") == 0 ? OUTCOME_REFUSED : OUTCOME_OVER;
}

enum remedy_outcome remedy_postgres_refusal(const char *why)
{
    (void)why;
    return OUTCOME_REFUSED;
}
