/*
 * Deadlock avoidance for processes that declare their maximum claims in advance: *banks*, which
 * grant only safe requests, *plans*, which compute how many units are enough, and traces replayed
 * into either.
 *
 * This is a part of <gordian/gordian.h>, which includes it and documents the conventions.
 */
#ifndef GORDIAN_AVOID_H
#define GORDIAN_AVOID_H

#include <gordian/gordian.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ banks */

/* A *bank* lends units of resources to processes that have declared their maximum claims. It grants
 * only requests after which all processes can still finish (the banker's algorithm). Its grants can
 * never end in a deadlock, whatever the processes do within their claims.
 *
 *     gordian_bank *bank;
 *     gordian_bank_open(&bank, NULL, NULL);
 *     uint32_t gpu, job;
 *     gordian_bank_add_resource(bank, "gpu", 8, &gpu, NULL);
 *     gordian_want claim = {.resource = gpu, .units = 4}, one = {.resource = gpu, .units = 1};
 *     gordian_bank_add_process(bank, "job", &claim, 1, &job, NULL, NULL);
 *     gordian_answer answer;
 *     gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
 *     gordian_bank_request(bank, job, &one, 1, &answer, NULL);
 *     if (answer.verdict == GORDIAN_VERDICT_GRANTED) ...
 *
 * Threads: any number of threads may use a bank at once. Each call holds the single lock of the
 * bank while it decides, and calls no function of the caller under the lock except the allocator.
 * Calls take effect one after another. Answers belong to the caller; calls of other threads do not
 * change them. gordian_bank_close must be the last call. */
typedef struct gordian_bank gordian_bank;

typedef struct gordian_bank_options {
    const char *engine;                 /* "auto" (default), "holt", "dense", "cuda" */
    const gordian_allocator *allocator; /* NULL: that of the C library; must outlive the bank */
    bool queue;        /* requests that cannot be granted wait, and are considered again in order of
                          arrival after each event that may help them */
    uint32_t patience; /* how often later requests may be granted ahead of the request that has
                          waited longest (16); then only processes that hold units are served until
                          it is granted, so that no request starves */
} gordian_bank_options;

/* Sets every option to its default. */
GORDIAN_API void gordian_bank_options_init(gordian_bank_options *options);

typedef enum gordian_verdict {
    GORDIAN_VERDICT_GRANTED = 1, /* the request is granted */
    GORDIAN_VERDICT_UNSAFE, /* the units are free, but some processes could then wait for each other
                               forever */
    GORDIAN_VERDICT_UNAVAILABLE, /* more than is free, or reserved for another request:
                                    GORDIAN_REASON_OUT_OF_TURN */
    GORDIAN_VERDICT_RELEASED,    /* released */
    GORDIAN_VERDICT_CANCELLED,   /* a waiting request, or a grant on trial, was cancelled */
    GORDIAN_VERDICT_EXITED,      /* exited */
    GORDIAN_VERDICT_CHANGED,     /* a claim or a total was declared or changed */
    GORDIAN_VERDICT_REFUSED,     /* an error: see `reason`; nothing has changed */
} gordian_verdict;

typedef enum gordian_reason {
    GORDIAN_REASON_NONE = 0,
    GORDIAN_REASON_UNKNOWN_PROCESS,  /* unknown process */
    GORDIAN_REASON_UNKNOWN_RESOURCE, /* unknown resource */
    GORDIAN_REASON_NO_UNITS,         /* zero units, or no wants */
    GORDIAN_REASON_OVER_CLAIM,       /* more than it may still request */
    GORDIAN_REASON_NEVER_FITS,       /* a claim above the total, or a total below a claim */
    GORDIAN_REASON_BELOW_HELD,  /* a claim below the held units, or a release of units not held */
    GORDIAN_REASON_IS_WAITING,  /* a waiting process may not request, release or change its claim */
    GORDIAN_REASON_NOT_WAITING, /* nothing to cancel */
    GORDIAN_REASON_ON_TRIAL,    /* its last grant must be committed or cancelled first */
    GORDIAN_REASON_NO_TRIAL,    /* nothing to commit */
    GORDIAN_REASON_TOO_MANY,    /* the number of units would overflow */
    GORDIAN_REASON_OUT_OF_TURN, /* not an error: reserved for a request overtaken too often */
} gordian_reason;

/* Units that a process lacks. */
typedef struct gordian_lack {
    uint64_t units;
    uint32_t process;
    uint32_t resource;
} gordian_lack;

typedef enum gordian_detail {
    GORDIAN_DETAIL_VERDICT, /* and the processes served */
    GORDIAN_DETAIL_REASONS, /* and the lists; takes time proportional to the system */
} gordian_detail;

/* An answer and its lists. The lists are valid until the answer is used for another call or freed.
 * Initialise an answer once, use it for any number of calls, and free it once. Every function that
 * takes an answer accepts NULL. If there is no memory for the lists, the call takes effect and
 * `incomplete` is set. The lists come from the allocator of the bank that the answer was first used
 * with. */
typedef struct gordian_answer {
    gordian_detail detail;
    gordian_verdict verdict;
    gordian_reason reason; /* with GORDIAN_VERDICT_REFUSED; GORDIAN_REASON_OUT_OF_TURN with
                              GORDIAN_VERDICT_UNAVAILABLE */
    bool waits;            /* unsafe or unavailable: it waits in the queue */
    bool incomplete;       /* no memory for the lists */
    uint32_t at; /* refused: index of the want, from 0; the number of wants: the process, or a
                    missing resource */
    const uint32_t *served; /* processes whose waiting requests this call granted, in order */
    size_t served_count;
    const uint32_t *sequence; /* granted: an order in which all processes can finish */
    size_t sequence_count;
    const uint32_t *stuck; /* unsafe: the processes that could then not finish, ascending */
    size_t stuck_count;
    const gordian_lack *lacks; /* unsafe: what each stuck process would lack after all others have
                                  finished; unavailable: what is short now; ascending */
    size_t lack_count;
    struct gordian_answer_store *store; /* internal */
} gordian_answer;

/* Initialises an empty answer, which the calls below fill in according to `detail`. It may be
 * reused. After gordian_answer_free it is empty again. */
GORDIAN_API void gordian_answer_init(gordian_answer *answer, gordian_detail detail);
GORDIAN_API void gordian_answer_free(gordian_answer *answer);

/* Opens an empty bank. On failure *out is NULL. */
GORDIAN_API gordian_status gordian_bank_open(gordian_bank **out,
                                             const gordian_bank_options *options,
                                             gordian_error *error);
GORDIAN_API void gordian_bank_close(gordian_bank *bank);
GORDIAN_API const char *gordian_bank_engine_name(const gordian_bank *bank);
/* Like gordian_engine_note, into a buffer of the caller; "" if there is no note. */
GORDIAN_API const char *gordian_bank_engine_note(gordian_bank *bank, char *buffer, size_t size);
GORDIAN_API gordian_status gordian_bank_reserve(gordian_bank *bank, uint32_t processes,
                                                uint32_t resources, gordian_error *error);

/* Resources can be added, removed while no process claims them, and resized, down to 0. A reduction
 * requires that every claim still fits (GORDIAN_VERDICT_REFUSED, GORDIAN_REASON_NEVER_FITS), that
 * the units are free (GORDIAN_VERDICT_UNAVAILABLE), and that the state stays safe
 * (GORDIAN_VERDICT_UNSAFE). Otherwise nothing changes. */
GORDIAN_API gordian_status gordian_bank_add_resource(gordian_bank *bank, const char *name,
                                                     uint64_t units, uint32_t *id,
                                                     gordian_error *error);
GORDIAN_API gordian_status gordian_bank_remove_resource(gordian_bank *bank, uint32_t resource,
                                                        gordian_error *error);
GORDIAN_API gordian_status gordian_bank_set_units(gordian_bank *bank, uint32_t resource,
                                                  uint64_t units, gordian_answer *answer,
                                                  gordian_error *error);

/* Processes are added with a claim, which may change later. The claim is the maximum of each
 * resource that they will ever hold at once. If a resource is listed twice, the units add up; a
 * resource that is not listed is not claimed. A claim above a total is refused, because it could
 * never be met (*id is then GORDIAN_NONE). A raised claim is granted only if the state stays safe;
 * otherwise nothing changes (GORDIAN_VERDICT_UNSAFE). */
GORDIAN_API gordian_status gordian_bank_add_process(gordian_bank *bank, const char *name,
                                                    const gordian_want *claims, size_t count,
                                                    uint32_t *id, gordian_answer *answer,
                                                    gordian_error *error);
GORDIAN_API gordian_status gordian_bank_set_claims(gordian_bank *bank, uint32_t process,
                                                   const gordian_want *claims, size_t count,
                                                   gordian_answer *answer, gordian_error *error);
/* Withdraws the request of a process, releases all its units, drops its claim and removes it. */
GORDIAN_API gordian_status gordian_bank_exit(gordian_bank *bank, uint32_t process,
                                             gordian_answer *answer, gordian_error *error);

/* Requests units of several resources at once, all or nothing. */
GORDIAN_API gordian_status gordian_bank_request(gordian_bank *bank, uint32_t process,
                                                const gordian_want *wants, size_t count,
                                                gordian_answer *answer, gordian_error *error);
GORDIAN_API gordian_status gordian_bank_release(gordian_bank *bank, uint32_t process,
                                                const gordian_want *wants, size_t count,
                                                gordian_answer *answer, gordian_error *error);
/* Cancels a waiting request, or a grant on trial. */
GORDIAN_API gordian_status gordian_bank_cancel(gordian_bank *bank, uint32_t process,
                                               gordian_answer *answer, gordian_error *error);

/* A request in two steps. `try` never waits, and its grant is on trial until it is committed
 * (GORDIAN_VERDICT_GRANTED: the units stay) or cancelled (they are released). In between, the
 * caller can check whether it can really obtain what the units stand for. */
GORDIAN_API gordian_status gordian_bank_try(gordian_bank *bank, uint32_t process,
                                            const gordian_want *wants, size_t count,
                                            gordian_answer *answer, gordian_error *error);
GORDIAN_API gordian_status gordian_bank_commit(gordian_bank *bank, uint32_t process,
                                               gordian_answer *answer, gordian_error *error);

/* Requests, and sleeps until the request is granted or the timeout expires; UINT64_MAX: no timeout;
 * 0: does not sleep. After a timeout the verdict has the reason, and the request no longer waits.
 * Needs a bank with a queue (otherwise GORDIAN_STATUS_INPUT). If another thread cancels the request
 * or exits the process, the result is GORDIAN_VERDICT_CANCELLED. Not a cancellation point. */
GORDIAN_API gordian_status gordian_bank_acquire(gordian_bank *bank, uint32_t process,
                                                const gordian_want *wants, size_t count,
                                                uint64_t timeout_ns, gordian_answer *answer,
                                                gordian_error *error);

typedef struct gordian_bank_request_item {
    uint32_t process;
    const gordian_want *wants;
    size_t count;
} gordian_bank_request_item;

/* Returns how each of these requests, made alone now, would be answered. Nothing changes. */
GORDIAN_API gordian_status gordian_bank_what_if(gordian_bank *bank,
                                                const gordian_bank_request_item *requests,
                                                size_t count, gordian_verdict *verdicts,
                                                gordian_error *error);

/* Fills in up to `room` ids of an order in which all processes can finish now. Returns the number
 * of processes. */
GORDIAN_API size_t gordian_bank_sequence(gordian_bank *bank, uint32_t *processes, size_t room);
/* Returns the largest number of units of the resource that could be removed now: the state would
 * stay safe, and every claim would still fit. */
GORDIAN_API gordian_status gordian_bank_slack(gordian_bank *bank, uint32_t resource,
                                              uint64_t *units, gordian_error *error);

/* Returns the id for a name, or GORDIAN_NONE. */
GORDIAN_API uint32_t gordian_bank_find_process(gordian_bank *bank, const char *name, size_t length);
GORDIAN_API uint32_t gordian_bank_find_resource(gordian_bank *bank, const char *name,
                                                size_t length);
/* Writes to a buffer of GORDIAN_NAME_MAX + 1 bytes. Returns NULL for an id that is not in use. */
GORDIAN_API const char *gordian_bank_process_name(gordian_bank *bank, uint32_t process,
                                                  char *buffer);
GORDIAN_API const char *gordian_bank_resource_name(gordian_bank *bank, uint32_t resource,
                                                   char *buffer);
GORDIAN_API uint32_t gordian_bank_process_limit(gordian_bank *bank);
GORDIAN_API uint32_t gordian_bank_resource_limit(gordian_bank *bank);
GORDIAN_API uint64_t gordian_bank_units(gordian_bank *bank, uint32_t resource);
GORDIAN_API uint64_t gordian_bank_free_units(gordian_bank *bank, uint32_t resource);
GORDIAN_API uint64_t gordian_bank_claim(gordian_bank *bank, uint32_t process, uint32_t resource);
GORDIAN_API uint64_t gordian_bank_held(gordian_bank *bank, uint32_t process, uint32_t resource);
GORDIAN_API bool gordian_bank_is_waiting(gordian_bank *bank, uint32_t process);

/* Each function fills in up to `room` edges and returns how many there are; none for an id that is
 * not in use. A grant on trial counts as held. The edges of a process ascend by resource. The
 * owners of a resource are in no particular order. */
GORDIAN_API size_t gordian_bank_holdings(gordian_bank *bank, uint32_t process, gordian_edge *edges,
                                         size_t room);
GORDIAN_API size_t gordian_bank_pending(gordian_bank *bank, uint32_t process, gordian_edge *edges,
                                        size_t room);
GORDIAN_API size_t gordian_bank_holders(gordian_bank *bank, uint32_t resource, gordian_edge *edges,
                                        size_t room);
/* The waiters of a resource, in order of arrival. */
GORDIAN_API size_t gordian_bank_waiters(gordian_bank *bank, uint32_t resource, gordian_edge *edges,
                                        size_t room);

/* "granted", "unsafe", "unavailable", "released", "cancelled", "exited", "changed", "error". */
GORDIAN_API const char *gordian_verdict_text(gordian_verdict verdict);
/* A short text, such as "more than it may still ask for"; "" for GORDIAN_REASON_NONE. */
GORDIAN_API const char *gordian_reason_text(gordian_reason reason);

/* ------------------------------------------------------------------ planning */

/* How many units do processes with these claims need? With a bank, the largest claim on each
 * resource is enough. Without a bank, every request that fits is granted. A deadlock is then
 * reachable if and only if for some set of resources, the claims exceed the units by at least the
 * number of processes that claim any of them. A *plan* checks the existing pools with this
 * condition, and finds the cheapest pools in which no deadlock is possible. It is exact for systems
 * of any size.
 *
 * Ids are dense from 0, in the order in which they are added. Names are optional. Nothing is ever
 * removed; a process that claims nothing does not count. Only one thread at a time may use a plan.
 */
typedef struct gordian_plan gordian_plan;

/* `allocator` NULL: that of the C library; it must outlive the plan. On failure *out is NULL. */
GORDIAN_API gordian_status gordian_plan_open(gordian_plan **out, const gordian_allocator *allocator,
                                             gordian_error *error);
GORDIAN_API void gordian_plan_close(gordian_plan *plan);

/* Adds a resource with the number of units that exist now, which may be 0. A unit costs 1. */
GORDIAN_API gordian_status gordian_plan_add_resource(gordian_plan *plan, const char *name,
                                                     uint64_t units, uint32_t *id,
                                                     gordian_error *error);
GORDIAN_API gordian_status gordian_plan_set_units(gordian_plan *plan, uint32_t resource,
                                                  uint64_t units, gordian_error *error);
GORDIAN_API gordian_status gordian_plan_set_cost(gordian_plan *plan, uint32_t resource,
                                                 uint64_t cost, gordian_error *error);
/* Adds a process with the maximum of each resource that it will ever hold at once. If a resource is
 * listed twice, the units add up; zero units have no effect. Claims may exceed the existing units.
 * GORDIAN_STATUS_INPUT if the sum of all claims on a resource would exceed 2^64 - 1. */
GORDIAN_API gordian_status gordian_plan_add_process(gordian_plan *plan, const char *name,
                                                    const gordian_want *claims, size_t count,
                                                    uint32_t *id, gordian_error *error);
GORDIAN_API gordian_status gordian_plan_set_claims(gordian_plan *plan, uint32_t process,
                                                   const gordian_want *claims, size_t count,
                                                   gordian_error *error);

/* Returns the id for a name, or GORDIAN_NONE. */
GORDIAN_API uint32_t gordian_plan_find_process(const gordian_plan *plan, const char *name,
                                               size_t length);
GORDIAN_API uint32_t gordian_plan_find_resource(const gordian_plan *plan, const char *name,
                                                size_t length);
/* "" without a name, NULL for an id that is not in use. Valid until something is added. */
GORDIAN_API const char *gordian_plan_process_name(const gordian_plan *plan, uint32_t process);
GORDIAN_API const char *gordian_plan_resource_name(const gordian_plan *plan, uint32_t resource);

/* The results for one resource. */
typedef struct gordian_pool {
    uint64_t units;   /* that exist now */
    uint64_t cost;    /* of one unit */
    uint64_t claims;  /* sum of all claims: with this many units no process ever waits */
    uint64_t largest; /* largest claim: with this many units a bank can let all processes finish */
    uint64_t alone; /* without a bank: the minimum that prevents a deadlock on this resource alone:
                       the sum of (claim - 1), plus 1 */
    uint64_t least; /* without a bank: units in the cheapest pools that cannot deadlock */
    uint64_t missing; /* without a bank: units in the cheapest addition to the existing pools after
                         which they cannot deadlock */
    uint32_t claimants; /* processes that claim any of it */
} gordian_pool;

/* The lists belong to the plan and are valid until the next call that changes or solves it. Sums
 * above 2^64 - 1 are returned as 2^64 - 1. */
typedef struct gordian_plan_answer {
    const gordian_pool *pools; /* by resource */
    size_t pool_count;
    uint64_t least_units, least_cost;     /* total of the cheapest pools */
    uint64_t missing_units, missing_cost; /* total of the cheapest addition */
    bool safe;                            /* without a bank, no deadlock is reachable now */
    /* If a deadlock is reachable: a reachable state in which each of these processes waits for one
     * unit of resources that they hold completely. */
    gordian_witness witness;
} gordian_plan_answer;

/* Computes how many units of each resource are enough. The lists of the answer belong to the plan
 * until it is solved again or changed. */
GORDIAN_API gordian_status gordian_plan_solve(gordian_plan *plan, gordian_plan_answer *answer,
                                              gordian_error *error);

/* ------------------------------------------------------------------ traces */

/* A trace that is replayed into a bank.
 *
 * - A `process` line declares a claim, or changes that of a known process. `priority=` and `cost=`
 *   are ignored unless resources have these names. A process must be declared before its first
 *   event, and again after an exit.
 * - A `resource` line declares a total or changes it.
 * - `release` takes several resources. `hold` and `wait` are requests. */
typedef struct gordian_bank_replay gordian_bank_replay;

typedef struct gordian_bank_step {
    uint64_t seq;    /* events so far, without declarations */
    uint64_t line;   /* its line */
    uint64_t column; /* of the word that caused an error, or of the first word */
    gordian_line kind;
    gordian_op op;             /* of an event */
    const char *name;          /* as written: of the process, or of the declared resource */
    uint32_t process;          /* GORDIAN_NONE if it is not known, or no longer known */
    const gordian_want *wants; /* requested, released or claimed; GORDIAN_NONE if not known */
    size_t want_count;
    uint64_t units;      /* of the declared resource */
    const char *message; /* refused: the reason; otherwise NULL */
} gordian_bank_step;

/* The bank and the source must outlive the replay. */
GORDIAN_API gordian_status gordian_bank_replay_open(gordian_bank_replay **out, gordian_bank *bank,
                                                    const gordian_source *source,
                                                    gordian_error *error);
GORDIAN_API void gordian_bank_replay_close(gordian_bank_replay *replay);
/* Returns the next line, including declarations, and the answer of the bank. GORDIAN_STATUS_END
 * after the last one. GORDIAN_STATUS_INPUT, with line and column, for a line that is not valid. The
 * lists and texts of the step are valid until the next step. */
GORDIAN_API gordian_status gordian_bank_replay_next(gordian_bank_replay *replay,
                                                    gordian_bank_step *step, gordian_answer *answer,
                                                    gordian_error *error);

/* Reads a plan from the declarations of a trace; the last declaration of each name counts. Events
 * are ignored, except that a process that exits no longer claims anything. */
GORDIAN_API gordian_status gordian_plan_read(gordian_plan **out, const gordian_source *source,
                                             const gordian_allocator *allocator,
                                             gordian_error *error);

#ifdef __cplusplus
}
#endif

#endif
