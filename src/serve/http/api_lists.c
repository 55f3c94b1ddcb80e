/* Lists: systems, incidents, rates. */
#include "serve/http/api.h"

#include "base/memory.h"
#include "base/reader.h"

#include <string.h>

#define INCIDENTS     50
#define INCIDENTS_MAX 500

/* ------------------------------------------------------------------ systems */

static void write_system(struct api_call *call, struct json *json, const struct served *served)
{
    char note[256];
    const char *said = served_note(served, note, sizeof note);
    const uint64_t *dead;
    size_t words;
    json_open(json, NULL, '{');
    json_key_text(json, "name", served->name);
    json_key_text(json, "kind", served->operations->kind);
    json_key_text(json, "engine", served_engine_name(served));
    if (said && *said)
        json_key_text(json, "note", said);
    else
        json_key_null(json, "note");
    json_key_u64(json, "processes", served->process_count);
    json_key_u64(json, "resources", served->resource_count);
    json_key_u64(json, "waiting", served->waiting);
    json_key_u64(json, "deadlocked", rates_dead(&call->api->rates, served, &dead, &words));
    json_key_u64(json, "events", served->seq);
    json_key_u64(json, "incidents", served->counters.incidents);
    json_key_u64(json, "open_incidents", served->incident_count);
    json_key_u64(json, "opened", served->opened);
    json_shut(json);
}

int api_systems(struct api_call *call)
{
    const struct service *service = call->api->service;
    struct json json;
    json_begin(&json, &call->out);
    json_open(&json, "systems", '[');
    for (uint32_t i = 0; i < service->system_limit; i++)
        if (service->systems[i])
            write_system(call, &json, service->systems[i]);
    json_shut(&json);
    json_key_text(&json, "version", gordian_version());
    json_end(&json);
    return 200;
}

/* ------------------------------------------------------------------ incidents */

static bool read_filter(const struct api_call *call, struct incidents_filter *filter)
{
    uint64_t limit;
    *filter = (struct incidents_filter){
        .system = http_query(call->request, "system"),
        .process = http_query(call->request, "process"),
        .open = api_flag(call, "open"),
        .ended = api_flag(call, "ended"),
    };
    if (filter->system && !*filter->system)
        filter->system = NULL;
    if (filter->process && !*filter->process)
        filter->process = NULL;
    bool fine = api_number(call, "since", 0, INT64_MAX, &filter->since) &&
                api_number(call, "until", 0, INT64_MAX, &filter->until) &&
                api_number(call, "before", 0, INT64_MAX, &filter->before) &&
                api_number(call, "limit", INCIDENTS, INCIDENTS_MAX, &limit);
    filter->limit = fine ? (uint32_t)limit : 0;
    return fine;
}

/* A question about the history, whose answer is waited for. */
struct later {
    struct api *api;
    struct http_connection *connection;
    struct question *question;
};

/* The answer, as a status. */
static int take_answer(struct api_call *call, struct question *question)
{
    gordian_error error;
    struct output answer;
    switch (question_answer(question, &answer, &error)) {
    case GORDIAN_OK:
        output_close(&call->out);
        call->out = answer;
        return 200;
    case GORDIAN_STATUS_END:
        return api_fail(call, 404, "there is no such incident");
    default:
        return api_broken(call, &error);
    }
}

static void drop_later(struct later *later)
{
    gordian_allocator memory = memory_allocator(NULL);
    question_forget(later->question);
    memory_free(&memory, later);
}

static void on_gone(void *context)
{
    drop_later(context);
}

static void on_answer(void *context)
{
    struct later *later = context;
    struct http_connection *connection = later->connection;
    struct api_call call = {.api = later->api, .connection = connection, .out = {.fd = -1}};
    api_reply(&call, take_answer(&call, later->question));
    drop_later(later);
    http_go_on(connection);
}

static int ask_history(struct api_call *call, const struct incidents_filter *filter, uint64_t id)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct later *later = memory_alloc(&memory, sizeof *later);
    if (!later)
        return api_fail(call, 503, "out of memory");
    *later = (struct later){.api = call->api, .connection = call->connection};
    later->question =
        questions_ask(store_questions(call->api->store), filter, id, on_answer, later);
    int status = API_LATER;
    if (!later->question)
        status = api_fail(call, 503, "%d questions about incidents are being answered already",
                          QUESTIONS_MAX);
    else if (question_is_answered(later->question))
        status = take_answer(call, later->question);
    if (status == API_LATER)
        http_wait(call->connection, on_gone, later);
    else
        drop_later(later);
    return status;
}

int api_incidents(struct api_call *call)
{
    struct incidents_filter filter;
    if (!read_filter(call, &filter))
        return api_fail(call, 400, "'since', 'until', 'before' and 'limit' are numbers");
    return ask_history(call, &filter, 0);
}

int api_incident(struct api_call *call, const char *id)
{
    uint64_t number;
    const char *why;
    if (!parse_u64(id, strlen(id), &number, &why) || number > INT64_MAX)
        return api_fail(call, 404, "incidents have numbers: '%.40s' is none", id);
    if (number == 0)
        return api_fail(call, 404, "incidents are numbered from 1 on");
    return ask_history(call, NULL, number);
}

/* ------------------------------------------------------------------ rates */

int api_rates(struct api_call *call)
{
    const struct rates *rates = &call->api->rates;
    const struct rate *seconds = rates->seconds;
    const char *name = http_query(call->request, "system");
    uint64_t wanted;
    if (!api_number(call, "seconds", RATES_SECONDS, RATES_SECONDS, &wanted))
        return api_fail(call, 400, "'seconds' is not a number");
    if (name && *name) {
        const struct served *served = service_find(call->api->service, name, strlen(name));
        const struct rates_system *system = served ? rates_of(rates, served) : NULL;
        if (!served)
            return api_fail(call, 404, "there is no system '%.100s'", name);
        seconds = system ? system->seconds : NULL;
    }
    struct json json;
    json_begin(&json, &call->out);
    json_key_u64(&json, "interval_ms", 1000);
    json_open(&json, "rates", '[');
    uint64_t first = rates->next > wanted ? rates->next - wanted : 0;
    for (uint64_t i = first; i < rates->next && seconds; i++) {
        const struct rate *rate = &seconds[i % RATES_SECONDS];
        if (!rate->at)
            continue;
        json_open(&json, NULL, '{');
        rate_json(&json, rate);
        json_shut(&json);
    }
    json_shut(&json);
    json_end(&json);
    return 200;
}
