/* gordian makespan: declarations shared by its files. */
#pragma once

#include "cli/base/cli.h"
#include "engines/solver/lp_solver.h"
#include "output/show/style.h"

#include <gordian/ptx.h>

#define LETTERS GORDIAN_MAKESPAN_TYPES

struct makespan {
    struct cli *cli;
    struct style style;
    bool interrupted; /* by ctrl-C */

    /* options: the model */
    const char *kernel, *units, *lanes, *latency, *chip, *schedulers;
    uint32_t warps, warp_size, block_threads, issue;
    uint32_t blocks, multiprocessors, resident;
    bool unpipelined, list_chips;
    /* the search */
    bool exact, best, published;
    uint64_t seed, evaluations, max_memory;
    uint32_t chains, threads;
    const char *seconds, *temperature;
    unsigned start;
    const char *starts[GORDIAN_MAKESPAN_START_RANDOM + 2]; /* their names, and NULL */
    const char *chips[32];                                 /* names of the chips, and NULL */
    const char *witness;
    /* what is shown */
    bool schedule, string;
    const char *svg, *csv, *clock, *log, *lp;
    /* the integer program */
    const char *solver;
    /* code */
    const char *entry, *path, *from, *to, *avoid, *loops, *values, *calls, *unit, *table, *nvcc;
    bool own, list_loops;
    unsigned event;
    uint32_t size;

    /* derived from the options */
    char *expanded; /* the letters of the kernel, if it was given with counts */
    const char *events[GORDIAN_PTX_EVENT_REBUILD + 2]; /* of --own, and NULL */
    gordian_unit unit_list[LETTERS];
    size_t unit_count;
    uint32_t scheduler_count; /* 0: no bound */
    uint32_t block_warps;     /* of one of --blocks; 0: there are none */
    uint32_t fullest;         /* blocks on the multiprocessor with the longest time */
    uint32_t best_warps;      /* warps on it in the best case */
    double mhz;               /* 0: not given */
    const char *chip_title;   /* NULL: no preset */

    /* from code */
    const char *source;  /* the file; NULL: none */
    char made_name[300]; /* "PTX of kernel.cu" */
    gordian_ptx *code;   /* NULL: none */
    gordian_ptx_answer ptx;
};

/* ---- cli/makespan/model.c: the machine */

/* Sets unit_list, scheduler_count and mhz. Returns the exit code; errors are reported. */
int makespan_read_machine(struct makespan *makespan);
int makespan_list_chips(struct cli *cli);
/* --blocks: computes the blocks on the critical multiprocessor, and sets `warps` accordingly. */
int makespan_deal(struct makespan *makespan);
/* Does any latency vary? */
bool makespan_varies(const struct makespan *makespan);
/* Returns the warps of this letter that start in a cycle; *repeats is the maximum number of cycles
 * of an instruction. */
uint32_t makespan_units_of(const struct makespan *makespan, char letter, uint64_t *repeats);

/* ---- makespan/code.c: a kernel from a file, or the project's own one */

/* Expands letters with counts ("L5C9", '-' for none) into new memory. */
gordian_status makespan_letters(const char *text, char **letters, gordian_error *error);
/* Reads `path` (.ptx, .cu; '-': PTX from stdin; NULL: the project's own kernel). Sets ptx and
 * kernel.
 */
int makespan_read_code(struct makespan *makespan, const char *path);
/* Upper bound for all paths; UINT64_MAX: unknown. */
uint64_t makespan_any_path(const struct makespan *makespan);

/* ---- makespan/nvcc.c */

/* Compiles to PTX. Returns a descriptor of an unlinked file; -1: *code is the exit code. */
int makespan_compile(struct makespan *makespan, const char *path, int *code);

/* ---- makespan/lp.c: integer program */

struct makespan_report; /* below */

/* Writes it to the file of --lp; returns the exit code. */
int makespan_write_lp(struct makespan *makespan, const gordian_makespan *problem);
/* Check --solver before long runs, and run the solver. */
int makespan_check_solver(struct makespan *makespan);
int makespan_ask_solver(struct makespan *makespan, struct makespan_report *report);

/* ---- makespan/log.c: log of improvements */

struct makespan_log {
    struct makespan *makespan;
    struct output file, *out; /* NULL: no --log */
    int fd;                   /* -1: not our descriptor */
};

/* Opens the file of --log, if given; returns the exit code. */
int makespan_log_open(struct makespan_log *log, struct makespan *makespan);
void makespan_log_line(struct makespan_log *log, const gordian_makespan_improvement *found);
int makespan_log_close(struct makespan_log *log);

/* ---- reporters */

/* Everything to report. */
struct makespan_report {
    const gordian_makespan *problem;
    const gordian_makespan_answer *answer;
    uint32_t length; /* of the schedule shown */
    /* For a worst-case question: the shortest schedule that was found, and its lower bound. */
    uint32_t shortest, shortest_lower;
    /* Result of an integer programming solver; name NULL: not used. */
    struct lp_solver_answer lp;
};

/* Assumptions about any code; the function returns their number. */
#define MAKESPAN_ASSUMED 5
size_t makespan_assumed(const struct makespan *makespan, const char *lines[MAKESPAN_ASSUMED]);

void makespan_text(struct makespan *makespan, const struct makespan_report *report);
void makespan_json(struct makespan *makespan, const struct makespan_report *report);
/* Writes the result of the code analysis as keys of an open object. */
void makespan_code_keys(struct makespan *makespan, struct json *json);
/* Writes --svg and --csv; returns the exit code. */
int makespan_pictures(struct makespan *makespan, const struct makespan_report *report);
