/* Handles the frames that the service sends. */
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "service/client/client.h"

#include <stdio.h>

static gordian_status broken_answer(gordian_client *client)
{
    link_fail(client, GORDIAN_STATUS_IO, "%.200s: an answer that is not part of the protocol",
              client->address->text);
    return GORDIAN_OK; /* link_step reports the failure */
}

/* ------------------------------------------------------------------ commands */

static struct command *first_command(const gordian_client *client)
{
    return fifo_count(&client->commands) ? fifo_front(&client->commands) : NULL;
}

/* Removes the first command and its bytes: it has been answered. */
static void drop_command(gordian_client *client)
{
    size_t size = first_command(client)->size;
    fifo_take(&client->out, size);
    client->sealed -= size;
    client->sent -= size < client->sent ? size : client->sent; /* it may not be sent yet */
    fifo_take(&client->commands, sizeof(struct command));
    client->owed_since = clock_ns();
}

static void end_call(gordian_client *client, struct call *call, gordian_status status)
{
    if (!call)
        return;
    call->done = true;
    call->status = status;
    client->halt = true;
}

/* Completes the first command and the call that waits for it. */
static gordian_status answer_call(gordian_client *client, struct call *call)
{
    drop_command(client);
    end_call(client, call, GORDIAN_OK);
    return GORDIAN_OK;
}

/* Is the first command one of `kind`? *call: the call that waits for it, or NULL. */
static bool is_expected(const gordian_client *client, uint8_t kind, struct call **call)
{
    const struct command *command = first_command(client);
    *call = command ? command->call : NULL;
    return command && command->kind == kind;
}

/* ------------------------------------------------------------------ events */

static void notify_event(gordian_client *client, const struct sent_event *event,
                         const gordian_reply *reply)
{
    if (!event->answered)
        return;
    client->calling = true;
    event->answered(event->context, reply);
    client->calling = false;
}

/* GORDIAN_OUTCOME_REFUSED and GORDIAN_VERDICT_REFUSED have the same value. */
static bool is_refused(const struct wire_result *result)
{
    return result->outcome == GORDIAN_OUTCOME_REFUSED;
}

static bool does_wait(const gordian_client *client, uint8_t op, const struct wire_result *result)
{
    if (!(op == GORDIAN_OP_REQUEST || op == GORDIAN_OP_WAIT || op == GORDIAN_OP_AWAIT) ||
        is_refused(result) || result->outcome == WIRE_DUPLICATE)
        return false;
    if (client->avoids)
        return result->reason & WIRE_WAITS;
    return result->outcome == GORDIAN_OUTCOME_BLOCKED ||
           result->outcome == GORDIAN_OUTCOME_DEADLOCK || result->outcome == GORDIAN_OUTCOME_DOOMED;
}

static void note_served(gordian_client *client, uint32_t process)
{
    events_set_waiting(client, process, false);
    if (process == client->watched)
        client->watched_granted = true;
}

/* Grows client->served to `count` entries. */
static gordian_status reserve_served(gordian_client *client, size_t count, gordian_error *error)
{
    return count <= client->served_room ||
                   memory_grow(&client->memory, &client->served, &client->served_room, count,
                               sizeof *client->served)
               ? GORDIAN_OK
               : fail_memory(error);
}

/* Returns the fencing token of this event, or 0 if the service sent none. */
static uint64_t take_fence(gordian_client *client, const struct wire_result *result)
{
    if (result->outcome == WIRE_DUPLICATE || client->next_fence == 0)
        return 0;
    uint64_t fence = client->next_fence++;
    client->fence = fence > client->fence ? fence : client->fence;
    return fence;
}

/* Completes the first event. `json`: the answer to a line. */
static void settle_event(gordian_client *client, const struct wire_result *result, uint32_t process,
                         struct wire_text json)
{
    struct sent_event event = *(struct sent_event *)fifo_front(&client->events);
    gordian_reply reply = {
        .outcome = result->outcome,
        .refusal = is_refused(result) ? result->reason : result->reason & (uint8_t)~WIRE_WAITS,
        .waits = does_wait(client, event.op, result),
        .number = event.op ? client->first_number++ : 0,
        .fence = take_fence(client, result),
        .served = client->served,
        .served_count = result->served,
        .process = process,
        .json = json.text,
        .json_length = json.length,
    };
    fifo_take(&client->events, sizeof event);
    client->rewinding_since = 0;
    client->pause_ms = 0;
    if (reply.waits)
        events_set_waiting(client, event.process, true);
    else {
        /* A process that cancelled or exited no longer waits. */
        if ((event.op == GORDIAN_OP_CANCEL || event.op == GORDIAN_OP_EXIT) && !is_refused(result))
            events_set_waiting(client, event.process, false);
    }
    for (uint32_t i = 0; i < result->served; i++)
        note_served(client, client->served[i]);
    notify_event(client, &event, &reply);
}

/* Skips results of events that were already answered before they were sent again. */
static gordian_status take_event_results(gordian_client *client, const struct wire_frame *frame,
                                         gordian_error *error)
{
    struct wire_results results;
    struct wire_result result;
    if (!wire_get_results(frame, &results))
        return broken_answer(client);
    uint64_t number = results.first;
    for (uint32_t left = results.count; left > 0; left--, number++) {
        struct command *command = first_command(client);
        if (!wire_next_result(&results, &result))
            return broken_answer(client);
        TRY(reserve_served(client, result.served, error));
        for (uint32_t i = 0; i < result.served; i++)
            if (!wire_next_served(&results, &client->served[i]))
                return broken_answer(client);
        if (number < client->first_number) {
            take_fence(client, &result);
            continue;
        }
        if (!command || command->kind != WIRE_EVENTS || number != client->first_number ||
            command->events == 0)
            return broken_answer(client);
        if (result.outcome == WIRE_NOT_TAKEN) {
            link_rewind(client, 0, 1);
            return GORDIAN_OK;
        }
        command->events--;
        settle_event(client, &result, ((struct sent_event *)fifo_front(&client->events))->process,
                     (struct wire_text){0});
        if (client->state == LINK_FAILED)
            return GORDIAN_OK;
    }
    struct command *command = first_command(client);
    if (!command || command->kind != WIRE_EVENTS || command->events > 0)
        return broken_answer(client);
    drop_command(client);
    return GORDIAN_OK;
}

/* Keeps the answer for gordian_client_ask. */
static gordian_status keep_answer(gordian_client *client, struct call *call, struct wire_text json,
                                  gordian_error *error)
{
    if (!memory_grow(&client->memory, &client->said, &client->said_room, json.length + 1, 1))
        return fail_memory(error);
    memcpy(client->said, json.text, json.length);
    client->said[json.length] = '\0';
    call->said = json.length;
    return GORDIAN_OK;
}

static gordian_status take_line_answer(gordian_client *client, const struct wire_frame *frame,
                                       gordian_error *error)
{
    struct wire_answer answer;
    struct call *call;
    if (!is_expected(client, WIRE_LINE, &call) || !wire_get_answer(frame, &answer))
        return broken_answer(client);
    bool asked = first_command(client)->asked; /* by gordian_client_ask */
    struct wire_result result = {answer.outcome, answer.reason, answer.served.left};
    if (result.outcome == WIRE_NOT_TAKEN) {
        link_rewind(client, 0, 1);
        return GORDIAN_OK;
    }
    TRY(reserve_served(client, result.served, error));
    for (size_t i = 0; i < result.served; i++)
        wire_next_id(&answer.served, &client->served[i]);
    TRY(call ? keep_answer(client, call, answer.json, error) : GORDIAN_OK);
    drop_command(client);
    if (asked)
        end_call(client, call, GORDIAN_OK);
    else
        settle_event(client, &result, answer.process, answer.json);
    return GORDIAN_OK;
}

static gordian_status note_fence(gordian_client *client, const struct wire_frame *frame)
{
    uint64_t fence;
    if (!wire_get_u64(frame, &fence))
        return broken_answer(client);
    client->next_fence = fence;
    client->fence = fence > client->fence ? fence : client->fence;
    return GORDIAN_OK;
}

static gordian_status take_granted(gordian_client *client, const struct wire_frame *frame)
{
    uint32_t process;
    if (!wire_get_u32(frame, &process))
        return broken_answer(client);
    note_served(client, process);
    if (process == client->watched)
        client->halt = true;
    if (client->granted) {
        client->calling = true;
        client->granted(client->context, process);
        client->calling = false;
    }
    return GORDIAN_OK;
}

static void notify_caller(gordian_client *client, gordian_notice notice, const char *json,
                          size_t length)
{
    if (!client->notice)
        return;
    client->calling = true;
    client->notice(client->context, notice, json, length);
    client->calling = false;
}

static gordian_status take_notice_frame(gordian_client *client, const struct wire_frame *frame,
                                        gordian_notice notice)
{
    const char *json = (const char *)frame->body;
    if (notice == GORDIAN_NOTICE_EVENT &&
        !wire_event_seq(json, frame->size, &client->last_notified))
        client->last_notified = NOT_NOTIFIED;
    notify_caller(client, notice, json, frame->size);
    return GORDIAN_OK;
}

/* Returns the number of the newest event from the answer to SUBSCRIBE. Older services do not send
 * it. */
static uint64_t newest_event(const struct wire_frame *frame)
{
    uint64_t seq;
    return wire_get_u64(frame, &seq) ? seq : NOT_NOTIFIED;
}

/* After a reconnect: reports the notifications between the last one received and event `now` as a
 * gap, because they are lost. */
static void notify_gap(gordian_client *client, uint64_t now)
{
    char text[80] = "{\"gap\":{}}";
    if (client->last_notified <= now && now != NOT_NOTIFIED)
        snprintf(text, sizeof text, WIRE_MISSED, (unsigned long long)client->last_notified,
                 (unsigned long long)now);
    client->last_notified = now;
    if (client->mask & (uint8_t)~GORDIAN_MY_GRANTS)
        notify_caller(client, GORDIAN_NOTICE_GAP, text, strlen(text));
}

/* ------------------------------------------------------------------ other answers */

static gordian_status take_declared(gordian_client *client, const struct wire_frame *frame)
{
    struct call *call;
    struct wire_list ids;
    if (!is_expected(client, WIRE_DECLARE, &call) || !wire_get_declared(frame, &ids) ||
        (call && ids.left != call->id_count))
        return broken_answer(client);
    for (size_t i = 0; call && i < call->id_count; i++)
        if (!wire_next_id(&ids, &call->ids[i]))
            return broken_answer(client);
    return answer_call(client, call);
}

static gordian_status take_state_frame(gordian_client *client, const struct wire_frame *frame,
                                       gordian_error *error)
{
    gordian_process_state unwanted;
    struct wire_state from;
    struct wire_list wants;
    struct call *call;
    if (!is_expected(client, WIRE_STATE, &call) || !wire_get_stated(frame, &from, &wants))
        return broken_answer(client);
    size_t count = from.held_count + from.wanted_count;
    if (!memory_grow(&client->memory, &client->wants, &client->want_room, count,
                     sizeof *client->wants))
        return fail_memory(error);
    for (size_t i = 0; i < count; i++)
        if (!wire_next_want(&wants, &client->wants[i]))
            return broken_answer(client);
    gordian_process_state *state = call ? call->state : &unwanted;
    *state = (gordian_process_state){
        .known = from.flags & WIRE_KNOWN,
        .waiting = from.flags & WIRE_IS_WAITING,
        .deadlocked = from.flags & WIRE_IS_DEADLOCKED,
        .waiting_ms = from.waited_ms,
        .held = client->wants,
        .wanted = count ? client->wants + from.held_count : client->wants,
        .held_count = from.held_count,
        .wanted_count = from.wanted_count,
    };
    events_set_waiting(client, from.process, state->waiting);
    return answer_call(client, call);
}

static gordian_status take_asked(gordian_client *client, const struct wire_frame *frame)
{
    struct wire_asked asked;
    struct call *call;
    if (!is_expected(client, WIRE_ASK, &call) || !wire_get_asked(frame, &asked))
        return broken_answer(client);
    if (call)
        call->asked = asked;
    return answer_call(client, call);
}

/* The answer to USE and OPEN names the kind of system. */
static void note_kind(gordian_client *client, const struct wire_frame *frame)
{
    client->avoids = frame->size > 0 && frame->body[0] == WIRE_AVOID;
}

/* DONE and PONG have no content. */
static gordian_status take_done(gordian_client *client, const struct wire_frame *frame)
{
    struct command *command = first_command(client);
    if (!command || (frame->kind == WIRE_PONG) != (command->kind == WIRE_PING) ||
        command->kind == WIRE_EVENTS || command->kind == WIRE_DECLARE ||
        command->kind == WIRE_STATE || command->kind == WIRE_ASK || command->kind == WIRE_LINE)
        return broken_answer(client);
    if (command->kind == WIRE_USE || command->kind == WIRE_OPEN) {
        note_kind(client, frame);
        client->last_notified = NOT_NOTIFIED; /* the counter was of another system */
    } else if (command->kind == WIRE_SUBSCRIBE) {
        /* Keep the mask for the next greeting, even if the caller has given up waiting for the
         * answer. */
        client->mask = ((const uint8_t *)fifo_front(&client->out))[WIRE_HEAD_SIZE];
        client->last_notified = newest_event(frame);
    }
    struct call *call = command->call;
    return answer_call(client, call);
}

/* ------------------------------------------------------------------ errors */

/* The client built these frames; if one arrives malformed, it was corrupted in transit. */
static gordian_status status_of_code(unsigned code)
{
    return code == WIRE_MALFORMED ? GORDIAN_STATUS_IO : wire_error_status(code);
}

/* Some fatal errors are temporary: connecting again may help. */
static gordian_status take_fatal(gordian_client *client, const struct wire_error *from,
                                 const char *text)
{
    if (from->code == WIRE_NOT_LEADER)
        link_moved(client, text);
    else if (from->code == WIRE_STOPPING || from->code == WIRE_TOO_SLOW ||
             from->code == WIRE_NOT_KEPT || from->code == WIRE_NO_MEMORY)
        link_break(client, text);
    else
        link_fail(client, status_of_code(from->code), "%s", text);
    return GORDIAN_OK;
}

/* Completes a line that the service refused as a whole. A refused event has not used its number. */
static void refuse_line(gordian_client *client, const struct wire_error *from, const char *text)
{
    struct sent_event event = *(struct sent_event *)fifo_front(&client->events);
    gordian_reply reply = {.status = status_of_code(from->code),
                           .number = event.op ? client->first_number : 0,
                           .process = GORDIAN_NONE,
                           .message = text,
                           .code = from->code};
    drop_command(client);
    fifo_take(&client->events, sizeof event);
    if (event.op) { /* the lines sent after it have wrong numbers */
        client->renumber = true;
        link_rewind(client, 0, 0);
    }
    notify_event(client, &event, &reply);
}

static gordian_status take_error(gordian_client *client, const struct wire_frame *frame)
{
    struct wire_error from;
    char text[390];
    if (!wire_get_error(frame, &from))
        return broken_answer(client);
    snprintf(text, sizeof text, "%.*s", (int)(from.text.length < 380 ? from.text.length : 380),
             from.text.text);
    struct command *command = first_command(client);
    *client->code = from.code;
    if (from.fatal || !command || client->state == LINK_GREETING || from.code == WIRE_NOT_LEADER)
        return take_fatal(client, &from, text);
    bool line = command->kind == WIRE_LINE && !command->asked;
    if (command->kind == WIRE_EVENTS || line) {
        if (wire_error_passes(from.code, from.retry_ms)) {
            snprintf(client->trouble, sizeof client->trouble, "%.190s", text);
            link_rewind(client, from.retry_ms, 1);
        } else if (line) {
            refuse_line(client, &from, text);
        } else {
            return take_fatal(client, &from, text);
        }
        return GORDIAN_OK;
    }
    struct call *call = command->call;
    drop_command(client);
    if (call)
        fail(call->error, status_of_code(from.code), "%s", text);
    end_call(client, call, status_of_code(from.code));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the greeting */

static gordian_status take_welcome(gordian_client *client, const struct wire_frame *frame)
{
    struct wire_welcome welcome;
    if (client->state != LINK_GREETING || client->greetings != 3 ||
        !wire_get_welcome(frame, &welcome))
        return broken_answer(client);
    bool resumed = client->has_session;
    if (resumed && memcmp(client->session, welcome.session, sizeof client->session) != 0) {
        link_fail(client, GORDIAN_STATUS_UNAVAILABLE, "the session has ended");
        return GORDIAN_OK;
    }
    static const uint8_t none[GORDIAN_SESSION_SIZE]; /* read-only clients have no session */
    memcpy(client->session, welcome.session, sizeof client->session);
    client->has_session = memcmp(client->session, none, sizeof none) != 0;
    client->durability = welcome.durability;
    client->frame_max = welcome.frame_max < WIRE_FRAME_MAX ? welcome.frame_max : WIRE_FRAME_MAX;
    snprintf(client->server, sizeof client->server, "%.*s",
             (int)(welcome.server.length < 60 ? welcome.server.length : 60), welcome.server.text);
    if (client->epoch == 0) {
        client->last_applied = welcome.last;
        client->next_number = client->first_number = welcome.last + 1;
    } else if (welcome.last + 1 < client->first_number) {
        link_fail(client, GORDIAN_STATUS_IO,
                  "the service has lost events that it had acknowledged");
        return GORDIAN_OK;
    }
    client->greetings--;
    return GORDIAN_OK;
}

/* `now`: the newest event, see newest_event. */
static void link_is_up(gordian_client *client, uint64_t now)
{
    bool again = client->epoch++ > 0;
    client->state = LINK_UP;
    client->tried = client->left = client->moves = 0;
    client->sent = 0;
    client->pause_ms = 0;
    client->owed_since = client->said_at = clock_ns();
    if (again && client->link) {
        client->calling = true;
        client->link(client->context, true, "");
        client->calling = false;
    }
    if (again)
        notify_gap(client, now);
}

static gordian_status take_greeting(gordian_client *client, const struct wire_frame *frame)
{
    if (frame->kind != WIRE_DONE || client->greetings == 0 || client->greetings == 3)
        return broken_answer(client);
    if (client->greetings == 2)
        note_kind(client, frame);
    if (--client->greetings == 0)
        link_is_up(client, newest_event(frame));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ dispatch */

static gordian_status take_answer_frame(gordian_client *client, const struct wire_frame *frame,
                                        gordian_error *error)
{
    switch (frame->kind) {
    case WIRE_WELCOME:
        return take_welcome(client, frame);
    case WIRE_GRANTED:
        return take_granted(client, frame);
    case WIRE_FENCE:
        return note_fence(client, frame);
    case WIRE_INCIDENT:
        return take_notice_frame(client, frame, GORDIAN_NOTICE_DEADLOCK);
    case WIRE_EVENT:
        return take_notice_frame(client, frame, GORDIAN_NOTICE_EVENT);
    default:
        break;
    }
    struct wire_error from;
    bool fatal = frame->kind == WIRE_ERROR && wire_get_error(frame, &from) && from.fatal;
    if (client->rewinding && !fatal) {
        link_passed(client);
        return GORDIAN_OK;
    }
    if (frame->kind == WIRE_ERROR)
        return take_error(client, frame);
    if (client->state == LINK_GREETING)
        return take_greeting(client, frame);
    switch (frame->kind) {
    case WIRE_DECLARED:
        return take_declared(client, frame);
    case WIRE_RESULTS:
        return take_event_results(client, frame, error);
    case WIRE_STATED:
        return take_state_frame(client, frame, error);
    case WIRE_ASKED:
        return take_asked(client, frame);
    case WIRE_ANSWER:
        return take_line_answer(client, frame, error);
    case WIRE_PONG:
    case WIRE_DONE:
        return take_done(client, frame);
    default:
        return broken_answer(client);
    }
}

gordian_status answer_take(gordian_client *client, const struct wire_frame *frame,
                           gordian_error *error)
{
    TRY(take_answer_frame(client, frame, error));
    if (frame->kind != WIRE_FENCE)
        client->next_fence = 0; /* it applied to this frame only */
    return GORDIAN_OK;
}

void answers_give_up(gordian_client *client, gordian_status status, const char *message)
{
    struct fifo events = client->events, commands = client->commands;
    client->events = client->commands = (struct fifo){0};
    fifo_clear(&client->out);
    client->sent = client->sealed = 0;
    client->open_events = 0;
    uint64_t number = client->first_number;
    for (; fifo_count(&commands) > 0; fifo_take(&commands, sizeof(struct command))) {
        struct call *call = ((struct command *)fifo_front(&commands))->call;
        if (call)
            fail(call->error, status, "%s", message);
        end_call(client, call, status);
    }
    for (; fifo_count(&events) > 0; fifo_take(&events, sizeof(struct sent_event))) {
        gordian_reply reply = {.status = status, .number = number, .message = message};
        notify_event(client, fifo_front(&events), &reply);
        number++;
    }
    fifo_free(&client->memory, &events);
    fifo_free(&client->memory, &commands);
}
