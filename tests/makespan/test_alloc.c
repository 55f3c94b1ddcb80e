/* Every n-th allocation fails, for every n: nothing leaks, and the answer is right or there is
 * none. */
#include "failing.h"
#include "test.h"

#include <string.h>

struct play {
    const char *kernel, *engine;
    uint32_t warps, schedulers;
    gordian_makespan_goal goal;
    bool published;
    unsigned threads;
    uint32_t value; /* exact; 0: not looked at */
    uint32_t issue; /* 0: 1 */
};

static const gordian_unit units[] = {{.letter = 'L', .units = 1}, {.letter = 'C', .units = 3}};

/* How far it got with the n-th allocation failing; GORDIAN_OK: all the way. */
static gordian_status perform(const struct play *play, struct failing *failing)
{
    gordian_allocator allocator = {failing_resize, failing};
    gordian_makespan_problem problem = {.kernel = play->kernel,
                                        .length = strlen(play->kernel),
                                        .warps = play->warps,
                                        .schedulers = play->schedulers,
                                        .issue = play->issue,
                                        .units = units,
                                        .unit_count = 2};
    gordian_makespan *makespan = NULL;
    gordian_makespan_answer answer = {0};
    gordian_error error = {0};
    gordian_status status = gordian_makespan_open(&makespan, &problem, &allocator, &error);
    CHECK((status == GORDIAN_OK) == (makespan != NULL));
    gordian_makespan_options options;
    gordian_makespan_options_init(&options);
    options.engine = play->engine;
    options.goal = play->goal;
    options.published = play->published;
    options.evaluations = 300;
    options.threads = play->threads;
    if (status == GORDIAN_OK)
        status = gordian_makespan_solve(makespan, &options, &answer, &error);
    if (status == GORDIAN_OK) {
        uint32_t length = 0;
        CHECK(!play->value || (answer.exact && answer.lower == play->value));
        status = gordian_makespan_check(makespan, answer.witness, answer.cycles,
                                        answer.witness_count, &error);
        if (status == GORDIAN_OK)
            status = gordian_makespan_build(makespan, answer.witness, answer.witness_count, NULL,
                                            &length, &error);
        CHECK(status ||
              length == (play->goal == GORDIAN_MAKESPAN_GOAL_WORST ? answer.lower : answer.upper));
    }
    CHECK_MSG(status == GORDIAN_OK || (status == GORDIAN_STATUS_MEMORY && failing->failures > 0),
              "%s", error.message);
    gordian_makespan_close(makespan);
    CHECK_MSG(failing->live_blocks == 0 && failing->live_bytes == 0, "%zu blocks left",
              failing->live_blocks);
    return status;
}

static void test_play(const struct play *play)
{
    size_t failed = 0;
    for (unsigned for_good = 0; for_good < 2; for_good++) {
        for (size_t n = 1 + for_good % test_stride();; n += test_stride()) {
            struct failing failing = {.fail_at = n, .for_good = for_good};
            failed += perform(play, &failing) == GORDIAN_STATUS_MEMORY;
            if (failing.failures == 0)
                break;
        }
    }
    CHECK(failed > 10);
}

int main(void)
{
    static const struct play plays[] = {
        {"LLCCCL", "exact", 4, 0, GORDIAN_MAKESPAN_GOAL_WORST, false, 1, 0, 0},
        {"LLCCCCLCC", "exact", 4, 3, GORDIAN_MAKESPAN_GOAL_WORST, false, 2, 0, 0},
        {"LLCCCCLCC", "exact", 3, 0, GORDIAN_MAKESPAN_GOAL_BEST, false, 1, 0, 0},
        {"LCL", "exact", 4, 0, GORDIAN_MAKESPAN_GOAL_WORST, false, 1, 9, 0},
        {"LLCC", "anneal", 4, 0, GORDIAN_MAKESPAN_GOAL_WORST, false, 2, 0, 0},
        {"LLCC", "anneal", 4, 0, GORDIAN_MAKESPAN_GOAL_BEST, true, 1, 0, 0},
        {"LCCLCCLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLL", "exact", 3, 2,
         GORDIAN_MAKESPAN_GOAL_WORST, false, 1, 0, 0},
        {"LCL", "relax", 4, 0, GORDIAN_MAKESPAN_GOAL_WORST, false, 1, 9, 0},
        {"LCLC", "relax", 3, 1, GORDIAN_MAKESPAN_GOAL_BEST, false, 1, 0, 2},
    };
    for (size_t i = 0; i < sizeof plays / sizeof *plays; i++)
        test_play(&plays[i]);
    return test_done();
}
