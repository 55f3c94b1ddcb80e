/* Events: the command that must be fast. */
#include "foundation/base/clock.h"
#include "service/serve/core/service_internal.h"

#include <string.h>

#define FENCE_SHIFT 10 /* fencing tokens per ms, as a power of 2 */
#define CHECK_EVERY 8  /* events fed one by one between two readings of the clock */

/* ------------------------------------------------------------------ recovery */

/* Recovery: ends processes until no process is deadlocked. The event counts as granting what this
 * releases. */
static void recover_all(struct service *service, const struct apply_events *events,
                        uint32_t process)
{
    struct served *served = events->served;
    struct labels labels = labels_of_system(served->system);
    gordian_victim victim;
    if (events->victims)
        json_open(events->victims, "recovered", '[');
    while (served_recover(served, process, service->work->now, events->victims != NULL, &victim,
                          NULL) == GORDIAN_OK) {
        if (events->victims)
            json_victim(events->victims, &labels, served->config.recover, &victim);
        incident_left(service, served, victim.process, "recovered", true);
    }
    if (events->victims)
        json_shut(events->victims);
}

/* ------------------------------------------------------------------ after feeding */

/* Handles the event that the feed stopped at: a deadlock, or the end of one. */
static void handle_stop(struct service *service, struct apply_events *events,
                        const gordian_event *event, const struct served_result *result)
{
    struct served *served = events->served;
    const char *how = events->how;
    service->work->stops++;
    switch ((gordian_outcome)result->outcome) {
    case GORDIAN_OUTCOME_DEADLOCK:
    case GORDIAN_OUTCOME_DOOMED:
        if (events->stuck)
            events->stuck(events, event, result);
        incident_begin(service, served, event->process, result->outcome);
        if (served->config.recover)
            recover_all(service, events, event->process);
        break;
    case GORDIAN_OUTCOME_CANCELLED:
        incident_left(service, served, event->process, how ? how : "cancelled", false);
        break;
    case GORDIAN_OUTCOME_EXITED:
        incident_left(service, served, event->process, how ? how : "exited", false);
        break;
    default:
        break;
    }
}

/* Stores the results of work->events[first..first+count). */
static void collect_results(struct service *service, const struct apply_events *events,
                            size_t first, size_t count)
{
    struct service_work *work = service->work;
    struct served *served = events->served;
    bool wanted = !service->replaying && notify_wanted(service, served);
    size_t granted = 0;
    for (size_t i = first; i < first + count; i++) {
        const gordian_event *event = &work->events[i];
        const struct served_result *result = &work->taken[i];
        work->results[work->result_count++] =
            (struct wire_result){result->outcome, result->reason, result->served};
        if (result->outcome != GORDIAN_OUTCOME_REFUSED && events->session != GORDIAN_NONE)
            session_own(service, events->session, served, event->process);
        if (served->operations->forgets && result->outcome == GORDIAN_VERDICT_EXITED)
            session_disown(service, served, event->process);
        if (wanted)
            notify_event(service, served, event, served->seq - (first + count - 1 - i), result,
                         result->served ? served->granted_list + granted : NULL, events->client);
        granted += result->served;
    }
}

uint64_t fence_next(struct service *service)
{
    uint64_t time = service->work->now << FENCE_SHIFT;
    service->fence = time > service->fence ? time : service->fence + 1;
    return service->fence;
}

void fence_put(struct client *client, uint64_t fence)
{
    if (client->fences && client->form == CLIENT_BINARY)
        CLIENT_PUT(client, wire_put_u64, WIRE_FENCE, fence);
}

/* Stores and notifies the processes that work->events[first..first+taken) granted, directly or by
 * recovery, with the fencing tokens of these events. */
static void collect_granted(struct service *service, const struct apply_events *events,
                            size_t first, size_t taken)
{
    struct service_work *work = service->work;
    size_t count, done = 0;
    const uint32_t *list = served_granted(events->served, &count);
    for (size_t i = first; i < first + taken; i++) {
        uint64_t fence = fence_next(service);
        work->fence = work->fence ? work->fence : fence;
        size_t mine = work->taken[i].served;
        if (mine > 0)
            notify_granted(service, events->served, list + done, mine, events->client);
        done += mine;
    }
    if (count == 0)
        return;
    memcpy(work->served + work->served_count, list, count * sizeof *list);
    work->served_count += count;
    notify_granted(service, events->served, list + done, count - done, events->client);
}

/* Called after a feed of `taken` events, when `left` more are to come: is the slice over? Also
 * adapts the number of events between two readings of the clock: expensive events are fed one by
 * one. */
static bool must_yield(struct service *service, struct apply_events *events, size_t taken,
                       size_t left, uint64_t *looked)
{
    struct served *served = events->served;
    uint64_t now = clock_ns(), ns = now - *looked;
    if (ns > TAKE_NS_MAX / 2)
        served->step = taken > 4 ? (uint32_t)taken / 4 : 1;
    else if (served->step < CHUNK && ns < TAKE_NS_MAX / 8)
        served->step = served->step < CHUNK / 2 ? served->step * 2 : CHUNK;
    *looked = now;
    events->yields = left + events->list.left > 0 && slice_is_over(service->work, now);
    return events->yields;
}

/* Feeds work->events[0..count) and returns how many were applied: all, unless memory is out or the
 * slice is over. `look`: read the clock. */
static size_t feed_chunk(struct service *service, struct apply_events *events, size_t count,
                         bool look)
{
    struct service_work *work = service->work;
    struct served *served = events->served;
    gordian_status status = GORDIAN_OK;
    look &= events->sliced && count + events->list.left > 1;
    uint64_t looked = look ? clock_ns() : 0;
    size_t done = 0;
    /* Reserves the ids of all processes that one served_feed may grant, recovery included. */
    while (status == GORDIAN_OK && done < count &&
           memory_grow(&service->memory, &work->served, &work->served_room,
                       work->served_count + 2 * (size_t)served->waiting + 2 * CHUNK,
                       sizeof *work->served)) {
        size_t taken, step = count - done < served->step ? count - done : served->step;
        status = served_feed(served, work->events + done, step, work->now, work->taken + done,
                             &taken, NULL);
        collect_results(service, events, done, taken);
        done += taken;
        if (taken > 0 && served->system) {
            size_t before = served->granted_count;
            handle_stop(service, events, &work->events[done - 1], &work->taken[done - 1]);
            work->results[work->result_count - 1].served +=
                (uint32_t)(served->granted_count - before);
        }
        collect_granted(service, events, done - taken, taken);
        if (look && must_yield(service, events, taken, count - done, &looked))
            break;
    }
    return done;
}

/* ------------------------------------------------------------------ a frame */

static void put_event_results(struct service_work *work, uint8_t outcome, size_t count)
{
    for (size_t i = 0; i < count; i++)
        work->results[work->result_count++] = (struct wire_result){.outcome = outcome};
}

void apply_not_taken(struct service *service, struct apply_events *events)
{
    put_event_results(service->work, WIRE_NOT_TAKEN, events->list.left);
    events->list.left = 0;
}

/* Skips `count` events. */
static bool skip_events(struct service_work *work, struct wire_list *list, size_t count)
{
    bool bad = false;
    while (count > 0 && !bad) {
        size_t step = count < CHUNK ? count : CHUNK;
        step = wire_next_events(list, work->events, step, work->wants, WANTS, &bad);
        count -= step;
        bad |= step == 0;
    }
    return !bad || count == 0;
}

/* Skips the events that were applied before: idempotent retry. */
static gordian_status pass_duplicates(struct service *service, struct apply_events *events,
                                      gordian_error *error)
{
    struct service_work *work = service->work;
    if (events->first == 0 || events->session == GORDIAN_NONE)
        return GORDIAN_OK;
    uint64_t next = service->sessions[events->session].last + 1;
    if (events->first > next)
        return FAIL_WITH(service, WIRE_GAP, error, "event %llu is missing",
                         (unsigned long long)next);
    uint64_t known = next - events->first;
    size_t count = known < events->list.left ? (size_t)known : events->list.left;
    if (!skip_events(work, &events->list, count))
        return FAIL_WITH(service, WIRE_MALFORMED, error, "a malformed event");
    put_event_results(work, WIRE_DUPLICATE, count);
    events->first += count;
    service->counters.duplicates += count;
    return GORDIAN_OK;
}

/* Replaces an event that was refused for a quota or a missing right, in the record as well: every
 * state refuses this one. */
static const gordian_event refused_event = {
    .op = GORDIAN_OP_CANCEL, .process = GORDIAN_NONE, .resource = GORDIAN_NONE, .to = GORDIAN_NONE};

/* Refuses the next event of a client that is close to its memory quota or lacks rights. Returns the
 * reason; 0: not refused. */
static uint8_t refuse_client_event(struct service *service, const struct apply_events *events)
{
    gordian_event *event = &service->work->events[0];
    bool takes = event->op == GORDIAN_OP_EXIT || event->op == GORDIAN_OP_CANCEL ||
                 event->op == GORDIAN_OP_RELEASE;
    uint8_t reason = 0;
    if (takes && events->client && !client_may_end(events->client, events->served, event->process))
        reason = WIRE_OTHERS;
    else if (!quota_permits(service, events->session, event))
        reason = WIRE_OVER_MEMORY;
    if (reason)
        *event = refused_event;
    return reason;
}

/* Feeds the events of the list in chunks, and adds those that were applied to the record. */
static size_t feed_list(struct service *service, struct apply_events *events, bool *bad)
{
    struct service_work *work = service->work;
    size_t done = 0;
    *bad = false;
    bool near =
        quota_is_near(service, events->session, (size_t)(events->list.end - events->list.at)) ||
        (events->client && !(events->client->rights & SERVICE_END_OTHERS));
    while (events->list.left > 0 && !*bad && !events->yields) {
        struct wire_list before = events->list;
        const unsigned char *start = events->list.at;
        size_t count = wire_next_events(&events->list, work->events, near ? 1 : CHUNK, work->wants,
                                        WANTS, bad);
        uint8_t refused = near && count > 0 ? refuse_client_event(service, events) : 0;
        size_t taken = feed_chunk(service, events, count, !near || done % CHECK_EVERY == 0);
        done += taken;
        if (taken == count && refused) {
            work->results[work->result_count - 1].reason = refused;
            unsigned char frame[32];
            size_t size = wire_put_ask(frame, sizeof frame, &refused_event);
            bytes_put(&work->record, frame + WIRE_HEAD_SIZE, size - WIRE_HEAD_SIZE);
        } else if (taken == count) {
            bytes_put(&work->record, start, (size_t)(events->list.at - start));
            events->yields &= !*bad;
        } else {
            skip_events(work, &before, taken);
            bytes_put(&work->record, start, (size_t)(before.at - start));
            events->list = before;
            if (events->yields)
                *bad = false; /* it is found again after the rest of the chunk */
            else
                apply_not_taken(service, events);
        }
    }
    return done;
}

static gordian_status reserve_frame(struct service *service, const struct apply_events *events,
                                    size_t bytes, gordian_error *error)
{
    struct service_work *work = service->work;
    slice_begin(service);
    if (!events->resumed) {
        work->result_count = work->served_count = 0;
        work->fence = 0;
    }
    if (!memory_grow(&service->memory, &work->results, &work->result_room,
                     work->result_count + events->list.left, sizeof *work->results) ||
        !session_reserve(service, events->session))
        return fail_memory(error);
    return record_begin(service, RECORD_EVENTS, events->served->slot, events->session, 12 + bytes,
                        error);
}

gordian_status apply_events(struct service *service, struct apply_events *events,
                            gordian_error *error)
{
    struct service_work *work = service->work;
    size_t bytes = (size_t)(events->list.end - events->list.at);
    TRY(reserve_frame(service, events, bytes, error));
    TRY(pass_duplicates(service, events, error));
    bool bad;
    size_t head = work->record.used, known = work->result_count;
    work->record.used += 12; /* the number of the first event, the number of events */
    size_t count = feed_list(service, events, &bad);
    service->counters.events += count;
    if (events->first && events->session != GORDIAN_NONE)
        service->sessions[events->session].last += count;
    wire_store64(work->record.data + head, events->first);
    wire_store32(work->record.data + head + 8, (uint32_t)count);
    if (count > 0)
        record_append(service);
    if (events->first)
        events->first += count;
    if (events->session != GORDIAN_NONE)
        service->sessions[events->session].record = service_last(service);
    if (bad)
        return FAIL_WITH(service, WIRE_MALFORMED, error, "event %zu of the frame is malformed",
                         work->result_count + 1);
    if (count > 0 || known > 0 || work->result_count == 0)
        return GORDIAN_OK;
    /* Nothing was applied: an error says why, and when to retry. */
    if (!quota_refused(service))
        return fail_memory(error);
    work->retry_ms = 1000;
    return FAIL_WITH(service, WIRE_QUOTA, error,
                     "memory limit of the service reached: retry later");
}

gordian_status apply_event(struct service *service, struct apply_events *events,
                           const gordian_event *event, gordian_error *error)
{
    unsigned char small[128];
    size_t size = wire_put_ask(NULL, 0, event);
    unsigned char *frame = size <= sizeof small ? small : memory_alloc(&service->memory, size);
    if (!frame)
        return fail_memory(error);
    wire_put_ask(frame, size, event);
    events->list = (struct wire_list){frame + WIRE_HEAD_SIZE, frame + size, 1};
    gordian_status status = apply_events(service, events, error);
    if (frame != small)
        memory_free(&service->memory, frame);
    return status;
}
