/* Programs that forbid themselves all system calls but a few, on pain of death, and lock.
 *
 *     confined locks|deadlock|ends|child prctl|seccomp
 */

#include "settle.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALLOW(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                           \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static bool by_prctl;
static bool with_threads; /* may be made and may end */

/* What the C library needs for locks and the end, and no more. */
static void confine(void)
{
    struct sock_filter strict[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_futex),
        ALLOW(SYS_write),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_filter threads[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_futex),
        ALLOW(SYS_write),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_mmap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mprotect),
        ALLOW(SYS_madvise),
        ALLOW(SYS_brk),
        ALLOW(SYS_clone),
        ALLOW(SYS_clone3),
        ALLOW(SYS_rseq),
        ALLOW(SYS_set_robust_list),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_rt_sigaction),
        ALLOW(SYS_wait4),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    free(malloc(1));        /* the first one asks for random numbers */
    wait_until_all_sleep(); /* threads have begun */
    struct sock_fprog program = {sizeof strict / sizeof *strict, strict};
    if (with_threads)
        program = (struct sock_fprog){sizeof threads / sizeof *threads, threads};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    long result = by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0)
                           : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                     SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (result != 0)
        exit(77);
}

static void say(const char *text)
{
    (void)!write(STDOUT_FILENO, text, strlen(text));
}

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t last = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int turn, rounds;

/* Takes turns with the other, and everything else on the way. */
static void *take_turns(void *own)
{
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&a);
        while (turn != *(int *)own)
            pthread_cond_wait(&condition, &a);
        turn = !turn;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&a);
        sem_wait(&semaphore);
        pthread_mutex_lock(&b);
        pthread_mutex_lock(&a); /* another order, in one thread at a time */
        pthread_mutex_unlock(&a);
        pthread_mutex_unlock(&b);
        sem_post(&semaphore);
        pthread_rwlock_wrlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
    }
    return NULL;
}

static void *other_turns(void *unused)
{
    static int own = 1;
    take_turns(&own);
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&last); /* until the end: ending takes more than is allowed */
    return unused;
}

static void locks(void)
{
    pthread_t other;
    int own = 0;
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 1);
    rounds = 200;
    pthread_create(&other, NULL, other_turns, NULL);
    confine();
    take_turns(&own);
    pthread_mutex_lock(&last);
    pthread_barrier_wait(&barrier);
    say("over\n");
}

/* The second one of the first who waits for the other. */
static void *second_half(void *unused)
{
    pthread_mutex_lock(&b);
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&a);
    return unused;
}

static void deadlock(void)
{
    pthread_t other;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&other, NULL, second_half, NULL);
    pthread_mutex_lock(&a);
    confine();
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&b);
    say("cannot be\n");
}

/* Threads that begin and end, one of them with a lock. */
static void *short_life(void *lock)
{
    pthread_mutex_lock(lock);
    if (lock == &a)
        pthread_mutex_unlock(lock);
    return NULL;
}

static void make_threads(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, short_life, i == 10 ? &b : &a);
        pthread_join(thread, NULL);
    }
    say("over\n");
}

static void ends(void)
{
    confine();
    make_threads();
}

static void child(void)
{
    int status = 0;
    confine();
    pid_t pid = fork();
    if (pid == 0) {
        make_threads();
        _exit(3);
    }
    if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 3)
        say("ended well\n");
}

int main(int count, char **arguments)
{
    const char *what = count > 2 ? arguments[1] : "";
    by_prctl = count > 2 && strcmp(arguments[2], "prctl") == 0;
    with_threads = strcmp(what, "ends") == 0 || strcmp(what, "child") == 0;
    if (strcmp(what, "locks") == 0)
        locks();
    else if (strcmp(what, "deadlock") == 0)
        deadlock();
    else if (strcmp(what, "ends") == 0)
        ends();
    else if (strcmp(what, "child") == 0)
        child();
    _exit(0);
}
