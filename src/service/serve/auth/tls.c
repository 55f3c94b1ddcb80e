/* TLS contexts and connections of the service, with OpenSSL. */
#include "service/serve/auth/tls.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tls {
    gordian_allocator memory;
    char *certificate, *key, *clients;
    SSL_CTX *plain; /* for the binary and the text protocol */
    SSL_CTX *http;  /* the same, with http/1.1 by ALPN */
    int64_t expires;
};

/* Fails with OpenSSL's reason for the last failure, and clears its error queue. */
static gordian_status complain_of(const char *what, const char *path, gordian_error *error)
{
    unsigned long code = ERR_get_error();
    const char *text = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return fail(error, GORDIAN_STATUS_INPUT, "cannot use the %s in '%s': %s", what, path,
                text ? text : "unknown error");
}

/* ------------------------------------------------------------------ contexts */

static int choose_http(SSL *ssl, const unsigned char **out, unsigned char *out_length,
                       const unsigned char *in, unsigned in_length, void *context)
{
    static const unsigned char ours[] = "\x08http/1.1";
    (void)ssl;
    (void)context;
    if (SSL_select_next_proto((unsigned char **)out, out_length, ours, sizeof ours - 1, in,
                              in_length) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    return SSL_TLSEXT_ERR_OK;
}

static gordian_status want_client_certificates(SSL_CTX *context, const char *path,
                                               gordian_error *error)
{
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(path);
    if (!names || SSL_CTX_load_verify_locations(context, path, NULL) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return complain_of("authorities", path, error);
    }
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return GORDIAN_OK;
}

static gordian_status fill_server_context(const struct tls *tls, SSL_CTX *context,
                                          gordian_error *error)
{
    static const unsigned char name[] = "gordian";
    struct stat about;
    if (stat(tls->key, &about) != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "cannot read the key in '%s': %s", tls->key,
                    strerror(errno));
    if (about.st_mode & 027)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "cannot use the key in '%s': other users can read or change it: run chmod 600",
                    tls->key);
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_id_context(context, name, sizeof name - 1);
    if (SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1)
        return complain_of("ciphers", "OpenSSL", error);
    if (SSL_CTX_use_certificate_chain_file(context, tls->certificate) != 1)
        return complain_of("certificate", tls->certificate, error);
    if (SSL_CTX_use_PrivateKey_file(context, tls->key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1)
        return complain_of("key", tls->key, error);
    return tls->clients ? want_client_certificates(context, tls->clients, error) : GORDIAN_OK;
}

static gordian_status make_context(const struct tls *tls, SSL_CTX **out, gordian_error *error)
{
    *out = SSL_CTX_new(TLS_server_method());
    return *out ? fill_server_context(tls, *out, error) : fail_memory(error);
}

gordian_status tls_reload(struct tls *tls, gordian_error *error)
{
    SSL_CTX *plain = NULL, *http = NULL;
    struct tm end;
    ERR_clear_error();
    gordian_status status = make_context(tls, &plain, error);
    THEN(status, make_context(tls, &http, error));
    if (status != GORDIAN_OK) {
        SSL_CTX_free(plain);
        SSL_CTX_free(http);
        return status;
    }
    SSL_CTX_set_alpn_select_cb(http, choose_http, NULL);
    SSL_CTX_free(tls->plain);
    SSL_CTX_free(tls->http);
    tls->plain = plain;
    tls->http = http;
    const X509 *certificate = SSL_CTX_get0_certificate(plain);
    bool dated = certificate && ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1;
    tls->expires = dated ? timegm(&end) : 0;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ open and close */

gordian_status tls_open(struct tls **out, const char *certificate, const char *key,
                        const char *clients, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct tls *tls = memory_zeroed(&memory, sizeof *tls);
    *out = NULL;
    if (!tls)
        return fail_memory(error);
    tls->memory = memory;
    tls->certificate = memory_copy_text(&memory, certificate);
    tls->key = memory_copy_text(&memory, key);
    tls->clients = memory_copy_text(&memory, clients);
    bool copied = tls->certificate && tls->key && (!clients || tls->clients);
    gordian_status status = copied ? tls_reload(tls, error) : fail_memory(error);
    if (status == GORDIAN_OK)
        *out = tls;
    else
        tls_close(tls);
    return status;
}

void tls_close(struct tls *tls)
{
    if (!tls)
        return;
    gordian_allocator memory = tls->memory;
    SSL_CTX_free(tls->plain);
    SSL_CTX_free(tls->http);
    memory_free_all(&memory, tls->certificate, tls->key, tls->clients, tls);
}

int64_t tls_expires(const struct tls *tls)
{
    return tls->expires;
}

/* ------------------------------------------------------------------ connections */

struct bufferevent *tls_accept(struct tls *tls, struct event_base *base, int fd, bool http)
{
    SSL *ssl = SSL_new(http ? tls->http : tls->plain);
    if (!ssl)
        return NULL;
    struct bufferevent *made = bufferevent_openssl_socket_new(
        base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    if (!made) {
        SSL_free(ssl);
        return NULL;
    }
    /* A peer that closes without a TLS shutdown ends the connection without an error: lost data is
     * detected by the length of frames. */
    bufferevent_openssl_set_allow_dirty_shutdown(made, 1);
    return made;
}
