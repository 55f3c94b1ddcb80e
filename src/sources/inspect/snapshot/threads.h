/* The threads of a process snapshot: sorted by process, then by thread ID. */
#pragma once

#include "foundation/base/memory.h"
#include "output/report/symbol/symbol.h"
#include "sources/inspect/target/system_calls.h"
#include "sources/inspect/target/target.h"

#define SNAPSHOT_NONE UINT32_MAX
#define SNAPSHOT_GONE (UINT32_MAX - 1) /* a holder that has ended */

/* Innermost frame first. */
struct snapshot_stack {
    struct unwound *frames;
    size_t count;
    bool whole; /* reaches the start of the thread */
    bool tried, stopped;
};

struct snapshot_thread {
    uint32_t process;        /* index of its target */
    struct target_thread is; /* as of the first listing; `steady` as of the second */
    bool sleeps;             /* in `call` */
    struct sleep_call call;
    uint32_t wait;     /* edge, or SNAPSHOT_NONE */
    const char *doing; /* what it does if it waits for no lock, for the report; NULL: derive it from
                          the call */
    const char *unknown; /* why its wait is unknown, and what would help; NULL */
    bool unseen;         /* because the process that could end its wait is not inspected */
    struct snapshot_stack stack;
    bool spins;           /* waits without sleeping */
    bool wants_registers; /* a decoder needs its registers: see inspect.c */
};

struct snapshot_threads {
    struct snapshot_thread *list;
    size_t count, capacity;
    uint32_t *first; /* by process: index of its first thread; one more entry for the end */
};

/* Adds a thread to the last listed process. NULL: out of memory. */
struct snapshot_thread *threads_add(struct snapshot_threads *threads,
                                    const gordian_allocator *memory, uint32_t process,
                                    const struct target_thread *is);
void threads_clear(struct snapshot_threads *threads, const gordian_allocator *memory);
