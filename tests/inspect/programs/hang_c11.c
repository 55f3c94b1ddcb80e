/* Hangs of the threads of C11.
 *
 *     hang_c11 CASE [idle]        see hang.h
 */
#define _GNU_SOURCE
#include "hang.h"

#include <threads.h>

static mtx_t a, b;
static cnd_t condition;
static once_flag once_a = ONCE_FLAG_INIT, once_b = ONCE_FLAG_INIT;
static int come;
static thrd_t ones, twos;

static thrd_t start(thrd_start_t run)
{
    thrd_t thread;
    if (thrd_create(&thread, run, NULL) != thrd_success)
        skip("no more threads");
    return thread;
}

static void end(int idle)
{
    ready(3, 3);
    if (!idle)
        thrd_join(ones, NULL);
    for (;;)
        pause();
}

static int take_a_b(void *unused)
{
    (void)unused;
    thread_is("one");
    mtx_lock(&a);
    meet(&come, 2);
    return mtx_lock(&b);
}

static int take_b_a(void *unused)
{
    (void)unused;
    thread_is("two");
    mtx_lock(&b);
    meet(&come, 2);
    return mtx_lock(&a);
}

static void abba(int type, int idle)
{
    mtx_init(&a, type);
    mtx_init(&b, type);
    lock_is("a", &a);
    lock_is("b", &b);
    ones = start(take_a_b);
    start(take_b_a);
    end(idle);
}

static int wait_signal(void *unused)
{
    (void)unused;
    thread_is("one");
    mtx_lock(&a);
    mtx_lock(&b);
    meet(&come, 2);
    return cnd_wait(&condition, &b);
}

static int want_a(void *unused)
{
    (void)unused;
    thread_is("two");
    meet(&come, 2);
    return mtx_lock(&a);
}

static void condition_outer(int idle)
{
    mtx_init(&a, mtx_plain);
    mtx_init(&b, mtx_plain);
    cnd_init(&condition);
    lock_is("a", &a);
    lock_is("condition", &condition);
    ones = start(wait_signal);
    start(want_a);
    end(idle);
}

static int join_two(void *unused)
{
    (void)unused;
    thread_is("one");
    mtx_lock(&a);
    meet(&come, 2);
    return thrd_join(twos, NULL);
}

static void join_locked(int idle)
{
    mtx_init(&a, mtx_plain);
    lock_is("a", &a);
    twos = start(want_a);
    ones = start(join_two);
    end(idle);
}

static void make_nothing(void)
{
}

static void make_b_inside(void)
{
    meet(&come, 2);
    call_once(&once_b, make_nothing);
}

static void make_a_inside(void)
{
    meet(&come, 2);
    call_once(&once_a, make_nothing);
}

static int once_a_b(void *unused)
{
    (void)unused;
    thread_is("one");
    call_once(&once_a, make_b_inside);
    return 0;
}

static int once_b_a(void *unused)
{
    (void)unused;
    thread_is("two");
    call_once(&once_b, make_a_inside);
    return 0;
}

static void once(int idle)
{
    lock_is("a", &once_a);
    lock_is("b", &once_b);
    ones = start(once_a_b);
    start(once_b_a);
    end(idle);
}

static void twice(void)
{
    mtx_init(&a, mtx_plain);
    lock_is("a", &a);
    ready(1, 1);
    mtx_lock(&a);
    mtx_lock(&a);
}

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : "";
    int idle = count > 2;
    thread_is("main");
    if (strcmp(name, "abba-plain") == 0)
        abba(mtx_plain, idle);
    else if (strcmp(name, "abba-timed") == 0)
        abba(mtx_timed, idle);
    else if (strcmp(name, "abba-recursive") == 0)
        abba(mtx_plain | mtx_recursive, idle);
    else if (strcmp(name, "condition-outer") == 0)
        condition_outer(idle);
    else if (strcmp(name, "join-locked") == 0)
        join_locked(idle);
    else if (strcmp(name, "once") == 0)
        once(idle);
    else if (strcmp(name, "twice") == 0)
        twice();
    return 2;
}
