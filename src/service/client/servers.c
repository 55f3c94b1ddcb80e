/* The servers of a client: of several, one is the leader and takes events. */
#include "foundation/base/error.h"
#include "service/client/client.h"

#include <stdio.h>

static const char *const schemes[] = {"unix:", "tcp://", "tls://", "gordian://"};

/* Returns the length of the scheme at the start of the text; 0: none. */
static size_t scheme_length(const char *text)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
            return strlen(schemes[i]);
    return 0;
}

static void choose_server(gordian_client *client, size_t which)
{
    client->which = which;
    client->place = 0;
    client->address = &client->servers[which].address;
    client->secure = client->servers[which].secure;
}

static gordian_status add_server(gordian_client *client, const char *uri,
                                 const struct secure_options *options, gordian_error *error)
{
    struct client_server *server = &client->servers[client->server_count];
    TRY(address_parse(&server->address, uri, error));
    TRY(channel_prepare(&client->tls, &server->secure, &server->address, options, &client->memory,
                        error));
    client->server_count++;
    return GORDIAN_OK;
}

gordian_status servers_parse(gordian_client *client, const char *uri,
                             const struct secure_options *options, gordian_error *error)
{
    char text[2 * ADDRESS_TEXT], scheme[16] = "";
    gordian_status status = GORDIAN_OK;
    bool one = !strchr(uri, ',');
    for (const char *item = uri; *item && client->server_count < CLIENT_SERVERS;) {
        size_t own = scheme_length(item);
        if (own)
            snprintf(scheme, sizeof scheme, "%.*s", (int)own, item);
        if (strcmp(scheme, "gordian://") == 0)
            strcpy(scheme, "tcp://");
        /* A path may contain commas: there an address ends only before a scheme. */
        bool is_path = strcmp(scheme, "unix:") == 0;
        size_t length = strcspn(item, ",");
        while (is_path && item[length] && !scheme_length(item + length + 1))
            length += 1 + strcspn(item + length + 1, ",");
        snprintf(text, sizeof text, "%s%.*s", scheme, (int)(length - own), item + own);
        gordian_error failure = {0};
        gordian_status added = add_server(client, one && !own ? uri : text, options, &failure);
        /* A name that cannot be resolved now must not prevent the use of the others. */
        if (added != GORDIAN_OK && error)
            *error = failure;
        status = added == GORDIAN_OK || added == GORDIAN_STATUS_IO ? status : added;
        item += length + (item[length] == ',');
    }
    if (client->server_count == 0 && status == GORDIAN_OK)
        status = *uri ? GORDIAN_STATUS_IO : add_server(client, uri, options, error);
    if (status == GORDIAN_OK)
        choose_server(client, 0);
    return status;
}

void servers_free(gordian_client *client)
{
    for (size_t i = 0; i < client->server_count; i++)
        if (client->servers[i].secure)
            client->tls->close(client->servers[i].secure);
}

void servers_rotate(gordian_client *client)
{
    choose_server(client, (client->which + 1) % client->server_count);
}

bool servers_next(gordian_client *client)
{
    if (++client->tried >= client->server_count) {
        client->tried = 0;
        servers_rotate(client);
        return false;
    }
    servers_rotate(client);
    return true;
}

/* Returns "host:port" of "tcp://host:port", or the whole text. */
static const char *bare_text(const char *text)
{
    const char *slashes = strstr(text, "://");
    return slashes ? slashes + 3 : text;
}

bool servers_follow(gordian_client *client, const char *leader)
{
    static const struct secure_options none;
    char uri[2 * ADDRESS_TEXT];
    for (size_t i = 0; i < client->server_count; i++)
        if (strcmp(bare_text(client->servers[i].address.text), bare_text(leader)) == 0) {
            choose_server(client, i);
            return true;
        }
    /* A server that the user did not name: only without TLS, because its certificate name is
     * unknown. */
    if (client->secure || client->server_count == CLIENT_SERVERS || !strpbrk(leader, ":/"))
        return false;
    snprintf(uri, sizeof uri, "%s%s", scheme_length(leader) ? "" : "tcp://", leader);
    if (strncmp(uri, "tls://", 6) == 0 || add_server(client, uri, &none, NULL) != GORDIAN_OK)
        return false;
    choose_server(client, client->server_count - 1);
    return true;
}
