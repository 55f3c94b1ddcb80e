/* Symbolization with elfutils: functions, source lines and inlined calls. */
#include "output/report/symbol/elfutils_internal.h"

#include "foundation/base/clock.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_NS 400000000u /* limit for all searches of one kind */

const char *symbols_keep(struct symbols *symbols, char *text)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (!text)
        return NULL;
    if (!memory_grow(&memory, &symbols->kept, &symbols->kept_room, symbols->kept_count + 1,
                     sizeof *symbols->kept)) {
        free(text);
        return NULL;
    }
    symbols->kept[symbols->kept_count++] = text;
    return text;
}

/* ------------------------------------------------------------------ the memory map */

static const struct region *region_at(const struct symbols *symbols, uint64_t address)
{
    return map_region(&symbols->map, address);
}

static bool is_watcher(const struct symbols *symbols, uint64_t address)
{
    return region_is_watcher(region_at(symbols, address));
}

/* Finds the file of a module, see map_open_file. */
static int find_elf(Dwfl_Module *module, void **context, const char *name, Dwarf_Addr base,
                    char **file_name, Elf **elf)
{
    (void)module;
    (void)elf;
    const struct symbols *symbols = *context;
    const struct region *region = symbols ? region_at(symbols, base) : NULL;
    char path[PATH_MAX];
    if (name[0] != '/' || !symbols)
        return -1;
    int fd = map_open_file(&symbols->map, region, name, path, sizeof path);
    if (fd >= 0)
        *file_name = strdup(path);
    return fd;
}

static int remember_owner(Dwfl_Module *module, void **context, const char *name, Dwarf_Addr start,
                          void *symbols)
{
    (void)module;
    (void)name;
    (void)start;
    *context = symbols;
    return DWARF_CB_OK;
}

static bool report_modules(struct symbols *symbols, const char *maps, size_t size)
{
    /* fmemopen does not change what it reads */
    FILE *stream = size ? fmemopen((void *)(uintptr_t)maps, size, "r") : NULL;
    if (!stream)
        return false;
    dwfl_report_begin(symbols->dwfl);
    bool done = dwfl_linux_proc_maps_report(symbols->dwfl, stream) == 0;
    dwfl_report_end(symbols->dwfl, NULL, NULL);
    fclose(stream);
    return done && dwfl_getmodules(symbols->dwfl, remember_owner, symbols, 0) == 0;
}

/* ------------------------------------------------------------------ opening */

static void close_symbols(struct symbols *symbols)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (symbols->dwfl)
        dwfl_end(symbols->dwfl);
    for (size_t i = 0; i < symbols->kept_count; i++)
        free(symbols->kept[i]);
    if (symbols->demangler_library)
        dlclose(symbols->demangler_library);
    for (size_t i = 0; i < symbols->known_room; i++)
        memory_free(&memory, symbols->known[i].frames);
    map_close(&symbols->map);
    memory_free_all(&memory, symbols->known, symbols->kept, symbols);
}

static struct symbols *open_symbols(const char *maps, size_t size, const struct symbol_files *files)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct symbols *symbols = memory_zeroed(&memory, sizeof *symbols);
    if (!symbols)
        return NULL;
    symbols->head.ways = &gordian_stacks;
    symbols->callbacks = (Dwfl_Callbacks){
        .find_elf = find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
    };
    symbols->unit_patience_ns = symbols->variable_patience_ns = PATIENCE_NS;
    bool read = map_open(&symbols->map, maps, size, files);
    symbols->dwfl = dwfl_begin(&symbols->callbacks);
    if (read && symbols->dwfl && report_modules(symbols, maps, size))
        return symbols;
    close_symbols(symbols);
    return NULL;
}

/* ------------------------------------------------------------------ functions and lines */

/* Returns the linkage name, which contains the class and the arguments, or else the plain name. */
static const char *function_name(struct symbols *symbols, Dwarf_Die *die)
{
    static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Dwarf_Attribute attribute;
        const char *name = dwarf_formstring(dwarf_attr_integrate(die, names[i], &attribute));
        if (name)
            return symbols_demangle(symbols, name);
    }
    return NULL;
}

static unsigned number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0 || value > 1u << 30)
        return 0;
    return (unsigned)value;
}

/* Sets the location of an inlined call: the line of the caller's frame. */
static void place_of_call(Dwarf_Die *unit, Dwarf_Die *inlined, struct frame *caller)
{
    Dwarf_Files *files;
    size_t count;
    caller->line = number_of(inlined, DW_AT_call_line);
    caller->column = number_of(inlined, DW_AT_call_column);
    caller->file = NULL;
    if (dwarf_getsrcfiles(unit, &files, &count) == 0)
        caller->file = dwarf_filesrc(files, number_of(inlined, DW_AT_call_file), NULL, NULL);
}

/* Lists the scopes around an address from the innermost to the outermost. */
static int scopes_at(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **scopes)
{
    Dwarf_Die *around = NULL;
    int count = dwarf_getscopes(unit, address, &around);
    if (count <= 0)
        return 0;
    Dwarf_Die innermost = around[0];
    free(around);
    count = dwarf_getscopes_die(&innermost, scopes);
    return count > 0 ? count : 0;
}

/* Finds the compilation unit of an address. Some compilers write no address index; then all units
 * of the module are searched. */
static Dwarf_Die *unit_at(struct symbols *symbols, Dwfl_Module *module, uint64_t address,
                          Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(module, address, bias);
    if (unit || !dwfl_module_getdwarf(module, bias))
        return unit;
    if (symbols->last_unit && symbols->last_module == module &&
        dwarf_haspc(symbols->last_unit, address - *bias) > 0)
        return symbols->last_unit;
    uint64_t start = clock_ns(), spent = 0;
    while ((unit = dwfl_module_nextcu(module, unit, bias))) {
        spent = clock_ns() - start;
        if (dwarf_haspc(unit, address - *bias) > 0 || spent > symbols->unit_patience_ns)
            break;
    }
    symbols->unit_patience_ns -=
        spent < symbols->unit_patience_ns ? spent : symbols->unit_patience_ns;
    if (unit && dwarf_haspc(unit, address - *bias) <= 0)
        return NULL; /* the time limit was exceeded */
    symbols->last_module = module;
    symbols->last_unit = unit;
    return unit;
}

/* Adds the frames of inlined calls and returns the number of all frames. frames[0] already has its
 * location. */
static size_t inlined_frames(struct symbols *symbols, Dwarf_Die *unit, Dwarf_Addr address,
                             struct frame *frames, size_t room)
{
    Dwarf_Die *scopes = NULL;
    int count = scopes_at(unit, address, &scopes);
    size_t used = 1;
    for (int i = 0; i < count; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine &&
            tag != DW_TAG_entry_point)
            continue;
        struct frame *frame = &frames[used - 1];
        const char *name = function_name(symbols, &scopes[i]);
        if (name)
            frame->function = name;
        if (tag != DW_TAG_inlined_subroutine || used == room)
            break;
        frame->inlined = true;
        frames[used] = frames[used - 1];
        frames[used].inlined = false;
        frames[used].function = NULL;
        place_of_call(unit, &scopes[i], &frames[used]);
        used++;
    }
    free(scopes);
    return used;
}

static void place_of_line(Dwarf_Die *unit, Dwarf_Addr address, struct frame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    Dwarf_Attribute attribute;
    int number = 0, column = 0;
    const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (!file || dwarf_lineno(line, &number) != 0)
        return;
    dwarf_linecol(line, &column);
    frame->file = file;
    frame->line = number > 0 ? (unsigned)number : 0;
    frame->column = column > 0 ? (unsigned)column : 0;
    frame->folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
}

/* Returns the file offset of the mapped address, which objdump and addr2line accept. */
static uint64_t offset_in_module(Dwfl_Module *module, uint64_t address)
{
    GElf_Addr bias = 0;
    Dwarf_Addr start = 0;
    if (dwfl_module_getelf(module, &bias))
        return address - bias;
    dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
    return address - start;
}

static size_t look_up(struct symbols *symbols, uint64_t address, struct frame *frames, size_t room)
{
    frames[0] = (struct frame){.address = address};
    Dwfl_Module *module = dwfl_addrmodule(symbols->dwfl, address);
    if (!module) {
        const struct region *region = region_at(symbols, address);
        if (region && region->path[0]) {
            frames[0].module = region->path;
            frames[0].offset = address - region->low + region->offset;
        }
        return 1;
    }
    frames[0].module = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    frames[0].offset = offset_in_module(module, address);
    GElf_Off past = 0;
    GElf_Sym symbol;
    const char *name = dwfl_module_addrinfo(module, address, &past, &symbol, NULL, NULL, NULL);
    const char *function = symbols_demangle(symbols, name);
    Dwarf_Addr bias;
    Dwarf_Die *unit = unit_at(symbols, module, address, &bias);
    size_t count = 1;
    if (unit) {
        place_of_line(unit, address - bias, &frames[0]);
        count = inlined_frames(symbols, unit, address - bias, frames, room);
    }
    if (!frames[count - 1].function || !frames[count - 1].file)
        frames[count - 1].function = function;
    return count;
}

/* ------------------------------------------------------------------ cache */

#define FRAMES_MOST 32 /* at one address */

/* Returns the entry of the address in the hash table, or the free entry for it. */
static struct known_frames *known_place(const struct symbols *symbols, uint64_t address)
{
    size_t mask = symbols->known_room - 1;
    size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;
    while (symbols->known[at].frames && symbols->known[at].address != address)
        at = (at + 1) & mask;
    return &symbols->known[at];
}

/* Makes space for another entry, at most half full. False: out of memory; the table stays as it
 * is. */
static bool known_grow(struct symbols *symbols)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (2 * (symbols->known_count + 1) <= symbols->known_room)
        return true;
    size_t room = symbols->known_room ? 2 * symbols->known_room : 256;
    struct known_frames *old = symbols->known;
    struct known_frames *known = memory_zeroed(&memory, room * sizeof *known);
    if (!known)
        return false;
    size_t old_room = symbols->known_room;
    symbols->known = known;
    symbols->known_room = room;
    for (size_t i = 0; i < old_room; i++)
        if (old[i].frames)
            *known_place(symbols, old[i].address) = old[i];
    memory_free(&memory, old);
    return true;
}

static void remember_frames(struct symbols *symbols, uint64_t address, const struct frame *frames,
                            size_t count)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (!known_grow(symbols))
        return;
    struct frame *copy = memory_alloc(&memory, count * sizeof *copy);
    if (!copy)
        return;
    memcpy(copy, frames, count * sizeof *copy);
    *known_place(symbols, address) = (struct known_frames){address, copy, count};
    symbols->known_count++;
}

static size_t frames_at(struct symbols *symbols, uint64_t address, struct frame *frames,
                        size_t room)
{
    struct frame found[FRAMES_MOST];
    const struct frame *from = found;
    const struct known_frames *known = symbols->known_room ? known_place(symbols, address) : NULL;
    size_t count;
    if (known && known->frames) {
        from = known->frames;
        count = known->count;
    } else {
        count = look_up(symbols, address, found, FRAMES_MOST);
        remember_frames(symbols, address, found, count);
    }
    count = count < room ? count : room;
    memcpy(frames, from, count * sizeof *frames);
    return count;
}

/* ------------------------------------------------------------------ variables */

static enum place place_in_module(struct symbols *symbols, Dwfl_Module *module, uint64_t address,
                                  uint32_t kind, char *name, size_t size)
{
    if (symbols_variable(symbols, module, address, kind, name, size))
        return PLACE_VARIABLE;
    GElf_Off past = 0;
    GElf_Sym symbol;
    const char *found = dwfl_module_addrinfo(module, address, &past, &symbol, NULL, NULL, NULL);
    bool inside =
        found && GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && (past < symbol.st_size || past == 0);
    if (!inside) {
        const char *path = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        snprintf(name, size, "%s+0x%" PRIx64, path ? path_tail(path) : "?",
                 offset_in_module(module, address));
        return PLACE_MODULE;
    }
    /* Compilers name a static variable of a function "lock.0". */
    char plain[256];
    snprintf(plain, sizeof plain, "%s", symbols_demangle(symbols, found));
    char *dot = strrchr(plain, '.');
    if (dot && dot > plain && dot[1] && strspn(dot + 1, "0123456789") == strlen(dot + 1))
        *dot = '\0';
    if (past)
        snprintf(name, size, "%s+0x%" PRIx64, plain, (uint64_t)past);
    else
        snprintf(name, size, "%s", plain);
    return PLACE_VARIABLE;
}

/* Uninitialised variables are in an anonymous region after the file. */
static Dwfl_Module *module_before(const struct symbols *symbols, const struct region *region)
{
    if (region->path[0] || region == symbols->map.regions)
        return NULL;
    const struct region *before = region - 1;
    bool adjacent = before->high == region->low && before->path[0] == '/';
    return adjacent ? dwfl_addrmodule(symbols->dwfl, before->low) : NULL;
}

static const char *module_at(struct symbols *symbols, uint64_t address)
{
    const struct region *region = region_at(symbols, address);
    Dwfl_Module *module = dwfl_addrmodule(symbols->dwfl, address);
    if (!module && region)
        module = module_before(symbols, region);
    return module ? dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL) : NULL;
}

static enum place place_at(struct symbols *symbols, uint64_t address, uint32_t kind, char *name,
                           size_t size)
{
    const struct region *region = region_at(symbols, address);
    name[0] = '\0';
    Dwfl_Module *module = dwfl_addrmodule(symbols->dwfl, address);
    bool guessed = !module && region;
    if (guessed)
        module = module_before(symbols, region);
    if (!region)
        return PLACE_UNKNOWN;
    if (strcmp(region->path, "[heap]") == 0)
        return PLACE_HEAP;
    if (strcmp(region->path, "[stack]") == 0)
        return PLACE_STACK;
    enum place place = PLACE_MEMORY;
    if (module && (region->path[0] == '\0' || region->path[0] == '/'))
        place = place_in_module(symbols, module, address, kind, name, size);
    if (place == PLACE_MODULE && guessed) { /* unrelated memory after the file */
        name[0] = '\0';
        place = PLACE_MEMORY;
    }
    return place;
}

__attribute__((visibility("default"))) const struct symbolizer_table gordian_stacks = {
    .head.version = MODULE_VERSION,
    .open = open_symbols,
    .close = close_symbols,
    .frames = frames_at,
    .is_watcher = is_watcher,
    .place = place_at,
    .module = module_at,
    .unwind = symbols_unwind_stack,
};
