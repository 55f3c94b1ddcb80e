/* TLS when something is wrong: whoever cannot be trusted is not talked to, and one clear message
 * says what it is. */
#define _GNU_SOURCE
#include "foundation/base/clock.h"
#include "relay.h"
#include "tls_world.h"

#include <sys/stat.h>

/* Nobody gets in, and the message has all of these words (NULL at the end). */
static void refused(const char *uri, const gordian_client_options *options, gordian_status expected,
                    const char *const *words)
{
    gordian_client *client = (gordian_client *)folder;
    error = (gordian_error){0};
    gordian_status status = gordian_client_open(&client, uri, options, &error);
    CHECK_MSG(status == expected && error.status == expected, "%s: %d %s", uri, (int)status,
              error.message);
    CHECK(client == NULL);
    for (size_t i = 0; words[i]; i++)
        CHECK_MSG(strstr(error.message, words[i]), "no '%s' in '%s'", words[i], error.message);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void welcome(const char *uri, const gordian_client_options *options)
{
    gordian_client *client = open_client(uri, options);
    CHECK(gordian_client_ping(client, &error) == GORDIAN_OK);
    gordian_client_close(client);
}

/* ------------------------------------------------------------------ certificates */

struct wrong {
    const char *certificate; /* the service's */
    const char *ca;          /* what the client trusts; NULL: the system's */
    const char *host;        /* in the URI */
    const char *name;        /* the one to expect; NULL: that */
    const char *words[4];    /* what is said; none: it is fine */
};

static const struct wrong wrongs[] = {
    {"good", "ca", "localhost", NULL, {NULL}},
    {"good", "ca", "127.0.0.1", NULL, {NULL}},
    {"good", "ca", "localhost", "127.0.0.1", {NULL}},
    {"good", "ca", "127.0.0.1", "::1", {NULL}},
    {"good", "ca", "localhost", "localhost.", {NULL}},
    {"good", "ca", "localhost", "LocalHost", {NULL}},
    {"good", "good", "localhost", NULL, {NULL}}, /* a certificate vouches for itself */
    {"self", "self", "127.0.0.1", NULL, {NULL}},
    {"elsewhere", "ca", "localhost", "gordian.example", {NULL}},
    {"elsewhere", "ca", "localhost", "a.gordian.example", {NULL}},
    {"elsewhere", "ca", "localhost", "192.0.2.7", {NULL}},
    {"good", NULL, "localhost", NULL, {"trusted authority", "--tls-ca"}},
    {"good", "other-ca", "localhost", NULL, {"trusted authority", "--tls-ca"}},
    {"self", "ca", "localhost", NULL, {"trusted authority", "self", "--tls-ca"}},
    {"impostor", "ca", "localhost", NULL, {"trusted authority", "--tls-ca"}},
    {"name-only", "ca", "127.0.0.1", NULL, {"localhost", "127.0.0.1", "--tls-name"}},
    {"good", "ca", "localhost", "127.0.0.2", {"127.0.0.2", "--tls-name"}},
    {"elsewhere", "ca", "localhost", NULL, {"gordian.example", "192.0.2.7", "localhost"}},
    {"elsewhere", "ca", "localhost", "gordian.example.org", {"--tls-name"}},
    {"elsewhere", "ca", "localhost", "a.b.gordian.example", {"--tls-name"}},
    {"nobody", "ca", "localhost", NULL, {"subjectAltName", "localhost"}},
    {"localhost", "ca", "localhost", NULL, {"subjectAltName"}},
    {"expired", "ca", "localhost", NULL, {"the service's certificate expired on", "UTC", "clock"}},
    {"early", "ca", "localhost", NULL, {"is valid from", "clock"}},
    {"of-old", "old-ca", "localhost", NULL, {"authority's certificate expired on"}},
};

static void test_certificates(void)
{
    struct tls_service service = {0};
    const char *running = NULL;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        const struct wrong *wrong = &wrongs[i];
        char uri[64], ca[64];
        if (!running || strcmp(running, wrong->certificate) != 0) {
            if (running)
                stop_service(&service);
            start_service(&service, wrong->certificate, NULL);
            running = wrong->certificate;
        }
        gordian_client_options options = trusting();
        snprintf(ca, sizeof ca, "%s.pem", wrong->ca ? wrong->ca : "");
        options.tls_ca = wrong->ca ? path_of(ca) : NULL;
        options.tls_name = wrong->name;
        snprintf(uri, sizeof uri, "tls://%s:%u", wrong->host, service.port);
        if (wrong->words[0])
            refused(uri, &options, GORDIAN_STATUS_INPUT, wrong->words);
        else
            welcome(uri, &options);
    }
    stop_service(&service);
}

/* The system's store is what OpenSSL's environment says. */
static void test_store(void)
{
    struct tls_service service;
    start_service(&service, "good", NULL);
    gordian_client_options options = trusting();
    options.tls_ca = NULL;
    setenv("SSL_CERT_FILE", path_of("ca.pem"), 1);
    welcome(service.uri, &options);
    welcome(service.uri, NULL);
    setenv("SSL_CERT_FILE", path_of("other-ca.pem"), 1);
    refused(service.uri, &options, GORDIAN_STATUS_INPUT, WORDS("--tls-ca"));
    unsetenv("SSL_CERT_FILE");
    stop_service(&service);
}

/* A service that wants to know its clients. */
static void test_clients(void)
{
    struct tls_service service;
    start_service(&service, "good", "ca");
    gordian_client_options options = trusting();
    refused(service.uri, &options, GORDIAN_STATUS_INPUT,
            WORDS("requires a client certificate", "--tls-cert"));
    options.tls_certificate = path_of("client.pem");
    options.tls_key = path_of("client.key");
    welcome(service.uri, &options);
    options.tls_certificate = path_of("stranger.pem");
    options.tls_key = path_of("stranger.key");
    refused(service.uri, &options, GORDIAN_STATUS_INPUT, WORDS("rejected the client certificate"));
    options.tls_key = path_of("client.key");
    refused(service.uri, &options, GORDIAN_STATUS_INPUT, WORDS("client.key", "key"));
    options.tls_key = NULL;
    refused(service.uri, &options, GORDIAN_STATUS_INPUT, WORDS("needs its key"));
    options.tls_certificate = path_of("client.pem");
    options.tls_key = path_of("client.key");
    chmod(options.tls_key, 0644);
    refused(service.uri, &options, GORDIAN_STATUS_INPUT, WORDS("client.key", "chmod 600"));
    chmod(options.tls_key, 0600);
    options.tls_key = path_of("client.pem");
    refused(service.uri, &options, GORDIAN_STATUS_INPUT, WORDS("client.pem", "key"));
    stop_service(&service);
}

static void test_files(void)
{
    char uri[64];
    gordian_client_options options = trusting();
    snprintf(uri, sizeof uri, "tls://localhost:1");
    refused(uri, &options, GORDIAN_STATUS_IO, WORDS("refused"));
    options.tls_ca = path_of("no-such-file.pem");
    refused(uri, &options, GORDIAN_STATUS_INPUT, WORDS("no-such-file.pem", "No such file"));
    options.tls_ca = path_of("ca.key");
    refused(uri, &options, GORDIAN_STATUS_INPUT, WORDS("authorities", "ca.key"));
    options = trusting();
    options.tls_name = "";
    refused(uri, &options, GORDIAN_STATUS_INPUT, WORDS("name"));
    options = trusting();
    options.tls_certificate = path_of("no-such-file.pem");
    options.tls_key = path_of("client.key");
    refused(uri, &options, GORDIAN_STATUS_INPUT, WORDS("certificate", "No such file"));
    refused("tls://localhost", NULL, GORDIAN_STATUS_INPUT, WORDS("tls://HOST:PORT"));
    refused("tls://:1", NULL, GORDIAN_STATUS_INPUT, WORDS("tls://HOST:PORT"));
}

/* ------------------------------------------------------------------ who is there */

/* Nothing ever goes in the clear that was not asked for in the clear. */
static void test_mixed_up(void)
{
    struct tls_service secure, plain;
    char uri[64];
    gordian_client_options options = trusting();
    start_service(&secure, "good", NULL);
    start_service(&plain, NULL, NULL);
    /* TLS to one that has none. */
    refused(plain.uri, &options, GORDIAN_STATUS_IO, WORDS("does not speak TLS"));
    /* Without TLS to one that has it; and what is said about TLS is not forgotten. */
    snprintf(uri, sizeof uri, "tcp://localhost:%u", secure.port);
    refused(uri, NULL, GORDIAN_STATUS_IO, WORDS("tls://"));
    refused(uri, &options, GORDIAN_STATUS_INPUT, WORDS("not encrypted", "tls://"));
    snprintf(uri, sizeof uri, "tcp://localhost:%u", plain.port);
    refused(uri, &options, GORDIAN_STATUS_INPUT, WORDS("not encrypted", "tls://"));
    welcome(uri, NULL);
    welcome(plain.running.uri, &options);
    stop_service(&secure);
    stop_service(&plain);
}

static void refused_by(const struct relay_options *wanted, uint32_t timeout_ms,
                       const char *const *words)
{
    struct relay relay;
    char uri[64];
    gordian_client_options options = trusting();
    options.timeout_ms = timeout_ms;
    REQUIRE(relay_start(&relay, wanted));
    snprintf(uri, sizeof uri, "tls://localhost:%u", relay.port);
    refused(uri, &options, GORDIAN_STATUS_IO, words);
    relay_stop(&relay);
}

static void test_others(void)
{
    refused_by(&(struct relay_options){.answer = "HTTP/1.1 400 Bad Request\r\n\r\nwhat?\r\n"},
               600000, WORDS("does not speak TLS", "--tls-cert"));
    refused_by(&(struct relay_options){.answer = "SSH-2.0-OpenSSH_9.2\r\n"}, 60000,
               WORDS("does not speak TLS"));
    refused_by(&(struct relay_options){.answer = "{\"error\":\"what?\"}\n"}, 60000,
               WORDS("does not speak TLS"));
    refused_by(&(struct relay_options){.answer = "\x16\x03"}, 600000, WORDS("closed"));
    refused_by(&(struct relay_options){.answer = ""}, 600000, WORDS("closed during the TLS"));
    refused_by(&(struct relay_options){.silent = true}, 200,
               WORDS("no answer to the TLS handshake"));
}

/* The handshake ends after every number of bytes, one way or the other. */
static void test_cut(void)
{
    struct tls_service service;
    unsigned long refusals = 0, step = 2000 / test_scaled(400) + 1;
    start_service(&service, "good", NULL);
    for (unsigned long at = 1; at < 4000; at += step) {
        struct relay relay;
        struct relay_options wanted = {.port = service.port, .cut_after = at, .reset = at % 2};
        gordian_client_options options = trusting();
        gordian_client *client;
        char uri[64];
        REQUIRE(relay_start(&relay, &wanted));
        snprintf(uri, sizeof uri, "tls://localhost:%u", relay.port);
        gordian_status status = gordian_client_open(&client, uri, &options, &error);
        relay_stop(&relay);
        if (status == GORDIAN_OK) { /* what was left out comes after the greeting */
            CHECK_MSG(at > 600, "after %lu bytes", at);
            gordian_client_leave(client);
            break;
        }
        CHECK_MSG(status == GORDIAN_STATUS_IO && error.message[0] && !client,
                  "after %lu bytes: %d %s", at, (int)status, error.message);
        refusals++;
    }
    CHECK_MSG(refusals * step > 600, "%lu refusals", refusals);
    stop_service(&service);
}

/* ------------------------------------------------------------------ later on */

/* One who takes the service's place while its clients connect again is not taken for it. */
static void test_impostor(void)
{
    struct tls_service service;
    gordian_client_options options = trusting();
    uint32_t id;
    options.lease_ms = 60000;
    start_service(&service, "good", NULL);
    gordian_client *client = open_client(service.uri, &options);
    CHECK(gordian_client_add_resource(client, "q", 1, &id, &error) == GORDIAN_OK);
    running_end(&service.running, SIGKILL);
    snprintf(service.certificate, sizeof service.certificate, "%s/impostor.pem", folder);
    snprintf(service.key, sizeof service.key, "%s/impostor.key", folder);
    REQUIRE(running_again(&service.running));
    gordian_status status = gordian_client_ping(client, &error);
    CHECK_MSG(status == GORDIAN_STATUS_INPUT && strstr(error.message, "trusted authority"), "%d %s",
              (int)status, error.message);
    status = gordian_client_ping(client, &error);
    CHECK_MSG(status == GORDIAN_STATUS_INPUT, "%d %s", (int)status, error.message);
    gordian_client_close(client);
    stop_service(&service);
}

/* A service that goes away for good: without a lease that is the end, with one its length is. */
static void test_gone(void)
{
    struct tls_service service;
    gordian_client_options options = trusting();
    start_service(&service, "good", NULL);
    gordian_client *client = open_client(service.uri, &options);
    options.lease_ms = 1500;
    gordian_client *patient = open_client(service.uri, &options);
    running_end(&service.running, SIGKILL);
    CHECK(gordian_client_ping(client, &error) == GORDIAN_STATUS_IO);
    gordian_client_close(client);
    gordian_status status = gordian_client_ping(patient, &error);
    CHECK_MSG(status == GORDIAN_STATUS_IO, "%d %s", (int)status, error.message);
    gordian_client_close(patient);
    REQUIRE(running_again(&service.running));
    stop_service(&service);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    test_certificates();
    test_store();
    test_clients();
    test_files();
    test_mixed_up();
    test_others();
    test_cut();
    test_impostor();
    test_gone();
    return end();
}
