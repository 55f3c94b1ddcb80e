/*
 * Internals of the client of the service (the public interface is gordian/client.h).
 *
 *     client.c      opening, closing, options
 *     servers.c     which server to connect to: of several, the leader
 *     connection.c  connecting, greeting, reading, writing, reconnecting
 *     channel.h     the byte stream, plain or through TLS (secure.h)
 *     answers.c     frames received from the service
 *     events.c      queueing events; requests that wait for their grant
 *     calls.c       commands that wait for an answer
 *
 * Everything without an answer stays in `out`, as the bytes that were or will be sent. Each frame
 * there has a `struct command`, each event a `struct sent_event`. Answers arrive in order and
 * remove from the front of all three. To reconnect, the client greets and sends `out` from its
 * start. The service knows which events it has applied; other commands can safely be sent twice, or
 * are sent only when nothing else is outstanding.
 *
 * When the service cannot take an event (its journal cannot be written, a quota is exhausted), it
 * takes none of the following ones. The client then waits for the outstanding answers, ignores
 * them, and sends everything again after a pause (`rewinding`).
 */
#pragma once

#include "foundation/base/fifo.h"
#include "service/client/address.h"
#include "service/client/channel.h"

#include "service/wire/wire.h"

#include <gordian/client.h>

enum link_state {
    LINK_DOWN,       /* not connected; the next attempt is at `retry_at` */
    LINK_CONNECTING, /* connect is pending: wait until the socket is writable */
    LINK_SHAKING,    /* TLS handshake */
    LINK_GREETING,   /* greeting sent, answer outstanding */
    LINK_UP,
    LINK_FAILED, /* permanently; `failure` has the reason */
};

/* A command without an answer. */
struct command {
    struct call *call; /* the call that waits for it, or NULL */
    uint32_t size;     /* bytes of its frame */
    uint32_t events;   /* EVENTS: how many of its events have no answer */
    uint8_t kind;      /* enum wire_kind */
    bool asked;        /* LINE: sent by gordian_client_ask, so it is not one of `events` */
};

struct sent_event {
    gordian_reply_function *answered;
    void *context;
    uint32_t process;
    uint8_t op; /* gordian_op; of a line: REQUEST, or 0 if it is not an event */
};

/* A call that waits for the answer to a command. */
struct call {
    bool done;
    gordian_status status;
    gordian_error *error;
    uint32_t *ids; /* DECLARE: the result */
    size_t id_count;
    struct wire_asked asked;
    gordian_process_state *state; /* STATE */
    size_t said;                  /* LINE: bytes of client->said */
};

#define CLIENT_SERVERS 16
#define NOT_NOTIFIED   UINT64_MAX

struct gordian_client {
    gordian_allocator memory;
    struct client_server {
        struct address address;
        struct secure *secure;
    } servers[CLIENT_SERVERS];
    const struct secure_interface *tls; /* NULL: no server has needed TLS */
    size_t server_count, which;
    size_t tried;                  /* servers tried without success in this attempt */
    size_t left;                   /* 1 + index of the former leader that sent us away; 0: none */
    unsigned moves;                /* redirects since the last successful connection */
    const struct address *address; /* of the server chosen */
    size_t place;                  /* index of the address that is being tried */
    char *name, *token, *system;
    bool keep, patient;
    uint32_t lease_ms, timeout_ms, connect_ms, window;
    uint8_t open; /* enum wire_system_kind: the greeting creates the system; 0: it must exist */
    char *open_options;
    int *code, own_code; /* where to store error codes */
    gordian_granted_function *granted;
    gordian_notice_function *notice;
    gordian_link_function *link;
    void *context;

    enum link_state state;
    struct channel channel;
    struct secure *secure; /* of the server chosen; NULL: plain */
    gordian_error failure;
    uint64_t retry_at;   /* ns: next attempt, or when to send again */
    uint64_t down_since; /* ns: not UP since */
    uint64_t heard_at, said_at;
    uint64_t owed_since; /* ns: since when an answer is outstanding */
    uint32_t pause_ms;   /* before the next attempt */
    uint32_t epoch;      /* number of successful connections */

    /* received from the service */
    uint8_t session[GORDIAN_SESSION_SIZE];
    bool has_session;
    uint64_t last_applied;
    uint8_t durability;
    bool avoids; /* a system with avoidance: verdicts instead of outcomes */
    uint32_t frame_max;
    char server[64];

    /* sending */
    struct fifo greeting;
    unsigned greetings; /* answers to the greeting that are outstanding */
    struct fifo out;
    size_t sent;            /* bytes of `out` that were sent */
    size_t sealed;          /* bytes of `out` that may be sent: whole frames */
    struct fifo commands;   /* of struct command */
    struct fifo events;     /* of struct sent_event */
    uint32_t open_events;   /* in the EVENTS frame behind `sealed`; 0: no open frame */
    uint64_t next_number;   /* of the next event queued */
    uint64_t first_number;  /* of the first event without an answer */
    uint8_t mask;           /* subscriptions */
    uint64_t last_notified; /* last event notified to us; NOT_NOTIFIED: unknown */
    bool rewinding;         /* see above */
    size_t passing_over;    /* answers to ignore before sending again */
    size_t finish;          /* rewinding: bytes of `out` to send to finish the current frame */
    uint64_t rewinding_since;
    bool renumber;     /* before sending again: see events_renumber */
    char trouble[200]; /* reason given by the service, or "" */

    /* receiving */
    struct fifo in;
    bool calling;        /* a callback is running */
    bool halt;           /* a call is complete: leave the remaining frames for the next call */
    uint64_t fence;      /* highest fencing token received */
    uint64_t next_fence; /* fencing token of the next frame; 0: none */
    uint32_t *served;
    size_t served_room;
    gordian_want *wants; /* wants in the last STATE answer */
    size_t want_room;
    char *said; /* answer to the last gordian_client_ask */
    size_t said_room;

    uint64_t *waiting; /* bit set of processes: whether a request waits, as far as known */
    size_t waiting_room;
    uint32_t watched; /* process whose grant is awaited, or GORDIAN_NONE */
    bool watched_granted;
};

/* ---- servers.c */

/* Parses a comma-separated list of addresses. An address without a scheme has the scheme of the
 * previous address. */
gordian_status servers_parse(gordian_client *client, const char *uri,
                             const struct secure_options *tls_options, gordian_error *error);
void servers_free(gordian_client *client);
/* Selects the next server. Returns false when all have been tried; the first is next. */
bool servers_next(gordian_client *client);
void servers_rotate(gordian_client *client);
/* Selects the server at the address that another server named. Returns false if there is none or it
 * is not acceptable. */
bool servers_follow(gordian_client *client, const char *leader);

/* ---- connection.c */

/* Starts connecting; `state` shows the result. */
void link_start(gordian_client *client);
/* Waits until there is something to do or until `until` (ns; UINT64_MAX: no limit), then does it.
 * Returns GORDIAN_STATUS_END when the time is up. */
gordian_status link_wait(gordian_client *client, uint64_t until, gordian_error *error);
/* Drops the connection; reconnects if the session allows it. */
void link_break(gordian_client *client, const char *why);
/* The server is a standby: follows the leader address at the end of its message (WIRE_LEADER_IS).
 */
void link_moved(gordian_client *client, const char *text);
/* Fails permanently, and completes everything that waits. */
void link_fail(gordian_client *client, gordian_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sends everything again. `came`: how many of the outstanding answers have already arrived. */
void link_rewind(gordian_client *client, uint32_t retry_ms, size_t came);
/* Counts an answer that was ignored while rewinding. */
void link_passed(gordian_client *client);
/* Converts ms from now to a time for link_wait; GORDIAN_FOREVER: no limit. */
uint64_t link_deadline(uint32_t timeout_ms);

/* ---- answers.c */

/* Handles one frame. GORDIAN_STATUS_MEMORY: nothing was done, pass it again. Any other error is
 * final. */
gordian_status answer_take(gordian_client *client, const struct wire_frame *frame,
                           gordian_error *error);
/* Completes everything that waits with this status: there will be no answers. */
void answers_give_up(gordian_client *client, gordian_status status, const char *message);

/* ---- events.c */

/* Closes the open EVENTS frame, so that it may be sent. */
void events_seal(gordian_client *client);
/* Decrements the numbers of queued events: a refused event has not used its number. No part of them
 * may have been sent. */
void events_renumber(gordian_client *client);
static inline bool events_is_waiting(const gordian_client *client, uint32_t process)
{
    return process / 64 < client->waiting_room &&
           (client->waiting[process / 64] >> (process % 64) & 1);
}
void events_set_waiting(gordian_client *client, uint32_t process, bool waits);

/* ---- calls.c */

/* Reserves a frame behind everything queued: the caller writes `size` bytes (from wire_put_*) to
 * the address returned. NULL: out of memory. */
void *call_reserve(gordian_client *client, size_t size);
void call_queue(gordian_client *client, uint8_t kind, size_t size, struct call *call);
/* Returns GORDIAN_OK, or the reason why the connection has failed permanently. */
gordian_status link_check(const gordian_client *client, gordian_error *error);
/* Reports that the timeout passed without an answer. */
gordian_status call_late(const gordian_client *client, gordian_error *error);
/* May the caller block now? Not in a callback. */
gordian_status call_allowed(const gordian_client *client, gordian_error *error);
