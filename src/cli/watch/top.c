/* gordian watch --top: a table of all waiting sessions, grouped under their blockers and refreshed
 * in place. */
#include "cli/watch/watch.h"

#include "cli/watch/terminal.h"
#include "foundation/base/error.h"
#include "sources/watch/tree.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MOST 400

struct top {
    struct watching *watching;
    struct tree tree;
    struct output *out;
    struct style style;
    unsigned columns, rows; /* the last column stays empty: terminals differ in how they wrap */
    unsigned used;          /* columns used on this line */
    enum tree_order order;
    size_t selected, first; /* lines of the tree: the selected one, and the first one shown */
    int64_t chosen_pid;     /* pid of the selected session */
    bool inside;            /* shows one session in full */
    int asks;               /* 'c' or 't': asks for confirmation; 0: no question */
    uint32_t asked_source;  /* the session in question */
    int64_t asked_pid;
    char asked_started[48];
    char asked_statement[48];
    bool ordered; /* asked_source has not answered yet */
    char message[200];
    struct output missed; /* what was not seen; printed after the terminal is restored */
    bool over;
};

static const char *const order_names[TREE_ORDERS] = {"most behind", "oldest", "pid"};

/* ------------------------------------------------------------------ lines */

/* Returns the bytes of a UTF-8 character that may be printed; 0: it may not. */
static size_t character_size(const unsigned char *at)
{
    size_t size = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : *at >= 0xc2 ? 2 : 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return size == 2 && *at == 0xc2 && at[1] < 0xa0 ? 0 : size; /* no control characters */
}

/* Prints a text in at most `most` columns, padded to `least`. Characters that cannot be printed
 * become question marks. */
static void put_cell(struct top *top, const char *text, unsigned most, unsigned least)
{
    unsigned used = 0, room = top->columns - top->used;
    most = most < room ? most : room;
    for (const unsigned char *at = (const unsigned char *)text; *at && used < most; used++) {
        size_t size = top->style.utf8 ? character_size(at) : 0;
        if (size)
            output_bytes(top->out, (const char *)at, size);
        else if (strchr("\t\n\r", *at))
            output_char(top->out, ' ');
        else
            output_char(top->out, *at < ' ' || *at >= 127 ? '?' : (char)*at);
        at += size ? size : 1;
    }
    for (; used < least && used < most; used++)
        output_char(top->out, ' ');
    top->used += used;
}

static void end_line(struct top *top)
{
    output_text(top->out, "\033[0m\033[K\n");
    top->used = 0;
}

static void put_head(struct top *top)
{
    const struct servers *servers = &top->watching->servers;
    char text[LINE_MOST];
    size_t away = 0;
    for (size_t i = 0; i < servers->count; i++)
        away += !servers->sources[i]->scan.whole;
    int length = snprintf(text, sizeof text, "gordian watch: %zu server%s", servers->count,
                          servers->count == 1 ? "" : "s");
    if (away)
        length += snprintf(text + length, sizeof text - (size_t)length, " (%zu not seen)", away);
    snprintf(text + length, sizeof text - (size_t)length, ", %zu wait, %zu deadlock%s; by %s",
             top->tree.overview.waiting, servers->verdict.deadlock_count,
             servers->verdict.deadlock_count == 1 ? "" : "s", order_names[top->order]);
    style_color(&top->style, top->out, COLOR_STRONG);
    put_cell(top, text, UINT_MAX, 0);
    end_line(top);
}

/* Describes what a session does. */
static void describe(const struct scan *scan, const struct session *session, char *text,
                     size_t size)
{
    if (session->wait == SCAN_NONE) {
        snprintf(text, size, "%s %.0f s", session->state,
                 session->state_s > 0 ? session->state_s : 0);
        return;
    }
    const struct wait *wait = &scan->waits[session->wait];
    snprintf(text, size, "waits %.0f s %s", wait->age_s > 0 ? wait->age_s : 0,
             *wait->row ? wait->row : wait->object);
}

static void put_row(struct top *top, size_t number)
{
    const struct tree_line *line = &top->tree.lines[number];
    struct telling telling = watching_report_context(top->watching);
    const struct scan *scan = &telling.sources[line->member.source]->scan;
    const struct session *session = &scan->sessions[line->member.session];
    char name[200], doing[200];
    unsigned indent = line->depth < 8 ? 2 * line->depth : 16;
    write_member_name(&telling, line->member, name, sizeof name);
    describe(scan, session, doing, sizeof doing);
    if (number == top->selected)
        output_text(top->out, "\033[7m");
    if (line->deadlocked)
        style_color(&top->style, top->out, COLOR_BAD);
    put_cell(top, line->deadlocked ? "!" : " ", 1, 1);
    put_cell(top, "", indent, indent);
    put_cell(top, name, 22, 22 - (indent < 12 ? indent : 12));
    put_cell(top, " ", 1, 1);
    put_cell(top, *session->application ? session->application : session->user, 12, 12);
    put_cell(top, " ", 1, 1);
    put_cell(top, doing, 30, 30);
    put_cell(top, " ", 1, 1);
    put_cell(top, session->query, UINT_MAX, 0);
    end_line(top);
}

static void put_field(struct top *top, const char *name, const char *text)
{
    if (!*text)
        return;
    put_cell(top, name, 14, 14);
    put_cell(top, text, UINT_MAX, 0);
    end_line(top);
}

static void put_session(struct top *top, const struct tree_line *line)
{
    struct telling telling = watching_report_context(top->watching);
    const struct scan *scan = &telling.sources[line->member.source]->scan;
    const struct session *session = &scan->sessions[line->member.session];
    char text[LINE_MOST];
    write_member_name(&telling, line->member, text, sizeof text);
    put_field(top, "session", text);
    put_field(top, "user", session->user);
    put_field(top, "application", session->application);
    put_field(top, "database", session->database);
    put_field(top, "client", session->address);
    put_field(top, "state", session->state);
    if (session->wait != SCAN_NONE) {
        const struct wait *wait = &scan->waits[session->wait];
        snprintf(text, sizeof text, "%s on %s %s, %.1f s", wait->mode, wait->object, wait->row,
                 wait->age_s);
        put_field(top, "waits for", text);
        for (size_t i = 0, shown = 0; i < scan->edge_count && shown < 4; i++)
            if (scan->edges[i].wait == session->wait) {
                write_member_name(&telling,
                                  (struct member){line->member.source, scan->edges[i].holder}, text,
                                  sizeof text);
                put_field(top, shown++ ? "and" : "behind", text);
            }
    }
    put_field(top, "query", session->query);
}

static void put_foot(struct top *top)
{
    char text[LINE_MOST];
    if (top->asks)
        snprintf(text, sizeof text, "%s %s/%lld? y: yes, any other key: no",
                 top->asks == 'c' ? "cancel the statement of" : "end the session",
                 top->watching->servers.sources[top->asked_source]->label,
                 (long long)top->asked_pid);
    else if (*top->message)
        snprintf(text, sizeof text, "%s", top->message);
    else
        snprintf(text, sizeof text, "%s",
                 top->inside ? "enter: back  c: cancel  t: terminate  q: quit"
                             : "up/down: choose  enter: inspect  s: sort  c: cancel  t: terminate  "
                               "q: quit");
    style_color(&top->style, top->out, COLOR_STRONG);
    put_cell(top, text, UINT_MAX, 0);
    output_text(top->out, "\033[0m\033[K\033[J");
}

static void keep_in_sight(struct top *top, size_t room)
{
    if (top->selected >= top->tree.count)
        top->selected = top->tree.count ? top->tree.count - 1 : 0;
    if (top->selected < top->first)
        top->first = top->selected;
    if (top->selected >= top->first + room)
        top->first = top->selected - room + 1;
}

static void draw_top(struct top *top)
{
    terminal_size(&top->columns, &top->rows);
    top->columns -= top->columns > 1;
    top->used = 0;
    size_t room = top->rows > 3 ? top->rows - 2 : 1;
    keep_in_sight(top, room);
    output_text(top->out, "\033[H");
    put_head(top);
    if (top->tree.count == 0)
        put_field(top, "none waiting", " ");
    else if (top->inside)
        put_session(top, &top->tree.lines[top->selected]);
    else
        for (size_t i = top->first; i < top->tree.count && i < top->first + room; i++)
            put_row(top, i);
    put_foot(top);
    output_flush(top->out);
}

/* ------------------------------------------------------------------ keys */

static void ask_first(struct top *top, int key)
{
    struct member member = top->tree.lines[top->selected].member;
    const struct session *session = member_session(top->watching->servers.sources, member);
    if (session->pid <= 0 || session->spared) {
        snprintf(top->message, sizeof top->message, "this session cannot be ended from here");
        return;
    }
    top->asks = key;
    top->asked_source = member.source;
    top->asked_pid = session->pid;
    snprintf(top->asked_started, sizeof top->asked_started, "%s", session->started);
    snprintf(top->asked_statement, sizeof top->asked_statement, "%s", session->statement);
}

/* Ends only the confirmed session; a cancel only ends the statement that was shown. */
static bool order_asked(struct top *top, struct source *source)
{
    const struct scan *scan = &source->scan;
    const struct remedy_condition condition = {
        .scan = scan,
        .session = scan_find(scan, top->asked_pid, NULL),
    };
    if (condition.session == SCAN_NONE || !source_is_up(source) || source->order.pending)
        return false;
    const struct session *session = &scan->sessions[condition.session];
    if (strcmp(session->started, top->asked_started) != 0 ||
        (top->asks == 'c' && strcmp(session->statement, top->asked_statement) != 0))
        return false;
    source_order(source, top->asks == 'c' ? REMEDY_CANCEL : REMEDY_TERMINATE, &condition);
    return true;
}

static void take_outcome(struct top *top)
{
    static const char *const outcomes[] = {
        [OUTCOME_DONE] = "the signal was sent",
        [OUTCOME_OVER] = "the session continued: nothing was done",
        [OUTCOME_REFUSED] = "the server refused",
        [OUTCOME_UNREACHABLE] = "the server is unreachable: nothing was done",
        [OUTCOME_UNKNOWN] = "the connection broke: it is not known what was done",
    };
    const struct source *source = top->watching->servers.sources[top->asked_source];
    if (!top->ordered || source->order.pending)
        return;
    snprintf(top->message, sizeof top->message, "%s/%lld: %s", source->label,
             (long long)top->asked_pid, outcomes[source->order.outcome]);
    top->ordered = false;
}

static void answer_question(struct top *top, int key)
{
    struct source *source = top->watching->servers.sources[top->asked_source];
    if (key == 'y') {
        top->ordered = order_asked(top, source);
        snprintf(top->message, sizeof top->message,
                 top->ordered ? "asked %s to end %lld"
                              : "%s/%lld: the session continued: nothing was done",
                 source->label, (long long)top->asked_pid);
    }
    top->asks = 0;
}

static void take_key(struct top *top, int key)
{
    top->message[0] = '\0';
    if (top->asks) {
        answer_question(top, key);
        return;
    }
    switch (key) {
    case 'q':
        top->over = true;
        break;
    case 'k':
    case KEY_UP:
        top->selected -= top->selected > 0;
        break;
    case 'j':
    case KEY_DOWN:
        top->selected++;
        break;
    case 's':
        top->order = (top->order + 1) % TREE_ORDERS;
        break;
    case 'i':
    case KEY_ENTER:
        top->inside = !top->inside;
        break;
    case KEY_ESCAPE:
        top->inside = false;
        break;
    case 'c':
    case 't':
        if (top->tree.count)
            ask_first(top, key);
        break;
    default:
        break;
    }
}

/* ------------------------------------------------------------------ the loop */

static bool renew_tree(struct top *top)
{
    const struct servers *servers = &top->watching->servers;
    bool any = top->tree.count > 0 && top->selected < top->tree.count;
    struct tree_line before = any ? top->tree.lines[top->selected] : (struct tree_line){0};
    if (!tree_take(&top->tree, servers, top->order))
        return false;
    if (any) {
        /* the selection follows the session to its new line */
        int64_t pid = top->chosen_pid;
        for (size_t i = 0; i < top->tree.count; i++) {
            const struct member member = top->tree.lines[i].member;
            if (member.source == before.member.source &&
                member_session(top->watching->servers.sources, member)->pid == pid)
                top->selected = i;
        }
    }
    return true;
}

static gordian_status judge_top(struct top *top, gordian_error *error)
{
    struct watching *watching = top->watching;
    if (!servers_have_new_scans(&watching->servers))
        return GORDIAN_OK;
    TRY(servers_judge(&watching->servers, error));
    if (watching->servers.verdict.deadlock_count > watching->found)
        watching->found = watching->servers.verdict.deadlock_count;
    collect_unseen(watching, &top->missed);
    return GORDIAN_OK;
}

/* Polls the servers and keys once and redraws the view. */
static gordian_status renew_top(struct top *top, gordian_error *error)
{
    struct watching *watching = top->watching;
    struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
    top->chosen_pid = 0;
    if (top->selected < top->tree.count)
        top->chosen_pid =
            member_session(top->watching->servers.sources, top->tree.lines[top->selected].member)
                ->pid;
    gordian_status status = servers_run_once(&watching->servers, UINT64_MAX, &keys, 1, error);
    THEN(status, judge_top(top, error));
    if (status != GORDIAN_OK)
        return status;
    if (!renew_tree(top))
        return fail_memory(error);
    for (int key; (keys.revents & POLLIN) && (key = terminal_read()) != KEY_NONE;)
        take_key(top, key);
    take_outcome(top);
    top->over = top->over || (keys.revents & (POLLHUP | POLLERR));
    draw_top(top);
    return GORDIAN_OK;
}

/* After the screen is gone, prints what was not seen and returns the exit status. */
static int end_top(struct top *top)
{
    struct watching *watching = top->watching;
    int code = watching_code(watching);
    if (code != EXIT_INCOMPLETE || watching->cli->quiet)
        return code;
    output_text(top->out, "nothing found, but not everything was seen\n");
    if (top->missed.used)
        output_bytes(top->out, top->missed.buffer, top->missed.used);
    else
        report_unseen_once(watching); /* ended before the servers answered */
    return code;
}

int watch_top(struct watching *watching, const volatile sig_atomic_t *stopped)
{
    struct top top = {.watching = watching, .out = &watching->cli->out};
    gordian_error error = {0};
    gordian_status status = GORDIAN_OK;
    if (!terminal_open())
        return cli_misuse(watching->cli, "--top needs a terminal");
    if (!output_open(&top.missed, OUTPUT_MEMORY))
        status = fail_memory(&error);
    top.style = cli_style(watching->cli);
    tree_open(&top.tree, &watching->memory);
    while (!top.over && !*stopped && status == GORDIAN_OK)
        status = renew_top(&top, &error);
    tree_close(&top.tree);
    terminal_close();
    int code = status == GORDIAN_OK ? end_top(&top) : cli_fail(watching->cli, NULL, &error);
    output_close(&top.missed);
    return code;
}
