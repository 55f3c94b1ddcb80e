/*
 * Computes the loop trip count of counting loops: a loop bound, the number of times the head is
 * executed.
 *
 * An exit branch is analysed if every iteration executes it. The values that its predicate depends
 * on must be written once per iteration, by instructions that every iteration executes, and must be
 * known on entry. These few instructions are then simulated, iteration by iteration, until the
 * branch exits.
 *
 * Values with only a known upper bound (n & 3, %tid.x of a given launch) are enumerated, and the
 * maximum number of iterations counts. Values for which the loop is not entered are excluded: a
 * branch before the loop decides that.
 */
#include "engines/ptx/value.h"

#include <string.h>

#define SOURCES      4u         /* registers that an instruction reads */
#define SLICE        48u        /* instructions simulated per iteration */
#define ROUNDS_MAX   (1u << 17) /* more iterations are not simulated */
#define CONSTANT_MAX 12u        /* length of a chain of instructions to a constant */
#define EFFORT_MAX   2000u      /* instructions analysed per branch */
#define CHOICES      4u         /* values with only an upper bound */
#define TRIALS_MAX   4096u      /* combinations of these values */

struct counter {
    const struct ptx_graph *graph;
    const gordian_ptx_question *question;
    uint32_t loop;
    uint8_t *seen;   /* by block: visited, for backward searches */
    uint32_t *stack; /* by block */
    /* The values that the branch depends on: results of instructions of the loop, and registers
     * that are only read. */
    struct slot {
        uint32_t instruction; /* PTX_NONE: not written in the loop */
        uint32_t number;      /* of the register */
        uint64_t value;
        bool known;
        uint32_t sources[SOURCES], slots[SOURCES]; /* registers read, and their slots */
        size_t source_count;
    } slice[SLICE];
    size_t count;
    size_t running;         /* the slot that is being evaluated */
    uint32_t depth, effort; /* of the search for constants */
    struct choice {
        uint32_t instruction;
        uint64_t last, value;
        bool launch; /* a thread or block index */
    } choices[CHOICES];
    size_t choice_count;
    bool settled; /* the choices are complete and are being enumerated */
    bool corners;
    char missing[160];
};

/* ------------------------------------------------------------------ definitions of registers */

struct writer_search {
    uint32_t wanted;
    bool found;
};

static void is_it(void *context, uint32_t number)
{
    struct writer_search *search = context;
    search->found |= number == search->wanted;
}

static bool writes_register(const struct counter *counter, uint32_t instruction, uint32_t number)
{
    const struct ptx_graph *graph = counter->graph;
    struct writer_search search = {number, false};
    ptx_written(graph->ptx, graph->function, &graph->function->code[instruction], is_it, &search);
    return search.found;
}

/* The last instruction of [first, end) that writes the register; PTX_NONE: none. */
static uint32_t last_writer(const struct counter *counter, uint32_t first, uint32_t end,
                            uint32_t number)
{
    while (end > first)
        if (writes_register(counter, --end, number))
            return end;
    return PTX_NONE;
}

/* Pushes the predecessors of a block. If `loop` is not 0, predecessors inside the loop are
 * skipped. */
static size_t push_before(const struct counter *counter, uint32_t block, uint32_t loop, size_t top)
{
    const struct ptx_graph *graph = counter->graph;
    for (uint32_t i = graph->first_before[block]; i < graph->first_before[block + 1]; i++) {
        uint32_t from = graph->befores[i];
        if (graph->blocks[from].order == PTX_NONE || counter->seen[from] ||
            (loop && ptx_in_loop(graph, from, loop)))
            continue;
        counter->seen[from] = 1;
        counter->stack[top++] = from;
    }
    return top;
}

/* The only instruction whose result can be in the register at the start of `block`. If `loop` is
 * not 0, only on paths from outside of it. PTX_NONE: none or several. */
static uint32_t reaching_write(const struct counter *counter, uint32_t block, uint32_t loop,
                               uint32_t number)
{
    const struct ptx_graph *graph = counter->graph;
    uint32_t found = PTX_NONE;
    memset(counter->seen, 0, graph->block_count);
    if (block == graph->entry)
        return PTX_NONE;
    size_t top = push_before(counter, block, loop, 0);
    while (top > 0) {
        uint32_t at = counter->stack[--top];
        uint32_t writer =
            last_writer(counter, graph->blocks[at].first, graph->blocks[at].end, number);
        if (writer == PTX_NONE && at == graph->entry)
            return PTX_NONE; /* not initialized */
        if (writer == PTX_NONE)
            top = push_before(counter, at, 0, top);
        else if (found != PTX_NONE && found != writer)
            return PTX_NONE;
        else
            found = writer;
    }
    return found;
}

/* ------------------------------------------------------------------ external values */

struct reading {
    struct counter *counter;
    uint32_t block, instruction; /* the reading instruction */
};

static bool constant_at(struct counter *counter, uint32_t writer, uint64_t *value);

static bool read_constant(void *context, uint32_t number, uint64_t *value)
{
    const struct reading *reading = context;
    const struct ptx_graph *graph = reading->counter->graph;
    uint32_t writer = last_writer(reading->counter, graph->blocks[reading->block].first,
                                  reading->instruction, number);
    if (writer == PTX_NONE)
        writer = reaching_write(reading->counter, reading->block, 0, number);
    return writer != PTX_NONE && constant_at(reading->counter, writer, value);
}

/* Appends to a comma-separated list without duplicates. */
static void note_missing(void *context, const char *name, size_t length)
{
    struct counter *counter = ((const struct reading *)context)->counter;
    size_t used = strlen(counter->missing);
    for (const char *at = counter->missing; *at;) {
        size_t item = strcspn(at, ",");
        if (item == length && memcmp(at, name, length) == 0)
            return;
        at += item + (at[item] == ',');
    }
    if (used + length + 2 > sizeof counter->missing)
        return;
    if (used > 0)
        counter->missing[used++] = ',';
    memcpy(counter->missing + used, name, length);
    counter->missing[used + length] = '\0';
}

/* If the result of the instruction is one of a few values, enumerates them. */
static bool try_choice(struct counter *counter, uint32_t writer, struct reading *reading,
                       size_t missing, uint64_t *value)
{
    const struct ptx_graph *graph = counter->graph;
    struct choice choice = {.instruction = writer};
    if (counter->settled || counter->choice_count == CHOICES ||
        !ptx_evaluate_bound(graph->ptx, graph->function, &graph->function->code[writer],
                            counter->question, read_constant, reading, &choice.last,
                            &choice.launch) ||
        (!choice.launch && choice.last >= TRIALS_MAX))
        return false;
    counter->missing[missing] = '\0'; /* not needed */
    counter->choices[counter->choice_count++] = choice;
    *value = 0;
    return true;
}

static bool constant_at(struct counter *counter, uint32_t writer, uint64_t *value)
{
    const struct ptx_graph *graph = counter->graph;
    const struct ptx_instruction *instruction = &graph->function->code[writer];
    struct reading reading = {counter, ptx_block_of(graph, writer), writer};
    size_t missing = strlen(counter->missing);
    for (size_t i = 0; i < counter->choice_count; i++)
        if (counter->choices[i].instruction == writer) {
            *value = counter->choices[i].value;
            return true;
        }
    if (instruction->guard != PTX_NONE || counter->depth >= CONSTANT_MAX ||
        counter->effort++ >= EFFORT_MAX)
        return false;
    counter->depth++;
    bool known = ptx_evaluate(graph->ptx, graph->function, instruction, counter->question,
                              read_constant, note_missing, &reading, value) ||
                 try_choice(counter, writer, &reading, missing, value);
    counter->depth--;
    return known;
}

/* ------------------------------------------------------------------ the slice */

/* Is the block executed exactly once in every iteration that continues? */
static bool every_round(const struct counter *counter, uint32_t block)
{
    const struct ptx_graph *graph = counter->graph;
    uint32_t head = graph->loops[counter->loop].head;
    if (graph->blocks[block].loop != counter->loop)
        return false;
    for (size_t i = 0; i < graph->sorted_count; i++) {
        uint32_t from = graph->sorted[i];
        if (!ptx_in_loop(graph, from, counter->loop))
            continue;
        for (uint32_t e = 0; e < graph->blocks[from].next_count; e++)
            if (graph->nexts[graph->blocks[from].first_next + e] == head &&
                !ptx_above(graph, block, from))
                return false;
    }
    return true;
}

/* The only writer inside the loop. PTX_NONE: none. *several: there is more than one. */
static uint32_t writer_inside(const struct counter *counter, uint32_t number, uint32_t *block,
                              bool *several)
{
    const struct ptx_graph *graph = counter->graph;
    uint32_t found = PTX_NONE;
    *several = false;
    for (size_t i = 0; i < graph->sorted_count; i++) {
        uint32_t at = graph->sorted[i];
        if (!ptx_in_loop(graph, at, counter->loop))
            continue;
        for (uint32_t c = graph->blocks[at].first; c < graph->blocks[at].end; c++) {
            if (!writes_register(counter, c, number))
                continue;
            *several |= found != PTX_NONE;
            found = c;
            *block = at;
        }
    }
    return found;
}

/* Finds the value of the register on entry to the loop, if it is known. */
static void enter_sources(struct counter *counter, struct slot *slot)
{
    const struct ptx_graph *graph = counter->graph;
    uint32_t writer =
        reaching_write(counter, graph->loops[counter->loop].head, counter->loop, slot->number);
    slot->known = writer != PTX_NONE && constant_at(counter, writer, &slot->value);
}

static bool add_sources(struct counter *counter, size_t slot);

/* Adds a register read by instruction `use` of `block`. The last writer in the same block counts;
 * otherwise there must be at most one writer in the loop. False: the value cannot be followed. */
static bool add_register(struct counter *counter, uint32_t number, uint32_t block, uint32_t use,
                         uint32_t *found)
{
    const struct ptx_graph *graph = counter->graph;
    bool several = false;
    uint32_t writer = last_writer(counter, graph->blocks[block].first, use, number);
    if (writer == PTX_NONE)
        writer = writer_inside(counter, number, &block, &several);
    if (several)
        return false;
    for (*found = 0; *found < counter->count; ++*found)
        if (counter->slice[*found].number == number && counter->slice[*found].instruction == writer)
            return true;
    if (counter->count == SLICE)
        return false;
    struct slot *slot = &counter->slice[counter->count++];
    *slot = (struct slot){.instruction = writer, .number = number};
    enter_sources(counter, slot);
    if (writer == PTX_NONE)
        return slot->known;
    return graph->function->code[writer].guard == PTX_NONE && every_round(counter, block) &&
           add_sources(counter, *found);
}

static bool add_sources(struct counter *counter, size_t index)
{
    const struct ptx_graph *graph = counter->graph;
    struct slot *slot = &counter->slice[index];
    const struct ptx_instruction *from = &graph->function->code[slot->instruction];
    uint32_t at = from->first, end = at + from->count;
    uint32_t block = ptx_block_of(graph, slot->instruction);
    bool all = true;
    while (at < end && !ptx_is_mark(graph->ptx, at, ','))
        at++; /* skips the result */
    for (; at < end; at++) {
        uint32_t number = ptx_register(graph->ptx, graph->function, from->scope, at), found;
        if (number == PTX_NONE)
            continue;
        if (slot->source_count == SOURCES)
            return false;
        /* If one value is unknown, the others are checked as well, so that all missing values are
         * reported. */
        if (!add_register(counter, number, block, slot->instruction, &found)) {
            all = false;
            continue;
        }
        slot->sources[slot->source_count] = number;
        slot->slots[slot->source_count++] = found;
    }
    return all;
}

/* ------------------------------------------------------------------ running */

static bool read_slice(void *context, uint32_t number, uint64_t *value)
{
    struct counter *counter = context;
    const struct slot *reader = &counter->slice[counter->running];
    for (size_t i = 0; i < reader->source_count; i++)
        if (reader->sources[i] == number) {
            *value = counter->slice[reader->slots[i]].value;
            return counter->slice[reader->slots[i]].known;
        }
    return false;
}

/* Sorts the written slots in execution order. The blocks that every iteration executes dominate
 * each other in this order. */
static size_t sort_slice(const struct counter *counter, size_t slots[SLICE])
{
    const struct ptx_graph *graph = counter->graph;
    size_t count = 0;
    for (size_t i = 0; i < counter->count; i++) {
        uint32_t a = counter->slice[i].instruction;
        if (a == PTX_NONE)
            continue;
        size_t at = count++;
        for (; at > 0; at--) {
            uint32_t b = counter->slice[slots[at - 1]].instruction;
            uint32_t x = graph->blocks[ptx_block_of(graph, a)].order;
            uint32_t y = graph->blocks[ptx_block_of(graph, b)].order;
            if (y < x || (x == y && b < a))
                break;
            slots[at] = slots[at - 1];
        }
        slots[at] = i;
    }
    return count;
}

static bool run_slot(struct counter *counter, size_t slot)
{
    const struct ptx_graph *graph = counter->graph;
    counter->running = slot;
    counter->slice[slot].known = ptx_evaluate(
        graph->ptx, graph->function, &graph->function->code[counter->slice[slot].instruction],
        counter->question, read_slice, NULL, counter, &counter->slice[slot].value);
    return counter->slice[slot].known;
}

/* Simulates iterations until the predicate has the value that exits. Returns their number, 0:
 * unknown. */
static uint64_t run_loop_rounds(struct counter *counter, uint32_t block, uint32_t predicate,
                                bool leaves)
{
    size_t slots[SLICE], count = sort_slice(counter, slots), before = 0;
    const struct ptx_graph *graph = counter->graph;
    /* Instructions executed before the end of the block. */
    while (before < count &&
           graph->blocks[ptx_block_of(graph, counter->slice[slots[before]].instruction)].order <=
               graph->blocks[block].order)
        before++;
    for (uint64_t round = 1; round <= ROUNDS_MAX; round++) {
        for (size_t i = 0; i < before; i++)
            if (!run_slot(counter, slots[i]))
                return 0;
        if (!counter->slice[predicate].known)
            return 0;
        if ((counter->slice[predicate].value != 0) == leaves)
            return round;
        for (size_t i = before; i < count; i++)
            if (!run_slot(counter, slots[i]))
                return 0;
    }
    return 0;
}

/* ------------------------------------------------------------------ unknown values */

/* Is `before` the only predecessor of `block`, apart from back edges? */
static bool comes_from(const struct ptx_graph *graph, uint32_t block, uint32_t before)
{
    for (uint32_t i = graph->first_before[block]; i < graph->first_before[block + 1]; i++) {
        uint32_t from = graph->befores[i];
        if (graph->blocks[from].order != PTX_NONE && from != before &&
            !ptx_above(graph, block, from))
            return false;
    }
    return true;
}

/* With these values, does the branch at the end of `before` go to `block`? True if unknown. */
static bool goes_to(struct counter *counter, uint32_t before, uint32_t block)
{
    const struct ptx_graph *graph = counter->graph;
    const struct ptx_block *at = &graph->blocks[before];
    const struct ptx_instruction *last = ptx_last(graph, before);
    uint64_t holds;
    if (!last || last->guard == PTX_NONE || at->next_count != 2 || last->flow != PTX_BRANCH ||
        graph->nexts[at->first_next] == graph->nexts[at->first_next + 1])
        return true;
    struct reading reading = {counter, before, at->end - 1};
    if (!read_constant(&reading, last->guard, &holds))
        return true;
    bool taken = (holds != 0) != last->negated;
    return graph->nexts[at->first_next + taken] == block;
}

/* Is the loop entered with these values? */
static bool is_entered(struct counter *counter)
{
    const struct ptx_graph *graph = counter->graph;
    uint32_t block = graph->loops[counter->loop].head;
    while (block != graph->entry) {
        uint32_t above = graph->blocks[block].above;
        if (above == PTX_NONE || above == block)
            return true;
        if (comes_from(graph, block, above) && !goes_to(counter, above, block))
            return false;
        block = above;
    }
    return true;
}

/* Advances to the next combination. False: there is none. For large launches only the first and the
 * last thread and block are used. */
static bool next_trial(struct counter *counter)
{
    for (size_t i = 0; i < counter->choice_count; i++) {
        struct choice *choice = &counter->choices[i];
        bool jumps = counter->corners && choice->launch;
        if (choice->value < choice->last) {
            choice->value = jumps ? choice->last : choice->value + 1;
            return true;
        }
        choice->value = 0;
    }
    return false;
}

/* The maximum number of iterations over all values; 0: unknown for one of them. */
static uint64_t try_values(struct counter *counter, uint32_t block, uint32_t predicate, bool leaves)
{
    uint64_t most = 0;
    /* Are there few enough combinations? */
    uint64_t all = 1, few = 1;
    for (size_t i = 0; i < counter->choice_count; i++) {
        const struct choice *choice = &counter->choices[i];
        uint64_t values = choice->last < TRIALS_MAX ? choice->last + 1 : TRIALS_MAX + 1;
        all *= all <= TRIALS_MAX ? values : 1;
        few *= few <= TRIALS_MAX ? choice->launch ? 2 : values : 1;
    }
    counter->corners = all > TRIALS_MAX;
    if (few > TRIALS_MAX)
        return 0;
    counter->settled = true;
    do {
        counter->effort = 0;
        if (!is_entered(counter))
            continue;
        for (size_t i = 0; i < counter->count; i++)
            enter_sources(counter, &counter->slice[i]);
        uint64_t rounds = run_loop_rounds(counter, block, predicate, leaves);
        if (rounds == 0)
            return 0;
        most = rounds > most ? rounds : most;
    } while (next_trial(counter));
    return most;
}

/* If the branch at the end of this block can exit the loop: returns the iterations until it does,
 * 0: unknown. */
static uint64_t count_exit(struct counter *counter, uint32_t block)
{
    const struct ptx_graph *graph = counter->graph;
    const struct ptx_block *at = &graph->blocks[block];
    const struct ptx_instruction *last = ptx_last(graph, block);
    if (!last || last->guard == PTX_NONE || at->next_count != 2 || last->flow == PTX_NEXT ||
        last->flow == PTX_CALL)
        return 0;
    bool stays[2];
    for (size_t i = 0; i < 2; i++) {
        uint32_t next = graph->nexts[at->first_next + i];
        stays[i] = next != PTX_NONE && ptx_in_loop(graph, next, counter->loop);
    }
    if (stays[0] == stays[1] || !every_round(counter, block))
        return 0;
    counter->count = counter->effort = 0;
    counter->choice_count = 0;
    counter->settled = counter->corners = false;
    uint32_t predicate;
    if (!add_register(counter, last->guard, block, at->end - 1, &predicate))
        return 0;
    /* The first successor is the fall-through: the guard is false. */
    bool leaves = stays[0] ? !last->negated : last->negated;
    return counter->choice_count > 0 ? try_values(counter, block, predicate, leaves)
                                     : run_loop_rounds(counter, block, predicate, leaves);
}

gordian_status ptx_count_loop(const struct ptx_graph *graph, uint32_t loop,
                              const gordian_ptx_question *question, struct ptx_count *count,
                              gordian_error *error)
{
    struct counter counter = {.graph = graph, .question = question, .loop = loop};
    counter.stack = memory_alloc(&graph->memory, graph->block_count * sizeof *counter.stack);
    counter.seen = memory_alloc(&graph->memory, graph->block_count);
    bool fine = counter.stack && counter.seen;
    *count = (struct ptx_count){0};
    for (size_t i = 0; fine && i < graph->sorted_count; i++) {
        uint32_t block = graph->sorted[i];
        if (graph->blocks[block].loop != loop)
            continue;
        uint64_t rounds = count_exit(&counter, block);
        if (rounds && (count->passes == 0 || rounds < count->passes)) {
            count->passes = rounds;
            count->at_most = counter.choice_count > 0;
            count->corners = counter.corners;
        }
    }
    memcpy(count->missing, counter.missing, sizeof count->missing);
    memory_free_all(&graph->memory, counter.seen, counter.stack);
    return fine ? GORDIAN_OK : fail_memory(error);
}
