/* Solves the formula after '|': membership and equations bind variables, the other conditions
 * filter. */
#include "engines/compose/treo/treo_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct solving {
    const struct expr **parts; /* of the conjunction */
    bool *done;
    size_t count;
    gordian_status (*each)(void *context, const struct place *place);
    void *context;
};

static size_t count_conjuncts(const struct expr *formula)
{
    size_t count = 1;
    for (; formula->kind == EXPR_BINARY && formula->op == TOKEN_AND; formula = formula->first)
        count += count_conjuncts(formula->second);
    return count;
}

/* In the order of the text. */
static void list_conjuncts(const struct expr *formula, const struct expr **parts, size_t *count)
{
    if (formula->kind == EXPR_BINARY && formula->op == TOKEN_AND) {
        list_conjuncts(formula->first, parts, count);
        list_conjuncts(formula->second, parts, count);
    } else {
        parts[(*count)++] = formula;
    }
}

static gordian_status solve_formula(struct solving *solving, const struct place *place);

/* Continues with another binding. */
static gordian_status with_binding(struct solving *solving, const struct place *place,
                                   const char *key, const struct value *value)
{
    struct place inner = *place;
    inner.scope = scope_bind(place->treo, place->scope, key, value);
    return inner.scope ? solve_formula(solving, &inner) : GORDIAN_STATUS_MEMORY;
}

/* f[1..n] = <a, b, c>: binds an array, and n if it has no value. */
static gordian_status solve_array(struct solving *solving, const struct place *place,
                                  const struct expr *variable, const struct value *list)
{
    struct place inner = *place;
    const struct expr *range = variable->indices, *last = range->second;
    int64_t first;
    TRY(value_number(place, range->first, &first));
    if (list->kind != VALUE_LIST || range->next)
        return place_complain(place, variable->token,
                              "an array such as x[1..n] is given by a list");
    if (last->kind == EXPR_VARIABLE && value_unbound(place, last)) {
        struct value size = {.kind = VALUE_NUMBER, .number = first + (int64_t)list->count - 1};
        inner.scope = scope_bind(place->treo, inner.scope, last->name, &size);
        if (!inner.scope)
            return GORDIAN_STATUS_MEMORY;
    }
    uint64_t count;
    gordian_status status = value_expand_count(&inner, variable, &count);
    if (status == GORDIAN_OK && count != list->count)
        return place_complain(place, variable->token, "'%s' has %" PRIu64 " elements, the list %zu",
                              variable->name, count, list->count);
    for (size_t i = 0; i < list->count && status == GORDIAN_OK; i++) {
        char key[TREO_NAME_MAX + 24];
        snprintf(key, sizeof key, "%s[%" PRId64 "]", variable->name, first + (int64_t)i);
        inner.scope = scope_bind(place->treo, inner.scope, key, &list->items[i]);
        if (!inner.scope)
            return GORDIAN_STATUS_MEMORY;
    }
    return status == GORDIAN_OK ? solve_formula(solving, &inner) : status;
}

/* x = value, if x has no value yet. */
static gordian_status solve_equation(struct solving *solving, const struct place *place,
                                     const struct expr *variable, const struct expr *given)
{
    char key[TREO_NAME_MAX + TREO_INDEX_MAX * 24];
    struct value value;
    TRY(value_evaluate(place, given, &value));
    if (variable->indices && expr_is_range(variable->indices))
        return solve_array(solving, place, variable, &value);
    TRY(value_key(place, variable, key, sizeof key));
    return with_binding(solving, place, key, &value);
}

/* Can the equation bind this variable or array? */
static bool can_bind(const struct place *place, const struct expr *variable,
                     const struct expr *given)
{
    if (variable->kind != EXPR_VARIABLE || value_unbound(place, given))
        return false;
    if (variable->indices && expr_is_range(variable->indices))
        return !value_unbound(place, variable->indices->first);
    return value_unbound(place, variable) == variable;
}

/* Tries a conjunct. *ready: it could be evaluated, and so could all after it. */
static gordian_status try_part(struct solving *solving, const struct place *place,
                               const struct expr *part, bool *ready)
{
    bool truth;
    *ready = true;
    if (part->kind == EXPR_DEFINE) {
        char key[TREO_NAME_MAX + TREO_INDEX_MAX * 24];
        struct value value = value_component(place, part->component, part->name);
        TRY(value_key(place, part, key, sizeof key));
        return with_binding(solving, place, key, &value);
    }
    if (part->kind == EXPR_MEMBER && !scope_find(place->scope, part->name) &&
        !value_unbound(place, part->first)) {
        struct value list;
        TRY(value_evaluate(place, part->first, &list));
        for (size_t i = 0; i < list.count; i++)
            TRY(with_binding(solving, place, part->name, &list.items[i]));
        return GORDIAN_OK;
    }
    if (part->kind == EXPR_BINARY && part->op == '=') {
        if (can_bind(place, part->first, part->second))
            return solve_equation(solving, place, part->first, part->second);
        if (can_bind(place, part->second, part->first))
            return solve_equation(solving, place, part->second, part->first);
    }
    *ready = !value_unbound(place, part) &&
             (part->kind != EXPR_MEMBER || scope_find(place->scope, part->name));
    if (!*ready)
        return GORDIAN_OK;
    gordian_status status = value_truth(place, part, &truth);
    return status == GORDIAN_OK && truth ? solve_formula(solving, place) : status;
}

/* Evaluates the next part that is ready. If none is left, this is a solution. */
static gordian_status solve_formula(struct solving *solving, const struct place *place)
{
    const struct expr *stuck = NULL;
    for (size_t i = 0; i < solving->count; i++) {
        bool ready;
        if (solving->done[i])
            continue;
        solving->done[i] = true;
        gordian_status status = try_part(solving, place, solving->parts[i], &ready);
        solving->done[i] = false;
        if (status != GORDIAN_OK || ready)
            return status;
        if (!stuck)
            stuck = value_unbound(place, solving->parts[i]);
        if (!stuck)
            stuck = solving->parts[i];
    }
    if (stuck)
        return place_complain(place, stuck->token, "'%s' has no value here",
                              stuck->name ? stuck->name : "this");
    return solving->each(solving->context, place);
}

gordian_status formula_solve(const struct place *place, const struct expr *formula,
                             gordian_status (*each)(void *context, const struct place *place),
                             void *context)
{
    if (!formula)
        return each(context, place);
    size_t count = count_conjuncts(formula), listed = 0;
    struct solving solving = {.count = count, .each = each, .context = context};
    solving.parts = arena_alloc(&place->treo->arena, count * sizeof(const struct expr *));
    solving.done = arena_alloc(&place->treo->arena, count);
    if (!solving.parts || !solving.done)
        return fail_memory(place->treo->error);
    list_conjuncts(formula, solving.parts, &listed);
    return solve_formula(&solving, place);
}
