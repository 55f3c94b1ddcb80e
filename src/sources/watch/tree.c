/* The tree of waiting sessions below their root blockers. */
#include "sources/watch/tree.h"

void tree_open(struct tree *tree, const gordian_allocator *memory)
{
    *tree = (struct tree){.memory = *memory};
    overview_open(&tree->overview, memory);
}

void tree_close(struct tree *tree)
{
    overview_close(&tree->overview);
    memory_free(&tree->memory, tree->lines);
    *tree = (struct tree){.memory = tree->memory};
}

static bool is_deadlocked(const struct verdict *verdict, struct member member)
{
    for (size_t i = 0; i < verdict->deadlock_count; i++)
        for (size_t k = 0; k < verdict->deadlocks[i].member_count; k++)
            if (verdict->deadlocks[i].members[k].source == member.source &&
                verdict->deadlocks[i].members[k].session == member.session)
                return true;
    return false;
}

/* Adds a session and below it all sessions that wait for it and are not listed yet. Uses its own
 * stack, because chains can be long. */
static bool add_branch(struct tree *tree, const struct servers *servers, struct member root,
                       size_t behind, bool *seen, uint32_t *stack, uint32_t *depths)
{
    const struct scan *scan = &servers->sources[root.source]->scan;
    size_t top = 0;
    stack[top++] = root.session;
    seen[root.session] = true;
    depths[root.session] = 0;
    while (top) {
        uint32_t session = stack[--top];
        struct member member = {root.source, session};
        if (!memory_extend(&tree->memory, tree->lines, tree->capacity, tree->count))
            return false;
        tree->lines[tree->count++] =
            (struct tree_line){member, depths[session], is_deadlocked(&servers->verdict, member),
                               session == root.session ? behind : 0};
        for (size_t i = scan->edge_count; i-- > 0;) {
            uint32_t waiter = scan->waits[scan->edges[i].wait].session;
            if (scan->edges[i].holder != session || seen[waiter])
                continue;
            seen[waiter] = true;
            depths[waiter] = depths[session] + 1;
            stack[top++] = waiter;
        }
    }
    return true;
}

/* Adds the sessions of one source: first the sessions below its roots, then the sessions of cycles,
 * which have no root. */
static bool add_source(struct tree *tree, const struct servers *servers, uint32_t source)
{
    const struct scan *scan = &servers->sources[source]->scan;
    size_t count = scan->session_count + 1;
    bool *seen = memory_zeroed(&tree->memory, count);
    uint32_t *words = memory_alloc(&tree->memory, 2 * count * sizeof *words);
    bool done = seen && words;
    for (size_t i = 0; i < tree->overview.root_count && done; i++) {
        const struct root *root = &tree->overview.roots[i];
        if (root->source == source)
            done = add_branch(tree, servers, (struct member){source, root->session}, root->behind,
                              seen, words, words + count);
    }
    for (size_t i = 0; i < scan->wait_count && done; i++)
        if (!seen[scan->waits[i].session])
            done = add_branch(tree, servers, (struct member){source, scan->waits[i].session}, 0,
                              seen, words, words + count);
    memory_free_all(&tree->memory, seen, words);
    return done;
}

bool tree_take(struct tree *tree, const struct servers *servers, enum tree_order order)
{
    bool done = overview_take(&tree->overview, servers->sources, servers->count);
    tree->count = 0;
    overview_sort(&tree->overview, servers->sources, order);
    for (uint32_t i = 0; i < servers->count && done; i++)
        done = add_source(tree, servers, i);
    return done;
}
