/* How it was: random events with labels, and what was remembered of many moments, against what the
 * store tells of them, while the service runs, after it was started again, and when it is not kept
 * any more. With GORDIAN_TEST_POSTGRES: the same there. */
#include "foundation/base/clock.h"
#include "store_world.h"

#include "service/serve/core/point_in_time.h"
#include "service/serve/core/state.h"
#include "service/wire/wire.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define MOMENTS   400
#define NAMES     12
#define HOUR      3600000u
#define EVERY     60 /* moments between snapshots */
#define RESTARTED 3  /* times in between */

struct moment {
    uint64_t at;
    char *trace, *json; /* how it was; NULL: there was no such system */
};

static struct world world;
static struct store *store;
static struct service *service;
static struct client client;
static struct moment moments[MOMENTS];
static unsigned moment_count;
static uint64_t now;
static struct random random_source;

/* The clock of the wall is so many seconds ahead. */
static _Atomic int64_t clock_jump;

int clock_gettime(clockid_t which, struct timespec *time)
{
    int result = (int)syscall(SYS_clock_gettime, which, time);
    if (result == 0 && which == CLOCK_REALTIME)
        time->tv_sec += clock_jump;
    return result;
}

/* Later than the snapshots' own clock, so that the records' times count. */
static uint64_t an_hour_ahead(void)
{
    return wall_ms() + HOUR;
}

/* ---- a service on the store */

static uint64_t read_clock(void *context)
{
    (void)context;
    return now;
}

static uint64_t put_record(void *context, uint64_t at, const void *bytes, size_t length)
{
    return store_append(context, at, bytes, length);
}

static gordian_status put_incident(void *context, const struct incident *incident)
{
    return store_incident(context, incident);
}

static uint64_t last_record(void *context)
{
    return store_last(context);
}

static gordian_status take_section(void *context, const char *name, const void *bytes,
                                   size_t length, gordian_error *error)
{
    (void)context;
    return service_load_section(service, name, bytes, length, error);
}

static gordian_status take_record(void *context, uint64_t number, uint64_t at, const void *bytes,
                                  size_t length, gordian_error *error)
{
    (void)context;
    return service_replay(service, number, at, bytes, length, error);
}

static void no_wake(struct client *who)
{
    (void)who;
}

static void open_service(void)
{
    static const struct store_loader loader = {take_section, take_record};
    struct service_options options;
    gordian_error error = {0};
    gordian_status status = store_open(&store, &world.options, NULL, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    REQUIRE(status == GORDIAN_OK);
    service_options_init(&options);
    options.journal = (struct service_journal){
        .context = store, .append = put_record, .incident = put_incident, .last = last_record};
    options.clock = read_clock;
    REQUIRE(service_new(&service, &options, &error) == GORDIAN_OK);
    status = store_load(store, &loader, NULL, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    service_resume(service);
    client = (struct client){.wake = no_wake};
    REQUIRE(service_attach(service, &client, SERVICE_WRITE, &error) == GORDIAN_OK);
}

static void keep_all(void)
{
    store_seal(store);
    for (unsigned i = 0; store_committed(store) < store_last(store) && i < 100000; i++) {
        store_poll(store);
        usleep(100);
    }
    REQUIRE(store_committed(store) >= store_last(store));
}

static void close_service(void)
{
    service_detach(&client);
    keep_all();
    service_free(service);
    store_close(store);
}

static void feed(const char *format, ...)
{
    char line[1000];
    size_t wanted, used = 0;
    va_list arguments;
    va_start(arguments, format);
    size_t length = (size_t)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    while (used < length)
        used += service_take(&client, line + used, length - used, 1u << 20, &wanted);
    client.out.used = 0;
}

static gordian_status put_section(void *context, const char *name, const void *bytes, size_t length,
                                  gordian_error *error)
{
    return store_snapshot_section(context, name, bytes, length, error);
}

/* One, and it is written. */
static void take_snapshot(void)
{
    gordian_error error = {0};
    struct store_figures old, fresh;
    store_figures(store, &old);
    REQUIRE(store_snapshot_begin(store, &error) == GORDIAN_OK);
    REQUIRE(service_save(service, put_section, store, &error) == GORDIAN_OK);
    store_snapshot_end(store);
    for (unsigned i = 0; i < 100000; i++) {
        store_poll(store);
        store_figures(store, &fresh);
        if (fresh.snapshots > old.snapshots)
            return;
        usleep(100);
    }
    CHECK_MSG(false, "%s", "a snapshot was not written");
}

/* ---- moments */

static unsigned below(unsigned limit)
{
    return (unsigned)random_below(&random_source, limit);
}

static void do_something(void)
{
    unsigned p = below(NAMES), q = below(NAMES);
    switch (below(10)) {
    case 0:
        feed("exit p%u\n", p);
        break;
    case 1:
        feed("cancel p%u\n", p);
        break;
    case 2:
        feed("forget p%u\n", p);
        break;
    case 3:
        feed("label process p%u team:t%u env:e%u\n", p, below(3), below(2));
        break;
    case 4:
        feed("label %s env: size:%u\n", below(2) ? "resource q1" : "resource q2", below(9));
        break;
    case 5:
        feed("release p%u q%u\n", p, q);
        break;
    case 6:
        feed("request p%u q%u q%u\n", p, q, below(NAMES));
        break;
    default:
        feed("request p%u q%u=%u\n", p, q, 1 + below(2));
        break;
    }
}

static char *text_of(struct service *of, bool json_wanted)
{
    struct output out;
    struct json json;
    gordian_error error = {0};
    struct served *served = service_find(of, "default", 7);
    REQUIRE(output_open(&out, -1));
    if (!served)
        return NULL;
    json_begin(&json, &out);
    gordian_status status = json_wanted ? state_json(of, served, NULL, &json, &error)
                                        : state_trace(served, NULL, &out, &error);
    CHECK(status == GORDIAN_OK);
    output_char(&out, '\0');
    char *copy = strdup(out.buffer);
    output_close(&out);
    return copy;
}

static void remember(void)
{
    struct moment *moment = &moments[moment_count++];
    moment->at = now;
    moment->trace = text_of(service, false);
    moment->json = text_of(service, true);
    keep_all();
    now += 1 + below(20);
}

static bool is_same(struct past *past, const struct moment *moment)
{
    struct service *then;
    gordian_error error = {0};
    gordian_status status = point_in_time_seek(past, moment->at, &then, &error);
    CHECK_MSG(status == GORDIAN_OK, "at %llu: %s", (unsigned long long)moment->at, error.message);
    if (status != GORDIAN_OK)
        return false;
    char *trace = text_of(then, false), *json = text_of(then, true);
    bool same = strcmp(trace, moment->trace) == 0 && strcmp(json, moment->json) == 0;
    CHECK_MSG(same, "at %llu:\n%s\n%s\ninstead of\n%s\n%s", (unsigned long long)moment->at, trace,
              json, moment->trace, moment->json);
    free(trace);
    free(json);
    return same;
}

/* Some of them in any order, and some one after the other. */
static void check_moments(unsigned count)
{
    struct past *past;
    gordian_error error = {0};
    REQUIRE(point_in_time_open(&past, &world.options, NULL, &error) == GORDIAN_OK);
    unsigned at = below(moment_count);
    for (unsigned i = 0; i < count; i++) {
        if (!is_same(past, &moments[at]))
            break;
        at = below(3) ? (at + 1) % moment_count : below(moment_count);
    }
    point_in_time_close(past);
}

static void play(unsigned count)
{
    for (unsigned i = 0; i < count && moment_count < MOMENTS; i++) {
        for (unsigned j = below(6); j > 0; j--) {
            do_something();
            now += below(2);
        }
        remember();
        if (moment_count % EVERY == 0)
            take_snapshot();
    }
}

/* A long time ago, and a moment before what is kept. */
static bool is_gone(uint64_t at)
{
    struct past *past;
    struct service *then;
    gordian_error error = {0};
    REQUIRE(point_in_time_open(&past, &world.options, NULL, &error) == GORDIAN_OK);
    gordian_status status = point_in_time_seek(past, at, &then, &error);
    CHECK_MSG(status == GORDIAN_OK || status == GORDIAN_STATUS_END, "%s", error.message);
    CHECK_MSG(status == GORDIAN_OK || strstr(error.message, "before the start of the history"),
              "%s", error.message);
    point_in_time_close(past);
    return status == GORDIAN_STATUS_END;
}

static uint64_t begins(void)
{
    gordian_error error = {0};
    uint64_t at = 0;
    CHECK(store_past_begins(&world.options, &at, &error) == GORDIAN_OK);
    return at;
}

/* Two more snapshots. */
static void trim_none(void)
{
    for (int i = 0; i < 2; i++) {
        feed("request p1 q1\nrelease p1 q1\n");
        keep_all();
        take_snapshot();
        now += 1000;
    }
}

/* And what they make superfluous goes. */
static void trim(void)
{
    uint64_t first = begins();
    trim_none();
    for (unsigned i = 0; i < 100000 && begins() == first; i++)
        usleep(1000);
    CHECK(begins() != first);
}

static void begin_world(void)
{
    world_make(&world);
    moment_count = 0;
    open_service();
    feed("hello lease=86400\n");
    for (unsigned i = 0; i < NAMES; i++)
        feed("resource q%u %u\n", i, 1 + i % 3);
    keep_all();
    now++;
}

static void forget_moments(void)
{
    for (unsigned i = 0; i < moment_count; i++) {
        free(moments[i].trace);
        free(moments[i].json);
    }
    moment_count = 0;
}

static void end_world(void)
{
    close_service();
    forget_moments();
    world_remove(&world);
}

/* Every moment is there, as long as it is to be kept. */
static void check_kept(void)
{
    const unsigned asked = test_is_short() ? 10 : 30;
    now = an_hour_ahead();
    begin_world();
    world.options.keep_history_ms = 24 * (uint64_t)HOUR;
    close_service();
    open_service();
    feed("hello lease=86400\n");
    for (unsigned i = 0; i <= RESTARTED; i++) {
        play(MOMENTS / (RESTARTED + 1) / (test_is_short() ? 2 : 1));
        check_moments(asked);
        close_service();
        check_moments(asked);
        open_service();
        feed("hello lease=86400\n");
        check_moments(asked);
    }
    CHECK(!is_gone(moments[0].at));
    end_world();
}

/* Started again so many minutes later. */
static void wait_minutes(int64_t minutes)
{
    close_service();
    clock_jump += 60 * minutes;
    now = wall_ms() > now ? wall_ms() : now + 1;
    open_service();
    feed("hello lease=86400\n");
}

/* With an hour to be kept, what is older than that goes, and what is younger stays. */
static void check_age(void)
{
    now = wall_ms();
    begin_world();
    world.options.keep_history_ms = HOUR;
    wait_minutes(1);
    play(EVERY - 10);
    uint64_t old = moments[0].at;
    take_snapshot();
    wait_minutes(40);
    forget_moments();
    play(EVERY - 10);
    trim_none();
    CHECK(!is_gone(old)); /* not old enough */
    wait_minutes(40);
    trim_none();
    for (unsigned i = 0; i < 10000 && !is_gone(old); i++)
        usleep(10000);
    CHECK(is_gone(old));
    CHECK(!is_gone(moments[0].at));
    check_moments(30);
    end_world();
    clock_jump = 0;
}

/* What recovery does not need goes, if nothing else is said or it is too much; and that is told. */
static void check_gone(uint64_t keep_ms, uint64_t bytes)
{
    now = an_hour_ahead();
    begin_world();
    close_service();
    world.options.keep_history_ms = keep_ms;
    world.options.history_bytes = bytes;
    open_service();
    feed("hello lease=86400\n");
    play(EVERY - 10);
    check_moments(10);
    trim();
    CHECK(is_gone(moments[0].at));
    forget_moments();
    play(20);
    check_moments(10);
    CHECK(!is_gone(moments[0].at));
    end_world();
}

int main(void)
{
    random_seed(&random_source, 20261117);
    check_kept();
    check_gone(0, 0);
    check_age();
    if (!getenv("GORDIAN_TEST_POSTGRES")) /* there nobody counts bytes */
        check_gone(24 * (uint64_t)HOUR, 1);
    return test_done();
}
