/* The way from libgordian to its module for TLS, which is loaded when somebody first asks for
 * tls://: the library itself needs no OpenSSL.
 *
 *     secure_module.c  the module's side: the functions of secure.h as a table
 *     secure_loaded.c  the library's side: the same functions, through the table
 */
#pragma once

#include "foundation/base/modules.h"
#include "service/client/secure.h"

#define SECURE_MODULE "libgordian-tls.so"
#define SECURE_TABLE  "gordian_tls_door"

struct secure_door {
    struct beside_head head;
    gordian_status (*open)(struct secure **out, const char *host,
                           const struct secure_wishes *wishes, const gordian_allocator *memory,
                           gordian_error *error);
    void (*close)(struct secure *secure);
    struct secure_link *(*link_open)(struct secure *secure, int fd);
    void (*link_close)(struct secure_link *link);
    int (*shake)(struct secure_link *link);
    ssize_t (*read)(struct secure_link *link, void *to, size_t size);
    ssize_t (*write)(struct secure_link *link, const void *from, size_t size);
    int (*flush)(struct secure_link *link);
    size_t (*unsent)(const struct secure_link *link);
    bool (*has_more)(const struct secure_link *link);
    const gordian_error *(*trouble)(const struct secure_link *link);
};
