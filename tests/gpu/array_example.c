/* The example of docs/guide/garray.md. */
#include "array_example.h"

#include <stdlib.h>

gordian_status find_divisors(struct gpu *gpu, uint32_t count, struct pair **pairs, uint64_t *size,
                             gordian_error *error)
{
    struct gpu_array_options options = {.mode = GPU_ARRAY_CHUNKED, .element = sizeof(struct pair)};
    struct gpu_array *array;
    struct gpu_array_count result = {0};
    gpu_address marks = 0;
    gordian_status status = gpu_array_create(&array, gpu, &options, error);
    if (status != GORDIAN_OK)
        return status;
    status = gpu_alloc(gpu, &marks, count * sizeof(uint32_t), error);
    if (status == GORDIAN_OK)
        status = gpu_zero(gpu, marks, count * sizeof(uint32_t), error);
    struct array_example_arguments arguments = {gpu_array_view(array), marks, count};
    struct gpu_launch launch = {.kernel = "array_example",
                                .blocks = 4,
                                .threads = 64,
                                .arguments = &arguments,
                                .arguments_size = sizeof arguments};
    if (status == GORDIAN_OK) /* grows and launches again until all are there */
        status = gpu_array_run(&array, 1, &launch, NULL, error);
    if (status == GORDIAN_OK)
        status = gpu_array_settle(array, &result, error);
    *size = result.size;
    *pairs = malloc(result.size * sizeof(struct pair) + 1);
    if (status == GORDIAN_OK)
        status = *pairs ? gpu_array_read(array, *pairs, 0, *size, error) : fail_memory(error);
    gpu_free(gpu, marks);
    gpu_array_destroy(array);
    return status;
}
