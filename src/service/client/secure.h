/*
 * TLS for a client's connections: 1.2 at least, the service's certificate and name always checked.
 *
 *     secure.c         OpenSSL: what is trusted, and the bytes of a connection
 *     secure_errors.c  why a connection failed, and what to do about it
 *     secure_linked.c  secure_load where OpenSSL is linked in
 *     secure_loaded.c  secure_load where it comes with a module, loaded when it is first needed
 *     secure_none.c    secure_load in a library built without OpenSSL
 *
 * OpenSSL never touches the socket's writing side: what it wants to send is put into a queue, from
 * where it is sent without SIGPIPE. So bytes that were taken stay taken, and there is no call that
 * would have to be repeated with the same bytes.
 *
 * OpenSSL's own memory comes from the C library, whatever the client's allocator.
 */
#pragma once

#include "foundation/base/modules.h"

#include <gordian/client.h>

#include <sys/types.h>

struct secure;      /* what a client trusts, and who it is */
struct secure_link; /* one connection */

/* What the user says about it, see gordian_client_options; NULL: nothing. */
struct secure_wishes {
    const char *ca, *name, *certificate, *key;
};

struct secure_state {
    bool unsent; /* encrypted bytes are here that the kernel has not taken */
    bool more;   /* the last read has left something behind */
    /* Why the link failed (without the address); NULL: it is the errno that says so. */
    const gordian_error *trouble;
};

/* TLS as a table of functions: the one symbol of the module. */
struct secure_interface {
    struct beside_head head;
    /* `host`: what the certificate must be for, unless the wishes have another name. Reads the
     * files: GORDIAN_STATUS_INPUT where one is of no use. The allocator must outlive it. On failure
     * *out is NULL. */
    gordian_status (*open)(struct secure **out, const char *host,
                           const struct secure_wishes *wishes, const gordian_allocator *memory,
                           gordian_error *error);
    void (*close)(struct secure *secure); /* after its links; NULL is fine */
    /* For a socket that stays the caller's; NULL: out of memory. */
    struct secure_link *(*link_open)(struct secure *secure, int fd);
    /* Says good-bye if it can be said at once. NULL is fine. */
    void (*link_close)(struct secure_link *link);
    /* As in channel.h. */
    int (*shake)(struct secure_link *link);
    ssize_t (*read)(struct secure_link *link, void *to, size_t size);
    ssize_t (*write)(struct secure_link *link, const void *from, size_t size);
    int (*flush)(struct secure_link *link);
    struct secure_state (*state)(const struct secure_link *link);
};

extern const struct secure_interface gordian_tls_interface; /* secure.c */

/* The functions of TLS, for all connections of this process. NULL: GORDIAN_STATUS_UNAVAILABLE, and
 * `error` has the reason. */
const struct secure_interface *secure_load(gordian_error *error);
