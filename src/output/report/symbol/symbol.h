/* Symbolization: functions, source lines, inlined calls and variables at addresses of a process,
 * and stack unwinding of copied stacks. The input is a copy of the memory map.
 *
 * It reads the mapped files and never the process, so it may take its time. It ignores files that
 * were replaced since: no name is better than a wrong one. Results live until symbols_close. */
#pragma once

#include "output/finding/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct symbols;

/* Where the files of a process are, if not at their paths. */
struct symbol_files {
    const char *root;   /* below this directory; NULL or "": none */
    const char *mapped; /* a directory like /proc/PID/map_files, for deleted files; NULL or "" */
    const char *program,
        *program_file; /* path of the program, and the file to read instead; NULL */
};

/* Are source lines and unwinding of any code available? They need elfutils. False: `why` has the
 * reason. */
bool symbols_have_lines(char *why, size_t size);

/* `maps`: the text of /proc/PID/maps. A file is ignored if its inode is not the one in the map,
 * unless the device is 0:0: then the inode is unknown. NULL: out of memory, or not a memory map. */
struct symbols *symbols_open(const char *maps, size_t size, const struct symbol_files *files);
void symbols_close(struct symbols *symbols);

/* Returns the number of frames at an address, at least 1 and at most `room`, innermost inlined call
 * first. For a return address, pass the address before it. */
size_t symbols_frames(struct symbols *symbols, uint64_t address, struct frame *frames, size_t room);

/* Is the address in the preloaded library? */
bool symbols_is_watcher(const struct symbols *symbols, uint64_t address);

enum place {
    PLACE_UNKNOWN,
    PLACE_VARIABLE, /* a variable of a module, with its name: "accounts[3].lock" */
    PLACE_MODULE,   /* in a module, without a symbol: "libfoo.so+0x4010" */
    PLACE_HEAP,     /* the heap that grows with brk */
    PLACE_STACK,    /* the stack of the first thread; the caller knows the others */
    PLACE_MEMORY,   /* other memory, mostly heap */
};

/* Returns the kind of memory at an address, and its name or "". `kind`: the kind of the lock there
 * (enum incident_lock_kind), which selects among the members of a union; 0: unknown. */
enum place symbols_place(struct symbols *symbols, uint64_t address, uint32_t kind, char *name,
                         size_t size);

/* Returns the file of the module whose data contains an address, or NULL. */
const char *symbols_module(struct symbols *symbols, uint64_t address);

/* A stopped thread: registers by DWARF number, and a copy of its stack. */
struct stopped {
    uint64_t known; /* bit r: registers[r] */
    const uint64_t *registers;
    uint64_t stack_address;
    const char *stack;
    size_t stack_size;
    unsigned machine; /* EM_X86_64 or EM_AARCH64: defines the register numbers */
};

/* A frame during unwinding. */
struct unwound {
    uint64_t counter; /* program counter; return addresses minus one */
    uint64_t stack;   /* stack pointer in this frame; 0: unknown */
};

/* Stack unwinding from the point where the thread stopped. Returns the number of frames, at most
 * `room`; 0: not possible. `whole`: the frames reach the start of the thread. */
size_t symbols_unwind(struct symbols *symbols, const struct stopped *thread, struct unwound *frames,
                      size_t room, bool *whole);
