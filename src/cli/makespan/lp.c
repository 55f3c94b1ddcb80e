/* gordian makespan --lp, --solver: the problem as an integer program. */
#include "cli/makespan/makespan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static gordian_makespan_goal goal_of(const struct makespan *makespan)
{
    return makespan->best ? GORDIAN_MAKESPAN_GOAL_BEST : GORDIAN_MAKESPAN_GOAL_WORST;
}

int makespan_write_lp(struct makespan *makespan, const gordian_makespan *problem)
{
    gordian_error error = {0};
    gordian_status status;
    if (strcmp(makespan->lp, "-") == 0) {
        gordian_writer out = cli_writer_out(makespan->cli);
        status = gordian_makespan_lp(problem, goal_of(makespan), &out, &error);
        return status == GORDIAN_OK ? EXIT_NOTHING : cli_fail(makespan->cli, NULL, &error);
    }
    int fd = open(makespan->lp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return cli_cannot_write(makespan->cli, makespan->lp, errno);
    gordian_writer writer = gordian_writer_fd(&fd);
    status = gordian_makespan_lp(problem, goal_of(makespan), &writer, &error);
    bool closed = close(fd) == 0;
    if (status != GORDIAN_OK)
        return cli_fail(makespan->cli, makespan->lp, &error);
    if (closed)
        return EXIT_NOTHING;
    return cli_cannot_write(makespan->cli, makespan->lp, errno);
}

int makespan_check_solver(struct makespan *makespan)
{
    const char *wanted = makespan->solver;
    bool known = !wanted || strcmp(wanted, "auto") == 0;
    for (size_t i = 0; !known && lp_solver_name(i); i++)
        known = strcmp(wanted, lp_solver_name(i)) == 0;
    if (!known)
        return cli_misuse(makespan->cli, "--solver: '%.40s' is not one of auto, cbc, highs, glpsol",
                          wanted);
    if (!wanted || lp_solver_available(wanted))
        return EXIT_NOTHING;
    cli_say(makespan->cli, "--solver %s: not found in PATH", wanted);
    return EXIT_UNAVAILABLE;
}

int makespan_ask_solver(struct makespan *makespan, struct makespan_report *report)
{
    gordian_error error = {0};
    double seconds = makespan->seconds ? strtod(makespan->seconds, NULL) : 0;
    if (!makespan->solver || makespan->interrupted)
        return EXIT_NOTHING;
    gordian_status status = lp_solver_run(report->problem, goal_of(makespan), makespan->solver,
                                          seconds, &report->lp, &error);
    return status == GORDIAN_OK ? EXIT_NOTHING : cli_fail(makespan->cli, NULL, &error);
}
