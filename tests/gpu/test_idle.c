/*
 * What a resident kernel costs others while it has nothing to do: a boolean product is timed alone,
 * and beside a kernel that has been idle for two seconds, in the same process. And what its leaving
 * costs those who need it again: an event that finds it there, and one that has to fetch it.
 *
 *     test_idle [--device N]
 *
 * A resident kernel keeps half of the registers of its multiprocessors, so it must not stay while
 * nobody needs it; and the next command must find one.
 */
#include "device.h"
#include "engines/detect/cuda/cuda.h"
#include "engines/detect/cuda/hop.h"
#include "engines/detect/system.h"
#include "foundation/base/clock.h"

#define ROUNDS 9

static int by_size(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median(double times[ROUNDS])
{
    qsort(times, ROUNDS, sizeof *times, by_size);
    return times[ROUNDS / 2];
}

/* Memory comes and goes only while no resident kernel runs: a driver may wait for it. */
static struct bool_product_arguments make_product(struct gpu *gpu, uint32_t size)
{
    uint32_t stride = hop_stride(size);
    size_t words = (size_t)size * stride;
    struct bool_product_arguments product = {.left_stride = stride,
                                             .right_stride = stride,
                                             .out_stride = stride,
                                             .rows = size,
                                             .columns = size,
                                             .inner_words = size / 32,
                                             .tensor = true};
    DO(gpu_alloc(gpu, &product.left, words * 4, &error));
    DO(gpu_alloc(gpu, &product.right, words * 4, &error));
    DO(gpu_alloc(gpu, &product.out, words * 4, &error));
    DO(gpu_fill32(gpu, product.left, 0x01010101, words, &error));
    DO(gpu_fill32(gpu, product.right, 0x02020202, words, &error)); /* they never meet */
    DO(gpu_zero(gpu, product.out, words * 4, &error));
    return product;
}

/* Microseconds, the median. */
static double time_product(struct gpu *gpu, const struct bool_product_arguments *product)
{
    double times[ROUNDS] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        DO(gpu_timer_start(gpu, &error));
        DO(hop_product(gpu, product, &error));
        DO(gpu_timer_stop(gpu, &times[i], &error));
    }
    return median(times);
}

static double since_us(uint64_t start)
{
    return (double)(clock_ns() - start) / 1e3;
}

/* Microseconds until the resident kernel has left. On a busy machine that may take a while. */
static double time_stay(struct gpu *gpu)
{
    uint64_t start = clock_ns();
    while (!gpu_service_ended(gpu) && since_us(start) < 60e6)
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    CHECK(gpu_service_ended(gpu));
    return since_us(start);
}

/* Microseconds from an event to its answer. */
static double time_event(void *kernel)
{
    uint64_t start = clock_ns();
    CHECK(cuda_osdda.grant(kernel, 1, 2, 1) && cuda_osdda.drain(kernel, NULL) == GORDIAN_OK);
    double took = since_us(start);
    CHECK(cuda_osdda.release(kernel, 1, 2, 1) && cuda_osdda.settle(kernel) &&
          cuda_osdda.drain(kernel, NULL) == GORDIAN_OK);
    return took;
}

static void time_coming_and_going(struct gpu *gpu, void *kernel)
{
    double stay[ROUNDS], fetched[ROUNDS], there[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        stay[i] = time_stay(gpu);
        fetched[i] = time_event(kernel);
        there[i] = time_event(kernel);
    }
    printf("the kernel leaves %.0f us after its last command; an event that finds it there takes "
           "%.1f us, one that fetches it %.1f us\n",
           median(stay), median(there), median(fetched));
}

int main(int argc, char **argv)
{
    struct gpu *gpu = device_open(device_wanted(argc, argv));
    struct gpu_info info;
    gpu_get_info(gpu, &info);
    uint32_t size = info.emulated ? 128 : 8192, ids = info.emulated ? 16 : 8192;
    gordian_system *system = NULL;
    void *kernel = NULL;
    DO(gordian_open(&system, NULL, &error));
    for (unsigned i = 0; i < 3; i++) { /* those of time_event, and who comes before them */
        DO(gordian_add_process(system, NULL, NULL, &error));
        DO(gordian_add_resource(system, NULL, 1, NULL, &error));
    }
    struct bool_product_arguments product = make_product(gpu, size);
    double alone = time_product(gpu, &product);
    DO(cuda_osdda.open(&kernel, &cuda_osdda, gpu, &system->graph, ids, ids, &error));
    struct timespec pause = {.tv_sec = info.emulated ? 0 : 2, .tv_nsec = 20000000};
    nanosleep(&pause, NULL);
    time_stay(gpu);
    double beside = time_product(gpu, &product);
    time_coming_and_going(gpu, kernel);
    cuda_osdda.close(kernel);
    double again = time_product(gpu, &product);
    printf("%s: a product of %u: alone %.1f us, beside an idle resident kernel %.1f us, after it "
           "%.1f us: %.2fx\n",
           info.name, size, alone, beside, again, beside / again);
    CHECK(info.emulated || beside < 1.5 * again);
    gpu_free(gpu, product.left);
    gpu_free(gpu, product.right);
    gpu_free(gpu, product.out);
    gordian_close(system);
    gpu_close(gpu);
    return test_done();
}
