/*
 * Solves the integer program of worst-case makespans (gordian_makespan_lp) with an installed
 * solver. The paper's predecessor took 58 hours for a bound this way. The solver is a separate
 * command, found in the PATH; no library is linked.
 *
 * The schedule is verified: it must be work-conserving. That no better schedule exists is not
 * verified; it is the solver's claim.
 */
#pragma once

#include <gordian/gordian.h>

struct lp_solver_answer {
    const char *solver; /* its name */
    uint32_t found;     /* cycles of the verified schedule; 0: none */
    uint32_t bound;     /* upper bound (worst case) or lower bound (best case) in cycles; 0: none */
    bool optimal;       /* the solver proved that there is none better */
    double seconds;     /* of the solver alone */
};

/* The supported solvers, in order of preference; NULL past the last. */
const char *lp_solver_name(size_t index);
/* Is it installed? NULL or "auto": is any? */
bool lp_solver_available(const char *solver);

/* `solver` NULL or "auto": the first installed one. `seconds` 0: no limit.
 * GORDIAN_STATUS_UNAVAILABLE: it is not installed, or failed. GORDIAN_STATUS_INPUT: the program is
 * too large, or the answer is not a valid schedule. */
gordian_status lp_solver_run(const gordian_makespan *makespan, gordian_makespan_goal goal,
                             const char *solver, double seconds, struct lp_solver_answer *answer,
                             gordian_error *error);
