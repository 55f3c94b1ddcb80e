/*
 * Several servers on one store: a leader and standbys (docs/guide/cluster.md).
 *
 * A standby holds the whole state as last committed, and answers read-only requests. When it
 * becomes leader, it continues from there. A leader that loses the leadership may hold records that
 * were never committed, so it ends its event loop and is opened again.
 */
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "service/serve/server/server_internal.h"

#include <stdio.h>
#include <string.h>

static gordian_status follow_section(void *context, const char *name, const void *bytes,
                                     size_t length, gordian_error *error)
{
    (void)context, (void)name, (void)bytes, (void)length;
    return fail(error, GORDIAN_STATUS_INPUT, "a snapshot between records");
}

static gordian_status follow_record(void *context, uint64_t number, uint64_t at, const void *bytes,
                                    size_t length, gordian_error *error)
{
    struct server *server = context;
    return service_replay(server->service, number, at, bytes, length, error);
}

void server_name(struct server *server)
{
    const struct server_options *options = &server->options;
    const char *listen = options->listen ? options->listen : ":";
    bool wildcard = strncmp(listen, "0.0.0.0:", 8) == 0 || strncmp(listen, "[::]:", 5) == 0 ||
                    strncmp(listen, "*:", 2) == 0 || listen[0] == ':';
    char *to = server->address;
    if (options->advertise)
        snprintf(to, sizeof server->address, "%s", options->advertise);
    else if (!wildcard)
        snprintf(to, sizeof server->address, "%.*s", (int)strcspn(listen, ","), listen);
    else if (options->socket)
        snprintf(to, sizeof server->address, "unix:%.200s", options->socket);
}

/* Logs the leader's address when it changes. */
static void stand_by(struct server *server)
{
    char before[sizeof server->service->standby_reason];
    const char *leader = store_leader(server->store);
    memcpy(before, server->service->standby_reason, sizeof before);
    service_become_standby(server->service, leader);
    if (strcmp(before, server->service->standby_reason) != 0)
        server_log(server, 6, "%s", server->service->standby_reason);
}

static void lose_leadership(struct server *server, const char *why)
{
    if (server->lost)
        return;
    server_log(server, 4, "%s: restarting as a standby", why);
    server->lost = true;
    /* Standbys name the new leader to reconnecting clients, this server cannot. Unsent answers and
     * this error may stay unsent. */
    service_become_standby(server->service, "");
    for (struct client *client = server->service->clients; client; client = client->next) {
        service_refuse(client, WIRE_NOT_LEADER, 0, server->service->standby_reason);
        client->wake(client);
    }
}

/* Limits the time per iteration. */
static bool applied_enough(void *context)
{
    const struct server *server = context;
    return clock_ns() - server->follow_ns > SERVER_APPLY_NS;
}

/* Applies what the leader has committed since, or a slice of it (*more). False: the leadership
 * state is lost. */
static bool apply_committed(struct server *server, bool *more)
{
    static const struct store_loader loader = {follow_section, follow_record, applied_enough};
    gordian_error error = {0};
    server->follow_ns = clock_ns();
    gordian_status status = store_follow(server->store, &loader, server, more, &error);
    if (status != GORDIAN_OK)
        lose_leadership(server, status == GORDIAN_STATUS_END
                                    ? "part of the journal is no longer available"
                                    : error.message);
    return status == GORDIAN_OK;
}

gordian_status server_take_role(struct server *server, gordian_error *error)
{
    /* The store's thread runs already and may have become leader meanwhile. The role is read first:
     * a leader has received every record. */
    bool leads = store_role(server->store) == STORE_LEADER, good, more;
    do
        good = apply_committed(server, &more);
    while (good && more);
    server->leads = good && leads;
    if (server->leads) {
        if (store_is_shared(server->store))
            server_log(server, 6, "leads, as %s", server->address);
        return server_resume(server, error);
    }
    if (!server->lost)
        stand_by(server);
    return GORDIAN_OK;
}

void server_apply_committed(struct server *server)
{
    gordian_error error = {0};
    /* read first: a leader has received every record, unless there is more */
    enum store_role role = store_role(server->store);
    bool more;
    if (!server->leads && !server->lost && apply_committed(server, &more)) {
        if (role != STORE_LEADER) {
            stand_by(server);
        } else if (!more) {
            service_become_standby(server->service, NULL);
            server->leads = true;
            server_log(server, 5, "now the leader, as %s", server->address);
            if (server_resume(server, &error) != GORDIAN_OK)
                lose_leadership(server, error.message);
        }
    }
    if (role == STORE_LOST)
        lose_leadership(server, store_lost(server->store));
}

void server_hand_over(struct server *server)
{
    server->hand_over = false;
    if (!store_is_shared(server->store)) {
        server_log(server, 4, "cannot step down: no other server shares the store (see --store)");
        return;
    }
    if (!server->leads)
        return;
    server_log(server, 5, "stepping down as leader");
    store_hand_over(server->store);
}

void server_pass_on(struct server *server, struct systemd *systemd, struct hook **hook)
{
    *systemd = server->systemd;
    server->systemd.fd = -1;
    hook_clear(server->hook);
    *hook = server->hook;
    server->hook = NULL;
}

bool server_lost(const struct server *server, const char **why)
{
    *why = store_lost(server->store);
    return server->lost && !server->stop_signal;
}
