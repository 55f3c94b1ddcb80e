/* Incident record: what the preloaded library passes to the reporter, raw.
 *
 * The library (libgordian-run.so, inside the watched program) does no lookups: no symbols, no
 * files,
 * no unwinding. It copies what a reporter needs into a file and starts
 *
 *     gordian run --report-incident 3
 *
 * with the incident open for reading on descriptor 3 (a memfd or an unlinked file, at offset 0)
 * and
 * a pipe on descriptor 4. The reporter reads descriptor 3 to its end, reports to its stderr (which
 * is that of the watched program), and then writes one byte to descriptor 4, an enum
 * incident_answer. The thread that found the incident waits for it, at most INCIDENT_PATIENCE_MS.
 * Anything slower (a hook, a picture) comes after the answer. Without an answer the library prints
 * its own plain report. The reporter has the working folder of the program, and the environment
 * that
 * the program was started with, without LD_PRELOAD. It is not a child of the program, so that
 * wait() never returns it.
 *
 * The file: a struct incident, then sections, in the byte order and with the word size of the
 * machine that wrote it; the reporter runs on the same one. Sections are arrays of `count`
 * elements
 * of `size` bytes at `offset`. A reader must step by `size`, which may grow in later versions, and
 * must not trust any offset or index in the file. "Index" below always means an index into the
 * named
 * section; INCIDENT_NONE means none.
 *
 * Frame lists are return addresses, innermost first: look up `address - 1`. Frames that were
 * recorded when a lock was acquired come from a frame-pointer walk: the first is always the caller
 * of the locking function; the rest may be cut short in code without frame pointers. Registers and
 * a stack copy allow a full DWARF unwind; its innermost frames are in libgordian-run.so: drop
 * these. */
#pragma once

#include <stdint.h>

#define INCIDENT_MAGIC       "GORDRUN"  /* with the NUL: 8 bytes */
#define INCIDENT_VERSION     1          /* incremented when a field changes its meaning */
#define INCIDENT_NONE        UINT32_MAX /* no index */
#define INCIDENT_FRAMES      16         /* the longest frame list */
#define INCIDENT_REGISTERS   33         /* DWARF numbers 0 .. 32 */
#define INCIDENT_STACK_MAX   (64u << 10)
#define INCIDENT_INPUT_FD    3
#define INCIDENT_ANSWER_FD   4
#define INCIDENT_PATIENCE_MS 10000
#define INCIDENT_HELPER_NAME "gordian-stall" /* of the library's thread */
#define INCIDENT_EXIT_CODE   86              /* of a program ended because of an actual deadlock */

enum incident_answer {
    INCIDENT_REPORTED = 'R',
    INCIDENT_SUPPRESSED = 'S', /* not reported: the program continues as if nothing was found */
    INCIDENT_FAILED = 'F',     /* failed: the library prints its plain report */
    INCIDENT_DOUBTED =
        'D', /* reported as likely: the program continues, because something could still end it */
    INCIDENT_LEFT = 'L',  /* not reported: left to the observer outside the program */
    INCIDENT_MOVED = 'M', /* not reported: the program has made progress since */
};

enum incident_kind {
    INCIDENT_DEADLOCK = 1, /* actual: threads with INCIDENT_STUCK can never continue */
    INCIDENT_OWNER_GONE,   /* actual: the awaited lock, thread or process has an owner that ended */
    INCIDENT_POTENTIAL, /* lock order inversion: orders of this run that can deadlock, see `orders`
                         */
    INCIDENT_STALL,     /* a wait longer than GORDIAN_STALL: `first` is the waiting thread */
    INCIDENT_STATUS,    /* requested: all known threads, nothing wrong */
    INCIDENT_SUMMARY,   /* at the end of the program: only `folds` and counts */
};

/* What the library does after the answer. */
enum incident_action {
    INCIDENT_GO_ON = 1, /* the program continues (or still hangs) */
    INCIDENT_ABORT,     /* the program ends, with a core dump where enabled, exit code 86 */
    INCIDENT_BREAK,     /* the call of thread `first` returns EDEADLK */
};

/* Certainty of a finding. */
enum incident_word {
    INCIDENT_CERTAIN = 0, /* found by the library inside the program, and proved */
    INCIDENT_PROVED,      /* owners were read from the locks, or no thread is left to act */
    INCIDENT_LIKELY, /* holders are inferred (see the edges); or the library found it, but something
                        could still end the wait (see the note) */
    INCIDENT_UNKNOWN, /* nothing found; the note says what is unknown */
};

enum incident_section_id {
    INCIDENT_THREADS,     /* struct incident_thread */
    INCIDENT_LOCKS,       /* struct incident_lock */
    INCIDENT_EDGES,       /* struct incident_edge */
    INCIDENT_ORDERS,      /* struct incident_order: only for lock order inversions */
    INCIDENT_FOLDS,       /* struct incident_fold: only for summaries */
    INCIDENT_WORDS,       /* uint64_t: all frame lists, one after another */
    INCIDENT_STRINGS,     /* bytes: NUL-terminated strings; offset 0 is "" */
    INCIDENT_MAPS,        /* bytes: a copy of /proc/self/maps */
    INCIDENT_STACKS,      /* bytes: all stack copies, one after another */
    INCIDENT_PROCESSES,   /* struct incident_process; none: only the process of the header, with all
                             maps */
    INCIDENT_TEXT_FRAMES, /* struct incident_text_frame */
    INCIDENT_SECTIONS
};

struct incident_section {
    uint64_t offset; /* from the start of the file; a multiple of 8 */
    uint64_t count;  /* elements */
    uint32_t size;   /* bytes of an element */
    uint32_t zero;
};

/* The header. */
struct incident {
    char magic[8];
    uint32_t version;
    uint32_t header_size; /* sizeof(struct incident) as written */
    uint64_t total_size;  /* of the file; written last, 0 while the file is incomplete */
    uint32_t machine;     /* EM_X86_64 or EM_AARCH64: defines `registers` */
    uint32_t kind;        /* enum incident_kind */
    uint32_t action;      /* enum incident_action */
    uint32_t number;      /* from 1 in this process: "incident 3" */
    uint32_t pid;
    uint32_t first; /* thread index: it closed the cycle, waits, or asked; may be INCIDENT_NONE */
    uint64_t signature;       /* incidents with the same signature have the same cause */
    uint64_t time_ns;         /* CLOCK_REALTIME when it was found */
    uint64_t found_ns;        /* time since the last wait began (0: found at once, or no wait) */
    uint32_t cycle;           /* 1: the witness edges are an ordered cycle (see INCIDENT_WITNESS) */
    uint32_t program;         /* string: /proc/self/exe at start */
    uint32_t engine;          /* string: the libgordian engine of the verdict, "" if none */
    uint32_t note;            /* string: an additional sentence for the reader, or "" */
    uint64_t locks_watched;   /* approximate number of locks seen */
    uint64_t threads_watched; /* threads seen so far */
    struct incident_section sections[INCIDENT_SECTIONS];
    uint32_t word;   /* enum incident_word */
    uint32_t teller; /* tid of the thread that waits for the answer; 0: none */
    uint32_t helper; /* tid of a thread of the library; 0: none */
    uint32_t behind; /* number of threads blocked behind a deadlock; not all are listed */
};

/* ------------------------------------------------------------------ processes
 *
 * `gordian inspect` can examine several processes at a time. With core files, they may be from
 * other machines. */

struct incident_process {
    uint32_t pid;
    uint32_t program; /* string */
    uint32_t machine; /* EM_X86_64 or EM_AARCH64 */
    uint32_t root;    /* string: root folder of its files, or "" */
    uint32_t files;   /* string: a folder such as /proc/PID/map_files, or "" */
    uint32_t zero;
    uint64_t maps_offset; /* its range in INCIDENT_MAPS */
    uint64_t maps_size;
};

/* A frame without an address: a line of a script, between the frames of its interpreter. A frame
 * list refers to frame i by the word INCIDENT_TEXT_FRAME - i. */
#define INCIDENT_TEXT_FRAME UINT64_MAX
struct incident_text_frame {
    uint32_t function; /* string */
    uint32_t file;     /* string */
    uint32_t line;
    uint32_t zero;
};

/* ------------------------------------------------------------------ threads */

enum incident_thread_flags {
    INCIDENT_STUCK = 1 << 0,     /* can never continue */
    INCIDENT_WAITING = 1 << 1,   /* waits in a watched call: `wait` is its edge */
    INCIDENT_ENDED = 1 << 2,     /* has ended; the data is from before */
    INCIDENT_FOREIGN = 1 << 3,   /* belongs to another process; only the tid is known */
    INCIDENT_UNWATCHED = 1 << 4, /* of this process, but without a watched call so far */
    INCIDENT_MAIN = 1 << 5,      /* the first thread of the process */
};

struct incident_thread {
    uint32_t tid;
    uint32_t flags;     /* enum incident_thread_flags */
    uint32_t name;      /* string: as in /proc/PID/task/TID/comm; "" if unknown */
    uint32_t wait;      /* edge index, or INCIDENT_NONE */
    uint64_t handle;    /* pthread_t; 0: unknown */
    uint64_t waited_ns; /* so far */
    uint64_t stack_low; /* the whole stack, [low, high); 0, 0: unknown */
    uint64_t stack_high;
    uint32_t create_frames; /* words: where pthread_create or thrd_create was called */
    uint32_t create_count;
    /* Registers at the wait, by DWARF number: bit r of `register_mask` says that registers[r] is
     * known. x86-64: 3 rbx, 6 rbp, 7 rsp, 12-15 r12-r15, 16 the program counter. aarch64: 19-28, 29
     * fp, 30 lr, 31 sp, 32 the program counter. 0: no registers. */
    uint64_t register_mask;
    uint64_t registers[INCIDENT_REGISTERS];
    uint64_t stack_address; /* start address of the copy: the stack pointer */
    uint64_t stack_size;    /* bytes copied; 0: none */
    uint64_t stack_offset;  /* offset in INCIDENT_STACKS */
    /* If already unwound: program counters, innermost first, return addresses minus one; words. 0:
     * not unwound. */
    uint32_t frames;
    uint32_t frame_count;
    uint32_t process; /* index */
    uint32_t
        doing; /* string: what it does if it waits for no lock: "sleeps in epoll_wait", or "" */
};

/* ------------------------------------------------------------------ locks */

enum incident_lock_kind {
    INCIDENT_MUTEX = 1,
    INCIDENT_RWLOCK,
    INCIDENT_SPIN,
    INCIDENT_SEMAPHORE,
    INCIDENT_CONDITION,
    INCIDENT_BARRIER,
    INCIDENT_THREAD_END, /* awaited by pthread_join; held by the thread `target` */
    /* Only from `gordian inspect`: */
    INCIDENT_FUTEX,     /* a futex of an unknown lock */
    INCIDENT_ONCE,      /* pthread_once: held by the thread that runs the initialiser */
    INCIDENT_GUARD,     /* a static variable of C++ during its initialisation */
    INCIDENT_STREAM,    /* stdio's FILE */
    INCIDENT_INTERNAL,  /* a lock of the C library itself: malloc's, the loader's */
    INCIDENT_RUST,      /* a lock of Rust's standard library, or of parking_lot */
    INCIDENT_GIL,       /* the global interpreter lock of Python */
    INCIDENT_PYTHON,    /* threading.Lock, RLock */
    INCIDENT_FILE_LOCK, /* flock, fcntl */
    INCIDENT_PIPE,
    INCIDENT_SOCKET,
    INCIDENT_CHILD,      /* the end of a process, for waitpid */
    INCIDENT_MESSAGE,    /* of MPI: to be sent or received by other ranks */
    INCIDENT_COLLECTIVE, /* of MPI: other ranks must join it */
    INCIDENT_LOCK_KINDS
};

enum incident_lock_flags {
    INCIDENT_RECURSIVE = 1 << 0,
    INCIDENT_ERRORCHECK = 1 << 1,
    INCIDENT_ROBUST = 1 << 2,
    INCIDENT_INHERIT = 1 << 3,  /* priority inheritance */
    INCIDENT_PROTECT = 1 << 4,  /* priority ceiling */
    INCIDENT_SHARED = 1 << 5,   /* shared between processes */
    INCIDENT_ADAPTIVE = 1 << 6, /* spins before it sleeps */
    INCIDENT_PREFERS_WRITERS = 1 << 7,
    INCIDENT_C11 = 1 << 8,      /* used through mtx_, cnd_ or thrd_ */
    INCIDENT_NAMED = 1 << 9,    /* `name` is an annotation, or a sem_open name */
    INCIDENT_SIGNALS = 1 << 10, /* a semaphore that is posted by threads that did not wait for it */
};

struct incident_lock {
    uint64_t address;     /* of the object; for INCIDENT_THREAD_END the pthread_t */
    uint32_t kind;        /* enum incident_lock_kind */
    uint32_t flags;       /* enum incident_lock_flags */
    uint32_t name;        /* string: an annotation, or "" */
    uint32_t target;      /* INCIDENT_THREAD_END: thread index */
    uint32_t owner_tid;   /* as stored in the object; 0: no owner, or unknown */
    uint32_t units;       /* semaphore: current value; barrier: its size; rwlock: current readers */
    uint32_t missing;     /* barrier: threads that have not arrived */
    uint32_t init_frames; /* words: where it was initialised, if known */
    uint32_t init_count;
    uint32_t process; /* index: the process of the address */
};

/* ------------------------------------------------------------------ holds and waits */

enum incident_mode {
    INCIDENT_EXCLUSIVE = 1, /* mutex, spin lock, rwlock (write) */
    INCIDENT_READ,          /* rwlock (read) */
    INCIDENT_UNIT,          /* units of a semaphore */
    INCIDENT_SIGNAL,        /* waits on a condition; as a holder: could signal it */
    INCIDENT_ARRIVAL,       /* waits at a barrier; as a holder: could still arrive */
    INCIDENT_END,           /* joins a thread; as a holder: is that thread */
    INCIDENT_QUEUED,        /* a queued writer that blocks readers */
};

enum incident_edge_flags {
    INCIDENT_WAITS = 1 << 0,   /* the thread waits for the lock; otherwise it holds it */
    INCIDENT_WITNESS = 1 << 1, /* part of the witness, see below */
    INCIDENT_TIMED = 1 << 2,   /* a wait with a timeout */
    INCIDENT_TRIED = 1 << 3,   /* acquired by a try-lock */
    INCIDENT_RETAKES = 1 << 4, /* a condition wait that reacquires its mutex */
    INCIDENT_COULD = 1 << 5,   /* not held: this thread could end the wait */
};

/* Order: first the witness edges (flag INCIDENT_WITNESS), then the others. If the header says
 * `cycle`, the witness edges alternate: thread a waits for lock x, thread b holds x, b waits for y,
 * and so on; the last hold is by the first thread. */
struct incident_edge {
    uint32_t thread;   /* index */
    uint32_t lock;     /* index */
    uint32_t mode;     /* enum incident_mode */
    uint32_t flags;    /* enum incident_edge_flags */
    uint32_t units;    /* requested or held: 1, units of a semaphore, or the depth of recursion */
    uint32_t frames;   /* words: where it was acquired, or where the wait was called */
    uint32_t count;    /* 0: the owner is only known from the lock */
    uint32_t outer;    /* lock index: the mutex that a condition wait released; INCIDENT_NONE */
    uint32_t evidence; /* string: how this is known: "owner read from the mutex", or "" */
    uint32_t zero;
};

/* One step of a lock order inversion: a thread that held `held` acquired `taken`. The orders are a
 * cycle: `taken` of each is `held` of the next. */
struct incident_order {
    uint32_t thread; /* index; may have INCIDENT_ENDED */
    uint32_t held;   /* lock index */
    uint32_t taken;  /* lock index */
    uint32_t held_mode;
    uint32_t taken_mode;
    uint32_t held_frames; /* words: where `held` was acquired */
    uint32_t held_count;
    uint32_t taken_frames; /* words: where `taken` was acquired while `held` was held */
    uint32_t taken_count;
    uint32_t zero;
    uint64_t seen; /* how often this thread did so at least */
};

/* ------------------------------------------------------------------ end of the program */

/* A repeated incident: reported once, then only counted. */
struct incident_fold {
    uint64_t signature;
    uint32_t number; /* of the incident that was reported */
    uint32_t kind;
    uint64_t count;      /* total number of occurrences */
    uint32_t suppressed; /* 1: suppressed by the reporter */
    uint32_t doubted;    /* 1: left to the observer outside the program */
    uint32_t likely;     /* 1: reported as likely */
    uint32_t zero;
};

/* ------------------------------------------------------------------ totals for the command */

#define INCIDENT_TALLY_MAGIC "GORDTAL"
#define INCIDENT_UNWATCHED   16

/* Programs that a watched one started and that could not be watched, by reason. */
struct incident_unwatched {
    uint64_t count;    /* 0: this entry and the following are free */
    char program[120]; /* end of its path; written first */
    char reason[120];  /* "is statically linked" */
};

struct incident_tally {
    char magic[8];
    uint64_t processes; /* watched: the library is loaded and active */
    uint64_t off;       /* processes in which the watcher could not start or disabled itself */
    uint64_t threads;
    uint64_t locks;     /* approximate; counted when first seen */
    uint64_t deadlocks; /* actual, including dead owners; reported, not suppressed */
    uint64_t potentials;
    uint64_t stalls;
    uint64_t suppressed;
    uint64_t folded;
    uint64_t broken;    /* calls that returned EDEADLK */
    uint64_t likely;    /* likely deadlocks, not proved: the program continued */
    uint64_t sandboxed; /* processes that denied themselves system calls: see
                           sources/run/start/sandbox.h */
    uint64_t unwatched; /* started programs that cannot be watched: some are in `programs` */
    uint64_t command;   /* the process of `gordian run`; if it ends, the program ends */
    uint64_t reserved;
    struct incident_unwatched programs[INCIDENT_UNWATCHED];
};

/* ------------------------------------------------------------------ mailbox for the command */

#define INCIDENT_MAILBOX_OFFSET 8192u
#define INCIDENT_MAILBOX_ROOM   (4u << 20)

enum incident_box_state {
    INCIDENT_BOX_FREE,
    INCIDENT_BOX_FILLING, /* a watched process writes */
    INCIDENT_BOX_READY,   /* the command reads and reports */
    INCIDENT_BOX_ANSWERED,
};

struct incident_mailbox {
    uint32_t word;
    uint32_t listening; /* 1: the command is listening */
    uint32_t answer;    /* enum incident_answer */
    uint32_t zero;
    char data[]; /* an incident; INCIDENT_MAILBOX_ROOM */
};

/* ------------------------------------------------------------------ environment variables */
#define INCIDENT_STATUS_MAP "gordian-status-"

/* In the mapping. */
struct incident_status {
    uint32_t answers; /* answers kept in memory so far: this is the last one */
    uint32_t unused;
    uint64_t address, size;
};
