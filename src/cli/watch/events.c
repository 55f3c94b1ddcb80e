/* Reports each deadlock, stall and server event once. */
#include "cli/watch/watch.h"

#include "cli/base/write_finding.h"
#include "sources/watch/graph/duplicate_servers.h"

#include <stdio.h>
#include <string.h>

struct telling watching_report_context(const struct watching *watching)
{
    return (struct telling){
        .sources = watching->servers.sources,
        .count = watching->servers.count,
        .links = &watching->servers.links,
        .look = {.style = cli_style(watching->cli), .verbose = watching->cli->verbose},
        .out = &watching->cli->out,
    };
}

void watching_free(struct watching *watching)
{
    for (size_t i = 0; i < watching->deadlock_count; i++)
        memory_free(&watching->memory, watching->deadlocks[i].keys);
    memory_free_all(&watching->memory, watching->deadlocks, watching->stalls, watching->reported,
                    watching->unseen_reported);
    unseen_close(&watching->unseen);
    acts_close(&watching->acts);
    feed_close(&watching->feed);
    if (watching->settings->listen)
        listener_close(&watching->listener);
    overview_close(&watching->overview);
    servers_close(&watching->servers);
}

/* ------------------------------------------------------------------ deadlocks */

static uint64_t arrow_key(const struct watching *watching, const struct session_edge *arrow)
{
    const struct scan *scan = &watching->servers.sources[arrow->from.source]->scan;
    return arrow->edge == SCAN_NONE ? 0 : scan->edges[arrow->edge].key;
}

/* Returns the reported deadlock that shares an edge with this one, or NULL. */
static struct reported_deadlock *find_reported(const struct watching *watching,
                                               const struct deadlock *deadlock)
{
    for (size_t i = 0; i < watching->deadlock_count; i++)
        for (size_t k = 0; k < watching->deadlocks[i].key_count; k++)
            for (size_t n = 0; n < deadlock->cycle_count; n++)
                if (watching->deadlocks[i].keys[k] &&
                    watching->deadlocks[i].keys[k] == arrow_key(watching, &deadlock->cycle[n]))
                    return &watching->deadlocks[i];
    return NULL;
}

static bool remember_deadlock(struct watching *watching, const struct deadlock *deadlock)
{
    size_t count = deadlock->cycle_count;
    uint64_t *keys = memory_alloc(&watching->memory, count * sizeof *keys);
    if (!keys || !memory_grow(&watching->memory, &watching->deadlocks, &watching->deadlock_room,
                              watching->deadlock_count + 1, sizeof *watching->deadlocks)) {
        memory_free(&watching->memory, keys);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        keys[i] = arrow_key(watching, &deadlock->cycle[i]);
    watching->deadlocks[watching->deadlock_count++] =
        (struct reported_deadlock){++watching->found, keys, count, true};
    return true;
}

static void write_finding(struct watching *watching, const struct finding *finding)
{
    struct telling telling = watching_report_context(watching);
    if (finding->failed)
        watching->failed = true;
    else if (watching->cli->json)
        finding_json(finding, telling.out);
    else if (!finding_text(finding, &telling.look, telling.out))
        watching->failed = true;
}

static void report_new(struct watching *watching, const struct deadlock *deadlock,
                       const struct advice *advice)
{
    struct telling telling = watching_report_context(watching);
    const struct watch_settings *settings = watching->settings;
    uint64_t number = watching->found + 1;
    struct finding finding;
    deadlock_finding(&finding, &telling, deadlock, advice, number);
    write_finding(watching, &finding);
    if (!remember_deadlock(watching, deadlock) ||
        cli_write_finding(watching->cli, settings->dot, number, finding_dot, &finding) ||
        cli_write_finding(watching->cli, settings->svg, number, finding_svg, &finding))
        watching->failed = true;
    finding_close(&finding);
}

static void print_dry_run(struct watching *watching, const struct advice *advice)
{
    const struct watch_settings *settings = watching->settings;
    if (settings->act == ACT_CHOICE_NONE || !settings->dry_run || !advice->found)
        return;
    struct telling telling = watching_report_context(watching);
    char name[200];
    write_member_name(&telling, advice->victim, name, sizeof name);
    cli_say(watching->cli, "would end %s", name);
}

static void drop_gone(struct watching *watching)
{
    size_t kept = 0;
    for (size_t i = 0; i < watching->deadlock_count; i++) {
        struct reported_deadlock *reported = &watching->deadlocks[i];
        if (reported->alive) {
            watching->deadlocks[kept++] = *reported;
            continue;
        }
        if (!watching->cli->quiet)
            cli_say(watching->cli, "deadlock %llu is gone", (unsigned long long)reported->number);
        memory_free(&watching->memory, reported->keys);
    }
    watching->deadlock_count = kept;
}

void report_new_deadlocks(struct watching *watching)
{
    const struct verdict *verdict = &watching->servers.verdict;
    for (size_t i = 0; i < watching->deadlock_count; i++)
        watching->deadlocks[i].alive = false;
    for (size_t i = 0; i < verdict->deadlock_count; i++) {
        struct advice advice;
        struct reported_deadlock *reported = find_reported(watching, &verdict->deadlocks[i]);
        advice_find(&advice, &watching->settings->advice, &verdict->deadlocks[i],
                    watching->servers.sources);
        if (reported) {
            reported->alive = true;
        } else {
            report_new(watching, &verdict->deadlocks[i], &advice);
            print_dry_run(watching, &advice);
        }
    }
    drop_gone(watching);
}

/* ------------------------------------------------------------------ stalls */

static bool stall_is_new(struct watching *watching, uint64_t key)
{
    for (size_t i = 0; i < watching->stall_count; i++)
        if (watching->stalls[i].key == key) {
            watching->stalls[i].alive = true;
            return false;
        }
    if (!memory_grow(&watching->memory, &watching->stalls, &watching->stall_room,
                     watching->stall_count + 1, sizeof *watching->stalls)) {
        watching->failed = true;
        return false;
    }
    watching->stalls[watching->stall_count++] = (struct reported_stall){key, true};
    return true;
}

static void report_stalls_of(struct watching *watching, uint32_t source)
{
    const struct scan *scan = &watching->servers.sources[source]->scan;
    struct telling telling = watching_report_context(watching);
    for (size_t i = 0; i < scan->edge_count; i++) {
        const struct wait *wait = &scan->waits[scan->edges[i].wait];
        bool first = i == 0 || scan->edges[i - 1].wait != scan->edges[i].wait;
        if (first && wait->age_s >= watching->settings->stall_s &&
            stall_is_new(watching, scan->edges[i].key)) {
            struct finding finding;
            stall_finding(&finding, &telling, (struct member){source, wait->session});
            write_finding(watching, &finding);
            finding_close(&finding);
        }
    }
}

void report_stalls(struct watching *watching)
{
    size_t kept = 0;
    if (watching->settings->stall_s <= 0)
        return;
    for (size_t i = 0; i < watching->stall_count; i++)
        watching->stalls[i].alive = false;
    for (uint32_t i = 0; i < watching->servers.count; i++)
        report_stalls_of(watching, i);
    for (size_t i = 0; i < watching->stall_count; i++)
        if (watching->stalls[i].alive)
            watching->stalls[kept++] = watching->stalls[i];
    watching->stall_count = kept;
}

/* ------------------------------------------------------------------ servers */

void report_servers(struct watching *watching)
{
    struct cli *cli = watching->cli;
    if (!watching->reported)
        watching->reported =
            memory_zeroed(&watching->memory, watching->servers.count * sizeof *watching->reported);
    for (size_t i = 0; i < watching->servers.count && watching->reported; i++) {
        const struct source *source = watching->servers.sources[i];
        struct reported_server *reported = &watching->reported[i];
        if (source->trouble_no != reported->trouble_no && *source->trouble) {
            cli_say(cli, "%s: %s", source->label, source->trouble);
            reported->trouble_no = source->trouble_no;
            reported->away = true;
        } else if (reported->away && !*source->trouble && source->scan.whole) {
            cli_say(cli, "%s: available again", source->label);
            reported->away = false;
        }
        if (source_is_up(source) && *source->facts.lacks && !reported->lacks && !cli->quiet)
            cli_say(cli, "%s: %s", source->label, source->facts.lacks);
        reported->lacks = reported->lacks || (source_is_up(source) && *source->facts.lacks);
        const struct source *same =
            source->parked && source->named && !reported->parked
                ? duplicates_watcher(watching->servers.sources, watching->servers.count, source)
                : NULL;
        if (same)
            cli_say(cli, "%s: the same server as %s: watched there only", source->label,
                    same->label);
        reported->parked = reported->parked || same;
    }
    watching->failed = watching->failed || !watching->reported;
}
