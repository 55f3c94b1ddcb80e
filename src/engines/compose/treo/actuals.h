/* What a component is called with, its actual ports and parameters, and how they become those that
 * it names itself, its formals. */
#pragma once

#include "engines/compose/treo/treo_internal.h"

#define TREO_KEY_SIZE (TREO_NAME_MAX + TREO_INDEX_MAX * 24)

/* A list of keys or values that grows in the arena's neighbourhood: freed by its owner. */
struct actuals {
    const struct place *place;
    struct binding *ports;
    size_t port_count, port_room;
    struct value *values;
    size_t value_count, value_room;
};

/* What expanding the formals needs to know. */
struct matching {
    struct place *place; /* the callee's: parameters come into its scope */
    const struct actuals *actuals;
    const struct formal *formal;
    size_t next;
    uint32_t instance;       /* the callee's, if it is composite */
    struct atom_port *ports; /* the callee's, if it is atomic */
};

void actuals_free(struct actuals *actuals);
gordian_status actuals_new_node(struct treo *treo, uint32_t instance, const char *name,
                                uint32_t *node);
/* One more; `context`: the actuals. */
gordian_status actuals_add_port(void *context, const char *key);
gordian_status actuals_add_value(struct actuals *actuals, const struct value *value);
gordian_status actuals_evaluate_arguments(struct actuals *actuals, const struct set *set);
gordian_status actuals_evaluate_ports(struct actuals *actuals, const struct set *set);
/* Is it several: a[1..n]? */
bool actuals_has_range(const struct expr *expr);

/* How many ports or parameters there are; *unbound: a variable without which that cannot be told.
 */
gordian_status formals_count(const struct place *place, const struct formal *formals,
                             uint64_t *total, const struct expr **unbound);
/* A size that was left open, the n of a[1..n], is the one that makes the number of ports right. */
gordian_status formals_find_size(struct place *place, const struct formal *formals, uint64_t wanted,
                                 uint64_t *total);
gordian_status formals_bind_parameters(struct place *place, const struct actuals *actuals,
                                       const struct set *set, const struct value *callee);
gordian_status formals_bind_ports(struct matching *matching, const struct set *set,
                                  const struct value *callee);
/* May the callee use the port so? */
gordian_status formals_check_way(const struct actuals *actuals, const struct set *set,
                                 const char *callee, size_t port, uint8_t way);
