/* Point-in-time query and cluster: responses that need the store. A thread prepares them one after
 * the other (questions_run of the store's workers). It keeps a service in the state of the last
 * query, so that a later moment needs only the records in between. */
#include "service/serve/http/api.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "service/serve/core/point_in_time.h"

#include <stdio.h>
#include <string.h>

#define ASKED_MAX 8 /* maximum queued */

/* Shared with the thread; the last user frees it. */
struct past_queries {
    struct past *past; /* used by the thread */
    atomic_bool stop;
    atomic_uint users;
};

struct job {
    struct past_queries *desk;
    struct graph_ask ask;
    char system[GORDIAN_NAME_MAX + 1], around[GORDIAN_NAME_MAX + 1], only[16];
    char label[GORDIAN_NAME_MAX + 1];
    uint64_t now;
    uint64_t opened; /* past: time of the first system */
    uint64_t fence;  /* cluster: fencing token of the newest event */
    bool leads, shared;
    char leader[STORE_ADDRESS], address[STORE_ADDRESS];
};

static void release_past_queries(struct past_queries *desk)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (!desk || atomic_fetch_sub(&desk->users, 1) > 1)
        return;
    point_in_time_close(desk->past);
    memory_free(&memory, desk);
}

void api_past_close(struct api *api)
{
    if (api->past)
        atomic_store(&api->past->stop, true);
    release_past_queries(api->past);
    api->past = NULL;
}

static gordian_status open_past_queries(struct api *api, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct store_options source;
    if (api->past)
        return GORDIAN_OK;
    if (!store_past_source(api->store, &source))
        return fail(error, GORDIAN_STATUS_END,
                    "no history is kept: point-in-time queries need --data or --store");
    struct past_queries *desk = memory_zeroed(&memory, sizeof *desk);
    if (!desk)
        return fail_memory(error);
    atomic_init(&desk->users, 1);
    gordian_status status = point_in_time_open(&desk->past, &source, &desk->stop, error);
    if (status == GORDIAN_OK)
        api->past = desk;
    else
        release_past_queries(desk);
    return status;
}

static void drop_job(void *context)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct job *job = context;
    release_past_queries(job->desk);
    memory_free(&memory, job);
}

static int run_job(struct api_call *call, struct job *job,
                   gordian_status (*work)(void *, struct output *, gordian_error *))
{
    const struct question_work what = {work, drop_job, job};
    struct api_deferred *later = api_deferred_new(call, 410, NULL);
    if (!later) {
        drop_job(job);
        return api_fail(call, 503, "out of memory");
    }
    struct question *question = questions_run(store_workers(call->api->store), &what, ASKED_MAX,
                                              api_deferred_answer, later);
    if (!question)
        drop_job(job);
    return api_deferred_begin(call, later, question);
}

/* Makes a job for the thread. NULL: *status has the error. */
static struct job *begin_job(struct api_call *call, int *status)
{
    gordian_allocator memory = memory_allocator(NULL);
    gordian_error error = {0};
    gordian_status opened = open_past_queries(call->api, &error);
    struct job *job = opened == GORDIAN_OK ? memory_zeroed(&memory, sizeof *job) : NULL;
    if (job) {
        job->desk = call->api->past;
        job->now = service_now(call->api->service);
        atomic_fetch_add(&job->desk->users, 1);
    } else {
        *status = opened == GORDIAN_STATUS_END ? api_fail(call, 410, "%.200s", error.message)
                                               : api_fail(call, 503, "out of memory");
    }
    return job;
}

/* ------------------------------------------------------------------ graph of the past */

static gordian_status write_past(struct job *job, struct service *service, struct served *served,
                                 struct output *out, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct graph_ask ask = job->ask;
    char message[GRAPH_MESSAGE] = "";
    uint32_t examined = 0;
    struct json json;
    uint64_t *dead = served_deadlocked_bits(served, &ask.dead_words);
    if (!dead)
        return fail_memory(error);
    ask.service = service;
    ask.system = served;
    ask.dead = dead;
    ask.examined = &examined;
    json_begin(&json, out);
    int status = graph_write(&ask, &json, message);
    json_key_u64(&json, "at", job->ask.at);
    json_end(&json);
    memory_free(&memory, dead);
    if (status == 200)
        return GORDIAN_OK;
    return fail(error, status == 503 ? GORDIAN_STATUS_MEMORY : GORDIAN_STATUS_INPUT, "%.200s",
                message);
}

static gordian_status answer_past_graph(void *context, struct output *out, gordian_error *error)
{
    struct job *job = context;
    struct service *service;
    TRY(point_in_time_seek(job->desk->past, job->ask.at, &service, error));
    struct served *served = service_find(service, job->system, strlen(job->system));
    if (!served)
        return fail(error, GORDIAN_STATUS_INPUT, "there was no system '%.100s' at that time",
                    job->system);
    return write_past(job, service, served, out, error);
}

static const char *keep_text(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text ? text : "");
    return to;
}

int api_past_graph(struct api_call *call, const struct graph_ask *ask)
{
    int status = 503;
    struct job *job = begin_job(call, &status);
    if (!job)
        return status;
    job->ask = *ask;
    job->ask.around = keep_text(job->around, sizeof job->around, ask->around);
    job->ask.only = keep_text(job->only, sizeof job->only, ask->only);
    job->ask.label = keep_text(job->label, sizeof job->label, ask->label);
    keep_text(job->system, sizeof job->system, call->system->name);
    return run_job(call, job, answer_past_graph);
}

/* ------------------------------------------------------------------ earliest moment */

static gordian_status answer_past(void *context, struct output *out, gordian_error *error)
{
    const struct job *job = context;
    struct json json;
    uint64_t at;
    gordian_status status = store_past_begins(point_in_time_source(job->desk->past), &at, error);
    json_begin(&json, out);
    json_key_u64(&json, "from", at ? at : job->opened);
    json_key_u64(&json, "until", job->now);
    json_end(&json);
    return status;
}

int api_past(struct api_call *call)
{
    const struct service *service = call->api->service;
    int status = 503;
    struct job *job = begin_job(call, &status);
    if (!job)
        return status;
    job->opened = job->now;
    for (uint32_t i = 0; i < service->system_limit; i++)
        if (service->systems[i] && service->systems[i]->opened < job->opened)
            job->opened = service->systems[i]->opened;
    return run_job(call, job, answer_past);
}

/* ------------------------------------------------------------------ cluster */

static void write_cluster_server(void *context, const char *address, bool leads, uint64_t since)
{
    struct json *json = context;
    json_open(json, NULL, '{');
    json_key_text(json, "address", address);
    json_key_bool(json, "leads", leads);
    json_key_u64(json, "since", since);
    json_shut(json);
}

static void write_cluster(struct json *json, const struct job *job)
{
    json_key_bool(json, "shared", job->shared);
    json_key_bool(json, "leads", job->leads);
    json_key_text(json, "address", job->address);
    json_key_text(json, "leader", job->leader);
    json_key_u64(json, "fence", job->fence);
}

/* Writes the servers known without the database: the leader and this one. */
static void write_known(struct json *json, const struct job *job)
{
    const char *known[] = {job->leads ? job->address : job->leader, job->address};
    for (size_t i = job->leads ? 1 : 0; i < 2; i++) {
        if (!known[i][0])
            continue;
        json_open(json, NULL, '{');
        json_key_text(json, "address", known[i]);
        json_key_bool(json, "leads", job->leads || i == 0);
        json_key_null(json, "since");
        json_shut(json);
    }
}

/* The database may refuse new connections while existing ones work: then it answers what is known.
 */
static gordian_status answer_cluster(void *context, struct output *out, gordian_error *error)
{
    const struct job *job = context;
    struct json json;
    uint64_t epoch = 0;
    json_begin(&json, out);
    write_cluster(&json, job);
    json_open(&json, "servers", '[');
    gordian_status status = store_servers(point_in_time_source(job->desk->past), &epoch,
                                          write_cluster_server, &json, error);
    bool partial = status == GORDIAN_STATUS_IO;
    if (partial)
        write_known(&json, job);
    json_shut(&json);
    if (partial) {
        json_key_null(&json, "epoch");
        json_key_text(&json, "error", error->message);
    } else {
        json_key_u64(&json, "epoch", epoch);
    }
    json_end(&json);
    return partial ? GORDIAN_OK : status;
}

static void copy_role(struct job *job, const struct api *api)
{
    job->shared = store_is_shared(api->store);
    job->leads = store_is_sure_leader(api->store);
    job->fence = api->service->fence;
    bool doubtful = !job->leads && store_role(api->store) == STORE_LEADER;
    keep_text(job->leader, sizeof job->leader, doubtful ? "" : store_leader(api->store));
    keep_text(job->address, sizeof job->address, api->address);
}

int api_cluster(struct api_call *call)
{
    int status = 503;
    struct job alone = {0};
    struct json json;
    copy_role(&alone, call->api);
    if (!alone.shared) {
        json_begin(&json, &call->out);
        write_cluster(&json, &alone);
        json_end(&json);
        return 200;
    }
    struct job *job = begin_job(call, &status);
    if (!job)
        return status;
    copy_role(job, call->api);
    return run_job(call, job, answer_cluster);
}
