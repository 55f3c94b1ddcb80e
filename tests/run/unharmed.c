/* What a program does must not depend on being watched: each case prints what it found, the same
 * natively and watched (unharmed.sh compares), and nothing is reported.
 *
 *     unharmed NAME [NUMBER]
 */
#include "settle.h"

#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static unsigned long number; /* the second argument */

/* ------------------------------------------------------------------ keys */

/* All of them are the program's. */
static void all_keys(void)
{
    pthread_key_t key;
    int made = 0;
    while (pthread_key_create(&key, NULL) == 0)
        made++;
    printf("%d keys\n", made);
}

/* ------------------------------------------------------------------ destructors */

extern int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library);
extern void *__dso_handle;

static pthread_key_t first_key, second_key;
static tss_t c11_key;
static __thread int rounds;

static void say(const char *what)
{
    pthread_mutex_lock(&mutex);
    puts(what);
    pthread_mutex_unlock(&mutex);
}

static void object_gone(void *name)
{
    say(name);
    pthread_setspecific(second_key, "second key");
}

static void first_gone(void *value)
{
    say("first key");
    if (++rounds < 100)
        pthread_setspecific(first_key, value); /* again and again: libc has an end of it */
}

static void second_gone(void *value)
{
    say(value);
}

static void use_all(void)
{
    rounds = 0;
    __cxa_thread_atexit_impl(object_gone, "object one", &__dso_handle);
    __cxa_thread_atexit_impl(object_gone, "object two", &__dso_handle);
    pthread_setspecific(first_key, "value");
    tss_set(c11_key, "C11 key");
}

static void cleaned_up(void *what)
{
    say(what);
}

static void *by_return(void *value)
{
    use_all();
    return value;
}

static void *by_exit(void *value)
{
    use_all();
    pthread_cleanup_push(cleaned_up, "cleanup");
    pthread_exit(value);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *by_cancel(void *unused)
{
    use_all();
    pthread_cleanup_push(cleaned_up, "cleanup");
    for (;;)
        pause();
    pthread_cleanup_pop(0);
    return unused;
}

static int by_c11(void *unused)
{
    (void)unused;
    use_all();
    return 5;
}

static int by_c11_exit(void *unused)
{
    (void)unused;
    use_all();
    thrd_exit(6);
}

static void join_pthread(const char *name, void *(*run)(void *), bool cancel)
{
    pthread_t thread;
    void *value;
    say(name);
    pthread_create(&thread, NULL, run, "its value");
    if (cancel)
        pthread_cancel(thread);
    pthread_join(thread, &value);
    say(value == PTHREAD_CANCELED ? "cancelled" : value);
}

static void join_c11(const char *name, thrd_start_t run)
{
    thrd_t thread;
    int value;
    say(name);
    thrd_create(&thread, run, NULL);
    thrd_join(thread, &value);
    printf("%d\n", value);
}

static void destructors(void)
{
    pthread_key_create(&first_key, first_gone);
    pthread_key_create(&second_key, second_gone);
    tss_create(&c11_key, second_gone);
    join_pthread("return", by_return, false);
    join_pthread("exit", by_exit, false);
    join_pthread("cancel", by_cancel, true);
    join_c11("C11", by_c11);
    join_c11("C11 exit", by_c11_exit);
}

/* A lock given back by a destructor, while another thread waits for it and nobody else is there. */
static pthread_key_t unlock_key;

static void give_back(void *lock)
{
    wait_until_all_sleep();
    pthread_mutex_unlock(lock);
}

static void *keep_lock(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_setspecific(unlock_key, &mutex);
    return unused;
}

static void *want_lock(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void late_unlock(void)
{
    pthread_t keeper, other;
    pthread_key_create(&unlock_key, give_back);
    pthread_create(&keeper, NULL, keep_lock, NULL);
    pthread_create(&other, NULL, want_lock, NULL);
    pthread_join(keeper, NULL);
    pthread_join(other, NULL);
    puts("over");
}

/* The first thread leaves by pthread_exit; the last one ends the program. */
static void *outlive(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    puts("the other");
    return unused;
}

static void main_leaves(void)
{
    pthread_t other;
    pthread_key_create(&unlock_key, give_back);
    keep_lock(NULL);
    pthread_create(&other, NULL, outlive, NULL);
    pthread_exit(NULL);
}

/* ------------------------------------------------------------------ many */

static unsigned long arrived;
static bool told;

static void *wait_for_word(void *unused)
{
    pthread_mutex_lock(&mutex);
    if (++arrived == number)
        pthread_cond_broadcast(&condition);
    while (!told)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

/* All of them on one condition, woken at once. */
static void crowd(void)
{
    pthread_t *threads = calloc(number, sizeof *threads);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    for (unsigned long i = 0; i < number; i++)
        if (pthread_create(&threads[i], &attributes, wait_for_word, NULL) != 0)
            exit(77);
    pthread_mutex_lock(&mutex);
    while (arrived < number)
        pthread_cond_wait(&condition, &mutex);
    told = true;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    for (unsigned long i = 0; i < number; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    puts("over");
}

/* All of them initialised, and in use. */
static void locks(void)
{
    pthread_mutex_t *many = calloc(number, sizeof *many);
    for (unsigned long i = 0; i < number; i++)
        pthread_mutex_init(&many[i], NULL);
    for (unsigned long i = 0; i < number; i++) {
        pthread_mutex_lock(&many[i]);
        pthread_mutex_unlock(&many[i]);
    }
    for (unsigned long i = 0; i < number; i++)
        pthread_mutex_destroy(&many[i]);
    free(many);
    puts("over");
}

/* All of them held by one thread. */
static void holds(void)
{
    pthread_mutex_t *many = calloc(number, sizeof *many);
    for (unsigned long i = 0; i < number; i++)
        pthread_mutex_lock(&many[i]);
    for (unsigned long i = number; i-- > 0;)
        pthread_mutex_unlock(&many[i]);
    free(many);
    puts("over");
}

/* ------------------------------------------------------------------ signals */

static volatile sig_atomic_t caught;

static void catch_signal(int which)
{
    caught = which;
}

/* Handles a signal that it was started without, and ends by the number of it. */
static void own_handler(void)
{
    sigset_t set, old;
    struct sigaction before, action = {.sa_handler = catch_signal};
    sigaction((int)number, &action, &before);
    sigemptyset(&set);
    sigaddset(&set, (int)number);
    sigprocmask(SIG_BLOCK, &set, &old);
    printf("%s, %s\n", before.sa_handler == SIG_IGN ? "ignored" : "not ignored",
           sigismember(&old, (int)number) ? "blocked" : "not blocked");
    fflush(stdout);
    sigdelset(&old, (int)number);
    while (!caught)
        sigsuspend(&old);
    exit(caught);
}

/* ------------------------------------------------------------------ privileges */

static pthread_barrier_t barrier;
static pthread_mutex_t other_mutex = PTHREAD_MUTEX_INITIALIZER;

static void *other_way(void *unused)
{
    pthread_mutex_lock(&other_mutex);
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&mutex);
    return unused;
}

/* Until the file `go` is there, in a call that lets itself be looked at: a child has the eye on it.
 */
static void await_go(void)
{
    pid_t child = fork();
    if (child == 0) {
        while (access("go", F_OK) != 0)
            usleep(1000);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* Becomes nobody, and hangs once the file `go` is there. */
static void dropped(void)
{
    pthread_t other;
    if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0)
        exit(77);
    puts("nobody");
    fflush(stdout);
    pthread_barrier_init(&barrier, NULL, 2);
    if (number > 1)
        await_go();
    pthread_mutex_lock(&mutex);
    pthread_create(&other, NULL, other_way, NULL);
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&other_mutex);
}

/* Milliseconds of all processors so far, into the file that UNHARMED_CPU names. */
static void tell_cpu(void)
{
    struct timespec used;
    const char *path = getenv("UNHARMED_CPU");
    FILE *file = path ? fopen(path, "w") : NULL;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    if (file) {
        fprintf(file, "%ld\n", (long)used.tv_sec * 1000 + used.tv_nsec / 1000000);
        fclose(file);
    }
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"all-keys", all_keys},
        {"destructors", destructors},
        {"late-unlock", late_unlock},
        {"main-leaves", main_leaves},
        {"crowd", crowd},
        {"locks", locks},
        {"holds", holds},
        {"own-handler", own_handler},
        {"dropped", dropped},
    };
    number = count > 2 ? strtoul(arguments[2], NULL, 10) : 1;
    for (size_t i = 0; count > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(arguments[1], cases[i].name) == 0) {
            cases[i].run();
            tell_cpu();
            return 0;
        }
    return 2;
}
