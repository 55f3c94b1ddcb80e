/* gordian bench: runs benchmarks (src/lab/bench/). */
#include "lab/bench/bench.h"

#include "cli/base/commands.h"

#include <string.h>

static int list_benches(struct cli *cli)
{
    for (const struct bench_info *bench = bench_list; bench->name; bench++) {
        if (!cli->json) {
            output_format(&cli->out, "%-12s%s\n", bench->name, bench->summary);
            continue;
        }
        struct json json;
        json_begin(&json, &cli->out);
        json_key_text(&json, "bench", bench->name);
        json_key_text(&json, "summary", bench->summary);
        json_end(&json);
    }
    return EXIT_NOTHING;
}

static int measure_family(struct cli *cli, struct bench_options *bench)
{
    bench->json = cli->json;
    bench->engine = cli->engine;
    bench->progress = cli_show_progress;
    bench->progress_context = cli;
    gordian_error error = {0};
    gordian_status status = bench_run(bench, &cli->out, &error);
    progress_clear(&cli->progress);
    if (status == GORDIAN_OK || cli->out.failure)
        return EXIT_NOTHING;
    return cli_fail(cli, NULL, &error);
}

static int bench_main(struct cli *cli, int argc, char **argv)
{
    struct bench_options bench;
    bench_options_init(&bench);
    bool list = false;
    const struct option options[] = {
        {"list", 'l', NULL, "list the benches", OPTION_FLAG, &list},
        {"quick", 0, NULL, "smaller sizes, under a minute for most of them", OPTION_FLAG,
         &bench.quick},
        {"seed", 's', "N", "random seed (default: 1)", OPTION_U64, &bench.seed},
        {"soak", 0, "SECONDS", "with serve: instead, run this long at 80 % of the top\nrate",
         OPTION_U32, &bench.soak},
        {"store", 0, "URI",
         "with serve: instead, compare PostgreSQL with a folder,\nand measure the time to a new "
         "leader",
         OPTION_TEXT, &bench.store},
        {"svg", 0, "FILE", "draw the curves into FILE", OPTION_FILE, &bench.svg},
        {0},
    };
    int code, operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    if (operands > 1 && !list)
        return cli_misuse(cli, "only one NAME is allowed: unexpected '%.40s'", argv[1]);
    bench.name = operands && strcmp(argv[0], "all") != 0 ? argv[0] : NULL;
    return list ? list_benches(cli) : measure_family(cli, &bench);
}

const struct command command_bench = {
    .name = "bench",
    .operands = "[NAME]",
    .summary = "measure this machine against targets and baselines",
    .about =
        "Runs the bench NAME, or all of them (no NAME, or \"all\"), with its baselines in the\n"
        "same run. --engine limits it to the rows of one engine. 'gordian bench --list' lists\n"
        "the names. With --json the last line has the machine, the date, the commit and the\n"
        "command.\n",
    .run = bench_main,
};
