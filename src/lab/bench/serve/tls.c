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

struct way {
    struct service_process service;
    struct library library;
    double *latencies;
    size_t count;
};

enum { WAY_TCP, WAY_TLS, WAYS };

static const char *const names[WAYS] = {"tcp", "tls"};

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
    return fail(error, GORDIAN_STATUS_IO, "the service does not say where it listens");
}

static gordian_status start_way(struct way *way, bool secure, struct bench *bench,
                                const struct serve_load *load, gordian_error *error)
{
    const char *plain[] = {"--listen", "127.0.0.1:0", NULL};
    const char *with[] = {"--listen",  "127.0.0.1:0", "--tls-cert", "cert.pem",
                          "--tls-key", "key.pem",     NULL};
    gordian_client_options options;
    char uri[64], authority[240];
    unsigned port = 0;
    gordian_client_options_init(&options);
    TRY(serve_make_folder(&way->service, error));
    snprintf(authority, sizeof authority, "%s/cert.pem", way->service.folder);
    if (secure) {
        options.tls_ca = authority;
        TRY(make_certificate(way->service.folder, error));
    }
    TRY(serve_start_with(&way->service, "batch", secure ? with : plain, error));
    TRY(find_logged_port(&way->service, &port, error));
    snprintf(uri, sizeof uri, "%s://127.0.0.1:%u", secure ? "tls" : "tcp", port);
    return library_open(&way->library, bench, uri, &options, load, error);
}

/* ------------------------------------------------------------------ measuring */

static gordian_status time_way_chunk(struct way *way, gordian_error *error)
{
    for (size_t i = 0; i < CHUNK; i++) {
        uint64_t begin = clock_ns();
        TRY(library_single(&way->library, error));
        way->latencies[way->count++] = (double)(clock_ns() - begin) / 1e3;
    }
    return GORDIAN_OK;
}

/* The first round warms up. */
static gordian_status measure_way_latency(struct bench *bench, struct way *ways)
{
    size_t rounds = bench->options->quick ? 20 : 100;
    gordian_status status = GORDIAN_OK;
    bench_progress(bench, "serve: TCP and TLS, one at a time");
    for (int w = 0; w < WAYS; w++) {
        ways[w].latencies =
            memory_alloc(&bench->memory, (rounds + 1) * CHUNK * sizeof *ways[w].latencies);
        if (!ways[w].latencies)
            return fail_memory(bench->error);
    }
    for (size_t round = 0; round <= rounds && status == GORDIAN_OK; round++)
        for (int w = 0; w < WAYS && status == GORDIAN_OK; w++)
            status = time_way_chunk(&ways[w], bench->error);
    double tcp = 0;
    for (int w = 0; w < WAYS && status == GORDIAN_OK; w++) {
        struct bench_row row = bench_row("us", "serve/latency/library-%s", names[w]);
        row.value = bench_median(ways[w].latencies + CHUNK, ways[w].count - CHUNK);
        row.p99 = bench_p99(ways[w].latencies + CHUNK, ways[w].count - CHUNK);
        if (w == WAY_TCP) {
            tcp = row.value;
        } else {
            bench_times(&row, names[WAY_TCP], tcp);
        }
        status = bench_add(bench, &row);
    }
    return status;
}

static gordian_status measure_stream(struct bench *bench, struct way *ways)
{
    struct bench_side sides[WAYS];
    struct bench_effort effort = {1, 3, 15, bench->options->quick ? 1 : 5};
    bench_progress(bench, "serve: TCP and TLS, as fast as they go");
    for (int w = 0; w < WAYS; w++)
        sides[w] = (struct bench_side){.context = &ways[w].library, .run = library_run};
    TRY(bench_measure(bench, sides, WAYS, effort));
    for (int w = 0; w < WAYS; w++) {
        struct bench_row row = bench_row("/s", "serve/library/stream-%s", names[w]);
        row.value = 1e9 / sides[w].median;
        row.p99 = 1e9 / sides[w].p99;
        if (w == WAY_TLS)
            bench_times(&row, names[WAY_TCP], 1e9 / sides[WAY_TCP].median);
        TRY(bench_add(bench, &row));
    }
    return GORDIAN_OK;
}

gordian_status serve_tls(struct bench *bench, const struct serve_load *load)
{
    struct way ways[WAYS] = {0};
    gordian_error error = {0};
    gordian_status status = GORDIAN_OK;
    bench_progress(bench, "serve: starting TCP and TLS");
    for (int w = 0; w < WAYS && status == GORDIAN_OK; w++)
        status = start_way(&ways[w], w == WAY_TLS, bench, load, &error);
    if (status == GORDIAN_STATUS_UNAVAILABLE) {
        status = bench_skip(bench, "serve/*/*-tls", error.message);
    } else if (status != GORDIAN_OK) {
        fail(bench->error, status, "%s", error.message);
    } else {
        status = measure_way_latency(bench, ways);
        THEN(status, measure_stream(bench, ways));
    }
    for (int w = 0; w < WAYS; w++) {
        library_close(&ways[w].library, bench);
        serve_stop(&ways[w].service);
        memory_free(&bench->memory, ways[w].latencies);
    }
    return status;
}
