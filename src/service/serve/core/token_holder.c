/*
 * Limits of tokens. A client can connect many times, so the limits of a token count the usage of
 * all its sessions. The journal records the token of each session, so this survives a restart.
 *
 * Names and systems are counted exactly. Memory changes with every event: it is summed up from time
 * to time, and what was allowed in between is added. So the sum is never too small.
 */
#include "service/serve/core/service_internal.h"

#include <string.h>

/* How old the sum of memory may be, and how old before a request is refused by it. */
#define SUM_MS   1000
#define AGAIN_MS 20

/* ------------------------------------------------------------------ tokens */

uint32_t holder_find(struct service *service, const char *name, size_t length)
{
    if (length == 0 || length > SERVICE_HOLDER_MAX)
        return GORDIAN_NONE;
    for (uint32_t i = 0; i < service->holder_count; i++)
        if (strlen(service->holders[i].name) == length &&
            memcmp(service->holders[i].name, name, length) == 0)
            return i;
    if (!memory_grow32(&service->memory, &service->holders, &service->holder_room,
                       service->holder_count + 1, sizeof *service->holders))
        return GORDIAN_NONE;
    struct holder *holder = &service->holders[service->holder_count];
    *holder = (struct holder){.events.refilled = service->work->steady};
    memcpy(holder->name, name, length);
    return service->holder_count++;
}

const char *holder_name(const struct service *service, uint32_t holder)
{
    return holder < service->holder_count ? service->holders[holder].name : "";
}

void holder_set(struct service *service, uint32_t place, const struct service_grant *grant)
{
    struct holder *holder = &service->holders[place];
    size_t length = strlen(grant->systems);
    if (length > SERVICE_SYSTEMS_MAX)
        length = SERVICE_SYSTEMS_MAX;
    memcpy(holder->systems, grant->systems, length);
    holder->systems[length] = '\0';
    holder->max_systems = grant->max_systems;
    holder->max_names = grant->max_names;
    holder->max_memory = grant->max_memory;
    if (holder->max_events != grant->max_events)
        holder->events.level = (int64_t)grant->max_events * 1000;
    holder->max_events = grant->max_events;
}

bool service_is_permitted(const struct service *service, uint32_t holder, const char *system)
{
    const struct service_options *options = &service->options;
    return holder >= service->holder_count || !options->fits ||
           options->fits(service->holders[holder].systems, system);
}

gordian_status client_find_system(const struct client *client, struct wire_text name,
                                  struct served **served, gordian_error *error)
{
    *served = service_find(client->service, name.text, name.length);
    if (*served && service_is_permitted(client->service, client->holder, (*served)->name))
        return GORDIAN_OK;
    FAIL_WITH(client->service, WIRE_NO_SYSTEM, error, "there is no system of this name");
    return GORDIAN_STATUS_INPUT;
}

/* ------------------------------------------------------------------ usage */

static struct holder *holder_of_session(const struct service *service, uint32_t session)
{
    uint32_t place = session == GORDIAN_NONE ? GORDIAN_NONE : service->sessions[session].holder;
    return place < service->holder_count ? &service->holders[place] : NULL;
}

void holder_count(struct service *service, uint32_t session, int names, int systems)
{
    struct holder *holder = holder_of_session(service, session);
    if (!holder)
        return;
    holder->name_count += (uint64_t)(int64_t)names;
    holder->system_count += (uint64_t)(int64_t)systems;
}

void holder_take(struct service *service, uint32_t slot, uint32_t place)
{
    struct session *session = &service->sessions[slot];
    int names = (int)(session->processes + session->resources), systems = (int)session->systems;
    if (session->holder == place)
        return;
    holder_count(service, slot, -names, -systems);
    session->holder = place;
    holder_count(service, slot, names, systems);
}

gordian_status holder_check(struct service *service, uint32_t session, int names, int systems,
                            gordian_error *error)
{
    const struct holder *holder = holder_of_session(service, session);
    if (!holder || service->replaying)
        return GORDIAN_OK;
    if (names > 0 && holder->max_names > 0 && holder->name_count >= holder->max_names)
        return FAIL_WITH(service, WIRE_QUOTA, error,
                         "too many names of all clients with token '%s': "
                         "the limit is %llu",
                         holder->name, (unsigned long long)holder->max_names);
    if (systems > 0 && holder->max_systems > 0 && holder->system_count >= holder->max_systems)
        return FAIL_WITH(service, WIRE_QUOTA, error,
                         "too many systems of all clients with token '%s': "
                         "the limit is %llu",
                         holder->name, (unsigned long long)holder->max_systems);
    return GORDIAN_OK;
}

static void sum_memory(struct service *service, struct holder *holder)
{
    uint32_t place = (uint32_t)(holder - service->holders);
    holder->memory = 0;
    holder->memory_at = service->work->steady;
    for (uint32_t i = 0; i < service->session_limit; i++)
        if (service->sessions[i].in_use && service->sessions[i].holder == place)
            holder->memory += session_memory(service, i);
}

bool holder_is_limited(const struct service *service, uint32_t session)
{
    const struct holder *holder = holder_of_session(service, session);
    return holder && holder->max_memory > 0 && !service->replaying;
}

bool holder_permits(struct service *service, uint32_t session, uint64_t bytes)
{
    struct holder *holder = holder_of_session(service, session);
    if (!holder_is_limited(service, session))
        return true;
    uint64_t age = service->work->steady - holder->memory_at, sum = holder->memory + bytes;
    if (holder->memory_at == 0 || age >= SUM_MS || (sum > holder->max_memory && age >= AGAIN_MS))
        sum_memory(service, holder);
    if (holder->memory + bytes > holder->max_memory)
        return false;
    holder->memory += bytes;
    return true;
}
