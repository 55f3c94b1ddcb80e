#include "naive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *naive_zeroed(size_t count, size_t size)
{
    void *pointer = calloc(count ? count : 1, size);
    if (!pointer) {
        fprintf(stderr, "out of memory\n");
        exit(4);
    }
    return pointer;
}

void naive_open(struct naive *naive, uint32_t process_room, uint32_t resource_room)
{
    memset(naive, 0, sizeof *naive);
    naive->process_room = process_room;
    naive->resource_room = resource_room;
    naive->processes = naive_zeroed(process_room, sizeof *naive->processes);
    naive->resources = naive_zeroed(resource_room, sizeof *naive->resources);
    naive->held = naive_zeroed((size_t)process_room * resource_room, sizeof *naive->held);
    naive->queue = naive_zeroed(process_room, sizeof *naive->queue);
    naive->served = naive_zeroed(process_room, sizeof *naive->served);
    naive->dead = naive_zeroed(process_room, sizeof *naive->dead);
    naive->reduced_free = naive_zeroed(resource_room, sizeof *naive->reduced_free);
}

void naive_close(struct naive *naive)
{
    free(naive->processes);
    free(naive->resources);
    free(naive->held);
    free(naive->queue);
    free(naive->served);
    free(naive->dead);
    free(naive->reduced_free);
}

/* ------------------------------------------------------------------ reading */

bool naive_is_process(const struct naive *naive, uint32_t process)
{
    return process < naive->process_room && naive->processes[process].known;
}

bool naive_is_resource(const struct naive *naive, uint32_t resource)
{
    return resource < naive->resource_room && naive->resources[resource].known;
}

bool naive_is_waiting(const struct naive *naive, uint32_t process)
{
    return naive_is_process(naive, process) && naive->processes[process].want_count > 0;
}

static uint64_t *held_at(const struct naive *naive, uint32_t process, uint32_t resource)
{
    return &naive->held[(size_t)process * naive->resource_room + resource];
}

uint64_t naive_held(const struct naive *naive, uint32_t process, uint32_t resource)
{
    return *held_at(naive, process, resource);
}

uint64_t naive_wanted(const struct naive *naive, uint32_t process, uint32_t resource)
{
    const struct naive_process *p = &naive->processes[process];
    for (uint32_t i = 0; i < p->want_count; i++)
        if (p->wants[i].resource == resource)
            return p->wants[i].units;
    return 0;
}

uint32_t naive_process_limit(const struct naive *naive)
{
    uint32_t limit = naive->process_room;
    while (limit > 0 && !naive->processes[limit - 1].known)
        limit--;
    return limit;
}

uint32_t naive_resource_limit(const struct naive *naive)
{
    uint32_t limit = naive->resource_room;
    while (limit > 0 && !naive->resources[limit - 1].known)
        limit--;
    return limit;
}

/* ------------------------------------------------------------------ coming and going */

bool naive_add_process(struct naive *naive, uint32_t id)
{
    if (id >= naive->process_room || naive->processes[id].known)
        return false;
    if (id > naive->process_top)
        return false;
    for (uint32_t p = 0; id == naive->process_top && p < id; p++)
        if (!naive->processes[p].known)
            return false; /* a lower one was free: ids are to stay dense */
    naive->process_top += id == naive->process_top;
    naive->processes[id] =
        (struct naive_process){.known = true, .born = naive->clock++, .priority = 0, .cost = 1};
    naive->judged = false;
    return true;
}

bool naive_add_resource(struct naive *naive, uint32_t id, uint64_t units)
{
    if (id >= naive->resource_room || naive->resources[id].known || units == 0)
        return false;
    if (id > naive->resource_top)
        return false;
    for (uint32_t q = 0; id == naive->resource_top && q < id; q++)
        if (!naive->resources[q].known)
            return false;
    naive->resource_top += id == naive->resource_top;
    naive->resources[id] = (struct naive_resource){.known = true, .total = units, .free = units};
    if (units > 1 && naive->model == GORDIAN_MODEL_SINGLE_UNIT)
        naive->model = GORDIAN_MODEL_MULTI_UNIT;
    naive->judged = false;
    return true;
}

bool naive_remove_process(struct naive *naive, uint32_t id)
{
    if (!naive_is_process(naive, id) || naive_is_waiting(naive, id) ||
        naive->processes[id].held_kinds > 0)
        return false;
    naive->processes[id].known = false;
    naive->judged = false;
    return true;
}

bool naive_remove_resource(struct naive *naive, uint32_t id)
{
    if (!naive_is_resource(naive, id))
        return false;
    if (naive->resources[id].free != naive->resources[id].total)
        return false;
    for (uint32_t i = 0; i < naive->queue_count; i++)
        if (naive_wanted(naive, naive->queue[i], id) > 0)
            return false;
    naive->resources[id].known = false;
    naive->judged = false;
    return true;
}

/* ------------------------------------------------------------------ holding and waiting */

static void take(struct naive *naive, uint32_t process, uint32_t resource, uint64_t units)
{
    uint64_t *held = held_at(naive, process, resource);
    if (*held == 0)
        naive->processes[process].held_kinds++;
    *held += units;
    naive->resources[resource].free -= units;
    naive->resources[resource].recent = process;
}

static void give(struct naive *naive, uint32_t process, uint32_t resource, uint64_t units)
{
    uint64_t *held = held_at(naive, process, resource);
    *held -= units;
    if (*held == 0)
        naive->processes[process].held_kinds--;
    naive->resources[resource].free += units;
}

static bool fits_free(const struct naive *naive, const gordian_want *wants, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (wants[i].units > naive->resources[wants[i].resource].free)
            return false;
    return true;
}

static void leave_queue(struct naive *naive, uint32_t process)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < naive->queue_count; i++)
        if (naive->queue[i] != process)
            naive->queue[kept++] = naive->queue[i];
    naive->queue_count = kept;
}

static void serve(struct naive *naive, uint32_t process)
{
    struct naive_process *p = &naive->processes[process];
    for (uint32_t i = 0; i < p->want_count; i++)
        take(naive, process, p->wants[i].resource, p->wants[i].units);
    p->want_count = 0;
    leave_queue(naive, process);
    naive->served[naive->served_count++] = process;
}

/* In order of arrival, everyone whose whole request fits. Serving only takes, so one pass does. */
static void serve_waiters(struct naive *naive)
{
    uint32_t i = 0;
    while (i < naive->queue_count) {
        uint32_t process = naive->queue[i];
        const struct naive_process *p = &naive->processes[process];
        if (fits_free(naive, p->wants, p->want_count))
            serve(naive, process); /* the next one has moved up to place i */
        else
            i++;
    }
}

/* ------------------------------------------------------------------ the reduction */

static void finish(struct naive *naive, uint32_t process)
{
    naive->dead[process] = false;
    if (naive->processes[process].held_kinds == 0)
        return;
    const uint64_t *row = held_at(naive, process, 0);
    for (uint32_t q = 0; q < naive->resource_room; q++)
        naive->reduced_free[q] += row[q];
}

void naive_judge(struct naive *naive)
{
    if (naive->judged)
        return;
    memset(naive->dead, 0, naive->process_room * sizeof *naive->dead);
    for (uint32_t q = 0; q < naive->resource_room; q++)
        naive->reduced_free[q] = naive->resources[q].free;
    for (uint32_t p = 0; p < naive->process_room; p++)
        if (naive->processes[p].known && naive->processes[p].want_count == 0)
            finish(naive, p);
    for (uint32_t i = 0; i < naive->queue_count; i++)
        naive->dead[naive->queue[i]] = true; /* until shown otherwise */
    naive->dead_count = naive->queue_count;

    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < naive->queue_count; i++) {
            uint32_t process = naive->queue[i];
            const struct naive_process *p = &naive->processes[process];
            bool fits = naive->dead[process];
            for (uint32_t w = 0; fits && w < p->want_count; w++)
                fits = p->wants[w].units <= naive->reduced_free[p->wants[w].resource];
            if (fits) {
                finish(naive, process);
                naive->dead_count--;
                changed = true;
            }
        }
    }
    naive->judged = true;
}

/* ------------------------------------------------------------------ events */

static uint32_t wrong(gordian_refusal refusal)
{
    return UINT32_C(1) << refusal;
}

static struct naive_result refused(uint32_t refusals)
{
    return (struct naive_result){GORDIAN_OUTCOME_REFUSED, refusals};
}

/* The request's wants, each resource once; what is wrong with them. */
static uint32_t sum_wants(const struct naive *naive, const gordian_event *event,
                          gordian_want *wants, uint32_t *count)
{
    gordian_want one = {event->units, event->resource};
    const gordian_want *given = event->wants ? event->wants : &one;
    size_t given_count = event->wants ? event->want_count : 1;
    uint32_t refusals = given_count == 0 ? wrong(GORDIAN_REFUSAL_NO_UNITS) : 0;

    *count = 0;
    for (size_t i = 0; i < given_count; i++) {
        if (!naive_is_resource(naive, given[i].resource)) {
            refusals |= wrong(GORDIAN_REFUSAL_UNKNOWN_RESOURCE);
            continue;
        }
        if (given[i].units == 0)
            refusals |= wrong(GORDIAN_REFUSAL_NO_UNITS);
        uint32_t at = 0;
        while (at < *count && wants[at].resource != given[i].resource)
            at++;
        if (at == *count)
            wants[(*count)++] = (gordian_want){0, given[i].resource};
        uint64_t total = naive->resources[given[i].resource].total;
        if (given[i].units > total || wants[at].units > total - given[i].units)
            refusals |= wrong(GORDIAN_REFUSAL_OVER_TOTAL);
        else
            wants[at].units += given[i].units;
    }
    return refusals;
}

bool naive_would_wait_generally(const struct naive *naive, const gordian_event *event)
{
    gordian_want wants[NAIVE_WANTS];
    uint32_t count;
    if (event->op != GORDIAN_OP_REQUEST && event->op != GORDIAN_OP_WAIT)
        return false;
    if (!naive_is_process(naive, event->process) || naive_is_waiting(naive, event->process) ||
        sum_wants(naive, event, wants, &count) != 0)
        return false;
    return !fits_free(naive, wants, count) && (count > 1 || wants[0].units > 1);
}

/* Puts the process at the end of the queue and says what that means. */
static gordian_outcome wait_for(struct naive *naive, uint32_t process, const gordian_want *wants,
                                uint32_t count, bool judge)
{
    bool newcomer_served = true; /* one who holds nothing, asking the same in the state before */
    if (judge) {
        naive_judge(naive);
        for (uint32_t i = 0; i < count; i++)
            if (wants[i].units > naive->reduced_free[wants[i].resource])
                newcomer_served = false;
    }
    struct naive_process *p = &naive->processes[process];
    memcpy(p->wants, wants, count * sizeof *wants);
    p->want_count = count;
    naive->queue[naive->queue_count++] = process;
    if (count > 1 || wants[0].units > 1)
        naive->model = GORDIAN_MODEL_GENERAL;
    naive->judged = false;
    if (!judge)
        return GORDIAN_OUTCOME_BLOCKED;
    naive_judge(naive);
    if (!naive->dead[process])
        return GORDIAN_OUTCOME_BLOCKED;
    return newcomer_served ? GORDIAN_OUTCOME_DEADLOCK : GORDIAN_OUTCOME_DOOMED;
}

static struct naive_result feed_request(struct naive *naive, const gordian_event *event, bool judge)
{
    gordian_want wants[NAIVE_WANTS];
    uint32_t count;
    uint32_t refusals = sum_wants(naive, event, wants, &count);
    if (!naive_is_process(naive, event->process))
        refusals |= wrong(GORDIAN_REFUSAL_UNKNOWN_PROCESS);
    if (naive_is_waiting(naive, event->process))
        refusals |= wrong(GORDIAN_REFUSAL_IS_WAITING);
    if (refusals)
        return refused(refusals);

    if (!fits_free(naive, wants, count))
        return (struct naive_result){wait_for(naive, event->process, wants, count, judge), 0};
    for (uint32_t i = 0; i < count; i++)
        take(naive, event->process, wants[i].resource, wants[i].units);
    naive->judged = false;
    return (struct naive_result){GORDIAN_OUTCOME_GRANTED, 0};
}

static struct naive_result feed_hold(struct naive *naive, const gordian_event *event)
{
    uint32_t refusals = 0;
    if (!naive_is_process(naive, event->process))
        refusals |= wrong(GORDIAN_REFUSAL_UNKNOWN_PROCESS);
    if (naive_is_waiting(naive, event->process))
        refusals |= wrong(GORDIAN_REFUSAL_IS_WAITING);
    if (event->units == 0)
        refusals |= wrong(GORDIAN_REFUSAL_NO_UNITS);
    if (!naive_is_resource(naive, event->resource)) {
        refusals |= wrong(GORDIAN_REFUSAL_UNKNOWN_RESOURCE);
    } else {
        if (event->units > naive->resources[event->resource].total)
            refusals |= wrong(GORDIAN_REFUSAL_OVER_TOTAL);
        if (event->units > naive->resources[event->resource].free)
            refusals |= wrong(GORDIAN_REFUSAL_NOT_FREE);
    }
    if (refusals)
        return refused(refusals);
    take(naive, event->process, event->resource, event->units);
    naive->judged = false;
    return (struct naive_result){GORDIAN_OUTCOME_GRANTED, 0};
}

/* Does `to` wait for the resource, and would its whole request fit after the release? */
static bool hand_over_fits(struct naive *naive, const gordian_event *event)
{
    if (!naive_is_waiting(naive, event->to) || naive_wanted(naive, event->to, event->resource) == 0)
        return false;
    const struct naive_process *to = &naive->processes[event->to];
    naive->resources[event->resource].free += event->units;
    bool fits = fits_free(naive, to->wants, to->want_count);
    naive->resources[event->resource].free -= event->units;
    return fits;
}

static struct naive_result feed_release(struct naive *naive, const gordian_event *event)
{
    uint32_t refusals = 0;
    bool known = naive_is_process(naive, event->process);
    bool known_resource = naive_is_resource(naive, event->resource);
    if (!known)
        refusals |= wrong(GORDIAN_REFUSAL_UNKNOWN_PROCESS);
    if (!known_resource)
        refusals |= wrong(GORDIAN_REFUSAL_UNKNOWN_RESOURCE);
    if (event->units == 0)
        refusals |= wrong(GORDIAN_REFUSAL_NO_UNITS);
    if (naive_is_waiting(naive, event->process))
        refusals |= wrong(GORDIAN_REFUSAL_IS_WAITING);
    if (known && known_resource &&
        event->units > naive_held(naive, event->process, event->resource))
        refusals |= wrong(GORDIAN_REFUSAL_NOT_HELD);
    if (event->to != GORDIAN_NONE) {
        if (!naive_is_process(naive, event->to))
            refusals |=
                wrong(GORDIAN_REFUSAL_UNKNOWN_PROCESS) | wrong(GORDIAN_REFUSAL_BAD_HAND_OVER);
        else if (refusals == 0 && !hand_over_fits(naive, event))
            refusals |= wrong(GORDIAN_REFUSAL_BAD_HAND_OVER);
    }
    if (refusals)
        return refused(refusals);
    give(naive, event->process, event->resource, event->units);
    if (event->to != GORDIAN_NONE)
        serve(naive, event->to);
    serve_waiters(naive);
    naive->judged = false;
    return (struct naive_result){GORDIAN_OUTCOME_RELEASED, 0};
}

static struct naive_result feed_cancel(struct naive *naive, uint32_t process)
{
    if (!naive_is_process(naive, process))
        return refused(wrong(GORDIAN_REFUSAL_UNKNOWN_PROCESS));
    if (!naive_is_waiting(naive, process))
        return refused(wrong(GORDIAN_REFUSAL_NOT_WAITING));
    naive->processes[process].want_count = 0;
    leave_queue(naive, process);
    serve_waiters(naive);
    naive->judged = false;
    return (struct naive_result){GORDIAN_OUTCOME_CANCELLED, 0};
}

static struct naive_result feed_exit(struct naive *naive, uint32_t process)
{
    if (!naive_is_process(naive, process))
        return refused(wrong(GORDIAN_REFUSAL_UNKNOWN_PROCESS));
    naive->processes[process].want_count = 0;
    leave_queue(naive, process);
    for (uint32_t q = 0; q < naive->resource_room; q++)
        if (naive_held(naive, process, q) > 0)
            give(naive, process, q, naive_held(naive, process, q));
    serve_waiters(naive);
    naive->processes[process].born = naive->clock++; /* should it come back, it came last */
    naive->judged = false;
    return (struct naive_result){GORDIAN_OUTCOME_EXITED, 0};
}

struct naive_result naive_feed(struct naive *naive, const gordian_event *event, bool judge)
{
    naive->served_count = 0;
    switch (event->op) {
    case GORDIAN_OP_REQUEST:
    case GORDIAN_OP_WAIT:
        return feed_request(naive, event, judge);
    case GORDIAN_OP_RELEASE:
        return feed_release(naive, event);
    case GORDIAN_OP_CANCEL:
        return feed_cancel(naive, event->process);
    case GORDIAN_OP_EXIT:
        return feed_exit(naive, event->process);
    case GORDIAN_OP_HOLD:
        return feed_hold(naive, event);
    case GORDIAN_OP_AWAIT: /* tests/acts has its own oracle */
    case GORDIAN_OP_ACT:
        break;
    }
    return refused(0);
}
