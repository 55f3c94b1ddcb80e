/* Solves integer linear programs with an external solver (lp_solver.h). */
#define _GNU_SOURCE
#include "engines/solver/lp_solver.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/io/temporary.h"
#include "foundation/base/io/text.h"
#include "foundation/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_WORDS 12u

/* A solver: its command line, and the marks in its output. */
struct solver {
    const char *name;
    /* Words of its command line. PROGRAM, ANSWER and SECONDS are replaced. The two words from
     * `limit` on are omitted without a time limit. */
    const char *words[MOST_WORDS];
    size_t limit;
    const char *optimal; /* its log or answer contains this if the solution is optimal */
    const char *bound;   /* the number after the last such mark in its log is a bound; two marks */
    const char *other_bound;
};

static const struct solver solvers[] = {
    {"cbc",
     {"cbc", "PROGRAM", "-timeMode", "elapsed", "-sec", "SECONDS", "-solve", "-solution", "ANSWER"},
     4,
     "Result - Optimal solution found",
     "Upper bound:",
     "Lower bound:"},
    {"highs",
     {"highs", "--time_limit", "SECONDS", "--solution_file", "ANSWER", "PROGRAM"},
     1,
     "Status            Optimal",
     "Dual bound",
     NULL},
    {"glpsol",
     {"glpsol", "--tmlim", "SECONDS", "--lp", "PROGRAM", "-o", "ANSWER"},
     1,
     "INTEGER OPTIMAL",
     "<=",
     ">="},
};

#define SOLVERS (sizeof solvers / sizeof *solvers)

/* A request, with a folder for its files. */
struct question {
    const gordian_makespan *makespan;
    gordian_makespan_goal goal;
    const struct solver *solver;
    double seconds;
    char folder[4000], program[4020], answer[4020], log[4020];
    gordian_allocator memory;
};

const char *lp_solver_name(size_t index)
{
    return index < SOLVERS ? solvers[index].name : NULL;
}

/* ------------------------------------------------------------------ finding */

static bool in_path(const char *name)
{
    const char *folders = getenv("PATH");
    char path[4096];
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)length, folders, name);
        if (access(path, X_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* Returns NULL if the solver is not installed. */
static const struct solver *find_solver(const char *name)
{
    bool any = !name || strcmp(name, "auto") == 0;
    for (size_t i = 0; i < SOLVERS; i++)
        if ((any || strcmp(name, solvers[i].name) == 0) && in_path(solvers[i].name))
            return &solvers[i];
    return NULL;
}

bool lp_solver_available(const char *solver)
{
    return find_solver(solver) != NULL;
}

/* ------------------------------------------------------------------ running */

static gordian_status write_program(const struct question *question, gordian_error *error)
{
    int fd = open(question->program, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(error, GORDIAN_STATUS_IO, "cannot write '%s': %s", question->program,
                    strerror(errno));
    gordian_writer writer = gordian_writer_fd(&fd);
    gordian_status status = gordian_makespan_lp(question->makespan, question->goal, &writer, error);
    if (close(fd) != 0 && status == GORDIAN_OK)
        status = fail(error, GORDIAN_STATUS_IO, "cannot write '%s': %s", question->program,
                      strerror(errno));
    return status;
}

/* False: it did not run, or failed. */
static bool run_solver(const struct question *question)
{
    const char *words[MOST_WORDS + 1];
    char seconds[24];
    int status = -1;
    snprintf(seconds, sizeof seconds, "%.0f", ceil(question->seconds));
    /* Builds the command line. */
    const struct solver *solver = question->solver;
    size_t count = 0;
    for (size_t i = 0; i < MOST_WORDS && solver->words[i]; i++) {
        const char *word = solver->words[i];
        if (question->seconds <= 0 && (i == solver->limit || i == solver->limit + 1))
            continue;
        words[count++] = strcmp(word, "PROGRAM") == 0   ? question->program
                         : strcmp(word, "ANSWER") == 0  ? question->answer
                         : strcmp(word, "SECONDS") == 0 ? seconds
                                                        : word;
    }
    words[count] = NULL;
    pid_t child = fork();
    if (child == 0) {
        int log = open(question->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int none = open("/dev/null", O_RDONLY);
        if (words[0] && log >= 0 && none >= 0 && dup2(none, STDIN_FILENO) >= 0 &&
            dup2(log, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0)
            execvp(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ------------------------------------------------------------------ contents */

/* Reads a file. False: it does not exist, or out of memory. */
static bool read_solver_text(const struct question *question, const char *path, struct text *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    gordian_source source = gordian_source_fd(&fd);
    gordian_status status = text_read(text, path, &source, &question->memory, NULL);
    close(fd);
    return status == GORDIAN_OK;
}

/* The number after the last mark, without its sign: a solver may maximise by minimising. */
static double last_after(const char *text, const char *mark)
{
    double value = 0;
    for (const char *at = text; mark && (at = strstr(at, mark)) != NULL;) {
        char *end;
        at += strlen(mark);
        double number = strtod(at, &end);
        if (end != at && isfinite(number))
            value = fabs(number);
    }
    return value;
}

/* ------------------------------------------------------------------ schedule */

struct grid {
    uint32_t warps, length;
    uint32_t *cycles; /* by warp and instruction; 0: not in the answer */
    uint32_t end;     /* the makespan in the answer; 0: none */
};

/* A variable of the program. */
struct variable {
    uint32_t warp, instruction, cycle; /* from 1; warp 0: not such a variable */
    bool makespan;
};

/* An instruction runs in the first cycle in which its variable is set. */
static void take_solver_value(struct grid *grid, const struct variable *variable, double value)
{
    if (variable->makespan && value >= 1 && value < 1e9)
        grid->end = (uint32_t)(value + 0.5);
    if (variable->warp == 0 || value < 0.5)
        return;
    size_t at = (size_t)(variable->warp - 1) * grid->length + variable->instruction - 1;
    if (grid->cycles[at] == 0 || variable->cycle < grid->cycles[at])
        grid->cycles[at] = variable->cycle;
}

/* In all formats the answer consists of words: the name of a variable, perhaps a '*', its value. */
static void read_grid(struct grid *grid, char *text)
{
    struct variable variable = {0};
    char *rest;
    for (char *word = strtok_r(text, " \t\r\n", &rest); word;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        char *end;
        if (strcmp(word, "*") == 0)
            continue;
        double value = strtod(word, &end);
        if (*end == '\0')
            take_solver_value(grid, &variable, value);
        struct variable found = {.makespan = strcmp(word, "makespan") == 0};
        uint32_t warp, i, cycle;
        int used = 0;
        if (sscanf(word, "y%u_%u_%u%n", &warp, &i, &cycle, &used) == 3 && word[used] == '\0' &&
            warp >= 1 && warp <= grid->warps && i >= 1 && i <= grid->length)
            found = (struct variable){.warp = warp, .instruction = i, .cycle = cycle};
        variable = found;
    }
    /* An instruction whose variables are all 0 runs after the last of them, as late as possible.
     * Only a schedule of the maximum length has such instructions. */
    for (size_t n = 0; n < (size_t)grid->warps * grid->length; n++) {
        uint32_t later = grid->length - 1 - (uint32_t)(n % grid->length);
        if (grid->cycles[n] == 0)
            grid->cycles[n] = grid->end > later ? grid->end - later : 1;
    }
}

/* Checks that it is a work-conserving schedule. */
static gordian_status check_grid(const struct question *question, const struct grid *grid,
                                 gordian_error *error)
{
    size_t count = (size_t)grid->warps * grid->length;
    uint32_t *witness = memory_alloc(&question->memory, count * sizeof *witness);
    if (!witness)
        return fail_memory(error);
    for (size_t n = 0; n < count; n++)
        witness[n] = (uint32_t)(n / grid->length) + 1;
    gordian_status status =
        gordian_makespan_check(question->makespan, witness, grid->cycles, count, error);
    memory_free(&question->memory, witness);
    return status;
}

/* A solver that was stopped may not have found a schedule; then its answer is invalid. */
static gordian_status take_schedule(const struct question *question, char *text,
                                    struct lp_solver_answer *answer, gordian_error *error)
{
    struct grid grid = {.warps = gordian_makespan_warps(question->makespan),
                        .length = gordian_makespan_length(question->makespan)};
    grid.cycles =
        memory_zeroed(&question->memory, (size_t)grid.warps * grid.length * sizeof *grid.cycles);
    if (!grid.cycles)
        return fail_memory(error);
    read_grid(&grid, text);
    gordian_error why = {0};
    gordian_status status = check_grid(question, &grid, &why);
    answer->found = 0;
    for (size_t n = 0; status == GORDIAN_OK && n < (size_t)grid.warps * grid.length; n++)
        answer->found = grid.cycles[n] > answer->found ? grid.cycles[n] : answer->found;
    if (status == GORDIAN_STATUS_INPUT && !answer->optimal)
        status = GORDIAN_OK;
    else if (status != GORDIAN_OK)
        fail(error, status, "%s: its solution is not a schedule: %s", question->solver->name,
             why.message);
    memory_free(&question->memory, grid.cycles);
    return status;
}

/* ------------------------------------------------------------------ the whole run */

static gordian_status ask_solver(struct question *question, struct lp_solver_answer *answer,
                                 gordian_error *error)
{
    TRY(write_program(question, error));
    uint64_t begin = clock_ns();
    bool ran = run_solver(question);
    answer->seconds = (double)(clock_ns() - begin) / 1e9;
    if (!ran)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "'%s' failed", question->solver->name);
    const struct solver *solver = question->solver;
    struct text log = {0}, text = {0};
    gordian_status status;
    if (read_solver_text(question, question->log, &log) &&
        read_solver_text(question, question->answer, &text)) {
        answer->optimal = strstr(log.bytes, solver->optimal) || strstr(text.bytes, solver->optimal);
        double bound = last_after(log.bytes, solver->bound);
        bound = bound > 0 ? bound : last_after(log.bytes, solver->other_bound);
        bool worst = question->goal == GORDIAN_MAKESPAN_GOAL_WORST;
        if (bound >= 1 && bound <= 1e9) /* allows for the rounding of solvers */
            answer->bound = (uint32_t)(worst ? floor(bound + 1e-5) : ceil(bound - 1e-5));
        status = take_schedule(question, text.bytes, answer, error);
        if (status == GORDIAN_OK && answer->optimal)
            answer->bound = answer->found;
    } else {
        status = fail(error, GORDIAN_STATUS_UNAVAILABLE, "'%s' did not answer", solver->name);
    }
    text_free(&log);
    text_free(&text);
    return status;
}

gordian_status lp_solver_run(const gordian_makespan *makespan, gordian_makespan_goal goal,
                             const char *solver, double seconds, struct lp_solver_answer *answer,
                             gordian_error *error)
{
    struct question question = {.makespan = makespan,
                                .goal = goal,
                                .solver = find_solver(solver),
                                .seconds = seconds,
                                .memory = memory_allocator(NULL)};
    *answer = (struct lp_solver_answer){0};
    if (!question.solver)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    solver && strcmp(solver, "auto") != 0 ? "the solver '%.40s' is not installed"
                                                          : "no solver is installed (%.40s)",
                    solver && strcmp(solver, "auto") != 0 ? solver : "cbc, highs or glpsol");
    answer->solver = question.solver->name;
    TRY(temporary_folder("gordian", question.folder, sizeof question.folder, error));
    snprintf(question.program, sizeof question.program, "%s/program.lp", question.folder);
    snprintf(question.answer, sizeof question.answer, "%s/answer", question.folder);
    snprintf(question.log, sizeof question.log, "%s/log", question.folder);
    gordian_status status = ask_solver(&question, answer, error);
    temporary_remove(question.folder);
    return status;
}
