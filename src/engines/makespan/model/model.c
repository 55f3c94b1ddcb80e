/* Builds the normalised model from a problem (model.h). */
#include "engines/makespan/model/model.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

/* The normalised figures of a letter. */
struct kind {
    uint32_t units;  /* starts per cycle; 0: none */
    uint64_t repeat; /* most instructions for one in the kernel */
    uint64_t least;  /* and fewest */
    bool known;
};

/* The bounds of a unit's latency. */
static uint32_t least_latency(const gordian_unit *unit)
{
    return unit->latency ? unit->latency : 1;
}

static uint32_t most_latency(const gordian_unit *unit)
{
    return unit->latency_most ? unit->latency_most : least_latency(unit);
}

uint32_t gordian_unit_starts(const gordian_unit *unit, uint32_t warp_size, uint64_t *cycles)
{
    *cycles = most_latency(unit);
    warp_size = warp_size ? warp_size : 32;
    if (unit->units || !unit->lanes)
        return unit->units;
    if (unit->lanes < warp_size)
        *cycles *= (warp_size + (uint64_t)unit->lanes - 1) / unit->lanes;
    return unit->lanes < warp_size ? 1 : unit->lanes / warp_size;
}

static gordian_status take_unit(struct kind *kinds, const gordian_unit *unit, uint32_t warp_size,
                                gordian_error *error)
{
    if (unit->letter < 'A' || unit->letter > 'Z')
        return fail(error, GORDIAN_STATUS_INPUT, "a unit's letter is one of A to Z");
    struct kind *kind = &kinds[unit->letter - 'A'];
    if (kind->known)
        return fail(error, GORDIAN_STATUS_INPUT, "the units '%c' are given twice", unit->letter);
    if (most_latency(unit) < least_latency(unit))
        return fail(error, GORDIAN_STATUS_INPUT, "the latency of '%c' ends before it begins",
                    unit->letter);
    gordian_unit shortest = *unit;
    shortest.latency_most = 0;
    kind->known = true;
    kind->units = gordian_unit_starts(unit, warp_size, &kind->repeat);
    gordian_unit_starts(&shortest, warp_size, &kind->least);
    return GORDIAN_OK;
}

/* Checks the letters of the kernel and measures its normalised length. */
static gordian_status measure_kinds(const struct kind *kinds,
                                    const gordian_makespan_problem *problem, uint64_t *length,
                                    gordian_error *error)
{
    *length = 0;
    if (problem->length == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "the kernel is empty");
    for (size_t i = 0; i < problem->length; i++) {
        unsigned char letter = (unsigned char)problem->kernel[i];
        if (letter < 'A' || letter > 'Z') {
            bool plain = letter > ' ' && letter < 127;
            return fail(error, GORDIAN_STATUS_INPUT,
                        plain ? "kernel, character %zu: '%c' is not a letter from A to Z"
                              : "kernel, character %zu: byte %u is not a letter from A to Z",
                        i + 1, letter);
        }
        if (kinds[letter - 'A'].units == 0)
            return fail(error, GORDIAN_STATUS_INPUT,
                        "kernel, character %zu: there are no units for '%c'", i + 1, letter);
        *length += kinds[letter - 'A'].repeat;
        if (*length > MAKESPAN_MAX_LENGTH)
            return fail(error, GORDIAN_STATUS_INPUT,
                        "the normalised kernel is longer than %d instructions",
                        MAKESPAN_MAX_LENGTH);
    }
    return GORDIAN_OK;
}

static gordian_status check_problem(const gordian_makespan_problem *problem, struct kind *kinds,
                                    uint64_t *length, gordian_error *error)
{
    for (size_t i = 0; i < problem->unit_count; i++)
        TRY(take_unit(kinds, &problem->units[i], problem->warp_size, error));
    TRY(measure_kinds(kinds, problem, length, error));
    if (problem->issue > GORDIAN_MAKESPAN_MAX_ISSUE)
        return fail(error, GORDIAN_STATUS_INPUT, "a warp starts at most %d instructions a cycle",
                    GORDIAN_MAKESPAN_MAX_ISSUE);
    if (problem->warps == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "there must be at least one warp");
    if (problem->warps > MAKESPAN_MAX_WARPS)
        return fail(error, GORDIAN_STATUS_INPUT, "%u warps are too many: at most %d are supported",
                    problem->warps, MAKESPAN_MAX_WARPS);
    if (*length * problem->warps > MAKESPAN_MAX_WORK)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%u warps of %llu instructions are more than %d in all", problem->warps,
                    (unsigned long long)*length, MAKESPAN_MAX_WORK);
    return GORDIAN_OK;
}

static bool allocate_strings(struct makespan_model *model, uint32_t length)
{
    model->string = memory_alloc(&model->memory, length);
    model->text = memory_alloc(&model->memory, (size_t)length + 1);
    model->marks = memory_alloc(&model->memory, length);
    model->runs = memory_alloc(&model->memory, length * sizeof *model->runs);
    return model->string && model->text && model->marks && model->runs;
}

/* Types are numbered in the order of their letters, among those that occur. */
static void number_types(struct makespan_model *model, const struct kind *kinds,
                         const gordian_makespan_problem *problem, uint8_t *number)
{
    bool occurs[MAKESPAN_TYPES] = {false};
    for (size_t i = 0; i < problem->length; i++)
        occurs[problem->kernel[i] - 'A'] = true;
    uint64_t sum = 0;
    for (uint32_t letter = 0; letter < MAKESPAN_TYPES; letter++) {
        if (!occurs[letter])
            continue;
        uint32_t type = model->types++;
        number[letter] = (uint8_t)type;
        model->letters[type] = (char)('A' + letter);
        model->given[type] = kinds[letter].units;
        uint32_t most = model->warps * model->issue;
        model->units[type] = kinds[letter].units < most ? kinds[letter].units : most;
        sum += model->units[type];
    }
    if (model->issue >
        1) /* schedulers are for warps, and a warp may need only one unit per cycle */
        sum = model->warps;
    model->schedulers = problem->schedulers;
    model->bounded = problem->schedulers && problem->schedulers < sum;
    model->sigma = model->bounded ? problem->schedulers : (uint32_t)sum;
    if (model->sigma > model->warps)
        model->sigma = model->warps;
}

static void write_string(struct makespan_model *model, const struct kind *kinds,
                         const gordian_makespan_problem *problem, const uint8_t *number)
{
    for (size_t i = 0; i < problem->length; i++) {
        uint32_t letter = (uint32_t)(problem->kernel[i] - 'A'), type = number[letter];
        for (uint64_t r = 0; r < kinds[letter].repeat; r++) {
            bool optional = r >= kinds[letter].least;
            model->marks[model->length] =
                (uint8_t)((r == 0 ? MODEL_FIRST : 0) | (optional ? MODEL_OPTIONAL : 0));
            model->text[model->length] = problem->kernel[i];
            model->string[model->length++] = (uint8_t)type;
            model->counts[type]++;
            model->least_length += !optional;
            model->least_counts[type] += !optional;
            model->relaxed |= optional;
        }
    }
    model->text[model->length] = '\0';
    model->work = model->warps * model->length;
    for (uint32_t i = 0; i < model->length; i++) {
        if (i == 0 || model->string[i] != model->string[i - 1])
            model->runs[model->run_count++] =
                (struct makespan_run){.first = i, .type = model->string[i]};
        model->runs[model->run_count - 1].length++;
    }
}

gordian_status model_open(struct makespan_model **out, const gordian_makespan_problem *problem,
                          const gordian_allocator *allocator, gordian_error *error)
{
    *out = NULL;
    struct kind kinds[MAKESPAN_TYPES] = {{0}};
    uint64_t length;
    TRY(check_problem(problem, kinds, &length, error));
    gordian_allocator memory = memory_allocator(allocator);
    struct makespan_model *model = memory_zeroed(&memory, sizeof *model);
    if (!model)
        return fail_memory(error);
    model->memory = memory;
    model->warps = problem->warps;
    model->issue = problem->issue ? problem->issue : 1;
    model->relaxed = model->issue > 1;
    if (!allocate_strings(model, (uint32_t)length)) {
        model_close(model);
        return fail_memory(error);
    }
    uint8_t number[MAKESPAN_TYPES] = {0};
    number_types(model, kinds, problem, number);
    write_string(model, kinds, problem, number);
    *out = model;
    return GORDIAN_OK;
}

void model_close(struct makespan_model *model)
{
    if (!model)
        return;
    gordian_allocator memory = model->memory;
    memory_free_all(&memory, model->string, model->text, model->marks, model->runs, model);
}
