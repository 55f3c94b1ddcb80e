/* Wrappers of waits for and tests of requests. What is known of each request is copied before the
 * call, because its handle is invalid, or reused, afterwards. */
#include "sources/mpi/calls.h"

#include <stdlib.h>

#define FEW 16 /* up to this many requests need no allocation */

struct pending {
    uint64_t handle;
    struct mpi_request was; /* handle 0: no request, or not known */
};

struct batch {
    int count;
    struct pending few[FEW], *list;
    MPI_Status few_statuses[FEW], *statuses; /* the program's, or our own */
    MPI_Status *own;
    struct mpi_slot *slot;
    enum mpi_call call;
};

static void find_pending(struct pending *pending, MPI_Request request)
{
    *pending = (struct pending){0};
    if (request == MPI_REQUEST_NULL)
        return;
    pending->handle = HANDLE(request);
    if (!recorder_find(pending->handle, &pending->was))
        pending->was = (struct mpi_request){.handle = 0, .item.kind = MPI_ITEM_OPAQUE, .active = 1};
}

/* Copies what is known of the requests. batch->slot is NULL if the call is not recorded. */
static void batch_open(struct batch *batch, enum mpi_call call, int count,
                       const MPI_Request *requests)
{
    batch->own = NULL;
    batch->list = NULL;
    batch->slot = recorder.record && count >= 0 ? recorder_slot() : NULL;
    if (!batch->slot)
        return;
    batch->call = call;
    batch->count = count;
    batch->list = count <= FEW ? batch->few : malloc((size_t)count * sizeof *batch->list);
    if (!batch->list) {
        recorder_give_up();
        batch->slot = NULL;
        return;
    }
    for (int i = 0; i < count; i++)
        find_pending(&batch->list[i], requests[i]);
}

static void batch_open_test(struct batch *batch, enum mpi_call call, int count,
                            const MPI_Request *requests)
{
    batch_open(batch, call, count, requests);
    if (batch->slot)
        recorder_begin_test(batch->slot);
}

static bool has_open(const struct batch *batch)
{
    for (int i = 0; i < batch->count; i++)
        if (batch->list[i].was.item.kind == MPI_ITEM_RECEIVE &&
            item_is_open(&batch->list[i].was.item))
            return true;
    return false;
}

/* Returns the array for the statuses: the program's or, if the program ignores statuses and the
 * sender must be known, our own. */
static MPI_Status *batch_statuses(struct batch *batch, MPI_Status *given, const void *ignore)
{
    batch->statuses = given;
    if (!batch->slot || given != ignore || !has_open(batch))
        return given;
    batch->statuses = batch->few_statuses;
    if (batch->count > FEW)
        batch->statuses = batch->own = malloc((size_t)batch->count * sizeof *batch->own);
    if (!batch->statuses) {
        recorder_give_up();
        return batch->statuses = given;
    }
    return batch->statuses;
}

static void batch_wait(struct batch *batch, bool any)
{
    if (!batch->slot)
        return;
    recorder_prepare(batch->slot, batch->call);
    atomic_store_explicit(&batch->slot->any, any, memory_order_relaxed);
    for (int i = 0; i < batch->count; i++)
        if (batch->list[i].handle && batch->list[i].was.active)
            recorder_item(batch->slot, &batch->list[i].was.item);
    recorder_advance(batch->slot);
}

/* Request `index` is done; its status is number `at`. */
static void batch_done(struct batch *batch, int index, int at)
{
    if (!batch->slot || index < 0 || index >= batch->count)
        return;
    const struct pending *pending = &batch->list[index];
    if (!pending->was.handle || !pending->was.active)
        return;
    const struct mpi_item *item = &pending->was.item;
    if (item->kind == MPI_ITEM_RECEIVE)
        item_received(item, &batch->statuses[at], MPI_EVENT_DONE, batch->call, pending->was.number);
    else
        recorder_event(MPI_EVENT_DONE, batch->call, item, pending->was.number);
    recorder_done(pending->handle, pending->was.number, false);
}

static void batch_close(struct batch *batch, bool waited)
{
    if (!batch->slot)
        return;
    if (waited)
        recorder_advance(batch->slot);
    if (batch->list != batch->few)
        free(batch->list);
    free(batch->own);
}

/* Ends a test, which found a completed request or none. */
static void batch_polled(struct batch *batch, bool found)
{
    if (batch->slot && found)
        recorder_stop_polling(batch->slot);
    for (int i = 0; batch->slot && !found && i < batch->count; i++)
        if (batch->list[i].handle && batch->list[i].was.active)
            recorder_poll(batch->slot, batch->call, &batch->list[i].was.item);
    if (batch->slot)
        recorder_end_test(batch->slot);
}

/* ------------------------------------------------------------------ waits */

int layer_Wait(MPI_Request *request, MPI_Status *status)
{
    struct batch batch;
    batch_open(&batch, MPI_CALL_Wait, 1, request);
    status = batch_statuses(&batch, status, MPI_STATUS_IGNORE);
    batch_wait(&batch, false);
    int result = PMPI_Wait(request, status);
    batch_done(&batch, 0, 0);
    batch_close(&batch, true);
    return result;
}

int layer_Waitall(int count, MPI_Request requests[], MPI_Status *statuses)
{
    struct batch batch;
    batch_open(&batch, MPI_CALL_Waitall, count, requests);
    statuses = batch_statuses(&batch, statuses, MPI_STATUSES_IGNORE);
    batch_wait(&batch, false);
    int result = PMPI_Waitall(count, requests, statuses);
    for (int i = 0; batch.slot && i < count; i++)
        batch_done(&batch, i, i);
    batch_close(&batch, true);
    return result;
}

int layer_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    struct batch batch;
    batch_open(&batch, MPI_CALL_Waitany, count, requests);
    status = batch_statuses(&batch, status, MPI_STATUS_IGNORE);
    batch_wait(&batch, true);
    int result = PMPI_Waitany(count, requests, index, status);
    if (*index != MPI_UNDEFINED)
        batch_done(&batch, *index, 0);
    batch_close(&batch, true);
    return result;
}

int layer_Waitsome(int count, MPI_Request requests[], int *done, int indices[],
                   MPI_Status *statuses)
{
    struct batch batch;
    batch_open(&batch, MPI_CALL_Waitsome, count, requests);
    statuses = batch_statuses(&batch, statuses, MPI_STATUSES_IGNORE);
    batch_wait(&batch, true);
    int result = PMPI_Waitsome(count, requests, done, indices, statuses);
    for (int i = 0; *done != MPI_UNDEFINED && i < *done; i++)
        batch_done(&batch, indices[i], i);
    batch_close(&batch, true);
    return result;
}

/* ------------------------------------------------------------------ tests */

int layer_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct batch batch;
    batch_open_test(&batch, MPI_CALL_Test, 1, request);
    status = batch_statuses(&batch, status, MPI_STATUS_IGNORE);
    int result = PMPI_Test(request, flag, status);
    if (*flag)
        batch_done(&batch, 0, 0);
    batch_polled(&batch, *flag);
    batch_close(&batch, false);
    return result;
}

int layer_Testall(int count, MPI_Request requests[], int *flag, MPI_Status *statuses)
{
    struct batch batch;
    batch_open_test(&batch, MPI_CALL_Testall, count, requests);
    statuses = batch_statuses(&batch, statuses, MPI_STATUSES_IGNORE);
    int result = PMPI_Testall(count, requests, flag, statuses);
    for (int i = 0; *flag && batch.slot && i < count; i++)
        batch_done(&batch, i, i);
    batch_polled(&batch, *flag);
    batch_close(&batch, false);
    return result;
}

int layer_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    struct batch batch;
    batch_open_test(&batch, MPI_CALL_Testany, count, requests);
    status = batch_statuses(&batch, status, MPI_STATUS_IGNORE);
    int result = PMPI_Testany(count, requests, index, flag, status);
    if (*flag && *index != MPI_UNDEFINED)
        batch_done(&batch, *index, 0);
    batch_polled(&batch, *flag);
    batch_close(&batch, false);
    return result;
}

int layer_Testsome(int count, MPI_Request requests[], int *done, int indices[],
                   MPI_Status *statuses)
{
    struct batch batch;
    batch_open_test(&batch, MPI_CALL_Testsome, count, requests);
    statuses = batch_statuses(&batch, statuses, MPI_STATUSES_IGNORE);
    int result = PMPI_Testsome(count, requests, done, indices, statuses);
    for (int i = 0; *done != MPI_UNDEFINED && i < *done; i++)
        batch_done(&batch, indices[i], i);
    batch_polled(&batch, *done != 0);
    batch_close(&batch, false);
    return result;
}
