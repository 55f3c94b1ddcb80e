/* The shortest way, in joint firings, to each deadlock described: breadth first over the states
 * found. The states of a level are looked at in the order of their numbers, so the first to lead to
 * a state is the smallest of those one level below that do: that is the way everybody finds. */
#include "base/error.h"
#include "base/memory.h"
#include "compose/cpu.h"

#include <string.h>

struct tracing {
    struct cpu *cpu;
    const struct space *space; /* the states found, ranked */
    uint64_t *before;          /* by number: 1 + the one it was reached from; 0: not reached */
    uint64_t *level, *next;    /* numbers */
    size_t level_count, next_count, level_room, next_room;
    uint64_t from;
    uint64_t wanted; /* deadlocks not reached yet */
    const uint64_t *targets;
    size_t target_count;
    uint64_t *state;
    uint32_t *locals;
    uint64_t steps;
    bool failed;

    uint64_t to; /* finding a label: of the step to this number */
    uint64_t *label;
    bool has_label;
};

static bool is_target(const struct tracing *tracing, uint64_t number)
{
    size_t low = 0, high = tracing->target_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tracing->targets[middle] == number)
            return true;
        if (tracing->targets[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool reach(struct tracing *tracing, uint64_t number, uint64_t before)
{
    if (tracing->before[number])
        return true;
    if (!memory_grow(&tracing->cpu->meter.memory, &tracing->next, &tracing->next_room,
                     tracing->next_count + 1, sizeof *tracing->next)) {
        tracing->failed = true;
        return false;
    }
    tracing->before[number] = before;
    tracing->next[tracing->next_count++] = number;
    if (is_target(tracing, number))
        tracing->wanted--;
    return true;
}

/* Reached from itself: an initial state. */
static void reach_initial(struct tracing *tracing)
{
    const struct cpu *cpu = tracing->cpu;
    initial_first(cpu->circuit, tracing->locals);
    do {
        pack(&cpu->packing, tracing->locals, tracing->state);
        uint64_t number = space_number(tracing->space, tracing->state);
        if (number != UINT64_MAX && !reach(tracing, number, number + 1))
            return;
    } while (initial_next(cpu->circuit, tracing->locals));
}

static bool step(void *context, const struct scene *scene)
{
    struct tracing *tracing = context;
    uint64_t number = space_number(tracing->space, scene->to);
    if (++tracing->steps % 65536 == 0 && !cpu_report(tracing->cpu))
        return false;
    return number == UINT64_MAX || (reach(tracing, number, tracing->from + 1) && tracing->wanted);
}

/* The states after those of the level. */
static bool advance(struct tracing *tracing)
{
    struct scene *scene = &tracing->cpu->scenes[0];
    struct space_walk walk;
    for (size_t i = 0; i < tracing->level_count && tracing->wanted; i++) {
        bool memory;
        tracing->from = tracing->level[i];
        space_seek(&walk, tracing->space, tracing->from, tracing->state, tracing->locals);
        if (!scene_look(scene, tracing->state)) {
            tracing->failed = true;
            return false;
        }
        if (!scene_each(scene, tracing->state, false, step, tracing, &memory)) {
            tracing->failed |= memory;
            return !tracing->failed && !cpu_halted(tracing->cpu) && !tracing->wanted;
        }
    }
    return true;
}

/* Level after level until every deadlock wanted is reached. */
static void search(struct tracing *tracing)
{
    reach_initial(tracing);
    while (tracing->wanted && tracing->next_count > 0 && !tracing->failed) {
        uint64_t *kept = tracing->level;
        size_t room = tracing->level_room;
        tracing->level = tracing->next;
        tracing->level_room = tracing->next_room;
        tracing->level_count = tracing->next_count;
        tracing->next = kept;
        tracing->next_room = room;
        tracing->next_count = 0;
        sort_states(tracing->level, tracing->level_count, 1);
        if (!advance(tracing))
            return;
    }
}

/* ------------------------------------------------------------------ the way back */

static bool compare_label(void *context, const struct scene *scene)
{
    struct tracing *tracing = context;
    const struct circuit *circuit = tracing->cpu->circuit;
    if (space_number(tracing->space, scene->to) != tracing->to)
        return true;
    if (!tracing->has_label ||
        label_compare(scene->label, tracing->label, circuit->label_words, circuit->name_count,
                      circuit->value_bits) < 0)
        memcpy(tracing->label, scene->label, circuit->label_words * sizeof *scene->label);
    tracing->has_label = true;
    return true;
}

/* The smallest label of a step between two states. */
static bool find_label(struct tracing *tracing, uint64_t from, uint64_t to, uint64_t *label)
{
    struct scene *scene = &tracing->cpu->scenes[0];
    struct space_walk walk;
    bool memory;
    tracing->to = to;
    tracing->label = label;
    tracing->has_label = false;
    space_seek(&walk, tracing->space, from, tracing->state, tracing->locals);
    return scene_look(scene, tracing->state) &&
           scene_each(scene, tracing->state, false, compare_label, tracing, &memory);
}

static gordian_status describe(struct tracing *tracing, uint64_t number, const uint64_t *state,
                               const struct space *numbers, struct compose_deadlock *deadlock,
                               gordian_error *error)
{
    struct cpu *cpu = tracing->cpu;
    const gordian_allocator *memory = &cpu->result->allocator;
    size_t words = cpu->circuit->label_words, steps = 0;
    for (uint64_t n = number; tracing->before[n] != n + 1; n = tracing->before[n] - 1)
        steps++;
    *deadlock = (struct compose_deadlock){.number = space_number(numbers, state),
                                          .step_count = steps};
    deadlock->state = memory_alloc(memory, cpu->circuit->factor_count * sizeof(uint32_t));
    deadlock->labels = memory_alloc(memory, steps * words * sizeof(uint64_t));
    bool fine = deadlock->state && deadlock->labels;
    if (fine)
        unpack(&cpu->packing, state, deadlock->state);
    for (uint64_t n = number; fine && steps > 0; n = tracing->before[n] - 1)
        fine = find_label(tracing, tracing->before[n] - 1, n, deadlock->labels + --steps * words);
    if (fine)
        return GORDIAN_OK;
    memory_free(memory, deadlock->state);
    memory_free(memory, deadlock->labels);
    return fail_memory(error);
}

static gordian_status describe_all(struct tracing *tracing, const struct deadlock_list *deadlocks,
                                   const struct space *numbers, gordian_error *error)
{
    struct compose_result *result = tracing->cpu->result;
    gordian_status status = GORDIAN_OK;
    result->found = memory_alloc(&result->allocator, deadlocks->count * sizeof *result->found);
    if (!result->found)
        return fail_memory(error);
    for (size_t i = 0; i < deadlocks->count && status == GORDIAN_OK; i++) {
        if (!tracing->before[tracing->targets[i]])
            continue; /* the search was stopped */
        status = describe(tracing, tracing->targets[i],
                          deadlocks->states + i * tracing->cpu->packing.words, numbers,
                          &result->found[result->found_count], error);
        result->found_count += status == GORDIAN_OK;
    }
    return status;
}

gordian_status cpu_trace(struct cpu *cpu, const struct deadlock_list *deadlocks,
                         const struct space *numbers, gordian_error *error)
{
    const gordian_allocator *memory = &cpu->meter.memory;
    struct tracing tracing = {.cpu = cpu, .space = &cpu->space, .wanted = deadlocks->count};
    uint64_t *targets = memory_alloc(memory, deadlocks->count * sizeof *targets);
    tracing.before = memory_zeroed(memory, cpu->space.count * sizeof *tracing.before);
    tracing.state = memory_alloc(memory, cpu->packing.words * sizeof *tracing.state);
    tracing.locals = memory_alloc(memory, cpu->circuit->factor_count * sizeof *tracing.locals);
    gordian_status status = targets && tracing.before && tracing.state && tracing.locals
                                ? GORDIAN_OK
                                : fail_memory(error);
    if (status == GORDIAN_OK) {
        for (size_t i = 0; i < deadlocks->count; i++)
            targets[i] = space_number(&cpu->space, deadlocks->states + i * cpu->packing.words);
        tracing.targets = targets;
        tracing.target_count = deadlocks->count;
        search(&tracing);
        status = tracing.failed ? fail_memory(error) : GORDIAN_OK;
    }
    if (status == GORDIAN_OK)
        status = describe_all(&tracing, deadlocks, numbers, error);
    memory_free(memory, targets);
    memory_free(memory, tracing.before);
    memory_free(memory, tracing.level);
    memory_free(memory, tracing.next);
    memory_free(memory, tracing.state);
    memory_free(memory, tracing.locals);
    return status;
}
