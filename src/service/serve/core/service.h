/*
 * The service without its sockets: all systems, sessions, leases, subscriptions, quotas, incidents.
 *
 *     bytes of a client ─> service_take ─> commands ─> served systems
 *                                             │
 *                              records ─> journal (struct service_journal: the store)
 *                              answers ─> client->out
 *
 * A *client* is one connection as the service sees it: bytes in, bytes out. Both forms of the
 * protocol come down to the same few commands; a command that changes something is applied, then
 * its record is appended to the journal, and its answer put into the client's buffer. Nothing may
 * be sent before that record is kept: client->mark says which.
 *
 * After a restart the newest snapshot is loaded (service_load_section) and the records behind it
 * are applied again (service_replay), by the same code and with the same result.
 *
 * Threads: everything belongs to the one thread that runs the loop. Nothing here waits.
 */
#pragma once

#include "foundation/base/hash.h"
#include "foundation/base/io/output.h"
#include "service/serve/core/metrics.h"
#include "service/serve/core/session.h"
#include "service/serve/store/queries.h"
#include "service/serve/system/system.h"

/* ------------------------------------------------------------------ options */

struct service_limits {
    uint32_t systems;           /* in all (64) */
    uint32_t sessions;          /* in all (65536) */
    uint32_t clients;           /* connected at once (10000) */
    uint32_t names;             /* processes and resources of a system (16 million) */
    uint32_t session_names;     /* processes a session may own (4 million) */
    uint32_t session_resources; /* it may add (4 million) */
    uint32_t session_systems;   /* it may open (16) */
    uint32_t events_a_second;   /* of a client; 0: no limit (0) */
    uint32_t lease_max_ms;      /* (24 h) */
    uint64_t session_memory; /* what a session makes the service keep, bytes; 0: no limit (1 GiB) */
    uint64_t memory;         /* of all systems, bytes; 0: no limit (0) */
    uint32_t incidents_second; /* kept with a replay, of a system; further ones without (10) */
};

/* The journal as the service needs it. */
struct service_journal {
    void *context;
    /* As store_append: the record's number, 0: no memory. */
    uint64_t (*append)(void *context, uint64_t at, const void *bytes, size_t length);
    gordian_status (*incident)(void *context, const struct incident *incident);
    /* May something be applied now? Otherwise why not (the disk is full, ...). */
    bool (*healthy)(void *context, const char **why);
    uint64_t (*last)(void *context);             /* number of the last record appended */
    struct questions *(*history)(void *context); /* for who asks about incidents */
    bool (*sure)(void *context); /* can no other server have taken the lead? NULL: none can */
};

enum service_rights {
    SERVICE_NOTHING = 0,
    SERVICE_READ = 1,       /* look, ask, subscribe */
    SERVICE_SEND = 2,       /* send events, declare and remove */
    SERVICE_ADMINISTER = 4, /* open and close systems */
    SERVICE_END_OTHERS = 8, /* exit, cancel, release and forget what is another session's */
    SERVICE_WRITE = 15,     /* all of it */
};

/* What somebody who has shown a token may do. Texts are copied. */
#define SERVICE_HOLDER_MAX  63
#define SERVICE_SYSTEMS_MAX 255

struct service_grant {
    enum service_rights rights;
    const char *holder;  /* the token's name; "": no token */
    const char *systems; /* patterns of the systems there are for it, with commas; "": all */
    uint64_t max_systems, max_names, max_memory, max_events; /* of all its sessions; 0: no limit */
};

/* A token bucket: how many events may come now, in thousandths, below 0 after a large frame. */
struct rate_bucket {
    int64_t level;
    uint64_t refilled; /* steady ms */
};

/* Who a token belongs to, and what all its sessions have: see token_holder.c. */
struct holder {
    char name[SERVICE_HOLDER_MAX + 1];
    char systems[SERVICE_SYSTEMS_MAX + 1];
    uint64_t max_systems, max_names, max_memory, max_events;
    uint64_t system_count, name_count;
    uint64_t memory,
        memory_at; /* found at that time, and what was allowed since: bytes, steady ms */
    struct rate_bucket events; /* as a client's */
};

struct service_options {
    struct service_limits limits;
    uint8_t durability;                 /* enum wire_durability: for WELCOME */
    const gordian_allocator *allocator; /* NULL: the C library's */
    struct service_journal journal;     /* append NULL: nothing is kept */
    /* What a token permits. NULL: everybody may do everything. */
    void (*authorise)(void *context, const char *token, size_t length, struct service_grant *grant);
    bool (*fits)(const char *patterns, const char *name); /* of systems; NULL: all do */
    void *authorise_context;
    /* May somebody wait to be heard who has come, or sent something, before this moment (steady
     * ms): a connection to be accepted, a HELLO to be read? NULL: never. */
    bool (*unheard)(void *context, uint64_t since);
    void *unheard_context;
    /* Clocks: ms since 1970, and ms of a clock that never goes back. NULL: the real ones. */
    uint64_t (*clock)(void *context);
    uint64_t (*steady)(void *context);
    void *clock_context;
};

void service_options_init(struct service_options *options);

/* ------------------------------------------------------------------ clients */

enum client_form {
    CLIENT_UNKNOWN, /* nothing has come yet */
    CLIENT_BINARY,
    CLIENT_LINES,
};

/* A frame of events or declarations that is applied in slices, so that it never holds the loop for
 * long: see core/slices.c. */
struct wire_result;

struct client_frame {
    bool begun;      /* a slice was applied, and the rest was not */
    bool waits;      /* ... for the journal to take records again */
    size_t at;       /* bytes of its list that are done with */
    size_t left;     /* events, declarations or ids that are not */
    uint64_t first;  /* the number of the next one; 0: they are not numbered */
    uint64_t now;    /* ms since 1970: when the frame began */
    uint64_t newest; /* service->fence behind the last slice */
    uint64_t fence;  /* of the first event that was applied */
    struct wire_result *results;
    size_t result_room, result_count;
    uint32_t *served;
    size_t served_room, served_count;
    uint32_t *ids; /* of declarations */
    size_t id_room, id_count;
    bool accepted;         /* one of these, at least */
    bool checked;          /* all that a REMOVE names: the rest is to be removed */
    struct output notices; /* they come behind the answer */
};

struct client {
    struct service *service;
    struct client *next, *prev; /* of all clients */
    enum client_form form;
    enum service_rights rights; /* SERVICE_NOTHING: a token is needed first */
    bool closing;               /* send what is in `out`, then close */
    bool guessed;               /* a wrong token was shown: its answer is to come late */
    bool fences;                /* numbers come with its grants */
    bool dirty;                 /* for the server: something was put into `out` */
    uint8_t subscriptions;      /* enum wire_subscription */
    uint32_t system;            /* slot of the system in use; GORDIAN_NONE */
    uint32_t session;           /* slot; GORDIAN_NONE: none yet */
    uint32_t holder;            /* of its token; GORDIAN_NONE: it needs none */
    struct output out;          /* answers, in memory */
    uint64_t mark;              /* what is in `out` may be sent when this record is kept */
    uint64_t lines;             /* read so far, in the form of lines */
    size_t answer_at;           /* where the answer to a LINE begins in `out`, behind notices */
    struct question *question;  /* that it waits for the answer of; NULL: none */
    struct client_frame frame;
    size_t buffered; /* the server's: bytes it keeps for this client beside `out` */
    char label[64];  /* for the log: "unix uid 1000", "10.0.0.1:4711" */

    struct rate_bucket events; /* the rate limit of its events */

    /* Called when the service puts something into `out` outside of this client's own
     * service_take, or wants it closed. */
    void (*wake)(struct client *client);
    /* Has something arrived from it that service_take has not had? NULL: never. */
    bool (*has_more)(const struct client *client);
    void *owner; /* the server's connection */
};

/* A new connection. `rights`: what it may do without a token. GORDIAN_STATUS_UNAVAILABLE: too many.
 */
gordian_status service_attach(struct service *service, struct client *client,
                              enum service_rights rights, gordian_error *error);
/* The connection is gone: its session's lease begins. */
void service_detach(struct client *client);

/* Takes what has arrived: whole frames or lines, as many as there are and the quota permits, but
 * not much more than `budget` bytes of them. Returns how many bytes were used up; the rest must be
 * there again, with more behind it, next time. *wanted: how many bytes there must be for anything
 * more to happen; 0: enough are there, but it was enough for now: come again when
 * service_pause_ms have passed and the answers have been sent. */
size_t service_take(struct client *client, const void *bytes, size_t count, size_t budget,
                    size_t *wanted);
/* Something has arrived from it, be it less than a frame: its lease begins anew. */
void service_heard(struct client *client);
/* Over its quota of events: so long nothing should be read from it; 0: read on. */
uint32_t service_pause_ms(const struct client *client);

/* Puts an error into `out`, if the client's form is known, and has the connection closed behind it.
 */
void service_refuse(struct client *client, unsigned code, uint32_t retry_ms, const char *text);

/* ------------------------------------------------------------------ the service */

/* Figures of the whole service, from its start on. */
struct service_counters {
    uint64_t connections, refused; /* accepted; turned away */
    uint64_t frames, lines;
    uint64_t events;
    uint64_t bytes_in, bytes_out; /* the server's */
    uint64_t errors;              /* answers that were errors */
    uint64_t wrong_tokens;
    uint64_t duplicates;
    uint64_t cut_off;            /* clients that did not read */
    uint64_t throttled;          /* times a client was made to wait for its quota */
    uint64_t over_memory;        /* commands and events refused for a client's memory */
    uint64_t leases_ended;       /* sessions that were lost */
    uint64_t stalls, stalled_ms; /* of the service itself: given back to leases */
    uint64_t turns;              /* of the loop */
    uint64_t hooks_told, hooks_failed, hooks_dropped; /* the server's: of --on-deadlock */
    uint64_t log_suppressed, log_dropped; /* the server's: lines over a rate limit; lines for which
                                             the log's queue was full */
    struct metrics_spans spans;           /* of the loop */
    struct metrics_histogram latency; /* from the arrival of an event to its answer's departure */
};

/* Whoever wants to know what happens (the page's stream). */
struct service_watcher {
    struct service_watcher *next;
    void *context;
    /* An incident began or ended. The texts are valid during the call. */
    void (*incident)(void *context, const struct incident *incident);
    /* A system came or went. */
    void (*systems)(void *context);
};

struct service {
    gordian_allocator memory;
    struct service_options options;
    struct served **systems; /* by slot; NULL: free */
    uint32_t system_limit, system_room, system_count;
    struct session *sessions; /* by slot */
    uint32_t session_limit, session_room, session_count, free_session;
    uint64_t *accounts; /* by slot: see quota.c */
    uint32_t account_room, serials;
    struct hash session_ids; /* of the sessions' slots */
    struct holder *holders;  /* of tokens that were shown; they stay */
    uint32_t holder_count, holder_room;
    struct client *clients; /* a list */
    uint32_t client_count;
    uint64_t next_incident;
    uint64_t fence; /* number of the newest event: see fence_next */
    struct service_watcher *watchers;
    struct service_counters counters;
    uint64_t started; /* ms since 1970 */
    bool replaying;   /* records are applied again: nobody is told */
    bool stopping;
    char standing_by[320]; /* not "": another server leads, and this one changes nothing; for who
                              would like to */
    bool unkept; /* the last record could not be appended for lack of memory: it is tried again,
                    and until then nothing is applied or sent */
    struct meter *meter;       /* what the systems take; NULL with an allocator of the caller's */
    struct service_work *work; /* scratch of service*.c */
};

/* An empty service with one system, "default". On failure *out is NULL. */
gordian_status service_new(struct service **out, const struct service_options *options,
                           gordian_error *error);
void service_free(struct service *service);

/* Once in a while, and at the end of every turn: ends leases that are over, tries again what could
 * not be appended. Returns in how many ms it wants to be called again at the latest. */
uint32_t service_tick(struct service *service);
/* Is there something for service_tick to do at once? */
bool service_is_busy(const struct service *service);

/* Is this system there for whoever has this token? */
bool service_is_permitted(const struct service *service, uint32_t holder, const char *system);
/* What an operator does by hand: an exit or a cancel of any process, told the journal with who did
 * it and why. GORDIAN_STATUS_UNAVAILABLE: nothing can be kept now; GORDIAN_STATUS_INPUT: it has no
 * effect (it does not wait, ...). */
struct service_action {
    gordian_op op;
    uint32_t process;
    const char *who, *why;
};

gordian_status service_act(struct service *service, struct served *served,
                           const struct service_action *action, const char **result,
                           gordian_error *error);
/* Labels, likewise, by `who`. */
struct wire_label;
gordian_status service_label(struct service *service, struct served *served,
                             const struct wire_label *label, const char *who, gordian_error *error);
/* A system by name, or NULL; all of them: service->systems. */
struct served *service_find(const struct service *service, const char *name, size_t length);
/* What every JSON object of a process has alike: "since_ms", when it began to wait, in ms since
 * 1970, or null; "owner" or null. */
void service_process_json(struct json *json, const struct service *service,
                          const struct served *served, uint32_t process);
/* Nodes of a graph. */
void service_process_node(struct json *json, const struct service *service,
                          const struct served *served, uint32_t process, bool deadlocked);
void service_resource_node(struct json *json, const struct served *served, uint32_t resource);
/* As it is told step by step: of an await, how many have to act yet. */
void service_graph_edge(struct json *json, const struct served *served, const gordian_edge *edge);

/* Bytes of memory all systems and sessions take; 0 with an allocator of the caller's. */
uint64_t service_memory_used(const struct service *service);
/* What a session makes the service keep, as its quota counts it. */
uint64_t session_memory(const struct service *service, uint32_t session);

void service_watch(struct service *service, struct service_watcher *watcher);
void service_unwatch(struct service *service, struct service_watcher *watcher);

/* Limits and tokens may change while it runs (reload). */
void service_set_limits(struct service *service, const struct service_limits *limits);

uint64_t service_now(const struct service *service);    /* ms since 1970 */
uint64_t service_steady(const struct service *service); /* ms, never goes back */

/* ------------------------------------------------------------------ recovery */

/* Applies a record of the journal again. */
gordian_status service_replay(struct service *service, uint64_t number, uint64_t at,
                              const void *bytes, size_t length, gordian_error *error);
/* All sections of a snapshot: `put` is called for each. */
gordian_status service_save(struct service *service,
                            gordian_status (*put)(void *context, const char *name,
                                                  const void *bytes, size_t length,
                                                  gordian_error *error),
                            void *context, gordian_error *error);
/* A section of a snapshot, in the order they were put. */
gordian_status service_load_section(struct service *service, const char *name, const void *bytes,
                                    size_t length, gordian_error *error);
/* Another server leads, at this address ("": nobody knows): records come through service_replay
 * alone. NULL: this one leads. */
void service_stand_by(struct service *service, const char *leader);
/* After the last record: leases of the sessions that were there begin to run. */
void service_resume(struct service *service);
/* The history has incidents up to this id (it may know of more than the journal, when that was
 * repaired): new ones get higher ids. */
void service_skip_incidents(struct service *service, uint64_t last);
/* Does this incident stand? */
bool service_is_open(const struct service *service, uint64_t incident);
