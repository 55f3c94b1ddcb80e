/*
 * From PTX, the assembly of NVIDIA's GPUs, to what <gordian/makespan.h> bounds: the string of one
 * path through a kernel, a letter for every cycle of a unit that a warp asks for, in program order.
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
 * Straight code has one path. Elsewhere the question says which one is wanted: the one with the
 * most letters (every loop must then have a bound: given, or found because the loop counts), the
 * one on which no conditional branch is taken, or the one that passes given labels in order. With
 * bounds on all loops there is also an answer that holds on every path: gordian_ptx_any_path.
 *
 * The conventions are those of <gordian/gordian.h>. Messages name what is missing as the options
 * of `gordian makespan` do: "give one with --loop NAME=N" asks for an entry in `loops`.
 */
#ifndef GORDIAN_PTX_H
#define GORDIAN_PTX_H

#include <gordian/gordian.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ units of instructions */

/* Patterns of instructions ("ld.global*"; '*' is any characters) and the letters of the units that
 * each needs. The first that matches counts. */
typedef struct gordian_ptx_table gordian_ptx_table;

/* Opens the built-in table, data/ptx-units.tsv. On failure *out is NULL. */
GORDIAN_API gordian_status gordian_ptx_table_open(gordian_ptx_table **out,
                                                  const gordian_allocator *allocator,
                                                  gordian_error *error);
GORDIAN_API void gordian_ptx_table_close(gordian_ptx_table *table);
/* Reads lines "PATTERN LETTERS" ('-': no unit), which go before those that are there already. Those
 * before a line that is refused are in the table. */
GORDIAN_API gordian_status gordian_ptx_table_read(gordian_ptx_table *table,
                                                  const gordian_source *source,
                                                  gordian_error *error);
/* One such line. */
GORDIAN_API gordian_status gordian_ptx_table_add(gordian_ptx_table *table, const char *pattern,
                                                 const char *letters, gordian_error *error);

/* Letters A to Z, a number after one repeats it ("L5C9"): writes them out, no NUL after them, at
 * most `most`. `letters` NULL: only counts. */
GORDIAN_API gordian_status gordian_ptx_letters(const char *text, size_t length, size_t most,
                                               char *letters, size_t *count, gordian_error *error);

/* ------------------------------------------------------------------ modules */

/* A text of PTX that was read. One thread at a time may use it. */
typedef struct gordian_ptx gordian_ptx;

/* Reads a text; it is copied. GORDIAN_STATUS_INPUT, with line and column: it is not PTX. On failure
 * *out is NULL. */
GORDIAN_API gordian_status gordian_ptx_open(gordian_ptx **out, const char *text, size_t size,
                                            const gordian_allocator *allocator,
                                            gordian_error *error);
/* The same from a source. */
GORDIAN_API gordian_status gordian_ptx_read(gordian_ptx **out, const gordian_source *source,
                                            const gordian_allocator *allocator,
                                            gordian_error *error);
GORDIAN_API void gordian_ptx_close(gordian_ptx *ptx);

/* Kernel number `index`, from 0: the name as written, `length` bytes and no NUL; NULL past the
 * last. */
GORDIAN_API const char *gordian_ptx_entry(const gordian_ptx *ptx, size_t index, size_t *length);

/* ------------------------------------------------------------------ questions */

typedef struct gordian_ptx_named {
    const char *name;
    uint64_t value;
} gordian_ptx_named;

/* A function whose code is elsewhere, and the letters that it stands for ("": none). */
typedef struct gordian_ptx_call {
    const char *name;
    const char *letters;
} gordian_ptx_call;

typedef struct gordian_ptx_question {
    const char *entry;              /* NULL: the only kernel; mangled or not */
    const gordian_ptx_table *table; /* NULL: the built-in one */
    const char *path;               /* NULL or "longest", "fall", or "LABEL,LABEL,..." */
    const char *from; /* start at this label, or at the head of this loop; NULL: at the beginning */
    const char *to;   /* stop before this one is passed (again); NULL: at the end */
    const char *avoid; /* never pass this label, or the head of this loop; NULL: go anywhere */
    /* How often control passes the head of a loop, each time it comes from outside; 0: never. A
     * loop is named by a label at its head, by FILE:LINE, by the function it stands in (all of its
     * loops), or by FUNCTION/N, the function's N-th loop by line. The first that fits counts. */
    const gordian_ptx_named *loops;
    size_t loop_count;
    bool extra_loops; /* some of these may be nowhere on the way */
    bool only_loops;  /* no path is wanted: the notes tell about every loop */
    /* Kernel parameters (by name or number) and special registers, for loops that count. */
    const gordian_ptx_named *values;
    size_t value_count;
    const gordian_ptx_call *calls;
    size_t call_count;
    /* What a letter counts when paths are measured: the cycles that gordian_unit_starts tells; all
     * zero: one each. */
    uint64_t weights[GORDIAN_MAKESPAN_TYPES];
} gordian_ptx_question;

/* Sets everything to its default. */
GORDIAN_API void gordian_ptx_question_init(gordian_ptx_question *question);

/* Something that was assumed. */
typedef struct gordian_ptx_note {
    uint32_t line; /* of the PTX; 0: about the whole */
    char text[240];
} gordian_ptx_note;

/* The lists belong to the module and stay valid until the next question. */
typedef struct gordian_ptx_answer {
    const char *letters;   /* of the path, a NUL after them; NULL: more than
                              GORDIAN_MAKESPAN_MAX_LENGTH, or only loops were asked for */
    const uint32_t *lines; /* where each comes from */
    size_t count;
    size_t instructions; /* on the path */
    uint32_t barriers;   /* on the path: waits for other warps, taken to be over at once */
    const gordian_ptx_note *notes;
    size_t note_count;
    bool every_path;                          /* the next two are known */
    uint64_t most[GORDIAN_MAKESPAN_TYPES];    /* letters of each unit that any path can have */
    uint64_t longest;                         /* weight that any path can have */
    uint64_t weights[GORDIAN_MAKESPAN_TYPES]; /* it was measured by */
} gordian_ptx_answer;

/* `question` NULL: the longest path of the only kernel. GORDIAN_STATUS_INPUT: no such kernel, no
 * such label, recursion, an indirect call, a loop without a bound, an instruction that the table
 * does not know: with line and column where there is a place. */
GORDIAN_API gordian_status gordian_ptx_ask(gordian_ptx *ptx, const gordian_ptx_question *question,
                                           gordian_ptx_answer *answer, gordian_error *error);

/* No work-conserving schedule of so many warps takes longer, whatever path each of them takes and
 * even if they wait for each other at barriers that all of them meet. `units`: instructions of each
 * letter that start in a cycle (0: none); each stands for as many cycles as the question's weights
 * say; `schedulers`: 0 for no bound on the total. UINT64_MAX: beyond that, or units are missing. */
GORDIAN_API uint64_t gordian_ptx_any_path(const gordian_ptx_answer *answer,
                                          const uint64_t units[GORDIAN_MAKESPAN_TYPES],
                                          uint64_t schedulers, uint64_t warps);

/* ------------------------------------------------------------------ the library's own kernel */

/* The kernel that detects deadlocks on a GPU, as a subject. What it waits for (the next command,
 * the end of the last step, other blocks) is taken to be there at the first look: these are bounds
 * on the work, not on idling. */

#define GORDIAN_PTX_OWN_WARPS 16 /* of a block; one block a multiprocessor */

typedef enum gordian_ptx_event {
    GORDIAN_PTX_EVENT_GRANT,     /* a grant, a release, a wait of a process that holds nothing */
    GORDIAN_PTX_EVENT_BLOCK,     /* a wait: a path put behind others */
    GORDIAN_PTX_EVENT_HAND_OVER, /* a release to somebody who waits */
    GORDIAN_PTX_EVENT_CANCEL,    /* a wait given up */
    GORDIAN_PTX_EVENT_REBUILD,   /* a wait given up that closed a cycle: rows made anew */
} gordian_ptx_event;

/* "grant", "block", "hand-over", "cancel", "rebuild"; NULL past the last. */
GORDIAN_API const char *gordian_ptx_event_text(gordian_ptx_event event);

/* Reads its PTX. GORDIAN_STATUS_UNAVAILABLE: the library was built without nvcc. */
GORDIAN_API gordian_status gordian_ptx_open_own(gordian_ptx **out,
                                                const gordian_allocator *allocator,
                                                gordian_error *error);
/* Asks for what one event takes with so many resources and processes on a device of so many
 * multiprocessors, all at least 1: sets entry, from, to, avoid, loops and extra_loops. The list of
 * loops belongs to the module, until the next such call. */
GORDIAN_API void gordian_ptx_own_question(gordian_ptx *own, gordian_ptx_event event,
                                          uint32_t resources, uint32_t processes,
                                          uint32_t multiprocessors, gordian_ptx_question *question);

#ifdef __cplusplus
}
#endif

#endif
