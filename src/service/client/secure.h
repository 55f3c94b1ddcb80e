/*
 * TLS for client connections: version 1.2 or later; certificate and name of the service are always
 * verified.
 *
 *     secure.c         OpenSSL: trust, and the bytes of a connection
 *     secure_errors.c  error messages
 *     secure_linked.c  secure_load for programs that link OpenSSL
 *     secure_loaded.c  secure_load from a module, loaded when it is first needed
 *     secure_none.c    secure_load of a library built without OpenSSL
 *
 * OpenSSL never writes to the socket. It writes to a queue, which is sent without SIGPIPE. So bytes
 * that were accepted stay accepted, and no call has to be repeated with the same bytes.
 *
 * OpenSSL allocates from the C library, whatever the client's allocator.
 */
#pragma once

#include "foundation/base/modules.h"

#include <gordian/client.h>

#include <sys/types.h>

struct secure;      /* trust and identity of a client */
struct secure_link; /* one connection */

/* Wishes of the user, see gordian_client_options; NULL: none. */
struct secure_options {
    const char *ca, *name, *certificate, *key;
};

struct secure_state {
    bool unsent; /* the kernel has not taken all encrypted bytes */
    bool more;   /* the last read has left decrypted data behind */
    /* Why the link failed, without the address; NULL: see errno. */
    const gordian_error *trouble;
};

/* The functions of TLS; the only symbol of the module. */
struct secure_interface {
    struct module_head head;
    /* `host`: the name that the certificate must match, unless the wishes name another. Reads the
     * files; GORDIAN_STATUS_INPUT if one is unusable. The allocator must outlive it. On failure
     * *out is NULL. */
    gordian_status (*open)(struct secure **out, const char *host,
                           const struct secure_options *options, const gordian_allocator *memory,
                           gordian_error *error);
    void (*close)(struct secure *secure); /* after its links; NULL is allowed */
    /* The caller keeps the socket. NULL: out of memory. */
    struct secure_link *(*link_open)(struct secure *secure, int fd);
    /* Sends a close alert if that does not block. NULL is allowed. */
    void (*link_close)(struct secure_link *link);
    /* As in channel.h. */
    int (*shake)(struct secure_link *link);
    ssize_t (*read)(struct secure_link *link, void *to, size_t size);
    ssize_t (*write)(struct secure_link *link, const void *from, size_t size);
    int (*flush)(struct secure_link *link);
    struct secure_state (*state)(const struct secure_link *link);
};

extern const struct secure_interface gordian_tls_interface; /* secure.c */

/* Returns the functions of TLS for all connections of this process. NULL:
 * GORDIAN_STATUS_UNAVAILABLE, with the reason in `error`. */
const struct secure_interface *secure_load(gordian_error *error);
