/* TLS for the TCP and HTTP listeners: OpenSSL under libevent's bufferevents, TLS 1.2 at least.
 *
 * The certificate and its key are read again on reload; connections that are open keep what they
 * were opened with. A reload that fails changes nothing.
 */
#pragma once

#include <gordian/gordian.h>

struct bufferevent;
struct event_base;
struct tls;

/* `certificate`: a PEM file with the certificate and what is between it and the root; `key`: a PEM
 * file that others than owner and group cannot read. `clients`: certificates of the authorities
 * that clients must have theirs from; NULL: clients need none. */
gordian_status tls_open(struct tls **out, const char *certificate, const char *key,
                        const char *clients, gordian_error *error);
gordian_status tls_reload(struct tls *tls, gordian_error *error);
void tls_close(struct tls *tls);

/* When the certificate ends, in seconds since 1970. */
int64_t tls_expires(const struct tls *tls);

/* Who speaks first is the client: a bufferevent for a connection that was accepted, or NULL. The
 * descriptor is closed with it. `http`: offer that as the protocol (ALPN). */
struct bufferevent *tls_accept(struct tls *tls, struct event_base *base, int fd, bool http);
