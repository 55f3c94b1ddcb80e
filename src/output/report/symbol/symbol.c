/* Symbolization: forwards calls to the symbolizer that opened the process. */
#include "output/report/symbol/symbolizer.h"

static const struct symbolizer_table *symbolizer_of(const struct symbols *symbols)
{
    return ((const struct symbol_head *)symbols)->ways;
}

bool symbols_have_lines(char *why, size_t size)
{
    return symbols_best(why, size);
}

struct symbols *symbols_open(const char *maps, size_t size, const struct symbol_files *files)
{
    char why[300];
    const struct symbolizer_table *best = symbols_best(why, sizeof why);
    return (best ? best : &symbols_plain)->open(maps, size, files);
}

void symbols_close(struct symbols *symbols)
{
    if (symbols)
        symbolizer_of(symbols)->close(symbols);
}

size_t symbols_frames(struct symbols *symbols, uint64_t address, struct frame *frames, size_t room)
{
    return symbolizer_of(symbols)->frames(symbols, address, frames, room);
}

bool symbols_is_watcher(const struct symbols *symbols, uint64_t address)
{
    return symbolizer_of(symbols)->is_watcher(symbols, address);
}

enum place symbols_place(struct symbols *symbols, uint64_t address, uint32_t kind, char *name,
                         size_t size)
{
    return symbolizer_of(symbols)->place(symbols, address, kind, name, size);
}

const char *symbols_module(struct symbols *symbols, uint64_t address)
{
    return symbolizer_of(symbols)->module(symbols, address);
}

size_t symbols_unwind(struct symbols *symbols, const struct stopped *thread, struct unwound *frames,
                      size_t room, bool *whole)
{
    return symbolizer_of(symbols)->unwind(symbols, thread, frames, room, whole);
}
