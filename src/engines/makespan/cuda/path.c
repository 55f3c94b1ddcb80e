/* Reconstructs a schedule from the values of a sweep (cuda/path.h). */
#include "engines/makespan/cuda/path.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

/* The position of a warp. */
struct path_warp {
    uint32_t run;  /* run_count: done */
    uint32_t left; /* of that run */
};

struct path {
    const struct sweep_tables *tables;
    path_reader *read_value;
    void *context;
    gordian_error *error;
    gordian_status status;
    uint32_t ids[SWEEP_RUNS];  /* the state */
    uint32_t gone[SWEEP_RUNS]; /* in the step: local states before other warps arrive */
    uint32_t next[SWEEP_RUNS]; /* in the step: local states after other warps have arrived */
    uint32_t value;            /* the value that the next state must have */
    struct path_warp *warps;
    uint8_t *order;
    uint32_t entries;
};

/* The work that remains to be distributed over a run and all later runs, as in
 * foundation/gpu/kernels/makespan/makespan_sweep.cu. */
struct path_rest {
    uint64_t index;
    uint32_t left[MAKESPAN_TYPES], later[MAKESPAN_TYPES];
    uint32_t todo, places, comers;
};

uint64_t path_start(const struct sweep_tables *tables, uint32_t *id)
{
    const struct run_tables *run = &tables->runs[0];
    uint32_t warps = tables->model->warps;
    *id = run->base[warps];
    while (run->work[*id] != tables->model->work)
        ++*id;
    /* All warps are in the first run: none is left for the others. */
    return tables->before[warps * (warps + 1) + warps] + (*id - run->base[warps]);
}

/* ------------------------------------------------------------------ the next state */

static uint32_t usable_warps(const struct makespan_model *model, const struct path_rest *rest)
{
    uint32_t sum = 0;
    for (uint32_t u = 0; u < model->types; u++)
        sum += rest->left[u] < rest->later[u] ? rest->left[u] : rest->later[u];
    return sum;
}

static bool find_next_state(struct path *path, uint32_t r, const struct path_rest *rest);

/* Run r takes this option, of k instructions. Returns whether the rest can reach the wanted
 * value. */
static bool take_option(struct path *path, uint32_t r, uint32_t k, uint64_t option,
                        const struct path_rest *rest)
{
    const struct sweep_tables *tables = path->tables;
    const struct run_tables *run = &tables->runs[r];
    struct path_rest after = *rest;
    uint32_t width = tables->model->warps + 1, id = SWEEP_NEXT(option);
    path->gone[r] = id;
    id = run->arrive[id * (run->comers + 1) + rest->comers];
    path->next[r] = id;
    uint32_t n = run->warps[id];
    after.places -= n;
    after.index += tables->before[((size_t)r * width + rest->places) * width + n] +
                   (id - run->base[n]) * tables->room[(r + 1) * width + after.places];
    after.left[run->type] -= k;
    after.todo -= k;
    after.comers = SWEEP_LEAVE(option);
    return find_next_state(path, r + 1, &after);
}

/* True: path->next is a state with the wanted value. False also if reading failed. */
static bool find_next_state(struct path *path, uint32_t r, const struct path_rest *rest)
{
    const struct sweep_tables *tables = path->tables;
    const struct run_tables *run = &tables->runs[r];
    if (r == tables->run_count) {
        uint32_t value;
        path->status = path->read_value(path->context, rest->index, &value, path->error);
        return path->status == GORDIAN_OK && value == path->value;
    }
    struct path_rest own = *rest;
    uint32_t id = path->ids[r], n = run->warps[id], left = own.left[run->type];
    const uint32_t *first = run->first + (size_t)id * (run->most + 2);
    own.later[run->type] -= n;
    for (uint32_t k = 0; k <= run->most && k <= n && k <= left && k <= own.todo; k++) {
        struct path_rest without = own;
        without.left[run->type] -= k;
        if (usable_warps(tables->model, &without) < own.todo - k)
            continue;
        for (uint32_t o = first[k]; o < first[k + 1]; o++) {
            if (take_option(path, r, k, run->options[o], &own))
                return true;
            if (path->status != GORDIAN_OK)
                return false;
        }
    }
    return false;
}

static struct path_rest begin_path_step(const struct path *path)
{
    const struct sweep_tables *tables = path->tables;
    const struct makespan_model *model = tables->model;
    struct path_rest rest = {.places = model->warps};
    for (uint32_t r = 0; r < tables->run_count; r++)
        rest.later[tables->runs[r].type] += tables->runs[r].warps[path->ids[r]];
    memcpy(rest.left, model->units, sizeof rest.left);
    rest.todo = usable_warps(model, &rest);
    rest.todo = rest.todo < model->sigma ? rest.todo : model->sigma;
    return rest;
}

/* ------------------------------------------------------------------ the warps */

/* Returns how many warps of the run have `left` instructions of it left. */
static uint32_t count_warps_with(const struct run_tables *run, uint32_t id, uint32_t left)
{
    uint32_t n = run->warps[id], length = run->length;
    struct local_state state = local_at(&run->local, n, id - run->base[n]);
    if (run->local.kind == LOCAL_FULL)
        return state.counts[left - 1];
    if (run->local.kind == LOCAL_PACKED && length > 1) {
        uint32_t done = length * n - state.work;
        uint32_t last = done / (length - 1), part = done % (length - 1);
        if (left == 1)
            return last;
        if (part && left == length - part)
            return 1;
        return left == length ? n - last - (part > 0) : 0;
    }
    return left == 2 ? state.work - n : length == 1 ? n : 2 * n - state.work;
}

/* Runs one instruction of `count` warps of run r that have `left` instructions left. */
static void run_some(struct path *path, uint32_t r, uint32_t left, uint32_t count)
{
    const struct sweep_tables *tables = path->tables;
    struct path_warp *warps = path->warps;
    for (uint32_t w = 0; w < tables->model->warps && count > 0; w++) {
        if (warps[w].run != r || warps[w].left != left)
            continue;
        path->order[path->entries++] = (uint8_t)w;
        count--;
        if (--warps[w].left > 0)
            continue;
        warps[w].run++;
        warps[w].left = r + 1 < tables->run_count ? tables->runs[r + 1].length : 0;
    }
}

gordian_status path_find(const struct sweep_tables *tables, path_reader *read_value, void *context,
                         uint8_t *order, gordian_error *error)
{
    const struct makespan_model *model = tables->model;
    struct path path = {.tables = tables,
                        .read_value = read_value,
                        .context = context,
                        .error = error,
                        .order = order};
    path.warps = memory_zeroed(&tables->memory, model->warps * sizeof *path.warps);
    if (!path.warps)
        return fail_memory(error);
    for (uint32_t w = 0; w < model->warps; w++)
        path.warps[w].left = tables->runs[0].length;
    path.status = read_value(context, path_start(tables, &path.ids[0]), &path.value, error);
    while (path.status == GORDIAN_OK && path.value > 0) {
        struct path_rest rest = begin_path_step(&path);
        path.value--;
        if (!find_next_state(&path, 0, &rest)) {
            if (path.status == GORDIAN_OK)
                path.status = fail(error, GORDIAN_STATUS_IO,
                                   "internal error on the device: values contradict each other");
            break;
        }
        /* The entries of the cycle. Later runs come first, so that a warp that enters a run does
         * not run twice. Within a run, warps that leave it come first, then warps in ascending
         * order of the instructions left: as many as needed to reach the numbers of the next state.
         */
        for (uint32_t r = path.tables->run_count; r-- > 0;) {
            const struct run_tables *run = &path.tables->runs[r];
            uint32_t id = path.ids[r], gone = path.gone[r];
            uint32_t going = run->warps[id] - run->warps[gone];
            for (uint32_t left = 1; left <= run->length; left++) {
                run_some(&path, r, left, going);
                going += count_warps_with(run, gone, left) - count_warps_with(run, id, left);
            }
        }
        memcpy(path.ids, path.next, sizeof path.ids);
    }
    memory_free(&tables->memory, path.warps);
    return path.status;
}
