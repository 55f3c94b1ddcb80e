/*
 * What the files of the service share. From the outside in:
 *
 *     core/binary.c, core/lines.c   the two forms: commands in, answers out
 *     core/apply.c                     commands: check, apply, append the record
 *     core/events.c                    events, the command that must be fast
 *     core/slices.c                    a frame that takes long, in slices
 *     core/replay.c                    records applied again; snapshots
 *     session.c, incident.c               sessions and incidents
 *     lease.c                             the clock of leases, and whose is over
 *     quota.c                             memory: meters, accounts, limits
 *     core/notify.c                    who is told what
 *     service.c                           the service itself
 *
 * A command is applied in one go. It first asks service_may_change; then whatever may fail comes
 * before anything changes, or fails with everything as it was; then the record, built in
 * work->record, is appended. What a command changes is a function of the state and the record
 * alone, so that applying the records again gives the same state.
 */
#pragma once

#include "engines/rag/trace.h"
#include "foundation/base/bytes.h"
#include "foundation/base/error.h"
#include "service/serve/core/service.h"
#include "service/wire/wire.h"

#define DEFAULT_SYSTEM "default"

/* Events are decoded and fed so many at a time. */
#define CHUNK 256
#define WANTS 65536

/* One service_take ends early when so much was answered, or so much time has passed: a few bytes
 * can ask for a lot. */
#define TAKE_ANSWERS_MAX (4u << 20)
#define TAKE_NS_MAX      1500000

/* Unread bytes of a client at which it gets no more notices: at most, and however little memory it
 * may have. */
#define CLIENT_BACKLOG_MAX (32u << 20)
#define CLIENT_BACKLOG_MIN (64u << 10)

/* Kinds of records; the numbers are part of the journal's format. */
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
    uint64_t began; /* service_take: ns */
    uint64_t slice; /* ns of processor time: a slice of events goes on from here; 0: not measured */
    uint32_t stops; /* likewise: events at which a feed has stopped */
    uint64_t now;   /* of the current command: ms since 1970 */
    uint64_t steady; /* likewise */
    uint64_t lease;  /* likewise: the clock of leases, see lease.c */
    gordian_event events[CHUNK];
    struct served_result taken[CHUNK];
    gordian_want *wants;         /* WANTS of them */
    struct wire_result *results; /* of the current frame */
    size_t result_room, result_count;
    uint32_t *served; /* by the current frame, in order */
    size_t served_room, served_count;
    uint64_t fence; /* of the first event of the current frame that was applied */
    uint32_t *ids;
    size_t id_room;
    struct bytes record; /* the current command's; stays while service->unkept */
    uint64_t record_at;
    struct output text;  /* JSON of a notice or an incident */
    struct output more;  /* a second one */
    struct output third; /* and a third */
    struct output labels;
    struct output stuck; /* an answer that notices may come before */
    gordian_trace trace; /* of a line */
    uint32_t process;    /* whose event it is */
    struct line_source {
        const char *text;
        size_t left, blank; /* so many bytes at its beginning are blanks to the reader */
    } line;
    uint64_t deadline; /* the earliest lease to end may be then, by the clock of leases */
    struct output replay;
    uint64_t replay_second; /* incidents kept with a replay in this one */
    uint32_t replays;
    uint32_t everything; /* clients that want every event */
    uint64_t notices;    /* of incidents, so far */
    uint32_t ending;     /* sessions whose processes are being dropped */
    uint32_t walking;    /* incidents whose cycles have not been looked at to the end */
    bool later;          /* the frame or line has no answer yet: it is taken again */
    unsigned code;     /* enum wire_error_code of the failure under way; 0: what its status says */
    uint32_t retry_ms; /* of it */
    /* Of the output of the client that is being served: so much of it waits for no record. */
    size_t unmarked;
};

/* Fails with a code of the protocol's own. */
#define FAIL_WITH(service, wire_code, error, ...)                                                  \
    ((service)->work->code = (wire_code), fail((error), GORDIAN_STATUS_INPUT, __VA_ARGS__))
/* The same with the position of a word in its line. */
#define FAIL_AT_WORD(service, wire_code, word, error, ...)                                         \
    ((service)->work->code = (wire_code),                                                          \
     fail_at((error), GORDIAN_STATUS_INPUT, 0, (word)->column, __VA_ARGS__))

static inline void text_clear(struct output *text)
{
    text->used = 0;
    text->failure = 0;
}

/* ---- service.c */

/* May something be changed now? Otherwise *why. */
bool service_may_change(struct service *service, const char **why);
/* Nobody waits for its answer any more. */
void client_drop_question(struct client *client);
/* Can nothing be kept just now, or may another server lead meanwhile? */
bool service_is_cut_off(const struct service *service);
/* Starts a command: the time. */
void service_begin(struct service *service);
/* The number of the last record, or of the one that waits to be appended. */
uint64_t service_last(const struct service *service);

static inline struct served *service_system(const struct service *service, uint32_t slot)
{
    return slot < service->system_limit ? service->systems[slot] : NULL;
}

/* ---- quota.c: who has how much memory */

/* Counts what is allocated with it, and for its parent. NULL: no memory. */
struct meter *meter_new(struct meter *parent);
void meter_free(struct meter *meter);
const gordian_allocator *meter_allocator(struct meter *meter);
/* The limit of all systems together goes from now on; was it reached since service_begin? */
void quota_set_limit(struct service *service);
void quota_begin(struct service *service);
bool quota_refused(const struct service *service);

/* What happens to accounts. `session` may be GORDIAN_NONE where something is opened or added. */
void quota_disown(struct service *service, uint32_t session, const struct served *served,
                  uint32_t process);
void quota_opened(struct service *service, uint32_t session, struct served *served);
void quota_closed(struct service *service, struct served *served);
void quota_added(struct service *service, uint32_t session, struct served *served,
                 uint32_t resource, size_t name_length);
void quota_removed(struct service *service, struct served *served, uint32_t resource,
                   size_t name_length);
/* Whose quotas a system and a resource count for; GORDIAN_NONE: nobody's, or not any more. */
uint32_t quota_opener(const struct service *service, const struct served *served);
uint32_t quota_adder(const struct service *service, const struct served *served, uint32_t resource);

/* May this session make the service keep so much more? WIRE_QUOTA if not. */
gordian_status quota_check(struct service *service, uint32_t session, uint64_t more,
                           gordian_error *error);
/* May it send this event? And can so many bytes of events be too much at all? */
bool quota_permits(struct service *service, uint32_t session, const gordian_event *event);
bool quota_is_near(const struct service *service, uint32_t session, size_t bytes);
/* So much of what it is to be told may wait for a client to read it. */
size_t quota_backlog(const struct client *client);
/* Around a declaration: the matrices of an engine are the opener's; WIRE_QUOTA if they failed. */
void quota_enter(struct service *service, struct served *served);
gordian_status quota_leave(struct service *service, struct served *served, gordian_status status,
                           gordian_error *error);

/* ---- token_holder.c: what all sessions with the same token may have */

/* The place of this token; GORDIAN_NONE for "", or without memory. */
uint32_t holder_find(struct service *service, const char *name, size_t length);
const char *holder_name(const struct service *service, uint32_t holder);
void holder_set(struct service *service, uint32_t holder, const struct service_grant *grant);
/* A session is its from now on, with all that it has. */
void holder_take(struct service *service, uint32_t session, uint32_t holder);
/* A session has so many more, or less, names and systems. */
void holder_count(struct service *service, uint32_t session, int names, int systems);
/* May it have one more? Otherwise WIRE_QUOTA. */
gordian_status holder_check(struct service *service, uint32_t session, int names, int systems,
                            gordian_error *error);
bool holder_permits(struct service *service, uint32_t session, uint64_t bytes);
bool holder_is_limited(const struct service *service, uint32_t session);
/* The system of this name, if there is one for this client. */
gordian_status client_find_system(const struct client *client, struct wire_text name,
                                  struct served **served, gordian_error *error);

/* ---- session.c */

/* Opens a session for a client that has none. */
gordian_status session_ensure(struct client *client, gordian_error *error);
/* A new session, or changed lease, flags and name of one that is known; journaled. */
gordian_status session_hello(struct service *service, const struct wire_hello *hello,
                             uint32_t *slot, gordian_error *error);
/* The session that this HELLO takes up again without changing it; GORDIAN_NONE: none. */
uint32_t session_same(const struct service *service, const struct wire_hello *hello);
/* The same at a given slot: replay. */
gordian_status session_put(struct service *service, uint32_t slot, const struct wire_hello *hello,
                           gordian_error *error);
/* Its client has gone, or has been silent for too long. */
void session_lost(struct service *service, uint32_t slot);
/* Goes on with dropping what lost sessions own, a piece at a time; true: there is more to do. */
bool session_drop_step(struct service *service);
/* It is over: nobody belongs to it any more. */
void session_forget(struct service *service, uint32_t slot);
/* Makes the process this session's, unless it is somebody's. */
void session_own(struct service *service, uint32_t slot, struct served *served, uint32_t process);
bool session_reserve(struct service *service, uint32_t slot); /* so that session_own can */
void session_disown(struct service *service, struct served *served, uint32_t process);
/* For snapshots: slots below `count`, all free; then the free ones in the order of their use. */
gordian_status session_reserve_slots(struct service *service, uint32_t count, gordian_error *error);
bool session_order_free(struct service *service, const uint32_t *order, uint32_t count);
void sessions_free(struct service *service);

/* ---- lease.c */

/* Leases are looked at this often. */
#define TICK_MS 100

/* Looks at the clocks: at the start of every command, and of every tick. */
void lease_advance_clock(struct service *service);
/* The same without a look back: what was before does not count. */
void lease_reset_clock(struct service *service);
/* A sign of life: its lease begins anew. */
void session_renew_lease(struct service *service, struct session *session);
/* Ends the sessions whose leases are over. */
void lease_judge(struct service *service);

/* ---- core/apply.c: each journals what it does; `client` NULL: nobody in particular */

/* `session`: whose quotas count, or GORDIAN_NONE. */
gordian_status apply_open(struct service *service, uint32_t session, const struct wire_open *open,
                          uint32_t *slot, gordian_error *error);
/* The same at a given slot: replay, snapshots. */
gordian_status service_put_system(struct service *service, uint32_t slot,
                                  const struct wire_open *open, gordian_error *error);
bool service_reserve_system(struct service *service, uint32_t slot);
/* The meter of a system to be opened; *meter stays NULL with an allocator of the caller's. */
gordian_status service_new_meter(struct service *service, struct meter **meter,
                                 gordian_error *error);
void service_close_served(struct served *served); /* and its meter */
void service_add_system(struct service *service, uint32_t slot, struct served *served);
void service_drop_system(struct service *service, struct served *served);
gordian_status apply_close(struct service *service, struct served *served, gordian_error *error);
/* The declarations of a frame: one id for each in work->ids; GORDIAN_NONE for one that was refused.
 * Fails if all of them were, the last for a quota. */
struct apply_declare {
    struct served *served;
    uint32_t session;
    struct wire_list list;
    size_t count;        /* of the ids: not 0 before a slice that is not the first */
    bool accepted;       /* one of them, at least */
    bool sliced, yields; /* as those of apply_events */
};

gordian_status apply_declare(struct service *service, struct apply_declare *declare,
                             gordian_error *error);
/* The same for one that is at hand; fails if it is refused. */
gordian_status apply_declaration(struct service *service, struct served *served, uint32_t session,
                                 const struct wire_declaration *declaration, uint32_t *id,
                                 gordian_error *error);
/* The ids of a frame, in slices. All of them are checked before the first one is removed; in a
 * slice that is not the first each is checked again, and it fails where that does. */
struct apply_remove {
    struct served *served;
    const struct client *client; /* whose rights count */
    uint8_t what;
    struct wire_list all, list; /* of the frame; the rest of it */
    bool checked;               /* the rest is to be removed; false: to be checked */
    bool resumed, yields;       /* as those of apply_events */
};

gordian_status apply_remove(struct service *service, struct apply_remove *remove,
                            gordian_error *error);
/* The same for one, whoever wants it. */
gordian_status apply_removal(struct service *service, struct served *served, uint8_t what,
                             uint32_t id, gordian_error *error);
gordian_status apply_weigh(struct service *service, struct served *served,
                           const struct wire_weigh *weigh, gordian_error *error);
/* `session`: who does it. What belongs to nobody must fit its quotas, too. */
gordian_status apply_label(struct service *service, struct served *served, uint32_t session,
                           const struct wire_label *label, gordian_error *error);

/* Events of a frame, in their wire form. Results, one for each, and everybody served go into
 * work->results and work->served. Fails before anything is applied, except at a malformed event:
 * the ones before it have been. What could not be applied for lack of memory is WIRE_NOT_TAKEN, and
 * so is all behind it. */
struct apply_events {
    struct served *served;
    uint32_t session;      /* GORDIAN_NONE: the service's own */
    struct client *client; /* who is answered, and therefore not told */
    uint64_t first;        /* 0: not numbered */
    struct wire_list list;
    /* Unless NULL: a deadlock has just been closed, and nobody has been ended yet. */
    void (*stuck)(struct apply_events *events, const gordian_event *event,
                  const struct served_result *result);
    void *context;        /* of the caller's */
    struct json *victims; /* unless NULL: gets whom recovery has ended */
    const char *how; /* incidents end like this when a member leaves; NULL: as the event says */
    /* Slices: it may stop when it has taken long. Then `yields` is set, `list` and `first` are
     * those of the rest, and the results so far stay in work->results. `resumed`: they are those
     * of the slices before. */
    bool sliced, resumed, yields;
};

gordian_status apply_events(struct service *service, struct apply_events *events,
                            gordian_error *error);
/* The rest of the list is not applied: WIRE_NOT_TAKEN for each. */
void apply_not_taken(struct service *service, struct apply_events *events);
/* The same for an event that is at hand. */
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

/* The number of the next event: greater than that of any before it, in whatever system, also after
 * a restart, and after everything was lost, unless the clock goes back then: it follows the time of
 * the records. Who is granted something by an event gets its number; so a later holder has a
 * greater one. */
uint64_t fence_next(struct service *service);
/* FENCE, if the client wants it. */
void fence_put(struct client *client, uint64_t fence);

/* ---- slices.c */

/* Before something that may be applied in slices. */
void slice_begin(struct service *service);
/* Has it taken its time by now (clock_ns)? */
bool slice_is_over(struct service_work *work, uint64_t now);
/* After a slice: the rest is applied when the same frame is taken again. `all`: the whole list of
 * the frame; `rest`: what is left of it. */
void frame_yield(struct client *client, const struct wire_list *rest, const struct wire_list *all);
/* Before the next slice: restores the results so far and skips what was applied. False: the journal
 * takes no records now. */
bool frame_resume(struct client *client, struct wire_list *list);
/* It has been answered: the notices that waited for that. Fine without slices. */
void frame_end(struct client *client);
void frame_free(struct client *client);
/* Around a notice: it goes into `out`, or waits for the answer to a frame. */
void frame_swap_output(struct client *client);

/* ---- incident.c */

void incident_begin(struct service *service, struct served *served, uint32_t requester,
                    uint8_t outcome);
/* `process` has left: ends the incident it was part of, if that is over. */
void incident_left(struct service *service, struct served *served, uint32_t process,
                   const char *how, bool victim);
void incidents_close_all(struct service *service, struct served *served);
/* {"graph":..., "events":[...]}: what led to this. */
void incident_replay(struct service *service, struct served *served, const uint32_t *members,
                     size_t count, struct output *out);
/* Goes on with looking at who is on large cycles, a piece at a time; true: there is more to do. */
bool incidents_walk(struct service *service);
void incidents_save(const struct served *served, struct bytes *bytes);
gordian_status incidents_load(struct service *service, struct served *served, struct bytes_in *in,
                              gordian_error *error);

/* ---- core/notify.c */

/* Those served, to the clients they belong to, but not to `except`. */
void notify_granted(struct service *service, struct served *served, const uint32_t *processes,
                    size_t count, const struct client *except);
/* An incident that began or ended, to those who want to know of all, and to those who want to know
 * of their own and whose sessions have been marked since notify_begin: owners of processes, or
 * sessions themselves. */
enum notify_who {
    NOTIFY_OTHERS = 1,  /* who want to know of all */
    NOTIFY_MEMBERS = 2, /* ... only of their own */
    NOTIFY_ALL = 3,
};

/* Marks the sessions that an incident concerns; `leaver`, unless GORDIAN_NONE, has just left it. */
void notify_mark(struct service *service, const struct served *served,
                 const struct open_incident *open, uint32_t leaver);
/* Is there anybody of the latter? */
bool notify_has_members(const struct service *service, const struct served *served);
void notify_incident(struct service *service, struct served *served,
                     const struct incident *incident, enum notify_who who);
/* An event, to those who want every one, but not to `except`. */
void notify_event(struct service *service, struct served *served, const gordian_event *event,
                  uint64_t seq, const struct served_result *result, const uint32_t *granted,
                  const struct client *except);
bool notify_wanted(const struct service *service, const struct served *served);

/* Bytes into a client's buffer. The second gives room for `size` more and counts them; NULL: no
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
/* What was put from `start` on shows nothing that a record after `number` has yet to keep: it need
 * not wait for one, unless it would overtake. */
void client_skip_journal(struct client *client, size_t start, uint64_t number);
/* An error, in the client's form; fatal codes close it. */
void client_error(struct client *client, unsigned code, uint32_t retry_ms, uint64_t column,
                  const char *text);
/* The error of a command that failed. */
void client_fail(struct client *client, const gordian_error *error);
/* Everything that was put is sent after this record is kept. */
void client_wake(struct client *client);

/* ---- the two forms */

/* Is it another client's turn? */
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
/* Fails on a server that is not the leader: it sends no notifications. */
gordian_status client_subscribe(struct client *client, uint8_t mask, gordian_error *error);
bool client_may_write(const struct client *client);
/* May this client change something now? */
gordian_status client_may_change(struct client *client, gordian_error *error);
/* The system in use. */
gordian_status client_system(struct client *client, struct served **served, gordian_error *error);
/* May it open this system, end (exit, cancel, release) this process, remove this? Otherwise
 * WIRE_NOT_ALLOWED. */
gordian_status client_may_open(const struct client *client, const struct wire_open *open,
                               gordian_error *error);
bool client_may_end(const struct client *client, const struct served *served, uint32_t process);
gordian_status client_may_modify(const struct client *client, const struct served *served,
                                 uint8_t what, uint32_t id, const char *verb, gordian_error *error);
/* ---- the form of lines: core/lines.c (lines, events), core/line_json.c (answers),
 * core/line_verbs.c (everything but events) */

static inline struct wire_text word_text(const gordian_word *word)
{
    return (struct wire_text){word->text, word->length};
}

static inline const struct reader *words_of(const struct client *client)
{
    return &client->service->work->trace.inside->reader;
}

/* A line that is not an event: its words are in work->trace. *known: there is such a verb. */
gordian_status verb_take(struct client *client, bool *known, gordian_error *error);
/* {"seq":..,"op":..,"process":..,"result":..,"granted_to":[..] */
void line_event_begin(struct json *json, const struct served *served, gordian_op op,
                      const char *process, const struct served_result *result,
                      const uint32_t *granted);
/* "deadlocked" and "witness". */
void line_stuck(struct json *json, struct served *served, const gordian_event *event,
                uint8_t outcome);
/* "sequence", "stuck" or "short": the reasons of the bank's last answer. */
void line_reasons(struct json *json, const struct served *served);
gordian_status line_state(struct client *client, gordian_error *error);
gordian_status line_systems(struct client *client, gordian_error *error);
gordian_status line_stats(struct client *client, gordian_error *error);

/* HELLO of either form: token, session. */
gordian_status client_hello(struct client *client, const struct wire_hello *hello,
                            gordian_error *error);
/* Its answer has been put, from `start` on. It tells how far the session's events have come, and
 * must wait for them, but for nothing else while the journal cannot be written. */
void client_welcomed(struct client *client, size_t start);
/* May events be taken from this client now? They are counted by client_spend. */
bool client_may_spend(struct client *client);
void client_spend(struct client *client, uint64_t events);
