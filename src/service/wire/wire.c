/* Encodes and decodes the frames of the binary protocol. */
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
    struct encoder encoder = encoder_begin(to, room, kind);
    encode_bytes(&encoder, body, size);
    return encoder_end(&encoder);
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
    struct decoder decoder = decoder_of(frame);
    *value = decode_u8(&decoder);
    return decoder_done(&decoder);
}

bool wire_get_u32(const struct wire_frame *frame, uint32_t *value)
{
    struct decoder decoder = decoder_of(frame);
    *value = decode_u32(&decoder);
    return decoder_done(&decoder);
}

bool wire_get_u64(const struct wire_frame *frame, uint64_t *value)
{
    struct decoder decoder = decoder_of(frame);
    *value = decode_u64(&decoder);
    return decoder_done(&decoder);
}

bool wire_event_seq(const char *json, size_t length, uint64_t *seq)
{
    static const char key[] = "\"seq\":"; /* in a name, the quotes would be escaped */
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
    struct encoder encoder = encoder_begin(to, room, WIRE_HELLO);
    encode_bytes(&encoder, hello->session, sizeof hello->session);
    encode_u32(&encoder, hello->lease_ms);
    encode_u8(&encoder, hello->flags);
    encode_text16(&encoder, hello->token);
    encode_text16(&encoder, hello->name);
    return encoder_end(&encoder);
}

bool wire_get_hello(const struct wire_frame *frame, struct wire_hello *hello)
{
    struct decoder decoder = decoder_of(frame);
    const unsigned char *session = decode_bytes(&decoder, sizeof hello->session);
    if (!session)
        return false;
    memcpy(hello->session, session, sizeof hello->session);
    hello->lease_ms = decode_u32(&decoder);
    hello->flags = decode_u8(&decoder);
    hello->token = decode_text(&decoder, decode_u16(&decoder));
    hello->name = decode_text(&decoder, decode_u16(&decoder));
    return decoder_done(&decoder);
}

size_t wire_put_name(void *to, size_t room, uint8_t kind, struct wire_text name)
{
    struct encoder encoder = encoder_begin(to, room, kind);
    encode_text8(&encoder, name);
    return encoder_end(&encoder);
}

bool wire_get_name(const struct wire_frame *frame, struct wire_text *name)
{
    struct decoder decoder = decoder_of(frame);
    *name = decode_text(&decoder, decode_u8(&decoder));
    return decoder_done(&decoder);
}

size_t wire_put_open(void *to, size_t room, const struct wire_open *open)
{
    struct encoder encoder = encoder_begin(to, room, WIRE_OPEN);
    encode_text8(&encoder, open->name);
    encode_u8(&encoder, open->kind);
    encode_text16(&encoder, open->options);
    return encoder_end(&encoder);
}

bool wire_get_open(const struct wire_frame *frame, struct wire_open *open)
{
    struct decoder decoder = decoder_of(frame);
    open->name = decode_text(&decoder, decode_u8(&decoder));
    open->kind = decode_u8(&decoder);
    open->options = decode_text(&decoder, decode_u16(&decoder));
    return decoder_done(&decoder);
}

/* ------------------------------------------------------------------ declarations */

size_t wire_put_declare(void *to, size_t room, const struct wire_declaration *declarations,
                        size_t count)
{
    struct encoder encoder = encoder_begin(to, room, WIRE_DECLARE);
    encode_u32(&encoder, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        const struct wire_declaration *declaration = &declarations[i];
        encode_u8(&encoder, declaration->what);
        encode_text8(&encoder, declaration->name);
        encode_u64(&encoder, declaration->units);
        encode_u16(&encoder, (uint16_t)declaration->claim_count);
        for (uint16_t j = 0; j < (uint16_t)declaration->claim_count; j++)
            encode_want(&encoder, declaration->claims[j].resource, declaration->claims[j].units);
    }
    return encoder_end(&encoder);
}

/* The rest of a body as a list of `count` elements. */
static bool decode_list(struct decoder *decoder, struct wire_list *list, uint32_t count)
{
    *list = (struct wire_list){.at = decoder->at, .end = decoder->end, .left = count};
    return !decoder->bad;
}

/* Moves the list to where the decoder is, past one element. */
static bool advance_list(struct wire_list *list, const struct decoder *decoder)
{
    if (decoder->bad)
        return false;
    list->left--;
    list->at = decoder->at;
    if (list->left == 0 && list->at != list->end) { /* bytes behind the last element */
        list->left = 1;
        return false;
    }
    return true;
}

bool wire_get_declare(const struct wire_frame *frame, struct wire_list *list)
{
    struct decoder decoder = decoder_of(frame);
    uint32_t count = decode_u32(&decoder);
    return decode_list(&decoder, list, count) && (count > 0 || decoder_done(&decoder));
}

bool wire_next_declaration(struct wire_list *list, struct wire_declaration *declaration,
                           gordian_want *claims, size_t room)
{
    if (list->left == 0)
        return false;
    struct decoder decoder = {.at = list->at, .end = list->end};
    declaration->what = decode_u8(&decoder);
    declaration->name = decode_text(&decoder, decode_u8(&decoder));
    declaration->units = decode_u64(&decoder);
    declaration->claim_count = decode_u16(&decoder);
    declaration->claims = claims;
    for (size_t i = 0; i < declaration->claim_count && !decoder.bad; i++) {
        uint32_t resource = decode_u32(&decoder);
        uint64_t units = decode_u64(&decoder);
        if (i < room)
            claims[i] = (gordian_want){.resource = resource, .units = units};
    }
    return declaration->what >= WIRE_PROCESS && declaration->what <= WIRE_OTHER &&
           advance_list(list, &decoder);
}

/* ------------------------------------------------------------------ events */

enum event_flags {
    HAS_TO = 1,
};

/* The number of wants that an event has in a frame. */
static size_t event_wants(const gordian_event *event)
{
    if (event->op == GORDIAN_OP_CANCEL || event->op == GORDIAN_OP_EXIT ||
        event->op == GORDIAN_OP_ACT)
        return 0;
    return event->wants ? event->want_count : event->op != GORDIAN_OP_AWAIT;
}

/* The optional field between the head and the wants: the process that `to` names, or the number of
 * acts an await needs unless it needs all. GORDIAN_NONE: no such field. A number that is too large
 * for any await is cut, and stays too large. */
static uint32_t event_field(const gordian_event *event)
{
    if (event->op != GORDIAN_OP_AWAIT)
        return event->to;
    if (event->units == event->want_count)
        return GORDIAN_NONE;
    return event->units < GORDIAN_NONE ? (uint32_t)event->units : GORDIAN_NONE - 1;
}

size_t wire_event_size(const gordian_event *event)
{
    return WIRE_EVENT_MIN + (event_field(event) != GORDIAN_NONE ? 4 : 0) +
           event_wants(event) * WANT_SIZE;
}

static void encode_event(struct encoder *encoder, const gordian_event *event)
{
    size_t wants = event_wants(event);
    uint32_t more = event_field(event);
    bool has_to = more != GORDIAN_NONE;
    encode_u8(encoder, (uint8_t)event->op);
    encode_u8(encoder, has_to ? HAS_TO : 0);
    encode_u16(encoder, (uint16_t)wants);
    encode_u32(encoder, event->process);
    if (has_to)
        encode_u32(encoder, more);
    if (!event->wants && wants == 1)
        encode_want(encoder, event->resource, event->units);
    else
        for (size_t i = 0; i < (uint16_t)wants; i++)
            encode_want(encoder, event->wants[i].resource, event->wants[i].units);
}

size_t wire_put_events(void *to, size_t room, uint64_t first, const gordian_event *events,
                       size_t count)
{
    struct encoder encoder = encoder_begin(to, room, WIRE_EVENTS);
    encode_u64(&encoder, first);
    encode_u32(&encoder, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        encode_event(&encoder, &events[i]);
    return encoder_end(&encoder);
}

bool wire_get_events(const struct wire_frame *frame, struct wire_events *events)
{
    struct decoder decoder = decoder_of(frame);
    events->first = decode_u64(&decoder);
    uint32_t count = decode_u32(&decoder);
    return decode_list(&decoder, &events->list, count) && (count > 0 || decoder_done(&decoder)) &&
           count <= frame->size / WIRE_EVENT_MIN;
}

enum decoded { DECODED_ONE, DECODED_FULL, DECODED_BAD };

/* Decodes one event from `at`, and moves *at behind it. */
static inline enum decoded decode_event(const unsigned char **at, const unsigned char *end,
                                        gordian_event *event, gordian_want *wants, size_t room,
                                        size_t *wants_used)
{
    const unsigned char *p = *at;
    if (end - p < WIRE_EVENT_MIN)
        return DECODED_BAD;
    unsigned op = p[0], flags = p[1];
    size_t count = wire_load16(p + 2);
    size_t size = WIRE_EVENT_MIN + (flags & HAS_TO ? 4 : 0) + count * WANT_SIZE;
    if (op < GORDIAN_OP_REQUEST || op > GORDIAN_OP_ACT || flags > HAS_TO ||
        (size_t)(end - p) < size)
        return DECODED_BAD;
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
        return DECODED_ONE;
    }
    if (count > room) {
        *at -= size;
        return DECODED_FULL;
    }
    for (size_t i = 0; i < count; i++, p += WANT_SIZE)
        wants[i] = (gordian_want){.resource = wire_load32(p), .units = wire_load64(p + 4)};
    event->wants = count ? wants : NULL;
    event->want_count = count;
    *wants_used += count;
    return DECODED_ONE;
}

size_t wire_next_events(struct wire_list *list, gordian_event *events, size_t count,
                        gordian_want *wants, size_t want_room, bool *bad)
{
    size_t done = 0, used = 0;
    const unsigned char *at = list->at;
    enum decoded found = DECODED_ONE;
    if (count > list->left)
        count = list->left;
    while (done < count && found == DECODED_ONE) {
        found = decode_event(&at, list->end, &events[done], wants + used, want_room - used, &used);
        done += found == DECODED_ONE;
    }
    list->at = at;
    list->left -= (uint32_t)done;
    *bad = found == DECODED_BAD || (list->left == 0 && at != list->end);
    return done;
}

size_t wire_put_ask(void *to, size_t room, const gordian_event *request)
{
    struct encoder encoder = encoder_begin(to, room, WIRE_ASK);
    encode_event(&encoder, request);
    return encoder_end(&encoder);
}

bool wire_get_ask(const struct wire_frame *frame, gordian_event *request, gordian_want *wants,
                  size_t want_room)
{
    const unsigned char *at = frame->body, *end = frame->body + frame->size;
    size_t used = 0;
    return decode_event(&at, end, request, wants, want_room, &used) == DECODED_ONE && at == end;
}

/* ------------------------------------------------------------------ ids, weights */

size_t wire_put_weigh(void *to, size_t room, const struct wire_weigh *weigh)
{
    struct encoder encoder = encoder_begin(to, room, WIRE_WEIGH);
    encode_u32(&encoder, weigh->process);
    encode_u64(&encoder, (uint64_t)weigh->priority);
    encode_u64(&encoder, (uint64_t)weigh->cost);
    return encoder_end(&encoder);
}

bool wire_get_weigh(const struct wire_frame *frame, struct wire_weigh *weigh)
{
    struct decoder decoder = decoder_of(frame);
    weigh->process = decode_u32(&decoder);
    weigh->priority = (int64_t)decode_u64(&decoder);
    weigh->cost = (int64_t)decode_u64(&decoder);
    return decoder_done(&decoder);
}

static size_t encode_ids(struct encoder *encoder, const uint32_t *ids, size_t count)
{
    encode_u32(encoder, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        encode_u32(encoder, ids[i]);
    return encoder_end(encoder);
}

static bool decode_ids(struct decoder *decoder, struct wire_list *ids)
{
    uint32_t count = decode_u32(decoder);
    return decode_list(decoder, ids, count) &&
           (size_t)(decoder->end - decoder->at) == (size_t)count * 4;
}

size_t wire_put_remove(void *to, size_t room, uint8_t what, const uint32_t *ids, size_t count)
{
    struct encoder encoder = encoder_begin(to, room, WIRE_REMOVE);
    encode_u8(&encoder, what);
    return encode_ids(&encoder, ids, count);
}

bool wire_get_remove(const struct wire_frame *frame, uint8_t *what, struct wire_list *ids)
{
    struct decoder decoder = decoder_of(frame);
    *what = decode_u8(&decoder);
    return decode_ids(&decoder, ids) && (*what == WIRE_PROCESS || *what == WIRE_RESOURCE);
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
    struct encoder encoder = encoder_begin(to, room, WIRE_LABEL);
    encode_u8(&encoder, label->what);
    encode_u32(&encoder, label->id);
    encode_u16(&encoder, (uint16_t)label->count);
    for (size_t i = 0; i < label->count; i++)
        encode_text8(&encoder, label->texts[i]);
    return encoder_end(&encoder);
}

bool wire_get_label(const struct wire_frame *frame, struct wire_label *label,
                    struct wire_text texts[WIRE_LABELS_MAX])
{
    struct decoder decoder = decoder_of(frame);
    label->what = decode_u8(&decoder);
    label->id = decode_u32(&decoder);
    label->count = decode_u16(&decoder);
    label->texts = texts;
    if (label->count > WIRE_LABELS_MAX)
        return false;
    for (size_t i = 0; i < label->count; i++)
        texts[i] = decode_text(&decoder, decode_u8(&decoder));
    return decoder_done(&decoder) && (label->what == WIRE_PROCESS || label->what == WIRE_RESOURCE);
}

size_t wire_put_declared(void *to, size_t room, const uint32_t *ids, size_t count)
{
    struct encoder encoder = encoder_begin(to, room, WIRE_DECLARED);
    return encode_ids(&encoder, ids, count);
}

bool wire_get_declared(const struct wire_frame *frame, struct wire_list *ids)
{
    struct decoder decoder = decoder_of(frame);
    return decode_ids(&decoder, ids);
}

/* ------------------------------------------------------------------ lines */

/* All that is left. */
static struct wire_text decode_rest(struct decoder *decoder)
{
    return decode_text(decoder, (size_t)(decoder->end - decoder->at));
}

size_t wire_put_line(void *to, size_t room, const struct wire_line *line)
{
    struct encoder encoder = encoder_begin(to, room, WIRE_LINE);
    encode_u64(&encoder, line->number);
    encode_bytes(&encoder, line->text.text, line->text.length);
    return encoder_end(&encoder);
}

bool wire_get_line(const struct wire_frame *frame, struct wire_line *line)
{
    struct decoder decoder = decoder_of(frame);
    line->number = decode_u64(&decoder);
    line->text = decode_rest(&decoder);
    return decoder_done(&decoder) &&
           !(line->text.length && memchr(line->text.text, '\n', line->text.length));
}

size_t wire_put_answer(void *to, size_t room, const struct wire_answer *answer)
{
    struct encoder encoder = encoder_begin(to, room, WIRE_ANSWER);
    encode_u8(&encoder, answer->outcome);
    encode_u8(&encoder, answer->reason);
    encode_u32(&encoder, answer->process);
    encode_u32(&encoder, answer->served.left);
    for (uint32_t i = 0; i < answer->served.left; i++)
        encode_u32(&encoder, answer->ids[i]);
    encode_bytes(&encoder, answer->json.text, answer->json.length);
    return encoder_end(&encoder);
}

bool wire_get_answer(const struct wire_frame *frame, struct wire_answer *answer)
{
    struct decoder decoder = decoder_of(frame);
    answer->outcome = decode_u8(&decoder);
    answer->reason = decode_u8(&decoder);
    answer->process = decode_u32(&decoder);
    uint32_t count = decode_u32(&decoder);
    answer->served = (struct wire_list){.at = decoder.at, .end = decoder.end, .left = count};
    answer->ids = NULL;
    decode_bytes(&decoder, (size_t)count * 4);
    answer->json = decode_rest(&decoder);
    return decoder_done(&decoder);
}

/* ------------------------------------------------------------------ answers */

size_t wire_put_welcome(void *to, size_t room, const struct wire_welcome *welcome)
{
    struct encoder encoder = encoder_begin(to, room, WIRE_WELCOME);
    encode_u8(&encoder, welcome->version);
    encode_bytes(&encoder, welcome->session, sizeof welcome->session);
    encode_u64(&encoder, welcome->last);
    encode_u8(&encoder, welcome->durability);
    encode_u32(&encoder, welcome->frame_max);
    encode_u32(&encoder, welcome->events_a_second);
    encode_text8(&encoder, welcome->server);
    return encoder_end(&encoder);
}

bool wire_get_welcome(const struct wire_frame *frame, struct wire_welcome *welcome)
{
    struct decoder decoder = decoder_of(frame);
    welcome->version = decode_u8(&decoder);
    const unsigned char *session = decode_bytes(&decoder, sizeof welcome->session);
    if (!session)
        return false;
    memcpy(welcome->session, session, sizeof welcome->session);
    welcome->last = decode_u64(&decoder);
    welcome->durability = decode_u8(&decoder);
    welcome->frame_max = decode_u32(&decoder);
    welcome->events_a_second = decode_u32(&decoder);
    welcome->server = decode_text(&decoder, decode_u8(&decoder));
    return decoder_done(&decoder);
}

size_t wire_put_results(void *to, size_t room, uint64_t first, const struct wire_result *results,
                        size_t count, const uint32_t *served)
{
    struct encoder encoder = encoder_begin(to, room, WIRE_RESULTS);
    encode_u64(&encoder, first);
    encode_u32(&encoder, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        uint32_t number = results[i].served;
        encode_u8(&encoder, results[i].outcome);
        encode_u8(&encoder, results[i].reason);
        encode_u16(&encoder, (uint16_t)(number < WIRE_MANY_SERVED ? number : WIRE_MANY_SERVED));
    }
    for (size_t i = 0; i < count; i++) {
        if (results[i].served >= WIRE_MANY_SERVED)
            encode_u32(&encoder, results[i].served);
        for (uint32_t j = 0; j < results[i].served; j++)
            encode_u32(&encoder, *served++);
    }
    return encoder_end(&encoder);
}

bool wire_get_results(const struct wire_frame *frame, struct wire_results *results)
{
    struct decoder decoder = decoder_of(frame);
    results->first = decode_u64(&decoder);
    results->count = decode_u32(&decoder);
    results->at = decoder.at;
    results->end = decoder.end;
    if (decoder.bad || (size_t)(decoder.end - decoder.at) / WIRE_RESULT_SIZE < results->count)
        return false;
    results->ids = decoder.at + (size_t)results->count * WIRE_RESULT_SIZE;
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
    struct encoder encoder = encoder_begin(to, room, WIRE_ERROR);
    encode_u16(&encoder, error->code);
    encode_u8(&encoder, error->fatal);
    encode_u32(&encoder, error->retry_ms);
    encode_text16(&encoder, error->text);
    return encoder_end(&encoder);
}

bool wire_get_error(const struct wire_frame *frame, struct wire_error *error)
{
    struct decoder decoder = decoder_of(frame);
    error->code = decode_u16(&decoder);
    error->fatal = decode_u8(&decoder) != 0;
    error->retry_ms = decode_u32(&decoder);
    error->text = decode_text(&decoder, decode_u16(&decoder));
    return decoder_done(&decoder);
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
    struct encoder encoder = encoder_begin(to, room, WIRE_STATED);
    encode_u32(&encoder, state->process);
    encode_u8(&encoder, state->flags);
    encode_u64(&encoder, state->waited_ms);
    encode_u32(&encoder, (uint32_t)state->held_count);
    encode_u32(&encoder, (uint32_t)state->wanted_count);
    for (size_t i = 0; i < state->held_count; i++)
        encode_want(&encoder, state->held[i].resource, state->held[i].units);
    for (size_t i = 0; i < state->wanted_count; i++)
        encode_want(&encoder, state->wanted[i].resource, state->wanted[i].units);
    return encoder_end(&encoder);
}

bool wire_get_stated(const struct wire_frame *frame, struct wire_state *state,
                     struct wire_list *wants)
{
    struct decoder decoder = decoder_of(frame);
    *state = (struct wire_state){.process = decode_u32(&decoder)};
    state->flags = decode_u8(&decoder);
    state->waited_ms = decode_u64(&decoder);
    state->held_count = decode_u32(&decoder);
    state->wanted_count = decode_u32(&decoder);
    uint64_t count = (uint64_t)state->held_count + state->wanted_count;
    return decode_list(&decoder, wants, (uint32_t)count) &&
           (uint64_t)(decoder.end - decoder.at) == count * WANT_SIZE;
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
    struct decoder decoder = decoder_of(frame);
    asked->outcome = decode_u8(&decoder);
    asked->reason = decode_u8(&decoder);
    return decoder_done(&decoder);
}
