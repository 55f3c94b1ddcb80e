/* The connection to the service: connecting, greeting, reading, writing, and reconnecting. */
#define _GNU_SOURCE
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "service/client/client.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>

#define READ_SIZE     (64u << 10)
#define PAUSE_MIN_MS  3
#define PAUSE_MAX_MS  500
#define PAUSE_ELECT   50 /* maximum pause during a leader election */
#define MOVES_AT_ONCE 3  /* redirects without a pause */
#define REWIND_MIN_MS 5

static uint64_t after_ms(uint64_t now, uint32_t ms)
{
    return now + (uint64_t)ms * 1000000u;
}

uint64_t link_deadline(uint32_t timeout_ms)
{
    return timeout_ms == GORDIAN_FOREVER ? UINT64_MAX : after_ms(clock_ns(), timeout_ms);
}

/* ------------------------------------------------------------------ disconnecting */

static void hang_up(gordian_client *client)
{
    channel_close(&client->channel);
    fifo_clear(&client->in);
    fifo_clear(&client->greeting);
}

void link_fail(gordian_client *client, gordian_status status, const char *format, ...)
{
    if (client->state == LINK_FAILED)
        return;
    va_list arguments;
    va_start(arguments, format);
    client->failure = (gordian_error){.status = status};
    vsnprintf(client->failure.message, sizeof client->failure.message, format, arguments);
    va_end(arguments);
    hang_up(client);
    client->state = LINK_FAILED;
    answers_give_up(client, status, client->failure.message);
}

static void notify_link(gordian_client *client, bool connected, const char *why)
{
    if (!client->link)
        return;
    client->calling = true;
    client->link(client->context, connected, why);
    client->calling = false;
}

/* May the session still exist? */
static bool may_resume(const gordian_client *client)
{
    return client->epoch > 0 && client->lease_ms > 0 &&
           clock_ns() - client->down_since <= (uint64_t)client->lease_ms * 1000000u;
}

/* Sends `out` again from its start. */
static void send_again(gordian_client *client)
{
    client->rewinding = false;
    client->sent = 0;
    if (client->renumber)
        events_renumber(client);
    client->renumber = false;
}

/* Doubles the pause before the next attempt. */
static void pause_longer(gordian_client *client, bool anew, uint32_t most)
{
    client->pause_ms = anew || client->pause_ms == 0 ? PAUSE_MIN_MS : client->pause_ms * 2;
    if (client->pause_ms > most)
        client->pause_ms = most;
}

/* All servers were tried: retries later, or fails. `last`: address of the last server tried. */
static void end_attempt(gordian_client *client, const struct address *last, bool was_up,
                        const char *why)
{
    if (was_up)
        client->down_since = clock_ns();
    else if (client->epoch > 0)
        servers_rotate(client);
    if (!may_resume(client)) {
        link_fail(client, GORDIAN_STATUS_IO, "%.130s: %.260s", last->text, why);
        return;
    }
    client->state = LINK_DOWN;
    send_again(client);
    pause_longer(client, was_up, client->server_count > 1 ? PAUSE_ELECT : PAUSE_MAX_MS);
    client->retry_at = was_up ? clock_ns() : after_ms(clock_ns(), client->pause_ms);
    if (was_up)
        notify_link(client, false, why);
}

void link_break(gordian_client *client, const char *why)
{
    if (client->state == LINK_FAILED)
        return;
    bool was_up = client->state == LINK_UP;
    const struct address *last = client->address;
    hang_up(client);
    if (client->epoch == 0 && servers_next(client)) /* the first time, each server is tried once */
        link_start(client);
    else
        end_attempt(client, last, was_up, why);
}

/* Selects the server that was named (true) or the next one (false). The server that just sent us
 * away no longer leads, even if another server still names it. */
static bool choose_leader(gordian_client *client, const char *text)
{
    const char *leader = strstr(text, WIRE_LEADER_IS);
    size_t before = client->which;
    if (servers_follow(client, leader ? leader + strlen(WIRE_LEADER_IS) : text) &&
        client->which != before && client->which + 1 != client->left)
        return true;
    client->which = before;
    servers_rotate(client);
    return false;
}

/* Pauses while there is no leader. A leader that steps down may already have a successor. */
void link_moved(gordian_client *client, const char *text)
{
    bool was_up = client->state == LINK_UP;
    if (was_up) {
        client->down_since = clock_ns();
        client->left = client->which + 1;
        client->pause_ms = 0;
    }
    if (client->epoch > 0 && client->has_session && !may_resume(client)) {
        link_fail(client, GORDIAN_STATUS_IO, "%.130s: %.260s", client->address->text, text);
        return;
    }
    hang_up(client);
    client->tried = 0;
    bool another = choose_leader(client, text) || (was_up && client->server_count > 1);
    client->state = LINK_DOWN;
    send_again(client);
    bool at_once = another && client->moves++ < MOVES_AT_ONCE;
    if (!at_once)
        pause_longer(client, false, PAUSE_ELECT / 2);
    client->retry_at = after_ms(clock_ns(), at_once ? 0 : client->pause_ms);
    if (was_up)
        notify_link(client, false, text);
}

/* Handles a failure of the channel, temporary or permanent. */
static void lose_channel(gordian_client *client, int failure)
{
    char why[300];
    gordian_status status;
    snprintf(why, sizeof why, "%s", channel_why(&client->channel, failure, &status));
    if (status == GORDIAN_STATUS_IO)
        link_break(client, why);
    else
        link_fail(client, status, "%.130s: %.260s", client->address->text, why);
}

/* ------------------------------------------------------------------ rewinding */

void link_rewind(gordian_client *client, uint32_t retry_ms, size_t came)
{
    uint64_t now = clock_ns();
    if (client->rewinding)
        return;
    if (client->rewinding_since == 0)
        client->rewinding_since = now;
    /* Only whole frames: finish the frame that is partly sent. Its answer and the ones before it
     * will still arrive. */
    const struct command *commands = fifo_front(&client->commands);
    size_t count = fifo_count(&client->commands) / sizeof *commands, begun = 0, bytes = 0;
    while (begun < count && bytes < client->sent)
        bytes += commands[begun++].size;
    client->rewinding = true;
    client->finish = bytes;
    client->passing_over = begun > came ? begun - came : 0;
    client->pause_ms = client->pause_ms < REWIND_MIN_MS ? REWIND_MIN_MS : client->pause_ms * 2;
    if (client->pause_ms > PAUSE_MAX_MS)
        client->pause_ms = PAUSE_MAX_MS;
    client->retry_at = after_ms(now, retry_ms ? retry_ms : client->pause_ms);
}

void link_passed(gordian_client *client)
{
    if (client->passing_over > 0)
        client->passing_over--;
}

/* Sends again when the pause is over and no answer is outstanding. Events that waited too long
 * fail, and their numbers are free again. */
static void end_rewinding(gordian_client *client, uint64_t now)
{
    if (!client->rewinding || client->passing_over > 0)
        return;
    if (now - client->rewinding_since > (uint64_t)client->timeout_ms * 1000000u) {
        client->rewinding = client->renumber = false;
        client->rewinding_since = 0;
        client->next_number = client->first_number;
        char message[240];
        snprintf(message, sizeof message, "the service could not take the event%s%s",
                 *client->trouble ? ": " : "", client->trouble);
        answers_give_up(client, GORDIAN_STATUS_IO, message);
        return;
    }
    if (now >= client->retry_at)
        send_again(client);
}

/* ------------------------------------------------------------------ connecting */

static size_t put_hello(const gordian_client *client, void *to, size_t room)
{
    struct wire_hello hello = {
        .lease_ms = client->lease_ms,
        .flags = WIRE_FENCES | (client->keep ? WIRE_KEEP : 0),
        .token = {client->token, client->token ? strlen(client->token) : 0},
        .name = {client->name, client->name ? strlen(client->name) : 0},
    };
    if (client->has_session)
        memcpy(hello.session, client->session, sizeof hello.session);
    return wire_put_hello(to, room, &hello);
}

static size_t put_system(const gordian_client *client, void *to, size_t room)
{
    const char *options = client->open_options ? client->open_options : "";
    struct wire_open open = {.name = {client->system, strlen(client->system)},
                             .kind = client->open,
                             .options = {options, strlen(options)}};
    return client->open ? wire_put_open(to, room, &open)
                        : wire_put_name(to, room, WIRE_USE, open.name);
}

/* Writes the greeting: hello, the system, the subscriptions. */
static bool write_greeting(gordian_client *client)
{
    size_t size = WIRE_START_SIZE + put_hello(client, NULL, 0) + put_system(client, NULL, 0) +
                  wire_put_u8(NULL, 0, WIRE_SUBSCRIBE, client->mask);
    struct fifo *greeting = &client->greeting;
    fifo_clear(greeting);
    if (!fifo_reserve(&client->memory, greeting, size))
        return false;
    char *to = fifo_back(greeting), *at = to + WIRE_START_SIZE;
    memcpy(to, WIRE_START, WIRE_START_SIZE);
    at += put_hello(client, at, size);
    at += put_system(client, at, size);
    at += wire_put_u8(at, size, WIRE_SUBSCRIBE, client->mask);
    fifo_put(greeting, (size_t)(at - to));
    client->greetings = 3;
    return true;
}

static void continue_handshake(gordian_client *client)
{
    int failure = channel_shake(&client->channel);
    if (failure == 0) {
        client->state = LINK_GREETING;
        client->heard_at = clock_ns();
    } else if (failure != EAGAIN) {
        lose_channel(client, failure);
    }
}

static void begin_handshake(gordian_client *client)
{
    client->state = LINK_SHAKING;
    client->heard_at = clock_ns();
    continue_handshake(client);
}

/* Tries the next address of the server, then gives this attempt up. */
static void next_server(gordian_client *client, int why)
{
    hang_up(client);
    client->place++;
    if (client->place < client->address->count) {
        link_start(client);
        return;
    }
    client->place = 0;
    const struct address *last = client->address;
    if (client->server_count > 1 && servers_next(client)) {
        link_start(client);
        return;
    }
    if (why == EAGAIN && client->epoch == 0) { /* the backlog of a Unix socket is full */
        client->state = LINK_DOWN;
        client->retry_at = after_ms(clock_ns(), PAUSE_MIN_MS);
        return;
    }
    *client->code = -why;
    end_attempt(client, last, false, strerror(why));
}

void link_start(gordian_client *client)
{
    bool pending;
    int fd = address_connect(client->address, client->place, &pending);
    if (fd < 0) {
        next_server(client, errno);
        return;
    }
    client->heard_at = clock_ns();
    if (!channel_open(&client->channel, fd, client->tls, client->secure) ||
        !write_greeting(client)) {
        link_break(client, gordian_status_text(GORDIAN_STATUS_MEMORY));
        return;
    }
    client->state = LINK_CONNECTING;
    if (!pending)
        begin_handshake(client);
}

static void check_connecting(gordian_client *client)
{
    struct pollfd wanted = {.fd = client->channel.fd, .events = POLLOUT};
    if (poll(&wanted, 1, 0) <= 0)
        return;
    int why = address_connected(client->channel.fd);
    if (why)
        next_server(client, why);
    else
        begin_handshake(client);
}

/* ------------------------------------------------------------------ writing */

/* A final message of the service is read before its hang-up counts. */
static bool can_go_on(int failure)
{
    return failure == 0 || failure == EAGAIN || failure == EWOULDBLOCK || failure == EPIPE ||
           failure == ECONNRESET;
}

/* Sends as much as possible without blocking. Returns the number of bytes. */
static size_t push_bytes(gordian_client *client, const char *bytes, size_t count)
{
    size_t done = 0;
    while (done < count) {
        ssize_t now = channel_write(&client->channel, bytes + done, count - done);
        if (now < 0) {
            if (!can_go_on(errno))
                lose_channel(client, errno);
            break;
        }
        done += (size_t)now;
    }
    if (done)
        client->said_at = clock_ns();
    return done;
}

/* Returns how many bytes of `out` may be sent now. */
static size_t sendable_bytes(const gordian_client *client)
{
    if (client->state != LINK_UP)
        return 0;
    size_t limit = client->rewinding ? client->finish : client->sealed;
    return limit > client->sent ? limit - client->sent : 0;
}

static void write_commands(gordian_client *client)
{
    int failure = channel_flush(&client->channel);
    if (!can_go_on(failure)) {
        lose_channel(client, failure);
        return;
    }
    size_t count = fifo_count(&client->greeting);
    if (count > 0) {
        size_t done = push_bytes(client, fifo_front(&client->greeting), count);
        if (client->state != LINK_GREETING)
            return;
        fifo_take(&client->greeting, done);
    }
    if (client->rewinding)
        end_rewinding(client, clock_ns());
    count = sendable_bytes(client);
    if (count > 0) {
        size_t done = push_bytes(client, (char *)fifo_front(&client->out) + client->sent, count);
        client->sent += client->state == LINK_UP ? done : 0;
    }
}

/* ------------------------------------------------------------------ reading */

/* Handles bytes that are not part of the protocol. */
static void fail_protocol(gordian_client *client)
{
    if (channel_is_alert(fifo_front(&client->in), fifo_count(&client->in)))
        link_fail(client, GORDIAN_STATUS_IO, "%.200s speaks TLS: use tls:// instead of tcp://",
                  client->address->text);
    else
        link_fail(client, GORDIAN_STATUS_IO, "%.200s does not speak Gordian's protocol",
                  client->address->text);
}

/* Handles all complete frames. *more: total bytes that the next one needs. */
static gordian_status take_frames(gordian_client *client, size_t *more, gordian_error *error)
{
    *more = WIRE_HEAD_SIZE;
    while (client->channel.fd >= 0 && !client->halt && fifo_count(&client->in) > 0) {
        struct wire_frame frame;
        enum wire_found found = wire_next(fifo_front(&client->in), fifo_count(&client->in),
                                          WIRE_ANSWER_MAX, &frame, more);
        if (found == WIRE_BROKEN) {
            fail_protocol(client);
            break;
        }
        if (found == WIRE_PART)
            break;
        TRY(answer_take(client, &frame, error));
        if (client->channel.fd >= 0)
            fifo_take(&client->in, *more);
        *more = WIRE_HEAD_SIZE;
    }
    return GORDIAN_OK;
}

/* A TLS server answers a plain client with an alert, or hangs up silently. */
static bool may_expect_tls(const gordian_client *client)
{
    return client->state == LINK_GREETING && *client->address->host && !client->address->secure;
}

static void handle_hangup(gordian_client *client)
{
    if (!may_expect_tls(client))
        link_break(client, "the service closed the connection");
    else if (channel_is_alert(fifo_front(&client->in), fifo_count(&client->in)))
        fail_protocol(client);
    else
        link_break(client,
                   "the connection was closed without an answer: if it speaks TLS, use tls://");
}

/* Returns the bytes received; 0: nothing now, or disconnected. */
static size_t pull_bytes(gordian_client *client, size_t size)
{
    ssize_t now = channel_read(&client->channel, fifo_back(&client->in), size);
    if (now > 0) {
        fifo_put(&client->in, (size_t)now);
        client->heard_at = clock_ns();
        return (size_t)now;
    }
    if (now == 0 || (errno == ECONNRESET && may_expect_tls(client)))
        handle_hangup(client);
    else if (errno != EAGAIN && errno != EWOULDBLOCK)
        lose_channel(client, errno);
    return 0;
}

static gordian_status read_in(gordian_client *client, gordian_error *error)
{
    size_t more;
    gordian_status status = take_frames(client, &more, error);
    while (status == GORDIAN_OK && client->channel.fd >= 0 && !client->halt) {
        size_t have = fifo_count(&client->in);
        size_t size = more > have + READ_SIZE ? more - have : READ_SIZE;
        if (!fifo_reserve(&client->memory, &client->in, size))
            return fail_memory(error);
        size_t count = pull_bytes(client, size);
        if (count == 0)
            break;
        status = take_frames(client, &more, error);
        if (count < size)
            break;
    }
    return status;
}

/* ------------------------------------------------------------------ timers */

/* When to send a heartbeat for the lease; UINT64_MAX: never. */
static uint64_t ping_time(const gordian_client *client)
{
    return client->lease_ms && client->state == LINK_UP
               ? after_ms(client->said_at, client->lease_ms / 3 + 1)
               : UINT64_MAX;
}

/* When silence means that the connection is dead. Without a lease there is no reason to care. */
static uint64_t silence_time(const gordian_client *client)
{
    uint64_t since = client->heard_at;
    if (client->state == LINK_DOWN || client->state == LINK_FAILED)
        return UINT64_MAX;
    if (client->state != LINK_UP)
        return after_ms(since, client->connect_ms);
    if (client->lease_ms == 0 || client->patient || fifo_count(&client->commands) == 0)
        return UINT64_MAX;
    return after_ms(since > client->owed_since ? since : client->owed_since, client->timeout_ms);
}

/* When link_step has something to do even if nothing arrives. */
static uint64_t next_time(const gordian_client *client)
{
    if (client->state == LINK_DOWN)
        return client->retry_at;
    uint64_t ping = ping_time(client), silence = silence_time(client);
    uint64_t next = ping < silence ? ping : silence;
    if (client->state == LINK_UP && client->rewinding && client->passing_over == 0 &&
        client->retry_at < next)
        next = client->retry_at;
    return next;
}

static void send_heartbeat_frame(gordian_client *client)
{
    size_t size = wire_put_u64(NULL, 0, WIRE_PING, 0);
    void *to = call_reserve(client, size);
    if (!to)
        return; /* retried later */
    wire_put_u64(to, size, WIRE_PING, 0);
    call_queue(client, WIRE_PING, size, NULL);
}

static void keep_time(gordian_client *client)
{
    uint64_t now = clock_ns();
    if (client->state == LINK_DOWN && now >= client->retry_at)
        link_start(client);
    if (client->state == LINK_CONNECTING)
        check_connecting(client);
    else if (client->state == LINK_SHAKING)
        continue_handshake(client);
    if (now >= silence_time(client)) {
        if (client->state == LINK_UP) /* it may have been stopped: another server may lead */
            servers_rotate(client);
        link_break(client,
                   client->state == LINK_SHAKING ? "no answer to the TLS handshake" : "no answer");
    } else if (now >= ping_time(client))
        send_heartbeat_frame(client);
}

/* Does everything that is possible without blocking. GORDIAN_STATUS_MEMORY: try again; any other
 * error is final. */
static gordian_status link_step(gordian_client *client, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    client->halt = false;
    events_seal(client);
    if (client->state != LINK_UP || client->lease_ms)
        keep_time(client);
    if (client->state == LINK_UP || client->state == LINK_GREETING)
        write_commands(client);
    if (client->state == LINK_UP || client->state == LINK_GREETING)
        status = read_in(client, error);
    /* Answers free space in the window, and callbacks may have queued events. */
    events_seal(client);
    if (status == GORDIAN_OK && sendable_bytes(client) > 0)
        write_commands(client);
    return client->state == LINK_FAILED ? link_check(client, error) : status;
}

/* Returns the ms from now until then, rounded up, at least 0; -1: no limit. */
static int ms_until(uint64_t then)
{
    if (then == UINT64_MAX)
        return -1;
    uint64_t now = clock_ns();
    uint64_t ms = then > now ? (then - now + 999999u) / 1000000u : 0;
    return ms > 1000000 ? 1000000 : (int)ms;
}

gordian_status link_wait(gordian_client *client, uint64_t until, gordian_error *error)
{
    uint64_t next = next_time(client);
    struct pollfd wanted = {.fd = gordian_client_fd(client),
                            .events = gordian_client_events(client)};
    int timeout = gordian_client_timeout(client) == 0 ? 0 : ms_until(next < until ? next : until);
    if (poll(&wanted, wanted.fd >= 0, timeout) < 0 && errno != EINTR)
        return fail(error, GORDIAN_STATUS_IO, "cannot wait: %s", strerror(errno));
    gordian_status status = link_step(client, error);
    return status == GORDIAN_OK && clock_ns() >= until ? GORDIAN_STATUS_END : status;
}

/* ------------------------------------------------------------------ for event loops of the caller
 */

int gordian_client_fd(const gordian_client *client)
{
    return client->channel.fd;
}

short gordian_client_events(const gordian_client *client)
{
    if (client->state == LINK_CONNECTING)
        return POLLOUT;
    if (client->state == LINK_DOWN || client->state == LINK_FAILED)
        return 0;
    /* Events of a frame that is not full go out with the next call. */
    bool open = client->state == LINK_UP && !client->rewinding && client->open_events > 0;
    bool has = client->state != LINK_SHAKING &&
               (open || fifo_count(&client->greeting) > 0 || sendable_bytes(client) > 0);
    return channel_events(&client->channel, has);
}

/* Is a complete frame left over from an earlier call? */
static bool left_over(const gordian_client *client)
{
    struct wire_frame frame;
    size_t used;
    return fifo_count(&client->in) > 0 &&
           wire_next(fifo_front(&client->in), fifo_count(&client->in), WIRE_ANSWER_MAX, &frame,
                     &used) == WIRE_WHOLE;
}

int gordian_client_timeout(const gordian_client *client)
{
    if (client->state == LINK_FAILED)
        return 0;
    return left_over(client) || channel_has_more(&client->channel) ? 0
                                                                   : ms_until(next_time(client));
}

gordian_status gordian_client_work(gordian_client *client, gordian_error *error)
{
    TRY(call_allowed(client, error));
    return link_step(client, error);
}

gordian_status gordian_client_flush(gordian_client *client, gordian_error *error)
{
    TRY(call_allowed(client, error));
    events_seal(client);
    if (client->state == LINK_UP)
        write_commands(client);
    return link_check(client, error);
}
