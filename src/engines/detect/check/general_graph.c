/*
 * The graph of a snapshot (defined in general.c) and its reduction.
 *
 * Several threads build the graph and count with atomic additions. The edges of a node then come in
 * any order, which changes nothing except for waits of several units; one thread adds those.
 *
 * In the reduction, the thread that lowers a process's mark meets that wish. Only one thread at a
 * time goes through the wishes for a resource. The resource's mark, not used otherwise, counts the
 * threads that have released units of it and need that done: the thread that finds it zero does it
 * until it is zero again. Each thread has a small list of processes that can finish. A thread whose
 * list is empty takes from the common list, and a thread with many gives to it.
 */
#include "engines/detect/check/general.h"
#include "foundation/base/sort.h"

#include <string.h>

#define TAKEN 16384 /* nodes or edges that a member takes at a time */

/* Every number below `count`, each by one of the members. */
#define FOR_EACH_TAKEN(general, count, i)                                                          \
    for (uint64_t begin, end; thread_group_take(&(general)->group, (count), TAKEN, &begin, &end);) \
        for (uint64_t i = begin; i < end; i++)

static bool has_one_member(const struct general *general)
{
    return general->group.members == 1;
}

/* Adds one and returns the previous value. */
static inline uint32_t add_one(uint32_t *counter, bool alone)
{
    return alone ? (*counter)++ : __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------ counting */

static void clear_nodes(void *context, unsigned member)
{
    struct general *general = context;
    uint64_t begin, end;
    (void)member;
    while (thread_group_take(&general->group, general->node_count, TAKEN, &begin, &end))
        memset(general->nodes + begin, 0, sizeof *general->nodes * (end - begin));
}

static void count_holders(void *context, unsigned member)
{
    struct general *general = context;
    const uint32_t *holder = general->snapshot->holder;
    const bool alone = has_one_member(general);
    (void)member;
    FOR_EACH_TAKEN (general, general->snapshot->resource_count, q)
        if (holder[q] != NONE)
            add_one(&general->nodes[holder[q]].end, alone);
}

static void count_waiters(void *context, unsigned member)
{
    struct general *general = context;
    struct scc_node *of_resource = general->nodes + general->process_count;
    const uint32_t *wait = general->snapshot->wait;
    const bool alone = has_one_member(general);
    (void)member;
    FOR_EACH_TAKEN (general, general->process_count, p)
        if (wait[p] != NONE)
            add_one(&of_resource[wait[p]].end, alone);
}

static void count_further_holds(void *context, unsigned member)
{
    struct general *general = context;
    const struct snapshot_edges *holds = &general->snapshot->holds;
    const bool alone = has_one_member(general);
    (void)member;
    FOR_EACH_TAKEN (general, holds->count, i)
        add_one(&general->nodes[holds->edges[i].process].end, alone);
}

static void count_further_waits(void *context, unsigned member)
{
    struct general *general = context;
    struct scc_node *of_resource = general->nodes + general->process_count;
    const struct snapshot_edges *waits = &general->snapshot->waits;
    const bool alone = has_one_member(general);
    (void)member;
    FOR_EACH_TAKEN (general, waits->count, i)
        add_one(&of_resource[waits->edges[i].resource].end, alone);
}

static void sum_edges(void *context, unsigned member)
{
    struct general *general = context;
    uint64_t begin, end;
    uint32_t sum = 0;
    thread_group_range(&general->group, member, general->node_count, &begin, &end);
    for (uint64_t node = begin; node < end; node++)
        sum += general->nodes[node].end;
    general->shares[member].edges = sum;
}

static void place_edges(void *context, unsigned member)
{
    struct general *general = context;
    uint64_t begin, end;
    uint32_t total = general->shares[member].edges;
    thread_group_range(&general->group, member, general->node_count, &begin, &end);
    for (uint64_t node = begin; node < end; node++) {
        uint32_t count = general->nodes[node].end;
        general->nodes[node] = (struct scc_node){.first = total, .end = total};
        total += count;
    }
    general->shares[member].edges = total; /* the last member's: the total */
}

/* ------------------------------------------------------------------ edges */

static inline void add_graph_edge(struct general *general, uint32_t node, uint32_t target,
                                  uint64_t units, bool alone)
{
    uint32_t edge = add_one(&general->nodes[node].end, alone);
    general->targets[edge] = target;
    if (general->units)
        general->units[edge] = units;
}

static void add_holding_edges(void *context, unsigned member)
{
    struct general *general = context;
    const gordian_snapshot *snapshot = general->snapshot;
    const uint32_t base = general->process_count;
    const bool alone = has_one_member(general);
    (void)member;
    FOR_EACH_TAKEN (general, snapshot->resource_count, q)
        if (snapshot->holder[q] != NONE)
            add_graph_edge(general, snapshot->holder[q], base + q, snapshot_first_hold(snapshot, q),
                           alone);
}

static void add_further_holds(void *context, unsigned member)
{
    struct general *general = context;
    const struct snapshot_edges *holds = &general->snapshot->holds;
    const bool alone = has_one_member(general);
    (void)member;
    FOR_EACH_TAKEN (general, holds->count, i) {
        const struct snapshot_edge *hold = &holds->edges[i];
        add_graph_edge(general, hold->process, general->process_count + hold->resource, hold->units,
                       alone);
    }
}

static inline void add_graph_wait(struct general *general, const struct snapshot_edge *wait,
                                  bool alone)
{
    add_graph_edge(general, general->process_count + wait->resource, wait->process, wait->units,
                   alone);
    add_one(&general->nodes[wait->process].mark, alone);
}

static void add_first_waits(void *context, unsigned member)
{
    struct general *general = context;
    const uint32_t *wait = general->snapshot->wait;
    const bool alone = has_one_member(general);
    (void)member;
    FOR_EACH_TAKEN (general, general->process_count, p)
        if (wait[p] != NONE)
            add_graph_wait(general, &(struct snapshot_edge){1, p, wait[p]}, alone);
}

static void add_further_waits(void *context, unsigned member)
{
    struct general *general = context;
    const struct snapshot_edges *waits = &general->snapshot->waits;
    const bool alone = has_one_member(general);
    (void)member;
    FOR_EACH_TAKEN (general, waits->count, i)
        add_graph_wait(general, &waits->edges[i], alone);
}

/* Collects all waits of the snapshot in one array. */
static size_t collect_waits(const gordian_snapshot *snapshot, struct snapshot_edge *waits)
{
    size_t count = 0;
    for (uint32_t p = 0; p < snapshot->process_count; p++)
        if (snapshot->wait[p] != NONE)
            waits[count++] =
                (struct snapshot_edge){snapshot_first_wait(snapshot, p), p, snapshot->wait[p]};
    if (snapshot->waits.count > 0)
        memcpy(waits + count, snapshot->waits.edges, sizeof *waits * snapshot->waits.count);
    return count + snapshot->waits.count;
}

/* Only waits of several units have to be sorted. */
static bool add_waiting_edges(struct general *general)
{
    const gordian_snapshot *snapshot = general->snapshot;
    if (snapshot->wide && (snapshot->wait_units || snapshot->waits.count > 0)) {
        size_t room = (size_t)snapshot->process_count + snapshot->waits.count;
        struct snapshot_edge *waits = memory_alloc(general->memory, sizeof *waits * room);
        struct snapshot_edge *spare = memory_alloc(general->memory, sizeof *spare * room);
        bool fine = waits && spare;
        if (fine) {
            size_t count = collect_waits(snapshot, waits);
            const struct snapshot_edge *sorted = sort_by_number(waits, spare, count);
            for (size_t i = 0; i < count; i++)
                add_graph_wait(general, &sorted[i], true);
        }
        memory_free_all(general->memory, waits, spare);
        return fine;
    }
    thread_group_do(&general->group, add_first_waits, general);
    thread_group_do(&general->group, add_further_waits, general);
    return true;
}

bool general_build(struct general *general)
{
    const gordian_snapshot *snapshot = general->snapshot;
    const gordian_allocator *memory = general->memory;
    size_t nodes = general->node_count, processes = snapshot->process_count;
    general->shares = memory_zeroed(memory, sizeof *general->shares * general->group.members);
    general->nodes = memory_alloc_random(memory, sizeof *general->nodes * nodes);
    general->ready = memory_alloc(memory, sizeof *general->ready * processes);
    general->free = memory_alloc_random(memory, sizeof *general->free * snapshot->resource_count);
    if (!general->shares || !general->nodes || !general->ready || !general->free)
        return false;
    /* Count the edges of every node and assign its place. */
    struct thread_group *group = &general->group;
    thread_group_do(group, clear_nodes, general);
    thread_group_do(group, count_holders, general);
    thread_group_do(group, count_further_holds, general);
    thread_group_do(group, count_waiters, general);
    thread_group_do(group, count_further_waits, general);
    if (!has_one_member(general))
        thread_group_do(group, sum_edges, general);
    uint32_t before = 0;
    for (unsigned i = 0; i < group->members; i++) {
        uint32_t own = general->shares[i].edges;
        general->shares[i].edges = before;
        before += own;
    }
    thread_group_do(group, place_edges, general);
    size_t edges = general->shares[group->members - 1].edges;
    general->targets = memory_alloc_random(memory, sizeof *general->targets * edges);
    if (!general->targets)
        return false;
    if (snapshot->wide) {
        general->units = memory_alloc(memory, sizeof *general->units * edges);
        if (!general->units)
            return false;
    }
    thread_group_do(&general->group, add_holding_edges, general);
    thread_group_do(&general->group, add_further_holds, general);
    return add_waiting_edges(general);
}

/* ------------------------------------------------------------------ reduction by one thread */

bool general_meet_wishes(struct general *general, uint32_t q)
{
    struct scc_node *node = &general->nodes[general->process_count + q];
    uint32_t edge = node->first;
    for (; edge < node->end && edge_units(general, edge) <= general->free[q]; edge++) {
        uint32_t process = general->targets[edge];
        if (--general->nodes[process].mark == 0)
            general->ready[general->ready_count++] = process;
    }
    bool met = edge != node->first;
    node->first = edge;
    return met;
}

void general_reduce_ready(struct general *general)
{
    while (general->done < general->ready_count) {
        struct scc_node from = general->nodes[general->ready[general->done++]];
        for (uint32_t edge = from.first; edge < from.end; edge++) {
            uint32_t q = general->targets[edge] - general->process_count;
            general->free[q] += edge_units(general, edge);
            general_meet_wishes(general, q);
        }
    }
}

static uint64_t free_units(const gordian_snapshot *snapshot, uint64_t q)
{
    const struct snapshot_units *of = snapshot->units ? &snapshot->units[q] : NULL;
    return of ? of->total - of->held : snapshot->holder[q] == NONE;
}

/* ------------------------------------------------------------------ reduction by many threads */

/* Moves half of a member's list to the common list. */
static void share_ready(struct general *general, struct general_share *share)
{
    uint32_t kept = share->count / 2, given = share->count - kept;
    pthread_mutex_lock(&general->lock);
    memcpy(general->ready + general->ready_count, share->ready + kept,
           given * sizeof *share->ready);
    general->ready_count += given;
    pthread_cond_broadcast(&general->more);
    pthread_mutex_unlock(&general->lock);
    share->count = kept;
}

/* Takes some from the common list. Returns false once all lists are empty. */
static bool take_common_ready(struct general *general, struct general_share *share)
{
    pthread_mutex_lock(&general->lock);
    __atomic_fetch_add(&general->idle, 1, __ATOMIC_RELAXED);
    while (general->ready_count == 0 && general->idle < general->group.members)
        pthread_cond_wait(&general->more, &general->lock);
    uint32_t there = general->ready_count;
    if (there == 0) { /* all members are here, and stay */
        pthread_cond_broadcast(&general->more);
        pthread_mutex_unlock(&general->lock);
        return false;
    }
    uint32_t some = there / general->group.members + 1;
    share->count = some < READY_OWN / 2 ? some : READY_OWN / 2;
    general->ready_count -= share->count;
    memcpy(share->ready, general->ready + general->ready_count,
           share->count * sizeof *share->ready);
    __atomic_fetch_sub(&general->idle, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&general->lock);
    return true;
}

static void push_ready(struct general *general, struct general_share *share, uint32_t process)
{
    if (share->count == READY_OWN)
        share_ready(general, share);
    share->ready[share->count++] = process;
    share->finished++;
}

/* Goes on through the wishes for `q` that its free units meet. One thread at a time. */
static void meet_together(struct general *general, struct general_share *share, uint32_t q)
{
    struct scc_node *node = &general->nodes[general->process_count + q];
    uint64_t available = __atomic_load_n(&general->free[q], __ATOMIC_RELAXED);
    uint32_t edge = node->first;
    for (; edge < node->end && edge_units(general, edge) <= available; edge++) {
        uint32_t process = general->targets[edge];
        if (__atomic_sub_fetch(&general->nodes[process].mark, 1, __ATOMIC_RELAXED) == 0)
            push_ready(general, share, process);
    }
    node->first = edge;
}

static void return_held(struct general *general, struct general_share *share, uint32_t q,
                        uint64_t units)
{
    uint32_t *mark = &general->nodes[general->process_count + q].mark, seen = 1;
    __atomic_fetch_add(&general->free[q], units, __ATOMIC_RELAXED);
    if (__atomic_fetch_add(mark, 1, __ATOMIC_ACQ_REL) > 0)
        return; /* the thread that is at it will check again */
    do
        meet_together(general, share, q);
    while (!__atomic_compare_exchange_n(mark, &seen, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

/* Lists the processes that wait for nothing. */
static void find_runnable(void *context, unsigned member)
{
    struct general *general = context;
    FOR_EACH_TAKEN (general, general->process_count, p)
        if (general->nodes[p].mark == 0)
            push_ready(general, &general->shares[member], (uint32_t)p);
}

static void meet_first(void *context, unsigned member)
{
    struct general *general = context;
    FOR_EACH_TAKEN (general, general->snapshot->resource_count, q) {
        general->free[q] = free_units(general->snapshot, q);
        meet_together(general, &general->shares[member], (uint32_t)q);
    }
}

static void finish_all(void *context, unsigned member)
{
    struct general *general = context;
    struct general_share *share = &general->shares[member];
    while (share->count > 0 || take_common_ready(general, share)) {
        if (share->count > 1 && __atomic_load_n(&general->idle, __ATOMIC_RELAXED) > 0)
            share_ready(general, share);
        /* not the whole node: other threads may still lower its mark */
        const struct scc_node *from = &general->nodes[share->ready[--share->count]];
        for (uint32_t edge = from->first, end = from->end; edge < end; edge++)
            return_held(general, share, general->targets[edge] - general->process_count,
                        edge_units(general, edge));
    }
}

void general_reduce(struct general *general)
{
    if (has_one_member(general)) {
        const gordian_snapshot *snapshot = general->snapshot;
        for (uint32_t p = 0; p < snapshot->process_count; p++)
            if (general->nodes[p].mark == 0)
                general->ready[general->ready_count++] = p;
        for (uint32_t q = 0; q < snapshot->resource_count; q++)
            general->free[q] = free_units(snapshot, q);
        for (uint32_t q = 0; q < snapshot->resource_count; q++)
            general_meet_wishes(general, q);
        general_reduce_ready(general);
        return;
    }
    thread_group_do(&general->group, find_runnable, general);
    thread_group_do(&general->group, meet_first, general);
    thread_group_do(&general->group, finish_all, general);
    size_t finished = 0;
    for (unsigned i = 0; i < general->group.members; i++)
        finished += general->shares[i].finished;
    general->ready_count = general->done = (uint32_t)finished;
}

/* ------------------------------------------------------------------ processes left over */

static void count_left_over(void *context, unsigned member)
{
    struct general *general = context;
    uint64_t begin, end;
    size_t dead = 0;
    thread_group_range(&general->group, member, general->process_count, &begin, &end);
    for (uint64_t p = begin; p < end; p++)
        dead += general->nodes[p].mark > 0;
    general->shares[member].dead = dead;
}

static void write_left_over(void *context, unsigned member)
{
    struct general *general = context;
    uint64_t begin, end;
    uint32_t *list = general->result->deadlocked + general->shares[member].dead;
    thread_group_range(&general->group, member, general->process_count, &begin, &end);
    for (uint64_t p = begin; p < end; p++)
        if (general->nodes[p].mark > 0)
            *list++ = (uint32_t)p;
}

bool general_list_dead(struct general *general)
{
    struct check_result *result = general->result;
    size_t count = general->process_count - general->ready_count, before = 0;
    result->deadlocked = memory_alloc(general->memory, sizeof *result->deadlocked * count);
    if (!result->deadlocked)
        return false;
    result->report.deadlocked = result->deadlocked;
    result->report.deadlocked_count = count;
    if (count == 0)
        return true;
    if (!has_one_member(general))
        thread_group_do(&general->group, count_left_over, general);
    for (unsigned i = 0; i < general->group.members; i++) {
        size_t own = general->shares[i].dead;
        general->shares[i].dead = before;
        before += own;
    }
    thread_group_do(&general->group, write_left_over, general);
    return true;
}
