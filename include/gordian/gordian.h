/*
 * Gordian cuts deadlocks: this is the public interface of libgordian for detection, snapshots and
 * traces; it brings <gordian/avoid.h> and <gordian/makespan.h> with it. Apart are
 * <gordian/compose.h>, for circuits, <gordian/ptx.h>, which reads what a CUDA kernel does from its
 * PTX, <gordian/client.h>, for clients of `gordian serve`, and <gordian/array.h>, a growable array
 * in a GPU's memory for programs with CUDA kernels of their own. A *system* holds processes,
 * resources, and who holds and waits for what. Feed it events, one by one or in batches; each
 * answer says whether the request was granted, waits, closes a deadlock, or can never be served
 * because of an older one.
 *
 *     gordian_system *sys;
 *     gordian_open(&sys, NULL, NULL);
 *     uint32_t fork, spoon, ann, bob;
 *     gordian_add_resource(sys, "fork", 1, &fork, NULL);
 *     ...
 *     gordian_outcome outcome;
 *     gordian_request(sys, ann, fork, 1, &outcome, NULL);
 *
 * Conventions
 *   Status    Every function that can fail returns a gordian_status and takes a gordian_error
 *             (NULL if the text is not wanted). A function that fails leaves the system as it was.
 *   Outputs   Output parameters are written on success only, unless said.
 *   Lists     A `const uint32_t *` handed out belongs to the system and stays valid until the next
 *             call on the same system.
 *   Ids       Processes and resources are small integers handed out by the system, dense from 0,
 *             reused after removal. Names are optional.
 *   Threads   A system may be used by one thread at a time, or, if it was opened so, by any number
 *             at once (see "many threads" below); different systems are independent. The library
 *             has no globals, never prints and never exits.
 */
#ifndef GORDIAN_GORDIAN_H
#define GORDIAN_GORDIAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GORDIAN_VERSION_MAJOR 0
#define GORDIAN_VERSION_MINOR 2
#define GORDIAN_VERSION_PATCH 0

#if defined(__GNUC__)
#define GORDIAN_API __attribute__((visibility("default")))
#else
#define GORDIAN_API
#endif

/* No process, no resource. */
#define GORDIAN_NONE UINT32_MAX

/* Names: 1 to 255 bytes, any but blanks, '#', '=' and NUL. */
#define GORDIAN_NAME_MAX 255

/* ------------------------------------------------------------------ errors */

typedef enum gordian_status {
    GORDIAN_OK = 0,
    GORDIAN_STATUS_END,         /* nothing more to read: not an error */
    GORDIAN_STATUS_INPUT,       /* bad use or bad input */
    GORDIAN_STATUS_UNAVAILABLE, /* the engine asked for is not here, or cannot do this problem */
    GORDIAN_STATUS_MEMORY,      /* out of memory */
    GORDIAN_STATUS_IO,          /* reading or writing failed */
    GORDIAN_STATUS_CANCELLED,   /* what was waited for has been given up (gordian_await_grant) */
    GORDIAN_STATUS_VICTIM,      /* the process was ended while it waited (gordian_await_grant) */
} gordian_status;

typedef struct gordian_error {
    gordian_status status;
    uint64_t line;   /* in a text input: from 1; 0: no place */
    uint64_t column; /* in bytes, from 1; 0: no place */
    char message[400];
} gordian_error;

/* A word or two for a status: "out of memory". */
GORDIAN_API const char *gordian_status_text(gordian_status status);

/* The library's version: "0.2.0". */
GORDIAN_API const char *gordian_version(void);

/* ------------------------------------------------------------------ options */

/* Where the library's memory comes from. `resize(context, NULL, n)` allocates,
 * `resize(context, p, 0)` frees and returns NULL; NULL on n > 0 is failure. */
typedef struct gordian_allocator {
    void *(*resize)(void *context, void *pointer, size_t size);
    void *context;
} gordian_allocator;

typedef struct gordian_options {
    const char *engine; /* "auto" (default), "sparse", "matrix", "cuda", "cuda-blocks", "reduce" */
    const gordian_allocator *allocator; /* NULL: the C library's; must outlive the system */
    bool shared; /* any number of threads may use the system at once: see "many threads" */
    const struct gordian_recorder *recorder; /* shared: who is told the order; NULL: nobody */
    void *reserved[4];                       /* NULL, for what may come */
} gordian_options;

/* Sets every option to its default. */
GORDIAN_API void gordian_options_init(gordian_options *options);

/* ------------------------------------------------------------------ engines */

typedef struct gordian_engine_info {
    const char *family;  /* "detect", ... */
    const char *name;    /* "sparse", ... */
    const char *summary; /* one line */
    bool available;      /* usable on this machine */
    const char *reason;  /* why not; NULL when available */
} gordian_engine_info;

/* Engine number `index`, from 0; GORDIAN_STATUS_END past the last one. */
GORDIAN_API gordian_status gordian_engine(size_t index, gordian_engine_info *info);

/* ------------------------------------------------------------------ devices */

/* A GPU, as the engines named "cuda", and "cuda-blocks", see it. */
typedef struct gordian_device_info {
    char name[128];        /* "" if there is no device */
    bool available;        /* kernels can run on it */
    char reason[200];      /* why not; "" when available */
    uint32_t major, minor; /* compute capability */
    uint32_t multiprocessors;
    uint64_t memory;      /* bytes */
    uint64_t memory_free; /* now */
} gordian_device_info;

/* GPU number `index`, from 0; GORDIAN_STATUS_END past the last one. Without any, number 0 is one
 * that is not available, with the reason: no driver, no device, built without nvcc. */
GORDIAN_API gordian_status gordian_device(size_t index, gordian_device_info *info);

/* ------------------------------------------------------------------ systems */

typedef struct gordian_system gordian_system;

/* What a system has asked of its engine so far; each contains the one before. */
typedef enum gordian_model {
    GORDIAN_MODEL_SINGLE_UNIT, /* every resource has one unit, requests ask for one */
    GORDIAN_MODEL_MULTI_UNIT,  /* resources have several units, requests wait for one */
    GORDIAN_MODEL_GENERAL,     /* requests wait for several units or resources at once */
} gordian_model;

/* Opens an empty system. `options` NULL: the defaults. On failure *out is NULL. */
GORDIAN_API gordian_status gordian_open(gordian_system **out, const gordian_options *options,
                                        gordian_error *error);
/* Frees a system and everything it owns. NULL is fine. */
GORDIAN_API void gordian_close(gordian_system *system);

/* The engine that judges: "sparse". */
GORDIAN_API const char *gordian_engine_name(const gordian_system *system);
/* What the user should know of the engine: that its device failed and `sparse` goes on with the
 * same state, and why. NULL: nothing. */
GORDIAN_API const char *gordian_engine_note(const gordian_system *system);
GORDIAN_API gordian_model gordian_system_model(const gordian_system *system);

/* Makes room ahead for this many processes and resources. */
GORDIAN_API gordian_status gordian_reserve(gordian_system *system, uint32_t processes,
                                           uint32_t resources, gordian_error *error);

/* Adds a resource of `units` units (at least 1). `name` may be NULL; it must be
 * new among the resources. `id` may be NULL, here and below. */
GORDIAN_API gordian_status gordian_add_resource(gordian_system *system, const char *name,
                                                uint64_t units, uint32_t *id, gordian_error *error);
/* Removes a resource nobody holds or waits for; its id and name may come back. */
GORDIAN_API gordian_status gordian_remove_resource(gordian_system *system, uint32_t resource,
                                                   gordian_error *error);
/* Adds a process. `name` may be NULL; it must be new among the processes. */
GORDIAN_API gordian_status gordian_add_process(gordian_system *system, const char *name,
                                               uint32_t *id, gordian_error *error);
/* Removes a process that holds nothing and waits for nothing. */
GORDIAN_API gordian_status gordian_remove_process(gordian_system *system, uint32_t process,
                                                  gordian_error *error);

/* What guides the choice of a victim: low priority and low cost go first. */
GORDIAN_API gordian_status gordian_set_priority(gordian_system *system, uint32_t process,
                                                int64_t priority, gordian_error *error);
GORDIAN_API gordian_status gordian_set_cost(gordian_system *system, uint32_t process, int64_t cost,
                                            gordian_error *error);
GORDIAN_API int64_t gordian_priority(const gordian_system *system, uint32_t process); /* 0 */
GORDIAN_API int64_t gordian_cost(const gordian_system *system, uint32_t process);     /* 1 */

/* By name; GORDIAN_NONE if there is none. The name need not end in NUL. */
GORDIAN_API uint32_t gordian_find_process(const gordian_system *system, const char *name,
                                          size_t length);
GORDIAN_API uint32_t gordian_find_resource(const gordian_system *system, const char *name,
                                           size_t length);
/* "" for one without a name, NULL for an id not in use. */
GORDIAN_API const char *gordian_process_name(const gordian_system *system, uint32_t process);
GORDIAN_API const char *gordian_resource_name(const gordian_system *system, uint32_t resource);

/* Every id in use is below this; ids below may be free (name NULL). */
GORDIAN_API uint32_t gordian_process_limit(const gordian_system *system);
GORDIAN_API uint32_t gordian_resource_limit(const gordian_system *system);

/* ------------------------------------------------------------------ events */

typedef enum gordian_op {
    GORDIAN_OP_REQUEST = 1, /* process asks for its wants, all or nothing */
    GORDIAN_OP_RELEASE,     /* process gives units of one resource back, `to` names who gets them */
    GORDIAN_OP_CANCEL,      /* process gives its pending request up */
    GORDIAN_OP_EXIT,  /* process gives up its request and returns everything; it stays known */
    GORDIAN_OP_HOLD,  /* a snapshot's line: process holds this, whoever waits */
    GORDIAN_OP_WAIT,  /* a snapshot's line: as a request */
    GORDIAN_OP_AWAIT, /* process waits for acts of others, see gordian_await */
    GORDIAN_OP_ACT,   /* process has done its part: for `to`, or for all that await it */
} gordian_op;

typedef enum gordian_outcome {
    GORDIAN_OUTCOME_GRANTED = 1,
    GORDIAN_OUTCOME_BLOCKED,  /* waits, and can still be served */
    GORDIAN_OUTCOME_DEADLOCK, /* waits; this very request closes a new deadlock with it inside */
    GORDIAN_OUTCOME_DOOMED,   /* waits behind an existing deadlock: can never be served */
    GORDIAN_OUTCOME_RELEASED,
    GORDIAN_OUTCOME_CANCELLED,
    GORDIAN_OUTCOME_EXITED,
    GORDIAN_OUTCOME_REFUSED, /* an error: see `refusal`; the system is unchanged */
} gordian_outcome;

typedef enum gordian_refusal {
    GORDIAN_REFUSAL_NONE = 0,
    GORDIAN_REFUSAL_UNKNOWN_PROCESS,
    GORDIAN_REFUSAL_UNKNOWN_RESOURCE,
    GORDIAN_REFUSAL_NO_UNITS,      /* asks for zero units, or for nothing */
    GORDIAN_REFUSAL_OVER_TOTAL,    /* more than the resource has in all */
    GORDIAN_REFUSAL_IS_WAITING,    /* a process that waits may not request or release */
    GORDIAN_REFUSAL_NOT_WAITING,   /* nothing to cancel */
    GORDIAN_REFUSAL_NOT_HELD,      /* releases more than it holds */
    GORDIAN_REFUSAL_BAD_HAND_OVER, /* the one named does not wait for it, or its request does not
                                      fit */
    GORDIAN_REFUSAL_NOT_FREE,      /* a `hold` of units that others hold */
} gordian_refusal;

typedef struct gordian_want {
    uint64_t units;
    uint32_t resource;
} gordian_want;

/* For one resource fill `resource` and `units` and leave `wants` NULL. For several
 * (requests and waits only) point `wants` at `want_count` of them; the same
 * resource named twice adds up. Of an await, `wants` lists the processes that can act, by their
 * ids in `resource`, and `units` says how many of them must. */
typedef struct gordian_event {
    gordian_op op;
    uint32_t process;
    uint32_t resource;
    uint32_t to; /* release: who gets it; GORDIAN_NONE: order of arrival */
    uint64_t units;
    const gordian_want *wants;
    size_t want_count;
} gordian_event;

typedef struct gordian_result {
    uint8_t outcome; /* gordian_outcome */
    uint8_t refusal; /* gordian_refusal */
    uint16_t reserved;
    uint32_t served_count; /* how many waiting processes this event served */
} gordian_result;

/* Feeds one event. A refused event is not a failure: GORDIAN_OK, outcome
 * GORDIAN_OUTCOME_REFUSED. Fails on lack of memory, or when the engine chosen cannot
 * represent the event (GORDIAN_STATUS_UNAVAILABLE); the system is then unchanged. */
GORDIAN_API gordian_status gordian_feed(gordian_system *system, const gordian_event *event,
                                        gordian_result *result, gordian_error *error);

/* Feeds events in order, `results[i]` for `events[i]`; faster than one by one.
 * *done counts the events taken, on failure too. */
GORDIAN_API gordian_status gordian_feed_batch(gordian_system *system, const gordian_event *events,
                                              size_t count, gordian_result *results, size_t *done,
                                              gordian_error *error);

/* Who was served during the last feed, batch or recovery, in order: first those the first event
 * served (its served_count of them), then those the second did, ... */
GORDIAN_API const uint32_t *gordian_served(const gordian_system *system, size_t *count);

/* The same events as calls. */
GORDIAN_API gordian_status gordian_request(gordian_system *system, uint32_t process,
                                           uint32_t resource, uint64_t units,
                                           gordian_outcome *outcome, gordian_error *error);
GORDIAN_API gordian_status gordian_release(gordian_system *system, uint32_t process,
                                           uint32_t resource, uint64_t units,
                                           gordian_outcome *outcome, gordian_error *error);
GORDIAN_API gordian_status gordian_cancel(gordian_system *system, uint32_t process,
                                          gordian_outcome *outcome, gordian_error *error);
GORDIAN_API gordian_status gordian_exit(gordian_system *system, uint32_t process,
                                        gordian_outcome *outcome, gordian_error *error);

/* Waits for acts of other processes: a message, a signal, an arrival. `process` goes on when
 * `needed` of the `count` others have acted (all of them: AND; one: OR). It may await more while it
 * awaits already: then it needs all of its awaits. An act that nobody awaits is not remembered. Who
 * exits acts for everybody: it will do nothing more. The model becomes GORDIAN_MODEL_GENERAL.
 *
 * In the graph an await is a resource without a name: it has `count` units, one held by each of
 * those that can act, of which `process` waits for `needed`. It is there while it is awaited.
 * One that is named twice counts once; `count` of them are all of them.
 * GORDIAN_REFUSAL_OVER_TOTAL: more are needed than there are different ones. */
GORDIAN_API gordian_status gordian_await(gordian_system *system, uint32_t process,
                                         const uint32_t *others, size_t count, size_t needed,
                                         gordian_outcome *outcome, gordian_error *error);
/* `process` has done its part, for `to` or (GORDIAN_NONE) for all that await it; outcome
 * GORDIAN_OUTCOME_RELEASED. Refused: it waits itself, or nobody awaits it. */
GORDIAN_API gordian_status gordian_act(gordian_system *system, uint32_t process, uint32_t to,
                                       gordian_outcome *outcome, gordian_error *error);
/* Is this resource somebody's await? */
GORDIAN_API bool gordian_is_await(const gordian_system *system, uint32_t resource);

/* "granted", "error" for GORDIAN_OUTCOME_REFUSED, ...; "request", ...; "single-unit", ... */
GORDIAN_API const char *gordian_outcome_text(gordian_outcome outcome);
GORDIAN_API const char *gordian_op_text(gordian_op op);
GORDIAN_API const char *gordian_model_text(gordian_model model);
/* Why an event was refused, with names, into a caller's buffer; returns it. */
GORDIAN_API const char *gordian_refusal_text(const gordian_system *system,
                                             const gordian_event *event, gordian_refusal refusal,
                                             char *buffer, size_t size);

/* ------------------------------------------------------------------ questions */

/* Does it wait for something? How many units does a resource have, and how many has nobody? */
GORDIAN_API bool gordian_is_waiting(const gordian_system *system, uint32_t process);
GORDIAN_API uint64_t gordian_units(const gordian_system *system, uint32_t resource);
GORDIAN_API uint64_t gordian_free_units(const gordian_system *system, uint32_t resource);

/* An edge of the resource-allocation graph. */
typedef struct gordian_edge {
    uint64_t units;
    uint32_t process;
    uint32_t resource;
    bool waits; /* true: process waits for units of resource; false: it holds them */
} gordian_edge;

/* Each fills up to `room` edges and returns how many there are. */
GORDIAN_API size_t gordian_holdings(const gordian_system *system, uint32_t process,
                                    gordian_edge *edges, size_t room);
GORDIAN_API size_t gordian_pending(const gordian_system *system, uint32_t process,
                                   gordian_edge *edges, size_t room);
GORDIAN_API size_t gordian_holders(const gordian_system *system, uint32_t resource,
                                   gordian_edge *edges, size_t room);
/* Those waiting for a resource, in order of arrival. */
GORDIAN_API size_t gordian_waiters(const gordian_system *system, uint32_t resource,
                                   gordian_edge *edges, size_t room);

/* Whom `process` waits for: the holders of what it still lacks, each once,
 * ascending; none when it runs. */
GORDIAN_API gordian_status gordian_waits_for(gordian_system *system, uint32_t process,
                                             const uint32_t **processes, size_t *count,
                                             gordian_error *error);

/* Every process that can never run again, ascending. */
GORDIAN_API gordian_status gordian_deadlocked(gordian_system *system, const uint32_t **processes,
                                              size_t *count, gordian_error *error);

/* Why `process` can never run again. In a single-unit system, for a process on
 * a cycle, the cycle: edges alternate wait, hold, wait, ... starting at
 * `process`, and the last hold leads back to it. Otherwise the edges of an
 * irreducible part: all waits of its members and their holdings of what is
 * waited for; whatever everyone else does, none of its members can ever
 * proceed. GORDIAN_STATUS_INPUT if the process can still run. */
typedef struct gordian_witness {
    bool cycle;
    const gordian_edge *edges;
    size_t count;
} gordian_witness;

/* Fills in the witness; its edges belong to the system, until its next event or question. */
GORDIAN_API gordian_status gordian_explain(gordian_system *system, uint32_t process,
                                           gordian_witness *witness, gordian_error *error);

/* ------------------------------------------------------------------ what would deadlock? */

/* What each of these requests (GORDIAN_OP_REQUEST or GORDIAN_OP_WAIT), fed alone and now, would be
 * answered: GORDIAN_OUTCOME_GRANTED, _BLOCKED, _DEADLOCK, _DOOMED or _REFUSED. Nothing changes;
 * requests that the engine chosen could not represent are judged all the same. */
GORDIAN_API gordian_status gordian_what_if(gordian_system *system, const gordian_event *requests,
                                           size_t count, gordian_outcome *outcomes,
                                           gordian_error *error);

/* All pairs at once: sets bit q of row p, deadlock[p * stride + q / 64] >> (q % 64) & 1, if
 * process p, asking now for one unit of resource q, would close a deadlock, and clears it if not.
 * There are gordian_process_limit() rows of `stride` words, each at least long enough for
 * gordian_resource_limit() bits. `doomed`, unless NULL, gets one row: bit q is set if whoever asks
 * for a unit of q now could never be served. Engines that keep matrices are asked for the answer,
 * for others it is computed from the graph. */
GORDIAN_API gordian_status gordian_what_if_all(gordian_system *system, uint64_t *deadlock,
                                               size_t stride, uint64_t *doomed,
                                               gordian_error *error);

/* ------------------------------------------------------------------ recovery */

typedef enum gordian_policy {
    GORDIAN_POLICY_YOUNGEST = 1,    /* came last */
    GORDIAN_POLICY_OLDEST,          /* came first */
    GORDIAN_POLICY_CHEAPEST,        /* lowest cost */
    GORDIAN_POLICY_LOWEST_PRIORITY, /* lowest priority */
    GORDIAN_POLICY_FEWEST_HELD,     /* fewest units held */
} gordian_policy;

/* "fewest-held" and the like; false if there is no such policy. */
GORDIAN_API bool gordian_policy_parse(const char *text, gordian_policy *policy);
GORDIAN_API const char *gordian_policy_text(gordian_policy policy);

typedef struct gordian_victim {
    uint32_t process;
    int64_t weight;            /* what the policy went by: cost, priority, units, or the count
                                  of processes that came before it (youngest, oldest) */
    const gordian_edge *frees; /* what it held */
    size_t frees_count;
    const uint32_t *served; /* who could go on at once */
    size_t served_count;
} gordian_victim;

/* Chooses one victim among the processes of the deadlocks' irreducible parts and
 * ends it (as GORDIAN_OP_EXIT does). GORDIAN_STATUS_END when nobody is deadlocked: call
 * until then. Ties go to the process that came last. The victim's lists stay
 * valid until the next call on the system. */
GORDIAN_API gordian_status gordian_recover_one(gordian_system *system, gordian_policy policy,
                                               gordian_victim *victim, gordian_error *error);

/* ------------------------------------------------------------------ matrices */

/* The state of an engine that keeps matrices: "matrix", and "cuda" and "cuda-blocks" while their
 * device works. */
typedef enum gordian_matrix {
    GORDIAN_MATRIX_AG,   /* resource x process: grants (bits; counts in multi-unit systems) */
    GORDIAN_MATRIX_AR,   /* process x resource: requests */
    GORDIAN_MATRIX_SINK, /* resource x process: the sink each resource leads to (single-unit) */
    GORDIAN_MATRIX_RR,   /* resource x resource: reachability (single-unit) */
    GORDIAN_MATRIX_RP,   /* resource x process: reachability */
} gordian_matrix;

/* One element: 0 or 1, or a count of units for AG in multi-unit systems.
 * GORDIAN_STATUS_UNAVAILABLE where the engine or the model has no such matrix. */
GORDIAN_API gordian_status gordian_matrix_get(const gordian_system *system, gordian_matrix matrix,
                                              uint32_t row, uint32_t column, uint64_t *value,
                                              gordian_error *error);
/* One row of bits, packed into 64-bit words, least significant bit first.
 * *words is valid until the next call on the system. No row of AG in multi-unit
 * systems: GORDIAN_STATUS_UNAVAILABLE. */
GORDIAN_API gordian_status gordian_matrix_row(const gordian_system *system, gordian_matrix matrix,
                                              uint32_t row, const uint64_t **words, size_t *count,
                                              gordian_error *error);

/* ------------------------------------------------------------------ snapshots */

/* A snapshot is a bag of holds and waits, put together in any order and judged
 * as a whole, in time linear in its size. It knows ids only; names are a
 * matter of who reads them. Ids run below the counts given at the start. */
typedef struct gordian_snapshot gordian_snapshot;

/* An empty one, and its end; the allocator, NULL for the C library's, must outlive it. NULL may be
 * closed. */
GORDIAN_API gordian_status gordian_snapshot_open(gordian_snapshot **out,
                                                 const gordian_allocator *allocator,
                                                 gordian_error *error);
GORDIAN_API void gordian_snapshot_close(gordian_snapshot *snapshot);
/* The state of a system, with the system's ids. */
GORDIAN_API gordian_status gordian_snapshot_take(gordian_snapshot **out,
                                                 const gordian_system *system,
                                                 gordian_error *error);
/* Ids are handed out densely from 0. */
GORDIAN_API gordian_status gordian_snapshot_add_resource(gordian_snapshot *snapshot, uint64_t units,
                                                         uint32_t *id, gordian_error *error);
GORDIAN_API gordian_status gordian_snapshot_add_process(gordian_snapshot *snapshot, uint32_t *id,
                                                        gordian_error *error);
/* GORDIAN_STATUS_INPUT when the holds of a resource would exceed its units. */
GORDIAN_API gordian_status gordian_snapshot_hold(gordian_snapshot *snapshot, uint32_t process,
                                                 uint32_t resource, uint64_t units,
                                                 gordian_error *error);
/* All waits of a process together are one request. GORDIAN_STATUS_INPUT when a wait
 * exceeds the resource's units. */
GORDIAN_API gordian_status gordian_snapshot_wait(gordian_snapshot *snapshot, uint32_t process,
                                                 uint32_t resource, uint64_t units,
                                                 gordian_error *error);

/* `process` waits for acts of `needed` of the others (gordian_await); several awaits of a process,
 * and its waits, are one request. The await becomes a resource, which *resource, unless NULL,
 * names. GORDIAN_STATUS_INPUT if more are needed than there are different ones. */
GORDIAN_API gordian_status gordian_snapshot_await(gordian_snapshot *snapshot, uint32_t process,
                                                  const uint32_t *others, size_t count,
                                                  size_t needed, uint32_t *resource,
                                                  gordian_error *error);

/* A deadlock of a snapshot: a cycle (single-unit), or an irreducible part. Its
 * `processes` are ascending; for a cycle, in the order of the cycle from the
 * smallest id on, processes[i] waiting for resources[i] held by processes[i+1]. */
typedef struct gordian_part {
    bool cycle;
    const uint32_t *processes;
    const uint32_t *resources; /* what they wait for among each other */
    size_t process_count;
    size_t resource_count;
} gordian_part;

typedef struct gordian_report {
    gordian_model model;
    const uint32_t *deadlocked; /* every process that can never run again, ascending */
    size_t deadlocked_count;
    const gordian_part *parts; /* every deadlock, by smallest process */
    size_t part_count;
    const char *engine; /* that judged: "sparse" or "cuda" */
} gordian_report;

/* How many it knows. */
GORDIAN_API uint32_t gordian_snapshot_processes(const gordian_snapshot *snapshot);
GORDIAN_API uint32_t gordian_snapshot_resources(const gordian_snapshot *snapshot);

/* Judges the snapshot. The report belongs to it and lasts until its next change, or until another
 * engine judges it. */
GORDIAN_API gordian_status gordian_snapshot_check(gordian_snapshot *snapshot,
                                                  gordian_report *report, gordian_error *error);
/* The same with an engine: "sparse", "cuda" (an NVIDIA GPU; GORDIAN_STATUS_UNAVAILABLE if there is
 * none, GORDIAN_STATUS_MEMORY, before anything is done, if it has too little memory,
 * GORDIAN_STATUS_IO if it fails), or "auto": the GPU where there is one and the snapshot is large
 * enough for it to pay, sparse otherwise or if the GPU cannot. All give the same report. */
GORDIAN_API gordian_status gordian_snapshot_check_with(gordian_snapshot *snapshot,
                                                       const char *engine, gordian_report *report,
                                                       gordian_error *error);
/* How a snapshot is read and judged; zeros are the defaults. */
typedef struct gordian_check_options {
    const char *engine; /* as above; NULL: "auto" */
    unsigned threads;   /* at most; 0: one for every core this process may use. A small snapshot,
                           or one with an allocator of the caller's, takes one in any case */
} gordian_check_options;
/* The same with options, NULL: the defaults. The report does not depend on them, but for the name
 * of the engine. */
GORDIAN_API gordian_status gordian_snapshot_check_for(gordian_snapshot *snapshot,
                                                      const gordian_check_options *options,
                                                      gordian_report *report, gordian_error *error);
/* The edges between the members of a part: their waits and their holdings of
 * what is waited for. Valid until the next call. */
GORDIAN_API gordian_status gordian_snapshot_edges(gordian_snapshot *snapshot,
                                                  const gordian_part *part,
                                                  const gordian_edge **edges, size_t *count,
                                                  gordian_error *error);

/* ------------------------------------------------------------------ traces */

/* Reads up to `size` bytes into `buffer`: the count, 0 at the end, -1 on failure
 * (errno says why). */
typedef struct gordian_source {
    ptrdiff_t (*read)(void *context, char *buffer, size_t size);
    void *context;
} gordian_source;

/* A text in memory, and a source that takes it from there: `bytes` says what is left, and must
 * outlive the source. */
typedef struct gordian_bytes {
    const char *next;
    size_t left;
} gordian_bytes;

/* A source that reads from memory; *bytes, which it moves along, must outlive it. */
GORDIAN_API gordian_source gordian_source_bytes(gordian_bytes *bytes);
/* A source that reads a file descriptor, which stays open; *fd must outlive it. */
GORDIAN_API gordian_source gordian_source_fd(const int *fd);

/* Where a text goes. Each writes all of it; false: it failed (errno says why), and nothing more is
 * written. `rewrite` overwrites what was written before at an offset; NULL where that cannot be
 * (a pipe). */
typedef struct gordian_writer {
    bool (*write)(void *context, const char *bytes, size_t size);
    bool (*rewrite)(void *context, uint64_t offset, const char *bytes, size_t size);
    void *context;
} gordian_writer;

/* A writer for a file descriptor, which stays open; *fd must outlive it. It rewrites if that is a
 * regular file of which nothing has been written. */
GORDIAN_API gordian_writer gordian_writer_fd(const int *fd);

/* A trace, or a snapshot, line by line: from text to operations.
 *
 *     resource NAME [UNITS]
 *     process NAME [KEY=VALUE ...]
 *     request P Q[=N] [Q[=N] ...]
 *     release P Q[=N] [to P2]
 *     cancel P
 *     exit P
 *     hold P Q[=N]
 *     wait P Q[=N] [Q[=N] ...]
 *     await P [K of | any of | all of] P1 [P2 ...]     (only if `acts` is set)
 *     act P1 [for P]                                   (the same)
 *
 * A trace for avoidance differs in two places:
 *
 *     process NAME [Q=N ...]            what it claims
 *     release P Q[=N] [Q[=N] ...]       as a request; who gets it is not the trace's to say
 *
 * A line is read as a whole and checked against this, nothing more: what its names mean, and which
 * keys a process may have, is the consumer's to judge. */
typedef enum gordian_line {
    GORDIAN_LINE_EVENT = 1, /* what kind of event: `op` */
    GORDIAN_LINE_PROCESS,
    GORDIAN_LINE_RESOURCE,
} gordian_line;

/* A word of a line; it does NOT end in a NUL. */
typedef struct gordian_word {
    const char *text;
    uint32_t length;
    uint32_t column; /* from 1, in bytes */
} gordian_word;

/* Q=N of an event, KEY=VALUE of a process line. */
typedef struct gordian_trace_item {
    gordian_word word; /* as written */
    gordian_word name;
    gordian_word value; /* text NULL: there is none (only in an event) */
    uint64_t units;     /* in an event: what the value says, or 1 */
} gordian_trace_item;

typedef struct gordian_trace {
    bool avoidance; /* yours to set once it is open */
    bool acts;      /* the same: await and act are known; else they are unknown words */

    /* The current line. Its words are valid until the next one is read. */
    uint64_t line;
    gordian_line kind;
    gordian_op op;                   /* of an event */
    gordian_word verb;               /* the first word */
    gordian_word name;               /* whose event; or what is declared, and with how many units */
    uint64_t units;                  /* await: of how many */
    gordian_word to;                 /* release: who gets it; act: for whom; text NULL: not named */
    const gordian_trace_item *items; /* at least one unless cancel, exit, act or a declaration; of
                                        an await the processes */
    size_t item_count;
    const gordian_word *words; /* all of it, as it stands */
    size_t word_count;

    struct gordian_trace_inside *inside; /* the library's own */
} gordian_trace;

/* The source must outlive the trace. */
GORDIAN_API gordian_status gordian_trace_open(gordian_trace *trace, const gordian_source *source,
                                              const gordian_allocator *allocator,
                                              gordian_error *error);
/* Reads the next line. GORDIAN_STATUS_END after the last; GORDIAN_STATUS_INPUT at one that is not
 * part of the format, with the line, the column of the word at fault (just past the last word where
 * one is missing), and what was expected. */
GORDIAN_API gordian_status gordian_trace_next(gordian_trace *trace, gordian_error *error);
/* One that is all zeros, or was closed before, is fine. */
GORDIAN_API void gordian_trace_close(gordian_trace *trace);

/* A trace being replayed into a system: the text is read as a stream, memory is
 * bounded by the system's state. Processes come into being with their first
 * event; one that has exited is forgotten once GORDIAN_LINGER others have exited
 * after it. */
#define GORDIAN_LINGER 65536

typedef struct gordian_replay gordian_replay;

typedef struct gordian_step {
    uint64_t seq;          /* events so far: declarations do not count */
    uint64_t line;         /* where it stands */
    uint64_t column;       /* of the word a refusal is about, or of the first one */
    gordian_event event;   /* valid until the next step; ids are GORDIAN_NONE if unknown */
    gordian_result result; /* served processes: gordian_served() */
    const char *process;   /* names as written */
    const char *message;   /* refused: why; else NULL */
} gordian_step;

/* The system and the source must outlive the replay. */
GORDIAN_API gordian_status gordian_replay_open(gordian_replay **out, gordian_system *system,
                                               const gordian_source *source, gordian_error *error);
GORDIAN_API void gordian_replay_close(gordian_replay *replay);
/* The next event, already fed to the system. GORDIAN_STATUS_END after the last one;
 * GORDIAN_STATUS_INPUT, with line and column, at a line that is not part of the format. */
GORDIAN_API gordian_status gordian_replay_next(gordian_replay *replay, gordian_step *step,
                                               gordian_error *error);
/* The next events, one at least and at most `room`, which is faster: each step is what
 * gordian_replay_next would have given. None follows one that closes a deadlock or is doomed, so
 * that the system can be asked about that moment, and one that is refused comes alone. All steps
 * are valid until the next call; gordian_served() lists whom they have served, one step after
 * the other. Nothing is waited for once there is one event. Unless GORDIAN_OK is returned there is
 * no step. */
GORDIAN_API gordian_status gordian_replay_many(gordian_replay *replay, gordian_step *steps,
                                               size_t room, size_t *count, gordian_error *error);

/* Names of a snapshot that was read from text. */
typedef struct gordian_names gordian_names;

/* Reads a whole snapshot: `resource`, `process`, `hold`, `wait` and `await` lines. The resource of
 * an await has the name "". */
GORDIAN_API gordian_status gordian_snapshot_read(gordian_snapshot **out, gordian_names **names,
                                                 const gordian_source *source,
                                                 const gordian_allocator *allocator,
                                                 gordian_error *error);
/* The same for whoever will judge it with these options (NULL: the defaults): with at most so many
 * threads, and a GPU that it needs is opened meanwhile. */
GORDIAN_API gordian_status gordian_snapshot_read_for(gordian_snapshot **out, gordian_names **names,
                                                     const gordian_source *source,
                                                     const gordian_check_options *options,
                                                     const gordian_allocator *allocator,
                                                     gordian_error *error);
/* A snapshot in files, judged. */
typedef struct gordian_judged {
    gordian_snapshot *snapshot; /* with the engine "mpi": of the deadlocked only */
    gordian_names *names;       /* of that */
    gordian_report report;
    uint32_t processes, resources; /* in all */
    size_t file;                   /* after a failure: which of the files; how many: none */
} gordian_judged;

/* Judges what the files say together, one behind the other ("-" is standard input). In gordian-mpi
 * each rank reads its own, or a part of a packed one, and no rank has them all. On failure nothing
 * is left to close; line and column of the error are those in the file. */
GORDIAN_API gordian_status gordian_check_files(gordian_judged *judged, const char *const *files,
                                               size_t count, const gordian_check_options *options,
                                               gordian_error *error);
GORDIAN_API void gordian_judged_close(gordian_judged *judged);
/* The forms in which traces and snapshots are read: text, and two packed ones, which are compact,
 * checksummed, the same on every machine, and read wherever text is. */
typedef enum gordian_form {
    GORDIAN_FORM_OTHER = 0, /* text as a trace, and what is packed as text */
    GORDIAN_FORM_TEXT,
    GORDIAN_FORM_TRACE,    /* lines of words, whatever they mean; comments go */
    GORDIAN_FORM_SNAPSHOT, /* of `resource`, `process`, `hold` and `wait` lines */
} gordian_form;

/* Reads either form and writes the one asked for. */
GORDIAN_API gordian_status gordian_convert(const gordian_source *source,
                                           const gordian_writer *writer, gordian_form to,
                                           const gordian_allocator *allocator,
                                           gordian_error *error);
GORDIAN_API void gordian_names_close(gordian_names *names);
/* The names of a packed file are read when somebody asks for them, and the file must not change
 * until they are closed. One that cannot be read is "", and this then fails: for text never. */
GORDIAN_API gordian_status gordian_names_check(const gordian_names *names, gordian_error *error);
GORDIAN_API const char *gordian_names_process(const gordian_names *names, uint32_t process);
GORDIAN_API const char *gordian_names_resource(const gordian_names *names, uint32_t resource);

/* ------------------------------------------------------------------ many threads */

/*
 * A system opened with options.shared may be used by any number of threads at once, all functions
 * but gordian_close and gordian_replay_*. Its engine is `sparse`.
 *
 * A request for one free unit of a one-unit resource, and a release of one that nobody waits
 * for, take no lock and touch nothing that other threads use, but for that resource. Whoever has
 * to wait takes the system's one lock, as does everything else. Every answer is the one that a
 * system of one thread gives if all events come one by one in some order, in which each thread's
 * events stand as it made them; a recorder is told that order.
 *
 * A process belongs to one thread at a time: two threads must not make events of the same process
 * at once, nor remove it. Only gordian_cancel, gordian_recover_one, questions and
 * gordian_await_grant may come from anywhere at any time; gordian_exit, too, of a process that
 * waits and that nobody can serve meanwhile.
 *
 * Lists that belong to the system, and names, last until any thread's next call: read them between
 * gordian_lock and gordian_unlock. gordian_served is then that of the thread's last event,
 * provided that its served_count is not 0. The allocator is called by one thread at a time.
 */

/* One place of the order. */
typedef struct gordian_record {
    uint64_t place;      /* 0, 1, 2, ...: none is left out */
    gordian_line kind;   /* an event; or a process or a resource has come, or gone */
    gordian_event event; /* of an event, with its answer */
    gordian_result result;
    const uint32_t *served; /* its served_count processes, in order */
    uint32_t id;            /* of what has come or gone */
    bool gone;
    uint64_t units; /* of a resource that has come */
} gordian_record;

/* `record` is called by the thread whose call it is, before that returns; by several at the same
 * time, and not in the order of the places. It must not call the system. What the record points at
 * lasts as long as the call. A call that fails is not recorded: it has changed nothing. */
typedef struct gordian_recorder {
    void (*record)(void *context, const gordian_record *record);
    void *context;
} gordian_recorder;

/* Sleeps until `process`, whose request was answered with GORDIAN_OUTCOME_BLOCKED, _DEADLOCK or
 * _DOOMED, does not wait any more, or the time is up; UINT64_MAX: no limit. Says how its last wait
 * ended, however long ago that is:
 *
 *     GORDIAN_OK                 it has been served, or never had to wait
 *     GORDIAN_STATUS_CANCELLED   its request was cancelled; it holds what it held before
 *     GORDIAN_STATUS_VICTIM      it was ended by gordian_recover_one or gordian_exit, and holds
 *                                nothing; it may go on with new requests
 *     GORDIAN_STATUS_END         the time is up; it still waits: gordian_cancel gives that up
 *     GORDIAN_STATUS_INPUT       there is no such process, or the system is not shared
 */
GORDIAN_API gordian_status gordian_await_grant(gordian_system *system, uint32_t process,
                                               uint64_t timeout_ns, gordian_error *error);

/* Between the two no other thread starts or ends a wait, or gets a list; what takes no lock goes
 * on. A thread may lock more than once, and unlocks as often. Not while it sleeps in
 * gordian_await_grant: nobody could serve it. Nothing happens if the system is not shared. */
GORDIAN_API void gordian_lock(gordian_system *system);
GORDIAN_API void gordian_unlock(gordian_system *system);

#ifdef __cplusplus
}
#endif

#include <gordian/avoid.h>
#include <gordian/makespan.h>

#endif
