/* Sends clients answers, errors and notifications. */
#include "output/show/graph.h"
#include "service/serve/core/service_internal.h"

#include <string.h>

/* ------------------------------------------------------------------ a client's buffer */

unsigned char *client_room(struct client *client, size_t size)
{
    char *to = output_reserve(&client->out, size);
    client->closing |= !to && size > 0;
    client->out.used += to ? size : 0;
    return (unsigned char *)to;
}

void client_put(struct client *client, const void *bytes, size_t size)
{
    unsigned char *to = client_room(client, size);
    if (to)
        memcpy(to, bytes, size);
}

void client_skip_journal(struct client *client, size_t start, uint64_t number)
{
    struct service_work *work = client->service->work;
    if (work->unmarked != start)
        return;
    work->unmarked = client->out.used;
    if (client->mark < number)
        client->mark = number;
}

/* Back-pressure: cuts off a client that reads too slowly for its notifications. (Its answers cannot
 * pile up: no input is read while they wait to be sent.) */
static bool may_notify(struct client *client)
{
    if (client->closing)
        return false;
    if (client->out.used + client->frame.notifications.used <= quota_backlog(client))
        return true;
    client_error(client, WIRE_TOO_SLOW, 0, 0, "client too slow: notification backlog full");
    client->service->counters.cut_off++;
    client_wake(client);
    return false;
}

void client_wake(struct client *client)
{
    struct service *service = client->service;
    /* the record of the current command comes next */
    client->mark = service_last(service) + 1;
    client->answer_at = client->out.used;
    if (client->wake)
        client->wake(client);
}

/* ------------------------------------------------------------------ errors */

void client_error(struct client *client, unsigned code, uint32_t retry_ms, uint64_t column,
                  const char *text)
{
    static const bool fatal_codes[] = {
        [WIRE_MALFORMED] = true,  [WIRE_BAD_VERSION] = true, [WIRE_NOT_ALLOWED] = true,
        [WIRE_TAKEN_OVER] = true, [WIRE_TOO_SLOW] = true,    [WIRE_STOPPING] = true,
        [WIRE_TOO_LARGE] = true,  [WIRE_NOT_LEADER] = false,
    };
    if (code == WIRE_NOT_KEPT && client->service->standby_reason[0])
        code = WIRE_NOT_LEADER;
    bool fatal = fatal_codes[code] || client->closing;
    size_t start = client->out.used;
    client->service->counters.errors++;
    if (client->form == CLIENT_BINARY) {
        const struct wire_error error = {.code = (uint16_t)code,
                                         .fatal = fatal,
                                         .retry_ms = retry_ms,
                                         .text = {text, strlen(text)}};
        CLIENT_PUT(client, wire_put_error, &error);
        client->closing |= fatal;
    } else {
        struct json json;
        json_begin(&json, &client->out);
        json_key_text(&json, "error", text);
        json_key_u64(&json, "code", code);
        if (client->lines) {
            json_key_u64(&json, "line", client->lines);
            json_key_u64(&json, "column", column);
        }
        if (retry_ms)
            json_key_u64(&json, "retry_ms", retry_ms);
        json_end(&json);
        /* a mistake in a line does not close the connection */
        client->closing |= fatal && code != WIRE_MALFORMED;
    }
    if (code == WIRE_NOT_KEPT ||
        code == WIRE_NOT_LEADER) /* this error need not wait until the journal can be written */
        client_skip_journal(client, start, 0);
}

void client_fail(struct client *client, const gordian_error *error)
{
    struct service_work *work = client->service->work;
    gordian_status status = error->status;
    unsigned code = work->code;
    uint32_t retry_ms = work->retry_ms;
    if (code == 0) {
        code = status == GORDIAN_STATUS_UNAVAILABLE ? WIRE_NOT_AVAILABLE
               : status == GORDIAN_STATUS_MEMORY    ? WIRE_NO_MEMORY
               : status == GORDIAN_STATUS_IO        ? WIRE_NOT_KEPT
                                                    : WIRE_BAD_VALUE;
        if (status == GORDIAN_STATUS_MEMORY || status == GORDIAN_STATUS_IO)
            retry_ms = 1000;
    }
    work->code = 0;
    work->retry_ms = 0;
    client_error(client, code, retry_ms, error->column ? error->column : 1, error->message);
}

/* ------------------------------------------------------------------ grants */

#define GRANTED_SCAN 4096 /* items of the change log that are searched */

/* Writes what a process was granted and by which event, from the change log. */
static void write_granted(struct json *json, const struct served *served, uint32_t process)
{
    const struct recent *recent = &served->recent;
    char buffer[GORDIAN_NAME_MAX + 1];
    uint64_t first = recent_first(recent), end = recent->written, at = end;
    bool found = false;
    if (end - first > GRANTED_SCAN)
        first = end - GRANTED_SCAN;
    while (at > first && !(found && recent_at(recent, at - 1)->kind == RECENT_EVENT)) {
        const struct recent_item *item = recent_at(recent, --at);
        found |= item->kind == RECENT_ADD_HOLD && item->process == process;
    }
    if (!found || at == first)
        return;
    json_key_u64(json, "seq", recent_at(recent, at - 1)->seq);
    json_open(json, "wants", '[');
    for (; at < end && recent_at(recent, at)->kind != RECENT_EVENT; at++) {
        const struct recent_item *item = recent_at(recent, at);
        if (item->kind != RECENT_ADD_HOLD || item->process != process)
            continue;
        json_open(json, NULL, '{');
        json_key_text(json, "resource", served_resource_label(served, item->resource, buffer));
        json_key_u64(json, "units", item->units);
        json_shut(json);
    }
    json_shut(json);
}

static void send_granted(struct client *client, const struct served *served, uint32_t process)
{
    uint64_t fence = client->service->fence;
    frame_swap_output(client);
    if (client->form == CLIENT_BINARY) {
        fence_put(client, fence);
        CLIENT_PUT(client, wire_put_u32, WIRE_GRANTED, process);
    } else {
        char buffer[GORDIAN_NAME_MAX + 1];
        struct json json;
        json_begin(&json, &client->out);
        json_key_text(&json, "granted", served_process_name(served, process, buffer));
        write_granted(&json, served, process);
        if (client->fences)
            json_key_u64(&json, "fence", fence);
        json_end(&json);
    }
    frame_swap_output(client);
    client_wake(client);
}

void notify_granted(struct service *service, struct served *served, const uint32_t *processes,
                    size_t count, const struct client *except)
{
    if (service->replaying)
        return;
    for (size_t i = 0; i < count; i++) {
        uint32_t owner = served->processes[processes[i]].owner;
        struct client *client = owner == GORDIAN_NONE ? NULL : service->sessions[owner].client;
        if (client && client->system == served->slot && client != except &&
            client->subscriptions & WIRE_MY_GRANTS && may_notify(client))
            send_granted(client, served, processes[i]);
    }
}

/* ------------------------------------------------------------------ incidents, events */

/* Sends JSON in the client's form. */
static void send_notification(struct client *client, uint8_t kind, const struct output *text)
{
    frame_swap_output(client);
    if (client->form == CLIENT_BINARY)
        CLIENT_PUT(client, wire_put_frame, kind, text->buffer, text->used - 1); /* no newline */
    else
        client_put(client, text->buffer, text->used);
    frame_swap_output(client);
    client_wake(client);
}

/* Marks the sessions that own these processes. */
static void mark_owners(struct service *service, const struct served *served,
                        const uint32_t *processes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t owner =
            processes[i] == GORDIAN_NONE ? GORDIAN_NONE : served->processes[processes[i]].owner;
        if (owner != GORDIAN_NONE)
            service->sessions[owner].concerned = service->work->notifications;
    }
}

void notify_mark(struct service *service, const struct served *served,
                 const struct open_incident *open, uint32_t leaver)
{
    service->work->notifications++;
    mark_owners(service, served, &leaver, 1);
    mark_owners(service, served, open->members, open->member_count);
    for (uint32_t i = 0; i < open->concerned_count; i++)
        service->sessions[open->concerned[i]].concerned = service->work->notifications;
}

static bool concerns_client(const struct service *service, const struct served *served,
                            const struct client *client, enum notify_who who)
{
    if (client->system != served->slot)
        return false;
    if (client->subscriptions & WIRE_DEADLOCKS)
        return who & NOTIFY_OTHERS;
    return who & NOTIFY_MEMBERS && client->subscriptions & WIRE_MY_DEADLOCKS &&
           client->session != GORDIAN_NONE &&
           service->sessions[client->session].concerned == service->work->notifications;
}

bool notify_has_members(const struct service *service, const struct served *served)
{
    for (const struct client *client = service->clients; client; client = client->next)
        if (concerns_client(service, served, client, NOTIFY_MEMBERS))
            return true;
    return false;
}

void notify_incident(struct service *service, struct served *served,
                     const struct incident *incident, enum notify_who who)
{
    struct output *text = &service->work->third;
    text_clear(text);
    for (struct client *client = service->clients; client; client = client->next) {
        if (!concerns_client(service, served, client, who))
            continue;
        if (text->used == 0) {
            struct incident brief = *incident;
            struct json json;
            brief.replay = NULL;
            json_begin(&json, text);
            json_open(&json, "incident", '{');
            incident_json(&json, &brief);
            json_end(&json);
        }
        if (!text->failure && may_notify(client))
            send_notification(client, WIRE_INCIDENT, text);
    }
    for (struct service_watcher *w = service->watchers; w && who & NOTIFY_OTHERS; w = w->next)
        if (w->incident)
            w->incident(w->context, incident);
}

bool notify_wanted(const struct service *service, const struct served *served)
{
    if (service->work->everything == 0)
        return false;
    for (const struct client *client = service->clients; client; client = client->next)
        if (client->system == served->slot && client->subscriptions & WIRE_EVERYTHING)
            return true;
    return false;
}

/* Writes the wants of an event: resources and units; for an await, processes and how many of them.
 */
static void write_event_wants(struct json *json, const struct served *served,
                              const gordian_event *event)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    gordian_want one;
    const gordian_want *wants;
    bool await = event->op == GORDIAN_OP_AWAIT;
    size_t count = await ? event->want_count : served_wants(event, &one, &wants);
    if (await)
        wants = event->wants;
    if (await && event->units)
        json_key_u64(json, "needs", event->units);
    json_open(json, "wants", '[');
    for (size_t i = 0; i < count; i++) {
        json_open(json, NULL, '{');
        if (await) {
            json_key_text(json, "process", served_process_label(served, wants[i].resource, buffer));
        } else {
            json_key_text(json, "resource",
                          served_resource_label(served, wants[i].resource, buffer));
            json_key_u64(json, "units", wants[i].units);
        }
        json_shut(json);
    }
    json_shut(json);
    if (event->to != GORDIAN_NONE)
        json_key_text(json, "to", served_process_label(served, event->to, buffer));
}

static void write_event_notification(struct served *served, const gordian_event *event,
                                     uint64_t seq, const struct served_result *result,
                                     const uint32_t *granted, struct output *text)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    struct json json;
    const char *name = served_process_name(served, event->process, buffer);
    text->used = 0;
    json_begin(&json, text);
    json_open(&json, "event", '{');
    json_key_text(&json, "system", served->name);
    json_key_u64(&json, "seq", seq);
    json_key_text(&json, "op", gordian_op_text(event->op));
    json_key_text(&json, "process", name ? name : "");
    write_event_wants(&json, served, event);
    json_key_text(&json, "result", served_outcome_text(served, result->outcome));
    if (result->served)
        served_processes_json(&json, "granted_to", served, granted, result->served);
    json_end(&json);
}

void notify_event(struct service *service, struct served *served, const gordian_event *event,
                  uint64_t seq, const struct served_result *result, const uint32_t *granted,
                  const struct client *except)
{
    struct output *text = &service->work->third;
    text_clear(text);
    for (struct client *client = service->clients; client; client = client->next) {
        if (client == except || client->system != served->slot ||
            !(client->subscriptions & WIRE_EVERYTHING))
            continue;
        if (text->used == 0)
            write_event_notification(served, event, seq, result, granted, text);
        if (!text->failure && may_notify(client))
            send_notification(client, WIRE_EVENT, text);
    }
}
