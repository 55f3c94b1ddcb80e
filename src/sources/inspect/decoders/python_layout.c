#include "sources/inspect/decoders/python.h"

#include "foundation/base/memory.h"
#include "output/report/symbol/symbol.h"
#include "sources/inspect/decoders/glibc.h"
#include "sources/inspect/target/mapped_file.h"

#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define INTERPRETERS_MOST 256
#define THREADS_MOST      100000

/* Offsets from the public headers of 3.9, 3.10, 3.11, 3.12 and 3.13, and the position in the table
 * of 3.13 (_Py_DebugOffsets), 0: not in the table. */
#define FIELD(field) offsetof(struct python_layout, field)
enum { FIRST_MINOR = 9, LAST_MINOR = 13 };
static const struct {
    size_t field;
    uint16_t offsets[LAST_MINOR - FIRST_MINOR + 1], in_table;
} fields[] = {
    {FIELD(interpreters), {32, 32, 40, 40, 0}, 40},
    {FIELD(runtime_gil), {352, 352, 360, 0, 0}, 0},
    {FIELD(interpreter_next), {0, 0, 0, 0, 0}, 64},
    {FIELD(interpreter_threads), {8, 8, 16, 72, 0}, 72},
    {FIELD(interpreter_gil), {0, 0, 0, 384, 0}, 112},
    {FIELD(thread_next), {8, 8, 8, 8, 0}, 168},
    {FIELD(thread_ident), {176, 176, 152, 136, 0}, 192},
    {FIELD(thread_native), {0, 0, 160, 144, 0}, 200},
    {FIELD(thread_deletion), {208, 208, 192, 176, 0}, 0},
    {FIELD(thread_frame), {24, 24, 56, 56, 0}, 184},
    {FIELD(holder_frame), {0, 0, 8, 0, 0}, 0},
    {FIELD(frame_previous), {24, 24, 48, 8, 0}, 232},
    {FIELD(frame_code), {32, 32, 32, 0, 0}, 240},
    {FIELD(frame_instruction), {104, 96, 56, 56, 0}, 248},
    {FIELD(frame_owner), {0, 0, 68, 70, 0}, 264},
    {FIELD(frame_slots), {64, 64, 72, 72, 72}, 256},
    {FIELD(frame_blocks), {120, 112, 0, 0, 0}, 0},
    {FIELD(frame_block_count), {112, 104, 0, 0, 0}, 0},
    {FIELD(code_locals), {0, 0, 76, 72, 72}, 0},
    {FIELD(code_first_line), {40, 40, 72, 68, 0}, 312},
    {FIELD(code_stack), {32, 32, 68, 64, 64}, 0},
    {FIELD(code_file), {104, 104, 112, 112, 0}, 280},
    {FIELD(code_name), {112, 112, 128, 128, 0}, 296},
    {FIELD(code_lines), {120, 120, 136, 136, 0}, 304},
    {FIELD(code_handlers), {0, 0, 40, 40, 40}, 0},
    {FIELD(code_bytes), {0, 0, 184, 192, 0}, 344},
    {FIELD(text_ascii), {48, 48, 48, 40, 0}, 560},
    {FIELD(text_wide), {72, 72, 72, 56, 56}, 0},
    {FIELD(gil_holder), {8, 8, 8, 8, 0}, 0},
    {FIELD(gil_locked), {16, 16, 16, 16, 0}, 0},
};

static void set_field(struct python_layout *layout, size_t index, uint64_t value)
{
    uint16_t offset = (uint16_t)value;
    memcpy((char *)layout + fields[index].field, &offset, sizeof offset);
}

static void set_layout(struct python_layout *layout, unsigned minor)
{
    *layout = (struct python_layout){.minor = (uint16_t)minor};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        set_field(layout, i, fields[i].offsets[minor - FIRST_MINOR]);
}

/* ------------------------------------------------------------------ _Py_DebugOffsets */

enum {
    DEBUG_OFFSETS_SIZE = 584,
    DEBUG_OFFSETS_VERSION = 8,
    DEBUG_OFFSETS_FREE_THREADED = 16,
    DEBUG_OFFSETS_GIL = 120,
    DEBUG_OFFSETS_GIL_LOCKED = 136,
    DEBUG_OFFSETS_GIL_HOLDER = 144,
};

static uint64_t offset_at(const unsigned char *table, size_t at)
{
    uint64_t value;
    memcpy(&value, table + at, sizeof value);
    return value;
}

/* A build without a GIL has other layouts, and is not supported. */
static bool read_debug_offsets(struct python *python, const unsigned char *table)
{
    struct python_layout *layout = &python->layout;
    set_layout(layout, LAST_MINOR);
    if (offset_at(table, DEBUG_OFFSETS_VERSION) >> 16 != 0x030d ||
        offset_at(table, DEBUG_OFFSETS_FREE_THREADED))
        return false;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        uint64_t value = fields[i].in_table ? offset_at(table, fields[i].in_table) : 0;
        if (value > UINT16_MAX)
            return false;
        if (fields[i].in_table)
            set_field(layout, i, value);
    }
    uint64_t gil = offset_at(table, DEBUG_OFFSETS_GIL);
    layout->gil_holder = (uint16_t)(offset_at(table, DEBUG_OFFSETS_GIL_HOLDER) - gil);
    layout->gil_locked = (uint16_t)(offset_at(table, DEBUG_OFFSETS_GIL_LOCKED) - gil);
    return layout->gil_holder < 64 && layout->gil_locked < 64;
}

/* ------------------------------------------------------------------ versions */

/* Returns the minor version in a path: 9 for "python3.9", "libpython3.9.so.1.0" and
 * ".../python3.9/lib-dynload/..."; 0: none. */
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
    unsigned char table[DEBUG_OFFSETS_SIZE];
    if (!target_read_all(python->target, python->runtime, table, sizeof table))
        return false;
    if (memcmp(table, "xdebugpy", 8) == 0)
        return read_debug_offsets(python, table);
    unsigned minor = find_minor(python->target, module);
    if (minor < FIRST_MINOR || minor >= LAST_MINOR)
        return false;
    set_layout(&python->layout, minor);
    return true;
}

/* Returns whether this file may contain the interpreter. */
static bool is_candidate(const struct target *target, const struct target_mapping *mapping)
{
    const char *name = path_tail(mapping->path);
    return mapping->path[0] == '/' && mapping->offset == 0 &&
           (strncmp(name, "python", 6) == 0 || strncmp(name, "libpython", 9) == 0 ||
            strcmp(mapping->path, target->program) == 0);
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

/* Finds or adds the GIL at an address. */
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

/* Before 3.11 the thread state has no tid: glibc's thread descriptor contains it. */
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
    if (!memory_extend(&python->target->memory, python->threads, python->thread_room,
                       python->thread_count))
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
    python->thread_count = python->gil_count = python->polls = 0;
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
