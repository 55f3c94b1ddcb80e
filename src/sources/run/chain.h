/* Looking at other threads: what they wait for, who has it, whether they sleep. */
#ifndef GORDIAN_SOURCES_RUN_CHAIN_H
#define GORDIAN_SOURCES_RUN_CHAIN_H

#include "sources/run/locks.h"
#include "sources/run/table.h"

#include <pthread.h>
#include <semaphore.h>

/* A wait as another thread sees it. */
struct look {
    struct thread *thread;
    uint64_t generation;
    uintptr_t lock, outer;
    uint8_t kind, mode, flags;
};

/* False: it does not wait, or its wait has just changed. */
bool look_at(struct thread *t, struct look *look);
/* Is it the very same wait still? */
bool look_holds(const struct look *look);

/* Somebody woken from a condition may be waiting for the mutex it takes back: then that is what it
 * waits for. Asks the kernel, unless nobody waits for the mutex. */
bool look_retakes(struct look *look);

/* A copy of a lock that somebody else waits for. It may be freed at any moment: the kernel copies,
 * and says so when there is nothing there. */
union lock_copy {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_cond_t condition;
    sem_t semaphore;
    uint32_t words[16];
};
bool lock_copy(uintptr_t lock, uint32_t kind, union lock_copy *copy);

enum owner {
    OWNER_NONE,    /* nobody, or it is changing hands */
    OWNER_THREAD,  /* a thread we know: *thread */
    OWNER_RUNNING, /* somebody unknown who lives: an unwatched thread, another process */
    OWNER_GONE,    /* somebody who has ended, or stayed behind in the parent of a fork */
};

/* What a lock that names its owner is like. */
enum named {
    NAMED_SHARED = 1 << 0,  /* other processes may have it */
    NAMED_ROBUST = 1 << 1,  /* when the owner ends, the kernel passes it on */
    NAMED_INHERIT = 1 << 2, /* so it does here, to those who wait then */
};
uint32_t mutex_named(const pthread_mutex_t *mutex);
uint32_t rwlock_named(const pthread_rwlock_t *lock);

/* Who has a lock that names its owner by tid (mutex, rwlock for writing). */
enum owner owner_of(uintptr_t lock, uint32_t tid, uint32_t named, struct thread **thread);

/* Did somebody end holding this lock, for good? A lock in shared memory that another thread of the
 * parent held at a fork is not that: there it lives on. */
bool orphan_of(uintptr_t lock, uint32_t tid, struct orphan *orphan);

/* The units of a lock that a thread holds, all its holds added; *hold: the first of them. Safe on
 * running threads, whose answer may be stale. What was held at a fork the child holds, too, unless
 * it is in shared memory: there are no two of it. */
uint32_t units_held(const struct thread *t, uintptr_t lock, uint32_t mode,
                    const struct held **hold);

/* Is there a thread that could act? Known threads first; if all of them wait without end, the
 * kernel is asked for threads unknown to us, and for known ones that have been woken but have not
 * got round to saying so. `ending`: the calling thread, which does not count any more. */
bool somebody_runs(const struct thread *ending);

/* Asleep in the kernel, and in the very wait it announced? *address: where. */
enum sleep { SLEEP_YES, SLEEP_NO, SLEEP_UNKNOWN };
enum sleep is_asleep(const struct thread *t, uintptr_t *address);

/* Threads that begin to wait at the same time. Each has announced its wait and looks around;
 * whoever looks last must see all the others asleep. But one that is still looking is not asleep,
 * and each might take the other for one who runs. So of two that see each other looking the younger
 * is the one who looks last: the older one relies on it, asking it to look once more if it has
 * begun already, and the younger one waits until the older sleeps. */
bool relies_on(struct thread *t);

/* Follows who waits for whom. */
enum trail {
    TRAIL_RUNS,  /* ends at somebody who runs: no deadlock. If it blocks later it will look itself.
                  */
    TRAIL_WAKES, /* ends at somebody on a condition, who may wake and block without looking, or at
                    somebody unknown, who may be about to end */
    TRAIL_STUCK, /* may be a deadlock */
};
enum trail follow_chain(struct thread *t);

#endif
