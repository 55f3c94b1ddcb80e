#define _GNU_SOURCE /* memmem */
#include "service/wire/wire.h"

#include "foundation/base/io/reader.h"
#include "service/wire/encoder.h"

#define WANT_SIZE 12

/* ------------------------------------------------------------------ frames */

enum wire_found wire_next(const void *bytes, size_t count, size_t limit, struct wire_frame *frame,
                          size_t *used)
{
    const unsigned char *at = bytes;
    *used = WIRE_HEAD_SIZE;
    if (count < 4)
        return WIRE_PART;
    size_t size = wire_load32(at);
    if (size == 0 || size > limit)
        return WIRE_BROKEN;
    *used = 4 + size;
    if (count < *used)
        return WIRE_PART;
    *frame = (struct wire_frame){.kind = at[4], .body = at + WIRE_HEAD_SIZE, .size = size - 1};
    return WIRE_WHOLE;
}

size_t wire_put_frame(void *to, size_t room, uint8_t kind, const void *body, size_t size)
{
    struct pen pen = pen_begin(to, room, kind);
    pen_bytes(&pen, body, size);
    return pen_end(&pen);
}

size_t wire_put_u8(void *to, size_t room, uint8_t kind, uint8_t value)
{
    return wire_put_frame(to, room, kind, &value, 1);
}

size_t wire_put_u32(void *to, size_t room, uint8_t kind, uint32_t value)
{
    unsigned char bytes[4];
    wire_store32(bytes, value);
    return wire_put_frame(to, room, kind, bytes, sizeof bytes);
}

size_t wire_put_u64(void *to, size_t room, uint8_t kind, uint64_t value)
{
    unsigned char bytes[8];
    wire_store64(bytes, value);
    return wire_put_frame(to, room, kind, bytes, sizeof bytes);
}

bool wire_get_u8(const struct wire_frame *frame, uint8_t *value)
{
    struct eye eye = eye_of(frame);
    *value = eye_u8(&eye);
    return eye_done(&eye);
}

bool wire_get_u32(const struct wire_frame *frame, uint32_t *value)
{
    struct eye eye = eye_of(frame);
    *value = eye_u32(&eye);
    return eye_done(&eye);
}

bool wire_get_u64(const struct wire_frame *frame, uint64_t *value)
{
    struct eye eye = eye_of(frame);
    *value = eye_u64(&eye);
    return eye_done(&eye);
}

bool wire_event_seq(const char *json, size_t length, uint64_t *seq)
{
    static const char key[] = "\"seq\":"; /* in a name the quotes would be escaped */
    const char *found = memmem(json, length, key, strlen(key)), *why;
    size_t digits = 0;
    if (!found)
        return false;
    found += strlen(key);
    while (found + digits < json + length && found[digits] >= '0' && found[digits] <= '9')
        digits++;
    return parse_u64(found, digits, seq, &why);
}

/* ------------------------------------------------------------------ hello, systems */

size_t wire_put_hello(void *to, size_t room, const struct wire_hello *hello)
{
    struct pen pen = pen_begin(to, room, WIRE_HELLO);
    pen_bytes(&pen, hello->session, sizeof hello->session);
    pen_u32(&pen, hello->lease_ms);
    pen_u8(&pen, hello->flags);
    pen_text16(&pen, hello->token);
    pen_text16(&pen, hello->name);
    return pen_end(&pen);
}

bool wire_get_hello(const struct wire_frame *frame, struct wire_hello *hello)
{
    struct eye eye = eye_of(frame);
    const unsigned char *session = eye_take(&eye, sizeof hello->session);
    if (!session)
        return false;
    memcpy(hello->session, session, sizeof hello->session);
    hello->lease_ms = eye_u32(&eye);
    hello->flags = eye_u8(&eye);
    hello->token = eye_text(&eye, eye_u16(&eye));
    hello->name = eye_text(&eye, eye_u16(&eye));
    return eye_done(&eye);
}

size_t wire_put_name(void *to, size_t room, uint8_t kind, struct wire_text name)
{
    struct pen pen = pen_begin(to, room, kind);
    pen_text8(&pen, name);
    return pen_end(&pen);
}

bool wire_get_name(const struct wire_frame *frame, struct wire_text *name)
{
    struct eye eye = eye_of(frame);
    *name = eye_text(&eye, eye_u8(&eye));
    return eye_done(&eye);
}

size_t wire_put_open(void *to, size_t room, const struct wire_open *open)
{
    struct pen pen = pen_begin(to, room, WIRE_OPEN);
    pen_text8(&pen, open->name);
    pen_u8(&pen, open->kind);
    pen_text16(&pen, open->options);
    return pen_end(&pen);
}

bool wire_get_open(const struct wire_frame *frame, struct wire_open *open)
{
    struct eye eye = eye_of(frame);
    open->name = eye_text(&eye, eye_u8(&eye));
    open->kind = eye_u8(&eye);
    open->options = eye_text(&eye, eye_u16(&eye));
    return eye_done(&eye);
}

/* ------------------------------------------------------------------ declarations */

size_t wire_put_declare(void *to, size_t room, const struct wire_declaration *declarations,
                        size_t count)
{
    struct pen pen = pen_begin(to, room, WIRE_DECLARE);
    pen_u32(&pen, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        const struct wire_declaration *declaration = &declarations[i];
        pen_u8(&pen, declaration->what);
        pen_text8(&pen, declaration->name);
        pen_u64(&pen, declaration->units);
        pen_u16(&pen, (uint16_t)declaration->claim_count);
        for (uint16_t j = 0; j < (uint16_t)declaration->claim_count; j++)
            pen_want(&pen, declaration->claims[j].resource, declaration->claims[j].units);
    }
    return pen_end(&pen);
}

/* The rest of a body as a list of so many elements. */
static bool take_wire_list(struct eye *eye, struct wire_list *list, uint32_t count)
{
    *list = (struct wire_list){.at = eye->at, .end = eye->end, .left = count};
    return !eye->bad;
}

/* The list has been read this far. */
static bool list_went(struct wire_list *list, const struct eye *eye)
{
    if (eye->bad)
        return false;
    list->left--;
    list->at = eye->at;
    if (list->left == 0 && list->at != list->end) { /* something behind the last one */
        list->left = 1;
        return false;
    }
    return true;
}

bool wire_get_declare(const struct wire_frame *frame, struct wire_list *list)
{
    struct eye eye = eye_of(frame);
    uint32_t count = eye_u32(&eye);
    return take_wire_list(&eye, list, count) && (count > 0 || eye_done(&eye));
}

bool wire_next_declaration(struct wire_list *list, struct wire_declaration *declaration,
                           gordian_want *claims, size_t room)
{
    if (list->left == 0)
        return false;
    struct eye eye = {.at = list->at, .end = list->end};
    declaration->what = eye_u8(&eye);
    declaration->name = eye_text(&eye, eye_u8(&eye));
    declaration->units = eye_u64(&eye);
    declaration->claim_count = eye_u16(&eye);
    declaration->claims = claims;
    for (size_t i = 0; i < declaration->claim_count && !eye.bad; i++) {
        uint32_t resource = eye_u32(&eye);
        uint64_t units = eye_u64(&eye);
        if (i < room)
            claims[i] = (gordian_want){.resource = resource, .units = units};
    }
    return declaration->what >= WIRE_PROCESS && declaration->what <= WIRE_OTHER &&
           list_went(list, &eye);
}

/* ------------------------------------------------------------------ events */

enum event_flags {
    HAS_TO = 1,
};

/* How many wants an event has on the wire. */
static size_t event_wants(const gordian_event *event)
{
    if (event->op == GORDIAN_OP_CANCEL || event->op == GORDIAN_OP_EXIT ||
        event->op == GORDIAN_OP_ACT)
        return 0;
    return event->wants ? event->want_count : event->op != GORDIAN_OP_AWAIT;
}

/* What stands between the head and the wants, if anything: whom it is for, or of an await how many
 * have to act unless it is all. A number that no await can have stays one. */
static uint32_t between(const gordian_event *event)
{
    if (event->op != GORDIAN_OP_AWAIT)
        return event->to;
    if (event->units == event->want_count)
        return GORDIAN_NONE;
    return event->units < GORDIAN_NONE ? (uint32_t)event->units : GORDIAN_NONE - 1;
}

size_t wire_event_size(const gordian_event *event)
{
    return WIRE_EVENT_MIN + (between(event) != GORDIAN_NONE ? 4 : 0) +
           event_wants(event) * WANT_SIZE;
}

static void pen_event(struct pen *pen, const gordian_event *event)
{
    size_t wants = event_wants(event);
    uint32_t more = between(event);
    bool has_to = more != GORDIAN_NONE;
    pen_u8(pen, (uint8_t)event->op);
    pen_u8(pen, has_to ? HAS_TO : 0);
    pen_u16(pen, (uint16_t)wants);
    pen_u32(pen, event->process);
    if (has_to)
        pen_u32(pen, more);
    if (!event->wants && wants == 1)
        pen_want(pen, event->resource, event->units);
    else
        for (size_t i = 0; i < (uint16_t)wants; i++)
            pen_want(pen, event->wants[i].resource, event->wants[i].units);
}

size_t wire_put_events(void *to, size_t room, uint64_t first, const gordian_event *events,
                       size_t count)
{
    struct pen pen = pen_begin(to, room, WIRE_EVENTS);
    pen_u64(&pen, first);
    pen_u32(&pen, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        pen_event(&pen, &events[i]);
    return pen_end(&pen);
}

bool wire_get_events(const struct wire_frame *frame, struct wire_events *events)
{
    struct eye eye = eye_of(frame);
    events->first = eye_u64(&eye);
    uint32_t count = eye_u32(&eye);
    return take_wire_list(&eye, &events->list, count) && (count > 0 || eye_done(&eye)) &&
           count <= frame->size / WIRE_EVENT_MIN;
}

enum got { GOT_ONE, GOT_FULL, GOT_BAD };

/* One event from `at`; *at moves behind it. */
static inline enum got get_event(const unsigned char **at, const unsigned char *end,
                                 gordian_event *event, gordian_want *wants, size_t room,
                                 size_t *wants_used)
{
    const unsigned char *p = *at;
    if (end - p < WIRE_EVENT_MIN)
        return GOT_BAD;
    unsigned op = p[0], flags = p[1];
    size_t count = wire_load16(p + 2);
    size_t size = WIRE_EVENT_MIN + (flags & HAS_TO ? 4 : 0) + count * WANT_SIZE;
    if (op < GORDIAN_OP_REQUEST || op > GORDIAN_OP_ACT || flags > HAS_TO ||
        (size_t)(end - p) < size)
        return GOT_BAD;
    *event = (gordian_event){
        .op = (gordian_op)op,
        .process = wire_load32(p + 4),
        .resource = GORDIAN_NONE,
        .to = GORDIAN_NONE,
    };
    *at = p + size;
    p += WIRE_EVENT_MIN;
    if (flags & HAS_TO) {
        event->to = wire_load32(p);
        p += 4;
    }
    if (op == GORDIAN_OP_AWAIT) {
        event->units = flags & HAS_TO ? event->to : count;
        event->to = GORDIAN_NONE;
    } else if (count == 1) {
        event->resource = wire_load32(p);
        event->units = wire_load64(p + 4);
        return GOT_ONE;
    }
    if (count > room) {
        *at -= size;
        return GOT_FULL;
    }
    for (size_t i = 0; i < count; i++, p += WANT_SIZE)
        wants[i] = (gordian_want){.resource = wire_load32(p), .units = wire_load64(p + 4)};
    event->wants = count ? wants : NULL;
    event->want_count = count;
    *wants_used += count;
    return GOT_ONE;
}

size_t wire_next_events(struct wire_list *list, gordian_event *events, size_t count,
                        gordian_want *wants, size_t want_room, bool *bad)
{
    size_t done = 0, used = 0;
    const unsigned char *at = list->at;
    enum got got = GOT_ONE;
    if (count > list->left)
        count = list->left;
    while (done < count && got == GOT_ONE) {
        got = get_event(&at, list->end, &events[done], wants + used, want_room - used, &used);
        done += got == GOT_ONE;
    }
    list->at = at;
    list->left -= (uint32_t)done;
    *bad = got == GOT_BAD || (list->left == 0 && at != list->end);
    return done;
}

size_t wire_put_ask(void *to, size_t room, const gordian_event *request)
{
    struct pen pen = pen_begin(to, room, WIRE_ASK);
    pen_event(&pen, request);
    return pen_end(&pen);
}

bool wire_get_ask(const struct wire_frame *frame, gordian_event *request, gordian_want *wants,
                  size_t want_room)
{
    const unsigned char *at = frame->body, *end = frame->body + frame->size;
    size_t used = 0;
    return get_event(&at, end, request, wants, want_room, &used) == GOT_ONE && at == end;
}

/* ------------------------------------------------------------------ ids, weights */

size_t wire_put_weigh(void *to, size_t room, const struct wire_weigh *weigh)
{
    struct pen pen = pen_begin(to, room, WIRE_WEIGH);
    pen_u32(&pen, weigh->process);
    pen_u64(&pen, (uint64_t)weigh->priority);
    pen_u64(&pen, (uint64_t)weigh->cost);
    return pen_end(&pen);
}

bool wire_get_weigh(const struct wire_frame *frame, struct wire_weigh *weigh)
{
    struct eye eye = eye_of(frame);
    weigh->process = eye_u32(&eye);
    weigh->priority = (int64_t)eye_u64(&eye);
    weigh->cost = (int64_t)eye_u64(&eye);
    return eye_done(&eye);
}

static size_t put_id_list(struct pen *pen, const uint32_t *ids, size_t count)
{
    pen_u32(pen, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        pen_u32(pen, ids[i]);
    return pen_end(pen);
}

static bool get_ids(struct eye *eye, struct wire_list *ids)
{
    uint32_t count = eye_u32(eye);
    return take_wire_list(eye, ids, count) && (size_t)(eye->end - eye->at) == (size_t)count * 4;
}

size_t wire_put_remove(void *to, size_t room, uint8_t what, const uint32_t *ids, size_t count)
{
    struct pen pen = pen_begin(to, room, WIRE_REMOVE);
    pen_u8(&pen, what);
    return put_id_list(&pen, ids, count);
}

bool wire_get_remove(const struct wire_frame *frame, uint8_t *what, struct wire_list *ids)
{
    struct eye eye = eye_of(frame);
    *what = eye_u8(&eye);
    return get_ids(&eye, ids) && (*what == WIRE_PROCESS || *what == WIRE_RESOURCE);
}

bool wire_next_id(struct wire_list *ids, uint32_t *id)
{
    if (ids->left == 0 || ids->end - ids->at < 4)
        return false;
    *id = wire_load32(ids->at);
    ids->at += 4;
    ids->left--;
    return true;
}

size_t wire_put_label(void *to, size_t room, const struct wire_label *label)
{
    struct pen pen = pen_begin(to, room, WIRE_LABEL);
    pen_u8(&pen, label->what);
    pen_u32(&pen, label->id);
    pen_u16(&pen, (uint16_t)label->count);
    for (size_t i = 0; i < label->count; i++)
        pen_text8(&pen, label->texts[i]);
    return pen_end(&pen);
}

bool wire_get_label(const struct wire_frame *frame, struct wire_label *label,
                    struct wire_text texts[WIRE_LABELS_MAX])
{
    struct eye eye = eye_of(frame);
    label->what = eye_u8(&eye);
    label->id = eye_u32(&eye);
    label->count = eye_u16(&eye);
    label->texts = texts;
    if (label->count > WIRE_LABELS_MAX)
        return false;
    for (size_t i = 0; i < label->count; i++)
        texts[i] = eye_text(&eye, eye_u8(&eye));
    return eye_done(&eye) && (label->what == WIRE_PROCESS || label->what == WIRE_RESOURCE);
}

size_t wire_put_declared(void *to, size_t room, const uint32_t *ids, size_t count)
{
    struct pen pen = pen_begin(to, room, WIRE_DECLARED);
    return put_id_list(&pen, ids, count);
}

bool wire_get_declared(const struct wire_frame *frame, struct wire_list *ids)
{
    struct eye eye = eye_of(frame);
    return get_ids(&eye, ids);
}

/* ------------------------------------------------------------------ lines */

/* Everything that is left. */
static struct wire_text eye_rest(struct eye *eye)
{
    return eye_text(eye, (size_t)(eye->end - eye->at));
}

size_t wire_put_line(void *to, size_t room, const struct wire_line *line)
{
    struct pen pen = pen_begin(to, room, WIRE_LINE);
    pen_u64(&pen, line->number);
    pen_bytes(&pen, line->text.text, line->text.length);
    return pen_end(&pen);
}

bool wire_get_line(const struct wire_frame *frame, struct wire_line *line)
{
    struct eye eye = eye_of(frame);
    line->number = eye_u64(&eye);
    line->text = eye_rest(&eye);
    return eye_done(&eye) &&
           !(line->text.length && memchr(line->text.text, '\n', line->text.length));
}

size_t wire_put_answer(void *to, size_t room, const struct wire_answer *answer)
{
    struct pen pen = pen_begin(to, room, WIRE_ANSWER);
    pen_u8(&pen, answer->outcome);
    pen_u8(&pen, answer->reason);
    pen_u32(&pen, answer->process);
    pen_u32(&pen, answer->served.left);
    for (uint32_t i = 0; i < answer->served.left; i++)
        pen_u32(&pen, answer->ids[i]);
    pen_bytes(&pen, answer->json.text, answer->json.length);
    return pen_end(&pen);
}

bool wire_get_answer(const struct wire_frame *frame, struct wire_answer *answer)
{
    struct eye eye = eye_of(frame);
    answer->outcome = eye_u8(&eye);
    answer->reason = eye_u8(&eye);
    answer->process = eye_u32(&eye);
    uint32_t count = eye_u32(&eye);
    answer->served = (struct wire_list){.at = eye.at, .end = eye.end, .left = count};
    answer->ids = NULL;
    eye_take(&eye, (size_t)count * 4);
    answer->json = eye_rest(&eye);
    return eye_done(&eye);
}

/* ------------------------------------------------------------------ answers */

size_t wire_put_welcome(void *to, size_t room, const struct wire_welcome *welcome)
{
    struct pen pen = pen_begin(to, room, WIRE_WELCOME);
    pen_u8(&pen, welcome->version);
    pen_bytes(&pen, welcome->session, sizeof welcome->session);
    pen_u64(&pen, welcome->last);
    pen_u8(&pen, welcome->durability);
    pen_u32(&pen, welcome->frame_max);
    pen_u32(&pen, welcome->events_a_second);
    pen_text8(&pen, welcome->server);
    return pen_end(&pen);
}

bool wire_get_welcome(const struct wire_frame *frame, struct wire_welcome *welcome)
{
    struct eye eye = eye_of(frame);
    welcome->version = eye_u8(&eye);
    const unsigned char *session = eye_take(&eye, sizeof welcome->session);
    if (!session)
        return false;
    memcpy(welcome->session, session, sizeof welcome->session);
    welcome->last = eye_u64(&eye);
    welcome->durability = eye_u8(&eye);
    welcome->frame_max = eye_u32(&eye);
    welcome->events_a_second = eye_u32(&eye);
    welcome->server = eye_text(&eye, eye_u8(&eye));
    return eye_done(&eye);
}

size_t wire_put_results(void *to, size_t room, uint64_t first, const struct wire_result *results,
                        size_t count, const uint32_t *served)
{
    struct pen pen = pen_begin(to, room, WIRE_RESULTS);
    pen_u64(&pen, first);
    pen_u32(&pen, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        uint32_t number = results[i].served;
        pen_u8(&pen, results[i].outcome);
        pen_u8(&pen, results[i].reason);
        pen_u16(&pen, (uint16_t)(number < WIRE_MANY_SERVED ? number : WIRE_MANY_SERVED));
    }
    for (size_t i = 0; i < count; i++) {
        if (results[i].served >= WIRE_MANY_SERVED)
            pen_u32(&pen, results[i].served);
        for (uint32_t j = 0; j < results[i].served; j++)
            pen_u32(&pen, *served++);
    }
    return pen_end(&pen);
}

bool wire_get_results(const struct wire_frame *frame, struct wire_results *results)
{
    struct eye eye = eye_of(frame);
    results->first = eye_u64(&eye);
    results->count = eye_u32(&eye);
    results->at = eye.at;
    results->end = eye.end;
    if (eye.bad || (size_t)(eye.end - eye.at) / WIRE_RESULT_SIZE < results->count)
        return false;
    results->ids = eye.at + (size_t)results->count * WIRE_RESULT_SIZE;
    return true;
}

bool wire_next_result(struct wire_results *results, struct wire_result *result)
{
    if (results->count == 0)
        return false;
    const unsigned char *at = results->at;
    size_t left = (size_t)(results->end - results->ids) / 4;
    uint32_t served = wire_load16(at + 2);
    if (served == WIRE_MANY_SERVED && left > 0) {
        served = wire_load32(results->ids);
        results->ids += 4;
        left--;
    }
    if (served > left)
        return false;
    *result = (struct wire_result){.outcome = at[0], .reason = at[1], .served = served};
    results->at = at + WIRE_RESULT_SIZE;
    results->count--;
    return true;
}

bool wire_next_served(struct wire_results *results, uint32_t *process)
{
    if (results->end - results->ids < 4)
        return false;
    *process = wire_load32(results->ids);
    results->ids += 4;
    return true;
}

size_t wire_put_error(void *to, size_t room, const struct wire_error *error)
{
    struct pen pen = pen_begin(to, room, WIRE_ERROR);
    pen_u16(&pen, error->code);
    pen_u8(&pen, error->fatal);
    pen_u32(&pen, error->retry_ms);
    pen_text16(&pen, error->text);
    return pen_end(&pen);
}

bool wire_get_error(const struct wire_frame *frame, struct wire_error *error)
{
    struct eye eye = eye_of(frame);
    error->code = eye_u16(&eye);
    error->fatal = eye_u8(&eye) != 0;
    error->retry_ms = eye_u32(&eye);
    error->text = eye_text(&eye, eye_u16(&eye));
    return eye_done(&eye);
}

gordian_status wire_error_status(unsigned code)
{
    switch (code) {
    case WIRE_NO_MEMORY:
        return GORDIAN_STATUS_MEMORY;
    case WIRE_NOT_KEPT:
    case WIRE_NOT_LEADER:
    case WIRE_TAKEN_OVER:
    case WIRE_TOO_SLOW:
    case WIRE_STOPPING:
        return GORDIAN_STATUS_IO;
    case WIRE_NOT_AVAILABLE:
    case WIRE_NO_SESSION:
        return GORDIAN_STATUS_UNAVAILABLE;
    default:
        return GORDIAN_STATUS_INPUT;
    }
}

bool wire_error_passes(unsigned code, uint64_t retry_ms)
{
    return code == WIRE_NOT_KEPT || code == WIRE_NO_MEMORY || code == WIRE_GAP ||
           (code == WIRE_QUOTA && retry_ms > 0);
}

size_t wire_put_stated(void *to, size_t room, const struct wire_state *state)
{
    struct pen pen = pen_begin(to, room, WIRE_STATED);
    pen_u32(&pen, state->process);
    pen_u8(&pen, state->flags);
    pen_u64(&pen, state->waited_ms);
    pen_u32(&pen, (uint32_t)state->held_count);
    pen_u32(&pen, (uint32_t)state->wanted_count);
    for (size_t i = 0; i < state->held_count; i++)
        pen_want(&pen, state->held[i].resource, state->held[i].units);
    for (size_t i = 0; i < state->wanted_count; i++)
        pen_want(&pen, state->wanted[i].resource, state->wanted[i].units);
    return pen_end(&pen);
}

bool wire_get_stated(const struct wire_frame *frame, struct wire_state *state,
                     struct wire_list *wants)
{
    struct eye eye = eye_of(frame);
    *state = (struct wire_state){.process = eye_u32(&eye)};
    state->flags = eye_u8(&eye);
    state->waited_ms = eye_u64(&eye);
    state->held_count = eye_u32(&eye);
    state->wanted_count = eye_u32(&eye);
    uint64_t count = (uint64_t)state->held_count + state->wanted_count;
    return take_wire_list(&eye, wants, (uint32_t)count) &&
           (uint64_t)(eye.end - eye.at) == count * WANT_SIZE;
}

bool wire_next_want(struct wire_list *wants, gordian_want *want)
{
    if (wants->left == 0 || wants->end - wants->at < WANT_SIZE)
        return false;
    *want = (gordian_want){.resource = wire_load32(wants->at), .units = wire_load64(wants->at + 4)};
    wants->at += WANT_SIZE;
    wants->left--;
    return true;
}

size_t wire_put_asked(void *to, size_t room, const struct wire_asked *asked)
{
    unsigned char body[2] = {asked->outcome, asked->reason};
    return wire_put_frame(to, room, WIRE_ASKED, body, sizeof body);
}

bool wire_get_asked(const struct wire_frame *frame, struct wire_asked *asked)
{
    struct eye eye = eye_of(frame);
    asked->outcome = eye_u8(&eye);
    asked->reason = eye_u8(&eye);
    return eye_done(&eye);
}
