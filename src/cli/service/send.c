/* gordian send: streams a trace to the service and prints what it answers. */
#include "cli/service/send.h"

#include "base/clock.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ input */

/* Live input is waited for together with the service's answers. */
static ptrdiff_t read_input(void *context, char *buffer, size_t size)
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

static void show_progress(struct send *send)
{
    struct progress *progress = &send->cli->progress;
    if (!progress_due(progress))
        return;
    double events = (double)send->tally.events;
    progress_show(progress, "%.0f thousand events, %.1f thousand/s, %llu %s", events / 1e3,
                  events / 1e3 / progress_seconds(progress),
                  (unsigned long long)(send->avoids ? send->tally.unsafe : send->tally.deadlocks),
                  send->avoids ? "unsafe" : "deadlocks");
}

/* To the end of the trace, or of whoever reads our output. */
static gordian_status stream(struct send *send, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    for (uint64_t lines = 1; status == GORDIAN_OK && !send->refused && !send->cli->out.failure;
         lines++) {
        status = gordian_trace_next(&send->trace, error);
        if (status == GORDIAN_OK)
            status = send_line(send, error);
        if (status == GORDIAN_OK && lines % 256 == 0)
            status = send_step(send, false, 0, error);
        if (lines % 1024 == 0)
            show_progress(send);
    }
    if (status == GORDIAN_STATUS_END)
        return send_drain(send, error);
    if (status == GORDIAN_STATUS_INPUT) { /* what came before the bad line has been sent */
        gordian_error ignored;
        send_drain(send, &ignored);
    }
    return status;
}

/* Until every request of ours that can be served is, or the time is up. */
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

static gordian_status finish(struct send *send, gordian_error *error)
{
    struct json_value state = {"", 0};
    gordian_status status = GORDIAN_OK;
    if (send->wait)
        status = wait_for_grants(send, error);
    if (status == GORDIAN_OK)
        status = send_ask(send, "state", error);
    if (status == GORDIAN_OK) {
        json_member(json_line(send->final.buffer, send->final.used), "state", &state);
        send_report_summary(send, state);
        line_link_put(&send->link, "quit\n", 5);
        gordian_error ignored;
        while (line_link_step(&send->link, -1, 1000, &ignored) == GORDIAN_OK) {
        }
    }
    return status;
}

/* ------------------------------------------------------------------ --what-if */

static int ask_what_if(struct send *send, int operands, char **argv)
{
    char line[2000] = "what-if", result[40];
    gordian_error error = {0};
    if (operands < 2)
        return cli_misuse(send->cli, "--what-if needs a process and what it would request");
    for (int i = 0; i < operands; i++) {
        if (strlen(line) + strlen(argv[i]) + 2 > sizeof line || strpbrk(argv[i], " \t\r\n#"))
            return cli_misuse(send->cli, "'%.60s' is not a name", argv[i]);
        strcat(line, " ");
        strcat(line, argv[i]);
    }
    gordian_status status = send_open(send, &error);
    if (status == GORDIAN_OK)
        status = send_ask(send, line, &error);
    if (status != GORDIAN_OK)
        return cli_fail(send->cli, NULL, &error);
    struct json_value answer = json_line(send->final.buffer, send->final.used);
    json_member_string(answer, "result", result, sizeof result);
    output_format(&send->cli->out, "%.*s\n",
                  send->cli->json ? (int)answer.length : (int)strlen(result),
                  send->cli->json ? answer.text : result);
    bool bad = strcmp(result, "deadlock") == 0 || strcmp(result, "doomed") == 0 ||
               strcmp(result, "unsafe") == 0;
    return strcmp(result, "error") == 0 ? EXIT_MISUSE : bad ? EXIT_FOUND : EXIT_NOTHING;
}

/* ------------------------------------------------------------------ the command */

static int run_send(struct send *send, const char *path)
{
    gordian_error error = {0};
    int code = input_open(&send->input, send->cli, path);
    if (code != EXIT_NOTHING)
        return code;
    gordian_status status = send_open(send, &error);
    if (status != GORDIAN_OK)
        return cli_fail(send->cli, NULL, &error);
    gordian_source source = {read_input, send};
    status = gordian_trace_open(&send->trace, &source, &send->link.memory, &error);
    if (status == GORDIAN_OK) {
        send->trace.avoidance = send->avoids;
        status = stream(send, &error);
    }
    if (send->refused)
        return send->refused_status == GORDIAN_STATUS_INPUT ? EXIT_MISUSE : EXIT_BROKEN;
    if (status == GORDIAN_OK && !send->cli->out.failure)
        status = finish(send, &error);
    if (status != GORDIAN_OK)
        return cli_fail(send->cli, error.line ? send->input.name : NULL, &error);
    const struct send_tally *tally = &send->tally;
    return tally->deadlocks || tally->doomed || tally->unsafe ? EXIT_FOUND : EXIT_NOTHING;
}

static void send_close(struct send *send)
{
    gordian_trace_close(&send->trace);
    input_close(&send->input);
    fifo_free(&send->link.memory, &send->sent);
    fifo_free(&send->link.memory, &send->texts);
    memory_free(&send->link.memory, send->waits);
    names_free(&send->names);
    told_witness_free(&send->told);
    if (send->final.buffer)
        output_close(&send->final);
    line_link_close(&send->link);
}

static int run_with_link(struct send *send, int operands, char **argv)
{
    gordian_error error = {0};
    gordian_status status = line_link_find(&send->link, send->to, &send->tls, &error);
    names_init(&send->names, &send->link.memory);
    told_witness_init(&send->told);
    if (status == GORDIAN_OK && send->token_file)
        status = line_link_token(send->token_file, send->token, sizeof send->token, &error);
    int code = status != GORDIAN_OK ? cli_fail(send->cli, NULL, &error)
               : send->what_if      ? ask_what_if(send, operands, argv)
                                    : run_send(send, operands ? argv[0] : NULL);
    send_close(send);
    return code;
}

static int send_main(struct cli *cli, int argc, char **argv)
{
    struct send send = {.cli = cli, .input.fd = -1, .link = LINE_LINK_NONE, .next_number = 1};
    const struct option options[] = {
        {"to", 't', "URI",
         "the service: unix:PATH, tcp://HOST:PORT or\ntls://HOST:PORT (default: $GORDIAN_SERVICE, "
         "or the\nusual socket)",
         OPTION_TEXT, &send.to, NULL},
        {"system", 's', "NAME", "the system the trace is for (default: default)", OPTION_TEXT,
         &send.system, NULL},
        {"open", 'o', "KIND",
         "make the system if there is none: detect or avoid,\nwith options: "
         "'avoid queue=yes'",
         OPTION_TEXT, &send.open, NULL},
        {"token-file", 0, "FILE", "a file with the token that lets us in", OPTION_TEXT,
         &send.token_file, NULL},
        LINE_LINK_OPTIONS(send.tls),
        {"all", 'a', NULL, "show every event, not only deadlocks", OPTION_FLAG, &send.all, NULL},
        {"strict", 0, NULL, "stop at the first event that is refused", OPTION_FLAG, &send.strict,
         NULL},
        {"wait", 'w', NULL, "stay until every request that can be served is", OPTION_FLAG,
         &send.wait, NULL},
        {"timeout", 0, "SECONDS", "of --wait (default: no limit)", OPTION_U32, &send.timeout, NULL},
        {"drop", 0, NULL, "end the trace's processes at the end: they give\neverything back",
         OPTION_FLAG, &send.drop, NULL},
        {"what-if", 0, NULL,
         "only ask what a request would be answered:\ngordian send --what-if "
         "PROCESS RESOURCE[=N]...",
         OPTION_FLAG, &send.what_if, NULL},
        {0},
    };
    int code;
    int operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    if (!send.what_if && operands > 1)
        return cli_misuse(cli, "one FILE at a time: '%.200s' is one too many", argv[1]);
    if (send.timeout && !send.wait)
        return cli_misuse(cli, "--timeout goes with --wait");
    send.drawing = (struct drawing){cli_style(cli), &cli->out, NULL, cli->verbose};
    return run_with_link(&send, operands, argv);
}

const struct command command_send = {
    .name = "send",
    .operands = "[FILE]",
    .summary = "stream a trace to a running service",
    .about = "Sends a trace, from FILE or from standard input as it comes, to a running\n"
             "'gordian serve' and reports what it answers as 'gordian detect' does. What the\n"
             "trace's processes hold stays with the service (--drop gives it back).\n",
    .run = send_main,
};
