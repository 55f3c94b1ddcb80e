/*
 * The built-in components: a .treo text may use them without a definition or an import.
 *
 * Each is an automaton made from its number of ports and its arguments. docs/guide/compose.md
 * defines them, as #RBA text where that is possible; tests compare the two.
 */
#pragma once

#include "engines/compose/circuit/automaton.h"

struct primitive_builder;

struct primitive {
    const char *name;
    const char *usage;        /* "fifofull<d>(a?,b!)" */
    uint32_t ins, outs;       /* ports of each direction, inputs first */
    bool more_ins, more_outs; /* ... or more */
    uint32_t arguments;       /* 0 or 1 */
    char argument;            /* 'd': a datum, 'P': a predicate, 'f': a function; 0: none */
    void (*build)(struct primitive_builder *builder);
};

const struct primitive *primitive_find(const char *name, size_t length);
/* The name of primitive `number`, from 0; NULL past the last one. */
const char *primitive_name(size_t number);

/* Builds the automaton. `argument`: a symbol for 'd', a function of the data table for 'P' and
 * 'f'. */
gordian_status primitive_build(struct automaton **out, const struct primitive *primitive,
                               uint32_t ins, uint32_t outs, uint32_t argument,
                               const gordian_allocator *memory, gordian_error *error);
