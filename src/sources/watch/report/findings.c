/* Findings of watched servers: deadlocks across servers, and long waits. */
#include "sources/watch/report/report.h"

#include <stdio.h>
#include <string.h>

void write_member_name(const struct telling *telling, struct member member, char *text, size_t size)
{
    const struct session *session = member_session(telling->sources, member);
    const char *label = telling->sources[member.source]->label;
    if (session->pid > 0)
        snprintf(text, size, "%s/%lld", label, (long long)session->pid);
    else
        snprintf(text, size, "%s/'%s'", label, session->gid ? session->gid : "?");
}

const char *edge_resource_text(const struct telling *telling, const struct session_edge *arrow)
{
    const struct scan *scan = &telling->sources[arrow->from.source]->scan;
    if (arrow->link != SCAN_NONE)
        return telling->links->list[arrow->link].client;
    const struct wait *wait = &scan->waits[scan->edges[arrow->edge].wait];
    return *wait->row ? wait->row : wait->object;
}

const char *edge_holding_text(const struct telling *telling, const struct session_edge *arrow)
{
    if (arrow->link == SCAN_NONE)
        return arrow->soft ? "queued for by" : "held by";
    const struct link *link = &telling->links->list[arrow->link];
    return link->caller ? "runs as" : link->any ? "its thread" : "busy in";
}

/* ------------------------------------------------------------------ parties */

static struct finding_session describe_session(const struct telling *telling, struct member member)
{
    const struct session *from = member_session(telling->sources, member);
    return (struct finding_session){
        .server = telling->sources[member.source]->label,
        .pid = from->pid,
        .prepared = from->gid,
        .user = from->user,
        .application = from->application,
        .database = from->database,
        .client = from->address,
        .client_port = from->port,
        .state = from->state,
        .state_s = from->state_s,
        .transaction_s = from->transaction_s,
        .query = from->query,
        .thread = from->thread,
        .waiting = from->wait != SCAN_NONE,
        .active = from->active,
    };
}

void print_session(const struct telling *telling, struct member member)
{
    const struct finding_session session = describe_session(telling, member);
    char name[200];
    write_member_name(telling, member, name, sizeof name);
    finding_session_text(name, &session, &telling->look, telling->out);
}

static uint32_t add_session(struct finding *finding, const struct telling *telling,
                            struct member member)
{
    const struct session *from = member_session(telling->sources, member);
    struct finding_session *session = finding_alloc(finding, sizeof *session);
    char name[200];
    write_member_name(telling, member, name, sizeof name);
    uint32_t number = finding_party(finding, finding_copy(finding, name),
                                    from->thread    ? "thread"
                                    : from->pid > 0 ? "session"
                                                    : "prepared transaction");
    if (number == FINDING_NONE || !session)
        return FINDING_NONE;
    struct finding_party *party = &finding->parties[number];
    party->session = session;
    party->about = finding_format(finding, "%.60s%s%.60s", from->user,
                                  *from->application ? ", " : "", from->application);
    *session = describe_session(telling, member);
    return number;
}

/* ------------------------------------------------------------------ edges */

/* Adds the row or the object that a session waits for. */
static uint32_t add_object(struct finding *finding, const struct wait *wait)
{
    uint32_t number = finding_resource(finding, *wait->row ? wait->row : wait->object, "lock");
    if (number != FINDING_NONE) {
        finding->resources[number].object = wait->object;
        finding->resources[number].row = wait->row;
    }
    return number;
}

static void fill_wait(struct finding_edge *to, const struct wait *wait)
{
    to->mode = wait->mode;
    to->wait_s = wait->age_s;
}

/* Returns the beginning of the query on one line. */
static const char *short_query(struct finding *finding, const struct session *session)
{
    char text[41];
    snprintf(text, sizeof text, "%.40s", session->query);
    for (char *at = text; *at; at++)
        if (*at == '\n' || *at == '\t')
            *at = ' ';
    return finding_copy(finding, text);
}

static void add_arrow(struct finding *finding, const struct telling *telling,
                      const struct session_edge *arrow, uint32_t from, uint32_t to)
{
    const struct scan *scan = &telling->sources[arrow->from.source]->scan;
    bool lock = arrow->edge != SCAN_NONE;
    const struct link *link = lock ? NULL : &telling->links->list[arrow->link];
    uint32_t resource = lock ? add_object(finding, &scan->waits[scan->edges[arrow->edge].wait])
                             : finding_resource(finding, link->client, "client");
    struct finding_edge *edge = finding_edge(finding, from, resource, to);
    if (resource == FINDING_NONE)
        return;
    finding->resources[resource].holding = edge_holding_text(telling, arrow);
    edge->place = short_query(finding, member_session(telling->sources, arrow->from));
    if (lock) {
        fill_wait(edge, &scan->waits[scan->edges[arrow->edge].wait]);
        edge->held_mode = scan->edges[arrow->edge].mode;
        edge->relation = scan->edges[arrow->edge].soft ? FINDING_QUEUED : FINDING_HOLDS;
    } else {
        edge->relation = link->caller ? FINDING_CALL : FINDING_CLIENT;
    }
}

/* ------------------------------------------------------------------ findings */

static const char *title_of(struct finding *finding, const struct deadlock *deadlock)
{
    size_t sessions = deadlock->cycle_count;
    if (deadlock->threads)
        return finding_format(
            finding,
            "%zu threads and %zu sessions wait for each other, which no single server can see",
            deadlock->threads, sessions - deadlock->threads);
    if (deadlock->server_count > 1)
        return finding_format(
            finding,
            "%zu sessions of %zu servers wait for each other, which no single server can see",
            sessions, deadlock->server_count);
    return finding_format(finding, "%zu sessions wait for each other", sessions);
}

static const char *sql_of(struct finding *finding, const struct telling *telling,
                          struct member victim, enum remedy remedy)
{
    struct output sql;
    if (!output_open(&sql, OUTPUT_MEMORY)) {
        finding->failed = true;
        return NULL;
    }
    telling->sources[victim.source]->dialect->advise(
        remedy, member_session(telling->sources, victim), &sql);
    output_char(&sql, '\0');
    const char *text = sql.failure ? NULL : finding_copy(finding, sql.buffer);
    output_close(&sql);
    return text;
}

static void fill_advice(struct finding *finding, const struct telling *telling,
                        const struct advice *advice)
{
    char name[200];
    finding->advice.text = advice->why;
    if (!advice->found)
        return;
    write_member_name(telling, advice->victim, name, sizeof name);
    for (uint32_t i = 0; i < finding->party_count; i++)
        if (strcmp(finding->parties[i].name, name) == 0)
            finding->advice.victim = i;
    finding->advice.cancel = sql_of(finding, telling, advice->victim, REMEDY_CANCEL);
    finding->advice.terminate = sql_of(finding, telling, advice->victim, REMEDY_TERMINATE);
}

void deadlock_finding(struct finding *finding, const struct telling *telling,
                      const struct deadlock *deadlock, const struct advice *advice, uint64_t number)
{
    uint32_t count = (uint32_t)deadlock->cycle_count;
    finding_open(finding, "watch", FINDING_DEADLOCK, FINDING_PROVED);
    finding_stamp(finding);
    finding->number = number;
    finding->title = title_of(finding, deadlock);
    finding->cycle = true;
    for (uint32_t i = 0; i < count; i++)
        add_session(finding, telling, deadlock->cycle[i].from);
    for (size_t i = 0; i < deadlock->member_count; i++) {
        bool listed = false;
        for (size_t k = 0; k < count && !listed; k++)
            listed = memcmp(&deadlock->cycle[k].from, &deadlock->members[i],
                            sizeof deadlock->members[i]) == 0;
        if (!listed)
            add_session(finding, telling, deadlock->members[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        add_arrow(finding, telling, &deadlock->cycle[i], i, i + 1 < count ? i + 1 : 0);
    if (advice)
        fill_advice(finding, telling, advice);
}

void stall_finding(struct finding *finding, const struct telling *telling, struct member member)
{
    const struct scan *scan = &telling->sources[member.source]->scan;
    uint32_t number = scan->sessions[member.session].wait;
    const struct wait *wait = &scan->waits[number];
    finding_open(finding, "watch", FINDING_STALL, FINDING_PROVED);
    finding_stamp(finding);
    uint32_t waiter = add_session(finding, telling, member);
    uint32_t object = add_object(finding, wait);
    finding->title =
        finding_format(finding, "a session waits for %s", *wait->row ? wait->row : wait->object);
    fill_wait(finding_edge(finding, waiter, object, FINDING_NONE), wait);
    for (size_t i = 0; i < scan->edge_count && !finding->failed; i++) {
        const struct edge *edge = &scan->edges[i];
        if (edge->wait != number)
            continue;
        uint32_t holder =
            add_session(finding, telling, (struct member){member.source, edge->holder});
        if (holder == FINDING_NONE)
            return;
        finding->parties[holder].role = FINDING_OTHER;
        struct finding_edge *to = finding_edge(finding, FINDING_NONE, object, holder);
        to->held_mode = edge->mode;
        to->relation = edge->soft ? FINDING_QUEUED : FINDING_HOLDS;
    }
}
