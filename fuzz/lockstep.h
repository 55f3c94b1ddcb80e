/* All engines side by side: the same events go into every one, and after each of them outcomes,
 * served order and deadlocked sets must agree. The first engine is the oracle, `reduce`. */
#ifndef GORDIAN_FUZZ_LOCKSTEP_H
#define GORDIAN_FUZZ_LOCKSTEP_H

#include "fuzz.h"

#define ENGINES 3

struct lockstep {
    gordian_system *systems[ENGINES]; /* NULL: has dropped out, the model is beyond it */
};

void lockstep_open(struct lockstep *engines);
void lockstep_close(struct lockstep *engines);

/* Compares what engine `index` returned with what the oracle did. False: the event is beyond
 * the engine, which is out from now on. */
bool lockstep_keeps_up(struct lockstep *engines, size_t index, gordian_status status,
                       gordian_status oracle_status, const gordian_error *error);

/* Feeds an event to all and compares. */
void lockstep_feed(struct lockstep *engines, const gordian_event *event,
                   gordian_result results[ENGINES]);

/* Compares the engines after an event that each of them took. */
void lockstep_compare(struct lockstep *engines, const gordian_result results[ENGINES]);

/* Ends one victim, the same in every engine; *victim as the oracle reports it. False: nobody is
 * deadlocked. */
bool lockstep_recover_one(struct lockstep *engines, gordian_policy policy, gordian_victim *victim);

#endif
