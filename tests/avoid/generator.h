/* Random calls on a bank: most make sense, some do not. */
#ifndef GORDIAN_TESTS_AVOID_GENERATOR_H
#define GORDIAN_TESTS_AVOID_GENERATOR_H

#include "foundation/base/random.h"
#include "naive.h"

struct generator {
    struct random random;
    unsigned density;     /* percent of the resources that a process claims */
    unsigned greed;       /* percent of a total that a claim goes up to */
    unsigned haste;       /* percent of the steps that borrow */
    unsigned many;        /* how many resources a request names, at most */
    uint64_t most;        /* units of a resource */
    uint32_t population;  /* about so many processes */
    gordian_want *wants;  /* of the last step */
    uint32_t *candidates; /* scratch */
};

void generator_open(struct generator *generator, uint64_t seed, const struct naive *naive);
void generator_close(struct generator *generator);
/* The next step, given the state. Its wants last until the next one. */
void generator_next(struct generator *generator, const struct naive *naive, struct step *step);
/* A request that makes sense, as a rule. */
void generator_request(struct generator *generator, const struct naive *naive, struct step *step);

#endif
