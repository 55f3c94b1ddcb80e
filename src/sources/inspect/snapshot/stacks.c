#include "sources/inspect/snapshot/stacks.h"

#include "sources/inspect/snapshot/process_snapshot.h"

#include <stdlib.h>
#include <string.h>

#define COPY_SHORT (16u << 10)
#define COPY_LONG  (256u << 10)
#define INLINED    8
#define STOPS_MOST 10 /* limit of stops for a running thread */

/* ------------------------------------------------------------------ symbolization */

/* Strips prefixes: "___pthread_mutex_lock", "__GI___pthread_mutex_lock", "__new_sem_wait". */
static const char *plain_function(const char *name)
{
    name += strspn(name, "_");
    if (strncmp(name, "GI_", 3) == 0)
        name += 3 + strspn(name + 3, "_");
    if (strncmp(name, "new_", 4) == 0)
        name += 4;
    return name;
}

const char *stack_function(struct process_snapshot *snapshot, uint32_t thread,
                           const struct unwound *frame)
{
    struct symbols *symbols =
        snapshot_symbols(snapshot, snapshot_thread(snapshot, thread)->process);
    struct frame found[INLINED];
    if (!symbols)
        return NULL;
    size_t count = symbols_frames(symbols, frame->counter, found, INLINED);
    const char *name = count ? found[count - 1].function : NULL;
    return name ? plain_function(name) : NULL;
}

/* ------------------------------------------------------------------ unwinding */

/* Fills in the registers that are known without a stop. */
static void known_registers(const struct target *target, const struct target_thread *thread,
                            struct stopped *stopped, uint64_t registers[TARGET_REGISTERS])
{
    bool x86 = target->machine == 62; /* EM_X86_64 */
    unsigned stack = x86 ? 7 : 31, counter = x86 ? 16 : 32;
    memcpy(registers, thread->registers, TARGET_REGISTERS * sizeof *registers);
    registers[stack] = thread->stack;
    registers[counter] = thread->counter;
    stopped->known = thread->register_mask | UINT64_C(1) << stack | UINT64_C(1) << counter;
    stopped->registers = registers;
    stopped->machine = target->machine;
}

/* Returns whether the last frame is the start of the thread. The unwinder also stops where it
 * cannot find the caller. */
static bool is_beginning(struct process_snapshot *snapshot, uint32_t thread,
                         const struct snapshot_stack *stack)
{
    static const char *const beginnings[] = {"start",        "clone",        "clone3",
                                             "thread_start", "start_thread", NULL};
    struct symbols *symbols =
        snapshot_symbols(snapshot, snapshot_thread(snapshot, thread)->process);
    struct frame first, last;
    if (stack->count == 0)
        return false;
    const char *name = stack_function(snapshot, thread, &stack->frames[stack->count - 1]);
    for (const char *const *known = beginnings; name && *known; known++)
        if (strcmp(name, *known) == 0)
            return true;
    symbols_frames(symbols, stack->frames[0].counter, &first, 1);
    symbols_frames(symbols, stack->frames[stack->count - 1].counter, &last, 1);
    /* Without a symbol: the stack must lead through another module and back to the first one. */
    return !name && stack->count > 2 && first.module && last.module &&
           strcmp(first.module, last.module) == 0;
}

/* Stops the thread for its registers and its stack, which a running thread changes all the time. */
static bool fetch_registers(struct process_snapshot *snapshot, struct snapshot_thread *thread,
                            struct stack_copy *copy)
{
    struct target_thread now = thread->is;
    if (!target_registers(snapshot_target(snapshot, thread->process), &now, snapshot->stop_ms,
                          copy))
        return false;
    /* A sleeping thread must not have moved. A running thread is now here. */
    if (thread->sleeps && now.stack != thread->is.stack)
        return false;
    thread->is = now;
    return true;
}

/* Unwinds a copy of the stack into at most `most` frames. */
static void unwind_copy(struct process_snapshot *snapshot, uint32_t index,
                        const struct stack_copy *copy, size_t most)
{
    struct snapshot_thread *thread = &snapshot->threads.list[index];
    uint64_t registers[TARGET_REGISTERS];
    struct stopped stopped = {
        .stack = copy->bytes, .stack_address = thread->is.stack, .stack_size = copy->size};
    struct unwound *frames = memory_alloc(&snapshot->memory, most * sizeof *frames);
    struct snapshot_stack *stack = &thread->stack;
    known_registers(snapshot_target(snapshot, thread->process), &thread->is, &stopped, registers);
    memory_free(&snapshot->memory, stack->frames);
    stack->frames = frames;
    stack->count = frames ? symbols_unwind(snapshot_symbols(snapshot, thread->process), &stopped,
                                           frames, most, &stack->whole)
                          : 0;
    stack->whole = stack->whole && is_beginning(snapshot, index, stack);
}

/* Unwinds the thread, after a stop if `stop`. False: the earlier frames are kept. */
static bool unwind_thread(struct process_snapshot *snapshot, uint32_t index, size_t most, bool stop)
{
    struct snapshot_thread *thread = &snapshot->threads.list[index];
    struct stack_copy copy = {.room = most > STACK_SHORT ? COPY_LONG : COPY_SHORT};
    if (!snapshot_symbols(snapshot, thread->process) || (!stop && !thread->is.stack))
        return false;
    copy.bytes = memory_alloc(&snapshot->memory, copy.room);
    bool there = copy.bytes && (!stop || fetch_registers(snapshot, thread, &copy));
    if (there && copy.size == 0) { /* from its stack pointer up to the end of the mapping */
        struct target *target = snapshot->targets[thread->process];
        const struct target_mapping *mapping = target_mapping(target, thread->is.stack);
        uint64_t above = mapping ? mapping->high - thread->is.stack : copy.room;
        copy.size = target_read(target, thread->is.stack, copy.bytes,
                                above < copy.room ? (size_t)above : copy.room);
    }
    if (there)
        unwind_copy(snapshot, index, &copy, most);
    memory_free(&snapshot->memory, copy.bytes);
    return there;
}

/* A running thread may be at a place without unwind tables (a PLT entry, kernel code). It is
 * stopped again, at another place. */
static void unwind_stopped(struct process_snapshot *snapshot, uint32_t index, size_t most)
{
    struct snapshot_thread *thread = &snapshot->threads.list[index];
    bool moves = !thread->sleeps && !snapshot_target(snapshot, thread->process)->core;
    int left = moves ? STOPS_MOST : 1;
    thread->stack.stopped = true;
    while (left-- > 0 && unwind_thread(snapshot, index, most, true) && !thread->stack.whole)
        ;
}

const struct snapshot_stack *stack_of(struct process_snapshot *snapshot, uint32_t index,
                                      size_t most, bool may_stop)
{
    struct snapshot_thread *thread = &snapshot->threads.list[index];
    struct snapshot_stack *stack = &thread->stack;
    bool cut = !stack->whole && stack->count < most && stack->count >= STACK_SHORT;
    if (!stack->tried || (most > STACK_SHORT && cut))
        unwind_thread(snapshot, index, most, false);
    stack->tried = true;
    /* A thread is stopped for its stack once only, and not if it would notice. */
    bool notices = thread->sleeps && thread->call.notices;
    if (may_stop && !stack->whole && stack->count < most && !stack->stopped &&
        (!notices || snapshot->targets[thread->process]->doomed))
        unwind_stopped(snapshot, index, most);
    return stack;
}

/* ------------------------------------------------------------------ functions */

const struct snapshot_stack *stack_whole(struct process_snapshot *snapshot, uint32_t thread)
{
    const struct snapshot_stack *stack = stack_of(snapshot, thread, STACK_LONG, false);
    if (!stack->whole && stack->count < STACK_LONG)
        snapshot_want_registers(snapshot, thread);
    return stack;
}

/* Returns whether this is an internal function of libc, by its symbol. */
static bool is_inner(const char *name)
{
    static const char *const starts[] = {"futex_", "lll_", "do_futex_wait", "syscall", "internal_",
                                         "libc_",  "GI_",  "pthread_",      "sem_",    NULL};
    for (const char *const *start = starts; *start; start++)
        if (strncmp(name, *start, strlen(*start)) == 0)
            return true;
    return false;
}

bool stack_is_watcher(const struct process_snapshot *snapshot, uint32_t thread,
                      const struct unwound *frame)
{
    const struct target *target =
        snapshot_target(snapshot, snapshot_thread(snapshot, thread)->process);
    const struct target_mapping *mapping = target_mapping(target, frame->counter);
    return mapping && (strstr(mapping->path, "/libgordian-run.so") ||
                       strstr(mapping->path, "/libgordian-mpi-"));
}

static bool same_function(const char *name, const char *wanted)
{
    size_t length = strlen(wanted);
    /* Accepts variants of the name: "sem_wait_slow64", "pthread_mutex_lock_full". */
    return strncmp(name, wanted, length) == 0 && !(name[length] >= 'a' && name[length] <= 'z');
}

uint32_t stack_find(struct process_snapshot *snapshot, uint32_t thread, const char *const *names,
                    bool *raw)
{
    const struct snapshot_stack *stack = stack_of(snapshot, thread, STACK_SHORT, false);
    bool left = false; /* libc */
    *raw = false;
    for (size_t i = 0; i < stack->count; i++) {
        const char *name = stack_function(snapshot, thread, &stack->frames[i]);
        for (uint32_t k = 0; name && names[k]; k++)
            if (same_function(name, names[k]))
                return k;
        if (name && same_function(name, "syscall"))
            *raw = true;
        left = name && !is_inner(name) && !stack_is_watcher(snapshot, thread, &stack->frames[i]);
        if (left)
            break;
    }
    /* A leaf function may keep the return address in a register. */
    if (!left && !stack->whole && stack->count < STACK_SHORT)
        snapshot_want_registers(snapshot, thread);
    return SNAPSHOT_NONE;
}

const char *stack_outer(struct process_snapshot *snapshot, uint32_t thread,
                        const char *const *names)
{
    const struct snapshot_stack *stack = stack_whole(snapshot, thread);
    bool left = false; /* the library in which it sleeps */
    for (size_t i = 0; i < stack->count; i++) {
        const char *name = stack_function(snapshot, thread, &stack->frames[i]);
        bool found = false;
        for (size_t k = 0; name && names[k] && !found; k++)
            found = same_function(name, names[k]);
        if (found && left)
            return snapshot_format(snapshot, "is inside %s, further out", name);
        left = left || (name && !found && !is_inner(name) &&
                        !stack_is_watcher(snapshot, thread, &stack->frames[i]));
    }
    return NULL;
}
