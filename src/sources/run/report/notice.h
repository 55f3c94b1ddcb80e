/* Findings: reported once, and counted afterwards. */
#pragma once

#include "sources/run/state/watch.h"

/* A written incident that must be reported. */
struct notice {
    int fd;          /* -1: writing failed */
    bool again;      /* reported before: only act on it */
    bool ignored;    /* suppressed by the reporter */
    bool likely;     /* not proved: the program continues */
    bool doubted;    /* left to the inspection from outside: the program continues */
    uint32_t kind;   /* enum incident_kind */
    uint32_t action; /* enum incident_action */
    uint32_t number;
    uint64_t signature;
};

/* Returns whether a finding with this signature was reported before. */
bool notice_known(uint64_t signature);
/* The finding was a false alarm. */
void notice_forget(struct notice *notice);
/* Stores the reporter's answer for later findings with this signature. */
void notice_answered(const struct notice *notice);

/* Counts a finding with this kind and signature. Fills in the notice: a new one with the next
 * number, or a known one. */
void fold_add(struct notice *notice, uint32_t kind, uint64_t signature);
/* Copies the table, at most `room` entries. Returns their number. */
size_t fold_list(struct incident_fold *folds, size_t room);
bool fold_any(void);

void notice_fork(void);
