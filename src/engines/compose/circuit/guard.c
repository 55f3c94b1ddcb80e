/* Guards as expressions: building and inspecting them. */
#include "engines/compose/circuit/guard.h"

#include "foundation/base/bits.h"
#include "foundation/base/memory.h"

void guards_init(struct guards *guards, const gordian_allocator *memory)
{
    *guards = (struct guards){.memory = *memory};
}

void guards_free(struct guards *guards)
{
    memory_free(&guards->memory, guards->nodes);
    guards->nodes = NULL;
    guards->count = guards->room = 0;
}

static uint32_t push_node(struct guards *guards, enum guard_kind kind, uint32_t left,
                          uint32_t right, uint32_t symbol)
{
    if (guards->count >= GUARD_NONE ||
        !memory_extend(&guards->memory, guards->nodes, guards->room, guards->count))
        return GUARD_NONE;
    guards->nodes[guards->count] =
        (struct guard_node){.kind = (uint8_t)kind, .left = left, .right = right, .symbol = symbol};
    return (uint32_t)guards->count++;
}

uint32_t guard_add(struct guards *guards, enum guard_kind kind, uint32_t left, uint32_t right,
                   uint32_t symbol)
{
    /* Number 0 is TRUE. The first call adds it. */
    if (guards->count == 0 &&
        push_node(guards, GUARD_TRUE, GUARD_NONE, GUARD_NONE, 0) == GUARD_NONE)
        return GUARD_NONE;
    return kind == GUARD_TRUE ? 0 : push_node(guards, kind, left, right, symbol);
}

uint32_t guard_and(struct guards *guards, uint32_t left, uint32_t right)
{
    if (left == GUARD_NONE || right == GUARD_NONE)
        return GUARD_NONE;
    if (guards->nodes[left].kind == GUARD_TRUE || guards->nodes[right].kind == GUARD_FALSE)
        return right;
    if (guards->nodes[right].kind == GUARD_TRUE || guards->nodes[left].kind == GUARD_FALSE)
        return left;
    return guard_add(guards, GUARD_AND, left, right, 0);
}

uint32_t guard_restrict(struct guards *guards, uint32_t guard, const uint64_t *fires)
{
    if (guard == GUARD_NONE)
        return GUARD_NONE;
    struct guard_node node = guards->nodes[guard]; /* a copy, because the array grows meanwhile */
    if (node.kind == TERM_PORT)
        return bits_test(fires, node.symbol)
                   ? guard
                   : guard_add(guards, TERM_NULL, GUARD_NONE, GUARD_NONE, 0);
    uint32_t left = guard_restrict(guards, node.left, fires);
    uint32_t right = guard_restrict(guards, node.right, fires);
    if ((left == GUARD_NONE) != (node.left == GUARD_NONE) ||
        (right == GUARD_NONE) != (node.right == GUARD_NONE))
        return GUARD_NONE; /* no memory */
    if (left == node.left && right == node.right)
        return guard;
    return guard_add(guards, (enum guard_kind)node.kind, left, right, node.symbol);
}

/* Children have smaller numbers than their parents. A long conjunction is left-deep, so the
 * function recurses only into the right side. */
bool guard_writes(const struct guards *guards, uint32_t guard, uint32_t cell)
{
    for (; guards->count > 0 && guard != GUARD_NONE; guard = guards->nodes[guard].left) {
        const struct guard_node *node = &guards->nodes[guard];
        if ((node->kind == TERM_NEXT && node->symbol == cell) ||
            guard_writes(guards, node->right, cell))
            return true;
    }
    return false;
}

uint32_t guard_stray_port(const struct guards *guards, uint32_t guard, const uint64_t *fires)
{
    uint32_t stray = GUARD_NONE;
    for (; guards->count > 0 && guard != GUARD_NONE && stray == GUARD_NONE;
         guard = guards->nodes[guard].left) {
        const struct guard_node *node = &guards->nodes[guard];
        if (node->kind == TERM_PORT && !bits_test(fires, node->symbol))
            return node->symbol;
        stray = guard_stray_port(guards, node->right, fires);
    }
    return stray;
}
