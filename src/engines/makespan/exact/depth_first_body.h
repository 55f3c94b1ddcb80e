/* The depth-first search, for one word size: included after expand_body.h. */

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

struct NAME(dive) {
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

static void NAME(dive_emit)(void *context, WORD word, uint32_t bound)
{
    struct NAME(dive) *dive = context;
    /* The depth-first search gives up at a state with this many successors. */
    if (dive->child_count - dive->frames[dive->depth - 1].begin >= NAME(MOST_CHILDREN) ||
        watch_stopped(dive->search->watch))
        dive->expansion.quit = true;
    if (dive->expansion.quit)
        return;
    if (dive->failed || !memory_grow(&dive->search->memory, &dive->children, &dive->child_room,
                                     dive->child_count + 1, sizeof *dive->children)) {
        dive->failed = true;
        return;
    }
    dive->children[dive->child_count++] = (struct NAME(child)){word, bound};
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
static bool NAME(known_failure)(const struct NAME(dive) * dive, WORD word)
{
    if (!dive->memo)
        return false;
    const struct NAME(expansion) *x = &dive->expansion;
    WORD old = dive->memo[NAME(hash)(x, word) & (dive->memo_room - 1)];
    if (old == 0 || (old ^ word) >> x->time_bits)
        return false;
    return dive->search->table->goal == GORDIAN_MAKESPAN_GOAL_WORST ? word <= old : word >= old;
}

static void NAME(note_failure)(struct NAME(dive) * dive, WORD word)
{
    if (dive->memo)
        dive->memo[NAME(hash)(&dive->expansion, word) & (dive->memo_room - 1)] = word;
}

static bool NAME(enter)(struct NAME(dive) * dive, WORD word)
{
    if (!memory_grow(&dive->search->memory, &dive->frames, &dive->frame_room, dive->depth + 1,
                     sizeof *dive->frames))
        return false;
    size_t begin = dive->child_count;
    dive->frames[dive->depth++] = (struct NAME(frame)){word, begin, begin};
    dive->states++;
    atomic_fetch_add_explicit(&dive->search->watch->states, 1, memory_order_relaxed);
    NAME(expand)(&dive->expansion, word);
    sort_in_place(dive->children + begin, dive->child_count - begin, sizeof *dive->children,
                  NAME(child_before), &dive->search->table->goal);
    return !dive->failed;
}

/* Searches until a schedule is found (true: its last state is *end) or no state is left. */
static bool NAME(go_deep)(struct NAME(dive) * dive, uint64_t most, WORD *end, bool *cut)
{
    while (dive->depth > 0) {
        struct NAME(frame) *frame = &dive->frames[dive->depth - 1];
        if (dive->expansion.quit || watch_stopped(dive->search->watch) ||
            (most && dive->states >= most)) {
            *cut = true;
            return false;
        }
        if (frame->next == dive->child_count) {
            NAME(note_failure)(dive, frame->word);
            dive->child_count = frame->begin;
            dive->depth--;
            continue;
        }
        /* The children after this one belong to its frame: they end where the next frame begins. */
        WORD word = dive->children[frame->next++].word;
        if (NAME(finished)(&dive->expansion, word)) {
            *end = word;
            return true;
        }
        if (NAME(known_failure)(dive, word))
            continue;
        if (!NAME(enter)(dive, word)) {
            dive->failed = true;
            return false;
        }
    }
    return false;
}

/* Finds which warps moved in the cycle from one state to the next. */
static size_t NAME(name_warps)(struct NAME(dive) * dive, WORD from, WORD to, uint32_t *places,
                               uint8_t *order)
{
    const struct makespan_model *model = dive->search->model;
    struct NAME(expansion) *x = &dive->expansion;
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

static void NAME(write_order)(struct NAME(dive) * dive, WORD end, uint8_t *order)
{
    uint32_t places[MAKESPAN_MAX_WARPS] = {0};
    size_t count = 0;
    for (size_t i = 0; i < dive->depth; i++) {
        WORD to = i + 1 < dive->depth ? dive->frames[i + 1].word : end;
        count += NAME(name_warps)(dive, dive->frames[i].word, to, places, order + count);
    }
}

static void NAME(run_dive)(struct NAME(dive) * dive, uint64_t most, uint8_t *order, bool *found,
                           bool *cut)
{
    WORD end = 0;
    if (!NAME(enter)(dive, NAME(first_word)(dive->search->model))) {
        dive->failed = true;
        return;
    }
    *found = NAME(go_deep)(dive, most, &end, cut);
    if (*found)
        NAME(write_order)(dive, end, order);
}

struct NAME(dive_job) {
    struct NAME(dive) dive;
    uint64_t most;
    uint8_t *order;
    bool found, cut;
};

/* One thread is enough, because a depth-first search finds a schedule quickly or not at all. */
static void NAME(dive_work)(void *context, unsigned member)
{
    struct NAME(dive_job) *job = context;
    if (member == 0)
        NAME(run_dive)(&job->dive, job->most, job->order, &job->found, &job->cut);
}

gordian_status NAME(search_dive)(const struct search *search, uint32_t target, uint64_t most,
                                 uint8_t *order, bool *found, gordian_error *error)
{
    const gordian_allocator *memory = &search->memory;
    struct NAME(dive_job) job = {.most = most, .order = order};
    job.dive.search = search;
    bool worst = search->table->goal == GORDIAN_MAKESPAN_GOAL_WORST;
    NAME(begin_expansion)(&job.dive.expansion, search, worst ? target - 1 : target + 1);
    job.dive.expansion.emit = NAME(dive_emit);
    job.dive.expansion.context = &job.dive;
    /* The memo only saves time: the result is the same without it. */
    job.dive.memo_room = 1024;
    while (job.dive.memo_room < search->table->abstraction->states / 4 &&
           job.dive.memo_room < (most ? 1 << 16 : 1 << 22))
        job.dive.memo_room *= 2;
    job.dive.memo = memory_zeroed(memory, job.dive.memo_room * sizeof *job.dive.memo);
    thread_pool_start(search->workers, NAME(dive_work), &job);
    thread_pool_wait(search->workers, watch_look, search->watch);
    memory_free_all(memory, job.dive.memo, job.dive.frames, job.dive.children);
    *found = job.found;
    if (job.dive.failed)
        return fail_memory(error);
    return job.cut ? GORDIAN_STATUS_END : GORDIAN_OK;
}
