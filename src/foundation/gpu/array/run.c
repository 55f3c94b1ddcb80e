/* Repeats launches until all elements fit. */
#include "foundation/gpu/array/array_internal.h"

#include <inttypes.h>

/* Grows by half more than was refused, or, if there is less memory, by as much as there is.
 * GORDIAN_STATUS_MEMORY: it cannot grow at all. */
static gordian_status grow_by_refused(struct gpu_array *array, const struct gpu_array_count *count,
                                      gordian_error *error)
{
    uint64_t least = count->size + count->refused, target = least + least / 2;
    gordian_status status = GORDIAN_OK;
    target = target < array->most ? target : array->most;
    while (target > count->size && status != GORDIAN_STATUS_IO) {
        status = gpu_array_reserve(array, target, error);
        if (status == GORDIAN_OK)
            return GORDIAN_OK;
        target = target > least ? least : count->size + (target - count->size) / 2;
    }
    return status != GORDIAN_OK ? status
                                : fail(error, GORDIAN_STATUS_MEMORY,
                                       "the array is full: %" PRIu64 " elements", array->most);
}

gordian_status array_follow_up(struct gpu_array *array, struct gpu_array_count *count,
                               gordian_error *error)
{
    watch_pause(array);
    gordian_status status = gpu_array_settle(array, count, error);
    if (status != GORDIAN_OK || count->refused == 0)
        return status;
    return grow_by_refused(array, count, error);
}

static gordian_status launch_once(struct gpu_array *const *arrays, unsigned count,
                                  const struct gpu_launch *launch, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    for (unsigned i = 0; i < count && status == GORDIAN_OK; i++)
        status = watch_resume(arrays[i], error);
    THEN(status, gpu_launch(arrays[0]->gpu, launch, error));
    return status != GORDIAN_OK ? status : gpu_wait(arrays[0]->gpu, error);
}

/* Every array is settled, whatever happens to the others. So none is left with a running watch, or
 * with refusals that would be attributed to the next launch. */
gordian_status gpu_array_run(struct gpu_array *const *arrays, unsigned count,
                             const struct gpu_launch *launch, unsigned *launches,
                             gordian_error *error)
{
    bool again = true;
    unsigned done = 0;
    gordian_status status = GORDIAN_OK;
    if (launch->service || count == 0)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "only kernels that end, with at least one array, can be run");
    while (again && status == GORDIAN_OK) {
        again = false;
        status = launch_once(arrays, count, launch, error);
        done += status == GORDIAN_OK;
        for (unsigned i = 0; i < count; i++) {
            struct gpu_array_count left = {0};
            gordian_status its = array_follow_up(arrays[i], &left, status ? NULL : error);
            status = status != GORDIAN_OK ? status : its;
            again |= left.refused != 0;
        }
    }
    if (launches)
        *launches = done;
    return status;
}
