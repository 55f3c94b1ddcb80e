/* The watched program must not notice. Each case checks that for itself and prints "ok".
 *
 *     host NAME
 */
#include "settle.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static char *program;

static void nest(void)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
}

/* ------------------------------------------------------------------ before main */

static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t early_rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t early_sem;
static int early_result = -1;

static __attribute__((constructor(102))) void constructor(void)
{
    early_result = pthread_mutex_lock(&early) | pthread_mutex_unlock(&early) |
                   pthread_rwlock_rdlock(&early_rw) | pthread_rwlock_unlock(&early_rw) |
                   sem_init(&early_sem, 0, 1) | sem_wait(&early_sem) | sem_post(&early_sem);
}

static void early_constructor(void)
{
    MUST(early_result == 0);
    nest();
}

/* ------------------------------------------------------------------ threads */

static atomic_int ended;

static void *short_life(void *argument)
{
    nest();
    atomic_fetch_add(&ended, 1);
    return argument;
}

/* Many more than there are records in use at a time. */
static void thousands(void)
{
    enum { ROUNDS = 100, EACH = 50 };
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[EACH];
        for (int i = 0; i < EACH; i++)
            MUST(pthread_create(&threads[i], NULL, short_life, program + i) == 0);
        for (int i = 0; i < EACH; i++) {
            void *value;
            MUST(pthread_join(threads[i], &value) == 0 && value == program + i);
        }
    }
    MUST(atomic_load(&ended) == ROUNDS * EACH);
}

static void *until_told(void *argument)
{
    pthread_rwlock_rdlock(argument);
    pthread_rwlock_unlock(argument);
    return NULL;
}

/* All at the same time. */
static void crowd(void)
{
    enum { CROWD = 2000 };
    static pthread_t threads[CROWD];
    static pthread_rwlock_t told = PTHREAD_RWLOCK_INITIALIZER;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    pthread_rwlock_wrlock(&told);
    int made = 0;
    while (made < CROWD && pthread_create(&threads[made], &attributes, until_told, &told) == 0)
        made++;
    wait_until_all_sleep();
    pthread_rwlock_unlock(&told);
    for (int i = 0; i < made; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    MUST(made > 500);
}

static pthread_key_t key;

/* Locks in the very last destructors of a thread. */
static void last_words(void *round)
{
    nest();
    if ((intptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(key, (void *)((intptr_t)round + 1));
}

static void *with_destructor(void *unused)
{
    pthread_setspecific(key, (void *)1);
    nest();
    return unused;
}

static void destructors(void)
{
    pthread_key_create(&key, last_words);
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, with_destructor, NULL) == 0);
        MUST(pthread_join(thread, NULL) == 0);
    }
}

static void *contend(void *unused)
{
    for (int i = 0; i < 2000; i++)
        nest();
    return unused;
}

/* As little stack as there may be. */
static void small_stack(void)
{
    pthread_attr_t attributes;
    pthread_t threads[4];
    pthread_attr_init(&attributes);
    MUST(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
    for (int i = 0; i < 4; i++)
        MUST(pthread_create(&threads[i], &attributes, contend, NULL) == 0);
    for (int i = 0; i < 4; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
}

static sigjmp_buf out;

static void overflowed(int number)
{
    siglongjmp(out, number);
}

static __attribute__((noinline)) int deeper(volatile char *above)
{
    volatile char frame[1024];
    frame[0] = above ? above[0] : 0;
    nest();
    return above == frame ? 0 : deeper(frame) + frame[0]; /* never the same: there is no end */
}

/* A stack that overflows in the middle of a lock is the program's to handle. */
static void stack_overflow(void)
{
    static char alternate[1 << 16];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction action = {.sa_handler = overflowed, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    if (sigsetjmp(out, 1) == 0)
        deeper(NULL);
    while (pthread_mutex_unlock(&b) == 0 && pthread_mutex_trylock(&b) != 0)
        ;
}

/* ------------------------------------------------------------------ signals */

static atomic_int handled;

/* Against the book, but it happens. */
static void handler(int number)
{
    (void)number;
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
    atomic_fetch_add(&handled, 1);
}

static void signals(void)
{
    struct itimerval timer = {{0, 200}, {0, 200}}, off = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    pthread_t threads[3];
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, contend, NULL) == 0);
    for (int i = 0; i < 20000 || atomic_load(&handled) < 20; i++)
        nest();
    for (int i = 0; i < 3; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    setitimer(ITIMER_REAL, &off, NULL);
    MUST(atomic_load(&handled) >= 20);
}

static void jump(int number)
{
    siglongjmp(out, number);
}

/* A handler that leaves a wait by a jump: the wait is over. */
static void jump_out_of_wait(void)
{
    static sem_t never;
    struct itimerval timer = {{0, 0}, {0, 50000}};
    sem_init(&never, 0, 0);
    signal(SIGALRM, jump);
    if (sigsetjmp(out, 1) == 0) {
        setitimer(ITIMER_REAL, &timer, NULL);
        sem_wait(&never);
        MUST(!"came back");
    }
    nest();
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, contend, NULL) == 0);
    contend(NULL);
    MUST(pthread_join(thread, NULL) == 0);
}

static void *wait_for_ever(void *semaphore)
{
    sem_wait(semaphore);
    return NULL;
}

static void cancellation(void)
{
    sem_t never;
    sem_init(&never, 0, 0);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        void *value;
        MUST(pthread_create(&thread, NULL, wait_for_ever, &never) == 0);
        usleep(1000);
        MUST(pthread_cancel(thread) == 0);
        MUST(pthread_join(thread, &value) == 0 && value == PTHREAD_CANCELED);
    }
    nest();
}

/* ------------------------------------------------------------------ processes */

static void wait_for(pid_t child)
{
    int status;
    MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void forks(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        MUST(pthread_create(&threads[i], NULL, contend, NULL) == 0);
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
            pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
            pthread_mutex_lock(&own);
            pthread_t thread;
            if (pthread_create(&thread, NULL, short_life, NULL) != 0)
                _exit(1);
            pthread_mutex_unlock(&own);
            /* a and b may be held by threads that are not here: do not wait for that one */
            _exit(0);
        }
        wait_for(child);
    }
    for (int i = 0; i < 2; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
}

static void execs(void)
{
    char *arguments[] = {program, (char *)"early-constructor", NULL};
    extern char **environ;
    pid_t child = vfork();
    if (child == 0) {
        execve("/proc/self/exe", arguments, environ);
        _exit(1);
    }
    wait_for(child);
    MUST(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
    wait_for(child);
    MUST(system("exit 7") == 7 << 8);
}

static int children; /* how often SIGCHLD came */

static void on_child(int number)
{
    (void)number;
    children++;
}

static void *other_order(void *unused)
{
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return unused;
}

/* A report is told on the way: no child of ours, no signal, no descriptor shows. */
static void no_trace(void)
{
    signal(SIGCHLD, on_child);
    int before = open("/dev/null", O_RDONLY);
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, short_life, NULL) == 0);
    MUST(pthread_join(thread, NULL) == 0);
    MUST(pthread_create(&thread, NULL, other_order, NULL) == 0);
    MUST(pthread_join(thread, NULL) == 0);
    int after = open("/dev/null", O_RDONLY);
    MUST(after == before + 1);
    MUST(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
    MUST(children == 0);
}

static void dlopens(void)
{
    for (int i = 0; i < 20; i++) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        MUST(library && dlsym(library, "cos"));
        nest();
        MUST(dlclose(library) == 0);
    }
    /* What the program itself looks up is what it would get from the linker. */
    int (*lock)(pthread_mutex_t *);
    *(void **)&lock = dlsym(RTLD_DEFAULT, "pthread_mutex_lock");
    MUST(lock == pthread_mutex_lock);
}

/* The program's own use of the signal comes first. */
static void own_signal(void)
{
    struct sigaction old;
    MUST(sigaction(SIGUSR2, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
    MUST(signal(SIGUSR2, handler) == SIG_DFL);
    raise(SIGUSR2);
    MUST(atomic_load(&handled) == 1);
}

/* Errors and errno are libc's. */
static void answers(void)
{
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    errno = 0;
    MUST(sem_trywait(&semaphore) == -1 && errno == EAGAIN);
    struct timespec past = {1, 0};
    MUST(sem_timedwait(&semaphore, &past) == -1 && errno == ETIMEDOUT);
    MUST(pthread_mutex_trylock(&a) == 0 && pthread_mutex_trylock(&a) == EBUSY);
    MUST(pthread_mutex_timedlock(&a, &past) == ETIMEDOUT);
    MUST(pthread_mutex_unlock(&a) == 0);
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    MUST(pthread_rwlock_rdlock(&lock) == 0 && pthread_rwlock_trywrlock(&lock) == EBUSY);
    MUST(pthread_rwlock_timedwrlock(&lock, &past) == ETIMEDOUT);
    MUST(pthread_rwlock_unlock(&lock) == 0);
    MUST(pthread_join(pthread_self(), NULL) == EDEADLK);
    errno = 77;
    nest();
    MUST(errno == 77);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"early-constructor", early_constructor},
        {"thousands-of-threads", thousands},
        {"crowd", crowd},
        {"destructors", destructors},
        {"small-stack", small_stack},
        {"stack-overflow", stack_overflow},
        {"signals", signals},
        {"jump-out-of-wait", jump_out_of_wait},
        {"cancellation", cancellation},
        {"forks", forks},
        {"execs", execs},
        {"no-trace", no_trace},
        {"dlopens", dlopens},
        {"own-signal", own_signal},
        {"answers", answers},
    };
    program = arguments[0];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (count < 2)
            puts(cases[i].name);
        else if (strcmp(arguments[1], cases[i].name) == 0) {
            cases[i].run();
            puts("ok");
            return 0;
        }
    }
    return 2;
}
