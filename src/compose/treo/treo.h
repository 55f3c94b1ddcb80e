/*
 * Reads .treo, the language of the Reo compiler, into a circuit. docs/compose.md describes the
 * language.
 *
 *     treo/lex.h     text to tokens
 *     treo/parse.h   tokens to a tree (treo/tree.h)
 *     eval.c         parameters, ranges, for and if: a tree to instances of atoms on nodes
 *     atom.c         #RBA, #CAM and #PA atoms to automata (automaton.h)
 *     primitives.h   the built-in components
 *     treo.c         imports, the main component, nodes; fills the circuit
 */
#ifndef GORDIAN_COMPOSE_TREO_TREO_H
#define GORDIAN_COMPOSE_TREO_TREO_H

#include "base/text.h"
#include "compose/circuit.h"

/* Limits that make every text end: nested instances, and instances, ports and rounds in all. */
#define TREO_DEPTH_MAX     10000u
#define TREO_INSTANCES_MAX 4000000u

struct treo_options {
    const char
        *main; /* "chain", "chain<3>", "merger(a[1..3],c)"; NULL: `main`, or the only component */
    const char *data; /* D: "0,1"; NULL: the constants of the text, or 0 */
    /* Opens what `import a.b.c;` names, tried as a/b/c.treo and a/b.treo beside the importing file
     * and in the folders the user gave. GORDIAN_STATUS_END: there is none. NULL: no imports but the
     * built-in ones. */
    gordian_status (*import)(void *context, const char *from, const char *path, struct text *text,
                             gordian_error *error);
    void *context;
    const gordian_allocator *allocator;
    uint32_t max_instances; /* 0: TREO_INSTANCES_MAX */
    uint32_t
        max_unfolded; /* states, and transitions, of one automaton over the data; 0: SHAPE_MAX */
};

/* `text` stays the caller's. On success *out is closed (circuit.h) and the caller's to free. On
 * failure *out is NULL, and *fault (may be NULL) shows the place. */
gordian_status treo_read(struct circuit **out, const struct text *text,
                         const struct treo_options *options, struct fault *fault,
                         gordian_error *error);

#endif
