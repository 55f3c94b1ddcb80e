/* The table of threads. */
#pragma once

#include "sources/run/state/watch.h"

#define TID_LIMIT (1u << 22) /* Linux numbers its threads below this */

/* Maps the table; false: no memory. */
bool table_start(void);
/* In the child after fork: only the calling thread is left. */
void table_fork(void);

/* A record for a thread that is about to be created; NULL: the table is full, the watcher off. */
struct thread *table_reserve(void);
/* It came to nothing. */
void table_release(struct thread *t);
/* The calling thread takes its record into use. */
void table_adopt(struct thread *t);

/* The calling thread ends: its record is free. */
void table_remove(struct thread *t);
/* Frees the records of threads that have ended without telling (`unseen`). */
void table_reap(void);

/* The thread of this process with that number, or one that had it before a fork; NULL: none known.
 */
static inline struct thread *table_by_tid(uint32_t tid)
{
    uint32_t index =
        tid < TID_LIMIT ? atomic_load_explicit(&watch.by_tid[tid], memory_order_acquire) : 0;
    return index ? &watch.threads[index - 1] : NULL;
}

struct thread *table_by_handle(uintptr_t handle);

/* How many threads the kernel says this process has; 0: it does not say. */
uint32_t table_tasks(void);
