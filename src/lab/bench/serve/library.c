/* The same load through the client library. */
#include "lab/bench/serve/serve.h"

#include "foundation/base/error.h"

#include <stdio.h>

static gordian_event next_event(struct library *library)
{
    const struct serve_load *load = library->load;
    gordian_event event = load->events[library->number++ % load->count];
    event.process = library->ids[event.process];
    event.resource = library->ids[load->process_count + event.resource];
    return event;
}

static void check(void *context, const gordian_reply *reply)
{
    struct library *library = context;
    const gordian_result *expected =
        &library->load->expected[library->taken++ % library->load->count];
    library->wrong += reply->status != GORDIAN_OK || reply->outcome != expected->outcome ||
                      reply->served_count != expected->served_count;
}

static gordian_status say_wrong(const struct library *library, gordian_error *error)
{
    return library->wrong
               ? fail(error, GORDIAN_STATUS_INPUT, "%llu of the service's answers are wrong",
                      (unsigned long long)library->wrong)
               : GORDIAN_OK;
}

gordian_status library_run(void *context, double *ns, gordian_error *error)
{
    struct library *library = context;
    gordian_status status = GORDIAN_OK;
    uint64_t start = clock_ns();
    for (size_t i = 0; i < library->operations && status == GORDIAN_OK; i++) {
        gordian_event event = next_event(library);
        status = gordian_client_send(library->client, &event, check, library, error);
    }
    THEN(status, gordian_client_drain(library->client, GORDIAN_FOREVER, error));
    *ns = (double)(clock_ns() - start) / (double)library->operations;
    return status == GORDIAN_OK ? say_wrong(library, error) : status;
}

gordian_status library_single(struct library *library, gordian_error *error)
{
    gordian_event event = next_event(library);
    gordian_reply reply = {0};
    TRY(gordian_client_event(library->client, &event, &reply, error));
    check(library, &reply);
    return say_wrong(library, error);
}

static gordian_status declare_by_library(struct library *library, gordian_allocator *memory,
                                         gordian_error *error)
{
    const struct serve_load *load = library->load;
    size_t count = load->process_count + load->resource_count;
    gordian_declaration *list = memory_zeroed(memory, count * sizeof *list);
    char(*names)[32] = memory_zeroed(memory, count * sizeof *names);
    library->ids = memory_alloc(memory, count * sizeof *library->ids);
    gordian_status status = list && names && library->ids ? GORDIAN_OK : fail_memory(error);
    for (size_t i = 0; i < count && status == GORDIAN_OK; i++) {
        bool resource = i >= load->process_count;
        snprintf(names[i], sizeof names[i], "library-%zu", i);
        list[i] = (gordian_declaration){
            .name = names[i], .is_resource = resource, .units = resource ? 1 : 0};
    }
    THEN(status, gordian_client_declare(library->client, list, count, library->ids, error));
    memory_free_all(memory, list, names);
    return status;
}

gordian_status library_open(struct library *library, struct bench *bench, const char *uri,
                            const gordian_client_options *options, const struct serve_load *load,
                            gordian_error *error)
{
    *library = (struct library){.load = load, .operations = bench->options->quick ? 50000 : 400000};
    TRY(gordian_client_open(&library->client, uri, options, error));
    return declare_by_library(library, &bench->memory, error);
}

void library_close(struct library *library, struct bench *bench)
{
    gordian_client_close(library->client);
    memory_free(&bench->memory, library->ids);
    *library = (struct library){0};
}

gordian_status library_stream(struct library *library, struct bench *bench)
{
    struct bench_side stream = {.context = library, .run = library_run};
    struct bench_effort effort = {1, 3, 15, bench->options->quick ? 1 : 5};
    bench_progress(bench, "serve: the client library");
    TRY(bench_measure(bench, &stream, 1, effort));
    struct bench_row row = bench_row("/s", "serve/library/stream");
    row.value = 1e9 / stream.median;
    row.p99 = 1e9 / stream.p99;
    return bench_add(bench, &row);
}
