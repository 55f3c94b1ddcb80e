#include "lab/published/compose/measure_product.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/machine.h"
#include "lab/published/compose/product.h"

#define PAIR_NAMES 4u /* of two FIFO1s */
#define PAIR_CELLS 256u
#define FIFOS_MOST 31u

/* ------------------------------------------------------------------ timing */

struct stopwatch {
    struct gpu *gpu;
    uint64_t start;
};

static gordian_status product_watch_start(struct stopwatch *watch, struct gpu *gpu,
                                          gordian_error *error)
{
    gordian_status status = gpu ? gpu_timer_start(gpu, error) : GORDIAN_OK;
    *watch = (struct stopwatch){.gpu = gpu, .start = clock_ns()};
    return status;
}

/* Stops the timer, which waits for the device. */
static gordian_status product_watch_stop(const struct stopwatch *watch, struct measure_time *time,
                                         gordian_error *error)
{
    double microseconds = 0;
    gordian_status status =
        watch->gpu ? gpu_timer_stop(watch->gpu, &microseconds, error) : GORDIAN_OK;
    *time = (struct measure_time){microseconds * 1e3, (double)(clock_ns() - watch->start)};
    return status;
}

/* ------------------------------------------------------------------ the tables */

struct measure_product {
    struct product_place place;
    struct product_matrix left, right, product;
};

/* Makes FIFO1s without shared names, on the names from `name` on of `names`. */
static gordian_status make_fifos(struct product_factor **factors, uint32_t count, uint32_t name,
                                 uint32_t names, const gordian_allocator *memory,
                                 gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    *factors = memory_zeroed(memory, count * sizeof **factors);
    if (!*factors)
        return fail_memory(error);
    for (uint32_t i = 0; i < count && status == GORDIAN_OK; i++)
        status = product_fifo1(&(*factors)[i], name + 2 * i, (names + 31) / 32, memory, error);
    if (status != GORDIAN_OK) {
        product_factors_free(*factors, count, memory);
        *factors = NULL;
    }
    return status;
}

/* Makes one of the two automata of four states. */
static gordian_status make_pair(const struct product_place *place, uint32_t name,
                                struct product_matrix *pair, gordian_error *error)
{
    struct product_factor *fifos;
    TRY(make_fifos(&fifos, 2, name, 2 * PAIR_NAMES, &place->memory, error));
    gordian_status status = product_tree(place, fifos, 2, 0, 4, pair, error);
    product_factors_free(fifos, 2, &place->memory);
    return status;
}

gordian_status measure_product_open(struct measure_product **out, struct gpu *gpu,
                                    const gordian_allocator *wanted, gordian_error *error)
{
    struct product_place place = {memory_allocator(wanted), gpu};
    struct measure_product *measure = memory_zeroed(&place.memory, sizeof *measure);
    *out = NULL;
    if (!measure)
        return fail_memory(error);
    measure->place = place;
    gordian_status status = make_pair(&place, 0, &measure->left, error);
    THEN(status, make_pair(&place, PAIR_NAMES, &measure->right, error));
    THEN(status,
         product_make(&place, &measure->left, &measure->right, 0, 16, &measure->product, error));
    if (status == GORDIAN_OK)
        *out = measure;
    else
        measure_product_close(measure);
    return status;
}

void measure_product_close(struct measure_product *measure)
{
    if (!measure)
        return;
    product_free(&measure->place, &measure->left);
    product_free(&measure->place, &measure->right);
    product_free(&measure->place, &measure->product);
    memory_free(&measure->place.memory, measure);
}

static gordian_status check_transitions(uint64_t expected, uint64_t found, gordian_error *error)
{
    if (found == expected)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_INPUT, "%llu transitions, expected %llu",
                (unsigned long long)found, (unsigned long long)expected);
}

gordian_status measure_product_run(struct measure_product *measure, unsigned iterations,
                                   struct measure_time *time, gordian_error *error)
{
    const struct product_place *place = &measure->place;
    struct stopwatch watch;
    uint64_t transitions = 0;
    gordian_status status = product_watch_start(&watch, place->gpu, error);
    for (unsigned i = 0; i < iterations && status == GORDIAN_OK; i++)
        status = product_fill(place, &measure->left, &measure->right, &measure->product, error);
    THEN(status, product_watch_stop(&watch, time, error));
    THEN(status, product_survey(place, &measure->product, &transitions, error));
    return status == GORDIAN_OK ? check_transitions(PAIR_CELLS, transitions, error) : status;
}

/* ------------------------------------------------------------------ the text's sizes */

/* Checks the size first, because the host may promise more memory than it has: use at most half of
 * it. An emulated device's memory is the host's. */
static gordian_status check_product_memory(struct gpu *gpu, uint32_t fifos, uint32_t ranks,
                                           gordian_error *error)
{
    struct machine machine;
    struct gpu_info info = {0};
    uint32_t words = (2 * fifos + 31) / 32;
    double cells = (double)(UINT64_C(1) << fifos) * (double)(UINT64_C(1) << fifos) / ranks;
    double bytes = cells * product_stride(1, words) * sizeof(uint32_t);
    machine_describe(&machine);
    if (gpu)
        gpu_get_info(gpu, &info);
    double there = gpu && !info.emulated ? (double)info.memory_free : (double)machine.memory / 2;
    if (bytes <= there)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_MEMORY, "out of memory: the matrix takes %.3g GiB of %.3g",
                bytes / (1u << 30), there / (1u << 30));
}

static gordian_status open_fifos(struct product_factor **factors, struct gpu *gpu, uint32_t fifos,
                                 uint32_t ranks, const gordian_allocator *memory,
                                 gordian_error *error)
{
    *factors = NULL;
    if (fifos == 0 || fifos > FIFOS_MOST || ranks == 0)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "the number of FIFO1s must be 1 to %u",
                    FIFOS_MOST);
    TRY(check_product_memory(gpu, fifos, ranks, error));
    return make_fifos(factors, fifos, 0, 2 * fifos, memory, error);
}

gordian_status measure_product_tree(struct gpu *gpu, uint32_t fifos,
                                    const gordian_allocator *wanted, struct measure_time *time,
                                    gordian_error *error)
{
    struct product_place place = {memory_allocator(wanted), gpu};
    struct product_matrix product = {0};
    struct product_factor *factors;
    struct stopwatch watch;
    uint64_t transitions = 0;
    TRY(open_fifos(&factors, gpu, fifos, 1, &place.memory, error));
    gordian_status status = product_watch_start(&watch, gpu, error);
    THEN(status, product_tree(&place, factors, fifos, 0, 1u << fifos, &product, error));
    THEN(status, product_watch_stop(&watch, time, error));
    THEN(status, product_survey(&place, &product, &transitions, error));
    THEN(status, check_transitions(UINT64_C(1) << 2 * fifos, transitions, error));
    product_free(&place, &product);
    product_factors_free(factors, fifos, &place.memory);
    return status;
}

gordian_status measure_product_part(struct gpu *gpu, uint32_t fifos, uint32_t rank, uint32_t ranks,
                                    const gordian_allocator *wanted, uint64_t *transitions,
                                    struct measure_time *time, gordian_error *error)
{
    struct product_place place = {memory_allocator(wanted), gpu};
    struct product_factor *factors;
    struct stopwatch watch;
    TRY(open_fifos(&factors, gpu, fifos, ranks, &place.memory, error));
    gordian_status status = product_watch_start(&watch, gpu, error);
    THEN(status, product_count_part(&place, factors, fifos, rank, ranks, transitions, error));
    THEN(status, product_watch_stop(&watch, time, error));
    product_factors_free(factors, fifos, &place.memory);
    return status;
}
