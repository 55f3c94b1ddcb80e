/* `gordian tail` in two parts: what comes over the socket (tail.c), and the deadlocks of before,
 * which the service tells over HTTP (tail_history.c). */
#ifndef GORDIAN_CLI_SERVICE_TAIL_H
#define GORDIAN_CLI_SERVICE_TAIL_H

#include "cli/service/line_link.h"
#include "cli/service/witness_read.h"
#include "show/draw.h"

struct tail {
    struct cli *cli;
    struct line_link link;

    /* options */
    const char *to, *system, *since, *http, *token_file;
    struct secure_wishes tls;
    bool deadlocks, retry;
    uint64_t count; /* end after so many; 0: go on */

    uint64_t since_ms; /* so long ago */
    char token[600];
    uint64_t shown;
    bool found;     /* a deadlock was seen */
    bool connected; /* the service has answered before */
    struct drawing drawing;
    struct told_witness told;
};

/* One deadlock, for people. */
void tail_incident(struct tail *tail, struct json_value incident);

/* 30s, 15m, 12h, 7d; without a letter: seconds. */
bool tail_parse_since(const char *text, uint64_t *ms);
/* Shows the deadlocks since then, oldest first. */
gordian_status tail_history(struct tail *tail, gordian_error *error);

#endif
