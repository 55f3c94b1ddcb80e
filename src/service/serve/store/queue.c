/* The queue of batches between the event loop and the thread, and reading batches back. */
#include "foundation/base/error.h"
#include "service/serve/store/files.h"
#include "service/serve/store/store_internal.h"

#include <stdio.h>

void store_ring(const struct store *store)
{
    bell_ring(store->doorbell);
}

/* ---- commits */

void store_note_commit(struct store *store, const struct batch *batch, size_t count, uint64_t ns)
{
    struct store_figures *figures = &store->figures;
    uint64_t last = 0;
    unsigned bucket = 0;
    for (uint64_t us = ns / 1000; us > 0 && bucket < STORE_BUCKETS - 1; us >>= 1)
        bucket++;
    figures->commits[bucket]++;
    figures->commit_ns += ns;
    figures->batches += count;
    for (; count > 0; batch = batch->next, count--)
        last = batch->count ? batch->first + batch->count - 1 : last;
    if (last)
        atomic_store_explicit(&store->committed, last, memory_order_release);
}

void store_note_failure(struct store *store, const char *why)
{
    store->failed = true;
    snprintf(store->why, sizeof store->why, "%.200s", why);
    store->figures.failures++;
    store->retry_at = clock_ms() + store->options.retry_ms;
}

/* ---- the queue */

size_t batch_bytes(const struct batch *batch)
{
    return batch->body.used + batch->incidents.used;
}

/* Recycles a batch; if the loop has its own history, its incidents go there first. */
static void recycle_batch(struct store *store, struct batch *batch)
{
    if (store->committed_end && batch->incident_count > 0) {
        batch->next = NULL;
        *store->committed_end = batch;
        store->committed_end = &batch->next;
        return;
    }
    batch->next = store->recycled;
    store->recycled = batch;
    store->recycled_count++;
}

/* The delay before the next attempt doubles: each attempt costs as much as writing a snapshot. */
void store_note_snapshot(struct store *store, const char *why)
{
    uint64_t pause =
        store->snapshot_pause ? 2 * store->snapshot_pause : 4 * store->options.retry_ms;
    store->snapshot_pause = pause < STORE_RETRY_MAX ? pause : STORE_RETRY_MAX;
    store->snapshot_retry = clock_ms() + store->snapshot_pause;
    store->figures.snapshot_failures++;
    store->figures.failures++;
    snprintf(store->snapshot_why, sizeof store->snapshot_why, "%.180s", why);
}

void store_end_job(struct store *store, bool written, const char *why)
{
    struct snapshot_job *job = store->job;
    store->job = NULL;
    job->next = store->jobs_done;
    store->jobs_done = job;
    if (written) {
        store->older = store->newest;
        store->newest = job->number;
        store->figures.snapshots++;
        store->trimming = true;
        store->snapshot_pause = 0;
    } else {
        store_note_snapshot(store, why);
    }
}

void store_drop_group(struct store *store, size_t count)
{
    for (; count > 0; count--) {
        struct batch *batch = store->queue;
        store->queue = batch->next;
        if (!store->queue)
            store->queue_end = &store->queue;
        store->queue_bytes -= batch_bytes(batch);
        store->queue_records -= batch->count;
        recycle_batch(store, batch);
    }
    if (store->queue_bytes < STORE_QUEUE_MAX / 2)
        store->queue_full = false;
}

/* ---- decoding */

gordian_status sections_load(const struct bytes *image, size_t head,
                             const struct store_loader *loader, void *context, gordian_error *error)
{
    struct bytes_in in = {.at = image->data + head, .end = image->data + image->used};
    gordian_status status = GORDIAN_OK;
    char name[GORDIAN_NAME_MAX + 1];
    while (status == GORDIAN_OK && !in.bad && bytes_left(&in) > 0) {
        size_t name_length, length;
        const char *text = bytes_take_text(&in, &name_length);
        const char *bytes = bytes_take_text(&in, &length);
        if (in.bad || name_length > GORDIAN_NAME_MAX)
            break;
        memcpy(name, text, name_length);
        name[name_length] = '\0';
        status = loader->section(context, name, bytes, length, error);
    }
    if (status == GORDIAN_OK && bytes_left(&in) > 0)
        status = fail(error, GORDIAN_STATUS_INPUT, "the snapshot's sections are malformed");
    return status;
}

gordian_status batch_load(const struct batch *batch, uint64_t after,
                          const struct store_loader *loader, void *context, gordian_error *error)
{
    bool enough = false;
    return batch_load_some(batch, &after, loader, context, &enough, error);
}

gordian_status batch_load_some(const struct batch *batch, uint64_t *after,
                               const struct store_loader *loader, void *context, bool *enough,
                               gordian_error *error)
{
    struct bytes_in in = {.at = batch->body.data, .end = batch->body.data + batch->body.used};
    gordian_status status = GORDIAN_OK;
    for (uint64_t i = 0; i < batch->count && status == GORDIAN_OK && !*enough; i++) {
        uint64_t number = batch->first + i, at = batch->at + (uint64_t)bytes_take_i64(&in);
        size_t length;
        const char *bytes = bytes_take_text(&in, &length);
        if (number <= *after)
            continue;
        status = loader->record(context, number, at, bytes, length, error);
        *after = number;
        *enough = loader->enough && loader->enough(context);
    }
    return status;
}
