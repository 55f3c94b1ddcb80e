/*
 * A PTX module taken apart: what the files behind <gordian/ptx.h> share.
 *
 *     text -> ptx_lex -> tokens -> parse.c, body.c -> functions, instructions, labels, places
 *     function -> flow.c -> blocks and loops -> loop_location.c, loop_trip_count.c -> names and
 * bounds of loops loops and letters -> path.c -> the best way, its letters
 */
#pragma once

#include "foundation/base/hash.h"
#include "foundation/base/io/text.h"

#include <gordian/ptx.h>

#define PTX_NONE      UINT32_MAX
#define PTX_LETTERS   GORDIAN_MAKESPAN_TYPES
#define PTX_OWN_LOOPS 15u

/* Embedded by the build: data/ptx-units.tsv, and the PTX of foundation/gpu/kernels/detect/osdda.cu
 * (of size 0 without nvcc). */
extern const char ptx_units[], ptx_own[];
extern const size_t ptx_units_size, ptx_own_size;

/* What an instruction ("ld.global.f32") stands for: letters, or "" for one that takes no unit;
 * NULL: no line matches. */
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

/* A table from (scope, name) to a number. The names stay where they are. */
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
/* The value, or PTX_NONE. */
uint32_t ptx_names_find(const struct ptx_names *names, uint32_t scope, const char *text,
                        size_t length);
/* A name that is there gets another value. False: out of memory. */
bool ptx_names_put(struct ptx_names *names, uint32_t scope, const char *text, size_t length,
                   uint32_t value);

/* The innermost name of a mangled one: "_ZN3abc4loopEi" is "loop"; any other is itself. */
void ptx_plain_name(const char **text, size_t *length);

/* ------------------------------------------------------------------ modules (parse.c) */

/* A place in a source file, as .loc tells it. */
struct ptx_place {
    uint32_t file, line;
    uint32_t function; /* token of its name in .debug_str; PTX_NONE: the kernel itself */
    uint32_t outer;    /* index of the place it is inlined at; PTX_NONE: none */
};

enum ptx_flow {
    PTX_NEXT,   /* goes on with the next instruction */
    PTX_BRANCH, /* to targets; a guard lets it go on instead */
    PTX_RETURN, /* ends the function (or not, with a guard) */
    PTX_CALL,   /* and goes on */
};

struct ptx_instruction {
    uint32_t name;         /* token of the opcode */
    uint32_t first, count; /* tokens of the operands, without the ';' */
    uint32_t guard;        /* register; PTX_NONE: none */
    uint32_t scope;
    uint32_t place;                      /* PTX_NONE: not known */
    uint32_t flow;                       /* enum ptx_flow */
    uint32_t first_target, target_count; /* of a branch: labels of the function */
    bool negated;                        /* the guard */
};

struct ptx_label {
    uint32_t name; /* token */
    uint32_t scope;
    uint32_t instruction; /* the one that follows */
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
    struct ptx_names registers; /* declared: ranges and single ones */
    struct ptx_names used;      /* registers that instructions mention: dense numbers from 0 */
    uint32_t register_count;
    uint32_t *parameters; /* tokens of their names */
    size_t parameter_count, parameter_room;
};

/* The lists of the latest answer, and what is kept of them for the next. */
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
    struct ptx_names latest; /* (file, line) to the latest place there */
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

/* Is it one of these words, of which the last is NULL? */
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

/* "line:column: message" about a token. */
gordian_status ptx_fail(const gordian_ptx *ptx, uint32_t token, gordian_error *error,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* How much of a name a message shows; PTX_SHOWN: length and text of a token, for "%.*s". */
static inline int ptx_shown_length(size_t length)
{
    return (int)(length < 80 ? length : 80);
}
#define PTX_SHOWN(ptx, token) ptx_shown_length((ptx)->tokens[token].length), ptx_text(ptx, token)

/* The function's instructions from the token after '{'; *next: the token after '}'. */
gordian_status ptx_read_body(gordian_ptx *ptx, struct ptx_function *function, uint32_t *next,
                             gordian_error *error);
/* Passes tokens up to the ';' that ends a declaration, braces of initial values included. */
gordian_status ptx_skip_declaration(const gordian_ptx *ptx, uint32_t *next, gordian_error *error);
/* .loc and .file; *next: the first token of the next line. */
gordian_status ptx_read_loc(gordian_ptx *ptx, uint32_t *next, uint32_t *place,
                            gordian_error *error);
gordian_status ptx_read_file(gordian_ptx *ptx, uint32_t *next, gordian_error *error);
/* The text of a string of .debug_str, into a buffer. */
void ptx_read_string(const gordian_ptx *ptx, uint32_t name, char *buffer, size_t size);

/* The dense number of a register that an instruction of this scope mentions; PTX_NONE: not a
 * register of the function. */
uint32_t ptx_register(const gordian_ptx *ptx, const struct ptx_function *function, uint32_t scope,
                      uint32_t token);
/* The registers that the instruction may write. Calls `each` with their numbers. */
void ptx_written(const gordian_ptx *ptx, const struct ptx_function *function,
                 const struct ptx_instruction *instruction,
                 void (*each)(void *context, uint32_t number), void *context);

/* The function that a call calls; PTX_NONE: the call is indirect, or it is not in the module.
 * *name: the token of the callee. */
uint32_t ptx_callee(const gordian_ptx *ptx, const struct ptx_function *function,
                    const struct ptx_instruction *instruction, uint32_t *name);

/* ------------------------------------------------------------------ control flow (flow.c) */

/* Every label starts a block of its own, even if another one follows at once: a loop whose body
 * begins with another loop has another head. */
struct ptx_block {
    uint32_t first, end;             /* instructions; the same: none */
    uint32_t label;                  /* PTX_NONE: it has none */
    uint32_t first_next, next_count; /* successors in `nexts`; flow->end is the end */
    uint32_t order;                  /* in reverse postorder; PTX_NONE: cannot be reached */
    uint32_t above;                  /* immediate dominator */
    uint32_t loop;                   /* the innermost one it is in; 0: none */
};

/* Loop 0 is the function itself. */
struct ptx_loop {
    uint32_t head;
    uint32_t outer;
    uint32_t depth;
    uint64_t passes; /* of the head each time it is entered */
    uint64_t cycle;  /* the most weight of a way from the head back to it; PTX_UNREACHED: none */
    uint32_t turn;   /* the block that this way ends with */
    /* where it stands: for people, and for finding its bound */
    uint32_t place_file, place_line; /* 0: not known */
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
    uint32_t *sorted;                 /* blocks that can be reached, in reverse postorder */
    size_t sorted_count;
    struct ptx_loop *loops;
    size_t loop_count, loop_room;
    uint32_t entry; /* block */
    uint32_t stop;  /* where the way ends if it is entered (again); PTX_NONE: nowhere */
    uint32_t avoid; /* never entered; PTX_NONE: none */
    bool cut;       /* entry is also the stop: entered once */
};

#define PTX_LOOP_DEPTH 60u

/* Labels: where a way begins, where it ends, what it avoids. PTX_NONE: at the beginning, at the
 * end, nothing. */
struct ptx_ends {
    uint32_t from, to, avoid;
};

/* Builds blocks and loops. GORDIAN_STATUS_INPUT: control that enters a loop in two places, if
 * `strict`. */
gordian_status ptx_graph_open(struct ptx_graph *graph, const gordian_ptx *ptx,
                              const struct ptx_function *function, const struct ptx_ends *ends,
                              bool strict, gordian_error *error);
void ptx_graph_close(struct ptx_graph *graph);
uint32_t ptx_block_of(const struct ptx_graph *graph, uint32_t instruction);
/* The last instruction of a block; NULL: it has none, and goes on with the next one. */
const struct ptx_instruction *ptx_last(const struct ptx_graph *graph, uint32_t block);
bool ptx_above(const struct ptx_graph *graph, uint32_t above, uint32_t block);
bool ptx_in_loop(const struct ptx_graph *graph, uint32_t block, uint32_t loop);

/* where.c: fills where each loop stands. */
gordian_status ptx_locate_loops(struct ptx_graph *graph, gordian_error *error);
/* "loop at $L__BB0_4 (line 103; service_follow, service.h:198)" */
void ptx_describe_loop(const struct ptx_graph *graph, const struct ptx_loop *loop, char *buffer,
                       size_t size);

/* Is this what a question calls the loop? */
bool ptx_loop_is(const struct ptx_graph *graph, const struct ptx_loop *loop, const char *name);

/* count.c: how often the head of a loop that counts is passed. */
struct ptx_count {
    uint64_t passes;   /* 0: not found */
    bool at_most;      /* it depends on values of which only a bound is known */
    bool corners;      /* ... and of threads and blocks only the first and the last were tried */
    char missing[160]; /* not found: "3,%ctaid.y", what the question would have to say; "": that
                          would not help, or is not known */
};
gordian_status ptx_count_loop(const struct ptx_graph *graph, uint32_t loop,
                              const gordian_ptx_question *question, struct ptx_count *count,
                              gordian_error *error);

/* ------------------------------------------------------------------ paths (path.c) */

#define PTX_UNREACHED UINT64_MAX
#define PTX_HUGE      (UINT64_C(1) << 60) /* sums are cut off there */
#define PTX_CALLS_MAX 100u                /* one in another */

/* A function, for one question. */
struct ptx_routine {
    struct ptx_graph graph;
    const char **letters; /* by instruction */
    uint32_t *callees;    /* by instruction: the function called; PTX_NONE: none that is here */
    /* of the latest measurement: */
    uint64_t *weights; /* by block */
    uint64_t *into;    /* by block: the most weight before it, within the innermost loop around */
    uint32_t *from;    /* by block: the block before it on that way */
    uint64_t cost;     /* of the best way through the function */
    uint32_t last;     /* block that it ends with */
    uint32_t measured; /* which measurement it was */
    enum {
        PTX_OPENING = 1, /* 0: not looked at yet */
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
    uint64_t steps;         /* blocks emitted or walked */
    bool too_long;          /* the path has more letters than there may be */
    const char *next_label; /* of the question's path; "": no more */
};

/* The best way through a function for these weights of letters: fills cost and all it follows
 * from. */
void ptx_measure(struct ptx_program *program, uint32_t function,
                 const uint64_t weights[PTX_LETTERS], uint32_t measurement);
/* Appends the letters of the best way. */
gordian_status ptx_emit(struct ptx_program *program, uint32_t function);
/* Appends the letters of the way that the question's labels tell; without any no conditional branch
 * is taken. */
gordian_status ptx_walk(struct ptx_program *program, uint32_t function);

gordian_status ptx_note(struct ptx_program *program, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
