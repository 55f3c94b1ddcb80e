#include "engines/compose/circuit/primitives.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <stdio.h>
#include <string.h>

/* What the builders below need again and again: a guard, a set of ports, a transition. */
struct builder {
    struct automaton *automaton;
    uint64_t *fires;
    uint32_t guard;
    gordian_status status;
    gordian_error *error;
};

static void open_builder(struct builder *builder, struct automaton *automaton, gordian_error *error)
{
    size_t size = (automaton_words(automaton) + 1) * sizeof(uint64_t);
    *builder = (struct builder){.automaton = automaton, .error = error};
    builder->fires = memory_zeroed(&automaton->memory, size);
    if (!builder->fires)
        builder->status = fail_memory(error);
}

static gordian_status close_builder(struct builder *builder)
{
    memory_free(&builder->automaton->memory, builder->fires);
    return builder->status;
}

static void fire_port(struct builder *builder, uint32_t port)
{
    if (builder->status == GORDIAN_OK)
        bits_set(builder->fires, port);
}

static uint32_t make_term(struct builder *builder, enum guard_kind kind, uint32_t symbol)
{
    return guard_add(&builder->automaton->guards, kind, GUARD_NONE, GUARD_NONE, symbol);
}

/* Demands left = right, or with `negated` that they differ. */
static void demand_equal(struct builder *builder, uint32_t left, uint32_t right, bool negated)
{
    struct guards *guards = &builder->automaton->guards;
    if (builder->status != GORDIAN_OK)
        return;
    uint32_t node = left == GUARD_NONE || right == GUARD_NONE
                        ? GUARD_NONE
                        : guard_add(guards, GUARD_EQUAL, left, right, 0);
    if (negated && node != GUARD_NONE)
        node = guard_add(guards, GUARD_NOT, node, GUARD_NONE, 0);
    builder->guard = guard_and(guards, builder->guard, node);
    if (builder->guard == GUARD_NONE)
        builder->status = fail_memory(builder->error);
}

static void demand_ports_equal(struct builder *builder, uint32_t left, uint32_t right)
{
    demand_equal(builder, make_term(builder, TERM_PORT, left), make_term(builder, TERM_PORT, right),
                 false);
}

/* Demands that a predicate holds at a port, or that it does not. */
static void demand_predicate(struct builder *builder, uint32_t predicate, uint32_t port,
                             bool negated)
{
    struct guards *guards = &builder->automaton->guards;
    if (builder->status != GORDIAN_OK)
        return;
    uint32_t node = guard_add(guards, TERM_PORT, GUARD_NONE, GUARD_NONE, port);
    if (node != GUARD_NONE)
        node = guard_add(guards, TERM_LIST, node, GUARD_NONE, 0);
    if (node != GUARD_NONE)
        node = guard_add(guards, GUARD_PREDICATE, node, GUARD_NONE, predicate);
    if (negated && node != GUARD_NONE)
        node = guard_add(guards, GUARD_NOT, node, GUARD_NONE, 0);
    builder->guard = guard_and(guards, builder->guard, node);
    if (builder->guard == GUARD_NONE)
        builder->status = fail_memory(builder->error);
}

/* The transition that has been described, in the one control state; the next one starts afresh. */
static void finish_transition(struct builder *builder)
{
    if (builder->status == GORDIAN_OK)
        builder->status = automaton_transition(builder->automaton, 0, 0, builder->fires,
                                               builder->guard, builder->error);
    if (builder->status == GORDIAN_OK)
        memset(builder->fires, 0, automaton_words(builder->automaton) * sizeof(uint64_t));
    builder->guard = 0;
}

/* ------------------------------------------------------------------ without memory */

/* One transition that fires everything; with `equal`, with the same datum everywhere. */
static gordian_status fire_all(struct automaton *automaton, uint32_t ports, bool equal,
                               gordian_error *error)
{
    struct builder builder;
    open_builder(&builder, automaton, error);
    for (uint32_t p = 0; p < ports; p++) {
        fire_port(&builder, p);
        if (equal && p > 0)
            demand_ports_equal(&builder, p, 0);
    }
    finish_transition(&builder);
    return close_builder(&builder);
}

static gordian_status build_sync(struct automaton *automaton, uint32_t ins, uint32_t outs,
                                 uint32_t argument, gordian_error *error)
{
    (void)argument;
    return fire_all(automaton, ins + outs, true, error);
}

static gordian_status build_drain(struct automaton *automaton, uint32_t ins, uint32_t outs,
                                  uint32_t argument, gordian_error *error)
{
    (void)argument;
    return fire_all(automaton, ins + outs, false, error);
}

static gordian_status build_lossysync(struct automaton *automaton, uint32_t ins, uint32_t outs,
                                      uint32_t argument, gordian_error *error)
{
    struct builder builder;
    (void)ins, (void)outs, (void)argument;
    open_builder(&builder, automaton, error);
    fire_port(&builder, 0);
    fire_port(&builder, 1);
    demand_ports_equal(&builder, 0, 1);
    finish_transition(&builder);
    fire_port(&builder, 0);
    finish_transition(&builder);
    return close_builder(&builder);
}

/* Each port by itself. */
static gordian_status build_async(struct automaton *automaton, uint32_t ins, uint32_t outs,
                                  uint32_t argument, gordian_error *error)
{
    struct builder builder;
    (void)argument;
    open_builder(&builder, automaton, error);
    for (uint32_t p = 0; p < ins + outs; p++) {
        fire_port(&builder, p);
        finish_transition(&builder);
    }
    return close_builder(&builder);
}

static gordian_status build_filter(struct automaton *automaton, uint32_t ins, uint32_t outs,
                                   uint32_t argument, gordian_error *error)
{
    struct builder builder;
    (void)ins, (void)outs;
    open_builder(&builder, automaton, error);
    fire_port(&builder, 0);
    fire_port(&builder, 1);
    demand_predicate(&builder, argument, 0, false);
    demand_ports_equal(&builder, 0, 1);
    finish_transition(&builder);
    fire_port(&builder, 0);
    demand_predicate(&builder, argument, 0, true);
    finish_transition(&builder);
    return close_builder(&builder);
}

static gordian_status build_transform(struct automaton *automaton, uint32_t ins, uint32_t outs,
                                      uint32_t argument, gordian_error *error)
{
    struct builder builder;
    struct guards *guards = &automaton->guards;
    uint32_t list = GUARD_NONE;
    bool fine = true;
    (void)outs;
    open_builder(&builder, automaton, error);
    for (uint32_t p = ins; p-- > 0 && fine;) {
        uint32_t port = make_term(&builder, TERM_PORT, p);
        fire_port(&builder, p);
        if (port != GUARD_NONE)
            list = guard_add(guards, TERM_LIST, port, list, 0);
        fine = port != GUARD_NONE && list != GUARD_NONE;
    }
    fire_port(&builder, ins);
    uint32_t applied =
        fine ? guard_add(guards, TERM_APPLY, list, GUARD_NONE, argument) : GUARD_NONE;
    demand_equal(&builder, make_term(&builder, TERM_PORT, ins), applied, false);
    finish_transition(&builder);
    return close_builder(&builder);
}

/* A node: whatever comes in at one of the ins goes out at all the outs. */
static gordian_status build_node(struct automaton *automaton, uint32_t ins, uint32_t outs,
                                 uint32_t argument, gordian_error *error)
{
    struct builder builder;
    (void)argument;
    open_builder(&builder, automaton, error);
    for (uint32_t i = 0; i < ins; i++) {
        fire_port(&builder, i);
        for (uint32_t o = 0; o < outs; o++) {
            fire_port(&builder, ins + o);
            demand_ports_equal(&builder, ins + o, i);
        }
        finish_transition(&builder);
    }
    return close_builder(&builder);
}

/* Exclusive: what comes in goes out at one of the outs. */
static gordian_status build_router(struct automaton *automaton, uint32_t ins, uint32_t outs,
                                   uint32_t argument, gordian_error *error)
{
    struct builder builder;
    (void)ins, (void)argument;
    open_builder(&builder, automaton, error);
    for (uint32_t o = 0; o < outs; o++) {
        fire_port(&builder, 0);
        fire_port(&builder, 1 + o);
        demand_ports_equal(&builder, 1 + o, 0);
        finish_transition(&builder);
    }
    return close_builder(&builder);
}

/* ------------------------------------------------------------------ with a cell */

enum when {
    WHEN_EMPTY,
    WHEN_FULL,
    ALWAYS,
};

/* Takes a datum from port 0 into the cell. */
static void take_in(struct builder *builder, enum when when)
{
    if (when != ALWAYS)
        demand_equal(builder, make_term(builder, TERM_NOW, 0), make_term(builder, TERM_NULL, 0),
                     when == WHEN_FULL);
    fire_port(builder, 0);
    demand_equal(builder, make_term(builder, TERM_NEXT, 0), make_term(builder, TERM_PORT, 0),
                 false);
}

/* Gives the cell's datum out at port 1. */
static void give_out(struct builder *builder)
{
    fire_port(builder, 1);
    demand_equal(builder, make_term(builder, TERM_NOW, 0), make_term(builder, TERM_NULL, 0), true);
    demand_equal(builder, make_term(builder, TERM_PORT, 1), make_term(builder, TERM_NOW, 0), false);
}

static gordian_status build_buffer(struct automaton *automaton, enum when takes, uint32_t initial,
                                   gordian_error *error)
{
    struct builder builder;
    TRY(automaton_cell(automaton, "m", initial, NULL, error));
    open_builder(&builder, automaton, error);
    take_in(&builder, takes);
    finish_transition(&builder);
    give_out(&builder);
    demand_equal(&builder, make_term(&builder, TERM_NEXT, 0), make_term(&builder, TERM_NULL, 0),
                 false);
    finish_transition(&builder);
    return close_builder(&builder);
}

static gordian_status build_fifo1(struct automaton *automaton, uint32_t ins, uint32_t outs,
                                  uint32_t argument, gordian_error *error)
{
    (void)ins, (void)outs, (void)argument;
    return build_buffer(automaton, WHEN_EMPTY, GORDIAN_NONE, error);
}

static gordian_status build_fifofull(struct automaton *automaton, uint32_t ins, uint32_t outs,
                                     uint32_t argument, gordian_error *error)
{
    (void)ins, (void)outs;
    return build_buffer(automaton, WHEN_EMPTY, argument, error);
}

static gordian_status build_shiftlossy(struct automaton *automaton, uint32_t ins, uint32_t outs,
                                       uint32_t argument, gordian_error *error)
{
    (void)ins, (void)outs, (void)argument;
    return build_buffer(automaton, ALWAYS, GORDIAN_NONE, error);
}

static gordian_status build_variable(struct automaton *automaton, uint32_t ins, uint32_t outs,
                                     uint32_t argument, gordian_error *error)
{
    struct builder builder;
    (void)ins, (void)outs, (void)argument;
    TRY(automaton_cell(automaton, "m", GORDIAN_NONE, NULL, error));
    open_builder(&builder, automaton, error);
    take_in(&builder, ALWAYS);
    finish_transition(&builder);
    give_out(&builder);
    finish_transition(&builder);
    return close_builder(&builder);
}

/* A fifo1 that, when full, can pass its datum on and take the next one in the same step. */
static gordian_status build_syncfifo1(struct automaton *automaton, uint32_t ins, uint32_t outs,
                                      uint32_t argument, gordian_error *error)
{
    struct builder builder;
    TRY(build_fifo1(automaton, ins, outs, argument, error));
    open_builder(&builder, automaton, error);
    take_in(&builder, WHEN_FULL);
    give_out(&builder);
    finish_transition(&builder);
    return close_builder(&builder);
}

/* ------------------------------------------------------------------ the table */

/* Without a name at the end. */
static const struct primitive primitives[] = {
    {"sync", "sync(a?,b!)", 1, 1, false, false, 0, 0, build_sync},
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
                                enum port_way way, gordian_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        char name[24];
        if (count == 1)
            snprintf(name, sizeof name, "%s", letter);
        else
            snprintf(name, sizeof name, "%s%u", letter, i + 1);
        TRY(automaton_port(automaton, name, way, NULL, error));
    }
    return GORDIAN_OK;
}

gordian_status primitive_build(struct automaton **out, const struct primitive *primitive,
                               uint32_t ins, uint32_t outs, uint32_t argument,
                               const gordian_allocator *memory, gordian_error *error)
{
    struct automaton *automaton;
    gordian_status status = automaton_new(&automaton, primitive->name, memory, error);
    *out = NULL;
    if (status != GORDIAN_OK)
        return status;
    status = add_ports(automaton, "a", ins, PORT_IN, error);
    THEN(status, add_ports(automaton, "b", outs, PORT_OUT, error));
    THEN(status, automaton_state(automaton, NULL, true, NULL, error));
    THEN(status, primitive->build(automaton, ins, outs, argument, error));
    if (status != GORDIAN_OK) {
        automaton_free(automaton);
        return status;
    }
    *out = automaton;
    return GORDIAN_OK;
}
