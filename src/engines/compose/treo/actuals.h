/* The actual ports and parameters of a component, and binding them to its formals. */
#pragma once

#include "engines/compose/treo/treo_internal.h"

#define TREO_KEY_SIZE (TREO_NAME_MAX + TREO_INDEX_MAX * 24)

/* Lists of ports and values, freed by the owner. */
struct actuals {
    const struct place *place;
    struct binding *ports;
    size_t port_count, port_room;
    struct value *values;
    size_t value_count, value_room;
};

/* Context for expanding formals. */
struct matching {
    struct place *place; /* of the callee: parameters are added to its scope */
    const struct actuals *actuals;
    const struct formal *formal;
    size_t next;
    uint32_t instance;       /* of the callee, if it is composite */
    struct atom_port *ports; /* of the callee, if it is atomic */
};

void actuals_free(struct actuals *actuals);
gordian_status actuals_new_node(struct treo *treo, uint32_t instance, const char *name,
                                uint32_t *node);
/* Adds a port; `context`: the actuals. */
gordian_status actuals_add_port(void *context, const char *key);
gordian_status actuals_add_value(struct actuals *actuals, const struct value *value);
gordian_status actuals_evaluate_arguments(struct actuals *actuals, const struct set *set);
gordian_status actuals_evaluate_ports(struct actuals *actuals, const struct set *set);
/* Does the variable have a range: a[1..n]? */
bool actuals_has_range(const struct expr *expr);

/* Counts ports or parameters; *unbound: a variable without a value that the count depends on, or
 * NULL. */
gordian_status formals_count(const struct place *place, const struct formal *formals,
                             uint64_t *total, const struct expr **unbound);
/* Finds the value of an open size, the n of a[1..n], for which the number of ports is right. */
gordian_status formals_find_size(struct place *place, const struct formal *formals, uint64_t wanted,
                                 uint64_t *total);
gordian_status formals_bind_parameters(struct place *place, const struct actuals *actuals,
                                       const struct set *set, const struct value *callee);
gordian_status formals_bind_ports(struct matching *matching, const struct set *set,
                                  const struct value *callee);
/* Checks and records the direction in which the callee uses the port. */
gordian_status formals_check_direction(const struct actuals *actuals, const struct set *set,
                                       const char *callee, size_t port, uint8_t direction);
