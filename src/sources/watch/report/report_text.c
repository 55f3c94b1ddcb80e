/* For a person. */
#include "sources/watch/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE   200
#define ROOTS_MOST  5
#define CHAIN_MOST  8
#define QUERY_WIDTH 160

/* ------------------------------------------------------------------ sessions */

static void put_name(const struct telling *telling, struct member member)
{
    char name[NAME_SIZE];
    tell_name(telling, member, name, sizeof name);
    style_name(&telling->style, telling->out, COLOR_PROCESS, name);
}

static void put_plain(const struct telling *telling, const char *text)
{
    style_name(&telling->style, telling->out, COLOR_PLAIN, text);
}

static void put_about(const struct telling *telling, const char *word, const char *text)
{
    if (!*text)
        return;
    output_format(telling->out, ", %s", word);
    put_plain(telling, text);
}

/* "shop/4711 (alice, application orders, idle in transaction for 12.3 s)" */
static void put_session(const struct telling *telling, struct member member)
{
    const struct session *session = member_session(telling->sources, member);
    struct output *out = telling->out;
    put_name(telling, member);
    if (session->thread) {
        output_text(out, " (thread ");
        put_plain(telling, session->user);
        output_char(out, ')');
        return;
    }
    output_text(out, " (");
    put_plain(telling, *session->user ? session->user : "?");
    put_about(telling, "application ", session->application);
    put_about(telling, "database ", session->database);
    put_about(telling, "from ", session->address);
    if (session->port)
        output_format(out, ":%u", session->port);
    if (session->wait == SCAN_NONE && *session->state) {
        output_text(out, ", ");
        put_plain(telling, session->state);
        if (session->state_s >= 0)
            output_format(out, " for %.1f s", session->state_s);
    }
    if (session->transaction_s >= 0)
        output_format(out, ", transaction of %.1f s", session->transaction_s);
    output_char(out, ')');
}

/* In one line, cut where it gets long. */
static void put_query(const struct telling *telling, const struct session *session)
{
    char text[QUERY_WIDTH + 4];
    size_t length = 0;
    if (!*session->query)
        return;
    for (const char *at = session->query; *at && length < QUERY_WIDTH; at++) {
        bool blank = strchr(" \t\r\n", *at);
        if (!blank)
            text[length++] = *at;
        else if (length && text[length - 1] != ' ')
            text[length++] = ' ';
    }
    text[length] = '\0';
    output_format(telling->out, "        %s: ", session->active ? "query" : "last query");
    put_plain(telling, telling->verbose ? session->query : text);
    output_text(telling->out, !telling->verbose && length == QUERY_WIDTH ? " ...\n" : "\n");
}

static void put_wait(const struct telling *telling, const struct wait *wait)
{
    struct output *out = telling->out;
    if (*wait->mode) {
        output_format(out, "        waits %.1f s for ", wait->age_s > 0 ? wait->age_s : 0);
        put_plain(telling, wait->mode);
        output_text(out, " on ");
    } else {
        output_text(out, "        waits for ");
    }
    style_name(&telling->style, out, COLOR_RESOURCE, wait->object);
    if (*wait->row) {
        output_text(out, ", row ");
        style_name(&telling->style, out, COLOR_RESOURCE, wait->row);
    }
}

/* One edge: the session, its wait, who is in the way. */
static void put_arrow(const struct telling *telling, const struct arrow_between *arrow)
{
    const struct scan *scan = &telling->sources[arrow->from.source]->scan;
    const struct session *session = &scan->sessions[arrow->from.session];
    struct output *out = telling->out;
    output_text(out, "    ");
    put_session(telling, arrow->from);
    output_char(out, '\n');
    if (arrow->edge != SCAN_NONE) {
        const struct edge *edge = &scan->edges[arrow->edge];
        put_wait(telling, &scan->waits[edge->wait]);
        output_format(out, ", %s ", tell_holding(telling, arrow));
        put_name(telling, arrow->to);
        if (*edge->mode) {
            output_format(out, " %s ", edge->soft ? "for" : "in mode");
            put_plain(telling, edge->mode);
        }
    } else {
        const struct link *link = &telling->links->list[arrow->link];
        output_text(out, "        waits for ");
        put_plain(telling, link->client);
        output_text(out, link->caller ? ", which runs as "
                         : link->any  ? ", of which every thread waits: "
                                      : ", which waits in ");
        put_name(telling, arrow->to);
    }
    output_char(out, '\n');
    put_query(telling, session);
}

/* ------------------------------------------------------------------ what to do */

static void put_sql(const struct telling *telling, struct member victim, enum remedy remedy)
{
    struct source *source = telling->sources[victim.source];
    source->dialect->advise(remedy, member_session(telling->sources, victim), telling->out);
    output_char(telling->out, '\n');
}

static void put_advice(const struct telling *telling, const struct advice *advice)
{
    struct output *out = telling->out;
    if (!advice->found) {
        output_format(out, "    victim: %s\n", advice->why);
        return;
    }
    output_text(out, "    victim: ");
    put_name(telling, advice->victim);
    output_format(out, ": %s\n    on ", advice->why);
    put_plain(telling, telling->sources[advice->victim.source]->label);
    output_text(out, ": ");
    put_sql(telling, advice->victim, REMEDY_CANCEL);
    output_text(out, "    if it still waits, or a lock of its session stays: ");
    put_sql(telling, advice->victim, REMEDY_TERMINATE);
}

bool tell_deadlock(const struct telling *telling, const struct deadlock *deadlock,
                   const struct advice *advice, uint64_t number)
{
    struct output *out = telling->out;
    struct finding finding;
    deadlock_finding(&finding, telling, deadlock, NULL, number);
    style_color(&telling->style, out, COLOR_BAD);
    output_format(out, "deadlock %llu", (unsigned long long)number);
    style_color(&telling->style, out, COLOR_PLAIN);
    output_format(out, ": %s\n\n", finding.title);
    bool drawn = finding_draw(&finding, &telling->style, telling->verbose, out);
    finding_close(&finding);
    if (!drawn)
        return false;
    output_char(out, '\n');
    for (size_t i = 0; i < deadlock->cycle_count; i++)
        put_arrow(telling, &deadlock->cycle[i]);
    if (deadlock->member_count > deadlock->cycle_count)
        output_format(out, "    and %zu more in the same knot\n",
                      deadlock->member_count - deadlock->cycle_count);
    output_char(out, '\n');
    put_advice(telling, advice);
    output_char(out, '\n');
    return true;
}

/* ------------------------------------------------------------------ no deadlock */

static void put_chain(const struct telling *telling, const struct overview *overview)
{
    struct output *out = telling->out;
    if (overview->chain_count < 3)
        return;
    output_format(out, "  the longest chain has %zu: ", overview->chain_count);
    for (size_t i = 0; i < overview->chain_count; i++) {
        if (i == CHAIN_MOST && overview->chain_count > CHAIN_MOST + 1 && !telling->verbose) {
            output_format(out, " ... %zu more ...", overview->chain_count - CHAIN_MOST - 1);
            i = overview->chain_count - 1;
        }
        output_text(out, i ? " behind " : "");
        put_name(telling, (struct member){overview->chain_source, overview->chain[i]});
    }
    output_char(out, '\n');
}

void tell_overview(const struct telling *telling, const struct overview *overview)
{
    struct output *out = telling->out;
    for (size_t i = 0; i < overview->root_count; i++) {
        const struct root *root = &overview->roots[i];
        struct member member = {root->source, root->session};
        if (i == ROOTS_MOST && !telling->verbose) {
            output_format(out, "  and %zu more (--verbose shows all)\n", overview->root_count - i);
            break;
        }
        output_format(out, "  %zu %s behind ", root->behind, root->behind == 1 ? "waits" : "wait");
        put_session(telling, member);
        output_char(out, '\n');
        put_query(telling, member_session(telling->sources, member));
    }
    put_chain(telling, overview);
}

void tell_stall(const struct telling *telling, struct member member)
{
    const struct scan *scan = &telling->sources[member.source]->scan;
    uint32_t number = scan->sessions[member.session].wait;
    struct output *out = telling->out;
    output_text(out, "stall: ");
    put_session(telling, member);
    output_char(out, '\n');
    put_wait(telling, &scan->waits[number]);
    for (size_t i = 0, shown = 0; i < scan->edge_count && shown < 3; i++)
        if (scan->edges[i].wait == number) {
            output_text(out, shown++ ? ", " : ", behind ");
            put_name(telling, (struct member){member.source, scan->edges[i].holder});
        }
    output_char(out, '\n');
    put_query(telling, member_session(telling->sources, member));
}
