/* Answers a point-in-time query: loads the newest snapshot before a moment, and the journal from
 * there to that moment. Files are only read. They may be deleted meanwhile; then that moment is no
 * longer kept. */
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "service/serve/store/files.h"
#include "service/serve/store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* ---- loading up to a moment */

struct bounded_loader {
    const struct store_loader *loader;
    void *context;
    uint64_t at; /* ignore later records */
};

static gordian_status load_section_until(void *context, const char *name, const void *bytes,
                                         size_t length, gordian_error *error)
{
    const struct bounded_loader *bounded_loader = context;
    return bounded_loader->loader->section(bounded_loader->context, name, bytes, length, error);
}

static gordian_status load_record_until(void *context, uint64_t number, uint64_t at,
                                        const void *bytes, size_t length, gordian_error *error)
{
    const struct bounded_loader *bounded_loader = context;
    if (at > bounded_loader->at)
        return STORE_ENOUGH;
    return bounded_loader->loader->record(bounded_loader->context, number, at, bytes, length,
                                          error);
}

static gordian_status fail_gone(const struct store_options *options,
                                const struct store_backend *backend, gordian_error *error)
{
    char text[40] = "";
    uint64_t begins = 0;
    gordian_error trouble = {0};
    struct tm parts;
    if (backend->begins(options, &begins, &trouble) == GORDIAN_OK) {
        time_t seconds = (time_t)((begins + 999) / 1000);
        if (gmtime_r(&seconds, &parts))
            strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
    }
    fail(error, GORDIAN_STATUS_END,
         "that time is before the start of the history, %s (UTC): use --keep-history of gordian "
         "serve to keep more",
         *text ? text : "no moment");
    return GORDIAN_STATUS_END;
}

static const struct store_backend *backend_of(const struct store_options *options)
{
    return options->postgres ? &backend_postgres : &backend_files;
}

gordian_status store_load_past(const struct store_options *options, uint64_t at, uint64_t after,
                               const struct store_loader *loader, void *context,
                               gordian_error *error)
{
    static const struct store_loader checked = {load_section_until, load_record_until};
    const struct store_backend *backend = backend_of(options);
    struct bounded_loader bounded_loader = {.loader = loader, .context = context, .at = at};
    if (!backend->past)
        return backend->open(NULL, NULL, error); /* fails with the reason */
    gordian_status status = backend->past(options, at, after, &checked, &bounded_loader, error);
    if (status == STORE_ENOUGH)
        return GORDIAN_OK;
    return status == GORDIAN_STATUS_END ? fail_gone(options, backend, error) : status;
}

gordian_status store_past_begins(const struct store_options *options, uint64_t *at,
                                 gordian_error *error)
{
    const struct store_backend *backend = backend_of(options);
    *at = 0;
    return backend->begins ? backend->begins(options, at, error) : backend->open(NULL, NULL, error);
}

bool store_past_source(const struct store *store, struct store_options *options)
{
    store_options_init(options);
    options->folder = store->options.folder;
    options->postgres = store->options.postgres;
    options->schema = store->options.schema;
    return store->kept;
}

gordian_status store_servers(const struct store_options *options, uint64_t *epoch,
                             void (*each)(void *context, const char *address, bool leads,
                                          uint64_t since),
                             void *context, gordian_error *error)
{
    const struct store_backend *backend = backend_of(options);
    if (!backend->servers)
        return GORDIAN_STATUS_END;
    return backend->servers(options, epoch, each, context, error);
}

/* ---- from a folder */

struct past {
    gordian_allocator memory;
    int folder;
    struct numbers journals, snapshots;
    uint64_t last;    /* number of the record to continue behind */
    uint64_t reached; /* number of the last record loaded */
};

static void close_past(struct past *past)
{
    memory_free_all(&past->memory, past->journals.items, past->snapshots.items);
    file_close(past->folder);
}

static gordian_status open_past(struct past *past, const char *path, gordian_error *error)
{
    *past = (struct past){.memory = memory_allocator(NULL)};
    past->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (past->folder < 0)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%.200s: %s; --data names the folder of the service", path, strerror(errno));
    gordian_status status =
        numbers_list(&past->journals, past->folder, "journal", &past->memory, error);
    THEN(status, numbers_list(&past->snapshots, past->folder, "snapshot", &past->memory, error));
    return status;
}

/* GORDIAN_STATUS_END: no snapshot, and the journal does not start at its first record. */
static gordian_status load_snapshot(struct past *past, uint64_t at,
                                    const struct store_loader *loader, void *context,
                                    gordian_error *error)
{
    for (size_t i = past->snapshots.count; i > 0; i--) {
        uint64_t number = past->snapshots.items[i - 1], taken;
        struct bytes image;
        bool good = snapshot_time(past->folder, number, &taken) && taken <= at;
        if (!good)
            continue;
        bytes_init(&image, &past->memory);
        gordian_status status = snapshot_read(past->folder, number, &image, &good, error);
        if (status == GORDIAN_OK && good)
            status = sections_load(&image, SNAPSHOT_HEAD, loader, context, error);
        bytes_free(&image);
        if (good) {
            past->last = number;
            return status;
        }
    }
    return past->journals.count > 0 && past->journals.items[0] == 1 ? GORDIAN_OK
                                                                    : GORDIAN_STATUS_END;
}

static gordian_status load_batch(struct past *past, const struct batch *batch,
                                 const struct store_loader *loader, void *context,
                                 gordian_error *error)
{
    if (batch->count > 0 && batch->first > past->reached + 1)
        return GORDIAN_STATUS_END;
    if (batch->count > 0 && batch->first + batch->count - 1 > past->reached)
        past->reached = batch->first + batch->count - 1;
    return batch_load(batch, past->last, loader, context, error);
}

/* GORDIAN_STATUS_END: the file is gone, or does not continue the one before it. */
static gordian_status load_journal_file(struct past *past, uint64_t first,
                                        const struct store_loader *loader, void *context,
                                        gordian_error *error)
{
    char name[JOURNAL_NAME];
    struct journal_file file;
    struct batch batch;
    file_name(name, sizeof name, "journal", first);
    gordian_status status = journal_read(&file, past->folder, name, first, &past->memory, error);
    if (status == GORDIAN_STATUS_IO || (status == GORDIAN_OK && file.at == 0))
        status = GORDIAN_STATUS_END;
    while (status == GORDIAN_OK && journal_next(&file, &batch) == JOURNAL_MORE)
        status = load_batch(past, &batch, loader, context, error);
    bytes_free(&file.bytes);
    return status;
}

gordian_status past_of_files(const struct store_options *options, uint64_t at, uint64_t after,
                             const struct store_loader *loader, void *context, gordian_error *error)
{
    struct past past;
    gordian_status status = open_past(&past, options->folder, error);
    past.last = after;
    THEN(status, after ? GORDIAN_OK : load_snapshot(&past, at, loader, context, error));
    past.reached = past.last;
    for (size_t i = 0; i < past.journals.count && status == GORDIAN_OK; i++) {
        bool last = i + 1 == past.journals.count;
        if (last || past.journals.items[i + 1] > past.last + 1)
            status = load_journal_file(&past, past.journals.items[i], loader, context, error);
    }
    close_past(&past);
    return status;
}

gordian_status past_begins_in_files(const struct store_options *options, uint64_t *at,
                                    gordian_error *error)
{
    struct past past;
    uint64_t frame;
    gordian_status status = open_past(&past, options->folder, error);
    bool first = past.journals.count > 0 && past.journals.items[0] == 1;
    bool good = first && journal_begins(past.folder, 1, &frame, at);
    if (!good && past.snapshots.count > 0)
        snapshot_time(past.folder, past.snapshots.items[0], at);
    close_past(&past);
    return status;
}
