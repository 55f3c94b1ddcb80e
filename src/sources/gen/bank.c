/* Traces for deadlock avoidance: each process declares its maximum claim first. The random traces
 * are simulated with a bank (banker's algorithm), so every line is valid in its place. */
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/random.h"
#include "sources/gen/kinds.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ random */

#define CLAIMS_MOST 6 /* resources that a process claims, at most */

struct customer {
    uint32_t id; /* in the bank */
    uint32_t count;
    gordian_want claims[CLAIMS_MOST];
};

struct customers {
    const struct gen_options *options;
    struct gen_sink *sink;
    gordian_error *error;
    gordian_bank *bank;
    struct random random;
    struct customer *all; /* by process */
    uint64_t *units;      /* by resource */
};

static uint64_t draw_below(struct customers *customers, uint64_t bound)
{
    return random_below(&customers->random, bound);
}

/* Draws a new claim. Each claim is at least what the process holds of that resource. */
static void draw_claims(struct customers *customers, struct customer *customer)
{
    uint32_t resources = customers->options->resources;
    uint32_t most = resources < CLAIMS_MOST ? resources : CLAIMS_MOST;
    gordian_want claims[CLAIMS_MOST];
    uint32_t count = 0;
    for (uint32_t i = 0; i < customer->count; i++) {
        gordian_want claim = customer->claims[i];
        claim.units = gordian_bank_held(customers->bank, customer->id, claim.resource);
        if (claim.units > 0)
            claims[count++] = claim;
    }
    uint32_t wanted = 1 + (uint32_t)draw_below(customers, most);
    for (unsigned tries = 0; count < wanted && tries < 4 * CLAIMS_MOST; tries++) {
        uint32_t resource = (uint32_t)draw_below(customers, resources), i = 0;
        while (i < count && claims[i].resource != resource)
            i++;
        if (i == count)
            claims[count++] = (gordian_want){0, resource};
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t spare = customers->units[claims[i].resource] - claims[i].units;
        claims[i].units += spare ? draw_below(customers, spare + 1) : 0;
        claims[i].units += claims[i].units == 0;
        customer->claims[i] = claims[i];
    }
    customer->count = count;
}

static gordian_status emit_claims(struct customers *customers, uint32_t process)
{
    const struct customer *customer = &customers->all[process];
    return customers->sink->claim(customers->sink->context, process, customer->claims,
                                  customer->count, customers->error);
}

static gordian_status join_customer(struct customers *customers, uint32_t process)
{
    struct customer *customer = &customers->all[process];
    customer->id = GORDIAN_NONE;
    customer->count = 0;
    draw_claims(customers, customer);
    TRY(gordian_bank_add_process(customers->bank, NULL, customer->claims, customer->count,
                                 &customer->id, NULL, customers->error));
    return emit_claims(customers, process);
}

/* Draws a new claim for a process. The old claim stays if the new one would be unsafe. */
static gordian_status change_claim(struct customers *customers, uint32_t process,
                                   gordian_answer *answer)
{
    struct customer *customer = &customers->all[process], old = *customer;
    draw_claims(customers, customer);
    gordian_status status = gordian_bank_set_claims(customers->bank, customer->id, customer->claims,
                                                    customer->count, answer, customers->error);
    THEN(status, emit_claims(customers, process));
    if (answer->verdict != GORDIAN_VERDICT_CHANGED)
        *customer = old;
    return status;
}

static gordian_status write_customer_event(struct customers *customers, gordian_op op,
                                           uint32_t process, const gordian_want *wants,
                                           size_t count)
{
    gordian_event event = {
        .op = op, .process = process, .to = GORDIAN_NONE, .wants = wants, .want_count = count};
    return customers->sink->event(customers->sink->context, &event, customers->error);
}

/* Draws a part of what the process holds (`back`) or may still request. Returns the number of
 * resources. */
static size_t draw_wants(struct customers *customers, const struct customer *customer, bool back,
                         gordian_want *wants)
{
    size_t count = 0;
    for (uint32_t i = 0; i < customer->count; i++) {
        const gordian_want *claim = &customer->claims[i];
        uint64_t held = gordian_bank_held(customers->bank, customer->id, claim->resource);
        uint64_t most = back ? held : claim->units - held;
        if (most > 0 && (count == 0 || draw_below(customers, 2)))
            wants[count++] = (gordian_want){1 + draw_below(customers, most), claim->resource};
    }
    return count;
}

static gordian_status request_or_release(struct customers *customers, uint32_t process)
{
    const struct customer *customer = &customers->all[process];
    gordian_want wants[CLAIMS_MOST];
    bool back = draw_below(customers, 5) < 2;
    size_t count = draw_wants(customers, customer, back, wants);
    if (count == 0) {
        back = !back;
        count = draw_wants(customers, customer, back, wants);
    }
    TRY((back ? gordian_bank_release : gordian_bank_request)(customers->bank, customer->id, wants,
                                                             count, NULL, customers->error));
    return write_customer_event(customers, back ? GORDIAN_OP_RELEASE : GORDIAN_OP_REQUEST, process,
                                wants, count);
}

/* Simulates one step. Every step is one event, except a change of claim. */
static gordian_status step_customer(struct customers *customers, uint64_t *events)
{
    const struct gen_options *options = customers->options;
    uint32_t process = (uint32_t)draw_below(customers, options->processes);
    bool leaves = random_chance(&customers->random, options->exits);
    bool gives_up = random_chance(&customers->random, options->cancels);
    bool changes = random_chance(&customers->random, options->changes);
    bool waits = gordian_bank_is_waiting(customers->bank, customers->all[process].id);
    const uint32_t id = customers->all[process].id;
    if (leaves) {
        ++*events;
        TRY(gordian_bank_exit(customers->bank, id, NULL, customers->error));
        TRY(write_customer_event(customers, GORDIAN_OP_EXIT, process, NULL, 0));
        return join_customer(customers, process);
    }
    if (waits && gives_up) {
        ++*events;
        TRY(gordian_bank_cancel(customers->bank, id, NULL, customers->error));
        return write_customer_event(customers, GORDIAN_OP_CANCEL, process, NULL, 0);
    }
    /* The loop ends: the bank guarantees that some process can always proceed. */
    while (gordian_bank_is_waiting(customers->bank, customers->all[process].id))
        process = (process + 1) % options->processes;
    if (!changes)
        return ++*events, request_or_release(customers, process);
    gordian_answer answer;
    gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
    gordian_status status = change_claim(customers, process, &answer);
    gordian_answer_free(&answer);
    return status;
}

static gordian_status simulate_customers(struct customers *customers)
{
    const struct gen_options *options = customers->options;
    gordian_status status =
        customers->sink->begin(customers->sink->context, options->processes, options->resources,
                               customers->units, 0, customers->error);
    for (uint32_t r = 0; r < options->resources && status == GORDIAN_OK; r++)
        status = gordian_bank_add_resource(customers->bank, NULL, customers->units[r], NULL,
                                           customers->error);
    for (uint32_t p = 0; p < options->processes && status == GORDIAN_OK; p++)
        status = join_customer(customers, p);
    for (uint64_t events = 0; events < options->events && status == GORDIAN_OK;)
        status = step_customer(customers, &events);
    return status;
}

gordian_status bank_random(const struct gen_options *options, struct gen_sink *sink,
                           gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct customers customers = {.options = options, .sink = sink, .error = error};
    gordian_bank_options bank_options;
    gordian_bank_options_init(&bank_options);
    bank_options.engine = "holt";
    bank_options.queue = options->queue;
    if (options->changes == 100)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "changes: at most 99 percent, since a change of a claim is not an event");
    if (options->cancels && !options->queue)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "cancels needs queue: without it no process waits");
    random_seed(&customers.random, options->seed);
    customers.all = memory_zeroed(&memory, (size_t)options->processes * sizeof *customers.all);
    customers.units = memory_alloc(&memory, (size_t)options->resources * sizeof *customers.units);
    gordian_status status = customers.all && customers.units
                                ? gordian_bank_open(&customers.bank, &bank_options, error)
                                : fail_memory(error);
    for (uint32_t r = 0; r < options->resources && status == GORDIAN_OK; r++)
        customers.units[r] = 1 + draw_below(&customers, options->units);
    THEN(status, simulate_customers(&customers));
    gordian_bank_close(customers.bank);
    memory_free_all(&memory, customers.all, customers.units);
    return status;
}

/* ------------------------------------------------------------------ bank-rounds */

/* Every process holds one unit of every resource, and one unit is left. The process that finishes
 * as number k needs k + 1 more units, which is what is available when all before it have finished.
 * The processes are listed in reverse order, so that a search in ascending order finds one process
 * in each round. */
struct rounds {
    const struct gen_options *options;
    struct gen_sink *sink;
    gordian_error *error;
    gordian_want *wants; /* of every resource, for the current line */
};

static const gordian_want *of_each(struct rounds *rounds, uint64_t units)
{
    for (uint32_t r = 0; r < rounds->options->resources; r++)
        rounds->wants[r] = (gordian_want){units, r};
    return rounds->wants;
}

static gordian_status one_of_each(struct rounds *rounds, gordian_op op, uint32_t process)
{
    gordian_event event = {.op = op,
                           .process = process,
                           .to = GORDIAN_NONE,
                           .wants = of_each(rounds, 1),
                           .want_count = rounds->options->resources};
    return rounds->sink->event(rounds->sink->context, &event, rounds->error);
}

/* The process that finishes first requests the last unit, which is safe, and releases it. The next
 * process requests that unit, which is unsafe. */
static gordian_status emit_round_events(struct rounds *rounds, uint64_t events)
{
    uint32_t first = rounds->options->processes - 1;
    for (uint64_t i = 0; i < events; i++) {
        uint64_t turn = first > 0 ? i % 3 : i % 2;
        TRY(one_of_each(rounds, turn == 1 ? GORDIAN_OP_RELEASE : GORDIAN_OP_REQUEST,
                        turn == 2 ? first - 1 : first));
    }
    return GORDIAN_OK;
}

gordian_status bank_rounds(const struct gen_options *options, struct gen_sink *sink,
                           gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct rounds rounds = {options, sink, error, NULL};
    uint32_t processes = options->processes;
    uint64_t taking = options->events < processes ? options->events : processes;
    rounds.wants = memory_alloc(&memory, (size_t)options->resources * sizeof *rounds.wants);
    if (!rounds.wants)
        return fail_memory(error);
    gordian_status status = sink->begin(sink->context, processes, options->resources, NULL,
                                        (uint64_t)processes + 1, error);
    for (uint32_t p = 0; p < processes && status == GORDIAN_OK; p++)
        status = sink->claim(sink->context, p, of_each(&rounds, (uint64_t)processes - p + 1),
                             options->resources, error);
    for (uint32_t p = 0; p < taking && status == GORDIAN_OK; p++)
        status = one_of_each(&rounds, GORDIAN_OP_REQUEST, p);
    THEN(status, emit_round_events(&rounds, options->events - taking));
    memory_free(&memory, rounds.wants);
    return status;
}

/* ------------------------------------------------------------------ textbook example */

/* Five processes and 10, 5 and 7 units: a safe state, a request that is granted, one for units that
 * are not available, and one that would be unsafe. */
gordian_status bank_textbook(const struct gen_options *options, struct gen_sink *sink,
                             gordian_error *error)
{
    static const uint64_t units[3] = {10, 5, 7};
    static const uint32_t claims[5][3] = {{7, 5, 3}, {3, 2, 2}, {9, 0, 2}, {2, 2, 2}, {4, 3, 3}};
    static const struct {
        uint32_t process, units[3];
    } taken[] = {
        {0, {0, 1, 0}}, {1, {2, 0, 0}}, {2, {3, 0, 2}}, {3, {2, 1, 1}},
        {4, {0, 0, 2}}, {1, {1, 0, 2}}, {4, {3, 3, 0}}, {0, {0, 2, 0}},
    };
    gordian_want wants[3];
    (void)options;
    TRY(sink->begin(sink->context, 5, 3, units, 0, error));
    for (uint32_t p = 0; p < 5; p++) {
        for (uint32_t r = 0; r < 3; r++)
            wants[r] = (gordian_want){claims[p][r], r};
        TRY(sink->claim(sink->context, p, wants, 3, error));
    }
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        gordian_event event = {.op = GORDIAN_OP_REQUEST,
                               .process = taken[i].process,
                               .to = GORDIAN_NONE,
                               .wants = wants};
        for (uint32_t r = 0; r < 3; r++)
            if (taken[i].units[r])
                wants[event.want_count++] = (gordian_want){taken[i].units[r], r};
        TRY(sink->event(sink->context, &event, error));
    }
    return GORDIAN_OK;
}
