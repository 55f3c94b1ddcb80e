/* The product of the thesis on constraint automata, on the device and on the CPU: against the
 * plainest engine and the textbook's rules, number by number; and its distribution over ranks. */
#include "../alloc/failing.h"
#include "compose/agree.h"
#include "device.h"
#include "engines/compose/graph/explicit.h"
#include "lab/published/compose/circuit.h"
#include "lab/published/compose/measure_product.h"

#include <string.h>

static struct gpu *gpu;
static struct product_place places[2]; /* the device, the CPU */

/* ------------------------------------------------------------------ as an engine */

/* The published product in the host's memory. */
struct whole {
    struct product_factor *factors;
    size_t count;
    struct product_matrix matrix; /* its cells are in `cells` */
    uint32_t *cells;
};

static gordian_status whole_rows(struct whole *whole, const struct product_place *place,
                                 uint32_t first, uint32_t rows, gordian_error *error)
{
    struct product_matrix *matrix = &whole->matrix;
    gordian_status status =
        product_tree(place, whole->factors, whole->count, first, rows, matrix, error);
    if (status != GORDIAN_OK)
        return status;
    whole->cells = malloc((size_t)matrix->rows * matrix->states *
                          product_stride(matrix->slots, matrix->words) * sizeof(uint32_t));
    status = product_read(place, matrix, whole->cells, error);
    product_free(place, matrix);
    return status;
}

static gordian_status whole_open(struct whole *whole, const struct product_place *place,
                                 const gordian_circuit *circuit, gordian_error *error)
{
    uint32_t states;
    *whole = (struct whole){.count = circuit->factor_count};
    gordian_status status = product_of_circuit(&whole->factors, circuit, &place->memory, error);
    if (status == GORDIAN_OK)
        status = product_states(whole->factors, whole->count, &states, error);
    return status == GORDIAN_OK ? whole_rows(whole, place, 0, states, error) : status;
}

static void whole_close(struct whole *whole, const struct product_place *place)
{
    product_factors_free(whole->factors, whole->count, &place->memory);
    free(whole->cells);
}

static const uint32_t *cell_of(const struct whole *whole, uint32_t from, uint32_t to)
{
    const struct product_matrix *matrix = &whole->matrix;
    return whole->cells + ((size_t)(from - matrix->first) * matrix->states + to) *
                              product_stride(matrix->slots, matrix->words);
}

/* There the first factor counts most, here the last one. */
static uint32_t renumber_state(const gordian_circuit *circuit, uint32_t number)
{
    uint64_t weight = circuit->whole, result = 0;
    for (size_t f = circuit->factor_count; f-- > 0;) {
        uint32_t states = factor_shape(circuit, (uint32_t)f)->state_count;
        weight /= states;
        result += number % states * weight;
        number /= states;
    }
    return (uint32_t)result;
}

/* The transitions that are no idle loops, with their labels as the circuit has them. Every name is
 * said to fire or not to, never both. */
static void take_steps(const struct whole *whole, struct explicit_product *out, uint64_t *labels)
{
    const struct product_matrix *matrix = &whole->matrix;
    uint32_t words = matrix->words;
    for (uint32_t i = 0; i < matrix->states; i++)
        for (uint32_t j = 0; j < matrix->states; j++) {
            const uint32_t *cell = cell_of(whole, i, j);
            for (uint32_t t = 0; t < cell[0]; t++) {
                const uint32_t *sets = cell + 1 + 2 * words * t;
                uint64_t *label = labels + out->step_count * out->circuit->label_words;
                uint32_t any = 0, both = 0;
                for (uint32_t w = 0; w < words; w++) {
                    any |= sets[w];
                    both |= sets[w] & sets[words + w];
                    label[w / 2] |= (uint64_t)sets[w] << w % 2 * 32;
                }
                CHECK(both == 0);
                CHECK(any != 0 || (i == j && t == 0));
                if (any)
                    out->steps[out->step_count++] = (struct explicit_step){
                        renumber_state(out->circuit, i), renumber_state(out->circuit, j), label};
            }
        }
}

static size_t transitions_of(const struct whole *whole)
{
    size_t count = 0;
    for (uint32_t i = 0; i < whole->matrix.rows; i++)
        for (uint32_t j = 0; j < whole->matrix.states; j++)
            count += cell_of(whole, whole->matrix.first + i, j)[0];
    return count;
}

/* `tuning`: the place. What comes after the product is the oracle's. */
static gordian_status on_published(const gordian_circuit *circuit,
                                   const gordian_compose_options *options,
                                   const gordian_compose_sink *sink, gordian_compose_result *result,
                                   const void *tuning, gordian_error *error)
{
    const struct product_place *place = tuning;
    struct whole whole;
    struct explicit_product product = {.circuit = circuit};
    *result = (gordian_compose_result){.allocator = memory_allocator(options->allocator)};
    gordian_status status = compose_take_order(circuit, options, result, error);
    if (status == GORDIAN_OK)
        status = whole_open(&whole, place, circuit, error);
    if (status != GORDIAN_OK)
        return status;
    size_t count = transitions_of(&whole);
    uint64_t *labels = calloc(count * circuit->label_words + 1, sizeof *labels);
    product.steps = calloc(count + 1, sizeof *product.steps);
    product.state_count = whole.matrix.states;
    take_steps(&whole, &product, labels);
    status = explicit_finish(&product, options, sink, result, &place->memory, error);
    free(labels);
    free(product.steps);
    whole_close(&whole, place);
    return status;
}

/* ------------------------------------------------------------------ comparing */

/* The textbook's rules know nothing of idle loops. */
static void compare_textbook(const gordian_circuit *circuit, const struct product_place *place,
                             bool full)
{
    gordian_compose_options options;
    gordian_graph *plain = NULL;
    uint32_t where = 0;
    gordian_compose_options_init(&options);
    options.full = full;
    struct outcome ours = run(on_published, circuit, &options, place);
    DO(plain_product(&plain, circuit, full, NULL, &error));
    REQUIRE(plain && ours.graph);
    CHECK_MSG(graph_same(ours.graph, plain, &where), "state %u", where);
    gordian_graph_close(plain);
    outcome_free(&ours);
}

/* Every rank's rows are the rows of the whole product, and what they count adds up. */
static void compare_ranks(const gordian_circuit *circuit, const struct product_place *place,
                          uint32_t ranks)
{
    struct whole whole;
    uint64_t sum = 0;
    uint32_t next = 0;
    DO(whole_open(&whole, place, circuit, &error));
    for (uint32_t rank = 0; rank < ranks; rank++) {
        struct product_part part = product_part(whole.matrix.states, rank, ranks);
        struct whole mine = {.factors = whole.factors, .count = whole.count};
        uint64_t transitions = 0;
        DO(product_count_part(place, whole.factors, whole.count, rank, ranks, &transitions,
                              &error));
        sum += transitions;
        CHECK(part.first == next);
        next += part.rows;
        if (part.rows == 0)
            continue;
        DO(whole_rows(&mine, place, part.first, part.rows, &error));
        CHECK(transitions == transitions_of(&mine) - part.rows);
        for (uint32_t i = part.first; i < next; i++)
            for (uint32_t j = 0; j < whole.matrix.states; j++) {
                const uint32_t *one = cell_of(&whole, i, j), *other = cell_of(&mine, i, j);
                size_t bytes = (1 + 2 * (size_t)one[0] * whole.matrix.words) * sizeof *one;
                CHECK(one[0] == other[0] && memcmp(one, other, bytes) == 0);
            }
        free(mine.cells);
    }
    CHECK(next == whole.matrix.states && sum == transitions_of(&whole) - whole.matrix.states);
    whole_close(&whole, place);
}

static void compare_ways(const gordian_circuit *circuit, struct random *random)
{
    for (size_t p = 0; p < 2; p++) {
        gordian_compose_options options;
        gordian_compose_options_init(&options);
        options.max_deadlocks = (uint32_t)random_below(random, 4);
        compare(on_published, circuit, &options, &places[p]);
        options.full = true;
        compare(on_published, circuit, &options, &places[p]);
        compare_textbook(circuit, &places[p], random_chance(random, 50));
        compare_ranks(circuit, &places[p], 1 + (uint32_t)random_below(random, 5));
    }
}

/* ------------------------------------------------------------------ tests */

static void test_references(struct random *random)
{
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        const struct reference *r = &references[i];
        if (r->states > 100)
            continue;
        gordian_circuit *circuit = read_circuit(library, r->main, r->data);
        gordian_compose_options options;
        REQUIRE(circuit);
        gordian_compose_options_init(&options);
        struct outcome outcome = run(on_published, circuit, &options, &places[0]);
        CHECK_MSG(outcome.result.states == r->states &&
                      outcome.result.transitions == r->transitions &&
                      outcome.result.deadlocks == r->deadlocks,
                  "%s", r->main);
        outcome_free(&outcome);
        compare_ways(circuit, random);
        gordian_circuit_close(circuit);
    }
}

static void test_random(struct random *random, unsigned long rounds, uint64_t most)
{
    unsigned long compared = 0;
    for (unsigned long i = 0; i < rounds; i++) {
        gordian_circuit *circuit = random_circuit(random);
        gpu_emulator_seed(gpu, i % 3 ? i : 0);
        if (circuit->whole <= most) {
            compare_ways(circuit, random);
            compared++;
        }
        gordian_circuit_close(circuit);
    }
    gpu_emulator_seed(gpu, 0);
    CHECK(compared * 4 > rounds);
}

/* Sets of more than one word; and automata that are not one of a pair in each iteration. */
static void test_names(struct random *random)
{
    gordian_circuit *circuit = read_circuit(
        "main() { { sync(x[i],x[i+1]) | i:<0..39> } fifo1(x[40],y) fifo1(y,z) fifo1(z,x[0]) }",
        NULL, NULL);
    REQUIRE(circuit);
    CHECK(circuit->name_count > 32);
    compare_ways(circuit, random);
    gordian_circuit_close(circuit);
}

/* The thesis's series: 4, 16, 256 transitions and on, whole and in parts. */
static void test_series(void)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5};
    for (size_t p = 0; p < 2; p++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct measure_time time = {0};
            uint32_t n = sizes[i], ranks = 1 + (uint32_t)i;
            uint64_t sum = 0;
            DO(measure_product_tree(places[p].gpu, n, NULL, &time, &error));
            CHECK(time.wall > 0 && (time.device > 0) == (p == 0));
            for (uint32_t rank = 0; rank < ranks; rank++) {
                uint64_t transitions = 0;
                DO(measure_product_part(places[p].gpu, n, rank, ranks, NULL, &transitions, &time,
                                        &error));
                sum += transitions;
            }
            CHECK(sum == (UINT64_C(1) << 2 * n) - (UINT64_C(1) << n));
        }
}

static void test_measuring(void)
{
    struct measure_product *measure = NULL;
    struct measure_time time = {0};
    uint64_t transitions;
    gordian_error fault = {0};
    for (size_t p = 0; p < 2; p++) {
        DO(measure_product_open(&measure, places[p].gpu, NULL, &error));
        REQUIRE(measure);
        DO(measure_product_run(measure, 3, &time, &error));
        CHECK(time.wall > 0 && (time.device > 0) == (p == 0));
        measure_product_close(measure);
    }
    CHECK(measure_product_tree(NULL, 31, NULL, &time, &fault) == GORDIAN_STATUS_MEMORY);
    CHECK(measure_product_tree(NULL, 0, NULL, &time, &fault) == GORDIAN_STATUS_UNAVAILABLE);
    CHECK(measure_product_tree(NULL, 40, NULL, &time, &fault) == GORDIAN_STATUS_UNAVAILABLE);
    CHECK(measure_product_part(NULL, 4, 0, 0, NULL, &transitions, &time, &fault) ==
          GORDIAN_STATUS_UNAVAILABLE);
}

/* A device that is too small, and every allocation of the host's failing once. */
static void test_memory(void)
{
    struct gpu *small = device_open(-1);
    struct measure_time time;
    struct failing failing = {0};
    gordian_allocator allocator = {failing_resize, &failing};
    gordian_error fault = {0};
    DO(gpu_add_kernels(small, &published_kernels, &error));
    gpu_emulator_memory(small, 10000);
    CHECK(measure_product_tree(small, 5, NULL, &time, &fault) == GORDIAN_STATUS_MEMORY);
    DO(measure_product_tree(small, 3, NULL, &time, &error));
    gpu_close(small);
    for (size_t p = 0; p < 2; p++)
        for (size_t n = 1;; n++) {
            failing = (struct failing){.fail_at = n};
            gordian_status status =
                measure_product_tree(places[p].gpu, 3, &allocator, &time, &fault);
            bool failed = failing.failures > 0;
            CHECK(status == (failed ? GORDIAN_STATUS_MEMORY : GORDIAN_OK));
            CHECK_MSG(failing.live_blocks == 0, "allocation %zu leaks", n);
            if (!failed)
                break;
        }
}

int main(int argc, char **argv)
{
    bool watched = false;
    struct random random;
    for (int i = 1; i < argc; i++)
        watched |= strcmp(argv[i], "--watched") == 0;
    random_seed(&random, 3);
    gpu = device_open(device_wanted(argc, argv));
    DO(gpu_add_kernels(gpu, &published_kernels, &error));
    places[0] = (struct product_place){memory_allocator(NULL), gpu};
    places[1] = (struct product_place){memory_allocator(NULL), NULL};
    test_series();
    test_measuring();
    test_random(&random, test_scaled(400), watched ? 16 : 64);
    if (!watched) {
        test_references(&random);
        test_names(&random);
    }
    test_memory();
    gpu_close(gpu);
    return test_done();
}
