/* A client's memory: what is reckoned is what is taken, whoever grows is stopped, others go on, and
 * the books are right whatever happens. */
#include "foundation/base/random.h"
#include "quota_world.h"

/* ------------------------------------------------------------------ ways to grow */

#define LIST 500

/* Something to grow in; then one step, false: it was refused. */
struct way {
    const char *name;
    void (*begin)(struct talker *talker);
    bool (*step)(struct talker *talker, uint32_t number);
    int steps; /* to be measured with */
};

static void begin_nothing(struct talker *talker)
{
    (void)talker;
}

static bool step_process(struct talker *talker, uint32_t number)
{
    char name[64];
    snprintf(name, sizeof name, "a-process-of-this-name-%u", number);
    return add(talker, WIRE_PROCESS, name, 0, NULL, 0) != GORDIAN_NONE;
}

static bool step_long_name(struct talker *talker, uint32_t number)
{
    char name[256];
    snprintf(name, sizeof name, "%0255u", number);
    return add(talker, WIRE_PROCESS, name, 0, NULL, 0) != GORDIAN_NONE;
}

static bool step_resource(struct talker *talker, uint32_t number)
{
    char name[64];
    snprintf(name, sizeof name, "a-resource-%u", number);
    return add(talker, WIRE_RESOURCE, name, 3, NULL, 0) != GORDIAN_NONE;
}

static void add_list(struct talker *talker, uint64_t units)
{
    char name[64];
    for (uint32_t i = 0; i < LIST; i++) {
        snprintf(name, sizeof name, "q%u", i);
        add(talker, WIRE_RESOURCE, name, units, NULL, 0);
    }
}

static void begin_holds(struct talker *talker)
{
    add_list(talker, 1000000);
}

/* A process of that name asks for one of each; false: it was refused. */
static bool ask_for_all(struct talker *talker, const char *name, uint8_t expected)
{
    gordian_want wants[LIST];
    uint8_t outcome;
    one_of_each(wants, LIST);
    uint32_t process = add(talker, WIRE_PROCESS, name, 0, NULL, 0);
    if (process == GORDIAN_NONE || !ask_for(talker, process, wants, LIST, &outcome))
        return false;
    CHECK(outcome == expected);
    return true;
}

static bool step_holds(struct talker *talker, uint32_t number)
{
    char name[64];
    snprintf(name, sizeof name, "h%u", number);
    return ask_for_all(talker, name, GORDIAN_OUTCOME_GRANTED);
}

static void begin_waits(struct talker *talker)
{
    add_list(talker, 1);
    CHECK(ask_for_all(talker, "first", GORDIAN_OUTCOME_GRANTED));
}

static bool step_waits(struct talker *talker, uint32_t number)
{
    char name[64];
    snprintf(name, sizeof name, "w%u", number);
    return ask_for_all(talker, name, GORDIAN_OUTCOME_BLOCKED);
}

static void begin_bank(struct talker *talker)
{
    char name[32];
    snprintf(name, sizeof name, "bank%u", talker->client.session);
    open_system(talker, name, 2, "");
    add_list(talker, 1000000);
}

static bool step_claims(struct talker *talker, uint32_t number)
{
    char name[64];
    gordian_want claims[LIST];
    for (uint32_t i = 0; i < LIST; i++)
        claims[i] = (gordian_want){2, i};
    snprintf(name, sizeof name, "c%u", number);
    return add(talker, WIRE_PROCESS, name, 0, claims, LIST) != GORDIAN_NONE;
}

static bool step_system(struct talker *talker, uint32_t number)
{
    char name[64];
    snprintf(name, sizeof name, "system%u-%u", talker->client.session, number);
    if (!open_system(talker, name, 1, ""))
        return false;
    /* the ring of what happened last fills up */
    uint32_t p = add(talker, WIRE_PROCESS, "p", 0, NULL, 0),
             q = add(talker, WIRE_RESOURCE, "q", 1, NULL, 0);
    if (p == GORDIAN_NONE || q == GORDIAN_NONE)
        return false;
    gordian_event events[400];
    for (int i = 0; i < 400; i++)
        events[i] = (gordian_event){.op = i % 2 ? GORDIAN_OP_RELEASE : GORDIAN_OP_REQUEST,
                                    .process = p,
                                    .resource = q,
                                    .units = 1,
                                    .to = GORDIAN_NONE};
    for (int i = 0; i < 100; i++)
        feed_many(talker, events, 400);
    return true;
}

static void begin_matrix(struct talker *talker)
{
    char name[32];
    snprintf(name, sizeof name, "matrix%u", talker->client.session);
    open_system(talker, name, 1, "engine=matrix");
}

static bool step_matrix(struct talker *talker, uint32_t number)
{
    return step_process(talker, number) && step_resource(talker, number);
}

static const struct way ways[] = {
    {"processes", begin_nothing, step_process, 20000},
    {"long names", begin_nothing, step_long_name, 10000},
    {"resources", begin_nothing, step_resource, 20000},
    {"holds", begin_holds, step_holds, 400},
    {"waits", begin_waits, step_waits, 400},
    {"claims", begin_bank, step_claims, 300},
    {"systems", begin_nothing, step_system, 8},
};

#define WAYS (sizeof ways / sizeof *ways)

/* ------------------------------------------------------------------ what things take */

static void free_limits(struct service_options *options)
{
    options->limits.session_memory = 0;
    options->limits.systems = options->limits.session_systems = 1000;
}

/* The books against the allocator. */
static void test_costs(void)
{
    for (size_t i = 0; i < WAYS; i++) {
        struct world world;
        world_open(&world, free_limits);
        struct talker *ann = connect_binary(&world);
        ways[i].begin(ann);
        read_all(ann);
        uint64_t used = service_memory_used(world.service), said = account(ann);
        for (int j = 0; j < ways[i].steps; j++)
            CHECK(ways[i].step(ann, (uint32_t)j));
        used = service_memory_used(world.service) - used;
        said = account(ann) - said;
        double ratio = (double)said / (double)used;
        CHECK_MSG(ratio > 0.75 && ratio < 1.6, "%s: reckoned %llu, taken %llu: %.2f", ways[i].name,
                  (unsigned long long)said, (unsigned long long)used, ratio);
        world_close(&world);
    }
}

/* ------------------------------------------------------------------ being stopped */

static void small_limits(struct service_options *options)
{
    options->limits.session_memory = 8 * MIB;
    options->limits.systems = options->limits.session_systems = 1000;
}

/* Until it is stopped; how many steps that took. */
static uint32_t grow(struct talker *talker, bool (*step)(struct talker *, uint32_t))
{
    uint32_t steps = 0;
    while (steps < 200000 && step(talker, steps))
        steps++;
    return steps;
}

/* One that grows until it is stopped: then it may not grow in any way, another may, and what it
 * gives up it gets back. */
static void check_stopped(const struct way *way)
{
    struct world world, again;
    world_open(&world, small_limits);
    struct talker *ann = connect_binary(&world), *bob = connect_binary(&world);
    way->begin(ann);
    uint32_t steps = grow(ann, way->step);
    CHECK_MSG(steps > 0 && steps < 200000, "%s: %u", way->name, steps);
    read_all(ann);
    uint64_t used = session_memory(world.service, ann->client.session);
    CHECK_MSG(used <= 8 * MIB && used > 2 * MIB, "%s: %llu", way->name, (unsigned long long)used);
    CHECK(world.service->counters.over_memory > 0);
    CHECK(service_memory_used(world.service) < 16 * MIB);
    /* another goes on, also in the same system, unless its engine's matrices are the matter */
    if (way->begin != begin_matrix)
        bob->client.system = ann->client.system;
    CHECK(add(bob, WIRE_RESOURCE, "bobs", 1, NULL, 0) != GORDIAN_NONE);
    if (system_of(bob)->system) {
        uint32_t process = add(bob, WIRE_PROCESS, "bob", 0, NULL, 0);
        uint8_t outcome;
        gordian_want want = {1, served_find_resource(system_of(bob), "bobs", 4)};
        CHECK(ask_for(bob, process, &want, 1, &outcome) && outcome == GORDIAN_OUTCOME_GRANTED);
        CHECK(leave(bob, process) == GORDIAN_OUTCOME_EXITED);
    }
    /* all of it comes back by the journal, also what was refused */
    world_open(&again, small_limits);
    world_replay(&world, again.service, 0, world.record_count);
    compare_dumps(world.service, again.service, way->name);
    world_close(&again);
    world_close(&world);
}

static void test_stopped(void)
{
    static const struct way matrix = {"matrices", begin_matrix, step_matrix, 0};
    for (size_t i = 0; i < WAYS; i++)
        check_stopped(&ways[i]);
    check_stopped(&matrix);
}

/* Whoever is at its limit may give up and then goes on. */
static void test_giving_up(void)
{
    struct world world;
    world_open(&world, small_limits);
    struct talker *ann = connect_binary(&world);
    begin_holds(ann);
    uint64_t empty = account(ann);
    uint32_t steps = grow(ann, step_holds);
    struct served *served = system_of(ann);
    for (uint32_t i = 0; i < steps / 2; i++) {
        char name[32];
        int length = snprintf(name, sizeof name, "h%u", i);
        uint32_t process = served_find_process(served, name, (size_t)length);
        CHECK(leave(ann, process) == GORDIAN_OUTCOME_EXITED);
    }
    CHECK(step_holds(ann, steps + 1));
    char name[32];
    for (uint32_t p = 0; p < served_process_limit(served); p++) {
        if (!gordian_process_name(served->system, p))
            continue;
        CHECK(leave(ann, p) == GORDIAN_OUTCOME_EXITED);
        unsigned char bytes[32];
        give(ann, bytes, wire_put_remove(bytes, sizeof bytes, WIRE_PROCESS, &p, 1));
    }
    CHECK_MSG(account(ann) == empty, "%llu, %llu", (unsigned long long)account(ann),
              (unsigned long long)empty);
    /* resources somebody else removes are given back to who added them */
    struct talker *bob = connect_binary(&world);
    for (uint32_t i = 0; i < LIST; i++) {
        snprintf(name, sizeof name, "q%u", i);
        uint32_t q = served_find_resource(served, name, strlen(name));
        unsigned char bytes[32];
        give(bob, bytes, wire_put_remove(bytes, sizeof bytes, WIRE_RESOURCE, &q, 1));
    }
    CHECK(served->resource_count == 0);
    CHECK(account(ann) == account(bob));
    CHECK(world.service->sessions[ann->client.session].resources == 0);
    world_close(&world);
}

/* In a frame each event is judged for itself, and the others are applied. */
static void test_frames(void)
{
    struct world world;
    world_open(&world, small_limits);
    struct talker *ann = connect_binary(&world);
    begin_holds(ann);
    grow(ann, step_holds);
    struct served *served = system_of(ann);
    gordian_want wants[LIST];
    one_of_each(wants, LIST);
    uint32_t last = served_find_process(served, "h1", 2);
    gordian_event events[4] = {
        {.op = GORDIAN_OP_EXIT, .process = last},
        {.op = GORDIAN_OP_REQUEST, .process = last, .wants = wants, .want_count = LIST},
        {.op = GORDIAN_OP_REQUEST, .process = last, .wants = wants, .want_count = LIST},
        {.op = GORDIAN_OP_RELEASE, .process = last, .resource = 0, .units = 1},
    };
    for (int i = 0; i < 4; i++)
        events[i].to = GORDIAN_NONE;
    /* fill what is left with processes: then only the first request of the frame fits, in what the
     * exit gives back */
    grow(ann, step_process);
    read_all(ann);
    struct wire_frame frame = send_events(ann, 1, events, 4);
    struct wire_results results;
    struct wire_result got[4];
    CHECK(frame.kind == WIRE_RESULTS && wire_get_results(&frame, &results));
    for (int i = 0; i < 4; i++)
        CHECK(wire_next_result(&results, &got[i]));
    CHECK(got[0].outcome == GORDIAN_OUTCOME_EXITED);
    CHECK(got[2].outcome == GORDIAN_OUTCOME_REFUSED && got[2].reason == WIRE_OVER_MEMORY);
    CHECK(got[3].outcome == (got[1].outcome == GORDIAN_OUTCOME_GRANTED ? GORDIAN_OUTCOME_RELEASED
                                                                       : GORDIAN_OUTCOME_REFUSED));
    CHECK(world.service->sessions[ann->client.session].last == 4);
    world_close(&world);
}

/* The form of lines says it in words. */
static void test_lines(void)
{
    struct world world;
    world_open(&world, small_limits);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world);
    bool stopped = false;
    for (int i = 0; i < 200000 && !stopped; i++) {
        read_all(ann);
        say(ann, "process %0250d\n", i);
        stopped = ann->client.out.used > 0;
    }
    CHECK(stopped && heard(ann, "\"code\":8") && heard(ann, "8192 KiB allowed"));
    read_all(ann);
    say(ann, "process %0250d\n", 200000);
    CHECK(heard(ann, "\"code\":8"));
    say(bob, "resource fork\nrequest bob fork\n");
    CHECK(heard(bob, "granted"));
    say(ann, "stats\n");
    CHECK(heard(ann, "\"client_memory\":8"));
    say(ann, "forget %0250d\n", 7);
    CHECK(heard(ann, "\"ok\""));
    read_all(ann);
    say(ann, "resource spoon\n");
    CHECK(ann->client.out.used == 0);
    world_close(&world);
}

/* Whoever does not read what it subscribed to is cut off earlier when it has little left. */
static void test_notices(void)
{
    struct world world;
    world_open(&world, small_limits);
    struct talker *ann = connect_binary(&world), *bob = world_connect(&world);
    grow(ann, step_long_name);
    client_subscribe(&ann->client, WIRE_EVERYTHING, NULL);
    read_all(ann);
    say(bob, "resource fork\n");
    for (int i = 0; i < 20000 && !ann->client.closing; i++) {
        say(bob, "request bob fork\n");
        say(bob, "release bob fork\n");
        read_all(bob);
    }
    CHECK(ann->client.closing && ann->client.out.used < MIB);
    CHECK(world.service->counters.cut_off == 1);
    world_close(&world);
}

/* The limit of all systems holds for events, too, and nothing is half done. */
static void all_limits(struct service_options *options)
{
    options->limits.memory = 12 * MIB;
}

static void test_all(void)
{
    struct world world;
    world_open(&world, all_limits);
    service_set_limits(world.service, &world.options.limits);
    struct talker *ann = connect_binary(&world);
    gordian_want wants[LIST];
    begin_holds(ann);
    one_of_each(wants, LIST);
    uint32_t refused = 0;
    for (uint32_t i = 0; i < 2000 && !refused; i++) {
        char name[32];
        snprintf(name, sizeof name, "h%u", i);
        uint32_t process = add(ann, WIRE_PROCESS, name, 0, NULL, 0);
        if (process == GORDIAN_NONE)
            break;
        gordian_event event = request_of(process, wants, LIST);
        read_all(ann);
        struct wire_frame frame = send_events(ann, 0, &event, 1);
        refused = error_code(&frame);
        const gordian_edge *edges;
        size_t held = 0;
        if (refused)
            CHECK(!served_edges(system_of(ann), SERVED_HELD, process, &edges, &held, NULL) &&
                  held == 0);
    }
    CHECK_MSG(refused == WIRE_QUOTA, "%u", refused);
    CHECK(service_memory_used(world.service) <= 12 * MIB);
    world_close(&world);
}

/* ------------------------------------------------------------------ the books */

static uint64_t added_up(const struct service *service, uint32_t session)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    uint64_t sum = 1024;
    for (uint32_t i = 0; i < service->system_limit; i++) {
        const struct served *served = service->systems[i];
        if (!served)
            continue;
        const struct session *its = &service->sessions[session];
        if (served->opener.session == session && served->opener.serial == its->serial)
            sum += served_system_cost();
        for (uint32_t p = 0; p < served_process_limit(served); p++)
            if (served_process_name(served, p, buffer) && served->processes[p].owner == session)
                sum += served_process_cost(served, p);
        for (uint32_t q = 0; q < served->adder_room; q++) {
            const char *name = served_resource_name(served, q, buffer);
            if (name && served->adders[q].session == session &&
                served->adders[q].serial == its->serial)
                sum += served_resource_cost(served, strlen(name));
        }
    }
    return sum;
}

/* How many resources of several units a process holds. */
static uint32_t count_held(struct served *served, uint32_t process)
{
    const gordian_edge *edges;
    size_t count;
    uint32_t several = 0;
    CHECK(!served_edges(served, SERVED_HELD, process, &edges, &count, NULL));
    for (size_t i = 0; i < count; i++)
        several += served_units(served, edges[i].resource) > 1;
    return several;
}

static void check_books(const struct world *world)
{
    const struct service *service = world->service;
    for (uint32_t i = 0; i < service->session_limit; i++)
        if (service->sessions[i].in_use)
            CHECK_MSG(service->accounts[i] == added_up(service, i), "session %u: %llu, is %llu", i,
                      (unsigned long long)service->accounts[i],
                      (unsigned long long)added_up(service, i));
    for (uint32_t i = 0; i < service->system_limit; i++) {
        struct served *served = service->systems[i];
        for (uint32_t p = 0; served && served->system && p < served_process_limit(served); p++)
            if (gordian_process_name(served->system, p))
                CHECK(served->processes[p].held == count_held(served, p));
    }
}

static void random_event(struct random *random, struct talker *talker)
{
    struct served *served = system_of(talker);
    gordian_want wants[24];
    gordian_event event = {.op = (gordian_op)(1 + random_below(random, 4)),
                           .process = (uint32_t)random_below(random, 14),
                           .resource = GORDIAN_NONE,
                           .to = GORDIAN_NONE};
    if (random_below(random, 8) == 0)
        event.op = GORDIAN_OP_HOLD;
    size_t count = 1 + random_below(random, random_below(random, 6) ? 3 : 24);
    for (size_t i = 0; i < count; i++)
        wants[i] = (gordian_want){1 + random_below(random, 2), (uint32_t)random_below(random, 10)};
    if (event.op == GORDIAN_OP_REQUEST ||
        (served && served->bank && event.op == GORDIAN_OP_RELEASE)) {
        event.wants = wants;
        event.want_count = count;
    } else if (event.op == GORDIAN_OP_RELEASE || event.op == GORDIAN_OP_HOLD) {
        event.resource = wants[0].resource;
        event.units = wants[0].units;
    }
    read_all(talker);
    send_events(talker, 0, &event, 1);
}

static void random_declaration(struct random *random, struct talker *talker)
{
    struct served *served = system_of(talker);
    char name[300];
    gordian_want claims[8];
    size_t count = served && served->bank ? random_below(random, 8) : 0;
    for (size_t i = 0; i < count; i++)
        claims[i] = (gordian_want){1 + random_below(random, 3), (uint32_t)i};
    snprintf(name, sizeof name, "n%0*u", (int)(1 + random_below(random, 200)),
             (unsigned)random_below(random, 15));
    unsigned char bytes[1000];
    struct wire_declaration declaration = {
        .what = (uint8_t)(random_below(random, 2) ? WIRE_PROCESS : WIRE_RESOURCE),
        .name = {name, strlen(name)},
        .claims = claims,
    };
    if (declaration.what == WIRE_RESOURCE)
        declaration.units = 1 + random_below(random, 3);
    else
        declaration.claim_count = count;
    read_all(talker);
    give(talker, bytes, wire_put_declare(bytes, sizeof bytes, &declaration, 1));
}

static void random_system(struct random *random, struct talker *talker)
{
    static const char *const options[] = {"", "recover=youngest", "on-loss=keep"};
    char name[16];
    unsigned char bytes[100];
    snprintf(name, sizeof name, "s%u", (unsigned)random_below(random, 5));
    struct wire_text text = {name, strlen(name)};
    read_all(talker);
    if (random_below(random, 3)) {
        unsigned kind = name[1] % 2 ? 1 : 2;
        const char *chosen = kind == 1 ? options[name[1] % 3] : "";
        struct wire_open open = {
            .name = text, .kind = (uint8_t)kind, .options = {chosen, strlen(chosen)}};
        give(talker, bytes, wire_put_open(bytes, sizeof bytes, &open));
    } else {
        give(talker, bytes, wire_put_name(bytes, sizeof bytes, WIRE_CLOSE, text));
    }
}

static void random_step(struct world *world, struct random *random)
{
    struct talker *talker = &world->talkers[random_below(random, 4)];
    unsigned char bytes[100];
    uint32_t id = (uint32_t)random_below(random, 14);
    switch (random_below(random, 40)) {
    case 0:
        hang_up(talker);
        world_pass(world, 10);
        CHECK(world_connect(world) == talker);
        hello(talker, random_below(random, 2) ? 0 : 1000, (uint8_t)random_below(random, 2));
        break;
    case 1:
        random_system(random, talker);
        break;
    case 2:
        world_pass(world, 300);
        break;
    case 3:
    case 4:
        read_all(talker);
        give(talker, bytes,
             wire_put_remove(bytes, sizeof bytes, random_below(random, 2) ? 1 : 2, &id, 1));
        break;
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
        random_declaration(random, talker);
        break;
    default:
        random_event(random, talker);
        break;
    }
    if (talker->client.closing) {
        hang_up(talker);
        CHECK(world_connect(world) == talker);
        hello(talker, 0, 0);
    }
}

/* After a restart everything is whose it was. */
static void check_owners(const struct world *world, const struct world *again)
{
    const struct service *left = world->service, *right = again->service;
    for (uint32_t i = 0; i < left->session_limit; i++)
        if (left->sessions[i].in_use)
            CHECK(right->sessions[i].in_use &&
                  left->sessions[i].processes == right->sessions[i].processes &&
                  left->sessions[i].resources == right->sessions[i].resources &&
                  left->sessions[i].systems == right->sessions[i].systems);
    for (uint32_t i = 0; i < left->system_limit; i++) {
        const struct served *mine = left->systems[i], *its = service_system(right, i);
        CHECK(!mine == !its);
        if (!mine || !its)
            continue;
        CHECK(quota_opener(left, mine) == quota_opener(right, its));
        for (uint32_t q = 0; q < served_resource_limit(mine); q++)
            CHECK(quota_adder(left, mine, q) == quota_adder(right, its, q));
    }
    check_books(again);
}

static gordian_status load_section(void *context, const char *name, const void *bytes,
                                   size_t length, gordian_error *error)
{
    return service_load_section(context, name, bytes, length, error);
}

static void check_restart(const struct world *world)
{
    struct world replayed, loaded;
    world_open(&replayed, free_limits);
    world_open(&loaded, free_limits);
    world_replay(world, replayed.service, 0, world->record_count);
    check_owners(world, &replayed);
    CHECK(!service_save(world->service, load_section, loaded.service, NULL));
    check_owners(world, &loaded);
    world_close(&replayed);
    world_close(&loaded);
}

static void test_books(void)
{
    struct random random;
    const char *scale = getenv("GORDIAN_TEST_SCALE");
    int rounds = 60 * (scale ? atoi(scale) : 100) / 100 + 1;
    random_seed(&random, 20261);
    for (int round = 0; round < rounds; round++) {
        struct world world;
        world_open(&world, free_limits);
        for (int i = 0; i < 4; i++)
            hello(world_connect(&world), 1000, 0);
        for (int i = 0; i < 800; i++) {
            random_step(&world, &random);
            if (i % 16 == 0)
                check_books(&world);
        }
        check_books(&world);
        check_restart(&world);
        world_close(&world);
    }
}

int main(void)
{
    test_costs();
    test_stopped();
    test_giving_up();
    test_frames();
    test_lines();
    test_notices();
    test_all();
    test_books();
    return test_done();
}
