/* Computes the steps between states of sums and largest remainders, for one word size. Included by
 * search.c and candidates.c, which define WORD and NAME(x). See search.h. */

/* A decoded state, and a step under construction. */
struct NAME(expansion) {
    const struct search *search;
    const struct abstraction *abstraction;
    unsigned time_bits;
    struct largest_layout layout;
    uint32_t known; /* only results better than this are wanted */
    void (*emit)(void *context, WORD word, uint32_t bound);
    void *context;
    bool quit; /* emit wants no more states */

    uint32_t time, progress; /* progress: K, what a step adds to it */
    struct largest_run runs[ABSTRACTION_MAX_BLOCKS];
    uint32_t filled[ABSTRACTION_MAX_BLOCKS], filled_count;
    uint32_t units[MAKESPAN_TYPES], ready[MAKESPAN_TYPES]; /* left, while choosing */
    uint32_t starts[ABSTRACTION_MAX_BLOCKS], leaves[ABSTRACTION_MAX_BLOCKS];
    /* the change of the state's number per start of the block */
    uint64_t stride[ABSTRACTION_MAX_BLOCKS];
    uint64_t number; /* of the table's state, as chosen so far */
    uint32_t bound;
};

static WORD NAME(field)(WORD state, uint32_t at, uint32_t bits)
{
    return state >> at & (((WORD)1 << bits) - 1);
}

static WORD NAME(put_run)(const struct largest_field *field, const struct largest_run *run)
{
    WORD word = (WORD)run->warps << field->warps_at | (WORD)(run->work - run->warps)
                                                          << field->work_at;
    if (field->largest_bits && run->warps)
        word |= (WORD)(run->largest - 1) << field->largest_at;
    return word;
}

static struct largest_run NAME(get_run)(const struct largest_field *field, WORD state)
{
    struct largest_run run = {.warps =
                                  (uint32_t)NAME(field)(state, field->warps_at, field->warps_bits)};
    run.work = run.warps + (uint32_t)NAME(field)(state, field->work_at, field->work_bits);
    if (field->largest_bits && run.warps)
        run.largest = 1 + (uint32_t)NAME(field)(state, field->largest_at, field->largest_bits);
    return run;
}

/* The initial state: all warps before the first instruction, time 0. */
static WORD NAME(first_word)(const struct makespan_model *model)
{
    struct largest_layout layout;
    largest_lay_out(&layout, model);
    uint32_t length = model->runs[0].length;
    struct largest_run all = {model->warps, model->warps * length, length};
    return NAME(put_run)(&layout.fields[0], &all) << search_time_bits(model);
}

static void NAME(begin_expansion)(struct NAME(expansion) * x, const struct search *search,
                                  uint32_t known)
{
    memset(x, 0, sizeof *x);
    x->search = search;
    x->abstraction = search->table->abstraction;
    x->time_bits = search_time_bits(search->model);
    x->known = known;
    largest_lay_out(&x->layout, search->model);
}

static uint32_t NAME(time_of)(const struct NAME(expansion) * x, WORD word)
{
    return (uint32_t)NAME(field)(word, 0, x->time_bits);
}

static bool NAME(finished)(const struct NAME(expansion) * x, WORD word)
{
    return word >> x->time_bits == 0;
}

static void NAME(take_apart)(struct NAME(expansion) * x, WORD word)
{
    const struct makespan_model *model = x->search->model;
    uint32_t warps[ABSTRACTION_MAX_BLOCKS];
    x->time = NAME(time_of)(x, word);
    x->filled_count = 0;
    memset(x->ready, 0, sizeof x->ready);
    memcpy(x->units, model->units, sizeof x->units);
    for (uint32_t b = 0; b < model->run_count; b++) {
        x->runs[b] = NAME(get_run)(&x->layout.fields[b], word >> x->time_bits);
        warps[b] = x->runs[b].warps;
        x->ready[model->runs[b].type] += warps[b];
        x->starts[b] = x->leaves[b] = 0;
        if (warps[b])
            x->filled[x->filled_count++] = b;
    }
    x->progress = abstraction_progress(x->abstraction, warps);
}

/* Computes the table's state if only the leaving warps start. */
static void NAME(number_leaves)(struct NAME(expansion) * x)
{
    const struct abstraction *abstraction = x->abstraction;
    uint32_t after[ABSTRACTION_MAX_BLOCKS], least[ABSTRACTION_MAX_BLOCKS];
    uint32_t extent[ABSTRACTION_MAX_BLOCKS], work[ABSTRACTION_MAX_BLOCKS] = {0}, coming = 0;
    uint64_t stride = 1, strides[ABSTRACTION_MAX_BLOCKS];
    for (uint32_t b = 0; b < abstraction->block_count; b++) {
        const struct abstraction_block *block = &abstraction->blocks[b];
        after[b] = x->runs[b].warps - x->leaves[b] + coming;
        work[block->pool] += x->runs[b].work + coming * block->length - x->leaves[b];
        coming = x->leaves[b];
    }
    abstraction_extents(abstraction, after, least, extent);
    x->number = abstraction->offsets[abstraction_box(abstraction, after)];
    for (uint32_t p = abstraction->pool_count; p-- > 0; stride *= extent[p]) {
        strides[p] = stride;
        x->number += stride * work[p] - stride * least[p];
    }
    for (uint32_t b = 0; b < abstraction->block_count; b++)
        x->stride[b] = strides[abstraction->blocks[b].pool];
}

/* Computes what may follow the chosen sums; false: it cannot improve the result. */
static bool NAME(step_worth)(struct NAME(expansion) * x)
{
    uint32_t rest = table_at(x->search->table, x->number);
    x->bound = rest == TABLE_UNKNOWN ? UINT32_MAX : x->time + 1 + rest;
    return search_worth(x->search->table->goal, x->bound, x->known);
}

/* Tries every possible largest remainder after the step, for each run from `b` on. */
static void NAME(spread)(struct NAME(expansion) * x, uint32_t b, uint32_t coming, WORD state)
{
    const struct makespan_model *model = x->search->model;
    if (x->quit)
        return;
    if (b == model->run_count) {
        x->emit(x->context, (state << x->time_bits) + x->time + 1, x->bound);
        return;
    }
    const uint32_t length = model->runs[b].length;
    const struct largest_field *field = &x->layout.fields[b];
    const struct largest_run *run = &x->runs[b];
    const struct largest_step step = {x->starts[b], x->leaves[b]};
    struct largest_run after = {run->warps - step.leaves + coming,
                                run->work - step.starts + coming * length, 0};
    if (!field->largest_bits) {
        NAME(spread)(x, b + 1, step.leaves, state | NAME(put_run)(field, &after));
        return;
    }
    uint32_t most = run->largest, least = most ? most - 1 : 0;
    for (uint32_t largest = least; largest <= most; largest++) {
        if (!largest_may_be(run, &step, largest))
            continue;
        after.largest = coming ? length : largest;
        NAME(spread)(x, b + 1, step.leaves, state | NAME(put_run)(field, &after));
        if (coming)
            break; /* the same for all */
    }
}

static bool NAME(can_start)(const struct NAME(expansion) * x, uint32_t wanted)
{
    uint32_t most = 0;
    for (uint32_t t = 0; t < x->search->model->types; t++)
        most += x->ready[t] < x->units[t] ? x->ready[t] : x->units[t];
    return most >= wanted;
}

/* Chooses, for each filled run from `at` on, how many of its warps start and stay in it. The warps
 * that leave have been chosen before. */
static void NAME(choose_stays)(struct NAME(expansion) * x, uint32_t at, uint32_t left)
{
    if (x->quit || !NAME(can_start)(x, left))
        return;
    if (at == x->filled_count) {
        if (NAME(step_worth)(x))
            NAME(spread)(x, 0, 0, 0);
        return;
    }
    const uint32_t b = x->filled[at], type = x->search->model->runs[b].type;
    const uint32_t rest = x->runs[b].warps - x->leaves[b];
    uint32_t most = rest < left ? rest : left, stays = 0;
    most = most < x->units[type] ? most : x->units[type];
    x->ready[type] -= rest;
    for (; stays <= most; stays++) {
        x->starts[b] = x->leaves[b] + stays;
        struct largest_step step = {x->starts[b], x->leaves[b]};
        if (largest_can(&x->runs[b], &step, x->search->model->runs[b].length,
                        x->layout.fields[b].largest_bits != 0))
            NAME(choose_stays)(x, at + 1, left - stays);
        x->units[type]--; /* the last decrement is one too many, and is undone below */
        x->number -= x->stride[b];
    }
    x->units[type] += stays;
    x->number += stays * x->stride[b];
    x->ready[type] += rest;
    x->starts[b] = 0;
}

/* Chooses how many warps of each filled run from `at` on leave it. */
static void NAME(choose_leaves)(struct NAME(expansion) * x, uint32_t at, uint32_t left)
{
    if (x->quit)
        return;
    if (at == x->filled_count) {
        NAME(number_leaves)(x);
        NAME(choose_stays)(x, 0, left);
        return;
    }
    const uint32_t b = x->filled[at], type = x->search->model->runs[b].type;
    uint32_t most = largest_leavers(&x->runs[b], x->search->model->runs[b].length), leaves = 0;
    most = most < left ? most : left;
    most = most < x->units[type] ? most : x->units[type];
    for (; leaves <= most; leaves++) {
        x->leaves[b] = leaves;
        NAME(choose_leaves)(x, at + 1, left - leaves);
        x->units[type]--;
        x->ready[type]--;
    }
    x->units[type] += leaves;
    x->ready[type] += leaves;
    x->leaves[b] = 0;
}

/* Emits every successor that may improve the result; `word` is a state with warps left. */
static void NAME(expand)(struct NAME(expansion) * x, WORD word)
{
    NAME(take_apart)(x, word);
    NAME(choose_leaves)(x, 0, x->progress);
}
