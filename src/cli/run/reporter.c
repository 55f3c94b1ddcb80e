/* The reporter of gordian run, started by the library with an incident; and --status, which
 * requests one from a watched process. */
#define _GNU_SOURCE
#include "cli/run/remote_confirm.h"
#include "cli/run/report_print.h"
#include "cli/run/run.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "output/report/session.h"
#include "sources/inspect/incident.h"
#include "sources/inspect/inspect.h"
#include "sources/inspect/judge/confirm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STATUS_PATIENCE_MS 5000
#define STATUS_MOST        (1u << 30) /* size limit of an answer */
#define STATUS_STOP_MS     50

/* ------------------------------------------------------------------ reporting */

static bool is_awaited(void)
{
    struct stat about;
    return fstat(INCIDENT_ANSWER_FD, &about) == 0 && S_ISFIFO(about.st_mode);
}

static void answer_program(enum incident_answer what)
{
    char byte = (char)what;
    if (!is_awaited())
        return; /* started manually */
    (void)!write(INCIDENT_ANSWER_FD, &byte, 1);
    close(INCIDENT_ANSWER_FD);
}

/* Reports at a program's end how often incidents recurred. If there is a command, it prints
 * them. */
static int report_recurrences(struct cli *cli, const struct report *report, struct session *session)
{
    struct session_number number = {0};
    const struct products products = {.output = report_path("GORDIAN_OUTPUT")};
    if (session->log >= 0)
        session_add_recurrences(session, report);
    else
        print_report_text(cli, report, &products, &number);
    answer_program(INCIDENT_REPORTED);
    return EXIT_NOTHING;
}

/* Confirms the incident from outside before a program is ended or a call fails. INCIDENT_REPORTED
 * and INCIDENT_DOUBTED: it is to be printed. */
static enum incident_answer confirm_deadlock(struct report *report, int incident)
{
    char why[300];
    if (!is_awaited() ||
        (report->head.kind != INCIDENT_DEADLOCK && report->head.kind != INCIDENT_OWNER_GONE))
        return INCIDENT_REPORTED;
    enum confirm verdict = inspect_confirm(report, CONFIRM_PATIENCE_NS, why, sizeof why);
    const char *folder = report_path("GORDIAN_SESSION");
    if (verdict == CONFIRM_BLIND && folder)
        verdict = remote_confirm_request(folder, incident, why, sizeof why);
    /* A likely deadlock is not a deadlock if the program could end in spite of it: some programs
     * leave threads behind with locks of ended threads. */
    struct pollfd answer = {INCIDENT_ANSWER_FD, POLLOUT, 0};
    bool ended = poll(&answer, 1, 0) == 1 && answer.revents & POLLERR; /* no reader is left */
    if (report->head.word == INCIDENT_LIKELY && ended)
        return INCIDENT_MOVED;
    if (verdict == CONFIRM_DOUBTED) {
        report->head.word = INCIDENT_LIKELY;
        const char *likely = report_path("GORDIAN_ON_LIKELY");
        if (!likely || strcmp(likely, "abort") != 0)
            report->head.action = INCIDENT_GO_ON;
        report->note = report_format(report, "Not certain: %s.", why);
    } else if (verdict == CONFIRM_BLIND) {
        report->note = report_format(
            report,
            "%s%sNot confirmed from outside (%s); the watcher in the process has checked twice.",
            report->note, *report->note ? ". " : "", why);
    }
    return verdict == CONFIRM_MOVED     ? INCIDENT_MOVED
           : verdict == CONFIRM_LEFT    ? INCIDENT_LEFT
           : verdict == CONFIRM_DOUBTED ? INCIDENT_DOUBTED
                                        : INCIDENT_REPORTED;
}

static int report_confirmed_incident(struct cli *cli, struct report *report, int incident,
                                     struct session *session)
{
    enum incident_answer verdict = confirm_deadlock(report, incident);
    if (verdict == INCIDENT_MOVED || verdict == INCIDENT_LEFT) {
        answer_program(verdict);
        return EXIT_NOTHING;
    }
    return deliver_report(cli, report, session, answer_program, verdict) ? EXIT_NOTHING
                                                                         : EXIT_BROKEN;
}

int run_report(struct cli *cli, int fd)
{
    struct report report;
    struct session session;
    gordian_error error = {0};
    int code;
    export_report_settings(cli);
    unsetenv("DEBUGINFOD_URLS"); /* debuginfod would delay the report */
    session_open(&session, report_path("GORDIAN_SESSION"));
    if (report_open(&report, fd, &error) != GORDIAN_OK) {
        answer_program(INCIDENT_FAILED);
        session_close(&session);
        return cli_fail(cli, NULL, &error);
    }
    if (report.head.kind == INCIDENT_SUMMARY) {
        code = report_recurrences(cli, &report, &session);
    } else if (is_suppressed_report(cli, &report, &session)) {
        answer_program(INCIDENT_SUPPRESSED);
        code = EXIT_NOTHING;
    } else {
        code = report_confirmed_incident(cli, &report, fd, &session);
    }
    report_close(&report);
    session_close(&session);
    return code;
}

/* ------------------------------------------------------------------ --status */

/* How a watched process receives requests. */
struct channel {
    bool watched; /* the process is watched */
    int signal;   /* its status signal; 0: none */
    uint64_t at;  /* address of its struct incident_status */
};

static struct channel find_status_channel(uint32_t pid)
{
    char path[64], *line = NULL;
    size_t room = 0;
    struct channel channel = {0};
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    FILE *maps = fopen(path, "re");
    while (maps && getline(&line, &room, maps) > 0) {
        const char *mark = strstr(line, INCIDENT_STATUS_MAP);
        int found = mark ? atoi(mark + strlen(INCIDENT_STATUS_MAP)) : 0;
        channel.watched = channel.watched || strstr(line, "libgordian-run.so");
        if (!channel.signal && found > 0 && found <= SIGRTMAX) {
            channel.signal = found;
            channel.at = strtoull(line, NULL, 16);
        }
    }
    free(line);
    if (maps)
        fclose(maps);
    return channel;
}

static bool read_program_memory(uint32_t pid, uint64_t address, void *to, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
    return process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Fetches an answer from the program's memory, where it is if the program may not write into our
 * file. */
static void fetch_answer(uint32_t pid, const struct channel *channel, uint32_t before, int fd)
{
    struct incident_status status = {0};
    if (!read_program_memory(pid, channel->at, &status, sizeof status) ||
        status.answers == before || status.size > STATUS_MOST)
        return;
    char *answer = malloc(status.size);
    if (answer && read_program_memory(pid, status.address, answer, status.size) &&
        lseek(fd, 0, SEEK_SET) == 0)
        write_whole(fd, answer, status.size);
    free(answer);
}

/* Was the whole answer written? */
static bool is_complete(int fd)
{
    struct incident head;
    struct stat about;
    return pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head && head.total_size != 0 &&
           fstat(fd, &about) == 0 && (uint64_t)about.st_size >= head.total_size;
}

static int ask_program(struct cli *cli, uint32_t pid, const struct channel *channel, int fd)
{
    union sigval value = {.sival_int = fd};
    struct incident_status status = {0};
    read_program_memory(pid, channel->at, &status, sizeof status);
    if (sigqueue((pid_t)pid, channel->signal, value) != 0) {
        cli_say(cli, "cannot ask process %u: %s", pid, strerror(errno));
        return errno == ESRCH ? EXIT_MISUSE : EXIT_BROKEN;
    }
    uint64_t until = clock_ns() + STATUS_PATIENCE_MS * 1000000ull;
    while (!is_complete(fd) && clock_ns() < until) {
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        fetch_answer(pid, channel, status.answers, fd);
    }
    if (is_complete(fd))
        return EXIT_NOTHING;
    cli_say(cli, "process %u did not answer within %d s", pid, STATUS_PATIENCE_MS / 1000);
    return EXIT_BROKEN;
}

/* Prints the status to standard output, and into the files of the options. */
static void show_status(struct cli *cli, const struct run_settings *settings,
                        const struct report *report)
{
    const struct products products = {.json = settings->json,
                                      .dot = settings->dot,
                                      .svg = settings->svg,
                                      .trace = settings->trace};
    char folder[PATH_MAX];
    struct finding_look look = report_look_of(cli, STDOUT_FILENO, folder, sizeof folder);
    look.everybody = true;
    report_text(report, &look, 0, &cli->out);
    write_report_files(cli, report, &products, &(struct session_number){.sequence = 1});
}

/* Prints the status and counts the threads whose waits the library knows. */
static int print_status_report(struct cli *cli, const struct run_settings *settings, int fd,
                               size_t *waiting)
{
    struct report report;
    gordian_error error = {0};
    lseek(fd, 0, SEEK_SET);
    if (report_open(&report, fd, &error) != GORDIAN_OK)
        return cli_fail(cli, NULL, &error);
    show_status(cli, settings, &report);
    *waiting = 0;
    for (size_t i = 0; i < report.thread_count; i++)
        *waiting += (report.threads[i].raw.flags & INCIDENT_WAITING) != 0;
    report_close(&report);
    return EXIT_NOTHING;
}

/* Prints every thread, watched or not, as inspect does. */
static int show_outside(struct cli *cli, const struct run_settings *settings, uint32_t pid)
{
    struct target *target;
    struct process_snapshot snapshot;
    struct inspect_findings findings;
    struct report report;
    gordian_error error = {0};
    if (target_open_live(&target, pid, &error) != GORDIAN_OK)
        return cli_fail(cli, NULL, &error);
    gordian_status status = snapshot_open(&snapshot, &target, 1, &error);
    if (status != GORDIAN_OK) {
        target_close(target);
        return cli_fail(cli, NULL, &error);
    }
    findings_open(&findings);
    snapshot.stop_ms = STATUS_STOP_MS;
    status = inspect_find_deadlocks(&snapshot, &findings, &error);
    THEN(status, inspect_open_report(&report, &snapshot, &findings, NULL, &error));
    if (status == GORDIAN_OK) {
        show_status(cli, settings, &report);
        report_close(&report);
    }
    findings_close(&findings);
    snapshot_close(&snapshot);
    return status == GORDIAN_OK ? EXIT_NOTHING : cli_fail(cli, NULL, &error);
}

int run_status(struct cli *cli, const struct run_settings *settings)
{
    cli_bound_servers();
    uint32_t pid = settings->status;
    struct channel channel = find_status_channel(pid);
    if (!channel.signal && kill((pid_t)pid, 0) != 0 && errno == ESRCH) {
        cli_say(cli, "there is no process %u", pid);
        return EXIT_UNAVAILABLE;
    }
    if (!channel.signal) {
        if (channel.watched && !cli->quiet)
            cli_say(cli,
                    "process %u is watched, but its status signal is not available: it is "
                    "inspected from outside",
                    pid);
        return show_outside(cli, settings, pid);
    }
    int fd = memfd_create("gordian-status", MFD_CLOEXEC);
    if (fd < 0) {
        cli_say(cli, "cannot ask: %s", strerror(errno));
        return EXIT_BROKEN;
    }
    size_t waiting = 0;
    int code = ask_program(cli, pid, &channel, fd);
    if (code == EXIT_NOTHING)
        code = print_status_report(cli, settings, fd, &waiting);
    else if (code == EXIT_BROKEN)
        return close(fd), show_outside(cli, settings, pid);
    close(fd);
    char path[64];
    struct stat threads; /* the directory has a link for each thread, and two more */
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    if (code == EXIT_NOTHING && stat(path, &threads) == 0 && waiting + 2 < threads.st_nlink) {
        output_text(&cli->out, "All threads, inspected from outside:\n\n");
        code = show_outside(cli, &(const struct run_settings){0}, pid);
    }
    return code;
}
