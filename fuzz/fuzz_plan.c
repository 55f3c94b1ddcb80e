/* Any bytes as declarations: what a plan says of them must hold for every set of resources, and the
 * deadlock it shows must be one. */
#include "fuzz.h"

#include <string.h>

#define RESOURCES 10 /* as many sets as two to the power of that */
#define PROCESSES 64

typedef __int128 wide;

/* Who claims what. */
struct claims {
    size_t processes;
    uint64_t of[PROCESSES][RESOURCES];
};

/* Finds out by taking the claims of one process after the other away; then puts them back. False:
 * too many processes. */
static bool take_claims(gordian_plan *plan, size_t resources, struct claims *claims)
{
    gordian_plan_answer answer;
    uint64_t with[RESOURCES];
    memset(claims, 0, sizeof *claims);
    while (gordian_plan_process_name(plan, (uint32_t)claims->processes))
        if (++claims->processes > PROCESSES)
            return false;
    for (uint32_t p = 0; p < claims->processes; p++) {
        DEMAND(gordian_plan_solve(plan, &answer, NULL) == GORDIAN_OK, "no memory");
        for (size_t r = 0; r < resources; r++)
            with[r] = answer.pools[r].claims;
        DEMAND(gordian_plan_set_claims(plan, p, NULL, 0, NULL) == GORDIAN_OK, "no memory");
        DEMAND(gordian_plan_solve(plan, &answer, NULL) == GORDIAN_OK, "no memory");
        for (size_t r = 0; r < resources; r++)
            claims->of[p][r] = with[r] - answer.pools[r].claims;
    }
    for (uint32_t p = 0; p < claims->processes; p++) {
        gordian_want wants[RESOURCES];
        for (uint32_t r = 0; r < resources; r++)
            wants[r] = (gordian_want){claims->of[p][r], r};
        DEMAND(gordian_plan_set_claims(plan, p, wants, resources, NULL) == GORDIAN_OK, "no memory");
    }
    return true;
}

/* By how much the set that comes closest to a deadlock is away from one: below 1 it is one. */
static wide margin(const struct claims *claims, size_t resources, const uint64_t *units)
{
    wide least = (wide)1 << 100;
    for (uint32_t set = 1; set < 1u << resources; set++) {
        wide balance = 0;
        bool claimed = false;
        for (size_t p = 0; p < claims->processes; p++) {
            bool any = false;
            for (size_t r = 0; r < resources; r++)
                if (set >> r & 1 && claims->of[p][r] > 0)
                    any = true, balance -= claims->of[p][r];
            balance += any;
            claimed |= any;
        }
        for (size_t r = 0; r < resources; r++)
            balance += set >> r & 1 ? units[r] : 0;
        if (claimed && balance < least)
            least = balance;
    }
    return least;
}

/* Everybody shown waits for one unit of something of which they hold all. */
static void check_witness(const struct claims *claims, const gordian_plan_answer *answer)
{
    uint64_t asked[PROCESSES][RESOURCES], held[RESOURCES] = {0};
    memset(asked, 0, sizeof asked);
    for (size_t i = 0; i < answer->witness.count; i++) {
        const gordian_edge *edge = &answer->witness.edges[i];
        asked[edge->process][edge->resource] += edge->units;
        held[edge->resource] += edge->waits ? 0 : edge->units;
        DEMAND(asked[edge->process][edge->resource] <= claims->of[edge->process][edge->resource],
               "more than its claim");
    }
    size_t waits = 0;
    for (size_t i = 0; i < answer->witness.count; i++) {
        const gordian_edge *edge = &answer->witness.edges[i];
        waits += edge->waits;
        DEMAND(!edge->waits || held[edge->resource] == answer->pools[edge->resource].units,
               "some are free");
        DEMAND(held[edge->resource] <= answer->pools[edge->resource].units, "more than there are");
    }
    DEMAND(waits > 0, "nobody waits");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size, 0};
    gordian_source source = fuzz_source(&input);
    gordian_plan *plan;
    gordian_error error;
    gordian_plan_answer answer;
    static struct claims claims;
    gordian_status status = gordian_plan_read(&plan, &source, NULL, &error);
    DEMAND(status == GORDIAN_OK || status == GORDIAN_STATUS_INPUT, "%s", error.message);
    if (status == GORDIAN_STATUS_INPUT) {
        DEMAND(error.line > 0 && error.column > 0 && !plan, "a fault without a place");
        return 0;
    }
    DEMAND(gordian_plan_solve(plan, &answer, &error) == GORDIAN_OK, "%s", error.message);
    size_t resources = answer.pool_count;
    if (resources <= RESOURCES && take_claims(plan, resources, &claims)) {
        uint64_t units[RESOURCES], least[RESOURCES], filled[RESOURCES];
        DEMAND(gordian_plan_solve(plan, &answer, &error) == GORDIAN_OK, "%s", error.message);
        for (size_t r = 0; r < resources; r++) {
            units[r] = answer.pools[r].units;
            least[r] = answer.pools[r].least;
            filled[r] = units[r] + answer.pools[r].missing;
        }
        DEMAND(answer.safe == (margin(&claims, resources, units) > 0), "safe: %d", answer.safe);
        DEMAND(margin(&claims, resources, least) > 0, "the least are too few");
        DEMAND(margin(&claims, resources, filled) > 0, "more are missing");
        DEMAND(answer.safe == (answer.missing_units == 0), "missing, or not");
        if (!answer.safe)
            check_witness(&claims, &answer);
    }
    gordian_plan_close(plan);
    return 0;
}
