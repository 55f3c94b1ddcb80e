/* gordian send: what the service answers. */
#include "cli/service/send.h"

#include "base/error.h"
#include "wire/wire.h"

#include <stdio.h>
#include <string.h>

/* Errors beyond these are only counted, unless --verbose. */
#define ERRORS_SHOWN 20
#define NAME_ROOM    (GORDIAN_NAME_MAX * 3 + 1) /* bytes that are not UTF-8 come as three */

/* ------------------------------------------------------------------ who waits */

enum waits {
    WAITS_NOT,
    WAITS_WELL, /* can still be served */
    WAITS_DEAD,
};

/* False: out of memory. */
static bool set_waits(struct send *send, const char *name, enum waits waits)
{
    size_t length = strnlen(name, GORDIAN_NAME_MAX);
    uint32_t id = names_find(&send->names, name, length);
    if (length == 0 || (id == GORDIAN_NONE && waits == WAITS_NOT))
        return true;
    if (id == GORDIAN_NONE) {
        id = send->name_count;
        if (!memory_grow_zeroed(&send->link.memory, &send->waits, &send->waits_room, id + 1,
                                sizeof *send->waits) ||
            !names_put(&send->names, id, name, length))
            return false;
        send->name_count++;
    }
    send->waiting += (waits == WAITS_WELL) - (send->waits[id] == WAITS_WELL);
    send->tally.served += waits == WAITS_NOT && send->waits[id] != WAITS_NOT;
    send->waits[id] = (uint8_t)waits;
    return true;
}

static bool note_waits(struct send *send, struct json_value answer, const char *result)
{
    char name[NAME_ROOM];
    struct json_value value, item;
    json_member_string(answer, "process", name, sizeof name);
    bool good = true;
    if (strcmp(result, "blocked") == 0 || (json_member(answer, "waits", &value)))
        good = set_waits(send, name, WAITS_WELL);
    else if (strcmp(result, "deadlock") == 0 || strcmp(result, "doomed") == 0)
        good = set_waits(send, name, WAITS_DEAD);
    else if (strcmp(result, "cancelled") == 0 || strcmp(result, "exited") == 0) {
        uint64_t served = send->tally.served;
        good = set_waits(send, name, WAITS_NOT);
        send->tally.served = served; /* it gave up */
    }
    if (json_member(answer, "granted_to", &value))
        for (struct json_value rest = json_items(value); good && json_item(&rest, &item);)
            if (json_string(item, name, sizeof name))
                good = set_waits(send, name, WAITS_NOT);
    /* Whoever is in a deadlock cannot be waited for. */
    if (json_member(answer, "deadlocked", &value))
        for (struct json_value rest = json_items(value); good && json_item(&rest, &item);)
            if (json_string(item, name, sizeof name) &&
                names_find(&send->names, name, strnlen(name, GORDIAN_NAME_MAX)) != GORDIAN_NONE)
                good = set_waits(send, name, WAITS_DEAD);
    return good;
}

/* ------------------------------------------------------------------ events */

static void drop_front(struct send *send)
{
    struct sent_line *line = fifo_front(&send->sent);
    fifo_take(&send->texts, line->size);
    fifo_take(&send->sent, sizeof *line);
}

/* The first event without an answer; declarations before it were taken. NULL: there is none. */
static struct sent_line *first_event(struct send *send)
{
    while (fifo_count(&send->sent) > 0) {
        struct sent_line *line = fifo_front(&send->sent);
        if (line->number)
            return line;
        drop_front(send);
    }
    return NULL;
}

static void count_result(struct send_tally *tally, const char *result)
{
    const struct {
        const char *text;
        uint64_t *count;
    } counts[] = {
        {"granted", &tally->granted},    {"blocked", &tally->blocked},
        {"deadlock", &tally->deadlocks}, {"doomed", &tally->doomed},
        {"unsafe", &tally->unsafe},      {"unavailable", &tally->unavailable},
        {"released", &tally->released},  {"error", &tally->errors},
    };
    tally->events++;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i].count += strcmp(counts[i].text, result) == 0;
}

static void tell_refused(struct send *send, uint64_t line, uint64_t column, const char *message)
{
    struct cli *cli = send->cli;
    if (cli->quiet && !send->strict)
        return;
    if (cli->verbose || send->strict || send->tally.errors <= ERRORS_SHOWN)
        cli_say_at(cli, send->input.name, line, column, message);
    else if (send->tally.errors == ERRORS_SHOWN + 1)
        cli_say(cli, "further errors are counted only; --verbose shows all");
}

static gordian_status take_result(struct send *send, struct json_value answer, const char *result,
                                  gordian_error *error)
{
    char message[400];
    struct sent_line *line = first_event(send);
    if (!line)
        return fail(error, GORDIAN_STATUS_IO, "an answer to nothing");
    if (strcmp(result, "not taken") == 0) {
        snprintf(send->trouble, sizeof send->trouble, "too much for it now");
        send->rewinding = true;
        return GORDIAN_OK;
    }
    struct sent_line taken = *line;
    send->rewinding_since = 0;
    count_result(&send->tally, result);
    if (!note_waits(send, answer, result))
        return fail_memory(error);
    send_report_event(send, &taken, fifo_front(&send->texts), answer, result);
    if (json_member_string(answer, "message", message, sizeof message)) {
        tell_refused(send, taken.line, taken.column, message);
        send->refused |= send->strict;
        send->refused_status = GORDIAN_STATUS_INPUT;
    }
    drop_front(send);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ errors */

/* The line of the trace an error is about; NULL: it is about something else. */
static struct sent_line *line_at(struct send *send, uint64_t wire_line)
{
    while (fifo_count(&send->sent) > 0) {
        struct sent_line *line = fifo_front(&send->sent);
        if (line->wire_line == wire_line)
            return line;
        if (line->number || line->wire_line > wire_line)
            return NULL;
        drop_front(send);
    }
    return NULL;
}

static gordian_status take_error(struct send *send, struct json_value answer, gordian_error *error)
{
    char text[300];
    uint64_t code, wire_line, retry_ms;
    json_member_string(answer, "error", text, sizeof text);
    json_member_number(answer, "code", &code);
    json_member_number(answer, "line", &wire_line);
    json_member_number(answer, "retry_ms", &retry_ms);
    if (code == WIRE_STOPPING || code == WIRE_TOO_SLOW)
        return GORDIAN_OK; /* the end of the connection follows */
    struct sent_line *line = line_at(send, wire_line);
    if (!line) {
        if (fifo_count(&send->sent) > 0 && wire_error_passes((unsigned)code, retry_ms))
            return GORDIAN_OK;
        return fail(error, wire_error_status((unsigned)code), "%s%s", text, line_link_advice(code));
    }
    if (wire_error_passes((unsigned)code, retry_ms)) {
        snprintf(send->trouble, sizeof send->trouble, "%.190s", text);
        send->retry_ms = (uint32_t)(retry_ms < 60000 ? retry_ms : 60000);
        send->rewinding = true;
        return GORDIAN_OK;
    }
    /* As in a trace: a declaration that cannot be is bad input, an event is only refused. */
    if (!line->number)
        return fail_at(error, wire_error_status((unsigned)code), line->line, line->column, "%s",
                       text);
    send->tally.events++;
    send->tally.errors++;
    tell_refused(send, line->line, line->column, text);
    send->refused |= send->strict;
    send->refused_status = wire_error_status((unsigned)code);
    if (send->cli->json)
        output_format(&send->cli->out, "%.*s\n", (int)answer.length, answer.text);
    drop_front(send);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ all of them */

static gordian_status keep_answer(struct send *send, const char *text, size_t length,
                                  gordian_error *error)
{
    if (!send->final.buffer && !output_open(&send->final, -1))
        return fail_memory(error);
    send->final.used = 0;
    output_bytes(&send->final, text, length);
    send->settled = true;
    return send->final.failure ? fail_memory(error) : GORDIAN_OK;
}

static void take_hello(struct send *send, struct json_value hello)
{
    uint64_t last;
    bool first = !*send->session;
    json_member_string(hello, "session", send->session, sizeof send->session);
    if (first && json_member_number(hello, "last", &last))
        send->next_number = last + 1;
}

gordian_status send_take(struct send *send, const char *text, size_t length, gordian_error *error)
{
    struct json_value answer = json_line(text, length), value;
    char word[NAME_ROOM];
    if (json_member(answer, "error", &value))
        return take_error(send, answer, error);
    if (json_member(answer, "hello", &value)) {
        take_hello(send, value);
        return GORDIAN_OK;
    }
    if (json_member(answer, "ok", &value) || json_member(answer, "incident", &value) ||
        json_member(answer, "event", &value))
        return GORDIAN_OK;
    if (json_member_string(answer, "granted", word, sizeof word)) {
        if (!set_waits(send, word, WAITS_NOT))
            return fail_memory(error);
        send_report_grant(send, word, answer);
        return GORDIAN_OK;
    }
    if (json_member(answer, "state", &value) || json_member(answer, "what_if", &value) ||
        json_member(answer, "pong", &value))
        return keep_answer(send, text, length, error);
    if (json_member_string(answer, "result", word, sizeof word))
        return take_result(send, answer, word, error);
    return fail(error, GORDIAN_STATUS_IO, "%.200s does not speak Gordian's protocol",
                send->link.address.text);
}
