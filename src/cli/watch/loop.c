/* Polls, judges, reports and acts: once, or until it is interrupted. */
#include "cli/watch/watch.h"
#include "foundation/base/error.h"

#include "sources/watch/graph/duplicate_servers.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

#define ONCE_MOST_NS UINT64_C(10000000000)
#define LOOKS_MOST   4 /* polls of each server after all have been polled */

/* ------------------------------------------------------------------ event loop */

static gordian_status judge_news(struct watching *watching, gordian_error *error)
{
    if (!servers_have_new_scans(&watching->servers))
        return GORDIAN_OK;
    TRY(servers_judge(&watching->servers, error));
    struct telling telling = watching_report_context(watching);
    gordian_error refused = {0};
    /* a failing service does not end the watch */
    if (watching->settings->reach.to &&
        feed_update(&watching->feed, &watching->servers, &telling, &refused) != GORDIAN_OK)
        cli_say(watching->cli, "the service: %s", refused.message);
    if (!watching->settings->once) {
        report_new_deadlocks(watching);
        report_stalls(watching);
        report_unseen(watching);
    }
    return GORDIAN_OK;
}

static void write_metrics(void *context, struct output *out)
{
    const struct watching *watching = context;
    watch_metrics_write(&watching->servers,
                        &(struct watch_totals){watching->found, watching->ended}, out);
}

static gordian_status run_iteration(struct watching *watching, gordian_error *error)
{
    struct pollfd polls[LISTENER_POLLS];
    bool listens = watching->settings->listen;
    size_t count = listens ? listener_polls(&watching->listener, polls) : 0;
    gordian_status status = servers_run_once(&watching->servers, UINT64_MAX, polls, count, error);
    if (listens)
        listener_step(&watching->listener, polls, count, write_metrics, watching);
    THEN(status, judge_news(watching, error));
    if (status == GORDIAN_OK)
        act_on_deadlocks(watching, !watching->settings->once);
    report_servers(watching);
    return status;
}

/* ------------------------------------------------------------------ once */

/* Polls of a server before the first poll of the last server do not count: edges between servers
 * and queue positions are only requested after that. */
static bool polled_enough(const struct servers *servers)
{
    for (size_t i = 0; i < servers->count; i++) {
        const struct source *source = servers->sources[i];
        if (source->first && source->looks < source->scans_before_others + LOOKS_MOST)
            return false;
    }
    return true;
}

/* Is there an edge that only the latest poll has, and that another poll could confirm? */
static bool has_fresh(const struct servers *servers, uint64_t first, uint64_t last)
{
    if (polled_enough(servers) || last - first >= ONCE_MOST_NS)
        return false;
    for (size_t i = 0; i < servers->count; i++) {
        const struct scan *scan = &servers->sources[i]->scan;
        for (size_t k = 0; k < scan->edge_count; k++)
            if (scan->edges[k].since > last)
                return true;
    }
    for (size_t i = 0; i < servers->links.count; i++) {
        const struct member from = servers->links.list[i].from;
        if (servers->sources[from.source]->scan.sessions[from.session].since > last)
            return true;
    }
    return false;
}

/* Were all servers polled twice, with some time between their common polls? Servers that cannot be
 * reached are ignored. */
static bool is_confirmed(const struct servers *servers)
{
    uint64_t first = 0, last = UINT64_MAX;
    for (size_t i = 0; i < servers->count; i++) {
        const struct source *source = servers->sources[i];
        if (source->state == SOURCE_AWAY && source->attempts)
            continue;
        if (!source->first) {
            for (size_t k = 0; k < servers->count; k++)
                servers->sources[k]->scans_before_others = servers->sources[k]->looks;
            return false;
        }
        first = source->first > first ? source->first : first;
        last = source->scan.asked < last ? source->scan.asked : last;
    }
    /* Clients of this machine must be seen asleep before the second poll. New clients may keep
     * coming, so there is a time limit. */
    const struct sleepers *sleepers = &servers->links.sleepers;
    return last >= first &&
           (last - first >= ONCE_MOST_NS ||
            (last >= sleepers->latest && !sleepers_pending(sleepers))) &&
           !has_fresh(servers, first, last);
}

static void print_verdict(struct watching *watching, size_t seen)
{
    struct telling telling = watching_report_context(watching);
    const struct verdict *verdict = &watching->servers.verdict;
    if (verdict->deadlock_count)
        output_format(telling.out, "%zu %s, %zu more %s behind", verdict->deadlock_count,
                      verdict->deadlock_count == 1 ? "deadlock" : "deadlocks", verdict->behind,
                      verdict->behind == 1 ? "waits" : "wait");
    else if (!seen)
        output_text(telling.out, "nothing was seen");
    else if (watching->unseen.count)
        output_text(telling.out, "nothing found, but not everything was seen");
    else
        style_text(&telling.look.style, telling.out, COLOR_GOOD, "no deadlock");
}

static void print_summary(struct watching *watching)
{
    struct telling telling = watching_report_context(watching);
    const struct overview *overview = &watching->overview;
    const struct verdict *verdict = &watching->servers.verdict;
    size_t all = duplicates_distinct(watching->servers.sources, watching->servers.count);
    size_t seen = 0;
    for (size_t i = 0; i < watching->servers.count; i++)
        seen += watching->servers.sources[i]->scan.whole && !watching->servers.sources[i]->parked;
    print_verdict(watching, seen);
    output_format(telling.out, "; %zu %s for a lock on ", overview->waiting,
                  overview->waiting == 1 ? "session waits" : "sessions wait");
    if (seen < all)
        output_format(telling.out, "%zu of %zu %s\n", seen, all, all == 1 ? "server" : "servers");
    else
        output_format(telling.out, "%zu %s\n", seen, seen == 1 ? "server" : "servers");
    if (verdict->mended)
        output_format(telling.out,
                      "  %zu %s through queue positions, which the server resolves itself\n",
                      verdict->mended, verdict->mended == 1 ? "cycle goes" : "cycles go");
    report_unseen_once(watching);
    print_overview(&telling, overview);
}

static int report_once(struct watching *watching)
{
    const struct servers *servers = &watching->servers;
    struct telling telling = watching_report_context(watching);
    report_new_deadlocks(watching);
    report_stalls(watching);
    act_on_deadlocks(watching, true);
    if (!overview_take(&watching->overview, servers->sources, servers->count) ||
        !take_unseen(watching))
        watching->failed = true;
    if (watching->cli->json)
        watch_summary_json(&telling, &servers->verdict, &watching->overview, &watching->unseen);
    else if (!watching->cli->quiet)
        print_summary(watching);
    return watching_code(watching);
}

static int watch_once(struct watching *watching)
{
    gordian_error error = {0};
    gordian_status status = GORDIAN_OK;
    while (status == GORDIAN_OK && !is_confirmed(&watching->servers))
        status = run_iteration(watching, &error);
    int code = status == GORDIAN_OK ? report_once(watching) : EXIT_NOTHING;
    while (status == GORDIAN_OK && acts_pending(&watching->acts))
        status = run_iteration(watching, &error);
    return status == GORDIAN_OK ? code : cli_fail(watching->cli, NULL, &error);
}

/* ------------------------------------------------------------------ continuously */

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
    (void)number;
    stopped = 1;
}

/* Signals end poll(2): no SA_RESTART. An ignored signal stays ignored. */
static void catch_signal(int number)
{
    struct sigaction before, action = {.sa_handler = on_stop};
    sigaction(number, NULL, &before);
    if (before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

int watch_loop(struct watching *watching)
{
    gordian_error error = {0};
    gordian_status status = GORDIAN_OK;
    if (watching->settings->listen) {
        status = listener_open(&watching->listener, watching->settings->listen, &error);
        if (status != GORDIAN_OK)
            return cli_fail(watching->cli, NULL, &error);
        cli_say(watching->cli, "metrics at http://%s/metrics", watching->listener.place);
    }
    if (watching->settings->reach.to) {
        const struct reach *reach = &watching->settings->reach;
        status = feed_open(&watching->feed, reach->to, &reach->options, &error);
        if (status != GORDIAN_OK && reach->code)
            reach_explain(reach, &error);
        if (status != GORDIAN_OK)
            return cli_fail(watching->cli, NULL, &error);
    }
    if (watching->settings->once)
        return watch_once(watching);
    stopped = 0;
    catch_signal(SIGINT);
    catch_signal(SIGTERM);
    catch_signal(SIGHUP);
    if (watching->settings->top)
        return watch_top(watching, &stopped);
    while (!stopped && status == GORDIAN_OK && !watching->failed && !watching->cli->out.failure) {
        status = run_iteration(watching, &error);
        output_flush(&watching->cli->out);
    }
    if (status != GORDIAN_OK)
        return cli_fail(watching->cli, NULL, &error);
    return watching_code(watching);
}
