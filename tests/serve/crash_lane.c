/* A client in either form of the protocol. */
#include "crash_lane.h"
#include "foundation/base/json/json_read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

void lane_wrong(struct lane *lane, const char *format, ...)
{
    va_list arguments;
    if (lane->wrong[0])
        return;
    int used = snprintf(lane->wrong, sizeof lane->wrong, "%s: ", lane->system);
    va_start(arguments, format);
    vsnprintf(lane->wrong + used, sizeof lane->wrong - (size_t)used, format, arguments);
    va_end(arguments);
}

void lane_open(struct lane *lane, unsigned number, const char *socket, _Atomic bool *finish)
{
    *lane = (struct lane){.model = (enum lane_model)(number % LANE_MODELS),
                          .lines = number / LANE_MODELS % 2,
                          .socket = socket,
                          .finish = finish,
                          .fd = -1};
    snprintf(lane->system, sizeof lane->system, "lane-%u-%s", number,
             lane->lines ? "lines" : "binary");
    random_seed(&lane->random, number + 1);
    lane->in_room = 1 << 20;
    lane->in = malloc(lane->in_room);
    if (!lane->in)
        abort();
    model_open(lane);
}

void lane_close(struct lane *lane)
{
    model_close(lane);
    arena_free(&lane->line);
    free(lane->in);
}

/* ------------------------------------------------------------------ bytes; false: it broke */

static bool connect_lane(struct lane *lane)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", lane->socket);
    lane->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    lane->in_used = 0;
    if (lane->roams) { /* a server that was stopped does not hang up */
        struct timeval patience = {.tv_sec = 2};
        setsockopt(lane->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(lane->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    }
    return lane->fd >= 0 && connect(lane->fd, (struct sockaddr *)&address, sizeof address) == 0;
}

static bool put(struct lane *lane, const void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t part = send(lane->fd, (const char *)bytes + done, count - done, MSG_NOSIGNAL);
        if (part < 0 && errno != EINTR)
            return false;
        done += part > 0 ? (size_t)part : 0;
    }
    return true;
}

static bool get_more(struct lane *lane)
{
    if (lane->in_used == lane->in_room) {
        lane->in_room *= 2;
        lane->in = realloc(lane->in, lane->in_room);
        if (!lane->in)
            abort();
    }
    ssize_t part;
    do
        part = recv(lane->fd, lane->in + lane->in_used, lane->in_room - lane->in_used, 0);
    while (part < 0 && errno == EINTR);
    if (part <= 0)
        return false;
    lane->in_used += (size_t)part;
    return true;
}

static void drop_input(struct lane *lane, size_t count)
{
    memmove(lane->in, lane->in + count, lane->in_used - count);
    lane->in_used -= count;
}

/* Does it mean that another one leads, or soon will? */
static bool is_no_leader(const struct lane *lane, unsigned code)
{
    return lane->roams &&
           (code == WIRE_NOT_LEADER || code == WIRE_NOT_KEPT || code == WIRE_STOPPING);
}

/* ------------------------------------------------------------------ answers to events */

static struct lane_event *expected(struct lane *lane, uint64_t number)
{
    return &lane->events[number % LANE_EVENTS];
}

/* One event has been answered. */
static void judge(struct lane *lane, uint64_t number, bool duplicate, const char *result,
                  uint32_t served, bool waits)
{
    const struct lane_event *event = expected(lane, number);
    if (duplicate) {
        lane->duplicates++;
        if (number > lane->settled)
            lane_wrong(lane, "event %llu is called a duplicate and was not applied",
                       (unsigned long long)number);
        return;
    }
    const char *right = model_outcome_text(lane, event->outcome);
    if (number != lane->settled + 1)
        lane_wrong(lane, "event %llu is answered after %llu", (unsigned long long)number,
                   (unsigned long long)lane->settled);
    else if (strcmp(result, right) != 0 || served != event->served || waits != event->waits)
        lane_wrong(lane, "event %llu: %s, %u served, waits %d; not %s, %u, %d",
                   (unsigned long long)number, result, served, waits, right, event->served,
                   event->waits);
    else
        model_settle(lane, number);
    lane->acknowledged++;
}

/* ------------------------------------------------------------------ binary */

/* The next frame that is an answer; its bytes are dropped with drop_input(*used). */
static bool next_frame(struct lane *lane, struct wire_frame *frame, size_t *used)
{
    for (;;) {
        enum wire_found found = wire_next(lane->in, lane->in_used, WIRE_ANSWER_MAX, frame, used);
        if (found == WIRE_BROKEN) {
            lane_wrong(lane, "a broken frame");
            return false;
        }
        if (found == WIRE_PART) {
            if (!get_more(lane))
                return false;
            continue;
        }
        if (frame->kind != WIRE_GRANTED && frame->kind != WIRE_INCIDENT &&
            frame->kind != WIRE_EVENT)
            return true;
        drop_input(lane, *used);
    }
}

static bool expect_frame(struct lane *lane, uint8_t kind, struct wire_frame *frame, size_t *used)
{
    struct wire_error error;
    if (!next_frame(lane, frame, used))
        return false;
    if (frame->kind == kind)
        return true;
    if (frame->kind == WIRE_ERROR && wire_get_error(frame, &error)) {
        lane->errors++;
        if (!error.fatal && error.code != WIRE_NOT_KEPT && !is_no_leader(lane, error.code))
            lane_wrong(lane, "error %u: %.*s", error.code, (int)error.text.length, error.text.text);
    } else {
        lane_wrong(lane, "frame %u, not %u", frame->kind, kind);
    }
    return false;
}

static bool binary_declare(struct lane *lane)
{
    struct wire_declaration list[LANE_RESOURCES + LANE_PROCESSES];
    gordian_want claims[LANE_PROCESSES][LANE_RESOURCES];
    char names[LANE_RESOURCES + LANE_PROCESSES][16], frame_bytes[16384];
    struct wire_frame frame;
    struct wire_list ids;
    size_t count = 0, used;
    uint32_t id;
    for (uint32_t q = 0; q < LANE_RESOURCES; q++, count++) {
        size_t length = (size_t)snprintf(names[count], 16, "r%u", q);
        list[count] = (struct wire_declaration){
            .what = WIRE_RESOURCE, .name = {names[count], length}, .units = model_units(lane, q)};
    }
    for (uint32_t p = 0; p < LANE_PROCESSES; p++, count++) {
        size_t length = (size_t)snprintf(names[count], 16, "p%u", p), claimed = 0;
        for (uint32_t q = 0; q < LANE_RESOURCES && lane->model == LANE_BANK; q++)
            if (model_claim(lane, p, q) > 0)
                claims[p][claimed++] =
                    (gordian_want){.units = model_claim(lane, p, q), .resource = q};
        list[count] = (struct wire_declaration){.what = WIRE_PROCESS,
                                                .name = {names[count], length},
                                                .claims = claims[p],
                                                .claim_count = claimed};
    }
    size_t size = wire_put_declare(frame_bytes, sizeof frame_bytes, list, count);
    if (!put(lane, frame_bytes, size) || !expect_frame(lane, WIRE_DECLARED, &frame, &used))
        return false;
    if (!wire_get_declared(&frame, &ids))
        lane_wrong(lane, "a bad DECLARED");
    for (uint32_t i = 0; i < count && wire_next_id(&ids, &id); i++)
        if (id != (i < LANE_RESOURCES ? i : i - LANE_RESOURCES))
            lane_wrong(lane, "%s has the id %u", names[i], id);
    drop_input(lane, used);
    return true;
}

static bool binary_hello(struct lane *lane, uint64_t *last)
{
    char bytes[1024];
    struct wire_frame frame;
    struct wire_welcome welcome;
    size_t used, size = 0;
    struct wire_hello hello = {.lease_ms = 600000, .name = {"crash", 5}, .token = {"", 0}};
    static const char *const options[] = {"", "", "recover=youngest", "queue=yes patience=4"};
    struct wire_open open = {.name = {lane->system, strlen(lane->system)},
                             .kind = lane->model == LANE_BANK ? WIRE_AVOID : WIRE_DETECT,
                             .options = {options[lane->model], strlen(options[lane->model])}};
    if (lane->has_session)
        memcpy(hello.session, lane->session, sizeof hello.session);
    memcpy(bytes, WIRE_START, WIRE_START_SIZE);
    size = WIRE_START_SIZE;
    size += wire_put_hello(bytes + size, sizeof bytes - size, &hello);
    size += wire_put_open(bytes + size, sizeof bytes - size, &open);
    if (!put(lane, bytes, size) || !expect_frame(lane, WIRE_WELCOME, &frame, &used))
        return false;
    if (!wire_get_welcome(&frame, &welcome)) {
        lane_wrong(lane, "a bad WELCOME");
        return false;
    }
    if (lane->has_session && memcmp(lane->session, welcome.session, sizeof lane->session) != 0)
        lane_wrong(lane, "another session than asked for");
    memcpy(lane->session, welcome.session, sizeof lane->session);
    lane->has_session = true;
    *last = welcome.last;
    drop_input(lane, used);
    if (!expect_frame(lane, WIRE_DONE, &frame, &used))
        return false;
    drop_input(lane, used);
    /* Once an event was applied the names are known; a bank takes no new claims of who waits. */
    return *last > 0 || binary_declare(lane);
}

static bool binary_state(struct lane *lane, uint32_t process, uint64_t *held, uint64_t *wanted,
                         bool *waits)
{
    char bytes[32];
    struct wire_frame frame;
    struct wire_state state;
    struct wire_list wants;
    gordian_want want;
    size_t used;
    if (!put(lane, bytes, wire_put_u32(bytes, sizeof bytes, WIRE_STATE, process)) ||
        !expect_frame(lane, WIRE_STATED, &frame, &used))
        return false;
    if (!wire_get_stated(&frame, &state, &wants)) {
        lane_wrong(lane, "a bad STATED");
        return false;
    }
    *waits = state.flags & WIRE_IS_WAITING;
    for (size_t i = 0; i < state.held_count + state.wanted_count && wire_next_want(&wants, &want);
         i++)
        if (want.resource < LANE_RESOURCES)
            (i < state.held_count ? held : wanted)[want.resource] = want.units;
    drop_input(lane, used);
    return true;
}

static bool binary_send(struct lane *lane, uint64_t first, size_t count)
{
    static _Thread_local gordian_event list[LANE_EVENTS];
    static _Thread_local char bytes[LANE_EVENTS * 64];
    for (size_t i = 0; i < count; i++) {
        struct lane_event *event = expected(lane, first + i);
        list[i] = event->event;
        if (list[i].wants)
            list[i].wants = event->wants;
    }
    return put(lane, bytes, wire_put_events(bytes, sizeof bytes, first, list, count));
}

/* One frame of answers; *refused: none of it was applied, try again. */
static bool binary_answers(struct lane *lane, bool *refused)
{
    struct wire_frame frame;
    struct wire_results results;
    struct wire_result result;
    struct wire_error error;
    size_t used;
    uint32_t process;
    if (!next_frame(lane, &frame, &used))
        return false;
    if (frame.kind == WIRE_ERROR && lane->careful && wire_get_error(&frame, &error) &&
        error.code == WIRE_NOT_KEPT) {
        lane->errors++;
        *refused = true;
        drop_input(lane, used);
        return true;
    }
    if (frame.kind != WIRE_RESULTS || !wire_get_results(&frame, &results)) {
        if (frame.kind == WIRE_ERROR && wire_get_error(&frame, &error)) {
            if (!is_no_leader(lane, error.code))
                lane_wrong(lane, "events refused: %u %.*s", error.code, (int)error.text.length,
                           error.text.text);
        } else
            lane_wrong(lane, "frame %u in place of results", frame.kind);
        return false;
    }
    uint64_t number = results.first;
    while (wire_next_result(&results, &result)) {
        bool bank = lane->model == LANE_BANK;
        bool duplicate = result.outcome == WIRE_DUPLICATE;
        for (uint32_t i = 0; i < result.served; i++)
            wire_next_served(&results, &process);
        judge(lane, number++, duplicate, duplicate ? "" : model_outcome_text(lane, result.outcome),
              result.served, bank && result.reason & WIRE_WAITS);
    }
    drop_input(lane, used);
    return true;
}

/* ------------------------------------------------------------------ lines */

/* The next line that is an answer: one with this member, or an error, until the next
 * is read. NULL: the connection has ended. */
static const struct value *next_line(struct lane *lane, const char *member)
{
    gordian_allocator memory = memory_allocator(NULL);
    for (size_t looked = 0;;) {
        char *end = memchr(lane->in + looked, '\n', lane->in_used - looked);
        if (!end) {
            looked = lane->in_used;
            if (!get_more(lane))
                return NULL;
            continue;
        }
        size_t used = (size_t)(end - lane->in) + 1;
        const struct value *line = NULL;
        arena_free(&lane->line);
        arena_init(&lane->line, &memory);
        if (json_read_strictly(&line, &lane->line, lane->in, used - 1, false, NULL) != GORDIAN_OK)
            lane_wrong(lane, "not JSON: %.*s", (int)(used < 200 ? used : 200), lane->in);
        drop_input(lane, used);
        if (!line || value_find(line, "error") || value_find(line, member))
            return line;
        looked = 0;
    }
}

static void wrong_line(struct lane *lane, const struct value *line)
{
    const char *error = value_text(value_find(line, "message"));
    lane_wrong(lane, "%.200s", error ? error : "an answer that makes no sense");
}

static bool says_no_leader(const struct lane *lane, const struct value *line)
{
    return is_no_leader(lane, (unsigned)value_integer(value_find(line, "code"), 0));
}

static const struct value *expect_line(struct lane *lane, const char *member)
{
    const struct value *line = next_line(lane, member);
    if (!line || !value_find(line, "error"))
        return line;
    lane->errors++;
    if (!says_no_leader(lane, line))
        wrong_line(lane, line);
    return NULL;
}

static bool lines_declare(struct lane *lane)
{
    char text[8192];
    size_t used = 0;
    for (uint32_t q = 0; q < LANE_RESOURCES; q++)
        used += (size_t)snprintf(text + used, sizeof text - used, "resource r%u %llu\n", q,
                                 (unsigned long long)model_units(lane, q));
    for (uint32_t p = 0; p < LANE_PROCESSES; p++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "process p%u", p);
        for (uint32_t q = 0; q < LANE_RESOURCES && lane->model == LANE_BANK; q++)
            if (model_claim(lane, p, q) > 0)
                used += (size_t)snprintf(text + used, sizeof text - used, " r%u=%llu", q,
                                         (unsigned long long)model_claim(lane, p, q));
        used += (size_t)snprintf(text + used, sizeof text - used, "\n");
    }
    return put(lane, text, used);
}

static void parse_session(struct lane *lane, const char *text)
{
    for (size_t i = 0; i < WIRE_SESSION_SIZE && strlen(text) == 2 * WIRE_SESSION_SIZE; i++)
        sscanf(text + 2 * i, "%2hhx", &lane->session[i]);
}

static bool lines_hello(struct lane *lane, uint64_t *last)
{
    static const char *const options[] = {"detect", "detect", "detect recover=youngest",
                                          "avoid queue=yes patience=4"};
    char text[300], was[2 * WIRE_SESSION_SIZE + 1] = "";
    size_t size;
    for (size_t i = 0; i < WIRE_SESSION_SIZE; i++)
        snprintf(was + 2 * i, 3, "%02x", lane->session[i]);
    size = (size_t)snprintf(text, sizeof text, "hello lease=600%s%s\nopen %s %s\n",
                            lane->has_session ? " session=" : "", lane->has_session ? was : "",
                            lane->system, options[lane->model]);
    const struct value *line = put(lane, text, size) ? expect_line(lane, "hello") : NULL;
    if (!line)
        return false;
    const struct value *hello = value_find(line, "hello");
    const char *id = value_text(value_find(hello, "session"));
    if (!id || !value_is(value_find(hello, "last"), VALUE_INTEGER))
        lane_wrong(lane, "a bad hello");
    else if (lane->has_session && strcmp(id, was) != 0)
        lane_wrong(lane, "another session than asked for");
    *last = (uint64_t)value_integer(value_find(hello, "last"), 0);
    parse_session(lane, id ? id : "");
    lane->has_session = true;
    line = expect_line(lane, "ok");
    if (!line)
        return false;
    return *last > 0 || lines_declare(lane);
}

static bool lines_state(struct lane *lane, uint32_t process, uint64_t *held, uint64_t *wanted,
                        bool *waits)
{
    char text[32];
    const struct value *line =
        put(lane, text, (size_t)snprintf(text, sizeof text, "state p%u\n", process))
            ? expect_line(lane, "state")
            : NULL;
    if (!line)
        return false;
    const struct value *state = value_find(line, "state");
    const struct value *holds = value_find(state, "holds");
    const struct value *waits_for = value_find(state, "waits_for");
    bool good = holds && waits_for && value_find(state, "waiting");
    if (!good)
        lane_wrong(lane, "a bad state");
    *waits = value_is_true(value_find(state, "waiting"));
    for (uint32_t q = 0; q < LANE_RESOURCES; q++) {
        snprintf(text, sizeof text, "r%u", q);
        held[q] = (uint64_t)value_integer(value_find(holds, text), 0);
        wanted[q] = (uint64_t)value_integer(value_find(waits_for, text), 0);
    }
    return good;
}

static size_t write_event(char *text, size_t room, uint64_t number, const struct lane_event *made)
{
    const gordian_event *event = &made->event;
    gordian_want one = {.units = event->units, .resource = event->resource};
    const gordian_want *wants = event->wants ? made->wants : &one;
    size_t count = event->wants ? event->want_count : 1;
    size_t used = (size_t)snprintf(text, room, "@%llu %s p%u", (unsigned long long)number,
                                   gordian_op_text(event->op), event->process);
    if (event->op == GORDIAN_OP_REQUEST || event->op == GORDIAN_OP_RELEASE)
        for (size_t i = 0; i < count; i++)
            used += (size_t)snprintf(text + used, room - used, " r%u=%llu", wants[i].resource,
                                     (unsigned long long)wants[i].units);
    text[used++] = '\n';
    return used;
}

static bool lines_send(struct lane *lane, uint64_t first, size_t count)
{
    static _Thread_local char text[LANE_EVENTS * 96];
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        used += write_event(text + used, sizeof text - used, first + i, expected(lane, first + i));
    return put(lane, text, used);
}

static size_t count_granted(const struct value *answer)
{
    return value_count(value_find(answer, "granted_to"));
}

/* One line; the events are answered in order, so its number is the next. */
static bool lines_answer(struct lane *lane, uint64_t number, bool *refused)
{
    const struct value *line = next_line(lane, "op");
    if (!line)
        return false;
    bool error = value_find(line, "error") != NULL, good = true;
    const char *result = value_text(value_find(line, "result"));
    const struct value *victims = value_find(line, "recovered");
    size_t served = count_granted(line);
    for (size_t i = 0; i < value_count(victims); i++)
        served += count_granted(value_item(victims, i));
    if (error && lane->careful) {
        lane->errors++;
        *refused = true;
    } else if (error && says_no_leader(lane, line)) {
        good = false;
    } else if (error || !result) {
        wrong_line(lane, line);
        good = false;
    } else {
        judge(lane, number, strcmp(result, "duplicate") == 0, result, (uint32_t)served,
              value_is_true(value_find(line, "waits")));
    }
    return good;
}

/* ------------------------------------------------------------------ a connection's life */

/* Is the service where it must be, and its state right? */
static bool check_state(struct lane *lane, uint64_t last)
{
    if (last < lane->settled || last > lane->sent) {
        lane_wrong(lane, "the service has %llu events: %llu were acknowledged, %llu sent",
                   (unsigned long long)last, (unsigned long long)lane->settled,
                   (unsigned long long)lane->sent);
        return false;
    }
    model_settle(lane, last);
    if (last == 0)
        return true;
    for (uint32_t p = 0; p < LANE_PROCESSES; p++) {
        uint64_t held[2][LANE_RESOURCES] = {{0}}, wanted[2][LANE_RESOURCES] = {{0}};
        bool waits[2];
        if (!(lane->lines ? lines_state : binary_state)(lane, p, held[0], wanted[0], &waits[0]))
            return false;
        model_state(lane, p, held[1], wanted[1], &waits[1]);
        if (memcmp(held[0], held[1], sizeof *held) != 0 || waits[0] != waits[1] ||
            (lane->model != LANE_BANK && memcmp(wanted[0], wanted[1], sizeof *wanted) != 0))
            lane_wrong(lane, "after event %llu process p%u is not as it should be",
                       (unsigned long long)last, p);
        lane->checked++;
    }
    return !lane->wrong[0];
}

static bool send_events(struct lane *lane, uint64_t first, size_t count)
{
    if (first + count - 1 > lane->sent)
        lane->sent = first + count - 1; /* before it is: it may be applied even if this fails */
    return (lane->lines ? lines_send : binary_send)(lane, first, count);
}

/* Answers until no more than `most` events are on their way. `answered`: number of the last event
 * that was. */
static bool take_answers(struct lane *lane, uint64_t *answered, uint64_t through, uint64_t most)
{
    bool refused = false;
    while (through - *answered > most && !lane->wrong[0]) {
        uint64_t before = lane->acknowledged + lane->duplicates;
        if (!(lane->lines ? lines_answer(lane, *answered + 1, &refused)
                          : binary_answers(lane, &refused)))
            return false;
        if (refused) { /* nothing of it was applied: once more, a little later */
            struct timespec pause = {.tv_nsec = 20000000};
            nanosleep(&pause, NULL);
            refused = false;
            if (!send_events(lane, *answered + 1, (size_t)(through - *answered)))
                return false;
            continue;
        }
        *answered += lane->acknowledged + lane->duplicates - before;
    }
    return !lane->wrong[0];
}

/* What the service has not seen, or perhaps has: again, also some that it surely has. */
static bool send_again(struct lane *lane, uint64_t acknowledged)
{
    uint64_t first = random_chance(&lane->random, 50) ? lane->settled + 1 : acknowledged + 1;
    uint64_t answered = first - 1;
    while (answered < lane->sent) {
        size_t count = (size_t)(lane->sent - answered);
        count = count > 500 ? 500 : count;
        count = lane->careful && lane->lines ? 1 : count;
        uint64_t through = answered + count;
        if (!send_events(lane, answered + 1, count) || !take_answers(lane, &answered, through, 0))
            return false;
    }
    return true;
}

static bool stream(struct lane *lane)
{
    uint64_t answered = lane->settled;
    while (!*lane->finish) {
        uint64_t most = random_below(&lane->random, LANE_WINDOW);
        size_t count = 1 + (size_t)random_below(&lane->random, 60);
        if (lane->careful) {
            most = 0;
            count = lane->lines ? 1 : count;
        }
        for (size_t i = 0; i < count; i++)
            model_make(lane);
        if (!send_events(lane, lane->made - count + 1, count) ||
            !take_answers(lane, &answered, lane->made, most))
            return false;
    }
    return take_answers(lane, &answered, lane->made, 0);
}

bool lane_run(struct lane *lane)
{
    uint64_t last = 0, acknowledged = lane->settled;
    bool done = connect_lane(lane) && (lane->lines ? lines_hello : binary_hello)(lane, &last) &&
                check_state(lane, last);
    if (done) {
        lane->connected = true;
        done = send_again(lane, acknowledged) && stream(lane);
    }
    if (lane->fd >= 0)
        close(lane->fd);
    lane->fd = -1;
    return done;
}
