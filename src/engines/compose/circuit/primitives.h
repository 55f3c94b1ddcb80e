/*
 * The built-in components: what a .treo text may use without defining or importing it.
 *
 * Each is an automaton made from its number of ports and its arguments. Their meaning is in
 * docs/guide/compose.md, as #RBA text where that is possible; tests compare the two.
 */
#pragma once

#include "engines/compose/circuit/automaton.h"

struct primitive_builder;

struct primitive {
    const char *name;
    const char *usage;        /* "fifofull<d>(a?,b!)" */
    uint32_t ins, outs;       /* ports of each way, the ins first */
    bool more_ins, more_outs; /* ... or more of them */
    uint32_t arguments;       /* 0 or 1 */
    char argument;            /* 'd' a datum, 'P' a predicate, 'f' a function; 0: none */
    void (*build)(struct primitive_builder *builder);
};

const struct primitive *primitive_find(const char *name, size_t length);
/* By number, from 0; NULL past the last one. */
const char *primitive_name(size_t number);

/* The automaton; `argument`: a symbol for 'd', a function of the data table for 'P' and 'f'. */
gordian_status primitive_build(struct automaton **out, const struct primitive *primitive,
                               uint32_t ins, uint32_t outs, uint32_t argument,
                               const gordian_allocator *memory, gordian_error *error);
