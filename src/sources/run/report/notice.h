/* What was found: reported once, and counted afterwards. */
#pragma once

#include "sources/run/state/watch.h"

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

/* Was one of this signature reported before? */
bool notice_known(uint64_t signature);
/* It was nothing after all. */
void notice_forget(struct notice *notice);
/* What the reporter answered holds for those to come. */
void notice_answered(const struct notice *notice);

/* A notice of this kind and signature: new, with the next number, or known, which is counted. */
void fold_add(struct notice *notice, uint32_t kind, uint64_t signature);
/* The table as it is: `room` entries at most, the count returned. */
size_t fold_list(struct incident_fold *folds, size_t room);
bool fold_any(void);

void notice_fork(void);
