/* The form of lines: everything that is not a line of a trace. */
#include "output/show/graph.h"
#include "service/serve/core/service_internal.h"

#include <stdio.h>
#include <string.h>

#define NOBODY      GORDIAN_NONE
#define HISTORY     50 /* incidents, if not said otherwise */
#define HISTORY_MAX 500

static const char help_text[] =
    "events: resource NAME [UNITS] | process NAME [key=value ...] | request P Q[=N] ... | "
    "release P Q[=N] [to P2] | cancel P | exit P | hold P Q[=N] | wait P Q[=N] ... | await P [K "
    "of] "
    "P1 ... | act P1 [for P]; @N before an "
    "event gives its number; also: hello [session=ID] [lease=SECONDS] [keep=yes] [token=T] "
    "[name=N] | "
    "open NAME detect|avoid [key=value ...] | use NAME | systems | close NAME | forget P | remove "
    "Q "
    "| label process|resource NAME KEY:VALUE ... | subscribe mine,deadlocks,all,none | what-if P "
    "Q[=N] ... | state [P|Q] | history [since=MS] "
    "[before=ID] [limit=N] [label=KEY:VALUE] | ping | stats | help | quit";

/* ------------------------------------------------------------------ answers */

static const struct reader *words_of(const struct client *client)
{
    return &client->service->work->trace.inside->reader;
}

static void answer_bad(struct client *client, unsigned code, const gordian_word *word,
                       const char *text)
{
    client_error(client, code, 0, word ? word->column : 1, text);
}

/* Ends the answer `{"ok":VERB,...}`. */
static void line_ok(struct client *client, const char *verb, const struct served *served)
{
    struct json json;
    json_begin(&json, &client->out);
    json_key_text(&json, "ok", verb);
    if (served)
        json_key_text(&json, "system", served->name);
    json_end(&json);
}

/* The word at `index`; NULL, and the error is sent: it is missing. */
static const gordian_word *need_word(struct client *client, size_t index, const char *what)
{
    const struct reader *reader = words_of(client);
    if (index < reader->word_count)
        return &reader->words[index];
    answer_bad(client, WIRE_BAD_VALUE, &reader->words[reader->word_count - 1], what);
    return NULL;
}

static struct served *system_of_words(struct client *client)
{
    struct served *served = service_system(client->service, client->system);
    if (!served)
        answer_bad(client, WIRE_NO_SYSTEM, NULL, "no system is in use");
    return served;
}

/* May this client change something now? */
static bool verb_may_change(struct client *client)
{
    const char *why;
    if (!client_may_write(client)) {
        answer_bad(client, WIRE_NOT_ALLOWED, NULL, "this token permits to look only");
        return false;
    }
    if (service_may_change(client->service, &why))
        return true;
    client_error(client, WIRE_NOT_KEPT, 1000, 1, why);
    return false;
}

/* ------------------------------------------------------------------ hello */

static int session_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_session(const gordian_word *value, uint8_t id[WIRE_SESSION_SIZE])
{
    if (value->length != 2 * WIRE_SESSION_SIZE)
        return false;
    for (size_t i = 0; i < WIRE_SESSION_SIZE; i++) {
        int high = session_digit(value->text[2 * i]), low = session_digit(value->text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        id[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

/* SECONDS, or Nms. */
static bool parse_lease(const gordian_word *value, uint32_t *ms)
{
    uint64_t number;
    const char *why;
    size_t length = value->length;
    bool milli = length > 2 && memcmp(value->text + length - 2, "ms", 2) == 0;
    if (!parse_u64(value->text, milli ? length - 2 : length, &number, &why) ||
        number > (milli ? UINT32_MAX : UINT32_MAX / 1000))
        return false;
    *ms = (uint32_t)(milli ? number : number * 1000);
    return true;
}

static const char *set_hello(struct wire_hello *hello, const gordian_word *word)
{
    gordian_word name, value;
    word_split(word, &name, &value);
    if (!value.text)
        return "expected key=value";
    struct wire_text text = {value.text, value.length};
    if (word_is(&name, "session"))
        return parse_session(&value, hello->session) ? NULL : "expected 32 hexadecimal digits";
    if (word_is(&name, "lease"))
        return parse_lease(&value, &hello->lease_ms) ? NULL : "expected seconds, or 500ms";
    if (word_is(&name, "keep")) {
        hello->flags &= (uint8_t)~WIRE_KEEP;
        hello->flags |= word_is(&value, "yes") ? WIRE_KEEP : 0;
        return word_is(&value, "yes") || word_is(&value, "no") ? NULL : "expected yes or no";
    }
    if (word_is(&name, "fences")) {
        hello->flags &= (uint8_t)~WIRE_FENCES;
        hello->flags |= word_is(&value, "yes") ? WIRE_FENCES : 0;
        return word_is(&value, "yes") || word_is(&value, "no") ? NULL : "expected yes or no";
    }
    if (word_is(&name, "token"))
        hello->token = text;
    else if (word_is(&name, "name"))
        hello->name = text;
    else
        return "expected session=, lease=, keep=, fences=, token= or name=";
    return NULL;
}

static void write_hello_answer(struct client *client)
{
    static const char *const levels[] = {"none", "batch", "full"};
    const struct service *service = client->service;
    struct json json;
    char id[2 * WIRE_SESSION_SIZE + 1];
    json_begin(&json, &client->out);
    json_open(&json, "hello", '{');
    if (client->session != NOBODY) {
        const struct session *session = &service->sessions[client->session];
        for (size_t i = 0; i < WIRE_SESSION_SIZE; i++)
            snprintf(id + 2 * i, 3, "%02x", session->id[i]);
        json_key_text(&json, "session", id);
        json_key_u64(&json, "last", session->last);
    }
    json_key_text(&json, "durability", levels[service->options.durability % 3]);
    if (client->fences)
        json_key_u64(&json, "fence", service->fence);
    json_key_u64(&json, "events_a_second", service->options.limits.events_a_second);
    json_key_text(&json, "version", gordian_version());
    json_end(&json);
}

static void verb_hello(struct client *client)
{
    const struct reader *reader = words_of(client);
    struct wire_hello hello = {.token = {"", 0}, .name = {client->label, strlen(client->label)}};
    for (size_t i = 1; i < reader->word_count; i++) {
        const char *wrong = set_hello(&hello, &reader->words[i]);
        if (wrong) {
            answer_bad(client, WIRE_BAD_VALUE, &reader->words[i], wrong);
            return;
        }
    }
    size_t start = client->out.used;
    if (client->form == CLIENT_LINES)
        client->fences = hello.flags & WIRE_FENCES;
    hello.flags &= WIRE_KEEP;
    if (!client_hello(client, &hello))
        return;
    write_hello_answer(client);
    client_welcomed(client, start);
}

/* ------------------------------------------------------------------ systems */

static void verb_open(struct client *client)
{
    const struct reader *reader = words_of(client);
    const gordian_word *name = need_word(client, 1, "expected the name of a system");
    const gordian_word *kind = name ? need_word(client, 2, "expected detect or avoid") : NULL;
    gordian_error error = {0};
    uint32_t slot;
    if (!kind || !verb_may_change(client))
        return;
    struct wire_open open = {.name = {name->text, name->length}, .options = {"", 0}};
    open.kind = word_is(kind, "detect") ? WIRE_DETECT : word_is(kind, "avoid") ? WIRE_AVOID : 0;
    if (open.kind == 0) {
        answer_bad(client, WIRE_BAD_VALUE, kind, "expected detect or avoid");
        return;
    }
    if (reader->word_count > 3) {
        const gordian_word *last = &reader->words[reader->word_count - 1];
        open.options.text = reader->words[3].text;
        open.options.length = (size_t)(last->text + last->length - open.options.text);
    }
    if (open.options.length > WIRE_OPTIONS_MAX) {
        answer_bad(client, WIRE_BAD_VALUE, &reader->words[3], "too many options");
        return;
    }
    /* it is a session's: what one may open counts */
    if (!session_of(client, &error) || client_may_open(client, &open, &error) ||
        apply_open(client->service, client->session, &open, &slot, &error)) {
        if (error.column && reader->word_count > 3) /* it is a column of the options */
            error.column += reader->words[3].column - 1;
        client_fail(client, &error);
        return;
    }
    client->system = slot;
    line_ok(client, "open", service_system(client->service, slot));
}

static void verb_use(struct client *client)
{
    const gordian_word *name = need_word(client, 1, "expected the name of a system");
    if (!name)
        return;
    const struct served *served = client_find_system(client, name->text, name->length);
    if (!served) {
        answer_bad(client, WIRE_NO_SYSTEM, name, "there is no system of this name");
        return;
    }
    client->system = served->slot;
    line_ok(client, "use", served);
}

static void verb_close(struct client *client)
{
    const gordian_word *name = need_word(client, 1, "expected the name of a system");
    gordian_error error = {0};
    if (!name || !verb_may_change(client))
        return;
    if (client_close_system(client, (struct wire_text){name->text, name->length}, &error))
        client_fail(client, &error);
    else
        line_ok(client, "close", NULL);
}

/* ------------------------------------------------------------------ processes and resources */

static void remove_named(struct client *client, uint8_t what, const char *verb)
{
    const gordian_word *name = need_word(client, 1, "expected a name");
    struct served *served = name ? system_of_words(client) : NULL;
    gordian_error error = {0};
    if (!served || !verb_may_change(client))
        return;
    uint32_t id = what == WIRE_PROCESS ? served_find_process(served, name->text, name->length)
                                       : served_find_resource(served, name->text, name->length);
    if (id == NOBODY)
        answer_bad(client, WIRE_BAD_VALUE, name, "there is nothing of this name");
    else if (client_may_remove(client, served, what, id, &error) ||
             apply_removal(client->service, served, what, id, &error))
        client_fail(client, &error);
    else
        line_ok(client, verb, served);
}

static void verb_forget(struct client *client)
{
    remove_named(client, WIRE_PROCESS, "forget");
}

static void verb_remove(struct client *client)
{
    remove_named(client, WIRE_RESOURCE, "remove");
}

/* KEY:VALUE ... of a process or a resource; KEY: takes it away. */
static void verb_label(struct client *client)
{
    const struct reader *reader = words_of(client);
    const gordian_word *what = need_word(client, 1, "expected process or resource");
    const gordian_word *name = what ? need_word(client, 2, "expected a name") : NULL;
    struct served *served = name ? system_of_words(client) : NULL;
    struct wire_text texts[WIRE_LABELS_MAX];
    struct wire_label label = {.texts = texts};
    gordian_error error = {0};
    if (!served || !need_word(client, 3, "expected a label, KEY:VALUE") || !verb_may_change(client))
        return;
    label.what = word_is(what, "process")    ? WIRE_PROCESS
                 : word_is(what, "resource") ? WIRE_RESOURCE
                                             : 0;
    if (label.what == 0) {
        answer_bad(client, WIRE_BAD_VALUE, what, "expected process or resource");
        return;
    }
    label.id = label.what == WIRE_PROCESS ? served_find_process(served, name->text, name->length)
                                          : served_find_resource(served, name->text, name->length);
    if (label.id == NOBODY) {
        answer_bad(client, WIRE_BAD_VALUE, name, "there is nothing of this name");
        return;
    }
    if (reader->word_count - 3 > WIRE_LABELS_MAX) {
        answer_bad(client, WIRE_BAD_VALUE, name, "too many labels");
        return;
    }
    for (size_t i = 3; i < reader->word_count; i++)
        texts[label.count++] = (struct wire_text){reader->words[i].text, reader->words[i].length};
    if (client_may_label(client, served, &label, &error) ||
        apply_label(client->service, served, client->session, &label, &error))
        client_fail(client, &error);
    else
        line_ok(client, "label", served);
}

static void verb_state(struct client *client)
{
    const struct reader *reader = words_of(client);
    struct served *served = system_of_words(client);
    if (served)
        line_state(client, served, reader->word_count > 1 ? &reader->words[1] : NULL);
}

/* Q or Q=N into a want; false: the error was sent. */
static bool take_word_want(struct client *client, const struct served *served,
                           const gordian_word *word, gordian_want *want)
{
    gordian_word name, value;
    const char *why;
    word_split(word, &name, &value);
    want->units = 1;
    if (value.text &&
        (!parse_u64(value.text, value.length, &want->units, &why) || want->units == 0)) {
        answer_bad(client, WIRE_BAD_VALUE, word, "units must be a whole number from 1 on");
        return false;
    }
    want->resource = served_find_resource(served, name.text, name.length);
    if (want->resource != NOBODY)
        return true;
    answer_bad(client, WIRE_BAD_VALUE, word, "there is no resource of this name");
    return false;
}

static void verb_what_if(struct client *client)
{
    struct service_work *work = client->service->work;
    const struct reader *reader = words_of(client);
    const gordian_word *name = need_word(client, 1, "expected a process");
    struct served *served = name ? system_of_words(client) : NULL;
    gordian_error error = {0};
    uint8_t outcome;
    if (!served || !need_word(client, 2, "expected a resource"))
        return;
    gordian_event event = {.op = GORDIAN_OP_REQUEST, .to = NOBODY, .wants = work->wants};
    event.process = served_find_process(served, name->text, name->length);
    if (event.process == NOBODY || reader->word_count > WANTS) {
        answer_bad(client, WIRE_BAD_VALUE, name, "there is no process of this name");
        return;
    }
    for (size_t i = 2; i < reader->word_count; i++)
        if (!take_word_want(client, served, &reader->words[i], &work->wants[event.want_count++]))
            return;
    if (event.want_count == 1) {
        event.resource = work->wants[0].resource;
        event.units = work->wants[0].units;
        event.wants = NULL;
        event.want_count = 0;
    }
    if (served_ask(served, &event, &outcome, &error)) {
        client_fail(client, &error);
        return;
    }
    char buffer[GORDIAN_NAME_MAX + 1];
    struct json json;
    json_begin(&json, &client->out);
    json_key_text(&json, "what_if", served_process_name(served, event.process, buffer));
    json_key_text(&json, "result", served_outcome_text(served, outcome));
    json_end(&json);
}

/* ------------------------------------------------------------------ history */

static const char *set_filter(struct incidents_filter *filter, const gordian_word *word,
                              char label[GORDIAN_NAME_MAX + 1])
{
    gordian_word name, value;
    uint64_t number;
    const char *why;
    word_split(word, &name, &value);
    if (value.text && word_is(&name, "label") && value.length <= GORDIAN_NAME_MAX) {
        memcpy(label, value.text, value.length);
        label[value.length] = '\0';
        filter->label = label;
        return NULL;
    }
    if (!value.text || !parse_u64(value.text, value.length, &number, &why) || number > INT64_MAX)
        return "expected a number: since=, before= or limit=, or a label=";
    if (word_is(&name, "since"))
        filter->since = number;
    else if (word_is(&name, "before"))
        filter->before = number;
    else if (word_is(&name, "limit") && number >= 1 && number <= HISTORY_MAX)
        filter->limit = (uint32_t)number;
    else
        return "expected since=, before= or limit= (1 to 500)";
    return NULL;
}

/* A thread looks it up; until it has, the line is taken again and again. */
static void answer_history(struct client *client, const struct incidents_filter *filter)
{
    const struct service_journal *journal = &client->service->options.journal;
    struct questions *questions = journal->history ? journal->history(journal->context) : NULL;
    struct output answer;
    gordian_error error = {0};
    if (!client->question && questions)
        client->question = questions_ask(questions, filter, 0, NULL, NULL);
    if (!client->question) {
        client->service->work->retry_ms = 1000;
        FAIL_WITH(client->service, WIRE_NOT_KEPT, &error,
                  "the history of incidents cannot be read now");
        client_fail(client, &error);
        return;
    }
    if (!question_is_answered(client->question)) {
        client->service->work->later = true;
        return;
    }
    if (question_answer(client->question, &answer, &error) == GORDIAN_OK) {
        client_put(client, answer.buffer, answer.used);
        output_close(&answer);
    } else {
        client_fail(client, &error);
    }
    client_drop_question(client);
}

static void verb_history(struct client *client)
{
    const struct reader *reader = words_of(client);
    const struct served *served = system_of_words(client);
    struct incidents_filter filter = {.limit = HISTORY};
    char label[GORDIAN_NAME_MAX + 1];
    if (!served) { /* it may have gone since the question was asked */
        client_drop_question(client);
        return;
    }
    filter.system = served->name;
    for (size_t i = 1; i < reader->word_count; i++) {
        const char *wrong = set_filter(&filter, &reader->words[i], label);
        if (wrong) {
            answer_bad(client, WIRE_BAD_VALUE, &reader->words[i], wrong);
            return;
        }
    }
    answer_history(client, &filter);
}

/* ------------------------------------------------------------------ the rest */

static bool add_subscription(const char *text, size_t length, unsigned *mask)
{
    static const struct {
        const char *word;
        unsigned mask;
    } words[] = {
        {"mine", WIRE_MY_GRANTS | WIRE_MY_DEADLOCKS},
        {"deadlocks", WIRE_MY_GRANTS | WIRE_DEADLOCKS},
        {"all", WIRE_MY_GRANTS | WIRE_DEADLOCKS | WIRE_EVERYTHING},
        {"none", 0},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == length && memcmp(words[i].word, text, length) == 0) {
            *mask |= words[i].mask;
            return true;
        }
    return false;
}

static void verb_subscribe(struct client *client)
{
    const gordian_word *list = need_word(client, 1, "expected mine, deadlocks, all or none");
    unsigned mask = 0;
    for (size_t at = 0; list && at <= list->length;) {
        size_t end = at;
        while (end < list->length && list->text[end] != ',')
            end++;
        if (!add_subscription(list->text + at, end - at, &mask)) {
            answer_bad(client, WIRE_BAD_VALUE, list, "expected mine, deadlocks, all or none");
            return;
        }
        at = end + 1;
    }
    if (!list)
        return;
    if (client_subscribe(client, (uint8_t)mask))
        line_ok(client, "subscribe", service_system(client->service, client->system));
}

static void verb_ping(struct client *client)
{
    struct json json;
    size_t start = client->out.used;
    json_begin(&json, &client->out);
    json_key_bool(&json, "pong", true);
    json_end(&json);
    client_sure(client, start, 0);
}

static void verb_help(struct client *client)
{
    struct json json;
    json_begin(&json, &client->out);
    json_key_text(&json, "help", help_text);
    json_end(&json);
}

static void verb_quit(struct client *client)
{
    line_ok(client, "quit", NULL);
    client_bye(client);
}

/* ------------------------------------------------------------------ the table */

static const struct verb {
    const char *name;
    void (*take)(struct client *client);
    bool open; /* to those who have not shown a token yet */
} verbs[] = {
    {"hello", verb_hello, true},
    {"open", verb_open, false},
    {"use", verb_use, false},
    {"systems", line_systems, false},
    {"close", verb_close, false},
    {"forget", verb_forget, false},
    {"remove", verb_remove, false},
    {"label", verb_label, false},
    {"subscribe", verb_subscribe, false},
    {"what-if", verb_what_if, false},
    {"state", verb_state, false},
    {"history", verb_history, false},
    {"ping", verb_ping, true},
    {"stats", line_stats, false},
    {"help", verb_help, true},
    {"quit", verb_quit, true},
};

bool verb_take(struct client *client)
{
    const gordian_word *word = &words_of(client)->words[0];
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (!word_is(word, verbs[i].name))
            continue;
        if (client->rights == SERVICE_NOTHING && !verbs[i].open)
            answer_bad(client, WIRE_NOT_ALLOWED, word, "hello token=... comes first");
        else
            verbs[i].take(client);
        return true;
    }
    return false;
}
