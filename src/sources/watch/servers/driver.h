/* A connection to a server that never makes anybody wait: everything is begun, then gone on with
 * whenever its descriptor is ready.
 *
 *     progress = driver->connect(connection);
 *     while (progress == DRIVER_BUSY) {
 *         driver->wants(connection, &fd, &events);
 *         ... poll ...
 *         progress = driver->go_on(connection, revents);
 *     }
 *
 * and the same with `ask`. To add one: fill this table, list it in drivers.c, and write a dialect.
 */
#pragma once

#include <gordian/gordian.h>

#include <stdbool.h>
#include <stdint.h>

struct dialect;
struct connection;

enum driver_progress {
    DRIVER_BUSY,   /* call go_on when the descriptor is ready */
    DRIVER_READY,  /* connected, or answered */
    DRIVER_FAILED, /* `why` says what; the connection is to be hung up */
};

struct driver {
    const char *kind; /* "PostgreSQL" */
    /* Takes the address apart; nothing is connected yet. */
    gordian_status (*open)(struct connection **connection, const char *address,
                           gordian_error *error);
    void (*close)(struct connection *connection);
    /* Ends what is under way; it can be connected again. */
    void (*hang_up)(struct connection *connection);

    enum driver_progress (*connect)(struct connection *connection);
    enum driver_progress (*ask)(struct connection *connection, const char *sql);
    enum driver_progress (*go_on)(struct connection *connection, short revents);
    /* What to poll for while it is busy; fd -1: nothing, just go on. */
    void (*wants)(const struct connection *connection, int *fd, short *events);

    /* Of the answer, until the next question. NULL where the server has none. */
    const char *(*value)(const struct connection *connection, size_t row, unsigned column);
    /* Where it is, for people: "db1:5432". */
    void (*place)(const struct connection *connection, char *text, size_t size);
};

/* What the connections of all drivers begin with. */
struct connection {
    const struct driver *driver;
    gordian_allocator memory;
    size_t rows; /* of the answer, until the next question */
    /* After a failure: was it an error that the server answered with, and can the connection be
     * asked again? */
    bool survives;
    char why[320]; /* what failed: a line, and no password in it */
    /* Once it is connected: what to ask this server, its version, and the number of our session
     * there, as it was given to us. */
    const struct dialect *dialect;
    unsigned version;
    int64_t pid;
};

#ifdef HAVE_LIBPQ
extern const struct driver driver_libpq;
#endif
#ifdef HAVE_LIBMARIADB
extern const struct driver driver_mariadb;
#endif

/* drivers.c. Which one an address is for; NULL: `why` says why none is. */
const struct driver *driver_find(const char *address, const char **why);
