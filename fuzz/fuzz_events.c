/* Bytes as events: every engine takes them, and all must agree with each other and with the tests'
 * naive model; every witness and every victim is checked against it. */
#include "lockstep.h"

#include "../tests/differential/witness.h"

enum {
    PROCESSES = 12, /* at most */
    RESOURCES = 10,
    EVENTS = 400,
};

struct table {
    struct lockstep engines;
    struct naive naive;
    const uint8_t *data; /* what is left of the input */
    size_t size;
    gordian_model model; /* how far the events may go */
};

static uint8_t next_byte(struct table *table)
{
    if (table->size == 0)
        return 0;
    table->size--;
    return *table->data++;
}

/* ------------------------------------------------------------------ coming and going */

static bool has_all_processes(const struct table *table)
{
    uint32_t known = 0;
    for (uint32_t p = 0; p < PROCESSES; p++)
        known += naive_is_process(&table->naive, p);
    return known == PROCESSES;
}

static bool has_all_resources(const struct table *table)
{
    uint32_t known = 0;
    for (uint32_t q = 0; q < RESOURCES; q++)
        known += naive_is_resource(&table->naive, q);
    return known == RESOURCES;
}

static void add_process(struct table *table)
{
    gordian_error error;
    uint32_t first = GORDIAN_NONE, id;
    if (has_all_processes(table))
        return;
    for (size_t i = 0; i < ENGINES; i++) {
        gordian_system *system = table->engines.systems[i];
        if (!system)
            continue;
        gordian_status status = gordian_add_process(system, NULL, &id, &error);
        DEMAND(status == GORDIAN_OK, "%s", error.message);
        DEMAND(i == 0 || id == first, "different ids");
        first = id;
    }
    DEMAND(naive_add_process(&table->naive, first), "process %u", (unsigned)first);
}

static void add_resource(struct table *table)
{
    gordian_error error;
    uint32_t first = GORDIAN_NONE, id;
    uint64_t units = table->model == GORDIAN_MODEL_SINGLE_UNIT ? 1 : 1 + next_byte(table) % 4;
    if (has_all_resources(table))
        return;
    for (size_t i = 0; i < ENGINES; i++) {
        gordian_system *system = table->engines.systems[i];
        if (!system)
            continue;
        gordian_status status = gordian_add_resource(system, NULL, units, &id, &error);
        DEMAND(status == GORDIAN_OK, "%s", error.message);
        DEMAND(i == 0 || id == first, "different ids");
        first = id;
    }
    DEMAND(naive_add_resource(&table->naive, first, units), "resource %u", (unsigned)first);
}

static void remove_one(struct table *table, bool process)
{
    gordian_error error;
    uint32_t id = next_byte(table) % (process ? PROCESSES : RESOURCES);
    bool expected = process ? naive_remove_process(&table->naive, id)
                            : naive_remove_resource(&table->naive, id);
    for (size_t i = 0; i < ENGINES; i++) {
        gordian_system *system = table->engines.systems[i];
        if (!system)
            continue;
        gordian_status status = process ? gordian_remove_process(system, id, &error)
                                        : gordian_remove_resource(system, id, &error);
        DEMAND(status == (expected ? GORDIAN_OK : GORDIAN_STATUS_INPUT), "removing %u: %s",
               (unsigned)id, gordian_status_text(status));
    }
}

static void set_weights(struct table *table)
{
    gordian_error error;
    uint32_t id = next_byte(table) % PROCESSES;
    int64_t priority = next_byte(table) % 4, cost = next_byte(table) % 4;
    bool known = naive_is_process(&table->naive, id);
    for (size_t i = 0; i < ENGINES; i++) {
        gordian_system *system = table->engines.systems[i];
        if (!system)
            continue;
        gordian_status status = gordian_set_priority(system, id, priority, &error);
        DEMAND((status == GORDIAN_OK) == known, "priority of %u", (unsigned)id);
        status = gordian_set_cost(system, id, cost, &error);
        DEMAND((status == GORDIAN_OK) == known, "cost of %u", (unsigned)id);
    }
    if (known) {
        table->naive.processes[id].priority = priority;
        table->naive.processes[id].cost = cost;
    }
}

/* ------------------------------------------------------------------ agreeing with the model */

static void check_served(struct table *table, const uint32_t *served, size_t count)
{
    DEMAND(count == table->naive.served_count, "%zu served instead of %u", count,
           (unsigned)table->naive.served_count);
    for (size_t i = 0; i < count; i++)
        DEMAND(served[i] == table->naive.served[i], "served out of order");
}

/* The engines agree with each other already: one of them against the model is enough. */
static void check_deadlocked(struct table *table)
{
    gordian_error error;
    const uint32_t *deadlocked;
    size_t count;
    gordian_status status =
        gordian_deadlocked(table->engines.systems[0], &deadlocked, &count, &error);
    DEMAND(status == GORDIAN_OK, "%s", error.message);
    naive_judge(&table->naive);
    DEMAND(count == table->naive.dead_count, "%zu deadlocked instead of %u", count,
           (unsigned)table->naive.dead_count);
    for (size_t i = 0; i < count; i++)
        DEMAND(table->naive.dead[deadlocked[i]], "process %u is not", (unsigned)deadlocked[i]);
}

static void check_witnesses(struct table *table, uint32_t process)
{
    for (size_t i = 0; i < ENGINES; i++) {
        gordian_error error;
        gordian_witness witness;
        if (!table->engines.systems[i])
            continue;
        gordian_status status =
            gordian_explain(table->engines.systems[i], process, &witness, &error);
        DEMAND(status == GORDIAN_OK, "%s", error.message);
        const char *why = witness_check(&table->naive, process, &witness);
        DEMAND(!why, "the witness: %s", why);
    }
}

static void feed(struct table *table, const gordian_event *event)
{
    gordian_result results[ENGINES];
    lockstep_feed(&table->engines, event, results);
    struct naive_result expected = naive_feed(&table->naive, event, true);
    DEMAND(results[0].outcome == expected.outcome, "%s: %s instead of %s",
           gordian_op_text(event->op), gordian_outcome_text(results[0].outcome),
           gordian_outcome_text(expected.outcome));
    if (expected.outcome == GORDIAN_OUTCOME_REFUSED) {
        DEMAND(expected.refusals >> results[0].refusal & 1, "refusal %d", results[0].refusal);
        return;
    }
    size_t count;
    const uint32_t *served = gordian_served(table->engines.systems[0], &count);
    check_served(table, served, count);
    check_deadlocked(table);
    if (expected.outcome == GORDIAN_OUTCOME_DEADLOCK || expected.outcome == GORDIAN_OUTCOME_DOOMED)
        check_witnesses(table, event->process);
}

static void recover(struct table *table)
{
    static const gordian_policy policies[] = {
        GORDIAN_POLICY_YOUNGEST, GORDIAN_POLICY_OLDEST, GORDIAN_POLICY_CHEAPEST,
        GORDIAN_POLICY_LOWEST_PRIORITY, GORDIAN_POLICY_FEWEST_HELD};
    gordian_policy policy = policies[next_byte(table) % 5];
    uint32_t part_of[PROCESSES];
    int64_t weight = 0;
    witness_parts(&table->naive, part_of);
    uint32_t expected = witness_victim(&table->naive, part_of, policy, &weight);

    gordian_victim victim;
    bool recovered = lockstep_recover_one(&table->engines, policy, &victim);
    DEMAND(recovered == (expected != GORDIAN_NONE), "a victim where none is, or none");
    if (!recovered)
        return;
    DEMAND(victim.process == expected, "%s: %u instead of %u", gordian_policy_text(policy),
           (unsigned)victim.process, (unsigned)expected);
    DEMAND(victim.weight == weight, "%s: another weight", gordian_policy_text(policy));
    gordian_event leave = {.op = GORDIAN_OP_EXIT, .process = expected, .to = GORDIAN_NONE};
    naive_feed(&table->naive, &leave, true);
    check_served(table, victim.served, victim.served_count);
    check_deadlocked(table);
}

/* ------------------------------------------------------------------ events from bytes */

static uint64_t next_units(struct table *table)
{
    uint8_t byte = next_byte(table);
    if (byte == 255)
        return UINT64_MAX;
    return table->model == GORDIAN_MODEL_GENERAL ? byte % 5 : byte < 250;
}

static void request(struct table *table, gordian_op op, bool several)
{
    gordian_want wants[4];
    gordian_event event = {.op = op, .to = GORDIAN_NONE};
    event.process = next_byte(table) % (PROCESSES + 1);
    if (several) {
        event.wants = wants;
        event.want_count = 1 + next_byte(table) % 4;
        for (size_t i = 0; i < event.want_count; i++)
            wants[i] = (gordian_want){next_units(table), next_byte(table) % RESOURCES};
    } else {
        event.resource = next_byte(table) % (RESOURCES + 1);
        event.units = next_units(table);
    }
    feed(table, &event);
}

static void release(struct table *table, bool hand_over)
{
    gordian_event event = {.op = GORDIAN_OP_RELEASE, .to = GORDIAN_NONE};
    event.process = next_byte(table) % PROCESSES;
    event.resource = next_byte(table) % RESOURCES;
    event.units = next_units(table);
    if (hand_over)
        event.to = next_byte(table) % PROCESSES;
    feed(table, &event);
}

static void leave(struct table *table, gordian_op op)
{
    gordian_event event = {.op = op, .to = GORDIAN_NONE};
    event.process = next_byte(table) % (PROCESSES + 1);
    feed(table, &event);
}

static void step(struct table *table)
{
    switch (next_byte(table) % 24) {
    case 0:
        add_process(table);
        break;
    case 1:
        add_resource(table);
        break;
    case 2:
        remove_one(table, true);
        break;
    case 3:
        remove_one(table, false);
        break;
    case 4:
        set_weights(table);
        break;
    case 5:
        recover(table);
        break;
    case 6:
        leave(table, GORDIAN_OP_CANCEL);
        break;
    case 7:
        leave(table, GORDIAN_OP_EXIT);
        break;
    case 8:
        release(table, true);
        break;
    case 9:
    case 10:
    case 11:
    case 12:
        release(table, false);
        break;
    case 13:
        request(table, GORDIAN_OP_HOLD, false);
        break;
    case 14:
    case 15:
        request(table, GORDIAN_OP_WAIT, table->model == GORDIAN_MODEL_GENERAL);
        break;
    case 16:
    case 17:
        request(table, GORDIAN_OP_REQUEST, table->model == GORDIAN_MODEL_GENERAL);
        break;
    default:
        request(table, GORDIAN_OP_REQUEST, false);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct table table = {.data = data, .size = size};
    lockstep_open(&table.engines);
    naive_open(&table.naive, PROCESSES, RESOURCES);
    table.model = (gordian_model)(next_byte(&table) % 3);
    for (unsigned count = next_byte(&table) % PROCESSES; count > 0; count--)
        add_process(&table);
    for (unsigned count = next_byte(&table) % RESOURCES; count > 0; count--)
        add_resource(&table);
    for (unsigned i = 0; i < EVENTS && table.size > 0; i++)
        step(&table);
    naive_close(&table.naive);
    lockstep_close(&table.engines);
    return 0;
}
