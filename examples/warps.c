/*
 * How long can four warps take? Each loads, computes and loads again. One load and one computation
 * can start in every cycle. The order of the warps is not specified. The program builds one order
 * by hand, searches for the worst and the best order, and does the same for a real chip.
 *
 *     cc warps.c $(pkg-config --cflags --libs gordian)
 */
#include <gordian/makespan.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARPS 4

/* For this example only: a real program would return the status. */
static void must(gordian_status status, const gordian_error *error)
{
    if (status != GORDIAN_OK) {
        fprintf(stderr, "warps: %s\n", error->message);
        exit(EXIT_FAILURE);
    }
}

/* Prints one row per warp and one column per cycle. */
static void show(const gordian_makespan *makespan, const uint32_t *witness, const uint32_t *cycles,
                 size_t count)
{
    char rows[WARPS][80];
    size_t done[WARPS] = {0};
    memset(rows, '.', sizeof rows);
    for (size_t i = 0; i < count; i++) {
        uint32_t warp = witness[i] - 1;
        rows[warp][cycles[i] - 1] = gordian_makespan_kernel(makespan)[done[warp]++];
    }
    for (size_t warp = 0; warp < WARPS; warp++)
        printf("    warp %zu  %.*s\n", warp + 1, (int)cycles[count - 1], rows[warp]);
}

static void build(const gordian_makespan *makespan)
{
    static const uint32_t turns[] = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4};
    const size_t count = sizeof turns / sizeof *turns;
    uint32_t cycles[sizeof turns / sizeof *turns], length;
    gordian_error error;
    must(gordian_makespan_build(makespan, turns, count, cycles, &length, &error), &error);
    printf("in turn: %u cycles\n", length);
    show(makespan, turns, cycles, count);
}

static void solve(gordian_makespan *makespan, gordian_makespan_goal goal, const char *title)
{
    gordian_error error;
    gordian_makespan_options options;
    gordian_makespan_answer answer;
    gordian_makespan_options_init(&options);
    options.engine = "exact";
    options.goal = goal;
    must(gordian_makespan_solve(makespan, &options, &answer, &error), &error);
    printf("%s: %u to %u cycles%s\n", title, answer.lower, answer.upper,
           answer.exact ? ", exact" : "");
    /* The schedule that proves the value can be checked separately. */
    must(gordian_makespan_check(makespan, answer.witness, answer.cycles, answer.witness_count,
                                &error),
         &error);
}

static gordian_makespan *describe(const char *kernel, const gordian_unit *units, size_t unit_count,
                                  uint32_t schedulers)
{
    gordian_error error;
    gordian_makespan *makespan;
    gordian_makespan_problem problem = {.kernel = kernel,
                                        .length = strlen(kernel),
                                        .warps = WARPS,
                                        .schedulers = schedulers,
                                        .units = units,
                                        .unit_count = unit_count};
    must(gordian_makespan_open(&makespan, &problem, NULL, &error), &error);
    return makespan;
}

int main(void)
{
    static const gordian_unit units[] = {{.letter = 'L', .units = 1}, {.letter = 'C', .units = 1}};
    gordian_makespan *makespan = describe("LCL", units, 2, 0);
    build(makespan);
    solve(makespan, GORDIAN_MAKESPAN_GOAL_WORST, "worst case");
    solve(makespan, GORDIAN_MAKESPAN_GOAL_BEST, "best case");
    gordian_makespan_close(makespan);

    gordian_chip chip;
    for (size_t i = 0; gordian_chip_info(i, &chip) == GORDIAN_OK; i++) {
        if (strcmp(chip.name, "hopper") != 0)
            continue;
        makespan = describe("LCL", chip.units, chip.unit_count, chip.schedulers);
        printf("\n%s\n", chip.title);
        solve(makespan, GORDIAN_MAKESPAN_GOAL_WORST, "worst case");
        gordian_makespan_close(makespan);
    }
    return 0;
}
