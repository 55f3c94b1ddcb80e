/* TLS of a client with OpenSSL. */
#define _GNU_SOURCE
#include "service/client/secure.h"

#include "foundation/base/error.h"
#include "service/client/secure_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD    16384       /* maximum bytes of a TLS record */
#define OUT_MOST  (64u << 10) /* encrypted bytes buffered before the kernel takes them */
#define READ_ROOM (64u << 10)
/* Includes the TLS overhead, so that writing does not allocate. */
#define OUT_ROOM (OUT_MOST + RECORD + 4096)

/* ------------------------------------------------------------------ the BIO: the socket as OpenSSL
 * sees it */

static int take_bytes(BIO *bio, char *to, int size)
{
    struct secure_link *link = BIO_get_data(bio);
    ssize_t count;
    BIO_clear_retry_flags(bio);
    do
        count = recv(link->fd, to, (size_t)size, 0);
    while (count < 0 && errno == EINTR);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_read(bio);
    else if (count < 0)
        link->failure = errno;
    else if (count == 0)
        link->ended = true;
    return (int)count;
}

static int put_tls_bytes(BIO *bio, const char *from, int size)
{
    struct secure_link *link = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (!fifo_reserve(&link->secure->memory, &link->out, (size_t)size)) {
        link->no_memory = true;
        return -1;
    }
    memcpy(fifo_back(&link->out), from, (size_t)size);
    fifo_put(&link->out, (size_t)size);
    return size;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    const struct secure_link *link = BIO_get_data(bio);
    (void)number;
    (void)pointer;
    switch (command) {
    case BIO_CTRL_FLUSH:
        return 1;
    case BIO_CTRL_EOF:
        return link->ended;
    default:
        return 0;
    }
}

static BIO_METHOD *make_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "gordian");
    if (method && BIO_meth_set_read(method, take_bytes) &&
        BIO_meth_set_write(method, put_tls_bytes) && BIO_meth_set_ctrl(method, bio_control))
        return method;
    BIO_meth_free(method);
    return NULL;
}

/* ------------------------------------------------------------------ trust */

static gordian_status complain_of_tls(const char *what, const char *path, gordian_error *error)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = code ? ERR_reason_error_string(code) : NULL;
    gordian_status status =
        fail(error, GORDIAN_STATUS_INPUT, "cannot use the %s in '%.150s': %.150s", what, path,
             text ? text : "not in PEM format");
    ERR_clear_error();
    return status;
}

static gordian_status check_file(const char *what, const char *path, gordian_error *error)
{
    return access(path, R_OK) == 0
               ? GORDIAN_OK
               : fail(error, GORDIAN_STATUS_INPUT, "cannot read the %s in '%.150s': %s", what, path,
                      strerror(errno));
}

static gordian_status trust_authorities(SSL_CTX *context, const char *path, gordian_error *error)
{
    static const char what[] = "authorities";
    if (!path && SSL_CTX_set_default_verify_paths(context) == 1)
        return GORDIAN_OK;
    if (!path)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "this machine has no certificate store: name a file with the authorities' "
                    "certificates (--tls-ca)");
    TRY(check_file(what, path, error));
    if (SSL_CTX_load_verify_locations(context, path, NULL) != 1)
        TRY(complain_of_tls(what, path, error));
    return GORDIAN_OK;
}

/* There is no terminal to ask for a password. */
static int no_password(char *buffer, int size, int writing, void *context)
{
    (void)buffer;
    (void)size;
    (void)writing;
    (void)context;
    return 0;
}

static gordian_status check_key_file(const char *path, gordian_error *error)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "cannot read the key in '%.150s': %s", path,
                    strerror(errno));
    if (about.st_mode & 027)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "cannot use the key in '%.150s': other users can read or change it: chmod 600",
                    path);
    return GORDIAN_OK;
}

static gordian_status load_client_certificate(SSL_CTX *context,
                                              const struct secure_options *options,
                                              gordian_error *error)
{
    TRY(check_file("certificate", options->certificate, error));
    TRY(check_key_file(options->key, error));
    SSL_CTX_set_default_passwd_cb(context, no_password);
    if (SSL_CTX_use_certificate_chain_file(context, options->certificate) != 1)
        return complain_of_tls("certificate", options->certificate, error);
    if (SSL_CTX_use_PrivateKey_file(context, options->key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1)
        return complain_of_tls("key", options->key, error);
    return GORDIAN_OK;
}

static gordian_status fill_context(struct secure *secure, const struct secure_options *options,
                                   gordian_error *error)
{
    SSL_CTX *context = secure->context;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, secure_judge);
    /* The service's own certificate is accepted as an authority. */
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
    /* Read many small records with one call. */
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, READ_ROOM);
    if (SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1)
        return complain_of_tls("ciphers", "OpenSSL", error);
    gordian_status status = trust_authorities(context, options->ca, error);
    if (status == GORDIAN_OK && options->certificate) {
        status = load_client_certificate(context, options, error);
        secure->has_certificate = true;
    }
    return status;
}

/* Sets the expected name: without the trailing dot of an absolute name, or the zone of an address.
 */
static gordian_status take_server_name(struct secure *secure, const char *name,
                                       gordian_error *error)
{
    unsigned char address[16];
    size_t length = strlen(name);
    if (length == 0 || length >= sizeof secure->name)
        return fail(error, GORDIAN_STATUS_INPUT, "the service's name has 1 to %zu bytes",
                    sizeof secure->name - 1);
    memcpy(secure->name, name, length + 1);
    if (strchr(secure->name, ':'))
        secure->name[strcspn(secure->name, "%")] = '\0';
    else if (length > 1 && secure->name[length - 1] == '.')
        secure->name[length - 1] = '\0';
    secure->is_address = inet_pton(AF_INET, secure->name, address) == 1 ||
                         inet_pton(AF_INET6, secure->name, address) == 1;
    return GORDIAN_OK;
}

static void secure_close(struct secure *secure)
{
    if (!secure)
        return;
    gordian_allocator memory = secure->memory;
    SSL_CTX_free(secure->context);
    BIO_meth_free(secure->method);
    memory_free(&memory, secure);
}

static gordian_status secure_open(struct secure **out, const char *host,
                                  const struct secure_options *options,
                                  const gordian_allocator *memory, gordian_error *error)
{
    *out = NULL;
    if (!options->certificate != !options->key)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "a client certificate needs its key, and a key its certificate: give both");
    struct secure *secure = memory_zeroed(memory, sizeof *secure);
    if (!secure)
        return fail_memory(error);
    ERR_clear_error();
    secure->memory = *memory;
    secure->context = SSL_CTX_new(TLS_client_method());
    secure->method = make_method();
    gordian_status status = secure->context && secure->method ? GORDIAN_OK : fail_memory(error);
    THEN(status, take_server_name(secure, options->name ? options->name : host, error));
    THEN(status, fill_context(secure, options, error));
    if (status == GORDIAN_OK)
        *out = secure;
    else
        secure_close(secure);
    ERR_clear_error();
    return status;
}

/* ------------------------------------------------------------------ a connection */

/* Sets the expected name, and the server name indication unless it is an address. */
static bool expect_name(SSL *ssl, const struct secure *secure)
{
    if (secure->is_address)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), secure->name) == 1;
    SSL_set_hostflags(ssl,
                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return SSL_set1_host(ssl, secure->name) == 1 &&
           SSL_set_tlsext_host_name(ssl, secure->name) == 1;
}

static bool prepare_link(struct secure_link *link)
{
    struct secure *secure = link->secure;
    link->ssl = SSL_new(secure->context);
    BIO *bio = link->ssl ? BIO_new(secure->method) : NULL;
    if (!bio)
        return false;
    BIO_set_data(bio, link);
    BIO_set_init(bio, 1);
    SSL_set_bio(link->ssl, bio, bio); /* SSL owns the BIO now */
    SSL_set_connect_state(link->ssl);
    return SSL_set_app_data(link->ssl, link) == 1 && expect_name(link->ssl, secure) &&
           fifo_reserve(&secure->memory, &link->out, OUT_ROOM);
}

static int secure_flush(struct secure_link *link)
{
    while (fifo_count(&link->out) > 0) {
        ssize_t count =
            send(link->fd, fifo_front(&link->out), fifo_count(&link->out), MSG_NOSIGNAL);
        if (count < 0 && errno != EINTR)
            return errno == EWOULDBLOCK ? EAGAIN : errno;
        if (count > 0)
            fifo_take(&link->out, (size_t)count);
    }
    return 0;
}

static void secure_link_close(struct secure_link *link)
{
    if (!link)
        return;
    if (link->shaken && !link->over) {
        SSL_shutdown(link->ssl);
        secure_flush(link);
        ERR_clear_error();
    }
    gordian_allocator memory = link->secure->memory;
    SSL_free(link->ssl);
    fifo_free(&memory, &link->out);
    memory_free(&memory, link);
}

static struct secure_link *secure_link_open(struct secure *secure, int fd)
{
    struct secure_link *link = memory_zeroed(&secure->memory, sizeof *link);
    if (!link)
        return NULL;
    link->secure = secure;
    link->fd = fd;
    bool good = prepare_link(link);
    ERR_clear_error();
    if (good)
        return link;
    secure_link_close(link);
    return NULL;
}

/* Evaluates a failed OpenSSL call: returns EAGAIN, or ends the link with 0 or an errno. An end
 * without a close alert counts as an end: messages have their own length. */
static int evaluate_failure(struct secure_link *link, int result)
{
    int code = SSL_get_error(link->ssl, result);
    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE)
        return EAGAIN;
    link->over = true;
    if (link->no_memory) {
        link->result = ENOMEM;
    } else if (link->shaken && (code == SSL_ERROR_ZERO_RETURN || link->ended)) {
        link->result = 0;
    } else if (link->shaken && link->failure) {
        link->result = link->failure;
    } else {
        link->result = EPROTO;
        secure_explain(link);
    }
    ERR_clear_error();
    secure_flush(link); /* sends the alert with the reason */
    return link->result;
}

static int secure_shake(struct secure_link *link)
{
    if (link->over)
        return link->result;
    ERR_clear_error();
    int result = SSL_do_handshake(link->ssl);
    if (result != 1)
        result = evaluate_failure(link, result);
    else
        result = 0;
    link->shaken = result == 0;
    int failure = secure_flush(link);
    /* A final message of the peer is read before its hang-up counts. */
    if (failure && failure != EAGAIN && failure != EPIPE && failure != ECONNRESET)
        return failure;
    return result;
}

static ssize_t secure_read(struct secure_link *link, void *to, size_t size)
{
    size_t done = 0;
    int failure = link->over ? link->result : EAGAIN;
    while (!link->over && done < size) {
        size_t room = size - done < INT32_MAX ? size - done : INT32_MAX;
        ERR_clear_error();
        int now = SSL_read(link->ssl, (char *)to + done, (int)room);
        if (now <= 0) {
            failure = evaluate_failure(link, now);
            break;
        }
        done += (size_t)now;
        if (SSL_has_pending(link->ssl) == 0)
            break; /* further data is visible to poll */
    }
    link->more = done > 0 && (link->over || (done == size && SSL_has_pending(link->ssl) == 1));
    if (done > 0)
        return (ssize_t)done;
    errno = failure;
    return failure ? -1 : 0;
}

static ssize_t secure_write(struct secure_link *link, const void *from, size_t size)
{
    size_t done = 0;
    int failure = link->over ? (link->result ? link->result : EPIPE) : secure_flush(link);
    while (failure == 0 && done < size) {
        while (failure == 0 && done < size && fifo_count(&link->out) < OUT_MOST) {
            int part = size - done < RECORD ? (int)(size - done) : RECORD;
            ERR_clear_error();
            int now = SSL_write(link->ssl, (const char *)from + done, part);
            if (now > 0)
                done += (size_t)now;
            else
                failure = evaluate_failure(link, now);
        }
        if (failure == 0)
            failure = secure_flush(link);
    }
    if (done > 0)
        return (ssize_t)done;
    errno = failure;
    return failure ? -1 : 0;
}

static struct secure_state secure_state(const struct secure_link *link)
{
    return (struct secure_state){
        .unsent = fifo_count(&link->out) > 0,
        .more = link->more,
        .trouble = link->trouble.status != GORDIAN_OK ? &link->trouble : NULL,
    };
}

__attribute__((visibility("default"))) const struct secure_interface gordian_tls_interface = {
    .head.version = MODULE_VERSION,
    .open = secure_open,
    .close = secure_close,
    .link_open = secure_link_open,
    .link_close = secure_link_close,
    .shake = secure_shake,
    .read = secure_read,
    .write = secure_write,
    .flush = secure_flush,
    .state = secure_state,
};
