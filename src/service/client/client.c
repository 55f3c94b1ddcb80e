/* Opens and closes a client of the service. */
#include "service/client/client.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"

#include <stdio.h>
#include <stdlib.h>

void gordian_client_options_init(gordian_client_options *options)
{
    *options = (gordian_client_options){.timeout_ms = 10000, .window = 65536};
}

const char *gordian_client_usual_uri(char *buffer, size_t size)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (folder && *folder)
        snprintf(buffer, size, "unix:%s/gordian.sock", folder);
    else
        snprintf(buffer, size, "unix:/run/gordian/gordian.sock");
    return buffer;
}

static void free_client(gordian_client *client)
{
    gordian_allocator memory = client->memory;
    servers_free(client);
    memory_free_all(&memory, client->name, client->token, client->system, client->open_options,
                    client->said, client->served, client->wants, client->waiting);
    fifo_free(&memory, &client->greeting);
    fifo_free(&memory, &client->out);
    fifo_free(&memory, &client->commands);
    fifo_free(&memory, &client->events);
    fifo_free(&memory, &client->in);
    memory_free(&memory, client);
}

static gordian_client *make_client(const gordian_client_options *options)
{
    gordian_allocator memory = memory_allocator(options->allocator);
    gordian_client *client = memory_zeroed(&memory, sizeof *client);
    if (!client)
        return NULL;
    client->memory = memory;
    client->channel.fd = -1;
    client->watched = GORDIAN_NONE;
    client->name = memory_copy_text(&memory, options->name);
    client->token = memory_copy_text(&memory, options->token);
    client->system = memory_copy_text(&memory, options->system ? options->system : "default");
    client->open = (uint8_t)options->open;
    client->open_options = memory_copy_text(&memory, options->open_options);
    client->code = options->code ? options->code : &client->own_code;
    client->lease_ms = options->lease_ms;
    client->keep = options->keep;
    client->patient = options->patient;
    client->timeout_ms = options->timeout_ms ? options->timeout_ms : 10000;
    client->connect_ms = options->connect_ms ? options->connect_ms : client->timeout_ms;
    client->window = options->window ? options->window : 65536;
    client->granted = options->granted;
    client->notice = options->notice;
    client->link = options->link;
    client->context = options->context;
    client->mask = GORDIAN_MY_GRANTS;
    client->last_notified = NOT_NOTIFIED;
    client->frame_max = WIRE_FRAME_MAX;
    if (options->session) {
        memcpy(client->session, options->session, sizeof client->session);
        client->has_session = true;
    }
    if ((client->name || !options->name) && (client->token || !options->token) && client->system &&
        (client->open_options || !options->open_options))
        return client;
    free_client(client);
    return NULL;
}

static gordian_status check_client_options(const gordian_client_options *options,
                                           gordian_error *error)
{
    const char *system = options->system;
    if (options->token && strlen(options->token) > UINT16_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "a token has at most %u bytes", UINT16_MAX);
    if (options->name && strlen(options->name) > UINT16_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "a client's name has at most %u bytes",
                    UINT16_MAX);
    if (system && (!*system || strlen(system) > GORDIAN_NAME_MAX))
        return fail(error, GORDIAN_STATUS_INPUT, "a system's name has 1 to %d bytes",
                    GORDIAN_NAME_MAX);
    if (options->open_options && strlen(options->open_options) > WIRE_OPTIONS_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "options have at most %d bytes", WIRE_OPTIONS_MAX);
    return GORDIAN_OK;
}

/* The first connection is not retried: a missing service is reported. */
static gordian_status connect_first(gordian_client *client, gordian_error *error)
{
    uint64_t until = link_deadline(client->connect_ms);
    gordian_status status = GORDIAN_OK;
    link_start(client);
    while (status == GORDIAN_OK && client->state != LINK_UP)
        status = link_wait(client, until, error);
    if (client->state == LINK_UP)
        return GORDIAN_OK;
    if (status == GORDIAN_STATUS_END)
        return fail(error, GORDIAN_STATUS_IO, "%.200s: no answer%s within %u ms",
                    client->address->text,
                    client->state == LINK_SHAKING ? " to the TLS handshake" : "",
                    (unsigned)client->connect_ms);
    return status;
}

gordian_status gordian_client_open(gordian_client **out, const char *uri,
                                   const gordian_client_options *options, gordian_error *error)
{
    char usual[ADDRESS_TEXT];
    gordian_client_options defaults;
    gordian_client_options_init(&defaults);
    *out = NULL;
    if (!options)
        options = &defaults;
    if (!uri)
        uri = getenv("GORDIAN_SERVICE");
    if (!uri || !*uri)
        uri = gordian_client_usual_uri(usual, sizeof usual);
    TRY(check_client_options(options, error));
    gordian_client *client = make_client(options);
    if (!client)
        return fail_memory(error);
    /* TLS trust and identity. */
    struct secure_options wishes = {options->tls_ca, options->tls_name, options->tls_certificate,
                                    options->tls_key};
    gordian_status status = servers_parse(client, uri, &wishes, error);
    THEN(status, connect_first(client, error));
    if (status != GORDIAN_OK) {
        gordian_client_leave(client);
        return status;
    }
    *out = client;
    return GORDIAN_OK;
}

/* Clears all callbacks. */
static void silence_callbacks(gordian_client *client)
{
    struct sent_event *events = fifo_front(&client->events);
    client->granted = NULL;
    client->notice = NULL;
    client->link = NULL;
    for (size_t i = gordian_client_unanswered(client); i-- > 0;)
        events[i].answered = NULL;
}

void gordian_client_leave(gordian_client *client)
{
    if (!client)
        return;
    silence_callbacks(client);
    link_fail(client, GORDIAN_STATUS_END, "closed");
    free_client(client);
}

void gordian_client_close(gordian_client *client)
{
    if (!client)
        return;
    silence_callbacks(client);
    size_t size = wire_put_frame(NULL, 0, WIRE_BYE, NULL, 0);
    void *to = client->state == LINK_FAILED ? NULL : call_reserve(client, size);
    if (to) {
        wire_put_frame(to, size, WIRE_BYE, NULL, 0);
        call_queue(client, WIRE_BYE, size, NULL);
        uint64_t until = link_deadline(client->timeout_ms);
        while (fifo_count(&client->commands) > 0 && link_wait(client, until, NULL) == GORDIAN_OK) {
        }
    }
    gordian_client_leave(client);
}

void gordian_client_session(const gordian_client *client, uint8_t session[GORDIAN_SESSION_SIZE])
{
    memcpy(session, client->session, sizeof client->session);
}

uint64_t gordian_client_last_applied(const gordian_client *client)
{
    return client->last_applied;
}

uint64_t gordian_client_fence(const gordian_client *client)
{
    return client->fence;
}

const char *gordian_client_server_version(const gordian_client *client)
{
    return client->server;
}

gordian_service_kind gordian_client_kind(const gordian_client *client)
{
    return client->avoids ? GORDIAN_SERVICE_KIND_AVOIDS : GORDIAN_SERVICE_KIND_DETECTS;
}

const char *gordian_client_durability(const gordian_client *client)
{
    static const char *const names[] = {"none", "batch", "full"};
    return client->durability < 3 ? names[client->durability] : "";
}
