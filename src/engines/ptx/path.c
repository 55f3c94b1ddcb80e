/*
 * Paths through a function: the longest one, and the one selected by labels.
 *
 * The longest path with a loop bound for every loop. Inner loops come first; each is one node of
 * the enclosing loop. For a loop the heaviest path of one iteration is known (`cycle`), and for
 * every block in it the heaviest path from the head (`into`, within the innermost loop of the
 * block). A loop with n iterations costs n - 1 cycles and a path from its head to its exit. All
 * iterations are alike, so no other choice is heavier.
 */
#include "engines/ptx/ptx_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STEPS_MAX (UINT64_C(1) << 22)

static uint64_t add_weights(uint64_t a, uint64_t b)
{
    if (a == PTX_UNREACHED || b == PTX_UNREACHED)
        return PTX_UNREACHED;
    return a + b < PTX_HUGE ? a + b : PTX_HUGE;
}

/* ------------------------------------------------------------------ weights */

static uint64_t instruction_weight(const struct ptx_program *program,
                                   const struct ptx_routine *routine, uint32_t instruction,
                                   const uint64_t weights[PTX_LETTERS])
{
    uint64_t sum = 0;
    for (const char *c = routine->letters[instruction]; *c; c++)
        sum = add_weights(sum, weights[*c - 'A']);
    uint32_t callee = routine->callees[instruction];
    return callee == PTX_NONE ? sum : add_weights(sum, program->routines[callee].cost);
}

static void weigh_blocks(struct ptx_program *program, struct ptx_routine *routine,
                         const uint64_t weights[PTX_LETTERS])
{
    const struct ptx_graph *graph = &routine->graph;
    for (size_t i = 0; i < graph->sorted_count; i++) {
        uint32_t block = graph->sorted[i];
        uint64_t sum = 0;
        for (uint32_t c = graph->blocks[block].first; c < graph->blocks[block].end; c++)
            sum = add_weights(sum, instruction_weight(program, routine, c, weights));
        routine->weights[block] = sum;
        routine->into[block] = PTX_UNREACHED;
        routine->from[block] = PTX_NONE;
    }
    if (graph->blocks[graph->entry].loop != 0) /* the function begins with a loop */
        routine->into[graph->entry] = 0;
}

/* ------------------------------------------------------------------ longest path */

/* The loop directly inside `loop` that contains the block. */
static uint32_t child_around(const struct ptx_graph *graph, uint32_t block, uint32_t loop)
{
    uint32_t at = graph->blocks[block].loop;
    while (graph->loops[at].outer != loop)
        at = graph->loops[at].outer;
    return at;
}

static uint64_t all_rounds(const struct ptx_loop *loop)
{
    if (loop->cycle == PTX_UNREACHED || loop->passes < 2)
        return 0;
    uint64_t all;
    bool too_many = __builtin_mul_overflow(loop->cycle, loop->passes - 1, &all);
    return too_many || all > PTX_HUGE ? PTX_HUGE : all;
}

/* The weight from the head of the loop to the end of a block in it, with inner loops iterated. */
static uint64_t weight_through(const struct ptx_routine *routine, uint32_t loop, uint32_t block)
{
    const struct ptx_graph *graph = &routine->graph;
    uint64_t sum = 0;
    while (graph->blocks[block].loop != loop) {
        uint32_t child = child_around(graph, block, loop);
        sum = add_weights(sum, add_weights(routine->into[graph->loops[child].head],
                                           all_rounds(&graph->loops[child])));
        loop = child;
    }
    if (graph->loops[loop].head != block)
        sum = add_weights(sum, routine->into[block]);
    return add_weights(sum, routine->weights[block]);
}

/* Relaxes the edge from a block in the loop to another block. */
static void relax_edge(struct ptx_routine *routine, uint32_t loop, uint32_t from, uint32_t to)
{
    struct ptx_graph *graph = &routine->graph;
    uint64_t weight = weight_through(routine, loop, from);
    if (weight == PTX_UNREACHED)
        return;
    if (to == PTX_NONE) {
        if (loop == 0 && (routine->cost == PTX_UNREACHED || weight > routine->cost)) {
            routine->cost = weight;
            routine->last = from;
        }
        return;
    }
    if (to == graph->loops[loop].head) {
        struct ptx_loop *round = &graph->loops[loop];
        if (loop != 0 && (round->cycle == PTX_UNREACHED || weight > round->cycle)) {
            round->cycle = weight;
            round->turn = from;
        }
        return;
    }
    if (!ptx_in_loop(graph, to, loop))
        return; /* an exit: handled with the enclosing loop */
    if (graph->blocks[to].loop != loop && graph->loops[child_around(graph, to, loop)].passes == 0)
        return;
    if (routine->into[to] == PTX_UNREACHED || weight > routine->into[to]) {
        routine->into[to] = weight;
        routine->from[to] = from;
    }
}

/* Relaxes all exits of an inner loop. */
static void relax_exits(struct ptx_routine *routine, uint32_t loop, uint32_t child)
{
    const struct ptx_graph *graph = &routine->graph;
    for (size_t i = 0; i < graph->sorted_count; i++) {
        uint32_t block = graph->sorted[i];
        if (!ptx_in_loop(graph, block, child))
            continue;
        for (uint32_t e = 0; e < graph->blocks[block].next_count; e++) {
            uint32_t to = graph->nexts[graph->blocks[block].first_next + e];
            if (to == PTX_NONE || !ptx_in_loop(graph, to, child))
                relax_edge(routine, loop, block, to);
        }
    }
}

/* Processes the blocks in reverse postorder: all predecessors come first, except along back
 * edges. */
static void measure_loop(struct ptx_routine *routine, uint32_t loop)
{
    struct ptx_graph *graph = &routine->graph;
    graph->loops[loop].cycle = PTX_UNREACHED;
    for (size_t i = 0; i < graph->sorted_count; i++) {
        uint32_t block = graph->sorted[i], inner = graph->blocks[block].loop;
        if (inner == loop) {
            const struct ptx_block *from = &routine->graph.blocks[block];
            for (uint32_t e = 0; e < from->next_count; e++)
                relax_edge(routine, loop, block, routine->graph.nexts[from->first_next + e]);
        } else if (graph->loops[inner].head == block && graph->loops[inner].outer == loop)
            relax_exits(routine, loop, inner);
    }
}

void ptx_measure(struct ptx_program *program, uint32_t function,
                 const uint64_t weights[PTX_LETTERS], uint32_t measurement)
{
    struct ptx_routine *routine = &program->routines[function];
    if (routine->measured == measurement)
        return;
    routine->measured = measurement;
    for (size_t i = 0; i < routine->graph.function->code_count; i++)
        if (routine->callees[i] != PTX_NONE)
            ptx_measure(program, routine->callees[i], weights, measurement);
    weigh_blocks(program, routine, weights);
    routine->cost = PTX_UNREACHED;
    routine->last = PTX_NONE;
    for (size_t i = routine->graph.loop_count; i-- > 0;) /* inner loops have larger numbers */
        measure_loop(routine, (uint32_t)i);
}

/* ------------------------------------------------------------------ letters */

gordian_status ptx_note(struct ptx_program *program, uint32_t line, const char *format, ...)
{
    struct ptx_lists *lists = program->lists;
    if (!memory_grow(&program->memory, &lists->notes, &lists->note_room,
                     program->answer->note_count + 1, sizeof *lists->notes))
        return fail_memory(program->error);
    gordian_ptx_note *note = &lists->notes[program->answer->note_count++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(note->text, sizeof note->text, format, arguments);
    va_end(arguments);
    note->line = line;
    return GORDIAN_OK;
}

static gordian_status put_routine(struct ptx_program *program, const struct ptx_routine *routine,
                                  uint32_t instruction)
{
    gordian_ptx_answer *answer = program->answer;
    struct ptx_lists *lists = program->lists;
    const gordian_ptx *ptx = program->ptx;
    uint32_t name = routine->graph.function->code[instruction].name;
    const char *letters = routine->letters[instruction];
    const char *text = ptx_text(ptx, name);
    size_t count = strlen(letters), length = ptx->tokens[name].length;
    bool bar = length >= 4 && memcmp(text, "bar.", 4) == 0;
    bool bar_warp = length >= 8 && memcmp(text, "bar.warp", 8) == 0;
    answer->instructions++;
    answer->barriers += (bar && !bar_warp) || (length >= 8 && memcmp(text, "barrier.", 8) == 0);
    if (answer->count + count > GORDIAN_MAKESPAN_MAX_LENGTH) {
        program->too_long = true;
        return GORDIAN_OK;
    }
    if (!memory_grow(&program->memory, &lists->letters, &lists->letter_room,
                     answer->count + count + 1, 1) ||
        !memory_grow(&program->memory, &lists->lines, &lists->line_room, answer->count + count + 1,
                     sizeof *lists->lines))
        return fail_memory(program->error);
    for (size_t i = 0; i < count; i++) {
        lists->letters[answer->count] = letters[i];
        lists->lines[answer->count++] = ptx->tokens[name].line;
    }
    lists->letters[answer->count] = '\0';
    return GORDIAN_OK;
}

/* Appends the letters of a block, and of the functions it calls. */
static gordian_status put_block(struct ptx_program *program, const struct ptx_routine *routine,
                                uint32_t block,
                                gordian_status (*call)(struct ptx_program *, uint32_t))
{
    const struct ptx_block *at = &routine->graph.blocks[block];
    if (++program->steps > STEPS_MAX)
        program->too_long = true;
    for (uint32_t i = at->first; i < at->end && !program->too_long; i++) {
        TRY(put_routine(program, routine, i));
        if (routine->callees[i] != PTX_NONE)
            TRY(call(program, routine->callees[i]));
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ writing the longest path */

/* The blocks of the path from the head to `block`, in reverse order; an inner loop is represented
 * by its exit. The caller frees the list. */
static gordian_status trace_heaviest(struct ptx_program *program, const struct ptx_routine *routine,
                                     uint32_t loop, uint32_t block, uint32_t **out, size_t *count)
{
    const struct ptx_graph *graph = &routine->graph;
    size_t room = 0;
    *out = NULL;
    *count = 0;
    while (block != PTX_NONE) {
        if (!memory_grow(&program->memory, out, &room, *count + 1, sizeof **out)) {
            memory_free(&program->memory, *out);
            return fail_memory(program->error);
        }
        (*out)[(*count)++] = block;
        if (block == graph->loops[loop].head)
            break;
        block = graph->blocks[block].loop == loop
                    ? routine->from[block]
                    : routine->from[graph->loops[child_around(graph, block, loop)].head];
    }
    return GORDIAN_OK;
}

/* Appends the path from the head of the loop to the end of the block. */
static gordian_status emit_to(struct ptx_program *program, uint32_t function, uint32_t loop,
                              uint32_t block)
{
    const struct ptx_routine *routine = &program->routines[function];
    const struct ptx_graph *graph = &routine->graph;
    uint32_t *way;
    size_t count;
    TRY(trace_heaviest(program, routine, loop, block, &way, &count));
    gordian_status status = GORDIAN_OK;
    while (count > 0 && status == GORDIAN_OK && !program->too_long) {
        uint32_t at = way[--count];
        if (graph->blocks[at].loop == loop) {
            status = put_block(program, routine, at, ptx_emit);
            continue;
        }
        uint32_t child = child_around(graph, at, loop);
        const struct ptx_loop *inner = &graph->loops[child];
        for (uint64_t i = 1; i < inner->passes && inner->cycle != PTX_UNREACHED &&
                             status == GORDIAN_OK && !program->too_long;
             i++)
            status = emit_to(program, function, child, inner->turn);
        if (status == GORDIAN_OK && !program->too_long)
            status = emit_to(program, function, child, at);
    }
    memory_free(&program->memory, way);
    return status;
}

gordian_status ptx_emit(struct ptx_program *program, uint32_t function)
{
    const struct ptx_routine *routine = &program->routines[function];
    if (routine->last == PTX_NONE)
        return GORDIAN_OK;
    return emit_to(program, function, 0, routine->last);
}

/* ------------------------------------------------------------------ paths by labels */

/* Does the block begin with the next label of the path? */
static bool is_next_label(const struct ptx_program *program, const struct ptx_graph *graph,
                          uint32_t block)
{
    size_t length = strcspn(program->next_label, ",");
    if (length == 0 || block == PTX_NONE)
        return false;
    uint32_t label = graph->blocks[block].label;
    uint32_t name = label == PTX_NONE ? PTX_NONE : graph->function->labels[label].name;
    return name != PTX_NONE && program->ptx->tokens[name].length == length &&
           memcmp(ptx_text(program->ptx, name), program->next_label, length) == 0;
}

static gordian_status choose_labelled(struct ptx_program *program, const struct ptx_graph *graph,
                                      uint32_t block, uint32_t *next)
{
    const struct ptx_block *at = &graph->blocks[block];
    const struct ptx_instruction *last = ptx_last(graph, block);
    for (uint32_t e = 0; e < at->next_count; e++) {
        uint32_t to = graph->nexts[at->first_next + e];
        if (is_next_label(program, graph, to)) {
            *next = to;
            return GORDIAN_OK;
        }
    }
    if (last && last->guard == PTX_NONE && at->next_count > 1)
        return ptx_fail(program->ptx, last->name, program->error,
                        "a branch with %u targets: name the label of one with --path",
                        at->next_count);
    *next = at->next_count ? graph->nexts[at->first_next] : PTX_NONE;
    return GORDIAN_OK;
}

gordian_status ptx_walk(struct ptx_program *program, uint32_t function)
{
    const struct ptx_routine *routine = &program->routines[function];
    const struct ptx_graph *graph = &routine->graph;
    for (uint32_t block = graph->entry; block != PTX_NONE && !program->too_long;) {
        if (is_next_label(program, graph, block)) {
            program->next_label += strcspn(program->next_label, ",");
            program->next_label += *program->next_label == ',';
        }
        TRY(put_block(program, routine, block, ptx_walk));
        TRY(choose_labelled(program, graph, block, &block));
    }
    return GORDIAN_OK;
}
