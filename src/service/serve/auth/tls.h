/*
 * TLS for the TCP and HTTP listeners: OpenSSL below libevent's bufferevents, TLS 1.2 or later.
 *
 * A reload reads the certificate and the key again. Open connections keep the old ones. A reload
 * that fails changes nothing.
 */
#pragma once

#include <gordian/gordian.h>

struct bufferevent;
struct event_base;
struct tls;

/* `certificate`: a PEM file with the certificate chain. `key`: a PEM file that only its owner and
 * group can read. `clients`: the certificates of the authorities that sign client certificates;
 * NULL: clients need no certificate. */
gordian_status tls_open(struct tls **out, const char *certificate, const char *key,
                        const char *clients, gordian_error *error);
gordian_status tls_reload(struct tls *tls, gordian_error *error);
void tls_close(struct tls *tls);

/* When the certificate expires, in seconds since 1970. */
int64_t tls_expires(const struct tls *tls);

/* Makes a bufferevent for an accepted connection; NULL on failure. Freeing it closes the
 * descriptor. `http`: offer http/1.1 by ALPN. */
struct bufferevent *tls_accept(struct tls *tls, struct event_base *base, int fd, bool http);
