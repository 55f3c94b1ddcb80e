/* Queues events, and waits for the grants of requests. */
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "service/client/client.h"

/* An EVENTS frame is sent once it has this many bytes. */
#define FRAME_BYTES (32u << 10)
/* Bytes before the events: head, first number, count. */
#define FRAME_HEAD (WIRE_HEAD_SIZE + 8 + 4)
/* Polling interval while waiting for a grant, in case its notification was lost with a connection.
 */
#define ASK_MS 1000

/* ------------------------------------------------------------------ waiting processes */

void events_set_waiting(gordian_client *client, uint32_t process, bool waits)
{
    if (process / 64 >= client->waiting_room)
        return; /* not a process of this client */
    uint64_t bit = UINT64_C(1) << (process % 64);
    uint64_t *word = &client->waiting[process / 64];
    *word = waits ? *word | bit : *word & ~bit;
}

/* ------------------------------------------------------------------ frames */

/* The open frame lies behind `sealed`. */
static size_t open_bytes(const gordian_client *client)
{
    return fifo_count(&client->out) - client->sealed;
}

void events_seal(gordian_client *client)
{
    if (client->open_events == 0)
        return;
    size_t size = open_bytes(client);
    unsigned char *frame = (unsigned char *)fifo_front(&client->out) + client->sealed;
    wire_store32(frame, (uint32_t)(size - 4));
    wire_store32(frame + WIRE_HEAD_SIZE + 8, client->open_events);
    /* It was reserved when the frame was opened. */
    struct command *command = fifo_back(&client->commands);
    *command = (struct command){
        .size = (uint32_t)size, .events = client->open_events, .kind = WIRE_EVENTS};
    if (fifo_count(&client->commands) == 0)
        client->owed_since = clock_ns();
    fifo_put(&client->commands, sizeof *command);
    client->sealed += size;
    client->open_events = 0;
}

/* Reserves memory for one more event of `size` bytes in all queues. */
static bool reserve_event(gordian_client *client, const gordian_event *event, size_t size)
{
    const gordian_allocator *memory = &client->memory;
    return fifo_reserve(memory, &client->out, FRAME_HEAD + size) &&
           fifo_reserve(memory, &client->commands, sizeof(struct command)) &&
           fifo_reserve(memory, &client->events, sizeof(struct sent_event)) &&
           (event->process == GORDIAN_NONE ||
            memory_grow_zeroed(&client->memory, &client->waiting, &client->waiting_room,
                               (size_t)event->process / 64 + 1, sizeof *client->waiting));
}

/* Appends the event to the open frame, or opens one. */
static void append_event(gordian_client *client, const gordian_event *event, size_t size)
{
    unsigned char *back = fifo_back(&client->out);
    if (client->open_events == 0) {
        wire_put_events(back, FRAME_HEAD + size, client->next_number, event, 1);
        fifo_put(&client->out, FRAME_HEAD + size);
    } else {
        /* The encoder writes a whole frame: save the bytes that its head overwrites. */
        unsigned char covered[FRAME_HEAD];
        memcpy(covered, back - FRAME_HEAD, FRAME_HEAD);
        wire_put_events(back - FRAME_HEAD, FRAME_HEAD + size, 0, event, 1);
        memcpy(back - FRAME_HEAD, covered, FRAME_HEAD);
        fifo_put(&client->out, size);
    }
    client->open_events++;
}

/* The number follows the head in EVENTS and in LINE frames. The open frame is the last one. */
void events_renumber(gordian_client *client)
{
    unsigned char *number = (unsigned char *)fifo_front(&client->out) + WIRE_HEAD_SIZE;
    const struct command *commands = fifo_front(&client->commands);
    size_t count = fifo_count(&client->commands) / sizeof *commands;
    for (size_t i = 0; i < count + (client->open_events > 0); i++) {
        if (i == count || commands[i].kind == WIRE_EVENTS ||
            (commands[i].kind == WIRE_LINE && commands[i].events))
            wire_store64(number, wire_load64(number) - 1);
        number += i < count ? commands[i].size : 0;
    }
    client->next_number--;
}

/* ------------------------------------------------------------------ sending */

static size_t count_unanswered(const gordian_client *client)
{
    return fifo_count(&client->events) / sizeof(struct sent_event);
}

/* Checks that a frame of this size may be sent, and waits until the window has space. A callback
 * cannot wait; each call of it has freed one slot. */
static gordian_status wait_for_space(gordian_client *client, size_t size, gordian_error *error)
{
    if (size > client->frame_max)
        return fail(error, GORDIAN_STATUS_INPUT, "the event is larger than the service accepts");
    TRY(link_check(client, error));
    while (!client->calling && count_unanswered(client) >= client->window) {
        TRY(gordian_client_flush(client, error));
        TRY(link_wait(client, UINT64_MAX, error));
    }
    return GORDIAN_OK;
}

/* The frame is full: send it, so that the service can work on it meanwhile. */
static gordian_status begin_next_frame(gordian_client *client, gordian_error *error)
{
    events_seal(client);
    return client->calling || client->state != LINK_UP ? GORDIAN_OK
                                                       : gordian_client_flush(client, error);
}

/* Records a sent event; reserve_event has made space for it. */
static void note_sent(gordian_client *client, struct sent_event event)
{
    *(struct sent_event *)fifo_back(&client->events) = event;
    fifo_put(&client->events, sizeof event);
}

gordian_status gordian_client_send(gordian_client *client, const gordian_event *given,
                                   gordian_reply_function *answered, void *context,
                                   gordian_error *error)
{
    gordian_event copy = *given, *event = &copy;
    if (event->op != GORDIAN_OP_RELEASE && event->op != GORDIAN_OP_ACT)
        event->to = GORDIAN_NONE; /* only these name another process */
    size_t size = wire_event_size(event);
    if (event->wants && event->want_count > UINT16_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "an event names at most %u others", UINT16_MAX);
    TRY(wait_for_space(client, FRAME_HEAD + size, error));
    if (client->open_events && open_bytes(client) + size > FRAME_BYTES)
        TRY(begin_next_frame(client, error));
    if (!reserve_event(client, event, size))
        return fail_memory(error);
    append_event(client, event, size);
    note_sent(client, (struct sent_event){answered, context, event->process, (uint8_t)event->op});
    client->next_number++;
    return GORDIAN_OK;
}

gordian_status gordian_client_send_line(gordian_client *client, const char *text, size_t length,
                                        bool event, gordian_reply_function *answered, void *context,
                                        gordian_error *error)
{
    struct wire_line line = {event ? client->next_number : 0, {text, length}};
    size_t size = wire_put_line(NULL, 0, &line);
    TRY(wait_for_space(client, size, error));
    if (client->sealed > client->sent + FRAME_BYTES)
        TRY(begin_next_frame(client, error));
    void *to = fifo_reserve(&client->memory, &client->events, sizeof(struct sent_event))
                   ? call_reserve(client, size)
                   : NULL;
    if (!to)
        return fail_memory(error);
    wire_put_line(to, size, &line);
    call_queue(client, WIRE_LINE, size, NULL);
    ((struct command *)fifo_back(&client->commands))[-1].events = event;
    note_sent(client,
              (struct sent_event){answered, context, GORDIAN_NONE, event ? GORDIAN_OP_REQUEST : 0});
    client->next_number += event;
    return GORDIAN_OK;
}

gordian_status gordian_client_send_batch(gordian_client *client, const gordian_event *events,
                                         size_t count, gordian_reply_function *answered,
                                         void *context, size_t *sent, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    size_t done = 0;
    while (done < count && status == GORDIAN_OK) {
        status = gordian_client_send(client, &events[done], answered, context, error);
        done += status == GORDIAN_OK;
    }
    if (sent)
        *sent = done;
    return status;
}

size_t gordian_client_unanswered(const gordian_client *client)
{
    return count_unanswered(client);
}

gordian_status gordian_client_drain(gordian_client *client, uint32_t timeout_ms,
                                    gordian_error *error)
{
    uint64_t until = link_deadline(timeout_ms);
    gordian_status status = gordian_client_flush(client, error);
    while (status == GORDIAN_OK && count_unanswered(client) > 0)
        status = link_wait(client, until, error);
    return status == GORDIAN_STATUS_END && count_unanswered(client) == 0 ? GORDIAN_OK : status;
}

/* ------------------------------------------------------------------ synchronous events */

struct event_call {
    gordian_client *client;
    gordian_reply *reply;
    bool done;
};

static void take_reply(void *context, const gordian_reply *reply)
{
    struct event_call *call = context;
    *call->reply = *reply;
    call->done = true;
    call->client->halt = true;
}

static bool covers_wants(const gordian_process_state *state, const gordian_want *wants,
                         size_t count)
{
    for (size_t w = 0; w < count; w++) {
        uint64_t held = 0;
        for (size_t h = 0; h < state->held_count; h++)
            if (state->held[h].resource == wants[w].resource)
                held += state->held[h].units;
        if (held < wants[w].units)
            return false;
    }
    return true;
}

/* Returns the code for "exited" of this kind of system. */
static uint8_t request_has_ended(const gordian_client *client)
{
    return client->avoids ? (uint8_t)GORDIAN_VERDICT_EXITED : (uint8_t)GORDIAN_OUTCOME_EXITED;
}

/* The result of an applied event was lost: reconstructs it from the state. */
static gordian_status ask_outcome(gordian_client *client, const gordian_event *event,
                                  gordian_reply *reply, gordian_error *error)
{
    gordian_process_state state;
    gordian_want one = {.resource = event->resource, .units = event->units};
    TRY(gordian_client_state(client, event->process, &state, error));
    if (event->op == GORDIAN_OP_CANCEL && !state.waiting)
        reply->outcome = client->avoids ? (uint8_t)GORDIAN_VERDICT_CANCELLED
                                        : (uint8_t)GORDIAN_OUTCOME_CANCELLED;
    if (event->op == GORDIAN_OP_EXIT)
        reply->outcome = request_has_ended(client);
    if (event->op == GORDIAN_OP_AWAIT && !state.waiting)
        return GORDIAN_OK; /* granted, or it was refused */
    if (event->op != GORDIAN_OP_REQUEST && event->op != GORDIAN_OP_WAIT &&
        event->op != GORDIAN_OP_AWAIT)
        return GORDIAN_OK;
    reply->waits = state.waiting;
    if (state.waiting) /* with avoidance: unavailable, although it may be unsafe */
        reply->outcome = client->avoids     ? GORDIAN_VERDICT_UNAVAILABLE
                         : state.deadlocked ? GORDIAN_OUTCOME_DEADLOCK
                                            : GORDIAN_OUTCOME_BLOCKED;
    else if (event->wants ? covers_wants(&state, event->wants, event->want_count)
                          : covers_wants(&state, &one, 1))
        reply->outcome = GORDIAN_OUTCOME_GRANTED;
    return GORDIAN_OK;
}

gordian_status gordian_client_event(gordian_client *client, const gordian_event *event,
                                    gordian_reply *reply, gordian_error *error)
{
    gordian_reply mine = {0};
    struct event_call call = {.client = client, .reply = &mine};
    uint64_t until = link_deadline(client->timeout_ms);
    TRY(call_allowed(client, error));
    TRY(gordian_client_send(client, event, take_reply, &call, error));
    gordian_status status = gordian_client_flush(client, error);
    while (status == GORDIAN_OK && !call.done)
        status = link_wait(client, until, error);
    if (!call.done) {
        /* Their answers have no receiver any more. */
        struct sent_event *events = fifo_front(&client->events);
        for (size_t i = count_unanswered(client); i-- > 0;)
            if (events[i].context == &call && events[i].answered == take_reply)
                events[i].answered = NULL;
        return status == GORDIAN_STATUS_END ? call_late(client, error) : status;
    }
    if (mine.status != GORDIAN_OK)
        return fail(error, mine.status, "%s", mine.message);
    status =
        mine.outcome == GORDIAN_APPLIED ? ask_outcome(client, event, &mine, error) : GORDIAN_OK;
    if (status == GORDIAN_OK && reply)
        *reply = mine;
    return status;
}

static gordian_status make_plain_event(gordian_client *client, gordian_op op, uint32_t process,
                                       uint32_t resource, uint64_t units, gordian_reply *reply,
                                       gordian_error *error)
{
    gordian_event event = {
        .op = op, .process = process, .resource = resource, .to = GORDIAN_NONE, .units = units};
    return gordian_client_event(client, &event, reply, error);
}

gordian_status gordian_client_request(gordian_client *client, uint32_t process, uint32_t resource,
                                      uint64_t units, gordian_reply *reply, gordian_error *error)
{
    return make_plain_event(client, GORDIAN_OP_REQUEST, process, resource, units, reply, error);
}

gordian_status gordian_client_release(gordian_client *client, uint32_t process, uint32_t resource,
                                      uint64_t units, gordian_reply *reply, gordian_error *error)
{
    return make_plain_event(client, GORDIAN_OP_RELEASE, process, resource, units, reply, error);
}

gordian_status gordian_client_cancel(gordian_client *client, uint32_t process, gordian_reply *reply,
                                     gordian_error *error)
{
    return make_plain_event(client, GORDIAN_OP_CANCEL, process, GORDIAN_NONE, 0, reply, error);
}

gordian_status gordian_client_exit(gordian_client *client, uint32_t process, gordian_reply *reply,
                                   gordian_error *error)
{
    return make_plain_event(client, GORDIAN_OP_EXIT, process, GORDIAN_NONE, 0, reply, error);
}

gordian_status gordian_client_await(gordian_client *client, uint32_t process,
                                    const uint32_t *others, size_t count, size_t needed,
                                    gordian_reply *reply, gordian_error *error)
{
    gordian_want *wants = memory_alloc(&client->memory, (count + 1) * sizeof *wants);
    if (!wants)
        return fail_memory(error);
    for (size_t i = 0; i < count; i++)
        wants[i] = (gordian_want){.units = 1, .resource = others[i]};
    gordian_event event = {.op = GORDIAN_OP_AWAIT,
                           .process = process,
                           .resource = GORDIAN_NONE,
                           .to = GORDIAN_NONE,
                           .units = needed,
                           .wants = wants,
                           .want_count = count};
    gordian_status status = gordian_client_event(client, &event, reply, error);
    memory_free(&client->memory, wants);
    return status;
}

gordian_status gordian_client_act(gordian_client *client, uint32_t process, uint32_t to,
                                  gordian_reply *reply, gordian_error *error)
{
    gordian_event event = {
        .op = GORDIAN_OP_ACT, .process = process, .resource = GORDIAN_NONE, .to = to};
    return gordian_client_event(client, &event, reply, error);
}

/* ------------------------------------------------------------------ waiting for a grant */

gordian_status gordian_client_wait_granted(gordian_client *client, uint32_t process,
                                           uint32_t timeout_ms, gordian_error *error)
{
    uint64_t until = link_deadline(timeout_ms), ask_at = link_deadline(ASK_MS);
    uint32_t epoch = 1; /* after a reconnect the grant may have been missed */
    gordian_status status = call_allowed(client, error);
    client->watched = process;
    client->watched_granted = false;
    while (status == GORDIAN_OK && events_is_waiting(client, process)) {
        if (client->epoch != epoch || clock_ns() >= ask_at) {
            epoch = client->epoch;
            status = gordian_client_state(client, process, NULL, error);
            ask_at = link_deadline(ASK_MS);
            continue;
        }
        status = link_wait(client, until < ask_at ? until : ask_at, error);
        if (status == GORDIAN_STATUS_END && clock_ns() < until)
            status = GORDIAN_OK;
    }
    client->watched = GORDIAN_NONE;
    return status == GORDIAN_STATUS_END && !events_is_waiting(client, process) ? GORDIAN_OK
                                                                               : status;
}

/* Determines how a request ended. `late`: cancels it first; it may be granted at the same moment.
 */
static gordian_status end_request(gordian_client *client, const gordian_event *request, bool late,
                                  gordian_reply *reply, gordian_error *error)
{
    gordian_process_state state;
    gordian_reply cancel = {.outcome = GORDIAN_OUTCOME_REFUSED};
    if (late)
        TRY(gordian_client_cancel(client, request->process, &cancel, error));
    reply->waits = false;
    if (cancel.outcome != GORDIAN_OUTCOME_REFUSED)
        return GORDIAN_OK;
    if (client->watched_granted) {
        reply->outcome = GORDIAN_OUTCOME_GRANTED;
        return GORDIAN_OK;
    }
    TRY(gordian_client_state(client, request->process, &state, error));
    reply->outcome = state.known && covers_wants(&state, request->wants, request->want_count)
                         ? (uint8_t)GORDIAN_OUTCOME_GRANTED
                         : request_has_ended(client);
    return GORDIAN_OK;
}

gordian_status gordian_client_acquire(gordian_client *client, uint32_t process,
                                      const gordian_want *wants, size_t count, uint32_t timeout_ms,
                                      gordian_reply *reply, gordian_error *error)
{
    uint64_t until = link_deadline(timeout_ms);
    gordian_event event = {.op = GORDIAN_OP_REQUEST,
                           .process = process,
                           .resource = GORDIAN_NONE,
                           .to = GORDIAN_NONE,
                           .wants = wants,
                           .want_count = count};
    gordian_reply mine;
    gordian_status status = gordian_client_event(client, &event, &mine, error);
    if (status == GORDIAN_OK && mine.waits) {
        client->watched_granted = false;
        bool hopeless = !client->avoids && mine.outcome != GORDIAN_OUTCOME_BLOCKED;
        uint64_t now = clock_ns();
        uint32_t left = until == UINT64_MAX ? GORDIAN_FOREVER
                        : until > now       ? (uint32_t)((until - now + 999999u) / 1000000u)
                                            : 0;
        if (!hopeless)
            status = gordian_client_wait_granted(client, process, left, error);
        bool late = status == GORDIAN_STATUS_END || hopeless;
        if (status == GORDIAN_STATUS_END || status == GORDIAN_OK)
            status = end_request(client, &event, late, &mine, error);
    }
    if (status == GORDIAN_OK && reply)
        *reply = mine;
    return status;
}
