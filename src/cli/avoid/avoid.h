/* `gordian avoid` in four files: the command and its loop (avoid.c), two reporters (avoid/json.c,
 * avoid/text.c), and planning, which also replays (avoid/plan.c). */
#pragma once

#include "cli/base/input.h"
#include "output/show/style.h"

#define AVOID_NO_WORKERS  UINT64_MAX
#define AVOID_NO_PATIENCE UINT64_MAX

struct avoid_tally {
    uint64_t events, granted, unsafe, unavailable, released;
    uint64_t errors;  /* events and declarations that were refused */
    uint64_t refused; /* only events */
    uint64_t served;  /* waiting requests granted later */
};

/* Nothing is known of a trace whose events were all refused: it is bad input. */
static inline bool avoid_refused_all(const struct avoid_tally *tally)
{
    return tally->events > 0 && tally->refused == tally->events;
}

struct avoid {
    struct cli *cli;
    struct input input;
    gordian_bank *bank;
    gordian_bank_replay *replay;
    gordian_answer answer; /* of the current step */
    struct avoid_tally tally;
    struct style style;
    bool noted; /* the engine's note was printed */

    /* options */
    bool all, queue, strict, brief;
    uint64_t patience; /* AVOID_NO_PATIENCE: not given */

    /* planning */
    bool plan;
    uint64_t workers;          /* AVOID_NO_WORKERS: not given */
    const char *units, *costs; /* "gpu=4,disk=2"; NULL: not given */

    uint32_t *order; /* capacity for an order of all processes */
    size_t order_capacity;
};

/* A reporter. Each call writes whole lines. */
struct avoid_reporter {
    void (*step)(struct avoid *avoid, const gordian_bank_step *step);
    /* `order`: in which all processes can finish now */
    void (*summary)(struct avoid *avoid, const uint32_t *order, size_t count);
};

extern const struct avoid_reporter avoid_json, avoid_text;

/* Is this line reported? Successful declarations are not. */
static inline bool avoid_is_reported(const struct avoid *avoid, const gordian_bank_step *step)
{
    return step->kind == GORDIAN_LINE_EVENT || avoid->answer.verdict != GORDIAN_VERDICT_CHANGED ||
           avoid->answer.served_count > 0;
}

/* Opens a bank for the options. */
gordian_status avoid_open_bank(struct avoid *avoid, gordian_error *error);
/* Replays a source to its end; messages call it `name`. Returns the exit code. `reporter` NULL:
 * only errors are reported. */
int avoid_replay(struct avoid *avoid, const gordian_source *source, const char *name,
                 const struct avoid_reporter *reporter);

/* gordian avoid --plan. */
int avoid_plan(struct avoid *avoid, int operands, char **argv);
