/*
 * Locks with names. Each transfer locks the source account first, so two transfers in opposite
 * directions can deadlock. Here they run one after the other and do not deadlock. `gordian run`
 * still reports that the locks were taken in both orders, and shows the names that are registered
 * here:
 *
 *     cc -g -pthread accounts.c $(pkg-config --cflags gordian) -o accounts
 *     gordian run ./accounts
 *
 * The program links no Gordian library. Without `gordian run` the names cost almost nothing.
 */
#include <gordian/run.h>

#include <pthread.h>
#include <stdio.h>

struct account {
    const char *name;
    int money;
    pthread_mutex_t lock;
};

static struct account savings = {"savings", 100, PTHREAD_MUTEX_INITIALIZER};
static struct account checking = {"checking", 100, PTHREAD_MUTEX_INITIALIZER};

static void move(struct account *from, struct account *to, int money)
{
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock);
    from->money -= money;
    to->money += money;
    printf("%d from %s to %s\n", money, from->name, to->name);
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

static void *pay_rent(void *nothing)
{
    move(&savings, &checking, 40);
    return nothing;
}

static void *put_by(void *nothing)
{
    move(&checking, &savings, 10);
    return nothing;
}

static void wait_for(void *(*work)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_join(thread, NULL);
}

int main(void)
{
    GORDIAN_NAME_LOCK(&savings.lock, savings.name);
    GORDIAN_NAME_LOCK(&checking.lock, checking.name);
    wait_for(pay_rent);
    wait_for(put_by);
    printf("%s %d, %s %d\n", savings.name, savings.money, checking.name, checking.money);
    return 0;
}
