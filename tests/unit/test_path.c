/*
 * The pointers along long chains (engines/detect/engine/path.h): every one that claims to be true
 * is followed hop by hop, while chains grow, shrink and are broken in the middle.
 *
 *     test_path [SEED]        GORDIAN_TEST_SCALE=PERCENT
 *
 * Outcomes are compared with a bare chase along the graph. A pointer that survives what makes it
 * wrong fails here even if no walk happens to use it.
 */
#include "engines/detect/engine/sparse.h"
#include "engines/detect/system.h"
#include "foundation/base/random.h"
#include "must.h"
#include "test.h"

#include <gordian/gordian.h>

static struct random randomness;

static uint32_t below(uint32_t bound)
{
    return (uint32_t)random_below(&randomness, bound);
}

/* ------------------------------------------------------------------ what must hold */

static const struct path_index *index_of(const gordian_system *system)
{
    return &((const struct sparse *)system->state)->paths;
}

static struct path_tower *tower_at(const struct path_index *index, uint32_t place)
{
    return (struct path_tower *)&index->towers[place];
}

static bool is_closing(const struct rag *graph, uint32_t process)
{
    return graph->processes_more[process].mark == PATH_CLOSING;
}

static uint32_t next_of(const struct rag *graph, uint32_t process)
{
    return graph->holder[graph->wait[process]];
}

static bool is_true(const struct path_index *index, struct path_pointer pointer)
{
    return pointer.tower != NONE && tower_at(index, pointer.tower)->stamp == pointer.stamp;
}

/* Where a pointer on `level` must lead, if it is true; NONE: it must not be. */
static uint32_t right_target(const struct rag *graph, uint32_t owner, uint32_t level)
{
    uint32_t at = owner;
    do {
        if (!rag_waits(graph, at) || is_closing(graph, at))
            return NONE;
        at = next_of(graph, at);
    } while (path_height(at) < level && at != owner);
    return rag_waits(graph, at) && !is_closing(graph, at) && at != owner ? at : NONE;
}

struct tally {
    uint64_t held, wrong; /* pointers that claim to be true */
};

static void check_pointers(const gordian_system *system, struct tally *tally)
{
    const struct path_index *index = index_of(system);
    uint32_t height;
    for (uint32_t place = 0; place < index->tower_used; place += PATH_TOWER_WORDS(height)) {
        const struct path_tower *tower = tower_at(index, place);
        height = path_height(tower->owner);
        for (uint32_t level = 1; level <= height; level++) {
            struct path_pointer pointer = tower->levels[level - 1];
            if (!is_true(index, pointer))
                continue;
            tally->held++;
            tally->wrong += right_target(system_graph(system), tower->owner, level) !=
                            tower_at(index, pointer.tower)->owner;
        }
    }
}

/* What a request for something held means. */
static gordian_outcome chase(const struct rag *graph, uint32_t process, uint32_t resource)
{
    uint32_t at = graph->holder[resource];
    for (uint32_t hops = 0; hops <= graph->process_limit; hops++) {
        if (at == process)
            return GORDIAN_OUTCOME_DEADLOCK;
        if (!rag_waits(graph, at))
            return GORDIAN_OUTCOME_BLOCKED;
        at = next_of(graph, at);
    }
    return GORDIAN_OUTCOME_DOOMED;
}

/* ------------------------------------------------------------------ events */

struct field {
    gordian_system *system;
    uint32_t size;       /* processes, and as many resources: p_i starts with q_i */
    uint32_t tail;       /* a process with a long chain ahead */
    uint64_t wrong;      /* outcomes */
    unsigned close_odds; /* a request may close a cycle one time in so many */
};

static gordian_system *open_field(uint32_t size)
{
    gordian_error error = {0};
    gordian_options options;
    gordian_options_init(&options);
    options.engine = "sparse";
    gordian_system *system = NULL;
    uint32_t id;
    must(gordian_open(&system, &options, &error), &error);
    for (uint32_t i = 0; i < size; i++) {
        must(gordian_add_resource(system, NULL, 1, &id, &error), &error);
        must(gordian_add_process(system, NULL, &id, &error), &error);
        must(gordian_request(system, i, i, 1, NULL, &error), &error);
    }
    return system;
}

static void request(struct field *field, uint32_t process, uint32_t resource)
{
    const struct rag *graph = system_graph(field->system);
    gordian_error error = {0};
    gordian_outcome outcome, expected = graph->holder[resource] == NONE
                                            ? GORDIAN_OUTCOME_GRANTED
                                            : chase(graph, process, resource);
    if (expected == GORDIAN_OUTCOME_DEADLOCK && below(field->close_odds))
        return;
    must(gordian_request(field->system, process, resource, 1, &outcome, &error), &error);
    field->wrong += outcome != expected;
}

/* Somebody on the way ahead of `process`, mostly far along. */
static uint32_t somewhere_ahead(const struct rag *graph, uint32_t process)
{
    for (uint32_t hops = below(graph->process_limit); hops; hops--) {
        uint32_t next = next_of(graph, process);
        if (!rag_waits(graph, next))
            break;
        process = next;
    }
    return process;
}

static void give_up(struct field *field, uint32_t process)
{
    gordian_error error = {0};
    uint32_t wanted = system_graph(field->system)->wait[process];
    must(gordian_cancel(field->system, process, NULL, &error), &error);
    if (below(4))
        request(field, process, wanted);
}

/* Gives something back, often to somebody chosen. */
static void release(struct field *field, uint32_t process)
{
    const struct rag *graph = system_graph(field->system);
    uint32_t held = graph->processes[process].held;
    gordian_error error = {0};
    if (held == NONE)
        return;
    gordian_event event = {.op = GORDIAN_OP_RELEASE,
                           .process = process,
                           .resource = held,
                           .to = below(2) ? NONE : graph->resources[held].queue_tail,
                           .units = 1};
    must(gordian_feed(field->system, &event, NULL, &error), &error);
}

/* One who runs, if a few tries find one. */
static uint32_t someone_running(const struct field *field)
{
    uint32_t process = below(field->size);
    for (int tries = 0; tries < 8 && rag_waits(system_graph(field->system), process); tries++)
        process = below(field->size);
    return process;
}

/* The chain that `tail` begins grows at its far end, or at its near one. */
static void grow(struct field *field, bool far)
{
    const struct rag *graph = system_graph(field->system);
    uint32_t fresh = someone_running(field), end = field->tail;
    for (uint32_t hops = 0; rag_waits(graph, end) && hops < field->size; hops++)
        end = next_of(graph, end);
    uint32_t asks = far ? end : fresh;
    uint32_t held = graph->processes[far ? fresh : field->tail].held;
    if (fresh == end || rag_waits(graph, asks) || held == NONE)
        return;
    request(field, asks, held);
    if (!far)
        field->tail = fresh;
}

static void end_process(struct field *field, uint32_t process)
{
    gordian_error error = {0};
    uint32_t id = process;
    must(gordian_exit(field->system, process, NULL, &error), &error);
    if (below(2)) { /* somebody else comes under the same id */
        must(gordian_remove_process(field->system, process, &error), &error);
        must(gordian_add_process(field->system, NULL, &id, &error), &error);
    }
    CHECK(id == process);
    request(field, id, id);
}

static void random_event(struct field *field)
{
    const struct rag *graph = system_graph(field->system);
    uint32_t process = below(2) ? someone_running(field) : below(field->size);
    if (below(4) == 0)
        end_process(field, process);
    else if (rag_waits(graph, process))
        give_up(field, process);
    else if (below(2))
        release(field, process);
    else
        request(field, process, below(field->size));
}

static void one_event(struct field *field)
{
    const struct rag *graph = system_graph(field->system);
    uint32_t what = below(100);
    if (graph->waiting > field->size - field->size / 8 && below(20) == 0)
        for (uint32_t p = 0; p < field->size; p++)
            if (below(3))
                end_process(field, p);
    if (what < 40)
        grow(field, true);
    else if (what < 70)
        grow(field, false);
    else if (what < 92 && rag_waits(graph, field->tail))
        give_up(field, somewhere_ahead(graph, field->tail));
    else
        random_event(field);
}

static void test_random(uint32_t size, unsigned events, unsigned look_every, unsigned close_odds)
{
    struct field field = {.system = open_field(size), .size = size, .close_odds = close_odds};
    struct tally tally = {0};
    for (unsigned i = 0; i < events; i++) {
        one_event(&field);
        if (i % look_every == 0)
            check_pointers(field.system, &tally);
        REQUIRE(tally.wrong == 0); /* a walk over it might never end */
    }
    CHECK_MSG(field.wrong == 0, "%u processes: %llu outcomes", size,
              (unsigned long long)field.wrong);
    CHECK_MSG(tally.held > events / look_every / 10, "%u processes: only %llu pointers looked at",
              size, (unsigned long long)tally.held);
    gordian_close(field.system);
}

/* ------------------------------------------------------------------ stamps that are used up */

/* As if every tower had moved on so often that its next stamp is one that old pointers still
 * have. */
static void age(const gordian_system *system)
{
    const struct path_index *index = index_of(system);
    uint32_t height, place;
    for (place = 0; place < index->tower_used; place += PATH_TOWER_WORDS(height)) {
        struct path_tower *tower = tower_at(index, place);
        height = path_height(tower->owner);
        for (uint32_t level = 0; level < height; level++)
            tower->levels[level].stamp = is_true(index, tower->levels[level]) ? 1 : 0;
    }
    for (place = 0; place < index->tower_used; place += PATH_TOWER_WORDS(height)) {
        struct path_tower *tower = tower_at(index, place);
        height = path_height(tower->owner);
        tower->stamp = UINT32_MAX;
        for (uint32_t level = 0; level < height; level++)
            if (tower->levels[level].stamp == 1)
                tower->levels[level].stamp = UINT32_MAX;
    }
}

static void test_stamps(unsigned rounds)
{
    struct field field = {.system = open_field(500), .size = 500, .close_odds = 10};
    struct tally tally = {0};
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < 300; i++)
            one_event(&field);
        age(field.system);
        for (unsigned i = 0; i < 100; i++) {
            one_event(&field);
            check_pointers(field.system, &tally);
            REQUIRE(tally.wrong == 0);
        }
    }
    CHECK(field.wrong == 0);
    gordian_close(field.system);
}

int main(int count, char **arguments)
{
    unsigned percent = test_scale();
    random_seed(&randomness, count > 1 ? strtoull(arguments[1], NULL, 10) : 1);
    test_random(40, 2000 * percent, 1, 20);
    test_random(300, 1500 * percent, 1, 200);
    test_random(300, 1500 * percent, 1, 1);
    test_random(1500, 3000 * percent, 16, 5000);
    test_random(6000, 5000 * percent, 400, 20000);
    test_stamps(2 * percent);
    return test_done();
}
