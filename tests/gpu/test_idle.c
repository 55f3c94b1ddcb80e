/*
 * What a resident kernel costs others while it has nothing to do: a boolean product is timed alone,
 * and beside a kernel that has been idle for two seconds, in the same process.
 *
 *     test_idle [--device N]
 *
 * A resident kernel keeps half of the registers of its multiprocessors, so it must not stay while
 * nobody needs it; and the next command must find one.
 */
#include "detect/cuda_hop.h"
#include "detect/cuda_osdda.h"
#include "detect/system.h"
#include "device.h"

#include <time.h>

#define ROUNDS 9

static int by_size(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
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
    qsort(times, ROUNDS, sizeof *times, by_size);
    return times[ROUNDS / 2];
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
    struct bool_product_arguments product = make_product(gpu, size);
    double alone = time_product(gpu, &product);
    DO(cuda_osdda.open(&kernel, gpu, &system->graph, ids, ids, &error));
    struct timespec pause = {.tv_sec = info.emulated ? 0 : 2, .tv_nsec = 20000000};
    nanosleep(&pause, NULL);
    for (int tries = 0; tries < 3000 && !gpu_service_ended(gpu); tries++)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* on a busy machine */
    CHECK(gpu_service_ended(gpu));
    double beside = time_product(gpu, &product);
    CHECK(cuda_osdda.grant(kernel, 1, 2, 1) && cuda_osdda.drain(kernel));
    CHECK(cuda_osdda.release(kernel, 1, 2, 1) && cuda_osdda.drain(kernel));
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
