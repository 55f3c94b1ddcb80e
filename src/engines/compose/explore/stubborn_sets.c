/* Partial-order reduction with stubborn sets, and symmetry reduction (stubborn_sets.h). */
#include "engines/compose/explore/stubborn_sets.h"

#include "engines/compose/circuit/record_table.h"
#include "engines/compose/engine/engine.h"
#include "engines/compose/explore/firing.h"
#include "engines/compose/explore/symmetry.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

#define SEEDS_MAX   16u /* sets tried per state */
#define INITIAL_MAX (UINT64_C(1) << 20)
#define ASK_EVERY   1024u

struct reduction {
    const gordian_circuit *circuit;
    const gordian_compose_options *options;
    gordian_compose_result *result;
    gordian_allocator memory;
    struct firings firings;
    struct symmetry symmetry;
    size_t factors;

    /* Firings by (factor, local state): firings that need the state, and firings that lead to it
     * from another state. */
    size_t *place_of; /* by factor: index of its state 0 among all local states */
    size_t *needs_first, *makes_first;
    uint32_t *needs, *makes;

    /* States in order of discovery, with their predecessors. */
    struct record_table states; /* `factors` numbers each */
    uint32_t *parent;           /* GORDIAN_NONE: initial */
    uint32_t *by;               /* the firing from the predecessor */
    size_t parent_room, by_room;

    /* Of the current state. */
    uint32_t *here;
    uint32_t *met;     /* by firing: number of its automata in the state it needs */
    uint32_t *touched; /* firings with at least one; then: */
    size_t touched_count;
    uint32_t *enabled;
    size_t enabled_count;
    uint32_t *stamp; /* by firing: the number of the set it is in */
    uint32_t *work, *best;
    size_t best_count;
    uint32_t set;

    /* With symmetries, all deadlocks. Each one found stands for its images. */
    struct record_table dead; /* `factors` numbers each */
    uint32_t *whose, *as;
    gordian_error *error;
};

/* ------------------------------------------------------------------ lists of firings */

static bool is_counted_move(const struct firing_move *move, bool makes)
{
    return !makes || move->from != move->to;
}

static size_t place_of_move(const struct reduction *r, const struct firing_move *move, bool makes)
{
    return r->place_of[move->factor] + (makes ? move->to : move->from);
}

static bool list_firings(struct reduction *r, bool makes, size_t places)
{
    size_t *first = memory_zeroed(&r->memory, (places + 2) * sizeof *first);
    uint32_t *list = memory_alloc(&r->memory, (r->firings.move_count + 1) * sizeof *list);
    *(makes ? &r->makes_first : &r->needs_first) = first;
    *(makes ? &r->makes : &r->needs) = list;
    if (!first || !list)
        return false;
    size_t *next = first + 1; /* shifted by one: the counts become the starts */
    for (size_t m = 0; m < r->firings.move_count; m++)
        if (is_counted_move(&r->firings.moves[m], makes))
            next[place_of_move(r, &r->firings.moves[m], makes) + 1]++;
    for (size_t p = 1; p <= places; p++)
        next[p] += next[p - 1];
    for (size_t i = 0; i < r->firings.count; i++)
        for (size_t m = r->firings.first[i]; m < r->firings.first[i + 1]; m++)
            if (is_counted_move(&r->firings.moves[m], makes))
                list[next[place_of_move(r, &r->firings.moves[m], makes)]++] = (uint32_t)i;
    return true;
}

static gordian_status open_reduction(struct reduction *r)
{
    size_t places = 0, firings = r->firings.count;
    r->place_of = memory_alloc(&r->memory, (r->factors + 1) * sizeof *r->place_of);
    for (uint32_t f = 0; f < r->factors && r->place_of; f++) {
        r->place_of[f] = places;
        places += factor_shape(r->circuit, f)->state_count;
    }
    r->here = memory_alloc(&r->memory, (r->factors + 1) * sizeof *r->here);
    r->met = memory_zeroed(&r->memory, (firings + 1) * sizeof *r->met);
    r->touched = memory_alloc(&r->memory, (firings + 1) * sizeof *r->touched);
    r->enabled = memory_alloc(&r->memory, (firings + 1) * sizeof *r->enabled);
    r->stamp = memory_zeroed(&r->memory, (firings + 1) * sizeof *r->stamp);
    r->work = memory_alloc(&r->memory, (firings + 1) * sizeof *r->work);
    r->best = memory_alloc(&r->memory, (firings + 1) * sizeof *r->best);
    r->whose = memory_alloc(&r->memory, (r->factors + 1) * sizeof *r->whose);
    r->as = memory_alloc(&r->memory, (r->factors + 1) * sizeof *r->as);
    if (!r->place_of || !r->here || !r->met || !r->touched || !r->enabled || !r->stamp ||
        !r->work || !r->best || !r->whose || !r->as || !list_firings(r, false, places) ||
        !list_firings(r, true, places))
        return fail_memory(r->error);
    return symmetry_open(&r->symmetry, &r->firings, &r->memory, r->error);
}

/* ------------------------------------------------------------------ states */

static const uint32_t *state_locals(const struct reduction *r, uint32_t state)
{
    return (const uint32_t *)r->states.list + state * r->factors;
}

/* Without automata there is no list. */
static void copy_locals(const struct reduction *r, uint32_t *to, const uint32_t *from)
{
    if (r->factors > 0)
        memcpy(to, from, r->factors * sizeof *to);
}

/* Is another one within the limits? If not, the result has the reason. */
static bool within_limits(struct reduction *r, uint32_t count, uint64_t most)
{
    uint64_t held =
        (uint64_t)r->states.count * (r->factors + 4) + (uint64_t)r->dead.count * r->factors;
    uint64_t bytes = (held + r->factors + 4) * sizeof(uint32_t);
    if ((most && count >= most) || count == GORDIAN_NONE - 1)
        r->result->stop = GORDIAN_COMPOSE_STOP_STATES;
    else if (r->options->max_memory && bytes > r->options->max_memory)
        r->result->stop = GORDIAN_COMPOSE_STOP_MEMORY;
    else
        return true;
    return false;
}

/* Adds a state, or the image that represents it, unless it is known or a limit is reached. */
static gordian_status reach_reduced(struct reduction *r, uint32_t *locals, uint32_t parent,
                                    uint32_t by)
{
    symmetry_settle(&r->symmetry, locals, NULL);
    uint32_t count = r->states.count;
    uint64_t hash;
    if (record_table_find(&r->states, locals, &hash) != GORDIAN_NONE ||
        r->result->stop != GORDIAN_COMPOSE_STOP_COMPLETE ||
        !within_limits(r, r->states.count, r->options->max_states))
        return GORDIAN_OK;
    if (!memory_extend(&r->memory, r->parent, r->parent_room, count) ||
        !memory_extend(&r->memory, r->by, r->by_room, count) ||
        !record_table_add(&r->states, locals, hash))
        return fail_memory(r->error);
    r->parent[count] = parent;
    r->by[count] = by;
    return GORDIAN_OK;
}

/* Adds every combination of initial states. */
static gordian_status reach_initial_locals(struct reduction *r)
{
    for (uint64_t i = 0; i < r->circuit->initial; i++) {
        uint64_t rest = i;
        for (uint32_t f = 0; f < r->factors; f++) {
            uint32_t initial = factor_shape(r->circuit, f)->initial_count;
            r->here[f] = (uint32_t)(rest % initial);
            rest /= initial;
        }
        TRY(reach_reduced(r, r->here, GORDIAN_NONE, 0));
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ enabled firings */

static void find_enabled_firings(struct reduction *r)
{
    for (size_t i = 0; i < r->touched_count; i++)
        r->met[r->touched[i]] = 0;
    r->touched_count = r->enabled_count = 0;
    for (uint32_t f = 0; f < r->factors; f++) {
        size_t place = r->place_of[f] + r->here[f];
        for (size_t i = r->needs_first[place]; i < r->needs_first[place + 1]; i++) {
            uint32_t t = r->needs[i];
            if (r->met[t]++ == 0)
                r->touched[r->touched_count++] = t;
            if (r->met[t] == r->firings.first[t + 1] - r->firings.first[t])
                r->enabled[r->enabled_count++] = t;
        }
    }
}

static bool is_enabled(const struct reduction *r, uint32_t t)
{
    return r->met[t] == r->firings.first[t + 1] - r->firings.first[t];
}

/* ------------------------------------------------------------------ stubborn sets */

static size_t add_to_set(struct reduction *r, uint32_t t, size_t count)
{
    if (r->stamp[t] == r->set)
        return count;
    r->stamp[t] = r->set;
    r->work[count] = t;
    return count + 1;
}

/* For an enabled firing: adds all firings that need one of its automata in its current state. */
static size_t add_rivals(struct reduction *r, uint32_t t, size_t count)
{
    for (size_t m = r->firings.first[t]; m < r->firings.first[t + 1]; m++) {
        size_t place = place_of_move(r, &r->firings.moves[m], false);
        for (size_t i = r->needs_first[place]; i < r->needs_first[place + 1]; i++)
            count = add_to_set(r, r->needs[i], count);
    }
    return count;
}

/* For a firing that is not enabled: chooses the automaton in a wrong state for which the fewest
 * firings lead to the right state, and adds these. */
static size_t add_helpers(struct reduction *r, uint32_t t, size_t count)
{
    size_t fewest = SIZE_MAX, at = 0;
    for (size_t m = r->firings.first[t]; m < r->firings.first[t + 1]; m++) {
        const struct firing_move *move = &r->firings.moves[m];
        size_t place = place_of_move(r, move, false);
        size_t helpers = r->makes_first[place + 1] - r->makes_first[place];
        if (r->here[move->factor] != move->from && helpers < fewest) {
            fewest = helpers;
            at = place;
        }
    }
    for (size_t i = r->makes_first[at]; i < r->makes_first[at + 1]; i++)
        count = add_to_set(r, r->makes[i], count);
    return count;
}

/* Grows a set from one enabled firing. Keeps it if it has fewer enabled firings than the best
 * one. */
static void try_seed(struct reduction *r, uint32_t seed)
{
    size_t count, enabled = 0;
    if (++r->set == 0) { /* the stamps have wrapped around */
        memset(r->stamp, 0, (r->firings.count + 1) * sizeof *r->stamp);
        r->set = 1;
    }
    count = add_to_set(r, seed, 0);
    for (size_t at = 0; at < count; at++) {
        uint32_t t = r->work[at];
        if (is_enabled(r, t) && ++enabled >= r->best_count)
            return;
        count = is_enabled(r, t) ? add_rivals(r, t, count) : add_helpers(r, t, count);
    }
    r->best_count = 0;
    for (size_t at = 0; at < count; at++)
        if (is_enabled(r, r->work[at]))
            r->best[r->best_count++] = r->work[at];
}

/* ------------------------------------------------------------------ paths to deadlocks */

static void fire_at(const struct reduction *r, uint32_t t, uint32_t *locals)
{
    for (size_t m = r->firings.first[t]; m < r->firings.first[t + 1]; m++)
        locals[r->firings.moves[m].factor] = r->firings.moves[m].to;
}

static gordian_status describe_state(struct reduction *r, uint32_t state)
{
    gordian_compose_result *result = r->result;
    gordian_compose_deadlock found;
    size_t steps = 0;
    for (uint32_t s = state; r->parent[s] != GORDIAN_NONE; s = r->parent[s])
        steps++;
    uint32_t *chain = memory_alloc(&r->memory, (steps + 1) * sizeof *chain);
    if (!chain || !compose_deadlock_alloc(result, r->circuit, steps, &found)) {
        memory_free(&r->memory, chain);
        return fail_memory(r->error);
    }
    found.number = state;
    size_t at = steps;
    for (uint32_t s = state; at > 0; s = r->parent[s])
        chain[--at] = s;
    /* A stored state may be an image of the real one. On the path, as[f] is the automaton in the
     * position that f has in the stored state. The real firing is the image of the stored one.
     * Normalizing its successor permutes the automata once more. */
    size_t words = r->circuit->label_words;
    uint32_t *locals = r->here;
    for (uint32_t f = 0; f < r->factors; f++)
        r->as[f] = f;
    for (size_t i = 0; i < steps; i++) {
        uint32_t t = r->by[chain[i]];
        copy_locals(r, locals, state_locals(r, r->parent[chain[i]]));
        fire_at(r, t, locals);
        uint32_t fired = r->symmetry.count > 0 ? symmetry_firing(&r->symmetry, t, r->as) : t;
        memcpy(found.labels + i * words, firing_label(&r->firings, fired),
               words * sizeof(uint64_t));
        symmetry_settle(&r->symmetry, locals, r->whose);
        for (uint32_t f = 0; f < r->factors; f++)
            found.state[f] = r->as[r->whose[f]];
        copy_locals(r, r->as, found.state);
    }
    for (uint32_t f = 0; f < r->factors; f++)
        found.state[r->as[f]] = state_locals(r, state)[f];
    result->found[result->found_count++] = found;
    memory_free(&r->memory, chain);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ deadlocks */

static gordian_status count_new_deadlock(struct reduction *r, const uint32_t *locals)
{
    uint64_t hash;
    if (record_table_find(&r->dead, locals, &hash) != GORDIAN_NONE ||
        !within_limits(r, r->dead.count, 0))
        return GORDIAN_OK;
    if (!record_table_add(&r->dead, locals, hash))
        return fail_memory(r->error);
    r->result->deadlocks++;
    return GORDIAN_OK;
}

/* Counts a deadlock and all its images that have not been counted yet. */
static gordian_status count_images(struct reduction *r, const uint32_t *locals)
{
    uint32_t next = r->dead.count;
    TRY(count_new_deadlock(r, locals));
    for (; next < r->dead.count; next++)
        for (size_t p = 0; p < r->symmetry.count; p++) {
            copy_locals(r, r->whose, (uint32_t *)r->dead.list + next * r->factors);
            symmetry_apply(&r->symmetry, p, r->whose);
            TRY(count_new_deadlock(r, r->whose));
        }
    return GORDIAN_OK;
}

static gordian_status record_deadlock(struct reduction *r, uint32_t state)
{
    gordian_compose_result *result = r->result;
    size_t most = r->options->max_deadlocks;
    uint64_t before = result->deadlocks;
    gordian_status status = GORDIAN_OK;
    if (r->symmetry.count > 0)
        status = count_images(r, state_locals(r, state));
    else
        result->deadlocks++;
    if (status != GORDIAN_OK || result->found_count >= most || result->deadlocks == before)
        return status;
    if (!result->found)
        result->found = memory_zeroed(&result->allocator, most * sizeof *result->found);
    return result->found ? describe_state(r, state) : fail_memory(r->error);
}

/* ------------------------------------------------------------------ the search */

static gordian_status expand_reduced(struct reduction *r, uint32_t state)
{
    copy_locals(r, r->here, state_locals(r, state));
    find_enabled_firings(r);
    if (r->enabled_count == 0)
        return record_deadlock(r, state);
    memcpy(r->best, r->enabled, r->enabled_count * sizeof *r->best);
    r->best_count = r->enabled_count;
    for (size_t i = 0; i < r->enabled_count && i < SEEDS_MAX && r->best_count > 1; i++)
        try_seed(r, r->enabled[i]);
    for (size_t i = 0; i < r->best_count; i++) {
        copy_locals(r, r->here, state_locals(r, state));
        fire_at(r, r->best[i], r->here);
        TRY(reach_reduced(r, r->here, state, r->best[i]));
    }
    return GORDIAN_OK;
}

static bool may_go_on(struct reduction *r, uint32_t done)
{
    const gordian_compose_progress now = {
        .states = r->states.count, .waiting = r->states.count - done, .pass = 1};
    if (done % ASK_EVERY != 0 || compose_goes_on(r->options, &now))
        return true;
    r->result->stop = GORDIAN_COMPOSE_STOP_STOPPED;
    return false;
}

static gordian_status search_reduced(struct reduction *r)
{
    uint32_t done = 0;
    gordian_status status = reach_initial_locals(r);
    for (; done < r->states.count && status == GORDIAN_OK && may_go_on(r, done); done++)
        status = expand_reduced(r, done);
    r->result->states = done; /* states that were expanded */
    r->result->engine = "reduced";
    if (status != GORDIAN_STATUS_MEMORY || r->result->deadlocks == 0)
        return status;
    r->result->stop = GORDIAN_COMPOSE_STOP_MEMORY; /* the deadlocks found remain */
    return GORDIAN_OK;
}

gordian_status compose_reduced(const gordian_circuit *circuit,
                               const gordian_compose_options *options,
                               gordian_compose_result *result, gordian_error *error)
{
    struct reduction r = {.circuit = circuit,
                          .options = options,
                          .result = result,
                          .memory = memory_allocator(options->allocator),
                          .factors = circuit->factor_count,
                          .error = error};
    *result = (gordian_compose_result){.allocator = r.memory};
    r.states.memory = r.dead.memory = r.memory;
    r.states.size = r.dead.size = r.factors * sizeof(uint32_t);
    if (circuit->initial > INITIAL_MAX)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "too many initial states to reduce");
    gordian_status status = firings_open(&r.firings, circuit, &r.memory, error);
    if (status != GORDIAN_OK)
        return status;
    if (!r.firings.complete)
        status = fail(error, GORDIAN_STATUS_UNAVAILABLE,
                      "the circuit has more firings than can be listed: it cannot be reduced");
    THEN(status, open_reduction(&r));
    THEN(status, search_reduced(&r));
    symmetry_close(&r.symmetry);
    record_table_free(&r.states);
    record_table_free(&r.dead);
    memory_free_all(&r.memory, r.whose, r.as, r.place_of, r.needs_first, r.makes_first, r.needs,
                    r.makes, r.parent, r.by);
    memory_free_all(&r.memory, r.here, r.met, r.touched, r.enabled, r.stamp, r.work, r.best);
    firings_free(&r.firings);
    if (status != GORDIAN_OK)
        gordian_compose_result_free(result);
    return status;
}
