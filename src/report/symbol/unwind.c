/* Who called whom: unwinds a copy of a stack by the call-frame information of the files. */
#include "report/symbol/inside.h"

#include <string.h>

#if defined(__x86_64__)
#define COUNTER 16
#define GENERAL 17 /* the program counter is among the registers */
#else              /* aarch64 */
#define COUNTER 32
#define GENERAL 32 /* it is not */
#endif

#define ONLY_THREAD 1

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread_context)
{
    (void)dwfl;
    if (*thread_context)
        return 0;
    *thread_context = context;
    return ONLY_THREAD;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *context, void **thread_context)
{
    (void)dwfl;
    *thread_context = context;
    return tid == ONLY_THREAD;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *context)
{
    (void)dwfl;
    const struct symbols *symbols = context;
    const struct stopped *thread = symbols->stopped;
    if (!thread || address < thread->stack_address || thread->stack_size < sizeof *result ||
        address - thread->stack_address > thread->stack_size - sizeof *result)
        return false;
    memcpy(result, thread->stack + (address - thread->stack_address), sizeof *result);
    return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
    const struct symbols *symbols = context;
    const struct stopped *stopped = symbols->stopped;
    for (int i = 0; i < GENERAL; i++) {
        Dwarf_Word value = stopped->registers[i];
        if ((stopped->known >> i & 1) && !dwfl_thread_state_registers(thread, i, 1, &value))
            return false;
    }
    dwfl_thread_state_register_pc(thread, stopped->registers[COUNTER]);
    return true;
}

static const Dwfl_Thread_Callbacks callbacks = {
    .next_thread = next_thread,
    .get_thread = get_thread,
    .memory_read = read_memory,
    .set_initial_registers = set_registers,
};

struct walk {
    uint64_t *counters;
    size_t count, room;
};

static int take_frame(Dwfl_Frame *frame, void *context)
{
    struct walk *walk = context;
    Dwarf_Addr counter;
    bool exact; /* not a return address: stopped right there */
    if (walk->count == walk->room || !dwfl_frame_pc(frame, &counter, &exact) || counter == 0)
        return DWARF_CB_ABORT;
    walk->counters[walk->count++] = exact ? counter : counter - 1;
    return DWARF_CB_OK;
}

size_t symbols_unwind(struct symbols *symbols, const struct stopped *thread, uint64_t *counters,
                      size_t room)
{
    if (!(thread->known >> COUNTER & 1))
        return 0;
    symbols->stopped = thread;
    if (!symbols->attached)
        symbols->attached =
            dwfl_attach_state(symbols->dwfl, NULL, ONLY_THREAD, &callbacks, symbols);
    struct walk walk = {counters, 0, room};
    if (symbols->attached)
        dwfl_getthread_frames(symbols->dwfl, ONLY_THREAD, take_frame, &walk);
    symbols->stopped = NULL;
    return walk.count;
}
