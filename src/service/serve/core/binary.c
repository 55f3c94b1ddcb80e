/* The binary form: a frame is a command, its answer a frame. */
#include "service/serve/core/service_internal.h"

#include <string.h>

#define NOBODY GORDIAN_NONE

/* ------------------------------------------------------------------ answers */

static void put_done_answer(struct client *client)
{
    unsigned char frame[WIRE_HEAD_SIZE];
    client_put(client, frame, wire_put_frame(frame, sizeof frame, WIRE_DONE, NULL, 0));
}

/* To USE and OPEN: its client must know whether results are outcomes or verdicts. */
static void done_with(struct client *client, const struct served *served)
{
    unsigned char frame[WIRE_HEAD_SIZE + 1];
    uint8_t kind = (uint8_t)served->config.kind;
    client_put(client, frame, wire_put_u8(frame, sizeof frame, WIRE_DONE, kind));
}

/* To SUBSCRIBE: every event behind this one will be told. */
static void done_from(struct client *client, const struct served *served)
{
    unsigned char frame[WIRE_HEAD_SIZE + 8];
    client_put(client, frame, wire_put_u64(frame, sizeof frame, WIRE_DONE, served->seq));
}

static void frame_malformed(struct client *client, const char *text)
{
    client_error(client, WIRE_MALFORMED, 0, 0, text);
}

/* The system in use; NULL: the error was sent. */
static struct served *system_of(struct client *client)
{
    struct served *served = service_system(client->service, client->system);
    if (!served)
        client_error(client, WIRE_NO_SYSTEM, 0, 0, "no system is in use");
    return served;
}

/* May this client change something now? False: the error was sent. */
static bool may_change(struct client *client)
{
    const char *why;
    if (!client_may_write(client)) {
        client_error(client, WIRE_NOT_ALLOWED, 0, 0, "this token permits to look only");
        return false;
    }
    if (service_may_change(client->service, &why))
        return true;
    client_error(client, WIRE_NOT_KEPT, 1000, 0, why);
    return false;
}

/* ------------------------------------------------------------------ commands */

static void take_hello(struct client *client, const struct wire_frame *frame)
{
    struct service *service = client->service;
    struct wire_hello hello;
    if (!wire_get_hello(frame, &hello)) {
        frame_malformed(client, "a malformed HELLO");
        return;
    }
    client->fences = hello.flags & WIRE_FENCES;
    hello.flags &= WIRE_KEEP;
    if (!client_hello(client, &hello))
        return;
    const char *version = gordian_version();
    struct wire_welcome welcome = {
        .version = WIRE_VERSION,
        .durability = service->options.durability,
        .frame_max = WIRE_FRAME_MAX,
        .events_a_second = service->options.limits.events_a_second,
        .server = {version, strlen(version)},
    };
    if (client->session != NOBODY) {
        const struct session *session = &service->sessions[client->session];
        memcpy(welcome.session, session->id, sizeof welcome.session);
        welcome.last = session->last;
    }
    unsigned char bytes[128];
    size_t start = client->out.used;
    fence_put(client, service->fence);
    client_put(client, bytes, wire_put_welcome(bytes, sizeof bytes, &welcome));
    client_welcomed(client, start);
}

static void take_use(struct client *client, const struct wire_frame *frame)
{
    struct wire_text name;
    if (!wire_get_name(frame, &name)) {
        frame_malformed(client, "a malformed USE");
        return;
    }
    const struct served *served = client_find_system(client, name.text, name.length);
    if (!served) {
        client_error(client, WIRE_NO_SYSTEM, 0, 0, "there is no system of this name");
        return;
    }
    client->system = served->slot;
    done_with(client, served);
}

static void take_open_command(struct client *client, const struct wire_frame *frame)
{
    struct wire_open open;
    gordian_error error = {0};
    uint32_t slot;
    if (!wire_get_open(frame, &open) || open.options.length > WIRE_OPTIONS_MAX) {
        frame_malformed(client, "a malformed OPEN");
        return;
    }
    if (!may_change(client))
        return;
    if (client_may_open(client, &open, &error) ||
        apply_open(client->service, client->session, &open, &slot, &error)) {
        client_fail(client, &error);
        return;
    }
    client->system = slot;
    done_with(client, service_system(client->service, slot));
}

/* Does anybody else use it? */
static bool in_use(const struct client *client, const struct served *served)
{
    const struct service *service = client->service;
    for (const struct client *other = service->clients; other; other = other->next)
        if (other != client && other->system == served->slot && other->session != NOBODY)
            return true;
    return false;
}

gordian_status client_close_system(struct client *client, struct wire_text name,
                                   gordian_error *error)
{
    struct service *service = client->service;
    struct served *served = client_find_system(client, name.text, name.length);
    if (!served)
        return FAIL_WITH(service, WIRE_NO_SYSTEM, error, "there is no system of this name");
    if (!(client->rights & SERVICE_ADMINISTER))
        return FAIL_WITH(service, WIRE_NOT_ALLOWED, error,
                         "this token does not permit to close systems");
    if (in_use(client, served))
        return FAIL_WITH(service, WIRE_IN_USE, error, "others use system '%s'", served->name);
    return apply_close(service, served, error);
}

static void take_close_command(struct client *client, const struct wire_frame *frame)
{
    struct wire_text name;
    gordian_error error = {0};
    if (!wire_get_name(frame, &name)) {
        frame_malformed(client, "a malformed CLOSE");
        return;
    }
    if (!may_change(client))
        return;
    if (client_close_system(client, name, &error))
        client_fail(client, &error);
    else
        put_done_answer(client);
}

static void put_declared_ids(struct client *client, size_t count)
{
    struct service_work *work = client->service->work;
    size_t size = wire_put_declared(NULL, 0, work->ids, count);
    unsigned char *to = client_room(client, size);
    if (to)
        wire_put_declared(to, size, work->ids, count);
    work->code = 0; /* of those that were refused */
    work->retry_ms = 0;
}

/* False: not now, come again with the same frame; a slice of it may have been applied. */
static bool take_declare(struct client *client, const struct wire_frame *frame)
{
    struct service *service = client->service;
    struct wire_list list;
    gordian_error error = {0};
    if (!wire_get_declare(frame, &list)) {
        frame_malformed(client, "a malformed DECLARE");
        return true;
    }
    if (!client->frame.begun && !may_change(client))
        return true;
    struct served *served = system_of(client);
    if (!served)
        return true;
    struct apply_declare declare = {
        .served = served, .session = client->session, .list = list, .sliced = true};
    if (client->frame.begun && !frame_resume_declare(client, &declare))
        return false;
    if (apply_declare(service, &declare, &error))
        client_fail(client, &error);
    else if (declare.yields)
        frame_yield_declare(client, &declare, &list);
    else
        put_declared_ids(client, declare.count);
    return !declare.yields;
}

/* RESULTS of the whole frame. */
static void put_results(struct client *client, uint64_t first)
{
    const struct service_work *work = client->service->work;
    size_t size = wire_put_results(NULL, 0, first, work->results, work->result_count, work->served);
    fence_put(client, work->fence);
    unsigned char *to = client_room(client, size);
    if (to)
        wire_put_results(to, size, first, work->results, work->result_count, work->served);
}

/* May the frame begin? *later: not now, come again with the same frame. */
static bool begin_events(struct client *client, const struct wire_events *frame, bool *later)
{
    if (!may_change(client) || !system_of(client))
        return false;
    *later = !client_may_spend(client);
    if (!*later)
        client_spend(client, frame->list.left);
    return !*later;
}

/* False: not now, come again with the same frame; a slice of it may have been applied. */
static bool take_events(struct client *client, const struct wire_frame *frame)
{
    struct service *service = client->service;
    struct wire_events frame_events;
    gordian_error error = {0};
    gordian_status status = GORDIAN_OK;
    bool later = false, cut = false;
    if (!wire_get_events(frame, &frame_events)) {
        frame_malformed(client, "a malformed EVENTS");
        return true;
    }
    if (!client->frame.begun && !begin_events(client, &frame_events, &later))
        return !later;
    struct apply_events events = {
        .served = service_system(service, client->system),
        .session = client->session,
        .client = client,
        .first = frame_events.first,
        .list = frame_events.list,
        .sliced = true,
    };
    uint64_t now = service->work->now;
    if (client->frame.begun && !frame_resume_events(client, &events, &cut))
        return false;
    if (cut)
        apply_not_taken(service, &events);
    else
        status = apply_events(service, &events, &error);
    if (status != GORDIAN_OK)
        client_fail(client, &error);
    else if (events.yields)
        frame_yield_events(client, &events, &frame_events.list);
    else
        put_results(client, frame_events.first);
    service->work->now = now;
    return !events.yields;
}

static void take_ask(struct client *client, const struct wire_frame *frame)
{
    struct service_work *work = client->service->work;
    struct served *served;
    gordian_event event;
    gordian_error error = {0};
    struct wire_asked asked = {0};
    if (!wire_get_ask(frame, &event, work->wants, WANTS)) {
        frame_malformed(client, "a malformed ASK");
        return;
    }
    if (!(served = system_of(client)))
        return;
    if (served_ask(served, &event, &asked.outcome, &error)) {
        client_fail(client, &error);
        return;
    }
    unsigned char bytes[16];
    client_put(client, bytes, wire_put_asked(bytes, sizeof bytes, &asked));
}

/* The edges of one side as wants, behind those that are there; NULL: no memory. */
static gordian_status gather_side(struct served *served, enum served_side side, uint32_t process,
                                  gordian_want *wants, size_t room, size_t *count,
                                  gordian_error *error)
{
    const gordian_edge *edges;
    TRY(served_edges(served, side, process, &edges, count, error));
    size_t kept = 0;
    for (size_t i = 0; i < *count && kept < room; i++)
        if (side == SERVED_WANTED || !served_is_await(served, edges[i].resource))
            wants[kept++] =
                (gordian_want){served_still_needed(served, &edges[i]), edges[i].resource};
    *count = kept;
    return GORDIAN_OK;
}

static void take_state_command(struct client *client, const struct wire_frame *frame)
{
    struct service_work *work = client->service->work;
    struct served *served;
    struct wire_state state = {0};
    gordian_error error = {0};
    char buffer[GORDIAN_NAME_MAX + 1];
    if (!wire_get_u32(frame, &state.process)) {
        frame_malformed(client, "a malformed STATE");
        return;
    }
    if (!(served = system_of(client)))
        return;
    gordian_status status = GORDIAN_OK;
    if (served_process_name(served, state.process, buffer)) {
        const struct served_process *record = &served->processes[state.process];
        state.flags = WIRE_KNOWN;
        if (record->since) {
            state.flags |= WIRE_IS_WAITING;
            state.waited_ms = served_waited(record, work->now);
            if (served_is_deadlocked(served, state.process))
                state.flags |= WIRE_IS_DEADLOCKED;
        }
        state.held = work->wants;
        status = gather_side(served, SERVED_HELD, state.process, work->wants, WANTS / 2,
                             &state.held_count, &error);
        state.wanted = work->wants + state.held_count;
        THEN(status,
             gather_side(served, SERVED_WANTED, state.process, work->wants + state.held_count,
                         WANTS / 2, &state.wanted_count, &error));
    }
    if (status != GORDIAN_OK) {
        client_fail(client, &error);
        return;
    }
    bool unkept = service_is_cut_off(client->service);
    if (unkept)
        state.flags |= WIRE_IS_UNKEPT;
    size_t size = wire_put_stated(NULL, 0, &state), start = client->out.used;
    unsigned char *to = client_room(client, size);
    if (to)
        wire_put_stated(to, size, &state);
    if (unkept)
        client_sure(client, start, 0);
}

/* False: not now, come again with the same frame; a slice of it may have been applied. */
static bool take_remove(struct client *client, const struct wire_frame *frame)
{
    struct apply_remove remove = {.client = client};
    gordian_error error = {0};
    if (!wire_get_remove(frame, &remove.what, &remove.all)) {
        frame_malformed(client, "a malformed REMOVE");
        return true;
    }
    if (!client->frame.begun && !may_change(client))
        return true;
    if (!(remove.served = system_of(client)))
        return true;
    remove.list = remove.all;
    if (client->frame.begun && !frame_resume_remove(client, &remove))
        return false;
    if (apply_remove(client->service, &remove, &error))
        client_fail(client, &error);
    else if (remove.yields)
        frame_yield_remove(client, &remove);
    else
        put_done_answer(client);
    return !remove.yields;
}

static void take_weigh(struct client *client, const struct wire_frame *frame)
{
    struct wire_weigh weigh;
    struct served *served;
    gordian_error error = {0};
    if (!wire_get_weigh(frame, &weigh)) {
        frame_malformed(client, "a malformed WEIGH");
        return;
    }
    if (!may_change(client) || !(served = system_of(client)))
        return;
    if (apply_weigh(client->service, served, &weigh, &error))
        client_fail(client, &error);
    else
        put_done_answer(client);
}

static void take_label_command(struct client *client, const struct wire_frame *frame)
{
    struct wire_text texts[WIRE_LABELS_MAX];
    struct wire_label label;
    struct served *served;
    gordian_error error = {0};
    if (!wire_get_label(frame, &label, texts)) {
        frame_malformed(client, "a malformed LABEL");
        return;
    }
    if (!may_change(client) || !(served = system_of(client)))
        return;
    if (client_may_label(client, served, &label, &error) ||
        apply_label(client->service, served, client->session, &label, &error))
        client_fail(client, &error);
    else
        put_done_answer(client);
}

static void take_subscribe(struct client *client, const struct wire_frame *frame)
{
    uint8_t mask;
    if (!wire_get_u8(frame, &mask) ||
        mask > (WIRE_MY_GRANTS | WIRE_MY_DEADLOCKS | WIRE_DEADLOCKS | WIRE_EVERYTHING)) {
        frame_malformed(client, "a malformed SUBSCRIBE");
        return;
    }
    if (!client_subscribe(client, mask))
        return;
    const struct served *served = service_system(client->service, client->system);
    if (served && mask & WIRE_EVERYTHING)
        done_from(client, served);
    else
        put_done_answer(client);
}

static void take_ping(struct client *client, const struct wire_frame *frame)
{
    uint64_t value;
    unsigned char bytes[16];
    if (!wire_get_u64(frame, &value)) {
        frame_malformed(client, "a malformed PING");
        return;
    }
    size_t start = client->out.used;
    client_put(client, bytes, wire_put_u64(bytes, sizeof bytes, WIRE_PONG, value));
    client_sure(client, start, 0);
}

void client_bye(struct client *client)
{
    if (client->session != NOBODY) {
        session_lost(client->service, client->session);
        /* Who hears of the good-bye finds what was held given back, unless it is very much. */
        session_drop_some(client->service);
    }
    client->closing = true;
}

/* ------------------------------------------------------------------ frames */

/* Before HELLO only that, and what changes and tells nothing. */
static bool is_welcome(struct client *client, uint8_t kind)
{
    bool known = client->session != NOBODY || (client->rights && !client_may_write(client));
    if (known || kind == WIRE_HELLO || kind == WIRE_PING || kind == WIRE_BYE)
        return true;
    client_error(client, WIRE_NOT_ALLOWED, 0, 0, "HELLO comes first");
    return false;
}

/* False: not now. */
static bool take_command_frame(struct client *client, const struct wire_frame *frame)
{
    static void (*const commands[])(struct client *, const struct wire_frame *) = {
        [WIRE_HELLO] = take_hello,         [WIRE_USE] = take_use,
        [WIRE_OPEN] = take_open_command,   [WIRE_ASK] = take_ask,
        [WIRE_SUBSCRIBE] = take_subscribe, [WIRE_STATE] = take_state_command,
        [WIRE_PING] = take_ping,           [WIRE_WEIGH] = take_weigh,
        [WIRE_CLOSE] = take_close_command, [WIRE_LABEL] = take_label_command,
    };
    client->service->counters.frames += !client->frame.begun;
    if (!is_welcome(client, frame->kind))
        return true;
    if (frame->kind == WIRE_EVENTS)
        return take_events(client, frame);
    if (frame->kind == WIRE_DECLARE)
        return take_declare(client, frame);
    if (frame->kind == WIRE_REMOVE)
        return take_remove(client, frame);
    if (frame->kind == WIRE_LINE)
        return lines_take_frame(client, frame);
    if (frame->kind == WIRE_BYE) {
        put_done_answer(client);
        client_bye(client);
    } else if (frame->kind < sizeof commands / sizeof *commands && commands[frame->kind]) {
        commands[frame->kind](client, frame);
    } else {
        frame_malformed(client, "a frame of a kind that is not known");
    }
    return true;
}

size_t binary_take(struct client *client, const unsigned char *bytes, size_t count, size_t budget,
                   size_t *wanted)
{
    size_t used = 0;
    *wanted = 0;
    while (used < budget && !client->closing) {
        struct wire_frame frame;
        size_t size;
        enum wire_found found =
            wire_next(bytes + used, count - used, WIRE_FRAME_MAX, &frame, &size);
        if (found == WIRE_PART) {
            *wanted = size;
            return used;
        }
        if (found == WIRE_BROKEN) {
            client_error(client, WIRE_TOO_LARGE, 0, 0, "a frame that is empty or above 1 MiB");
            break;
        }
        if (!take_command_frame(client, &frame))
            return used;
        frame_end(client);
        used += size;
        if (used < count && client_had_enough(client))
            break;
    }
    return client->closing ? count : used;
}
