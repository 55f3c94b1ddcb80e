/*
 * The binary form of the service protocol, with fencing tokens and leases: encodes frames from
 * structs and decodes frames into structs.
 *
 * These are pure functions on buffers, used by the server and by clients. They do not allocate,
 * do no I/O and keep no state. Numbers are little-endian. docs/reference/protocol.md documents the
 * whole protocol.
 *
 *     connection  WIRE_START (8 bytes, from the client), then frames, both ways
 *     frame       u32 size of what follows, u8 kind, body
 *
 * Decoding: wire_next finds the first frame in received bytes, and wire_get_* decodes its body.
 * They accept any bytes and return false for a body that does not match its kind. Texts and lists
 * point into the frame and are valid as long as the frame is. Texts do not end in NUL.
 *
 * Encoding: wire_put_* writes a whole frame if it fits into `room` bytes. It returns the size of
 * the frame in either case, so `room` 0 asks for the size.
 */
#pragma once

#include <gordian/gordian.h>

#define WIRE_VERSION      1
#define WIRE_START        "\0GRD\1\0\0\0" /* the first bytes of a connection in binary form */
#define WIRE_START_SIZE   8
#define WIRE_HEAD_SIZE    5           /* size and kind */
#define WIRE_FRAME_MAX    (1u << 20)  /* the largest frame from a client */
#define WIRE_ANSWER_MAX   (64u << 20) /* the largest frame from the server */
#define WIRE_SESSION_SIZE 16
#define WIRE_OPTIONS_MAX  1024

enum wire_kind {
    /* from the client; each is answered, in order */
    WIRE_HELLO = 1, /* WELCOME */
    WIRE_USE,       /* DONE, with a u8: the kind of the system */
    WIRE_OPEN,      /* DONE, with the same u8 */
    WIRE_DECLARE,   /* DECLARED */
    WIRE_EVENTS,    /* RESULTS */
    WIRE_SUBSCRIBE, /* DONE; when subscribed to every event, with a u64: the number of the newest
                       event */
    WIRE_ASK,       /* ASKED */
    WIRE_STATE,     /* STATED */
    WIRE_PING,      /* PONG */
    WIRE_BYE,       /* DONE, then the connection closes */
    WIRE_REMOVE,    /* DONE: removes processes or resources */
    WIRE_WEIGH,     /* DONE: sets priority and cost of a process */
    WIRE_CLOSE,     /* DONE: closes a system */
    WIRE_LINE,      /* ANSWER: a line of the text form */
    WIRE_LABEL,     /* DONE: sets labels of a process or a resource */
    /* from the server */
    WIRE_WELCOME = 65,
    WIRE_DECLARED,
    WIRE_RESULTS,
    WIRE_GRANTED,  /* unsolicited: an event of another client granted a waiting request of yours.
                      (Grants by your own events are in their RESULTS only.) */
    WIRE_INCIDENT, /* unsolicited: JSON, to subscribers */
    WIRE_STATED,
    WIRE_ASKED,
    WIRE_PONG,
    WIRE_ERROR, /* in place of an answer; a fatal one closes the connection */
    WIRE_DONE,
    WIRE_EVENT, /* unsolicited: JSON of an event of another client, to subscribers */
    WIRE_ANSWER,
    WIRE_FENCE, /* before another frame, if HELLO asked for it: u64, the fencing token of the grant
                   that the frame reports. For RESULTS: the token of the first event that is not a
                   duplicate; later events have the following numbers. For WELCOME: a token as large
                   as the largest of the session */
};

struct wire_text {
    const char *text;
    size_t length;
};

/* ------------------------------------------------------------------ frames */

struct wire_frame {
    uint8_t kind;
    const unsigned char *body;
    size_t size; /* of the body */
};

enum wire_found {
    WIRE_WHOLE,  /* the frame has *used bytes */
    WIRE_PART,   /* the frame is incomplete: try again with *used bytes (at least the head) */
    WIRE_BROKEN, /* the size is 0 or above `limit` */
};

/* Finds the first frame in `bytes`. `limit`: WIRE_FRAME_MAX or WIRE_ANSWER_MAX. */
enum wire_found wire_next(const void *bytes, size_t count, size_t limit, struct wire_frame *frame,
                          size_t *used);

/* Encodes a frame with the given body. (PING, STATE, ... have separate functions below.) */
size_t wire_put_frame(void *to, size_t room, uint8_t kind, const void *body, size_t size);

/* ------------------------------------------------------------------ from the client */

enum wire_hello_flags {
    WIRE_KEEP = 1,   /* when the session is lost, its processes keep what they hold and wait for */
    WIRE_FENCES = 2, /* of this connection: FENCE precedes every grant */
};

struct wire_hello {
    uint8_t session[WIRE_SESSION_SIZE]; /* zeros: open a new session */
    uint32_t lease_ms;                  /* 0: the session ends with the connection */
    uint8_t flags;
    struct wire_text token; /* "": none */
    struct wire_text name;  /* of the client, shown to people */
};

size_t wire_put_hello(void *to, size_t room, const struct wire_hello *hello);
bool wire_get_hello(const struct wire_frame *frame, struct wire_hello *hello);

/* USE, CLOSE: the name of a system. */
size_t wire_put_name(void *to, size_t room, uint8_t kind, struct wire_text name);
bool wire_get_name(const struct wire_frame *frame, struct wire_text *name);

enum wire_system_kind {
    WIRE_DETECT = 1,
    WIRE_AVOID = 2,
};

struct wire_open {
    struct wire_text name;
    uint8_t kind;             /* enum wire_system_kind */
    struct wire_text options; /* "engine=sparse on-loss=drop recover=none queue=yes patience=16" */
};

size_t wire_put_open(void *to, size_t room, const struct wire_open *open);
bool wire_get_open(const struct wire_frame *frame, struct wire_open *open);

enum wire_what {
    WIRE_PROCESS = 1,
    WIRE_RESOURCE = 2,
    WIRE_OTHER = 3, /* of DECLARE: a process of another client, such as one whose act is awaited */
};

struct wire_declaration {
    uint8_t what; /* enum wire_what */
    struct wire_text name;
    uint64_t units;             /* of a resource */
    const gordian_want *claims; /* of a process under avoidance; for encoding */
    size_t claim_count;
};

size_t wire_put_declare(void *to, size_t room, const struct wire_declaration *declarations,
                        size_t count);

/* A list in a frame, decoded element by element. */
struct wire_list {
    const unsigned char *at, *end;
    uint32_t left;
};

bool wire_get_declare(const struct wire_frame *frame, struct wire_list *list);
/* Decodes the next declaration. Returns false at the end of the list, and at a malformed one (then
 * list->left is still > 0). Stores at most `room` claims in `claims`; claim_count is how many there
 * are. */
bool wire_next_declaration(struct wire_list *list, struct wire_declaration *declaration,
                           gordian_want *claims, size_t room);

struct wire_events {
    uint64_t first;        /* number of the first event; 0: not numbered */
    struct wire_list list; /* of events */
};

/* The smallest size of an event in a frame. */
#define WIRE_EVENT_MIN 8
size_t wire_event_size(const gordian_event *event);

/* Events as they are fed to a system: if `wants` is NULL, the want is in `resource` and `units`; an
 * await then has none. */
size_t wire_put_events(void *to, size_t room, uint64_t first, const gordian_event *events,
                       size_t count);
bool wire_get_events(const struct wire_frame *frame, struct wire_events *events);
/* Decodes the next events: at most `count` of them with at most `want_room` wants in all (65535 are
 * enough for any one event). A single want is stored in the event itself, with `wants` NULL; an
 * await always uses `wants`. Returns how many were decoded. *bad: the next event is malformed, or
 * bytes follow the last one. */
size_t wire_next_events(struct wire_list *list, gordian_event *events, size_t count,
                        gordian_want *wants, size_t want_room, bool *bad);

enum wire_subscription {
    WIRE_MY_GRANTS = 1,    /* the default */
    WIRE_MY_DEADLOCKS = 2, /* deadlocks with a process of mine in it, or as the victim */
    WIRE_DEADLOCKS = 4,    /* every deadlock of the system */
    WIRE_EVERYTHING = 8,   /* every event of the system */
};

size_t wire_put_u8(void *to, size_t room, uint8_t kind, uint8_t value);   /* SUBSCRIBE */
size_t wire_put_u32(void *to, size_t room, uint8_t kind, uint32_t value); /* STATE, GRANTED */
size_t wire_put_u64(void *to, size_t room, uint8_t kind, uint64_t value); /* PING, PONG */
bool wire_get_u8(const struct wire_frame *frame, uint8_t *value);
bool wire_get_u32(const struct wire_frame *frame, uint32_t *value);
bool wire_get_u64(const struct wire_frame *frame, uint64_t *value);

/* Finds the event number in the JSON of an EVENT. Returns false if there is none. */
bool wire_event_seq(const char *json, size_t length, uint64_t *seq);
/* Sent to subscribers in place of lost events: the events after the first number, up to the second.
 * The numbers are unsigned long long. */
#define WIRE_MISSED "{\"gap\":{\"from\":%llu,\"seq\":%llu}}"

/* ASK: how would this request be answered? */
size_t wire_put_ask(void *to, size_t room, const gordian_event *request);
bool wire_get_ask(const struct wire_frame *frame, gordian_event *request, gordian_want *wants,
                  size_t want_room);

struct wire_weigh {
    uint32_t process;
    int64_t priority, cost;
};

size_t wire_put_weigh(void *to, size_t room, const struct wire_weigh *weigh);
bool wire_get_weigh(const struct wire_frame *frame, struct wire_weigh *weigh);

/* REMOVE: all of these processes or resources, or none. Slices: see docs/reference/protocol.md. */
size_t wire_put_remove(void *to, size_t room, uint8_t what, const uint32_t *ids, size_t count);
bool wire_get_remove(const struct wire_frame *frame, uint8_t *what, struct wire_list *ids);
bool wire_next_id(struct wire_list *ids, uint32_t *id);

/* LABEL of a process or a resource: KEY:VALUE sets a label, KEY: removes it. */
struct wire_label {
    uint8_t what; /* WIRE_PROCESS or WIRE_RESOURCE */
    uint32_t id;
    const struct wire_text *texts;
    size_t count; /* at most WIRE_LABELS_MAX */
};

#define WIRE_LABELS_MAX 64

size_t wire_put_label(void *to, size_t room, const struct wire_label *label);
/* Stores the texts in `texts`; they point into the frame. */
bool wire_get_label(const struct wire_frame *frame, struct wire_label *label,
                    struct wire_text texts[WIRE_LABELS_MAX]);

/* LINE: a line of the text form, without its newline. */
struct wire_line {
    uint64_t number; /* of the line's event; 0: not numbered, or no event */
    struct wire_text text;
};

size_t wire_put_line(void *to, size_t room, const struct wire_line *line);
bool wire_get_line(const struct wire_frame *frame, struct wire_line *line);

/* ------------------------------------------------------------------ from the server */

/* Durability levels. The service sends its own numbers, which are the same. */
enum wire_durability {
    WIRE_NONE = 0, /* acknowledged when applied */
    WIRE_BATCH,    /* acknowledged when it survives the end of the service */
    WIRE_FULL,     /* acknowledged when it survives a power cut */
};

struct wire_welcome {
    uint8_t version;
    uint8_t session[WIRE_SESSION_SIZE];
    uint64_t last; /* number of the last applied event of this session */
    uint8_t durability;
    uint32_t frame_max;
    uint32_t events_a_second; /* 0: no limit */
    struct wire_text server;  /* version of the server */
};

size_t wire_put_welcome(void *to, size_t room, const struct wire_welcome *welcome);
bool wire_get_welcome(const struct wire_frame *frame, struct wire_welcome *welcome);

/* One id for each declaration; GORDIAN_NONE: it was refused. */
size_t wire_put_declared(void *to, size_t room, const uint32_t *ids, size_t count);
bool wire_get_declared(const struct wire_frame *frame, struct wire_list *ids);

/* Outcomes beyond gordian_outcome and gordian_verdict. */
enum wire_outcome {
    WIRE_NOT_TAKEN = 254, /* neither this event nor any behind it was applied (out of memory, or
                             over a quota): send them again */
    WIRE_DUPLICATE = 255, /* it was applied before */
};

#define WIRE_ENGINE_CANNOT 250  /* refusal, reason: the system's engine cannot represent this */
#define WIRE_OVER_MEMORY   251  /* refusal, reason: the client is over its memory quota */
#define WIRE_OTHERS        252  /* refusal, reason: the process belongs to another session */
#define WIRE_WAITS         0x80 /* set in the reason of a verdict: the request waits in the queue */

struct wire_result {
    uint8_t outcome; /* gordian_outcome, gordian_verdict or enum wire_outcome */
    uint8_t reason;  /* gordian_refusal or gordian_reason */
    uint32_t served; /* how many waiting processes this event granted */
};

#define WIRE_RESULT_SIZE 4
#define WIRE_MANY_SERVED 65535 /* if the number does not fit: it precedes the ids, as a u32 */

struct wire_results {
    uint64_t first;
    uint32_t count;
    const unsigned char *at, *ids, *end; /* the next result, the next id of a granted process */
};

bool wire_get_results(const struct wire_frame *frame, struct wire_results *results);
/* Decodes the next result, after all ids of the previous one have been read. Returns false at the
 * end, and at a malformed one (then results->count is still > 0). */
bool wire_next_result(struct wire_results *results, struct wire_result *result);
bool wire_next_served(struct wire_results *results, uint32_t *process);
/* `served`: ids of the granted processes, in the order of the results. */
size_t wire_put_results(void *to, size_t room, uint64_t first, const struct wire_result *results,
                        size_t count, const uint32_t *served);

struct wire_answer {
    uint8_t outcome, reason; /* of an event, as in a result; 0 for other lines */
    uint32_t process;        /* of the event; GORDIAN_NONE: no event */
    const uint32_t *ids;     /* the processes it granted; for encoding */
    struct wire_list served; /* the same for decoding, with wire_next_id */
    struct wire_text json;   /* "": no answer */
};

size_t wire_put_answer(void *to, size_t room, const struct wire_answer *answer);
bool wire_get_answer(const struct wire_frame *frame, struct wire_answer *answer);

enum wire_error_code {
    WIRE_MALFORMED = 1,      /* fatal: not a frame of this protocol */
    WIRE_BAD_VERSION = 2,    /* fatal */
    WIRE_NOT_ALLOWED = 3,    /* fatal: the token is missing, wrong or insufficient */
    WIRE_NO_SYSTEM = 4,      /* no system of this name */
    WIRE_OTHER_SYSTEM = 5,   /* the system exists, with another kind or configuration */
    WIRE_BAD_VALUE = 6,      /* a wrong option, name or id */
    WIRE_GAP = 7,            /* earlier events are missing: WELCOME has the session's last one */
    WIRE_QUOTA = 8,          /* too many systems, names, ... */
    WIRE_NOT_KEPT = 9,       /* the journal cannot be written now; nothing was applied */
    WIRE_NO_MEMORY = 10,     /* nothing was applied */
    WIRE_NO_SESSION = 11,    /* HELLO: no session of this id (it has ended) */
    WIRE_TAKEN_OVER = 12,    /* fatal: another connection took over the session */
    WIRE_TOO_SLOW = 13,      /* fatal: the client reads too slowly (back-pressure) */
    WIRE_STOPPING = 14,      /* fatal: the service is shutting down; reconnect */
    WIRE_IN_USE = 15,        /* CLOSE, REMOVE: it is held or waited for */
    WIRE_TOO_LARGE = 16,     /* fatal: the frame exceeds the limit */
    WIRE_NOT_AVAILABLE = 17, /* the requested engine is not available */
    WIRE_NOT_LEADER = 18,    /* this server is a standby; the text ends with WIRE_LEADER_IS */
};

/* The text of WIRE_NOT_LEADER ends with this and the leader's address, or "unknown". The address
 * may contain blanks. */
#define WIRE_LEADER_IS "the leader is "

/* The status that a client returns for an error code. */
gordian_status wire_error_status(unsigned code);
/* May a retry succeed later? A quota error without a retry time does not pass on its own. */
bool wire_error_passes(unsigned code, uint64_t retry_ms);

struct wire_error {
    uint16_t code;
    bool fatal;
    uint32_t retry_ms; /* 0: retrying does not help, or may be done at once */
    struct wire_text text;
};

size_t wire_put_error(void *to, size_t room, const struct wire_error *error);
bool wire_get_error(const struct wire_frame *frame, struct wire_error *error);

enum wire_state_flags {
    WIRE_KNOWN = 1,
    WIRE_IS_WAITING = 2,
    WIRE_IS_DEADLOCKED = 4,
    WIRE_IS_UNKEPT = 8, /* the journal cannot be written: the shown state may be lost */
};

struct wire_state {
    uint32_t process;
    uint8_t flags;
    uint64_t waited_ms;                /* how long it has waited */
    const gordian_want *held, *wanted; /* for encoding */
    size_t held_count, wanted_count;
};

size_t wire_put_stated(void *to, size_t room, const struct wire_state *state);
/* The list has `held_count` wants, then `wanted_count`; decode them with wire_next_want. */
bool wire_get_stated(const struct wire_frame *frame, struct wire_state *state,
                     struct wire_list *wants);
bool wire_next_want(struct wire_list *wants, gordian_want *want);

struct wire_asked {
    uint8_t outcome;
    uint8_t reason;
};

size_t wire_put_asked(void *to, size_t room, const struct wire_asked *asked);
bool wire_get_asked(const struct wire_frame *frame, struct wire_asked *asked);

/* ------------------------------------------------------------------ numbers */

static inline void wire_store16(unsigned char *to, uint16_t value)
{
    to[0] = (unsigned char)value;
    to[1] = (unsigned char)(value >> 8);
}

static inline void wire_store32(unsigned char *to, uint32_t value)
{
    wire_store16(to, (uint16_t)value);
    wire_store16(to + 2, (uint16_t)(value >> 16));
}

static inline void wire_store64(unsigned char *to, uint64_t value)
{
    wire_store32(to, (uint32_t)value);
    wire_store32(to + 4, (uint32_t)(value >> 32));
}

static inline uint16_t wire_load16(const unsigned char *from)
{
    return (uint16_t)(from[0] | from[1] << 8);
}

static inline uint32_t wire_load32(const unsigned char *from)
{
    return wire_load16(from) | (uint32_t)wire_load16(from + 2) << 16;
}

static inline uint64_t wire_load64(const unsigned char *from)
{
    return wire_load32(from) | (uint64_t)wire_load32(from + 4) << 32;
}
