/* gordian tail: follows the events of a running service. */
#define _GNU_SOURCE
#include "cli/base/commands.h"
#include "cli/base/interrupt.h"
#include "cli/service/service_connection.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/fifo.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/memory.h"
#include "output/show/answer_json.h"
#include "output/show/draw.h"
#include "service/wire/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAGE   500 /* incidents per history request */
#define PASSED 256

struct ids {
    uint64_t *items;
    size_t count, capacity;
};

/* Header of a notification to be shown later; its text follows. */
struct later {
    bool deadlock;
    size_t length;
};

struct tail {
    struct cli *cli;
    struct reach reach;
    gordian_client *client;

    /* options */
    const char *since; /* NULL after it was used */
    const char *label; /* NULL: any */
    bool deadlocks, retry;
    uint64_t count; /* stop after this many; 0: no limit */

    uint64_t since_ms; /* age in ms */
    uint64_t shown;
    uint64_t passed[PASSED]; /* deadlocks with the label, whose ends are also shown */
    size_t passed_next;
    bool found;     /* a deadlock was shown */
    bool connected; /* connected at least once */

    /* What was shown, so that nothing is lost or repeated after a reconnection. */
    uint64_t newest;      /* deadlock id */
    struct ids standing;  /* deadlocks that have not ended */
    struct ids caught_up; /* deadlocks whose ends were shown from the history */
    uint64_t seq;         /* latest event; 0: none */
    struct fifo later;    /* of struct later: notifications that arrive during a history request */
    bool asking;          /* a history request is running */
    struct drawing drawing;
    struct parsed_witness parsed;
};

static struct output *tail_out(struct tail *tail)
{
    return &tail->cli->out;
}

/* ------------------------------------------------------------------ text */

/* "12:03:04.120 ", local time. */
static void print_time(struct tail *tail, uint64_t ms)
{
    char text[32];
    time_t seconds = (time_t)(ms / 1000);
    struct tm when;
    if (!localtime_r(&seconds, &when) || !strftime(text, sizeof text, "%H:%M:%S", &when))
        return;
    style_color(&tail->drawing.style, tail_out(tail), COLOR_FAINT);
    output_format(tail_out(tail), "%s.%03u", text, (unsigned)(ms % 1000));
    style_color(&tail->drawing.style, tail_out(tail), COLOR_PLAIN);
    output_char(tail_out(tail), ' ');
}

static void print_name(struct tail *tail, const char *name)
{
    style_name(&tail->drawing.style, tail_out(tail), COLOR_PROCESS, name);
}

static void write_formed(struct tail *tail, const struct value *incident)
{
    const char *requester = service_json_text(incident, "requester");
    print_time(tail, service_json_number(incident, "at"));
    style_text(&tail->drawing.style, tail_out(tail), COLOR_BAD, "deadlock");
    output_format(tail_out(tail), " %llu in %s, closed by ",
                  (unsigned long long)service_json_number(incident, "id"),
                  service_json_text(incident, "system"));
    print_name(tail, requester);
    service_json_write_names(&tail->drawing.style, tail_out(tail),
                             value_find(incident, "processes"), ": ", ", ");
    output_text(tail_out(tail), "\n");
    if (!parsed_witness_read(&tail->parsed, value_find(incident, "witness")))
        return;
    tail->drawing.labels = &tail->parsed.labels;
    output_char(tail_out(tail), '\n');
    draw_witness(&tail->drawing, &tail->parsed.witness,
                 parsed_witness_find(&tail->parsed, requester));
    output_char(tail_out(tail), '\n');
}

/* Prints an incident. An ended one is printed completely if it is from the history, and briefly if
 * it was printed before. */
static void print_incident(struct tail *tail, const struct value *incident)
{
    bool ended = service_json_number(incident, "ended") > 0;
    if (!ended || value_is(value_find(incident, "witness"), VALUE_LIST))
        write_formed(tail, incident);
    if (ended) {
        const char *how = service_json_text(incident, "how"),
                   *victim = service_json_text(incident, "victim");
        print_time(tail, service_json_number(incident, "ended"));
        style_text(&tail->drawing.style, tail_out(tail), COLOR_GOOD, "resolved");
        output_format(tail_out(tail), " deadlock %llu in %s%s%s",
                      (unsigned long long)service_json_number(incident, "id"),
                      service_json_text(incident, "system"), *how ? ": " : "", how);
        if (*victim) {
            output_text(tail_out(tail), ", victim ");
            print_name(tail, victim);
        }
        output_char(tail_out(tail), '\n');
    }
}

/* ------------------------------------------------------------------ what was shown */

static bool ids_drop(struct ids *ids, uint64_t id)
{
    for (size_t i = 0; i < ids->count; i++)
        if (ids->items[i] == id) {
            ids->items[i] = ids->items[--ids->count];
            return true;
        }
    return false;
}

static void ids_add(struct ids *ids, uint64_t id)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (memory_grow(&memory, &ids->items, &ids->capacity, ids->count + 1, sizeof *ids->items))
        ids->items[ids->count++] = id;
}

static void ids_free(struct ids *ids)
{
    gordian_allocator memory = memory_allocator(NULL);
    memory_free(&memory, ids->items);
    *ids = (struct ids){0};
}

/* False if a notification was already shown, from the history. */
static bool is_new_incident(struct tail *tail, const struct value *incident)
{
    uint64_t id = service_json_number(incident, "id");
    if (service_json_number(incident, "ended") > 0) {
        ids_drop(&tail->standing, id);
        return !ids_drop(&tail->caught_up, id);
    }
    if (id <= tail->newest)
        return false;
    tail->newest = id;
    ids_add(&tail->standing, id);
    return true;
}

/* False if an incident of the history was already shown. Ids increase. */
static bool was_missed(struct tail *tail, const struct value *incident)
{
    uint64_t id = service_json_number(incident, "id");
    bool ended = service_json_number(incident, "ended") > 0, is_new = id > tail->newest;
    if (is_new)
        tail->newest = id;
    if (is_new && !ended)
        ids_add(&tail->standing, id);
    if (!ended || !(is_new || ids_drop(&tail->standing, id)))
        return is_new;
    ids_add(&tail->caught_up, id);
    return true;
}

/* Reports events missing between the latest one and this one. */
static void print_gap(struct tail *tail, const char *text, size_t length)
{
    uint64_t seq, before = tail->seq;
    if (!wire_event_seq(text, length, &seq))
        return;
    tail->seq = seq;
    if (before == 0 || seq <= before + 1)
        return;
    if (tail->cli->json) {
        output_format(tail_out(tail), WIRE_MISSED "\n", (unsigned long long)before,
                      (unsigned long long)seq - 1);
        return;
    }
    print_time(tail, wall_ms());
    output_format(tail_out(tail), "... %llu events were lost\n",
                  (unsigned long long)(seq - before - 1));
}

/* ------------------------------------------------------------------ notifications */

static bool tail_is_done(const struct tail *tail)
{
    return (tail->count && tail->shown >= tail->count) || interrupt_seen() ||
           tail->cli->out.failure;
}

/* Does any participant have the label? The end of an incident has no labels. */
static bool is_wanted(struct tail *tail, const struct value *incident)
{
    const struct value *labels = value_find(incident, "labels");
    uint64_t id = service_json_number(incident, "id");
    if (!tail->label)
        return true;
    for (size_t i = 0; i < value_count(labels); i++) {
        const char *text = value_text(value_item(labels, i));
        if (!text || strcmp(text, tail->label) != 0)
            continue;
        tail->passed[tail->passed_next++ % PASSED] = id;
        return true;
    }
    for (size_t i = 0; i < PASSED; i++)
        if (id && tail->passed[i] == id)
            return true;
    return false;
}

static void show_event(struct tail *tail, const char *text, size_t length)
{
    tail->shown++;
    print_gap(tail, text, length);
    if (tail->cli->json) {
        output_bytes(tail_out(tail), text, length);
        output_char(tail_out(tail), '\n');
        return;
    }
    struct arena arena;
    const struct value *event = value_find(service_json_parse(&arena, text, length), "event");
    print_time(tail, wall_ms());
    output_format(tail_out(tail), "%-8s", service_json_text(event, "op"));
    print_name(tail, service_json_text(event, "process"));
    output_format(tail_out(tail), " %s", service_json_text(event, "result"));
    service_json_write_names(&tail->drawing.style, tail_out(tail), value_find(event, "granted_to"),
                             ", served: ", " ");
    output_char(tail_out(tail), '\n');
    arena_free(&arena);
}

static void show_deadlock(struct tail *tail, const char *text, size_t length)
{
    struct arena arena;
    const struct value *incident = value_find(service_json_parse(&arena, text, length), "incident");
    if (is_new_incident(tail, incident) && is_wanted(tail, incident)) {
        tail->shown++;
        tail->found = true;
        if (tail->cli->json) {
            output_bytes(tail_out(tail), text, length);
            output_char(tail_out(tail), '\n');
        } else {
            print_incident(tail, incident);
        }
    }
    arena_free(&arena);
}

static void take_notice(void *context, gordian_notice notice, const char *text, size_t length)
{
    struct tail *tail = context;
    bool deadlock = notice == GORDIAN_NOTICE_DEADLOCK;
    if (tail_is_done(tail) ||
        notice == GORDIAN_NOTICE_GAP) /* the next event shows what is missing */
        return;
    if (!tail->asking) {
        (deadlock ? show_deadlock : show_event)(tail, text, length);
        return;
    }
    gordian_allocator memory = memory_allocator(NULL);
    struct later later = {deadlock, length};
    if (!fifo_reserve(&memory, &tail->later, sizeof later + length)) {
        cli_say(tail->cli, "a notification was lost: out of memory");
        return;
    }
    memcpy(fifo_back(&tail->later), &later, sizeof later);
    memcpy((char *)fifo_back(&tail->later) + sizeof later, text, length);
    fifo_put(&tail->later, sizeof later + length);
}

/* ------------------------------------------------------------------ history */

/* Shows an incident of the history. The end of a known one is shown briefly, as for a notification.
 */
static void show_before(struct tail *tail, const struct value *incident)
{
    bool known = service_json_number(incident, "id") <= tail->newest;
    if (tail_is_done(tail) || !was_missed(tail, incident) || !is_wanted(tail, incident))
        return;
    for (uint32_t i = 0; known && i < incident->count; i++)
        if (value_says(incident->items[2 * i], "witness") ||
            value_says(incident->items[2 * i], "processes"))
            incident->items[2 * i + 1]->kind = VALUE_NONE;
    tail->shown++;
    tail->found = true;
    if (!tail->cli->json) {
        print_incident(tail, incident);
        return;
    }
    output_text(tail_out(tail), "{\"incident\":");
    service_json_write(tail_out(tail), incident);
    output_text(tail_out(tail), "}\n");
}

struct page {
    struct page *newer;
    struct arena arena;
    const struct value *incidents;
};

/* Fetches all pages: the service sends the newest first, and the oldest is shown first. */
static gordian_status fetch_before(struct tail *tail, const char *which, struct page **pages,
                                   gordian_error *error)
{
    uint64_t before = 0, known = tail->newest; /* only newer ones are needed */
    for (size_t i = 0; i < tail->standing.count; i++)
        known = tail->standing.items[i] <= known ? tail->standing.items[i] - 1 : known;
    do {
        char line[160];
        const char *text;
        size_t length;
        int used = snprintf(line, sizeof line, "history limit=%d%s", PAGE, which);
        if (before)
            snprintf(line + used, sizeof line - (size_t)used, " before=%llu",
                     (unsigned long long)before);
        gordian_status status = gordian_client_ask(tail->client, line, &text, &length, error);
        if (status != GORDIAN_OK)
            return reach_explain(&tail->reach, error);
        struct page *page = malloc(sizeof *page);
        if (!page)
            return fail_memory(error);
        const struct value *answer = service_json_parse(&page->arena, text, length);
        page->incidents = value_find(answer, "incidents");
        page->newer = *pages;
        *pages = page;
        before = service_json_number(answer, "next");
    } while (before > known);
    return GORDIAN_OK;
}

static gordian_status show_history(struct tail *tail, const char *which, gordian_error *error)
{
    struct page *pages = NULL;
    gordian_status status = fetch_before(tail, which, &pages, error);
    while (pages) {
        struct page *page = pages;
        for (size_t i = value_count(page->incidents); status == GORDIAN_OK && i-- > 0;)
            show_before(tail, value_item(page->incidents, i));
        pages = page->newer;
        arena_free(&page->arena);
        free(page);
    }
    output_flush(tail_out(tail));
    return status;
}

/* Records the current incidents without showing them, to recognise new ones later. */
static gordian_status note_history(struct tail *tail, gordian_error *error)
{
    char line[60];
    const char *text;
    size_t length, i;
    const struct value *one;
    snprintf(line, sizeof line, "history limit=%d", PAGE);
    gordian_status status = gordian_client_ask(tail->client, line, &text, &length, error);
    if (status != GORDIAN_OK)
        return reach_explain(&tail->reach, error);
    struct arena arena;
    const struct value *page = service_json_parse(&arena, text, length);
    for (i = 0; (one = value_item(value_find(page, "incidents"), i)) != NULL; i++) {
        uint64_t id = service_json_number(one, "id");
        tail->newest = id > tail->newest ? id : tail->newest;
        if (service_json_number(one, "ended") == 0)
            ids_add(&tail->standing, id);
    }
    arena_free(&arena);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ following */

static gordian_status show_before_now(struct tail *tail, gordian_error *error)
{
    if (tail->connected)
        return show_history(tail, "", error);
    if (tail->since) {
        char which[60];
        uint64_t now = wall_ms();
        snprintf(which, sizeof which, " since=%llu",
                 (unsigned long long)(now > tail->since_ms ? now - tail->since_ms : 0));
        tail->since = NULL; /* only once */
        return show_history(tail, which, error);
    }
    return tail->retry ? note_history(tail, error) : GORDIAN_OK;
}

/* Follows until the connection ends or the count is reached. */
static gordian_status follow_events(struct tail *tail, gordian_error *error)
{
    unsigned mask = GORDIAN_MY_GRANTS | GORDIAN_ALL_DEADLOCKS;
    gordian_status status = reach_open(&tail->reach, &tail->client, error);
    tail->asking = true;
    THEN(status, gordian_client_subscribe(
                     tail->client,
                     tail->deadlocks || tail->label ? mask : mask | GORDIAN_ALL_EVENTS, error));
    THEN(status, show_before_now(tail, error));
    /* Then show what arrived meanwhile. */
    gordian_allocator memory = memory_allocator(NULL);
    tail->asking = false;
    while (fifo_count(&tail->later) > 0) {
        struct later later;
        memcpy(&later, fifo_front(&tail->later), sizeof later);
        take_notice(tail, later.deadlock ? GORDIAN_NOTICE_DEADLOCK : GORDIAN_NOTICE_EVENT,
                    (char *)fifo_front(&tail->later) + sizeof later, later.length);
        fifo_take(&tail->later, sizeof later + later.length);
    }
    fifo_free(&memory, &tail->later);
    ids_free(&tail->caught_up);
    if (status == GORDIAN_OK && tail->cli->verbose)
        cli_say(tail->cli, "connected to %s", tail->reach.uri);
    tail->connected |= status == GORDIAN_OK;
    while (status == GORDIAN_OK && !tail_is_done(tail)) {
        int own = gordian_client_timeout(tail->client);
        struct pollfd wanted = {.fd = gordian_client_fd(tail->client),
                                .events = gordian_client_events(tail->client)};
        if (poll(&wanted, 1, own >= 0 && own < 200 ? own : 200) < 0 && errno != EINTR)
            return fail(error, GORDIAN_STATUS_IO, "cannot wait: %s", strerror(errno));
        status = gordian_client_work(tail->client, error);
        output_flush(tail_out(tail));
    }
    return status;
}

/* Reconnects to a service that restarts. */
static gordian_status follow_on(struct tail *tail, gordian_error *error)
{
    for (;;) {
        *error = (gordian_error){0};
        gordian_status status = follow_events(tail, error);
        bool was_there = tail->client != NULL;
        gordian_client_leave(tail->client);
        tail->client = NULL;
        if (status == GORDIAN_OK || tail_is_done(tail))
            return GORDIAN_OK;
        if (status != GORDIAN_STATUS_IO || !tail->retry || !tail->connected)
            return status;
        if (was_there && !tail->cli->quiet)
            cli_say(tail->cli, "%s; trying again", error->message);
        usleep(200000);
    }
}

/* ------------------------------------------------------------------ the command */

static int run_tail(struct tail *tail)
{
    gordian_error error = {0};
    struct sigaction before;
    interrupt_catch(&before);
    gordian_status status = follow_on(tail, &error);
    interrupt_release(&before);
    if (status != GORDIAN_OK)
        return cli_fail(tail->cli, NULL, &error);
    return tail->found ? EXIT_FOUND : EXIT_NOTHING;
}

static int tail_main(struct cli *cli, int argc, char **argv)
{
    struct tail tail = {.cli = cli};
    const struct option options[] = {
        REACH_TO(tail.reach),
        {"system", 's', "NAME", "the system to watch (default: default)", OPTION_TEXT,
         &tail.reach.options.system},
        {"deadlocks", 'd', NULL, "show only deadlocks, not every event", OPTION_FLAG,
         &tail.deadlocks},
        {"label", 0, "KEY:VALUE", "only deadlocks with this label", OPTION_TEXT, &tail.label},
        {"since", 0, "TIME", "begin with deadlocks this long ago: 30s, 15m, 12h, 7d", OPTION_TEXT,
         &tail.since},
        {"count", 'n', "N", "end after N of them", OPTION_U64, &tail.count},
        {"retry", 'F', NULL, "reconnect when the connection is lost", OPTION_FLAG, &tail.retry},
        REACH_SAFELY(tail.reach),
        {0},
    };
    int code;
    reach_init(&tail.reach, "gordian-tail");
    tail.reach.options.notice = take_notice;
    tail.reach.options.context = &tail;
    int operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    if (operands > 0)
        return cli_misuse(cli, "unexpected operand '%.200s'", argv[0]);
    const char *system = tail.reach.options.system;
    if (system && (strlen(system) > GORDIAN_NAME_MAX || strpbrk(system, " \t\n#")))
        return cli_misuse(cli, "'%.60s' is not a name", system);
    if (tail.since && !options_duration(tail.since, &tail.since_ms))
        return cli_misuse(cli, "--since: expected a time such as 30s, 15m, 12h or 7d");
    tail.drawing = (struct drawing){cli_style(cli), &cli->out, NULL, cli->verbose};
    parsed_witness_init(&tail.parsed);
    code = run_tail(&tail);
    parsed_witness_free(&tail.parsed);
    ids_free(&tail.standing);
    return code;
}

const struct command command_tail = {
    .name = "tail",
    .operands = "",
    .summary = "show what happens in a running service, as it happens",
    .about = "Shows the events and deadlocks of a system of a running 'gordian serve' as they\n"
             "happen, until it is interrupted. With --json each line is a notification, as the\n"
             "service sends it. Exit status 1 if a deadlock was seen.\n",
    .run = tail_main,
};
