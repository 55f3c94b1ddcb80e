/*
 * From PTX to a kernel instruction string: one letter for every cycle of a unit that a warp asks
 * for, in program order.
 *
 *     text -> ptx_read -> a module: functions, instructions, labels, where each comes from
 *     module + question -> ptx_string -> the letters of one path, and what was assumed
 *
 * Straight code has one path. Elsewhere the question says which one is wanted: the one with the
 * most letters (every loop must then have a bound: given, or found because the loop counts), the
 * one on which no conditional branch is taken, or the one that passes given labels in order.
 *
 * With bounds on all loops there is also an answer that holds on every path: the most letters of
 * each unit that a warp can ask for (every_path, ptx_any_path_bound).
 *
 * What stands behind the letters is a table of patterns of instructions (data/ptx-units.tsv), to
 * which a caller may add lines of its own.
 */
#ifndef GORDIAN_PTX_PTX_H
#define GORDIAN_PTX_PTX_H

#include "base/text.h"

#define PTX_LETTERS    26u                         /* units are named A to Z */
#define PTX_STRING_MAX GORDIAN_MAKESPAN_MAX_LENGTH /* letters of a path */

/* ------------------------------------------------------------------ the table */

struct ptx_table;

/* Letters A to Z, a number after one repeats it ("L5C9"): writes them out, no NUL after them, at
 * most `most`. `letters` NULL: only counts. */
gordian_status ptx_letters(const char *text, size_t length, size_t most, char *letters,
                           size_t *count, gordian_error *error);

/* Opens the built-in table. */
gordian_status ptx_table_open(struct ptx_table **out, const gordian_allocator *memory,
                              gordian_error *error);
void ptx_table_close(struct ptx_table *table);
/* Reads lines "PATTERN LETTERS", which go before those that are there already. */
gordian_status ptx_table_add(struct ptx_table *table, const gordian_source *source,
                             gordian_error *error);
/* One such line. */
gordian_status ptx_table_add_line(struct ptx_table *table, const char *pattern,
                                  size_t pattern_length, const char *letters, size_t letter_count,
                                  gordian_error *error);
/* What an instruction ("ld.global.f32") stands for: letters, or "" for one that takes no unit;
 * NULL: no line matches. */
const char *ptx_table_find(const struct ptx_table *table, const char *name, size_t length);

/* ------------------------------------------------------------------ modules */

struct ptx;

/* The text must outlive the module. GORDIAN_STATUS_INPUT with line and column: it is not PTX. */
gordian_status ptx_read(struct ptx **out, const struct text *text, const gordian_allocator *memory,
                        gordian_error *error);
void ptx_free(struct ptx *ptx);

/* The kernels, by index from 0: the name as written, NULL past the last. */
const char *ptx_entry(const struct ptx *ptx, size_t index, size_t *length);

/* ------------------------------------------------------------------ questions */

struct ptx_named {
    const char *name; /* not NUL-terminated */
    size_t length;
    uint64_t value;
};

/* A function whose code is not in the module, and what it stands for. */
struct ptx_code {
    const char *name;
    size_t length;
    const char *letters;
};

struct ptx_question {
    const char *entry; /* NULL: the only kernel; mangled or not */
    const struct ptx_table *table;
    const char *path; /* NULL or "longest", "fall", or "LABEL,LABEL,..." */
    const char *from; /* start at this label, or at the head of this loop; NULL: at the beginning */
    const char *to;   /* stop before this one is passed (again); NULL: at the end */
    const char *avoid; /* never pass this label, or the head of this loop; NULL: go anywhere */
    /* How often control passes the head of a loop, each time it comes from outside; 0: never. A
     * loop is named by a label at its head, by FILE:LINE, by the function it stands in (all of its
     * loops), or by FUNCTION/N, the function's N-th loop by line. The first that fits counts. */
    const struct ptx_named *loops;
    size_t loop_count;
    bool extra_loops; /* some of these may be nowhere on the way */
    bool only_loops;  /* no path is wanted: the notes tell about every loop */
    /* Kernel parameters (by name or number) and special registers, for loops that count. */
    const struct ptx_named *values;
    size_t value_count;
    const struct ptx_code *calls;
    size_t call_count;
    uint64_t weights[PTX_LETTERS]; /* what the longest path is measured by; all zero: letters */
};

struct ptx_note {
    uint32_t line; /* of the PTX; 0: none */
    char text[240];
};

/* Something that was assumed; `line` 0: about the whole. */
struct ptx_answer {
    gordian_allocator memory;
    char *letters;   /* of the path; a NUL follows */
    uint32_t *lines; /* where each comes from */
    size_t count;
    size_t instructions;    /* on the path */
    struct ptx_note *notes; /* what was assumed */
    size_t note_count, note_room;
    bool every_path;               /* the next two are known */
    uint64_t most[PTX_LETTERS];    /* letters of each unit that any path can have */
    uint64_t longest;              /* weight that any path can have */
    uint64_t weights[PTX_LETTERS]; /* it was measured by */
    uint32_t barriers; /* on the path: waits for other warps, taken to be over at once */
};

/* GORDIAN_STATUS_INPUT: no such kernel, no such label, recursion, an indirect call, a loop without
 * a bound, an instruction that the table does not know: with the line where there is one. */
gordian_status ptx_string(struct ptx_answer *answer, const struct ptx *ptx,
                          const struct ptx_question *question, const gordian_allocator *memory,
                          gordian_error *error);
void ptx_answer_free(struct ptx_answer *answer);

/* No work-conserving schedule of so many warps takes longer, whatever path each of them takes and
 * even if they wait for each other at barriers that all of them meet. `units`: instructions of each
 * letter that start in a cycle (0: none); each stands for as many cycles as the question's weights
 * say; `schedulers`: 0 for no bound on the total. UINT64_MAX: beyond that, or units are missing.
 *
 * Follow the warp that everybody waits for in the end. In every cycle it either runs, at most
 * `longest` times in all, or what it needs is taken by others: so many of the same unit as there
 * are, or as many of any as there are schedulers. Each cycle of the others' work of unit U can take
 * at most 1 / min(units, schedulers) of such a cycle. */
uint64_t ptx_any_path_bound(const struct ptx_answer *answer, const uint64_t units[PTX_LETTERS],
                            uint64_t schedulers, uint64_t warps);

#endif
