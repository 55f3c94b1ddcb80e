#include "sources/inspect/snapshot/process_snapshot.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "sources/inspect/target/open_files.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MEMORIES_MOST   256         /* threads that are stopped for what they wait for */
#define ASLEEP_AGAIN_NS 2000000000u /* on a busy machine */

/* ------------------------------------------------------------------ opening and closing */

gordian_status sight_open(struct sight *sight, struct target **targets, size_t count,
                          gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    *sight = (struct sight){.target_count = count, .memory = memory};
    arena_init(&sight->arena, &memory);
    sight->targets = memory_zeroed(&memory, (count + 1) * sizeof *sight->targets);
    sight->symbols = memory_zeroed(&memory, (count + 1) * sizeof *sight->symbols);
    sight->symbols_tried = memory_zeroed(&memory, count + 1);
    sight->first_thread = memory_zeroed(&memory, (count + 2) * sizeof *sight->first_thread);
    sight->grew = memory_zeroed(&memory, count + 1);
    if (!sight->targets || !sight->symbols || !sight->symbols_tried || !sight->first_thread ||
        !sight->grew) {
        sight->target_count = 0;
        sight_close(sight);
        return fail_memory(error);
    }
    memcpy(sight->targets, targets, count * sizeof *targets);
    return GORDIAN_OK;
}

static void forget_look(struct sight *sight)
{
    for (size_t i = 0; i < sight->thread_count; i++)
        memory_free(&sight->memory, sight->threads[i].stack.frames);
    sight->thread_count = sight->lock_count = sight->edge_count = sight->text_count = 0;
    sight->failed = false;
    open_files_close(sight->open_files, &sight->memory);
    sight->open_files = NULL;
    hash_free(&sight->lock_index, &sight->memory);
    arena_free(&sight->arena);
    arena_init(&sight->arena, &sight->memory);
}

void sight_close(struct sight *sight)
{
    forget_look(sight);
    for (size_t i = 0; i < sight->target_count; i++) {
        symbols_close(sight->symbols[i]);
        target_close(sight->targets[i]);
    }
    arena_free(&sight->arena);
    memory_free_all(&sight->memory, sight->targets, sight->symbols, sight->symbols_tried,
                    sight->first_thread, sight->grew, sight->threads, sight->locks, sight->edges,
                    sight->texts, sight->memories);
    *sight = (struct sight){0};
}

/* ------------------------------------------------------------------ registers */

/* The call and where it was made: the same as at the stop, so the registers are, too. */
static void recall_registers(const struct sight *sight, struct sight_thread *thread)
{
    struct target_thread *is = &thread->is;
    for (size_t i = 0; i < sight->memory_count && thread->sleeps; i++) {
        const struct sight_memory *memory = &sight->memories[i];
        if (memory->process != thread->process || memory->seen_tid != is->seen_tid ||
            memory->call != is->call || memory->stack != is->stack ||
            memory->counter != is->counter ||
            memcmp(memory->arguments, is->arguments, sizeof is->arguments) != 0)
            continue;
        is->register_mask = memory->register_mask;
        memcpy(is->registers, memory->registers, sizeof is->registers);
        thread->stack.stopped = true;
    }
}

/* Stops one, and remembers. */
static bool fetch_registers(struct sight *sight, struct sight_thread *thread)
{
    struct target *target = sight->targets[thread->process];
    struct target_thread now = thread->is;
    if (!target_registers(target, &now, sight->stop_ms, NULL) ||
        !memory_grow(&sight->memory, &sight->memories, &sight->memory_room, sight->memory_count + 1,
                     sizeof *sight->memories))
        return false;
    struct sight_memory *memory = &sight->memories[sight->memory_count++];
    *memory = (struct sight_memory){.process = thread->process,
                                    .seen_tid = thread->is.seen_tid,
                                    .call = thread->is.call,
                                    .stack = thread->is.stack,
                                    .counter = thread->is.counter,
                                    .register_mask = now.register_mask};
    memcpy(memory->arguments, thread->is.arguments, sizeof memory->arguments);
    memcpy(memory->registers, now.registers, sizeof memory->registers);
    return true;
}

/* Those that were stopped are on their way back to sleep; who does not get there has moved. */
static void await_sleep(struct sight *sight)
{
    uint64_t until = clock_ns() + ASLEEP_AGAIN_NS;
    bool all = false;
    while (!all && clock_ns() < until) {
        all = true;
        for (size_t i = 0; i < sight->memory_count && all; i++) {
            const struct sight_memory *memory = &sight->memories[i];
            char state = target_state(sight->targets[memory->process], memory->seen_tid);
            all = state == 'S' || state == 0;
        }
        if (!all)
            nanosleep(&(struct timespec){0, 200000}, NULL);
    }
}

/* May threads of this process be stopped to find out more? One that was not named, but is one of
 * many, only if something is suspicious: a lock is waited for, or everybody sleeps at futexes. */
static bool is_suspicious(const struct sight *sight, uint32_t process)
{
    bool all = true;
    if (!sight->targets[process]->passing)
        return true;
    for (uint32_t i = sight->first_thread[process]; i < sight->first_thread[process + 1]; i++) {
        const struct sight_thread *thread = &sight->threads[i];
        uint32_t kind =
            thread->wait == SIGHT_NONE ? 0 : sight->locks[sight->edges[thread->wait].lock].kind;
        bool sleeps = thread->sleeps && thread->call.kind == CALL_FUTEX && !thread->call.timed;
        if (sleeps && kind != INCIDENT_CONDITION && kind != INCIDENT_SEMAPHORE &&
            kind != INCIDENT_FUTEX)
            return true;
        all = all && sleeps;
    }
    return all;
}

bool sight_fetch(struct sight *sight)
{
    size_t before = sight->memory_count;
    sight->missed = false;
    for (size_t i = 0; i < sight->thread_count && sight->stop_ms; i++) {
        struct sight_thread *thread = &sight->threads[i];
        if (thread->wants_registers && !thread->stack.stopped &&
            sight->memory_count < MEMORIES_MOST && is_suspicious(sight, thread->process) &&
            !fetch_registers(sight, thread) && !thread->call.notices)
            sight->missed = true;
    }
    if (sight->memory_count > before)
        await_sleep(sight);
    return sight->memory_count > before;
}

/* ------------------------------------------------------------------ threads */

static bool add_thread(struct sight *sight, uint32_t process, const struct target_thread *is)
{
    if (!memory_grow(&sight->memory, &sight->threads, &sight->thread_room, sight->thread_count + 1,
                     sizeof *sight->threads))
        return false;
    struct sight_thread *thread = &sight->threads[sight->thread_count++];
    *thread = (struct sight_thread){.process = process, .is = *is, .wait = SIGHT_NONE};
    thread->sleeps = sleep_call(sight->targets[process], is, &thread->call);
    recall_registers(sight, thread);
    return true;
}

/* A process that is watched may load libraries, or become another program. This comes after its
 * threads were listed: what those who slept then have mapped is all there, whatever came before.
 * One that has ended since says so when they are listed again. */
static void refresh_target(struct sight *sight, uint32_t process)
{
    struct target *target = sight->targets[process];
    bool other;
    if (!target_remap(target, &other) || !other)
        return;
    symbols_close(sight->symbols[process]);
    sight->symbols[process] = NULL;
    sight->symbols_tried[process] = false;
    if (target->close_interpreter)
        target->close_interpreter(target);
    target->close_interpreter = NULL;
}

/* Lists the threads of a target; of one that has ended and may, none. */
static gordian_status list_target(struct target *target, gordian_error *error)
{
    gordian_status status = target_list(target, error);
    if (status != GORDIAN_STATUS_INPUT || !target->passing)
        return status;
    target->thread_count = 0;
    return GORDIAN_OK;
}

gordian_status sight_begin(struct sight *sight, gordian_error *error)
{
    forget_look(sight);
    for (uint32_t process = 0; process < sight->target_count; process++) {
        struct target *target = sight->targets[process];
        TRY(list_target(target, error));
        refresh_target(sight, process);
        sight->first_thread[process] = (uint32_t)sight->thread_count;
        sight->grew[process] = false;
        for (size_t i = 0; i < target->thread_count; i++)
            if (!add_thread(sight, process, &target->threads[i]))
                return fail_memory(error);
    }
    sight->first_thread[sight->target_count] = (uint32_t)sight->thread_count;
    return GORDIAN_OK;
}

/* Has it slept all the time? See inspect.h. One that was stopped from outside is out of its sleep:
 * it will go to sleep again only if the word is still what it expects. */
static bool is_same_sleep(struct target *target, const struct sight_thread *thread,
                          const struct target_thread *now)
{
    const struct target_thread *first = &thread->is;
    uint32_t word;
    bool same = first->activity == TARGET_SLEEPS && now->activity == TARGET_SLEEPS &&
                first->seen_tid == now->seen_tid && first->call == now->call &&
                memcmp(first->arguments, now->arguments, sizeof first->arguments) == 0 &&
                first->stack == now->stack && first->counter == now->counter &&
                first->switches == now->switches;
    if (!same || (now->state != 'T' && now->state != 't'))
        return same;
    return thread->call.kind == CALL_FUTEX &&
           target_read_u32(target, thread->call.address, &word) && word == thread->call.value;
}

/* An owner who was not there may have come since, or been left out of the list: then it is no
 * longer known who he is. */
static void find_again(struct sight *sight)
{
    for (size_t i = 0; i < sight->edge_count; i++) {
        struct sight_edge *edge = &sight->edges[i];
        if (edge->thread != SIGHT_GONE)
            continue;
        const struct sight_lock *lock = &sight->locks[edge->lock];
        const struct target *target = sight->targets[lock->process];
        if (target->partial || target_thread(target, lock->owner_tid))
            edge->word = (enum word)INCIDENT_UNKNOWN;
    }
}

gordian_status sight_settle(struct sight *sight, gordian_error *error)
{
    for (uint32_t process = 0; process < sight->target_count; process++) {
        struct target *target = sight->targets[process];
        uint32_t first = sight->first_thread[process], end = sight->first_thread[process + 1];
        TRY(list_target(target, error));
        size_t known = 0;
        for (uint32_t i = first; i < end; i++) {
            struct sight_thread *thread = &sight->threads[i];
            const struct target_thread *now = target_thread(target, thread->is.tid);
            known += now != NULL;
            thread->is.steady = target->core || (now && (is_same_sleep(target, thread, now) ||
                                                         (thread->spins && now->state == 'R')));
        }
        sight->grew[process] = known < target->thread_count || target->partial;
    }
    find_again(sight);
    return GORDIAN_OK;
}

uint32_t sight_thread(const struct sight *sight, uint32_t process, uint32_t tid)
{
    uint32_t low = sight->first_thread[process], high = sight->first_thread[process + 1];
    uint32_t end = high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sight->threads[middle].is.tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && sight->threads[low].is.tid == tid ? low : SIGHT_NONE;
}

/* ------------------------------------------------------------------ locks */

static uint64_t lock_hash(uint64_t space, uint64_t place, uint32_t kind)
{
    return hash_word(hash_word(space) + place * 31 + kind);
}

static void refill_locks(const void *context, struct hash *table)
{
    const struct sight *sight = context;
    for (size_t i = 0; i < sight->lock_count; i++) {
        const struct sight_lock *lock = &sight->locks[i];
        hash_put(table, lock_hash(lock->space, lock->place, lock->kind), (uint32_t)i);
    }
}

/* Memory of one process: the process, and the address in it. Shared memory: the file, with the
 * highest bit to tell it from a process, and the offset. */
static void find_space(const struct sight *sight, struct sight_lock *lock)
{
    const struct target_mapping *mapping =
        target_mapping(sight->targets[lock->process], lock->address);
    lock->space = lock->process;
    lock->place = lock->address;
    if (!mapping || !mapping->shared || !mapping->inode)
        return;
    lock->space = hash_word(mapping->inode * 31 + mapping->major * 4099u + mapping->minor) |
                  UINT64_C(1) << 63;
    lock->place = lock->address - mapping->low + mapping->offset;
    lock->flags |= INCIDENT_SHARED;
    lock->outsiders = true;
}

/* The lock with this space, place and kind, added if it is new. */
static uint32_t intern_lock(struct sight *sight, const struct sight_lock *lock)
{
    uint64_t hash = lock_hash(lock->space, lock->place, lock->kind);
    struct hash_probe probe = hash_probe(&sight->lock_index, hash);
    while (hash_meet(&sight->lock_index, &probe)) {
        const struct sight_lock *other = &sight->locks[probe.number];
        if (other->space == lock->space && other->place == lock->place && other->kind == lock->kind)
            return probe.number;
    }
    uint32_t number = (uint32_t)sight->lock_count;
    if (!hash_reserve(&sight->lock_index, &sight->memory, number + 1, number + 1, refill_locks,
                      sight) ||
        !memory_grow(&sight->memory, &sight->locks, &sight->lock_room, sight->lock_count + 1,
                     sizeof *lock)) {
        sight->failed = true;
        return SIGHT_NONE;
    }
    sight->locks[sight->lock_count++] = *lock;
    hash_put(&sight->lock_index, hash, number);
    return number;
}

uint32_t sight_lock(struct sight *sight, uint32_t process, uint64_t address, uint32_t kind)
{
    struct sight_lock lock = {
        .process = process,
        .address = address,
        .kind = kind,
        .target = SIGHT_NONE,
        .first_hold = SIGHT_NONE,
    };
    find_space(sight, &lock);
    return intern_lock(sight, &lock);
}

uint32_t sight_object(struct sight *sight, uint32_t process, uint64_t number, uint32_t kind)
{
    const struct sight_lock lock = {
        .process = process,
        .space = UINT64_MAX, /* of no process, and of no file */
        .place = number,
        .kind = kind,
        .target = SIGHT_NONE,
        .first_hold = SIGHT_NONE,
    };
    return intern_lock(sight, &lock);
}

uint32_t sight_end(struct sight *sight, uint32_t thread)
{
    const struct sight_thread *joined = &sight->threads[thread];
    /* No address: its number tells it from other ends. */
    uint32_t lock = sight_lock(sight, joined->process, joined->is.tid, INCIDENT_THREAD_END);
    if (lock == SIGHT_NONE)
        return lock;
    sight->locks[lock].target = thread;
    sight_hold(sight, thread, lock, INCIDENT_END, WORD_PROVED, NULL);
    return lock;
}

/* ------------------------------------------------------------------ edges */

static struct sight_edge *add_edge(struct sight *sight, struct sight_edge edge)
{
    if (edge.lock == SIGHT_NONE || !memory_grow(&sight->memory, &sight->edges, &sight->edge_room,
                                                sight->edge_count + 1, sizeof edge)) {
        sight->failed = true;
        return &sight->nowhere;
    }
    sight->edges[sight->edge_count] = edge;
    return &sight->edges[sight->edge_count++];
}

struct sight_edge *sight_wait(struct sight *sight, uint32_t thread, uint32_t lock, uint32_t mode)
{
    struct sight_thread *waiter = &sight->threads[thread];
    uint32_t flags = INCIDENT_WAITS | (waiter->call.timed ? (uint32_t)INCIDENT_TIMED : 0);
    waiter->wait = (uint32_t)sight->edge_count;
    struct sight_edge *edge = add_edge(sight, (struct sight_edge){.thread = thread,
                                                                  .lock = lock,
                                                                  .mode = mode,
                                                                  .flags = flags,
                                                                  .units = 1,
                                                                  .outer = SIGHT_NONE,
                                                                  .word = WORD_PROVED});
    if (sight->failed)
        waiter->wait = SIGHT_NONE;
    return edge;
}

void sight_hold(struct sight *sight, uint32_t thread, uint32_t lock, uint32_t mode, enum word word,
                const char *evidence)
{
    if (lock == SIGHT_NONE)
        return;
    for (uint32_t i = sight->locks[lock].first_hold; i != SIGHT_NONE;
         i = sight->edges[i].next_hold) {
        struct sight_edge *edge = &sight->edges[i];
        if (edge->thread != thread)
            continue;
        if (word < edge->word) {
            edge->word = word;
            edge->evidence = evidence;
        }
        return;
    }
    uint32_t number = (uint32_t)sight->edge_count;
    add_edge(sight, (struct sight_edge){.thread = thread,
                                        .lock = lock,
                                        .mode = mode,
                                        .units = 1,
                                        .outer = SIGHT_NONE,
                                        .word = word,
                                        .evidence = evidence,
                                        .next_hold = sight->locks[lock].first_hold});
    if (!sight->failed)
        sight->locks[lock].first_hold = number;
}

void sight_could(struct sight *sight, uint32_t thread, uint32_t lock, uint32_t mode,
                 const char *evidence)
{
    size_t before = sight->edge_count;
    sight_hold(sight, thread, lock, mode, WORD_LIKELY, evidence);
    if (sight->edge_count > before)
        sight->edges[before].flags |= INCIDENT_COULD;
}

/* ------------------------------------------------------------------ texts */

const char *sight_format(struct sight *sight, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length >= 0 ? arena_alloc(&sight->arena, (size_t)length + 1) : NULL;
    if (!text) {
        sight->failed = true;
        return "";
    }
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

void sight_text_frame(struct sight *sight, uint32_t thread, size_t before, const char *function,
                      const char *file, uint32_t line)
{
    if (!memory_grow(&sight->memory, &sight->texts, &sight->text_room, sight->text_count + 1,
                     sizeof *sight->texts)) {
        sight->failed = true;
        return;
    }
    sight->texts[sight->text_count++] = (struct sight_text){thread, before, function, file, line};
}

struct symbols *sight_symbols(struct sight *sight, uint32_t process)
{
    const struct target *target = sight->targets[process];
    const struct symbol_files files = {target->root, target->mapped, target->exe_path, target->exe};
    if (!sight->symbols_tried[process])
        sight->symbols[process] = symbols_open(target->maps, target->maps_size, &files);
    sight->symbols_tried[process] = true;
    return sight->symbols[process];
}
