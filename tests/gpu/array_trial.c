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

/* Which of all the trials' items, one trial's after the other's, this is; -1: none. */
static int64_t find_item(const struct trial *trials, unsigned count, uint32_t item,
                         const struct trial **trial)
{
    int64_t before = 0;
    for (unsigned t = 0; t < count; t++) {
        *trial = &trials[t];
        if (item - trials[t].start < trials[t].items)
            return before + (item - trials[t].start);
        before += trials[t].items;
    }
    return -1;
}

static uint32_t little_endian(const unsigned char *bytes, uint32_t count)
{
    uint32_t x = 0;
    for (uint32_t i = 0; i < count; i++)
        x |= (uint32_t)bytes[i] << i * 8;
    return x;
}

/* An element of five bytes and more tells which output it is: there once at most, every byte of it
 * right. */
static void check_named(const struct trial *trials, unsigned count, uint32_t element,
                        const unsigned char *stored, uint64_t stored_count)
{
    uint64_t items = 0, each = 0;
    for (unsigned t = 0; t < count; t++) {
        items += trials[t].items;
        each = trials[t].each > each ? trials[t].each : each;
    }
    unsigned char *seen = calloc(items * each + 1, 1);
    MUST(seen, "no memory");
    for (uint64_t i = 0; i < stored_count; i++) {
        const unsigned char *is = stored + i * element;
        uint32_t item = little_endian(is, 4), output = is[4];
        const struct trial *trial;
        int64_t at = find_item(trials, count, item, &trial);
        MUST(at >= 0 && output < array_selftest_outputs(trial->way, trial->each, item),
             "way %u, elements of %u bytes: item %u, output %u is torn", trials[0].way, element,
             item, output);
        for (uint32_t b = 5; b < element; b++)
            MUST(is[b] == array_selftest_byte(item, output, b),
                 "way %u, elements of %u bytes: item %u is torn", trials[0].way, element, item);
        unsigned char *mark = &seen[(uint64_t)at * each + output];
        MUST(!*mark, "item %u, output %u is there twice", item, output);
        *mark = 1;
    }
    free(seen);
}

/* A smaller one tells its item, or only the end of that: each value as often as it may be. */
static void check_counted(const struct trial *trials, unsigned count, uint32_t element,
                          const unsigned char *stored, uint64_t stored_count)
{
    uint32_t end = 0, mask = element < 4 ? (1u << element * 8) - 1 : UINT32_MAX;
    for (unsigned t = 0; t < count; t++)
        end = trials[t].start + trials[t].items > end ? trials[t].start + trials[t].items : end;
    uint64_t values = end < mask ? end : (uint64_t)mask + 1;
    uint32_t *left = calloc(values + 1, sizeof *left);
    MUST(left, "no memory");
    for (unsigned t = 0; t < count; t++)
        for (uint32_t item = trials[t].start; item < trials[t].start + trials[t].items; item++)
            left[item & mask] += array_selftest_outputs(trials[t].way, trials[t].each, item);
    for (uint64_t i = 0; i < stored_count; i++) {
        uint32_t value = little_endian(stored + i * element, element);
        MUST(value < values && left[value] > 0,
             "way %u, elements of %u bytes: %u is torn or there too often", trials[0].way, element,
             value);
        left[value]--;
    }
    free(left);
}

void trial_check_elements(const struct trial *trials, unsigned count, uint32_t element,
                          const unsigned char *stored, uint64_t stored_count, bool all)
{
    uint64_t total = 0;
    for (unsigned t = 0; t < count; t++)
        total += trial_outputs(&trials[t]);
    MUST(stored_count <= total && (!all || stored_count == total), "%llu stored of %llu",
         (unsigned long long)stored_count, (unsigned long long)total);
    if (element > 4)
        check_named(trials, count, element, stored, stored_count);
    else
        check_counted(trials, count, element, stored, stored_count);
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
