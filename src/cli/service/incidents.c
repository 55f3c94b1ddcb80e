/* gordian incidents: history of deadlocks, read from a service's folder or from its PostgreSQL
 * tables, also while the service runs. */
#define _GNU_SOURCE /* timegm */
#include "cli/base/commands.h"
#include "cli/base/hide_passwords.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/io/replace.h"
#include "output/show/answer_json.h"
#include "service/serve/core/point_in_time.h"
#include "service/serve/core/state.h"
#include "service/serve/store/incident_finding.h"
#include "service/serve/store/incidents_db.h"
#include "service/serve/store/store.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define USUAL_FOLDER "/var/lib/gordian" /* as in the systemd unit */

struct listing {
    struct cli *cli;
    struct style style;
    const char *folder, *store, *schema, *since, *until, *at, *export;
    struct incidents_filter filter;
    uint64_t id; /* only this incident; 0: all that match */
    bool audit;  /* manual actions instead */
    bool state;  /* the whole state at that time instead */
    struct output *out;
    uint64_t count, open;
    gordian_error error;
};

/* ------------------------------------------------------------------ times */

/* Parses an age: 90s, 15m, 12h, 30d. */
static bool parse_ago(const char *text, uint64_t *ms)
{
    uint64_t ago, now = wall_ms();
    if (!*text || !strchr("smhd", text[strlen(text) - 1]) || !options_duration(text, &ago) ||
        ago > now)
        return false;
    *ms = now - ago;
    return true;
}

/* Parses a date in UTC: 2026-11-15, 2026-11-15 09:30, 2026-11-15T09:30:15Z. */
static bool parse_date(const char *text, uint64_t *ms)
{
    static const char *const forms[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S",
                                        "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm parts = {0};
        const char *rest = strptime(text, forms[i], &parts);
        if (rest && *rest == 'Z')
            rest++;
        if (!rest || *rest)
            continue;
        time_t seconds = timegm(&parts);
        if (seconds < 0)
            return false;
        *ms = (uint64_t)seconds * 1000;
        return true;
    }
    return false;
}

static int take_time(struct listing *listing, const char *option, const char *text, uint64_t *ms)
{
    if (!text || parse_ago(text, ms) || parse_date(text, ms))
        return EXIT_NOTHING;
    return cli_misuse(listing->cli,
                      "--%s: expected a time such as 2h (ago), 2026-11-15 or "
                      "\"2026-11-15 09:30\" (UTC), not '%.100s'",
                      option, text);
}

static void print_date(struct output *out, uint64_t ms)
{
    char text[40];
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts))
        output_format(out, "%s.%03u", text, (unsigned)(ms % 1000));
}

/* ------------------------------------------------------------------ incidents */

static gordian_status print_incident_json(void *context, const struct incident *incident)
{
    struct listing *listing = context;
    struct json json;
    json_begin(&json, listing->out);
    incident_json(&json, incident);
    incident_finding_json(&json, incident);
    json_end(&json);
    listing->count++;
    listing->open += incident->ended == 0;
    return GORDIAN_OK;
}

static void print_end(struct listing *listing, const struct incident *incident)
{
    struct output *out = listing->out;
    const struct style *style = &listing->style;
    if (!incident->ended) {
        style_text(style, out, COLOR_BAD, "stands");
        return;
    }
    output_text(out, incident->how ? incident->how : "ended");
    output_text(out, " after ");
    uint64_t ms = incident->ended > incident->at ? incident->ended - incident->at : 0;
    if (ms < 60000)
        output_format(out, "%.3g s", (double)ms / 1000);
    else if (ms < 3600000)
        output_format(out, "%.3g min", (double)ms / 60000);
    else if (ms < 86400000)
        output_format(out, "%.3g h", (double)ms / 3600000);
    else
        output_format(out, "%.3g days", (double)ms / 86400000);
    if (incident->victim) {
        output_text(out, ", victim ");
        style_name(style, out, COLOR_PROCESS, incident->victim);
    }
}

static gordian_status print_incident_text(void *context, const struct incident *incident)
{
    struct listing *listing = context;
    struct output *out = listing->out;
    const struct style *style = &listing->style;
    struct parsed_witness parsed;
    struct finding finding;
    if (listing->count++ > 0)
        output_char(out, '\n');
    listing->open += incident->ended == 0;
    style_color(style, out, COLOR_STRONG);
    output_format(out, "incident %llu", (unsigned long long)incident->id);
    style_color(style, out, COLOR_PLAIN);
    output_text(out, "  ");
    print_date(out, incident->at);
    output_text(out, "  ");
    style_name(style, out, COLOR_PLAIN, incident->system ? incident->system : "");
    output_text(out, "  ");
    print_end(listing, incident);
    if (incident->labels) {
        /* "  team:pay env:prod" */
        struct arena arena;
        const struct value *list =
            service_json_parse(&arena, incident->labels, strlen(incident->labels));
        for (size_t i = 0; i < value_count(list); i++) {
            const char *label = value_text(value_item(list, i));
            output_text(listing->out, i ? " " : "  ");
            style_name(&listing->style, listing->out, COLOR_FAINT, label ? label : "");
        }
        arena_free(&arena);
    }
    if (incident->damaged)
        output_text(out, "  damaged: wrong checksum");
    output_char(out, '\n');
    if (incident_finding(&finding, &parsed, incident))
        finding_draw(&finding, style, listing->cli->verbose, out);
    finding_close(&finding);
    parsed_witness_free(&parsed);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ manual actions */

static gordian_status audit_json(void *context, const struct incident *action)
{
    struct listing *listing = context;
    struct json json;
    json_begin(&json, listing->out);
    action_json(&json, action);
    json_end(&json);
    listing->count++;
    return GORDIAN_OK;
}

static gordian_status audit_text(void *context, const struct incident *action)
{
    struct listing *listing = context;
    struct output *out = listing->out;
    const struct style *style = &listing->style;
    listing->count++;
    print_date(out, action->at);
    output_text(out, "  ");
    style_name(style, out, COLOR_PLAIN, action->system ? action->system : "");
    output_format(out, "  %s ", action->how ? action->how : "");
    style_name(style, out, COLOR_PROCESS, action->victim ? action->victim : "");
    output_text(out, "  by ");
    style_name(style, out, COLOR_PLAIN, action->requester ? action->requester : "");
    if (action->processes && *action->processes) {
        output_text(out, ": ");
        style_name(style, out, COLOR_PLAIN, action->processes);
    }
    output_char(out, '\n');
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ queries */

static void set_store_options(const struct listing *listing, struct store_options *options)
{
    store_options_init(options);
    options->folder = listing->store ? NULL : listing->folder;
    options->postgres = listing->store;
    options->schema = listing->schema;
}

static gordian_status open_incidents(struct listing *listing, struct incidents_db **db)
{
    struct store_options options;
    if (!listing->store)
        return incidents_open(db, listing->folder, NULL, &listing->error);
    set_store_options(listing, &options);
    return store_read_incidents(&options, listing->filter.with_replay || listing->id, db,
                                &listing->error);
}

static gordian_status run_query(struct listing *listing, bool as_json)
{
    struct incidents_db *db;
    gordian_status (*each)(void *, const struct incident *) =
        as_json ? print_incident_json : print_incident_text;
    gordian_status status = open_incidents(listing, &db);
    TRY(status);
    if (listing->audit)
        status = actions_query(db, &listing->filter, as_json ? audit_json : audit_text, listing,
                               &listing->error);
    else if (listing->id)
        status = incidents_get(db, listing->id, NULL, each, listing, &listing->error);
    else
        status = incidents_query(db, &listing->filter, each, listing, &listing->error);
    incidents_close(db);
    return status == GORDIAN_STATUS_END ? GORDIAN_OK : status;
}

/* Writes all incidents with their replays, one object per line. */
static gordian_status write_export(void *context, struct output *out, gordian_error *error)
{
    struct listing *listing = context;
    (void)error; /* listing->error is used */
    listing->out = out;
    listing->filter.with_replay = listing->filter.oldest_first = true;
    return run_query(listing, true);
}

static gordian_status export_all(struct listing *listing)
{
    gordian_error inner = {0};
    gordian_status status = replace_file(listing->export, 0600, write_export, listing, &inner);
    listing->out = &listing->cli->out;
    if (status == GORDIAN_OK || listing->error.status == status)
        return status;
    return fail(&listing->error, status, "%.200s: %.300s", listing->export, inner.message);
}

static void print_summary(struct listing *listing)
{
    struct cli *cli = listing->cli;
    if (cli->quiet || listing->audit)
        return;
    if (listing->export && strcmp(listing->export, "-") != 0)
        cli_say(cli, "%llu incident%s written to %s", (unsigned long long)listing->count,
                listing->count == 1 ? "" : "s", listing->export);
    else if (!cli->json && !listing->export && listing->count == 0)
        output_text(&cli->out, "no incidents\n");
    else if (!cli->json && !listing->export)
        output_format(&cli->out, "\n%llu incident%s, %llu of them stand%s\n",
                      (unsigned long long)listing->count, listing->count == 1 ? "" : "s",
                      (unsigned long long)listing->open, listing->open == 1 ? "s" : "");
}

static int list_incidents(struct listing *listing)
{
    bool to_file = listing->export && strcmp(listing->export, "-") != 0;
    listing->out = &listing->cli->out;
    if (listing->export && !to_file)
        listing->filter.with_replay = listing->filter.oldest_first = true;
    gordian_status status =
        to_file ? export_all(listing) : run_query(listing, listing->cli->json || listing->export);
    if (status != GORDIAN_OK)
        return cli_finish(listing->cli, cli_fail(listing->cli, NULL, &listing->error));
    print_summary(listing);
    return cli_finish(listing->cli, listing->count ? EXIT_FOUND : EXIT_NOTHING);
}

/* ------------------------------------------------------------------ point-in-time query */

static gordian_status print_system(struct listing *listing, const struct service *service,
                                   struct served *served)
{
    struct output *out = listing->out;
    struct json json;
    const char *label = listing->filter.label;
    if (!listing->cli->json) {
        output_format(out, "# system %s, which %ss, at ", served->name, served->operations->kind);
        print_date(out, listing->filter.stood);
        output_text(out, " UTC\n");
        return state_trace(served, label, out, &listing->error);
    }
    json_begin(&json, out);
    json_key_text(&json, "system", served->name);
    json_key_text(&json, "kind", served->operations->kind);
    json_key_u64(&json, "at", listing->filter.stood);
    json_key_u64(&json, "seq", served->seq);
    gordian_status status = state_json(service, served, label, &json, &listing->error);
    json_end(&json);
    return status;
}

/* Returns the named system, or the only one. */
static struct served *choose_system(struct listing *listing, const struct service *service)
{
    const char *name = listing->filter.system;
    struct served *only = NULL;
    if (!name && service->system_count == 1)
        for (uint32_t i = 0; i < service->system_limit; i++)
            only = service->systems[i] ? service->systems[i] : only;
    if (!only)
        only = service_find(service, name ? name : "default", strlen(name ? name : "default"));
    if (!only)
        fail(&listing->error, GORDIAN_STATUS_INPUT, "there was no system '%.100s' at that time",
             name ? name : "default");
    return only;
}

static int show_state(struct listing *listing)
{
    struct store_options source;
    struct past *past;
    struct service *service;
    set_store_options(listing, &source);
    listing->out = &listing->cli->out;
    gordian_status status = point_in_time_open(&past, &source, NULL, &listing->error);
    THEN(status, point_in_time_seek(past, listing->filter.stood, &service, &listing->error));
    struct served *served = status == GORDIAN_OK ? choose_system(listing, service) : NULL;
    if (served)
        status = print_system(listing, service, served);
    else if (status == GORDIAN_OK || status == GORDIAN_STATUS_END)
        status = listing->error.status = GORDIAN_STATUS_INPUT;
    point_in_time_close(past);
    return cli_finish(listing->cli, status == GORDIAN_OK
                                        ? EXIT_NOTHING
                                        : cli_fail(listing->cli, NULL, &listing->error));
}

static int incidents_main(struct cli *cli, int argc, char **argv)
{
    struct listing listing = {.cli = cli, .folder = USUAL_FOLDER};
    struct incidents_filter *filter = &listing.filter;
    int code;
    const struct option options[] = {
        {"data", 'd', "DIR", "the service's directory (default: " USUAL_FOLDER ")", OPTION_FOLDER,
         &listing.folder, NULL},
        {"store", 0, "URI", "a PostgreSQL server instead, as in gordian serve --store", OPTION_TEXT,
         &listing.store, NULL},
        {"store-schema", 0, "NAME", "schema that holds the tables (default: gordian)", OPTION_TEXT,
         &listing.schema, NULL},
        {"system", 0, "NAME", "only those of this system", OPTION_TEXT, &filter->system, NULL},
        {"process", 0, "NAME", "only those with this process", OPTION_TEXT, &filter->process, NULL},
        {"since", 0, "TIME", "formed at or after this time (UTC); 2h: 2 hours ago", OPTION_TEXT,
         &listing.since, NULL},
        {"until", 0, "TIME", "formed before this time", OPTION_TEXT, &listing.until, NULL},
        {"label", 0, "KEY:VALUE", "only deadlocks with a process that had this label", OPTION_TEXT,
         &filter->label, NULL},
        {"at", 0, "TIME", "only those open at this time", OPTION_TEXT, &listing.at, NULL},
        {"state", 0, NULL,
         "with --at: print the state at that time instead, as a\n"
         "trace (with --json as JSON)",
         OPTION_FLAG, &listing.state, NULL},
        {"open", 0, NULL, "only open ones", OPTION_FLAG, &filter->open, NULL},
        {"ended", 0, NULL, "only ended ones", OPTION_FLAG, &filter->ended, NULL},
        {"id", 0, "N", "only this one; with --json also the events before it", OPTION_U64,
         &listing.id, NULL},
        {"limit", 'n', "N", "at most N", OPTION_U32, &filter->limit, NULL},
        {"oldest-first", 0, NULL, "the oldest first (default: the newest)", OPTION_FLAG,
         &filter->oldest_first, NULL},
        {"audit", 0, NULL, "list manual actions of operators instead", OPTION_FLAG, &listing.audit,
         NULL},
        {"export", 0, "FILE",
         "write them to a file (-: standard output), one JSON\n"
         "object per line, with the events before each",
         OPTION_FILE, &listing.export, NULL},
        {0},
    };
    int operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    if (operands > 0)
        return cli_misuse(cli, "unexpected operand '%.200s': name the directory with --data",
                          argv[0]);
    code = take_time(&listing, "since", listing.since, &filter->since);
    THEN_CODE(code, take_time(&listing, "until", listing.until, &filter->until));
    THEN_CODE(code, take_time(&listing, "at", listing.at, &filter->stood));
    TRY_CODE(code);
    if (listing.state && !listing.at)
        return cli_misuse(cli, "--state needs a time: give it with --at");
    listing.style = cli_style(cli);
    char *uri = hide_uri((char *)listing.store);
    if (listing.store && !uri)
        return cli_misuse(cli, "out of memory");
    listing.store = uri;
    code = listing.state ? show_state(&listing) : list_incidents(&listing);
    free(uri);
    return code;
}

const struct command command_incidents = {
    .name = "incidents",
    .operands = "",
    .summary = "list the deadlock history of a service",
    .about =
        "Lists the deadlocks that a service has recorded, the newest first: when each formed,\n"
        "its processes, and how it ended. Reads the service's directory or the tables of\n"
        "--store; the service need not run. Exit status 1 if there are any, 0 if none. With\n"
        "--at TIME --state: prints the state of a system at that time as a trace for 'gordian\n"
        "detect' and others, as far back as the service keeps it (--keep-history of 'gordian\n"
        "serve'). Exit status 0.\n",
    .run = incidents_main,
};
