/* The functions of the store that the event loop calls. */
#include "service/serve/store/store.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "service/serve/store/files.h"
#include "service/serve/store/store_internal.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static const char *const durabilities[] = {
    [STORE_NONE] = "none",
    [STORE_BATCH] = "batch",
    [STORE_FULL] = "full",
};

const char *store_durability_text(enum store_durability durability)
{
    return durabilities[durability];
}

void store_options_init(struct store_options *options)
{
    *options = (struct store_options){
        .durability = STORE_BATCH,
        .keep_incidents_ms = UINT64_C(30) * 24 * 3600 * 1000,
    };
}

/* ---- batches */

static struct batch *new_batch(struct store *store)
{
    struct batch *batch = memory_zeroed(&store->memory, sizeof *batch);
    if (batch) {
        bytes_init(&batch->body, &store->memory);
        bytes_init(&batch->incidents, &store->memory);
    }
    return batch;
}

void store_free_batches(struct store *store, struct batch *batch)
{
    for (struct batch *next; batch; batch = next) {
        next = batch->next;
        bytes_free(&batch->body);
        bytes_free(&batch->incidents);
        memory_free(&store->memory, batch);
    }
}

/* Empties a batch, but keeps its memory unless that is very large. */
static void clear_batch(struct batch *batch)
{
    if (batch->body.room > 4 * STORE_INLINE_MAX)
        bytes_free(&batch->body);
    if (batch->incidents.room > 4 * STORE_INLINE_MAX)
        bytes_free(&batch->incidents);
    batch->body.used = batch->incidents.used = 0;
    batch->count = batch->incident_count = 0;
    batch->frame = 0;
    batch->next = NULL;
}

/* Returns an empty batch, a recycled one if possible, and frees superfluous ones. NULL: no memory.
 */
static struct batch *take_batch(struct store *store)
{
    store_lock(store);
    struct batch *batch = store->recycled, *rest = NULL;
    if (batch) {
        store->recycled = batch->next;
        store->recycled_count--;
    }
    if (store->recycled_count > STORE_SPARE) {
        rest = store->recycled;
        store->recycled = NULL;
        store->recycled_count = 0;
    }
    store_unlock(store);
    store_free_batches(store, rest);
    if (!batch)
        return new_batch(store);
    clear_batch(batch);
    return batch;
}

uint64_t store_append(struct store *store, uint64_t at, const void *bytes, size_t length)
{
    struct batch *batch = store->open;
    if (length > STORE_RECORD_MAX)
        return 0;
    if (!store->kept)
        return ++store->last;
    if (batch->body.used >= STORE_BATCH_MAX || batch->frame) {
        store_seal(store);
        batch = store->open;
    }
    if (batch->frame)
        return 0; /* it is in the journal, and there was no memory for another */
    if (!bytes_room(&batch->body, length + 20)) {
        batch->body.failed = false;
        return 0;
    }
    if (batch->count == 0)
        batch->at = at;
    bytes_i64(&batch->body, (int64_t)(at - batch->at));
    bytes_text(&batch->body, bytes, length);
    store->last_at = at;
    batch->count++;
    store->journal_bytes += length;
    store->seen.records++;
    store->seen.bytes += length;
    return ++store->last;
}

/* ---- sealing */

/* Under the mutex: passes the batch to the thread. */
static void enqueue_batch(struct store *store, struct batch *batch)
{
    bool first = !store->queue;
    if (first)
        store->queued_at = clock_ms();
    *store->queue_end = batch;
    store->queue_end = &batch->next;
    store->queue_bytes += batch->body.used + batch->incidents.used;
    store->queue_records += batch->count;
    store->queue_full |= store->queue_bytes > STORE_QUEUE_MAX;
    /* While the queue is not empty, the thread is working on it or knows when to retry. A database
     * can have several commits in flight. */
    if (first || store->pg || store->queue_bytes >= STORE_BEHIND_MAX)
        store_wake(store);
}

/* Under the mutex: copies the health for the event loop. */
static void show_health(struct store *store)
{
    if (store->role == STORE_LOST)
        snprintf(store->health_shown, sizeof store->health_shown, "%s", store->lost);
    else if (store->handing_over)
        snprintf(store->health_shown, sizeof store->health_shown, "the leader is stepping down");
    else if (store->failed || store->sync_failed)
        snprintf(store->health_shown, sizeof store->health_shown, "%s", store->why);
    else if (store->queue_full)
        snprintf(store->health_shown, sizeof store->health_shown, "the %s does not keep up",
                 store->pg ? "database" : "disk");
    else
        store->health_shown[0] = '\0';
    snprintf(store->snapshot_shown, sizeof store->snapshot_shown, "%s",
             store->snapshot_pause ? store->snapshot_why : "");
}

/* The caller holds the mutex, which is released during the commit. True: the batch is committed. */
static bool commit_now(struct store *store, struct batch *batch)
{
    bool was_synced = !store->unsynced, was_due = store->checkpoint;
    store->busy = true;
    bool good = store_commit(store, batch, 1, false);
    store->figures.inline_commits += good;
    if (good && (was_synced || (store->checkpoint && !was_due)))
        pthread_cond_signal(&store->wake);
    return good;
}

/* Keeps the newest incidents of a store without a folder. */
static void seal_in_memory(struct store *store)
{
    struct batch *batch = store->open;
    uint64_t dropped;
    bool more = batch->incident_count > 0;
    if (more)
        history_write(&store->history, batch, 1);
    while (more && history_trim(&store->history, 0, &dropped, &more) == SQLITE_OK)
        store->figures.incidents_dropped += dropped;
    clear_batch(batch);
}

void store_note_iteration(struct store *store)
{
    if (store->pg)
        atomic_store_explicit(&store->loop_alive_at, clock_ms(), memory_order_relaxed);
}

void store_seal(struct store *store)
{
    struct batch *batch = store->open;
    store_note_iteration(store);
    if (batch->count == 0 && batch->incident_count == 0)
        return;
    if (!store->kept) {
        seal_in_memory(store);
        return;
    }
    batch->first = store->last + 1 - batch->count;
    batch->next = NULL;
    store_lock(store);
    /* The loop commits directly if no other thread uses the disk. */
    bool committed =
        (store->backend->at_once && store->options.durability == STORE_BATCH && !store->busy &&
         !store->syncing && !store->queue && !store->failed && !store->sync_failed &&
         batch->body.used + batch->incidents.used <= STORE_INLINE_MAX) &&
        commit_now(store, batch);
    store_unlock(store);
    if (committed) {
        clear_batch(batch);
        return;
    }
    struct batch *fresh = store->closing ? NULL : take_batch(store);
    if (!fresh && !store->closing)
        return; /* no memory: it stays open and is sealed next time */
    store->open = fresh;
    store_lock(store);
    enqueue_batch(store, batch);
    show_health(store);
    store_unlock(store);
}

gordian_status store_incident(struct store *store, const struct incident *incident)
{
    if (store->loading && history_knows(&store->history, incident->id))
        return GORDIAN_OK; /* it was committed with the record that is being replayed */
    if (store->open->frame)
        store_seal(store);
    if (store->open->frame)
        return GORDIAN_STATUS_MEMORY;
    return history_put(store->open, incident) ? GORDIAN_OK : GORDIAN_STATUS_MEMORY;
}

/* ---- results of the thread */

uint64_t store_last(const struct store *store)
{
    return store->last;
}

uint64_t store_committed(const struct store *store)
{
    if (!store->kept || store->options.durability == STORE_NONE)
        return store->last;
    return atomic_load_explicit(&store->committed, memory_order_acquire);
}

int store_fd(const struct store *store)
{
    return store->doorbell;
}

void store_free_jobs(struct store *store, struct snapshot_job *job)
{
    for (struct snapshot_job *next; job; job = next) {
        next = job->next;
        bytes_free(&job->body);
        memory_free(&store->memory, job);
    }
}

/* Returns the first batch whose incidents are committed but not in the history yet; NULL: none. */
static struct batch *next_committed_batch(struct store *store)
{
    store_lock(store);
    struct batch *batch = store->committed_first;
    if (batch)
        store->committed_first = batch->next;
    if (batch && !store->committed_first)
        store->committed_end = &store->committed_first;
    store_unlock(store);
    if (batch)
        batch->next = NULL;
    return batch;
}

/* Copies committed incidents to the history of the loop, if it has one. There may be tens of
 * thousands: work beyond STORE_TOLD_NS continues in the next iterations. */
static void take_committed_incidents(struct store *store)
{
    if (!store->pg)
        return;
    uint64_t dropped, began = work_ns();
    bool late = false, more = false;
    struct batch *batch;
    while (!late && (batch = next_committed_batch(store))) {
        history_write(&store->history, batch, 1);
        store_free_batches(store, batch);
        more = true;
        late = work_ns() - began > STORE_COPY_NS;
    }
    more |= store->untrimmed;
    while (more && history_trim(&store->history, 0, &dropped, &more) == SQLITE_OK && !late)
        late = work_ns() - began > STORE_COPY_NS; /* the database has them all */
    store->untrimmed = more;
    if (late)
        store_ring(store);
}

void store_poll(struct store *store)
{
    if (!store->kept)
        return;
    store_note_iteration(store);
    bell_clear(store->doorbell);
    store_lock(store);
    show_health(store);
    memcpy(store->leader_shown, store->leader, sizeof store->leader_shown);
    struct snapshot_job *done = store->jobs_done;
    uint64_t newest = store->newest;
    store->jobs_done = NULL;
    store_unlock(store);
    for (const struct snapshot_job *job = done; job; job = job->next)
        if (job->number == newest)
            store->snapshot_size = job->body.used;
        else if (job->number > newest) /* writing it has failed */
            store->journal_bytes += job->journal_bytes;
    store_free_jobs(store, done);
    take_committed_incidents(store);
    questions_poll(store->questions);
    if (store->workers)
        questions_poll(store->workers);
}

bool store_healthy(const struct store *store, const char **why)
{
    if (why)
        *why = store->health_shown;
    return store->health_shown[0] == '\0';
}

/* ---- leadership */

enum store_role store_role(const struct store *store)
{
    store_lock(store);
    enum store_role role = store->role;
    store_unlock(store);
    return role;
}

bool store_is_sure_leader(const struct store *store)
{
    if (!store->pg)
        return true;
    return store_role(store) == STORE_LEADER &&
           boot_ns() / 1000000 < atomic_load_explicit(&store->leads_until, memory_order_acquire);
}

const char *store_leader(const struct store *store)
{
    return store->leader_shown;
}

const char *store_lost(const struct store *store)
{
    return store->lost; /* constant once the role is STORE_LOST */
}

bool store_is_shared(const struct store *store)
{
    return store->pg != NULL;
}

gordian_status store_follow(struct store *store, const struct store_loader *loader, void *context,
                            bool *more, gordian_error *error)
{
    *more = false;
    return store->backend->follow ? store->backend->follow(store, loader, context, more, error)
                                  : GORDIAN_OK;
}

void store_hand_over(struct store *store)
{
    store_lock(store);
    store->handing_over = store->pg != NULL && store->role == STORE_LEADER;
    show_health(store);
    store_wake(store);
    store_unlock(store);
}

/* ---- snapshots */

bool store_snapshot_due(const struct store *store)
{
    uint64_t enough = store->options.snapshot_bytes;
    if (enough < 2 * store->snapshot_size)
        enough = 2 * store->snapshot_size;
    if (!store->kept || store->journal_bytes < enough || store->health_shown[0])
        return false;
    store_lock(store);
    bool due = store->role == STORE_LEADER && !store->job && !store->jobs_done &&
               store->last > store->newest && clock_ms() >= store->snapshot_retry;
    store_unlock(store);
    return due;
}

gordian_status store_snapshot_begin(struct store *store, gordian_error *error)
{
    store_snapshot_drop(store);
    store->building = memory_zeroed(&store->memory, sizeof *store->building);
    if (!store->building)
        return fail_memory(error);
    bytes_init(&store->building->body, &store->memory);
    store->building->number = store->last;
    store->building->at = wall_ms();
    if (store->building->at < store->last_at) /* the clock was set back meanwhile */
        store->building->at = store->last_at;
    return GORDIAN_OK;
}

gordian_status store_snapshot_section(struct store *store, const char *name, const void *bytes,
                                      size_t length, gordian_error *error)
{
    struct bytes *body = &store->building->body;
    size_t before = body->used;
    if (strlen(name) > GORDIAN_NAME_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "the name of a section is too long");
    bytes_text(body, name, strlen(name));
    bytes_text(body, bytes, length);
    if (!body->failed)
        return GORDIAN_OK;
    body->failed = false;
    body->used = before;
    store_snapshot_drop(store);
    return fail_memory(error);
}

void store_snapshot_end(struct store *store)
{
    struct snapshot_job *job = store->building;
    store->building = NULL;
    if (!job)
        return;
    store_lock(store);
    bool taken = store->kept && !store->job && job->number > store->newest;
    if (taken) {
        job->journal_bytes = store->journal_bytes;
        store->job = job;
        store_wake(store);
    }
    store_unlock(store);
    if (taken)
        store->journal_bytes = 0;
    else
        store_free_jobs(store, job);
}

void store_snapshot_drop(struct store *store)
{
    store_free_jobs(store, store->building);
    store->building = NULL;
}

void store_snapshot_fail(struct store *store, const char *why)
{
    store_snapshot_drop(store);
    store_lock(store);
    store_note_snapshot(store, why);
    show_health(store);
    store_unlock(store);
}

bool store_snapshots_fail(const struct store *store, const char **why)
{
    *why = store->snapshot_shown;
    return store->snapshot_shown[0] != '\0';
}

/* ---- figures */

struct incidents_db *store_incidents(struct store *store)
{
    return store->reader;
}

struct questions *store_workers(struct store *store)
{
    return store->workers;
}

struct questions *store_questions(struct store *store)
{
    return store->questions;
}

void store_keep_incidents(struct store *store, uint64_t keep_ms)
{
    store_lock(store);
    store->keep_ms = keep_ms;
    store->trim_at = 0;
    store_wake(store);
    store_unlock(store);
}

void store_figures(const struct store *store, struct store_figures *figures)
{
    store_lock(store);
    *figures = store->figures;
    figures->lag_records = store->queue_records;
    figures->lag_bytes = store->queue_bytes;
    figures->snapshot_at = store->newest;
    store_unlock(store);
    figures->records = store->seen.records;
    figures->bytes = store->seen.bytes;
    figures->journal_bytes = store->journal_bytes;
}
