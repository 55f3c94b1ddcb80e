/* Sound programs of which everything sleeps, without end as far as can be seen, until somebody
 * outside acts: none of them is deadlocked.
 *
 *     sound CASE        see hang.h
 */
#define _GNU_SOURCE
#include "hang.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t posted;
static int come;

static void *wait_for_work(void *name)
{
    static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    thread_is(name);
    pthread_mutex_lock(&own);
    for (;;)
        pthread_cond_wait(&never, &own);
    return NULL;
}

static void post_it(int signal)
{
    (void)signal;
    sem_post(&posted);
}

static void handle(int signal)
{
    struct sigaction action = {.sa_handler = post_it, .sa_flags = SA_RESTART};
    sigaction(signal, &action, NULL);
}

/* A signal ends the wait, and with it the program. */
static void handler(void)
{
    handle(SIGUSR1);
    go(wait_for_work, "one");
    lock_is("posted", &posted);
    ready(2, 2);
    sem_wait(&posted);
}

static void *want_lock(void *name)
{
    thread_is(name);
    wait_until_come(&come, 1);
    pthread_mutex_lock(&lock);
    return NULL;
}

/* The same, while others want what it has: they get it when the signal has come. */
static void handler_locked(void)
{
    handle(SIGUSR1);
    lock_is("posted", &posted);
    lock_is("lock", &lock);
    go(want_lock, "one");
    pthread_mutex_lock(&lock);
    meet(&come, 1);
    ready(2, 2);
    sem_wait(&posted);
    pthread_mutex_unlock(&lock);
}

/* Anybody may call. */
static void wait_for_request(void)
{
    struct sockaddr address = {.sa_family = AF_UNIX}; /* without a name it gets one */
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    if (server < 0 || bind(server, &address, sizeof address.sa_family) != 0 ||
        listen(server, 1) != 0 || accept(server, NULL, NULL) < 0)
        skip("nobody called");
}

/* Workers without work, and a main thread that waits for a request. */
static void request(void)
{
    go(wait_for_work, "one");
    go(wait_for_work, "two");
    ready(3, 3);
    wait_for_request();
}

/* The main thread takes the signals. */
static void signals(void)
{
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    go(wait_for_work, "one");
    ready(2, 2);
    sigwait(&set, &signal);
}

static void post_from_timer(union sigval unused)
{
    (void)unused;
    sem_post(&posted);
}

/* A timer in a week posts: its thread sleeps in the kernel. */
static void timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD,
                             .sigev_notify_function = post_from_timer};
    struct itimerspec week = {.it_value = {7 * 24 * 3600, 0}};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        skip("no timers");
    timer_settime(timer, 0, &week, NULL);
    ready(2, 2);
    sem_wait(&posted);
}

static void *shared_memory(void)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        skip("no shared memory");
    return memory;
}

/* Another process posts. */
static void other_posts(void)
{
    sem_t *semaphore = shared_memory();
    sem_init(semaphore, 1, 0);
    if (fork() == 0)
        for (;;)
            pause();
    go(wait_for_work, "one");
    ready(2, 2);
    sem_wait(semaphore);
}

/* Another process has the mutex. */
static void other_holds(void)
{
    pthread_mutex_t *mutex = shared_memory();
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(mutex, &attributes);
    int *taken = (int *)(mutex + 1);
    if (fork() == 0) {
        pthread_mutex_lock(mutex);
        meet(taken, 1);
        for (;;)
            pause();
    }
    wait_until_come(taken, 1);
    ready(1, 1);
    pthread_mutex_lock(mutex);
}

static void *hold_and_read(void *unused)
{
    thread_is("one");
    pthread_mutex_lock(&lock);
    meet(&come, 1);
    wait_for_request();
    pthread_mutex_unlock(&lock);
    return unused;
}

/* Everybody waits for one, who waits for somebody outside. */
static void chain(void)
{
    lock_is("lock", &lock);
    pthread_t one = go(hold_and_read, NULL);
    go(want_lock, "two");
    go(want_lock, "three");
    ready(4, 4);
    pthread_join(one, NULL);
}

/* ------------------------------------------------------------------ locks that name nobody */

/* One has it and waits for somebody outside; two wants it. Nobody's stack need have the lock's
 * address. */
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;

static void take_nothing(void)
{
}

static void request_inside(void)
{
    meet(&come, 1);
    wait_for_request();
}

static void *have_it(void *what)
{
    thread_is("one");
    switch (*(const char *)what) {
    case 'r':
        pthread_rwlock_rdlock(&rwlock);
        break;
    case 'o':
        pthread_once(&once, request_inside);
        break;
    case 'f':
        flockfile(stderr);
        break;
    case 's':
        pthread_spin_lock(&spin);
        break;
    default:
        sem_wait(&posted);
    }
    request_inside();
    return NULL;
}

static void *want_it(void *what)
{
    thread_is("two");
    wait_until_come(&come, 1);
    switch (*(const char *)what) {
    case 'r':
        pthread_rwlock_wrlock(&rwlock);
        break;
    case 'o':
        pthread_once(&once, take_nothing);
        break;
    case 'f':
        flockfile(stderr);
        break;
    case 's':
        pthread_spin_lock(&spin);
        break;
    default:
        sem_wait(&posted);
    }
    return NULL;
}

static void inside(char *what)
{
    sem_init(&posted, 0, 1);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    go(have_it, what);
    pthread_t two = go(want_it, what);
    ready(3, *what == 's' ? 2 : 3);
    pthread_join(two, NULL);
}

static void reader_inside(void)
{
    inside("read");
}

static void once_inside(void)
{
    inside("once");
}

static void file_inside(void)
{
    inside("file");
}

static void spin_inside(void)
{
    inside("spin");
}

static void semaphore_inside(void)
{
    inside("unit");
}

/* ------------------------------------------------------------------ limits and work */

/* Everybody waits for one, who sleeps for a limited time. */
static void limited(void)
{
    struct timespec week;
    clock_gettime(CLOCK_REALTIME, &week);
    week.tv_sec += 7 * 24 * 3600;
    lock_is("lock", &lock);
    go(want_lock, "one");
    pthread_mutex_lock(&lock);
    meet(&come, 1);
    ready(2, 2);
    sem_timedwait(&posted, &week);
}

/* The owner runs. */
static void running(void)
{
    lock_is("lock", &lock);
    go(want_lock, "one");
    pthread_mutex_lock(&lock);
    meet(&come, 1);
    ready(2, 1);
    for (volatile int forever = 1; forever;)
        sched_yield();
}

static const struct story {
    const char *name;
    void (*run)(void);
} stories[] = {
    {"handler", handler},
    {"handler-locked", handler_locked},
    {"request", request},
    {"signals", signals},
    {"timer", timer},
    {"other-posts", other_posts},
    {"other-holds", other_holds},
    {"chain", chain},
    {"limited", limited},
    {"running", running},
    {"reader-inside", reader_inside},
    {"once-inside", once_inside},
    {"file-inside", file_inside},
    {"spin-inside", spin_inside},
    {"semaphore-inside", semaphore_inside},
};

int main(int count, char **arguments)
{
    thread_is("main");
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++)
        if (count > 1 && strcmp(arguments[1], stories[i].name) == 0)
            stories[i].run();
    return 2;
}
