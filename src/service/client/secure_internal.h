/* Shared by secure.c and secure_errors.c. */
#pragma once

#include "foundation/base/fifo.h"
#include "service/client/secure.h"

#include <openssl/ssl.h>

struct secure {
    gordian_allocator memory;
    SSL_CTX *context;
    BIO_METHOD *method;
    char name[256];  /* expected name */
    bool is_address; /* the name is an IP address */
    bool has_certificate;
};

struct secure_link {
    struct secure *secure;
    int fd;
    SSL *ssl;
    struct fifo out; /* encrypted, not sent yet */
    bool shaken;     /* the handshake is complete */
    bool more;       /* the last read has left decrypted data behind */
    bool ended;      /* end of file on the socket */
    bool no_memory;
    int failure; /* errno of the socket */

    bool over;  /* nothing more will arrive */
    int result; /* if over: 0 for end of file, or an errno */
    gordian_error trouble;
};

/* Verification callback of OpenSSL: records what is wrong with a certificate, and agrees with
 * OpenSSL. */
int secure_judge(int fine, X509_STORE_CTX *store);
/* Writes the reason of a failed handshake or link to link->trouble. */
void secure_explain(struct secure_link *link);
