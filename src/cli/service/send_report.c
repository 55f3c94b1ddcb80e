/* gordian send: what is printed, as `gordian detect` and `gordian avoid` do. */
#include "cli/service/send.h"

#include <stdio.h>
#include <string.h>

#define WHAT_COLUMNS 32
#define NAME_ROOM    (GORDIAN_NAME_MAX * 3 + 1)

static struct output *out_of(struct send *send)
{
    return &send->cli->out;
}

static void pass_on(struct send *send, struct json_value answer)
{
    output_bytes(out_of(send), answer.text, answer.length);
    output_char(out_of(send), '\n');
    if (send->input.live)
        output_flush(out_of(send));
}

/* ------------------------------------------------------------------ the line that was sent */

struct words {
    const char *at, *end;
};

/* The words of a line that was sent, without its number. */
static struct words words_of(const char *text, size_t size)
{
    struct words words = {text, text + size - 1};
    if (*text == '@')
        words.at = (const char *)memchr(text, ' ', size) + 1;
    return words;
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

/* " p q=2": the rest of a line, coloured; returns its columns. */
static size_t write_rest(struct send *send, struct words words)
{
    const struct style *style = &send->drawing.style;
    char word[GORDIAN_NAME_MAX + 32];
    size_t columns = 0;
    for (bool first = true; next_word(&words, word, sizeof word); first = false) {
        if (!first)
            output_char(out_of(send), ' ');
        style_name(style, out_of(send), first ? COLOR_PROCESS : COLOR_RESOURCE, word);
        columns += style_width(style, word) + !first;
    }
    return columns;
}

static enum color color_of(const char *result)
{
    if (strcmp(result, "granted") == 0)
        return COLOR_GOOD;
    if (strcmp(result, "blocked") == 0 || strcmp(result, "unavailable") == 0)
        return COLOR_STRONG;
    if (strcmp(result, "deadlock") == 0 || strcmp(result, "doomed") == 0 ||
        strcmp(result, "unsafe") == 0 || strcmp(result, "error") == 0)
        return COLOR_BAD;
    return COLOR_PLAIN;
}

static void write_names(struct send *send, struct json_value array, const char *before)
{
    struct json_value item;
    char name[NAME_ROOM];
    for (struct json_value rest = json_items(array); json_item(&rest, &item); before = " ") {
        output_text(out_of(send), before);
        if (json_string(item, name, sizeof name))
            style_name(&send->drawing.style, out_of(send), COLOR_PROCESS, name);
    }
}

/* "     7  release ann fork-0        released, served: bob". */
static void write_event_line(struct send *send, const char *text, size_t size,
                             struct json_value answer, const char *result)
{
    struct output *out = out_of(send);
    struct words words = words_of(text, size);
    char op[32], message[400];
    struct json_value served;
    uint64_t seq;
    next_word(&words, op, sizeof op);
    json_member_number(answer, "seq", &seq);
    output_format(out, "%8llu  %-8s", (unsigned long long)seq, op);
    size_t columns = write_rest(send, words);
    output_format(out, "%*s  ", columns < WHAT_COLUMNS ? (int)(WHAT_COLUMNS - columns) : 0, "");
    style_text(&send->drawing.style, out, color_of(result), result);
    if (json_member(answer, "granted_to", &served))
        write_names(send, served, ", served: ");
    if (json_member_string(answer, "message", message, sizeof message)) {
        output_text(out, ": ");
        style_name(&send->drawing.style, out, COLOR_PLAIN, message);
    }
    output_char(out, '\n');
}

/* ------------------------------------------------------------------ deadlocks */

/* "FILE:12: " before what happened there. */
static void write_place(struct send *send, const struct sent_line *line)
{
    struct output *out = out_of(send);
    style_color(&send->drawing.style, out, COLOR_STRONG);
    style_name(&(struct style){.utf8 = true}, out, COLOR_PLAIN, send->input.name);
    output_format(out, ":%llu:", (unsigned long long)line->line);
    style_color(&send->drawing.style, out, COLOR_PLAIN);
    output_char(out, ' ');
}

/* "ann requests fork-1". */
static void write_action(struct send *send, const char *text, size_t size)
{
    struct words words = words_of(text, size);
    char op[32], name[GORDIAN_NAME_MAX + 32];
    next_word(&words, op, sizeof op);
    next_word(&words, name, sizeof name);
    style_name(&send->drawing.style, out_of(send), COLOR_PROCESS, name);
    output_text(out_of(send), strcmp(op, "wait") == 0 ? " waits for" : " requests");
    while (next_word(&words, name, sizeof name)) {
        output_char(out_of(send), ' ');
        style_name(&send->drawing.style, out_of(send), COLOR_RESOURCE, name);
    }
}

static void draw_deadlock(struct send *send, const struct sent_line *line, const char *text,
                          struct json_value answer)
{
    struct output *out = out_of(send);
    struct told_witness *told = &send->told;
    struct json_value witness;
    char number[40], requester[NAME_ROOM];
    if (!json_member(answer, "witness", &witness) || !told_witness_read(told, witness))
        return;
    snprintf(number, sizeof number, "deadlock %llu", (unsigned long long)send->tally.deadlocks);
    output_text(out, send->all ? "\n" : "");
    write_place(send, line);
    style_text(&send->drawing.style, out, COLOR_BAD, number);
    output_text(out, ": ");
    write_action(send, text, line->size);
    if (told->members == 1)
        output_text(out, ", waiting for itself\n\n");
    else if (told->witness.cycle)
        output_format(out, ", closing a cycle of %zu processes\n\n", told->members);
    else
        output_format(out, ", and %zu processes wait for each other\n\n", told->members);
    json_member_string(answer, "process", requester, sizeof requester);
    send->drawing.labels = &told->labels;
    draw_witness(&send->drawing, &told->witness, told_witness_find(told, requester));
}

/* Those that the service has ended, by its policy. */
static void write_victims(struct send *send, struct json_value answer)
{
    struct json_value list, item;
    char name[NAME_ROOM], policy[40];
    if (!json_member(answer, "recovered", &list))
        return;
    output_char(out_of(send), '\n');
    for (struct json_value rest = json_items(list); json_item(&rest, &item);) {
        json_member_string(item, "process", name, sizeof name);
        json_member_string(item, "policy", policy, sizeof policy);
        output_text(out_of(send), "  the service ends ");
        style_name(&send->drawing.style, out_of(send), COLOR_PROCESS, name);
        output_format(out_of(send), "%s%s\n", *policy ? ": " : "", policy);
    }
}

static void write_doomed(struct send *send, const struct sent_line *line, const char *text)
{
    write_place(send, line);
    write_action(send, text, line->size);
    output_text(out_of(send), " and is ");
    style_text(&send->drawing.style, out_of(send), COLOR_BAD, "doomed");
    output_text(out_of(send), ": it waits behind a deadlock\n");
}

static void write_unsafe(struct send *send, const struct sent_line *line, const char *text)
{
    write_place(send, line);
    write_action(send, text, line->size);
    output_text(out_of(send), ": ");
    style_text(&send->drawing.style, out_of(send), COLOR_BAD, "unsafe");
    output_char(out_of(send), '\n');
}

/* ------------------------------------------------------------------ the reports */

void send_report_event(struct send *send, const struct sent_line *line, const char *text,
                       struct json_value answer, const char *result)
{
    bool deadlock = strcmp(result, "deadlock") == 0, doomed = strcmp(result, "doomed") == 0;
    bool unsafe = strcmp(result, "unsafe") == 0;
    if (send->cli->json) {
        pass_on(send, answer);
        return;
    }
    if (send->all || deadlock || doomed || unsafe)
        progress_clear(&send->cli->progress);
    if (send->all)
        write_event_line(send, text, line->size, answer, result);
    if (deadlock) {
        draw_deadlock(send, line, text, answer);
        write_victims(send, answer);
        output_char(out_of(send), '\n');
    } else if (doomed && !send->all) {
        write_doomed(send, line, text);
    } else if (unsafe && !send->all) {
        write_unsafe(send, line, text);
    }
    if ((deadlock || doomed || unsafe) && (send->input.live || send->cli->out_is_terminal))
        output_flush(out_of(send));
}

void send_report_grant(struct send *send, const char *process, struct json_value answer)
{
    if (send->cli->json) {
        pass_on(send, answer);
    } else if (send->all || send->wait) {
        progress_clear(&send->cli->progress);
        output_format(out_of(send), "%8s  granted ", "");
        style_name(&send->drawing.style, out_of(send), COLOR_PROCESS, process);
        output_char(out_of(send), '\n');
        output_flush(out_of(send));
    }
}

static void summary_json(struct send *send, struct json_value state)
{
    const struct send_tally *tally = &send->tally;
    struct json_value dead, item;
    char name[NAME_ROOM];
    struct json json;
    json_begin(&json, out_of(send));
    json_open(&json, "summary", '{');
    json_key_u64(&json, "events", tally->events);
    json_key_u64(&json, "granted", tally->granted);
    if (send->avoids) {
        json_key_u64(&json, "unsafe", tally->unsafe);
        json_key_u64(&json, "unavailable", tally->unavailable);
        json_key_u64(&json, "released", tally->released);
    } else {
        json_key_u64(&json, "blocked", tally->blocked);
        json_key_u64(&json, "deadlocks", tally->deadlocks);
        json_key_u64(&json, "doomed", tally->doomed);
    }
    json_key_u64(&json, "errors", tally->errors);
    json_key_u64(&json, "served", tally->served);
    json_key_u64(&json, "waiting", send->waiting);
    json_key_text(&json, "engine", send->engine);
    if (json_member(state, "deadlocked", &dead)) {
        json_open(&json, "deadlocked", '[');
        for (struct json_value rest = json_items(dead); json_item(&rest, &item);)
            if (json_string(item, name, sizeof name))
                json_text(&json, name);
        json_shut(&json);
    }
    json_end(&json);
}

static void write_count(struct send *send, uint64_t count, const char *one, const char *many,
                        enum color color)
{
    char text[64];
    snprintf(text, sizeof text, "%llu %s", (unsigned long long)count, count == 1 ? one : many);
    style_text(&send->drawing.style, out_of(send), color, text);
}

static void summary_text(struct send *send)
{
    const struct send_tally *tally = &send->tally;
    struct output *out = out_of(send);
    if (send->avoids) {
        write_count(send, tally->unsafe, "unsafe request", "unsafe requests",
                    tally->unsafe ? COLOR_BAD : COLOR_GOOD);
    } else if (tally->deadlocks) {
        write_count(send, tally->deadlocks, "deadlock", "deadlocks", COLOR_BAD);
    } else {
        style_text(&send->drawing.style, out, COLOR_GOOD, "no deadlock");
    }
    output_text(out, " in ");
    write_count(send, tally->events, "event", "events", COLOR_PLAIN);
    if (send->avoids)
        output_format(out, ": %llu granted, %llu unavailable, %llu refused (%s)\n",
                      (unsigned long long)tally->granted, (unsigned long long)tally->unavailable,
                      (unsigned long long)tally->errors, send->engine);
    else
        output_format(out, ": %llu granted, %llu blocked, %llu doomed, %llu refused (%s)\n",
                      (unsigned long long)tally->granted, (unsigned long long)tally->blocked,
                      (unsigned long long)tally->doomed, (unsigned long long)tally->errors,
                      send->engine);
}

void send_report_summary(struct send *send, struct json_value state)
{
    progress_clear(&send->cli->progress);
    if (send->cli->json)
        summary_json(send, state);
    else if (!send->cli->quiet)
        summary_text(send);
}
