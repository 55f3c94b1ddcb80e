/* gordian watch: shows lock waits of databases live. */
#include "cli/watch/watch.h"
#include "cli/base/hide_passwords.h"

#include "cli/base/commands.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#define INTERVAL_MS 200
#define STALL_S     30

static const char *const act_choices[] = {"none", "cancel", "terminate", NULL};
static const char *const policy_choices[] = {"youngest", "least-work", NULL};

static int check_options(struct cli *cli, struct watch_settings *settings, int operands)
{
    gordian_error error = {0};
    struct victim_settings *advice = &settings->advice;
    if (operands == 0)
        return cli_misuse(cli, "no server to watch (postgres://USER@HOST/DATABASE, mysql://...)");
    if (settings->once && settings->top)
        return cli_misuse(cli, "--once and --top: give only one of them");
    if (settings->interval_ms == 0)
        return cli_misuse(cli, "--interval: at least 1 ms");
    settings->stall_s = settings->stall ? options_seconds(settings->stall) : STALL_S;
    if (settings->stall_s < 0)
        return cli_misuse(cli, "--stall: '%.40s' is not a number of seconds", settings->stall);
    gordian_status status = GORDIAN_OK;
    if (settings->prefer)
        status = advice_pattern(&advice->prefer, &advice->has_prefer, "--prefer", settings->prefer,
                                &error);
    if (status == GORDIAN_OK && settings->spare)
        status =
            advice_pattern(&advice->spare, &advice->has_spare, "--spare", settings->spare, &error);
    return status == GORDIAN_OK ? EXIT_NOTHING : cli_misuse(cli, "%s", error.message);
}

/* Passes the addresses to the watch and hides the passwords in argv. */
static gordian_status add_servers(struct servers *servers, char **operands, int count,
                                  gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    for (int i = 0; i < count; i++) {
        THEN(status, servers_add(servers, operands[i], error));
        hide_password(operands[i]);
    }
    return status;
}

static int watch_servers(struct cli *cli, const struct watch_settings *settings, char **operands,
                         int count)
{
    struct watching watching = {
        .cli = cli, .settings = settings, .listener = {.fd = -1}, .memory = memory_allocator(NULL)};
    gordian_error error = {0};
    servers_open(&watching.servers);
    watching.servers.pace.interval_ns = UINT64_C(1000000) * settings->interval_ms;
    overview_open(&watching.overview, &watching.memory);
    unseen_open(&watching.unseen, &watching.memory);
    acts_open(&watching.acts, &watching.memory);
    watching.acts.first = settings->act == ACT_CHOICE_CANCEL ? REMEDY_CANCEL : REMEDY_TERMINATE;
    gordian_status status = add_servers(&watching.servers, operands, count, &error);
    if (status == GORDIAN_OK && settings->inspect)
        status = servers_inspect(&watching.servers, settings->inspect, &error);
    if (status == GORDIAN_OK && settings->link)
        status = links_set(&watching.servers.links, settings->link, &error);
    int code = status == GORDIAN_OK ? watch_loop(&watching) : cli_fail(cli, NULL, &error);
    watching_free(&watching);
    return code;
}

static int watch_main(struct cli *cli, int argc, char **argv)
{
    struct watch_settings watch = {.interval_ms = INTERVAL_MS,
                                   .advice = {.policy = VICTIM_YOUNGEST}};
    reach_init(&watch.reach, "gordian watch");
    watch.reach.options.system = "databases";
    const struct option options[] = {
        {"once", '1', NULL, "poll, confirm, report and end", OPTION_FLAG, &watch.once, NULL},
        {"top", 't', NULL, "a live view on the terminal", OPTION_FLAG, &watch.top, NULL},
        {"interval", 'i', "MS", "poll every MS milliseconds (default: 200)", OPTION_U32,
         &watch.interval_ms, NULL},
        {"stall", 0, "SECONDS", "report waits longer than this (default: 30; 0: none)", OPTION_TEXT,
         &watch.stall, NULL},
        {"link", 0, "REGEX",
         "sessions of several servers belong to one client if the\nfirst group matches the same "
         "text in their\napplication_name",
         OPTION_TEXT, &watch.link, NULL},
        {"inspect", 'p', "PID", "add the threads and locks of this process", OPTION_U32,
         &watch.inspect, NULL},
        {"act", 0, "HOW",
         "end deadlocks: cancel the victim's statement, then\nterminate its session if the same "
         "cycle remains;\nterminate: terminate it at once; none (default)",
         OPTION_CHOICE, &watch.act, act_choices},
        {"dry-run", 'n', NULL, "with --act: only print what would be done", OPTION_FLAG,
         &watch.dry_run, NULL},
        {"victim", 0, "POLICY", "how to choose it: youngest (default) or least-work", OPTION_CHOICE,
         &watch.advice.policy, policy_choices},
        {"prefer", 0, "REGEX", "victims first: application_name or user", OPTION_TEXT,
         &watch.prefer, NULL},
        {"spare", 0, "REGEX", "victims last: application_name or user", OPTION_TEXT, &watch.spare,
         NULL},
        {"listen", 0, "PLACE", "metrics for Prometheus: PORT, or HOST:PORT", OPTION_TEXT,
         &watch.listen, NULL},
        {"to", 0, "URI", "feed a running service: unix:PATH, tcp://HOST:PORT or\ntls://HOST:PORT",
         OPTION_TEXT, &watch.reach.to, NULL},
        {"system", 0, "NAME", "system of that service (default: databases)", OPTION_TEXT,
         &watch.reach.options.system, NULL},
        REACH_SAFELY(watch.reach),
        {"dot", 0, "FILE", "write each deadlock for Graphviz", OPTION_FILE, &watch.dot, NULL},
        {"svg", 0, "FILE", "write each deadlock as a picture", OPTION_FILE, &watch.svg, NULL},
        {0},
    };
    int code;
    int operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    gordian_error error = {0};
    code = check_options(cli, &watch, operands);
    if (code == EXIT_NOTHING && reach_prepare(&watch.reach, &error) != GORDIAN_OK)
        code = cli_fail(cli, NULL, &error);
    if (code == EXIT_NOTHING)
        code = watch_servers(cli, &watch, argv, operands);
    advice_close(&watch.advice);
    return code;
}

const struct command command_watch = {
    .name = "watch",
    .operands = "SERVER...",
    .summary = "watch lock waits of databases and report deadlocks",
    .about =
        "Watches lock waits of PostgreSQL (postgres://..., or any libpq connection string) and\n"
        "MariaDB or MySQL (mysql://...), and reports deadlocks, including those across several\n"
        "servers, which no single server sees. Without --act, it ends nothing.\n",
    .run = watch_main,
};
