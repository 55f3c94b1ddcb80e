/* Stack unwinding of a copied stack by the call-frame information of the files. */
#include "output/report/symbol/elfutils_internal.h"

#include <elf.h>
#include <string.h>

/* Registers by DWARF number. */
struct numbers {
    int counter, stack;
    int general; /* number of general registers, possibly with the program counter */
};

static struct numbers numbers_of(unsigned machine)
{
    if (machine == EM_X86_64)
        return (struct numbers){.counter = 16, .stack = 7, .general = 17};
    return (struct numbers){.counter = 32, .stack = 31, .general = 32};
}

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
    struct numbers numbers = numbers_of(stopped->machine);
    for (int i = 0; i < numbers.general; i++) {
        Dwarf_Word value = stopped->registers[i];
        if ((stopped->known >> i & 1) && !dwfl_thread_state_registers(thread, i, 1, &value))
            return false;
    }
    dwfl_thread_state_register_pc(thread, stopped->registers[numbers.counter]);
    return true;
}

static const Dwfl_Thread_Callbacks callbacks = {
    .next_thread = next_thread,
    .get_thread = get_thread,
    .memory_read = read_memory,
    .set_initial_registers = set_registers,
};

struct walk {
    struct unwound *frames;
    size_t count, room;
    int stack; /* register number of the stack pointer */
};

static int take_frame(Dwfl_Frame *frame, void *context)
{
    struct walk *walk = context;
    Dwarf_Addr counter;
    Dwarf_Word stack = 0;
    bool exact; /* false: a return address */
    if (walk->count == walk->room || !dwfl_frame_pc(frame, &counter, &exact) || counter == 0)
        return DWARF_CB_ABORT;
#ifdef HAVE_DWFL_FRAME_REG
    if (dwfl_frame_reg(frame, (unsigned)walk->stack, &stack) != 0)
        stack = 0;
#endif
    walk->frames[walk->count++] = (struct unwound){exact ? counter : counter - 1, stack};
    return DWARF_CB_OK;
}

size_t symbols_unwind_stack(struct symbols *symbols, const struct stopped *thread,
                            struct unwound *frames, size_t room, bool *whole)
{
    struct numbers numbers = numbers_of(thread->machine);
    *whole = false;
    if (!(thread->known >> numbers.counter & 1))
        return 0;
    symbols->stopped = thread;
    if (!symbols->attached)
        symbols->attached =
            dwfl_attach_state(symbols->dwfl, NULL, ONLY_THREAD, &callbacks, symbols);
    struct walk walk = {frames, 0, room, numbers.stack};
    if (symbols->attached)
        *whole = dwfl_getthread_frames(symbols->dwfl, ONLY_THREAD, take_frame, &walk) == 0;
    symbols->stopped = NULL;
    return walk.count;
}
