/* A shared system's tables, its lock, and its sleeping threads. Read shared.h. */
#include "engines/detect/shared.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/sort.h"
#include "foundation/base/threads/park.h"

#include <string.h>

_Static_assert(sizeof(struct shared_process) <= SHARED_LINE, "a record has a line to itself");

/* ---- tables */

static size_t piece_entries(unsigned piece)
{
    return (size_t)1 << (SHARED_LEAST - SHARED_EIGHTH + (piece >> SHARED_EIGHTH));
}

/* Allocates a piece that starts on a cache line. The allocator's pointer stands in front of it. */
static char *allocate_table_piece(const gordian_allocator *memory, size_t bytes)
{
    char *block = memory_alloc(memory, bytes + sizeof block + SHARED_LINE - 1);
    if (!block)
        return NULL;
    char *after = block + sizeof block;
    char *piece = after + (SHARED_LINE - (uintptr_t)after % SHARED_LINE) % SHARED_LINE;
    memcpy(piece - sizeof block, &block, sizeof block);
    return piece;
}

static void free_table_piece(const gordian_allocator *memory, char *piece)
{
    char *block;
    if (!piece)
        return;
    memcpy(&block, piece - sizeof block, sizeof block);
    memory_free(memory, block);
}

/* Reserves memory for ids below `limit`. */
static bool reserve_pieces(struct shared *shared, struct shared_pieces *pieces,
                           const gordian_allocator *memory, uint32_t limit, size_t size)
{
    size_t have = 0;
    for (unsigned k = 0; k < SHARED_PIECES && have < limit; have += piece_entries(k), k++) {
        if (atomic_load_explicit(&pieces->at[k], memory_order_relaxed))
            continue;
        char *piece = allocate_table_piece(memory, piece_entries(k) * size);
        if (!piece)
            return false;
        size_t entries = piece_entries(k);
        for (size_t i = 0; i < entries; i++)
            if (pieces == &shared->processes) {
                struct shared_process *p = (void *)(piece + i * SHARED_LINE);
                atomic_init(&p->state, SHARED_STATE_NOBODY);
                p->count = 0;
                p->room = SHARED_FIRST;
                p->list = p->first;
            } else {
                atomic_init((_Atomic uint32_t *)(void *)piece + i, SHARED_GRAPH);
            }
        atomic_store_explicit(&pieces->at[k], piece, memory_order_release);
    }
    return true;
}

bool shared_reserve(struct shared *shared, const gordian_allocator *memory, uint32_t processes,
                    uint32_t resources)
{
    return reserve_pieces(shared, &shared->processes, memory, processes, SHARED_LINE) &&
           reserve_pieces(shared, &shared->resources, memory, resources, sizeof(_Atomic uint32_t));
}

bool shared_grow_list(struct shared_process *p, const gordian_allocator *memory)
{
    if (p->list != p->first)
        return memory_grow32(memory, &p->list, &p->room, p->room + 1, sizeof *p->list);
    uint32_t *list = memory_alloc(memory, 4 * SHARED_FIRST * sizeof *list);
    if (!list)
        return false;
    memcpy(list, p->first, sizeof p->first);
    p->list = list;
    p->room = 4 * SHARED_FIRST;
    return true;
}

void shared_tidy_list(struct shared *shared, uint32_t process)
{
    struct shared_process *p = shared_process_at(shared, process);
    uint32_t count = 0;
    sort_u32(p->list, p->count);
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t resource = p->list[i];
        bool again = count > 0 && p->list[count - 1] == resource;
        if (!again &&
            atomic_load_explicit(shared_word_at(shared, resource), memory_order_relaxed) == process)
            p->list[count++] = resource;
    }
    p->count = count;
}

static void free_list(struct shared_process *p, const gordian_allocator *memory)
{
    if (p->list != p->first)
        memory_free(memory, p->list);
}

/* ---- opening and closing */

static bool lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t kind;
    if (pthread_mutexattr_init(&kind) != 0)
        return false;
    bool fine = pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE) == 0 &&
                pthread_mutex_init(lock, &kind) == 0;
    pthread_mutexattr_destroy(&kind);
    return fine;
}

gordian_status shared_open(gordian_system *system, const gordian_options *options,
                           gordian_error *error)
{
    if (strcmp(system->engine->about.name, detect_sparse.about.name) != 0)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    "engine '%s' cannot be shared by threads: use 'sparse'",
                    system->engine->about.name);
    struct shared *shared = memory_zeroed(&system->graph.memory, sizeof *shared);
    if (!shared)
        return fail_memory(error);
    if (!lock_init(&shared->lock)) {
        memory_free(&system->graph.memory, shared);
        return fail_memory(error);
    }
    if (options->recorder)
        shared->recorder = *options->recorder;
    system->shared = shared;
    return GORDIAN_OK;
}

void shared_close(gordian_system *system)
{
    struct shared *shared = system->shared;
    const gordian_allocator *memory = &system->graph.memory;
    if (!shared)
        return;
    for (unsigned k = 0; k < SHARED_PIECES; k++) {
        char *piece = atomic_load(&shared->processes.at[k]);
        for (size_t i = 0; piece && i < piece_entries(k); i++)
            free_list((struct shared_process *)(void *)(piece + i * SHARED_LINE), memory);
        free_table_piece(memory, piece);
        free_table_piece(memory, atomic_load(&shared->resources.at[k]));
    }
    pthread_mutex_destroy(&shared->lock);
    memory_free(memory, shared);
    system->shared = NULL;
}

/* ---- what comes and goes */

static void tell_change(struct shared *shared, gordian_record record)
{
    if (!shared->recorder.record)
        return;
    record.place = atomic_fetch_add(&shared->order, 1);
    shared->recorder.record(shared->recorder.context, &record);
}

void shared_note_process(gordian_system *system, uint32_t id, bool gone)
{
    tell_change(system->shared,
                (gordian_record){.kind = GORDIAN_LINE_PROCESS, .id = id, .gone = gone});
    struct shared_process *p = shared_process_at(system->shared, id);
    if (gone) {
        free_list(p, &system->graph.memory);
        p->count = 0;
        p->room = SHARED_FIRST;
        p->list = p->first;
    }
    atomic_store(&p->state, gone ? SHARED_STATE_NOBODY : SHARED_STATE_RUNS);
}

void shared_note_resource(gordian_system *system, uint32_t id, uint64_t units, bool gone)
{
    tell_change(
        system->shared,
        (gordian_record){.kind = GORDIAN_LINE_RESOURCE, .id = id, .units = units, .gone = gone});
    /* A removed resource stays in the graph, which knows that it does not exist. */
    if (!gone && units == 1)
        atomic_store(shared_word_at(system->shared, id), SHARED_FREE);
}

/* ---- the lock */

void shared_enter(struct shared *shared)
{
    pthread_mutex_lock(&shared->lock);
}

void shared_leave(struct shared *shared)
{
    pthread_mutex_unlock(&shared->lock);
}

void gordian_lock(gordian_system *system)
{
    system_enter(system);
}

void gordian_unlock(gordian_system *system)
{
    system_leave(system);
}

/* ---- sleeping */

gordian_status gordian_await_grant(gordian_system *system, uint32_t process, uint64_t timeout_ns,
                                   gordian_error *error)
{
    if (!system->shared)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "the system is not shared by threads: open it with `shared`");
    struct shared_process *p = shared_process_at(system->shared, process);
    uint32_t state = p ? atomic_load(&p->state) : SHARED_STATE_NOBODY;
    if (state == SHARED_STATE_NOBODY)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no process %u", process);
    uint64_t now = timeout_ns == UINT64_MAX ? 0 : clock_ns();
    uint64_t until = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
    for (; state >= SHARED_STATE_WAITS; state = atomic_load(&p->state)) {
        if (state == SHARED_STATE_WAITS &&
            !atomic_compare_exchange_strong(&p->state, &state, SHARED_STATE_SLEEPS))
            continue;
        if (!park_wait(&p->state, SHARED_STATE_SLEEPS, until))
            return GORDIAN_STATUS_END;
    }
    if (state == SHARED_STATE_RUNS)
        return GORDIAN_OK;
    if (state == SHARED_STATE_CANCELLED)
        return fail(error, GORDIAN_STATUS_CANCELLED, "the request of process %u was cancelled",
                    process);
    return fail(error, GORDIAN_STATUS_VICTIM, "process %u was ended while it waited", process);
}
