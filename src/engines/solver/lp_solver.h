/*
 * The integer program of worst-case makespans (gordian_makespan_lp) through a packaged solver: what
 * the paper's predecessor did, with 58 hours for a bound. The solver is a command of its own, found
 * in the PATH; nothing is linked with it.
 *
 * What it finds is checked: a schedule it claims must be a work-conserving one, cell by cell. That
 * there is none better is the solver's word.
 */
#pragma once

#include <gordian/gordian.h>

struct lp_solver_answer {
    const char *solver; /* which one it was */
    uint32_t found;     /* cycles of the schedule it found, checked; 0: none */
    uint32_t bound; /* cycles that none exceeds (worst case) or undercuts (best); 0: none told */
    bool optimal;   /* it says that there is none better */
    double seconds; /* of the solver alone */
};

/* The solvers that are known, the one to be preferred first; NULL past the last. */
const char *lp_solver_name(size_t index);
/* Is it here? NULL or "auto": is any? */
bool lp_solver_available(const char *solver);

/* `solver` NULL or "auto": the first that is here. `seconds` 0: for as long as it takes.
 * GORDIAN_STATUS_UNAVAILABLE: it is not here, or did not run. GORDIAN_STATUS_INPUT: the program is
 * too large, or what came back is no such schedule. */
gordian_status lp_solver_run(const gordian_makespan *makespan, gordian_makespan_goal goal,
                             const char *solver, double seconds, struct lp_solver_answer *answer,
                             gordian_error *error);
