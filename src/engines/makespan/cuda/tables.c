/* Builds the tables of an abstract system: counts its states and fills the tables
 * (cuda/tables.h). */
#include "engines/makespan/cuda/tables.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

#define MOST_IDS     (1u << 24) /* local states of a run */
#define MOST_OPTIONS (1u << 28) /* options of all local states */
#define MOST_STATES  (UINT64_C(1) << 62)

/* ------------------------------------------------------------------ counting */

static struct local_run run_of(const struct makespan_model *model, enum sweep_detail detail,
                               uint32_t r)
{
    static const enum local_kind kinds[] = {
        [SWEEP_WORK] = LOCAL_WORK, [SWEEP_LARGEST] = LOCAL_LARGEST, [SWEEP_FULL] = LOCAL_FULL};
    const struct makespan_run *run = &model->runs[r];
    uint32_t most = model->units[run->type];
    most = most < model->sigma ? most : model->sigma;
    most = most < model->warps ? most : model->warps;
    return (struct local_run){most == 1 ? LOCAL_PACKED : kinds[detail], run->length, most};
}

/* Returns the number of local states of the run, for all numbers of warps; 0: too many. */
static uint64_t count_ids(const struct local_run *run, uint32_t warps)
{
    uint64_t ids = 0;
    for (uint32_t n = 0; n <= warps; n++) {
        uint64_t count = local_count(run, n);
        ids += count;
        if (count == 0 || ids > MOST_IDS)
            return 0;
    }
    return ids;
}

/* rooms[t]: number of states of the runs from r on with t warps, computed in place from that of the
 * later runs. False: too many. */
static bool add_run(const struct local_run *run, uint32_t warps, uint64_t *rooms)
{
    for (uint32_t t = warps + 1; t-- > 0;) {
        uint64_t sum = 0;
        for (uint32_t n = 0; n <= t; n++) {
            uint64_t product;
            if (__builtin_mul_overflow(local_count(run, n), rooms[t - n], &product) ||
                __builtin_add_overflow(sum, product, &sum) || sum > MOST_STATES)
                return false;
        }
        rooms[t] = sum;
    }
    return true;
}

static const char *limits_reason(const struct makespan_model *model, enum sweep_detail detail)
{
    if (model->run_count > SWEEP_RUNS)
        return "the string has more than 8 runs of one type";
    if (model->types > SWEEP_UNITS)
        return "the string has more than 8 types";
    if (model->warps > SWEEP_WARPS)
        return "there are more than 255 warps";
    for (uint32_t r = 0; r < model->run_count; r++) {
        struct local_run run = run_of(model, detail, r);
        if (run.kind == LOCAL_FULL && run.length > LOCAL_FULL_LENGTH)
            return "a run has more than 32 instructions";
        if (count_ids(&run, model->warps) == 0)
            return "a run has too many local states";
    }
    return NULL;
}

bool sweep_possible(const struct makespan_model *model, enum sweep_detail detail, uint64_t *states,
                    const char **why)
{
    uint64_t rooms[SWEEP_WARPS + 1], prefixes[SWEEP_WARPS + 1];
    *why = limits_reason(model, detail);
    if (*why)
        return false;
    for (uint32_t t = 0; t <= model->warps; t++)
        rooms[t] = prefixes[t] = 1;
    for (uint32_t r = model->run_count; r-- > 0;) {
        struct local_run run = run_of(model, detail, r);
        if (!add_run(&run, model->warps, rooms) ||
            (r + 1 < model->run_count && !add_run(&run, model->warps, prefixes)) ||
            prefixes[model->warps] > UINT32_MAX) {
            *why = "there are too many states";
            return false;
        }
    }
    *states = rooms[model->warps];
    return true;
}

/* ------------------------------------------------------------------ a run's tables */

struct filling {
    const struct local_run *run;
    struct run_tables *tables;
    uint64_t count; /* options so far */
};

static uint32_t id_of(const struct filling *filling, const struct local_state *state)
{
    return filling->tables->base[state->warps] + (uint32_t)local_rank(filling->run, state);
}

/* Counts an option, and stores it if its array exists already. */
static void add_option(void *context, uint32_t leave, const struct local_state *next)
{
    struct filling *filling = context;
    if (filling->tables->options)
        filling->tables->options[filling->count] = SWEEP_OPTION(id_of(filling, next), leave);
    filling->count++;
}

/* Fills everything except the options, which are only counted. */
static void fill_local_states(struct filling *filling, uint32_t warps)
{
    struct run_tables *tables = filling->tables;
    const struct local_run *run = filling->run;
    for (uint32_t n = 0; n <= warps; n++) {
        for (uint32_t id = tables->base[n]; id < tables->base[n + 1]; id++) {
            struct local_state state = local_at(run, n, id - tables->base[n]);
            tables->warps[id] = n;
            tables->work[id] = state.work + n * tables->after;
            for (uint32_t a = 0; a <= tables->comers; a++) {
                struct local_state more = local_arrive(run, &state, a);
                tables->arrive[id * (tables->comers + 1) + a] =
                    n + a <= warps ? id_of(filling, &more) : UINT32_MAX;
            }
            for (uint32_t k = 0; k <= tables->most + 1; k++) {
                tables->first[id * (tables->most + 2) + k] = (uint32_t)filling->count;
                if (k <= tables->most && filling->count < MOST_OPTIONS)
                    local_steps(run, &state, k, add_option, filling);
            }
        }
    }
}

static void fill_options(struct filling *filling, uint32_t warps)
{
    struct run_tables *tables = filling->tables;
    filling->count = 0;
    for (uint32_t n = 0; n <= warps; n++) {
        for (uint32_t id = tables->base[n]; id < tables->base[n + 1]; id++) {
            struct local_state state = local_at(filling->run, n, id - tables->base[n]);
            for (uint32_t k = 0; k <= tables->most; k++)
                local_steps(filling->run, &state, k, add_option, filling);
        }
    }
}

static gordian_status make_run(struct sweep_tables *tables, const struct local_run *run, uint32_t r,
                               gordian_error *error)
{
    const struct makespan_model *model = tables->model;
    struct run_tables *to = &tables->runs[r];
    struct filling filling = {run, to, 0};
    uint64_t ids = count_ids(run, model->warps), size = sizeof(uint32_t);
    const struct makespan_run *own = &model->runs[r];
    *to = (struct run_tables){.local = *run,
                              .ids = (uint32_t)ids,
                              .after = model->length - own->first - own->length,
                              .length = run->length,
                              .most = run->most,
                              .comers = r ? tables->runs[r - 1].most : 0,
                              .type = model->runs[r].type};
    if (ids * (to->most + 2) > UINT32_MAX || ids * (to->comers + 1) > UINT32_MAX)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "a run has too many local states");
    to->base = memory_alloc(&tables->memory, (model->warps + 2) * size);
    to->warps = memory_alloc(&tables->memory, ids * size);
    to->work = memory_alloc(&tables->memory, ids * size);
    to->first = memory_alloc(&tables->memory, ids * (to->most + 2) * size);
    to->arrive = memory_alloc(&tables->memory, ids * (to->comers + 1) * size);
    if (!to->base || !to->warps || !to->work || !to->first || !to->arrive)
        return fail_memory(error);
    to->base[0] = 0;
    for (uint32_t n = 0; n <= model->warps; n++)
        to->base[n + 1] = to->base[n] + (uint32_t)local_count(run, n);
    fill_local_states(&filling, model->warps);
    to->option_count = filling.count;
    if (filling.count >= MOST_OPTIONS)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "a run has too many successors");
    to->options = memory_alloc(&tables->memory, filling.count * sizeof *to->options);
    if (!to->options)
        return fail_memory(error);
    fill_options(&filling, model->warps);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ tables of the whole circuit */

/* Fills room and before over the first `runs` runs, as if the later ones had one state. `alike`:
 * local states with the same number of warps count as one. */
static void fill_rooms(const struct sweep_tables *tables, uint32_t runs, bool alike, uint64_t *room,
                       uint64_t *before)
{
    uint32_t width = tables->model->warps + 1;
    for (uint32_t t = 0; t < width; t++)
        room[runs * width + t] = 1;
    for (uint32_t r = runs; r-- > 0;) {
        const uint32_t *base = tables->runs[r].base;
        for (uint32_t t = 0; t < width; t++) {
            uint64_t sum = 0;
            for (uint32_t n = 0; n < width; n++) {
                before[(r * width + t) * width + n] = sum;
                uint64_t count = alike ? 1 : base[n + 1] - base[n];
                if (n <= t)
                    sum += count * room[(r + 1) * width + t - n];
            }
            room[r * width + t] = sum;
        }
    }
}

static gordian_status make_rooms(struct sweep_tables *tables, gordian_error *error)
{
    size_t width = tables->model->warps + 1, runs = tables->run_count;
    size_t room = (runs + 1) * width * sizeof(uint64_t);
    size_t before = runs * width * width * sizeof(uint64_t);
    struct {
        uint64_t **room, **before;
        bool whole, alike;
    } kinds[] = {{&tables->room, &tables->before, true, false},
                 {&tables->prefix_room, &tables->prefix_before, false, false},
                 {&tables->class_room, &tables->class_before, false, true}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        *kinds[i].room = memory_alloc(&tables->memory, room);
        *kinds[i].before = memory_alloc(&tables->memory, before);
        if (!*kinds[i].room || !*kinds[i].before)
            return fail_memory(error);
        fill_rooms(tables, (uint32_t)runs - !kinds[i].whole, kinds[i].alike, *kinds[i].room,
                   *kinds[i].before);
    }
    tables->states = tables->room[width - 1];
    tables->prefixes = tables->prefix_room[width - 1];
    tables->classes = tables->class_room[width - 1];
    return GORDIAN_OK;
}

/* Sorts the local states of the last run by work, those with fewer warps first. */
static gordian_status make_last(struct sweep_tables *tables, gordian_error *error)
{
    const struct run_tables *run = &tables->runs[tables->run_count - 1];
    size_t width = tables->model->warps + 1, size = sizeof(uint32_t);
    size_t works = (size_t)run->length * tables->model->warps + 1;
    tables->last_states = memory_alloc(&tables->memory, run->ids * size);
    tables->last_first = memory_zeroed(&tables->memory, (works + 1) * size);
    tables->last_count = memory_zeroed(&tables->memory, works * width * size);
    if (!tables->last_states || !tables->last_first || !tables->last_count)
        return fail_memory(error);
    for (uint32_t id = 0; id < run->ids; id++) {
        tables->last_first[run->work[id] + 1]++;
        tables->last_count[run->work[id] * width + run->warps[id]]++;
    }
    for (size_t work = 0; work < works; work++) {
        tables->last_first[work + 1] += tables->last_first[work];
        for (size_t t = 1; t < width; t++)
            tables->last_count[work * width + t] += tables->last_count[work * width + t - 1];
    }
    for (uint32_t id = 0; id < run->ids; id++)
        tables->last_states[tables->last_first[run->work[id]]++] = id;
    for (size_t work = works; work > 0; work--)
        tables->last_first[work] = tables->last_first[work - 1];
    tables->last_first[0] = 0;
    return GORDIAN_OK;
}

gordian_status sweep_tables_open(struct sweep_tables **out, const struct makespan_model *model,
                                 enum sweep_detail detail, const gordian_allocator *memory,
                                 gordian_error *error)
{
    const char *why;
    uint64_t states;
    *out = NULL;
    if (!sweep_possible(model, detail, &states, &why))
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "%s", why);
    struct sweep_tables *tables = memory_zeroed(memory, sizeof *tables);
    if (!tables)
        return fail_memory(error);
    tables->memory = *memory;
    tables->model = model;
    tables->run_count = model->run_count;
    tables->lossless = true;
    gordian_status status = GORDIAN_OK;
    for (uint32_t r = 0; r < model->run_count && status == GORDIAN_OK; r++) {
        struct local_run run = run_of(model, detail, r);
        tables->lossless &= run.kind == LOCAL_PACKED || run.kind == LOCAL_FULL || run.length <= 2;
        status = make_run(tables, &run, r, error);
    }
    THEN(status, make_rooms(tables, error));
    THEN(status, make_last(tables, error));
    if (status == GORDIAN_OK)
        *out = tables;
    else
        sweep_tables_close(tables);
    return status;
}

void sweep_tables_close(struct sweep_tables *tables)
{
    if (!tables)
        return;
    gordian_allocator memory = tables->memory;
    for (uint32_t r = 0; r < SWEEP_RUNS; r++) {
        struct run_tables *run = &tables->runs[r];
        memory_free_all(&memory, run->base, run->warps, run->work, run->first, run->arrive,
                        run->options);
    }
    memory_free_all(&memory, tables->room, tables->before, tables->prefix_room,
                    tables->prefix_before, tables->class_room, tables->class_before,
                    tables->last_states, tables->last_first, tables->last_count, tables);
}
