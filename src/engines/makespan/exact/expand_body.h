/* Computes the successors of a state, for one word size. Included by search.c, which defines WORD
 * and NAME(x). search.h describes how a word encodes a state. */

enum { NAME(MOST_PLACES) = 128 };

/* A decoded state, and a step under construction. */
struct NAME(expansion) {
    const struct search *search;
    const struct abstraction *abstraction;
    unsigned time_bits;
    uint32_t known; /* only results better than this are wanted */
    void (*emit)(void *context, WORD word, uint32_t bound);
    void *context;
    bool quit; /* emit wants no more states */

    WORD word;
    uint32_t time, progress;           /* progress: K, what a step adds to it */
    uint32_t count[NAME(MOST_PLACES)]; /* warps at each instruction */
    uint32_t zero[NAME(MOST_PLACES)];  /* position of its zero bit, without the bits of the time */
    uint32_t warps[ABSTRACTION_MAX_BLOCKS], work[ABSTRACTION_MAX_BLOCKS]; /* of blocks, of pools */
    uint32_t filled[ABSTRACTION_MAX_BLOCKS], filled_count;                /* blocks with warps */
    uint32_t units[MAKESPAN_TYPES], ready[MAKESPAN_TYPES];                /* left, while choosing */
    uint32_t starts[ABSTRACTION_MAX_BLOCKS], leaves[ABSTRACTION_MAX_BLOCKS];
    uint32_t bound; /* of the chosen step: time and remainder */
};

static uint32_t NAME(trailing_ones)(WORD word)
{
    WORD other = ~word;
#if WORD_BITS == 64
    return (uint32_t)__builtin_ctzll(other);
#else
    uint64_t low = (uint64_t)other;
    return low ? (uint32_t)__builtin_ctzll(low)
               : 64 + (uint32_t)__builtin_ctzll((uint64_t)(other >> 64));
#endif
}

/* The initial state: all warps before the first instruction, time 0. */
static WORD NAME(first_word)(const struct makespan_model *model)
{
    return (((WORD)1 << model->warps) - 1) << search_time_bits(model);
}

static void NAME(begin_expansion)(struct NAME(expansion) * x, const struct search *search,
                                  uint32_t known)
{
    memset(x, 0, sizeof *x);
    x->search = search;
    x->abstraction = search->table->abstraction;
    x->time_bits = search_time_bits(search->model);
    x->known = known;
}

static uint32_t NAME(time_of)(const struct NAME(expansion) * x, WORD word)
{
    return (uint32_t)(word & (((WORD)1 << x->time_bits) - 1));
}

/* Counts the warps at each instruction. */
static void NAME(read_places)(struct NAME(expansion) * x, WORD word)
{
    WORD state = word >> x->time_bits;
    uint32_t at = 0;
    for (uint32_t place = 0; place < x->search->model->length; place++) {
        uint32_t ones = NAME(trailing_ones)(state >> at);
        x->count[place] = ones;
        x->zero[place] = at += ones;
        at++;
    }
}

static void NAME(take_apart)(struct NAME(expansion) * x, WORD word)
{
    const struct abstraction *abstraction = x->abstraction;
    const struct makespan_model *model = x->search->model;
    x->word = word;
    x->time = NAME(time_of)(x, word);
    x->filled_count = 0;
    NAME(read_places)(x, word);
    memset(x->ready, 0, sizeof x->ready);
    memset(x->work, 0, abstraction->pool_count * sizeof *x->work);
    memcpy(x->units, model->units, sizeof x->units);
    for (uint32_t b = 0; b < abstraction->block_count; b++) {
        const struct abstraction_block *block = &abstraction->blocks[b];
        uint32_t warps = 0;
        for (uint32_t i = 0; i < block->length; i++) {
            warps += x->count[block->first + i];
            x->work[block->pool] += x->count[block->first + i] * (block->length - i);
        }
        x->warps[b] = warps;
        x->ready[block->type] += warps;
        x->starts[b] = x->leaves[b] = 0;
        if (warps)
            x->filled[x->filled_count++] = b;
    }
    x->progress = abstraction_progress(abstraction, x->warps);
}

/* Returns the change of the word when `warps` move on from an instruction. */
static WORD NAME(moving)(const struct NAME(expansion) * x, uint32_t place, uint32_t warps)
{
    unsigned at = x->zero[place] + x->time_bits;
    return ((WORD)1 << at) - ((WORD)1 << (at - warps));
}

static void NAME(spread)(struct NAME(expansion) * x, uint32_t at, WORD word);

/* Distributes `left` of the block's warps that run and stay over the places from `place` on, in
 * every combination. */
static void NAME(spread_stays)(struct NAME(expansion) * x, uint32_t at, uint32_t place,
                               uint32_t left, WORD word)
{
    if (x->quit)
        return;
    if (left == 0) {
        NAME(spread)(x, at + 1, word);
        return;
    }
    const struct abstraction_block *block = &x->abstraction->blocks[x->filled[at]];
    uint32_t last = block->first + block->length - 1;
    while (place < last && x->count[place] == 0)
        place++;
    if (place == last)
        return;
    uint32_t most = x->count[place] < left ? x->count[place] : left;
    NAME(spread_stays)(x, at, place + 1, left, word);
    for (uint32_t m = 1; m <= most; m++)
        NAME(spread_stays)(x, at, place + 1, left - m, word + NAME(moving)(x, place, m));
}

/* Returns the remainder of the state by its runs, as candidates.h stores them. */
static uint32_t NAME(candidate_rest)(const struct NAME(expansion) * x, WORD word)
{
    const struct makespan_model *model = x->search->model;
    struct largest_run runs[ABSTRACTION_MAX_BLOCKS];
    WORD state = word >> x->time_bits;
    for (uint32_t b = 0; b < model->run_count; b++) {
        struct largest_run run = {0};
        for (uint32_t left = model->runs[b].length; left > 0; left--) {
            uint32_t ones = NAME(trailing_ones)(state);
            state = state >> ones >> 1;
            run.warps += ones;
            run.work += ones * left;
            run.largest = ones && run.largest == 0 ? left : run.largest;
        }
        runs[b] = run;
    }
    return candidates_rest(x->search->candidates, runs, model->run_count);
}

/* Emits the next state unless the candidates rule it out. */
static void NAME(emit_word)(const struct NAME(expansion) * x, WORD word)
{
    uint32_t bound = x->bound, rest = x->search->candidates ? NAME(candidate_rest)(x, word) : 0;
    if (rest == CANDIDATES_NONE)
        return;
    if (x->search->candidates)
        bound = x->time + 1 + rest;
    if (search_worth(x->search->table->goal, bound, x->known))
        x->emit(x->context, word, bound);
}

/* Chooses which warps of the filled blocks from `at` on run: every choice that matters. */
static void NAME(spread)(struct NAME(expansion) * x, uint32_t at, WORD word)
{
    if (at == x->filled_count) {
        NAME(emit_word)(x, word + 1);
        return;
    }
    uint32_t b = x->filled[at], stays = x->starts[b] - x->leaves[b];
    const struct abstraction_block *block = &x->abstraction->blocks[b];
    uint32_t last = block->first + block->length - 1;
    if (x->leaves[b])
        word += NAME(moving)(x, last, x->leaves[b]);
    if (stays && x->search->model->units[block->type] == 1) {
        /* Only the furthest warp that is not at the end. */
        uint32_t place = last;
        while (x->count[--place] == 0)
            continue;
        NAME(spread)(x, at + 1, word + NAME(moving)(x, place, 1));
        return;
    }
    NAME(spread_stays)(x, at, block->first, stays, word);
}

/* Computes what may follow the chosen abstract step; false: it cannot improve the result. */
static bool NAME(step_worth)(struct NAME(expansion) * x)
{
    const struct abstraction *abstraction = x->abstraction;
    uint32_t after[ABSTRACTION_MAX_BLOCKS], work[ABSTRACTION_MAX_BLOCKS], coming = 0;
    memcpy(work, x->work, abstraction->pool_count * sizeof *work);
    for (uint32_t b = 0; b < abstraction->block_count; b++) {
        const struct abstraction_block *block = &abstraction->blocks[b];
        after[b] = x->warps[b] - x->leaves[b] + coming;
        work[block->pool] += coming * block->length - x->starts[b];
        coming = x->leaves[b];
    }
    uint32_t rest = table_at(x->search->table, abstraction_state(abstraction, after, work));
    x->bound = rest == TABLE_UNKNOWN ? UINT32_MAX : x->time + 1 + rest;
    return search_worth(x->search->table->goal, x->bound, x->known);
}

static bool NAME(can_start)(const struct NAME(expansion) * x, uint32_t wanted)
{
    uint32_t most = 0;
    for (uint32_t t = 0; t < x->search->model->types; t++)
        most += x->ready[t] < x->units[t] ? x->ready[t] : x->units[t];
    return most >= wanted;
}

/* Chooses how many warps of each filled block from `at` on run, and how many of them leave. */
static void NAME(choose)(struct NAME(expansion) * x, uint32_t at, uint32_t left)
{
    if (!NAME(can_start)(x, left))
        return;
    if (at == x->filled_count) {
        if (NAME(step_worth)(x))
            NAME(spread)(x, 0, x->word);
        return;
    }
    uint32_t b = x->filled[at];
    const struct abstraction_block *block = &x->abstraction->blocks[b];
    uint32_t warps = x->warps[b], at_end = x->count[block->first + block->length - 1];
    uint32_t most = warps < left ? warps : left;
    if (most > x->units[block->type])
        most = x->units[block->type];
    x->ready[block->type] -= warps;
    for (uint32_t starts = 0; starts <= most; starts++) {
        x->units[block->type] -= starts;
        x->starts[b] = starts;
        uint32_t must = starts > warps - at_end ? starts - (warps - at_end) : 0;
        for (uint32_t leaves = must; leaves <= starts && leaves <= at_end; leaves++) {
            x->leaves[b] = leaves;
            NAME(choose)(x, at + 1, left - starts);
        }
        x->units[block->type] += starts;
    }
    x->ready[block->type] += warps;
    x->starts[b] = x->leaves[b] = 0;
}

/* Emits every successor that may improve the result; `word` is a state with warps left. */
static void NAME(expand)(struct NAME(expansion) * x, WORD word)
{
    NAME(take_apart)(x, word);
    NAME(choose)(x, 0, x->progress);
}

static bool NAME(finished)(const struct NAME(expansion) * x, WORD word)
{
    const struct makespan_model *model = x->search->model;
    return word >> x->time_bits == (((WORD)1 << model->warps) - 1) << model->length;
}
