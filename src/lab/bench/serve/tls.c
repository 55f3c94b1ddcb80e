/* What TLS costs: the client library over TCP and over TLS, to two services of the same kind. */
#define _GNU_SOURCE
#include "lab/bench/serve/serve.h"

#include "foundation/base/error.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK 200 /* round trips of one side before the next side's turn */

struct transport {
    struct service_process service;
    struct library library;
    double *latencies;
    size_t count;
};

enum { TRANSPORT_TCP, TRANSPORT_TLS, TRANSPORTS };

static const char *const names[TRANSPORTS] = {"tcp", "tls"};

/* ------------------------------------------------------------------ starting */

/* Makes a self-signed certificate with OpenSSL's command. */
static gordian_status make_certificate(const char *folder, gordian_error *error)
{
    char key[240], certificate[240];
    int status = -1;
    snprintf(key, sizeof key, "%s/key.pem", folder);
    snprintf(certificate, sizeof certificate, "%s/cert.pem", folder);
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        if (nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 && dup2(nowhere, STDERR_FILENO) >= 0)
            execlp("openssl", "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                   "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=bench",
                   "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
                   (char *)NULL);
        _exit(127);
    }
    if (child > 0)
        waitpid(child, &status, 0);
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_UNAVAILABLE, "no certificate: openssl is not installed");
}

/* Finds the port in the service's log. */
static gordian_status find_logged_port(const struct service_process *service, unsigned *port,
                                       gordian_error *error)
{
    char path[240], line[400];
    snprintf(path, sizeof path, "%s/log", service->folder);
    for (int tries = 0; tries < 1000; tries++) {
        FILE *file = fopen(path, "r");
        *port = 0;
        while (file && *port == 0 && fgets(line, sizeof line, file)) {
            const char *at = strstr(line, "listening on 127.0.0.1:");
            if (at && sscanf(at, "listening on 127.0.0.1:%u", port) != 1)
                *port = 0;
        }
        if (file)
            fclose(file);
        if (*port)
            return GORDIAN_OK;
        usleep(5000);
    }
    return fail(error, GORDIAN_STATUS_IO, "the service does not log its address");
}

static gordian_status start_transport(struct transport *transport, bool secure, struct bench *bench,
                                      const struct serve_load *load, gordian_error *error)
{
    const char *plain[] = {"--listen", "127.0.0.1:0", NULL};
    const char *with[] = {"--listen",  "127.0.0.1:0", "--tls-cert", "cert.pem",
                          "--tls-key", "key.pem",     NULL};
    gordian_client_options options;
    char uri[64], authority[240];
    unsigned port = 0;
    gordian_client_options_init(&options);
    TRY(serve_make_folder(&transport->service, error));
    snprintf(authority, sizeof authority, "%s/cert.pem", transport->service.folder);
    if (secure) {
        options.tls_ca = authority;
        TRY(make_certificate(transport->service.folder, error));
    }
    TRY(serve_start_with(&transport->service, "batch", secure ? with : plain, error));
    TRY(find_logged_port(&transport->service, &port, error));
    snprintf(uri, sizeof uri, "%s://127.0.0.1:%u", secure ? "tls" : "tcp", port);
    return library_open(&transport->library, bench, uri, &options, load, error);
}

/* ------------------------------------------------------------------ measuring */

static gordian_status time_transport_chunk(struct transport *transport, gordian_error *error)
{
    for (size_t i = 0; i < CHUNK; i++) {
        uint64_t begin = clock_ns();
        TRY(library_single(&transport->library, error));
        transport->latencies[transport->count++] = (double)(clock_ns() - begin) / 1e3;
    }
    return GORDIAN_OK;
}

/* The first round warms up. */
static gordian_status measure_transport_latency(struct bench *bench, struct transport *transports)
{
    size_t rounds = bench->options->quick ? 20 : 100;
    gordian_status status = GORDIAN_OK;
    bench_progress(bench, "serve: TCP and TLS, single operations");
    for (int w = 0; w < TRANSPORTS; w++) {
        transports[w].latencies =
            memory_alloc(&bench->memory, (rounds + 1) * CHUNK * sizeof *transports[w].latencies);
        if (!transports[w].latencies)
            return fail_memory(bench->error);
    }
    for (size_t round = 0; round <= rounds && status == GORDIAN_OK; round++)
        for (int w = 0; w < TRANSPORTS && status == GORDIAN_OK; w++)
            status = time_transport_chunk(&transports[w], bench->error);
    double tcp = 0;
    for (int w = 0; w < TRANSPORTS && status == GORDIAN_OK; w++) {
        struct bench_row row = bench_row("us", "serve/latency/library-%s", names[w]);
        row.value = bench_median(transports[w].latencies + CHUNK, transports[w].count - CHUNK);
        row.p99 = bench_p99(transports[w].latencies + CHUNK, transports[w].count - CHUNK);
        if (w == TRANSPORT_TCP) {
            tcp = row.value;
        } else {
            bench_times(&row, names[TRANSPORT_TCP], tcp);
        }
        status = bench_add(bench, &row);
    }
    return status;
}

static gordian_status measure_stream(struct bench *bench, struct transport *transports)
{
    struct bench_side sides[TRANSPORTS];
    struct bench_effort effort = {1, 3, 15, bench->options->quick ? 1 : 5};
    bench_progress(bench, "serve: TCP and TLS, throughput");
    for (int w = 0; w < TRANSPORTS; w++)
        sides[w] = (struct bench_side){.context = &transports[w].library, .run = library_run};
    TRY(bench_measure(bench, sides, TRANSPORTS, effort));
    for (int w = 0; w < TRANSPORTS; w++) {
        struct bench_row row = bench_row("/s", "serve/library/stream-%s", names[w]);
        row.value = 1e9 / sides[w].median;
        row.p99 = 1e9 / sides[w].p99;
        if (w == TRANSPORT_TLS)
            bench_times(&row, names[TRANSPORT_TCP], 1e9 / sides[TRANSPORT_TCP].median);
        TRY(bench_add(bench, &row));
    }
    return GORDIAN_OK;
}

gordian_status serve_tls(struct bench *bench, const struct serve_load *load)
{
    struct transport transports[TRANSPORTS] = {0};
    gordian_error error = {0};
    gordian_status status = GORDIAN_OK;
    bench_progress(bench, "serve: starting TCP and TLS");
    for (int w = 0; w < TRANSPORTS && status == GORDIAN_OK; w++)
        status = start_transport(&transports[w], w == TRANSPORT_TLS, bench, load, &error);
    if (status == GORDIAN_STATUS_UNAVAILABLE) {
        status = bench_skip(bench, "serve/*/*-tls", error.message);
    } else if (status != GORDIAN_OK) {
        fail(bench->error, status, "%s", error.message);
    } else {
        status = measure_transport_latency(bench, transports);
        THEN(status, measure_stream(bench, transports));
    }
    for (int w = 0; w < TRANSPORTS; w++) {
        library_close(&transports[w].library, bench);
        serve_stop(&transports[w].service);
        memory_free(&bench->memory, transports[w].latencies);
    }
    return status;
}
