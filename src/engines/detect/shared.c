/* Events of a shared system: the fast path, and the slow path around events.c. Read shared.h. */
#include "engines/detect/shared.h"

#include "engines/detect/one_unit.h"
#include "foundation/base/error.h"
#include "foundation/base/threads/park.h"

#include <sched.h>

/* For tests: points where other threads are likely to interfere. */
#ifndef SHARED_MEANWHILE
#define SHARED_MEANWHILE() ((void)0)
#endif

/* ---- the order */

static void record_event(struct shared *shared, uint64_t place, const gordian_event *event,
                         const gordian_result *result, const uint32_t *served)
{
    gordian_record record = {.place = place,
                             .kind = GORDIAN_LINE_EVENT,
                             .event = *event,
                             .result = *result,
                             .served = served};
    shared->recorder.record(shared->recorder.context, &record);
}

static uint64_t next_place(struct shared *shared)
{
    return atomic_fetch_add(&shared->order, 1);
}

/* ---- lists */

static inline bool is_held_by(struct shared *shared, uint32_t resource, uint32_t process)
{
    return atomic_load_explicit(shared_word_at(shared, resource), memory_order_relaxed) == process;
}

/* Returns whether the list has capacity for one more note. A list of which more than half is good
 * should grow. */
static bool list_has_room(struct shared *shared, struct shared_process *p, uint32_t process)
{
    if (p->count == p->room)
        shared_tidy_list(shared, process);
    return p->count <= p->room / 2;
}

/* After a release: removes the note if it is the last one, and the stale notes before it. */
static inline void trim_list(struct shared *shared, struct shared_process *p, uint32_t process,
                             uint32_t resource)
{
    if (p->count == 0 || p->list[p->count - 1] != resource)
        return;
    do
        p->count--;
    while (p->count > 0 && !is_held_by(shared, p->list[p->count - 1], process));
}

/* ---- the fast path */

/* Changes a word. With a recorder it passes through BUSY, which keeps other threads from the word
 * until the change has its number. */
static ALWAYS_INLINE bool swap_word(struct shared *shared, _Atomic uint32_t *word, uint32_t from,
                                    uint32_t to, memory_order order, uint64_t *place)
{
    uint32_t seen = from;
    SHARED_MEANWHILE();
    if (!shared->recorder.record)
        return atomic_compare_exchange_strong_explicit(word, &seen, to, order,
                                                       memory_order_relaxed);
    if (!atomic_compare_exchange_strong(word, &seen, SHARED_BUSY))
        return false;
    SHARED_MEANWHILE();
    *place = next_place(shared);
    SHARED_MEANWHILE();
    atomic_store(word, to);
    return true;
}

_Static_assert(SHARED_FREE == NONE && SHARED_GRAPH == RAG_REMOVED, "a word is a holder");

/* Returns false if nothing has changed: take the slow path. */
static ALWAYS_INLINE bool change_resource_word(struct shared *shared, const gordian_event *event,
                                               uint64_t *place)
{
    uint32_t process = event->process, resource = event->resource;
    struct shared_process *p = shared_process_at(shared, process);
    _Atomic uint32_t *word = shared_word_at(shared, resource);
    if (RARELY(!p || !word))
        return false;
    uint32_t holder = atomic_load_explicit(word, memory_order_relaxed);
    bool runs = atomic_load_explicit(&p->state, memory_order_acquire) < SHARED_STATE_WAITS;
    switch (one_unit_decide(event, event->op == GORDIAN_OP_REQUEST, !runs, holder)) {
    case ONE_UNIT_GRANT:
        if (RARELY(p->count == p->room && !list_has_room(shared, p, process)) ||
            !swap_word(shared, word, SHARED_FREE, process, memory_order_acquire, place))
            return false;
        p->list[p->count++] = resource;
        return true;
    case ONE_UNIT_RELEASE:
        if (!swap_word(shared, word, process, SHARED_FREE, memory_order_release, place))
            return false;
        trim_list(shared, p, process, resource);
        return true;
    case ONE_UNIT_WAIT:
    case ONE_UNIT_OTHER:
        break;
    }
    return false;
}

static ALWAYS_INLINE bool feed_short_way(struct shared *shared, const gordian_event *event,
                                         gordian_result *result)
{
    const bool takes = event->op == GORDIAN_OP_REQUEST;
    uint64_t place = 0;
    if (!change_resource_word(shared, event, &place))
        return false;
    *result =
        (gordian_result){.outcome = takes ? GORDIAN_OUTCOME_GRANTED : GORDIAN_OUTCOME_RELEASED};
    if (RARELY(shared->recorder.record != NULL))
        record_event(shared, place, event, result, NULL);
    return true;
}

static ALWAYS_INLINE bool change_alone(struct shared *shared, gordian_op op, uint32_t process,
                                       uint32_t resource)
{
    const gordian_event event = {
        .op = op, .process = process, .resource = resource, .units = 1, .to = NONE};
    return RARELY(shared->recorder.record != NULL) ? false
                                                   : change_resource_word(shared, &event, NULL);
}

bool shared_take(struct shared *shared, uint32_t process, uint32_t resource)
{
    return change_alone(shared, GORDIAN_OP_REQUEST, process, resource);
}

bool shared_give(struct shared *shared, uint32_t process, uint32_t resource)
{
    return change_alone(shared, GORDIAN_OP_RELEASE, process, resource);
}

/* ---- into the graph and out of it */

/* Sets the word to GRAPH and returns its previous value. */
static uint32_t seize_word(_Atomic uint32_t *word)
{
    uint32_t seen = atomic_load(word);
    SHARED_MEANWHILE();
    while (seen != SHARED_GRAPH) {
        if (seen ==
            SHARED_BUSY) { /* a thread is about to take a number, for which it needs no lock */
            sched_yield();
            seen = atomic_load(word);
        } else if (atomic_compare_exchange_weak(word, &seen, SHARED_GRAPH)) {
            break;
        }
    }
    return seen;
}

void shared_lift(gordian_system *system, uint32_t resource)
{
    _Atomic uint32_t *word = shared_word_at(system->shared, resource);
    uint32_t seen = word ? seize_word(word) : SHARED_GRAPH;
    if (seen == SHARED_GRAPH || seen == SHARED_FREE)
        return;
    rag_grant(&system->graph, seen, resource, 1); /* the holder runs, so this equals a grant now */
    RUN_HOOK(system, grant, seen, resource, 1);
}

bool shared_is_held(const gordian_system *system, uint32_t resource)
{
    _Atomic uint32_t *word = system->shared ? shared_word_at(system->shared, resource) : NULL;
    uint32_t says = word ? atomic_load(word) : SHARED_FREE;
    return says != SHARED_FREE && says != SHARED_GRAPH; /* or is being taken or released */
}

void shared_lift_list(gordian_system *system, uint32_t process)
{
    struct shared_process *p = shared_process_at(system->shared, process);
    for (uint32_t i = 0; p && i < p->count; i++)
        if (is_held_by(system->shared, p->list[i], process))
            shared_lift(system, p->list[i]);
}

void shared_lift_held(gordian_system *system, uint32_t process)
{
    for (uint32_t q = 0; q < system->graph.resource_limit; q++)
        if (atomic_load(shared_word_at(system->shared, q)) == process)
            shared_lift(system, q);
}

void shared_lift_all(gordian_system *system)
{
    for (uint32_t q = 0; q < system->graph.resource_limit; q++)
        shared_lift(system, q);
}

static bool is_idle(const struct rag *graph, uint32_t resource)
{
    return rag_is_resource(graph, resource) && graph->resources_more[resource].flags & RAG_ONE &&
           graph->holder[resource] == NONE && graph->resources[resource].queue_head == NONE;
}

/* Removes a lifted resource from the graph if no process holds it or waits for it. */
static void drop_idle_resource(gordian_system *system, uint32_t resource)
{
    _Atomic uint32_t *word = shared_word_at(system->shared, resource);
    if (atomic_load(word) == SHARED_GRAPH && is_idle(&system->graph, resource))
        atomic_store(word, SHARED_FREE);
}

void shared_drop_all(gordian_system *system)
{
    for (uint32_t q = 0; q < system->graph.resource_limit; q++)
        drop_idle_resource(system, q);
}

/* ---- the slow path */

/* The threads to wake once the lock is released; any more are woken under the lock. */
struct wakes {
    _Atomic uint32_t *words[16];
    size_t count;
};

#define WAKES (sizeof((struct wakes *)0)->words / sizeof(_Atomic uint32_t *))

static void end_wait(struct shared *shared, uint32_t process, enum shared_state how,
                     struct wakes *wakes)
{
    _Atomic uint32_t *state = &shared_process_at(shared, process)->state;
    if (atomic_exchange(state, how) != SHARED_STATE_SLEEPS)
        return;
    if (wakes->count < WAKES)
        wakes->words[wakes->count++] = state;
    else
        park_wake(state);
}

/* Returns whether this request for a lifted resource can be granted on the fast path after all. */
static bool is_short(gordian_system *system, const gordian_event *event)
{
    const struct rag *graph = &system->graph;
    if (event->wants || event->units != 1 || !rag_is_process(graph, event->process) ||
        rag_waits(graph, event->process) || !is_idle(graph, event->resource))
        return false;
    struct shared_process *p = shared_process_at(system->shared, event->process);
    return p->count < p->room || list_has_room(system->shared, p, event->process) ||
           shared_grow_list(p, &graph->memory) || p->count < p->room;
}

static void grant_lifted(gordian_system *system, const gordian_event *event, gordian_result *result)
{
    struct shared *shared = system->shared;
    struct shared_process *p = shared_process_at(shared, event->process);
    p->list[p->count++] = event->resource;
    *result = (gordian_result){.outcome = GORDIAN_OUTCOME_GRANTED};
    uint64_t place = shared->recorder.record ? next_place(shared) : 0;
    atomic_store(shared_word_at(shared, event->resource), event->process);
    if (shared->recorder.record)
        record_event(shared, place, event, result, NULL);
}

/* Moves to the graph everything that the event is about. */
static void lift_event(gordian_system *system, const gordian_event *event)
{
    if (event->op == GORDIAN_OP_CANCEL || event->op == GORDIAN_OP_ACT)
        return; /* every waiting process is in the graph, and so is every await */
    if (event->op == GORDIAN_OP_EXIT || event->op == GORDIAN_OP_AWAIT) {
        shared_lift_list(system, event->process);
        return;
    }
    if (!event->wants)
        shared_lift(system, event->resource);
    for (size_t i = 0; event->wants && i < event->want_count; i++)
        shared_lift(system, event->wants[i].resource);
    /* Lift its holdings if it may have to wait. Only a request for one thing can be known not to.
     */
    const struct rag *graph = &system->graph;
    if (event->op != GORDIAN_OP_RELEASE &&
        (event->wants || (rag_is_resource(graph, event->resource) &&
                          rag_free_units(graph, event->resource) < event->units)))
        shared_lift_list(system, event->process);
}

static void publish_exit(gordian_system *system, uint32_t process, struct wakes *wakes)
{
    struct shared *shared = system->shared;
    struct shared_process *p = shared_process_at(shared, process);
    for (uint32_t i = 0; i < p->count; i++)
        drop_idle_resource(system, p->list[i]);
    p->count = 0;
    if (atomic_load(&p->state) >= SHARED_STATE_WAITS)
        end_wait(shared, process, SHARED_STATE_VICTIM, wakes);
}

/* Makes the effects of the event visible to the other threads. */
static void publish_event(gordian_system *system, const gordian_event *event,
                          const gordian_result *result, struct wakes *wakes)
{
    struct shared *shared = system->shared;
    struct shared_process *p = shared_process_at(shared, event->process);
    switch ((gordian_outcome)result->outcome) {
    case GORDIAN_OUTCOME_BLOCKED:
    case GORDIAN_OUTCOME_DEADLOCK:
    case GORDIAN_OUTCOME_DOOMED:
        p->count = 0;
        atomic_store(&p->state, SHARED_STATE_WAITS);
        break;
    case GORDIAN_OUTCOME_RELEASED:
        if (event->op == GORDIAN_OP_ACT)
            break;
        trim_list(shared, p, event->process, event->resource);
        drop_idle_resource(system, event->resource);
        break;
    case GORDIAN_OUTCOME_CANCELLED:
        end_wait(shared, event->process, SHARED_STATE_CANCELLED, wakes);
        break;
    case GORDIAN_OUTCOME_EXITED:
        publish_exit(system, event->process, wakes);
        break;
    case GORDIAN_OUTCOME_GRANTED:
    case GORDIAN_OUTCOME_REFUSED:
        break;
    }
    for (size_t i = 0; i < system->graph.served_count; i++)
        end_wait(shared, system->graph.served[i], SHARED_STATE_RUNS, wakes);
}

static gordian_status feed_long_way(gordian_system *system, const gordian_event *event,
                                    gordian_result *result, struct wakes *wakes,
                                    gordian_error *error)
{
    struct shared *shared = system->shared;
    lift_event(system, event);
    if ((event->op == GORDIAN_OP_REQUEST || event->op == GORDIAN_OP_WAIT ||
         event->op == GORDIAN_OP_HOLD) &&
        is_short(system, event)) {
        grant_lifted(system, event, result);
        return GORDIAN_OK;
    }
    TRY(system_feed(system, event, result, error));
    SHARED_MEANWHILE();
    if (shared->recorder.record)
        record_event(shared, next_place(shared), event, result, system->graph.served);
    SHARED_MEANWHILE();
    publish_event(system, event, result, wakes);
    return GORDIAN_OK;
}

/* Handles what the fast path cannot. */
static __attribute__((noinline)) gordian_status feed_with_lock(gordian_system *system,
                                                               const gordian_event *event,
                                                               gordian_result *result,
                                                               gordian_error *error)
{
    struct shared *shared = system->shared;
    struct wakes wakes = {.count = 0};
    shared_enter(shared);
    gordian_status status = feed_long_way(system, event, result, &wakes, error);
    shared_leave(shared);
    for (size_t i = 0; i < wakes.count; i++)
        park_wake(wakes.words[i]);
    return status;
}

gordian_status shared_feed(gordian_system *system, const gordian_event *events, size_t count,
                           gordian_result *results, size_t *taken, gordian_error *error)
{
    struct shared *shared = system->shared;
    gordian_status status = GORDIAN_OK;
    size_t i = 0;
    for (; i < count; i++) {
        if (feed_short_way(shared, &events[i], &results[i]))
            continue;
        status = feed_with_lock(system, &events[i], &results[i], error);
        if (status != GORDIAN_OK)
            break;
    }
    *taken = i;
    return status;
}
