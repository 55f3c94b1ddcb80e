/* Checks options before anything is made or changed: addresses, and the path of the Unix socket. */
#include "foundation/base/error.h"
#include "foundation/http/listen.h"
#include "service/serve/http/http.h"
#include "service/serve/server/server_internal.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

gordian_status server_next_address(const char **list, char *one, size_t size, gordian_error *error)
{
    size_t length = strcspn(*list, ",");
    if (length == 0 || length >= size)
        return fail(error, GORDIAN_STATUS_INPUT, "'%.100s': expected ADDR:PORT", *list);
    memcpy(one, *list, length);
    one[length] = '\0';
    *list += length + ((*list)[length] == ',');
    return GORDIAN_OK;
}

gordian_status server_resolve(const struct server *server, const char *text,
                              char host[SERVER_HOST_MAX], struct addrinfo **list,
                              gordian_error *error)
{
    char port[LISTEN_PORT_SIZE];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    if (!listen_split(text, host, SERVER_HOST_MAX, port))
        return fail(error, GORDIAN_STATUS_INPUT, "'%.100s': expected ADDR:PORT", text);
    TRY(auth_check_address(server->auth, host, server->tls != NULL, server->options.insecure,
                           error));
    int trouble = getaddrinfo(host[0] ? host : NULL, port, &hints, list);
    return trouble ? fail(error, GORDIAN_STATUS_INPUT, "'%.100s': %s", text, gai_strerror(trouble))
                   : GORDIAN_OK;
}

static gordian_status check_address(const struct server *server, const char *text,
                                    gordian_error *error)
{
    char host[SERVER_HOST_MAX];
    struct addrinfo *list;
    TRY(server_resolve(server, text, host, &list, error));
    freeaddrinfo(list);
    return GORDIAN_OK;
}

static gordian_status check_listen(const struct server *server, gordian_error *error)
{
    char one[300];
    for (const char *at = server->options.listen; at && *at;) {
        TRY(server_next_address(&at, one, sizeof one, error));
        TRY(check_address(server, one, error));
    }
    return GORDIAN_OK;
}

static gordian_status check_http(const struct server *server, gordian_error *error)
{
    const char *address = server->options.http ? server->options.http : SERVER_DEFAULT_HTTP;
    char host[SERVER_HOST_MAX];
    if (strcmp(address, "none") == 0)
        return GORDIAN_OK;
    if (!httpd_host(address, host, sizeof host))
        return fail(error, GORDIAN_STATUS_INPUT, "'%.100s' is not ADDRESS:PORT", address);
    return check_address(server, address, error);
}

gordian_status server_check_path(const char *path, gordian_error *error)
{
    char folder[sizeof((struct sockaddr_un *)0)->sun_path];
    struct stat found;
    if (strlen(path) == 0 || strlen(path) >= sizeof folder)
        return fail(error, GORDIAN_STATUS_INPUT, "'%.200s': a socket's path has 1 to %zu bytes",
                    path, sizeof folder - 1);
    if (lstat(path, &found) == 0 && !S_ISSOCK(found.st_mode))
        return fail(error, GORDIAN_STATUS_INPUT, "%.200s: exists and is not a socket", path);
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s/", slash ? (int)(slash - path) : 1, slash ? path : ".");
    if (stat(folder, &found) != 0 && errno == ENOENT)
        return fail(error, GORDIAN_STATUS_IO,
                    "cannot listen on %.200s: %s: make its folder first, or name another place "
                    "with --socket",
                    path, strerror(errno));
    return GORDIAN_OK;
}

gordian_status server_check_options(struct server *server, gordian_error *error)
{
    TRY(check_listen(server, error));
    if (server->systemd.sockets > 0) /* they may replace the other addresses */
        return GORDIAN_OK;
    TRY(check_http(server, error));
    return server->options.socket ? server_check_path(server->options.socket, error) : GORDIAN_OK;
}
