/*
 * Memory quotas: how much memory sessions have, and how much they may have.
 *
 * *Meters* count allocated memory: one for the service, and one below it for each system. A meter
 * with a limit refuses allocations that would exceed it. The command that needed one fails without
 * effects, as if memory were out.
 *
 * *Accounts* count what each session makes the service store: its processes with claims, holds and
 * waits, the resources it added, the systems it opened (each at the cost of system/cost.c), and the
 * buffers of its connection. An engine with matrices takes more than the cost of its names: the
 * meter of such a system counts for the session that opened it.
 *
 * Quotas are checked before a command is applied, and never during a replay.
 */
#include "foundation/base/engine.h"
#include "service/serve/core/service_internal.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* The most that a byte of EVENTS can add to an account: see served_event_cost. */
#define EVENT_BYTE_COST 20

/* ------------------------------------------------------------------ meters */

struct meter {
    gordian_allocator counting;
    struct meter *parent; /* NULL: of the service */
    uint64_t used;
    uint64_t limit; /* 0: none */
    bool refused;   /* it has refused memory since service_begin */
};

static bool quota_has_room(struct meter *meter, size_t more)
{
    for (; meter; meter = meter->parent)
        if (meter->limit && (more > meter->limit || meter->used > meter->limit - more)) {
            meter->refused = true;
            return false;
        }
    return true;
}

static void meter_count(struct meter *meter, size_t before, size_t after)
{
    for (; meter; meter = meter->parent)
        meter->used += after - before;
}

static void *metered_resize(void *context, void *pointer, size_t size)
{
    struct meter *meter = context;
    size_t before = pointer ? malloc_usable_size(pointer) : 0;
    if (size == 0) {
        free(pointer);
        meter_count(meter, before, 0);
        return NULL;
    }
    if (size > before && !quota_has_room(meter, size - before))
        return NULL;
    void *grown = realloc(pointer, size);
    if (grown)
        meter_count(meter, before, malloc_usable_size(grown));
    return grown;
}

struct meter *meter_new(struct meter *parent)
{
    struct meter *meter = calloc(1, sizeof *meter);
    if (meter) {
        meter->counting = (gordian_allocator){metered_resize, meter};
        meter->parent = parent;
    }
    return meter;
}

void meter_free(struct meter *meter)
{
    free(meter);
}

const gordian_allocator *meter_allocator(struct meter *meter)
{
    return &meter->counting;
}

uint64_t service_memory_used(const struct service *service)
{
    return service->meter ? service->meter->used : 0;
}

void quota_begin(struct service *service)
{
    if (service->meter)
        service->meter->refused = false;
}

bool quota_refused(const struct service *service)
{
    return service->meter && service->meter->refused;
}

void quota_set_limit(struct service *service)
{
    if (service->meter)
        service->meter->limit = service->options.limits.memory;
}

/* ------------------------------------------------------------------ accounts */

/* Does the engine need memory for matrices? */
static bool is_dense(const struct served *served)
{
    return served->meter &&
           engine_find(served->operations->engines, served_engine_name(served))->dense;
}

static bool is_owner(const struct service *service, const struct served_owner *owner,
                     uint32_t session)
{
    return owner->session == session && session != GORDIAN_NONE &&
           owner->serial == service->sessions[session].serial;
}

/* The session of an owner, if it still exists. */
static uint32_t owner_account(const struct service *service, const struct served_owner *owner)
{
    uint32_t session = owner->session;
    bool there = session < service->session_limit && service->sessions[session].in_use;
    return there && is_owner(service, owner, session) ? session : GORDIAN_NONE;
}

static void return_shares(struct service *service, uint32_t session, uint64_t bytes)
{
    uint64_t *account = &service->accounts[session];
    *account -= bytes < *account ? bytes : *account;
}

/* Memory of the dense systems that a session opened, except one. */
static uint64_t dense_bytes(const struct service *service, uint32_t session,
                            const struct served *except)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < service->system_limit; i++) {
        const struct served *served = service->systems[i];
        if (served && served != except && is_owner(service, &served->opener, session) &&
            is_dense(served))
            bytes += served->meter->used;
    }
    return bytes;
}

uint64_t session_memory(const struct service *service, uint32_t session)
{
    const struct session *its = &service->sessions[session];
    uint64_t bytes = service->accounts[session];
    if (its->systems > 0)
        bytes += dense_bytes(service, session, NULL);
    if (its->client) { /* buffers of the connection, and results between two slices */
        const struct client_frame *frame = &its->client->frame;
        bytes += its->client->out.room + its->client->buffered + frame->notifications.room +
                 frame->result_room * sizeof *frame->results +
                 frame->served_room * sizeof *frame->served + frame->id_room * sizeof *frame->ids;
    }
    return bytes;
}

void quota_disown(struct service *service, uint32_t session, const struct served *served,
                  uint32_t process)
{
    return_shares(service, session, served_process_cost(served, process));
}

uint32_t quota_opener(const struct service *service, const struct served *served)
{
    return owner_account(service, &served->opener);
}

uint32_t quota_adder(const struct service *service, const struct served *served, uint32_t resource)
{
    return resource < served->adder_room ? owner_account(service, &served->adders[resource])
                                         : GORDIAN_NONE;
}

void quota_opened(struct service *service, uint32_t session, struct served *served)
{
    if (session == GORDIAN_NONE)
        return;
    served->opener = (struct served_owner){session, service->sessions[session].serial};
    service->sessions[session].systems++;
    holder_count(service, session, 0, 1);
    service->accounts[session] += served_system_cost();
}

void quota_added(struct service *service, uint32_t session, struct served *served,
                 uint32_t resource, size_t name_length)
{
    struct served_owner *adder = &served->adders[resource];
    *adder = (struct served_owner){.session = GORDIAN_NONE};
    if (session == GORDIAN_NONE)
        return;
    *adder = (struct served_owner){session, service->sessions[session].serial};
    service->sessions[session].resources++;
    holder_count(service, session, 1, 0);
    service->accounts[session] += served_resource_cost(served, name_length);
}

void quota_removed(struct service *service, struct served *served, uint32_t resource,
                   size_t name_length)
{
    if (resource >= served->adder_room)
        return;
    uint32_t session = owner_account(service, &served->adders[resource]);
    served->adders[resource].session = GORDIAN_NONE;
    if (session == GORDIAN_NONE)
        return;
    service->sessions[session].resources--;
    holder_count(service, session, -1, 0);
    return_shares(service, session,
                  served_resource_cost(served, name_length) +
                      tags_cost(&served->tags, TAGS_RESOURCE, resource));
}

void quota_closed(struct service *service, struct served *served)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    uint32_t opener = owner_account(service, &served->opener);
    if (opener != GORDIAN_NONE) {
        service->sessions[opener].systems--;
        holder_count(service, opener, 0, -1);
        return_shares(service, opener, served_system_cost());
    }
    for (uint32_t q = 0; q < served->adder_room; q++) {
        const char *name = served_resource_name(served, q, buffer);
        if (name)
            quota_removed(service, served, q, strlen(name));
    }
}

/* ------------------------------------------------------------------ measuring */

static bool is_limited(const struct service *service, uint32_t session)
{
    return session != GORDIAN_NONE && service->options.limits.session_memory > 0 &&
           !service->replaying;
}

/* May the session's own account grow by `more`? */
static bool account_permits(const struct service *service, uint32_t session, uint64_t more)
{
    uint64_t limit = service->options.limits.session_memory;
    uint64_t used = is_limited(service, session) ? session_memory(service, session) : 0;
    return !is_limited(service, session) || (used <= limit && more <= limit - used);
}

gordian_status quota_check(struct service *service, uint32_t session, uint64_t more,
                           gordian_error *error)
{
    uint64_t limit = service->options.limits.session_memory;
    bool holder = holder_permits(service, session, more);
    if (holder && account_permits(service, session, more))
        return GORDIAN_OK;
    service->counters.over_memory++;
    if (!holder)
        return FAIL_WITH(service, WIRE_QUOTA, error,
                         "memory quota of the token reached by all its clients together");
    return FAIL_WITH(
        service, WIRE_QUOTA, error,
        "memory quota of the client reached: %llu KiB allowed, %llu KiB used; release, "
        "remove or close something, or read the answers",
        (unsigned long long)(limit >> 10),
        (unsigned long long)(session_memory(service, session) >> 10));
}

bool quota_permits(struct service *service, uint32_t session, const gordian_event *event)
{
    uint64_t more = served_event_cost(event);
    if (more == 0 ||
        (account_permits(service, session, more) && holder_permits(service, session, more)))
        return true;
    service->counters.over_memory++;
    return false;
}

bool quota_is_near(const struct service *service, uint32_t session, size_t bytes)
{
    uint64_t limit = service->options.limits.session_memory;
    return holder_is_limited(service, session) ||
           (is_limited(service, session) &&
            session_memory(service, session) + bytes * EVENT_BYTE_COST > limit);
}

size_t quota_backlog(const struct client *client)
{
    const struct service *service = client->service;
    uint64_t limit = service->options.limits.session_memory;
    uint64_t used = client->session == GORDIAN_NONE ? 0 : service->accounts[client->session];
    uint64_t left = used < limit ? limit - used : 0;
    if (limit == 0 || left > CLIENT_BACKLOG_MAX)
        return CLIENT_BACKLOG_MAX;
    return left > CLIENT_BACKLOG_MIN ? (size_t)left : CLIENT_BACKLOG_MIN;
}

void quota_enter(struct service *service, struct served *served)
{
    uint64_t limit = service->options.limits.session_memory, others = 0;
    if (limit == 0 || service->replaying || !is_dense(served))
        return;
    uint32_t opener = owner_account(service, &served->opener);
    if (opener != GORDIAN_NONE)
        others = service->accounts[opener] + dense_bytes(service, opener, served);
    served->meter->limit = others < limit ? limit - others : 1;
    served->meter->refused = false;
}

gordian_status quota_leave(struct service *service, struct served *served, gordian_status status,
                           gordian_error *error)
{
    struct meter *meter = served->meter;
    if (!meter || meter->limit == 0)
        return status;
    meter->limit = 0;
    if (status != GORDIAN_STATUS_MEMORY || !meter->refused)
        return status;
    service->counters.over_memory++;
    return FAIL_WITH(
        service, WIRE_QUOTA, error,
        "memory quota reached: the matrices of engine '%s' would take more than a client "
        "may have",
        served_engine_name(served));
}
