/* Starts the reporter without fork handlers, without the program's descriptors and signals, and not
 * as a child of the program. A helper process starts it and ends at once. Both share this process's
 * memory until the reporter has started, so large programs are not copied. */
#include "sources/run/report/reporter_launch.h"

#include "sources/run/report/mailbox.h"
#include "sources/run/report/plain_report.h"
#include "sources/run/state/arena.h"
#include "sources/run/state/settings.h"
#include "sources/run/state/shield.h"
#include "sources/run/state/system_call.h"

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
    char *stack; /* of the reporter, below the helper's */
};

static void close_descriptors(unsigned first, unsigned last)
{
    if (first > last)
        return;
#ifdef SYS_close_range
    if (sys_call(SYS_close_range, first, last, 0) == 0)
        return;
#endif
    for (unsigned fd = first; fd <= last && fd < 4096; fd++)
        sys_call(SYS_close, fd);
}

/* Runs in the process that becomes the reporter. It shares the program's memory, and must not
 * change it. */
static int become_reporter(void *context)
{
    const struct launch *launch = context;
    /* Close other descriptors first, since there may be few; then move both out of each other's
     * way. */
    int incident = launch->incident, answer = launch->answer;
    unsigned low = (unsigned)(incident < answer ? incident : answer);
    unsigned high = (unsigned)(incident < answer ? answer : incident);
    close_descriptors(3, low - 1);
    close_descriptors(low + 1, high - 1);
    close_descriptors(high + 1, ~0u);
    if (answer == INCIDENT_INPUT_FD)
        answer = (int)sys_call(SYS_dup, answer);
    sys_call(SYS_dup3, incident, INCIDENT_INPUT_FD, 0);
    sys_call(SYS_dup3, answer, INCIDENT_ANSWER_FD, 0);
    sys_call(SYS_fcntl, INCIDENT_INPUT_FD, F_SETFD, 0);
    sys_call(SYS_fcntl, INCIDENT_ANSWER_FD, F_SETFD, 0);
    close_descriptors(INCIDENT_ANSWER_FD + 1, ~0u);
    struct sys_action usual = {0};
    for (int signal_number = 1; signal_number <= 64; signal_number++)
        sys_call(SYS_rt_sigaction, signal_number, &usual, NULL, 8);
    uint64_t none = 0;
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
    char *arguments[] = {(char *)launch->tool, (char *)"run", (char *)"--report-incident",
                         (char *)"3", NULL};
    sys_call(SYS_execve, launch->tool, arguments, launch->environment);
    sys_call(SYS_exit, 127);
    return 127;
}

static int helper_main(void *context)
{
    struct launch *launch = context;
    int child = clone(become_reporter, launch->stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD,
                      launch);
    sys_call(SYS_exit, child < 0 ? 1 : 0);
    return 0;
}

/* False: the reporter could not be started. */
static bool start_reporter(struct launch *launch)
{
    char *stacks = pages_map(2 * STACK_SIZE);
    if (!stacks)
        return false;
    launch->stack = stacks;
    uint64_t all = ~(uint64_t)0, old;
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, 8);
    /* A child without an exit signal is invisible to the program's own waits. */
    int child = clone(helper_main, stacks + 2 * STACK_SIZE, CLONE_VM | CLONE_VFORK, launch);
    int status = 1;
    if (child > 0)
        while (sys_call(SYS_wait4, child, &status, __WCLONE, NULL) < 0 && errno == EINTR)
            ;
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, 8);
    pages_unmap(stacks, 2 * STACK_SIZE);
    return child > 0 && status == 0;
}

/* Reads the reporter's answer, one byte; INCIDENT_FAILED: none in time. */
static enum incident_answer await_reporter(int fd)
{
    uint64_t until = sys_now() + INCIDENT_PATIENCE_MS * (uint64_t)1000000;
    for (;;) {
        uint64_t now = sys_now();
        if (now >= until)
            return INCIDENT_FAILED;
        struct pollfd poll = {fd, POLLIN, 0};
        struct timespec left = sys_timespec(until - now);
        long ready = sys_call(SYS_ppoll, &poll, 1, &left, NULL, 0);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return INCIDENT_FAILED;
        char answer;
        if (sys_read(fd, &answer, 1) != 1)
            return INCIDENT_FAILED;
        bool known = answer == INCIDENT_REPORTED || answer == INCIDENT_SUPPRESSED ||
                     answer == INCIDENT_DOUBTED || answer == INCIDENT_LEFT ||
                     answer == INCIDENT_MOVED;
        return known ? (enum incident_answer)answer : INCIDENT_FAILED;
    }
}

static enum incident_answer own_reporter(const struct notice *notice)
{
    enum incident_answer answer = INCIDENT_FAILED;
    struct launch launch = {settings_tool(), watch.environment, notice->fd, -1, NULL};
    int pipe[2];
    if (notice->fd >= 0 && *launch.tool && sys_call(SYS_pipe2, pipe, O_CLOEXEC) == 0) {
        launch.answer = pipe[1];
        sys_call(SYS_lseek, notice->fd, 0, SEEK_SET);
        bool started = start_reporter(&launch);
        sys_close(pipe[1]);
        if (started)
            answer = await_reporter(pipe[0]);
        sys_close(pipe[0]);
    }
    return answer;
}

/* Copies the file to the mailbox. */
static enum incident_answer send_file(int fd)
{
    size_t room, size = 0;
    char *memory = fd >= 0 ? mailbox_claim(&room) : NULL;
    if (!memory)
        return INCIDENT_FAILED;
    long length = 1;
    while (length > 0 && size < room) {
        length = sys_call(SYS_pread64, fd, memory + size, room - size, size);
        size += length > 0 ? (size_t)length : 0;
    }
    enum incident_answer answer = size < room ? mailbox_send() : INCIDENT_FAILED;
    mailbox_drop();
    return answer;
}

static enum incident_answer report_file(const struct notice *notice)
{
    /* The program runs as another user than the command: the reporter could not write its files. */
    uint64_t none = UINT64_MAX, user = setting_number("GORDIAN_UID", none);
    bool other = user != none && (uint64_t)sys_call(SYS_geteuid) != user;
    enum incident_answer answer = other ? send_file(notice->fd) : own_reporter(notice);
    if (answer == INCIDENT_FAILED)
        answer = other ? own_reporter(notice) : send_file(notice->fd);
    if (answer == INCIDENT_FAILED)
        plain_report(notice->fd);
    if (notice->fd >= 0)
        sys_close(notice->fd);
    return answer;
}

/* For a program in a sandbox. The library prints messages only if the program ends anyway. */
static enum incident_answer report_mailbox(const struct notice *notice)
{
    enum incident_answer answer = mailbox_send();
    watch.last_words = notice->action == INCIDENT_ABORT;
    if (answer == INCIDENT_FAILED)
        plain_report_mailbox();
    mailbox_drop();
    return answer;
}

enum incident_answer launch_report(struct notice *notice)
{
    int saved = errno;
    struct shield shield;
    shield_raise(&shield);
    bool boxed = notice->fd == NOTICE_IN_MAILBOX;
    enum incident_answer answer = boxed ? report_mailbox(notice) : report_file(notice);
    notice->fd = -1;
    shield_lower(&shield);
    errno = saved;
    return answer == INCIDENT_FAILED ? INCIDENT_REPORTED : answer;
}
