/* Opens the server: store and recovery, listeners; and closes it. */
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/http/listen.h"
#include "service/serve/server/server_internal.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG        1024
#define EXTEND_RECORDS 65536 /* records read between two keep-alive messages to systemd */
#define LOCK_TRIES     20    /* attempts for folder and socket: one second */
#define DATABASE_TRIES 10    /* one second apart */
#define SOON_TRIES     2
#define LOCK_WAIT_US   50000

void server_options_init(struct server_options *options)
{
    struct service_options service;
    struct store_options store;
    service_options_init(&service);
    store_options_init(&store);
    *options = (struct server_options){
        .durability = STORE_BATCH,
        .keep_incidents_ms = store.keep_incidents_ms,
        .limits = service.limits,
    };
}

/* ------------------------------------------------------------------ the journal */

static uint64_t append_record(void *context, uint64_t at, const void *bytes, size_t length)
{
    return store_append(context, at, bytes, length);
}

static gordian_status journal_incident(void *context, const struct incident *incident)
{
    return store_incident(context, incident);
}

static bool journal_healthy(void *context, const char **why)
{
    return store_healthy(context, why);
}

static bool journal_sure(void *context)
{
    return store_is_sure_leader(context);
}

static uint64_t journal_last(void *context)
{
    return store_last(context);
}

static struct questions *journal_history(void *context)
{
    return store_questions(context);
}

static void ask_token(void *context, const char *token, size_t length, struct service_grant *out)
{
    struct server *server = context;
    struct auth_grant grant;
    out->rights = SERVICE_WRITE;
    if (!auth_required(server->auth))
        return;
    auth_token(server->auth, token, length, &grant);
    server->service->counters.wrong_tokens += grant.rights == AUTH_NONE && length > 0;
    *out = (struct service_grant){
        .rights = (enum service_rights)grant.rights,
        .holder = grant.name,
        .systems = grant.systems,
        .max_systems = grant.max_systems,
        .max_names = grant.max_names,
        .max_memory = grant.max_memory,
        .max_events = grant.max_events,
    };
}

static bool is_kept(const struct server *server)
{
    return server->options.data || server->options.store;
}

static gordian_status open_store(struct server *server, gordian_error *error)
{
    struct store_options options;
    struct store_found found;
    store_options_init(&options);
    options.folder = server->options.data;
    options.postgres = server->options.store;
    options.schema = server->options.schema;
    options.address = server->address;
    options.lease_ms = server->options.leader_lease_ms;
    options.rest_ms = server->options.rest_ms;
    options.commits = server->options.commits;
    options.durability = is_kept(server) ? server->options.durability : STORE_NONE;
    options.repair = server->options.repair;
    options.repair_from = server->bad_record;
    options.accept_loss = server->options.accept_loss;
    options.fresh = server->options.fresh && !server->bad_record;
    options.keep_incidents_ms = server->options.keep_incidents_ms;
    options.keep_history_ms = server->options.keep_history_ms;
    options.history_bytes = server->options.history_bytes;
    gordian_status status = GORDIAN_STATUS_UNAVAILABLE;
    /* A killed service may still be exiting. */
    for (int tries = 0; status == GORDIAN_STATUS_UNAVAILABLE && tries < LOCK_TRIES; tries++) {
        if (tries > 0)
            usleep(LOCK_WAIT_US);
        status = store_open(&server->store, &options, &found, error);
    }
    if (status == GORDIAN_OK && found.note[0])
        server_log(server, 4, "%s", found.note);
    if (status == GORDIAN_OK && found.made)
        server_log(server, 6, "%s: a new database", options.folder ? options.folder : "PostgreSQL");
    return status;
}

/* A waiting client cannot be accepted without descriptors, and would wait forever. */
static bool listener_is_unheard(void *context, uint64_t since)
{
    const struct server *server = context;
    for (size_t i = 0; server->accepting && i < server->listener_count; i++) {
        const struct listener *listener = &server->listeners[i];
        struct pollfd door = {.fd = evconnlistener_get_fd(listener->event), .events = POLLIN};
        if (listener->listened < since && poll(&door, 1, 0) > 0)
            return true;
    }
    return connections_unheard(server, since);
}

static gordian_status open_service(struct server *server, gordian_error *error)
{
    struct service_options options;
    service_options_init(&options);
    options.limits = server->options.limits;
    options.durability = (uint8_t)(is_kept(server) ? server->options.durability : STORE_NONE);
    options.journal = (struct service_journal){
        .context = server->store,
        .append = append_record,
        .incident = journal_incident,
        .healthy = journal_healthy,
        .last = journal_last,
        .history = journal_history,
        .sure = journal_sure,
    };
    options.authorise = ask_token;
    options.fits = auth_fits;
    options.authorise_context = server;
    options.unheard = listener_is_unheard;
    options.unheard_context = server;
    return service_new(&server->service, &options, error);
}

static gordian_status load_section(void *context, const char *name, const void *bytes,
                                   size_t length, gordian_error *error)
{
    struct server *server = context;
    return service_load_section(server->service, name, bytes, length, error);
}

static gordian_status load_record(void *context, uint64_t number, uint64_t at, const void *bytes,
                                  size_t length, gordian_error *error)
{
    struct server *server = context;
    if (number % EXTEND_RECORDS == 0) /* ask systemd for more time */
        systemd_say(&server->systemd, "EXTEND_TIMEOUT_USEC=60000000");
    gordian_status status = service_replay(server->service, number, at, bytes, length, error);
    if (status == GORDIAN_STATUS_INPUT)
        server->bad_record = number;
    return status;
}

static gordian_status skip_newest(void *context, const struct incident *incident)
{
    struct server *server = context;
    service_skip_incidents(server->service, incident->id);
    return GORDIAN_STATUS_END;
}

gordian_status server_resume(struct server *server, gordian_error *error)
{
    service_resume(server->service);
    struct incidents_db *history = store_incidents(server->store);
    const struct incidents_filter newest = {.limit = 1};
    if (!history)
        return GORDIAN_OK;
    gordian_status status = incidents_query(history, &newest, skip_newest, server, error);
    if (status == GORDIAN_OK || status == GORDIAN_STATUS_END)
        status = server_send_pending(server, error);
    return status == GORDIAN_STATUS_END ? GORDIAN_OK : status;
}

static gordian_status open_once(struct server *server, gordian_error *error)
{
    static const struct store_loader loader = {load_section, load_record};
    TRY(open_store(server, error));
    TRY(open_service(server, error));
    TRY(store_load(server->store, &loader, server, error));
    return server_take_role(server, error);
}

static void forget_state(struct server *server)
{
    service_free(server->service);
    store_close(server->store);
    server->service = NULL;
    server->store = NULL;
}

/* Waits for a database that disappears while it is read, for example during a failover. A database
 * that has not answered at all is tried twice more. */
static gordian_status open_patiently(struct server *server, gordian_error *error)
{
    bool reached = false;
    gordian_status status = open_once(server, error);
    for (int tries = 0; tries < DATABASE_TRIES && status == GORDIAN_STATUS_IO; tries++) {
        reached |= server->options.store && server->store;
        if (!reached && (!server->options.store || tries == SOON_TRIES))
            break;
        if (reached)
            server_log(server, 4, "%s: retrying", error->message);
        forget_state(server);
        sleep(1);
        *error = (gordian_error){0};
        status = open_once(server, error);
    }
    return status;
}

/* Records can be intact individually and still not follow from one another (two services wrote to
 * one folder). A repair cuts off the first such record and all later ones. */
static gordian_status open_state(struct server *server, gordian_error *error)
{
    gordian_error trouble = {0};
    uint64_t before = UINT64_MAX;
    gordian_status status = open_patiently(server, &trouble);
    while (status == GORDIAN_STATUS_INPUT && server->bad_record && server->options.repair &&
           server->bad_record < before) {
        server_log(server, 4, "record %llu is inconsistent: %s",
                   (unsigned long long)server->bad_record, trouble.message);
        before = server->bad_record;
        forget_state(server);
        status = open_once(server, &trouble);
    }
    if (status == GORDIAN_STATUS_INPUT && server->bad_record)
        return fail(
            error, status,
            "%.120s: record %llu of the journal is inconsistent: %.120s. Restore a backup, or "
            "start once with --repair: it moves aside the records after the last good one",
            server->options.data ? server->options.data : "PostgreSQL",
            (unsigned long long)server->bad_record, trouble.message);
    if (status != GORDIAN_OK && error)
        *error = trouble;
    return status;
}

/* ------------------------------------------------------------------ accepting */

/* libevent accepts all waiting connections in a row. */
static void note_listening(struct server *server, const struct evconnlistener *event)
{
    for (size_t i = 0; i < server->listener_count; i++)
        if (server->listeners[i].event == event)
            server->listeners[i].listened = service_steady(server->service);
}

static void on_tcp(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                   int length, void *context)
{
    struct server *server = context;
    char label[64] = "tcp", host[INET6_ADDRSTRLEN + 16], port[16];
    int on = 1;
    note_listening(server, listener);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (getnameinfo(address, (socklen_t)length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(label, sizeof label, "%.46s:%.6s", host, port);
    connection_open(server, fd, FROM_TCP, label,
                    auth_required(server->auth) ? SERVICE_NOTHING : SERVICE_WRITE);
    server_update_accepting(server);
}

static void on_unix(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                    int length, void *context)
{
    struct server *server = context;
    char label[64];
    uid_t uid = (uid_t)-1;
    (void)address;
    (void)length;
    note_listening(server, listener);
    if (!auth_peer(&server->peers, fd, &uid)) {
        server_log_rarely(server, RARE_PEER, 4, "user %ld may not use the socket", (long)uid);
        server->service->counters.refused++;
        close(fd);
        return;
    }
    snprintf(label, sizeof label, "uid-%ld", (long)uid);
    connection_open(server, fd, FROM_UNIX, label, SERVICE_WRITE);
}

/* Stops accepting while all slots are taken by new connections: clients wait in the backlog instead
 * of being accepted and dropped. */
void server_update_accepting(struct server *server)
{
    bool crowded = !server->stop_at && !connections_have_slot(server);
    if (crowded == server->crowded || !server->accepting || server->stop_at)
        return;
    server->crowded = crowded;
    for (size_t i = 0; i < server->listener_count; i++)
        if (server->listeners[i].is_unix)
            continue;
        else if (crowded)
            evconnlistener_disable(server->listeners[i].event);
        else
            evconnlistener_enable(server->listeners[i].event);
}

/* Usually out of descriptors: pauses until the next tick. */
static void on_listener_error(struct evconnlistener *listener, void *context)
{
    struct server *server = context;
    int why = errno;
    server_log_rarely(server, RARE_ACCEPT, 4, "cannot accept connections: %s%s", strerror(why),
                      why == EMFILE ? "; raise the limit (ulimit -n, LimitNOFILE=)" : "");
    server->accepting = false;
    evconnlistener_disable(listener);
}

static gordian_status add_listener(struct server *server, int fd, bool is_unix, bool inherited,
                                   gordian_error *error)
{
    if (server->listener_count == SERVER_LISTENERS) {
        close(fd);
        return fail(error, GORDIAN_STATUS_INPUT, "too many addresses to listen on");
    }
    evutil_make_socket_nonblocking(fd);
    struct evconnlistener *event = evconnlistener_new(
        server->base, is_unix ? on_unix : on_tcp, server,
        LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, inherited ? 0 : BACKLOG, fd);
    if (!event) {
        close(fd);
        return fail(error, GORDIAN_STATUS_IO, "cannot listen: %s", strerror(errno));
    }
    evconnlistener_set_error_cb(event, on_listener_error);
    server->listeners[server->listener_count++] =
        (struct listener){.event = event, .is_unix = is_unix, .inherited = inherited};
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ a Unix socket */

/* Removes the socket file of a killed service. A child of it may still be closing the socket. */
static gordian_status clear_path(const char *path, const struct sockaddr_un *address,
                                 gordian_error *error)
{
    struct stat found;
    if (lstat(path, &found) != 0)
        return GORDIAN_OK;
    int why = 0;
    for (int tries = 0; why == 0 && tries < LOCK_TRIES; tries++) {
        if (tries > 0)
            usleep(LOCK_WAIT_US);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof *address) != 0)
            why = errno;
        if (fd >= 0)
            close(fd);
    }
    if (why == 0)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    "%.200s: another service listens there; name another socket (--socket)", path);
    if (why != ECONNREFUSED && why != ENOENT) /* it is unclear whether a process listens */
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    "%.200s: cannot check whether another service uses this socket: %s", path,
                    strerror(why));
    unlink(path);
    return GORDIAN_OK;
}

static gordian_status set_modes(const struct server *server, const char *path, gordian_error *error)
{
    gid_t group = server->peers.socket_group;
    if (group != (gid_t)-1 && chown(path, (uid_t)-1, group) != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "%.200s: cannot change its group: %s", path,
                    strerror(errno));
    if (chmod(path, auth_peers_mode(&server->peers)) != 0)
        return fail(error, GORDIAN_STATUS_IO, "%.200s: %s", path, strerror(errno));
    return GORDIAN_OK;
}

static uint64_t inode_of(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0 ? found.st_ino : 0;
}

static gordian_status listen_unix(struct server *server, const char *path, gordian_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    TRY(server_check_path(path, error));
    strcpy(address.sun_path, path);
    TRY(clear_path(path, &address, error));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    mode_t before = umask(0177); /* no access before the mode is set */
    int failed = fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address);
    int why = errno;
    umask(before);
    if (failed) {
        if (fd >= 0)
            close(fd);
        return fail(error, GORDIAN_STATUS_IO, "cannot listen on %.200s: %s: %s", path,
                    strerror(why),
                    why == ENOENT ? "make its folder first, or name another place with --socket"
                                  : "name another place with --socket");
    }
    gordian_status status = set_modes(server, path, error);
    if (status != GORDIAN_OK) {
        close(fd);
        unlink(path);
        return status;
    }
    status = add_listener(server, fd, true, false, error);
    if (status == GORDIAN_OK)
        server->listeners[server->listener_count - 1].inode = inode_of(path);
    return status;
}

/* ------------------------------------------------------------------ TCP */

static gordian_status listen_tcp(struct server *server, const char *text, gordian_error *error)
{
    char host[SERVER_HOST_MAX];
    struct addrinfo *list;
    gordian_status status = GORDIAN_OK;
    bool any = false;
    TRY(server_resolve(server, text, host, &list, error));
    for (const struct addrinfo *rest = list; rest && status == GORDIAN_OK; any = true) {
        int fd = listen_next(&rest, any, 0, LISTEN_TRIES);
        if (fd < 0 && errno)
            status = fail(error, GORDIAN_STATUS_IO, "cannot listen on %.100s: %s%s", text,
                          strerror(errno),
                          errno == EADDRINUSE ? "; name another address (--listen)" : "");
        if (fd < 0)
            break;
        server_log(server, 6, strchr(host, ':') ? "listening on [%s]:%u%s" : "listening on %s:%u%s",
                   host, listen_port(fd), server->tls ? " (TLS)" : "");
        status = add_listener(server, fd, false, false, error);
    }
    freeaddrinfo(list);
    return status;
}

static gordian_status listen_all(struct server *server, const char *list, gordian_error *error)
{
    char one[300];
    for (const char *at = list; *at;) {
        TRY(server_next_address(&at, one, sizeof one, error));
        TRY(listen_tcp(server, one, error));
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ all listeners */

gordian_status server_inherit(const struct systemd *systemd, int fd, struct inherited *socket,
                              gordian_error *error)
{
    int yes = 0;
    socklen_t size = sizeof yes, length = sizeof socket->address - 1; /* a NUL ends the path */
    const char *name = systemd->names;
    for (int skip = SYSTEMD_FIRST; skip < fd; skip++) {
        name += strcspn(name, ":");
        name += *name == ':';
    }
    *socket = (struct inherited){.http = strcspn(name, ":") == 4 && memcmp(name, "http", 4) == 0};
    if (systemd->sockets > SERVER_LISTENERS)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%llu sockets were passed by systemd; the limit is %d",
                    (unsigned long long)systemd->sockets, SERVER_LISTENERS);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &size) != 0 || !yes ||
        getsockname(fd, (struct sockaddr *)&socket->address, &length) != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "descriptor %d is not a listening socket", fd);
    socket->is_unix = socket->address.sun_family == AF_UNIX;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || evutil_make_socket_nonblocking(fd) != 0)
        return fail(error, GORDIAN_STATUS_IO, "descriptor %d: %s", fd, strerror(errno));
    return GORDIAN_OK;
}

/* Adopts sockets opened by systemd. `http`: those for HTTP, *count of them. *ours: one has our
 * path. */
static gordian_status adopt_sockets(struct server *server, int http[SERVER_LISTENERS],
                                    size_t *count, bool *ours, gordian_error *error)
{
    const char *path = server->options.socket;
    gordian_status status = GORDIAN_OK;
    for (uint64_t i = 0; i < server->systemd.sockets && status == GORDIAN_OK; i++) {
        struct inherited socket;
        int fd = SYSTEMD_FIRST + (int)i;
        TRY(server_inherit(&server->systemd, fd, &socket, error));
        if (server->options.store) /* a leader that is deposed opens everything again */
            fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        *ours |= socket.is_unix && path && strcmp(socket.address.sun_path, path) == 0;
        if (socket.http)
            http[(*count)++] = fd;
        else if (!socket.is_unix)
            status = auth_check_socket(server->auth, fd, server->tls != NULL,
                                       server->options.insecure, error);
        if (status == GORDIAN_OK && !socket.http)
            status = add_listener(server, fd, socket.is_unix, true, error);
    }
    return status;
}

static gordian_status open_listeners(struct server *server, gordian_error *error)
{
    const struct server_options *options = &server->options;
    int fds[SERVER_LISTENERS];
    size_t count = 0;
    bool ours = false;
    gordian_status status = adopt_sockets(server, fds, &count, &ours, error);
    if (status == GORDIAN_OK && options->socket && !ours)
        status = listen_unix(server, options->socket, error);
    if (status == GORDIAN_OK && options->listen)
        status = listen_all(server, options->listen, error);
    const char *address = options->http ? options->http : SERVER_DEFAULT_HTTP;
    if (status != GORDIAN_OK || (count == 0 && strcmp(address, "none") == 0))
        return status;
    return http_open(&server->http, server, address, fds, count, error);
}

static gordian_status open_security(struct server *server, gordian_error *error)
{
    const struct server_options *options = &server->options;
    TRY(auth_open(&server->auth, options->token_file, error));
    TRY(auth_peers_open(&server->peers, options->socket_group, options->allow_uid,
                        options->allow_group, error));
    if (options->tls_cert)
        TRY(tls_open(&server->tls, options->tls_cert, options->tls_key, options->tls_clients,
                     error));
    if (!options->hook && options->on_deadlock)
        TRY(hook_open(&server->hook, options->on_deadlock, options->on_deadlock_secret, error));
    return GORDIAN_OK;
}

static gordian_status open_base(struct server *server, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    server->scratch = memory_alloc(&memory, 2 * (size_t)SERVER_READ);
    struct event_config *config = event_config_new();
    if (config)
        event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
    server->base = config ? event_base_new_with_config(config) : NULL;
    if (config)
        event_config_free(config);
    return server->base && server->scratch ? GORDIAN_OK : fail_memory(error);
}

gordian_status server_open(struct server **out, const struct server_options *options,
                           gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    *out = NULL;
    struct server *server = memory_zeroed(&memory, sizeof *server);
    if (!server)
        return fail_memory(error);
    server->options = *options;
    server->accepting = server->was_healthy = true;
    server->unidentified_end = &server->unidentified;
    server->peers.socket_group = (gid_t)-1;
    server_name(server);
    server->hook = options->hook; /* before it leads: notifications may be pending */
    if (options->systemd)
        server->systemd = *options->systemd;
    else
        systemd_open(&server->systemd);
    gordian_status status = open_base(server, error);
    THEN(status, open_security(server, error));
    THEN(status, server_check_options(server, error));
    THEN(status, open_state(server, error));
    /* Signal handlers first, because clients can end the process as soon as they see it. */
    THEN(status, server_add_events(server, error));
    THEN(status, open_listeners(server, error));
    if (status == GORDIAN_OK)
        server_watch(server);
    if (status != GORDIAN_OK) {
        server->hook = server->hook == options->hook ? NULL : server->hook;
        server_close(server);
        return status;
    }
    *out = server;
    return GORDIAN_OK;
}

void server_close(struct server *server)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (!server)
        return;
    while (server->connections)
        connection_close(server->connections);
    http_close(server->http);
    if (server->service)
        server_report_left_out(server, true);
    for (size_t i = 0; i < server->listener_count; i++) {
        evconnlistener_free(server->listeners[i].event);
        if (server->listeners[i].is_unix && !server->listeners[i].inherited)
            if (inode_of(server->options.socket) == server->listeners[i].inode)
                unlink(server->options.socket);
    }
    server_remove_events(server);
    /* An orderly end: a snapshot makes the next start fast. With a shared store other servers
     * continue, and must not wait for it. */
    if (server->stop_at && !store_is_shared(server->store))
        server_snapshot(server, true);
    server_snapshot_stop(server);
    hook_stop(server->hook);
    server_record_sent(server);
    hook_close(server->hook);
    service_free(server->service);
    store_close(server->store);
    tls_close(server->tls);
    auth_peers_close(&server->peers);
    auth_close(server->auth);
    if (server->systemd.fd >= 0)
        close(server->systemd.fd);
    if (server->base)
        event_base_free(server->base);
    memory_free_all(&memory, server->scratch, server);
}
