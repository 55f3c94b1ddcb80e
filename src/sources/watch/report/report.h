/* What was found, for a person, a program or a picture. Drawing and JSON are those of show/. No
 * text that comes from a server can play with the terminal: all go through output/show/style.h.
 * Passwords are not known here at all.
 *
 *     deadlock 1: 2 sessions of 2 servers wait for each other, and no server can see it
 *         (the cycle)
 *         every session: who it is, what it waits for, who has that, its query
 *         whom to end, why, and the SQL for it
 */
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

/* tell.c: "shop/4711", "shop/'transfer-17'". */
void tell_name(const struct telling *telling, struct member member, char *text, size_t size);
/* What an arrow is about: "accounts(0,3)", "client orders-17". */
const char *tell_resource(const struct telling *telling, const struct arrow_between *arrow);
/* What the other end is to it: "held by", ... */
const char *tell_holding(const struct telling *telling, const struct arrow_between *arrow);
/* A deadlock, and a wait that lasts, as findings; to be closed whatever comes. `advice`: NULL where
 * none is wanted. */
void deadlock_finding(struct finding *finding, const struct telling *telling,
                      const struct deadlock *deadlock, const struct advice *advice,
                      uint64_t number);
void stall_finding(struct finding *finding, const struct telling *telling, struct member member);

/* A line that describes a session, and its query. */
void tell_session(const struct telling *telling, struct member member);

/* report_text.c */
void tell_overview(const struct telling *telling, const struct overview *overview);

/* report_json.c: one object and a newline each. */
void tell_summary_json(const struct telling *telling, const struct verdict *verdict,
                       const struct overview *overview, const struct unseen_list *unseen);
/* What was not seen, while it goes on; with --once the summary has it. */
void tell_unseen_json(const struct telling *telling, const struct unseen *unseen);
