/* Simulated annealing chains on a GPU: their device memory, and advancing them (cuda/chains.h). */
#include "engines/makespan/cuda/chains.h"

#include "engines/makespan/anneal/anneal.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"

#include <string.h>

#define SLICE_NS     UINT64_C(50000000) /* target duration of a launch */
#define WARP_LANES   32u
#define SHARED_WARPS 12u /* fewest chains per multiprocessor that shared memory is used for */

struct gpu_chains {
    gordian_allocator memory;
    struct gpu *gpu;
    struct gpu_info info;
    const struct makespan_model *model;
    const gordian_makespan_options *options;
    uint64_t first;
    struct chains_arguments arguments;
    uint32_t threads;
    bool shared;
    gpu_address heads, places, best, string;
    struct chains_head *copy; /* of the heads */
    uint32_t
        *logged;   /* the last best of each chain that was logged, 0: none; NULL: there is no log */
    uint64_t held; /* bytes on the device */
};

/* ------------------------------------------------------------------ cells */

/* Returns the width of a field that counts to `most` below its top bit. A limit of at least the
 * number of warps needs no field. */
static uint32_t field_bits(uint32_t most, uint32_t warps)
{
    uint32_t bits = 1;
    if (most >= warps)
        return 0;
    while ((1u << (bits - 1)) < most)
        bits++;
    return bits;
}

static uint32_t cell_bits(const struct makespan_model *model)
{
    uint32_t bits = field_bits(model->sigma, model->warps);
    for (uint32_t type = 0; type < model->types; type++)
        bits += field_bits(model->units[type], model->warps);
    return bits;
}

/* Adds one field that starts at bit `at`: the increment of one instruction, and the value when
 * full. */
static uint32_t add_field(struct chains_arguments *arguments, struct chains_type *type,
                          uint32_t most, uint32_t warps, uint32_t at)
{
    uint32_t bits = field_bits(most, warps);
    if (bits) {
        type->add = UINT64_C(1) << at;
        type->full = UINT64_C(1) << (at + bits - 1);
        arguments->empty += ((UINT64_C(1) << (bits - 1)) - most) << at;
    }
    return at + bits;
}

static void make_fields(struct chains_arguments *arguments, const struct makespan_model *model)
{
    struct chains_type all = {0};
    uint32_t at = add_field(arguments, &all, model->sigma, model->warps, 0);
    for (uint32_t type = 0; type < model->types; type++) {
        struct chains_type *own = &arguments->types[type];
        at = add_field(arguments, own, model->units[type], model->warps, at);
        own->add |= all.add | UINT64_C(1) << (arguments->wide ? CHAINS_FIELDS8 : CHAINS_FIELDS4);
        own->full |= all.full;
    }
}

bool gpu_chains_possible(const struct makespan_model *model, const char **why)
{
    *why = NULL;
    if (cell_bits(model) > CHAINS_FIELDS8)
        *why = "there are too many kinds of units";
    else if (model->length >= 65536)
        *why = "a warp has more than 65535 instructions";
    else if (model_upper_bound(model) >= 65536)
        *why = "schedules may have more than 65535 cycles";
    return *why == NULL;
}

/* ------------------------------------------------------------------ places */

static uint32_t next_offset(uint64_t *at, uint64_t bytes)
{
    uint64_t here = *at;
    *at += (bytes + 7) / 8 * 8;
    return (uint32_t)here;
}

/* Computes the layout of a chain's memory and its size. */
static void layout_chain(struct chains_arguments *arguments, const struct makespan_model *model)
{
    uint64_t at = 0, work = model->work, records = work / CHAINS_STRIDE + 1;
    arguments->horizon = model_upper_bound(model);
    next_offset(&at, work);
    arguments->begins = next_offset(&at, (work + 31) / 32 * 4);
    arguments->progress = next_offset(&at, records * model->warps * 2);
    arguments->lasting = (uint32_t)at;
    arguments->candidate = next_offset(&at, work);
    arguments->sorted = next_offset(&at, work);
    arguments->ranks = next_offset(&at, work);
    arguments->cycles = next_offset(&at, work * 2);
    arguments->cells = next_offset(&at, (uint64_t)arguments->horizon * (arguments->wide ? 8 : 4));
    arguments->warp_words = next_offset(&at, model->warps * 4);
    arguments->type_words = next_offset(&at, model->types * 4);
    arguments->stride = at;
    arguments->best_stride = (work + 7) / 8 * 8;
}

/* ------------------------------------------------------------------ the start */

/* Marks where cycles begin, and records the progress. */
static void mark_cycles(const struct makespan_model *model, const uint8_t *order,
                        const uint32_t *cycles, uint32_t *begins, uint16_t *progress)
{
    uint16_t done[MAKESPAN_MAX_WARPS] = {0};
    memset(begins, 0, (model->work + 31) / 32 * 4);
    for (uint32_t i = 0; i < model->work; i++) {
        if (i == 0 || cycles[i] != cycles[i - 1])
            begins[i / 32] |= UINT32_C(1) << i % 32;
        if (i % CHAINS_STRIDE == 0)
            memcpy(progress + (size_t)(i / CHAINS_STRIDE) * model->warps, done,
                   model->warps * sizeof *done);
        done[order[i]]++;
    }
}

/* Writes the memory and head of a chain as they are before its first step. */
static void place_chain(struct gpu_chains *chains, struct evaluator *evaluator, uint32_t number,
                        uint8_t *place, uint8_t *best)
{
    const struct makespan_model *model = chains->model;
    const gordian_makespan_options *options = chains->options;
    const struct chains_arguments *arguments = &chains->arguments;
    uint64_t own = chains->first + number;
    struct chain_random random;
    struct chains_head *head = &chains->copy[number];
    anneal_begin(model, options, own, &random, best);
    *head = (struct chains_head){
        .random = random.state,
        .start = chain_start(anneal_temperature(options), options->published, own)};
    if (options->published) {
        memcpy(place, best, model->work);
        head->value = evaluator_scratch(evaluator, best, NULL);
    } else {
        head->value = evaluator_set(evaluator, best);
        memcpy(place, evaluator_order(evaluator), model->work);
        mark_cycles(model, place, evaluator_cycles(evaluator),
                    (uint32_t *)(place + arguments->begins),
                    (uint16_t *)(place + arguments->progress));
    }
    head->best = head->value;
}

#define BATCH 256u /* chains prepared at a time */

static gordian_status begin_all(struct gpu_chains *chains, gordian_error *error)
{
    const struct chains_arguments *arguments = &chains->arguments;
    uint32_t count = chains->options->chains, batch = count < BATCH ? count : BATCH;
    struct evaluator *evaluator = NULL;
    uint8_t *places = memory_zeroed(&chains->memory, batch * arguments->stride);
    uint8_t *best = memory_zeroed(&chains->memory, batch * arguments->best_stride);
    gordian_status status = GORDIAN_STATUS_MEMORY;
    if (places && best)
        status = evaluator_open(&evaluator, chains->model, &chains->memory, error);
    else
        fail_memory(error);
    for (uint32_t from = 0; from < count && status == GORDIAN_OK; from += batch) {
        uint32_t to = count - from < batch ? count : from + batch;
        /* Copies the chains from..to through two staging buffers. */
        uint64_t stride = arguments->stride, best_stride = arguments->best_stride;
        for (uint32_t i = from; i < to; i++)
            place_chain(chains, evaluator, i, places + (i - from) * stride,
                        best + (i - from) * best_stride);
        status = gpu_write(chains->gpu, chains->places + from * stride, places,
                           (to - from) * stride, error);
        THEN(status, gpu_write(chains->gpu, chains->best + from * best_stride, best,
                               (to - from) * best_stride, error));
    }
    THEN(status,
         gpu_write(chains->gpu, chains->heads, chains->copy, count * sizeof *chains->copy, error));
    evaluator_close(evaluator);
    memory_free_all(&chains->memory, places, best);
    return status;
}

/* ------------------------------------------------------------------ opening */

static gordian_status allocate_chain_memory(struct gpu_chains *chains, gpu_address *out,
                                            uint64_t bytes, gordian_error *error)
{
    uint64_t most = chains->options->max_memory;
    if (most && chains->held + bytes > most)
        return fail(error, GORDIAN_STATUS_MEMORY, "more memory needed than the limit of %llu bytes",
                    (unsigned long long)most);
    TRY(gpu_alloc(chains->gpu, out, bytes, error));
    chains->held += bytes;
    return GORDIAN_OK;
}

static gordian_status make_memory(struct gpu_chains *chains, gordian_error *error)
{
    const struct makespan_model *model = chains->model;
    struct chains_arguments *arguments = &chains->arguments;
    uint64_t count = chains->options->chains;
    chains->copy = memory_alloc(&chains->memory, count * sizeof *chains->copy);
    if (chains->options->improved)
        chains->logged = memory_zeroed(&chains->memory, count * sizeof *chains->logged);
    if (!chains->copy || (chains->options->improved && !chains->logged))
        return fail_memory(error);
    gordian_status status =
        allocate_chain_memory(chains, &chains->heads, count * sizeof *chains->copy, error);
    THEN(status, allocate_chain_memory(chains, &chains->places, count * arguments->stride, error));
    THEN(status,
         allocate_chain_memory(chains, &chains->best, count * arguments->best_stride, error));
    THEN(status, allocate_chain_memory(chains, &chains->string, model->length, error));
    THEN(status, gpu_write(chains->gpu, chains->string, model->string, model->length, error));
    arguments->heads = chains->heads;
    arguments->places = chains->places;
    arguments->best = chains->best;
    arguments->string = chains->string;
    return status;
}

gordian_status gpu_chains_open(struct gpu_chains **out, struct gpu *gpu,
                               const struct makespan_model *model,
                               const gordian_makespan_options *options, uint64_t first,
                               const struct chains_tuning *tuning, gordian_error *error)
{
    static const struct chains_tuning chosen;
    const char *why;
    *out = NULL;
    if (!gpu_chains_possible(model, &why))
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "%s", why);
    struct gpu_chains *chains = memory_zeroed(&model->memory, sizeof *chains);
    if (!chains)
        return fail_memory(error);
    chains->memory = model->memory;
    chains->gpu = gpu;
    chains->model = model;
    chains->options = options;
    chains->first = first;
    gpu_get_info(gpu, &chains->info);
    chains->arguments =
        (struct chains_arguments){.evaluations = options->evaluations,
                                  .chains = options->chains,
                                  .warps = model->warps,
                                  .length = model->length,
                                  .work = model->work,
                                  .type_count = model->types,
                                  .published = options->published,
                                  .least = options->goal == GORDIAN_MAKESPAN_GOAL_BEST};
    tuning = tuning ? tuning : &chosen;
    chains->arguments.wide = tuning->wide || cell_bits(model) > CHAINS_FIELDS4;
    make_fields(&chains->arguments, model);
    layout_chain(&chains->arguments, model);
    /* A few warps per block. Shared memory is faster, but if only few chains fit into it, it leaves
     * the device underused. */
    uint64_t most = chains->info.shared_most / chains->arguments.stride;
    uint32_t warps = chains->info.emulated ? 2 : 4;
    if (tuning->warps)
        warps = tuning->warps;
    chains->shared = most >= SHARED_WARPS && !tuning->no_shared;
    chains->threads = warps * WARP_LANES;
    gordian_status status = make_memory(chains, error);
    THEN(status, begin_all(chains, error));
    if (status == GORDIAN_OK)
        *out = chains;
    else
        gpu_chains_close(chains);
    return status;
}

void gpu_chains_close(struct gpu_chains *chains)
{
    if (!chains)
        return;
    gpu_free_all(chains->gpu, chains->heads, chains->places, chains->best, chains->string);
    gordian_allocator memory = chains->memory;
    memory_free_all(&memory, chains->copy, chains->logged, chains);
}

/* ------------------------------------------------------------------ running */

gordian_status gpu_chains_advance(struct gpu_chains *chains, uint64_t steps, gordian_error *error)
{
    struct chains_arguments *arguments = &chains->arguments;
    uint32_t count = arguments->chains, threads = chains->threads, warps = threads / WARP_LANES;
    arguments->steps = steps;
    TRY(gpu_launch(chains->gpu,
                   GPU_LAUNCH(chains->shared ? "makespan_chains_shared" : "makespan_chains",
                              (count + warps - 1) / warps, threads, *arguments,
                              .shared = chains->shared ? warps * arguments->stride : 0),
                   error));
    return gpu_read(chains->gpu, chains->copy, chains->heads, count * sizeof *chains->copy, error);
}

const struct chains_head *gpu_chains_heads(const struct gpu_chains *chains)
{
    return chains->copy;
}

gordian_status gpu_chains_read(struct gpu_chains *chains, uint32_t number, bool best,
                               uint8_t *order, gordian_error *error)
{
    const struct chains_arguments *arguments = &chains->arguments;
    gpu_address from = best ? chains->best + number * arguments->best_stride
                            : chains->places + number * arguments->stride;
    return gpu_read(chains->gpu, order, from, chains->model->work, error);
}

uint64_t gpu_chains_memory(const struct gpu_chains *chains)
{
    return chains->held;
}

/* Returns the best chain, and the lowest among equals. */
static uint32_t leading_chain(const struct gpu_chains *chains)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < chains->arguments.chains; i++) {
        if (makespan_better(chains->options->goal, chains->copy[i].best, chains->copy[best].best))
            best = i;
    }
    return best;
}

static void report_chains(const struct gpu_chains *chains, struct watch *watch, uint64_t steps,
                          uint64_t begin)
{
    uint32_t best = chains->copy[leading_chain(chains)].best;
    /* Logs the chains that improved since they were logged last. */
    for (uint32_t i = 0; chains->logged && i < chains->arguments.chains; i++) {
        const struct chains_head *head = &chains->copy[i];
        if (chains->logged[i] != head->best)
            watch_improved(watch, chains->first + i, begin, head->step, head->best);
        chains->logged[i] = head->best;
    }
    atomic_fetch_add(&watch->evaluations, steps * chains->arguments.chains);
    watch_found(watch, chains->options->goal, best);
    watch_poll(watch);
}

gordian_status gpu_chains_run(struct gpu_chains *chains, struct watch *watch, uint8_t *order,
                              gordian_error *error)
{
    uint64_t done = chains->copy[0].step, all = chains->options->evaluations, slice = 16;
    uint64_t start = clock_ns();
    gordian_status status = GORDIAN_OK;
    report_chains(chains, watch, 1, start);
    while (status == GORDIAN_OK && done < all && !watch_stopped(watch) && !watch_closed(watch)) {
        uint64_t steps = slice < all - done ? slice : all - done, begin = clock_ns();
        status = gpu_chains_advance(chains, steps, error);
        uint64_t taken = clock_ns() - begin;
        done += steps;
        if (taken < SLICE_NS / 2)
            slice *= 2;
        else if (taken > SLICE_NS * 2 && slice > 1)
            slice /= 2;
        if (status == GORDIAN_OK)
            report_chains(chains, watch, steps, start);
    }
    THEN(status, gpu_chains_read(chains, leading_chain(chains), true, order, error));
    return status;
}
