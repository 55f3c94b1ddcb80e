/* Branch and bound by depth-first search, for one word size: included after expand_body.h. */

enum { NAME(MOST_CHILDREN) = 1 << 20 };

struct NAME(child) {
    WORD word;
    uint32_t bound;
};

/* A state on the stack, with its children. */
struct NAME(frame) {
    WORD word;
    size_t begin, next; /* in `children`; a frame ends where the next one begins */
};

struct NAME(dfs) {
    const struct search *search;
    struct NAME(expansion) expansion;
    struct NAME(frame) * frames;
    size_t depth, frame_room;
    struct NAME(child) * children;
    size_t child_count, child_room;
    WORD *memo; /* states that failed, with the best time at which they did; may be NULL */
    size_t memo_room;
    uint64_t states;
    bool failed;
};

static void NAME(dfs_emit)(void *context, WORD word, uint32_t bound)
{
    struct NAME(dfs) *dfs = context;
    /* The depth-first search gives up at a state with this many successors. */
    if (dfs->child_count - dfs->frames[dfs->depth - 1].begin >= NAME(MOST_CHILDREN) ||
        watch_stopped(dfs->search->watch))
        dfs->expansion.quit = true;
    if (dfs->expansion.quit)
        return;
    if (dfs->failed || !memory_grow(&dfs->search->memory, &dfs->children, &dfs->child_room,
                                    dfs->child_count + 1, sizeof *dfs->children)) {
        dfs->failed = true;
        return;
    }
    dfs->children[dfs->child_count++] = (struct NAME(child)){word, bound};
}

/* The most promising child comes first. */
static bool NAME(child_before)(const void *context, const void *left, const void *right)
{
    const struct NAME(child) *a = left, *b = right;
    if (a->bound != b->bound)
        return *(const gordian_makespan_goal *)context == GORDIAN_MAKESPAN_GOAL_WORST
                   ? a->bound > b->bound
                   : a->bound < b->bound;
    return a->word < b->word;
}

/* Returns whether the search failed from this state before, at a time that was no worse. */
static bool NAME(known_failure)(const struct NAME(dfs) * dfs, WORD word)
{
    if (!dfs->memo)
        return false;
    const struct NAME(expansion) *x = &dfs->expansion;
    WORD old = dfs->memo[NAME(hash)(x, word) & (dfs->memo_room - 1)];
    if (old == 0 || (old ^ word) >> x->time_bits)
        return false;
    return dfs->search->table->goal == GORDIAN_MAKESPAN_GOAL_WORST ? word <= old : word >= old;
}

static void NAME(note_failure)(struct NAME(dfs) * dfs, WORD word)
{
    if (dfs->memo)
        dfs->memo[NAME(hash)(&dfs->expansion, word) & (dfs->memo_room - 1)] = word;
}

static bool NAME(enter)(struct NAME(dfs) * dfs, WORD word)
{
    if (!memory_grow(&dfs->search->memory, &dfs->frames, &dfs->frame_room, dfs->depth + 1,
                     sizeof *dfs->frames))
        return false;
    size_t begin = dfs->child_count;
    dfs->frames[dfs->depth++] = (struct NAME(frame)){word, begin, begin};
    dfs->states++;
    atomic_fetch_add_explicit(&dfs->search->watch->states, 1, memory_order_relaxed);
    NAME(expand)(&dfs->expansion, word);
    sort_in_place(dfs->children + begin, dfs->child_count - begin, sizeof *dfs->children,
                  NAME(child_before), &dfs->search->table->goal);
    return !dfs->failed;
}

/* Searches until a schedule is found (true: its last state is *end) or no state is left. */
static bool NAME(continue_dfs)(struct NAME(dfs) * dfs, uint64_t most, WORD *end, bool *cut)
{
    while (dfs->depth > 0) {
        struct NAME(frame) *frame = &dfs->frames[dfs->depth - 1];
        if (dfs->expansion.quit || watch_stopped(dfs->search->watch) ||
            (most && dfs->states >= most)) {
            *cut = true;
            return false;
        }
        if (frame->next == dfs->child_count) {
            NAME(note_failure)(dfs, frame->word);
            dfs->child_count = frame->begin;
            dfs->depth--;
            continue;
        }
        /* The children after this one belong to its frame: they end where the next frame begins. */
        WORD word = dfs->children[frame->next++].word;
        if (NAME(finished)(&dfs->expansion, word)) {
            *end = word;
            return true;
        }
        if (NAME(known_failure)(dfs, word))
            continue;
        if (!NAME(enter)(dfs, word)) {
            dfs->failed = true;
            return false;
        }
    }
    return false;
}

/* Finds which warps moved in the cycle from one state to the next. */
static size_t NAME(name_warps)(struct NAME(dfs) * dfs, WORD from, WORD to, uint32_t *places,
                               uint8_t *order)
{
    const struct makespan_model *model = dfs->search->model;
    struct NAME(expansion) *x = &dfs->expansion;
    uint32_t moving[NAME(MOST_PLACES)];
    size_t count = 0;
    NAME(read_places)(x, from);
    memcpy(moving, x->zero, sizeof moving);
    NAME(read_places)(x, to);
    for (uint32_t place = 0; place < model->length; place++)
        moving[place] -= x->zero[place];
    for (uint32_t warp = 0; warp < model->warps; warp++) {
        uint32_t place = places[warp];
        if (place < model->length && moving[place]) {
            moving[place]--;
            places[warp]++;
            order[count++] = (uint8_t)warp;
        }
    }
    return count;
}

static void NAME(write_order)(struct NAME(dfs) * dfs, WORD end, uint8_t *order)
{
    uint32_t places[MAKESPAN_MAX_WARPS] = {0};
    size_t count = 0;
    for (size_t i = 0; i < dfs->depth; i++) {
        WORD to = i + 1 < dfs->depth ? dfs->frames[i + 1].word : end;
        count += NAME(name_warps)(dfs, dfs->frames[i].word, to, places, order + count);
    }
}

static void NAME(run_dfs)(struct NAME(dfs) * dfs, uint64_t most, uint8_t *order, bool *found,
                          bool *cut)
{
    WORD end = 0;
    if (!NAME(enter)(dfs, NAME(first_word)(dfs->search->model))) {
        dfs->failed = true;
        return;
    }
    *found = NAME(continue_dfs)(dfs, most, &end, cut);
    if (*found)
        NAME(write_order)(dfs, end, order);
}

struct NAME(dfs_job) {
    struct NAME(dfs) dfs;
    uint64_t most;
    uint8_t *order;
    bool found, cut;
};

/* One thread is enough, because a depth-first search finds a schedule quickly or not at all. */
static void NAME(dfs_work)(void *context, unsigned member)
{
    struct NAME(dfs_job) *job = context;
    if (member == 0)
        NAME(run_dfs)(&job->dfs, job->most, job->order, &job->found, &job->cut);
}

gordian_status NAME(search_dfs)(const struct search *search, uint32_t target, uint64_t most,
                                uint8_t *order, bool *found, gordian_error *error)
{
    const gordian_allocator *memory = &search->memory;
    struct NAME(dfs_job) job = {.most = most, .order = order};
    job.dfs.search = search;
    bool worst = search->table->goal == GORDIAN_MAKESPAN_GOAL_WORST;
    NAME(begin_expansion)(&job.dfs.expansion, search, worst ? target - 1 : target + 1);
    job.dfs.expansion.emit = NAME(dfs_emit);
    job.dfs.expansion.context = &job.dfs;
    /* The memo only saves time: the result is the same without it. */
    job.dfs.memo_room = 1024;
    while (job.dfs.memo_room < search->table->abstraction->states / 4 &&
           job.dfs.memo_room < (most ? 1 << 16 : 1 << 22))
        job.dfs.memo_room *= 2;
    job.dfs.memo = memory_zeroed(memory, job.dfs.memo_room * sizeof *job.dfs.memo);
    thread_pool_start(search->workers, NAME(dfs_work), &job);
    thread_pool_wait(search->workers, watch_poll, search->watch);
    memory_free_all(memory, job.dfs.memo, job.dfs.frames, job.dfs.children);
    *found = job.found;
    if (job.dfs.failed)
        return fail_memory(error);
    return job.cut ? GORDIAN_STATUS_END : GORDIAN_OK;
}
