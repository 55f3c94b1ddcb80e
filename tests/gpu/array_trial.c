#include "array_trial.h"

/* device.h and test.h keep their counts in each file that includes them: this one's are checked
 * at once. */
#define MUST(condition, ...)                                                                       \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define MUST_DO(call)                                                                              \
    do {                                                                                           \
        gordian_error error = {0};                                                                 \
        gordian_status status = (call);                                                            \
        MUST(status == GORDIAN_OK, "%s", error.message);                                           \
    } while (0)

bool way_has_marks(enum array_selftest_way way)
{
    return way >= ARRAY_RESUME;
}

bool way_pushes(enum array_selftest_way way)
{
    return way <= ARRAY_PUSH_BLOCK;
}

unsigned scaled(unsigned full)
{
    const char *scale = getenv("GORDIAN_TEST_SCALE");
    unsigned percent = scale ? (unsigned)atoi(scale) : 100;
    return (unsigned)((uint64_t)full * percent / 100) + 1;
}

/* ---- launching */

uint64_t trial_outputs(const struct trial *trial)
{
    uint64_t outputs = 0;
    for (uint32_t i = 0; i < trial->items; i++)
        outputs += array_selftest_outputs(trial->way, trial->each, trial->start + i);
    return outputs;
}

gpu_address trial_marks(struct gpu *gpu, const struct trial *trial)
{
    gpu_address marks = 0;
    size_t bytes = ((size_t)trial->items + 1) * sizeof(uint32_t);
    MUST_DO(gpu_alloc(gpu, &marks, bytes, &error));
    MUST_DO(gpu_zero(gpu, marks, bytes, &error));
    return marks;
}

struct array_fill_arguments trial_arguments(const struct trial *trial,
                                            const struct gpu_array *array, gpu_address marks)
{
    return (struct array_fill_arguments){.out = gpu_array_view(array),
                                         .marks = marks,
                                         .start = trial->start,
                                         .items = trial->items,
                                         .each = trial->each,
                                         .way = trial->way};
}

struct gpu_launch trial_launch(const struct trial *trial,
                               const struct array_fill_arguments *arguments)
{
    return (struct gpu_launch){.kernel = "array_fill",
                               .blocks = trial->blocks,
                               .threads = trial->threads,
                               .arguments = arguments,
                               .arguments_size = sizeof *arguments,
                               .service = trial->service};
}

void trial_run(struct gpu *gpu, const struct trial *trial, const struct gpu_array *array,
               gpu_address marks)
{
    struct array_fill_arguments arguments = trial_arguments(trial, array, marks);
    struct gpu_launch launch = trial_launch(trial, &arguments);
    MUST_DO(gpu_launch(gpu, &launch, &error));
}

/* ---- checking */

static _Thread_local uint32_t sorted_element;

static int compare_elements(const void *a, const void *b)
{
    return memcmp(a, b, sorted_element);
}

static unsigned char *expected_elements(const struct trial *trials, unsigned count,
                                        uint32_t element, uint64_t total)
{
    unsigned char *elements = malloc(total * element + 1), *at = elements;
    MUST(elements, "no memory");
    for (unsigned t = 0; t < count; t++) {
        const struct trial *trial = &trials[t];
        for (uint32_t item = trial->start; item < trial->start + trial->items; item++) {
            uint32_t outputs = array_selftest_outputs(trial->way, trial->each, item);
            for (uint32_t output = 0; output < outputs; output++)
                for (uint32_t i = 0; i < element; i++)
                    *at++ = array_selftest_byte(item, output, i);
        }
    }
    return elements;
}

/* Walks through both in order: whatever is stored is the next of those expected, but for some left
 * out. */
void trial_check_elements(const struct trial *trials, unsigned count, uint32_t element,
                          unsigned char *stored, uint64_t stored_count, bool all)
{
    uint64_t total = 0, next = 0;
    for (unsigned t = 0; t < count; t++)
        total += trial_outputs(&trials[t]);
    MUST(!all || stored_count == total, "%llu stored of %llu", (unsigned long long)stored_count,
         (unsigned long long)total);
    unsigned char *expected = expected_elements(trials, count, element, total);
    sorted_element = element;
    qsort(stored, stored_count, element, compare_elements);
    qsort(expected, total, element, compare_elements);
    for (uint64_t i = 0; i < stored_count; i++) {
        const unsigned char *is = stored + i * element;
        while (next < total && memcmp(expected + next * element, is, element) < 0)
            next++;
        MUST(next < total && memcmp(expected + next * element, is, element) == 0,
             "way %u, element of %u bytes, starting %02x, is torn or there twice", trials[0].way,
             element, is[0]);
        next++;
    }
    free(expected);
}

/* The same elements by three ways: copied out, flattened, and read by a kernel. */
static unsigned char *read_elements(struct gpu *gpu, struct gpu_array *array, uint64_t size)
{
    struct garray view = gpu_array_view(array);
    size_t bytes = size * view.element;
    unsigned char *stored = malloc(bytes + 1), *other = malloc(bytes + 1);
    MUST(stored && other, "no memory");
    gpu_address flat;
    MUST_DO(gpu_alloc(gpu, &flat, bytes + 1, &error));
    MUST_DO(gpu_array_read(array, stored, 0, size, &error));
    MUST_DO(gpu_array_flatten(array, flat, 0, size, &error));
    MUST_DO(gpu_read(gpu, other, flat, bytes, &error));
    MUST(memcmp(stored, other, bytes) == 0, "flattened elements differ");
    struct array_fetch_arguments fetch = {.from = view, .to = flat, .count = size};
    struct gpu_launch launch = {.kernel = "array_fetch",
                                .blocks = 3,
                                .threads = 64,
                                .arguments = &fetch,
                                .arguments_size = sizeof fetch};
    MUST_DO(gpu_zero(gpu, flat, bytes, &error));
    MUST_DO(gpu_launch(gpu, &launch, &error));
    MUST_DO(gpu_read(gpu, other, flat, bytes, &error));
    MUST(memcmp(stored, other, bytes) == 0, "elements read by a kernel differ");
    gpu_free(gpu, flat);
    free(other);
    return stored;
}

void trial_check(struct gpu *gpu, const struct trial *trials, unsigned count,
                 struct gpu_array *array, bool all)
{
    struct gpu_array_count now;
    MUST_DO(gpu_array_settle(array, &now, &error));
    MUST(now.refused == 0, "%llu refused", (unsigned long long)now.refused);
    unsigned char *stored = read_elements(gpu, array, now.size);
    trial_check_elements(trials, count, gpu_array_view(array).element, stored, now.size, all);
    free(stored);
}
