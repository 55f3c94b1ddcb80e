/* Writes the summary of watched servers as JSON. */
#include "output/show/json.h"
#include "sources/watch/graph/duplicate_servers.h"
#include "sources/watch/report/report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME_SIZE 200

static void key_name(struct json *json, const char *key, const struct telling *telling,
                     struct member member)
{
    char name[NAME_SIZE];
    write_member_name(telling, member, name, sizeof name);
    json_key_text(json, key, name);
}

static void key_time(struct json *json)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    json_key_u64(json, "time_ms", (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
}

/* A negative value is unknown and is not written. */
static void key_seconds(struct json *json, const char *key, double seconds)
{
    if (seconds >= 0)
        json_key_number(json, key, seconds);
}

static void key_session(struct json *json, const struct telling *telling, const char *key,
                        struct member member)
{
    const struct session *session = member_session(telling->sources, member);
    json_open(json, key, '{');
    key_name(json, "session", telling, member);
    json_key_text(json, "server", telling->sources[member.source]->label);
    json_key_i64(json, "pid", session->pid);
    if (session->gid)
        json_key_text(json, "prepared", session->gid);
    json_key_text(json, "user", session->user);
    json_key_text(json, "application", session->application);
    json_key_text(json, "database", session->database);
    json_key_text(json, "client", session->address);
    if (session->port)
        json_key_u64(json, "client_port", session->port);
    json_key_text(json, "state", session->state);
    key_seconds(json, "state_seconds", session->state_s);
    key_seconds(json, "transaction_seconds", session->transaction_s);
    json_key_text(json, "query", session->query);
    json_shut(json);
}

/* ------------------------------------------------------------------ the summary */

static void write_server(struct json *json, const struct telling *telling,
                         const struct source *source)
{
    const struct source *same =
        source->parked ? duplicates_watcher(telling->sources, telling->count, source) : NULL;
    json_open(json, NULL, '{');
    json_key_text(json, "server", source->label);
    json_key_text(json, "kind",
                  source->inspector ? "process"
                  : source->dialect ? source->dialect->kind
                                    : source->driver->kind);
    json_key_bool(json, "seen", source->scan.whole);
    json_key_u64(json, "waits", source->scan.wait_count);
    json_key_u64(json, "looks", source->looks);
    json_key_number(json, "asked_seconds", (double)source->spent_ns / 1e9);
    if (*source->trouble)
        json_key_text(json, "trouble", source->trouble);
    if (*source->facts.lacks)
        json_key_text(json, "lacks", source->facts.lacks);
    if (same)
        json_key_text(json, "same_as", same->label);
    json_shut(json);
}

static void key_unseen(struct json *json, const struct telling *telling,
                       const struct unseen *unseen)
{
    json_key_text(json, "server", telling->sources[unseen->source]->label);
    if (unseen->sessions) {
        json_key_u64(json, "session_count", unseen->sessions);
        key_name(json, "session", telling, (struct member){unseen->source, unseen->session});
    }
    json_key_text(json, "reason", unseen->reason);
}

void watch_unseen_json(const struct telling *telling, const struct unseen *unseen)
{
    struct json json;
    json_begin(&json, telling->out);
    json_key_text(&json, "report", "unseen");
    key_time(&json);
    key_unseen(&json, telling, unseen);
    json_end(&json);
}

static void write_unseen(struct json *json, const struct telling *telling,
                         const struct unseen_list *unseen)
{
    json_key_bool(json, "complete", unseen->count == 0);
    json_open(json, "unseen", '[');
    for (size_t i = 0; i < unseen->count; i++) {
        json_open(json, NULL, '{');
        key_unseen(json, telling, &unseen->list[i]);
        json_shut(json);
    }
    json_shut(json);
}

void watch_summary_json(const struct telling *telling, const struct verdict *verdict,
                        const struct overview *overview, const struct unseen_list *unseen)
{
    struct json json;
    json_begin(&json, telling->out);
    json_open(&json, "summary", '{');
    key_time(&json);
    json_key_u64(&json, "deadlocks", verdict->deadlock_count);
    json_key_u64(&json, "behind", verdict->behind);
    json_key_u64(&json, "mended_by_servers", verdict->mended);
    json_key_u64(&json, "waiting", overview->waiting);
    json_key_number(&json, "oldest_wait_seconds", overview->oldest_s);
    json_key_text(&json, "engine", verdict->engine ? verdict->engine : "");
    write_unseen(&json, telling, unseen);
    json_open(&json, "servers", '[');
    for (size_t i = 0; i < telling->count; i++)
        write_server(&json, telling, telling->sources[i]);
    json_shut(&json);
    json_open(&json, "roots", '[');
    for (size_t i = 0; i < overview->root_count; i++) {
        const struct root *root = &overview->roots[i];
        json_open(&json, NULL, '{');
        json_key_u64(&json, "behind", root->behind);
        key_session(&json, telling, "root", (struct member){root->source, root->session});
        json_shut(&json);
    }
    json_shut(&json);
    json_open(&json, "longest_chain", '[');
    for (size_t i = 0; i < overview->chain_count; i++) {
        char name[NAME_SIZE];
        write_member_name(telling, (struct member){overview->chain_source, overview->chain[i]},
                          name, sizeof name);
        json_text(&json, name);
    }
    json_end(&json);
}
