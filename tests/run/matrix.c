#include "matrix.h"
#include "settle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_t go(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument) != 0) {
        perror("pthread_create");
        exit(3);
    }
    return thread;
}

void finish(pthread_t thread)
{
    if (pthread_join(thread, NULL) != 0)
        exit(3);
}

void settle(void)
{
    wait_until_all_sleep();
}

void in_turn(void *(*one)(void *), void *(*two)(void *))
{
    finish(go(one, NULL));
    finish(go(two, NULL));
}

void at_once(void *(*one)(void *), void *(*two)(void *))
{
    pthread_t first = go(one, NULL), second = go(two, NULL);
    finish(first);
    finish(second);
}

void nest(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
    pthread_mutex_lock(outer);
    pthread_mutex_lock(inner);
    pthread_mutex_unlock(inner);
    pthread_mutex_unlock(outer);
}

void nest_read(pthread_rwlock_t *outer, pthread_rwlock_t *inner,
               int (*lock_inner)(pthread_rwlock_t *lock))
{
    pthread_rwlock_rdlock(outer);
    lock_inner(inner);
    pthread_rwlock_unlock(inner);
    pthread_rwlock_unlock(outer);
}

static const struct matrix_case *const lists[] = {matrix_deadlocks, matrix_gone,  matrix_potentials,
                                                  matrix_quiet,     matrix_sound, matrix_likely,
                                                  matrix_jumps};

int main(int count, char **arguments)
{
    if (count != 2)
        return 2;
    int list = strcmp(arguments[1], "--list") == 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct matrix_case *at = lists[i]; at->name; at++) {
            if (list)
                printf("%s %s\n", at->name, at->expect);
            else if (strcmp(at->name, arguments[1]) == 0) {
                at->run();
                return 0;
            }
        }
    if (!list)
        return matrix_pairs_run(arguments[1]) ? 0 : 2;
    matrix_pairs_list();
    return 0;
}
