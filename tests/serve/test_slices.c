/* A frame that takes long is applied in slices, between which the service does other
 * things. A slice ends, at the latest, after 256 deadlocks that began or ended: so a frame of some
 * hundreds of them has several, whatever the machine does. */
#include "service_world.h"

#define PAIRS 400 /* a request that closes a deadlock, and its end */
#define HEAD  3
#define COUNT (HEAD + 2 * PAIRS)

struct storm {
    struct world world;
    struct talker *ann, *bob;
    uint8_t session[WIRE_SESSION_SIZE]; /* ann's */
    uint32_t a, b, c, p, q, r, o;       /* resources; processes; r is bob's, o is ann's */
    unsigned char *bytes;               /* the frame */
    size_t size;
};

static gordian_event event_of(gordian_op op, uint32_t process, uint32_t resource)
{
    return (gordian_event){
        .op = op, .process = process, .resource = resource, .units = 1, .to = GORDIAN_NONE};
}

static void put_storm(struct storm *storm, uint64_t first)
{
    static gordian_event events[COUNT];
    events[0] = event_of(GORDIAN_OP_REQUEST, storm->p, storm->a);
    events[1] = event_of(GORDIAN_OP_REQUEST, storm->q, storm->b);
    events[2] = event_of(GORDIAN_OP_REQUEST, storm->p, storm->b);
    for (size_t i = HEAD; i < COUNT; i += 2) {
        events[i] = event_of(GORDIAN_OP_REQUEST, storm->q, storm->a);
        events[i + 1] = event_of(GORDIAN_OP_CANCEL, storm->q, GORDIAN_NONE);
    }
    storm->size = wire_put_events(NULL, 0, first, events, COUNT);
    storm->bytes = malloc(storm->size);
    REQUIRE(storm->bytes);
    wire_put_events(storm->bytes, storm->size, first, events, COUNT);
}

static void storm_open(struct storm *storm, uint8_t flags, uint64_t first)
{
    *storm = (struct storm){0};
    world_open(&storm->world, NULL);
    storm->ann = world_connect(&storm->world);
    storm->bob = world_connect(&storm->world);
    struct wire_frame frame = hello_as(storm->ann, NULL, 60000, flags, "");
    struct wire_welcome welcome = {0};
    if (flags & WIRE_FENCES)
        frame = next_frame(storm->ann);
    CHECK(frame.kind == WIRE_WELCOME && wire_get_welcome(&frame, &welcome));
    memcpy(storm->session, welcome.session, sizeof storm->session);
    hello(storm->bob, 60000, 0);
    storm->a = declare(storm->ann, WIRE_RESOURCE, "a", 1);
    storm->b = declare(storm->ann, WIRE_RESOURCE, "b", 1);
    storm->c = declare(storm->bob, WIRE_RESOURCE, "c", 1);
    storm->p = declare(storm->ann, WIRE_PROCESS, "p", 0);
    storm->q = declare(storm->ann, WIRE_PROCESS, "q", 0);
    storm->o = declare(storm->ann, WIRE_PROCESS, "o", 0);
    storm->r = declare(storm->bob, WIRE_PROCESS, "r", 0);
    put_storm(storm, first);
}

/* What a journal has brings the same state back. */
static void storm_close(struct storm *storm)
{
    struct world replayed;
    world_open(&replayed, NULL);
    world_replay(&storm->world, replayed.service, 0, storm->world.record_count);
    compare_dumps(storm->world.service, replayed.service, "what was replayed");
    CHECK(storm->world.service->fence == replayed.service->fence);
    world_close(&replayed);
    world_close(&storm->world);
    free(storm->bytes);
}

/* One slice of the frame: true if there is more of it. */
static bool take_slice(struct storm *storm, struct talker *ann)
{
    size_t wanted, used = service_take(&ann->client, storm->bytes, storm->size, SIZE_MAX, &wanted);
    CHECK(used == storm->size || (used == 0 && wanted == 0));
    return used == 0;
}

/* The results of the frame: of the first `known` events duplicates, then those of a storm, and from
 * `taken` on not taken. */
static void check_results(const struct wire_frame *frame, size_t known, size_t taken)
{
    static const uint8_t head[HEAD] = {GORDIAN_OUTCOME_GRANTED, GORDIAN_OUTCOME_GRANTED,
                                       GORDIAN_OUTCOME_BLOCKED};
    struct wire_results results;
    struct wire_result result;
    REQUIRE(frame->kind == WIRE_RESULTS && wire_get_results(frame, &results));
    CHECK(results.count == COUNT);
    for (size_t i = 0; i < COUNT && wire_next_result(&results, &result); i++) {
        uint8_t expected = i < known        ? WIRE_DUPLICATE
                           : i >= taken     ? WIRE_NOT_TAKEN
                           : i < HEAD       ? head[i]
                           : (i - HEAD) % 2 ? GORDIAN_OUTCOME_CANCELLED
                                            : GORDIAN_OUTCOME_DEADLOCK;
        CHECK_MSG(result.outcome == expected, "event %zu: %u, not %u", i, result.outcome, expected);
    }
}

/* Others are served between two slices; the frame has one answer, behind all of them. */
static void others_go_between(uint64_t first)
{
    struct storm storm;
    storm_open(&storm, 0, first);
    forget(storm.ann);
    CHECK(take_slice(&storm, storm.ann));
    uint64_t before = storm.world.service->systems[0]->seq;
    CHECK(before > 0 && before < COUNT);
    struct wire_frame none = next_frame(storm.ann);
    CHECK(none.kind == 0);
    CHECK(service_backpressure_ms(&storm.ann->client) == 0);
    CHECK(send_event(storm.bob, 1, GORDIAN_OP_REQUEST, storm.r, storm.c) ==
          GORDIAN_OUTCOME_GRANTED);
    CHECK(storm.world.service->systems[0]->seq == before + 1);
    world_pass(&storm.world, 100);
    int slices = 1;
    while (take_slice(&storm, storm.ann))
        slices++;
    CHECK(slices >= 3);
    struct wire_frame frame = next_frame(storm.ann);
    check_results(&frame, 0, COUNT);
    CHECK(storm.world.service->systems[0]->seq == COUNT + 1);
    storm_close(&storm);
}

/* ann's o waits by the first event; bob's event between two slices serves it. That notice must come
 * behind the result that it waits. */
static void notices_come_behind(void)
{
    struct storm storm;
    storm_open(&storm, 0, 1);
    CHECK(send_event(storm.bob, 1, GORDIAN_OP_REQUEST, storm.r, storm.c) ==
          GORDIAN_OUTCOME_GRANTED);
    /* the frame's first event is another here: o requests what r holds */
    gordian_event wait = event_of(GORDIAN_OP_REQUEST, storm.o, storm.c);
    unsigned char one[64];
    size_t size = wire_put_events(one, sizeof one, 1, &wait, 1);
    size_t head = WIRE_HEAD_SIZE + 12;
    memcpy(storm.bytes + head, one + head, size - head);
    forget(storm.ann);
    forget(storm.bob);
    CHECK(take_slice(&storm, storm.ann));
    CHECK(send_event(storm.bob, 2, GORDIAN_OP_RELEASE, storm.r, storm.c) ==
          GORDIAN_OUTCOME_RELEASED);
    while (take_slice(&storm, storm.ann))
        ;
    struct wire_frame results = next_frame(storm.ann), granted = next_frame(storm.ann);
    CHECK(results.kind == WIRE_RESULTS && granted.kind == WIRE_GRANTED);
    storm_close(&storm);
}

static uint64_t fence_of(const struct wire_frame *frame)
{
    uint64_t fence = 0;
    CHECK(frame->kind == WIRE_FENCE && wire_get_u64(frame, &fence));
    return fence;
}

/* Fencing tokens of a frame have no gap, and a later grant has a greater one: with somebody else's
 * event in between the rest is to be sent again. */
static void fences_have_no_gap(bool between)
{
    struct storm storm;
    storm_open(&storm, WIRE_FENCES, 1);
    forget(storm.ann);
    CHECK(take_slice(&storm, storm.ann));
    uint64_t applied = storm.world.service->systems[0]->seq, newest = storm.world.service->fence;
    world_pass(&storm.world, 100);
    if (between)
        CHECK(send_event(storm.bob, 1, GORDIAN_OP_REQUEST, storm.r, storm.c) ==
              GORDIAN_OUTCOME_GRANTED);
    while (take_slice(&storm, storm.ann))
        ;
    struct wire_frame token = next_frame(storm.ann), results = next_frame(storm.ann);
    uint64_t first = fence_of(&token);
    CHECK(newest == first + applied - 1);
    check_results(&results, 0, between ? (size_t)applied : COUNT);
    if (!between)
        CHECK(storm.world.service->fence == first + COUNT - 1);
    if (between) { /* sent again: the rest, with greater tokens */
        while (take_slice(&storm, storm.ann))
            ;
        token = next_frame(storm.ann), results = next_frame(storm.ann);
        CHECK(fence_of(&token) > newest + 1);
        check_results(&results, (size_t)applied, COUNT);
        CHECK(storm.world.service->systems[0]->seq == COUNT + 1);
    }
    storm_close(&storm);
}

/* While the journal cannot be written the rest waits, and then goes on. */
static void journal_is_waited_for(void)
{
    struct storm storm;
    storm_open(&storm, 0, 0);
    forget(storm.ann);
    CHECK(take_slice(&storm, storm.ann));
    uint64_t before = storm.world.service->systems[0]->seq;
    storm.world.broken = true;
    CHECK(take_slice(&storm, storm.ann));
    CHECK(storm.world.service->systems[0]->seq == before);
    CHECK(service_backpressure_ms(&storm.ann->client) > 0);
    storm.world.broken = false;
    while (take_slice(&storm, storm.ann))
        ;
    struct wire_frame frame = next_frame(storm.ann);
    check_results(&frame, 0, COUNT);
    storm_close(&storm);
}

/* The connection is lost between two slices: the session goes on in another, and what was applied
 * is not applied again. */
static void nothing_is_applied_twice(bool lost)
{
    struct storm storm;
    storm_open(&storm, 0, 1);
    CHECK(take_slice(&storm, storm.ann));
    uint64_t applied = storm.world.service->systems[0]->seq;
    if (lost)
        hang_up(storm.ann);
    struct talker *again = world_connect(&storm.world);
    struct wire_frame frame = hello_as(again, storm.session, 60000, 0, "");
    struct wire_welcome welcome = {0};
    CHECK(frame.kind == WIRE_WELCOME && wire_get_welcome(&frame, &welcome));
    CHECK(welcome.last == applied);
    while (take_slice(&storm, again))
        ;
    frame = next_frame(again);
    check_results(&frame, (size_t)applied, COUNT);
    CHECK(storm.world.service->systems[0]->seq == COUNT);
    storm_close(&storm);
}

#define NAMES 60000 /* of one frame; they take far longer than a slice may */

#define REMOVED (3 * NAMES) /* by one frame */

static char names[NAMES][8];

/* The frame is now one of declarations; the first letter of all names is given. */
static void put_names(struct storm *storm, uint8_t what, char letter)
{
    struct wire_declaration *list = calloc(NAMES, sizeof *list);
    REQUIRE(list);
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof names[i], "%c%x", letter, i);
        list[i] = (struct wire_declaration){
            .what = what, .name = {names[i], strlen(names[i])}, .units = what == WIRE_RESOURCE};
    }
    free(storm->bytes);
    storm->size = wire_put_declare(NULL, 0, list, NAMES);
    storm->bytes = malloc(storm->size);
    REQUIRE(storm->bytes && storm->size <= WIRE_FRAME_MAX);
    wire_put_declare(storm->bytes, storm->size, list, NAMES);
    free(list);
}

static uint32_t find_name(const struct storm *storm, uint8_t what, const char *name)
{
    const struct served *served = storm->world.service->systems[0];
    return what == WIRE_PROCESS ? served_find_process(served, name, strlen(name))
                                : served_find_resource(served, name, strlen(name));
}

/* The same for declarations: one answer with all ids, and what was declared is there. */
static void declarations_yield(void)
{
    struct storm storm;
    storm_open(&storm, 0, 0);
    put_names(&storm, WIRE_RESOURCE, 'n');
    forget(storm.ann);
    CHECK(take_slice(&storm, storm.ann));
    CHECK(send_event(storm.bob, 1, GORDIAN_OP_REQUEST, storm.r, storm.c) ==
          GORDIAN_OUTCOME_GRANTED);
    while (take_slice(&storm, storm.ann))
        ;
    struct wire_frame frame = next_frame(storm.ann);
    struct wire_list ids;
    uint32_t id, count = 0;
    bool good = frame.kind == WIRE_DECLARED && wire_get_declared(&frame, &ids);
    for (; good && wire_next_id(&ids, &id); count++)
        good = id == find_name(&storm, WIRE_RESOURCE, names[count]);
    CHECK(good && count == NAMES);
    storm_close(&storm);
}

/* Declares everything, and makes the frame the one that removes it; returns the last id. */
static uint32_t removal_open(struct storm *storm, uint8_t what)
{
    uint32_t *ids = calloc(REMOVED, sizeof *ids);
    REQUIRE(ids);
    storm_open(storm, 0, 0);
    for (unsigned i = 0; i < REMOVED; i++) {
        if (i % NAMES == 0) {
            put_names(storm, what, (char)('n' + i / NAMES));
            while (take_slice(storm, storm->ann))
                ;
        }
        ids[i] = find_name(storm, what, names[i % NAMES]);
    }
    uint32_t last = ids[REMOVED - 1];
    storm->size = wire_put_remove(storm->bytes, storm->size, what, ids, REMOVED);
    REQUIRE(storm->size <= WIRE_FRAME_MAX);
    free(ids);
    forget(storm->ann);
    return last;
}

static uint32_t count_names(const struct storm *storm, uint8_t what)
{
    const struct served *served = storm->world.service->systems[0];
    return what == WIRE_PROCESS ? served->process_count : served->resource_count;
}

/* Takes slices until something is removed; how many they were. */
static unsigned slices_until_removal(struct storm *storm, uint8_t what)
{
    unsigned slices = 0;
    uint32_t before = count_names(storm, what);
    while (count_names(storm, what) == before && take_slice(storm, storm->ann))
        slices++;
    return slices;
}

/* The same for removals: others are served between two slices, and there is one answer. */
static void removals_yield(uint8_t what)
{
    struct storm storm;
    removal_open(&storm, what);
    uint32_t before = count_names(&storm, what);
    CHECK(slices_until_removal(&storm, what) > 0);
    CHECK(count_names(&storm, what) > before - REMOVED);
    CHECK(send_event(storm.bob, 1, GORDIAN_OP_REQUEST, storm.r, storm.c) ==
          GORDIAN_OUTCOME_GRANTED);
    while (take_slice(&storm, storm.ann))
        CHECK(next_frame(storm.ann).kind == 0);
    CHECK(next_frame(storm.ann).kind == WIRE_DONE);
    CHECK(count_names(&storm, what) == before - REMOVED);
    storm_close(&storm);
}

/* One that is in use when the frame comes: nothing is removed. One that another client uses after
 * the first ones have gone: it fails there. */
static void used_name_stays(bool from_the_start)
{
    struct storm storm;
    uint32_t last = removal_open(&storm, WIRE_RESOURCE);
    uint32_t before = count_names(&storm, WIRE_RESOURCE);
    if (!from_the_start)
        slices_until_removal(&storm, WIRE_RESOURCE);
    CHECK(send_event(storm.bob, 1, GORDIAN_OP_REQUEST, storm.r, last) == GORDIAN_OUTCOME_GRANTED);
    while (take_slice(&storm, storm.ann))
        ;
    struct wire_frame frame = next_frame(storm.ann);
    CHECK_MSG(error_code(&frame) == WIRE_IN_USE, "%u", error_code(&frame));
    CHECK(count_names(&storm, WIRE_RESOURCE) == (from_the_start ? before : before - REMOVED + 1));
    CHECK(find_name(&storm, WIRE_RESOURCE, names[NAMES - 1]) == last);
    storm_close(&storm);
}

int main(void)
{
    declarations_yield();
    removals_yield(WIRE_RESOURCE);
    removals_yield(WIRE_PROCESS);
    used_name_stays(true);
    used_name_stays(false);
    others_go_between(0);
    others_go_between(1);
    notices_come_behind();
    fences_have_no_gap(false);
    fences_have_no_gap(true);
    journal_is_waited_for();
    nothing_is_applied_twice(true);
    nothing_is_applied_twice(false);
    return test_done();
}
