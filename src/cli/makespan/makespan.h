/* gordian makespan: what its files share. */
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
    const char *starts[GORDIAN_MAKESPAN_START_RANDOM + 2]; /* names of them, and NULL */
    const char *chips[32];                                 /* likewise */
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

    /* what follows from them */
    char *expanded; /* the kernel's letters, if they were given with counts */
    const char *events[GORDIAN_PTX_EVENT_REBUILD + 2]; /* of --own, and NULL */
    gordian_unit unit_list[LETTERS];
    size_t unit_count;
    uint32_t scheduler_count; /* 0: no bound */
    uint32_t block_warps;     /* of one of --blocks; 0: there are none */
    uint32_t fullest;         /* blocks on the multiprocessor that decides */
    uint32_t best_warps;      /* warps there in the best case */
    double mhz;               /* 0: not given */
    const char *chip_title;   /* NULL: no preset */

    /* from code */
    const char *source;  /* the file; NULL: none */
    char made_name[300]; /* "PTX of kernel.cu" */
    gordian_ptx *code;   /* NULL: none */
    gordian_ptx_answer ptx;
};

/* ---- engines/makespan/model/model.c: the machine */

/* Fills unit_list, scheduler_count and mhz; the exit code, said if it is not 0. */
int makespan_read_machine(struct makespan *makespan);
int makespan_list_chips(struct cli *cli);
/* --blocks: what the multiprocessor that decides has of them; changes `warps` accordingly. */
int makespan_deal(struct makespan *makespan);
/* Does a latency vary? */
bool makespan_varies(const struct makespan *makespan);
/* Warps of this letter that start in a cycle, and the cycles that one of them stands for at most.
 */
uint32_t makespan_units_of(const struct makespan *makespan, char letter, uint64_t *repeats);

/* ---- makespan/code.c: a kernel from a file, or the project's own */

/* Letters with counts ("L5C9", '-' for none) written out, in memory of their own. */
gordian_status makespan_letters(const char *text, char **letters, gordian_error *error);
/* Reads `path` (.ptx, .cu; '-': PTX from stdin), or with NULL the own kernel: fills ptx, kernel. */
int makespan_read_code(struct makespan *makespan, const char *path);
/* No schedule of any path takes longer; UINT64_MAX: not known. */
uint64_t makespan_any_path(const struct makespan *makespan);

/* ---- makespan/nvcc.c */

/* Compiles to PTX in a file that is open for reading and has no name any more; -1: *code says what
 * to exit with. */
int makespan_compile(struct makespan *makespan, const char *path, int *code);

/* ---- makespan/lp.c: the same as an integer program */

struct makespan_report; /* below */

/* Writes it to --lp; the exit code. */
int makespan_write_lp(struct makespan *makespan, const gordian_makespan *problem);
/* Looks at --solver before anything takes long, and asks it. */
int makespan_check_solver(struct makespan *makespan);
int makespan_ask_solver(struct makespan *makespan, struct makespan_report *report);

/* ---- makespan/log.c: what is found, and when */

struct makespan_log {
    struct makespan *makespan;
    struct output file, *out; /* NULL: nobody asks for it */
    int fd;                   /* -1: not our own */
};

/* Opens --log, if it is given; the exit code. */
int makespan_log_open(struct makespan_log *log, struct makespan *makespan);
void makespan_log_line(struct makespan_log *log, const gordian_makespan_improvement *found);
int makespan_log_close(struct makespan_log *log);

/* ---- reporters */

/* All that there is to tell. */
struct makespan_report {
    const gordian_makespan *problem;
    const gordian_makespan_answer *answer;
    uint32_t length; /* of the schedule that is shown */
    /* Beside a worst case: the shortest schedule that was found, and what none is shorter than. */
    uint32_t shortest, shortest_lower;
    /* What an integer program's solver makes of it; its name NULL: not asked. */
    struct lp_solver_answer lp;
};

/* What is assumed of any code, whatever it says; how many lines there are. */
#define MAKESPAN_ASSUMED 5
size_t makespan_assumed(const struct makespan *makespan, const char *lines[MAKESPAN_ASSUMED]);

void makespan_text(struct makespan *makespan, const struct makespan_report *report);
void makespan_json(struct makespan *makespan, const struct makespan_report *report);
/* What the code came to, as keys of an object that is open. */
void makespan_code_keys(struct makespan *makespan, struct json *json);
/* Files; the exit code. */
int makespan_pictures(struct makespan *makespan, const struct makespan_report *report);
