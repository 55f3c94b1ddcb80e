/* The exact search for words of 64 and 128 bits, over real states and over states of sums and
 * largest remainders (search.h, largest.h): instantiates the templates. */
#include "engines/makespan/exact/search.h"

#include "engines/makespan/exact/candidates.h"
#include "engines/makespan/exact/largest.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/sort.h"

#include <string.h>

__extension__ typedef unsigned __int128 word_128;

#define WORD_BITS 64
#define WORD      uint64_t
#define NAME(x)   x##_64
#include "engines/makespan/exact/expand_body.h"

#include "engines/makespan/exact/hash_body.h"

#include "engines/makespan/exact/depth_first_body.h"
#include "engines/makespan/exact/sweep_body.h"
#undef NAME

#define NAME(x) x##_largest_64
#include "engines/makespan/exact/largest_body.h"

#include "engines/makespan/exact/hash_body.h"

#include "engines/makespan/exact/sweep_body.h"
#undef NAME
#undef WORD
#undef WORD_BITS

#define WORD_BITS 128
#define WORD      word_128
#define NAME(x)   x##_128
#include "engines/makespan/exact/expand_body.h"

#include "engines/makespan/exact/hash_body.h"

#include "engines/makespan/exact/depth_first_body.h"
#include "engines/makespan/exact/sweep_body.h"
#undef NAME

#define NAME(x) x##_largest_128
#include "engines/makespan/exact/largest_body.h"

#include "engines/makespan/exact/hash_body.h"

#include "engines/makespan/exact/sweep_body.h"

/* The time needs enough bits for the longest schedule. */
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

gordian_status search_dfs(const struct search *search, uint32_t target, uint64_t most,
                          uint8_t *order, bool *found, gordian_error *error)
{
    if (search_bits(search->model) == 0)
        return GORDIAN_STATUS_END;
    return search_bits(search->model) == 64
               ? search_dfs_64(search, target, most, order, found, error)
               : search_dfs_128(search, target, most, order, found, error);
}

static unsigned largest_bits(const struct makespan_model *model)
{
    struct largest_layout layout;
    largest_lay_out(&layout, model);
    if (layout.bits == UINT32_MAX)
        return 0;
    uint32_t bits = layout.bits + search_time_bits(model);
    return bits <= 64 ? 64 : bits <= 128 ? 128 : 0;
}

bool search_tightens(const struct search *search)
{
    return search->table->abstraction->block_count == search->model->run_count &&
           largest_bits(search->model) != 0;
}

gordian_status search_tighten(const struct search *search, uint64_t most, gordian_error *error)
{
    gordian_makespan_goal goal = search->table->goal;
    uint32_t value = 0, known = watch_best(search->watch, goal);
    TRY(largest_bits(search->model) == 64 ? search_sweep_largest_64(search, most, &value, error)
                                          : search_sweep_largest_128(search, most, &value, error));
    watch_bound(search->watch, goal, value ? value : known);
    return GORDIAN_OK;
}
