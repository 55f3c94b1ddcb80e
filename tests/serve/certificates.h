/* Certificates for tests, made when they are needed: good ones, and those with something wrong. */
#ifndef GORDIAN_TESTS_SERVE_CERTIFICATES_H
#define GORDIAN_TESTS_SERVE_CERTIFICATES_H

#include <stdbool.h>

struct certificate {
    const char *name;  /* NAME.pem and NAME.key are written */
    const char *by;    /* the name of who signs it; NULL: itself */
    const char *hosts; /* "DNS:localhost,IP:127.0.0.1"; NULL: none */
    bool authority;    /* may sign others */
    int from, to;      /* days from today; 0, 0: yesterday to tomorrow */
};

/* Into `folder`, where the signer's files are, too. False: it could not be made. */
bool certificate_make(const char *folder, const struct certificate *wanted);

#endif
