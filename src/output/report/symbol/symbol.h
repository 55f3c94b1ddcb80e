/* Addresses of a process made readable, from a copy of its memory map: which function, file and
 * line, through inlining; which variable; who called whom, from a copy of a stack.
 *
 * It works on the files the process had mapped, never on the process itself, so it can take its
 * time and cannot hurt. A file that has been replaced since is left out: no name is better than
 * a wrong one. Everything handed out lives until symbols_close.
 */
#pragma once

#include "output/finding/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct symbols;

/* Where the files of a process are, if not where it says. */
struct symbol_files {
    const char *root;   /* below this folder; NULL or "": nowhere else */
    const char *mapped; /* a folder as /proc/PID/map_files, for files that are gone; NULL or "" */
    const char *program, *program_file; /* a file that is to be read elsewhere, and where; NULL */
};

/* Whether files and lines, and stacks of any code, can be told here: elfutils is needed. False:
 * why. */
bool symbols_see_lines(char *why, size_t size);

/* `maps`: the text of /proc/PID/maps. A file whose inode is not the one given there is left out,
 * unless it is on device 0:0: then the inode is not known, a number of its own for every file.
 * NULL: out of memory, or no process map at all. */
struct symbols *symbols_open(const char *maps, size_t size, const struct symbol_files *files);
void symbols_close(struct symbols *symbols);

/* The frames at an address, innermost inlined first: at least one, at most `room`. For a return
 * address look up the byte before it. */
size_t symbols_frames(struct symbols *symbols, uint64_t address, struct frame *frames, size_t room);

/* Is the address inside the watcher's own library? */
bool symbols_is_watcher(const struct symbols *symbols, uint64_t address);

enum place {
    PLACE_UNKNOWN,
    PLACE_VARIABLE, /* a variable of a module: the name is its, "accounts[3].lock" */
    PLACE_MODULE,   /* in a module, without a name: "libfoo.so+0x4010" */
    PLACE_HEAP,     /* the heap that grows with brk */
    PLACE_STACK,    /* the first thread's stack; those of others are for the caller to know */
    PLACE_MEMORY,   /* some other memory: the heap's too, mostly */
};

/* What lives at an address, and its name if it has one ("" otherwise). `kind`: of the lock that is
 * there (enum incident_lock_kind), for where several could be; 0: not known. */
enum place symbols_place(struct symbols *symbols, uint64_t address, uint32_t kind, char *name,
                         size_t size);

/* The file of the module whose data lives at an address, or NULL. */
const char *symbols_module(struct symbols *symbols, uint64_t address);

/* A thread that was stopped: registers by DWARF number, and a copy of its stack. */
struct stopped {
    uint64_t known; /* bit r: registers[r] */
    const uint64_t *registers;
    uint64_t stack_address;
    const char *stack;
    size_t stack_size;
    unsigned machine; /* EM_X86_64 or EM_AARCH64: what the registers mean */
};

/* A frame while its thread is unwound. */
struct unwound {
    uint64_t counter; /* return addresses are moved back by one */
    uint64_t stack;   /* the stack pointer in this frame; 0: unknown */
};

/* The frames from where it stopped outwards: how many were found, at most `room`; 0 if nothing can
 * be told. `whole`: they reach the thread's beginning, not only as far as the registers or the
 * copy of the stack go. */
size_t symbols_unwind(struct symbols *symbols, const struct stopped *thread, struct unwound *frames,
                      size_t room, bool *whole);
