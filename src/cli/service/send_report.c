/* gordian send: reports, in the format of `gordian detect` and `gordian avoid`. */
#include "cli/service/send.h"

#include <stdio.h>
#include <string.h>

#define WHAT_COLUMNS 32

static struct output *send_out(struct send *send)
{
    return &send->cli->out;
}

/* ------------------------------------------------------------------ the line that was sent */

struct words {
    const char *at, *end;
};

static struct words words_of_line(const char *text, size_t size)
{
    return (struct words){text, text + size};
}

static bool next_word(struct words *words, char *word, size_t size)
{
    if (words->at >= words->end)
        return false;
    const char *blank = memchr(words->at, ' ', (size_t)(words->end - words->at));
    const char *stop = blank ? blank : words->end;
    snprintf(word, size, "%.*s", (int)(stop - words->at), words->at);
    words->at = blank ? blank + 1 : words->end;
    return true;
}

/* " p q=2": writes the rest of a line in colour; returns its columns. */
static size_t print_rest_of_line(struct send *send, struct words words)
{
    const struct style *style = &send->drawing.style;
    char word[GORDIAN_NAME_MAX + 32];
    size_t columns = 0;
    for (bool first = true; next_word(&words, word, sizeof word); first = false) {
        if (!first)
            output_char(send_out(send), ' ');
        style_name(style, send_out(send), first ? COLOR_PROCESS : COLOR_RESOURCE, word);
        columns += style_width(style, word) + !first;
    }
    return columns;
}

static enum color color_of_result(enum send_result result)
{
    switch (result) {
    case SEND_GRANTED:
        return COLOR_GOOD;
    case SEND_BLOCKED:
    case SEND_UNAVAILABLE:
        return COLOR_STRONG;
    case SEND_DEADLOCK:
    case SEND_DOOMED:
    case SEND_UNSAFE:
    case SEND_REFUSED:
        return COLOR_BAD;
    default:
        return COLOR_PLAIN;
    }
}

/* "     7  release ann fork-0        released, served: bob". */
static void print_event_line(struct send *send, const char *text, size_t size,
                             enum send_result result, const struct value *answer)
{
    struct output *out = send_out(send);
    struct words words = words_of_line(text, size);
    char op[32];
    next_word(&words, op, sizeof op);
    output_format(out, "%8llu  %-8s", (unsigned long long)service_json_number(answer, "seq"), op);
    size_t columns = print_rest_of_line(send, words);
    output_format(out, "%*s  ", columns < WHAT_COLUMNS ? (int)(WHAT_COLUMNS - columns) : 0, "");
    style_text(&send->drawing.style, out, color_of_result(result),
               service_json_text(answer, "result"));
    service_json_write_names(&send->drawing.style, out, value_find(answer, "granted_to"),
                             ", served: ", " ");
    if (value_find(answer, "message")) {
        output_text(out, ": ");
        style_name(&send->drawing.style, out, COLOR_PLAIN, service_json_text(answer, "message"));
    }
    output_char(out, '\n');
}

/* ------------------------------------------------------------------ deadlocks */

/* "FILE:12: " before an event. */
static void print_place(struct send *send, const struct sent_line *line)
{
    struct output *out = send_out(send);
    style_color(&send->drawing.style, out, COLOR_STRONG);
    style_name(&(struct style){.utf8 = true}, out, COLOR_PLAIN, send->input.name);
    output_format(out, ":%llu:", (unsigned long long)line->line);
    style_color(&send->drawing.style, out, COLOR_PLAIN);
    output_char(out, ' ');
}

/* "ann requests fork-1". */
static void print_action(struct send *send, const char *text, size_t size)
{
    struct words words = words_of_line(text, size);
    char op[32], name[GORDIAN_NAME_MAX + 32];
    next_word(&words, op, sizeof op);
    next_word(&words, name, sizeof name);
    style_name(&send->drawing.style, send_out(send), COLOR_PROCESS, name);
    output_text(send_out(send), strcmp(op, "wait") == 0    ? " waits for"
                                : strcmp(op, "await") == 0 ? " awaits"
                                                           : " requests");
    while (next_word(&words, name, sizeof name)) {
        output_char(send_out(send), ' ');
        style_name(&send->drawing.style, send_out(send), COLOR_RESOURCE, name);
    }
}

static void draw_sent_deadlock(struct send *send, const struct sent_line *line, const char *text,
                               const struct value *answer)
{
    struct output *out = send_out(send);
    struct parsed_witness *parsed = &send->parsed;
    char number[40];
    if (!parsed_witness_read(parsed, value_find(answer, "witness")))
        return;
    snprintf(number, sizeof number, "deadlock %llu",
             (unsigned long long)send->results[SEND_DEADLOCK]);
    output_text(out, send->all ? "\n" : "");
    print_place(send, line);
    style_text(&send->drawing.style, out, COLOR_BAD, number);
    output_text(out, ": ");
    print_action(send, text, line->size);
    if (parsed->members == 1)
        output_text(out, ", waiting for itself\n\n");
    else if (parsed->witness.cycle)
        output_format(out, ", closing a cycle of %zu processes\n\n", parsed->members);
    else
        output_format(out, ", and %zu processes wait for each other\n\n", parsed->members);
    send->drawing.labels = &parsed->labels;
    draw_witness(&send->drawing, &parsed->witness,
                 parsed_witness_find(parsed, service_json_text(answer, "process")));
}

/* ------------------------------------------------------------------ the reports */

void send_report_event(struct send *send, const struct sent_line *line, const char *text,
                       const gordian_reply *reply, enum send_result result,
                       const struct value *answer)
{
    bool bad = result == SEND_DEADLOCK || result == SEND_DOOMED || result == SEND_UNSAFE;
    if (send->cli->json) {
        output_bytes(send_out(send), reply->json, reply->json_length);
        output_char(send_out(send), '\n');
        if (send->input.live)
            output_flush(send_out(send));
        return;
    }
    if (send->all || bad)
        progress_clear(&send->cli->progress);
    if (send->all)
        print_event_line(send, text, line->size, result, answer);
    if (result == SEND_DEADLOCK) {
        draw_sent_deadlock(send, line, text, answer);
        /* Victims of the service's recovery policy. */
        const struct value *victims = value_find(answer, "recovered");
        output_text(send_out(send), victims ? "\n" : "");
        for (size_t i = 0; i < value_count(victims); i++) {
            const struct value *victim = value_item(victims, i);
            const char *policy = service_json_text(victim, "policy");
            output_text(send_out(send), "  the service ends ");
            style_name(&send->drawing.style, send_out(send), COLOR_PROCESS,
                       service_json_text(victim, "process"));
            output_format(send_out(send), "%s%s\n", *policy ? ": " : "", policy);
        }
        output_char(send_out(send), '\n');
    } else if (result == SEND_DOOMED && !send->all) {
        print_place(send, line);
        print_action(send, text, line->size);
        output_text(send_out(send), " and is ");
        style_text(&send->drawing.style, send_out(send), COLOR_BAD, "doomed");
        output_text(send_out(send), ": it waits behind a deadlock\n");
    } else if (result == SEND_UNSAFE && !send->all) {
        print_place(send, line);
        print_action(send, text, line->size);
        output_text(send_out(send), ": ");
        style_text(&send->drawing.style, send_out(send), COLOR_BAD, "unsafe");
        output_char(send_out(send), '\n');
    }
    if (bad && (send->input.live || send->cli->out_is_terminal))
        output_flush(send_out(send));
}

void send_report_grant(struct send *send, const char *process)
{
    if (send->cli->json) {
        struct json json;
        json_begin(&json, send_out(send));
        json_key_text(&json, "granted", process);
        json_end(&json);
        if (send->input.live)
            output_flush(send_out(send));
    } else if (send->all || send->wait) {
        progress_clear(&send->cli->progress);
        output_format(send_out(send), "%8s  granted ", "");
        style_name(&send->drawing.style, send_out(send), COLOR_PROCESS, process);
        output_char(send_out(send), '\n');
        output_flush(send_out(send));
    }
}

static void summary_json(struct send *send, const struct value *state)
{
    const uint64_t *results = send->results;
    const struct value *dead = value_find(state, "deadlocked");
    struct json json;
    json_begin(&json, send_out(send));
    json_open(&json, "summary", '{');
    json_key_u64(&json, "events", send->events);
    json_key_u64(&json, "granted", results[SEND_GRANTED]);
    if (send->avoids) {
        json_key_u64(&json, "unsafe", results[SEND_UNSAFE]);
        json_key_u64(&json, "unavailable", results[SEND_UNAVAILABLE]);
        json_key_u64(&json, "released", results[SEND_RELEASED]);
    } else {
        json_key_u64(&json, "blocked", results[SEND_BLOCKED]);
        json_key_u64(&json, "deadlocks", results[SEND_DEADLOCK]);
        json_key_u64(&json, "doomed", results[SEND_DOOMED]);
    }
    json_key_u64(&json, "errors", results[SEND_REFUSED]);
    json_key_u64(&json, "served", send->served);
    json_key_u64(&json, "waiting", send->waiting);
    json_key_text(&json, "engine", send->engine);
    if (dead) {
        json_open(&json, "deadlocked", '[');
        for (size_t i = 0; i < value_count(dead); i++)
            json_text(&json, value_text(value_item(dead, i)));
        json_shut(&json);
    }
    json_end(&json);
}

static void print_count(struct send *send, uint64_t count, const char *one, const char *many,
                        enum color color)
{
    char text[64];
    snprintf(text, sizeof text, "%llu %s", (unsigned long long)count, count == 1 ? one : many);
    style_text(&send->drawing.style, send_out(send), color, text);
}

static void summary_text(struct send *send)
{
    const uint64_t *results = send->results;
    uint64_t unsafe = results[SEND_UNSAFE], deadlocks = results[SEND_DEADLOCK];
    struct output *out = send_out(send);
    if (send_refused_all(send))
        style_text(&send->drawing.style, out, COLOR_BAD, "no requests");
    else if (send->avoids)
        print_count(send, unsafe, "unsafe request", "unsafe requests",
                    unsafe ? COLOR_BAD : COLOR_GOOD);
    else if (deadlocks)
        print_count(send, deadlocks, "deadlock", "deadlocks", COLOR_BAD);
    else
        style_text(&send->drawing.style, out, COLOR_GOOD, "no deadlock");
    output_text(out, " in ");
    print_count(send, send->events, "event", "events", COLOR_PLAIN);
    output_format(out, ": %llu granted, ", (unsigned long long)results[SEND_GRANTED]);
    if (send->avoids)
        output_format(out, "%llu unavailable", (unsigned long long)results[SEND_UNAVAILABLE]);
    else
        output_format(out, "%llu blocked, %llu doomed", (unsigned long long)results[SEND_BLOCKED],
                      (unsigned long long)results[SEND_DOOMED]);
    output_format(out, ", %llu refused (%s)\n", (unsigned long long)results[SEND_REFUSED],
                  send->engine);
}

void send_report_summary(struct send *send, const struct value *state)
{
    progress_clear(&send->cli->progress);
    if (send->cli->json)
        summary_json(send, state);
    else if (!send->cli->quiet)
        summary_text(send);
}
