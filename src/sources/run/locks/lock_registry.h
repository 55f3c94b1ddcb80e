/* The lock registry: what is known about locks besides their contents. It stores where they were
 * initialized, their names, the initial value of semaphores, and which threads ended with them.
 * Locks that no call initialized (static ones, std::mutex) have an entry only if necessary. */
#pragma once

#include "sources/run/state/backtrace.h"

enum lock_flags {
    LOCK_KNOWN = 1 << 0,   /* its initialization was seen: `frame`, `units` */
    LOCK_STRAY = 1 << 1,   /* released by a thread that did not hold it */
    LOCK_SIGNALS = 1 << 2, /* a semaphore posted by a thread that had not waited */
    LOCK_SHARED = 1 << 3,  /* a semaphore shared with other processes */
    LOCK_POSTED = 1 << 4, /* a semaphore posted by a thread that had waited: it is used as a lock */
    LOCK_HANDLED = 1 << 5, /* a semaphore posted by a signal handler */
};

struct lock_info {
    uintptr_t lock;
    uint32_t kind;
    uint32_t flags;
    uint32_t units; /* initial value of a semaphore */
    uint32_t frames;
    uintptr_t frame[INCIDENT_FRAMES];
    char name[64];
};

/* Adds a lock that is being initialized; earlier knowledge of that address is discarded. */
void locks_enter(const struct thread *t, uintptr_t lock, uint32_t kind, uint32_t units,
                 uint32_t flags, struct site site);
/* Removes a lock, and the orphans in its memory. */
void locks_remove(uintptr_t lock, size_t size);
/* Sets flags; adds an entry if there is none. */
void lock_mark(uintptr_t lock, uint32_t kind, uint32_t flags);
uint32_t lock_flags(uintptr_t lock);
/* Copies an entry; false: there is none. */
bool lock_look(uintptr_t lock, struct lock_info *info);
void lock_set_name(const void *lock, const char *name);

/* A lock whose holder has ended. */
struct orphan {
    uintptr_t lock;
    uint32_t tid;
    uint32_t forked; /* the holder is alive in the parent: this process has a copy of the lock */
    char name[16];
    struct held held;
};
void orphans_add(const struct thread *t, bool forked);
/* Copies the orphan of this lock. `tid` 0: of any thread. */
bool orphans_find(uintptr_t lock, uint32_t tid, struct orphan *orphan);
bool orphans_any(void);
/* Returns how many read locks ended threads hold. */
uint32_t orphans_readers(uintptr_t lock);

/* Counts locks approximately. */
void locks_count(uintptr_t lock);
uint64_t locks_counted(void);

/* Maps the tables; false: out of memory. After a fork: resets the guards. */
bool locks_start(void);
void locks_fork(void);
/* Around fork, in the parent: prevents changes. False: fork continues without. */
bool locks_stop(void);
void locks_go_on(void);
