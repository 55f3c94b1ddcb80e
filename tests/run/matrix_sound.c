/* Sound programs with unusual locking: locks shared between processes, robust ones, waits that
 * signal handlers end, mutexes handed from thread to thread. None of them may be ended. */
#include "matrix.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                              \
            exit(4);                                                                               \
        }                                                                                          \
    } while (0)

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;

/* ------------------------------------------------------------------ locks between processes */

enum kind { PLAIN, ROBUST, INHERIT, RWLOCK_READ, RWLOCK_WRITE, SPIN, KINDS };

/* Who has it while the child wants it. */
enum moment { BEFORE, AFTER, OTHER };

static struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    int waiting, go_on;
} * shared;

static void make_shared(enum kind kind)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    pthread_rwlockattr_t rwlock;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(shared != MAP_FAILED);
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    if (kind == ROBUST)
        pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST);
    if (kind == INHERIT)
        pthread_mutexattr_setprotocol(&mutex, PTHREAD_PRIO_INHERIT);
    MUST(pthread_mutex_init(&shared->mutex, &mutex) == 0);
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    MUST(pthread_cond_init(&shared->condition, &condition) == 0);
    pthread_rwlockattr_init(&rwlock);
    pthread_rwlockattr_setpshared(&rwlock, PTHREAD_PROCESS_SHARED);
    MUST(pthread_rwlock_init(&shared->rwlock, &rwlock) == 0);
    MUST(pthread_spin_init(&shared->spin, PTHREAD_PROCESS_SHARED) == 0);
}

static void take(enum kind kind)
{
    switch (kind) {
    case RWLOCK_READ:
    case RWLOCK_WRITE:
        MUST(pthread_rwlock_wrlock(&shared->rwlock) == 0);
        break;
    case SPIN:
        MUST(pthread_spin_lock(&shared->spin) == 0);
        break;
    default:
        MUST(pthread_mutex_lock(&shared->mutex) == 0);
    }
}

static void give(enum kind kind)
{
    switch (kind) {
    case RWLOCK_READ:
    case RWLOCK_WRITE:
        MUST(pthread_rwlock_unlock(&shared->rwlock) == 0);
        break;
    case SPIN:
        MUST(pthread_spin_unlock(&shared->spin) == 0);
        break;
    default:
        MUST(pthread_mutex_unlock(&shared->mutex) == 0);
    }
}

/* Until a process of one thread sleeps in a futex, or has spun for some time. */
static void until_blocked(pid_t process, bool spins)
{
    char path[64], text[600];
    for (;;) {
        snprintf(path, sizeof path, spins ? "/proc/%d/stat" : "/proc/%d/syscall", process);
        FILE *file = fopen(path, "r");
        MUST(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        const char *name_end = strrchr(text, ')');
        unsigned long worked = 0;
        if (spins && name_end &&
            sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu", &worked) == 1 &&
            worked >= 4)
            return;
        if (!spins && text[0] >= '0' && text[0] <= '9' && atoi(text) == SYS_futex)
            return;
        siginfo_t ended = {0};
        MUST(waitid(P_PID, (id_t)process, &ended, WEXITED | WNOHANG | WNOWAIT) == 0);
        if (ended.si_pid)
            return; /* too early: expect_end tells */
        usleep(1000);
    }
}

static sem_t taken, enough;
static enum kind held_kind;

static void *hold_for_others(void *unused)
{
    take(held_kind);
    sem_post(&taken);
    sem_wait(&enough);
    give(held_kind);
    return unused;
}

static void child_wants(enum kind kind, int ready)
{
    char byte;
    MUST(read(ready, &byte, 1) == 1);
    if (kind == RWLOCK_READ) {
        MUST(pthread_rwlock_rdlock(&shared->rwlock) == 0);
        MUST(pthread_rwlock_unlock(&shared->rwlock) == 0);
    } else {
        take(kind);
        give(kind);
    }
    _exit(0);
}

static void expect_end(pid_t child)
{
    int status = -1;
    MUST(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        printf("the child ended with 0x%x\n", (unsigned)status);
        exit(5);
    }
}

static void between_processes(enum kind kind, enum moment moment)
{
    pthread_t other = 0;
    int ready[2];
    MUST(pipe(ready) == 0);
    make_shared(kind);
    held_kind = kind;
    if (moment == OTHER) {
        sem_init(&taken, 0, 0);
        sem_init(&enough, 0, 0);
        other = go(hold_for_others, NULL);
        sem_wait(&taken);
    }
    if (moment == BEFORE)
        take(kind);
    pid_t child = fork();
    if (child == 0)
        child_wants(kind, ready[0]);
    if (moment == AFTER)
        take(kind);
    MUST(write(ready[1], "", 1) == 1);
    until_blocked(child, kind == SPIN);
    if (moment == OTHER) {
        sem_post(&enough);
        finish(other);
    } else {
        give(kind);
    }
    expect_end(child);
}

#define BETWEEN(name, kind)                                                                        \
    static void name##_before(void)                                                                \
    {                                                                                              \
        between_processes(kind, BEFORE);                                                           \
    }                                                                                              \
    static void name##_after(void)                                                                 \
    {                                                                                              \
        between_processes(kind, AFTER);                                                            \
    }                                                                                              \
    static void name##_other(void)                                                                 \
    {                                                                                              \
        between_processes(kind, OTHER);                                                            \
    }

BETWEEN(plain, PLAIN)
BETWEEN(robust, ROBUST)
BETWEEN(inherit, INHERIT)
BETWEEN(reader, RWLOCK_READ)
BETWEEN(writer, RWLOCK_WRITE)
BETWEEN(spin, SPIN)

/* Children that wait for a signal with a mutex of all, and one who wants it meanwhile. */
static void wait_with_others(void)
{
    MUST(pthread_mutex_lock(&shared->mutex) == 0);
    shared->waiting++;
    while (!shared->go_on)
        MUST(pthread_cond_wait(&shared->condition, &shared->mutex) == 0);
    shared->waiting--;
    MUST(pthread_mutex_unlock(&shared->mutex) == 0);
    _exit(0);
}

static void condition_of_all(void)
{
    pid_t children[5];
    make_shared(PLAIN);
    MUST(pthread_mutex_lock(&shared->mutex) == 0);
    for (int i = 0; i < 5; i++)
        if ((children[i] = fork()) == 0)
            wait_with_others();
    for (int i = 0; i < 5; i++)
        until_blocked(children[i], false);
    MUST(pthread_mutex_unlock(&shared->mutex) == 0);
    for (int waiting = 0; waiting < 5;) {
        MUST(pthread_mutex_lock(&shared->mutex) == 0);
        waiting = shared->waiting;
        MUST(pthread_mutex_unlock(&shared->mutex) == 0);
    }
    for (int i = 0; i < 5; i++)
        until_blocked(children[i], false);
    MUST(pthread_mutex_lock(&shared->mutex) == 0);
    shared->go_on = 1;
    MUST(pthread_cond_broadcast(&shared->condition) == 0);
    MUST(pthread_mutex_unlock(&shared->mutex) == 0);
    for (int i = 0; i < 5; i++)
        expect_end(children[i]);
}

static void *lock_a(void *unused)
{
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    return unused;
}

/* What the first process took, the third one has, under a number of two processes ago. */
static void grandchild(void)
{
    MUST(pthread_mutex_lock(&a) == 0);
    pid_t child = fork();
    if (child == 0) {
        pid_t second = fork();
        if (second == 0) {
            pthread_t waiter = go(lock_a, NULL);
            settle();
            MUST(pthread_mutex_unlock(&a) == 0);
            finish(waiter);
            _exit(0);
        }
        expect_end(second);
        _exit(0);
    }
    expect_end(child);
}

/* ------------------------------------------------------------------ robust mutexes */

static pthread_mutex_t dying;

static void make_dying(bool inherits)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (inherits)
        pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    MUST(pthread_mutex_init(&dying, &attributes) == 0);
}

static void *die_holding(void *unused)
{
    pthread_mutex_lock(&dying);
    sem_post(&taken);
    sem_wait(&enough);
    return unused;
}

static void *inherit_it(void *unused)
{
    MUST(pthread_mutex_lock(&dying) == EOWNERDEAD);
    MUST(pthread_mutex_consistent(&dying) == 0);
    pthread_mutex_unlock(&dying);
    return unused;
}

static void owner_dies(bool inherits)
{
    make_dying(inherits);
    sem_init(&taken, 0, 0);
    sem_init(&enough, 0, 0);
    pthread_t owner = go(die_holding, NULL);
    sem_wait(&taken);
    pthread_t waiter = go(inherit_it, NULL);
    settle();
    sem_post(&enough);
    finish(owner);
    finish(waiter);
}

static void robust_dies(void)
{
    owner_dies(false);
}

static void robust_inherit_dies(void)
{
    owner_dies(true);
}

/* The same between processes. */
static void robust_process_dies(void)
{
    make_shared(ROBUST);
    int ready[2];
    MUST(pipe(ready) == 0);
    MUST(pthread_mutex_lock(&shared->mutex) == 0);
    pid_t child = fork();
    if (child == 0) {
        MUST(pthread_mutex_lock(&shared->mutex) == 0);
        MUST(write(ready[1], "", 1) == 1);
        pause();
    }
    until_blocked(child, false);
    MUST(pthread_mutex_unlock(&shared->mutex) == 0);
    char byte;
    MUST(read(ready[0], &byte, 1) == 1);
    kill(child, SIGKILL);
    MUST(pthread_mutex_lock(&shared->mutex) == EOWNERDEAD);
    MUST(pthread_mutex_consistent(&shared->mutex) == 0);
    MUST(pthread_mutex_unlock(&shared->mutex) == 0);
    waitpid(child, NULL, 0);
}

/* ------------------------------------------------------------------ handlers that end a wait */

static void alarm_often(void (*handler)(int))
{
    struct itimerval timer = {{0, 100000}, {0, 100000}}; /* again, should it come too early */
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static volatile sig_atomic_t settled;
static sem_t alarmed;

static void post_alarmed(int number)
{
    (void)number;
    if (settled)
        sem_post(&alarmed);
}

static void *wait_holding(void *unused)
{
    pthread_mutex_lock(&a);
    settled = 1;
    while (sem_wait(&alarmed) != 0)
        ;
    pthread_mutex_unlock(&a);
    return unused;
}

static void *want_a_later(void *unused)
{
    while (!settled)
        usleep(100);
    return lock_a(unused);
}

/* Somebody waits for a lock of one whom only a handler will wake. */
static void handler_posts_holder(void)
{
    sem_init(&alarmed, 0, 0);
    alarm_often(post_alarmed);
    at_once(wait_holding, want_a_later);
}

static void unlock_a(int number)
{
    (void)number;
    if (settled)
        pthread_mutex_unlock(&a);
}

/* Against the book, but it works: a handler that unlocks. */
static void handler_unlocks(void)
{
    alarm_often(unlock_a);
    pthread_mutex_lock(&a);
    settled = 1;
    pthread_mutex_lock(&a);
    settled = 0;
    pthread_mutex_unlock(&a);
}

static sigjmp_buf back;

static void jump_back(int number)
{
    (void)number;
    if (settled)
        siglongjmp(back, 1);
}

static void handler_jumps(void)
{
    alarm_often(jump_back);
    pthread_mutex_lock(&a);
    if (sigsetjmp(back, 1) == 0) {
        settled = 1;
        pthread_mutex_lock(&a);
    }
    settled = 0;
    pthread_mutex_unlock(&a);
    nest(&a, &b);
}

static void leave_thread(int number)
{
    (void)number;
    if (settled)
        pthread_exit(NULL);
}

static pthread_spinlock_t spinning;

static void *spin_until_alarm(void *unused)
{
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    settled = 1;
    pthread_spin_lock(&spinning);
    return unused;
}

/* A thread that spins for what its creator never gives back is ended by a handler. */
static void handler_leaves_spin(void)
{
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    pthread_spin_init(&spinning, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_lock(&spinning);
    alarm_often(leave_thread);
    finish(go(spin_until_alarm, NULL));
}

/* ------------------------------------------------------------------ others who give it back */

static int post_from_outside(void *unused)
{
    (void)unused;
    while (!settled)
        syscall(SYS_sched_yield);
    struct timespec while_all_wait = {0, 100000000};
    syscall(SYS_nanosleep, &while_all_wait, NULL);
    sem_post(&alarmed);
    syscall(SYS_exit, 0);
    return 0;
}

/* A process that has our memory, and is no thread of ours, posts. */
static void clone_posts(void)
{
    enum { STACK = 65536 };
    char *stack = malloc(STACK);
    sem_init(&alarmed, 0, 0);
    pid_t process =
        clone(post_from_outside, stack + STACK, CLONE_VM | CLONE_SIGHAND | SIGCHLD, NULL);
    MUST(process > 0);
    at_once(wait_holding, want_a_later);
    MUST(waitpid(process, NULL, 0) == process);
    free(stack);
}

static void *unlock_for_other(void *unused)
{
    settle();
    pthread_mutex_unlock(&a);
    return unused;
}

/* A mutex that is used as a signal: locked twice by one, unlocked by the other. */
static void handed_over(void)
{
    pthread_mutex_lock(&a);
    pthread_t other = go(unlock_for_other, NULL);
    pthread_mutex_lock(&a);
    finish(other);
    pthread_mutex_unlock(&a);
}

/* A gate that is shut by one, who waits for those behind it, and opened by another. */
static void opened_by_other(void)
{
    pthread_mutex_lock(&a);
    pthread_t behind = go(lock_a, NULL), other = go(unlock_for_other, NULL);
    finish(behind);
    finish(other);
}

static void *hand_to_and_fro(void *argument)
{
    pthread_mutex_t *own = argument ? &a : &b, *others = argument ? &b : &a;
    if (argument)
        pthread_mutex_lock(own);
    for (int i = 0; i < 300; i++) {
        pthread_mutex_lock(own);
        pthread_mutex_unlock(others);
    }
    return NULL;
}

/* Two mutexes that go round: each is unlocked by the thread that did not lock it. */
static void handed_to_and_fro(void)
{
    pthread_t one = go(hand_to_and_fro, (void *)1);
    settle();
    pthread_t two = go(hand_to_and_fro, NULL);
    finish(one);
    finish(two);
}

const struct matrix_case matrix_sound[] = {
    {"shared-mutex-before", "quiet", plain_before},
    {"shared-mutex-after", "quiet", plain_after},
    {"shared-mutex-other", "quiet", plain_other},
    {"shared-robust-before", "quiet", robust_before},
    {"shared-robust-after", "quiet", robust_after},
    {"shared-robust-other", "quiet", robust_other},
    {"shared-inherit-before", "quiet", inherit_before},
    {"shared-inherit-after", "quiet", inherit_after},
    {"shared-inherit-other", "quiet", inherit_other},
    {"shared-reader-before", "quiet", reader_before},
    {"shared-reader-after", "quiet", reader_after},
    {"shared-reader-other", "quiet", reader_other},
    {"shared-writer-before", "quiet", writer_before},
    {"shared-writer-after", "quiet", writer_after},
    {"shared-writer-other", "quiet", writer_other},
    {"shared-spin-before", "quiet", spin_before},
    {"shared-spin-after", "quiet", spin_after},
    {"shared-spin-other", "quiet", spin_other},
    {"shared-condition", "quiet", condition_of_all},
    {"fork-grandchild", "quiet", grandchild},
    {"robust-owner-dies", "quiet", robust_dies},
    {"robust-inherit-owner-dies", "quiet", robust_inherit_dies},
    {"robust-process-dies", "quiet", robust_process_dies},
    {"handler-posts-holder", "unharmed", handler_posts_holder},
    {"handler-unlocks", "unharmed", handler_unlocks},
    {"handler-jumps", "unharmed", handler_jumps},
    {"handler-leaves-spin", "unharmed", handler_leaves_spin},
    {"clone-posts", "quiet", clone_posts},
    {"handed-over", "unharmed", handed_over},
    {"handed-to-and-fro", "unharmed", handed_to_and_fro},
    {"opened-by-other", "unharmed", opened_by_other},
    {NULL, NULL, NULL},
};

/* ------------------------------------------------------------------ likely */

static void leave_program(int number)
{
    (void)number;
    _exit(0);
}

static void relock_handler_exits(void)
{
    signal(SIGUSR1, leave_program);
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&a);
}

static void *nest_ab(void *unused)
{
    pthread_mutex_lock(&a);
    settle();
    pthread_mutex_lock(&b);
    return unused;
}

static void *nest_ba(void *unused)
{
    pthread_mutex_lock(&b);
    settle();
    pthread_mutex_lock(&a);
    return unused;
}

static void abba_handler_exits(void)
{
    signal(SIGUSR1, leave_program);
    at_once(nest_ab, nest_ba);
}

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *wait_under_b(void *unused)
{
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    pthread_cond_wait(&condition, &a);
    return unused;
}

static void *want_b_later(void *unused)
{
    settle();
    pthread_mutex_lock(&b);
    return unused;
}

/* No handler may signal a condition, but one may leave. */
static void condition_handler_exits(void)
{
    signal(SIGUSR1, leave_program);
    at_once(wait_under_b, want_b_later);
}

static void block_usr1(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, signals, NULL);
}

static void *unlock_when_told(void *unused)
{
    sigset_t signals;
    int number;
    block_usr1(&signals);
    sigwait(&signals, &number);
    pthread_mutex_unlock(&a);
    return unused;
}

/* The other one may unlock it, and in the end does. */
static void relock_others_run(void)
{
    sigset_t signals;
    block_usr1(&signals);
    pthread_t other = go(unlock_when_told, NULL);
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&a);
    finish(other);
}

/* The same with a gate. */
static void opened_when_told(void)
{
    sigset_t signals;
    block_usr1(&signals);
    pthread_mutex_lock(&a);
    pthread_t behind = go(lock_a, NULL), other = go(unlock_when_told, NULL);
    finish(behind);
    finish(other);
}

static void *leave_when_told(void *unused)
{
    sigset_t signals;
    int number;
    block_usr1(&signals);
    sigwait(&signals, &number);
    _exit(0);
    return unused;
}

/* A process that shared it has died. A third one, of which nothing is known here, might recover. */
static void shared_process_gone(void)
{
    sigset_t signals;
    make_shared(PLAIN);
    block_usr1(&signals);
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_lock(&shared->mutex);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    go(leave_when_told, NULL);
    pthread_mutex_lock(&shared->mutex);
}

const struct matrix_case matrix_likely[] = {
    {"likely-relock-handler", "likely", relock_handler_exits},
    {"abba-handler", "goes-on", abba_handler_exits},
    {"likely-condition-handler", "likely", condition_handler_exits},
    {"likely-relock-others", "likely", relock_others_run},
    {"likely-opened-others", "likely", opened_when_told},
    {"likely-process-gone", "likely-gone", shared_process_gone},
    {NULL, NULL, NULL},
};
