/* The last steps of an engine that has all transitions in memory (explicit.h). */
#include "engines/compose/graph/explicit.h"

#include "engines/compose/circuit/union_find.h"
#include "engines/compose/explore/packing.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/sort.h"

#include <string.h>

/* The local states of a mixed-radix number. */
static void explicit_locals(const gordian_circuit *circuit, uint64_t number, uint32_t *locals)
{
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        uint32_t states = factor_shape(circuit, f)->state_count;
        locals[f] = (uint32_t)(number % states);
        number /= states;
    }
}

/* Are the moving factors of this label connected by names that fire? `group`: buffer with one
 * number per factor. */
static bool label_is_indivisible(const gordian_circuit *circuit, const uint64_t *label,
                                 uint32_t *group)
{
    for (uint32_t f = 0; f < circuit->factor_count; f++)
        group[f] = f;
    uint32_t any = GORDIAN_NONE;
    for (uint32_t n = 0; n < circuit->name_count; n++) {
        if (!label_fires(label, n))
            continue;
        for (size_t u = circuit->users_first[n]; u < circuit->users_first[n + 1]; u++) {
            any = circuit->users[circuit->users_first[n]];
            group[union_find_root(group, circuit->users[u])] = union_find_root(group, any);
        }
    }
    for (uint32_t n = 0; n < circuit->name_count; n++)
        if (label_fires(label, n))
            for (size_t u = circuit->users_first[n]; u < circuit->users_first[n + 1]; u++)
                if (union_find_root(group, circuit->users[u]) != union_find_root(group, any))
                    return false;
    return true;
}

/* ------------------------------------------------------------------ work */

struct finishing {
    struct explicit_product *product;
    const gordian_compose_options *options;
    gordian_compose_result *result;
    const gordian_allocator *memory;
    size_t *first;   /* steps of state s, sorted: first[s] .. first[s+1]-1 */
    uint32_t *queue; /* states in order of discovery */
    uint32_t found;
    uint32_t *level; /* distance from the initial states in joint steps; NONE: not reached */
    uint32_t *rank;  /* the number of a state that is delivered; NONE: it is not */
    uint32_t *group;
    uint32_t *locals;
    bool *counted; /* by step: it is counted and delivered */
};

static int compare_steps(const void *left, const void *right, void *context)
{
    const struct explicit_step *a = left, *b = right;
    const gordian_circuit *circuit = context;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    int labels = label_compare(a->label, b->label, circuit->label_words, circuit->name_count,
                               circuit->value_bits);
    return labels ? labels : (a->to > b->to) - (a->to < b->to);
}

static void sort_steps(struct finishing *finishing)
{
    struct explicit_product *product = finishing->product;
    const gordian_circuit *circuit = product->circuit;
    sort_with(product->steps, product->step_count, sizeof *product->steps, compare_steps,
              (void *)circuit);
    for (size_t i = 0; i < product->step_count; i++) {
        finishing->first[product->steps[i].from + 1]++;
        finishing->counted[i] =
            !finishing->options->indivisible ||
            label_is_indivisible(circuit, product->steps[i].label, finishing->group);
    }
    for (uint32_t s = 0; s < product->state_count; s++)
        finishing->first[s + 1] += finishing->first[s];
}

static bool is_initial(const struct finishing *finishing, uint32_t state)
{
    const gordian_circuit *circuit = finishing->product->circuit;
    explicit_locals(circuit, state, finishing->locals);
    return initial_is(circuit, finishing->locals);
}

/* Adds a reachable state unless the limit is reached. */
static void reach_explicit(struct finishing *finishing, uint32_t state, uint32_t level)
{
    uint64_t most = finishing->options->full ? 0 : finishing->options->max_states;
    if (finishing->level[state] != GORDIAN_NONE)
        return;
    if (most && finishing->found >= most) {
        finishing->result->stop = GORDIAN_COMPOSE_STOP_STATES;
        return;
    }
    finishing->level[state] = level;
    finishing->queue[finishing->found++] = state;
}

static void explore_reachable(struct finishing *finishing)
{
    const struct explicit_product *product = finishing->product;
    memset(finishing->level, 0xff, product->state_count * sizeof(uint32_t));
    for (uint32_t s = 0; s < product->state_count; s++)
        if (is_initial(finishing, s))
            reach_explicit(finishing, s, 0);
    for (uint32_t at = 0; at < finishing->found; at++) {
        uint32_t s = finishing->queue[at];
        for (size_t i = finishing->first[s]; i < finishing->first[s + 1]; i++)
            reach_explicit(finishing, product->steps[i].to, finishing->level[s] + 1);
    }
}

/* Decides which states are delivered, and counts. */
static void count_delivered(struct finishing *finishing)
{
    const struct explicit_product *product = finishing->product;
    const gordian_compose_options *options = finishing->options;
    gordian_compose_result *result = finishing->result;
    uint32_t most = product->state_count;
    if (options->full && options->max_states && options->max_states < most) {
        most = (uint32_t)options->max_states;
        result->stop = GORDIAN_COMPOSE_STOP_STATES;
    }
    for (uint32_t s = 0; s < product->state_count; s++) {
        bool reached = finishing->level[s] != GORDIAN_NONE;
        bool kept = options->full ? s < most : reached;
        finishing->rank[s] = kept ? (uint32_t)result->states++ : GORDIAN_NONE;
        result->deadlocks += kept && reached && finishing->first[s] == finishing->first[s + 1];
    }
    for (size_t i = 0; i < product->step_count; i++) {
        const struct explicit_step *step = &product->steps[i];
        finishing->counted[i] &= finishing->rank[step->from] != GORDIAN_NONE &&
                                 finishing->rank[step->to] != GORDIAN_NONE;
        result->transitions += options->count_transitions && finishing->counted[i];
    }
}

/* ------------------------------------------------------------------ deadlocks */

/* Finds the predecessor of a state. Among the steps from the previous level it is the step from the
 * smallest state, and among its steps the one with the smallest label. The steps are sorted in this
 * order. */
static const struct explicit_step *step_before(const struct finishing *finishing, uint32_t state)
{
    const struct explicit_product *product = finishing->product;
    for (size_t i = 0; i < product->step_count; i++) {
        const struct explicit_step *step = &product->steps[i];
        if (step->to == state && finishing->level[step->from] != GORDIAN_NONE &&
            finishing->level[step->from] + 1 == finishing->level[state])
            return step;
    }
    return NULL;
}

static gordian_status describe_explicit(const struct finishing *finishing, uint32_t state,
                                        gordian_compose_deadlock *deadlock, gordian_error *error)
{
    const gordian_circuit *circuit = finishing->product->circuit;
    size_t words = circuit->label_words, steps = finishing->level[state];
    if (!compose_deadlock_alloc(finishing->result, circuit, steps, deadlock))
        return fail_memory(error);
    deadlock->number = finishing->rank[state];
    explicit_locals(circuit, state, deadlock->state);
    for (size_t i = steps; i-- > 0;) {
        const struct explicit_step *step = step_before(finishing, state);
        memcpy(deadlock->labels + i * words, step->label, words * sizeof(uint64_t));
        state = step->from;
    }
    return GORDIAN_OK;
}

/* Describes the nearest deadlocks. The queue is sorted by level, but within a level not by
 * number. */
static gordian_status describe_deadlocks(struct finishing *finishing, gordian_error *error)
{
    gordian_compose_result *result = finishing->result;
    const uint32_t *queue = finishing->queue;
    uint64_t most = finishing->options->max_deadlocks;
    size_t wanted = (size_t)(result->deadlocks < most ? result->deadlocks : most);
    gordian_status status = GORDIAN_OK;
    if (wanted == 0)
        return GORDIAN_OK;
    result->found = memory_alloc(&result->allocator, wanted * sizeof *result->found);
    if (!result->found)
        return fail_memory(error);
    for (uint32_t at = 0, end; result->found_count < wanted && status == GORDIAN_OK; at = end) {
        uint32_t level = finishing->level[queue[at]];
        for (end = at; end < finishing->found && finishing->level[queue[end]] == level;)
            end++;
        sort_u32(finishing->queue + at, end - at);
        for (uint32_t i = at; i < end && result->found_count < wanted && status == GORDIAN_OK;
             i++) {
            uint32_t s = queue[i];
            if (finishing->rank[s] == GORDIAN_NONE ||
                finishing->first[s] != finishing->first[s + 1])
                continue;
            status = describe_explicit(finishing, s, &result->found[result->found_count], error);
            result->found_count += status == GORDIAN_OK;
        }
    }
    return status;
}

/* ------------------------------------------------------------------ delivery */

static gordian_status deliver_row(const struct finishing *finishing, uint32_t state,
                                  uint64_t *labels, uint64_t *to, const gordian_compose_sink *sink,
                                  gordian_error *error)
{
    const struct explicit_product *product = finishing->product;
    size_t words = product->circuit->label_words;
    gordian_compose_row row = {.number = finishing->rank[state], .labels = labels, .to = to};
    for (size_t i = finishing->first[state]; i < finishing->first[state + 1]; i++) {
        if (!finishing->counted[i])
            continue;
        memcpy(labels + row.count * words, product->steps[i].label, words * sizeof *labels);
        to[row.count++] = finishing->rank[product->steps[i].to];
    }
    row.initial = is_initial(finishing, state); /* also sets locals */
    row.state = finishing->locals;
    return sink->row(sink->context, &row, error);
}

static gordian_status deliver_rows(const struct finishing *finishing,
                                   const gordian_compose_sink *sink, gordian_error *error)
{
    const struct explicit_product *product = finishing->product;
    size_t most = 0;
    for (uint32_t s = 0; s < product->state_count; s++)
        if (finishing->first[s + 1] - finishing->first[s] > most)
            most = finishing->first[s + 1] - finishing->first[s];
    uint64_t *labels =
        memory_alloc(finishing->memory, most * product->circuit->label_words * sizeof *labels);
    uint64_t *to = memory_alloc(finishing->memory, most * sizeof *to);
    gordian_status status = labels && to ? GORDIAN_OK : fail_memory(error);
    THEN(status, sink->begin(sink->context, product->circuit, finishing->result->states,
                             finishing->options->count_transitions ? finishing->result->transitions
                                                                   : UINT64_MAX,
                             error));
    for (uint32_t s = 0; s < product->state_count && status == GORDIAN_OK; s++)
        if (finishing->rank[s] != GORDIAN_NONE)
            status = deliver_row(finishing, s, labels, to, sink, error);
    memory_free_all(finishing->memory, labels, to);
    return status;
}

static bool allocate_finishing(struct finishing *finishing)
{
    size_t states = finishing->product->state_count;
    size_t factors = finishing->product->circuit->factor_count;
    finishing->first = memory_zeroed(finishing->memory, (states + 2) * sizeof(size_t));
    finishing->queue = memory_alloc(finishing->memory, states * sizeof(uint32_t));
    finishing->level = memory_alloc(finishing->memory, states * sizeof(uint32_t));
    finishing->rank = memory_alloc(finishing->memory, states * sizeof(uint32_t));
    finishing->group = memory_alloc(finishing->memory, factors * sizeof(uint32_t));
    finishing->locals = memory_alloc(finishing->memory, factors * sizeof(uint32_t));
    finishing->counted = memory_alloc(finishing->memory, finishing->product->step_count);
    return finishing->first && finishing->queue && finishing->level && finishing->rank &&
           finishing->group && finishing->locals && finishing->counted;
}

gordian_status explicit_finish(struct explicit_product *product,
                               const gordian_compose_options *options,
                               const gordian_compose_sink *sink, gordian_compose_result *result,
                               const gordian_allocator *memory, gordian_error *error)
{
    struct finishing finishing = {
        .product = product, .options = options, .result = result, .memory = memory};
    gordian_status status = allocate_finishing(&finishing) ? GORDIAN_OK : fail_memory(error);
    if (status == GORDIAN_OK) {
        sort_steps(&finishing);
        explore_reachable(&finishing);
        count_delivered(&finishing);
        status = describe_deadlocks(&finishing, error);
    }
    if (status == GORDIAN_OK && sink)
        status = deliver_rows(&finishing, sink, error);
    memory_free_all(memory, finishing.first, finishing.queue, finishing.level, finishing.rank,
                    finishing.group, finishing.locals, finishing.counted);
    return status;
}
