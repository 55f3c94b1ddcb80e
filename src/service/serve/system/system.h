/*
 * One named system of the service: a gordian_system that detects, or a gordian_bank that avoids,
 * and what the service knows beside it: its configuration, whom each process belongs to, since when
 * it waits, what happened last, open incidents, counters.
 *
 * served_feed is the one way events get in. It stops after an event that closes a deadlock or waits
 * behind one, so that whoever calls sees the graph as it was at that moment.
 *
 * Nothing here knows of clients, journals or sockets. Fields are read by everybody in this folder
 * (HTTP, images); they are changed only by served*.c and incident*.c, and by image_load.
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

/* What becomes of the processes of a session that is lost. */
enum served_loss {
    SERVED_DROP, /* they exit, and are forgotten */
    SERVED_KEEP, /* they stay, without an owner */
};

struct served_config {
    enum served_kind kind;
    char engine[16]; /* "auto", "sparse", ... */
    enum served_loss on_loss;
    gordian_policy recover; /* detect: 0: nobody is ended by the service */
    bool queue;             /* avoid */
    uint32_t patience;      /* avoid */
};

void served_config_init(struct served_config *config, enum served_kind kind);
/* Reads "engine=sparse on-loss=drop recover=none" or "engine=holt on-loss=keep queue=yes
 * patience=16"; what is not named stays as it is. GORDIAN_STATUS_INPUT says what is wrong. */
gordian_status served_config_parse(struct served_config *config, const char *text, size_t length,
                                   gordian_error *error);
/* The same text from a configuration, every option named. */
#define SERVED_CONFIG_TEXT_MAX 160
const char *served_config_text(const struct served_config *config,
                               char buffer[SERVED_CONFIG_TEXT_MAX]);
bool served_config_equal(const struct served_config *left, const struct served_config *right);

/* What is known of a process beside the system's own state; by process id. */
struct served_process {
    uint64_t since;      /* it waits since: ms since 1970; 0: it does not wait */
    uint32_t owner;      /* slot of a session; GORDIAN_NONE: nobody */
    uint32_t next, prev; /* among the processes of the same owner; GORDIAN_NONE at the ends */
    uint32_t incident;   /* place of the incident it was part of last: see served_incident */
    gordian_want want;   /* what it waits for, if that is one resource */
    gordian_want *wants; /* else NULL unused, or room for what it waits for */
    uint32_t want_count; /* 1: `want`; more: `wants`; 0: it does not wait */
    uint32_t want_room;
    uint32_t held;   /* detect: how many resources of several units it holds */
    uint32_t acts;   /* of others that can act for its awaits, and have not */
    uint32_t serial; /* of that incident */
    bool awaits;     /* what it waits for are awaits; the units: how many acts are still needed */
};

/* Who added a resource or opened a system: a session's slot, and its serial number, as slots are
 * used again. */
struct served_owner {
    uint32_t session; /* GORDIAN_NONE: nobody any more */
    uint32_t serial;
};

/* How long it has waited, by a clock that may have been set back. */
static inline uint64_t served_waited(const struct served_process *process, uint64_t now)
{
    return process->since && now > process->since ? now - process->since : 0;
}

/* The `want_count` wants that it waits for. */
static inline const gordian_want *served_waits(const struct served_process *process)
{
    return process->want_count == 1 ? &process->want : process->wants;
}

/* A place for an incident that has not ended: see core/incident.c. */
struct open_incident {
    uint64_t id; /* 0: the place is free */
    uint64_t at; /* ms since 1970 */
    bool cycle;  /* the engine knows who is on it: it stays as it is until the incident is over */
    uint32_t *members; /* else processes of the witness; those that have left are GORDIAN_NONE, and
                          those that others have let run are members no more: served_incident */
    uint32_t member_count;
    uint32_t requester; /* may have left */
    uint32_t doomed;    /* how many came to wait behind it */
    uint32_t serial; /* of the incident at this place; processes of an earlier one have another */

    /* Of a cycle: who is on it is looked at some at a time. */
    uint32_t walked;     /* up to this one, which has not been; GORDIAN_NONE: all have */
    bool unreported;     /* those on it have not been told yet that it began */
    uint32_t *concerned; /* sessions met on it so far */
    uint32_t concerned_count, concerned_room;
};

/* Counts since the system was opened. */
struct served_counters {
    uint64_t outcomes[16]; /* by gordian_outcome, or by gordian_verdict */
    uint64_t served;       /* waiting requests that were granted */
    uint64_t incidents;    /* that have begun */
    uint64_t recovered;    /* victims */
    uint64_t lost;         /* processes dropped with their session */
};

struct served_operations;

struct served {
    gordian_allocator memory;
    char name[GORDIAN_NAME_MAX + 1];
    struct served_config config;
    uint64_t opened; /* ms since 1970 */

    const struct served_operations *operations;
    gordian_system *system; /* one of these two, the other is NULL */
    gordian_bank *bank;

    struct served_process *processes; /* by id; records of ids not in use are as new */
    uint32_t process_room;
    uint32_t process_count, resource_count; /* in use */
    uint32_t waiting;                       /* processes that wait */
    uint64_t name_bytes;                    /* of all names */

    struct served_owner *adders; /* by resource */
    uint32_t adder_room;
    struct served_owner opener;
    uint64_t *const *accounts; /* by session: what it makes the service keep; NULL: not counted */
    struct meter *meter;       /* counts what the system takes; NULL: nobody does */

    uint64_t seq;  /* events so far */
    uint32_t step; /* the service's: events it feeds at once, by what they cost */
    struct served_counters counters;
    struct recent recent;
    struct tags tags; /* labels: see tags.h */

    bool unresolved; /* recovery may have left a deadlock behind, for lack of memory */
    struct open_incident *incidents; /* in no order, with free places among them */
    uint32_t incident_count, incident_limit, incident_room;
    uint32_t incident_free; /* the first of these; the next is its `requester` */
    uint32_t doomed_place;  /* of one that stood, perhaps */
    uint32_t cycles;        /* incidents that are */
    uint64_t marked;        /* times that more who are on them have been found */
    uint64_t calm;          /* events of those that wait for nothing, and let nobody run: after them
                               as before, the same can never run again */
    uint32_t left;          /* place of the incident that a process left with the last event */

    gordian_answer answer; /* of the bank's last call */
    gordian_edge *edges;   /* scratch */
    size_t edge_room;
    uint32_t *served_list; /* by the last served_feed */
    size_t served_count, served_room;
    uint32_t slot; /* the service's: its place among the systems */
};

/* The place of the open incident that a process is part of, as far as is known: of a large cycle
 * not all are at once. */
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
/* The same for a system that was open before. If its engine is not available here now, the default
 * engine replaces it, which gives the same answers. The configuration keeps the name. */
gordian_status served_reopen(struct served **out, const char *name, size_t length,
                             const struct served_config *config, const gordian_allocator *allocator,
                             gordian_error *error);
void served_close(struct served *served);

/* "sparse", ...: the engine that runs; what there is to say about it, or NULL (valid until the next
 * call; `buffer` of 256 bytes). */
const char *served_engine_name(const struct served *served);
const char *served_note(const struct served *served, char *buffer, size_t size);

/* The labels of output/show/json.h. A name lasts until the next one of its kind is asked for. */
struct served_names {
    const struct served *served;
    char (*buffers)[GORDIAN_NAME_MAX + 1]; /* two: a process's, a resource's */
};

struct labels served_labels(const struct served_names *names);
void served_processes_json(struct json *json, const char *key, const struct served *served,
                           const uint32_t *processes, size_t count);

/* ------------------------------------------------------------------ declarations */

uint32_t served_find_process(const struct served *served, const char *name, size_t length);
uint32_t served_find_resource(const struct served *served, const char *name, size_t length);
/* Into `buffer` of GORDIAN_NAME_MAX + 1 bytes or the system's own; NULL for an id not in use. */
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

/* Each takes the id of a name that is known. A resource of a bank that is known gets the new total,
 * a process new claims, if that is possible; else GORDIAN_STATUS_INPUT. Units of a resource of a
 * detecting system cannot change. */
gordian_status served_declare_resource(struct served *served, const char *name, size_t length,
                                       uint64_t units, uint32_t *id, gordian_error *error);
gordian_status served_declare_process(struct served *served, const char *name, size_t length,
                                      const gordian_want *claims, size_t count, uint32_t *id,
                                      gordian_error *error);
gordian_status served_remove_resource(struct served *served, uint32_t resource,
                                      gordian_error *error);
/* Of a bank: as an exit. Takes it away from its owner, too. */
gordian_status served_remove_process(struct served *served, uint32_t process, gordian_error *error);
gordian_status served_weigh(struct served *served, uint32_t process, int64_t priority, int64_t cost,
                            gordian_error *error);
/* Labels of a process or a resource that is there: tags_change. What they take is charged to
 * `payer`, unless that is GORDIAN_NONE. */
gordian_status served_label(struct served *served, enum tags_of of, uint32_t id,
                            const struct wire_text *texts, size_t count, uint32_t payer,
                            gordian_error *error);

/* ------------------------------------------------------------------ events */

/* What became of one event. */
struct served_result {
    uint8_t outcome; /* gordian_outcome or gordian_verdict */
    uint8_t reason;  /* gordian_refusal or gordian_reason, WIRE_WAITS, WIRE_ENGINE_CANNOT */
    uint32_t served; /* how many it served */
};

/* Feeds events in order at the time `now` (ms since 1970). Stops after the first that closes a
 * deadlock or waits behind one, after one with which a process leaves an open incident, and before
 * one that fails for lack of memory; the caller goes on with the rest. *done: how many were taken,
 * on failure too. */
gordian_status served_feed(struct served *served, const gordian_event *events, size_t count,
                           uint64_t now, struct served_result *results, size_t *done,
                           gordian_error *error);
/* Who was served by the last served_feed, in order. */
const uint32_t *served_served(const struct served *served, size_t *count);

/* After an event of `process` has closed a deadlock: chooses a victim by the system's policy and
 * ends it, as gordian_recover_one does. GORDIAN_STATUS_END: nobody is deadlocked any more. Whom it
 * served joins the list above. `weigh`: the victim's weight is wanted. */
gordian_status served_recover(struct served *served, uint32_t process, uint64_t now, bool weigh,
                              gordian_victim *victim, gordian_error *error);
/* Can this process never run again? */
bool served_is_deadlocked(struct served *served, uint32_t process);
/* Why, of one that is: gordian_explain. GORDIAN_STATUS_END: it waits for more than `limit`. */
gordian_status served_explain(struct served *served, uint32_t process, uint32_t limit,
                              gordian_witness *witness, gordian_error *error);

/* For calls beside served_feed that serve (a bank's declarations, recovery): room beforehand for
 * all who wait, then those who were, which joins them to the list above. */
bool served_reserve_served(struct served *served);
void served_note_served(struct served *served, const uint32_t *processes, size_t count);

static inline bool served_is_stuck(const struct served *served, uint8_t outcome)
{
    return served->config.kind == SERVED_DETECT &&
           (outcome == GORDIAN_OUTCOME_DEADLOCK || outcome == GORDIAN_OUTCOME_DOOMED);
}

/* What would be answered? Nothing changes. */
gordian_status served_ask(struct served *served, const gordian_event *request, uint8_t *outcome,
                          gordian_error *error);
/* "granted", "blocked", ...: of an outcome of this system. */
const char *served_outcome_text(const struct served *served, uint8_t outcome);

/* The wants of an event: its list, or the one in itself; none of a cancel or an exit. */
size_t served_wants(const gordian_event *event, gordian_want *one, const gordian_want **wants);

/* ------------------------------------------------------------------ awaits */

/* Is this resource somebody's await? */
static inline bool served_is_await(const struct served *served, uint32_t resource)
{
    return served->system && gordian_is_await(served->system, resource);
}

/* How much of it is still waited for: of an await, how many must act yet. */
uint64_t served_still_needed(const struct served *served, const gordian_edge *wait);
/* A hold of an await by the one that awaits: it awaits itself, which is not told. */
bool served_is_own_act(const struct served *served, const gordian_edge *hold);

/* For feed.c: room for one more await; a process has begun one; it awaits nothing any more; the
 * graph is there; what of them went with the last event is written down. */
bool served_reserve_await(struct served *served, uint32_t process);
void served_begin_await(struct served *served, uint32_t process, uint64_t now);
void served_drop_awaits(struct served *served, uint32_t process);
void served_restore_await(struct served *served, uint32_t process);
void served_note_drops(struct served *served);

/* For feed.c and incident.c: whoever is on the cycle of an incident is listed with it, where the
 * engine cannot be asked any more; false: no memory. */
bool served_list_cycles(struct served *served);

/* ------------------------------------------------------------------ the two kinds */

/* What an event with some outcome has changed. */
enum served_effect {
    EFFECT_NONE,
    EFFECT_GRANTS,
    EFFECT_WAITS,
    EFFECT_MAY_WAIT, /* it does, if the reason says WIRE_WAITS */
    EFFECT_RELEASES,
    EFFECT_CANCELS,
    EFFECT_LEAVES,
};

/* What a system that detects and a bank that avoids do each in its own way: system/kinds.c. */
struct served_operations {
    const char *kind; /* "detect", "avoid" */
    const struct engine_family *engines;
    bool forgets;        /* who exits is forgotten; declarations of what is known change it */
    uint8_t effects[16]; /* enum served_effect, by outcome */
    gordian_status (*open)(struct served *served, gordian_error *error);
    /* Beside GORDIAN_STATUS_MEMORY, a failure means that the engine cannot represent it. If
     * result->served is not 0, note_served is called next, and says whom. */
    gordian_status (*feed)(struct served *served, const gordian_event *event,
                           struct served_result *result, gordian_error *error);
    void (*note_served)(struct served *served);
    gordian_status (*ask)(struct served *served, const gordian_event *request, uint8_t *outcome,
                          gordian_error *error);
};

extern const struct served_operations served_detection, served_avoidance;

/* Sets the units of a resource of a bank that is known; declares a process of a bank: *id is the id
 * of one that is known, or GORDIAN_NONE. */
gordian_status bank_set_units(struct served *served, uint32_t resource, const char *name,
                              uint64_t units, gordian_error *error);
gordian_status bank_set_claims(struct served *served, const char *name, const gordian_want *claims,
                               size_t count, uint32_t *id, gordian_error *error);

/* The library's calls, without anything being written down. */
gordian_status engine_add_resource(const struct served *served, const char *name, uint64_t units,
                                   uint32_t *id, gordian_error *error);
gordian_status engine_remove_resource(const struct served *served, uint32_t id,
                                      gordian_error *error);

/* ------------------------------------------------------------------ owners */

/* `head`: the first process of that owner, GORDIAN_NONE if it has none; updated. */
void served_set_owner(struct served *served, uint32_t process, uint32_t owner, uint32_t *head);
void served_drop_owner(struct served *served, uint32_t process, uint32_t *head);

/* Room for the record of `process`. image_load calls it and sets `since` and `owner` of those in
 * use; served_restored, called after it, does the rest. */
gordian_status served_reserve(struct served *served, uint32_t process, gordian_error *error);
/* Room to say who adds the next resource. */
bool served_reserve_adder(struct served *served);
/* The graph is there: fills in what follows from it (what is waited for, counts). Owners get their
 * lists from the service. */
gordian_status served_restored(struct served *served, gordian_error *error);

/* ------------------------------------------------------------------ what things take */

/* Bytes, their share of all tables included: see system/cost.c. */
#define SERVED_EDGE_BYTES 40 /* a hold or a wait that is not part of a record: 32, and room */

#define SERVED_AWAIT_BYTES 128 /* an await, without those that can act */

uint64_t served_system_cost(void);
uint64_t served_resource_cost(const struct served *served, size_t name_length);
uint64_t served_new_process_cost(const struct served *served, size_t name_length, size_t claims);
/* With all it claims, holds and waits for; 0: there is no such process. */
uint64_t served_process_cost(const struct served *served, uint32_t process);
/* The event makes it no more than so much more. */
uint64_t served_event_cost(const gordian_event *event);

/* The part of it that changes with events other than an exit; the process need not exist. */
uint64_t served_changing_cost(const struct served *served, uint32_t process);

/* The same, without what a bank keeps. */
static inline uint64_t served_wait_cost(const struct served_process *process)
{
    uint64_t further = process->want_count > 1 ? process->want_count - 1 : 0;
    return (process->held + further + process->acts) * SERVED_EDGE_BYTES +
           (process->awaits ? process->want_count * (uint64_t)SERVED_AWAIT_BYTES : 0) +
           process->want_room * sizeof(gordian_want);
}

/* Something of `owner`'s takes `after` instead of `before`. */
static inline void served_charge(const struct served *served, uint32_t owner, uint64_t before,
                                 uint64_t after)
{
    if (before != after && owner != GORDIAN_NONE && served->accounts)
        (*served->accounts)[owner] += after - before;
}

/* Keep `held`: after a request was granted, after a release, from the graph. */
void served_count_granted(struct served *served, uint32_t process, const gordian_want *wants,
                          size_t count);
void served_count_released(struct served *served, uint32_t process, uint32_t resource);
void served_recount_held(struct served *served, uint32_t process);

/* ------------------------------------------------------------------ edges */

/* What a process holds, what it waits for, who holds a resource, who waits for it in order of
 * arrival: fills up to `room` edges and returns how many there are. */
typedef size_t served_list(const struct served *served, uint32_t id, gordian_edge *edges,
                           size_t room);
served_list served_holdings, served_pending, served_holders, served_waiters;

/* The same into *edges, which belong to `served` until the next such call. */
enum served_side {
    SERVED_HELD,
    SERVED_WANTED,
    SERVED_HOLDERS,
    SERVED_WAITERS,
};

gordian_status served_edges(struct served *served, enum served_side side, uint32_t id,
                            const gordian_edge **edges, size_t *count, gordian_error *error);
/* The first of them, without looking at the others; how many. */
size_t served_first_edges(struct served *served, enum served_side side, uint32_t id,
                          gordian_edge *edges, size_t room);
