/* What the files of the symboliser share. */
#pragma once

#include "output/report/symbol/regions.h"
#include "output/report/symbol/ways.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

/* Frames that were looked up: the same addresses come again and again, and each look-up goes
 * through tables. Open addressing, a power of two of them. */
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
    char **kept; /* texts that were made here */
    size_t kept_count, kept_room;
    struct known_frames *known;
    size_t known_count, known_room;
    /* Searches through everything a large program has take long: this much time is left. */
    uint64_t unit_patience_ns, variable_patience_ns;
    Dwfl_Module *last_module; /* found by a search: likely the next one too */
    Dwarf_Die *last_unit;
    const struct stopped *stopped; /* being unwound */
    bool attached;
    bool demangler_tried;
    void *demangler_library;
    char *(*demangle)(const char *name, char *buffer, size_t *length, int *status);
};

/* Keeps a text that malloc made; NULL if it cannot, and the text is freed. */
const char *symbols_keep(struct symbols *symbols, char *text);

/* symbol/demangle.c: the name as it is written in the source; the same one if it is not C++'s, or
 * no demangler is here. */
const char *symbols_demangle(struct symbols *symbols, const char *name);

/* symbol/data.c: "accounts[3].lock" for an address inside a variable: true if found. */
bool symbols_variable(struct symbols *symbols, Dwfl_Module *module, uint64_t address, uint32_t kind,
                      char *name, size_t size);

/* symbol/unwind.c: see symbols_unwind. */
size_t symbols_unwind_stack(struct symbols *symbols, const struct stopped *thread,
                            struct unwound *frames, size_t room, bool *whole);

/* symbol/elfutils.c: the way with elfutils; the one symbol of its module, STACKS_TABLE. */
extern const struct symbol_ways gordian_stacks;
