/* libgordian-run.so: the library inside a watched program. Read this first.
 *
 * Folders, each of which uses only those above it:
 *
 *   libc/      libc's own functions behind the wrappers, exported names, layouts of locks
 *   state/     the watcher and its threads' records, system calls, memory, guards, settings
 *   locks/     what is known of locks (locks/lock_registry.c), and in which orders they were taken
 *              (locks/lock_order.c), where each is a possible deadlock
 *   threads/   the table of threads: what each holds, and the one wait that it has
 *   graph/     owners of locks, threads that run, the chain of owners, the wait-for graph
 *   report/    incidents (foundation/records/incident.h): built, written, handed to the reporter
 *   judge/     is it a deadlock, and how sure is that?
 *   start/     setting up and switching off; how a wrapper begins (start/enter.h)
 *   wrappers/  the functions of libc that programs call
 *
 * A wrapper notes what its thread holds and where it took it, and fills the thread's one wait slot
 * *before* it blocks. Only the thread itself writes its record. A free lock costs no write that
 * another thread would read.
 *
 * A thread about to block follows the owners (graph/owner_chain.c). If the chain ends at a thread
 * that runs, that is all. If not, judge/judge.c puts holders and waiters into a snapshot for
 * libgordian's engine. What the engine finds is checked a second time: every wait the same as
 * before (generations), every thread asleep in the kernel, every owner unchanged. Only then is it
 * called a deadlock. If nothing outside could end it (judge/verdict_facts.c), and the reporter sees
 * it from outside, too (sources/inspect/judge/confirm.h), the program is ended.
 *
 * Each finding is reported once and counted afterwards (report/notice.c, report/delivery.c).
 * report/reporter_launch.c starts the reporter, report/plain_report.c is the report of last resort.
 *
 * Rules of this folder:
 *   - No libc function that may allocate, lock or be a cancellation point: system_call.h.
 *   - No pthread lock: guard.h.
 *   - Nothing is held while the thread may be cancelled, or a handler jump: shield.h.
 *   - Memory comes from mmap: arena.h.
 *   - `inside` is set in a thread's record while it works here, so that a signal handler that locks
 *     passes through.
 *   - Whatever goes wrong, the program goes on as if it were not watched.
 */
#pragma once

#include "foundation/records/incident.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define THROUGH_C11    0x80 /* a flag of holds and waits: by mtx_, cnd_ or thrd_ */
#define HELD_INHERITED 0x40 /* a flag of holds: taken in the parent, before a fork */
#define HELD_SIGNALLED 0x20 /* a flag of holds: a condition was signalled meanwhile */

#define HELD_FIRST 16 /* holds with room in the record itself */
#define WAYS       16 /* by which a thread's locks are known to be called */

/* Something a thread holds. What most locks touch fits one cache line. */
struct held {
    uintptr_t lock;
    uint64_t below; /* a hash of what was held when it was taken */
    uint64_t chain; /* the same with this one */
    union {
        struct {
            uint32_t units; /* of a semaphore, or the depth of recursion */
            uint8_t kind;   /* enum incident_lock_kind */
            uint8_t mode;   /* enum incident_mode */
            uint8_t flags;  /* INCIDENT_TRIED, THROUGH_C11, HELD_.. */
            uint8_t frames; /* how many of `frame` are filled */
        };
        uint64_t what; /* all five, to be stored at once */
    };
    uint32_t order; /* watch.order_epoch when its order was last looked at */
    uintptr_t frame[INCIDENT_FRAMES];
} __attribute__((aligned(64)));

/* A way outwards through the frames, as it was last time (backtrace.h). */
struct way {
    uintptr_t link[INCIDENT_FRAMES - 1]; /* 0 behind the last one */
    uintptr_t last;                      /* what was found instead of one more */
};

/* What a thread waits for. Only its thread writes it, while `generation` is even. */
struct wait {
    uintptr_t lock;  /* address, or the pthread_t of a join */
    uintptr_t outer; /* the mutex a condition wait gives back; else 0 */
    uint8_t kind;
    uint8_t mode;
    uint8_t flags; /* INCIDENT_TIMED, THROUGH_C11 */
    uint8_t zero;
    uint32_t frames;
    uint64_t since; /* in ticks */
    uintptr_t frame[INCIDENT_FRAMES];
    uintptr_t registers[INCIDENT_REGISTERS];
};

/* A thread that waits looks around first. Another that does so at the same time may rely on it to
 * look again: graph/owner_chain.h tells how. */
enum looking { LOOKING_DONE, LOOKING, LOOKING_AGAIN };

enum thread_state { THREAD_FREE, THREAD_RESERVED, THREAD_LIVE };

struct order_cache;

struct thread {
    /* What every lock and unlock looks at. */
    struct held *held;
    size_t used; /* of `held`, in bytes: where the next one goes is one addition away */
    size_t room; /* the same */
    uint32_t tid;
    uint32_t inside; /* working here: a signal handler's calls pass through */
    uintptr_t stack_low, stack_high;
    struct order_cache *orders;
    _Atomic uintptr_t lowest_lock; /* on its own stack, with an order; UINTPTR_MAX: none */

    uintptr_t signalled; /* the condition it signalled last: what it held then has HELD_SIGNALLED */
    bool woke_somebody;  /* it still has the mutex that one needs to go on */

    /* Waiting while odd; each wait has its own number. */
    _Atomic uint64_t generation;
    _Atomic uint32_t looking;  /* enum looking: where it is between saying so and doing so */
    uint32_t slept;            /* how often it had slept when it had done looking */
    _Atomic uint64_t retaking; /* the wait on a condition in which it was seen to be woken */
    _Atomic uint64_t spun;     /* rounds of spinning for a spin lock */
    struct wait wait;

    _Atomic uint32_t state; /* enum thread_state */
    uint32_t index;         /* in the table; also the next free one while free */
    uint32_t fork_tid;      /* its number in the parent, whose marks it may have on locks */
    uint32_t unseen;        /* not started by a function of ours: it will end without telling */
    uint64_t blocked;       /* the signals it blocks by itself, while it judges */
    uint64_t doubted;       /* the wait that may be a deadlock, but is not proved to be one, */
    uint64_t doubted_at;    /* when it was last looked at, */
    uint64_t doubted_for;   /* and for how long it has been one, by looks */
    uint32_t ending;        /* past its last destructor: will never lock or unlock again */
    uint32_t is_main;
    size_t used_before; /* `used` when its wait began */
    bool jumping;       /* it has called longjmp() since its wait began: wrappers/longjmp.c */
    bool stopped_orders, stopped_locks; /* it forks, and has these tables for itself */
    uint32_t create_frames;
    uint64_t serial;  /* threads seen before it */
    uintptr_t handle; /* pthread_t */
    void *(*start)(void *);
    int (*start_c11)(void *);
    void *argument;
    uint64_t stall_generation; /* the stall watcher's: the wait it saw, */
    uint64_t stall_since;      /* and when first */
    uint32_t stall_told;
    uintptr_t create_frame[INCIDENT_FRAMES];
    struct way ways[WAYS];
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

/* How many locks the thread holds. */
static inline uint32_t holds_of(const struct thread *t)
{
    return (uint32_t)(t->used / sizeof(struct held));
}

/* The hold at this many bytes of `held`. */
static inline __attribute__((always_inline)) struct held *held_slot(const struct thread *t,
                                                                    size_t at)
{
    return (struct held *)(void *)((char *)t->held + at);
}

/* What it took last; NULL: it holds nothing. */
static inline struct held *held_last(const struct thread *t)
{
    return t->used ? held_slot(t, t->used) - 1 : NULL;
}

enum watch_state { WATCH_NEW, WATCH_STARTING, WATCH_ON, WATCH_OFF };

/* The process's one watcher. Set up once by start_watching(), then read by everybody. */
struct watch {
    _Atomic uint32_t state;
    /* settings */
    uint32_t sites;       /* frames to remember, 0: none */
    uint32_t on_deadlock; /* enum incident_action */
    bool abort_likely;    /* what is likely ends the program, too */
    bool potential;
    bool quiet;
    int status_signal;
    uint64_t stall_ns;
    const char *program;
    char **environment;  /* for the reporter */
    const char *library; /* this one, as LD_PRELOAD has it */
    const char
        *mpi_library; /* the interposers of MPI (sources/mpi/interposers.c); "": there are none */
    bool follow;      /* programs started from here are watched, too */

    bool sandboxed;          /* the kernel must not be asked any more: start/sandbox.h */
    _Atomic uint64_t caught; /* signals with a handler: as of then, and set since */
    bool timers;             /* one was armed then */
    bool last_words;         /* but may be told something, since the program ends here */
    char *single;            /* libc's __libc_single_threaded; never NULL */
    _Atomic uint32_t order_epoch;
    _Atomic bool status_wanted; /* somebody asked while the thread that got the signal was inside */
    void (*answer_status)(void); /* set before that */
    _Atomic bool handlers_post;  /* a signal handler posted some semaphore, nobody knows which */
    _Atomic bool memory_lent;    /* another process runs in this memory, or did */
    _Atomic bool at_death;       /* a thread gets a signal when the parent ends */
    _Atomic bool strays;         /* somebody gave back what another had taken */

    struct thread *threads;
    uint32_t thread_room;
    _Atomic uint32_t thread_limit; /* records ever used */
    _Atomic uint32_t starting;     /* records of threads that are about to begin */
    _Atomic uint32_t live;
    _Atomic uint32_t waiting; /* of these, without end; at least as many as really do */
    _Atomic uint32_t unseen;  /* of these, whose end is not told */
    _Atomic uint32_t helpers; /* threads of our own */
    _Atomic uint32_t helper_tid;
    _Atomic uint64_t threads_seen;
    _Atomic uint32_t *by_tid;    /* index + 1; 0: none */
    _Atomic uint32_t *by_handle; /* the same, by a hash of the pthread_t */

    uint64_t start_ticks, start_ns; /* the same moment: how long a tick is */
    struct incident_tally *tally;   /* never NULL */
    uint32_t pid;
};

#pragma GCC visibility push(hidden)
extern struct watch watch;
#pragma GCC visibility pop
extern __thread struct thread *self __attribute__((tls_model("initial-exec")));
/* This thread passes through: it is past its last destructor, or in the middle of registering, or
 * the library's own. */
extern __thread bool self_aside __attribute__((tls_model("initial-exec")));

/* This thread is not inside any more, unless it still is further out. */
static inline void inside_left(const struct thread *t)
{
    if (t->inside == 0 &&
        unlikely(atomic_load_explicit(&watch.status_wanted, memory_order_relaxed)))
        watch.answer_status();
}

/* The other end of t->inside++. */
static inline void inside_leave(struct thread *t)
{
    t->inside--;
    inside_left(t);
}
