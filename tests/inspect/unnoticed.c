/* A thread that is stopped for its registers does not notice: whatever it sleeps in, it sleeps in
 * still, with the same arguments, and no call has come back with EINTR, also if who stopped it was
 * killed in between. But a handler that was due runs, and then the call does come back. The stack
 * of one that runs is as it was when it was stopped. */
#define _GNU_SOURCE
#include "sources/inspect/target/proc.h"
#include "sources/inspect/target/remote_calls.h"
#include "sources/inspect/target/stop.h"
#include "sources/inspect/target/target.h"
#include "test.h"

#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HOUR = 3600 };

/* What both processes see of the one that sleeps. */
struct seen {
    _Atomic int interrupted, handled, failed, stops;
    _Atomic uint64_t slot; /* where on its stack one that counts does so */
    int set;               /* of semaphores, if there is one; it would outlive the processes */
};
static struct seen *seen;

/* ------------------------------------------------------------------ what to sleep in */

static long in_epoll(int limit)
{
    static int never = -1;
    struct epoll_event event;
    if (never < 0)
        never = epoll_create1(EPOLL_CLOEXEC);
    return epoll_wait(never, &event, 1, limit);
}

static long epoll_for_ever(void)
{
    return in_epoll(-1);
}

static long epoll_for_long(void)
{
    return in_epoll(HOUR * 1000);
}

static long poll_for_long(void)
{
    return poll(NULL, 0, HOUR * 1000);
}

static long system_v(void)
{
    struct sembuf take = {0, -1, SEM_UNDO};
    if (seen->set < 0)
        seen->set = semget(IPC_PRIVATE, 1, 0600);
    return semop(seen->set, &take, 1);
}

static long wait_for_signal(void)
{
    sigset_t none;
    sigemptyset(&none);
    return sigwaitinfo(&none, NULL);
}

static int timed_socket(int kind)
{
    int made = socket(AF_INET, kind, 0);
    struct timeval limit = {HOUR, 0};
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
        bind(made, (struct sockaddr *)&here, sizeof here) != 0)
        seen->failed++;
    return made;
}

static long receive_for_long(void)
{
    static int made = -1;
    char byte;
    if (made < 0)
        made = timed_socket(SOCK_DGRAM);
    return recv(made, &byte, 1, 0);
}

static long accept_for_long(void)
{
    static int made = -1;
    if (made < 0) {
        made = timed_socket(SOCK_STREAM);
        seen->failed += listen(made, 1) != 0;
    }
    return accept(made, NULL, NULL);
}

static long read_changes(void)
{
    static int changes = -1;
    char event[4096];
    if (changes < 0)
        changes = inotify_init1(IN_CLOEXEC);
    return read(changes, event, sizeof event);
}

static long read_event(void)
{
    static int never = -1;
    uint64_t count;
    if (never < 0)
        never = eventfd(0, EFD_CLOEXEC);
    return read(never, &count, sizeof count);
}

static long sleep_for_long(void)
{
    return nanosleep(&(struct timespec){HOUR, 0}, NULL);
}

/* Its function says what failed, not errno. */
static long condition_for_long(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += HOUR;
    pthread_mutex_lock(&lock);
    int result = pthread_cond_timedwait(&never, &lock, &limit);
    pthread_mutex_unlock(&lock);
    errno = result ? result : EINTR; /* it was woken by nobody */
    return -1;
}

static const struct sleeper {
    const char *name;
    long (*sleep)(void);
    bool left_alone;
} sleepers[] = {
    {"epoll_wait", epoll_for_ever, false},
    {"epoll_wait, timed", epoll_for_long, true},
    {"poll", poll_for_long, false},
    {"semop", system_v, false},
    {"sigwaitinfo", wait_for_signal, false},
    {"recv, timed", receive_for_long, true},
    {"accept, timed", accept_for_long, true},
    {"read of inotify", read_changes, false},
    {"read of an eventfd", read_event, false},
    {"nanosleep", sleep_for_long, false},
    {"pthread_cond_timedwait", condition_for_long, false},
};

/* ------------------------------------------------------------------ the two processes */

static void note_signal(int number)
{
    (void)number;
    seen->handled++;
}

static _Noreturn void sleep_again(const struct sleeper *sleeper)
{
    struct sigaction action = {.sa_handler = note_signal};
    sigaction(SIGUSR1, &action, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        if (sleeper->sleep() >= 0 || errno != EINTR)
            seen->failed++;
        seen->interrupted++;
    }
}

static pid_t start_sleeper(const struct sleeper *sleeper)
{
    memset(seen, 0, sizeof *seen);
    seen->set = -1;
    pid_t child = fork();
    if (child == 0)
        sleep_again(sleeper);
    REQUIRE(child > 0);
    return child;
}

static void end_sleeper(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (seen->set >= 0)
        semctl(seen->set, 0, IPC_RMID);
}

/* The line of its call, without what a stop changes at times, once it sleeps in one. */
static void await_sleep(pid_t child, char *line, size_t size)
{
    char stat[1024], *state;
    for (;;) {
        uint32_t pid = (uint32_t)child;
        if (proc_read_thread(pid, pid, "stat", stat, sizeof stat) > 0 &&
            (state = strrchr(stat, ')')) && state[2] == 'S' &&
            proc_read_thread(pid, pid, "syscall", line, size) > 0 && line[0] >= '0' &&
            line[0] <= '9')
            return;
        nanosleep(&(struct timespec){0, 100000}, NULL);
    }
}

/* After a stop the rest of a timed call of some kinds is another call: restart_syscall. */
static bool is_same_call(const char *before, const char *after)
{
    bool restarted = strncmp(after, "128 ", 4) == 0 || strncmp(after, "219 ", 4) == 0;
    return restarted ? strcmp(strchr(before, ' '), strchr(after, ' ')) == 0
                     : strcmp(before, after) == 0;
}

static ssize_t stop_child(pid_t child, unsigned char *set)
{
    uint32_t pid = (uint32_t)child;
    return stop_for_registers(pid, pid, UINT64_C(60000000000), true, set, NULL);
}

static void stop_often(const struct sleeper *sleeper)
{
    char before[256], after[256];
    unsigned char set[STOP_SET];
    pid_t child = start_sleeper(sleeper);
    await_sleep(child, before, sizeof before);
    for (int round = 0; round < 30; round++) {
        CHECK_MSG(stop_child(child, set) > 0, "%s, round %d", sleeper->name, round);
        await_sleep(child, after, sizeof after);
        CHECK_MSG(is_same_call(before, after), "%s: %s, before %s", sleeper->name, after, before);
    }
    CHECK_MSG(seen->interrupted == 0, "%s: %d times", sleeper->name, seen->interrupted);
    CHECK_MSG(seen->failed == 0, "%s", sleeper->name);
    end_sleeper(child);
}

/* Is anybody still about to let it go? */
static bool is_traced(pid_t child)
{
    char text[4096];
    return proc_read_thread((uint32_t)child, (uint32_t)child, "status", text, sizeof text) > 0 &&
           proc_number(text, "TracerPid:", 10) != 0;
}

static _Noreturn void stop_for_ever(pid_t child)
{
    unsigned char set[STOP_SET];
    uint32_t pid = (uint32_t)child;
    while (stop_for_registers(pid, pid, UINT64_C(60000000000), false, set, NULL) >= 0)
        seen->stops++;
    _exit(0);
}

/* Who stops is killed at some moment of a stop, each time another. */
static void kill_often(const struct sleeper *sleeper)
{
    char line[256];
    pid_t child = start_sleeper(sleeper);
    await_sleep(child, line, sizeof line);
    for (long round = 0; round < 50; round++) {
        int stops = seen->stops, status = 0;
        pid_t inspector = fork();
        REQUIRE(inspector >= 0);
        if (inspector == 0)
            stop_for_ever(child);
        while (seen->stops == stops && waitpid(inspector, &status, WNOHANG) == 0)
            sched_yield();
        nanosleep(&(struct timespec){0, round * 3000}, NULL);
        kill(inspector, SIGKILL);
        waitpid(inspector, &status, 0);
        while (is_traced(child))
            sched_yield();
        await_sleep(child, line, sizeof line);
    }
    CHECK_MSG(seen->interrupted == 0, "%s: %d times", sleeper->name, seen->interrupted);
    end_sleeper(child);
}

/* What would wait for the whole of its time again is left alone. */
static void leave_alone(const struct sleeper *sleeper, bool stops)
{
    char line[256];
    gordian_error error;
    struct target *target;
    pid_t child = start_sleeper(sleeper);
    await_sleep(child, line, sizeof line);
    REQUIRE(target_open_live(&target, (uint32_t)child, &error) == GORDIAN_OK);
    bool stopped = target_registers(target, &target->threads[0], 60000, NULL);
    CHECK_MSG(stopped == stops, "%s: %d", sleeper->name, stopped);
    target_close(target);
    end_sleeper(child);
}

/* Stopped from outside with a signal waiting for it: when it goes on the handler runs, and the call
 * that it ran in is over. */
static void keep_signal(const struct sleeper *sleeper)
{
    char line[256];
    unsigned char set[STOP_SET];
    int status;
    pid_t child = start_sleeper(sleeper);
    await_sleep(child, line, sizeof line);
    kill(child, SIGSTOP);
    CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
    kill(child, SIGUSR1);
    CHECK_MSG(stop_child(child, set) > 0, "%s", sleeper->name);
    kill(child, SIGCONT);
    while (seen->handled == 0)
        nanosleep(&(struct timespec){0, 100000}, NULL);
    await_sleep(child, line, sizeof line);
    CHECK_MSG(seen->interrupted == 1, "%s: %d", sleeper->name, seen->interrupted);
    CHECK_MSG(seen->handled == 1, "%s: %d", sleeper->name, seen->handled);
    end_sleeper(child);
}

/* ------------------------------------------------------------------ asking */

static long read_pipe(void)
{
    static int never[2] = {-1, -1};
    char letter;
    if (never[0] < 0 && pipe(never) != 0)
        return 0;
    return read(never[0], &letter, 1);
}

static long wait_for_word(void)
{
    static uint32_t word;
    return syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static long wait_for_child(void)
{
    pid_t self = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == self)
            pause();
        _exit(0);
    }
    return waitpid(child, NULL, 0);
}

static const struct sleeper asked[] = {
    {"read of a pipe", read_pipe, false},
    {"futex", wait_for_word, false},
    {"waitpid", wait_for_child, false},
};

/* A process that makes calls for who asks does not notice either, and tells its timers. */
static void ask_often(const struct sleeper *sleeper)
{
    char before[256], after[256];
    uint32_t pid;
    pid_t child = start_sleeper(sleeper);
    pid = (uint32_t)child;
    await_sleep(child, before, sizeof before);
    for (int round = 0; round < 30; round++) {
        struct ask ask = {0};
        int at_death = 0;
        size_t timer = ask_add(&ask, SYS_getitimer, ITIMER_REAL, ASK_HERE, 0, 0);
        size_t death = ask_add(&ask, SYS_prctl, PR_GET_PDEATHSIG, ASK_HERE, 0, 0);
        CHECK_MSG(stop_to_ask(pid, pid, UINT64_C(60000000000), &ask), "%s, round %d", sleeper->name,
                  round);
        memcpy(&at_death, ask.calls[death].answer, sizeof at_death);
        CHECK_MSG(ask.calls[timer].result == 0 && at_death == SIGKILL, "%s: %d", sleeper->name,
                  at_death);
        await_sleep(child, after, sizeof after);
        CHECK_MSG(is_same_call(before, after), "%s: %s, before %s", sleeper->name, after, before);
    }
    CHECK_MSG(seen->interrupted == 0 && seen->failed == 0, "%s: %d times", sleeper->name,
              seen->interrupted);
    /* A handler that comes later still ends the call. */
    kill(child, SIGUSR1);
    while (seen->interrupted == 0)
        nanosleep(&(struct timespec){0, 100000}, NULL);
    CHECK_MSG(seen->handled == 1, "%s: %d", sleeper->name, seen->handled);
    end_sleeper(child);
}

/* Signals that come while it is asked: each runs its handler, and each ends a call. */
static void ask_signalled(const struct sleeper *sleeper)
{
    char line[256];
    pid_t child = start_sleeper(sleeper);
    uint32_t pid = (uint32_t)child;
    await_sleep(child, line, sizeof line);
    for (int round = 0; round < 50; round++) {
        int handled = seen->handled;
        pid_t sender = fork();
        REQUIRE(sender >= 0);
        if (sender == 0) {
            nanosleep(&(struct timespec){0, round * 5000}, NULL);
            kill(child, SIGUSR1);
            _exit(0);
        }
        struct ask ask = {0};
        ask_add(&ask, SYS_getitimer, ITIMER_REAL, ASK_HERE, 0, 0);
        stop_to_ask(pid, pid, UINT64_C(60000000000), &ask);
        waitpid(sender, NULL, 0);
        while (seen->handled == handled)
            nanosleep(&(struct timespec){0, 100000}, NULL);
        await_sleep(child, line, sizeof line);
    }
    CHECK_MSG(seen->handled == 50 && seen->interrupted == 50, "%s: %d handled, %d interrupted",
              sleeper->name, seen->handled, seen->interrupted);
    end_sleeper(child);
}

/* When the time for a stop is over, nothing is read any more, whatever there is to be read. */
static void stop_too_late(const struct sleeper *sleeper)
{
    static char bytes[4096];
    char line[256];
    unsigned char set[STOP_SET];
    struct stack_copy stack = {.bytes = bytes, .room = sizeof bytes};
    int status;
    pid_t child = start_sleeper(sleeper);
    await_sleep(child, line, sizeof line);
    kill(child, SIGSTOP);
    CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
    CHECK(stop_for_registers((uint32_t)child, (uint32_t)child, 0, true, set, &stack) == 0);
    CHECK(stack.size == 0);
    kill(child, SIGCONT);
    await_sleep(child, line, sizeof line);
    CHECK_MSG(seen->failed == 0, "%s", sleeper->name);
    end_sleeper(child);
}

/* Counts in a register and on its caller's stack, which is never more than one behind. */
__attribute__((noinline, noreturn)) static void count_for_ever(uint64_t *slot)
{
#if defined(__x86_64__)
    register uint64_t count __asm__("rbx") = 0;
    for (;;)
        __asm__ volatile("add $1, %0\n\tmov %0, %1" : "+r"(count), "=m"(*slot));
#else
    register uint64_t count __asm__("x19") = 0;
    for (;;)
        __asm__ volatile("add %0, %0, #1\n\tstr %0, %1" : "+r"(count), "=m"(*slot));
#endif
}

/* The copy is of the moment that the registers are of. */
static void stop_running(void)
{
    enum {
#if defined(__x86_64__)
        COUNT = 5,
        POINTER = 19
#else
        COUNT = 19,
        POINTER = 31
#endif
    };
    static char bytes[64u << 10];
    seen->slot = 0;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        uint64_t slot = 0;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        seen->slot = (uintptr_t)&slot;
        count_for_ever(&slot);
    }
    while (seen->slot == 0)
        sched_yield();
    for (int round = 0; round < 30;) {
        uint64_t set[STOP_SET / sizeof(uint64_t)], counted = 0;
        struct stack_copy stack = {.bytes = bytes, .room = sizeof bytes};
        uint32_t pid = (uint32_t)child;
        REQUIRE(stop_for_registers(pid, pid, UINT64_C(60000000000), true, (unsigned char *)set,
                                   &stack) > 0);
        uint64_t offset = seen->slot - set[POINTER];
        REQUIRE(offset + sizeof counted <= stack.size);
        memcpy(&counted, bytes + offset, sizeof counted);
        if (counted == 0)
            continue; /* it has not begun */
        round++;
        CHECK_MSG(set[COUNT] - counted <= 1, "%llu in the register, %llu on the stack",
                  (unsigned long long)set[COUNT], (unsigned long long)counted);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

int main(void)
{
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(seen != MAP_FAILED);
    for (size_t i = 0; i < sizeof sleepers / sizeof *sleepers; i++)
        stop_often(&sleepers[i]);
    for (size_t i = 0; i < sizeof sleepers / sizeof *sleepers; i++)
        kill_often(&sleepers[i]);
    for (size_t i = 0; i < sizeof sleepers / sizeof *sleepers; i++)
        leave_alone(&sleepers[i], !sleepers[i].left_alone);
    keep_signal(&sleepers[0]);
    keep_signal(&sleepers[1]);
    stop_running();
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        ask_often(&asked[i]);
    ask_signalled(&asked[0]);
    ask_signalled(&asked[1]);
    stop_too_late(&asked[1]);
    return test_done();
}
