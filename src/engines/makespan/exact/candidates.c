#include "engines/makespan/exact/candidates.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

/* With the time a word may have more than 64 bits; a key has not. */
#define WORD_BITS 128
#define WORD      word_128
#define NAME(x)   x##_closer

__extension__ typedef unsigned __int128 word_128;

#include "engines/makespan/exact/largest_body.h"

#define LOOKS 1024u /* states between two looks at the watch */

/* ------------------------------------------------------------------ the table */

static uint64_t key_hash(uint64_t key)
{
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 29;
}

/* Where the key is, or would be. */
static uint32_t *find_slot(const struct closer *closer, uint64_t key)
{
    size_t at = key_hash(key) & (closer->slot_room - 1);
    while (closer->slots[at] != CLOSER_NONE && closer->entries[closer->slots[at]].key != key)
        at = (at + 1) & (closer->slot_room - 1);
    return &closer->slots[at];
}

static bool grow_slots(struct closer *closer)
{
    if (closer->count * 2 < closer->slot_room)
        return true;
    size_t room = closer->slot_room ? 2 * closer->slot_room : 1024;
    uint32_t *slots = memory_alloc(&closer->memory, room * sizeof *slots);
    if (!slots)
        return false;
    memset(slots, 0xff, room * sizeof *slots);
    memory_free(&closer->memory, closer->slots);
    closer->slots = slots;
    closer->slot_room = room;
    for (size_t i = 0; i < closer->count; i++)
        *find_slot(closer, closer->entries[i].key) = (uint32_t)i;
    return true;
}

uint32_t closer_at(const struct closer *closer, const struct largest_run *runs, uint32_t count)
{
    uint64_t key = 0;
    for (uint32_t b = 0; b < count; b++)
        key |= (uint64_t)NAME(put_run)(&closer->layout.fields[b], &runs[b]);
    if (key == 0)
        return 0; /* all is done */
    uint32_t slot = *find_slot(closer, key);
    return slot == CLOSER_NONE ? CLOSER_NONE : closer->entries[slot].rest;
}

/* ------------------------------------------------------------------ filling it */

struct filling {
    const struct search *search;
    struct closer *closer;
    struct NAME(expansion) expansion;
    uint32_t *heads; /* of the states of each progress */
    uint64_t most;
    uint32_t layer, best; /* at hand: its progress; of backwards: the best that can follow */
    bool full, failed;
};

static bool is_better(const struct filling *filling, uint32_t a, uint32_t b)
{
    return filling->search->table->goal == GORDIAN_MAKESPAN_GOAL_WORST ? a > b : a < b;
}

static bool add_state(struct filling *filling, uint64_t key, uint32_t time, uint32_t progress)
{
    struct closer *closer = filling->closer;
    if (!grow_slots(closer) || !memory_grow(&closer->memory, &closer->entries, &closer->room,
                                            closer->count + 1, sizeof *closer->entries))
        return false;
    *find_slot(closer, key) = (uint32_t)closer->count;
    closer->entries[closer->count] =
        (struct closer_entry){key, filling->heads[progress], time, CLOSER_NONE};
    filling->heads[progress] = (uint32_t)closer->count++;
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
    uint32_t slot = filling->closer->slot_room ? *find_slot(filling->closer, key) : CLOSER_NONE;
    if (slot == CLOSER_NONE) {
        filling->failed |= !add_state(filling, key, time, filling->layer + x->progress);
    } else {
        struct closer_entry *entry = &filling->closer->entries[slot];
        entry->time = is_better(filling, time, entry->time) ? time : entry->time;
    }
    filling->full |= filling->closer->count > filling->most;
    x->quit = filling->full || filling->failed;
}

static void note_rest(void *context, word_128 word, uint32_t bound)
{
    struct filling *filling = context;
    struct NAME(expansion) *x = &filling->expansion;
    const struct closer *closer = filling->closer;
    uint32_t rest = 0;
    (void)bound;
    if (!NAME(finished)(x, word)) {
        uint32_t slot = *find_slot(closer, (uint64_t)(word >> x->time_bits));
        rest = slot == CLOSER_NONE ? CLOSER_NONE : closer->entries[slot].rest;
    }
    if (rest != CLOSER_NONE &&
        (filling->best == CLOSER_NONE || is_better(filling, rest + 1, filling->best)))
        filling->best = rest + 1;
}

/* All states of a progress. False: there was a reason to stop. */
static bool expand_layer(struct filling *filling, uint32_t layer, bool backwards)
{
    struct NAME(expansion) *x = &filling->expansion;
    uint32_t looks = 0;
    filling->layer = layer;
    for (uint32_t at = filling->heads[layer]; at != CLOSER_NONE;
         at = filling->closer->entries[at].next) {
        struct closer_entry entry = filling->closer->entries[at];
        filling->best = CLOSER_NONE;
        NAME(expand)(x, (word_128)entry.key << x->time_bits | entry.time);
        if (backwards)
            filling->closer->entries[at].rest = filling->best;
        if (x->quit || (++looks % LOOKS == 0 && watch_stopped(filling->search->watch)))
            return false;
    }
    return !watch_stopped(filling->search->watch);
}

static void fill_states(struct filling *filling)
{
    struct NAME(expansion) *x = &filling->expansion;
    const struct makespan_model *model = filling->search->model;
    bool going = add_state(filling, (uint64_t)(NAME(first_word)(model) >> x->time_bits), 0, 0);
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

/* One thread is enough for what is few. */
static void fill_work(void *context, unsigned member)
{
    if (member == 0)
        fill_states(context);
}

static gordian_status fill_closer(struct filling *filling, gordian_error *error)
{
    const struct search *search = filling->search;
    bool worst = search->table->goal == GORDIAN_MAKESPAN_GOAL_WORST;
    size_t bytes = search->model->work * sizeof *filling->heads;
    filling->heads = memory_alloc(&search->memory, bytes);
    if (!filling->heads)
        return fail_memory(error);
    memset(filling->heads, 0xff, bytes);
    NAME(begin_expansion)
    (&filling->expansion, search,
     atomic_load(worst ? &search->watch->lower : &search->watch->upper));
    filling->expansion.context = filling;
    filling->closer->layout = filling->expansion.layout;
    team_start(search->team, fill_work, filling);
    team_wait(search->team, watch_look, search->watch);
    memory_free(&search->memory, filling->heads);
    if (filling->failed)
        return fail_memory(error);
    return filling->full ? GORDIAN_STATUS_END : GORDIAN_OK;
}

gordian_status closer_open(struct closer **out, const struct search *search, uint64_t most,
                           gordian_error *error)
{
    struct largest_layout layout;
    *out = NULL;
    largest_lay_out(&layout, search->model);
    if (!search_tightens(search) || layout.bits > 64)
        return GORDIAN_STATUS_END;
    struct closer *closer = memory_zeroed(&search->memory, sizeof *closer);
    if (!closer)
        return fail_memory(error);
    closer->memory = search->memory;
    struct filling filling = {
        .search = search, .closer = closer, .most = most < CLOSER_NONE ? most : CLOSER_NONE - 1};
    gordian_status status = fill_closer(&filling, error);
    if (status == GORDIAN_OK)
        *out = closer;
    else
        closer_close(closer);
    return status;
}

void closer_close(struct closer *closer)
{
    if (!closer)
        return;
    gordian_allocator memory = closer->memory;
    memory_free_all(&memory, closer->entries, closer->slots, closer);
}
