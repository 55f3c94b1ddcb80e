/* The state machine of a watched server, with its query budget and reconnection. */
#include "sources/watch/graph/source.h"

#include "foundation/base/error.h"
#include "sources/watch/graph/inspected_process.h"
#include "sources/watch/servers/dial.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define MILLISECOND   UINT64_C(1000000)
#define BACKOFF_LEAST (100 * MILLISECOND)
#define BACKOFF_MOST  (10000 * MILLISECOND)
#define CREDIT_MOST   ((int64_t)(100 * MILLISECOND))
#define CREDIT_SHARE  100 /* the credit grows by one part in this many of the time */
#define PAUSE_MOST    (3000 * MILLISECOND)
#define PAUSE_TIMES   10 /* a longer pause: this many times the duration of the query */

struct source *source_new(const struct source_pace *pace, const gordian_allocator *memory)
{
    struct source *source = memory_zeroed(memory, sizeof *source);
    if (!source)
        return NULL;
    source->pace = pace;
    source->memory = *memory;
    source->credit_ns = CREDIT_MOST;
    scan_open(&source->scan, memory);
    scan_open(&source->next, memory);
    if (output_open(&source->sql, OUTPUT_MEMORY) && output_open(&source->order_sql, OUTPUT_MEMORY))
        return source;
    source_close(source);
    return NULL;
}

gordian_status source_open(struct source **out, const char *address, const struct source_pace *pace,
                           const gordian_allocator *memory, gordian_error *error)
{
    const char *why;
    const struct driver *driver = driver_find(address, &why);
    if (!driver && *why)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "%s", why);
    if (!driver)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "not an address of a server (postgres://..., mysql://..., or what libpq "
                    "takes: 'host=... dbname=...', 'service=...')");
    struct source *source = source_new(pace, memory);
    if (!source)
        return fail_memory(error);
    gordian_status status = driver->open(&source->connection, address, error);
    if (status != GORDIAN_OK) {
        source_close(source);
        return status;
    }
    source->driver = driver;
    driver->place(source->connection, source->label, sizeof source->label);
    *out = source;
    return GORDIAN_OK;
}

void source_close(struct source *source)
{
    if (!source)
        return;
    if (source->inspector)
        inspector_close(source->inspector);
    else if (source->dial)
        dial_leave(source->dial); /* frees the connection as well */
    else if (source->connection)
        source->connection->driver->close(source->connection);
    scan_close(&source->scan);
    scan_close(&source->next);
    output_close(&source->order_sql);
    output_close(&source->sql);
    gordian_allocator memory = source->memory;
    memory_free(&memory, source);
}

/* ------------------------------------------------------------------ query budget */

static void fill_account(struct source *source, uint64_t now)
{
    if (source->credited)
        source->credit_ns += (int64_t)((now - source->credited) / CREDIT_SHARE);
    if (source->credit_ns > CREDIT_MOST)
        source->credit_ns = CREDIT_MOST;
    source->credited = now;
}

/* Returns the price of a query: the shortest recent time of a query of this kind whose answer had
 * at least half as many rows. */
static uint64_t find_price(struct source_price *price, uint64_t took, uint64_t rows)
{
    uint64_t least = took, place = price->count++ % SOURCE_PRICES;
    price->times[place] = took;
    price->rows[place] = rows;
    for (uint64_t i = 0; i < price->count && i < SOURCE_PRICES; i++)
        if (price->rows[i] >= rows / 2 && price->times[i] < least)
            least = price->times[i];
    return least;
}

static void pay_question(struct source *source, uint64_t rows, uint64_t now)
{
    uint64_t took = now - source->asked;
    unsigned kind = source->state == SOURCE_SCANNING ? 2 + source->part
                    : source->state == SOURCE_GATE   ? 0
                                                     : 1;
    kind = kind < SOURCE_KINDS ? kind : SOURCE_KINDS - 1;
    uint64_t cost = find_price(&source->prices[kind], took, rows);
    uint64_t pause = PAUSE_TIMES * cost > PAUSE_MOST ? PAUSE_TIMES * cost : PAUSE_MOST;
    int64_t lowest = -(int64_t)(pause / CREDIT_SHARE);
    fill_account(source, now);
    if (!source->hurried && source->state != SOURCE_ACTING && source->credit_ns > lowest) {
        source->credit_ns -= (int64_t)cost;
        source->credit_ns = source->credit_ns > lowest ? source->credit_ns : lowest;
    }
    source->spent_ns += took;
}

/* ------------------------------------------------------------------ failures */

static void finish_order(struct source *source, enum remedy_outcome outcome, const char *why)
{
    source->order = (struct remedy_order){.done = true, .outcome = outcome};
    snprintf(source->order.why, sizeof source->order.why, "%s", why);
}

/* Closes a connection that failed, and schedules the next attempt with a growing delay. */
static void fail_source(struct source *source, const char *why, uint64_t now)
{
    const char *hint = source->dialect ? source->dialect->hint(why) : NULL;
    char trouble[sizeof source->trouble];
    snprintf(trouble, sizeof trouble, "%s%s%s", why, hint ? ": " : "", hint ? hint : "");
    if (!source->dial)
        source->driver->hang_up(source->connection);
    if (strcmp(trouble, source->trouble) != 0) {
        memcpy(source->trouble, trouble, sizeof trouble);
        source->trouble_no++;
    }
    scan_clear(&source->scan);
    source->looks++; /* the sessions are gone, which is a change as well */
    if (source->order.pending)
        finish_order(source, source->state == SOURCE_ACTING ? OUTCOME_UNKNOWN : OUTCOME_UNREACHABLE,
                     why);
    source->parked = false;
    source->backoff_ns = source->backoff_ns ? 2 * source->backoff_ns : BACKOFF_LEAST;
    if (source->backoff_ns > BACKOFF_MOST)
        source->backoff_ns = BACKOFF_MOST;
    source->attempts++;
    source->first = 0;
    source->state = SOURCE_AWAY;
    source->due = source->dial ? UINT64_MAX : now + source->backoff_ns;
}

static void rest(struct source *source, uint64_t asked, uint64_t now)
{
    source->state = SOURCE_RESTING;
    /* time of the next query, if the last one was sent at `asked` */
    uint64_t due = asked + source->pace->interval_ns;
    uint64_t debt = source->credit_ns < 0 ? (uint64_t)-source->credit_ns * CREDIT_SHARE : 0;
    uint64_t pause = debt > source->dialect->pause_ns ? debt : source->dialect->pause_ns;
    source->due = due > now + pause ? due : now + pause;
}

/* ------------------------------------------------------------------ queries */

static void after_answer(struct source *source, uint64_t now);

static void on_progress(struct source *source, enum driver_progress progress, uint64_t now)
{
    if (progress == DRIVER_FAILED && source->state == SOURCE_ACTING &&
        source->connection->survives) {
        const char *why = source->connection->why;
        const char *hint = source->dialect->hint(why);
        finish_order(source, source->dialect->refusal(why), hint ? hint : why);
        rest(source, now - source->pace->interval_ns, now);
    } else if (progress == DRIVER_FAILED)
        fail_source(source, source->connection->why, now);
    else if (progress == DRIVER_READY)
        after_answer(source, now);
}

/* Sends the query in source->sql. */
static void ask_server(struct source *source, enum source_state state, uint64_t now)
{
    output_char(&source->sql, '\0');
    source->state = state;
    source->asked = now;
    if (source->sql.failure) {
        fail_source(source, "out of memory", now);
        return;
    }
    on_progress(source, source->driver->ask(source->connection, source->sql.buffer), now);
}

static void ask_part(struct source *source, uint64_t now)
{
    source->sql.used = 0;
    source->dialect->part(source->part, &source->facts, &source->next, &source->sql);
    ask_server(source, SOURCE_SCANNING, now);
}

static void after_connecting(struct source *source, uint64_t now)
{
    const struct connection *connection = source->connection;
    source->dialect = connection->dialect;
    source->facts = (struct server_facts){.version = connection->version};
    source->sql.used = 0;
    source->dialect->hello(connection->version, connection->pid, &source->sql);
    ask_server(source, SOURCE_GREETING, now);
}

static void finish_scan(struct source *source, uint64_t now)
{
    source->looks++;
    source->hurried = false;
    if (!source->first)
        source->first = now;
}

static void after_gate(struct source *source, uint64_t now)
{
    uint64_t asked = source->asked;
    if (source->connection->rows > 0 && !source->parked) {
        scan_clear(&source->next);
        source->next.asked = asked;
        source->next.before = &source->scan;
        source->part = 0;
        ask_part(source, now);
        return;
    }
    scan_clear(&source->scan);
    source->scan.asked = asked;
    source->scan.answered = now;
    source->scan.whole = true;
    finish_scan(source, now);
    rest(source, asked, now);
}

static void after_part(struct source *source, uint64_t now)
{
    source->dialect->read(source->part, &source->facts, source->connection, &source->next);
    if (source->next.failed) {
        fail_source(source, "out of memory", now);
    } else if (++source->part < source->dialect->parts) {
        ask_part(source, now);
    } else {
        /* the new scan replaces the latest */
        struct scan old = source->scan;
        source->next.answered = now;
        scan_settle(&source->next, &old);
        source->scan = source->next;
        source->next = old;
        finish_scan(source, now);
        rest(source, source->scan.asked, now);
    }
}

/* The server is known, unless it needs another query for its identity. */
static void after_greeting(struct source *source, uint64_t now)
{
    if (source->facts.identifies) {
        source->sql.used = 0;
        source->dialect->identify(&source->sql);
        ask_server(source, SOURCE_IDENTIFYING, now);
        return;
    }
    source->attempts = 0;
    source->state = SOURCE_RESTING;
    source->due = now;
}

static void after_answer(struct source *source, uint64_t now)
{
    const struct connection *answer = source->connection;
    if (source->state != SOURCE_CONNECTING)
        pay_question(source, answer->rows, now);
    switch (source->state) {
    case SOURCE_CONNECTING:
        after_connecting(source, now);
        break;
    case SOURCE_GREETING:
        source->dialect->greet(answer, &source->facts);
        after_greeting(source, now);
        break;
    case SOURCE_IDENTIFYING:
        source->dialect->identified(answer, &source->facts);
        source->facts.identifies = false;
        after_greeting(source, now);
        break;
    case SOURCE_GATE:
        source->backoff_ns = 0;
        source->trouble[0] = '\0';
        after_gate(source, now);
        break;
    case SOURCE_SCANNING:
        after_part(source, now);
        break;
    case SOURCE_ACTING:
        finish_order(source, source->dialect->outcome(answer), "");
        rest(source, now - source->pace->interval_ns, now);
        break;
    case SOURCE_AWAY:
    case SOURCE_RESTING:
        break;
    }
}

/* ------------------------------------------------------------------ steps */

/* Returns the time when the order may be sent: the data that its condition reads must be newer than
 * the scan. UINT64_MAX: there is no order. */
static uint64_t order_time(const struct source *source)
{
    return source->order.pending ? source->scan.answered + source->dialect->pause_ns : UINT64_MAX;
}

static bool is_busy(const struct source *source)
{
    return source->state != SOURCE_AWAY && source->state != SOURCE_RESTING;
}

void source_wants(const struct source *source, int *fd, short *events, uint64_t *until)
{
    *fd = -1;
    *events = 0;
    *until = source->due;
    if (source->state == SOURCE_RESTING && order_time(source) < *until)
        *until = order_time(source);
    if (source->inspector)
        *until = UINT64_MAX; /* scanned together with the servers: see servers.c */
    if (source->dial) {
        *fd = dial_descriptor(source->dial);
        *events = POLLIN;
    } else if (is_busy(source)) {
        source->driver->wants(source->connection, fd, events);
    }
    if (is_busy(source))
        *until = source->asked + source->pace->patience_ns;
}

static void begin_due(struct source *source, uint64_t now)
{
    if (source->state == SOURCE_AWAY) {
        source->state = SOURCE_CONNECTING;
        source->asked = now;
        source->dial = dial_start(source->connection);
        if (!source->dial)
            on_progress(source, source->driver->connect(source->connection), now);
        return;
    }
    source->sql.used = 0;
    if (now >= order_time(source)) {
        output_bytes(&source->sql, source->order_sql.buffer, source->order_sql.used);
        ask_server(source, SOURCE_ACTING, now);
    } else {
        source->dialect->gate(&source->facts, &source->sql);
        ask_server(source, SOURCE_GATE, now);
    }
}

void source_step(struct source *source, short revents, uint64_t now)
{
    if (source->inspector)
        return;
    fill_account(source, now);
    if (source->dial && revents) {
        /* an attempt that was given up meanwhile is accepted as well */
        enum driver_progress progress = dial_end(source->dial);
        source->dial = NULL;
        source->state = SOURCE_CONNECTING;
        source->asked = now;
        on_progress(source, progress, now);
    } else if (!is_busy(source)) {
        if (now >= source->due || (source->state == SOURCE_RESTING && now >= order_time(source)))
            begin_due(source, now);
    } else if (revents) {
        on_progress(source, source->driver->go_on(source->connection, revents), now);
    } else if (now - source->asked >= source->pace->patience_ns) {
        fail_source(source, "the server does not answer", now);
    }
}

void source_order(struct source *source, enum remedy remedy,
                  const struct remedy_condition *condition)
{
    source->order = (struct remedy_order){.pending = true};
    source->order_sql.used = 0;
    source->dialect->remedy(remedy, &source->facts, condition, &source->order_sql);
    if (source->order_sql.failure)
        finish_order(source, OUTCOME_REFUSED, "out of memory");
}

void source_scan_soon(struct source *source, uint64_t now)
{
    if (source->state != SOURCE_RESTING)
        return;
    source->hurried = true;
    uint64_t soon = source->scan.answered + source->dialect->pause_ns;
    source->due = source->due < soon ? source->due : soon > now ? soon : now;
}
