/*
 * Enumerates all reachable states of a relaxed system, cycle by cycle (breadth first).
 *
 * A state is the next piece of each warp, after it was decided which pieces the warp leaves out.
 * Warps are identical, so states are sorted. A level contains the states after the same number of
 * cycles, without duplicates. Each state has one predecessor in the previous level. The longest
 * schedule has as many cycles as there are levels with a warp that is not done. The shortest
 * schedule ends at the first level that contains the state in which all warps are done.
 */
#include "engines/makespan/relax/relax.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/hash.h"
#include "foundation/base/memory.h"

#include <string.h>

#define NONE UINT32_MAX

struct level {
    uint16_t *states; /* [count][warps], each state in falling order */
    uint32_t *parents;
    uint32_t count, room;
};

struct levels {
    const struct makespan_model *model;
    struct watch *watch;
    gordian_allocator memory;
    struct level *list;
    uint32_t count, room;
    struct hash table; /* of the states of the last level, which is under construction */
    uint64_t kept, most, until;
    uint32_t parent; /* the state that is being expanded */
    gordian_status status;
};

/* A choice of what runs in one cycle, made warp by warp. */
struct step {
    const struct makespan_model *model;
    const uint16_t *from;
    uint32_t piece[MAKESPAN_MAX_WARPS]; /* the next piece of each afterwards */
    uint32_t ran[MAKESPAN_MAX_WARPS];
    uint32_t units[MAKESPAN_TYPES], schedulers;           /* not used yet */
    bool (*take)(void *context, const struct step *step); /* false: stop */
    void *context;
};

/* ------------------------------------------------------------------ a cycle */

/* Returns whether nothing else could have run. */
static bool is_maximal(const struct step *step)
{
    const struct makespan_model *model = step->model;
    for (uint32_t w = 0; w < model->warps; w++) {
        uint32_t piece = step->piece[w], ran = step->ran[w];
        if (piece == model->length || step->units[model->string[piece]] == 0)
            continue;
        if (ran == 0 && step->schedulers > 0)
            return false;
        if (ran > 0 && ran < model->issue && (model->marks[piece] & MODEL_FIRST))
            return false;
    }
    return true;
}

/* Warps at the same place are interchangeable: only choices in falling order are tried. */
static bool in_order(const struct step *step, uint32_t w)
{
    if (w == 0 || step->from[w] != step->from[w - 1])
        return true;
    if (step->piece[w] != step->piece[w - 1])
        return step->piece[w] < step->piece[w - 1];
    return step->ran[w] <= step->ran[w - 1];
}

/* Warp w has run `ran` pieces and is at this piece: it stops there, or runs more. */
static bool choose_warp(struct step *step, uint32_t w, uint32_t ran, uint32_t piece)
{
    const struct makespan_model *model = step->model;
    bool more = true;
    step->piece[w] = piece;
    step->ran[w] = ran;
    if (in_order(step, w)) {
        if (w + 1 < model->warps)
            more = choose_warp(step, w + 1, 0, step->from[w + 1]);
        else if (is_maximal(step))
            more = step->take(step->context, step);
    }
    bool may = ran == 0 ? step->schedulers > 0
                        : ran < model->issue && piece < model->length &&
                              (model->marks[piece] & MODEL_FIRST) != 0;
    if (more && may && piece < model->length && step->units[model->string[piece]] > 0) {
        uint32_t *units = &step->units[model->string[piece]];
        uint32_t past = relax_skip(model, piece + 1);
        --*units;
        step->schedulers -= ran == 0;
        more = choose_warp(step, w, ran + 1, piece + 1);
        if (more && past != piece + 1)
            more = choose_warp(step, w, ran + 1, past);
        step->schedulers += ran == 0;
        ++*units;
    }
    return more;
}

static void enumerate_steps(const struct makespan_model *model, const uint16_t *from,
                            bool (*take)(void *context, const struct step *step), void *context)
{
    struct step step = {
        .model = model, .from = from, .schedulers = model->sigma, .take = take, .context = context};
    memcpy(step.units, model->units, sizeof step.units);
    choose_warp(&step, 0, 0, from[0]);
}

/* Writes the state after a step, sorted; `who`, if not NULL, is permuted in the same way. */
static void sort_state(const struct step *step, uint16_t *state, uint8_t *who)
{
    for (uint32_t w = 0; w < step->model->warps; w++) {
        uint32_t at = w;
        uint8_t name = who ? who[w] : 0;
        for (; at > 0 && state[at - 1] < step->piece[w]; at--) {
            state[at] = state[at - 1];
            if (who)
                who[at] = who[at - 1];
        }
        state[at] = (uint16_t)step->piece[w];
        if (who)
            who[at] = name;
    }
}

/* ------------------------------------------------------------------ levels */

static uint64_t hash_positions(const uint16_t *state, uint32_t warps)
{
    return hash_bytes(state, warps * sizeof *state);
}

static void rehash_states(const void *context, struct hash *table)
{
    const struct levels *levels = context;
    const struct level *level = &levels->list[levels->count - 1];
    uint32_t warps = levels->model->warps;
    for (uint32_t i = 0; i < level->count; i++)
        hash_put(table, hash_positions(level->states + (size_t)i * warps, warps), i);
}

static bool grow_level(struct levels *levels, struct level *level)
{
    uint32_t parents_room = level->room, wanted = level->count + 1;
    return memory_grow32(&levels->memory, &level->parents, &parents_room, wanted,
                         sizeof *level->parents) &&
           memory_grow32(&levels->memory, &level->states, &level->room, wanted,
                         levels->model->warps * sizeof *level->states);
}

static gordian_status add_level_state(struct levels *levels, struct level *level,
                                      const uint16_t *state)
{
    uint32_t warps = levels->model->warps;
    uint64_t hash = hash_positions(state, warps);
    struct hash_probe probe = hash_probe(&levels->table, hash);
    while (hash_meet(&levels->table, &probe))
        if (memcmp(level->states + (size_t)probe.number * warps, state, warps * sizeof *state) == 0)
            return GORDIAN_OK;
    if (levels->kept >= levels->most)
        return GORDIAN_STATUS_END;
    if ((level->count == level->room && !grow_level(levels, level)) ||
        !hash_reserve(&levels->table, &levels->memory, level->count + 1, level->count + 1,
                      rehash_states, levels))
        return GORDIAN_STATUS_MEMORY;
    hash_put(&levels->table, hash, level->count);
    memcpy(level->states + (size_t)level->count * warps, state, warps * sizeof *state);
    level->parents[level->count++] = levels->parent;
    levels->kept++;
    return GORDIAN_OK;
}

static bool add_next_state(void *context, const struct step *step)
{
    struct levels *levels = context;
    uint16_t state[MAKESPAN_MAX_WARPS];
    sort_state(step, state, NULL);
    levels->status = add_level_state(levels, &levels->list[levels->count - 1], state);
    return levels->status == GORDIAN_OK;
}

/* Appends an empty level. */
static bool begin_level(struct levels *levels)
{
    if (!memory_grow32(&levels->memory, &levels->list, &levels->room, levels->count + 1,
                       sizeof *levels->list))
        return false;
    levels->list[levels->count++] = (struct level){0};
    hash_renew(&levels->table, rehash_states, levels);
    return true;
}

/* States are in falling order: all warps are done if the last entry is. */
static bool all_done(const struct levels *levels, const struct level *level, uint32_t number)
{
    const struct makespan_model *model = levels->model;
    return level->states[(size_t)(number + 1) * model->warps - 1] == model->length;
}

/* Returns the number of the state in which all are done; NONE: it is not in the level. */
static uint32_t find_done(const struct levels *levels, const struct level *level)
{
    for (uint32_t i = 0; i < level->count; i++)
        if (all_done(levels, level, i))
            return i;
    return NONE;
}

static gordian_status next_level(struct levels *levels)
{
    if (!begin_level(levels))
        return GORDIAN_STATUS_MEMORY;
    for (uint32_t i = 0; i < levels->list[levels->count - 2].count; i++) {
        const struct level *level = &levels->list[levels->count - 2];
        if (i % 256 == 0)
            watch_poll(levels->watch);
        /* Checks the time limit now and then. */
        if (watch_stopped(levels->watch) ||
            (i % 256 == 0 && levels->until && clock_ns() >= levels->until))
            return GORDIAN_STATUS_END;
        if (all_done(levels, level, i))
            continue;
        levels->parent = i;
        levels->status = GORDIAN_OK;
        enumerate_steps(levels->model, level->states + (size_t)i * levels->model->warps,
                        add_next_state, levels);
        if (levels->status != GORDIAN_OK)
            return levels->status;
    }
    atomic_store(&levels->watch->states, levels->kept);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the schedule */

/* Finds the choice that leads from one state of the path to the next. */
struct trace {
    const uint16_t *to;
    struct step found;
};

static bool take_match(void *context, const struct step *step)
{
    struct trace *trace = context;
    uint16_t state[MAKESPAN_MAX_WARPS];
    sort_state(step, state, NULL);
    if (memcmp(state, trace->to, step->model->warps * sizeof *state) != 0)
        return true;
    trace->found = *step;
    return false;
}

/* Follows the predecessors from the last level to the first, then goes forward and assigns names to
 * the warps. */
static gordian_status trace_schedule(const struct levels *levels, struct relax_schedule *schedule)
{
    const struct makespan_model *model = levels->model;
    uint32_t last = levels->count - 1;
    uint32_t *way = memory_alloc(&levels->memory, levels->count * sizeof *way);
    uint16_t state[MAKESPAN_MAX_WARPS];
    uint8_t who[MAKESPAN_MAX_WARPS];
    if (!way)
        return GORDIAN_STATUS_MEMORY;
    way[last] = find_done(levels, &levels->list[last]);
    for (uint32_t t = last; t > 0; t--)
        way[t - 1] = levels->list[t].parents[way[t]];
    for (uint32_t w = 0; w < model->warps; w++)
        who[w] = (uint8_t)w;
    schedule->count = 0;
    schedule->makespan = last;
    for (uint32_t t = 0; t < last; t++) {
        const uint16_t *from = levels->list[t].states + (size_t)way[t] * model->warps;
        struct trace trace = {.to = levels->list[t + 1].states + (size_t)way[t + 1] * model->warps};
        enumerate_steps(model, from, take_match, &trace);
        const struct step *step = &trace.found;
        for (uint32_t w = 0; w < step->model->warps; w++) {
            uint32_t piece = step->from[w];
            for (uint32_t n = 0; n < step->ran[w]; n++) {
                /* In the same cycle, only a piece that begins an instruction may follow. */
                if (n > 0)
                    piece = relax_skip(step->model, piece + 1);
                schedule->warps[schedule->count] = who[w];
                schedule->pieces[schedule->count] = piece;
                schedule->cycles[schedule->count++] = t;
            }
        }
        sort_state(&trace.found, state, who);
    }
    memory_free(&levels->memory, way);
    return GORDIAN_OK;
}

gordian_status relax_states(const struct makespan_model *model, gordian_makespan_goal goal,
                            const struct relax_limits *limits, struct watch *watch,
                            const gordian_allocator *memory, struct relax_schedule *schedule,
                            uint32_t *value, gordian_error *error)
{
    struct levels levels = {.model = model,
                            .watch = watch,
                            .memory = *memory,
                            .most = limits->states,
                            .until = limits->until};
    if (model->length > UINT16_MAX || limits->states >= NONE)
        return GORDIAN_STATUS_END;
    /* Until the result is in the last level. */
    uint16_t start[MAKESPAN_MAX_WARPS] = {0};
    levels.parent = NONE;
    gordian_status status =
        begin_level(&levels) ? add_level_state(&levels, levels.list, start) : GORDIAN_STATUS_MEMORY;
    while (status == GORDIAN_OK) {
        const struct level *level = &levels.list[levels.count - 1];
        uint32_t done = find_done(&levels, level);
        if (done != NONE && (goal == GORDIAN_MAKESPAN_GOAL_BEST || level->count == 1))
            break;
        status = next_level(&levels);
    }
    THEN(status, trace_schedule(&levels, schedule));
    if (status == GORDIAN_OK)
        *value = schedule->makespan;
    for (uint32_t i = 0; i < levels.count; i++) {
        memory_free_all(memory, levels.list[i].states, levels.list[i].parents);
    }
    memory_free(memory, levels.list);
    hash_free(&levels.table, memory);
    return status == GORDIAN_STATUS_MEMORY ? fail_memory(error) : status;
}
