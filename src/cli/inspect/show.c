/* Prints the result of one scan: a report of each finding, or what the threads do. */
#include "cli/inspect/inspect.h"

#include "cli/base/write_finding.h"
#include "sources/inspect/incident.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MOST 16 /* without a finding, processes printed on separate lines */
#define FINDINGS_MOST  10 /* findings printed without --verbose */

/* ------------------------------------------------------------------ files */

static gordian_status write_trace(void *context, struct output *out, gordian_error *error)
{
    (void)error;
    report_trace(context, out);
    return GORDIAN_OK;
}

static int write_files(struct cli *cli, const struct inspect_settings *settings,
                       struct report *report, const struct finding *finding, size_t number)
{
    gordian_error error = {0};
    char path[PATH_MAX + 32];
    int code = cli_write_finding(cli, settings->dot, number, finding_dot, finding);
    if (code == EXIT_NOTHING)
        code = cli_write_finding(cli, settings->svg, number, finding_svg, finding);
    if (code != EXIT_NOTHING || !settings->trace)
        return code;
    cli_numbered_path(settings->trace, number, path, sizeof path);
    return cli_write_file(path, write_trace, report, &error) == GORDIAN_OK
               ? EXIT_NOTHING
               : cli_fail(cli, NULL, &error);
}

/* ------------------------------------------------------------------ reports */

static int show_report(struct cli *cli, const struct inspect_settings *settings,
                       struct report *report, size_t number, size_t count)
{
    char folder[PATH_MAX];
    const struct finding_look look = {
        .style = cli_style(cli),
        .verbose = cli->verbose,
        .folder = getcwd(folder, sizeof folder),
    };
    struct finding finding;
    report_finding(&finding, report, count > 1 ? (unsigned)number : 0);
    if (cli->json && !finding.failed)
        finding_json(&finding, &cli->out);
    else if (!cli->json)
        finding_text(&finding, &look, &cli->out);
    int code = write_files(cli, settings, report, &finding, number);
    finding_close(&finding);
    return code;
}

static int show_one(struct cli *cli, const struct inspect_settings *settings,
                    struct process_snapshot *snapshot, const struct inspect_findings *findings,
                    const struct inspect_finding *finding, size_t number)
{
    struct report report;
    gordian_error error = {0};
    if (inspect_open_report(&report, snapshot, findings, finding, &error) != GORDIAN_OK)
        return cli_fail(cli, NULL, &error);
    int code = show_report(cli, settings, &report, number, findings->count);
    report_close(&report);
    return code;
}

/* ------------------------------------------------------------------ nothing found */

/* Number of threads by activity. */
struct activity {
    uint32_t threads, waits, timed, sleeps, stopped, runs;
};

/* Is the thread stopped by SIGSTOP or a debugger? Then its next action is unknown. */
static bool is_stopped(const struct snapshot_thread *thread)
{
    return thread->is.state == 'T' || thread->is.state == 't';
}

static struct activity count_activity(const struct process_snapshot *snapshot, uint32_t first,
                                      uint32_t end)
{
    struct activity activity = {.threads = end - first};
    for (uint32_t i = first; i < end; i++) {
        const struct snapshot_thread *thread = snapshot_thread(snapshot, i);
        (*(is_stopped(thread)                      ? &activity.stopped
           : !thread->is.steady || !thread->sleeps ? &activity.runs
           : thread->call.timed                    ? &activity.timed
           : thread->wait != SNAPSHOT_NONE         ? &activity.waits
                                                   : &activity.sleeps))++;
    }
    return activity;
}

static void show_activity(struct cli *cli, const struct activity *activity)
{
    output_format(&cli->out,
                  ": %u thread%s: %u blocked (lock, condition, join, child process), %u in other "
                  "calls, %u in timed waits, %u running",
                  activity->threads, activity->threads == 1 ? "" : "s", activity->waits,
                  activity->sleeps, activity->timed, activity->runs);
    if (activity->stopped)
        output_format(&cli->out, ", %u stopped", activity->stopped);
    output_char(&cli->out, '\n');
}

/* Prints a line for each process, or one line for many. */
static void show_activities(struct cli *cli, const struct process_snapshot *snapshot)
{
    bool many = snapshot->target_count > PROCESSES_MOST;
    if (many)
        output_format(&cli->out, "gordian: nothing found in %zu processes",
                      (size_t)snapshot->target_count);
    for (uint32_t i = 0; i < (many ? 1 : snapshot->target_count); i++) {
        const struct target *target = snapshot->targets[i];
        struct activity activity =
            count_activity(snapshot, snapshot_first_thread(snapshot, i),
                           snapshot_first_thread(snapshot, many ? snapshot->target_count : i + 1));
        if (!many)
            output_format(&cli->out, "gordian: nothing found in process %u (%s)", target->seen_pid,
                          path_tail(target->program));
        show_activity(cli, &activity);
    }
}

/* Does the process use another run-time system, whose locks were not examined? */
static bool is_foreign(const struct process_snapshot *snapshot,
                       const struct snapshot_thread *thread)
{
    return snapshot->targets[thread->process]->runtime != TARGET_PLAIN;
}

/* Counts the threads whose locks, or whose waking process, were not examined. */
static size_t count_unseen(const struct process_snapshot *snapshot)
{
    size_t unseen = 0;
    for (size_t i = 0; i < snapshot_thread_count(snapshot); i++) {
        const struct snapshot_thread *thread = snapshot_thread(snapshot, i);
        unseen += is_foreign(snapshot, thread) || (thread->unseen && thread->is.steady);
    }
    return unseen;
}

/* Prints what could not be determined, each sentence once. */
static void show_unknown(struct cli *cli, const struct process_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot_thread_count(snapshot); i++) {
        const struct snapshot_thread *thread = snapshot_thread(snapshot, i);
        bool first = thread->unknown && (thread->is.steady || is_foreign(snapshot, thread));
        for (size_t k = 0; k < i && first; k++)
            first = !snapshot_thread(snapshot, k)->unknown ||
                    strcmp(snapshot_thread(snapshot, k)->unknown, thread->unknown) != 0;
        if (first)
            output_format(&cli->out, "  unknown: thread %u %s\n", thread->is.seen_tid,
                          thread->unknown);
    }
}

static size_t count_stopped(const struct process_snapshot *snapshot)
{
    size_t stopped = 0;
    for (size_t i = 0; i < snapshot_thread_count(snapshot); i++)
        stopped += is_stopped(snapshot_thread(snapshot, i));
    return stopped;
}

/* Writes the line "incomplete" as `gordian run --json` does. */
static void write_incomplete(struct cli *cli, const struct inspect_settings *settings,
                             const struct process_snapshot *snapshot)
{
    struct json json;
    size_t cut = 0;
    for (size_t i = 0; i < snapshot->target_count; i++)
        cut += snapshot->targets[i]->truncated;
    json_begin(&json, &cli->out);
    json_key_text(&json, "report", "incomplete");
    json_key_u64(&json, "unread_processes", settings->unread);
    if (settings->unread)
        json_key_text(&json, "reason", settings->why);
    json_key_u64(&json, "stopped_threads", count_stopped(snapshot));
    json_key_u64(&json, "truncated_cores", cut);
    json_key_u64(&json, "unseen_threads", count_unseen(snapshot));
    json_end(&json);
}

/* Reports stopped threads, whose next action is unknown. */
static void show_stopped(struct cli *cli, const struct process_snapshot *snapshot)
{
    size_t stopped = count_stopped(snapshot);
    if (stopped)
        output_format(
            &cli->out,
            "  unknown: %zu thread%s stopped from outside (SIGSTOP, a debugger): continue the "
            "process (kill -CONT) and inspect it again\n",
            stopped, stopped == 1 ? " is" : "s are");
}

static int show_nothing(struct cli *cli, const struct inspect_settings *settings,
                        struct process_snapshot *snapshot, const struct inspect_findings *findings)
{
    /* What could not be read may be part of a deadlock. */
    bool missed = settings->unread > 0 || count_stopped(snapshot) > 0 || count_unseen(snapshot) > 0;
    for (size_t i = 0; i < snapshot->target_count; i++)
        missed = missed || snapshot->targets[i]->truncated;
    int code = missed ? EXIT_INCOMPLETE : EXIT_NOTHING;
    /* report what was not seen */
    if (settings->unread)
        cli_say(cli, "the scan is incomplete: %zu process%s could not be read: %s",
                settings->unread, settings->unread == 1 ? "" : "es", settings->why);
    if (cli->json || cli->verbose) {
        int shown = show_one(cli, settings, snapshot, findings, NULL, 1);
        if (shown == EXIT_NOTHING && cli->json && code == EXIT_INCOMPLETE)
            write_incomplete(cli, settings, snapshot);
        return shown != EXIT_NOTHING ? shown : code;
    }
    if (!cli->quiet) {
        show_activities(cli, snapshot);
        show_unknown(cli, snapshot);
        show_stopped(cli, snapshot);
    }
    return code;
}

/* ------------------------------------------------------------------ notes */

static void show_notes(struct cli *cli, const struct inspect_settings *settings,
                       const struct process_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->target_count && !cli->quiet; i++) {
        const struct target *target = snapshot->targets[i];
        if (target->threads_stopped)
            cli_say(
                cli,
                "process %u: %u thread%s stopped to read stacks or timers, for at most %.1f ms%s",
                target->seen_pid, target->threads_stopped,
                target->threads_stopped == 1 ? " was" : "s were", (double)target->stopped_ns / 1e6,
                target->stopped_ns > settings->stop_ms * UINT64_C(1000000)
                    ? " (longer than --stop-ms: no processor was free)"
                    : "");
        if (target->core && cli->verbose)
            cli_say(cli, "read %.1f MB of the core dump", (double)target->bytes_read / 1e6);
        if (target->truncated)
            cli_say(cli, "the core dump is truncated: a deadlock or names may be missing");
    }
}

/* --core: writes a core dump of each process with a finding; the first under the given name. */
static int write_cores(struct cli *cli, const struct inspect_settings *settings,
                       struct process_snapshot *snapshot, const struct inspect_findings *findings)
{
    size_t number = 0;
    for (uint32_t i = 0; i < snapshot->target_count && settings->core; i++) {
        bool found = false;
        for (size_t k = 0; k < findings->count && !found; k++)
            found = snapshot_thread(snapshot, findings->list[k].members[0])->process == i;
        if (!found || snapshot->targets[i]->core)
            continue;
        char path[PATH_MAX + 32];
        gordian_error error = {0};
        cli_numbered_path(settings->core, ++number, path, sizeof path);
        if (target_write_core(snapshot->targets[i], path, settings->stop_ms, &error) != GORDIAN_OK)
            return cli_fail(cli, NULL, &error);
        cli_say(cli, "a core dump of process %u is in '%s'", snapshot->targets[i]->seen_pid, path);
    }
    return EXIT_NOTHING;
}

int inspect_show(struct cli *cli, const struct inspect_settings *settings,
                 struct process_snapshot *snapshot, const struct inspect_findings *findings)
{
    int code = findings->count ? EXIT_FOUND : EXIT_NOTHING;
    if (!findings->count)
        code = show_nothing(cli, settings, snapshot, findings);
    for (size_t i = 0; i < findings->count; i++) {
        if (i == FINDINGS_MOST && !cli->verbose && !cli->json) {
            output_format(&cli->out, "gordian: %zu more (--verbose shows all)\n",
                          findings->count - i);
            break;
        }
        int shown = show_one(cli, settings, snapshot, findings, &findings->list[i], i + 1);
        if (shown != EXIT_NOTHING)
            code = shown;
    }
    if (findings->count && cli->verbose && !cli->json && code == EXIT_FOUND) {
        const struct inspect_settings no_files = {0};
        show_one(cli, &no_files, snapshot, findings, NULL, 1);
    }
    int written = write_cores(cli, settings, snapshot, findings);
    show_notes(cli, settings, snapshot);
    return written != EXIT_NOTHING ? written : code;
}
