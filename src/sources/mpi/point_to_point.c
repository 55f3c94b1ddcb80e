/* Wrappers of sends, receives and probes, and of the requests that begin them. */
#include "sources/mpi/calls.h"

/* ------------------------------------------------------------------ blocking sends */

static inline void begin_send(struct traced_call *traced, enum mpi_item_kind kind)
{
    traced_count_send(traced, kind);
    recorder_event(MPI_EVENT_SEND, traced->call, &traced->item, 0);
    traced_wait(traced);
}

#define SEND(name, kind)                                                                           \
    int layer_##name(const void *data, int count, MPI_Datatype type, int to, int tag,              \
                     MPI_Comm comm)                                                                \
    {                                                                                              \
        struct traced_call traced;                                                                 \
        if (!traced_send(&traced, MPI_CALL_##name, comm, to, tag))                                 \
            return PMPI_##name(data, count, type, to, tag, comm);                                  \
        begin_send(&traced, kind);                                                                 \
        int result = PMPI_##name(data, count, type, to, tag, comm);                                \
        traced_end(&traced);                                                                       \
        return result;                                                                             \
    }
SEND(Send, MPI_ITEM_SEND)
SEND(Ssend, MPI_ITEM_SYNCHRONOUS)
SEND(Rsend, MPI_ITEM_SEND)

/* A buffered send never blocks; it is only counted. */
int layer_Bsend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    struct traced_call traced;
    if (traced_send(&traced, MPI_CALL_Bsend, comm, to, tag)) {
        traced_count_send(&traced, MPI_ITEM_SEND);
        recorder_event(MPI_EVENT_BUFFERED, traced.call, &traced.item, 0);
    }
    return PMPI_Bsend(data, count, type, to, tag, comm);
}

/* ------------------------------------------------------------------ receives */

int layer_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
               MPI_Status *status)
{
    struct traced_call traced;
    MPI_Status own;
    if (!traced_receive(&traced, MPI_CALL_Recv, comm, from, tag))
        return PMPI_Recv(data, count, type, from, tag, comm, status);
    item_receive(&traced.item, MPI_ITEM_RECEIVE);
    if (status == MPI_STATUS_IGNORE && item_is_open(&traced.item))
        status = &own;
    traced_wait(&traced);
    int result = PMPI_Recv(data, count, type, from, tag, comm, status);
    traced_received(&traced, status, MPI_EVENT_RECEIVE, 0);
    traced_end(&traced);
    return result;
}

int layer_Probe(int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct traced_call traced;
    if (!traced_receive(&traced, MPI_CALL_Probe, comm, from, tag))
        return PMPI_Probe(from, tag, comm, status);
    item_receive(&traced.item, MPI_ITEM_PROBE);
    traced_wait(&traced);
    int result = PMPI_Probe(from, tag, comm, status);
    traced_end(&traced);
    return result;
}

/* For all other receivers, a message that a matched probe returned is received. */
int layer_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    struct traced_call traced;
    MPI_Status own;
    if (!traced_receive(&traced, MPI_CALL_Mprobe, comm, from, tag))
        return PMPI_Mprobe(from, tag, comm, message, status);
    item_receive(&traced.item, MPI_ITEM_RECEIVE);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    traced_wait(&traced);
    int result = PMPI_Mprobe(from, tag, comm, message, status);
    traced_received(&traced, status, MPI_EVENT_RECEIVE, 0);
    traced_end(&traced);
    return result;
}

/* Ends a nonblocking probe. A probe item has no number. */
static void end_probe(struct traced_call *traced, bool found)
{
    traced->item.kind = MPI_ITEM_PROBE;
    traced->item.number = UINT64_MAX;
    if (found)
        recorder_stop_polling(traced->slot);
    else
        recorder_poll(traced->slot, traced->call, &traced->item);
    recorder_end_test(traced->slot);
}

int layer_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    struct traced_call traced;
    bool known = traced_receive(&traced, MPI_CALL_Iprobe, comm, from, tag);
    if (known)
        recorder_begin_test(traced.slot);
    int result = PMPI_Iprobe(from, tag, comm, flag, status);
    if (known)
        end_probe(&traced, *flag);
    return result;
}

int layer_Improbe(int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                  MPI_Status *status)
{
    struct traced_call traced;
    MPI_Status own;
    bool known = traced_receive(&traced, MPI_CALL_Improbe, comm, from, tag);
    if (known)
        recorder_begin_test(traced.slot);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    int result = PMPI_Improbe(from, tag, comm, flag, message, status);
    if (known && *flag)
        traced_received(&traced, status, MPI_EVENT_RECEIVE, 0);
    if (known)
        end_probe(&traced, *flag);
    return result;
}

/* ------------------------------------------------------------------ sendrecv */

/* Publishes two items: first the send, then the receive. */
static void begin_sendrecv(struct traced_call *send, struct traced_call *receive)
{
    item_receive(&receive->item, MPI_ITEM_RECEIVE);
    traced_count_send(send, MPI_ITEM_SEND);
    uint64_t request = receive->item.number;
    uint32_t choice = item_is_open(&receive->item) ? MPI_EVENT_CHOICE : 0;
    recorder_event(MPI_EVENT_BEGIN_RECEIVE, (uint32_t)send->call | choice, &receive->item, request);
    recorder_event(MPI_EVENT_SEND, send->call, &send->item, 0);
    recorder_prepare(send->slot, send->call);
    recorder_item(send->slot, &send->item);
    recorder_item(send->slot, &receive->item);
    recorder_advance(send->slot);
}

/* The common part of MPI_Sendrecv and MPI_Sendrecv_replace. */
struct exchange {
    struct traced_call send, receive;
    bool sends, receives;
};

static void exchange_begin(struct exchange *exchange, enum mpi_call call, MPI_Comm comm, int to,
                           int send_tag, int from, int receive_tag)
{
    exchange->sends = traced_send(&exchange->send, call, comm, to, send_tag);
    exchange->receives = traced_receive(&exchange->receive, call, comm, from, receive_tag);
    /* If one of the two peers is MPI_PROC_NULL, only the other half is recorded. */
    if (exchange->sends && exchange->receives) {
        begin_sendrecv(&exchange->send, &exchange->receive);
    } else if (exchange->sends) {
        begin_send(&exchange->send, MPI_ITEM_SEND);
    } else if (exchange->receives) {
        item_receive(&exchange->receive.item, MPI_ITEM_RECEIVE);
        traced_wait(&exchange->receive);
    }
}

static void exchange_end(struct exchange *exchange, const MPI_Status *status)
{
    const struct traced_call *receive = &exchange->receive;
    if (exchange->sends && exchange->receives)
        traced_received(receive, status, MPI_EVENT_DONE, receive->item.number);
    else if (exchange->receives)
        traced_received(receive, status, MPI_EVENT_RECEIVE, 0);
    traced_end(exchange->sends ? &exchange->send : &exchange->receive);
}

int layer_Sendrecv(const void *sent, int send_count, MPI_Datatype send_type, int to, int send_tag,
                   void *received, int receive_count, MPI_Datatype receive_type, int from,
                   int receive_tag, MPI_Comm comm, MPI_Status *status)
{
    struct exchange exchange;
    MPI_Status own;
    exchange_begin(&exchange, MPI_CALL_Sendrecv, comm, to, send_tag, from, receive_tag);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    int result = PMPI_Sendrecv(sent, send_count, send_type, to, send_tag, received, receive_count,
                               receive_type, from, receive_tag, comm, status);
    exchange_end(&exchange, status);
    return result;
}

int layer_Sendrecv_replace(void *data, int count, MPI_Datatype type, int to, int send_tag, int from,
                           int receive_tag, MPI_Comm comm, MPI_Status *status)
{
    struct exchange exchange;
    MPI_Status own;
    exchange_begin(&exchange, MPI_CALL_Sendrecv_replace, comm, to, send_tag, from, receive_tag);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    int result =
        PMPI_Sendrecv_replace(data, count, type, to, send_tag, from, receive_tag, comm, status);
    exchange_end(&exchange, status);
    return result;
}

/* ------------------------------------------------------------------ requests */

/* Returns the provisional handle of a receive. A request is counted before it begins, but its
 * handle is known only afterwards. No thread can wait for it in between, but another rank may send.
 * So the receive is first recorded under its number, with a handle that no request has. */
static uint64_t early_handle(const struct traced_call *traced)
{
    return UINT64_MAX - traced->item.number;
}

static void note_request(const struct traced_call *traced, uint64_t number,
                         const MPI_Request *request)
{
    recorder_request(HANDLE(*request), number, &traced->item, true, false);
    if (traced->item.kind == MPI_ITEM_RECEIVE)
        recorder_done(early_handle(traced), traced->item.number, true);
}

static uint64_t begin_request(struct traced_call *traced, enum mpi_event_kind event)
{
    uint64_t number =
        traced->item.kind == MPI_ITEM_RECEIVE ? traced->item.number : recorder_number();
    recorder_stop_polling(traced->slot);
    uint32_t choice = item_is_open(&traced->item) ? MPI_EVENT_CHOICE : 0;
    recorder_event(event, (uint32_t)traced->call | choice, &traced->item, number);
    return number;
}

#define BEGIN_SEND(name, kind, event)                                                              \
    int layer_##name(const void *data, int count, MPI_Datatype type, int to, int tag,              \
                     MPI_Comm comm, MPI_Request *request)                                          \
    {                                                                                              \
        struct traced_call traced;                                                                 \
        if (!traced_send(&traced, MPI_CALL_##name, comm, to, tag))                                 \
            return PMPI_##name(data, count, type, to, tag, comm, request);                         \
        traced_count_send(&traced, kind);                                                          \
        uint64_t number = begin_request(&traced, event);                                           \
        int result = PMPI_##name(data, count, type, to, tag, comm, request);                       \
        note_request(&traced, number, request);                                                    \
        return result;                                                                             \
    }
BEGIN_SEND(Isend, MPI_ITEM_SEND, MPI_EVENT_BEGIN_SEND)
BEGIN_SEND(Issend, MPI_ITEM_SYNCHRONOUS, MPI_EVENT_BEGIN_SEND)
BEGIN_SEND(Irsend, MPI_ITEM_SEND, MPI_EVENT_BEGIN_SEND)
BEGIN_SEND(Ibsend, MPI_ITEM_SEND, MPI_EVENT_BUFFERED)

int layer_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                MPI_Request *request)
{
    struct traced_call traced;
    if (!traced_receive(&traced, MPI_CALL_Irecv, comm, from, tag))
        return PMPI_Irecv(data, count, type, from, tag, comm, request);
    item_receive(&traced.item, MPI_ITEM_RECEIVE);
    recorder_request(early_handle(&traced), traced.item.number, &traced.item, true, false);
    uint64_t number = begin_request(&traced, MPI_EVENT_BEGIN_RECEIVE);
    int result = PMPI_Irecv(data, count, type, from, tag, comm, request);
    note_request(&traced, number, request);
    return result;
}

/* ------------------------------------------------------------------ persistent requests */

static void keep_request(struct traced_call *traced, enum mpi_item_kind kind,
                         const MPI_Request *request)
{
    traced->item.kind = kind;
    recorder_request(HANDLE(*request), 0, &traced->item, false, true);
}

#define KEEP_SEND(name, kind)                                                                      \
    int layer_##name(const void *data, int count, MPI_Datatype type, int to, int tag,              \
                     MPI_Comm comm, MPI_Request *request)                                          \
    {                                                                                              \
        struct traced_call traced;                                                                 \
        int result = PMPI_##name(data, count, type, to, tag, comm, request);                       \
        if (traced_send(&traced, MPI_CALL_##name, comm, to, tag))                                  \
            keep_request(&traced, kind, request);                                                  \
        return result;                                                                             \
    }
KEEP_SEND(Send_init, MPI_ITEM_SEND)
KEEP_SEND(Ssend_init, MPI_ITEM_SYNCHRONOUS)
KEEP_SEND(Bsend_init, MPI_ITEM_SEND)
KEEP_SEND(Rsend_init, MPI_ITEM_SEND)

int layer_Recv_init(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    struct traced_call traced;
    int result = PMPI_Recv_init(data, count, type, from, tag, comm, request);
    if (traced_receive(&traced, MPI_CALL_Recv_init, comm, from, tag))
        keep_request(&traced, MPI_ITEM_RECEIVE, request);
    return result;
}

/* Counts a send like any other. Its number in the log is not the number of an item, so the log
 * cannot be replayed from here on. */
static void start_request(MPI_Request request)
{
    struct mpi_request there;
    if (!recorder.record || request == MPI_REQUEST_NULL || !recorder_find(HANDLE(request), &there))
        return; /* MPI_REQUEST_NULL, or a communicator that is not known */
    if (there.item.kind == MPI_ITEM_RECEIVE)
        item_receive(&there.item, MPI_ITEM_RECEIVE);
    else
        there.item.number =
            recorder_sent(recorder_channel(there.item.group, there.item.peer, there.item.tag));
    recorder_activate(HANDLE(request), &there.item);
    if (recorder_own.slot)
        recorder_stop_polling(recorder_own.slot);
    atomic_store(&recorder.record->event_count, MPI_EVENTS + 1);
}

int layer_Start(MPI_Request *request)
{
    start_request(*request);
    return PMPI_Start(request);
}

int layer_Startall(int count, MPI_Request requests[])
{
    for (int i = 0; i < count; i++)
        start_request(requests[i]);
    return PMPI_Startall(count, requests);
}

/* ------------------------------------------------------------------ cancelled and freed requests
 */

/* The program may not ask whether the request was cancelled or received, so the record is
 * incomplete from here on. */
int layer_Cancel(MPI_Request *request)
{
    if (recorder.record)
        recorder_give_up();
    return PMPI_Cancel(request);
}

/* The receive may still complete but is never counted. Its channel would appear to have a message
 * on its route, so the record is incomplete from here on. */
int layer_Request_free(MPI_Request *request)
{
    struct mpi_request there;
    if (recorder.record && recorder_find(HANDLE(*request), &there)) {
        if (there.item.kind == MPI_ITEM_RECEIVE && there.active)
            recorder_give_up();
        recorder_done(HANDLE(*request), there.number, true);
    }
    return PMPI_Request_free(request);
}
