/* Tarjan's algorithm with its own stack: graphs are deeper than the C stack. */
#include "compose/graph/components.h"

#include "base/error.h"

#include <string.h>

struct search {
    const gordian_graph *graph;
    bool (*counts)(const void *context, const gordian_graph_arc *arc);
    const void *context;
    struct components *parts;
    uint32_t *low;   /* the earliest state known to be in the same component; 0: not seen */
    size_t *arc;     /* the next arc of a state to look at */
    uint32_t *path;  /* states being visited */
    uint32_t *stack; /* states seen whose component is not known yet */
    size_t depth, height;
    uint32_t seen;
};

static void enter(struct search *search, uint32_t state)
{
    search->low[state] = ++search->seen;
    search->arc[state] = search->graph->first[state];
    search->path[search->depth++] = state;
    search->stack[search->height++] = state;
}

/* The state at the end of the path has no arcs left. `number`: when it was seen. */
static void leave(struct search *search, uint32_t number)
{
    struct components *parts = search->parts;
    uint32_t state = search->path[--search->depth];
    uint32_t low = search->low[state];
    if (low == number) {
        uint32_t member;
        do {
            member = search->stack[--search->height];
            parts->of[member] = parts->count;
            parts->members[parts->first[parts->count + 1]++] = member;
        } while (member != state);
        parts->count++;
        parts->first[parts->count + 1] = parts->first[parts->count];
    }
    if (search->depth > 0) {
        uint32_t before = search->path[search->depth - 1];
        if (low < search->low[before])
            search->low[before] = low;
    }
}

/* `order[depth]`: when the states on the path were seen. */
static void visit(struct search *search, uint32_t root, uint32_t *order)
{
    const gordian_graph *graph = search->graph;
    enter(search, root);
    order[0] = search->seen;
    while (search->depth > 0) {
        uint32_t state = search->path[search->depth - 1];
        if (search->arc[state] == graph->first[state + 1]) {
            leave(search, order[search->depth - 1]);
            continue;
        }
        const gordian_graph_arc *arc = &graph->arcs[search->arc[state]++];
        if (!search->counts(search->context, arc) || search->parts->of[arc->to] != GORDIAN_NONE)
            continue;
        if (search->low[arc->to] == 0) {
            enter(search, arc->to);
            order[search->depth - 1] = search->seen;
        } else if (search->low[arc->to] < search->low[state]) {
            search->low[state] = search->low[arc->to];
        }
    }
}

gordian_status components_find(struct components *parts, const gordian_graph *graph,
                               bool (*counts)(const void *context, const gordian_graph_arc *arc),
                               const void *context, gordian_error *error)
{
    const gordian_allocator *memory = &graph->memory;
    size_t states = graph->state_count;
    struct search search = {.graph = graph, .counts = counts, .context = context, .parts = parts};
    *parts = (struct components){.memory = *memory};
    parts->of = memory_alloc(memory, states * sizeof(uint32_t));
    parts->members = memory_alloc(memory, states * sizeof(uint32_t));
    parts->first = memory_zeroed(memory, (states + 2) * sizeof(size_t));
    search.low = memory_zeroed(memory, states * sizeof(uint32_t));
    search.arc = memory_alloc(memory, states * sizeof(size_t));
    search.path = memory_alloc(memory, states * sizeof(uint32_t));
    search.stack = memory_alloc(memory, states * sizeof(uint32_t));
    uint32_t *order = memory_alloc(memory, states * sizeof(uint32_t));
    bool fine = parts->of && parts->members && parts->first && search.low && search.arc &&
                search.path && search.stack && order;
    if (fine) {
        memset(parts->of, 0xff, states * sizeof(uint32_t));
        for (uint32_t s = 0; s < states; s++)
            if (search.low[s] == 0)
                visit(&search, s, order);
    }
    memory_free(memory, search.low);
    memory_free(memory, search.arc);
    memory_free(memory, search.path);
    memory_free(memory, search.stack);
    memory_free(memory, order);
    if (fine)
        return GORDIAN_OK;
    components_free(parts);
    return fail_memory(error);
}

void components_free(struct components *parts)
{
    if (parts->of || parts->members || parts->first) {
        memory_free(&parts->memory, parts->of);
        memory_free(&parts->memory, parts->members);
        memory_free(&parts->memory, parts->first);
    }
    *parts = (struct components){.memory = parts->memory};
}
