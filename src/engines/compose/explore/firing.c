/* Finds the indivisible firings by backtracking over the factors that have to move. */
#include "engines/compose/explore/firing.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/sort.h"

#include <string.h>

/* A factor that has to move, and the transition that is being tried. */
struct asked {
    uint32_t factor;
    uint32_t state;      /* of the current transition */
    uint32_t last_state; /* transitions of this state and of all before it are tried */
    size_t transition;   /* the current transition */
    size_t answered;     /* asked[answered] may have names that require more factors to move; those
                            before it have none */
};

struct firing_finder {
    gordian_allocator memory;
    const gordian_circuit *circuit;
    const uint32_t *locals; /* NULL: all states */
    struct asked *asked;
    size_t count, room;
    uint8_t *moves_now;   /* by factor: it has to move */
    uint32_t *settled_by; /* by name: the factor in `asked` that settled it, from 1; 0: none */
    uint64_t *value;      /* by name, if settled: 0: does not fire, otherwise 1 + its datum */
    struct firing_move *moves;
    size_t move_room;
};

void firing_finder_close(struct firing_finder *finder)
{
    if (!finder)
        return;
    gordian_allocator memory = finder->memory;
    memory_free_all(&memory, finder->asked, finder->moves_now, finder->settled_by, finder->value,
                    finder->moves, finder);
}

gordian_status firing_finder_open(struct firing_finder **out, const gordian_circuit *circuit,
                                  const gordian_allocator *memory, gordian_error *error)
{
    struct firing_finder *finder = memory_zeroed(memory, sizeof *finder);
    *out = NULL;
    if (!finder)
        return fail_memory(error);
    finder->memory = *memory;
    finder->circuit = circuit;
    finder->moves_now = memory_zeroed(memory, circuit->factor_count);
    finder->settled_by = memory_zeroed(memory, circuit->name_count * sizeof(uint32_t));
    finder->value = memory_alloc(memory, circuit->name_count * sizeof(uint64_t));
    if (!finder->moves_now || !finder->settled_by || !finder->value) {
        firing_finder_close(finder);
        return fail_memory(error);
    }
    *out = finder;
    return GORDIAN_OK;
}

/* The condition of a transition on a port: 0 if the port must not fire, otherwise 1 + its datum. */
static uint64_t port_value(const gordian_circuit *circuit, const struct shape *shape,
                           const uint64_t *label, uint32_t port)
{
    size_t at = shape->port_count + (size_t)port * circuit->value_bits;
    return bits_test(label, port) ? 1 + label_bits(label, at, circuit->value_bits) : 0;
}

/* Marks the names that asked[which] has settled as open again. */
static void unsettle_names(struct firing_finder *finder, size_t which)
{
    const gordian_circuit *circuit = finder->circuit;
    const struct factor *factor = &circuit->factors[finder->asked[which].factor];
    uint32_t ports = circuit->shapes[factor->shape].port_count;
    for (uint32_t p = 0; p < ports; p++)
        if (finder->settled_by[factor->names[p]] == which + 1)
            finder->settled_by[factor->names[p]] = 0;
}

/* Settles the names of the transition of asked[which]. Returns false if it contradicts settled
 * names. */
static bool settle_names(struct firing_finder *finder, size_t which)
{
    const gordian_circuit *circuit = finder->circuit;
    const struct asked *asked = &finder->asked[which];
    const struct factor *factor = &circuit->factors[asked->factor];
    const struct shape *shape = &circuit->shapes[factor->shape];
    const uint64_t *label = shape->labels + asked->transition * shape->label_words;
    for (uint32_t p = 0; p < shape->port_count; p++) {
        uint32_t name = factor->names[p];
        uint64_t value = port_value(circuit, shape, label, p);
        if (finder->settled_by[name] == 0) {
            finder->settled_by[name] = (uint32_t)which + 1;
            finder->value[name] = value;
        } else if (finder->value[name] != value) {
            unsettle_names(finder, which);
            return false;
        }
    }
    return true;
}

/* Returns a factor that has a firing name of this one and does not move yet; NONE: there is
 * none. */
static uint32_t next_unanswered(const struct firing_finder *finder, const struct asked *asked)
{
    const gordian_circuit *circuit = finder->circuit;
    const struct factor *factor = &circuit->factors[asked->factor];
    uint32_t ports = circuit->shapes[factor->shape].port_count;
    for (uint32_t p = 0; p < ports; p++) {
        uint32_t name = factor->names[p];
        if (finder->value[name] == 0)
            continue;
        for (size_t u = circuit->users_first[name]; u < circuit->users_first[name + 1]; u++)
            if (!finder->moves_now[circuit->users[u]])
                return circuit->users[u];
    }
    return GORDIAN_NONE;
}

/* Adds a factor that has to move. It has no transition yet. */
static bool ask_factor(struct firing_finder *finder, uint32_t factor, size_t answered)
{
    if (!memory_extend(&finder->memory, finder->asked, finder->room, finder->count) ||
        !memory_extend(&finder->memory, finder->moves, finder->move_room, finder->count))
        return false;
    const struct shape *shape = factor_shape(finder->circuit, factor);
    uint32_t first = finder->locals ? finder->locals[factor] : 0;
    uint32_t last = finder->locals ? first : shape->state_count - 1;
    finder->asked[finder->count++] =
        (struct asked){factor, first, last, shape->first[first] - 1, answered};
    finder->moves_now[factor] = 1;
    return true;
}

/* Advances the last factor to its next matching transition. Returns false if there is none; the
 * factor is then removed. */
static bool advance_last(struct firing_finder *finder, bool settled, uint64_t *work)
{
    size_t which = finder->count - 1;
    struct asked *asked = &finder->asked[which];
    const struct shape *shape = factor_shape(finder->circuit, asked->factor);
    if (settled)
        unsettle_names(finder, which);
    for (;;) {
        asked->transition++;
        while (asked->transition == shape->first[asked->state + 1] &&
               asked->state < asked->last_state)
            asked->state++;
        if (asked->transition == shape->first[asked->state + 1])
            break;
        if (work && *work == 0)
            break;
        if (work)
            --*work;
        if (settle_names(finder, which))
            return true;
    }
    finder->moves_now[asked->factor] = 0;
    finder->count--;
    return false;
}

static gordian_status emit_firing(struct firing_finder *finder, firing_found *found, void *context,
                                  gordian_error *error)
{
    for (size_t i = 0; i < finder->count; i++) {
        const struct asked *asked = &finder->asked[i];
        const struct shape *shape = factor_shape(finder->circuit, asked->factor);
        finder->moves[i] = (struct firing_move){asked->factor, asked->state,
                                                shape->to[asked->transition], asked->transition};
    }
    return found(context, finder->moves, finder->count, error);
}

/* Finds all firings whose lowest moving factor is `lowest`. */
static gordian_status find_from(struct firing_finder *finder, uint32_t lowest, uint64_t *work,
                                firing_found *found, void *context, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    bool settled = false; /* the last factor has a transition */
    if (!ask_factor(finder, lowest, 0))
        return fail_memory(error);
    while (finder->count > 0) {
        if (!advance_last(finder, settled, work)) {
            settled = true; /* the factor before it has one */
            continue;
        }
        settled = true;
        struct asked *last = &finder->asked[finder->count - 1];
        uint32_t next = GORDIAN_NONE;
        size_t at = last->answered;
        while (at < finder->count &&
               (next = next_unanswered(finder, &finder->asked[at])) == GORDIAN_NONE)
            at++;
        if (next != GORDIAN_NONE && next < lowest)
            continue; /* found from that factor */
        if (next != GORDIAN_NONE) {
            settled = false;
            if (!ask_factor(finder, next, at))
                status = fail_memory(error);
        } else {
            status = emit_firing(finder, found, context, error);
        }
        if (status != GORDIAN_OK)
            break;
    }
    while (finder->count > 0) { /* after a failure: resets everything for the next search */
        unsettle_names(finder, finder->count - 1);
        finder->moves_now[finder->asked[--finder->count].factor] = 0;
    }
    return status;
}

gordian_status firing_finder_find(struct firing_finder *finder, const uint32_t *locals,
                                  uint64_t *work, firing_found *found, void *context,
                                  gordian_error *error)
{
    finder->locals = locals;
    for (uint32_t f = 0; f < finder->circuit->factor_count; f++)
        TRY(find_from(finder, f, work, found, context, error));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ whole circuit */

static bool move_before(const void *context, const void *left, const void *right)
{
    (void)context;
    return ((const struct firing_move *)left)->factor < ((const struct firing_move *)right)->factor;
}

void moves_keep(const gordian_circuit *circuit, const struct firing_move *moves, size_t count,
                struct firing_move *kept, uint64_t *label)
{
    memcpy(kept, moves, count * sizeof *kept);
    sort_in_place(kept, count, sizeof *kept, move_before, NULL);
    /* label_words words, overwritten. */
    memset(label, 0, circuit->label_words * sizeof *label);
    for (size_t i = 0; i < count; i++) {
        const struct factor *factor = &circuit->factors[kept[i].factor];
        const struct shape *shape = &circuit->shapes[factor->shape];
        const uint64_t *mine = shape->labels + kept[i].transition * shape->label_words;
        for (uint32_t p = 0; p < shape->port_count; p++) {
            uint64_t value = port_value(circuit, shape, mine, p);
            if (value == 0)
                continue;
            bits_set(label, factor->names[p]);
            size_t at = circuit->name_count + (size_t)factor->names[p] * circuit->value_bits;
            label_set_bits(label, at, circuit->value_bits, value - 1);
        }
    }
}

static gordian_status list_firing(void *context, const struct firing_move *moves, size_t count,
                                  gordian_error *error)
{
    struct firings *firings = context;
    const gordian_allocator *memory = &firings->memory;
    size_t words = firings->circuit->label_words;
    if (firings->move_count + count > FIRINGS_MOVES_MAX) {
        firings->complete = false;
        return GORDIAN_STATUS_END;
    }
    if (!memory_grow(memory, &firings->first, &firings->first_room, firings->count + 2,
                     sizeof *firings->first) ||
        !memory_grow(memory, &firings->moves, &firings->move_room, firings->move_count + count,
                     sizeof *firings->moves) ||
        !memory_grow(memory, &firings->labels, &firings->label_room, (firings->count + 1) * words,
                     sizeof *firings->labels))
        return fail_memory(error);
    moves_keep(firings->circuit, moves, count, firings->moves + firings->move_count,
               firings->labels + firings->count * words);
    firings->move_count += count;
    firings->first[++firings->count] = firings->move_count;
    return GORDIAN_OK;
}

static gordian_status make_buckets(struct firings *firings, gordian_error *error)
{
    const gordian_circuit *circuit = firings->circuit;
    size_t buckets = 0;
    firings->bucket_of =
        memory_alloc(&firings->memory, (circuit->factor_count + 1) * sizeof(size_t));
    if (!firings->bucket_of)
        return fail_memory(error);
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        firings->bucket_of[f] = buckets;
        buckets += factor_shape(circuit, f)->state_count;
    }
    firings->bucket_of[circuit->factor_count] = buckets;
    firings->bucket = memory_alloc(&firings->memory, (buckets + 1) * sizeof(size_t));
    if (!firings->bucket)
        return fail_memory(error);
    size_t next = 0;
    for (size_t i = 0; i < firings->count; i++) {
        const struct firing_move *lowest = &firings->moves[firings->first[i]];
        size_t mine = firings->bucket_of[lowest->factor] + lowest->from;
        while (next <= mine)
            firings->bucket[next++] = i;
    }
    while (next <= buckets)
        firings->bucket[next++] = firings->count;
    return GORDIAN_OK;
}

#define WORK_MAX (UINT64_C(1) << 26)

gordian_status firings_open(struct firings *firings, const gordian_circuit *circuit,
                            const gordian_allocator *memory, gordian_error *error)
{
    struct firing_finder *finder;
    uint64_t work = WORK_MAX;
    *firings = (struct firings){.memory = *memory, .circuit = circuit, .complete = true};
    TRY(firing_finder_open(&finder, circuit, memory, error));
    bool fine = memory_grow_zeroed(memory, &firings->first, &firings->first_room, 1,
                                   sizeof *firings->first);
    gordian_status status = fine ? GORDIAN_OK : fail_memory(error);
    THEN(status, firing_finder_find(finder, NULL, &work, list_firing, firings, error));
    firing_finder_close(finder);
    bool too_many = !firings->complete || (status == GORDIAN_OK && work == 0);
    if (status == GORDIAN_OK && !too_many)
        status = make_buckets(firings, error);
    if (too_many || status != GORDIAN_OK)
        firings_free(firings);
    return too_many ? GORDIAN_OK : status;
}

gordian_status firings_list_all(struct firings *firings, const gordian_circuit *circuit,
                                const char *what, gordian_error *error)
{
    TRY(firings_open(firings, circuit, &circuit->memory, error));
    if (firings->complete)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_INPUT, "the circuit has more firings than %s can list", what);
}

void firings_free(struct firings *firings)
{
    memory_free_all(&firings->memory, firings->first, firings->moves, firings->labels,
                    firings->bucket_of, firings->bucket);
    *firings = (struct firings){.memory = firings->memory, .circuit = firings->circuit};
}
