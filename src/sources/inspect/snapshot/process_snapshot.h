/* The picture of one look: threads, locks, who waits for what, who holds what.
 *
 * A sight has one or several targets, `process` being the index of one. Decoders
 * (sources/inspect/decoders/decoder.h) fill in what they know:
 *
 *     uint32_t lock = sight_lock(sight, process, address, INCIDENT_MUTEX);
 *     sight_wait(sight, thread, lock, INCIDENT_EXCLUSIVE);
 *     sight_hold(sight, owner, lock, INCIDENT_EXCLUSIVE, WORD_PROVED, "owner read from the mutex");
 *
 * Kinds, flags and modes are those of foundation/records/incident.h. Everything said here lives
 * until the next look; memory that runs out is remembered in `failed`, so decoders need not ask.
 */
#pragma once

#include "foundation/base/arena.h"
#include "foundation/base/hash.h"
#include "foundation/records/incident.h"
#include "output/report/symbol/symbol.h"
#include "sources/inspect/target/system_calls.h"
#include "sources/inspect/target/target.h"

#define SIGHT_NONE UINT32_MAX
#define SIGHT_GONE (UINT32_MAX - 1) /* a holder that has ended */

/* How well something is known. */
enum word {
    WORD_PROVED = INCIDENT_PROVED,
    WORD_LIKELY = INCIDENT_LIKELY,
};

/* Innermost first. */
struct sight_stack {
    struct unwound *frames;
    size_t count;
    bool whole; /* to the thread's beginning */
    bool tried, stopped;
};

struct sight_thread {
    uint32_t process;
    struct target_thread is; /* as it was at the first listing; `steady` by the second */
    bool sleeps;             /* in `call` */
    struct sleep_call call;
    uint32_t wait;       /* edge, or SIGHT_NONE */
    const char *doing;   /* for people, if it waits for no lock; NULL: say it by the call */
    const char *unknown; /* what cannot be known about its wait, and what would help; NULL */
    bool unseen;         /* because the process that could end it was not looked at */
    struct sight_stack stack;
    bool spins;           /* does not sleep, but waits all the same */
    bool wants_registers; /* a decoder could say more if it had them: see inspect.c */
};

struct sight_lock {
    uint32_t process;
    uint64_t address;
    uint64_t space, place; /* what tells it from others: see sight_lock */
    uint32_t kind, flags;
    uint32_t target;     /* INCIDENT_THREAD_END: the thread */
    uint32_t owner_tid;  /* as it says itself */
    uint32_t units;      /* semaphore: value; barrier: how many it takes; rwlock: readers */
    uint32_t missing;    /* barrier */
    const char *name;    /* NULL: by its address */
    uint32_t first_hold; /* edge, or SIGHT_NONE; others by their `next_hold` */
    bool own_end;        /* the process that waits has the other end itself, and nobody else has */
    bool idles;          /* a wait of a script in which it may idle: Event.wait, Queue.get */
    bool outsiders;      /* somebody who is not in the sight may act on it */
};

struct sight_edge {
    uint32_t thread; /* or SIGHT_GONE */
    uint32_t lock;
    uint32_t mode;
    uint32_t flags; /* enum incident_edge_flags */
    uint32_t units;
    uint32_t outer; /* lock that a condition's wait gave back, or SIGHT_NONE */
    enum word word;
    const char *evidence; /* how it is known, for a sentence; NULL */
    uint32_t next_hold;   /* of the same lock */
};

/* Registers that a stop has told: good as long as the thread has not moved. */
struct sight_memory {
    uint32_t process, seen_tid;
    uint64_t call, arguments[6], stack, counter;
    uint64_t register_mask, registers[TARGET_REGISTERS];
};

/* A script's line in a stack: `before` frames of the machine are further in. */
struct sight_text {
    uint32_t thread;
    size_t before;
    const char *function, *file;
    uint32_t line;
};

struct sight {
    struct target **targets;
    struct symbols **symbols; /* one a target, opened when first asked for */
    bool *symbols_tried;
    size_t target_count;
    unsigned stop_ms; /* how long a thread may be stopped for its stack; 0: never */
    unsigned ask_ms;  /* the same for one that is to be asked (sources/inspect/judge/facts.h) */
    bool for_run;     /* whether the program may be ended is to be known as well */

    struct sight_thread *threads;
    size_t thread_count, thread_room;
    uint32_t *first_thread; /* of each target; its threads are in a row, by tid */
    bool *grew;             /* by target: threads came between the two listings */
    struct sight_lock *locks;
    size_t lock_count, lock_room;
    struct sight_edge *edges;
    size_t edge_count, edge_room;
    struct sight_text *texts; /* by thread, then by `before` */
    size_t text_count, text_room;
    struct sight_memory *memories; /* kept from look to look */
    size_t memory_count, memory_room;
    struct open_files *open_files; /* who has what open (sources/inspect/target/open_files.h), read
                                  when first asked for */
    struct hash lock_index;
    struct arena arena;
    gordian_allocator memory;
    bool missed;               /* somebody could not be stopped who should have been */
    bool failed;               /* out of memory */
    struct sight_edge nowhere; /* what is said then */
};

/* The targets become the sight's, and are closed with it. */
gordian_status sight_open(struct sight *sight, struct target **targets, size_t count,
                          gordian_error *error);
void sight_close(struct sight *sight);

/* ------------------------------------------------------------------ for a look (inspect.c) */

/* Forgets the last look and lists all threads. */
gordian_status sight_begin(struct sight *sight, gordian_error *error);
/* Stops those who want it for their registers, and waits until they sleep again; true: there were
 * some, and another look will know more. */
bool sight_fetch(struct sight *sight);
/* Lists them again: who has moved is not steady. */
gordian_status sight_settle(struct sight *sight, gordian_error *error);

/* ------------------------------------------------------------------ for decoders */

/* The thread with this number in a process, or SIGHT_NONE. */
uint32_t sight_thread(const struct sight *sight, uint32_t process, uint32_t tid);

/* The lock at an address, added if it is new. Memory that processes share is known by its file, so
 * that a lock in it is one lock however many see it. */
uint32_t sight_lock(struct sight *sight, uint32_t process, uint64_t address, uint32_t kind);
/* Something of the kernel's, the same for all processes: by a number of its own. */
uint32_t sight_object(struct sight *sight, uint32_t process, uint64_t number, uint32_t kind);
/* The end of a thread. */
uint32_t sight_end(struct sight *sight, uint32_t thread);

/* The thread waits for the lock: its one wait. Timed waits are told by its call. */
struct sight_edge *sight_wait(struct sight *sight, uint32_t thread, uint32_t lock, uint32_t mode);
/* Somebody holds it; said once a lock and holder, the better known one is kept. */
void sight_hold(struct sight *sight, uint32_t thread, uint32_t lock, uint32_t mode, enum word word,
                const char *evidence);
/* Nobody holds it, or nobody knows; but this one may be who is to end a wait for it. No part of any
 * argument. */
void sight_could(struct sight *sight, uint32_t thread, uint32_t lock, uint32_t mode,
                 const char *evidence);
/* Has somebody said who holds it? Then it need not be found out again. */
static inline bool sight_is_held(const struct sight *sight, uint32_t lock)
{
    return lock != SIGHT_NONE && sight->locks[lock].first_hold != SIGHT_NONE;
}

/* Text that lives as long as the look. */
const char *sight_format(struct sight *sight, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A line of a script, to be shown between the frames of the machine: in order of `before`. */
void sight_text_frame(struct sight *sight, uint32_t thread, size_t before, const char *function,
                      const char *file, uint32_t line);

/* The symbols of a process; NULL: none can be had. */
struct symbols *sight_symbols(struct sight *sight, uint32_t process);
