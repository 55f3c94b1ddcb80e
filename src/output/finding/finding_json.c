/* Writes a finding as JSON: docs/reference/findings.md, docs/reference/finding.schema.json. */
#include "output/finding/finding.h"

#include <stdio.h>

static void write_text(struct json *json, const char *key, const char *value)
{
    if (value && *value)
        json_key_text(json, key, value);
}

static void write_count(struct json *json, const char *key, uint64_t value)
{
    if (value)
        json_key_u64(json, key, value);
}

/* A negative value is unknown and is not written. */
static void write_number(struct json *json, const char *key, double value)
{
    if (value >= 0)
        json_key_number(json, key, value);
}

static void write_flag(struct json *json, const char *key, bool value)
{
    if (value)
        json_key_bool(json, key, true);
}

static void write_address(struct json *json, const char *key, uint64_t address)
{
    char text[24];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
    json_key_text(json, key, text);
}

static void write_stack(struct json *json, const char *key, const struct stack *stack)
{
    if (!stack || !stack->count)
        return;
    json_open(json, key, '[');
    for (size_t i = 0; i < stack->count; i++) {
        const struct frame *frame = &stack->frames[i];
        json_open(json, NULL, '{');
        write_address(json, "address", frame->address);
        write_text(json, "function", frame->function);
        if (frame->file && frame->line) {
            json_key_text(json, "file", frame->file);
            json_key_u64(json, "line", frame->line);
        }
        if (frame->module) {
            json_key_text(json, "module", frame->module);
            write_address(json, "offset", frame->offset);
        }
        write_flag(json, "inlined", frame->inlined);
        json_shut(json);
    }
    json_shut(json);
}

static void write_party_name(struct json *json, const char *key, const struct finding *finding,
                             uint32_t party)
{
    if (party < finding->party_count)
        json_key_text(json, key, finding->parties[party].name);
}

/* ------------------------------------------------------------------ parties */

static void write_thread(struct json *json, const struct finding_thread *thread)
{
    json_key_u64(json, "tid", thread->tid);
    write_count(json, "pid", thread->pid);
    write_text(json, "comm", thread->comm);
    write_text(json, "entry", thread->entry);
    write_flag(json, "waiting", thread->waiting);
    write_flag(json, "ended", thread->ended);
    write_flag(json, "foreign", thread->foreign);
    write_number(json, "waited_seconds", thread->waited_s);
    write_text(json, "doing", thread->doing);
    write_text(json, "call", thread->stack ? thread->stack->call : NULL);
    write_stack(json, "stack", thread->stack);
    write_stack(json, "created", thread->created);
}

static void write_session(struct json *json, const struct finding_session *session)
{
    json_key_text(json, "server", session->server);
    json_key_i64(json, "pid", session->pid);
    write_text(json, "prepared", session->prepared);
    write_text(json, "user", session->user);
    write_text(json, "application", session->application);
    write_text(json, "database", session->database);
    write_text(json, "client", session->client);
    write_count(json, "client_port", session->client_port);
    write_text(json, "state", session->state);
    write_number(json, "state_seconds", session->state_s);
    write_number(json, "transaction_seconds", session->transaction_s);
    write_text(json, "query", session->query);
}

static void write_parties(struct json *json, const struct finding *finding)
{
    static const char *const roles[] = {
        [FINDING_MEMBER] = "member",
        [FINDING_BEHIND] = "behind",
        [FINDING_BLAMED] = "blamed",
        [FINDING_OTHER] = "other",
    };
    json_open(json, "parties", '[');
    for (size_t i = 0; i < finding->party_count; i++) {
        const struct finding_party *party = &finding->parties[i];
        json_open(json, NULL, '{');
        json_key_text(json, "name", party->name);
        json_key_text(json, "kind", party->kind);
        json_key_plain(json, "role", roles[party->role]);
        if (party->rank != FINDING_NONE)
            json_key_u64(json, "rank", party->rank);
        write_flag(json, "odd", party->odd);
        if (party->thread)
            write_thread(json, party->thread);
        if (party->session)
            write_session(json, party->session);
        json_shut(json);
    }
    json_shut(json);
}

/* ------------------------------------------------------------------ resources */

static void write_lock(struct json *json, const struct finding_lock *lock)
{
    write_address(json, "address", lock->address);
    write_text(json, "place", lock->place);
    write_count(json, "owner_tid", lock->owner_tid);
    if (lock->has_value)
        json_key_u64(json, "value", lock->value);
    if (lock->has_missing)
        json_key_u64(json, "missing", lock->missing);
    write_stack(json, "initialised", lock->initialised);
}

static void write_operation(struct json *json, const struct finding_operation *operation)
{
    json_open(json, "operation", '{');
    json_key_text(json, "group", operation->group);
    write_text(json, "description", operation->description);
    json_key_text(json, "name", operation->name);
    json_key_u64(json, "sequence", operation->sequence);
    if (operation->peer != FINDING_NONE)
        json_key_u64(json, "peer", operation->peer);
    json_key_u64(json, "input", operation->input);
    json_key_u64(json, "output", operation->output);
    json_key_text(json, "dtype", operation->dtype);
    json_key_u64(json, "created_ns", operation->created_ns);
    write_text(json, "line", operation->line);
    json_key_u64(json, "completed", operation->completed);
    json_shut(json);
}

static void write_resources(struct json *json, const struct finding *finding)
{
    json_open(json, "resources", '[');
    for (size_t i = 0; i < finding->resource_count; i++) {
        const struct finding_resource *resource = &finding->resources[i];
        json_open(json, NULL, '{');
        json_key_text(json, "name", resource->name);
        json_key_text(json, "kind", resource->kind);
        write_text(json, "object", resource->object);
        write_text(json, "row", resource->row);
        if (resource->lock)
            write_lock(json, resource->lock);
        if (resource->operation)
            write_operation(json, resource->operation);
        json_shut(json);
    }
    json_shut(json);
}

/* ------------------------------------------------------------------ edges */

static void write_edge(struct json *json, const struct finding *finding,
                       const struct finding_edge *edge)
{
    static const char *const relations[] = {
        [FINDING_WAITS] = "waits",     [FINDING_HOLDS] = "holds",   [FINDING_QUEUED] = "queued",
        [FINDING_COULD] = "could",     [FINDING_CLIENT] = "client", [FINDING_CALL] = "call",
        [FINDING_MISSING] = "missing", [FINDING_OLDER] = "older",
    };
    json_open(json, NULL, '{');
    write_party_name(json, "waiter", finding, edge->waiter);
    json_key_text(json, "resource", finding->resources[edge->resource].name);
    write_party_name(json, "holder", finding, edge->holder);
    json_key_plain(json, "relation", relations[edge->relation]);
    write_text(json, "mode", edge->mode);
    write_text(json, "held_mode", edge->held_mode);
    if (edge->units > 1)
        json_key_u64(json, "units", edge->units);
    if (edge->held_units > 1)
        json_key_u64(json, "held_units", edge->held_units);
    json_key_bool(json, "witness", edge->witness);
    write_flag(json, "timed", edge->timed);
    write_number(json, "wait_seconds", edge->wait_s);
    write_count(json, "seen", edge->seen);
    if (edge->released < finding->resource_count)
        json_key_text(json, "released", finding->resources[edge->released].name);
    write_text(json, "how", edge->how);
    write_stack(json, "site", edge->site);
    write_stack(json, "held_site", edge->held_site);
    json_shut(json);
}

/* Writes [party, resource, party, resource, ...]: each party waits for the resource after it. */
static void write_cycle(struct json *json, const struct finding *finding)
{
    if (!finding->cycle)
        return;
    json_open(json, "cycle", '[');
    for (size_t i = 0; i < finding->edge_count; i++) {
        const struct finding_edge *edge = &finding->edges[i];
        if (!edge->witness || edge->waiter == FINDING_NONE)
            continue;
        json_text(json, finding->parties[edge->waiter].name);
        json_text(json, finding->resources[edge->resource].name);
    }
    json_shut(json);
}

/* ------------------------------------------------------------------ the finding */

static void write_advice(struct json *json, const struct finding *finding)
{
    const struct finding_advice *advice = &finding->advice;
    if (!advice->text)
        return;
    json_open(json, "advice", '{');
    json_key_text(json, "text", advice->text);
    write_party_name(json, "victim", finding, advice->victim);
    write_text(json, "cancel", advice->cancel);
    write_text(json, "terminate", advice->terminate);
    json_shut(json);
}

static void write_differences(struct json *json, const struct finding *finding)
{
    if (!finding->differs)
        return;
    json_open(json, "differs", '[');
    if (finding->differs_name)
        json_text(json, "name");
    if (finding->differs_size)
        json_text(json, "size");
    if (finding->differs_dtype)
        json_text(json, "dtype");
    json_shut(json);
    json_key_bool(json, "tie", finding->tie);
}

static void write_members(const struct finding *finding, struct json *json)
{
    static const char *const kinds[] = {
        [FINDING_DEADLOCK] = "deadlock",
        [FINDING_OWNER_GONE] = "owner-gone",
        [FINDING_NEVER_SIGNALLED] = "never-signalled",
        [FINDING_LOCK_ORDER_INVERSION] = "lock-order-inversion",
        [FINDING_STALL] = "stall",
        [FINDING_STATUS] = "status",
        [FINDING_ABSENT_RANK] = "absent-rank",
        [FINDING_SILENT_RANK] = "silent-rank",
        [FINDING_STUCK_DEVICE] = "stuck-device",
        [FINDING_MISMATCH] = "mismatch",
        [FINDING_STALLED_OPERATION] = "stalled-operation",
    };
    static const char *const verdicts[] = {
        [FINDING_PROVED] = "proved",
        [FINDING_LIKELY] = "likely",
        [FINDING_UNKNOWN] = "unknown",
    };
    json_key_plain(json, "schema", FINDING_SCHEMA);
    json_key_plain(json, "source", finding->source);
    json_key_plain(json, "kind", kinds[finding->kind]);
    write_count(json, "number", finding->number);
    json_key_plain(json, "verdict", verdicts[finding->verdict]);
    json_key_text(json, "title", finding->title);
    write_count(json, "time_ms", finding->time_ms);
    write_text(json, "program", finding->program);
    write_count(json, "pid", finding->pid);
    write_count(json, "incident", finding->incident);
    write_number(json, "found_after_ms", finding->found_after_ms);
    if (finding->signature)
        write_address(json, "signature", finding->signature);
    write_text(json, "action", finding->action);
    write_text(json, "engine", finding->engine);
    write_text(json, "evidence", finding->evidence);
    write_text(json, "unseen", finding->unseen);
    write_party_name(json, "first", finding, finding->first);
    write_count(json, "behind", finding->behind);
    write_count(json, "locks_watched", finding->locks_watched);
    write_count(json, "threads_watched", finding->threads_watched);
    write_differences(json, finding);
    write_cycle(json, finding);
    write_parties(json, finding);
    write_resources(json, finding);
    json_open(json, "edges", '[');
    for (size_t i = 0; i < finding->edge_count; i++)
        write_edge(json, finding, &finding->edges[i]);
    json_shut(json);
    write_advice(json, finding);
}

void finding_json(const struct finding *finding, struct output *out)
{
    struct json json;
    json_begin(&json, out);
    write_members(finding, &json);
    json_end(&json);
}

void finding_json_member(const struct finding *finding, struct json *json, const char *key)
{
    json_open(json, key, '{');
    write_members(finding, json);
    json_shut(json);
}
