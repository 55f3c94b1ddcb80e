#include "sources/inspect/snapshot/builder.h"

#include "sources/inspect/snapshot/process_snapshot.h"
#include "sources/inspect/target/open_files.h"

#include <stdarg.h>
#include <stdio.h>

/* ------------------------------------------------------------------ reading */

uint32_t snapshot_target_count(const struct process_snapshot *snapshot)
{
    return (uint32_t)snapshot->target_count;
}

struct target *snapshot_target(const struct process_snapshot *snapshot, uint32_t process)
{
    return snapshot->targets[process];
}

struct symbols *snapshot_symbols(struct process_snapshot *snapshot, uint32_t process)
{
    const struct target *target = snapshot->targets[process];
    const struct symbol_files files = {target->root, target->mapped, target->exe_path, target->exe};
    if (!snapshot->symbols_tried[process])
        snapshot->symbols[process] = symbols_open(target->maps, target->maps_size, &files);
    snapshot->symbols_tried[process] = true;
    return snapshot->symbols[process];
}

unsigned snapshot_stop_ms(const struct process_snapshot *snapshot)
{
    return snapshot->stop_ms;
}

const gordian_allocator *snapshot_memory(const struct process_snapshot *snapshot)
{
    return &snapshot->memory;
}

struct open_files *snapshot_open_files(struct process_snapshot *snapshot)
{
    if (!snapshot->open_files)
        snapshot->open_files = open_files_read(&snapshot->memory);
    snapshot->failed = snapshot->failed || !snapshot->open_files;
    return snapshot->open_files;
}

uint32_t snapshot_thread_count(const struct process_snapshot *snapshot)
{
    return (uint32_t)snapshot->threads.count;
}

uint32_t snapshot_first_thread(const struct process_snapshot *snapshot, uint32_t process)
{
    return snapshot->threads.first[process];
}

bool snapshot_next_thread(const struct process_snapshot *snapshot, uint32_t process,
                          uint32_t *thread)
{
    *thread = *thread == SNAPSHOT_NONE ? snapshot_first_thread(snapshot, process) : *thread + 1;
    return *thread < snapshot_first_thread(snapshot, process + 1);
}

const struct snapshot_thread *snapshot_thread(const struct process_snapshot *snapshot,
                                              uint32_t thread)
{
    return &snapshot->threads.list[thread];
}

uint32_t snapshot_find_thread(const struct process_snapshot *snapshot, uint32_t process,
                              uint32_t tid)
{
    uint32_t low = snapshot_first_thread(snapshot, process);
    uint32_t end = snapshot_first_thread(snapshot, process + 1), high = end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (snapshot_thread(snapshot, middle)->is.tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && snapshot_thread(snapshot, low)->is.tid == tid ? low : SNAPSHOT_NONE;
}

uint32_t snapshot_find_process(const struct process_snapshot *snapshot, uint32_t pid)
{
    for (uint32_t i = 0; i < snapshot->target_count; i++)
        if (!snapshot->targets[i]->core && snapshot->targets[i]->seen_pid == pid)
            return i;
    return SNAPSHOT_NONE;
}

uint32_t snapshot_lock_count(const struct process_snapshot *snapshot)
{
    return (uint32_t)snapshot->locks.count;
}

const struct snapshot_lock *snapshot_lock(const struct process_snapshot *snapshot, uint32_t lock)
{
    return &snapshot->locks.list[lock];
}

bool snapshot_is_held(const struct process_snapshot *snapshot, uint32_t lock)
{
    return lock != SNAPSHOT_NONE && snapshot_lock(snapshot, lock)->first_hold != SNAPSHOT_NONE;
}

const struct wait_for_edge *snapshot_wait_of(const struct process_snapshot *snapshot,
                                             uint32_t thread)
{
    uint32_t wait = snapshot_thread(snapshot, thread)->wait;
    return wait == SNAPSHOT_NONE ? NULL : &snapshot->edges.list[wait];
}

const struct snapshot_lock *snapshot_awaited_lock(const struct process_snapshot *snapshot,
                                                  uint32_t thread)
{
    const struct wait_for_edge *wait = snapshot_wait_of(snapshot, thread);
    return wait ? snapshot_lock(snapshot, wait->lock) : NULL;
}

/* ------------------------------------------------------------------ threads */

void snapshot_set_busy(struct process_snapshot *snapshot, uint32_t thread, const char *doing)
{
    snapshot->threads.list[thread].sleeps = false;
    snapshot->threads.list[thread].doing = doing;
}

void snapshot_set_untimed(struct process_snapshot *snapshot, uint32_t thread)
{
    snapshot->threads.list[thread].sleeps = true;
    snapshot->threads.list[thread].call.timed = false;
}

void snapshot_set_spinning(struct process_snapshot *snapshot, uint32_t thread)
{
    snapshot->threads.list[thread].spins = true;
}

void snapshot_set_steady(struct process_snapshot *snapshot, uint32_t thread, bool steady)
{
    snapshot->threads.list[thread].is.steady = steady;
}

void snapshot_rename_thread(struct process_snapshot *snapshot, uint32_t thread, const char *name)
{
    struct target_thread *is = &snapshot->threads.list[thread].is;
    snprintf(is->name, sizeof is->name, "%s", name);
}

void snapshot_update_thread(struct process_snapshot *snapshot, uint32_t thread,
                            const struct target_thread *now)
{
    struct snapshot_thread *known = &snapshot->threads.list[thread];
    known->is = *now;
    known->sleeps = sleep_call(snapshot->targets[known->process], now, &known->call);
}

void snapshot_set_unknown(struct process_snapshot *snapshot, uint32_t thread, const char *unknown,
                          bool unseen)
{
    snapshot->threads.list[thread].unknown = unknown;
    snapshot->threads.list[thread].unseen |= unseen;
}

void snapshot_want_registers(struct process_snapshot *snapshot, uint32_t thread)
{
    snapshot->threads.list[thread].wants_registers = true;
}

void snapshot_add_script_line(struct process_snapshot *snapshot, uint32_t thread, size_t before,
                              const char *function, const char *file, uint32_t line)
{
    if (!memory_extend(&snapshot->memory, snapshot->script_lines, snapshot->script_line_capacity,
                       snapshot->script_line_count))
        snapshot->failed = true;
    else
        snapshot->script_lines[snapshot->script_line_count++] =
            (struct snapshot_script_line){thread, before, function, file, line};
}

/* ------------------------------------------------------------------ locks */

static uint32_t intern_lock(struct process_snapshot *snapshot, struct snapshot_lock lock)
{
    lock.target = lock.first_hold = SNAPSHOT_NONE;
    uint32_t number = locks_intern(&snapshot->locks, &snapshot->memory, &lock);
    snapshot->failed = snapshot->failed || number == SNAPSHOT_NONE;
    return number;
}

uint32_t snapshot_add_lock(struct process_snapshot *snapshot, uint32_t process, uint64_t address,
                           uint32_t kind)
{
    const struct target_mapping *mapping = target_mapping(snapshot->targets[process], address);
    /* Private memory is identified by the process and the address. */
    struct snapshot_lock lock = {
        .process = process, .address = address, .kind = kind, .space = process, .place = address};
    /* Shared memory is identified by the file and the offset. The highest bit marks a file. */
    if (mapping && mapping->shared && mapping->inode) {
        lock.space = hash_word(mapping->inode * 31 + mapping->major * 4099u + mapping->minor) |
                     UINT64_C(1) << 63;
        lock.place = address - mapping->low + mapping->offset;
        lock.facts.flags = INCIDENT_SHARED;
        lock.facts.outsiders = true;
    }
    return intern_lock(snapshot, lock);
}

uint32_t snapshot_add_object(struct process_snapshot *snapshot, uint32_t process, uint64_t number,
                             uint32_t kind)
{
    /* A space that belongs to no process and no file. */
    return intern_lock(snapshot,
                       (struct snapshot_lock){
                           .process = process, .space = UINT64_MAX, .place = number, .kind = kind});
}

uint32_t snapshot_add_thread_end(struct process_snapshot *snapshot, uint32_t thread)
{
    const struct snapshot_thread *joined = snapshot_thread(snapshot, thread);
    /* It has no address: its thread ID identifies it. */
    uint32_t lock =
        snapshot_add_lock(snapshot, joined->process, joined->is.tid, INCIDENT_THREAD_END);
    if (lock != SNAPSHOT_NONE)
        snapshot->locks.list[lock].target = thread;
    snapshot_add_hold(snapshot, thread, lock, INCIDENT_END, WORD_PROVED, NULL);
    return lock;
}

void snapshot_describe_lock(struct process_snapshot *snapshot, uint32_t lock,
                            struct lock_facts facts)
{
    if (lock == SNAPSHOT_NONE)
        return;
    struct lock_facts *known = &snapshot->locks.list[lock].facts;
    known->flags |= facts.flags;
    known->units = facts.units;
    known->missing = facts.missing;
    known->name = facts.name ? facts.name : known->name;
    known->own_end |= facts.own_end;
    known->idles |= facts.idles;
    known->outsiders |= facts.outsiders;
}

/* ------------------------------------------------------------------ edges */

static uint32_t add_edge(struct process_snapshot *snapshot, struct wait_for_edge edge)
{
    uint32_t number = edge.lock == SNAPSHOT_NONE
                          ? SNAPSHOT_NONE
                          : edges_add(&snapshot->edges, &snapshot->memory, &edge);
    snapshot->failed = snapshot->failed || number == SNAPSHOT_NONE;
    return number;
}

void snapshot_add_wait(struct process_snapshot *snapshot, uint32_t thread, uint32_t lock,
                       uint32_t mode)
{
    struct snapshot_thread *waiter = &snapshot->threads.list[thread];
    uint32_t flags = INCIDENT_WAITS | (waiter->call.timed ? (uint32_t)INCIDENT_TIMED : 0);
    waiter->wait = add_edge(
        snapshot,
        (struct wait_for_edge){
            .thread = thread, .lock = lock, .mode = mode, .flags = flags, .word = WORD_PROVED});
}

void snapshot_add_wait_evidence(struct process_snapshot *snapshot, uint32_t thread, enum word word,
                                const char *evidence)
{
    uint32_t wait = snapshot->threads.list[thread].wait;
    if (wait == SNAPSHOT_NONE)
        return;
    snapshot->edges.list[wait].word = word;
    snapshot->edges.list[wait].evidence = evidence;
}

static void add_hold(struct process_snapshot *snapshot, struct wait_for_edge hold)
{
    if (hold.lock == SNAPSHOT_NONE)
        return;
    uint32_t *first = &snapshot->locks.list[hold.lock].first_hold;
    uint32_t known = edges_find_hold(&snapshot->edges, *first, hold.thread);
    hold.next_hold = *first;
    if (known == SNAPSHOT_NONE) {
        uint32_t added = add_edge(snapshot, hold);
        *first = added == SNAPSHOT_NONE ? *first : added;
    } else if (hold.word < snapshot->edges.list[known].word) {
        snapshot->edges.list[known].word = hold.word;
        snapshot->edges.list[known].evidence = hold.evidence;
    }
}

void snapshot_add_hold(struct process_snapshot *snapshot, uint32_t thread, uint32_t lock,
                       uint32_t mode, enum word word, const char *evidence)
{
    add_hold(snapshot, (struct wait_for_edge){thread, lock, mode, 0, word, evidence, 0});
}

void snapshot_add_holds(struct process_snapshot *snapshot, uint32_t process, uint32_t lock,
                        uint32_t mode, enum word word, const char *evidence)
{
    for (uint32_t i = SNAPSHOT_NONE; snapshot_next_thread(snapshot, process, &i);)
        snapshot_add_hold(snapshot, i, lock, mode, word, evidence);
}

void snapshot_set_owner(struct process_snapshot *snapshot, uint32_t lock, uint32_t thread,
                        uint32_t tid, const char *evidence)
{
    if (lock != SNAPSHOT_NONE)
        snapshot->locks.list[lock].owner_tid = tid;
    if (thread != SNAPSHOT_NONE)
        snapshot_add_hold(snapshot, thread, lock, INCIDENT_EXCLUSIVE, WORD_PROVED, evidence);
}

void snapshot_add_candidate(struct process_snapshot *snapshot, uint32_t thread, uint32_t lock,
                            uint32_t mode, const char *evidence)
{
    add_hold(snapshot,
             (struct wait_for_edge){thread, lock, mode, INCIDENT_COULD, WORD_LIKELY, evidence, 0});
}

/* ------------------------------------------------------------------ memory */

const char *snapshot_format(struct process_snapshot *snapshot, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length >= 0 ? arena_alloc(&snapshot->arena, (size_t)length + 1) : NULL;
    if (!text) {
        snapshot->failed = true;
        return "";
    }
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

void snapshot_fail(struct process_snapshot *snapshot)
{
    snapshot->failed = true;
}
