/*
 * Scripts: what the differential program does to the systems it compares, made at random from a
 * seed, step by step, looking at the naive model's state so that enough of it makes sense, and
 * kept, so that a disagreement can be replayed, shortened and written out as a trace.
 */
#ifndef GORDIAN_TESTS_SCRIPT_H
#define GORDIAN_TESTS_SCRIPT_H

#include "foundation/base/random.h"
#include "naive.h"

#include <stdio.h>

enum step_kind {
    STEP_EVENT,
    STEP_ADD_PROCESS,
    STEP_ADD_RESOURCE, /* value: units */
    STEP_REMOVE_PROCESS,
    STEP_REMOVE_RESOURCE,
    STEP_SET_PRIORITY, /* value */
    STEP_SET_COST,     /* value */
    STEP_RECOVER,      /* value: gordian_policy */
};

#define SCRIPT_WANTS 8

struct step {
    enum step_kind kind;
    gordian_event event; /* its process and resource also serve the other kinds */
    int64_t value;
    gordian_want wants[SCRIPT_WANTS]; /* event.wants points here, or is NULL */
    bool many;                        /* event.wants is used: see step_event */
};

/* The event of a step, with `wants` pointing into the step (which may have been copied). */
gordian_event step_event(const struct step *step);

struct script {
    struct step *steps;
    size_t count, room;
};

void script_push(struct script *script, const struct step *step);
void script_free(struct script *script);
/* As a trace, with what the format cannot say in comments. */
void script_write(const struct script *script, FILE *out);
void step_print(const struct step *step, FILE *out);

/* How a stretch of events leans; changes every few hundred. */
struct phase {
    unsigned left;            /* events until the next phase */
    unsigned request_percent; /* of a running process's events */
    unsigned several_percent; /* of requests: for more than one unit */
    unsigned wrong_percent;   /* events that must be refused */
    unsigned shy_percent;     /* requests that look like closing a cycle and are not made */
    unsigned extend_percent;  /* requests for what a running process holds: chains grow */
    unsigned give_up_percent; /* of the events of waiting processes: cancels and exits */
    unsigned churn_permille;  /* processes and resources that come and go */
    uint32_t hot;             /* requests go to the first so many resources */
    bool resolve;             /* deadlocks are being resolved */
    unsigned chain_percent;   /* events that go into one long chain of waits */
    uint32_t chain_at;        /* a process of it */
    unsigned break_permille;  /* of those events: a wait somewhere in the chain is given up */
    uint32_t broken;          /* who gave up, to ask again at once; NONE: nobody */
    uint32_t broken_wait;     /* for what */
    uint32_t clear_next;      /* all processes exit first: the next one; NONE: not, or no more */
};

struct generator {
    struct random random;
    gordian_model model; /* the most it may ask for */
    uint32_t processes;  /* about how many */
    uint32_t resources;
    uint64_t event;            /* events so far */
    uint64_t several_after;    /* requests may wait for several from this event on */
    uint64_t several_units_at; /* resources of several units come at this event */
    bool huge;                 /* some resources have very many units */
    struct phase phase;
};

void generator_start(struct generator *generator, uint64_t seed, gordian_model model,
                     uint32_t processes, uint32_t resources, uint64_t events);
/* Units for a new resource. */
uint64_t generator_units(struct generator *generator);
/* The next step. Reads naive->dead if the state is judged. */
void generator_next(struct generator *generator, const struct naive *naive, struct step *step);

#endif
