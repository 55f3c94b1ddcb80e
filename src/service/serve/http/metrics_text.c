/* Writes `/metrics`. Each function writes whole families. */
#include "service/serve/core/metrics.h"

#include "foundation/http/prometheus.h"
#include "service/serve/auth/tls.h"
#include "service/serve/http/api.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define OUTCOMES     8 /* of detection and of avoidance */
#define NS_A_SECOND  1e9
#define COMMIT_FIRST 1e-6 /* seconds: first bound of the commit histogram */

static double event_bound(size_t bucket)
{
    return (double)metrics_bound(bucket) / NS_A_SECOND;
}

static double commit_bound(size_t bucket)
{
    return COMMIT_FIRST * (double)(UINT64_C(1) << bucket);
}

/* ------------------------------------------------------------------ systems */

/* Values of a system; each is a family. */
enum system_figure {
    FIGURE_EVENTS,
    FIGURE_SERVED,
    FIGURE_DEADLOCKS,
    FIGURE_OPEN,
    FIGURE_DEADLOCKED,
    FIGURE_VICTIMS,
    FIGURE_LOST,
    FIGURE_WAITING,
    FIGURE_LONGEST,
    FIGURE_PROCESSES,
    FIGURE_RESOURCES,
    FIGURE_DEGRADED,
    FIGURES,
};

static const struct {
    const char *name, *type, *help;
} families[FIGURES] = {
    [FIGURE_EVENTS] = {"gordian_events_total", "counter", "Events accepted."},
    [FIGURE_SERVED] = {"gordian_served_total", "counter",
                       "Waiting requests that were granted later."},
    [FIGURE_DEADLOCKS] = {"gordian_deadlocks_total", "counter", "Deadlocks that have formed."},
    [FIGURE_OPEN] = {"gordian_deadlocks_open", "gauge", "Deadlocks that are open now."},
    [FIGURE_DEADLOCKED] = {"gordian_deadlocked_processes", "gauge",
                           "Processes that can never run again."},
    [FIGURE_VICTIMS] = {"gordian_victims_total", "counter",
                        "Processes ended to resolve a deadlock."},
    [FIGURE_LOST] = {"gordian_lost_processes_total", "counter",
                     "Processes dropped with a lost session."},
    [FIGURE_WAITING] = {"gordian_waiting_processes", "gauge", "Processes that wait."},
    [FIGURE_LONGEST] = {"gordian_longest_wait_seconds", "gauge", "Age of the oldest wait."},
    [FIGURE_PROCESSES] = {"gordian_processes", "gauge", "Processes known."},
    [FIGURE_RESOURCES] = {"gordian_resources", "gauge", "Resources known."},
    [FIGURE_DEGRADED] = {"gordian_engine_degraded", "gauge",
                         "1: the engine's device failed, and another engine continues."},
};

static double system_figure(const struct api *api, const struct served *served,
                            enum system_figure figure)
{
    const struct rates_system *rates = rates_of(&api->rates, served);
    uint64_t now = service_now(api->service), since = rates ? rates_oldest(rates) : 0;
    char note[256];
    const char *said = served_note(served, note, sizeof note);
    const double figures[FIGURES] = {
        [FIGURE_EVENTS] = (double)served->seq,
        [FIGURE_SERVED] = (double)served->counters.served,
        [FIGURE_DEADLOCKS] = (double)served->counters.incidents,
        [FIGURE_OPEN] = served->incident_count,
        [FIGURE_DEADLOCKED] = rates ? rates_deadlocked(rates) : 0,
        [FIGURE_VICTIMS] = (double)served->counters.recovered,
        [FIGURE_LOST] = (double)served->counters.lost,
        [FIGURE_WAITING] = served->waiting,
        [FIGURE_LONGEST] = since && now > since ? (double)(now - since) / 1e3 : 0,
        [FIGURE_PROCESSES] = served->process_count,
        [FIGURE_RESOURCES] = served->resource_count,
        [FIGURE_DEGRADED] = said && *said,
    };
    return figures[figure];
}

/* Writes NAME{system="...", without the end. */
static void begin_sample(struct output *out, const char *name, const struct served *served)
{
    output_format(out, "%s{", name);
    prometheus_label(out, "system", served->name);
}

static void write_outcomes(const struct service *service, struct output *out)
{
    static const char name[] = "gordian_outcomes_total";
    prometheus_family(out, name, "counter", "Events by their result.");
    for (uint32_t i = 0; i < service->system_limit; i++) {
        const struct served *served = service->systems[i];
        for (uint8_t outcome = 1; served && outcome <= OUTCOMES; outcome++) {
            begin_sample(out, name, served);
            output_char(out, ',');
            prometheus_label(out, "outcome", served_outcome_text(served, outcome));
            output_format(out, "} %llu\n", (unsigned long long)served->counters.outcomes[outcome]);
        }
    }
}

static void write_engines(const struct service *service, struct output *out)
{
    static const char name[] = "gordian_engine_info";
    prometheus_family(out, name, "gauge", "The kind of each system and the engine that runs it.");
    for (uint32_t i = 0; i < service->system_limit; i++) {
        const struct served *served = service->systems[i];
        if (!served)
            continue;
        begin_sample(out, name, served);
        output_char(out, ',');
        prometheus_label(out, "kind", served->operations->kind);
        output_char(out, ',');
        prometheus_label(out, "engine", served_engine_name(served));
        output_text(out, "} 1\n");
    }
}

static void write_systems(const struct api *api, struct output *out)
{
    const struct service *service = api->service;
    for (size_t i = 0; i < FIGURES; i++) {
        prometheus_family(out, families[i].name, families[i].type, families[i].help);
        for (uint32_t j = 0; j < service->system_limit; j++) {
            const struct served *served = service->systems[j];
            if (!served)
                continue;
            begin_sample(out, families[i].name, served);
            output_format(out, "} %.17g\n", system_figure(api, served, (enum system_figure)i));
        }
    }
    write_outcomes(service, out);
    write_engines(service, out);
}

/* ------------------------------------------------------------------ the service */

static uint64_t largest_session(const struct service *service)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < service->session_limit; i++) {
        uint64_t bytes = service->sessions[i].in_use ? session_memory(service, i) : 0;
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

static void write_service(const struct api *api, struct output *out)
{
    const struct service *service = api->service;
    const struct service_counters *counters = &service->counters;
    const char *why;
    prometheus_family(out, "gordian_build_info", "gauge", "Version of the service.");
    output_format(out, "gordian_build_info{version=\"%s\"} 1\n", gordian_version());
    prometheus_gauge(out, "gordian_start_time_seconds", "Start time of the service.",
                     (double)service->started / 1e3);
    prometheus_gauge(out, "gordian_ready", "1: events are accepted and stored.",
                     api->ready(api->ready_context, &why));
    prometheus_gauge(out, "gordian_leads", "1: this server is the leader on its store.",
                     !service->standby_reason[0] && store_is_sure_leader(api->store));
    prometheus_gauge(out, "gordian_systems", "Systems.", service->system_count);
    prometheus_gauge(out, "gordian_sessions", "Sessions, connected or on their lease.",
                     service->session_count);
    prometheus_gauge(out, "gordian_clients", "Connections of clients.", service->client_count);
    prometheus_gauge(out, "gordian_memory_bytes", "Memory of all systems and sessions.",
                     (double)service_memory_used(service));
    prometheus_gauge(out, "gordian_client_memory_max_bytes", "Memory of the largest session.",
                     (double)largest_session(service));
    prometheus_counter(out, "gordian_client_memory_refused_total",
                       "Commands and events refused because of the client's memory quota.",
                       counters->over_memory);
    prometheus_counter(out, "gordian_connections_total", "Connections of clients so far.",
                       counters->connections);
    prometheus_counter(out, "gordian_connections_refused_total", "Connections refused.",
                       counters->refused);
    prometheus_counter(out, "gordian_connections_cut_off_total",
                       "Clients disconnected because they did not read.", counters->cut_off);
    prometheus_counter(out, "gordian_leases_ended_total", "Sessions that were lost.",
                       counters->leases_ended);
    prometheus_counter(out, "gordian_stalls_total", "Times the service itself stalled.",
                       counters->stalls);
    prometheus_value(out, "gordian_stalled_seconds_total", "counter",
                     "Total time of the stalls; leases were extended by it.",
                     (double)counters->stalled_ms / 1000);
    prometheus_family(out, "gordian_loop_longest_seconds", "gauge",
                      "Longest time that the event loop was busy, by cause, in the last minutes.");
    for (size_t i = 0; i < CAUSES; i++)
        output_format(out, "gordian_loop_longest_seconds{cause=\"%s\"} %.9f\n", metrics_causes[i],
                      (double)metrics_longest(&counters->spans, (enum metrics_cause)i) /
                          NS_A_SECOND);
    prometheus_counter(out, "gordian_notices_sent_total", "Notifications sent by --on-deadlock.",
                       counters->hooks_sent);
    prometheus_counter(out, "gordian_notices_failed_total", "Failed attempts to send them.",
                       counters->hooks_failed);
    prometheus_counter(out, "gordian_notices_dropped_total", "Notifications dropped.",
                       counters->hooks_dropped);
    prometheus_family(
        out, "gordian_log_lines_suppressed_total", "counter",
        "Log lines left out: over a rate limit, or because the log's queue was full.");
    output_format(out,
                  "gordian_log_lines_suppressed_total{reason=\"rate\"} %llu\n"
                  "gordian_log_lines_suppressed_total{reason=\"queue\"} %llu\n",
                  (unsigned long long)counters->log_suppressed,
                  (unsigned long long)counters->log_dropped);
    prometheus_counter(out, "gordian_frames_total", "Frames received in the binary form.",
                       counters->frames);
    prometheus_counter(out, "gordian_lines_total", "Lines received in the line form.",
                       counters->lines);
    prometheus_counter(out, "gordian_received_bytes_total", "Bytes from clients.",
                       counters->bytes_in);
    prometheus_counter(out, "gordian_sent_bytes_total", "Bytes to clients.", counters->bytes_out);
    prometheus_counter(out, "gordian_errors_total", "Answers that were errors.", counters->errors);
    prometheus_counter(out, "gordian_wrong_tokens_total", "Wrong tokens received.",
                       counters->wrong_tokens);
    prometheus_counter(out, "gordian_duplicates_total",
                       "Duplicate events, sent again after a reconnect.", counters->duplicates);
    prometheus_counter(out, "gordian_throttled_total", "Times a client had to wait for its quota.",
                       counters->throttled);
    prometheus_histogram(out, "gordian_event_duration_seconds",
                         "Time from an event's arrival to its answer.", counters->latency.buckets,
                         METRICS_BOUNDS, event_bound, (double)counters->latency.sum / NS_A_SECOND);
}

/* ------------------------------------------------------------------ the journal */

static void write_journal(const struct api *api, struct output *out)
{
    struct store_figures figures;
    const char *why;
    bool failing = store_snapshots_fail(api->store, &why);
    store_figures(api->store, &figures);
    prometheus_counter(out, "gordian_journal_records_total", "Records appended.", figures.records);
    prometheus_counter(out, "gordian_journal_bytes_total", "Bytes of records appended.",
                       figures.bytes);
    prometheus_counter(out, "gordian_journal_batches_total", "Batches committed.", figures.batches);
    prometheus_counter(out, "gordian_journal_failures_total",
                       "Commits that failed, retries included.", figures.failures);
    prometheus_counter(out, "gordian_journal_snapshots_total", "Snapshots written.",
                       figures.snapshots);
    prometheus_counter(out, "gordian_journal_snapshot_failures_total",
                       "Snapshots that could not be written.", figures.snapshot_failures);
    prometheus_gauge(out, "gordian_journal_snapshots_failing",
                     "1: the last snapshot could not be written.", failing);
    prometheus_counter(out, "gordian_incidents_expired_total",
                       "Incidents dropped because they were too old.", figures.incidents_dropped);
    prometheus_gauge(out, "gordian_journal_lag_records", "Records appended and not yet committed.",
                     (double)(store_last(api->store) - store_committed(api->store)));
    prometheus_gauge(out, "gordian_journal_lag_bytes", "Bytes appended and not yet written.",
                     (double)figures.lag_bytes);
    prometheus_gauge(out, "gordian_journal_size_bytes", "Journal since the newest snapshot.",
                     (double)figures.journal_bytes);
    prometheus_gauge(out, "gordian_journal_wal_bytes", "SQLite's write-ahead log.",
                     (double)figures.wal_bytes);
    prometheus_gauge(out, "gordian_journal_healthy",
                     "0: the journal or a snapshot cannot be written.",
                     store_healthy(api->store, &why) && !failing);
    prometheus_histogram(out, "gordian_journal_commit_duration_seconds",
                         "Duration of commits of the journal.", figures.commits, STORE_BUCKETS - 1,
                         commit_bound, (double)figures.commit_ns / NS_A_SECOND);
}

/* ------------------------------------------------------------------ HTTP and the process */

static void write_http(const struct api *api, struct output *out)
{
    static const char name[] = "gordian_http_requests_total";
    struct httpd_figures figures;
    httpd_figures(api->httpd, &figures);
    prometheus_family(out, name, "counter", "Requests by the class of their status.");
    for (int class = 2; class < 6; class ++)
        output_format(out, "%s{code=\"%dxx\"} %llu\n", name, class,
                      (unsigned long long)figures.requests[class]);
    prometheus_gauge(out, "gordian_http_connections", "HTTP connections.", figures.connections);
    prometheus_gauge(out, "gordian_http_streams", "Streams of server-sent events.",
                     figures.streams);
    prometheus_counter(out, "gordian_http_connections_total", "HTTP connections so far.",
                       figures.accepted);
    prometheus_counter(out, "gordian_http_refused_total",
                       "HTTP connections dropped because there were too many.", figures.refused);
    prometheus_counter(out, "gordian_http_cut_off_total", "HTTP clients that were too slow.",
                       figures.cut_off);
    if (api->tls)
        prometheus_gauge(out, "gordian_tls_certificate_expiry_timestamp_seconds",
                         "Expiry time of the certificate.", (double)tls_expires(api->tls));
}

/* The standard process metrics of Prometheus clients. */
static void write_process_metrics(struct output *out)
{
    struct rusage usage;
    unsigned long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file) {
        if (fscanf(file, "%lu %lu", &size, &resident) == 2) {
            double page = (double)sysconf(_SC_PAGESIZE);
            prometheus_gauge(out, "process_virtual_memory_bytes", "Virtual memory.",
                             (double)size * page);
            prometheus_gauge(out, "process_resident_memory_bytes", "Resident memory.",
                             (double)resident * page);
        }
        fclose(file);
    }
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        prometheus_value(out, "process_cpu_seconds_total", "counter",
                         "Time on the processor, user and system.",
                         (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                             (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
}

void metrics_write(const struct api *api, struct output *out)
{
    write_service(api, out);
    write_systems(api, out);
    write_journal(api, out);
    write_http(api, out);
    write_process_metrics(out);
}
