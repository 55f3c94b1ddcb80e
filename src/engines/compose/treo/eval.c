/* Evaluates instances: binds the parameters and ports of components and expands them until only
 * atoms are left. */
#include "engines/compose/treo/actuals.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ atoms */

static gordian_status add_atom(const struct actuals *actuals, uint32_t automaton, const char *title)
{
    struct treo *treo = actuals->place->treo;
    const struct automaton *made = treo->circuit->automata[automaton];
    size_t ports = actuals->port_count;
    if (treo->atom_count >= treo->most)
        return fail(treo->error, GORDIAN_STATUS_INPUT, "more than %u instances", treo->most);
    if (!memory_extend(&treo->memory, treo->atoms, treo->atom_room, treo->atom_count) ||
        !memory_grow(&treo->memory, &treo->ends, &treo->end_room, treo->end_count + ports,
                     sizeof *treo->ends))
        return fail_memory(treo->error);
    treo->atoms[treo->atom_count++] = (struct atom_instance){automaton, title, treo->end_count};
    for (size_t p = 0; p < ports; p++) {
        struct node *node = &treo->nodes[actuals->ports[p].node];
        uint8_t direction = made->ports[p].direction;
        node->writers += direction == PORT_OUT;
        node->readers += direction != PORT_OUT;
        treo->ends[treo->end_count++] = (struct end){actuals->ports[p].node, direction};
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
    if (!memory_extend(&treo->memory, treo->automata, treo->made_room, treo->made_count))
        return fail_memory(treo->error);
    status = labels_put(&treo->made, key, strlen(key), &label, treo->error);
    if (status == GORDIAN_OK)
        treo->automata[treo->made_count++] = *number;
    return status;
}

/* A function argument of a built-in component. The data in its table are added to the domain unless
 * the user listed the domain. */
static gordian_status function_argument(struct treo *treo, uint32_t module,
                                        const struct token *token, const struct value *value,
                                        const struct primitive *primitive, uint32_t *number)
{
    struct data *data = &treo->circuit->data;
    struct mentions found = {.token = token};
    gordian_status status = value_function(treo, module, value, primitive->argument == 'P',
                                           primitive->ins, number, &found);
    uint32_t arity = status == GORDIAN_OK ? data->functions[*number].arity : 0;
    if (status == GORDIAN_OK && arity != primitive->ins)
        return treo_complain(treo, module, token,
                             "it is %s: its function takes %u argument%s, not %u", primitive->usage,
                             primitive->ins, primitive->ins == 1 ? "" : "s", arity);
    for (size_t i = 0; i < found.count && status == GORDIAN_OK && !data->listed; i++)
        status = data_use(data, found.symbols[i], treo->error);
    return status;
}

static gordian_status primitive_argument(const struct actuals *actuals, const struct set *set,
                                         const struct primitive *primitive, uint32_t *argument)
{
    struct treo *treo = actuals->place->treo;
    const struct value *value = actuals->values;
    const struct token *token = set->arguments ? set->arguments->token : set->token;
    *argument = 0;
    if (actuals->value_count != primitive->arguments)
        return place_complain(actuals->place, set->token, "it is %s: %u parameter%s, not %zu",
                              primitive->usage, primitive->arguments,
                              primitive->arguments == 1 ? "" : "s", actuals->value_count);
    if (primitive->argument == 'P' || primitive->argument == 'f')
        return function_argument(treo, actuals->place->module, token, value, primitive, argument);
    if (primitive->argument != 'd')
        return GORDIAN_OK;
    TRY(value_symbol(treo, actuals->place->module, token, value, argument));
    gordian_error why = {0};
    gordian_status status = data_use(&treo->circuit->data, *argument, &why);
    if (status == GORDIAN_STATUS_INPUT)
        return place_complain(actuals->place, token, "%s", why.message);
    return status == GORDIAN_OK ? status : fail_memory(treo->error);
}

static gordian_status instantiate_primitive(struct actuals *actuals, const struct set *set,
                                            const struct primitive *primitive)
{
    struct treo *treo = actuals->place->treo;
    size_t ports = actuals->port_count, least = primitive->ins + primitive->outs;
    bool more = primitive->more_ins || primitive->more_outs;
    uint32_t argument, number;
    char key[120];
    if (ports < least || (ports > least && !more))
        return place_complain(actuals->place, set->token,
                              "'%s' takes %s%zu ports, not %zu: it is %s", primitive->name,
                              more ? "at least " : "", least, ports, primitive->usage);
    TRY(primitive_argument(actuals, set, primitive, &argument));
    uint32_t ins = primitive->more_ins ? (uint32_t)ports - primitive->outs : primitive->ins;
    for (size_t p = 0; p < ports; p++)
        TRY(formals_check_direction(actuals, set, primitive->name, p,
                                    p < ins ? PORT_IN : PORT_OUT));
    snprintf(key, sizeof key, "%s %zu %u", primitive->name, ports, argument);
    number = treo_made(treo, key);
    if (number == GORDIAN_NONE) {
        struct automaton *automaton;
        TRY(primitive_build(&automaton, primitive, ins, (uint32_t)ports - ins, argument,
                            &treo->memory, treo->error));
        TRY(treo_keep(treo, key, automaton, &number));
    }
    return add_atom(actuals, number, NULL);
}

/* The key of an atom: the component and its parameters. "" if it would be too long, or has
 * parameters that are not data; then the atom is built every time. */
static void atom_key(const struct value *callee, const struct actuals *actuals, char *key,
                     size_t size)
{
    size_t used = (size_t)snprintf(key, size, "#%p %zu", (const void *)callee->component,
                                   actuals->port_count);
    for (size_t i = 0; i < actuals->value_count; i++) {
        char text[60];
        if (!value_as_text(&actuals->values[i], text, sizeof text) ||
            used + sizeof text + 2 > size) {
            *key = '\0';
            return;
        }
        used += (size_t)snprintf(key + used, size - used, "\n%s", text);
    }
    if (callee->scope)
        *key = '\0';
}

/* An automaton whose only port can fire at any time, with any datum. */
static gordian_status free_automaton(struct treo *treo, uint8_t direction, uint32_t *number)
{
    char key[40];
    struct automaton *automaton;
    static const uint64_t fires = 1;
    snprintf(key, sizeof key, "free %u", direction);
    *number = treo_made(treo, key);
    if (*number != GORDIAN_NONE)
        return GORDIAN_OK;
    TRY(automaton_new(&automaton, "free", &treo->memory, treo->error));
    gordian_status status =
        automaton_port(automaton, "a", (enum port_direction)direction, NULL, treo->error);
    THEN(status, automaton_state(automaton, NULL, true, NULL, treo->error));
    THEN(status, automaton_transition(automaton, 0, 0, &fires, 0, treo->error));
    if (status != GORDIAN_OK) {
        automaton_free(automaton);
        return status;
    }
    return treo_keep(treo, key, automaton, number);
}

/* Foreign code may do anything: every port can fire at any time, alone or with others. Independent
 * automata, one per port, have exactly this behaviour. */
static gordian_status add_foreign(const struct actuals *actuals, const struct atom_port *ports,
                                  const char *title)
{
    for (size_t p = 0; p < actuals->port_count; p++) {
        struct actuals one = {
            .place = actuals->place, .ports = actuals->ports + p, .port_count = 1};
        uint32_t number;
        TRY(free_automaton(actuals->place->treo, ports[p].direction, &number));
        TRY(add_atom(&one, number, title));
    }
    return GORDIAN_OK;
}

/* Fifo[3](a;b): a chain of three buffers. */
static gordian_status instantiate_chain(const struct actuals *ends, const struct set *set,
                                        int64_t length)
{
    const struct primitive *fifo1 = primitive_find("fifo1", 5);
    struct binding row[2] = {ends->ports[0], ends->ports[0]};
    for (int64_t i = 1; i <= length; i++) {
        struct actuals link = {
            .place = ends->place, .ports = row, .port_count = 2, .value_count = 0};
        row[0] = row[1];
        row[1] = i == length ? ends->ports[1] : (struct binding){0};
        if (i < length)
            TRY(actuals_new_node(ends->place->treo, ends->place->instance, "m", &row[1].node));
        TRY(instantiate_primitive(&link, set, fifo1));
    }
    return GORDIAN_OK;
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

/* The ports of the atom in the order of the built-in component. */
static gordian_status built_in_ports(const struct matching *matching, const struct value *callee,
                                     struct actuals *inner)
{
    struct treo *treo = matching->place->treo;
    const struct actuals *outer = matching->actuals;
    for (const struct expr *port = callee->component->atom->ports; port; port = port->next) {
        char key[TREO_KEY_SIZE];
        TRY(value_key(matching->place, port, key, sizeof key));
        size_t p = 0;
        while (p < outer->port_count && strcmp(matching->ports[p].key, key) != 0)
            p++;
        if (p == outer->port_count)
            return treo_complain(treo, callee->module, port->token, "'%s' is not a port of '%s'",
                                 key, callee->name);
        if (!memory_extend(&treo->memory, inner->ports, inner->port_room, inner->port_count))
            return fail_memory(treo->error);
        inner->ports[inner->port_count++] = outer->ports[p];
    }
    return GORDIAN_OK;
}

static gordian_status instantiate_built_in(const struct matching *matching,
                                           const struct value *callee)
{
    struct treo *treo = matching->place->treo;
    const struct atom *atom = callee->component->atom;
    const struct primitive *primitive = find_built_in(atom->name);
    struct place place = {matching->place->treo, matching->place->scope, callee->module,
                          matching->actuals->place->instance};
    struct actuals inner = {.place = &place};
    struct set set = {.kind = SET_INSTANCE, .token = atom->name};
    struct value value = {0};
    if (!primitive)
        return treo_complain(treo, callee->module, atom->name,
                             "there is no built-in component '%.*s'", (int)atom->name->length,
                             atom->name->text);
    gordian_status status = built_in_ports(matching, callee, &inner);
    if (status == GORDIAN_OK && atom->argument)
        status = value_evaluate(&place, atom->argument, &value);
    if (status == GORDIAN_OK && primitive->arguments > 0 && atom->argument)
        status = actuals_add_value(&inner, &value);
    bool chain = strcmp(primitive->name, "fifo1") == 0 && value.kind == VALUE_NUMBER &&
                 value.number > 1 && inner.port_count == 2;
    if (status == GORDIAN_OK && chain && value.number > treo->most)
        status =
            treo_complain(treo, callee->module, atom->name, "more than %u instances", treo->most);
    THEN(status, chain ? instantiate_chain(&inner, &set, value.number)
                       : instantiate_primitive(&inner, &set, primitive));
    actuals_free(&inner);
    return status;
}

static gordian_status instantiate_atom(struct actuals *actuals, const struct set *set,
                                       const struct value *callee, struct place *place)
{
    struct treo *treo = place->treo;
    char key[300];
    struct matching matching = {.place = place, .actuals = actuals};
    const struct atom *atom = callee->component->atom;
    struct automaton *automaton;
    uint32_t number;
    if (atom->kind == ATOM_NONE)
        return treo_complain(treo, callee->module, callee->component->token,
                             "'%s' has the semantics #%.*s, which is not supported: use #RBA, #CA, "
                             "#CAM, #PA, #P, #PR, #WA or #SCA",
                             callee->name, (int)atom->unsupported->length, atom->unsupported->text);
    matching.ports = arena_alloc(&treo->arena, (actuals->port_count + 1) * sizeof *matching.ports);
    if (!matching.ports)
        return fail_memory(treo->error);
    TRY(formals_bind_ports(&matching, set, callee));
    if (atom->kind == ATOM_FOREIGN)
        return add_foreign(actuals, matching.ports, callee->name);
    if (atom->kind == ATOM_BUILT_IN)
        return instantiate_built_in(&matching, callee);
    if (atom->timed)
        TRY(treo_note(treo, callee->module, callee->component->token,
                      "'%s': the progress of jobs (#WA) is ignored", callee->name));
    atom_key(callee, actuals, key, sizeof key);
    number = *key ? treo_made(treo, key) : GORDIAN_NONE;
    if (number == GORDIAN_NONE) {
        TRY(atom_build(place, callee->component, callee->name, matching.ports, actuals->port_count,
                       &automaton));
        TRY(treo_keep(treo, key, automaton, &number));
    }
    return add_atom(actuals, number, NULL);
}

/* ------------------------------------------------------------------ composites */

static uint32_t ordinal_of(const struct treo *treo, uint32_t parent, const char *name)
{
    for (size_t i = treo->instance_count; i-- > 0;) {
        const struct instance *other = &treo->instances[i];
        if (other->parent != parent)
            break; /* children of a parent are contiguous */
        if (strcmp(other->name, name) == 0)
            return other->ordinal + 1;
    }
    return 1;
}

static gordian_status queue_instance(struct treo *treo, const struct value *callee,
                                     const struct token *token, const struct place *caller,
                                     uint32_t *number)
{
    uint32_t parent = caller->instance;
    uint32_t depth = parent == GORDIAN_NONE ? 0 : treo->instances[parent].depth + 1;
    if (depth > TREO_DEPTH_MAX)
        return treo_complain(
            treo, caller->module, token,
            "components are nested more than %u deep: check that the recursion ends",
            TREO_DEPTH_MAX);
    if (treo->instance_count >= treo->most)
        return treo_complain(treo, caller->module, token, "more than %u instances", treo->most);
    if (!memory_extend(&treo->memory, treo->instances, treo->instance_room, treo->instance_count))
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

/* name = other: follows names to a component that is defined. */
static gordian_status resolve_instance(const struct place *place, const struct component *component,
                                       struct value *value)
{
    struct place at = *place;
    if (!component->variable) {
        *value = value_component(place, component, "component");
        return GORDIAN_OK;
    }
    const struct expr *variable = component->variable;
    for (unsigned hops = 0; hops < TREO_DEPTH_MAX; hops++) {
        struct value ignored;
        bool unknown = !variable->indices && !scope_find(at.scope, variable->name) &&
                       component_find(place->treo, at.module, variable->token, variable->name,
                                      &ignored) == GORDIAN_STATUS_END;
        if (unknown)
            return treo_unknown(place->treo, at.module, variable);
        TRY(value_evaluate(&at, variable, value));
        if (value->kind != VALUE_COMPONENT && value->kind != VALUE_PRIMITIVE)
            return place_complain(&at, variable->token, "'%s' is not a component", variable->name);
        if (value->kind == VALUE_PRIMITIVE || !value->component->variable)
            return GORDIAN_OK;
        variable = value->component->variable;
        at.scope = value->scope;
        at.module = value->module;
    }
    return place_complain(&at, variable->token, "'%s' is defined by itself", variable->name);
}

static gordian_status instantiate_component(struct actuals *actuals, const struct set *set,
                                            const struct value *callee)
{
    struct treo *treo = actuals->place->treo;
    struct place place = {
        .treo = actuals->place->treo, .scope = callee->scope, .module = callee->module};
    uint64_t total;
    TRY(formals_bind_parameters(&place, actuals, set, callee));
    TRY(formals_find_size(&place, callee->component->ports, actuals->port_count, &total));
    if (total != actuals->port_count)
        return place_complain(actuals->place, set->token, "'%s' takes %" PRIu64 " port%s, not %zu",
                              callee->name, total, total == 1 ? "" : "s", actuals->port_count);
    if (callee->component->atom)
        return instantiate_atom(actuals, set, callee, &place);
    struct matching matching = {.place = &place, .actuals = actuals};
    gordian_status status =
        queue_instance(treo, callee, set->token, actuals->place, &matching.instance);
    THEN(status, formals_bind_ports(&matching, set, callee));
    if (status == GORDIAN_OK)
        treo->instances[matching.instance].scope = place.scope;
    return status;
}

/* A wrong parameter is an error at the instance that passes it. If the error is reported in a
 * library, this moves it to the user's instance; the line in the library becomes secondary. */
static void point_outside(const struct place *place, const struct token *token)
{
    struct treo *treo = place->treo;
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

static gordian_status instantiate_body(const struct place *place, const struct set *set)
{
    struct actuals actuals = {.place = place};
    struct value callee;
    gordian_status status = resolve_instance(place, set->component, &callee);
    THEN(status, actuals_evaluate_arguments(&actuals, set));
    THEN(status, actuals_evaluate_ports(&actuals, set));
    THEN(status, callee.kind == VALUE_PRIMITIVE
                     ? instantiate_primitive(&actuals, set, callee.primitive)
                     : instantiate_component(&actuals, set, &callee));
    if (status == GORDIAN_STATUS_INPUT && actuals.value_count > 0)
        point_outside(place, set->token);
    actuals_free(&actuals);
    return status;
}

/* ------------------------------------------------------------------ sets */

static gordian_status evaluate_set(const struct place *place, const struct set *set);

static gordian_status evaluate_members(void *context, const struct place *place)
{
    for (const struct set *set = context; set; set = set->next)
        TRY(evaluate_set(place, set));
    return GORDIAN_OK;
}

static gordian_status evaluate_for(const struct place *place, const struct set *set)
{
    int64_t first, last;
    TRY(value_number(place, set->first, &first));
    TRY(value_number(place, set->last, &last));
    uint64_t rounds = last < first ? 0 : (uint64_t)last - (uint64_t)first + 1;
    if (last >= first && rounds - 1 >= place->treo->most)
        return place_complain(place, set->token, "more than %u rounds", place->treo->most);
    for (uint64_t i = 0; i < rounds; i++) {
        struct value value = {.kind = VALUE_NUMBER, .number = first + (int64_t)i};
        struct place inner = *place;
        inner.scope = scope_bind(place->treo, place->scope, set->name, &value);
        TRY(inner.scope ? evaluate_set(&inner, set->members) : GORDIAN_STATUS_MEMORY);
    }
    return GORDIAN_OK;
}

static gordian_status evaluate_set(const struct place *place, const struct set *set)
{
    bool truth;
    switch ((enum set_kind)set->kind) {
    case SET_INSTANCE:
        return instantiate_body(place, set);
    case SET_GROUP:
        return formula_solve(place, set->formula, evaluate_members, set->members);
    case SET_FOR:
        return evaluate_for(place, set);
    case SET_IF:
        TRY(value_truth(place, set->formula, &truth));
        if (truth || set->otherwise)
            return evaluate_set(place, truth ? set->members : set->otherwise);
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the main component */

/* a[1..3],b: the ports with example sizes. */
static const char *port_examples(const struct formal *formals, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (const struct formal *formal = formals; formal && used < size; formal = formal->next) {
        const struct expr *variable = formal->variable;
        used += (size_t)snprintf(buffer + used, size - used, "%s%s%s", used ? "," : "",
                                 variable ? variable->name : "x",
                                 variable && actuals_has_range(variable) ? "[1..3]" : "");
    }
    return buffer;
}

/* Without actual ports, the component's own names become the boundary. */
static gordian_status bind_main_ports(struct actuals *actuals, const struct value *callee,
                                      const struct place *place)
{
    const struct expr *unbound;
    uint64_t total;
    char ports[160];
    TRY(formals_count(place, callee->component->ports, &total, &unbound));
    if (unbound)
        return place_complain(place, unbound->token,
                              "the size of '%s' is unknown: give it with --main '%s(%s)'",
                              unbound->name, callee->name,
                              port_examples(callee->component->ports, ports, sizeof ports));
    for (const struct formal *formal = callee->component->ports; formal; formal = formal->next) {
        if (formal->variable)
            TRY(value_expand(place, formal->variable, actuals_add_port, actuals));
        else
            return place_complain(place, formal->token, "this port needs a name");
    }
    return GORDIAN_OK;
}

/* The main instance is inside instance 0, whose nodes are the boundary. */
static gordian_status start_main(const struct set *main, const struct place *place)
{
    struct actuals actuals = {.place = place};
    struct value callee;
    struct place inside;
    gordian_status status = resolve_instance(place, main->component, &callee);
    THEN(status, actuals_evaluate_arguments(&actuals, main));
    if (status == GORDIAN_OK && callee.kind == VALUE_COMPONENT && !main->ports) {
        inside =
            (struct place){.treo = place->treo, .scope = callee.scope, .module = callee.module};
        status = formals_bind_parameters(&inside, &actuals, main, &callee);
        THEN(status, bind_main_ports(&actuals, &callee, &inside));
    } else if (status == GORDIAN_OK) {
        status = actuals_evaluate_ports(&actuals, main);
    }
    THEN(status, callee.kind == VALUE_PRIMITIVE
                     ? instantiate_primitive(&actuals, main, callee.primitive)
                     : instantiate_component(&actuals, main, &callee));
    actuals_free(&actuals);
    return status;
}

/* Pushes the instances from `first` on; the first of them is expanded next. */
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
    struct place place = {.treo = treo, .module = 0, .instance = GORDIAN_NONE};
    gordian_status status = queue_instance(treo, &outside, main->token, &place, &place.instance);
    THEN(status, start_main(main, &place));
    THEN(status, push_instances(treo, 1));
    while (status == GORDIAN_OK && treo->stack_count > 0) {
        uint32_t number = treo->stack[--treo->stack_count];
        size_t before = treo->instance_count;
        const struct instance *instance = &treo->instances[number];
        place = (struct place){treo, instance->scope, instance->module, number};
        const struct component *component = instance->component;
        const struct token *token = instance->token;
        status = evaluate_set(&place, component->body);
        if (status == GORDIAN_STATUS_INPUT && component->parameters)
            point_outside(&place, token);
        THEN(status, push_instances(treo, before));
    }
    return status;
}
