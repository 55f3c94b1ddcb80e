/*
 * The inside of a client of the service (the outside is gordian/client.h).
 *
 *     client.c   opening, closing, options
 *     servers.c  where to connect: of several servers, the one that leads
 *     connection.c     the connection: connecting, greeting, reading, writing, connecting again
 *     channel.h  its bytes, as they are or through TLS (secure.h)
 *     answers.c  what the service says, frame by frame
 *     events.c   queueing events; requests that wait for their grant
 *     calls.c    everything that sends one command and waits for its answer
 *
 * Everything that has no answer yet stays in `out`, as the bytes that were or will be sent, with
 * one `struct command` a frame beside it and one `struct sent_event` an event. Answers come in
 * order, and take from the front of all three. So connecting again is: greet, and send `out` from
 * its start. The service knows the numbers of events it has applied; every other command may be
 * given twice without harm, or is only sent when nothing else is under way.
 *
 * When the service could not take an event (its journal cannot be written, a quota is used up) it
 * takes none behind it either: the client lets the answers to what it has sent come in, passes over
 * them, and after a while sends everything again (`rewinding`).
 */
#pragma once

#include "foundation/base/fifo.h"
#include "service/client/address.h"
#include "service/client/channel.h"

#include "service/wire/wire.h"

#include <gordian/client.h>

enum link_state {
    LINK_DOWN,       /* no connection; the next attempt is at `retry_at` */
    LINK_CONNECTING, /* the socket becomes writable when it is through */
    LINK_SHAKING,    /* TLS agrees on keys */
    LINK_GREETING,   /* hello was said, the answer is not here yet */
    LINK_UP,
    LINK_FAILED, /* for good: `failure` says why */
};

/* A command without an answer yet. */
struct command {
    struct call *call; /* who waits for it; NULL: nobody */
    uint32_t size;     /* of its frame */
    uint32_t events;   /* EVENTS: how many of its events have no answer */
    uint8_t kind;      /* enum wire_kind */
    bool asked;        /* somebody waits, or did: of a LINE, it is not one of `events` */
};

struct sent_event {
    gordian_reply_function *answered;
    void *context;
    uint32_t process;
    uint8_t op; /* gordian_op; of a line: REQUEST, or 0 if it is no event */
};

/* One who waits for the answer to a command. */
struct call {
    bool done;
    gordian_status status;
    gordian_error *error;
    uint32_t *ids; /* DECLARE: where to put them */
    size_t id_count;
    struct wire_asked asked;
    gordian_process_state *state; /* STATE */
    size_t said;                  /* LINE: bytes of client->said */
};

#define CLIENT_SERVERS 16
#define NOT_TOLD       UINT64_MAX

struct gordian_client {
    gordian_allocator memory;
    struct client_server {
        struct address address;
        struct secure *secure;
    } servers[CLIENT_SERVERS];
    const struct secure_interface *tls; /* NULL: no server needed it so far */
    size_t server_count, which;
    size_t tried;                  /* of them in this attempt, without success */
    size_t left;                   /* 1 + the one that led, and said that it does not; 0: none */
    unsigned moves;                /* from one to another since it was connected */
    const struct address *address; /* of the one chosen */
    size_t place;                  /* of the address: which one is being tried */
    char *name, *token, *system;
    bool keep, patient;
    uint32_t lease_ms, timeout_ms, connect_ms, window;
    uint8_t open; /* enum wire_system_kind: the greeting makes the system; 0: it must exist */
    char *open_options;
    int *code, own_code; /* where it goes, if nobody wants to know it */
    gordian_granted_function *granted;
    gordian_notice_function *notice;
    gordian_link_function *link;
    void *context;

    enum link_state state;
    struct channel channel;
    struct secure *secure; /* of the server chosen; NULL: its address is one without TLS */
    gordian_error failure;
    uint64_t retry_at;   /* ns: DOWN, or rewinding */
    uint64_t down_since; /* ns: not UP since */
    uint64_t heard_at, said_at;
    uint64_t owed_since; /* ns: when there was first something to be answered */
    uint32_t pause_ms;   /* before the next attempt */
    uint32_t epoch;      /* how often it was connected */

    /* what the service told us */
    uint8_t session[GORDIAN_SESSION_SIZE];
    bool has_session;
    uint64_t last_applied;
    uint8_t durability;
    bool avoids; /* the system in use: verdicts instead of outcomes */
    uint32_t frame_max;
    char server[64];

    /* sending */
    struct fifo greeting;
    unsigned greetings; /* answers to it still to come */
    struct fifo out;
    size_t sent;           /* bytes of `out` that were sent */
    size_t sealed;         /* bytes of `out` that may be sent: whole frames */
    struct fifo commands;  /* of struct command */
    struct fifo events;    /* of struct sent_event */
    uint32_t open_events;  /* in the EVENTS frame behind `sealed`; 0: there is none */
    uint64_t next_number;  /* of the next event queued */
    uint64_t first_number; /* of the first event without an answer */
    uint8_t mask;          /* subscriptions */
    uint64_t told;         /* up to this event all were told to us; NOT_TOLD: we do not know */
    bool rewinding;        /* see above */
    size_t passing_over;   /* answers to pass over until then */
    size_t finish;         /* rewinding: bytes of `out` to send to their frame's end */
    uint64_t rewinding_since;
    bool renumber;     /* before it is sent again: see events_renumber */
    char trouble[200]; /* why, in the service's words; "": it has not said */

    /* receiving */
    struct fifo in;
    bool calling;        /* a callback is running */
    bool halt;           /* somebody has what it waits for: leave the rest for the next call */
    uint64_t fence;      /* the newest number that the service has told */
    uint64_t next_fence; /* of what comes next; 0: nobody has said */
    uint32_t *served;
    size_t served_room;
    gordian_want *wants; /* of the last state asked for */
    size_t want_room;
    char *said; /* the answer to the last question asked in a line */
    size_t said_room;

    uint64_t *waiting; /* by process: its request waits, as far as we were told */
    size_t waiting_room;
    uint32_t watched; /* process that somebody waits for to be granted, or GORDIAN_NONE */
    bool watched_granted;
};

/* ---- servers.c */

/* Addresses with commas between; one without a scheme has that of the one before it. */
gordian_status servers_parse(gordian_client *client, const char *uri,
                             const struct secure_wishes *wishes, gordian_error *error);
void servers_free(gordian_client *client);
/* Chooses the next one; false: all have been tried, and it is the turn of the first again. */
bool servers_next(gordian_client *client);
void servers_rotate(gordian_client *client);
/* Chooses the one at the address that another has told; false: there is none, or it would not do.
 */
bool servers_follow(gordian_client *client, const char *leader);

/* ---- connection.c */

/* Starts connecting; what becomes of it shows in `state`. */
void link_start(gordian_client *client);
/* Waits until there is something to do, or `until` (ns; UINT64_MAX: no limit), and does it.
 * GORDIAN_STATUS_END: the time is up. */
gordian_status link_wait(gordian_client *client, uint64_t until, gordian_error *error);
/* The connection is of no use any more: connects again if the session allows it. */
void link_break(gordian_client *client, const char *why);
/* The server only stands by; what it says ends with where the leader is (WIRE_LEADER_IS). */
void link_moved(gordian_client *client, const char *text);
/* The end: tells everybody who waits for something. */
void link_fail(gordian_client *client, gordian_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Everything sent so far will be sent again. `came`: so many of its answers are here, and no more
 * needed. */
void link_rewind(gordian_client *client, uint32_t retry_ms, size_t came);
/* An answer was passed over. */
void link_passed(gordian_client *client);
/* Ms from now as a time for link_wait; GORDIAN_FOREVER: no limit. */
uint64_t link_deadline(uint32_t timeout_ms);

/* ---- answers.c */

/* Takes one frame; GORDIAN_STATUS_MEMORY: nothing was done, give it again. Anything but OK: final.
 */
gordian_status answer_take(gordian_client *client, const struct wire_frame *frame,
                           gordian_error *error);
/* Tells everybody that there will be no answer any more. */
void answers_give_up(gordian_client *client, gordian_status status, const char *message);

/* ---- events.c */

/* Ends the open EVENTS frame: it may be sent. */
void events_seal(gordian_client *client);
/* An event that was refused has not used its number up: those behind it move up. Nothing of them
 * may be half sent. */
void events_renumber(gordian_client *client);
static inline bool events_is_waiting(const gordian_client *client, uint32_t process)
{
    return process / 64 < client->waiting_room &&
           (client->waiting[process / 64] >> (process % 64) & 1);
}
void events_set_waiting(gordian_client *client, uint32_t process, bool waits);

/* ---- calls.c */

/* Puts a frame behind everything queued: `size` bytes from wire_put_*, written by the caller at the
 * address given. NULL: out of memory. */
void *call_reserve(gordian_client *client, size_t size);
void call_queue(gordian_client *client, uint8_t kind, size_t size, struct call *call);
/* GORDIAN_OK, or why the connection is of no use any more. */
gordian_status link_check(const gordian_client *client, gordian_error *error);
/* The time is up without an answer. */
gordian_status call_late(const gordian_client *client, gordian_error *error);
/* Is this a moment at which something may wait? */
gordian_status call_allowed(const gordian_client *client, gordian_error *error);
