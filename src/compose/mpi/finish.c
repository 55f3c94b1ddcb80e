/* What rank 0 does with all states: ways to deadlocks, rows. */
#include "base/error.h"
#include "compose/mpi/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ distances */

/* A search by joint firings from the initial states, and ways back. */
struct ways {
    const struct packed *packed;
    const struct mpi_states *all;
    uint32_t *distances; /* by rank; 0: not reached, 1: initial */
    uint64_t *queue;     /* states in the order they are reached */
    uint64_t count;
    /* The way back at hand. */
    uint32_t wanted;
    bool found;
    uint64_t considered;
    uint64_t best;
    uint64_t *label, *best_label;
};

static void reach(struct ways *ways, uint64_t state, uint32_t distance)
{
    uint64_t rank = mpi_states_rank(ways->all, state);
    if (rank == UINT64_MAX || ways->distances[rank])
        return;
    ways->distances[rank] = distance;
    ways->queue[ways->count++] = state;
}

/* Of those before at the right distance the lowest, of its labels the first. */
static bool consider(void *context, uint64_t from, const uint32_t *chosen, uint32_t count)
{
    struct ways *ways = context;
    const gordian_circuit *circuit = ways->packed->circuit;
    if (++ways->considered > COMPOSE_WALK_MOST && ways->found)
        return false; /* a shortest way as good as any */
    uint64_t rank = mpi_states_rank(ways->all, from);
    if (rank == UINT64_MAX || ways->distances[rank] != ways->wanted ||
        (ways->found && from > ways->best))
        return true;
    packed_label(ways->packed, chosen, count, ways->label);
    if (ways->found && from == ways->best &&
        label_compare(ways->label, ways->best_label, circuit->label_words, circuit->name_count,
                      circuit->value_bits) >= 0)
        return true;
    ways->found = true;
    ways->best = from;
    memcpy(ways->best_label, ways->label, circuit->label_words * sizeof *ways->label);
    return true;
}

static gordian_status describe_one(struct ways *ways, uint64_t state, bool full,
                                   gordian_compose_result *result, gordian_error *error)
{
    const gordian_circuit *circuit = ways->packed->circuit;
    const gordian_allocator *memory = &result->allocator;
    gordian_compose_deadlock *deadlock = &result->found[result->found_count++];
    uint64_t rank = mpi_states_rank(ways->all, state);
    uint32_t distance = ways->distances[rank];
    size_t words = circuit->label_words;
    *deadlock = (gordian_compose_deadlock){
        .number = full ? packed_number(ways->packed, state) : rank, .step_count = distance - 1};
    deadlock->state = memory_alloc(memory, (circuit->factor_count + 1) * sizeof *deadlock->state);
    deadlock->labels =
        memory_alloc(memory, (deadlock->step_count * words + 1) * sizeof *deadlock->labels);
    if (!deadlock->state || !deadlock->labels)
        return fail_memory(error);
    packed_unpack(ways->packed, state, deadlock->state);
    for (size_t i = deadlock->step_count; i-- > 0;) {
        ways->wanted = --distance;
        ways->found = false;
        ways->considered = 0;
        packed_walk_back(ways->packed, state, consider, ways);
        memcpy(deadlock->labels + i * words, ways->best_label, words * sizeof(uint64_t));
        state = ways->best;
    }
    return GORDIAN_OK;
}

static bool is_stuck(const struct packed *packed, uint64_t state)
{
    return compose_enabled_count(packed->firings, (uint32_t)packed->firing_count, state) == 0;
}

static uint64_t count_stuck(const struct packed *packed, const struct mpi_states *all,
                            uint64_t below)
{
    uint64_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        for (uint64_t bits = all->words[i].visited; bits; bits &= bits - 1) {
            uint64_t state = all->words[i].word << 6 | (uint64_t)__builtin_ctzll(bits);
            count += state < below && is_stuck(packed, state);
        }
    return count;
}

static int compare_states(const void *left, const void *right)
{
    const uint64_t *one = left, *other = right;
    return *one < *other ? -1 : *one > *other;
}

/* What the states of queue[first .. last), all at one distance, lead to. False: too many ways. */
static bool step(struct ways *ways, uint64_t first, uint64_t last, uint32_t distance)
{
    const struct packed *packed = ways->packed;
    for (uint64_t i = first; i < last; i++) {
        struct compose_walk walk;
        if (compose_ways(packed->firings, packed->singles, packed->ends, packed->part_count,
                         ways->queue[i]) > COMPOSE_WALK_MOST)
            return false;
        compose_walk_begin(&walk, packed->firings, (uint32_t)packed->firing_count, ways->queue[i]);
        while (compose_walk_next(&walk))
            reach(ways, walk.to, distance + 1);
    }
    return true;
}

/* Distance by distance until enough are found, or everything is reached. */
static gordian_status describe_all(struct ways *ways, size_t wanted, bool full, uint64_t below,
                                   gordian_compose_result *result, gordian_error *error)
{
    const struct packed *packed = ways->packed;
    gordian_status status = GORDIAN_OK;
    for (uint64_t i = 0; i < packed->circuit->initial; i++)
        reach(ways, packed_initial(packed, i), 1);
    uint64_t first = 0;
    for (uint32_t distance = 1; first < ways->count && status == GORDIAN_OK; distance++) {
        uint64_t last = ways->count;
        qsort(ways->queue + first, last - first, sizeof *ways->queue, compare_states);
        for (uint64_t i = first; i < last && result->found_count < wanted && status == GORDIAN_OK;
             i++)
            if (ways->queue[i] < below && is_stuck(packed, ways->queue[i]))
                status = describe_one(ways, ways->queue[i], full, result, error);
        if (result->found_count == wanted)
            break;
        if (!step(ways, first, last, distance)) {
            snprintf(result->note, sizeof result->note, "%s", COMPOSE_WAYS_LEFT_OUT);
            break;
        }
        first = last;
    }
    return status;
}

gordian_status mpi_describe(const struct packed *packed, const struct mpi_states *all,
                            const gordian_compose_options *options, bool full, uint64_t below,
                            gordian_compose_result *result, gordian_error *error)
{
    const gordian_allocator *memory = &packed->memory;
    size_t words = packed->circuit->label_words;
    struct ways ways = {.packed = packed, .all = all};
    result->deadlocks = count_stuck(packed, all, below);
    uint64_t most = options->max_deadlocks;
    size_t wanted = (size_t)(result->deadlocks < most ? result->deadlocks : most);
    if (wanted == 0)
        return GORDIAN_OK;
    ways.distances = memory_zeroed(memory, (all->states + 1) * sizeof *ways.distances);
    ways.queue = memory_alloc(memory, (all->states + 1) * sizeof *ways.queue);
    ways.label = memory_alloc(memory, (words + 1) * sizeof *ways.label);
    ways.best_label = memory_alloc(memory, (words + 1) * sizeof *ways.label);
    result->found = memory_zeroed(&result->allocator, wanted * sizeof *result->found);
    gordian_status status = GORDIAN_OK;
    if (!ways.distances || !ways.queue || !ways.label || !ways.best_label || !result->found)
        status = fail_memory(error);
    else
        status = describe_all(&ways, wanted, full, below, result, error);
    memory_free(memory, ways.distances);
    memory_free(memory, ways.queue);
    memory_free(memory, ways.label);
    memory_free(memory, ways.best_label);
    return status;
}

/* ------------------------------------------------------------------ rows */

/* A state's number among those delivered; UINT64_MAX: it is not. */
static uint64_t number_in(const struct packed *packed, const struct mpi_states *all,
                          uint64_t numbers, uint64_t state)
{
    if (all)
        return mpi_states_rank(all, state);
    uint64_t number = packed_number(packed, state);
    return number < numbers ? number : UINT64_MAX;
}

/* The next firing of a walk, or of the single ones. */
static bool next_firing(struct compose_walk *walk, bool joint)
{
    if (joint)
        return compose_walk_next(walk);
    uint32_t f = walk->depth ? walk->chosen[0] + 1 : 0;
    while (f < walk->count && !compose_enabled(&walk->firings[f], walk->from))
        f++;
    walk->depth = 1;
    walk->chosen[0] = f;
    walk->to = f < walk->count ? walk->from ^ walk->firings[f].flip : walk->from;
    return f < walk->count;
}

/* What is delivered, state after state. */
struct delivery {
    const struct packed *packed;
    const struct mpi_states *all;
    uint64_t numbers;
    bool joint;
    struct packed_row row;
    const gordian_compose_sink *sink;
    const gordian_compose_options *options;
    gordian_compose_result *result;
    gordian_compose_progress progress;
};

static gordian_status deliver_state(struct delivery *d, uint64_t state, uint64_t number,
                                    gordian_error *error)
{
    const struct packed *packed = d->packed;
    size_t words = packed->circuit->label_words, count = 0;
    struct compose_walk walk;
    gordian_status status = GORDIAN_OK;
    compose_walk_begin(&walk, packed->firings, (uint32_t)packed->firing_count, state);
    while (next_firing(&walk, d->joint))
        count += number_in(packed, d->all, d->numbers, walk.to) != UINT64_MAX;
    status = packed_row_reserve(&d->row, count, error);
    if (status != GORDIAN_OK)
        return status;
    compose_walk_begin(&walk, packed->firings, (uint32_t)packed->firing_count, state);
    for (count = 0; next_firing(&walk, d->joint);) {
        uint64_t to = number_in(packed, d->all, d->numbers, walk.to);
        if (to == UINT64_MAX)
            continue;
        packed_walk_label(packed, &walk, d->row.raw_labels + count * words);
        d->row.raw_to[count++] = to;
    }
    d->progress.written += count;
    return packed_row_deliver(&d->row, d->sink, state, number, error);
}

/* Shows how far it is; false: stop. */
static bool goes_on(struct delivery *d, uint64_t number)
{
    if (number % 1024 || !d->options->go_on || d->options->go_on(d->options->context, &d->progress))
        return true;
    d->result->stop = GORDIAN_COMPOSE_STOP_STOPPED;
    return false;
}

static gordian_status deliver_all(struct delivery *d, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    uint64_t number = 0;
    if (!d->all) {
        for (; number < d->numbers && status == GORDIAN_OK && goes_on(d, number); number++)
            status = deliver_state(d, packed_of_number(d->packed, number), number, error);
        return status;
    }
    for (size_t i = 0; i < d->all->count; i++)
        for (uint64_t bits = d->all->words[i].visited; bits; bits &= bits - 1) {
            uint64_t state = d->all->words[i].word << 6 | (uint64_t)__builtin_ctzll(bits);
            if (!goes_on(d, number))
                return GORDIAN_OK;
            status = deliver_state(d, state, number++, error);
            if (status != GORDIAN_OK)
                return status;
        }
    return status;
}

gordian_status mpi_deliver(const struct packed *packed, const struct mpi_states *all,
                           const gordian_compose_options *options, const gordian_compose_sink *sink,
                           gordian_compose_result *result, gordian_error *error)
{
    struct delivery d = {.packed = packed,
                         .all = all,
                         .numbers = result->states,
                         .joint = !options->indivisible,
                         .sink = sink,
                         .options = options,
                         .result = result};
    d.progress = (gordian_compose_progress){
        .states = result->states, .transitions = result->transitions, .pass = 2};
    gordian_status status = packed_row_open(&d.row, packed, error);
    if (status == GORDIAN_OK)
        status = sink->begin(sink->context, packed->circuit, result->states,
                             options->count_transitions ? result->transitions : UINT64_MAX, error);
    if (status == GORDIAN_OK && !result->uncounted)
        status = deliver_all(&d, error);
    packed_row_free(&d.row);
    return status;
}

static uint64_t count_from(const struct packed *packed, const struct mpi_states *all,
                           uint64_t numbers, bool joint, uint64_t state)
{
    struct compose_walk walk;
    uint64_t count = 0;
    compose_walk_begin(&walk, packed->firings, (uint32_t)packed->firing_count, state);
    while (next_firing(&walk, joint))
        count += number_in(packed, all, numbers, walk.to) != UINT64_MAX;
    return count;
}

uint64_t mpi_count_within(const struct packed *packed, const struct mpi_states *all,
                          uint64_t numbers, bool joint)
{
    uint64_t count = 0;
    if (!all) {
        for (uint64_t n = 0; n < numbers; n++)
            count += count_from(packed, all, numbers, joint, packed_of_number(packed, n));
        return count;
    }
    for (size_t i = 0; i < all->count; i++)
        for (uint64_t bits = all->words[i].visited; bits; bits &= bits - 1)
            count += count_from(packed, all, numbers, joint,
                                all->words[i].word << 6 | (uint64_t)__builtin_ctzll(bits));
    return count;
}
