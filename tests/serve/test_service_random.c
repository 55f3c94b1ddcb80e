/*
 * Random clients in both forms against the service, and three things that must hold:
 *
 * - The journal, read by a few lines of code here and fed to plain systems, gives every answer the
 *   clients were given, and ends in the same state.
 * - A new service that applies the journal again is in the same state; and so is one that loads a
 *   snapshot taken on the way and applies the rest.
 * - When any allocation fails, what the service has done is what its journal says.
 */
#include "foundation/base/random.h"
#include "service_world.h"

#define STEPS     6000
#define PROCESSES 24
#define RESOURCES 10
#define NAMES     (PROCESSES + 8)

static struct random dice;

static uint64_t below(uint64_t bound)
{
    return random_below(&dice, bound);
}

/* ------------------------------------------------------------------ a plain reading of the journal
 */

struct model {
    gordian_system *system;
    gordian_bank *bank;
    gordian_answer answer;
    uint8_t outcomes[4096]; /* of the events since catch_up was called, the last 4096 */
    uint32_t served[4096];
    size_t count;
};

static void model_event(struct model *model, const gordian_event *event)
{
    if (model->system) {
        gordian_result result;
        bool odd = event->wants && event->op != GORDIAN_OP_REQUEST &&
                   event->op != GORDIAN_OP_WAIT && event->op != GORDIAN_OP_AWAIT;
        if (odd)
            result = (gordian_result){.outcome = GORDIAN_OUTCOME_REFUSED};
        else
            CHECK(!gordian_feed(model->system, event, &result, NULL));
        model->outcomes[model->count] = result.outcome;
        model->served[model->count++] = result.served_count;
        return;
    }
    gordian_want one = {event->units, event->resource};
    const gordian_want *wants = event->wants ? event->wants : &one;
    size_t count = event->wants ? event->want_count : 1;
    gordian_answer *answer = &model->answer;
    if (event->op == GORDIAN_OP_AWAIT || event->op == GORDIAN_OP_ACT) {
        model->outcomes[model->count] = GORDIAN_VERDICT_REFUSED;
        model->served[model->count++] = 0;
        return;
    }
    switch (event->op) {
    case GORDIAN_OP_RELEASE:
        CHECK(!gordian_bank_release(model->bank, event->process, wants, count, answer, NULL));
        break;
    case GORDIAN_OP_CANCEL:
        CHECK(!gordian_bank_cancel(model->bank, event->process, answer, NULL));
        break;
    case GORDIAN_OP_EXIT:
        CHECK(!gordian_bank_exit(model->bank, event->process, answer, NULL));
        break;
    default:
        CHECK(!gordian_bank_request(model->bank, event->process, wants, count, answer, NULL));
        break;
    }
    model->outcomes[model->count] = (uint8_t)answer->verdict;
    model->served[model->count++] = (uint32_t)answer->served_count;
}

static void model_declare(struct model *model, const struct wire_declaration *declaration)
{
    char name[GORDIAN_NAME_MAX + 1] = "";
    memcpy(name, declaration->name.text, declaration->name.length);
    size_t length = declaration->name.length;
    uint32_t id;
    if (model->system) {
        if (declaration->what == WIRE_RESOURCE &&
            gordian_find_resource(model->system, name, length) == GORDIAN_NONE)
            CHECK(!gordian_add_resource(model->system, name, declaration->units, &id, NULL));
        if (declaration->what == WIRE_PROCESS &&
            gordian_find_process(model->system, name, length) == GORDIAN_NONE)
            CHECK(!gordian_add_process(model->system, name, &id, NULL));
        return;
    }
    if (declaration->what == WIRE_RESOURCE) {
        id = gordian_bank_find_resource(model->bank, name, length);
        if (id == GORDIAN_NONE)
            CHECK(!gordian_bank_add_resource(model->bank, name, declaration->units, &id, NULL));
        else
            CHECK(!gordian_bank_set_units(model->bank, id, declaration->units, NULL, NULL));
        return;
    }
    id = gordian_bank_find_process(model->bank, name, length);
    if (id == GORDIAN_NONE)
        CHECK(!gordian_bank_add_process(model->bank, name, declaration->claims,
                                        declaration->claim_count, &id, NULL, NULL));
    else
        CHECK(!gordian_bank_set_claims(model->bank, id, declaration->claims,
                                       declaration->claim_count, NULL, NULL));
}

/* models[slot]; records of other systems are not for us. */
static void model_record(struct model *models, size_t count, const struct record *record)
{
    static gordian_want wants[1 << 16];
    uint32_t slot = wire_load32(record->bytes + 1);
    struct wire_frame frame = {.body = record->bytes + 9, .size = record->length - 9};
    unsigned kind = record->bytes[0];
    if (slot >= count || (!models[slot].system && !models[slot].bank))
        return;
    struct model *model = &models[slot];
    if (kind == 6) {
        struct wire_events events;
        gordian_event event;
        bool bad = false;
        CHECK(wire_get_events(&frame, &events));
        while (events.list.left && !bad) {
            CHECK(wire_next_events(&events.list, &event, 1, wants, 1 << 16, &bad) == 1);
            model->count %= sizeof model->outcomes;
            model_event(model, &event);
        }
        CHECK(!bad);
    } else if (kind == 5) {
        struct wire_list list;
        struct wire_declaration declaration;
        CHECK(wire_get_declare(&frame, &list));
        while (wire_next_declaration(&list, &declaration, wants, 1 << 16))
            model_declare(model, &declaration);
    } else if (kind == 7) {
        struct wire_list ids;
        uint8_t what;
        uint32_t id;
        CHECK(wire_get_remove(&frame, &what, &ids));
        while (wire_next_id(&ids, &id))
            CHECK(!(what == WIRE_PROCESS ? gordian_remove_process(model->system, id, NULL)
                    : model->system      ? gordian_remove_resource(model->system, id, NULL)
                                         : gordian_bank_remove_resource(model->bank, id, NULL)));
    }
}

/* ------------------------------------------------------------------ clients */

struct trial {
    struct world world;
    struct model models[3]; /* default, a bank; the third one recovers by itself: only replayed */
    size_t modelled;        /* records */
    struct sender {
        struct talker *talker;
        bool lines;
        uint64_t number;
        uint8_t session[WIRE_SESSION_SIZE];
        unsigned system;
    } senders[6];
    uint32_t processes[3][PROCESSES], resources[3][RESOURCES];
};

static const char *const system_names[] = {"default", "bank", "auto"};

/* A frame may be several records: it is applied in slices. */
static void catch_up(struct trial *trial)
{
    trial->models[0].count = trial->models[1].count = 0;
    for (; trial->modelled < trial->world.record_count; trial->modelled++)
        model_record(trial->models, 2, &trial->world.records[trial->modelled]);
}

static void use_system(struct trial *trial, struct sender *sender, unsigned which)
{
    unsigned char bytes[64];
    const char *name = system_names[which];
    if (sender->lines)
        say(sender->talker, "use %s\n", name);
    else
        give(sender->talker, bytes,
             wire_put_name(bytes, sizeof bytes, WIRE_USE, (struct wire_text){name, strlen(name)}));
    forget(sender->talker);
    sender->system = which;
    (void)trial;
}

static void connect_sender(struct trial *trial, struct sender *sender, bool resume)
{
    sender->talker = world_connect(&trial->world);
    if (sender->lines) {
        say(sender->talker, "hello lease=1 keep=%s\n", below(4) ? "no" : "yes");
        CHECK(heard(sender->talker, "session"));
    } else {
        struct wire_frame frame = hello_as(sender->talker, resume ? sender->session : NULL, 1000,
                                           below(4) ? 0 : WIRE_KEEP, "");
        struct wire_welcome welcome = {0};
        if (frame.kind != WIRE_WELCOME)
            frame = hello_as(sender->talker, NULL, 1000, 0, "");
        CHECK(frame.kind == WIRE_WELCOME && wire_get_welcome(&frame, &welcome));
        memcpy(sender->session, welcome.session, sizeof sender->session);
        sender->number = welcome.last;
    }
    use_system(trial, sender, (unsigned)below(3));
}

static void trial_open(struct trial *trial)
{
    *trial = (struct trial){0};
    world_open(&trial->world, NULL);
    gordian_bank_options options;
    gordian_bank_options_init(&options);
    options.queue = true;
    options.patience = 2;
    CHECK(!gordian_open(&trial->models[0].system, NULL, NULL));
    CHECK(!gordian_bank_open(&trial->models[1].bank, &options, NULL));
    gordian_answer_init(&trial->models[1].answer, GORDIAN_DETAIL_VERDICT);
    struct talker *first = world_connect(&trial->world);
    say(first, "open bank avoid patience=2\nopen auto detect recover=youngest\n");
    for (unsigned i = 0; i < 3; i++) {
        say(first, "use %s\n", system_names[i]);
        for (unsigned j = 0; j < RESOURCES; j++)
            say(first, "resource q%u %u\n", j, i == 1 ? 6 : j % 4 == 3 ? 3 : 1);
    }
    hang_up(first);
    for (size_t i = 0; i < 6; i++) {
        trial->senders[i].lines = i >= 4;
        connect_sender(trial, &trial->senders[i], false);
    }
    catch_up(trial);
}

static void trial_close(struct trial *trial)
{
    gordian_close(trial->models[0].system);
    gordian_answer_free(&trial->models[1].answer);
    gordian_bank_close(trial->models[1].bank);
    world_close(&trial->world);
}

/* ------------------------------------------------------------------ what they send */

static struct served *served_of(struct trial *trial, unsigned which)
{
    return service_find(trial->world.service, system_names[which], strlen(system_names[which]));
}

static gordian_event random_event(struct trial *trial, unsigned which, gordian_want *wants)
{
    static const gordian_op ops[] = {GORDIAN_OP_REQUEST, GORDIAN_OP_REQUEST, GORDIAN_OP_REQUEST,
                                     GORDIAN_OP_RELEASE, GORDIAN_OP_RELEASE, GORDIAN_OP_CANCEL,
                                     GORDIAN_OP_EXIT,    GORDIAN_OP_HOLD,    GORDIAN_OP_WAIT,
                                     GORDIAN_OP_AWAIT,   GORDIAN_OP_ACT,     GORDIAN_OP_ACT};
    struct served *served = served_of(trial, which);
    gordian_event event = {.op = ops[below(sizeof ops / sizeof *ops)],
                           .process = (uint32_t)below(PROCESSES),
                           .resource = GORDIAN_NONE,
                           .to = GORDIAN_NONE};
    if (event.op == GORDIAN_OP_EXIT && below(3))
        event.op = GORDIAN_OP_RELEASE;
    if (event.op == GORDIAN_OP_ACT && below(2))
        event.to = (uint32_t)below(PROCESSES);
    if (event.op == GORDIAN_OP_AWAIT) {
        event.want_count = 1 + below(3);
        event.units = 1 + below(event.want_count);
        event.wants = wants;
        for (size_t i = 0; i < event.want_count; i++)
            wants[i] = (gordian_want){1, (uint32_t)below(PROCESSES)};
    }
    if (event.op == GORDIAN_OP_CANCEL || event.op == GORDIAN_OP_EXIT ||
        event.op == GORDIAN_OP_AWAIT || event.op == GORDIAN_OP_ACT)
        return event;
    const gordian_edge *edges;
    size_t count = 0;
    event.resource = (uint32_t)below(RESOURCES);
    event.units = below(20) ? 1 : 1 + below(3);
    if (event.op == GORDIAN_OP_RELEASE && below(5) &&
        !served_edges(served, SERVED_HELD, event.process, &edges, &count, NULL) && count > 0)
        event.resource = edges[below(count)].resource;
    if (event.op != GORDIAN_OP_RELEASE && event.op != GORDIAN_OP_HOLD && below(6) == 0) {
        event.want_count = 2 + below(2);
        for (size_t i = 0; i < event.want_count; i++)
            wants[i] = (gordian_want){1 + below(2), (uint32_t)below(RESOURCES)};
        event.wants = wants;
        event.resource = GORDIAN_NONE;
        event.units = 0;
    }
    return event;
}

/* Events as a frame; every answer must be the plain system's. */
static void send_frame(struct trial *trial, struct sender *sender)
{
    static gordian_event events[600];
    static gordian_want wants[600 * 3];
    size_t count = 1 + below(below(10) ? 8 : 600), old = 0;
    for (size_t i = 0; i < count; i++)
        events[i] = random_event(trial, sender->system, wants + 3 * i);
    uint64_t first = below(8) ? sender->number + 1 : 0;
    if (first > 1 && below(6) == 0) { /* send some of them again */
        old = 1 + below(first - 1 < count ? first - 1 : count);
        first -= old;
    }
    catch_up(trial);
    struct wire_frame frame = send_events(sender->talker, first, events, count);
    struct wire_results results;
    struct wire_result result;
    REQUIRE(frame.kind == WIRE_RESULTS && wire_get_results(&frame, &results));
    CHECK(results.count == count);
    catch_up(trial);
    const struct model *model = sender->system < 2 ? &trial->models[sender->system] : NULL;
    for (size_t i = 0; i < count && wire_next_result(&results, &result); i++) {
        uint32_t id;
        if (i < old)
            CHECK(result.outcome == WIRE_DUPLICATE);
        else if (model)
            CHECK_MSG(result.outcome == model->outcomes[i - old] &&
                          result.served == model->served[i - old],
                      "event %zu of %zu: %u, not %u", i, count, result.outcome,
                      model->outcomes[i - old]);
        for (uint32_t j = 0; j < result.served; j++)
            CHECK(wire_next_served(&results, &id));
    }
    if (first)
        sender->number = first + count - 1;
}

static void send_declare(struct trial *trial, struct sender *sender)
{
    unsigned char bytes[2000];
    struct wire_declaration list[4];
    gordian_want claims[4][RESOURCES];
    char names[4][16];
    size_t count = 1 + below(4);
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "p%u", (unsigned)below(NAMES));
        list[i] = (struct wire_declaration){.what = WIRE_PROCESS,
                                            .name = {names[i], strlen(names[i])},
                                            .claims = claims[i],
                                            .claim_count = below(RESOURCES)};
        for (size_t j = 0; j < list[i].claim_count; j++)
            claims[i][j] = (gordian_want){1 + below(6), (uint32_t)j};
    }
    forget(sender->talker);
    give(sender->talker, bytes, wire_put_declare(bytes, sizeof bytes, list, count));
    struct wire_frame frame = next_frame(sender->talker);
    while (frame.kind == WIRE_GRANTED) /* a bank may serve somebody when a claim gets smaller */
        frame = next_frame(sender->talker);
    struct wire_list ids;
    uint32_t id;
    REQUIRE(frame.kind == WIRE_DECLARED && wire_get_declared(&frame, &ids) && ids.left == count);
    for (size_t i = 0; wire_next_id(&ids, &id); i++)
        CHECK(id == GORDIAN_NONE || served_find_process(served_of(trial, sender->system), names[i],
                                                        strlen(names[i])) == id);
}

static void send_line(struct trial *trial, struct sender *sender)
{
    static const char *const verbs[] = {"request", "request", "release", "release", "cancel",
                                        "exit",    "hold",    "wait",    "await",   "act"};
    const char *verb = verbs[below(10)];
    if (strcmp(verb, "await") == 0 && below(2)) {
        say(sender->talker, "await p%u %u of p%u p%u\n", (unsigned)below(NAMES),
            1 + (unsigned)below(2), (unsigned)below(NAMES), (unsigned)below(NAMES));
        CHECK(heard(sender->talker, "\"result\"") || heard(sender->talker, "\"error\""));
        return;
    }
    if (strcmp(verb, "await") == 0 || strcmp(verb, "act") == 0) {
        say(sender->talker, "%s p%u%sp%u\n", verb, (unsigned)below(NAMES),
            verb[1] == 'w' ? " " : " for ", (unsigned)below(NAMES));
        CHECK(heard(sender->talker, "\"result\"") || heard(sender->talker, "\"error\""));
        return;
    }
    bool bare = strcmp(verb, "cancel") == 0 || strcmp(verb, "exit") == 0;
    if (bare)
        say(sender->talker, "%s p%u\n", verb, (unsigned)below(NAMES));
    else
        say(sender->talker, "%s p%u q%u=%u\n", verb, (unsigned)below(NAMES),
            (unsigned)below(RESOURCES + 1), 1 + (unsigned)below(2));
    CHECK_MSG(heard(sender->talker, "\"result\"") || heard(sender->talker, "\"error\""), "%s: %s",
              verb, hears(sender->talker));
    (void)trial;
}

static void send_other(struct trial *trial, struct sender *sender)
{
    switch (below(5)) {
    case 0:
        say(sender->talker, "forget p%u\n", (unsigned)below(NAMES));
        break;
    case 1:
        if (sender->system == 1)
            say(sender->talker, "process p%u q0=%u q1=2\n", (unsigned)below(NAMES),
                (unsigned)below(6));
        else
            say(sender->talker, "process p%u priority=%u\n", (unsigned)below(NAMES),
                (unsigned)below(9));
        break;
    case 2:
        say(sender->talker, "what-if p%u q%u\n", (unsigned)below(NAMES),
            (unsigned)below(RESOURCES));
        break;
    case 3:
        say(sender->talker, "state p%u\n", (unsigned)below(NAMES));
        break;
    default:
        say(sender->talker, "subscribe %s\n", below(2) ? "mine" : "none");
        break;
    }
    (void)trial;
}

static void step(struct trial *trial)
{
    struct sender *sender = &trial->senders[below(6)];
    trial->world.now += below(5);
    trial->world.steady += below(5);
    unsigned what = (unsigned)below(100);
    if (what < 2) { /* lost, and back: before its lease is over, or after */
        hang_up(sender->talker);
        if (below(2))
            world_pass(&trial->world, below(2) ? 10 : 2000);
        connect_sender(trial, sender, below(2));
        for (size_t i = 0; i < 6; i++) /* those that were silent for too long */
            if (trial->senders[i].talker->client.closing) {
                hang_up(trial->senders[i].talker);
                connect_sender(trial, &trial->senders[i], false);
            }
    } else if (what < 5) {
        use_system(trial, sender, (unsigned)below(3));
    } else if (sender->lines) {
        if (what < 80)
            send_line(trial, sender);
        else
            send_other(trial, sender);
    } else if (what < 75) {
        send_frame(trial, sender);
    } else {
        send_declare(trial, sender);
    }
    for (size_t i = 0; i < 6; i++) { /* nobody reads it all: keep buffers small */
        struct talker *talker = trial->senders[i].talker;
        talker->client.out.used = talker->read = 0;
    }
    catch_up(trial);
}

/* ------------------------------------------------------------------ comparing */

/* What the plain system says of a process and of a resource. */
static bool is_on_cycle(struct served *served, uint32_t process)
{
    gordian_witness witness;
    return !gordian_explain(served->system, process, &witness, NULL) && witness.cycle;
}

/* An incident is open if and only if somebody can never run again, and each has one of them. */
static void compare_incidents(struct served *served)
{
    const uint32_t *dead;
    size_t count;
    REQUIRE(!gordian_deadlocked(served->system, &dead, &count, NULL));
    CHECK_MSG((served->incident_count > 0) == (count > 0), "%u incidents, %zu deadlocked",
              served->incident_count, count);
    for (uint32_t i = 0; i < served->incident_limit; i++) {
        const struct open_incident *open = &served->incidents[i];
        bool stands = open->id == 0 || (open->cycle && is_on_cycle(served, open->requester));
        for (uint32_t j = 0; j < open->member_count; j++)
            stands |=
                open->members[j] != GORDIAN_NONE && served_is_deadlocked(served, open->members[j]);
        CHECK(stands);
    }
}

static void compare_model(struct trial *trial)
{
    struct served *served = served_of(trial, 0);
    const gordian_system *plain = trial->models[0].system;
    CHECK(gordian_process_limit(plain) == served_process_limit(served));
    for (uint32_t p = 0; p < gordian_process_limit(plain); p++) {
        const char *name = gordian_process_name(plain, p),
                   *its = gordian_process_name(served->system, p);
        CHECK(!name == !its && (!name || strcmp(name, its) == 0));
        if (!name)
            continue;
        gordian_edge mine[64], other[64];
        size_t count = gordian_pending(plain, p, mine, 64);
        CHECK(count == gordian_pending(served->system, p, other, 64));
        for (size_t i = 0; i < count; i++)
            CHECK(mine[i].resource == other[i].resource && mine[i].units == other[i].units);
        CHECK((served->processes[p].since != 0) == (count > 0));
        count = gordian_holdings(plain, p, mine, 64);
        CHECK(count == gordian_holdings(served->system, p, other, 64));
    }
    for (uint32_t q = 0; q < gordian_resource_limit(plain); q++) {
        gordian_edge mine[64], other[64];
        CHECK(gordian_free_units(plain, q) == served_free_units(served, q));
        size_t count = gordian_waiters(plain, q, mine, 64);
        CHECK(count == gordian_waiters(served->system, q, other, 64));
        for (size_t i = 0; i < count; i++)
            CHECK(mine[i].process == other[i].process);
    }
    compare_incidents(served);
    compare_incidents(served_of(trial, 2));
    gordian_bank *bank = trial->models[1].bank;
    served = served_of(trial, 1);
    CHECK(gordian_bank_process_limit(bank) == served_process_limit(served));
    for (uint32_t p = 0; p < gordian_bank_process_limit(bank); p++)
        for (uint32_t q = 0; q < RESOURCES; q++)
            CHECK(gordian_bank_held(bank, p, q) == gordian_bank_held(served->bank, p, q));
}

struct sections {
    struct section {
        char name[40];
        void *bytes;
        size_t length;
    } list[8];
    size_t count, at; /* `at`: after so many records */
};

static gordian_status put_section(void *context, const char *name, const void *bytes, size_t length,
                                  gordian_error *error)
{
    struct sections *sections = context;
    struct section *section = &sections->list[sections->count++];
    (void)error;
    snprintf(section->name, sizeof section->name, "%s", name);
    section->bytes = malloc(length ? length : 1);
    REQUIRE(section->bytes);
    memcpy(section->bytes, bytes, length);
    section->length = length;
    return GORDIAN_OK;
}

static void take_snapshot(struct trial *trial, struct sections *sections)
{
    gordian_error error = {0};
    for (size_t i = 0; i < sections->count; i++)
        free(sections->list[i].bytes);
    *sections = (struct sections){.at = trial->world.record_count};
    gordian_status status = service_save(trial->world.service, put_section, sections, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
}

/* A new service from the journal alone, and one from the snapshot and the rest. */
static void compare_replays(struct trial *trial, const struct sections *sections)
{
    struct world other;
    world_open(&other, NULL);
    world_replay(&trial->world, other.service, 0, trial->world.record_count);
    compare_dumps(trial->world.service, other.service, "replayed");
    CHECK(other.record_count == 0 && other.note_count == 0); /* it writes and tells nothing */
    world_close(&other);
    world_open(&other, NULL);
    for (size_t i = 0; i < sections->count; i++) {
        gordian_error error = {0};
        const struct section *section = &sections->list[i];
        gordian_status status = service_load_section(other.service, section->name, section->bytes,
                                                     section->length, &error);
        CHECK_MSG(status == GORDIAN_OK, "%s: %s", section->name, error.message);
    }
    world_replay(&trial->world, other.service, sections->at, trial->world.record_count);
    compare_dumps(trial->world.service, other.service, "from a snapshot");
    world_close(&other);
}

static void random_clients(uint64_t seed, unsigned long steps)
{
    static struct trial trial;
    struct sections sections = {0};
    random_seed(&dice, seed);
    trial_open(&trial);
    unsigned long third = steps / 3 + 1;
    for (unsigned long i = 0; i < steps && !test_failed; i++) {
        step(&trial);
        if (i % third == third / 2)
            take_snapshot(&trial, &sections);
        if (i % third == third - 1) {
            compare_model(&trial);
            compare_replays(&trial, &sections);
        }
    }
    compare_model(&trial);
    compare_replays(&trial, &sections);
    CHECK(served_of(&trial, 0)->counters.incidents > 0 || steps < 1000);
    CHECK(served_of(&trial, 2)->counters.recovered > 0 || steps < 1000);
    if (test_failed)
        fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < sections.count; i++)
        free(sections.list[i].bytes);
    trial_close(&trial);
}

/* ------------------------------------------------------------------ allocations that fail */

struct failing {
    unsigned long count, fails; /* number `fails` fails; 0: none */
};

static void *failing_resize(void *context, void *pointer, size_t size)
{
    struct failing *failing = context;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    if (failing->fails && ++failing->count == failing->fails)
        return NULL;
    return realloc(pointer, size);
}

static struct failing failing;
static const gordian_allocator failing_allocator = {failing_resize, &failing};

static void with_failing(struct service_options *options)
{
    options->allocator = &failing_allocator;
}

static void use_it(struct world *world)
{
    struct talker *ann = world_connect(world), *bob = world_connect(world);
    give(bob, WIRE_START, WIRE_START_SIZE);
    hello_as(bob, NULL, 1000, 0, "");
    say(ann, "resource a\nresource b\nresource c 4\nopen bank avoid\nresource r 5\n"
             "process x r=3\nprocess y r=5\nrequest x r=2\nrequest y r=3\n"
             "use default\nrequest p a\nrequest q b\nrequest p b c=2\nrequest q a\n"
             "request s a b c\nopen auto detect recover=oldest\nresource d\nresource e\n"
             "request m d\nrequest n e\nrequest m e\nrequest n d\nuse default\n");
    gordian_event events[3] = {
        {.op = GORDIAN_OP_REQUEST, .process = 0, .resource = 2, .units = 1, .to = GORDIAN_NONE},
        {.op = GORDIAN_OP_EXIT, .process = 1, .resource = GORDIAN_NONE, .to = GORDIAN_NONE},
        {.op = GORDIAN_OP_CANCEL, .process = 0, .resource = GORDIAN_NONE, .to = GORDIAN_NONE}};
    send_events(bob, 1, events, 3);
    send_events(bob, 2, events, 3);
    hang_up(ann);
    world_pass(world, 1);
    hang_up(bob);
    world_pass(world, 5000);
}

/* Whatever fails: the state is what the journal says, and nothing leaks (ASan). */
static void every_allocation_fails(void)
{
    unsigned long failed = 0;
    dump_without_incidents = true;
    for (unsigned long n = 1;; n++) {
        static struct world world, other;
        failing = (struct failing){0};
        world_open(&world, with_failing);
        failing.fails = n;
        use_it(&world);
        bool all = failing.count < n;
        failing.fails = 0;
        world_pass(&world, 5000);
        world_open(&other, NULL);
        world_replay(&world, other.service, 0, world.record_count);
        compare_dumps(world.service, other.service, "after a failed allocation");
        if (test_failed)
            fprintf(stderr, "allocation %lu\n", n);
        world_close(&other);
        world_close(&world);
        if (all || test_failed)
            break;
        failed++;
    }
    CHECK(failed > 20);
    /* and when the service is opened */
    for (unsigned long n = 1; n < 1000; n++) {
        struct service_options options;
        struct service *service;
        service_options_init(&options);
        options.allocator = &failing_allocator;
        failing = (struct failing){.fails = n};
        gordian_status status = service_new(&service, &options, NULL);
        CHECK(status == GORDIAN_OK || (status == GORDIAN_STATUS_MEMORY && !service));
        service_free(service);
        if (status == GORDIAN_OK)
            break;
    }
    failing.fails = 0;
    dump_without_incidents = false;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        random_clients(strtoull(argv[1], NULL, 10), STEPS);
        return test_done();
    }
    every_allocation_fails();
    for (uint64_t seed = 1; seed <= 6 && !test_failed; seed++)
        random_clients(seed, test_scaled(STEPS) + 10);
    return test_done();
}
