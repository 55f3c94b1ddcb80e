/* A served system: the ring of recent changes, read forwards and backwards, is the truth; what is
 * waited for is what the records say; configurations as text. */
#include "foundation/base/random.h"
#include "service/serve/system/system.h"
#include "service/wire/wire.h"
#include "test.h"

#include <string.h>

#define PROCESSES 12
#define RESOURCES 6
#define THINGS    40 /* resources, and awaits */
#define ROUNDS    300
#define EVENTS    60

static struct random dice;

static uint64_t below(uint64_t bound)
{
    return random_below(&dice, bound);
}

/* Who holds and who waits for how much. */
struct picture {
    int64_t held[PROCESSES][THINGS], wanted[PROCESSES][THINGS];
};

static void add_side(struct served *served, enum served_side side, uint32_t process,
                     int64_t row[THINGS])
{
    const gordian_edge *edges;
    size_t count;
    CHECK(!served_edges(served, side, process, &edges, &count, NULL));
    for (size_t i = 0; i < count; i++) {
        REQUIRE(edges[i].resource < THINGS);
        if (side == SERVED_WANTED)
            row[edges[i].resource] += (int64_t)served_still_needed(served, &edges[i]);
        else if (!served_is_own_act(served, &edges[i]))
            row[edges[i].resource] += (int64_t)edges[i].units;
    }
}

static struct picture picture_of(struct served *served)
{
    struct picture picture = {0};
    char name[GORDIAN_NAME_MAX + 1];
    for (uint32_t p = 0; p < PROCESSES; p++)
        if (served_process_name(served, p, name)) {
            add_side(served, SERVED_HELD, p, picture.held[p]);
            add_side(served, SERVED_WANTED, p, picture.wanted[p]);
        }
    return picture;
}

/* Does what an item says, or takes it back. */
static void change(struct picture *picture, const struct recent_item *item, bool back)
{
    int64_t units = back ? -(int64_t)item->units : (int64_t)item->units;
    switch (item->kind) {
    case RECENT_ADD_HOLD:
        picture->held[item->process][item->resource] += units;
        break;
    case RECENT_DROP_HOLD:
        picture->held[item->process][item->resource] -= units;
        break;
    case RECENT_ADD_WAIT:
        picture->wanted[item->process][item->resource] += units;
        break;
    case RECENT_DROP_WAIT:
        picture->wanted[item->process][item->resource] -= units;
        break;
    default:
        break;
    }
}

static bool is_sound(const struct picture *picture)
{
    for (size_t p = 0; p < PROCESSES; p++)
        for (size_t q = 0; q < THINGS; q++)
            if (picture->held[p][q] < 0 || picture->wanted[p][q] < 0)
                return false;
    return true;
}

static gordian_event any_event(bool bank, gordian_want *wants)
{
    gordian_event event = {.op = (gordian_op)(1 + below(8)),
                           .process = (uint32_t)below(PROCESSES + 1),
                           .resource = GORDIAN_NONE,
                           .to = GORDIAN_NONE};
    if (event.op == GORDIAN_OP_ACT && below(2))
        event.to = (uint32_t)below(PROCESSES);
    if (event.op == GORDIAN_OP_AWAIT) {
        event.units = below(4);
        event.want_count = below(4);
        event.wants = event.want_count ? wants : NULL;
        for (size_t i = 0; i < event.want_count; i++) /* itself, and the same one twice, too */
            wants[i] = (gordian_want){1, (uint32_t)below(PROCESSES)};
    }
    if (event.op == GORDIAN_OP_ACT || event.op == GORDIAN_OP_AWAIT)
        return event;
    if (event.op == GORDIAN_OP_EXIT && (bank || below(3)))
        event.op = GORDIAN_OP_REQUEST;
    if (event.op == GORDIAN_OP_CANCEL || event.op == GORDIAN_OP_EXIT)
        return event;
    event.resource = (uint32_t)below(RESOURCES);
    event.units = 1 + below(2);
    if (event.op == GORDIAN_OP_RELEASE && !bank && below(4) == 0)
        event.to = (uint32_t)below(PROCESSES);
    if (event.op != GORDIAN_OP_HOLD && (bank || event.op != GORDIAN_OP_RELEASE) && below(3) == 0) {
        event.want_count = 2 + below(2); /* the same one twice, too */
        for (size_t i = 0; i < event.want_count; i++)
            wants[i] = (gordian_want){1, (uint32_t)below(RESOURCES)};
        event.wants = wants;
        event.resource = GORDIAN_NONE;
        event.units = 0;
    }
    return event;
}

static struct served *open_system(enum served_kind kind, const char *options)
{
    struct served_config config;
    struct served *served;
    char name[16];
    uint32_t id;
    gordian_want claims[RESOURCES];
    served_config_init(&config, kind);
    REQUIRE(!served_config_parse(&config, options, strlen(options), NULL));
    REQUIRE(!served_open(&served, "test", 4, &config, NULL, NULL));
    for (uint32_t q = 0; q < RESOURCES; q++) {
        snprintf(name, sizeof name, "q%u", q);
        CHECK(!served_declare_resource(served, name, strlen(name), 1 + q % 4, &id, NULL) &&
              id == q);
    }
    for (uint32_t p = 0; p < PROCESSES; p++) {
        size_t count = 0;
        for (uint32_t q = 0; q < RESOURCES && kind == SERVED_AVOID; q++)
            if (below(3))
                claims[count++] = (gordian_want){1 + below(1 + q % 4), q};
        snprintf(name, sizeof name, "p%u", p);
        CHECK(!served_declare_process(served, name, strlen(name), claims, count, &id, NULL) &&
              id == p);
    }
    return served;
}

/* Feeds some events, ending whoever must go. */
static void feed_some(struct served *served, uint64_t now)
{
    gordian_event events[EVENTS];
    gordian_want wants[EVENTS][3];
    struct served_result results[EVENTS];
    size_t count = 1 + below(EVENTS);
    for (size_t i = 0; i < count; i++)
        events[i] = any_event(served->bank != NULL, wants[i]);
    for (size_t done = 0, taken; done < count; done += taken) {
        REQUIRE(!served_feed(served, events + done, count - done, now, results, &taken, NULL));
        REQUIRE(taken > 0);
        for (size_t i = 0; i + 1 < taken; i++) /* it stops at a deadlock */
            CHECK(!served_is_stuck(served, results[i].outcome));
        gordian_victim victim;
        while (served->config.recover && served_is_stuck(served, results[taken - 1].outcome) &&
               served_recover(served, events[done + taken - 1].process, now, false, &victim,
                              NULL) == GORDIAN_OK)
            ;
    }
}

/* How many others can act for the awaits of a process. */
static uint32_t count_acts(struct served *served, uint32_t process)
{
    const struct served_process *record = &served->processes[process];
    const gordian_want *wants = record->want_count == 1 ? &record->want : record->wants;
    uint32_t acts = 0;
    for (uint32_t i = 0; i < record->want_count; i++) {
        const gordian_edge *edges;
        size_t count;
        CHECK(record->awaits == served_is_await(served, wants[i].resource));
        CHECK(!served_edges(served, SERVED_HOLDERS, wants[i].resource, &edges, &count, NULL));
        for (size_t j = 0; record->awaits && j < count; j++)
            acts += edges[j].process != process;
    }
    return acts;
}

static void check_records(struct served *served)
{
    uint32_t waiting = 0;
    for (uint32_t p = 0; p < PROCESSES; p++) {
        const struct served_process *record = &served->processes[p];
        CHECK((record->since != 0) == served_is_waiting(served, p));
        CHECK((record->want_count > 0) == (record->since != 0));
        CHECK(record->acts == count_acts(served, p));
        waiting += record->since != 0;
    }
    CHECK(waiting == served->waiting);
}

/* How many were served what they waited for. */
static uint64_t changes_are_true(enum served_kind kind, const char *options, unsigned long rounds)
{
    struct served *served = open_system(kind, options);
    for (unsigned long i = 0; i < rounds; i++) {
        struct picture before = picture_of(served);
        uint64_t start = served->recent.written;
        feed_some(served, 1000 + i);
        struct picture after = picture_of(served);
        check_records(served);
        if (start < recent_first(&served->recent))
            continue; /* more than the ring holds */
        struct picture now = before;
        for (uint64_t n = start; n < served->recent.written; n++)
            change(&now, recent_at(&served->recent, n), false);
        CHECK(memcmp(&now, &after, sizeof now) == 0);
        for (uint64_t n = served->recent.written; n-- > start;) {
            change(&now, recent_at(&served->recent, n), true);
            if (recent_at(&served->recent, n)->kind == RECENT_EVENT)
                CHECK(is_sound(&now));
        }
        CHECK(memcmp(&now, &before, sizeof now) == 0);
    }
    uint64_t count = served->counters.served;
    served_close(served);
    return count;
}

static void configurations(void)
{
    static const struct {
        enum served_kind kind;
        const char *text, *whole; /* NULL: refused */
    } cases[] = {
        {SERVED_DETECT, "", "engine=auto on-loss=drop recover=none"},
        {SERVED_DETECT, "  recover=oldest\ton-loss=keep ",
         "engine=auto on-loss=keep recover=oldest"},
        {SERVED_DETECT, "engine=sparse engine=reduce", "engine=reduce on-loss=drop recover=none"},
        {SERVED_AVOID, "queue=no patience=0", "engine=auto on-loss=drop queue=no patience=0"},
        {SERVED_DETECT, "queue=no", NULL},
        {SERVED_AVOID, "recover=none", NULL},
        {SERVED_DETECT, "recover=", NULL},
        {SERVED_DETECT, "recover=somebody-else-entirely", NULL},
        {SERVED_AVOID, "patience=-1", NULL},
        {SERVED_AVOID, "patience=4294967296", NULL},
        {SERVED_DETECT, "engine=", NULL},
        {SERVED_DETECT, "engine=a-name-that-is-too-long", NULL},
        {SERVED_DETECT, "on-loss=lose", NULL},
        {SERVED_DETECT, "nothing", NULL},
        {SERVED_DETECT, "other=1", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct served_config config, again;
        char text[SERVED_CONFIG_TEXT_MAX];
        gordian_error error = {0};
        served_config_init(&config, cases[i].kind);
        again = config;
        gordian_status status =
            served_config_parse(&config, cases[i].text, strlen(cases[i].text), &error);
        CHECK_MSG((status == GORDIAN_OK) == (cases[i].whole != NULL), "'%s'", cases[i].text);
        if (status != GORDIAN_OK) {
            CHECK(error.column > 0 && served_config_equal(&config, &again));
            continue;
        }
        served_config_text(&config, text);
        CHECK_MSG(strcmp(text, cases[i].whole) == 0, "'%s'", text);
        CHECK(!served_config_parse(&again, text, strlen(text), NULL));
        CHECK(served_config_equal(&config, &again));
    }
}

static void rings_grow(void)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct recent recent = {0};
    recent_put(&recent, (struct recent_item){.kind = RECENT_OTHER}); /* no room yet: only counted */
    for (uint64_t i = 1; i < 3 * RECENT_MAX; i++) {
        recent_grow(&recent, &memory);
        recent_put(&recent, (struct recent_item){.kind = RECENT_EVENT, .seq = i});
        if (i % 5000 == 0)
            for (uint64_t n = recent_first(&recent) + (i < RECENT_MAX); n < recent.written; n += 97)
                if (recent_at(&recent, n)->seq != n)
                    CHECK(recent_at(&recent, n)->seq == n);
    }
    CHECK(recent.room == RECENT_MAX && recent.written - recent_first(&recent) == RECENT_MAX);
    recent_free(&recent, &memory);
}

int main(void)
{
    unsigned long rounds = test_scaled(ROUNDS);
    random_seed(&dice, 4711);
    configurations();
    rings_grow();
    uint64_t free = 0, recovered = 0, banks = 0;
    for (int i = 0; i < 8; i++) {
        free += changes_are_true(SERVED_DETECT, "", rounds);
        recovered += changes_are_true(SERVED_DETECT, "recover=youngest", rounds);
        banks += changes_are_true(SERVED_AVOID, "patience=3", rounds);
        CHECK(changes_are_true(SERVED_AVOID, "queue=no", rounds) == 0);
    }
    /* nobody may be served in one of them: everybody can soon wait; but not in all */
    CHECK((free > 0 && recovered > 0 && banks > 0) || rounds < 50);
    return test_done();
}
