/* `gordian detect`: the command and its loop (detect.c), the two reporters (json.c, text.c), and
 * the matrices (matrices.h). */
#pragma once

#include "cli/base/input.h"
#include "cli/detect/followers.h"
#include "cli/detect/matrices.h"
#include "output/show/draw.h"
#include "output/show/graph.h"

struct tally {
    uint64_t events, granted, blocked, deadlocks, doomed, errors;
};

/* If all events were refused, nothing is known: the input is invalid. */
static inline bool detect_refused_all(const struct tally *tally)
{
    return tally->events > 0 && tally->errors == tally->events;
}

enum detect_show {
    DETECT_SHOW_DEADLOCKS,
    DETECT_SHOW_MATRICES, /* also the matrices at the end */
    DETECT_SHOW_ALL,      /* also the matrices at every deadlock */
};

#define PIECE_ROOM 40

/* Constant parts of the JSON line of an event. */
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
    bool noted; /* the engine's note was printed */

    /* options */
    bool all, strict;
    const char *recover;   /* as typed; NULL: do not recover */
    gordian_policy policy; /* the parsed policy */
    unsigned show;         /* enum detect_show */
    const char *svg;       /* file for the matrices at the end; NULL: none */

    /* buffers of the reporters, reused between events */
    const uint32_t *served;    /* served by the event being reported; its result has the number */
    struct json_pieces pieces; /* each initialised on first use */
    struct name_list list;
    struct followers followers;
    struct drawing drawing;
};

/* A reporter. It writes whole lines, also if it fails. */
struct reporter {
    bool every; /* report every event, not only those that leave a process stuck */
    /* Reports one event and the recovery after it. */
    gordian_status (*event)(struct detect *detect, const gordian_step *step, gordian_error *error);
    gordian_status (*summary)(struct detect *detect, gordian_error *error);
};

extern const struct reporter detect_json, detect_text;

static inline bool is_stuck(const gordian_step *step)
{
    return step->result.outcome == GORDIAN_OUTCOME_DEADLOCK ||
           step->result.outcome == GORDIAN_OUTCOME_DOOMED;
}

/* Stores the processes that can never run again in detect->list, and the first `most` of their
 * names. */
gordian_status detect_list_deadlocked(struct detect *detect, size_t most, gordian_error *error);
