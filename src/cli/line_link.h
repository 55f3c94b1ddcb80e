/* A conversation with the service in its form of lines: lines out, JSON lines in. */
#ifndef GORDIAN_CLI_LINE_LINK_H
#define GORDIAN_CLI_LINE_LINK_H

#include "client/address.h"
#include "client/fifo.h"

struct line_link {
    gordian_allocator memory;
    struct address address;
    int fd; /* -1: none */
    struct fifo out, in;
    size_t looked; /* bytes of `in` known to hold no newline */
    bool ended;    /* the service has hung up; what came before can still be read */
};

/* Where the service is: `uri`, or NULL: the environment's GORDIAN_SERVICE, or the usual place. */
gordian_status line_link_find(struct line_link *link, const char *uri, gordian_error *error);
/* Connects, waiting a few seconds at most. What was queued before is dropped. */
gordian_status line_link_connect(struct line_link *link, gordian_error *error);
void line_link_close(struct line_link *link);

/* Queues bytes; false: out of memory. */
bool line_link_put(struct line_link *link, const char *text, size_t length);
/* Sends and receives what can be without waiting, after waiting at most so long (ms; -1: no limit)
 * for something to come in, or for `also` (a descriptor; -1: none) to be readable. */
gordian_status line_link_step(struct line_link *link, int also, int timeout_ms,
                              gordian_error *error);
/* The next line that has come, without its newline; valid until the next step. */
bool line_link_next(struct line_link *link, const char **text, size_t *length);

/* A token from a file, its first line; into a caller's buffer. */
gordian_status line_link_token(const char *path, char *token, size_t size, gordian_error *error);

#endif
