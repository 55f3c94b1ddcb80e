/* What is known of locks beyond what they say themselves: where they were initialised, their names,
 * a semaphore's first value, who ended holding one. Locks that were never initialised by a call
 * (static ones, C++'s std::mutex) have an entry only when there is something to say. */
#pragma once

#include "sources/run/state/backtrace.h"

enum lock_flags {
    LOCK_KNOWN = 1 << 0,   /* its initialisation was seen: `frame`, `units` */
    LOCK_STRAY = 1 << 1,   /* given back by somebody who did not have it */
    LOCK_SIGNALS = 1 << 2, /* a semaphore posted by somebody who had not waited */
    LOCK_SHARED = 1 << 3,  /* a semaphore other processes see */
    LOCK_POSTED = 1 << 4,  /* a semaphore posted by one who had waited: it is used as a lock */
    LOCK_HANDLED = 1 << 5, /* a semaphore posted by a signal handler */
};

struct lock_info {
    uintptr_t lock;
    uint32_t kind;
    uint32_t flags;
    uint32_t units; /* a semaphore's first value */
    uint32_t frames;
    uintptr_t frame[INCIDENT_FRAMES];
    char name[64];
};

/* An entry for a lock that is initialised; what was known of that address is forgotten. */
void locks_enter(const struct thread *t, uintptr_t lock, uint32_t kind, uint32_t units,
                 uint32_t flags, struct site site);
/* Forgets a lock, and what ended threads held in its memory. */
void locks_remove(uintptr_t lock, size_t size);
/* Sets flags; makes an entry if there is none. */
void lock_mark(uintptr_t lock, uint32_t kind, uint32_t flags);
uint32_t lock_flags(uintptr_t lock);
/* A copy; false: nothing is known. */
bool lock_look(uintptr_t lock, struct lock_info *info);
void lock_set_name(const void *lock, const char *name);

/* Somebody ended holding these. */
struct orphan {
    uintptr_t lock;
    uint32_t tid;
    uint32_t forked; /* it lives on in the parent: this process has a copy of its lock */
    char name[16];
    struct held held;
};
void orphans_add(const struct thread *t, bool forked);
/* A copy of what is known of the one who ended holding this lock. `tid` 0: whoever it was. */
bool orphans_find(uintptr_t lock, uint32_t tid, struct orphan *orphan);
bool orphans_any(void);
/* How many read locks ended threads still have on it. */
uint32_t orphans_readers(uintptr_t lock);

/* About how many locks were used. */
void locks_count(uintptr_t lock);
uint64_t locks_counted(void);

/* Maps the tables; false: no memory. After fork: forgets who held the guards. */
bool locks_start(void);
void locks_fork(void);
/* Around fork, in the parent: nobody changes them meanwhile. False: it goes without. */
bool locks_stop(void);
void locks_go_on(void);
