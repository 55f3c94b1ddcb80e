/* Shared declarations of the symbolizer with elfutils. */
#pragma once

#include "output/report/symbol/regions.h"
#include "output/report/symbol/symbolizer.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

/* A cache of symbolized addresses, because the same addresses recur. Open addressing; the size is a
 * power of two. */
struct known_frames {
    uint64_t address;
    struct frame *frames; /* NULL: free */
    size_t count;
};

struct symbols {
    struct symbol_head head;
    Dwfl *dwfl;
    struct memory_map map;
    Dwfl_Callbacks callbacks;
    char **kept; /* demangled names */
    size_t kept_count, kept_room;
    struct known_frames *known;
    size_t known_count, known_room;
    /* Searches in a large program take long; this time is left for them. */
    uint64_t unit_patience_ns, variable_patience_ns;
    Dwfl_Module *last_module; /* result of the last search, likely the next one as well */
    Dwarf_Die *last_unit;
    const struct stopped *stopped; /* thread being unwound */
    bool attached;
    bool demangler_tried;
    void *demangler_library;
    char *(*demangle)(const char *name, char *buffer, size_t *length, int *status);
};

/* Keeps a text from malloc until the symbols are closed. Out of memory: frees it and returns
 * NULL. */
const char *symbols_keep(struct symbols *symbols, char *text);

/* demangle.c: returns the name as written in the source; the same name if it is not mangled, or if
 * there is no demangler. */
const char *symbols_demangle(struct symbols *symbols, const char *name);

/* data.c: names the variable at an address, "accounts[3].lock". False: none was found. */
bool symbols_variable(struct symbols *symbols, Dwfl_Module *module, uint64_t address, uint32_t kind,
                      char *name, size_t size);

/* unwind.c: see symbols_unwind. */
size_t symbols_unwind_stack(struct symbols *symbols, const struct stopped *thread,
                            struct unwound *frames, size_t room, bool *whole);

/* elfutils.c: the symbolizer with elfutils; the only symbol of its module, STACKS_TABLE. */
extern const struct symbolizer_table gordian_stacks;
