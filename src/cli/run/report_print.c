/* Delivers a report: text, files, hook. The options are in environment variables (cli/run/run.h),
 * so that the command and reporters started by the library do the same. */
#define _GNU_SOURCE
#include "cli/run/report_print.h"

#include "cli/run/run.h"
#include "foundation/base/clock.h"
#include "output/report/suppress.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOOK_PATIENCE_MS 8000 /* time limit, because the program waits */

/* ------------------------------------------------------------------ settings */

void export_report_settings(struct cli *cli)
{
    const char *color = getenv("GORDIAN_COLOR"), *verbose = getenv("GORDIAN_VERBOSE");
    cli->verbose = cli->verbose || (verbose && strcmp(verbose, "1") == 0);
    if (color && strcmp(color, "always") == 0)
        cli->color = COLOR_ALWAYS;
    else if (color && strcmp(color, "never") == 0)
        cli->color = COLOR_NEVER;
}

struct finding_look report_look_of(const struct cli *cli, int fd, char *folder, size_t size)
{
    struct cli there = *cli;
    there.out_is_terminal = isatty(fd);
    return (struct finding_look){
        .style = cli_style(&there),
        .verbose = cli->verbose,
        .folder = getcwd(folder, size),
    };
}

/* ------------------------------------------------------------------ files */

/* Opens "graph.svg", then "graph-2.svg", ...; without a number the first that does not exist. */
static int open_numbered(const char *path, unsigned sequence)
{
    const char *name = path_tail(path), *dot = strrchr(name, '.');
    size_t stem = dot && dot != name ? (size_t)(dot - path) : strlen(path);
    char whole[PATH_MAX + 32];
    unsigned first = sequence ? sequence : 1, last = sequence ? sequence : 9999;
    for (unsigned i = first; i <= last; i++) {
        if (i == 1)
            snprintf(whole, sizeof whole, "%s", path);
        else
            snprintf(whole, sizeof whole, "%.*s-%u%s", (int)stem, path, i, path + stem);
        int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (sequence ? O_TRUNC : O_EXCL);
        int fd = open(whole, flags, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static bool append_report(struct cli *cli, const char *path, int fd, struct output *text)
{
    if (fd >= 0 && write_whole(fd, text->buffer, text->used))
        return true;
    cli_say(cli, "cannot write '%s': %s", path, strerror(errno));
    return false;
}

void append_report_line(struct cli *cli, const char *path, struct output *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    append_report(cli, path, fd, text);
    if (fd >= 0)
        close(fd);
}

void write_report_files(struct cli *cli, const struct report *report,
                        const struct products *products, const struct session_number *number)
{
    const char *const paths[] = {products->dot, products->svg, products->trace};
    struct finding finding;
    struct output text;
    if (!output_open(&text, -1))
        return;
    report_finding(&finding, report, number->ordinal);
    if (products->json && !finding.failed) {
        finding_json(&finding, &text);
        append_report_line(cli, products->json, &text);
    }
    for (size_t i = 0; i < sizeof paths / sizeof *paths && !number->again; i++) {
        text.used = 0;
        if (!paths[i] || (i < 2 && finding.failed) || (i == 2 && !report_trace(report, &text)))
            continue;
        if (i < 2)
            (i == 0 ? finding_dot : finding_svg)(&finding, &text);
        int fd = open_numbered(paths[i], number->sequence);
        append_report(cli, paths[i], fd, &text);
        if (fd >= 0)
            close(fd);
    }
    finding_close(&finding);
    output_close(&text);
}

bool print_report_text(struct cli *cli, const struct report *report,
                       const struct products *products, const struct session_number *number)
{
    struct output text;
    char folder[PATH_MAX];
    int fd = products->output
                 ? open(products->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)
                 : STDERR_FILENO;
    if (fd < 0 || !output_open(&text, -1))
        return false;
    struct finding_look look = report_look_of(cli, fd, folder, sizeof folder);
    if (!number->again) /* repetitions are counted in the summary */
        report_text(report, &look, number->ordinal, &text);
    bool done =
        append_report(cli, products->output ? products->output : "standard error", fd, &text);
    output_close(&text);
    if (products->output)
        close(fd);
    return done;
}

/* ------------------------------------------------------------------ the hook */

/* Runs the hook with the report as JSON on its standard input, and waits for it up to a limit. */
static void run_hook(struct cli *cli, const char *command, const struct report *report,
                     const struct session_number *number)
{
    char variable[32];
    struct finding finding;
    struct output text;
    int input = memfd_create("gordian-report", MFD_CLOEXEC);
    if (input < 0 || !output_open(&text, -1))
        return;
    report_finding(&finding, report, number->ordinal);
    if (!finding.failed)
        finding_json(&finding, &text);
    append_report(cli, "the hook's input", input, &text);
    output_close(&text);
    lseek(input, 0, SEEK_SET);
    pid_t hook = fork();
    if (hook == 0) {
        setenv("GORDIAN_REPORT_KIND", report_kind(report), 1);
        setenv("GORDIAN_REPORT_TITLE", finding.title, 1);
        snprintf(variable, sizeof variable, "%u", report->head.pid);
        setenv("GORDIAN_REPORT_PID", variable, 1);
        snprintf(variable, sizeof variable, "%u", number->ordinal);
        setenv("GORDIAN_REPORT_NUMBER", variable, 1);
        dup2(input, STDIN_FILENO);
        signal(SIGPIPE, SIG_DFL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(RUN_NOT_FOUND);
    }
    finding_close(&finding);
    close(input);
    uint64_t until = clock_ns() + HOOK_PATIENCE_MS * 1000000ull;
    while (hook > 0 && waitpid(hook, NULL, WNOHANG) == 0 && clock_ns() < until)
        nanosleep(&(struct timespec){0, 2000000}, NULL);
}

/* ------------------------------------------------------------------ delivery */

static bool is_actual(const struct report *report)
{
    return report->head.kind == INCIDENT_DEADLOCK || report->head.kind == INCIDENT_OWNER_GONE ||
           report->head.kind == INCIDENT_STALL;
}

const char *report_path(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool deliver_report(struct cli *cli, const struct report *report, struct session *session,
                    void (*answer)(enum incident_answer what), enum incident_answer reported)
{
    const struct products products = {
        .output = report_path("GORDIAN_OUTPUT"),
        .json = report_path("GORDIAN_JSON"),
        .dot = report_path("GORDIAN_DOT"),
        .svg = report_path("GORDIAN_SVG"),
        .trace = report_path("GORDIAN_TRACE"),
    };
    const char *hook = report_path("GORDIAN_EXEC");
    struct session_number number = session_number_report(session, report);
    bool printed = print_report_text(cli, report, &products, &number);
    if (report->head.kind != INCIDENT_STATUS)
        write_report_files(cli, report, &products, &number);
    bool wants_hook = hook && report->head.kind != INCIDENT_STATUS;
    if (wants_hook && is_actual(report))
        run_hook(cli, hook, report, &number);
    if (answer)
        answer(printed ? reported : INCIDENT_FAILED);
    if (wants_hook && !is_actual(report))
        run_hook(cli, hook, report, &number);
    return printed;
}

bool is_suppressed_report(struct cli *cli, const struct report *report, struct session *session)
{
    const char *path = report_path("GORDIAN_SUPPRESS");
    struct suppressions suppressions;
    gordian_error error = {0};
    if (!path)
        return false;
    if (suppressions_read(&suppressions, path, &error) != GORDIAN_OK) {
        cli_fail(cli, error.line ? path : NULL, &error);
        return false;
    }
    const struct suppression *line = suppressions_find(&suppressions, report);
    if (line)
        session_suppressed(session, report, line->line);
    suppressions_free(&suppressions);
    return line;
}
