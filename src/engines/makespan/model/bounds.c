/* Bounds in closed form; model.h proves them. */
#include "engines/makespan/model/model.h"

static uint32_t smaller_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t model_upper_bound(const struct makespan_model *model)
{
    uint64_t others = model->warps - 1, held = 0, rest = 0;
    for (uint32_t type = 0; type < model->types; type++) {
        uint64_t work = others * model->counts[type];
        uint32_t units = model->units[type];
        uint32_t starts = model->bounded ? smaller_of(units, model->sigma) : units;
        /* That many other warps are needed to delay the last one. */
        uint64_t cycles = starts <= others * model->issue ? work / starts : 0;
        held += cycles;
        rest += work - cycles * starts;
    }
    if (model->bounded && model->sigma <= others)
        held += rest / model->sigma;
    return (uint32_t)(model->length + held);
}

/* The cycles of one warp alone, without optional pieces, with as many instructions per cycle as
 * allowed. In order, running more now is never worse later. */
static uint32_t alone_relaxed(const struct makespan_model *model)
{
    uint32_t cycles = 0, issued = 0, used[MAKESPAN_TYPES] = {0};
    for (uint32_t p = 0; p < model->length; p++) {
        uint32_t type = model->string[p];
        if (model->marks[p] & MODEL_OPTIONAL)
            continue;
        bool joins = cycles > 0 && issued < model->issue && (model->marks[p] & MODEL_FIRST) &&
                     used[type] < model->units[type];
        if (!joins) {
            cycles++;
            issued = 0;
            for (uint32_t t = 0; t < model->types; t++)
                used[t] = 0;
        }
        issued++;
        used[type]++;
    }
    return cycles;
}

uint32_t model_lower_bound(const struct makespan_model *model)
{
    if (model->relaxed) {
        /* No schedule is shorter than a warp alone, than all work over what a cycle can do, or than
         * a type's work over its units, with the shortest latencies. */
        uint64_t starts = (uint64_t)model->sigma * model->issue, bound = alone_relaxed(model);
        uint64_t work = (uint64_t)model->warps * model->least_length;
        if (bound < (work + starts - 1) / starts)
            bound = (work + starts - 1) / starts;
        for (uint32_t type = 0; type < model->types; type++) {
            uint64_t own = (uint64_t)model->warps * model->least_counts[type];
            uint64_t cycles = (own + model->units[type] - 1) / model->units[type];
            bound = bound < cycles ? cycles : bound;
        }
        return (uint32_t)bound;
    }
    uint32_t starts = smaller_of(model->sigma, model->warps);
    uint64_t bound = (model->work + (uint64_t)starts - 1) / starts;
    if (bound < model->length)
        bound = model->length;
    for (uint32_t type = 0; type < model->types; type++) {
        /* The work of a type takes this long, after what every warp has before it and before what
         * comes after it. */
        uint32_t before = 0, after = 0;
        while (model->string[before] != type)
            before++;
        while (model->string[model->length - 1 - after] != type)
            after++;
        uint64_t work = (uint64_t)model->warps * model->counts[type];
        starts = smaller_of(model->units[type], model->sigma);
        uint64_t other = before + (work + starts - 1) / starts + after;
        if (bound < other)
            bound = other;
    }
    return (uint32_t)bound;
}
