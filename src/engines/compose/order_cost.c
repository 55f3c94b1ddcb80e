/* What composing two at a time would cost: the parts that an order goes through. */
#include "engines/compose/engine/engine.h"
#include "engines/compose/engine/engines.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

/* The first factors of an order, as a circuit of their own: everything is borrowed from the whole
 * but what depends on who is in it. Names that nobody in it has simply never fire. */
struct part {
    gordian_circuit circuit;
    const gordian_circuit *whole;
    gordian_allocator memory;
    uint32_t *inside; /* by name: how many in the part have it */
    uint32_t open;
};

static void part_free(struct part *part)
{
    memory_free_all(&part->memory, part->circuit.factors, part->circuit.users_first,
                    part->circuit.users, part->inside);
}

/* Room for as many factors as the whole has. */
static gordian_status part_make(struct part *part, const gordian_circuit *whole,
                                const gordian_allocator *wanted, gordian_error *error)
{
    gordian_circuit *circuit = &part->circuit;
    *part = (struct part){.circuit = *whole, .whole = whole, .memory = memory_allocator(wanted)};
    const gordian_allocator *memory = &part->memory;
    circuit->factor_count = 0;
    circuit->factors = memory_alloc(memory, (whole->factor_count + 1) * sizeof *circuit->factors);
    circuit->users_first =
        memory_alloc(memory, ((size_t)whole->name_count + 1) * sizeof *circuit->users_first);
    circuit->users =
        memory_alloc(memory, (whole->users_first[whole->name_count] + 1) * sizeof *circuit->users);
    part->inside = memory_zeroed(memory, ((size_t)whole->name_count + 1) * sizeof *part->inside);
    if (circuit->factors && circuit->users_first && circuit->users && part->inside)
        return GORDIAN_OK;
    part_free(part);
    return fail_memory(error);
}

/* What circuit_seal works out. */
static void part_settle(struct part *part)
{
    gordian_circuit *circuit = &part->circuit;
    /* Who has each name: counted, then filled in from behind. */
    for (uint32_t n = 0; n <= circuit->name_count; n++)
        circuit->users_first[n] = 0;
    for (uint32_t f = 0; f < circuit->factor_count; f++)
        for (uint32_t p = 0; p < factor_shape(circuit, f)->port_count; p++)
            circuit->users_first[circuit->factors[f].names[p]]++;
    for (uint32_t n = 1; n <= circuit->name_count; n++)
        circuit->users_first[n] += circuit->users_first[n - 1];
    for (uint32_t f = (uint32_t)circuit->factor_count; f-- > 0;)
        for (uint32_t p = 0; p < factor_shape(circuit, f)->port_count; p++)
            circuit->users[--circuit->users_first[circuit->factors[f].names[p]]] = f;
    circuit->whole = circuit->initial = 1;
    circuit->whole_fits = true;
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        const struct shape *shape = factor_shape(circuit, f);
        circuit->whole_fits &=
            !__builtin_mul_overflow(circuit->whole, shape->state_count, &circuit->whole);
        if (__builtin_mul_overflow(circuit->initial, shape->initial_count, &circuit->initial))
            circuit->initial = UINT64_MAX;
    }
}

/* Each part is composed from the beginning, so a long order costs its square. What the parts took
 * in memory tells how much was done; beyond this they are not looked at any more. */
#define EXPLAIN_MOST (UINT64_C(1) << 29)

static gordian_status measure_part(const struct part *part, uint64_t max_states,
                                   const gordian_allocator *memory, gordian_compose_stage *stage,
                                   uint64_t *spent, gordian_error *error)
{
    const struct compose_engine *engine;
    gordian_compose_options options;
    gordian_compose_result result = {0};
    gordian_compose_options_init(&options);
    options.max_states = max_states;
    options.max_deadlocks = 0;
    options.allocator = memory;
    TRY(compose_choose(&part->circuit, &options, &engine, error));
    TRY(engine->run(&part->circuit, &options, NULL, &result, error));
    if (result.stop == GORDIAN_COMPOSE_STOP_COMPLETE) {
        stage->states = result.states;
        stage->transitions = result.transitions;
    }
    *spent += result.memory;
    gordian_compose_result_free(&result);
    return GORDIAN_OK;
}

gordian_status gordian_compose_explain(const gordian_circuit *circuit, const uint32_t *order,
                                       uint64_t max_states, gordian_compose_stage *stages,
                                       const gordian_allocator *memory, gordian_error *error)
{
    struct part part;
    bool fits = true;
    uint64_t spent = 0;
    gordian_compose_result chosen = {.allocator = memory_allocator(memory)};
    gordian_status status =
        compose_take_order(circuit, &(gordian_compose_options){.order = order}, &chosen, error);
    THEN(status, part_make(&part, circuit, memory, error));
    if (status != GORDIAN_OK) {
        gordian_compose_result_free(&chosen);
        return status;
    }
    for (size_t i = 0; i < circuit->factor_count && status == GORDIAN_OK; i++) {
        /* One more factor. Open names are those that somebody in the part shares with somebody to
         * come. */
        uint32_t factor = chosen.order[i];
        const gordian_circuit *whole = part.whole;
        for (uint32_t p = 0; p < factor_shape(whole, factor)->port_count; p++) {
            uint32_t name = whole->factors[factor].names[p];
            size_t users = whole->users_first[name + 1] - whole->users_first[name];
            part.open += part.inside[name]++ == 0;
            part.open -= part.inside[name] == users;
        }
        part.circuit.factors[part.circuit.factor_count++] = whole->factors[factor];
        stages[i] = (gordian_compose_stage){chosen.order[i], UINT64_MAX, UINT64_MAX, part.open};
        if (!fits)
            continue;
        part_settle(&part);
        status = measure_part(&part, max_states, memory, &stages[i], &spent, error);
        fits = stages[i].states != UINT64_MAX && spent < EXPLAIN_MOST;
    }
    part_free(&part);
    gordian_compose_result_free(&chosen);
    return status;
}
