/* Between a client and a service, over TCP: passes bytes on, and does to them what networks do. It
 * hands them over in small pieces, cuts connections anywhere, says nothing, or answers itself. */
#ifndef GORDIAN_TESTS_SERVE_RELAY_H
#define GORDIAN_TESTS_SERVE_RELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct relay_options {
    unsigned port;      /* of the service, on this machine */
    size_t piece;       /* bytes handed over at once, at most; 0: any number */
    size_t cut_after;   /* bytes from the service, of each connection; 0: never cut */
    unsigned cut_every; /* bytes from the service, on average, at random; 0: never */
    size_t spared;      /* bytes of the first connection that come through in any case */
    bool reset;         /* what is cut is cut with a reset */
    bool silent;        /* takes everything, passes nothing on */
    const char *answer; /* instead of the service's: this, and then the end */
    uint64_t seed;
};

#define RELAY_LANES 4096

struct relay {
    struct relay_options options;
    int listener;
    unsigned port; /* where clients connect */
    pthread_t thread;
    atomic_bool stop;
    atomic_ulong connections, cuts;
    struct relay_lane *lanes[RELAY_LANES]; /* one a connection */
    size_t lane_count;
};

bool relay_start(struct relay *relay, const struct relay_options *options);
void relay_stop(struct relay *relay);

#endif
