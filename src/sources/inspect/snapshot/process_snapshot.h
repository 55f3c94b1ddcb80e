/* The process snapshot: threads, locks and wait-for edges of one or several processes at one
 * moment.
 *
 *     threads.h, locks.h, edges.h   its parts; `process` is the index of a target
 *     builder.h                     how decoders read and extend it
 *     registers.h                   cache of registers that required a stop
 *     stacks.h                      stack unwinding
 */
#pragma once

#include "foundation/base/arena.h"
#include "sources/inspect/snapshot/builder.h"
#include "sources/inspect/snapshot/registers.h"

/* A line of a script in a stack, shown after `before` machine frames. */
struct snapshot_script_line {
    uint32_t thread;
    size_t before;
    const char *function, *file;
    uint32_t line;
};

struct process_snapshot {
    struct target **targets;
    struct symbols **symbols; /* by target, opened when first needed */
    bool *symbols_tried;
    bool *grew; /* by target: threads appeared between the listings */
    size_t target_count;
    unsigned stop_ms; /* how long a thread may be stopped for its stack; 0: never */
    unsigned ask_ms;  /* the same for remote calls (sources/inspect/judge/facts.h) */
    bool for_run; /* for `gordian run`, which also needs to know whether it may end the program */

    struct snapshot_threads threads;
    struct snapshot_locks locks;
    struct snapshot_edges edges;
    struct snapshot_script_line *script_lines; /* by thread, then by `before` */
    size_t script_line_count, script_line_capacity;
    struct register_cache registers;
    struct open_files *open_files; /* sources/inspect/target/open_files.h; NULL: not read yet */
    struct arena arena;
    gordian_allocator memory;
    bool missed; /* a thread could not be stopped */
    bool failed; /* out of memory */
};

/* The snapshot owns the targets, and closes them. */
gordian_status snapshot_open(struct process_snapshot *snapshot, struct target **targets,
                             size_t count, gordian_error *error);
void snapshot_close(struct process_snapshot *snapshot);

const struct wait_for_edge *snapshot_edge(const struct process_snapshot *snapshot, uint32_t edge);
/* Returns the edge with which a thread holds a lock, or SNAPSHOT_NONE. */
uint32_t snapshot_find_hold(const struct process_snapshot *snapshot, uint32_t lock,
                            uint32_t thread);

/* Discards the last snapshot and lists all threads. */
gordian_status snapshot_begin(struct process_snapshot *snapshot, gordian_error *error);
/* Stops the threads whose registers a decoder wants, and waits until they sleep again. True: some
 * were stopped, and another snapshot will know more. */
bool snapshot_fetch_registers(struct process_snapshot *snapshot);
/* Lists the threads again: a thread that has moved is not steady. */
gordian_status snapshot_settle(struct process_snapshot *snapshot, gordian_error *error);
