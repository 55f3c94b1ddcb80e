/* Training jobs that hang, made to order: dumps of a flight recorder with the truth beside them.
 *
 * A job has tensor, pipeline, data and expert parallel groups. Its ranks run the same program,
 * stage by stage of the pipeline (job_plan.c): layers with collectives, sends and receives between
 * stages, a reduction over the data at the end of a step. It is run, host and device of every
 * rank, with a fault planted, until nothing moves (job_run.c); what stands then is dumped
 * (job_dump.c). */
#pragma once

#include "foundation/base/arena.h"
#include "foundation/base/random.h"
#include "sources/gen/gen.h"

enum fault {
    FAULT_NONE,
    FAULT_ABSENT,    /* a rank stops calling */
    FAULT_SILENT,    /* and leaves no dump */
    FAULT_STUCK,     /* a device does not complete what its peers do */
    FAULT_OPERATION, /* another collective than the others' */
    FAULT_SIZE,      /* another size */
    FAULT_ORDER,     /* two groups in another order than the others */
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

/* One operation of a stage's program. */
struct call_plan {
    uint8_t call;      /* enum call */
    uint8_t kind;      /* enum group_kind */
    int8_t toward;     /* send, recv: +1 the next stage, -1 the one before */
    bool ring;         /* of FAULT_RING: around the pipeline's ends */
    uint32_t batch;    /* the first operation of its batch: those of one batch run together */
    uint32_t match;    /* send, recv: the other side's operation in its stage's program */
    uint32_t sequence; /* of its group: collectives, or batches of sends and receives; from 1 */
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
    uint32_t odd; /* who was made to differ; NONE: nobody */
};

struct gen_job {
    gordian_allocator memory;
    struct random random;
    uint32_t ranks, tensor, pipeline, data, expert;
    uint32_t keep;   /* entries a recorder keeps */
    uint32_t window; /* operations a host runs ahead; sends not counted */
    bool active;     /* dumps leave out what is completed */
    bool timed;      /* recorders note starts */
    bool frames;     /* and lines of Python */
    bool batches;    /* sends and receives are coalesced, as batch_isend_irecv does it */
    bool coalesces;  /* and so are some collectives */
    uint32_t base;   /* what sequence numbers and records start from */
    struct stage *stages;
    uint32_t length; /* of the longest program */

    struct arena run;               /* has these */
    uint8_t *states;                /* rank x operation, enum call_state */
    uint32_t *hosts;                /* by rank: how many are queued */
    uint32_t *lows;                 /* by rank: all before this are completed */
    uint32_t *pending;              /* by rank: queued and not completed, sends not counted */
    uint32_t *currents;             /* by rank: the collective it is in */
    uint32_t *arrived[GROUP_KINDS]; /* by group: who is in its present collective */
    uint32_t *work;                 /* ranks that may move: a stack */
    bool *at_work;                  /* by rank: it is there */
    size_t work_count;

    /* the fault: victims, and where */
    enum fault fault;
    uint32_t victims[2], victim_count;
    uint32_t at[2];  /* index in the victim's program */
    bool unbegun;    /* stuck before it, not in it */
    bool reached[2]; /* the others are through it, or all in it */
    struct job_truth truth;
};

enum call_state {
    CALL_STATE_NONE,
    CALL_STATE_STARTED,
    CALL_STATE_DONE,
};

/* Larger jobs have no group of all: its list of ranks would be most of every dump. */
#define JOB_WORLD_MOST 2048

/* Makes a job and runs it. Of the options: processes (ranks), events (entries kept), tensor,
 * pipeline, expert, fault, seed. */
gordian_status gen_job_open(struct gen_job **out, const struct gen_options *options,
                            gordian_error *error);
void gen_job_close(struct gen_job *job);

/* The dump of a rank; false: it leaves none. */
bool gen_job_dump(const struct gen_job *job, uint32_t rank, bool json, struct output *out);
/* One line of JSON. */
void gen_job_truth(const struct gen_job *job, struct output *out);

/* job_plan.c */
gordian_status plan_job(struct gen_job *job, gordian_error *error);
/* job_run.c */
gordian_status run_job(struct gen_job *job, gordian_error *error);
/* Does the rank leave this operation out? Those of a ring are for the pipeline with the fault. */
bool job_skips(const struct gen_job *job, uint32_t rank, uint32_t index);

/* ------------------------------------------------------------------ who is where */

static inline uint32_t job_stage(const struct gen_job *job, uint32_t rank)
{
    return rank / (job->tensor * job->data);
}

static inline const struct stage *stage_of(const struct gen_job *job, uint32_t rank)
{
    return &job->stages[job_stage(job, rank)];
}

/* Which group of a kind a rank is in, how many there are, how large they are, and a member. */
uint32_t job_group(const struct gen_job *job, enum group_kind kind, uint32_t rank);
uint32_t job_groups(const struct gen_job *job, enum group_kind kind);
uint32_t job_members(const struct gen_job *job, enum group_kind kind);
uint32_t job_member(const struct gen_job *job, enum group_kind kind, uint32_t group, uint32_t at);

/* The rank `toward` stages further in the same pipeline. */
static inline uint32_t job_neighbour(const struct gen_job *job, uint32_t rank, int toward)
{
    uint32_t wide = job->tensor * job->data;
    uint32_t stage = (job_stage(job, rank) + job->pipeline + (uint32_t)toward) % job->pipeline;
    return stage * wide + rank % wide;
}

/* Programs are as long as the longest; the state of an operation. */
static inline uint8_t *job_state(const struct gen_job *job, uint32_t rank, uint32_t index)
{
    return &job->states[(size_t)rank * job->length + index];
}

/* What a rank does as its index-th operation: two change places for who has them in another order.
 */
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
