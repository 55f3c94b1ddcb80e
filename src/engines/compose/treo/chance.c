/* [0.9 : a, 0.1 : null]: how likely each outcome is. What can happen is what is looked for here, so
 * an outcome counts if its chance is not 0. */
#include "engines/compose/treo/treo_internal.h"

#include <string.h>

static gordian_status no_chance(const struct place *place, const struct expr *expr)
{
    return place_complain(place, expr->token,
                          "expected a chance: a number from 0 to 1, such as 0.5");
}

static gordian_status chance_of(const struct place *place, const struct expr *expr, double *chance);

static gordian_status chance_operator(const struct place *place, const struct expr *expr,
                                      double *chance)
{
    double left, right = 0;
    TRY(chance_of(place, expr->first, &left));
    TRY(chance_of(place, expr->second, &right));
    switch (expr->op) {
    case '+':
        *chance = left + right;
        return GORDIAN_OK;
    case '-':
        *chance = left - right;
        return GORDIAN_OK;
    case '*':
        *chance = left * right;
        return GORDIAN_OK;
    case '/':
        *chance = right != 0 ? left / right : -1;
        return right != 0 ? GORDIAN_OK : no_chance(place, expr);
    default:
        return no_chance(place, expr);
    }
}

static gordian_status chance_of(const struct place *place, const struct expr *expr, double *chance)
{
    struct value value;
    *chance = 0;
    if (expr->kind == EXPR_BINARY)
        return chance_operator(place, expr, chance);
    TRY(value_of(place, expr, &value));
    if (value.kind == VALUE_NUMBER)
        *chance = (double)value.number;
    else if (value.kind != VALUE_TEXT || !decimal_read(value.text, strlen(value.text), chance))
        return no_chance(place, expr);
    return GORDIAN_OK;
}

gordian_status chances_read(const struct place *place, const struct expr *chances, bool *possible,
                            size_t most)
{
    double sum = 0;
    size_t count = 0;
    for (const struct expr *pair = chances->first; pair; pair = pair->next, count++) {
        double chance;
        if (count == most)
            return place_complain(place, pair->token, "more than %zu outcomes", most);
        TRY(chance_of(place, pair->second, &chance));
        /* 1 - 0.9 - 0.1 is not quite 0 */
        if (chance < -1e-9 || chance > 1 + 1e-9)
            return no_chance(place, pair->second);
        possible[count] = chance > 1e-9;
        sum += chance;
    }
    if (sum < 1 - 1e-6 || sum > 1 + 1e-6)
        return place_complain(place, chances->token, "the chances add up to %g, not to 1", sum);
    return GORDIAN_OK;
}
