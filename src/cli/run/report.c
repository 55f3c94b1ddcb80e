/* The other side of gordian run: started by the library with an incident, it reports; and
 * --status, which asks a watched process for one. */
#define _GNU_SOURCE
#include "report/report.h"
#include "base/clock.h"
#include "cli/run/run.h"
#include "report/session.h"
#include "report/suppress.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOOK_PATIENCE_MS   8000 /* while the program waits for the answer */
#define STATUS_PATIENCE_MS 5000

/* ------------------------------------------------------------------ how it looks */

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && strcmp(value, "1") == 0;
}

/* The command's own options travel in variables. */
static void take_settings(struct cli *cli)
{
    const char *color = getenv("GORDIAN_COLOR");
    cli->verbose = cli->verbose || is_set("GORDIAN_VERBOSE");
    if (color && strcmp(color, "always") == 0)
        cli->color = COLOR_ALWAYS;
    else if (color && strcmp(color, "never") == 0)
        cli->color = COLOR_NEVER;
}

static struct report_look look_of(const struct cli *cli, int fd, char *folder, size_t size)
{
    struct cli there = *cli;
    there.out_is_terminal = isatty(fd);
    return (struct report_look){
        .style = cli_style(&there),
        .verbose = cli->verbose,
        .folder = getcwd(folder, size),
    };
}

/* ------------------------------------------------------------------ files */

/* "graph.svg", then "graph-2.svg", ...; without a count the first that is not there yet. */
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

static bool write_out(struct cli *cli, const char *path, int fd, struct output *text)
{
    size_t done = 0;
    while (fd >= 0 && done < text->used) {
        ssize_t count = write(fd, text->buffer + done, text->used - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            break;
        done += (size_t)count;
    }
    if (fd >= 0 && done == text->used)
        return true;
    cli_say(cli, "cannot write '%s': %s", path, strerror(errno));
    return false;
}

struct products {
    const char *output, *json, *dot, *svg, *trace;
};

/* One file: fills `text` by kind, writes, closes. */
static void make_file(struct cli *cli, const char *path, int fd, struct output *text)
{
    write_out(cli, path, fd, text);
    text->used = 0;
    if (fd >= 0)
        close(fd);
}

static void make_files(struct cli *cli, const struct report *report,
                       const struct products *products, const struct session_number *number)
{
    struct output text;
    if (!output_open(&text, -1))
        return;
    if (products->json) {
        report_json(report, number->ordinal, &text);
        int fd = open(products->json, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        make_file(cli, products->json, fd, &text);
    }
    if (products->dot && !number->again) {
        report_dot(report, &text);
        make_file(cli, products->dot, open_numbered(products->dot, number->sequence), &text);
    }
    if (products->svg && !number->again) {
        report_svg(report, &text);
        make_file(cli, products->svg, open_numbered(products->svg, number->sequence), &text);
    }
    if (products->trace && !number->again && report_trace(report, &text))
        make_file(cli, products->trace, open_numbered(products->trace, number->sequence), &text);
    output_close(&text);
}

/* The report itself in one piece, so that it does not mix with what others write. */
static bool make_text(struct cli *cli, const struct report *report, const struct products *products,
                      const struct session_number *number)
{
    struct output text;
    char folder[PATH_MAX];
    int fd = products->output
                 ? open(products->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)
                 : STDERR_FILENO;
    if (fd < 0 || !output_open(&text, -1))
        return false;
    struct report_look look = look_of(cli, fd, folder, sizeof folder);
    if (number->again)
        output_format(&text, "gordian: %s %u again, in process %u\n",
                      report->head.kind == INCIDENT_POTENTIAL ? "potential deadlock" : "deadlock",
                      number->ordinal, report->head.pid);
    else
        report_text(report, &look, number->ordinal, &text);
    bool done = write_out(cli, products->output ? products->output : "standard error", fd, &text);
    output_close(&text);
    if (products->output)
        close(fd);
    return done;
}

/* ------------------------------------------------------------------ the hook */

static void hook_environment(const struct report *report, const struct session_number *number)
{
    char text[300];
    setenv("GORDIAN_REPORT_KIND", report_kind(report), 1);
    snprintf(text, sizeof text, "%u", report->head.pid);
    setenv("GORDIAN_REPORT_PID", text, 1);
    snprintf(text, sizeof text, "%u", number->ordinal);
    setenv("GORDIAN_REPORT_NUMBER", text, 1);
    report_title(report, text, sizeof text);
    setenv("GORDIAN_REPORT_TITLE", text, 1);
}

/* Runs the hook with the report as JSON on its standard input; waits a while for its end. */
static void run_hook(struct cli *cli, const char *command, const struct report *report,
                     const struct session_number *number)
{
    struct output text;
    int input = memfd_create("gordian-report", MFD_CLOEXEC);
    if (input < 0 || !output_open(&text, -1))
        return;
    report_json(report, number->ordinal, &text);
    write_out(cli, "the hook's input", input, &text);
    output_close(&text);
    lseek(input, 0, SEEK_SET);
    pid_t hook = fork();
    if (hook == 0) {
        hook_environment(report, number);
        dup2(input, STDIN_FILENO);
        signal(SIGPIPE, SIG_DFL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(RUN_NOT_FOUND);
    }
    close(input);
    uint64_t until = clock_ns() + HOOK_PATIENCE_MS * 1000000ull;
    while (hook > 0 && waitpid(hook, NULL, WNOHANG) == 0 && clock_ns() < until)
        nanosleep(&(struct timespec){0, 2000000}, NULL);
}

/* ------------------------------------------------------------------ reporting */

static void answer_program(enum incident_answer what)
{
    struct stat about;
    char byte = (char)what;
    if (fstat(INCIDENT_ANSWER_FD, &about) != 0 || !S_ISFIFO(about.st_mode))
        return; /* started by hand */
    (void)!write(INCIDENT_ANSWER_FD, &byte, 1);
    close(INCIDENT_ANSWER_FD);
}

static bool is_actual(const struct report *report)
{
    return report->head.kind == INCIDENT_DEADLOCK || report->head.kind == INCIDENT_OWNER_GONE ||
           report->head.kind == INCIDENT_STALL;
}

static const char *path_from(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Tells it everywhere it is to be told. A hook sees an actual deadlock while it stands. */
static int tell_report(struct cli *cli, const struct report *report, struct session *session)
{
    const struct products products = {
        .output = path_from("GORDIAN_OUTPUT"),
        .json = path_from("GORDIAN_JSON"),
        .dot = path_from("GORDIAN_DOT"),
        .svg = path_from("GORDIAN_SVG"),
        .trace = path_from("GORDIAN_TRACE"),
    };
    const char *hook = path_from("GORDIAN_EXEC");
    struct session_number number = session_told(session, report);
    bool told = make_text(cli, report, &products, &number);
    if (report->head.kind != INCIDENT_STATUS)
        make_files(cli, report, &products, &number);
    bool wants_hook = hook && report->head.kind != INCIDENT_STATUS;
    if (wants_hook && is_actual(report))
        run_hook(cli, hook, report, &number);
    answer_program(told ? INCIDENT_REPORTED : INCIDENT_FAILED);
    if (wants_hook && !is_actual(report))
        run_hook(cli, hook, report, &number);
    return told ? EXIT_NOTHING : EXIT_BROKEN;
}

/* At the program's end: what came back. The command says it if there is one. */
static int tell_folds(struct cli *cli, const struct report *report, struct session *session)
{
    struct session_number number = {0};
    const struct products products = {.output = path_from("GORDIAN_OUTPUT")};
    if (session->log >= 0)
        session_folds(session, report);
    else
        make_text(cli, report, &products, &number);
    answer_program(INCIDENT_REPORTED);
    return EXIT_NOTHING;
}

/* The line of the suppressions that takes the report, if any. */
static bool is_suppressed(struct cli *cli, const struct report *report, struct session *session)
{
    const char *path = path_from("GORDIAN_SUPPRESS");
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

int run_report(struct cli *cli, int fd)
{
    struct report report;
    struct session session;
    gordian_error error = {0};
    int code;
    take_settings(cli);
    session_open(&session, path_from("GORDIAN_SESSION"));
    if (report_open(&report, fd, &error) != GORDIAN_OK) {
        answer_program(INCIDENT_FAILED);
        session_close(&session);
        return cli_fail(cli, NULL, &error);
    }
    if (report.head.kind == INCIDENT_SUMMARY) {
        code = tell_folds(cli, &report, &session);
    } else if (is_suppressed(cli, &report, &session)) {
        answer_program(INCIDENT_SUPPRESSED);
        code = EXIT_NOTHING;
    } else {
        code = tell_report(cli, &report, &session);
    }
    report_close(&report);
    session_close(&session);
    return code;
}

/* ------------------------------------------------------------------ --status */

/* The signal that a watched process takes as a question; 0: none. */
static int status_signal(uint32_t pid, bool *watched)
{
    char path[64], *line = NULL;
    size_t room = 0;
    int found = 0;
    *watched = false;
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    FILE *maps = fopen(path, "re");
    while (maps && getline(&line, &room, maps) > 0) {
        const char *mark = strstr(line, INCIDENT_STATUS_MAP);
        *watched = *watched || strstr(line, "libgordian-run.so");
        if (mark && !found)
            found = atoi(mark + strlen(INCIDENT_STATUS_MAP));
    }
    free(line);
    if (maps)
        fclose(maps);
    return found > 0 && found <= SIGRTMAX ? found : 0;
}

/* Has all of it been written? */
static bool is_complete(int fd)
{
    struct incident head;
    struct stat about;
    return pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head && head.total_size != 0 &&
           fstat(fd, &about) == 0 && (uint64_t)about.st_size >= head.total_size;
}

static int ask_program(struct cli *cli, uint32_t pid, int signal_number, int fd)
{
    union sigval value = {.sival_int = fd};
    if (sigqueue((pid_t)pid, signal_number, value) != 0) {
        cli_say(cli, "cannot ask process %u: %s", pid, strerror(errno));
        return errno == ESRCH ? EXIT_MISUSE : EXIT_BROKEN;
    }
    uint64_t until = clock_ns() + STATUS_PATIENCE_MS * 1000000ull;
    while (!is_complete(fd) && clock_ns() < until)
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    if (is_complete(fd))
        return EXIT_NOTHING;
    cli_say(cli, "process %u did not answer within %d s", pid, STATUS_PATIENCE_MS / 1000);
    return EXIT_BROKEN;
}

static int show_report(struct cli *cli, const struct run_settings *settings, int fd)
{
    struct report report;
    gordian_error error = {0};
    char folder[PATH_MAX];
    lseek(fd, 0, SEEK_SET);
    if (report_open(&report, fd, &error) != GORDIAN_OK)
        return cli_fail(cli, NULL, &error);
    struct report_look look = look_of(cli, STDOUT_FILENO, folder, sizeof folder);
    report_text(&report, &look, 0, &cli->out);
    const struct products products = {.json = settings->json,
                                      .dot = settings->dot,
                                      .svg = settings->svg,
                                      .trace = settings->trace};
    make_files(cli, &report, &products, &(struct session_number){.sequence = 1});
    report_close(&report);
    return EXIT_NOTHING;
}

int run_status(struct cli *cli, const struct run_settings *settings)
{
    bool watched;
    uint32_t pid = settings->status;
    int number = status_signal(pid, &watched);
    if (!number) {
        if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
            cli_say(cli, "there is no process %u", pid);
        else if (watched)
            cli_say(cli, "process %u is watched, but its status signal is not available", pid);
        else
            cli_say(cli, "process %u is not watched, or not yours to ask", pid);
        return EXIT_UNAVAILABLE;
    }
    int fd = memfd_create("gordian-status", MFD_CLOEXEC);
    if (fd < 0) {
        cli_say(cli, "cannot ask: %s", strerror(errno));
        return EXIT_BROKEN;
    }
    int code = ask_program(cli, pid, number, fd);
    if (code == EXIT_NOTHING)
        code = show_report(cli, settings, fd);
    close(fd);
    return code;
}
