/* The reporter is started without fork handlers, without the program's descriptors and signals, and
 * as nobody's child: a helper process starts it and ends at once, both borrowing our memory until
 * the reporter has begun, so that a program of any size is not copied. */
#include "run/launch.h"

#include "run/arena.h"
#include "run/maps.h"
#include "run/settings.h"
#include "run/sys.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define STACK_SIZE ((size_t)64 << 10)

struct launch {
    const char *tool;
    char **environment;
    int incident, answer;
    char *stack; /* of the reporter, below that of the helper */
};

/* In the process that becomes the reporter. It shares our memory: touch nothing of it. */
static int become_reporter(void *context)
{
    const struct launch *launch = context;
    /* Out of the way of each other's numbers first. */
    int incident = (int)syscall(SYS_fcntl, launch->incident, F_DUPFD, 10);
    int answer = (int)syscall(SYS_fcntl, launch->answer, F_DUPFD, 10);
    syscall(SYS_dup3, incident, INCIDENT_INPUT_FD, 0);
    syscall(SYS_dup3, answer, INCIDENT_ANSWER_FD, 0);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 5, ~0u, 0) != 0)
#endif
        for (int fd = 5; fd < 4096; fd++)
            syscall(SYS_close, fd);
    struct sys_action usual = {0};
    for (int signal_number = 1; signal_number <= 64; signal_number++)
        syscall(SYS_rt_sigaction, signal_number, &usual, NULL, 8);
    uint64_t none = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
    char *arguments[] = {(char *)launch->tool, (char *)"run", (char *)"--report-incident",
                         (char *)"3", NULL};
    syscall(SYS_execve, launch->tool, arguments, launch->environment);
    syscall(SYS_exit, 127);
    return 127;
}

static int helper_main(void *context)
{
    struct launch *launch = context;
    int child = clone(become_reporter, launch->stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD,
                      launch);
    syscall(SYS_exit, child < 0 ? 1 : 0);
    return 0;
}

/* False: could not be started. */
static bool start_reporter(struct launch *launch)
{
    char *stacks = pages_map(2 * STACK_SIZE);
    if (!stacks)
        return false;
    launch->stack = stacks;
    uint64_t all = ~(uint64_t)0, old;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, 8);
    /* Without a signal at its end, the program's own waits do not see the helper. */
    int child = clone(helper_main, stacks + 2 * STACK_SIZE, CLONE_VM | CLONE_VFORK, launch);
    int status = 1;
    if (child > 0)
        while (syscall(SYS_wait4, child, &status, __WCLONE, NULL) < 0 && errno == EINTR)
            ;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, 8);
    pages_unmap(stacks, 2 * STACK_SIZE);
    return child > 0 && status == 0;
}

/* The reporter's byte; INCIDENT_FAILED when none comes in time. */
static enum incident_answer wait_for_answer(int fd)
{
    uint64_t until = sys_now() + INCIDENT_PATIENCE_MS * (uint64_t)1000000;
    for (;;) {
        uint64_t now = sys_now();
        if (now >= until)
            return INCIDENT_FAILED;
        struct pollfd poll = {fd, POLLIN, 0};
        struct timespec left = {(time_t)((until - now) / 1000000000u),
                                (long)((until - now) % 1000000000u)};
        long ready = syscall(SYS_ppoll, &poll, 1, &left, NULL, 0);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return INCIDENT_FAILED;
        char answer;
        if (sys_read(fd, &answer, 1) != 1)
            return INCIDENT_FAILED;
        return answer == INCIDENT_REPORTED || answer == INCIDENT_SUPPRESSED
                   ? (enum incident_answer)answer
                   : INCIDENT_FAILED;
    }
}

enum incident_answer launch_report(struct notice *notice)
{
    int saved = errno, pipe[2];
    enum incident_answer answer = INCIDENT_FAILED;
    struct launch launch = {settings_tool(), watch.environment, notice->fd, -1, NULL};
    if (notice->fd >= 0 && *launch.tool && syscall(SYS_pipe2, pipe, O_CLOEXEC) == 0) {
        launch.answer = pipe[1];
        syscall(SYS_lseek, notice->fd, 0, SEEK_SET);
        bool started = start_reporter(&launch);
        sys_close(pipe[1]);
        if (started)
            answer = wait_for_answer(pipe[0]);
        sys_close(pipe[0]);
    }
    if (answer == INCIDENT_FAILED) {
        plain_report(notice->fd);
        answer = INCIDENT_REPORTED;
    }
    if (notice->fd >= 0)
        sys_close(notice->fd);
    errno = saved;
    return answer;
}
