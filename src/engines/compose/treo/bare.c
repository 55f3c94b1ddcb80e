/* Rules without braces: the guard decides which ports fire. A port that does not fire is null.
 * So a != null means that it fires, a = null that it does not, and a = b that both fire or
 * neither does. */
#include "engines/compose/circuit/union_find.h"
#include "engines/compose/treo/treo_internal.h"

#include <string.h>

/* The consequence of the conjuncts of a guard for a port. */
enum implied {
    IMPLIED_NOTHING,
    IMPLIED_FIRES,
    IMPLIED_NULL,
    IMPLIED_BOTH, /* a contradiction */
};

struct bare {
    const struct automaton *automaton;
    uint32_t parent[BARE_PORTS_MAX]; /* ports joined by = */
    uint8_t implied[BARE_PORTS_MAX]; /* enum said; of a root */
    bool mentioned[BARE_PORTS_MAX];
};

static void note_implied(struct bare *bare, uint32_t port, enum implied implied)
{
    bare->implied[union_find_root(bare->parent, port)] |= (uint8_t)implied;
}

/* Derives what an equality with a port implies for the port. */
static void take_equality(struct bare *bare, const struct guard_node *node, bool holds)
{
    const struct guard_node *nodes = bare->automaton->guards.nodes;
    const struct guard_node *port = &nodes[node->left], *other = &nodes[node->right];
    if (port->kind != TERM_PORT) {
        const struct guard_node *swap = port;
        port = other;
        other = swap;
    }
    if (port->kind != TERM_PORT)
        return;
    if (other->kind == TERM_NULL)
        note_implied(bare, port->symbol, holds ? IMPLIED_NULL : IMPLIED_FIRES);
    else if (holds && (other->kind == TERM_CONSTANT || other->kind == TERM_APPLY))
        note_implied(bare, port->symbol, IMPLIED_FIRES);
    else if (holds && other->kind == TERM_PORT) {
        uint32_t left = union_find_root(bare->parent, port->symbol);
        uint32_t right = union_find_root(bare->parent, other->symbol);
        bare->parent[left] = right;
        bare->implied[right] |= bare->implied[left];
    }
}

static void take_conjuncts(struct bare *bare, uint32_t guard)
{
    const struct guard_node *nodes = bare->automaton->guards.nodes;
    while (nodes[guard].kind == GUARD_AND) {
        take_conjuncts(bare, nodes[guard].right);
        guard = nodes[guard].left;
    }
    const struct guard_node *node = &nodes[guard];
    if (node->kind == GUARD_EQUAL)
        take_equality(bare, node, true);
    else if (node->kind == GUARD_NOT && nodes[node->left].kind == GUARD_EQUAL)
        take_equality(bare, &nodes[node->left], false);
    else if (node->kind == GUARD_PREDICATE)
        for (uint32_t list = node->left; list != GUARD_NONE; list = nodes[list].right)
            if (nodes[nodes[list].left].kind == TERM_PORT)
                note_implied(bare, nodes[nodes[list].left].symbol, IMPLIED_FIRES);
}

static void mention_ports(struct bare *bare, uint32_t guard)
{
    const struct guard_node *nodes = bare->automaton->guards.nodes;
    for (; guard != GUARD_NONE; guard = nodes[guard].left) {
        if (nodes[guard].kind == TERM_PORT)
            bare->mentioned[nodes[guard].symbol] = true;
        mention_ports(bare, nodes[guard].right);
    }
}

static void read_guard(struct bare *bare, const struct automaton *automaton, uint32_t guard)
{
    *bare = (struct bare){.automaton = automaton};
    for (uint32_t p = 0; p < automaton->port_count; p++)
        bare->parent[p] = p;
    mention_ports(bare, guard);
    take_conjuncts(bare, guard);
}

void bare_ports(const struct automaton *automaton, uint32_t guard, uint64_t *fires,
                uint64_t *blocked)
{
    struct bare bare;
    read_guard(&bare, automaton, guard);
    for (uint32_t p = 0; p < automaton->port_count; p++) {
        uint8_t implied = bare.implied[union_find_root(bare.parent, p)];
        if (bare.mentioned[p] && implied == IMPLIED_NULL)
            bits_set(blocked, p);
        else if (bare.mentioned[p])
            bits_set(fires, p);
    }
}

/* Lists the roots of the classes of ports that may or may not fire. */
static uint32_t open_classes(const struct bare *bare, uint32_t *roots, bool *contradiction)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < bare->automaton->port_count; p++) {
        *contradiction |= bare->implied[p] == IMPLIED_BOTH && bare->parent[p] == p;
        if (bare->mentioned[p] && bare->parent[p] == p && bare->implied[p] == IMPLIED_NOTHING)
            roots[count++] = p;
    }
    return count;
}

bool bare_choice(const struct automaton *automaton, uint32_t guard, uint32_t choice,
                 uint64_t *fires)
{
    struct bare bare;
    uint32_t roots[BARE_PORTS_MAX];
    bool contradiction = false;
    read_guard(&bare, automaton, guard);
    uint32_t count = open_classes(&bare, roots, &contradiction);
    if (contradiction || count > BARE_OPEN_MAX || choice >> count)
        return false;
    memset(fires, 0, (bits_words(automaton->port_count) + 1) * sizeof *fires);
    for (uint32_t i = 0; i < count; i++)
        bare.implied[roots[i]] = choice >> i & 1 ? IMPLIED_FIRES : IMPLIED_NULL;
    for (uint32_t p = 0; p < automaton->port_count; p++)
        if (bare.mentioned[p] && bare.implied[union_find_root(bare.parent, p)] == IMPLIED_FIRES)
            bits_set(fires, p);
    return true;
}

uint32_t bare_open(const struct automaton *automaton, uint32_t guard)
{
    struct bare bare;
    uint32_t roots[BARE_PORTS_MAX];
    bool contradiction = false;
    read_guard(&bare, automaton, guard);
    return open_classes(&bare, roots, &contradiction);
}
