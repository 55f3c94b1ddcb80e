/* Tests of growable arrays: fills one with elements that tell what they must be, and looks for
 * those lost, doubled or torn. */
#ifndef GORDIAN_TESTS_GPU_ARRAY_TRIAL_H
#define GORDIAN_TESTS_GPU_ARRAY_TRIAL_H

#include "device.h"
#include "foundation/gpu/array/array.h"
#include "kernels/array_selftest.h"
#include "progress.h"

/* How kernel array_fill is launched. */
struct trial {
    enum array_selftest_way way;
    uint32_t start, items, each;
    unsigned blocks, threads;
    bool service;
};

/* How many outputs there are in all. */
uint64_t trial_outputs(const struct trial *trial);
/* Zeroed marks, enough for the trial; to be freed by the caller. */
gpu_address trial_marks(struct gpu *gpu, const struct trial *trial);
struct array_fill_arguments trial_arguments(const struct trial *trial,
                                            const struct gpu_array *array, gpu_address marks);
struct gpu_launch trial_launch(const struct trial *trial,
                               const struct array_fill_arguments *arguments);
/* Launches it once. */
void trial_run(struct gpu *gpu, const struct trial *trial, const struct gpu_array *array,
               gpu_address marks);

/* The array holds outputs of the trials, each at most once; `all`: each exactly once. */
void trial_check(struct gpu *gpu, const struct trial *trials, unsigned count,
                 struct gpu_array *array, bool all);
/* The same of elements that are here. */
void trial_check_elements(const struct trial *trials, unsigned count, uint32_t element,
                          const unsigned char *stored, uint64_t stored_count, bool all);

bool way_has_marks(enum array_selftest_way way);
bool way_pushes(enum array_selftest_way way); /* one output an item at most */

#endif
