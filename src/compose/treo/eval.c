/* Instances: components are given their parameters and ports and taken apart until only atoms are
 * left. */
#include "compose/treo/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_SIZE (TREO_NAME_MAX + TREO_INDEX_MAX * 24)

/* A list of keys or values that grows in the arena's neighbourhood: freed by its owner. */
struct actuals {
    struct treo *treo;
    const struct place *place;
    struct binding *ports;
    size_t port_count, port_room;
    struct value *values;
    size_t value_count, value_room;
};

static void free_actuals(struct actuals *actuals)
{
    memory_free(&actuals->treo->memory, actuals->ports);
    memory_free(&actuals->treo->memory, actuals->values);
}

/* ------------------------------------------------------------------ nodes */

static gordian_status new_node(struct treo *treo, uint32_t instance, const char *name,
                               uint32_t *node)
{
    if (!memory_grow(&treo->memory, &treo->nodes, &treo->node_room, treo->node_count + 1,
                     sizeof *treo->nodes))
        return fail_memory(treo->error);
    const char *copy = arena_text(&treo->arena, name, strlen(name));
    if (!copy)
        return fail_memory(treo->error);
    treo->nodes[treo->node_count] = (struct node){.name = copy, .instance = instance};
    *node = (uint32_t)treo->node_count++;
    return GORDIAN_OK;
}

/* What a variable means in an instance; unless `bound` is given, a new node if it has no meaning
 * yet. */
static gordian_status bind_variable(struct treo *treo, uint32_t instance, const char *key,
                                    const struct binding *bound, struct binding *meaning)
{
    char full[KEY_SIZE + 16];
    size_t length = (size_t)snprintf(full, sizeof full, "%u:%s", instance, key);
    uint32_t number = labels_find(&treo->keys, full, length);
    if (number != GORDIAN_NONE) {
        *meaning = treo->bindings[number];
        return GORDIAN_OK;
    }
    struct binding fresh = bound ? *bound : (struct binding){0};
    gordian_status status = bound ? GORDIAN_OK : new_node(treo, instance, key, &fresh.node);
    if (status == GORDIAN_OK && !memory_grow(&treo->memory, &treo->bindings, &treo->binding_room,
                                             treo->binding_count + 1, sizeof *treo->bindings))
        status = fail_memory(treo->error);
    if (status == GORDIAN_OK)
        status = labels_put(&treo->keys, full, length, &number, treo->error);
    if (status == GORDIAN_OK) {
        treo->bindings[treo->binding_count++] = fresh;
        *meaning = fresh;
    }
    return status;
}

/* ------------------------------------------------------------------ actual ports and arguments */

static gordian_status add_port(void *context, const char *key)
{
    struct actuals *actuals = context;
    struct treo *treo = actuals->treo;
    if (actuals->port_count >= treo->most)
        return fail(treo->error, GORDIAN_STATUS_INPUT, "more than %u ports", treo->most);
    if (!memory_grow(&treo->memory, &actuals->ports, &actuals->port_room, actuals->port_count + 1,
                     sizeof *actuals->ports))
        return fail_memory(treo->error);
    gordian_status status = bind_variable(treo, actuals->place->instance, key, NULL,
                                          &actuals->ports[actuals->port_count]);
    if (status == GORDIAN_OK)
        actuals->port_count++;
    return status;
}

static gordian_status add_value(struct actuals *actuals, const struct value *value)
{
    struct treo *treo = actuals->treo;
    if (!memory_grow(&treo->memory, &actuals->values, &actuals->value_room,
                     actuals->value_count + 1, sizeof *actuals->values))
        return fail_memory(treo->error);
    actuals->values[actuals->value_count++] = *value;
    return GORDIAN_OK;
}

/* An element of an array of parameters: f[1..n] handed on. */
static gordian_status add_element(void *context, const char *key)
{
    struct actuals *actuals = context;
    const struct value *value = scope_find(actuals->place->scope, key);
    if (!value)
        return fail(actuals->treo->error, GORDIAN_STATUS_INPUT, "'%s' has no value here", key);
    return add_value(actuals, value);
}

static bool has_range(const struct expr *expr)
{
    if (expr->kind != EXPR_VARIABLE)
        return false;
    for (const struct expr *index = expr->indices; index; index = index->next)
        if (index->kind == EXPR_BINARY && index->op == TOKEN_RANGE)
            return true;
    return false;
}

static gordian_status evaluate_arguments(struct actuals *actuals, const struct set *set)
{
    struct treo *treo = actuals->treo;
    gordian_status status = GORDIAN_OK;
    for (const struct expr *argument = set->arguments ? set->arguments->first : NULL;
         argument && status == GORDIAN_OK; argument = argument->next) {
        struct value value;
        if (has_range(argument)) {
            status = value_expand(treo, actuals->place, argument, add_element, actuals);
            if (status == GORDIAN_STATUS_INPUT && treo->error && !treo->error->line)
                status = treo_complain(treo, actuals->place->module, argument->token,
                                       "'%s' has no value here", argument->name);
            continue;
        }
        status = value_of(treo, actuals->place, argument, &value);
        if (status == GORDIAN_OK)
            status = add_value(actuals, &value);
    }
    return status;
}

static gordian_status evaluate_ports(struct actuals *actuals, const struct set *set)
{
    struct treo *treo = actuals->treo;
    gordian_status status = GORDIAN_OK;
    for (const struct expr *port = set->ports; port && status == GORDIAN_OK; port = port->next) {
        status = value_expand(treo, actuals->place, port, add_port, actuals);
        if (status == GORDIAN_STATUS_INPUT && !treo->error->line)
            status = treo_complain(treo, actuals->place->module, port->token, "more than %u ports",
                                   treo->most);
    }
    return status;
}

/* ------------------------------------------------------------------ formals */

/* How many ports or parameters there are; *unbound: a variable without which that cannot be told.
 */
static gordian_status count_formals(struct treo *treo, const struct place *place,
                                    const struct formal *formals, uint64_t *total,
                                    const struct expr **unbound)
{
    *total = 0;
    *unbound = NULL;
    for (const struct formal *formal = formals; formal; formal = formal->next) {
        uint64_t count = 1;
        for (const struct expr *index = formal->variable ? formal->variable->indices : NULL;
             index && !*unbound; index = index->next)
            *unbound = value_unbound(treo, place, index);
        if (*unbound)
            return GORDIAN_OK;
        if (formal->variable) {
            gordian_status status = value_expand_count(treo, place, formal->variable, &count);
            if (status != GORDIAN_OK)
                return status;
        }
        *total += count;
    }
    return GORDIAN_OK;
}

/* A size that was left open, the n of a[1..n], is the one that makes the number of ports right. */
static gordian_status find_size(struct treo *treo, struct place *place,
                                const struct formal *formals, uint64_t wanted, uint64_t *total)
{
    const struct expr *unbound;
    gordian_status status = count_formals(treo, place, formals, total, &unbound);
    if (status != GORDIAN_OK || !unbound)
        return status;
    const char *name = unbound->name;
    if (unbound->kind != EXPR_VARIABLE || unbound->indices)
        return treo_complain(treo, place->module, unbound->token, "'%s' has no value here", name);
    struct place inner = *place;
    for (uint64_t size = 0; size <= wanted + 1024; size++) {
        struct value value = {.kind = VALUE_NUMBER, .number = (int64_t)size};
        struct scope attempt = {.up = place->scope, .key = name, .value = value};
        inner.scope = &attempt;
        status = count_formals(treo, &inner, formals, total, &unbound);
        if (status != GORDIAN_OK)
            return status;
        if (unbound)
            return treo_complain(treo, place->module, unbound->token,
                                 "'%s' and '%s' are both open: one of them must be a parameter",
                                 name, unbound->name ? unbound->name : "another");
        if (*total != wanted)
            continue;
        place->scope = scope_bind(treo, place->scope, name, &value);
        return place->scope ? GORDIAN_OK : GORDIAN_STATUS_MEMORY;
    }
    return GORDIAN_OK; /* the caller sees that the number is wrong */
}

/* What expanding the formals needs to know. */
struct matching {
    struct treo *treo;
    struct place *place; /* the callee's: parameters come into its scope */
    const struct actuals *actuals;
    const struct formal *formal;
    size_t next;
    uint32_t instance;       /* the callee's, if it is composite */
    struct atom_port *ports; /* the callee's, if it is atomic */
};

static gordian_status bind_parameter(void *context, const char *key)
{
    struct matching *matching = context;
    const struct value *value = &matching->actuals->values[matching->next++];
    if (matching->formal->component && value->kind != VALUE_COMPONENT &&
        value->kind != VALUE_PRIMITIVE)
        return fail(matching->treo->error, GORDIAN_STATUS_INPUT,
                    "the parameter '%s' wants a component", key);
    matching->place->scope = scope_bind(matching->treo, matching->place->scope, key, value);
    return matching->place->scope ? GORDIAN_OK : GORDIAN_STATUS_MEMORY;
}

/* k,d as a reminder of what is wanted. */
static const char *parameter_names(const struct formal *formals, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (const struct formal *formal = formals; formal && used < size; formal = formal->next)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? "," : "",
                                 formal->variable ? formal->variable->name : "..");
    return buffer;
}

static gordian_status bind_parameters(struct treo *treo, struct place *place,
                                      const struct actuals *actuals, const struct set *set,
                                      const struct value *callee)
{
    uint64_t total;
    char names[120];
    const struct formal *formals = callee->component->parameters;
    struct matching matching = {.treo = treo, .place = place, .actuals = actuals};
    gordian_status status = find_size(treo, place, formals, actuals->value_count, &total);
    if (status != GORDIAN_OK)
        return status;
    if (total != actuals->value_count && actuals->place->instance == 0 && !set->arguments)
        return treo_complain(treo, callee->module, callee->component->token,
                             "'%s' takes %" PRIu64 " parameter%s: say %s with the main component, "
                             "--main '%s<%s>'",
                             callee->name, total, total == 1 ? "" : "s", total == 1 ? "it" : "them",
                             callee->name, parameter_names(formals, names, sizeof names));
    if (total != actuals->value_count)
        return treo_complain(treo, actuals->place->module, set->token,
                             "'%s' takes %" PRIu64 " parameter%s, not %zu", callee->name, total,
                             total == 1 ? "" : "s", actuals->value_count);
    for (const struct formal *formal = formals; formal && status == GORDIAN_OK;
         formal = formal->next) {
        matching.formal = formal;
        if (!formal->variable)
            matching.next++;
        else
            status = value_expand(treo, place, formal->variable, bind_parameter, &matching);
        if (status == GORDIAN_STATUS_INPUT && treo->error && !treo->error->line) {
            char message[sizeof treo->error->message];
            memcpy(message, treo->error->message, sizeof message);
            status = treo_complain(treo, actuals->place->module, set->token, "%s", message);
        }
    }
    return status;
}

/* A port of the callee: an atom's is listed, a composite's gets its meaning. */
static gordian_status bind_port(void *context, const char *key)
{
    struct matching *matching = context;
    struct treo *treo = matching->treo;
    size_t next = matching->next++;
    if (matching->ports) {
        matching->ports[next].key = arena_text(&treo->arena, key, strlen(key));
        matching->ports[next].way = matching->formal->way;
        return matching->ports[next].key ? GORDIAN_OK : fail_memory(treo->error);
    }
    struct binding meaning, bound = matching->actuals->ports[next];
    if (matching->formal->way != PORT_UNKNOWN)
        bound.way = matching->formal->way;
    size_t before = treo->binding_count;
    gordian_status status = bind_variable(treo, matching->instance, key, &bound, &meaning);
    if (status == GORDIAN_OK && treo->binding_count == before)
        return fail(treo->error, GORDIAN_STATUS_INPUT, "the port '%s' is there twice", key);
    return status;
}

/* A port that only puts out is not read inside: it would have a second reader beside whoever is
 * outside. One that only takes in and is put into inside is declared wrongly: public circuits do
 * that, and mean what the inside does. */
static gordian_status check_way(struct treo *treo, const struct actuals *actuals,
                                const struct set *set, const char *callee, size_t port, uint8_t way)
{
    uint8_t outer = actuals->ports[port].way;
    struct node *node = &treo->nodes[actuals->ports[port].node];
    if (actuals->place->instance == 0) { /* the main component's */
        node->boundary = true;
        node->way = way;
    }
    if (outer == PORT_IN && way == PORT_OUT) {
        node->way = PORT_UNKNOWN; /* what it is, the inside tells */
        return treo_note(treo, actuals->place->module, set->token,
                         "'%s' writes to '%s', a port declared '?': taken for what it is inside",
                         callee, node->name);
    }
    if (outer == PORT_OUT && way == PORT_IN)
        return treo_complain(treo, actuals->place->module, set->token,
                             "'%s' reads '%s', a port declared '!': it would have two readers, "
                             "this one and whoever is outside",
                             callee, node->name);
    return GORDIAN_OK;
}

static gordian_status bind_ports(struct treo *treo, struct matching *matching,
                                 const struct set *set, const struct value *callee)
{
    const struct actuals *actuals = matching->actuals;
    gordian_status status = GORDIAN_OK;
    for (const struct formal *formal = callee->component->ports; formal && status == GORDIAN_OK;
         formal = formal->next) {
        size_t first = matching->next;
        matching->formal = formal;
        if (formal->variable)
            status = value_expand(treo, matching->place, formal->variable, bind_port, matching);
        else
            status = treo_complain(treo, callee->module, formal->token, "this port needs a name");
        if (status == GORDIAN_STATUS_INPUT && treo->error && !treo->error->line)
            status = treo_complain(treo, callee->module, formal->token, "this port is there twice");
        for (size_t p = first; p < matching->next && status == GORDIAN_OK; p++)
            status = check_way(treo, actuals, set, callee->name, p, formal->way);
    }
    return status;
}

/* ------------------------------------------------------------------ atoms */

static gordian_status add_atom(struct treo *treo, const struct actuals *actuals, uint32_t automaton,
                               const char *title)
{
    const struct automaton *made = treo->circuit->automata[automaton];
    size_t ports = actuals->port_count;
    if (treo->atom_count >= treo->most)
        return fail(treo->error, GORDIAN_STATUS_INPUT, "more than %u instances", treo->most);
    if (!memory_grow(&treo->memory, &treo->atoms, &treo->atom_room, treo->atom_count + 1,
                     sizeof *treo->atoms) ||
        !memory_grow(&treo->memory, &treo->ends, &treo->end_room, treo->end_count + ports,
                     sizeof *treo->ends))
        return fail_memory(treo->error);
    treo->atoms[treo->atom_count++] = (struct atom_instance){automaton, title, treo->end_count};
    for (size_t p = 0; p < ports; p++) {
        struct node *node = &treo->nodes[actuals->ports[p].node];
        uint8_t way = made->ports[p].way;
        node->writers += way == PORT_OUT;
        node->readers += way != PORT_OUT;
        treo->ends[treo->end_count++] = (struct end){actuals->ports[p].node, way};
    }
    return GORDIAN_OK;
}

uint32_t treo_made(const struct treo *treo, const char *key)
{
    uint32_t number = labels_find(&treo->made, key, strlen(key));
    return number == GORDIAN_NONE ? GORDIAN_NONE : treo->automata[number];
}

gordian_status treo_keep(struct treo *treo, const char *key, struct automaton *automaton,
                         uint32_t *number)
{
    uint32_t label;
    gordian_status status = circuit_automaton(treo->circuit, automaton, number, treo->error);
    if (status != GORDIAN_OK) {
        automaton_free(automaton);
        return status;
    }
    if (!*key)
        return GORDIAN_OK;
    if (!memory_grow(&treo->memory, &treo->automata, &treo->made_room, treo->made_count + 1,
                     sizeof *treo->automata))
        return fail_memory(treo->error);
    status = labels_put(&treo->made, key, strlen(key), &label, treo->error);
    if (status == GORDIAN_OK)
        treo->automata[treo->made_count++] = *number;
    return status;
}

/* A function that ports are given to: what its table mentions comes into the domain, unless that
 * is listed. */
static gordian_status function_argument(struct treo *treo, uint32_t module,
                                        const struct token *token, const struct value *value,
                                        const struct primitive *primitive, uint32_t *number)
{
    struct data *data = &treo->circuit->data;
    struct mentions found = {.token = token};
    gordian_status status =
        value_function(treo, module, value, primitive->argument == 'P', number, &found);
    uint32_t arity = status == GORDIAN_OK ? data->functions[*number].arity : 0;
    if (status == GORDIAN_OK && arity != primitive->ins)
        return treo_complain(treo, module, token,
                             "it is %s: its function takes %u argument%s, not %u", primitive->usage,
                             primitive->ins, primitive->ins == 1 ? "" : "s", arity);
    for (size_t i = 0; i < found.count && status == GORDIAN_OK && !data->listed; i++)
        status = data_use(data, found.symbols[i], treo->error);
    return status;
}

static gordian_status primitive_argument(struct treo *treo, const struct actuals *actuals,
                                         const struct set *set, const struct primitive *primitive,
                                         uint32_t *argument)
{
    const struct value *value = actuals->values;
    const struct token *token = set->arguments ? set->arguments->token : set->token;
    *argument = 0;
    if (actuals->value_count != primitive->arguments)
        return treo_complain(treo, actuals->place->module, set->token,
                             "it is %s: %u parameter%s, not %zu", primitive->usage,
                             primitive->arguments, primitive->arguments == 1 ? "" : "s",
                             actuals->value_count);
    if (primitive->argument == 'P' || primitive->argument == 'f')
        return function_argument(treo, actuals->place->module, token, value, primitive, argument);
    if (primitive->argument != 'd')
        return GORDIAN_OK;
    gordian_status status = value_symbol(treo, actuals->place->module, token, value, argument);
    if (status != GORDIAN_OK)
        return status;
    gordian_error why = {0};
    status = data_use(&treo->circuit->data, *argument, &why);
    if (status == GORDIAN_STATUS_INPUT)
        return treo_complain(treo, actuals->place->module, token, "%s", why.message);
    return status == GORDIAN_OK ? status : fail_memory(treo->error);
}

static gordian_status instantiate_primitive(struct treo *treo, struct actuals *actuals,
                                            const struct set *set,
                                            const struct primitive *primitive)
{
    size_t ports = actuals->port_count, least = primitive->ins + primitive->outs;
    bool more = primitive->more_ins || primitive->more_outs;
    uint32_t argument, number;
    char key[120];
    if (ports < least || (ports > least && !more))
        return treo_complain(treo, actuals->place->module, set->token,
                             "'%s' takes %s%zu ports, not %zu: it is %s", primitive->name,
                             more ? "at least " : "", least, ports, primitive->usage);
    gordian_status status = primitive_argument(treo, actuals, set, primitive, &argument);
    if (status != GORDIAN_OK)
        return status;
    uint32_t ins = primitive->more_ins ? (uint32_t)ports - primitive->outs : primitive->ins;
    for (size_t p = 0; p < ports && status == GORDIAN_OK; p++)
        status = check_way(treo, actuals, set, primitive->name, p, p < ins ? PORT_IN : PORT_OUT);
    if (status != GORDIAN_OK)
        return status;
    snprintf(key, sizeof key, "%s %zu %u", primitive->name, ports, argument);
    number = treo_made(treo, key);
    if (number == GORDIAN_NONE) {
        struct automaton *automaton;
        status = primitive_build(&automaton, primitive, ins, (uint32_t)ports - ins, argument,
                                 &treo->memory, treo->error);
        if (status == GORDIAN_OK)
            status = treo_keep(treo, key, automaton, &number);
    }
    return status == GORDIAN_OK ? add_atom(treo, actuals, number, NULL) : status;
}

/* What an atom is made from: the component and its parameters. Too long, or with parameters that
 * are no data: "" and it is made each time. */
static void atom_key(const struct value *callee, const struct actuals *actuals, char *key,
                     size_t size)
{
    size_t used = (size_t)snprintf(key, size, "#%p %zu", (const void *)callee->component,
                                   actuals->port_count);
    for (size_t i = 0; i < actuals->value_count; i++) {
        char text[60];
        if (!value_text(&actuals->values[i], text, sizeof text) || used + sizeof text + 2 > size) {
            *key = '\0';
            return;
        }
        used += (size_t)snprintf(key + used, size - used, "\n%s", text);
    }
    if (callee->scope)
        *key = '\0';
}

/* An automaton that fires its only port whenever somebody else does, with whatever datum. */
static gordian_status free_automaton(struct treo *treo, uint8_t way, uint32_t *number)
{
    char key[40];
    struct automaton *automaton;
    static const uint64_t fires = 1;
    snprintf(key, sizeof key, "free %u", way);
    *number = treo_made(treo, key);
    if (*number != GORDIAN_NONE)
        return GORDIAN_OK;
    gordian_status status = automaton_new(&automaton, "free", &treo->memory, treo->error);
    if (status != GORDIAN_OK)
        return status;
    status = automaton_port(automaton, "a", (enum port_way)way, NULL, treo->error);
    if (status == GORDIAN_OK)
        status = automaton_state(automaton, NULL, true, NULL, treo->error);
    if (status == GORDIAN_OK)
        status = automaton_transition(automaton, 0, 0, &fires, 0, treo->error);
    if (status != GORDIAN_OK) {
        automaton_free(automaton);
        return status;
    }
    return treo_keep(treo, key, automaton, number);
}

/* Code that we cannot read may do anything: every port fires whenever it likes, alone or with
 * others. Ports that have nothing to do with each other do just that, so each is an automaton. */
static gordian_status add_foreign(struct treo *treo, const struct actuals *actuals,
                                  const struct atom_port *ports, const char *title)
{
    gordian_status status = GORDIAN_OK;
    for (size_t p = 0; p < actuals->port_count && status == GORDIAN_OK; p++) {
        struct actuals one = {.treo = treo, .ports = actuals->ports + p, .port_count = 1};
        uint32_t number;
        status = free_automaton(treo, ports[p].way, &number);
        if (status == GORDIAN_OK)
            status = add_atom(treo, &one, number, title);
    }
    return status;
}

/* Fifo[3](a;b): three buffers in a row. */
static gordian_status instantiate_chain(struct treo *treo, const struct actuals *ends,
                                        const struct set *set, int64_t length)
{
    const struct primitive *fifo1 = primitive_find("fifo1", 5);
    struct binding row[2] = {ends->ports[0], ends->ports[0]};
    gordian_status status = GORDIAN_OK;
    for (int64_t i = 1; i <= length && status == GORDIAN_OK; i++) {
        struct actuals link = {
            .treo = treo, .place = ends->place, .ports = row, .port_count = 2, .value_count = 0};
        row[0] = row[1];
        row[1] = i == length ? ends->ports[1] : (struct binding){0};
        if (i < length)
            status = new_node(treo, ends->place->instance, "m", &row[1].node);
        if (status == GORDIAN_OK)
            status = instantiate_primitive(treo, &link, set, fifo1);
    }
    return status;
}

static const struct primitive *find_built_in(const struct token *name)
{
    static const char *const others[][2] = {{"fifo", "fifo1"}, {"identity", "sync"}};
    char lower[40] = "";
    for (uint32_t i = 0; i < name->length && i + 1 < sizeof lower; i++)
        lower[i] = (char)(name->text[i] >= 'A' && name->text[i] <= 'Z' ? name->text[i] + 32
                                                                       : name->text[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(lower, others[i][0]) == 0)
            return primitive_find(others[i][1], strlen(others[i][1]));
    return primitive_find(lower, strlen(lower));
}

/* The atom's ports in the order in which the built-in component has them. */
static gordian_status built_in_ports(struct treo *treo, const struct matching *matching,
                                     const struct value *callee, struct actuals *inner)
{
    const struct actuals *outer = matching->actuals;
    for (const struct expr *port = callee->component->atom->ports; port; port = port->next) {
        char key[KEY_SIZE];
        gordian_status status = value_key(treo, matching->place, port, key, sizeof key);
        size_t p = 0;
        while (p < outer->port_count && strcmp(matching->ports[p].key, key) != 0)
            p++;
        if (status == GORDIAN_OK && p == outer->port_count)
            status = treo_complain(treo, callee->module, port->token, "'%s' is not a port of '%s'",
                                   key, callee->name);
        if (status == GORDIAN_OK && !memory_grow(&treo->memory, &inner->ports, &inner->port_room,
                                                 inner->port_count + 1, sizeof *inner->ports))
            status = fail_memory(treo->error);
        if (status != GORDIAN_OK)
            return status;
        inner->ports[inner->port_count++] = outer->ports[p];
    }
    return GORDIAN_OK;
}

static gordian_status instantiate_built_in(struct treo *treo, const struct matching *matching,
                                           const struct value *callee)
{
    const struct atom *atom = callee->component->atom;
    const struct primitive *primitive = find_built_in(atom->name);
    struct place place = {matching->place->scope, callee->module,
                          matching->actuals->place->instance};
    struct actuals inner = {.treo = treo, .place = &place};
    struct set set = {.kind = SET_INSTANCE, .token = atom->name};
    struct value value = {0};
    if (!primitive)
        return treo_complain(treo, callee->module, atom->name,
                             "there is no built-in component '%.*s'", (int)atom->name->length,
                             atom->name->text);
    gordian_status status = built_in_ports(treo, matching, callee, &inner);
    if (status == GORDIAN_OK && atom->argument)
        status = value_of(treo, &place, atom->argument, &value);
    if (status == GORDIAN_OK && primitive->arguments > 0 && atom->argument)
        status = add_value(&inner, &value);
    bool chain = strcmp(primitive->name, "fifo1") == 0 && value.kind == VALUE_NUMBER &&
                 value.number > 1 && inner.port_count == 2;
    if (status == GORDIAN_OK && chain && value.number > treo->most)
        status =
            treo_complain(treo, callee->module, atom->name, "more than %u instances", treo->most);
    if (status == GORDIAN_OK)
        status = chain ? instantiate_chain(treo, &inner, &set, value.number)
                       : instantiate_primitive(treo, &inner, &set, primitive);
    free_actuals(&inner);
    return status;
}

static gordian_status instantiate_atom(struct treo *treo, struct actuals *actuals,
                                       const struct set *set, const struct value *callee,
                                       struct place *place)
{
    char key[300];
    struct matching matching = {.treo = treo, .place = place, .actuals = actuals};
    const struct atom *atom = callee->component->atom;
    struct automaton *automaton;
    uint32_t number;
    if (atom->kind == ATOM_NONE)
        return treo_complain(treo, callee->module, callee->component->token,
                             "'%s' is told as #%.*s, which is not read: #RBA, #CA, #CAM, #PA, #P, "
                             "#PR, #WA and #SCA are",
                             callee->name, (int)atom->unsupported->length, atom->unsupported->text);
    matching.ports = arena_alloc(&treo->arena, (actuals->port_count + 1) * sizeof *matching.ports);
    if (!matching.ports)
        return fail_memory(treo->error);
    gordian_status status = bind_ports(treo, &matching, set, callee);
    if (status == GORDIAN_OK && atom->kind == ATOM_FOREIGN)
        return add_foreign(treo, actuals, matching.ports, callee->name);
    if (status == GORDIAN_OK && atom->kind == ATOM_BUILT_IN)
        return instantiate_built_in(treo, &matching, callee);
    if (status == GORDIAN_OK && (atom->timed || atom->weighted))
        status = treo_note(
            treo, callee->module, callee->component->token, "'%s': %s not looked at", callee->name,
            atom->timed ? "how far jobs have come (#WA) is" : "what steps cost (#SCA) is");
    if (status != GORDIAN_OK)
        return status;
    atom_key(callee, actuals, key, sizeof key);
    number = *key ? treo_made(treo, key) : GORDIAN_NONE;
    if (number == GORDIAN_NONE) {
        status = atom_build(treo, callee->component, callee->name, place, matching.ports,
                            actuals->port_count, &automaton);
        if (status == GORDIAN_OK)
            status = treo_keep(treo, key, automaton, &number);
    }
    return status == GORDIAN_OK ? add_atom(treo, actuals, number, NULL) : status;
}

/* ------------------------------------------------------------------ composites */

static uint32_t ordinal_of(const struct treo *treo, uint32_t parent, const char *name)
{
    uint32_t ordinal = 1;
    for (size_t i = treo->instance_count; i-- > 0;) {
        const struct instance *other = &treo->instances[i];
        if (other->parent != parent)
            break; /* children of one parent follow one another */
        if (strcmp(other->name, name) == 0)
            return other->ordinal + 1;
    }
    return ordinal;
}

static gordian_status queue_instance(struct treo *treo, const struct value *callee,
                                     const struct token *token, const struct place *caller,
                                     uint32_t *number)
{
    uint32_t parent = caller->instance;
    uint32_t depth = parent == GORDIAN_NONE ? 0 : treo->instances[parent].depth + 1;
    if (depth > TREO_DEPTH_MAX)
        return treo_complain(treo, caller->module, token,
                             "components are nested more than %u deep: does the recursion end?",
                             TREO_DEPTH_MAX);
    if (treo->instance_count >= treo->most)
        return treo_complain(treo, caller->module, token, "more than %u instances", treo->most);
    if (!memory_grow(&treo->memory, &treo->instances, &treo->instance_room,
                     treo->instance_count + 1, sizeof *treo->instances))
        return fail_memory(treo->error);
    *number = (uint32_t)treo->instance_count;
    treo->instances[treo->instance_count] = (struct instance){
        .component = callee->component,
        .module = callee->module,
        .parent = parent,
        .depth = depth,
        .ordinal = ordinal_of(treo, parent, callee->name),
        .name = callee->name,
        .token = token,
        .token_module = caller->module,
    };
    treo->instance_count++;
    return GORDIAN_OK;
}

/* name = other: follows it to a component that is written out. */
static gordian_status resolve_instance(struct treo *treo, const struct place *place,
                                       const struct component *component, struct value *value)
{
    struct place at = *place;
    if (!component->variable) {
        *value = (struct value){.kind = VALUE_COMPONENT,
                                .component = component,
                                .name = "component",
                                .scope = place->scope,
                                .module = place->module};
        return GORDIAN_OK;
    }
    const struct expr *variable = component->variable;
    for (unsigned hops = 0; hops < TREO_DEPTH_MAX; hops++) {
        struct value ignored;
        bool unknown = !variable->indices && !scope_find(at.scope, variable->name) &&
                       component_find(treo, at.module, variable->token, variable->name, &ignored) ==
                           GORDIAN_STATUS_END;
        if (unknown)
            return treo_complain(treo, at.module, variable->token, "there is no component '%s'",
                                 variable->name);
        gordian_status status = value_of(treo, &at, variable, value);
        if (status != GORDIAN_OK)
            return status;
        if (value->kind != VALUE_COMPONENT && value->kind != VALUE_PRIMITIVE)
            return treo_complain(treo, at.module, variable->token, "'%s' is not a component",
                                 variable->name);
        if (value->kind == VALUE_PRIMITIVE || !value->component->variable)
            return GORDIAN_OK;
        variable = value->component->variable;
        at.scope = value->scope;
        at.module = value->module;
    }
    return treo_complain(treo, at.module, variable->token, "'%s' is defined by itself",
                         variable->name);
}

static gordian_status instantiate_component(struct treo *treo, struct actuals *actuals,
                                            const struct set *set, const struct value *callee)
{
    struct place place = {.scope = callee->scope, .module = callee->module};
    uint64_t total;
    gordian_status status = bind_parameters(treo, &place, actuals, set, callee);
    if (status == GORDIAN_OK)
        status = find_size(treo, &place, callee->component->ports, actuals->port_count, &total);
    if (status != GORDIAN_OK)
        return status;
    if (total != actuals->port_count)
        return treo_complain(treo, actuals->place->module, set->token,
                             "'%s' takes %" PRIu64 " port%s, not %zu", callee->name, total,
                             total == 1 ? "" : "s", actuals->port_count);
    if (callee->component->atom)
        return instantiate_atom(treo, actuals, set, callee, &place);
    struct matching matching = {.treo = treo, .place = &place, .actuals = actuals};
    status = queue_instance(treo, callee, set->token, actuals->place, &matching.instance);
    if (status == GORDIAN_OK)
        status = bind_ports(treo, &matching, set, callee);
    if (status == GORDIAN_OK)
        treo->instances[matching.instance].scope = place.scope;
    return status;
}

/* What is wrong with a parameter is wrong where it was given: if that complaint points into a
 * library, it points to the user's instance from now on, and the library's line comes second. */
static void point_outside(struct treo *treo, const struct place *place, const struct token *token)
{
    uint32_t module = place->module, instance = place->instance;
    if (treo->fault_module == 0 || !treo->fault || !treo->fault->file[0])
        return;
    while (module != 0 && instance != GORDIAN_NONE && treo->instances[instance].token) {
        module = treo->instances[instance].token_module;
        token = treo->instances[instance].token;
        instance = treo->instances[instance].parent;
    }
    if (module != 0)
        return;
    gordian_fault inner = *treo->fault;
    gordian_error *error = treo->error;
    text_point(treo->modules[0]->shown, token->line, token->column, treo->fault);
    memcpy(treo->fault->inner_file, inner.file, sizeof inner.file);
    memcpy(treo->fault->inner_text, inner.line, sizeof inner.line);
    treo->fault->inner_caret = inner.caret;
    treo->fault->inner_line = error->line;
    treo->fault->inner_column = error->column;
    error->line = token->line;
    error->column = token->column;
    treo->fault_module = 0;
}

static gordian_status instantiate_body(struct treo *treo, const struct place *place,
                                       const struct set *set)
{
    struct actuals actuals = {.treo = treo, .place = place};
    struct value callee;
    gordian_status status = resolve_instance(treo, place, set->component, &callee);
    if (status == GORDIAN_OK)
        status = evaluate_arguments(&actuals, set);
    if (status == GORDIAN_OK)
        status = evaluate_ports(&actuals, set);
    if (status == GORDIAN_OK)
        status = callee.kind == VALUE_PRIMITIVE
                     ? instantiate_primitive(treo, &actuals, set, callee.primitive)
                     : instantiate_component(treo, &actuals, set, &callee);
    if (status == GORDIAN_STATUS_INPUT && actuals.value_count > 0)
        point_outside(treo, place, set->token);
    free_actuals(&actuals);
    return status;
}

/* ------------------------------------------------------------------ sets */

struct members {
    struct treo *treo;
    const struct set *first;
};

static gordian_status evaluate_set(struct treo *treo, const struct place *place,
                                   const struct set *set);

static gordian_status evaluate_members(void *context, const struct place *place)
{
    const struct members *members = context;
    gordian_status status = GORDIAN_OK;
    for (const struct set *set = members->first; set && status == GORDIAN_OK; set = set->next)
        status = evaluate_set(members->treo, place, set);
    return status;
}

static gordian_status evaluate_for(struct treo *treo, const struct place *place,
                                   const struct set *set)
{
    int64_t first, last = 0;
    gordian_status status = value_number(treo, place, set->first, &first);
    if (status == GORDIAN_OK)
        status = value_number(treo, place, set->last, &last);
    if (status == GORDIAN_OK && last >= first && (uint64_t)last - (uint64_t)first >= treo->most)
        return treo_complain(treo, place->module, set->token, "more than %u rounds", treo->most);
    for (int64_t i = first; i <= last && status == GORDIAN_OK; i++) {
        struct value value = {.kind = VALUE_NUMBER, .number = i};
        struct place inner = *place;
        inner.scope = scope_bind(treo, place->scope, set->name, &value);
        status = inner.scope ? evaluate_set(treo, &inner, set->members) : GORDIAN_STATUS_MEMORY;
        if (i == INT64_MAX)
            break;
    }
    return status;
}

static gordian_status evaluate_set(struct treo *treo, const struct place *place,
                                   const struct set *set)
{
    struct members members = {treo, set->members};
    bool truth;
    gordian_status status;
    switch ((enum set_kind)set->kind) {
    case SET_INSTANCE:
        return instantiate_body(treo, place, set);
    case SET_GROUP:
        return formula_solve(treo, place, set->formula, evaluate_members, &members);
    case SET_FOR:
        return evaluate_for(treo, place, set);
    case SET_IF:
        status = value_truth(treo, place, set->formula, &truth);
        if (status != GORDIAN_OK || (!truth && !set->otherwise))
            return status;
        return evaluate_set(treo, place, truth ? set->members : set->otherwise);
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the main component */

/* a[1..3],b: the ports with a size. */
static const char *port_examples(const struct formal *formals, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (const struct formal *formal = formals; formal && used < size; formal = formal->next) {
        const struct expr *variable = formal->variable;
        used += (size_t)snprintf(buffer + used, size - used, "%s%s%s", used ? "," : "",
                                 variable ? variable->name : "x",
                                 variable && has_range(variable) ? "[1..3]" : "");
    }
    return buffer;
}

/* Without actual ports: its own names become the boundary. */
static gordian_status bind_main_ports(struct actuals *actuals, const struct value *callee,
                                      const struct place *place)
{
    struct treo *treo = actuals->treo;
    const struct expr *unbound;
    uint64_t total;
    char ports[160];
    gordian_status status = count_formals(treo, place, callee->component->ports, &total, &unbound);
    if (status != GORDIAN_OK)
        return status;
    if (unbound)
        return treo_complain(treo, place->module, unbound->token,
                             "how large is '%s'? Say it with the main component: --main '%s(%s)'",
                             unbound->name, callee->name,
                             port_examples(callee->component->ports, ports, sizeof ports));
    for (const struct formal *formal = callee->component->ports; formal && status == GORDIAN_OK;
         formal = formal->next) {
        if (formal->variable)
            status = value_expand(treo, place, formal->variable, add_port, actuals);
        else
            status = treo_complain(treo, place->module, formal->token, "this port needs a name");
    }
    return status;
}

/* The main instance has an instance of its own around it, number 0, whose nodes are the boundary.
 */
static gordian_status start_main(struct treo *treo, const struct set *main,
                                 const struct place *place)
{
    struct actuals actuals = {.treo = treo, .place = place};
    struct value callee;
    struct place inside;
    gordian_status status = resolve_instance(treo, place, main->component, &callee);
    if (status == GORDIAN_OK)
        status = evaluate_arguments(&actuals, main);
    if (status == GORDIAN_OK && callee.kind == VALUE_COMPONENT && !main->ports) {
        inside = (struct place){.scope = callee.scope, .module = callee.module};
        status = bind_parameters(treo, &inside, &actuals, main, &callee);
        if (status == GORDIAN_OK)
            status = bind_main_ports(&actuals, &callee, &inside);
    } else if (status == GORDIAN_OK) {
        status = evaluate_ports(&actuals, main);
    }
    if (status == GORDIAN_OK)
        status = callee.kind == VALUE_PRIMITIVE
                     ? instantiate_primitive(treo, &actuals, main, callee.primitive)
                     : instantiate_component(treo, &actuals, main, &callee);
    free_actuals(&actuals);
    return status;
}

/* The instances from `first` on are new: the first of them is the next to be taken apart. */
static gordian_status push_instances(struct treo *treo, size_t first)
{
    size_t count = treo->instance_count - first;
    if (!memory_grow(&treo->memory, &treo->stack, &treo->stack_room, treo->stack_count + count,
                     sizeof *treo->stack))
        return fail_memory(treo->error);
    for (size_t i = treo->instance_count; i-- > first;)
        treo->stack[treo->stack_count++] = (uint32_t)i;
    return GORDIAN_OK;
}

gordian_status treo_run(struct treo *treo, const struct set *main)
{
    struct value outside = {.name = ""};
    struct place place = {.module = 0, .instance = GORDIAN_NONE};
    gordian_status status = queue_instance(treo, &outside, main->token, &place, &place.instance);
    if (status == GORDIAN_OK)
        status = start_main(treo, main, &place);
    if (status == GORDIAN_OK)
        status = push_instances(treo, 1);
    while (status == GORDIAN_OK && treo->stack_count > 0) {
        uint32_t number = treo->stack[--treo->stack_count];
        size_t before = treo->instance_count;
        const struct instance *instance = &treo->instances[number];
        place = (struct place){instance->scope, instance->module, number};
        status = evaluate_set(treo, &place, instance->component->body);
        if (status == GORDIAN_OK)
            status = push_instances(treo, before);
    }
    return status;
}
