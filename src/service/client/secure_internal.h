/* What secure.c and secure_errors.c share. */
#pragma once

#include "foundation/base/fifo.h"
#include "service/client/secure.h"

#include <openssl/ssl.h>

struct secure {
    gordian_allocator memory;
    SSL_CTX *context;
    BIO_METHOD *method;
    char name[256];  /* what the certificate must be for */
    bool is_address; /* the name is an IP address */
    bool has_certificate;
};

struct secure_link {
    struct secure *secure;
    int fd;
    SSL *ssl;
    struct fifo out; /* encrypted, and not sent yet */
    bool shaken;     /* the handshake is done */
    bool more;       /* the last read has left something behind */
    bool ended;      /* of the socket: there is no more to read */
    bool no_memory;
    int failure; /* of the socket: an errno */

    bool over;  /* nothing more will come */
    int result; /* over: 0 for an end, or an errno */
    gordian_error trouble;
};

/* OpenSSL asks about each certificate: keeps what is wrong with it, agrees with OpenSSL. */
int secure_judge(int fine, X509_STORE_CTX *store);
/* The handshake, or something after it, has failed: into link->trouble. */
void secure_explain(struct secure_link *link);
