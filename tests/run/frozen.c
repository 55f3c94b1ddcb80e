/* A mutex as a signal: who has it locks it once more, and another thread gives it back, as soon as
 * it has worked for a while. Before that it stops the whole process, as soon as the first one
 * waits. With a handler in the program nothing about it can be proved. */
#include "settle.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#define WORK_NS 50000000

static pthread_mutex_t baton = PTHREAD_MUTEX_INITIALIZER;

static void ignore(int number)
{
    (void)number;
}

static long worked_ns(void)
{
    struct timespec worked;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &worked);
    return worked.tv_sec * 1000000000 + worked.tv_nsec;
}

static void *give_back(void *unused)
{
    wait_until_all_sleep();
    kill(getpid(), SIGSTOP);
    for (long begin = worked_ns(); worked_ns() - begin < WORK_NS;)
        ;
    pthread_mutex_unlock(&baton);
    return unused;
}

int main(void)
{
    pthread_t giver;
    signal(SIGUSR2, ignore);
    pthread_mutex_lock(&baton);
    if (pthread_create(&giver, NULL, give_back, NULL) != 0)
        return 2;
    pthread_mutex_lock(&baton);
    return pthread_join(giver, NULL);
}
