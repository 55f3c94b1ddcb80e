/* The child of gordian run: its environment, its signals and its end. */
#define _GNU_SOURCE
#include "cli/run/hang.h"
#include "cli/run/program.h"
#include "cli/run/remote_confirm.h"
#include "cli/run/report_print.h"
#include "cli/run/run.h"
#include "cli/run/survivors.h"
#include "cli/run/unbuffered_replay.h"
#include "cli/run_library.h"
#include "foundation/base/clock.h"
#include "foundation/base/json/json_write.h"
#include "foundation/base/modules.h"
#include "output/report/session.h"
#include "output/report/suppress.h"
#include "sources/inspect/target/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 12000 /* time limit for reporters after the program has ended */

struct start {
    struct cli *cli;
    const struct run_settings *settings;
    struct run_target target;
    char library[PATH_MAX];
    char folder[PATH_MAX]; /* directory of the session; "": none */
    struct run_mailbox *mailbox;
};

/* ------------------------------------------------------------------ the environment */

/* Makes a path absolute, so that it stays valid when the program changes its directory. */
static void set_path(const char *name, const char *path)
{
    char folder[PATH_MAX], whole[2 * PATH_MAX];
    if (!path)
        return;
    if (path[0] != '/' && getcwd(folder, sizeof folder))
        snprintf(whole, sizeof whole, "%s/%s", folder, path);
    else
        snprintf(whole, sizeof whole, "%s", path);
    setenv(name, whole, 1);
}

static bool set_preload(const struct start *start)
{
    const char *others = getenv("LD_PRELOAD");
    if (!start->library[0])
        return true;
    bool any = others && *others;
    size_t size = strlen(start->library) + (any ? strlen(others) + 1 : 0) + 1;
    char *value = malloc(size);
    if (!value)
        return false;
    snprintf(value, size, "%s%s%s", start->library, any ? ":" : "", any ? others : "");
    setenv("LD_PRELOAD", value, 1);
    free(value);
    return true;
}

static void set_session_environment(const struct start *start)
{
    const struct run_settings *run = start->settings;
    const struct cli *cli = start->cli;
    static const char *const colors[] = {"auto", "always", "never"};
    const struct {
        const char *name, *value;
    } texts[] =
        {
            {"GORDIAN_RUN", "1"},
            {"GORDIAN_ON_DEADLOCK", run_deadlock_choices[run->on_deadlock]},
            {"GORDIAN_ON_LIKELY", run_likely_choices[run->on_likely]},
            {"GORDIAN_POTENTIAL", run->no_potential ? "0" : "1"},
            {"GORDIAN_SITES", run->no_sites ? "0" : "1"},
            {"GORDIAN_FOLLOW", run->no_follow ? "0" : "1"},
            {"GORDIAN_STALL", run->stall ? run->stall : "0"},
            {"GORDIAN_QUIET", cli->quiet ? "1" : "0"},
            {"GORDIAN_VERBOSE", cli->verbose ? "1" : "0"},
            {"GORDIAN_COLOR", colors[cli->color]},
            {"GORDIAN_EXEC", run->exec},
            {"GORDIAN_SESSION", start->folder[0] ? start->folder : NULL},
        },
      paths[] = {
          {"GORDIAN_OUTPUT", run->output}, {"GORDIAN_JSON", run->json},
          {"GORDIAN_DOT", run->dot},       {"GORDIAN_SVG", run->svg},
          {"GORDIAN_TRACE", run->trace},   {"GORDIAN_SUPPRESS", run->suppress},
      };
    const struct {
        const char *name;
        unsigned value;
    } numbers[] = {{"GORDIAN_STATUS_SIGNAL", SIGUSR2},
                   {"GORDIAN_UID", geteuid()},
                   {"GORDIAN_FILTERS", run_filters()}};
    char text[PATH_MAX];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].value)
            setenv(texts[i].name, texts[i].value, 1);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        set_path(paths[i].name, paths[i].value);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(text, sizeof text, "%u", numbers[i].value);
        setenv(numbers[i].name, text, 1);
    }
    if (program_path(text, sizeof text))
        setenv("GORDIAN_TOOL", text, 1);
    snprintf(text, sizeof text, "%.4000s/tally", start->folder);
    if (start->folder[0])
        setenv("GORDIAN_TALLY", text, 1);
}

/* Creates the output files, so that errors are reported before the program starts. */
static int prepare_files(struct cli *cli, const struct run_settings *run)
{
    const char *const paths[] = {run->output, run->json, run->dot, run->svg, run->trace};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!paths[i])
            continue;
        int fd = open(paths[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd < 0) {
            cli_say(cli, "cannot write '%s': %s", paths[i], strerror(errno));
            return EXIT_BROKEN;
        }
        close(fd);
    }
    if (!run->suppress)
        return EXIT_NOTHING;
    struct suppressions suppressions;
    gordian_error error = {0};
    if (suppressions_read(&suppressions, run->suppress, &error) != GORDIAN_OK)
        return cli_fail(cli, error.line ? run->suppress : NULL, &error);
    suppressions_free(&suppressions);
    return EXIT_NOTHING;
}

/* ------------------------------------------------------------------ signals */

static volatile pid_t child;
static volatile sig_atomic_t asked_to_end; /* a signal arrived that ends most programs */

/* Forwards a signal to the program. Signals of the terminal (Ctrl-C) have already reached it,
 * because it is in the same process group. */
static void forward_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    int kept = errno;
    asked_to_end = asked_to_end || number == SIGTERM || number == SIGINT || number == SIGHUP ||
                   number == SIGQUIT;
    if (child > 0 && info->si_code == SI_QUEUE)
        sigqueue(child, number, info->si_value);
    else if (child > 0 && info->si_code != SI_KERNEL)
        kill(child, number);
    errno = kept;
}

static bool is_forwarded(int number)
{
    static const int kept[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN,
                               SIGTTOU, SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGPIPE};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (number == kept[i])
            return false;
    return number < 32 || (number >= SIGRTMIN && number <= SIGRTMAX);
}

/* Forwards signals that this command ignores or blocks as well: the program inherits that and may
 * still want them. A program that ignores one (nohup) still ignores it. */
static void forward_signals(sigset_t mask)
{
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction action = {.sa_sigaction = forward_signal,
                                   .sa_flags = SA_SIGINFO | SA_RESTART};
        if (!is_forwarded(number))
            continue;
        sigfillset(&action.sa_mask);
        sigaction(number, &action, NULL);
        sigdelset(&mask, number);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* ------------------------------------------------------------------ the child */

/* Restores what this command changed and executes the program. */
static void become_program(const struct start *start, char **command)
{
    struct cli *cli = start->cli;
    signal(SIGPIPE, cli->pipe_was_ignored ? SIG_IGN : SIG_DFL);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (cli->streams_filled >> fd & 1)
            close(fd);
    execv(start->target.path, command);
    if (errno == ENOEXEC) { /* a script without an interpreter line, run as execvp does */
        size_t count = 0;
        while (command[count])
            count++;
        char **shell = calloc(count + 2, sizeof *shell);
        if (shell) {
            shell[0] = (char *)(uintptr_t) "sh";
            memcpy(shell + 1, command, (count + 1) * sizeof *shell);
            shell[1] = (char *)(uintptr_t)start->target.path;
            execv("/bin/sh", shell);
            free(shell);
        }
        errno = ENOEXEC;
    }
}

static int not_executable(const struct start *start, const char *name, int why)
{
    struct cli *cli = start->cli;
    if (why == ENOENT && !start->target.path[0])
        cli_say(cli, strchr(name, '/') ? "'%s': no such file" : "'%s': command not found", name);
    else
        cli_say(cli, "cannot run '%s': %s", name, strerror(why));
    return why == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
}

/* The child's side of the fork. `failure` reports errors to the parent and is closed by exec. */
static _Noreturn void child_side(const struct start *start, char **command, const sigset_t *mask,
                                 int failure)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* SIGKILL of this command also kills the program */
    sigprocmask(SIG_SETMASK, mask, NULL);
    errno = ENOMEM;
    if (set_preload(start))
        become_program(start, command);
    int why = errno;
    (void)!write(failure, &why, sizeof why);
    _exit(RUN_NOT_EXECUTABLE);
}

/* Stops this command when only the program was stopped, so that a shell notices. */
static void stop_with(pid_t pid)
{
    char text[PROC_STAT];
    const char *state = proc_stat((uint32_t)pid, text);
    if (!state || *state != 'T')
        return; /* it has continued already */
    raise(SIGSTOP);
    kill(pid, SIGCONT);
}

static void note_started_child(int number)
{
    (void)number; /* the interruption is all that is needed */
}

/* Blocks SIGCHLD outside of wait_for_program; `waiting` is the mask for it. */
static void await_children(sigset_t *waiting)
{
    struct sigaction action = {.sa_handler = note_started_child};
    sigset_t set;
    sigaction(SIGCHLD, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, waiting);
    sigdelset(waiting, SIGCHLD);
}

/* Waits until the program has ended. Meanwhile it looks for hangs and answers reporters that may
 * not inspect (`second`, -1: none). */
static int wait_for_program(pid_t pid, struct hang *hang, int second, const sigset_t *waiting)
{
    int status = 0;
    for (;;) {
        pid_t got = waitpid(pid, &status, WUNTRACED | WNOHANG);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return 0;
        if (got && !WIFSTOPPED(status))
            return status;
        if (got)
            stop_with(pid);
        hang_poll(hang);
        uint64_t pause = hang_time_to_poll(hang);
        struct pollfd asked = {.fd = second, .events = POLLIN};
        struct timespec limit = {(time_t)(pause / 1000000000u), (long)(pause % 1000000000u)};
        if (ppoll(&asked, second >= 0, &limit, waiting) == 1)
            remote_confirm_answer(second, pid);
    }
}

/* Ends like the program: by the same signal, but without a core dump. */
static int end_like(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    int number = WTERMSIG(status);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    prctl(PR_SET_DUMPABLE, 0);
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    return 128 + number; /* the signal did not end this process: return what a shell would */
}

/* ------------------------------------------------------------------ results */

static const char *plural_s(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_recurrence(void *context, unsigned kind, unsigned ordinal, uint64_t count)
{
    const struct start *start = context;
    cli_say(start->cli, "%s %u occurred %llu times",
            kind == INCIDENT_POTENTIAL ? "potential deadlock"
            : kind == INCIDENT_STALL   ? "stall"
                                       : "deadlock",
            ordinal, (unsigned long long)count);
}

static void print_suppressed(void *context, unsigned line, uint64_t count)
{
    const struct start *start = context;
    cli_say(start->cli, "%s:%u suppressed %llu report%s", start->settings->suppress, line,
            (unsigned long long)count, plural_s(count));
}

/* The end of the program, the hang found from outside, and the processes that survived. */
struct ending {
    int status; /* status of waitpid */
    const struct hang *hang;
    struct survivors survivors;
};

/* Writes "2 deadlocks, 1 likely deadlock", or "". */
static void list_found(const struct incident_tally *tally, const struct hang *hang, char *found,
                       size_t size)
{
    size_t used = 0;
    const struct {
        uint64_t count;
        const char *word;
    } parts[] = {{tally->deadlocks, "deadlock"},
                 {tally->likely + hang->likely, "likely deadlock"},
                 {tally->potentials, "potential deadlock"},
                 {tally->stalls, "stall"}};
    found[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].count)
            used += (size_t)snprintf(found + used, size - used, "%s%llu %s%s", used ? ", " : "",
                                     (unsigned long long)parts[i].count, parts[i].word,
                                     plural_s(parts[i].count));
}

/* Did the program end by itself, not because of a signal? */
static bool is_own_end(const struct ending *ending)
{
    bool signal = asked_to_end && WIFEXITED(ending->status) && WEXITSTATUS(ending->status) >= 128;
    return WIFEXITED(ending->status) && !signal && !ending->hang->hung;
}

/* Was a part of the program not watched? */
static bool is_partly_unwatched(const struct incident_tally *tally, const struct ending *ending)
{
    return tally->off || tally->unwatched || tally->sandboxed || ending->survivors.count;
}

/* Prints the threads that did not move before the end, if no deadlock was found. */
static void print_last_report(const struct start *start, const struct ending *ending)
{
    const struct hang *hang = ending->hang;
    double ago = (double)(clock_ns() - hang->pictured) / 1e9;
    if (is_own_end(ending) || !hang->pictured || hang->proved || hang->likely)
        return;
    if (hang->hung)
        cli_say(start->cli,
                "no progress for %s s; these threads did not end:", start->settings->on_hang);
    else if (hang->still_since)
        cli_say(start->cli, "these threads did not end:");
    else
        cli_say(start->cli, "threads that did not end, in their state of %.1f s before:", ago);
    write_whole(STDERR_FILENO, hang->picture.buffer, hang->picture.used);
}

/* Reports programs that it started without the library. */
static void print_unwatched(const struct start *start, const struct incident_tally *tally)
{
    if (tally->unwatched)
        cli_say(start->cli, "%llu program%s that it started could not be watched",
                (unsigned long long)tally->unwatched, plural_s(tally->unwatched));
    for (size_t i = 0; tally->unwatched && i < INCIDENT_UNWATCHED; i++) {
        const struct incident_unwatched *one = &tally->programs[i];
        if (one->count && memchr(one->program, '\0', sizeof one->program) &&
            memchr(one->reason, '\0', sizeof one->reason))
            cli_say(start->cli, "  '%s' %s", one->program, one->reason);
    }
}

static void print_survivors(const struct start *start, const struct survivors *survivors)
{
    bool one = survivors->count == 1;
    if (survivors->count)
        cli_say(start->cli, "%zu process%s that it started still run%s, and what %s not seen:",
                survivors->count, one ? "" : "es", one ? "s" : "",
                one ? "becomes of it is" : "becomes of them is");
    for (size_t i = 0; i < survivors->count; i++)
        cli_say(start->cli, "  process %u, '%s'%s", survivors->list[i].pid,
                survivors->list[i].command,
                survivors->list[i].watched ? ": its reports go to its standard error"
                                           : ": it is not watched");
}

/* Writes what was not seen as a line of the JSON file. */
static void write_unwatched(const struct start *start, const struct incident_tally *tally,
                            const struct ending *ending)
{
    struct output text;
    struct json json;
    if (!is_partly_unwatched(tally, ending) || !start->settings->json || !output_open(&text, -1))
        return;
    json_begin(&json, &text);
    json_key_text(&json, "report", "incomplete");
    json_key_u64(&json, "off", tally->off);
    json_key_u64(&json, "unwatched", tally->unwatched);
    json_key_u64(&json, "sandboxed", tally->sandboxed);
    json_open(&json, "running", '[');
    for (size_t i = 0; i < ending->survivors.count; i++) {
        const struct survivor *survivor = &ending->survivors.list[i];
        json_open(&json, NULL, '{');
        json_key_u64(&json, "pid", survivor->pid);
        json_key_text(&json, "command", survivor->command);
        json_key_bool(&json, "watched", survivor->watched);
        json_shut(&json);
    }
    json_shut(&json);
    json_end(&json);
    append_report_line(start->cli, start->settings->json, &text);
    output_close(&text);
}

/* Prints the totals. "no deadlock" always comes with what was watched. */
static void print_totals(const struct start *start, const struct incident_tally *tally,
                         const struct ending *ending)
{
    char found[200], suppressed[60] = "", broken[60] = "";
    unsigned long long locks = tally->locks, threads = tally->threads;
    /* Locks are counted by a hash of their addresses, which is exact for few. */
    const char *about = locks > 1000 ? "about " : "";
    list_found(tally, ending->hang, found, sizeof found);
    if (tally->suppressed)
        snprintf(suppressed, sizeof suppressed, ", %llu suppressed",
                 (unsigned long long)tally->suppressed);
    if (tally->broken)
        snprintf(broken, sizeof broken, ", %llu broken", (unsigned long long)tally->broken);
    if (tally->processes == 0 && !start->library[0] && !found[0])
        return; /* a message said already that it is not watched */
    if (tally->processes == 0) {
        cli_say(start->cli, "%s%snothing was watched%s", found, found[0] ? "; " : "",
                start->library[0] ? ": the library did not start in the program" : "");
        return;
    }
    /* "no deadlock" is only printed if everything was watched and ended by itself. */
    if (!found[0] && !(is_own_end(ending) && !is_partly_unwatched(tally, ending)))
        snprintf(found, sizeof found, "nothing found among %s%llu lock%s", about, locks,
                 plural_s(locks));
    cli_say(start->cli, "%s%s%s; watched %s%llu lock%s, %llu thread%s, %llu process%s",
            found[0] ? found : "no deadlock", suppressed, broken, about, locks, plural_s(locks),
            threads, plural_s(threads), (unsigned long long)tally->processes,
            tally->processes == 1 ? "" : "es");
    if (tally->off)
        cli_say(start->cli, "the watcher was off in %llu process%s", (unsigned long long)tally->off,
                tally->off == 1 ? "" : "es");
    if (tally->sandboxed)
        cli_say(start->cli, "in %llu process%s that forbid system calls, only mutexes were checked",
                (unsigned long long)tally->sandboxed, tally->sandboxed == 1 ? "" : "es");
    print_unwatched(start, tally);
    print_survivors(start, &ending->survivors);
}

/* Prints the results. Returns the exit status; -1: use the program's exit status. */
static int conclude_run(const struct start *start, const struct hang *hang, int status)
{
    struct session_totals totals = {0};
    struct ending ending = {.status = status, .hang = hang};
    if (start->folder[0]) {
        session_settle(start->folder, PATIENCE_MS);
        survivors_find(&ending.survivors, start->folder);
        session_totals(start->folder, &totals);
    }
    totals.tally.deadlocks += hang->proved;
    if (!start->cli->quiet && start->folder[0]) {
        struct session_reader reader = {print_recurrence, print_suppressed,
                                        (void *)(uintptr_t)start};
        session_read(start->folder, &reader);
        print_last_report(start, &ending);
        replay_unbuffered(start->cli, start->folder);
        print_totals(start, &totals.tally, &ending);
    }
    write_unwatched(start, &totals.tally, &ending);
    survivors_free(&ending.survivors);
    if (start->folder[0])
        session_remove(start->folder);
    return totals.tally.deadlocks > 0 ? INCIDENT_EXIT_CODE : hang->hung ? (int)RUN_HUNG : -1;
}

/* ------------------------------------------------------------------ running */

/* Watches the program until its end and returns the exit status. */
static int attend_program(const struct start *start)
{
    struct hang hang;
    sigset_t waiting;
    unsetenv("DEBUGINFOD_URLS"); /* the program keeps the variable; scans have to be fast */
    await_children(&waiting);
    hang_open(&hang, start->cli, start->settings, start->folder, child);
    int second = remote_confirm_listen(start->folder);
    int status = wait_for_program(child, &hang, second, &waiting);
    if (second >= 0)
        close(second);
    child = 0;
    run_mailbox_close(start->mailbox);
    int code = conclude_run(start, &hang, status);
    hang_close(&hang);
    return code < 0 ? end_like(status) : code;
}

/* Removes the session of a program that could not be started. */
static void remove_session(const struct start *start)
{
    run_mailbox_close(start->mailbox);
    if (start->folder[0])
        session_remove(start->folder);
}

static int cannot_start(const struct start *start)
{
    cli_say(start->cli, "cannot start: %s", strerror(errno));
    remove_session(start);
    return EXIT_BROKEN;
}

static int supervise_program(const struct start *start, char **command)
{
    int failure[2], why = 0;
    sigset_t all, before;
    if (pipe2(failure, O_CLOEXEC) != 0)
        return cannot_start(start);
    output_flush(&start->cli->out);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    bool ignored =
        signal(SIGCHLD, SIG_DFL) == SIG_IGN; /* otherwise its end could not be observed */
    child = fork();
    if (child == 0) {
        if (ignored)
            signal(SIGCHLD, SIG_IGN);
        child_side(start, command, &before, failure[1]);
    }
    why = errno;
    close(failure[1]);
    if (child < 0) {
        close(failure[0]);
        sigprocmask(SIG_SETMASK, &before, NULL);
        errno = why;
        return cannot_start(start);
    }
    forward_signals(before);
    run_mailbox_attend(start->mailbox);
    bool failed = read(failure[0], &why, sizeof why) == (ssize_t)sizeof why;
    close(failure[0]);
    if (!failed)
        return attend_program(start);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    child = 0;
    remove_session(start);
    return not_executable(start, command[0], why);
}

/* Runs the program without the library; hangs are still found from outside. */
static int cannot_watch(struct start *start, const char *subject, const char *reason,
                        char **command)
{
    bool stop = start->settings->on_unwatchable == 1;
    if (stop || !start->cli->quiet)
        cli_say(start->cli, "cannot watch '%s': %s%s%s%s", command[0], subject, *subject ? " " : "",
                reason,
                stop ? "" : "; it runs unwatched, and hangs are detected only from outside");
    if (stop) {
        remove_session(start);
        return EXIT_UNAVAILABLE;
    }
    start->library[0] = '\0';
    return supervise_program(start, command);
}

int run_start(struct cli *cli, const struct run_settings *settings, char **command)
{
    struct start start = {.cli = cli, .settings = settings};
    char why[300];
    run_target_find(&start.target, command[0]);
    if (start.target.failure)
        return not_executable(&start, command[0], start.target.failure);
    int code = prepare_files(cli, settings);
    if (code != EXIT_NOTHING)
        return code;
    if (!session_create(start.folder, sizeof start.folder)) {
        cli_say(cli, "cannot create a directory for temporary files: %s; reports are not counted",
                strerror(errno));
        start.folder[0] = '\0';
    }
    start.mailbox = run_mailbox_open(start.folder);
    set_session_environment(&start);
    if (!start.target.look.watchable) {
        bool interpreter = strcmp(start.target.look.judged, start.target.path) != 0;
        return cannot_watch(&start, interpreter ? start.target.look.judged : "it",
                            start.target.look.reason, command);
    }
    if (!run_library(start.library, sizeof start.library, why, sizeof why))
        return cannot_watch(&start, "", why, command);
    return supervise_program(&start, command);
}
