/*
 * Selects the numbers below 90 from numbers in [0, 99]. Their count is not known in advance.
 *
 *     filter [COUNT]
 *
 * The array starts without memory. The first launch determines how much is needed. The next launch
 * resumes where memory ran out, because every thread has a mark that counts its stored numbers.
 */
#include "example.h"

#define EACH  16 /* consecutive numbers that a thread examines */
#define BELOW 90

struct filter {
    struct garray kept; /* of uint32_t */
    const uint32_t *numbers;
    uint32_t count;
    uint32_t *marks; /* one for EACH numbers, zeroed */
};

/* Returns how many of the numbers of a thread are kept. */
__device__ uint32_t count_kept(const struct filter *a, uint32_t first)
{
    uint32_t kept = 0;
    for (uint32_t i = first; i < first + EACH && i < a->count; i++)
        kept += a->numbers[i] < BELOW;
    return kept;
}

/* Blocks consist of whole warps. A warp reserves for its lanes with one atomic operation. */
__global__ void keep_below(struct filter a)
{
    uint32_t jobs = (a.count + EACH - 1) / EACH, step = gridDim.x * blockDim.x;
    for (uint32_t job = blockIdx.x * blockDim.x + threadIdx.x; job - threadIdx.x % 32 < jobs;
         job += step) {
        uint32_t *mark = job < jobs ? a.marks + job : NULL;
        struct garray_part part =
            garray_resume_warp(&a.kept, 0xffffffff, mark, count_kept(&a, job * EACH));
        uint32_t output = 0;
        for (uint32_t i = job * EACH; i < job * EACH + EACH && i < a.count; i++) {
            if (a.numbers[i] >= BELOW)
                continue;
            if (output >= part.skip && output - part.skip < part.count)
                *GARRAY_SLOT(uint32_t, &a.kept, part.first + (output - part.skip)) = a.numbers[i];
            output++;
        }
    }
}

/* Copies the array to contiguous device memory, for use by any library, and then to the host. */
static uint32_t *copy_out(gordian_array *kept, uint64_t size)
{
    void *flat = device_memory(size * sizeof(uint32_t) + 1);
    uint32_t *here = (uint32_t *)host_memory(size * sizeof(uint32_t) + 1);
    MUST(gordian_array_flatten(kept, flat, 0, size, &error));
    MUST_CUDA(cudaMemcpy(here, flat, size * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    MUST_CUDA(cudaFree(flat));
    return here;
}

/* Checks that each number occurs as often as in the input. */
static int check_answer(const uint32_t *numbers, uint32_t count, const uint32_t *kept,
                        uint64_t size)
{
    int64_t differ[100] = {0};
    int wrong = 0;
    for (uint32_t i = 0; i < count; i++)
        differ[numbers[i]] += numbers[i] < BELOW;
    for (uint64_t i = 0; i < size; i++) {
        if (kept[i] < 100)
            differ[kept[i]]--;
        else
            wrong = 1;
    }
    for (uint32_t x = 0; x < 100; x++)
        wrong |= differ[x] != 0;
    return wrong;
}

int main(int argc, char **argv)
{
    uint32_t count = size_wanted(argc, argv, 1000000), launches = 0;
    uint32_t *numbers = (uint32_t *)host_memory((count + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = (uint32_t)(scrambled(i) % 100);

    gordian_gpu *gpu;
    gordian_array *kept;
    gordian_array_options options;
    gordian_array_options_init(&options);
    options.element = sizeof(uint32_t);
    MUST(gordian_gpu_open(&gpu, 0, NULL, &error));
    MUST(gordian_array_create(&kept, gpu, &options, &error));

    struct filter a;
    gordian_array_count result;
    a.numbers = (const uint32_t *)device_copy(numbers, (count + 1) * sizeof(uint32_t));
    a.count = count;
    a.marks = (uint32_t *)device_zeroed((count / EACH + 1) * sizeof(uint32_t));
    do {
        MUST(gordian_array_begin(kept, &a.kept, &error));
        keep_below<<<64, 128>>>(a);
        MUST_CUDA(cudaDeviceSynchronize());
        MUST(gordian_array_end(kept, &result, &error));
        launches++;
    } while (result.refused);

    uint32_t *here = copy_out(kept, result.size);
    int wrong = check_answer(numbers, count, here, result.size);
    printf("%u numbers, %llu kept, %u launches: %s\n", count, (unsigned long long)result.size,
           launches, wrong ? "wrong" : "right");
    gordian_array_destroy(kept);
    gordian_gpu_close(gpu);
    MUST_CUDA(cudaFree((void *)a.numbers));
    MUST_CUDA(cudaFree(a.marks));
    free(here);
    free(numbers);
    return wrong;
}
