/* What was found, made into an incident, told once, and counted afterwards. */
#ifndef GORDIAN_SOURCES_RUN_FINDING_H
#define GORDIAN_SOURCES_RUN_FINDING_H

#include "sources/run/policy.h"
#include "sources/run/view.h"

/* An incident that has been written and is to be told. */
struct notice {
    int fd;          /* -1: could not be written */
    bool again;      /* told before: only do what is to be done */
    bool ignored;    /* the reporter was told to say nothing about it */
    bool likely;     /* not proved: the program goes on */
    bool doubted;    /* left to who looks from outside: the program goes on */
    uint32_t kind;   /* enum incident_kind */
    uint32_t action; /* enum incident_action */
    uint32_t number;
    uint64_t signature;
};

/* Each fills the notice. `t` is who closed it, or NULL. `policy`: how sure it is, and whether the
 * program may be ended for it. Callers have the judge's guard. */
void finding_deadlock(const struct view *view, const gordian_part *part, struct thread *t,
                      const struct policy *policy, struct notice *notice);
void finding_gone(const struct view *view, struct thread *t, const struct policy *policy,
                  struct notice *notice);

/* Was this very deadlock told before? */
bool finding_known(const struct view *view, const gordian_part *part);

/* Starts the reporter and does what is to be done then. True: the call shall answer EDEADLK. Does
 * not come back where the program is to end. */
bool finding_tell(struct thread *t, struct notice *notice);

/* It was nothing after all. */
void finding_forget(struct notice *notice);

/* A notice of this kind and signature: new, with the next number, or known, which is counted. */
void fold_add(struct notice *notice, uint32_t kind, uint64_t signature);
/* The table as it is: `room` entries at most, the count returned. */
size_t fold_list(struct incident_fold *folds, size_t room);
bool fold_any(void);

void finding_fork(void);

#endif
