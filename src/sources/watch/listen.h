/* The HTTP server of `gordian watch --listen`: it serves GET /metrics to Prometheus, in the poll
 * loop of the databases. A few clients at once, one request each, with a time limit.
 *
 *     count = listener_polls(listener, polls);
 *     servers_run_once(servers, ..., polls, count, error);
 *     listener_step(listener, polls, count, write_metrics, context);
 */
#pragma once

#include "foundation/base/io/output.h"

#include <gordian/gordian.h>
#include <poll.h>

#define LISTENER_CLIENTS 8
#define LISTENER_POLLS   (LISTENER_CLIENTS + 1)

struct listener_client {
    int fd; /* -1: slot is free */
    uint64_t since;
    size_t used, seen; /* bytes of the request, and how many were searched for its end */
    char request[2048];
    struct output answer;
    size_t sent;
    bool answering;
};

struct listener {
    int fd;
    char place[80]; /* bound address */
    struct listener_client clients[LISTENER_CLIENTS];
};

typedef void listener_writer(void *context, struct output *out);

/* Accepts "9187" (on 127.0.0.1), "HOST:PORT" and "[::1]:9187"; port 0 picks a free port. */
gordian_status listener_open(struct listener *listener, const char *address, gordian_error *error);
void listener_close(struct listener *listener);
size_t listener_polls(const struct listener *listener, struct pollfd polls[LISTENER_POLLS]);
void listener_step(struct listener *listener, const struct pollfd *polls, size_t count,
                   listener_writer *write, void *context);
