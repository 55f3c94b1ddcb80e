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

void builder_open(struct incident_builder *builder, struct arena *arena, uint32_t kind)
{
    memset(builder, 0, sizeof *builder);
    builder->arena = arena;
    builder->memory = arena_allocator(arena);
    struct incident *header = &builder->header;
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
    builder_string(builder, "");
    header->program = builder_string(builder, watch.program);
}

/* Makes capacity for `more` elements; false: out of memory. */
#define builder_grow(builder, list, room, count, more)                                             \
    grow_array((builder), &(builder)->list, &(builder)->room, (builder)->count + (more),           \
               sizeof *(builder)->list)

static bool grow_array(struct incident_builder *builder, void *array, size_t *room, size_t wanted,
                       size_t size)
{
    if (!builder->failed && !memory_grow(&builder->memory, array, room, wanted, size))
        builder->failed = true;
    return !builder->failed;
}

uint32_t builder_string(struct incident_builder *builder, const char *text)
{
    size_t length = strlen(text) + 1;
    if (builder->string_bytes && length == 1)
        return 0;
    if (!builder_grow(builder, strings, string_room, string_bytes, length))
        return 0;
    memcpy(builder->strings + builder->string_bytes, text, length);
    builder->string_bytes += length;
    return (uint32_t)(builder->string_bytes - length);
}

uint32_t builder_frames(struct incident_builder *builder, const uintptr_t *frames, uint32_t count)
{
    if (!builder_grow(builder, words, word_room, word_count, count))
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t frame = frames[i];
#if defined(__aarch64__)
        /* Return addresses may be signed: remove the signature. */
        register uintptr_t x30 __asm__("x30") = frame;
        __asm__("hint #7" : "+r"(x30));
        frame = x30;
#endif
        builder->words[builder->word_count + i] = frame;
    }
    builder->word_count += count;
    return (uint32_t)(builder->word_count - count);
}

/* ------------------------------------------------------------------ threads */

static struct incident_thread *append_thread(struct incident_builder *builder,
                                             struct thread *record)
{
    if (!builder_grow(builder, threads, thread_room, thread_count, 1) ||
        !builder_grow(builder, records, record_room, thread_count, 1))
        return NULL;
    builder->records[builder->thread_count] = record;
    struct incident_thread *thread = &builder->threads[builder->thread_count++];
    memset(thread, 0, sizeof *thread);
    thread->wait = INCIDENT_NONE;
    return thread;
}

/* Reads the name shown by ps and top. */
static void read_thread_name(uint32_t tid, char *name, size_t room)
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

uint32_t builder_thread(struct incident_builder *builder, struct thread *t, uint32_t flags)
{
    for (size_t i = 0; i < builder->thread_count; i++)
        if (builder->records[i] == t) {
            builder->threads[i].flags |= flags;
            return (uint32_t)i;
        }
    struct incident_thread *thread = append_thread(builder, t);
    if (!thread)
        return INCIDENT_NONE;
    char name[32];
    read_thread_name(t->tid, name, sizeof name);
    thread->tid = t->tid;
    thread->flags = flags | (t->is_main ? (uint32_t)INCIDENT_MAIN : 0);
    thread->name = builder_string(builder, name);
    thread->handle = t->handle;
    thread->stack_low = t->stack_low;
    thread->stack_high = t->stack_high;
    thread->create_count = t->create_frames;
    thread->create_frames = builder_frames(builder, t->create_frame, t->create_frames);
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
    return (uint32_t)(builder->thread_count - 1);
}

uint32_t builder_stranger(struct incident_builder *builder, uint32_t tid, const char *name,
                          uint32_t flags)
{
    for (size_t i = 0; i < builder->thread_count; i++)
        if (!builder->records[i] && builder->threads[i].tid == tid)
            return (uint32_t)i;
    struct incident_thread *thread = append_thread(builder, NULL);
    if (!thread)
        return INCIDENT_NONE;
    thread->tid = tid;
    thread->flags = flags;
    thread->name = builder_string(builder, name);
    return (uint32_t)(builder->thread_count - 1);
}

/* ------------------------------------------------------------------ locks */

static void describe_mutex(struct incident_lock *lock, const pthread_mutex_t *mutex)
{
    uint32_t kind = mutex_kind(mutex), type = kind & KIND_TYPE;
    if (kind & KIND_ROBUST && !maps_shared(lock->address))
        kind &= ~(uint32_t)KIND_SHARED; /* libc marks every robust mutex as shared */
    lock->flags |=
        (kind & KIND_ROBUST ? INCIDENT_ROBUST : 0) | (kind & KIND_INHERIT ? INCIDENT_INHERIT : 0) |
        (kind & KIND_PROTECT ? INCIDENT_PROTECT : 0) | (kind & KIND_SHARED ? INCIDENT_SHARED : 0) |
        (type == PTHREAD_MUTEX_RECURSIVE_NP ? INCIDENT_RECURSIVE : 0) |
        (type == PTHREAD_MUTEX_ERRORCHECK_NP ? INCIDENT_ERRORCHECK : 0) |
        (type == PTHREAD_MUTEX_ADAPTIVE_NP ? INCIDENT_ADAPTIVE : 0);
    lock->owner_tid = mutex_owner(mutex);
}

/* Adds what the contents of the lock show. */
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
    struct observed_wait look;
    for (uint32_t i = 0; i < limit; i++)
        waiting += observe_wait(&watch.threads[i], &look) && look.lock == lock->address;
    return waiting < lock->units ? lock->units - waiting : 0;
}

uint32_t builder_lock(struct incident_builder *builder, uintptr_t address, uint32_t kind,
                      uint32_t through)
{
    for (size_t i = 0; i < builder->lock_count; i++)
        if (builder->locks[i].address == address && builder->locks[i].kind == kind) {
            builder->locks[i].flags |= through ? (uint32_t)INCIDENT_C11 : 0;
            return (uint32_t)i;
        }
    if (!builder_grow(builder, locks, lock_room, lock_count, 1))
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
        lock.name = builder_string(builder, info.name);
        lock.init_count = info.frames;
        lock.init_frames = builder_frames(builder, info.frame, info.frames);
    }
    if (kind == INCIDENT_BARRIER)
        lock.missing = barrier_missing(&lock);
    builder->locks[builder->lock_count++] = lock;
    return (uint32_t)(builder->lock_count - 1);
}

/* ------------------------------------------------------------------ edges */

uint32_t builder_edge(struct incident_builder *builder, const struct incident_edge *edge)
{
    if (!builder_grow(builder, edges, edge_room, edge_count, 1))
        return INCIDENT_NONE;
    builder->edges[builder->edge_count] = *edge;
    return (uint32_t)builder->edge_count++;
}

uint32_t builder_wait(struct incident_builder *builder, const struct observed_wait *look,
                      uint32_t flags)
{
    struct thread *t = look->thread;
    uint32_t thread = builder_thread(builder, t, 0);
    uint32_t through = look->flags & THROUGH_C11;
    struct incident_edge edge = {
        .thread = thread,
        .lock = builder_lock(builder, look->lock, look->kind, through),
        .mode = look->mode,
        .flags = flags | INCIDENT_WAITS | (look->flags & (INCIDENT_TIMED | INCIDENT_RETAKES)),
        .units = 1,
        .frames = builder_frames(builder, t->wait.frame, t->wait.frames),
        .count = t->wait.frames,
        .outer = look->outer ? builder_lock(builder, look->outer, INCIDENT_MUTEX, through)
                             : INCIDENT_NONE,
    };
    if (builder->failed)
        return INCIDENT_NONE;
    if (look->kind == INCIDENT_THREAD_END) {
        struct thread *target = table_by_handle(look->lock);
        uint32_t index = target ? builder_thread(builder, target, 0) : INCIDENT_NONE;
        if (!builder->failed)
            builder->locks[edge.lock].target = index;
    }
    uint32_t index = builder_edge(builder, &edge);
    if (!builder->failed)
        builder->threads[thread].wait = index;
    return index;
}

uint32_t builder_hold(struct incident_builder *builder, uint32_t thread, const struct held *hold,
                      uint32_t flags)
{
    uint32_t frames = hold->frames;
    struct incident_edge edge = {
        .thread = thread,
        .lock = builder_lock(builder, hold->lock, hold->kind, hold->flags & THROUGH_C11),
        .mode = hold->mode,
        .flags = flags | (hold->flags & INCIDENT_TRIED),
        .units = hold->units,
        .frames = builder_frames(builder, hold->frame,
                                 frames < INCIDENT_FRAMES ? frames : INCIDENT_FRAMES),
        .count = frames < INCIDENT_FRAMES ? frames : INCIDENT_FRAMES,
        .outer = INCIDENT_NONE,
    };
    return builder_edge(builder, &edge);
}

static bool has_hold(const struct incident_builder *builder, uint32_t thread,
                     const struct held *hold)
{
    for (size_t i = 0; i < builder->edge_count; i++) {
        const struct incident_edge *edge = &builder->edges[i];
        if (edge->thread == thread && !(edge->flags & (INCIDENT_WAITS | INCIDENT_COULD)) &&
            builder->locks[edge->lock].address == hold->lock && edge->mode == hold->mode)
            return true;
    }
    return false;
}

#define MOST_HOLDS 64 /* other holds per thread, in addition to the holds in the finding */

void builder_holds(struct incident_builder *builder, struct thread *t)
{
    uint32_t thread = builder_thread(builder, t, 0);
    const struct held *held;
    uint32_t count = others_holds(t, &held);
    for (uint32_t i = 0; i < count && i < MOST_HOLDS && !builder->failed; i++)
        if (held[i].lock && held[i].units && !has_hold(builder, thread, &held[i]))
            builder_hold(builder, thread, &held[i], 0);
}

void builder_order(struct incident_builder *builder, const struct incident_order *order)
{
    if (builder_grow(builder, orders, order_room, order_count, 1))
        builder->orders[builder->order_count++] = *order;
}

void builder_fold(struct incident_builder *builder, const struct incident_fold *fold)
{
    if (builder_grow(builder, folds, fold_room, fold_count, 1))
        builder->folds[builder->fold_count++] = *fold;
}
