/* Validates the wants of a call, one by one in their given order, then merges and sorts them. */
#include "engines/avoid/bank.h"

#include "foundation/base/error.h"
#include "foundation/base/sort.h"

/* Returns why a want is refused, when that many units of the resource are wanted already. */
static gordian_reason object_to(const gordian_bank *bank, uint32_t process,
                                const gordian_want *want, enum wants_limit limit)
{
    const struct ledger *ledger = &bank->ledger;
    if (!ledger_is_resource(ledger, want->resource))
        return GORDIAN_REASON_UNKNOWN_RESOURCE;
    if (want->units == 0)
        return limit == WANTS_TOTAL ? GORDIAN_REASON_NONE : GORDIAN_REASON_NO_UNITS;
    uint64_t sum;
    bool overflow = __builtin_add_overflow(bank->sums[want->resource], want->units, &sum);
    if (limit == WANTS_TOTAL) {
        if (overflow)
            return GORDIAN_REASON_TOO_MANY;
        return sum > ledger->total[want->resource] ? GORDIAN_REASON_NEVER_FITS
                                                   : GORDIAN_REASON_NONE;
    }
    const struct ledger_claim *claim = ledger_find(ledger, process, want->resource);
    if (limit == WANTS_HELD)
        return overflow || sum > (claim ? claim->held : 0) ? GORDIAN_REASON_BELOW_HELD
                                                           : GORDIAN_REASON_NONE;
    return overflow || sum > (claim ? claim->need : 0) ? GORDIAN_REASON_OVER_CLAIM
                                                       : GORDIAN_REASON_NONE;
}

gordian_status bank_take_wants(gordian_bank *bank, uint32_t process, const gordian_want *wants,
                               size_t count, enum wants_limit limit, struct objection *objection,
                               gordian_error *error)
{
    *objection = (struct objection){GORDIAN_REASON_NONE, 0};
    bank->want_count = 0;
    if (count > UINT32_MAX || !memory_grow(&bank->ledger.memory, &bank->wants, &bank->want_room,
                                           count, sizeof *bank->wants))
        return fail_memory(error);
    if (count == 0 && limit != WANTS_TOTAL)
        objection->reason = GORDIAN_REASON_NO_UNITS;
    bool ascending = true;
    size_t kept = 0;
    for (size_t i = 0; i < count && objection->reason == GORDIAN_REASON_NONE; i++) {
        uint32_t resource = wants[i].resource;
        *objection = (struct objection){object_to(bank, process, &wants[i], limit), (uint32_t)i};
        if (objection->reason != GORDIAN_REASON_NONE || wants[i].units == 0)
            continue;
        if (bank->sums[resource] == 0) {
            ascending = ascending && (kept == 0 || bank->wants[kept - 1].resource < resource);
            bank->wants[kept++].resource = resource;
        }
        bank->sums[resource] += wants[i].units;
    }
    for (size_t k = 0; k < kept; k++) {
        bank->wants[k].units = bank->sums[bank->wants[k].resource];
        bank->sums[bank->wants[k].resource] = 0;
    }
    if (!ascending)
        sort_wants(bank->wants, kept);
    bank->want_count = kept;
    return GORDIAN_OK;
}

gordian_status bank_take_wants_of(gordian_bank *bank, uint32_t process, const gordian_want *wants,
                                  size_t count, enum wants_limit limit, struct objection *objection,
                                  gordian_error *error)
{
    *objection = (struct objection){GORDIAN_REASON_NONE, (uint32_t)count};
    if (!ledger_is_process(&bank->ledger, process))
        objection->reason = GORDIAN_REASON_UNKNOWN_PROCESS;
    else if (bank->processes[process].waits)
        objection->reason = GORDIAN_REASON_IS_WAITING;
    else if (bank->processes[process].on_trial)
        objection->reason = GORDIAN_REASON_ON_TRIAL;
    else
        return bank_take_wants(bank, process, wants, count, limit, objection, error);
    return GORDIAN_OK;
}

struct objection bank_below_held(const gordian_bank *bank, uint32_t process,
                                 const gordian_want *wants, size_t count)
{
    const struct ledger_row *row = &bank->ledger.rows[process];
    size_t i = 0;
    for (uint32_t k = 0; k < row->count; k++) {
        uint32_t resource = row->claims[k].resource;
        while (i < bank->want_count && bank->wants[i].resource < resource)
            i++;
        bool named = i < bank->want_count && bank->wants[i].resource == resource;
        if (row->claims[k].held <= (named ? bank->wants[i].units : 0))
            continue;
        /* Find the last of the given wants that names this resource. */
        for (size_t last = count; last-- > 0;)
            if (wants[last].resource == resource)
                return (struct objection){GORDIAN_REASON_BELOW_HELD, (uint32_t)last};
        return (struct objection){GORDIAN_REASON_BELOW_HELD, (uint32_t)count};
    }
    return (struct objection){GORDIAN_REASON_NONE, 0};
}
