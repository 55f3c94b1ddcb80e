/* The built-in components as automata (primitives.h). */
#include "engines/compose/circuit/primitives.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <stdio.h>
#include <string.h>

/* An automaton under construction, and the transition that is being described. */
struct primitive_builder {
    struct automaton *automaton;
    uint32_t ins, outs, argument;
    uint64_t *fires;
    uint32_t guard;
    gordian_status status;
    gordian_error *error;
};

static void fire_port(struct primitive_builder *builder, uint32_t port)
{
    if (builder->status == GORDIAN_OK)
        bits_set(builder->fires, port);
}

static uint32_t primitive_term(struct primitive_builder *builder, enum guard_kind kind,
                               uint32_t symbol)
{
    return guard_add(&builder->automaton->guards, kind, GUARD_NONE, GUARD_NONE, symbol);
}

/* Adds a condition to the guard, negated if `negated`. */
static void demand(struct primitive_builder *builder, uint32_t condition, bool negated)
{
    struct guards *guards = &builder->automaton->guards;
    if (negated && condition != GUARD_NONE)
        condition = guard_add(guards, GUARD_NOT, condition, GUARD_NONE, 0);
    builder->guard = guard_and(guards, builder->guard, condition);
    if (builder->guard == GUARD_NONE)
        builder->status = fail_memory(builder->error);
}

/* Adds left = right to the guard, or left != right if `negated`. */
static void demand_equal(struct primitive_builder *builder, uint32_t left, uint32_t right,
                         bool negated)
{
    if (builder->status != GORDIAN_OK)
        return;
    bool fine = left != GUARD_NONE && right != GUARD_NONE;
    demand(builder,
           fine ? guard_add(&builder->automaton->guards, GUARD_EQUAL, left, right, 0) : GUARD_NONE,
           negated);
}

static void demand_ports_equal(struct primitive_builder *builder, uint32_t left, uint32_t right)
{
    demand_equal(builder, primitive_term(builder, TERM_PORT, left),
                 primitive_term(builder, TERM_PORT, right), false);
}

/* Requires that the predicate of the argument holds at a port, or does not hold. */
static void demand_predicate(struct primitive_builder *builder, uint32_t port, bool negated)
{
    struct guards *guards = &builder->automaton->guards;
    if (builder->status != GORDIAN_OK)
        return;
    uint32_t node = guard_add(guards, TERM_PORT, GUARD_NONE, GUARD_NONE, port);
    if (node != GUARD_NONE)
        node = guard_add(guards, TERM_LIST, node, GUARD_NONE, 0);
    if (node != GUARD_NONE)
        node = guard_add(guards, GUARD_PREDICATE, node, GUARD_NONE, builder->argument);
    demand(builder, node, negated);
}

/* Adds the described transition to the only control state and starts a new one. */
static void finish_transition(struct primitive_builder *builder)
{
    THEN(builder->status, automaton_transition(builder->automaton, 0, 0, builder->fires,
                                               builder->guard, builder->error));
    if (builder->status == GORDIAN_OK)
        memset(builder->fires, 0, automaton_words(builder->automaton) * sizeof(uint64_t));
    builder->guard = 0;
}

/* ------------------------------------------------------------------ circuits without memory */

/* One transition that fires every port, with any data. */
static void build_drain(struct primitive_builder *builder)
{
    for (uint32_t p = 0; p < builder->ins + builder->outs; p++)
        fire_port(builder, p);
    finish_transition(builder);
}

static void build_lossysync(struct primitive_builder *builder)
{
    fire_port(builder, 0);
    fire_port(builder, 1);
    demand_ports_equal(builder, 0, 1);
    finish_transition(builder);
    fire_port(builder, 0);
    finish_transition(builder);
}

/* Each port fires on its own. */
static void build_async(struct primitive_builder *builder)
{
    for (uint32_t p = 0; p < builder->ins + builder->outs; p++) {
        fire_port(builder, p);
        finish_transition(builder);
    }
}

static void build_filter(struct primitive_builder *builder)
{
    fire_port(builder, 0);
    fire_port(builder, 1);
    demand_predicate(builder, 0, false);
    demand_ports_equal(builder, 0, 1);
    finish_transition(builder);
    fire_port(builder, 0);
    demand_predicate(builder, 0, true);
    finish_transition(builder);
}

static void build_transform(struct primitive_builder *builder)
{
    struct guards *guards = &builder->automaton->guards;
    uint32_t ins = builder->ins, list = GUARD_NONE;
    bool fine = true;
    for (uint32_t p = ins; p-- > 0 && fine;) {
        uint32_t port = primitive_term(builder, TERM_PORT, p);
        fire_port(builder, p);
        if (port != GUARD_NONE)
            list = guard_add(guards, TERM_LIST, port, list, 0);
        fine = port != GUARD_NONE && list != GUARD_NONE;
    }
    fire_port(builder, ins);
    uint32_t applied =
        fine ? guard_add(guards, TERM_APPLY, list, GUARD_NONE, builder->argument) : GUARD_NONE;
    demand_equal(builder, primitive_term(builder, TERM_PORT, ins), applied, false);
    finish_transition(builder);
}

/* A node: a datum from any input goes to all outputs. */
static void build_node(struct primitive_builder *builder)
{
    for (uint32_t i = 0; i < builder->ins; i++) {
        fire_port(builder, i);
        for (uint32_t o = 0; o < builder->outs; o++) {
            fire_port(builder, builder->ins + o);
            demand_ports_equal(builder, builder->ins + o, i);
        }
        finish_transition(builder);
    }
}

/* An exclusive router: the input goes to one of the outputs. */
static void build_router(struct primitive_builder *builder)
{
    for (uint32_t o = 0; o < builder->outs; o++) {
        fire_port(builder, 0);
        fire_port(builder, 1 + o);
        demand_ports_equal(builder, 1 + o, 0);
        finish_transition(builder);
    }
}

/* ------------------------------------------------------------------ circuits with cells */

enum when {
    WHEN_EMPTY,
    WHEN_FULL,
    ALWAYS,
};

static void add_cell(struct primitive_builder *builder, uint32_t initial)
{
    THEN(builder->status, automaton_cell(builder->automaton, "m", initial, NULL, builder->error));
}

/* Reads a datum from port 0 into the cell. */
static void take_in(struct primitive_builder *builder, enum when when)
{
    if (when != ALWAYS)
        demand_equal(builder, primitive_term(builder, TERM_NOW, 0),
                     primitive_term(builder, TERM_NULL, 0), when == WHEN_FULL);
    fire_port(builder, 0);
    demand_equal(builder, primitive_term(builder, TERM_NEXT, 0),
                 primitive_term(builder, TERM_PORT, 0), false);
}

/* Writes the cell's datum to port 1. */
static void give_out(struct primitive_builder *builder)
{
    fire_port(builder, 1);
    demand_equal(builder, primitive_term(builder, TERM_NOW, 0),
                 primitive_term(builder, TERM_NULL, 0), true);
    demand_equal(builder, primitive_term(builder, TERM_PORT, 1),
                 primitive_term(builder, TERM_NOW, 0), false);
}

static void build_buffer(struct primitive_builder *builder, enum when takes, uint32_t initial)
{
    add_cell(builder, initial);
    take_in(builder, takes);
    finish_transition(builder);
    give_out(builder);
    demand_equal(builder, primitive_term(builder, TERM_NEXT, 0),
                 primitive_term(builder, TERM_NULL, 0), false);
    finish_transition(builder);
}

static void build_fifo1(struct primitive_builder *builder)
{
    build_buffer(builder, WHEN_EMPTY, GORDIAN_NONE);
}

static void build_fifofull(struct primitive_builder *builder)
{
    build_buffer(builder, WHEN_EMPTY, builder->argument);
}

static void build_shiftlossy(struct primitive_builder *builder)
{
    build_buffer(builder, ALWAYS, GORDIAN_NONE);
}

static void build_variable(struct primitive_builder *builder)
{
    add_cell(builder, GORDIAN_NONE);
    take_in(builder, ALWAYS);
    finish_transition(builder);
    give_out(builder);
    finish_transition(builder);
}

/* A fifo1 that, when full, can output its datum and read the next one in the same step. */
static void build_syncfifo1(struct primitive_builder *builder)
{
    build_fifo1(builder);
    take_in(builder, WHEN_FULL);
    give_out(builder);
    finish_transition(builder);
}

/* ------------------------------------------------------------------ the table */

/* The last entry has no name. */
static const struct primitive primitives[] = {
    {"sync", "sync(a?,b!)", 1, 1, false, false, 0, 0, build_node},
    {"lossysync", "lossysync(a?,b!)", 1, 1, false, false, 0, 0, build_lossysync},
    {"lossy", "lossy(a?,b!)", 1, 1, false, false, 0, 0, build_lossysync},
    {"syncdrain", "syncdrain(a?,b?)", 2, 0, false, false, 0, 0, build_drain},
    {"syncspout", "syncspout(a!,b!)", 0, 2, false, false, 0, 0, build_drain},
    {"asyncdrain", "asyncdrain(a?,b?)", 2, 0, false, false, 0, 0, build_async},
    {"asyncspout", "asyncspout(a!,b!)", 0, 2, false, false, 0, 0, build_async},
    {"filter", "filter<P>(a?,b!)", 1, 1, false, false, 1, 'P', build_filter},
    {"transform", "transform<f>(a?,b!)", 1, 1, false, false, 1, 'f', build_transform},
    {"transformer", "transformer<f>(a?,b!)", 1, 1, false, false, 1, 'f', build_transform},
    {"binop", "binop<f>(a?,b?,c!)", 2, 1, false, false, 1, 'f', build_transform},
    {"fifo1", "fifo1(a?,b!)", 1, 1, false, false, 0, 0, build_fifo1},
    {"fifofull", "fifofull<d>(a?,b!)", 1, 1, false, false, 1, 'd', build_fifofull},
    {"fifo1full", "fifo1full<d>(a?,b!)", 1, 1, false, false, 1, 'd', build_fifofull},
    {"syncfifo1", "syncfifo1(a?,b!)", 1, 1, false, false, 0, 0, build_syncfifo1},
    {"shiftlossyfifo1", "shiftlossyfifo1(a?,b!)", 1, 1, false, false, 0, 0, build_shiftlossy},
    {"shiftlossyfifo", "shiftlossyfifo(a?,b!)", 1, 1, false, false, 0, 0, build_shiftlossy},
    {"variable", "variable(a?,b!)", 1, 1, false, false, 0, 0, build_variable},
    {"merger", "merger(a1?,..,ak?,c!)", 1, 1, true, false, 0, 0, build_node},
    {"replicator", "replicator(a?,b1!,..,bm!)", 1, 1, false, true, 0, 0, build_node},
    {"router", "router(a?,b1!,..,bn!)", 1, 1, false, true, 0, 0, build_router},
    {"xrouter", "xrouter(a?,b1!,..,bn!)", 1, 1, false, true, 0, 0, build_router},
    {0},
};

const char *primitive_name(size_t number)
{
    return number < sizeof primitives / sizeof *primitives ? primitives[number].name : NULL;
}

const struct primitive *primitive_find(const char *name, size_t length)
{
    for (const struct primitive *primitive = primitives; primitive->name; primitive++)
        if (strlen(primitive->name) == length && memcmp(primitive->name, name, length) == 0)
            return primitive;
    return NULL;
}

static gordian_status add_ports(struct automaton *automaton, const char *letter, uint32_t count,
                                enum port_direction direction, gordian_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        char name[24];
        if (count == 1)
            snprintf(name, sizeof name, "%s", letter);
        else
            snprintf(name, sizeof name, "%s%u", letter, i + 1);
        TRY(automaton_port(automaton, name, direction, NULL, error));
    }
    return GORDIAN_OK;
}

gordian_status primitive_build(struct automaton **out, const struct primitive *primitive,
                               uint32_t ins, uint32_t outs, uint32_t argument,
                               const gordian_allocator *memory, gordian_error *error)
{
    struct automaton *automaton;
    *out = NULL;
    TRY(automaton_new(&automaton, primitive->name, memory, error));
    gordian_status status = add_ports(automaton, "a", ins, PORT_IN, error);
    THEN(status, add_ports(automaton, "b", outs, PORT_OUT, error));
    THEN(status, automaton_state(automaton, NULL, true, NULL, error));
    uint64_t *fires = memory_zeroed(memory, (automaton_words(automaton) + 1) * sizeof *fires);
    if (status == GORDIAN_OK && fires) {
        struct primitive_builder builder = {.automaton = automaton,
                                            .ins = ins,
                                            .outs = outs,
                                            .argument = argument,
                                            .fires = fires,
                                            .error = error};
        primitive->build(&builder);
        status = builder.status;
    }
    memory_free(memory, fires);
    if (status == GORDIAN_OK && fires) {
        *out = automaton;
        return GORDIAN_OK;
    }
    automaton_free(automaton);
    return fires ? status : fail_memory(error);
}
