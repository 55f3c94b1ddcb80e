/*
 * One client of the crash test and what it knows to be right.
 *
 * A lane has a system of its own in the service, a session, and two models of that system in this
 * process: `ahead` has had every event that was ever made up, `settled` those that the service is
 * known to have applied. Events are made up once and numbered; what became of each is known from
 * `ahead` before it is sent. They stay here until they are settled, and are sent again after a
 * crash if the service does not have them.
 *
 * lane_run connects, checks that the service is where it must be (not before what it acknowledged,
 * not beyond what was sent, and its whole state that of `settled`), sends what is missing, and goes
 * on until the connection breaks or `finish` is set and everything is acknowledged.
 */
#ifndef GORDIAN_TESTS_CRASH_LANE_H
#define GORDIAN_TESTS_CRASH_LANE_H

#include "foundation/base/arena.h"
#include "foundation/base/random.h"
#include "service/wire/wire.h"

#include <stdatomic.h>

#define LANE_PROCESSES 12
#define LANE_RESOURCES 8
#define LANE_WANTS     3
#define LANE_EVENTS    4096 /* at most on their way */
#define LANE_WINDOW    400

enum lane_model {
    LANE_SINGLE,  /* one unit of everything */
    LANE_GENERAL, /* several units, several resources at once */
    LANE_RECOVER, /* the same, and the service ends the youngest */
    LANE_BANK,    /* avoidance with a queue */
    LANE_MODELS,
};

struct lane_event {
    gordian_event event;
    gordian_want wants[LANE_WANTS];
    uint8_t outcome; /* that must come back */
    bool waits;      /* of a bank */
    uint32_t served;
};

struct lane {
    char system[32];
    enum lane_model model;
    bool lines;   /* the form of lines; otherwise binary */
    bool careful; /* one frame at a time: errors are expected */
    bool roams;   /* there are other servers: one that does not take events is left */
    const char *socket;
    struct random random;

    gordian_system *systems[2]; /* ahead, settled */
    gordian_bank *banks[2];
    struct lane_event events[LANE_EVENTS]; /* by number, modulo */
    uint64_t made, sent, settled;          /* numbers of the last event made up, sent, settled */

    bool has_session;
    uint8_t session[WIRE_SESSION_SIZE];
    _Atomic bool *finish;
    _Atomic bool connected; /* and checked */

    int fd;
    char *in;
    size_t in_used, in_room;
    struct arena line; /* the last one, in the form of lines */
    _Atomic uint64_t acknowledged, duplicates, errors, deadlocks, checked; /* figures */
    char wrong[300]; /* "" while all is right */
};

void lane_open(struct lane *lane, unsigned number, const char *socket, _Atomic bool *finish);
void lane_close(struct lane *lane);
/* True: everything was acknowledged (`finish`); false: the connection broke, or something is
 * wrong. */
bool lane_run(struct lane *lane);

/* ---- the model (crash_model.c) */

enum { AHEAD, SETTLED };

void model_open(struct lane *lane);
void model_close(struct lane *lane);
/* Makes up the next event and feeds it to `ahead`. */
void model_make(struct lane *lane);
/* `settled` catches up to this number. */
void model_settle(struct lane *lane, uint64_t number);
uint64_t model_units(const struct lane *lane, uint32_t resource);
uint64_t model_claim(const struct lane *lane, uint32_t process, uint32_t resource);
/* Of `settled`: units held, waited for; both by resource. */
void model_state(struct lane *lane, uint32_t process, uint64_t held[LANE_RESOURCES],
                 uint64_t wanted[LANE_RESOURCES], bool *waits);
const char *model_outcome_text(const struct lane *lane, uint8_t outcome);

void lane_wrong(struct lane *lane, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
