#include "lockstep.h"

enum { MATRIX = 2 }; /* the engine that does not do the general model */

static const char *const names[ENGINES] = {"reduce", "sparse", "matrix"};

void lockstep_open(struct lockstep *engines)
{
    for (size_t i = 0; i < ENGINES; i++) {
        gordian_error error;
        gordian_options options;
        gordian_options_init(&options);
        options.engine = names[i];
        gordian_status status = gordian_open(&engines->systems[i], &options, &error);
        DEMAND(status == GORDIAN_OK, "%s: %s", names[i], error.message);
    }
}

void lockstep_close(struct lockstep *engines)
{
    for (size_t i = 0; i < ENGINES; i++)
        gordian_close(engines->systems[i]);
}

bool lockstep_keeps_up(struct lockstep *engines, size_t index, gordian_status status,
                       gordian_status oracle_status, const gordian_error *error)
{
    if (status == GORDIAN_STATUS_UNAVAILABLE) {
        bool general = gordian_system_model(engines->systems[0]) == GORDIAN_MODEL_GENERAL;
        DEMAND(index == MATRIX && general, "%s refuses: %s", names[index], error->message);
        gordian_close(engines->systems[index]);
        engines->systems[index] = NULL;
        return false;
    }
    DEMAND(status == oracle_status, "%s: %s (%s) instead of %s", names[index],
           gordian_status_text(status), error->message, gordian_status_text(oracle_status));
    return true;
}

static void compare_lists(const char *what, const char *engine, const uint32_t *list, size_t count,
                          const uint32_t *expected, size_t expected_count)
{
    DEMAND(count == expected_count, "%s: %s: %zu instead of %zu", engine, what, count,
           expected_count);
    for (size_t i = 0; i < count; i++)
        DEMAND(list[i] == expected[i], "%s: %s: number %zu is %u instead of %u", engine, what, i,
               (unsigned)list[i], (unsigned)expected[i]);
}

static void compare_results(const struct lockstep *engines, size_t index,
                            const gordian_result *result, const gordian_result *expected)
{
    DEMAND(result->outcome == expected->outcome, "%s: %s instead of %s", names[index],
           gordian_outcome_text(result->outcome), gordian_outcome_text(expected->outcome));
    DEMAND(result->refusal == expected->refusal, "%s: refusal %d instead of %d", names[index],
           result->refusal, expected->refusal);
    size_t all, expected_all;
    const uint32_t *served = gordian_served(engines->systems[index], &all);
    const uint32_t *expected_served = gordian_served(engines->systems[0], &expected_all);
    compare_lists("served", names[index], served, all, expected_served, expected_all);
    DEMAND(result->served_count == expected->served_count, "%s: served", names[index]);
}

static void compare_deadlocked(struct lockstep *engines)
{
    gordian_error error;
    const uint32_t *expected, *set;
    size_t expected_count, count;
    gordian_status status =
        gordian_deadlocked(engines->systems[0], &expected, &expected_count, &error);
    DEMAND(status == GORDIAN_OK, "%s", error.message);
    for (size_t i = 1; i < ENGINES; i++) {
        if (!engines->systems[i])
            continue;
        status = gordian_deadlocked(engines->systems[i], &set, &count, &error);
        DEMAND(status == GORDIAN_OK, "%s", error.message);
        compare_lists("deadlocked", names[i], set, count, expected, expected_count);
    }
}

void lockstep_compare(struct lockstep *engines, const gordian_result results[ENGINES])
{
    for (size_t i = 1; i < ENGINES; i++) {
        if (engines->systems[i])
            compare_results(engines, i, &results[i], &results[0]);
    }
    compare_deadlocked(engines);
}

void lockstep_feed(struct lockstep *engines, const gordian_event *event,
                   gordian_result results[ENGINES])
{
    gordian_error error;
    gordian_status expected = gordian_feed(engines->systems[0], event, &results[0], &error);
    DEMAND(expected == GORDIAN_OK, "%s", error.message);
    for (size_t i = 1; i < ENGINES; i++) {
        if (!engines->systems[i])
            continue;
        gordian_status status = gordian_feed(engines->systems[i], event, &results[i], &error);
        lockstep_keeps_up(engines, i, status, expected, &error);
    }
    lockstep_compare(engines, results);
}

static void compare_victims(const char *engine, const gordian_victim *victim,
                            const gordian_victim *expected)
{
    DEMAND(victim->process == expected->process, "%s: victim %u instead of %u", engine,
           (unsigned)victim->process, (unsigned)expected->process);
    DEMAND(victim->weight == expected->weight, "%s: weight of the victim", engine);
    DEMAND(victim->frees_count == expected->frees_count, "%s: what the victim frees", engine);
    compare_lists("served by recovery", engine, victim->served, victim->served_count,
                  expected->served, expected->served_count);
}

bool lockstep_recover_one(struct lockstep *engines, gordian_policy policy, gordian_victim *victim)
{
    gordian_error error;
    gordian_status expected = gordian_recover_one(engines->systems[0], policy, victim, &error);
    DEMAND(expected == GORDIAN_OK || expected == GORDIAN_STATUS_END, "%s", error.message);
    for (size_t i = 1; i < ENGINES; i++) {
        if (!engines->systems[i])
            continue;
        gordian_victim other;
        gordian_status status = gordian_recover_one(engines->systems[i], policy, &other, &error);
        DEMAND(status == expected, "%s: %s", names[i], error.message);
        if (status == GORDIAN_OK)
            compare_victims(names[i], &other, victim);
    }
    return expected == GORDIAN_OK;
}
