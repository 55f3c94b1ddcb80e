/* The text form of the protocol: all commands that are not lines of a trace. */
#include "output/show/graph.h"
#include "service/serve/core/service_internal.h"

#include <stdio.h>
#include <string.h>

#define HISTORY     50 /* incidents per answer by default */
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

static gordian_status bad_word(struct client *client, const gordian_word *word, const char *text,
                               gordian_error *error)
{
    FAIL_AT_WORD(client->service, WIRE_BAD_VALUE, word, error, "%s", text);
    return GORDIAN_STATUS_INPUT; /* so that the compiler knows that it is never GORDIAN_OK */
}

/* Answers {"ok":VERB,...}. */
static gordian_status line_ok(struct client *client, const char *verb, const struct served *served)
{
    struct json json;
    json_begin(&json, &client->out);
    json_key_text(&json, "ok", verb);
    if (served)
        json_key_text(&json, "system", served->name);
    json_end(&json);
    return GORDIAN_OK;
}

/* Returns the word at `index`. `what`: the error if it is missing. */
static gordian_status need_word(struct client *client, size_t index, const char *what,
                                const gordian_word **word, gordian_error *error)
{
    const struct reader *reader = words_of(client);
    if (index >= reader->word_count)
        return bad_word(client, &reader->words[reader->word_count - 1], what, error);
    *word = &reader->words[index];
    return GORDIAN_OK;
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

/* Parses SECONDS or Nms. */
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

static const char *set_flag(struct wire_hello *hello, uint8_t flag, const gordian_word *value)
{
    hello->flags &= (uint8_t)~flag;
    hello->flags |= word_is(value, "yes") ? flag : 0;
    return word_is(value, "yes") || word_is(value, "no") ? NULL : "expected yes or no";
}

/* Sets an option of HELLO. Returns NULL, or what is wrong with the word. */
static const char *set_hello(struct wire_hello *hello, const gordian_word *word)
{
    gordian_word name, value;
    word_split(word, &name, &value);
    if (!value.text)
        return "expected key=value";
    if (word_is(&name, "session"))
        return parse_session(&value, hello->session) ? NULL : "expected 32 hexadecimal digits";
    if (word_is(&name, "lease"))
        return parse_lease(&value, &hello->lease_ms) ? NULL : "expected seconds, or 500ms";
    if (word_is(&name, "keep"))
        return set_flag(hello, WIRE_KEEP, &value);
    if (word_is(&name, "fences"))
        return set_flag(hello, WIRE_FENCES, &value);
    if (word_is(&name, "token"))
        hello->token = word_text(&value);
    else if (word_is(&name, "name"))
        hello->name = word_text(&value);
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
    if (client->session != GORDIAN_NONE) {
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

static gordian_status verb_hello(struct client *client, gordian_error *error)
{
    const struct reader *reader = words_of(client);
    struct wire_hello hello = {.token = {"", 0}, .name = {client->label, strlen(client->label)}};
    for (size_t i = 1; i < reader->word_count; i++) {
        const char *wrong = set_hello(&hello, &reader->words[i]);
        if (wrong)
            return bad_word(client, &reader->words[i], wrong, error);
    }
    size_t start = client->out.used;
    if (client->form == CLIENT_LINES)
        client->fences = hello.flags & WIRE_FENCES;
    hello.flags &= WIRE_KEEP;
    TRY(client_hello(client, &hello, error));
    write_hello_answer(client);
    client_welcomed(client, start);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ systems */

static gordian_status verb_open(struct client *client, gordian_error *error)
{
    const struct reader *reader = words_of(client);
    const gordian_word *name, *kind, *rest = reader->word_count > 3 ? &reader->words[3] : NULL;
    uint32_t slot;
    TRY(need_word(client, 1, "expected the name of a system", &name, error));
    TRY(need_word(client, 2, "expected detect or avoid", &kind, error));
    TRY(client_may_change(client, error));
    struct wire_open open = {.name = word_text(name), .options = {"", 0}};
    open.kind = word_is(kind, "detect") ? WIRE_DETECT : word_is(kind, "avoid") ? WIRE_AVOID : 0;
    if (open.kind == 0)
        return bad_word(client, kind, "expected detect or avoid", error);
    if (rest) {
        const gordian_word *last = &reader->words[reader->word_count - 1];
        open.options =
            (struct wire_text){rest->text, (size_t)(last->text + last->length - rest->text)};
    }
    if (open.options.length > WIRE_OPTIONS_MAX)
        return bad_word(client, rest, "too many options", error);
    gordian_status status = session_ensure(client, error); /* its quota counts systems */
    THEN(status, client_may_open(client, &open, error));
    THEN(status, apply_open(client->service, client->session, &open, &slot, error));
    if (status != GORDIAN_OK) {
        if (error->column && rest) /* a column of the options */
            error->column += rest->column - 1;
        return status;
    }
    client->system = slot;
    return line_ok(client, "open", service_system(client->service, slot));
}

static gordian_status verb_use(struct client *client, gordian_error *error)
{
    const gordian_word *name;
    struct served *served;
    TRY(need_word(client, 1, "expected the name of a system", &name, error));
    gordian_status status = client_find_system(client, word_text(name), &served, error);
    error->column = name->column;
    if (status != GORDIAN_OK)
        return status;
    client->system = served->slot;
    return line_ok(client, "use", served);
}

static gordian_status verb_close(struct client *client, gordian_error *error)
{
    const gordian_word *name;
    TRY(need_word(client, 1, "expected the name of a system", &name, error));
    TRY(client_may_change(client, error));
    TRY(client_close_system(client, word_text(name), error));
    return line_ok(client, "close", NULL);
}

/* ------------------------------------------------------------------ processes and resources */

static gordian_status find_named(struct client *client, const struct served *served, uint8_t what,
                                 const gordian_word *name, uint32_t *id, gordian_error *error)
{
    *id = (what == WIRE_PROCESS ? served_find_process : served_find_resource)(served, name->text,
                                                                              name->length);
    return *id != GORDIAN_NONE
               ? GORDIAN_OK
               : bad_word(client, name, "there is no process or resource of this name", error);
}

/* forget P, remove Q */
static gordian_status verb_remove(struct client *client, gordian_error *error)
{
    bool process = word_is(&words_of(client)->words[0], "forget");
    uint8_t what = process ? WIRE_PROCESS : WIRE_RESOURCE;
    const gordian_word *name;
    struct served *served;
    uint32_t id;
    TRY(need_word(client, 1, "expected a name", &name, error));
    TRY(client_system(client, &served, error));
    TRY(client_may_change(client, error));
    TRY(find_named(client, served, what, name, &id, error));
    TRY(client_may_modify(client, served, what, id, "end", error));
    TRY(apply_removal(client->service, served, what, id, error));
    return line_ok(client, process ? "forget" : "remove", served);
}

/* label process|resource NAME KEY:VALUE ... (KEY: removes a label) */
static gordian_status verb_label(struct client *client, gordian_error *error)
{
    const struct reader *reader = words_of(client);
    const gordian_word *what, *name, *first;
    struct served *served;
    struct wire_text texts[WIRE_LABELS_MAX];
    struct wire_label label = {.texts = texts};
    TRY(need_word(client, 1, "expected process or resource", &what, error));
    TRY(need_word(client, 2, "expected a name", &name, error));
    TRY(client_system(client, &served, error));
    TRY(need_word(client, 3, "expected a label, KEY:VALUE", &first, error));
    TRY(client_may_change(client, error));
    label.what = word_is(what, "process") ? WIRE_PROCESS : WIRE_RESOURCE;
    if (label.what == WIRE_RESOURCE && !word_is(what, "resource"))
        return bad_word(client, what, "expected process or resource", error);
    TRY(find_named(client, served, label.what, name, &label.id, error));
    if (reader->word_count - 3 > WIRE_LABELS_MAX)
        return bad_word(client, name, "too many labels", error);
    for (size_t i = 3; i < reader->word_count; i++)
        texts[label.count++] = word_text(&reader->words[i]);
    TRY(client_may_modify(client, served, label.what, label.id, "label", error));
    TRY(apply_label(client->service, served, client->session, &label, error));
    return line_ok(client, "label", served);
}

/* Q or Q=N */
static gordian_status take_word_want(struct client *client, const struct served *served,
                                     const gordian_word *word, gordian_want *want,
                                     gordian_error *error)
{
    gordian_word name, value;
    const char *why;
    word_split(word, &name, &value);
    want->units = 1;
    if (value.text &&
        (!parse_u64(value.text, value.length, &want->units, &why) || want->units == 0))
        return bad_word(client, word, "units must be a whole number, at least 1", error);
    want->resource = served_find_resource(served, name.text, name.length);
    return want->resource != GORDIAN_NONE
               ? GORDIAN_OK
               : bad_word(client, word, "there is no resource of this name", error);
}

static gordian_status verb_what_if(struct client *client, gordian_error *error)
{
    struct service_work *work = client->service->work;
    const struct reader *reader = words_of(client);
    const gordian_word *name, *first;
    struct served *served;
    uint8_t outcome;
    TRY(need_word(client, 1, "expected a process", &name, error));
    TRY(client_system(client, &served, error));
    TRY(need_word(client, 2, "expected a resource", &first, error));
    gordian_event event = {.op = GORDIAN_OP_REQUEST, .to = GORDIAN_NONE, .wants = work->wants};
    event.process = served_find_process(served, name->text, name->length);
    if (event.process == GORDIAN_NONE || reader->word_count > WANTS)
        return bad_word(client, name, "there is no process of this name", error);
    for (size_t i = 2; i < reader->word_count; i++)
        TRY(take_word_want(client, served, &reader->words[i], &work->wants[event.want_count++],
                           error));
    if (event.want_count == 1) {
        event.resource = work->wants[0].resource;
        event.units = work->wants[0].units;
        event.wants = NULL;
        event.want_count = 0;
    }
    TRY(served_ask(served, &event, &outcome, error));
    char buffer[GORDIAN_NAME_MAX + 1];
    struct json json;
    json_begin(&json, &client->out);
    json_key_text(&json, "what_if", served_process_name(served, event.process, buffer));
    json_key_text(&json, "result", served_outcome_text(served, outcome));
    json_end(&json);
    return GORDIAN_OK;
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

/* Answers a query of the history. A thread reads it; until then the line is taken again. */
static gordian_status answer_history(struct client *client, const struct incidents_filter *filter,
                                     gordian_error *error)
{
    const struct service_journal *journal = &client->service->options.journal;
    struct questions *questions = journal->history ? journal->history(journal->context) : NULL;
    struct output answer;
    if (!client->question && questions)
        client->question = questions_ask(questions, filter, 0, NULL, NULL);
    if (!client->question) {
        client->service->work->retry_ms = 1000;
        return FAIL_WITH(client->service, WIRE_NOT_KEPT, error,
                         "the history of incidents cannot be read now: retry later");
    }
    if (!question_is_answered(client->question)) {
        client->service->work->later = true;
        return GORDIAN_OK;
    }
    gordian_status status = question_answer(client->question, &answer, error);
    if (status == GORDIAN_OK) {
        client_put(client, answer.buffer, answer.used);
        output_close(&answer);
    }
    client_drop_question(client);
    return status;
}

static gordian_status verb_history(struct client *client, gordian_error *error)
{
    const struct reader *reader = words_of(client);
    struct served *served;
    struct incidents_filter filter = {.limit = HISTORY};
    char label[GORDIAN_NAME_MAX + 1];
    gordian_status status = client_system(client, &served, error);
    if (status != GORDIAN_OK) { /* the system may have been closed since the query began */
        client_drop_question(client);
        return status;
    }
    filter.system = served->name;
    for (size_t i = 1; i < reader->word_count; i++) {
        const char *wrong = set_filter(&filter, &reader->words[i], label);
        if (wrong)
            return bad_word(client, &reader->words[i], wrong, error);
    }
    return answer_history(client, &filter, error);
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

static gordian_status verb_subscribe(struct client *client, gordian_error *error)
{
    static const char expected[] = "expected mine, deadlocks, all or none";
    const gordian_word *list;
    unsigned mask = 0;
    TRY(need_word(client, 1, expected, &list, error));
    for (size_t at = 0; at <= list->length;) {
        size_t end = at;
        while (end < list->length && list->text[end] != ',')
            end++;
        if (!add_subscription(list->text + at, end - at, &mask))
            return bad_word(client, list, expected, error);
        at = end + 1;
    }
    TRY(client_subscribe(client, (uint8_t)mask, error));
    return line_ok(client, "subscribe", service_system(client->service, client->system));
}

static gordian_status verb_ping(struct client *client, gordian_error *error)
{
    struct json json;
    size_t start = client->out.used;
    (void)error;
    json_begin(&json, &client->out);
    json_key_bool(&json, "pong", true);
    json_end(&json);
    client_skip_journal(client, start, 0);
    return GORDIAN_OK;
}

static gordian_status verb_help(struct client *client, gordian_error *error)
{
    struct json json;
    (void)error;
    json_begin(&json, &client->out);
    json_key_text(&json, "help", help_text);
    json_end(&json);
    return GORDIAN_OK;
}

static gordian_status verb_quit(struct client *client, gordian_error *error)
{
    (void)error;
    line_ok(client, "quit", NULL);
    client_bye(client);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the table */

static const struct verb {
    const char *name;
    gordian_status (*take)(struct client *client, gordian_error *error);
    bool open; /* before a token was shown */
} verbs[] = {
    {"hello", verb_hello, true},
    {"open", verb_open, false},
    {"use", verb_use, false},
    {"systems", line_systems, false},
    {"close", verb_close, false},
    {"forget", verb_remove, false},
    {"remove", verb_remove, false},
    {"label", verb_label, false},
    {"subscribe", verb_subscribe, false},
    {"what-if", verb_what_if, false},
    {"state", line_state, false},
    {"history", verb_history, false},
    {"ping", verb_ping, true},
    {"stats", line_stats, false},
    {"help", verb_help, true},
    {"quit", verb_quit, true},
};

gordian_status verb_take(struct client *client, bool *known, gordian_error *error)
{
    const gordian_word *word = &words_of(client)->words[0];
    const struct verb *verb = verbs, *end = verbs + sizeof verbs / sizeof *verbs;
    while (verb < end && !word_is(word, verb->name))
        verb++;
    *known = verb < end;
    if (!*known)
        return GORDIAN_STATUS_INPUT;
    if (client->rights == SERVICE_NOTHING && !verb->open)
        return FAIL_AT_WORD(client->service, WIRE_NOT_ALLOWED, word, error,
                            "send hello token=... first");
    return verb->take(client, error);
}
