/* The hangs that C11's threads have, and the same programs written right.
 *
 *     hangs_c11 NAME [good] */
#include "settle.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

static bool good;
static mtx_t a, b;

static void meet(void)
{
    wait_until_all_sleep();
}

static void start(thrd_t *thread, int (*run)(void *))
{
    if (thrd_create(thread, run, NULL) != thrd_success)
        exit(3);
}

static void both(int (*one)(void *), int (*two)(void *))
{
    thrd_t first, second;
    start(&first, one);
    start(&second, two);
    thrd_join(first, NULL);
    thrd_join(second, NULL);
}

static int mutex_one(void *unused)
{
    mtx_lock(&a);
    meet();
    mtx_lock(&b);
    mtx_unlock(&b);
    mtx_unlock(&a);
    return unused != NULL;
}

static int mutex_two(void *unused)
{
    mtx_lock(good ? &a : &b);
    meet();
    mtx_lock(good ? &b : &a);
    mtx_unlock(good ? &b : &a);
    mtx_unlock(good ? &a : &b);
    return unused != NULL;
}

static void mutex_abba(void)
{
    both(mutex_one, mutex_two);
}

static cnd_t condition;
static bool ready;

static int condition_waiter(void *unused)
{
    if (!good)
        mtx_lock(&a);
    mtx_lock(&b);
    while (!ready)
        cnd_wait(&condition, &b);
    mtx_unlock(&b);
    if (!good)
        mtx_unlock(&a);
    return unused != NULL;
}

static int condition_signaller(void *unused)
{
    meet();
    mtx_lock(&a);
    mtx_lock(&b);
    ready = true;
    cnd_signal(&condition);
    mtx_unlock(&b);
    mtx_unlock(&a);
    return unused != NULL;
}

static void condition_outer(void)
{
    cnd_init(&condition);
    both(condition_waiter, condition_signaller);
}

static int join_child(void *unused)
{
    meet();
    mtx_lock(&a);
    mtx_unlock(&a);
    return unused != NULL;
}

static void join_locked(void)
{
    thrd_t child;
    mtx_lock(&a);
    start(&child, join_child);
    if (good)
        mtx_unlock(&a);
    thrd_join(child, NULL);
    if (!good)
        mtx_unlock(&a);
}

static void self_relock(void)
{
    mtx_lock(&a);
    if (good)
        mtx_unlock(&a);
    mtx_lock(&a);
    mtx_unlock(&a);
}

static int owner(void *unused)
{
    mtx_lock(&a);
    if (good)
        mtx_unlock(&a);
    return unused != NULL;
}

static void owner_gone(void)
{
    thrd_t thread;
    start(&thread, owner);
    thrd_join(thread, NULL);
    mtx_lock(&a);
    mtx_unlock(&a);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } hangs[] = {
        {"mutex-abba", mutex_abba},   {"condition-outer", condition_outer},
        {"join-locked", join_locked}, {"self-relock", self_relock},
        {"owner-gone", owner_gone},
    };
    good = count > 2 && strcmp(arguments[2], "good") == 0;
    mtx_init(&a, mtx_plain);
    mtx_init(&b, mtx_plain);
    for (size_t i = 0; count > 1 && i < sizeof hangs / sizeof *hangs; i++)
        if (strcmp(arguments[1], hangs[i].name) == 0) {
            hangs[i].run();
            puts("done");
            return 0;
        }
    for (size_t i = 0; i < sizeof hangs / sizeof *hangs; i++)
        puts(hangs[i].name);
    return 2;
}
