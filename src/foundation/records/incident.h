/* What the preloaded library hands to the reporter: one incident, raw.
 *
 * The library (libgordian-run.so, inside the watched program) looks nothing up: no symbols, no
 * files, no unwinding. It copies what a reporter needs into a file and starts
 *
 *     gordian run --report-incident 3
 *
 * with the incident open for reading on descriptor 3 (a memfd or an unlinked file, at offset 0) and
 * a pipe on descriptor 4. The reporter reads the whole of 3, reports to its stderr (which is the
 * watched program's), and then writes one byte to 4, an enum incident_answer; the thread that
 * found the incident waits for it, a bounded time (INCIDENT_PATIENCE_MS). Anything that takes
 * longer (a hook, a picture) belongs behind the answer. Without an answer the library prints a
 * plain report of its own. The reporter's working folder is the program's; its environment is
 * what the program was started with, without LD_PRELOAD. It is nobody's child: the program never
 * sees it in wait().
 *
 * The file: a struct incident, then sections, in the byte order and with the word size of the
 * machine that wrote it (the reporter is on the same one). Sections are arrays of `count` elements
 * of `size` bytes at `offset`; a reader must step by `size`, which may grow in later versions, and
 * must treat the whole file as untrusted: offsets and indices may point anywhere. "Index" below
 * always means an index into the named section; INCIDENT_NONE means none.
 *
 * Frame lists are return addresses, innermost first: look up `address - 1`. Those recorded when
 * a lock was taken come from a frame-pointer walk: the first is always the caller of the locking
 * function; the rest may be cut short where code keeps no frame pointers. Registers and a stack
 * copy allow a full DWARF unwind; their innermost frames lie in libgordian-run.so: drop these.
 */
#pragma once

#include <stdint.h>

#define INCIDENT_MAGIC       "GORDRUN"  /* with the NUL: 8 bytes */
#define INCIDENT_VERSION     1          /* changes when something here changes its meaning */
#define INCIDENT_NONE        UINT32_MAX /* no index */
#define INCIDENT_FRAMES      16         /* the longest frame list */
#define INCIDENT_REGISTERS   33         /* DWARF numbers 0 .. 32 */
#define INCIDENT_STACK_MAX   (64u << 10)
#define INCIDENT_INPUT_FD    3
#define INCIDENT_ANSWER_FD   4
#define INCIDENT_PATIENCE_MS 10000
#define INCIDENT_HELPER_NAME "gordian-stall" /* of the library's own thread */
#define INCIDENT_EXIT_CODE   86              /* of a program ended because of an actual deadlock */

enum incident_answer {
    INCIDENT_REPORTED = 'R',
    INCIDENT_SUPPRESSED = 'S', /* told nobody: the program goes on as if nothing had been found */
    INCIDENT_FAILED = 'F',     /* could not: the library prints its plain report */
    INCIDENT_DOUBTED = 'D', /* told as likely: something could still end it, the program goes on */
    INCIDENT_LEFT = 'L',    /* told nobody: who looks from outside will, if it is one */
    INCIDENT_MOVED = 'M',   /* told nobody: it has gone on since */
};

enum incident_kind {
    INCIDENT_DEADLOCK = 1, /* actual: the threads flagged INCIDENT_STUCK can never go on */
    INCIDENT_OWNER_GONE, /* actual: what is waited for belongs to a thread or process that ended */
    INCIDENT_POTENTIAL,  /* lock orders seen in this run that can deadlock: see `orders` */
    INCIDENT_STALL,      /* a wait longer than GORDIAN_STALL: `first` is the waiting thread */
    INCIDENT_STATUS,     /* asked for: every thread known, nothing wrong */
    INCIDENT_SUMMARY,    /* at the end of the program: `folds` and the counts only */
};

/* What the library does once the answer is there. */
enum incident_action {
    INCIDENT_GO_ON = 1, /* the program goes on (or hangs on) */
    INCIDENT_ABORT,     /* the program ends, with a core dump where enabled, exit code 86 */
    INCIDENT_BREAK,     /* the call of thread `first` returns EDEADLK */
};

/* How sure a finding is. */
enum incident_word {
    INCIDENT_CERTAIN = 0, /* found by the library inside the program, and proved */
    INCIDENT_PROVED,      /* owners read from the locks themselves, or nobody is left to act */
    INCIDENT_LIKELY,      /* holders found by other evidence: see the edges'; found by the library:
                             somebody could end it, the note says who */
    INCIDENT_UNKNOWN,     /* nothing was found; the note says what cannot be known */
};

enum incident_section_id {
    INCIDENT_THREADS,     /* struct incident_thread */
    INCIDENT_LOCKS,       /* struct incident_lock */
    INCIDENT_EDGES,       /* struct incident_edge */
    INCIDENT_ORDERS,      /* struct incident_order: potential deadlocks only */
    INCIDENT_FOLDS,       /* struct incident_fold: summaries only */
    INCIDENT_WORDS,       /* uint64_t: all frame lists, end to end */
    INCIDENT_STRINGS,     /* bytes: NUL-terminated strings; offset 0 is "" */
    INCIDENT_MAPS,        /* bytes: a copy of /proc/self/maps */
    INCIDENT_STACKS,      /* bytes: all stack copies, end to end */
    INCIDENT_PROCESSES,   /* struct incident_process; none: the one of the header, with all maps */
    INCIDENT_TEXT_FRAMES, /* struct incident_text_frame */
    INCIDENT_SECTIONS
};

struct incident_section {
    uint64_t offset; /* from the start of the file; a multiple of 8 */
    uint64_t count;  /* elements */
    uint32_t size;   /* bytes an element */
    uint32_t zero;
};

/* The header. */
struct incident {
    char magic[8];
    uint32_t version;
    uint32_t header_size; /* sizeof(struct incident) as written */
    uint64_t total_size;  /* of the file; written last: 0 while the file is being written */
    uint32_t machine;     /* EM_X86_64 or EM_AARCH64: what `registers` means */
    uint32_t kind;        /* enum incident_kind */
    uint32_t action;      /* enum incident_action */
    uint32_t number;      /* from 1 in this process: "incident 3" */
    uint32_t pid;
    uint32_t first;     /* thread index: who closed it, or waits, or asked; may be INCIDENT_NONE */
    uint64_t signature; /* incidents with the same one are the same mistake */
    uint64_t time_ns;   /* CLOCK_REALTIME when it was found */
    uint64_t found_ns;  /* how long after the last wait began (0: at once, or not a wait) */
    uint32_t cycle;     /* 1: the witness edges are a cycle, in order (see INCIDENT_WITNESS) */
    uint32_t program;   /* string: /proc/self/exe at start */
    uint32_t engine; /* string: the libgordian engine that gave the verdict, "" if none was asked */
    uint32_t note;   /* string: what else the reader should know, one sentence, or "" */
    uint64_t locks_watched;   /* different locks seen so far, about */
    uint64_t threads_watched; /* threads seen so far */
    struct incident_section sections[INCIDENT_SECTIONS];
    uint32_t word;   /* enum incident_word */
    uint32_t teller; /* tid of the thread that waits for the answer; 0: none does */
    uint32_t helper; /* tid of a thread of the library's own; 0: there is none */
    uint32_t behind; /* threads that wait behind a deadlock, in all: not every one is listed */
};

/* ------------------------------------------------------------------ processes
 *
 * `gordian inspect` looks at several at a time, and at those of other machines in their cores. */

struct incident_process {
    uint32_t pid;
    uint32_t program; /* string */
    uint32_t machine; /* EM_X86_64 or EM_AARCH64 */
    uint32_t root;    /* string: the folder below which its files are found; "" */
    uint32_t files;   /* string: a folder as /proc/PID/map_files, or "" */
    uint32_t zero;
    uint64_t maps_offset; /* its part of INCIDENT_MAPS */
    uint64_t maps_size;
};

/* A frame that is no address: a line of a script between those of its interpreter. A frame list
 * refers to frame i by the word INCIDENT_TEXT_FRAME - i. */
#define INCIDENT_TEXT_FRAME UINT64_MAX
struct incident_text_frame {
    uint32_t function; /* string */
    uint32_t file;     /* string */
    uint32_t line;
    uint32_t zero;
};

/* ------------------------------------------------------------------ threads */

enum incident_thread_flags {
    INCIDENT_STUCK = 1 << 0,     /* can never go on */
    INCIDENT_WAITING = 1 << 1,   /* waits in a watched call: `wait` is its edge */
    INCIDENT_ENDED = 1 << 2,     /* has ended; what is here is what was known then */
    INCIDENT_FOREIGN = 1 << 3,   /* belongs to another process, of which only the tid is known */
    INCIDENT_UNWATCHED = 1 << 4, /* of this process, but never made a watched call */
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
    /* Registers at the wait by DWARF number: bit r of `register_mask` says that registers[r] is
     * known. x86-64: 3 rbx, 6 rbp, 7 rsp, 12-15 r12-r15, 16 the program counter.
     * aarch64: 19-28, 29 fp, 30 lr, 31 sp, 32 the program counter. 0: no registers. */
    uint64_t register_mask;
    uint64_t registers[INCIDENT_REGISTERS];
    uint64_t stack_address; /* the copy begins at this address: the stack pointer */
    uint64_t stack_size;    /* bytes copied; 0: none */
    uint64_t stack_offset;  /* where in INCIDENT_STACKS */
    /* Where it has been unwound already: program counters, innermost first, return addresses moved
     * back by one; words. 0: not. */
    uint32_t frames;
    uint32_t frame_count;
    uint32_t process; /* index */
    uint32_t doing;   /* string: what it does if it waits for no lock: "sleeps in epoll_wait"; "" */
};

/* ------------------------------------------------------------------ locks */

enum incident_lock_kind {
    INCIDENT_MUTEX = 1,
    INCIDENT_RWLOCK,
    INCIDENT_SPIN,
    INCIDENT_SEMAPHORE,
    INCIDENT_CONDITION,
    INCIDENT_BARRIER,
    INCIDENT_THREAD_END, /* what pthread_join waits for; held by the thread `target` */
    /* Seen by `gordian inspect` only: */
    INCIDENT_FUTEX,     /* a word in memory, of a lock of which nothing is known */
    INCIDENT_ONCE,      /* pthread_once: held by who runs the initialiser */
    INCIDENT_GUARD,     /* a static variable of C++ while it is initialised */
    INCIDENT_STREAM,    /* stdio's FILE */
    INCIDENT_INTERNAL,  /* a lock of the C library's own: malloc's, the loader's */
    INCIDENT_RUST,      /* a lock of Rust's standard library, or of parking_lot */
    INCIDENT_GIL,       /* the interpreter's lock of Python */
    INCIDENT_PYTHON,    /* threading.Lock, RLock */
    INCIDENT_FILE_LOCK, /* flock, fcntl */
    INCIDENT_PIPE,
    INCIDENT_SOCKET,
    INCIDENT_CHILD,      /* the end of a process, for waitpid */
    INCIDENT_MESSAGE,    /* of MPI: to be sent, or to be received, by other ranks */
    INCIDENT_COLLECTIVE, /* of MPI: other ranks must come to it */
    INCIDENT_LOCK_KINDS
};

enum incident_lock_flags {
    INCIDENT_RECURSIVE = 1 << 0,
    INCIDENT_ERRORCHECK = 1 << 1,
    INCIDENT_ROBUST = 1 << 2,
    INCIDENT_INHERIT = 1 << 3,  /* priority inheritance */
    INCIDENT_PROTECT = 1 << 4,  /* priority ceiling */
    INCIDENT_SHARED = 1 << 5,   /* between processes */
    INCIDENT_ADAPTIVE = 1 << 6, /* spins a while */
    INCIDENT_PREFERS_WRITERS = 1 << 7,
    INCIDENT_C11 = 1 << 8,      /* used through mtx_, cnd_ or thrd_ */
    INCIDENT_NAMED = 1 << 9,    /* `name` is an annotation, or a sem_open name */
    INCIDENT_SIGNALS = 1 << 10, /* a semaphore posted by threads that had not waited */
};

struct incident_lock {
    uint64_t address;   /* of the object; for INCIDENT_THREAD_END the pthread_t */
    uint32_t kind;      /* enum incident_lock_kind */
    uint32_t flags;     /* enum incident_lock_flags */
    uint32_t name;      /* string: an annotation; "" if there is none */
    uint32_t target;    /* INCIDENT_THREAD_END: thread index */
    uint32_t owner_tid; /* as the object itself says; 0: nobody, or it does not say */
    uint32_t units; /* semaphore: its value now; barrier: how many it takes; rwlock: readers now */
    uint32_t missing;     /* barrier: how many have not come yet */
    uint32_t init_frames; /* words: where it was initialised, if that was seen */
    uint32_t init_count;
    uint32_t process; /* index: whose memory the address is in */
};

/* ------------------------------------------------------------------ holds and waits */

enum incident_mode {
    INCIDENT_EXCLUSIVE = 1, /* mutex, spin lock, rwlock for writing */
    INCIDENT_READ,          /* rwlock for reading */
    INCIDENT_UNIT,          /* units of a semaphore */
    INCIDENT_SIGNAL,        /* waits on a condition for a signal; or, holding, could give one */
    INCIDENT_ARRIVAL,       /* waits at a barrier; or, holding, could still arrive */
    INCIDENT_END,           /* joins a thread; or, holding, is that thread */
    INCIDENT_QUEUED,        /* a writer that waits in front of the readers: readers wait for it */
};

enum incident_edge_flags {
    INCIDENT_WAITS = 1 << 0,   /* thread waits for lock; otherwise it holds it */
    INCIDENT_WITNESS = 1 << 1, /* part of why: see below */
    INCIDENT_TIMED = 1 << 2,   /* a wait that ends by itself */
    INCIDENT_TRIED = 1 << 3,   /* taken by a try-lock */
    INCIDENT_RETAKES = 1 << 4, /* a condition wait that takes its mutex back */
    INCIDENT_COULD = 1 << 5,   /* not held: this thread could give what is waited for */
};

/* Order: first the witness edges (flag INCIDENT_WITNESS), then the others. When the header says
 * `cycle`, the witness edges alternate: wait of thread a for lock x, hold of x by thread b, wait
 * of b for y, ... and the last hold is by the first thread again. */
struct incident_edge {
    uint32_t thread;   /* index */
    uint32_t lock;     /* index */
    uint32_t mode;     /* enum incident_mode */
    uint32_t flags;    /* enum incident_edge_flags */
    uint32_t units;    /* wanted or held: 1, or units of a semaphore, or the depth of recursion */
    uint32_t frames;   /* words: where it was taken, or where the wait was called; */
    uint32_t count;    /* 0: the owner is known from the lock alone */
    uint32_t outer;    /* lock index: the mutex a condition wait gave back; INCIDENT_NONE */
    uint32_t evidence; /* string: how this is known: "owner read from the mutex"; "" */
    uint32_t zero;
};

/* One step of a potential deadlock: somebody holding `held` took `taken`. The orders are a cycle:
 * each one's `taken` is the next one's `held`. */
struct incident_order {
    uint32_t thread; /* index; may have INCIDENT_ENDED */
    uint32_t held;   /* lock index */
    uint32_t taken;  /* lock index */
    uint32_t held_mode;
    uint32_t taken_mode;
    uint32_t held_frames; /* words: where `held` had been taken */
    uint32_t held_count;
    uint32_t taken_frames; /* words: where `taken` was taken while holding it */
    uint32_t taken_count;
    uint32_t zero;
    uint64_t seen; /* how often this thread did so until now, at least */
};

/* ------------------------------------------------------------------ the end of the program */

/* An incident that came back: told once, counted afterwards. */
struct incident_fold {
    uint64_t signature;
    uint32_t number; /* of the incident that was told */
    uint32_t kind;
    uint64_t count;      /* how often in all */
    uint32_t suppressed; /* 1: the reporter said so */
    uint32_t doubted;    /* 1: left to who looks from outside */
    uint32_t likely;     /* 1: told as that */
    uint32_t zero;
};

/* ------------------------------------------------------------------ a tally for the command
 *
 * GORDIAN_TALLY names a file of at least sizeof(struct incident_tally) bytes, zeroed, with the
 * magic in place; every watched process maps it shared and adds to it. */

#define INCIDENT_TALLY_MAGIC "GORDTAL"
#define INCIDENT_UNWATCHED   16

/* Programs that a watched one started and that could not be watched themselves, by reason. */
struct incident_unwatched {
    uint64_t count;    /* 0: this one and those behind are free */
    char program[120]; /* the end of its path; written first */
    char reason[120];  /* "is statically linked" */
};

struct incident_tally {
    char magic[8];
    uint64_t processes; /* watched: the library is in them and on */
    uint64_t off;       /* processes in which the watcher could not start or switched itself off */
    uint64_t threads;
    uint64_t locks;     /* about; counted when first seen */
    uint64_t deadlocks; /* actual, owner gone included; told, not suppressed */
    uint64_t potentials;
    uint64_t stalls;
    uint64_t suppressed;
    uint64_t folded;
    uint64_t broken;    /* calls that returned EDEADLK */
    uint64_t likely;    /* deadlocks that are likely, not proved: the program went on */
    uint64_t sandboxed; /* processes that forbade themselves system calls: see
                           sources/run/start/sandbox.h */
    uint64_t unwatched; /* programs started that cannot be watched: some are in `programs` */
    uint64_t command;   /* the process of `gordian run`, which ends the program with itself */
    uint64_t reserved;
    struct incident_unwatched programs[INCIDENT_UNWATCHED];
};

/* ------------------------------------------------------------------ a mailbox for the command
 *
 * Behind the tally, where the file is as long as that: a program that cannot have an incident
 * reported by itself, since it has given up its privileges or may not make system calls any more,
 * leaves it there, and the command starts the reporter. `word` is a futex: the number of the turn
 * times four, and whose turn it is. */

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
    uint32_t listening; /* 1: the command is there */
    uint32_t answer;    /* enum incident_answer */
    uint32_t zero;
    char data[]; /* an incident; INCIDENT_MAILBOX_ROOM */
};

/* ------------------------------------------------------------------ variables
 *
 * Read by the library when a program starts; `gordian run` sets them, a service may set them
 * itself, together with LD_PRELOAD. Unset or unknown values mean the default.
 *
 *   GORDIAN_RUN=0              do nothing at all                                     (1)
 *   GORDIAN_ON_DEADLOCK        report | abort | break                                (abort)
 *   GORDIAN_ON_LIKELY          report | abort: a deadlock that is likely, not proved (report)
 *   GORDIAN_POTENTIAL=0|1      watch lock orders                                     (1)
 *   GORDIAN_SITES=0|1          remember where locks are taken                        (1)
 *   GORDIAN_STALL=SECONDS      tell waits longer than that; decimals are fine        (0: never)
 *   GORDIAN_FOLLOW=0|1         stay in programs started with exec                    (1)
 *   GORDIAN_STATUS_SIGNAL=N    the signal that asks for a status report; 0: none     (0)
 *   GORDIAN_MAX_THREADS=N      threads alive at a time; beyond that the watcher is off (65536)
 *   GORDIAN_TALLY=FILE         see above
 *   GORDIAN_TOOL=FILE          the gordian command that reports; "": plain reports only
 *                              (found relative to the library)
 *   GORDIAN_QUIET=1            no notices of the library itself
 *   GORDIAN_FILTERS=N          seccomp filters that were there before and are known to let the
 *                              library do its work; with more of them it goes without   (0)
 *   GORDIAN_UID=N              who may write the reports' files; a process of somebody else has
 *                              them written by the command
 *
 * Variables the library does not read belong to the reporter, which gets them all.
 *
 * Asking for a status. While the signal is the library's, /proc/PID/maps of the watched process has
 * a mapping of the file INCIDENT_STATUS_MAP followed by the signal's number ("/memfd:
 * gordian-status-12 (deleted)"). Then
 *     kill(PID, 12)                       makes it start a reporter of its own, and
 *     sigqueue(PID, 12, {.sival_int = FD}) makes it write the incident to /proc/ASKER/fd/FD, ASKER
 * being the process that asks and FD a memfd it has open; it is complete when `total_size` is not
 * 0. A process that may not write there, having given up its privileges, leaves the incident in its
 * own memory instead, and says in the mapping where. Without that mapping, do not send the signal.
 */
#define INCIDENT_STATUS_MAP "gordian-status-"

/* In the mapping. */
struct incident_status {
    uint32_t answers; /* that were left in memory so far: this one is the last */
    uint32_t unused;
    uint64_t address, size;
};
