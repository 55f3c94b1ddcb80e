/* Cases that must be reported, and cases that must not. Each is a small program of its own, run
 * under the preloaded library by matrix.sh, which knows from the list what to expect:
 *
 *     deadlock    reported as actual, ends with status 86
 *     gone        reported as an owner that is gone, ends with status 86
 *     potential   reported as potential, and ends by itself
 *     quiet       nothing is said, and it ends by itself
 *     likely      reported once as likely; goes on, and ends well when it gets SIGUSR1
 *     likely-gone the same for an owner that is gone
 *     goes-on     reported once as a deadlock, but not ended: a handler of its own could still
 *                 run; ends well when it gets SIGUSR1
 *     unharmed    ends by itself; that it may be a deadlock is said once, or not at all, as it
 *                 depends on how long the wait takes
 */
#ifndef GORDIAN_TESTS_RUN_MATRIX_H
#define GORDIAN_TESTS_RUN_MATRIX_H

#include <pthread.h>
#include <stddef.h>

struct matrix_case {
    const char *name;
    const char *expect;
    void (*run)(void);
};

/* Each list ends with a NULL name. */
extern const struct matrix_case matrix_deadlocks[], matrix_gone[], matrix_potentials[],
    matrix_quiet[], matrix_sound[], matrix_likely[], matrix_jumps[];

/* Deadlocks between any two kinds of locks: "abba-KIND-KIND". */
void matrix_pairs_list(void);
/* False: no such case. */
int matrix_pairs_run(const char *name);

/* ------------------------------------------------------------------ help for the cases */

pthread_t go(void *(*run)(void *), void *argument);
void finish(pthread_t thread);
/* Until everybody else has got as far as he can. */
void settle(void);
/* Runs them one after the other, each in a thread of its own. */
void in_turn(void *(*one)(void *), void *(*two)(void *));
/* Runs them at the same time. */
void at_once(void *(*one)(void *), void *(*two)(void *));
/* Takes two locks, the outer one first, and gives them back. */
void nest(pthread_mutex_t *outer, pthread_mutex_t *inner);
/* The same with an outer one that is read, and an inner one that `lock_inner` reads or writes. */
void nest_read(pthread_rwlock_t *outer, pthread_rwlock_t *inner,
               int (*lock_inner)(pthread_rwlock_t *lock));

#endif
