/* What was found, made into an incident, told once, and counted afterwards. */
#ifndef GORDIAN_RUN_FINDING_H
#define GORDIAN_RUN_FINDING_H

#include "run/view.h"

/* An incident that has been written and is to be told. */
struct notice {
    int fd;
    uint32_t kind;   /* enum incident_kind */
    uint32_t action; /* enum incident_action */
    uint32_t number;
    uint64_t signature;
};

/* Each fills the notice; false: it was told before, or cannot be written. `t` is who closed it, or NULL.
 * Callers have the judge's guard. */
bool finding_deadlock(const struct view *view, const gordian_part *part, struct thread *t,
                      struct notice *notice);
bool finding_gone(const struct view *view, struct thread *t, struct notice *notice);

/* Was this very deadlock told before? */
bool finding_known(const struct view *view, const gordian_part *part);

/* Starts the reporter and does what is to be done then. True: the call shall answer EDEADLK. Does
 * not come back where the program is to end. */
bool finding_tell(struct thread *t, struct notice *notice);

/* Has the program handlers for signals that can come at any time? */
bool finding_handlers(void);

/* A signature: false if it is known already, which is counted; else it gets the next number. */
bool fold_add(uint64_t signature, uint32_t kind, uint32_t *number);
void fold_suppressed(uint64_t signature);
/* The table as it is: `room` entries at most, the count returned. */
size_t fold_list(struct incident_fold *folds, size_t room);
bool fold_any(void);

void finding_fork(void);

#endif
