#include "script.h"

#include <string.h>

static uint32_t below(struct generator *generator, uint64_t bound)
{
    return (uint32_t)random_below(&generator->random, bound ? bound : 1);
}

static bool chance(struct generator *generator, unsigned percent)
{
    return random_chance(&generator->random, percent);
}

static void start_phase(struct generator *generator)
{
    static const unsigned request_percents[] = {30, 50, 60, 75, 90};
    static const unsigned chain_percents[] = {50, 80, 95, 99};
    static const unsigned break_permilles[] = {0, 5, 50, 300};
    struct phase *phase = &generator->phase;
    phase->left = 20 + below(generator, 400);
    phase->request_percent = request_percents[below(generator, 5)];
    phase->several_percent = below(generator, 2) ? 50 : 10;
    phase->wrong_percent = below(generator, 3) ? 3 : 15;
    phase->shy_percent = below(generator, 3) * 49;
    phase->extend_percent = below(generator, 3) * 30;
    phase->give_up_percent = below(generator, 4) * 20;
    phase->churn_permille = below(generator, 3) * 10;
    phase->hot = below(generator, 2) ? generator->resources
                                     : 1 + below(generator, generator->resources / 2 + 1);
    phase->resolve = below(generator, 2);
    phase->chain_percent = 0;
    phase->clear_next = phase->broken = GORDIAN_NONE;
    if (generator->processes > 4 && below(generator, 4) == 0) {
        phase->left = generator->processes + below(generator, 4 * generator->processes);
        phase->chain_percent = chain_percents[below(generator, 4)];
        phase->chain_at = below(generator, generator->processes);
        phase->break_permille = break_permilles[below(generator, 4)];
        phase->clear_next = below(generator, 2) ? 0 : GORDIAN_NONE;
    }
}

void generator_start(struct generator *generator, uint64_t seed, gordian_model model,
                     uint32_t processes, uint32_t resources, uint64_t events)
{
    memset(generator, 0, sizeof *generator);
    random_seed(&generator->random, seed);
    generator->model = model;
    generator->processes = processes;
    generator->resources = resources;
    /* Some systems become multi-unit or general under way: engines must take that in. */
    if (model != GORDIAN_MODEL_SINGLE_UNIT && below(generator, 4) == 0)
        generator->several_units_at = below(generator, events / 2);
    if (model == GORDIAN_MODEL_GENERAL && below(generator, 3) == 0)
        generator->several_after = below(generator, events / 2);
    generator->huge = below(generator, 10) == 0;
    start_phase(generator);
}

uint64_t generator_units(struct generator *generator)
{
    if (generator->model == GORDIAN_MODEL_SINGLE_UNIT ||
        generator->event < generator->several_units_at || below(generator, 4) == 0)
        return 1;
    if (generator->huge && below(generator, 3) == 0)
        return below(generator, 2) ? UINT64_MAX : (UINT64_C(1) << 40) + below(generator, 5);
    return below(generator, 8) == 0 ? 1 + below(generator, 40) : 1 + below(generator, 4);
}

/* ------------------------------------------------------------------ choosing */

/* Any known process with the wish granted if one is found nearby; NONE if there is none. */
static uint32_t pick_process(struct generator *generator, const struct naive *naive, bool waiting)
{
    uint32_t start = below(generator, naive->process_room), any = GORDIAN_NONE;
    for (uint32_t i = 0; i < naive->process_room; i++) {
        uint32_t p = (start + i) % naive->process_room;
        if (!naive->processes[p].known)
            continue;
        any = p;
        if (naive_is_waiting(naive, p) == waiting)
            return p;
    }
    return any;
}

static uint32_t pick_resource(struct generator *generator, const struct naive *naive, uint32_t hot)
{
    uint32_t start = below(generator, hot < naive->resource_room ? hot : naive->resource_room);
    for (uint32_t i = 0; i < naive->resource_room; i++) {
        uint32_t q = (start + i) % naive->resource_room;
        if (naive->resources[q].known)
            return q;
    }
    return GORDIAN_NONE;
}

static uint32_t pick_held(struct generator *generator, const struct naive *naive, uint32_t process)
{
    if (process == GORDIAN_NONE || naive->processes[process].held_kinds == 0)
        return GORDIAN_NONE;
    uint32_t start = below(generator, naive->resource_room);
    for (uint32_t i = 0; i < naive->resource_room; i++) {
        uint32_t q = (start + i) % naive->resource_room;
        if (naive_held(naive, process, q) > 0)
            return q;
    }
    return GORDIAN_NONE;
}

/* In large systems only where it is found at once: a column is long. */
static uint32_t pick_holder(struct generator *generator, const struct naive *naive,
                            uint32_t resource)
{
    uint32_t recent = naive->resources[resource].recent;
    bool large = naive->process_room > 400;
    if ((large || below(generator, 2)) && naive_held(naive, recent, resource) > 0)
        return recent;
    if (large)
        return GORDIAN_NONE;
    uint32_t start = below(generator, naive->process_room);
    for (uint32_t i = 0; i < naive->process_room; i++) {
        uint32_t p = (start + i) % naive->process_room;
        if (naive_held(naive, p, resource) > 0)
            return p;
    }
    return GORDIAN_NONE;
}

static uint32_t pick_dead(struct generator *generator, const struct naive *naive)
{
    uint32_t start = below(generator, naive->process_room);
    for (uint32_t i = 0; i < naive->process_room; i++) {
        uint32_t p = (start + i) % naive->process_room;
        if (naive->dead[p] && naive->processes[p].known)
            return p;
    }
    return pick_process(generator, naive, true);
}

/* Does the way from a resource, holder by holder, lead to the process? A guess where a resource
 * has several holders. */
static bool leads_to(struct generator *generator, const struct naive *naive, uint32_t resource,
                     uint32_t process)
{
    for (int hops = 0; hops < 40; hops++) {
        if (naive->resources[resource].free > 0)
            return false;
        uint32_t holder = pick_holder(generator, naive, resource);
        if (holder == process)
            return true;
        if (holder == GORDIAN_NONE || !naive_is_waiting(naive, holder))
            return false;
        resource = naive->processes[holder].wants[0].resource;
    }
    return false;
}

/* ------------------------------------------------------------------ right events */

static void make_event(struct step *step, gordian_op op, uint32_t process, uint32_t resource,
                       uint64_t units)
{
    step->kind = STEP_EVENT;
    step->event = (gordian_event){
        .op = op, .process = process, .resource = resource, .to = GORDIAN_NONE, .units = units};
}

static void use_wants(struct step *step, size_t count)
{
    step->many = true;
    step->event.want_count = count;
}

/* Some units of a resource: mostly few. */
static uint64_t some_units(struct generator *generator, uint64_t most)
{
    if (most <= 1)
        return most;
    return below(generator, 3) ? 1 + random_below(&generator->random, most < 4 ? most : 4)
                               : 1 + random_below(&generator->random, most);
}

/* Fills in a request for several things; not if its model forbids what would come of it. */
static bool make_several(struct generator *generator, const struct naive *naive, struct step *step)
{
    bool may_wait =
        generator->model == GORDIAN_MODEL_GENERAL && generator->event >= generator->several_after;
    size_t count = 1 + below(generator, below(generator, 3) ? 3 : SCRIPT_WANTS);
    for (size_t i = 0; i < count; i++) {
        uint32_t q = i > 0 && below(generator, 5) == 0
                         ? step->wants[0].resource
                         : pick_resource(generator, naive, generator->phase.hot);
        if (q == GORDIAN_NONE)
            return false;
        uint64_t most = may_wait ? naive->resources[q].total : naive->resources[q].free;
        for (size_t j = 0; j < i; j++)
            if (step->wants[j].resource == q)
                most = most > step->wants[j].units ? most - step->wants[j].units : 0;
        if (most == 0 && !may_wait)
            return false;
        if (most == 0) {
            count = i; /* no more of this one: ask for what there is so far */
            break;
        }
        step->wants[i] = (gordian_want){some_units(generator, most), q};
    }
    if (count == 1 && below(generator, 2)) {
        step->event.resource = step->wants[0].resource;
        step->event.units = step->wants[0].units;
    } else {
        use_wants(step, count);
    }
    return true;
}

/* A resource held by a process that runs, or any. */
static uint32_t pick_extending(struct generator *generator, const struct naive *naive,
                               uint32_t process)
{
    for (int tries = 0; tries < 4; tries++) {
        uint32_t other = pick_process(generator, naive, false);
        uint32_t q = pick_held(generator, naive, other);
        if (other != process && q != GORDIAN_NONE)
            return q;
    }
    return pick_resource(generator, naive, generator->phase.hot);
}

static void make_request(struct generator *generator, const struct naive *naive, uint32_t process,
                         struct step *step)
{
    gordian_op op = below(generator, 20) ? GORDIAN_OP_REQUEST : GORDIAN_OP_WAIT;
    make_event(step, op, process, GORDIAN_NONE, 1);
    if (chance(generator, generator->phase.several_percent) && make_several(generator, naive, step))
        return;
    step->many = false;
    uint32_t q = chance(generator, generator->phase.extend_percent)
                     ? pick_extending(generator, naive, process)
                     : pick_resource(generator, naive, generator->phase.hot);
    for (int tries = 0; tries < 3 && q != GORDIAN_NONE; tries++) {
        if (!chance(generator, generator->phase.shy_percent) ||
            !leads_to(generator, naive, q, process))
            break;
        q = pick_resource(generator, naive, generator->resources);
    }
    make_event(step, op, process, q, 1);
    if (below(generator, 8) == 0) {
        step->wants[0] = (gordian_want){1, q};
        use_wants(step, 1);
    } else if (below(generator, 30) == 0) {
        step->event.op = GORDIAN_OP_HOLD;
    }
}

static void make_release(struct generator *generator, const struct naive *naive, uint32_t process,
                         uint32_t resource, struct step *step)
{
    uint64_t held = naive_held(naive, process, resource);
    uint64_t units = below(generator, 2) ? held : some_units(generator, held);
    make_event(step, GORDIAN_OP_RELEASE, process, resource, units);
    if (below(generator, 4) > 0 || naive->queue_count == 0)
        return;
    uint32_t start = below(generator, naive->queue_count); /* hand it over, wrongly at times */
    step->event.to = naive->queue[start];
    for (uint32_t i = 0; below(generator, 8) && i < naive->queue_count; i++) {
        step->event.to = naive->queue[(start + i) % naive->queue_count];
        if (naive_wanted(naive, step->event.to, resource) > 0)
            return;
    }
}

static void make_right(struct generator *generator, const struct naive *naive, struct step *step)
{
    bool waiting =
        naive->queue_count > 0 && chance(generator, generator->phase.give_up_percent / 4);
    uint32_t process = pick_process(generator, naive, waiting);
    if (process == GORDIAN_NONE) {
        make_event(step, GORDIAN_OP_EXIT, below(generator, naive->process_room), GORDIAN_NONE, 0);
        return;
    }
    if (naive_is_waiting(naive, process)) {
        gordian_op op = below(generator, 4) ? GORDIAN_OP_CANCEL : GORDIAN_OP_EXIT;
        make_event(step, op, process, GORDIAN_NONE, 0);
        return;
    }
    uint32_t held = pick_held(generator, naive, process);
    if (held == GORDIAN_NONE || chance(generator, generator->phase.request_percent))
        make_request(generator, naive, process, step);
    else if (below(generator, 40) == 0)
        make_event(step, GORDIAN_OP_EXIT, process, GORDIAN_NONE, 0);
    else
        make_release(generator, naive, process, held, step);
}

/* ------------------------------------------------------------------ long chains */

/* Where the waiting of a process ends, or somewhere on the cycle it leads into. */
static uint32_t chain_end(const struct naive *naive, uint32_t process)
{
    for (uint32_t hops = 0; naive_is_waiting(naive, process) && hops < naive->process_room; hops++)
        process = naive->resources[naive->processes[process].wants[0].resource].recent;
    return process;
}

/* Has somebody on the way from `process` give up, and nearly always ask again next. */
static bool make_break(struct generator *generator, const struct naive *naive, uint32_t process,
                       struct step *step)
{
    struct phase *phase = &generator->phase;
    for (uint32_t hops = below(generator, generator->processes);
         hops && naive_is_waiting(naive, process); hops--) {
        uint32_t next = naive->resources[naive->processes[process].wants[0].resource].recent;
        if (!naive_is_waiting(naive, next))
            break;
        process = next;
    }
    if (!naive_is_waiting(naive, process))
        return false;
    phase->broken = below(generator, 8) ? process : GORDIAN_NONE;
    phase->broken_wait = naive->processes[process].wants[0].resource;
    gordian_op op = below(generator, 20) ? GORDIAN_OP_CANCEL : GORDIAN_OP_EXIT;
    make_event(step, op, process, GORDIAN_NONE, 0);
    return true;
}

static bool make_mend(struct generator *generator, const struct naive *naive, struct step *step)
{
    uint32_t process = generator->phase.broken;
    generator->phase.broken = GORDIAN_NONE;
    if (!naive_is_process(naive, process) || naive_is_waiting(naive, process))
        return false;
    make_event(step, GORDIAN_OP_REQUEST, process, generator->phase.broken_wait, 1);
    return true;
}

/* Has a process that runs and holds nothing take something free. */
static bool make_take(struct generator *generator, const struct naive *naive, uint32_t process,
                      struct step *step)
{
    uint32_t start = below(generator, naive->resource_room);
    for (uint32_t i = 0; i < naive->resource_room; i++) {
        uint32_t q = (start + i) % naive->resource_room;
        if (naive->resources[q].known && naive->resources[q].free > 0) {
            make_event(step, GORDIAN_OP_REQUEST, process, q, naive->resources[q].free);
            return true;
        }
    }
    return false;
}

/* Lets a chain of waits grow at its end (its end asks for what somebody who runs holds) or at its
 * start (somebody asks for what the first holds); rarely closes it; breaks it in the middle. */
static bool make_chain(struct generator *generator, const struct naive *naive, struct step *step)
{
    uint32_t first = generator->phase.chain_at;
    if (generator->phase.broken != GORDIAN_NONE && make_mend(generator, naive, step))
        return true;
    if (below(generator, 1000) < generator->phase.break_permille &&
        naive_is_process(naive, first) && make_break(generator, naive, first, step))
        return true;
    uint32_t fresh = pick_process(generator, naive, false);
    if (!naive_is_process(naive, first) || naive->processes[first].held_kinds == 0)
        first = fresh;
    if (first == GORDIAN_NONE || naive_is_waiting(naive, fresh))
        return false;
    generator->phase.chain_at = first;
    uint32_t end = chain_end(naive, first);
    if (naive->processes[fresh].held_kinds == 0)
        return make_take(generator, naive, fresh, step);
    bool close = below(generator, 2 * generator->processes) == 0;
    if (fresh == end && !close)
        return false;
    uint32_t asks = !close && below(generator, 2) ? fresh : end;
    uint32_t asked = pick_held(generator, naive, asks == end && !close ? fresh : first);
    if (asked == GORDIAN_NONE || naive_is_waiting(naive, asks))
        return false;
    if (asks == fresh)
        generator->phase.chain_at = fresh;
    make_event(step, GORDIAN_OP_REQUEST, asks, asked, 1);
    return true;
}

/* ------------------------------------------------------------------ wrong events, and the rest */

static uint32_t wrong_id(struct generator *generator, uint32_t room)
{
    static const uint32_t ids[] = {GORDIAN_NONE, GORDIAN_NONE - 1, UINT32_C(0x80000000)};
    uint32_t kind = below(generator, 6);
    return kind < 3 ? ids[kind] : kind == 3 ? room + below(generator, 70) : below(generator, room);
}

static void make_wrong_wants(struct generator *generator, const struct naive *naive,
                             struct step *step)
{
    uint32_t q = pick_resource(generator, naive, generator->resources);
    uint64_t total = q == GORDIAN_NONE ? 1 : naive->resources[q].total;
    size_t count = 2;
    step->wants[0] = (gordian_want){1, q};
    switch (below(generator, 5)) {
    case 0:
        step->wants[1] = (gordian_want){total, q}; /* one too many */
        break;
    case 1:
        step->wants[0].units = total;
        step->wants[1] = (gordian_want){total < 2 ? total : 2, q}; /* may overflow to 1 */
        break;
    case 2:
        step->wants[1] = (gordian_want){0, q};
        break;
    case 3:
        step->wants[1] = (gordian_want){1, wrong_id(generator, naive->resource_room)};
        break;
    case 4:
        count = 0;
        break;
    }
    use_wants(step, count);
}

/* Nearly always refused; the model says. */
static void make_wrong(struct generator *generator, const struct naive *naive, struct step *step)
{
    static const gordian_op ops[] = {GORDIAN_OP_REQUEST, GORDIAN_OP_RELEASE, GORDIAN_OP_CANCEL,
                                     GORDIAN_OP_EXIT,    GORDIAN_OP_HOLD,    GORDIAN_OP_WAIT};
    uint32_t running = pick_process(generator, naive, false);
    uint32_t waiting = pick_process(generator, naive, true);
    uint32_t q = pick_resource(generator, naive, generator->resources);
    uint64_t total = q == GORDIAN_NONE ? 1 : naive->resources[q].total;
    switch (below(generator, 9)) {
    case 0:
        make_event(step, ops[below(generator, 6)], wrong_id(generator, naive->process_room), q, 1);
        break;
    case 1:
        make_event(step, GORDIAN_OP_REQUEST, running, wrong_id(generator, naive->resource_room), 1);
        break;
    case 2:
        make_event(step, GORDIAN_OP_REQUEST, running, q, below(generator, 2) ? total + 1 : 0);
        break;
    case 3:
        make_event(step, GORDIAN_OP_RELEASE, running, q, below(generator, 2) ? total + 1 : 0);
        break;
    case 4:
        make_event(step, GORDIAN_OP_CANCEL, running, q, 0);
        break;
    case 5:
        make_event(step, ops[below(generator, 2)], waiting, q, 1);
        break;
    case 6:
        make_event(step, GORDIAN_OP_HOLD, below(generator, 2) ? waiting : running, q, total);
        break;
    case 7:
        make_event(step, GORDIAN_OP_RELEASE, running, q, 1);
        step->event.to = below(generator, 2) ? waiting : wrong_id(generator, naive->process_room);
        break;
    case 8:
        make_event(step, GORDIAN_OP_REQUEST, running, q, 1);
        make_wrong_wants(generator, naive, step);
        break;
    }
    /* Nothing here may ask for more than the model of this run allows. */
    gordian_event event = step_event(step);
    if (generator->model != GORDIAN_MODEL_GENERAL && naive_would_wait_generally(naive, &event)) {
        step->many = false;
        make_event(step, GORDIAN_OP_CANCEL, running, q, 0);
    }
}

static void make_churn(struct generator *generator, const struct naive *naive, struct step *step)
{
    static const enum step_kind kinds[] = {STEP_ADD_PROCESS,    STEP_ADD_RESOURCE,
                                           STEP_REMOVE_PROCESS, STEP_REMOVE_RESOURCE,
                                           STEP_SET_PRIORITY,   STEP_SET_COST};
    make_event(step, GORDIAN_OP_EXIT, pick_process(generator, naive, below(generator, 2)),
               pick_resource(generator, naive, generator->resources), 0);
    step->kind = kinds[below(generator, 6)];
    step->value = (int64_t)below(generator, 7) - 3;
    if (step->kind == STEP_ADD_RESOURCE)
        step->value = (int64_t)generator_units(generator);
    if (below(generator, 30) == 0) { /* somebody unknown */
        step->event.process = wrong_id(generator, naive->process_room);
        step->event.resource = wrong_id(generator, naive->resource_room);
    }
}

/* A request that would wait for several: engines that cannot judge it must refuse to. */
static bool make_probe(struct generator *generator, const struct naive *naive, struct step *step)
{
    make_event(step, GORDIAN_OP_REQUEST, pick_process(generator, naive, false), GORDIAN_NONE, 0);
    for (int i = 0; i < 2; i++)
        step->wants[i] = (gordian_want){1, pick_resource(generator, naive, generator->resources)};
    use_wants(step, 2);
    gordian_event event = step_event(step);
    return naive_would_wait_generally(naive, &event);
}

static bool make_resolving(struct generator *generator, const struct naive *naive,
                           struct step *step)
{
    if (!naive->judged || naive->dead_count == 0)
        return false;
    if (below(generator, 3) == 0) {
        step->kind = STEP_RECOVER;
        step->value = (int64_t)GORDIAN_POLICY_YOUNGEST + below(generator, 5);
        return true;
    }
    gordian_op op = below(generator, 2) ? GORDIAN_OP_CANCEL : GORDIAN_OP_EXIT;
    make_event(step, op, pick_dead(generator, naive), GORDIAN_NONE, 0);
    return true;
}

void generator_next(struct generator *generator, const struct naive *naive, struct step *step)
{
    struct phase *phase = &generator->phase;
    memset(step, 0, sizeof *step);
    generator->event++;
    if (phase->left-- == 0)
        start_phase(generator);
    /* With most of them deadlocked little more can happen. */
    if (naive->judged && naive->dead_count * 2 > generator->processes && below(generator, 20) == 0)
        phase->resolve = true;
    if (generator->several_units_at > 0 && generator->event >= generator->several_units_at &&
        generator->event < generator->several_units_at + 3) {
        step->kind = STEP_ADD_RESOURCE;
        step->value = 2 + below(generator, 3);
        return;
    }
    if (phase->resolve && below(generator, 4) == 0 && make_resolving(generator, naive, step))
        return;
    memset(step, 0, sizeof *step);
    if (below(generator, 1000) < phase->churn_permille) {
        make_churn(generator, naive, step);
        return;
    }
    if (generator->model != GORDIAN_MODEL_GENERAL && below(generator, 300) == 0 &&
        make_probe(generator, naive, step))
        return;
    memset(step, 0, sizeof *step);
    if (phase->clear_next < naive->process_room) {
        make_event(step, GORDIAN_OP_EXIT, phase->clear_next++, GORDIAN_NONE, 0);
        return;
    }
    if (chance(generator, phase->chain_percent) && make_chain(generator, naive, step))
        return;
    if (chance(generator, phase->wrong_percent))
        make_wrong(generator, naive, step);
    else
        make_right(generator, naive, step);
}
