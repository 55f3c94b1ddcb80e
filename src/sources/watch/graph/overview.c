/* Finds root blockers, the longest chain of waits, and the oldest wait. */
#include "sources/watch/graph/overview.h"

#include "foundation/base/sort.h"

void overview_open(struct overview *overview, const gordian_allocator *memory)
{
    *overview = (struct overview){.memory = *memory};
}

void overview_close(struct overview *overview)
{
    memory_free_all(&overview->memory, overview->roots, overview->chain);
    *overview = (struct overview){.memory = overview->memory};
}

/* ------------------------------------------------------------------ roots */

/* Finds sessions that block others and wait for none. */
static bool find_roots(struct overview *overview, const struct scan *scan, uint32_t source,
                       bool *blocks)
{
    for (size_t i = 0; i < scan->edge_count; i++)
        blocks[scan->edges[i].holder] = true;
    for (uint32_t i = 0; i < scan->session_count; i++) {
        if (!blocks[i] || scan->sessions[i].wait != SCAN_NONE)
            continue;
        if (!memory_extend(&overview->memory, overview->roots, overview->root_capacity,
                           overview->root_count))
            return false;
        overview->roots[overview->root_count++] = (struct root){source, i, scan_behind(scan, i)};
    }
    return true;
}

struct root_order {
    struct source *const *sources;
    enum tree_order order;
};

/* Sorts idle sessions first, because they do nothing while they block others. */
static int compare_roots(const void *left, const void *right, void *context)
{
    const struct root_order *by = context;
    const struct root *a = left, *b = right;
    const struct session *one = &by->sources[a->source]->scan.sessions[a->session];
    const struct session *other = &by->sources[b->source]->scan.sessions[b->session];
    if (by->order == TREE_AGE && one->transaction_s != other->transaction_s)
        return one->transaction_s > other->transaction_s ? -1 : 1;
    if (by->order == TREE_NAME && one->pid != other->pid)
        return one->pid < other->pid ? -1 : 1;
    if (one->idle != other->idle)
        return one->idle ? -1 : 1;
    if (a->behind != b->behind)
        return a->behind > b->behind ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    return (a->session > b->session) - (a->session < b->session);
}

void overview_sort(struct overview *overview, struct source *const *sources, enum tree_order order)
{
    struct root_order by = {sources, order};
    sort_with(overview->roots, overview->root_count, sizeof *overview->roots, compare_roots, &by);
}

/* ------------------------------------------------------------------ chains */

/* Computes the length of the longest chain ahead of each session. In a cycle this has no end, so
 * the number of rounds is limited to the number of sessions. */
static void measure_depths(const struct scan *scan, uint32_t *depths)
{
    bool more = true;
    for (size_t round = 0; more && round < scan->session_count; round++) {
        more = false;
        for (size_t i = 0; i < scan->edge_count; i++) {
            const struct edge *edge = &scan->edges[i];
            uint32_t *depth = &depths[scan->waits[edge->wait].session];
            if (*depth < depths[edge->holder] + 1) {
                *depth = depths[edge->holder] + 1;
                more = true;
            }
        }
    }
}

static bool take_chain(struct overview *overview, const struct scan *scan, uint32_t source,
                       const uint32_t *depths, uint32_t last)
{
    size_t length = (size_t)depths[last] + 1;
    if (length <= overview->chain_count)
        return true;
    if (!memory_grow(&overview->memory, &overview->chain, &overview->chain_capacity, length,
                     sizeof *overview->chain))
        return false;
    overview->chain_source = source;
    overview->chain_count = 0;
    for (uint32_t next = last; next != SCAN_NONE && overview->chain_count < length;) {
        uint32_t session = next;
        overview->chain[overview->chain_count++] = session;
        next = SCAN_NONE;
        for (size_t i = 0; i < scan->edge_count && next == SCAN_NONE; i++)
            if (scan->waits[scan->edges[i].wait].session == session &&
                depths[scan->edges[i].holder] + 1 == depths[session])
                next = scan->edges[i].holder;
    }
    return true;
}

static bool survey_scan(struct overview *overview, const struct scan *scan, uint32_t source)
{
    size_t count = scan->session_count;
    uint32_t *depths = memory_zeroed(&overview->memory, (count + 1) * sizeof *depths);
    bool *blocks = memory_zeroed(&overview->memory, count + 1);
    bool done = depths && blocks && find_roots(overview, scan, source, blocks);
    uint32_t last = 0;
    if (done)
        measure_depths(scan, depths);
    for (uint32_t i = 1; i < count && done; i++)
        last = depths[i] > depths[last] ? i : last;
    done = done && (count == 0 || depths[last] == 0 || depths[last] >= count ||
                    take_chain(overview, scan, source, depths, last));
    for (size_t i = 0; i < scan->wait_count; i++)
        if (scan->waits[i].age_s > overview->oldest_s)
            overview->oldest_s = scan->waits[i].age_s;
    overview->waiting += scan->wait_count;
    memory_free_all(&overview->memory, depths, blocks);
    return done;
}

bool overview_take(struct overview *overview, struct source *const *sources, size_t count)
{
    overview->root_count = overview->chain_count = overview->waiting = 0;
    overview->oldest_s = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!survey_scan(overview, &sources[i]->scan, i))
            return false;
    overview_sort(overview, sources, TREE_BEHIND);
    return true;
}
