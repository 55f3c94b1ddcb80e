/*
 * Notifies of deadlocks outside the protocol: the log, and --on-deadlock.
 *
 * For each begin and end of a deadlock, the store keeps a pending notification, and later that it
 * was sent. So the next leader, or the next start, sends what a killed service had not sent. A
 * notification may be sent twice if the service was killed before it recorded the delivery;
 * receivers detect duplicates by the incident's number.
 */
#include "service/serve/server/server_internal.h"

#include "foundation/base/error.h"

#include <string.h>

#define DEADLOCK_TEXT 300 /* maximum bytes of names in a log line */
#define STANDING      10  /* maximum log lines about deadlocks that are already open */

/* ------------------------------------------------------------------ the log */

/* As JSON, because names may contain terminal escapes. */
static void log_deadlock(const struct server *server, const char *what,
                         const struct incident *incident)
{
    struct incident brief = *incident;
    struct output text;
    struct json json;
    if (!output_open(&text, -1))
        return;
    brief.witness = brief.replay = NULL;
    if (brief.processes && strlen(brief.processes) > DEADLOCK_TEXT)
        brief.processes = NULL; /* the history has them */
    json_begin(&json, &text);
    incident_json(&json, &brief);
    json_end(&json);
    if (!text.failure && text.used > 1)
        server_log(server, 6, "%s %.*s", what, (int)text.used - 1, text.buffer);
    output_close(&text);
}

/* ------------------------------------------------------------------ new deadlocks */

/* Without memory nothing changes: the notification may be sent twice. */
static void keep_notice(const struct server *server, uint64_t id, bool ended, bool notified)
{
    const struct incident notice = {
        .id = INCIDENT_NOTICE | id, .system = "", .at = notified, .ended = ended};
    store_incident(server->store, &notice);
}

static void report_deadlock(void *context, const struct incident *incident)
{
    struct server *server = context;
    if (server_may_log_deadlock(server))
        log_deadlock(server, incident->ended ? "a deadlock has ended:" : "a deadlock:", incident);
    if (!server->hook)
        return;
    keep_notice(server, incident->id, incident->ended > 0, false);
    /* Its record is the next one. */
    hook_queue_notice(server->hook, incident, store_last(server->store) + 1);
}

void server_watch(struct server *server)
{
    server->watcher = (struct service_watcher){.context = server, .incident = report_deadlock};
    service_watch(server->service, &server->watcher);
}

void server_record_sent(struct server *server)
{
    uint64_t id;
    bool ended;
    while (server->hook && server->leads && !server->lost &&
           hook_take_done(server->hook, &id, &ended))
        keep_notice(server, id, ended, true);
}

void server_watch_hook(struct server *server)
{
    struct hook_figures now;
    if (!server->hook || !server->tick)
        return;
    server_record_sent(server);
    hook_figures(server->hook, &now);
    server->service->counters.hooks_sent = now.sent;
    server->service->counters.hooks_failed = now.failed;
    server->service->counters.hooks_dropped = now.dropped;
    if (now.failed != server->logged_hook.failed || now.dropped != server->logged_hook.dropped)
        server_log_rarely(
            server, RARE_HOOK, 4, "--on-deadlock: %s; %llu notifications dropped so far",
            now.trouble[0] ? now.trouble : "too many at once", (unsigned long long)now.dropped);
    server->logged_hook = now;
}

/* ------------------------------------------------------------------ deadlocks before the start */

struct pending {
    struct server *server;
    uint64_t standing, notified;
    bool ended; /* of the current notification */
    gordian_error *error;
};

/* Ends incidents that are open in the history but not in the state (after a repair of the journal).
 */
static gordian_status check_open_incident(void *context, const struct incident *incident)
{
    struct pending *pending = context;
    struct server *server = pending->server;
    if (service_is_open(server->service, incident->id)) {
        if (pending->standing++ < STANDING)
            log_deadlock(server, "a deadlock is open:", incident);
        return GORDIAN_OK;
    }
    const struct incident ended = {.id = incident->id,
                                   .system = incident->system,
                                   .at = incident->at,
                                   .ended = service_now(server->service),
                                   .how = "unknown"};
    TRY(store_incident(server->store, &ended));
    report_deadlock(server, &ended);
    return GORDIAN_OK;
}

static gordian_status notify_again(void *context, const struct incident *incident)
{
    struct pending *pending = context;
    struct incident then = *incident;
    if (!pending->ended) {
        then.ended = 0;
        then.how = then.victim = NULL;
    }
    pending->notified++;
    hook_queue_notice(pending->server->hook, &then, 0);
    return GORDIAN_OK;
}

static gordian_status resend_notice(void *context, uint64_t id, bool ended)
{
    struct pending *pending = context;
    struct server *server = pending->server;
    pending->ended = ended;
    gordian_status status = incidents_get(store_incidents(server->store), id, NULL, notify_again,
                                          pending, pending->error);
    if (status != GORDIAN_STATUS_END)
        return status;
    keep_notice(server, id, ended, true); /* it is no longer kept */
    return GORDIAN_OK;
}

gordian_status server_send_pending(struct server *server, gordian_error *error)
{
    struct incidents_db *history = store_incidents(server->store);
    const struct incidents_filter open = {.open = true};
    struct pending pending = {.server = server, .error = error};
    gordian_status status = GORDIAN_OK;
    if (server->hook)
        status = notices_query(history, resend_notice, &pending, error);
    if (pending.notified > 0)
        server_log(server, 6, "--on-deadlock: %llu pending notifications are sent now",
                   (unsigned long long)pending.notified);
    THEN(status, incidents_query(history, &open, check_open_incident, &pending, error));
    if (pending.standing > STANDING)
        server_log(server, 6, "... and %llu more deadlocks are open",
                   (unsigned long long)(pending.standing - STANDING));
    return status;
}
