/* Chooses the victim of a deadlock, with a reason. A victim is a session that waits for a lock:
 * ending its wait makes its transaction fail and releases the locks that the others wait for.
 *
 * Never a victim: a prepared transaction (only its coordinator may decide), and a session that this
 * role may not end. */
#pragma once

#include "sources/watch/graph/judge.h"

enum victim_policy {
    VICTIM_YOUNGEST,   /* the transaction that began last */
    VICTIM_LEAST_WORK, /* the transaction that has locked and changed least */
};

struct victim_settings {
    unsigned policy;       /* enum victim_policy */
    regex_t prefer, spare; /* patterns for application or user: preferred victims, spared victims */
    bool has_prefer, has_spare;
};

struct advice {
    bool found; /* false: no session may be ended */
    struct member victim;
    char why[200]; /* a sentence */
};

/* Compiles --prefer or --spare. Returns GORDIAN_STATUS_INPUT if the text is not an extended regular
 * expression. */
gordian_status advice_pattern(regex_t *pattern, bool *has, const char *option, const char *text,
                              gordian_error *error);
void advice_close(struct victim_settings *settings);

void advice_find(struct advice *advice, const struct victim_settings *settings,
                 const struct deadlock *deadlock, struct source *const *sources);
