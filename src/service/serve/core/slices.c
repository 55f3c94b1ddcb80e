/*
 * Time slicing: a long frame of events, declarations or removals is applied in slices, and the
 * event loop does other work in between.
 *
 * A slice has its own record in the journal, and the session's last number counts its events. If
 * the client is lost or the service is killed between two slices, a prefix of the frame was
 * applied. A client with numbered events can send the frame again. The frame has one answer, after
 * the last slice, which waits for the last record.
 *
 * The client does not see effects of other clients before that answer: a notification of a grant
 * must not overtake the result that says that the request waits. So notifications are buffered and
 * follow the answer.
 *
 * The fencing tokens of a frame are consecutive, and a later grant has a greater one. Events of
 * other clients in between make that impossible. If the client wants fencing tokens, the rest of
 * the frame is then answered WIRE_NOT_TAKEN, and is to be sent again. Tokens follow the time, so
 * such a frame keeps the time of its beginning.
 */
#include "foundation/base/clock.h"
#include "service/serve/core/service_internal.h"

/* Deadlocks that begin or end in a slice. Each takes the store about 10 us later, in the event loop
 * as well. */
#define SLICE_INCIDENTS 256

#define SWAP(type, a, b)                                                                           \
    do {                                                                                           \
        type swapped = (a);                                                                        \
        (a) = (b);                                                                                 \
        (b) = swapped;                                                                             \
    } while (0)

/* Exchanges the results of the frame with those in the service's scratch space. */
static void swap_results(struct client_frame *frame, struct service_work *work)
{
    SWAP(struct wire_result *, frame->results, work->results);
    SWAP(size_t, frame->result_room, work->result_room);
    SWAP(size_t, frame->result_count, work->result_count);
    SWAP(uint32_t *, frame->served, work->served);
    SWAP(size_t, frame->served_room, work->served_room);
    SWAP(size_t, frame->served_count, work->served_count);
    SWAP(uint64_t, frame->fence, work->fence);
    SWAP(uint32_t *, frame->ids, work->ids);
    SWAP(size_t, frame->id_room, work->id_room);
}

/* ------------------------------------------------------------------ duration */

void slice_begin(struct service *service)
{
    service->work->slice = 0;
    service->work->stops = 0;
}

/* Other programs may have used the processor: after TAKE_NS_MAX of wall time, the slice continues
 * for TAKE_NS_MAX of processor time. */
bool slice_is_over(struct service_work *work, uint64_t now)
{
    if (work->stops >= SLICE_INCIDENTS)
        return true;
    if (now - work->began < TAKE_NS_MAX)
        return false;
    uint64_t worked = work_ns();
    if (work->slice == 0)
        work->slice = worked;
    return worked - work->slice > TAKE_NS_MAX;
}

/* ------------------------------------------------------------------ between two slices */

void frame_yield(struct client *client, const struct wire_list *rest, const struct wire_list *all)
{
    struct client_frame *frame = &client->frame;
    if (!frame->begun) {
        frame->notifications = (struct output){.fd = -1};
        frame->now = client->service->work->now;
    }
    frame->begun = true;
    frame->at = (size_t)(rest->at - all->at);
    frame->left = rest->left;
    frame->newest = client->service->fence;
    client->service->work->later = true;
    swap_results(frame, client->service->work);
}

bool frame_resume(struct client *client, struct wire_list *list)
{
    struct service *service = client->service;
    struct client_frame *frame = &client->frame;
    const char *why;
    service->work->later = frame->waits = !service_may_change(service, &why);
    if (frame->waits)
        return false;
    swap_results(frame, service->work);
    list->at += frame->at;
    list->left = frame->left;
    return true;
}

void frame_swap_output(struct client *client)
{
    if (client->frame.begun)
        SWAP(struct output, client->out, client->frame.notifications);
}

void frame_free(struct client *client)
{
    struct client_frame *frame = &client->frame;
    gordian_allocator memory = memory_allocator(NULL); /* the allocator of every output */
    memory_free_all(&client->service->memory, frame->results, frame->served, frame->ids);
    memory_free(&memory, frame->notifications.buffer);
    *frame = (struct client_frame){0};
}

void frame_end(struct client *client)
{
    const struct output *buffered = &client->frame.notifications;
    if (!client->frame.begun)
        return;
    if (buffered->used > 0 && !buffered->failure)
        client_put(client, buffered->buffer, buffered->used);
    frame_free(client);
}
