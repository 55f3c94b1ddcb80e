/*
 * Converts PTX, the assembly language of NVIDIA GPUs, to the input of <gordian/makespan.h>: the
 * string of one path through a kernel. The string has a letter for every cycle of a unit that a
 * warp needs, in program order.
 *
 *     gordian_ptx *ptx;
 *     gordian_ptx_open(&ptx, text, size, NULL, NULL);
 *     gordian_ptx_question question;
 *     gordian_ptx_question_init(&question);
 *     question.entry = "kernel";
 *     gordian_ptx_answer answer;
 *     gordian_ptx_ask(ptx, &question, &answer, NULL);
 *     ... answer.letters ...
 *
 * Straight-line code has one path. For other code the question selects the path:
 *
 * - the path with the most letters, for which every loop needs a bound (given, or found for a
 *   counting loop);
 * - the path on which no conditional branch is taken; or
 * - the path that passes the given labels in order.
 *
 * If all loops have bounds, there is also an answer that holds for every path:
 * gordian_ptx_any_path.
 *
 * The conventions are those of <gordian/gordian.h>. Messages name missing input like the options of
 * `gordian makespan`: "give one with --loop NAME=N" asks for an entry in `loops`.
 */
#ifndef GORDIAN_PTX_H
#define GORDIAN_PTX_H

#include <gordian/gordian.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ units of instructions */

/* Patterns of instructions ("ld.global*"; '*' matches any characters) and the letters of the units
 * that each instruction needs. The first matching pattern is used. */
typedef struct gordian_ptx_table gordian_ptx_table;

/* Opens the built-in table, data/ptx-units.tsv. On failure *out is NULL. */
GORDIAN_API gordian_status gordian_ptx_table_open(gordian_ptx_table **out,
                                                  const gordian_allocator *allocator,
                                                  gordian_error *error);
GORDIAN_API void gordian_ptx_table_close(gordian_ptx_table *table);
/* Reads lines "PATTERN LETTERS" ('-': no unit), which take precedence over existing lines. If a
 * line is rejected, the lines before it are in the table. */
GORDIAN_API gordian_status gordian_ptx_table_read(gordian_ptx_table *table,
                                                  const gordian_source *source,
                                                  gordian_error *error);
/* Adds one such line. */
GORDIAN_API gordian_status gordian_ptx_table_add(gordian_ptx_table *table, const char *pattern,
                                                 const char *letters, gordian_error *error);

/* Expands letters A to Z, of which a following number repeats one ("L5C9"): writes at most `most`
 * letters, without a NUL. `letters` NULL: only counts. */
GORDIAN_API gordian_status gordian_ptx_letters(const char *text, size_t length, size_t most,
                                               char *letters, size_t *count, gordian_error *error);

/* ------------------------------------------------------------------ modules */

/* PTX code that was read. Only one thread at a time may use it. */
typedef struct gordian_ptx gordian_ptx;

/* Reads a text, which is copied. GORDIAN_STATUS_INPUT, with line and column: it is not PTX. On
 * failure *out is NULL. */
GORDIAN_API gordian_status gordian_ptx_open(gordian_ptx **out, const char *text, size_t size,
                                            const gordian_allocator *allocator,
                                            gordian_error *error);
/* The same from a source. */
GORDIAN_API gordian_status gordian_ptx_read(gordian_ptx **out, const gordian_source *source,
                                            const gordian_allocator *allocator,
                                            gordian_error *error);
GORDIAN_API void gordian_ptx_close(gordian_ptx *ptx);

/* Returns the name of kernel number `index`, from 0, as written: `length` bytes without a NUL. NULL
 * after the last one. */
GORDIAN_API const char *gordian_ptx_entry(const gordian_ptx *ptx, size_t index, size_t *length);

/* ------------------------------------------------------------------ questions */

typedef struct gordian_ptx_named {
    const char *name;
    uint64_t value;
} gordian_ptx_named;

/* A function whose code is elsewhere, and its letters ("": none). */
typedef struct gordian_ptx_call {
    const char *name;
    const char *letters;
} gordian_ptx_call;

typedef struct gordian_ptx_question {
    const char *entry;              /* NULL: the only kernel; mangled or plain name */
    const gordian_ptx_table *table; /* NULL: the built-in table */
    const char *path;               /* NULL or "longest", "fall", or "LABEL,LABEL,..." */
    const char *from;               /* start at this label or loop head; NULL: at the beginning */
    const char *to;                 /* stop before this one is passed (again); NULL: at the end */
    const char *avoid;              /* never pass this label or loop head; NULL: no restriction */
    /* How often control passes the head of a loop each time it is entered from outside; 0: never. A
     * loop is named by a label at its head, by FILE:LINE, by the function that contains it (all its
     * loops), or by FUNCTION/N, the N-th loop of the function by line. The first match is used. */
    const gordian_ptx_named *loops;
    size_t loop_count;
    bool extra_loops; /* some of these may not be on the path */
    bool only_loops;  /* no path is needed: the notes describe every loop */
    /* Kernel parameters (by name or number) and special registers, for counting loops. */
    const gordian_ptx_named *values;
    size_t value_count;
    const gordian_ptx_call *calls;
    size_t call_count;
    /* The weight of a letter when paths are measured: the cycles from gordian_unit_starts. All
     * zero: one each. */
    uint64_t weights[GORDIAN_MAKESPAN_TYPES];
} gordian_ptx_question;

/* Sets everything to its default. */
GORDIAN_API void gordian_ptx_question_init(gordian_ptx_question *question);

/* An assumption. */
typedef struct gordian_ptx_note {
    uint32_t line; /* line of the PTX; 0: about the whole */
    char text[240];
} gordian_ptx_note;

/* The lists belong to the module and are valid until the next question. */
typedef struct gordian_ptx_answer {
    const char *letters; /* of the path, ending in NUL; NULL: more than GORDIAN_MAKESPAN_MAX_LENGTH,
                            or only loops were requested */
    const uint32_t *lines; /* the source line of each letter */
    size_t count;
    size_t instructions; /* on the path */
    uint32_t barriers;   /* on the path: waits for other warps, assumed to take no time */
    const gordian_ptx_note *notes;
    size_t note_count;
    bool every_path;                       /* the next two are known */
    uint64_t most[GORDIAN_MAKESPAN_TYPES]; /* maximum number of letters of each unit on any path */
    uint64_t longest;                      /* maximum weight of any path */
    uint64_t weights[GORDIAN_MAKESPAN_TYPES]; /* the weights that were used */
} gordian_ptx_answer;

/* `question` NULL: the longest path of the only kernel. GORDIAN_STATUS_INPUT, with line and column
 * if possible: unknown kernel or label, recursion, an indirect call, a loop without a bound, or an
 * instruction that the table does not have. */
GORDIAN_API gordian_status gordian_ptx_ask(gordian_ptx *ptx, const gordian_ptx_question *question,
                                           gordian_ptx_answer *answer, gordian_error *error);

/* Returns a bound on the length of every work-conserving schedule of this number of warps. It holds
 * for any path of each warp, even if they wait for each other at barriers that all of them reach.
 * `units`: instructions of each letter that can start in a cycle (0: none); each stands for as many
 * cycles as the weights of the question. `schedulers`: 0 for no bound on the total. UINT64_MAX: the
 * result is too large, or units are missing. */
GORDIAN_API uint64_t gordian_ptx_any_path(const gordian_ptx_answer *answer,
                                          const uint64_t units[GORDIAN_MAKESPAN_TYPES],
                                          uint64_t schedulers, uint64_t warps);

/* ------------------------------------------------------------------ the library's own kernel */

/* The kernel that detects deadlocks on a GPU. Waits (for the next command, the end of the last
 * step, or other blocks) are assumed to end at once: these are bounds on the work, not on idle
 * time. */

#define GORDIAN_PTX_OWN_WARPS 16 /* of a block; one block per multiprocessor */

typedef enum gordian_ptx_event {
    GORDIAN_PTX_EVENT_GRANT,     /* a grant, a release, or a wait of a process that holds nothing */
    GORDIAN_PTX_EVENT_BLOCK,     /* a wait: a path is appended to others */
    GORDIAN_PTX_EVENT_HAND_OVER, /* a release to a waiting process */
    GORDIAN_PTX_EVENT_CANCEL,    /* a cancelled wait */
    GORDIAN_PTX_EVENT_REBUILD,   /* a cancelled wait that closed a cycle: rows are recomputed */
} gordian_ptx_event;

/* "grant", "block", "hand-over", "cancel", "rebuild"; NULL after the last one. */
GORDIAN_API const char *gordian_ptx_event_text(gordian_ptx_event event);

/* Reads the PTX of the kernel. GORDIAN_STATUS_UNAVAILABLE: the library was built without nvcc. */
GORDIAN_API gordian_status gordian_ptx_open_own(gordian_ptx **out,
                                                const gordian_allocator *allocator,
                                                gordian_error *error);
/* Sets up the question for one event with these numbers of resources, processes and
 * multiprocessors, all at least 1. It sets entry, from, to, avoid, loops and extra_loops. The list
 * of loops belongs to the module until the next such call. */
GORDIAN_API void gordian_ptx_own_question(gordian_ptx *own, gordian_ptx_event event,
                                          uint32_t resources, uint32_t processes,
                                          uint32_t multiprocessors, gordian_ptx_question *question);

#ifdef __cplusplus
}
#endif

#endif
