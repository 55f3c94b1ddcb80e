/* The event loop of gordian watch: polls all servers and finds deadlocks in their scans. */
#include "sources/watch/watch.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "sources/watch/graph/duplicate_servers.h"
#include "sources/watch/graph/inspected_process.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define INTERVAL_NS UINT64_C(200000000)
#define PATIENCE_NS UINT64_C(10000000000)

void servers_open(struct servers *servers)
{
    gordian_allocator memory = memory_allocator(NULL);
    *servers = (struct servers){.memory = memory,
                                .pace = {.interval_ns = INTERVAL_NS, .patience_ns = PATIENCE_NS}};
    links_open(&servers->links, &memory);
    verdict_open(&servers->verdict, &memory);
}

void servers_close(struct servers *servers)
{
    for (size_t i = 0; i < servers->count; i++)
        source_close(servers->sources[i]);
    memory_free_all(&servers->memory, servers->sources, servers->polls);
    links_close(&servers->links);
    verdict_close(&servers->verdict);
}

gordian_status servers_add(struct servers *servers, const char *address, gordian_error *error)
{
    if (!memory_extend(&servers->memory, servers->sources, servers->capacity, servers->count))
        return fail_memory(error);
    TRY(source_open(&servers->sources[servers->count], address, &servers->pace, &servers->memory,
                    error));
    servers->count++;
    return GORDIAN_OK;
}

gordian_status servers_inspect(struct servers *servers, uint32_t pid, gordian_error *error)
{
    if (!memory_extend(&servers->memory, servers->sources, servers->capacity, servers->count))
        return fail_memory(error);
    TRY(inspector_open(&servers->sources[servers->count], pid, &servers->pace, &servers->memory,
                       error));
    servers->count++;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ event loop */

/* Names the sources. Servers at the same address or with the same name get a number. */
static void name_sources(struct servers *servers)
{
    for (size_t i = 0; i < servers->count; i++) {
        struct source *source = servers->sources[i];
        char label[64];
        size_t same = 0;
        if (!source->dialect || source->named || source->dial)
            continue;
        if (source->facts.name[0])
            snprintf(label, sizeof label, "%s", source->facts.name);
        else
            source->driver->place(source->connection, label, sizeof label);
        for (size_t k = 0; k < servers->count; k++)
            same += k != i && strcmp(servers->sources[k]->label, label) == 0;
        snprintf(source->label, sizeof source->label, same ? "%s#%zu" : "%s", label, i + 1);
        source->named = source->state == SOURCE_RESTING;
    }
}

static uint64_t fill_polls(struct servers *servers, struct pollfd *others, size_t other_count,
                           uint64_t until)
{
    for (size_t i = 0; i < servers->count; i++) {
        uint64_t due;
        struct pollfd *poll = &servers->polls[i];
        *poll = (struct pollfd){.fd = -1};
        source_wants(servers->sources[i], &poll->fd, &poll->events, &due);
        until = due < until ? due : until;
    }
    if (other_count)
        memcpy(servers->polls + servers->count, others, other_count * sizeof *others);
    return until;
}

/* Scans the inspected processes after each scan of a server, if some session waits there. */
static void scan_processes(struct servers *servers)
{
    uint64_t looks = 0;
    bool needed = false;
    for (size_t i = 0; i < servers->count; i++)
        if (!servers->sources[i]->inspector) {
            looks += servers->sources[i]->looks;
            needed = needed || servers->sources[i]->scan.edge_count;
        }
    for (size_t i = 0; i < servers->count && looks != servers->inspected_scans; i++)
        if (servers->sources[i]->inspector)
            inspector_scan(servers->sources[i], needed);
    servers->inspected_scans = looks;
}

gordian_status servers_run_once(struct servers *servers, uint64_t limit_ns, struct pollfd *others,
                                size_t other_count, gordian_error *error)
{
    uint64_t now = clock_ns();
    size_t count = servers->count + other_count;
    if (!memory_grow(&servers->memory, &servers->polls, &servers->poll_capacity, count,
                     sizeof *servers->polls))
        return fail_memory(error);
    uint64_t until = limit_ns == UINT64_MAX ? UINT64_MAX : now + limit_ns;
    until = fill_polls(servers, others, other_count, until);
    uint64_t left_ms = until > now ? (until - now + 999999) / 1000000 : 0;
    int timeout = until == UINT64_MAX ? -1 : left_ms < 60000 ? (int)left_ms : 60000;
    int ready = poll(servers->polls, count, timeout);
    if (ready < 0 && errno != EINTR)
        return fail(error, GORDIAN_STATUS_IO, "poll: %s", strerror(errno));
    for (size_t i = 0; i < servers->count; i++)
        source_step(servers->sources[i], ready > 0 ? servers->polls[i].revents : 0, clock_ns());
    scan_processes(servers);
    for (size_t i = 0; i < other_count; i++)
        others[i].revents = ready > 0 ? servers->polls[servers->count + i].revents : 0;
    duplicates_park(servers->sources, servers->count);
    name_sources(servers);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ verdict */

static uint64_t count_scans(const struct servers *servers)
{
    uint64_t looks = 0;
    for (size_t i = 0; i < servers->count; i++)
        looks += servers->sources[i]->looks;
    return looks;
}

bool servers_have_new_scans(const struct servers *servers)
{
    return count_scans(servers) != servers->judged_scans;
}

gordian_status servers_judge(struct servers *servers, gordian_error *error)
{
    servers->judged_scans = count_scans(servers);
    return judge_scans(&servers->verdict, &servers->links, servers->sources, servers->count, error);
}
