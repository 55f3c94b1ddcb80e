/*
 * Computes the distance of every vertex from the first one by breadth-first search.
 *
 *     frontier [VERTICES]
 *
 * The queue is one growable array: the kernel reads the last level, whose elements do not move,
 * and pushes the next level after it. It is a flat array. A library thread maps memory for it while
 * the kernel runs. If there was no memory for a vertex, the vertex is marked as unknown again, and
 * the level is launched once more.
 */
#include "example.h"

#define DEGREE  5u
#define UNKNOWN UINT32_MAX

struct search {
    struct garray queue;  /* of uint32_t: vertices */
    uint64_t first, last; /* range of the last level in the queue */
    uint32_t level;       /* of the vertices that are found now */
    uint32_t vertices;
    const uint32_t *targets; /* DEGREE targets for each vertex */
    uint32_t *distances;     /* UNKNOWN at first */
};

__global__ void visit_level(struct search a)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = a.first + blockIdx.x * blockDim.x + threadIdx.x; i < a.last; i += step) {
        uint32_t vertex = *GARRAY_AT(uint32_t, &a.queue, i);
        for (uint32_t k = 0; k < DEGREE; k++) {
            uint32_t target = a.targets[vertex * DEGREE + k];
            if (atomicCAS(a.distances + target, UNKNOWN, a.level) != UNKNOWN)
                continue;
            uint32_t *slot = GARRAY_PUSH(uint32_t, &a.queue);
            if (slot)
                *slot = target;
            else
                atomicExch(a.distances + target, UNKNOWN);
        }
    }
}

/* Computes the distance of each vertex sequentially on the host. */
static uint32_t *search_here(const uint32_t *targets, uint32_t vertices)
{
    uint32_t *distances = (uint32_t *)host_memory(vertices * sizeof(uint32_t));
    uint32_t *queue = (uint32_t *)host_memory(vertices * sizeof(uint32_t));
    uint32_t first = 0, last = 1;
    for (uint32_t i = 0; i < vertices; i++)
        distances[i] = UNKNOWN;
    queue[0] = 0;
    distances[0] = 0;
    for (; first < last; first++) {
        for (uint32_t k = 0; k < DEGREE; k++) {
            uint32_t target = targets[queue[first] * DEGREE + k];
            if (distances[target] != UNKNOWN)
                continue;
            distances[target] = distances[queue[first]] + 1;
            queue[last++] = target;
        }
    }
    free(queue);
    return distances;
}

/* Checks that every reached vertex is in the queue once, after all nearer ones. Overwrites
 * `expected`. */
static int check_answer(gordian_array *queue, uint64_t size, const struct search *a,
                        uint32_t *expected)
{
    uint32_t *found = (uint32_t *)host_memory(a->vertices * sizeof(uint32_t));
    uint32_t *order = (uint32_t *)host_memory(size * sizeof(uint32_t));
    uint64_t reached = 0;
    int wrong = 0;
    MUST_CUDA(
        cudaMemcpy(found, a->distances, a->vertices * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    MUST(gordian_array_read(queue, order, 0, size, &error));
    for (uint32_t i = 0; i < a->vertices; i++) {
        wrong |= found[i] != expected[i];
        reached += expected[i] != UNKNOWN;
    }
    for (uint64_t i = 1; i < size; i++)
        wrong |= order[i] >= a->vertices || found[order[i - 1]] > found[order[i]];
    for (uint64_t i = 0; i < size && !wrong; i++) {
        wrong |= expected[order[i]] == UNKNOWN; /* a duplicate */
        expected[order[i]] = UNKNOWN;
    }
    free(found);
    free(order);
    return wrong || reached != size;
}

/* Runs level after level until a level is empty. Returns the number of launches. */
static uint32_t search_all(gordian_array *queue, struct search *a, uint64_t *size)
{
    uint32_t launches = 0, start = 0;
    gordian_array_count result = {0};
    MUST(gordian_array_append(queue, &start, 1, &error));
    a->level = 0;
    a->first = a->last = 0;
    for (*size = 1; a->last < *size || result.refused; *size = result.size) {
        if (!result.refused) {
            a->first = a->last;
            a->last = *size;
            a->level++;
        }
        MUST(gordian_array_begin(queue, &a->queue, &error));
        visit_level<<<64, 128>>>(*a);
        MUST_CUDA(cudaDeviceSynchronize());
        MUST(gordian_array_end(queue, &result, &error));
        launches++;
    }
    return launches;
}

int main(int argc, char **argv)
{
    uint32_t vertices = size_wanted(argc, argv, 1000000), start = 0;
    uint64_t size;
    vertices += vertices == 0;
    uint32_t *targets = (uint32_t *)host_memory((size_t)vertices * DEGREE * sizeof(uint32_t));
    for (uint32_t i = 0; i < vertices * DEGREE; i++)
        targets[i] = (uint32_t)(scrambled(i) % vertices);

    gordian_gpu *gpu;
    gordian_array *queue;
    gordian_array_options options;
    gordian_array_options_init(&options);
    options.element = sizeof(uint32_t);
    options.kind = GORDIAN_ARRAY_KIND_FLAT;
    options.watch = vertices / 3 + 1;
    MUST(gordian_gpu_open(&gpu, 0, NULL, &error));
    MUST(gordian_array_create(&queue, gpu, &options, &error));

    struct search a;
    a.vertices = vertices;
    a.targets =
        (const uint32_t *)device_copy(targets, (size_t)vertices * DEGREE * sizeof(uint32_t));
    a.distances = (uint32_t *)device_memory(vertices * sizeof(uint32_t));
    MUST_CUDA(cudaMemset(a.distances, 0xff, vertices * sizeof(uint32_t)));
    MUST_CUDA(cudaMemcpy(a.distances, &start, sizeof start, cudaMemcpyHostToDevice));
    uint32_t launches = search_all(queue, &a, &size);

    uint32_t *expected = search_here(targets, vertices);
    int wrong = check_answer(queue, size, &a, expected);
    printf("%u vertices, %llu reached, %u levels, %u launches: %s\n", vertices,
           (unsigned long long)size, a.level, launches, wrong ? "wrong" : "right");
    gordian_array_destroy(queue);
    gordian_gpu_close(gpu);
    MUST_CUDA(cudaFree((void *)a.targets));
    MUST_CUDA(cudaFree(a.distances));
    free(expected);
    free(targets);
    return wrong;
}
