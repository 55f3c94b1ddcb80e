/*
 * A duel: the same calls go to a bank of every engine and to the naive one. Answers that can be
 * only one are compared, the others are checked.
 */
#ifndef GORDIAN_TESTS_AVOID_DUEL_H
#define GORDIAN_TESTS_AVOID_DUEL_H

#include "engines/avoid/engine/engine.h"
#include "generator.h"

#define DUEL_ENGINES 4

struct duel_options {
    const struct avoid_engine *engines[DUEL_ENGINES];
    size_t engine_count;
    uint32_t processes, resources;
    bool queue;
    uint32_t patience;
    uint64_t seed;
};

struct duel {
    struct duel_options options;
    struct naive naive;
    struct expected expected;
    gordian_bank *banks[DUEL_ENGINES];
    gordian_answer answer;
    struct random random;
    struct generator asker; /* of what-ifs */
    uint64_t requests, lent, unsafe, shortages, served, out_of_turn, declined;
    uint64_t sequences, tried_all, slacks; /* checked */
    char message[512];                     /* of a disagreement */
};

/* Each is false on a disagreement: see message. */
bool duel_open(struct duel *duel, const struct duel_options *options);
bool duel_take(struct duel *duel, const struct step *step);
bool duel_compare(struct duel *duel); /* everything that can be asked */
void duel_close(struct duel *duel);

#endif
