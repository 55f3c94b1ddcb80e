/* Shared by the files of `gordian bench makespan`. */
#pragma once

#include "engines/makespan/model/engine.h"
#include "lab/bench/harness/harness.h"

/* The paper's case study: L5 C9 L2 C9, one load a cycle, four others; `schedulers` 0: no bound. */
gordian_makespan_problem makespan_case_problem(uint32_t warps, uint32_t schedulers);
gordian_status makespan_case(struct makespan_model **model, uint32_t warps, uint32_t schedulers,
                             gordian_error *error);
/* "16", or "16-4" with four schedulers. */
const char *makespan_case_name(char buffer[16], uint32_t warps, uint32_t schedulers);

/* ---- rows: each function adds its own */
gordian_status makespan_evaluation_rows(struct bench *bench); /* evaluation.c */
gordian_status makespan_curve_rows(struct bench *bench);      /* curves.c */
gordian_status makespan_exact_rows(struct bench *bench);      /* exact.c */
gordian_status makespan_lp_rows(struct bench *bench);         /* integer_program.c */
gordian_status makespan_relax_rows(struct bench *bench);      /* relax.c */
