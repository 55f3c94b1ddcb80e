/* `gordian detect` in parts: the command and its loop (detect.c), the two ways to report
 * (detect/json.c, detect/text.c), and the matrices (detect/matrices.h). */
#pragma once

#include "cli/base/input.h"
#include "cli/detect/followers.h"
#include "cli/detect/matrices.h"
#include "output/show/draw.h"
#include "output/show/graph.h"

struct tally {
    uint64_t events, granted, blocked, deadlocks, doomed, errors;
};

/* Nothing is known of a trace whose events were all refused: it is bad input. */
static inline bool detect_refused_all(const struct tally *tally)
{
    return tally->events > 0 && tally->errors == tally->events;
}

enum detect_show {
    DETECT_SHOW_DEADLOCKS,
    DETECT_SHOW_MATRICES, /* and the matrices at the end */
    DETECT_SHOW_ALL,      /* and at every deadlock */
};

#define PIECE_ROOM 40

/* What stands between the changing parts of an event's line in JSON. */
struct json_pieces {
    struct json_piece {
        char text[PIECE_ROOM];
        size_t length;
    } ops[GORDIAN_OP_ACT + 1], outcomes[GORDIAN_OUTCOME_REFUSED + 1];
};

struct detect {
    struct cli *cli;
    struct input input;
    gordian_system *system;
    gordian_replay *replay;
    struct labels labels;
    struct tally tally;
    bool noted; /* the engine's note has been told */

    /* options */
    bool all, strict;
    const char *recover;   /* as typed; NULL: leave deadlocks standing */
    gordian_policy policy; /* what it means */
    unsigned show;         /* enum detect_show */
    const char *svg;       /* draw the matrices at the end into this file; NULL: nowhere */

    /* what the reports need, kept between events */
    const uint32_t *served;    /* by the event being reported, so many as its result says */
    struct json_pieces pieces; /* each made when it is first needed */
    struct name_list list;
    struct followers followers;
    struct drawing drawing;
};

/* A way to report. Each writes whole lines, on failure too. */
struct reporter {
    bool every; /* event, not only those with which somebody is stuck */
    /* One event, with the recovery after it. */
    gordian_status (*event)(struct detect *detect, const gordian_step *step, gordian_error *error);
    gordian_status (*summary)(struct detect *detect, gordian_error *error);
};

extern const struct reporter detect_json, detect_text;

static inline bool is_stuck(const gordian_step *step)
{
    return step->result.outcome == GORDIAN_OUTCOME_DEADLOCK ||
           step->result.outcome == GORDIAN_OUTCOME_DOOMED;
}

/* Everybody who can never run again, into detect->list; of the names the first `most`. */
gordian_status detect_list_deadlocked(struct detect *detect, size_t most, gordian_error *error);
