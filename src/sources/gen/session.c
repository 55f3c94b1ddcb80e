/* Kinds whose processes follow a plan: a session requests some resources one after the other and
 * then releases all of them. A session whose request was cancelled releases what it holds. */
#include "foundation/base/error.h"
#include "sources/gen/kinds.h"
#include "sources/gen/simulation.h"

#define STEPS_MAX 4

struct session {
    uint32_t resources[STEPS_MAX];
    uint32_t units[STEPS_MAX];
    uint8_t count;
    uint8_t taken; /* steps requested; all of them are granted while the process runs */
    bool giving_back;
};

struct sessions {
    void (*plan)(struct simulation *sim, uint32_t process, struct session *session);
    struct session *of; /* by process */
};

static void add_session_step(struct session *session, uint32_t resource, uint32_t units)
{
    session->resources[session->count] = resource;
    session->units[session->count] = units;
    session->count++;
}

static void session_next(struct simulation *sim, uint32_t process, gordian_event *event)
{
    const struct sessions *sessions = sim->own;
    struct session *session = &sessions->of[process];
    if (session->taken == 0) { /* also after the first step was cancelled */
        *session = (struct session){.count = 0};
        sessions->plan(sim, process, session);
    }
    if (session->taken == session->count)
        session->giving_back = true;
    if (session->giving_back) {
        session->taken--;
        simulation_release(sim, event, process, session->resources[session->taken],
                           session->units[session->taken]);
    } else {
        simulation_request(event, process, session->resources[session->taken],
                           session->units[session->taken]);
        session->taken++;
    }
}

static void session_ended(struct simulation *sim, uint32_t process, gordian_op op)
{
    struct session *session = &((struct sessions *)sim->own)->of[process];
    session->taken = op == GORDIAN_OP_EXIT ? 0 : session->taken - 1;
    session->giving_back = true; /* no effect after an exit: the next session begins */
}

static gordian_status run_session(const struct gen_options *options, struct gen_sink *sink,
                                  void (*plan)(struct simulation *, uint32_t, struct session *),
                                  gordian_error *error)
{
    static const struct simulation_rules rules = {session_next, session_ended};
    gordian_allocator memory = memory_allocator(NULL);
    struct sessions sessions = {plan,
                                memory_zeroed(&memory, options->processes * sizeof *sessions.of)};
    uint64_t *units = memory_alloc(&memory, options->resources * sizeof *units);
    gordian_status status = fail_memory(error);
    if (sessions.of && units) {
        for (uint32_t q = 0; q < options->resources; q++)
            units[q] = options->units;
        status = simulation_run(options, &rules, &sessions, units, sink, error);
    }
    memory_free_all(&memory, sessions.of, units);
    return status;
}

/* ------------------------------------------------------------------ plans */

static void plan_meal(struct simulation *sim, uint32_t process, struct session *session)
{
    add_session_step(session, process, 1);
    add_session_step(session, (process + 1) % sim->options->resources, 1);
}

gordian_status session_philosophers(const struct gen_options *options, struct gen_sink *sink,
                                    gordian_error *error)
{
    if (options->processes < 2)
        return fail(error, GORDIAN_STATUS_INPUT, "a table needs at least 2 philosophers, not %u",
                    options->processes);
    return run_session(options, sink, plan_meal, error);
}

/* Plans a session on one table or two different tables. It reads each table or, one time in four,
 * writes it. */
static void plan_access(struct simulation *sim, uint32_t process, struct session *session)
{
    (void)process;
    const uint32_t tables = sim->options->resources;
    uint32_t first = (uint32_t)random_below(&sim->random, tables);
    uint32_t count = tables > 1 ? 1 + (uint32_t)random_below(&sim->random, 2) : 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t units = random_chance(&sim->random, 25) ? sim->options->units : 1;
        add_session_step(session, first, units);
        if (count > 1)
            first = (first + 1 + (uint32_t)random_below(&sim->random, tables - 1)) % tables;
    }
}

gordian_status session_readers_writers(const struct gen_options *options, struct gen_sink *sink,
                                       gordian_error *error)
{
    return run_session(options, sink, plan_access, error);
}

static void plan_connections(struct simulation *sim, uint32_t process, struct session *session)
{
    (void)process;
    uint32_t pool = (uint32_t)random_below(&sim->random, sim->options->resources);
    uint32_t most = sim->options->units < STEPS_MAX ? sim->options->units : STEPS_MAX;
    uint32_t count = 1 + (uint32_t)random_below(&sim->random, most);
    for (uint32_t i = 0; i < count; i++)
        add_session_step(session, pool, 1);
}

gordian_status session_pool(const struct gen_options *options, struct gen_sink *sink,
                            gordian_error *error)
{
    return run_session(options, sink, plan_connections, error);
}
