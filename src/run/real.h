/* The functions behind the wrappers: the next ones of these names after this library, as a
 * program without it would get them. Resolved once, in one place. */
#ifndef GORDIAN_RUN_REAL_H
#define GORDIAN_RUN_REAL_H

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <threads.h>

/* REAL(name, newest version, older version): whichever this libc has. */
#define REAL_FUNCTIONS(REAL)                                                                       \
    REAL(pthread_mutex_lock, V_OLDEST, V_OLDEST)                                                   \
    REAL(pthread_mutex_trylock, V_2_34, V_OLDEST)                                                  \
    REAL(pthread_mutex_unlock, V_OLDEST, V_OLDEST)                                                 \
    REAL(pthread_mutex_init, V_OLDEST, V_OLDEST)                                                   \
    REAL(pthread_mutex_destroy, V_OLDEST, V_OLDEST)                                                \
    REAL(pthread_mutex_timedlock, V_2_34, V_OLDEST)                                                \
    REAL(pthread_mutex_clocklock, V_2_34, V_2_30)                                                  \
    REAL(pthread_mutex_consistent, V_2_34, V_ROBUST)                                               \
    REAL(pthread_rwlock_init, V_2_34, V_OLDEST)                                                    \
    REAL(pthread_rwlock_destroy, V_2_34, V_OLDEST)                                                 \
    REAL(pthread_rwlock_rdlock, V_2_34, V_OLDEST)                                                  \
    REAL(pthread_rwlock_wrlock, V_2_34, V_OLDEST)                                                  \
    REAL(pthread_rwlock_tryrdlock, V_2_34, V_OLDEST)                                               \
    REAL(pthread_rwlock_trywrlock, V_2_34, V_OLDEST)                                               \
    REAL(pthread_rwlock_timedrdlock, V_2_34, V_OLDEST)                                             \
    REAL(pthread_rwlock_timedwrlock, V_2_34, V_OLDEST)                                             \
    REAL(pthread_rwlock_clockrdlock, V_2_34, V_2_30)                                               \
    REAL(pthread_rwlock_clockwrlock, V_2_34, V_2_30)                                               \
    REAL(pthread_rwlock_unlock, V_2_34, V_OLDEST)                                                  \
    REAL(pthread_spin_init, V_2_34, V_OLDEST)                                                      \
    REAL(pthread_spin_destroy, V_2_34, V_OLDEST)                                                   \
    REAL(pthread_spin_lock, V_2_34, V_OLDEST)                                                      \
    REAL(pthread_spin_trylock, V_2_34, V_OLDEST)                                                   \
    REAL(pthread_spin_unlock, V_2_34, V_OLDEST)                                                    \
    REAL(pthread_cond_init, V_COND, V_COND)                                                        \
    REAL(pthread_cond_destroy, V_COND, V_COND)                                                     \
    REAL(pthread_cond_wait, V_COND, V_COND)                                                        \
    REAL(pthread_cond_timedwait, V_COND, V_COND)                                                   \
    REAL(pthread_cond_clockwait, V_2_34, V_2_30)                                                   \
    REAL(sem_init, V_2_34, V_OLDEST)                                                               \
    REAL(sem_destroy, V_2_34, V_OLDEST)                                                            \
    REAL(sem_open, V_2_34, V_OLDEST)                                                               \
    REAL(sem_close, V_2_34, V_OLDEST)                                                              \
    REAL(sem_wait, V_2_34, V_OLDEST)                                                               \
    REAL(sem_trywait, V_2_34, V_OLDEST)                                                            \
    REAL(sem_timedwait, V_2_34, V_OLDEST)                                                          \
    REAL(sem_clockwait, V_2_34, V_2_30)                                                            \
    REAL(sem_post, V_2_34, V_OLDEST)                                                               \
    REAL(pthread_barrier_init, V_2_34, V_OLDEST)                                                   \
    REAL(pthread_barrier_destroy, V_2_34, V_OLDEST)                                                \
    REAL(pthread_barrier_wait, V_2_34, V_OLDEST)                                                   \
    REAL(pthread_create, V_2_34, V_OLDEST)                                                         \
    REAL(pthread_join, V_2_34, V_OLDEST)                                                           \
    REAL(pthread_tryjoin_np, V_2_34, V_TIMED)                                                      \
    REAL(pthread_timedjoin_np, V_2_34, V_TIMED)                                                    \
    REAL(pthread_clockjoin_np, V_2_34, V_2_31)                                                     \
    REAL(mtx_init, V_2_34, V_2_28)                                                                 \
    REAL(mtx_destroy, V_2_34, V_2_28)                                                              \
    REAL(mtx_lock, V_2_34, V_2_28)                                                                 \
    REAL(mtx_trylock, V_2_34, V_2_28)                                                              \
    REAL(mtx_timedlock, V_2_34, V_2_28)                                                            \
    REAL(mtx_unlock, V_2_34, V_2_28)                                                               \
    REAL(cnd_init, V_2_34, V_2_28)                                                                 \
    REAL(cnd_destroy, V_2_34, V_2_28)                                                              \
    REAL(cnd_wait, V_2_34, V_2_28)                                                                 \
    REAL(cnd_timedwait, V_2_34, V_2_28)                                                            \
    REAL(thrd_create, V_2_34, V_2_28)                                                              \
    REAL(thrd_join, V_2_34, V_2_28)                                                                \
    REAL(sigaction, V_OLDEST, V_OLDEST)                                                            \
    REAL(signal, V_OLDEST, V_OLDEST)                                                               \
    REAL(free, V_OLDEST, V_OLDEST)                                                                 \
    REAL(realloc, V_OLDEST, V_OLDEST)                                                              \
    REAL(malloc_usable_size, V_OLDEST, V_OLDEST)                                                   \
    REAL(munmap, V_OLDEST, V_OLDEST)

struct real {
#define REAL(name, newest, older) __typeof__(name) *name;
    REAL_FUNCTIONS(REAL)
#undef REAL
#if defined(__x86_64__)
    /* Condition variables of programs linked before glibc 2.3.2. */
    __typeof__(pthread_cond_wait) *oldest_cond_wait;
    __typeof__(pthread_cond_timedwait) *oldest_cond_timedwait;
#endif
};

#pragma GCC visibility push(hidden)
extern struct real real;
#pragma GCC visibility pop

/* Fills `real`; safe to call again, from several threads. A wrapper called before that happened calls
 * it. False: this libc lacks one (it would be a different libc). */
bool real_resolve(void);

#endif
