/* How decoders (sources/inspect/decoders/decoder.h) read and extend a process snapshot. They have
 * no access to its members.
 *
 *     uint32_t lock = snapshot_add_lock(snapshot, process, address, INCIDENT_MUTEX);
 *     snapshot_describe_lock(snapshot, lock, (struct lock_facts){.flags = INCIDENT_RECURSIVE});
 *     snapshot_add_wait(snapshot, thread, lock, INCIDENT_EXCLUSIVE);
 *     snapshot_set_owner(snapshot, lock, owner, tid, "owner read from the mutex");
 *
 * Kinds, flags and modes are those of foundation/records/incident.h. Everything lives until the
 * next snapshot of the same processes. When memory runs out, the whole snapshot fails in the end:
 * decoders need not check, and may pass SNAPSHOT_NONE as a lock.
 */
#pragma once

#include "sources/inspect/snapshot/edges.h"
#include "sources/inspect/snapshot/locks.h"
#include "sources/inspect/snapshot/threads.h"

struct process_snapshot;
struct open_files;

/* ------------------------------------------------------------------ reading */

uint32_t snapshot_target_count(const struct process_snapshot *snapshot);
struct target *snapshot_target(const struct process_snapshot *snapshot, uint32_t process);
/* The symbols of a process; NULL: not available. */
struct symbols *snapshot_symbols(struct process_snapshot *snapshot, uint32_t process);
/* How long a thread may be stopped for its registers; 0: never. */
unsigned snapshot_stop_ms(const struct process_snapshot *snapshot);
const gordian_allocator *snapshot_memory(const struct process_snapshot *snapshot);
/* The files that processes have open, read when first asked for; NULL: out of memory. */
struct open_files *snapshot_open_files(struct process_snapshot *snapshot);

uint32_t snapshot_thread_count(const struct process_snapshot *snapshot);
/* The threads of a process are those from its first one to the first one of the next. */
uint32_t snapshot_first_thread(const struct process_snapshot *snapshot, uint32_t process);
/* Steps to the next thread of a process; from SNAPSHOT_NONE to its first. False: there is none. */
bool snapshot_next_thread(const struct process_snapshot *snapshot, uint32_t process,
                          uint32_t *thread);
const struct snapshot_thread *snapshot_thread(const struct process_snapshot *snapshot,
                                              uint32_t thread);
/* The thread with this ID in a process, or SNAPSHOT_NONE. */
uint32_t snapshot_find_thread(const struct process_snapshot *snapshot, uint32_t process,
                              uint32_t tid);
/* The process that is alive and has this ID here, or SNAPSHOT_NONE. */
uint32_t snapshot_find_process(const struct process_snapshot *snapshot, uint32_t pid);

uint32_t snapshot_lock_count(const struct process_snapshot *snapshot);
const struct snapshot_lock *snapshot_lock(const struct process_snapshot *snapshot, uint32_t lock);
/* Is a holder of the lock known? */
bool snapshot_is_held(const struct process_snapshot *snapshot, uint32_t lock);
/* The wait of a thread, and the lock it waits for; NULL: it does not wait. */
const struct wait_for_edge *snapshot_wait_of(const struct process_snapshot *snapshot,
                                             uint32_t thread);
const struct snapshot_lock *snapshot_awaited_lock(const struct process_snapshot *snapshot,
                                                  uint32_t thread);

/* ------------------------------------------------------------------ threads */

/* The thread sleeps, but not in a wait of the program. */
void snapshot_set_busy(struct process_snapshot *snapshot, uint32_t thread, const char *doing);
/* The thread repeats a timed wait until it succeeds: it waits without a limit. */
void snapshot_set_untimed(struct process_snapshot *snapshot, uint32_t thread);
/* The thread waits without sleeping. */
void snapshot_set_spinning(struct process_snapshot *snapshot, uint32_t thread);
void snapshot_set_steady(struct process_snapshot *snapshot, uint32_t thread, bool steady);
void snapshot_rename_thread(struct process_snapshot *snapshot, uint32_t thread, const char *name);
/* Updates what the thread does now: its system call, its registers. */
void snapshot_update_thread(struct process_snapshot *snapshot, uint32_t thread,
                            const struct target_thread *now);
/* Sets the text "waits for ...": why nothing more is known about the thread's wait, and what would
 * help. `unseen`: a process or a stack was not inspected. */
void snapshot_set_unknown(struct process_snapshot *snapshot, uint32_t thread, const char *unknown,
                          bool unseen);
/* Requests the registers of a thread: it is stopped for them, and the decoders run again. */
void snapshot_want_registers(struct process_snapshot *snapshot, uint32_t thread);
/* Adds a line of a script, to be shown after `before` machine frames: in order of `before`. */
void snapshot_add_script_line(struct process_snapshot *snapshot, uint32_t thread, size_t before,
                              const char *function, const char *file, uint32_t line);

/* ------------------------------------------------------------------ locks */

/* Each returns the lock, which is added if it is new. */
uint32_t snapshot_add_lock(struct process_snapshot *snapshot, uint32_t process, uint64_t address,
                           uint32_t kind);
/* An object of the kernel, the same for all processes, identified by a number. */
uint32_t snapshot_add_object(struct process_snapshot *snapshot, uint32_t process, uint64_t number,
                             uint32_t kind);
/* The end of a thread. */
uint32_t snapshot_add_thread_end(struct process_snapshot *snapshot, uint32_t thread);
/* Adds what is known about a lock. Replaces its units and, if it has one here, its name. */
void snapshot_describe_lock(struct process_snapshot *snapshot, uint32_t lock,
                            struct lock_facts facts);

/* ------------------------------------------------------------------ edges */

/* The thread waits for the lock: its only wait, and proved unless evidence is added. */
void snapshot_add_wait(struct process_snapshot *snapshot, uint32_t thread, uint32_t lock,
                       uint32_t mode);
void snapshot_add_wait_evidence(struct process_snapshot *snapshot, uint32_t thread, enum word word,
                                const char *evidence);
/* The thread holds the lock. If the hold exists, the better evidence is kept. */
void snapshot_add_hold(struct process_snapshot *snapshot, uint32_t thread, uint32_t lock,
                       uint32_t mode, enum word word, const char *evidence);
/* All threads of a process hold the lock. */
void snapshot_add_holds(struct process_snapshot *snapshot, uint32_t process, uint32_t lock,
                        uint32_t mode, enum word word, const char *evidence);
/* The lock itself names its exclusive owner: a thread, or SNAPSHOT_GONE with its former ID. */
void snapshot_set_owner(struct process_snapshot *snapshot, uint32_t lock, uint32_t thread,
                        uint32_t tid, const char *evidence);
/* No holder of the lock is known, but this thread may be the one to end a wait for it. Proves
 * nothing. */
void snapshot_add_candidate(struct process_snapshot *snapshot, uint32_t thread, uint32_t lock,
                            uint32_t mode, const char *evidence);

/* ------------------------------------------------------------------ memory */

/* Text that lives as long as the snapshot. */
const char *snapshot_format(struct process_snapshot *snapshot, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Memory ran out: the snapshot fails. */
void snapshot_fail(struct process_snapshot *snapshot);
