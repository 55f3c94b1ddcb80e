/* The binary form of the protocol: every frame of a client is a command, answered by a frame. */
#include "service/serve/core/service_internal.h"

#include <string.h>

/* ------------------------------------------------------------------ answers */

static gordian_status put_done(struct client *client)
{
    CLIENT_PUT(client, wire_put_frame, WIRE_DONE, NULL, 0);
    return GORDIAN_OK;
}

/* Answers USE and OPEN. The kind of the system shows the client whether results are outcomes or
 * verdicts. */
static gordian_status use_system(struct client *client, const struct served *served)
{
    client->system = served->slot;
    CLIENT_PUT(client, wire_put_u8, WIRE_DONE, (uint8_t)served->config.kind);
    return GORDIAN_OK;
}

static gordian_status malformed(struct client *client, const char *kind, gordian_error *error)
{
    return FAIL_WITH(client->service, WIRE_MALFORMED, error, "a malformed %s", kind);
}

/* ------------------------------------------------------------------ commands */

/* If a command sets work->later, the same frame is taken again. Part of it may have been applied.
 */
typedef gordian_status take_command(struct client *client, const struct wire_frame *frame,
                                    gordian_error *error);

static gordian_status take_hello(struct client *client, const struct wire_frame *frame,
                                 gordian_error *error)
{
    struct service *service = client->service;
    struct wire_hello hello;
    if (!wire_get_hello(frame, &hello))
        return malformed(client, "HELLO", error);
    client->fences = hello.flags & WIRE_FENCES;
    hello.flags &= WIRE_KEEP;
    TRY(client_hello(client, &hello, error));
    const char *version = gordian_version();
    struct wire_welcome welcome = {
        .version = WIRE_VERSION,
        .durability = service->options.durability,
        .frame_max = WIRE_FRAME_MAX,
        .events_a_second = service->options.limits.events_a_second,
        .server = {version, strlen(version)},
    };
    if (client->session != GORDIAN_NONE) {
        const struct session *session = &service->sessions[client->session];
        memcpy(welcome.session, session->id, sizeof welcome.session);
        welcome.last = session->last;
    }
    size_t start = client->out.used;
    fence_put(client, service->fence);
    CLIENT_PUT(client, wire_put_welcome, &welcome);
    client_welcomed(client, start);
    return GORDIAN_OK;
}

static gordian_status take_use(struct client *client, const struct wire_frame *frame,
                               gordian_error *error)
{
    struct wire_text name;
    struct served *served;
    if (!wire_get_name(frame, &name))
        return malformed(client, "USE", error);
    TRY(client_find_system(client, name, &served, error));
    return use_system(client, served);
}

static gordian_status take_open_command(struct client *client, const struct wire_frame *frame,
                                        gordian_error *error)
{
    struct wire_open open;
    uint32_t slot;
    if (!wire_get_open(frame, &open) || open.options.length > WIRE_OPTIONS_MAX)
        return malformed(client, "OPEN", error);
    TRY(client_may_change(client, error));
    TRY(client_may_open(client, &open, error));
    TRY(apply_open(client->service, client->session, &open, &slot, error));
    return use_system(client, service_system(client->service, slot));
}

gordian_status client_close_system(struct client *client, struct wire_text name,
                                   gordian_error *error)
{
    struct service *service = client->service;
    struct served *served;
    TRY(client_find_system(client, name, &served, error));
    if (!(client->rights & SERVICE_ADMINISTER))
        return FAIL_WITH(service, WIRE_NOT_ALLOWED, error, "the token may not close systems");
    for (const struct client *other = service->clients; other; other = other->next)
        if (other != client && other->system == served->slot && other->session != GORDIAN_NONE)
            return FAIL_WITH(service, WIRE_IN_USE, error, "other clients use system '%s'",
                             served->name);
    return apply_close(service, served, error);
}

static gordian_status take_close_command(struct client *client, const struct wire_frame *frame,
                                         gordian_error *error)
{
    struct wire_text name;
    if (!wire_get_name(frame, &name))
        return malformed(client, "CLOSE", error);
    TRY(client_may_change(client, error));
    TRY(client_close_system(client, name, error));
    return put_done(client);
}

static gordian_status take_declare(struct client *client, const struct wire_frame *frame,
                                   gordian_error *error)
{
    struct service_work *work = client->service->work;
    struct client_frame *slices = &client->frame;
    struct apply_declare declare = {.session = client->session, .sliced = true};
    if (!wire_get_declare(frame, &declare.list))
        return malformed(client, "DECLARE", error);
    const struct wire_list list = declare.list;
    if (!slices->begun)
        TRY(client_may_change(client, error));
    TRY(client_system(client, &declare.served, error));
    if (slices->begun) {
        if (!frame_resume(client, &declare.list))
            return GORDIAN_OK;
        declare.count = slices->id_count;
        declare.accepted = slices->accepted;
    }
    TRY(apply_declare(client->service, &declare, error));
    if (declare.yields) {
        frame_yield(client, &declare.list, &list);
        slices->id_count = declare.count;
        slices->accepted = declare.accepted;
        return GORDIAN_OK;
    }
    CLIENT_PUT(client, wire_put_declared, work->ids, declare.count);
    work->code = 0; /* of the declarations that were refused */
    work->retry_ms = 0;
    return GORDIAN_OK;
}

static gordian_status take_events(struct client *client, const struct wire_frame *frame,
                                  gordian_error *error)
{
    struct service *service = client->service;
    struct service_work *work = service->work;
    struct client_frame *slices = &client->frame;
    struct wire_events body;
    gordian_status status = GORDIAN_OK;
    uint64_t now = work->now;
    bool cut = false;
    if (!wire_get_events(frame, &body))
        return malformed(client, "EVENTS", error);
    struct apply_events events = {
        .served = service_system(service, client->system),
        .session = client->session,
        .client = client,
        .first = body.first,
        .list = body.list,
        .sliced = true,
    };
    if (slices->begun) {
        if (!frame_resume(client, &events.list))
            return GORDIAN_OK;
        events.first = slices->first;
        events.resumed = true;
        cut = !events.served || (client->fences && service->fence != slices->newest);
        if (client->fences)
            work->now = slices->now;
    } else {
        TRY(client_may_change(client, error));
        TRY(client_system(client, &events.served, error));
        work->later = !client_may_spend(client);
        if (work->later)
            return GORDIAN_OK;
        client_spend(client, body.list.left);
    }
    if (cut)
        apply_not_taken(service, &events);
    else
        status = apply_events(service, &events, error);
    work->now = now;
    if (events.yields) {
        frame_yield(client, &events.list, &body.list);
        slices->first = events.first;
    } else if (status == GORDIAN_OK) {
        fence_put(client, work->fence);
        CLIENT_PUT(client, wire_put_results, body.first, work->results, work->result_count,
                   work->served);
    }
    return status;
}

static gordian_status take_ask(struct client *client, const struct wire_frame *frame,
                               gordian_error *error)
{
    struct service_work *work = client->service->work;
    struct served *served;
    gordian_event event;
    struct wire_asked asked = {0};
    if (!wire_get_ask(frame, &event, work->wants, WANTS))
        return malformed(client, "ASK", error);
    TRY(client_system(client, &served, error));
    TRY(served_ask(served, &event, &asked.outcome, error));
    CLIENT_PUT(client, wire_put_asked, &asked);
    return GORDIAN_OK;
}

/* Stores the edges of one side of a process as wants. */
static gordian_status gather_side(struct served *served, enum served_side side, uint32_t process,
                                  gordian_want *wants, size_t *count, gordian_error *error)
{
    const gordian_edge *edges;
    size_t kept = 0;
    TRY(served_edges(served, side, process, &edges, count, error));
    for (size_t i = 0; i < *count && kept < WANTS / 2; i++)
        if (side == SERVED_WANTED || !served_is_await(served, edges[i].resource))
            wants[kept++] =
                (gordian_want){served_still_needed(served, &edges[i]), edges[i].resource};
    *count = kept;
    return GORDIAN_OK;
}

static gordian_status take_state_command(struct client *client, const struct wire_frame *frame,
                                         gordian_error *error)
{
    struct service_work *work = client->service->work;
    struct served *served;
    struct wire_state state = {.held = work->wants};
    char buffer[GORDIAN_NAME_MAX + 1];
    if (!wire_get_u32(frame, &state.process))
        return malformed(client, "STATE", error);
    TRY(client_system(client, &served, error));
    if (served_process_name(served, state.process, buffer)) {
        const struct served_process *record = &served->processes[state.process];
        state.flags = WIRE_KNOWN;
        if (record->since) {
            state.flags |= WIRE_IS_WAITING;
            state.waited_ms = served_waited(record, work->now);
            if (served_is_deadlocked(served, state.process))
                state.flags |= WIRE_IS_DEADLOCKED;
        }
        TRY(gather_side(served, SERVED_HELD, state.process, work->wants, &state.held_count, error));
        state.wanted = work->wants + state.held_count;
        TRY(gather_side(served, SERVED_WANTED, state.process, work->wants + state.held_count,
                        &state.wanted_count, error));
    }
    bool may_be_lost = service_is_cut_off(client->service);
    size_t start = client->out.used;
    state.flags |= may_be_lost ? WIRE_IS_UNKEPT : 0;
    CLIENT_PUT(client, wire_put_stated, &state);
    if (may_be_lost)
        client_skip_journal(client, start, 0);
    return GORDIAN_OK;
}

static gordian_status take_remove(struct client *client, const struct wire_frame *frame,
                                  gordian_error *error)
{
    struct client_frame *slices = &client->frame;
    struct apply_remove remove = {.client = client, .resumed = slices->begun};
    if (!wire_get_remove(frame, &remove.what, &remove.all))
        return malformed(client, "REMOVE", error);
    if (!slices->begun)
        TRY(client_may_change(client, error));
    TRY(client_system(client, &remove.served, error));
    remove.list = remove.all;
    if (slices->begun) {
        if (!frame_resume(client, &remove.list))
            return GORDIAN_OK;
        remove.checked = slices->checked;
    }
    TRY(apply_remove(client->service, &remove, error));
    if (!remove.yields)
        return put_done(client);
    frame_yield(client, &remove.list, &remove.all);
    slices->checked = remove.checked;
    return GORDIAN_OK;
}

static gordian_status take_weigh(struct client *client, const struct wire_frame *frame,
                                 gordian_error *error)
{
    struct wire_weigh weigh;
    struct served *served;
    if (!wire_get_weigh(frame, &weigh))
        return malformed(client, "WEIGH", error);
    TRY(client_may_change(client, error));
    TRY(client_system(client, &served, error));
    TRY(apply_weigh(client->service, served, &weigh, error));
    return put_done(client);
}

static gordian_status take_label_command(struct client *client, const struct wire_frame *frame,
                                         gordian_error *error)
{
    struct wire_text texts[WIRE_LABELS_MAX];
    struct wire_label label;
    struct served *served;
    if (!wire_get_label(frame, &label, texts))
        return malformed(client, "LABEL", error);
    TRY(client_may_change(client, error));
    TRY(client_system(client, &served, error));
    TRY(client_may_modify(client, served, label.what, label.id, "label", error));
    TRY(apply_label(client->service, served, client->session, &label, error));
    return put_done(client);
}

static gordian_status take_subscribe(struct client *client, const struct wire_frame *frame,
                                     gordian_error *error)
{
    uint8_t mask;
    if (!wire_get_u8(frame, &mask) ||
        mask > (WIRE_MY_GRANTS | WIRE_MY_DEADLOCKS | WIRE_DEADLOCKS | WIRE_EVERYTHING))
        return malformed(client, "SUBSCRIBE", error);
    TRY(client_subscribe(client, mask, error));
    const struct served *served = service_system(client->service, client->system);
    if (!served || !(mask & WIRE_EVERYTHING))
        return put_done(client);
    CLIENT_PUT(client, wire_put_u64, WIRE_DONE, served->seq); /* the newest event */
    return GORDIAN_OK;
}

static gordian_status take_ping(struct client *client, const struct wire_frame *frame,
                                gordian_error *error)
{
    uint64_t value;
    size_t start = client->out.used;
    if (!wire_get_u64(frame, &value))
        return malformed(client, "PING", error);
    CLIENT_PUT(client, wire_put_u64, WIRE_PONG, value);
    client_skip_journal(client, start, 0);
    return GORDIAN_OK;
}

void client_bye(struct client *client)
{
    if (client->session != GORDIAN_NONE) {
        session_lost(client->service, client->session);
        /* When the client reads the answer, its processes have been dropped, unless they are many.
         */
        session_drop_step(client->service);
    }
    client->closing = true;
}

/* ------------------------------------------------------------------ frames */

static gordian_status take_command_frame(struct client *client, const struct wire_frame *frame,
                                         gordian_error *error)
{
    static take_command *const commands[] = {
        [WIRE_HELLO] = take_hello,         [WIRE_USE] = take_use,
        [WIRE_OPEN] = take_open_command,   [WIRE_ASK] = take_ask,
        [WIRE_SUBSCRIBE] = take_subscribe, [WIRE_STATE] = take_state_command,
        [WIRE_PING] = take_ping,           [WIRE_WEIGH] = take_weigh,
        [WIRE_CLOSE] = take_close_command, [WIRE_LABEL] = take_label_command,
        [WIRE_EVENTS] = take_events,       [WIRE_DECLARE] = take_declare,
        [WIRE_REMOVE] = take_remove,       [WIRE_LINE] = lines_take_frame,
    };
    uint8_t kind = frame->kind;
    bool welcomed =
        client->session != GORDIAN_NONE || (client->rights && !client_may_write(client));
    client->service->counters.frames += !client->frame.begun;
    client->service->work->later = false;
    if (!welcomed && kind != WIRE_HELLO && kind != WIRE_PING && kind != WIRE_BYE)
        return FAIL_WITH(client->service, WIRE_NOT_ALLOWED, error, "the first frame must be HELLO");
    if (kind == WIRE_BYE) {
        put_done(client);
        client_bye(client);
        return GORDIAN_OK;
    }
    if (kind >= sizeof commands / sizeof *commands || !commands[kind])
        return FAIL_WITH(client->service, WIRE_MALFORMED, error, "a frame of an unknown kind");
    return commands[kind](client, frame, error);
}

size_t binary_take(struct client *client, const unsigned char *bytes, size_t count, size_t budget,
                   size_t *wanted)
{
    size_t used = 0;
    *wanted = 0;
    while (used < budget && !client->closing) {
        struct wire_frame frame;
        gordian_error error = {0};
        size_t size;
        enum wire_found found =
            wire_next(bytes + used, count - used, WIRE_FRAME_MAX, &frame, &size);
        if (found == WIRE_PART) {
            *wanted = size;
            return used;
        }
        if (found == WIRE_BROKEN) {
            client_error(client, WIRE_TOO_LARGE, 0, 0,
                         "a frame that is empty or larger than 1 MiB");
            break;
        }
        if (take_command_frame(client, &frame, &error) != GORDIAN_OK)
            client_fail(client, &error);
        if (client->service->work->later)
            return used;
        frame_end(client);
        used += size;
        if (used < count && client_had_enough(client))
            break;
    }
    return client->closing ? count : used;
}
