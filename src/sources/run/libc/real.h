/* The functions behind the wrappers: the next definitions after this library, as a program without
 * it would use them. Resolved once. */
#pragma once

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <threads.h>
#include <unistd.h>

/* Mutexes come first: see real.c. */
#define REAL_FUNCTIONS(REAL)                                                                       \
    REAL(pthread_mutex_lock)                                                                       \
    REAL(pthread_mutex_trylock)                                                                    \
    REAL(pthread_mutex_unlock)                                                                     \
    REAL(pthread_mutex_init)                                                                       \
    REAL(pthread_mutex_destroy)                                                                    \
    REAL(pthread_mutex_timedlock)                                                                  \
    REAL(pthread_mutex_clocklock)                                                                  \
    REAL(pthread_rwlock_init)                                                                      \
    REAL(pthread_rwlock_destroy)                                                                   \
    REAL(pthread_rwlock_rdlock)                                                                    \
    REAL(pthread_rwlock_wrlock)                                                                    \
    REAL(pthread_rwlock_tryrdlock)                                                                 \
    REAL(pthread_rwlock_trywrlock)                                                                 \
    REAL(pthread_rwlock_timedrdlock)                                                               \
    REAL(pthread_rwlock_timedwrlock)                                                               \
    REAL(pthread_rwlock_clockrdlock)                                                               \
    REAL(pthread_rwlock_clockwrlock)                                                               \
    REAL(pthread_rwlock_unlock)                                                                    \
    REAL(pthread_spin_init)                                                                        \
    REAL(pthread_spin_destroy)                                                                     \
    REAL(pthread_spin_lock)                                                                        \
    REAL(pthread_spin_trylock)                                                                     \
    REAL(pthread_spin_unlock)                                                                      \
    REAL(pthread_cond_init)                                                                        \
    REAL(pthread_cond_destroy)                                                                     \
    REAL(pthread_cond_wait)                                                                        \
    REAL(pthread_cond_timedwait)                                                                   \
    REAL(pthread_cond_clockwait)                                                                   \
    REAL(pthread_cond_signal)                                                                      \
    REAL(pthread_cond_broadcast)                                                                   \
    REAL(sem_init)                                                                                 \
    REAL(sem_destroy)                                                                              \
    REAL(sem_open)                                                                                 \
    REAL(sem_wait)                                                                                 \
    REAL(sem_trywait)                                                                              \
    REAL(sem_timedwait)                                                                            \
    REAL(sem_clockwait)                                                                            \
    REAL(sem_post)                                                                                 \
    REAL(pthread_barrier_init)                                                                     \
    REAL(pthread_barrier_destroy)                                                                  \
    REAL(pthread_barrier_wait)                                                                     \
    REAL(pthread_create)                                                                           \
    REAL(pthread_join)                                                                             \
    REAL(pthread_tryjoin_np)                                                                       \
    REAL(pthread_timedjoin_np)                                                                     \
    REAL(pthread_clockjoin_np)                                                                     \
    REAL(mtx_init)                                                                                 \
    REAL(mtx_destroy)                                                                              \
    REAL(cnd_init)                                                                                 \
    REAL(cnd_destroy)                                                                              \
    REAL(cnd_wait)                                                                                 \
    REAL(cnd_timedwait)                                                                            \
    REAL(cnd_signal)                                                                               \
    REAL(cnd_broadcast)                                                                            \
    REAL(thrd_create)                                                                              \
    REAL(thrd_join)                                                                                \
    REAL(clone)                                                                                    \
    REAL(pthread_key_create)                                                                       \
    REAL(pthread_key_delete)                                                                       \
    REAL(tss_create)                                                                               \
    REAL(tss_delete)                                                                               \
    REAL(sigaction)                                                                                \
    REAL(signal)                                                                                   \
    REAL(__sysv_signal)                                                                            \
    REAL(sysv_signal)                                                                              \
    REAL(alarm)                                                                                    \
    REAL(ualarm)                                                                                   \
    REAL(setitimer)                                                                                \
    REAL(longjmp)                                                                                  \
    REAL(_longjmp)                                                                                 \
    REAL(siglongjmp)                                                                               \
    REAL(free)                                                                                     \
    REAL(realloc)                                                                                  \
    REAL(malloc_usable_size)                                                                       \
    REAL(munmap)                                                                                   \
    REAL(dlclose)                                                                                  \
    REAL(prctl)                                                                                    \
    REAL(syscall)                                                                                  \
    REAL(execve)                                                                                   \
    REAL(execvpe)                                                                                  \
    REAL(fexecve)                                                                                  \
    REAL(posix_spawn)                                                                              \
    REAL(posix_spawnp)

typedef int main_function(int count, char **arguments, char **variables);
typedef void start_function(void);
typedef int start_main_function(main_function *run, int count, char **arguments,
                                start_function *init, start_function *fini, start_function *loader,
                                void *stack_end);

struct real {
#define REAL(name) __typeof__(name) *(name);
    REAL_FUNCTIONS(REAL)
#undef REAL
    __typeof__(execveat) *execveat;
    __typeof__(signal) *sigset;         /* declared as deprecated */
    __typeof__(longjmp) *__longjmp_chk; /* declared nowhere */
    start_main_function *libc_start_main, *oldest_start_main;
    void (*cleanup_push)(struct _pthread_cleanup_buffer *buffer, void (*routine)(void *),
                         void *argument);
    void (*cleanup_pop)(struct _pthread_cleanup_buffer *buffer, int execute);
    void (*call_tls_dtors)(void); /* internal function of libc; NULL: missing */
#if defined(__x86_64__)
    /* Condition variables of programs linked before glibc 2.3.2. */
    __typeof__(pthread_cond_wait) *oldest_cond_wait;
    __typeof__(pthread_cond_timedwait) *oldest_cond_timedwait;
#endif
};

#pragma GCC visibility push(hidden)
extern struct real real;
#pragma GCC visibility pop

/* Fills `real`; may be called again, by several threads. Wrappers that run earlier call it. False:
 * a function is missing, so this is another libc. */
bool real_resolve(void);
