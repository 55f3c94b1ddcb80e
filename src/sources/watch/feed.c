/* Sends the wait-for graph of the watched servers to a running gordian serve. */
#include "sources/watch/feed.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define CONNECT_MS 2000
#define AGAIN_MS   200 /* timeout of a reconnect, which blocks the watcher */
#define AGAIN_NS   UINT64_C(10000000000)
#define NAME_SIZE  (GORDIAN_NAME_MAX + 1)

/* A group that was added to the service, with its ids there. */
struct fed_group {
    uint64_t signature;
    uint32_t *processes, *resources;
    size_t process_count, resource_count;
    bool stays;
};

/* The edges of the wait-for graph, grouped by connected component. */
struct grouping {
    const struct servers *servers;
    const struct telling *telling;
    uint32_t *leader;     /* by node: parent in the union-find; the root is the leader of the
                             group */
    uint64_t *signatures; /* by node: signature of the group that it leads; 0: none */
    uint32_t *id;         /* by node: id in the service */
    size_t nodes;
};

/* ------------------------------------------------------------------ connection */

static gordian_status connect_service(struct feed *feed, uint32_t connect_ms, gordian_error *error)
{
    gordian_client_options options = feed->options;
    options.open = GORDIAN_SERVICE_KIND_DETECTS;
    options.connect_ms = connect_ms;
    options.timeout_ms = CONNECT_MS;
    return gordian_client_open(&feed->client, feed->uri, &options, error);
}

gordian_status feed_open(struct feed *feed, const char *uri, const gordian_client_options *options,
                         gordian_error *error)
{
    *feed = (struct feed){.uri = uri, .options = *options, .memory = memory_allocator(NULL)};
    return connect_service(feed, CONNECT_MS, error);
}

static void free_groups(struct feed *feed)
{
    for (size_t i = 0; i < feed->count; i++)
        memory_free_all(&feed->memory, feed->groups[i].processes, feed->groups[i].resources);
    feed->count = 0;
}

void feed_close(struct feed *feed)
{
    gordian_client_close(feed->client);
    free_groups(feed);
    memory_free(&feed->memory, feed->groups);
    *feed = (struct feed){0};
}

/* ------------------------------------------------------------------ groups */

static uint32_t find_leader(struct grouping *grouping, uint32_t node)
{
    while (grouping->leader[node] != node)
        node = grouping->leader[node] = grouping->leader[grouping->leader[node]];
    return node;
}

static bool is_fed(const struct session_edge *arrow)
{
    return !arrow->mended && !arrow->any;
}

static uint64_t arrow_signature(const struct grouping *grouping, const struct session_edge *arrow)
{
    struct source *const *sources = grouping->servers->sources;
    if (arrow->edge != SCAN_NONE)
        return sources[arrow->from.source]->scan.edges[arrow->edge].key | 1;
    return hash_stir(member_session(sources, arrow->from)->key,
                     member_session(sources, arrow->to)->key) |
           1;
}

static void find_groups(struct grouping *grouping)
{
    const struct verdict *verdict = &grouping->servers->verdict;
    for (uint32_t i = 0; i < grouping->nodes; i++)
        grouping->leader[i] = i;
    for (size_t i = 0; i < verdict->arrow_count; i++)
        if (is_fed(&verdict->arrows[i])) {
            uint32_t from = find_leader(grouping, verdict_node(verdict, verdict->arrows[i].from));
            grouping->leader[from] =
                find_leader(grouping, verdict_node(verdict, verdict->arrows[i].to));
        }
    for (size_t i = 0; i < verdict->arrow_count; i++)
        if (is_fed(&verdict->arrows[i])) {
            uint32_t from = find_leader(grouping, verdict_node(verdict, verdict->arrows[i].from));
            grouping->signatures[from] += arrow_signature(grouping, &verdict->arrows[i]);
        }
}

/* ------------------------------------------------------------------ removing groups */

static gordian_status remove_group(struct feed *feed, const struct fed_group *group,
                                   gordian_error *error)
{
    for (size_t i = 0; i < group->process_count; i++) {
        const gordian_event event = {.op = GORDIAN_OP_EXIT, .process = group->processes[i]};
        TRY(gordian_client_send(feed->client, &event, NULL, NULL, error));
    }
    TRY(gordian_client_drain(feed->client, CONNECT_MS, error));
    TRY(gordian_client_remove(feed->client, false, group->processes, group->process_count, error));
    return gordian_client_remove(feed->client, true, group->resources, group->resource_count,
                                 error);
}

/* ------------------------------------------------------------------ adding groups */

/* Replaces characters that a name must not contain by underscores. */
static void clean_name(char *name)
{
    for (char *at = name; *at; at++)
        if (isspace((unsigned char)*at) || *at == '#' || *at == '=')
            *at = '_';
}

static gordian_status add_process(struct feed *feed, struct grouping *grouping,
                                  struct fed_group *group, struct member member,
                                  gordian_error *error)
{
    char name[NAME_SIZE];
    uint32_t node = verdict_node(&grouping->servers->verdict, member);
    if (grouping->id[node] != GORDIAN_NONE)
        return GORDIAN_OK;
    write_member_name(grouping->telling, member, name, sizeof name);
    clean_name(name);
    TRY(gordian_client_add_process(feed->client, name, &grouping->id[node], error));
    group->processes[group->process_count++] = grouping->id[node];
    return GORDIAN_OK;
}

/* Adds a resource of one unit that the holder of the edge holds. */
static gordian_status add_hold(struct feed *feed, struct grouping *grouping,
                               struct fed_group *group, const struct session_edge *arrow,
                               gordian_error *error)
{
    char name[NAME_SIZE];
    uint32_t resource;
    snprintf(name, sizeof name, "%s/%.110s/%zu",
             grouping->servers->sources[arrow->to.source]->label,
             edge_resource_text(grouping->telling, arrow), group->resource_count + 1);
    clean_name(name);
    TRY(gordian_client_add_resource(feed->client, name, 1, &resource, error));
    group->resources[group->resource_count++] = resource;
    const gordian_event event = {
        .op = GORDIAN_OP_HOLD,
        .process = grouping->id[verdict_node(&grouping->servers->verdict, arrow->to)],
        .resource = resource,
        .units = 1};
    return gordian_client_send(feed->client, &event, NULL, NULL, error);
}

/* Adds all waits of a session as one request. Resources are in the order of the edges. */
static gordian_status add_wait(struct feed *feed, struct grouping *grouping,
                               const struct fed_group *group, uint32_t leader, uint32_t node,
                               gordian_want *wants, gordian_error *error)
{
    const struct verdict *verdict = &grouping->servers->verdict;
    size_t count = 0, place = 0;
    for (size_t i = 0; i < verdict->arrow_count; i++) {
        uint32_t from = verdict_node(verdict, verdict->arrows[i].from);
        if (!is_fed(&verdict->arrows[i]) || find_leader(grouping, from) != leader)
            continue;
        if (from == node)
            wants[count++] = (gordian_want){.resource = group->resources[place], .units = 1};
        place++;
    }
    if (!count)
        return GORDIAN_OK;
    const gordian_event event = {
        .op = GORDIAN_OP_WAIT, .process = grouping->id[node], .wants = wants, .want_count = count};
    return gordian_client_send(feed->client, &event, NULL, NULL, error);
}

static gordian_status add_arrows(struct feed *feed, struct grouping *grouping,
                                 struct fed_group *group, uint32_t leader, gordian_want *wants,
                                 gordian_error *error)
{
    const struct verdict *verdict = &grouping->servers->verdict;
    for (size_t i = 0; i < verdict->arrow_count; i++) {
        const struct session_edge *arrow = &verdict->arrows[i];
        if (!is_fed(arrow) ||
            find_leader(grouping, verdict_node(&grouping->servers->verdict, arrow->from)) != leader)
            continue;
        TRY(add_process(feed, grouping, group, arrow->from, error));
        TRY(add_process(feed, grouping, group, arrow->to, error));
        TRY(add_hold(feed, grouping, group, arrow, error));
    }
    for (uint32_t node = 0; node < grouping->nodes; node++)
        if (grouping->id[node] != GORDIAN_NONE && find_leader(grouping, node) == leader)
            TRY(add_wait(feed, grouping, group, leader, node, wants, error));
    return gordian_client_drain(feed->client, CONNECT_MS, error);
}

static gordian_status add_group(struct feed *feed, struct grouping *grouping, uint32_t leader,
                                gordian_error *error)
{
    size_t arrows = grouping->servers->verdict.arrow_count;
    if (!memory_extend(&feed->memory, feed->groups, feed->capacity, feed->count))
        return fail_memory(error);
    struct fed_group *group = &feed->groups[feed->count++];
    *group = (struct fed_group){
        .signature = grouping->signatures[leader],
        .processes = memory_alloc(&feed->memory, (grouping->nodes + 1) * sizeof(uint32_t)),
        .resources = memory_alloc(&feed->memory, (arrows + 1) * sizeof(uint32_t)),
        .stays = true,
    };
    gordian_want *wants = memory_alloc(&feed->memory, (arrows + 1) * sizeof *wants);
    gordian_status status = group->processes && group->resources && wants
                                ? add_arrows(feed, grouping, group, leader, wants, error)
                                : fail_memory(error);
    memory_free(&feed->memory, wants);
    return status;
}

/* ------------------------------------------------------------------ updates */

static struct fed_group *find_group(const struct feed *feed, uint64_t signature)
{
    for (size_t i = 0; i < feed->count; i++)
        if (feed->groups[i].signature == signature)
            return &feed->groups[i];
    return NULL;
}

/* Removes groups that no longer exist before new ones are added, because their sessions may be in
 * new groups. */
static gordian_status drop_groups(struct feed *feed, const struct grouping *grouping,
                                  gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    size_t kept = 0;
    for (size_t i = 0; i < feed->count; i++)
        feed->groups[i].stays = false;
    for (size_t i = 0; i < grouping->nodes; i++) {
        struct fed_group *group =
            grouping->signatures[i] ? find_group(feed, grouping->signatures[i]) : NULL;
        if (group)
            group->stays = true;
    }
    for (size_t i = 0; i < feed->count; i++) {
        struct fed_group *group = &feed->groups[i];
        if (group->stays) {
            feed->groups[kept++] = *group;
            continue;
        }
        THEN(status, remove_group(feed, group, error));
        memory_free_all(&feed->memory, group->processes, group->resources);
    }
    feed->count = kept;
    return status;
}

static gordian_status feed_groups(struct feed *feed, struct grouping *grouping,
                                  gordian_error *error)
{
    find_groups(grouping);
    TRY(drop_groups(feed, grouping, error));
    for (uint32_t i = 0; i < grouping->nodes; i++)
        if (grouping->signatures[i] && !find_group(feed, grouping->signatures[i]))
            TRY(add_group(feed, grouping, i, error));
    return GORDIAN_OK;
}

gordian_status feed_update(struct feed *feed, const struct servers *servers,
                           const struct telling *telling, gordian_error *error)
{
    size_t nodes = servers->verdict.node_count;
    const gordian_allocator *memory = &feed->memory;
    if (!feed->client) {
        if (clock_ns() < feed->again)
            return GORDIAN_OK;
        feed->again = clock_ns() + AGAIN_NS;
        if (connect_service(feed, AGAIN_MS, error) != GORDIAN_OK)
            return GORDIAN_OK; /* the disconnection was reported before */
    }
    struct grouping grouping = {
        .servers = servers,
        .telling = telling,
        .leader = memory_alloc(memory, (nodes + 1) * sizeof(uint32_t)),
        .signatures = memory_zeroed(memory, (nodes + 1) * sizeof(uint64_t)),
        .id = memory_alloc(memory, (nodes + 1) * sizeof(uint32_t)),
        .nodes = nodes,
    };
    gordian_status status = fail_memory(NULL);
    if (grouping.leader && grouping.signatures && grouping.id) {
        memset(grouping.id, 0xff, nodes * sizeof(uint32_t));
        status = feed_groups(feed, &grouping, error);
    }
    memory_free_all(memory, grouping.leader, grouping.signatures, grouping.id);
    if (status != GORDIAN_OK) {
        /* The service removes everything that this client added. */
        gordian_client_leave(feed->client);
        feed->client = NULL;
        feed->again = clock_ns() + AGAIN_NS;
        free_groups(feed);
    }
    return status;
}
