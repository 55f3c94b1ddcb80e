#include "sources/run/report/incident_builder.h"

#include "foundation/base/clock.h"
#include "foundation/base/memory.h"
#include "sources/run/graph/lock_copy.h"
#include "sources/run/libc/lock_layout.h"
#include "sources/run/locks/lock_registry.h"
#include "sources/run/state/proc_files.h"
#include "sources/run/state/system_call.h"
#include "sources/run/state/text.h"
#include "sources/run/threads/held_locks.h"
#include "sources/run/threads/thread_table.h"

#include <elf.h>
#include <string.h>

void draft_open(struct draft *draft, struct arena *arena, uint32_t kind)
{
    memset(draft, 0, sizeof *draft);
    draft->arena = arena;
    draft->memory = arena_allocator(arena);
    struct incident *header = &draft->header;
    memcpy(header->magic, INCIDENT_MAGIC, sizeof header->magic);
    header->version = INCIDENT_VERSION;
    header->header_size = sizeof *header;
#if defined(__x86_64__)
    header->machine = EM_X86_64;
#else
    header->machine = EM_AARCH64;
#endif
    header->kind = kind;
    header->action = INCIDENT_GO_ON;
    header->pid = watch.pid;
    header->first = INCIDENT_NONE;
    header->time_ns = sys_wall();
    header->locks_watched = locks_counted();
    header->threads_watched = atomic_load(&watch.threads_seen);
    draft_string(draft, "");
    header->program = draft_string(draft, watch.program);
}

static bool grow_array(struct draft *draft, void *array, size_t *room, size_t wanted, size_t size)
{
    if (!draft->failed && !memory_grow(&draft->memory, array, room, wanted, size))
        draft->failed = true;
    return !draft->failed;
}

uint32_t draft_string(struct draft *draft, const char *text)
{
    size_t length = strlen(text) + 1;
    if (draft->string_bytes && length == 1)
        return 0;
    if (!grow_array(draft, &draft->strings, &draft->string_room, draft->string_bytes + length, 1))
        return 0;
    memcpy(draft->strings + draft->string_bytes, text, length);
    draft->string_bytes += length;
    return (uint32_t)(draft->string_bytes - length);
}

uint32_t draft_frames(struct draft *draft, const uintptr_t *frames, uint32_t count)
{
    if (!grow_array(draft, &draft->words, &draft->word_room, draft->word_count + count,
                    sizeof *draft->words))
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t frame = frames[i];
#if defined(__aarch64__)
        /* Return addresses may be signed: take the signature off. */
        register uintptr_t x30 __asm__("x30") = frame;
        __asm__("hint #7" : "+r"(x30));
        frame = x30;
#endif
        draft->words[draft->word_count + i] = frame;
    }
    draft->word_count += count;
    return (uint32_t)(draft->word_count - count);
}

/* ------------------------------------------------------------------ threads */

static struct incident_thread *add_thread(struct draft *draft, struct thread *record)
{
    if (!grow_array(draft, &draft->threads, &draft->thread_room, draft->thread_count + 1,
                    sizeof *draft->threads) ||
        !grow_array(draft, &draft->records, &draft->record_room, draft->thread_count + 1,
                    sizeof *draft->records))
        return NULL;
    draft->records[draft->thread_count] = record;
    struct incident_thread *thread = &draft->threads[draft->thread_count++];
    memset(thread, 0, sizeof *thread);
    thread->wait = INCIDENT_NONE;
    return thread;
}

/* The name it goes by in ps and top. */
static void thread_name(uint32_t tid, char *name, size_t room)
{
    char path[64];
    text_join(path, sizeof path, "/proc/self/task/", tid, "/comm");
    long length = read_small(path, name, room);
    if (length > 0 && name[length - 1] == '\n')
        length--;
    name[length > 0 ? length : 0] = '\0';
}

static uint64_t waited_ns(const struct thread *t)
{
    uint64_t ticks = clock_ticks(), now = sys_now();
    uint64_t all_ticks = ticks - watch.start_ticks, all_ns = now - watch.start_ns;
    uint64_t waited = ticks - t->wait.since;
    if (all_ticks == 0 || waited > all_ticks)
        return 0;
    return (uint64_t)((double)waited * (double)all_ns / (double)all_ticks);
}

#if defined(__x86_64__)
#define KNOWN_REGISTERS 0x1f0c8u /* rbx rbp rsp r12-r15 pc */
#define STACK_REGISTER  7
#else
#define KNOWN_REGISTERS 0x1fff80000u /* x19-x30 sp pc */
#define STACK_REGISTER  31
#endif

uint32_t draft_thread(struct draft *draft, struct thread *t, uint32_t flags)
{
    for (size_t i = 0; i < draft->thread_count; i++)
        if (draft->records[i] == t) {
            draft->threads[i].flags |= flags;
            return (uint32_t)i;
        }
    struct incident_thread *thread = add_thread(draft, t);
    if (!thread)
        return INCIDENT_NONE;
    char name[32];
    thread_name(t->tid, name, sizeof name);
    thread->tid = t->tid;
    thread->flags = flags | (t->is_main ? (uint32_t)INCIDENT_MAIN : 0);
    thread->name = draft_string(draft, name);
    thread->handle = t->handle;
    thread->stack_low = t->stack_low;
    thread->stack_high = t->stack_high;
    thread->create_count = t->create_frames;
    thread->create_frames = draft_frames(draft, t->create_frame, t->create_frames);
    if (is_waiting(t)) {
        thread->flags |= INCIDENT_WAITING;
        thread->waited_ns = waited_ns(t);
        thread->register_mask = KNOWN_REGISTERS;
        memcpy(thread->registers, t->wait.registers, sizeof thread->registers);
        uintptr_t stack = t->wait.registers[STACK_REGISTER];
        thread->stack_address = stack;
        if (stack >= t->stack_low && stack < t->stack_high) {
            uintptr_t above = t->stack_high + 2 * sizeof(uintptr_t) - stack;
            thread->stack_size = above < INCIDENT_STACK_MAX ? above : INCIDENT_STACK_MAX;
        }
    }
    return (uint32_t)(draft->thread_count - 1);
}

uint32_t draft_stranger(struct draft *draft, uint32_t tid, const char *name, uint32_t flags)
{
    for (size_t i = 0; i < draft->thread_count; i++)
        if (!draft->records[i] && draft->threads[i].tid == tid)
            return (uint32_t)i;
    struct incident_thread *thread = add_thread(draft, NULL);
    if (!thread)
        return INCIDENT_NONE;
    thread->tid = tid;
    thread->flags = flags;
    thread->name = draft_string(draft, name);
    return (uint32_t)(draft->thread_count - 1);
}

/* ------------------------------------------------------------------ locks */

static void describe_mutex(struct incident_lock *lock, const pthread_mutex_t *mutex)
{
    uint32_t kind = mutex_kind(mutex), type = kind & KIND_TYPE;
    if (kind & KIND_ROBUST && !maps_shared(lock->address))
        kind &= ~(uint32_t)KIND_SHARED; /* libc marks every robust one like that */
    lock->flags |=
        (kind & KIND_ROBUST ? INCIDENT_ROBUST : 0) | (kind & KIND_INHERIT ? INCIDENT_INHERIT : 0) |
        (kind & KIND_PROTECT ? INCIDENT_PROTECT : 0) | (kind & KIND_SHARED ? INCIDENT_SHARED : 0) |
        (type == PTHREAD_MUTEX_RECURSIVE_NP ? INCIDENT_RECURSIVE : 0) |
        (type == PTHREAD_MUTEX_ERRORCHECK_NP ? INCIDENT_ERRORCHECK : 0) |
        (type == PTHREAD_MUTEX_ADAPTIVE_NP ? INCIDENT_ADAPTIVE : 0);
    lock->owner_tid = mutex_owner(mutex);
}

/* What the lock says of itself. */
static void describe_lock(struct incident_lock *lock, const struct lock_info *info, bool known)
{
    union lock_copy copy;
    if (!lock_copy(lock->address, lock->kind, &copy))
        return;
    int value = 0;
    switch (lock->kind) {
    case INCIDENT_MUTEX:
        describe_mutex(lock, &copy.mutex);
        break;
    case INCIDENT_RWLOCK:
        lock->flags |= (rwlock_is_shared(&copy.rwlock) ? INCIDENT_SHARED : 0) |
                       (rwlock_prefers_writers(&copy.rwlock) ? INCIDENT_PREFERS_WRITERS : 0);
        lock->owner_tid = rwlock_writer(&copy.rwlock);
        lock->units = rwlock_readers(&copy.rwlock);
        break;
    case INCIDENT_SEMAPHORE:
        sem_getvalue(&copy.semaphore, &value);
        lock->units = (uint32_t)value;
        break;
    case INCIDENT_CONDITION:
        lock->flags |= condition_is_shared(&copy.condition) ? INCIDENT_SHARED : 0;
        break;
    case INCIDENT_BARRIER:
        lock->units = known ? info->units : 0;
        break;
    default:
        break;
    }
}

static uint32_t barrier_missing(const struct incident_lock *lock)
{
    uint32_t waiting = 0, limit = atomic_load(&watch.thread_limit);
    struct look look;
    for (uint32_t i = 0; i < limit; i++)
        waiting += look_at(&watch.threads[i], &look) && look.lock == lock->address;
    return waiting < lock->units ? lock->units - waiting : 0;
}

uint32_t draft_lock(struct draft *draft, uintptr_t address, uint32_t kind, uint32_t through)
{
    for (size_t i = 0; i < draft->lock_count; i++)
        if (draft->locks[i].address == address && draft->locks[i].kind == kind) {
            draft->locks[i].flags |= through ? (uint32_t)INCIDENT_C11 : 0;
            return (uint32_t)i;
        }
    if (!grow_array(draft, &draft->locks, &draft->lock_room, draft->lock_count + 1,
                    sizeof *draft->locks))
        return INCIDENT_NONE;
    struct lock_info info;
    struct incident_lock lock = {.address = address, .kind = kind, .target = INCIDENT_NONE};
    bool known = kind != INCIDENT_THREAD_END && lock_look(address, &info);
    lock.flags = through ? INCIDENT_C11 : 0;
    if (kind != INCIDENT_THREAD_END)
        describe_lock(&lock, &info, known);
    if (known) {
        lock.flags |= (info.flags & LOCK_SIGNALS ? INCIDENT_SIGNALS : 0) |
                      (info.flags & LOCK_SHARED ? INCIDENT_SHARED : 0) |
                      (info.name[0] ? INCIDENT_NAMED : 0);
        lock.name = draft_string(draft, info.name);
        lock.init_count = info.frames;
        lock.init_frames = draft_frames(draft, info.frame, info.frames);
    }
    if (kind == INCIDENT_BARRIER)
        lock.missing = barrier_missing(&lock);
    draft->locks[draft->lock_count++] = lock;
    return (uint32_t)(draft->lock_count - 1);
}

/* ------------------------------------------------------------------ edges */

uint32_t draft_edge(struct draft *draft, const struct incident_edge *edge)
{
    if (!grow_array(draft, &draft->edges, &draft->edge_room, draft->edge_count + 1,
                    sizeof *draft->edges))
        return INCIDENT_NONE;
    draft->edges[draft->edge_count] = *edge;
    return (uint32_t)draft->edge_count++;
}

uint32_t draft_wait(struct draft *draft, const struct look *look, uint32_t flags)
{
    struct thread *t = look->thread;
    uint32_t thread = draft_thread(draft, t, 0);
    uint32_t through = look->flags & THROUGH_C11;
    struct incident_edge edge = {
        .thread = thread,
        .lock = draft_lock(draft, look->lock, look->kind, through),
        .mode = look->mode,
        .flags = flags | INCIDENT_WAITS | (look->flags & (INCIDENT_TIMED | INCIDENT_RETAKES)),
        .units = 1,
        .frames = draft_frames(draft, t->wait.frame, t->wait.frames),
        .count = t->wait.frames,
        .outer =
            look->outer ? draft_lock(draft, look->outer, INCIDENT_MUTEX, through) : INCIDENT_NONE,
    };
    if (draft->failed)
        return INCIDENT_NONE;
    if (look->kind == INCIDENT_THREAD_END) {
        struct thread *target = table_by_handle(look->lock);
        uint32_t index = target ? draft_thread(draft, target, 0) : INCIDENT_NONE;
        if (!draft->failed)
            draft->locks[edge.lock].target = index;
    }
    uint32_t index = draft_edge(draft, &edge);
    if (!draft->failed)
        draft->threads[thread].wait = index;
    return index;
}

uint32_t draft_hold(struct draft *draft, uint32_t thread, const struct held *hold, uint32_t flags)
{
    uint32_t frames = hold->frames;
    struct incident_edge edge = {
        .thread = thread,
        .lock = draft_lock(draft, hold->lock, hold->kind, hold->flags & THROUGH_C11),
        .mode = hold->mode,
        .flags = flags | (hold->flags & INCIDENT_TRIED),
        .units = hold->units,
        .frames =
            draft_frames(draft, hold->frame, frames < INCIDENT_FRAMES ? frames : INCIDENT_FRAMES),
        .count = frames < INCIDENT_FRAMES ? frames : INCIDENT_FRAMES,
        .outer = INCIDENT_NONE,
    };
    return draft_edge(draft, &edge);
}

static bool has_hold(const struct draft *draft, uint32_t thread, const struct held *hold)
{
    for (size_t i = 0; i < draft->edge_count; i++) {
        const struct incident_edge *edge = &draft->edges[i];
        if (edge->thread == thread && !(edge->flags & (INCIDENT_WAITS | INCIDENT_COULD)) &&
            draft->locks[edge->lock].address == hold->lock && edge->mode == hold->mode)
            return true;
    }
    return false;
}

#define MOST_HOLDS 64 /* of one thread in an incident, beside those that matter */

void draft_holds(struct draft *draft, struct thread *t)
{
    uint32_t thread = draft_thread(draft, t, 0);
    const struct held *held;
    uint32_t count = others_holds(t, &held);
    for (uint32_t i = 0; i < count && i < MOST_HOLDS && !draft->failed; i++)
        if (held[i].lock && held[i].units && !has_hold(draft, thread, &held[i]))
            draft_hold(draft, thread, &held[i], 0);
}

struct incident_order *draft_order(struct draft *draft)
{
    if (!grow_array(draft, &draft->orders, &draft->order_room, draft->order_count + 1,
                    sizeof *draft->orders))
        return NULL;
    struct incident_order *order = &draft->orders[draft->order_count++];
    memset(order, 0, sizeof *order);
    return order;
}

void draft_fold(struct draft *draft, const struct incident_fold *fold)
{
    if (grow_array(draft, &draft->folds, &draft->fold_room, draft->fold_count + 1,
                   sizeof *draft->folds))
        draft->folds[draft->fold_count++] = *fold;
}
