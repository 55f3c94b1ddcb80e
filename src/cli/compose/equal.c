/* `gordian compose --equal A B`: bisimulation of two circuits. */
#include "cli/compose/compose.h"

static int compare_circuits(struct compose *compose, struct composed sides[2])
{
    gordian_difference difference = {.count = 0};
    bool equal = false;
    gordian_error error = {0};
    const struct compose_reporter *reporter = compose->cli->json ? &compose_json : &compose_text;
    gordian_status status = gordian_graph_equal(
        composed_graph(&sides[0]), composed_graph(&sides[1]), &equal, &difference, &error);
    if (status != GORDIAN_OK)
        return cli_fail(compose->cli, NULL, &error);
    int code = equal ? EXIT_NOTHING : EXIT_FOUND;
    if (compose->cli->json || !compose->cli->quiet)
        status = reporter->difference(compose, sides, equal ? NULL : &difference, &error);
    if (!equal)
        gordian_difference_free(&difference);
    return status == GORDIAN_OK ? code : cli_fail(compose->cli, NULL, &error);
}

int compose_equal(struct compose *compose, const char *left, const char *right)
{
    const char *paths[2] = {left, right};
    const char *mains[2] = {compose->main, compose->other ? compose->other : compose->main};
    struct subject subjects[2] = {{0}, {0}};
    struct composed sides[2] = {{0}, {0}};
    int code = EXIT_NOTHING;
    for (int i = 0; i < 2 && code == EXIT_NOTHING; i++) {
        gordian_error error = {0};
        code = subject_read(compose, &subjects[i], paths[i], mains[i], compose->data);
        if (code != EXIT_NOTHING)
            break;
        if (compose_subject(compose, &subjects[i], NULL, &sides[i], &error) != GORDIAN_OK) {
            code = cli_fail(compose->cli, error.status == GORDIAN_STATUS_INPUT ? paths[i] : NULL,
                            &error);
            if (error.status == GORDIAN_STATUS_MEMORY && compose->max_memory)
                code = EXIT_INCOMPLETE;
        } else if (sides[i].result.stop == GORDIAN_COMPOSE_STOP_UNSAFE) {
            code = compose_refuse_net(compose, &sides[i]);
        } else if (subjects[i].cut) {
            cli_say(compose->cli, "%s: the file is truncated: nothing to compare", paths[i]);
            code = EXIT_INCOMPLETE;
        } else if (sides[i].result.stop == GORDIAN_COMPOSE_STOP_CUT) {
            cli_say(compose->cli, "%s: an incomplete product: nothing to compare", paths[i]);
            code = EXIT_INCOMPLETE;
        } else if (sides[i].result.stop != GORDIAN_COMPOSE_STOP_COMPLETE) {
            cli_say(compose->cli, "%s: stopped (%s) before it was composed: nothing to compare",
                    paths[i], compose_stop_text(sides[i].result.stop));
            code = EXIT_INCOMPLETE;
        }
    }
    THEN_CODE(code, compare_circuits(compose, sides));
    for (int i = 0; i < 2; i++) {
        composed_free(&sides[i]);
        subject_free(&subjects[i]);
    }
    return code;
}
