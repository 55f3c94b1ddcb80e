/* The HTTP server of `gordian watch --listen`, in the watch command's poll loop. */
#define _GNU_SOURCE
#include "sources/watch/listen.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/http/listen.h"
#include "foundation/http/prometheus.h"
#include "foundation/http/request.h"
#include "foundation/http/response.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_NS UINT64_C(5000000000)

/* ------------------------------------------------------------------ opening */

gordian_status listener_open(struct listener *listener, const char *address, gordian_error *error)
{
    char host[64], port[LISTEN_PORT_SIZE];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *info = NULL;
    *listener = (struct listener){.fd = -1};
    for (size_t i = 0; i < LISTENER_CLIENTS; i++)
        listener->clients[i].fd = -1;
    if (!listen_split(address, host, sizeof host, port) ||
        getaddrinfo(*host ? host : "127.0.0.1", port, &hints, &info) != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "--listen: '%.60s' is not HOST:PORT", address);
    listener->fd = listen_bind(info, LISTENER_CLIENTS, false);
    int failure = errno;
    getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST);
    freeaddrinfo(info);
    if (listener->fd < 0)
        return fail(error, GORDIAN_STATUS_IO, "cannot listen on %.60s: %s", address,
                    strerror(failure));
    snprintf(listener->place, sizeof listener->place, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host,
             listen_port(listener->fd));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ clients */

static void drop_client(struct listener_client *client)
{
    close(client->fd);
    if (client->answering)
        output_close(&client->answer);
    *client = (struct listener_client){.fd = -1};
}

void listener_close(struct listener *listener)
{
    if (listener->fd < 0)
        return;
    for (size_t i = 0; i < LISTENER_CLIENTS; i++)
        if (listener->clients[i].fd >= 0)
            drop_client(&listener->clients[i]);
    close(listener->fd);
    listener->fd = -1;
}

size_t listener_polls(const struct listener *listener, struct pollfd polls[LISTENER_POLLS])
{
    for (size_t i = 0; i < LISTENER_CLIENTS; i++)
        polls[i] = (struct pollfd){.fd = listener->clients[i].fd,
                                   .events = listener->clients[i].answering ? POLLOUT : POLLIN};
    polls[LISTENER_CLIENTS] = (struct pollfd){.fd = listener->fd, .events = POLLIN};
    return LISTENER_POLLS;
}

static void take_client(struct listener *listener)
{
    int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    for (size_t i = 0; i < LISTENER_CLIENTS && fd >= 0; i++)
        if (listener->clients[i].fd < 0) {
            listener->clients[i] = (struct listener_client){.fd = fd, .since = clock_ns()};
            return;
        }
    if (fd >= 0)
        close(fd); /* too many clients at once */
}

/* Begins the response to a request. `status`: not 0 if the request was refused. */
static void begin_answer(struct listener_client *client, int status,
                         const struct http_request *request, listener_writer *write, void *context)
{
    if (!output_open(&client->answer, OUTPUT_MEMORY)) {
        drop_client(client);
        return;
    }
    client->answering = true;
    if (!status)
        status = request->method == HTTP_GET && strcmp(request->path, "/metrics") == 0 ? 200 : 404;
    http_write_head(&client->answer, status, PROMETHEUS_TYPE, NULL, SIZE_MAX, false);
    if (status == 200)
        write(context, &client->answer);
    else
        output_text(&client->answer, "only GET /metrics is supported\n");
    if (client->answer.failure)
        drop_client(client);
}

static void read_request(struct listener_client *client, listener_writer *write, void *context)
{
    size_t room = sizeof client->request - client->used;
    ssize_t count = recv(client->fd, client->request + client->used, room, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) {
        drop_client(client);
        return;
    }
    client->used += (size_t)count;
    struct http_request request;
    size_t head;
    int status = http_take_head(&request, client->request, client->used, sizeof client->request,
                                &client->seen, &head);
    if (status != HTTP_MORE)
        begin_answer(client, status, &request, write, context);
}

static void write_answer(struct listener_client *client)
{
    size_t left = client->answer.used - client->sent;
    ssize_t count = send(client->fd, client->answer.buffer + client->sent, left, MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0 || (size_t)count == left)
        drop_client(client);
    else
        client->sent += (size_t)count;
}

void listener_step(struct listener *listener, const struct pollfd *polls, size_t count,
                   listener_writer *write, void *context)
{
    uint64_t now = clock_ns();
    for (size_t i = 0; i < LISTENER_CLIENTS && i < count; i++) {
        struct listener_client *client = &listener->clients[i];
        if (client->fd < 0 || client->fd != polls[i].fd)
            continue;
        if (now - client->since > PATIENCE_NS)
            drop_client(client);
        else if (polls[i].revents && client->answering)
            write_answer(client);
        else if (polls[i].revents)
            read_request(client, write, context);
    }
    if (count == LISTENER_POLLS && polls[LISTENER_CLIENTS].revents)
        take_client(listener);
}
