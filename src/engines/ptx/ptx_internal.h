/*
 * Internal header of the PTX analysis, behind <gordian/ptx.h>.
 *
 *     text -> ptx_lex -> tokens -> parse.c, body.c -> functions, instructions, labels, locations
 *     function -> flow.c -> blocks and loops -> loop_location.c, loop_trip_count.c -> loop bounds
 *     loops and letters -> path.c -> the longest path, its letters
 */
#pragma once

#include "foundation/base/hash.h"
#include "foundation/base/io/text.h"

#include <gordian/ptx.h>

#define PTX_NONE      UINT32_MAX
#define PTX_LETTERS   GORDIAN_MAKESPAN_TYPES
#define PTX_OWN_LOOPS 15u

/* Embedded by the build: data/ptx-units.tsv, and the PTX of foundation/gpu/kernels/detect/osdda.cu
 * (empty if built without nvcc). */
extern const char ptx_units[], ptx_own[];
extern const size_t ptx_units_size, ptx_own_size;

/* Returns the letters of an instruction ("ld.global.f32"), "" if it takes no unit; NULL: no line
 * matches. */
const char *ptx_table_find(const gordian_ptx_table *table, const char *name, size_t length);

/* ------------------------------------------------------------------ tokens (lex.c) */

enum ptx_kind {
    PTX_WORD, /* a name, an opcode with its dots, a directive, a number */
    PTX_STRING,
    PTX_MARK, /* one character */
    PTX_END,
};

struct ptx_token {
    uint32_t at, length; /* in the text */
    uint32_t line;
    uint32_t kind; /* enum ptx_kind */
};

gordian_status ptx_lex(gordian_ptx *ptx, gordian_error *error);

/* ------------------------------------------------------------------ names (names.c) */

/* A table from (scope, name) to a number. The names are not copied. */
struct ptx_names {
    gordian_allocator memory;
    struct ptx_name {
        const char *text;
        uint32_t length, scope, value;
    } * list;
    uint32_t count, room;
    struct hash table; /* of the list */
};

void ptx_names_free(struct ptx_names *names);
/* Returns the value, or PTX_NONE. */
uint32_t ptx_names_find(const struct ptx_names *names, uint32_t scope, const char *text,
                        size_t length);
/* Sets the value of a name. False: out of memory. */
bool ptx_names_put(struct ptx_names *names, uint32_t scope, const char *text, size_t length,
                   uint32_t value);

/* The innermost name of a mangled one: "loop" for "_ZN3abc4loopEi". Other names are unchanged. */
void ptx_plain_name(const char **text, size_t *length);

/* ------------------------------------------------------------------ modules (parse.c) */

/* A source location from .loc. */
struct ptx_place {
    uint32_t file, line;
    uint32_t function; /* token of its name in .debug_str; PTX_NONE: the kernel itself */
    uint32_t outer;    /* index of the place it is inlined at; PTX_NONE: none */
};

enum ptx_flow {
    PTX_NEXT,   /* continues with the next instruction */
    PTX_BRANCH, /* to targets; with a guard, may continue with the next one */
    PTX_RETURN, /* ends the function; with a guard, may continue */
    PTX_CALL,   /* calls, then continues */
};

struct ptx_instruction {
    uint32_t name;         /* token of the opcode */
    uint32_t first, count; /* tokens of the operands, without the ';' */
    uint32_t guard;        /* register; PTX_NONE: none */
    uint32_t scope;
    uint32_t place;                      /* source location; PTX_NONE: unknown */
    uint32_t flow;                       /* enum ptx_flow */
    uint32_t first_target, target_count; /* of a branch: labels of the function */
    bool negated;                        /* the guard */
};

struct ptx_label {
    uint32_t name; /* token */
    uint32_t scope;
    uint32_t instruction; /* the next one */
    uint32_t targets;     /* token after .branchtargets; 0: an ordinary label */
};

struct ptx_function {
    uint32_t name; /* token */
    bool entry, defined;
    struct ptx_instruction *code;
    size_t code_count, code_room;
    struct ptx_label *labels;
    size_t label_count, label_room;
    uint32_t *targets;
    size_t target_count, target_room;
    uint32_t *parents; /* of scopes; scope 0 is the outermost */
    size_t scope_count, scope_room;
    struct ptx_names label_names;
    struct ptx_names registers; /* declared ranges and single registers */
    struct ptx_names used;      /* registers in operands: dense numbers from 0 */
    uint32_t register_count;
    uint32_t *parameters; /* tokens of their names */
    size_t parameter_count, parameter_room;
};

/* The lists of the latest answer; their memory is reused. */
struct ptx_lists {
    char *letters;
    uint32_t *lines;
    gordian_ptx_note *notes;
    size_t letter_room, line_room, note_room;
};

struct gordian_ptx {
    gordian_allocator memory;
    struct text text;
    struct ptx_token *tokens; /* some of kind PTX_END at the end */
    size_t token_count, token_room;
    struct ptx_function *functions;
    size_t function_count, function_room;
    struct ptx_names function_names;
    struct ptx_place *places;
    size_t place_count, place_room;
    struct ptx_names latest; /* (file, line) to the latest location there */
    uint32_t *files;         /* by number: token of the string; 0: not named */
    size_t file_room;
    struct ptx_names strings; /* of .debug_str: token of the first number */
    struct ptx_lists lists;
    gordian_ptx_named own_loops[PTX_OWN_LOOPS];
};

static inline const char *ptx_text(const gordian_ptx *ptx, uint32_t token)
{
    return ptx->text.bytes + ptx->tokens[token].at;
}

static inline bool ptx_is(const gordian_ptx *ptx, uint32_t token, const char *word)
{
    size_t length = ptx->tokens[token].length;
    return __builtin_strlen(word) == length &&
           __builtin_memcmp(ptx_text(ptx, token), word, length) == 0;
}

/* Is it one of these words? The list ends with NULL. */
static inline bool ptx_is_any(const gordian_ptx *ptx, uint32_t token, const char *const *words)
{
    for (; *words; words++)
        if (ptx_is(ptx, token, *words))
            return true;
    return false;
}

static inline bool ptx_is_mark(const gordian_ptx *ptx, uint32_t token, char mark)
{
    return ptx->tokens[token].kind == PTX_MARK && *ptx_text(ptx, token) == mark;
}

/* Reports "line:column: message" at a token. */
gordian_status ptx_fail(const gordian_ptx *ptx, uint32_t token, gordian_error *error,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The length of a name in a message. PTX_SHOWN: length and text of a token, for "%.*s". */
static inline int ptx_shown_length(size_t length)
{
    return (int)(length < 80 ? length : 80);
}
#define PTX_SHOWN(ptx, token) ptx_shown_length((ptx)->tokens[token].length), ptx_text(ptx, token)

/* Parses the instructions from the token after '{'; *next: the token after '}'. */
gordian_status ptx_read_body(gordian_ptx *ptx, struct ptx_function *function, uint32_t *next,
                             gordian_error *error);
/* Skips tokens up to the ';' that ends a declaration, including braces of initial values. */
gordian_status ptx_skip_declaration(const gordian_ptx *ptx, uint32_t *next, gordian_error *error);
/* .loc and .file; *next: the first token of the next line. */
gordian_status ptx_read_loc(gordian_ptx *ptx, uint32_t *next, uint32_t *place,
                            gordian_error *error);
gordian_status ptx_read_file(gordian_ptx *ptx, uint32_t *next, gordian_error *error);
/* Copies a string of .debug_str to a buffer. */
void ptx_read_string(const gordian_ptx *ptx, uint32_t name, char *buffer, size_t size);

/* The dense number of a register in an operand of this scope; PTX_NONE: not a register of the
 * function. */
uint32_t ptx_register(const gordian_ptx *ptx, const struct ptx_function *function, uint32_t scope,
                      uint32_t token);
/* Calls `each` with the numbers of the registers that the instruction may write. */
void ptx_written(const gordian_ptx *ptx, const struct ptx_function *function,
                 const struct ptx_instruction *instruction,
                 void (*each)(void *context, uint32_t number), void *context);

/* The called function; PTX_NONE: the call is indirect, or the function is not in the module. *name:
 * the token of the callee. */
uint32_t ptx_callee(const gordian_ptx *ptx, const struct ptx_function *function,
                    const struct ptx_instruction *instruction, uint32_t *name);

/* ------------------------------------------------------------------ control flow (flow.c) */

/* A basic block. Every label starts a block, even if another label follows: a loop whose body
 * begins with another loop has a different head. */
struct ptx_block {
    uint32_t first, end;             /* instructions; equal: none */
    uint32_t label;                  /* PTX_NONE: none */
    uint32_t first_next, next_count; /* successors in `nexts`; PTX_NONE is the end */
    uint32_t order;                  /* in reverse postorder; PTX_NONE: unreachable */
    uint32_t above;                  /* immediate dominator */
    uint32_t loop;                   /* the innermost loop that contains it; 0: none */
};

/* Loop 0 is the function itself. */
struct ptx_loop {
    uint32_t head, outer;
    uint32_t depth;
    uint64_t passes; /* executions of the head per entry */
    uint64_t cycle;  /* weight of the heaviest path from the head back to it; PTX_UNREACHED: none */
    uint32_t turn;   /* the last block of that path */
    /* source location, for users and for its bound */
    uint32_t place_file, place_line; /* 0: unknown */
    char function[64];
    uint32_t number; /* among the loops of the function, by line, from 1 */
};

struct ptx_graph {
    gordian_allocator memory;
    const gordian_ptx *ptx;
    const struct ptx_function *function;
    struct ptx_block *blocks;
    size_t block_count, block_room;
    uint32_t *nexts;
    size_t next_count, next_room;
    uint32_t *first_before, *befores; /* predecessors, by block */
    uint32_t *sorted;                 /* reachable blocks in reverse postorder */
    size_t sorted_count;
    struct ptx_loop *loops;
    size_t loop_count, loop_room;
    uint32_t entry; /* block */
    uint32_t stop;  /* the path ends when it enters this block (again); PTX_NONE: none */
    uint32_t avoid; /* never entered; PTX_NONE: none */
    bool cut;       /* the entry is also the stop; it is entered once */
};

#define PTX_LOOP_DEPTH 60u

/* Labels: start of the path, its end, and a block to avoid. PTX_NONE: the beginning, the end,
 * none. */
struct ptx_ends {
    uint32_t from, to, avoid;
};

/* Builds blocks and loops. GORDIAN_STATUS_INPUT, if `strict`: a loop is entered at two places. */
gordian_status ptx_graph_open(struct ptx_graph *graph, const gordian_ptx *ptx,
                              const struct ptx_function *function, const struct ptx_ends *ends,
                              bool strict, gordian_error *error);
void ptx_graph_close(struct ptx_graph *graph);
uint32_t ptx_block_of(const struct ptx_graph *graph, uint32_t instruction);
/* The last instruction of a block; NULL: the block is empty and continues with the next one. */
const struct ptx_instruction *ptx_last(const struct ptx_graph *graph, uint32_t block);
bool ptx_above(const struct ptx_graph *graph, uint32_t above, uint32_t block);
bool ptx_in_loop(const struct ptx_graph *graph, uint32_t block, uint32_t loop);

/* loop_location.c: locates every loop in the source. */
gordian_status ptx_locate_loops(struct ptx_graph *graph, gordian_error *error);
/* "loop at $L__BB0_4 (line 103; service_follow, service.h:198)" */
void ptx_describe_loop(const struct ptx_graph *graph, const struct ptx_loop *loop, char *buffer,
                       size_t size);

/* Does a question refer to the loop by this name? */
bool ptx_loop_is(const struct ptx_graph *graph, const struct ptx_loop *loop, const char *name);

/* loop_trip_count.c: executions of the head of a counting loop. */
struct ptx_count {
    uint64_t passes;   /* 0: unknown */
    bool at_most;      /* it depends on values with only an upper bound */
    bool corners;      /* ... and only the first and last threads and blocks were tried */
    char missing[160]; /* if unknown: the values that the question should give, "3,%ctaid.y"; "":
                          that would not help */
};
gordian_status ptx_count_loop(const struct ptx_graph *graph, uint32_t loop,
                              const gordian_ptx_question *question, struct ptx_count *count,
                              gordian_error *error);

/* ------------------------------------------------------------------ paths (path.c) */

#define PTX_UNREACHED UINT64_MAX
#define PTX_HUGE      (UINT64_C(1) << 60) /* sums saturate here */
#define PTX_CALLS_MAX 100u                /* call depth */

/* The state of a function for one question. */
struct ptx_routine {
    struct ptx_graph graph;
    const char **letters; /* by instruction */
    uint32_t *callees;    /* by instruction: the called function; PTX_NONE: none in this module */
    /* of the latest measurement: */
    uint64_t *weights; /* by block */
    uint64_t *into;    /* by block: maximum weight before it, within its innermost loop */
    uint32_t *from;    /* by block: its predecessor on that path */
    uint64_t cost;     /* of the longest path through the function */
    uint32_t last;     /* last block of that path */
    uint32_t measured; /* number of the measurement */
    enum {
        PTX_OPENING = 1, /* 0: not opened yet */
        PTX_READY,
    } state;
};

struct ptx_program {
    gordian_allocator memory;
    const gordian_ptx *ptx;
    const gordian_ptx_question *question;
    struct ptx_lists *lists;
    gordian_ptx_answer *answer;
    gordian_error *error;
    struct ptx_routine *routines; /* by function */
    uint32_t measurement;
    uint64_t steps;         /* blocks processed */
    bool too_long;          /* the path has too many letters */
    const char *next_label; /* of the question's path; "": none left */
};

/* Computes the longest path through a function for these weights of letters. */
void ptx_measure(struct ptx_program *program, uint32_t function,
                 const uint64_t weights[PTX_LETTERS], uint32_t measurement);
/* Appends the letters of the longest path. */
gordian_status ptx_emit(struct ptx_program *program, uint32_t function);
/* Appends the letters of the path selected by the question's labels. Without labels no conditional
 * branch is taken. */
gordian_status ptx_walk(struct ptx_program *program, uint32_t function);

gordian_status ptx_note(struct ptx_program *program, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
