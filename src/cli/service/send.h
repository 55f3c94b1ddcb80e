/* `gordian send` in four parts: the command and its input (send.c), the conversation with the
 * service (send_link.c), its answers (send_answers.c), and what is printed (send_report.c).
 *
 * The trace goes out in the form of lines, every event with its number, and stays here until it is
 * answered; so it can be sent again when the connection breaks or the service could not take it,
 * and nothing is applied twice. */
#ifndef GORDIAN_CLI_SERVICE_SEND_H
#define GORDIAN_CLI_SERVICE_SEND_H

#include "base/names.h"
#include "cli/input.h"
#include "cli/service/line_link.h"
#include "cli/service/witness_read.h"

#include "show/draw.h"

#define SEND_TOKEN_MAX 600

/* A line without an answer yet; a declaration is answered only if something is wrong with it. */
struct sent_line {
    uint64_t number;    /* of an event; 0: a declaration */
    uint64_t line;      /* of the input */
    uint64_t wire_line; /* of this connection */
    uint32_t column;
    uint32_t size; /* of its text, newline included */
};

struct send_tally {
    uint64_t events, granted, blocked, deadlocks, doomed, errors;
    uint64_t unsafe, unavailable, released;
    uint64_t served; /* requests of ours that waited and were granted */
};

struct send {
    struct cli *cli;
    struct input input;
    struct line_link link;
    gordian_trace trace;

    /* options */
    const char *to, *system, *open, *token_file;
    struct secure_wishes tls;
    bool all, strict, wait, drop, what_if;
    uint32_t timeout; /* of --wait, seconds; 0: none */

    /* the session */
    char token[SEND_TOKEN_MAX];
    char session[40]; /* "": none yet */
    bool avoids;
    char engine[40];
    uint64_t next_number;
    uint64_t wire_lines;
    bool settled;                   /* a question of ours ("state", "ping") is answered */
    struct json_value *settle_with; /* where to put the answer's members, or NULL */

    /* what has no answer yet */
    struct fifo sent; /* of struct sent_line */
    struct fifo texts;
    bool rewinding;
    uint64_t rewinding_since; /* ns; 0: all is well */
    uint64_t heard_at; /* ns: the last answer, or when the wait for one began; 0: none waits */
    bool said_silent;  /* that no answers come was told */
    uint32_t retry_ms;
    char trouble[200]; /* why the service does not take events */

    /* who waits, by the service's names */
    struct names names;
    uint8_t *waits; /* by id: enum */
    size_t waits_room;
    uint32_t name_count;
    uint64_t waiting; /* can still be served */

    struct send_tally tally;
    struct drawing drawing;
    struct told_witness told;
    struct output final; /* the answer to the last question */
    bool refused;        /* --strict: stop */
    gordian_status refused_status;
};

/* ---- send_link.c */

/* Connects, says hello, learns about the system. */
gordian_status send_open(struct send *send, gordian_error *error);
/* Queues the trace's current line. */
gordian_status send_line(struct send *send, gordian_error *error);
/* Talks for a while: waits at most so long for answers, or for input. */
gordian_status send_step(struct send *send, bool for_input, int timeout_ms, gordian_error *error);
/* Waits until everything is answered. */
gordian_status send_drain(struct send *send, gordian_error *error);
/* Asks, and waits for the answer: a line in send->final. */
gordian_status send_ask(struct send *send, const char *line, gordian_error *error);

/* ---- send_answers.c */

/* Takes one line of the service's. */
gordian_status send_take(struct send *send, const char *text, size_t length, gordian_error *error);

/* ---- send_report.c */

void send_report_event(struct send *send, const struct sent_line *line, const char *text,
                       struct json_value answer, const char *result);
void send_report_grant(struct send *send, const char *process, struct json_value answer);
void send_report_summary(struct send *send, struct json_value state);

#endif
