/*
 * The text form of the protocol. A line of a trace is an event, answered by a line of JSON as
 * `gordian detect --json` and `gordian avoid --json` print it. A declaration is answered only if it
 * is refused. The other commands are in line_verbs.c.
 *
 * As in a trace, the first event of a process that is not refused creates the process.
 */
#include "output/show/graph.h"
#include "service/serve/core/service_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Differs from GORDIAN_NONE: a hand-over to a process that does not exist. */
#define UNKNOWN_PROCESS (GORDIAN_NONE - 1)
#define LINE_MAX        WIRE_FRAME_MAX

/* ------------------------------------------------------------------ the reader */

static ptrdiff_t read_client_line(void *context, char *buffer, size_t size)
{
    struct line_source *line = context;
    size_t count = line->left < size ? line->left : size;
    memcpy(buffer, line->text, count);
    for (size_t i = 0; i < count && line->blank > 0; i++, line->blank--)
        buffer[i] = ' ';
    line->text += count;
    line->left -= count;
    return (ptrdiff_t)count;
}

gordian_status lines_open(struct service *service, gordian_error *error)
{
    const gordian_source source = {read_client_line, &service->work->line};
    return trace_open_text(&service->work->trace, &source, &service->memory, error);
}

/* Makes the reader read one line, with its newline. */
static void reset_reader(struct client *client, const char *text, size_t length, size_t blank)
{
    struct service_work *work = client->service->work;
    work->line = (struct line_source){text, length, blank};
    reader_restart(&work->trace.inside->reader, client->lines - 1);
}

/* ------------------------------------------------------------------ names */

static uint32_t find_line_process(const struct served *served, const gordian_word *name)
{
    return served_find_process(served, name->text, name->length);
}

static uint32_t find_line_resource(const struct served *served, const gordian_word *name)
{
    return served_find_resource(served, name->text, name->length);
}

/* ------------------------------------------------------------------ declarations */

static gordian_status claims_of(struct service_work *work, const struct served *served,
                                size_t *count, gordian_error *error)
{
    const gordian_trace *trace = &work->trace;
    *count = 0;
    for (size_t i = 0; i < trace->item_count; i++) {
        const gordian_trace_item *item = &trace->items[i];
        uint32_t resource = find_line_resource(served, &item->name);
        char shown[TRACE_SHOWN_MAX];
        bool weight = word_is(&item->name, "priority") || word_is(&item->name, "cost");
        if (resource == GORDIAN_NONE && weight)
            continue;
        if (resource == GORDIAN_NONE)
            return trace_fail(trace, &item->name, error, "resource '%s' was never declared",
                              trace_show(&item->name, shown));
        if (*count >= UINT16_MAX)
            return trace_fail(trace, &item->name, error, "too many claims");
        work->wants[*count].resource = resource;
        TRY(trace_claim(trace, item, &work->wants[*count].units, error));
        ++*count;
    }
    return GORDIAN_OK;
}

static gordian_status line_declare_process(struct client *client, struct served *served,
                                           gordian_error *error)
{
    struct service_work *work = client->service->work;
    struct wire_declaration declaration = {.what = WIRE_PROCESS,
                                           .name = word_text(&work->trace.name)};
    struct trace_attributes attributes = {0};
    uint32_t id;
    gordian_status status = work->trace.avoidance
                                ? claims_of(work, served, &declaration.claim_count, error)
                                : trace_attributes(&work->trace, &attributes, error);
    declaration.claims = work->wants;
    THEN(status,
         apply_declaration(client->service, served, client->session, &declaration, &id, error));
    if (status != GORDIAN_OK || !(attributes.has_priority || attributes.has_cost))
        return status;
    struct wire_weigh weigh = {
        .process = id,
        .priority =
            attributes.has_priority ? attributes.priority : gordian_priority(served->system, id),
        .cost = attributes.has_cost ? attributes.cost : gordian_cost(served->system, id),
    };
    return apply_weigh(client->service, served, &weigh, error);
}

/* ------------------------------------------------------------------ events */

/* An answer that is being written. */
struct answer {
    struct json json;
    struct client *client;
    char process[GORDIAN_NAME_MAX + 1];
    bool begun;
};

static void begin_line_answer(struct answer *answer, struct output *out,
                              const struct served *served, gordian_op op,
                              const struct served_result *result, const uint32_t *granted)
{
    json_begin(&answer->json, out);
    line_event_begin(&answer->json, served, op, answer->process, result, granted);
    if (answer->client->fences && answer->client->form == CLIENT_LINES &&
        strcmp(served_outcome_text(served, result->outcome), "granted") == 0)
        json_key_u64(&answer->json, "fence", answer->client->service->fence);
    answer->begun = true;
}

/* Writes the deadlock before recovery ends a process. The answer is buffered until it is complete:
 * the client may be subscribed to deadlocks, and gets the notification first. */
static void answer_stuck(struct apply_events *events, const gordian_event *event,
                         const struct served_result *result)
{
    struct answer *answer = events->context;
    struct output *aside = &answer->client->service->work->stuck;
    text_clear(aside);
    begin_line_answer(answer, aside, events->served, event->op, result, NULL);
    line_stuck(&answer->json, events->served, event, result->outcome);
    events->victims = &answer->json;
}

/* Finds the first unknown name of a line. A process may be the first name, and the others of an
 * await. */
static const gordian_word *unknown_name(const struct service_work *work,
                                        const struct served *served, bool process)
{
    const gordian_trace *trace = &work->trace;
    if (process &&
        (trace->op != GORDIAN_OP_AWAIT || find_line_process(served, &trace->name) == GORDIAN_NONE))
        return &trace->name;
    for (size_t i = 0; i < trace->item_count; i++)
        if ((process ? find_line_process : find_line_resource)(served, &trace->items[i].name) ==
            GORDIAN_NONE)
            return &trace->items[i].name;
    return &trace->name;
}

/* Explains why an event was refused. The system has the names of ids only; the line has the others.
 */
static const char *refusal_text(const struct service_work *work, const struct served *served,
                                const gordian_event *event, uint8_t reason, char *buffer,
                                size_t size)
{
    const char *format = NULL;
    const gordian_word *name = NULL;
    char shown[TRACE_SHOWN_MAX];
    bool detect = !work->trace.avoidance;
    if (reason == WIRE_ENGINE_CANNOT) {
        snprintf(buffer, size, "the engine '%s' cannot represent this", served_engine_name(served));
        return buffer;
    }
    if (reason == WIRE_OVER_MEMORY)
        return "memory quota of the client reached: release, cancel, exit or forget something";
    if (reason == WIRE_OTHERS)
        return "the token may not end processes of other sessions";
    /* GORDIAN_REASON_UNKNOWN_PROCESS and _RESOURCE are the same numbers */
    if (reason == GORDIAN_REFUSAL_UNKNOWN_PROCESS) {
        format = detect ? "process '%s' was never seen" : "process '%s' was never declared";
        name = unknown_name(work, served, true);
    } else if (reason == GORDIAN_REFUSAL_UNKNOWN_RESOURCE) {
        format = "resource '%s' was never declared";
        name = unknown_name(work, served, false);
    } else if (detect && reason == GORDIAN_REFUSAL_BAD_HAND_OVER && event->to == UNKNOWN_PROCESS) {
        format = "process '%s' was never seen";
        name = &work->trace.to;
    } else if (detect) {
        return gordian_refusal_text(served->system, event, (gordian_refusal)reason, buffer, size);
    }
    if (name)
        snprintf(buffer, size, format, trace_show(name, shown));
    else
        snprintf(buffer, size, "process '%s': %s", trace_show(&work->trace.name, shown),
                 gordian_reason_text((gordian_reason)reason));
    return buffer;
}

/* Makes an event of the line. Unknown names become GORDIAN_NONE. */
static gordian_status make_line_event(struct service_work *work, const struct served *served,
                                      gordian_event *event, gordian_error *error)
{
    const gordian_trace *trace = &work->trace;
    bool await = trace->op == GORDIAN_OP_AWAIT;
    if (trace->item_count >= UINT16_MAX)
        return trace_fail(trace, &trace->verb, error, "more than 65534 names in one line");
    for (size_t i = 0; i < trace->item_count; i++)
        work->wants[i] = (gordian_want){
            await ? 1 : trace->items[i].units,
            (await ? find_line_process : find_line_resource)(served, &trace->items[i].name)};
    *event = (gordian_event){
        .op = trace->op,
        .process = find_line_process(served, &trace->name),
        .resource = GORDIAN_NONE,
        .to = GORDIAN_NONE,
    };
    if (trace->to.text) {
        event->to = find_line_process(served, &trace->to);
        if (event->to == GORDIAN_NONE)
            event->to = UNKNOWN_PROCESS;
    }
    if (await) {
        event->units = trace->units;
        event->wants = work->wants;
        event->want_count = trace->item_count;
    } else if (trace->item_count == 1) {
        event->resource = work->wants[0].resource;
        event->units = work->wants[0].units;
    } else if (trace->item_count > 1) {
        event->wants = work->wants;
        event->want_count = trace->item_count;
    }
    return GORDIAN_OK;
}

/* Declares a name of the line: a process, or a resource with its units. */
static gordian_status declare_word(struct client *client, struct served *served, uint32_t session,
                                   uint8_t what, const gordian_word *name, uint32_t *id,
                                   gordian_error *error)
{
    const struct wire_declaration declaration = {
        .what = what,
        .name = word_text(name),
        .units = what == WIRE_RESOURCE ? client->service->work->trace.units : 0};
    return apply_declaration(client->service, served, session, &declaration, id, error);
}

/* Creates the processes whose acts are awaited. The sessions that send their events own them, not
 * the session that names them. But the quota of the naming session must allow them. */
static gordian_status create_awaited(struct client *client, struct served *served,
                                     gordian_error *error)
{
    struct service_work *work = client->service->work;
    const gordian_trace *trace = &work->trace;
    for (size_t i = 0; i < trace->item_count; i++) {
        uint32_t *id = &work->wants[i].resource;
        *id = find_line_process(served, &trace->items[i].name); /* may be named twice */
        if (*id != GORDIAN_NONE)
            continue;
        const gordian_word *name = &trace->items[i].name;
        TRY(quota_check(client->service, client->session,
                        served_new_process_cost(served, name->length, 0), error));
        TRY(declare_word(client, served, GORDIAN_NONE, WIRE_PROCESS, name, id, error));
    }
    return GORDIAN_OK;
}

/* Creates the processes of an event that a trace need not declare. */
static gordian_status create_processes(struct client *client, struct served *served,
                                       gordian_event *event, bool *created, gordian_error *error)
{
    const gordian_trace *trace = &client->service->work->trace;
    if (event->op == GORDIAN_OP_AWAIT)
        TRY(create_awaited(client, served, error));
    event->process = find_line_process(served, &trace->name); /* may await itself */
    *created = !trace->avoidance && event->process == GORDIAN_NONE &&
               (event->op == GORDIAN_OP_REQUEST || event->op == GORDIAN_OP_HOLD ||
                event->op == GORDIAN_OP_WAIT || event->op == GORDIAN_OP_AWAIT);
    return *created ? declare_word(client, served, client->session, WIRE_PROCESS, &trace->name,
                                   &event->process, error)
                    : GORDIAN_OK;
}

static void end_answer(struct answer *answer, struct served *served, const gordian_event *event)
{
    const struct service_work *work = answer->client->service->work;
    const struct wire_result *result = &work->results[0];
    struct served_result shown = {result->outcome, result->reason, result->served};
    char message[400];
    if (!answer->begun)
        begin_line_answer(answer, &answer->client->out, served, event->op, &shown, work->served);
    if (result->outcome < WIRE_NOT_TAKEN)
        line_reasons(&answer->json, served);
    if (result->outcome == GORDIAN_OUTCOME_REFUSED) /* GORDIAN_VERDICT_REFUSED is the same number */
        json_key_text(&answer->json, "message",
                      refusal_text(work, served, event, result->reason, message, sizeof message));
    json_end(&answer->json);
    if (answer->json.out != &work->stuck)
        return;
    if (work->stuck.failure) { /* without this answer, the client would misread the next one */
        answer->client->out.failure = work->stuck.failure;
        answer->client->closing = true;
    } else {
        client_put(answer->client, work->stuck.buffer, work->stuck.used);
    }
}

static gordian_status take_line_event(struct client *client, struct served *served, uint64_t number,
                                      gordian_error *error)
{
    struct service *service = client->service;
    struct service_work *work = service->work;
    const gordian_trace *trace = &work->trace;
    gordian_event event;
    bool created = false;
    struct answer answer = {.client = client};
    struct apply_events events = {.served = served,
                                  .session = client->session,
                                  .client = client,
                                  .first = number,
                                  .stuck = answer_stuck,
                                  .context = &answer};
    memcpy(answer.process, trace->name.text, trace->name.length);
    TRY(make_line_event(work, served, &event, error));
    if (number == 0 || number > service->sessions[client->session].last)
        TRY(create_processes(client, served, &event, &created, error));
    served->answer.detail = GORDIAN_DETAIL_REASONS;
    gordian_status status = apply_event(service, &events, &event, error);
    served->answer.detail = GORDIAN_DETAIL_VERDICT;
    work->process = event.process;
    if (status == GORDIAN_OK)
        end_answer(&answer, served, &event);
    if (created && (status || work->results[0].outcome == GORDIAN_OUTCOME_REFUSED))
        apply_removal(service, served, WIRE_PROCESS, event.process, NULL);
    return status;
}

/* ------------------------------------------------------------------ lines */

/* Is it a verb of traces? Then the parser of traces reports errors. */
static bool is_trace_verb(const char *text, size_t length)
{
    static const char *const verbs[] = {"request", "release",  "hold",    "wait",  "exit",
                                        "cancel",  "resource", "process", "await", "act"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strlen(verbs[i]) == length && memcmp(verbs[i], text, length) == 0)
            return true;
    return false;
}

static gordian_status take_trace(struct client *client, uint64_t number, gordian_error *error)
{
    struct service_work *work = client->service->work;
    struct served *served;
    uint32_t id;
    TRY(client_system(client, &served, error));
    work->trace.avoidance = served->bank != NULL;
    work->trace.acts = served->system != NULL;
    TRY(gordian_trace_next(&work->trace, error));
    TRY(client_may_change(client, error));
    TRY(session_ensure(client, error));
    switch (work->trace.kind) {
    case GORDIAN_LINE_EVENT:
        client_spend(client, 1);
        return take_line_event(client, served, number, error);
    case GORDIAN_LINE_RESOURCE:
        return declare_word(client, served, client->session, WIRE_RESOURCE, &work->trace.name, &id,
                            error);
    case GORDIAN_LINE_PROCESS:
        return line_declare_process(client, served, error);
    }
    return GORDIAN_OK;
}

/* Takes a line whose first `blank` bytes are an event number. */
static gordian_status take_line_words(struct client *client, const char *text, size_t length,
                                      size_t blank, uint64_t number, gordian_error *error)
{
    struct service *service = client->service;
    size_t at, end;
    bool known;
    for (at = blank; at < length && (text[at] == ' ' || text[at] == '\t'); at++)
        ;
    for (end = at; end < length && !memchr(" \t\r\n#", text[end], 5); end++)
        ;
    reset_reader(client, text, length, blank);
    if (is_trace_verb(text + at, end - at)) {
        if (client->rights == SERVICE_NOTHING)
            return FAIL_WITH(service, WIRE_NOT_ALLOWED, error, "send hello token=... first");
        return take_trace(client, number, error);
    }
    TRY(reader_next(&service->work->trace.inside->reader, error));
    gordian_status status = verb_take(client, &known, error);
    if (known)
        return status;
    /* Not a verb: the parser of traces reports that, and which word may have been meant. */
    reset_reader(client, text, length, blank);
    status = gordian_trace_next(&service->work->trace, error);
    if (status == GORDIAN_OK)
        return fail(error, GORDIAN_STATUS_INPUT, "not understood; try help");
    size_t used = strlen(error->message);
    snprintf(error->message + used, sizeof error->message - used, "; 'help' lists the other words");
    return status;
}

static gordian_status take_client_line(struct client *client, const char *text, size_t length,
                                       gordian_error *error)
{
    uint64_t number = 0;
    size_t blank = 0;
    if (length > 0 && text[0] == '@') { /* "@N ": the number of the event on this line */
        const char *why;
        for (blank = 1; blank < length && isdigit((unsigned char)text[blank]);)
            blank++;
        if (blank == length || (text[blank] != ' ' && text[blank] != '\t') ||
            !parse_u64(text + 1, blank - 1, &number, &why) || number == 0)
            return fail_at(error, GORDIAN_STATUS_INPUT, client->lines, 2,
                           "expected the number of an event after '@', at least 1");
    }
    return take_line_words(client, text, length, blank, number, error);
}

/* Turns the output after client->answer_at into an ANSWER. */
static void frame_answer(struct client *client)
{
    const struct service_work *work = client->service->work;
    size_t written = client->out.used - client->answer_at;
    struct wire_answer answer = {.process = GORDIAN_NONE};
    if (work->result_count) {
        answer.outcome = work->results[0].outcome;
        answer.reason = work->results[0].reason;
        answer.process = work->process;
        answer.ids = work->served;
        answer.served.left = work->results[0].served;
    }
    size_t fence = client->fences && work->fence ? WIRE_HEAD_SIZE + 8 : 0;
    size_t head = wire_put_answer(NULL, 0, &answer);
    if (!client_room(client, fence + head))
        return;
    unsigned char *frame = (unsigned char *)client->out.buffer + client->answer_at;
    memmove(frame + fence + head, frame, written);
    if (fence)
        wire_put_u64(frame, fence, WIRE_FENCE, work->fence);
    wire_put_answer(frame + fence, head, &answer);
    client->out.used -= written > 0; /* without its newline */
    wire_store32(frame + fence, (uint32_t)(client->out.used - client->answer_at - fence - 4));
}

gordian_status lines_take_frame(struct client *client, const struct wire_frame *frame,
                                gordian_error *error)
{
    struct service_work *work = client->service->work;
    struct wire_line line;
    if (!wire_get_line(frame, &line))
        return FAIL_WITH(client->service, WIRE_MALFORMED, error, "a malformed LINE");
    work->later = !client_may_spend(client);
    if (work->later)
        return GORDIAN_OK;
    work->result_count = 0;
    work->fence = 0;
    client->answer_at = client->out.used;
    client->lines++;
    gordian_status status =
        take_line_words(client, line.text.text, line.text.length, 0, line.number, error);
    client->lines -= work->later;
    if (status != GORDIAN_OK && status != GORDIAN_STATUS_END)
        return status;
    if (!work->later)
        frame_answer(client);
    return GORDIAN_OK;
}

size_t lines_take(struct client *client, const unsigned char *bytes, size_t count, size_t budget,
                  size_t *wanted)
{
    struct service_work *work = client->service->work;
    size_t used = 0;
    *wanted = 0;
    while (used < budget && !client->closing) {
        const char *line = (const char *)bytes + used;
        const char *newline = used < count ? memchr(line, '\n', count - used) : NULL;
        if (!newline && count - used <= LINE_MAX) {
            *wanted = count - used + 1;
            return used;
        }
        client->lines++;
        if (!newline || (size_t)(newline - line) > LINE_MAX) {
            client_error(client, WIRE_TOO_LARGE, 0, 1, "a line larger than 1 MiB");
            return count;
        }
        if (!client_may_spend(client)) {
            client->lines--;
            return used;
        }
        gordian_error error = {0};
        work->later = false;
        gordian_status status =
            take_client_line(client, line, (size_t)(newline - line) + 1, &error);
        if (work->later) {
            client->lines--;
            return used;
        }
        client->service->counters.lines++;
        if (status != GORDIAN_OK && status != GORDIAN_STATUS_END)
            client_fail(client, &error);
        used += (size_t)(newline - line) + 1;
        if (used < count && client_had_enough(client))
            break;
    }
    return client->closing ? count : used;
}
