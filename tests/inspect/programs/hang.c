/* Hangs of everything in pthreads, and of the C library's own locks.
 *
 *     hang CASE [idle]        see hang.h
 *
 *     abba-KIND-KIND          one holds a and wants b, two holds b and wants a; of these kinds
 *     twice-KIND              main takes a twice
 *     ring-KIND-N             N threads in a circle: t0 holds l0 and wants l1, ...
 *     behind-KIND-N           abba, and N more who want a
 *     NAME                    one of the stories below
 */
#define _GNU_SOURCE
#include "hang.h"

#include <fcntl.h>
#include <link.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

/* ------------------------------------------------------------------ locks of all kinds */

struct kind {
    const char *name;
    int type, protocol, robust, shared; /* of a mutex */
    int rwlock;                         /* 1: written, 2: read first, then written */
    int other;                          /* 's'emaphore, s'p'in lock, 'f'ile, 'o'nce */
};

static const struct kind kinds[] = {
    {"mutex", PTHREAD_MUTEX_NORMAL, 0, 0, 0, 0, 0},
    {"recursive", PTHREAD_MUTEX_RECURSIVE, 0, 0, 0, 0, 0},
    {"errorcheck", PTHREAD_MUTEX_ERRORCHECK, 0, 0, 0, 0, 0},
    {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0, 0, 0, 0},
    {"inherit", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0, 0, 0, 0},
    {"protect", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, 0, 0, 0, 0},
    {"robust", PTHREAD_MUTEX_NORMAL, 0, PTHREAD_MUTEX_ROBUST, 0, 0, 0},
    {"robustinherit", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ROBUST, 0, 0, 0},
    {"shared", PTHREAD_MUTEX_NORMAL, 0, 0, 1, 0, 0},
    {"timed", PTHREAD_MUTEX_NORMAL, 0, 0, 0, 0, 't'},
    {"write", 0, 0, 0, 0, 1, 0},
    {"sharedwrite", 0, 0, 0, 1, 1, 0},
    {"read", 0, 0, 0, 0, 2, 0},
    {"semaphore", 0, 0, 0, 0, 0, 's'},
    {"spin", 0, 0, 0, 0, 0, 'p'},
    {"file", 0, 0, 0, 0, 0, 'f'},
    {"once", 0, 0, 0, 0, 0, 'o'},
};

union body {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    sem_t semaphore;
    pthread_spinlock_t spin;
    pthread_once_t once;
};

struct lock {
    const struct kind *kind;
    union body *body;
    FILE *file;
};

union body a, b;
static struct lock first = {.body = &a}, second = {.body = &b};
static int come;

static const struct kind *find_kind(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].name) == length && memcmp(kinds[i].name, name, length) == 0)
            return &kinds[i];
    skip("no such kind of lock");
    return NULL;
}

static void make_mutex(pthread_mutex_t *mutex, const struct kind *kind)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kind->type);
    pthread_mutexattr_setprotocol(&attributes, kind->protocol);
    pthread_mutexattr_setrobust(&attributes, kind->robust);
    pthread_mutexattr_setpshared(&attributes, kind->shared);
    if (kind->protocol == PTHREAD_PRIO_PROTECT)
        pthread_mutexattr_setprioceiling(&attributes, 2);
    pthread_mutex_init(mutex, &attributes);
}

static void make(struct lock *lock, const char *name, const struct kind *kind)
{
    const void *address = lock->body;
    lock->kind = kind;
    if (kind->rwlock) {
        pthread_rwlockattr_t attributes;
        pthread_rwlockattr_init(&attributes);
        pthread_rwlockattr_setpshared(&attributes, kind->shared);
        pthread_rwlock_init(&lock->body->rwlock, &attributes);
    } else if (kind->other == 's') {
        sem_init(&lock->body->semaphore, 0, 1);
    } else if (kind->other == 'p') {
        pthread_spin_init(&lock->body->spin, PTHREAD_PROCESS_PRIVATE);
    } else if (kind->other == 'f') {
        address = lock->file = fopen("/dev/null", "w");
    } else if (kind->other == 'o') {
        lock->body->once = PTHREAD_ONCE_INIT;
    } else {
        make_mutex(&lock->body->mutex, kind);
    }
    lock_is(name, address);
}

/* Far enough away. */
static struct timespec next_week(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 7 * 24 * 3600;
    return time;
}

static __thread void (*once_then)(void *);
static __thread void *once_argument;

static void call_then(void)
{
    once_then(once_argument);
}

/* Takes it and goes on there: an initialiser is inside its lock while it runs. */
static void take(struct lock *lock, int again, void (*then)(void *), void *argument)
{
    struct timespec limit = next_week();
    int failure = 0;
    if (lock->kind->rwlock)
        failure = lock->kind->rwlock == 2 && !again ? pthread_rwlock_rdlock(&lock->body->rwlock)
                                                    : pthread_rwlock_wrlock(&lock->body->rwlock);
    else if (lock->kind->other == 's')
        sem_wait(&lock->body->semaphore);
    else if (lock->kind->other == 'p')
        pthread_spin_lock(&lock->body->spin);
    else if (lock->kind->other == 'f')
        flockfile(lock->file);
    else if (lock->kind->other == 't' && again)
        failure = pthread_mutex_timedlock(&lock->body->mutex, &limit);
    else if (lock->kind->other != 'o')
        failure = pthread_mutex_lock(&lock->body->mutex);
    if (failure)
        skip(strerror(failure));
    if (lock->kind->other == 'o') {
        once_then = then;
        once_argument = argument;
        pthread_once(&lock->body->once, call_then);
    } else {
        then(argument);
    }
}

static void nothing(void *unused)
{
    (void)unused;
}

/* ------------------------------------------------------------------ circles */

struct step {
    const char *name;
    struct lock *first, *second;
    int all;
};

static void take_second(void *argument)
{
    struct step *step = argument;
    meet(&come, step->all);
    take(step->second, 1, nothing, NULL);
}

static void *take_both(void *argument)
{
    struct step *step = argument;
    thread_is(step->name);
    take(step->first, 0, take_second, step);
    return NULL;
}

static void *want_first(void *unused)
{
    wait_until_come(&come, 2);
    take(&first, 1, nothing, NULL);
    return unused;
}

/* How many threads of two with these locks sleep. */
static int sleepers(const struct kind *one, const struct kind *two)
{
    return (one->other != 'p') + (two->other != 'p');
}

static void abba(const char *text, int more, int idle)
{
    const char *dash = strchr(text, '-');
    struct step steps[] = {{"one", &first, &second, 2}, {"two", &second, &first, 2}};
    make(&first, "a", find_kind(text, (size_t)(dash - text)));
    make(&second, "b", find_kind(dash + 1, strlen(dash + 1)));
    pthread_t one = go(take_both, &steps[0]);
    go(take_both, &steps[1]);
    for (int i = 0; i < more; i++)
        go(want_first, NULL);
    wait_until_come(&come, 2);
    ready(3 + more, 1 + more + sleepers(first.kind, second.kind));
    stay(idle, one);
}

static void behind(const char *text, int idle)
{
    char pair[64];
    size_t length = strcspn(text, "-");
    snprintf(pair, sizeof pair, "%.*s-%.*s", (int)length, text, (int)length, text);
    abba(pair, atoi(text + length + 1), idle);
}

static void take_again(void *unused)
{
    (void)unused;
    take(&first, 1, nothing, NULL);
}

static void twice(const char *text)
{
    make(&first, "a", find_kind(text, strlen(text)));
    ready(1, first.kind->other != 'p');
    take(&first, 0, take_again, NULL);
    skip("it did not hang");
}

static void ring(const char *text, int idle)
{
    size_t length = strcspn(text, "-");
    int count = atoi(text + length + 1);
    struct lock *locks = calloc((size_t)count, sizeof *locks);
    union body *bodies = calloc((size_t)count, sizeof *bodies);
    struct step *steps = calloc((size_t)count, sizeof *steps);
    char(*names)[16] = calloc((size_t)count, sizeof *names);
    pthread_t one = pthread_self();
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "l%d", i);
        snprintf(names[i], sizeof names[i], "t%d", i);
        locks[i].body = &bodies[i];
        make(&locks[i], name, find_kind(text, length));
        steps[i] = (struct step){names[i], &locks[i], &locks[(i + 1) % count], count};
    }
    for (int i = 0; i < count; i++)
        one = go(take_both, &steps[i]);
    ready(count + 1, count + 1);
    stay(idle, one);
}

/* ------------------------------------------------------------------ stories */

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_t twos;

static pthread_t circle[3];

static void join_next(int self)
{
    static const char *const names[] = {"one", "two", "three"};
    thread_is(names[self]);
    meet(&come, 4);
    pthread_join(circle[(self + 1) % 3], NULL);
}

static void *join_next_of(void *number)
{
    join_next((int)(intptr_t)number);
    return NULL;
}

/* Three wait for each other's ends: of two in a circle glibc lets one go with EDEADLK. */
static void join_circle(int idle)
{
    int others = idle ? 3 : 2;
    circle[2] = pthread_self();
    for (int i = 0; i < others; i++)
        circle[i] = go(join_next_of, (void *)(intptr_t)i);
    ready(others + 1, others + 1);
    __atomic_add_fetch(&come, 1, __ATOMIC_SEQ_CST); /* all of them are known */
    if (!idle)
        join_next(2);
    stay(1, circle[0]);
}

static void *want_outer(void *unused)
{
    thread_is("two");
    meet(&come, 2);
    pthread_mutex_lock(&outer);
    return unused;
}

static void *join_locked(void *unused)
{
    thread_is("one");
    pthread_mutex_lock(&outer);
    meet(&come, 2);
    pthread_join(twos, NULL);
    return unused;
}

static void join_under_lock(int idle)
{
    lock_is("outer", &outer);
    twos = go(want_outer, NULL);
    pthread_t one = go(join_locked, NULL);
    ready(3, 3);
    stay(idle, one);
}

static void *wait_locked(void *unused)
{
    thread_is("one");
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    meet(&come, 2);
    pthread_cond_wait(&condition, &inner);
    return unused;
}

/* Who would signal wants what the waiter kept. */
static void condition_outer(int idle)
{
    lock_is("outer", &outer);
    lock_is("condition", &condition);
    twos = go(want_outer, NULL);
    pthread_t one = go(wait_locked, NULL);
    ready(3, 3);
    stay(idle, one);
}

static void *wait_signal(void *name)
{
    thread_is(name);
    pthread_mutex_lock(&inner);
    pthread_cond_wait(&condition, &inner);
    return NULL;
}

/* The signal came before anybody waited for it. */
static void condition_lost(int idle)
{
    lock_is("condition", &condition);
    pthread_cond_broadcast(&condition);
    pthread_t one = go(wait_signal, "one");
    go(wait_signal, "two");
    ready(3, 3);
    stay(idle, one);
}

static void *arrive(void *name)
{
    thread_is(name);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void barrier_few(int idle)
{
    pthread_barrier_init(&barrier, NULL, 3);
    lock_is("barrier", &barrier);
    pthread_t one = go(arrive, "one");
    go(arrive, "two");
    ready(3, 3);
    stay(idle, one);
}

static void *arrive_locked(void *unused)
{
    thread_is("one");
    pthread_mutex_lock(&outer);
    meet(&come, 2);
    pthread_barrier_wait(&barrier);
    return unused;
}

static void barrier_locked(int idle)
{
    pthread_barrier_init(&barrier, NULL, 2);
    lock_is("barrier", &barrier);
    lock_is("outer", &outer);
    pthread_t one = go(arrive_locked, NULL);
    go(want_outer, NULL);
    ready(3, 3);
    stay(idle, one);
}

static void *take_and_end(void *mutex)
{
    pthread_mutex_lock(mutex);
    return NULL;
}

static void owner_gone(int idle)
{
    (void)idle;
    lock_is("outer", &outer);
    pthread_join(go(take_and_end, &outer), NULL);
    ready(1, 1);
    pthread_mutex_lock(&outer);
}

static void *hold_and_stay(void *mutex)
{
    pthread_mutex_lock(mutex);
    meet(&come, 2);
    for (;;)
        pause();
    return NULL;
}

/* A child of a process with threads: one of them, who is not in the child, had the lock. */
static void fork_gone(int idle)
{
    (void)idle;
    go(hold_and_stay, &outer);
    meet(&come, 2);
    if (fork() != 0)
        for (;;)
            wait(NULL);
    lock_is("outer", &outer);
    thread_is("main");
    ready(1, 1);
    pthread_mutex_lock(&outer);
}

/* ------------------------------------------------------------------ the C library's own locks */

static int visit_nothing(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)info;
    (void)size;
    (void)unused;
    return 0;
}

static void *visit_too(void *unused)
{
    thread_is("two");
    meet(&come, 2);
    dl_iterate_phdr(visit_nothing, NULL);
    return unused;
}

static int visit_and_join(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)info;
    (void)size;
    (void)unused;
    meet(&come, 2);
    pthread_join(twos, NULL);
    return 1;
}

static void *visit_first(void *unused)
{
    thread_is("one");
    dl_iterate_phdr(visit_and_join, NULL);
    return unused;
}

/* One is inside the dynamic loader's lock and joins two, which wants it. */
static void loader(int idle)
{
    twos = go(visit_too, NULL);
    pthread_t one = go(visit_first, NULL);
    ready(3, 3);
    stay(idle, one);
}

static void *print_too(void *unused)
{
    thread_is("two");
    meet(&come, 2);
    fputs("two\n", first.file);
    return unused;
}

static void *print_and_join(void *unused)
{
    thread_is("one");
    flockfile(first.file);
    meet(&come, 2);
    pthread_join(twos, NULL);
    return unused;
}

static void file_joined(int idle)
{
    make(&first, "a", find_kind("file", 4));
    twos = go(print_too, NULL);
    pthread_t one = go(print_and_join, NULL);
    ready(3, 3);
    stay(idle, one);
}

static void *volatile taken;

static void allocate_in_handler(int signal)
{
    (void)signal;
    taken = malloc(5000);
}

static void *wait_for_main(void *thread)
{
    thread_is("one");
    pthread_join(*(pthread_t *)thread, NULL);
    return NULL;
}

/* Until a signal's handler allocates while its thread is inside malloc. */
static void allocator(int idle)
{
    static pthread_t self;
    struct sigaction action = {.sa_handler = allocate_in_handler, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 1000}, {0, 1000}};
    sigset_t alarms;
    (void)idle;
    self = pthread_self();
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    go(wait_for_main, &self);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    sigaction(SIGALRM, &action, NULL);
    ready(2, 2);
    setitimer(ITIMER_REAL, &often, NULL);
    for (;;) {
        void *memory[64];
        for (size_t i = 0; i < 64; i++)
            memory[i] = malloc(2000 + 16 * i);
        for (size_t i = 0; i < 64; i++)
            free(memory[i]);
    }
}

static void *upgrade(void *name)
{
    thread_is(name);
    pthread_rwlock_rdlock(&a.rwlock);
    meet(&come, 2);
    pthread_rwlock_wrlock(&a.rwlock);
    return NULL;
}

/* Both read, both want to write. */
static void upgrade_both(int idle)
{
    make(&first, "a", find_kind("read", 4));
    pthread_t one = go(upgrade, "one");
    go(upgrade, "two");
    ready(3, 3);
    stay(idle, one);
}

static void *write_behind(void *unused)
{
    thread_is("two");
    pthread_rwlock_wrlock(&a.rwlock);
    return unused;
}

/* A reader may not overtake a writer, which waits for the same reader. */
static void reader_behind(int idle)
{
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&a.rwlock, &attributes);
    (void)idle;
    lock_is("a", &a);
    pthread_rwlock_rdlock(&a.rwlock);
    go(write_behind, NULL);
    while (!(*(volatile unsigned *)&a & 2)) /* in glibc: a writer has come */
        sched_yield();
    ready(2, 2);
    pthread_rwlock_rdlock(&a.rwlock);
}

/* A semaphore with a name: anybody on the machine may post it. */
static void named_semaphore(int idle)
{
    char name[40];
    (void)idle;
    snprintf(name, sizeof name, "/gordian-hang-%ld", (long)getpid());
    sem_t *semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    if (semaphore == SEM_FAILED)
        skip("no semaphores with names");
    sem_unlink(name);
    lock_is("semaphore", semaphore);
    ready(1, 1);
    sem_wait(semaphore);
}

/* Memory of which nothing is in a core but its length. */
static void huge(int idle)
{
    size_t size = (size_t)10 << 30;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        skip("not enough addresses");
    for (size_t i = 0; i < size; i += size / 8)
        memory[i] = 1;
    abba("mutex-mutex", 0, idle);
}

static const struct story {
    const char *name;
    void (*run)(int idle);
} stories[] = {
    {"join-circle", join_circle},
    {"join-locked", join_under_lock},
    {"condition-outer", condition_outer},
    {"condition-lost", condition_lost},
    {"barrier-few", barrier_few},
    {"barrier-locked", barrier_locked},
    {"owner-gone", owner_gone},
    {"fork-gone", fork_gone},
    {"loader", loader},
    {"file-joined", file_joined},
    {"allocator", allocator},
    {"upgrade-both", upgrade_both},
    {"reader-behind", reader_behind},
    {"semaphore-named", named_semaphore},
    {"huge", huge},
};

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : "";
    int idle = count > 2;
    thread_is("main");
    if (strncmp(name, "abba-", 5) == 0)
        abba(name + 5, 0, idle);
    else if (strncmp(name, "twice-", 6) == 0)
        twice(name + 6);
    else if (strncmp(name, "ring-", 5) == 0)
        ring(name + 5, idle);
    else if (strncmp(name, "behind-", 7) == 0)
        behind(name + 7, idle);
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++)
        if (strcmp(name, stories[i].name) == 0)
            stories[i].run(idle);
    return 2;
}
