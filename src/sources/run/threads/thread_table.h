/* The thread table: one record for each thread. */
#pragma once

#include "sources/run/state/watch.h"

#define TID_LIMIT (1u << 22) /* Linux thread IDs are below this */

/* Maps the table; false: out of memory. */
bool table_start(void);
/* In the child after a fork: keeps only the calling thread. */
void table_fork(void);

/* Returns a record for a thread that is about to be created; NULL: the table is full, and the
 * watcher is off. */
struct thread *table_reserve(void);
/* The thread was not created. */
void table_release(struct thread *t);
/* The calling thread starts to use its record. */
void table_adopt(struct thread *t);

/* The calling thread ends: frees its record. */
void table_remove(struct thread *t);
/* Frees the records of threads that have ended unobserved (`unseen`). */
void table_reap(void);

/* Returns the thread of this process with this ID, or that had it before a fork; NULL: unknown. */
static inline struct thread *table_by_tid(uint32_t tid)
{
    uint32_t index =
        tid < TID_LIMIT ? atomic_load_explicit(&watch.by_tid[tid], memory_order_acquire) : 0;
    return index ? &watch.threads[index - 1] : NULL;
}

struct thread *table_by_handle(uintptr_t handle);

/* Returns the kernel's number of threads of this process; 0: unknown. */
uint32_t table_tasks(void);
