/*
 * Counts how often each key occurs. The number of different keys is not known in advance.
 *
 *     histogram [COUNT]
 *
 * The bins are elements of a growable array and form chains, one for each hash value. A bin never
 * moves, so other bins can refer to its position, and a chain may have any length. A new bin is
 * filled in first and then published by a compare-and-swap of the head of its chain.
 */
#include "example.h"

struct bin {
    unsigned long long key, count;
    uint64_t next; /* the next bin in the chain, from 1; 0: none */
};

struct histogram {
    struct garray bins;        /* of struct bin */
    unsigned long long *heads; /* the first bin of each chain, from 1; 0: none yet */
    uint32_t chains;
    const uint64_t *keys;
    uint32_t count;
    uint32_t *counted; /* for each key, zeroed: set if an earlier launch has counted it */
};

/* Returns the bin of a key in the chain from `from` up to, not including, `until`, or NULL. Other
 * threads of this kernel have published these bins: GARRAY_SLOT finds them, volatile reads them. */
__device__ struct bin *find_bin(const struct histogram *a, uint64_t key, uint64_t from,
                                uint64_t until)
{
    while (from != until) {
        struct bin *bin = GARRAY_SLOT(struct bin, &a->bins, from - 1);
        volatile struct bin *now = bin;
        if (now->key == key)
            return bin;
        from = now->next;
    }
    return NULL;
}

/* Returns false if there was no memory for a new bin. */
__device__ bool count_key(const struct histogram *a, uint64_t key)
{
    unsigned long long *head = a->heads + key % a->chains;
    unsigned long long first = atomicAdd(head, 0ull), seen = 0;
    struct bin *bin = find_bin(a, key, first, 0);
    struct garray_range mine;
    mine.count = 0;
    while (!bin) {
        if (!mine.count)
            mine = garray_reserve(&a->bins, 1);
        if (!mine.count)
            return false;
        struct bin *added = GARRAY_SLOT(struct bin, &a->bins, mine.first);
        added->key = key;
        added->count = 0; /* stays 0 if a bin of another thread for this key was first */
        added->next = first;
        __threadfence();
        seen = first;
        first = atomicCAS(head, seen, (unsigned long long)mine.first + 1);
        bin = first == seen ? added : find_bin(a, key, first, seen);
    }
    atomicAdd(&bin->count, 1ull);
    return true;
}

__global__ void count_keys(struct histogram a)
{
    uint32_t step = gridDim.x * blockDim.x;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += step)
        if (!a.counted[i] && count_key(&a, a.keys[i]))
            a.counted[i] = 1;
}

static int compare_bins(const void *a, const void *b)
{
    unsigned long long x = ((const struct bin *)a)->key, y = ((const struct bin *)b)->key;
    return x < y ? -1 : x > y;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Reads the array piece by piece, without bins that were too late. Sorts the bins by key. */
static struct bin *read_bins(gordian_array *array, uint64_t size, uint64_t *used)
{
    struct bin *bins = (struct bin *)host_memory((size + 1) * sizeof(struct bin));
    gordian_array_piece piece = {0};
    while (gordian_array_next(array, &piece, NULL) == GORDIAN_OK)
        MUST_CUDA(cudaMemcpy(bins + piece.first, piece.at, piece.count * sizeof(struct bin),
                             cudaMemcpyDeviceToHost));
    *used = 0;
    for (uint64_t i = 0; i < size; i++)
        if (bins[i].count)
            bins[(*used)++] = bins[i];
    qsort(bins, *used, sizeof *bins, compare_bins);
    return bins;
}

/* Checks the bins. Sorts the keys. */
static int check_answer(uint64_t *keys, uint32_t count, const struct bin *bins, uint64_t used)
{
    uint64_t different = 0;
    int wrong = 0;
    qsort(keys, count, sizeof *keys, compare_keys);
    for (uint32_t i = 0, run; i < count; i += run, different++) {
        for (run = 1; i + run < count && keys[i + run] == keys[i]; run++)
            continue;
        wrong |=
            different >= used || bins[different].key != keys[i] || bins[different].count != run;
    }
    return wrong || different != used;
}

int main(int argc, char **argv)
{
    uint32_t count = size_wanted(argc, argv, 1000000), launches = 0;
    uint64_t *keys = (uint64_t *)host_memory((count + 1) * sizeof(uint64_t));
    for (uint32_t i = 0; i < count; i++) /* some keys are frequent, many occur once */
        keys[i] = scrambled(scrambled(i) >> (40 + i % 24));

    gordian_gpu *gpu;
    gordian_array *bins;
    gordian_array_options options;
    gordian_array_options_init(&options);
    options.element = sizeof(struct bin);
    options.capacity = count / 100;
    MUST(gordian_gpu_open(&gpu, 0, NULL, &error));
    MUST(gordian_array_create(&bins, gpu, &options, &error));

    struct histogram a;
    gordian_array_count result;
    a.chains = count / 4 + 1;
    a.heads = (unsigned long long *)device_zeroed(a.chains * sizeof *a.heads);
    a.keys = (const uint64_t *)device_copy(keys, (count + 1) * sizeof(uint64_t));
    a.count = count;
    a.counted = (uint32_t *)device_zeroed((count + 1) * sizeof(uint32_t));
    do {
        MUST(gordian_array_begin(bins, &a.bins, &error));
        count_keys<<<64, 128>>>(a);
        MUST_CUDA(cudaDeviceSynchronize());
        MUST(gordian_array_end(bins, &result, &error));
        launches++;
    } while (result.refused);

    uint64_t used;
    struct bin *here = read_bins(bins, result.size, &used);
    int wrong = check_answer(keys, count, here, used);
    printf("%u keys, %llu different ones, %u launches: %s\n", count, (unsigned long long)used,
           launches, wrong ? "wrong" : "right");
    gordian_array_destroy(bins);
    gordian_gpu_close(gpu);
    MUST_CUDA(cudaFree(a.heads));
    MUST_CUDA(cudaFree((void *)a.keys));
    MUST_CUDA(cudaFree(a.counted));
    free(here);
    free(keys);
    return wrong;
}
