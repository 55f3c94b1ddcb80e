/*
 * A connection: passes bytes from a socket to the service, and its answers back.
 *
 * Reading. Each iteration reads at most SERVER_READ bytes, into a buffer shared by all connections.
 * Only the rest of an unfinished frame or line is kept with the connection.
 *
 * Sending. Answers are collected in client.out. At the end of an iteration a *hold* records how far
 * they go and which record must be committed before they may be sent. All answers that may be sent
 * go out with one call. Positions are counted from the start of the connection, so that the buffer
 * can be moved.
 *
 * Back-pressure: a client that does not read its answers, or exceeds its rate limit, is not read
 * from.
 */
#include "foundation/base/clock.h"
#include "foundation/base/memory.h"
#include "service/serve/server/server.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEEP_ROOM  (256u << 10) /* free an empty buffer above this size */
#define PARTIAL_MS 60000        /* timeout for the rest of a started frame */
#define GRACE_MS   250          /* a new connection cannot be replaced for this long */
#define RETRY_MS   10           /* interval of checking whether answers were read */

/* Answers up to `end` may be sent when record `number` is committed. */
struct hold {
    uint64_t end;
    uint64_t number;
    uint64_t arrived; /* ns: arrival of the events that they answer */
    uint64_t events;
};

struct connection {
    struct client client;
    struct server *server;
    struct connection *next, *prev;
    struct connection *next_dirty;
    struct connection *next_unidentified, **unidentified_link; /* NULL: it has identified itself */
    int fd;
    struct event *readable, *writable; /* without TLS */
    struct event *resume;              /* timer: the rate limit allows reading again */
    struct bufferevent *tls;           /* with TLS */
    enum connection_from from;

    unsigned char *in; /* rest of an unfinished frame or line */
    size_t in_used, in_room;
    size_t wanted; /* bytes needed before anything can be processed */

    uint64_t gone; /* bytes already removed from `out` */
    size_t sent;   /* bytes of `out` that were sent */
    struct hold *holds;
    uint32_t hold_first, hold_count, hold_room;
    uint64_t events; /* events since the last hold, and their arrival */
    uint64_t arrived;

    uint64_t opened, progress, received; /* steady ms */
    uint64_t listened;                   /* steady ms of the service: last read */
    bool is_dirty, reading, blocked;     /* blocked: the socket buffer is full */
    bool throttled, ended, broken;       /* ended: end of file received */
    /* The delayed answer to a wrong token. */
    enum { GUESS_NONE, GUESS_WAITS, GUESS_ANSWERED } guess;
};

/* ------------------------------------------------------------------ helpers */

static size_t unsent_bytes(const struct connection *connection)
{
    size_t size = connection->client.out.used - connection->sent;
    if (connection->tls)
        size += evbuffer_get_length(bufferevent_get_output(connection->tls));
    return size;
}

static void make_dirty(struct connection *connection)
{
    if (connection->is_dirty)
        return;
    connection->is_dirty = true;
    connection->next_dirty = connection->server->dirty;
    connection->server->dirty = connection;
}

static void on_wake(struct client *client)
{
    make_dirty(client->owner);
}

/* Is there unread data or an end of file? */
static bool has_arrived(const struct connection *connection)
{
    struct pollfd socket = {.fd = connection->fd, .events = POLLIN};
    return (connection->tls && evbuffer_get_length(bufferevent_get_input(connection->tls)) > 0) ||
           poll(&socket, 1, 0) > 0;
}

/* Does the connection have unprocessed data? Then its lease has not started to run. */
static bool has_more(const struct client *client)
{
    const struct connection *connection = client->owner;
    return connection->throttled || connection->ended || connection->broken ||
           has_arrived(connection);
}

static void set_reading(struct connection *connection, bool on)
{
    if (on == connection->reading)
        return;
    connection->reading = on;
    if (connection->tls && on) {
        bufferevent_enable(connection->tls, EV_READ);
        /* data already decrypted does not make the socket readable */
        if (evbuffer_get_length(bufferevent_get_input(connection->tls)) > 0)
            bufferevent_trigger(connection->tls, EV_READ, BEV_OPT_DEFER_CALLBACKS);
    } else if (connection->tls)
        bufferevent_disable(connection->tls, EV_READ);
    else if (on)
        event_add(connection->readable, NULL);
    else
        event_del(connection->readable);
}

/* Reads unless there is a reason not to (back-pressure). */
static void consider_reading(struct connection *connection)
{
    set_reading(connection, !connection->ended && !connection->throttled &&
                                !connection->client.closing &&
                                unsent_bytes(connection) < SERVER_OUT_PAUSE);
}

/* ------------------------------------------------------------------ connections that have not
 * identified themselves */

static void remove_unidentified(struct connection *connection)
{
    if (!connection->unidentified_link)
        return;
    *connection->unidentified_link = connection->next_unidentified;
    if (connection->next_unidentified)
        connection->next_unidentified->unidentified_link = connection->unidentified_link;
    else
        connection->server->unidentified_end = connection->unidentified_link;
    connection->unidentified_link = NULL;
    connection->next_unidentified = NULL;
}

static bool is_unidentified(const struct connection *connection)
{
    const struct client *client = &connection->client;
    return client->form == CLIENT_UNKNOWN || client->rights == SERVICE_NOTHING;
}

/* ------------------------------------------------------------------ passing bytes to the service
 */

/* Keeps the unused bytes. */
static void keep_rest(struct connection *connection, const unsigned char *bytes, size_t count)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (count == 0) {
        connection->in_used = 0;
        if (connection->in_room > KEEP_ROOM) {
            memory_free(&memory, connection->in);
            connection->in = NULL;
            connection->in_room = 0;
        }
        return;
    }
    if (!memory_grow(&memory, &connection->in, &connection->in_room, count, 1)) {
        connection->broken = true;
        return;
    }
    memmove(connection->in, bytes, count);
    connection->in_used = count;
}

/* Continues when the rate limit allows it, or in the next iteration if answers have been read. */
static void throttle_reading(struct connection *connection)
{
    uint32_t ms = service_backpressure_ms(&connection->client);
    if (unsent_bytes(connection) >= SERVER_OUT_PAUSE && ms < RETRY_MS)
        ms = RETRY_MS;
    struct timeval pause = {.tv_sec = ms / 1000, .tv_usec = (int)(ms % 1000) * 1000};
    connection->throttled = true;
    event_add(connection->resume, &pause);
}

/* Passes bytes to the service. */
static void process_bytes(struct connection *connection, const unsigned char *bytes, size_t count)
{
    struct client *client = &connection->client;
    uint64_t before = client->service->counters.events;
    size_t wanted, used = service_take(client, bytes, count, SIZE_MAX, &wanted);
    metrics_span(&client->service->counters.spans, CAUSE_EVENTS, connection->server->turn_ns,
                 clock_ns());
    if (!is_unidentified(connection))
        remove_unidentified(connection);
    if (client->guessed)
        snprintf(connection->server->token_guesser, sizeof connection->server->token_guesser, "%s",
                 client->label);
    if (connection->events == 0)
        connection->arrived = connection->server->turn_ns;
    connection->events += client->service->counters.events - before;
    connection->wanted = wanted;
    client->buffered = connection->in_room + connection->hold_room * sizeof *connection->holds;
    keep_rest(connection, bytes + used, client->closing ? 0 : count - used);
    if (wanted == 0 && !client->closing)
        throttle_reading(connection);
    make_dirty(connection);
}

/* Handles end of file. A last line without newline may be cut, `q=1` of `q=12`, if the connection
 * broke: it is rejected with an error. */
static void take_end(struct connection *connection)
{
    struct client *client = &connection->client;
    connection->ended = true;
    if (!connection->throttled) {
        if (client->form == CLIENT_LINES && connection->in_used > 0 && !client->closing)
            service_refuse(client, WIRE_BAD_VALUE, 0,
                           "the last line was ignored: it has no newline at its end");
        connection->in_used = 0;
        client->closing = true;
    }
    make_dirty(connection);
}

static void on_resume(evutil_socket_t fd, short what, void *context)
{
    struct connection *connection = context;
    (void)fd;
    (void)what;
    if (connection->guess == GUESS_WAITS) {
        connection->guess = GUESS_ANSWERED;
        make_dirty(connection);
        return;
    }
    if (unsent_bytes(connection) >= SERVER_OUT_PAUSE) {
        throttle_reading(connection);
        return;
    }
    connection->throttled = false;
    connection->server->turn_ns = clock_ns();
    process_bytes(connection, connection->in, connection->in_used);
    if (connection->ended)
        take_end(connection);
    consider_reading(connection);
}

/* ------------------------------------------------------------------ reading */

/* Returns the count like read(2); 0: end of file; -1: nothing now, or broken. */
static ssize_t receive_bytes(struct connection *connection, unsigned char *to, size_t size)
{
    ssize_t count;
    if (connection->tls)
        return evbuffer_remove(bufferevent_get_input(connection->tls), to, size);
    do
        count = recv(connection->fd, to, size, 0);
    while (count < 0 && errno == EINTR);
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        connection->broken = true;
    return count;
}

/* Reads the rest of a large frame directly into the connection's buffer. */
static ssize_t receive_rest(struct connection *connection)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t room = connection->in_used + SERVER_READ;
    if (!memory_grow(&memory, &connection->in, &connection->in_room, room, 1)) {
        connection->broken = true;
        return -1;
    }
    ssize_t count = receive_bytes(connection, connection->in + connection->in_used, SERVER_READ);
    if (count <= 0)
        return count;
    connection->in_used += (size_t)count;
    if (connection->in_used >= connection->wanted)
        process_bytes(connection, connection->in, connection->in_used);
    return count;
}

static ssize_t receive_some(struct connection *connection)
{
    unsigned char *scratch = connection->server->scratch;
    size_t before = connection->in_used;
    if (before > SERVER_READ)
        return receive_rest(connection);
    if (before > 0)
        memcpy(scratch, connection->in, before);
    ssize_t count = receive_bytes(connection, scratch + before, SERVER_READ);
    if (count > 0)
        process_bytes(connection, scratch, before + (size_t)count);
    return count;
}

static void read_on(struct connection *connection)
{
    struct server *server = connection->server;
    server->turn_ns = clock_ns();
    connection->listened = service_steady(server->service);
    ssize_t count = receive_some(connection);
    if (count > 0) {
        service_heartbeat(&connection->client);
        server->service->counters.bytes_in += (uint64_t)count;
        connection->received = server->turn_ns / 1000000;
    } else if (count == 0 && !connection->tls) {
        take_end(connection);
    }
    if (connection->broken)
        make_dirty(connection);
    consider_reading(connection);
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    read_on(context);
}

static void on_tls_read(struct bufferevent *tls, void *context)
{
    struct connection *connection = context;
    read_on(connection);
    /* The rest is read in the next iteration. */
    if (connection->reading && evbuffer_get_length(bufferevent_get_input(tls)) > 0)
        bufferevent_trigger(tls, EV_READ, BEV_OPT_DEFER_CALLBACKS);
}

/* ------------------------------------------------------------------ sending */

/* Adds a hold for the answers added since the last one. */
static void add_held_answer(struct connection *connection, uint64_t committed)
{
    struct client *client = &connection->client;
    gordian_allocator memory = memory_allocator(NULL);
    uint64_t end = connection->gone + client->out.used;
    uint32_t last = connection->hold_first + connection->hold_count - 1;
    struct hold hold = {end, client->mark, connection->arrived, connection->events};
    if (connection->hold_count > 0 && connection->holds[last].end == end)
        return;
    if (connection->hold_count == 0 && end == connection->gone + connection->sent)
        return;
    connection->events = 0;
    if (connection->hold_count > 0 &&
        (connection->holds[last].number >= hold.number ||
         (connection->holds[last].number <= committed && hold.number <= committed))) {
        hold.number = connection->holds[last].number;
        hold.events += connection->holds[last].events;
        hold.arrived = connection->holds[last].arrived;
        connection->holds[last] = hold;
        return;
    }
    if (connection->hold_count == 0)
        connection->hold_first = 0;
    if (!memory_grow32(&memory, &connection->holds, &connection->hold_room,
                       connection->hold_first + connection->hold_count + 1,
                       sizeof *connection->holds)) {
        connection->broken = true;
        return;
    }
    connection->holds[connection->hold_first + connection->hold_count++] = hold;
}

/* Returns how many bytes of `out` may be sent. */
static size_t sendable_output(struct connection *connection, uint64_t committed)
{
    uint64_t end = connection->gone + connection->sent;
    for (uint32_t i = 0; i < connection->hold_count; i++) {
        const struct hold *hold = &connection->holds[connection->hold_first + i];
        if (hold->number > committed)
            break;
        end = hold->end;
    }
    return (size_t)(end - connection->gone) - connection->sent;
}

/* Removes holds whose answers were sent. */
static void drop_holds(struct connection *connection, uint64_t now)
{
    uint64_t position = connection->gone + connection->sent;
    struct service_counters *counters = &connection->server->service->counters;
    while (connection->hold_count > 0 &&
           connection->holds[connection->hold_first].end <= position) {
        const struct hold *hold = &connection->holds[connection->hold_first];
        if (hold->events > 0)
            metrics_observe(&counters->latency, now - hold->arrived, hold->events);
        connection->hold_first++;
        connection->hold_count--;
    }
    if (connection->hold_first > 64 && connection->hold_first > connection->hold_count) {
        memmove(connection->holds, connection->holds + connection->hold_first,
                connection->hold_count * sizeof *connection->holds);
        connection->hold_first = 0;
    }
}

/* Removes sent bytes from the buffer when that is worth the copy. */
static void compact_output(struct connection *connection)
{
    struct output *out = &connection->client.out;
    gordian_allocator memory = memory_allocator(NULL);
    if (connection->sent == 0 || connection->sent < out->used / 2)
        return;
    memmove(out->buffer, out->buffer + connection->sent, out->used - connection->sent);
    out->used -= connection->sent;
    connection->gone += connection->sent;
    connection->sent = 0;
    if (out->used == 0 && out->room > KEEP_ROOM) {
        memory_free(&memory, out->buffer);
        out->buffer = NULL;
        out->room = 0;
    }
}

static void send_some(struct connection *connection, size_t count)
{
    struct server *server = connection->server;
    const char *from = connection->client.out.buffer + connection->sent;
    ssize_t sent = (ssize_t)count;
    if (connection->tls) {
        if (bufferevent_write(connection->tls, from, count))
            connection->broken = true;
    } else {
        do
            sent = send(connection->fd, from, count, MSG_NOSIGNAL);
        while (sent < 0 && errno == EINTR);
    }
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        sent = 0;
    if (sent < 0) {
        connection->broken = true;
        return;
    }
    uint64_t now = clock_ns();
    if (sent > 0)
        connection->progress = now / 1000000;
    server->service->counters.bytes_out += (uint64_t)sent;
    connection->sent += (size_t)sent;
    drop_holds(connection, now);
    compact_output(connection);
    if ((size_t)sent < count && !connection->tls) {
        connection->blocked = true;
        event_add(connection->writable, NULL);
    }
}

static void on_writable(evutil_socket_t fd, short what, void *context)
{
    struct connection *connection = context;
    (void)fd;
    (void)what;
    connection->blocked = false;
    make_dirty(connection);
}

static void on_tls_written(struct bufferevent *tls, void *context)
{
    struct connection *connection = context;
    (void)tls;
    connection->progress = clock_ms();
    make_dirty(connection);
}

static void on_tls_event(struct bufferevent *tls, short what, void *context)
{
    struct connection *connection = context;
    if (what & BEV_EVENT_ERROR || (what & BEV_EVENT_EOF && connection->ended)) {
        connection->broken = true;
    } else if (what & BEV_EVENT_EOF) {
        take_end(connection);
        /* libevent stops sending after an end of file. Continue: either it works, or a second end
         * of file follows. */
        bufferevent_enable(tls, EV_WRITE);
    }
    make_dirty(connection);
}

/* Delays the answer to a wrong token, as a rate limit for guessing. */
static bool has_guessed(struct connection *connection)
{
    struct timeval pause = {.tv_sec = SERVER_GUESS_MS / 1000,
                            .tv_usec = SERVER_GUESS_MS % 1000 * 1000};
    if (!connection->client.guessed || connection->guess == GUESS_ANSWERED)
        return false;
    if (connection->guess == GUESS_NONE) {
        event_add(connection->resume, &pause);
        set_reading(connection, false);
    }
    connection->guess = GUESS_WAITS;
    return true;
}

/* Returns true if answers wait for their records to be committed. */
static bool flush_output(struct connection *connection, uint64_t committed)
{
    if (has_guessed(connection))
        return false;
    add_held_answer(connection, committed);
    size_t count = sendable_output(connection, committed);
    /* limit what is buffered inside TLS */
    bool full = connection->blocked ||
                (connection->tls && unsent_bytes(connection) > SERVER_OUT_PAUSE &&
                 evbuffer_get_length(bufferevent_get_output(connection->tls)) > SERVER_READ);
    if (count > 0 && !full && !connection->broken)
        send_some(connection, count);
    consider_reading(connection);
    return connection->hold_count > 0 && sendable_output(connection, committed) == 0;
}

void connections_flush(struct server *server)
{
    struct connection *list = server->dirty;
    uint64_t committed = server->service->append_pending ? 0 : store_committed(server->store);
    /* A notification may name the next record; if there is none, the last one counts. */
    if (!server->service->append_pending && committed == store_last(server->store))
        committed = UINT64_MAX;
    server->dirty = NULL;
    while (list) {
        struct connection *connection = list;
        list = connection->next_dirty;
        connection->is_dirty = false;
        bool waits = flush_output(connection, committed);
        /* Everything was sent, or nothing more can be. */
        if (connection->broken || connection->client.out.failure ||
            (connection->client.closing && unsent_bytes(connection) == 0))
            connection_close(connection);
        else if (waits)
            make_dirty(connection);
    }
}

/* ------------------------------------------------------------------ opening and closing */

static bool make_libevent_events(struct connection *connection)
{
    struct server *server = connection->server;
    connection->resume = event_new(server->base, -1, 0, on_resume, connection);
    if (!connection->resume)
        return false;
    if (connection->from == FROM_TCP && server->tls) {
        connection->tls = tls_accept(server->tls, server->base, connection->fd, false);
        if (!connection->tls)
            return false;
        bufferevent_setcb(connection->tls, on_tls_read, on_tls_written, on_tls_event, connection);
        bufferevent_setwatermark(connection->tls, EV_READ, 0, 4 * SERVER_READ);
        bufferevent_enable(connection->tls, EV_READ | EV_WRITE);
        connection->reading = true;
        return true;
    }
    connection->readable =
        event_new(server->base, connection->fd, EV_READ | EV_PERSIST, on_readable, connection);
    connection->writable =
        event_new(server->base, connection->fd, EV_WRITE, on_writable, connection);
    return connection->readable && connection->writable;
}

static void free_connection(struct connection *connection)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (connection->readable)
        event_free(connection->readable);
    if (connection->writable)
        event_free(connection->writable);
    if (connection->resume)
        event_free(connection->resume);
    if (connection->tls)
        bufferevent_free(connection->tls); /* closes the descriptor */
    else
        close(connection->fd);
    memory_free_all(&memory, connection->in, connection->holds, connection);
}

/* Some slots are reserved for the Unix socket. */
static bool has_slot(const struct server *server, enum connection_from from)
{
    uint32_t limit = server->options.limits.clients, local = limit / 16 + (limit > 1);
    return server->service->client_count < (from == FROM_TCP ? limit - local : limit);
}

/* Finds the connection to replace among the connections that have not identified themselves: first
 * one with a wrong token, then the oldest. NULL: none; *soon: they are too new. */
static struct connection *find_idle_connection(const struct server *server,
                                               enum connection_from from, bool *soon)
{
    struct connection *oldest = NULL;
    *soon = false;
    for (struct connection *each = server->unidentified; each; each = each->next_unidentified) {
        if (from == FROM_TCP && each->from == FROM_UNIX)
            continue;
        if (each->client.guessed)
            return each;
        oldest = oldest ? oldest : each;
    }
    *soon = oldest && from == FROM_TCP && clock_ms() - oldest->opened < GRACE_MS;
    return *soon ? NULL : oldest;
}

bool connections_have_slot(const struct server *server)
{
    bool soon;
    return has_slot(server, FROM_TCP) || find_idle_connection(server, FROM_TCP, &soon) || !soon;
}

static bool make_slot(struct server *server, enum connection_from from)
{
    bool soon;
    if (has_slot(server, from))
        return true;
    struct connection *victim = find_idle_connection(server, from, &soon);
    if (!victim)
        return false;
    server->service->counters.cut_off++;
    server_log_rarely(server, RARE_CUT, 5, "%s has not identified itself, and its slot is needed",
                      victim->client.label);
    connection_close(victim);
    return true;
}

void connection_open(struct server *server, int fd, enum connection_from from, const char *label,
                     enum service_rights rights)
{
    if (!make_slot(server, from)) {
        server->service->counters.refused++;
        server_log_rarely(server, RARE_FULL, 4, "%s: refused: there are %u clients already", label,
                          server->service->client_count);
        close(fd);
        return;
    }
    gordian_allocator memory = memory_allocator(NULL);
    gordian_error error = {0};
    struct connection *connection = memory_zeroed(&memory, sizeof *connection);
    if (!connection) {
        close(fd);
        return;
    }
    connection->server = server;
    connection->fd = fd;
    connection->from = from;
    connection->opened = connection->progress = connection->received = clock_ms();
    if (!make_libevent_events(connection) ||
        service_attach(server->service, &connection->client, rights, &error)) {
        if (error.message[0])
            server_log_rarely(server, RARE_FULL, 4, "%s: refused: %s", label, error.message);
        free_connection(connection);
        return;
    }
    snprintf(connection->client.label, sizeof connection->client.label, "%s", label);
    connection->client.wake = on_wake;
    connection->client.has_more = has_more;
    connection->client.owner = connection;
    connection->next = server->connections;
    if (connection->next)
        connection->next->prev = connection;
    server->connections = connection;
    server->connection_count++;
    connection->unidentified_link = server->unidentified_end;
    *server->unidentified_end = connection;
    server->unidentified_end = &connection->next_unidentified;
    consider_reading(connection);
}

void connection_close(struct connection *connection)
{
    struct server *server = connection->server;
    service_detach(&connection->client);
    server->more_to_do = true; /* resources of its session are released now */
    struct connection **link = &server->dirty;
    while (connection->is_dirty && *link && *link != connection)
        link = &(*link)->next_dirty;
    if (connection->is_dirty && *link)
        *link = connection->next_dirty;
    remove_unidentified(connection);
    *(connection->prev ? &connection->prev->next : &server->connections) = connection->next;
    if (connection->next)
        connection->next->prev = connection->prev;
    server->connection_count--;
    free_connection(connection);
}

bool connections_unheard(const struct server *server, uint64_t since)
{
    for (const struct connection *c = server->connections; c; c = c->next)
        if (c->client.session == GORDIAN_NONE && c->reading && c->listened < since &&
            has_arrived(c))
            return true;
    return false;
}

/* Returns why the connection must be closed; NULL: it may continue. */
static const char *reason_to_close(const struct connection *connection, uint64_t now)
{
    uint64_t patience = connection->from == FROM_TCP ? SERVER_START_MS : SERVER_LOCAL_MS;
    bool full = connection->blocked ||
                (connection->tls && evbuffer_get_length(bufferevent_get_output(connection->tls)));
    if (full && now - connection->progress > SERVER_DRAIN_MS)
        return "does not read its answers";
    if (is_unidentified(connection) && now - connection->opened > patience)
        return "has not identified itself";
    if (connection->in_used > 0 && !connection->throttled && connection->reading &&
        now - connection->received > PARTIAL_MS)
        return "has left a message unfinished";
    return NULL;
}

void connections_tick(struct server *server)
{
    uint64_t now = clock_ms();
    for (struct connection *next, *c = server->connections; c; c = next) {
        next = c->next;
        const char *fault = reason_to_close(c, now);
        if (!fault)
            continue;
        server->service->counters.cut_off++;
        server_log_rarely(server, RARE_CUT, 6, "%s %s: disconnected", c->client.label, fault);
        connection_close(c);
    }
}
