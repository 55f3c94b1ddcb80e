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
    struct style style;
    struct output *out;
    bool verbose;
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

/* report_text.c. False: out of memory. */
bool tell_deadlock(const struct telling *telling, const struct deadlock *deadlock,
                   const struct advice *advice, uint64_t number);
void tell_overview(const struct telling *telling, const struct overview *overview);
/* A wait that lasts. */
void tell_stall(const struct telling *telling, struct member member);

/* tell_json.c: one object and a newline each. */
bool tell_deadlock_json(const struct telling *telling, const struct deadlock *deadlock,
                        const struct advice *advice, uint64_t number);
void tell_summary_json(const struct telling *telling, const struct verdict *verdict,
                       const struct overview *overview, const struct unseen_list *unseen);
/* What was not seen, while it goes on; with --once the summary has it. */
void tell_unseen_json(const struct telling *telling, const struct unseen *unseen);
void tell_stall_json(const struct telling *telling, struct member member);

/* findings.c. */
void tell_dot(const struct telling *telling, const struct deadlock *deadlock, struct output *out);
void tell_svg(const struct telling *telling, const struct deadlock *deadlock, struct output *out);
