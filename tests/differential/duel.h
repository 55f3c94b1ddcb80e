/*
 * A duel: the naive model and one system an engine, given the same steps, and made to agree about
 * everything that can be asked. The first disagreement is put into words and ends it. A request
 * above the model goes to none but the engines that cannot judge it, which must say so and stay as
 * they were.
 *
 *     duel.c      takes steps
 *     compare.c   asks and compares
 */
#ifndef GORDIAN_TESTS_DUEL_H
#define GORDIAN_TESTS_DUEL_H

#include "engines/detect/engine/engine.h"
#include "naive.h"
#include "script.h"

#define DUEL_ENGINES 8
#define DUEL_BATCH   256

/* Which engines, and how closely to look. */
struct duel_options {
    const struct detect_engine *engines[DUEL_ENGINES];
    size_t engine_count;
    gordian_model model;                  /* the most that is asked of the engines */
    uint32_t process_room, resource_room; /* the most ids there may be */
    unsigned judge_every;                 /* the model judges every so many events */
    bool thorough;                        /* ask everything after every step */
    bool batches_only;                    /* for timing: gordian_feed_batch throughout */
    uint64_t seed;                        /* of what is asked when */
};

/* An event the model has taken, and what the engines must answer. */
struct expectation {
    struct step step;
    struct naive_result result;
    bool judged; /* else any kind of waiting will do, as long as all engines say the same */
    size_t served_first;
    uint32_t served_count;
};

struct duel {
    struct duel_options options;
    struct naive naive;
    gordian_system *systems[DUEL_ENGINES];
    bool general;              /* every engine can judge every request */
    uint64_t ns[DUEL_ENGINES]; /* time spent feeding */
    uint64_t events;           /* compared so far */
    uint64_t deadlocks, doomed, blocked, refused, recoveries; /* among them */
    uint32_t longest_chain; /* that a blocked request made longer at its start */
    struct random random;

    struct expectation *expected; /* DUEL_BATCH of them */
    size_t expected_count;
    uint32_t *served; /* of all expectations, one after another */
    size_t served_count, served_room;

    gordian_edge *edges; /* scratch for answers */
    size_t edge_room;
    uint32_t *part_of;
    char message[800]; /* the disagreement */
};

/* False: a system cannot be opened (message). Always to be closed. */
bool duel_open(struct duel *duel, const struct duel_options *options);
void duel_close(struct duel *duel);

/* Takes a step; ids handed out are written into it. Events are kept until `duel_flush`, so that
 * several go to the engines as a batch; other steps flush first. False: a disagreement. */
bool duel_take(struct duel *duel, struct step *step);
bool duel_flush(struct duel *duel);

/* ------------------------------------------------------------------ compare.c */

/* Notes a disagreement about engine number `engine`; returns false. */
bool duel_disagree(struct duel *duel, size_t engine, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

bool compare_deadlocked(struct duel *duel, size_t engine);
bool compare_process(struct duel *duel, size_t engine, uint32_t process);
bool compare_resource(struct duel *duel, size_t engine, uint32_t resource);
bool compare_whole_state(struct duel *duel, size_t engine);
bool compare_explanation(struct duel *duel, size_t engine, uint32_t process);
bool compare_snapshot(struct duel *duel, size_t engine);
bool compare_matrices(struct duel *duel, size_t engine); /* of engine "matrix" only */

#endif
