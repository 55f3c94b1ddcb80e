#include "duel.h"

#include "foundation/base/clock.h"
#include "witness.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Sizes up to which something is done after every event. */
#define SMALL_CELLS    (40 * 40) /* asking every engine who is deadlocked */
#define MATRICES_MAX   8         /* comparing the matrices with their definitions */
#define RECOVERIES_MAX 100       /* predicting victims: takes cubic time */

bool duel_open(struct duel *duel, const struct duel_options *options)
{
    memset(duel, 0, sizeof *duel);
    duel->options = *options;
    random_seed(&duel->random, options->seed);
    naive_open(&duel->naive, options->process_room, options->resource_room);
    duel->expected = naive_zeroed(DUEL_BATCH, sizeof *duel->expected);
    duel->edge_room = options->process_room > options->resource_room ? options->process_room
                                                                     : options->resource_room;
    duel->edges = naive_zeroed(duel->edge_room, sizeof *duel->edges);
    duel->part_of = naive_zeroed(options->process_room, sizeof *duel->part_of);
    for (size_t i = 0; i < options->engine_count; i++) {
        gordian_options system_options;
        gordian_error error;
        gordian_options_init(&system_options);
        system_options.engine = options->engines[i]->about.name;
        gordian_status status = gordian_open(&duel->systems[i], &system_options, &error);
        if (status != GORDIAN_OK)
            return duel_disagree(duel, i, "gordian_open: %s", error.message);
        if (strcmp(gordian_engine_name(duel->systems[i]), system_options.engine) != 0)
            return duel_disagree(duel, i, "opened another engine");
    }
    return true;
}

void duel_close(struct duel *duel)
{
    for (size_t i = 0; i < duel->options.engine_count; i++)
        gordian_close(duel->systems[i]);
    naive_close(&duel->naive);
    free(duel->expected);
    free(duel->served);
    free(duel->edges);
    free(duel->part_of);
}

/* ------------------------------------------------------------------ events */

static void keep_served(struct duel *duel, struct expectation *expected)
{
    const struct naive *naive = &duel->naive;
    size_t needed = duel->served_count + naive->served_count;
    if (needed > duel->served_room) {
        duel->served_room = 2 * needed;
        duel->served = realloc(duel->served, duel->served_room * sizeof *duel->served);
        if (!duel->served) {
            fprintf(stderr, "out of memory\n");
            exit(4);
        }
    }
    expected->served_first = duel->served_count;
    expected->served_count = naive->served_count;
    if (naive->served_count > 0)
        memcpy(duel->served + duel->served_count, naive->served,
               naive->served_count * sizeof *naive->served);
    duel->served_count = needed;
}

/* Engines that cannot judge a request must say so and stay as they were. */
static bool probe(struct duel *duel, const struct step *step)
{
    gordian_event event = step_event(step);
    for (size_t i = 0; i < duel->options.engine_count; i++) {
        const char *why;
        gordian_result result;
        size_t done = 77;
        const gordian_model general = GORDIAN_MODEL_GENERAL;
        if (engine_usable(&duel->options.engines[i]->about, &general, &why))
            continue;
        gordian_status status = gordian_feed(duel->systems[i], &event, &result, NULL);
        if (status == GORDIAN_STATUS_UNAVAILABLE)
            status = gordian_feed_batch(duel->systems[i], &event, 1, &result, &done, NULL);
        if (status != GORDIAN_STATUS_UNAVAILABLE || done != 0)
            return duel_disagree(duel, i, "takes what it cannot judge: %s",
                                 gordian_status_text(status));
        if (!compare_process(duel, i, event.process) ||
            gordian_system_model(duel->systems[i]) != duel->naive.model)
            return duel_disagree(duel, i, "is changed by what it cannot judge");
    }
    return true;
}

static bool take_event(struct duel *duel, const struct step *step)
{
    gordian_event event = step_event(step);
    bool too_much = duel->options.model != GORDIAN_MODEL_GENERAL &&
                    naive_would_wait_generally(&duel->naive, &event);
    if ((too_much || duel->expected_count == DUEL_BATCH) && !duel_flush(duel))
        return false;
    if (too_much)
        return probe(duel, step);
    struct expectation *expected = &duel->expected[duel->expected_count++];
    expected->step = *step;
    expected->judged = (duel->events + duel->expected_count) % duel->options.judge_every == 0;
    expected->result = naive_feed(&duel->naive, &event, expected->judged);
    keep_served(duel, expected);
    return true;
}

static bool is_waiting_outcome(unsigned outcome)
{
    return outcome == GORDIAN_OUTCOME_BLOCKED || outcome == GORDIAN_OUTCOME_DEADLOCK ||
           outcome == GORDIAN_OUTCOME_DOOMED;
}

static bool compare_result(struct duel *duel, size_t engine, struct expectation *expected,
                           const gordian_result *result)
{
    if (!expected->judged && is_waiting_outcome(expected->result.outcome) &&
        is_waiting_outcome(result->outcome)) {
        expected->result.outcome = (gordian_outcome)result->outcome; /* now the others', too */
        expected->judged = true;
    }
    if (result->outcome != expected->result.outcome)
        return duel_disagree(duel, engine, "%s (refusal %u), model: %s (refusals %" PRIx32 ")",
                             gordian_outcome_text((gordian_outcome)result->outcome),
                             result->refusal, gordian_outcome_text(expected->result.outcome),
                             expected->result.refusals);
    bool refused = result->outcome == GORDIAN_OUTCOME_REFUSED;
    if (refused && !(expected->result.refusals >> result->refusal & 1))
        return duel_disagree(duel, engine, "refusal %u, model: one of %" PRIx32, result->refusal,
                             expected->result.refusals);
    if (!refused && result->refusal != GORDIAN_REFUSAL_NONE)
        return duel_disagree(duel, engine, "a refusal %u and no error", result->refusal);

    size_t count;
    const uint32_t *served = gordian_served(duel->systems[engine], &count);
    if (result->served_count != expected->served_count ||
        expected->served_first + result->served_count > count)
        return duel_disagree(duel, engine, "%" PRIu32 " served, model: %" PRIu32,
                             result->served_count, expected->served_count);
    for (uint32_t i = 0; i < expected->served_count; i++)
        if (served[expected->served_first + i] != duel->served[expected->served_first + i])
            return duel_disagree(
                duel, engine, "served number %" PRIu32 " is p%" PRIu32 ", model: p%" PRIu32, i,
                served[expected->served_first + i], duel->served[expected->served_first + i]);
    return true;
}

/* Gives one engine all the events kept; one alone goes the short way. */
static bool feed_engine(struct duel *duel, size_t engine)
{
    gordian_event events[DUEL_BATCH];
    gordian_result results[DUEL_BATCH];
    gordian_error error;
    size_t count = duel->expected_count, done = 1;
    for (size_t i = 0; i < count; i++)
        events[i] = step_event(&duel->expected[i].step);

    uint64_t start = clock_ns();
    gordian_status status;
    if (count == 1 && !duel->options.batches_only)
        status = gordian_feed(duel->systems[engine], events, results, &error);
    else
        status = gordian_feed_batch(duel->systems[engine], events, count, results, &done, &error);
    duel->ns[engine] += clock_ns() - start;
    if (status != GORDIAN_OK)
        return duel_disagree(duel, engine, "feeding: %s", error.message);
    if (done != count)
        return duel_disagree(duel, engine, "%zu of a batch of %zu done", done, count);
    for (size_t i = 0; i < count; i++) {
        if (!compare_result(duel, engine, &duel->expected[i], &results[i])) {
            size_t used = strlen(duel->message);
            if (count > 1)
                snprintf(duel->message + used, sizeof duel->message - used,
                         " (event %zu of a batch of %zu)", i + 1, count);
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ what to ask after a step */

/* Everything about one process and one resource, of one engine; more of small systems. */
static bool ask_some(struct duel *duel)
{
    const struct naive *naive = &duel->naive;
    size_t engine = random_below(&duel->random, duel->options.engine_count);
    uint32_t process = (uint32_t)random_below(&duel->random, naive->process_room);
    uint32_t resource = (uint32_t)random_below(&duel->random, naive->resource_room);
    uint64_t cells = (uint64_t)naive->process_room * naive->resource_room;
    if (!compare_process(duel, engine, process) || !compare_resource(duel, engine, resource))
        return false;
    if (random_below(&duel->random, 8 + cells / 4) == 0 && !compare_whole_state(duel, engine))
        return false;
    if (random_below(&duel->random, 8 + cells / 8) == 0 && !compare_snapshot(duel, engine))
        return false;
    return random_below(&duel->random, 2 + cells / 64) > 0 ||
           compare_explanation(duel, engine, process);
}

/* Whether everybody agrees about who is deadlocked, and why. */
static bool ask_deadlocked(struct duel *duel, bool closes, uint32_t requester)
{
    for (size_t i = 0; i < duel->options.engine_count; i++)
        if (!compare_deadlocked(duel, i))
            return false;
    size_t engine = duel->events % duel->options.engine_count;
    return !closes || compare_explanation(duel, engine, requester);
}

static bool ask_matrices(struct duel *duel)
{
    const struct naive *naive = &duel->naive;
    if (naive_process_limit(naive) > MATRICES_MAX || naive_resource_limit(naive) > MATRICES_MAX)
        return true;
    for (size_t i = 0; i < duel->options.engine_count; i++)
        if (strcmp(duel->options.engines[i]->about.name, "matrix") == 0 &&
            !compare_matrices(duel, i))
            return false;
    return true;
}

static bool ask_everything(struct duel *duel)
{
    const struct naive *naive = &duel->naive;
    for (size_t i = 0; i < duel->options.engine_count; i++) {
        if (!compare_whole_state(duel, i) || !compare_deadlocked(duel, i) ||
            !compare_snapshot(duel, i))
            return false;
        for (uint32_t p = 0; p < naive->process_room; p++)
            if (!compare_explanation(duel, i, p))
                return false;
    }
    return ask_matrices(duel);
}

/* How far it is from a process to the end of its waiting, by way of the last takers. */
static uint32_t chain_length(const struct naive *naive, uint32_t process)
{
    uint32_t hops = 0;
    while (naive_is_waiting(naive, process) && hops < naive->process_room) {
        process = naive->resources[naive->processes[process].wants[0].resource].recent;
        hops++;
    }
    return naive_is_waiting(naive, process) ? 0 : hops; /* 0: into a cycle */
}

static void count_outcome(struct duel *duel, const struct expectation *expected)
{
    gordian_outcome outcome = expected->result.outcome;
    if (outcome == GORDIAN_OUTCOME_BLOCKED) {
        uint32_t hops = chain_length(&duel->naive, expected->step.event.process);
        duel->longest_chain = hops > duel->longest_chain ? hops : duel->longest_chain;
    }
    duel->events++;
    duel->blocked += outcome == GORDIAN_OUTCOME_BLOCKED;
    duel->deadlocks += outcome == GORDIAN_OUTCOME_DEADLOCK;
    duel->doomed += outcome == GORDIAN_OUTCOME_DOOMED;
    duel->refused += outcome == GORDIAN_OUTCOME_REFUSED;
}

bool duel_flush(struct duel *duel)
{
    if (duel->expected_count == 0)
        return true;
    for (size_t i = 0; i < duel->options.engine_count; i++)
        if (!feed_engine(duel, i))
            return false;
    const struct expectation *last = &duel->expected[duel->expected_count - 1];
    gordian_outcome outcome = last->result.outcome;
    uint32_t requester = last->step.event.process;
    bool judged = last->judged;
    for (size_t i = 0; i < duel->expected_count; i++)
        count_outcome(duel, &duel->expected[i]);
    duel->expected_count = 0;
    duel->served_count = 0;

    if (duel->options.thorough)
        return ask_everything(duel);
    const struct naive *naive = &duel->naive;
    uint64_t cells = (uint64_t)naive->process_room * naive->resource_room;
    bool dead = outcome == GORDIAN_OUTCOME_DEADLOCK || outcome == GORDIAN_OUTCOME_DOOMED;
    bool large = duel->options.judge_every > 1; /* there, only with the judge's other work */
    bool ask =
        large ? judged && duel->events % duel->options.judge_every == 0
              : dead || cells <= SMALL_CELLS || random_below(&duel->random, 1 + cells / 256) == 0;
    if (ask && !ask_deadlocked(duel, outcome == GORDIAN_OUTCOME_DEADLOCK, requester))
        return false;
    if (large)
        return random_below(&duel->random, 64) > 0 || ask_some(duel);
    return ask_some(duel) && ask_matrices(duel);
}

/* ------------------------------------------------------------------ other steps */

static bool add(struct duel *duel, struct step *step)
{
    bool process = step->kind == STEP_ADD_PROCESS;
    struct naive *naive = &duel->naive;
    for (size_t i = 0; i < duel->options.engine_count; i++) {
        uint32_t id = GORDIAN_NONE;
        gordian_error error;
        gordian_status status = process ? gordian_add_process(duel->systems[i], NULL, &id, &error)
                                        : gordian_add_resource(duel->systems[i], NULL,
                                                               (uint64_t)step->value, &id, &error);
        if (status != GORDIAN_OK)
            return duel_disagree(duel, i, "adding: %s", error.message);
        if (i == 0) {
            *(process ? &step->event.process : &step->event.resource) = id;
            if (!(process ? naive_add_process(naive, id)
                          : naive_add_resource(naive, id, (uint64_t)step->value)))
                return duel_disagree(duel, i, "new id %" PRIu32 " is in use or not dense", id);
        }
        if (id != (process ? step->event.process : step->event.resource))
            return duel_disagree(duel, i, "new id %" PRIu32 " differs between engines", id);
    }
    return true;
}

static bool has_room(const struct naive *naive, enum step_kind kind)
{
    bool room = false;
    if (kind == STEP_ADD_PROCESS)
        for (uint32_t p = 0; p < naive->process_room && !room; p++)
            room = !naive->processes[p].known;
    else
        for (uint32_t q = 0; q < naive->resource_room && !room; q++)
            room = !naive->resources[q].known;
    return room;
}

static bool remove_or_set(struct duel *duel, const struct step *step)
{
    struct naive *naive = &duel->naive;
    uint32_t process = step->event.process, resource = step->event.resource;
    bool fine = step->kind == STEP_REMOVE_PROCESS    ? naive_remove_process(naive, process)
                : step->kind == STEP_REMOVE_RESOURCE ? naive_remove_resource(naive, resource)
                                                     : naive_is_process(naive, process);
    if (fine && step->kind == STEP_SET_PRIORITY)
        naive->processes[process].priority = step->value;
    if (fine && step->kind == STEP_SET_COST)
        naive->processes[process].cost = step->value;
    for (size_t i = 0; i < duel->options.engine_count; i++) {
        gordian_system *system = duel->systems[i];
        gordian_status status =
            step->kind == STEP_REMOVE_PROCESS    ? gordian_remove_process(system, process, NULL)
            : step->kind == STEP_REMOVE_RESOURCE ? gordian_remove_resource(system, resource, NULL)
            : step->kind == STEP_SET_PRIORITY
                ? gordian_set_priority(system, process, step->value, NULL)
                : gordian_set_cost(system, process, step->value, NULL);
        if (status != (fine ? GORDIAN_OK : GORDIAN_STATUS_INPUT))
            return duel_disagree(duel, i, "removing or setting: %s", gordian_status_text(status));
        if (!fine && !compare_process(duel, i, process < naive->process_room ? process : 0))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ recovery */

static bool compare_victim(struct duel *duel, size_t engine, const gordian_victim *victim,
                           uint32_t expected, int64_t weight, size_t kinds)
{
    if (victim->process != expected || victim->weight != weight)
        return duel_disagree(duel, engine,
                             "victim p%" PRIu32 " of weight %" PRId64 ", by the policy: p%" PRIu32
                             " of %" PRId64,
                             victim->process, victim->weight, expected, weight);
    if (victim->frees_count != kinds)
        return duel_disagree(duel, engine, "the victim frees %zu, model: %zu", victim->frees_count,
                             kinds);
    for (size_t i = 0; i < kinds; i++) {
        const gordian_edge *edge = &victim->frees[i];
        bool again = false;
        for (size_t j = 0; j < i; j++)
            again |= victim->frees[j].resource == edge->resource;
        if (again || edge->waits || edge->process != expected ||
            !naive_is_resource(&duel->naive, edge->resource) ||
            naive_held(&duel->naive, expected, edge->resource) != edge->units)
            return duel_disagree(duel, engine, "the victim frees what it does not hold");
    }
    return true;
}

static bool compare_served_by_victim(struct duel *duel, size_t engine, const gordian_victim *victim)
{
    const struct naive *naive = &duel->naive;
    size_t count;
    const uint32_t *served = gordian_served(duel->systems[engine], &count);
    bool same = count == naive->served_count && victim->served_count == count;
    for (size_t i = 0; same && i < count; i++)
        same = served[i] == naive->served[i] && victim->served[i] == naive->served[i];
    return same || duel_disagree(duel, engine, "%zu served by a victim's end, model: %" PRIu32,
                                 victim->served_count, naive->served_count);
}

/* Ends one victim everywhere. *over: nobody was deadlocked. */
static bool recover_one(struct duel *duel, gordian_policy policy, bool *over)
{
    struct naive *naive = &duel->naive;
    gordian_victim victims[DUEL_ENGINES];
    int64_t weight = 0;
    witness_parts(naive, duel->part_of);
    uint32_t expected = witness_victim(naive, duel->part_of, policy, &weight);
    *over = expected == GORDIAN_NONE;
    for (size_t i = 0; i < duel->options.engine_count; i++) {
        gordian_error error;
        gordian_status status = gordian_recover_one(duel->systems[i], policy, &victims[i], &error);
        if (status != (*over ? GORDIAN_STATUS_END : GORDIAN_OK))
            return duel_disagree(
                duel, i, "recovery: %s: %s", gordian_status_text(status),
                status == GORDIAN_STATUS_END || status == GORDIAN_OK ? "" : error.message);
        if (!*over && !compare_victim(duel, i, &victims[i], expected, weight,
                                      naive->processes[expected].held_kinds))
            return false;
    }
    if (*over)
        return true;
    duel->recoveries++;
    gordian_event event = {.op = GORDIAN_OP_EXIT, .process = expected, .to = GORDIAN_NONE};
    naive_feed(naive, &event, false);
    for (size_t i = 0; i < duel->options.engine_count; i++)
        if (!compare_served_by_victim(duel, i, &victims[i]))
            return false;
    return true;
}

static bool recover(struct duel *duel, gordian_policy policy)
{
    if (duel->naive.process_room > RECOVERIES_MAX)
        return true;
    for (bool over = false; !over;)
        if (!recover_one(duel, policy, &over))
            return false;
    naive_judge(&duel->naive);
    for (size_t i = 0; i < duel->options.engine_count; i++)
        if (!compare_deadlocked(duel, i))
            return false;
    if (duel->naive.dead_count > 0)
        return duel_disagree(duel, 0, "deadlocked after recovery");
    return true;
}

bool duel_take(struct duel *duel, struct step *step)
{
    if (step->kind == STEP_EVENT)
        return take_event(duel, step);
    if (!duel_flush(duel))
        return false;
    bool agree = true;
    switch (step->kind) {
    case STEP_ADD_PROCESS:
    case STEP_ADD_RESOURCE:
        agree = !has_room(&duel->naive, step->kind) || add(duel, step);
        break;
    case STEP_REMOVE_PROCESS:
    case STEP_REMOVE_RESOURCE:
    case STEP_SET_PRIORITY:
    case STEP_SET_COST:
        agree = remove_or_set(duel, step);
        break;
    case STEP_RECOVER:
        agree = recover(duel, (gordian_policy)step->value);
        break;
    case STEP_EVENT:
        break;
    }
    return agree && (!duel->options.thorough || ask_everything(duel));
}
