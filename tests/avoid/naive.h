/*
 * A bank as plain as can be, that shares no code with the library: full tables, everything counted
 * anew for every question. It says what every call must answer, and checks what there is more than
 * one right answer to.
 */
#ifndef GORDIAN_TESTS_AVOID_NAIVE_H
#define GORDIAN_TESTS_AVOID_NAIVE_H

#include <gordian/gordian.h>

enum step_kind {
    STEP_REQUEST,
    STEP_TRY,
    STEP_ACQUIRE, /* with no time to wait */
    STEP_COMMIT,
    STEP_CANCEL,
    STEP_RELEASE,
    STEP_EXIT,
    STEP_JOIN,
    STEP_CLAIMS,
    STEP_ADD_RESOURCE,
    STEP_REMOVE_RESOURCE,
    STEP_UNITS,
    STEP_KINDS
};

/* One call. */
struct step {
    enum step_kind kind;
    uint32_t process, resource;
    uint64_t units;
    gordian_want *wants;
    size_t count;
};

struct naive {
    uint32_t processes, resources; /* ids stay below: the tables' sizes */
    bool *is_process, *is_resource;
    uint64_t *total;   /* by resource */
    uint64_t *claim;   /* processes x resources each */
    uint64_t *held;    /* */
    uint64_t *pending; /* what it waits for, or has on trial */
    bool *waits, *on_trial;
    uint32_t *queue; /* in order of arrival */
    uint32_t queue_count;
    bool queues;
    uint32_t patience, passed;
    uint64_t *work; /* scratch */
    bool *finished;
};

/* What a call must be told. Lists are as in an answer. */
struct expected {
    gordian_status status; /* GORDIAN_STATUS_INPUT: refused as bad use, the rest does not count */
    gordian_verdict verdict;
    gordian_reason reason;
    uint32_t at;
    bool waits;
    uint32_t *served, *stuck;
    gordian_lack *lacks;
    size_t served_count, stuck_count, lack_count;
};

void naive_open(struct naive *naive, uint32_t processes, uint32_t resources, bool queues,
                uint32_t patience);
void naive_close(struct naive *naive);
void expected_open(struct expected *expected, const struct naive *naive);
void expected_close(struct expected *expected);

/* Takes the step. `id`: what the banks gave to a new process or resource. */
void naive_take(struct naive *naive, const struct step *step, uint32_t id,
                struct expected *expected);
/* Would it be told GORDIAN_VERDICT_GRANTED, or what, if it asked now? */
gordian_verdict naive_what_if(struct naive *naive, uint32_t process, const gordian_want *wants,
                              size_t count);
uint64_t naive_slack(struct naive *naive, uint32_t resource);
uint64_t naive_free(const struct naive *naive, uint32_t resource);

/* Is this an order in which everybody can finish now? */
bool naive_is_sequence(const struct naive *naive, const uint32_t *processes, size_t count);
/* Is there such an order? Tries them all, one after another. For few processes only. */
bool naive_tries_all(const struct naive *naive);

#endif
