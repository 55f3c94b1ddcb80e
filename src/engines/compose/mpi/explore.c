/*
 * Distributed state space exploration: each rank sends the states of other ranks in batches,
 * without waiting. Ranks of the same machine use shared memory (shared_mailbox.h). The exploration
 * ends when all ranks are idle and two counts in a row find as many batches received as sent. A
 * count is a non-blocking reduction. A rank joins it when it is idle, and can continue to work
 * while the reduction runs.
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

struct exchange {
    struct job *job;
    struct outbox *outboxes; /* by rank */
    struct cells_box *boxes; /* by rank */
    struct post post;
    struct cell_pair *inbox; /* BATCH pairs */
    struct cell_pair *sieve; /* for states that are sent */
    uint64_t sent, received; /* batches of states */
    /* These messages are not counted above. They are received at the end. */
    uint64_t status_count; /* sent, or on rank 0 received */
    bool stop_known;       /* sent, or received */
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

static void exploration_close(struct exchange *exchange)
{
    const gordian_allocator *memory = &exchange->job->memory;
    for (int r = 0; exchange->outboxes && r < exchange->job->ranks; r++)
        memory_free(memory, exchange->outboxes[r].batches);
    memory_free_all(memory, exchange->outboxes, exchange->boxes, exchange->inbox, exchange->sieve,
                    exchange->known);
    post_close(&exchange->post);
}

/* Makes the next batch, whose request is complete, the box. */
static void begin_batch(struct exchange *exchange, size_t rank)
{
    struct outbox *outbox = &exchange->outboxes[rank];
    exchange->boxes[rank] =
        (struct cells_box){.pairs = outbox->batches + (size_t)outbox->at * BATCH, .room = BATCH};
}

static bool by_post(const struct exchange *exchange, uint32_t rank)
{
    return rank != (uint32_t)exchange->job->rank && post_reaches(&exchange->post, rank);
}

static bool make_boxes(struct exchange *exchange)
{
    const gordian_allocator *memory = &exchange->job->memory;
    for (size_t r = 0; r < (size_t)exchange->job->ranks; r++) {
        struct outbox *outbox = &exchange->outboxes[r];
        for (unsigned i = 0; i < SENDS; i++)
            outbox->requests[i] = MPI_REQUEST_NULL;
        if (by_post(exchange, (uint32_t)r)) {
            /* Always succeeds: no message has been sent yet. */
            post_begin(&exchange->post, &exchange->boxes[r]);
            continue;
        }
        outbox->batches = memory_alloc(memory, SENDS * BATCH * sizeof *outbox->batches);
        if (!outbox->batches)
            return false;
        begin_batch(exchange, r);
    }
    return true;
}

static gordian_status exploration_open(struct exchange *exchange, struct job *job,
                                       gordian_error *error)
{
    const gordian_allocator *memory = &job->memory;
    size_t ranks = (size_t)job->ranks;
    *exchange = (struct exchange){
        .job = job, .status_request = MPI_REQUEST_NULL, .wave_before = {UINT64_MAX, UINT64_MAX}};
    post_open(&exchange->post, job->ranks, memory);
    exchange->outboxes = memory_zeroed(memory, ranks * sizeof *exchange->outboxes);
    exchange->boxes = memory_zeroed(memory, ranks * sizeof *exchange->boxes);
    exchange->inbox = memory_alloc(memory, BATCH * sizeof *exchange->inbox);
    exchange->sieve = memory_zeroed(memory, CELLS_SIEVE * sizeof *exchange->sieve);
    exchange->known = memory_zeroed(memory, 2 * ranks * sizeof *exchange->known);
    bool fine = exchange->outboxes && exchange->boxes && exchange->inbox && exchange->sieve &&
                exchange->known && make_boxes(exchange);
    if (ranks_agree(fine))
        return GORDIAN_OK;
    exploration_close(exchange);
    return fail_memory(error);
}

/* ------------------------------------------------------------------ messages */

static void stop_all(struct exchange *exchange, gordian_compose_stop why);

static void take_states(struct exchange *exchange, const MPI_Status *status)
{
    int bytes;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    MPI_Recv(exchange->inbox, bytes, MPI_BYTE, status->MPI_SOURCE, TAG_STATES, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    exchange->received++;
    if (exchange->job->stopped)
        return;
    cells_enter(&exchange->job->cells, exchange->inbox, (size_t)bytes / sizeof *exchange->inbox);
}

static void take_status(struct exchange *exchange, const MPI_Status *status)
{
    uint64_t report[3];
    MPI_Recv(report, 3, MPI_UINT64_T, status->MPI_SOURCE, TAG_STATUS, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    exchange->status_count++;
    exchange->known[2 * status->MPI_SOURCE] = report[0];
    exchange->known[2 * status->MPI_SOURCE + 1] = report[1];
    if (report[2] != GORDIAN_COMPOSE_STOP_COMPLETE)
        stop_all(exchange, (gordian_compose_stop)report[2]);
}

static void take_stop(struct exchange *exchange)
{
    uint64_t why;
    MPI_Recv(&why, 1, MPI_UINT64_T, 0, TAG_STOP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    exchange->stop_known = true;
    exchange->job->stopped = true;
    exchange->stop = (gordian_compose_stop)why;
}

/* Receives all pending messages. Returns true if there were any. */
static bool read_messages(struct exchange *exchange)
{
    uint64_t messages = post_read(&exchange->post, &exchange->job->cells, exchange->job->stopped);
    bool any = messages > 0;
    exchange->received += messages;
    for (;;) {
        MPI_Status status;
        int here;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &here, &status);
        if (!here)
            return any;
        if (status.MPI_TAG == TAG_STATES)
            take_states(exchange, &status);
        else if (status.MPI_TAG == TAG_STATUS)
            take_status(exchange, &status);
        else
            take_stop(exchange);
        any = true;
    }
}

/* Waits for a request and receives messages meanwhile, because the receiver may be waiting for this
 * rank. */
static void wait_for_request(struct exchange *exchange, MPI_Request *request)
{
    int done = 0;
    while (MPI_Test(request, &done, MPI_STATUS_IGNORE), !done)
        read_messages(exchange);
}

static void send_state_batch(struct exchange *exchange, int rank)
{
    struct outbox *outbox = &exchange->outboxes[rank];
    struct cells_box *box = &exchange->boxes[rank];
    MPI_Isend(box->pairs, (int)(box->count * sizeof *box->pairs), MPI_BYTE, rank, TAG_STATES,
              MPI_COMM_WORLD, &outbox->requests[outbox->at]);
    exchange->sent++;
    exchange->job->sent += box->count;
    outbox->at = (outbox->at + 1) % SENDS;
    wait_for_request(exchange, &outbox->requests[outbox->at]);
    begin_batch(exchange, (size_t)rank);
}

static void send_shared_message(struct exchange *exchange, uint32_t rank)
{
    struct cells_box *box = &exchange->boxes[rank], blank;
    /* Ranks that have our messages may wait for us to read theirs. */
    while (!post_begin(&exchange->post, &blank))
        if (!read_messages(exchange))
            sched_yield();
    exchange->sent++;
    exchange->job->sent += box->count;
    post_send(&exchange->post, rank, box);
    *box = blank;
}

/* Handles a box that is full, or that has to be emptied. */
static void empty_box(struct exchange *exchange, uint32_t owner, bool all)
{
    struct cells_box *box = &exchange->boxes[owner];
    uint32_t count = box->count;
    if (owner == (uint32_t)exchange->job->rank) {
        box->count = 0;
        cells_enter(&exchange->job->cells, box->pairs, count);
        return;
    }
    cells_sift(exchange->sieve, box);
    if (box->count <= (all ? 0 : box->room / 2))
        return;
    if (by_post(exchange, owner))
        send_shared_message(exchange, owner);
    else
        send_state_batch(exchange, (int)owner);
}

static void hand_on_box(void *context, uint32_t owner)
{
    empty_box(context, owner, false);
}

/* Called on rank 0: stops all ranks. */
static void stop_all(struct exchange *exchange, gordian_compose_stop why)
{
    uint64_t message = why;
    if (exchange->job->stopped)
        return;
    exchange->job->stopped = true;
    exchange->stop = why;
    exchange->stop_known = true;
    for (int r = 1; r < exchange->job->ranks; r++)
        MPI_Send(&message, 1, MPI_UINT64_T, r, TAG_STOP, MPI_COMM_WORLD);
}

/* Reports the status to rank 0 from time to time, and at once if the rank cannot continue. Rank 0
 * checks the sums. */
static void report_status(struct exchange *exchange)
{
    struct job *job = exchange->job;
    uint64_t now = clock_ns(), states = 0, memory = 0;
    /* Returns the reason why this rank cannot continue, or GORDIAN_COMPOSE_STOP_COMPLETE if it can.
     */
    bool many = job->order.max_states && job->cells.states > job->order.max_states;
    gordian_compose_stop full = job->cells.no_memory ? GORDIAN_COMPOSE_STOP_MEMORY
                                : many               ? GORDIAN_COMPOSE_STOP_STATES
                                                     : GORDIAN_COMPOSE_STOP_COMPLETE;
    if (full == GORDIAN_COMPOSE_STOP_COMPLETE && now - exchange->last_status < 50000000)
        return;
    exchange->last_status = now;
    if (job->rank != 0) {
        if (job->stopped)
            return;
        wait_for_request(exchange, &exchange->status_request);
        exchange->status[0] = job->cells.states;
        exchange->status[1] = cells_bytes(&job->cells);
        exchange->status[2] = full;
        MPI_Isend(exchange->status, 3, MPI_UINT64_T, 0, TAG_STATUS, MPI_COMM_WORLD,
                  &exchange->status_request);
        exchange->status_count++;
        if (full != GORDIAN_COMPOSE_STOP_COMPLETE)
            job->stopped = true; /* until rank 0 stops all ranks */
        return;
    }
    exchange->known[0] = job->cells.states;
    exchange->known[1] = cells_bytes(&job->cells);
    for (int r = 0; r < job->ranks; r++) {
        states += exchange->known[2 * r];
        memory += exchange->known[2 * r + 1];
    }
    if (job->cells.no_memory || (job->order.max_memory && memory > job->order.max_memory))
        stop_all(exchange, GORDIAN_COMPOSE_STOP_MEMORY);
    else if (job->order.max_states && states > job->order.max_states)
        stop_all(exchange, GORDIAN_COMPOSE_STOP_STATES);
    else if (exchange->watch && !exchange->watch(exchange->context, states, memory))
        stop_all(exchange, GORDIAN_COMPOSE_STOP_STOPPED);
}

/* ------------------------------------------------------------------ work */

static bool has_work(const struct job *job)
{
    return cells_waiting(&job->cells) && !job->stopped;
}

/* Joins the next count, or checks the current one. Returns true if the exploration is over. */
static bool join_termination_count(struct exchange *exchange)
{
    int done = 0;
    if (!exchange->waving) {
        exchange->wave_in[0] = exchange->sent;
        exchange->wave_in[1] = exchange->received;
        MPI_Iallreduce(exchange->wave_in, exchange->wave_out, 2, MPI_UINT64_T, MPI_SUM,
                       MPI_COMM_WORLD, &exchange->wave);
        exchange->waving = true;
    }
    MPI_Test(&exchange->wave, &done, MPI_STATUS_IGNORE);
    if (!done)
        return false;
    exchange->waving = false;
    bool over = exchange->wave_out[0] == exchange->wave_out[1] &&
                exchange->wave_before[0] == exchange->wave_out[0] &&
                exchange->wave_before[1] == exchange->wave_out[1];
    memcpy(exchange->wave_before, exchange->wave_out, sizeof exchange->wave_before);
    return over;
}

gordian_status job_explore(struct job *job, mpi_watch *watch, void *context,
                           gordian_compose_stop *stop, gordian_error *error)
{
    struct exchange exchange;
    TRY(exploration_open(&exchange, job, error));
    exchange.watch = watch;
    exchange.context = context;
    exchange.last_status = clock_ns();
    for (uint64_t i = 0; i < job->order.initial && !job->cells.no_memory; i++) {
        uint64_t state = job_initial(job, i);
        struct cell_pair pair = {state >> 6, UINT64_C(1) << (state & 63)};
        if (cells_owner(&job->rules, pair.word) == (uint32_t)job->rank)
            cells_enter(&job->cells, &pair, 1);
    }
    for (bool over = false; !over;) {
        read_messages(&exchange);
        report_status(&exchange);
        if (has_work(job)) {
            cells_fire(&job->cells, &job->rules, WORDS, exchange.boxes, hand_on_box, &exchange);
            continue;
        }
        uint64_t start = clock_ns();
        for (uint32_t r = 0; r < (uint32_t)job->ranks && !job->stopped; r++)
            empty_box(&exchange, r, true);
        if (!has_work(job)) {
            over = join_termination_count(&exchange);
            job->idle_ns += clock_ns() - start;
        }
    }
    for (int r = 0; r < job->ranks; r++)
        MPI_Waitall(SENDS, exchange.outboxes[r].requests, MPI_STATUSES_IGNORE);
    /* Receives the remaining status messages. */
    bool first = exchange.job->rank == 0;
    uint64_t mine = first ? 0 : exchange.status_count, all = 0;
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    while (first && exchange.status_count < all)
        read_messages(&exchange);
    /* They may have caused a stop. */
    int report = exchange.stop_known;
    MPI_Bcast(&report, 1, MPI_INT, 0, MPI_COMM_WORLD);
    while (report && !exchange.stop_known)
        read_messages(&exchange);
    MPI_Wait(&exchange.status_request, MPI_STATUS_IGNORE);
    int why = (int)exchange.stop;
    MPI_Bcast(&why, 1, MPI_INT, 0, MPI_COMM_WORLD);
    *stop = (gordian_compose_stop)why;
    exploration_close(&exchange);
    return GORDIAN_OK;
}
