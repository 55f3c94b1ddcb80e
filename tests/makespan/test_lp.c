/* The integer program: its text, and what packaged solvers make of it: the exact values. Skipped as
 * far as there is no solver here. */
#include "engines/solver/lp_solver.h"
#include "world.h"

#include <string.h>

static gordian_makespan *open_row(const struct row *row)
{
    gordian_unit units[4];
    gordian_makespan_problem problem = row_problem(row, units);
    gordian_makespan *makespan = NULL;
    REQUIRE(gordian_makespan_open(&makespan, &problem, NULL, NULL) == GORDIAN_OK);
    return makespan;
}

static void check_value(const struct row *row, const gordian_makespan *makespan, const char *solver,
                        gordian_makespan_goal goal, uint32_t value)
{
    struct lp_solver_answer answer;
    gordian_error error = {0};
    gordian_status status = lp_solver_run(makespan, goal, solver, 0, &answer, &error);
    CHECK_MSG(status == GORDIAN_OK, "row %u, %s: %s", row->id, solver, error.message);
    CHECK_MSG(status || (answer.optimal && answer.found == value && answer.bound == value),
              "row %u, %s: %u, %u, not %u", row->id, solver, answer.found, answer.bound, value);
    CHECK(strcmp(answer.solver, solver) == 0);
}

/* So small that a solver has them in a second or so: variables of the program, about. */
static bool is_tiny(const struct row *row)
{
    return row->warps <= 4 && (size_t)row->warps * strlen(row->string) * row->worst <= 150;
}

static void test_rows(const char *path, const char *solver)
{
    size_t count, tried = 0;
    struct row *rows = read_rows(path, &count);
    for (size_t i = 0; i < count; i++) {
        if (!is_tiny(&rows[i]))
            continue;
        gordian_makespan *makespan = open_row(&rows[i]);
        check_value(&rows[i], makespan, solver, GORDIAN_MAKESPAN_GOAL_WORST, rows[i].worst);
        if (rows[i].best)
            check_value(&rows[i], makespan, solver, GORDIAN_MAKESPAN_GOAL_BEST, rows[i].best);
        gordian_makespan_close(makespan);
        tried++;
    }
    CHECK_MSG(tried >= 5, "%zu rows", tried);
    free(rows);
}

/* ------------------------------------------------------------------ random systems */

static void test_random(const char *solver)
{
    struct random random;
    random_seed(&random, 3);
    for (unsigned long n = 0; n < test_scale() / 5 + 5; n++) {
        struct makespan_model *model = random_model(&random, 3, 4);
        uint32_t worst, best;
        gordian_unit units[4];
        struct row row = {.id = (unsigned)n};
        for (uint32_t t = 0; t < model->types; t++)
            units[t] = (gordian_unit){.letter = model->letters[t], .units = model->given[t]};
        gordian_makespan_problem problem = {.kernel = model->text,
                                            .length = model->length,
                                            .warps = model->warps,
                                            .schedulers = model->schedulers,
                                            .units = units,
                                            .unit_count = model->types};
        gordian_makespan *makespan = NULL;
        REQUIRE(gordian_makespan_open(&makespan, &problem, NULL, NULL) == GORDIAN_OK);
        brute_force(model, &worst, &best);
        check_value(&row, makespan, solver, GORDIAN_MAKESPAN_GOAL_WORST, worst);
        check_value(&row, makespan, solver, GORDIAN_MAKESPAN_GOAL_BEST, best);
        gordian_makespan_close(makespan);
        model_close(model);
    }
}

/* ------------------------------------------------------------------ the text */

struct text {
    char bytes[65536];
    size_t used;
    size_t room; /* writing fails beyond */
};

static bool keep_text(void *context, const char *bytes, size_t size)
{
    struct text *text = context;
    if (text->used + size > text->room)
        return false;
    memcpy(text->bytes + text->used, bytes, size);
    text->used += size;
    text->bytes[text->used] = '\0';
    return true;
}

static void test_text(void)
{
    static const gordian_unit units[] = {{.letter = 'L', .units = 1}, {.letter = 'C', .units = 1}};
    gordian_makespan_problem problem = {
        .kernel = "LC", .length = 2, .warps = 2, .schedulers = 1, .units = units, .unit_count = 2};
    struct text *text = calloc(1, sizeof *text);
    REQUIRE(text != NULL);
    text->room = sizeof text->bytes - 1;
    gordian_writer writer = {.write = keep_text, .context = text};
    gordian_makespan *makespan = NULL;
    gordian_error error = {0};
    REQUIRE(gordian_makespan_open(&makespan, &problem, NULL, NULL) == GORDIAN_OK);
    CHECK(!gordian_makespan_lp(makespan, GORDIAN_MAKESPAN_GOAL_WORST, &writer, &error));
    CHECK(strstr(text->bytes, "Maximize\n obj: makespan\nSubject To\n"));
    CHECK(strstr(text->bytes, "\nBinary\n") && strstr(text->bytes, "\n b_1\n"));
    CHECK(text->used > 5 && strcmp(text->bytes + text->used - 5, "\nEnd\n") == 0);
    text->used = 0;
    CHECK(!gordian_makespan_lp(makespan, GORDIAN_MAKESPAN_GOAL_BEST, &writer, &error));
    CHECK(strstr(text->bytes, "Minimize\n"));
    text->used = 0;
    text->room = 100;
    CHECK(gordian_makespan_lp(makespan, GORDIAN_MAKESPAN_GOAL_WORST, &writer, &error) ==
          GORDIAN_STATUS_IO);
    gordian_makespan_close(makespan);
    free(text);
    /* Too large to be written. */
    problem.warps = 256;
    problem.kernel = "LCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLCLC";
    problem.length = 64;
    REQUIRE(gordian_makespan_open(&makespan, &problem, NULL, NULL) == GORDIAN_OK);
    CHECK(gordian_makespan_lp(makespan, GORDIAN_MAKESPAN_GOAL_WORST, &writer, &error) ==
          GORDIAN_STATUS_INPUT);
    struct lp_solver_answer answer;
    CHECK(lp_solver_run(makespan, GORDIAN_MAKESPAN_GOAL_WORST, "no-such-solver", 0, &answer,
                        &error) == GORDIAN_STATUS_UNAVAILABLE);
    gordian_makespan_close(makespan);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    test_text();
    for (size_t i = 0; lp_solver_name(i); i++) {
        if (!lp_solver_available(lp_solver_name(i)))
            continue;
        test_rows(argv[1], lp_solver_name(i));
        test_random(lp_solver_name(i));
    }
    return test_done();
}
