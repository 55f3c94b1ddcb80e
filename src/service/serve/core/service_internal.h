/*
 * Declarations that the files of the service share. From the outside in:
 *
 *     binary.c, lines.c                the binary and the text form: commands in, answers out
 *     apply.c                          commands: check, apply, append the record
 *     events.c                         events, the command that must be fast
 *     slices.c                         time slicing of long frames
 *     replay.c                         replay of the journal; snapshots
 *     session.c, incident.c            sessions and incidents
 *     lease.c                          lease expiry
 *     quota.c, token_holder.c          memory quotas: meters, accounts, limits
 *     notify.c                         notifications to clients
 *     service.c                        the service itself, and rate limits
 *
 * A command is atomic. It asks service_may_change first. Then come the steps that may fail, before
 * anything changes or leaving everything unchanged on failure. Last, the record in work->record is
 * appended. What a command changes depends on the state and the record only, so a replay of the
 * records gives the same state.
 */
#pragma once

#include "engines/rag/trace.h"
#include "foundation/base/bytes.h"
#include "foundation/base/error.h"
#include "service/serve/core/service.h"
#include "service/wire/wire.h"

#define DEFAULT_SYSTEM "default"

/* How many events are decoded and fed at once. */
#define CHUNK 256
#define WANTS 65536

/* Back-pressure: service_take returns early after this many bytes of answers, or after this time. A
 * few bytes of input can ask for a lot. */
#define TAKE_ANSWERS_MAX (4u << 20)
#define TAKE_NS_MAX      1500000

/* Back-pressure: number of unread bytes at which a client gets no more notifications; the second
 * applies however small its memory quota is. */
#define CLIENT_BACKLOG_MAX (32u << 20)
#define CLIENT_BACKLOG_MIN (64u << 10)

/* Kinds of records. The numbers are part of the journal's format. */
enum record_kind {
    RECORD_OPEN = 1,    /* u32 slot, u32 session, body of OPEN */
    RECORD_CLOSE = 2,   /* u32 slot */
    RECORD_SESSION = 3, /* u32 slot, body of HELLO, without a token */
    RECORD_END = 4,     /* u32 slot of a session */
    RECORD_DECLARE = 5, /* u32 system, u32 session, body of DECLARE */
    RECORD_EVENTS = 6,  /* u32 system, u32 session, body of EVENTS */
    RECORD_REMOVE = 7,  /* u32 system, body of REMOVE */
    RECORD_WEIGH = 8,   /* u32 system, body of WEIGH */
    RECORD_LABEL = 9,   /* u32 system, body of LABEL */
};

#define RECORD_HEAD 9 /* kind, system, session */

struct service_work {
    uint64_t began;  /* service_take: ns */
    uint64_t slice;  /* processor time when the slice passed its limit, ns; 0: not measured */
    uint32_t stops;  /* incident events of the slice */
    uint64_t now;    /* time of the current command, ms since 1970 */
    uint64_t steady; /* the same, monotonic ms */
    uint64_t lease;  /* the same by the clock of leases, see lease.c */
    gordian_event events[CHUNK];
    struct served_result taken[CHUNK];
    gordian_want *wants;         /* capacity WANTS */
    struct wire_result *results; /* results of the current frame */
    size_t result_room, result_count;
    uint32_t *served; /* granted by the current frame, in order */
    size_t served_room, served_count;
    uint64_t fence; /* fencing token of the first applied event of the frame */
    uint32_t *ids;
    size_t id_room;
    struct bytes record; /* of the current command; kept while service->append_pending */
    uint64_t record_at;
    struct output text;  /* JSON of a notification or an incident */
    struct output more;  /* second text buffer */
    struct output third; /* third text buffer */
    struct output labels;
    struct output stuck; /* an answer that notifications may precede */
    gordian_trace trace; /* of the current line */
    uint32_t process;    /* of the event in the line */
    struct line_source {
        const char *text;
        size_t left, blank; /* the first `blank` bytes are read as blanks */
    } line;
    uint64_t deadline; /* by the clock of leases: no lease expires before */
    struct output replay;
    uint64_t replay_second; /* second in which `replays` were stored */
    uint32_t replays;
    uint32_t everything;    /* clients subscribed to every event */
    uint64_t notifications; /* incident notifications so far */
    uint32_t ending;        /* sessions whose processes are being dropped */
    uint32_t walking;       /* incidents with a cycle that is not visited completely */
    bool later;             /* the frame or line is not answered yet: take it again */
    unsigned code;          /* enum wire_error_code of the current failure; 0: by its status */
    uint32_t retry_ms;      /* of the current failure */
    /* Output of the current client up to here need not wait for a record. */
    size_t unmarked;
};

/* Fails with an error code of the protocol. */
#define FAIL_WITH(service, wire_code, error, ...)                                                  \
    ((service)->work->code = (wire_code), fail((error), GORDIAN_STATUS_INPUT, __VA_ARGS__))
/* The same with the column of a word in the line. */
#define FAIL_AT_WORD(service, wire_code, word, error, ...)                                         \
    ((service)->work->code = (wire_code),                                                          \
     fail_at((error), GORDIAN_STATUS_INPUT, 0, (word)->column, __VA_ARGS__))

static inline void text_clear(struct output *text)
{
    text->used = 0;
    text->failure = 0;
}

/* ---- service.c */

/* Can state be changed now? If not, *why. */
bool service_may_change(struct service *service, const char **why);
/* Cancels the client's query of the history. */
void client_drop_question(struct client *client);
/* Is the journal unable to take records now, or may another server be the leader? */
bool service_is_cut_off(const struct service *service);
/* Starts a command: reads the clocks. */
void service_begin(struct service *service);
/* Number of the last record, or of the record that is still to be appended. */
uint64_t service_last(const struct service *service);

static inline struct served *service_system(const struct service *service, uint32_t slot)
{
    return slot < service->system_limit ? service->systems[slot] : NULL;
}

/* ---- quota.c: memory quotas */

/* Makes an allocator that counts for itself and its parent. NULL: out of memory. */
struct meter *meter_new(struct meter *parent);
void meter_free(struct meter *meter);
const gordian_allocator *meter_allocator(struct meter *meter);
/* Applies the limit of all systems together; did it refuse memory since service_begin? */
void quota_set_limit(struct service *service);
void quota_begin(struct service *service);
bool quota_refused(const struct service *service);

/* Charge accounts and refund them. To open or add something, `session` may be GORDIAN_NONE. */
void quota_disown(struct service *service, uint32_t session, const struct served *served,
                  uint32_t process);
void quota_opened(struct service *service, uint32_t session, struct served *served);
void quota_closed(struct service *service, struct served *served);
void quota_added(struct service *service, uint32_t session, struct served *served,
                 uint32_t resource, size_t name_length);
void quota_removed(struct service *service, struct served *served, uint32_t resource,
                   size_t name_length);
/* The session charged for a system or a resource; GORDIAN_NONE: none, or it has ended. */
uint32_t quota_opener(const struct service *service, const struct served *served);
uint32_t quota_adder(const struct service *service, const struct served *served, uint32_t resource);

/* May the session's memory grow by `more`? If not, fails with WIRE_QUOTA. */
gordian_status quota_check(struct service *service, uint32_t session, uint64_t more,
                           gordian_error *error);
/* Does the quota permit the event? Can this many bytes of events exceed it at all? */
bool quota_permits(struct service *service, uint32_t session, const gordian_event *event);
bool quota_is_near(const struct service *service, uint32_t session, size_t bytes);
/* How many bytes of notifications may wait for a client to read them. */
size_t quota_backlog(const struct client *client);
/* Around a declaration: charges the matrices of an engine to the system's opener. WIRE_QUOTA if
 * they did not fit. */
void quota_enter(struct service *service, struct served *served);
gordian_status quota_leave(struct service *service, struct served *served, gordian_status status,
                           gordian_error *error);

/* ---- token_holder.c: usage of all sessions with the same token */

/* The place of a token; GORDIAN_NONE: the name is "", or out of memory. */
uint32_t holder_find(struct service *service, const char *name, size_t length);
const char *holder_name(const struct service *service, uint32_t holder);
void holder_set(struct service *service, uint32_t holder, const struct service_grant *grant);
/* Assigns a session with all its usage to a token. */
void holder_take(struct service *service, uint32_t session, uint32_t holder);
/* Adds to the session's number of names and systems. */
void holder_count(struct service *service, uint32_t session, int names, int systems);
/* May the session have more? If not, fails with WIRE_QUOTA. */
gordian_status holder_check(struct service *service, uint32_t session, int names, int systems,
                            gordian_error *error);
bool holder_permits(struct service *service, uint32_t session, uint64_t bytes);
bool holder_is_limited(const struct service *service, uint32_t session);
/* Finds a system that the client may use. */
gordian_status client_find_system(const struct client *client, struct wire_text name,
                                  struct served **served, gordian_error *error);

/* ---- session.c */

/* Opens a session for a client that has none. */
gordian_status session_ensure(struct client *client, gordian_error *error);
/* Opens a session, or changes lease, flags and name of an existing one. Appends a record. */
gordian_status session_hello(struct service *service, const struct wire_hello *hello,
                             uint32_t *slot, gordian_error *error);
/* The existing session that this HELLO resumes without a change; GORDIAN_NONE: none. */
uint32_t session_same(const struct service *service, const struct wire_hello *hello);
/* The same at a given slot, for a replay. */
gordian_status session_put(struct service *service, uint32_t slot, const struct wire_hello *hello,
                           gordian_error *error);
/* Ends a session: its client disconnected, or its lease expired. */
void session_lost(struct service *service, uint32_t slot);
/* Continues to drop the processes of lost sessions, a step at a time. True: more is left. */
bool session_drop_step(struct service *service);
/* Removes a session. Its remaining processes have no owner. */
void session_forget(struct service *service, uint32_t slot);
/* Makes the session the owner of a process that has none. */
void session_own(struct service *service, uint32_t slot, struct served *served, uint32_t process);
bool session_reserve(struct service *service, uint32_t slot); /* memory for session_own */
void session_disown(struct service *service, struct served *served, uint32_t process);
/* For snapshots: makes slots below `count`, all free; sets the order in which free slots are used.
 */
gordian_status session_reserve_slots(struct service *service, uint32_t count, gordian_error *error);
bool session_order_free(struct service *service, const uint32_t *order, uint32_t count);
void sessions_free(struct service *service);

/* ---- lease.c */

/* How often leases are checked. */
#define TICK_MS 100

/* Reads the clocks: at the start of every command and of every tick. */
void lease_advance_clock(struct service *service);
/* Renews a session's lease: its client was heard (heartbeat). */
void session_renew_lease(struct service *service, struct session *session);
/* Expires leases: ends their sessions. */
void lease_expire(struct service *service);

/* ---- apply.c: each command appends its record */

/* `session`: whose quotas count, or GORDIAN_NONE. */
gordian_status apply_open(struct service *service, uint32_t session, const struct wire_open *open,
                          uint32_t *slot, gordian_error *error);
/* The same at a given slot, for replay and snapshots. */
gordian_status service_put_system(struct service *service, uint32_t slot,
                                  const struct wire_open *open, gordian_error *error);
bool service_reserve_system(struct service *service, uint32_t slot);
/* Makes the meter of a new system; *meter stays NULL with an allocator of the caller's. */
gordian_status service_new_meter(struct service *service, struct meter **meter,
                                 gordian_error *error);
void service_close_served(struct served *served); /* closes the system and its meter */
void service_add_system(struct service *service, uint32_t slot, struct served *served);
void service_drop_system(struct service *service, struct served *served);
gordian_status apply_close(struct service *service, struct served *served, gordian_error *error);
/* The declarations of a frame. work->ids gets an id for each, GORDIAN_NONE if it was refused. Fails
 * if all were refused and the last one for a quota. */
struct apply_declare {
    struct served *served;
    uint32_t session;
    struct wire_list list;
    size_t count;        /* of the ids; > 0 after the first slice */
    bool accepted;       /* at least one was accepted */
    bool sliced, yields; /* as in apply_events */
};

gordian_status apply_declare(struct service *service, struct apply_declare *declare,
                             gordian_error *error);
/* The same for a single declaration; fails if it is refused. */
gordian_status apply_declaration(struct service *service, struct served *served, uint32_t session,
                                 const struct wire_declaration *declaration, uint32_t *id,
                                 gordian_error *error);
/* The ids of a REMOVE, in slices. All ids are checked before the first one is removed. Later slices
 * check each id again and stop at the first failure. */
struct apply_remove {
    struct served *served;
    const struct client *client; /* its rights count */
    uint8_t what;
    struct wire_list all, list; /* of the frame; what is left of it */
    bool checked;               /* the rest is to be removed; false: it is to be checked */
    bool resumed, yields;       /* as in apply_events */
};

gordian_status apply_remove(struct service *service, struct apply_remove *remove,
                            gordian_error *error);
/* The same for a single id, without checking rights. */
gordian_status apply_removal(struct service *service, struct served *served, uint8_t what,
                             uint32_t id, gordian_error *error);
gordian_status apply_weigh(struct service *service, struct served *served,
                           const struct wire_weigh *weigh, gordian_error *error);
/* `session`: the one that sets the labels. Labels of an object without an owner count for its
 * quota. */
gordian_status apply_label(struct service *service, struct served *served, uint32_t session,
                           const struct wire_label *label, gordian_error *error);

/* The events of a frame, encoded. work->results gets a result for each, work->served all granted
 * processes. Fails before anything is applied, except at a malformed event: the ones before it were
 * applied. Events that could not be applied for lack of memory, and all behind them, get
 * WIRE_NOT_TAKEN. */
struct apply_events {
    struct served *served;
    uint32_t session;      /* GORDIAN_NONE: the service itself */
    struct client *client; /* gets the answer, and so no notifications */
    uint64_t first;        /* 0: not numbered */
    struct wire_list list;
    /* Called when a deadlock was closed, before recovery ends a process. NULL: not called. */
    void (*stuck)(struct apply_events *events, const gordian_event *event,
                  const struct served_result *result);
    void *context;        /* of the caller's */
    struct json *victims; /* gets the victims of recovery, unless NULL */
    const char *how; /* the reported end of incidents when a member leaves; NULL: depends on the
                        kind of event */
    /* Slices: with `sliced`, the function may return early and set `yields`. `list` and `first` are
     * then the rest, and work->results has the results so far. `resumed`: work->results has the
     * results of earlier slices. */
    bool sliced, resumed, yields;
};

gordian_status apply_events(struct service *service, struct apply_events *events,
                            gordian_error *error);
/* Answers WIRE_NOT_TAKEN for the rest of the list. */
void apply_not_taken(struct service *service, struct apply_events *events);
/* The same for a single event. */
gordian_status apply_event(struct service *service, struct apply_events *events,
                           const gordian_event *event, gordian_error *error);

/* Begins a record and reserves `more` bytes for its body. */
gordian_status record_begin(struct service *service, enum record_kind kind, uint32_t slot,
                            uint32_t session, size_t more, gordian_error *error);
void record_append(struct service *service);
/* Appends the record with the body of a frame that wire_put_* has put at record_end. */
void record_append_body(struct service *service, size_t frame_size);

static inline uint8_t *record_end(const struct service *service)
{
    return service->work->record.data + service->work->record.used;
}

/* ---- events.c */

/* Returns the fencing token of the next event. It is greater than the token of any earlier event of
 * any system, also after a restart. It follows the time of the records, so it grows even if all
 * state was lost, unless the clock goes back. A grant has the number of its event, so later grants
 * have greater numbers. */
uint64_t fence_next(struct service *service);
/* Sends FENCE, if the client wants it. */
void fence_put(struct client *client, uint64_t fence);

/* ---- slices.c */

/* To be called before a command that may be sliced. */
void slice_begin(struct service *service);
/* Has the slice used up its time at `now` (clock_ns)? */
bool slice_is_over(struct service_work *work, uint64_t now);
/* Ends a slice. The rest is applied when the same frame is taken again. `all`: the whole list of
 * the frame; `rest`: what is left of it. */
void frame_yield(struct client *client, const struct wire_list *rest, const struct wire_list *all);
/* Starts the next slice: restores the results so far and skips what was applied. False: the journal
 * takes no records now. */
bool frame_resume(struct client *client, struct wire_list *list);
/* Sends the notifications that waited for the answer to a sliced frame. */
void frame_end(struct client *client);
void frame_free(struct client *client);
/* Around a notification: redirects it to wait for the answer to a sliced frame. */
void frame_swap_output(struct client *client);

/* ---- incident.c */

void incident_begin(struct service *service, struct served *served, uint32_t requester,
                    uint8_t outcome);
/* Records that `process` has left its incident, and ends the incident if it is resolved. */
void incident_left(struct service *service, struct served *served, uint32_t process,
                   const char *how, bool victim);
void incidents_close_all(struct service *service, struct served *served);
/* Writes {"graph":..., "events":[...]}: the events that led to the incident. */
void incident_replay(struct service *service, struct served *served, const uint32_t *members,
                     size_t count, struct output *out);
/* Continues to visit the members of large cycles, a step at a time. True: more is left. */
bool incidents_walk(struct service *service);
void incidents_save(const struct served *served, struct bytes *bytes);
gordian_status incidents_load(struct service *service, struct served *served, struct bytes_in *in,
                              gordian_error *error);

/* ---- core/notify.c */

/* Notifies the owners of granted processes, except `except`. */
void notify_granted(struct service *service, struct served *served, const uint32_t *processes,
                    size_t count, const struct client *except);
/* Which subscribers to notify of an incident. */
enum notify_who {
    NOTIFY_OTHERS = 1,  /* subscribers to all incidents */
    NOTIFY_MEMBERS = 2, /* subscribers to their own: sessions marked by notify_mark */
    NOTIFY_ALL = 3,
};

/* Marks the sessions that an incident concerns. `leaver`: the process that has just left it, or
 * GORDIAN_NONE. */
void notify_mark(struct service *service, const struct served *served,
                 const struct open_incident *open, uint32_t leaver);
/* Is a marked session subscribed to its own incidents? */
bool notify_has_members(const struct service *service, const struct served *served);
void notify_incident(struct service *service, struct served *served,
                     const struct incident *incident, enum notify_who who);
/* Notifies the subscribers to every event, except `except`. */
void notify_event(struct service *service, struct served *served, const gordian_event *event,
                  uint64_t seq, const struct served_result *result, const uint32_t *granted,
                  const struct client *except);
bool notify_wanted(const struct service *service, const struct served *served);

/* Append to a client's output. client_room returns where to write `size` bytes; NULL: out of
 * memory, and the client will be closed. */
void client_put(struct client *client, const void *bytes, size_t size);
unsigned char *client_room(struct client *client, size_t size);
/* Appends the frame that `encode` (wire_put_...) makes of the arguments. */
#define CLIENT_PUT(client, encode, ...)                                                            \
    do {                                                                                           \
        size_t frame_size = encode(NULL, 0, __VA_ARGS__);                                          \
        unsigned char *frame_start = client_room((client), frame_size);                            \
        if (frame_start)                                                                           \
            encode(frame_start, frame_size, __VA_ARGS__);                                          \
    } while (0)
/* The output from `start` on shows nothing that records after `number` contain. So it need not wait
 * for them, unless earlier output does. */
void client_skip_journal(struct client *client, size_t start, uint64_t number);
/* Sends an error in the client's form. Fatal errors close the connection. */
void client_error(struct client *client, unsigned code, uint32_t retry_ms, uint64_t column,
                  const char *text);
/* Sends the error of a failed command. */
void client_fail(struct client *client, const gordian_error *error);
/* Marks all output as dependent on the next record, and wakes the server. */
void client_wake(struct client *client);

/* ---- binary and text form */

/* Should another client be served now? */
bool client_had_enough(const struct client *client);
size_t binary_take(struct client *client, const unsigned char *bytes, size_t count, size_t budget,
                   size_t *wanted);
size_t lines_take(struct client *client, const unsigned char *bytes, size_t count, size_t budget,
                  size_t *wanted);

/* LINE of the binary form. */
gordian_status lines_take_frame(struct client *client, const struct wire_frame *frame,
                                gordian_error *error);
gordian_status lines_open(struct service *service, gordian_error *error);

void client_bye(struct client *client);
gordian_status client_close_system(struct client *client, struct wire_text name,
                                   gordian_error *error);
/* Fails on a standby: only the leader sends notifications. */
gordian_status client_subscribe(struct client *client, uint8_t mask, gordian_error *error);
bool client_may_write(const struct client *client);
/* May this client change something now? */
gordian_status client_may_change(struct client *client, gordian_error *error);
/* Returns the system in use. */
gordian_status client_system(struct client *client, struct served **served, gordian_error *error);
/* May it open this system, end (exit, cancel, release) this process, modify this object (`verb`:
 * for the message)? Otherwise WIRE_NOT_ALLOWED. */
gordian_status client_may_open(const struct client *client, const struct wire_open *open,
                               gordian_error *error);
bool client_may_end(const struct client *client, const struct served *served, uint32_t process);
gordian_status client_may_modify(const struct client *client, const struct served *served,
                                 uint8_t what, uint32_t id, const char *verb, gordian_error *error);
/* ---- the text form: lines.c (lines, events), line_json.c (answers), line_verbs.c (the other
 * commands) */

static inline struct wire_text word_text(const gordian_word *word)
{
    return (struct wire_text){word->text, word->length};
}

static inline const struct reader *words_of(const struct client *client)
{
    return &client->service->work->trace.inside->reader;
}

/* Takes a line that is not an event: its words are in work->trace. *known: there is such a verb. */
gordian_status verb_take(struct client *client, bool *known, gordian_error *error);
/* {"seq":..,"op":..,"process":..,"result":..,"granted_to":[..] */
void line_event_begin(struct json *json, const struct served *served, gordian_op op,
                      const char *process, const struct served_result *result,
                      const uint32_t *granted);
/* "deadlocked" and "witness". */
void line_stuck(struct json *json, struct served *served, const gordian_event *event,
                uint8_t outcome);
/* "sequence", "stuck" or "short": the reasons in the bank's last answer. */
void line_reasons(struct json *json, const struct served *served);
gordian_status line_state(struct client *client, gordian_error *error);
gordian_status line_systems(struct client *client, gordian_error *error);
gordian_status line_stats(struct client *client, gordian_error *error);

/* HELLO of either form: token and session. */
gordian_status client_hello(struct client *client, const struct wire_hello *hello,
                            gordian_error *error);
/* The answer to HELLO starts at `start`. It contains the number of the session's last event, so it
 * waits for that record only, even while the journal takes no records. */
void client_welcomed(struct client *client, size_t start);
/* May events of this client be applied now (rate limit)? client_spend counts them. */
bool client_may_spend(struct client *client);
void client_spend(struct client *client, uint64_t events);
