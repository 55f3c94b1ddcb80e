/* The event loop: its events, and the work at the end of every iteration. server/open.c opens it.
 */
#include "service/serve/server/server.h"
#include "foundation/base/clock.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/threads/priority.h"
#include "service/serve/server/log.h"
#include "service/serve/server/server_internal.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ logging */

void server_log(const struct server *server, int level, const char *format, ...)
{
    char text[600];
    va_list arguments;
    if (!server->options.log)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    server->options.log(server->options.log_context, level, text);
}

void server_log_rarely(struct server *server, enum server_rare kind, int level, const char *format,
                       ...)
{
    struct server_rarely *rarely = &server->rarely[kind];
    uint64_t now = service_steady(server->service);
    char text[500], more[60] = "";
    va_list arguments;
    if (rarely->logged_at && now - rarely->logged_at < 60000) {
        rarely->left_out++;
        server->service->counters.log_suppressed++;
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (rarely->left_out)
        snprintf(more, sizeof more, " (and %llu more since the last such line)",
                 (unsigned long long)rarely->left_out);
    server_log(server, level, "%s%s", text, more);
    rarely->logged_at = now;
    rarely->left_out = 0;
}

bool server_may_log_deadlock(struct server *server)
{
    struct server_log_limit *limit = &server->deadlock_lines;
    uint64_t now = service_steady(server->service), most = SERVER_DEADLOCK_LINES * 1000;
    uint64_t gained = limit->refilled ? (now - limit->refilled) * SERVER_DEADLOCK_RATE : most;
    limit->refilled = now;
    limit->allowance += gained < most ? gained : most;
    limit->allowance = limit->allowance < most ? limit->allowance : most;
    if (limit->allowance >= 1000) {
        limit->allowance -= 1000;
        return true;
    }
    limit->left_out++;
    server->service->counters.log_suppressed++;
    return false;
}

void server_report_left_out(struct server *server, bool at_once)
{
    struct server_log_limit *limit = &server->deadlock_lines;
    uint64_t now = service_steady(server->service);
    if (limit->left_out == 0 || (!at_once && now - limit->reported_at < SERVER_LEFT_OUT_EVERY_MS))
        return;
    server_log(server, 6,
               "%llu lines about deadlocks were suppressed: there were more than %d a second; "
               "'gordian incidents' and the API list all deadlocks",
               (unsigned long long)limit->left_out, SERVER_DEADLOCK_RATE);
    limit->left_out = 0;
    limit->reported_at = now;
}

bool server_ready(const struct server *server, const char **why)
{
    if (server->stop_at || server->stop_signal) {
        *why = "stopping";
        return false;
    }
    if (server->service->standby_reason[0]) {
        *why = server->service->standby_reason;
        return false;
    }
    if (server->service->append_pending) {
        *why = "no memory for the journal";
        return false;
    }
    if (!store_healthy(server->store, why))
        return false;
    *why = "the database has not confirmed this server's leadership for the length of a lease";
    return store_is_sure_leader(server->store);
}

/* Logs once that the store has failed, and once that it works again. */
static void watch_health(struct server *server)
{
    const char *why = "";
    bool healthy = store_healthy(server->store, &why);
    if (healthy == server->was_healthy)
        return;
    server->was_healthy = healthy;
    if (!server->leads)
        server_log(server, healthy ? 5 : 4, "%s%s",
                   healthy ? "follows the leader again" : "cannot follow the leader: ", why);
    else if (healthy)
        server_log(server, 5, "the journal is being written again");
    else
        server_log(server, 3, "nothing is acknowledged: %s", why);
}

/* The same for snapshots. */
static void watch_snapshots(struct server *server)
{
    const char *why;
    bool fail = store_snapshots_fail(server->store, &why);
    if (fail == server->snapshots_fail)
        return;
    server->snapshots_fail = fail;
    if (fail)
        server_log(server, 3,
                   "cannot write a snapshot: %s. Events are still committed, but the journal "
                   "grows; retrying",
                   why);
    else
        server_log(server, 5, "snapshots are being written again");
}

static void watch_stalls(struct server *server)
{
    const struct service_counters *counters = &server->service->counters;
    if (counters->stalls == server->stalls)
        return;
    server_log(server, 4, "stalled for %llu ms: leases are extended by that time",
               (unsigned long long)(counters->stalled_ms - server->stalled_ms));
    server->stalls = counters->stalls;
    server->stalled_ms = counters->stalled_ms;
}

static void watch_tokens(struct server *server)
{
    uint64_t wrong = server->service->counters.wrong_tokens;
    if (wrong == server->wrong_tokens)
        return;
    server_log_rarely(server, RARE_TOKEN, 4, "a wrong token was sent by %s: %llu since the start",
                      server->token_guesser[0] ? server->token_guesser : "a client of HTTP",
                      (unsigned long long)wrong);
    server->token_guesser[0] = '\0';
    server->wrong_tokens = wrong;
}

/* ------------------------------------------------------------------ events */

static void on_server_timer(evutil_socket_t fd, short what, void *context)
{
    struct server *server = context;
    (void)fd;
    (void)what;
    server->tick = true;
}

static void on_doorbell(evutil_socket_t fd, short what, void *context)
{
    struct server *server = context;
    (void)fd;
    (void)what;
    uint64_t began = clock_ns();
    store_poll(server->store);
    server_apply_committed(server);
    metrics_span(&server->service->counters.spans, CAUSE_STORE, began, clock_ns());
}

static void on_signal(evutil_socket_t fd, short what, void *context)
{
    struct server *server = context;
    (void)what;
    if (fd == SIGHUP)
        server->reload = true;
    else if (fd == SIGUSR2)
        server->hand_over = true;
    else
        server->stop_signal = (int)fd;
}

static void on_watchdog(evutil_socket_t fd, short what, void *context)
{
    struct server *server = context;
    (void)fd;
    (void)what;
    systemd_say(&server->systemd, "WATCHDOG=1");
}

/* `us`: period of a timer; 0: none. */
static bool add_event(struct server *server, int fd, short what, event_callback_fn callback,
                      uint64_t us)
{
    struct timeval every = {.tv_sec = (time_t)(us / 1000000), .tv_usec = (int)(us % 1000000)};
    struct event *event = event_new(server->base, fd, what | EV_PERSIST, callback, server);
    if (!event)
        return false;
    server->events[server->event_count++] = event;
    return event_add(event, us ? &every : NULL) == 0;
}

gordian_status server_add_events(struct server *server, gordian_error *error)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR2};
    int bell = store_fd(server->store);
    uint64_t watchdog_us = server->systemd.watchdog_us;
    bool fine = add_event(server, -1, 0, on_server_timer, SERVER_TICK_MS * 1000);
    for (size_t i = 0; fine && i < sizeof signals / sizeof *signals; i++)
        fine = add_event(server, signals[i], EV_SIGNAL, on_signal, 0);
    fine = fine && (bell < 0 || add_event(server, bell, EV_READ, on_doorbell, 0)) &&
           (!watchdog_us || add_event(server, -1, 0, on_watchdog, watchdog_us / 2));
    return fine ? GORDIAN_OK : fail_memory(error);
}

void server_remove_events(struct server *server)
{
    while (server->event_count > 0)
        event_free(server->events[--server->event_count]);
}

/* ------------------------------------------------------------------ end of an iteration */

static void reload_files(struct server *server)
{
    gordian_error error = {0};
    server->reload = false;
    /* Type=notify-reload requires the monotonic time. */
    char message[64];
    snprintf(message, sizeof message, "RELOADING=1\nMONOTONIC_USEC=%llu",
             (unsigned long long)(clock_ns() / 1000));
    systemd_say(&server->systemd, message);
    bool good = true;
    if (auth_reload(server->auth, &error)) {
        server_log(server, 3, "keeping the old tokens: %s", error.message);
        good = false;
    }
    if (server->tls && tls_reload(server->tls, &error)) {
        server_log(server, 3, "keeping the old certificate: %s", error.message);
        good = false;
    }
    if (server->options.reload) {
        good &= server->options.reload(server->options.reload_context, &server->options);
        service_set_limits(server->service, &server->options.limits);
        store_keep_incidents(server->store, server->options.keep_incidents_ms);
    }
    systemd_say(&server->systemd, "READY=1");
    if (good)
        server_log(server, 6, "reloaded");
    else
        server_log(server, 3, "not everything could be reloaded: see above");
}

/* Stops accepting; clients get their answers and are asked to reconnect. */
static void begin_stop(struct server *server)
{
    server->stop_at = service_steady(server->service) + SERVER_STOP_MS;
    server->service->stopping = true;
    systemd_say(&server->systemd, "STOPPING=1");
    server_log(server, 6, "stopping");
    for (size_t i = 0; i < server->listener_count; i++)
        evconnlistener_disable(server->listeners[i].event);
    for (struct client *client = server->service->clients; client; client = client->next) {
        service_refuse(client, WIRE_STOPPING, 1000, "the service stops");
        client->wake(client);
    }
}

static void tick_clock(struct server *server)
{
    server->tick = false;
    connections_tick(server);
    server_report_left_out(server, false);
    if (server->options.log_queue)
        server->service->counters.log_dropped = log_dropped(server->options.log_queue);
    if (server->reload)
        reload_files(server);
    if (server->stop_signal && !server->stop_at)
        begin_stop(server);
    if (!server->accepting && !server->stop_at) {
        server->accepting = true;
        server->crowded = false;
        for (size_t i = 0; i < server->listener_count; i++)
            evconnlistener_enable(server->listeners[i].event);
    }
}

static void end_turn(struct server *server)
{
    struct metrics_spans *spans = &server->service->counters.spans;
    bool busy = server->tick || service_is_busy(server->service);
    server_watch_hook(server);
    uint64_t began = clock_ns();
    server->more_to_do = busy && service_tick(server->service) == 0;
    if (server->tick || server->reload || server->stop_signal)
        tick_clock(server);
    uint64_t ticked = clock_ns();
    store_seal(server->store);
    metrics_span(spans, CAUSE_TICK, began, ticked);
    metrics_span(spans, CAUSE_STORE, ticked, clock_ns());
    if (server->hand_over)
        server_hand_over(server);
    watch_health(server);
    watch_snapshots(server);
    watch_stalls(server);
    watch_tokens(server);
    hook_release(server->hook, (!server->service->append_pending &&
                                store_committed(server->store) == store_last(server->store))
                                   ? UINT64_MAX
                                   : store_committed(server->store));
    connections_flush(server);
    if (server->crowded)
        server_update_accepting(server);
    http_flush(server->http);
    /* a store can lead before its server has applied every record */
    if (server->leads && store_snapshot_due(server->store)) {
        began = clock_ns();
        server_snapshot(server, false);
        metrics_span(spans, CAUSE_STORE, began, clock_ns());
    }
    server->service->counters.turns++;
}

gordian_status server_turn(struct server *server, gordian_error *error)
{
    int flags = EVLOOP_ONCE | (server->more_to_do ? EVLOOP_NONBLOCK : 0);
    if (event_base_loop(server->base, flags) < 0)
        return fail(error, GORDIAN_STATUS_IO, "waiting for events failed: %s", strerror(errno));
    end_turn(server);
    return GORDIAN_OK;
}

gordian_status server_run(struct server *server, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    priority_soon(); /* all clients wait for the loop */
    systemd_say(&server->systemd, "READY=1");
    server_log(server, 6, "ready");
    while (status == GORDIAN_OK &&
           !(server->lost ||
             (server->stop_at && (server->connection_count == 0 ||
                                  service_steady(server->service) >= server->stop_at))))
        status = server_turn(server, error);
    return status;
}
