/*
 * Keeping deadlocks from happening where processes can say beforehand how much they may come to
 * want: *banks*, which lend only what is safe, *plans*, which tell how many units are enough, and
 * traces replayed into either.
 *
 * A part of <gordian/gordian.h>, which includes it and has the conventions.
 */
#ifndef GORDIAN_AVOID_H
#define GORDIAN_AVOID_H

#include <gordian/gordian.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ banks */

/* A *bank* lends units of resources to processes that have said beforehand how much they may come
 * to want, and lends only what leaves a way for everybody to finish (the banker's algorithm). What
 * it lends can never end in a deadlock, whatever the processes do within their claims.
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
 * Threads: a bank may be used by any number of threads at once. Every call takes the bank's one
 * lock for as long as it decides, and calls nothing of the caller's while it has it (but for the
 * allocator); calls take effect one after another. What a call tells is the caller's own: answers
 * are not touched by others' calls. gordian_bank_close must be the last call. */
typedef struct gordian_bank gordian_bank;

typedef struct gordian_bank_options {
    const char *engine;                 /* "auto" (default), "holt", "dense", "cuda" */
    const gordian_allocator *allocator; /* NULL: the C library's; must outlive the bank */
    bool queue;        /* requests that cannot be served now wait, and are looked at again in order
                          of arrival after everything that may help them */
    uint32_t patience; /* how often others may be served past the request that has waited longest
                          (16); after that only processes that hold something are, as it may be
                          them that it waits for, until it is served itself: nobody starves */
} gordian_bank_options;

/* Sets every option to its default. */
GORDIAN_API void gordian_bank_options_init(gordian_bank_options *options);

typedef enum gordian_verdict {
    GORDIAN_VERDICT_GRANTED = 1, /* the request is granted */
    GORDIAN_VERDICT_UNSAFE,      /* it fits, but some could then wait for each other for ever */
    GORDIAN_VERDICT_UNAVAILABLE, /* more than is free now, or kept for another:
                                    GORDIAN_REASON_OUT_OF_TURN */
    GORDIAN_VERDICT_RELEASED,    /* released */
    GORDIAN_VERDICT_CANCELLED,   /* a waiting request, or a grant on trial, was given up */
    GORDIAN_VERDICT_EXITED,      /* exited */
    GORDIAN_VERDICT_CHANGED,     /* a claim or a total was declared or changed */
    GORDIAN_VERDICT_REFUSED,     /* an error: see `reason`; nothing has changed */
} gordian_verdict;

typedef enum gordian_reason {
    GORDIAN_REASON_NONE = 0,
    GORDIAN_REASON_UNKNOWN_PROCESS,  /* unknown process */
    GORDIAN_REASON_UNKNOWN_RESOURCE, /* unknown resource */
    GORDIAN_REASON_NO_UNITS,         /* asks for zero units, or for nothing */
    GORDIAN_REASON_OVER_CLAIM,       /* more than it may still ask for */
    GORDIAN_REASON_NEVER_FITS,       /* a claim above the total, or a total below a claim */
    GORDIAN_REASON_BELOW_HELD,       /* a claim below what is held, a release of what is not held */
    GORDIAN_REASON_IS_WAITING,  /* one that waits may not request, release or change its claim */
    GORDIAN_REASON_NOT_WAITING, /* nothing to withdraw */
    GORDIAN_REASON_ON_TRIAL,    /* its last grant must be committed or cancelled first */
    GORDIAN_REASON_NO_TRIAL,    /* nothing to commit */
    GORDIAN_REASON_TOO_MANY,    /* units would overflow */
    GORDIAN_REASON_OUT_OF_TURN, /* not an error: kept for one that was passed too often */
} gordian_reason;

/* Units that somebody lacks. */
typedef struct gordian_lack {
    uint64_t units;
    uint32_t process;
    uint32_t resource;
} gordian_lack;

typedef enum gordian_detail {
    GORDIAN_DETAIL_VERDICT, /* and who was served */
    GORDIAN_DETAIL_REASONS, /* and the lists: costs time in proportion to the system */
} gordian_detail;

/* An answer and its lists, which belong to it: valid until it is used for another call or freed.
 * Initialise it once, use it for any number of calls, free it once. Every function that takes one
 * takes NULL. Without memory for the lists the call has taken effect all the same, and
 * `incomplete` is set. The lists come from the allocator of the bank it was first used with. */
typedef struct gordian_answer {
    gordian_detail detail;
    gordian_verdict verdict;
    gordian_reason reason;  /* of GORDIAN_VERDICT_REFUSED; GORDIAN_REASON_OUT_OF_TURN with
                               GORDIAN_VERDICT_UNAVAILABLE */
    bool waits;             /* unsafe or unavailable: it waits in the queue */
    bool incomplete;        /* no memory for the lists */
    uint32_t at;            /* declined: which of the wants, from 0; their count: none of them,
                               but the process, or a resource that should be among them */
    const uint32_t *served; /* whose waiting requests were granted by this call, in order */
    size_t served_count;
    const uint32_t *sequence; /* lent: an order in which everybody can finish */
    size_t sequence_count;
    const uint32_t *stuck; /* unsafe: who could then not finish, ascending */
    size_t stuck_count;
    const gordian_lack *lacks; /* unsafe: what each of the stuck would lack when all others have
                                  finished; unavailable: what is short now; ascending */
    size_t lack_count;
    struct gordian_answer_store *store; /* internal */
} gordian_answer;

/* An empty answer, which the calls below fill with as much as `detail` says; it may be used again
 * and again. Freed, it is empty once more. */
GORDIAN_API void gordian_answer_init(gordian_answer *answer, gordian_detail detail);
GORDIAN_API void gordian_answer_free(gordian_answer *answer);

/* Opens an empty bank. On failure *out is NULL. */
GORDIAN_API gordian_status gordian_bank_open(gordian_bank **out,
                                             const gordian_bank_options *options,
                                             gordian_error *error);
GORDIAN_API void gordian_bank_close(gordian_bank *bank);
GORDIAN_API const char *gordian_bank_engine_name(const gordian_bank *bank);
/* As gordian_engine_note; into a caller's buffer, "" if there is nothing. */
GORDIAN_API const char *gordian_bank_engine_note(gordian_bank *bank, char *buffer, size_t size);
GORDIAN_API gordian_status gordian_bank_reserve(gordian_bank *bank, uint32_t processes,
                                                uint32_t resources, gordian_error *error);

/* Resources come, go while nobody claims them, and change their totals, down to 0: fewer units only
 * if every claim still fits (GORDIAN_VERDICT_REFUSED, GORDIAN_REASON_NEVER_FITS), they are free
 * (GORDIAN_VERDICT_UNAVAILABLE), and it stays safe (GORDIAN_VERDICT_UNSAFE); otherwise nothing
 * changes. */
GORDIAN_API gordian_status gordian_bank_add_resource(gordian_bank *bank, const char *name,
                                                     uint64_t units, uint32_t *id,
                                                     gordian_error *error);
GORDIAN_API gordian_status gordian_bank_remove_resource(gordian_bank *bank, uint32_t resource,
                                                        gordian_error *error);
GORDIAN_API gordian_status gordian_bank_set_units(gordian_bank *bank, uint32_t resource,
                                                  uint64_t units, gordian_answer *answer,
                                                  gordian_error *error);

/* Processes come with a claim, the most of each resource that they will ever hold at once (the
 * same resource named twice adds up; what is not named is not claimed), change it, and go. A claim
 * above a total is declined: it could never be met (*id is GORDIAN_NONE then). Raising one is
 * granted only if it stays safe (GORDIAN_VERDICT_UNSAFE otherwise, nothing changes). */
GORDIAN_API gordian_status gordian_bank_add_process(gordian_bank *bank, const char *name,
                                                    const gordian_want *claims, size_t count,
                                                    uint32_t *id, gordian_answer *answer,
                                                    gordian_error *error);
GORDIAN_API gordian_status gordian_bank_set_claims(gordian_bank *bank, uint32_t process,
                                                   const gordian_want *claims, size_t count,
                                                   gordian_answer *answer, gordian_error *error);
/* Gives up its request, returns everything, drops its claim: it is forgotten. */
GORDIAN_API gordian_status gordian_bank_exit(gordian_bank *bank, uint32_t process,
                                             gordian_answer *answer, gordian_error *error);

/* Asks for units of several resources at once, all or nothing. */
GORDIAN_API gordian_status gordian_bank_request(gordian_bank *bank, uint32_t process,
                                                const gordian_want *wants, size_t count,
                                                gordian_answer *answer, gordian_error *error);
GORDIAN_API gordian_status gordian_bank_release(gordian_bank *bank, uint32_t process,
                                                const gordian_want *wants, size_t count,
                                                gordian_answer *answer, gordian_error *error);
/* Gives up a waiting request, or a grant on trial. */
GORDIAN_API gordian_status gordian_bank_cancel(gordian_bank *bank, uint32_t process,
                                               gordian_answer *answer, gordian_error *error);

/* In two steps: `try` is a request that never waits, and whose grant is on trial until it is
 * committed (GORDIAN_VERDICT_GRANTED: the units stay) or cancelled (they go back), so that the
 * caller can see first whether what the units stand for can really be had. */
GORDIAN_API gordian_status gordian_bank_try(gordian_bank *bank, uint32_t process,
                                            const gordian_want *wants, size_t count,
                                            gordian_answer *answer, gordian_error *error);
GORDIAN_API gordian_status gordian_bank_commit(gordian_bank *bank, uint32_t process,
                                               gordian_answer *answer, gordian_error *error);

/* Asks, and sleeps until it is granted or the time is up (then the verdict says why not; it does
 * not wait any longer); UINT64_MAX: no limit; 0: does not sleep. Needs a bank with a queue
 * (GORDIAN_STATUS_INPUT otherwise). A cancel or an exit of the process by another thread ends it
 * with GORDIAN_VERDICT_CANCELLED. Not a point where a thread may be cancelled. */
GORDIAN_API gordian_status gordian_bank_acquire(gordian_bank *bank, uint32_t process,
                                                const gordian_want *wants, size_t count,
                                                uint64_t timeout_ns, gordian_answer *answer,
                                                gordian_error *error);

typedef struct gordian_bank_request_item {
    uint32_t process;
    const gordian_want *wants;
    size_t count;
} gordian_bank_request_item;

/* What each of these requests, made alone and now, would be told. Nothing changes. */
GORDIAN_API gordian_status gordian_bank_what_if(gordian_bank *bank,
                                                const gordian_bank_request_item *requests,
                                                size_t count, gordian_verdict *verdicts,
                                                gordian_error *error);

/* Fills up to `room` ids of the order in which everybody can finish now; returns how many
 * processes there are. */
GORDIAN_API size_t gordian_bank_sequence(gordian_bank *bank, uint32_t *processes, size_t room);
/* The most units of the resource that could be taken out of the bank now: it would stay safe and
 * every claim would still fit. */
GORDIAN_API gordian_status gordian_bank_slack(gordian_bank *bank, uint32_t resource,
                                              uint64_t *units, gordian_error *error);

/* The id of a name; GORDIAN_NONE if nobody has it. */
GORDIAN_API uint32_t gordian_bank_find_process(gordian_bank *bank, const char *name, size_t length);
GORDIAN_API uint32_t gordian_bank_find_resource(gordian_bank *bank, const char *name,
                                                size_t length);
/* Into a caller's buffer of GORDIAN_NAME_MAX + 1 bytes; NULL for an id not in use. */
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

/* Each fills up to `room` edges and returns how many there are; none for an id not in use. A grant
 * on trial counts as held. What a process holds, and what it waits for, ascends by resource; the
 * holders of a resource are in no particular order. */
GORDIAN_API size_t gordian_bank_holdings(gordian_bank *bank, uint32_t process, gordian_edge *edges,
                                         size_t room);
GORDIAN_API size_t gordian_bank_pending(gordian_bank *bank, uint32_t process, gordian_edge *edges,
                                        size_t room);
GORDIAN_API size_t gordian_bank_holders(gordian_bank *bank, uint32_t resource, gordian_edge *edges,
                                        size_t room);
/* Those waiting for a resource, in order of arrival. */
GORDIAN_API size_t gordian_bank_waiters(gordian_bank *bank, uint32_t resource, gordian_edge *edges,
                                        size_t room);

/* "granted", "unsafe", "unavailable", "released", "cancelled", "exited", "changed", "error". */
GORDIAN_API const char *gordian_verdict_text(gordian_verdict verdict);
/* A few words: "more than it may still ask for"; "" for GORDIAN_REASON_NONE. */
GORDIAN_API const char *gordian_reason_text(gordian_reason reason);

/* ------------------------------------------------------------------ planning */

/* How many units do processes with these claims need? With a bank, the largest claim on each
 * resource is enough. Without one, where whatever fits is granted, a deadlock can be reached if
 * and only if some of the resources together fall short of their claims by at least as many units
 * as there are processes that claim any of them. A *plan* judges the pools there are by that, and
 * finds the cheapest ones in which no deadlock is possible, exactly and at any size.
 *
 * Ids are dense from 0, in order of arrival. Names are optional. Nothing is ever removed: a
 * process that claims nothing does not count. A plan may be used by one thread at a time. */
typedef struct gordian_plan gordian_plan;

/* `allocator` NULL: the C library's; it must outlive the plan. On failure *out is NULL. */
GORDIAN_API gordian_status gordian_plan_open(gordian_plan **out, const gordian_allocator *allocator,
                                             gordian_error *error);
GORDIAN_API void gordian_plan_close(gordian_plan *plan);

/* A resource and how many units of it there are now: none is fine. A unit costs 1. */
GORDIAN_API gordian_status gordian_plan_add_resource(gordian_plan *plan, const char *name,
                                                     uint64_t units, uint32_t *id,
                                                     gordian_error *error);
GORDIAN_API gordian_status gordian_plan_set_units(gordian_plan *plan, uint32_t resource,
                                                  uint64_t units, gordian_error *error);
GORDIAN_API gordian_status gordian_plan_set_cost(gordian_plan *plan, uint32_t resource,
                                                 uint64_t cost, gordian_error *error);
/* A process and the most of each resource that it will ever hold at once; the same resource named
 * twice adds up, zero units are nothing. Claims may exceed the units there are.
 * GORDIAN_STATUS_INPUT when all claims on a resource would add up to more than 2^64 - 1. */
GORDIAN_API gordian_status gordian_plan_add_process(gordian_plan *plan, const char *name,
                                                    const gordian_want *claims, size_t count,
                                                    uint32_t *id, gordian_error *error);
GORDIAN_API gordian_status gordian_plan_set_claims(gordian_plan *plan, uint32_t process,
                                                   const gordian_want *claims, size_t count,
                                                   gordian_error *error);

/* The id of a name; GORDIAN_NONE if nobody has it. */
GORDIAN_API uint32_t gordian_plan_find_process(const gordian_plan *plan, const char *name,
                                               size_t length);
GORDIAN_API uint32_t gordian_plan_find_resource(const gordian_plan *plan, const char *name,
                                                size_t length);
/* "" for one without a name, NULL for an id not in use. Valid until something is added. */
GORDIAN_API const char *gordian_plan_process_name(const gordian_plan *plan, uint32_t process);
GORDIAN_API const char *gordian_plan_resource_name(const gordian_plan *plan, uint32_t resource);

/* What there is to say about one resource. */
typedef struct gordian_pool {
    uint64_t units;     /* there are now */
    uint64_t cost;      /* of one */
    uint64_t claims;    /* on it, all together: with so many units nobody ever waits */
    uint64_t largest;   /* claim on it: with so many a bank can let everybody finish */
    uint64_t alone;     /* without a bank, the fewest that make a deadlock about this resource alone
                           impossible: the sum of all claims less one, and one */
    uint64_t least;     /* without a bank: its share of the cheapest pools that cannot deadlock */
    uint64_t missing;   /* without a bank: its share of the cheapest addition to the pools there
                           are now after which they cannot deadlock */
    uint32_t claimants; /* processes that claim any of it */
} gordian_pool;

/* The lists belong to the plan and stay valid until the next call that changes or solves it. Sums
 * beyond 2^64 - 1 are given as that. */
typedef struct gordian_plan_answer {
    const gordian_pool *pools; /* by resource */
    size_t pool_count;
    uint64_t least_units, least_cost;     /* of the cheapest pools, together */
    uint64_t missing_units, missing_cost; /* of the cheapest addition */
    bool safe;                            /* without a bank no deadlock can be reached now */
    /* If one can: a state that can be reached, in which each of these processes waits for one unit
     * of what they hold all of. */
    gordian_witness witness;
} gordian_plan_answer;

/* How many units of each resource are enough. The lists of the answer belong to the plan, until it
 * is solved again or changed. */
GORDIAN_API gordian_status gordian_plan_solve(gordian_plan *plan, gordian_plan_answer *answer,
                                              gordian_error *error);

/* ------------------------------------------------------------------ traces */

/* A trace replayed into a bank. A `process` line declares a claim, or changes that of a process
 * that is known (`priority=` and `cost=` are passed over unless resources have these names); a
 * `resource` line declares a total or changes it; `release` takes several resources; `hold` and
 * `wait` are requests. A process must be declared before its first event, and after an exit
 * again. */
typedef struct gordian_bank_replay gordian_bank_replay;

typedef struct gordian_bank_step {
    uint64_t seq;    /* events so far: declarations do not count */
    uint64_t line;   /* where it stands */
    uint64_t column; /* of the word an error is about, or of the first one */
    gordian_line kind;
    gordian_op op;             /* of an event */
    const char *name;          /* as written: of the process, or of the resource declared */
    uint32_t process;          /* GORDIAN_NONE if it is not known, or not any more */
    const gordian_want *wants; /* asked for, given back, claimed; GORDIAN_NONE if not known */
    size_t want_count;
    uint64_t units;      /* of the resource declared */
    const char *message; /* declined: why; else NULL */
} gordian_bank_step;

/* The bank and the source must outlive the replay. */
GORDIAN_API gordian_status gordian_bank_replay_open(gordian_bank_replay **out, gordian_bank *bank,
                                                    const gordian_source *source,
                                                    gordian_error *error);
GORDIAN_API void gordian_bank_replay_close(gordian_bank_replay *replay);
/* The next line, declarations included, and what the bank answered. GORDIAN_STATUS_END after the
 * last one; GORDIAN_STATUS_INPUT, with line and column, at a line that is not part of the format.
 * The step's lists and texts are valid until the next one. */
GORDIAN_API gordian_status gordian_bank_replay_next(gordian_bank_replay *replay,
                                                    gordian_bank_step *step, gordian_answer *answer,
                                                    gordian_error *error);

/* A plan from a trace's declarations, the last one of each name; events are passed over, but who
 * exits claims nothing any more. */
GORDIAN_API gordian_status gordian_plan_read(gordian_plan **out, const gordian_source *source,
                                             const gordian_allocator *allocator,
                                             gordian_error *error);

#ifdef __cplusplus
}
#endif

#endif
