/* A program for the options of `gordian run`.
 *
 *     modes deadlock     two threads, two locks, for ever; ends with 5 if EDEADLK breaks it
 *     modes orders N     takes two locks in both orders, N times, harmlessly
 *     modes slow         a wait that lasts until standard input ends
 *     modes fork         a child process that deadlocks; its status is passed on
 *     modes again        two child processes, one after the other, each with both orders
 *     modes exec ...     executes the rest
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t together;
static int broken;

static void take_both(pthread_mutex_t *one, pthread_mutex_t *two, int meet)
{
    pthread_mutex_lock(one);
    if (meet)
        pthread_barrier_wait(&together);
    if (pthread_mutex_lock(two) == EDEADLK)
        broken = 1;
    else
        pthread_mutex_unlock(two);
    pthread_mutex_unlock(one);
}

static void *forwards(void *meet)
{
    take_both(&first, &second, meet != NULL);
    return NULL;
}

static void *backwards(void *meet)
{
    take_both(&second, &first, meet != NULL);
    return NULL;
}

/* What it is about to do, and in which process. */
static void say(const char *mode)
{
    printf("%s %ld\n", mode, (long)getpid());
    fflush(stdout);
}

static void deadlock(void)
{
    pthread_t threads[2];
    say("deadlock");
    pthread_barrier_init(&together, NULL, 2);
    pthread_create(&threads[0], NULL, forwards, &together);
    pthread_create(&threads[1], NULL, backwards, &together);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

/* One after the other: nothing can happen this time. */
static void orders(int count)
{
    pthread_t thread;
    for (int i = 0; i < count; i++) {
        pthread_create(&thread, NULL, forwards, NULL);
        pthread_join(thread, NULL);
        pthread_create(&thread, NULL, backwards, NULL);
        pthread_join(thread, NULL);
    }
}

static void slow(void)
{
    pthread_t thread;
    pthread_mutex_lock(&first);
    pthread_create(&thread, NULL, forwards, NULL);
    say("slow");
    char byte;
    while (read(STDIN_FILENO, &byte, 1) != 0) /* a signal ends it early */
        ;
    pthread_mutex_unlock(&first);
    pthread_join(thread, NULL);
}

static int in_child(void (*run)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        run();
        exit(0);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void orders_once(void)
{
    orders(1);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "deadlock") == 0) {
        deadlock();
    } else if (strcmp(mode, "orders") == 0) {
        orders(argc > 2 ? atoi(argv[2]) : 1);
    } else if (strcmp(mode, "slow") == 0) {
        slow();
    } else if (strcmp(mode, "fork") == 0) {
        return in_child(deadlock);
    } else if (strcmp(mode, "again") == 0) {
        return in_child(orders_once) + in_child(orders_once);
    } else if (strcmp(mode, "exec") == 0 && argc > 2) {
        execvp(argv[2], argv + 2);
        return 2;
    } else {
        return 2;
    }
    return broken ? 5 : 0;
}
