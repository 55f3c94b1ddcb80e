/* gordian tail: what happens in a running service, as it happens. */
#include "cli/service/tail.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/service/line_link.h"
#include "show/draw.h"

#include "base/error.h"
#include "wire/wire.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAME_ROOM (GORDIAN_NAME_MAX * 3 + 1)

static struct output *out_of(struct tail *tail)
{
    return &tail->cli->out;
}

/* ------------------------------------------------------------------ for people */

/* "12:03:04.120 ", local time. */
static void write_time(struct tail *tail, uint64_t ms)
{
    char text[32];
    time_t seconds = (time_t)(ms / 1000);
    struct tm when;
    if (!localtime_r(&seconds, &when) || !strftime(text, sizeof text, "%H:%M:%S", &when))
        return;
    style_color(&tail->drawing.style, out_of(tail), COLOR_FAINT);
    output_format(out_of(tail), "%s.%03u", text, (unsigned)(ms % 1000));
    style_color(&tail->drawing.style, out_of(tail), COLOR_PLAIN);
    output_char(out_of(tail), ' ');
}

static void write_now(struct tail *tail)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    write_time(tail, (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
}

static void write_name(struct tail *tail, const char *name)
{
    style_name(&tail->drawing.style, out_of(tail), COLOR_PROCESS, name);
}

static void write_names(struct tail *tail, struct json_value array, const char *between)
{
    struct json_value item;
    char name[NAME_ROOM];
    bool first = true;
    for (struct json_value rest = json_items(array); json_item(&rest, &item); first = false) {
        output_text(out_of(tail), first ? "" : between);
        if (json_string(item, name, sizeof name))
            write_name(tail, name);
    }
}

static void write_event(struct tail *tail, struct json_value event)
{
    char op[32], name[NAME_ROOM], result[40];
    struct json_value served;
    json_member_string(event, "op", op, sizeof op);
    json_member_string(event, "process", name, sizeof name);
    json_member_string(event, "result", result, sizeof result);
    write_now(tail);
    output_format(out_of(tail), "%-8s", op);
    write_name(tail, name);
    output_format(out_of(tail), " %s", result);
    if (json_member(event, "granted_to", &served)) {
        output_text(out_of(tail), ", served: ");
        write_names(tail, served, " ");
    }
    output_char(out_of(tail), '\n');
}

static void write_formed(struct tail *tail, struct json_value incident, const char *system)
{
    char requester[NAME_ROOM];
    struct json_value value;
    uint64_t id, at;
    json_member_number(incident, "id", &id);
    json_member_number(incident, "at", &at);
    json_member_string(incident, "requester", requester, sizeof requester);
    write_time(tail, at);
    style_text(&tail->drawing.style, out_of(tail), COLOR_BAD, "deadlock");
    output_format(out_of(tail), " %llu in %s, closed by ", (unsigned long long)id, system);
    write_name(tail, requester);
    if (json_member(incident, "processes", &value)) {
        output_text(out_of(tail), ": ");
        write_names(tail, value, ", ");
    }
    output_text(out_of(tail), "\n");
    if (!json_member(incident, "witness", &value) || !told_witness_read(&tail->told, value))
        return;
    tail->drawing.labels = &tail->told.labels;
    output_char(out_of(tail), '\n');
    draw_witness(&tail->drawing, &tail->told.witness, told_witness_find(&tail->told, requester));
    output_char(out_of(tail), '\n');
}

static void write_ended(struct tail *tail, struct json_value incident, const char *system)
{
    char how[60], victim[NAME_ROOM];
    uint64_t id, ended;
    json_member_number(incident, "id", &id);
    json_member_number(incident, "ended", &ended);
    json_member_string(incident, "how", how, sizeof how);
    write_time(tail, ended);
    style_text(&tail->drawing.style, out_of(tail), COLOR_GOOD, "resolved");
    output_format(out_of(tail), " deadlock %llu in %s%s%s", (unsigned long long)id, system,
                  *how ? ": " : "", how);
    if (json_member_string(incident, "victim", victim, sizeof victim) && *victim) {
        output_text(out_of(tail), ", victim ");
        write_name(tail, victim);
    }
    output_char(out_of(tail), '\n');
}

/* One that has ended is told whole if it comes from the past, and in brief if it was told before.
 */
void tail_incident(struct tail *tail, struct json_value incident)
{
    char system[NAME_ROOM];
    struct json_value witness;
    uint64_t ended;
    json_member_string(incident, "system", system, sizeof system);
    json_member_number(incident, "ended", &ended);
    tail->found = true;
    if (!ended || (json_member(incident, "witness", &witness) && !json_is(witness, "null")))
        write_formed(tail, incident, system);
    if (ended)
        write_ended(tail, incident, system);
}

/* ------------------------------------------------------------------ what comes */

static gordian_status take(struct tail *tail, const char *text, size_t length, gordian_error *error)
{
    struct json_value line = json_line(text, length), value;
    char message[300];
    bool incident = json_member(line, "incident", &value);
    if (json_member_string(line, "error", message, sizeof message)) {
        uint64_t code;
        json_member_number(line, "code", &code);
        return fail(error, wire_error_status((unsigned)code), "%s%s", message,
                    line_link_advice(code));
    }
    if (json_member(line, "ok", &value) && json_is(value, "\"subscribe\"") && tail->cli->verbose)
        cli_say(tail->cli, "connected to %s", tail->link.address.text);
    if (!incident && !json_member(line, "event", &value))
        return GORDIAN_OK;
    tail->shown++;
    tail->found |= incident;
    if (tail->cli->json) {
        output_bytes(out_of(tail), text, length);
        output_char(out_of(tail), '\n');
    } else if (incident) {
        tail_incident(tail, value);
    } else {
        write_event(tail, value);
    }
    return GORDIAN_OK;
}

static bool is_done(const struct tail *tail)
{
    return (tail->count && tail->shown >= tail->count) || interrupt_seen() ||
           tail->cli->out.failure;
}

static gordian_status put_text(struct tail *tail, const char *text, gordian_error *error)
{
    return line_link_put(&tail->link, text, strlen(text)) ? GORDIAN_OK : fail_memory(error);
}

static gordian_status begin(struct tail *tail, gordian_error *error)
{
    char hello[800];
    gordian_status status = line_link_connect(&tail->link, error);
    snprintf(hello, sizeof hello, "hello name=gordian-tail%s%s\n%s%s%ssubscribe %s\n",
             *tail->token ? " token=" : "", tail->token, tail->system ? "use " : "",
             tail->system ? tail->system : "", tail->system ? "\n" : "",
             tail->deadlocks ? "deadlocks" : "all");
    return status == GORDIAN_OK ? put_text(tail, hello, error) : status;
}

/* Until the connection ends, or enough has been seen. */
static gordian_status follow(struct tail *tail, gordian_error *error)
{
    gordian_status status = begin(tail, error);
    while (status == GORDIAN_OK && !is_done(tail)) {
        const char *text;
        size_t length;
        gordian_status step = line_link_step(&tail->link, -1, 200, error);
        while (status == GORDIAN_OK && !is_done(tail) &&
               line_link_next(&tail->link, &text, &length)) {
            tail->connected = true;
            status = take(tail, text, length, error);
        }
        output_flush(out_of(tail));
        if (status == GORDIAN_OK && !is_done(tail))
            status = step;
    }
    return status;
}

/* A service that is restarted comes back. */
static gordian_status follow_on(struct tail *tail, gordian_error *error)
{
    for (;;) {
        gordian_status status = follow(tail, error);
        if (status == GORDIAN_OK || is_done(tail))
            return GORDIAN_OK;
        if (status != GORDIAN_STATUS_IO || !tail->retry || !tail->connected)
            return status;
        if (!tail->cli->quiet)
            cli_say(tail->cli, "%s; trying again", error->message);
        do
            usleep(200000);
        while (!is_done(tail) && line_link_connect(&tail->link, error) == GORDIAN_STATUS_IO);
    }
}

/* ------------------------------------------------------------------ the command */

static int run_tail(struct tail *tail)
{
    gordian_error error = {0};
    struct sigaction before;
    gordian_status status = line_link_find(&tail->link, tail->to, &tail->tls, &error);
    if (status == GORDIAN_OK && tail->token_file)
        status = line_link_token(tail->token_file, tail->token, sizeof tail->token, &error);
    if (status == GORDIAN_OK && tail->since)
        status = tail_history(tail, &error);
    interrupt_catch(&before);
    if (status == GORDIAN_OK && !is_done(tail))
        status = follow_on(tail, &error);
    interrupt_release(&before);
    if (status != GORDIAN_OK)
        return cli_fail(tail->cli, NULL, &error);
    return tail->found ? EXIT_FOUND : EXIT_NOTHING;
}

static int tail_main(struct cli *cli, int argc, char **argv)
{
    struct tail tail = {.cli = cli, .link = LINE_LINK_NONE};
    const struct option options[] = {
        {"to", 't', "URI",
         "the service: unix:PATH, tcp://HOST:PORT or\ntls://HOST:PORT (default: $GORDIAN_SERVICE, "
         "or the\nusual socket)",
         OPTION_TEXT, &tail.to, NULL},
        {"system", 's', "NAME", "the system to look at (default: default)", OPTION_TEXT,
         &tail.system, NULL},
        {"deadlocks", 'd', NULL, "deadlocks only, not every event", OPTION_FLAG, &tail.deadlocks,
         NULL},
        {"since", 0, "TIME", "begin with the deadlocks of so long ago: 30s, 15m,\n12h, 7d",
         OPTION_TEXT, &tail.since, NULL},
        {"http", 0, "ADDRESS",
         "where the service answers HTTP, for --since:\n[https://]HOST:PORT (default: port 7420, "
         "https with\ntls://)",
         OPTION_TEXT, &tail.http, NULL},
        {"count", 'n', "N", "end after so many", OPTION_U64, &tail.count, NULL},
        {"retry", 'F', NULL, "connect again when the service goes away", OPTION_FLAG, &tail.retry,
         NULL},
        {"token-file", 0, "FILE", "a file with the token that lets us in", OPTION_TEXT,
         &tail.token_file, NULL},
        LINE_LINK_OPTIONS(tail.tls),
        {0},
    };
    int code;
    int operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    if (operands > 0)
        return cli_misuse(cli, "no operands: '%.200s' is one too many", argv[0]);
    if (tail.system && (strlen(tail.system) > GORDIAN_NAME_MAX || strpbrk(tail.system, " \t\n#")))
        return cli_misuse(cli, "'%.60s' is not a name", tail.system);
    if (tail.since && !tail_parse_since(tail.since, &tail.since_ms))
        return cli_misuse(cli, "--since: expected a time such as 30s, 15m, 12h or 7d");
    tail.drawing = (struct drawing){cli_style(cli), &cli->out, NULL, cli->verbose};
    told_witness_init(&tail.told);
    code = run_tail(&tail);
    told_witness_free(&tail.told);
    line_link_close(&tail.link);
    return code;
}

const struct command command_tail = {
    .name = "tail",
    .operands = "",
    .summary = "show what happens in a running service, as it happens",
    .about = "Shows the events and deadlocks of a system of a running 'gordian serve' as they\n"
             "happen, until it is interrupted. With --json every one is a line, as the service\n"
             "tells it. Exit status 1 if a deadlock was seen.\n",
    .run = tail_main,
};
