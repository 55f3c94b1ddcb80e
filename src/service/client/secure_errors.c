/* Error messages of TLS that say what to do. */
#define _GNU_SOURCE
#include "foundation/base/error.h"
#include "service/client/secure_internal.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <time.h>

/* ------------------------------------------------------------------ certificates */

/* Appends a name of a certificate. Non-printable bytes are replaced, because the text may go to a
 * terminal. */
static void add_name(char *text, size_t size, const char *name, size_t length)
{
    size_t used = strlen(text);
    if (used + length + 8 > size) {
        if (used + 5 < size && (used < 3 || strcmp(text + used - 3, "...") != 0))
            strcpy(text + used, " ...");
        return;
    }
    used += (size_t)snprintf(text + used, size - used, "%s", used ? ", " : "");
    for (size_t i = 0; i < length; i++)
        text[used++] = (char)(name[i] > ' ' && name[i] < 127 ? name[i] : '?');
    text[used] = '\0';
}

/* Lists the names of a certificate: "localhost, 127.0.0.1". */
static void list_names(const X509 *certificate, char *text, size_t size)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    text[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        int type;
        const ASN1_STRING *value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &type);
        const unsigned char *bytes =
            type == GEN_DNS || type == GEN_IPADD ? ASN1_STRING_get0_data(value) : NULL;
        size_t length = bytes ? (size_t)ASN1_STRING_length(value) : 0;
        char address[INET6_ADDRSTRLEN];
        if (type == GEN_DNS)
            add_name(text, size, (const char *)bytes, length);
        else if (type == GEN_IPADD && (length == 4 || length == 16) &&
                 inet_ntop(length == 4 ? AF_INET : AF_INET6, bytes, address, sizeof address))
            add_name(text, size, address, strlen(address));
    }
    GENERAL_NAMES_free(names);
}

static void write_time(const ASN1_TIME *when, char *text, size_t size)
{
    struct tm parts;
    if (ASN1_TIME_to_tm(when, &parts) != 1 || !strftime(text, size, "%Y-%m-%d %H:%M UTC", &parts))
        snprintf(text, size, "?");
}

static void explain_name(struct secure_link *link, const X509 *certificate)
{
    char names[120];
    list_names(certificate, names, sizeof names);
    if (names[0])
        fail(&link->trouble, GORDIAN_STATUS_INPUT,
             "the service's certificate is for %s, not for %.100s: connect to a name that it "
             "covers, or give the name to expect (--tls-name)",
             names, link->secure->name);
    else
        fail(&link->trouble, GORDIAN_STATUS_INPUT,
             "the service's certificate names no host: it needs a subjectAltName with "
             "%.100s",
             link->secure->name);
}

static void explain_certificate(struct secure_link *link, int why, int depth,
                                const X509 *certificate)
{
    const char *whose = depth == 0 ? "the service's certificate" : "its authority's certificate";
    char when[40];
    switch (why) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        explain_name(link, certificate);
        return;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        write_time(X509_get0_notAfter(certificate), when, sizeof when);
        fail(&link->trouble, GORDIAN_STATUS_INPUT,
             "%s expired on %s: renew it, or correct this machine's clock", whose, when);
        return;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        write_time(X509_get0_notBefore(certificate), when, sizeof when);
        fail(&link->trouble, GORDIAN_STATUS_INPUT,
             "%s is valid from %s: correct this machine's clock", whose, when);
        return;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_UNTRUSTED:
        fail(&link->trouble, GORDIAN_STATUS_INPUT,
             "no trusted authority has signed the service's certificate (%s): name the "
             "authority's certificate (--tls-ca)",
             X509_verify_cert_error_string(why));
        return;
    default:
        fail(&link->trouble, GORDIAN_STATUS_INPUT, "%s is not accepted: %s", whose,
             X509_verify_cert_error_string(why));
    }
}

int secure_judge(int fine, X509_STORE_CTX *store)
{
    if (fine)
        return 1;
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct secure_link *link = SSL_get_app_data(ssl);
    const X509 *certificate = X509_STORE_CTX_get_current_cert(store);
    if (!certificate)
        certificate = X509_STORE_CTX_get0_cert(store);
    if (certificate)
        explain_certificate(link, X509_STORE_CTX_get_error(store),
                            X509_STORE_CTX_get_error_depth(store), certificate);
    return 0;
}

/* ------------------------------------------------------------------ handshake errors */

/* Explains alerts of the service, and answers that OpenSSL cannot parse. */
static void explain_code(struct secure_link *link, int reason, const char *text)
{
    switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_UNEXPECTED_MESSAGE:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_RECORD_LENGTH_MISMATCH:
        fail(&link->trouble, GORDIAN_STATUS_IO,
             "the peer does not speak TLS: is it the right port, of a service with --tls-cert? "
             "(for a service without it, use tcp://)");
        return;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_VERSION_TOO_LOW:
        fail(&link->trouble, GORDIAN_STATUS_INPUT, "it does not speak TLS 1.2 or newer (%s)", text);
        return;
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        fail(&link->trouble, GORDIAN_STATUS_INPUT,
             "the service requires a client certificate: give one (--tls-cert, --tls-key)");
        return;
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        fail(&link->trouble, GORDIAN_STATUS_INPUT, "the service declines the handshake%s",
             link->secure->has_certificate
                 ? ": is the client certificate one it accepts (--tls-clients of 'gordian serve')?"
                 : ": perhaps it requires a client certificate (--tls-cert, --tls-key)");
        return;
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        fail(&link->trouble, GORDIAN_STATUS_INPUT,
             "the service rejected the client certificate (%s): give one it asks for "
             "(--tls-cert, --tls-key)",
             text);
        return;
    default:
        fail(&link->trouble, GORDIAN_STATUS_IO, "TLS failed: %s", text);
    }
}

void secure_explain(struct secure_link *link)
{
    unsigned long code = ERR_peek_error();
    const char *text = code ? ERR_reason_error_string(code) : NULL;
    if (link->trouble.status != GORDIAN_OK)
        return; /* the certificate was explained already */
    if (link->ended || link->failure)
        fail(&link->trouble, GORDIAN_STATUS_IO,
             "the connection was closed during the TLS handshake%s%s: is it 'gordian serve' with "
             "--tls-cert?",
             link->failure ? ": " : "", link->failure ? strerror(link->failure) : "");
    else
        explain_code(link, ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0,
                     text ? text : "no reason given");
}
