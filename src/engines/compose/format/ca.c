/* Reads .ca files: automata that share ports. The body of an automaton is that of a #CA atom. */
#include "engines/compose/format/ca.h"

#include "engines/compose/treo/treo_internal.h"

#include <string.h>

struct ca_reader {
    struct treo treo;
    struct parser parser;
    struct place place;
};

/* data 0 1 token */
static void read_data(struct ca_reader *reader)
{
    struct treo *treo = &reader->treo;
    struct data *data = &treo->circuit->data;
    bool given = data->listed; /* data listed by the caller take precedence */
    struct parser *parser = &reader->parser;
    parser_take(parser, TOKEN_NAME);
    while (parser->status == GORDIAN_OK) {
        const struct token *token = parser_token(parser);
        bool value = token->kind == TOKEN_NUMBER || token->kind == TOKEN_DECIMAL ||
                     token->kind == TOKEN_STRING || token->kind == TOKEN_NAME;
        uint32_t symbol;
        gordian_error why = {0};
        if (parser_take(parser, ','))
            continue;
        if (!value || token_is(token, "automaton") || token_is(token, "define"))
            break;
        parser_take(parser, token->kind);
        gordian_status status = data_symbol(data, token->text, token->length, &symbol, &why);
        if (status == GORDIAN_OK && !given)
            status = data_use(data, symbol, &why);
        if (status == GORDIAN_STATUS_INPUT)
            parser_complain(parser, token, "%s", why.message);
        else if (status != GORDIAN_OK)
            parser->status = fail_memory(treo->error);
    }
    if (parser->status == GORDIAN_OK && data->domain_size == 0)
        parser_complain(parser, parser_token(parser), "expected a data value");
    data->listed = true;
}

/* define f = {[0,1] [1,0]}, define P = <0,2> */
static void read_definition(struct ca_reader *reader)
{
    struct parser *parser = &reader->parser;
    struct value value;
    parser_take(parser, TOKEN_NAME);
    const struct token *name = parser_expect(parser, TOKEN_NAME, "a name");
    parser_expect(parser, '=', "'='");
    struct expr *expr = parse_expr(parser, LEVEL_TERM);
    parser_take(parser, ';');
    if (!expr || parser->status != GORDIAN_OK)
        return;
    parser->status = value_evaluate(&reader->place, expr, &value);
    if (parser->status != GORDIAN_OK)
        return;
    const char *key = parser_text(parser, name);
    reader->place.scope = key ? scope_bind(&reader->treo, reader->place.scope, key, &value) : NULL;
    if (!reader->place.scope)
        parser->status = fail_memory(reader->treo.error);
}

/* Adds the ports as names of the circuit. */
static gordian_status name_ports(struct ca_reader *reader, const struct component *component,
                                 struct atom_port *ports, uint32_t *names)
{
    struct treo *treo = &reader->treo;
    size_t p = 0;
    for (const struct formal *formal = component->ports; formal; formal = formal->next, p++) {
        gordian_error why = {0};
        if (!formal->variable || formal->variable->indices)
            return treo_complain(treo, 0, formal->token, "expected a name without [ ]");
        ports[p] = (struct atom_port){formal->variable->name, formal->direction};
        for (size_t q = 0; q < p; q++)
            if (strcmp(ports[q].key, ports[p].key) == 0)
                return treo_complain(treo, 0, formal->token, "the port '%s' is listed twice",
                                     ports[p].key);
        gordian_status status =
            circuit_name(treo->circuit, ports[p].key, strlen(ports[p].key), &names[p], &why);
        if (status == GORDIAN_STATUS_INPUT)
            return treo_complain(treo, 0, formal->token, "%s", why.message);
        if (status != GORDIAN_OK)
            return fail_memory(treo->error);
    }
    return GORDIAN_OK;
}

static gordian_status add_automaton(struct ca_reader *reader, const struct component *component,
                                    const char *title)
{
    struct treo *treo = &reader->treo;
    size_t count = 0;
    struct automaton *automaton;
    uint32_t number;
    for (const struct formal *formal = component->ports; formal; formal = formal->next)
        count++;
    struct atom_port *ports = arena_alloc(&treo->arena, (count + 1) * sizeof *ports);
    uint32_t *names = arena_alloc(&treo->arena, (count + 1) * sizeof *names);
    if (!ports || !names)
        return fail_memory(treo->error);
    TRY(name_ports(reader, component, ports, names));
    TRY(atom_build(&reader->place, component, title, ports, count, &automaton));
    gordian_status status = circuit_automaton(treo->circuit, automaton, &number, treo->error);
    if (status != GORDIAN_OK) {
        automaton_free(automaton);
        return status;
    }
    return circuit_factor(treo->circuit, number, names, NULL, treo->error);
}

/* automaton title (a?, b!) { .. } */
static void read_automaton(struct ca_reader *reader)
{
    struct parser *parser = &reader->parser;
    struct component component = {.token = parser_token(parser)};
    struct atom atom = {.kind = ATOM_STATES};
    parser_take(parser, TOKEN_NAME);
    const struct token *title = parser_sees(parser, TOKEN_STRING)
                                    ? parser_expect(parser, TOKEN_STRING, "a title")
                                    : parser_expect(parser, TOKEN_NAME, "a title");
    component.ports = parse_ports(parser);
    component.atom = &atom;
    parser_expect(parser, '{', "'{'");
    parse_states(parser, &atom);
    parser_expect(parser, '}', "a transition such as 'from -> to : {a} guard', or '}'");
    const char *text = parser->status == GORDIAN_OK ? parser_text(parser, title) : NULL;
    if (text)
        parser->status = add_automaton(reader, &component, text);
}

/* A name of one automaton only is a boundary port; a shared name is not. */
static gordian_status find_boundary(gordian_circuit *circuit, gordian_error *error)
{
    uint32_t *users = memory_zeroed(&circuit->memory, circuit->name_count * sizeof *users);
    if (!users)
        return fail_memory(error);
    for (int round = 0; round < 2; round++) {
        for (size_t f = 0; f < circuit->factor_count; f++) {
            const struct factor *factor = &circuit->factors[f];
            const struct automaton *automaton = circuit->automata[factor->shape];
            for (size_t p = 0; p < automaton->port_count; p++) {
                if (round == 0)
                    users[factor->names[p]]++;
                else if (users[factor->names[p]] == 1)
                    circuit_boundary(circuit, factor->names[p],
                                     (enum port_direction)automaton->ports[p].direction);
            }
        }
    }
    memory_free(&circuit->memory, users);
    return GORDIAN_OK;
}

gordian_status ca_read(gordian_circuit **out, const struct text *text,
                       const gordian_circuit_options *options, gordian_fault *fault,
                       gordian_error *error)
{
    gordian_error ignored = {0};
    static const gordian_circuit_options defaults = {0};
    struct ca_reader reader = {.place.treo = &reader.treo};
    error = error ? error : &ignored;
    gordian_status status =
        treo_begin(&reader.treo, text, options ? options : &defaults, fault, error);
    if (status == GORDIAN_OK) {
        parser_open(&reader.parser, &reader.treo.modules[0]->tokens, &reader.treo.arena, fault,
                    error);
        char shown[80];
        struct parser *parser = &reader.parser;
        while (parser->status == GORDIAN_OK && !parser_sees(parser, TOKEN_END)) {
            const struct token *token = parser_token(parser);
            if (token_is(token, "automaton"))
                read_automaton(&reader);
            else if (token_is(token, "define"))
                read_definition(&reader);
            else if (token_is(token, CA_INCOMPLETE) && reader.treo.circuit->factor_count > 0)
                reader.treo.circuit->incomplete = parser_take(parser, TOKEN_NAME);
            else if (token_is(token, "data") && reader.treo.circuit->factor_count == 0)
                read_data(&reader);
            else
                parser_complain(parser, token, "expected 'automaton', not %s",
                                token_show(token, shown, sizeof shown));
        }
        status = parser->status;
    }
    gordian_circuit *circuit = reader.treo.circuit;
    if (status == GORDIAN_OK && circuit->factor_count == 0)
        status = fail(error, GORDIAN_STATUS_INPUT, "there is no automaton");
    THEN(status,
         circuit_title(circuit, circuit->factor_count == 1 ? circuit->automata[0]->title : "main",
                       error));
    THEN(status, find_boundary(circuit, error));
    return treo_end(&reader.treo, status, out);
}
