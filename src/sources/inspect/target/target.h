/* A process to be looked at: alive, or as the core it left. Both say the same things:
 *
 *     target->threads      every thread: number, name, the system call it sleeps in
 *     target_read          memory
 *     target->mappings     which files lie where
 *     target_registers     all registers of a thread; of a live one that needs a stop
 *
 * Numbers of threads are those the process itself uses (in its own pid namespace), since that is
 * what its locks hold; `seen_tid` is what the same thread is called here.
 */
#pragma once

#include <gordian/gordian.h>

#define TARGET_REGISTERS 33       /* by DWARF number, as in foundation/records/incident.h */
#define TARGET_SET       (34 * 8) /* bytes of a set of the kernel's at most */

enum target_activity {
    TARGET_RUNS,    /* or is about to */
    TARGET_SLEEPS,  /* in the system call `call` */
    TARGET_UNKNOWN, /* neither can be told */
};

struct target_thread {
    uint32_t tid, seen_tid;
    char name[64];
    char state; /* of /proc: 'S', 'R', 'D', 'T', 't', 'Z'; 0 in a core */
    enum target_activity activity;
    uint64_t call, arguments[6];
    uint64_t stack, counter; /* registers; 0: unknown */
    uint64_t blocked;        /* signals that it does not let in, bit n-1 */
    uint64_t switches;       /* how often it was switched from, so far */
    bool steady;             /* has slept between two looks: see inspect.h; in a core always */
    uint64_t register_mask;  /* bit r: registers[r] is known */
    uint64_t registers[TARGET_REGISTERS];
    unsigned char set[TARGET_SET]; /* as the kernel writes them, if all are known */
    size_t set_size;               /* 0: they are not */
};

struct target_mapping {
    uint64_t low, high, offset, inode;
    unsigned major, minor;
    bool writable, executable;
    bool shared; /* other processes may see what is written here */
    char *path;  /* "[heap]", or "" */
};

struct target_ops;
struct ask;

/* What a process was asked by stopping one of its threads (sources/inspect/judge/facts.h). */
struct target_asked {
    uint32_t thread;   /* the one that was stopped, as seen here; 0: it was not asked */
    uint64_t place;    /* where all others were then */
    uint64_t switches; /* of the one, from its return to sleep on; 0: not known yet */
    bool armed;        /* a timer is */
    bool at_death;     /* it gets a signal when its parent ends */
    uint64_t restarts; /* signals whose handlers have SA_RESTART */
};

enum target_runtime {
    TARGET_PLAIN,
    TARGET_GO,
    TARGET_JAVA,
};

struct target {
    const struct target_ops *ops;
    bool core;
    bool doomed;  /* about to be ended: its threads may be stopped whatever they do */
    bool passing; /* one of many: if it ends meanwhile, it is just not there any more */
    uint32_t pid, seen_pid;
    uint32_t through; /* one of its threads that lives, seen_pid if that does: proc_living */
    uint32_t machine; /* EM_X86_64 or EM_AARCH64 */
    char *program;    /* path; never NULL */
    char *root;       /* below this folder its files are; "" */
    char *mapped;     /* as /proc/PID/map_files; "" */
    char *exe;        /* a core's program, if it is to be read elsewhere than it was; NULL */
    char *exe_path;   /* and where it was */
    char *maps;       /* the text of /proc/PID/maps, or what it would be */
    size_t maps_size;
    struct target_mapping *mappings; /* by address */
    size_t mapping_count, mapping_room;
    struct target_thread *threads; /* by tid */
    size_t thread_count, thread_room;
    bool partial; /* the last listing may lack some */
    bool handlers_known;
    uint64_t handlers;   /* signals with handlers, bit n-1 */
    uint64_t bytes_read; /* of memory or the core, to tell */
    unsigned threads_stopped;
    uint64_t stopped_ns;         /* the longest stop */
    bool truncated;              /* a core of which something is missing */
    char *note;                  /* what else the reader should know, or NULL */
    enum target_runtime runtime; /* by its mark (sources/inspect/decoders/runtimes.c) */
    bool wants_asking;           /* the verdict depends on what it could be asked */
    struct target_asked asked;
    bool interprets;   /* it runs scripts, and handlers of signals in them */
    void *interpreter; /* what a decoder on scripts remembers of it
                          (sources/inspect/decoders/python.h), or NULL */
    void (*close_interpreter)(struct target *target);
    gordian_allocator memory;
};

/* A thread's stack from its pointer up. */
struct stack_copy {
    char *bytes;
    size_t room, size; /* 0: it was not copied */
};

struct target_ops {
    /* Lists the threads anew. GORDIAN_STATUS_INPUT: it has ended. NULL: they do not change. */
    gordian_status (*list)(struct target *target, gordian_error *error);
    /* How many bytes could be read, from the first on. */
    size_t (*read)(struct target *target, uint64_t address, void *to, size_t size);
    /* Fills all registers of a thread; `stop_ms`: how long it may be stopped for that, 0: not.
     * `stack`: NULL, or room for its stack at that moment. NULL: all are known. */
    bool (*registers)(struct target *target, struct target_thread *thread, unsigned stop_ms,
                      struct stack_copy *stack);
    /* Stops a thread that sleeps and has it make calls (remote_calls.h). */
    bool (*ask)(struct target *target, uint32_t seen_tid, unsigned stop_ms, struct ask *ask);
    /* Reads the mappings anew, if they can change. `other`: there is other code than before. */
    bool (*remap)(struct target *target, bool *other);
    /* What one thread does now, its number being known. False: it has ended, or this is a core. */
    bool (*glance)(struct target *target, struct target_thread *thread);
    void (*close)(struct target *target);
};

/* live.c. Says what is wrong and what to do: no such process, no rights, a zombie, 32 bits. */
gordian_status target_open_live(struct target **out, uint32_t pid, gordian_error *error);
/* core.c. `exe`, `sysroot`: NULL, or where the program and the files are. */
gordian_status target_open_core(struct target **out, const char *path, const char *exe,
                                const char *sysroot, gordian_error *error);
void target_close(struct target *target);
/* core_write.c: a core of a live process, as of now. Its threads are stopped one by one, each only
 * for its registers; memory is read while it goes on. */
gordian_status target_write_core(struct target *target, const char *path, unsigned stop_ms,
                                 gordian_error *error);

gordian_status target_list(struct target *target, gordian_error *error);
size_t target_read(struct target *target, uint64_t address, void *to, size_t size);
/* All of it, or false. */
bool target_read_all(struct target *target, uint64_t address, void *to, size_t size);
bool target_read_u32(struct target *target, uint64_t address, uint32_t *value);
bool target_read_u64(struct target *target, uint64_t address, uint64_t *value);
bool target_registers(struct target *target, struct target_thread *thread, unsigned stop_ms,
                      struct stack_copy *stack);
/* False: it could not be stopped, or this is a core. */
bool target_ask(struct target *target, uint32_t seen_tid, unsigned stop_ms, struct ask *ask);
/* False: the process has ended, or memory has run out. */
bool target_remap(struct target *target, bool *other);
bool target_glance(struct target *target, struct target_thread *thread);

/* The state of a thread of a live process now, as in /proc; 0: it has ended, or this is a core. */
char target_state(const struct target *target, uint32_t seen_tid);

/* Waits until a thread that was stopped sleeps again, or has ended. */
void target_await_sleep(const struct target *target, uint32_t seen_tid, uint64_t until);
#define TARGET_ASLEEP_NS 2000000000u /* long enough for that on a busy machine */

/* Is the thread in the same call as before, at the same place? */
bool target_same_place(const struct target_thread *before, const struct target_thread *now);

/* Has another process the very memory of this one (clone with CLONE_VM), so that it may wake its
 * threads? As far as that can be seen. */
bool target_shares_memory(const struct target *target);

/* Is what lies there for no other process to see? A core does not say what is shared: false where
 * that is in doubt. */
bool target_is_private(struct target *target, uint64_t address);

/* NULL: none. */
struct target_thread *target_thread(const struct target *target, uint32_t tid);
const struct target_mapping *target_mapping(const struct target *target, uint64_t address);
/* Is a file mapped whose path contains this part? */
bool target_maps(const struct target *target, const char *part);

/* ------------------------------------------------------------------ for live.c and core.c */

/* The texts that are never NULL. */
gordian_status target_fill(struct target *target, gordian_error *error);
/* Parses target->maps, in place of what there was. */
gordian_status target_parse_maps(struct target *target, gordian_error *error);
/* One more thread, zeroed; NULL: out of memory. */
struct target_thread *target_add_thread(struct target *target);
void target_sort_threads(struct target *target);
/* Takes a register set as the kernel writes it (NT_PRSTATUS). */
void target_take_registers(const struct target *target, struct target_thread *thread,
                           const unsigned char *set, size_t size);
/* A copy of a text from malloc, in place of the one that is there. False: out of memory. */
bool target_set_text(char **text, const char *value);

/* The parent of a process, and in which state it is itself; 'Z' also if there is none. */
uint32_t target_parent(uint32_t pid, char *state);
