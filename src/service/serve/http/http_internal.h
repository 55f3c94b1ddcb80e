/* What http.c (connections and requests) and http/reply.c (answers) share. */
#pragma once

#include "service/serve/http/http.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#define LISTENERS_MAX 16

enum http_state {
    HTTP_READING,   /* a request, or waiting for one; answers may still be on their way out */
    HTTP_WAITING,   /* for an answer of ours: see http_wait */
    HTTP_CLOSING,   /* the last answer is on its way out */
    HTTP_LINGERING, /* it is out; waiting for the client to see that */
    HTTP_STREAMING,
};

struct http_connection {
    struct httpd *http;
    struct http_connection *next, *previous;
    struct http_connection *next_ready, **ready_link; /* NULL: it waits for nothing of ours */
    struct bufferevent *bev;
    struct event *timer;
    enum http_state state;
    bool fresh;           /* has not sent anything since the last answer, or at all */
    bool full;            /* it waits with so much that no more is read */
    bool again;           /* the request being handled is to be handed over once more */
    unsigned times;       /* ... as it has been so often */
    bool answered;        /* the request being handled */
    bool keep_alive;      /* ... and then go on */
    bool head_only;       /* HEAD: no body */
    bool doomed;          /* to be freed when the timer fires, at once */
    bool permitted;       /* see http_permit */
    bool reserved;        /* see http_is_reserved */
    uint64_t since;       /* when it was accepted, or its request began: ms */
    size_t seen;          /* of the head, while looking for its end */
    size_t head_length;   /* 0: not known yet */
    uint64_t body_length; /* when the head is known */
    int slowly;           /* status of an error that is told when the timer fires; 0: none */
    char message[160];    /* of it */
    void (*gone)(void *); /* of a stream, or of one that waits */
    void *gone_context;
};

struct httpd {
    gordian_allocator memory;
    struct httpd_options options;
    struct evconnlistener *listeners[LISTENERS_MAX];
    size_t listener_count;
    struct event *pause;                        /* accepts again: descriptors, or places, ran out */
    unsigned reserved;                          /* connections that are */
    struct event *rest;                         /* goes on with requests: see have_time */
    struct http_connection *ready, **ready_end; /* who may have a request to be handled */
    int64_t time_left;                          /* that requests may take now, ns */
    uint64_t counted;                           /* up to here: ns */
    struct http_connection *newest;             /* list of all */
    struct http_request request;                /* the one being handled */
    struct httpd_figures figures;
};

/* Starts the clock that fits what the connection waits for now. */
void http_rearm(struct http_connection *connection);
/* The connection ends when control is back in the loop. */
void http_doom(struct http_connection *connection);
