/* Unlocks by a signal handler that interrupts a wait are recorded, whatever is unlocked, for those
 * who judge by it (sources/run/judge/verdict_policy.h); those of what the handler itself has locked
 * are not. Run with the library preloaded. */
#include "settle.h"
#include "test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <threads.h>

static pthread_mutex_t awaited = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static mtx_t mtx;
static sem_t in_handler, go_on;

static void lock_plain(void)
{
    pthread_mutex_lock(&plain);
}

static void unlock_plain(void)
{
    pthread_mutex_unlock(&plain);
}

static void lock_recursive(void)
{
    pthread_mutex_lock(&recursive);
}

static void unlock_recursive(void)
{
    pthread_mutex_unlock(&recursive);
}

static void lock_mtx(void)
{
    mtx_lock(&mtx);
}

static void unlock_mtx(void)
{
    mtx_unlock(&mtx);
}

static void write_lock(void)
{
    pthread_rwlock_wrlock(&rwlock);
}

static void unlock_rwlock(void)
{
    pthread_rwlock_unlock(&rwlock);
}

static void lock_spin(void)
{
    pthread_spin_lock(&spin);
}

static void unlock_spin(void)
{
    pthread_spin_unlock(&spin);
}

static const struct kind {
    const char *name;
    void (*lock)(void);
    void (*unlock)(void);
    bool in_handler; /* it is the handler that locks */
    bool contended;  /* another thread waits for it */
    bool acts;
} kinds[] = {
    {"mutex", lock_plain, unlock_plain, false, true, true},
    {"recursive mutex", lock_recursive, unlock_recursive, false, true, true},
    {"mtx", lock_mtx, unlock_mtx, false, true, true},
    {"rwlock", write_lock, unlock_rwlock, false, true, true},
    {"spin lock", lock_spin, unlock_spin, false, false, true},
    {"mutex of the handler", lock_plain, unlock_plain, true, true, false},
    {"recursive mutex of the handler", lock_recursive, unlock_recursive, true, true, false},
};
static const struct kind *kind;

static void wait_sem(sem_t *sem)
{
    while (sem_wait(sem) != 0)
        ;
}

static void unlock_in_handler(int number)
{
    (void)number;
    if (kind->in_handler)
        kind->lock();
    sem_post(&in_handler);
    wait_sem(&go_on);
    kind->unlock();
}

static void *wait_interrupted(void *unused)
{
    if (!kind->in_handler)
        kind->lock();
    pthread_mutex_lock(&awaited);
    pthread_mutex_unlock(&awaited);
    return unused;
}

static void *contend(void *unused)
{
    kind->lock();
    kind->unlock();
    return unused;
}

/* Is it recorded that a handler acted? */
static bool run_kind(void)
{
    pthread_t waiter, other;
    const uint32_t *acted = dlsym(RTLD_DEFAULT, "gordian_run_acted");
    sem_init(&in_handler, 0, 0);
    sem_init(&go_on, 0, 0);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    mtx_init(&mtx, mtx_plain);
    signal(SIGUSR1, unlock_in_handler);
    pthread_mutex_lock(&awaited);
    pthread_create(&waiter, NULL, wait_interrupted, NULL);
    wait_until_all_sleep();
    pthread_kill(waiter, SIGUSR1);
    wait_sem(&in_handler);
    if (kind->contended)
        pthread_create(&other, NULL, contend, NULL);
    wait_until_all_sleep();
    sem_post(&go_on);
    if (kind->contended)
        pthread_join(other, NULL);
    pthread_mutex_unlock(&awaited);
    pthread_join(waiter, NULL);
    return acted && *acted;
}

int main(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int status = -1;
        kind = &kinds[i];
        pid_t child = fork();
        if (child == 0)
            _exit(run_kind());
        CHECK_MSG(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                      WEXITSTATUS(status) == kind->acts,
                  "%s: status %d", kind->name, status);
    }
    return test_done();
}
