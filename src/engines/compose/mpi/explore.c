/*
 * Distributed state space exploration: each rank sends the states of other ranks in batches,
 * without waiting. Ranks of the same machine use shared memory (shared_mailbox.h). The exploration
 * ends when all ranks are idle and two counts in a row find as many batches received as sent. A
 * count is a non-blocking reduction that a rank joins when it is idle; it continues to work
 * meanwhile.
 */
#include "engines/compose/mpi/mpi_internal.h"
#include "engines/compose/mpi/shared_mailbox.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"

#include <sched.h>
#include <string.h>

#define BATCH 1024u /* words per message */
#define SENDS 4u    /* outstanding messages per rank */
#define WORDS 256u  /* words fired between checks for messages */

enum tag {
    TAG_STATES = 1, /* (word, states) pairs */
    TAG_STATUS,     /* to rank 0: states found, bytes used, out of memory */
    TAG_STOP,       /* from rank 0: stop and discard everything; the reason */
};

/* Messages to a rank of another machine, or to the rank itself. */
struct outbox {
    struct cell_pair *batches; /* SENDS batches of BATCH pairs */
    MPI_Request requests[SENDS];
    unsigned at; /* the batch that is the current box */
};

struct talk {
    struct job *job;
    struct outbox *outboxes; /* by rank */
    struct cells_box *boxes; /* by rank */
    struct post post;
    struct cell_pair *inbox; /* BATCH pairs */
    struct cell_pair *sieve; /* for states that are sent */
    uint64_t sent, received; /* batches of states */
    /* These messages are not counted above. They are received at the end. */
    uint64_t status_count; /* sent, or on rank 0 received */
    bool stop_told;        /* sent, or received */
    uint64_t *known;       /* rank 0: states and bytes by rank */
    uint64_t status[3];
    MPI_Request status_request;
    uint64_t last_status;
    mpi_watch *watch;
    void *context;
    gordian_compose_stop stop;
    /* The current count. */
    MPI_Request wave;
    bool waving;
    uint64_t wave_in[2], wave_out[2], wave_before[2];
};

/* ------------------------------------------------------------------ memory */

static void exploration_close(struct talk *talk)
{
    const gordian_allocator *memory = &talk->job->memory;
    for (int r = 0; talk->outboxes && r < talk->job->ranks; r++)
        memory_free(memory, talk->outboxes[r].batches);
    memory_free_all(memory, talk->outboxes, talk->boxes, talk->inbox, talk->sieve, talk->known);
    post_close(&talk->post);
}

/* Makes the next batch, whose request is complete, the box. */
static void begin_batch(struct talk *talk, size_t rank)
{
    struct outbox *outbox = &talk->outboxes[rank];
    talk->boxes[rank] =
        (struct cells_box){.pairs = outbox->batches + (size_t)outbox->at * BATCH, .room = BATCH};
}

static bool by_post(const struct talk *talk, uint32_t rank)
{
    return rank != (uint32_t)talk->job->rank && post_reaches(&talk->post, rank);
}

static bool make_boxes(struct talk *talk)
{
    const gordian_allocator *memory = &talk->job->memory;
    for (size_t r = 0; r < (size_t)talk->job->ranks; r++) {
        struct outbox *outbox = &talk->outboxes[r];
        for (unsigned i = 0; i < SENDS; i++)
            outbox->requests[i] = MPI_REQUEST_NULL;
        if (by_post(talk, (uint32_t)r)) {
            /* Always succeeds: no letter has been sent yet. */
            post_begin(&talk->post, &talk->boxes[r]);
            continue;
        }
        outbox->batches = memory_alloc(memory, SENDS * BATCH * sizeof *outbox->batches);
        if (!outbox->batches)
            return false;
        begin_batch(talk, r);
    }
    return true;
}

static gordian_status exploration_open(struct talk *talk, struct job *job, gordian_error *error)
{
    const gordian_allocator *memory = &job->memory;
    size_t ranks = (size_t)job->ranks;
    *talk = (struct talk){
        .job = job, .status_request = MPI_REQUEST_NULL, .wave_before = {UINT64_MAX, UINT64_MAX}};
    post_open(&talk->post, job->ranks, memory);
    talk->outboxes = memory_zeroed(memory, ranks * sizeof *talk->outboxes);
    talk->boxes = memory_zeroed(memory, ranks * sizeof *talk->boxes);
    talk->inbox = memory_alloc(memory, BATCH * sizeof *talk->inbox);
    talk->sieve = memory_zeroed(memory, CELLS_SIEVE * sizeof *talk->sieve);
    talk->known = memory_zeroed(memory, 2 * ranks * sizeof *talk->known);
    bool fine = talk->outboxes && talk->boxes && talk->inbox && talk->sieve && talk->known &&
                make_boxes(talk);
    if (ranks_agree(fine))
        return GORDIAN_OK;
    exploration_close(talk);
    return fail_memory(error);
}

/* ------------------------------------------------------------------ messages */

static void stop_all(struct talk *talk, gordian_compose_stop why);

static void take_states(struct talk *talk, const MPI_Status *status)
{
    int bytes;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    MPI_Recv(talk->inbox, bytes, MPI_BYTE, status->MPI_SOURCE, TAG_STATES, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    talk->received++;
    if (talk->job->stopped)
        return;
    cells_enter(&talk->job->cells, talk->inbox, (size_t)bytes / sizeof *talk->inbox);
}

static void take_status(struct talk *talk, const MPI_Status *status)
{
    uint64_t told[3];
    MPI_Recv(told, 3, MPI_UINT64_T, status->MPI_SOURCE, TAG_STATUS, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    talk->status_count++;
    talk->known[2 * status->MPI_SOURCE] = told[0];
    talk->known[2 * status->MPI_SOURCE + 1] = told[1];
    if (told[2] != GORDIAN_COMPOSE_STOP_COMPLETE)
        stop_all(talk, (gordian_compose_stop)told[2]);
}

static void take_stop(struct talk *talk)
{
    uint64_t why;
    MPI_Recv(&why, 1, MPI_UINT64_T, 0, TAG_STOP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    talk->stop_told = true;
    talk->job->stopped = true;
    talk->stop = (gordian_compose_stop)why;
}

/* Receives all pending messages. Returns true if there were any. */
static bool take_mail(struct talk *talk)
{
    uint64_t letters = post_read(&talk->post, &talk->job->cells, talk->job->stopped);
    bool any = letters > 0;
    talk->received += letters;
    for (;;) {
        MPI_Status status;
        int here;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &here, &status);
        if (!here)
            return any;
        if (status.MPI_TAG == TAG_STATES)
            take_states(talk, &status);
        else if (status.MPI_TAG == TAG_STATUS)
            take_status(talk, &status);
        else
            take_stop(talk);
        any = true;
    }
}

/* Waits for a request and receives messages meanwhile, because the receiver may be waiting for this
 * rank. */
static void wait_for_request(struct talk *talk, MPI_Request *request)
{
    int done = 0;
    while (MPI_Test(request, &done, MPI_STATUS_IGNORE), !done)
        take_mail(talk);
}

static void send_state_batch(struct talk *talk, int rank)
{
    struct outbox *outbox = &talk->outboxes[rank];
    struct cells_box *box = &talk->boxes[rank];
    MPI_Isend(box->pairs, (int)(box->count * sizeof *box->pairs), MPI_BYTE, rank, TAG_STATES,
              MPI_COMM_WORLD, &outbox->requests[outbox->at]);
    talk->sent++;
    talk->job->sent += box->count;
    outbox->at = (outbox->at + 1) % SENDS;
    wait_for_request(talk, &outbox->requests[outbox->at]);
    begin_batch(talk, (size_t)rank);
}

static void send_letter(struct talk *talk, uint32_t rank)
{
    struct cells_box *box = &talk->boxes[rank], blank;
    /* Ranks that have our letters may wait for us to read theirs. */
    while (!post_begin(&talk->post, &blank))
        if (!take_mail(talk))
            sched_yield();
    talk->sent++;
    talk->job->sent += box->count;
    post_send(&talk->post, rank, box);
    *box = blank;
}

/* Handles a box that is full, or that has to be emptied. */
static void empty_box(struct talk *talk, uint32_t owner, bool all)
{
    struct cells_box *box = &talk->boxes[owner];
    uint32_t count = box->count;
    if (owner == (uint32_t)talk->job->rank) {
        box->count = 0;
        cells_enter(&talk->job->cells, box->pairs, count);
        return;
    }
    cells_sift(talk->sieve, box);
    if (box->count <= (all ? 0 : box->room / 2))
        return;
    if (by_post(talk, owner))
        send_letter(talk, owner);
    else
        send_state_batch(talk, (int)owner);
}

static void hand_on_box(void *context, uint32_t owner)
{
    empty_box(context, owner, false);
}

/* Called on rank 0: stops all ranks. */
static void stop_all(struct talk *talk, gordian_compose_stop why)
{
    uint64_t message = why;
    if (talk->job->stopped)
        return;
    talk->job->stopped = true;
    talk->stop = why;
    talk->stop_told = true;
    for (int r = 1; r < talk->job->ranks; r++)
        MPI_Send(&message, 1, MPI_UINT64_T, r, TAG_STOP, MPI_COMM_WORLD);
}

/* Reports the status to rank 0 from time to time, and at once if the rank cannot continue. Rank 0
 * checks the sums. */
static void report_status(struct talk *talk)
{
    struct job *job = talk->job;
    uint64_t now = clock_ns(), states = 0, memory = 0;
    /* Why this rank cannot continue, whatever the others do; GORDIAN_COMPOSE_STOP_COMPLETE: it
     * can. */
    bool many = job->order.max_states && job->cells.states > job->order.max_states;
    gordian_compose_stop full = job->cells.no_memory ? GORDIAN_COMPOSE_STOP_MEMORY
                                : many               ? GORDIAN_COMPOSE_STOP_STATES
                                                     : GORDIAN_COMPOSE_STOP_COMPLETE;
    if (full == GORDIAN_COMPOSE_STOP_COMPLETE && now - talk->last_status < 50000000)
        return;
    talk->last_status = now;
    if (job->rank != 0) {
        if (job->stopped)
            return;
        wait_for_request(talk, &talk->status_request);
        talk->status[0] = job->cells.states;
        talk->status[1] = cells_bytes(&job->cells);
        talk->status[2] = full;
        MPI_Isend(talk->status, 3, MPI_UINT64_T, 0, TAG_STATUS, MPI_COMM_WORLD,
                  &talk->status_request);
        talk->status_count++;
        if (full != GORDIAN_COMPOSE_STOP_COMPLETE)
            job->stopped = true; /* until rank 0 stops all ranks */
        return;
    }
    talk->known[0] = job->cells.states;
    talk->known[1] = cells_bytes(&job->cells);
    for (int r = 0; r < job->ranks; r++) {
        states += talk->known[2 * r];
        memory += talk->known[2 * r + 1];
    }
    if (job->cells.no_memory || (job->order.max_memory && memory > job->order.max_memory))
        stop_all(talk, GORDIAN_COMPOSE_STOP_MEMORY);
    else if (job->order.max_states && states > job->order.max_states)
        stop_all(talk, GORDIAN_COMPOSE_STOP_STATES);
    else if (talk->watch && !talk->watch(talk->context, states, memory))
        stop_all(talk, GORDIAN_COMPOSE_STOP_STOPPED);
}

/* ------------------------------------------------------------------ work */

static bool has_work(const struct job *job)
{
    return cells_waiting(&job->cells) && !job->stopped;
}

/* Joins the next count, or checks the current one. Returns true if the exploration is over. */
static bool join_termination_count(struct talk *talk)
{
    int done = 0;
    if (!talk->waving) {
        talk->wave_in[0] = talk->sent;
        talk->wave_in[1] = talk->received;
        MPI_Iallreduce(talk->wave_in, talk->wave_out, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD,
                       &talk->wave);
        talk->waving = true;
    }
    MPI_Test(&talk->wave, &done, MPI_STATUS_IGNORE);
    if (!done)
        return false;
    talk->waving = false;
    bool over = talk->wave_out[0] == talk->wave_out[1] &&
                talk->wave_before[0] == talk->wave_out[0] &&
                talk->wave_before[1] == talk->wave_out[1];
    memcpy(talk->wave_before, talk->wave_out, sizeof talk->wave_before);
    return over;
}

gordian_status job_explore(struct job *job, mpi_watch *watch, void *context,
                           gordian_compose_stop *stop, gordian_error *error)
{
    struct talk talk;
    TRY(exploration_open(&talk, job, error));
    talk.watch = watch;
    talk.context = context;
    talk.last_status = clock_ns();
    for (uint64_t i = 0; i < job->order.initial && !job->cells.no_memory; i++) {
        uint64_t state = job_initial(job, i);
        struct cell_pair pair = {state >> 6, UINT64_C(1) << (state & 63)};
        if (cells_owner(&job->rules, pair.word) == (uint32_t)job->rank)
            cells_enter(&job->cells, &pair, 1);
    }
    for (bool over = false; !over;) {
        take_mail(&talk);
        report_status(&talk);
        if (has_work(job)) {
            cells_fire(&job->cells, &job->rules, WORDS, talk.boxes, hand_on_box, &talk);
            continue;
        }
        uint64_t start = clock_ns();
        for (uint32_t r = 0; r < (uint32_t)job->ranks && !job->stopped; r++)
            empty_box(&talk, r, true);
        if (!has_work(job)) {
            over = join_termination_count(&talk);
            job->idle_ns += clock_ns() - start;
        }
    }
    for (int r = 0; r < job->ranks; r++)
        MPI_Waitall(SENDS, talk.outboxes[r].requests, MPI_STATUSES_IGNORE);
    /* Receives the remaining status messages. */
    bool first = talk.job->rank == 0;
    uint64_t mine = first ? 0 : talk.status_count, all = 0;
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    while (first && talk.status_count < all)
        take_mail(&talk);
    /* They may have caused a stop. */
    int told = talk.stop_told;
    MPI_Bcast(&told, 1, MPI_INT, 0, MPI_COMM_WORLD);
    while (told && !talk.stop_told)
        take_mail(&talk);
    MPI_Wait(&talk.status_request, MPI_STATUS_IGNORE);
    int why = (int)talk.stop;
    MPI_Bcast(&why, 1, MPI_INT, 0, MPI_COMM_WORLD);
    *stop = (gordian_compose_stop)why;
    exploration_close(&talk);
    return GORDIAN_OK;
}
