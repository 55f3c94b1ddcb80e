#define _GNU_SOURCE /* asprintf */
/* gordian serve: the service. Reads options from the command line and a file, then calls
 * service/serve/server/server.h. */
#include "cli/base/commands.h"
#include "cli/base/hide_passwords.h"
#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/io/size.h"
#include "foundation/base/memory.h"
#include "service/serve/server/log.h"
#include "service/serve/server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define CONFIG_WORDS 128
#define OPTIONS      56   /* maximum */
#define REST_MS      3000 /* after a handover, wait this long before becoming leader again */
#define LOG_END_MS   500  /* for the last lines of the log, at the end */
/* Less memory would not suffice for the messages of an ordinary client. */
#define CLIENT_MEMORY_MIN (1u << 20)

struct serve {
    struct cli *cli;
    struct server_options options;
    struct option *table;
    const char *config;
    const char *verify;
    const char *keep_history, *history_size;
    const char *keep_incidents, *max_lease, *memory, *client_memory, *leader_lease;
    unsigned durability;
    bool hand_over;
    struct systemd systemd; /* from a server that lost the leadership */
    char socket[256];
    int argc;
    char **argv;
    struct serve *fresh, *given;  /* before any option was read; as given at the start */
    char *words[2][CONFIG_WORDS]; /* of the file, when first and last read */
};

/* ------------------------------------------------------------------ values */

/* Parses the options with units. Returns NULL, or the error. */
static const char *take_values(struct serve *serve)
{
    struct server_options *options = &serve->options;
    uint64_t ms;
    if (serve->keep_incidents &&
        !options_duration(serve->keep_incidents, &options->keep_incidents_ms))
        return "--keep-incidents: expected a time such as 30d, 12h or 0 (forever)";
    if (serve->keep_history && !options_duration(serve->keep_history, &options->keep_history_ms))
        return "--keep-history: expected a time such as 7d or 12h";
    if (serve->history_size &&
        !parse_size(serve->history_size, strlen(serve->history_size), &options->history_bytes))
        return "--history-size: expected a size such as 10G";
    if (serve->max_lease) {
        if (!options_duration(serve->max_lease, &ms) || ms > UINT32_MAX)
            return "--max-lease: expected a time such as 24h";
        options->limits.lease_max_ms = (uint32_t)ms;
    }
    if (serve->leader_lease && (!options_duration(serve->leader_lease, &options->leader_lease_ms) ||
                                options->leader_lease_ms == 0))
        return "--leader-lease: expected a time such as 5s";
    if (serve->memory && !parse_size(serve->memory, strlen(serve->memory), &options->limits.memory))
        return "--max-memory: expected a size such as 4G, or 0 (no limit)";
    if (serve->client_memory) {
        uint64_t *limit = &options->limits.session_memory;
        if (!parse_size(serve->client_memory, strlen(serve->client_memory), limit) ||
            (*limit > 0 && *limit < CLIENT_MEMORY_MIN))
            return "--max-client-memory: expected a size from 1M on, such as 512M, or 0 (no limit)";
    }
    options->durability = (enum store_durability)serve->durability;
    return NULL;
}

/* ------------------------------------------------------------------ the file */

static void free_words(char **words)
{
    for (size_t i = 0; i < CONFIG_WORDS; i++) {
        free(words[i]);
        words[i] = NULL;
    }
}

/* Turns `key value`, `key = value` or a flag's `key` into --key=value. */
static gordian_status take_option_line(const struct reader *reader, char **word,
                                       gordian_error *error)
{
    const gordian_word *words = reader->words;
    size_t count = reader->word_count, value = 1;
    if (count > 1 && word_is(&words[1], "="))
        value = 2;
    if (count > value + 1 || (value == 2 && count == 2))
        return fail_at(error, GORDIAN_STATUS_INPUT, reader->line, words[count - 1].column,
                       "expected a key and a value");
    int length = count > value ? asprintf(word, "--%.*s=%.*s", (int)words[0].length, words[0].text,
                                          (int)words[value].length, words[value].text)
                               : asprintf(word, "--%.*s", (int)words[0].length, words[0].text);
    return length < 0 ? fail_memory(error) : GORDIAN_OK;
}

static gordian_status read_words(const char *path, char **words, int *count, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct reader reader;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(error, GORDIAN_STATUS_INPUT, "cannot be read: %s", strerror(errno));
    gordian_source source = gordian_source_fd(&fd);
    gordian_status status = reader_open(&reader, &source, &memory, error);
    *count = 0;
    while (status == GORDIAN_OK && (status = reader_next(&reader, error)) == GORDIAN_OK) {
        if (*count == CONFIG_WORDS - 1)
            status = fail_at(error, GORDIAN_STATUS_INPUT, reader.line, 1, "too many lines");
        else
            status = take_option_line(&reader, &words[(*count)++], error);
    }
    reader_close(&reader);
    close(fd);
    return status == GORDIAN_STATUS_END ? GORDIAN_OK : status;
}

static int take_option_file(struct serve *serve, char **words)
{
    gordian_error error = {0};
    char complaint[400] = "";
    int count = 0;
    const struct option *const tables[] = {serve->table, NULL};
    if (read_words(serve->config, words, &count, &error)) {
        cli_fail(serve->cli, serve->config, &error);
        return EXIT_MISUSE;
    }
    if (options_parse(tables, count, words, false, complaint, sizeof complaint) != 0) {
        cli_say(serve->cli, "%s: %s", serve->config,
                complaint[0] ? complaint : "expected `name value`");
        return EXIT_MISUSE;
    }
    return EXIT_NOTHING;
}

/* Reads the file, then the command line, which has precedence. */
static int read_serve_options(struct serve *serve, char **words)
{
    int code = serve->config ? take_option_file(serve, words) : EXIT_NOTHING;
    TRY_CODE(code);
    int operands = cli_parse(serve->cli, serve->table, serve->argc, serve->argv, &code);
    return operands < 0 ? code : EXIT_NOTHING;
}

static bool is_same_value(const struct option *option, const void *left, const void *right)
{
    const char *a = NULL, *b = NULL;
    switch (option->kind) {
    case OPTION_TEXT:
        memcpy(&a, left, sizeof a);
        memcpy(&b, right, sizeof b);
        return a == b || (a && b && strcmp(a, b) == 0);
    case OPTION_FLAG:
        return memcmp(left, right, sizeof(bool)) == 0;
    default:
        return memcmp(left, right, sizeof(unsigned)) == 0;
    }
}

/* SIGHUP: reload limits and times; other options need a restart. An option that was removed from
 * the file gets its default, or its value from the command line. */
static bool on_reload(void *context, struct server_options *now)
{
    struct serve *serve = context;
    if (!serve->config)
        return true;
    struct serve before = *serve;
    const char *path = serve->config, *wrong = NULL;
    serve->options = serve->fresh->options;
    serve->keep_incidents = serve->max_lease = serve->memory = serve->client_memory = NULL;
    serve->durability = serve->fresh->durability;
    free_words(serve->words[1]);
    memset(before.words, 0, sizeof before.words);
    bool good = read_serve_options(serve, serve->words[1]) == EXIT_NOTHING;
    if (good && (wrong = take_values(serve)) != NULL)
        cli_say(serve->cli, "%s: %s", path, wrong);
    good &= !wrong;
    if (good) {
        /* Report changes in the file that need a restart. */
        for (const struct option *option = serve->table; option->name; option++) {
            size_t place = (size_t)((const char *)option->target - (const char *)serve);
            /* Limits and times may change at run time. */
            if (!(strncmp(option->name, "max-", 4) == 0 ||
                  strcmp(option->name, "keep-incidents") == 0) &&
                !is_same_value(option, option->target, (const char *)serve->given + place))
                cli_say(serve->cli, "%s: --%s is unchanged: it needs a restart", serve->config,
                        option->name);
        }
        before.options.limits = now->limits = serve->options.limits;
        before.options.keep_incidents_ms = now->keep_incidents_ms =
            serve->options.keep_incidents_ms;
    } else {
        cli_say(serve->cli, "%s: the limits are unchanged", path);
    }
    /* the texts are those read at the start, which remain */
    memcpy(before.words, serve->words, sizeof before.words);
    *serve = before;
    return good;
}

/* ------------------------------------------------------------------ running */

/* "2026-11-16T09:15:00.123Z: ", in UTC. */
static void report_time(char *text, size_t size)
{
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    size_t used = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + used, size - used, ".%03ldZ: ", now.tv_nsec / 1000000);
}

static void on_log(void *context, int level, const char *text)
{
    struct serve *serve = context;
    if (level >= 6 && serve->cli->quiet)
        return;
    if (level >= 7 && !serve->cli->verbose)
        return;
    char when[40] = "";
    if (!getenv("JOURNAL_STREAM")) /* systemd's journal adds the time */
        report_time(when, sizeof when);
    cli_say(serve->cli, "%s%s", when, text);
}

/* Uses the same default as gordian_client_usual_uri. */
static void usual_socket(struct serve *serve)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (serve->options.socket) {
        if (strcmp(serve->options.socket, "none") == 0)
            serve->options.socket = NULL;
        return;
    }
    /* Socket activation by systemd. The variables may also belong to a parent process. */
    const char *pid = getenv("LISTEN_PID"), *why;
    uint64_t number;
    if (getenv("LISTEN_FDS") && pid && parse_u64(pid, strlen(pid), &number, &why) &&
        number == (uint64_t)getpid())
        return;
    if (folder && *folder)
        snprintf(serve->socket, sizeof serve->socket, "%.200s/gordian.sock", folder);
    else
        snprintf(serve->socket, sizeof serve->socket, "/run/gordian/gordian.sock");
    serve->options.socket = serve->socket;
}

/* Blocks signals between two servers, so that the second one receives them. */
static void hold_signals(bool hold)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR2);
    sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* *again: it lost the leadership and must continue as a standby. */
static gordian_status run_server_once(struct serve *serve, bool *again, gordian_error *error)
{
    struct server *server;
    const char *why;
    TRY(server_open(&server, &serve->options, error));
    serve->options.hook = NULL;
    hold_signals(false);
    if (serve->options.socket)
        server_log(server, 6, "listening on %s", serve->options.socket);
    gordian_status status = server_run(server, error);
    *again = server_lost(server, &why);
    if (*again) {
        hold_signals(true);
        server_pass_on(server, &serve->systemd, &serve->options.hook);
        serve->options.systemd = &serve->systemd;
    }
    serve->options.rest_ms = *again && strcmp(why, STORE_HANDED_OVER) == 0 ? REST_MS : 0;
    server_close(server);
    return status;
}

static int run_servers(struct serve *serve)
{
    gordian_error error = {0};
    bool again = false;
    gordian_status status = GORDIAN_OK;
    do {
        status = run_server_once(serve, &again, &error);
        if (again && status == GORDIAN_STATUS_IO) { /* the database is unreachable */
            on_log(serve, 4, error.message);
            sigset_t set;
            if (sigpending(&set) == 0 &&
                (sigismember(&set, SIGTERM) || sigismember(&set, SIGINT))) {
                status = GORDIAN_OK;
                break;
            }
            sleep(1);
        }
    } while (again && (status == GORDIAN_OK || status == GORDIAN_STATUS_IO));
    hook_close(serve->options.hook);
    return status != GORDIAN_OK ? cli_fail(serve->cli, NULL, &error) : EXIT_NOTHING;
}

/* Passes messages, which are whole lines, to the log line by line. */
static void queue_message(void *context, const char *text, size_t length)
{
    while (length > 0) {
        const char *end = memchr(text, '\n', length);
        size_t line = end ? (size_t)(end - text) : length, step = line + (end != NULL);
        log_put(context, text, line);
        text += step;
        length -= step;
    }
}

/* From here on, standard error goes through the log queue: a blocked standard error must not block
 * the service or its end. */
static int run_server(struct serve *serve)
{
    gordian_error error = {0};
    struct log_queue *log;
    signal(SIGXFSZ, SIG_IGN); /* exceeding a file size limit is an error, like a full disk */
    /* Raise the limit of open file descriptors. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (log_open(&log, STDERR_FILENO, "gordian serve: ", &error) != GORDIAN_OK)
        return cli_fail(serve->cli, NULL, &error);
    serve->options.log_queue = log;
    serve->cli->message_context = log;
    serve->cli->take_message = queue_message;
    int code = run_servers(serve);
    serve->cli->take_message = NULL;
    log_close(log, LOG_END_MS);
    return code;
}

/* --verify: checks a folder without starting a service. */
static int verify_folder(const struct serve *serve)
{
    struct server_verdict verdict;
    gordian_error error = {0};
    gordian_status status = server_verify(serve->verify, &verdict, &error);
    if (status != GORDIAN_OK)
        return cli_fail(serve->cli, NULL, &error);
    if (verdict.store.empty) {
        output_format(&serve->cli->out, "%s is empty: there is no database to verify\n",
                      serve->verify);
        return EXIT_INCOMPLETE;
    }
    output_format(
        &serve->cli->out,
        "%s is intact: %llu records (snapshot at %llu)%s%s, %u systems, %llu processes, %u "
        "sessions, %llu open deadlocks, %llu incidents\n",
        serve->verify, (unsigned long long)verdict.store.last,
        (unsigned long long)verdict.store.snapshot,
        verdict.store.torn ? " and an unfinished batch from a kill" : "",
        verdict.store.ahead ? " and records of batches that a power failure undid" : "",
        verdict.systems, (unsigned long long)verdict.processes, verdict.sessions,
        (unsigned long long)verdict.deadlocks, (unsigned long long)verdict.store.incidents);
    return EXIT_SUCCESS;
}

/* --hand-over: asks the leader to step down. */
static int ask_hand_over(const struct serve *serve)
{
    struct store_options options;
    char from[STORE_ADDRESS], to[STORE_ADDRESS];
    gordian_error error = {0};
    if (!serve->options.store)
        return cli_misuse(serve->cli, "--hand-over needs --store");
    store_options_init(&options);
    options.postgres = serve->options.store;
    options.schema = serve->options.schema;
    gordian_status status = store_ask_hand_over(&options, from, to, &error);
    if (status != GORDIAN_OK)
        return cli_fail(serve->cli, NULL, &error);
    output_format(&serve->cli->out, "%s has handed leadership over to %s\n", from, to);
    return EXIT_SUCCESS;
}

/* Runs with the options that were read. */
static int start_given(struct serve *serve)
{
    const char *wrong = take_values(serve);
    if (wrong)
        return cli_misuse(serve->cli, "%s", wrong);
    if (!serve->options.tls_cert != !serve->options.tls_key)
        return cli_misuse(serve->cli, "--tls-cert and --tls-key: give both");
    if (serve->options.store && (serve->options.data || serve->options.repair))
        return cli_misuse(serve->cli, "--store excludes --data and --repair");
    if (serve->options.accept_loss && !serve->options.data)
        return cli_misuse(serve->cli, "--accept-loss needs --data");
    if (serve->hand_over)
        return ask_hand_over(serve);
    usual_socket(serve);
    return run_server(serve);
}

static int start_serving(struct serve *serve, int argc, char **argv)
{
    int code, operands = cli_parse(serve->cli, serve->table, argc, argv, &code);
    if (operands < 0)
        return code;
    if (operands > 0)
        return cli_misuse(serve->cli, "unexpected operand '%.200s'", argv[0]);
    if (serve->verify)
        return verify_folder(serve);
    serve->argc = argc;
    serve->argv = argv;
    TRY_CODE(read_serve_options(serve, serve->words[0]));
    *serve->given = *serve;
    /* Hide the password from the process list from here on. */
    char *copy = hide_uri((char *)serve->options.store);
    serve->options.store = copy;
    char *store = copy;
    if (serve->given->options.store && !store)
        return cli_misuse(serve->cli, "out of memory");
    code = start_given(serve);
    free(store);
    return code;
}

static int run_with(struct serve *serve, int argc, char **argv)
{
    struct serve fresh = *serve, given = *serve;
    serve->fresh = &fresh;
    serve->given = &given;
    int code = start_serving(serve, argc, argv);
    free_words(serve->words[0]);
    free_words(serve->words[1]);
    serve->fresh = serve->given = NULL;
    return code;
}

/* Groups of options, in the order of the help. */
static struct option *keeping_options(struct option *to, struct serve *serve)
{
    static const char *const levels[] = {"none", "batch", "full", NULL};
    struct server_options *o = &serve->options;
    const struct option options[] = {
        {"socket", 's', "PATH",
         "Unix socket to listen on, or none (default:\n"
         "gordian.sock in $XDG_RUNTIME_DIR or /run/gordian)",
         OPTION_FILE, &o->socket},
        {"listen", 'l', "ADDR:PORT", "also listen on TCP; separate several by commas", OPTION_TEXT,
         &o->listen},
        {"http", 0, "ADDR:PORT",
         "web page, API and metrics, or none (default:\n" SERVER_DEFAULT_HTTP ")", OPTION_TEXT,
         &o->http},
        {"data", 'd', "DIR", "keep everything in this folder", OPTION_FOLDER, &o->data},
        {"store", 0, "URI",
         "keep everything in PostgreSQL instead; several servers\ncan share it, as a leader and "
         "its standbys",
         OPTION_TEXT, &o->store},
        {"store-schema", 0, "NAME", "PostgreSQL schema of the tables (default: gordian)",
         OPTION_TEXT, &o->schema},
        {"advertise", 0, "ADDR:PORT",
         "address of this server for clients (default: where\nit listens)", OPTION_TEXT,
         &o->advertise},
        {"leader-lease", 0, "TIME",
         "replace a leader after this long without a heartbeat\n(default: 5s)", OPTION_TEXT,
         &serve->leader_lease},
        {"store-commits", 0, "N", "most concurrent commits (default: 4)", OPTION_U32, &o->commits},
        {"hand-over", 0, NULL, "ask the leader on this store to hand leadership over,\nand exit",
         OPTION_FLAG, &serve->hand_over},
        {"durability", 0, "LEVEL",
         "when events are acknowledged: none: once applied; batch\n"
         "(default): once they survive the end of the service;\n"
         "full: once they survive a power failure",
         OPTION_CHOICE, &serve->durability, levels},
        {"new", 0, NULL, "make a new database, even in a folder with other\nfiles", OPTION_FLAG,
         &o->fresh},
        {"repair", 0, NULL, "move a damaged journal aside and continue from the\nlast good record",
         OPTION_FLAG, &o->repair},
        {"accept-loss", 0, NULL, "continue although acknowledged records are lost", OPTION_FLAG,
         &o->accept_loss},
        {"verify", 0, "DIR", "check the folder of a service that has ended,\nand exit",
         OPTION_FOLDER, &serve->verify},
    };
    return options_append(to, options, sizeof options / sizeof *options);
}

static struct option *access_options(struct option *to, struct serve *serve)
{
    struct server_options *o = &serve->options;
    const struct option options[] = {
        {"keep-history", 0, "TIME",
         "keep history for this long, for 'incidents --at' and\nthe web page (default: as long as "
         "recovery needs)",
         OPTION_TEXT, &serve->keep_history},
        {"history-size", 0, "SIZE", "most history to keep, such as 10G (default: no limit)",
         OPTION_TEXT, &serve->history_size},
        {"keep-incidents", 0, "TIME",
         "delete incidents this long after their end (default:\n30d; 0: never)", OPTION_TEXT,
         &serve->keep_incidents},
        {"on-deadlock", 0, "URL", "webhook or command that gets each deadlock", OPTION_TEXT,
         &o->on_deadlock},
        {"on-deadlock-secret", 0, "FILE", "secret that signs webhook requests", OPTION_FILE,
         &o->on_deadlock_secret},
        {"token-file", 0, "FILE", "tokens for TCP and HTTP, as lines NAME RIGHTS TOKEN",
         OPTION_FILE, &o->token_file},
        {"tls-cert", 0, "FILE", "TLS on TCP and HTTP: the certificate (PEM)", OPTION_FILE,
         &o->tls_cert},
        {"tls-key", 0, "FILE", "private key of the certificate", OPTION_FILE, &o->tls_key},
        {"tls-clients", 0, "FILE", "accept only clients with certificates of these\nauthorities",
         OPTION_FILE, &o->tls_clients},
        {"insecure", 0, NULL, "allow unencrypted tokens from other machines", OPTION_FLAG,
         &o->insecure},
        {"socket-group", 0, "GROUP", "group that may use the Unix socket", OPTION_TEXT,
         &o->socket_group},
        {"allow-uid", 0, "USERS", "users that may use the Unix socket, comma-separated",
         OPTION_TEXT, &o->allow_uid},
        {"allow-group", 0, "GROUPS", "groups that may use the socket, comma-separated", OPTION_TEXT,
         &o->allow_group},
    };
    return options_append(to, options, sizeof options / sizeof *options);
}

static struct option *limit_options(struct option *to, struct serve *serve)
{
    struct server_options *o = &serve->options;
    const struct option options[] = {
        {"max-clients", 0, "N", "most connections (default: 10000)", OPTION_U32,
         &o->limits.clients},
        {"max-events", 0, "N", "events per second of each client (default: 0, no limit)",
         OPTION_U32, &o->limits.events_a_second},
        {"max-systems", 0, "N", "most systems (default: 64)", OPTION_U32, &o->limits.systems},
        {"max-names", 0, "N", "processes and resources per system (default: 16M)", OPTION_U32,
         &o->limits.names},
        {"max-processes", 0, "N", "processes per session (default: 4M)", OPTION_U32,
         &o->limits.session_names},
        {"max-resources", 0, "N", "resources that a session may add (default: 4M)", OPTION_U32,
         &o->limits.session_resources},
        {"max-opened", 0, "N", "systems that a session may open (default: 16)", OPTION_U32,
         &o->limits.session_systems},
        {"max-sessions", 0, "N", "most sessions (default: 65536)", OPTION_U32, &o->limits.sessions},
        {"max-lease", 0, "TIME", "longest lease (default: 24h)", OPTION_TEXT, &serve->max_lease},
        {"max-client-memory", 0, "SIZE", "memory per session (default: 1G; 0: no limit)",
         OPTION_TEXT, &serve->client_memory},
        {"max-memory", 0, "SIZE", "memory of all systems (default: 0, no limit)", OPTION_TEXT,
         &serve->memory},
        {"config", 'c', "FILE", "read options from a file, as lines `name value`", OPTION_FILE,
         &serve->config},
    };
    return options_append(to, options, sizeof options / sizeof *options);
}

static int serve_main(struct cli *cli, int argc, char **argv)
{
    struct serve serve = {.cli = cli, .durability = STORE_BATCH};
    struct server_options *o = &serve.options;
    server_options_init(o);
    o->log = on_log;
    o->log_context = o->reload_context = &serve;
    o->reload = on_reload;
    struct option options[OPTIONS] = {0}; /* zeros end the table */
    limit_options(access_options(keeping_options(options, &serve), &serve), &serve);
    serve.table = options;
    return run_with(&serve, argc, argv);
}

const struct command command_serve = {
    .name = "serve",
    .operands = "",
    .summary = "run the service: reports deadlocks of the programs that use it",
    .about = "Takes resource events from clients, over a Unix socket and TCP. Reports a deadlock\n"
             "as soon as it forms, or grants only safe requests. A service can have several\n"
             "systems. Acknowledged events survive a restart. It serves a web page and metrics\n"
             "over HTTP. It runs in the foreground until SIGTERM; SIGHUP reloads tokens,\n"
             "certificates and limits.\n",
    .run = serve_main,
};
