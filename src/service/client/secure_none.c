/* In a library that was built without OpenSSL there is no TLS, and never anything instead of it. */
#include "foundation/base/error.h"
#include "service/client/secure.h"

#include <errno.h>

gordian_status secure_open(struct secure **out, const char *host,
                           const struct secure_wishes *wishes, const gordian_allocator *memory,
                           gordian_error *error)
{
    (void)host;
    (void)wishes;
    (void)memory;
    *out = NULL;
    return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                "tls:// needs OpenSSL, and this libgordian was built without it: build it with "
                "-Dtls=enabled");
}

void secure_close(struct secure *secure)
{
    (void)secure;
}

/* What follows is never reached: there is no struct secure. */

struct secure_link *secure_link_open(struct secure *secure, int fd)
{
    (void)secure;
    (void)fd;
    return NULL;
}

void secure_link_close(struct secure_link *link)
{
    (void)link;
}

int secure_shake(struct secure_link *link)
{
    (void)link;
    return EPROTO;
}

static ssize_t no_bytes(void)
{
    errno = EPROTO;
    return -1;
}

ssize_t secure_read(struct secure_link *link, void *to, size_t size)
{
    (void)link;
    (void)to;
    (void)size;
    return no_bytes();
}

ssize_t secure_write(struct secure_link *link, const void *from, size_t size)
{
    (void)link;
    (void)from;
    (void)size;
    return no_bytes();
}

int secure_flush(struct secure_link *link)
{
    (void)link;
    return EPROTO;
}

size_t secure_unsent(const struct secure_link *link)
{
    (void)link;
    return 0;
}

bool secure_has_more(const struct secure_link *link)
{
    (void)link;
    return false;
}

const gordian_error *secure_trouble(const struct secure_link *link)
{
    (void)link;
    return NULL;
}
