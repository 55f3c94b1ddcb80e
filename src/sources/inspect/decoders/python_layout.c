#include "sources/inspect/decoders/python.h"

#include "foundation/base/memory.h"
#include "sources/inspect/decoders/glibc.h"
#include "sources/inspect/target/mapped_file.h"

#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define INTERPRETERS_MOST 256
#define THREADS_MOST      100000

/* As the public headers of each version have it. */
static const struct python_layout layouts[] = {
    {
        .minor = 9,
        .interpreters = 32,
        .runtime_gil = 352,
        .interpreter_threads = 8,
        .thread_next = 8,
        .thread_ident = 176,
        .thread_deletion = 208,
        .thread_frame = 24,
        .frame_previous = 24,
        .frame_code = 32,
        .frame_instruction = 104,
        .frame_slots = 64,
        .frame_blocks = 120,
        .frame_block_count = 112,
        .code_first_line = 40,
        .code_stack = 32,
        .code_file = 104,
        .code_name = 112,
        .code_lines = 120,
        .text_ascii = 48,
        .text_wide = 72,
        .gil_holder = 8,
        .gil_locked = 16,
    },
    {
        .minor = 10,
        .interpreters = 32,
        .runtime_gil = 352,
        .interpreter_threads = 8,
        .thread_next = 8,
        .thread_ident = 176,
        .thread_deletion = 208,
        .thread_frame = 24,
        .frame_previous = 24,
        .frame_code = 32,
        .frame_instruction = 96,
        .frame_slots = 64,
        .frame_blocks = 112,
        .frame_block_count = 104,
        .code_first_line = 40,
        .code_stack = 32,
        .code_file = 104,
        .code_name = 112,
        .code_lines = 120,
        .text_ascii = 48,
        .text_wide = 72,
        .gil_holder = 8,
        .gil_locked = 16,
    },
    {
        .minor = 11,
        .interpreters = 40,
        .runtime_gil = 360,
        .interpreter_threads = 16,
        .thread_next = 8,
        .thread_ident = 152,
        .thread_native = 160,
        .thread_deletion = 192,
        .thread_frame = 56,
        .holder_frame = 8,
        .frame_previous = 48,
        .frame_code = 32,
        .frame_instruction = 56,
        .frame_owner = 68,
        .frame_slots = 72,
        .code_locals = 76,
        .code_first_line = 72,
        .code_stack = 68,
        .code_file = 112,
        .code_name = 128,
        .code_lines = 136,
        .code_handlers = 40,
        .code_bytes = 184,
        .text_ascii = 48,
        .text_wide = 72,
        .gil_holder = 8,
        .gil_locked = 16,
    },
    {
        .minor = 12,
        .interpreters = 40,
        .interpreter_threads = 72,
        .interpreter_gil = 384,
        .thread_next = 8,
        .thread_ident = 136,
        .thread_native = 144,
        .thread_deletion = 176,
        .thread_frame = 56,
        .frame_previous = 8,
        .frame_instruction = 56,
        .frame_owner = 70,
        .frame_slots = 72,
        .code_locals = 72,
        .code_first_line = 68,
        .code_stack = 64,
        .code_file = 112,
        .code_name = 128,
        .code_lines = 136,
        .code_handlers = 40,
        .code_bytes = 192,
        .text_ascii = 40,
        .text_wide = 56,
        .gil_holder = 8,
        .gil_locked = 16,
    },
    {
        /* Most of it is overwritten by what the interpreter says itself. */
        .minor = 13,
        .frame_slots = 72,
        .code_locals = 72,
        .code_stack = 64,
        .code_handlers = 40,
        .text_wide = 56,
    },
};

/* ------------------------------------------------------------------ _Py_DebugOffsets */

/* Of 3.13: where in the table, and where that goes. */
struct said {
    uint16_t at, to;
};

#define SAID(at, field)                                                                            \
    {                                                                                              \
        at, offsetof(struct python_layout, field)                                                  \
    }

static const struct said said_by_itself[] = {
    SAID(40, interpreters),     SAID(64, interpreter_next),   SAID(72, interpreter_threads),
    SAID(112, interpreter_gil), SAID(168, thread_next),       SAID(184, thread_frame),
    SAID(192, thread_ident),    SAID(200, thread_native),     SAID(232, frame_previous),
    SAID(240, frame_code),      SAID(248, frame_instruction), SAID(256, frame_slots),
    SAID(264, frame_owner),     SAID(280, code_file),         SAID(296, code_name),
    SAID(304, code_lines),      SAID(312, code_first_line),   SAID(344, code_bytes),
    SAID(560, text_ascii),
};

enum {
    SAID_SIZE = 584,
    SAID_VERSION = 8,
    SAID_FREE_THREADED = 16,
    SAID_GIL = 120,
    SAID_GIL_LOCKED = 136,
    SAID_GIL_HOLDER = 144,
};

static uint64_t said_at(const unsigned char *table, size_t at)
{
    uint64_t value;
    memcpy(&value, table + at, sizeof value);
    return value;
}

/* A build without a GIL keeps everything elsewhere, and is not read. */
static bool take_said(struct python *python, const unsigned char *table)
{
    struct python_layout *layout = &python->layout;
    *layout = layouts[4];
    if (said_at(table, SAID_VERSION) >> 16 != 0x030d || said_at(table, SAID_FREE_THREADED))
        return false;
    for (size_t i = 0; i < sizeof said_by_itself / sizeof *said_by_itself; i++) {
        uint64_t value = said_at(table, said_by_itself[i].at);
        uint16_t offset = (uint16_t)value;
        if (value > UINT16_MAX)
            return false;
        memcpy((char *)layout + said_by_itself[i].to, &offset, sizeof offset);
    }
    uint64_t gil = said_at(table, SAID_GIL);
    layout->gil_holder = (uint16_t)(said_at(table, SAID_GIL_HOLDER) - gil);
    layout->gil_locked = (uint16_t)(said_at(table, SAID_GIL_LOCKED) - gil);
    return layout->gil_holder < 64 && layout->gil_locked < 64;
}

/* ------------------------------------------------------------------ versions */

/* "python3.9", "libpython3.9.so.1.0", ".../python3.9/lib-dynload/...": 9; 0: says nothing. */
static unsigned minor_in_path(const char *path)
{
    unsigned minor = 0;
    for (const char *at = path; (at = strstr(at, "python3.")); at += 8)
        if (at[8] >= '0' && at[8] <= '9')
            minor = (unsigned)strtoul(at + 8, NULL, 10);
    return minor;
}

static unsigned find_minor(struct target *target, const char *module)
{
    uint64_t address, size, version = 0;
    if (image_symbol(target, module, "Py_Version", &address, &size) &&
        target_read_u64(target, address, &version) && version >> 24 == 3)
        return (unsigned)(version >> 16) & 0xff;
    unsigned minor = minor_in_path(module);
    for (size_t i = 0; i < target->mapping_count && !minor; i++)
        minor = minor_in_path(target->mappings[i].path);
    return minor;
}

static bool find_layout(struct python *python, const char *module)
{
    unsigned char table[SAID_SIZE];
    if (!target_read_all(python->target, python->runtime, table, sizeof table))
        return false;
    if (memcmp(table, "xdebugpy", 8) == 0)
        return take_said(python, table);
    unsigned minor = find_minor(python->target, module);
    for (size_t i = 0; i < 4; i++)
        if (layouts[i].minor == minor) {
            python->layout = layouts[i];
            return true;
        }
    return false;
}

/* Could the interpreter be in this file? */
static bool is_candidate(const struct target *target, const struct target_mapping *mapping)
{
    const char *name = strrchr(mapping->path, '/');
    if (!name || mapping->path[0] != '/' || mapping->offset != 0)
        return false;
    return strncmp(name, "/python", 7) == 0 || strncmp(name, "/libpython", 10) == 0 ||
           strcmp(mapping->path, target->program) == 0;
}

static void close_python(struct target *target)
{
    struct python *python = target->interpreter;
    memory_free(&target->memory, python->threads);
    memory_free(&target->memory, python);
    target->interpreter = NULL;
}

struct python *python_of(struct target *target)
{
    struct python *python = target->interpreter;
    if (python)
        return python->runtime ? python : NULL;
    python = memory_zeroed(&target->memory, sizeof *python);
    if (!python)
        return NULL;
    python->target = target;
    target->interpreter = python;
    target->close_interpreter = close_python;
    for (size_t i = 0; i < target->mapping_count && !python->runtime; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        uint64_t size;
        if (is_candidate(target, mapping) &&
            image_symbol(target, mapping->path, "_PyRuntime", &python->runtime, &size) &&
            !find_layout(python, mapping->path))
            python->runtime = 0;
    }
    target->interprets = python->runtime;
    return python->runtime ? python : NULL;
}

/* ------------------------------------------------------------------ threads and GILs */

bool python_read_gil(struct python *python, struct python_gil *gil)
{
    const struct python_layout *layout = &python->layout;
    return target_read_u64(python->target, gil->address + layout->gil_holder, &gil->holder) &&
           target_read_u32(python->target, gil->address + layout->gil_locked, &gil->locked) &&
           target_read_u64(python->target, gil->address + layout->gil_locked + 8, &gil->switches) &&
           (gil->locked <= 1 || gil->locked == UINT32_MAX);
}

/* The index of the GIL at an address. */
static bool add_gil(struct python *python, uint64_t address, uint32_t *index)
{
    for (uint32_t i = 0; i < python->gil_count; i++)
        if (python->gils[i].address == address) {
            *index = i;
            return true;
        }
    struct python_gil gil = {.address = address};
    if (python->gil_count == PYTHON_GILS || !python_read_gil(python, &gil))
        return false;
    *index = (uint32_t)python->gil_count;
    python->gils[python->gil_count++] = gil;
    return true;
}

/* Before 3.11 it is not written next to the thread: glibc's descriptor has it. */
static uint32_t read_tid(struct python *python, const struct python_thread *thread)
{
    bool x86 = python->target->machine == EM_X86_64;
    uint64_t tid = 0;
    struct glibc_thread descriptor;
    if (python->layout.thread_native)
        target_read_u64(python->target, thread->state + python->layout.thread_native, &tid);
    else if (target_read_all(python->target, thread->ident + (x86 ? 0x2c0 : 0xc0), &descriptor,
                             sizeof descriptor))
        tid = descriptor.tid;
    return tid <= INT32_MAX && target_thread(python->target, (uint32_t)tid) ? (uint32_t)tid : 0;
}

static bool add_thread(struct python *python, uint64_t state, uint32_t gil)
{
    const struct python_layout *layout = &python->layout;
    struct python_thread thread = {.state = state, .gil = gil};
    if (!target_read_u64(python->target, state + layout->thread_ident, &thread.ident) ||
        (layout->thread_deletion &&
         !target_read_u64(python->target, state + layout->thread_deletion, &thread.deletion)))
        return false;
    thread.tid = read_tid(python, &thread);
    if (!memory_grow(&python->target->memory, &python->threads, &python->thread_room,
                     python->thread_count + 1, sizeof thread))
        return false;
    python->threads[python->thread_count++] = thread;
    return true;
}

static bool add_threads(struct python *python, uint64_t interpreter)
{
    const struct python_layout *layout = &python->layout;
    uint64_t state = 0, address = python->runtime + layout->runtime_gil;
    uint32_t gil;
    if (!layout->runtime_gil &&
        !target_read_u64(python->target, interpreter + layout->interpreter_gil, &address))
        return false;
    if (!add_gil(python, address, &gil) ||
        !target_read_u64(python->target, interpreter + layout->interpreter_threads, &state))
        return false;
    while (state && python->thread_count < THREADS_MOST)
        if (!add_thread(python, state, gil) ||
            !target_read_u64(python->target, state + layout->thread_next, &state))
            return false;
    return true;
}

static int compare_threads(const void *a, const void *b)
{
    uint32_t left = ((const struct python_thread *)a)->tid;
    uint32_t right = ((const struct python_thread *)b)->tid;
    return (left > right) - (left < right);
}

bool python_refresh(struct python *python)
{
    uint64_t interpreter = 0;
    python->thread_count = python->gil_count = python->glances = 0;
    bool done = target_read_u64(python->target, python->runtime + python->layout.interpreters,
                                &interpreter);
    for (unsigned i = 0; done && interpreter && i < INTERPRETERS_MOST; i++)
        done = add_threads(python, interpreter) &&
               target_read_u64(python->target, interpreter + python->layout.interpreter_next,
                               &interpreter);
    if (python->thread_count)
        qsort(python->threads, python->thread_count, sizeof *python->threads, compare_threads);
    return done && python->thread_count;
}

const struct python_thread *python_thread(const struct python *python, uint32_t tid)
{
    const struct python_thread key = {.tid = tid};
    return tid && python->thread_count
               ? bsearch(&key, python->threads, python->thread_count, sizeof key, compare_threads)
               : NULL;
}
