/* Lists: systems, incidents, rates. */
#include "serve/http/api.h"

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

int api_incidents(struct api_call *call)
{
    struct incidents_filter filter;
    struct json json;
    gordian_error error;
    struct incidents_db *db = store_incidents(call->api->store);
    if (!db)
        return api_fail(call, 503, "the history of incidents cannot be read now");
    if (!read_filter(call, &filter))
        return api_fail(call, 400, "'since', 'until', 'before' and 'limit' are numbers");
    json_begin(&json, &call->out);
    if (incidents_page(db, &filter, &json, &error) != GORDIAN_OK)
        return api_broken(call, &error);
    json_end(&json);
    return 200;
}

static gordian_status write_one(void *context, const struct incident *incident)
{
    incident_json(context, incident);
    return GORDIAN_OK;
}

int api_incident(struct api_call *call, const char *id)
{
    uint64_t number;
    const char *why;
    gordian_error error;
    struct json json;
    struct incidents_db *db = store_incidents(call->api->store);
    if (!parse_u64(id, strlen(id), &number, &why) || number > INT64_MAX)
        return api_fail(call, 404, "incidents have numbers: '%.40s' is none", id);
    if (!db)
        return api_fail(call, 503, "the history of incidents cannot be read now");
    json_begin(&json, &call->out);
    gordian_status status = incidents_get(db, number, write_one, &json, &error);
    if (status == GORDIAN_STATUS_END)
        return api_fail(call, 404, "there is no incident %llu", (unsigned long long)number);
    if (status != GORDIAN_OK)
        return api_broken(call, &error);
    json_end(&json);
    return 200;
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
