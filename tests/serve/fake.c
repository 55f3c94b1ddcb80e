#define _GNU_SOURCE
#include "fake.h"

#include "service/wire/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define IN_ROOM (WIRE_FRAME_MAX + 4096)
#define BATCH   4096
#define WANTS   8192

/* ------------------------------------------------------------------ connections */

static void hang_up(struct fake_connection *connection)
{
    close(connection->fd);
    free(connection->in);
    *connection = (struct fake_connection){.fd = -1};
}

static void push(struct fake_connection *connection, const unsigned char *bytes, size_t count)
{
    while (count > 0 && connection->fd >= 0) {
        ssize_t done = send(connection->fd, bytes, count, MSG_NOSIGNAL);
        if (done <= 0)
            return; /* the client is gone: reading will tell */
        bytes += done;
        count -= (size_t)done;
    }
}

/* Sends an answer, whole, in pieces, or only a part of it and then the end. */
static void answer(struct fake *fake, struct fake_connection *connection,
                   const unsigned char *bytes, size_t count)
{
    if (connection->fd < 0)
        return;
    unsigned long frames = atomic_fetch_add(&fake->frames, 1);
    if (fake->options.mute_after && frames >= fake->options.mute_after)
        return;
    if (connection->session && (connection->session->last > 0 || fake->options.readers) &&
        random_chance(&fake->random, fake->options.cut_percent)) {
        push(connection, bytes, random_below(&fake->random, count + 1));
        atomic_fetch_add(&fake->cuts, 1);
        hang_up(connection);
        return;
    }
    unsigned char noisy[256];
    if (count <= sizeof noisy && random_chance(&fake->random, fake->options.noise_percent)) {
        memcpy(noisy, bytes, count);
        for (unsigned i = 1 + (unsigned)random_below(&fake->random, 3); i > 0; i--)
            noisy[random_below(&fake->random, count)] = (unsigned char)random_next(&fake->random);
        bytes = noisy;
    }
    size_t first = random_chance(&fake->random, fake->options.part_percent)
                       ? random_below(&fake->random, count + 1)
                       : count;
    push(connection, bytes, first);
    push(connection, bytes + first, count - first);
}

static void answer_empty(struct fake *fake, struct fake_connection *connection)
{
    unsigned char bytes[16];
    answer(fake, connection, bytes, wire_put_frame(bytes, sizeof bytes, WIRE_DONE, NULL, 0));
}

static void answer_kind(struct fake *fake, struct fake_connection *connection)
{
    unsigned char bytes[16];
    uint8_t kind = fake->options.avoids ? WIRE_AVOID : WIRE_DETECT;
    answer(fake, connection, bytes, wire_put_u8(bytes, sizeof bytes, WIRE_DONE, kind));
}

static void answer_error(struct fake *fake, struct fake_connection *connection, unsigned code,
                         bool fatal)
{
    unsigned char bytes[64];
    struct wire_error error = {
        .code = (uint16_t)code, .fatal = fatal, .retry_ms = 1, .text = {"no", 2}};
    answer(fake, connection, bytes, wire_put_error(bytes, sizeof bytes, &error));
}

/* ------------------------------------------------------------------ commands */

static struct fake_session *find_session(struct fake *fake, const uint8_t *id)
{
    for (size_t i = 0; i < fake->session_count; i++)
        if (memcmp(fake->sessions[i].id, id, sizeof fake->sessions[i].id) == 0)
            return &fake->sessions[i];
    return NULL;
}

static void stand_by(struct fake *fake, struct fake_connection *connection)
{
    unsigned char bytes[400];
    char text[300];
    int length = snprintf(text, sizeof text, "this server is a standby; the leader is %s",
                          fake->options.leader);
    struct wire_error error = {.code = WIRE_NOT_LEADER, .text = {text, (size_t)length}};
    answer(fake, connection, bytes, wire_put_error(bytes, sizeof bytes, &error));
}

static void take_hello(struct fake *fake, struct fake_connection *connection,
                       const struct wire_frame *frame)
{
    static const uint8_t nobody[WIRE_SESSION_SIZE];
    struct wire_hello hello;
    unsigned char bytes[128];
    if (!wire_get_hello(frame, &hello))
        abort();
    if (fake->options.leader && !fake->options.readers) {
        stand_by(fake, connection);
        return;
    }
    struct fake_session *session = NULL;
    if (memcmp(hello.session, nobody, sizeof nobody) == 0) {
        session = &fake->sessions[fake->session_count++ % 64];
        *session = (struct fake_session){0};
        for (size_t i = 0; i < sizeof session->id; i++)
            session->id[i] = (uint8_t)random_below(&fake->random, 256);
    } else if (!fake->options.forget_sessions) {
        session = find_session(fake, hello.session);
    }
    if (!session) {
        answer_error(fake, connection, WIRE_NO_SESSION, false);
        return;
    }
    connection->session = session;
    struct wire_welcome welcome = {.version = 1,
                                   .last = session->last -
                                           (fake->options.forget_events && session->last > 0),
                                   .durability = WIRE_BATCH,
                                   .frame_max = WIRE_FRAME_MAX,
                                   .server = {"fake", 4}};
    if (!fake->options.readers)
        memcpy(welcome.session, session->id, sizeof welcome.session);
    answer(fake, connection, bytes, wire_put_welcome(bytes, sizeof bytes, &welcome));
}

static uint32_t declare(struct fake *fake, const struct wire_declaration *declaration)
{
    char name[GORDIAN_NAME_MAX + 1];
    uint32_t id;
    memcpy(name, declaration->name.text, declaration->name.length);
    name[declaration->name.length] = '\0';
    if (declaration->what == WIRE_PROCESS) {
        id = gordian_find_process(fake->system, name, strlen(name));
        if (id == GORDIAN_NONE)
            gordian_add_process(fake->system, name, &id, NULL);
    } else {
        id = gordian_find_resource(fake->system, name, strlen(name));
        if (id != GORDIAN_NONE && gordian_units(fake->system, id) != declaration->units)
            return GORDIAN_NONE;
        if (id == GORDIAN_NONE &&
            gordian_add_resource(fake->system, name, declaration->units, &id, NULL) != GORDIAN_OK)
            return GORDIAN_NONE;
    }
    return id;
}

static void take_declare(struct fake *fake, struct fake_connection *connection,
                         const struct wire_frame *frame)
{
    struct wire_list list;
    struct wire_declaration declaration;
    gordian_want claims[64];
    size_t count = 0;
    if (!wire_get_declare(frame, &list))
        abort();
    uint32_t *ids = malloc((list.left + 2) * sizeof *ids);
    while (wire_next_declaration(&list, &declaration, claims, 64))
        ids[count++] = declare(fake, &declaration);
    if (fake->options.extra_ids)
        ids[count++] = 7;
    size_t size = wire_put_declared(NULL, 0, ids, count);
    unsigned char *bytes = malloc(size);
    wire_put_declared(bytes, size, ids, count);
    answer(fake, connection, bytes, size);
    free(bytes);
    free(ids);
}

static void own(struct fake *fake, uint32_t process, const struct fake_session *session)
{
    if (process >= fake->owner_room) {
        size_t room = process + 64;
        fake->owner = realloc(fake->owner, room * sizeof *fake->owner);
        while (fake->owner_room < room)
            fake->owner[fake->owner_room++] = GORDIAN_NONE;
    }
    fake->owner[process] = (uint32_t)(session - fake->sessions);
}

/* Tells the owners of those that were served, unless it is who served them. */
static void tell_served(struct fake *fake, const struct fake_session *by, const uint32_t *served,
                        size_t count)
{
    unsigned char bytes[16];
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < FAKE_CLIENTS; c++) {
            struct fake_connection *to = &fake->connections[c];
            if (to->fd >= 0 && to->session && to->session != by && served[i] < fake->owner_room &&
                fake->owner[served[i]] == (uint32_t)(to->session - fake->sessions))
                answer(fake, to, bytes, wire_put_u32(bytes, sizeof bytes, WIRE_GRANTED, served[i]));
        }
    }
}

struct outcome_list {
    struct wire_result *results;
    uint32_t *served;
    size_t count, served_count, served_room;
};

static void apply(struct fake *fake, struct fake_session *session, const gordian_event *event,
                  struct outcome_list *list)
{
    gordian_result result;
    size_t count;
    if (gordian_feed(fake->system, event, &result, NULL) != GORDIAN_OK)
        abort();
    session->last++;
    atomic_fetch_add(&fake->applied, 1);
    if (event->process != GORDIAN_NONE)
        own(fake, event->process, session);
    const uint32_t *served = gordian_served(fake->system, &count);
    if (list->served_count + count > list->served_room) {
        list->served_room = (list->served_count + count) * 2;
        list->served = realloc(list->served, list->served_room * sizeof *list->served);
    }
    if (count)
        memcpy(list->served + list->served_count, served, count * sizeof *served);
    list->served_count += count;
    list->results[list->count++] =
        (struct wire_result){result.outcome, result.refusal, (uint32_t)count};
    tell_served(fake, session, served, count);
}

static void take_all(struct fake *fake, struct fake_session *session, struct wire_events *events,
                     struct outcome_list *list)
{
    gordian_event event;
    gordian_want *wants = malloc(65536 * sizeof *wants);
    uint32_t total = events->list.left;
    uint32_t most = random_chance(&fake->random, fake->options.decline_percent)
                        ? (uint32_t)random_below(&fake->random, total + 1)
                        : total;
    bool bad = false;
    uint64_t number = events->first;
    for (uint32_t i = 0; i < total; i++, number++) {
        if (wire_next_events(&events->list, &event, 1, wants, 65536, &bad) != 1 || bad)
            abort();
        if (i >= most) {
            list->results[list->count++] = (struct wire_result){.outcome = WIRE_NOT_TAKEN};
        } else if (number <= session->last) {
            atomic_fetch_add(&fake->duplicates, 1);
            list->results[list->count++] = (struct wire_result){.outcome = WIRE_DUPLICATE};
        } else {
            apply(fake, session, &event, list);
        }
    }
    if (most < total)
        atomic_fetch_add(&fake->declined, 1);
    free(wants);
}

static void take_events(struct fake *fake, struct fake_connection *connection,
                        const struct wire_frame *frame)
{
    struct wire_events events;
    if (!wire_get_events(frame, &events) || !connection->session)
        abort();
    if (events.first > connection->session->last + 1) {
        answer_error(fake, connection, WIRE_GAP, false);
        return;
    }
    if (fake->options.refuse_events) {
        unsigned char bytes[64];
        struct wire_error error = {.code = (uint16_t)fake->options.refuse_events,
                                   .text = {"never", 5}};
        answer(fake, connection, bytes, wire_put_error(bytes, sizeof bytes, &error));
        return;
    }
    if ((fake->options.busy && !fake->accepts) ||
        random_chance(&fake->random, fake->options.decline_percent)) {
        atomic_fetch_add(&fake->declined, 1);
        answer_error(fake, connection, WIRE_NOT_KEPT, false);
        return;
    }
    struct outcome_list list = {.results = malloc((events.list.left + 1) * sizeof *list.results)};
    uint64_t first = events.first;
    take_all(fake, connection->session, &events, &list);
    size_t size = wire_put_results(NULL, 0, first, list.results, list.count, list.served);
    unsigned char *bytes = malloc(size);
    wire_put_results(bytes, size, first, list.results, list.count, list.served);
    answer(fake, connection, bytes, size);
    free(bytes);
    free(list.results);
    free(list.served);
}

static void take_ask(struct fake *fake, struct fake_connection *connection,
                     const struct wire_frame *frame)
{
    gordian_event request;
    gordian_want wants[64];
    gordian_outcome outcome;
    unsigned char bytes[32];
    if (!wire_get_ask(frame, &request, wants, 64) ||
        gordian_what_if(fake->system, &request, 1, &outcome, NULL) != GORDIAN_OK)
        abort();
    struct wire_asked asked = {.outcome = (uint8_t)outcome};
    answer(fake, connection, bytes, wire_put_asked(bytes, sizeof bytes, &asked));
}

static size_t edges_to_wants(const gordian_edge *edges, size_t count, gordian_want *wants)
{
    for (size_t i = 0; i < count; i++)
        wants[i] = (gordian_want){.units = edges[i].units, .resource = edges[i].resource};
    return count;
}

static void take_state(struct fake *fake, struct fake_connection *connection,
                       const struct wire_frame *frame)
{
    struct wire_state state = {0};
    gordian_edge edges[256];
    gordian_want held[256], wanted[256];
    unsigned char bytes[16384];
    const uint32_t *dead;
    size_t count;
    if (!wire_get_u32(frame, &state.process))
        abort();
    if (gordian_process_name(fake->system, state.process)) {
        state.flags = WIRE_KNOWN;
        state.held = held;
        state.wanted = wanted;
        state.held_count =
            edges_to_wants(edges, gordian_holdings(fake->system, state.process, edges, 256), held);
        state.wanted_count =
            edges_to_wants(edges, gordian_pending(fake->system, state.process, edges, 256), wanted);
        if (gordian_is_waiting(fake->system, state.process))
            state.flags |= WIRE_IS_WAITING;
        if (gordian_deadlocked(fake->system, &dead, &count, NULL) == GORDIAN_OK)
            for (size_t i = 0; i < count; i++)
                if (dead[i] == state.process)
                    state.flags |= WIRE_IS_DEADLOCKED;
    }
    answer(fake, connection, bytes, wire_put_stated(bytes, sizeof bytes, &state));
}

static void take_frame(struct fake *fake, struct fake_connection *connection,
                       const struct wire_frame *frame)
{
    unsigned char bytes[32];
    uint64_t number;
    switch (frame->kind) {
    case WIRE_HELLO:
        take_hello(fake, connection, frame);
        break;
    case WIRE_DECLARE:
        take_declare(fake, connection, frame);
        break;
    case WIRE_EVENTS:
        take_events(fake, connection, frame);
        break;
    case WIRE_ASK:
        take_ask(fake, connection, frame);
        break;
    case WIRE_STATE:
        take_state(fake, connection, frame);
        break;
    case WIRE_PING:
        if (wire_get_u64(frame, &number))
            answer(fake, connection, bytes, wire_put_u64(bytes, sizeof bytes, WIRE_PONG, number));
        break;
    case WIRE_USE:
    case WIRE_OPEN:
        answer_kind(fake, connection);
        break;
    case WIRE_SUBSCRIBE:
        if (fake->options.leader && frame->body[0] > WIRE_MY_GRANTS)
            stand_by(fake, connection);
        else
            answer_empty(fake, connection);
        break;
    default:
        answer_empty(fake, connection);
        break;
    }
}

/* ------------------------------------------------------------------ the thread */

static void read_from(struct fake *fake, struct fake_connection *connection)
{
    ssize_t count =
        recv(connection->fd, connection->in + connection->used, IN_ROOM - connection->used, 0);
    if (count <= 0) {
        hang_up(connection);
        return;
    }
    connection->used += (size_t)count;
    size_t at = 0;
    if (!connection->started) {
        if (connection->used < WIRE_START_SIZE)
            return;
        if (memcmp(connection->in, WIRE_START, WIRE_START_SIZE) != 0)
            abort();
        connection->started = true;
        at = WIRE_START_SIZE;
    }
    struct wire_frame frame;
    size_t used;
    while (connection->fd >= 0 && wire_next(connection->in + at, connection->used - at,
                                            WIRE_FRAME_MAX, &frame, &used) == WIRE_WHOLE) {
        take_frame(fake, connection, &frame);
        at += used;
    }
    if (connection->fd < 0)
        return;
    memmove(connection->in, connection->in + at, connection->used - at);
    connection->used -= at;
}

static void welcome_in(struct fake *fake)
{
    int fd = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC);
    for (size_t i = 0; i < FAKE_CLIENTS && fd >= 0; i++) {
        if (fake->connections[i].fd >= 0)
            continue;
        fake->connections[i] = (struct fake_connection){.fd = fd, .in = malloc(IN_ROOM)};
        return;
    }
    if (fd >= 0)
        close(fd);
}

static void *serve(void *context)
{
    struct fake *fake = context;
    for (;;) {
        struct pollfd wanted[FAKE_CLIENTS + 2] = {{.fd = fake->wake[0], .events = POLLIN},
                                                  {.fd = fake->listener, .events = POLLIN}};
        for (size_t i = 0; i < FAKE_CLIENTS; i++)
            wanted[i + 2] = (struct pollfd){.fd = fake->connections[i].fd, .events = POLLIN};
        if (poll(wanted, FAKE_CLIENTS + 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (wanted[0].revents)
            return NULL;
        for (size_t i = 0; i < FAKE_CLIENTS; i++)
            if (wanted[i + 2].revents && fake->connections[i].fd == wanted[i + 2].fd)
                read_from(fake, &fake->connections[i]);
        if (wanted[1].revents)
            welcome_in(fake);
    }
}

bool fake_start(struct fake *fake, const struct fake_options *options)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    *fake = (struct fake){.options = *options};
    random_seed(&fake->random, options->seed);
    for (size_t i = 0; i < FAKE_CLIENTS; i++)
        fake->connections[i].fd = -1;
    if (!scratch_make(fake->folder, "fake") ||
        gordian_open(&fake->system, NULL, NULL) != GORDIAN_OK || pipe(fake->wake) != 0)
        return false;
    snprintf(at.sun_path, sizeof at.sun_path, "%.90s/socket", fake->folder);
    snprintf(fake->uri, sizeof fake->uri, "unix:%.107s", at.sun_path);
    fake->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fake->listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(fake->listener, 16) != 0)
        return false;
    return pthread_create(&fake->thread, NULL, serve, fake) == 0;
}

void fake_stop(struct fake *fake)
{
    if (write(fake->wake[1], "", 1) != 1)
        abort();
    pthread_join(fake->thread, NULL);
    for (size_t i = 0; i < FAKE_CLIENTS; i++)
        if (fake->connections[i].fd >= 0)
            hang_up(&fake->connections[i]);
    close(fake->listener);
    close(fake->wake[0]);
    close(fake->wake[1]);
    unlink(fake->uri + strlen("unix:"));
    rmdir(fake->folder);
}

void fake_free(struct fake *fake)
{
    gordian_close(fake->system);
    free(fake->owner);
}
