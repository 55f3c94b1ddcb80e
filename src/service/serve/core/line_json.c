/* Answers in text form: JSON, as `gordian detect` and `gordian avoid` print it. */
#include "engines/detect/system.h"
#include "service/serve/core/service_internal.h"

#include <string.h>

#define STUCK_MANY  2048 /* with more waiting processes, not all are listed */
#define STUCK_NAMED 1000
#define NAMED       100000 /* deadlocked processes in the state of a system */

/* ------------------------------------------------------------------ events */

void line_event_begin(struct json *json, const struct served *served, gordian_op op,
                      const char *process, const struct served_result *result,
                      const uint32_t *granted)
{
    if (result->outcome < WIRE_NOT_TAKEN)
        json_key_u64(json, "seq", served->seq);
    json_key_text(json, "op", gordian_op_text(op));
    json_key_text(json, "process", process);
    json_key_text(json, "result", served_outcome_text(served, result->outcome));
    if (served->operations->effects[result->outcome & 15] == EFFECT_MAY_WAIT) {
        if (result->reason & WIRE_WAITS)
            json_key_bool(json, "waits", true);
        if ((result->reason & ~WIRE_WAITS) == GORDIAN_REASON_OUT_OF_TURN)
            json_key_bool(json, "out_of_turn", true);
    }
    if (granted && result->served)
        served_processes_json(json, "granted_to", served, granted, result->served);
}

/* In a large system, lists only processes of the witness, and limits them: finding and sorting all
 * deadlocked processes would block the event loop. */
static void stuck_in_many(struct json *json, struct served *served, const gordian_event *event,
                          uint8_t outcome)
{
    struct labels labels = labels_of_system(served->system);
    struct name_list list = {0};
    gordian_witness witness = {0};
    uint32_t named[STUCK_NAMED];
    size_t count = 0;
    if (outcome == GORDIAN_OUTCOME_DEADLOCK &&
        system_explain_some(served->system, event->process, (size_t)2 * STUCK_NAMED, &witness,
                            NULL))
        witness.count = 0;
    for (size_t i = 0; i < witness.count && count < STUCK_NAMED; i++)
        if (witness.edges[i].waits)
            named[count++] = witness.edges[i].process;
    if (count == 0)
        named[count++] = event->process;
    if (name_list_sorted(&list, &labels, named, count))
        json_names(json, "deadlocked", &list);
    name_list_free(&list);
    if (witness.count > 2 * STUCK_NAMED)
        witness.count = 2 * STUCK_NAMED;
    if (witness.count > 0)
        json_witness(json, "witness", &labels, &witness);
    json_key_bool(json, "truncated", true);
}

void line_stuck(struct json *json, struct served *served, const gordian_event *event,
                uint8_t outcome)
{
    if (served->waiting > STUCK_MANY) {
        stuck_in_many(json, served, event, outcome);
        return;
    }
    struct labels labels = labels_of_system(served->system);
    struct name_list list = {0};
    const uint32_t *processes;
    size_t count;
    gordian_witness witness;
    if (!gordian_deadlocked(served->system, &processes, &count, NULL) &&
        name_list_sorted(&list, &labels, processes, count))
        json_names(json, "deadlocked", &list);
    name_list_free(&list);
    if (outcome == GORDIAN_OUTCOME_DEADLOCK &&
        !gordian_explain(served->system, event->process, &witness, NULL))
        json_witness(json, "witness", &labels, &witness);
}

void line_reasons(struct json *json, const struct served *served)
{
    char buffers[2][GORDIAN_NAME_MAX + 1];
    struct labels labels = served_labels(&(struct served_names){served, buffers});
    if (!served->answer.incomplete)
        json_reasons(json, &labels, &served->answer);
}

/* ------------------------------------------------------------------ state */

/* {"q":1,...} of a process, {"p":1,...} of a resource. */
static void write_state_side(struct json *json, const char *key, struct served *served,
                             enum served_side side, uint32_t id)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    const gordian_edge *edges;
    size_t count;
    bool of_process = side == SERVED_HELD || side == SERVED_WANTED;
    if (served_edges(served, side, id, &edges, &count, NULL))
        return;
    json_open(json, key, '{');
    for (size_t i = 0; i < count; i++) {
        if (served_is_await(served, edges[i].resource))
            continue;
        json_name_u64(json,
                      of_process ? served_resource_label(served, edges[i].resource, buffer)
                                 : served_process_label(served, edges[i].process, buffer),
                      edges[i].units);
    }
    json_shut(json);
}

/* [{"awaits":2,"of":["p",...]},...]: how many acts are needed, and the processes that can act. */
static void write_awaits(struct json *json, struct served *served, uint32_t process)
{
    const struct served_process *record = &served->processes[process];
    const gordian_want *wants = served_waits(record);
    char buffer[GORDIAN_NAME_MAX + 1];
    const gordian_edge *edges;
    size_t count;
    json_open(json, "awaits", '[');
    for (uint32_t i = 0; i < record->want_count; i++) {
        if (served_edges(served, SERVED_HOLDERS, wants[i].resource, &edges, &count, NULL))
            break;
        json_open(json, NULL, '{');
        json_key_u64(json, "awaits", wants[i].units);
        json_open(json, "of", '[');
        for (size_t j = 0; j < count; j++)
            json_text(json, served_process_label(served, edges[j].process, buffer));
        json_shut(json);
        json_shut(json);
    }
    json_shut(json);
}

/* The processes that await acts of this one. */
static void write_awaited_by(struct json *json, struct served *served, uint32_t process)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    const struct rag *graph = served->system ? system_graph(served->system) : NULL;
    struct rag_edge hold;
    if (!graph || served->system->await_count == 0)
        return;
    json_open(json, "awaited_by", '[');
    for (uint32_t ref = graph->processes[process].held; ref != NONE; ref = hold.next) {
        hold = rag_held(graph, ref);
        if (served_is_await(served, hold.resource))
            json_text(json,
                      served_process_label(
                          served,
                          rag_queued(graph, graph->resources[hold.resource].queue_head).process,
                          buffer));
    }
    json_shut(json);
}

static void write_line_process(struct json *json, struct client *client, struct served *served,
                               uint32_t process)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    const struct served_process *record = &served->processes[process];
    json_key_text(json, "process", served_process_label(served, process, buffer));
    json_key_u64(json, "id", process);
    json_key_bool(json, "waiting", record->since != 0);
    json_key_bool(json, "deadlocked", record->since && served_is_deadlocked(served, process));
    service_process_json(json, client->service, served, process);
    if (record->since)
        json_key_u64(json, "waited_ms", served_waited(record, client->service->work->now));
    write_state_side(json, "holds", served, SERVED_HELD, process);
    write_state_side(json, "waits_for", served, SERVED_WANTED, process);
    if (record->awaits)
        write_awaits(json, served, process);
    write_awaited_by(json, served, process);
}

static void write_resource(struct json *json, struct served *served, uint32_t resource)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    json_key_text(json, "resource", served_resource_label(served, resource, buffer));
    json_key_u64(json, "id", resource);
    json_key_u64(json, "units", served_units(served, resource));
    json_key_u64(json, "free", served_free_units(served, resource));
    tags_json(json, &served->tags, TAGS_RESOURCE, resource);
    write_state_side(json, "holders", served, SERVED_HOLDERS, resource);
    write_state_side(json, "waiters", served, SERVED_WAITERS, resource);
}

static void write_system(struct json *json, const struct served *served)
{
    char buffer[SERVED_CONFIG_TEXT_MAX], note[256];
    json_key_text(json, "name", served->name);
    json_key_text(json, "kind", served->operations->kind);
    json_key_text(json, "options", served_config_text(&served->config, buffer));
    json_key_text(json, "engine", served_engine_name(served));
    const char *said = served_note(served, note, sizeof note);
    if (said)
        json_key_text(json, "note", said);
    json_key_u64(json, "processes", served->process_count);
    json_key_u64(json, "resources", served->resource_count);
    json_key_u64(json, "waiting", served->waiting);
    json_key_u64(json, "events", served->seq);
    json_key_u64(json, "open_incidents", served->incident_count);
    json_key_u64(json, "incidents", served->counters.incidents);
}

/* Begins an answer about the state. While the journal cannot be written, the answer is sent at
 * once, and says that the state may be lost. */
static bool begin_state_answer(struct json *json, struct client *client)
{
    bool may_be_lost = service_is_cut_off(client->service);
    json_begin(json, &client->out);
    if (may_be_lost)
        json_key_bool(json, "kept", false);
    return may_be_lost;
}

static void write_state(struct json *json, struct client *client, struct served *served,
                        uint32_t process, uint32_t resource)
{
    const uint32_t *dead;
    size_t count;
    json_open(json, "state", '{');
    if (process != GORDIAN_NONE)
        write_line_process(json, client, served, process);
    if (resource != GORDIAN_NONE)
        write_resource(json, served, resource);
    if (process != GORDIAN_NONE || resource != GORDIAN_NONE)
        return;
    write_system(json, served);
    if (served->system && !gordian_deadlocked(served->system, &dead, &count, NULL)) {
        json_key_u64(json, "deadlocked_count", count);
        served_processes_json(json, "deadlocked", served, dead, count < NAMED ? count : NAMED);
    }
}

gordian_status line_state(struct client *client, gordian_error *error)
{
    const struct reader *reader = words_of(client);
    uint32_t process = GORDIAN_NONE, resource = GORDIAN_NONE;
    size_t start = client->out.used;
    struct served *served;
    struct json json;
    TRY(client_system(client, &served, error));
    if (reader->word_count > 1) {
        const gordian_word *name = &reader->words[1];
        process = served_find_process(served, name->text, name->length);
        resource = served_find_resource(served, name->text, name->length);
        if (process == GORDIAN_NONE && resource == GORDIAN_NONE)
            return FAIL_AT_WORD(client->service, WIRE_BAD_VALUE, name, error,
                                "there is no process or resource of this name");
    }
    bool may_be_lost = begin_state_answer(&json, client);
    write_state(&json, client, served, process, resource);
    json_end(&json);
    if (may_be_lost)
        client_skip_journal(client, start, 0);
    return GORDIAN_OK;
}

gordian_status line_systems(struct client *client, gordian_error *error)
{
    const struct service *service = client->service;
    struct json json;
    size_t start = client->out.used;
    bool may_be_lost = begin_state_answer(&json, client);
    (void)error;
    json_open(&json, "systems", '[');
    for (uint32_t i = 0; i < service->system_limit; i++)
        if (service->systems[i] &&
            service_is_permitted(service, client->holder, service->systems[i]->name)) {
            json_open(&json, NULL, '{');
            write_system(&json, service->systems[i]);
            json_shut(&json);
        }
    json_end(&json);
    if (may_be_lost)
        client_skip_journal(client, start, 0);
    return GORDIAN_OK;
}

gordian_status line_stats(struct client *client, gordian_error *error)
{
    const struct service *service = client->service;
    const struct service_counters *counters = &service->counters;
    struct json json;
    size_t start = client->out.used;
    (void)error;
    json_begin(&json, &client->out);
    json_open(&json, "stats", '{');
    json_key_u64(&json, "uptime_ms", service->work->now - service->started);
    json_key_u64(&json, "systems", service->system_count);
    json_key_u64(&json, "clients", service->client_count);
    json_key_u64(&json, "sessions", service->session_count);
    json_key_u64(&json, "events", counters->events);
    json_key_u64(&json, "frames", counters->frames);
    json_key_u64(&json, "lines", counters->lines);
    json_key_u64(&json, "errors", counters->errors);
    json_key_u64(&json, "duplicates", counters->duplicates);
    json_key_u64(&json, "throttled", counters->throttled);
    json_key_u64(&json, "cut_off", counters->cut_off);
    json_key_u64(&json, "leases_ended", counters->leases_ended);
    json_key_u64(&json, "stalls", counters->stalls);
    json_key_u64(&json, "stalled_ms", counters->stalled_ms);
    json_key_u64(&json, "memory", service_memory_used(service));
    if (client->session != GORDIAN_NONE)
        json_key_u64(&json, "client_memory", session_memory(service, client->session));
    json_end(&json);
    client_skip_journal(client, start, 0);
    return GORDIAN_OK;
}
