/* Symbolization without elfutils: functions and variables from the symbol tables, no source lines.
 * Stacks are unwound along the frame pointers. */
#include "output/report/symbol/symbolizer.h"

#include "output/report/symbol/elf.h"
#include "output/report/symbol/regions.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A symbol with its address in the file. */
struct named {
    uint64_t value, size;
    char *name;
    bool object;
};

/* A mapped file; its regions are consecutive. */
struct module {
    const char *path;
    uint64_t low, high, shift; /* shift: address in the process minus address in the file */
    struct named *names;       /* sorted by value */
    size_t count, room;
    bool tried;
};

struct symbols {
    struct symbol_head head;
    struct memory_map map;
    struct module *modules;
    size_t module_count, module_room;
};

/* ------------------------------------------------------------------ opening and closing */

static bool add_module(struct symbols *symbols, struct region *region)
{
    struct module *last =
        symbols->module_count ? &symbols->modules[symbols->module_count - 1] : NULL;
    if (region->path[0] != '/')
        return true;
    if (last && strcmp(last->path, region->path) == 0) {
        last->high = region->high;
    } else if (!memory_grow(&symbols->map.memory, &symbols->modules, &symbols->module_room,
                            symbols->module_count + 1, sizeof *last)) {
        return false;
    } else {
        symbols->modules[symbols->module_count++] =
            (struct module){.path = region->path, .low = region->low, .high = region->high};
    }
    region->module = (uint32_t)symbols->module_count;
    return true;
}

static void close_symbols(struct symbols *symbols)
{
    gordian_allocator memory = memory_allocator(NULL);
    for (size_t i = 0; i < symbols->module_count; i++) {
        for (size_t k = 0; k < symbols->modules[i].count; k++)
            free(symbols->modules[i].names[k].name);
        memory_free(&memory, symbols->modules[i].names);
    }
    map_close(&symbols->map);
    memory_free_all(&memory, symbols->modules, symbols);
}

static struct symbols *open_symbols(const char *maps, size_t size, const struct symbol_files *files)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct symbols *symbols = memory_zeroed(&memory, sizeof *symbols);
    if (!symbols)
        return NULL;
    symbols->head.ways = &symbols_plain;
    bool done = map_open(&symbols->map, maps, size, files);
    for (size_t i = 0; i < symbols->map.count && done; i++)
        done = add_module(symbols, &symbols->map.regions[i]);
    if (done && symbols->map.count)
        return symbols;
    close_symbols(symbols);
    return NULL;
}

/* ------------------------------------------------------------------ files */

static const struct region *region_at(const struct symbols *symbols, uint64_t address)
{
    return map_region(&symbols->map, address);
}

static bool take_name(void *context, const char *name, const Elf64_Sym *symbol)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct module *module = context;
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if ((type != STT_FUNC && type != STT_OBJECT && type != STT_GNU_IFUNC) || !symbol->st_size)
        return true;
    if (!memory_grow(&memory, &module->names, &module->room, module->count + 1,
                     sizeof *module->names))
        return false;
    struct named *place = &module->names[module->count];
    *place = (struct named){symbol->st_value, symbol->st_size, strdup(name), type == STT_OBJECT};
    module->count += place->name != NULL;
    return place->name;
}

static int compare_names(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    return (left->value > right->value) - (left->value < right->value);
}

/* Reads the symbols of a module on first use. */
static struct module *load_module(struct symbols *symbols, const struct region *region)
{
    struct module *module = region->module ? &symbols->modules[region->module - 1] : NULL;
    if (!module || module->tried)
        return module;
    module->tried = true;
    const struct region *first = region_at(symbols, module->low);
    char path[PATH_MAX];
    int fd = first ? map_open_file(&symbols->map, first, first->path, path, sizeof path) : -1;
    uint64_t base = 0;
    if (fd < 0)
        return module;
    elf_symbols(fd, take_name, module, &base);
    close(fd);
    module->shift = module->low - first->offset - base;
    if (module->count)
        qsort(module->names, module->count, sizeof *module->names, compare_names);
    return module;
}

/* Returns the symbol that contains an address, or NULL. */
static const struct named *name_at(const struct module *module, uint64_t address)
{
    uint64_t value = address - module->shift;
    size_t low = 0, high = module->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (module->names[middle].value <= value)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i > 0 && low - i < 16; i--)
        if (value - module->names[i - 1].value < module->names[i - 1].size)
            return &module->names[i - 1];
    return NULL;
}

/* ------------------------------------------------------------------ answers */

static size_t frames_at(struct symbols *symbols, uint64_t address, struct frame *frames,
                        size_t room)
{
    const struct region *region = region_at(symbols, address);
    const struct module *module = region ? load_module(symbols, region) : NULL;
    const struct named *name = module ? name_at(module, address) : NULL;
    if (room == 0)
        return 0;
    frames[0] = (struct frame){.address = address};
    if (region && region->path[0]) {
        frames[0].module = region->path;
        frames[0].offset = address - region->low + region->offset;
    }
    frames[0].function = name && !name->object ? name->name : NULL;
    return 1;
}

static bool is_watcher(const struct symbols *symbols, uint64_t address)
{
    return region_is_watcher(region_at(symbols, address));
}

/* Uninitialised variables are in an anonymous region after the file. */
static const struct region *region_of_file(const struct symbols *symbols,
                                           const struct region *region)
{
    bool behind =
        !region->path[0] && region > symbols->map.regions && region[-1].high == region->low;
    return behind ? region - 1 : region;
}

static const char *module_at(struct symbols *symbols, uint64_t address)
{
    const struct region *region = region_at(symbols, address);
    const struct region *file = region ? region_of_file(symbols, region) : NULL;
    return file && file->path[0] ? file->path : NULL;
}

static enum place place_at(struct symbols *symbols, uint64_t address, uint32_t kind, char *name,
                           size_t size)
{
    (void)kind;
    const struct region *region = region_at(symbols, address);
    name[0] = '\0';
    if (!region)
        return PLACE_UNKNOWN;
    if (strcmp(region->path, "[heap]") == 0)
        return PLACE_HEAP;
    if (strcmp(region->path, "[stack]") == 0)
        return PLACE_STACK;
    const struct region *file = region_of_file(symbols, region);
    const struct module *module = load_module(symbols, file);
    const struct named *found = module ? name_at(module, address) : NULL;
    if (found && found->object) {
        uint64_t past = address - module->shift - found->value;
        if (past)
            snprintf(name, size, "%s+0x%" PRIx64, found->name, past);
        else
            snprintf(name, size, "%s", found->name);
        return PLACE_VARIABLE;
    }
    if (file != region || !module)
        return PLACE_MEMORY;
    snprintf(name, size, "%s+0x%" PRIx64, path_tail(region->path),
             address - region->low + region->offset);
    return PLACE_MODULE;
}

/* ------------------------------------------------------------------ stacks */

static bool read_word(const struct stopped *thread, uint64_t address, uint64_t *value)
{
    uint64_t at = address - thread->stack_address;
    if (address < thread->stack_address || thread->stack_size < sizeof *value ||
        at > thread->stack_size - sizeof *value)
        return false;
    memcpy(value, thread->stack + at, sizeof *value);
    return true;
}

/* Is the address in a mapped file, so that it can be a return address? */
static bool is_code(const struct symbols *symbols, uint64_t address)
{
    const struct region *region = region_at(symbols, address);
    return region && region->path[0] == '/';
}

static size_t unwind_thread(struct symbols *symbols, const struct stopped *thread,
                            struct unwound *frames, size_t room, bool *whole)
{
    bool x86 = thread->machine == EM_X86_64;
    unsigned counter = x86 ? 16 : 32, stack = x86 ? 7 : 31, frame = x86 ? 6 : 29;
    uint64_t record = thread->registers[frame], next = 0, caller = 0;
    size_t count = 0;
    *whole = false;
    if (!(thread->known >> counter & 1) || room == 0)
        return 0;
    frames[count++] = (struct unwound){thread->registers[counter], thread->registers[stack]};
    /* On aarch64, a function that calls others stores its frame record at its stack pointer. */
    if (!(thread->known >> frame & 1))
        record = x86 ? 0 : thread->registers[stack];
    else if (!x86 && (thread->known >> 30 & 1) && read_word(thread, record + 8, &caller) &&
             caller != thread->registers[30] && is_code(symbols, thread->registers[30]) &&
             count < room)
        frames[count++] = (struct unwound){thread->registers[30] - 4, thread->registers[stack]};
    while (count < room && record && read_word(thread, record, &next) &&
           read_word(thread, record + 8, &caller) && is_code(symbols, caller)) {
        frames[count++] = (struct unwound){caller - 1, record + 16};
        *whole = next == 0;
        if (next <= record)
            break;
        record = next;
    }
    return count;
}

const struct symbolizer_table symbols_plain = {
    .open = open_symbols,
    .close = close_symbols,
    .frames = frames_at,
    .is_watcher = is_watcher,
    .place = place_at,
    .module = module_at,
    .unwind = unwind_thread,
};
