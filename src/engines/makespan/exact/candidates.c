/* Finds the states that may still improve the result, and stores them in a hash table
 * (candidates.h). */
#include "engines/makespan/exact/candidates.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

/* A word with the time may have more than 64 bits, but a key has at most 64. */
#define WORD_BITS 128
#define WORD      word_128
#define NAME(x)   x##_candidates

__extension__ typedef unsigned __int128 word_128;

#include "engines/makespan/exact/largest_body.h"

#define POLL_STATES 1024u /* states between two checks of the watch */

/* ------------------------------------------------------------------ the table */

static void rehash_candidates(const void *context, struct hash *table)
{
    const struct candidates *candidates = context;
    for (uint32_t i = 0; i < candidates->count; i++)
        hash_put(table, hash_word(candidates->entries[i].key), i);
}

/* Returns the entry of a state, or CANDIDATES_NONE. */
static uint32_t find_candidate(const struct candidates *candidates, uint64_t key)
{
    struct hash_probe probe = hash_probe(&candidates->table, hash_word(key));
    while (hash_meet(&candidates->table, &probe))
        if (candidates->entries[probe.number].key == key)
            return probe.number;
    return CANDIDATES_NONE;
}

uint32_t candidates_rest(const struct candidates *candidates, const struct largest_run *runs,
                         uint32_t count)
{
    uint64_t key = 0;
    for (uint32_t b = 0; b < count; b++)
        key |= (uint64_t)NAME(put_run)(&candidates->layout.fields[b], &runs[b]);
    if (key == 0)
        return 0; /* all warps are done */
    uint32_t slot = find_candidate(candidates, key);
    return slot == CANDIDATES_NONE ? CANDIDATES_NONE : candidates->entries[slot].rest;
}

/* ------------------------------------------------------------------ filling */

struct filling {
    const struct search *search;
    struct candidates *candidates;
    struct NAME(expansion) expansion;
    uint32_t *heads; /* first state of each progress */
    uint64_t most;
    uint32_t layer, best; /* the current progress; the best remainder, in the backward pass */
    bool full, failed;
};

static bool is_better_makespan(const struct filling *filling, uint32_t a, uint32_t b)
{
    return filling->search->table->goal == GORDIAN_MAKESPAN_GOAL_WORST ? a > b : a < b;
}

static bool add_candidate(struct filling *filling, uint64_t key, uint32_t time, uint32_t progress)
{
    struct candidates *candidates = filling->candidates;
    if (!hash_reserve(&candidates->table, &candidates->memory, candidates->count + 1,
                      candidates->count + 1, rehash_candidates, candidates) ||
        !memory_grow32(&candidates->memory, &candidates->entries, &candidates->room,
                       candidates->count + 1, sizeof *candidates->entries))
        return false;
    hash_put(&candidates->table, hash_word(key), candidates->count);
    candidates->entries[candidates->count] =
        (struct candidate){key, filling->heads[progress], time, CANDIDATES_NONE};
    filling->heads[progress] = candidates->count++;
    return true;
}

static void note_child(void *context, word_128 word, uint32_t bound)
{
    struct filling *filling = context;
    struct NAME(expansion) *x = &filling->expansion;
    uint64_t key = (uint64_t)(word >> x->time_bits);
    uint32_t time = NAME(time_of)(x, word);
    (void)bound;
    if (NAME(finished)(x, word))
        return;
    uint32_t slot = find_candidate(filling->candidates, key);
    if (slot == CANDIDATES_NONE) {
        filling->failed |= !add_candidate(filling, key, time, filling->layer + x->progress);
    } else {
        struct candidate *entry = &filling->candidates->entries[slot];
        entry->time = is_better_makespan(filling, time, entry->time) ? time : entry->time;
    }
    filling->full |= filling->candidates->count > filling->most;
    x->quit = filling->full || filling->failed;
}

static void note_rest(void *context, word_128 word, uint32_t bound)
{
    struct filling *filling = context;
    struct NAME(expansion) *x = &filling->expansion;
    const struct candidates *candidates = filling->candidates;
    uint32_t rest = 0;
    (void)bound;
    if (!NAME(finished)(x, word)) {
        uint32_t slot = find_candidate(candidates, (uint64_t)(word >> x->time_bits));
        rest = slot == CANDIDATES_NONE ? CANDIDATES_NONE : candidates->entries[slot].rest;
    }
    if (rest != CANDIDATES_NONE &&
        (filling->best == CANDIDATES_NONE || is_better_makespan(filling, rest + 1, filling->best)))
        filling->best = rest + 1;
}

/* Expands all states of a progress. False: the run must stop. */
static bool expand_layer(struct filling *filling, uint32_t layer, bool backwards)
{
    struct NAME(expansion) *x = &filling->expansion;
    uint32_t looks = 0;
    filling->layer = layer;
    for (uint32_t at = filling->heads[layer]; at != CANDIDATES_NONE;
         at = filling->candidates->entries[at].next) {
        struct candidate entry = filling->candidates->entries[at];
        filling->best = CANDIDATES_NONE;
        NAME(expand)(x, (word_128)entry.key << x->time_bits | entry.time);
        if (backwards)
            filling->candidates->entries[at].rest = filling->best;
        if (x->quit || (++looks % POLL_STATES == 0 && watch_stopped(filling->search->watch)))
            return false;
    }
    return !watch_stopped(filling->search->watch);
}

static void fill_all_layers(void *context, unsigned member)
{
    struct filling *filling = context;
    if (member > 0) /* there are few states: one thread is enough */
        return;
    struct NAME(expansion) *x = &filling->expansion;
    const struct makespan_model *model = filling->search->model;
    bool going = add_candidate(filling, (uint64_t)(NAME(first_word)(model) >> x->time_bits), 0, 0);
    filling->failed = !going;
    going = going && filling->most > 0;
    x->emit = note_child;
    for (uint32_t layer = 0; layer < model->work && going; layer++)
        going = expand_layer(filling, layer, false);
    x->emit = note_rest;
    for (uint32_t layer = model->work; layer-- > 0 && going;)
        going = expand_layer(filling, layer, true);
    filling->full |= !going;
}

static gordian_status fill_candidates(struct filling *filling, gordian_error *error)
{
    const struct search *search = filling->search;
    size_t bytes = search->model->work * sizeof *filling->heads;
    filling->heads = memory_alloc(&search->memory, bytes);
    if (!filling->heads)
        return fail_memory(error);
    memset(filling->heads, 0xff, bytes);
    uint32_t known = watch_best(search->watch, search->table->goal);
    NAME(begin_expansion)(&filling->expansion, search, known);
    filling->expansion.context = filling;
    filling->candidates->layout = filling->expansion.layout;
    thread_pool_start(search->workers, fill_all_layers, filling);
    thread_pool_wait(search->workers, watch_poll, search->watch);
    memory_free(&search->memory, filling->heads);
    if (filling->failed)
        return fail_memory(error);
    return filling->full ? GORDIAN_STATUS_END : GORDIAN_OK;
}

gordian_status candidates_open(struct candidates **out, const struct search *search, uint64_t most,
                               gordian_error *error)
{
    struct largest_layout layout;
    *out = NULL;
    largest_lay_out(&layout, search->model);
    if (!search_tightens(search) || layout.bits > 64)
        return GORDIAN_STATUS_END;
    struct candidates *candidates = memory_zeroed(&search->memory, sizeof *candidates);
    if (!candidates)
        return fail_memory(error);
    candidates->memory = search->memory;
    struct filling filling = {.search = search,
                              .candidates = candidates,
                              .most = most < CANDIDATES_NONE ? most : CANDIDATES_NONE - 1};
    gordian_status status = fill_candidates(&filling, error);
    if (status == GORDIAN_OK)
        *out = candidates;
    else
        candidates_close(candidates);
    return status;
}

void candidates_close(struct candidates *candidates)
{
    if (!candidates)
        return;
    gordian_allocator memory = candidates->memory;
    hash_free(&candidates->table, &memory);
    memory_free_all(&memory, candidates->entries, candidates);
}
