/* Queries about one process: its wait chain, and the outcome of a hypothetical request. */
#include "service/serve/http/api.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ wait chain */

struct chain {
    struct api_call *call;
    struct served *system;
    uint32_t ids[API_CHAIN_MAX]; /* in the order of discovery */
    uint32_t seen[1024];         /* hash table of `ids`: index + 1; 0: free */
    size_t count;
    bool truncated;
};

static_assert(1024 >= 2 * API_CHAIN_MAX, "half of the slots stay free");

static void add_to_chain(struct chain *chain, uint32_t process)
{
    size_t slots = sizeof chain->seen / sizeof *chain->seen;
    size_t at = process * UINT32_C(2654435761) % slots;
    while (chain->seen[at] && chain->ids[chain->seen[at] - 1] != process)
        at = (at + 1) % slots;
    if (chain->seen[at])
        return;
    if (chain->count == API_CHAIN_MAX) {
        chain->truncated = true;
        return;
    }
    chain->ids[chain->count++] = process;
    chain->seen[at] = (uint32_t)chain->count;
}

static void write_holders(struct chain *chain, struct json *json, uint32_t resource,
                          uint32_t waiter)
{
    gordian_edge edges[API_HOLDERS_MAX + 2]; /* itself, and one to detect that there are more */
    size_t written = 0, count = served_first_edges(chain->system, SERVED_HOLDERS, resource, edges,
                                                   sizeof edges / sizeof *edges);
    char label[GORDIAN_NAME_MAX + 1];
    json_open(json, "holders", '[');
    for (size_t i = 0; i < count; i++) {
        if (edges[i].process == waiter && count > 1)
            continue; /* its own units do not block it */
        if (written == API_HOLDERS_MAX) {
            chain->truncated = true;
            break;
        }
        written++;
        add_to_chain(chain, edges[i].process);
        json_text(json, served_process_label(chain->system, edges[i].process, label));
    }
    json_shut(json);
}

static void write_link(struct chain *chain, struct json *json, uint32_t process)
{
    gordian_edge wants[API_WANTS_MAX + 1]; /* one to detect that there are more */
    size_t count = served_first_edges(chain->system, SERVED_WANTED, process, wants,
                                      sizeof wants / sizeof *wants);
    char label[GORDIAN_NAME_MAX + 1];
    if (count > API_WANTS_MAX) {
        chain->truncated = true;
        count = API_WANTS_MAX;
    }
    json_open(json, NULL, '{');
    json_key_text(json, "process", served_process_label(chain->system, process, label));
    json_open(json, "waits_for", '[');
    for (size_t i = 0; i < count; i++) {
        json_open(json, NULL, '{');
        if (served_is_await(chain->system, wants[i].resource))
            json_key_bool(json, "await", true);
        json_key_text(json, "resource",
                      served_resource_label(chain->system, wants[i].resource, label));
        json_key_u64(json, "units", wants[i].units);
        json_key_u64(json, "free", served_free_units(chain->system, wants[i].resource));
        write_holders(chain, json, wants[i].resource, process);
        json_shut(json);
    }
    json_shut(json);
    json_shut(json);
}

/* Writes the witness as `gordian detect --json` does; null also if too many processes are ahead of
 * the process. */
static void write_chain_witness(struct chain *chain, struct json *json, uint32_t process)
{
    gordian_witness witness;
    struct served *system = chain->system;
    char buffers[2][GORDIAN_NAME_MAX + 1];
    struct labels labels = served_labels(&(struct served_names){system, buffers});
    bool dead = served_is_deadlocked(system, process);
    json_key_bool(json, "deadlocked", dead);
    if (!dead || served_explain(system, process, API_AHEAD_MAX, &witness, NULL)) {
        json_key_null(json, "witness");
        chain->truncated |= dead;
        return;
    }
    chain->truncated |= witness.count > API_WITNESS_MAX;
    if (witness.count > API_WITNESS_MAX)
        witness.count = API_WITNESS_MAX;
    json_witness(json, "witness", &labels, &witness);
}

static int answer_chain(struct chain *chain, uint32_t process)
{
    struct api_call *call = chain->call;
    char label[GORDIAN_NAME_MAX + 1];
    struct json json;
    json_begin(&json, &call->out);
    json_key_text(&json, "system", chain->system->name);
    json_key_text(&json, "process", served_process_label(chain->system, process, label));
    json_open(&json, "chain", '[');
    add_to_chain(chain, process);
    for (size_t i = 0; i < chain->count; i++)
        write_link(chain, &json, chain->ids[i]);
    json_shut(&json);
    write_chain_witness(chain, &json, process);
    json_key_bool(&json, "truncated", chain->truncated);
    json_end(&json);
    return 200;
}

int api_chain(struct api_call *call)
{
    const char *name = http_query(call->request, "process");
    if (!name || !*name)
        return api_fail(call, 400, "'process' is missing");
    uint32_t process = served_find_process(call->system, name, strlen(name));
    if (process == GORDIAN_NONE)
        return api_fail(call, 404, "there is no process '%.100s'", name);
    struct chain chain = {.call = call, .system = call->system};
    return answer_chain(&chain, process);
}

/* ------------------------------------------------------------------ hypothetical requests */

static int read_want(struct api_call *call, const struct value *item, gordian_want *want)
{
    const struct value *resource = value_find(item, "resource");
    const struct value *units = value_find(item, "units");
    const char *name = value_text(resource);
    if (!name)
        return api_fail(call, 400, "each of 'wants' needs a 'resource'");
    if (units && (!value_is(units, VALUE_INTEGER) || units->integer < 1))
        return api_fail(call, 400, "'units' must be a number, at least 1");
    want->units = units ? (uint64_t)units->integer : 1;
    want->resource = served_find_resource(call->system, name, resource->count);
    if (want->resource == GORDIAN_NONE)
        return api_fail(call, 404, "there is no resource '%.100s'", name);
    return 200;
}

static int read_question(struct api_call *call, const struct value *body, gordian_event *event,
                         gordian_want *wants)
{
    const struct value *process = value_find(body, "process");
    const struct value *list = value_find(body, "wants");
    const char *name = value_text(process);
    size_t count = value_count(list);
    if (!name)
        return api_fail(call, 400, "'process' must be a name");
    if (count < 1 || count > API_WANTS_MAX)
        return api_fail(call, 400, "'wants' must be a list of 1 to %d", API_WANTS_MAX);
    event->process = served_find_process(call->system, name, process->count);
    if (event->process == GORDIAN_NONE)
        return api_fail(call, 404, "there is no process '%.100s'", name);
    for (size_t i = 0; i < count; i++) {
        int status = read_want(call, value_item(list, i), &wants[i]);
        if (status != 200)
            return status;
    }
    event->wants = wants;
    event->want_count = count;
    event->resource = wants[0].resource;
    event->units = wants[0].units;
    if (count == 1)
        event->wants = NULL;
    return 200;
}

int api_what_if(struct api_call *call)
{
    gordian_want wants[API_WANTS_MAX];
    gordian_event event = {.op = GORDIAN_OP_REQUEST, .to = GORDIAN_NONE};
    struct arena arena;
    const struct value *body;
    char label[GORDIAN_NAME_MAX + 1];
    int status = api_read_body(call, &arena, &body);
    if (status == 200)
        status = value_is(body, VALUE_DICT) ? read_question(call, body, &event, wants)
                                            : api_fail(call, 400, "the body is not a JSON object");
    arena_free(&arena);
    if (status != 200)
        return status;
    uint8_t outcome;
    gordian_error error;
    if (served_ask(call->system, &event, &outcome, &error) != GORDIAN_OK)
        return api_broken(call, &error);
    struct json json;
    json_begin(&json, &call->out);
    json_key_text(&json, "system", call->system->name);
    json_key_text(&json, "process", served_process_label(call->system, event.process, label));
    json_key_text(&json, "result", served_outcome_text(call->system, outcome));
    json_end(&json);
    return 200;
}

/* ------------------------------------------------------------------ login */

int api_login(struct api_call *call)
{
    struct auth *auth = call->api->auth;
    struct arena arena;
    const struct value *body;
    char cookie[AUTH_COOKIE_SIZE];
    enum auth_rights rights = AUTH_WRITE;
    int status = api_read_body(call, &arena, &body);
    const struct value *token = value_find(body, "token");
    if (status == 200 && !value_is(token, VALUE_TEXT))
        status = api_fail(call, 400, "the body is not {\"token\":\"...\"}");
    if (status == 200 && auth_required(auth))
        rights = auth_login(auth, value_text(token), token->count,
                            service_steady(call->api->service), cookie);
    arena_free(&arena);
    if (status != 200)
        return status;
    call->api->service->counters.wrong_tokens += rights == AUTH_NONE;
    if (rights == AUTH_NONE)
        return api_fail(call, 401, "wrong token");
    if (auth_required(auth))
        snprintf(call->headers, sizeof call->headers,
                 "Set-Cookie: " API_COOKIE
                 "=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s\r\n",
                 cookie, AUTH_COOKIE_HOURS * 3600, call->api->tls ? "; Secure" : "");
    struct json json;
    json_begin(&json, &call->out);
    json_key_text(&json, "rights", rights == AUTH_READ ? "read" : "write");
    json_end(&json);
    return 200;
}
