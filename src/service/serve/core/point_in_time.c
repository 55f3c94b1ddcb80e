/* Point-in-time query: replays a snapshot and the journal up to a moment. */
#include "service/serve/core/point_in_time.h"

#include "foundation/base/bits.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

struct past {
    gordian_allocator memory;
    struct store_options source;
    char *texts[3]; /* the copied texts of `source` */
    const atomic_bool *stop;
    struct service *service; /* NULL: at no time */
    uint64_t at;             /* the time of the state, ms since 1970 */
    uint64_t last;           /* the last record replayed; 0: none */
};

static gordian_status load_section(void *context, const char *name, const void *bytes,
                                   size_t length, gordian_error *error)
{
    struct past *past = context;
    return service_load_section(past->service, name, bytes, length, error);
}

static gordian_status load_record(void *context, uint64_t number, uint64_t at, const void *bytes,
                                  size_t length, gordian_error *error)
{
    struct past *past = context;
    if (past->stop && atomic_load_explicit(past->stop, memory_order_relaxed))
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "the service is shutting down");
    past->last = number;
    return service_replay(past->service, number, at, bytes, length, error);
}

static const struct store_loader loader = {load_section, load_record};

gordian_status point_in_time_open(struct past **out, const struct store_options *source,
                                  const atomic_bool *stop, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct past *past = memory_zeroed(&memory, sizeof *past);
    *out = NULL;
    if (!past)
        return fail_memory(error);
    past->memory = memory;
    past->stop = stop;
    store_options_init(&past->source);
    past->source.folder = past->texts[0] = memory_copy_text(&memory, source->folder);
    past->source.postgres = past->texts[1] = memory_copy_text(&memory, source->postgres);
    past->source.schema = past->texts[2] = memory_copy_text(&memory, source->schema);
    if ((source->folder && !past->texts[0]) || (source->postgres && !past->texts[1]) ||
        (source->schema && !past->texts[2])) {
        point_in_time_close(past);
        return fail_memory(error);
    }
    *out = past;
    return GORDIAN_OK;
}

static void close_moment(struct past *past)
{
    service_free(past->service);
    past->service = NULL;
    past->at = past->last = 0;
}

void point_in_time_close(struct past *past)
{
    if (!past)
        return;
    gordian_allocator memory = past->memory;
    close_moment(past);
    if (past->texts[1])
        memset(past->texts[1], 0, strlen(past->texts[1])); /* it may contain a password */
    memory_free_all(&memory, past->texts[0], past->texts[1], past->texts[2], past);
}

const struct store_options *point_in_time_source(const struct past *past)
{
    return &past->source;
}

gordian_status point_in_time_seek(struct past *past, uint64_t at, struct service **service,
                                  gordian_error *error)
{
    gordian_status status = GORDIAN_STATUS_END;
    *service = NULL;
    if (past->service && past->last && at >= past->at)
        status = at == past->at
                     ? GORDIAN_OK
                     : store_load_past(&past->source, at, past->last, &loader, past, error);
    if (status == GORDIAN_STATUS_END) { /* also if records in between are missing */
        struct service_options options;
        service_options_init(&options);
        close_moment(past);
        status = service_new(&past->service, &options, error);
        THEN(status, store_load_past(&past->source, at, 0, &loader, past, error));
    }
    if (status != GORDIAN_OK) {
        close_moment(past);
        return status;
    }
    past->at = at;
    *service = past->service;
    return GORDIAN_OK;
}

uint64_t *served_deadlocked_bits(struct served *served, size_t *words)
{
    gordian_allocator memory = memory_allocator(NULL);
    const uint32_t *dead = NULL;
    size_t count = 0;
    *words = bits_words(served_process_limit(served)) + 1;
    uint64_t *set = memory_zeroed(&memory, *words * sizeof *set);
    if (set && served->system && gordian_deadlocked(served->system, &dead, &count, NULL)) {
        memory_free(&memory, set);
        return NULL;
    }
    for (size_t i = 0; set && i < count; i++)
        bits_set(set, dead[i]);
    return set;
}
