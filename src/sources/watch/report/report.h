/* Reports of watched servers: findings, the overview of blockers, and the summary. All texts from a
 * server are escaped by output/show/style.h, so none can send control sequences to the terminal.
 * Passwords are not available here. */
#pragma once

#include "output/finding/finding.h"
#include "sources/watch/actions/advice.h"
#include "sources/watch/graph/overview.h"
#include "sources/watch/graph/unseen.h"

struct telling {
    struct source *const *sources;
    size_t count;
    const struct links *links;
    struct finding_look look;
    struct output *out;
};

/* findings.c. Writes "shop/4711" or "shop/'transfer-17'". */
void write_member_name(const struct telling *telling, struct member member, char *text,
                       size_t size);
/* Returns the resource of an edge: "accounts(0,3)", "client orders-17". */
const char *edge_resource_text(const struct telling *telling, const struct session_edge *arrow);
/* Returns its relation to the holder: "held by", ... */
const char *edge_holding_text(const struct telling *telling, const struct session_edge *arrow);
/* Convert a deadlock or a long wait to a finding; close it in any case. `advice`: NULL for none. */
void deadlock_finding(struct finding *finding, const struct telling *telling,
                      const struct deadlock *deadlock, const struct advice *advice,
                      uint64_t number);
void stall_finding(struct finding *finding, const struct telling *telling, struct member member);

/* Prints a line that describes a session, and its query. */
void print_session(const struct telling *telling, struct member member);

/* report_text.c */
void print_overview(const struct telling *telling, const struct overview *overview);

/* report_json.c: write one object and a newline each. */
void watch_summary_json(const struct telling *telling, const struct verdict *verdict,
                        const struct overview *overview, const struct unseen_list *unseen);
/* Writes what was not seen, while the watch runs; with --once the summary has it. */
void watch_unseen_json(const struct telling *telling, const struct unseen *unseen);
