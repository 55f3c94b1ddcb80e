/* Evaluates expressions. */
#include "engines/compose/treo/treo_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct value *scope_find(const struct scope *scope, const char *key)
{
    for (; scope; scope = scope->up)
        if (strcmp(scope->key, key) == 0)
            return &scope->value;
    return NULL;
}

const struct scope *scope_bind(struct treo *treo, const struct scope *up, const char *key,
                               const struct value *value)
{
    struct scope *scope = arena_alloc(&treo->arena, sizeof *scope);
    const char *copy = arena_text(&treo->arena, key, strlen(key));
    if (!scope || !copy) {
        fail_memory(treo->error);
        return NULL;
    }
    *scope = (struct scope){.up = up, .key = copy, .value = *value};
    return scope;
}

bool value_as_text(const struct value *value, char *buffer, size_t size)
{
    switch ((enum value_kind)value->kind) {
    case VALUE_NUMBER:
        snprintf(buffer, size, "%" PRId64, value->number);
        return true;
    case VALUE_BOOL:
        snprintf(buffer, size, "%s", value->number ? "true" : "false");
        return true;
    case VALUE_TEXT:
        return (size_t)snprintf(buffer, size, "%s", value->text) < size;
    default:
        return false;
    }
}

/* ------------------------------------------------------------------ components by name */

struct value value_component(const struct place *place, const struct component *component,
                             const char *name)
{
    return (struct value){.kind = VALUE_COMPONENT,
                          .component = component,
                          .name = name,
                          .scope = place->scope,
                          .module = place->module};
}

static struct definition *find_definition(const struct module *module, const char *name)
{
    uint32_t number = labels_find(&module->names, name, strlen(name));
    return number == GORDIAN_NONE ? NULL : module->definitions[number];
}

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static void make_component(struct value *value, const struct definition *definition,
                           uint32_t module)
{
    *value = (struct value){.kind = VALUE_COMPONENT,
                            .component = definition->component,
                            .name = definition->name,
                            .module = module};
}

static bool find_primitive(const char *name, struct value *value)
{
    const char *last = last_part(name);
    const struct primitive *primitive = primitive_find(last, strlen(last));
    if (primitive)
        *value = (struct value){
            .kind = VALUE_PRIMITIVE, .primitive = primitive, .name = primitive->name};
    return primitive != NULL;
}

/* section.name refers to a definition of this module. */
static struct definition *find_own(const struct module *module, const char *name)
{
    const char *section = module->file.section;
    size_t length = section ? strlen(section) : 0;
    if (section && strncmp(name, section, length) == 0 && name[length] == '.')
        return find_definition(module, name + length + 1);
    return find_definition(module, name);
}

gordian_status component_find(struct treo *treo, uint32_t number, const struct token *token,
                              const char *name, struct value *value)
{
    const struct module *module = treo->modules[number];
    const struct import *found = NULL;
    struct definition *definition = find_own(module, name);
    if (definition) {
        make_component(value, definition, number);
        return GORDIAN_OK;
    }
    bool dotted = strchr(name, '.') != NULL;
    for (const struct import *import = module->file.imports; import; import = import->next) {
        if (strcmp(dotted ? import->name : last_part(import->name), name) != 0)
            continue;
        if (found && strcmp(found->name, import->name) != 0)
            return treo_complain(treo, number, token, "'%s' could be '%s' or '%s': write it out",
                                 name, found->name, import->name);
        found = import;
    }
    if (found && found->module != GORDIAN_NONE) {
        definition = find_definition(treo->modules[found->module], last_part(found->name));
        make_component(value, definition, found->module);
        return GORDIAN_OK;
    }
    return (!dotted || found) && find_primitive(name, value) ? GORDIAN_OK : GORDIAN_STATUS_END;
}

/* ------------------------------------------------------------------ variables */

gordian_status value_key(const struct place *place, const struct expr *variable, char *key,
                         size_t size)
{
    size_t used = strlen(variable->name);
    unsigned indices = 0;
    if (used > TREO_NAME_MAX)
        return place_complain(place, variable->token, "a name of more than %u bytes",
                              TREO_NAME_MAX);
    memcpy(key, variable->name, used + 1);
    for (const struct expr *index = variable->indices; index; index = index->next) {
        int64_t number;
        TRY(value_number(place, index, &number));
        if (++indices > TREO_INDEX_MAX)
            return place_complain(place, index->token, "more than %u indices", TREO_INDEX_MAX);
        used += (size_t)snprintf(key + used, size - used, "[%" PRId64 "]", number);
    }
    return GORDIAN_OK;
}

static gordian_status variable_value(const struct place *place, const struct expr *expr,
                                     struct value *value)
{
    char key[TREO_NAME_MAX + TREO_INDEX_MAX * 24];
    TRY(value_key(place, expr, key, sizeof key));
    const struct value *bound = scope_find(place->scope, key);
    if (!bound)
        bound = scope_find(place->treo->defines, key);
    if (bound) {
        *value = *bound;
        return GORDIAN_OK;
    }
    gordian_status status =
        expr->indices ? GORDIAN_STATUS_END
                      : component_find(place->treo, place->module, expr->token, key, value);
    if (status == GORDIAN_STATUS_END)
        return place_complain(place, expr->token, "'%s' has no value here", key);
    return status;
}

const struct expr *value_unbound(const struct place *place, const struct expr *expr)
{
    const struct expr *unbound = NULL;
    if (!expr)
        return NULL;
    for (const struct expr *index = expr->indices; index && !unbound; index = index->next)
        unbound = value_unbound(place, index);
    if (unbound)
        return unbound;
    if (expr->kind == EXPR_VARIABLE) {
        char key[TREO_NAME_MAX + TREO_INDEX_MAX * 24];
        struct value ignored;
        for (const struct expr *index = expr->indices; index; index = index->next)
            if (expr_is_range(index))
                return NULL; /* not a single variable: its elements are checked one by one */
        if (value_key(place, expr, key, sizeof key) != GORDIAN_OK)
            return NULL; /* evaluation reports the error */
        if (scope_find(place->scope, key))
            return NULL;
        return !expr->indices && component_find(place->treo, place->module, expr->token, key,
                                                &ignored) == GORDIAN_OK
                   ? NULL
                   : expr;
    }
    if (expr->kind == EXPR_FORALL || expr->kind == EXPR_EXISTS || expr->kind == EXPR_COMPONENT)
        return expr->kind == EXPR_COMPONENT ? NULL : value_unbound(place, expr->first);
    for (const struct expr *operand = expr->first; operand && !unbound; operand = operand->next)
        unbound = value_unbound(place, operand);
    return unbound ? unbound : value_unbound(place, expr->second);
}

/* ------------------------------------------------------------------ lists */

static gordian_status range_bounds(const struct place *place, const struct expr *range,
                                   int64_t *first, uint64_t *count)
{
    int64_t last = 0;
    TRY(value_number(place, range->first, first));
    TRY(value_number(place, range->second, &last));
    *count = last < *first ? 0 : (uint64_t)last - (uint64_t)*first + 1;
    if (last >= *first && *count - 1 >= place->treo->most)
        return place_complain(place, range->token, "a range of more than %u numbers",
                              place->treo->most);
    return GORDIAN_OK;
}

/* Evaluates a list and expands its ranges: counts the elements, then fills the list. */
static gordian_status list_value(const struct place *place, const struct expr *list,
                                 struct value *value)
{
    struct treo *treo = place->treo;
    uint64_t count = 0, part;
    int64_t first;
    for (const struct expr *item = list->first; item; item = item->next) {
        gordian_status status = GORDIAN_OK;
        part = 1;
        if (expr_is_range(item))
            status = range_bounds(place, item, &first, &part);
        count += part;
        if (count > treo->most) /* more specific than an error of range_bounds */
            return place_complain(place, item->token, "a list of more than %u elements",
                                  treo->most);
        TRY(status);
    }
    *value = (struct value){.kind = VALUE_LIST, .count = count};
    value->items = arena_alloc(&treo->arena, count * sizeof *value->items);
    if (!value->items)
        return fail_memory(treo->error);
    struct value *next = value->items;
    for (const struct expr *item = list->first; item; item = item->next) {
        if (!expr_is_range(item)) {
            TRY(value_evaluate(place, item, next++));
            continue;
        }
        TRY(range_bounds(place, item, &first, &part));
        for (uint64_t i = 0; i < part; i++)
            *next++ = (struct value){.kind = VALUE_NUMBER, .number = first + (int64_t)i};
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ operators */

static gordian_status power_of(int64_t base, int64_t exponent, int64_t *result)
{
    *result = 1;
    if (exponent < 0)
        return GORDIAN_STATUS_INPUT;
    for (; exponent > 0; exponent--) {
        if (__builtin_mul_overflow(*result, base, result))
            return GORDIAN_STATUS_INPUT;
        if (*result == 0 || (*result == 1 && base == 1))
            break;
        if (base == -1) {
            *result = exponent % 2 ? -1 : 1;
            break;
        }
    }
    return GORDIAN_OK;
}

static gordian_status evaluate_arithmetic(const struct place *place, const struct expr *expr,
                                          int64_t left, int64_t right, int64_t *result)
{
    bool divides = expr->op == '/' || expr->op == '%';
    if (divides && right == 0)
        return place_complain(place, expr->token, "division by zero");
    bool bad = expr->op == '+'   ? __builtin_add_overflow(left, right, result)
               : expr->op == '-' ? __builtin_sub_overflow(left, right, result)
               : expr->op == '*' ? __builtin_mul_overflow(left, right, result)
               : divides         ? left == INT64_MIN && right == -1
                                 : power_of(left, right, result) != GORDIAN_OK;
    if (bad)
        return place_complain(place, expr->token, "the result does not fit 64 bits");
    if (divides)
        *result = expr->op == '/' ? left / right : left % right;
    return GORDIAN_OK;
}

static bool same_value(const struct value *left, const struct value *right)
{
    char one[TREO_NAME_MAX + 60], other[TREO_NAME_MAX + 60];
    if (left->kind == VALUE_LIST && right->kind == VALUE_LIST) {
        if (left->count != right->count)
            return false;
        for (size_t i = 0; i < left->count; i++)
            if (!same_value(&left->items[i], &right->items[i]))
                return false;
        return true;
    }
    if (left->kind == VALUE_PRIMITIVE || left->kind == VALUE_COMPONENT)
        return left->kind == right->kind && left->component == right->component &&
               left->primitive == right->primitive;
    return value_as_text(left, one, sizeof one) && value_as_text(right, other, sizeof other) &&
           strcmp(one, other) == 0;
}

static gordian_status evaluate_comparison(const struct place *place, const struct expr *expr,
                                          bool *truth)
{
    int64_t left, right;
    if (expr->op == '=' || expr->op == TOKEN_NE) {
        struct value one, other;
        TRY(value_evaluate(place, expr->first, &one));
        TRY(value_evaluate(place, expr->second, &other));
        *truth = same_value(&one, &other) == (expr->op == '=');
        return GORDIAN_OK;
    }
    TRY(value_number(place, expr->first, &left));
    TRY(value_number(place, expr->second, &right));
    *truth = expr->op == '<'        ? left < right
             : expr->op == '>'      ? left > right
             : expr->op == TOKEN_LE ? left <= right
                                    : left >= right;
    return GORDIAN_OK;
}

/* and, or, implies: evaluates the right side only if the left side does not decide. */
static gordian_status evaluate_connective(const struct place *place, const struct expr *expr,
                                          bool *truth)
{
    TRY(value_truth(place, expr->first, truth));
    if (*truth != (expr->op == TOKEN_OR))
        return value_truth(place, expr->second, truth);
    *truth = expr->op != TOKEN_AND; /* true or .., false implies ..; false and .. */
    return GORDIAN_OK;
}

static gordian_status binary_value(const struct place *place, const struct expr *expr,
                                   struct value *value)
{
    bool truth = false;
    int64_t left, right;
    switch (expr->op) {
    case TOKEN_RANGE: {
        struct expr alone = *expr;
        alone.next = NULL;
        const struct expr list = {.kind = EXPR_LIST, .token = expr->token, .first = &alone};
        return list_value(place, &list, value);
    }
    case TOKEN_AND:
    case TOKEN_OR:
    case TOKEN_ARROW:
        TRY(evaluate_connective(place, expr, &truth));
        *value = (struct value){.kind = VALUE_BOOL, .number = truth};
        return GORDIAN_OK;
    case '=':
    case TOKEN_NE:
    case '<':
    case '>':
    case TOKEN_LE:
    case TOKEN_GE:
        TRY(evaluate_comparison(place, expr, &truth));
        *value = (struct value){.kind = VALUE_BOOL, .number = truth};
        return GORDIAN_OK;
    default:
        *value = (struct value){.kind = VALUE_NUMBER};
        TRY(value_number(place, expr->first, &left));
        TRY(value_number(place, expr->second, &right));
        return evaluate_arithmetic(place, expr, left, right, &value->number);
    }
}

/* x : <..>, forall x : <..> f, exists x : <..> f */
static gordian_status evaluate_quantified(const struct place *place, const struct expr *expr,
                                          struct value *value)
{
    struct value list, bound;
    bool truth = expr->kind == EXPR_FORALL;
    TRY(value_evaluate(place, expr->first, &list));
    if (expr->kind == EXPR_MEMBER) {
        const struct expr variable = {
            .kind = EXPR_VARIABLE, .name = expr->name, .token = expr->token};
        TRY(value_evaluate(place, &variable, &bound));
    }
    for (size_t i = 0; i < list.count; i++) {
        if (expr->kind == EXPR_MEMBER) {
            truth |= same_value(&bound, &list.items[i]);
            continue;
        }
        bool holds = false;
        struct place inner = *place;
        inner.scope = scope_bind(place->treo, place->scope, expr->name, &list.items[i]);
        TRY(inner.scope ? value_truth(&inner, expr->second, &holds) : GORDIAN_STATUS_MEMORY);
        if (expr->kind == EXPR_FORALL)
            truth &= holds;
        else
            truth |= holds;
    }
    *value = (struct value){.kind = VALUE_BOOL, .number = truth};
    return GORDIAN_OK;
}

static gordian_status evaluate_negative(const struct place *place, const struct expr *expr,
                                        struct value *value)
{
    *value = (struct value){.kind = VALUE_NUMBER};
    TRY(value_number(place, expr->first, &value->number));
    if (value->number == INT64_MIN)
        return place_complain(place, expr->token, "the result does not fit 64 bits");
    value->number = -value->number;
    return GORDIAN_OK;
}

gordian_status value_evaluate(const struct place *place, const struct expr *expr,
                              struct value *value)
{
    bool truth = false;
    gordian_status status;
    switch ((enum expr_kind)expr->kind) {
    case EXPR_NUMBER:
        *value = (struct value){.kind = VALUE_NUMBER, .number = expr->number};
        return GORDIAN_OK;
    case EXPR_TEXT:
        *value = (struct value){.kind = VALUE_TEXT, .text = expr->name};
        return GORDIAN_OK;
    case EXPR_BOOL:
        *value = (struct value){.kind = VALUE_BOOL, .number = expr->number};
        return GORDIAN_OK;
    case EXPR_ANY:
        *value = (struct value){.kind = VALUE_ANY};
        return GORDIAN_OK;
    case EXPR_VARIABLE:
        return variable_value(place, expr, value);
    case EXPR_LIST:
    case EXPR_TUPLE:
        return list_value(place, expr, value);
    case EXPR_TABLE:
        status = list_value(place, expr, value);
        value->kind = VALUE_TABLE;
        return status;
    case EXPR_COMPONENT:
        *value = value_component(place, expr->component, "component");
        return GORDIAN_OK;
    case EXPR_MINUS:
        return evaluate_negative(place, expr, value);
    case EXPR_NOT:
        status = value_truth(place, expr->first, &truth);
        *value = (struct value){.kind = VALUE_BOOL, .number = !truth};
        return status;
    case EXPR_BINARY:
        return binary_value(place, expr, value);
    case EXPR_MEMBER:
    case EXPR_FORALL:
    case EXPR_EXISTS:
        return evaluate_quantified(place, expr, value);
    default:
        return place_complain(place, expr->token, "this is not allowed here");
    }
}

gordian_status value_number(const struct place *place, const struct expr *expr, int64_t *number)
{
    struct value value;
    *number = 0;
    TRY(value_evaluate(place, expr, &value));
    if (value.kind != VALUE_NUMBER)
        return place_complain(place, expr->token, "expected a number");
    *number = value.number;
    return GORDIAN_OK;
}

gordian_status value_truth(const struct place *place, const struct expr *expr, bool *truth)
{
    struct value value;
    TRY(value_evaluate(place, expr, &value));
    if (value.kind != VALUE_BOOL)
        return place_complain(place, expr->token, "expected a condition");
    *truth = value.number;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ ranges of variables */

struct expansion {
    const struct place *place;
    const struct expr *variable;
    char key[TREO_NAME_MAX + TREO_INDEX_MAX * 24];
    gordian_status (*each)(void *context, const char *key);
    void *context;
};

static gordian_status expand_index(struct expansion *expansion, const struct expr *index,
                                   size_t used)
{
    if (!index)
        return expansion->each(expansion->context, expansion->key);
    int64_t first;
    uint64_t count = 1;
    TRY(expr_is_range(index) ? range_bounds(expansion->place, index, &first, &count)
                             : value_number(expansion->place, index, &first));
    for (uint64_t i = 0; i < count; i++) {
        size_t length = (size_t)snprintf(expansion->key + used, sizeof expansion->key - used,
                                         "[%" PRId64 "]", first + (int64_t)i);
        TRY(expand_index(expansion, index->next, used + length));
    }
    return GORDIAN_OK;
}

gordian_status value_expand(const struct place *place, const struct expr *variable,
                            gordian_status (*each)(void *context, const char *key), void *context)
{
    struct expansion expansion = {
        .place = place, .variable = variable, .each = each, .context = context};
    uint64_t count;
    TRY(value_expand_count(place, variable, &count));
    memcpy(expansion.key, variable->name, strlen(variable->name) + 1);
    return expand_index(&expansion, variable->indices, strlen(variable->name));
}

gordian_status value_expand_count(const struct place *place, const struct expr *variable,
                                  uint64_t *count)
{
    unsigned indices = 0;
    for (const struct expr *index = variable->indices; index; index = index->next)
        indices++;
    if (strlen(variable->name) > TREO_NAME_MAX || indices > TREO_INDEX_MAX)
        return place_complain(place, variable->token, "a name has at most %u bytes and %u indices",
                              TREO_NAME_MAX, TREO_INDEX_MAX);
    *count = 1;
    for (const struct expr *index = variable->indices; index; index = index->next) {
        int64_t first;
        uint64_t part = 1;
        gordian_status status =
            expr_is_range(index) ? range_bounds(place, index, &first, &part) : GORDIAN_OK;
        if (part > 0 &&
            *count > place->treo->most / part) /* more specific than an error of range_bounds */
            return place_complain(place, index->token, "more than %u ports", place->treo->most);
        TRY(status);
        *count *= part;
    }
    return GORDIAN_OK;
}
