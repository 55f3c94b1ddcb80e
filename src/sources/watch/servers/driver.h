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

struct dialect;

enum driver_progress {
    DRIVER_BUSY,   /* call go_on when the descriptor is ready */
    DRIVER_READY,  /* connected, or answered */
    DRIVER_FAILED, /* `why` says what; the connection is to be hung up */
};

struct driver {
    const char *kind; /* "PostgreSQL" */
    /* Takes the address apart; nothing is connected yet. */
    gordian_status (*open)(void **connection, const char *address, gordian_error *error);
    void (*close)(void *connection);
    /* Ends what is under way; it can be connected again. */
    void (*hang_up)(void *connection);

    enum driver_progress (*connect)(void *connection);
    enum driver_progress (*ask)(void *connection, const char *sql);
    enum driver_progress (*go_on)(void *connection, short revents);
    /* What to poll for while it is busy; fd -1: nothing, just go on. */
    void (*wants)(const void *connection, int *fd, short *events);

    /* The answer, until the next question. A value is NULL where the server has none. */
    size_t (*rows)(const void *connection);
    const char *(*value)(const void *connection, size_t row, unsigned column);
    /* After a failure: was it an error that the server answered with, and can the connection be
     * asked again? */
    bool (*survives)(const void *connection);
    /* What failed: a line, and no password in it. */
    const char *(*why)(const void *connection);
    /* Where it is, for people: "db1:5432". */
    void (*place)(const void *connection, char *text, size_t size);
    /* Once it is connected: the number of our session there, as it was given to us. */
    int64_t (*pid)(const void *connection);
    /* Once it is connected: what to ask this server. */
    const struct dialect *(*dialect)(const void *connection, unsigned *version);
};

#ifdef HAVE_LIBPQ
extern const struct driver driver_libpq;
#endif
#ifdef HAVE_LIBMARIADB
extern const struct driver driver_mariadb;
#endif

/* drivers.c. Which one an address is for; NULL: `why` says why none is. */
const struct driver *driver_find(const char *address, const char **why);
