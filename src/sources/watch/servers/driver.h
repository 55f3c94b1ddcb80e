/* A non-blocking connection to a server. An operation is started, and continued whenever the
 * descriptor is ready.
 *
 *    progress = driver->connect(connection);
 *    while (progress == DRIVER_BUSY) {
 *        driver->wants(connection, &fd, &events);
 *        ... poll ...
 *        progress = driver->go_on(connection, revents);
 *    }
 *
 * `ask` works the same way. To add a driver: fill this table, list it in drivers.c, and write a
 * dialect. */
#pragma once

#include <gordian/gordian.h>

#include <stdbool.h>
#include <stdint.h>

struct dialect;
struct connection;

enum driver_progress {
    DRIVER_BUSY,   /* call go_on when the descriptor is ready */
    DRIVER_READY,  /* connected, or answered */
    DRIVER_FAILED, /* `why` has the reason; hang up the connection */
};

struct driver {
    const char *kind; /* "PostgreSQL" */
    /* Parses the address. Does not connect. */
    gordian_status (*open)(struct connection **connection, const char *address,
                           gordian_error *error);
    void (*close)(struct connection *connection);
    /* Closes the connection. It can be connected again. */
    void (*hang_up)(struct connection *connection);

    enum driver_progress (*connect)(struct connection *connection);
    enum driver_progress (*ask)(struct connection *connection, const char *sql);
    enum driver_progress (*go_on)(struct connection *connection, short revents);
    /* Sets what to poll for while the connection is busy. fd -1: call go_on without polling. */
    void (*wants)(const struct connection *connection, int *fd, short *events);

    /* Returns a value of the answer, valid until the next query. NULL stands for SQL's NULL. */
    const char *(*value)(const struct connection *connection, size_t row, unsigned column);
    /* Writes the location for people: "db1:5432". */
    void (*place)(const struct connection *connection, char *text, size_t size);
};

/* The common head of all drivers' connections. */
struct connection {
    const struct driver *driver;
    gordian_allocator memory;
    size_t rows; /* in the answer, valid until the next query */
    /* After a failure: did the server answer with an error, so that the connection can still be
     * used? */
    bool survives;
    char why[320]; /* reason of the failure: one line without passwords */
    /* Valid once connected: the dialect of this server, its version, and the number of our session
     * as the server gave it to us. */
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

/* drivers.c. Returns the driver for an address. NULL: `why` has the reason. */
const struct driver *driver_find(const char *address, const char **why);
