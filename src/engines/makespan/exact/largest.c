/* Encodes states of runs as words (largest.h). */
#include "engines/makespan/exact/largest.h"

static uint32_t bits_to_hold(uint32_t most)
{
    return most ? 32 - (uint32_t)__builtin_clz(most) : 0;
}

void largest_lay_out(struct largest_layout *layout, const struct makespan_model *model)
{
    uint32_t at = 0;
    *layout = (struct largest_layout){.bits = UINT32_MAX};
    if (model->run_count > ABSTRACTION_MAX_BLOCKS)
        return;
    for (uint32_t b = 0; b < model->run_count; b++) {
        const struct makespan_run *run = &model->runs[b];
        struct largest_field *field = &layout->fields[b];
        field->warps_at = at;
        field->warps_bits = bits_to_hold(model->warps);
        field->work_at = at += field->warps_bits;
        field->work_bits = bits_to_hold(model->warps * (run->length - 1));
        field->largest_at = at += field->work_bits;
        field->largest_bits = model->units[run->type] > 1 ? bits_to_hold(run->length - 1) : 0;
        at += field->largest_bits;
    }
    layout->bits = at;
}
