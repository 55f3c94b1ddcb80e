/* Lists: systems, incidents, rates. */
#include "service/serve/http/api.h"

#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/memory.h"

#include <assert.h>
#include <string.h>

#define INCIDENTS     50
#define INCIDENTS_MAX 500
#define RATE_POINTS   720
#define AT_ONCE       50 /* points: a thread writes longer lists */

/* ------------------------------------------------------------------ systems */

/* `label`: the label queried, if the system has it. */
static void write_listed_system(struct api_call *call, struct json *json,
                                const struct served *served, uint32_t label)
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
    if (label != GORDIAN_NONE) {
        json_open(json, "labelled", '{');
        json_key_u64(json, "processes", tags_users(&served->tags, TAGS_PROCESS, label));
        json_key_u64(json, "resources", tags_users(&served->tags, TAGS_RESOURCE, label));
        json_shut(json);
    }
    json_shut(json);
}

int api_systems(struct api_call *call)
{
    const struct service *service = call->api->service;
    const char *label = api_label(call);
    struct json json;
    json_begin(&json, &call->out);
    json_open(&json, "systems", '[');
    for (uint32_t i = 0; i < service->system_limit; i++) {
        const struct served *served = service->systems[i];
        if (!served || !auth_fits(call->grant.systems, served->name))
            continue;
        uint32_t tag = *label ? tags_find(&served->tags, label) : GORDIAN_NONE;
        if (!*label || tag != GORDIAN_NONE)
            write_listed_system(call, &json, served, tag);
    }
    json_shut(&json);
    json_key_text(&json, "version", gordian_version());
    json_end(&json);
    return 200;
}

/* ------------------------------------------------------------------ incidents */

/* Returns the value of a key, or NULL if it is absent or empty. */
static const char *query_text(const struct api_call *call, const char *key)
{
    const char *text = http_query(call->request, key);
    return text && *text ? text : NULL;
}

static bool read_filter(const struct api_call *call, struct incidents_filter *filter)
{
    uint64_t limit;
    *filter = (struct incidents_filter){
        .system = query_text(call, "system"),
        .process = query_text(call, "process"),
        .label = query_text(call, "label"),
        .systems = call->grant.systems,
        .open = api_flag(call, "open"),
        .ended = api_flag(call, "ended"),
    };
    bool fine = api_number(call, "since", 0, INT64_MAX, &filter->since) &&
                api_number(call, "until", 0, INT64_MAX, &filter->until) &&
                api_number(call, "before", 0, INT64_MAX, &filter->before) &&
                api_number(call, "at", 0, INT64_MAX, &filter->stood) &&
                api_number(call, "limit", INCIDENTS, INCIDENTS_MAX, &limit);
    filter->limit = fine ? (uint32_t)limit : 0;
    return fine;
}

static int ask_history(struct api_call *call, const struct incidents_filter *filter, uint64_t id)
{
    struct api_deferred *later = api_deferred_new(call, 404, "there is no such incident");
    if (!later)
        return api_fail(call, 503, "out of memory");
    return api_deferred_begin(
        call, later,
        questions_ask(store_questions(call->api->store), filter, id, api_deferred_answer, later));
}

static int ask_list(struct api_call *call, bool actions)
{
    struct incidents_filter filter;
    if (!read_filter(call, &filter))
        return api_fail(call, 400, "'since', 'until', 'before' and 'limit' are numbers");
    filter.actions = actions;
    return ask_history(call, &filter, 0);
}

int api_incidents(struct api_call *call)
{
    return ask_list(call, false);
}

int api_audit(struct api_call *call)
{
    return ask_list(call, true);
}

int api_incident(struct api_call *call, const char *id)
{
    uint64_t number;
    const char *why;
    if (!parse_u64(id, strlen(id), &number, &why) || number > INT64_MAX)
        return api_fail(call, 404, "'%.40s' is not the number of an incident", id);
    if (number == 0)
        return api_fail(call, 404, "incident numbers start at 1");
    const struct incidents_filter filter = {.systems = call->grant.systems};
    return ask_history(call, &filter, number);
}

/* ------------------------------------------------------------------ rates */

/* Copied from the rings; a thread writes long lists. */
struct rate_points {
    uint64_t interval_ms;
    size_t count;
    struct rate list[RATE_POINTS];
};

static_assert(RATE_POINTS >= RATES_SECONDS, "'seconds' is out of range");

/* With many minutes, each point combines several. */
static void copy_minutes(struct rate_points *points, const struct rates_minutes *minutes,
                         uint64_t past)
{
    uint64_t step = (past + RATE_POINTS - 1) / RATE_POINTS, next = minutes ? minutes->next : 0;
    points->interval_ms = 60000 * step;
    for (uint64_t i = next > past ? next - past : 0; minutes && minutes->list && i < next;) {
        struct rate *sum = &points->list[points->count++];
        *sum = (struct rate){0};
        for (uint64_t end = i + step; i < end && i < next; i++)
            rate_add(sum, &minutes->list[i % RATES_MINUTES]);
    }
}

static gordian_status write_points(void *job, struct output *out, gordian_error *error)
{
    const struct rate_points *points = job;
    struct json json;
    json_begin(&json, out);
    json_key_u64(&json, "interval_ms", points->interval_ms);
    json_open(&json, "rates", '[');
    for (size_t i = 0; i < points->count; i++) {
        json_open(&json, NULL, '{');
        rate_json(&json, &points->list[i]);
        json_shut(&json);
    }
    json_shut(&json);
    json_end(&json);
    return out->failure ? fail_memory(error) : GORDIAN_OK;
}

static void drop_points(void *job)
{
    gordian_allocator memory = memory_allocator(NULL);
    memory_free(&memory, job);
}

/* Takes the points over. */
static int answer_points(struct api_call *call, struct rate_points *points)
{
    gordian_error error = {0};
    int status = 200;
    if (points->count > AT_ONCE &&
        api_write_in_thread(call, &(struct question_work){write_points, drop_points, points},
                            &status))
        return status;
    if (write_points(points, &call->out, &error) != GORDIAN_OK)
        status = api_broken(call, &error);
    drop_points(points);
    return status;
}

int api_rates(struct api_call *call)
{
    const struct rates *rates = &call->api->rates;
    const struct rate *seconds = rates->seconds;
    const struct rates_minutes *minutes = &rates->minutes;
    const char *name = http_query(call->request, "system");
    gordian_allocator memory = memory_allocator(NULL);
    uint64_t wanted, past;
    if (!api_number(call, "seconds", RATES_SECONDS, RATES_SECONDS, &wanted) ||
        !api_number(call, "minutes", 0, RATES_MINUTES, &past))
        return api_fail(call, 400, "'seconds' and 'minutes' are numbers");
    if (name && *name) {
        const struct served *served = api_system(call, name);
        const struct rates_system *system = served ? rates_of(rates, served) : NULL;
        if (!served)
            return api_fail(call, 404, "there is no system '%.100s'", name);
        seconds = system ? system->seconds : NULL;
        minutes = system ? &system->minutes : NULL;
    }
    struct rate_points *points = memory_alloc(&memory, sizeof *points);
    if (!points)
        return api_fail(call, 503, "out of memory");
    points->count = 0;
    points->interval_ms = 1000;
    if (past)
        copy_minutes(points, minutes, past);
    uint64_t end = rates->next;
    for (uint64_t i = end > wanted ? end - wanted : 0; i < end && seconds && !past; i++)
        if (seconds[i % RATES_SECONDS].at)
            points->list[points->count++] = seconds[i % RATES_SECONDS];
    return answer_points(call, points);
}
