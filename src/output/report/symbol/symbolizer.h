/* The two symbolizers behind symbol.h, as tables of functions: one with elfutils and one without.
 * Only the first supports source lines and any stack.
 *
 *     elfutils.c  with elfutils: linked in, or in a module that is loaded at runtime if elfutils
 *                 is installed
 *     plain.c     without elfutils
 *     symbol.c    the functions of symbol.h: call the best symbolizer
 *     linked.c, loaded.c, none.c
 *                 select the elfutils symbolizer; a program contains one of these files */
#pragma once

#include "foundation/base/modules.h"
#include "output/report/symbol/symbol.h"

#define STACKS_MODULE "libgordian-stacks.so"
#define STACKS_TABLE  "gordian_stacks"

struct symbolizer_table {
    struct module_head head;
    struct symbols *(*open)(const char *maps, size_t size, const struct symbol_files *files);
    void (*close)(struct symbols *symbols);
    size_t (*frames)(struct symbols *symbols, uint64_t address, struct frame *frames, size_t room);
    bool (*is_watcher)(const struct symbols *symbols, uint64_t address);
    enum place (*place)(struct symbols *symbols, uint64_t address, uint32_t kind, char *name,
                        size_t size);
    const char *(*module)(struct symbols *symbols, uint64_t address);
    size_t (*unwind)(struct symbols *symbols, const struct stopped *thread, struct unwound *frames,
                     size_t room, bool *whole);
};

/* First member of the data of each symbolizer. */
struct symbol_head {
    const struct symbolizer_table *ways;
};

extern const struct symbolizer_table symbols_plain;

/* Returns the symbolizer with elfutils. NULL: not available; `why` has the reason. */
const struct symbolizer_table *symbols_best(char *why, size_t size);
