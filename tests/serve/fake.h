/* A service in a thread of the test, as plain as can be: one detecting system, the binary form, and
 * faults on demand. What a client library must cope with, it does on purpose: it cuts connections
 * at any byte, answers in pieces, and declines to take events now and then. */
#ifndef GORDIAN_TESTS_SERVE_FAKE_H
#define GORDIAN_TESTS_SERVE_FAKE_H

#include "foundation/base/random.h"
#include "scratch.h"
#include "test.h"

#include <gordian/client.h>
#include <gordian/gordian.h>

#include <pthread.h>
#include <stdatomic.h>

#define FAKE_CLIENTS 8

struct fake_options {
    uint64_t seed;
    unsigned cut_percent; /* of frames: the connection ends before, within or after the answer */
    unsigned decline_percent; /* of EVENTS frames: not kept, or only a part of it is taken */
    unsigned part_percent;    /* of answers: sent in pieces */
    bool forget_sessions;     /* nobody can resume */
    bool forget_events;       /* who resumes is told of one event fewer than were applied */
    bool extra_ids;           /* declarations are answered with one id too many */
    bool busy;                /* no events are kept before fake->accepts */
    unsigned refuse_events;   /* the error that events are answered with; 0: none */
    const char *leader;       /* stands by, and says that this one leads; NULL: it leads itself */
    bool readers;             /* all may only look, also where another leads: see `leader` */
    bool avoids;              /* says that its system is one that avoids */
    unsigned noise_percent;   /* of answers: some bytes are changed */
    uint32_t mute_after;      /* says nothing more after so many frames; 0: talks on */
};

struct fake_session {
    uint8_t id[16];
    uint64_t last;
};

struct fake_connection {
    int fd;
    struct fake_session *session;
    unsigned char *in;
    size_t used;
    bool started;
};

struct fake {
    struct fake_options options;
    struct random random;
    int listener, wake[2];
    pthread_t thread;
    char uri[128];
    char folder[SCRATCH_SIZE];
    gordian_system *system;
    struct fake_session sessions[64];
    size_t session_count;
    struct fake_connection connections[FAKE_CLIENTS];
    uint32_t *owner; /* session by process */
    size_t owner_room;
    atomic_bool accepts;
    atomic_ulong frames, cuts, declined, applied, duplicates;
};

/* Starts it; fake->uri says where. False: it could not. */
bool fake_start(struct fake *fake, const struct fake_options *options);
/* Ends the thread; the system stays for questions until fake_free. */
void fake_stop(struct fake *fake);
void fake_free(struct fake *fake);

/* A client of it. */
static inline gordian_client *fake_client(const struct fake *fake,
                                          const gordian_client_options *options)
{
    gordian_client *client;
    gordian_error error = {0};
    gordian_status status = gordian_client_open(&client, fake->uri, options, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    REQUIRE(client != NULL);
    return client;
}

#endif
