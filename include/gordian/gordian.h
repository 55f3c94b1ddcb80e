/*
 * The public interface of libgordian for detection, snapshots and traces. It includes
 * <gordian/avoid.h> and <gordian/makespan.h>. Separate headers are <gordian/compose.h> for
 * circuits, <gordian/ptx.h> for the PTX of CUDA kernels, <gordian/client.h> for clients of
 * `gordian serve`, and <gordian/array.h> for a growable array in GPU memory.
 *
 * A *system* holds processes, resources, holds and waits. Feed it events, one by one or in batches.
 * Each answer reports whether the request is granted, waits, closes a deadlock, or can never be
 * granted because of an existing deadlock.
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
 *   Status    A function that can fail returns a gordian_status and takes a gordian_error (NULL if
 *             the text is not needed). A function that fails leaves the system unchanged.
 *   Outputs   Output parameters are written only on success, unless noted otherwise.
 *   Lists     A returned `const uint32_t *` belongs to the system and is valid until the next call
 *             on the same system.
 *   Ids       Processes and resources are small integers that the system assigns, dense from 0 and
 *             reused after removal. Names are optional.
 *   Threads   Only one thread at a time may use a system, unless it was opened for sharing (see
 *             "many threads" below). Different systems are independent. The library has no globals,
 *             never prints and never exits.
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

/* No process, or no resource. */
#define GORDIAN_NONE UINT32_MAX

/* Names have 1 to 255 bytes other than blanks, '#', '=' and NUL. */
#define GORDIAN_NAME_MAX 255

/* ------------------------------------------------------------------ errors */

typedef enum gordian_status {
    GORDIAN_OK = 0,
    GORDIAN_STATUS_END,         /* nothing more to read; not an error */
    GORDIAN_STATUS_INPUT,       /* usage error or invalid input */
    GORDIAN_STATUS_UNAVAILABLE, /* the engine is not available or does not support this problem */
    GORDIAN_STATUS_MEMORY,      /* out of memory */
    GORDIAN_STATUS_IO,          /* a read or write error */
    GORDIAN_STATUS_CANCELLED,   /* the awaited request was cancelled (gordian_await_grant) */
    GORDIAN_STATUS_VICTIM, /* the process was terminated while it waited (gordian_await_grant) */
} gordian_status;

typedef struct gordian_error {
    gordian_status status;
    uint64_t line;   /* in a text input, from 1; 0: no position */
    uint64_t column; /* in bytes, from 1; 0: no position */
    char message[400];
} gordian_error;

/* Returns a short text for a status: "out of memory". */
GORDIAN_API const char *gordian_status_text(gordian_status status);

/* Returns the version of the library: "0.2.0". */
GORDIAN_API const char *gordian_version(void);

/* ------------------------------------------------------------------ options */

/* The source of all memory of the library. `resize(context, NULL, n)` allocates. `resize(context,
 * p, 0)` frees and returns NULL. NULL for n > 0 is a failure. */
typedef struct gordian_allocator {
    void *(*resize)(void *context, void *pointer, size_t size);
    void *context;
} gordian_allocator;

typedef struct gordian_options {
    const char *engine; /* "auto" (default), "sparse", "matrix", "cuda", "cuda-blocks", "reduce" */
    const gordian_allocator *allocator; /* NULL: that of the C library; must outlive the system */
    bool shared; /* any number of threads may use the system at once: see "many threads" */
    const struct gordian_recorder *recorder; /* shared: receives the order; NULL: none */
    void *reserved[4];                       /* NULL; for future use */
} gordian_options;

/* Sets every option to its default. */
GORDIAN_API void gordian_options_init(gordian_options *options);

/* ------------------------------------------------------------------ engines */

typedef struct gordian_engine_info {
    const char *family;  /* "detect", ... */
    const char *name;    /* "sparse", ... */
    const char *summary; /* one line */
    bool available;      /* usable on this machine */
    const char *reason;  /* why it is not available; NULL if it is */
} gordian_engine_info;

/* Describes engine number `index`, from 0. GORDIAN_STATUS_END after the last one. */
GORDIAN_API gordian_status gordian_engine(size_t index, gordian_engine_info *info);

/* ------------------------------------------------------------------ devices */

/* A GPU for the engines "cuda" and "cuda-blocks". */
typedef struct gordian_device_info {
    char name[128];        /* "" if there is no device */
    bool available;        /* kernels can run on it */
    char reason[200];      /* why it is not available; "" if it is */
    uint32_t major, minor; /* compute capability */
    uint32_t multiprocessors;
    uint64_t memory;      /* bytes */
    uint64_t memory_free; /* free now, in bytes */
} gordian_device_info;

/* Describes GPU number `index`, from 0. GORDIAN_STATUS_END after the last one. Without any GPU,
 * number 0 is an unavailable one with the reason: no driver, no device, or built without nvcc. */
GORDIAN_API gordian_status gordian_device(size_t index, gordian_device_info *info);

/* ------------------------------------------------------------------ systems */

typedef struct gordian_system gordian_system;

/* The model that the events so far require of the engine. Each model contains the previous one. */
typedef enum gordian_model {
    GORDIAN_MODEL_SINGLE_UNIT, /* every resource has one unit, and requests are for one resource */
    GORDIAN_MODEL_MULTI_UNIT,  /* resources have several units, requests are for one unit */
    GORDIAN_MODEL_GENERAL,     /* requests are for several units or resources at once */
} gordian_model;

/* Opens an empty system. `options` NULL: the defaults. On failure *out is NULL. */
GORDIAN_API gordian_status gordian_open(gordian_system **out, const gordian_options *options,
                                        gordian_error *error);
/* Frees a system and everything it owns. NULL is allowed. */
GORDIAN_API void gordian_close(gordian_system *system);

/* Returns the engine in use: "sparse". */
GORDIAN_API const char *gordian_engine_name(const gordian_system *system);
/* Returns a note for the user: the device of the engine failed, why, and that `sparse` continues
 * with the same state. NULL: no note. */
GORDIAN_API const char *gordian_engine_note(const gordian_system *system);
GORDIAN_API gordian_model gordian_system_model(const gordian_system *system);

/* Reserves capacity for this many processes and resources. */
GORDIAN_API gordian_status gordian_reserve(gordian_system *system, uint32_t processes,
                                           uint32_t resources, gordian_error *error);

/* Adds a resource with `units` units (at least 1). `name` may be NULL, otherwise it must be new
 * among the resources. `id` may be NULL, here and below. */
GORDIAN_API gordian_status gordian_add_resource(gordian_system *system, const char *name,
                                                uint64_t units, uint32_t *id, gordian_error *error);
/* Removes a resource without owners and waiters. Its id and name may be reused. */
GORDIAN_API gordian_status gordian_remove_resource(gordian_system *system, uint32_t resource,
                                                   gordian_error *error);
/* Adds a process. `name` may be NULL, otherwise it must be new among the processes. */
GORDIAN_API gordian_status gordian_add_process(gordian_system *system, const char *name,
                                               uint32_t *id, gordian_error *error);
/* Removes a process that holds nothing and waits for nothing. */
GORDIAN_API gordian_status gordian_remove_process(gordian_system *system, uint32_t process,
                                                  gordian_error *error);

/* Guides the choice of a victim: low priority and low cost are chosen first. The default priority
 * is 0, and the default cost is 1. */
GORDIAN_API gordian_status gordian_set_priority(gordian_system *system, uint32_t process,
                                                int64_t priority, gordian_error *error);
GORDIAN_API gordian_status gordian_set_cost(gordian_system *system, uint32_t process, int64_t cost,
                                            gordian_error *error);
GORDIAN_API int64_t gordian_priority(const gordian_system *system, uint32_t process); /* 0 */
GORDIAN_API int64_t gordian_cost(const gordian_system *system, uint32_t process);     /* 1 */

/* Find by name; GORDIAN_NONE if there is none. The name need not end in NUL. */
GORDIAN_API uint32_t gordian_find_process(const gordian_system *system, const char *name,
                                          size_t length);
GORDIAN_API uint32_t gordian_find_resource(const gordian_system *system, const char *name,
                                           size_t length);
/* "" without a name, NULL for an id that is not in use. */
GORDIAN_API const char *gordian_process_name(const gordian_system *system, uint32_t process);
GORDIAN_API const char *gordian_resource_name(const gordian_system *system, uint32_t resource);

/* All ids in use are below this limit. Ids below it may be unused (name NULL). */
GORDIAN_API uint32_t gordian_process_limit(const gordian_system *system);
GORDIAN_API uint32_t gordian_resource_limit(const gordian_system *system);

/* ------------------------------------------------------------------ events */

typedef enum gordian_op {
    GORDIAN_OP_REQUEST = 1, /* process requests its wants, all or nothing */
    GORDIAN_OP_RELEASE,     /* process releases units of one resource, to `to` if it is given */
    GORDIAN_OP_CANCEL,      /* process withdraws its pending request */
    GORDIAN_OP_EXIT,  /* process withdraws its request and releases everything; it remains known */
    GORDIAN_OP_HOLD,  /* a line of a snapshot: process holds these units, regardless of waiters */
    GORDIAN_OP_WAIT,  /* a line of a snapshot: like a request */
    GORDIAN_OP_AWAIT, /* process waits for acts of others, see gordian_await */
    GORDIAN_OP_ACT,   /* process has acted: for `to`, or for all processes that await it */
} gordian_op;

typedef enum gordian_outcome {
    GORDIAN_OUTCOME_GRANTED = 1,
    GORDIAN_OUTCOME_BLOCKED,  /* waits, and can still be granted */
    GORDIAN_OUTCOME_DEADLOCK, /* waits; this request closes a new deadlock that includes it */
    GORDIAN_OUTCOME_DOOMED,   /* waits behind an existing deadlock and can never be granted */
    GORDIAN_OUTCOME_RELEASED,
    GORDIAN_OUTCOME_CANCELLED,
    GORDIAN_OUTCOME_EXITED,
    GORDIAN_OUTCOME_REFUSED, /* an error: see `refusal`; the system is unchanged */
} gordian_outcome;

typedef enum gordian_refusal {
    GORDIAN_REFUSAL_NONE = 0,
    GORDIAN_REFUSAL_UNKNOWN_PROCESS,
    GORDIAN_REFUSAL_UNKNOWN_RESOURCE,
    GORDIAN_REFUSAL_NO_UNITS,      /* zero units, or no wants */
    GORDIAN_REFUSAL_OVER_TOTAL,    /* more units than the resource has in total */
    GORDIAN_REFUSAL_IS_WAITING,    /* a waiting process may not request or release */
    GORDIAN_REFUSAL_NOT_WAITING,   /* nothing to cancel */
    GORDIAN_REFUSAL_NOT_HELD,      /* releases more than it holds */
    GORDIAN_REFUSAL_BAD_HAND_OVER, /* the named process does not wait for it, or its request does
                                      not fit */
    GORDIAN_REFUSAL_NOT_FREE,      /* a `hold` of units that other processes hold */
} gordian_refusal;

typedef struct gordian_want {
    uint64_t units;
    uint32_t resource;
} gordian_want;

/* For one resource, fill in `resource` and `units` and leave `wants` NULL. For several resources
 * (requests and waits only), `wants` points to `want_count` of them. If a resource is listed twice,
 * the units add up. For an await, `wants` lists the processes that can act, with their ids in
 * `resource`, and `units` is how many of them must act. */
typedef struct gordian_event {
    gordian_op op;
    uint32_t process;
    uint32_t resource;
    uint32_t to; /* release: the receiver; GORDIAN_NONE: order of arrival */
    uint64_t units;
    const gordian_want *wants;
    size_t want_count;
} gordian_event;

typedef struct gordian_result {
    uint8_t outcome; /* gordian_outcome */
    uint8_t refusal; /* gordian_refusal */
    uint16_t reserved;
    uint32_t served_count; /* number of waiting processes that this event served */
} gordian_result;

/* Feeds one event. A refused event is not a failure: the status is GORDIAN_OK and the outcome is
 * GORDIAN_OUTCOME_REFUSED. Fails if memory runs out, or if the engine cannot represent the event
 * (GORDIAN_STATUS_UNAVAILABLE). The system is then unchanged. */
GORDIAN_API gordian_status gordian_feed(gordian_system *system, const gordian_event *event,
                                        gordian_result *result, gordian_error *error);

/* Feeds events in order, with `results[i]` for `events[i]`. This is faster than one by one. *done
 * counts the events taken, also on failure. */
GORDIAN_API gordian_status gordian_feed_batch(gordian_system *system, const gordian_event *events,
                                              size_t count, gordian_result *results, size_t *done,
                                              gordian_error *error);

/* Returns the processes served during the last feed, batch or recovery, in order: first those that
 * the first event served (its served_count of them), then those of the second, and so on. */
GORDIAN_API const uint32_t *gordian_served(const gordian_system *system, size_t *count);

/* The same events as single calls. */
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

/* Waits for acts of other processes: messages, signals, arrivals. `process` continues when `needed`
 * of the `count` others have acted (all: AND; one: OR). It may await more while it waits; then it
 * needs all of its awaits. An act that no process awaits is not remembered. A process that exits
 * acts for all that await it. The model becomes GORDIAN_MODEL_GENERAL.
 *
 * In the graph an await is a resource without a name. It has `count` units, one held by each
 * process that can act, and `process` waits for `needed` of them. It exists while it is awaited. A
 * process that is listed twice counts once. GORDIAN_REFUSAL_OVER_TOTAL: `needed` exceeds the number
 * of different processes, unless it is `count`. */
GORDIAN_API gordian_status gordian_await(gordian_system *system, uint32_t process,
                                         const uint32_t *others, size_t count, size_t needed,
                                         gordian_outcome *outcome, gordian_error *error);
/* `process` acts for `to`, or with GORDIAN_NONE for all processes that await it. The outcome is
 * GORDIAN_OUTCOME_RELEASED. Refused if it is waiting itself, or if no process awaits it. */
GORDIAN_API gordian_status gordian_act(gordian_system *system, uint32_t process, uint32_t to,
                                       gordian_outcome *outcome, gordian_error *error);
/* Returns true if this resource is an await. */
GORDIAN_API bool gordian_is_await(const gordian_system *system, uint32_t resource);

/* "granted", "error" for GORDIAN_OUTCOME_REFUSED, ...; "request", ...; "single-unit", ... */
GORDIAN_API const char *gordian_outcome_text(gordian_outcome outcome);
GORDIAN_API const char *gordian_op_text(gordian_op op);
GORDIAN_API const char *gordian_model_text(gordian_model model);
/* Writes why an event was refused, with names, to the buffer and returns it. */
GORDIAN_API const char *gordian_refusal_text(const gordian_system *system,
                                             const gordian_event *event, gordian_refusal refusal,
                                             char *buffer, size_t size);

/* ------------------------------------------------------------------ queries */

/* Whether a process waits; the units of a resource; the units that no process holds. */
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

/* Each function fills in up to `room` edges and returns how many there are. */
GORDIAN_API size_t gordian_holdings(const gordian_system *system, uint32_t process,
                                    gordian_edge *edges, size_t room);
GORDIAN_API size_t gordian_pending(const gordian_system *system, uint32_t process,
                                   gordian_edge *edges, size_t room);
GORDIAN_API size_t gordian_holders(const gordian_system *system, uint32_t resource,
                                   gordian_edge *edges, size_t room);
/* The waiters of a resource, in order of arrival. */
GORDIAN_API size_t gordian_waiters(const gordian_system *system, uint32_t resource,
                                   gordian_edge *edges, size_t room);

/* The processes that `process` waits for: the owners of what it still lacks, each once, ascending.
 * Empty if it is running. */
GORDIAN_API gordian_status gordian_waits_for(gordian_system *system, uint32_t process,
                                             const uint32_t **processes, size_t *count,
                                             gordian_error *error);

/* All processes that can never run again, ascending. */
GORDIAN_API gordian_status gordian_deadlocked(gordian_system *system, const uint32_t **processes,
                                              size_t *count, gordian_error *error);

/* Why `process` can never run again. In a single-unit system, for a process on a cycle, this is the
 * cycle: edges alternate wait, hold, wait, ... starting at `process`, and the last hold leads back
 * to it. Otherwise these are the edges of an irreducible part: all waits of its members, and their
 * holds of the awaited resources. None of its members can ever proceed, whatever other processes
 * do. GORDIAN_STATUS_INPUT if the process can still run. */
typedef struct gordian_witness {
    bool cycle;
    const gordian_edge *edges;
    size_t count;
} gordian_witness;

/* Fills in the witness. Its edges belong to the system until its next event or query. */
GORDIAN_API gordian_status gordian_explain(gordian_system *system, uint32_t process,
                                           gordian_witness *witness, gordian_error *error);

/* ------------------------------------------------------------------ what-if queries */

/* Computes how each of these requests (GORDIAN_OP_REQUEST or GORDIAN_OP_WAIT), fed alone now, would
 * be answered: GORDIAN_OUTCOME_GRANTED, _BLOCKED, _DEADLOCK, _DOOMED or _REFUSED. Nothing changes.
 * Requests that the engine cannot represent are also judged. */
GORDIAN_API gordian_status gordian_what_if(gordian_system *system, const gordian_event *requests,
                                           size_t count, gordian_outcome *outcomes,
                                           gordian_error *error);

/* The same for all pairs at once. Bit q of row p is deadlock[p * stride + q / 64] >> (q % 64) & 1.
 * It is set if a request of process p for one unit of resource q would close a deadlock now. There
 * are gordian_process_limit() rows of `stride` words, each with room for gordian_resource_limit()
 * bits. `doomed`, unless NULL, gets one row: bit q is set if a request for a unit of q could never
 * be granted. Engines with matrices compute the answer from them, others from the graph. */
GORDIAN_API gordian_status gordian_what_if_all(gordian_system *system, uint64_t *deadlock,
                                               size_t stride, uint64_t *doomed,
                                               gordian_error *error);

/* ------------------------------------------------------------------ recovery */

typedef enum gordian_policy {
    GORDIAN_POLICY_YOUNGEST = 1,    /* arrived last */
    GORDIAN_POLICY_OLDEST,          /* arrived first */
    GORDIAN_POLICY_CHEAPEST,        /* lowest cost */
    GORDIAN_POLICY_LOWEST_PRIORITY, /* lowest priority */
    GORDIAN_POLICY_FEWEST_HELD,     /* fewest units held */
} gordian_policy;

/* Parses "fewest-held" and the like; returns false for an unknown policy. */
GORDIAN_API bool gordian_policy_parse(const char *text, gordian_policy *policy);
GORDIAN_API const char *gordian_policy_text(gordian_policy policy);

typedef struct gordian_victim {
    uint32_t process;
    int64_t weight; /* the criterion: cost, priority, units, or the number of processes that arrived
                       earlier */
    const gordian_edge *frees; /* what it held */
    size_t frees_count;
    const uint32_t *served; /* processes that could continue at once */
    size_t served_count;
} gordian_victim;

/* Chooses a victim among the processes of the irreducible parts of the deadlocks and terminates it,
 * like GORDIAN_OP_EXIT. Call it until GORDIAN_STATUS_END: no process is deadlocked. On a tie the
 * victim is the process that arrived last. The lists are valid until the next call on the system.
 */
GORDIAN_API gordian_status gordian_recover_one(gordian_system *system, gordian_policy policy,
                                               gordian_victim *victim, gordian_error *error);

/* ------------------------------------------------------------------ matrices */

/* The matrices of an engine that has them: "matrix", and "cuda" and "cuda-blocks" while their
 * device works. */
typedef enum gordian_matrix {
    GORDIAN_MATRIX_AG,   /* resource x process: grants (bits; counts in multi-unit systems) */
    GORDIAN_MATRIX_AR,   /* process x resource: requests */
    GORDIAN_MATRIX_SINK, /* resource x process: the sink each resource leads to (single-unit) */
    GORDIAN_MATRIX_RR,   /* resource x resource: reachability (single-unit) */
    GORDIAN_MATRIX_RP,   /* resource x process: reachability */
} gordian_matrix;

/* Returns one element: 0 or 1, or a count of units for AG in multi-unit systems.
 * GORDIAN_STATUS_UNAVAILABLE if the engine or the model has no such matrix. */
GORDIAN_API gordian_status gordian_matrix_get(const gordian_system *system, gordian_matrix matrix,
                                              uint32_t row, uint32_t column, uint64_t *value,
                                              gordian_error *error);
/* Returns one row of bits in 64-bit words, least significant bit first. *words is valid until the
 * next call on the system. AG in multi-unit systems has no rows: GORDIAN_STATUS_UNAVAILABLE. */
GORDIAN_API gordian_status gordian_matrix_row(const gordian_system *system, gordian_matrix matrix,
                                              uint32_t row, const uint64_t **words, size_t *count,
                                              gordian_error *error);

/* ------------------------------------------------------------------ snapshots */

/* A snapshot is a set of holds and waits, added in any order and judged as a whole, in time linear
 * in its size. It has only ids; the reader manages names. */
typedef struct gordian_snapshot gordian_snapshot;

/* Open and close an empty snapshot. The allocator (NULL: that of the C library) must outlive it.
 * NULL may be closed. */
GORDIAN_API gordian_status gordian_snapshot_open(gordian_snapshot **out,
                                                 const gordian_allocator *allocator,
                                                 gordian_error *error);
GORDIAN_API void gordian_snapshot_close(gordian_snapshot *snapshot);
/* Takes the state of a system, with its ids. */
GORDIAN_API gordian_status gordian_snapshot_take(gordian_snapshot **out,
                                                 const gordian_system *system,
                                                 gordian_error *error);
/* Ids are assigned densely from 0. */
GORDIAN_API gordian_status gordian_snapshot_add_resource(gordian_snapshot *snapshot, uint64_t units,
                                                         uint32_t *id, gordian_error *error);
GORDIAN_API gordian_status gordian_snapshot_add_process(gordian_snapshot *snapshot, uint32_t *id,
                                                        gordian_error *error);
/* GORDIAN_STATUS_INPUT if the holds of a resource would exceed its units. */
GORDIAN_API gordian_status gordian_snapshot_hold(gordian_snapshot *snapshot, uint32_t process,
                                                 uint32_t resource, uint64_t units,
                                                 gordian_error *error);
/* All waits of a process form one request. GORDIAN_STATUS_INPUT if a wait exceeds the units of the
 * resource. */
GORDIAN_API gordian_status gordian_snapshot_wait(gordian_snapshot *snapshot, uint32_t process,
                                                 uint32_t resource, uint64_t units,
                                                 gordian_error *error);

/* `process` waits for acts of `needed` of the others (gordian_await). All awaits and waits of a
 * process form one request. The await becomes a resource, returned in *resource unless NULL.
 * GORDIAN_STATUS_INPUT if more are needed than there are different processes. */
GORDIAN_API gordian_status gordian_snapshot_await(gordian_snapshot *snapshot, uint32_t process,
                                                  const uint32_t *others, size_t count,
                                                  size_t needed, uint32_t *resource,
                                                  gordian_error *error);

/* A deadlock of a snapshot: a cycle (single-unit) or an irreducible part. `processes` is ascending.
 * For a cycle it is in the order of the cycle, starting with the smallest id, and processes[i]
 * waits for resources[i], which processes[i+1] holds. */
typedef struct gordian_part {
    bool cycle;
    const uint32_t *processes;
    const uint32_t *resources; /* the resources that they wait for among each other */
    size_t process_count;
    size_t resource_count;
} gordian_part;

typedef struct gordian_report {
    gordian_model model;
    const uint32_t *deadlocked; /* all processes that can never run again, ascending */
    size_t deadlocked_count;
    const gordian_part *parts; /* all deadlocks, by smallest process */
    size_t part_count;
    const char *engine; /* the engine that was used: "sparse" or "cuda" */
} gordian_report;

/* The number of processes and resources. */
GORDIAN_API uint32_t gordian_snapshot_processes(const gordian_snapshot *snapshot);
GORDIAN_API uint32_t gordian_snapshot_resources(const gordian_snapshot *snapshot);

/* Judges the snapshot. The report belongs to the snapshot and is valid until the snapshot changes
 * or another engine judges it. */
GORDIAN_API gordian_status gordian_snapshot_check(gordian_snapshot *snapshot,
                                                  gordian_report *report, gordian_error *error);
/* The same with an engine. "sparse" uses the CPU. "cuda" uses an NVIDIA GPU:
 * GORDIAN_STATUS_UNAVAILABLE without one, GORDIAN_STATUS_MEMORY (before any work) if its memory is
 * too small, GORDIAN_STATUS_IO if it fails. "auto" uses the GPU if the snapshot is large enough to
 * benefit, and otherwise, or if the GPU cannot be used, sparse. All engines give the same report.
 */
GORDIAN_API gordian_status gordian_snapshot_check_with(gordian_snapshot *snapshot,
                                                       const char *engine, gordian_report *report,
                                                       gordian_error *error);
/* How a snapshot is read and judged. Zeros are the defaults. */
typedef struct gordian_check_options {
    const char *engine; /* as above; NULL: "auto" */
    unsigned threads;   /* at most; 0: one per core available to this process. A small snapshot, or
                           one with an allocator of the caller, always uses one */
} gordian_check_options;
/* The same with options (NULL: the defaults). Only the engine name in the report depends on
 * them. */
GORDIAN_API gordian_status gordian_snapshot_check_for(gordian_snapshot *snapshot,
                                                      const gordian_check_options *options,
                                                      gordian_report *report, gordian_error *error);
/* The edges between the members of a part: their waits, and their holds of the awaited resources.
 * Valid until the next call. */
GORDIAN_API gordian_status gordian_snapshot_edges(gordian_snapshot *snapshot,
                                                  const gordian_part *part,
                                                  const gordian_edge **edges, size_t *count,
                                                  gordian_error *error);

/* ------------------------------------------------------------------ traces */

/* Reads up to `size` bytes into `buffer`. Returns the count, 0 at the end, or -1 on failure (with
 * errno). */
typedef struct gordian_source {
    ptrdiff_t (*read)(void *context, char *buffer, size_t size);
    void *context;
} gordian_source;

/* A text in memory. gordian_source_bytes reads it from here. The structure must outlive the
 * source. */
typedef struct gordian_bytes {
    const char *next;
    size_t left;
} gordian_bytes;

/* Returns a source that reads from memory. It advances *bytes, which must outlive it. */
GORDIAN_API gordian_source gordian_source_bytes(gordian_bytes *bytes);
/* Returns a source that reads a file descriptor, which stays open. *fd must outlive it. */
GORDIAN_API gordian_source gordian_source_fd(const int *fd);

/* The target of a text. Each function writes all of it. If it returns false, writing failed (with
 * errno) and nothing more is written. `rewrite` overwrites earlier output at an offset; NULL if
 * that is not possible (a pipe). */
typedef struct gordian_writer {
    bool (*write)(void *context, const char *bytes, size_t size);
    bool (*rewrite)(void *context, uint64_t offset, const char *bytes, size_t size);
    void *context;
} gordian_writer;

/* Returns a writer for a file descriptor, which stays open. *fd must outlive it. It can rewrite if
 * this is a regular file to which nothing was written before. */
GORDIAN_API gordian_writer gordian_writer_fd(const int *fd);

/* A trace, or a snapshot, read line by line as operations.
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
 *     act P1 [for P]                                   (only if `acts` is set)
 *
 * A trace for avoidance differs in two lines:
 *
 *     process NAME [Q=N ...]            the claim
 *     release P Q[=N] [Q[=N] ...]       like a request, without a receiver
 *
 * A line is read as a whole and only its syntax is checked. The caller interprets the names and the
 * keys of a process. */
typedef enum gordian_line {
    GORDIAN_LINE_EVENT = 1, /* the kind of event is in `op` */
    GORDIAN_LINE_PROCESS,
    GORDIAN_LINE_RESOURCE,
} gordian_line;

/* A word of a line. It does NOT end in a NUL. */
typedef struct gordian_word {
    const char *text;
    uint32_t length;
    uint32_t column; /* from 1, in bytes */
} gordian_word;

/* Q=N of an event, a process of an await, or KEY=VALUE of a process line. */
typedef struct gordian_trace_item {
    gordian_word word; /* as written */
    gordian_word name;
    gordian_word value; /* text NULL: no value (only in an event) */
    uint64_t units;     /* in an event: the value, or 1 */
} gordian_trace_item;

typedef struct gordian_trace {
    bool avoidance; /* may be set after opening */
    bool acts;      /* likewise: accept await and act; otherwise they are unknown words */

    /* The current line. Its words are valid until the next line is read. */
    uint64_t line;
    gordian_line kind;
    gordian_op op;     /* of an event */
    gordian_word verb; /* the first word */
    gordian_word name; /* the process of the event; or the declared name, with its units */
    uint64_t units;    /* await: how many must act */
    gordian_word to;   /* release: the receiver; act: for whom; text NULL: not given */
    const gordian_trace_item *items; /* empty for cancel, exit, act, declarations */
    size_t item_count;
    const gordian_word *words; /* the complete line as written */
    size_t word_count;

    struct gordian_trace_inside *inside; /* internal */
} gordian_trace;

/* The source must outlive the trace. */
GORDIAN_API gordian_status gordian_trace_open(gordian_trace *trace, const gordian_source *source,
                                              const gordian_allocator *allocator,
                                              gordian_error *error);
/* Reads the next line. GORDIAN_STATUS_END after the last one. GORDIAN_STATUS_INPUT for a line that
 * is not valid, with the line, the column of the wrong word (or after the last word if one is
 * missing), and what was expected. */
GORDIAN_API gordian_status gordian_trace_next(gordian_trace *trace, gordian_error *error);
/* A trace that is all zeros, or already closed, is allowed. */
GORDIAN_API void gordian_trace_close(gordian_trace *trace);

/* A trace that is replayed into a system. The text is read as a stream, and memory is bounded by
 * the state of the system. A process is created by its first event. A process that has exited is
 * forgotten after GORDIAN_LINGER others have exited. */
#define GORDIAN_LINGER 65536

typedef struct gordian_replay gordian_replay;

typedef struct gordian_step {
    uint64_t seq;          /* events so far, without declarations */
    uint64_t line;         /* its line */
    uint64_t column;       /* of the word that caused a refusal, or of the first word */
    gordian_event event;   /* valid until the next step; ids are GORDIAN_NONE if unknown */
    gordian_result result; /* served processes: gordian_served() */
    const char *process;   /* names as written */
    const char *message;   /* refused: the reason; otherwise NULL */
} gordian_step;

/* The system and the source must outlive the replay. */
GORDIAN_API gordian_status gordian_replay_open(gordian_replay **out, gordian_system *system,
                                               const gordian_source *source, gordian_error *error);
GORDIAN_API void gordian_replay_close(gordian_replay *replay);
/* Returns the next event, already fed to the system. GORDIAN_STATUS_END after the last one.
 * GORDIAN_STATUS_INPUT, with line and column, for a line that is not valid. */
GORDIAN_API gordian_status gordian_replay_next(gordian_replay *replay, gordian_step *step,
                                               gordian_error *error);
/* Returns the next events, at least one and at most `room`, as gordian_replay_next would, but
 * faster. An event that closes a deadlock or is doomed is the last one, so that the caller can
 * query the system in this state. A refused event is returned alone. All steps are valid until the
 * next call, and gordian_served() lists the processes they served, step after step. The function
 * does not wait for input if it has at least one event. There are no steps unless it returns
 * GORDIAN_OK. */
GORDIAN_API gordian_status gordian_replay_many(gordian_replay *replay, gordian_step *steps,
                                               size_t room, size_t *count, gordian_error *error);

/* The names of a snapshot that was read from text. */
typedef struct gordian_names gordian_names;

/* Reads a complete snapshot: `resource`, `process`, `hold`, `wait` and `await` lines. The resource
 * of an await has the name "". */
GORDIAN_API gordian_status gordian_snapshot_read(gordian_snapshot **out, gordian_names **names,
                                                 const gordian_source *source,
                                                 const gordian_allocator *allocator,
                                                 gordian_error *error);
/* The same, for a caller that will judge it with these options (NULL: the defaults). It uses at
 * most that many threads, and opens a GPU that will be needed. */
GORDIAN_API gordian_status gordian_snapshot_read_for(gordian_snapshot **out, gordian_names **names,
                                                     const gordian_source *source,
                                                     const gordian_check_options *options,
                                                     const gordian_allocator *allocator,
                                                     gordian_error *error);
/* A snapshot from files, with its report. */
typedef struct gordian_judged {
    gordian_snapshot *snapshot; /* with the engine "mpi": only the deadlocked processes */
    gordian_names *names;       /* of this snapshot */
    gordian_report report;
    uint32_t processes, resources; /* in total */
    size_t file; /* after a failure: the index of the file; the number of files: none of them */
} gordian_judged;

/* Judges the content of the files, concatenated ("-" is standard input). In gordian-mpi each rank
 * reads its own files, or a share of a packed file. On failure nothing needs to be closed, and the
 * error has the line and column in the file. */
GORDIAN_API gordian_status gordian_check_files(gordian_judged *judged, const char *const *files,
                                               size_t count, const gordian_check_options *options,
                                               gordian_error *error);
GORDIAN_API void gordian_judged_close(gordian_judged *judged);
/* The formats of traces and snapshots: text and two packed formats. The packed formats are compact,
 * checksummed, the same on every machine, and accepted wherever text is. */
typedef enum gordian_form {
    GORDIAN_FORM_OTHER = 0, /* text becomes a trace, packed input becomes text */
    GORDIAN_FORM_TEXT,
    GORDIAN_FORM_TRACE,    /* lines of words without interpretation; comments are dropped */
    GORDIAN_FORM_SNAPSHOT, /* `resource`, `process`, `hold` and `wait` lines */
} gordian_form;

/* Reads any format and writes the requested one. */
GORDIAN_API gordian_status gordian_convert(const gordian_source *source,
                                           const gordian_writer *writer, gordian_form to,
                                           const gordian_allocator *allocator,
                                           gordian_error *error);
GORDIAN_API void gordian_names_close(gordian_names *names);
/* The names of a packed file are read on demand, so the file must not change until they are closed.
 * A name that cannot be read is "", and gordian_names_check then fails. It never fails for text. */
GORDIAN_API gordian_status gordian_names_check(const gordian_names *names, gordian_error *error);
GORDIAN_API const char *gordian_names_process(const gordian_names *names, uint32_t process);
GORDIAN_API const char *gordian_names_resource(const gordian_names *names, uint32_t resource);

/* ------------------------------------------------------------------ many threads */

/*
 * Any number of threads may use a system that was opened with options.shared, with all functions
 * except gordian_close and gordian_replay_*. Its engine is `sparse`.
 *
 * A request for a free one-unit resource, and the release of one without waiters, take no lock and
 * touch no shared data except this resource. All other operations take the single lock of the
 * system. Every answer is the same as in a single-threaded system that receives all events in some
 * order in which the events of each thread keep their order. A recorder receives this order.
 *
 * A process belongs to one thread at a time: two threads must not make events of the same process,
 * or remove it, at once. Only gordian_cancel, gordian_recover_one, queries and gordian_await_grant
 * may be called from any thread at any time. So may gordian_exit, for a waiting process that cannot
 * be served in the meantime.
 *
 * Lists of the system, and names, are valid until the next call of any thread. Read them between
 * gordian_lock and gordian_unlock. gordian_served then has the list of the last event of the
 * calling thread, if its served_count is not 0. Only one thread at a time calls the allocator.
 */

/* One record of the order. */
typedef struct gordian_record {
    uint64_t place;      /* 0, 1, 2, ... without gaps */
    gordian_line kind;   /* an event, or a process or resource that was added or removed */
    gordian_event event; /* the event and its answer */
    gordian_result result;
    const uint32_t *served; /* the served_count processes, in order */
    uint32_t id;            /* the process or resource that was added or removed */
    bool gone;
    uint64_t units; /* of a resource that was added */
} gordian_record;

/* `record` is called in the thread that made the call, before the call returns, possibly by several
 * threads at once and not in order of `place`. It must not call the system. The data of the record
 * is valid during the call. A call that fails is not recorded, because it changes nothing. */
typedef struct gordian_recorder {
    void (*record)(void *context, const gordian_record *record);
    void *context;
} gordian_recorder;

/* Sleeps until `process`, whose request was answered with GORDIAN_OUTCOME_BLOCKED, _DEADLOCK or
 * _DOOMED, no longer waits, or until the timeout; UINT64_MAX: no timeout. Returns how its last wait
 * ended, however long ago:
 *
 *     GORDIAN_OK                 it was granted, or never had to wait
 *     GORDIAN_STATUS_CANCELLED   its request was cancelled; it holds what it held before
 *     GORDIAN_STATUS_VICTIM      it was terminated by gordian_recover_one or gordian_exit and holds
 *                                nothing; it may continue with new requests
 *     GORDIAN_STATUS_END         the timeout expired; it still waits (see gordian_cancel)
 *     GORDIAN_STATUS_INPUT       there is no such process, or the system is not shared */
GORDIAN_API gordian_status gordian_await_grant(gordian_system *system, uint32_t process,
                                               uint64_t timeout_ns, gordian_error *error);

/* Between the two calls no other thread starts or ends a wait, or gets a list. Operations that take
 * no lock continue. A thread may lock several times and must unlock as often. It must not sleep in
 * gordian_await_grant meanwhile, because no request could be granted. No effect if not shared. */
GORDIAN_API void gordian_lock(gordian_system *system);
GORDIAN_API void gordian_unlock(gordian_system *system);

#ifdef __cplusplus
}
#endif

#include <gordian/avoid.h>
#include <gordian/makespan.h>

#endif
