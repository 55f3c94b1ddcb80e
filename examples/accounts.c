/*
 * Locks with names. Money is moved between two accounts, and whoever moves it locks where it comes
 * from first, so two who move it in opposite directions can wait for each other for ever. Here they
 * come one after the other and nothing happens; `gordian run` still sees that the locks were taken
 * in both orders, and calls them by the names they have here:
 *
 *     cc -g -pthread accounts.c $(pkg-config --cflags gordian) -o accounts
 *     gordian run ./accounts
 *
 * Nothing of Gordian has to be linked, and without `gordian run` the names cost next to nothing.
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
