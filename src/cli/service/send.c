/* gordian send: streams a trace to the service and prints its answers. */
#include "cli/service/send.h"

#include "cli/base/commands.h"
#include "cli/base/interrupt.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LEASE_MS   30000
#define UNANSWERED 65536 /* lines; then answers are awaited before more input is read */
#define SILENCE_NS (5 * UINT64_C(1000000000))

/* ------------------------------------------------------------------ connection */

/* Handles the connection; waits for answers, or for input, at most this long. */
static gordian_status send_step(struct send *send, bool for_input, int timeout_ms,
                                gordian_error *error)
{
    int own = gordian_client_timeout(send->client);
    struct pollfd wanted[] = {
        {.fd = gordian_client_fd(send->client), .events = gordian_client_events(send->client)},
        {.fd = for_input ? send->input.fd : -1, .events = POLLIN}};
    if (own >= 0 && (timeout_ms < 0 || own < timeout_ms))
        timeout_ms = own;
    if (poll(wanted, 2, timeout_ms) < 0 && errno != EINTR)
        return fail(error, GORDIAN_STATUS_IO, "cannot wait: %s", strerror(errno));
    gordian_status status = gordian_client_work(send->client, error);
    if (status != GORDIAN_OK)
        return reach_explain(&send->reach, error);
    if (send->failure.status != GORDIAN_OK)
        *error = send->failure;
    return send->failure.status;
}

/* Waits until at most `most` lines are unanswered. */
static gordian_status send_drain(struct send *send, size_t most, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    send->heard_at = 0;
    while (status == GORDIAN_OK && !send->refused &&
           gordian_client_unanswered(send->client) > most) {
        status = send_step(send, false, 1000, error);
        /* The service may hold back answers until it can store data again. Report that while
         * waiting. */
        uint64_t now = clock_ns();
        if (send->heard && send->reported_silence)
            cli_say(send->cli, "%.200s answers again", send->reach.uri);
        if (send->heard || send->heard_at == 0) {
            send->heard_at = now;
            send->reported_silence = false;
        } else if (!send->reported_silence && !send->cli->quiet &&
                   now - send->heard_at > SILENCE_NS) {
            cli_say(send->cli,
                    "%.200s has not answered for %d seconds: see its log and /readyz (disk full?); "
                    "waiting",
                    send->reach.uri, (int)(SILENCE_NS / 1000000000));
            send->reported_silence = true;
        }
        send->heard = false;
    }
    return status;
}

static void report_link(void *context, bool connected, const char *why)
{
    struct send *send = context;
    if (!connected && !send->cli->quiet)
        cli_say(send->cli, "%.130s: %.260s; connecting again", send->reach.uri, why);
}

/* Sends a line and returns the answer; NULL: failed. */
static const struct value *ask_line(struct send *send, struct arena *arena, const char *line,
                                    const char **text, gordian_error *error)
{
    size_t length;
    *arena = (struct arena){.memory = send->memory};
    send->reach.code = 0;
    if (gordian_client_ask(send->client, line, text, &length, error) != GORDIAN_OK) {
        reach_explain(&send->reach, error);
        return NULL;
    }
    const struct value *answer = service_json_parse(arena, *text, length);
    if (!answer)
        fail(error, GORDIAN_STATUS_IO, "%.200s does not speak Gordian's protocol", send->reach.uri);
    return answer;
}

/* Parses "avoid queue=yes". */
static gordian_status read_open(struct send *send, gordian_error *error)
{
    gordian_client_options *options = &send->reach.options;
    size_t length = strcspn(send->open, " \t");
    options->open_options = send->open + length;
    if (length == 6 && memcmp(send->open, "detect", length) == 0)
        options->open = GORDIAN_SERVICE_KIND_DETECTS;
    else if (length == 5 && memcmp(send->open, "avoid", length) == 0)
        options->open = GORDIAN_SERVICE_KIND_AVOIDS;
    else
        return fail(error, GORDIAN_STATUS_INPUT, "--open: '%.40s' is not detect or avoid",
                    send->open);
    return GORDIAN_OK;
}

/* Connects and queries the system. */
static gordian_status send_open(struct send *send, gordian_error *error)
{
    gordian_client_options *options = &send->reach.options;
    const char *text;
    options->lease_ms = LEASE_MS;
    options->keep = !send->drop;
    options->patient = true;
    options->window = 2 * UNANSWERED; /* back-pressure is applied here */
    options->granted = send_granted;
    options->link = report_link;
    options->context = send;
    TRY(send->open ? read_open(send, error) : GORDIAN_OK);
    TRY(reach_open(&send->reach, &send->client, error));
    struct arena arena;
    const struct value *state = ask_line(send, &arena, "state", &text, error);
    send->avoids = gordian_client_kind(send->client) == GORDIAN_SERVICE_KIND_AVOIDS;
    snprintf(send->engine, sizeof send->engine, "%s",
             service_json_text(value_find(state, "state"), "engine"));
    gordian_status status = state ? GORDIAN_OK : error->status;
    arena_free(&arena);
    return status;
}

gordian_status send_text(struct send *send, struct sent_line line, gordian_error *error)
{
    const char *text = fifo_back(&send->texts);
    if (!fifo_reserve(&send->memory, &send->sent, sizeof line))
        return fail_memory(error);
    *(struct sent_line *)fifo_back(&send->sent) = line;
    fifo_put(&send->sent, sizeof line);
    fifo_put(&send->texts, line.size);
    gordian_status status = gordian_client_send_line(send->client, text, line.size, line.event,
                                                     send_answered, send, error);
    return status == GORDIAN_OK ? send_drain(send, send->strict ? 0 : UNANSWERED, error) : status;
}

/* Sends a line of the trace, its words separated by single blanks. */
static gordian_status send_line(struct send *send, gordian_error *error)
{
    const gordian_trace *trace = &send->trace;
    size_t capacity = 0;
    for (size_t i = 0; i < trace->word_count; i++)
        capacity += trace->words[i].length + 1;
    if (!fifo_reserve(&send->memory, &send->texts, capacity))
        return fail_memory(error);
    char *at = fifo_back(&send->texts);
    for (size_t i = 0; i < trace->word_count; i++) {
        memcpy(at, trace->words[i].text, trace->words[i].length);
        at += trace->words[i].length;
        *at++ = ' ';
    }
    struct sent_line line = {.line = trace->line,
                             .column = trace->verb.column,
                             .size = (uint32_t)(capacity - 1),
                             .event = trace->kind == GORDIAN_LINE_EVENT};
    return send_text(send, line, error);
}

/* ------------------------------------------------------------------ input */

/* Waits for live input and for answers at the same time. */
static ptrdiff_t read_send_input(void *context, char *buffer, size_t size)
{
    struct send *send = context;
    struct pollfd wanted = {.fd = send->input.fd, .events = POLLIN};
    while (send->input.live && poll(&wanted, 1, 0) == 0) {
        gordian_error error = {0};
        output_flush(&send->cli->out);
        if (send_step(send, true, -1, &error) != GORDIAN_OK) {
            cli_fail(send->cli, NULL, &error);
            errno = EIO;
            return -1;
        }
    }
    for (;;) {
        ssize_t count = read(send->input.fd, buffer, size);
        if (count >= 0 || errno != EINTR)
            return count;
    }
}

static void show_send_progress(struct send *send)
{
    struct progress *progress = &send->cli->progress;
    if (!progress_due(progress))
        return;
    double events = (double)send->events;
    progress_show(progress, "%.0f thousand events, %.1f thousand/s, %llu %s", events / 1e3,
                  events / 1e3 / progress_seconds(progress),
                  (unsigned long long)send->results[send->avoids ? SEND_UNSAFE : SEND_DEADLOCK],
                  send->avoids ? "unsafe" : "deadlocks");
}

/* Sends the trace to its end, or until the output is closed. */
static gordian_status stream_trace(struct send *send, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    for (uint64_t lines = 1; status == GORDIAN_OK && !send->refused && !send->cli->out.failure;
         lines++) {
        status = gordian_trace_next(&send->trace, error);
        THEN(status, send_line(send, error));
        if (status == GORDIAN_OK && send->labels && !send->refused)
            status = send_labels(send, error);
        if (status == GORDIAN_OK && lines % 256 == 0)
            status = send_step(send, false, 0, error);
        if (lines % 1024 == 0)
            show_send_progress(send);
    }
    if (status == GORDIAN_STATUS_END)
        return send_drain(send, 0, error);
    if (status == GORDIAN_STATUS_INPUT) { /* the lines before the bad one were sent */
        gordian_error ignored;
        send_drain(send, 0, &ignored);
    }
    return status;
}

/* Waits until all requests that can be granted are granted, or until the timeout. */
static gordian_status wait_for_grants(struct send *send, gordian_error *error)
{
    uint64_t until = clock_ns() + send->timeout * UINT64_C(1000000000);
    gordian_status status = GORDIAN_OK;
    struct sigaction before;
    output_flush(&send->cli->out);
    interrupt_catch(&before);
    while (status == GORDIAN_OK && send->waiting > 0 && !interrupt_seen() &&
           (send->timeout == 0 || clock_ns() < until)) {
        if (progress_due(&send->cli->progress))
            progress_show(&send->cli->progress, "%llu waiting", (unsigned long long)send->waiting);
        status = send_step(send, false, 100, error);
    }
    interrupt_release(&before);
    if (status == GORDIAN_OK && send->waiting > 0 && !send->cli->quiet)
        cli_say(send->cli, "%llu still waiting", (unsigned long long)send->waiting);
    return status;
}

static gordian_status finish_send(struct send *send, gordian_error *error)
{
    const char *text;
    gordian_status status = send->wait ? wait_for_grants(send, error) : GORDIAN_OK;
    TRY(status);
    struct arena arena;
    const struct value *state = ask_line(send, &arena, "state", &text, error);
    if (state)
        send_report_summary(send, value_find(state, "state"));
    arena_free(&arena);
    if (!state)
        return error->status;
    gordian_client_close(send->client);
    send->client = NULL;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ --what-if */

static int ask_what_if(struct send *send, int operands, char **argv)
{
    char line[2000] = "what-if";
    const char *text;
    gordian_error error = {0};
    if (operands < 2)
        return cli_misuse(send->cli, "--what-if needs a process and the resources of a request");
    for (int i = 0; i < operands; i++) {
        if (strlen(line) + strlen(argv[i]) + 2 > sizeof line || strpbrk(argv[i], " \t\r\n#"))
            return cli_misuse(send->cli, "'%.60s' is not a name", argv[i]);
        strcat(line, " ");
        strcat(line, argv[i]);
    }
    struct arena arena = {0};
    const struct value *answer = NULL;
    if (send_open(send, &error) == GORDIAN_OK)
        answer = ask_line(send, &arena, line, &text, &error);
    if (!answer) {
        arena_free(&arena);
        return cli_fail(send->cli, NULL, &error);
    }
    const char *result = service_json_text(answer, "result");
    output_format(&send->cli->out, "%s\n", send->cli->json ? text : result);
    bool bad = strcmp(result, "deadlock") == 0 || strcmp(result, "doomed") == 0 ||
               strcmp(result, "unsafe") == 0;
    int code = strcmp(result, "error") == 0 ? EXIT_MISUSE : bad ? EXIT_FOUND : EXIT_NOTHING;
    arena_free(&arena);
    return code;
}

/* ------------------------------------------------------------------ the command */

static int run_send(struct send *send, const char *path)
{
    gordian_error error = {0};
    TRY_CODE(input_open(&send->input, send->cli, path));
    gordian_status status = send_open(send, &error);
    if (status != GORDIAN_OK)
        return cli_fail(send->cli, NULL, &error);
    gordian_source source = {read_send_input, send};
    status = gordian_trace_open(&send->trace, &source, NULL, &error);
    send->trace.avoidance = send->avoids;
    send->trace.acts = !send->avoids;
    THEN(status, stream_trace(send, &error));
    if (send->refused)
        return send->refused_status == GORDIAN_STATUS_INPUT ? EXIT_MISUSE : EXIT_BROKEN;
    if (status == GORDIAN_OK && !send->cli->out.failure)
        status = finish_send(send, &error);
    if (status == GORDIAN_OK && send_refused_all(send)) {
        fail(&error, send->refused_status, "all events were refused (%llu): there is no result",
             (unsigned long long)send->events);
        return cli_fail(send->cli, send->input.name, &error);
    }
    if (status != GORDIAN_OK)
        return cli_fail(send->cli, error.line ? send->input.name : NULL, &error);
    const uint64_t *results = send->results;
    return results[SEND_DEADLOCK] || results[SEND_DOOMED] || results[SEND_UNSAFE] ? EXIT_FOUND
                                                                                  : EXIT_NOTHING;
}

static int send_main(struct cli *cli, int argc, char **argv)
{
    struct send send = {.cli = cli, .input.fd = -1, .memory = memory_allocator(NULL)};
    const struct option options[] = {
        REACH_TO(send.reach),
        {"system", 's', "NAME", "the system the trace is for (default: default)", OPTION_TEXT,
         &send.reach.options.system},
        {"open", 0, "KIND",
         "create a missing system: detect or avoid, with\noptions: 'avoid queue=yes'", OPTION_WORD,
         &send.open, (const char *const[]){"detect", "avoid", NULL}},
        {"label", 0, "LABELS",
         "label the trace's processes: KEY:VALUE; separate\nseveral by blanks", OPTION_TEXT,
         &send.labels},
        REACH_SAFELY(send.reach),
        {"all", 'a', NULL, "show every event, not only deadlocks", OPTION_FLAG, &send.all},
        {"strict", 0, NULL, "stop at the first event that is refused", OPTION_FLAG, &send.strict},
        {"wait", 'w', NULL, "wait until all requests that can be served are served", OPTION_FLAG,
         &send.wait},
        {"timeout", 0, "SECONDS", "with --wait: time limit (default: no limit)", OPTION_U32,
         &send.timeout},
        {"drop", 0, NULL, "end the trace's processes at the end, which releases\nall they hold",
         OPTION_FLAG, &send.drop},
        {"what-if", 0, NULL,
         "only show what a request would get:\ngordian send --what-if "
         "PROCESS RESOURCE[=N]...",
         OPTION_FLAG, &send.what_if},
        {0},
    };
    const char *wrong;
    int code;
    reach_init(&send.reach, "gordian-send");
    int operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    if (!send.what_if && operands > 1)
        return cli_misuse(cli, "only one FILE is allowed: unexpected '%.200s'", argv[1]);
    if (send.timeout && !send.wait)
        return cli_misuse(cli, "--timeout needs --wait");
    if (send.labels && !send_labels_fit(send.labels, &wrong))
        return cli_misuse(cli, "--label: '%.60s' is not a label: expected KEY:VALUE", wrong);
    send.drawing = (struct drawing){cli_style(cli), &cli->out, NULL, cli->verbose};
    names_init(&send.names, &send.memory);
    names_init(&send.labelled, &send.memory);
    parsed_witness_init(&send.parsed);
    code = send.what_if ? ask_what_if(&send, operands, argv)
                        : run_send(&send, operands ? argv[0] : NULL);
    gordian_client_leave(send.client);
    gordian_trace_close(&send.trace);
    input_close(&send.input);
    fifo_free(&send.memory, &send.sent);
    fifo_free(&send.memory, &send.texts);
    memory_free(&send.memory, send.waits);
    names_free(&send.names);
    send_labels_free(&send);
    parsed_witness_free(&send.parsed);
    return code;
}

const struct command command_send = {
    .name = "send",
    .operands = "[FILE]",
    .summary = "stream a trace to a running service",
    .about =
        "Sends a trace, from FILE or from standard input as it arrives, to a running 'gordian\n"
        "serve' and reports the answers like 'gordian detect'. The service keeps what the\n"
        "trace's processes hold; --drop releases it.\n",
    .run = send_main,
};
