/* A conversation with the service in its form of lines: lines out, JSON lines in. */
#ifndef GORDIAN_CLI_SERVICE_LINE_LINK_H
#define GORDIAN_CLI_SERVICE_LINE_LINK_H

#include "client/channel.h"
#include "client/fifo.h"

struct line_link {
    gordian_allocator memory;
    struct address address;
    struct channel channel;
    struct secure *secure; /* NULL: the address is one without TLS */
    struct fifo out, in;
    size_t looked; /* bytes of `in` known to hold no newline */
    bool heard;    /* the service has said something on this connection */
    bool ended;    /* the service has hung up; what came before can still be read */
};

/* What goes before line_link_find, and may be closed. */
#define LINE_LINK_NONE                                                                             \
    {                                                                                              \
        .channel.fd = -1                                                                           \
    }

/* The options of a command that fill a struct secure_wishes. */
#define LINE_LINK_OPTIONS(wishes)                                                                   \
    {"tls-ca",     0,   "FILE", "authorities to trust (default: the system's)", OPTION_TEXT,        \
     &(wishes).ca, NULL},                                                                           \
        {"tls-name",     0,   "NAME", "whose certificate to expect (default: HOST's)", OPTION_TEXT, \
         &(wishes).name, NULL},                                                                     \
        {"tls-cert",  0,                                                                            \
         "FILE",      "our own certificate, if the service asks for one",                           \
         OPTION_TEXT, &(wishes).certificate,                                                        \
         NULL},                                                                                     \
    {                                                                                               \
        "tls-key", 0, "FILE", "and its key", OPTION_TEXT, &(wishes).key, NULL                       \
    }

/* Where the service is: `uri`, or NULL: the environment's GORDIAN_SERVICE, or the usual place. What
 * is wished of TLS is refused where the URI is one without. */
gordian_status line_link_find(struct line_link *link, const char *uri,
                              const struct secure_wishes *wishes, gordian_error *error);
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

/* What to do about an error of the service, to stand behind its words; "": nothing is known. */
const char *line_link_advice(uint64_t code);

/* A token from a file, its first line; into a caller's buffer. */
gordian_status line_link_token(const char *path, char *token, size_t size, gordian_error *error);

#endif
