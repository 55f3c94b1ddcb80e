/* Actual ports and parameters of a component, and binding them to its formals (actuals.h). */
#include "engines/compose/treo/actuals.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void actuals_free(struct actuals *actuals)
{
    memory_free_all(&actuals->place->treo->memory, actuals->ports, actuals->values);
}

/* ------------------------------------------------------------------ nodes */

gordian_status actuals_new_node(struct treo *treo, uint32_t instance, const char *name,
                                uint32_t *node)
{
    if (!memory_extend(&treo->memory, treo->nodes, treo->node_room, treo->node_count))
        return fail_memory(treo->error);
    const char *copy = arena_text(&treo->arena, name, strlen(name));
    if (!copy)
        return fail_memory(treo->error);
    treo->nodes[treo->node_count] = (struct node){.name = copy, .instance = instance};
    *node = (uint32_t)treo->node_count++;
    return GORDIAN_OK;
}

/* Returns the binding of a variable in an instance. If it has none yet, it gets `bound`, or a new
 * node if `bound` is NULL. */
static gordian_status bind_node_variable(struct treo *treo, uint32_t instance, const char *key,
                                         const struct binding *bound, struct binding *meaning)
{
    char full[TREO_KEY_SIZE + 16];
    size_t length = (size_t)snprintf(full, sizeof full, "%u:%s", instance, key);
    uint32_t number = labels_find(&treo->keys, full, length);
    if (number != GORDIAN_NONE) {
        *meaning = treo->bindings[number];
        return GORDIAN_OK;
    }
    struct binding fresh = bound ? *bound : (struct binding){0};
    TRY(bound ? GORDIAN_OK : actuals_new_node(treo, instance, key, &fresh.node));
    if (!memory_extend(&treo->memory, treo->bindings, treo->binding_room, treo->binding_count))
        return fail_memory(treo->error);
    TRY(labels_put(&treo->keys, full, length, &number, treo->error));
    treo->bindings[treo->binding_count++] = fresh;
    *meaning = fresh;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ actual ports and arguments */

gordian_status actuals_add_port(void *context, const char *key)
{
    struct actuals *actuals = context;
    struct treo *treo = actuals->place->treo;
    if (actuals->port_count >= treo->most)
        return fail(treo->error, GORDIAN_STATUS_INPUT, "more than %u ports", treo->most);
    if (!memory_extend(&treo->memory, actuals->ports, actuals->port_room, actuals->port_count))
        return fail_memory(treo->error);
    TRY(bind_node_variable(treo, actuals->place->instance, key, NULL,
                           &actuals->ports[actuals->port_count]));
    actuals->port_count++;
    return GORDIAN_OK;
}

gordian_status actuals_add_value(struct actuals *actuals, const struct value *value)
{
    struct treo *treo = actuals->place->treo;
    if (!memory_extend(&treo->memory, actuals->values, actuals->value_room, actuals->value_count))
        return fail_memory(treo->error);
    actuals->values[actuals->value_count++] = *value;
    return GORDIAN_OK;
}

/* Passes on an element of an array of parameters: f[1..n]. */
static gordian_status add_array_element(void *context, const char *key)
{
    struct actuals *actuals = context;
    const struct value *value = scope_find(actuals->place->scope, key);
    if (!value)
        return fail(actuals->place->treo->error, GORDIAN_STATUS_INPUT, "'%s' has no value here",
                    key);
    return actuals_add_value(actuals, value);
}

bool actuals_has_range(const struct expr *expr)
{
    if (expr->kind != EXPR_VARIABLE)
        return false;
    for (const struct expr *index = expr->indices; index; index = index->next)
        if (expr_is_range(index))
            return true;
    return false;
}

gordian_status actuals_evaluate_arguments(struct actuals *actuals, const struct set *set)
{
    const gordian_error *error = actuals->place->treo->error;
    const struct expr *argument = set->arguments ? set->arguments->first : NULL;
    for (; argument; argument = argument->next) {
        struct value value;
        if (!actuals_has_range(argument)) {
            TRY(value_evaluate(actuals->place, argument, &value));
            TRY(actuals_add_value(actuals, &value));
            continue;
        }
        gordian_status status = value_expand(actuals->place, argument, add_array_element, actuals);
        if (status == GORDIAN_STATUS_INPUT && error && !error->line)
            return place_complain(actuals->place, argument->token, "'%s' has no value here",
                                  argument->name);
        TRY(status);
    }
    return GORDIAN_OK;
}

gordian_status actuals_evaluate_ports(struct actuals *actuals, const struct set *set)
{
    struct treo *treo = actuals->place->treo;
    for (const struct expr *port = set->ports; port; port = port->next) {
        gordian_status status = value_expand(actuals->place, port, actuals_add_port, actuals);
        if (status == GORDIAN_STATUS_INPUT && !treo->error->line)
            return place_complain(actuals->place, port->token, "more than %u ports", treo->most);
        TRY(status);
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ formals */

gordian_status formals_count(const struct place *place, const struct formal *formals,
                             uint64_t *total, const struct expr **unbound)
{
    *total = 0;
    *unbound = NULL;
    for (const struct formal *formal = formals; formal; formal = formal->next) {
        uint64_t count = 1;
        for (const struct expr *index = formal->variable ? formal->variable->indices : NULL;
             index && !*unbound; index = index->next)
            *unbound = value_unbound(place, index);
        if (*unbound)
            return GORDIAN_OK;
        if (formal->variable)
            TRY(value_expand_count(place, formal->variable, &count));
        *total += count;
    }
    return GORDIAN_OK;
}

gordian_status formals_find_size(struct place *place, const struct formal *formals, uint64_t wanted,
                                 uint64_t *total)
{
    const struct expr *unbound;
    TRY(formals_count(place, formals, total, &unbound));
    if (!unbound)
        return GORDIAN_OK;
    const char *name = unbound->name;
    if (unbound->kind != EXPR_VARIABLE || unbound->indices)
        return place_complain(place, unbound->token, "'%s' has no value here", name);
    struct place inner = *place;
    for (uint64_t size = 0; size <= wanted + 1024; size++) {
        struct value value = {.kind = VALUE_NUMBER, .number = (int64_t)size};
        struct scope attempt = {.up = place->scope, .key = name, .value = value};
        inner.scope = &attempt;
        TRY(formals_count(&inner, formals, total, &unbound));
        if (unbound)
            return place_complain(place, unbound->token,
                                  "'%s' and '%s' are both open: one of them must be a parameter",
                                  name, unbound->name ? unbound->name : "another");
        if (*total != wanted)
            continue;
        place->scope = scope_bind(place->treo, place->scope, name, &value);
        return place->scope ? GORDIAN_OK : GORDIAN_STATUS_MEMORY;
    }
    return GORDIAN_OK; /* the caller reports the wrong number */
}

static gordian_status bind_parameter(void *context, const char *key)
{
    struct matching *matching = context;
    const struct value *value = &matching->actuals->values[matching->next++];
    if (matching->formal->component && value->kind != VALUE_COMPONENT &&
        value->kind != VALUE_PRIMITIVE)
        return fail(matching->place->treo->error, GORDIAN_STATUS_INPUT,
                    "the parameter '%s' must be a component", key);
    matching->place->scope = scope_bind(matching->place->treo, matching->place->scope, key, value);
    return matching->place->scope ? GORDIAN_OK : GORDIAN_STATUS_MEMORY;
}

/* Lists the parameter names for a message: k,d. */
static const char *parameter_names(const struct formal *formals, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (const struct formal *formal = formals; formal && used < size; formal = formal->next)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? "," : "",
                                 formal->variable ? formal->variable->name : "..");
    return buffer;
}

gordian_status formals_bind_parameters(struct place *place, const struct actuals *actuals,
                                       const struct set *set, const struct value *callee)
{
    struct treo *treo = place->treo;
    uint64_t total;
    char names[120];
    const struct formal *formals = callee->component->parameters;
    struct matching matching = {.place = place, .actuals = actuals};
    gordian_status status = GORDIAN_OK;
    TRY(formals_find_size(place, formals, actuals->value_count, &total));
    if (total != actuals->value_count && actuals->place->instance == 0 && !set->arguments)
        return treo_complain(treo, callee->module, callee->component->token,
                             "'%s' takes %" PRIu64 " parameter%s: give %s with --main '%s<%s>'",
                             callee->name, total, total == 1 ? "" : "s", total == 1 ? "it" : "them",
                             callee->name, parameter_names(formals, names, sizeof names));
    if (total != actuals->value_count)
        return place_complain(actuals->place, set->token,
                              "'%s' takes %" PRIu64 " parameter%s, not %zu", callee->name, total,
                              total == 1 ? "" : "s", actuals->value_count);
    for (const struct formal *formal = formals; formal && status == GORDIAN_OK;
         formal = formal->next) {
        matching.formal = formal;
        if (!formal->variable)
            matching.next++;
        else
            status = value_expand(place, formal->variable, bind_parameter, &matching);
        if (status == GORDIAN_STATUS_INPUT && treo->error && !treo->error->line) {
            char message[sizeof treo->error->message];
            memcpy(message, treo->error->message, sizeof message);
            status = place_complain(actuals->place, set->token, "%s", message);
        }
    }
    return status;
}

/* Binds a port of the callee: lists it for an atom, binds its node for a composite. */
static gordian_status bind_port(void *context, const char *key)
{
    struct matching *matching = context;
    struct treo *treo = matching->place->treo;
    size_t next = matching->next++;
    if (matching->ports) {
        matching->ports[next].key = arena_text(&treo->arena, key, strlen(key));
        matching->ports[next].direction = matching->formal->direction;
        return matching->ports[next].key ? GORDIAN_OK : fail_memory(treo->error);
    }
    struct binding meaning, bound = matching->actuals->ports[next];
    if (matching->formal->direction != PORT_UNKNOWN)
        bound.direction = matching->formal->direction;
    size_t before = treo->binding_count;
    TRY(bind_node_variable(treo, matching->instance, key, &bound, &meaning));
    if (treo->binding_count == before)
        return fail(treo->error, GORDIAN_STATUS_INPUT, "the port '%s' is listed twice", key);
    return GORDIAN_OK;
}

/* Checks the direction of a port. An input port that the body writes, or an output port that it
 * reads, is declared wrongly. Published circuits contain such declarations and mean the direction
 * in the body. A reader of a written port gets the same data as the outside, because nodes
 * replicate their data. */
gordian_status formals_check_direction(const struct actuals *actuals, const struct set *set,
                                       const char *callee, size_t port, uint8_t direction)
{
    struct treo *treo = actuals->place->treo;
    uint8_t outer = actuals->ports[port].direction;
    struct node *node = &treo->nodes[actuals->ports[port].node];
    if (actuals->place->instance == 0) { /* of the main component */
        node->boundary = true;
        node->direction = direction;
    }
    bool writes = outer == PORT_IN && direction == PORT_OUT,
         reads = outer == PORT_OUT && direction == PORT_IN;
    if (!writes && !reads)
        return GORDIAN_OK;
    node->direction = PORT_UNKNOWN; /* the body decides the direction */
    return treo_note(treo, actuals->place->module, set->token,
                     "'%s' %s '%s', a port declared '%s': the body decides its direction", callee,
                     writes ? "writes to" : "reads", node->name, writes ? "?" : "!");
}

gordian_status formals_bind_ports(struct matching *matching, const struct set *set,
                                  const struct value *callee)
{
    struct treo *treo = matching->place->treo;
    const struct actuals *actuals = matching->actuals;
    gordian_status status = GORDIAN_OK;
    for (const struct formal *formal = callee->component->ports; formal && status == GORDIAN_OK;
         formal = formal->next) {
        size_t first = matching->next;
        matching->formal = formal;
        if (formal->variable)
            status = value_expand(matching->place, formal->variable, bind_port, matching);
        else
            status = treo_complain(treo, callee->module, formal->token, "this port needs a name");
        if (status == GORDIAN_STATUS_INPUT && treo->error && !treo->error->line)
            status =
                treo_complain(treo, callee->module, formal->token, "this port is listed twice");
        for (size_t p = first; p < matching->next && status == GORDIAN_OK; p++)
            status = formals_check_direction(actuals, set, callee->name, p, formal->direction);
    }
    return status;
}
