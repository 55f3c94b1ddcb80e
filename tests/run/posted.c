/* A signal handler posts the semaphore that its thread has taken, as it may, while the thread is in
 * the middle of locking or unlocking: what the thread holds must come out right.
 *
 *     posted SEED STEPS
 *
 * Two threads take two mutexes in one order; were one of these thought to be held still, it would
 * be another order. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static sem_t units;
static pthread_t poster;
static volatile sig_atomic_t taken;

static void post(int number)
{
    int saved = errno;
    (void)number;
    if (taken && pthread_equal(pthread_self(), poster)) {
        taken = 0;
        sem_post(&units);
    }
    errno = saved;
}

/* A post while the thread was being watched closely is not counted: what is known of the semaphore
 * begins anew. */
static void take_anew(void)
{
    sem_destroy(&units);
    sem_init(&units, 0, 1);
    taken = sem_trywait(&units) == 0;
}

static void lock_both(void)
{
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
}

static void *lock_often(void *steps)
{
    for (unsigned long left = *(unsigned long *)steps; left > 0; left--)
        lock_both();
    return NULL;
}

int main(int count, char **arguments)
{
    unsigned long steps = count == 3 ? strtoul(arguments[2], NULL, 10) * 20000 : 0;
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    pthread_t other;
    poster = pthread_self();
    if (sem_init(&units, 0, 1) != 0 || pthread_create(&other, NULL, lock_often, &steps) != 0)
        return 2;
    signal(SIGALRM, post);
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned long left = steps; left > 0; left--) {
        if (!taken)
            take_anew();
        lock_both();
    }
    setitimer(ITIMER_REAL, &never, NULL);
    return pthread_join(other, NULL);
}
