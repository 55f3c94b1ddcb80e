/* What the tests of TLS share: certificates of all kinds, and services that use them. */
#ifndef GORDIAN_TESTS_SERVE_TLS_WORLD_H
#define GORDIAN_TESTS_SERVE_TLS_WORLD_H

#include "certificates.h"
#include "load.h"

#include <string.h>

static const char *program;
static char folder[SCRATCH_SIZE];
static volatile sig_atomic_t pipes; /* SIGPIPEs: there must be none */

static inline void count_pipe(int signal)
{
    (void)signal;
    pipes = pipes + 1;
}

/* A file in the folder; the text is good for the next seven calls. */
static inline const char *path_of(const char *name)
{
    static char paths[8][300];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static const struct certificate all_certificates[] = {
    {"ca", NULL, NULL, true, 0, 0},
    {"other-ca", NULL, NULL, true, 0, 0},
    {"old-ca", NULL, NULL, true, -10, -2},
    {"good", "ca", "DNS:localhost,IP:127.0.0.1,IP:::1", false, 0, 0},
    {"name-only", "ca", "DNS:localhost", false, 0, 0},
    {"elsewhere", "ca", "DNS:gordian.example,DNS:*.gordian.example,IP:192.0.2.7", false, 0, 0},
    {"nobody", "ca", NULL, false, 0, 0},
    {"localhost", "ca", NULL, false, 0, 0}, /* only its common name says so */
    {"expired", "ca", "DNS:localhost,IP:127.0.0.1", false, -10, -2},
    {"early", "ca", "DNS:localhost,IP:127.0.0.1", false, 2, 10},
    {"of-old", "old-ca", "DNS:localhost,IP:127.0.0.1", false, 0, 0},
    {"impostor", "other-ca", "DNS:localhost,IP:127.0.0.1", false, 0, 0},
    {"self", NULL, "DNS:localhost,IP:127.0.0.1", false, 0, 0},
    {"client", "ca", NULL, false, 0, 0},
    {"stranger", "other-ca", NULL, false, 0, 0},
};
#define ALL_CERTIFICATES (sizeof all_certificates / sizeof *all_certificates)

static inline void make_certificates(void)
{
    REQUIRE(scratch_make(folder, "tls"));
    for (size_t i = 0; i < ALL_CERTIFICATES; i++)
        REQUIRE(certificate_make(folder, &all_certificates[i]));
}

static inline void remove_certificates(void)
{
    char name[64];
    for (size_t i = 0; i < ALL_CERTIFICATES; i++) {
        snprintf(name, sizeof name, "%s.pem", all_certificates[i].name);
        unlink(path_of(name));
        snprintf(name, sizeof name, "%s.key", all_certificates[i].name);
        unlink(path_of(name));
    }
    CHECK(rmdir(folder) == 0);
}

/* A service that speaks TLS. */
struct tls_service {
    struct running running;
    unsigned port;
    char listen[40], uri[64];
    char certificate[300], key[300], clients[300];
    const char *more[12];
};

/* The Unix socket is there first. */
static inline void await_port(unsigned port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)port)};
    bool good = false;
    for (int tries = 0; tries < 120000 && !good; tries++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        good = connect(fd, (struct sockaddr *)&at, sizeof at) == 0;
        close(fd);
        if (!good)
            usleep(5000);
    }
    REQUIRE(good);
}

/* `name`: of its certificate; NULL: it does not speak TLS. `clients`: of whom a client's
 * certificate must come from; NULL: clients need none. */
static inline void start_service(struct tls_service *service, const char *name, const char *clients)
{
    size_t count = 0;
    service->port = free_port();
    snprintf(service->listen, sizeof service->listen, "127.0.0.1:%u", service->port);
    snprintf(service->uri, sizeof service->uri, "tls://localhost:%u", service->port);
    service->more[count++] = "--listen";
    service->more[count++] = service->listen;
    if (name) {
        snprintf(service->certificate, sizeof service->certificate, "%s/%s.pem", folder, name);
        snprintf(service->key, sizeof service->key, "%s/%s.key", folder, name);
        service->more[count++] = "--tls-cert";
        service->more[count++] = service->certificate;
        service->more[count++] = "--tls-key";
        service->more[count++] = service->key;
    }
    if (clients) {
        snprintf(service->clients, sizeof service->clients, "%s/%s.pem", folder, clients);
        service->more[count++] = "--tls-clients";
        service->more[count++] = service->clients;
    }
    service->more[count] = NULL;
    REQUIRE(running_start(&service->running, program, service->more));
    await_port(service->port);
}

static inline void stop_service(struct tls_service *service)
{
    CHECK(running_alive(&service->running));
    CHECK(running_stop(&service->running) == 0);
}

/* Options of somebody who trusts our authority. */
static inline gordian_client_options trusting(void)
{
    static char authority[300];
    gordian_client_options options;
    gordian_client_options_init(&options);
    snprintf(authority, sizeof authority, "%s/ca.pem", folder);
    options.tls_ca = authority;
    options.timeout_ms = 600000;
    return options;
}

static inline void begin(int argc, char **argv)
{
    if (argc != 2)
        exit(2);
    program = argv[1];
    signal(SIGPIPE, count_pipe);
    make_certificates();
}

static inline int end(void)
{
    remove_certificates();
    CHECK_MSG(pipes == 0, "%d times", (int)pipes);
    return test_done();
}

#endif
