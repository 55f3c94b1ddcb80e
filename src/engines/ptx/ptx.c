/* Answers a question about a PTX module: functions and their loops, the path, the assumptions
 * made. */
#include "engines/ptx/ptx_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_name(const char *wanted, const char *name, size_t length)
{
    return strlen(wanted) == length && memcmp(wanted, name, length) == 0;
}

/* ------------------------------------------------------------------ the kernel */

static gordian_status list_entries(const gordian_ptx *ptx, const char *wanted, gordian_error *error)
{
    char list[240] = "";
    size_t length, used = 0;
    const char *name;
    for (size_t i = 0; (name = gordian_ptx_entry(ptx, i, &length)) && used < sizeof list - 1; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", i ? ", " : "",
                                 (int)length, name);
    if (wanted)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no kernel '%.80s'; there is %s", wanted,
                    list);
    return fail(error, GORDIAN_STATUS_INPUT, "several kernels: choose one with --entry: %s", list);
}

/* Finds a kernel by its full or its demangled name. */
static gordian_status find_ptx_kernel(const gordian_ptx *ptx, const char *wanted, uint32_t *found,
                                      gordian_error *error)
{
    size_t entries = 0, plain = 0;
    for (uint32_t i = 0; i < ptx->function_count; i++) {
        const struct ptx_function *function = &ptx->functions[i];
        if (!function->entry)
            continue;
        const char *name = ptx_text(ptx, function->name);
        size_t length = ptx->tokens[function->name].length;
        if (wanted && is_name(wanted, name, length)) {
            *found = i;
            return GORDIAN_OK;
        }
        ptx_plain_name(&name, &length);
        bool fits = wanted && is_name(wanted, name, length);
        if (fits || (!wanted && entries == 0))
            *found = i;
        plain += fits;
        entries++;
    }
    if (wanted ? plain == 1 : entries == 1)
        return GORDIAN_OK;
    return list_entries(ptx, plain > 1 ? NULL : wanted, error);
}

/* Returns the number of a label, or of the label at the head of a loop with this name. */
static gordian_status find_loop_label(const gordian_ptx *ptx, const struct ptx_function *function,
                                      const char *name, uint32_t *label, gordian_error *error)
{
    struct ptx_graph graph;
    const struct ptx_ends whole = {PTX_NONE, PTX_NONE, PTX_NONE};
    for (size_t i = 0; i < function->label_count; i++) {
        if (!ptx_is(ptx, function->labels[i].name, name))
            continue;
        *label = (uint32_t)i;
        return GORDIAN_OK;
    }
    TRY(ptx_graph_open(&graph, ptx, function, &whole, false, error));
    bool found = false;
    gordian_status status = ptx_locate_loops(&graph, error);
    for (size_t i = 1; i < graph.loop_count && status == GORDIAN_OK && !found; i++) {
        *label = graph.blocks[graph.loops[i].head].label;
        found = ptx_loop_is(&graph, &graph.loops[i], name) && *label != PTX_NONE;
    }
    ptx_graph_close(&graph);
    if (status == GORDIAN_OK && !found)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no label or loop '%.80s' in '%.*s'",
                    name, PTX_SHOWN(ptx, function->name));
    return status;
}

/* ------------------------------------------------------------------ instructions and calls */

static const gordian_ptx_call *find_code(const struct ptx_program *program, uint32_t token)
{
    const char *plain = ptx_text(program->ptx, token);
    size_t length = program->ptx->tokens[token].length;
    ptx_plain_name(&plain, &length);
    for (size_t i = 0; i < program->question->call_count; i++) {
        const gordian_ptx_call *code = &program->question->calls[i];
        if (ptx_is(program->ptx, token, code->name) || is_name(code->name, plain, length))
            return code;
    }
    return NULL;
}

/* Calls of the driver's runtime, whose code is not available: they count as a load or store at
 * least. */
#define SYSTEM_CALL "L"

static gordian_status note_once(struct ptx_program *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a note unless there is an equal one. */
static gordian_status note_once(struct ptx_program *program, const char *format, ...)
{
    const gordian_ptx_note *notes = program->lists->notes;
    char text[sizeof notes->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < program->answer->note_count; i++)
        if (strcmp(notes[i].text, text) == 0)
            return GORDIAN_OK;
    return program->question->only_loops ? GORDIAN_OK : ptx_note(program, 0, "%s", text);
}

static gordian_status open_routine(struct ptx_program *program, uint32_t index, uint32_t depth);

/* Resolves a call: another function, or letters given in the question. */
static gordian_status read_callee(struct ptx_program *program, struct ptx_routine *routine,
                                  uint32_t index, uint32_t depth)
{
    const gordian_ptx *ptx = program->ptx;
    const struct ptx_function *function = routine->graph.function;
    const struct ptx_instruction *call = &function->code[index];
    uint32_t name;
    uint32_t callee = ptx_callee(ptx, function, call, &name);
    const gordian_ptx_call *code = find_code(program, name);
    if (code) {
        routine->letters[index] = code->letters;
        /* Notes the replacement of a function once. */
        size_t count = strlen(code->letters);
        return note_once(program, "%.80s stands for %.40s%s, as given", code->name,
                         count ? code->letters : "nothing", count > 40 ? "..." : "");
    }
    if (ptx_register(ptx, function, call->scope, name) != PTX_NONE || name == call->name)
        return ptx_fail(ptx, call->name, program->error,
                        "an indirect call: its target is not known");
    bool here = callee != PTX_NONE && ptx->functions[callee].defined;
    if (!here && program->question->only_loops)
        return GORDIAN_OK;
    if (!here && (ptx_is(ptx, name, "vprintf") || ptx_is(ptx, name, "malloc") ||
                  ptx_is(ptx, name, "free"))) {
        routine->letters[index] = SYSTEM_CALL;
        return note_once(
            program, "%.*s counts as %s because its code is not published: change it with --call",
            PTX_SHOWN(ptx, name), SYSTEM_CALL);
    }
    if (!here)
        return ptx_fail(ptx, name, program->error,
                        "the code of '%.*s' is not available: give its instructions with --call "
                        "NAME=LETTERS",
                        PTX_SHOWN(ptx, name));
    if (program->routines[callee].state == PTX_OPENING)
        return ptx_fail(ptx, name, program->error,
                        "recursion: '%.*s' calls itself, so no bound can be found",
                        PTX_SHOWN(ptx, name));
    if (depth == PTX_CALLS_MAX)
        return ptx_fail(ptx, name, program->error, "calls more than %u deep", PTX_CALLS_MAX);
    routine->callees[index] = callee;
    return open_routine(program, callee, depth + 1);
}

/* A register has the size of a product on Blackwell's tensor cores. */
static gordian_status note_size(struct ptx_program *program, uint32_t name)
{
    static const char product[] = "tcgen05.mma";
    size_t length = program->ptx->tokens[name].length;
    if (length < strlen(product) ||
        memcmp(ptx_text(program->ptx, name), product, strlen(product)) != 0)
        return GORDIAN_OK;
    return note_once(program, "tcgen05.mma counts as the largest one, 128 x 256 numbers of one "
                              "multiprocessor: change it with --unit 'tcgen05.mma*=T512'");
}

static gordian_status read_instructions(struct ptx_program *program, struct ptx_routine *routine,
                                        uint32_t depth)
{
    const gordian_ptx *ptx = program->ptx;
    const struct ptx_graph *graph = &routine->graph;
    for (size_t b = 0; b < graph->sorted_count; b++) {
        const struct ptx_block *block = &graph->blocks[graph->sorted[b]];
        for (uint32_t i = block->first; i < block->end; i++) {
            uint32_t name = graph->function->code[i].name;
            const char *letters = ptx_table_find(program->question->table, ptx_text(ptx, name),
                                                 ptx->tokens[name].length);
            if (!letters)
                return ptx_fail(ptx, name, program->error,
                                "no line of the table of units matches '%.*s': add one with "
                                "--table or --unit",
                                PTX_SHOWN(ptx, name));
            routine->letters[i] = letters;
            TRY(note_size(program, name));
            if (graph->function->code[i].flow == PTX_RETURN && *ptx_text(ptx, name) == 'c')
                TRY(note_once(program, "__assertfail does not return: a path may end there"));
            if (graph->function->code[i].flow == PTX_CALL)
                TRY(read_callee(program, routine, i, depth));
        }
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ bounds of loops */

static bool follows_labels(const gordian_ptx_question *question)
{
    return question->path && strcmp(question->path, "longest") != 0;
}

/* "is not entered", "is passed once", "is passed 3 times" */
static void how_often(uint64_t passes, bool at_most, char *buffer, size_t size)
{
    if (at_most)
        snprintf(buffer, size, "is passed at most %llu time%s", (unsigned long long)passes,
                 passes == 1 ? "" : "s");
    else if (passes == 0)
        snprintf(buffer, size, "is not entered");
    else if (passes == 1)
        snprintf(buffer, size, "is passed once");
    else
        snprintf(buffer, size, "is passed %llu times", (unsigned long long)passes);
}

static gordian_status no_bound(struct ptx_program *program, const struct ptx_graph *graph,
                               const struct ptx_loop *loop, const char *what, const char *missing)
{
    uint32_t name = graph->function->code[graph->blocks[loop->head].first].name;
    char needs[240];
    /* Converts "%ctaid.y,3" to "%ctaid.y, parameter 3: --set %ctaid.y=N,3=N". */
    size_t size = sizeof needs, used = 0;
    needs[0] = '\0';
    for (int round = 0; round < 2; round++) {
        const char *between = round ? "," : ", ";
        for (const char *at = missing; *at && used < size;) {
            size_t length = strcspn(at, ",");
            used += (size_t)snprintf(
                needs + used, size - used, "%s%s%.*s%s", at > missing ? between : "",
                !round && *at != '%' ? "parameter " : "", (int)length, at, round ? "=N" : "");
            at += length + (at[length] == ',');
        }
        if (round == 0 && used < size)
            used += (size_t)snprintf(needs + used, size - used, ": --set ");
    }
    if (program->question->only_loops)
        return ptx_note(program, graph->ptx->tokens[name].line, "no bound was found for %s%s%.100s",
                        what, *missing ? "; it depends on " : "", *missing ? needs : "");
    return ptx_fail(graph->ptx, name, program->error,
                    "no bound was found for %s%s%s%s give one with --loop NAME=N, or a path "
                    "with --path",
                    what, *missing ? "; it depends on " : "", *missing ? needs : "",
                    *missing ? "; or" : ":");
}

static gordian_status bound_loop(struct ptx_program *program, struct ptx_graph *graph,
                                 uint32_t index)
{
    const gordian_ptx_question *question = program->question;
    struct ptx_loop *loop = &graph->loops[index];
    uint32_t line =
        graph->ptx->tokens[graph->function->code[graph->blocks[loop->head].first].name].line;
    char what[160], often[48];
    ptx_describe_loop(graph, loop, what, sizeof what);
    for (size_t i = 0; i < question->loop_count; i++) {
        const gordian_ptx_named *given = &question->loops[i];
        if (!ptx_loop_is(graph, loop, given->name))
            continue;
        loop->passes = given->value;
        how_often(loop->passes, false, often, sizeof often);
        return ptx_note(program, line, "%s %s, as given", what, often);
    }
    struct ptx_count count;
    TRY(ptx_count_loop(graph, index, question, &count, program->error));
    loop->passes = count.passes;
    if (loop->passes == 0)
        return no_bound(program, graph, loop, what, count.missing);
    how_often(loop->passes, count.at_most, often, sizeof often);
    return ptx_note(program, line, "%s counts: it %s%s", what, often,
                    count.corners ? " (first and last threads and blocks)" : "");
}

/* Fails if a name given for a loop matches no loop. */
static gordian_status check_loop_names(struct ptx_program *program)
{
    for (size_t i = 0; i < program->question->loop_count; i++) {
        const gordian_ptx_named *given = &program->question->loops[i];
        bool found = false;
        for (size_t f = 0; f < program->ptx->function_count && !found; f++) {
            const struct ptx_graph *graph = &program->routines[f].graph;
            for (size_t l = 1; l < graph->loop_count && !found; l++)
                found = ptx_loop_is(graph, &graph->loops[l], given->name);
        }
        if (!found)
            return fail(program->error, GORDIAN_STATUS_INPUT, "no loop is called '%.80s'",
                        given->name);
    }
    return GORDIAN_OK;
}

/* Fails if a value is given for a parameter that the kernel does not have. */
static gordian_status check_value_names(struct ptx_program *program, uint32_t entry)
{
    const gordian_ptx *ptx = program->ptx;
    const struct ptx_function *function = &ptx->functions[entry];
    for (size_t i = 0; i < program->question->value_count; i++) {
        const gordian_ptx_named *given = &program->question->values[i];
        size_t name = strcspn(given->name, "+"); /* the rest is an offset */
        size_t digits = strspn(given->name, "0123456789");
        bool found =
            given->name[0] == '%' || (digits == name && digits < 6 &&
                                      strtoul(given->name, NULL, 10) < function->parameter_count);
        for (size_t p = 0; p < function->parameter_count && !found; p++) {
            uint32_t token = function->parameters[p];
            found = ptx->tokens[token].length == name &&
                    memcmp(ptx_text(ptx, token), given->name, name) == 0;
        }
        if (!found)
            return fail(program->error, GORDIAN_STATUS_INPUT,
                        "'%.*s' has no parameter '%.80s'; numbers from 0 are also names",
                        PTX_SHOWN(ptx, function->name), given->name);
        TRY(program->question->only_loops
                ? GORDIAN_OK
                : ptx_note(program, 0, "%s%.80s is %llu, as given",
                           digits == name ? "parameter " : "", given->name,
                           (unsigned long long)given->value));
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ routines */

static gordian_status allocate_routine(struct ptx_program *program, struct ptx_routine *routine)
{
    size_t code = routine->graph.function->code_count, blocks = routine->graph.block_count;
    const gordian_allocator *memory = &program->memory;
    routine->letters = memory_zeroed(memory, code * sizeof *routine->letters);
    routine->callees = memory_alloc(memory, code * sizeof *routine->callees);
    routine->weights = memory_zeroed(memory, blocks * sizeof *routine->weights);
    routine->into = memory_zeroed(memory, blocks * sizeof *routine->into);
    routine->from = memory_zeroed(memory, blocks * sizeof *routine->from);
    if (!routine->letters || !routine->callees || !routine->weights || !routine->into ||
        !routine->from)
        return fail_memory(program->error);
    for (size_t i = 0; i < code; i++)
        routine->callees[i] = PTX_NONE;
    return GORDIAN_OK;
}

/* Finds the start and end of the path in the kernel. */
static gordian_status find_ends(struct ptx_program *program, const struct ptx_function *function,
                                struct ptx_ends *ends)
{
    const gordian_ptx_question *question = program->question;
    const char *const names[] = {question->from, question->to, question->avoid};
    uint32_t *const places[] = {&ends->from, &ends->to, &ends->avoid};
    for (size_t i = 0; i < 3; i++)
        if (names[i])
            TRY(find_loop_label(program->ptx, function, names[i], places[i], program->error));
    return GORDIAN_OK;
}

static gordian_status open_routine(struct ptx_program *program, uint32_t index, uint32_t depth)
{
    struct ptx_routine *routine = &program->routines[index];
    const struct ptx_function *function = &program->ptx->functions[index];
    struct ptx_ends ends = {PTX_NONE, PTX_NONE, PTX_NONE};
    if (routine->state == PTX_READY)
        return GORDIAN_OK;
    routine->state = PTX_OPENING;
    TRY(depth == 0 ? find_ends(program, function, &ends) : GORDIAN_OK);
    bool labels = follows_labels(program->question);
    TRY(ptx_graph_open(&routine->graph, program->ptx, function, &ends, !labels, program->error));
    TRY(allocate_routine(program, routine));
    TRY(read_instructions(program, routine, depth));
    if (!labels)
        TRY(ptx_locate_loops(&routine->graph, program->error));
    for (uint32_t i = 1; !labels && i < routine->graph.loop_count; i++)
        TRY(bound_loop(program, &routine->graph, i));
    routine->state = PTX_READY;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ result */

static gordian_status longest_path(struct ptx_program *program, uint32_t entry)
{
    const gordian_ptx_question *question = program->question;
    gordian_ptx_answer *answer = program->answer;
    uint64_t any = 0;
    for (size_t i = 0; i < PTX_LETTERS; i++)
        any |= question->weights[i];
    for (size_t i = 0; i < PTX_LETTERS; i++)
        answer->weights[i] = any ? question->weights[i] : 1;
    TRY(question->extra_loops ? GORDIAN_OK : check_loop_names(program));
    ptx_measure(program, entry, answer->weights, ++program->measurement);
    if (program->routines[entry].last == PTX_NONE)
        return fail(program->error, GORDIAN_STATUS_INPUT,
                    "no path ends: check the given bounds and labels");
    answer->longest = program->routines[entry].cost;
    TRY(ptx_emit(program, entry));
    /* The maximum of each letter over all paths. */
    uint64_t weights[PTX_LETTERS] = {0};
    answer->every_path = answer->longest < PTX_HUGE;
    for (uint32_t letter = 0; letter < PTX_LETTERS; letter++) {
        weights[letter] = 1;
        ptx_measure(program, entry, weights, ++program->measurement);
        weights[letter] = 0;
        answer->most[letter] = program->routines[entry].cost;
    }
    return GORDIAN_OK;
}

static gordian_status labelled_path(struct ptx_program *program, uint32_t entry)
{
    const char *path = program->question->path;
    program->next_label = strcmp(path, "fall") == 0 ? "" : path;
    TRY(ptx_walk(program, entry));
    if (program->too_long)
        return fail(program->error, GORDIAN_STATUS_INPUT, "the path does not end within %d letters",
                    GORDIAN_MAKESPAN_MAX_LENGTH);
    if (*program->next_label)
        return fail(program->error, GORDIAN_STATUS_INPUT, "the path does not reach '%.*s'",
                    ptx_shown_length(strcspn(program->next_label, ",")), program->next_label);
    return ptx_note(program, 0,
                    *path == 'f' && strcmp(path, "fall") == 0
                        ? "no conditional branch is taken"
                        : "only conditional branches to labels of the path are taken");
}

static gordian_status find_path(struct ptx_program *program)
{
    gordian_ptx_answer *answer = program->answer;
    uint32_t entry = 0;
    TRY(find_ptx_kernel(program->ptx, program->question->entry, &entry, program->error));
    TRY(check_value_names(program, entry));
    TRY(open_routine(program, entry, 0));
    if (program->question->only_loops)
        return GORDIAN_OK;
    TRY(follows_labels(program->question) ? labelled_path(program, entry)
                                          : longest_path(program, entry));
    if (program->too_long)
        answer->count = 0;
    else if (answer->count == 0)
        return fail(program->error, GORDIAN_STATUS_INPUT, "nothing on this path needs a unit");
    return GORDIAN_OK;
}

void gordian_ptx_question_init(gordian_ptx_question *question)
{
    *question = (gordian_ptx_question){0};
}

gordian_status gordian_ptx_ask(gordian_ptx *ptx, const gordian_ptx_question *question,
                               gordian_ptx_answer *answer, gordian_error *error)
{
    gordian_ptx_question whole = question ? *question : (gordian_ptx_question){0};
    gordian_ptx_answer made = {0};
    gordian_ptx_table *table = NULL;
    struct ptx_program program = {.memory = ptx->memory,
                                  .ptx = ptx,
                                  .question = &whole,
                                  .lists = &ptx->lists,
                                  .answer = &made,
                                  .error = error,
                                  .next_label = ""};
    gordian_status status =
        whole.table ? GORDIAN_OK : gordian_ptx_table_open(&table, &ptx->memory, error);
    if (table)
        whole.table = table;
    if (status == GORDIAN_OK) {
        size_t functions = ptx->function_count;
        program.routines = memory_zeroed(&program.memory, functions * sizeof *program.routines);
        status = program.routines ? find_path(&program) : fail_memory(program.error);
        for (size_t i = 0; program.routines && i < functions; i++) {
            struct ptx_routine *routine = &program.routines[i];
            memory_free_all(&program.memory, routine->letters, routine->callees, routine->weights,
                            routine->into, routine->from);
            ptx_graph_close(&routine->graph);
        }
        memory_free(&program.memory, program.routines);
    }
    gordian_ptx_table_close(table);
    if (status != GORDIAN_OK)
        return status;
    made.letters = made.count ? ptx->lists.letters : NULL;
    made.lines = ptx->lists.lines;
    made.notes = ptx->lists.notes;
    *answer = made;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ any path */

/* The time that the last warp adds by running itself: at most `longest` cycles, spent first on the
 * unit where it delays the others least. */
static double own_cycles(const gordian_ptx_answer *answer, const double work[PTX_LETTERS],
                         const double rate[PTX_LETTERS])
{
    double left = (double)answer->longest, sum = 0;
    bool used[PTX_LETTERS] = {false};
    while (left > 0) {
        size_t best = PTX_LETTERS;
        for (size_t i = 0; i < PTX_LETTERS; i++)
            if (!used[i] && work[i] > 0 && (best == PTX_LETTERS || rate[i] < rate[best]))
                best = i;
        if (best == PTX_LETTERS)
            break;
        double take = work[best] < left ? work[best] : left;
        used[best] = true;
        sum += take * (1 - rate[best]);
        left -= take;
    }
    return sum;
}

/* Bounds the makespan for any mix of paths. Consider the last warp to finish. In every cycle it
 * either runs, which happens at most `longest` times, or other warps take what it needs: they start
 * on all units of the same type, or use all schedulers. So each cycle of work of the others on unit
 * U accounts for at most 1 / min(units, schedulers) of such a cycle. */
uint64_t gordian_ptx_any_path(const gordian_ptx_answer *answer, const uint64_t units[PTX_LETTERS],
                              uint64_t schedulers, uint64_t warps)
{
    double work[PTX_LETTERS], rate[PTX_LETTERS], all = 0;
    if (!answer->every_path)
        return UINT64_MAX;
    for (size_t i = 0; i < PTX_LETTERS; i++) {
        uint64_t least = schedulers && schedulers < units[i] ? schedulers : units[i];
        work[i] = (double)answer->most[i] * (double)answer->weights[i];
        rate[i] = least ? 1 / (double)least : 0;
        if (answer->most[i] && !units[i])
            return UINT64_MAX;
        all += (double)warps * work[i] * rate[i];
    }
    double bound = all + own_cycles(answer, work, rate);
    return bound < 9e15 ? (uint64_t)(bound + 1e-6) : UINT64_MAX;
}
