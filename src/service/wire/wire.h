/*
 * The binary form of the service's protocol: frames of bytes to and from structs.
 *
 * Pure functions on buffers, for the server and for clients: nothing here allocates, reads or
 * writes files, or keeps anything. Numbers are little-endian. docs/reference/protocol.md has the
 * whole of it.
 *
 *     connection  WIRE_START (8 bytes, from the client), then frames, both ways
 *     frame       u32 size of what follows, u8 kind, body
 *
 * Reading: wire_next finds a frame in what has arrived, wire_get_* takes its body apart. They
 * accept any bytes: false is a body that is not what its kind says. Texts and lists point into the
 * frame and are valid as long as it is; texts do not end in NUL.
 *
 * Writing: wire_put_* writes a whole frame if it fits into `room` bytes, and returns its size in
 * either case: ask with room 0 how much it takes.
 */
#ifndef GORDIAN_SERVICE_WIRE_WIRE_H
#define GORDIAN_SERVICE_WIRE_WIRE_H

#include <gordian/gordian.h>

#define WIRE_VERSION      1
#define WIRE_START        "\0GRD\1\0\0\0" /* what a connection in this form begins with */
#define WIRE_START_SIZE   8
#define WIRE_HEAD_SIZE    5           /* size and kind */
#define WIRE_FRAME_MAX    (1u << 20)  /* the largest size of a client's frame */
#define WIRE_ANSWER_MAX   (64u << 20) /* and of the server's */
#define WIRE_SESSION_SIZE 16
#define WIRE_OPTIONS_MAX  1024

enum wire_kind {
    /* from the client; each is answered, in order */
    WIRE_HELLO = 1, /* WELCOME */
    WIRE_USE,       /* DONE, with a u8: what kind of system it is */
    WIRE_OPEN,      /* DONE, likewise */
    WIRE_DECLARE,   /* DECLARED */
    WIRE_EVENTS,    /* RESULTS */
    WIRE_SUBSCRIBE, /* DONE; if it is to every event, with a u64: the number of the newest one */
    WIRE_ASK,       /* ASKED */
    WIRE_STATE,     /* STATED */
    WIRE_PING,      /* PONG */
    WIRE_BYE,       /* DONE, and the connection ends */
    WIRE_REMOVE,    /* DONE: processes or resources are forgotten */
    WIRE_WEIGH,     /* DONE: priority and cost of a process */
    WIRE_CLOSE,     /* DONE: a system ends */
    WIRE_LINE,      /* ANSWER: a line of the form of lines */
    WIRE_LABEL,     /* DONE: labels of a process or a resource */
    /* from the server */
    WIRE_WELCOME = 65,
    WIRE_DECLARED,
    WIRE_RESULTS,
    WIRE_GRANTED,  /* in between: a waiting request of yours was served by an event of somebody
                      else's (what your own events served is in their RESULTS alone) */
    WIRE_INCIDENT, /* in between: JSON, as subscribed */
    WIRE_STATED,
    WIRE_ASKED,
    WIRE_PONG,
    WIRE_ERROR, /* instead of an answer; fatal ones end the connection */
    WIRE_DONE,
    WIRE_EVENT, /* in between: JSON of an event of somebody else's, as subscribed */
    WIRE_ANSWER,
    WIRE_FENCE, /* before a frame, if HELLO asked for it: u64, the number of the grant that it tells
                   of. Of RESULTS: of the first that is no duplicate, the next has the next; of
                   WELCOME: of all that the session holds */
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
    WIRE_WHOLE,  /* *used bytes make up the frame */
    WIRE_PART,   /* there will be a frame when *used bytes are there (at least: the head) */
    WIRE_BROKEN, /* its size is 0 or above `limit` */
};

/* The first frame in `bytes`. `limit`: WIRE_FRAME_MAX or WIRE_ANSWER_MAX. */
enum wire_found wire_next(const void *bytes, size_t count, size_t limit, struct wire_frame *frame,
                          size_t *used);

/* A frame with a body as it stands (PING, STATE, ... have their own below). */
size_t wire_put_frame(void *to, size_t room, uint8_t kind, const void *body, size_t size);

/* ------------------------------------------------------------------ from the client */

enum wire_hello_flags {
    WIRE_KEEP = 1,   /* when this session is lost, what its processes hold and wait for stays */
    WIRE_FENCES = 2, /* of this connection: FENCE comes with every grant */
};

struct wire_hello {
    uint8_t session[WIRE_SESSION_SIZE]; /* zeros: a new one */
    uint32_t lease_ms;                  /* 0: the session ends with the connection */
    uint8_t flags;
    struct wire_text token; /* "" where none is needed */
    struct wire_text name;  /* of the client, for people */
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
    WIRE_OTHER = 3, /* of DECLARE: a process of somebody else, such as one whose act is awaited */
};

struct wire_declaration {
    uint8_t what; /* enum wire_what */
    struct wire_text name;
    uint64_t units;             /* of a resource */
    const gordian_want *claims; /* of a process under avoidance: when writing */
    size_t claim_count;
};

size_t wire_put_declare(void *to, size_t room, const struct wire_declaration *declarations,
                        size_t count);

/* A list being read, element by element. */
struct wire_list {
    const unsigned char *at, *end;
    uint32_t left;
};

bool wire_get_declare(const struct wire_frame *frame, struct wire_list *list);
/* The next declaration; false: there is none, or (list->left > 0 still) it is malformed. Claims
 * are put into `claims`, at most `room` of them; claim_count says how many there are. */
bool wire_next_declaration(struct wire_list *list, struct wire_declaration *declaration,
                           gordian_want *claims, size_t room);

struct wire_events {
    uint64_t first;        /* number of the first event; 0: not numbered */
    struct wire_list list; /* of events */
};

/* Bytes of one event in a frame. */
#define WIRE_EVENT_MIN 8
size_t wire_event_size(const gordian_event *event);

/* Events as they are fed: wants NULL means the one in `resource` and `units`, but of an await none.
 */
size_t wire_put_events(void *to, size_t room, uint64_t first, const gordian_event *events,
                       size_t count);
bool wire_get_events(const struct wire_frame *frame, struct wire_events *events);
/* The next events, at most `count`, with at most `want_room` wants in all (65535 is enough for any
 * one event). A single want, but of an await, stands in the event itself: `wants` is NULL then.
 * Returns how many were read; *bad is set at a malformed one, and when something follows the last.
 */
size_t wire_next_events(struct wire_list *list, gordian_event *events, size_t count,
                        gordian_want *wants, size_t want_room, bool *bad);

enum wire_subscription {
    WIRE_MY_GRANTS = 1,    /* on from the start */
    WIRE_MY_DEADLOCKS = 2, /* a process of mine is in a deadlock, or was chosen as a victim */
    WIRE_DEADLOCKS = 4,    /* every deadlock of the system */
    WIRE_EVERYTHING = 8,   /* every event of the system */
};

size_t wire_put_u8(void *to, size_t room, uint8_t kind, uint8_t value);   /* SUBSCRIBE */
size_t wire_put_u32(void *to, size_t room, uint8_t kind, uint32_t value); /* STATE, GRANTED */
size_t wire_put_u64(void *to, size_t room, uint8_t kind, uint64_t value); /* PING, PONG */
bool wire_get_u8(const struct wire_frame *frame, uint8_t *value);
bool wire_get_u32(const struct wire_frame *frame, uint32_t *value);
bool wire_get_u64(const struct wire_frame *frame, uint64_t *value);

/* EVENT: the number in its JSON; false: it has none. */
bool wire_event_seq(const char *json, size_t length, uint64_t *seq);
/* Events behind the first number, up to the second, were not told: in the words of everybody who
 * says so. Two unsigned long long. */
#define WIRE_MISSED "{\"gap\":{\"from\":%llu,\"seq\":%llu}}"

/* ASK: what would be answered to this request? */
size_t wire_put_ask(void *to, size_t room, const gordian_event *request);
bool wire_get_ask(const struct wire_frame *frame, gordian_event *request, gordian_want *wants,
                  size_t want_room);

struct wire_weigh {
    uint32_t process;
    int64_t priority, cost;
};

size_t wire_put_weigh(void *to, size_t room, const struct wire_weigh *weigh);
bool wire_get_weigh(const struct wire_frame *frame, struct wire_weigh *weigh);

/* REMOVE: all of these processes or resources, or none; see docs/reference/protocol.md on slices.
 */
size_t wire_put_remove(void *to, size_t room, uint8_t what, const uint32_t *ids, size_t count);
bool wire_get_remove(const struct wire_frame *frame, uint8_t *what, struct wire_list *ids);
bool wire_next_id(struct wire_list *ids, uint32_t *id);

/* LABEL: of a process or a resource, KEY:VALUE each; KEY: alone takes that away. */
struct wire_label {
    uint8_t what; /* WIRE_PROCESS or WIRE_RESOURCE */
    uint32_t id;
    const struct wire_text *texts;
    size_t count; /* at most WIRE_LABELS_MAX */
};

#define WIRE_LABELS_MAX 64

size_t wire_put_label(void *to, size_t room, const struct wire_label *label);
/* The texts into `texts`, and stay where they are. */
bool wire_get_label(const struct wire_frame *frame, struct wire_label *label,
                    struct wire_text texts[WIRE_LABELS_MAX]);

/* LINE: one line, without its newline. */
struct wire_line {
    uint64_t number; /* of its event; 0: not numbered, or none */
    struct wire_text text;
};

size_t wire_put_line(void *to, size_t room, const struct wire_line *line);
bool wire_get_line(const struct wire_frame *frame, struct wire_line *line);

/* ------------------------------------------------------------------ from the server */

/* Unused: the service passes its own numbers on, which are the same. */
enum wire_durability {
    WIRE_NONE = 0, /* acknowledged when it is applied */
    WIRE_BATCH,    /* when it survives the end of the service */
    WIRE_FULL,     /* when it survives a power cut */
};

struct wire_welcome {
    uint8_t version;
    uint8_t session[WIRE_SESSION_SIZE];
    uint64_t last; /* number of the last event of this session that was applied */
    uint8_t durability;
    uint32_t frame_max;
    uint32_t events_a_second; /* 0: no limit */
    struct wire_text server;  /* its version */
};

size_t wire_put_welcome(void *to, size_t room, const struct wire_welcome *welcome);
bool wire_get_welcome(const struct wire_frame *frame, struct wire_welcome *welcome);

/* One id for every declaration; GORDIAN_NONE: refused. */
size_t wire_put_declared(void *to, size_t room, const uint32_t *ids, size_t count);
bool wire_get_declared(const struct wire_frame *frame, struct wire_list *ids);

/* Outcomes beyond gordian_outcome and gordian_verdict. */
enum wire_outcome {
    WIRE_NOT_TAKEN =
        254, /* nor any event behind it: out of memory or over a quota; send it again */
    WIRE_DUPLICATE = 255, /* was applied before */
};

#define WIRE_ENGINE_CANNOT 250  /* refusal, reason: the system's engine cannot represent this */
#define WIRE_OVER_MEMORY   251  /* likewise: the client would take more memory than it may */
#define WIRE_OTHERS        252  /* likewise: the process is another session's to end */
#define WIRE_WAITS         0x80 /* in the reason of a verdict: the request waits in the queue */

struct wire_result {
    uint8_t outcome; /* gordian_outcome, gordian_verdict or enum wire_outcome */
    uint8_t reason;  /* gordian_refusal or gordian_reason */
    uint32_t served; /* how many waiting processes this event served */
};

#define WIRE_RESULT_SIZE 4
#define WIRE_MANY_SERVED 65535 /* in place of the number: that stands before the ids, as a u32 */

struct wire_results {
    uint64_t first;
    uint32_t count;
    const unsigned char *at, *ids, *end; /* the next result, the next id of one served */
};

bool wire_get_results(const struct wire_frame *frame, struct wire_results *results);
/* The next result, after all ids of the one before have been read; false: none, or malformed
 * (results->count > 0 still). */
bool wire_next_result(struct wire_results *results, struct wire_result *result);
bool wire_next_served(struct wire_results *results, uint32_t *process);
/* `served`: everybody served, those of the first result first. */
size_t wire_put_results(void *to, size_t room, uint64_t first, const struct wire_result *results,
                        size_t count, const uint32_t *served);

struct wire_answer {
    uint8_t outcome, reason; /* of an event, as in a result; otherwise 0 */
    uint32_t process;        /* whose event; GORDIAN_NONE */
    const uint32_t *ids;     /* whom it served: when writing */
    struct wire_list served; /* and when reading, with wire_next_id */
    struct wire_text json;   /* "": there is nothing to say */
};

size_t wire_put_answer(void *to, size_t room, const struct wire_answer *answer);
bool wire_get_answer(const struct wire_frame *frame, struct wire_answer *answer);

enum wire_error_code {
    WIRE_MALFORMED = 1,      /* fatal: not a frame of this protocol */
    WIRE_BAD_VERSION = 2,    /* fatal */
    WIRE_NOT_ALLOWED = 3,    /* fatal: token wrong or missing, or not enough for this */
    WIRE_NO_SYSTEM = 4,      /* there is none of this name */
    WIRE_OTHER_SYSTEM = 5,   /* there is one, of another kind or configuration */
    WIRE_BAD_VALUE = 6,      /* an option, a name, an id that is not what it should be */
    WIRE_GAP = 7,            /* events before these are missing: the session's last is in WELCOME */
    WIRE_QUOTA = 8,          /* too many systems, names, ... */
    WIRE_NOT_KEPT = 9,       /* the journal cannot be written now; nothing was applied */
    WIRE_NO_MEMORY = 10,     /* nothing was applied */
    WIRE_NO_SESSION = 11,    /* HELLO: there is none of this id (it has ended) */
    WIRE_TAKEN_OVER = 12,    /* fatal: the session goes on in another connection */
    WIRE_TOO_SLOW = 13,      /* fatal: the answers were not read */
    WIRE_STOPPING = 14,      /* fatal: the service stops; come back */
    WIRE_IN_USE = 15,        /* CLOSE, REMOVE: somebody holds or waits */
    WIRE_TOO_LARGE = 16,     /* fatal: a frame above the limit */
    WIRE_NOT_AVAILABLE = 17, /* the engine asked for is not here */
    WIRE_NOT_LEADER = 18,    /* this server only stands by; WIRE_LEADER_IS */
};

/* How the text of WIRE_NOT_LEADER ends: this, and the address of the one that leads, or "unknown".
 * (There may be blanks in the address.) */
#define WIRE_LEADER_IS "the leader is "

/* What it means to whoever has asked. */
gordian_status wire_error_status(unsigned code);
/* May the same be taken later? (A quota without a time to come back is not one that others free.)
 */
bool wire_error_passes(unsigned code, uint64_t retry_ms);

struct wire_error {
    uint16_t code;
    bool fatal;
    uint32_t retry_ms; /* 0: trying again will not help, or may be done at once */
    struct wire_text text;
};

size_t wire_put_error(void *to, size_t room, const struct wire_error *error);
bool wire_get_error(const struct wire_frame *frame, struct wire_error *error);

enum wire_state_flags {
    WIRE_KNOWN = 1,
    WIRE_IS_WAITING = 2,
    WIRE_IS_DEADLOCKED = 4,
    WIRE_IS_UNKEPT = 8, /* the journal cannot be written: what is shown may be lost */
};

struct wire_state {
    uint32_t process;
    uint8_t flags;
    uint64_t waited_ms;                /* it has waited so long */
    const gordian_want *held, *wanted; /* when writing */
    size_t held_count, wanted_count;
};

size_t wire_put_stated(void *to, size_t room, const struct wire_state *state);
/* Lists: first `held_count` wants, then `wanted_count`, to be read with wire_next_want. */
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

#endif
