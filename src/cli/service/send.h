/* `gordian send`: the command, its input and the connection (send.c), labels (send_labels.c), the
 * service's answers (send_answers.c), and reports (send_report.c). */
#pragma once

#include "cli/base/input.h"
#include "cli/service/service_connection.h"
#include "foundation/base/fifo.h"
#include "output/show/answer_json.h"
#include "output/show/draw.h"

/* Possible results of a line. */
enum send_result {
    SEND_OTHER, /* a declaration, or an event that was applied before */
    SEND_GRANTED,
    SEND_BLOCKED,
    SEND_DEADLOCK,
    SEND_DOOMED,
    SEND_UNSAFE,
    SEND_UNAVAILABLE,
    SEND_RELEASED,
    SEND_ENDED, /* cancelled, exited */
    SEND_REFUSED,
    SEND_RESULTS
};

/* A line without an answer; its text is in send->texts. */
struct sent_line {
    uint64_t line; /* of the input */
    uint32_t column;
    uint32_t size; /* of its text */
    bool event;
    bool label; /* a label line of ours, not from the trace */
};

struct send {
    struct cli *cli;
    struct input input;
    struct reach reach;
    gordian_client *client;
    gordian_allocator memory;
    gordian_trace trace;

    /* options */
    const char *open, *labels; /* NULL: none */
    bool all, strict, wait, drop, what_if;
    uint32_t timeout; /* of --wait, seconds; 0: none */

    bool avoids;
    char engine[40];

    /* unanswered lines */
    struct fifo sent; /* of struct sent_line */
    struct fifo texts;
    uint64_t heard_at;     /* ns: latest answer, or begin of the wait; 0: not waiting */
    bool heard;            /* an answer arrived since the last check */
    bool reported_silence; /* missing answers were reported */

    /* processes that wait, by the service's ids */
    struct names names; /* of processes that have waited */
    uint8_t *waits;     /* enum waits */
    size_t waits_capacity;
    uint64_t waiting; /* number of them that can still be granted */

    struct names labelled; /* labelled processes, by ids of our own */
    uint32_t *free_ids, next_id;
    size_t free_count, free_capacity;

    uint64_t events, results[SEND_RESULTS];
    bool event_refused; /* the latest one */
    uint64_t served;    /* our requests that were granted after a wait */
    struct drawing drawing;
    struct parsed_witness parsed;
    bool refused; /* --strict: stop */
    gordian_status refused_status;
    gordian_error failure; /* of a callback */
};

/* If all events were refused, nothing is known: it is bad input. */
static inline bool send_refused_all(const struct send *send)
{
    return send->events > 0 && send->results[SEND_REFUSED] == send->events;
}

/* ---- send.c */

/* Sends the line whose text was added to send->texts, without fifo_put. */
gordian_status send_text(struct send *send, struct sent_line line, gordian_error *error);

/* ---- send_labels.c */

/* Are the labels KEY:VALUE, separated by blanks? If not, *wrong is the malformed one. */
bool send_labels_fit(const char *labels, const char **wrong);
/* Labels the process of the line that was just sent, if it may be new. */
gordian_status send_labels(struct send *send, gordian_error *error);
/* The process does not exist, because its event was refused. `text` is the label line. */
void send_unlabelled(struct send *send, const char *text, size_t size);
void send_labels_free(struct send *send);

/* ---- send_answers.c: callbacks of the client; the context is the struct send */

void send_answered(void *context, const gordian_reply *reply);
void send_granted(void *context, uint32_t process);

/* ---- send_report.c */

/* `answer` may be NULL if it is not needed. */
void send_report_event(struct send *send, const struct sent_line *line, const char *text,
                       const gordian_reply *reply, enum send_result result,
                       const struct value *answer);
void send_report_grant(struct send *send, const char *process);
void send_report_summary(struct send *send, const struct value *state);
