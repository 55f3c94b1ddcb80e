/* libgordian-run.so: the library that `gordian run` preloads into a program. Read this first.
 *
 * Folders, each of which uses only those above it:
 *
 *   libc/      libc's own functions behind the wrappers, exported names, layouts of locks
 *   state/     the watcher and its thread records, system calls, memory, guards, settings
 *   locks/     registry of locks (locks/lock_registry.c), and the lock-order graph
 *              (locks/lock_order.c), which finds lock order inversions
 *   threads/   the thread table: the locks that each thread holds, and its one wait
 *   graph/     owners of locks, running threads, the owner chain, the wait-for graph
 *   report/    incidents (foundation/records/incident.h): built, written, sent to the reporter
 *   judge/     decides whether it is a deadlock, and how certain that is
 *   start/     setting up and switching off; the start of every wrapper (start/enter.h)
 *   wrappers/  the functions of libc that programs call
 *
 * A wrapper records which lock its thread holds and where it took it. *Before* the thread blocks,
 * the wrapper fills the thread's only wait slot. Only the thread itself writes its record. A free
 * lock causes no write that another thread would read.
 *
 * A thread about to block follows the owner chain (graph/owner_chain.c). If it ends at a running
 * thread, there is no deadlock. Otherwise judge/judge.c puts holders and waiters into a snapshot
 * for libgordian's engine. Each finding of the engine is checked a second time: every wait must be
 * the same (generations), every thread asleep in the kernel, every owner unchanged. Then it is a
 * deadlock. If nothing from outside could end it (judge/verdict_facts.c), and the reporter confirms
 * it from outside (sources/inspect/judge/confirm.h), the program is ended.
 *
 * Each finding is reported once and counted afterwards (report/notice.c, report/delivery.c).
 * report/reporter_launch.c starts the reporter; report/plain_report.c is the report of last resort.
 *
 * Rules of this folder:
 *   - No libc function that may allocate, lock or be a cancellation point: system_call.h.
 *   - No pthread lock: guard.h.
 *   - No guard is held while the thread may be cancelled, or a handler may jump: shield.h.
 *   - Memory comes from mmap: arena.h.
 *   - `inside` is set in a thread's record while it works here, so that locks in a signal handler
 *     go to libc unobserved.
 *   - If anything fails, the program continues as if it were not watched.
 */
#pragma once

#include "foundation/records/incident.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define THROUGH_C11    0x80 /* flag of holds and waits: by mtx_, cnd_ or thrd_ */
#define HELD_INHERITED 0x40 /* flag of holds: taken in the parent, before a fork */
#define HELD_SIGNALLED 0x20 /* flag of holds: a condition was signalled since */

#define HELD_FIRST   16 /* holds stored in the record itself */
#define CACHED_WALKS 16 /* cached walks of a thread */

/* A lock that a thread holds. The fields used by most locks fit in one cache line. */
struct held {
    uintptr_t lock;
    uint64_t below; /* hash of the locks held when it was taken */
    uint64_t chain; /* the same including this one */
    union {
        struct {
            uint32_t units; /* of a semaphore, or recursion depth */
            uint8_t kind;   /* enum incident_lock_kind */
            uint8_t mode;   /* enum incident_mode */
            uint8_t flags;  /* INCIDENT_TRIED, THROUGH_C11, HELD_.. */
            uint8_t frames; /* number of valid entries of `frame` */
        };
        uint64_t what; /* all five fields, to store them at once */
    };
    uint32_t order; /* value of watch.order_epoch when its order was last checked */
    uintptr_t frame[INCIDENT_FRAMES];
} __attribute__((aligned(64)));

/* A cached walk through the frames (backtrace.h). */
struct cached_walk {
    uintptr_t link[INCIDENT_FRAMES - 1]; /* 0 after the last one */
    uintptr_t last;                      /* the value found instead of another link */
};

/* The wait of a thread. Only the thread writes it, while `generation` is even. */
struct wait {
    uintptr_t lock;  /* address, or the pthread_t of a join */
    uintptr_t outer; /* the mutex that a condition wait releases; else 0 */
    uint8_t kind;
    uint8_t mode;
    uint8_t flags; /* INCIDENT_TIMED, THROUGH_C11 */
    uint8_t zero;
    uint32_t frames;
    uint64_t since; /* in clock ticks */
    uintptr_t frame[INCIDENT_FRAMES];
    uintptr_t registers[INCIDENT_REGISTERS];
};

/* The state of a thread between publishing its wait and sleeping. While it looks for a deadlock,
 * another thread that does the same may ask it to look again: see graph/activity.h. */
enum looking { LOOKING_DONE, LOOKING, LOOKING_AGAIN };

enum thread_state { THREAD_FREE, THREAD_RESERVED, THREAD_LIVE };

struct order_cache;

struct thread {
    /* Used by every lock and unlock. */
    struct held *held;
    size_t used; /* of `held`, in bytes: the next entry is one addition away */
    size_t room; /* capacity in bytes */
    uint32_t tid;
    uint32_t inside; /* works in the library: calls of signal handlers go to libc unobserved */
    uintptr_t stack_low, stack_high;
    struct order_cache *orders;
    _Atomic uintptr_t lowest_lock; /* on its own stack, with an order; UINTPTR_MAX: none */

    uintptr_t signalled; /* the condition it signalled last; locks held then have HELD_SIGNALLED */
    bool woke_waiter;    /* a thread it has woken needs the mutex of this wait */

    /* Odd while the thread waits. Each wait has its own number. */
    _Atomic uint64_t generation;
    _Atomic uint32_t looking;  /* enum looking */
    uint32_t slept;            /* its number of sleeps when it finished looking */
    _Atomic uint64_t retaking; /* the condition wait in which it was seen to be woken */
    _Atomic uint64_t spun;     /* iterations of spinning for a spin lock */
    struct wait wait;

    _Atomic uint32_t state; /* enum thread_state */
    uint32_t index;         /* in the table; the next free record while free */
    uint32_t fork_tid;      /* its thread ID in the parent, which locks may contain */
    uint32_t unseen;        /* not started by a wrapper: its end is not visible */
    uint64_t blocked;       /* its signal mask while it judges */
    uint64_t doubted;       /* the wait that may be a deadlock, but is not proved, */
    uint64_t likely_at;     /* when it was last judged, */
    uint64_t likely_for;    /* and for how long it has looked like one */
    uint32_t ending;        /* past its last destructor: will never lock or unlock again */
    uint32_t is_main;
    size_t used_before; /* `used` when its wait began */
    bool jumping;       /* has called longjmp() since its wait began: wrappers/longjmp.c */
    bool stopped_orders, stopped_locks; /* it forks, and holds the guards of these tables */
    uint32_t create_frames;
    uint64_t serial;  /* number of threads seen before it */
    uintptr_t handle; /* pthread_t */
    void *(*start)(void *);
    int (*start_c11)(void *);
    void *argument;
    uint64_t stall_generation; /* the wait that the stall watcher saw */
    uint64_t stall_since;      /* when the stall watcher first saw that wait */
    uint32_t stall_told;
    uintptr_t create_frame[INCIDENT_FRAMES];
    struct cached_walk walks[CACHED_WALKS];
    struct held first[HELD_FIRST];
};

static inline __attribute__((always_inline)) bool is_waiting(const struct thread *t)
{
    return atomic_load_explicit(&t->generation, memory_order_relaxed) & 1;
}

static inline bool thread_is_live(const struct thread *t)
{
    return atomic_load_explicit(&t->state, memory_order_acquire) == THREAD_LIVE;
}

/* Returns the number of locks that the thread holds. */
static inline uint32_t holds_of(const struct thread *t)
{
    return (uint32_t)(t->used / sizeof(struct held));
}

/* Returns the hold at this offset in bytes. */
static inline __attribute__((always_inline)) struct held *held_slot(const struct thread *t,
                                                                    size_t at)
{
    return (struct held *)(void *)((char *)t->held + at);
}

/* Returns the lock taken last; NULL: it holds none. */
static inline struct held *held_last(const struct thread *t)
{
    return t->used ? held_slot(t, t->used) - 1 : NULL;
}

enum watch_state { WATCH_NEW, WATCH_STARTING, WATCH_ON, WATCH_OFF };

/* The watcher, one per process. Set up once by start_watching(), then read by all threads. */
struct watch {
    _Atomic uint32_t state;
    /* settings */
    uint32_t sites;       /* frames per call site; 0: none */
    uint32_t on_deadlock; /* enum incident_action */
    bool abort_likely;    /* likely deadlocks also end the program */
    bool potential;
    bool quiet;
    int status_signal;
    uint64_t stall_ns;
    const char *program;
    char **environment;      /* for the reporter */
    const char *library;     /* this library, as in LD_PRELOAD */
    const char *mpi_library; /* the interposers of MPI (sources/mpi/interposers.c); "": none */
    bool follow;             /* child programs are also watched */

    bool sandboxed;          /* system calls are forbidden: start/sandbox.h */
    _Atomic uint64_t caught; /* signals with a handler: as of then, and set since */
    bool timers;             /* a timer was armed then */
    bool last_words;         /* the program ends, so messages are allowed */
    char *single;            /* libc's __libc_single_threaded; never NULL */
    _Atomic uint32_t order_epoch;
    _Atomic bool status_wanted;  /* a status was requested while the thread that received the signal
                                    was inside */
    void (*answer_status)(void); /* set before status_wanted */
    _Atomic bool handlers_post;  /* a signal handler posted a semaphore, which one is unknown */
    _Atomic bool memory_lent;    /* another process shares this memory, or did */
    _Atomic bool at_death;       /* a thread receives a signal when the parent ends */
    _Atomic bool strays;         /* a thread released a lock that another had taken */

    struct thread *threads;
    uint32_t thread_room;
    _Atomic uint32_t thread_limit; /* number of records ever used */
    _Atomic uint32_t starting;     /* records of threads that are being created */
    _Atomic uint32_t live;
    _Atomic uint32_t waiting; /* threads in a wait without a time limit; never too low */
    _Atomic uint32_t unseen;  /* threads whose end is not visible */
    _Atomic uint32_t helpers; /* threads of the library itself */
    _Atomic uint32_t helper_tid;
    _Atomic uint64_t threads_seen;
    _Atomic uint32_t *by_tid;    /* index + 1; 0: none */
    _Atomic uint32_t *by_handle; /* the same, by a hash of the pthread_t */

    uint64_t start_ticks, start_ns; /* the same moment, to convert ticks */
    struct incident_tally *tally;   /* never NULL */
    uint32_t pid;
};

#pragma GCC visibility push(hidden)
extern struct watch watch;
#pragma GCC visibility pop
extern __thread struct thread *self __attribute__((tls_model("initial-exec")));
/* The calls of this thread go to libc unobserved: it is past its last destructor, is being
 * registered, or belongs to the library. */
extern __thread bool self_aside __attribute__((tls_model("initial-exec")));

/* The thread has left the library, unless it is still inside further out. */
static inline void inside_left(const struct thread *t)
{
    if (t->inside == 0 &&
        unlikely(atomic_load_explicit(&watch.status_wanted, memory_order_relaxed)))
        watch.answer_status();
}

/* Ends t->inside++. */
static inline void inside_leave(struct thread *t)
{
    t->inside--;
    inside_left(t);
}
