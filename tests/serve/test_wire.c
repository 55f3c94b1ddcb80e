/* The binary form: whatever is written is read again as it was; whatever else comes is refused, and
 * nothing outside of the bytes given is looked at (each body is a block of its own, for ASan). */
#include "foundation/base/random.h"
#include "service/wire/wire.h"
#include "test.h"

#include <string.h>

#define ROUNDS 3000
#define WANTS  70000

static struct random dice;
static unsigned char buffer[4 << 20];
static gordian_want wants[WANTS], read_wants[WANTS];

static uint64_t below(uint64_t bound)
{
    return random_below(&dice, bound);
}

/* Numbers of all sizes. */
static uint64_t any(void)
{
    return random_next(&dice) >> below(64);
}

static struct wire_text any_text(char *to, size_t most)
{
    size_t length = below(most + 1);
    for (size_t i = 0; i < length; i++)
        to[i] = (char)below(256);
    return (struct wire_text){to, length};
}

static bool same_text(struct wire_text left, struct wire_text right)
{
    return left.length == right.length && memcmp(left.text, right.text, left.length) == 0;
}

/* ------------------------------------------------------------------ any body */

static bool read_ids(struct wire_list *list)
{
    uint32_t id;
    while (wire_next_id(list, &id))
        ;
    return list->left == 0;
}

static bool read_declarations(struct wire_list *list)
{
    struct wire_declaration declaration;
    while (wire_next_declaration(list, &declaration, read_wants, 4))
        ;
    return list->left == 0;
}

static bool read_events(struct wire_events *events)
{
    gordian_event event[16];
    bool bad = false;
    while (events->list.left && !bad)
        if (!wire_next_events(&events->list, event, 16, read_wants, WANTS, &bad))
            break;
    return !bad && events->list.left == 0;
}

static bool read_results(struct wire_results *results)
{
    struct wire_result result;
    uint32_t id;
    while (wire_next_result(results, &result))
        for (uint32_t i = 0; i < result.served; i++)
            if (!wire_next_served(results, &id))
                return false;
    return results->count == 0 && results->ids == results->end;
}

static bool read_stated(struct wire_list *list)
{
    gordian_want want;
    while (wire_next_want(list, &want))
        ;
    return list->left == 0;
}

/* What has a list in it. True: it is what `kind` says. */
static bool read_lists(const struct wire_frame *frame)
{
    struct wire_list list;
    struct wire_events events;
    struct wire_results results;
    struct wire_state state;
    struct wire_answer answer;
    uint8_t u8;
    switch (frame->kind) {
    case WIRE_DECLARE:
        return wire_get_declare(frame, &list) && read_declarations(&list);
    case WIRE_EVENTS:
        return wire_get_events(frame, &events) && read_events(&events);
    case WIRE_REMOVE:
        return wire_get_remove(frame, &u8, &list) && read_ids(&list);
    case WIRE_DECLARED:
        return wire_get_declared(frame, &list) && read_ids(&list);
    case WIRE_ANSWER:
        if (!wire_get_answer(frame, &answer))
            return false;
        read_ids(&answer.served);
        return true;
    case WIRE_RESULTS:
        return wire_get_results(frame, &results) && read_results(&results);
    case WIRE_STATED:
        return wire_get_stated(frame, &state, &list) && read_stated(&list);
    default:
        return true;
    }
}

/* Reads a body in every way there is. True: it is what `kind` says. */
static bool read_any(const struct wire_frame *frame)
{
    struct wire_hello hello;
    struct wire_open open;
    struct wire_text name;
    struct wire_weigh weigh;
    struct wire_welcome welcome;
    struct wire_error error;
    struct wire_asked asked;
    struct wire_line line;
    gordian_event event[16];
    uint64_t u64;
    uint32_t u32;
    uint8_t u8;
    switch (frame->kind) {
    case WIRE_HELLO:
        return wire_get_hello(frame, &hello);
    case WIRE_USE:
    case WIRE_CLOSE:
        return wire_get_name(frame, &name);
    case WIRE_OPEN:
        return wire_get_open(frame, &open);
    case WIRE_ASK:
        return wire_get_ask(frame, event, read_wants, WANTS);
    case WIRE_LINE:
        return wire_get_line(frame, &line);
    case WIRE_WEIGH:
        return wire_get_weigh(frame, &weigh);
    case WIRE_LABEL: {
        struct wire_text texts[WIRE_LABELS_MAX];
        struct wire_label label;
        return wire_get_label(frame, &label, texts);
    }
    case WIRE_SUBSCRIBE:
        return wire_get_u8(frame, &u8);
    case WIRE_STATE:
    case WIRE_GRANTED:
        return wire_get_u32(frame, &u32);
    case WIRE_PING:
    case WIRE_PONG:
        return wire_get_u64(frame, &u64);
    case WIRE_WELCOME:
        return wire_get_welcome(frame, &welcome);
    case WIRE_ASKED:
        return wire_get_asked(frame, &asked);
    case WIRE_ERROR:
        return wire_get_error(frame, &error);
    default:
        return read_lists(frame);
    }
}

/* The same body in a block of its own. */
static bool read_copy(uint8_t kind, const unsigned char *body, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    if (!copy)
        return false;
    memcpy(copy, body, size);
    struct wire_frame frame = {.kind = kind, .body = copy, .size = size};
    bool good = read_any(&frame);
    free(copy);
    return good;
}

/* A frame that was just written into the buffer: found whole, and neither a part of it nor more
 * than it is taken for one. */
static void check_frame(size_t size, uint8_t kind)
{
    struct wire_frame frame;
    size_t used;
    CHECK(size <= sizeof buffer);
    CHECK(wire_next(buffer, size, sizeof buffer, &frame, &used) == WIRE_WHOLE);
    CHECK(used == size && frame.kind == kind && frame.size == size - WIRE_HEAD_SIZE);
    CHECK(wire_next(buffer, below(size), sizeof buffer, &frame, &used) == WIRE_PART);
    CHECK(used <= size);
    CHECK(wire_next(buffer, size, size - 5, &frame, &used) == WIRE_BROKEN);
    CHECK(read_copy(kind, buffer + WIRE_HEAD_SIZE, size - WIRE_HEAD_SIZE));
    size_t body = size - WIRE_HEAD_SIZE;
    CHECK(!read_copy(kind, buffer + WIRE_HEAD_SIZE, body ? below(body) : 0) || body == 0);
    buffer[size] = 0;
    CHECK(!read_copy(kind, buffer + WIRE_HEAD_SIZE, body + 1));
    /* with any byte changed it is read or refused, but harmless */
    if (body > 0) {
        buffer[WIRE_HEAD_SIZE + below(body)] ^= (unsigned char)(1u << below(8));
        read_copy(kind, buffer + WIRE_HEAD_SIZE, body);
    }
}

static struct wire_frame frame_of(size_t size)
{
    struct wire_frame frame = {0};
    size_t used;
    REQUIRE(wire_next(buffer, size, sizeof buffer, &frame, &used) == WIRE_WHOLE);
    return frame;
}

/* ------------------------------------------------------------------ kinds */

static void try_hello(void)
{
    char token[300], name[300];
    struct wire_hello hello = {.lease_ms = (uint32_t)any(),
                               .flags = (uint8_t)any(),
                               .token = any_text(token, 299),
                               .name = any_text(name, 299)};
    for (size_t i = 0; i < sizeof hello.session; i++)
        hello.session[i] = (uint8_t)any();
    size_t size = wire_put_hello(buffer, sizeof buffer, &hello);
    CHECK(size == wire_put_hello(NULL, 0, &hello));
    struct wire_hello got;
    struct wire_frame frame = frame_of(size);
    CHECK(wire_get_hello(&frame, &got));
    CHECK(memcmp(got.session, hello.session, sizeof got.session) == 0 &&
          got.lease_ms == hello.lease_ms && got.flags == hello.flags &&
          same_text(got.token, hello.token) && same_text(got.name, hello.name));
    check_frame(size, WIRE_HELLO);
}

static void try_open(void)
{
    char name[300], options[300];
    struct wire_open open = {
        .name = any_text(name, 255), .kind = (uint8_t)any(), .options = any_text(options, 299)};
    size_t size = wire_put_open(buffer, sizeof buffer, &open);
    struct wire_open got;
    struct wire_frame frame = frame_of(size);
    CHECK(wire_get_open(&frame, &got));
    CHECK(same_text(got.name, open.name) && got.kind == open.kind &&
          same_text(got.options, open.options));
    check_frame(size, WIRE_OPEN);
    size = wire_put_name(buffer, sizeof buffer, WIRE_USE, open.name);
    struct wire_text text;
    frame = frame_of(size);
    CHECK(wire_get_name(&frame, &text) && same_text(text, open.name));
    check_frame(size, WIRE_USE);
}

static void try_declare(void)
{
    struct wire_declaration declarations[8], got;
    static char names[8][256];
    size_t count = 1 + below(8), used = 0;
    for (size_t i = 0; i < count; i++) {
        declarations[i] = (struct wire_declaration){.what = (uint8_t)(1 + below(2)),
                                                    .name = any_text(names[i], 255),
                                                    .units = any(),
                                                    .claims = wants + used,
                                                    .claim_count = below(5)};
        for (size_t j = 0; j < declarations[i].claim_count; j++)
            wants[used++] = (gordian_want){any(), (uint32_t)any()};
    }
    size_t size = wire_put_declare(buffer, sizeof buffer, declarations, count);
    CHECK(size == wire_put_declare(NULL, 0, declarations, count));
    struct wire_frame frame = frame_of(size);
    struct wire_list list;
    CHECK(wire_get_declare(&frame, &list) && list.left == count);
    for (size_t i = 0; i < count; i++) {
        CHECK(wire_next_declaration(&list, &got, read_wants, WANTS));
        CHECK(got.what == declarations[i].what && same_text(got.name, declarations[i].name) &&
              got.units == declarations[i].units && got.claim_count == declarations[i].claim_count);
        for (size_t j = 0; j < got.claim_count; j++)
            CHECK(got.claims[j].resource == declarations[i].claims[j].resource &&
                  got.claims[j].units == declarations[i].claims[j].units);
    }
    CHECK(!wire_next_declaration(&list, &got, read_wants, WANTS) && list.left == 0);
    check_frame(size, WIRE_DECLARE);
}

/* ------------------------------------------------------------------ events */

#define EVENTS 40

static gordian_event any_event(size_t *used, size_t most)
{
    gordian_event event = {.op = (gordian_op)(1 + below(8)),
                           .process = (uint32_t)any(),
                           .resource = GORDIAN_NONE,
                           .to = below(8) ? GORDIAN_NONE : (uint32_t)below(1000)};
    if (event.op == GORDIAN_OP_CANCEL || event.op == GORDIAN_OP_EXIT || event.op == GORDIAN_OP_ACT)
        return event;
    if (event.op == GORDIAN_OP_AWAIT) {
        event.to = GORDIAN_NONE;
        event.want_count = below(most);
        event.units = below(2) ? event.want_count : below(GORDIAN_NONE);
        event.wants = event.want_count ? wants + *used : NULL;
    } else if (below(2)) {
        event.resource = (uint32_t)any();
        event.units = any();
        return event;
    } else {
        event.want_count = 2 + below(most);
        event.wants = wants + *used;
    }
    for (size_t i = 0; i < event.want_count; i++)
        wants[(*used)++] = (gordian_want){any(), (uint32_t)any()};
    return event;
}

static bool same_event(const gordian_event *left, const gordian_event *right)
{
    if (left->op != right->op || left->process != right->process || left->to != right->to ||
        !left->wants != !right->wants || left->want_count != right->want_count ||
        (left->op == GORDIAN_OP_AWAIT && left->units != right->units))
        return false;
    if (!left->wants)
        return left->resource == right->resource && left->units == right->units;
    for (size_t i = 0; i < left->want_count; i++)
        if (left->wants[i].resource != right->wants[i].resource ||
            left->wants[i].units != right->wants[i].units)
            return false;
    return true;
}

static void try_events(void)
{
    gordian_event events[EVENTS], got[EVENTS];
    size_t count = 1 + below(EVENTS), used = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        events[i] = any_event(&used, 6);
        sum += wire_event_size(&events[i]);
    }
    uint64_t first = any();
    size_t size = wire_put_events(buffer, sizeof buffer, first, events, count);
    CHECK(size == WIRE_HEAD_SIZE + 12 + sum &&
          size == wire_put_events(NULL, 0, first, events, count));
    struct wire_frame frame = frame_of(size);
    struct wire_events read;
    CHECK(wire_get_events(&frame, &read) && read.first == first && read.list.left == count);
    for (size_t i = 0; i < count;) { /* in pieces, sometimes with little room for wants */
        bool bad;
        size_t done = wire_next_events(&read.list, got, 1 + below(10), read_wants,
                                       below(3) ? WANTS : 8, &bad);
        CHECK(!bad && done > 0);
        for (size_t j = 0; j < done; j++)
            CHECK(same_event(&got[j], &events[i + j]));
        i += done ? done : count;
    }
    CHECK(read.list.left == 0);
    check_frame(size, WIRE_EVENTS);
    size = wire_put_ask(buffer, sizeof buffer, &events[0]);
    frame = frame_of(size);
    CHECK(wire_get_ask(&frame, &got[0], read_wants, WANTS) && same_event(&got[0], &events[0]));
    check_frame(size, WIRE_ASK);
}

static void try_large_event(void)
{
    size_t used = 0;
    gordian_event event = any_event(&used, 1), got;
    event = (gordian_event){.op = GORDIAN_OP_REQUEST,
                            .resource = GORDIAN_NONE,
                            .to = GORDIAN_NONE,
                            .wants = wants,
                            .want_count = 65535};
    for (size_t i = 0; i < event.want_count; i++)
        wants[i] = (gordian_want){i + 1, (uint32_t)i};
    size_t size = wire_put_events(buffer, sizeof buffer, 1, &event, 1);
    struct wire_frame frame = frame_of(size);
    struct wire_events read;
    bool bad;
    CHECK(wire_get_events(&frame, &read));
    CHECK(wire_next_events(&read.list, &got, 1, read_wants, 65534, &bad) == 0 && !bad);
    CHECK(wire_next_events(&read.list, &got, 1, read_wants, 65535, &bad) == 1 && !bad);
    CHECK(same_event(&got, &event));
}

/* ------------------------------------------------------------------ answers */

static void try_results(size_t many)
{
    static struct wire_result results[EVENTS];
    static uint32_t served[200000];
    size_t count = 1 + below(EVENTS), total = 0;
    for (size_t i = 0; i < count; i++) {
        results[i] =
            (struct wire_result){(uint8_t)any(), (uint8_t)any(), below(3) ? 0 : (uint32_t)below(9)};
        if (many && i == count / 2)
            results[i].served = (uint32_t)many;
        total += results[i].served;
    }
    for (size_t i = 0; i < total; i++)
        served[i] = (uint32_t)any();
    size_t size = wire_put_results(buffer, sizeof buffer, 7, results, count, served), at = 0;
    CHECK(size == wire_put_results(NULL, 0, 7, results, count, served));
    struct wire_frame frame = frame_of(size);
    struct wire_results read;
    struct wire_result got;
    CHECK(wire_get_results(&frame, &read) && read.first == 7 && read.count == count);
    for (size_t i = 0; i < count; i++) {
        CHECK(wire_next_result(&read, &got));
        CHECK(got.outcome == results[i].outcome && got.reason == results[i].reason &&
              got.served == results[i].served);
        for (uint32_t j = 0; j < got.served; j++) {
            uint32_t id = 0;
            bool there = wire_next_served(&read, &id);
            if (!there || id != served[at++]) {
                CHECK(there && id == served[at - 1]);
                return;
            }
        }
    }
    CHECK(!wire_next_result(&read, &got) && read.count == 0 && read.ids == read.end);
    check_frame(size, WIRE_RESULTS);
}

static void try_answers(void)
{
    char text[300];
    struct wire_frame frame;
    struct wire_welcome welcome = {.version = (uint8_t)any(),
                                   .last = any(),
                                   .durability = (uint8_t)any(),
                                   .frame_max = (uint32_t)any(),
                                   .events_a_second = (uint32_t)any(),
                                   .server = any_text(text, 255)},
                        welcomed;
    size_t size = wire_put_welcome(buffer, sizeof buffer, &welcome);
    frame = frame_of(size);
    CHECK(wire_get_welcome(&frame, &welcomed) && welcomed.last == welcome.last &&
          welcomed.version == welcome.version && welcomed.durability == welcome.durability &&
          welcomed.frame_max == welcome.frame_max &&
          welcomed.events_a_second == welcome.events_a_second &&
          same_text(welcomed.server, welcome.server));
    check_frame(size, WIRE_WELCOME);
    struct wire_error error = {(uint16_t)any(), below(2), (uint32_t)any(), any_text(text, 299)},
                      erred;
    size = wire_put_error(buffer, sizeof buffer, &error);
    frame = frame_of(size);
    CHECK(wire_get_error(&frame, &erred) && erred.code == error.code &&
          erred.fatal == error.fatal && erred.retry_ms == error.retry_ms &&
          same_text(erred.text, error.text));
    check_frame(size, WIRE_ERROR);
    struct wire_asked asked = {(uint8_t)any(), (uint8_t)any()}, got;
    size = wire_put_asked(buffer, sizeof buffer, &asked);
    frame = frame_of(size);
    CHECK(wire_get_asked(&frame, &got) && got.outcome == asked.outcome &&
          got.reason == asked.reason);
    check_frame(size, WIRE_ASKED);
}

static void try_state(void)
{
    struct wire_state state = {.process = (uint32_t)any(),
                               .flags = (uint8_t)any(),
                               .waited_ms = any(),
                               .held = wants,
                               .held_count = below(5),
                               .wanted_count = below(5)},
                      got;
    state.wanted = wants + state.held_count;
    size_t count = state.held_count + state.wanted_count;
    for (size_t i = 0; i < count; i++)
        wants[i] = (gordian_want){any(), (uint32_t)any()};
    size_t size = wire_put_stated(buffer, sizeof buffer, &state);
    struct wire_frame frame = frame_of(size);
    struct wire_list list;
    gordian_want want;
    CHECK(wire_get_stated(&frame, &got, &list) && got.process == state.process &&
          got.flags == state.flags && got.waited_ms == state.waited_ms &&
          got.held_count == state.held_count && got.wanted_count == state.wanted_count);
    for (size_t i = 0; i < count; i++)
        CHECK(wire_next_want(&list, &want) && want.resource == wants[i].resource &&
              want.units == wants[i].units);
    CHECK(!wire_next_want(&list, &want));
    check_frame(size, WIRE_STATED);
}

static void try_ids(void)
{
    uint32_t ids[20], id;
    size_t count = below(20);
    uint8_t what = (uint8_t)(1 + below(2)), got;
    for (size_t i = 0; i < count; i++)
        ids[i] = (uint32_t)any();
    size_t size = wire_put_remove(buffer, sizeof buffer, what, ids, count);
    struct wire_frame frame = frame_of(size);
    struct wire_list list;
    CHECK(wire_get_remove(&frame, &got, &list) && got == what && list.left == count);
    for (size_t i = 0; i < count; i++)
        CHECK(wire_next_id(&list, &id) && id == ids[i]);
    CHECK(!wire_next_id(&list, &id));
    check_frame(size, WIRE_REMOVE);
    size = wire_put_declared(buffer, sizeof buffer, ids, count);
    check_frame(size, WIRE_DECLARED);
    struct wire_weigh weigh = {(uint32_t)any(), (int64_t)any(), -(int64_t)(any() >> 1)}, weighed;
    size = wire_put_weigh(buffer, sizeof buffer, &weigh);
    frame = frame_of(size);
    CHECK(wire_get_weigh(&frame, &weighed) && weighed.process == weigh.process &&
          weighed.priority == weigh.priority && weighed.cost == weigh.cost);
    check_frame(size, WIRE_WEIGH);
}

static void try_labels(void)
{
    char bytes[WIRE_LABELS_MAX][40];
    struct wire_text texts[WIRE_LABELS_MAX], read[WIRE_LABELS_MAX];
    struct wire_label label = {below(2) ? WIRE_PROCESS : WIRE_RESOURCE, (uint32_t)any(), texts,
                               below(WIRE_LABELS_MAX + 1)};
    struct wire_label got;
    for (size_t i = 0; i < label.count; i++)
        texts[i] = any_text(bytes[i], sizeof bytes[i] - 1);
    size_t size = wire_put_label(buffer, sizeof buffer, &label);
    struct wire_frame frame = frame_of(size);
    CHECK(wire_get_label(&frame, &got, read) && got.what == label.what && got.id == label.id &&
          got.count == label.count);
    for (size_t i = 0; i < label.count; i++)
        CHECK(same_text(read[i], texts[i]));
    check_frame(size, WIRE_LABEL);
}

/* Their texts are what is left of the frame: a shorter one is one, too. */
static void try_lines(void)
{
    char text[300];
    struct wire_line line = {any(), any_text(text, 299)}, read;
    for (size_t i = 0; i < line.text.length; i++)
        text[i] = (char)(text[i] == '\n' ? ' ' : text[i]);
    size_t size = wire_put_line(buffer, sizeof buffer, &line);
    struct wire_frame frame = frame_of(size);
    CHECK(size == wire_put_line(NULL, 0, &line) && wire_get_line(&frame, &read));
    CHECK(read.number == line.number && same_text(read.text, line.text));
    CHECK(!read_copy(WIRE_LINE, buffer + WIRE_HEAD_SIZE, below(8)));
    buffer[size] = '\n';
    CHECK(!read_copy(WIRE_LINE, buffer + WIRE_HEAD_SIZE, size - WIRE_HEAD_SIZE + 1));

    uint32_t ids[20], id;
    struct wire_answer answer = {.outcome = (uint8_t)any(),
                                 .reason = (uint8_t)any(),
                                 .process = (uint32_t)any(),
                                 .ids = ids,
                                 .served.left = (uint32_t)below(20),
                                 .json = any_text(text, 299)},
                       got;
    for (size_t i = 0; i < 20; i++)
        ids[i] = (uint32_t)any();
    size = wire_put_answer(buffer, sizeof buffer, &answer);
    frame = frame_of(size);
    CHECK(wire_get_answer(&frame, &got) && got.outcome == answer.outcome &&
          got.reason == answer.reason && got.process == answer.process &&
          got.served.left == answer.served.left && same_text(got.json, answer.json));
    for (size_t i = 0; i < answer.served.left; i++)
        CHECK(wire_next_id(&got.served, &id) && id == ids[i]);
    CHECK(!wire_next_id(&got.served, &id));
    CHECK(!read_copy(WIRE_ANSWER, buffer + WIRE_HEAD_SIZE,
                     below(10 + 4 * (size_t)answer.served.left)));
    buffer[WIRE_HEAD_SIZE + below(10)] ^= (unsigned char)(1u << below(8));
    read_copy(WIRE_ANSWER, buffer + WIRE_HEAD_SIZE, size - WIRE_HEAD_SIZE);
}

static void try_numbers(void)
{
    uint64_t value = any(), u64;
    uint32_t u32;
    uint8_t u8;
    size_t size = wire_put_u64(buffer, sizeof buffer, WIRE_PING, value);
    struct wire_frame frame = frame_of(size);
    CHECK(wire_get_u64(&frame, &u64) && u64 == value);
    check_frame(size, WIRE_PING);
    size = wire_put_u32(buffer, sizeof buffer, WIRE_STATE, (uint32_t)value);
    frame = frame_of(size);
    CHECK(wire_get_u32(&frame, &u32) && u32 == (uint32_t)value);
    check_frame(size, WIRE_STATE);
    size = wire_put_u8(buffer, sizeof buffer, WIRE_SUBSCRIBE, (uint8_t)value);
    frame = frame_of(size);
    CHECK(wire_get_u8(&frame, &u8) && u8 == (uint8_t)value);
    check_frame(size, WIRE_SUBSCRIBE);
}

/* Bytes without any sense. */
static void try_noise(void)
{
    unsigned char noise[200];
    size_t size = below(sizeof noise);
    for (size_t i = 0; i < size; i++)
        noise[i] = (unsigned char)(below(3) ? below(8) : any());
    for (unsigned kind = 0; kind < 80; kind++)
        read_copy((uint8_t)kind, noise, size);
    struct wire_frame frame;
    size_t used;
    wire_next(noise, size, WIRE_FRAME_MAX, &frame, &used);
}

static void limits(void)
{
    unsigned char head[WIRE_HEAD_SIZE] = {0};
    struct wire_frame frame;
    size_t used;
    CHECK(wire_next(head, 4, WIRE_FRAME_MAX, &frame, &used) == WIRE_BROKEN);
    wire_store32(head, WIRE_FRAME_MAX);
    CHECK(wire_next(head, 5, WIRE_FRAME_MAX, &frame, &used) == WIRE_PART);
    CHECK(used == 4 + WIRE_FRAME_MAX);
    wire_store32(head, WIRE_FRAME_MAX + 1);
    CHECK(wire_next(head, 5, WIRE_FRAME_MAX, &frame, &used) == WIRE_BROKEN);
    CHECK(wire_next(head, 3, WIRE_FRAME_MAX, &frame, &used) == WIRE_PART && used == 5);
    CHECK(memcmp(WIRE_START, "\0GRD\1\0\0\0", WIRE_START_SIZE) == 0);
}

/* The number of an event, wherever the text ends. */
static void numbers_of_events(void)
{
    static const char text[] =
        "{\"event\":{\"system\":\"a\\\"seq\\\":7\",\"seq\":12,\"op\":\"exit\"}}";
    static const char large[] = "{\"event\":{\"seq\":18446744073709551616}}";
    size_t digits = (size_t)(strstr(text, "12,") - text);
    for (size_t length = 0; length < sizeof text; length++) {
        uint64_t seq = 99;
        char *copy = malloc(length + 1); /* so that what is read behind it is seen */
        REQUIRE(copy != NULL);
        memcpy(copy, text, length);
        CHECK(wire_event_seq(copy, length, &seq) == (length > digits));
        CHECK(seq == (length <= digits ? 99u : length == digits + 1 ? 1u : 12u));
        free(copy);
    }
    uint64_t seq = 99;
    CHECK(!wire_event_seq(large, strlen(large), &seq) && seq == 99);
}

int main(void)
{
    unsigned long rounds = test_scaled(ROUNDS);
    random_seed(&dice, 20261115);
    limits();
    numbers_of_events();
    try_large_event();
    try_results(65534);
    try_results(65535);
    try_results(65536);
    try_results(150000);
    for (unsigned long i = 0; i < rounds; i++) {
        try_hello();
        try_open();
        try_declare();
        try_events();
        try_results(0);
        try_answers();
        try_state();
        try_ids();
        try_labels();
        try_lines();
        try_numbers();
        try_noise();
    }
    return test_done();
}
