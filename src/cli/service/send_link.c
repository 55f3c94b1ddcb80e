/* gordian send: the conversation with the service. */
#include "cli/service/send.h"

#include "base/clock.h"
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LEASE_SECONDS 30
#define GIVE_UP_NS    (30 * UINT64_C(1000000000))
#define OUT_MOST      (1u << 20) /* bytes under way before more input is read */
#define ANSWER_MS     30000
#define SILENCE_NS    (5 * UINT64_C(1000000000))

static gordian_status put(struct send *send, const char *text, size_t length, gordian_error *error)
{
    return line_link_put(&send->link, text, length) ? GORDIAN_OK : fail_memory(error);
}

static gordian_status put_line(struct send *send, gordian_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static gordian_status put_line(struct send *send, gordian_error *error, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof text - 1)
        return fail(error, GORDIAN_STATUS_INPUT, "that is too long");
    text[length++] = '\n';
    send->wire_lines++;
    return put(send, text, (size_t)length, error);
}

/* ------------------------------------------------------------------ the session */

static gordian_status put_hello(struct send *send, gordian_error *error)
{
    return put_line(send, error, "hello name=gordian-send lease=%d keep=%s%s%s%s%s", LEASE_SECONDS,
                    send->drop ? "no" : "yes", *send->session ? " session=" : "", send->session,
                    *send->token ? " token=" : "", send->token);
}

static gordian_status put_system(struct send *send, gordian_error *error)
{
    const char *name = send->system ? send->system : "default";
    if (send->open)
        return put_line(send, error, "open %s %s", name, send->open);
    return send->system ? put_line(send, error, "use %s", name) : GORDIAN_OK;
}

static gordian_status learn(struct send *send, gordian_error *error)
{
    char kind[16];
    struct json_value state;
    gordian_status status = send_ask(send, "state", error);
    if (status != GORDIAN_OK)
        return status;
    if (!json_member(json_line(send->final.buffer, send->final.used), "state", &state))
        return fail(error, GORDIAN_STATUS_IO, "%.200s does not speak Gordian's protocol",
                    send->link.address.text);
    json_member_string(state, "kind", kind, sizeof kind);
    json_member_string(state, "engine", send->engine, sizeof send->engine);
    send->avoids = strcmp(kind, "avoid") == 0;
    return GORDIAN_OK;
}

gordian_status send_open(struct send *send, gordian_error *error)
{
    gordian_status status = line_link_connect(&send->link, error);
    send->wire_lines = 0;
    if (status == GORDIAN_OK)
        status = put_hello(send, error);
    if (status == GORDIAN_OK)
        status = put_system(send, error);
    return status == GORDIAN_OK ? learn(send, error) : status;
}

/* ------------------------------------------------------------------ sending */

/* Everything without an answer, once more. */
static gordian_status send_again(struct send *send, gordian_error *error)
{
    struct sent_line *lines = fifo_front(&send->sent);
    size_t count = fifo_count(&send->sent) / sizeof *lines;
    for (size_t i = 0; i < count; i++)
        lines[i].wire_line = ++send->wire_lines;
    return put(send, fifo_front(&send->texts), fifo_count(&send->texts), error);
}

/* The connection broke: go on with the session if there is one. */
static gordian_status reconnect(struct send *send, gordian_error *error)
{
    uint64_t start = clock_ns();
    if (!*send->session)
        return error->status;
    if (!send->cli->quiet)
        cli_say(send->cli, "%s; connecting again", error->message);
    for (useconds_t pause = 10000;; pause = pause < 500000 ? pause * 2 : pause) {
        gordian_status status = send_open(send, error);
        if (status == GORDIAN_OK)
            break;
        if (status != GORDIAN_STATUS_IO || clock_ns() - start > GIVE_UP_NS)
            return status;
        usleep(pause);
    }
    send->rewinding = false;
    return send_again(send, error);
}

/* The service could not take something: once all answers are here, wait, and send again. */
static gordian_status rewind_now(struct send *send, gordian_error *error)
{
    uint64_t now = clock_ns();
    gordian_status status = put_line(send, error, "ping");
    send->settled = false;
    while (status == GORDIAN_OK && !send->settled) {
        const char *text;
        size_t length;
        while (!send->settled && line_link_next(&send->link, &text, &length)) {
            struct json_value pong;
            send->settled = json_member(json_line(text, length), "pong", &pong);
        }
        if (!send->settled)
            status = line_link_step(&send->link, -1, ANSWER_MS, error);
    }
    if (status != GORDIAN_OK)
        return status;
    send->rewinding = false;
    if (send->rewinding_since == 0)
        send->rewinding_since = now;
    else if (now - send->rewinding_since > GIVE_UP_NS)
        return fail(error, GORDIAN_STATUS_IO, "the service takes no events: %s", send->trouble);
    usleep((send->retry_ms && send->retry_ms < 1000 ? send->retry_ms : 200) * 1000);
    return send_again(send, error);
}

/* Answers that are held back come when the service can keep things again: that is waited for, but
 * not in silence. */
static void mind_silence(struct send *send, bool heard)
{
    uint64_t now = clock_ns();
    if (heard && send->said_silent)
        cli_say(send->cli, "%.200s answers again", send->link.address.text);
    if (heard || send->heard_at == 0) {
        send->heard_at = now;
        send->said_silent = false;
    } else if (!send->said_silent && !send->cli->quiet && now - send->heard_at > SILENCE_NS) {
        cli_say(send->cli,
                "%.200s has not answered for %d seconds: perhaps its disk is full, its log and "
                "/readyz tell; waiting",
                send->link.address.text, (int)(SILENCE_NS / 1000000000));
        send->said_silent = true;
    }
}

gordian_status send_step(struct send *send, bool for_input, int timeout_ms, gordian_error *error)
{
    const char *text;
    size_t length;
    gordian_error why = {0};
    bool heard = false, waits = timeout_ms == ANSWER_MS;
    if (waits)
        timeout_ms = 1000;
    else
        send->heard_at = 0;
    gordian_status status =
        line_link_step(&send->link, for_input ? send->input.fd : -1, timeout_ms, &why);
    gordian_status taken = GORDIAN_OK;
    while (taken == GORDIAN_OK && !send->rewinding && line_link_next(&send->link, &text, &length)) {
        taken = send_take(send, text, length, error);
        heard = true;
    }
    if (taken != GORDIAN_OK)
        return taken;
    if (waits)
        mind_silence(send, heard);
    if (status == GORDIAN_STATUS_IO && send->link.ended)
        status = reconnect(send, &why);
    if (status == GORDIAN_OK && send->rewinding)
        status = rewind_now(send, &why);
    if (status != GORDIAN_OK)
        *error = why;
    return status;
}

gordian_status send_drain(struct send *send, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    while (status == GORDIAN_OK && fifo_count(&send->sent) > 0 && !send->refused) {
        /* Declarations at the end are not answered: a question behind them is. */
        struct sent_line *lines = fifo_front(&send->sent);
        size_t count = fifo_count(&send->sent) / sizeof *lines, events = 0;
        for (size_t i = 0; i < count && events == 0; i++)
            events += lines[i].number != 0;
        if (events == 0)
            break;
        status = send_step(send, false, ANSWER_MS, error);
    }
    return status;
}

gordian_status send_ask(struct send *send, const char *line, gordian_error *error)
{
    gordian_status status = put_line(send, error, "%s", line);
    uint64_t until = clock_ns() + ANSWER_MS * UINT64_C(1000000);
    send->settled = false;
    while (status == GORDIAN_OK && !send->settled) {
        const char *text;
        size_t length;
        gordian_status step = line_link_step(&send->link, -1, 1000, error);
        while (status == GORDIAN_OK && !send->settled &&
               line_link_next(&send->link, &text, &length))
            status = send_take(send, text, length, error);
        if (status == GORDIAN_OK && !send->settled)
            status = step;
        if (status == GORDIAN_OK && !send->settled && clock_ns() > until)
            status = fail(error, GORDIAN_STATUS_IO, "%.200s: no answer", send->link.address.text);
    }
    return status;
}

/* The line's words with one blank between, and its number in front. */
static bool write_text(struct send *send, uint64_t number, size_t *size)
{
    const gordian_trace *reader = &send->trace;
    size_t room = 32;
    for (size_t i = 0; i < reader->word_count; i++)
        room += reader->words[i].length + 1;
    if (!fifo_reserve(&send->link.memory, &send->texts, room))
        return false;
    char *start = fifo_back(&send->texts), *at = start;
    if (number)
        at += sprintf(at, "@%llu ", (unsigned long long)number);
    for (size_t i = 0; i < reader->word_count; i++) {
        memcpy(at, reader->words[i].text, reader->words[i].length);
        at += reader->words[i].length;
        *at++ = i + 1 < reader->word_count ? ' ' : '\n';
    }
    *size = (size_t)(at - start);
    return true;
}

gordian_status send_line(struct send *send, gordian_error *error)
{
    bool event = send->trace.kind == GORDIAN_LINE_EVENT;
    size_t size;
    if (!fifo_reserve(&send->link.memory, &send->sent, sizeof(struct sent_line)) ||
        !write_text(send, event ? send->next_number : 0, &size))
        return fail_memory(error);
    const char *text = fifo_back(&send->texts);
    gordian_status status = put(send, text, size, error);
    if (status != GORDIAN_OK)
        return status;
    struct sent_line *line = fifo_back(&send->sent);
    *line = (struct sent_line){.number = event ? send->next_number : 0,
                               .line = send->trace.line,
                               .wire_line = ++send->wire_lines,
                               .column = send->trace.verb.column,
                               .size = (uint32_t)size};
    fifo_put(&send->sent, sizeof *line);
    fifo_put(&send->texts, size);
    send->next_number += event;
    if (send->strict)
        return send_drain(send, error);
    while (status == GORDIAN_OK && fifo_count(&send->link.out) > OUT_MOST)
        status = send_step(send, false, ANSWER_MS, error);
    return status;
}
