/* Reads CPython from outside: threads, frames and locks of the versions 3.9 to 3.13.
 *
 *     python_layout.c   finds the version, and the offsets of all fields
 *     python_read.c     texts, code, line numbers, frames, types
 *     python.c          the decoder: the GIL, locks of `threading`, joins, and lines between C
 * frames
 *
 * Since 3.13 the interpreter publishes its offsets (_Py_DebugOffsets). In earlier versions they are
 * fixed from the first release of a version on, and are the same on x86-64 and aarch64. All data is
 * read with target_read and rejected unless it is consistent.
 */
#pragma once

#include "sources/inspect/target/target.h"

#define PYTHON_GILS   16  /* limit of interpreters with their own GIL */
#define PYTHON_FRAMES 256 /* limit per thread */
#define PYTHON_TYPES  32  /* cache of types by address */

/* Offsets in bytes. */
struct python_layout {
    uint16_t minor; /* of version 3.minor */
    /* _PyRuntime */
    uint16_t interpreters;
    uint16_t runtime_gil; /* 0: each interpreter points to its own */
    /* PyInterpreterState */
    uint16_t interpreter_next, interpreter_threads, interpreter_gil;
    /* PyThreadState */
    uint16_t thread_next, thread_ident, thread_native, thread_deletion, thread_frame;
    uint16_t holder_frame; /* in the structure that thread_frame points to, in 3.11 and 3.12 */
    /* of a frame */
    uint16_t frame_previous, frame_code, frame_instruction, frame_owner, frame_slots;
    uint16_t frame_blocks, frame_block_count; /* before 3.11 */
    /* of a code object */
    uint16_t code_locals, code_first_line, code_stack;
    uint16_t code_file, code_name, code_lines, code_handlers, code_bytes;
    /* of a text */
    uint16_t text_ascii, text_wide;
    /* of a GIL */
    uint16_t gil_holder, gil_locked;
};

/* A GIL as read at one moment. */
struct python_gil {
    uint64_t address;
    uint64_t holder;   /* PyThreadState, if it is locked */
    uint64_t switches; /* how often it changed threads */
    uint32_t locked;
};

struct python_thread {
    uint64_t state; /* PyThreadState */
    uint64_t ident; /* pthread_t */
    uint32_t tid;   /* 0: unknown */
    uint32_t gil;   /* index of its GIL */
    uint64_t deletion;
};

enum python_type {
    PYTHON_OTHER,
    PYTHON_LOCK,     /* _thread.lock */
    PYTHON_RLOCK,    /* _thread.RLock */
    PYTHON_FUNCTION, /* a C method, bound to its object */
};

struct python {
    struct target *target;
    struct python_layout layout;
    uint64_t runtime; /* 0: no interpreter */
    struct python_gil gils[PYTHON_GILS];
    size_t gil_count;
    struct python_thread *threads; /* sorted by tid */
    size_t thread_count, thread_room;
    struct {
        uint64_t address;
        enum python_type type;
    } types[PYTHON_TYPES];
    size_t type_count;
    unsigned polls; /* polls of threads that were awake, in this snapshot */
};

struct python_frame {
    uint64_t address, code;
    uint32_t instruction; /* offset in bytes from the start of the code */
    bool entry;           /* the last frame of a call from C */
};

/* ------------------------------------------------------------------ python_layout.c */

/* Returns the interpreter of a process, which is searched for once; NULL: none, or an unknown
 * version. */
struct python *python_of(struct target *target);
/* Reads its threads and GILs again. False: it is starting or ending, or memory ran out. */
bool python_refresh(struct python *python);
bool python_read_gil(struct python *python, struct python_gil *gil);
const struct python_thread *python_thread(const struct python *python, uint32_t tid);

/* ------------------------------------------------------------------ python_read.c */

/* Lists the frames of a thread, innermost first. Returns how many there are. */
size_t python_frames(struct python *python, const struct python_thread *thread,
                     struct python_frame *frames, size_t most);
bool python_code_names(struct python *python, uint64_t code, char *function, size_t function_size,
                       char *file, size_t file_size);
/* Returns the line of an instruction; 0: unknown. */
uint32_t python_line(struct python *python, uint64_t code, uint32_t instruction);
enum python_type python_type(struct python *python, uint64_t object);
/* Finds the evaluation stack of a frame: where it begins, its size in slots, and how many slots are
 * certainly in use by the surrounding `with` and `try` blocks. Slots above those may contain stale
 * values. */
bool python_stack(struct python *python, const struct python_frame *frame, uint64_t *slots,
                  uint32_t *most, uint32_t *used);
