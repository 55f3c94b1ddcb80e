/* Are two graphs the same, number by number? */
#include "compose/oracle.h"

#include <string.h>

static bool same_state(const gordian_graph *left, const gordian_graph *right, uint32_t s)
{
    size_t count = left->first[s + 1] - left->first[s];
    if (right->first[s + 1] - right->first[s] != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const gordian_graph_arc *a = &left->arcs[left->first[s] + i];
        const gordian_graph_arc *b = &right->arcs[right->first[s] + i];
        if (a->to != b->to || strcmp(labels_text(&left->labels, a->label),
                                     labels_text(&right->labels, b->label)) != 0)
            return false;
    }
    return true;
}

bool graph_same(const gordian_graph *left, const gordian_graph *right, uint32_t *state)
{
    uint32_t ignored = 0;
    state = state ? state : &ignored;
    *state = 0;
    uint32_t common =
        left->state_count < right->state_count ? left->state_count : right->state_count;
    while (*state < common && same_state(left, right, *state))
        ++*state;
    return *state == left->state_count && *state == right->state_count &&
           left->initial_count == right->initial_count &&
           (left->initial_count == 0 || memcmp(left->initial, right->initial,
                                               left->initial_count * sizeof *left->initial) == 0);
}
