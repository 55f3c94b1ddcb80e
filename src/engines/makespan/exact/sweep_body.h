/* The sweep, for one word size: included after expand_body.h. */

/* States are distributed over shards by their hash. A shard has a table for each layer that a step
 * can reach. */
enum { NAME(SHARDS) = 64, NAME(BATCH) = 256 };

struct NAME(slots) {
    WORD *words; /* 0: free */
    size_t room, count;
};

struct NAME(shard) {
    pthread_mutex_t lock;
    struct NAME(slots) * layers; /* `reach` of them: progress modulo reach */
};

/* States that a thread has found for a shard, collected to amortize the shard's lock. */
struct NAME(batch) {
    uint32_t count;
    WORD words[NAME(BATCH)];
    uint16_t steps[NAME(BATCH)]; /* layers after the current one */
};

struct NAME(sweep);

struct NAME(sweeper) {
    struct NAME(sweep) * sweep;
    struct NAME(expansion) expansion;
    struct NAME(batch) * batches; /* one per shard */
};

struct NAME(sweep) {
    const struct search *search;
    uint32_t reach;
    uint64_t most;
    struct NAME(shard) * shards;
    struct NAME(sweeper) * sweepers;
    uint64_t layer;           /* current progress */
    _Atomic uint32_t *bounds; /* the best bound of each layer that a step can reach */
    _Atomic uint32_t next;    /* next shard to take */
    _Atomic uint64_t states;  /* kept so far */
    _Atomic uint32_t value;   /* of the best schedule found; 0: none */
    _Atomic bool failed;      /* out of memory, or more states than `most` */
    uint64_t states_before;   /* the states of the watch at the start */
    bool over;                /* set by member 0 for all, between two barriers */
    bool locks;               /* the locks are initialized */
};

static bool NAME(better)(const struct NAME(sweep) * sweep, uint32_t a, uint32_t b)
{
    return sweep->search->table->goal == GORDIAN_MAKESPAN_GOAL_WORST ? a > b : a < b;
}

static void NAME(improve)(const struct NAME(sweep) * sweep, _Atomic uint32_t *best, uint32_t value)
{
    uint32_t old = atomic_load_explicit(best, memory_order_relaxed);
    while ((old == 0 || NAME(better)(sweep, value, old)) &&
           !atomic_compare_exchange_weak(best, &old, value))
        continue;
}

/* ------------------------------------------------------------------ tables of states */

/* Not foundation/base/hash.h: the words are the slots, as many as fit into memory. */

static WORD *NAME(find_slot)(const struct NAME(expansion) * x, const struct NAME(slots) * slots,
                             WORD word)
{
    size_t at = NAME(hash)(x, word) / NAME(SHARDS) & (slots->room - 1);
    while (slots->words[at] && (slots->words[at] ^ word) >> x->time_bits)
        at = (at + 1) & (slots->room - 1);
    return &slots->words[at];
}

static bool NAME(make_room)(const struct NAME(expansion) * x, struct NAME(slots) * slots)
{
    if ((slots->count + 1) * 4 <= slots->room * 3)
        return true;
    const gordian_allocator *memory = &x->search->memory;
    struct NAME(slots) larger = {.room = slots->room ? slots->room * 2 : 64, .count = slots->count};
    larger.words = memory_zeroed(memory, larger.room * sizeof(WORD));
    if (!larger.words)
        return false;
    for (size_t i = 0; i < slots->room; i++) {
        if (slots->words[i])
            *NAME(find_slot)(x, &larger, slots->words[i]) = slots->words[i];
    }
    memory_free(memory, slots->words);
    *slots = larger;
    return true;
}

/* The shard's lock is held. */
static bool NAME(keep_state)(struct NAME(sweep) * sweep, const struct NAME(expansion) * x,
                             struct NAME(slots) * slots, WORD word)
{
    if (!NAME(make_room)(x, slots))
        return false;
    WORD *slot = NAME(find_slot)(x, slots, word);
    if (*slot == 0) {
        slots->count++;
        *slot = word;
    } else if (sweep->search->table->goal == GORDIAN_MAKESPAN_GOAL_WORST ? word > *slot
                                                                         : word < *slot) {
        *slot = word; /* the same state: the words differ in the time */
    }
    return true;
}

static void NAME(flush)(struct NAME(sweeper) * sweeper, uint32_t number)
{
    struct NAME(sweep) *sweep = sweeper->sweep;
    struct NAME(shard) *shard = &sweep->shards[number];
    struct NAME(batch) *batch = &sweeper->batches[number];
    size_t before = 0, after = 0;
    bool good = true;
    pthread_mutex_lock(&shard->lock);
    for (uint32_t i = 0; i < batch->count && good; i++) {
        struct NAME(slots) *slots = &shard->layers[(sweep->layer + batch->steps[i]) % sweep->reach];
        before += slots->count;
        good = NAME(keep_state)(sweep, &sweeper->expansion, slots, batch->words[i]);
        after += slots->count;
    }
    pthread_mutex_unlock(&shard->lock);
    batch->count = 0;
    uint64_t states = atomic_fetch_add(&sweep->states, after - before) + (after - before);
    if (!good || (sweep->most && states > sweep->most))
        atomic_store(&sweep->failed, true);
}

/* ------------------------------------------------------------------ a layer */

static void NAME(sweep_emit)(void *context, WORD word, uint32_t bound)
{
    struct NAME(sweeper) *sweeper = context;
    struct NAME(sweep) *sweep = sweeper->sweep;
    const struct NAME(expansion) *x = &sweeper->expansion;
    if (NAME(finished)(x, word)) {
        NAME(improve)(sweep, &sweep->value, NAME(time_of)(x, word));
        return;
    }
    NAME(improve)(sweep, &sweep->bounds[(sweep->layer + x->progress) % sweep->reach], bound);
    uint32_t number = (uint32_t)(NAME(hash)(x, word) % NAME(SHARDS));
    struct NAME(batch) *batch = &sweeper->batches[number];
    batch->words[batch->count] = word;
    batch->steps[batch->count++] = (uint16_t)x->progress;
    if (batch->count < NAME(BATCH))
        return;
    NAME(flush)(sweeper, number);
    sweeper->expansion.quit = watch_stopped(sweep->search->watch) || atomic_load(&sweep->failed);
}

static void NAME(expand_shard)(struct NAME(sweeper) * sweeper, uint32_t number)
{
    struct NAME(sweep) *sweep = sweeper->sweep;
    struct NAME(slots) *slots = &sweep->shards[number].layers[sweep->layer % sweep->reach];
    for (size_t i = 0; i < slots->room; i++) {
        if (!slots->words[i])
            continue;
        sweeper->expansion.quit =
            watch_stopped(sweep->search->watch) || atomic_load(&sweep->failed);
        if (sweeper->expansion.quit)
            return;
        NAME(expand)(&sweeper->expansion, slots->words[i]);
    }
}

/* The best bound of all waiting states is a bound for the whole search. */
static void NAME(report_bound)(struct NAME(sweep) * sweep)
{
    const struct search *search = sweep->search;
    gordian_makespan_goal goal = search->table->goal;
    uint32_t bound = sweep->sweepers[0].expansion.known;
    for (uint32_t i = 0; i < sweep->reach; i++) {
        uint32_t other = atomic_load(&sweep->bounds[i]);
        if (other && NAME(better)(sweep, other, bound))
            bound = other;
    }
    uint32_t value = atomic_load(&sweep->value);
    if (value && NAME(better)(sweep, value, bound))
        bound = value;
    watch_bound(search->watch, goal, bound);
    atomic_store(&search->watch->states, atomic_load(&sweep->states) + sweep->states_before);
}

/* Member 0, between two barriers: the layer is complete. */
static void NAME(next_layer)(struct NAME(sweep) * sweep)
{
    uint64_t at = sweep->layer % sweep->reach;
    for (uint32_t s = 0; s < NAME(SHARDS); s++) {
        struct NAME(slots) *slots = &sweep->shards[s].layers[at];
        memory_free(&sweep->search->memory, slots->words);
        *slots = (struct NAME(slots)){0};
    }
    atomic_store(&sweep->bounds[at], 0);
    sweep->layer++;
    atomic_store(&sweep->next, 0);
    NAME(report_bound)(sweep);
}

static void NAME(sweep_work)(void *context, unsigned member)
{
    struct NAME(sweep) *sweep = context;
    struct NAME(sweeper) *sweeper = &sweep->sweepers[member];
    uint64_t work = sweep->search->model->work;
    struct thread_pool *workers = sweep->search->workers;
    for (uint64_t layer = 0; layer < work; layer++) {
        for (;;) {
            uint32_t number = atomic_fetch_add(&sweep->next, 1);
            if (number >= NAME(SHARDS) || watch_stopped(sweep->search->watch) ||
                atomic_load(&sweep->failed))
                break;
            NAME(expand_shard)(sweeper, number);
        }
        for (uint32_t s = 0; s < NAME(SHARDS); s++)
            NAME(flush)(sweeper, s);
        thread_pool_meet(workers);
        /* These do not change between the barriers. */
        bool over = watch_stopped(sweep->search->watch) || atomic_load(&sweep->failed);
        if (member == 0)
            sweep->over = over;
        if (member == 0 && !over)
            NAME(next_layer)(sweep);
        thread_pool_meet(workers);
        if (sweep->over)
            return;
    }
}

/* ------------------------------------------------------------------ the whole */

static bool NAME(make_sweep)(struct NAME(sweep) * sweep)
{
    const struct search *search = sweep->search;
    const gordian_allocator *memory = &search->memory;
    unsigned members = thread_pool_size(search->workers);
    sweep->shards = memory_zeroed(memory, NAME(SHARDS) * sizeof *sweep->shards);
    sweep->sweepers = memory_zeroed(memory, members * sizeof *sweep->sweepers);
    sweep->bounds = memory_zeroed(memory, sweep->reach * sizeof *sweep->bounds);
    if (!sweep->shards || !sweep->sweepers || !sweep->bounds)
        return false;
    bool good = sweep->locks = true;
    for (uint32_t s = 0; s < NAME(SHARDS); s++) {
        pthread_mutex_init(&sweep->shards[s].lock, NULL);
        sweep->shards[s].layers =
            memory_zeroed(memory, sweep->reach * sizeof *sweep->shards[s].layers);
        good &= sweep->shards[s].layers != NULL;
    }
    uint32_t known = watch_best(search->watch, search->table->goal);
    for (unsigned i = 0; i < members; i++) {
        struct NAME(sweeper) *sweeper = &sweep->sweepers[i];
        sweeper->sweep = sweep;
        NAME(begin_expansion)(&sweeper->expansion, search, known);
        sweeper->expansion.emit = NAME(sweep_emit);
        sweeper->expansion.context = sweeper;
        sweeper->batches = memory_zeroed(memory, NAME(SHARDS) * sizeof *sweeper->batches);
        good &= sweeper->batches != NULL;
    }
    return good;
}

static void NAME(end_sweep)(struct NAME(sweep) * sweep)
{
    const gordian_allocator *memory = &sweep->search->memory;
    for (uint32_t s = 0; sweep->shards && s < NAME(SHARDS); s++) {
        for (uint32_t i = 0; sweep->shards[s].layers && i < sweep->reach; i++)
            memory_free(memory, sweep->shards[s].layers[i].words);
        memory_free(memory, sweep->shards[s].layers);
        if (sweep->locks)
            pthread_mutex_destroy(&sweep->shards[s].lock);
    }
    for (unsigned i = 0; sweep->sweepers && i < thread_pool_size(sweep->search->workers); i++)
        memory_free(memory, sweep->sweepers[i].batches);
    memory_free_all(memory, sweep->shards, sweep->sweepers, sweep->bounds);
}

static bool NAME(put_first)(struct NAME(sweep) * sweep)
{
    struct NAME(expansion) *x = &sweep->sweepers[0].expansion;
    WORD word = NAME(first_word)(sweep->search->model);
    struct NAME(shard) *shard = &sweep->shards[NAME(hash)(x, word) % NAME(SHARDS)];
    uint32_t bound = table_bound(sweep->search->table);
    NAME(improve)(sweep, &sweep->bounds[0], bound);
    return NAME(keep_state)(sweep, x, &shard->layers[0], word);
}

gordian_status NAME(search_sweep)(const struct search *search, uint64_t most, uint32_t *value,
                                  gordian_error *error)
{
    struct NAME(sweep) sweep = {.search = search, .most = most, .reach = search->model->sigma + 1};
    sweep.states_before = atomic_load(&search->watch->states);
    atomic_init(&sweep.next, 0);
    atomic_init(&sweep.states, 0);
    atomic_init(&sweep.value, 0);
    atomic_init(&sweep.failed, false);
    gordian_status status = GORDIAN_OK;
    if (!NAME(make_sweep)(&sweep) || !NAME(put_first)(&sweep)) {
        status = fail_memory(error);
    } else {
        thread_pool_start(search->workers, NAME(sweep_work), &sweep);
        thread_pool_wait(search->workers, watch_poll, search->watch);
        if (watch_stopped(search->watch) || atomic_load(&sweep.failed))
            status = GORDIAN_STATUS_END;
        *value = atomic_load(&sweep.value);
    }
    NAME(end_sweep)(&sweep);
    return status;
}
