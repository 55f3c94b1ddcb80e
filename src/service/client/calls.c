/* Functions that send one command and wait for its answer. */
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "service/client/client.h"

gordian_status link_check(const gordian_client *client, gordian_error *error)
{
    if (client->state != LINK_FAILED)
        return GORDIAN_OK;
    if (error)
        *error = client->failure;
    return client->failure.status;
}

gordian_status call_late(const gordian_client *client, gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_IO, "no answer within %u ms", (unsigned)client->timeout_ms);
}

gordian_status call_allowed(const gordian_client *client, gordian_error *error)
{
    return client->calling ? fail(error, GORDIAN_STATUS_INPUT, "not allowed in a callback")
                           : link_check(client, error);
}

void *call_reserve(gordian_client *client, size_t size)
{
    events_seal(client);
    if (!fifo_reserve(&client->memory, &client->out, size) ||
        !fifo_reserve(&client->memory, &client->commands, sizeof(struct command)))
        return NULL;
    return fifo_back(&client->out);
}

void call_queue(gordian_client *client, uint8_t kind, size_t size, struct call *call)
{
    struct command *command = fifo_back(&client->commands);
    *command =
        (struct command){.call = call, .size = (uint32_t)size, .kind = kind, .asked = call != NULL};
    if (fifo_count(&client->commands) == 0)
        client->owed_since = clock_ns();
    fifo_put(&client->out, size);
    fifo_put(&client->commands, sizeof *command);
    client->sealed += size;
}

static gordian_status finish_call(gordian_client *client, struct call *call, gordian_error *error)
{
    uint64_t until = link_deadline(client->timeout_ms);
    gordian_status status = gordian_client_flush(client, error);
    while (status == GORDIAN_OK && !call->done)
        status = link_wait(client, until, error);
    if (call->done)
        return call->status;
    /* The answer, if it still comes, has no receiver. */
    struct command *commands = fifo_front(&client->commands);
    for (size_t i = fifo_count(&client->commands) / sizeof *commands; i-- > 0;)
        if (commands[i].call == call)
            commands[i].call = NULL;
    return status == GORDIAN_STATUS_END ? call_late(client, error) : status;
}

/* Lists with their lengths. */
struct declarations {
    const struct wire_declaration *list;
    size_t count;
};

struct removal {
    uint8_t what;
    const uint32_t *ids;
    size_t count;
};

/* Encodes the frame of a command; `what` depends on its kind. */
static size_t put_command(void *to, size_t room, uint8_t kind, const void *what)
{
    const struct declarations *declarations = what;
    const struct removal *removal = what;
    switch (kind) {
    case WIRE_OPEN:
        return wire_put_open(to, room, what);
    case WIRE_DECLARE:
        return wire_put_declare(to, room, declarations->list, declarations->count);
    case WIRE_WEIGH:
        return wire_put_weigh(to, room, what);
    case WIRE_LABEL:
        return wire_put_label(to, room, what);
    case WIRE_REMOVE:
        return wire_put_remove(to, room, removal->what, removal->ids, removal->count);
    case WIRE_SUBSCRIBE:
        return wire_put_u8(to, room, kind, *(const uint8_t *)what);
    case WIRE_ASK:
        return wire_put_ask(to, room, what);
    case WIRE_STATE:
        return wire_put_u32(to, room, kind, *(const uint32_t *)what);
    case WIRE_LINE:
        return wire_put_line(to, room, what);
    case WIRE_PING:
        return wire_put_u64(to, room, kind, *(const uint64_t *)what);
    default: /* WIRE_USE, WIRE_CLOSE */
        return wire_put_name(to, room, kind, *(const struct wire_text *)what);
    }
}

/* Sends a command and waits for its answer. */
static gordian_status perform_call(gordian_client *client, uint8_t kind, struct call *call,
                                   const void *what, gordian_error *error)
{
    TRY(call_allowed(client, error));
    call->error = error;
    size_t size = put_command(NULL, 0, kind, what);
    if (size > client->frame_max + 4)
        return fail(error, GORDIAN_STATUS_INPUT, "the command is larger than the service accepts");
    void *to = call_reserve(client, size);
    if (!to)
        return fail_memory(error);
    put_command(to, size, kind, what);
    call_queue(client, kind, size, call);
    return finish_call(client, call, error);
}

/* For commands that must not be sent twice: first waits until nothing before them might be sent
 * again. */
static gordian_status perform_alone(gordian_client *client, uint8_t kind, const void *what,
                                    gordian_error *error)
{
    struct call call = {0};
    gordian_status status = gordian_client_drain(client, client->timeout_ms, error);
    if (status == GORDIAN_STATUS_END)
        return call_late(client, error);
    return status == GORDIAN_OK ? perform_call(client, kind, &call, what, error) : status;
}

static struct wire_text wire_text_of(const char *text)
{
    return (struct wire_text){text, text ? strlen(text) : 0};
}

/* ------------------------------------------------------------------ systems */

static gordian_status check_system_name(const char *name, gordian_error *error)
{
    if (!name || !*name || strlen(name) > GORDIAN_NAME_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "a name has 1 to %d bytes", GORDIAN_NAME_MAX);
    return GORDIAN_OK;
}

/* Keeps the name for the next greeting, and frees the old one. */
static gordian_status now_using(gordian_client *client, gordian_status status, char *name)
{
    memory_free(&client->memory, status == GORDIAN_OK ? client->system : name);
    if (status == GORDIAN_OK) {
        client->system = name;
        client->open = 0; /* the system exists now */
    }
    return status;
}

gordian_status gordian_client_use(gordian_client *client, const char *name, gordian_error *error)
{
    struct call call = {0};
    struct wire_text text = wire_text_of(name);
    TRY(check_system_name(name, error));
    char *copy = memory_copy_text(&client->memory, name);
    if (!copy)
        return fail_memory(error);
    gordian_status status = perform_call(client, WIRE_USE, &call, &text, error);
    return now_using(client, status, copy);
}

gordian_status gordian_client_open_system(gordian_client *client, const char *name,
                                          gordian_service_kind kind, const char *options,
                                          gordian_error *error)
{
    struct call call = {0};
    struct wire_open open = {
        .name = wire_text_of(name), .kind = (uint8_t)kind, .options = wire_text_of(options)};
    TRY(check_system_name(name, error));
    if (open.options.length > WIRE_OPTIONS_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "options have at most %d bytes", WIRE_OPTIONS_MAX);
    char *copy = memory_copy_text(&client->memory, name);
    if (!copy)
        return fail_memory(error);
    gordian_status status = perform_call(client, WIRE_OPEN, &call, &open, error);
    return now_using(client, status, copy);
}

gordian_status gordian_client_close_system(gordian_client *client, const char *name,
                                           gordian_error *error)
{
    struct wire_text text = wire_text_of(name);
    TRY(check_system_name(name, error));
    return perform_alone(client, WIRE_CLOSE, &text, error);
}

/* ------------------------------------------------------------------ names */

static gordian_status translate_declaration(struct wire_declaration *to,
                                            const gordian_declaration *from, gordian_error *error)
{
    TRY(check_system_name(from->name, error));
    if (from->claim_count > UINT16_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "a process claims at most %u resources",
                    UINT16_MAX);
    *to = (struct wire_declaration){
        .what = from->is_resource ? WIRE_RESOURCE : WIRE_PROCESS,
        .name = wire_text_of(from->name),
        .units = from->units,
        .claims = from->claims,
        .claim_count = from->claim_count,
    };
    return GORDIAN_OK;
}

/* Declares as many as fit into one frame; *done is their number. */
static gordian_status declare_some(gordian_client *client, const struct wire_declaration *list,
                                   size_t count, uint32_t *ids, size_t *done, gordian_error *error)
{
    size_t fits = 1;
    while (fits < count) {
        size_t next = fits * 2 < count ? fits * 2 : count;
        if (wire_put_declare(NULL, 0, list, next) > client->frame_max)
            break;
        fits = next;
    }
    struct declarations declarations = {list, fits};
    struct call call = {.ids = ids, .id_count = fits};
    gordian_status status = perform_call(client, WIRE_DECLARE, &call, &declarations, error);
    *done = status == GORDIAN_OK ? fits : 0;
    return status;
}

gordian_status gordian_client_declare(gordian_client *client,
                                      const gordian_declaration *declarations, size_t count,
                                      uint32_t *ids, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    if (count == 0)
        return call_allowed(client, error);
    if (count > SIZE_MAX / sizeof(struct wire_declaration))
        return fail_memory(error);
    struct wire_declaration *list = memory_alloc(&client->memory, count * sizeof *list);
    if (!list)
        return fail_memory(error);
    for (size_t i = 0; i < count && status == GORDIAN_OK; i++)
        status = translate_declaration(&list[i], &declarations[i], error);
    size_t done;
    for (size_t at = 0; at < count && status == GORDIAN_OK; at += done)
        status = declare_some(client, list + at, count - at, ids + at, &done, error);
    memory_free(&client->memory, list);
    return status;
}

static gordian_status declare_by_call(gordian_client *client,
                                      const gordian_declaration *declaration, uint32_t *id,
                                      gordian_error *error)
{
    uint32_t mine = GORDIAN_NONE;
    TRY(gordian_client_declare(client, declaration, 1, &mine, error));
    if (mine == GORDIAN_NONE)
        return fail(error, GORDIAN_STATUS_INPUT, "the service refuses %s '%.100s'",
                    declaration->is_resource ? "resource" : "process", declaration->name);
    if (id)
        *id = mine;
    return GORDIAN_OK;
}

gordian_status gordian_client_add_resource(gordian_client *client, const char *name, uint64_t units,
                                           uint32_t *id, gordian_error *error)
{
    gordian_declaration declaration = {.name = name, .is_resource = true, .units = units};
    return declare_by_call(client, &declaration, id, error);
}

gordian_status gordian_client_add_process(gordian_client *client, const char *name, uint32_t *id,
                                          gordian_error *error)
{
    gordian_declaration declaration = {.name = name};
    return declare_by_call(client, &declaration, id, error);
}

gordian_status gordian_client_weigh(gordian_client *client, uint32_t process, int64_t priority,
                                    int64_t cost, gordian_error *error)
{
    struct call call = {0};
    struct wire_weigh weigh = {process, priority, cost};
    return perform_call(client, WIRE_WEIGH, &call, &weigh, error);
}

gordian_status gordian_client_label(gordian_client *client, bool resource, uint32_t id,
                                    const char *const *labels, size_t count, gordian_error *error)
{
    struct call call = {0};
    struct wire_text texts[WIRE_LABELS_MAX];
    if (count > WIRE_LABELS_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "more than %d labels at once", WIRE_LABELS_MAX);
    for (size_t i = 0; i < count; i++) {
        texts[i] = wire_text_of(labels[i]);
        if (texts[i].length > GORDIAN_NAME_MAX)
            return fail(error, GORDIAN_STATUS_INPUT, "a label has at most 255 bytes");
    }
    struct wire_label label = {resource ? WIRE_RESOURCE : WIRE_PROCESS, id, texts, count};
    return perform_call(client, WIRE_LABEL, &call, &label, error);
}

gordian_status gordian_client_remove(gordian_client *client, bool resources, const uint32_t *ids,
                                     size_t count, gordian_error *error)
{
    struct removal removal = {resources ? WIRE_RESOURCE : WIRE_PROCESS, ids, count};
    return perform_alone(client, WIRE_REMOVE, &removal, error);
}

/* ------------------------------------------------------------------ queries */

gordian_status gordian_client_subscribe(gordian_client *client, unsigned mask, gordian_error *error)
{
    struct call call = {0};
    uint8_t wanted = (uint8_t)mask;
    if (mask > 15)
        return fail(error, GORDIAN_STATUS_INPUT, "no such subscription");
    return perform_call(client, WIRE_SUBSCRIBE, &call, &wanted, error);
}

gordian_status gordian_client_what_if(gordian_client *client, const gordian_event *request,
                                      gordian_reply *reply, gordian_error *error)
{
    struct call call = {0};
    TRY(perform_call(client, WIRE_ASK, &call, request, error));
    if (reply) {
        bool refused = call.asked.outcome == GORDIAN_OUTCOME_REFUSED;
        *reply = (gordian_reply){
            .outcome = call.asked.outcome,
            .refusal = refused ? call.asked.reason : call.asked.reason & (uint8_t)~WIRE_WAITS,
        };
    }
    return GORDIAN_OK;
}

gordian_status gordian_client_state(gordian_client *client, uint32_t process,
                                    gordian_process_state *state, gordian_error *error)
{
    gordian_process_state mine = {0};
    struct call call = {.state = &mine};
    TRY(perform_call(client, WIRE_STATE, &call, &process, error));
    if (state)
        *state = mine;
    return GORDIAN_OK;
}

gordian_status gordian_client_ask(gordian_client *client, const char *text, const char **json,
                                  size_t *length, gordian_error *error)
{
    struct call call = {0};
    struct wire_line line = {.text = wire_text_of(text)};
    TRY(perform_call(client, WIRE_LINE, &call, &line, error));
    *json = client->said;
    *length = call.said;
    return GORDIAN_OK;
}

gordian_status gordian_client_ping(gordian_client *client, gordian_error *error)
{
    struct call call = {0};
    uint64_t now = clock_ns();
    return perform_call(client, WIRE_PING, &call, &now, error);
}
