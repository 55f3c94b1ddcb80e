/* Control flow graph of a PTX function: basic blocks, dominators, and loops. */
#include "engines/ptx/ptx_internal.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ blocks */

static bool ends_block(const struct ptx_instruction *instruction)
{
    return instruction->flow == PTX_BRANCH || instruction->flow == PTX_RETURN;
}

static gordian_status add_block(struct ptx_graph *graph, uint32_t first, uint32_t label,
                                gordian_error *error)
{
    if (!memory_grow(&graph->memory, &graph->blocks, &graph->block_room, graph->block_count + 1,
                     sizeof *graph->blocks))
        return fail_memory(error);
    graph->blocks[graph->block_count++] = (struct ptx_block){
        .first = first, .end = first, .label = label, .order = PTX_NONE, .above = PTX_NONE};
    return GORDIAN_OK;
}

/* `next`: a block; PTX_NONE: the end. */
static gordian_status add_next(struct ptx_graph *graph, uint32_t block, uint32_t next,
                               gordian_error *error)
{
    if (next != PTX_NONE && next == graph->avoid)
        return GORDIAN_OK;
    if (next == graph->stop)
        next = PTX_NONE;
    if (!memory_grow(&graph->memory, &graph->nexts, &graph->next_room, graph->next_count + 1,
                     sizeof *graph->nexts))
        return fail_memory(error);
    graph->nexts[graph->next_count++] = next;
    graph->blocks[block].next_count++;
    return GORDIAN_OK;
}

/* The fall-through comes first, then the targets. */
static gordian_status link_block(struct ptx_graph *graph, const uint32_t *block_of_label,
                                 uint32_t index, gordian_error *error)
{
    const struct ptx_function *function = graph->function;
    struct ptx_block *block = &graph->blocks[index];
    const struct ptx_instruction *last = ptx_last(graph, index);
    uint32_t behind = index + 1 < graph->block_count ? index + 1 : PTX_NONE;
    block->first_next = (uint32_t)graph->next_count;
    if (!last || !ends_block(last) || last->guard != PTX_NONE)
        TRY(add_next(graph, index, behind, error));
    if (last && last->flow == PTX_RETURN)
        TRY(add_next(graph, index, PTX_NONE, error));
    for (uint32_t t = 0; last && t < last->target_count; t++)
        TRY(add_next(graph, index, block_of_label[function->targets[last->first_target + t]],
                     error));
    return GORDIAN_OK;
}

static gordian_status make_basic_blocks(struct ptx_graph *graph, const struct ptx_ends *ends,
                                        gordian_error *error)
{
    const struct ptx_function *function = graph->function;
    uint32_t *of_label =
        memory_alloc(&graph->memory, (function->label_count + 1) * sizeof *of_label);
    if (!of_label)
        return fail_memory(error);
    for (size_t i = 0; i < function->label_count; i++)
        of_label[i] = PTX_NONE; /* refers to the end */
    /* Labels are in the order of their instructions. */
    size_t count = function->code_count, label = 0;
    gordian_status status = GORDIAN_OK;
    for (uint32_t i = 0; i < count && status == GORDIAN_OK; i++) {
        bool fresh = i == 0 || ends_block(&function->code[i - 1]);
        for (; label < function->label_count && function->labels[label].instruction == i &&
               status == GORDIAN_OK;
             label++) {
            status = add_block(graph, i, (uint32_t)label, error);
            of_label[label] = (uint32_t)graph->block_count - 1;
            fresh = false;
        }
        if (fresh && status == GORDIAN_OK)
            status = add_block(graph, i, PTX_NONE, error);
        if (status == GORDIAN_OK)
            graph->blocks[graph->block_count - 1].end = i + 1;
    }
    if (status == GORDIAN_OK) {
        graph->entry = ends->from == PTX_NONE ? 0 : of_label[ends->from];
        graph->stop = ends->to == PTX_NONE ? PTX_NONE : of_label[ends->to];
        graph->avoid = ends->avoid == PTX_NONE ? PTX_NONE : of_label[ends->avoid];
        if (graph->entry == PTX_NONE)
            status = ptx_fail(graph->ptx, function->labels[ends->from].name, error,
                              "there is no instruction after this label");
    }
    for (uint32_t b = 0; b < graph->block_count && status == GORDIAN_OK; b++)
        status = link_block(graph, of_label, b, error);
    memory_free(&graph->memory, of_label);
    return status;
}

const struct ptx_instruction *ptx_last(const struct ptx_graph *graph, uint32_t block)
{
    const struct ptx_block *at = &graph->blocks[block];
    return at->end > at->first ? &graph->function->code[at->end - 1] : NULL;
}

/* ------------------------------------------------------------------ order and dominators */

struct visit {
    uint32_t block, edge;
};

/* Sorts the blocks in reverse postorder, without recursion. */
static gordian_status sort_basic_blocks(struct ptx_graph *graph, gordian_error *error)
{
    size_t count = graph->block_count, depth = 0, left = count;
    struct visit *stack = memory_alloc(&graph->memory, (count + 1) * sizeof *stack);
    uint8_t *seen = memory_zeroed(&graph->memory, count);
    uint32_t *order = memory_alloc(&graph->memory, count * sizeof *order);
    gordian_status status = stack && seen && order ? GORDIAN_OK : fail_memory(error);
    if (status == GORDIAN_OK) {
        stack[depth++] = (struct visit){graph->entry, 0};
        seen[graph->entry] = 1;
    }
    while (status == GORDIAN_OK && depth > 0) {
        struct visit *top = &stack[depth - 1];
        const struct ptx_block *block = &graph->blocks[top->block];
        if (top->edge == block->next_count) {
            order[--left] = top->block;
            depth--;
            continue;
        }
        uint32_t next = graph->nexts[block->first_next + top->edge++];
        if (next != PTX_NONE && !seen[next]) {
            seen[next] = 1;
            stack[depth++] = (struct visit){next, 0};
        }
    }
    if (status == GORDIAN_OK) {
        graph->sorted_count = count - left;
        memmove(order, order + left, graph->sorted_count * sizeof *order);
        for (uint32_t i = 0; i < graph->sorted_count; i++)
            graph->blocks[order[i]].order = i;
        graph->sorted = order;
        order = NULL;
    }
    memory_free_all(&graph->memory, stack, seen, order);
    return status;
}

static uint32_t common_dominator(const struct ptx_graph *graph, uint32_t a, uint32_t b)
{
    const struct ptx_block *blocks = graph->blocks;
    while (a != b) {
        while (blocks[a].order > blocks[b].order)
            a = blocks[a].above;
        while (blocks[b].order > blocks[a].order)
            b = blocks[b].above;
    }
    return a;
}

/* Dominators by the algorithm of Cooper, Harvey and Kennedy: iterates until nothing changes, which
 * takes one or two passes on real code. */
static void find_dominators(struct ptx_graph *graph)
{
    struct ptx_block *blocks = graph->blocks;
    blocks[graph->entry].above = graph->entry;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < graph->sorted_count; i++) {
            uint32_t from = graph->sorted[i];
            for (uint32_t e = 0; e < blocks[from].next_count; e++) {
                uint32_t to = graph->nexts[blocks[from].first_next + e];
                if (to == PTX_NONE || to == graph->entry)
                    continue;
                uint32_t above = blocks[to].above == PTX_NONE
                                     ? from
                                     : common_dominator(graph, blocks[to].above, from);
                changed |= above != blocks[to].above;
                blocks[to].above = above;
            }
        }
    }
}

bool ptx_above(const struct ptx_graph *graph, uint32_t above, uint32_t block)
{
    while (graph->blocks[block].order > graph->blocks[above].order)
        block = graph->blocks[block].above;
    return block == above;
}

/* ------------------------------------------------------------------ loops */

bool ptx_in_loop(const struct ptx_graph *graph, uint32_t block, uint32_t loop)
{
    uint32_t at = graph->blocks[block].loop;
    while (graph->loops[at].depth > graph->loops[loop].depth)
        at = graph->loops[at].outer;
    return at == loop;
}

static gordian_status refuse_irreducible(const struct ptx_graph *graph, uint32_t from, uint32_t to,
                                         gordian_error *error)
{
    const struct ptx_function *function = graph->function;
    const struct ptx_instruction *last = ptx_last(graph, from);
    uint32_t branch = last ? last->name : function->code[graph->blocks[from].first].name;
    return ptx_fail(graph->ptx, branch, error,
                    "this closes a loop (at line %u) that is also entered in the middle: give the "
                    "path with --path",
                    graph->ptx->tokens[function->code[graph->blocks[to].first].name].line);
}

/* Computes the predecessors of all blocks. */
static bool reverse_edges(struct ptx_graph *graph)
{
    uint32_t *first = memory_zeroed(&graph->memory, (graph->block_count + 2) * sizeof *first);
    uint32_t *from = memory_alloc(&graph->memory, (graph->next_count + 1) * sizeof *from);
    graph->first_before = first;
    graph->befores = from;
    if (!first || !from)
        return false;
    for (size_t e = 0; e < graph->next_count; e++)
        if (graph->nexts[e] != PTX_NONE)
            first[graph->nexts[e] + 2]++;
    for (size_t b = 2; b < graph->block_count + 2; b++)
        first[b] += first[b - 1];
    for (uint32_t b = 0; b < graph->block_count; b++)
        for (uint32_t e = 0; e < graph->blocks[b].next_count; e++) {
            uint32_t to = graph->nexts[graph->blocks[b].first_next + e];
            if (to != PTX_NONE)
                from[first[to + 1]++] = b;
        }
    return true;
}

/* Adds the blocks to the loop that reach `end` without passing the head. */
static void fill_loop(struct ptx_graph *graph, uint32_t loop, uint32_t end, uint32_t *stack)
{
    size_t depth = 0;
    if (graph->blocks[end].loop != loop) {
        graph->blocks[end].loop = loop;
        stack[depth++] = end;
    }
    while (depth > 0) {
        uint32_t block = stack[--depth];
        for (uint32_t i = graph->first_before[block]; i < graph->first_before[block + 1]; i++) {
            uint32_t from = graph->befores[i];
            if (graph->blocks[from].order == PTX_NONE || graph->blocks[from].loop == loop)
                continue;
            graph->blocks[from].loop = loop;
            stack[depth++] = from;
        }
    }
}

static gordian_status add_loop(struct ptx_graph *graph, uint32_t head, gordian_error *error)
{
    uint32_t outer = graph->blocks[head].loop;
    if (!memory_grow(&graph->memory, &graph->loops, &graph->loop_room, graph->loop_count + 1,
                     sizeof *graph->loops))
        return fail_memory(error);
    struct ptx_loop loop = {.head = head, .outer = outer, .depth = 0};
    if (graph->loop_count > 0)
        loop.depth = graph->loops[outer].depth + 1;
    if (loop.depth > PTX_LOOP_DEPTH)
        return ptx_fail(graph->ptx, graph->function->code[graph->blocks[head].first].name, error,
                        "loops more than %u deep", PTX_LOOP_DEPTH);
    graph->loops[graph->loop_count++] = loop;
    return GORDIAN_OK;
}

/* Finds the loop with head `head`. Heads come in reverse postorder, so outer loops come first. */
static gordian_status find_loop(struct ptx_graph *graph, uint32_t head, uint32_t *stack,
                                bool strict, gordian_error *error)
{
    uint32_t loop = 0;
    for (uint32_t i = graph->first_before[head]; i < graph->first_before[head + 1]; i++) {
        uint32_t from = graph->befores[i];
        if (graph->blocks[from].order == PTX_NONE ||
            graph->blocks[from].order < graph->blocks[head].order)
            continue;
        if (!ptx_above(graph, head, from)) {
            if (strict)
                return refuse_irreducible(graph, from, head, error);
            continue;
        }
        if (!loop) {
            TRY(add_loop(graph, head, error));
            loop = (uint32_t)graph->loop_count - 1;
            graph->blocks[head].loop = loop;
        }
        fill_loop(graph, loop, from, stack);
    }
    return GORDIAN_OK;
}

uint32_t ptx_block_of(const struct ptx_graph *graph, uint32_t instruction)
{
    /* The blocks are in the order of their instructions. */
    size_t low = 0, high = graph->block_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (graph->blocks[middle].first <= instruction)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

gordian_status ptx_graph_open(struct ptx_graph *graph, const gordian_ptx *ptx,
                              const struct ptx_function *function, const struct ptx_ends *ends,
                              bool strict, gordian_error *error)
{
    *graph = (struct ptx_graph){.memory = ptx->memory,
                                .ptx = ptx,
                                .function = function,
                                .stop = PTX_NONE,
                                .avoid = PTX_NONE};
    if (function->code_count == 0)
        return ptx_fail(ptx, function->name, error, "'%.*s' has no instructions",
                        (int)ptx->tokens[function->name].length, ptx_text(ptx, function->name));
    gordian_status status = make_basic_blocks(graph, ends, error);
    THEN(status, sort_basic_blocks(graph, error));
    if (status == GORDIAN_OK) {
        find_dominators(graph);
        uint32_t *stack = memory_alloc(&graph->memory, (graph->block_count + 1) * sizeof *stack);
        status = stack && reverse_edges(graph) ? GORDIAN_OK : fail_memory(error);
        THEN(status, add_loop(graph, graph->entry, error));
        if (status == GORDIAN_OK)
            graph->loops[0].passes = 1;
        for (size_t i = 0; i < graph->sorted_count && status == GORDIAN_OK; i++)
            status = find_loop(graph, graph->sorted[i], stack, strict, error);
        memory_free(&graph->memory, stack);
    }
    if (status != GORDIAN_OK)
        ptx_graph_close(graph);
    return status;
}

void ptx_graph_close(struct ptx_graph *graph)
{
    if (!graph->ptx)
        return;
    memory_free_all(&graph->memory, graph->blocks, graph->nexts, graph->sorted, graph->first_before,
                    graph->befores, graph->loops);
    *graph = (struct ptx_graph){0};
}
