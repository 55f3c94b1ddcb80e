/* A process to inspect: alive, or as a core dump. Both provide the same data:
 *
 *     target->threads      every thread: ID, name, the system call it sleeps in
 *     target_read          memory
 *     target->mappings     which files are mapped where
 *     target_registers     all registers of a thread; for a live thread this requires a stop
 *
 * Thread IDs are those in the pid namespace of the process, since its locks contain those.
 * `seen_tid` is the ID of the same thread in the namespace of this process.
 */
#pragma once

#include <gordian/gordian.h>

#define TARGET_REGISTERS 33       /* DWARF numbers, as in foundation/records/incident.h */
#define TARGET_SET       (34 * 8) /* the largest register set of the kernel, in bytes */

enum target_activity {
    TARGET_RUNS,    /* or is runnable */
    TARGET_SLEEPS,  /* in the system call `call` */
    TARGET_UNKNOWN, /* unknown */
};

struct target_thread {
    uint32_t tid, seen_tid;
    char name[64];
    char state; /* as in /proc: 'S', 'R', 'D', 'T', 't', 'Z'; 0 in a core */
    enum target_activity activity;
    uint64_t call, arguments[6];
    uint64_t stack, counter; /* registers; 0: unknown */
    uint64_t blocked;        /* blocked signals, bit n-1 */
    uint64_t switches;       /* context switches so far */
    bool steady;             /* slept between both listings: see inspect.h; always in a core */
    uint64_t register_mask;  /* bit r: registers[r] is known */
    uint64_t registers[TARGET_REGISTERS];
    unsigned char set[TARGET_SET]; /* as the kernel writes it, if all registers are known */
    size_t set_size;               /* 0: unknown */
};

struct target_mapping {
    uint64_t low, high, offset, inode;
    unsigned major, minor;
    bool writable, executable;
    bool shared; /* other processes may see writes */
    char *path;  /* "[heap]", or "" */
};

struct target_ops;
struct ask;

/* What a process reported about itself, through remote calls of one thread
 * (sources/inspect/judge/facts.h). */
struct target_asked {
    uint32_t thread;   /* the stopped thread's seen_tid; 0: no calls were made */
    uint64_t place;    /* checksum of the positions of all other threads at that time */
    uint64_t switches; /* of the stopped thread, once it sleeps again; 0: not known yet */
    bool armed;        /* a timer is armed */
    bool at_death;     /* it receives a signal when its parent ends */
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
    bool doomed;  /* about to be killed: its threads may be stopped in any call */
    bool passing; /* one of many: if it ends, it is silently dropped */
    uint32_t pid, seen_pid;
    uint32_t through; /* a live thread of it, seen_pid if possible: proc_living */
    uint32_t machine; /* EM_X86_64 or EM_AARCH64 */
    char *program;    /* path; never NULL */
    char *root;       /* folder that contains its files; "" */
    char *mapped;     /* /proc/PID/map_files; "" */
    char *exe;        /* for a core, another file to read as its program; NULL */
    char *exe_path;   /* the program's original path */
    char *maps;       /* the text of /proc/PID/maps, or its equivalent for a core */
    size_t maps_size;
    struct target_mapping *mappings; /* sorted by address */
    size_t mapping_count, mapping_room;
    struct target_thread *threads; /* sorted by tid */
    size_t thread_count, thread_room;
    bool partial; /* the last listing may be incomplete */
    bool handlers_known;
    uint64_t handlers;   /* signals that have handlers, bit n-1 */
    uint64_t bytes_read; /* from memory or the core, for statistics */
    unsigned threads_stopped;
    uint64_t stopped_ns;         /* longest stop */
    bool truncated;              /* the core is incomplete */
    char *note;                  /* a note for the report, or NULL */
    enum target_runtime runtime; /* found by its mark (sources/inspect/decoders/runtimes.c) */
    bool wants_asking;           /* the verdict depends on facts that only remote calls show */
    struct target_asked asked;
    bool interprets;   /* it interprets scripts, and runs signal handlers in them */
    void *interpreter; /* state of the decoder for scripts (sources/inspect/decoders/python.h), or
                          NULL */
    void (*close_interpreter)(struct target *target);
    gordian_allocator memory;
};

/* A copy of a thread's stack, from its stack pointer up. */
struct stack_copy {
    char *bytes;
    size_t room, size; /* size 0: not copied */
};

struct target_ops {
    /* Lists the threads again. GORDIAN_STATUS_INPUT: the process has ended. NULL: threads do not
     * change. */
    gordian_status (*list)(struct target *target, gordian_error *error);
    /* Returns the number of bytes read, from `address` on. */
    size_t (*read)(struct target *target, uint64_t address, void *to, size_t size);
    /* Reads all registers of a thread, which may be stopped for `stop_ms` at most; 0: it may not.
     * `stack`: NULL, or a buffer for its stack at that moment. NULL: all registers are known. */
    bool (*registers)(struct target *target, struct target_thread *thread, unsigned stop_ms,
                      struct stack_copy *stack);
    /* Stops a sleeping thread and makes it execute system calls (remote_calls.h). */
    bool (*ask)(struct target *target, uint32_t seen_tid, unsigned stop_ms, struct ask *ask);
    /* Reads the mappings again, if they can change. `other`: there is other code than before. */
    bool (*remap)(struct target *target, bool *other);
    /* Reads what one thread does now. False: it has ended, or this is a core. */
    bool (*poll)(struct target *target, struct target_thread *thread);
    void (*close)(struct target *target);
};

/* live.c. Errors state what is wrong and what to do: no such process, no permission, a zombie, a
 * 32-bit program. */
gordian_status target_open_live(struct target **out, uint32_t pid, gordian_error *error);
/* core.c. `exe`, `sysroot`: NULL, or the paths of the program and of its files. */
gordian_status target_open_core(struct target **out, const char *path, const char *exe,
                                const char *sysroot, gordian_error *error);
void target_close(struct target *target);
/* core_write.c: writes a core dump of a live process. Its threads are stopped one by one, each only
 * for its registers; memory is read while the process runs. */
gordian_status target_write_core(struct target *target, const char *path, unsigned stop_ms,
                                 gordian_error *error);

gordian_status target_list(struct target *target, gordian_error *error);
size_t target_read(struct target *target, uint64_t address, void *to, size_t size);
/* Read all bytes. False: not all could be read. */
bool target_read_all(struct target *target, uint64_t address, void *to, size_t size);
bool target_read_u32(struct target *target, uint64_t address, uint32_t *value);
bool target_read_u64(struct target *target, uint64_t address, uint64_t *value);
bool target_registers(struct target *target, struct target_thread *thread, unsigned stop_ms,
                      struct stack_copy *stack);
/* False: the thread could not be stopped, or this is a core. */
bool target_ask(struct target *target, uint32_t seen_tid, unsigned stop_ms, struct ask *ask);
/* False: the process has ended, or memory ran out. */
bool target_remap(struct target *target, bool *other);
bool target_poll(struct target *target, struct target_thread *thread);

/* Returns the current state of a thread as in /proc; 0: it has ended, or this is a core. */
char target_state(const struct target *target, uint32_t seen_tid);

/* Waits until a thread that was stopped sleeps again, or has ended. */
void target_await_sleep(const struct target *target, uint32_t seen_tid, uint64_t until);
#define TARGET_ASLEEP_NS 2000000000u /* long enough on a busy machine */

/* Returns whether the thread is in the same call as before, at the same stack pointer and counter.
 */
bool target_same_place(const struct target_thread *before, const struct target_thread *now);

/* Returns whether another process shares the memory of this one (CLONE_VM), so that it could wake
 * its threads. Finds only what is visible to this process. */
bool target_shares_memory(const struct target *target);

/* Returns whether no other process can see the memory at this address. A core does not show what is
 * shared: false in case of doubt. */
bool target_is_private(struct target *target, uint64_t address);

/* These return NULL if there is none. */
struct target_thread *target_thread(const struct target *target, uint32_t tid);
const struct target_mapping *target_mapping(const struct target *target, uint64_t address);
/* Returns whether a file is mapped whose path contains this part. */
bool target_maps(const struct target *target, const char *part);

/* ------------------------------------------------------------------ for live.c and core.c */

/* Initializes the texts that are never NULL. */
gordian_status target_fill(struct target *target, gordian_error *error);
/* Parses target->maps and replaces the mappings. */
gordian_status target_parse_maps(struct target *target, gordian_error *error);
/* Adds a zeroed thread; NULL: out of memory. */
struct target_thread *target_add_thread(struct target *target);
void target_sort_threads(struct target *target);
/* Stores a register set in the format of the kernel (NT_PRSTATUS). */
void target_take_registers(const struct target *target, struct target_thread *thread,
                           const unsigned char *set, size_t size);
/* Replaces a text with a copy of another. False: out of memory. */
bool target_set_text(char **text, const char *value);

/* Returns the parent of a process, and its own state; 'Z' also if the process does not exist. */
uint32_t target_parent(uint32_t pid, char *state);
