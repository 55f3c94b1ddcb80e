/* The child of gordian run: its environment, its signals, its end. */
#define _GNU_SOURCE
#include "cli/run/run.h"
#include "cli/run/target.h"
#include "report/session.h"
#include "report/suppress.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 12000 /* for reporters that are still at work when the program has ended */

struct start {
    struct cli *cli;
    const struct run_settings *settings;
    struct run_target target;
    char library[PATH_MAX];
    char folder[PATH_MAX]; /* of the session; "": none */
};

/* ------------------------------------------------------------------ the environment */

static void set_variable(const char *name, const char *value)
{
    setenv(name, value, 1);
}

/* A path that stays good when the program changes its folder. */
static void set_path(const char *name, const char *path)
{
    char folder[PATH_MAX], whole[2 * PATH_MAX];
    if (!path)
        return;
    if (path[0] != '/' && getcwd(folder, sizeof folder))
        snprintf(whole, sizeof whole, "%s/%s", folder, path);
    else
        snprintf(whole, sizeof whole, "%s", path);
    set_variable(name, whole);
}

static bool set_preload(const struct start *start)
{
    const char *others = getenv("LD_PRELOAD");
    bool any = others && *others;
    size_t size = strlen(start->library) + (any ? strlen(others) + 1 : 0) + 1;
    char *value = malloc(size);
    if (!value)
        return false;
    snprintf(value, size, "%s%s%s", start->library, any ? ":" : "", any ? others : "");
    set_variable("LD_PRELOAD", value);
    free(value);
    return true;
}

static bool set_environment(const struct start *start)
{
    const struct run_settings *run = start->settings;
    const struct cli *cli = start->cli;
    static const char *const colors[] = {"auto", "always", "never"};
    char text[PATH_MAX];
    set_variable("GORDIAN_RUN", "1");
    set_variable("GORDIAN_ON_DEADLOCK", run_deadlock_choices[run->on_deadlock]);
    set_variable("GORDIAN_POTENTIAL", run->no_potential ? "0" : "1");
    set_variable("GORDIAN_SITES", run->no_sites ? "0" : "1");
    set_variable("GORDIAN_FOLLOW", run->no_follow ? "0" : "1");
    set_variable("GORDIAN_STALL", run->stall ? run->stall : "0");
    snprintf(text, sizeof text, "%d", SIGUSR2);
    set_variable("GORDIAN_STATUS_SIGNAL", text);
    set_variable("GORDIAN_QUIET", cli->quiet ? "1" : "0");
    set_variable("GORDIAN_VERBOSE", cli->verbose ? "1" : "0");
    set_variable("GORDIAN_COLOR", colors[cli->color]);
    if (run->exec)
        set_variable("GORDIAN_EXEC", run->exec);
    set_path("GORDIAN_OUTPUT", run->output);
    set_path("GORDIAN_JSON", run->json);
    set_path("GORDIAN_DOT", run->dot);
    set_path("GORDIAN_SVG", run->svg);
    set_path("GORDIAN_TRACE", run->trace);
    set_path("GORDIAN_SUPPRESS", run->suppress);
    ssize_t length = readlink("/proc/self/exe", text, sizeof text - 1);
    if (length > 0) {
        text[length] = '\0';
        set_variable("GORDIAN_TOOL", text);
    }
    if (start->folder[0]) {
        set_variable("GORDIAN_SESSION", start->folder);
        snprintf(text, sizeof text, "%.4000s/tally", start->folder);
        set_variable("GORDIAN_TALLY", text);
    }
    return set_preload(start);
}

/* Files that are to be written: now is the time to say that they cannot be. */
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

/* Whoever signals this command means the program. What a terminal sends (Ctrl-C) has reached the
 * program already: it is in the same process group. */
static void forward_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    int kept = errno;
    if (child > 0 && info->si_code == SI_QUEUE)
        sigqueue(child, number, info->si_value);
    else if (child > 0 && info->si_code != SI_KERNEL)
        kill(child, number);
    errno = kept;
}

static bool is_forwarded(int number)
{
    switch (number) {
    case SIGKILL:
    case SIGSTOP:
    case SIGCHLD:
    case SIGCONT:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGPIPE:
        return false;
    default:
        return number < 32 || (number >= SIGRTMIN && number <= SIGRTMAX);
    }
}

/* What is ignored (nohup) stays ignored, in the program too. */
static void forward_signals(void)
{
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction action;
        if (!is_forwarded(number) || sigaction(number, NULL, &action) != 0 ||
            action.sa_handler == SIG_IGN)
            continue;
        action =
            (struct sigaction){.sa_sigaction = forward_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
        sigfillset(&action.sa_mask);
        sigaction(number, &action, NULL);
    }
}

/* ------------------------------------------------------------------ the child */

/* As if this command had not been in between. */
static void become_program(const struct start *start, char **command)
{
    struct cli *cli = start->cli;
    signal(SIGPIPE, cli->pipe_was_ignored ? SIG_IGN : SIG_DFL);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (cli->streams_filled >> fd & 1)
            close(fd);
    execv(start->target.path, command);
    if (errno == ENOEXEC) { /* a script without a first line, as execvp takes it */
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

/* The child's side of the fork. `failure` tells the parent, and closes by itself at exec. */
static _Noreturn void child_side(const struct start *start, char **command, const sigset_t *mask,
                                 int failure)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* `kill -9` of this command means the program */
    sigprocmask(SIG_SETMASK, mask, NULL);
    become_program(start, command);
    int why = errno;
    (void)!write(failure, &why, sizeof why);
    _exit(RUN_NOT_EXECUTABLE);
}

/* A program stopped alone stops this command too, so that a shell sees it. */
static void stop_with(pid_t pid)
{
    char path[64], text[512], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (length > 0) {
        text[length] = '\0';
        const char *end = strrchr(text, ')');
        state = end && end[1] ? end[2] : 0;
    }
    if (state != 'T')
        return; /* it goes on already */
    raise(SIGSTOP);
    kill(pid, SIGCONT);
}

static int wait_for(pid_t pid)
{
    int status = 0;
    for (;;) {
        pid_t got = waitpid(pid, &status, WUNTRACED);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return 0;
        if (!WIFSTOPPED(status))
            return status;
        stop_with(pid);
    }
}

/* Ends as the program did: by the same signal, but without another core dump. */
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
    return 128 + number; /* one that does not end us: as a shell would say it */
}

/* ------------------------------------------------------------------ what it came to */

static const char *plural_ending(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void tell_again(void *context, unsigned kind, unsigned ordinal, uint64_t count)
{
    const struct start *start = context;
    cli_say(start->cli, "%s %u came %llu times",
            kind == INCIDENT_POTENTIAL ? "potential deadlock"
            : kind == INCIDENT_STALL   ? "stall"
                                       : "deadlock",
            ordinal, (unsigned long long)count);
}

static void tell_suppressed(void *context, unsigned line, uint64_t count)
{
    const struct start *start = context;
    cli_say(start->cli, "%s:%u suppressed %llu report%s", start->settings->suppress, line,
            (unsigned long long)count, plural_ending(count));
}

/* Never a bare "no deadlock": what was watched is part of the answer. */
static void tell_totals(const struct start *start, const struct session_totals *totals)
{
    const struct incident_tally *tally = &totals->tally;
    char found[200] = "no deadlock", suppressed[60] = "", broken[60] = "";
    size_t used = 0;
    const struct {
        uint64_t count;
        const char *word;
    } parts[] = {{tally->deadlocks, "deadlock"},
                 {tally->potentials, "potential deadlock"},
                 {tally->stalls, "stall"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].count)
            used += (size_t)snprintf(found + used, sizeof found - used, "%s%llu %s%s",
                                     used ? ", " : "", (unsigned long long)parts[i].count,
                                     parts[i].word, plural_ending(parts[i].count));
    if (tally->suppressed)
        snprintf(suppressed, sizeof suppressed, ", %llu suppressed",
                 (unsigned long long)tally->suppressed);
    if (tally->broken)
        snprintf(broken, sizeof broken, ", %llu broken", (unsigned long long)tally->broken);
    if (tally->processes == 0 && tally->deadlocks == 0) {
        cli_say(start->cli, "nothing was watched: the library did not start in the program");
        return;
    }
    cli_say(start->cli, "%s%s%s; watched %llu lock%s, %llu thread%s, %llu process%s", found,
            suppressed, broken, (unsigned long long)tally->locks, plural_ending(tally->locks),
            (unsigned long long)tally->threads, plural_ending(tally->threads),
            (unsigned long long)tally->processes, tally->processes == 1 ? "" : "es");
    if (tally->off)
        cli_say(start->cli, "the watcher was off in %llu process%s", (unsigned long long)tally->off,
                tally->off == 1 ? "" : "es");
}

/* True if an actual deadlock was found. */
static bool conclude_run(const struct start *start)
{
    struct session_totals totals;
    if (!start->folder[0])
        return false;
    session_settle(start->folder, PATIENCE_MS);
    session_totals(start->folder, &totals);
    if (!start->cli->quiet) {
        struct session_reader reader = {tell_again, tell_suppressed, (void *)(uintptr_t)start};
        session_read(start->folder, &reader);
        tell_totals(start, &totals);
    }
    session_remove(start->folder);
    return totals.tally.deadlocks > 0;
}

/* ------------------------------------------------------------------ running */

static int supervise_program(const struct start *start, char **command)
{
    int failure[2];
    sigset_t all, before;
    if (pipe2(failure, O_CLOEXEC) != 0) {
        cli_say(start->cli, "cannot start: %s", strerror(errno));
        return EXIT_BROKEN;
    }
    output_flush(&start->cli->out);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    child = fork();
    if (child == 0)
        child_side(start, command, &before, failure[1]);
    close(failure[1]);
    int why = 0;
    if (child < 0) {
        why = errno;
        close(failure[0]);
        sigprocmask(SIG_SETMASK, &before, NULL);
        cli_say(start->cli, "cannot start: %s", strerror(why));
        return EXIT_BROKEN;
    }
    forward_signals();
    sigprocmask(SIG_SETMASK, &before, NULL);
    bool failed = read(failure[0], &why, sizeof why) == (ssize_t)sizeof why;
    close(failure[0]);
    int status = wait_for(child);
    child = 0;
    if (failed) {
        if (start->folder[0])
            session_remove(start->folder);
        return not_executable(start, command[0], why);
    }
    return conclude_run(start) ? INCIDENT_EXIT_CODE : end_like(status);
}

/* It cannot be watched, and that was said. */
static int run_unwatched(const struct start *start, char **command)
{
    output_flush(&start->cli->out);
    become_program(start, command);
    return not_executable(start, command[0], errno);
}

static int cannot_watch(const struct start *start, const char *subject, const char *reason,
                        char **command)
{
    bool stop = start->settings->on_unwatchable == 1;
    if (stop || !start->cli->quiet)
        cli_say(start->cli, "cannot watch '%s': %s%s%s%s", command[0], subject, *subject ? " " : "",
                reason, stop ? "" : "; it runs unwatched");
    return stop ? EXIT_UNAVAILABLE : run_unwatched(start, command);
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
    if (!start.target.watchable) {
        bool interpreter = strcmp(start.target.judged, start.target.path) != 0;
        return cannot_watch(&start, interpreter ? start.target.judged : "it", start.target.reason,
                            command);
    }
    if (!run_library(start.library, sizeof start.library, why, sizeof why))
        return cannot_watch(&start, "", why, command);
    if (!session_create(start.folder, sizeof start.folder)) {
        cli_say(cli, "cannot make a folder for temporary files: %s; reports are not counted",
                strerror(errno));
        start.folder[0] = '\0';
    }
    if (!set_environment(&start)) {
        cli_say(cli, "out of memory");
        return EXIT_BROKEN;
    }
    return supervise_program(&start, command);
}
