#include "certificates.h"

#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static EVP_PKEY *make_key(void)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
    if (!context || EVP_PKEY_keygen_init(context) != 1 ||
        EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) != 1 ||
        EVP_PKEY_keygen(context, &key) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(context);
    return key;
}

static FILE *open_file(const char *folder, const char *name, const char *end, const char *mode)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, end);
    if (*mode == 'r')
        return fopen(path, mode);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd >= 0 ? fdopen(fd, mode) : NULL;
}

static bool write_files(const char *folder, const char *name, X509 *certificate, EVP_PKEY *key)
{
    FILE *pem = open_file(folder, name, "pem", "w"), *secret = open_file(folder, name, "key", "w");
    bool good = pem && secret && PEM_write_X509(pem, certificate) == 1 &&
                PEM_write_PrivateKey(secret, key, NULL, NULL, 0, NULL, NULL) == 1;
    if (pem)
        good = fclose(pem) == 0 && good;
    if (secret)
        good = fclose(secret) == 0 && good;
    return good;
}

static bool read_signer(const char *folder, const char *name, X509 **certificate, EVP_PKEY **key)
{
    FILE *pem = open_file(folder, name, "pem", "r"), *secret = open_file(folder, name, "key", "r");
    *certificate = pem ? PEM_read_X509(pem, NULL, NULL, NULL) : NULL;
    *key = secret ? PEM_read_PrivateKey(secret, NULL, NULL, NULL) : NULL;
    if (pem)
        fclose(pem);
    if (secret)
        fclose(secret);
    return *certificate && *key;
}

static bool add(X509 *certificate, X509 *signer, int what, const char *text)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, signer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, what, text);
    bool good = extension && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return good;
}

static bool fill(X509 *certificate, const struct certificate *wanted)
{
    bool usual = wanted->from == 0 && wanted->to == 0;
    uint64_t serial;
    X509_NAME *subject = X509_get_subject_name(certificate);
    return RAND_bytes((unsigned char *)&serial, sizeof serial) == 1 &&
           X509_set_version(certificate, 2) == 1 &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), 0) &&
           X509_time_adj_ex(X509_getm_notBefore(certificate), usual ? -1 : wanted->from, 0, NULL) &&
           X509_time_adj_ex(X509_getm_notAfter(certificate), usual ? 1 : wanted->to, 0, NULL) &&
           X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                      (const unsigned char *)wanted->name, -1, -1, 0) == 1;
}

bool certificate_make(const char *folder, const struct certificate *wanted)
{
    X509 *certificate = X509_new(), *signer = NULL;
    EVP_PKEY *key = make_key(), *signing = NULL;
    bool good = certificate && key && X509_set_pubkey(certificate, key) == 1 &&
                fill(certificate, wanted) &&
                (!wanted->by || read_signer(folder, wanted->by, &signer, &signing));
    X509 *by = signer ? signer : certificate;
    good = good && X509_set_issuer_name(certificate, X509_get_subject_name(by)) == 1 &&
           add(certificate, by, NID_basic_constraints,
               wanted->authority ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
           add(certificate, by, NID_subject_key_identifier, "hash") &&
           (!wanted->hosts || add(certificate, by, NID_subject_alt_name, wanted->hosts)) &&
           X509_sign(certificate, signing ? signing : key, EVP_sha256()) > 0 &&
           write_files(folder, wanted->name, certificate, key);
    X509_free(certificate);
    X509_free(signer);
    EVP_PKEY_free(key);
    EVP_PKEY_free(signing);
    return good;
}
