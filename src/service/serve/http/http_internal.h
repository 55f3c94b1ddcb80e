/* Shared by http.c (connections and requests) and reply.c (responses). */
#pragma once

#include "service/serve/http/http.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#define LISTENERS_MAX 16

enum http_state {
    HTTP_READING,   /* a request, or idle; responses may be unsent */
    HTTP_WAITING,   /* for a deferred response: see http_defer */
    HTTP_CLOSING,   /* sending the last response */
    HTTP_LINGERING, /* sent; waiting for the client to close */
    HTTP_STREAMING,
};

struct http_connection {
    struct httpd *http;
    struct http_connection *next, *previous;
    struct http_connection *next_ready, **ready_link; /* NULL: not queued */
    struct bufferevent *bev;
    struct event *timer;
    enum http_state state;
    bool fresh;           /* nothing received since the last response */
    bool full;            /* too much unprocessed input: reading is paused */
    bool again;           /* call the handler again with this request */
    unsigned repeats;     /* number of such calls */
    bool answered;        /* the current request */
    bool keep_alive;      /* ... and continue afterwards */
    bool head_only;       /* HEAD: no body */
    bool closing_soon;    /* will be freed by the timer at once */
    bool permitted;       /* see http_permit */
    bool reserved;        /* see http_is_reserved */
    uint64_t since;       /* ms: when it was accepted, or its request began */
    size_t seen;          /* bytes searched for the end of the head */
    size_t head_length;   /* 0: incomplete */
    uint64_t body_length; /* valid if the head is complete */
    int delayed_status;   /* status of a delayed error; 0: none */
    char message[160];    /* of the delayed error */
    void (*gone)(void *); /* of a stream or a deferred response */
    void *gone_context;
};

struct httpd {
    gordian_allocator memory;
    struct httpd_options options;
    struct evconnlistener *listeners[LISTENERS_MAX];
    size_t listener_count;
    struct event *pause; /* timer that resumes accepting */
    unsigned reserved;   /* number of reserved connections */
    struct event *rest;  /* timer that continues with requests: see may_run_request */
    struct http_connection *ready, **ready_end; /* connections that may have a request */
    int64_t time_left;                          /* ns that requests may use now */
    uint64_t counted;                           /* ns: last update of time_left */
    struct http_connection *newest;             /* list of all connections */
    struct http_request request;                /* current request */
    struct httpd_figures figures;
};

/* Starts the timer for the current state. */
void http_rearm(struct http_connection *connection);
/* Closes the connection at the next iteration. */
void http_close_soon(struct http_connection *connection);
