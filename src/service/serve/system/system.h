/*
 * One named system of the service: a gordian_system that detects deadlocks, or a gordian_bank that
 * avoids them, with what the service knows about it: configuration, owner of each process, since
 * when it waits, the change log, open incidents, counters.
 *
 * All events go through served_feed. It stops after an event that closes a deadlock or waits behind
 * one, so that its caller sees the graph at that moment.
 *
 * Nothing here depends on clients, the journal or sockets. The rest of the service (HTTP,
 * snapshots) reads the fields. Only the files in this folder and core/incident.c change them.
 */
#pragma once

#include "output/show/json.h"
#include "service/serve/system/recent.h"
#include "service/serve/system/tags.h"

#include <gordian/gordian.h>

enum served_kind {
    SERVED_DETECT = 1,
    SERVED_AVOID = 2,
};

/* What happens to the processes of a lost session. */
enum served_loss {
    SERVED_DROP, /* they exit and are removed */
    SERVED_KEEP, /* they stay, without an owner */
};

struct served_config {
    enum served_kind kind;
    char engine[16]; /* "auto", "sparse", ... */
    enum served_loss on_loss;
    gordian_policy recover; /* detect; 0: no process is ended by the service */
    bool queue;             /* avoid */
    uint32_t patience;      /* avoid */
};

void served_config_init(struct served_config *config, enum served_kind kind);
/* Parses "engine=sparse on-loss=drop recover=none" or "engine=holt on-loss=keep queue=yes
 * patience=16". Options that are not named keep their values. GORDIAN_STATUS_INPUT: the error says
 * what is wrong. */
gordian_status served_config_parse(struct served_config *config, const char *text, size_t length,
                                   gordian_error *error);
/* The configuration as text, with every option. */
#define SERVED_CONFIG_TEXT_MAX 160
const char *served_config_text(const struct served_config *config,
                               char buffer[SERVED_CONFIG_TEXT_MAX]);
bool served_config_equal(const struct served_config *left, const struct served_config *right);

/* What the service knows about a process, by process id. */
struct served_process {
    uint64_t since;      /* since when it waits, ms since 1970; 0: it does not wait */
    uint32_t owner;      /* slot of the session; GORDIAN_NONE: no owner */
    uint32_t next, prev; /* in the list of the owner's processes; GORDIAN_NONE at the ends */
    uint32_t incident;   /* slot of its last incident: see served_incident */
    gordian_want want;   /* what it waits for, if that is one resource */
    gordian_want *wants; /* what it waits for, if that is several */
    uint32_t want_count; /* 1: use `want`; more: use `wants`; 0: it does not wait */
    uint32_t want_room;
    uint32_t held;   /* detect: how many multi-unit resources it holds */
    uint32_t acts;   /* how many processes can act for its awaits and have not */
    uint32_t serial; /* of that incident */
    bool awaits;     /* it waits for awaits; units are the acts that are still needed */
};

/* The session that added a resource or opened a system. Slots are reused, so the serial number
 * distinguishes the sessions of a slot. */
struct served_owner {
    uint32_t session; /* GORDIAN_NONE: none, or it has ended */
    uint32_t serial;
};

/* How long it has waited. The wall clock may have been set back. */
static inline uint64_t served_waited(const struct served_process *process, uint64_t now)
{
    return process->since && now > process->since ? now - process->since : 0;
}

/* The `want_count` wants that it waits for. */
static inline const gordian_want *served_waits(const struct served_process *process)
{
    return process->want_count == 1 ? &process->want : process->wants;
}

/* Slot of an open incident: see core/incident.c. */
struct open_incident {
    uint64_t id;       /* 0: the slot is free */
    uint64_t at;       /* ms since 1970 */
    bool cycle;        /* a cycle that the engine knows; it stays until the incident ends */
    uint32_t *members; /* otherwise: processes of the witness. GORDIAN_NONE: it has left; one that
                          was granted what it waited for is no longer a member: served_incident */
    uint32_t member_count;
    uint32_t requester; /* the process may have left */
    uint32_t doomed;    /* how many requests came to wait behind it */
    uint32_t serial; /* of the incident in this slot; distinguishes it from earlier incidents in the
                        slot */

    /* Members of a cycle are visited a few at a time. */
    uint32_t walked;     /* the next to be visited; GORDIAN_NONE: all were */
    bool unreported;     /* its members have not been notified of its beginning */
    uint32_t *concerned; /* sessions of the members visited so far */
    uint32_t concerned_count, concerned_room;
};

/* Counters since the system was opened. */
struct served_counters {
    uint64_t outcomes[16]; /* by gordian_outcome or gordian_verdict */
    uint64_t served;       /* waiting requests that were granted */
    uint64_t incidents;    /* that have begun */
    uint64_t recovered;    /* victims */
    uint64_t lost;         /* processes that ended with their session */
};

struct served_operations;

struct served {
    gordian_allocator memory;
    char name[GORDIAN_NAME_MAX + 1];
    struct served_config config;
    uint64_t opened; /* ms since 1970 */

    const struct served_operations *operations;
    gordian_system *system; /* one of these two; the other is NULL */
    gordian_bank *bank;

    struct served_process *processes; /* by id; records of unused ids are in their initial state */
    uint32_t process_room;
    uint32_t process_count, resource_count; /* in use */
    uint32_t waiting;                       /* processes that wait */
    uint64_t name_bytes;                    /* length of all names */

    struct served_owner *adders; /* by resource */
    uint32_t adder_room;
    struct served_owner opener;
    uint64_t *const *accounts; /* by session: bytes it makes the service keep; NULL: not counted */
    struct meter *meter;       /* memory of the system; NULL: not counted */

    uint64_t seq;  /* number of the last event */
    uint32_t step; /* how many events the service feeds at once, by their cost */
    struct served_counters counters;
    struct recent recent;
    struct tags tags; /* labels: see tags.h */

    bool unresolved;                 /* after a lack of memory, a deadlock may still exist */
    struct open_incident *incidents; /* in no order, with free slots */
    uint32_t incident_count, incident_limit, incident_room;
    uint32_t incident_free; /* the first free slot; `requester` is the next one */
    uint32_t doomed_place;  /* slot of the incident that counts doomed requests */
    uint32_t cycles;        /* open incidents with `cycle` */
    uint64_t marked;        /* how often more members of a cycle have been found */
    uint64_t calm; /* events of processes that do not wait which granted nothing: the set of
                      deadlocked processes is the same before and after */
    uint32_t left; /* slot of the incident that a process left with the last event */

    gordian_answer answer; /* of the last call of the bank */
    gordian_edge *edges;   /* scratch */
    size_t edge_room;
    uint32_t *granted_list; /* granted by the last served_feed */
    size_t granted_count, granted_room;
    uint32_t slot; /* the service's slot of the system */
};

/* The slot of the open incident of a process, or GORDIAN_NONE if it is not known yet: members of a
 * large cycle are found a few at a time. */
static inline uint32_t served_incident(const struct served *served, uint32_t process)
{
    const struct served_process *record = &served->processes[process];
    return record->incident != GORDIAN_NONE &&
                   served->incidents[record->incident].serial == record->serial
               ? record->incident
               : GORDIAN_NONE;
}

/* Opens an empty system. `allocator` must outlive it. On failure *out is NULL. */
gordian_status served_open(struct served **out, const char *name, size_t length,
                           const struct served_config *config, const gordian_allocator *allocator,
                           gordian_error *error);
/* The same for a system that was open before. If its engine is not available now, the default
 * engine replaces it; it gives the same results. The configuration keeps the name. */
gordian_status served_reopen(struct served **out, const char *name, size_t length,
                             const struct served_config *config, const gordian_allocator *allocator,
                             gordian_error *error);
void served_close(struct served *served);

/* The name of the engine that runs, such as "sparse"; a note about it, or NULL (valid until the
 * next call; `buffer` has 256 bytes). */
const char *served_engine_name(const struct served *served);
const char *served_note(const struct served *served, char *buffer, size_t size);

/* Labels for output/show/json.h. A name is valid until the next name of its kind is requested. */
struct served_names {
    const struct served *served;
    char (*buffers)[GORDIAN_NAME_MAX + 1]; /* two: for a process and a resource */
};

struct labels served_labels(const struct served_names *names);
void served_processes_json(struct json *json, const char *key, const struct served *served,
                           const uint32_t *processes, size_t count);

/* ------------------------------------------------------------------ declarations */

uint32_t served_find_process(const struct served *served, const char *name, size_t length);
uint32_t served_find_resource(const struct served *served, const char *name, size_t length);
/* Returns the name in `buffer` of GORDIAN_NAME_MAX + 1 bytes, or the system's own text. NULL: the
 * id is not in use. */
const char *served_process_name(const struct served *served, uint32_t process, char *buffer);
const char *served_resource_name(const struct served *served, uint32_t resource, char *buffer);
/* The same, or "#12" for an id not in use. */
const char *served_process_label(const struct served *served, uint32_t process, char *buffer);
const char *served_resource_label(const struct served *served, uint32_t resource, char *buffer);
uint32_t served_process_limit(const struct served *served);
uint32_t served_resource_limit(const struct served *served);
uint64_t served_units(const struct served *served, uint32_t resource);
uint64_t served_free_units(const struct served *served, uint32_t resource);
bool served_is_waiting(const struct served *served, uint32_t process);

/* A known name keeps its id. In a bank, a known resource gets the new total and a known process the
 * new claims, if that is possible; otherwise GORDIAN_STATUS_INPUT. In a detecting system the units
 * of a resource cannot change. */
gordian_status served_declare_resource(struct served *served, const char *name, size_t length,
                                       uint64_t units, uint32_t *id, gordian_error *error);
gordian_status served_declare_process(struct served *served, const char *name, size_t length,
                                      const gordian_want *claims, size_t count, uint32_t *id,
                                      gordian_error *error);
gordian_status served_remove_resource(struct served *served, uint32_t resource,
                                      gordian_error *error);
/* Removes the process, also from its owner. In a bank, this has the effect of an exit. */
gordian_status served_remove_process(struct served *served, uint32_t process, gordian_error *error);
gordian_status served_weigh(struct served *served, uint32_t process, int64_t priority, int64_t cost,
                            gordian_error *error);
/* Sets labels of an existing process or resource: tags_change. Their memory is charged to the
 * session `payer`, unless that is GORDIAN_NONE. */
gordian_status served_label(struct served *served, enum tags_of of, uint32_t id,
                            const struct wire_text *texts, size_t count, uint32_t payer,
                            gordian_error *error);

/* ------------------------------------------------------------------ events */

/* The result of one event. */
struct served_result {
    uint8_t outcome; /* gordian_outcome or gordian_verdict */
    uint8_t reason;  /* gordian_refusal or gordian_reason, WIRE_WAITS, WIRE_ENGINE_CANNOT */
    uint32_t served; /* how many waiting processes it granted */
};

/* Feeds events in order at the time `now` (ms since 1970). Stops after an event that closes a
 * deadlock or waits behind one, and after one with which a process leaves an open incident. Stops
 * before an event that fails for lack of memory. The caller continues with the rest. *done: the
 * number of applied events, also set on failure. */
gordian_status served_feed(struct served *served, const gordian_event *events, size_t count,
                           uint64_t now, struct served_result *results, size_t *done,
                           gordian_error *error);
/* The processes that the last served_feed granted, in order. */
const uint32_t *served_granted(const struct served *served, size_t *count);

/* Recovery, after an event of `process` closed a deadlock: chooses a victim by the system's policy
 * and ends it, as gordian_recover_one does. GORDIAN_STATUS_END: no process is deadlocked. Granted
 * processes are added to the list above. `weigh`: compute the victim's weight. */
gordian_status served_recover(struct served *served, uint32_t process, uint64_t now, bool weigh,
                              gordian_victim *victim, gordian_error *error);
/* Is the process deadlocked or doomed? */
bool served_is_deadlocked(struct served *served, uint32_t process);
/* The witness of a deadlocked process: gordian_explain. GORDIAN_STATUS_END: it waits for more than
 * `limit` processes. */
gordian_status served_explain(struct served *served, uint32_t process, uint32_t limit,
                              gordian_witness *witness, gordian_error *error);

/* For other calls that grant requests (declarations of a bank, recovery): reserve memory for all
 * waiting processes before, then add the granted ones to the list above. */
bool served_reserve_granted(struct served *served);
void served_record_granted(struct served *served, const uint32_t *processes, size_t count);

static inline bool served_is_stuck(const struct served *served, uint8_t outcome)
{
    return served->config.kind == SERVED_DETECT &&
           (outcome == GORDIAN_OUTCOME_DEADLOCK || outcome == GORDIAN_OUTCOME_DOOMED);
}

/* Determines the result that the request would have. Does not change the state. */
gordian_status served_ask(struct served *served, const gordian_event *request, uint8_t *outcome,
                          gordian_error *error);
/* The name of an outcome of this system, such as "granted". */
const char *served_outcome_text(const struct served *served, uint8_t outcome);

/* The wants of an event: its list, or the one in the event itself. A cancel or exit has none. */
size_t served_wants(const gordian_event *event, gordian_want *one, const gordian_want **wants);

/* ------------------------------------------------------------------ awaits */

/* Does this resource stand for an await? */
static inline bool served_is_await(const struct served *served, uint32_t resource)
{
    return served->system && gordian_is_await(served->system, resource);
}

/* How many units are still waited for; for an await: acts. */
uint64_t served_still_needed(const struct served *served, const gordian_edge *wait);
/* Is it a hold of an await by its own waiter? Such a hold is never shown. */
bool served_is_own_act(const struct served *served, const gordian_edge *hold);

/* For feed.c: reserves memory for one more await; records a new await; records the end of a
 * process's awaits; restores them from the graph; records the drops of the last event. */
bool served_reserve_await(struct served *served, uint32_t process);
void served_begin_await(struct served *served, uint32_t process, uint64_t now);
void served_drop_awaits(struct served *served, uint32_t process);
void served_restore_await(struct served *served, uint32_t process);
void served_note_drops(struct served *served);

/* For feed.c and incident.c: lists the members of cycle incidents when the engine no longer knows
 * them. False: out of memory. */
bool served_list_cycles(struct served *served);

/* ------------------------------------------------------------------ the two kinds */

/* How an event with an outcome changes the state. */
enum served_effect {
    EFFECT_NONE,
    EFFECT_GRANTS,
    EFFECT_WAITS,
    EFFECT_MAY_WAIT, /* it waits if the reason has WIRE_WAITS */
    EFFECT_RELEASES,
    EFFECT_CANCELS,
    EFFECT_LEAVES,
};

/* Operations that differ between detection and avoidance: see kinds.c. */
struct served_operations {
    const char *kind; /* "detect", "avoid" */
    const struct engine_family *engines;
    bool forgets;        /* an exit removes the process; a declaration changes a known name */
    uint8_t effects[16]; /* enum served_effect, by outcome */
    gordian_status (*open)(struct served *served, gordian_error *error);
    /* A failure other than GORDIAN_STATUS_MEMORY: the engine cannot represent the event. If
     * result->served is not 0, record_granted is called next and records the granted processes. */
    gordian_status (*feed)(struct served *served, const gordian_event *event,
                           struct served_result *result, gordian_error *error);
    void (*record_granted)(struct served *served);
    gordian_status (*ask)(struct served *served, const gordian_event *request, uint8_t *outcome,
                          gordian_error *error);
};

extern const struct served_operations served_detection, served_avoidance;

/* Sets the units of a known resource of a bank. Declares a process of a bank: *id is GORDIAN_NONE,
 * or the id of a known process. */
gordian_status bank_set_units(struct served *served, uint32_t resource, const char *name,
                              uint64_t units, gordian_error *error);
gordian_status bank_set_claims(struct served *served, const char *name, const gordian_want *claims,
                               size_t count, uint32_t *id, gordian_error *error);

/* Calls of the library that record nothing. */
gordian_status engine_add_resource(const struct served *served, const char *name, uint64_t units,
                                   uint32_t *id, gordian_error *error);
gordian_status engine_remove_resource(const struct served *served, uint32_t id,
                                      gordian_error *error);

/* ------------------------------------------------------------------ owners */

/* `head`: the owner's first process, or GORDIAN_NONE; it is updated. */
void served_set_owner(struct served *served, uint32_t process, uint32_t owner, uint32_t *head);
void served_drop_owner(struct served *served, uint32_t process, uint32_t *head);

/* Reserves the record of `process`. served_deserialize calls it and sets `since` and `owner` of
 * processes in use. served_restored then does the rest. */
gordian_status served_reserve(struct served *served, uint32_t process, gordian_error *error);
/* Reserves the record of the next resource's owner. */
bool served_reserve_adder(struct served *served);
/* Restores what follows from the graph (waits, counts). The service restores the owners' lists. */
gordian_status served_restored(struct served *served, gordian_error *error);

/* ------------------------------------------------------------------ memory cost */

/* Memory costs in bytes, with a share of all tables: see cost.c. */
#define SERVED_EDGE_BYTES 40 /* a hold or wait outside of records: 32, and spare capacity */

#define SERVED_AWAIT_BYTES 128 /* an await, without the processes that can act */

uint64_t served_system_cost(void);
uint64_t served_resource_cost(const struct served *served, size_t name_length);
uint64_t served_new_process_cost(const struct served *served, size_t name_length, size_t claims);
/* With all it claims, holds and waits for. 0: there is no such process. */
uint64_t served_process_cost(const struct served *served, uint32_t process);
/* The most that the event can add. */
uint64_t served_event_cost(const gordian_event *event);

/* The part that events other than an exit change. The process need not exist. */
uint64_t served_changing_cost(const struct served *served, uint32_t process);

/* The same without the records of a bank. */
static inline uint64_t served_wait_cost(const struct served_process *process)
{
    uint64_t further = process->want_count > 1 ? process->want_count - 1 : 0;
    return (process->held + further + process->acts) * SERVED_EDGE_BYTES +
           (process->awaits ? process->want_count * (uint64_t)SERVED_AWAIT_BYTES : 0) +
           process->want_room * sizeof(gordian_want);
}

/* Charges an object's change of cost to its owner. */
static inline void served_charge(const struct served *served, uint32_t owner, uint64_t before,
                                 uint64_t after)
{
    if (before != after && owner != GORDIAN_NONE && served->accounts)
        (*served->accounts)[owner] += after - before;
}

/* Update `held`: after a grant, after a release, from the graph. */
void served_count_granted(struct served *served, uint32_t process, const gordian_want *wants,
                          size_t count);
void served_count_released(struct served *served, uint32_t process, uint32_t resource);
void served_recount_held(struct served *served, uint32_t process);

/* ------------------------------------------------------------------ edges */

/* The edges of a process (what it holds, what it waits for) or of a resource (its holders, its
 * waiters in order of arrival). Stores up to `room` edges and returns how many there are. */
typedef size_t served_list(const struct served *served, uint32_t id, gordian_edge *edges,
                           size_t room);
served_list served_holdings, served_pending, served_holders, served_waiters;

/* Stores the edges in *edges, which is valid until the next such call. */
enum served_side {
    SERVED_HELD,
    SERVED_WANTED,
    SERVED_HOLDERS,
    SERVED_WAITERS,
};

gordian_status served_edges(struct served *served, enum served_side side, uint32_t id,
                            const gordian_edge **edges, size_t *count, gordian_error *error);
/* Stores the first edges without reading the others, and returns how many it stored. */
size_t served_first_edges(struct served *served, enum served_side side, uint32_t id,
                          gordian_edge *edges, size_t room);
