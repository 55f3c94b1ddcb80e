/* Bounds in closed form: model.h says why they hold. */
#include "makespan/model.h"

static uint32_t smaller_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t model_upper_bound(const struct makespan_model *model)
{
    uint64_t others = model->warps - 1, held = 0, rest = 0;
    for (uint32_t type = 0; type < model->types; type++) {
        uint64_t work = others * model->counts[type];
        uint32_t starts = smaller_of(model->units[type], model->sigma);
        /* So many others are needed to keep the last one waiting. */
        uint64_t cycles = starts <= others ? work / starts : 0;
        held += cycles;
        rest += work - cycles * starts;
    }
    if (model->bounded && model->sigma <= others)
        held += rest / model->sigma;
    return (uint32_t)(model->length + held);
}

/* A type's work takes so long, after what every warp has before it and before what comes after. */
static uint64_t type_bound(const struct makespan_model *model, uint32_t type)
{
    uint32_t before = 0, after = 0;
    while (model->string[before] != type)
        before++;
    while (model->string[model->length - 1 - after] != type)
        after++;
    uint64_t work = (uint64_t)model->warps * model->counts[type];
    uint32_t starts = smaller_of(model->units[type], model->sigma);
    return before + (work + starts - 1) / starts + after;
}

uint32_t model_lower_bound(const struct makespan_model *model)
{
    uint32_t starts = smaller_of(model->sigma, model->warps);
    uint64_t bound = (model->work + (uint64_t)starts - 1) / starts;
    if (bound < model->length)
        bound = model->length;
    for (uint32_t type = 0; type < model->types; type++) {
        uint64_t other = type_bound(model, type);
        if (bound < other)
            bound = other;
    }
    return (uint32_t)bound;
}
