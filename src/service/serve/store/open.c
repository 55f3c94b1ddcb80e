/* Opens and closes a store with any backend, and starts its thread. */
#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"
#include "service/serve/store/files.h"
#include "service/serve/store/store_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- notes for the log */

void store_note(struct store_found *found, const char *format, ...)
{
    size_t used = strlen(found->note);
    va_list arguments;
    if (used > 0 && used + 2 < sizeof found->note) {
        memcpy(found->note + used, "; ", 3);
        used += 2;
    }
    va_start(arguments, format);
    vsnprintf(found->note + used, sizeof found->note - used, format, arguments);
    va_end(arguments);
}

/* ---- the thread */

gordian_status store_start_thread(struct store *store, void *(*work)(void *context),
                                  gordian_error *error)
{
    store_note_iteration(store);
    int code = pthread_create(&store->thread, NULL, work, store);
    store->running = code == 0;
    return code ? fail(error, GORDIAN_STATUS_MEMORY, "cannot start a thread: %s", strerror(code))
                : GORDIAN_OK;
}

static void end_thread(struct store *store)
{
    if (!store->running)
        return;
    store->closing = true;
    store_seal(store);
    store_lock(store);
    store->stopping = true;
    store_wake(store);
    store_unlock(store);
    pthread_join(store->thread, NULL);
    store->running = false;
}

/* ---- the store */

static bool init_locks(struct store *store)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool good = pthread_mutex_init(&store->mutex, NULL) == 0 &&
                pthread_cond_init(&store->wake, &attributes) == 0 &&
                pthread_cond_init(&store->freed, NULL) == 0;
    pthread_condattr_destroy(&attributes);
    return good;
}

static gordian_status make_store(struct store **out, const struct store_options *options,
                                 gordian_error *error)
{
    gordian_allocator memory = memory_allocator(options->allocator);
    struct store *store = memory_zeroed(&memory, sizeof *store);
    if (!store)
        return fail_memory(error);
    store->memory = memory;
    store->options = *options;
    if (store->options.snapshot_bytes == 0) {
        /* An environment variable, for tests and tuning. */
        const char *why, *text = getenv("GORDIAN_SNAPSHOT_BYTES");
        uint64_t bytes;
        store->options.snapshot_bytes =
            text && parse_u64(text, strlen(text), &bytes, &why) && bytes > 0 ? bytes : 32u << 20;
    }
    if (store->options.retry_ms == 0)
        store->options.retry_ms = 250;
    if (store->options.note_ms == 0)
        store->options.note_ms = 1000;
    store->backend = options->postgres ? &backend_postgres
                     : options->folder ? &backend_files
                                       : &backend_memory;
    store->kept = store->backend != &backend_memory;
    store->wall_at = wall_ms();
    store->steady_at = clock_ms();
    store->keep_ms = options->keep_incidents_ms;
    store->folder.fd = store->folder.lock = store->folder.marker.fd = -1;
    store->doorbell = store->journal.fd = -1;
    store->queue_end = &store->queue;
    store->open = memory_zeroed(&memory, sizeof *store->open);
    if (!store->open || !init_locks(store)) {
        memory_free(&memory, store->open);
        memory_free(&memory, store);
        return fail_memory(error);
    }
    bytes_init(&store->open->body, &memory);
    bytes_init(&store->open->incidents, &memory);
    *out = store;
    return GORDIAN_OK;
}

gordian_status store_open(struct store **out, const struct store_options *options,
                          struct store_found *found, gordian_error *error)
{
    struct store_found ignored = {0};
    struct store *store = NULL;
    found = found ? found : &ignored;
    *found = (struct store_found){0};
    *out = NULL;
    TRY(make_store(&store, options, error));
    gordian_status status = GORDIAN_OK;
    store->doorbell = store->kept ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1;
    if (store->kept && store->doorbell < 0)
        status = fail(error, GORDIAN_STATUS_IO, "cannot make an eventfd: %s", strerror(errno));
    THEN(status, store->backend->open(store, found, error));
    THEN(status,
         questions_open(&store->questions, store->options.folder,
                        store->options.folder ? NULL : store->reader, store->doorbell, error));
    if (status == GORDIAN_OK && store->kept)
        status = questions_open(&store->workers, NULL, NULL, store->doorbell, error);
    if (status != GORDIAN_OK) {
        store->doubtful = true; /* leave it as it was found */
        store_close(store);
        return status;
    }
    *out = store;
    return GORDIAN_OK;
}

gordian_status store_load(struct store *store, const struct store_loader *loader, void *context,
                          gordian_error *error)
{
    return store->backend->load ? store->backend->load(store, loader, context, error) : GORDIAN_OK;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    end_thread(store);
    gordian_allocator memory = store->memory;
    questions_close(store->questions);
    questions_close(store->workers);
    incidents_close(store->reader);
    history_close(&store->history); /* the last connection: moves the log into the database */
    if (store->backend->close)
        store->backend->close(store);
    store_snapshot_drop(store);
    store_free_jobs(store, store->job);
    store_free_jobs(store, store->jobs_done);
    store_free_batches(store, store->open);
    store_free_batches(store, store->queue);
    store_free_batches(store, store->committed_first);
    store_free_batches(store, store->recycled);
    file_close(store->doorbell);
    pthread_cond_destroy(&store->wake);
    pthread_cond_destroy(&store->freed);
    pthread_mutex_destroy(&store->mutex);
    memory_free(&memory, store);
}
