/*
 * The service without its sockets: all systems, sessions, leases, subscriptions, quotas, incidents.
 *
 *     bytes of a client ─> service_take ─> commands ─> served systems
 *                                             │
 *                              records ─> write-ahead journal (struct service_journal: the store)
 *                              answers ─> client->out
 *
 * A *client* is one connection: bytes in, bytes out. The binary and the text form of the protocol
 * lead to the same commands. A command that changes something is applied, its record is appended to
 * the journal, and its answer is put into the client's buffer. The answer may be sent only when
 * that record is durable: client->mark is its number.
 *
 * After a restart, the newest snapshot is loaded (service_load_section), and the records after it
 * are replayed (service_replay) by the same code, with the same result.
 *
 * Threads: everything belongs to the thread that runs the event loop. Nothing here blocks.
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
    uint32_t names;             /* processes and resources per system (16 million) */
    uint32_t session_names;     /* processes that a session may own (4 million) */
    uint32_t session_resources; /* resources that a session may add (4 million) */
    uint32_t session_systems;   /* systems that a session may open (16) */
    uint32_t events_a_second;   /* rate limit per client; 0: none (0) */
    uint32_t lease_max_ms;      /* (24 h) */
    uint64_t session_memory;    /* quota of a session, bytes; 0: none (1 GiB) */
    uint64_t memory;            /* of all systems together, bytes; 0: no limit (0) */
    uint32_t incidents_second;  /* stored with a replay, per second; further ones without (10) */
};

/* The journal, as the service uses it. */
struct service_journal {
    void *context;
    /* Appends a record as store_append does, and returns its number. 0: out of memory. */
    uint64_t (*append)(void *context, uint64_t at, const void *bytes, size_t length);
    gordian_status (*incident)(void *context, const struct incident *incident);
    /* Can commands be applied now? If not, why (the disk is full, ...). */
    bool (*healthy)(void *context, const char **why);
    uint64_t (*last)(void *context);             /* number of the last record appended */
    struct questions *(*history)(void *context); /* for queries of the incident history */
    bool (*sure)(void *context); /* can no other server be the leader? NULL: none can */
};

enum service_rights {
    SERVICE_NOTHING = 0,
    SERVICE_READ = 1,       /* query, subscribe */
    SERVICE_SEND = 2,       /* send events, declare and remove */
    SERVICE_ADMINISTER = 4, /* open and close systems */
    SERVICE_END_OTHERS = 8, /* exit, cancel, release and forget processes of other sessions */
    SERVICE_WRITE = 15,     /* all rights */
};

/* The permissions of a token. Texts are copied. */
#define SERVICE_HOLDER_MAX  63
#define SERVICE_SYSTEMS_MAX 255

struct service_grant {
    enum service_rights rights;
    const char *holder;  /* name of the token; "": none */
    const char *systems; /* patterns of permitted systems, with commas; "": all */
    uint64_t max_systems, max_names, max_memory, max_events; /* of all its sessions; 0: no limit */
};

/* Token bucket of a rate limit: events that may come now, in thousandths. Below 0 after a large
 * frame. */
struct rate_bucket {
    int64_t level;
    uint64_t refilled; /* steady ms */
};

/* A token that clients have shown, with the usage of all its sessions: see token_holder.c. */
struct holder {
    char name[SERVICE_HOLDER_MAX + 1];
    char systems[SERVICE_SYSTEMS_MAX + 1];
    uint64_t max_systems, max_names, max_memory, max_events;
    uint64_t system_count, name_count;
    uint64_t memory, memory_at; /* sum at that time plus what was allowed since, bytes; steady ms */
    struct rate_bucket events;  /* the rate limit of its events */
};

struct service_options {
    struct service_limits limits;
    uint8_t durability;                 /* enum wire_durability: for WELCOME */
    const gordian_allocator *allocator; /* NULL: the C library's */
    struct service_journal journal;     /* append NULL: no journal */
    /* Returns what a token permits. NULL: every client may do everything. */
    void (*authorise)(void *context, const char *token, size_t length, struct service_grant *grant);
    bool (*fits)(const char *patterns, const char *name); /* of systems; NULL: all match */
    void *authorise_context;
    /* Is there input that arrived before this time (steady ms) and was not read: a connection to be
     * accepted, a HELLO? NULL: never. */
    bool (*unheard)(void *context, uint64_t since);
    void *unheard_context;
    /* Clocks: ms since 1970, and monotonic ms. NULL: the real ones. */
    uint64_t (*clock)(void *context);
    uint64_t (*steady)(void *context);
    void *clock_context;
};

void service_options_init(struct service_options *options);

/* ------------------------------------------------------------------ clients */

enum client_form {
    CLIENT_UNKNOWN, /* no byte has come yet */
    CLIENT_BINARY,
    CLIENT_LINES,
};

/* A frame that is applied in slices, so that it does not block the event loop: see slices.c. */
struct wire_result;

struct client_frame {
    bool begun;      /* a slice was applied, and more are left */
    bool waits;      /* the next slice waits until the journal takes records again */
    size_t at;       /* bytes of the list that were applied */
    size_t left;     /* events, declarations or ids that were not */
    uint64_t first;  /* number of the next event; 0: not numbered */
    uint64_t now;    /* when the frame began, ms since 1970 */
    uint64_t newest; /* service->fence after the last slice */
    uint64_t fence;  /* of the first applied event */
    struct wire_result *results;
    size_t result_room, result_count;
    uint32_t *served;
    size_t served_room, served_count;
    uint32_t *ids; /* of the declarations */
    size_t id_room, id_count;
    bool accepted;               /* at least one declaration was accepted */
    bool checked;                /* all ids of a REMOVE were checked: the rest is to be removed */
    struct output notifications; /* notifications, to be sent after the answer */
};

struct client {
    struct service *service;
    struct client *next, *prev; /* in the list of all clients */
    enum client_form form;
    enum service_rights rights; /* SERVICE_NOTHING: it must show a token first */
    bool closing;               /* send `out`, then close the connection */
    bool guessed;               /* it showed a wrong token: delay the answer */
    bool fences;                /* it wants fencing tokens with grants */
    bool dirty;                 /* the server's: there is new output */
    uint8_t subscriptions;      /* enum wire_subscription */
    uint32_t system;            /* slot of the system in use; GORDIAN_NONE */
    uint32_t session;           /* slot; GORDIAN_NONE: no session yet */
    uint32_t holder;            /* place of its token in service->holders; GORDIAN_NONE: none */
    struct output out;          /* answers to be sent */
    uint64_t mark;              /* `out` may be sent when this record is durable */
    uint64_t lines;             /* lines read so far, in text form */
    size_t answer_at;          /* where the answer to a LINE starts in `out`, after notifications */
    struct question *question; /* a query of the history that it waits for; NULL: none */
    struct client_frame frame;
    size_t buffered; /* the server's: bytes it buffers for this client besides `out` */
    char label[64];  /* for the log: "unix uid 1000", "10.0.0.1:4711" */

    struct rate_bucket events; /* the rate limit of its events */

    /* Called when the service adds output outside of this client's own service_take, or wants the
     * client closed. */
    void (*wake)(struct client *client);
    /* Has input arrived that service_take has not seen? NULL: never. */
    bool (*has_more)(const struct client *client);
    void *owner; /* the server's connection */
};

/* Adds a client. `rights`: without a token. GORDIAN_STATUS_UNAVAILABLE: too many clients. */
gordian_status service_attach(struct service *service, struct client *client,
                              enum service_rights rights, gordian_error *error);
/* Removes a client whose connection was closed. The lease of its session starts. */
void service_detach(struct client *client);

/* Applies the whole frames or lines in the input, as many as the rate limit permits, but not much
 * more than `budget` bytes. Returns how many bytes were consumed. The rest must be passed again,
 * with new input behind it. *wanted: how many bytes are needed to continue; 0: enough are there,
 * call again after service_backpressure_ms and when the answers were sent. */
size_t service_take(struct client *client, const void *bytes, size_t count, size_t budget,
                    size_t *wanted);
/* Renews the lease of a client's session: input has arrived, though perhaps no whole frame. */
void service_heartbeat(struct client *client);
/* Back-pressure: for how long nothing should be read from a client over its rate limit. 0: read on.
 */
uint32_t service_backpressure_ms(const struct client *client);

/* Sends an error if the client's form is known, and closes the connection after it. */
void service_refuse(struct client *client, unsigned code, uint32_t retry_ms, const char *text);

/* ------------------------------------------------------------------ the service */

/* Counters since the start of the service. */
struct service_counters {
    uint64_t connections, refused; /* accepted; refused */
    uint64_t frames, lines;
    uint64_t events;
    uint64_t bytes_in, bytes_out; /* counted by the server */
    uint64_t errors;              /* errors sent */
    uint64_t wrong_tokens;
    uint64_t duplicates;
    uint64_t cut_off;            /* clients cut off because they did not read */
    uint64_t throttled;          /* times a client was paused for its rate limit */
    uint64_t over_memory;        /* commands and events refused for a memory quota */
    uint64_t leases_ended;       /* sessions that were lost */
    uint64_t stalls, stalled_ms; /* of the event loop; leases do not expire during that time */
    uint64_t turns;              /* iterations of the event loop */
    uint64_t hooks_sent, hooks_failed, hooks_dropped; /* the server's: webhooks of --on-deadlock */
    uint64_t log_suppressed, log_dropped; /* the server's: lines over the rate limit; lines dropped
                                             as the log's queue was full */
    struct metrics_spans spans;           /* of the event loop */
    struct metrics_histogram latency;     /* from the arrival of an event to its answer */
};

/* An observer, such as the event stream of the web page. */
struct service_watcher {
    struct service_watcher *next;
    void *context;
    /* Called when an incident begins or ends. The texts are valid during the call. */
    void (*incident)(void *context, const struct incident *incident);
    /* Called when a system was opened or closed. */
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
    struct hash session_ids; /* from session id to slot */
    struct holder *holders;  /* of tokens that were shown; never removed */
    uint32_t holder_count, holder_room;
    struct client *clients; /* a list */
    uint32_t client_count;
    uint64_t next_incident;
    uint64_t fence; /* fencing token of the newest event: see fence_next */
    struct service_watcher *watchers;
    struct service_counters counters;
    uint64_t started; /* ms since 1970 */
    bool replaying;   /* the journal is replayed: no notifications */
    bool stopping;
    char standby_reason[320]; /* not "": this server is a standby and refuses changes; the reason
                              for clients */
    bool append_pending; /* no memory to append the last record: retry, and apply and send nothing
                    until then */
    struct meter *meter; /* memory of all systems; NULL with an allocator of the caller's */
    struct service_work *work; /* scratch space */
};

/* Makes an empty service with one system, "default". On failure *out is NULL. */
gordian_status service_new(struct service **out, const struct service_options *options,
                           gordian_error *error);
void service_free(struct service *service);

/* To be called now and then, and at the end of each iteration of the event loop. Expires leases and
 * retries a failed append. Returns after how many ms it must be called again at the latest. */
uint32_t service_tick(struct service *service);
/* Is there work for service_tick now? */
bool service_is_busy(const struct service *service);

/* May clients with this token use this system? */
bool service_is_permitted(const struct service *service, uint32_t holder, const char *system);
/* An operator's action: an exit or a cancel of any process, stored with the operator and the
 * reason. GORDIAN_STATUS_UNAVAILABLE: the journal takes no records now. GORDIAN_STATUS_INPUT: no
 * effect (the process does not wait, ...). */
struct service_action {
    gordian_op op;
    uint32_t process;
    const char *who, *why;
};

gordian_status service_act(struct service *service, struct served *served,
                           const struct service_action *action, const char **result,
                           gordian_error *error);
/* Sets labels on behalf of the operator `who`. */
struct wire_label;
gordian_status service_label(struct service *service, struct served *served,
                             const struct wire_label *label, const char *who, gordian_error *error);
/* Finds a system by name; NULL: none. service->systems has all of them. */
struct served *service_find(const struct service *service, const char *name, size_t length);
/* Writes the members that every JSON object of a process has: "since_ms", when it began to wait, in
 * ms since 1970, or null; "owner" or null. */
void service_process_json(struct json *json, const struct service *service,
                          const struct served *served, uint32_t process);
/* Write the nodes of a graph. */
void service_process_node(struct json *json, const struct service *service,
                          const struct served *served, uint32_t process, bool deadlocked);
void service_resource_node(struct json *json, const struct served *served, uint32_t resource);
/* Writes an edge. For an await, its units are the acts still needed. */
void service_graph_edge(struct json *json, const struct served *served, const gordian_edge *edge);

/* Memory of all systems and sessions in bytes; 0 with an allocator of the caller's. */
uint64_t service_memory_used(const struct service *service);
/* Memory of a session in bytes, as its quota counts it. */
uint64_t session_memory(const struct service *service, uint32_t session);

void service_watch(struct service *service, struct service_watcher *watcher);
void service_unwatch(struct service *service, struct service_watcher *watcher);

/* Replaces the limits while the service runs (reload). */
void service_set_limits(struct service *service, const struct service_limits *limits);

uint64_t service_now(const struct service *service);    /* ms since 1970 */
uint64_t service_steady(const struct service *service); /* monotonic ms */

/* ------------------------------------------------------------------ recovery */

/* Replays a record of the journal. */
gordian_status service_replay(struct service *service, uint64_t number, uint64_t at,
                              const void *bytes, size_t length, gordian_error *error);
/* Serializes the service: calls `put` for each section of a snapshot. */
gordian_status service_save(struct service *service,
                            gordian_status (*put)(void *context, const char *name,
                                                  const void *bytes, size_t length,
                                                  gordian_error *error),
                            void *context, gordian_error *error);
/* Loads a section of a snapshot. Sections must come in the order of service_save. */
gordian_status service_load_section(struct service *service, const char *name, const void *bytes,
                                    size_t length, gordian_error *error);
/* Makes this server a standby. `leader`: address of the leader, "" if unknown; NULL: this server is
 * the leader. A standby changes by service_replay only. */
void service_become_standby(struct service *service, const char *leader);
/* Starts the leases of all sessions after the last record was replayed. */
void service_resume(struct service *service);
/* The incident history has ids up to this one: new incidents get higher ids. (After a repair it may
 * know more than the journal.) */
void service_skip_incidents(struct service *service, uint64_t last);
/* Is this incident open? */
bool service_is_open(const struct service *service, uint64_t incident);
