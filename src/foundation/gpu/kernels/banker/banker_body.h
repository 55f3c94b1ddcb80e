/*
 * The banker's algorithm: can all processes finish under the question's assumptions? Included by
 * banker32.cu and banker64.cu, which define how wide a unit is (UNIT_BITS).
 *
 * One cooperative launch is one question, however many rounds it takes:
 *
 *   1. The changes since the last launch are written to the matrices and the orders. 2. `work`
 *   starts as what is free, minus what the question assumes taken. 3. Rounds, as published: the
 *   grid visits every process; a process whose need is within `work` finishes and releases what it
 *   holds. This is fast while many finish at a time. 4. After a round that freed few, one block
 *   goes on alone (banker_search.h) while the others
 * wait, until it meets a level so wide that the grid is faster again.
 *   5. The launch ends when no more processes can finish, when all can, or, if only one process
 *   matters (`stop`), when that process can.
 *
 * The round in which a process finishes does not depend on which thread found it, so the rounds,
 * and any order of finishing derived from them, are the same at every launch.
 *
 * Many questions at once. Each of several requests is judged independently. `taken` has, for each
 * resource, the largest amount that any request takes. A process that can finish without these
 * amounts can finish under each of the requests, so the grid finds such processes once. Then every
 * block takes requests and continues from that state: `work` is larger by what this request does
 * not take, and only the remaining processes matter. The request's process fits, or it does not.
 * The state was safe before, so if that one can finish, all can (the ones before the others in the
 * old order still can).
 */
#include "foundation/gpu/kernels/banker/banker_order.h"
#include "foundation/gpu/kernels/banker/banker_search.h"

#define BARRIER() grid_barrier((struct grid_barrier *)(uintptr_t)a->control)

/* ------------------------------------------------------------------ setting up */

/* Sets `work` and what the question assumes of its process; by the first block. */
DEVICE void set_up_question(const banker *a)
{
    const struct banker_want *wants = GPU_POINTER(const struct banker_want, a->wants);
    unit *work = GPU_POINTER(unit, a->work), *taken = GPU_POINTER(unit, a->taken);
    unit *own = GPU_POINTER(unit, a->own);
    for (uint32_t i = THREAD_INDEX; i < a->resources; i += BLOCK_SIZE) {
        work[i] = GPU_POINTER(const unit, a->free)[i];
        taken[i] = 0;
        if (a->process != BANKER_NONE)
            own[i] = GPU_POINTER(const unit, a->need)[a->process * a->stride + i];
    }
    block_barrier();
    for (uint32_t i = THREAD_INDEX; i < a->want_count; i += BLOCK_SIZE) {
        struct banker_want want = wants[i];
        work[want.resource] -= (unit)want.taken;
        taken[want.resource] = (unit)want.taken;
        own[want.resource] = (unit)want.need;
    }
    if (THREAD_INDEX == 0) {
        CONTROL->finished = 0;
        CONTROL->given = 0;
        CONTROL->round = 0;
        CONTROL->searches = 0;
        CONTROL->over = 0;
    }
}

DEVICE void set_up(const banker *a)
{
    if (a->group_count) {
        change_cells(a);
        BARRIER();
    }
    for (uint32_t i = BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; i < a->processes;
         i += GRID_SIZE * BLOCK_SIZE)
        finish_round(a)[i] = BANKER_NONE;
    if (BLOCK_INDEX == 0)
        set_up_question(a);
    BARRIER();
}

/* ------------------------------------------------------------------ the first block alone */

/* Prepares everything in shared memory that a search needs. */
DEVICE void prepare_search(const banker *a, struct search *s)
{
    SHARED(uint4, record_words, 3 * RECORD / 4);
    uint32_t *records = (uint32_t *)(void *)record_words;
    SHARED(uint32_t, own_short, 1);
    SHARED_DYNAMIC(uint32_t, small_counts);
    s->a = a;
    s->now = records;
    s->then = records + RECORD;
    s->spare = records + 2 * RECORD;
    s->own_short = own_short;
    s->small_counts = small_counts;
    s->ahead = (span *)(void *)(small_counts + a->small_bytes / 4);
    s->windows = (entry *)(void *)(s->ahead + BLOCK_SIZE);
    s->columns =
        GPU_POINTER(struct columns, a->columns) + (uint64_t)BLOCK_INDEX * (a->stride / SPAN);
}

/* Continues after a round in which list[given..finished) were found. */
DEVICE void lead_search(const banker *a, uint32_t round, uint32_t given, uint32_t finished)
{
    struct search s;
    struct columns home;
    unit *work = GPU_POINTER(unit, a->work);
    prepare_search(a, &s);
    bool apart = a->process != BANKER_NONE && finish_round(a)[a->process] == BANKER_NONE;
    s.process = apart ? a->process : BANKER_NONE;
    s.own = GPU_POINTER(const unit, a->own);
    s.record = true;
    s.round = round;
    s.queue = GPU_POINTER(uint32_t, a->list);
    s.head = given;
    s.count = finished - given;
    s.counts = GPU_POINTER(uint32_t, a->counts);
    open_search(&s, work, &home);
    uint32_t left = a->processes - finished;
    uint32_t most = GRID_SIZE > 1 ? a->search_most + left / 16 : BANKER_NONE;
    bool fits = run_search(&s, &home, most, a->stop != 0);
    put_work(&s, &home, work);
    if (THREAD_INDEX == 0) {
        CONTROL->given = s.head;
        CONTROL->finished = s.head + s.count;
        CONTROL->round = s.round;
        CONTROL->over = fits || s.count == 0;
    }
    block_barrier();
    if (THREAD_INDEX == 0)
        store_release32(&CONTROL->searches, CONTROL->searches + 1);
}

/* The others wait for it without disturbing it. */
DEVICE void await_search(const banker *a, uint32_t searches)
{
    if (THREAD_INDEX == 0)
        while (load_acquire32(&CONTROL->searches) < searches)
            nap(500);
}

/* ------------------------------------------------------------------ rounds and searches */

/* Returns whether a search is faster than another round, after one that found `fresh` with `left`
 * to go. */
DEVICE bool search_pays(const banker *a, uint32_t fresh, uint32_t left)
{
    uint64_t cells = (uint64_t)left * a->resources;
    return fresh < a->search_below + cells / a->pass_cells;
}

DEVICE bool question_settled(const banker *a)
{
    return a->stop && a->process != BANKER_NONE &&
           *(volatile uint32_t *)&finish_round(a)[a->process] != BANKER_NONE;
}

/* Steps 3 to 5. All blocks make the same decisions: they read the same words between the same
 * barriers. */
DEVICE void reduce_state(const banker *a)
{
    volatile struct banker_control *control = CONTROL;
    uint32_t given = 0, finished = 0, round = 0, searches = 0;
    for (;;) {
        look_round(a, round++);
        BARRIER();
        finished = control->finished;
        if (finished == given || finished == a->processes || question_settled(a))
            return;
        if (search_pays(a, finished - given, a->processes - finished)) {
            count_short(a);
            BARRIER();
            searches++;
            if (BLOCK_INDEX == 0)
                lead_search(a, round, given, finished);
            else
                await_search(a, searches);
            BARRIER();
            if (control->over)
                return;
            given = control->given;
            finished = control->finished;
            round = control->round;
        }
        give_back(a, given, finished);
        given = finished;
        BARRIER();
    }
}

/* ------------------------------------------------------------------ many requests */

/* Sets up a request: what its process needs, and `work` where the common part ended. */
DEVICE void set_up_request(const banker *a, struct banker_request request, unit *own, unit *start)
{
    const struct banker_want *wants =
        GPU_POINTER(const struct banker_want, a->wants) + request.first;
    for (uint32_t i = THREAD_INDEX; i < a->resources; i += BLOCK_SIZE) {
        own[i] = GPU_POINTER(const unit, a->need)[request.process * a->stride + i];
        start[i] = GPU_POINTER(const unit, a->work)[i] + GPU_POINTER(const unit, a->taken)[i];
    }
    block_barrier();
    for (uint32_t i = THREAD_INDEX; i < request.count; i += BLOCK_SIZE) {
        struct banker_want want = wants[i];
        own[want.resource] = (unit)want.need;
        start[want.resource] -= (unit)want.taken;
    }
    block_barrier();
}

/* Returns whether the process of the request can finish. By a block. */
DEVICE bool judge_request(const banker *a, struct search *s, struct banker_request request)
{
    unit *own = GPU_POINTER(unit, a->own_rows) + BLOCK_INDEX * a->stride;
    unit *start = GPU_POINTER(unit, a->start_rows) + BLOCK_INDEX * a->stride;
    struct columns home;
    if (finish_round(a)[request.process] != BANKER_NONE)
        return true;
    set_up_request(a, request, own, start);
    s->process = request.process;
    s->own = own;
    s->record = false;
    s->round = 0;
    s->head = 0;
    s->count = 0;
    open_search(s, start, &home);
    if (s->own_short[0] == 0)
        return true;
    block_barrier(); /* all threads have read */
    return run_search(s, &home, BANKER_NONE, true);
}

DEVICE void judge_requests(const banker *a)
{
    SHARED(struct banker_request, request, 1);
    struct search s;
    prepare_search(a, &s);
    s.counts = GPU_POINTER(uint32_t, a->count_rows) + (uint64_t)BLOCK_INDEX * a->process_room;
    s.queue = GPU_POINTER(uint32_t, a->queue_rows) + (uint64_t)BLOCK_INDEX * a->process_room;
    for (uint32_t i = BLOCK_INDEX; i < a->request_count; i += GRID_SIZE) {
        if (THREAD_INDEX == 0)
            request[0] = GPU_POINTER(const struct banker_request, a->requests)[i];
        block_barrier();
        bool fits = judge_request(a, &s, request[0]);
        if (THREAD_INDEX == 0)
            GPU_POINTER(uint32_t, a->answers)[i] = fits;
        block_barrier(); /* request and search have been used */
    }
}

/* ------------------------------------------------------------------ the kernel */

DEVICE void report_result(const banker *a)
{
    struct banker_result *result = GPU_POINTER(struct banker_result, a->result);
    result->finished = CONTROL->finished;
    result->fits = a->process != BANKER_NONE && finish_round(a)[a->process] != BANKER_NONE;
    result->searches = CONTROL->searches;
}

KERNEL_BOUNDED(BANKER_KERNEL(judge), struct banker_arguments, BANKER_THREADS, 1)
{
    set_up(&a);
    reduce_state(&a);
    if (BLOCK_INDEX == 0 && THREAD_INDEX == 0)
        report_result(&a);
    if (a.request_count == 0)
        return;
    count_short(&a);
    grid_barrier(GPU_POINTER(struct grid_barrier, a.control));
    judge_requests(&a);
}
