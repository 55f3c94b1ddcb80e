/* The wait-for graph: adding and removing nodes and edges (rag.h). */
#include "engines/rag/rag.h"

#include "engines/rag/links.h"

#include <string.h>

void rag_init(struct rag *rag, const gordian_allocator *memory)
{
    memset(rag, 0, sizeof *rag);
    rag->memory = *memory;
    rag->free_process = rag->free_resource = rag->free_hold = rag->free_wait = NONE;
    rag->model = GORDIAN_MODEL_SINGLE_UNIT;
    names_init(&rag->process_names, memory);
    names_init(&rag->resource_names, memory);
}

void rag_free(struct rag *rag)
{
    names_free(&rag->process_names);
    names_free(&rag->resource_names);
    memory_free_all(&rag->memory, rag->wait, rag->holder, rag->processes, rag->processes_more,
                    rag->attributes, rag->resources, rag->resources_more, rag->holds, rag->waits,
                    rag->served);
}

/* ---- processes and resources */

static bool reserve_processes(struct rag *rag, uint32_t wanted)
{
    const struct memory_column columns[] = {
        {&rag->wait, sizeof *rag->wait},
        {&rag->processes, sizeof *rag->processes},
        {&rag->processes_more, sizeof *rag->processes_more},
        {&rag->attributes, sizeof *rag->attributes},
    };
    size_t count = sizeof columns / sizeof *columns - (rag->attributes == NULL);
    return wanted <= RAG_ID_MAX &&
           memory_grow_columns(&rag->memory, columns, count, &rag->process_room, wanted);
}

static bool reserve_resources(struct rag *rag, uint32_t wanted)
{
    const struct memory_column columns[] = {
        {&rag->holder, sizeof *rag->holder},
        {&rag->resources, sizeof *rag->resources},
        {&rag->resources_more, sizeof *rag->resources_more},
    };
    return wanted <= RAG_ID_MAX &&
           memory_grow_columns(&rag->memory, columns, sizeof columns / sizeof *columns,
                               &rag->resource_room, wanted);
}

bool rag_reserve(struct rag *rag, uint32_t processes, uint32_t resources)
{
    return reserve_processes(rag, processes) && reserve_resources(rag, resources);
}

/* A name's text takes its length, a NUL and what rounding up adds. */
#define TEXT_BYTES(length) ((length) + 16)

bool rag_reserve_process(struct rag *rag, size_t name_length)
{
    return reserve_processes(rag, rag->process_limit + 1) &&
           (name_length == 0 ||
            names_reserve(&rag->process_names, rag->process_limit + 1, TEXT_BYTES(name_length)));
}

bool rag_reserve_resource(struct rag *rag, size_t name_length)
{
    return reserve_resources(rag, rag->resource_limit + 1) &&
           (name_length == 0 ||
            names_reserve(&rag->resource_names, rag->resource_limit + 1, TEXT_BYTES(name_length)));
}

bool rag_add_process(struct rag *rag, const char *name, size_t length, uint32_t *id)
{
    bool reuse = rag->free_process != NONE;
    uint32_t fresh = reuse ? rag->free_process : rag->process_limit;
    if (!reuse && !reserve_processes(rag, fresh + 1))
        return false;
    if (name && !names_put(&rag->process_names, fresh, name, length))
        return false;
    struct rag_process *p = &rag->processes[fresh];
    if (reuse)
        rag->free_process = p->held;
    else
        rag->process_limit++;
    uint32_t path = reuse ? p->path : NONE; /* its engine's memory stays with the id */
    rag->wait[fresh] = NONE;
    *p = (struct rag_process){.queue_next = NONE, .queue_prev = NONE, .held = NONE, .path = path};
    rag->processes_more[fresh] = (struct rag_process_more){.born = rag->clock++, .wait_more = NONE};
    if (rag->attributes)
        rag->attributes[fresh] = (struct rag_attributes){.priority = 0, .cost = 1};
    rag->process_count++;
    *id = fresh;
    return true;
}

void rag_remove_process(struct rag *rag, uint32_t process)
{
    names_drop(&rag->process_names, process);
    rag->wait[process] = process | RAG_POOLED;
    rag->processes[process].held = rag->free_process;
    rag->free_process = process;
    rag->process_count--;
}

bool rag_add_resource(struct rag *rag, const char *name, size_t length, uint64_t units,
                      uint32_t *id)
{
    bool reuse = rag->free_resource != NONE;
    uint32_t fresh = reuse ? rag->free_resource : rag->resource_limit;
    if (!reuse && !reserve_resources(rag, fresh + 1))
        return false;
    if (name && !names_put(&rag->resource_names, fresh, name, length))
        return false;
    if (reuse)
        rag->free_resource = rag->resources_more[fresh].holders;
    else
        rag->resource_limit++;
    rag->holder[fresh] = NONE;
    rag->resources[fresh] = (struct rag_resource){NONE, NONE, NONE, NONE};
    rag->resources_more[fresh] =
        (struct rag_resource_more){.total = units,
                                   .free = units,
                                   .holders = NONE,
                                   .flags = RAG_IN_USE | (units == 1 ? RAG_ONE : 0),
                                   .witness = NONE};
    rag->resource_count++;
    *id = fresh;
    return true;
}

void rag_remove_resource(struct rag *rag, uint32_t resource)
{
    names_drop(&rag->resource_names, resource);
    rag->resources_more[resource].flags = 0;
    rag->holder[resource] =
        RAG_REMOVED; /* not free on the fast path (engines/detect/fast_path.c) */
    rag->resources_more[resource].holders = rag->free_resource;
    rag->free_resource = resource;
    rag->resource_count--;
}

/* ---- reserving memory */

/* Reserves one pooled hold edge for every wait edge that exists or may exist: serving a request
 * turns its wait edges into hold edges and must not fail. (One-unit resources store their hold edge
 * themselves.) */
static bool reserve_holds(struct rag *rag, size_t edges)
{
    size_t wanted = (size_t)rag->hold_limit - rag->holds_free_count + rag->wait_edges + edges;
    if (wanted > RAG_ID_MAX)
        return false;
    return memory_grow32(&rag->memory, &rag->holds, &rag->hold_room, (uint32_t)wanted,
                         sizeof *rag->holds);
}

bool rag_reserve_grant(struct rag *rag, size_t edges)
{
    return reserve_holds(rag, edges);
}

bool rag_reserve_block(struct rag *rag, size_t edges)
{
    size_t wanted = (size_t)rag->wait_limit - rag->waits_free_count + edges;
    return wanted <= RAG_ID_MAX &&
           memory_grow32(&rag->memory, &rag->waits, &rag->wait_room, (uint32_t)wanted,
                         sizeof *rag->waits) &&
           reserve_holds(rag, edges);
}

bool rag_reserve_served(struct rag *rag)
{
    return memory_grow(&rag->memory, &rag->served, &rag->served_room,
                       rag->served_count + rag->waiting, sizeof *rag->served);
}

/* ---- pools */

static uint32_t allocate_hold(struct rag *rag)
{
    if (rag->free_hold == NONE)
        return rag->hold_limit++;
    uint32_t index = rag->free_hold;
    rag->free_hold = rag->holds[index].held_next;
    rag->holds_free_count--;
    return index;
}

static uint32_t allocate_wait(struct rag *rag)
{
    if (rag->free_wait == NONE)
        return rag->wait_limit++;
    uint32_t index = rag->free_wait;
    rag->free_wait = rag->waits[index].more;
    rag->waits_free_count--;
    return index;
}

/* ---- hold edges */

/* Finds the hold edge of (process, resource). Walks both lists in parallel, so the shorter one
 * determines the time. */
static uint32_t find_hold_edge(const struct rag *rag, uint32_t process, uint32_t resource)
{
    if (rag->holder[resource] == process)
        return resource;
    uint32_t mine = rag->processes[process].held, theirs = rag->resources_more[resource].holders;
    while (mine != NONE && theirs != NONE) {
        struct rag_edge edge = rag_held(rag, mine);
        if (edge.resource == resource)
            return mine;
        if (rag->holds[theirs & ~RAG_POOLED].process == process)
            return theirs;
        mine = edge.next;
        theirs = rag->holds[theirs & ~RAG_POOLED].holders_next;
    }
    return NONE;
}

uint64_t rag_held_units(const struct rag *rag, uint32_t process, uint32_t resource)
{
    uint32_t ref = find_hold_edge(rag, process, resource);
    return ref == NONE ? 0 : rag_held(rag, ref).units;
}

static void add_pooled_hold(struct rag *rag, uint32_t process, uint32_t resource, uint64_t units)
{
    uint32_t index = allocate_hold(rag), ref = index | RAG_POOLED;
    uint32_t *first = &rag->resources_more[resource].holders;
    rag->holds[index] = (struct rag_hold){.units = units,
                                          .process = process,
                                          .resource = resource,
                                          .holders_next = *first,
                                          .holders_prev = NONE};
    if (*first != NONE)
        rag->holds[*first & ~RAG_POOLED].holders_prev = ref;
    *first = ref;
    link_held(rag, process, ref);
}

void rag_grant(struct rag *rag, uint32_t process, uint32_t resource, uint64_t units)
{
    struct rag_resource_more *more = &rag->resources_more[resource];
    if (more->flags & RAG_ONE) {
        grant_one(rag, process, resource);
        return;
    }
    more->free -= units;
    uint32_t ref = find_hold_edge(rag, process, resource);
    if (ref != NONE) {
        *(ref & RAG_POOLED ? &rag->holds[ref & ~RAG_POOLED].units : &more->held_units) += units;
    } else if (rag->holder[resource] == NONE) {
        more->held_units = units;
        grant_one(rag, process, resource);
    } else {
        add_pooled_hold(rag, process, resource, units);
    }
}

void rag_ungrant(struct rag *rag, uint32_t process, uint32_t resource, uint64_t units)
{
    struct rag_resource_more *more = &rag->resources_more[resource];
    if (more->flags & RAG_ONE) {
        ungrant_one(rag, process, resource);
        return;
    }
    more->free += units;
    uint32_t ref = find_hold_edge(rag, process, resource);
    uint64_t *held = ref & RAG_POOLED ? &rag->holds[ref & ~RAG_POOLED].units : &more->held_units;
    *held -= units;
    if (*held != 0)
        return;
    if (ref & RAG_POOLED) {
        struct rag_hold *h = &rag->holds[ref & ~RAG_POOLED];
        unlink_held(rag, h->process, ref);
        if (h->holders_prev == NONE)
            rag->resources_more[h->resource].holders = h->holders_next;
        else
            rag->holds[h->holders_prev & ~RAG_POOLED].holders_next = h->holders_next;
        if (h->holders_next != NONE)
            rag->holds[h->holders_next & ~RAG_POOLED].holders_prev = h->holders_prev;
        uint32_t index = ref & ~RAG_POOLED;
        rag->holds[index].held_next = rag->free_hold;
        rag->free_hold = index;
        rag->holds_free_count++;
    } else
        ungrant_one(rag, process, resource);
}

void rag_put_hold(struct rag *rag, uint32_t process, uint32_t resource, uint64_t units, bool pooled)
{
    struct rag_resource_more *more = &rag->resources_more[resource];
    if (!(more->flags & RAG_ONE))
        more->free -= units;
    if (pooled) {
        add_pooled_hold(rag, process, resource, units);
    } else {
        more->held_units = units;
        grant_one(rag, process, resource);
    }
}

void rag_order_holders(struct rag *rag, uint32_t resource, const uint32_t *processes, size_t count,
                       uint32_t *refs)
{
    uint32_t *first = &rag->resources_more[resource].holders;
    for (uint32_t ref = *first; ref != NONE; ref = rag->holds[ref & ~RAG_POOLED].holders_next)
        refs[rag->holds[ref & ~RAG_POOLED].process] = ref;
    *first = NONE;
    for (size_t i = count; i-- > 0;) {
        uint32_t ref = refs[processes[i]];
        struct rag_hold *hold = &rag->holds[ref & ~RAG_POOLED];
        hold->holders_next = *first;
        hold->holders_prev = NONE;
        if (*first != NONE)
            rag->holds[*first & ~RAG_POOLED].holders_prev = ref;
        *first = ref;
    }
}

/* ---- wait edges */

void rag_block(struct rag *rag, uint32_t process, const gordian_want *wants, size_t count)
{
    uint32_t *more = &rag->processes_more[process].wait_more;
    block_one(rag, process, wants[0].resource, wants[0].units);
    for (size_t i = count; i-- > 1;) {
        uint32_t index = allocate_wait(rag);
        rag->waits[index] = (struct rag_wait){.units = wants[i].units,
                                              .process = process,
                                              .resource = wants[i].resource,
                                              .more = *more};
        *more = index | RAG_POOLED;
        queue_push(rag, wants[i].resource, index | RAG_POOLED);
        count_wait_edge(rag, wants[i].resource, 1);
    }
}

void rag_unblock(struct rag *rag, uint32_t process)
{
    uint32_t ref = rag->processes_more[process].wait_more;
    unblock_one(rag, process);
    rag->processes_more[process].wait_more = NONE;
    while (ref != NONE) {
        struct rag_wait *w = &rag->waits[ref & ~RAG_POOLED];
        uint32_t next = w->more;
        queue_pull(rag, w->resource, ref);
        count_wait_edge(rag, w->resource, -1);
        uint32_t index = ref & ~RAG_POOLED;
        rag->waits[index].more = rag->free_wait;
        rag->free_wait = index;
        rag->waits_free_count++;
        ref = next;
    }
}

bool rag_fits(const struct rag *rag, uint32_t process)
{
    struct rag_edge edge;
    for (uint32_t ref = process; ref != NONE; ref = edge.next) {
        edge = rag_wanted(rag, ref);
        if (rag_free_units(rag, edge.resource) < edge.units)
            return false;
    }
    return true;
}

bool rag_has_waiters(const struct rag *rag, uint32_t process)
{
    struct rag_edge edge;
    for (uint32_t ref = rag->processes[process].held; ref != NONE; ref = edge.next) {
        edge = rag_held(rag, ref);
        if (rag->resources[edge.resource].queue_head != NONE)
            return true;
    }
    return false;
}
