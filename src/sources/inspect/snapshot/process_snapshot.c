#include "sources/inspect/snapshot/process_snapshot.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "sources/inspect/target/open_files.h"

#include <string.h>

#define STOPPED_MOST 256 /* limit of threads that are stopped for their registers */

/* ------------------------------------------------------------------ opening and closing */

gordian_status snapshot_open(struct process_snapshot *snapshot, struct target **targets,
                             size_t count, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    *snapshot = (struct process_snapshot){.target_count = count, .memory = memory};
    arena_init(&snapshot->arena, &memory);
    snapshot->targets = memory_zeroed(&memory, (count + 1) * sizeof *snapshot->targets);
    snapshot->symbols = memory_zeroed(&memory, (count + 1) * sizeof *snapshot->symbols);
    snapshot->symbols_tried = memory_zeroed(&memory, count + 1);
    snapshot->threads.first = memory_zeroed(&memory, (count + 2) * sizeof *snapshot->threads.first);
    snapshot->grew = memory_zeroed(&memory, count + 1);
    if (!snapshot->targets || !snapshot->symbols || !snapshot->symbols_tried ||
        !snapshot->threads.first || !snapshot->grew) {
        snapshot->target_count = 0;
        snapshot_close(snapshot);
        return fail_memory(error);
    }
    memcpy(snapshot->targets, targets, count * sizeof *targets);
    return GORDIAN_OK;
}

static void discard_last(struct process_snapshot *snapshot)
{
    threads_clear(&snapshot->threads, &snapshot->memory);
    locks_clear(&snapshot->locks, &snapshot->memory);
    snapshot->edges.count = snapshot->script_line_count = 0;
    snapshot->failed = false;
    open_files_close(snapshot->open_files, &snapshot->memory);
    snapshot->open_files = NULL;
    arena_free(&snapshot->arena);
    arena_init(&snapshot->arena, &snapshot->memory);
}

void snapshot_close(struct process_snapshot *snapshot)
{
    discard_last(snapshot);
    for (size_t i = 0; i < snapshot->target_count; i++) {
        symbols_close(snapshot->symbols[i]);
        target_close(snapshot->targets[i]);
    }
    arena_free(&snapshot->arena);
    memory_free_all(&snapshot->memory, snapshot->targets, snapshot->symbols,
                    snapshot->symbols_tried, snapshot->grew, snapshot->threads.first,
                    snapshot->threads.list, snapshot->locks.list, snapshot->edges.list,
                    snapshot->script_lines, snapshot->registers.list);
    *snapshot = (struct process_snapshot){0};
}

const struct wait_for_edge *snapshot_edge(const struct process_snapshot *snapshot, uint32_t edge)
{
    return &snapshot->edges.list[edge];
}

uint32_t snapshot_find_hold(const struct process_snapshot *snapshot, uint32_t lock, uint32_t thread)
{
    return edges_find_hold(&snapshot->edges, snapshot_lock(snapshot, lock)->first_hold, thread);
}

/* ------------------------------------------------------------------ registers */

/* Returns whether threads of this process may be stopped to find out more. For a process that was
 * not named, but is one of many, there must be a reason: a thread waits for a lock, or all threads
 * sleep on futexes. */
static bool is_suspicious(const struct process_snapshot *snapshot, uint32_t process)
{
    bool all = true;
    if (!snapshot->targets[process]->passing)
        return true;
    for (uint32_t i = SNAPSHOT_NONE; snapshot_next_thread(snapshot, process, &i);) {
        const struct snapshot_thread *thread = snapshot_thread(snapshot, i);
        const struct snapshot_lock *lock = snapshot_awaited_lock(snapshot, i);
        uint32_t kind = lock ? lock->kind : 0;
        bool sleeps = thread->sleeps && thread->call.kind == CALL_FUTEX && !thread->call.timed;
        if (sleeps && kind != INCIDENT_CONDITION && kind != INCIDENT_SEMAPHORE &&
            kind != INCIDENT_FUTEX)
            return true;
        all = all && sleeps;
    }
    return all;
}

bool snapshot_fetch_registers(struct process_snapshot *snapshot)
{
    struct register_cache *cache = &snapshot->registers;
    size_t before = cache->count;
    snapshot->missed = false;
    for (uint32_t i = 0; i < snapshot->threads.count && snapshot->stop_ms; i++) {
        const struct snapshot_thread *thread = snapshot_thread(snapshot, i);
        if (thread->wants_registers && !thread->stack.stopped && cache->count < STOPPED_MOST &&
            is_suspicious(snapshot, thread->process) &&
            !registers_fetch(cache, &snapshot->memory, snapshot->targets[thread->process], thread,
                             snapshot->stop_ms) &&
            !thread->call.notices)
            snapshot->missed = true;
    }
    /* Wait until the stopped threads sleep again. A thread that does not counts as moved. */
    uint64_t until = clock_ns() + TARGET_ASLEEP_NS;
    for (size_t i = 0; i < cache->count && cache->count > before; i++)
        target_await_sleep(snapshot->targets[cache->list[i].process], cache->list[i].is.seen_tid,
                           until);
    return cache->count > before;
}

/* ------------------------------------------------------------------ threads */

/* Updates the mappings: the process may have loaded libraries or another program. Runs after its
 * threads were listed, so everything that the sleeping threads had mapped is included. If the
 * process has ended since, the second listing reports that. */
static void refresh_target(struct process_snapshot *snapshot, uint32_t process)
{
    struct target *target = snapshot->targets[process];
    bool other;
    if (!target_remap(target, &other) || !other)
        return;
    symbols_close(snapshot->symbols[process]);
    snapshot->symbols[process] = NULL;
    snapshot->symbols_tried[process] = false;
    if (target->close_interpreter)
        target->close_interpreter(target);
    target->close_interpreter = NULL;
}

/* Lists the threads of a target. A target that may end (`passing`) and has ended has no threads. */
static gordian_status list_target(struct target *target, gordian_error *error)
{
    gordian_status status = target_list(target, error);
    if (status != GORDIAN_STATUS_INPUT || !target->passing)
        return status;
    target->thread_count = 0;
    return GORDIAN_OK;
}

gordian_status snapshot_begin(struct process_snapshot *snapshot, gordian_error *error)
{
    discard_last(snapshot);
    for (uint32_t process = 0; process < snapshot->target_count; process++) {
        struct target *target = snapshot->targets[process];
        TRY(list_target(target, error));
        refresh_target(snapshot, process);
        snapshot->threads.first[process] = (uint32_t)snapshot->threads.count;
        snapshot->grew[process] = false;
        for (size_t i = 0; i < target->thread_count; i++) {
            const struct target_thread *is = &target->threads[i];
            struct snapshot_thread *thread =
                threads_add(&snapshot->threads, &snapshot->memory, process, is);
            if (!thread)
                return fail_memory(error);
            thread->sleeps = sleep_call(target, is, &thread->call);
            registers_recall(&snapshot->registers, thread);
        }
    }
    snapshot->threads.first[snapshot->target_count] = (uint32_t)snapshot->threads.count;
    return GORDIAN_OK;
}

/* Returns whether the thread slept all the time: see inspect.h. A thread that SIGSTOP or a debugger
 * has stopped is out of its call, and will sleep again only if the word still has the expected
 * value. */
static bool is_same_sleep(struct target *target, const struct snapshot_thread *thread,
                          const struct target_thread *now)
{
    const struct target_thread *first = &thread->is;
    uint32_t word;
    bool same = first->activity == TARGET_SLEEPS && now->activity == TARGET_SLEEPS &&
                target_same_place(first, now) && first->switches == now->switches;
    if (!same || (now->state != 'T' && now->state != 't'))
        return same;
    return thread->call.kind == CALL_FUTEX &&
           target_read_u32(target, thread->call.address, &word) && word == thread->call.value;
}

gordian_status snapshot_settle(struct process_snapshot *snapshot, gordian_error *error)
{
    for (uint32_t process = 0; process < snapshot->target_count; process++) {
        struct target *target = snapshot->targets[process];
        TRY(list_target(target, error));
        size_t known = 0;
        for (uint32_t i = SNAPSHOT_NONE; snapshot_next_thread(snapshot, process, &i);) {
            const struct snapshot_thread *thread = snapshot_thread(snapshot, i);
            const struct target_thread *now = target_thread(target, thread->is.tid);
            known += now != NULL;
            snapshot_set_steady(snapshot, i,
                                target->core || (now && (is_same_sleep(target, thread, now) ||
                                                         (thread->spins && now->state == 'R'))));
        }
        snapshot->grew[process] = known < target->thread_count || target->partial;
    }
    /* An owner that was missing may have appeared since, or was missing from an incomplete list:
     * then the owner is unknown. */
    for (size_t i = 0; i < snapshot->edges.count; i++) {
        struct wait_for_edge *edge = &snapshot->edges.list[i];
        const struct snapshot_lock *lock = snapshot_lock(snapshot, edge->lock);
        const struct target *target = snapshot->targets[lock->process];
        if (edge->thread == SNAPSHOT_GONE &&
            (target->partial || target_thread(target, lock->owner_tid)))
            edge->word = (enum word)INCIDENT_UNKNOWN;
    }
    return GORDIAN_OK;
}
