/* Two transfers in opposite directions: each holds the account that the other one needs.
 *
 *     cc -g -pthread -o bank bank.c
 *     ./bank &                        hangs
 *     gordian inspect $!              reports the deadlock
 *     gordian run ./bank              reports the deadlock when it forms
 */
#include <pthread.h>
#include <stdio.h>

struct account {
    pthread_mutex_t lock;
    long money;
};

static struct account accounts[2] = {
    {PTHREAD_MUTEX_INITIALIZER, 100},
    {PTHREAD_MUTEX_INITIALIZER, 100},
};
static pthread_barrier_t bad_luck; /* forces the deadlock: both threads hold a lock */

static void transfer(struct account *from, struct account *to, long money)
{
    pthread_mutex_lock(&from->lock);
    pthread_barrier_wait(&bad_luck);
    pthread_mutex_lock(&to->lock);
    from->money -= money;
    to->money += money;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

static void *alice(void *unused)
{
    transfer(&accounts[0], &accounts[1], 10);
    return unused;
}

static void *bob(void *unused)
{
    transfer(&accounts[1], &accounts[0], 20);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_barrier_init(&bad_luck, NULL, 2);
    pthread_create(&threads[0], NULL, alice, NULL);
    pthread_create(&threads[1], NULL, bob, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld and %ld\n", accounts[0].money, accounts[1].money);
    return 0;
}
