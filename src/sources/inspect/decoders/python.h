/* CPython from outside: where an interpreter keeps its threads, frames and locks, 3.9 to 3.13.
 *
 *     python_layout.c   which version it is, and where everything lies in it
 *     python_read.c     texts, code, line numbers, frames, types
 *     python.c          the decoder: the GIL, threading's locks, joins, and lines between C frames
 *
 * From 3.13 on the interpreter says itself where things are (_Py_DebugOffsets); of the versions
 * before, the layout is fixed from the first release of each on, and is the same on x86-64 and
 * aarch64. Everything is read with target_read, nothing is believed that does not fit.
 */
#pragma once

#include "sources/inspect/target/target.h"

#define PYTHON_GILS   16  /* interpreters with one of their own: more are not looked at */
#define PYTHON_FRAMES 256 /* of a thread: more are not looked at */
#define PYTHON_TYPES  32  /* types that are remembered by their address */

/* Offsets in bytes. */
struct python_layout {
    uint16_t minor; /* of 3.minor */
    /* _PyRuntime */
    uint16_t interpreters;
    uint16_t runtime_gil; /* 0: each interpreter points to its own */
    /* PyInterpreterState */
    uint16_t interpreter_next, interpreter_threads, interpreter_gil;
    /* PyThreadState */
    uint16_t thread_next, thread_ident, thread_native, thread_deletion, thread_frame;
    uint16_t holder_frame; /* in what thread_frame points to, for 3.11 and 3.12 */
    /* the frame */
    uint16_t frame_previous, frame_code, frame_instruction, frame_owner, frame_slots;
    uint16_t frame_blocks, frame_block_count; /* before 3.11 */
    /* the code */
    uint16_t code_locals, code_first_line, code_stack;
    uint16_t code_file, code_name, code_lines, code_handlers, code_bytes;
    /* texts */
    uint16_t text_ascii, text_wide;
    /* the GIL */
    uint16_t gil_holder, gil_locked;
};

/* A GIL as it was read. */
struct python_gil {
    uint64_t address;
    uint64_t holder;   /* PyThreadState, if it is locked */
    uint64_t switches; /* how often it went from one thread to another */
    uint32_t locked;
};

struct python_thread {
    uint64_t state; /* PyThreadState */
    uint64_t ident; /* pthread_t */
    uint32_t tid;   /* 0: unknown */
    uint32_t gil;   /* index */
    uint64_t deletion;
};

enum python_type {
    PYTHON_OTHER,
    PYTHON_LOCK,     /* _thread.lock */
    PYTHON_RLOCK,    /* _thread.RLock */
    PYTHON_FUNCTION, /* a method of C, bound to its object */
};

struct python {
    struct target *target;
    struct python_layout layout;
    uint64_t runtime; /* 0: there is none */
    struct python_gil gils[PYTHON_GILS];
    size_t gil_count;
    struct python_thread *threads; /* by tid */
    size_t thread_count, thread_room;
    struct {
        uint64_t address;
        enum python_type type;
    } types[PYTHON_TYPES];
    size_t type_count;
    unsigned glances; /* at threads that were awake, in this look */
};

struct python_frame {
    uint64_t address, code;
    uint32_t instruction; /* bytes from the code's beginning */
    bool entry;           /* the last one of a call from C: what called it is C */
};

/* ------------------------------------------------------------------ python_layout.c */

/* The interpreter in a process, found once; NULL: there is none, or of an unknown version. */
struct python *python_of(struct target *target);
/* Reads its threads and GILs anew. False: it is just starting or ending, or out of memory. */
bool python_refresh(struct python *python);
bool python_read_gil(struct python *python, struct python_gil *gil);
const struct python_thread *python_thread(const struct python *python, uint32_t tid);

/* ------------------------------------------------------------------ python_read.c */

/* Frames of a thread, innermost first: how many. */
size_t python_frames(struct python *python, const struct python_thread *thread,
                     struct python_frame *frames, size_t most);
bool python_code_names(struct python *python, uint64_t code, char *function, size_t function_size,
                       char *file, size_t file_size);
/* The line of an instruction; 0: unknown. */
uint32_t python_line(struct python *python, uint64_t code, uint32_t instruction);
enum python_type python_type(struct python *python, uint64_t object);
/* The stack of a frame: where it begins, how many slots it may have, and how many of them are in
 * use for certain, by the `with` and `try` blocks around the place where the frame is: above that
 * may be what is left of something else. */
bool python_stack(struct python *python, const struct python_frame *frame, uint64_t *slots,
                  uint32_t *most, uint32_t *used);
