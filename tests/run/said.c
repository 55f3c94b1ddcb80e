/* Programs whose ends and hangs must be told as what they are.
 *
 *     said CASE */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static sem_t units;
static char *self;

static void lock_once(void)
{
    pthread_mutex_lock(&guard);
    pthread_mutex_unlock(&guard);
}

static void *wait_for_change(void *unused)
{
    pthread_mutex_lock(&guard);
    pthread_cond_wait(&change, &guard);
    pthread_mutex_unlock(&guard);
    return unused;
}

static void *wait_for_unit(void *unused)
{
    sem_wait(&units);
    return unused;
}

static void join_one(void *(*run)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        exit(3);
    pthread_join(thread, NULL);
}

/* The signal comes before anybody waits for it. */
static void lost_wakeup(void)
{
    pthread_cond_signal(&change);
    join_one(wait_for_change);
}

static void lost_alone(void)
{
    wait_for_change(NULL);
}

static void nobody_posts(void)
{
    sem_init(&units, 0, 0);
    join_one(wait_for_unit);
}

static void ends_at_once(void)
{
    lock_once();
    _exit(0);
}

static void becomes_another(void)
{
    lock_once();
    char *const arguments[] = {self, (char *)"plain", NULL};
    execv(self, arguments);
    exit(3);
}

static void aborts(void)
{
    lock_once();
    abort();
}

static void plain(void)
{
    lock_once();
}

/* Rests for good, in a call of its own. */
static void rests(void)
{
    lock_once();
    puts("rests");
    fflush(stdout);
    for (;;)
        pause();
}

static void answer_nothing(int number)
{
    (void)number;
}

/* A handler may post what is waited for. */
static void may_be_posted(void)
{
    signal(SIGUSR1, answer_nothing);
    nobody_posts();
}

/* Nobody of the same user may look at it from outside. */
static void hidden(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    pthread_mutex_lock(&guard);
    pthread_mutex_lock(&guard);
}

static void dropped(void)
{
    if (setgid(65534) != 0 || setuid(65534) != 0)
        exit(77);
    hidden();
}

/* One place for locks of two kinds. */
static union {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
} either = {.rwlock = PTHREAD_RWLOCK_INITIALIZER};

static void either_lock(void)
{
    static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_wrlock(&either.rwlock);
    pthread_mutex_lock(&own);
    pthread_mutex_lock(&own);
}

/* Computes for so long that a hang would have been told. */
static void computes(void)
{
    struct timespec worked;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &worked);
    while (worked.tv_sec < 4);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"lost-wakeup", lost_wakeup},
    {"lost-alone", lost_alone},
    {"nobody-posts", nobody_posts},
    {"at-once", ends_at_once},
    {"another", becomes_another},
    {"aborts", aborts},
    {"plain", plain},
    {"rests", rests},
    {"hidden", hidden},
    {"dropped", dropped},
    {"may-be-posted", may_be_posted},
    {"either", either_lock},
    {"computes", computes},
};

int main(int argc, char **argv)
{
    self = argv[0];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc == 2 && strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    return 2;
}
