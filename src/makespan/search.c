#include "makespan/search.h"

/* The time needs the bits of the longest schedule. */
unsigned search_time_bits(const struct makespan_model *model)
{
    uint32_t most = model_upper_bound(model);
    return 32 - (unsigned)__builtin_clz(most);
}

unsigned search_bits(const struct makespan_model *model)
{
    uint32_t bits = model->warps + model->length + search_time_bits(model);
    return bits <= 64 ? 64 : bits <= 128 ? 128 : 0;
}

gordian_status search_sweep(const struct search *search, uint64_t most, uint32_t *value,
                            gordian_error *error)
{
    if (search_bits(search->model) == 0)
        return GORDIAN_STATUS_END;
    return search_bits(search->model) == 64 ? search_sweep_64(search, most, value, error)
                                            : search_sweep_128(search, most, value, error);
}

gordian_status search_dive(const struct search *search, uint32_t target, uint64_t most,
                           uint8_t *order, bool *found, gordian_error *error)
{
    if (search_bits(search->model) == 0)
        return GORDIAN_STATUS_END;
    return search_bits(search->model) == 64
               ? search_dive_64(search, target, most, order, found, error)
               : search_dive_128(search, target, most, order, found, error);
}
