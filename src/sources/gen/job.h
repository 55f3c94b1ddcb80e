/* Generates training jobs that hang: dumps of a flight recorder together with the expected result.
 *
 * A job has tensor, pipeline, data and expert parallel groups. Each stage of the pipeline has a
 * program (job_plan.c): layers with collectives, sends and receives between stages, and a reduction
 * over the data at the end of a step. job_run.c injects a fault and simulates the host and the
 * device of every rank until nothing can proceed. job_dump.c dumps the final state. */
#pragma once

#include "foundation/base/arena.h"
#include "foundation/base/random.h"
#include "sources/gen/gen.h"

enum fault {
    FAULT_NONE,
    FAULT_ABSENT,    /* a rank stops calling */
    FAULT_SILENT,    /* a rank stops calling and leaves no dump */
    FAULT_STUCK,     /* a device does not complete an operation that its peers complete */
    FAULT_OPERATION, /* a rank calls another collective than the other ranks */
    FAULT_SIZE,      /* a rank calls with another size */
    FAULT_ORDER,     /* a rank uses two groups in another order than the others */
    FAULT_RING,      /* a ring of receives along a pipeline */
    FAULT_COUNT,
};

extern const char *const fault_names[]; /* NULL at the end */

enum group_kind {
    GROUP_WORLD,
    GROUP_TENSOR,
    GROUP_PIPELINE,
    GROUP_DATA,
    GROUP_EXPERT,
    GROUP_KINDS,
};

enum call {
    CALL_ALL_GATHER,
    CALL_REDUCE_SCATTER,
    CALL_ALL_TO_ALL,
    CALL_ALL_REDUCE,
    CALL_SEND,
    CALL_RECV,
};

/* One operation in the program of a stage. */
struct call_plan {
    uint8_t call;   /* enum call */
    uint8_t kind;   /* enum group_kind */
    int8_t toward;  /* send, recv: +1 the next stage, -1 the one before */
    bool ring;      /* only for FAULT_RING: connects the ends of the pipeline */
    uint32_t batch; /* the first operation of the batch; a batch runs as a whole */
    uint32_t match; /* send, recv: the index of the peer's operation in the program of its stage */
    uint32_t sequence; /* number in its group, from 1: of collectives, or of batches of sends and
                          receives */
    uint32_t elements;
};

struct stage {
    struct call_plan *calls;
    uint32_t count;
};

struct job_truth {
    enum fault fault;
    uint32_t culprits[2]; /* ranks, ascending */
    uint32_t culprit_count;
    uint32_t mismatches, cycles;
    uint32_t odd; /* the rank that differs from the others; NONE: there is none */
};

struct gen_job {
    gordian_allocator memory;
    struct random random;
    uint32_t ranks, tensor, pipeline, data, expert;
    uint32_t keep;   /* capacity of a recorder, in entries */
    uint32_t window; /* operations that a host may queue ahead of its device, not counting sends */
    bool active;     /* dumps omit completed operations */
    bool timed;      /* recorders note when operations start */
    bool frames;     /* recorders note stack frames of Python */
    bool batches;    /* sends and receives are coalesced, as by batch_isend_irecv */
    bool coalesces;  /* some collectives are coalesced */
    uint32_t base;   /* the first sequence number and record id */
    struct stage *stages;
    uint32_t length; /* of the longest program */

    struct arena run;   /* owns the arrays below */
    uint8_t *states;    /* rank x operation, enum call_state */
    uint32_t *hosts;    /* by rank: operations queued */
    uint32_t *lows;     /* by rank: all operations before this one are completed */
    uint32_t *pending;  /* by rank: operations queued and not completed, not counting sends */
    uint32_t *currents; /* by rank: the collective that the device is in */
    uint32_t *arrived[GROUP_KINDS]; /* by group: ranks that have reached the current collective */
    uint32_t *work;                 /* stack of ranks that may proceed */
    bool *at_work;                  /* by rank: it is on the stack */
    size_t work_count;

    /* the fault: victims and their places */
    enum fault fault;
    uint32_t victims[2], victim_count;
    uint32_t at[2];  /* index in the victim's program */
    bool unbegun;    /* stuck before the operation, not in it */
    bool reached[2]; /* the others have completed the operation, or have all arrived */
    struct job_truth truth;
};

enum call_state {
    CALL_STATE_NONE,
    CALL_STATE_STARTED,
    CALL_STATE_DONE,
};

/* Larger jobs have no group of all ranks: its list of ranks would be most of every dump. */
#define JOB_WORLD_MOST 2048

/* Sets up a job and runs it. Uses the options processes (ranks), events (capacity of recorders),
 * tensor, pipeline, expert, fault and seed. */
gordian_status gen_job_open(struct gen_job **out, const struct gen_options *options,
                            gordian_error *error);
void gen_job_close(struct gen_job *job);

/* Writes the dump of a rank. False: the rank leaves no dump. */
bool gen_job_dump(const struct gen_job *job, uint32_t rank, bool json, struct output *out);
/* Writes the expected result as one line of JSON. */
void gen_job_truth(const struct gen_job *job, struct output *out);

/* job_plan.c */
gordian_status plan_job(struct gen_job *job, gordian_error *error);
/* job_run.c */
gordian_status run_job(struct gen_job *job, gordian_error *error);
/* Does the rank skip this operation? Only the pipeline with the fault runs operations of a ring. */
bool job_skips(const struct gen_job *job, uint32_t rank, uint32_t index);

/* ------------------------------------------------------------------ ranks and groups */

static inline uint32_t job_stage(const struct gen_job *job, uint32_t rank)
{
    return rank / (job->tensor * job->data);
}

static inline const struct stage *stage_of(const struct gen_job *job, uint32_t rank)
{
    return &job->stages[job_stage(job, rank)];
}

/* Returns the group of a rank, the number of groups, the size of a group, and a member, for a kind
 * of group. */
uint32_t job_group(const struct gen_job *job, enum group_kind kind, uint32_t rank);
uint32_t job_groups(const struct gen_job *job, enum group_kind kind);
uint32_t job_members(const struct gen_job *job, enum group_kind kind);
uint32_t job_member(const struct gen_job *job, enum group_kind kind, uint32_t group, uint32_t at);

/* Returns the rank `toward` stages further in the same pipeline. */
static inline uint32_t job_neighbour(const struct gen_job *job, uint32_t rank, int toward)
{
    uint32_t wide = job->tensor * job->data;
    uint32_t stage = (job_stage(job, rank) + job->pipeline + (uint32_t)toward) % job->pipeline;
    return stage * wide + rank % wide;
}

/* Returns the state of an operation. All programs are padded to the longest. */
static inline uint8_t *job_state(const struct gen_job *job, uint32_t rank, uint32_t index)
{
    return &job->states[(size_t)rank * job->length + index];
}

/* Returns which operation a rank runs as its index-th. A rank with FAULT_ORDER swaps two of
 * them. */
static inline uint32_t job_index(const struct gen_job *job, uint32_t rank, uint32_t index)
{
    if (job->fault != FAULT_ORDER || rank != job->victims[0] || index < job->at[0] ||
        index > job->at[0] + 1)
        return index;
    return index == job->at[0] ? index + 1 : index - 1;
}

static inline const struct call_plan *job_call(const struct gen_job *job, uint32_t rank,
                                               uint32_t index)
{
    return &stage_of(job, rank)->calls[job_index(job, rank, index)];
}

static inline bool call_is_p2p(const struct call_plan *plan)
{
    return plan->call == CALL_SEND || plan->call == CALL_RECV;
}
