/*
 * The dining philosophers as threads and mutexes. The program does not use Gordian. Each
 * philosopher takes the left fork and then waits for the right one, so no philosopher ever eats:
 *
 *     cc -g dining.c -o dining -pthread
 *     gordian run ./dining
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SEATS 5

static const char *const names[SEATS] = {"Plato", "Hypatia", "Laozi", "Seneca", "Arendt"};
static pthread_mutex_t forks[SEATS];
static pthread_barrier_t dinner;

static void eat(unsigned membership)
{
    pthread_mutex_t *left = &forks[membership], *right = &forks[(membership + 1) % SEATS];
    pthread_mutex_lock(left);
    pthread_barrier_wait(&dinner); /* forces the deadlock: each has a left fork */
    pthread_mutex_lock(right);
    printf("%s eats\n", names[membership]);
    pthread_mutex_unlock(right);
    pthread_mutex_unlock(left);
}

static void *philosopher(void *membership)
{
    unsigned number = (unsigned)((pthread_mutex_t *)membership - forks);
    pthread_setname_np(pthread_self(), names[number]);
    eat(number);
    return NULL;
}

int main(void)
{
    pthread_t table[SEATS];
    pthread_barrier_init(&dinner, NULL, SEATS);
    for (unsigned membership = 0; membership < SEATS; membership++)
        pthread_mutex_init(&forks[membership], NULL);
    for (unsigned membership = 0; membership < SEATS; membership++)
        pthread_create(&table[membership], NULL, philosopher, &forks[membership]);
    for (unsigned membership = 0; membership < SEATS; membership++)
        pthread_join(table[membership], NULL);
    puts("everybody has eaten");
    return 0;
}
