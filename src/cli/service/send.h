/* `gordian send` in four parts: the command, its input and the conversation (send.c), labels
 * (send_labels.c), what the service answers (send_answers.c), and what is printed (send_report.c).
 */
#pragma once

#include "cli/base/input.h"
#include "cli/service/reach.h"
#include "foundation/base/fifo.h"
#include "output/show/answer_json.h"
#include "output/show/draw.h"

/* What can become of a line. */
enum send_result {
    SEND_OTHER, /* a declaration; an event that was applied before */
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

/* A line without an answer yet; its text is in send->texts. */
struct sent_line {
    uint64_t line; /* of the input */
    uint32_t column;
    uint32_t size; /* of its text */
    bool event;
    bool label; /* ours, not one of the trace's */
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

    /* what has no answer yet */
    struct fifo sent; /* of struct sent_line */
    struct fifo texts;
    uint64_t heard_at; /* ns: the last answer, or when the wait for one began; 0: none waits */
    bool heard;        /* something, since that was last looked at */
    bool said_silent;  /* that no answers come was told */

    /* who waits, by the service's ids */
    struct names names; /* of those who have waited */
    uint8_t *waits;     /* enum */
    size_t waits_room;
    uint64_t waiting; /* can still be served */

    struct names labelled; /* who has been, by ids of our own */
    uint32_t *free_ids, next_id;
    size_t free_count, free_room;

    uint64_t events, results[SEND_RESULTS];
    bool event_refused; /* the last one */
    uint64_t served;    /* requests of ours that waited and were granted */
    struct drawing drawing;
    struct told_witness told;
    bool refused; /* --strict: stop */
    gordian_status refused_status;
    gordian_error failure; /* of a callback */
};

/* Nothing is known of a trace whose events were all refused: it is bad input. */
static inline bool send_refused_all(const struct send *send)
{
    return send->events > 0 && send->results[SEND_REFUSED] == send->events;
}

/* ---- send.c */

/* The line whose text has been put behind send->texts, without counting it yet. */
gordian_status send_text(struct send *send, struct sent_line line, gordian_error *error);

/* ---- send_labels.c */

/* Are they KEY:VALUE, with blanks between? Otherwise the one that is not. */
bool send_labels_fit(const char *labels, const char **wrong);
/* Labels the process of the line that was just sent, if it may be a new one. */
gordian_status send_labels(struct send *send, gordian_error *error);
/* There was no such process: its event was refused. `text` is what was sent. */
void send_unlabelled(struct send *send, const char *text, size_t size);
void send_labels_free(struct send *send);

/* ---- send_answers.c: callbacks of the client, with the send as their context */

void send_answered(void *context, const gordian_reply *reply);
void send_granted(void *context, uint32_t process);

/* ---- send_report.c */

/* `answer` NULL: it was not needed. */
void send_report_event(struct send *send, const struct sent_line *line, const char *text,
                       const gordian_reply *reply, enum send_result result,
                       const struct value *answer);
void send_report_grant(struct send *send, const char *process);
void send_report_summary(struct send *send, const struct value *state);
